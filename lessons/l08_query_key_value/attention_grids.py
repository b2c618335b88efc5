"""All of attention as grids of numbers, every one of them legible: from X to the context vectors.

It is a head of the shipped Transformer in fewer dimensions, so that its numbers fit on a page. Each grid is
computed from the rounded numbers that are shown; weights and context, as a learner's function does, from
Q, K and V.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

import numpy as np
import torch

from course_lib.formatting import fixed, minus
from course_lib.text.batch import make_batch
from course_lib.translation.ablation import of_head
from course_lib.translation.shipped import shared
from course_lib.views.cells import shade, word_map
from course_lib.views.picture import WIDTH, Picture
from course_lib.views.svg import belongs, box, group, line, note, word
from lessons.l00_start_here.softmax_dial import softmax
from lessons.l08_query_key_value.theirs import outputs_of

PARTS = ("projections", "attention", "one matrix")
SENTENCE, HEAD, D_MODEL, D_K = "a dog swims", 2, 4, 2
SCALE = 2.5  # X is divided by it and the matrices multiplied, so that both are readable with one decimal
WORDS = (*SENTENCE.split(), "</s>")
ASKS, ASKED = 2, 1  # "swims" asks "dog"
ACROSS, DOWN = 36, 21  # the size of a cell
PROVENANCE = [
    "Q, K, V: the row of X times the",
    "column above. Scores and context:",
    "the row on the left times the",
    "column above.",
    "",
    "The numbers are from our trained",
    "Transformer (first encoder layer),",
    "squeezed from 64 dimensions to 4,",
    "and from 16 to 2. This changes its",
    "weights by less than 0.07.",
    "X: normed (lesson 13) and rotated.",
    "Blue: positive; orange: negative.",
]


@cache
def numbers() -> dict[str, np.ndarray]:
    """The steps of the head in fewer dimensions, from rounded numbers; "exact" are its true weights."""
    shipped = shared("transformer")
    model, ids = shipped.model, make_batch([shipped.tokenizer.encode(SENTENCE)], [[]]).src
    block = model.encoder.blocks[0]
    with torch.no_grad():
        words = model.source_positions.add(model.words.source(ids))
        x = block.around_attention.before(words)[0].double().numpy() / SCALE
    heads = block.attention
    matrices = (heads.w_query, heads.w_key, heads.w_value)
    w_q, w_k, w_v = (m[of_head(heads, HEAD, len(m))].detach().double().numpy() * SCALE for m in matrices)
    exact = softmax(x @ w_q.T @ w_k @ x.T / len(w_q) ** 0.5)
    axes = _svd(x, D_MODEL)[2]  # of four words, four dimensions keep everything
    left, sizes, right = _svd(axes @ w_q.T @ w_k @ axes.T * (D_K / len(w_q)) ** 0.5, D_K)
    w_v = axes @ w_v.T @ _svd(x @ w_v.T, D_K)[2].T
    step = {"X": x @ axes.T, "W_Qᵀ": left * sizes**0.5, "W_Kᵀ": right.T * sizes**0.5, "W_Vᵀ": w_v}
    step = {name: _rounded(matrix) for name, matrix in step.items()}
    step |= {name: _rounded(step["X"] @ step[f"W_{name}ᵀ"]) for name in "QKV"}
    step["scores"] = _rounded(step["Q"] @ step["K"].T)
    step["scaled"] = _rounded(step["scores"] / D_K**0.5)
    weights = softmax(step["Q"] @ step["K"].T / D_K**0.5)
    step |= {"weights": _rounded(weights, 2), "context": _rounded(weights @ step["V"])}
    return step | {"exact": exact}


def _rounded(matrix: np.ndarray, decimals: int = 1) -> np.ndarray:
    """Rounded, halves upwards, even where the last bit differs from one machine to another."""
    return np.round(matrix + 1e-9, decimals)


def _svd(matrix: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The n largest parts of a singular value decomposition, with the same signs on every machine."""
    left, sizes, right = np.linalg.svd(matrix, full_matrices=False)
    signs = np.sign([row[np.abs(row).argmax()] for row in right[:n]])
    return left[:, :n] * signs, sizes[:n], right[:n] * signs[:, None]


def grids(lit: str, attend: Callable | None = None) -> Picture:
    """From X to the context vectors: each product has its left factor beside it, the right one above.

    With `attend`, weights and context are what this function returns for Q, K and V, whatever it is.
    """
    step, words, problem = numbers(), WORDS, ""
    if attend:
        shapes = step["weights"].shape[:1] + step["V"].shape[1:], step["weights"].shape
        found, problem = outputs_of(attend, step["Q"], step["K"], step["V"], shapes=shapes)
        empty = tuple(np.full(shape, np.nan) for shape in shapes)
        step = step | dict(zip(("context", "weights"), found or empty, strict=True))
    step = step | {"Q again": step["Q"], "Kᵀ": step["K"].T, "V again": step["V"]}
    placed = {  # part, place of the corner, colour, what is written under or, if that is empty, above it
        "X": ("projections", 84, 162, "ink", "one row per word"),
        "W_Qᵀ": ("projections", 256, 68, "query", ""),
        "W_Kᵀ": ("projections", 360, 68, "key", ""),
        "W_Vᵀ": ("projections", 464, 68, "value", ""),
        "Q": ("projections", 256, 162, "query", "X W_Qᵀ"),
        "K": ("projections", 360, 162, "key", "X W_Kᵀ"),
        "V": ("projections", 464, 162, "value", "X W_Vᵀ"),
        "Q again": ("attention", 84, 388, "query", " "),
        "Kᵀ": ("attention", 166, 336, "key", ""),
        "scores": ("attention", 166, 388, "ink", "Q Kᵀ"),
        "scaled": ("attention", 332, 388, "ink", "÷ √d_k, here √2"),
        "weights": ("attention", 496, 388, "ink", "softmax of each row"),
        "V again": ("attention", 676, 294, "value", ""),
        "context": ("attention", 676, 388, "value", "weights × V"),
    }
    parts = dict.fromkeys(PARTS, "")
    for name, (part, x, y, fill, formula) in placed.items():
        matrix, title = step[name], name.removesuffix(" again")
        height, width = DOWN * len(matrix), ACROSS * matrix.shape[1]
        words_are = "" if name[0] == "W" else "columns" if name == "Kᵀ" else "rows"
        parts[part] += _matrix(x, y, matrix, words_are, 2 if name == "weights" else 1)
        if formula:
            parts[part] += _name(x + width / 2, y + height + 17, title, fill, bold=True)
            parts[part] += _name(x + width / 2, y + height + 33, formula, "soft")
            parts[part] += box(x, y + DOWN * ASKS, width - 1, DOWN - 1, "none", "accent", radius=2, line=2)
        else:
            above = (x + width / 2, y - 9) if name != "Kᵀ" else (x - 18, y + height / 2 + 4)
            parts[part] += _name(*above, title, fill, bold=True)
    for part, y in (("projections", 162), ("attention", 388)):
        for i, text in enumerate(words):
            one = {"fill": "accent" if i == ASKS else "ink", "bold": i == ASKS}
            drawn = word(76, y + DOWN * (i + 0.5) + 4, text, 13, anchor="end", **one)
            parts[part] += group(drawn, class_="word", **belongs(f"word-{i}"))
    for x, y in ((166, 329), (332, 381), (496, 381)):
        parts["attention"] += "".join(
            word(x + ACROSS * (i + 0.5), y, text, 11, "soft") for i, text in enumerate(words)
        )
    parts["attention"] += box(
        166 + ACROSS * ASKED, 336, ACROSS - 1, 2 * DOWN - 1, "none", "accent", radius=2, line=2
    )
    for x in (312, 478):
        parts["attention"] += line([(x, 430), (x + 15, 430)], "soft", 1.4, head=True)
    title = "Five matrix products, one division and one softmax: that is all of attention"
    if problem:
        title = f"Your scaled_attention {problem}"
    elif attend:
        title = "Weights and context, as your scaled_attention returns them"
    if not problem:
        parts["attention"] += note(332, 300, _worked(step, words, attend), 12, "accent")
        for i, total in enumerate(step["weights"].sum(axis=1).tolist()):
            parts["attention"] += word(
                643, 388 + DOWN * (i + 0.5) + 4, f"= {fixed(total, 1)}", 11, "soft", "start"
            )
    out = word(14, 28, title, 15, anchor="start", bold=True)
    for part, drawn in parts.items():
        out += group(drawn, opacity=None if lit in ("", part) else "0.35")
    out += note(548, 82, PROVENANCE, 11)
    asked = fixed(float(step["weights"][ASKS, ASKED]), 2)
    alt = (
        "X times three matrices gives Q, K and V. Q times K transposed gives the scores, divided by "
        "√2; a softmax turns each row into weights. Weights times V is the context. "
    )
    row = "" if problem else f"The row of {words[ASKS]} gives {words[ASKED]} a weight of {asked}."
    return Picture(WIDTH, 516, out, alt=f"{alt}{row}" + f" {title}." * bool(attend))


def scores_of_both() -> Picture:
    """The scores with two matrices, and with the key matrix in both roles: these are symmetric."""
    keys = numbers()["K"]
    both = {"W_Q and W_K: two matrices": numbers()["scores"], "W_K in both roles": keys @ keys.T}
    out = word(14, 28, "The same words, scored with two matrices and with one", 15, anchor="start", bold=True)
    for (name, scores), x in zip(both.items(), (84, 424), strict=True):
        out += _name(x + 96, 62, name, "soft")
        largest = float(np.abs(scores).max())
        drawn = {"rows": WORDS, "columns": WORDS, "size": (48, 30), "digits": 1, "upright": True}
        out += word_map(x, 76, scores, **drawn, largest=largest, mirror=True, name=f"at-{x}-", text=13)
    said = "; ".join(f"{name}: {np.array2string(scores + 0.0, precision=1)}" for name, scores in both.items())
    alt = f"Scores of the words {', '.join(WORDS)}. {said}. The second grid equals its mirror image."
    return Picture(660, 240, out, alt=re.sub(r"\s+", " ", alt))


def _worked(step: dict[str, np.ndarray], words: tuple[str, ...], attend: Callable | None) -> list[str]:
    """How one attention weight is computed."""
    pairs = zip(step["Q"][ASKS].tolist(), step["K"][ASKED].tolist(), strict=True)
    products = " + ".join(f"{_signed(q)} · {_signed(k)}" for q, k in pairs)
    last = "your function's weight" if attend else "after the softmax of its row"
    score, scaled, weight = (float(step[name][ASKS, ASKED]) for name in ("scores", "scaled", "weights"))
    return [
        f"*{words[ASKS]}* asks *{words[ASKED]}*: {products} = {fixed(score, 1)}",
        f"{fixed(score, 1)} ÷ √2 = {fixed(scaled, 1)}; {last}, {fixed(weight, 2)}",
    ]


def _signed(value: float) -> str:
    return f"({minus(fixed(value, 1))})" if value < 0 else fixed(value, 1)


def _matrix(x: float, y: float, matrix: np.ndarray, words_are: str, digits: int) -> str:
    """Numbers in cells, blue if positive and orange if negative; pointing lights those of a word."""
    largest, out = max(1.0, np.abs(np.nan_to_num(matrix)).max()), ""
    for (i, j), value in np.ndenumerate(matrix):
        fill, strength = shade(value, largest)
        left, top = x + ACROSS * j, y + DOWN * i
        strength = 0.6 * strength if np.isfinite(value) else 0.5
        cell = box(left, top, ACROSS - 1, DOWN - 1, fill, radius=1, opacity=max(0.06, strength))
        shown = minus(f"{value:.{digits}f}") if np.isfinite(value) else "?"
        cell += word(left + ACROSS / 2, top + 15, shown, 11)
        own = belongs(f"word-{j if words_are == 'columns' else i}") if words_are else {}
        out += group(cell, **own)
    return out


def _name(x: float, y: float, text: str, fill: str, **more) -> str:
    """The name of a matrix, or a formula, with subscripts."""
    lowered = '<tspan dy="3" font-size="11">\\1</tspan><tspan dy="-3">\u200b</tspan>'
    return re.sub(r"_(\w)", lowered, word(x, y, text, 13, fill, **more))
