"""The six steps of additive attention with real words: the trained system just before it writes *n'*."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

import numpy as np
import torch

from course_lib.explore.base import Facts
from course_lib.formatting import fixed, minus
from course_lib.views.cells import cells
from course_lib.views.picture import WIDTH, Picture
from course_lib.views.svg import belongs, box, group, line, path, word
from lessons.l06_bahdanau_attention.own_attention import decode_steps
from lessons.l06_bahdanau_attention.solutions import additive_attention

SENTENCE, WRITTEN = "the happy mother did not sell the old white flower", ["la", "mère", "heureuse"]
STEP, N_SHOWN, SIZE = len(WRITTEN), 8, 10  # numbers of each vector; of their cells
ANNOTATION, PROJECTED, HIDDEN, SCORE, WEIGHT = 112, 252, 392, 548, 604  # the left edges of the columns
STATE, FIRST, ROW, BAR = 92, 146, 21, 110  # heights of the state, of the first word; the longest bar
PARTS = {"scores": range(1, 5), "average": range(5, 7)}


@cache
@torch.no_grad()
def vectors() -> Facts:
    """What each of the steps computes, for every source word."""
    seen = []

    def watched(*inputs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        seen.append(inputs)
        return additive_attention(*inputs)

    steps = decode_steps(SENTENCE, watched, n=STEP + 1)
    state, annotations, w, u, v = seen[STEP]
    from_state, projected = state @ w.T, annotations[0] @ u.T
    hidden = torch.tanh(from_state + projected)
    context, weights = additive_attention(*seen[STEP])
    found = {"state": state, "from_state": from_state, "annotations": annotations[0], "projected": projected}
    found |= {"hidden": hidden, "scores": hidden @ v, "weights": weights[0], "context": context}
    return {name: each.numpy() for name, each in found.items()} | {n: steps[n] for n in ("source", "words")}


def strip(x: float, y: float, vector: np.ndarray, largest: float = 1.0) -> str:
    edges = "".join(f"M{x + SIZE * i:g} {y:g}h9v9h-9z" for i in range(N_SHOWN))
    return cells(x, y, vector.ravel()[:N_SHOWN], SIZE, largest=largest) + path(edges, "hair", 1)


def draw_steps(facts: Facts) -> dict[int, list[str]]:
    """The parts of the picture, by the number of the step; 0 is what is there before."""
    parts: dict[int, list[str]] = {step: [] for step in range(7)}
    wide, n = SIZE * N_SHOWN, len(facts["source"])
    bottom, most = FIRST + ROW * n + 26, float(np.abs(facts["projected"][:, :N_SHOWN]).max())
    weighted = zip(facts["weights"].tolist(), facts["source"], strict=True)
    average = " + ".join(f"{fixed(weight, 2)} · *{name}*" for weight, name in weighted if weight >= 0.1)
    heads = {
        0: (ANNOTATION + wide / 2, FIRST - 12, "annotations *h*"),
        1: (PROJECTED + wide / 2, STATE - 10, "1 · *W s*"),
        2: (PROJECTED + wide / 2, FIRST - 12, "2 · *U h*"),
        3: (HIDDEN + wide / 2, FIRST - 12, "3 · tanh of the sum"),
        4: (SCORE, FIRST - 12, "4 · score *e*"),
        5: (WEIGHT + 74, FIRST - 12, "5 · softmax: weights"),
        6: (ANNOTATION + wide + 52, bottom + 9, f"6 · context *c* = {average}"),
    }
    for step, (x, y, text) in heads.items():
        anchor = "start" if step == 6 else "middle"
        parts[step].append(word(x, y, text, 12, "ink" if step else "soft", anchor, bold=step > 0))
    parts[0] += [word(ANNOTATION - 10, STATE + 9, "state *s*", 12, "query", "end", bold=True)]
    parts[0] += [strip(ANNOTATION, STATE, facts["state"])]
    ahead = {"stroke": "query", "width": 1.4, "head": True}
    parts[1] += [line([(ANNOTATION + wide + 8, STATE + 5), (PROJECTED - 10, STATE + 5)], **ahead)]
    parts[1] += [strip(PROJECTED, STATE, facts["from_state"], most)]
    below = HIDDEN - 28
    down = f"M{PROJECTED + wide + 6} {STATE + 5}H{below - 6}Q{below} {STATE + 5} {below} {STATE + 11}"
    parts[3] += [path(f"{down}V{FIRST + ROW * (n - 1) + 8}", "query", 1.4)]
    for j, name in enumerate(facts["source"]):
        y, weight = FIRST + ROW * j, float(facts["weights"][j])
        lit, own = weight >= 0.1, belongs(f"row-{j}")
        text = word(ANNOTATION - 10, y + 9, name, 13, anchor="end", bold=lit)
        parts[0] += [group(text, class_="word", **own), strip(ANNOTATION, y, facts["annotations"][j])]
        rule = {"stroke": "calm", "width": 1, "head": True}
        parts[2] += [line([(ANNOTATION + wide + 8, y + 5), (PROJECTED - 10, y + 5)], **rule)]
        parts[2] += [strip(PROJECTED, y, facts["projected"][j], most)]
        parts[3] += [line([(PROJECTED + wide + 6, y + 5), (HIDDEN - 10, y + 5)], **rule)]
        parts[3] += [strip(HIDDEN, y, facts["hidden"][j])]
        parts[4] += [line([(HIDDEN + wide + 8, y + 5), (SCORE - 34, y + 5)], **rule)]
        parts[4] += [word(SCORE + 18, y + 9, minus(fixed(float(facts["scores"][j]), 1)), 12, anchor="end")]
        fill = "accent" if lit else "calm"
        bar = box(WEIGHT, y, max(1.5, BAR * weight), 10, fill, radius=2)
        shown = fixed(weight, 2), 12, fill if lit else "soft", "start"
        number = word(WEIGHT + BAR * weight + 8, y + 9, *shown)
        parts[5] += [group(bar + number, **own)]
        if lit:
            frame = {"radius": 5, "line": 3 * weight}
            parts[6] += [box(ANNOTATION - 4, y - 4, wide + 7, 17, "none", "accent", **frame)]
            turn = ANNOTATION + wide + 14 + 7 * len(parts[6])
            down = f"M{ANNOTATION + wide + 4} {y + 5}H{turn - 6}Q{turn} {y + 5} {turn} {y + 11}V{bottom - 1}"
            down += f"Q{turn} {bottom + 5} {turn - 6} {bottom + 5}H{ANNOTATION + wide + 8}"
            parts[6] += [path(down, "value", 4 * weight, head=True)]
    parts[6] += [strip(ANNOTATION, bottom, facts["context"])]
    return parts


def draw(part: str = "") -> Picture:
    """All six steps, or some of them with the others faint."""
    facts, lit = vectors(), PARTS.get(part, range(7))
    parts = draw_steps(facts)
    drawn: Iterable[str] = (
        group("".join(parts[step]), opacity=None if step in (0, *lit) else "0.25") for step in parts
    )
    best = [facts["source"][j] for j in np.argsort(-facts["weights"])[:2]]
    title = "One score for each word"
    if part != "scores":
        title = f"*{best[0]}* and *{best[1]}* share the attention"
    headline = f"{title}, just before the decoder writes *{facts['words'][STEP]}*"
    alt = f"A table with a row for each word of “{SENTENCE}”. "
    alt += (
        "Annotations and the state are projected, added and put through tanh; each row ends in one score."
        if part == "scores"
        else f"The softmax of the scores gives {best[0]} and {best[1]} all of the weight, and the context is "
        "the average of the annotations by these weights."
    )
    written = f"written: *{' '.join(WRITTEN)}*; {N_SHOWN} numbers of each vector (blue above 0, orange below)"
    bottom = FIRST + ROW * len(facts["source"]) + 50
    words = word(14, 28, headline, 15, anchor="start", bold=True) + word(14, 52, written, 12, "soft", "start")
    return Picture(WIDTH, bottom, words, *drawn, alt=alt)
