"""Numbers that lesson 18 quotes and that no experiment records: `measure()` returns them all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from math import comb
from statistics import mean

import torch

from course_lib.results import runs
from course_lib.text.toy.generate import generate
from course_lib.translation.comparison import BETTER, WORSE, by_runs
from course_lib.translation.evaluation import teacher_forced_weights
from course_lib.translation.pipeline import translate
from course_lib.translation.shipped import Shipped, load_shipped
from lessons.l18_the_museum.museum import (
    COLUMNS,
    COSTS,
    HIGHER,
    NO_RESIDUAL,
    REAL,
    TOY,
    WITHOUT_ATTENTION,
    n_at_ceiling,
    runs_of,
    table,
)

ASIDE = (*COSTS, "1 to 5 words", "BLEU R-Drop")
OF_TRANSLATORS = [name for name, column in COLUMNS.items() if column.task in (TOY, REAL)]
CONTEST = [name for name in OF_TRANSLATORS if name not in ASIDE]
MEASURED = [name for name in OF_TRANSLATORS if name != "parameters"]  # these we set
CONFIGURATIONS = {"shared": "BLEU beam", "own rate": "BLEU own rate", "R-Drop": "BLEU R-Drop"}
COMPARED = ("bahdanau", "convs2s", "transformer")


def measure() -> dict:
    """Every number, by the part of the lesson that quotes it."""
    results = table()
    return {
        "ConvS2S": without_layers(),
        "cross 2 unchanged": cross_2_unchanged(),
        "true lead seen": {str(gap): lead_seen(gap) for gap in (0, 1, 2)},
        "test": {name: results["test"][name] for name in ("transformer", "bahdanau", "luong_concat")},
        "contest": contest(results),
        "comparisons": comparisons(results),
        "ceiling": {"1 to 5 words": n_at_ceiling("1 to 5 words")},
        "configurations": configurations(results),
        "rates": rates(),
        "ablation": ablation(),
        "made first": len(made_first(results)),
        "really first": len(really_first(results)),
        "translating rows": len(results["test"]),
    }


# ---- ConvS2S


def ablate(system: Shipped, layers: Sequence[int]) -> None:
    """Replace what the attention of these decoder layers of ConvS2S returns with zeros, from now on."""
    for layer in layers:
        attention = system.model.attention[layer].to_hidden
        attention.register_forward_pre_hook(lambda _, inputs: torch.zeros_like(inputs[0]))


def without_layers() -> dict[str, int]:
    """Of 100 sentences, those translated correctly without the attention of one layer."""
    pairs = generate(100, seed=18, length=(3, 12))
    right = {}
    for name, layers in {"intact": (), "cross 0": (0,), "cross 1": (1,), "cross 2": (2,)}.items():
        convs2s = load_shipped("convs2s")
        ablate(convs2s, layers)
        outputs = translate([pair.src_text for pair in pairs], convs2s.model, convs2s.tokenizer)
        right[name] = sum(output.target == pair.tgt_text for output, pair in zip(outputs, pairs, strict=True))
    return right


def cross_2_unchanged() -> float:
    """The fraction of positions whose largest weight in cross 2 stays when cross 0 and 1 are ablated."""
    convs2s = load_shipped("convs2s")
    encode, pairs = convs2s.tokenizer.encode, generate(100, seed=18, length=(3, 12))
    sentences = {n: (encode(pair.src_text), encode(pair.tgt_text)) for n, pair in enumerate(pairs)}

    def largest() -> list[int]:
        weights = dict(teacher_forced_weights(convs2s.model, sentences))
        return [
            position
            for n, (src, tgt) in sentences.items()
            for position in weights[n][2, 0, : len(tgt) + 1, : len(src) + 1].argmax(dim=-1).tolist()
        ]

    before = largest()
    ablate(convs2s, (0, 1))
    return mean(a == b for a, b in zip(before, largest(), strict=True))


# ---- runs and columns


def lead_seen(gap: float, n_runs: int = 3) -> float:
    """How often so many runs of each system show a true difference of so many standard deviations."""
    generator = torch.Generator().manual_seed(18)
    better, other = torch.randn(2, 200_000, n_runs, generator=generator)
    return ((better + gap).amin(dim=1) > other.amax(dim=1)).double().mean().item()


def contest(results: dict) -> dict:
    """By runs: in how many columns a system is first by mean, better than all others, or worse than none."""
    by_mean, beats_all, unbeaten = Counter(), Counter(), Counter()
    for column in CONTEST:
        numbers, higher = results[column], HIGHER[column]
        best = max if higher else min
        by_mean[best(numbers, key=lambda name, numbers=numbers: mean(numbers[name]))] += 1
        for name in numbers:
            rivals = [numbers[rival] for rival in numbers if rival != name]
            verdicts = [by_runs(numbers[name], rival, higher=higher) for rival in rivals]
            beats_all[name] += set(verdicts) == {BETTER}
            unbeaten[name] += WORSE not in verdicts
    return {
        "columns": len(CONTEST),
        "first by mean": {name: by_mean[name] for name in COMPARED},
        "beats all": {name: beats_all[name] for name in COMPARED},
        "unbeaten": {name: unbeaten[name] for name in COMPARED},
    }


def comparisons(results: dict) -> int:
    """The comparisons that a claim can be chosen from: pairs of translators in a column."""
    return sum(comb(len(results[column].keys() - {NO_RESIDUAL}), 2) for column in MEASURED)


def configurations(results: dict) -> dict:
    """Mean BLEU by training configuration, and the range over runs with and without attention."""
    scores = {
        name: {system: mean(results[column][system]) for system in COMPARED}
        for name, column in CONFIGURATIONS.items()
    }
    own_rate = results[CONFIGURATIONS["own rate"]]
    numbers = {
        attends: [
            x for system in own_rate if (system not in WITHOUT_ATTENTION) == attends for x in own_rate[system]
        ]
        for attends in (True, False)
    }
    return scores | {
        "with attention": {"least": min(numbers[True]), "most": max(numbers[True])},
        "without attention": {"least": min(numbers[False]), "most": max(numbers[False])},
    }


def validation_by_rate() -> dict[str, dict[float, float]]:
    """BLEU on the validation set for every system and learning rate, seed 0, greedy."""
    scores: dict[str, dict[float, float]] = {}
    for run in (*runs("multi30k_rates"), *runs("multi30k_ladder")):
        if run["seed"] == 0:
            system = run["variant"].partition(",")[0]
            rate = run["recipe"]["learning_rate"]
            scores.setdefault(system, {})[rate] = run["scores"]["validation"]["greedy"]
    return scores


def rates() -> dict[str, int]:
    """How many systems chose a learning rate inside the grid."""
    scores = validation_by_rate()
    inside = [max(s, key=s.get) not in (min(s), max(s)) for s in scores.values()]
    return {"systems": len(scores), "inside the grid": sum(inside)}


def ablation() -> dict[str, float]:
    """The rows of the ablation, how many are worse than the base by runs, the least and largest loss."""
    rows = {
        name: [run["scores"]["test"]["beam"] for run in runs] for name, runs in runs_of("ablation").items()
    }
    base = rows.pop("base")
    losing = [name for name, numbers in rows.items() if by_runs(numbers, base) == WORSE]
    return {
        "rows": len(rows),
        "losing": len(losing),
        "expected by chance": len(rows) / 20,
        "margin of 6 layers": min(base) - max(rows["(C) 6 layers"]),
        "loss without dropout": mean(base) - mean(rows["(D) no dropout"]),
    }


def made_first(results: dict) -> set[str]:
    """Systems whose best run beats the worst run of every other in some column but `parameters`."""
    return _first(results, lambda numbers, best: [best(numbers)], lambda numbers, worst: [worst(numbers)])


def really_first(results: dict) -> set[str]:
    """Systems of which every run beats every run of all others in some of these columns."""
    return _first(results, lambda numbers, best: numbers, lambda numbers, worst: numbers)


def _first(results: dict, mine: Callable, theirs: Callable) -> set[str]:
    """Systems with a column in which their runs, as chosen by `mine`, beat those of all others."""
    systems = set()
    for column in MEASURED:
        best, worst = (max, min) if HIGHER[column] else (min, max)
        for system, numbers in results[column].items():
            rivals = [theirs(others, worst) for name, others in results[column].items() if name != system]
            if all(by_runs(mine(numbers, best), rival, higher=HIGHER[column]) == BETTER for rival in rivals):
                systems.add(system)
    return systems
