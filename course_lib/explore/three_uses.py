"""The trained translator with narrower keys, fewer heads or a tighter mask: three uses of attention react.

    >>> " ".join(compute(width=16, heads=ALL, mask=AS_TRAINED)["said"][0])
    "le chat a bu l' eau parce qu' il avait soif"

Of each head's 16 numbers in queries and keys the first `width` count, the rest is 0 (and the scores are still
divided by √16); of each layer's four heads some are heard: in encoder, decoder and across. Weights and
entropies, in bits, are those of the last layer's heads that are heard, for the right translation of the
first sentence; translations are free running.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, lru_cache
from typing import ClassVar

import numpy as np
import torch
from matplotlib.axes import Axes
from traitlets import Enum

from course_lib import theme
from course_lib.explore.base import Explorable, Goal, Panel
from course_lib.explore.control import Control
from course_lib.explore.head_switches import entropy, shipped
from course_lib.formatting import fixed
from course_lib.text.batch import make_batch
from course_lib.text.special import spoken
from course_lib.text.toy.generate import running_pair
from course_lib.translation.greedy import greedy
from course_lib.translation.inside import attentions
from course_lib.views.heatmap import Heatmap
from course_lib.views.moving import Facts, Show, quick_text

PAIR = running_pair()
RIGHT = tuple(pair.tgt for pair in PAIR)
SOURCE, TARGET = (*PAIR[0].src, "(end)"), ("(start)", *PAIR[0].tgt)
NEXT = (*PAIR[0].tgt, "(end)")  # across, a row is the word about to be said
WIDTHS = (0, 1, 2, 4, 6, 8, 10, 12, 14, 16)
D_K, N_HEADS, N_LAYERS = 16, 4, 3
NARROW = 10
ALL, NONE = "all", "none"
HEARD = (ALL, "2 3 4", "1 3 4", "1 2 4", "1 2 3", "2 4", "1 3", NONE)
AS_TRAINED, ALONE, HIDDEN = (
    "as trained",
    "source words see only themselves",
    "decoder cannot see the last English word",
)
MOST_WORDS, LINE = 14, 52
USES = ("encoder", "decoder", "cross")


def numbers(heads: str) -> list[int]:
    """Which heads are heard, from 0.

    >>> numbers("2 4")
    [1, 3]
    """
    return list(range(N_HEADS)) if heads == ALL else [int(n) - 1 for n in heads.replace(NONE, "").split()]


@contextmanager
def cut_down(width: int, heads: str) -> Iterator[None]:
    """For a while, every attention has narrower queries and fewer heads that are heard."""
    silent = [head for head in range(N_HEADS) if head not in numbers(heads)]
    found = [look for _, _, look in attentions(shipped().model)]
    kept = [(look.w_query.detach().clone(), look.w_output.detach().clone()) for look in found]
    try:
        with torch.no_grad():
            for look in found:
                look.w_query.view(N_HEADS, D_K, -1)[:, width:] = 0.0
                look.w_output.view(-1, N_HEADS, D_K)[:, silent] = 0.0
        yield
    finally:
        with torch.no_grad():
            for look, (query, output) in zip(found, kept, strict=True):
                look.w_query.copy_(query)
                look.w_output.copy_(output)


@cache
def both() -> torch.Tensor:
    encode = shipped().tokenizer.encode
    return make_batch([encode(pair.src_text) for pair in PAIR], [encode(pair.tgt_text) for pair in PAIR])


@lru_cache(maxsize=256)
@torch.no_grad()
def outcome(width: int, heads: str, mask: str) -> Facts:
    model, tokenizer, batch = shipped().model, shipped().tokenizer, both()
    n = batch.src.shape[1]
    own = torch.eye(n, dtype=torch.bool) if mask == ALONE else torch.ones(1, n, dtype=torch.bool)
    across = torch.ones(2, 1, 1, n, dtype=torch.bool)
    if mask == HIDDEN:
        across[..., -2] = False  # the word before the end: thirsty, cold
    with cut_down(width, heads):
        x = model.source_positions.add(model.words.source(batch.src))
        x, _, looked = model.encoder(x, may_look=own[None, None], with_weights=True)
        memory = {**model.decoder.read_source(x), "may_look": across}
        words = model.target_positions.add(model.words.target(batch.tgt_in))
        words, _, weights = model.decoder(words, causal=True, source=memory, with_weights=True)
        logits = model.words.logits(words)
        certain = torch.equal(logits.argmax(dim=-1), batch.tgt_out)
        ids = batch.tgt_out if certain else greedy(model, memory, max_len=MOST_WORDS).ids
    found = {"encoder": looked["own"][0], "decoder": weights["own"][0], "cross": weights["cross"][0]}
    tables = {use: table[-1, numbers(heads)] for use, table in found.items()}  # (heads heard, rows, columns)
    return {
        "said": tuple(tuple(tokenizer.decode(list(spoken(row, 680))).split()) for row in ids.tolist()),
        "weights": {
            use: (table.sum(dim=0) / max(len(table), 1)).double().numpy() for use, table in tables.items()
        },
        "entropy": np.array(
            [entropy(table).mean().item() if len(table) else 0.0 for table in tables.values()]
        ),
    }


def compute(*, width: int, heads: str, mask: str) -> Facts:
    found = outcome(width, heads, mask)
    return {**found, "right": tuple(map(tuple.__eq__, found["said"], RIGHT))}


def in_bits(facts: Facts, use: str) -> str:
    told = f"{fixed(facts['entropy'][USES.index(use)], 1)} bits"
    return "no head" if facts["heads"] == NONE else told


def draw_use(axes: Axes, *, use: str) -> Show:
    rows = {"encoder": SOURCE, "decoder": TARGET, "cross": NEXT}[use]
    columns = TARGET if use == "decoder" else SOURCE
    cells = Heatmap(axes, rows, columns)
    axes.set_aspect("auto")
    axes.tick_params(labelcolor=theme.INK, labelsize=8)
    told = quick_text(axes, len(columns), -0.35, ha="right", size=10, colour=theme.SOFT_INK)

    def show(facts: Facts) -> None:
        cells.show(facts["weights"][use])
        told.set_text(in_bits(facts, use))

    return show


def draw_said(axes: Axes) -> Show:
    axes.set(xlim=(0, 1), ylim=(8, 0), xticks=(), yticks=())
    axes.spines[:].set_visible(False)
    asked = ("… because it was thirsty", "… because it was cold")
    for place, text in enumerate(asked):
        axes.text(0.0, 0.9 + 4 * place, text, fontsize=9.5, color=theme.SOFT_INK, va="center")
    for place, text in enumerate(
        ("Last layer. Rows ask, columns answer.", "Across: rows are about to be said.")
    ):
        axes.text(0.0, 8.6 + 0.6 * place, text, fontsize=8.5, color=theme.SOFT_INK, va="center")
    lines = [
        [
            quick_text(axes, 0.0, 1.8 + 0.75 * i + 4 * place, va="center", size=10, weight="bold")
            for i in range(3)
        ]
        for place in (0, 1)
    ]

    def show(facts: Facts) -> None:
        for words, right, texts in zip(facts["said"], facts["right"], lines, strict=True):
            told = textwrap.wrap(" ".join(words) or "(nothing)", 26, break_on_hyphens=False)
            for text, line in zip(texts, [*told, "", "", ""], strict=False):
                text.set(text=line, color=theme.GREEN if right else theme.ORANGE)

    return show


def narrow_and_right(now: Facts, start: Facts) -> bool:
    return all(now["right"]) and now["width"] <= NARROW


def half_the_heads(now: Facts, start: Facts) -> bool:
    return all(now["right"]) and len(numbers(now["heads"])) <= 2


def evenly(now: Facts, start: Facts) -> bool:
    return now["entropy"][2] > 3.3


class ThreeUses(Explorable):
    title = "Three uses of attention"
    question = "How much of its attention does the trained translator need?"
    size = (10.4, 4.2)
    width = Enum(WIDTHS, default_value=D_K)
    heads = Enum(HEARD, default_value=ALL)
    mask = Enum((AS_TRAINED, ALONE, HIDDEN), default_value=AS_TRAINED)
    controls = (
        Control("width", "d_k"),
        Control("heads", "heads heard", buttons=True),
        Control("mask", "mask", buttons=True),
    )
    presets: ClassVar = {
        "as trained": {},
        "without head 4": {"heads": "1 2 3"},
        "d_k = 8": {"width": 8},
        "each source word alone": {"mask": ALONE},
    }
    goals = (
        Goal("narrow", f"A d_k of {NARROW} or less, and both translations are right", narrow_and_right),
        Goal("heads", "Two heads of each layer are silent, and both translations are right", half_the_heads),
        Goal("even", "Cross-attention that shares out evenly: 3.3 bits", evenly),
    )
    panels = (
        Panel("Encoder", lambda axes: draw_use(axes, use="encoder"), 1.0),
        Panel("Decoder", lambda axes: draw_use(axes, use="decoder"), 1.0),
        Panel("Across", lambda axes: draw_use(axes, use="cross"), 1.0),
        Panel("What it says", draw_said, 1.05),
    )
    compute = staticmethod(compute)

    @staticmethod
    def heading(facts: Facts) -> str:
        return f"d_k {facts['width']}   ·   heads: {facts['heads']}   ·   mask: {facts['mask']}"

    @staticmethod
    def describe(facts: Facts) -> str:
        told = "; ".join(" ".join(words) or "nothing" for words in facts["said"])
        right = f"{sum(facts['right'])} of 2 right"
        bits = ", ".join(in_bits(facts, use) for use in USES)
        state = f"d_k {facts['width']}, heads heard: {facts['heads']}, {facts['mask']}"
        return f"{state}. It says: {told}. {right}. Entropy: {bits}."
