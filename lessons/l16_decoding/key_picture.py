"""The key picture of this lesson: a real beam tree, with the word that greedy decoding misses.

Each column is a step. Its rows are the best extensions at this step, the most probable one on top: three are
kept, and the fourth is the first to be dropped.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import torch

from course_lib.formatting import fixed, minus
from course_lib.text.batch import make_batch
from course_lib.text.special import BOS, EOS
from course_lib.translation.search import next_log_probs
from course_lib.translation.shipped import shared
from course_lib.views.picture import WIDTH, Picture
from course_lib.views.svg import belongs, box, group, note, number, path, width_of, word

PARTS = ("",)
SENTENCE, BEAM = "the frog under this bed looks at a hedgehog", 3
TAKEN, MISSED = "pont", "lit"
ROWS, LEFT, GAP = (134, 200, 266, 332), 76, 22
FORK, LAST_DROPPED = 4, 5  # the step with both words; later ones drop nothing that comes close


class Node(NamedTuple):
    """An extension: its token ids, the sum of its log-probabilities, its rank and that of its parent."""

    ids: tuple[int, ...]
    total: float
    rank: int
    parent: int


@cache
def numbers() -> list[list[Node]]:
    """The best extensions at each step, until all that are kept have ended."""
    shipped = shared("seq2seq")
    model, batch = shipped.model, make_batch([shipped.tokenizer.encode(SENTENCE)], [[]])
    steps, going = [], [((), 0.0)]
    with torch.no_grad():
        memory = model.encode(batch.src, batch.src_lengths)
        while going:
            found = []
            for parent, (ids, total) in enumerate(going):
                logits, _ = model.decode(memory, torch.tensor([[BOS, *ids]]))
                best = next_log_probs(logits[0, -1:])[0].topk(BEAM + 1)
                for value, token in zip(best.values.tolist(), best.indices.tolist(), strict=True):
                    found.append((total + value, (*ids, token), parent))
            found = sorted(found, reverse=True)[: BEAM + 1]
            steps.append([Node(ids, total, rank, parent) for rank, (total, ids, parent) in enumerate(found)])
            going = [(node.ids, node.total) for node in steps[-1][:BEAM] if node.ids[-1] != EOS]
    return steps


def draw(lit: str = "") -> Picture:
    """The tree in columns, with the winner in the accent colour and what is dropped in grey."""
    steps = numbers()
    decode = shared("seq2seq").tokenizer.decode
    texts = [[decode([node.ids[-1]]) or "</s>" for node in step] for step in steps]
    middles, x = [], LEFT
    for names in texts:
        width = max(34, *(width_of(text, 13) for text in names))
        middles.append(x + width / 2)
        x += width + GAP
    title = f"Greedy decoding takes *{TAKEN}* (bridge); a beam also keeps *{MISSED}* (bed), which wins"
    out = word(14, 28, title, 15, anchor="start", bold=True)
    out += word(14, 58, f"source: {SENTENCE.replace('bed', '*bed*')}", 13, "soft", "start")
    out += word(746, 58, "under each word: log-probability of the words so far", 12, "soft", "end")
    for y, text in zip((92, *ROWS), ("step", "1st", "2nd", "3rd", "dropped"), strict=True):
        out += word(14, y, text, 12, "soft", "start")
    out += "".join(word(middle, 92, i, 11, "soft") for i, middle in enumerate(middles, 1))
    out += word(middles[LAST_DROPPED + 1], ROWS[BEAM], "…", 13, "soft")
    fork = {text: node.total for node, text in zip(steps[FORK], texts[FORK], strict=True)}
    said = [
        minus(fixed(total, 2)) for total in (fork[MISSED], fork[TAKEN], *(n.total for n in steps[-1][:2]))
    ]
    return Picture(
        WIDTH,
        372,
        _finished(steps[-1][:BEAM], middles[-1]) + out + _nodes(steps, texts, middles),
        alt=f"With a beam of {BEAM}, the hypothesis with {MISSED} is second at {said[0]}, after {TAKEN} at "
        f"{said[1]}. One word later it is first, and it wins with {said[2]}. Greedy decoding only follows "
        f"{TAKEN} and ends at {said[3]}.",
    )


def _nodes(steps: list[list[Node]], texts: list[list[str]], middles: list[float]) -> str:
    """The words with their log-probabilities, and a line from each to the one that it extends."""
    winner, out, top = steps[-1][0].ids, "", ""
    survive = {node.ids[:n] for node in steps[-1][:BEAM] for n in range(1, len(winner) + 1)}

    def half(i: int, rank: int) -> float:
        """Half the width of a word, which is bold if it belongs to the winner."""
        return width_of(texts[i][rank], 13 + (steps[i][rank].ids == winner[: i + 1])) / 2 + 4

    for i, step in enumerate(steps):
        for node in step if i <= LAST_DROPPED else step[:BEAM]:
            won, kept, y = node.ids == winner[: i + 1], node.ids in survive, ROWS[node.rank]
            if i:
                start = middles[i - 1] + half(i - 1, node.parent), ROWS[node.parent] - 4
                end = middles[i] - half(i, node.rank), y - 4
                if won:
                    top += _strand(start, end, "accent", 2.5)
                else:
                    out += _strand(start, end, "calm", 1.8 if kept else 1)
            text, total = texts[i][node.rank], minus(fixed(node.total, 2))
            drawn = word(middles[i], y, text, 13, "accent" if won else "ink" if kept else "soft", bold=won)
            drawn += word(middles[i], y + 16, total, 11, "accent" if won else "soft")
            out += group(drawn, class_="word", **belongs(tip=f"step {i + 1}: {text} {total}"))
    return out + top


def _strand(start: tuple[float, float], end: tuple[float, float], stroke: str, width: float) -> str:
    """An S-shaped line from left to right."""
    (x0, y0), (x1, y1) = (tuple(map(number, place)) for place in (start, end))
    middle = number((start[0] + end[0]) / 2)
    return path(f"M{x0} {y0}C{middle} {y0} {middle} {y1} {x1} {y1}", stroke, width)


def _finished(last: list[Node], middle: float) -> str:
    """What has ended is set aside."""
    left = middle - 26
    out = box(left, 70, 748 - left, ROWS[BEAM - 1] - 70 + 28, "wash")
    out += note(746, ROWS[BEAM - 1] + 48, ["finished ones", "are set aside"], 12, anchor="end")
    for node, said in zip(last, ("winner", "greedy"), strict=False):
        out += word(middle + 30, ROWS[node.rank], said, 13, "soft" if node.rank else "accent", "start")
    return out
