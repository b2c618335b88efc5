"""The recorded evidence of this lesson as pictures: a dot for each run, a bar for each count."""

from __future__ import annotations

from collections.abc import Mapping

from course_lib.results import read_results, runs, value_at
from course_lib.views.picture import WIDTH, Picture
from course_lib.views.plane import Plane
from course_lib.views.svg import belongs, box, dot, line, word

GROUPS = {"1–5": "test", "6–10": "test", "11–15": "test", "16–20": "test", "21–30": "long", "31–40": "long"}
Systems = Mapping[str, tuple[str, str, tuple[int, float]]]
BEFORE: Systems = {  # name: experiment and variant, and where the name is written
    "attention": ("toy_ladder", "bahdanau", (3.14, 84)),
    "seq2seq": ("toy_ladder", "seq2seq", (1.3, 54)),
    "RNN encoder-decoder": ("toy_ladder", "rnn_encoder_decoder", (2.15, 68)),
}
CONTROLS: Systems = {
    "attention, both directions": ("toy_ladder", "bahdanau", (3.1, 104)),
    "attention, forward only": ("what_attention_adds", "attention, forward encoder", (2.4, 68)),
    "both directions, no attention": ("what_attention_adds", "no attention, both directions", (0.55, 38)),
}
FILLS = ("accent", "ink", "soft")
WORDS = {  # of data/results/lesson_06.json: the name in the picture
    "first noun": "the first noun",
    "second noun": "the second noun",
    "because": "because",
    "it": "it",
    "was": "was",
    "adjective": "the adjective",
    "end": "the end",
    "most attended": "its most attended word",
}


def exact(experiment: str, variant: str, words: str) -> list[float]:
    """Exact match in percent in each run, at one range of lengths."""
    path = "scores", GROUPS[words], "by_length", words, "exact"
    return [100 * value_at(run, *path) for run in runs(experiment) if run["variant"] == variant]


def by_length(systems: Systems) -> Picture:
    plane = Plane(58, 60, 660, 222, (-0.4, 5.4), (0, 100))
    parts, said = [plane.scale_y({y: f"{y}%" for y in (0, 50, 100)})], []
    parts += [plane.scale_x(dict(enumerate(GROUPS)), "words in the source; at most 20 in training")]
    for fill, (name, (experiment, variant, at)) in zip(FILLS, systems.items(), strict=True):
        of_runs = [exact(experiment, variant, words) for words in GROUPS]
        means = [sum(each) / len(each) for each in of_runs]
        parts.append(plane.curve(range(len(GROUPS)), means, fill, 1.6, opacity=0.6))
        for i, each in enumerate(of_runs):
            for run in each:
                tip = belongs(tip=f"{name}, {list(GROUPS)[i]} words: {run:.0f}%")
                parts.append(dot(*plane.at(i, run), 4, fill, "paper", 1, class_="run", **tip))
        x, y = plane.at(at[0], at[1])
        parts.append(word(x, y - 12 * (at[1] > 100), name, 13, fill, "start", bold=True))
        said.append(f"{name}: {', '.join(f'{mean:.0f}' for mean in means)}")
    title = word(14, 26, "Correct translations by length: a dot for each run", 15, anchor="start", bold=True)
    alt = f"Percentage of correct translations by length, means of three runs. {'; '.join(said)}."
    return Picture(WIDTH, 330, title, *parts, alt=alt)


def both_pronouns() -> Picture:
    """In how many pairs both pronouns are right, and both wrong, with only one word and with all others."""
    counts = read_results("lesson_06")["forced pronouns"]
    pairs, top, row = counts["twins"], 116, 28
    columns = {"only this word": (200, counts), "all but this word": (490, counts["removed"])}
    title, own = "Attention at the pronoun's step: only on one word, or on all others", "most attended"
    parts, said = [word(14, 28, title, 15, anchor="start", bold=True)], []
    wrong_way = "both wrong: told apart, but the wrong way round"
    for x, text, fill, height in ((200, "both pronouns right", "query", 11), (366, wrong_way, "calm", 6)):
        parts += [box(x, 56 - height, 14, height, fill, radius=2)]
        parts += [word(x + 20, 55, text, 12, "soft", "start")]
    for i, (name, shown) in enumerate(WORDS.items()):
        y, bold = top + row * i + 8 * (name == own), name == own
        parts.append(word(190, y + 12, shown, 13, anchor="end", bold=bold))
        for head, (left, each) in columns.items():
            right, wrong = (each[name][f"both {what}"] for what in ("right", "wrong"))
            fill = "accent" if bold else "query"
            parts += [box(left, y, max(1.5, right), 11, fill, radius=2)]
            end = left + (pairs if right > 0.85 * pairs else right)  # a number isn't crossed by the dashes
            parts += [word(end + 7, y + 10, right, 12, fill, "start", bold=True)]
            if wrong:
                parts += [box(left, y + 12, wrong, 6, "calm", radius=2)]
                parts += [word(left + wrong + 7, y + 20, wrong, 11, "soft", "start")]
            said.append(f"{head}, {shown}: {right} right, {wrong} wrong")
    bottom = top + row * len(WORDS) + 8
    for head, (left, _) in columns.items():
        parts += [word(left, 96, head, 13, anchor="start", bold=True)]
        parts += [line([(left + pairs, 102), (left + pairs, bottom)], "calm", 1, dash="3 3")]
        parts += [word(left + pairs, 96, f"all {pairs} pairs", 11, "soft", "end")]
    return Picture(WIDTH, bottom + 10, *parts, alt=f"Pairs with both pronouns. {'; '.join(said)}.")
