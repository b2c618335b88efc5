"""The live translator: any sentence, and what happens at each step of its translation.

    >>> compute(text="The cat drank the [water].", system=CROSS, head="mean", step=1)["french"]
    'le chat a bu le chat'

A word in brackets is masked in every attention (`typed_sentence.py`). `rows` and `columns` label the map of
attention weights, queries as rows; `weights` fills the whole grid, 0 where there is no word. Steps
count from 1. `changed` is the number of French words that differ from the translation without brackets, −1 if
the two lengths differ.
"""

from __future__ import annotations

import textwrap
from functools import lru_cache

import numpy as np

from course_lib import theme
from course_lib.explore.raster.artists import MASKED, Heatmap, HorizontalBars, Rectangles
from course_lib.explore.raster.base import (
    Axes,
    Choice,
    Facts,
    Integer,
    Panel,
    RasterExplorable,
    Show,
    TextInput,
)
from course_lib.explore.raster.pillow_text import add_text, set_texts
from course_lib.formatting import fixed
from course_lib.text.special import EOS, SPECIAL
from course_lib.translation.pipeline import printable
from course_lib.translation.search import NEVER_GENERATED
from course_lib.translation.shipped import shared
from lessons.l16_decoding.typed_sentence import MAX_INPUT, MAX_OUTPUT, TypedTranslation, translate_typed

RCTM, CROSS, SOURCE, TARGET = "RCTM", "Transformer: cross", "encoder", "decoder"
USE = {CROSS: "cross", SOURCE: "encoder", TARGET: "decoder"}
HEADS = ("mean", *(f"{layer}.{head}" for layer in range(3) for head in range(4)))
N_TOP, N_GRID, FEWEST = 5, MAX_OUTPUT, 8  # words shown; rows and columns in all, and those always visible
LETTERS, LINE, N_LINES = 11, 30, 6  # characters of a label and of a line below the bars; lines
END = SPECIAL[EOS]
WOMAN = "The old woman sees a small dog in the garden."
SAMPLES = (
    WOMAN,
    WOMAN.replace("dog", "[dog]"),
    WOMAN.replace("old", "[old]"),
    WOMAN.replace("a small", "[a] small"),
    "The cat drank the water because it was thirsty.",
    "The Cat sleeps.",
    "",
    "the cat " * 9,
    "<b>$x$</b> кот 猫",
    "The axolotl sleeps.",
)


@lru_cache(maxsize=256)
def translation_of(name: str, text: str) -> TypedTranslation:
    """Cached, because a slider asks for the same sentence again and again."""
    return translate_typed(shared(name), text)


@lru_cache(maxsize=256)
def likeliest(name: str, text: str) -> list[tuple[tuple[str, ...], np.ndarray]]:
    """For each step the five likeliest tokens that may be output, and their probabilities."""
    probabilities = translation_of(name, text).probabilities
    if probabilities is None:
        return [(("",) * N_TOP, np.zeros(N_TOP))]
    probabilities = probabilities.clone()
    probabilities[:, list(NEVER_GENERATED)] = 0.0
    largest, tokens = probabilities.topk(N_TOP, dim=1)
    words = map(shared(name).tokenizer.tokens, tokens)
    return [(tuple(row), values.double().numpy()) for row, values in zip(words, largest, strict=True)]


def drawable(word: str) -> str:
    """A word that fits a label: shortened, and only with characters that the font has."""
    text = "".join(sign if ord(sign) < 0x530 or sign in "…’œŒ" else "□" for sign in printable(word))
    return text if len(text) <= LETTERS else text[: LETTERS - 1] + "…"


def compute(*, text: str, system: str, head: str, step: int) -> Facts:
    name = "rctm" if system == RCTM else "transformer"
    translation, likeliest_words = translation_of(name, text), likeliest(name, text)
    position = min(step, len(likeliest_words)) - 1
    weights = np.zeros((N_GRID, N_GRID))
    source, output = translation.source, translation.output
    rows, columns = (source if system == SOURCE else output), source
    if system == TARGET:
        columns = ("<s>", *output[:-1])
    if translation.attention:
        tables = translation.attention[USE[system]]
        table = tables.mean(dim=(0, 1)) if head == "mean" else tables[int(head[0]), int(head[2])]
        weights[: len(rows), : len(columns)] = table[: len(rows)].double().numpy()
    plain_text = text.replace("[", " ").replace("]", " ")
    unmasked = translation_of(name, plain_text).output if translation.closed else output
    differ = sum(a != b for a, b in zip(output, unmasked, strict=False))
    return {
        "source": source,
        "output": output,
        "closed_words": translation.closed,
        "french": translation.french,
        "notes": translation.notes,
        "position": position,
        "top": likeliest_words[position][0],
        "probabilities": likeliest_words[position][1],
        "rows": rows if translation.attention else (),
        "columns": columns if translation.attention else (),
        "weights": weights,
        "changed": differ if len(output) == len(unmasked) else -1,
    }


def draw_top(axes: Axes) -> Show:
    axes.set(xlim=(-0.85, 1.35), ylim=(8.6, -1.5), xticks=(0, 0.5, 1))
    axes.set_xlabel("probability")
    after = add_text(axes, -0.83, -0.95, va="center", size=10, colour=theme.SOFT_INK)
    bars = HorizontalBars(axes, np.arange(N_TOP), gap=0.03, size=9.5, label_x=-0.04)
    below = [add_text(axes, -0.83, 5.15 + 0.62 * i, va="center", size=10.5) for i in range(N_LINES)]

    def show(facts: Facts) -> None:
        prefix = [drawable(word) for word in facts["output"][: facts["position"]]]
        lead = " ".join(["…", *prefix[-4:]] if len(prefix) > 4 else prefix or ["(nothing yet)"])
        after.set_text(f"step {facts['position'] + 1}, after: {lead}" if facts["output"] else "")
        likeliest_words = zip(facts["top"], facts["probabilities"], strict=True)
        readings = [fixed(probability, 3) if word else "" for word, probability in likeliest_words]
        bars.show(facts["probabilities"], readings)
        set_texts(bars.labels, map(drawable, facts["top"]))
        french = textwrap.wrap(plain(facts["french"]), LINE)
        notes = [line for note in facts["notes"] for line in textwrap.wrap(plain(note), LINE)]
        inks = [theme.INK] * len(french) + [theme.ORANGE] * len(notes)
        set_texts(below, french + notes, inks, bold=[ink == theme.INK for ink in inks])

    return show


def plain(note: str) -> str:
    return " ".join(
        drawable(word) if len(word) > 20 else "".join(map(drawable, word)) for word in note.split()
    )


def draw_map(axes: Axes) -> Show:
    cells = Heatmap(axes, [""] * N_GRID, [""] * N_GRID)
    axes.set_aspect("auto")
    axes.set(xticks=(), yticks=(), ylabel=" ")
    blank, grey = Rectangles(axes, 2, theme.PAPER), Rectangles(axes, MAX_INPUT, MASKED)
    blank.set_zorder(3)
    grey.set_zorder(2.5)
    across = [add_text(axes, i + 0.5, -0.2, ha="left", va="center", size=10) for i in range(N_GRID)]
    down = [add_text(axes, -0.1, i + 0.5, ha="right", va="center", size=10) for i in range(N_GRID)]
    middle = {"ha": "center", "va": "center", "coords": "axes"}
    nothing = add_text(axes, 0.5, 0.5, " ", size=11, colour=theme.SOFT_INK, **middle)
    for text in across:
        text.set_rotation(90)

    def show(facts: Facts) -> None:
        n_rows, n_columns = len(facts["rows"]), len(facts["columns"])
        high, wide = max(n_rows, FEWEST), max(n_columns, FEWEST)
        axes.set(xlim=(-0.2 * wide, wide + 0.1), ylim=(high + 0.1, -0.36 * high))
        cells.show(facts["weights"])
        low = [-0.03, n_rows + 0.03]
        blank.set_edges(left=[n_columns + 0.03, -0.1], right=N_GRID + 1, low=low, high=N_GRID + 1)
        closed = facts["closed_words"] if facts["system"] in (CROSS, SOURCE) else ()
        left = np.full(MAX_INPUT, N_GRID + 1.0)
        left[: len(closed)] = closed
        grey.set_edges(left=left + 0.04, right=left + 0.96, low=0, high=n_rows)
        words = [f"{'✕ ' * (i in closed)}{drawable(word)}" for i, word in enumerate(facts["columns"])]
        set_texts(across, words, [theme.ORANGE if i in closed else theme.INK for i in range(n_columns)])
        lit = -1 if facts["system"] == SOURCE else facts["position"]
        set_texts(down, map(drawable, facts["rows"]), bold=[row == lit for row in range(n_rows)])
        no_attention = facts["system"] == RCTM and facts["output"]
        nothing.set_text("RCTM has no attention weights to show" if no_attention else "")

    return show


class LiveTranslator(RasterExplorable):
    title = "Live translator"
    question = "Type a sentence and press Enter. A word in [brackets] is masked: nothing can attend to it."
    size = (10.0, 5.0)
    main_control = "step"
    text = TextInput("English", SAMPLES)
    system = Choice("show", (RCTM, CROSS, SOURCE, TARGET), CROSS, buttons=True)
    head = Choice("layer.head", HEADS, "mean")
    step = Integer("step", 1, MAX_OUTPUT, 1)
    presets = {
        "[dog] masked": {"text": SAMPLES[1], "step": 7},
        "the cat": {"text": SAMPLES[4], "step": 8},
        "RCTM": {"system": RCTM},
    }
    goals = {
        "one": "Mask one word so that exactly one French word changes",
        "unsure": "Known words only: a step at which no word has a probability of 0.6",
        "end": "Cross: a head that attends mostly to </s> while a word is output",
    }
    panels = (
        Panel("Most likely next words", draw_top, 0.62),
        Panel("Attention weights (rows: queries, columns: keys)", draw_map, 1.4),
    )
    compute = staticmethod(compute)

    @staticmethod
    def goals_met(now: Facts, start: Facts) -> dict[str, bool]:
        one_head = now["system"] == CROSS and now["head"] != "mean"
        to_the_end = now["weights"][now["position"], len(now["source"]) - 1]
        return {  # a word that a preset masks does not count for the first
            "one": now["text"] != SAMPLES[1] and len(now["closed_words"]) == 1 and now["changed"] == 1,
            "unsure": bool(now["output"]) and now["probabilities"][0] < 0.6 and not now["notes"],
            "end": bool(one_head and now["output"]) and now["top"][0] != END and to_the_end > 0.5,
        }

    @staticmethod
    def heading(facts: Facts) -> list[str]:
        if facts["system"] == RCTM:
            return [RCTM]
        use = USE[facts["system"]]
        return [
            f"Transformer, {use}, mean of all heads" if facts["head"] == "mean" else f"{use} {facts['head']}"
        ]

    @staticmethod
    def describe(facts: Facts) -> str:
        closed = ", ".join(f"“{facts['source'][i]}”" for i in facts["closed_words"][:3])
        notes = f" ({textwrap.shorten('; '.join(facts['notes']), 70)})" if facts["notes"] else ""
        if not facts["output"]:
            return f"The live translator has no output{notes}: type an English sentence."
        first, second = (f"“{facts['top'][i]}” {fixed(facts['probabilities'][i], 2)}" for i in (0, 1))
        return (
            f"{facts['system']}{', masked: ' + closed if closed else ''}: "
            f"“{textwrap.shorten(facts['french'], 90)}”{notes}. "
            f"Most likely at step {facts['position'] + 1}: {first}, {second}."
        )
