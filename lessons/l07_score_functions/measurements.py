"""The numbers that lesson 07 quotes and no experiment records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from statistics import mean
from typing import Any

import torch

from course_lib.layers.attention import masked_softmax
from course_lib.models import luong
from course_lib.results import runs
from course_lib.text.batch import make_batch
from course_lib.text.pair import Pair
from course_lib.text.toy.splits import TEST_SIZES, splits
from course_lib.translation.pipeline import translate
from course_lib.translation.shipped import Shipped, shared

ARTICLES = ("le", "la", "l'", "les")
SCORES = ("dot", "general", "concat", "location")
HALF_WIDTHS = (5, 3, 2, 1)
SCALES = (1.0, 0.25, 0.1)  # of the scores before the softmax


def measure() -> dict[str, dict[str, float]]:
    forced = {name: forced_words(name)["article"] for name in ("dot", "general", "concat")}
    once = forced_words("dot", feeds_back=False)
    return {
        "links": {name: 1 - alignment_error(name) for name in SCORES},
        **{
            f"{name.replace('_', '-')}, half width": {
                str(half_width): n_right_in_window(name, half_width) for half_width in HALF_WIDTHS
            }
            for name in ("local_m", "local_p")
        },
        **{
            f"{name}, scores times": {f"{scale:g}": n_right_scaled(name, scale) for scale in SCALES}
            for name in ("general", "dot", "concat")
        },
        **{
            f"{name}, input feeding": {
                "with": n_right(name, 60),
                "without": n_right_without_feeding(name, 60),
            }
            for name in SCORES
        },
        "largest weight": {"general": largest_weight("general")},
        "bound of the concat score": {"sum of v": system("concat").model.score.v.abs().sum().item()},
        "articles": {
            "all": len(forced["dot"]),
            "dot, free": sum(right for right, _ in once["article"]),
            **{f"{name}, forced": sum(right for _, right in forced[name]) for name in forced},
        },
        "other words of dot": {
            "all": len(once["other"]),
            "forced": sum(right for _, right in once["other"]),
        },
        **{f"{name}, words to the right": distances(name) for name in ("dot", "general", "location")},
    }


def system(name: str) -> Shipped:
    return shared(f"luong_{name}")


@cache
def first_pairs(n: int) -> tuple[Pair, ...]:
    return splits(seed=0, sizes=TEST_SIZES).test[:n]


def alignment_error(name: str) -> float:
    """The mean over the seeds."""
    errors = (run["scores"]["test"]["alignment_error"] for run in runs("toy_ladder") if luong_run(run, name))
    return mean(errors)


def luong_run(run: dict[str, Any], name: str) -> bool:
    return run["variant"] == f"luong_{name}"


# ---- translations with something changed


def n_right(name: str, n: int) -> int:
    """How many of the first n test sentences are translated exactly."""
    pairs = first_pairs(n)
    translations = translate([pair.src_text for pair in pairs], system(name).model, system(name).tokenizer)
    return sum(t.target == pair.tgt_text for t, pair in zip(translations, pairs, strict=True))


@contextmanager
def replaced(owner: Any, attribute: str, value: Any) -> Iterator[None]:
    """Another value of an attribute for a while."""
    original = getattr(owner, attribute)
    setattr(owner, attribute, value)
    try:
        yield
    finally:
        setattr(owner, attribute, original)


def n_right_in_window(name: str, half_width: int) -> int:
    model = system(name).model
    with replaced(model, "config", replace(model.config, half_width=half_width)):
        return n_right(name, 100)


def n_right_scaled(name: str, scale: float) -> int:
    def scaled_softmax(scores: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return masked_softmax(scale * scores, mask)

    with replaced(luong, "masked_softmax", scaled_softmax):
        return n_right(name, 100)


@contextmanager
def without_input_feeding(name: str) -> Iterator[None]:
    """Zeros are fed back for a while."""
    decoder, width = system(name).model.decoder, system(name).model.config.embed
    step: Callable = decoder.step
    embedding_only = torch.cat([torch.ones(width), torch.zeros(width)])
    decoder.step = lambda inputs, state: step(inputs * embedding_only, state)
    try:
        yield
    finally:
        del decoder.step  # the method of the class again


def n_right_without_feeding(name: str, n: int) -> int:
    with without_input_feeding(name):
        return n_right(name, n)


# ---- attention with teacher forcing


@torch.no_grad()
def forced_words(name: str, *, feeds_back: bool = True) -> dict[str, list[tuple[bool, bool]]]:
    """For each target word with one source word: whether it is right, free and with attention forced there.

    An article that translates "the" is forced onto "the". With `feeds_back`, input feeding passes on the
    result of the forced attention after an article, as in the lesson.
    """
    model, encode, pairs = system(name).model, system(name).tokenizer.encode, first_pairs(60)
    batch = make_batch([encode(p.src_text) for p in pairs], [encode(p.tgt_text) for p in pairs])
    memory = model.encode(batch.src, batch.src_lengths)
    state, sentences = model.start(memory), torch.arange(len(pairs))
    outcomes: dict[str, list[tuple[bool, bool]]] = {"article": [], "other": []}
    for position in range(batch.tgt_in.shape[1]):
        true_positions, kinds = zip(*(source_of(pair, position) for pair in pairs), strict=True)
        embedded = model.embed(batch.tgt_in[:, position : position + 1])[:, 0]
        inputs = torch.cat([embedded, state["fed"]], dim=-1)
        query, _ = model.decoder.step(inputs, {key: state[key] for key in ("hidden", "cell")})
        free, state, _ = model.walk(memory, state, embedded)
        context = memory["states"][sentences, true_positions]
        forced = torch.tanh(model.combine(torch.cat([context, query], dim=-1)))
        if feeds_back:
            is_article = torch.tensor([kind == "article" for kind in kinds])[:, None]
            state["fed"] = torch.where(is_article, forced, state["fed"])
        expected = batch.tgt_out[:, position]
        right = [(model.logits(h).argmax(dim=-1) == expected).tolist() for h in (free, forced)]
        for kind, *outcome in zip(kinds, *right, strict=True):
            if kind:
                outcomes[kind].append(tuple(outcome))
    return outcomes


def source_of(pair: Pair, position: int) -> tuple[int, str]:
    """The source position of a target word, and what it is: "article", "other", or "" if it is not used."""
    linked = [english for english, french in pair.links if french == position]
    the = [english for english in linked if pair.src[english] == "the"]
    if the and pair.tgt[position] in ARTICLES:
        return the[-1], "article"
    return (linked[0], "other") if len(linked) == 1 else (0, "")


@torch.no_grad()
def distances(name: str) -> dict[str, int]:
    """How far to the right of the true source word the largest weight lies, counted."""
    model, encode, pairs = system(name).model, system(name).tokenizer.encode, first_pairs(60)
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


def largest_weight(name: str) -> float:
    """The largest weight of a step, on average over 20 sentences, without their last step."""
    texts = [pair.src_text for pair in first_pairs(20)]
    translations = translate(texts, system(name).model, system(name).tokenizer, with_weights=True)
    largest = [translation.weights[0, 0][:-1].max(dim=-1).values for translation in translations]
    return float(torch.cat(largest).mean())
