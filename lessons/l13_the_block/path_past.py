"""Depth with and without a residual connection: the gradient at the first layer, and the similarity of words.

    >>> significant(compute(depth=12, gain=0.5, path=NONE)["back"][0], 3)      # 0.5 to the 12th
    '0.000244'
    >>> compute(depth=12, gain=0.5, path=PLAIN)["ways"]
    4096

On the left every layer is a random rotation times the gain, so that its strength is known exactly. On the
right every layer is one head of attention with random matrices, its output multiplied by the gain; eight
random words of width 64, the mean over eight sentences.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache

import numpy as np

from course_lib import theme
from course_lib.explore.base import Axes, Choice, Explorable, Facts, Integer, Panel, Show
from course_lib.formatting import fixed, significant
from course_lib.views.lines import format_log_ticks
from course_lib.views.pillow_text import add_text
from lessons.l00_start_here.softmax_dial import softmax

WIDTH, N_WORDS, N_SENTENCES, MAX_DEPTH = 64, 8, 8, 24
GAINS = (0.25, 0.5, 0.75, 1.0, 1.25)
NONE, PLAIN, PRE, POST = "f(x)", "x + f(x)", "x + f(norm(x))", "norm(x + f(x))"
COLOURS = {NONE: theme.ORANGE, PLAIN: theme.GREEN, PRE: theme.BLUE, POST: theme.PINK}
LOW, HIGH = 1e-8, 1e6  # the limits of the gradient's axis


@cache
def rotations() -> np.ndarray:
    matrices = np.random.default_rng(13).standard_normal((MAX_DEPTH, WIDTH, WIDTH))
    return np.linalg.qr(matrices)[0]


@cache
def attentions() -> tuple[np.ndarray, np.ndarray]:
    """Query, key, value and output matrices of every layer (Xavier initialisation), and the sentences."""
    generator = np.random.default_rng(14)
    bound = np.sqrt(3 / WIDTH)
    matrices = generator.uniform(-bound, bound, (MAX_DEPTH, 4, WIDTH, WIDTH))
    return matrices, generator.standard_normal((N_SENTENCES, N_WORDS, WIDTH))


def norm(x: np.ndarray) -> np.ndarray:
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)


def norm_back(gradient: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The gradient at the input of `norm`, from the one at its output."""
    unit = norm(x)
    inner = gradient - gradient.mean() - unit * (gradient * unit).mean()
    return inner / np.sqrt(x.var() + 1e-5)


@lru_cache(maxsize=128)  # a learner sees a few of the many states
def gradients(depth: int, gain: float, path: str) -> np.ndarray:
    """The size of the gradient at the input of each layer, relative to its size at the end: (depth + 1,)."""
    layers = gain * rotations()[:depth]
    states = [np.random.default_rng(15).standard_normal(WIDTH)]
    for layer in layers:
        x = states[-1]
        output = layer @ (norm(x) if path == PRE else x)
        states.append(output if path == NONE else norm(x + output) if path == POST else x + output)
    back = np.random.default_rng(16).standard_normal(WIDTH)
    sizes = [np.linalg.norm(back)]
    for x, layer in zip(reversed(states[:-1]), reversed(layers), strict=True):
        if path == POST:
            back = norm_back(back, x + layer @ x)
        through = layer.T @ back
        through = norm_back(through, x) if path == PRE else through
        back = through if path == NONE else back + through
        sizes.append(np.linalg.norm(back))
    return np.array(sizes[::-1]) / sizes[0]


@cache
def similarity(gain: float, path: str) -> np.ndarray:
    """The mean cosine of two words of a sentence, at the start and after every layer: (MAX_DEPTH + 1,)."""
    matrices, x = attentions()
    cosines = [mean_cosine(x)]
    for w_q, w_k, w_v, w_o in matrices:
        inputs = norm(x) if path == PRE else x
        weights = softmax((inputs @ w_q) @ (inputs @ w_k).swapaxes(-1, -2) / np.sqrt(WIDTH))
        output = gain * (weights @ (inputs @ w_v) @ w_o)
        x = output if path == NONE else norm(x + output) if path == POST else x + output
        cosines.append(mean_cosine(x))
    return np.array(cosines)


def mean_cosine(x: np.ndarray) -> float:
    unit = x / np.linalg.norm(x, axis=-1, keepdims=True)
    pairs = unit @ unit.swapaxes(-1, -2)
    n = x.shape[-2]
    return float((pairs.sum((-1, -2)) - n).mean() / (n * (n - 1)))


def compute(*, depth: int, gain: float, path: str) -> Facts:
    return {
        "back": gradients(depth, gain, path),
        "similarity": similarity(gain, path)[: depth + 1],
        "ways": 1 if path == NONE else 2**depth,
    }


def over_layers(axes: Axes, key: str, marks: str, *, text_at: float) -> Callable[[Facts, str], None]:
    """A curve over the layers and a label on its right, both in the colour of the kind of layer."""
    axes.set(xlim=(-0.8, MAX_DEPTH + 0.8), xticks=(0, 6, 12, 18, 24))
    axes.axhline(1, color=theme.HAIRLINE, linewidth=1.2)
    [curve] = axes.plot([0], [1], marks, markersize=5)
    level = "top" if text_at > 0.5 else "bottom"
    text = add_text(axes, 0.97, text_at, coords="axes", ha="right", va=level, size=10.5, weight="bold")

    def show(facts: Facts, label: str) -> None:
        colour = COLOURS[facts["path"]]
        curve.set(data=(np.arange(facts["depth"] + 1), facts[key]), color=colour)
        text.set(text=label, color=colour)

    return show


def draw_gradient(axes: Axes) -> Show:
    axes.set(yscale="log", ylim=(LOW, HIGH), yticks=(1e-8, 1e-6, 1e-4, 1e-2, 1, 100, 1e4, 1e6))
    axes.set(xlabel="input of layer (last: output of the stack)", ylabel="gradient relative to the output")
    format_log_ticks(axes.yaxis)
    show = over_layers(axes, "back", "o-", text_at=0.95)
    return lambda facts: show(facts, f"at the first layer: {significant(facts['back'][0], 3)}")


def draw_similarity(axes: Axes) -> Show:
    axes.set(ylim=(-0.1, 1.14), yticks=(0, 0.5, 1), xlabel="after layer", ylabel="mean cosine of two words")
    show = over_layers(axes, "similarity", "s-", text_at=0.06)
    return lambda facts: show(facts, f"after the last: {fixed(facts['similarity'][-1], 2)}")


class PathPast(Explorable):
    title = "Residual connections"
    question = "How does a residual connection change the first layer's gradient and the words' similarity?"
    size = (9.6, 4.0)
    depth = Integer("layers", 1, MAX_DEPTH, 6)
    gain = Choice("strength of f", GAINS, 1.0, text=lambda gain: f"{gain:g}")
    path = Choice("each layer", (NONE, PLAIN, PRE, POST), NONE, buttons=True)
    presets = {
        "12 layers, half strength": {"depth": 12, "gain": 0.5},
        "the same with a residual connection": {"depth": 12, "gain": 0.5, "path": PLAIN},
        "24 layers, pre-norm": {"depth": 24, "path": PRE},
    }
    goals = {
        "kept": "24 layers, strength ½ or less: half of the gradient at the first layer",
        "too-much": "With a residual connection: over 100 times the gradient",
        "alike": "With a residual connection, yet a mean cosine above 0.9",
    }
    panels = (
        Panel("Gradient on its way back (f: rotation)", draw_gradient),
        Panel("Similarity of words (f: attention)", draw_similarity),
    )
    compute = staticmethod(compute)

    @staticmethod
    def goals_met(now: Facts, start: Facts) -> dict[str, bool]:
        return {
            "kept": now["depth"] == MAX_DEPTH and now["gain"] <= 0.5 and now["back"][0] >= 0.5,
            "too-much": now["path"] != NONE and now["back"][0] > 100,
            "alike": now["path"] != NONE and now["similarity"][-1] > 0.9,
        }

    @staticmethod
    def heading(facts: Facts) -> list[str]:
        ways = "1 path back" if facts["ways"] == 1 else f"{facts['ways']:,} paths back"
        return [f"{facts['depth']} × {facts['path']}", f"strength {facts['gain']:g}", ways]

    @staticmethod
    def describe(facts: Facts) -> str:
        return (
            f"{facts['depth']} layers of the form {facts['path']}, strength {facts['gain']:g}: "
            f"the first layer gets {significant(facts['back'][0], 3)} times the gradient at the output, "
            f"and after the last layer two words have a mean cosine of {fixed(facts['similarity'][-1], 2)}."
        )
