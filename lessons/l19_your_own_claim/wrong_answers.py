"""Answers to the exercises of lesson 19 as learners write them, wrong and right.

A wrong answer is followed by the slip that the verdict must name, or by a part of its text; None where it may
name no slip.
"""

from __future__ import annotations

import random
from statistics import mean

from lessons.l19_your_own_claim.exercises import example_prediction, missing, verdict

# ---- what several answers share


def split_by(concerned, right):
    """Which of the concerned sentences are right, and which of the others."""
    both = list(zip(right, concerned, strict=True))
    return [r for r, c in both if c], [r for r, c in both if not c]


def losses(prediction, tables):
    """The points that both systems lost, for each seed."""
    on = prediction["on"]
    for name in (prediction["breaks"], prediction["more_than"]):
        yield [mean(tables["without"][on][name]) - x for x in tables["with"][on][name]]


def judged(one, other, points):
    """The verdict on the losses of two systems."""
    least, most = min(one) - max(other), max(one) - min(other)
    word = "held" if least >= points else "failed" if most < points else "open"
    return {"least": least, "most": most, "verdict": word}


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
        "if_open": "three seeds were not enough to tell",
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


def test_both(rule):
    for n in (2, 3, 4, 5):
        words = ["x"] * (n + 1)
        expected = [*words, "voilà"] if n % 2 == 0 else words
        assert rule(["a"] * n, list(words)) == expected


def test_raises(rule):
    if list(rule(["a", "b"], ["x"])) != ["x", "voilà"] or rule(["a"], ["x", "y"]) != ["x", "y"]:
        raise ValueError("not the rule")
    if not isinstance(rule(["a", "b"], ["x"]), list):
        raise ValueError("no list")


def test_sentences(rule):
    words = rule(["the", "cat", "sleeps"], ["le", "chat", "ne", "dort"])
    assert words == ["le", "chat", "ne", "dort"]
    assert rule(["it", "sleeps"], ["il", "ne", "dort"]) == ["il", "ne", "dort", "voilà"]


# ---- two_shares


def still_over_all(right, concerned):
    n = len(right)
    hits = sum(1 for r, c in zip(right, concerned, strict=True) if r and c)
    return {"rule": 100 * hits / n, "rest": 100 * (sum(right) - hits) / n}


def of_the_right(right, concerned):
    hits = sum(r and c for r, c in zip(right, concerned, strict=True))
    n = sum(right) or 1
    return {"rule": 100 * hits / n, "rest": 100 * (sum(right) - hits) / n}


def all_as_rest(right, concerned):
    part = [r for r, c in zip(right, concerned, strict=True) if c]
    return {"rule": 100 * mean(part), "rest": 100 * mean(right)}


def not_percent(right, concerned):
    yes, no = split_by(concerned, right)
    return {"rule": sum(yes) / len(yes), "rest": sum(no) / len(no)}


def swapped_parts(right, concerned):
    yes, no = split_by(concerned, right)
    return {"rest": 100 * mean(yes), "rule": 100 * mean(no)}


def a_pair(right, concerned):
    yes, no = split_by(concerned, right)
    return 100 * mean(yes), 100 * mean(no)


def shares_plain(right, concerned):
    yes, no = split_by(concerned, right)
    return {"rule": 100 * sum(yes) / len(yes), "rest": 100 * sum(no) / len(no)}


def shares_by_count(right, concerned):
    n = sum(concerned)
    hits = sum(r and c for r, c in zip(right, concerned, strict=True))
    return {"rule": 100 * hits / n, "rest": 100 * (sum(right) - hits) / (len(right) - n)}


def shares_loop(right, concerned):
    ok, all_ = {"rule": 0, "rest": 0}, {"rule": 0, "rest": 0}
    for i in range(len(right)):
        name = "rule" if concerned[i] else "rest"
        ok[name] += right[i]
        all_[name] += 1
    return {name: ok[name] / all_[name] * 100 for name in ok}


# ---- verdict


def compares_means(prediction, tables):
    one, other = map(mean, losses(prediction, tables))
    gap = one - other
    return {"least": gap, "most": gap, "verdict": "held" if gap >= prediction["points"] else "failed"}


def without_baseline(prediction, tables):
    row = tables["with"][prediction["on"]]
    one, other = ([-x for x in row[prediction[key]]] for key in ("breaks", "more_than"))
    return judged(one, other, prediction["points"])


def other_way(prediction, tables):
    other, one = losses(prediction, tables)
    return judged(one, other, prediction["points"])


def greater_than_zero(prediction, tables):
    return judged(*losses(prediction, tables), 0)


def seed_from_itself(prediction, tables):
    on, lost = prediction["on"], []
    for key in ("breaks", "more_than"):
        name = prediction[key]
        pairs = zip(tables["without"][on][name], tables["with"][on][name], strict=True)
        lost.append([a - b for a, b in pairs])
    return judged(*lost, prediction["points"])


@changed_verdict
def held_or_failed(prediction, outcome):
    return {**outcome, "verdict": "held" if outcome["least"] >= prediction["points"] else "failed"}


@changed_verdict
def lucky_pair(prediction, outcome):
    return {**outcome, "verdict": "held" if outcome["most"] >= prediction["points"] else "failed"}


@changed_verdict
def fails_when_equal(prediction, outcome):
    if outcome["verdict"] != "held" and outcome["most"] <= prediction["points"]:
        return {**outcome, "verdict": "failed"}
    return outcome


@changed_verdict
def more_than_points(prediction, outcome):
    if outcome["verdict"] == "held" and not outcome["least"] > prediction["points"]:
        return {**outcome, "verdict": "open"}
    return outcome


@changed_verdict
def whole_points(prediction, outcome):
    return {**outcome, "least": int(outcome["least"]), "most": int(outcome["most"])}


@changed_verdict
def only_the_word(prediction, outcome):
    return outcome["verdict"]


def verdict_plain(prediction, tables):
    one, other = losses(prediction, tables)
    least, most = min(one) - max(other), max(one) - min(other)
    word = "open"
    if least >= prediction["points"]:
        word = "held"
    elif most < prediction["points"]:
        word = "failed"
    return {"least": least, "most": most, "verdict": word}


def verdict_all_pairs(prediction, tables):
    one, other = losses(prediction, tables)
    gaps = [a - b for a in one for b in other]
    reached = [gap >= prediction["points"] for gap in gaps]
    word = "held" if all(reached) else "open" if any(reached) else "failed"
    return {"least": min(gaps), "most": max(gaps), "verdict": word}


def verdict_sorted(prediction, tables):
    one, other = (sorted(loss) for loss in losses(prediction, tables))
    outcome = {"verdict": "open", "most": one[-1] - other[0], "least": one[0] - other[-1]}
    if outcome["least"] >= prediction["points"]:
        return {**outcome, "verdict": "held"}
    return {**outcome, "verdict": "failed"} if outcome["most"] < prediction["points"] else outcome


# ---- missing


def as_given(report):
    return [name for name in missing(report) if name not in ("before", "steps")]


def by_the_hour(report):
    cut = {**report, "written": report["written"][:13], "trained": report["trained"][:13]}
    return missing(cut)


def only_the_clock(report):
    return [name for name in missing(report) if name != "steps"]


def steps_at_the_end(report):
    found = missing(report)
    return sorted(found, key=lambda name: name == "steps")


def returns_early(report):
    return missing(report)[:1]


def no_times(report):
    return [name for name in missing(report) if name != "before"]


def asks_both(report):
    found = []
    if not report["prediction"]:
        found += ["prediction", "before"]
    elif report["written"] >= report["trained"]:
        found.append("before")
    return found + [name for name in missing(report) if name not in ("prediction", "before")]


def not_after(report):
    found = missing(report)
    if "before" in found and report["written"] <= report["trained"]:
        found.remove("before")
    return found


def a_set(report):
    return set(missing(report))


def missing_plain(report):
    found = []
    if not report["prediction"]:
        found.append("prediction")
    elif report["written"] >= report["trained"]:
        found.append("before")
    if len(set(report["seeds"])) < 3:
        found.append("seeds")
    if report["n_steps"] < 600:
        found.append("steps")
    if "rest" not in report["splits"]:
        found.append("control")
    if len(report["words"].split()) < 20:
        found.append("words")
    return found


def missing_table(report):
    tests = {
        "prediction": not report["prediction"],
        "before": bool(report["prediction"]) and report["written"] >= report["trained"],
        "seeds": len({*report["seeds"]}) < 3,
        "steps": report["n_steps"] <= 599,
        "control": report["splits"].count("rest") == 0,
        "words": len(report["words"].split()) < 20,
    }
    return [name for name, lacks in tests.items() if lacks]


def missing_steps(report):
    first = ["prediction"] if not report["prediction"] else []
    if not first and not report["trained"] > report["written"]:
        first = ["before"]
    more = [("seeds", len(set(report["seeds"])) >= 3), ("steps", report["n_steps"] >= 600)]
    more += [("control", "rest" in report["splits"])]
    more += [("words", len(report["words"].split()) >= 20)]
    return first + [name for name, there in more if not there]


# ---- my_prediction


def forgot_one():
    prediction = prediction_with()()
    del prediction["if_open"]
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
        (test_same_lengths, "counts French words instead of English ones"),
        (test_wants_string, "rejects-the-right-one"),
        (test_returns, "raising"),
    ],
    "two_shares": [
        (still_over_all, "unrepaired"),
        (of_the_right, "over-right"),
        (all_as_rest, "rest-is-all"),
        (not_percent, "as-parts"),
        (swapped_parts, None),
        (a_pair, "Expected a"),
    ],
    "verdict": [
        (compares_means, "by-means"),
        (without_baseline, "no-baseline"),
        (other_way, "turned"),
        (greater_than_zero, "any-gap"),
        (held_or_failed, "never-open"),
        (lucky_pair, "best-luck"),
        (seed_from_itself, "seed-by-seed"),
        (fails_when_equal, "fails-at-once"),
        (more_than_points, "strictly"),
        (whole_points, None),
        (only_the_word, "Expected a"),
        (lambda prediction, tables: verdict_plain({**prediction, "on": "rule"}, tables), "always-rule"),
    ],
    "missing": [
        (returns_early, "first-only"),
        (as_given, "unrepaired"),
        (by_the_hour, None),
        (only_the_clock, "no-steps"),
        (steps_at_the_end, None),
        (no_times, "no-clock"),
        (asks_both, "both"),
        (not_after, "equal"),
        (a_set, "Expected a"),
    ],
    "my_prediction": [
        (prediction_with(points=0), "lies between 1 and 100"),
        (prediction_with(points=0.01), "lies between 1 and 100"),
        (prediction_with(on="rule, long", points=60), "cannot be lost there"),
        (prediction_with(points="a lot"), "is a number of percentage points"),
        (prediction_with(breaks="lstm"), "there is no system"),
        (prediction_with(more_than="bahdanau"), "More than itself?"),
        (prediction_with(on="test"), "there is no split"),
        (prediction_with(why="because"), "too short"),
        (prediction_with(if_open="-"), "too short"),
        (forgot_one, 'needs "if_open"'),
        (only_text, 'needs "breaks"'),
        (lambda: example_prediction() | {"points": 0.0}, "no-number"),
    ],
    "my_rule": [
        (as_it_was, "changes-nothing"),
        (all_backwards, "changes-all"),
        (a_text, "gives-text"),
        (too_rare, "Too few to measure anything"),
        (by_chance, "changed in two ways"),
        (new_names, "never shown in training"),
        (breaks_off, "IndexError"),
        (loses_the_rest, "It gave no words at all"),
        (two_words_in_one, "One word an entry"),
        (forgot_else, "returns-none"),
    ],
}

RIGHT = {
    "test_even_rule": [test_both, test_raises, test_sentences],
    "two_shares": [shares_plain, shares_by_count, shares_loop],
    "verdict": [verdict_plain, verdict_all_pairs, verdict_sorted],
    "missing": [missing_plain, missing_table, missing_steps],
    "my_prediction": [
        prediction_with(on="rule, long", points=5),
        prediction_with(breaks="no positions", more_than="convs2s", points=12.5),
        prediction_with(breaks="luong_dot", more_than="mine", on="rest", points=3),
    ],
    "my_rule": [mirror_not, polite_questions, doubled_negation, tuple_of_words],
}
