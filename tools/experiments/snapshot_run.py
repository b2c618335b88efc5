"""One run of lesson 06's experiment: how the attention of a translator changes while it is trained.

    result = run_snapshots({"system": "bahdanau"}, seed=0)
    result["curve"][3]["alignment_error"], result["snapshots"][3]["maps"]["crossing"]["weights"]

Measured under teacher forcing, on the first sentences of the test set: the alignment error, how many words
are right, how many attend most to a word that they are linked to, and how diagonal the maps are. A snapshot
also holds the attention maps of a few sentences, with one row for each word of the reference, the translation
that the system gives at that moment, and the percentage of correct translations.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from torch import nn

from course_lib.models.registry import n_parameters
from course_lib.text.tokenizer import Tokenizer
from course_lib.training.job import Job, run_job
from course_lib.training.loop import train
from course_lib.training.run_folder import RunState
from course_lib.translation.evaluation import evaluate, teacher_forced_alignment, teacher_forced_weights
from course_lib.translation.pipeline import translate
from lessons.l06_bahdanau_attention.own_run import forced_measures
from tools.corpora import load_data, read_corpus

EVERY = 50  # steps between two measurements, unless "every" says otherwise
STEPS = (0, 50, 100, 150, 200, 250, 300, 350, 400, 450, 500, 600, 700, 800, 1000, 1500, 2000, 4000)
N_SENTENCES = 200
SENTENCES = {
    "crossing": (
        "the happy mother did not sell the old white flower",
        "la mère heureuse n' a pas vendu la vieille fleur blanche",
    ),
    "thirsty": (
        "the cat drank the water because it was thirsty",
        "le chat a bu l' eau parce qu' il avait soif",
    ),
}


def run_snapshots(
    changes: dict[str, Any], *, seed: int, n_steps: int | None = None, device: str | None = None
) -> dict:
    """Train a translator on the toy language and measure its attention every `EVERY` steps."""
    data = load_data("toy")
    every = changes.get("every", EVERY)
    watch = Watch(data.tokenizer, every, steps=range(0, 601, every) if "every" in changes else ())

    def train_and_watch(model: nn.Module, data: Any, recipe: Any, **options: Any) -> RunState:
        watch(model)
        return train(model, data.train, recipe, validation=data.validation, score=watch, **options)

    recipe = {"validate_every": every, **({"n_steps": n_steps} if n_steps else {})}
    job = Job(system=changes["system"], seed=seed, device=device, recipe=recipe)
    outcome = run_job(job, data=data, trainer=train_and_watch)
    losses = {record.step: record.loss for record in outcome.result.history}
    return {
        "parameters": n_parameters(outcome.model),
        "curve": [point | {"loss": losses.get(point["step"])} for point in watch.curve],
        "snapshots": watch.snapshots,
        "seconds": round(outcome.result.seconds, 1),
        **{key: outcome.about[key] for key in ("config", "recipe", "machine", "versions")},
    }


class Watch:
    """Measures a model each time it is called: before the first step and after every so many steps."""

    def __init__(self, tokenizer: Tokenizer, every: int, steps: Iterable[int] = ()) -> None:
        self.every, self.steps = every, {*STEPS, *steps}
        self.tokenizer, self.pairs = tokenizer, read_corpus("toy", "test")[:N_SENTENCES]
        self.curve: list[dict[str, float]] = []
        self.snapshots: list[dict[str, Any]] = []

    def __call__(self, model: nn.Module) -> dict[str, float]:
        step = self.every * len(self.curve)
        error = teacher_forced_alignment(model, self.tokenizer, self.pairs)
        point = {"step": step, "alignment_error": error.producing, "floor": error.floor}
        self.curve.append(point | forced_measures(model, self.tokenizer, self.pairs))
        if step in self.steps:
            exact = evaluate(model, self.tokenizer, self.pairs).exact
            maps = {name: self.map_of(model, *pair) for name, pair in SENTENCES.items()}
            self.snapshots.append({"step": step, "exact": exact, "maps": maps})
        return {}

    def map_of(self, model: nn.Module, source: str, reference: str) -> dict[str, Any]:
        """The attention weights under teacher forcing, (target words + 1, source words + 1)."""
        ids = self.tokenizer.encode(source), self.tokenizer.encode(reference)
        ((_, weights),) = teacher_forced_weights(model, {0: ids})
        (translation,) = translate([source], model, self.tokenizer)
        rows = [[round(weight, 3) for weight in row] for row in weights[0, 0].tolist()]
        return {"weights": rows, "translation": translation.target}
