"""The exercises of lesson 16: BLEU, the paired bootstrap, attention with a cache, one step of beam search."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from course_lib.teaching.exercises import ByHand, PlainExercise, Slip, known_mistakes
from course_lib.teaching.exercises.answer import Answer, describe_type, format_value
from course_lib.teaching.exercises.function_exercise import Case, Trial
from course_lib.teaching.exercises.mistakes import unrepaired
from course_lib.teaching.exercises.verdict import Verdict, join_paragraphs, wrong_verdict
from lessons.l16_decoding import solutions

TOPIC = "decoding"


def random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator("cpu").manual_seed(seed))


# ---- one step of a beam


class TableDecoder:
    """A small decoder: its state is the text that it has read; a table has the log-probabilities of the words
    that may follow a word."""

    def __init__(self, table: dict[str, dict[str, float]]):
        self.table = table

    def __repr__(self) -> str:
        return f"step, by the table {self.table}"

    def __call__(self, state: Any, word: str) -> tuple[dict[str, float], Any]:
        return dict(self.table.get(word, {"</s>": -0.1})), self.read(state, word)

    def read(self, state: str, word: str) -> str:
        return f"{state} {word}".strip()


class DictDecoder(TableDecoder):
    """Its state is a dictionary: unlike two texts, two states can't be sorted."""

    def read(self, state: dict[str, str], word: str) -> dict[str, str]:
        return {"read": super().read(state["read"], word)}


ARTICLES = {"the": {"cat": -3.0, "dog": -4.0}, "a": {"cat": -0.5, "dog": -1.0}}
FRENCH = {
    "le": {"chat": -0.5, "chien": -1.5, "lit": -2.5},
    "un": {"chat": -0.2, "chien": -1.9, "lit": -3.0},
    "ce": {"chat": -1.1, "chien": -1.3, "lit": -1.7},
}
VERBS = {"chat": {"dort": -0.2, "mange": -0.4}}  # hypotheses that end in the same word
CERTAIN = {"le": {"chat": 0.0}, "un": {"chat": -0.3, "lit": -0.5}}  # a word of probability 1
TIED = {"le": {"chat": -0.5, "lit": -3.0}, "un": {"chat": -1.0, "lit": -2.5}}  # both with "lit": −4, not kept
GROW = PlainExercise(
    name="grow",
    lesson=TOPIC,
    inputs=("sums", "sentences", "states", "step", "width"),
    reference=solutions.grow,
    unrepaired=unrepaired(solutions.grow),
    trains=False,
    by_hand=ByHand(
        inputs={
            "sums": [-1.0, -2.0],
            "sentences": [["the"], ["a"]],
            "states": ["", ""],
            "step": TableDecoder(ARTICLES),
            "width": 2,
        },
        answer=([-2.5, -3.0], [["a", "cat"], ["a", "dog"]], ["a", "a"]),
        says="“the” has a sum of −1 and continues with cat (−3) or dog (−4): −4 and −5. “a” has −2 and "
        "continues with cat (−0.5) or dog (−1): −2.5 and −3. The best two are “a cat” and “a dog”. Here a "
        "state is the text that has been read, so both states are “a”.",
    ),
    others=(
        lambda: (
            [-0.9, -1.0, -1.2],
            [["le"], ["un"], ["ce"]],
            ["x", "y", "z"],
            TableDecoder(FRENCH),
            3,
        ),
        lambda: ([0.0], [["le"]], ["start"], TableDecoder(FRENCH), 2),
        lambda: (
            [-3.0, -1.0],  # ranked by the mean of its words, the longer one would win
            [["je", "vois", "le"], ["ce"]],
            ["je vois", ""],
            TableDecoder(FRENCH),
            2,
        ),
        lambda: ([-1.0, -1.1], [["un"], ["ce"]], ["p", "q"], TableDecoder(FRENCH), 4),
        lambda: ([-2.0, -0.1], [["le"], ["un"]], ["p", "q"], TableDecoder(FRENCH), 1),
        lambda: ([-1.0, -1.1], [["le", "chat"], ["un", "chat"]], ["p", "q"], TableDecoder(VERBS), 3),
        lambda: ([-1.0, -1.1], [["un"], ["ce"]], ["p", "q"], TableDecoder(FRENCH), 9),
        lambda: (
            [-1.0, -1.5],
            [["le"], ["un"]],
            [{"read": "p"}, {"read": "q"}],
            DictDecoder(TIED),
            2,
        ),
        lambda: ([-1.0, -1.2], [["le"], ["un"]], ["p", "q"], TableDecoder(CERTAIN), 2),
        lambda: ([-1.0, -1.0], [["le"], ["le"]], ["p", "p"], TableDecoder(FRENCH), 2),  # equal sums
    ),
    slips=known_mistakes(solutions.grow),
)


# ---- BLEU


def grams(words: Sequence[str], n: int) -> list[tuple[str, ...]]:
    return [tuple(words[i : i + n]) for i in range(len(words) - n + 1)]


def matches(output: Sequence[str], reference: Sequence[str], n: int) -> tuple[int, int]:
    ours, theirs = Counter(grams(output, n)), Counter(grams(reference, n))
    return sum((ours & theirs).values()), max(len(output) - n + 1, 0)


def counts_of(
    translations: Sequence[Sequence[str]],
    references: Sequence[Sequence[str]],
    n: int,
    counts: Callable = matches,
) -> tuple[int, int]:
    """Matches and n-grams of a whole corpus."""
    pairs = [counts(output, right, n) for output, right in zip(translations, references, strict=True)]
    return sum(pair[0] for pair in pairs), sum(pair[1] for pair in pairs)


def lengths(translations: Sequence[Sequence[str]], references: Sequence[Sequence[str]]) -> tuple[int, int]:
    return sum(map(len, translations)), sum(map(len, references))


def words_of(text: str) -> list[str]:
    return text.split()


def brevity_penalty(c: int, r: int) -> float:
    return math.exp(min(0.0, 1 - r / c)) if c else 0.0


def geometric_mean(precisions: Sequence[float]) -> float:
    return math.prod(precisions) ** (1 / len(precisions))


def score(
    translations: Sequence[Sequence[str]],
    references: Sequence[Sequence[str]],
    *,
    counts: Callable = matches,
    orders: Sequence[int] = (1, 2, 3, 4),
    extra: Callable[[int], int] = lambda n: 0,
    mean: Callable[[Sequence[float]], float] = geometric_mean,
    penalty: Callable[[int, int], float] = brevity_penalty,
    zero_if: Callable[[int], bool] = lambda matched: matched == 0,
) -> float:
    """BLEU of a corpus, from 0 to 100; the options are ways to get it wrong."""
    precisions = []
    for n in orders:
        matched, total = counts_of(translations, references, n, counts)
        if zero_if(matched + extra(n)):
            return 0.0
        precisions.append((matched + extra(n)) / max(total + extra(n), 1))
    return 100 * mean(precisions) * penalty(*lengths(translations, references))


def corpus(*pairs: tuple[str, str]) -> Callable:
    return lambda: ([words_of(output) for output, _ in pairs], [words_of(right) for _, right in pairs])


GARDEN = "le petit chat noir dort dans le grand jardin"
DOG, BED = "un chien court dans la rue", "le chat dort dans le lit"
BLEU = PlainExercise(
    name="bleu_score",
    lesson=TOPIC,
    inputs=("translations", "references"),
    reference=solutions.bleu_score,
    answered_by=("sacrebleu.BLEU", "sacrebleu.corpus_bleu"),
    trains=False,
    by_hand=ByHand(
        inputs={
            "translations": [words_of("a b c d e f g h")],
            "references": [words_of("a b c d e f g h i j")],
        },
        answer=100 * math.exp(1 - 10 / 8),
        says="Every n-gram of the translation is in the reference, so all four precisions are 1. But the "
        "translation has 8 words and the reference 10, so the brevity penalty is exp(1 − 10/8) = "
        "exp(−0.25) = 0.779, and BLEU is 77.9.",
    ),
    others=(
        corpus(
            ("le chat noir dort dans le jardin", "le petit chat noir dort dans le jardin"),
            ("la femme ne voit pas le chien", "la femme ne voit pas le chien"),
        ),
        corpus((GARDEN.replace("dort", "ne dort pas"), GARDEN)),
        corpus((GARDEN, GARDEN)),
        corpus(("le matou sommeille dehors", GARDEN)),
        corpus(("le chat", "le chat"), (GARDEN, GARDEN.replace("noir", "blanc"))),
        corpus(("le le le le le le", "le chat dort sur le lit")),
        corpus(("le chat dort ici le chat dort ici", "le chat dort ici bien")),
        corpus((GARDEN + " ce soir", GARDEN), ("les chiens courent", "les deux chiens courent vite ici")),
        corpus((DOG, BED), (BED, DOG), (GARDEN, GARDEN)),
        corpus(("le chat", "le chat")),
        lambda: ([[]], [words_of("le chat")]),
    ),
    slips=known_mistakes(solutions.bleu_score),
)


# ---- the paired bootstrap

Score = Callable[[Tensor], Tensor | float]
ACCURATE = 10_000  # draws for the expected interval
FEW = 2  # rounds that can't give the expected interval
TOLERANCE = 0.25  # in standard deviations of the differences; a quantile of 2,000 draws varies by 0.06
KNOWN: dict[tuple, tuple[float, float, float]] = {}


def root_mean_square(values: Tensor) -> Tensor:
    return values.square().mean().sqrt()


def share_found(rows: Tensor) -> Tensor:
    """Of rows (found, words): a score of whole rows, as BLEU is, but fast."""
    return rows[..., 0].sum(dim=-1) / rows[..., 1].sum(dim=-1)


BATCHED: dict[Score, Score] = {  # the scores of many samples at once
    torch.mean: lambda samples: samples.flatten(1).mean(dim=-1),
    root_mean_square: lambda samples: samples.square().mean(dim=-1).sqrt(),
    share_found: share_found,
}
Draw = Callable[[int, int, torch.Generator], tuple[Tensor, Tensor]]


def scores_of(samples: Tensor, score: Score) -> Tensor:
    if score in BATCHED:
        return BATCHED[score](samples)
    return torch.tensor([float(score(sample)) for sample in samples])


def differences_of(one: Tensor, other: Tensor, score: Score, n_samples: int, seed: int, draw: Draw) -> Tensor:
    """The difference of the scores in each sample; `draw` makes the indices for the two systems."""
    rows, others = draw(n_samples, len(one), torch.Generator().manual_seed(seed))
    return scores_of(one[rows], score) - scores_of(other[others], score)


def draw_pairs(n_samples: int, n: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    rows = torch.randint(n, (n_samples, n), generator=generator)
    return rows, rows


def bootstrapped(
    one: Tensor,
    other: Tensor,
    score: Score = torch.mean,
    n_samples: int = 1000,
    seed: int = 0,
    *,
    draw: Draw = draw_pairs,
) -> tuple[float, float]:
    """As the solution, all samples at once; `draw` may draw them in another way."""
    differences = differences_of(one, other, score, n_samples, seed, draw)
    return differences.quantile(0.025).item(), differences.quantile(0.975).item()


def draw_separately(n_samples, n, generator):
    return draw_pairs(n_samples, n, generator)[0], draw_pairs(n_samples, n, generator)[0]


def as_many_as_samples(one, other, score, n_samples, seed):
    rows = torch.randint(len(one), (500, n_samples), generator=torch.Generator().manual_seed(seed))
    return bootstrapped(one, other, score, draw=lambda *_: (rows, rows))


@lru_cache(maxsize=500)
def interval_of(function: Callable, case: Case) -> tuple[float, float]:
    """What one of the course's own functions returns; each takes a while."""
    return function(*case.make())


def has_width(interval: Sequence[float]) -> bool:
    """Whether the ends differ by more than rounding, or aren't numbers."""
    return not abs(interval[1] - interval[0]) <= 1e-5


@dataclass(frozen=True, kw_only=True, eq=False)
class IntervalExercise(PlainExercise):
    """The answer is an interval from random draws: any draws are accepted, and both ends may deviate a
    little."""

    def expected_interval(self, inputs: Sequence[Any]) -> tuple[float, float, float]:
        """Low, high and the standard deviation of the differences, from many draws."""
        one, other, score, _, _ = inputs
        key = (one.numpy().tobytes(), other.numpy().tobytes(), score)
        if key not in KNOWN:
            found = differences_of(one, other, score, ACCURATE, 0, draw_pairs)
            KNOWN[key] = (found.quantile(0.025).item(), found.quantile(0.975).item(), found.std().item())
        return KNOWN[key]

    def is_close(self, inputs: Sequence[Any], interval: Sequence[float], answer: Sequence[float]) -> bool:
        """Whether two intervals differ by no more than random draws explain."""
        spread = max(self.expected_interval(inputs)[2], abs(interval[1] - interval[0]) / 4)
        pairs = zip(interval, answer, strict=True)
        return all(abs(expected - end) <= TOLERANCE * spread + 1e-5 for expected, end in pairs)

    def read(self, value: Any, case: Case) -> Answer | Verdict:
        answer = super().read(value, case)
        if isinstance(answer, Verdict):
            return answer
        try:
            low, high = (float(end) for end in value)
        except (TypeError, ValueError, RuntimeError):
            headline = (
                f"Expected two numbers, (low, high), but your function returned {describe_type(value)}."
            )
            return wrong_verdict(headline, "", "wrong-type")
        return Answer((low, high), answer.form_problems)

    def behaves_like(self, function: Callable, trial: Trial) -> bool:
        inputs = trial.case.make()
        if inputs[3] == FEW:  # says nothing about the method
            return True
        interval = interval_of(function, trial.case)
        if any(map(math.isnan, trial.answer)):
            return list(map(math.isnan, interval)) == list(map(math.isnan, trial.answer))
        same_kind = has_width(interval) == has_width(trial.answer)
        return same_kind and self.is_close(inputs, interval, trial.answer)

    def find_problem(self, trials: list[Trial]) -> Verdict | None:
        return next(filter(None, map(self._compare, trials)), None) or self._seed_ignored(trials)

    def _compare(self, trial: Trial) -> Verdict | None:
        inputs = trial.case.make()
        *expected, spread = self.expected_interval(inputs)
        if inputs[3] == FEW:
            return self._compare_few(inputs, expected, trial)
        if self.is_close(inputs, expected, trial.answer):
            return None
        where = (
            "worked example" if trial.case.by_hand else "reference solution, more than random draws explain"
        )
        headline, details, slip = f"Your interval differs from the {where}.", "", None
        if not has_width(trial.answer) and spread > 0:
            headline = "Your interval has no width: all differences are the same."
            details = (
                "Usually, the same sample is used every time, or the sentences are drawn without "
                "replacement, so that each sample contains all of them once. Draw a new sample in every "
                "round, in which a sentence may occur several times."
            )
            slip = "no-width"
        return wrong_verdict(
            headline,
            join_paragraphs(details, self.by_hand.explanation if trial.case.by_hand else ""),
            slip,
            given=self.describe_call(trial.case),
            expected=f"about {format_value(tuple(expected))}",
            got=format_value(trial.answer),
        )

    def _compare_few(self, inputs: Sequence[Any], expected: Sequence[float], trial: Trial) -> Verdict | None:
        """Two differences don't reach both ends of the interval of thousands."""
        if not self.is_close(inputs, expected, trial.answer):
            return None
        return wrong_verdict(
            f"With `n_samples={FEW}`, your interval is as wide as with thousands of rounds.",
            "`n_samples` is the number of rounds. Use it in the loop instead of a fixed number.",
            "n-samples-ignored",
            given=self.describe_call(trial.case),
            got=format_value(trial.answer),
        )

    def _seed_ignored(self, trials: list[Trial]) -> Verdict | None:
        """Two of the cases differ in their seed only, and no two intervals of random samples are equal."""
        answers: dict[tuple, list] = {}
        for trial in trials:
            one, _, score, _, _ = trial.case.make()
            if len(one) > 2:
                answers.setdefault((one.numpy().tobytes(), score), []).append(trial.answer)
        if not any(len(same) > 1 and len(set(same)) == 1 for same in answers.values()):
            return None
        return wrong_verdict(
            "Different seeds give exactly the same interval.",
            "Use `seed` for the generator: `torch.Generator().manual_seed(seed)`.",
            "seed-ignored",
        )

    def praise(self, n_others: int) -> str:
        return (
            f"Correct on the worked example. On {n_others} other inputs, it is as close to the expected "
            "interval as random draws allow."
        )


def noisy_scores(n: int, seed: int) -> tuple[Tensor, Tensor]:
    """Two systems that find the same sentences difficult."""
    difficulty = random(n, seed=seed)
    return difficulty + 0.3 * random(n, seed=seed + 1) + 0.2, difficulty + 0.3 * random(n, seed=seed + 2)


def random_rows(n: int, seed: int) -> Tensor:
    words = 8 + (4 * random(n, seed=seed).abs()).round()
    return torch.stack([(words - random(n, seed=seed + 1).abs().round()).clamp(min=0), words], dim=1)


SIMILAR, SKEWED = noisy_scores(50, 0), tuple((1.5 * values).exp() for values in noisy_scores(30, 10))
ROWS = random_rows(40, 20), random_rows(40, 30)
UNEQUAL = random(25, seed=40) * 3, random(25, seed=41)


def interval_case(
    pair: tuple[Tensor, Tensor], score: Score = torch.mean, n: int = 2000, seed: int = 0
) -> Callable:
    return lambda: (pair[0].clone(), pair[1].clone(), score, n, seed)


PAIRED_BOOTSTRAP = IntervalExercise(
    name="paired_bootstrap",
    lesson=TOPIC,
    inputs=("one", "other", "score", "n_samples", "seed"),
    reference=bootstrapped,  # faster than the solution
    trains=False,
    variations=(),
    seconds=20.0,
    by_hand=ByHand(
        inputs={
            "one": torch.tensor([1.0, 0.0]),
            "other": torch.tensor([0.0, 0.0]),
            "score": torch.mean,
            "n_samples": 1000,
            "seed": 0,
        },
        answer=(0.0, 1.0),
        says="There are two sentences, and only the first is right with system one. A sample of two is "
        "(1, 1), (1, 2), (2, 1) or (2, 2), each with probability ¼. The differences of the means are 1, 0.5, "
        "0.5 and 0. The extreme values 0 and 1 each occur in about 25% of the samples, more than the 2.5% "
        "that are cut off at each end, so the interval is from 0 to 1.",
    ),
    others=(
        interval_case(SIMILAR),
        interval_case(SIMILAR, seed=7),
        interval_case(ROWS, share_found),
        interval_case(SKEWED, n=2000),
        interval_case(UNEQUAL, root_mean_square, n=2000, seed=3),
        interval_case((torch.tensor([0.75]), torch.tensor([0.25])), n=100),
        interval_case(UNEQUAL, n=FEW),
    ),
    slips=(
        *known_mistakes(solutions.paired_bootstrap),
        Slip(
            "wrong-size",
            as_many_as_samples,
            "each sample has `n_samples` sentences. It should have as many as the test set, `len(one)`; "
            "`n_samples` is the number of rounds.",
        ),
    ),
)


# ---- the cache


def cache_case(seed: int, batch: int, t: int, d: int, n_heads: int) -> Callable:
    x = random(batch, 1, d, seed=seed)
    past = tuple(random(batch, n_heads, t, d // n_heads, seed=seed + i) for i in (1, 2))
    matrices = [random(d, d, seed=seed + 3 + i) / math.sqrt(d) for i in range(4)]
    return lambda: (
        x.clone(),
        tuple(part.clone() for part in past),
        *(matrix.clone() for matrix in matrices),
        n_heads,
    )


LN3 = math.log(3)
CACHED_ATTENTION = PlainExercise(
    name="cached_attention",
    lesson=TOPIC,
    inputs=("x", "past", "w_q", "w_k", "w_v", "w_o", "n_heads"),
    reference=solutions.cached_attention,
    trains=False,  # a cache serves decoding
    by_hand=ByHand(
        inputs={
            "x": torch.tensor([[[1.0]]]),
            "past": (torch.tensor([[[[0.0]]]]), torch.tensor([[[[4.0]]]])),
            "w_q": torch.tensor([[1.0]]),
            "w_k": torch.tensor([[LN3]]),
            "w_v": torch.tensor([[8.0]]),
            "w_o": torch.tensor([[10.0]]),
            "n_heads": 1,
        },
        answer=(
            torch.tensor([[[70.0]]]),
            (torch.tensor([[[[0.0], [LN3]]]]), torch.tensor([[[[4.0], [8.0]]]])),
        ),
        says="One head of width 1. The cache holds one token: key 0, value 4. The new token has the query 1, "
        "the key ln 3 and the value 8, so the keys are now (0, ln 3) and the values (4, 8). The scores are 0 "
        "and ln 3, the attention weights 1/4 and 3/4, and their weighted sum is 1/4 · 4 + 3/4 · 8 = 7. "
        "Times W_O that is 70. The returned cache holds both tokens.",
    ),
    others=(
        cache_case(0, 1, 2, 4, 2),
        cache_case(10, 2, 3, 12, 3),
        cache_case(20, 1, 0, 8, 4),
        cache_case(30, 3, 6, 6, 1),
        cache_case(40, 1, 130, 4, 2),
    ),
    slips=known_mistakes(solutions.cached_attention),
)


EXERCISES = (BLEU, PAIRED_BOOTSTRAP, CACHED_ATTENTION, GROW)
