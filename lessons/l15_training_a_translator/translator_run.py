"""A translator from the learner's own file, trained with the learner's own functions.

    run = TranslatorRun(short_data(), file="notebooks/my_transformer.py", step=my_training_step)
    run.train()
    run.history[-1].scores["exact"]

One class serves the small run (`HEALTHY`, seconds on a CPU) and the full one (`FULL_RUN`). Without a file,
the model is the library's Transformer. Settings can have faults (`training_settings.py`); the lesson compares
such runs with a healthy one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F

from course_lib.models.own_file import own_transformer
from course_lib.models.registry import build
from course_lib.models.translator import Translator
from course_lib.shapes import Int, Tensor
from course_lib.text.batch import Batch
from course_lib.text.special import PAD
from course_lib.text.toy.splits import splits
from course_lib.training.data import TrainingData
from course_lib.training.loop import AfterValidation, Score, train
from course_lib.training.recipe import learning_rate
from course_lib.training.run_folder import History, RunFolder, RunState, describe
from course_lib.translation.evaluation import evaluate
from course_lib.translation.pipeline import translate
from course_lib.translation.search import greedy
from lessons.l15_training_a_translator.by_hand import smoothed_loss, training_step
from lessons.l15_training_a_translator.own_parts import Batcher, BatcherEpochs, FunctionStep, TrainingStep
from lessons.l15_training_a_translator.training_settings import HEALTHY, Loss, TrainingSettings


class TranslatorRun:
    """A model, the functions that train it, and what the training recorded."""

    def __init__(
        self,
        data: TrainingData,
        settings: TrainingSettings = HEALTHY,
        *,
        file: Path | str | None = None,
        seed: int = 0,
        device: torch.device | str = "cpu",
        loss: Loss = smoothed_loss,
        step: TrainingStep | None = training_step,
        batcher: Batcher | None = None,
        schedule: Callable[[int, int, int], float] | None = None,
        watched: Sequence[str] = (),
    ):
        """Without a batcher the batches are the library's; without a schedule the rate falls to 0 at the end.

        A schedule is called as `paper_rate` is, and scaled so that its peak is the rate of the settings.
        Without a `step` the library's own one takes its place, which on a GPU is a CUDA graph.
        `watched` are sentences to translate at every validation.
        """
        self.device = torch.device(device)
        self.data, self.settings, self.seed, self.file = data.to(self.device), settings, seed, file
        captured = step is None and self.device.type == "cuda"
        self.recipe = settings.recipe(seed=seed, fixed_shapes=captured)
        self._loss, self._step, self._batcher, self._schedule = loss, step, batcher, schedule
        self.watched = tuple(watched)
        self.model, self.state = self._untrained(), RunState()
        self.validation_batch = first_sentences(self.data, settings.n_scored)

    def _untrained(self) -> Translator:
        torch.manual_seed(self.seed)
        config = self.settings.config(self.data.tokenizer.vocab_size)
        model = own_transformer(self.file, config) if self.file else build("transformer", config)
        return model.to(self.device)

    @property
    def history(self) -> History:
        """A record for each validation, with the score "exact" and the "translations" of `watched`."""
        return self.state.history

    @property
    def has_own_step(self) -> bool:
        """Whether a step, batches and a schedule of the learner's are used, and not the library's step."""
        return self._step is not None

    @property
    def finished(self) -> bool:
        return self.state.ended == "finished"

    def rate(self, step: int) -> float:
        """Up during warm-up, then down: in a straight line to 0, or by the schedule.

        With a schedule but no warm-up, only the climb is missing: the rate stays at its peak for the first
        tenth of the steps. A warm-up of 0 in the formula of the 2017 paper would be a division by 0.
        """
        peak, warm_up = self.settings.peak(step), self.settings.warm_up
        if self._schedule:
            top, width = warm_up or max(self.settings.n_steps // 10, 1), self.settings.d_model
            now = self._schedule(step if warm_up else max(step, top), width, top)
            return peak * now / self._schedule(top, width, top)
        return learning_rate(step, peak=peak, warm_up=warm_up, decay="linear", n_steps=self.recipe.n_steps)

    # -- training

    def folder(self, path: Path, *, restart: bool = False) -> RunFolder:
        """Where checkpoints of this run are kept."""
        about = describe("transformer", self.model.config, self.recipe, self.data)
        own = {"own_file": Path(self.file).name} if self.file else {}
        # In "objective" too, so that a run of the library's model isn't resumed with the learner's.
        return RunFolder(path, about | own | {"objective": self.settings.objective | own}, restart=restart)

    def train(
        self,
        *,
        folder: RunFolder | None = None,
        until: int | None = None,
        score: Score | None = None,
        after_validation: AfterValidation | None = None,
    ) -> TranslatorRun:
        """Train from the first step, or from the checkpoint in the folder, to the end or to step `until`.

        Afterwards the model has the weights with the lowest validation loss. `score` replaces exact match.
        """
        self.model = self._untrained()
        options = self.own_parts() if self.has_own_step else {}
        self.state = train(
            self.model,
            self.data.train,
            self.recipe,
            validation=self.data.validation,
            folder=folder,
            score=score or self.score,
            until=until,
            after_validation=after_validation,
            **options,
        )
        return self

    def own_parts(self) -> dict[str, object]:
        """The learner's step, batches, schedule and loss, for the library's loop."""
        model, settings = self.model, self.settings
        batches = None
        if self._batcher:
            sizes = {"tokens_per_batch": settings.tokens_per_batch, "seed": self.seed}
            batches = BatcherEpochs(self.data.train, self._batcher, **sizes)

        def loss_of(batch: Batch) -> Callable:
            return settings.loss_of(model, batch, self._loss, smoothing=settings.smoothing)

        step = FunctionStep(model, self.objective, self.recipe, loss_of, self._step)
        return {"objective": self.objective, "step": step, "batches": batches, "schedule": self.rate}

    def objective(self, model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
        """The summed loss of a batch, without smoothing at validation, and its number of tokens."""
        smoothing = self.settings.smoothing if model.training else 0.0
        loss_of = self.settings.loss_of(model, batch, self._loss, smoothing=smoothing)
        return loss_of(dict(model.named_parameters())) * batch.n_tokens, batch.n_tokens

    # -- translations

    def score(self, model: Translator) -> dict[str, float | list[str]]:
        """Exact match, and the translations of the watched sentences."""
        if not self.watched:
            return self.exact_match(model)
        return self.exact_match(model) | {"translations": self.translations(model)}

    def translations(self, model: Translator | None = None) -> list[str]:
        """The greedy translations of the watched sentences."""
        found = translate(self.watched, model or self.model, self.data.tokenizer)
        return [translation.target for translation in found]

    def exact_match(self, model: Translator | None = None) -> dict[str, float]:
        """The fraction of the validation sentences whose greedy translation is right, word for word."""
        targets = self.validation_batch.tgt_out
        outputs = self.outputs(targets.shape[1], model)
        outputs = F.pad(outputs, (0, targets.shape[1] - outputs.shape[1]), value=PAD)
        return {"exact": float((outputs == targets).all(dim=1).float().mean())}

    def outputs(self, max_len: int, model: Translator | None = None) -> Int[Tensor, "batch tgt"]:
        """The first tokens of the greedy translation of every scored sentence; PAD after EOS."""
        model, batch = model or self.model, self.validation_batch
        return greedy(model, model.encode(batch.src, batch.src_lengths), max_len=max_len).ids

    def test_exact(self, n_sentences: int = 1000) -> float:
        """The fraction of test sentences of the toy language that are translated without an error."""
        test = splits(seed=0, sizes={"test": n_sentences}).test
        return evaluate(self.model, self.data.tokenizer, test).exact

    def translate(self, english: str) -> str:
        """The greedy translation of a sentence."""
        [translation] = translate([english], self.model, self.data.tokenizer)
        return translation.target


def first_sentences(data: TrainingData, n: int) -> Batch:
    """The first `n` validation sentences in one batch."""
    corpus = data.validation
    indices = torch.arange(min(n, len(corpus)), device=corpus.device)
    src_len, tgt_len = (max(sizes) for sizes in zip(*corpus.lengths[: len(indices)], strict=True))
    return corpus.batch(indices, src_len=src_len, tgt_len=tgt_len)
