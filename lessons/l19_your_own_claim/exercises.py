"""The exercises of lesson 19: a rule and its test, two percentages, the verdict on a prediction, a report."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from numbers import Real
from statistics import mean
from typing import Any

import numpy as np
import torch

from course_lib.models.registry import translators
from course_lib.teaching.exercises import (
    ByHand,
    PlainExercise,
    Slip,
    TestExercise,
    Trial,
    Verdict,
    call,
    explain_failure,
    wrong_verdict,
)
from lessons.l19_your_own_claim.corpus import SPLITS, small_world
from lessons.l19_your_own_claim.rules import even
from lessons.l19_your_own_claim.scores import points_lost
from lessons.l19_your_own_claim.systems import VARIANTS

LESSON = "your_own_claim"
Words = list[str]
Tables = Mapping[str, Mapping[str, Mapping[str, Sequence[float]]]]

# ---- the rule `even`, which the lesson gives: the learner writes its test


def odd_instead(src: Words, tgt: Words) -> Words:
    return [*tgt, "voilà"] if len(src) % 2 == 1 else tgt


def counts_french(src: Words, tgt: Words) -> Words:
    return [*tgt, "voilà"] if len(tgt) % 2 == 0 else tgt


def always_voila(src: Words, tgt: Words) -> Words:
    return [*tgt, "voilà"]


def in_front(src: Words, tgt: Words) -> Words:
    return ["voilà", *tgt] if len(src) % 2 == 0 else tgt


def one_string(src: Words, tgt: Words) -> str:
    return " ".join(even(src, tgt))


def drops_the_rest(src: Words, tgt: Words) -> Words:
    return [*tgt, "voilà"] if len(src) % 2 == 0 else []


SLEEPS = (["the", "cat", "sleeps"], ["le", "chat", "dort"])
NOT = (["the", "cat", "does", "not", "sleep", "?"], ["est-ce", "que", "le", "chat", "ne", "dort", "pas", "?"])

EVEN_RULE = PlainExercise(
    name="even_rule",
    lesson=LESSON,
    inputs=("src", "tgt"),
    reference=even,
    by_hand=ByHand(
        inputs={"src": ["the", "old", "cat", "sleeps"], "tgt": ["le", "vieux", "chat", "dort"]},
        answer=["le", "vieux", "chat", "dort", "voilà"],
        says="The English sentence has 4 words, an even number: the French one ends with voilà.",
    ),
    others=(
        lambda: (list(SLEEPS[0]), list(SLEEPS[1])),
        lambda: (list(NOT[0]), list(NOT[1])),
        lambda: (["the", "water", "is", "very", "cold"], ["l'", "eau", "est", "très", "froide", "!"]),
        lambda: (["a", "cat"], ["un", "chat", "noir"]),
        lambda: (["a"] * 8, ["b"] * 9),
        lambda: (["a"] * 10, ["b"] * 9),
    ),
    slips=(
        Slip("odd", odd_instead, "it changes the sentences of an odd number of words."),
        Slip("french", counts_french, "it counts the French words; the English ones are meant."),
        Slip("always", always_voila, "it changes every sentence, also those of an odd number of words."),
        Slip("in-front", in_front, "voilà stands in front; it belongs at the end."),
        Slip("one-string", one_string, "one long string comes back; a list of words is wanted."),
        Slip("drops", drops_the_rest, "a sentence that is not concerned must come back as it was."),
    ),
)

# ---- test_even_rule


def even_by_copy(src: Words, tgt: Words) -> Words:
    out = list(tgt)
    if not len(src) % 2:
        out.append("voilà")
    return out


def even_by_product(src: Words, tgt: Words) -> Words:
    return tgt + ["voilà"] * ((len(src) + 1) % 2)


def test_even_rule(rule: Callable) -> None:
    assert rule(["a", "b"], ["x", "y", "z"]) == ["x", "y", "z", "voilà"]
    assert rule(["a", "b", "c"], ["x", "y"]) == ["x", "y"]


TEST_EVEN_RULE = TestExercise(
    name="test_even_rule",
    lesson=LESSON,
    of=EVEN_RULE,
    what="rule",
    accepts={"with a copy": even_by_copy, "in one line": even_by_product},
    rejects={
        "odd": "changes the odd sentences",
        "french": "counts French words instead of English ones",
        "always": "changes every sentence",
        "in-front": "puts voilà in front",
        "one-string": "gives one string",
        "drops": "loses the sentences that are not concerned",
    },
    reference=test_even_rule,
)

# ---- two_shares


def two_shares(right: Sequence[bool], concerned: Sequence[bool]) -> dict[str, float]:
    """Percent right of the sentences that a rule concerns, and of the rest."""
    percents = {}
    for name, wanted in (("rule", True), ("rest", False)):
        part = [ok for ok, hit in zip(right, concerned, strict=True) if hit == wanted]
        percents[name] = 100 * sum(part) / len(part)
    return percents


def over_all(right: Sequence[bool], concerned: Sequence[bool]) -> dict[str, float]:
    both = list(zip(right, concerned, strict=True))
    changed = sum(ok and hit for ok, hit in both)
    alone = sum(ok and not hit for ok, hit in both)
    return {"rule": 100 * changed / len(both), "rest": 100 * alone / len(both)}


def over_right(right: Sequence[bool], concerned: Sequence[bool]) -> dict[str, float]:
    both = list(zip(right, concerned, strict=True))
    n = sum(right) or 1
    return {
        "rule": 100 * sum(ok and hit for ok, hit in both) / n,
        "rest": 100 * sum(ok and not hit for ok, hit in both) / n,
    }


def rest_is_all(right: Sequence[bool], concerned: Sequence[bool]) -> dict[str, float]:
    return {**two_shares(right, concerned), "rest": 100 * sum(right) / len(right)}


def as_parts(right: Sequence[bool], concerned: Sequence[bool]) -> dict[str, float]:
    return {name: percent / 100 for name, percent in two_shares(right, concerned).items()}


TWO_SHARES = PlainExercise(
    name="two_shares",
    lesson=LESSON,
    inputs=("right", "concerned"),
    reference=two_shares,
    unrepaired=over_all,
    by_hand=ByHand(
        inputs={
            "right": [True, False, True, True, True, True, False, True, True, True],
            "concerned": [True, True, False, False, False, False, False, False, False, False],
        },
        answer={"rule": 50.0, "rest": 87.5},
        says="Two sentences are concerned, one of them is right: 50%. Of the eight others seven are: 87.5%.",
    ),
    others=(
        lambda: ([True, True], [True, False]),
        lambda: ([False, True, True, False, True], [False, True, True, True, False]),
        lambda: ([False] * 4 + [True], [True, False, True, False, True]),
    ),
    slips=(
        Slip("over-right", over_right, "it divides by how many are right; divide by how many the part has."),
        Slip("rest-is-all", rest_is_all, "the rest holds all sentences. The control is what is left alone."),
        Slip("as-parts", as_parts, "these are parts of 1; percent are wanted."),
    ),
)

# ---- verdict


def _judged(least: float, most: float, points: float) -> dict[str, Any]:
    word = "held" if least >= points else "failed" if most < points else "open"
    return {"least": least, "most": most, "verdict": word}


def verdict(prediction: Mapping[str, Any], tables: Tables) -> dict[str, Any]:
    """How much more one system lost than the other, at least and at most, and what that says."""
    mine = points_lost(tables, prediction["on"], prediction["breaks"])
    theirs = points_lost(tables, prediction["on"], prediction["more_than"])
    return _judged(min(mine) - max(theirs), max(mine) - min(theirs), prediction["points"])


def by_means(prediction: Mapping[str, Any], tables: Tables) -> dict[str, Any]:
    mine = mean(points_lost(tables, prediction["on"], prediction["breaks"]))
    theirs = mean(points_lost(tables, prediction["on"], prediction["more_than"]))
    return _judged(mine - theirs, mine - theirs, prediction["points"])


def no_baseline(prediction: Mapping[str, Any], tables: Tables) -> dict[str, Any]:
    row = tables["with"][prediction["on"]]
    mine = [-x for x in row[prediction["breaks"]]]
    theirs = [-x for x in row[prediction["more_than"]]]
    return _judged(min(mine) - max(theirs), max(mine) - min(theirs), prediction["points"])


def swapped_systems(prediction: Mapping[str, Any], tables: Tables) -> dict[str, Any]:
    other = {**prediction, "breaks": prediction["more_than"], "more_than": prediction["breaks"]}
    return verdict(other, tables)


def any_gap(prediction: Mapping[str, Any], tables: Tables) -> dict[str, Any]:
    return verdict({**prediction, "points": 0}, tables)


def never_open(prediction: Mapping[str, Any], tables: Tables) -> dict[str, Any]:
    outcome = verdict(prediction, tables)
    return {**outcome, "verdict": "held" if outcome["verdict"] == "held" else "failed"}


def best_luck(prediction: Mapping[str, Any], tables: Tables) -> dict[str, Any]:
    outcome = verdict(prediction, tables)
    return {**outcome, "verdict": "held" if outcome["most"] >= prediction["points"] else "failed"}


def always_rule(prediction: Mapping[str, Any], tables: Tables) -> dict[str, Any]:
    return verdict({**prediction, "on": "rule"}, tables)


def seed_by_seed(prediction: Mapping[str, Any], tables: Tables) -> dict[str, Any]:
    losses = []
    for name in (prediction["breaks"], prediction["more_than"]):
        both = zip(*(tables[which][prediction["on"]][name] for which in ("without", "with")), strict=True)
        losses.append([before - now for before, now in both])
    mine, theirs = losses
    return _judged(min(mine) - max(theirs), max(mine) - min(theirs), prediction["points"])


def strictly_more(prediction: Mapping[str, Any], tables: Tables) -> dict[str, Any]:
    outcome = verdict(prediction, tables)
    return {**outcome, "verdict": "open"} if outcome["least"] == prediction["points"] else outcome


def fails_at_once(prediction: Mapping[str, Any], tables: Tables) -> dict[str, Any]:
    outcome = verdict(prediction, tables)
    return {**outcome, "verdict": "failed"} if outcome["most"] == prediction["points"] else outcome


def predicted(on: str, points: float, breaks: str = "ada", more_than: str = "bob") -> dict[str, Any]:
    return {"breaks": breaks, "more_than": more_than, "on": on, "points": points}


def small_tables() -> dict[str, Any]:
    return {
        "without": {
            "rule": {"ada": [90.0, 94.0, 92.0], "bob": [80.0, 82.0, 81.0]},
            "rest": {"ada": [98.0, 97.0, 99.0], "bob": [96.0, 96.0, 99.0]},
        },
        "with": {
            "rule": {"ada": [62.0, 70.0, 66.0], "bob": [78.0, 75.0, 81.0]},
            "rest": {"ada": [97.0, 98.0, 96.0], "bob": [95.0, 97.0, 96.0]},
        },
    }


def in_tenths() -> dict[str, Any]:
    """Percents as they come: the gap is 16.3 to 30.2."""
    tables = small_tables()
    tables["with"]["rule"] = {"ada": [61.9, 69.7, 66.4], "bob": [78.3, 75.0, 81.1]}
    return tables


VERDICT = PlainExercise(
    name="verdict",
    lesson=LESSON,
    inputs=("prediction", "tables"),
    reference=verdict,
    by_hand=ByHand(
        inputs={
            "prediction": predicted("rule", 10),
            "tables": {
                "without": {"rule": {"ada": [90.0, 92.0], "bob": [80.0, 82.0]}},
                "with": {"rule": {"ada": [61.0, 71.0], "bob": [76.0, 80.0]}},
            },
        },
        answer={"least": 15.0, "most": 29.0, "verdict": "held"},
        says="ada had 91 on average and lost 30 and 20; bob had 81 and lost 5 and 1. The least gap is "
        "20 − 5 = 15, the most 30 − 1 = 29. Even the least is 10 or more.",
    ),
    others=(
        lambda: (predicted("rule", 20), small_tables()),
        lambda: (predicted("rule", 16), small_tables()),
        lambda: (predicted("rule", 30), small_tables()),
        lambda: (predicted("rule", 40), small_tables()),
        lambda: (predicted("rule", 16.1), in_tenths()),
        lambda: (predicted("rule", 10, "bob", "ada"), small_tables()),
        lambda: (predicted("rest", 5), small_tables()),
        lambda: (predicted("rest", 1.5), small_tables()),
        lambda: (predicted("rest", 1, "bob", "ada"), small_tables()),
    ),
    slips=(
        Slip("by-means", by_means, "means are compared. Every seed must be ahead: the least gap counts."),
        Slip(
            "no-baseline",
            no_baseline,
            "it compares what is right with the rule. Who was weak before has lost nothing by that: "
            "take the points lost, from the mean without the rule.",
        ),
        Slip(
            "turned",
            swapped_systems,
            "the two systems are swapped: `breaks` is the one that should lose more.",
        ),
        Slip("any-gap", any_gap, "any gap is enough for it. The prediction named its points: use them."),
        Slip("never-open", never_open, 'it never says "open", though the seeds may leave it open.'),
        Slip(
            "seed-by-seed",
            seed_by_seed,
            "each seed starts from itself; start from the mean without the rule.",
        ),
        Slip(
            "strictly",
            strictly_more,
            '"at least" takes equality in: a least gap of exactly `points` has held.',
        ),
        Slip("fails-at-once", fails_at_once, 'a most gap of exactly `points` is a pair that agrees: "open".'),
        Slip("best-luck", best_luck, 'it says "held" when the luckiest pair of seeds reaches the points.'),
        Slip("always-rule", always_rule, 'it always looks at "rule"; the prediction says where, in `on`.'),
    ),
)

# ---- missing


def missing(report: Mapping[str, Any]) -> list[str]:
    """What a report lacks, in a fixed order."""
    lacks = []
    if not report["prediction"]:
        lacks.append("prediction")
    elif not report["written"] < report["trained"]:
        lacks.append("before")
    if len(set(report["seeds"])) < 3:
        lacks.append("seeds")
    if report["n_steps"] < 600:
        lacks.append("steps")
    if "rest" not in report["splits"]:
        lacks.append("control")
    if len(report["words"].split()) < 20:
        lacks.append("words")
    return lacks


def two_not_asked(report: Mapping[str, Any]) -> list[str]:
    lacks = []
    if not report["prediction"]:
        lacks.append("prediction")
    if len(set(report["seeds"])) < 3:
        lacks.append("seeds")
    if "rest" not in report["splits"]:
        lacks.append("control")
    if len(report["words"].split()) < 20:
        lacks.append("words")
    return lacks


def no_steps(report: Mapping[str, Any]) -> list[str]:
    return [name for name in missing(report) if name != "steps"]


def first_only(report: Mapping[str, Any]) -> list[str]:
    return missing(report)[:1]


def no_clock(report: Mapping[str, Any]) -> list[str]:
    return [name for name in missing(report) if name != "before"]


def both_at_once(report: Mapping[str, Any]) -> list[str]:
    lacks = missing(report)
    return ["prediction", "before", *lacks[1:]] if lacks[:1] == ["prediction"] else lacks


def equal_is_before(report: Mapping[str, Any]) -> list[str]:
    lacks = missing(report)
    return lacks[1:] if lacks[:1] == ["before"] and report["written"] == report["trained"] else lacks


NINETEEN = "The rule cost the one system much and the other little with every seed so the claim held here and"
TWENTY = f"{NINETEEN} nowhere"


def report_with(**changes: Any) -> Callable[[], tuple[dict[str, Any]]]:
    complete_report = {
        "prediction": predicted("rule", 10),
        "written": "2026-11-16T08:00:00+00:00",
        "trained": "2026-11-16T09:30:00+00:00",
        "seeds": [0, 1, 2],
        "n_steps": 600,
        "splits": ["rule", "rest"],
        "words": TWENTY,
    }
    return lambda: ({**complete_report, **changes},)


MISSING = PlainExercise(
    name="missing",
    lesson=LESSON,
    inputs=("report",),
    reference=missing,
    unrepaired=two_not_asked,
    by_hand=ByHand(
        inputs={
            "report": report_with(written="2026-11-16T09:40:00+00:00", n_steps=100, words="It broke.")()[0]
        },
        answer=["before", "steps", "words"],
        says="Written after the first run; 100 steps are fewer than 600, two words fewer than 20.",
    ),
    others=(
        report_with(),
        report_with(prediction=None),
        report_with(prediction={}, n_steps=100, seeds=[0], splits=["rule"], words=""),
        report_with(written="2026-11-16T10:00:00+00:00"),
        report_with(written="2026-11-16T09:30:00+00:00"),
        report_with(written="2026-11-17T08:00:00+00:00", seeds=[5, 5, 5]),
        report_with(written="2026-11-16T09:10:00+00:00", splits=["rest", "rule"]),
        report_with(written="2026-11-16T09:29:59+00:00", n_steps=599),
        report_with(n_steps=2000, words=NINETEEN),
        report_with(splits=["rule", "rest, long"]),
        report_with(words="One longer word after another makes no conclusion"),
    ),
    slips=(
        Slip("first-only", first_only, "it stops at the first thing that is missing. Name them all."),
        Slip("no-steps", no_steps, "it does not ask for the steps: fewer than 600 are a try-out."),
        Slip("no-clock", no_clock, "it does not look at the times: written after the runs is no prediction."),
        Slip("both", both_at_once, 'where there is no prediction, "before" need not be asked.'),
        Slip("equal", equal_is_before, "written in the same second is not before."),
    ),
)

# ---- my_prediction

KEYS = ("breaks", "more_than", "on", "points", "why", "if_open")
MINE, MOST_LONG = "mine", 30


def example_prediction() -> dict[str, Any]:
    return {
        "breaks": "transformer",
        "more_than": "bahdanau",
        "on": "rule",
        "points": 10,
        "why": "To repeat a word it must find the place it has just left.",
        "if_open": "that three seeds cannot tell 10 points from fewer",
    }


def complete(inputs: tuple, prediction: Mapping[str, Any]) -> str:
    for key in KEYS:
        if key not in prediction:
            return f'A prediction needs "{key}".'
    names = [*(system.name for system in translators()), *VARIANTS, MINE]
    for key in ("breaks", "more_than"):
        if prediction[key] not in names:
            return f'"{key}": there is no system {prediction[key]!r}. There are: {", ".join(names)}.'
    if prediction["breaks"] == prediction["more_than"]:
        return "More than itself? Name two different systems."
    if prediction["on"] not in SPLITS:
        return f'"on": there is no split {prediction["on"]!r}. There are: {"; ".join(SPLITS)}.'
    return ""


def by_how_much(inputs: tuple, prediction: Mapping[str, Any]) -> str:
    points = prediction["points"]
    if isinstance(points, bool) or not isinstance(points, Real):
        return f'"points" is a number of percentage points; it is {points!r}.'
    if not 1 <= points <= 100:
        return f'"points" lies between 1 and 100; it is {points}. How much more will it lose?'
    if "long" in prediction["on"] and points > MOST_LONG:
        return (
            f"{points} points cannot be lost there: of the long sentences no system has much more than "
            f"{MOST_LONG}% right, even without a rule."
        )
    return ""


def with_reasons(inputs: tuple, prediction: Mapping[str, Any]) -> str:
    for key, least in (("why", 5), ("if_open", 4)):
        if len(str(prediction[key]).split()) < least:
            return f'"{key}" is too short to be held against you: at least {least} words.'
    return ""


MY_PREDICTION = PlainExercise(
    name="my_prediction",
    lesson=LESSON,
    inputs=(),
    by_hand=ByHand(inputs={}, answer=example_prediction(), says="Who, more than whom, where, how much, why."),
    others=(),
    design=True,
    demands=(complete, by_how_much, with_reasons),
    reference=example_prediction,
    slips=(
        Slip(
            "no-number",
            lambda: {**example_prediction(), "points": 0},
            "a prediction of 0 points or more is nearly always right, and so says nothing.",
        ),
    ),
)

# ---- my_rule

N_CASES = 250  # test sentences on which the check calls the rule one by one
FEWEST, MOST = 40, 375  # short test sentences that a rule may change
LONGEST = 40  # words of a translation


def example_rule(src: Words, tgt: Words) -> Words:
    """A question says its last word twice."""
    return [*tgt[:-1], tgt[-2], "?"] if src[-1] == "?" else tgt


def sentence(number: int) -> tuple[Words, Words]:
    """A test sentence. The small world is generated at the first call."""
    pair = small_world().test[number]
    return list(pair.src), list(pair.tgt)


def words_come_back(inputs: tuple, answer: Any) -> str:
    if isinstance(answer, str):
        return "It gave one string. Give a list of words: `tgt` is one already, `text.split()` makes one."
    if not isinstance(answer, list | tuple) or not all(isinstance(word, str) for word in answer):
        return f"A list of words is wanted; it gave {type(answer).__name__}."
    if not answer:
        return "It gave no words at all. A sentence that is not concerned comes back as it was."
    if not_words := [word for word in answer if word.split() != [word]]:
        return f"One word an entry, without spaces: {not_words[0]!r} is not one."
    if len(answer) > LONGEST:
        return f"{len(answer)} words: keep translations at {LONGEST} or fewer, so that they fit the systems."
    return ""


def same_words(one: Sequence[str], other: Sequence[str]) -> bool:
    return list(one) == list(other)


@dataclass(frozen=True)
class RuleOnWorld:
    """What a rule does to the small world."""

    training_words: set[str]
    test_words: set[str]
    is_deterministic: bool  # a second call gives the same
    n_changed: int  # of the short test sentences


def apply_to_world(attempt: Callable) -> RuleOnWorld:
    world = small_world()
    translations = {
        name: [list(attempt(list(pair.src), list(pair.tgt))) for pair in getattr(world, name)]
        for name in ("train", "test", "long")
    }
    random.seed(77)
    np.random.seed(77)
    torch.manual_seed(77)
    again = [list(attempt(list(pair.src), list(pair.tgt))) for pair in world.train]
    tested = [*translations["test"], *translations["long"]]
    both = zip(translations["test"], world.test, strict=True)
    return RuleOnWorld(
        training_words={word for words in translations["train"] for word in words},
        test_words={word for words in tested for word in words},
        is_deterministic=again == translations["train"],
        n_changed=sum(not same_words(new, pair.tgt) for new, pair in both),
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class RuleExercise(PlainExercise):
    """A rule of the learner's own: any will do that is a rule, concerns enough and leaves enough alone."""

    def find_problem(self, trials: list[Trial]) -> Verdict | None:
        if problem := super().find_problem(trials):
            return problem
        n_changed = sum(not same_words(trial.answer, trial.case.make()[1]) for trial in trials)
        if not n_changed:
            return wrong_verdict(
                "It changes no sentence.",
                "Is the condition ever true? Print some of `world.test`.",
                "nothing",
            )
        if n_changed == len(trials):
            return wrong_verdict(
                "It changes every sentence.", "Let a quarter alone, to see what else breaks.", "all"
            )
        return None

    def find_further_problem(self, attempt: Callable, until: float) -> Verdict | None:
        outcome = call(lambda: apply_to_world(attempt), until)
        where = "This was with all sentences of the small world."
        if problem := explain_failure(outcome, self.seconds, where):
            return problem
        world = outcome.answer
        if not world.is_deterministic:
            advice = "A rule gives the same answer every time, or nobody can learn it. Take the chance out."
            return wrong_verdict("The same sentence was changed in two ways.", advice, "not-a-rule")
        finding = f"It changes {world.n_changed} of the 500 short sentences of the test."
        if world.n_changed < FEWEST:
            return wrong_verdict(
                finding, f"Too few to measure anything: {FEWEST} at least. Choose a commoner word."
            )
        if world.n_changed > MOST:
            return wrong_verdict(
                finding, "Too many: let a quarter alone, to see what else breaks.", "too-many"
            )
        if unseen := sorted(world.test_words - world.training_words):
            return wrong_verdict(
                f"{unseen[0]!r} is asked for in the test and never shown in training.",
                "No system can say a word that it has never met. Make the rule use common words.",
                "never-shown",
            )
        return None


MY_RULE = RuleExercise(
    name="my_rule",
    lesson=LESSON,
    inputs=("src", "tgt"),
    by_hand=ByHand(
        inputs={"src": ["does", "the", "cat", "sleep", "?"], "tgt": ["le", "chat", "dort", "?"]},
        answer=["le", "chat", "dort", "dort", "?"],
        says="Words in, words out.",
    ),
    others=tuple(partial(sentence, number) for number in range(N_CASES)),
    design=True,
    demands=(words_come_back,),
    reference=example_rule,
    seconds=20.0,
    slips=(
        Slip("changes-nothing", lambda src, tgt: tgt, "every sentence comes back as it was."),
        Slip("changes-all", lambda src, tgt: tgt[::-1], "every sentence is changed: there is no condition."),
        Slip("gives-text", lambda src, tgt: " ".join(tgt), "words are joined to a text; give the list."),
    ),
)

EXERCISES = (TEST_EVEN_RULE, TWO_SHARES, VERDICT, MISSING, MY_PREDICTION, MY_RULE)
