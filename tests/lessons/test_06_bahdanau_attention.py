"""Figures and claims of lesson 06 are those of data/results and of the shipped system."""

from __future__ import annotations

from course_lib.explore.attention_stepper import walk
from course_lib.recorded import recorded
from course_lib.teaching.exercises import load
from course_lib.teaching.lessons import lesson
from course_lib.text.toy.splits import SIZES_OF_TESTS, splits

SOURCE = (lesson("bahdanau_attention").folder / "lesson.py").read_text(encoding="utf-8")
QUIZ = (lesson("bahdanau_attention").folder / "quiz.json").read_text(encoding="utf-8")


def exact(name: str, split: str, group: str) -> float:
    found = recorded("toy_ladder", lambda run: run["scores"][split]["by_length"][group]["exact"])
    return 100 * found[name]


def test_the_length_curve_is_as_told():
    assert [round(exact(name, "test", "16–20")) for name in ("seq2seq", "bahdanau")] == [22, 95]
    assert exact("bahdanau", "long", "21–30") > 88 and 20 < exact("bahdanau", "long", "31–40") < 30
    assert max(exact(name, "long", "21–30") for name in ("seq2seq", "rnn_encoder_decoder")) < 1
    assert (
        "95% where it was 22%" in SOURCE
        and "nine in ten are right" in SOURCE
        and "drops to a quarter" in SOURCE
    )


def test_sizes_and_alignment_error_are_as_told():
    run = recorded("toy_ladder", lambda run: run["parameters"])
    assert f"{run['seq2seq']:,.0f} parameters, this system {run['bahdanau']:,.0f}" in SOURCE
    error = recorded("toy_ladder", lambda run: run["scores"]["test"].get("alignment_error", 0) or 0)
    assert f"{error['bahdanau']:.2f}" == "0.06" and "the error is 0.06 too" in SOURCE


def test_the_diagonal_is_as_told():
    pairs = splits(seed=0, sizes=SIZES_OF_TESTS).test

    def share(pairs: list) -> float:
        links = [link for pair in pairs for link in pair.links]
        return 100 * sum(english == french for english, french in links) / len(links)

    assert round(share(pairs), -1) == 40 and "About 40%" in QUIZ
    assert round(share([pair for pair in pairs if pair.length <= 5])) == 71 and "it is 71%" in QUIZ


def test_il_looks_at_thirsty_as_told():
    kept = walk("thirsty", 0)
    row = dict(zip(kept["source"], kept["weights"][8], strict=True))
    assert [f"{row[word]:.2f}" for word in ("thirsty", "</s>", "cat")] == ["0.46", "0.30", "0.00"]
    assert "(0.46)" in QUIZ and "(0.30)" in QUIZ


def test_forced_looks_say_what_is_told():
    steered = load(lesson("bahdanau_attention").folder / "exercises.py").steered
    assert [steered(8, place).split()[8] for place in range(10)] == [
        "elle",
        "chat",
        *["elle"] * 4,
        *["il"] * 4,
    ]
    assert (
        steered(1, 4).startswith("le eau a bu")
        and steered(1, 9) == "le"
        and steered(1, 8).startswith("le avait")
    )
