"""The translation by the shipped Transformer when heads are ablated, alone or one after another.

    >>> " ".join(compute(sentence="thirsty", how=ALONE, head=0)["translation"])
    "le chat a bu l' eau parce qu' il avait soif"

The columns of W_O of an ablated head are 0: its attention weights stay the same, but its output is not used.
The probability of a word is the one given the correct words before it (teacher forcing); the translation is
greedy. Entropies, in bits, and the attention weights of cross 1.3 are those with the correct translation as
input.
"""

from __future__ import annotations

import textwrap
from functools import cache

import numpy as np
import torch

from course_lib import theme
from course_lib.explore.raster.artists import Heatmap, HorizontalBars
from course_lib.explore.raster.base import Axes, Choice, Facts, Integer, Panel, RasterExplorable, Show
from course_lib.explore.raster.pillow_text import add_text, set_texts
from course_lib.formatting import fixed, significant
from course_lib.models.transformer import ATTENTIONS
from course_lib.text.batch import make_batch
from course_lib.text.special import until_eos
from course_lib.text.toy.generate import running_pair
from course_lib.translation.ablation import ablated_by_row, head_names
from course_lib.translation.search import greedy
from course_lib.translation.shipped import Shipped, shared

SENTENCES = dict(zip(("thirsty", "cold"), running_pair(), strict=True))
ALONE, LEAST, MOST = "one head", "least important first", "most important first"
ORDERS = (ALONE, LEAST, MOST)
# Least important first, by the increase of the loss on 180 unseen sentences when only this head is ablated.
NEEDED = (
    *("decoder 0.3", "encoder 0.1", "encoder 1.3", "encoder 1.0", "encoder 1.1", "encoder 2.1"),
    *("cross 0.3", "decoder 0.2", "encoder 0.0", "encoder 2.2", "decoder 1.3", "cross 0.2"),
    *("cross 0.1", "encoder 2.0", "encoder 2.3", "decoder 0.1", "decoder 0.0", "decoder 2.0"),
    *("encoder 1.2", "decoder 2.2", "decoder 1.0", "decoder 1.1", "encoder 0.3", "decoder 1.2"),
    *("cross 0.0", "decoder 2.3", "cross 1.1", "cross 1.2", "encoder 0.2", "cross 2.2"),
    *("cross 2.0", "cross 2.1", "cross 1.0", "cross 2.3", "decoder 2.1", "cross 1.3"),
)
N_HEADS, PER_LAYER, N_ROWS = len(NEEDED), 4, 9
N_SRC, N_TGT = 10, 12  # with the end of the sentence
MAX_WORDS, LINE = 16, 29  # of the translation; letters in a line
END = "(end)"


def shipped() -> Shipped:
    return shared("transformer")


@cache
def names() -> list[str]:
    """Every head in the order of the picture: encoder, decoder, cross, layer by layer."""
    return head_names(shipped().model)


def heads_off(how: str, head: int) -> tuple[str, ...]:
    if how == ALONE:
        return tuple(names()[head - 1 : head]) if head else ()
    return NEEDED[:head] if how == LEAST else NEEDED[::-1][:head]


def entropy(weights: torch.Tensor) -> torch.Tensor:
    """Of each query's attention weights, in bits: 0 if one key has all, 3 if eight keys are equal."""
    return -(weights * weights.clamp(min=1e-30).log2()).sum(dim=-1)


def kept(ablations: list[frozenset[str]]) -> torch.Tensor:
    """For each set of ablated heads, which heads are kept: (sets, attentions, heads)."""
    is_kept = torch.tensor([[name not in off for name in names()] for off in ablations])
    return is_kept.view(len(ablations), N_ROWS, PER_LAYER)


@cache
@torch.no_grad()
def outcomes(sentence: str) -> dict[frozenset[str], Facts]:
    """The results for every set of heads that can be off, in one batch so that no move has to wait."""
    model, tokenizer, pair = shipped().model, shipped().tokenizer, SENTENCES[sentence]
    batch = make_batch([tokenizer.encode(pair.src_text)], [tokenizer.encode(pair.tgt_text)])
    ablations = list({frozenset(heads_off(how, head)) for how in ORDERS for head in range(N_HEADS + 1)})
    src, lengths, tgt_in, tgt_out = (
        ids.repeat(len(ablations), *[1] * (ids.ndim - 1))
        for ids in (batch.src, batch.src_lengths, batch.tgt_in, batch.tgt_out)
    )
    with ablated_by_row(model, kept(ablations)):
        memory = model.encode(src, lengths)
        logits, _ = model.decode(memory, tgt_in)
        weights = model.attention_weights(src, lengths, tgt_in)
        ids = greedy(model, memory, max_len=MAX_WORDS).ids.tolist()
    probabilities = logits.softmax(dim=-1).gather(-1, tgt_out[..., None])[..., 0].double().numpy()
    bits = torch.cat([entropy(weights[use]).mean(dim=-1) for use in ATTENTIONS], dim=1).double().numpy()
    return {
        off: {
            "translation": tuple(tokenizer.decode(list(until_eos(ids[i], model.config.vocab_size))).split()),
            "probabilities": probabilities[i],
            "probability": float(probabilities[i].prod()),
            "entropy": bits[i],
            "weights": weights["cross"][i, 1, 3].double().numpy(),
        }
        for i, off in enumerate(ablations)
    }


def compute(*, sentence: str, how: str, head: int) -> Facts:
    off = heads_off(how, head)
    outcome, right = outcomes(sentence)[frozenset(off)], SENTENCES[sentence].tgt
    return {**outcome, "off": off, "right": right, "is_right": outcome["translation"] == right}


def draw_heads(axes: Axes) -> Show:
    rows = [f"{use} {layer}" for use in ATTENTIONS for layer in range(3)]
    cells = Heatmap(axes, rows, [f".{head}" for head in range(PER_LAYER)])
    axes.set_aspect("auto")
    axes.tick_params(labelcolor=theme.INK)
    axes.set_xlabel("entropy, bits")
    positions = list(np.ndindex(N_ROWS, PER_LAYER))
    middle = {"ha": "center", "va": "center", "size": 9}
    texts = [add_text(axes, column + 0.5, row + 0.5, **middle) for row, column in positions]
    ink_on = cache(cells.text_colour)  # looking up a colour takes longer than changing a text

    def show(facts: Facts) -> None:
        brightness = (facts["entropy"] / np.log2(N_TGT)).round(2)
        off = np.reshape([name in facts["off"] for name in names()], (N_ROWS, PER_LAYER))
        cells.show(np.where(off, np.nan, brightness))
        labels = ["off" if off[position] else f"{facts['entropy'][position]:.1f}" for position in positions]
        inks = [ink_on(-np.inf if off[position] else brightness[position]) for position in positions]
        set_texts(texts, labels, inks, bold=off.ravel())

    return show


def draw_sentence(axes: Axes) -> Show:
    axes.set(xlim=(-0.52, 1.3), ylim=(N_TGT - 0.3, -3.2), xticks=(0, 0.5, 1))
    axes.set_xlabel("probability of the correct word")
    lines = [add_text(axes, -0.5, -2.5 + 0.85 * i, va="center", size=10, weight="bold") for i in range(3)]
    bars = HorizontalBars(
        axes, np.arange(N_TGT), gap=0.03, thickness=0.72, size=9, label_x=-0.04, label_size=9.5
    )

    def show(facts: Facts) -> None:
        wrapped = textwrap.wrap(" ".join(facts["translation"]) or "(nothing)", LINE, break_on_hyphens=False)
        set_texts(lines, wrapped, theme.GREEN if facts["is_right"] else theme.ORANGE)
        probabilities = facts["probabilities"]
        colours = [theme.BLUE if probability >= 0.5 else theme.ORANGE for probability in probabilities]
        labels = [fixed(probability, 2) for probability in probabilities]
        bars.show(np.maximum(probabilities, 0.004), labels, colours=colours)
        set_texts(bars.labels, (*facts["right"], END))

    return show


def draw_weights(axes: Axes) -> Show:
    source = [*SENTENCES["cold"].src[:-1], "thirsty / cold", END]
    cells = Heatmap(axes, [""] * N_TGT, source)
    axes.set_aspect("auto")
    axes.tick_params(labelcolor=theme.INK)
    words = [add_text(axes, -0.15, row + 0.5, ha="right", va="center", size=9) for row in range(N_TGT)]
    axes.set_yticks([0.5], ["parce"])  # invisible: it reserves the room that the words need
    axes.get_yticklabels()[0].set_alpha(0)

    def show(facts: Facts) -> None:
        cells.show(facts["weights"])
        set_texts(words, (*facts["right"], END))

    return show


class HeadSwitches(RasterExplorable):
    title = "Head ablation"
    question = "The trained translator has 36 heads. Which of them does this sentence need?"
    size = (10.0, 4.2)
    main_control = "head"
    sentence = Choice("because it was …", tuple(SENTENCES), "thirsty", buttons=True)
    how = Choice("ablate", ORDERS, ALONE, buttons=True)
    head = Integer("head or count", 0, N_HEADS, 0)
    presets = {
        "all heads": {"head": 0},
        "without cross 1.3": {"head": 32},
        "without decoder 2.1": {"sentence": "cold", "head": 22},
    }
    goals = {
        "one-breaks": "Ablate a single head that makes the translation wrong",
        "ten-off": "Ablate ten or more heads and keep the translation correct",
        "least-breaks": "Ablate the least important heads until the translation is wrong",
    }
    panels = (
        Panel("Heads", draw_heads, 0.8),
        Panel("Output", draw_sentence, 1.05),
        Panel("Attention of cross 1.3", draw_weights, 1.0),
    )
    compute = staticmethod(compute)

    @staticmethod
    def goals_met(now: Facts, start: Facts) -> dict[str, bool]:
        return {
            "one-breaks": len(now["off"]) == 1 and not now["is_right"],
            "ten-off": now["is_right"] and len(now["off"]) >= 10,
            "least-breaks": now["how"] == LEAST and not now["is_right"],
        }

    @staticmethod
    def heading(facts: Facts) -> list[str]:
        off = facts["off"]
        named = (
            "no head ablated"
            if not off
            else f"without {off[0]}"
            if len(off) == 1
            else f"{len(off)} heads ablated"
        )
        return [named, f"correct sentence: probability {significant(facts['probability'], 2)}"]

    @staticmethod
    def describe(facts: Facts) -> str:
        off = facts["off"]
        names_off = f"{len(off)} of {N_HEADS}" if len(off) > 3 else ", ".join(off) or "none"
        return (
            f"Heads ablated: {names_off}. Output: {' '.join(facts['translation']) or 'nothing'}. That is "
            f"{'correct' if facts['is_right'] else 'wrong'}; the correct sentence has a probability of "
            f"{significant(facts['probability'], 2)}. Mean entropy of all heads: "
            f"{fixed(facts['entropy'].mean(), 1)} bits."
        )
