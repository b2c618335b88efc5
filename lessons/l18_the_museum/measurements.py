"""Numbers that lesson 18 quotes and that no experiment records: `measure()` returns them all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import mean

import torch

from course_lib.text.toy.generate import generate
from course_lib.translation.evaluation import teacher_forced_weights
from course_lib.translation.pipeline import translate
from course_lib.translation.shipped import Shipped, load_shipped
from lessons.l18_the_museum.exercises import leaders
from lessons.l18_the_museum.museum import (
    COLUMNS,
    COSTS,
    HIGHER,
    REAL,
    TOY,
    WITHOUT_ATTENTION,
    beats,
    runs_of,
    table,
)

ASIDE = (*COSTS, "1 to 5 words")
CONTEST = [name for name, column in COLUMNS.items() if column.task in (TOY, REAL) and name not in ASIDE]
RECIPES = {"shared": "BLEU beam", "own rate": "BLEU own rate", "R-Drop": "BLEU R-Drop"}
COMPARED = ("bahdanau", "convs2s", "transformer")
CAT = "the cat drank the water because it was thirsty"


def measure() -> dict:
    """Every number, by the part of the lesson that quotes it."""
    museum = table()
    return {
        "closed looks": closed_looks(),
        "third look unchanged": third_look_unchanged(),
        "true lead seen": {str(gap): lead_seen(gap) for gap in (0, 1, 2)},
        "test": {name: museum["test"][name] for name in ("transformer", "bahdanau", "luong_concat")},
        "contest": contest(museum),
        "recipes": recipes(museum),
        "ablation": ablation(),
        "made first": len(made_first(museum)),
        "translating rows": len(museum["test"]),
    }


# ---- ConvS2S


def close(system: Shipped, layers: Sequence[int]) -> None:
    """Let the attention of these decoder layers of ConvS2S find nothing, from now on."""
    for layer in layers:
        attention = system.model.attention[layer].to_hidden
        attention.register_forward_pre_hook(lambda _, inputs: torch.zeros_like(inputs[0]))


def closed_looks() -> dict[str, int]:
    """Of 100 sentences, those translated correctly with one layer's attention closed."""
    pairs = generate(100, seed=18, length=(3, 12))
    right = {}
    for name, layers in {"none": (), "1": (0,), "2": (1,), "3": (2,)}.items():
        convs2s = load_shipped("convs2s")
        close(convs2s, layers)
        outputs = translate([pair.src_text for pair in pairs], convs2s.model, convs2s.tokenizer)
        right[name] = sum(output.target == pair.tgt_text for output, pair in zip(outputs, pairs, strict=True))
    return right


def third_look_unchanged() -> float:
    """The fraction of rows whose largest weight in layer 3 stays when layers 1 and 2 are closed."""
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
    close(convs2s, (0, 1))
    return mean(a == b for a, b in zip(before, largest(), strict=True))


# ---- seeds and columns


def lead_seen(gap: float) -> float:
    """How often three seeds each show a true lead of so many standard deviations."""
    generator = torch.Generator().manual_seed(18)
    better, other = torch.randn(2, 200_000, 3, generator=generator)
    return ((better + gap).amin(dim=1) > other.amax(dim=1)).double().mean().item()


def contest(museum: dict) -> dict:
    """In how many columns a system is first by mean, first alone, or level with the first."""
    first = {column: names for column, names in leaders(museum, HIGHER).items() if column in CONTEST}
    by_mean, alone, level = Counter(), Counter(), Counter()
    for names in first.values():
        by_mean[names[0]] += 1
        alone[names[0]] += len(names) == 1
        level.update(names)
    return {
        "all columns": len(COLUMNS),
        "columns": len(CONTEST),
        "first by mean": {name: by_mean[name] for name in COMPARED},
        "first alone": {name: alone[name] for name in COMPARED},
        "first or level": {name: level[name] for name in COMPARED},
    }


def recipes(museum: dict) -> dict:
    """Mean BLEU by recipe, what R-Drop adds, and the range over seeds with and without attention."""
    scores = {
        recipe: {name: mean(museum[column][name]) for name in COMPARED} for recipe, column in RECIPES.items()
    }
    gains = {name: scores["R-Drop"][name] - scores["shared"][name] for name in COMPARED}
    own_rate = museum[RECIPES["own rate"]]
    seeds = {
        attends: [
            seed for name in own_rate if (name not in WITHOUT_ATTENTION) == attends for seed in own_rate[name]
        ]
        for attends in (True, False)
    }
    return scores | {
        "R-Drop adds": {name: round(gain, 1) + 0.0 for name, gain in gains.items()},
        "with attention": {"least": min(seeds[True]), "most": max(seeds[True])},
        "without attention": {"least": min(seeds[False]), "most": max(seeds[False])},
    }


def ablation() -> dict[str, float]:
    """The rows of the ablation, how many lose against the base with every seed, and the narrowest loss."""
    rows = {
        name: [run["scores"]["test"]["beam"] for run in runs] for name, runs in runs_of("ablation").items()
    }
    base = rows.pop("base")
    losing = [name for name, seeds in rows.items() if beats(seeds, base, True) == "no"]
    return {
        "rows": len(rows),
        "losing": len(losing),
        "margin of 6 layers": min(base) - max(rows["(C) 6 layers"]),
    }


def made_first(museum: dict) -> set[str]:
    """Systems whose best seed is ahead of the worst seeds of all others in some column but `parameters`."""
    systems = set()
    for column in (name for name in COLUMNS if COLUMNS[name].task in (TOY, REAL) and name != "parameters"):
        best, worst = (max, min) if HIGHER[column] else (min, max)
        for system, seeds in museum[column].items():
            rivals = [[worst(others)] for name, others in museum[column].items() if name != system]
            if all(beats([best(seeds)], rival, HIGHER[column]) == "yes" for rival in rivals):
                systems.add(system)
    return systems
