"""The exercises of lesson 18: what three seeds carry, who leads a column, a claim and its holes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import pairwise, takewhile
from statistics import mean, median
from typing import Any

from course_lib.teaching.exercises import ByHand, PlainExercise, Slip, TestExercise
from course_lib.teaching.exercises.answer import describe_type
from lessons.l18_the_museum.museum import COLUMNS, HIGHER, NO_RESIDUAL, beats, table

LESSON = "the_museum"
Seeds = Sequence[float]
Claim = Mapping[str, Any]

# ---- beats


def by_mean(one: Seeds, other: Seeds, higher: bool) -> str:
    gap = mean(one) - mean(other)
    if gap == 0:
        return "open"
    return "yes" if (gap > 0) == higher else "no"


def by_best(one: Seeds, other: Seeds, higher: bool) -> str:
    best = max if higher else min
    return by_mean([best(one)], [best(other)], higher)


def by_worst(one: Seeds, other: Seeds, higher: bool) -> str:
    worst = min if higher else max
    return by_mean([worst(one)], [worst(other)], higher)


def always_higher(one: Seeds, other: Seeds, higher: bool) -> str:
    return beats(one, other, True)


def never_no(one: Seeds, other: Seeds, higher: bool) -> str:
    return "yes" if beats(one, other, higher) == "yes" else "open"


def never_open(one: Seeds, other: Seeds, higher: bool) -> str:
    return "yes" if beats(one, other, higher) == "yes" else "no"


def seed_by_seed(one: Seeds, other: Seeds, higher: bool) -> str:
    verdicts = {by_mean([x], [y], higher) for x, y in zip(one, other, strict=False)}
    return verdicts.pop() if len(verdicts) == 1 else "open"


def any_pair(one: Seeds, other: Seeds, higher: bool) -> str:
    """The best seed of one against the worst of the other."""
    best, worst = (max, min) if higher else (min, max)
    if by_mean([best(one)], [worst(other)], higher) == "yes":
        return "yes"
    return "no" if by_mean([best(other)], [worst(one)], higher) == "yes" else "open"


def most_pairs(one: Seeds, other: Seeds, higher: bool) -> str:
    verdicts = [by_mean([x], [y], higher) for x in one for y in other]
    common = [word for word in ("yes", "no") if verdicts.count(word) > len(verdicts) / 2]
    return common[0] if common else "open"


def ties_count(one: Seeds, other: Seeds, higher: bool) -> str:
    return "yes" if tie_is_yes(one, other, higher) == "yes" else tie_is_no(one, other, higher)


def tie_is_yes(one: Seeds, other: Seeds, higher: bool) -> str:
    return "yes" if min_gap(one, other, higher) == 0 else beats(one, other, higher)


def tie_is_no(one: Seeds, other: Seeds, higher: bool) -> str:
    return "no" if min_gap(other, one, higher) == 0 else beats(one, other, higher)


def min_gap(one: Seeds, other: Seeds, higher: bool) -> float:
    """From the best seed of the other to the worst of one; negative if they overlap."""
    return min(one) - max(other) if higher else min(other) - max(one)


def higher_for_yes_only(one: Seeds, other: Seeds, higher: bool) -> str:
    verdict = beats(one, other, higher)
    return "open" if verdict == "no" and not higher else verdict


def of_equal_length(one: Seeds, other: Seeds, higher: bool) -> str:
    if len(one) != len(other):
        raise ValueError
    return beats(one, other, higher)


def first_seeds(n: int) -> Callable:
    return lambda one, other, higher: beats(one[:n], other[:n], higher)


WORDS = 'the answer is a bool. Return one of the strings "yes", "no" and "open".'
TIES = "equal seeds count as better. Equal is not better: compare with `>` or `<`, not with `>=` or `<=`."

BEATS = PlainExercise(
    name="beats",
    lesson=LESSON,
    inputs=("one", "other", "higher"),
    reference=beats,
    by_hand=ByHand(
        inputs={"one": [97.0, 98.0, 96.0], "other": [90.0, 95.0, 93.0], "higher": True},
        answer="yes",
        says="The worst seed of `one` is 96 and the best of `other` is 95, so every seed of `one` is better.",
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
    ),
    slips=(
        Slip("by-mean", by_mean, "the means are compared. A mean can be better although the seeds overlap."),
        Slip(
            "by-median",
            lambda one, other, higher: by_mean([median(one)], [median(other)], higher),
            "the medians are compared. A median can be better although the seeds overlap.",
        ),
        Slip(
            "sorted-pairs",
            lambda one, other, higher: seed_by_seed(sorted(one), sorted(other), higher),
            "the seeds are sorted and then compared one by one. Compare every seed of one with every seed of "
            "the other.",
        ),
        Slip(
            "by-best",
            by_best,
            "only the best seeds are compared. Every seed of `one` must be better, not only its best.",
        ),
        Slip(
            "by-worst",
            by_worst,
            "only the worst seeds are compared. The worst of one must be better even than the best of the "
            "other.",
        ),
        Slip(
            "any-pair",
            any_pair,
            "a single pair of seeds is enough for an answer, as if only the best seed of one were compared "
            "with the worst of the other. All pairs must agree.",
        ),
        Slip("most-pairs", most_pairs, "the majority of the pairs decides. All pairs must agree."),
        Slip(
            "always-higher", always_higher, "`higher` isn't used. If it is False, smaller numbers are better."
        ),
        Slip(
            "higher-for-yes-only",
            higher_for_yes_only,
            '`higher` is used to decide on "yes", but not on "no".',
        ),
        Slip(
            "turned",
            lambda one, other, higher: beats(other, one, higher),
            '"yes" and "no" are swapped: either `one` and `other` are mixed up, or `higher` is inverted.',
        ),
        Slip("never-no", never_no, 'it never returns "no", not even if every seed of `other` is better.'),
        Slip("never-open", never_open, 'it never returns "open", although seeds may overlap or be equal.'),
        Slip(
            "seed-by-seed",
            seed_by_seed,
            "the first seed is compared with the first, the second with the second. The order of the seeds "
            "has no meaning: compare all with all.",
        ),
        Slip("first-three", first_seeds(3), "only the first three seeds are used. Use all of them."),
        Slip("first-seed", first_seeds(1), "only the first seed of each is compared. Use all of them."),
        Slip("ties-count", ties_count, TIES),
        Slip("tie-is-yes", tie_is_yes, TIES),
        Slip("tie-is-no", tie_is_no, TIES),
        Slip(
            "equal-lengths",
            of_equal_length,
            "it works only if both lists have the same length. Compare every seed of one with every seed of "
            "the other.",
        ),
        Slip("none-for-open", lambda *given: {"yes": True, "no": False}[beats(*given)], WORDS),
        Slip(
            "booleans",
            lambda *given: beats(*given) == "yes",
            WORDS,
        ),
    ),
)

# ---- test_beats


def beats_by_sorting(one: Seeds, other: Seeds, higher: bool) -> str:
    low, high = (other, one) if higher else (one, other)
    if sorted(high)[0] > sorted(low)[-1]:
        return "yes"
    low, high = high, low
    return "no" if sorted(high)[0] > sorted(low)[-1] else "open"


def beats_all_with_all(one: Seeds, other: Seeds, higher: bool) -> str:
    verdicts = {by_mean([x], [y], higher) for x in one for y in other}
    return verdicts.pop() if len(verdicts) == 1 else "open"


def test_beats(beats: Any) -> None:
    assert beats([97, 98, 96], [90, 95, 93], True) == "yes"
    assert beats([90, 95, 93], [97, 98, 96], True) == "no"
    assert beats([97, 98, 96], [90, 95, 93], False) == "no"
    assert beats([3, 5, 7], [2, 4, 6], True) == "open"
    assert beats([98, 94, 99], [95, 93, 92], True) == "open"
    assert beats([5, 6], [5, 4], True) == "open"


TEST_BEATS = TestExercise(
    name="test_beats",
    lesson=LESSON,
    of=BEATS,
    what="comparison",
    accepts={"with sorted": beats_by_sorting, "all with all": beats_all_with_all},
    rejects={
        "by-mean": "compares the means",
        "by-best": "compares the best seeds",
        "by-worst": "compares the worst seeds",
        "always-higher": "takes more for better, also of an error",
        "never-no": 'never says "no"',
        "never-open": 'never says "open"',
        "seed-by-seed": "compares seed 0 with seed 0, seed 1 with seed 1",
        "ties-count": "takes equal for better",
    },
    reference=test_beats,
)

# ---- leaders


def ranked(column: Mapping[str, Seeds], higher: bool, value: Callable[[Seeds], float] = mean) -> list[str]:
    return sorted(column, key=lambda name: value(column[name]), reverse=higher)


def not_beaten(column: Mapping[str, Seeds], first: str, rivals: Sequence[str], higher: bool) -> list[str]:
    return [rival for rival in rivals if beats(column[first], column[rival], higher) != "yes"]


Table = Mapping[str, Mapping[str, Seeds]]
Higher = Mapping[str, bool]


def lead(
    order: Callable = lambda column, higher: ranked(column, higher),
    rest: Callable = not_beaten,
    finish: Callable = lambda names, higher: names,
) -> Callable[[Table, Higher], dict[str, list[str]]]:
    """For each column the first system and some of the rest; the options are ways to get it wrong."""

    def find(table: Table, higher: Higher) -> dict[str, list[str]]:
        leading = {}
        for name, column in table.items():
            first, *others = order(column, higher[name])
            leading[name] = finish([first, *rest(column, first, others, higher[name])], higher[name])
        return leading

    return find


leaders = lead()


def beaten(column: Mapping[str, Seeds], first: str, rivals: Sequence[str], higher: bool) -> list[str]:
    level = not_beaten(column, first, rivals, higher)
    return [rival for rival in rivals if rival not in level]


def as_if_higher(column: Mapping[str, Seeds], first: str, rivals: Sequence[str], higher: bool) -> list[str]:
    return not_beaten(column, first, rivals, True)


def from_the_rivals_side(
    column: Mapping[str, Seeds], first: str, rivals: Sequence[str], higher: bool
) -> list[str]:
    return [rival for rival in rivals if beats(column[rival], column[first], higher) != "yes"]


def up_to_the_first_beaten(
    column: Mapping[str, Seeds], first: str, rivals: Sequence[str], higher: bool
) -> list[str]:
    level = not_beaten(column, first, rivals, higher)
    return list(takewhile(level.__contains__, rivals))


def against_the_one_before(
    column: Mapping[str, Seeds], first: str, rivals: Sequence[str], higher: bool
) -> list[str]:
    pairs = pairwise([first, *rivals])
    return [rival for before, rival in pairs if beats(column[before], column[rival], higher) != "yes"]


def in_table_order(column: Mapping[str, Seeds], first: str, rivals: Sequence[str], higher: bool) -> list[str]:
    return not_beaten(column, first, [name for name in column if name != first], higher)


def by_sum(column: Mapping[str, Seeds], higher: bool) -> list[str]:
    return ranked(column, higher, sum)


def by_best_seed(column: Mapping[str, Seeds], higher: bool) -> list[str]:
    return ranked(column, higher, max if higher else min)


def by_worst_seed(column: Mapping[str, Seeds], higher: bool) -> list[str]:
    return ranked(column, higher, min if higher else max)


def by_distinct_mean(column: Mapping[str, Seeds], higher: bool) -> list[str]:
    systems = {mean(seeds): name for name, seeds in column.items()}
    return [systems[value] for value in sorted(systems, reverse=higher)]


def largest_first(table, higher):
    """The lesson's first version."""
    leading = {}
    for name, column in table.items():
        order = sorted(column, key=lambda s: mean(column[s]), reverse=True)
        leading[name] = order[:1]
        for rival in order[1:]:
            if beats(column[order[0]], column[rival], higher[name]) != "yes":
                leading[name].append(rival)
    return leading


def small_table() -> tuple[dict, dict]:
    numbers = {
        "exact": {"ada": [90.0, 92.0, 94.0], "bob": [70.0, 71.0, 95.0], "cyd": [80.0, 81.0, 82.0]},
        "error": {"ada": [0.2, 0.3, 0.4], "bob": [0.1, 0.5, 0.6], "cyd": [0.35, 0.3, 0.7]},
    }
    return numbers, {"exact": True, "error": False}


def table_with_equal_means() -> tuple[dict, dict]:
    """bob and cyd have the same mean, and only one of them is beaten."""
    numbers = {
        "exact": {"ada": [9.0, 11.0], "bob": [8.0, 8.0], "cyd": [6.0, 10.0]},
        "depth": {"ada": [9.0, 11.0], "bob": [6.0, 10.0], "cyd": [8.0, 8.0]},
    }
    return numbers, {"exact": True, "depth": True}


LEADERS = PlainExercise(
    name="leaders",
    lesson=LESSON,
    inputs=("table", "higher"),
    reference=leaders,
    unrepaired=largest_first,
    by_hand=ByHand(
        inputs={
            "table": {
                "exact": {"ada": [90.0, 92.0], "bob": [91.0, 80.0], "cyd": [70.0, 60.0]},
                "error": {"ada": [0.5, 0.6], "bob": [0.1, 0.2], "cyd": [0.3, 0.4]},
            },
            "higher": {"exact": True, "error": False},
        },
        answer={"exact": ["ada", "bob"], "error": ["bob"]},
        says="exact: ada has the best mean, 91. Her worst seed, 90, is better than cyd's best, 70, but not "
        "than bob's best, 91. error: smaller is better, so bob is first; his worst seed, 0.2, is better than "
        "every seed of the others.",
    ),
    others=(
        small_table,
        lambda: ({"only": {"ada": [1.0, 2.0, 3.0]}}, {"only": True}),
        lambda: ({}, {}),
        lambda: (
            {"exact": {"ada": [90.0, 99.0, 99.0], "bob": [91.0, 92.0, 93.0], "cyd": [89.0, 100.0, 96.0]}},
            {"exact": True},
        ),
        lambda: (
            {"seconds": {"ada": [7.0, 8.0, 9.0], "bob": [10.0, 9.0], "cyd": [4.0, 8.0, 8.5]}},
            {"seconds": False},
        ),
        lambda: (
            {"bleu": {"ada": [40.0, 44.0], "bob": [39.0, 39.5], "cyd": [30.0, 41.0], "dan": [42.0, 45.0]}},
            {"bleu": True},
        ),
        table_with_equal_means,
    ),
    slips=(
        Slip(
            "only-first",
            lead(rest=lambda *given: []),
            "only the first system is listed. Those that it doesn't beat belong in the list, too.",
        ),
        Slip(
            "without-first",
            lead(finish=lambda names, higher: names[1:]),
            "the first system itself is missing from the list.",
        ),
        Slip(
            "more-is-better",
            lead(order=lambda column, higher: ranked(column, True), rest=as_if_higher),
            "`higher[name]` isn't used. If it is False, smaller numbers are better.",
        ),
        Slip(
            "beats-without-higher",
            lead(rest=as_if_higher),
            "the order is right, but `beats` doesn't get `higher[name]`: smaller numbers may be better.",
        ),
        Slip(
            "worst-first",
            lead(order=lambda column, higher: ranked(column, not higher)),
            "the system with the worst mean comes first. `reverse=True` puts the largest first.",
        ),
        Slip(
            "lists-the-beaten",
            lead(rest=beaten),
            "the systems that the first one beats are listed. List those that it doesn't beat.",
        ),
        Slip(
            "asks-the-rival",
            lead(rest=from_the_rivals_side),
            "every system is listed. Leave out those that the first one beats; it must be the first argument "
            "of `beats`.",
        ),
        Slip(
            "the-one-before",
            lead(rest=against_the_one_before),
            "each system is compared with the one before it. Compare it with the first.",
        ),
        Slip(
            "by-worst-seed",
            lead(order=by_worst_seed),
            "the systems are ordered by their worst seeds. Order them by their means.",
        ),
        Slip(
            "by-median",
            lead(order=lambda column, higher: ranked(column, higher, median)),
            "the systems are ordered by their medians. Order them by their means.",
        ),
        Slip(
            "by-best-seed",
            lead(order=by_best_seed),
            "the systems are ordered by their best seeds. Order them by their means.",
        ),
        Slip(
            "by-sum",
            lead(order=by_sum),
            "the systems are ordered by sums, but the lists may differ in length. Order them by their means.",
        ),
        Slip(
            "equal-means",
            lead(order=by_distinct_mean),
            "a system is lost if another has the same mean. Keep the systems, not the means, as keys.",
        ),
        Slip(
            "table-order",
            lead(rest=in_table_order),
            "after the first, the systems aren't ordered by their means. Are they in alphabetical order, or "
            "in the order of the table?",
        ),
        Slip(
            "first-comes-last",
            lead(finish=lambda names, higher: names if higher else names[::-1]),
            "where smaller numbers are better, the finished list is reversed: the first system comes last.",
        ),
        Slip(
            "stops-early",
            lead(rest=up_to_the_first_beaten),
            "it stops at the first system that is beaten. A later one may have a larger spread, and not be "
            "beaten.",
        ),
    ),
)

# ---- defend


def defend(claim: Claim, table: Mapping, higher: Mapping) -> dict[str, Any]:
    """How many comparisons of a claim the seeds carry, and which they do not."""
    carried, holes = 0, []
    for column in claim["on"]:
        numbers = table[column]
        for rival in claim["over"]:
            if claim["system"] not in numbers or rival not in numbers:
                holes.append((column, rival, "not measured"))
                continue
            verdict = beats(numbers[claim["system"]], numbers[rival], higher[column])
            if verdict == "yes":
                carried += 1
            else:
                holes.append((column, rival, "open" if verdict == "open" else "lost"))
    return {"carried": carried, "holes": holes}


def defend_means(claim: Claim, table: Mapping, higher: Mapping) -> dict[str, Any]:
    means = {c: {s: [mean(seeds)] for s, seeds in column.items()} for c, column in table.items()}
    return defend(claim, means, higher)


def changing_holes(change: Callable[[list, Claim], list]) -> Callable:
    """The right answer with its list of holes changed."""

    def wrong(claim: Claim, table: Mapping, higher: Mapping) -> dict[str, Any]:
        judged = defend(claim, table, higher)
        return judged | {"holes": change(judged["holes"], claim)}

    return wrong


def renaming(names: Mapping[str, str]) -> Callable:
    """The right answer with other reasons."""
    return changing_holes(lambda holes, claim: [(c, r, names.get(why, why)) for c, r, why in holes])


def forgives_open(claim: Claim, table: Mapping, higher: Mapping) -> dict[str, Any]:
    judged = counts_open(claim, table, higher)
    return judged | {"holes": [hole for hole in judged["holes"] if hole[2] != "open"]}


def counts_open(claim: Claim, table: Mapping, higher: Mapping) -> dict[str, Any]:
    judged = defend(claim, table, higher)
    return judged | {"carried": judged["carried"] + sum(hole[2] == "open" for hole in judged["holes"])}


def unguarded(compares: Callable[[Mapping, str, str], bool]) -> Callable:
    """The right answer, but a KeyError where it compares systems of which one was not measured."""

    def wrong(claim: Claim, table: Mapping, higher: Mapping) -> dict[str, Any]:
        judged = defend(claim, table, higher)
        for column, rival, why in judged["holes"]:
            if why == "not measured" and compares(table[column], claim["system"], rival):
                raise KeyError
        return judged

    return wrong


def counts_unmeasured(claim: Claim, table: Mapping, higher: Mapping) -> dict[str, Any]:
    judged = defend(claim, table, higher)
    reasons = [why for *_, why in judged["holes"]]
    return judged | {"carried": judged["carried"] + reasons.count("not measured")}


def counts_columns(claim: Claim, table: Mapping, higher: Mapping) -> dict[str, Any]:
    judged = defend(claim, table, higher)
    return judged | {"carried": len({*claim["on"]} - {column for column, *_ in judged["holes"]})}


def counts_holes(claim: Claim, table: Mapping, higher: Mapping) -> dict[str, Any]:
    judged = defend(claim, table, higher)
    return judged | {"carried": len(judged["holes"])}


def stops_at_a_hole(claim: Claim, table: Mapping, higher: Mapping) -> dict[str, Any]:
    """Each column up to its first hole."""
    carried, holes = 0, []
    for column in claim["on"]:
        for rival in claim["over"]:
            judged = defend({**claim, "on": [column], "over": [rival]}, table, higher)
            carried, holes = carried + judged["carried"], holes + judged["holes"]
            if judged["holes"]:
                break
    return {"carried": carried, "holes": holes}


def once_per_column(claim: Claim, table: Mapping, higher: Mapping) -> dict[str, Any]:
    judged, over = defend(claim, table, higher), claim["over"]
    holes = [h for h in judged["holes"] if claim["system"] in table[h[0]] or h[1] == over[0]]
    return judged | {"holes": holes}


def always_more(claim: Claim, table: Mapping, higher: Mapping) -> dict[str, Any]:
    return defend(claim, table, dict.fromkeys(higher, True))


def roles_swapped(claim: Claim, table: Mapping, higher: Mapping) -> dict[str, Any]:
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
        answer={
            "carried": 1,
            "holes": [("exact", "bob", "open"), ("error", "bob", "lost"), ("error", "cyd", "not measured")],
        },
        says="exact: ada's worst seed, 90, isn't better than bob's best, 91, nor is bob's worst better "
        "than ada's best: open. cyd's best is 70: carried. error: all of bob's seeds are smaller, so better: "
        "lost. cyd wasn't measured there.",
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
    ),
    slips=(
        Slip("by-mean", defend_means, "the means are compared. Call `beats`, which compares all seeds."),
        Slip(
            "forgives-open",
            forgives_open,
            'an "open" comparison is counted as carried. It is a hole.',
        ),
        Slip(
            "counts-open",
            counts_open,
            'an "open" comparison is counted as carried, and listed as a hole as well. It is only a hole.',
        ),
        Slip(
            "counts-columns",
            counts_columns,
            "the columns without any hole are counted. Count comparisons: each rival in each column is one.",
        ),
        Slip(
            "counts-holes",
            counts_holes,
            '"carried" is the number of holes. Count the comparisons to which `beats` says "yes".',
        ),
        Slip(
            "stops-at-a-hole",
            stops_at_a_hole,
            "it goes on to the next column at the first hole. The other rivals must be compared, too.",
        ),
        Slip(
            "skips-unmeasured",
            changing_holes(lambda holes, claim: [hole for hole in holes if hole[2] != "not measured"]),
            "what wasn't measured is left out. It is a hole, too.",
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
            changing_holes(lambda holes, claim: sorted(holes, key=lambda hole: claim["over"].index(hole[1]))),
            "the holes are in the wrong order. The outer loop should go through the columns, the inner one "
            "through the rivals.",
        ),
        Slip(
            "sorted-by-reason",
            changing_holes(
                lambda holes, claim: sorted(
                    holes, key=lambda hole: ("not measured", "open", "lost").index(hole[2])
                )
            ),
            "the holes are grouped by their reasons. List them in the order in which you meet them.",
        ),
        Slip(
            "roles-swapped",
            roles_swapped,
            "a win of the rival counts as carried: either the arguments of `beats` are swapped, or `higher` "
            "is inverted.",
        ),
        Slip(
            "turned",
            changing_holes(lambda holes, claim: [(rival, column, why) for column, rival, why in holes]),
            "a hole is (column, rival, why), in this order. Yours begin with the rival.",
        ),
        Slip("says-no", renaming({"lost": "no"}), 'where `beats` says "no", the reason should be "lost".'),
        Slip(
            "lost-is-open",
            renaming({"lost": "open"}),
            'where `beats` says "no", the reason should be "lost".',
        ),
        Slip(
            "open-is-lost",
            renaming({"open": "lost"}),
            'where `beats` says "open", the reason should be "open".',
        ),
        Slip(
            "open-and-lost-swapped",
            renaming({"open": "lost", "lost": "open"}),
            '"open" and "lost" are swapped. "lost" is where `beats` says "no".',
        ),
        Slip(
            "unmeasured-is-lost",
            renaming({"not measured": "lost"}),
            'a comparison without numbers is listed as "lost". Its reason should be "not measured".',
        ),
        Slip(
            "leaves-out-open",
            changing_holes(lambda holes, claim: [hole for hole in holes if hole[2] != "open"]),
            "open comparisons are left out. They are holes, too.",
        ),
        Slip(
            "without-reasons",
            changing_holes(lambda holes, claim: [hole[:2] for hole in holes]),
            "the holes lack their reasons. A hole is (column, rival, why).",
        ),
        Slip(
            "sorted",
            changing_holes(lambda holes, claim: sorted(holes)),
            "the holes are sorted. List them in the order in which you meet them.",
        ),
        Slip(
            "counts-unmeasured",
            counts_unmeasured,
            "comparisons without numbers are counted as carried.",
        ),
        Slip(
            "counts-all",
            lambda claim, table, higher: (
                defend(claim, table, higher) | {"carried": len(claim["on"]) * len(claim["over"])}
            ),
            '"carried" is the number of all comparisons. Count those to which `beats` says "yes".',
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
            "holes-only",
            lambda *given: defend(*given)["holes"],
            'only the holes are returned. Return a dictionary with "carried" and "holes".',
        ),
        Slip(
            "as-a-pair",
            lambda *given: tuple(defend(*given).values()),
            'both results are right, but they should be in a dictionary, as "carried" and "holes".',
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
            return f'"{NO_RESIDUAL}" is a Transformer without one of its parts. Choose another system.'
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
        return 'We set the numbers of parameters ourselves, so "parameters" supports no claim.'
    if len(claim["on"]) < 2:
        return 'Name at least two columns in "on".'
    if both := set(claim["on"]) & set(claim["not_on"]):
        return f'"{min(both)}" is listed in "on" and in "not_on".'
    return ""


WHY = {
    "open": "the seeds overlap, so the comparison is open",
    "lost": "every seed of the rival is better",
    "not measured": "one of the two wasn't measured there",
}


def carried_by_seeds(inputs: tuple, claim: Claim) -> str:
    for column, rival, why in defend(claim, table(), HIGHER)["holes"]:
        seeds = "; ".join(
            f"{name}: {', '.join(f'{x:.4g}' for x in table()[column].get(name, [])) or 'no numbers'}"
            for name in (claim["system"], rival)
        )
        return f'In "{column}" your system doesn\'t beat {rival}: {WHY[why]} ({seeds}).'
    return ""


def names_its_limit(inputs: tuple, claim: Claim) -> str:
    limits = {**claim, "on": list(claim["not_on"])}
    holes = defend(limits, table(), HIGHER)["holes"]
    unbeaten = {(column, rival) for column, rival, why in holes if why != "not measured"}
    for column in claim["not_on"]:
        if column not in {limit for limit, _ in unbeaten}:
            return (
                f'"{column}" doesn\'t belong in "not_on": there your system beats every rival, or one of the '
                "two wasn't measured."
            )
    for rival in claim["over"]:
        if rival not in {name for _, name in unbeaten}:
            return f'"not_on" names no column in which {rival} was measured and is not beaten. Add one.'
    return ""


MY_CLAIM = PlainExercise(
    name="my_claim",
    lesson=LESSON,
    inputs=(),
    by_hand=ByHand(
        inputs={},
        answer=example_claim(),
        says="A claim names a system, its rivals, at least two columns in which every seed of the system is "
        "better, and a column in which it isn't.",
    ),
    others=(),
    design=True,
    demands=(is_claim, names_exist, is_complete, carried_by_seeds, names_its_limit),
    reference=example_claim,
)

EXERCISES = (BEATS, TEST_BEATS, LEADERS, DEFEND, MY_CLAIM)
