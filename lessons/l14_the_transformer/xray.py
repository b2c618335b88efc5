"""X-ray: a Transformer that runs on a typed sentence, and opens at any box.

>>> facts = compute(sentence="the cat sleeps", model="C", box="memory", head=0)
>>> facts["trace"].wrong, facts["shape"]
('source embeddings', [4, 64])
"""

from __future__ import annotations

from collections.abc import Iterable
from textwrap import wrap

import numpy as np

from course_lib.explore.base import Choice, Explorable, Facts, Integer, TextInput
from course_lib.formatting import fixed, significant
from course_lib.views.cells import heat
from course_lib.views.picture import WIDTH, Picture
from course_lib.views.shapes import side_bars
from course_lib.views.svg import belongs, box, choice, group, line, number, width_of, word
from lessons.l14_the_transformer import page as drawing
from lessons.l14_the_transformer.file_stages import stage_names
from lessons.l14_the_transformer.traces import LONGEST, MODELS, N_HEADS, N_LAYERS, Trace, trace

SAMPLES = (
    "the cat drank the water because it was thirsty",
    "the cat drank the water because it was cold",
    "the young queen sees three old horses",
)
STAGES = tuple(stage_names(N_LAYERS))
PANEL, ROW, LABEL, SHADES = 352, 12, 62, 3  # pixels: width, a word's row, room for the words; of a number
NAMES = {
    "library": "the library's model",
    "your functions": "your functions",
    "your file": "my_transformer.py",
}


def compute(*, sentence: str, model: str, box: str, head: int) -> Facts:
    found = trace(model, sentence)
    state, maps = found.states.get(box), found.maps.get(box)
    weights = None if maps is None or len(maps) <= head else maps[head]
    return {
        "trace": found,
        "state": None if state is None else state.tolist(),
        "shape": [] if state is None else list(state.shape),
        "size": 0.0 if state is None else float(np.sqrt((state**2).mean())),
        "weights": None if weights is None else weights.tolist(),
        "likeliest": found.likeliest,
        "gap": found.gap if np.isfinite(found.gap) else 0.0,
        # what the picture says of every box
        "lengths": [len(found.source), len(found.target), found.n_logits],
        "widths": [*found.widths, found.widths[0] // N_HEADS],
        "numbers of blocks, and of heads": [*range(N_LAYERS), N_HEADS],
        "longest": LONGEST,
    }


def called(stage: str) -> str:
    """The name of a box: "encoder block 0, self-attention"."""
    if not stage[-1].isdigit() and ", after" not in stage:
        return stage
    block_name, _, kind = stage.partition(", after ")
    side, layer = block_name.split()
    return f"{side} block {layer}, {drawing.SUBLAYERS[side][kind]}"


def place_of(stage: str) -> tuple[float, float]:
    """The side of a box, and its height, where its panel is tied to it."""
    encoder, decoder = drawing.WIDE
    tower = encoder if "encoder" in stage or stage in ("source embeddings", "memory") else decoder
    edge = tower.left + drawing.BOX if tower is encoder else tower.left
    if "embeddings" in stage:
        return (tower.stream + 26 if tower is encoder else tower.stream - 98), tower.bottom + 28
    if stage in ("memory", "last norm", "logits"):
        half = {"logits": 32, "memory": 62}.get(stage, 23)  # beyond the word "norm"
        return tower.stream + (half if tower is encoder else -half), tower.top - (
            38 if stage == "logits" else 15
        )
    block_name, _, kind = stage.partition(", after ")
    return edge, drawing.heights(tower, int(block_name[-1]))[kind] - 14


def tensor(x: float, y: float, state: np.ndarray, words: Iterable[str], width: float) -> str:
    """A row of cells for each word: blue is positive, orange negative."""
    largest = 2.5 * float(np.sqrt((state**2).mean())) or 1.0
    drawn = heat(x, y, state, (width / state.shape[1], ROW), largest=largest, shades=SHADES)
    return drawn + "".join(
        word(x - 6, y + ROW * i + 10, text, 11, anchor="end") for i, text in enumerate(words)
    )


def words_read(facts: Facts) -> tuple[str, ...]:
    """The words whose keys the open attention reads."""
    found, of_target = facts["trace"], "self-attention" in facts["box"]
    return found.target if of_target else found.source


def map_width(facts: Facts) -> float:
    """Of the open head's map: beside it, all heads need room."""
    return min(ROW * len(words_read(facts)), 150)


def attention_map(x: float, y: float, facts: Facts, rows: tuple[str, ...], columns: tuple[str, ...]) -> str:
    """The weights of one head, with words."""
    weights = np.asarray(facts["weights"])
    across = map_width(facts) / len(columns)
    causal = "self-attention" in facts["box"]
    drawn = drawing.head_map(x, y, weights, (across, ROW), causal=causal, shades=8)
    bottom, lines = y + ROW * len(rows) + 8, ""
    for i, (text, row) in enumerate(zip(rows, weights, strict=True)):
        most = " · ".join(f"{columns[j]} {row[j]:.2f}" for j in np.argsort(-row)[:3])
        whole = box(x, y + ROW * i, across * len(columns), ROW, "none")
        label = word(x - 6, y + ROW * i + 10, text, 11, anchor="end")
        lines += group(whole + label, **belongs(tip=f"{text} → {most}"))
    for j, text in enumerate(columns):
        at = x + across * (j + 0.5) + 4
        turned = f"rotate(-45 {number(at)} {number(bottom)})"
        drawn += word(at, bottom, text, 11, anchor="end", transform=turned)
    return drawn + group(lines, pointer_events="all")


def panel(facts: Facts) -> str:
    """What is inside the open box, beside it, with a line to it."""
    found: Trace = facts["trace"]
    stage, of_source = (
        facts["box"],
        "encoder" in facts["box"] or facts["box"] in ("source embeddings", "memory"),
    )
    words = found.source if of_source else found.target
    edge, y = place_of(stage)
    left = WIDTH - PANEL - 8 if of_source else 8
    weights, logits = facts["weights"], stage == "logits"
    height = 66 + (120 if logits else ROW * len(words))
    if weights:
        height += 46 + ROW * len(words) + 0.75 * max(width_of(text, 11) for text in words_read(facts))
    top = min(max(64, y - height / 2), 910 - height)
    stroke = "accent" if stage == found.wrong else "ink"
    side = left if of_source else left + PANEL
    drawn = line([(edge, y), (side, y)], stroke, 1.6)
    drawn += box(left, top, PANEL, height, stroke=stroke, radius=8, line=1.6)
    drawn += word(left + 12, top + 22, called(stage), 13, anchor="start", bold=True)
    if facts["state"] is None:
        return drawn + word(left + 12, top + 44, "not reached", 12, "soft", "start")
    state, x = np.asarray(facts["state"]), left + LABEL + 10
    said = f"{' × '.join(map(str, state.shape))}, size {fixed(facts['size'], 1)}"
    said += f"; next after *{words[-1]}*, in probabilities:" if logits else "; blue: above 0, orange: below"
    fill = "soft"
    if stage == found.wrong:
        said, fill = f"first that differs by over 0.001: by {significant(facts['gap'], 2)}", "accent"
    drawn += word(left + 12, top + 40, said, 12, fill, "start")
    if logits:
        names, values = list(facts["likeliest"]), list(facts["likeliest"].values())
        return drawn + side_bars(x + 10, top + 52, names, values, width=180)
    drawn += tensor(x, top + 52, state, words, PANEL - LABEL - 26)
    if weights:
        at = top + 52 + ROW * len(words) + 30
        drawn += word(
            left + 12, at - 8, f"head {facts['head']}: a row asks, a column is read", 12, "soft", "start"
        )
        drawn += attention_map(x, at, facts, words, words_read(facts))
        drawn += all_heads(x + map_width(facts) + 26, at, facts)
    return drawn


def all_heads(x: float, y: float, facts: Facts) -> str:
    """The maps of all heads, to choose from."""
    drawn, maps = "", facts["trace"].maps[facts["box"]]
    for head, rows in enumerate(maps):
        cell = 34 / max(rows.shape)
        left, top, chosen = x + 48 * (head % 2), y + 58 * (head // 2), head == facts["head"]
        small = drawing.head_map(left, top, rows, (cell, cell), causal="self" in facts["box"], shades=3)
        frame = box(
            left - 3, top - 3, 40, 40, "none", "ink" if chosen else "hair", line=1.6, pointer_events="all"
        )
        label = word(left + 17, top + 50, f"head {head}", 11, "ink" if chosen else "soft", bold=chosen)
        drawn += choice(small + frame + label, f"Show head {head}", chosen=chosen, head=head)
    return drawn


def headline(facts: Facts) -> list[str]:
    found, model = facts["trace"], facts["model"]
    name = NAMES.get(model, f"network {model}")
    if found.problem:
        return wrap(found.problem, 44)[:3]
    if found.wrong:
        return [f"X-ray of {name}, first wrong box:", called(found.wrong)]
    if found.cut:
        return [f"X-ray of {name}:", f"the first {LONGEST} words"]
    if model == "your functions":
        return ["X-ray of your functions:", f"{sum(found.own.values())} of {len(found.own)} parts are yours"]
    return [
        f"X-ray of {name}:",
        "open any box" if model == "library" else "all boxes compute the same as the library's",
    ]


class XRay(Explorable):
    title = "X-ray of a Transformer"
    question = "Type a sentence, and click a box to see what it computes."
    size = (WIDTH, 924)
    sentence = TextInput("sentence", SAMPLES)
    model = Choice("model", MODELS, "library", buttons=True)
    box = Choice("box", STAGES, "decoder 2, after self-attention", wide=True, text=called)
    head = Integer("head", 0, N_HEADS - 1, 1)
    play = "box"
    main_control = "box"
    presets = {"your functions": {"model": "your functions"}, "network A": {"model": "A", "box": "logits"}}
    goals = {
        "memory": "Open the box whose output every decoder block reads",
        "deciding": "Find the cross-attention head that, after *qu'*, reads only *thirsty*",
        "wrong": "Open the first wrong box of a network with a mistake",
    }
    compute = staticmethod(compute)

    @staticmethod
    def goals_met(now: Facts, start: Facts) -> dict[str, bool]:
        found, weights = now["trace"], now["weights"]
        deciding = False
        if weights and "cross" in now["box"] and "il" in found.output and "thirsty" in found.source:
            deciding = weights[found.output.index("il")][found.source.index("thirsty")] > 0.95
        return {
            "memory": now["box"] == "memory",
            "deciding": deciding,
            "wrong": bool(found.wrong) and now["box"] == found.wrong,
        }

    @classmethod
    def picture_of(cls, facts: Facts) -> Picture:
        found: Trace = facts["trace"]
        marks = drawing.Marks(clickable=True, open=facts["box"], wrong=found.wrong, own=found.own)
        title, alt = headline(facts), cls.describe(facts)
        return drawing.page(
            found, title=title, alt=alt, marks=marks, over=group(panel(facts), data_key="panel")
        )

    @staticmethod
    def draw(facts: Facts) -> Iterable[str]:
        return [XRay.picture_of(facts).body]

    @staticmethod
    def describe(facts: Facts) -> str:
        found, shape = facts["trace"], " by ".join(map(str, facts["shape"]))
        text = f"{' '.join(headline(facts)).rstrip('.')}. Source: {' '.join(found.source)}. "
        if facts["state"] is None:
            return text + f"Not reached: {called(facts['box'])}."
        text += f"Next words: {' '.join(found.output)}. "
        text += f"Open: {called(facts['box'])}, {shape}, size {fixed(facts['size'], 1)}."
        if facts["weights"]:
            last = np.asarray(facts["weights"])[-1]
            most = f"{words_read(facts)[last.argmax()]} ({last.max():.2f})"
            text += f" In head {facts['head']}, the last word attends most to {most}."
        return text
