"""The numbers that lesson 07 quotes and no experiment records."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cache
from math import sqrt
from statistics import mean

import torch

from course_lib.results import runs
from course_lib.text.batch import make_batch
from course_lib.text.pair import Pair
from course_lib.text.toy.splits import TEST_SIZES, splits
from course_lib.translation.pipeline import translate
from course_lib.translation.shipped import Shipped, load_shipped, shared
from lessons.l07_score_functions.article_counts import DIRECTIONS, count_forced
from lessons.l07_score_functions.forcing import onto_the

SCORES = ("dot", "general", "concat", "location")
HALF_WIDTHS = (5, 3, 2, 1)
N_LIVE = 60  # sentences that the lesson's own cells use


def measure() -> dict[str, dict[str, float]]:
    return {
        "links": {name: 1 - alignment_error(name) for name in SCORES},
        "articles": {"live": sum(len(onto_the(pair)) for pair in test_pairs()[:N_LIVE])},
        **{f"articles, {direction}": articles(direction) for direction in DIRECTIONS},
        "articles, general": fractions(
            count_forced(system("general").model, system("general").tokenizer, test_pairs())
        ),
        "margin of error": {
            "articles": margin(articles("from the start")["onto the, mean"], len_articles()),
            "sentences": margin(exact_match("luong_general"), len(test_pairs())),
        },
        "location, words to the right": distances("location"),
        **{
            f"{name.replace('_', '-')}, half width": {
                str(half_width): n_right_in_window(name, half_width) for half_width in HALF_WIDTHS
            }
            for name in ("local_m", "local_p")
        },
    }


def system(name: str) -> Shipped:
    return shared(f"luong_{name}")


@cache
def test_pairs() -> tuple[Pair, ...]:
    return tuple(splits(seed=0, sizes=TEST_SIZES).test)


def alignment_error(name: str) -> float:
    """The mean over the seeds."""
    errors = (
        run["scores"]["test"]["alignment_error"]
        for run in runs("toy_ladder")
        if run["variant"] == f"luong_{name}"
    )
    return mean(errors)


def exact_match(variant: str) -> float:
    return mean(r["scores"]["test"]["exact"] for r in runs("toy_ladder") if r["variant"] == variant)


def margin(fraction: float, n: int) -> float:
    """Half the width of the 95% confidence interval of a fraction of n."""
    return 1.96 * sqrt(fraction * (1 - fraction) / n)


# ---- articles with forced attention


def len_articles() -> int:
    return runs("encoder_direction")[0]["articles"]["articles"]


def articles(direction: str) -> dict[str, float]:
    """The smallest, the mean and the largest fraction over the seeds."""
    of_seeds = [
        fractions(run["articles"]) for run in runs("encoder_direction") if run["variant"] == direction
    ]
    summary: dict[str, float] = {"all": len_articles()}
    for name in of_seeds[0]:
        values = [numbers[name] for numbers in of_seeds]
        summary |= {f"{name}, min": min(values), f"{name}, mean": mean(values), f"{name}, max": max(values)}
    return summary


def fractions(counts: dict[str, int]) -> dict[str, float]:
    """Of the articles and of the other words."""
    whole = {"articles": counts["articles"], "other words": counts["other words"]}
    return {
        name: count / whole["other words" if name.startswith("other words") else "articles"]
        for name, count in counts.items()
        if name not in whole
    }


# ---- local attention


def n_right_in_window(name: str, half_width: int) -> int:
    """How many of the first 100 test sentences are translated exactly with another window."""
    translator = load_shipped(f"luong_{name}")  # a copy: its configuration is changed
    translator.model.config = replace(translator.model.config, half_width=half_width)
    pairs = test_pairs()[:100]
    translations = translate([pair.src_text for pair in pairs], translator.model, translator.tokenizer)
    return sum(t.target == pair.tgt_text for t, pair in zip(translations, pairs, strict=True))


# ---- where the attention goes


@torch.no_grad()
def distances(name: str) -> dict[str, int]:
    """How far to the right of the true source word the largest attention weight is, counted."""
    model, encode, pairs = system(name).model, system(name).tokenizer.encode, test_pairs()[:N_LIVE]
    batch = make_batch([encode(p.src_text) for p in pairs], [encode(p.tgt_text) for p in pairs])
    memory = model.encode(batch.src, batch.src_lengths)
    attended = model.decode(memory, batch.tgt_in, with_weights=True)[1][:, 0, 0].argmax(dim=-1)
    counts: Counter[int] = Counter()
    for pair, row in zip(pairs, attended.tolist(), strict=True):
        for french in range(len(pair.tgt)):
            true = [english for english, position in pair.links if position == french]
            if len(true) == 1:
                counts[row[french] - true[0]] += 1
    return {
        "left": sum(n for distance, n in counts.items() if distance < 0),
        "0": counts[0],
        "1": counts[1],
        "more": sum(n for distance, n in counts.items() if distance > 1),
    }
