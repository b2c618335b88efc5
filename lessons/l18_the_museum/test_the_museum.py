"""Figures and claims of lesson 18 are what is recorded."""

from __future__ import annotations

import json
from itertools import combinations
from statistics import mean

import torch

from course_lib.models.registry import SYSTEMS
from course_lib.runtime import PROJECT_ROOT, data_path
from course_lib.text.toy.generate import generate
from course_lib.translation.alignment_error import AlignmentError
from course_lib.translation.evaluation import forced_alignment, forced_weights
from course_lib.translation.shipped import load_shipped, shared
from lessons.l18_the_museum.museum import COLUMNS, COSTS, HIGHER, NO_PATH, REAL, TOY, runs_of, table
from tests.lessons.told import Told, seeds

L, MUSEUM = Told("the_museum"), table()


def beats(one: list[float], other: list[float], higher: bool) -> str:
    sign = 1 if higher else -1
    gaps = [sign * (a - b) for a in one for b in other]
    return "yes" if min(gaps) > 0 else "no" if max(gaps) < 0 else "open"


def order(column: str) -> list[str]:
    numbers = MUSEUM[column]
    return sorted(numbers, key=lambda name: mean(numbers[name]), reverse=HIGHER[column])


def against(one: str, other: str, column: str) -> str:
    return beats(MUSEUM[column][one], MUSEUM[column][other], HIGHER[column])


def test_every_system_of_the_road_has_a_row():
    rows = {name for column in MUSEUM.values() for name in column}
    assert rows == {system.name for system in SYSTEMS} | {NO_PATH}
    assert len(COLUMNS) == 22 and len(MUSEUM["test"]) == 15


def level(column: str) -> list[str]:
    """The first by mean, and whom it does not beat."""
    first, *rest = order(column)
    return [first, *(rival for rival in rest if against(first, rival, column) != "yes")]


def test_the_transformer_is_alone_in_none_of_fourteen_columns():
    aside = (*COSTS, "1 to 5 words")
    contest = [c for c in COLUMNS if COLUMNS[c].hall in (TOY, REAL) and c not in aside]
    assert len(contest) == 14
    alone = {column: level(column)[0] for column in contest if len(level(column)) == 1}
    assert alone == {
        "21 to 30 words": "bahdanau",
        "alignment error": "bahdanau",
        "BLEU beam": "convs2s",
        "BLEU own rate": "convs2s",
    }
    assert sum(order(column)[0] == "transformer" for column in contest) == 4
    behind = [column for column in contest if "bahdanau" not in level(column)]
    assert behind == ["BLEU greedy", "BLEU beam", "BLEU own rate"]
    shared = [name for name, mine in MUSEUM["1 to 5 words"].items() if min(mine) == 100]
    assert len(shared) > 3


def test_the_transformer_took_the_largest_length_penalty():
    for name, penalty in (("transformer", 2.0), ("convs2s", 1.4)):
        assert seeds("multi30k_ladder", name, "scores", "test", "length_penalty") == [penalty] * 3
    assert against("convs2s", "transformer", "BLEU greedy") == "open"


def test_the_last_layer_of_convs2s_points_nearly_as_well_as_bahdanau():
    pairs = [pair for pair in generate(200, seed=18) if pair.links]

    def error(name: str) -> AlignmentError:
        return forced_alignment(shared(name).model, shared(name).tokenizer, pairs)

    convs2s, bahdanau = error("convs2s"), error("bahdanau")
    assert convs2s.layers_producing[-1] < convs2s.producing
    assert convs2s.layers_producing[-1] - bahdanau.producing < 0.015 < convs2s.producing - bahdanau.producing


def test_what_was_not_expected():
    assert order("BLEU beam")[:3] == ["convs2s", "transformer", "bahdanau"]
    assert against("convs2s", "transformer", "BLEU beam") == "yes"
    assert round(mean(MUSEUM["21 to 30 words"]["transformer"])) == 22
    assert round(mean(MUSEUM["21 to 30 words"]["bahdanau"])) == 90
    assert max(MUSEUM["31 to 40 words"]["transformer"]) < 0.5
    assert all(20 <= round(x) <= 25 for x in MUSEUM["21 to 30 words"]["transformer"])
    assert [round(x) for x in sorted(MUSEUM["21 to 30 words"]["bahdanau"])][::2] == [88, 92]
    words = {name: round(mean(mine), 1) for name, mine in MUSEUM["perplexity"].items()}
    assert (words["attention_lm"], words["key_value_lm"], words["key_value_predict_lm"]) == (8.0, 8.3, 8.2)
    assert words["lstm_lm"] == words["gru_lm"] == 7.6 and order("perplexity")[2] == "transformer_lm"
    assert mean(MUSEUM["decoding"]["transformer"]) < 0.5 * mean(MUSEUM["decoding"]["bahdanau"])
    assert {"rctm", "rnn_encoder_decoder", "seq2seq"} == set(order("decoding")[:3])
    assert mean(MUSEUM["LM training"]["ngram_lm"]) < 2


def test_the_friends_seeds():
    assert MUSEUM["test"]["transformer"] == [98.6, 98.1, 98.7]
    assert MUSEUM["test"]["bahdanau"] == [98.3, 96.1, 98.6]
    assert against("transformer", "bahdanau", "test") == "open"
    assert sum(set(chosen) == {3, 4, 5} for chosen in combinations(range(6), 3)) == 1
    assert len(list(combinations(range(6), 3))) == 20


def test_how_often_the_rule_sees_a_true_difference():
    random = torch.Generator().manual_seed(18)
    one, other = torch.randn(2, 200_000, 3, generator=random)
    for gap, share in ((0, 0.05), (1, 0.26), (2, 0.62)):
        seen = ((one + gap).amin(dim=1) > other.amax(dim=1)).double().mean().item()
        assert abs(seen - share) < 0.01


def test_recipes_change_the_order():
    means = {c: {n: mean(s) for n, s in MUSEUM[c].items()} for c in ("BLEU beam", "BLEU R-Drop")}
    gains = {n: round(means["BLEU R-Drop"][n] - means["BLEU beam"][n], 1) for n in means["BLEU R-Drop"]}
    assert gains == {"bahdanau": 2.4, "convs2s": 0.0, "transformer": 1.1}
    assert order("BLEU R-Drop")[0] == "bahdanau"
    for name, told in (
        ("bahdanau", "| 41.6 | 42.3 | **44.0** |"),
        ("convs2s", "| **43.3** | **44.0** | 43.3 |"),
        ("transformer", "| 42.4 | 42.4 | 43.5 |"),
    ):
        L.says(told)
        row = [mean(MUSEUM[f"BLEU {way}"][name]) for way in ("beam", "own rate", "R-Drop")]
        assert told.replace("*", "") == "| " + " | ".join(f"{score:.1f}" for score in row) + " |"
    assert against("bahdanau", "transformer", "BLEU R-Drop") == "open"
    plain = ("rctm", "rnn_encoder_decoder", "seq2seq")
    for column, verdicts in (("BLEU own rate", {"yes"}), ("BLEU beam", {"yes", "open"})):
        pairs = [(one, two) for one in MUSEUM[column] for two in plain if one not in plain]
        assert {against(one, two, column) for one, two in pairs} == verdicts
        unsure = {one for one, two in pairs if against(one, two, column) == "open"}
        assert unsure == ({"luong_local_p"} if column == "BLEU beam" else set())
    own = {name in plain: [] for name in MUSEUM["BLEU own rate"]}
    for name, mine in MUSEUM["BLEU own rate"].items():
        own[name in plain] += mine
    assert [round(f(own[False]), 1) for f in (min, max)] == [38.7, 44.0]
    assert [round(f(own[True]), 1) for f in (min, max)] == [15.7, 33.1]
    assert set(runs_of("multi30k_r_drop_weight")) == {"bahdanau", "transformer"}


def test_the_ablation_is_as_told():
    rows, greedy = (
        {name: seeds("ablation", name, "scores", "test", way) for name in runs_of("ablation")}
        for way in ("beam", "greedy")
    )
    assert min(rows["base"]) - max(rows["(C) 6 layers"]) < 0.0025
    assert beats(greedy["(C) 6 layers"], greedy["base"], True) == "open"
    config = runs_of("ablation")["base"][0]["config"]
    assert config["d_model"] // 16 == 16 and config["d_model"] // config["n_heads"] == 64
    assert round(mean(rows["(A) 1 head"]), 1) == round(mean(rows["base"]), 1) == 42.4
    one, four = (seeds("heads", n, "scores", "test", "exact") for n in ("1", "4"))
    assert beats(one, four, True) == "no"


def test_training_seconds_and_the_hunt_by_hand():
    assert sorted(round(x) for x in MUSEUM["training"]["transformer"]) == [16, 16, 18]
    assert sorted(round(x) for x in MUSEUM["training"]["lstmn_deep"]) == [77, 80, 82]
    assert all(run["at_a_time"] == 15 for run in runs_of("toy_ladder")["transformer"])
    L.says("16 to 18 seconds", "77 to 82")
    keys = torch.tensor([[5.0, 0.0], [0.0, 5.0], [-5.0, -5.0]])
    assert (keys @ torch.tensor([1.0, 0.0])).tolist() == [5, 0, -5]
    assert (keys @ torch.tensor([0.0, 1.0])).tolist() == [0, 5, -5]


def test_three_looks_of_convs2s():
    said = shared("convs2s")("the cat drank the water because it was thirsty", with_weights=True)
    row = said.target_tokens.index("il")
    shares = [zip(said.source_tokens, layer[0][row].tolist(), strict=True) for layer in said.weights]
    looks = [{token for token, share in layer if share > 0.15} for layer in shares]
    assert looks == [{"the", "cat"}, {"was"}, {"it"}]


def test_with_two_looks_closed_the_third_goes_where_it_went():
    convs2s = load_shipped("convs2s")
    pairs = generate(100, seed=18, length=(3, 12))
    encode = convs2s.tokenizer.encode
    sentences = {n: (encode(pair.src_text), encode(pair.tgt_text)) for n, pair in enumerate(pairs)}

    def largest() -> list[int]:
        weights = dict(forced_weights(convs2s.model, sentences))
        return [
            place
            for n, (src, tgt) in sentences.items()
            for place in weights[n][2, 0, : len(tgt) + 1, : len(src) + 1].argmax(dim=-1).tolist()
        ]

    before = largest()
    for look in convs2s.model.attention[:2]:
        look.to_hidden.register_forward_pre_hook(lambda _, found: torch.zeros_like(found[0]))
    same = mean(a == b for a, b in zip(before, largest(), strict=True))
    assert round(100 * same) == 97
    L.says("in 97 of 100 rows")


def test_another_machine_printed_what_is_stored():
    kept = data_path("results", "gpu", "lessons.txt").read_text(encoding="utf-8")
    _, live, other = kept.split("18_the_museum.ipynb, cell ")
    stored = (PROJECT_ROOT / "notebooks" / "18_the_museum.ipynb").read_text(encoding="utf-8")
    outputs = [cell.get("outputs", []) for cell in json.loads(stored)["cells"]]
    for told in (live, other):
        number, printed = told.split(":\n", maxsplit=1)
        assert "".join(outputs[int(number)][0]["text"]).strip() == printed.strip()
    L.says("this cell and the next printed what is stored here")
