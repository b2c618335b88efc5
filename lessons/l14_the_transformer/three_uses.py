"""The three uses of attention in the trained translator, with narrower keys, fewer heads or another mask.

    >>> " ".join(compute(width=16, heads=ALL, mask=AS_TRAINED)["translations"][0])
    "le chat a bu l' eau parce qu' il avait soif"

Of the 16 numbers in each head's queries and keys all but the first `width` are set to 0 (the scores are still
divided by √16). Of each layer's four heads some are kept, the same ones in encoder, decoder and
cross-attention. Attention weights and entropies, in bits, are those of the kept heads of the last layer, with
the correct translation of the first sentence as input; translations are greedy.
"""

from __future__ import annotations

import textwrap
from functools import cache, partial
from itertools import product

import numpy as np
import torch

from course_lib import theme
from course_lib.explore.base import Axes, Choice, Explorable, Facts, Panel, Show, blank_axes
from course_lib.formatting import fixed
from course_lib.models.transformer import ATTENTIONS
from course_lib.text.batch import make_batch
from course_lib.text.special import until_eos
from course_lib.text.toy.generate import running_pair
from course_lib.translation.ablation import ablated_by_row
from course_lib.translation.masking import mask_self_only, mask_without, masked_memory
from course_lib.translation.search import greedy
from course_lib.views.heatmap import Heatmap
from course_lib.views.pillow_text import add_text, set_texts
from lessons.l12_many_heads.head_switches import entropy, shipped

PAIR = running_pair()
TEXTS = [(pair.src_text, pair.tgt_text) for pair in PAIR]
RIGHT = tuple(pair.tgt for pair in PAIR)
SOURCE, TARGET = (*PAIR[0].src, "(end)"), ("(start)", *PAIR[0].tgt)
PREDICTED = (*PAIR[0].tgt, "(end)")  # a row of cross-attention is named after the word it predicts
WIDTHS = (0, 1, 2, 4, 6, 8, 10, 12, 14, 16)
D_K, N_HEADS, N_LAYERS = 16, 4, 3
NARROW = 10
ALL, NONE = "all", "none"
KEPT_HEADS = (ALL, "1 2 3", "0 2 3", "0 1 3", "0 1 2", "1 3", "0 2", NONE)
AS_TRAINED, ALONE = "as trained", "encoder: only itself"
HIDDEN = "cross: last word masked"
MASKS = (AS_TRAINED, ALONE, HIDDEN)
MAX_WORDS = 14

State = tuple[int, str, str]
"""Width of queries and keys, kept heads, mask."""


def indices(heads: str) -> list[int]:
    """The kept heads, counted from 0.

    >>> indices("1 3")
    [1, 3]
    """
    return list(range(N_HEADS)) if heads == ALL else [int(n) for n in heads.replace(NONE, "").split()]


def ablations(states: list[State]) -> tuple[torch.Tensor, torch.Tensor]:
    """Which numbers of a query are kept, and which heads, for each state and sentence."""
    kept = torch.tensor([[head in indices(heads) for head in range(N_HEADS)] for _, heads, _ in states])
    kept_numbers = torch.arange(D_K) < torch.tensor([width for width, _, _ in states])[:, None]
    kept_heads = kept[:, None].expand(-1, len(ATTENTIONS) * N_LAYERS, -1)
    return kept_numbers.repeat_interleave(2, dim=0), kept_heads.repeat_interleave(2, dim=0)


def masks(states: list[State], n: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The masks of the encoder's self-attention and of cross-attention, for each state and sentence."""
    all_open, last_hidden = mask_without([], n), mask_without([n - 2], n)  # before the end: thirsty, cold
    of_encoder = [
        mask_self_only(n) if mask == ALONE else all_open.expand(-1, -1, n, -1) for _, _, mask in states
    ]
    of_cross = [last_hidden if mask == HIDDEN else all_open for _, _, mask in states]
    return torch.cat(of_encoder).repeat_interleave(2, dim=0), torch.cat(of_cross).repeat_interleave(2, dim=0)


@cache
@torch.no_grad()
def outcomes() -> dict[State, Facts]:
    """The results in every state, computed in one batch so that no move of a control has to wait."""
    model, tokenizer = shipped().model, shipped().tokenizer
    sources, targets = ([tokenizer.encode(text) for text in texts] for texts in zip(*TEXTS, strict=True))
    batch = make_batch(sources, targets)
    states = list(product(WIDTHS, KEPT_HEADS, MASKS))
    src, tgt_in = (ids.repeat(len(states), 1) for ids in (batch.src, batch.tgt_in))
    kept_numbers, kept_heads = ablations(states)
    with ablated_by_row(model, kept_heads, features_kept=kept_numbers):
        memory, weights = masked_memory(model, src, *masks(states, src.shape[1]), with_weights=True)
        weights |= model.run_decoder(memory, tgt_in, with_weights=True)[1]
        ids = greedy(model, memory, max_len=MAX_WORDS).ids.tolist()
    translations = [
        tuple(tokenizer.decode(list(until_eos(row, model.config.vocab_size))).split()) for row in ids
    ]
    last = {
        use: table[::2, -1] for use, table in weights.items()
    }  # of the first sentence: (states, heads, …)
    return {
        state: {"translations": (translations[2 * i], translations[2 * i + 1])}
        | maps({use: table[i, indices(state[1])] for use, table in last.items()})
        for i, state in enumerate(states)
    }


def maps(tables: dict[str, torch.Tensor]) -> Facts:
    """The mean attention weights of the kept heads, and their mean entropy; 0 if there are no heads."""
    means = {use: table.sum(dim=0) / max(len(table), 1) for use, table in tables.items()}
    bits = [entropy(table).mean().item() if len(table) else 0.0 for table in tables.values()]
    return {
        "weights": {use: mean.double().numpy() for use, mean in means.items()},
        "entropy": np.array(bits),
    }


def compute(*, width: int, heads: str, mask: str) -> Facts:
    outcome = outcomes()[width, heads, mask]
    return {**outcome, "is_right": tuple(map(tuple.__eq__, outcome["translations"], RIGHT))}


def entropy_text(facts: Facts, use: str) -> str:
    if facts["heads"] == NONE:
        return "no head"
    return f"{fixed(facts['entropy'][list(ATTENTIONS).index(use)], 1)} bits"


def draw_use(axes: Axes, *, use: str) -> Show:
    rows = {"encoder": SOURCE, "decoder": TARGET, "cross": PREDICTED}[use]
    columns = TARGET if use == "decoder" else SOURCE
    cells = Heatmap(axes, rows, columns)
    axes.set_aspect("auto")
    axes.tick_params(labelcolor=theme.INK, labelsize=8)
    label = add_text(axes, len(columns), -0.35, ha="right", size=10, colour=theme.SOFT_INK)

    def show(facts: Facts) -> None:
        cells.show(facts["weights"][use])
        label.set_text(entropy_text(facts, use))

    return show


def draw_translations(axes: Axes) -> Show:
    blank_axes(axes, x=(0, 1), y=(8, 0))
    soft = {"color": theme.SOFT_INK, "va": "center"}
    axes.text(0.0, 8.6, "Last layer; rows: queries, columns: keys.", fontsize=8.5, **soft)
    axes.text(0.0, 9.2, "Cross: a row is the predicted word.", fontsize=8.5, **soft)
    lines = []
    for top, source in ((0, "… because it was thirsty"), (4, "… because it was cold")):
        axes.text(0.0, top + 0.9, source, fontsize=9.5, **soft)
        rows = (top + 1.8 + 0.75 * i for i in range(3))
        lines.append([add_text(axes, 0.0, row, va="center", size=10, weight="bold") for row in rows])

    def show(facts: Facts) -> None:
        for words, right, texts in zip(facts["translations"], facts["is_right"], lines, strict=True):
            wrapped = textwrap.wrap(" ".join(words) or "(nothing)", 26, break_on_hyphens=False)
            set_texts(texts, wrapped, theme.GREEN if right else theme.ORANGE)

    return show


class ThreeUses(Explorable):
    title = "Three uses of attention"
    question = "How much of its attention does the trained translator need?"
    size = (10.4, 4.2)
    width = Choice("d_k", WIDTHS, D_K)
    heads = Choice("heads kept", KEPT_HEADS, ALL, buttons=True)
    mask = Choice("mask", MASKS, AS_TRAINED, buttons=True)
    presets = {
        "as trained": {},
        "without head 3": {"heads": "0 1 2"},
        "d_k = 8": {"width": 8},
        "encoder: only itself": {"mask": ALONE},
    }
    goals = {
        "narrow": f"A d_k of {NARROW} or less, and both translations are correct",
        "heads": "Two heads of each layer ablated, and both translations are correct",
        "even": "Uniform cross-attention: 3.3 bits",
    }
    panels = (
        Panel("Encoder", partial(draw_use, use="encoder")),
        Panel("Decoder", partial(draw_use, use="decoder")),
        Panel("Cross-attention", partial(draw_use, use="cross")),
        Panel("Output", draw_translations, 1.05),
    )
    compute = staticmethod(compute)

    @staticmethod
    def goals_met(now: Facts, start: Facts) -> dict[str, bool]:
        return {
            "narrow": all(now["is_right"]) and now["width"] <= NARROW,
            "heads": all(now["is_right"]) and len(indices(now["heads"])) <= 2,
            "even": now["entropy"][2] > 3.3,
        }

    @staticmethod
    def heading(facts: Facts) -> list[str]:
        return [f"d_k {facts['width']}", f"heads: {facts['heads']}", f"mask: {facts['mask']}"]

    @staticmethod
    def describe(facts: Facts) -> str:
        translations = "; ".join(" ".join(words) or "nothing" for words in facts["translations"])
        n_right = f"{sum(facts['is_right'])} of 2 correct"
        bits = ", ".join(entropy_text(facts, use) for use in ATTENTIONS)
        state = f"d_k {facts['width']}, heads kept: {facts['heads']}, {facts['mask']}"
        return f"{state}. Output: {translations}. {n_right}. Entropy: {bits}."
