"""A trained Luong translator, one sentence, and two dials: how far it may look, and how decided it is.

    >>> facts = compute(system="local-m", half_width=5, times=1.0)
    >>> facts["right"], facts["missed"]         # right, with so many words that look at no true word
    (True, 1)

All six systems are the shipped ones. A window of half width D lies around the diagonal, or, for local-p,
around the centre that the network predicts; `times` multiplies the scores before the softmax.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from course_lib import theme
from course_lib.explore.base import Axes, Choice, Explorable, Facts, Panel, Show
from course_lib.formatting import fixed
from course_lib.layers.attention import masked_softmax
from course_lib.layers.local import gaussian_window, monotonic_centres, near
from course_lib.models.luong import Luong
from course_lib.text.batch import make_batch
from course_lib.text.special import BOS, EOS, SPECIAL
from course_lib.translation.shipped import Shipped, shared
from course_lib.views.bars import Blocks
from course_lib.views.heatmap import Heatmap
from course_lib.views.quick_text import quick_text, write

ENGLISH = "these classrooms were not big and the queens sold this cat near the castle"
FRENCH = "ces salles de classe n' étaient pas grandes et les reines ont vendu ce chat près du château"
# For each French word the English words it comes from, as the toy language links them.
LINKS = (
    *((0,), (1,), (1,), (1,), (3,), (2,), (3,), (4,), (5,)),
    *((6,), (7,), (8,), (8,), (9,), (10,), (11,), (11, 12), (13,)),
)
SOURCE = (*ENGLISH.split(), SPECIAL[EOS])
SYSTEMS = ("dot", "general", "concat", "location", "local-m", "local-p")
WIDTHS, TIMES = (1, 2, 3, 5, 8, 20), (0.1, 0.25, 1.0, 4.0)
N_ROWS = 19  # steps that are shown, the end included; a translation that runs on is cut


def system_called(name: str) -> Shipped:
    return shared(f"luong_{name.replace('-', '_')}")


def look(
    model: Luong, memory: dict[str, Tensor], top: Tensor, step: int, half_width: int, times: float
) -> tuple[Tensor, Tensor]:
    """Weights and window of one step, with a width and a multiplier of our own: (1, source words) each."""
    query, lengths = top[:, None], memory["lengths"]
    if model.config.score == "concat":
        scores = model.score.score_projected(query, memory["keys"])
    else:
        scores = model.score(query, memory["states"])
    predicts = model.config.window == "local-p"
    centres = (
        model.centres(query, lengths) if predicts else monotonic_centres(torch.tensor([[step]]), lengths)
    )
    positions = torch.arange(scores.shape[-1])
    window = near(centres, positions, half_width=half_width)
    weights = masked_softmax(times * scores, window)
    if predicts:
        weights = weights * gaussian_window(centres, positions, sigma=half_width / 2)
    return weights[:, 0], window[:, 0]


@cache
@torch.no_grad()
def walk(system: str, half_width: int, times: float) -> dict[str, Any]:
    """The whole translation under these dials: its words, and the weights of every step."""
    shipped = system_called(system)
    model, tokenizer = shipped.model, shipped.tokenizer
    batch = make_batch([tokenizer.encode(ENGLISH)], [[]])
    memory = model.encode(batch.src, batch.src_lengths)
    state, word, said, rows, windows = model.start(memory), BOS, [], [], []
    for step in range(N_ROWS):
        embedded = model.embed(torch.tensor([[word]]))[:, 0]
        inputs = torch.cat([embedded, state["fed"]], dim=-1)
        top, state = model.decoder.step(inputs, {name: state[name] for name in ("hidden", "cell")})
        weights, window = look(model, memory, top, step, half_width, times)
        context = weights @ memory["states"][0]
        state["fed"] = torch.tanh(model.combine(torch.cat([context, top], dim=-1)))
        word = int(model.logits(state["fed"]).argmax())
        rows.append(weights[0])
        windows.append(window[0])
        said.append(SPECIAL[EOS] if word == EOS else tokenizer.decode([word]))
        if word == EOS:
            break
    return {"said": said, "weights": torch.stack(rows).numpy(), "window": torch.stack(windows).numpy()}


def compute(*, system: str, half_width: int, times: float) -> Facts:
    """What is said and where it looks; `missed` counts the words that look at none of their English words."""
    kept = walk(system, half_width, times)
    words = [word for word in kept["said"] if word != SPECIAL[EOS]]
    right = " ".join(words) == FRENCH
    best = kept["weights"][:, :-1].argmax(axis=1)
    missed = sum(place not in true for place, true in zip(best, LINKS, strict=False)) if right else None
    same = [said == true for said, true in zip(words, FRENCH.split(), strict=False)]
    sums = kept["weights"].sum(axis=1)
    return {
        "said": kept["said"],
        "map": kept["weights"],
        "window": kept["window"],
        "sums": sums,
        "right": right,
        "missed": missed,
        "agreed": same.index(False) if False in same else len(same),
    }


def draw_map(axes: Axes) -> Show:
    cells = Heatmap(axes, [""] * N_ROWS, SOURCE)
    axes.set(yticks=(), xlabel="looked at (rings: true links; orange: wrong)")
    axes.tick_params(axis="x", labelsize=8, length=0)
    words = [quick_text(axes, -0.25, row + 0.5, ha="right", va="center", size=8.5) for row in range(N_ROWS)]
    true = (*FRENCH.split(), SPECIAL[EOS])
    rings = [
        axes.plot(place + 0.5, row + 0.5, "o", ms=6, mfc="none", mew=1.1)[0]
        for row, places in enumerate(LINKS)
        for place in places
    ]

    def show(facts: Facts) -> None:
        shown = facts["map"]
        inside = np.where(facts["window"], shown, np.nan)  # grey: not in sight
        cells.show(np.vstack([inside, np.zeros((N_ROWS - len(shown), len(SOURCE)))]))
        wrong = [said != word for said, word in zip(facts["said"], true, strict=False)]
        write(words, facts["said"], [theme.ORANGE if bad else theme.INK for bad in wrong], bold=wrong)
        for ring in rings:
            column, row = int(ring.get_xdata()[0]), int(ring.get_ydata()[0])
            ring.set_visible(row <= facts["agreed"])  # and where the first word goes wrong
            ring.set_color(cells.ink_on(shown[row, column]) if row < len(shown) else theme.INK)

    return show


def draw_sums(axes: Axes) -> Show:
    axes.set(xlim=(0, 1.25), ylim=(N_ROWS, 0), yticks=(), xlabel="sum")
    axes.set_xticks((0, 0.5, 1), ("0", "½", "1"))
    axes.spines["left"].set_visible(False)
    axes.axvline(1, color=theme.HAIRLINE, linewidth=1, zorder=0.5)
    bars, rows = Blocks(axes, N_ROWS, theme.BLUE), np.arange(N_ROWS)

    def show(facts: Facts) -> None:
        sums = np.pad(facts["sums"], (0, N_ROWS - len(facts["sums"])))
        bars.place(left=0, right=sums, low=rows + 0.2, high=rows + 0.8)

    return show


class WindowLab(Explorable):
    title = "Window lab"
    question = "How far must a trained translator see, and how decided must it be, to say it right?"
    size = (7.0, 5.0)
    system = Choice("score", SYSTEMS, "local-m", buttons=True)
    half_width = Choice("window D", WIDTHS, 5)
    times = Choice("scores ×", TIMES, 1.0)
    presets = {
        "narrow": {"half_width": 3},
        "all in sight": {"half_width": 20},
        "local-p, D = 5": {"system": "local-p"},
    }
    goals = {
        "elsewhere": "A right translation, yet 8 words or more look elsewhere",
        "narrowest": "local-p, scores × 1: the narrowest window that says it right",
        "undecided": "concat sees everything (D = 20) and still says it wrong",
    }
    panels = (
        Panel("Weights (grey: out of sight)", draw_map, 1.9),
        Panel("Sum of each row", draw_sums, 1.0),
    )
    compute = staticmethod(compute)

    @staticmethod
    def met(now: Facts, start: Facts) -> dict[str, bool]:
        right, width = now["right"], now["half_width"]
        dials = (now["system"], now["times"], right) == ("local-p", 1.0, True)
        narrower = (walk("local-p", less, 1.0)["said"] for less in WIDTHS if less < width)
        return {
            "elsewhere": right and now["missed"] >= 8,
            "narrowest": dials and now["said"] not in narrower,
            "undecided": width == WIDTHS[-1] and now["system"] == "concat" and not right,
        }

    @staticmethod
    def heading(facts: Facts) -> list[str]:
        verdict = f"right, {facts['missed']} of 18 look elsewhere" if facts["right"] else "wrong"
        return [facts["system"], f"D = {facts['half_width']}", f"scores × {facts['times']:g}", verdict]

    @staticmethod
    def describe(facts: Facts) -> str:
        words = " ".join(word for word in facts["said"] if word != SPECIAL[EOS])
        missed = f" {facts['missed']} words look elsewhere." if facts["right"] else ""
        return (
            f"{facts['system']}, window {facts['half_width']}, scores times {facts['times']:g}: it says "
            f"“{words}”, which is {'right' if facts['right'] else 'wrong'}.{missed} "
            f"The smallest row sums to {fixed(facts['sums'].min(), 2)}."
        )
