"""Shapes and parameters: the output shape of each stage of a Transformer, and the parameters of each part.

    >>> compute(model=BASE, stage=0, tables=ONE)["total"]
    63082496

Parameters are counted in real modules that hold no numbers (torch's "meta" device): torch's for the paper's
two models, the course's for ours. The paper's models have post-norm, so the last norm that torch puts after
each stack is not counted; torch's attention has biases, ours has none. Shapes are those of a batch of 2 with
10 source tokens and 12 target tokens, BOS or EOS included.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import torch
from torch import nn

from course_lib import theme
from course_lib.explore.base import Axes, Choice, Explorable, Facts, Integer, Panel, Show, blank_axes
from course_lib.models.registry import make_config, n_parameters
from course_lib.models.transformer import Transformer
from course_lib.views.bars import HorizontalBars, Rectangles
from course_lib.views.pillow_text import add_text, set_texts

OURS, BASE, BIG = "ours", "paper, base", "paper, big"
SIZES = {  # d_model, heads, d_ff, layers, words
    OURS: (64, 4, 256, 3, 680),
    BASE: (512, 8, 2048, 6, 37_000),
    BIG: (1024, 16, 4096, 6, 37_000),
}
ONE, THREE = "one shared", "three separate"
BATCH, N_SRC, N_TGT = 2, 10, 12
STAGES = (
    *(
        "source token ids",
        "source embeddings",
        "encoder: queries",
        "encoder: scores",
        "encoder: FFN hidden layer",
        "memory",
    ),
    *(
        "target token ids",
        "target embeddings",
        "decoder: scores",
        "cross: queries",
        "cross: keys",
        "cross: scores",
    ),
    *("decoder: FFN hidden layer", "logits"),
)
CROSS = STAGES.index("cross: scores")
PARTS = (
    *("embeddings", "encoder: attention", "decoder: attention", "cross-attention"),
    *("feed-forward", "norms", "output bias"),
)


@cache
def counts(model: str) -> dict[str, int]:
    """Parameters by part, with one embedding matrix."""
    width, n_heads, d_ff, n_layers, words = SIZES[model]
    with torch.device("meta"):
        if model == OURS:
            whole = Transformer(make_config("transformer", scale="toy", vocab_size=words))
            first, second = whole.encoder.blocks[0], whole.decoder.blocks[0]
            attentions = first.attention, second.attention, second.cross
            feed_forwards = first.feed_forward, second.feed_forward
            bias, last = words, n_parameters(whole.encoder.last_norm) + n_parameters(whole.decoder.last_norm)
        else:
            first = nn.TransformerEncoderLayer(width, n_heads, d_ff)
            second = nn.TransformerDecoderLayer(width, n_heads, d_ff)
            attentions = first.self_attn, second.self_attn, second.multihead_attn
            feed_forwards = first.linear1, first.linear2, second.linear1, second.linear2
            bias = last = 0
        table = n_parameters(nn.Embedding(words, width))
    attention = [n_layers * n_parameters(module) for module in attentions]
    feed_forward = n_layers * sum(map(n_parameters, feed_forwards))
    norms = n_layers * (n_parameters(first) + n_parameters(second)) - sum(attention) - feed_forward + last
    return dict(zip(PARTS, (table, *attention, feed_forward, norms, bias), strict=True))


def shapes(model: str) -> dict[str, tuple[int, ...]]:
    """The shape of each stage's output."""
    width, n_heads, d_ff, _, words = SIZES[model]
    source, target, in_heads = (BATCH, N_SRC), (BATCH, N_TGT), (BATCH, n_heads)
    source_queries, target_queries = (
        (*in_heads, N_SRC, width // n_heads),
        (*in_heads, N_TGT, width // n_heads),
    )
    stages = [
        source,
        (*source, width),
        source_queries,
        (*in_heads, N_SRC, N_SRC),
        (*source, d_ff),
        (*source, width),
    ]
    stages += [target, (*target, width), (*in_heads, N_TGT, N_TGT), target_queries, source_queries]
    stages += [(*in_heads, N_TGT, N_SRC), (*target, d_ff), (*target, words)]
    return dict(zip(STAGES, stages, strict=True))


def compute(*, model: str, stage: int, tables: str) -> Facts:
    by_part = dict(counts(model))
    if tables == THREE:
        by_part["embeddings"] *= 3
    by_stage = shapes(model)
    return {
        "counts": by_part,
        "total": sum(by_part.values()),
        "tables_fraction": by_part["embeddings"] / sum(by_part.values()),
        "shapes": by_stage,
        "name": STAGES[stage],
        "shape": by_stage[STAGES[stage]],
        "numbers": int(np.prod(by_stage[STAGES[stage]])),
    }


def shape_text(shape: tuple[int, ...]) -> str:
    return " × ".join(f"{size:,}" for size in shape)


def draw_shapes(axes: Axes) -> Show:
    blank_axes(axes, x=(0, 1), y=(len(STAGES), 0))
    rows = np.arange(len(STAGES))
    highlight = Rectangles(axes, 1, theme.BLUE)
    names = [add_text(axes, 0.03, row + 0.5, va="center", size=9.5) for row in rows]
    sizes = [add_text(axes, 0.97, row + 0.5, ha="right", va="center", size=9.5) for row in rows]

    def show(facts: Facts) -> None:
        chosen = facts["stage"]
        highlight.set_edges(left=[0.0], right=[1.0], low=[chosen + 0.04], high=[chosen + 0.96])
        bold = rows == chosen
        inks = np.where(bold, theme.PAPER, theme.INK)
        set_texts(names, facts["shapes"], inks, bold)
        set_texts(sizes, map(shape_text, facts["shapes"].values()), inks, bold)

    return show


def draw_counts(axes: Axes) -> Show:
    axes.set(xlim=(-0.36, 0.84), ylim=(len(PARTS) - 0.4, -0.7), xlabel="fraction of all parameters")
    axes.set_xticks((0, 0.25, 0.5), ("0", "25%", "50%"))
    bars = HorizontalBars(axes, np.arange(len(PARTS)), gap=0.02, size=9.5, label_x=-0.03, label_size=9.5)
    set_texts(bars.labels, PARTS)

    def show(facts: Facts) -> None:
        parameters = np.array(list(facts["counts"].values()))
        bars.show(parameters / facts["total"], [f"{n:,}" for n in parameters])

    return show


class ParameterLedger(Explorable):
    title = "Shapes and parameters"
    question = "What is the shape of each stage's output, and where are the parameters?"
    size = (10.0, 4.2)
    model = Choice("model", (OURS, BASE, BIG), OURS, buttons=True)
    stage = Integer("stage", 0, len(STAGES) - 1, 0)
    tables = Choice("embeddings", (ONE, THREE), ONE, buttons=True)
    presets = {
        "cross-attention scores": {"stage": CROSS},
        "base": {"model": BASE, "stage": 1},
        "big, three embeddings": {"model": BIG, "tables": THREE},
    }
    goals = {
        "cross": "Select the stage whose rows are target words, columns source words",
        "most": "Select the stage with the most numbers",
        "half": "Have more than half of all parameters in the embeddings",
    }
    panels = (
        Panel("Output shapes (batch of 2)", draw_shapes, 1.0),
        Panel("Parameters", draw_counts, 1.1),
    )
    compute = staticmethod(compute)

    @staticmethod
    def goals_met(now: Facts, start: Facts) -> dict[str, bool]:
        return {
            "cross": now["stage"] == CROSS,
            "most": now["numbers"] == max(int(np.prod(shape)) for shape in now["shapes"].values()),
            "half": now["tables_fraction"] > 0.5,
        }

    @staticmethod
    def heading(facts: Facts) -> list[str]:
        return [facts["model"], f"embeddings: {facts['tables']}", f"{facts['total']:,} parameters"]

    @staticmethod
    def describe(facts: Facts) -> str:
        return (
            f"{facts['model']}, embeddings: {facts['tables']}. {facts['total']:,} parameters, "
            f"{100 * facts['tables_fraction']:.0f}% of them in embeddings. "
            f"Selected: {facts['name']}, {shape_text(facts['shape'])}."
        )
