"""The exercises of lesson 18: what three seeds carry, who leads a column, a claim and its holes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import mean
from typing import Any

from course_lib.teaching.exercises import ByHand, PlainExercise, Slip, TestExercise
from lessons.l18_the_museum.museum import COLUMNS, HIGHER, NO_RESIDUAL, TITLES, beats, table

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


def ties_count(one: Seeds, other: Seeds, higher: bool) -> str:
    if not higher:
        one, other = [-x for x in one], [-x for x in other]
    if min(one) >= max(other):
        return "yes"
    return "no" if min(other) >= max(one) else "open"


BEATS = PlainExercise(
    name="beats",
    lesson=LESSON,
    inputs=("one", "other", "higher"),
    reference=beats,
    by_hand=ByHand(
        inputs={"one": [97.0, 98.0, 96.0], "other": [90.0, 95.0, 93.0], "higher": True},
        answer="yes",
        says="The worst seed of one is 96, the best of the other 95: every seed of one is ahead.",
    ),
    others=(
        lambda: ([90.0, 95.0, 93.0], [97.0, 98.0, 96.0], True),
        lambda: ([98.0, 94.0, 99.0], [95.0, 93.0, 92.0], True),
        lambda: ([0.06, 0.05, 0.07], [0.2, 0.1, 0.3], False),
        lambda: ([0.2, 0.1, 0.3], [0.06, 0.05, 0.07], False),
        lambda: ([90.0, 99.0, 99.0], [91.0, 92.0, 93.0], True),
        lambda: ([5.0, 6.0], [5.0, 4.0], True),
        lambda: ([3.0, 5.0, 7.0], [2.0, 4.0, 6.0], True),
        lambda: ([1.0, 9.0], [4.0, 5.0, 8.0], True),
        lambda: ([100.0, 100.0, 100.0], [100.0, 100.0, 100.0], True),
        lambda: ([1.0, 9.0], [8.0, 2.0, 3.0], False),
        lambda: ([9.0, 8.0, 1.0], [5.0, 6.0, 4.0], True),
    ),
    slips=(
        Slip("by-mean", by_mean, "the means are compared. A mean can lead though the seeds are mixed up."),
        Slip("by-best", by_best, "only the best seed of each is compared: luck is compared with luck."),
        Slip(
            "by-worst", by_worst, "the worst seed of each is compared. All seeds of one must be ahead of all."
        ),
        Slip("always-higher", always_higher, "`higher` is not used: of an error, less is better."),
        Slip("never-no", never_no, 'it never says "no", not even where every seed of the other is ahead.'),
        Slip("never-open", never_open, 'it never says "open", though seeds may be mixed up, or equal.'),
        Slip(
            "seed-by-seed",
            seed_by_seed,
            "the first seed is compared with the first, the second with the second. Another order of the "
            "seeds would give another answer: compare all with all.",
        ),
        Slip("ties-count", ties_count, "equal seeds count as better. Equal is not better: `>`, not `>=`."),
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


def ranked(column: Mapping[str, Seeds], higher: bool) -> list[str]:
    return sorted(column, key=lambda name: mean(column[name]), reverse=higher)


def not_beaten(column: Mapping[str, Seeds], first: str, rivals: Sequence[str], higher: bool) -> list[str]:
    return [rival for rival in rivals if beats(column[first], column[rival], higher) != "yes"]


def leaders(table: Mapping[str, Mapping[str, Seeds]], higher: Mapping[str, bool]) -> dict[str, list[str]]:
    """For each column the system with the best mean, followed by all that it does not beat."""
    leading = {}
    for name, column in table.items():
        first, *rest = ranked(column, higher[name])
        leading[name] = [first, *not_beaten(column, first, rest, higher[name])]
    return leading


def only_first(table: Mapping, higher: Mapping) -> dict[str, list[str]]:
    return {name: names[:1] for name, names in leaders(table, higher).items()}


def without_first(table: Mapping, higher: Mapping) -> dict[str, list[str]]:
    return {name: names[1:] for name, names in leaders(table, higher).items()}


def more_is_better(table: Mapping, higher: Mapping) -> dict[str, list[str]]:
    return leaders(table, dict.fromkeys(higher, True))


def by_best_seed(table: Mapping, higher: Mapping) -> dict[str, list[str]]:
    leading = {}
    for name, column in table.items():
        best = max if higher[name] else min
        first = sorted(column, key=lambda s, c=column, b=best: b(c[s]), reverse=higher[name])[0]
        rest = [system for system in ranked(column, higher[name]) if system != first]
        leading[name] = [first, *not_beaten(column, first, rest, higher[name])]
    return leading


def up_to_the_first_beaten(table: Mapping, higher: Mapping) -> dict[str, list[str]]:
    leading = {}
    for name, column in table.items():
        first, *rest = ranked(column, higher[name])
        leading[name] = [first]
        for other in rest:
            if beats(column[first], column[other], higher[name]) == "yes":
                break
            leading[name].append(other)
    return leading


def largest_first(table: Mapping, higher: Mapping) -> dict[str, list[str]]:
    """The lesson's first version: errors are sorted as if more were better."""
    leading = {}
    for name, column in table.items():
        first, *rest = ranked(column, True)
        leading[name] = [first, *not_beaten(column, first, rest, higher[name])]
    return leading


def in_table_order(table: Mapping, higher: Mapping) -> dict[str, list[str]]:
    return {
        name: [names[0], *(s for s in table[name] if s in names[1:])]
        for name, names in leaders(table, higher).items()
    }


def small_table() -> tuple[dict, dict]:
    numbers = {
        "exact": {"ada": [90.0, 92.0, 94.0], "bob": [70.0, 71.0, 95.0], "cyd": [80.0, 81.0, 82.0]},
        "error": {"ada": [0.2, 0.3, 0.4], "bob": [0.1, 0.5, 0.6], "cyd": [0.35, 0.3, 0.7]},
    }
    return numbers, {"exact": True, "error": False}


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
        says="exact: ada has the best mean, 91. Her worst seed, 90, is not ahead of bob's best, 91, but of "
        "cyd's, 70. error: less is better; bob's worst, 0.2, is better than every seed of the others.",
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
    ),
    slips=(
        Slip(
            "only-first", only_first, "only the first is there. Who is not beaten by it belongs in the list."
        ),
        Slip("without-first", without_first, "the first itself is missing from the list."),
        Slip("more-is-better", more_is_better, "`higher[column]` is not used: of an error, less is better."),
        Slip(
            "by-best-seed",
            by_best_seed,
            "the first place goes to the best single seed; the mean is asked for.",
        ),
        Slip("table-order", in_table_order, "those that are level stand in the table's order, not by mean."),
        Slip(
            "stops-early",
            up_to_the_first_beaten,
            "it stops at the first system that is beaten. One behind it may spread so far that it is not.",
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


def forgives_open(claim: Claim, table: Mapping, higher: Mapping) -> dict[str, Any]:
    judged = defend(claim, table, higher)
    holes = [hole for hole in judged["holes"] if hole[2] != "open"]
    return {"carried": judged["carried"] + len(judged["holes"]) - len(holes), "holes": holes}


def skips_unmeasured(claim: Claim, table: Mapping, higher: Mapping) -> dict[str, Any]:
    judged = defend(claim, table, higher)
    return {**judged, "holes": [hole for hole in judged["holes"] if hole[2] != "not measured"]}


def always_more(claim: Claim, table: Mapping, higher: Mapping) -> dict[str, Any]:
    return defend(claim, table, dict.fromkeys(higher, True))


def turned(claim: Claim, table: Mapping, higher: Mapping) -> dict[str, Any]:
    judged = defend(claim, table, higher)
    return {**judged, "holes": [(rival, column, why) for column, rival, why in judged["holes"]]}


def rivals_outside(claim: Claim, table: Mapping, higher: Mapping) -> dict[str, Any]:
    judged = defend(claim, table, higher)
    rivals = list(claim["over"])
    return {**judged, "holes": sorted(judged["holes"], key=lambda hole: rivals.index(hole[1]))}


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
        says="exact: ada's worst, 90, is behind bob's best, 91: open; cyd's best is 70: carried. error: all "
        "of bob's are less, so better: lost; cyd was never measured there.",
    ),
    others=(
        claimed("ada", ["bob"], ["speed"]),
        claimed("bob", ["ada", "cyd"], ["error", "speed", "exact"]),
        claimed("cyd", ["ada"], ["error", "speed"]),
        claimed("ada", [], ["exact"]),
        claimed("ada", ["cyd"], ["exact", "speed"]),
    ),
    slips=(
        Slip("by-mean", defend_means, "means are compared; ask `beats` about all seeds."),
        Slip(
            "forgives-open",
            forgives_open,
            '"open" is counted as carried. What the seeds leave open is a hole.',
        ),
        Slip(
            "skips-unmeasured", skips_unmeasured, "what was not measured is passed over. It is a hole, too."
        ),
        Slip(
            "always-more",
            always_more,
            "`higher[column]` is not used: of an error or of seconds, less is better.",
        ),
        Slip(
            "rivals-outside",
            rivals_outside,
            "the rivals are gone through first. Columns outside, rivals inside: so the holes come in order.",
        ),
        Slip(
            "roles-swapped",
            roles_swapped,
            "the rival's win is counted as carried. The claim's system comes first in `beats`.",
        ),
        Slip("turned", turned, "a hole is (column, rival, why), in this order; yours begin with the rival."),
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


def well_formed(inputs: tuple, claim: Claim) -> str:
    for key in ("system", "over", "on", "not_on"):
        if key not in claim:
            return f'A claim needs "{key}".'
    for key in ("over", "on", "not_on"):
        if isinstance(claim[key], str):
            return f'"{key}" is a list, also of one name: ["{claim[key]}"].'
    for system in (claim["system"], *claim["over"]):
        if system not in TITLES:
            return f'There is no system "{system}". There are: {", ".join(TITLES)}.'
    for column in (*claim["on"], *claim["not_on"]):
        if column not in COLUMNS:
            return f'There is no column "{column}". There are: {", ".join(COLUMNS)}.'
    if NO_RESIDUAL in (claim["system"], *claim["over"]):
        return f"{NO_RESIDUAL} is a system with a part taken out. Take one that somebody proposed."
    if claim["system"] not in table()["test"]:
        return f"Take a translator: {claim['system']} was measured in too few columns to name a limit."
    if not claim["over"] or claim["system"] in claim["over"]:
        return 'Name at least one rival in "over", and not the system itself.'
    if len(set(claim["over"])) < len(claim["over"]):
        return 'A rival stands twice in "over".'
    if "parameters" in claim["on"]:
        return "The parameters were set by us, not measured: they carry no claim."
    if len({"BLEU beam" if column == "BLEU greedy" else column for column in claim["on"]}) < 2:
        return (
            'One column is an anecdote: name at least two different ones in "on". '
            "(BLEU greedy and BLEU beam are the same runs.)"
        )
    if both := set(claim["on"]) & set(claim["not_on"]):
        return f'"{min(both)}" stands in "on" and in "not_on".'
    return ""


WHY = {
    "open": "the seeds are mixed up, so three seeds do not carry it",
    "lost": "it is the other way round, with every seed",
    "not measured": "one of the two was not measured there",
}


def carried_by_seeds(inputs: tuple, claim: Claim) -> str:
    for column, rival, why in defend(claim, table(), HIGHER)["holes"]:
        seeds = ", ".join(
            f"{name} {[round(x, 3) for x in table()[column].get(name, [])]}"
            for name in (claim["system"], rival)
        )
        return f'"{column}" against {rival}: {WHY[why]} ({seeds}).'
    return ""


def names_its_limit(inputs: tuple, claim: Claim) -> str:
    limits = {**claim, "on": list(claim["not_on"])}
    holes = defend(limits, table(), HIGHER)["holes"]
    unbeaten = {(column, rival) for column, rival, why in holes if why != "not measured"}
    for column in claim["not_on"]:
        if column not in {limit for limit, _ in unbeaten}:
            return f'"{column}" is no limit: every rival is beaten there, or was not measured.'
    for rival in claim["over"]:
        if rival not in {name for _, name in unbeaten}:
            return (
                f'Where does the claim end? "not_on" names no measured column where {rival} is not beaten. '
                "A claim without a limit is an advertisement."
            )
    return ""


MY_CLAIM = PlainExercise(
    name="my_claim",
    lesson=LESSON,
    inputs=(),
    by_hand=ByHand(inputs={}, answer=example_claim(), says="Every seed, at least two columns, and a limit."),
    others=(),
    design=True,
    demands=(well_formed, carried_by_seeds, names_its_limit),
    reference=example_claim,
    slips=(
        Slip(
            "newest-wins",
            lambda: {
                "system": "transformer",
                "over": ["bahdanau"],
                "on": ["test", "recombination"],
                "not_on": ["21 to 30 words"],
            },
            "the Transformer's mean is ahead in both, and its seeds are mixed up with Bahdanau's in both. "
            "Look at the seeds of each column first, with `beats`.",
        ),
    ),
)

EXERCISES = (BEATS, TEST_BEATS, LEADERS, DEFEND, MY_CLAIM)
