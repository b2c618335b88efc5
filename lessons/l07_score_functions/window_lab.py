"""A trained Luong translator, one sentence, and two controls: the window and the scale of the scores.

    >>> facts = compute(system="local-m", half_width=5, times=1.0)
    >>> facts["right"], facts["missed"]         # the words that attend to none of their source words
    (True, 1)

All six systems are the shipped ones. A window of half width D is centred on the diagonal, or, for local-p,
on the centre that the network predicts; `times` multiplies the scores before the softmax.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from course_lib import theme
from course_lib.explore.raster.artists import Heatmap, Rectangles
from course_lib.explore.raster.base import Axes, Choice, Facts, Panel, RasterExplorable, Show
from course_lib.explore.raster.pillow_text import add_text, set_texts
from course_lib.formatting import fixed
from course_lib.layers.attention import masked_softmax
from course_lib.layers.local import gaussian_window, local_mask, monotonic_centres
from course_lib.models.luong import Luong
from course_lib.text.batch import make_batch
from course_lib.text.special import BOS, EOS, SPECIAL
from course_lib.translation.shipped import Shipped, shared

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


def attend(
    model: Luong, memory: dict[str, Tensor], top: Tensor, step: int, half_width: int, times: float
) -> tuple[Tensor, Tensor]:
    """Attention weights and window of one step, (1, source words) each."""
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
    window = local_mask(centres, positions, half_width=half_width)
    weights = masked_softmax(times * scores, window)
    if predicts:
        weights = weights * gaussian_window(centres, positions, sigma=half_width / 2)
    return weights[:, 0], window[:, 0]


@cache
@torch.no_grad()
def translate(system: str, half_width: int, times: float) -> dict[str, Any]:
    """The words of the translation, and the weights and the window of every step."""
    shipped = system_called(system)
    model, tokenizer = shipped.model, shipped.tokenizer
    batch = make_batch([tokenizer.encode(ENGLISH)], [[]])
    memory = model.encode(batch.src, batch.src_lengths)
    state, token, words, rows, windows = model.start(memory), BOS, [], [], []
    for step in range(N_ROWS):
        embedded = model.embed(torch.tensor([[token]]))[:, 0]
        inputs = torch.cat([embedded, state["fed"]], dim=-1)
        top, state = model.decoder.step(inputs, {name: state[name] for name in ("hidden", "cell")})
        weights, window = attend(model, memory, top, step, half_width, times)
        context = weights @ memory["states"][0]
        state["fed"] = torch.tanh(model.combine(torch.cat([context, top], dim=-1)))
        token = int(model.logits(state["fed"]).argmax())
        rows.append(weights[0])
        windows.append(window[0])
        words.append(SPECIAL[EOS] if token == EOS else tokenizer.decode([token]))
        if token == EOS:
            break
    return {"words": words, "weights": torch.stack(rows).numpy(), "window": torch.stack(windows).numpy()}


def compute(*, system: str, half_width: int, times: float) -> Facts:
    """Words and weights; `missed` counts the words that attend most to none of their source words."""
    steps = translate(system, half_width, times)
    words = [word for word in steps["words"] if word != SPECIAL[EOS]]
    right = " ".join(words) == FRENCH
    best = steps["weights"][:, :-1].argmax(axis=1)
    missed = sum(position not in true for position, true in zip(best, LINKS, strict=False)) if right else None
    agrees = [word == expected for word, expected in zip(words, FRENCH.split(), strict=False)]
    sums = steps["weights"].sum(axis=1)
    return {
        "words": steps["words"],
        "map": steps["weights"],
        "window": steps["window"],
        "sums": sums,
        "right": right,
        "missed": missed,
        "agreed": agrees.index(False) if False in agrees else len(agrees),
    }


def draw_map(axes: Axes) -> Show:
    cells = Heatmap(axes, [""] * N_ROWS, SOURCE)
    axes.set(yticks=(), xlabel="source word (ring: true link; orange: wrong)")
    axes.tick_params(axis="x", labelsize=8, length=0)
    labels = [add_text(axes, -0.25, row + 0.5, ha="right", va="center", size=8.5) for row in range(N_ROWS)]
    expected = (*FRENCH.split(), SPECIAL[EOS])
    rings = [
        axes.plot(position + 0.5, row + 0.5, "o", ms=6, mfc="none", mew=1.1)[0]
        for row, positions in enumerate(LINKS)
        for position in positions
    ]

    def show(facts: Facts) -> None:
        weights = facts["map"]
        inside = np.where(facts["window"], weights, np.nan)  # grey: outside the window
        cells.show(np.vstack([inside, np.zeros((N_ROWS - len(weights), len(SOURCE)))]))
        wrong = [word != right for word, right in zip(facts["words"], expected, strict=False)]
        set_texts(labels, facts["words"], [theme.ORANGE if bad else theme.INK for bad in wrong], bold=wrong)
        for ring in rings:
            column, row = int(ring.get_xdata()[0]), int(ring.get_ydata()[0])
            ring.set_visible(row <= facts["agreed"])  # up to the first wrong word
            ring.set_color(cells.text_colour(weights[row, column]) if row < len(weights) else theme.INK)

    return show


def draw_sums(axes: Axes) -> Show:
    axes.set(xlim=(0, 1.25), ylim=(N_ROWS, 0), yticks=(), xlabel="sum")
    axes.set_xticks((0, 0.5, 1), ("0", "½", "1"))
    axes.spines["left"].set_visible(False)
    axes.axvline(1, color=theme.HAIRLINE, linewidth=1, zorder=0.5)
    bars, rows = Rectangles(axes, N_ROWS, theme.BLUE), np.arange(N_ROWS)

    def show(facts: Facts) -> None:
        sums = np.pad(facts["sums"], (0, N_ROWS - len(facts["sums"])))
        bars.set_edges(left=0, right=sums, low=rows + 0.2, high=rows + 0.8)

    return show


class WindowLab(RasterExplorable):
    title = "Window lab"
    question = "How wide a window, and how sharp a softmax, does a trained translator need?"
    size = (7.0, 5.0)
    main_control = "half_width"
    system = Choice("score", SYSTEMS, "local-m", buttons=True)
    half_width = Choice("window D", WIDTHS, 5)
    times = Choice("scores ×", TIMES, 1.0)
    presets = {
        "narrow": {"half_width": 3},
        "whole sentence": {"half_width": 20},
        "local-p, D = 5": {"system": "local-p"},
    }
    goals = {
        "elsewhere": "A correct translation, yet 8 or more words attend elsewhere",
        "narrowest": "local-p, scores × 1: the narrowest window with a correct translation",
        "whole-yet-wrong": "concat with the whole sentence (D = 20), yet a wrong translation",
    }
    panels = (
        Panel("Attention weights (grey: masked)", draw_map, 1.9),
        Panel("Sum of each row", draw_sums, 1.0),
    )
    compute = staticmethod(compute)

    @staticmethod
    def goals_met(now: Facts, start: Facts) -> dict[str, bool]:
        right, width = now["right"], now["half_width"]
        local_p_is_right = (now["system"], now["times"], right) == ("local-p", 1.0, True)
        narrower = (translate("local-p", smaller, 1.0)["words"] for smaller in WIDTHS if smaller < width)
        return {
            "elsewhere": right and now["missed"] >= 8,
            "narrowest": local_p_is_right and now["words"] not in narrower,
            "whole-yet-wrong": width == WIDTHS[-1] and now["system"] == "concat" and not right,
        }

    @staticmethod
    def heading(facts: Facts) -> list[str]:
        verdict = f"correct, {facts['missed']} of 18 elsewhere" if facts["right"] else "wrong"
        return [facts["system"], f"D = {facts['half_width']}", f"scores × {facts['times']:g}", verdict]

    @staticmethod
    def describe(facts: Facts) -> str:
        words = " ".join(word for word in facts["words"] if word != SPECIAL[EOS])
        missed = f" Words that attend elsewhere: {facts['missed']}." if facts["right"] else ""
        return (
            f"{facts['system']}, window {facts['half_width']}, scores times {facts['times']:g}: the output "
            f"“{words}” is {'correct' if facts['right'] else 'wrong'}.{missed} "
            f"The smallest row sum is {fixed(facts['sums'].min(), 2)}."
        )
