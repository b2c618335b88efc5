"""How the attention of a translator changes while it is trained, from nearly uniform weights to an alignment.

    >>> facts = compute(step=4000, sentence="the happy mother …", seed=0)
    >>> facts["translation"]
    "la mère heureuse n' a pas vendu la vieille fleur blanche"

The snapshots were recorded in three training runs of Bahdanau's system (`attention_emerges` in data/results).
A map shows the attention weights under teacher forcing, so its rows are always the words of the correct
translation.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from course_lib import theme
from course_lib.explore.raster.artists import Heatmap, Rectangles
from course_lib.explore.raster.base import Axes, Choice, Facts, Panel, RasterExplorable, Show
from course_lib.explore.raster.pillow_text import add_text, set_texts
from course_lib.formatting import fixed
from course_lib.results import runs
from course_lib.text.special import EOS, SPECIAL
from course_lib.views.lines import add_marker

STEPS = (0, 50, 100, 150, 200, 250, 300, 350, 400, 500, 600, 1000, 2000, 4000)
SENTENCES = {  # the name in the results, the source, the correct translation
    "the happy mother …": (
        "crossing",
        "the happy mother did not sell the old white flower",
        "la mère heureuse n' a pas vendu la vieille fleur blanche",
    ),
    "the cat drank …": (
        "thirsty",
        "the cat drank the water because it was thirsty",
        "le chat a bu l' eau parce qu' il avait soif",
    ),
}
MOTHER, CAT = SENTENCES
N_ROWS, N_COLUMNS = 12, 11  # the other sentence has one column fewer
LONGEST = 56  # characters of a translation in the heading


@cache
def recorded(seed: int) -> dict[str, Any]:
    """The run with this seed: its curve, and its snapshots by step."""
    [run] = [run for run in runs("attention_emerges") if run["seed"] == seed]
    return {"curve": run["curve"], "snapshots": {shot["step"]: shot for shot in run["snapshots"]}}


def compute(*, step: int, sentence: str, seed: int) -> Facts:
    """The map and the translation at one step, and the measurements of the whole run."""
    run = recorded(seed)
    name, source, target = SENTENCES[sentence]
    snapshot = run["snapshots"][step]
    weights = np.array(snapshot["maps"][name]["weights"])
    facts = {
        "source": [*source.split(), SPECIAL[EOS]],
        "target": [*target.split(), SPECIAL[EOS]],
        "weights": weights,
        "translation": snapshot["maps"][name]["translation"],
        "steps": np.array([point["step"] for point in run["curve"]]),
        "errors": np.array([point["alignment_error"] for point in run["curve"]]),
        "snapshot_steps": np.array(list(run["snapshots"])),
        "correct": np.array([shot["exact"] for shot in run["snapshots"].values()]),
        "error_now": next(p["alignment_error"] for p in run["curve"] if p["step"] == step),
        "correct_now": snapshot["exact"],
    }
    return facts | (in_the_first_sentence(facts) if name == "crossing" else NOT_IN_THIS_SENTENCE)


NOT_IN_THIS_SENTENCE = {"flower_and_white": 0.0, "la_to_mother": 0.0}


def in_the_first_sentence(facts: Facts) -> dict[str, float]:
    """How much fleur and blanche attend to their own words (the smaller weight), and the first la to two."""

    def weight(french: str, english: str) -> float:
        return float(facts["weights"][facts["target"].index(french), facts["source"].index(english)])

    return {
        "flower_and_white": min(weight("fleur", "flower"), weight("blanche", "white")),
        "la_to_mother": weight("la", "mother"),
    }


def draw_map(axes: Axes) -> Show:
    cells = Heatmap(axes, [""] * N_ROWS, [""] * N_COLUMNS)
    axes.set(xlim=(-3.6, N_COLUMNS + 0.1), ylim=(N_ROWS + 3.3, -0.1), xticks=(), yticks=())
    rest = Rectangles(axes, 1, theme.PAPER)  # covers the column that the shorter sentence doesn't have
    rest.set_zorder(3)
    rows = [add_text(axes, -0.25, row + 0.5, ha="right", va="center", size=10) for row in range(N_ROWS)]
    below = {"ha": "right", "va": "center", "size": 10}
    columns = [add_text(axes, column + 0.5, N_ROWS + 0.25, **below) for column in range(N_COLUMNS)]
    for text in columns:
        text.set_rotation(90)

    def show(facts: Facts) -> None:
        n_columns = len(facts["source"])
        shown = np.zeros((N_ROWS, N_COLUMNS))
        shown[:, :n_columns] = facts["weights"]
        cells.show(shown)
        rest.set_edges(left=n_columns + 0.06, right=N_COLUMNS + 0.1, low=-0.1, high=N_ROWS + 0.1)
        set_texts(rows, facts["target"])
        set_texts(columns, facts["source"])

    return show


def draw_curves(axes: Axes) -> Show:
    axes.set_xscale("symlog", linthresh=100, linscale=0.6)
    axes.set(xlim=(-8, 5200), ylim=(-0.06, 1.08), xlabel="training steps", yticks=(0, 0.25, 0.5, 0.75, 1))
    ticks = (0, 100, 200, 400, 1000, 4000)
    axes.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
    axes.minorticks_off()
    axes.grid(axis="y")
    [error] = axes.plot([], [], color=theme.ORANGE, linewidth=2.2)
    [correct] = axes.plot([], [], color=theme.BLUE, linewidth=2.2)
    error_dot, correct_dot = add_marker(axes), add_marker(axes)
    text = {"size": 10, "weight": "bold"}
    error_text = add_text(axes, 1.5, 0.975, colour=theme.ORANGE, **text)
    correct_text = add_text(axes, 1.5, 0.055, colour=theme.BLUE, **text)

    def show(facts: Facts) -> None:
        so_far, shots_so_far = facts["steps"] <= facts["step"], facts["snapshot_steps"] <= facts["step"]
        error.set_data(facts["steps"][so_far], facts["errors"][so_far])
        correct.set_data(facts["snapshot_steps"][shots_so_far], facts["correct"][shots_so_far])
        error_dot.set(data=([facts["step"]], [facts["error_now"]]), markerfacecolor=theme.ORANGE)
        correct_dot.set(data=([facts["step"]], [facts["correct_now"]]), markerfacecolor=theme.BLUE)
        error_text.set_text(f"alignment error {fixed(facts['error_now'], 2)}")
        correct_text.set_text(f"correct: {percent(facts)}%")

    return show


def percent(facts: Facts) -> str:
    return fixed(100 * facts["correct_now"], 0)


def shortened(text: str) -> str:
    """A translation that fits next to the title."""
    if len(text) <= LONGEST:
        return text
    return text[:LONGEST].rsplit(" ", 1)[0] + " …"


class AttentionEmerges(RasterExplorable):
    title = "Attention emerges"
    question = "Move the slider through the training run. When do the attention weights become an alignment?"
    size = (9.6, 4.8)
    step = Choice("training steps", STEPS, 0, text=lambda step: f"{step:,}")
    sentence = Choice("sentence", tuple(SENTENCES), MOTHER, buttons=True)
    seed = Choice("random seed", (0, 1, 2), 0, buttons=True)
    presets = {"step 300": {"step": 300}, "step 4,000": {"step": 4000}}
    goals = {
        "aligned": "An alignment error below 0.5",
        "crossed": "fleur and blanche: more than half of the attention on their own word",
        "article": "The first la: more than half of the attention on mother",
    }
    panels = (
        Panel("Attention map", draw_map, 1.0),
        Panel("The run so far (200 test sentences)", draw_curves, 1.15),
    )
    compute = staticmethod(compute)

    @staticmethod
    def goals_met(now: Facts, start: Facts) -> dict[str, bool]:
        return {
            "aligned": now["error_now"] < 0.5,
            "crossed": now["flower_and_white"] > 0.5,
            "article": now["la_to_mother"] > 0.5,
        }

    @staticmethod
    def heading(facts: Facts) -> list[str]:
        return [f"step {facts['step']:,}", f"output: {shortened(facts['translation'])}"]

    @staticmethod
    def describe(facts: Facts) -> str:
        sharp = fixed(float(facts["weights"].max(axis=1).mean()), 2)
        return (
            f"Random seed {facts['seed']}, step {facts['step']:,}: the largest attention weight of a row is "
            f"{sharp} on average. Alignment error {fixed(facts['error_now'], 2)}, {percent(facts)}% of the "
            f"translations correct. The output is “{shortened(facts['translation'])}”."
        )
