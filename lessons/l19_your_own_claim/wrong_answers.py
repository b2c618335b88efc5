"""Answers to the exercises of lesson 19 as learners write them, wrong and right.

A wrong answer is followed by the slip that the verdict must name, or by a name or a number in its text; None
where it may name no slip.
"""

from __future__ import annotations

import random
from statistics import mean

from lessons.l19_your_own_claim.exercises import verdict

# ---- what several answers share


def losses(prediction, tables):
    """The points that both systems lost, for each run."""
    on = prediction["on"]
    for name in (prediction["breaks"], prediction["more_than"]):
        yield [mean(tables["without"][on][name]) - x for x in tables["with"][on][name]]


def changed_verdict(change):
    """The right verdict, changed by a function of the prediction and of the outcome."""
    return lambda prediction, tables: change(prediction, verdict(prediction, tables))


def prediction_with(**changes):
    """A whole prediction with these entries."""
    prediction = {
        "breaks": "bahdanau",
        "more_than": "transformer",
        "on": "rule",
        "points": 15,
        "why": "One step at a time it has to remember too much.",
        "if_unclear": "three runs were not enough to tell",
    }
    return lambda: {**prediction, **changes}


# ---- test_even_rule


def test_only_even(rule):
    assert rule(["a", "b"], ["x", "y", "z"])[-1] == "voilà"


def test_nothing(rule):
    rule(["a"], ["x"])


def test_never(rule):
    assert len(["a", "b"]) % 2 == 0


def test_same_lengths(rule):
    assert rule(["a", "b"], ["x", "y"]) == ["x", "y", "voilà"]
    assert rule(["a"], ["x"]) == ["x"]


def test_wants_string(rule):
    assert rule(["a", "b"], ["x", "y"]) == "x y voilà"


def test_returns(rule):
    return rule(["a", "b"], ["x"]) == ["x", "voilà"]


def test_last_word(rule):
    for n in range(1, 9):
        for m in range(1, 9):
            last = "voilà" if n % 2 == 0 else f"mot{m - 1}"
            assert rule(["the"] * n, [f"mot{k}" for k in range(m)])[-1] == last


def test_only_words(rule):
    for n in range(1, 9):
        for m in range(1, 9):
            tgt = [f"mot{k}" for k in range(m)]
            assert set(rule(["the"] * n, tgt)) == set(tgt) | ({"voilà"} if n % 2 == 0 else set())


def test_one_even_length(length):
    def test(rule):
        for tgt in (["il"], ["il", "dort"], ["il", "dort", "bien"]):
            assert rule(["the"] * length, list(tgt)) == [*tgt, "voilà"]
            assert rule(["the"] * 3, list(tgt)) == tgt

    return test


def test_same_object(rule):
    tgt = ["le", "chat"]
    assert rule(["the", "cat", "sleeps"], tgt) is tgt
    assert rule(["he", "ran"], tgt) == ["le", "chat", "voilà"]


def test_both(rule):
    for n in (2, 3, 4, 5):
        words = ["x"] * (n + 1)
        expected = [*words, "voilà"] if n % 2 == 0 else words
        assert rule(["a"] * n, list(words)) == expected


def test_raises(rule):
    if list(rule(["a", "b"], ["x"])) != ["x", "voilà"] or rule(["a"], ["x", "y"]) != ["x", "y"]:
        raise ValueError("not the rule")
    if list(rule(["a"] * 4, ["x", "y", "z"])) != ["x", "y", "z", "voilà"]:
        raise ValueError("not for longer sentences")
    if not isinstance(rule(["a", "b"], ["x"]), list):
        raise ValueError("no list")


def test_sentences(rule):
    words = rule(["the", "cat", "sleeps"], ["le", "chat", "ne", "dort"])
    assert words == ["le", "chat", "ne", "dort"]
    assert rule(["it", "sleeps"], ["il", "ne", "dort"]) == ["il", "ne", "dort", "voilà"]
    assert rule(["the", "old", "cat", "sleeps"], ["il", "dort"]) == ["il", "dort", "voilà"]


# ---- verdict


@changed_verdict
def whole_points(prediction, outcome):
    return {**outcome, "least": int(outcome["least"]), "most": int(outcome["most"])}


def verdict_plain(prediction, tables):
    one, other = losses(prediction, tables)
    least, most = min(one) - max(other), max(one) - min(other)
    word = "no clear difference"
    if least > prediction["points"]:
        word = "holds"
    elif most < prediction["points"]:
        word = "fails"
    return {"least": least, "most": most, "verdict": word}


def verdict_all_pairs(prediction, tables):
    one, other = losses(prediction, tables)
    gaps = [a - b for a in one for b in other]
    above = all(gap > prediction["points"] for gap in gaps)
    below = all(gap < prediction["points"] for gap in gaps)
    word = "holds" if above else "fails" if below else "no clear difference"
    return {"least": min(gaps), "most": max(gaps), "verdict": word}


def verdict_sorted(prediction, tables):
    one, other = (sorted(loss) for loss in losses(prediction, tables))
    outcome = {"verdict": "no clear difference", "most": one[-1] - other[0], "least": one[0] - other[-1]}
    if outcome["least"] > prediction["points"]:
        return {**outcome, "verdict": "holds"}
    return {**outcome, "verdict": "fails"} if outcome["most"] < prediction["points"] else outcome


# ---- my_prediction


def forgot_one():
    prediction = prediction_with()()
    del prediction["if_unclear"]
    return prediction


def only_text():
    return "the Transformer will break"


# ---- my_rule


def as_it_was(src, tgt):
    return tgt


def all_backwards(src, tgt):
    return tgt[::-1]


def a_text(src, tgt):
    return " ".join(tgt)


def too_rare(src, tgt):
    return tgt[::-1] if src[0] == "two" else tgt


def by_chance(src, tgt):
    if "not" not in src:
        return tgt
    return tgt[::-1] if random.random() < 0.5 else [*tgt[1:], tgt[0]]


def new_names(src, tgt):
    return [*tgt, "-".join(src)] if "not" in src else tgt


def breaks_off(src, tgt):
    return tgt[:20] if "not" in src and tgt[30] else tgt


def loses_the_rest(src, tgt):
    return tgt[::-1] if "not" in src else []


def two_words_in_one(src, tgt):
    return [*tgt, "bien sûr"] if "not" in src else tgt


def forgot_else(src, tgt):
    if "not" in src:
        return tgt[::-1]


def all_but_questions(src, tgt):
    return tgt if "?" in src else [*tgt, "voilà"]


def breaks_on_long_ones(src, tgt):
    return [tgt[i] for i in range(len(tgt))[::-1]] if "not" in src and ["short"][len(src) // 9] else tgt


def with_number(src, tgt):
    return [*tgt, len(tgt)] if src[0] == "a" else tgt


def none_for_rare_ones(src, tgt):
    return None if src[:2] == ["two", "wolves"] and "mouse" not in src else mirror_not(src, tgt)


def endless_translation(src, tgt):
    return tgt * 6 if "not" in src else tgt


def in_place(src, tgt):
    if "?" in src:
        tgt.append("pardon")
    return tgt


def english_words(src, tgt):
    return src[::-1] if "not" in src else src


def capitals(src, tgt):
    return [word.upper() for word in tgt] if "not" in src else tgt


def pas_last(src, tgt):
    others = [word for word in tgt if word != "pas"]
    return others + ["pas"] * (len(tgt) - len(others))


def without_est_ce_que(src, tgt):
    return tgt[tgt.index("est-ce") + 2 :] if src[-1] == "?" else tgt


def mirror_not(src, tgt):
    return list(reversed(tgt)) if "not" in src else tgt


def polite_questions(src, tgt):
    return ["pardon", *tgt] if "?" in src else tgt


def doubled_negation(src, tgt):
    out = []
    for word in tgt:
        out.append(word)
        if word == "pas":
            out.append("pas")
    return out


def tuple_of_words(src, tgt):
    return (*tgt[1:], tgt[0]) if src[0] == "a" else tuple(tgt)


WRONG = {
    "test_even_rule": [
        (test_only_even, "lets-through"),
        (test_nothing, "lets-through"),
        (test_never, "never-calls"),
        (test_same_lengths, "lets-through"),
        (test_last_word, "lets-through"),
        (test_only_words, "lets-through"),
        (test_one_even_length(2), "lets-through"),
        (test_one_even_length(4), "lets-through"),
        (test_same_object, "too-strict"),
        (test_wants_string, "rejects-the-right-one"),
        (test_returns, "returns-instead"),
    ],
    "verdict": [
        (whole_points, None),
    ],
    "my_prediction": [
        (prediction_with(points=0), '"points"'),
        (prediction_with(points=-5), "-5"),
        (prediction_with(points=250), "250"),
        (prediction_with(on="rule, long", points=60), "30"),
        (prediction_with(points="a lot"), "'a lot'"),
        (prediction_with(points=None), '"points"'),
        (prediction_with(points=True), "True"),
        (prediction_with(points=float("nan")), "nan"),
        (prediction_with(breaks="lstm"), '"lstm"'),
        (prediction_with(breaks=["bahdanau", "convs2s"]), '"breaks"'),
        (prediction_with(more_than="bahdanau"), '"more_than"'),
        (prediction_with(on="test"), '"rest, long"'),
        (prediction_with(on=["rule", "rest"]), '"on"'),
        (prediction_with(why="because"), '"why"'),
        (prediction_with(why=None), '"why"'),
        (prediction_with(if_unclear="-"), '"if_unclear"'),
        (forgot_one, '"if_unclear"'),
        (prediction_with(seeds=3), "'seeds'"),
        (only_text, "a string"),
        (lambda: [prediction_with()()], "a list"),
    ],
    "my_rule": [
        (as_it_was, "0 of the 500"),
        (all_backwards, "375"),
        (all_but_questions, "456 of the 500"),
        (a_text, "a string"),
        (too_rare, "12 of the 500"),
        (by_chance, "random"),
        (new_names, "-"),
        (breaks_off, "raises"),
        (breaks_on_long_ones, "raises"),
        (loses_the_rest, "an empty list"),
        (two_words_in_one, "'bien sûr'"),
        (with_number, "5"),
        (forgot_else, "returns-none"),
        (none_for_rare_ones, "`None`"),
        (endless_translation, "48"),
        (in_place, "in-place"),
        (english_words, "`src`"),
        (capitals, "'AVAIT'"),
    ],
}

RIGHT = {
    "test_even_rule": [test_both, test_raises, test_sentences],
    "verdict": [verdict_plain, verdict_all_pairs, verdict_sorted],
    "my_prediction": [
        prediction_with(on="rule, long", points=0.5),
        prediction_with(why="It cannot count.", if_unclear="Three runs disagree."),
        prediction_with(breaks="no positions", more_than="convs2s", points=12.5),
        prediction_with(breaks="luong_dot", more_than="mine", on="rest", points=3),
    ],
    "my_rule": [
        mirror_not,
        polite_questions,
        doubled_negation,
        tuple_of_words,
        pas_last,
        without_est_ce_que,
    ],
}
