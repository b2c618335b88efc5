"""The key picture of this lesson: three sentences become French, with loss and learning rate below."""

from __future__ import annotations

from functools import cache

from course_lib.results import read_results
from course_lib.text.toy.read import translations_of
from course_lib.views.picture import WIDTH, Picture
from course_lib.views.plane import Plane
from course_lib.views.svg import belongs, dot, line, note, width_of, word
from course_lib.views.words import mistakes, text_rows

PARTS = ("",)
STEPS = (0, 50, 100, 200, 350, 500, 2000)
COLUMNS = ((64, 220), (283, 176), (458, 234))  # of the sentences: where they begin, and their widths
TOP, ROW = 98, 41
CURVES = TOP + ROW * len(STEPS) + 34


@cache
def numbers() -> tuple[tuple[str, ...], list[dict]]:
    """The sentences, and the recorded run's translations, loss and rate at every 50th step."""
    run = read_results("cpu/watched_run")
    return tuple(run["sentences"]), run["history"]


def cell(x: float, y: float, width: float, text: str, right: set[str]) -> str:
    """A translation in at most two lines; what is wrong in it is marked."""
    words, [reference] = text.split(), right
    wrong, missing = mistakes(words, reference.split())
    shown = next(
        (n for n in range(len(words)) if width_of(" ".join(words[: n + 1]), 12) > 1.85 * width), None
    )
    marks = {"wrong": wrong} if shown else {"wrong": wrong, "missing": missing}
    return text_rows(x, y, [*words[:shown], "…"] if shown else words, width, 12, **marks)[0]


def curve(plane: Plane, history: list[dict], which: str, name: str, ticks: dict[float, str]) -> str:
    """A recorded curve over the steps, with a dot where a row of translations is."""
    trained, steps = history[1:], {step: f"{step:,}" for step in (50, 200, 1000, 2000)}
    out = plane.scale_y(ticks) + plane.scale_x(steps, "step (logarithmic; dots: rows above)")
    out += plane.curve([now["step"] for now in trained], [now[which] for now in trained], "soft", 2)
    for now in trained:
        if now["step"] in STEPS:
            tip = belongs(tip=f"step {now['step']:,}: {now[which]:.2g}")
            out += dot(*plane.at(now["step"], now[which]), 4.5, "ink", "paper", 1, **tip)
    return out + word(plane.left, plane.top - 12, name, 12, "soft", "start")


def draw(lit: str = "") -> Picture:
    sentences, history = numbers()
    by_step, references = {now["step"]: now for now in history}, [translations_of(each) for each in sentences]
    headline = f"From one word over and over to French: three sentences in {STEPS[-1]:,} steps"
    out = word(20, 30, headline, 15, anchor="start", bold=True)
    out += word(20, TOP - 36, "step", 12, "soft", "start")
    out += note(740, TOP - 36, ["right, of", "100 others"], anchor="end")
    for (x, width), sentence in zip(COLUMNS, sentences, strict=True):
        out += text_rows(x, TOP - 36, sentence.split(), width, 12, bold=True)[0]
    for i, step in enumerate(STEPS):
        y, row = TOP + ROW * i + 16, zip(COLUMNS, by_step[step]["translations"], references, strict=True)
        out += line([(20, y - 17), (740, y - 17)], "hair") + word(
            20, y, f"{step:,}", 12, anchor="start", bold=True
        )
        out += "".join(cell(x, y, width, text, right) for (x, width), text, right in row)
        if step:  # not recorded before the first one
            out += word(740, y, f"{by_step[step]['exact']:.0%}", 12, anchor="end")
    loss = Plane(left=70, top=CURVES, width=280, height=58, x=(45, 2000), y=(0, 5.2), log_x=True)
    rate = Plane(left=450, top=CURVES, width=280, height=58, x=(45, 2000), y=(0, 0.0052), log_x=True)
    out += curve(loss, history, "loss", "validation loss", {0: "0", 5: "5"})
    out += curve(rate, history, "rate", "learning rate", {0: "0", 0.005: "0.005"})
    first, last = history[0]["translations"][0].split()[0], history[-1]
    alt = (
        f"Translations of three sentences during one run. At step 0 they repeat '{first}', at 50 one "
        f"French word; at 500 all three are right, but {by_step[500]['exact']:.0%} of 100 others, and at "
        f"{STEPS[-1]:,} {last['exact']:.0%}. The validation loss falls from {history[1]['loss']:.1f} to "
        f"{last['loss']:.1f}; the learning rate rises until step 200, then falls."
    )
    return Picture(WIDTH, CURVES + 102, out, alt=alt)
