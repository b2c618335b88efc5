"""The exercises of lesson 18: what three runs show, and a claim with its holes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import product
from statistics import mean, median
from typing import Any

from course_lib.formatting import fixed
from course_lib.teaching.exercises import ByHand, PlainExercise, Slip
from course_lib.teaching.exercises.answer import describe_type
from course_lib.translation.comparison import BETTER, UNCLEAR, WORSE, by_runs
from course_lib.views.run_dots import in_words
from lessons.l18_the_museum.museum import COLUMNS, NO_RESIDUAL, table
from lessons.l18_the_museum.sentences import compared

LESSON = "the_museum"
Runs = Sequence[float]
Claim = Mapping[str, Any]

# ---- beats


def beats(one: Runs, other: Runs, higher: bool) -> str:
    """The course's rule, without sentences."""
    return by_runs(one, other, higher=higher)


def by_mean(one: Runs, other: Runs, higher: bool) -> str:
    gap = mean(one) - mean(other)
    if gap == 0:
        return UNCLEAR
    return BETTER if (gap > 0) == higher else WORSE


def by_best(one: Runs, other: Runs, higher: bool) -> str:
    best = max if higher else min
    return by_mean([best(one)], [best(other)], higher)


def by_worst(one: Runs, other: Runs, higher: bool) -> str:
    worst = min if higher else max
    return by_mean([worst(one)], [worst(other)], higher)


def mean_decides(one: Runs, other: Runs, higher: bool) -> str:
    return BETTER if by_mean(one, other, higher) == BETTER else WORSE


def both_ends(one: Runs, other: Runs, higher: bool) -> str:
    """Best against best and worst against worst."""
    verdicts = {by_best(one, other, higher), by_worst(one, other, higher)}
    return verdicts.pop() if len(verdicts) == 1 else UNCLEAR


def always_higher(one: Runs, other: Runs, higher: bool) -> str:
    return beats(one, other, True)


def never_worse(one: Runs, other: Runs, higher: bool) -> str:
    return BETTER if beats(one, other, higher) == BETTER else UNCLEAR


def never_unclear(one: Runs, other: Runs, higher: bool) -> str:
    return BETTER if beats(one, other, higher) == BETTER else WORSE


def run_by_run(one: Runs, other: Runs, higher: bool) -> str:
    verdicts = {by_mean([x], [y], higher) for x, y in zip(one, other, strict=False)}
    return verdicts.pop() if len(verdicts) == 1 else UNCLEAR


def any_pair(one: Runs, other: Runs, higher: bool) -> str:
    """The best run of one against the worst of the other."""
    best, worst = (max, min) if higher else (min, max)
    if by_mean([best(one)], [worst(other)], higher) == BETTER:
        return BETTER
    return WORSE if by_mean([best(other)], [worst(one)], higher) == BETTER else UNCLEAR


def most_pairs(one: Runs, other: Runs, higher: bool) -> str:
    verdicts = [by_mean([x], [y], higher) for x in one for y in other]
    common = [word for word in (BETTER, WORSE) if verdicts.count(word) > len(verdicts) / 2]
    return common[0] if common else UNCLEAR


def ties_count(one: Runs, other: Runs, higher: bool) -> str:
    return BETTER if tie_is_better(one, other, higher) == BETTER else tie_is_worse(one, other, higher)


def tie_is_better(one: Runs, other: Runs, higher: bool) -> str:
    return BETTER if min_gap(one, other, higher) == 0 else beats(one, other, higher)


def tie_is_worse(one: Runs, other: Runs, higher: bool) -> str:
    return WORSE if min_gap(other, one, higher) == 0 else beats(one, other, higher)


def min_gap(one: Runs, other: Runs, higher: bool) -> float:
    """From the best run of the other to the worst of one; negative if they overlap."""
    return min(one) - max(other) if higher else min(other) - max(one)


def higher_for_better_only(one: Runs, other: Runs, higher: bool) -> str:
    verdict = beats(one, other, higher)
    return UNCLEAR if verdict == WORSE and not higher else verdict


def of_equal_length(one: Runs, other: Runs, higher: bool) -> str:
    if len(one) != len(other):
        raise ValueError
    return beats(one, other, higher)


def first_runs(n: int) -> Callable:
    return lambda one, other, higher: beats(one[:n], other[:n], higher)


def another_word(word: str) -> Callable:
    return lambda *given: {UNCLEAR: word}.get(verdict := beats(*given), verdict)


OTHER_WORD = (
    'where the runs overlap, the answer should be the string "no clear difference". It doesn\'t mean that '
    "the systems are equally good, only that these runs don't settle it."
)
MEANS = "the means are compared. A mean can be better although the runs overlap."
WORDS = 'the answer is a bool. Return one of the strings "better", "worse" and "no clear difference".'
TIES = "equal runs count as better. They aren't: compare with `>` or `<`, not with `>=` or `<=`."

BEATS = PlainExercise(
    name="beats",
    lesson=LESSON,
    inputs=("one", "other", "higher"),
    reference=beats,
    by_hand=ByHand(
        inputs={"one": [97.0, 98.0, 96.0], "other": [90.0, 95.0, 93.0], "higher": True},
        answer=BETTER,
        says="The worst run of `one` is 96 and the best of `other` is 95, so every run of `one` is better.",
    ),
    others=(
        lambda: ([90.0, 95.0, 93.0], [97.0, 98.0, 96.0], True),
        lambda: ([98.0, 94.0, 99.0], [95.0, 93.0, 92.0], True),
        lambda: ([0.06, 0.05, 0.07], [0.2, 0.1, 0.3], False),
        lambda: ([0.2, 0.1, 0.3], [0.06, 0.05, 0.07], False),
        lambda: ([90.0, 99.0, 99.0], [91.0, 92.0, 93.0], True),
        lambda: ([5.0, 6.0], [5.0, 4.0], True),
        lambda: ([4.0, 5.0], [5.0, 6.0], True),
        lambda: ([4.0, 5.0], [5.0, 6.0], False),
        lambda: ([3.0, 5.0, 7.0], [2.0, 4.0, 6.0], True),
        lambda: ([3.0, 5.0, 7.0], [2.0, 4.0, 8.0], True),
        lambda: ([1.0, 9.0], [4.0, 5.0, 8.0], True),
        lambda: ([100.0, 100.0, 100.0], [100.0, 100.0, 100.0], True),
        lambda: ([1.0, 9.0], [8.0, 2.0, 3.0], False),
        lambda: ([9.0, 8.0, 1.0], [5.0, 6.0, 4.0], True),
        lambda: ([98.001, 98.2], [98.0, 97.5], True),
        lambda: ([9.0, 8.0, 7.0, 1.0], [2.0, 3.0, 4.0], True),
        lambda: ([7.0, 8.0, 9.0], [6.0, 5.0, 4.0, 3.0, 10.0], True),
        lambda: ([-3.0, -2.0], [-1.0, 1.0], False),
        lambda: ([0.0, 0.5], [0.6, 0.7], False),
        lambda: ([1e-6, 2e-6], [4e-6, 5e-6], False),
        lambda: ([10.0, 10.5, 20.0], [9.0, 0.0, 8.9], True),
        lambda: ([99.0, 99.0, 90.0], [91.0, 70.0, 70.0], True),
        lambda: ([9.0, 8.0], [7.0, 6.0, 10.0], True),
        lambda: ([5.0], [4.0, 6.0], True),
    ),
    slips=(
        Slip("by-mean", by_mean, MEANS),
        Slip("mean-decides", mean_decides, MEANS),
        Slip(
            "by-median",
            lambda one, other, higher: by_mean([median(one)], [median(other)], higher),
            "the medians are compared. A median can be better although the runs overlap.",
        ),
        Slip(
            "sorted-pairs",
            lambda one, other, higher: run_by_run(sorted(one), sorted(other), higher),
            "the runs are sorted and then compared one by one. Compare every run of one with every run of "
            "the other.",
        ),
        Slip(
            "by-best",
            by_best,
            "only the best runs are compared. Every run of `one` must be better, not only its best.",
        ),
        Slip(
            "by-worst",
            by_worst,
            "only the worst runs are compared. The worst of one must be better even than the best of the "
            "other.",
        ),
        Slip(
            "both-ends",
            both_ends,
            "the best run is compared with the best, and the worst with the worst. The worst of one must be "
            "better than the best of the other.",
        ),
        Slip(
            "any-pair",
            any_pair,
            "a single pair of runs is enough for an answer, as if only the best run of one were compared "
            "with the worst of the other. All pairs must agree.",
        ),
        Slip("most-pairs", most_pairs, "the majority of the pairs decides. All pairs must agree."),
        Slip(
            "always-higher", always_higher, "`higher` isn't used. If it is False, smaller numbers are better."
        ),
        Slip(
            "higher-for-better-only",
            higher_for_better_only,
            '`higher` is used to decide on "better", but not on "worse".',
        ),
        Slip(
            "turned",
            lambda one, other, higher: beats(other, one, higher),
            '"better" and "worse" are swapped: `one` and `other` are mixed up, or `higher` is inverted.',
        ),
        Slip(
            "never-worse",
            never_worse,
            'it never returns "worse", not even if every run of `other` is better.',
        ),
        Slip(
            "never-unclear",
            never_unclear,
            'it never returns "no clear difference", although runs may overlap or be equal.',
        ),
        Slip(
            "run-by-run",
            run_by_run,
            "the first run is compared with the first, the second with the second. The order of the runs "
            "has no meaning: compare all with all.",
        ),
        Slip(
            "shorter-list",
            lambda one, other, higher: beats(*zip(*zip(one, other, strict=False), strict=True), higher),
            "only as many runs are used as the shorter list has. Use all of them.",
        ),
        Slip("first-three", first_runs(3), "only the first three runs are used. Use all of them."),
        Slip("first-run", first_runs(1), "only the first run of each is compared. Use all of them."),
        Slip("ties-count", ties_count, TIES),
        Slip("tie-is-better", tie_is_better, TIES),
        Slip("tie-is-worse", tie_is_worse, TIES),
        Slip(
            "equal-lengths",
            of_equal_length,
            "it works only if both lists have the same length. Compare every run of one with every run of "
            "the other.",
        ),
        Slip("none-for-unclear", lambda *given: {BETTER: True, WORSE: False}[beats(*given)], WORDS),
        Slip("booleans", lambda *given: beats(*given) == BETTER, WORDS),
        Slip("another-word", another_word("unclear"), OTHER_WORD),
        Slip("equal", another_word("equal"), OTHER_WORD, misconception="M53"),
        Slip("tie", another_word("tie"), OTHER_WORD, misconception="M53"),
    ),
)

# ---- defend

Hole = tuple[str, str, str]


def defend(claim: Claim, table: Mapping, higher: Mapping) -> list[Hole]:
    """The comparisons of a claim that the runs don't support: (column, rival, reason)."""
    holes = []
    for column in claim["on"]:
        numbers = table[column]
        for rival in claim["over"]:
            if claim["system"] not in numbers or rival not in numbers:
                answer = "not measured"
            else:
                answer = beats(numbers[claim["system"]], numbers[rival], higher[column])
            if answer != BETTER:
                holes.append((column, rival, answer))
    return holes


def defend_means(claim: Claim, table: Mapping, higher: Mapping) -> list[Hole]:
    means = {c: {s: [mean(runs)] for s, runs in column.items()} for c, column in table.items()}
    return defend(claim, means, higher)


def changing(change: Callable[[list[Hole], Claim], Any]) -> Callable:
    """The right answer, changed."""
    return lambda claim, table, higher: change(defend(claim, table, higher), claim)


def leaving_out(reason: str) -> Callable:
    return changing(lambda holes, claim: [hole for hole in holes if hole[2] != reason])


def renaming(names: Mapping[str, str]) -> Callable:
    """The right answer with other reasons."""
    return changing(lambda holes, claim: [(c, r, names.get(why, why)) for c, r, why in holes])


def every_comparison(claim: Claim, table: Mapping, higher: Mapping) -> list[Hole]:
    holes = {(c, r): why for c, r, why in defend(claim, table, higher)}
    return [(c, r, holes.get((c, r), BETTER)) for c in claim["on"] for r in claim["over"]]


def only_supported(claim: Claim, table: Mapping, higher: Mapping) -> list[Hole]:
    return [hole for hole in every_comparison(claim, table, higher) if hole[2] == BETTER]


def unguarded(compares: Callable[[Mapping, str, str], bool]) -> Callable:
    """The right answer, but a KeyError where it compares systems of which one was not measured."""

    def wrong(claim: Claim, table: Mapping, higher: Mapping) -> list[Hole]:
        holes = defend(claim, table, higher)
        for column, rival, why in holes:
            if why == "not measured" and compares(table[column], claim["system"], rival):
                raise KeyError
        return holes

    return wrong


def fails_in_every_comparison(claim: Claim, table: Mapping, higher: Mapping) -> list[Hole]:
    """A KeyError as soon as there is a column and a rival: a misspelt key, or the notebook's own table."""
    if claim["on"] and claim["over"]:
        raise KeyError
    return []


def fails_where_both_were_measured(claim: Claim, table: Mapping, higher: Mapping) -> list[Hole]:
    """An exception in `beats` or in its arguments: no `higher`, or the notebook's own."""
    answers = every_comparison(claim, table, higher)
    if any(why != "not measured" for _, _, why in answers):
        raise KeyError
    return answers


def stops_at_a_hole(claim: Claim, table: Mapping, higher: Mapping) -> list[Hole]:
    """Each column up to its first hole."""
    holes = defend(claim, table, higher)
    return [
        next(hole for hole in holes if hole[0] == column) for column in dict.fromkeys(h[0] for h in holes)
    ]


def once_per_column(claim: Claim, table: Mapping, higher: Mapping) -> list[Hole]:
    holes, over = defend(claim, table, higher), claim["over"]
    return [h for h in holes if claim["system"] in table[h[0]] or h[1] == over[0]]


def always_more(claim: Claim, table: Mapping, higher: Mapping) -> list[Hole]:
    return defend(claim, table, dict.fromkeys(higher, True))


def roles_swapped(claim: Claim, table: Mapping, higher: Mapping) -> list[Hole]:
    return defend(claim, table, {column: not more for column, more in higher.items()})


def claim_table() -> tuple[dict, dict]:
    numbers = {
        "exact": {"ada": [90.0, 92.0, 91.0], "bob": [91.0, 80.0, 85.0], "cyd": [70.0, 60.0, 65.0]},
        "error": {"ada": [0.5, 0.6, 0.4], "bob": [0.1, 0.2, 0.3]},
        "speed": {"ada": [5.0, 5.5, 6.0], "bob": [7.0, 9.0, 8.0], "cyd": [4.0, 6.5, 7.5]},
    }
    return numbers, {"exact": True, "error": False, "speed": False}


def claimed(system: str, over: list[str], on: list[str]) -> Any:
    return lambda: ({"system": system, "over": over, "on": on}, *claim_table())


OWN_REASON = 'where `beats` returns "worse", the reason should be "worse" as well.'

DEFEND = PlainExercise(
    name="defend",
    lesson=LESSON,
    inputs=("claim", "table", "higher"),
    reference=defend,
    by_hand=ByHand(
        inputs={
            "claim": {"system": "ada", "over": ["bob", "cyd"], "on": ["exact", "error"]},
            "table": claim_table()[0],
            "higher": claim_table()[1],
        },
        answer=[("exact", "bob", UNCLEAR), ("error", "bob", WORSE), ("error", "cyd", "not measured")],
        says="exact: ada's worst run, 90, isn't better than bob's best, 91, nor is bob's worst better "
        "than ada's best: no clear difference. cyd's best is 70, so ada is better there: no hole. error: all "
        "of bob's runs are smaller, so ada is worse. cyd wasn't measured there.",
    ),
    others=(
        claimed("ada", ["bob"], ["speed"]),
        claimed("bob", ["ada", "cyd"], ["error", "speed", "exact"]),
        claimed("cyd", ["ada"], ["error", "speed"]),
        claimed("ada", [], ["exact"]),
        claimed("ada", ["cyd"], ["exact", "speed"]),
        claimed("cyd", ["ada", "bob"], ["exact", "error", "speed"]),
        claimed("cyd", [], ["error"]),
        claimed("dan", ["cyd", "eve"], ["error", "exact"]),
        claimed("ada", ["cyd"], ["exact"]),
        claimed("ada", ["cyd", "bob"], ["speed", "exact"]),
    ),
    slips=(
        Slip("by-mean", defend_means, "the means are compared. Call `beats`, which compares all runs."),
        Slip(
            "leaves-out-unclear",
            leaving_out(UNCLEAR),
            'comparisons for which `beats` returns "no clear difference" are left out. They are holes, too.',
        ),
        Slip(
            "leaves-out-worse",
            leaving_out(WORSE),
            'comparisons for which `beats` returns "worse" are left out.',
        ),
        Slip(
            "leaves-out-unmeasured",
            leaving_out("not measured"),
            "comparisons that weren't measured are left out. They are holes, too.",
        ),
        Slip(
            "every-comparison",
            every_comparison,
            'all comparisons are listed. Those for which `beats` returns "better" aren\'t holes.',
        ),
        Slip(
            "only-supported",
            only_supported,
            'the comparisons for which `beats` returns "better" are listed. List all the others.',
        ),
        Slip(
            "stops-at-a-hole",
            stops_at_a_hole,
            "it moves on to the next column after the first hole. The other rivals must be compared, too.",
        ),
        Slip(
            "once-per-column",
            once_per_column,
            "a column in which the system wasn't measured gives one hole. It should give one for each rival.",
        ),
        Slip(
            "always-more",
            always_more,
            "`higher[column]` isn't used. If it is False, smaller numbers are better.",
        ),
        Slip(
            "rivals-outside",
            changing(lambda holes, claim: sorted(holes, key=lambda hole: claim["over"].index(hole[1]))),
            "the holes are in the wrong order. The outer loop should go through the columns, the inner one "
            "through the rivals.",
        ),
        Slip(
            "sorted-by-reason",
            changing(
                lambda holes, claim: sorted(
                    holes, key=lambda hole: ("not measured", UNCLEAR, WORSE).index(hole[2])
                )
            ),
            "the holes are grouped by their reasons. List them in the order in which you meet them.",
        ),
        Slip(
            "roles-swapped",
            roles_swapped,
            'it takes "better" for "worse": either the arguments of `beats` are swapped, or `higher` is '
            "inverted.",
        ),
        Slip(
            "turned",
            changing(lambda holes, claim: [(rival, column, why) for column, rival, why in holes]),
            "a hole is (column, rival, reason), in this order. Yours begin with the rival.",
        ),
        Slip(
            "with-the-system",
            changing(lambda holes, claim: [(column, claim["system"], why) for column, _, why in holes]),
            "the holes name the claim's own system. Name the rival.",
        ),
        Slip(
            "unmeasured-is-unclear",
            renaming({"not measured": UNCLEAR}),
            'a comparison without numbers is listed as "no clear difference". Its reason should be "not '
            'measured".',
        ),
        Slip(
            "unmeasured-is-worse",
            renaming({"not measured": WORSE}),
            'a comparison without numbers is listed as "worse". Its reason should be "not measured".',
        ),
        Slip("worse-is-unclear", renaming({WORSE: UNCLEAR}), OWN_REASON),
        Slip("lost", renaming({WORSE: "lost"}), OWN_REASON),
        Slip(
            "without-reasons",
            changing(lambda holes, claim: [hole[:2] for hole in holes]),
            "the holes lack their reasons. A hole is (column, rival, reason).",
        ),
        Slip(
            "reasons-only",
            changing(lambda holes, claim: [why for _, _, why in holes]),
            "only the reasons are listed. A hole is (column, rival, reason).",
        ),
        Slip(
            "sorted",
            changing(lambda holes, claim: sorted(holes)),
            "the holes are sorted. List them in the order in which you meet them.",
        ),
        Slip(
            "asks-for-the-rival-only",
            unguarded(lambda column, system, rival: rival in column),
            "it checks only whether the rival was measured in a column. The system may be missing, too.",
        ),
        Slip(
            "asks-for-the-system-only",
            unguarded(lambda column, system, rival: system in column),
            "it checks only whether the system was measured in a column. The rival may be missing, too.",
        ),
        Slip(
            "never-asks",
            unguarded(lambda column, system, rival: True),
            "it doesn't check whether both were measured in a column. If one is missing, the comparison is a "
            "hole.",
        ),
        Slip(
            "fails-in-every-comparison",
            fails_in_every_comparison,
            "it fails as soon as there is something to compare. Look columns up in the arguments `table` and "
            '`higher`, not in the notebook\'s `results` and `HIGHER`. The keys of a claim are "system", '
            '"over" and "on".',
        ),
        Slip(
            "fails-where-both-were-measured",
            fails_where_both_were_measured,
            "it fails when both systems were measured. Call `beats` with the two lists and `higher[column]`; "
            "use the arguments `table` and `higher`, not the notebook's `results` and `HIGHER`.",
        ),
        Slip(
            "first-column-only",
            lambda claim, table, higher: defend({**claim, "on": claim["on"][:1]}, table, higher),
            "only the first column is examined. Is `return` inside the loop?",
        ),
        Slip(
            "last-column-only",
            lambda claim, table, higher: defend({**claim, "on": claim["on"][-1:]}, table, higher),
            "only the last column's holes are left. Make the list before the loops, and append to it.",
        ),
        Slip(
            "every-column",
            lambda claim, table, higher: defend({**claim, "on": list(table)}, table, higher),
            'every column of the table is examined. Take those that the claim names in "on".',
        ),
        Slip(
            "as-a-dictionary",
            changing(lambda holes, claim: {(column, rival): why for column, rival, why in holes}),
            "the holes are in a dictionary. Return a list of tuples (column, rival, reason).",
        ),
        Slip(
            "with-a-count",
            changing(
                lambda holes, claim: {
                    "carried": len(claim["on"]) * len(claim["over"]) - len(holes),
                    "holes": holes,
                }
            ),
            "a dictionary with a count is returned. Return only the list of holes.",
        ),
        Slip(
            "count",
            changing(lambda holes, claim: len(holes)),
            "the number of holes is returned. Return the list of them.",
        ),
    ),
)

# ---- my_claim


def example_claim() -> dict[str, Any]:
    return {
        "system": "bahdanau",
        "over": ["transformer", "convs2s"],
        "on": ["21 to 30 words", "31 to 40 words"],
        "not_on": ["BLEU beam"],
    }


def is_claim(inputs: tuple, claim: Any) -> str:
    if not isinstance(claim, Mapping):
        return (
            f"A claim is a dictionary with four entries, but your function returned {describe_type(claim)}."
        )
    for key in ("system", "over", "on", "not_on"):
        if key not in claim:
            return f'The entry "{key}" is missing.'
    if not isinstance(claim["system"], str):
        return f'"system" should be one name, but it is {describe_type(claim["system"])}.'
    for key in ("over", "on", "not_on"):
        names = claim[key]
        if isinstance(names, str) or not isinstance(names, Collection):
            return f'"{key}" should be a list of names (even if there is only one), but it is {names!r}.'
        if not_names := [name for name in names if not isinstance(name, str)]:
            return f'"{key}" should be a list of names, but {not_names[0]!r} isn\'t a name.'
    return ""


def names_exist(inputs: tuple, claim: Claim) -> str:
    for system in (claim["system"], *claim["over"]):
        if system == NO_RESIDUAL:
            return f'"{NO_RESIDUAL}" is a Transformer with a part removed. Choose another system.'
        if system not in table()["test"]:
            translators = ", ".join(name for name in table()["test"] if name != NO_RESIDUAL)
            return f'"{system}" isn\'t the name of a translator. They are: {translators}.'
    for column in (*claim["on"], *claim["not_on"]):
        if column not in COLUMNS:
            return f'There is no column "{column}". The columns are: {", ".join(COLUMNS)}.'
    return ""


def is_complete(inputs: tuple, claim: Claim) -> str:
    if not claim["over"]:
        return 'Name at least one rival in "over".'
    if claim["system"] in claim["over"]:
        return f'"{claim["system"]}" can\'t be its own rival: remove it from "over".'
    for key in ("over", "on", "not_on"):
        if twice := [name for name, count in Counter(claim[key]).items() if count > 1]:
            return f'"{twice[0]}" is listed twice in "{key}".'
    if "parameters" in claim["on"]:
        return 'We set the number of parameters ourselves, so "parameters" can\'t support a claim.'
    if len(claim["on"]) < 2:
        return 'Name at least two columns in "on".'
    if both := set(claim["on"]) & set(claim["not_on"]):
        return f'"{min(both)}" is listed in "on" and in "not_on".'
    return ""


def is_supported(inputs: tuple, claim: Claim) -> str:
    for column, rival in product(claim["on"], claim["over"]):
        numbers, system = table()[column], claim["system"]
        if not {system, rival} <= numbers.keys():
            return f'In "{column}", {system} or {rival} wasn\'t measured.'
        _, interval, verdict = compared(column, system, rival)
        if verdict == BETTER:
            continue
        runs = in_words({name: numbers[name] for name in (system, rival)}, COLUMNS[column].digits)
        found = f'Your system compared with {rival} in "{column}": {verdict} ({runs}).'
        if beats(numbers[system], numbers[rival], COLUMNS[column].higher) == BETTER:
            low, high = (fixed(end, 2) for end in interval)
            found += f" All runs agree, but the sentences don't: the interval is {low} to {high}."
        return found
    return ""


def names_its_limit(inputs: tuple, claim: Claim) -> str:
    measured = {
        (column, rival)
        for column in claim["not_on"]
        for rival in claim["over"]
        if {claim["system"], rival} <= {*table()[column]}
    }
    limits = {(c, rival) for c, rival in measured if compared(c, claim["system"], rival).verdict != BETTER}
    for column in claim["not_on"]:
        if column not in {limit for limit, _ in measured}:
            return (
                f'"{column}" doesn\'t belong in "not_on": your system or the rivals weren\'t measured there.'
            )
        if column not in {limit for limit, _ in limits}:
            return f'"{column}" doesn\'t belong in "not_on": your system is better than all rivals there.'
    for rival in claim["over"]:
        if rival not in {name for _, name in limits}:
            return (
                f'"not_on" names no column in which {rival} was measured and your system isn\'t better. '
                "Add one."
            )
    return ""


MY_CLAIM = PlainExercise(
    name="my_claim",
    lesson=LESSON,
    inputs=(),
    by_hand=ByHand(
        inputs={},
        answer=example_claim(),
        says="A claim names a system, its rivals, at least two columns in which the system is better, "
        "and a column in which it isn't.",
    ),
    others=(),
    design=True,
    demands=(
        is_claim,
        names_exist,
        is_complete,
        is_supported,
        names_its_limit,
    ),
    reference=example_claim,
)

EXERCISES = (BEATS, DEFEND, MY_CLAIM)
