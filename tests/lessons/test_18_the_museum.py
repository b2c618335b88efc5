"""Figures and claims of lesson 18 are what is recorded."""

from __future__ import annotations

from itertools import combinations
from statistics import mean

import torch

from course_lib.models.museum import COLUMNS, HIGHER, NO_PATH, REAL, TOY, runs_of, table
from course_lib.models.road import SYSTEMS
from course_lib.teaching.lessons import lesson
from course_lib.translation.shipped import load_shipped

FOLDER = lesson("the_museum").folder
SOURCE = (FOLDER / "lesson.py").read_text(encoding="utf-8")
QUIZ = (FOLDER / "quiz.json").read_text(encoding="utf-8")
MUSEUM = table()


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


def test_six_translators_are_first_somewhere():
    here = [c for c in COLUMNS if COLUMNS[c].hall in (TOY, REAL) and c != "1 to 5 words"]
    firsts = {order(column)[0] for column in here}
    assert len(here) == 18
    assert firsts == {
        *("transformer", "bahdanau", "luong_concat", "luong_dot", "convs2s", "rnn_encoder_decoder")
    }
    assert sum(order(column)[0] == "transformer" for column in COLUMNS) == 4
    shared = [name for name, seeds in MUSEUM["1 to 5 words"].items() if min(seeds) == 100]
    assert len(shared) > 3


def test_the_first_is_alone_in_eight_columns():
    alone = [
        column
        for column in COLUMNS
        if all(against(order(column)[0], rival, column) == "yes" for rival in order(column)[1:])
    ]
    assert len(alone) == 8 and "pronoun class" in alone and "parameters" in alone and "BLEU beam" in alone
    assert '"8 of 22.' in QUIZ


def test_what_was_not_expected():
    assert order("BLEU beam")[:3] == ["convs2s", "transformer", "bahdanau"]
    assert against("convs2s", "transformer", "BLEU beam") == "yes"
    assert round(mean(MUSEUM["21 to 30 words"]["transformer"])) == 22
    assert round(mean(MUSEUM["21 to 30 words"]["bahdanau"])) == 90
    assert max(MUSEUM["31 to 40 words"]["transformer"]) < 0.5
    assert all(20 <= round(x) <= 25 for x in MUSEUM["21 to 30 words"]["transformer"])
    assert [round(x) for x in sorted(MUSEUM["21 to 30 words"]["bahdanau"])][::2] == [88, 92]
    words = {name: round(mean(seeds), 1) for name, seeds in MUSEUM["perplexity"].items()}
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
        cells = [float(cell.strip(" *")) for cell in told.strip("|").split("|")]
        assert told in SOURCE
        assert cells == [
            round(mean(MUSEUM[f"BLEU {way}"][name]), 1) for way in ("beam", "own rate", "R-Drop")
        ]
    assert against("bahdanau", "transformer", "BLEU R-Drop") == "open"
    with_it = [
        x for n, x in means["BLEU beam"].items() if n not in ("rctm", "rnn_encoder_decoder", "seq2seq")
    ]
    assert min(with_it) >= 36.5 and max(with_it) < 43.5
    assert means["BLEU beam"]["rctm"] >= 16 and means["BLEU beam"]["rnn_encoder_decoder"] < 33


def test_the_ablation_is_as_told():
    rows = {n: [r["scores"]["test"]["beam"] for r in runs] for n, runs in runs_of("ablation").items()}
    verdicts = {name: beats(seeds, rows["base"], True) for name, seeds in rows.items()}
    assert verdicts["(A) 1 head"] == verdicts["(E) learned positions"] == "open"
    assert verdicts["(D) no dropout"] == verdicts["(B) d_k 16"] == verdicts["(C) 2 layers"] == "no"
    assert mean(rows["(D) no dropout"]) - mean(rows["base"]) < -4
    assert round(mean(rows["(A) 1 head"]), 1) == round(mean(rows["base"]), 1) == 42.4


def test_ten_of_fifteen_can_be_made_first():
    found = set()
    for column in (c for c in COLUMNS if COLUMNS[c].hall in (TOY, REAL)):
        sign = 1 if HIGHER[column] else -1
        numbers = {name: [sign * x for x in seeds] for name, seeds in MUSEUM[column].items()}
        for name, seeds in numbers.items():
            rivals = [min(other) for rival, other in numbers.items() if rival != name]
            if max(seeds) > max(rivals):
                found.add(name)
    assert len(found) == 10


def test_two_means_differ_by_two_to_three_points():
    for name in ("bahdanau", "transformer", "convs2s"):
        scores = [run["scores"] for run in runs_of("toy_ladder")[name]]
        pooled = mean(
            sum(p["n"] * p["exact"] for p in s.values()) / sum(p["n"] for p in s.values()) for s in scores
        )
        by_split = mean(mean(p["exact"] for p in s.values()) for s in scores)
        assert 1.3 < 100 * (pooled - by_split) < 3.3


def test_training_seconds_are_as_told():
    assert sorted(round(x) for x in MUSEUM["training"]["transformer"]) == [16, 16, 18]
    assert sorted(round(x) for x in MUSEUM["training"]["lstmn_deep"]) == [77, 80, 82]
    assert all(run["at_a_time"] == 15 for run in runs_of("toy_ladder")["transformer"])
    assert "16 to 18 seconds" in SOURCE and "77 to 82" in SOURCE


def test_the_hunt_by_hand():
    keys = torch.tensor([[5.0, 0.0], [0.0, 5.0], [-5.0, -5.0]])
    assert (keys @ torch.tensor([1.0, 0.0])).tolist() == [5, 0, -5]
    assert (keys @ torch.tensor([0.0, 1.0])).tolist() == [0, 5, -5]


def test_three_looks_of_convs2s():
    convs2s = load_shipped("convs2s")

    def looks(sentence: str, word: str) -> list[set[str]]:
        said = convs2s(sentence, with_weights=True)
        row = said.target_tokens.index(word)
        shares = [zip(said.source_tokens, layer[0][row].tolist(), strict=True) for layer in said.weights]
        return [{token for token, share in layer if share > 0.15} for layer in shares]

    start = "the cat drank the water because it was"
    assert looks(f"{start} thirsty", "il") == [{"the", "cat"}, {"was"}, {"it"}]
    assert looks(f"{start} cold", "elle")[0] == {"the", "cat", "was"}
