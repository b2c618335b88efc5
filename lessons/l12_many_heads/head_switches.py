"""Heads of the shipped Transformer switched off, alone or one after another: what it says then.

    >>> " ".join(compute(sentence="thirsty", how=ALONE, head=0)["said"])
    "le chat a bu l' eau parce qu' il avait soif"

An ablated head's columns of W_O are 0: it looks as before, and nobody hears what it found. Chances of words
are those with the right words before them (teacher forcing); the translation is free running, the likeliest
word each time. Entropies, in bits, and the weights of cross 1.3 belong to the right translation.
"""

from __future__ import annotations

import textwrap
from functools import cache

import numpy as np
import torch

from course_lib import theme
from course_lib.explore.base import Axes, Choice, Explorable, Facts, Panel, Show, Whole
from course_lib.formatting import fixed, significant
from course_lib.models.transformer import USES
from course_lib.text.batch import make_batch
from course_lib.text.special import spoken
from course_lib.text.toy.generate import running_pair
from course_lib.translation.ablation import ablated_by_row, greedy_by_row, head_names
from course_lib.translation.shipped import Shipped, shared
from course_lib.views.bars import LyingBars
from course_lib.views.heatmap import Heatmap
from course_lib.views.quick_text import quick_text, write

SENTENCES = dict(zip(("thirsty", "cold"), running_pair(), strict=True))
ALONE, LEAST, MOST = "one alone", "one by one, least needed first", "one by one, most needed first"
ORDERS = (ALONE, LEAST, MOST)
# Least needed first, by how much the loss on 180 unseen sentences rises when a head is off by itself.
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
MOST_WORDS, LINE = 16, 29  # words said, letters in a line
ENDED = "(end)"


def shipped() -> Shipped:
    return shared("transformer")


@cache
def names() -> list[str]:
    """Every head, as they stand in the picture: encoder, decoder, cross, layer by layer."""
    return head_names(shipped().model)


def switched(how: str, head: int) -> tuple[str, ...]:
    """Which heads are off."""
    if how == ALONE:
        return tuple(names()[head - 1 : head]) if head else ()
    return NEEDED[:head] if how == LEAST else NEEDED[::-1][:head]


def entropy(weights: torch.Tensor) -> torch.Tensor:
    """In bits, of each query: 0 where one key has all, 3 where eight share alike."""
    return -(weights * weights.clamp(min=1e-30).log2()).sum(dim=-1)


def kept(offs: list[frozenset[str]]) -> torch.Tensor:
    """For each of these ways to switch heads off, which are kept: (ways, attentions, heads)."""
    found = torch.tensor([[name not in off for name in names()] for off in offs])
    return found.view(len(offs), N_ROWS, PER_LAYER)


@cache
@torch.no_grad()
def outcomes(sentence: str) -> dict[frozenset[str], Facts]:
    """What the model does with every set of heads that can be off, in one batch: no move has to wait."""
    model, tokenizer, pair = shipped().model, shipped().tokenizer, SENTENCES[sentence]
    batch = make_batch([tokenizer.encode(pair.src_text)], [tokenizer.encode(pair.tgt_text)])
    offs = list({frozenset(switched(how, head)) for how in ORDERS for head in range(N_HEADS + 1)})
    src, lengths, tgt_in, tgt_out = (
        ids.repeat(len(offs), *[1] * (ids.ndim - 1))
        for ids in (batch.src, batch.src_lengths, batch.tgt_in, batch.tgt_out)
    )
    with ablated_by_row(model, kept(offs)):
        memory = model.encode(src, lengths)
        logits, _ = model.decode(memory, tgt_in)
        looked = model.all_weights(src, lengths, tgt_in)
        ids = greedy_by_row(model, memory, max_len=MOST_WORDS).tolist()
    chances = logits.softmax(dim=-1).gather(-1, tgt_out[..., None])[..., 0].double().numpy()
    bits = torch.cat([entropy(looked[use]).mean(dim=-1) for use in USES], dim=1).double().numpy()
    return {
        off: {
            "said": tuple(tokenizer.decode(list(spoken(ids[i], model.config.vocab_size))).split()),
            "chances": chances[i],
            "chance": float(chances[i].prod()),
            "entropy": bits[i],
            "weights": looked["cross"][i, 1, 3].double().numpy(),
        }
        for i, off in enumerate(offs)
    }


def compute(*, sentence: str, how: str, head: int) -> Facts:
    off = switched(how, head)
    found, right = outcomes(sentence)[frozenset(off)], SENTENCES[sentence].tgt
    return {**found, "off": off, "right": right, "is_right": found["said"] == right}


def draw_heads(axes: Axes) -> Show:
    rows = [f"{use} {layer}" for use in USES for layer in range(3)]
    cells = Heatmap(axes, rows, [f".{head}" for head in range(PER_LAYER)])
    axes.set_aspect("auto")
    axes.tick_params(labelcolor=theme.INK)
    axes.set_xlabel("colour and number: entropy, bits")
    spots = list(np.ndindex(N_ROWS, PER_LAYER))
    middle = {"ha": "center", "va": "center", "size": 9}
    texts = [quick_text(axes, column + 0.5, row + 0.5, **middle) for row, column in spots]
    ink_on = cache(cells.ink_on)  # a colour map takes longer than a text

    def show(facts: Facts) -> None:
        shares = (facts["entropy"] / np.log2(N_TGT)).round(2)
        off = np.reshape([name in facts["off"] for name in names()], (N_ROWS, PER_LAYER))
        cells.show(np.where(off, np.nan, shares))
        told = ["off" if off[spot] else f"{facts['entropy'][spot]:.1f}" for spot in spots]
        inks = [ink_on(-np.inf if off[spot] else shares[spot]) for spot in spots]
        write(texts, told, inks, bold=off.ravel())

    return show


def draw_sentence(axes: Axes) -> Show:
    axes.set(xlim=(-0.52, 1.3), ylim=(N_TGT - 0.3, -3.2), xticks=(0, 0.5, 1))
    axes.set_xlabel("chance of each right word")
    lines = [quick_text(axes, -0.5, -2.5 + 0.85 * i, va="center", size=10, weight="bold") for i in range(3)]
    bars = LyingBars(axes, np.arange(N_TGT), gap=0.03, thick=0.72, size=9, words_at=-0.04, words_size=9.5)

    def show(facts: Facts) -> None:
        told = textwrap.wrap(" ".join(facts["said"]) or "(nothing)", LINE, break_on_hyphens=False)
        write(lines, told, theme.GREEN if facts["is_right"] else theme.ORANGE)
        chances = facts["chances"]
        colours = [theme.BLUE if chance >= 0.5 else theme.ORANGE for chance in chances]
        bars.show(np.maximum(chances, 0.004), [fixed(chance, 2) for chance in chances], colours=colours)
        write(bars.words, (*facts["right"], ENDED))

    return show


def draw_weights(axes: Axes) -> Show:
    source = [*SENTENCES["cold"].src[:-1], "thirsty / cold", ENDED]
    cells = Heatmap(axes, [""] * N_TGT, source)
    axes.set_aspect("auto")
    axes.tick_params(labelcolor=theme.INK)
    words = [quick_text(axes, -0.15, row + 0.5, ha="right", va="center", size=9) for row in range(N_TGT)]
    axes.set_yticks([0.5], ["parce"])  # unseen, it keeps the room that the words need
    axes.get_yticklabels()[0].set_alpha(0)

    def show(facts: Facts) -> None:
        cells.show(facts["weights"])
        write(words, (*facts["right"], ENDED))

    return show


class HeadSwitches(Explorable):
    title = "Heads off"
    question = "36 heads of the trained translator. Which ones does this sentence need?"
    size = (10.0, 4.2)
    sentence = Choice("because it was …", tuple(SENTENCES), "thirsty", buttons=True)
    how = Choice("switch off", ORDERS, ALONE, buttons=True)
    head = Whole("head / how many", 0, N_HEADS, 0)
    presets = {
        "all on": {"head": 0},
        "cross 1.3 off": {"head": 32},
        "decoder 2.1 off": {"sentence": "cold", "head": 22},
    }
    goals = {
        "one-breaks": "One head alone off, and the translation is wrong",
        "ten-off": "Ten heads or more off together, and the translation is right",
        "least-breaks": "Least needed first, until the translation breaks",
    }
    panels = (
        Panel("The heads", draw_heads, 0.8),
        Panel("What it says", draw_sentence, 1.05),
        Panel("Where cross 1.3 looks", draw_weights, 1.0),
    )
    compute = staticmethod(compute)

    @staticmethod
    def met(now: Facts, start: Facts) -> dict[str, bool]:
        return {
            "one-breaks": len(now["off"]) == 1 and not now["is_right"],
            "ten-off": now["is_right"] and len(now["off"]) >= 10,
            "least-breaks": now["how"] == LEAST and not now["is_right"],
        }

    @staticmethod
    def heading(facts: Facts) -> list[str]:
        off = facts["off"]
        named = "all heads on" if not off else f"off: {off[0]}" if len(off) == 1 else f"{len(off)} heads off"
        return [named, f"chance of the right sentence {significant(facts['chance'], 2)}"]

    @staticmethod
    def describe(facts: Facts) -> str:
        off = facts["off"]
        off = f"{len(off)} of {N_HEADS}" if len(off) > 3 else ", ".join(off) or "none"
        return (
            f"Heads off: {off}. It says: {' '.join(facts['said']) or 'nothing'}. That is "
            f"{'right' if facts['is_right'] else 'wrong'}; the right sentence has a chance of "
            f"{significant(facts['chance'], 2)}. Mean entropy of all heads: "
            f"{fixed(facts['entropy'].mean(), 1)} bits."
        )
