"""The exercises of lesson 19: a rule of grammar, a prediction and the verdict on it; a test of a rule."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from numbers import Real
from statistics import mean, median
from typing import Any

from course_lib.formatting import counted
from course_lib.models.registry import translators
from course_lib.teaching.exercises import (
    ByHand,
    Case,
    PlainExercise,
    Slip,
    TestExercise,
    Trial,
    Verdict,
    call,
    explain_failure,
    wrong_verdict,
)
from course_lib.teaching.exercises.answer import copy_value, describe_type, format_value
from course_lib.teaching.exercises.examination import Examination
from course_lib.teaching.exercises.time_limit import TimeLimit
from course_lib.text.pair import Pair
from course_lib.translation.comparison import BETTER, CLAIMS, UNCLEAR, WORSE, by_runs
from lessons.l19_your_own_claim.corpus import ENOUGH, SPLITS, small_world
from lessons.l19_your_own_claim.rules import even
from lessons.l19_your_own_claim.scores import points_lost
from lessons.l19_your_own_claim.systems import VARIANTS

LESSON = "your_own_claim"
Words = list[str]
Tables = Mapping[str, Mapping[str, Mapping[str, Sequence[float]]]]
HOLDS, FAILS = CLAIMS[BETTER], CLAIMS[WORSE]

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
        says="The English sentence has 4 words, an even number, so the French one ends with voilà.",
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
        Slip("odd", odd_instead, "it changes the sentences with an odd number of words."),
        Slip("french", counts_french, "it counts the French words instead of the English ones."),
        Slip(
            "always", always_voila, "it changes every sentence, including those with an odd number of words."
        ),
        Slip("in-front", in_front, "voilà comes first instead of last."),
        Slip("one-string", one_string, "it returns one string instead of a list of words."),
        Slip(
            "drops", drops_the_rest, "it returns an empty list for a sentence that the rule doesn't change."
        ),
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
    for n in range(1, 9):
        for m in range(1, 9):
            src, tgt = [f"word{i}" for i in range(n)], [f"mot{i}" for i in range(m)]
            assert rule(src, list(tgt)) == tgt + ["voilà"] * (n % 2 == 0)


TEST_EVEN_RULE = TestExercise(
    name="test_even_rule",
    lesson=LESSON,
    of=EVEN_RULE,
    what="rule",
    accepts={"with a copy": even_by_copy, "in one line": even_by_product},
    rejects={
        "odd": "changes the sentences with an odd number of words",
        "french": "counts French words instead of English ones",
        "always": "changes every sentence",
        "in-front": "puts voilà first",
        "one-string": "returns one string",
        "drops": "returns an empty list for the other sentences",
    },
    wrong={
        "changes no sentence": lambda src, tgt: tgt,
        "adds another word instead of voilà": lambda src, tgt: tgt if len(src) % 2 else [*tgt, "bien"],
        "adds voilà twice": lambda src, tgt: tgt if len(src) % 2 else [*tgt, "voilà", "voilà"],
        "puts voilà before the last word": lambda src, tgt: (
            tgt if len(src) % 2 else [*tgt[:-1], "voilà", *tgt[-1:]]
        ),
        "drops the first word when it adds voilà": lambda src, tgt: even(
            src, tgt if len(src) % 2 else tgt[1:]
        ),
        "drops the first word of the other sentences": lambda src, tgt: even(
            src, tgt[1:] if len(src) % 2 else tgt
        ),
        "changes only sentences of two words": lambda src, tgt: [*tgt, "voilà"] if len(src) == 2 else tgt,
        "changes only sentences of 4, 8, 12 … words": lambda src, tgt: (
            tgt if len(src) % 4 else [*tgt, "voilà"]
        ),
    },
    reference=test_even_rule,
)

# ---- verdict


def _judged(least: float, most: float, points: float) -> dict[str, Any]:
    return {"least": least, "most": most, "verdict": CLAIMS[by_runs([least, most], [0], by=points)]}


def verdict(prediction: Mapping[str, Any], tables: Tables) -> dict[str, Any]:
    """How much more one system lost than the other, at least and at most, and what that says."""
    mine = points_lost(tables, prediction["on"], prediction["breaks"])
    theirs = points_lost(tables, prediction["on"], prediction["more_than"])
    return _judged(min(mine) - max(theirs), max(mine) - min(theirs), prediction["points"])


def judging(
    gaps: Callable = lambda mine, theirs: (min(mine) - max(theirs), max(mine) - min(theirs)),
    losses: Callable = points_lost,
) -> Callable:
    """The verdict by other gaps between the losses, or by other losses: ways to get it wrong."""

    def wrong(prediction: Mapping[str, Any], tables: Tables) -> dict[str, Any]:
        mine = losses(tables, prediction["on"], prediction["breaks"])
        theirs = losses(tables, prediction["on"], prediction["more_than"])
        return _judged(*gaps(mine, theirs), prediction["points"])

    return wrong


def with_word(choose: Callable) -> Callable:
    """The right gaps with another word, chosen by least, most and points; None leaves it as it is."""

    def wrong(prediction: Mapping[str, Any], tables: Tables) -> dict[str, Any]:
        outcome = verdict(prediction, tables)
        word = choose(outcome["least"], outcome["most"], prediction["points"])
        return outcome | {"verdict": word or outcome["verdict"]}

    return wrong


def paired(mine: Sequence[float], theirs: Sequence[float]) -> tuple[float, float]:
    gaps = [a - b for a, b in zip(mine, theirs, strict=False)]
    return min(gaps), max(gaps)


def absolute(mine: Sequence[float], theirs: Sequence[float]) -> tuple[float, float]:
    gaps = [abs(a - b) for a in mine for b in theirs]
    return min(gaps), max(gaps)


def rounded(mine: Sequence[float], theirs: Sequence[float], decimals: int = 0) -> tuple[float, float]:
    return round(min(mine) - max(theirs), decimals), round(max(mine) - min(theirs), decimals)


def seed_by_seed(tables: Tables, split: str, name: str) -> list[float]:
    pairs = zip(*(tables[which][split][name] for which in ("without", "with")), strict=True)
    return [before - now for before, now in pairs]


def relative(tables: Tables, split: str, name: str) -> list[float]:
    before = mean(tables["without"][split][name])
    return [100 * lost / before for lost in points_lost(tables, split, name)]


def from_baseline(choose: Callable, tables: Tables, split: str, name: str) -> list[float]:
    before = choose(tables["without"][split][name])
    return [before - now for now in tables["with"][split][name]]


def from_every_run(tables: Tables, split: str, name: str) -> list[float]:
    return [before - now for before in tables["without"][split][name] for now in tables["with"][split][name]]


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


def in_thirds() -> dict[str, Any]:
    """Percentages with a mean of 91.666…: the gap is 15.666… to 29.666…, so any rounding shows."""
    tables = small_tables()
    tables["without"]["rule"]["ada"] = [90.0, 94.0, 91.0]
    return tables


def with_another_seed() -> dict[str, Any]:
    """A fourth run, which makes the gap larger."""
    tables = small_tables()
    for runs in (*tables["without"]["rule"].values(), *tables["without"]["rest"].values()):
        runs.append(100.0)
    for runs in (*tables["with"]["rule"].values(), *tables["with"]["rest"].values()):
        runs.append(50.0)
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
        answer={"least": 15.0, "most": 29.0, "verdict": HOLDS},
        says=(
            "ada had 91 on average and lost 30 and 20 points; bob had 81 and lost 5 and 1. The smallest gap "
            "is 20 − 5 = 15, the largest 30 − 1 = 29. Even the smallest gap is above 10, so the prediction "
            "holds."
        ),
    ),
    others=(
        lambda: (predicted("rule", 20), small_tables()),
        lambda: (predicted("rule", 16), small_tables()),
        lambda: (predicted("rule", 30), small_tables()),
        lambda: (predicted("rule", 40), small_tables()),
        lambda: (predicted("rule", 16.1), in_tenths()),
        lambda: (predicted("rule", 20), in_thirds()),
        lambda: (predicted("rule", 10, "bob", "ada"), small_tables()),
        lambda: (predicted("rest", 5), small_tables()),
        lambda: (predicted("rest", 1.5), small_tables()),
        lambda: (predicted("rest", 1, "bob", "ada"), small_tables()),
        lambda: (predicted("rule", 20), with_another_seed()),
    ),
    slips=(
        Slip(
            "by-means",
            judging(lambda mine, theirs: (mean(mine) - mean(theirs),) * 2),
            'the mean losses are compared. "least" and "most" are the smallest and the largest gap of all '
            "pairs of runs.",
        ),
        Slip(
            "no-baseline",
            judging(losses=lambda tables, split, name: [-x for x in tables["with"][split][name]]),
            "the runs without the rule have no effect: either the percentages with the rule are compared "
            "directly, or both systems have the same baseline. Count each system's losses from its own mean "
            "without the rule.",
        ),
        Slip(
            "turned",
            judging(lambda mine, theirs: (min(theirs) - max(mine), max(theirs) - min(mine))),
            "the gap has the wrong sign. Either the two systems are swapped (`breaks` is the one that should "
            "lose more), or a loss is computed as with − without.",
        ),
        Slip(
            "same-ends",
            judging(lambda mine, theirs: (min(mine) - min(theirs), max(mine) - max(theirs))),
            "the smallest losses are compared with each other, and so are the largest. The smallest gap is "
            "the smallest loss of `breaks` minus the largest of `more_than`.",
        ),
        Slip(
            "pairs-of-seeds",
            judging(paired),
            "only runs with the same seed are compared. Compare all pairs of runs.",
        ),
        Slip(
            "seed-by-seed",
            judging(losses=seed_by_seed),
            "each loss is counted from the run with the same seed. Count it from the system's mean without "
            "the rule.",
        ),
        Slip(
            "absolute",
            judging(absolute),
            "the absolute value of the gap is used. If `more_than` lost more, the gap is negative.",
        ),
        Slip(
            "clipped",
            judging(losses=lambda *given: [max(0, lost) for lost in points_lost(*given)]),
            "a gain counts as a loss of 0. It is a negative loss.",
        ),
        Slip(
            "relative",
            judging(losses=relative),
            "a loss is computed relative to the percentage without the rule. It is the plain difference, in "
            "points.",
        ),
        Slip("rounded", judging(rounded), "the gaps are rounded to whole points. Keep them as they are."),
        *(
            Slip(
                f"rounded-to-{decimals}",
                judging(partial(rounded, decimals=decimals)),
                f"the gaps are rounded to {counted(decimals, 'decimal')}. Keep them as they are.",
            )
            for decimals in (1, 2)
        ),
        Slip(
            "every-baseline",
            judging(losses=from_every_run),
            "each loss is counted from every single run without the rule. Count it from their mean.",
        ),
        Slip(
            "any-gap",
            with_word(lambda least, most, points: _judged(least, most, 0)["verdict"]),
            "the gaps are compared with 0. Compare them with `points`.",
        ),
        Slip(
            "failed-below-0",
            with_word(lambda least, most, points: UNCLEAR if 0 <= most < points else None),
            'it returns "fails" only if every gap is below 0. The prediction fails if even the largest gap '
            "is below `points`.",
        ),
        Slip(
            "never-unclear",
            with_word(lambda least, most, points: HOLDS if least > points else FAILS),
            'it never returns "no clear difference", even if only some pairs of runs agree with the '
            "prediction.",
        ),
        Slip(
            "holds-at-once",
            with_word(lambda least, most, points: HOLDS if least == points else None),
            "a smallest gap of exactly `points` isn't enough: compare it with `>`.",
        ),
        Slip(
            "fails-at-once",
            with_word(lambda least, most, points: FAILS if most == points else None),
            "a largest gap of exactly `points` isn't small enough to fail: compare it with `<`.",
        ),
        Slip(
            "best-luck",
            with_word(lambda least, most, points: HOLDS if most > points else FAILS),
            'it returns "holds" if one pair of runs is above `points`. All of them must be.',
        ),
        Slip(
            "least-and-most-swapped",
            lambda *given: (
                verdict(*given) | dict(zip(("most", "least"), verdict(*given).values(), strict=False))
            ),
            '"least" and "most" are swapped.',
        ),
        Slip(
            "always-rule",
            lambda prediction, tables: verdict({**prediction, "on": "rule"}, tables),
            'it always uses the split "rule". The prediction names its split in `on`.',
        ),
        Slip(
            "tables-swapped",
            lambda prediction, tables: verdict(
                prediction, {"without": tables["with"], "with": tables["without"]}
            ),
            'the tables "with" and "without" are swapped.',
        ),
        Slip(
            "mean-gap",
            with_word(lambda least, most, points: HOLDS if (least + most) / 2 > points else FAILS),
            "the mean of the two gaps decides. Compare both with `points`: the smallest and the largest.",
        ),
        Slip(
            "unclear-and-fails-swapped",
            with_word(
                lambda least, most, points: HOLDS if least > points else UNCLEAR if most < points else FAILS
            ),
            '"no clear difference" and "fails" are swapped. The prediction fails if even the largest gap is '
            "below `points`.",
        ),
        Slip(
            "best-baseline",
            judging(losses=lambda *given: from_baseline(max, *given)),
            "each loss is counted from the best run without the rule. Count it from the mean.",
        ),
        Slip(
            "median-baseline",
            judging(losses=lambda *given: from_baseline(median, *given)),
            "each loss is counted from the median without the rule. Count it from the mean.",
        ),
        Slip(
            "three-runs",
            judging(losses=lambda *given: points_lost(*given)[:3]),
            "only three runs are used. There can be any number of them.",
        ),
        Slip(
            "word-only",
            lambda *given: verdict(*given)["verdict"],
            'only the word is returned. Return a dictionary with "least", "most" and "verdict".',
        ),
    ),
)

# ---- my_prediction

KEYS = ("breaks", "more_than", "on", "points", "why", "if_unclear")
MINE, MOST_LONG = "mine", 30
FEWEST_WORDS = 3  # of a reason


def example_prediction() -> dict[str, Any]:
    return {
        "breaks": "transformer",
        "more_than": "bahdanau",
        "on": "rule",
        "points": 10,
        "why": "To repeat a word, it has to find the position of that word again.",
        "if_unclear": "The runs vary too much to say whether it is 10 points.",
    }


def is_prediction(inputs: tuple, prediction: Any) -> str:
    if not isinstance(prediction, Mapping):
        kind = describe_type(prediction)
        return f"A prediction is a dictionary with {len(KEYS)} entries, but your function returned {kind}."
    for key in KEYS:
        if key not in prediction:
            return f'The entry "{key}" is missing.'
    if others := [key for key in prediction if key not in KEYS]:
        return f"A prediction has no entry {others[0]!r}. Its entries are: {', '.join(KEYS)}."
    for key in ("breaks", "more_than", "on"):
        if not isinstance(prediction[key], str):
            return f'"{key}" should be one name, but it is {prediction[key]!r}.'
    return ""


def names_exist(inputs: tuple, prediction: Mapping[str, Any]) -> str:
    names = [*(system.name for system in translators()), *VARIANTS, MINE]
    for key in ("breaks", "more_than"):
        if prediction[key] not in names:
            return f'"{key}": there is no translator "{prediction[key]}". They are: {", ".join(names)}.'
    if prediction["breaks"] == prediction["more_than"]:
        return f'"breaks" and "more_than" are both "{prediction["breaks"]}". Name two different systems.'
    if prediction["on"] not in SPLITS:
        splits = ", ".join(f'"{split}"' for split in SPLITS)
        return f'"on": there is no split "{prediction["on"]}". The splits are: {splits}.'
    return ""


def by_how_much(inputs: tuple, prediction: Mapping[str, Any]) -> str:
    points, most = prediction["points"], MOST_LONG if "long" in prediction["on"] else 100
    if isinstance(points, bool) or not isinstance(points, Real):
        return f'"points" should be a number, but it is {points!r}.'
    if not points > 0:
        return f'"points" should be above 0, but it is {points}. How much more will the first system lose?'
    if points <= most:
        return ""
    reason = (
        " Even without a rule, no system gets many more of the long sentences right." if most < 100 else ""
    )
    return f'On "{prediction["on"]}", "points" should be at most {most}, but it is {points}.{reason}'


def with_reasons(inputs: tuple, prediction: Mapping[str, Any]) -> str:
    for key in ("why", "if_unclear"):
        text = prediction[key]
        if not isinstance(text, str):
            return f'"{key}" should be text, but it is {describe_type(text)}.'
        if len(text.split()) < FEWEST_WORDS:
            return f'"{key}" is too short: write at least {FEWEST_WORDS} words.'
    return ""


MY_PREDICTION = PlainExercise(
    name="my_prediction",
    lesson=LESSON,
    inputs=(),
    by_hand=ByHand(
        inputs={},
        answer=example_prediction(),
        says="A prediction says which system loses more than which other one, on which split, by how many "
        "points, and why.",
    ),
    others=(),
    design=True,
    demands=(is_prediction, names_exist, by_how_much, with_reasons),
    reference=example_prediction,
)

# ---- my_rule

SAMPLE = (0, 3, 5, 6, 14, 15, 20, 25, 32, 34)  # test sentences for which the rule is called one by one
MOST = 375  # short test sentences that a rule may change, of 500
LONGEST = 40  # words of a translation


def example_rule(src: Words, tgt: Words) -> Words:
    """A question repeats its last word."""
    return [*tgt[:-1], tgt[-2], "?"] if src[-1] == "?" else tgt


def words_of(pair: Pair) -> tuple[Words, Words]:
    return list(pair.src), list(pair.tgt)


def words_come_back(inputs: tuple, answer: Any) -> str:
    if answer is None:
        return "Your rule returned `None`. A sentence it doesn't change should be returned as it was."
    if isinstance(answer, str):
        return "Your rule returned a string, but it should return a list of words. `text.split()` makes one."
    if not isinstance(answer, list | tuple):
        return f"Your rule should return a list of words, but it returned {describe_type(answer)}."
    if not_texts := [word for word in answer if not isinstance(word, str)]:
        return f"Your rule should return a list of strings, but one item is {not_texts[0]!r}."
    if not answer:
        return (
            "Your rule returned an empty list. Every translation has at least one word, and a sentence that "
            "the rule doesn't change should be returned as it was."
        )
    if not_words := [word for word in answer if word.split() != [word]]:
        return f"Each item should be one word without spaces, but one is {not_words[0]!r}."
    if len(answer) > LONGEST:
        return f"Your rule returned {len(answer)} words. At most {LONGEST} are allowed."
    return ""


@dataclass(frozen=True, kw_only=True, eq=False)
class RuleExercise(PlainExercise):
    """A rule of the learner's own: any will do that is a rule, changes enough and leaves enough unchanged."""

    def find_problem(self, trials: list[Trial]) -> Verdict | None:
        problem = super().find_problem(trials)
        return problem and replace(problem, slip="not-words")

    def find_further_problem(self, examination: Examination) -> Verdict | None:
        """What is wrong with its answers for the whole small world."""
        world = small_world()
        limit = TimeLimit(self.seconds)  # the world may have been generated just now
        pairs = [*world.train, *world.test, *world.long]
        first, second = [], []
        for seed, answers in enumerate((first, second)):

            def apply(answers: list = answers) -> None:
                for pair in pairs:
                    answers.append(copy_value(examination.attempt(*words_of(pair))))

            result = call(apply, limit, seed=seed)
            if problem := explain_failure(result, self.seconds):
                return replace(problem, given=self._describe(pairs[len(answers)]))
        for pair, answer, again in zip(pairs, first, second, strict=True):
            if complaint := words_come_back((), answer):
                return wrong_verdict(
                    complaint, slip="not-words", given=self._describe(pair), got=format_value(answer)
                )
            if answer != again:
                advice = (
                    "Does it use random numbers, or remember earlier calls? No system can learn such a rule."
                )
                headline = "Your rule changed the same sentence in two different ways."
                return wrong_verdict(headline, advice, "random", given=self._describe(pair))
        n_train, n_short = len(world.train), len(world.test)
        short = zip(first[n_train : n_train + n_short], world.test, strict=True)
        short = [(list(new), pair) for new, pair in short]
        n_changed = sum(new != list(pair.tgt) for new, pair in short)
        n_english = sum(new == list(pair.src) for new, pair in short)
        return self._count_changed(n_changed, n_english) or self._find_unseen(
            first[:n_train], first[n_train:]
        )

    def _count_changed(self, n_changed: int, n_english: int) -> Verdict | None:
        finding = f"Your rule changes {n_changed} of the 500 short test sentences."
        if not n_changed:
            advice = "Is its condition ever true? Print some sentences of `world.test`."
            return wrong_verdict(finding, advice, "changes-nothing")
        if n_changed < ENOUGH:
            advice = f"At least {ENOUGH} are needed. Choose a condition that is true more often."
            return wrong_verdict(finding, advice, "too-few")
        if n_changed > MOST and n_english > n_changed / 2:
            headline = f"Your rule returns `src`, the English words, for {n_english} of 500 sentences."
            return wrong_verdict(headline, "Return French words: `tgt` or a changed copy of it.", "english")
        if n_changed > MOST:
            advice = f"At most {MOST} are allowed, so that a quarter remains as a control. Add a condition."
            return wrong_verdict(finding, advice, "too-many")
        return None

    def _find_unseen(self, trained: list[Words], tested: list[Words]) -> Verdict | None:
        training_words, test_words = (
            {word for words in part for word in words} for part in (trained, tested)
        )
        if not (unseen := sorted(test_words - training_words)):
            return None
        return wrong_verdict(
            f"{unseen[0]!r} occurs in the translations of test sentences, but never in those for training.",
            "No system can learn a word that it never sees. Use other words, or a more frequent condition.",
            "unseen-word",
        )

    def _describe(self, pair: Pair) -> str:
        return self.describe_call(Case(lambda: words_of(pair)))


MY_RULE = RuleExercise(
    name="my_rule",
    lesson=LESSON,
    inputs=("src", "tgt"),
    by_hand=ByHand(
        inputs={
            "src": ["did", "a", "fox", "sleep", "?"],
            "tgt": ["est-ce", "qu'", "un", "renard", "a", "dormi", "?"],
        },
        answer=["est-ce", "qu'", "un", "renard", "a", "dormi", "dormi", "?"],
        says=(
            "The rule gets two lists of words, English and French, and returns one, the new French sentence."
        ),
    ),
    others=tuple(partial(lambda number: words_of(small_world().test[number]), number) for number in SAMPLE),
    design=True,
    demands=(words_come_back,),
    reference=example_rule,
    seconds=20.0,  # the first check generates the small world
)

EXERCISES = (MY_RULE, MY_PREDICTION, VERDICT, TEST_EVEN_RULE)
