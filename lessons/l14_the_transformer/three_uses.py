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
from functools import cache, partial
from itertools import product

import numpy as np
import torch

from course_lib import theme
from course_lib.explore.base import Axes, Choice, Explorable, Facts, Panel, Show, bare
from course_lib.formatting import fixed
from course_lib.models.transformer import USES
from course_lib.text.batch import make_batch
from course_lib.text.special import spoken
from course_lib.text.toy.generate import running_pair
from course_lib.translation.ablation import ablated_by_row, greedy_by_row
from course_lib.translation.masking import alone, masked_memory, without
from course_lib.views.heatmap import Heatmap
from course_lib.views.quick_text import quick_text, write
from lessons.l12_many_heads.head_switches import entropy, shipped

PAIR = running_pair()
TEXTS = [(pair.src_text, pair.tgt_text) for pair in PAIR]
RIGHT = tuple(pair.tgt for pair in PAIR)
SOURCE, TARGET = (*PAIR[0].src, "(end)"), ("(start)", *PAIR[0].tgt)
NEXT = (*PAIR[0].tgt, "(end)")  # across, a row is the word about to be said
WIDTHS = (0, 1, 2, 4, 6, 8, 10, 12, 14, 16)
D_K, N_HEADS, N_LAYERS = 16, 4, 3
NARROW = 10
ALL, NONE = "all", "none"
HEARD = (ALL, "2 3 4", "1 3 4", "1 2 4", "1 2 3", "2 4", "1 3", NONE)
AS_TRAINED, ALONE = "as trained", "source words see only themselves"
HIDDEN = "decoder cannot see the last English word"
MASKS = (AS_TRAINED, ALONE, HIDDEN)
MOST_WORDS = 14

State = tuple[int, str, str]
"""Width of queries and keys, heads that are heard, mask."""


def numbers(heads: str) -> list[int]:
    """Which heads are heard, from 0.

    >>> numbers("2 4")
    [1, 3]
    """
    return list(range(N_HEADS)) if heads == ALL else [int(n) - 1 for n in heads.replace(NONE, "").split()]


def ablations(states: list[State]) -> tuple[torch.Tensor, torch.Tensor]:
    """Which numbers of a query count, and which heads are kept, for each state and sentence."""
    kept = torch.tensor([[head in numbers(heads) for head in range(N_HEADS)] for _, heads, _ in states])
    wide = torch.arange(D_K) < torch.tensor([width for width, _, _ in states])[:, None]
    all_looks = kept[:, None].expand(-1, len(USES) * N_LAYERS, -1)
    return wide.repeat_interleave(2, dim=0), all_looks.repeat_interleave(2, dim=0)


def masks(states: list[State], n: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Where the source's words may look, and the decoder's."""
    all_open, last_hidden = without([], n), without([n - 2], n)  # before the end: thirsty, cold
    own = [alone(n) if mask == ALONE else all_open.expand(-1, -1, n, -1) for _, _, mask in states]
    across = [last_hidden if mask == HIDDEN else all_open for _, _, mask in states]
    return torch.cat(own).repeat_interleave(2, dim=0), torch.cat(across).repeat_interleave(2, dim=0)


@cache
@torch.no_grad()
def outcomes() -> dict[State, Facts]:
    """What the model does in every state, all in one batch: then no move of a control has to wait."""
    model, tokenizer = shipped().model, shipped().tokenizer
    sources, targets = ([tokenizer.encode(text) for text in texts] for texts in zip(*TEXTS, strict=True))
    batch = make_batch(sources, targets)
    states = list(product(WIDTHS, HEARD, MASKS))
    src, tgt_in = (ids.repeat(len(states), 1) for ids in (batch.src, batch.tgt_in))
    wide, kept = ablations(states)
    with ablated_by_row(model, kept, wide=wide):
        memory, looked = masked_memory(model, src, *masks(states, src.shape[1]), with_weights=True)
        looked |= model.run_decoder(memory, tgt_in, with_weights=True)[1]
        ids = greedy_by_row(model, memory, max_len=MOST_WORDS).tolist()
    said = [tuple(tokenizer.decode(list(spoken(row, model.config.vocab_size))).split()) for row in ids]
    last = {use: table[::2, -1] for use, table in looked.items()}  # of the first sentence: (states, heads, …)
    return {
        state: {"said": (said[2 * i], said[2 * i + 1])}
        | maps({use: table[i, numbers(state[1])] for use, table in last.items()})
        for i, state in enumerate(states)
    }


def maps(tables: dict[str, torch.Tensor]) -> Facts:
    """The mean over the heads that are heard, and its bits; 0 where there is none."""
    means = {use: table.sum(dim=0) / max(len(table), 1) for use, table in tables.items()}
    bits = [entropy(table).mean().item() if len(table) else 0.0 for table in tables.values()]
    return {
        "weights": {use: mean.double().numpy() for use, mean in means.items()},
        "entropy": np.array(bits),
    }


def compute(*, width: int, heads: str, mask: str) -> Facts:
    found = outcomes()[width, heads, mask]
    return {**found, "right": tuple(map(tuple.__eq__, found["said"], RIGHT))}


def in_bits(facts: Facts, use: str) -> str:
    told = f"{fixed(facts['entropy'][list(USES).index(use)], 1)} bits"
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
    bare(axes, x=(0, 1), y=(8, 0))
    soft = {"color": theme.SOFT_INK, "va": "center"}
    axes.text(0.0, 8.6, "Last layer. Rows ask, columns answer.", fontsize=8.5, **soft)
    axes.text(0.0, 9.2, "Across: rows are about to be said.", fontsize=8.5, **soft)
    lines = []
    for top, asked in ((0, "… because it was thirsty"), (4, "… because it was cold")):
        axes.text(0.0, top + 0.9, asked, fontsize=9.5, **soft)
        rows = (top + 1.8 + 0.75 * i for i in range(3))
        lines.append([quick_text(axes, 0.0, row, va="center", size=10, weight="bold") for row in rows])

    def show(facts: Facts) -> None:
        for words, right, texts in zip(facts["said"], facts["right"], lines, strict=True):
            told = textwrap.wrap(" ".join(words) or "(nothing)", 26, break_on_hyphens=False)
            write(texts, told, theme.GREEN if right else theme.ORANGE)

    return show


class ThreeUses(Explorable):
    title = "Three uses of attention"
    question = "How much of its attention does the trained translator need?"
    size = (10.4, 4.2)
    width = Choice("d_k", WIDTHS, D_K)
    heads = Choice("heads heard", HEARD, ALL, buttons=True)
    mask = Choice("mask", MASKS, AS_TRAINED, buttons=True)
    presets = {
        "as trained": {},
        "without head 4": {"heads": "1 2 3"},
        "d_k = 8": {"width": 8},
        "each source word alone": {"mask": ALONE},
    }
    goals = {
        "narrow": f"A d_k of {NARROW} or less, and both translations are right",
        "heads": "Two heads of each layer are silent, and both translations are right",
        "even": "Cross-attention that shares out evenly: 3.3 bits",
    }
    panels = (
        Panel("Encoder", partial(draw_use, use="encoder")),
        Panel("Decoder", partial(draw_use, use="decoder")),
        Panel("Across", partial(draw_use, use="cross")),
        Panel("What it says", draw_said, 1.05),
    )
    compute = staticmethod(compute)

    @staticmethod
    def met(now: Facts, start: Facts) -> dict[str, bool]:
        return {
            "narrow": all(now["right"]) and now["width"] <= NARROW,
            "heads": all(now["right"]) and len(numbers(now["heads"])) <= 2,
            "even": now["entropy"][2] > 3.3,
        }

    @staticmethod
    def heading(facts: Facts) -> list[str]:
        return [f"d_k {facts['width']}", f"heads: {facts['heads']}", f"mask: {facts['mask']}"]

    @staticmethod
    def describe(facts: Facts) -> str:
        told = "; ".join(" ".join(words) or "nothing" for words in facts["said"])
        right = f"{sum(facts['right'])} of 2 right"
        bits = ", ".join(in_bits(facts, use) for use in USES)
        state = f"d_k {facts['width']}, heads heard: {facts['heads']}, {facts['mask']}"
        return f"{state}. It says: {told}. {right}. Entropy: {bits}."
