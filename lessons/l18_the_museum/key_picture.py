"""The key picture of this lesson: a dot for each run, two opposite headlines, and the verdicts."""

from __future__ import annotations

from functools import cache
from statistics import mean

from course_lib.translation.comparison import BETTER, UNCLEAR
from course_lib.views.picture import WIDTH, Picture
from course_lib.views.plane import Plane
from course_lib.views.shapes import run_rows
from course_lib.views.svg import box, dot, line, note, word
from lessons.l18_the_museum.leaderboard import EVERY, MEAN, label, ranked
from lessons.l18_the_museum.sentences import compared

PARTS = ("",)
COLUMN, LEAST, RIVALS = "depth", 75, ("bahdanau", "transformer")
TOP, ROW = 84, 28
PLANE = Plane(left=168, top=TOP, width=400, height=0, x=(LEAST, 95), y=(0, 1))


@cache
def numbers() -> tuple[dict[str, list[float]], list[list[str]], int]:
    """The runs of the systems with a mean above `LEAST`, best first, in groups without a clear difference,
    and how many systems there are."""
    every = ranked(COLUMN, EVERY, MEAN)
    runs = {name: values for name, values in every.items() if mean(values) > LEAST}
    groups: list[list[str]] = []
    for name in runs:
        if groups and all(compared(COLUMN, other, name).verdict == UNCLEAR for other in groups[-1]):
            groups[-1].append(name)
        else:
            groups.append([name])
    return runs, groups, len(every)


def story(x: float, y: float, runs: dict[str, list[float]], winner: str, loser: str, dash: str | None) -> str:
    """The headline from the best run of one system and the worst of the other, and both among the dots."""
    best, worst = max(runs[winner]), min(runs[loser])
    heights = [TOP + ROW * (list(runs).index(name) + 0.5) for name in (winner, loser)]
    ends = [(PLANE.at(best, 0)[0], heights[0]), (PLANE.at(worst, 0)[0], heights[1])]
    out = line(ends, "accent", 1.6, dash=dash) + "".join(dot(*end, 6, "accent", "paper", 1) for end in ends)
    out += box(x, y, 350, 62, "wash", radius=8) + line(
        [(x + 14, y + 21), (x + 44, y + 21)], "accent", 1.6, dash=dash
    )
    said = f"“{label(winner).split()[0]} leads by {best - worst:.1f} points”"
    out += word(x + 56, y + 26, said, 14, "accent", "start", bold=True)
    return out + note(x + 56, y + 47, [f"its best run, {best:.1f}%; the other's worst, {worst:.1f}%"])


def draw(lit: str = "") -> Picture:
    runs, groups, n_systems = numbers()
    rows, bottom = {label(name): values for name, values in runs.items()}, TOP + ROW * len(runs)
    out = run_rows(PLANE.left, TOP, rows, PLANE, row=ROW, fills=dict.fromkeys(rows, "soft"))
    for i, values in enumerate(runs.values()):
        for value in {value for value in values if values.count(value) > 1}:  # an equal run stands above
            out += dot(PLANE.at(value, 0)[0], TOP + ROW * (i + 0.5) - 9, 5, "soft", "paper", 1)
    for value in range(LEAST, 96, 5):
        out += word(PLANE.at(value, 0)[0], bottom + 16, f"{value}%", 11, "soft")
    said = f"the {len(runs)} of {n_systems} systems above {LEAST}% on average; each dot is a run"
    out += note(20, 52, ["exact translations of sentences nested more deeply than in training:", said])
    x, above = PLANE.left + PLANE.width + 16, TOP
    for i, group in enumerate(groups):
        low = above + ROW * len(group)
        out += line([(x, above + 8), (x + 6, above + 8), (x + 6, low - 8), (x, low - 8)], "ink", 1.4)
        said = [f"these {len(group)}:", UNCLEAR] + (
            [BETTER + " than those below"] if i + 1 < len(groups) else []
        )
        out += note(x + 14, (above + low) / 2 - 7 * len(said) + 8, said, 12, "ink")
        above = low
    out += story(20, bottom + 40, runs, *RIVALS, None) + story(390, bottom + 40, runs, *RIVALS[::-1], "5 4")
    verdict = compared(COLUMN, *RIVALS).verdict
    out += word(WIDTH / 2, bottom + 128, f"All runs and all sentences of both: {verdict}", 14, bold=True)
    headline = "Pick one run of each system, and you can print either headline"
    one, other = (label(name) for name in RIVALS)
    sizes = " and ".join(str(len(group)) for group in groups)
    alt = (
        f"Three runs of the best {len(runs)} of {n_systems} systems as dots. From single runs one "
        f"could print that {one} leads, or that {other} does; the verdict is {verdict}, as it is "
        f"within groups of {sizes} systems."
    )
    return Picture(WIDTH, bottom + 146, out, word(20, 30, headline, 15, anchor="start", bold=True), alt=alt)
