"""Training settings of lesson 15's small run, and the faults that they can have.

>>> TrainingSettings(softmaxes=2).objective
{'shifted': True, 'softmaxes': 2, 'usual_rate_after': None}
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

from course_lib.text.batch import Batch
from course_lib.training.recipe import Recipe
from lessons.l15_training_a_translator.by_hand import Weights
from lessons.l15_training_a_translator.function_transformer import FunctionTransformer
from lessons.l15_training_a_translator.short_sentences import N_TRAIN

Loss = Callable[[Tensor, Tensor, float], Tensor]  # logits, targets, smoothing: the mean over the tokens

N_STEPS, TOKENS_PER_BATCH, VALIDATE_EVERY = 240, 256, 24


@dataclass(frozen=True, kw_only=True)
class TrainingSettings:
    """How a small run is trained. The defaults are those of a healthy run."""

    rate: float = 5e-3
    warm_up: int = 24
    n_sentences: int = N_TRAIN
    shifted: bool = True  # the decoder reads the token before the one that it predicts
    softmaxes: int = 1  # the one in the loss; a second one is a fault
    smoothing: float = 0.1
    usual_rate_after: int | None = None  # after this step the rate is a healthy run's

    def recipe(self, *, n_steps: int, seed: int) -> Recipe:
        """The same for the library's training loop."""
        return Recipe(
            n_steps=n_steps,
            tokens_per_batch=TOKENS_PER_BATCH,
            learning_rate=self.rate,
            warm_up=self.warm_up,
            decay="linear",
            smoothing=self.smoothing,
            seed=seed,
            validate_every=VALIDATE_EVERY,
        )

    @property
    def objective(self) -> dict[str, object]:
        """What a recipe doesn't hold, for the checkpoint."""
        names = ("shifted", "softmaxes", "usual_rate_after")
        return {name: getattr(self, name) for name in names}

    def peak(self, step: int) -> float:
        """The highest learning rate of the schedule that holds at this step."""
        return HEALTHY.rate if step > (self.usual_rate_after or step) else self.rate

    def loss_of(
        self, model: FunctionTransformer, batch: Batch, loss: Loss, *, smoothing: float
    ) -> Callable[[Weights], Tensor]:
        """The loss of a batch as a function of the weights."""

        def loss_of(weights: Weights) -> Tensor:
            logits = model.logits(weights, batch.src, batch.tgt_in if self.shifted else batch.tgt_out)
            for _ in range(self.softmaxes - 1):
                logits = logits.softmax(dim=-1)
            return loss(logits, batch.tgt_out, smoothing)

        return loss_of


HEALTHY = TrainingSettings()
FAULTY_RUNS = {  # the variants of the experiment `sick` that the lesson compares with the healthy run
    "A": "100 sentences",
    "B": "softmax twice",
    "C": "rate 20 times too high",
    "D": "target not shifted",
    "E": "rate 50 times too small",
}
