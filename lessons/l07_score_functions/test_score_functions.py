"""The claims of lesson 07, against the recorded runs and the shipped systems."""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace

import pytest
import torch

from course_lib.layers import scores
from course_lib.results import runs
from course_lib.text.batch import make_batch
from course_lib.text.pair import Pair
from course_lib.translation.shipped import shared
from lessons.l07_score_functions import key_picture, luong_step
from lessons.l07_score_functions.article_counts import DIRECTIONS, count_forced
from lessons.l07_score_functions.exercises import COUNT_ARTICLES
from lessons.l07_score_functions.forcing import (
    PointingModel,
    onto_the,
    onto_the_noun,
    predictor,
)
from lessons.l07_score_functions.measurements import measure
from tests.lesson_claims import (
    LessonText,
    assert_measured_again,
    exact,
    held_out_splits,
    indices_of_true,
    means,
    seeds,
)

L = LessonText("score_functions")
NAMES = ("dot", "general", "concat", "location")
MEASURED = L.stored()
FROM_THE_END = "luong_dot_from_the_end"


@pytest.mark.nightly
def test_the_stored_measurements_can_be_reproduced():
    measured = measure()
    counts = {part for part, numbers in measured.items() if all(isinstance(n, int) for n in numbers.values())}
    of_counts = {"rel": 0.01, "abs": 1}
    assert_measured_again(measured, MEASURED, parts=dict.fromkeys(counts, of_counts), rel=0.01, abs=0.001)


def test_all_systems_have_nearly_the_same_size_and_the_same_hyperparameters():
    parameters = means("toy_ladder", "parameters")
    sizes = [parameters[f"luong_{name}"] for name in NAMES]
    assert max(sizes) < 1.15 * min(sizes)
    recipes = [run["recipe"] | {"seed": None} for run in runs("toy_ladder") if "luong" in run["variant"]]
    assert all(recipe == recipes[0] for recipe in recipes)


def test_the_parameters_of_each_score_follow_from_the_widths_in_the_text():
    parameters = means("toy_ladder", "parameters")
    products = {"general": 132 * 132, "concat": 132 * 264 + 132, "location": 64 * 132}
    for name, n in products.items():
        assert parameters[f"luong_{name}"] - parameters["luong_dot"] == n


# ---- the maps without labels


@cache
def blind() -> dict:
    """The names that the cell with the maps defines."""
    names = {
        "key_picture": key_picture,
        "load_shipped": shared,
        "views": SimpleNamespace(gallery=lambda *maps, **options: None),
    }
    exec(L.cell("blind").text, names)
    return names


def test_the_maps_are_numbered_as_the_questions_say():
    assert blind()["BLIND"] == ["concat", "location", "general", "dot"]
    asked = L.asked("blind-location")
    [right] = asked.right
    assert asked.options[right].text == "Map 2"
    [translation] = {translation.target for translation in blind()["translations"].values()}
    assert translation == sentence().tgt_text


def sentence() -> Pair:
    return next(pair for pair in held_out_splits().test if pair.src_text == blind()["SENTENCE"])


def test_the_maps_show_what_the_feedback_says():
    maps = blind()["weights"]
    middle = {name: maps[name][2:15].max(dim=-1).values for name in NAMES}  # from "la" to "sucré"
    assert middle["location"].mean() < 0.55
    assert middle["general"].min() > 0.95
    assert sorted(middle["concat"].tolist())[3] > 0.95, "it divides its attention at the three articles only"
    assert L.asked("three-left").right == [2]


def test_articles_attend_to_the_noun_in_dot_and_to_the_in_general():
    english, maps = blind()["SENTENCE"].split(), blind()["weights"]
    assert onto_the(sentence()) == {2: 1, 6: 5, 9: 8}
    for row, noun, article in ((2, "woman", 1), (6, "bridge", 5), (9, "cake", 8)):
        assert blind()["rows"][row] in ("la", "le") and english[article] == "the"
        assert maps["dot"][row].argmax() == english.index(noun) == onto_the_noun(sentence())[row]
        assert maps["general"][row].argmax() == article
        assert maps["concat"][row].max() < 0.85, "divided between the two"


# ---- forced attention


def counts_of(direction: str, name: str) -> list[float]:
    whole = "other words" if name.startswith("other words") else "articles"
    counts = [run["articles"] for run in runs("encoder_direction") if run["variant"] == direction]
    return [numbers[name] / numbers[whole] for numbers in counts]


@pytest.mark.parametrize(("name", "direction"), [("luong_dot", DIRECTIONS[0]), (FROM_THE_END, DIRECTIONS[1])])
def test_the_first_stored_run_is_that_of_the_system_in_the_lesson(name, direction):
    pairs = held_out_splits().test[:100]
    system = shared(name)
    counts = count_forced(system.model, system.tokenizer, pairs)
    stored = next(run["articles"] for run in runs("encoder_direction") if run["variant"] == direction)
    assert system.model.config.reverse == (direction == DIRECTIONS[1])
    for part in ("own attention", "onto the", "onto the noun", "attends most to the"):
        assert counts[part] / counts["articles"] == pytest.approx(stored[part] / stored["articles"], abs=0.06)


def test_a_forward_encoder_needs_the_noun_and_a_reversed_one_needs_the():
    start, end = DIRECTIONS
    for direction in DIRECTIONS:
        assert counts_of(direction, "own attention") == [1.0] * 3
    assert counts_of(start, "onto the noun") == counts_of(end, "onto the") == [1.0] * 3
    assert counts_of(end, "attends most to the") == [1.0] * 3
    assert max(counts_of(start, "onto the")) < 0.32 and max(counts_of(end, "onto the noun")) < 0.01
    assert min(counts_of(start, "onto the, predicts les")) > 0.95, "nearly always les"
    assert min(counts_of(start, "attends most to the noun")) > 0.8
    assert min(counts_of(start, "other words, onto their source")) > 0.9, "forcing itself does less harm"
    assert L.asked("reversed-encoder").right == [1]
    assert L.asked("why-dot-misaligns").right == [1]


def test_general_attends_to_the_and_needs_no_gender_there():
    general = MEASURED["articles, general"]
    assert general["attends most to the"] > 0.9 and general["onto the"] > 0.9


def test_the_example_is_predicted_as_the_text_says():
    count, pairs = COUNT_ARTICLES.reference, list(held_out_splits().test[:60])
    dot, reversed_dot = predictor("luong_dot"), predictor(FROM_THE_END)
    assert count(pairs, dot, lambda pair: {})[1] == 0
    assert count(pairs, dot, onto_the)[1] == MEASURED["articles"]["live"] == 92
    for model, find, words in (
        (dot, onto_the, "les belle femme"),
        (reversed_dot, onto_the_noun, "femme belle femme"),
    ):
        at = find(sentence())
        predicted = model(sentence(), lambda i, w, at=at: torch.eye(len(w))[at[i]] if i in at else w)
        assert " ".join(predicted[2:5]) == words


def test_unchanged_weights_give_the_predictions_of_the_system_itself():
    pair = sentence()
    assert predictor("luong_dot")(pair, lambda step, weights: weights) == list(pair.tgt)


def test_a_pointing_model_notices_a_changed_word_before_an_article():
    pair = Pair(("a", "the", "b"), ("x", "le", "y"))
    model = PointingModel({"x le y": [0, 1, 2]})
    assert model(pair, lambda step, w: w) == ["x", "le", "y"]
    assert model(pair, lambda step, w: torch.eye(4)[3] if step == 0 else w) == ["?", "?", "?"]
    assert model(pair, lambda step, w: torch.eye(4)[3] if step == 1 else w) == ["x", "?", "y"]


@pytest.mark.parametrize("answer", [None, [1.0, 0.0], torch.ones(2)])
def test_weights_of_the_wrong_form_are_refused_with_advice(answer):
    with pytest.raises(TypeError, match=r"return the attention weights, a tensor of shape \(4,\)"):
        PointingModel({"x": [0]})(Pair(("a", "the", "b"), ("x",)), lambda step, weights: answer)


# ---- local attention


def test_a_narrow_window_loses_sentences():
    for name in ("local-m", "local-p"):
        n_right = list(MEASURED[f"{name}, half width"].values())
        assert n_right == sorted(n_right, reverse=True)


def test_local_p_is_the_weakest():
    names = (*NAMES, "local_m", "local_p")
    assert min(names, key=lambda name: exact("toy_ladder")[f"luong_{name}"]) == "local_p"


# ---- translation and alignment


def test_alignment_and_translation_need_not_go_together():
    right, links = {name: exact("toy_ladder")[f"luong_{name}"] for name in NAMES}, MEASURED["links"]
    assert min(NAMES, key=right.get) == "general" == max(NAMES, key=links.get)
    assert min(NAMES, key=links.get) == "location" and links["location"] == pytest.approx(0.5, abs=0.05)
    assert right["concat"] > 97 and links["concat"] > 0.87, "concat does well on both"
    general, dot = (
        seeds("toy_ladder", f"luong_{name}", "scores", "test", "exact") for name in ("general", "dot")
    )
    assert max(general) + 2 * MEASURED["margin of error"]["sentences"] < min(dot) + 0.001
    assert L.asked("align-and-translate").right == [3]


def test_location_attends_one_position_late_as_often_as_to_the_true_word():
    location = MEASURED["location, words to the right"]
    assert location["1"] == pytest.approx(location["0"], rel=0.02)


def test_an_encoder_that_starts_at_the_end_aligns_better():
    path = ("scores", "test", "alignment_error")
    errors = {direction: seeds("encoder_direction", direction, *path) for direction in DIRECTIONS}
    assert max(errors["from the end"]) < 0.4 * min(errors["from the start"])
    bahdanau = seeds("toy_ladder", "bahdanau", *path)
    assert sum(bahdanau) / 3 == pytest.approx(sum(errors["from the end"]) / 3, abs=0.02)


# ---- answers of the quiz


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
        "additive": {"w_query": torch.ones(7, 50), "w_key": torch.ones(7, 80), "v": torch.ones(7)},
        "location": {"weight": torch.ones(9, 50)},
    }

    def can_be_used(name: str) -> bool:
        try:
            return getattr(scores, name.removesuffix(" product"))(
                torch.ones(1, 50), torch.ones(3, 80), **matrices.get(name, {})
            ).shape == (1, 3)
        except ValueError:
            return False

    asked = L.asked("widths-that-differ")
    assert asked.right == indices_of_true(*(can_be_used(option.text) for option in asked.options))


# ---- the key picture


def test_the_maps_are_those_of_a_teacher_forced_pass_and_all_four_systems_agree():
    correct = "le chat a bu l' eau parce qu' il avait soif"
    for name in NAMES:
        system, (english, french, weights) = shared(f"luong_{name}"), key_picture.numbers()[name]
        assert [" ".join(english), " ".join(french)] == [f"{key_picture.SENTENCE} </s>", f"{correct} </s>"]
        batch = make_batch(*([system.tokenizer.encode(text)] for text in (key_picture.SENTENCE, correct)))
        with torch.no_grad():
            forced = system.model.attention_weights(batch.src, batch.src_lengths, batch.tgt_in)["cross"]
        assert torch.allclose(forced[0, 0, 0], weights, atol=1e-4)
        most = float(forced[0, 0, 0, french.index(key_picture.ASKS)].max())
        assert most < 0.5 if name == key_picture.BLIND[1] else most > 0.75


def test_the_step_of_the_decoder_is_the_last_one_of_a_teacher_forced_pass():
    system, step = shared("luong_dot"), luong_step.numbers()
    batch = make_batch(*([system.tokenizer.encode(text)] for text in (luong_step.SOURCE, luong_step.BEFORE)))
    inputs = batch.src, batch.src_lengths, batch.tgt_in
    with torch.no_grad():
        logits, weights = system.model(*inputs)[0, -1], system.model.attention_weights(*inputs)["cross"]
    assert torch.allclose(weights[0, 0, 0, -1], step["scores"].softmax(dim=0), atol=1e-4)
    assert system.tokenizer.decode([int(logits.argmax())]) == luong_step.NEXT
    assert torch.allclose(logits.softmax(dim=-1), step["next"], atol=1e-4)
