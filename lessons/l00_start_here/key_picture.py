"""The key picture of this lesson: a sentence that grows, and what four translators make of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from course_lib.views.picture import WIDTH, Picture
from course_lib.views.svg import belongs, box, group, line, width_of, word
from course_lib.views.words import mistakes, verdict
from lessons.l00_start_here.attention_lines import IN_ENGLISH, N_CLAUSES, SHUFFLED, growing, translate

PARTS = ("",)
GLOSSED = (("seq2seq", 3), ("seq2seq", 4))  # translations that are put back into English
LEFT, TOP, COLUMN, GAP, ROW = 196, 84, 134, 12, 15  # pixels: of the columns; between them; of a row of words
SIZE, BAR = 11, 7


def ribbon(x: float, y: float, words: Sequence[str], wrong: Sequence[int]) -> tuple[str, int]:
    """Right words as bars, wrong ones as what they are, in as many rows as they need; and their number."""
    drawn, at, n_rows = "", 0.0, 1
    for i, text in enumerate(words):
        wide = width_of(text, SIZE)
        if at + wide > COLUMN - GAP and at:
            at, n_rows = 0.0, n_rows + 1
        middle = y + ROW * (n_rows - 1)
        if i in wrong:
            drawn += word(x + at, middle + 4, text, SIZE, "accent", "start", bold=True)
            at += wide * 1.1 + 5
        else:
            drawn += box(x + at, middle - BAR / 2, wide * 0.9, BAR, "calm", radius=3, **belongs(tip=text))
            at += wide * 0.9 + 5
    return drawn, n_rows


def clauses() -> list[str]:
    """What each stage adds to the sentence."""
    texts = [pair.src_text for pair in growing()]
    return [texts[0], *(longer.removeprefix(shorter).strip() for shorter, longer in pairwise(texts))]


def stage(y: float, n: int) -> tuple[str, float]:
    """A row of the picture: the sentence after n clauses, in four translations. Returns its height, too."""
    right, tallest, drawn = growing()[n - 1].tgt, 1, ""
    for i, name in enumerate(SHUFFLED):
        output = translate(name, n)[0]
        wrong, missing = mistakes(output, right)
        x = LEFT + (COLUMN + 6) * i
        bars, n_rows = ribbon(x, y, output, wrong)
        said = word(
            x, y + ROW * n_rows + 4, verdict(wrong, missing), SIZE, "accent" if wrong else "soft", "start"
        )
        drawn += group(bars + said)
        tallest = max(tallest, n_rows)
    rows = clause_rows(clauses()[n - 1])
    for i, text in enumerate(rows):
        drawn += word(
            14, y + 4 + 18 * i, ("… " if n > 1 and not i else "") + text, 13, anchor="start", bold=True
        )
    return drawn, max(ROW * (tallest + 1), 18 * len(rows)) + 16


def clause_rows(text: str) -> list[str]:
    rows = [""]
    for each in text.split():
        if width_of(f"{rows[-1]} {each}", 13) * 1.1 > LEFT - 40:
            rows.append("")
        rows[-1] = f"{rows[-1]} {each}".strip()
    return rows


def drawing() -> Iterable[str]:
    yield word(
        14,
        28,
        "The sentence grows, and two of four translators start to make mistakes",
        15,
        anchor="start",
        bold=True,
    )
    yield word(14, 50, "A bar is a right word. Wrong words are spelled out.", 12, "soft", "start")
    for i in range(len(SHUFFLED)):
        yield word(LEFT + (COLUMN + 6) * i, TOP - 8, f"translator {i + 1}", 12, "soft", "start")


def draw() -> Picture:
    """The systems have no names here: which one is which, and why, is what the lesson asks."""
    parts, y = list(drawing()), float(TOP + 16)
    for n in range(1, N_CLAUSES + 1):
        parts.append(line([(14, y - 16), (WIDTH - 14, y - 16)], "hair"))
        drawn, height = stage(y, n)
        parts.append(drawn)
        y += height
    for name, n in GLOSSED:
        said = f"Translator {SHUFFLED.index(name) + 1}, {n} clauses: *{IN_ENGLISH[name, n]}*"
        parts.append(word(14, y + 4, said, 13, "accent", "start"))
        y += 20
    judged = [verdict(*mistakes(translate(name, N_CLAUSES)[0], growing()[-1].tgt)) for name in SHUFFLED]
    verdicts = "; ".join(f"translator {i + 1}: {said}" for i, said in enumerate(judged))
    alt = f"“{growing()[-1].src_text}” grows clause by clause. With all {N_CLAUSES} clauses, {verdicts}."
    return Picture(WIDTH, y, *parts, alt=alt)
