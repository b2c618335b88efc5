"""A small translator, trained in seconds by plain functions: lesson 15 hands over the learner's own.

    run = SmallRun(short_data(), forward=mine, step=my_training_step)
    while run.n_done < run.n_steps:
        run.learn()
    run.history[-1]["exact"]

Toy sentences of 3 to 6 English words, made of 80 different ones; a Transformer of one block on each side.
`Habits` are ways to get it wrong, for the lesson's clinic (`experiments/cpu_runs.py` recorded them).
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import mean

import torch
from torch import Tensor
from torch.nn import functional as F

from course_lib.models.registry import build
from course_lib.models.transformer import TransformerConfig
from course_lib.text.batch import Batch
from course_lib.text.batching import Epochs, Planned, Shape
from course_lib.text.encoded import EncodedCorpus
from course_lib.text.pair import Pair
from course_lib.text.special import EOS, PAD
from course_lib.text.toy.generate import generate
from course_lib.text.word_tokenizer import WordTokenizer
from course_lib.training.by_hand import Memory, Weights, smoothed_loss, training_step
from course_lib.training.checkpoint import load_checkpoint, save_checkpoint
from course_lib.training.corpora import TrainingData, encode_data, sides
from course_lib.training.recipe import learning_rate
from lessons.l14_the_transformer import by_parts

Loss = Callable[[Tensor, Tensor, float], Tensor]  # logits, targets, smoothing
Forward = Callable[[Weights, Tensor, Tensor, Tensor], Tensor]  # weights, source, target so far, mask: logits
Batcher = Callable[[list[int], int], list[list[int]]]  # lengths, room: places

N_HEADS, N_LAYERS, WIDTH = 4, 1, 64
N_WORDS, LONGEST = 80, 6  # English words that are known; words of an English sentence
N_DRAWN, N_TRAIN, N_VALIDATION = 16_000, 3000, 200
N_STEPS, TOKENS, VALIDATE_EVERY = 240, 256, 24


# ---- the sentences


def in_common_words(pairs: Iterable[Pair], n_words: int, counted: Iterable[Pair]) -> list[Pair]:
    """The pairs, no two alike, whose English has only the words that are most frequent in `counted`."""
    counts = Counter(word for pair in counted for word in pair.src)
    known = {word for word, _ in counts.most_common(n_words)}
    return list({pair.src: pair for pair in pairs if known.issuperset(pair.src)}.values())


def short_pairs(*, seed: int = 0) -> list[Pair]:
    """Short toy sentences, no two alike, all made of the most frequent words."""
    drawn = {pair.src: pair for pair in generate(N_DRAWN, seed=seed, length=(3, LONGEST))}.values()
    return in_common_words(drawn, N_WORDS, drawn)


def short_data(*, seed: int = 0, n_train: int = N_TRAIN) -> TrainingData:
    """The first of them to validate on, `n_train` others to learn from; one vocabulary for all sizes."""
    pairs = short_pairs(seed=seed)[: N_VALIDATION + N_TRAIN]
    both = sides(pairs)
    tokenizer = WordTokenizer.from_texts(both[0] + both[1])
    parts = slice(N_VALIDATION, N_VALIDATION + n_train), slice(N_VALIDATION)
    train, validation = (tuple(side[part] for side in both) for part in parts)
    return encode_data(f"short-{seed}-{n_train}", train, validation, tokenizer)


# ---- the network


def fresh_weights(vocab_size: int, *, seed: int) -> Weights:
    """An untrained Transformer, under the names of lesson 14."""
    torch.manual_seed(seed)
    config = TransformerConfig(
        vocab_size=vocab_size, d_model=WIDTH, n_heads=N_HEADS, d_ff=4 * WIDTH, n_layers=N_LAYERS, tied=True
    )
    model = build("transformer", config)
    return {name: one.detach().clone() for name, one in model.named_parameters()}


def forward(weights: Weights, source: Tensor, target: Tensor, may_look: Tensor) -> Tensor:
    """Logits, by the library's functions."""
    sizes = {"n_heads": N_HEADS, "n_layers": N_LAYERS, "may_look": may_look}
    return by_parts.stages(source, target, weights, **sizes)["logits"]


@dataclass(frozen=True, kw_only=True)
class Habits:
    """How a run is done. The first values are healthy."""

    rate: float = 5e-3
    warm_up: int = 24
    n_sentences: int = N_TRAIN
    shifted: bool = True  # the decoder reads the word before the one it is to say
    softmaxes: int = 1  # one is in the loss; a second is a mistake
    smoothing: float = 0.1
    healed_after: int | None = None  # behind this step the rate is a healthy run's


HEALTHY = Habits()
PATIENTS = {  # the variants of the experiment `sick`, as the lesson's clinic calls them
    "healthy": "healthy",
    "A": "100 sentences",
    "B": "softmax twice",
    "C": "rate 20 times too high",
    "D": "target not shifted",
    "E": "rate 50 times too small",
}


def loss_on(
    batch: Batch, habits: Habits, forward: Forward = forward, loss: Loss = smoothed_loss
) -> Callable[[Weights], Tensor]:
    """The loss of a batch, as a function of the weights."""

    def loss_of(weights: Weights) -> Tensor:
        read = batch.tgt_in if habits.shifted else batch.tgt_out
        logits = forward(weights, batch.src, read, (batch.src != PAD)[:, None, None])
        for _ in range(habits.softmaxes - 1):
            logits = logits.softmax(dim=-1)
        return loss(logits, batch.tgt_out, habits.smoothing)

    return loss_of


def said(weights: Weights, source: Tensor, n: int, forward: Forward = forward) -> Tensor:
    """n words for each source, greedily, each read in again; PAD behind the first EOS."""
    may_look = (source != PAD)[:, None, None]
    words = by_parts.likeliest(lambda said: forward(weights, source, said, may_look), len(source), n)
    words = F.pad(words, (0, n - words.shape[1]), value=PAD)
    ends = (words == EOS).int()
    return torch.where(ends.cumsum(dim=1) - ends > 0, PAD, words)


def exact_match(weights: Weights, batch: Batch, forward: Forward = forward) -> float:
    """The share of sentences said right, word for word, when it reads its own words."""
    right = said(weights, batch.src, batch.tgt_out.shape[1], forward) == batch.tgt_out
    return float(right.all(dim=1).float().mean())


# ---- the run


class Batches(Epochs):
    """The batches of a batcher: of the sentences in a new order each epoch, and these in a new order, too."""

    def __init__(self, corpus: EncodedCorpus, batcher: Batcher, *, tokens_per_batch: int, seed: int):
        self.batcher = batcher
        super().__init__(corpus, tokens_per_batch=tokens_per_batch, seed=seed)

    def _drawn(self, epoch: int) -> list[Planned]:
        draw, sizes = random.Random(f"{self.seed} {epoch}").random, self.corpus.lengths
        order = sorted(range(len(sizes)), key=lambda _: draw())
        found = self.batcher([max(sizes[pair]) for pair in order], self.tokens_per_batch)
        batches = [[order[place] for place in batch] for batch in found]
        shapes = [map(max, zip(*(sizes[pair] for pair in batch), strict=True)) for batch in batches]
        planned = zip(shapes, batches, strict=True)
        plan = [Planned(Shape(len(batch), *shape), tuple(batch)) for shape, batch in planned]
        self.n_batches = len(plan)  # a batcher of one's own may make one more in another order
        return sorted(plan, key=lambda _: draw())

    def seek(self, epoch: int, step: int) -> None:
        """Go to any batch of any epoch."""
        self.plan(epoch)
        super().seek(epoch, step)


class SmallRun:
    """Weights, optimizer state, and how far it is. A step is the same after a resume as without one."""

    def __init__(
        self,
        data: TrainingData,
        habits: Habits = HEALTHY,
        *,
        n_steps: int = N_STEPS,
        seed: int = 0,
        forward: Forward = forward,
        loss: Loss = smoothed_loss,
        step: Callable[..., tuple[float, Weights, Memory]] = training_step,
        batcher: Batcher | None = None,
        schedule: Callable[[int, int, int], float] | None = None,
    ):
        """Without a batcher the batches are the library's; without a schedule the rate falls to 0 at the end.

        A schedule is called as `paper_rate` is; it is scaled so that its peak is the habits' rate.
        """
        self.data, self.habits, self.n_steps, self.seed = data, habits, n_steps, seed
        self.forward, self._loss, self._step, self._schedule = forward, loss, step, schedule
        self.weights: Weights = fresh_weights(data.tokenizer.vocab_size, seed=seed)
        self.memory: Memory = {}
        self.history: list[dict[str, float]] = []
        self.losses: list[float] = []  # of the steps since the last validation
        self.n_done = 0
        given = {"tokens_per_batch": TOKENS, "seed": seed}
        self._batches = Batches(data.train, batcher, **given) if batcher else Epochs(data.train, **given)
        room = max(map(max, data.validation.lengths)) * len(data.validation)
        self.exam = next(Epochs(data.validation, tokens_per_batch=room, seed=0))

    def rate(self, step: int) -> float:
        """Up during warm-up, then down: in a straight line to 0, or as the schedule says."""
        habits = self.habits
        peak = HEALTHY.rate if step > (habits.healed_after or self.n_steps) else habits.rate
        if self._schedule:
            top = max(habits.warm_up, 1)
            return peak * self._schedule(step, WIDTH, top) / self._schedule(top, WIDTH, top)
        return learning_rate(step, peak=peak, warm_up=habits.warm_up, decay="linear", n_steps=self.n_steps)

    def learn(self) -> None:
        """One step, and validation now and then."""
        number = self.n_done + 1
        loss_of = loss_on(next(self._batches), self.habits, self.forward, self._loss)
        loss, self.weights, self.memory = self._step(
            self.weights, loss_of, self.memory, number, self.rate(number)
        )
        self.losses.append(float(loss))
        self.n_done = number
        if number % VALIDATE_EVERY == 0 or number == self.n_steps:
            self.history.append({"step": number, "train_loss": mean(self.losses), **self._validated()})
            self.losses = []

    @torch.no_grad()
    def _validated(self) -> dict[str, float]:
        """Loss on validation, without smoothing, and exact match."""
        plain = loss_on(self.exam, replace(self.habits, smoothing=0.0), self.forward, self._loss)
        exact = exact_match(self.weights, self.exam, self.forward)
        return {"loss": float(plain(self.weights)), "exact": exact}

    def translate(self, english: str) -> str:
        """A sentence, greedily."""
        source = torch.tensor([[*self.data.tokenizer.encode(english), EOS]])
        return self.data.tokenizer.decode(said(self.weights, source, 12, self.forward)[0].tolist())

    # -- keeping and going on

    @property
    def _about(self) -> dict:
        same = {"habits": asdict(self.habits), "n_steps": self.n_steps, "seed": self.seed}
        return {"run": same | {"data": self.data.fingerprint}}

    def keep(self, path: Path) -> None:
        """Everything that is needed to go on, in one file."""
        tensors = {f"weights.{name}": one for name, one in self.weights.items()}
        for name, both in self.memory.items():
            tensors |= {f"{kind}.{name}": one for kind, one in zip(("mean", "square"), both, strict=True)}
        position = tuple(self._batches.position)
        standing = {"step": self.n_done, "history": self.history, "losses": self.losses, "position": position}
        save_checkpoint(path, tensors, self._about | standing)

    def go_on(self, path: Path) -> bool:
        """Take up what the file holds; False where there is none, or one of another run."""
        if not path.exists():
            return False
        tensors, about = load_checkpoint(path)
        if about.get("run") != self._about["run"]:
            return False
        self.weights = {name: tensors[f"weights.{name}"] for name in self.weights}
        self.memory = {
            name: (tensors[f"mean.{name}"], tensors[f"square.{name}"])
            for name in self.weights
            if f"mean.{name}" in tensors
        }
        self.n_done, self.history, self.losses = about["step"], about["history"], about["losses"]
        self._batches.seek(*about["position"])
        return True
