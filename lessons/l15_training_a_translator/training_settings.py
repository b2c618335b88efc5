"""Training settings of lesson 15's small run and of its full run, and the faults that they can have.

>>> TrainingSettings(softmaxes=2).objective
{'shifted': True, 'softmaxes': 2, 'usual_rate_after': None}
>>> FULL_RUN.n_layers, FULL_RUN.d_model, FULL_RUN.n_steps
(2, 80, 2000)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from torch import Tensor, nn
from torch.func import functional_call

from course_lib.models.registry import make_config
from course_lib.models.transformer import TransformerConfig
from course_lib.text.batch import Batch
from course_lib.training.recipe import Recipe
from lessons.l15_training_a_translator.by_hand import Weights
from lessons.l15_training_a_translator.short_sentences import N_TRAIN

Loss = Callable[[Tensor, Tensor, float], Tensor]  # logits, targets, smoothing: the mean over the tokens


@dataclass(frozen=True, kw_only=True)
class TrainingSettings:
    """The sizes of a model and how it is trained. The defaults are those of a healthy small run.

    `n_scored` is the number of validation sentences that are translated at each validation.
    """

    rate: float = 5e-3
    warm_up: int = 24
    n_sentences: int = N_TRAIN
    shifted: bool = True  # the decoder reads the token before the one that it predicts
    softmaxes: int = 1  # the one in the loss; a second one is a fault
    smoothing: float = 0.1
    usual_rate_after: int | None = None  # after this step the rate is a healthy run's
    n_steps: int = 240
    tokens_per_batch: int = 256
    validate_every: int = 24
    n_scored: int = 200
    average_from: float = 1.0
    n_layers: int = 1
    d_model: int = 64
    n_heads: int = 4
    d_ff: int = 256

    def config(self, vocab_size: int) -> TransformerConfig:
        """The configuration of the model; without dropout."""
        sizes = {name: getattr(self, name) for name in ("n_layers", "d_model", "n_heads", "d_ff")}
        config = make_config("transformer", scale="toy", vocab_size=vocab_size)
        return replace(config, dropout=0.0, **sizes)

    def recipe(self, *, seed: int, fixed_shapes: bool = False) -> Recipe:
        """The hyperparameters for the library's training loop."""
        return Recipe(
            n_steps=self.n_steps,
            tokens_per_batch=self.tokens_per_batch,
            learning_rate=self.rate,
            warm_up=self.warm_up,
            decay="linear",
            smoothing=self.smoothing,
            seed=seed,
            validate_every=self.validate_every,
            average_from=self.average_from,
            fixed_shapes=fixed_shapes,
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
        self, model: nn.Module, batch: Batch, loss: Loss, *, smoothing: float
    ) -> Callable[[Weights], Tensor]:
        """The loss of a batch as a function of the weights."""

        def loss_of(weights: Weights) -> Tensor:
            target = batch.tgt_in if self.shifted else batch.tgt_out
            logits = functional_call(model, weights, (batch.src, batch.src_lengths, target))
            for _ in range(self.softmaxes - 1):
                logits = logits.softmax(dim=-1)
            return loss(logits, batch.tgt_out, smoothing)

        return loss_of


HEALTHY = TrainingSettings()
FULL_RUN = TrainingSettings(
    warm_up=200,
    n_sentences=20_000,
    n_steps=2000,
    tokens_per_batch=512,
    validate_every=125,
    n_scored=100,
    average_from=0.85,  # as in the library's runs: the result is the mean of the last weights
    n_layers=2,
    d_model=80,
    n_heads=5,
)
SENTENCES = (  # translated at every validation of the full run; none of them is a training sentence
    "the cat drank the water because it was thirsty",
    "some beautiful queens saw the houses",
    "the tired girls who do not take these small pears see her",
)
FAULTY_RUNS = {  # the variants of the experiment `sick` that the lesson compares with the healthy run
    "A": "100 sentences",
    "B": "softmax twice",
    "C": "rate 20 times too high",
    "D": "target not shifted",
    "E": "rate 50 times too small",
}
