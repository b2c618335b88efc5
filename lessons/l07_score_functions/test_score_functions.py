"""The claims of lesson 07, against the recorded runs and the shipped systems."""

from __future__ import annotations

import random
import re
from functools import cache
from types import SimpleNamespace

import pytest
import torch

from course_lib.layers import scores
from course_lib.layers.local import local_mask, monotonic_centres
from course_lib.results import runs
from course_lib.translation.pipeline import translate
from course_lib.translation.shipped import shared
from lessons.l07_score_functions.measurements import measure, without_input_feeding
from tests.lesson_claims import (
    LessonText,
    assert_measured_again,
    exact,
    held_out_splits,
    indices_of_true,
    means,
    seeds,
)
from tools.authoring.cell_kinds import MARKDOWN
from tools.authoring.source import read_cells

L = LessonText("score_functions")
CELLS = read_cells(L.source)
NAMES = ("dot", "general", "concat", "location", "local_m", "local_p")
GLOBAL = NAMES[:4]
STORED = L.stored()


@pytest.mark.slow
def test_the_stored_measurements_can_be_reproduced():
    measured = measure()
    counts = {part for part, numbers in measured.items() if all(isinstance(n, int) for n in numbers.values())}
    of_counts = {"rel": 0.01, "abs": 1}
    assert_measured_again(measured, STORED, parts=dict.fromkeys(counts, of_counts), rel=0.01, abs=0.001)


def test_the_table_of_both_decoders_quotes_lines_of_both_lessons():
    here = L.cell("translate")
    before = LessonText("bahdanau_attention").cell("translate")
    table = next(cell.text for cell in CELLS[CELLS.index(here) :] if cell.form == MARKDOWN)
    quoted = [code for code in re.findall(r"`([^`]+)`", table) if "(" in code or "=" in code]
    assert len(quoted) >= 7
    for code in quoted:
        assert any(code.removesuffix("…)").removesuffix("…") in c.text for c in (here, before)), code


def test_all_systems_are_of_one_size_and_one_recipe():
    parameters = means("toy_ladder", "parameters")
    sizes = [parameters[f"luong_{name}"] for name in NAMES]
    assert max(sizes) < 1.15 * min(sizes)
    recipes = [run["recipe"] | {"seed": None} for run in runs("toy_ladder") if "luong" in run["variant"]]
    assert all(recipe == recipes[0] for recipe in recipes)


def test_what_each_score_has_to_learn_is_the_product_in_the_table():
    parameters = means("toy_ladder", "parameters")
    products = {"general": 132 * 132, "concat": 132 * 264 + 132, "location": 64 * 132}
    for name, n in products.items():
        assert parameters[f"luong_{name}"] - parameters["luong_dot"] == n


# ---- the blind test


@cache
def blind() -> dict:
    """The names that the cell of the blind test defines."""
    names = {
        "random": random,
        "NAMES": NAMES,
        "systems": {name: shared(f"luong_{name}") for name in NAMES},
        "views": SimpleNamespace(gallery=lambda *maps, **options: None),
    }
    exec(L.cell("blind").text, names)
    return names


def test_the_maps_are_numbered_as_the_questions_say():
    assert blind()["BLIND"] == ["concat", "local_p", "location", "general", "local_m", "dot"]
    for name in ("location", "local_m", "local_p"):
        asked = L.asked(f"blind-{name.replace('_', '-')}")
        [right] = asked.right
        map_number = int(re.search(r"\d+", asked.options[right].text)[0])
        assert blind()["BLIND"][map_number - 1] == name
    assert len({translation.target for translation in blind()["translations"].values()}) == 1
    [right] = {pair.tgt_text for pair in held_out_splits().test if pair.src_text == blind()["SENTENCE"]}
    assert blind()["translations"]["dot"].target == right


def test_the_maps_show_what_the_feedback_says():
    maps = blind()["weights"]
    n_rows, n_columns = maps["dot"].shape
    end = n_columns - 1
    for name in ("dot", "general"):
        assert maps[name][:2].argmax(dim=-1).tolist() == [end, end]
    assert maps["local_p"][0].argmax() == end == 15, "fifteen positions from the diagonal"
    diagonal = torch.arange(n_rows).clamp(max=end)[:, None]
    assert maps["local_m"][(torch.arange(n_columns) - diagonal).abs() > 5].max() == 0
    sums = maps["local_p"].sum(dim=-1)
    assert sums[1] < 0.6 and sums[-1] < 0.6
    assert all(torch.allclose(maps[name].sum(-1), torch.ones(n_rows), atol=1e-4) for name in NAMES[:5])
    middle = {name: maps[name][2:15].max(dim=-1).values for name in NAMES}  # from "la" to "sucré"
    assert middle["location"].max() < 0.75 < middle["local_p"].min() and middle["location"].mean() < 0.55
    assert middle["local_m"].min() > 0.95
    assert sorted(middle["concat"].tolist())[3] > 0.95, "it shares at three articles only"


def test_articles_attend_to_the_noun_in_dot_and_to_the_in_general():
    english, maps = blind()["SENTENCE"].split(), blind()["weights"]
    for row, noun, article in ((2, "woman", 1), (6, "bridge", 5), (9, "cake", 8)):
        assert blind()["rows"][row] in ("la", "le") and english[article] == "the"
        assert maps["dot"][row].argmax() == english.index(noun)
        assert maps["general"][row].argmax() == article
        assert maps["concat"][row].max() < 0.85, "shared between the two"
    decided = {name: maps[name][:-1].max(dim=-1).values.mean() for name in ("dot", "general", "concat")}
    assert max(decided, key=decided.get) == "general"
    assert L.asked("three-left").right == [2] and STORED["bound of the concat score"]["sum of v"] > 10


def test_location_ends_at_the_first_word():
    system, texts = shared("luong_location"), [pair.src_text for pair in held_out_splits().test[:60]]
    for translation in translate(texts, system.model, system.tokenizer, with_weights=True):
        assert translation.weights[0, 0][-1, 0] > 0.8


# ---- windows and scales


def test_a_narrow_window_loses_sentences():
    for name in ("local-m", "local-p"):
        n_right = list(STORED[f"{name}, half width"].values())
        assert n_right == sorted(n_right, reverse=True)
    assert STORED["local-m, half width"]["1"] < 50 and STORED["local-p, half width"]["1"] < 15


def test_general_needs_no_large_scores_and_dot_and_concat_do():
    general = STORED["general, scores times"]
    assert general["0.25"] >= general["1"] and general["0.1"] > 0.9 * general["1"]
    for name in ("dot", "concat"):
        n_right = STORED[f"{name}, scores times"]
        assert 0.18 < 1 - n_right["0.25"] / n_right["1"] < 0.25, "a fifth"
        assert n_right["0.1"] < 20
    assert STORED["largest weight"]["general"] > 0.995


# ---- translation and alignment


def test_alignment_and_translation_need_not_go_together():
    right, links = {name: exact("toy_ladder")[f"luong_{name}"] for name in NAMES}, STORED["links"]
    assert min(GLOBAL, key=right.get) == "general" == max(GLOBAL, key=links.get)
    assert min(GLOBAL, key=links.get) == "location"
    assert links["general"] == pytest.approx(0.9, abs=0.01), "nine in ten"
    assert 100 - right["general"] == pytest.approx(100 / 7, abs=1), "one sentence in seven"
    assert links["location"] == pytest.approx(0.5, abs=0.05) and right["location"] > 90
    assert right["concat"] > 97 and links["concat"] > 0.87, "concat alone is good at both"
    assert right["dot"] > right["general"]
    assert L.asked("align-and-translate").right == [3]


def test_local_p_is_the_weakest_and_differs_most_between_seeds():
    by_seed = {name: seeds("toy_ladder", f"luong_{name}", "scores", "test", "exact") for name in NAMES}
    assert min(NAMES, key=lambda name: sum(by_seed[name])) == "local_p"
    assert max(NAMES, key=lambda name: max(by_seed[name]) - min(by_seed[name])) == "local_p"


def test_long_sentences_are_hard_for_all():
    long = exact("toy_ladder", "long")
    assert long["luong_location"] < 3 and max(long[f"luong_{name}"] for name in NAMES) < 50


def test_forced_onto_the_most_articles_go_wrong():
    articles, others = STORED["articles"], STORED["other words of dot"]
    assert articles["dot, free"] == articles["all"]
    for name in ("dot", "concat"):
        assert 1 - articles[f"{name}, forced"] / articles["all"] == pytest.approx(0.7, abs=0.05), (
            "seven in ten"
        )
    assert articles["general, forced"] / articles["all"] > 0.8, "general knows the gender all the same"
    assert others["forced"] / others["all"] > 0.9, "forcing as such does little harm"
    assert L.asked("why-dot-misaligns").right == [1]


def test_attention_misses_to_the_right():
    for name in ("dot", "general"):
        assert STORED[f"{name}, words to the right"]["left"] == 0
    location = STORED["location, words to the right"]
    missed = location["left"] + location["1"] + location["more"]
    assert location["1"] > 0.75 * missed, "most are exactly one word late"


def test_an_encoder_that_reads_from_the_end_aligns_better():
    direction = "encoder_direction"
    errors = means(direction, "scores", "test", "alignment_error")
    assert errors["from the end"] < 0.4 * errors["from the start"]
    assert exact(direction)["from the end"] > exact(direction)["from the start"] + 1
    bahdanau = seeds("toy_ladder", "bahdanau", "scores", "test", "alignment_error")
    assert sum(bahdanau) / 3 == pytest.approx(errors["from the end"], abs=0.02), "as low as Bahdanau's"


def test_without_input_feeding_concat_and_location_lose_most():
    lost = {}
    for name in GLOBAL:
        n_right = STORED[f"{name}, input feeding"]
        lost[name] = n_right["with"] - n_right["without"]
    assert lost["general"] == 0 < lost["dot"] < 10 < 15 < min(lost["concat"], lost["location"])


@pytest.mark.parametrize(
    ("english", "missing"),
    [
        ("the happy mother did not sell the old white flower", "heureuse"),
        ("the rich kings under the old tree drank the very hot coffee", "riches"),
    ],
)
def test_without_input_feeding_an_adjective_is_missing(english, missing):
    right = shared("luong_concat")(english).target.split()
    with without_input_feeding("concat"):
        assert shared("luong_concat")(english).target.split() == [word for word in right if word != missing]
    assert missing in right


def test_local_p_says_il_of_the_water():
    words = shared("luong_local_p")("the cat drank the water because it was cold").target.split()
    assert words[-3:] == ["il", "était", "froide"]


# ---- answers of the quiz


def test_the_numbers_of_the_quiz():
    cosine = scores.cosine(torch.tensor([[3.0, 4.0]]), torch.tensor([[0.0, 10.0]]))
    assert L.asked("cosine-of-two").answer == pytest.approx(cosine.item())
    assert L.asked("centre-of-twenty").answer == pytest.approx(
        20 * torch.sigmoid(torch.tensor(1.0)).item(), abs=0.05
    )


def test_doubled_keys_sharpen_a_dot_product_and_not_a_cosine():
    generator = torch.Generator().manual_seed(7)
    query, keys = torch.randn(1, 4, generator=generator), torch.randn(5, 4, generator=generator)
    dot, cosine = (
        [score(query, factor * keys).softmax(-1).max().item() for factor in (1, 2)]
        for score in (scores.dot, scores.cosine)
    )
    cosine_stays = cosine[1] == pytest.approx(cosine[0])
    expected = indices_of_true(
        dot[1] == pytest.approx(dot[0]) and cosine_stays,
        dot[1] > dot[0] + 0.01 and cosine_stays,
        dot[1] < dot[0] and cosine[1] > cosine[0] + 0.01,
    )
    assert L.asked("all-keys-doubled").right == expected


def test_a_longer_key_is_favoured_by_the_dot_product_alone():
    query, angle = torch.tensor([[1.0, 0.0]]), torch.deg2rad(torch.tensor(40.0))
    keys = torch.stack([torch.tensor([1.0, 0.0]), 3 * torch.stack([angle.cos(), angle.sin()])])
    favourites = tuple(int(score(query, keys).argmax()) for score in (scores.dot, scores.cosine))
    assert L.asked("longer-favourite").right == [[(0, 0), (1, 0), (1, 1)].index(favourites)]


def test_which_scores_take_a_query_and_keys_of_different_widths():
    matrices = {
        "general": {"weight": torch.ones(50, 80)},
        "concat": {"weight": torch.ones(7, 130), "v": torch.ones(7)},
        "location": {"weight": torch.ones(9, 50)},
    }

    def can_be_used(name: str) -> bool:
        try:
            return getattr(scores, name)(
                torch.ones(1, 50), torch.ones(3, 80), **matrices.get(name, {})
            ).shape == (1, 3)
        except ValueError:
            return False

    asked = L.asked("widths-that-differ")
    assert asked.right == indices_of_true(*(can_be_used(option.text) for option in asked.options))


def test_a_window_on_the_diagonal_does_not_reach_the_last_word():
    places = torch.arange(24)
    on_the_diagonal = local_mask(
        monotonic_centres(torch.tensor([[2]]), torch.tensor([24])), places, half_width=5
    )
    moved_there = local_mask(torch.tensor([[23.0]]), places, half_width=5)
    local_m, local_p = (bool(window[..., 23].any()) for window in (on_the_diagonal, moved_there))
    expected = indices_of_true(local_m and local_p, local_p and not local_m, not (local_m or local_p))
    assert L.asked("verb-at-the-end").right == expected
