"""The exercises of lesson 01: count n-grams, take a gradient step, measure perplexity, sample."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from course_lib.teaching.exercises import (
    ByHand,
    PlainExercise,
    Verdict,
    known_mistakes,
    wrong_verdict,
)
from course_lib.teaching.exercises.examination import Examination
from course_lib.teaching.exercises.mistakes import unrepaired
from lessons.l01_guessing_the_next_word import solutions

# ---- counting


COUNT_NEXT = PlainExercise(
    name="count_next",
    lesson="guessing_the_next_word",
    inputs=("sentences", "n"),
    reference=solutions.count_next,
    trains=False,
    by_hand=ByHand(
        inputs={"sentences": [["le", "chat", "dort"], ["le", "chat", "mange"]], "n": 2},
        answer={
            ("<s>",): {"le": 2},
            ("le",): {"chat": 2},
            ("chat",): {"dort": 1, "mange": 1},
            ("dort",): {"</s>": 1},
            ("mange",): {"</s>": 1},
        },
        says="With n = 2 the context is one word. Both sentences start with 'le', so 'le' follows the start "
        "token twice. 'chat' is followed once by 'dort' and once by 'mange', and each of those by the end "
        "token.",
    ),
    others=(
        lambda: ([["le", "chat", "dort"], ["le", "chat", "mange"]], 3),
        lambda: ([["la", "vache", "et", "la", "vache"], ["la", "vache", "dort"], ["dort"]], 2),
        lambda: ([["la", "vache", "et", "la", "vache"], ["la", "vache", "dort"], ["dort"]], 4),
        lambda: ([["le", "chat"], ["le", "chien"], []], 1),
        lambda: ([["oui"], [], ["oui"], ["oui", "oui", "oui"]], 3),
        lambda: ([], 2),
    ),
    unrepaired=unrepaired(solutions.count_next),
    slips=known_mistakes(solutions.count_next),
)

# ---- one gradient step


def small_network(seed: int, n_words: int, width: int, word: int, target: int, rate: float) -> Callable:
    def make() -> tuple:
        generator = torch.Generator("cpu").manual_seed(seed)
        embeddings = torch.randn((n_words, width), generator=generator, dtype=torch.float32, device="cpu")
        weight = torch.randn((n_words, width), generator=generator, dtype=torch.float32, device="cpu")
        return embeddings, weight, word, target, rate

    return make


def large_logits() -> tuple:
    """Logits of 100, 100 and 100.625: `exp` of them overflows, their softmax is harmless."""
    embeddings = torch.tensor([[1.0, -1.0], [10.0, 10.0], [2.0, 0.5]])
    return embeddings, torch.tensor([[5.0, 5.0], [5.25, 4.75], [5.0, 5.0625]]), 1, 2, 0.1


class RepeatedStep(PlainExercise):
    """A second step must be able to start from the result of the first, as in the lesson's training loop."""

    def find_further_problem(self, examination: Examination) -> Verdict | None:
        embeddings, weight, *others = self.others[0]()

        def take_two_steps() -> None:
            new_embeddings, new_weight, _ = examination.attempt(embeddings, weight, *others)
            examination.attempt(new_embeddings, new_weight, *others)

        result = examination.call(take_two_steps)
        if not result.failure:
            return None
        headline = "The first step is right, but a second one, which starts from its result, fails."
        advice = (
            "The new parameters seem to contain torch's record of how they were computed. Return them "
            "without it: `.detach()` gives the same numbers as an ordinary tensor."
        )
        return wrong_verdict(headline, f"{result.failure.line}\n\n{advice}", "one-step-only")


HALF_LN3 = math.log(3) / 2

GRADIENT_STEP = RepeatedStep(
    name="gradient_step",
    trains=False,
    seconds=10.0,  # on a busy machine the first use of torch.optim takes several
    lesson="guessing_the_next_word",
    inputs=("embeddings", "weight", "word", "target", "rate"),
    reference=solutions.gradient_step,
    answered_by=("torch.Tensor.backward", "torch.autograd.backward", "torch.autograd.grad"),
    variations=("tiny", "equal", "zero"),  # not large: −ln of a probability that is 0 in float32 is infinite
    by_hand=ByHand(
        inputs={
            "embeddings": torch.tensor([[2.0], [5.0]]),
            "weight": torch.tensor([[0.0], [HALF_LN3]]),
            "word": 0,
            "target": 0,
            "rate": 0.1,
        },
        answer=[[[2 - 0.075 * HALF_LN3], [5.0]], [[0.15], [HALF_LN3 - 0.15]], math.log(4)],
        says="The row of word 0 is (2). The logits are 0 · 2 = 0 and 0.549 · 2 = 1.099, the probabilities "
        "1/4 and 3/4, and the loss is −ln(1/4) = 1.386. The errors are 1/4 − 1 = −3/4 and 3/4. The gradient "
        "of each row of `weight` is its error times 2: −1.5 and 1.5. The gradient of the embedding is −3/4 "
        "· 0 + 3/4 · 0.549 = 0.412. Subtract 0.1 times each gradient. The other embedding doesn't change.",
    ),
    others=(
        small_network(0, 5, 2, 0, 2, 0.5),
        small_network(1, 4, 3, 3, 1, 0.1),
        small_network(2, 6, 4, 2, 2, 1.0),
        small_network(3, 3, 3, 1, 0, 0.01),
        large_logits,
    ),
    slips=known_mistakes(solutions.gradient_step),
)

# ---- perplexity


def perplexity(probabilities: Tensor) -> float:
    """A plain number, so that answers of any precision are right."""
    return solutions.perplexity(probabilities).item()


def random_probabilities(seed: int, count: int) -> Callable:
    def make() -> tuple[Tensor]:
        generator = torch.Generator("cpu").manual_seed(seed)
        return (0.01 + 0.98 * torch.rand(count, generator=generator, dtype=torch.float32, device="cpu"),)

    return make


PERPLEXITY = PlainExercise(
    name="perplexity",
    lesson="guessing_the_next_word",
    inputs=("probabilities",),
    reference=perplexity,
    trains=False,
    variations=("tiny", "equal"),  # larger numbers and zeros aren't probabilities of words that occurred
    by_hand=ByHand(
        inputs={"probabilities": torch.tensor([0.5, 0.125])},
        answer=4.0,
        says="One word had a probability of 1/2, the other of 1/8. Choosing among 2 words and then among 8 "
        "is as hard as choosing among 4 twice: 2 · 8 = 4 · 4. With logarithms: −ln ½ = 0.693 and −ln ⅛ = "
        "2.079, their mean is 1.386, and e to the power of 1.386 is 4.",
    ),
    others=(
        random_probabilities(0, 7),
        random_probabilities(1, 40),
        lambda: (torch.full((3,), 0.2),),
        lambda: (torch.full((2000,), 0.1),),
        lambda: (torch.tensor([1.0, 0.001]),),
        lambda: (torch.tensor([0.25]),),
        lambda: (torch.tensor([0.000001, 0.5, 0.5]),),
    ),
    unrepaired=unrepaired(solutions.perplexity),
    slips=known_mistakes(solutions.perplexity),
)


# ---- sampling a word


def is_whole(inputs: tuple, answer: object) -> str:
    is_float = answer.is_floating_point() if isinstance(answer, Tensor) else isinstance(answer, float)
    return "An index is a whole number, but your function returned a float." if is_float else ""


def draw_cases(*pairs: tuple[list[float], float]) -> tuple[Callable, ...]:
    return tuple(lambda numbers=numbers, u=u: (torch.tensor(numbers), u) for numbers, u in pairs)


SAMPLE_NEXT = PlainExercise(
    name="sample_next",
    lesson="guessing_the_next_word",
    inputs=("probabilities", "u"),
    reference=solutions.sample_next,
    trains=False,
    variations=(),  # varied numbers are no probability distribution
    demands=(is_whole,),
    by_hand=ByHand(
        inputs={"probabilities": torch.tensor([0.5, 0.25, 0.25]), "u": 0.6},
        answer=1,
        says="Word 0 covers the interval from 0 to 0.5, word 1 from 0.5 to 0.75, word 2 from 0.75 to 1. The "
        "number 0.6 is in the interval of word 1.",
    ),
    others=draw_cases(
        ([0.5, 0.25, 0.25], 0.1),
        ([0.5, 0.25, 0.25], 0.9),
        ([0.5, 0.25, 0.25], 0.5),
        ([0.5, 0.25, 0.25], 0.75),
        ([0.0, 0.5, 0.5], 0.0),
        ([0.5, 0.0, 0.5], 0.5),
        ([0.125, 0.125, 0.25, 0.5], 0.3),
        ([0.125, 0.125, 0.25, 0.5], 0.45),
        ([0.1, 0.6, 0.1, 0.2], 0.75),
        ([0.9, 0.02, 0.03, 0.05], 0.88),
        ([1.0], 0.7),
        ([0.25, 0.5, 0.249], 0.9995),
        ([n / 31375 for n in range(250, 0, -1)], 0.37),
    ),
    slips=known_mistakes(solutions.sample_next),
)

EXERCISES = (COUNT_NEXT, GRADIENT_STEP, PERPLEXITY, SAMPLE_NEXT)
