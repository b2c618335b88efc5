"""The exercises of lesson 01: count, learn by one step, measure, test the measure, and draw a word."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from course_lib.teaching.exercises import ByHand, PlainExercise, Slip, TestExercise

START, END = "<s>", "</s>"
Counts = dict[tuple[str, ...], Counter]

# ---- counting


def count_next(sentences: Sequence[Sequence[str]], n: int) -> Counts:
    """How often each word followed each past of n - 1 words."""
    return count_windows([[START] * (n - 1) + list(words) + [END] for words in sentences], n)


def count_windows(rows: Sequence[Sequence[str]], n: int) -> Counts:
    """Every window of n words in each row of words and marks."""
    counts: Counts = defaultdict(Counter)
    for row in rows:
        for i in range(n - 1, len(row)):
            counts[tuple(row[i - n + 1 : i])][row[i]] += 1
    return dict(counts)


def once_each(sentences, n):
    return {past: dict.fromkeys(after, 1) for past, after in count_next(sentences, n).items()}


def whole_window(sentences, n):
    counts = defaultdict(Counter)
    for past, after in count_next(sentences, n).items():
        for word, count in after.items():
            counts[(*past, word)][word] += count
    return dict(counts)


def as_text(sentences, n):
    return {" ".join(past): after for past, after in count_next(sentences, n).items()}


def bare_word(sentences, n):
    return {past[0] if n == 2 else past: after for past, after in count_next(sentences, n).items()}


def as_probabilities(sentences, n):
    counts = count_next(sentences, n)
    return {past: {word: k / after.total() for word, k in after.items()} for past, after in counts.items()}


COUNT_NEXT = PlainExercise(
    name="count_next",
    lesson="guessing_the_next_word",
    inputs=("sentences", "n"),
    reference=count_next,
    by_hand=ByHand(
        inputs={"sentences": [["le", "chat", "dort"], ["le", "chat", "mange"]], "n": 2},
        answer={
            ("<s>",): {"le": 2},
            ("le",): {"chat": 2},
            ("chat",): {"dort": 1, "mange": 1},
            ("dort",): {"</s>": 1},
            ("mange",): {"</s>": 1},
        },
        says="With n = 2 the past is one word. Both sentences begin with 'le', so after the start mark comes "
        "'le', twice. After 'chat' comes 'dort' once and 'mange' once; after each of them the end mark.",
    ),
    others=(
        lambda: ([["le", "chat", "dort"], ["le", "chat", "mange"]], 3),
        lambda: ([["la", "vache", "et", "la", "vache"], ["la", "vache", "dort"], ["dort"]], 2),
        lambda: ([["la", "vache", "et", "la", "vache"], ["la", "vache", "dort"], ["dort"]], 4),
        lambda: ([["le", "chat"], ["le", "chien"], []], 1),
    ),
    slips=(
        Slip(
            "across-sentences",
            lambda sentences, n: count_windows(
                [[w for words in sentences for w in [*[START] * (n - 1), *words, END]]], n
            ),
            "a past reaches over the end of a sentence into the one before. Count each sentence by itself.",
        ),
        Slip(
            "no-end-mark",
            lambda sentences, n: count_windows([[START] * (n - 1) + list(words) for words in sentences], n),
            "the end of a sentence is not counted. Is the end mark `</s>` there, and does the loop reach it?",
        ),
        Slip(
            "no-start-mark",
            lambda sentences, n: count_windows([[*words, END] for words in sentences], n),
            "the first words of a sentence are not counted. Put n - 1 start marks `<s>` in front of it.",
        ),
        Slip(
            "no-marks",
            lambda sentences, n: count_windows(sentences, n),
            "the marks are missing: n - 1 start marks before each sentence, one end mark after it.",
        ),
        Slip(
            "one-start-mark",
            lambda sentences, n: count_windows([[START, *words, END] for words in sentences], n),
            "there is always one start mark. A past of n - 1 words needs n - 1 before the first word.",
        ),
        Slip(
            "one-too-many",
            lambda sentences, n: count_windows([[START] * n + list(words) + [END] for words in sentences], n),
            "there is a start mark too many: after n - 1 of them comes the first word.",
        ),
        Slip(
            "once-each",
            once_each,
            "every word is counted once, however often it came. Add 1 each time.",
        ),
        Slip(
            "past-too-long",
            whole_window,
            "the past holds the next word too. It is the n - 1 words before it.",
        ),
        Slip(
            "past-as-text",
            as_text,
            "the past is one string. It is wanted as a tuple of words: `tuple(...)`.",
        ),
        Slip(
            "bare-word",
            bare_word,
            "for n = 2 the past is a bare word. It is a tuple with one word in it, `('le',)`.",
        ),
        Slip(
            "shares",
            as_probabilities,
            "these are shares. The counts themselves are asked for; dividing comes later.",
        ),
    ),
)

# ---- one step of learning


def gradient_step(
    table: Tensor, matrix: Tensor, word: int, right: int, rate: float
) -> tuple[Tensor, Tensor, Tensor]:
    """One step of gradient descent for the smallest network: a row of a table, a matrix, a softmax."""
    return changed_step(table, matrix, word, right, rate)


def changed_step(
    table: Tensor,
    matrix: Tensor,
    word: int,
    right: int,
    rate: float,
    *,
    subtract_one: bool = True,
    table_factor: float = 1.0,
    matrix_factor: float = 1.0,
    with_new_matrix: bool = False,
    row: int | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """The step, or one with a slip: a factor scales the update of the table or of the matrix."""
    x = table[word]
    error = torch.softmax(matrix @ x, dim=0)
    error[right] -= 1 if subtract_one else 0
    new_matrix = matrix - matrix_factor * rate * torch.outer(error, x)
    new_table = table.clone()
    gradient = (new_matrix if with_new_matrix else matrix).T @ error
    new_table[word if row is None else row] -= table_factor * rate * gradient
    return new_table, new_matrix, -torch.log_softmax(matrix @ x, dim=0)[right]


def with_loss(loss: Callable, *, after: bool = False) -> Callable:
    """The right step with another loss, computed from the probabilities before or after the step."""

    def wrong(table, matrix, word, right, rate):
        new_table, new_matrix, _ = gradient_step(table, matrix, word, right, rate)
        logits = new_matrix @ new_table[word] if after else matrix @ table[word]
        return new_table, new_matrix, loss(torch.softmax(logits, dim=0), right)

    return wrong


def every_row(table, matrix, word, right, rate):
    new_table, new_matrix, loss = gradient_step(table, matrix, word, right, rate)
    return table + (new_table - table)[word], new_matrix, loss


def small_network(seed: int, n_words: int, width: int, word: int, right: int, rate: float) -> Callable:
    def make() -> tuple:
        generator = torch.Generator("cpu").manual_seed(seed)
        table = torch.randn((n_words, width), generator=generator, dtype=torch.float32, device="cpu")
        matrix = torch.randn((n_words, width), generator=generator, dtype=torch.float32, device="cpu")
        return table, matrix, word, right, rate

    return make


HALF_LN3 = math.log(3) / 2

GRADIENT_STEP = PlainExercise(
    name="gradient_step",
    trains=False,
    lesson="guessing_the_next_word",
    inputs=("table", "matrix", "word", "right", "rate"),
    reference=gradient_step,
    by_hand=ByHand(
        inputs={
            "table": torch.tensor([[2.0], [5.0]]),
            "matrix": torch.tensor([[0.0], [HALF_LN3]]),
            "word": 0,
            "right": 0,
            "rate": 0.1,
        },
        answer=[[[2 - 0.075 * HALF_LN3], [5.0]], [[0.15], [HALF_LN3 - 0.15]], math.log(4)],
        says="The row of word 0 is (2). The logits are 0 · 2 = 0 and 0.549 · 2 = 1.099, the shares 1/4 and "
        "3/4, and the loss is −ln(1/4) = 1.386. The errors are 1/4 − 1 = −3/4 and 3/4. Each row of the "
        "matrix has the gradient error · 2: −1.5 and 1.5. The row of the table has −3/4 · 0 + 3/4 · 0.549 "
        "= 0.412. Take 0.1 of each away. The other row of the table stays.",
    ),
    others=(
        small_network(0, 5, 2, 0, 2, 0.5),
        small_network(1, 4, 3, 3, 1, 0.1),
        small_network(2, 6, 4, 2, 2, 1.0),
        small_network(3, 3, 3, 1, 0, 0.01),
    ),
    slips=(
        Slip(
            "uphill",
            lambda *given: changed_step(*given, table_factor=-1, matrix_factor=-1),
            "the step goes uphill: the loss grows. Take the gradient away instead of adding it.",
        ),
        Slip(
            "table-stays",
            lambda *given: changed_step(*given, table_factor=0),
            "the table has not moved. The row of `word` is learned too.",
        ),
        Slip(
            "matrix-stays",
            lambda *given: changed_step(*given, matrix_factor=0),
            "the matrix has not moved. Every row of it is learned: error times `x`.",
        ),
        Slip(
            "no-minus-one",
            lambda *given: changed_step(*given, subtract_one=False),
            "the shares themselves are taken for the errors. For the right word it is the share minus 1.",
        ),
        Slip(
            "new-matrix",
            lambda *given: changed_step(*given, with_new_matrix=True),
            "the table's gradient is computed with the matrix as it is after its step. Compute all gradients "
            "first, then move.",
        ),
        Slip(
            "no-rate",
            lambda table, matrix, word, right, rate: gradient_step(table, matrix, word, right, 1.0),
            "the learning rate is not used: the whole gradient is taken away.",
        ),
        Slip(
            "wrong-row",
            lambda table, matrix, word, right, rate: changed_step(
                table, matrix, word, right, rate, row=right
            ),
            "the row of the right word has moved. What was read is `word`: its row is learned.",
        ),
        Slip(
            "every-row",
            every_row,
            "every row of the table has moved. Only the row that was read took part.",
        ),
        Slip(
            "loss-after",
            with_loss(lambda probabilities, right: -probabilities[right].log(), after=True),
            "the loss is that after the step. Return the one before: it is what the step was made from.",
        ),
        Slip(
            "no-log",
            with_loss(lambda probabilities, right: 1 - probabilities[right]),
            "the loss is 1 − share. Cross-entropy is −ln(share).",
        ),
        Slip(
            "positive-log",
            with_loss(lambda probabilities, right: probabilities[right].log()),
            "the loss has the wrong sign: it is minus the logarithm.",
        ),
        Slip(
            "loss-of-likeliest",
            with_loss(lambda probabilities, right: -probabilities.max().log()),
            "the loss is that of the likeliest word. It is about the right word: `probabilities[right]`.",
        ),
    ),
)

# ---- perplexity


def perplexity(probabilities: Tensor) -> Tensor:
    """e to the mean loss."""
    return torch.exp(-torch.log(probabilities).mean())


def first_version(probabilities):
    typical = probabilities.mean()
    return 1 / typical


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
    by_hand=ByHand(
        inputs={"probabilities": torch.tensor([0.5, 0.125])},
        answer=4.0,
        says="One word had 1 chance in 2, the other 1 in 8. Wavering among 2, then among 8 words is as hard "
        "as wavering among 4 twice: 2 · 8 = 4 · 4. With logarithms: −ln ½ = 0.693 and −ln ⅛ = 2.079, their "
        "mean is 1.386, and e to that is 4.",
    ),
    others=(
        random_probabilities(0, 7),
        random_probabilities(1, 40),
        lambda: (torch.full((3,), 0.2),),
        lambda: (torch.full((2000,), 0.1),),
        lambda: (torch.tensor([1.0, 0.001]),),
    ),
    unrepaired=first_version,
    slips=(
        Slip(
            "mean-of-inverses",
            lambda probabilities: (1 / probabilities).mean(),
            "the numbers of choices, 1/chance, are averaged. One great surprise then drowns all the rest: "
            "average the logarithms.",
        ),
        Slip(
            "product",
            lambda probabilities: probabilities.prod() ** (-1 / len(probabilities)),
            "the chances are multiplied first. On paper that is right; for 2,000 words the product is so "
            "small that the computer rounds it to 0. Add logarithms instead.",
        ),
        Slip(
            "no-minus",
            lambda probabilities: torch.exp(torch.log(probabilities).mean()),
            "the minus is missing: this is a typical chance, not a number of choices.",
        ),
        Slip(
            "cross-entropy",
            lambda probabilities: -torch.log(probabilities).mean(),
            "this is the cross-entropy. Raise e to it.",
        ),
        Slip(
            "sum",
            lambda probabilities: torch.exp(-torch.log(probabilities).sum()),
            "the surprises are added, not averaged: a longer text would always be worse.",
        ),
        Slip(
            "two-and-e",
            lambda probabilities: 2 ** (-torch.log(probabilities).mean()),
            "the logarithm is to the base e and the power to the base 2. Take e for both, or 2 for both.",
        ),
        Slip(
            "e-and-two",
            lambda probabilities: torch.exp(-torch.log2(probabilities).mean()),
            "the logarithm is to the base 2 and the power to the base e. Take e for both, or 2 for both.",
        ),
        Slip(
            "likeliest-only",
            lambda probabilities: 1 / probabilities.max(),
            "only the largest chance counts. Every word of the text does.",
        ),
    ),
)


def in_bits(probabilities: Tensor) -> Tensor:
    return 2 ** (-torch.log2(probabilities).mean())


def geometric(probabilities: Tensor) -> float:
    return math.prod(float(probability) ** (-1 / len(probabilities)) for probability in probabilities)


def with_math(probabilities: Tensor) -> float:
    return math.exp(-sum(math.log(float(probability)) for probability in probabilities) / len(probabilities))


def careful_test(implementation: Callable) -> None:
    for probabilities, expected in (([0.5, 0.125], 4.0), ([0.2, 0.2, 0.2], 5.0), ([1.0, 1.0], 1.0)):
        assert abs(float(implementation(torch.tensor(probabilities))) - expected) < 1e-3


MEAN_OF_PROBABILITIES = Slip(
    "mean-of-chances", first_version, "the chances are averaged, not their logarithms."
)

TEST_PERPLEXITY = TestExercise(
    name="test_perplexity",
    lesson="guessing_the_next_word",
    inputs={"perplexity": "a function"},
    of=replace(PERPLEXITY, unrepaired=None, slips=(MEAN_OF_PROBABILITIES, *PERPLEXITY.slips)),
    what="perplexity",
    accepts={
        "in bits": in_bits,
        "as a product of roots": geometric,
        "without torch": with_math,
    },
    rejects={
        "mean-of-chances": "averages the chances themselves",
        "mean-of-inverses": "averages the numbers of choices",
        "no-minus": "forgets the minus",
        "cross-entropy": "stops at the cross-entropy",
        "sum": "adds where it should average",
        "two-and-e": "mixes e and 2 as a base",
        "e-and-two": "mixes 2 and e as a base",
        "likeliest-only": "looks at the largest chance alone",
    },
    reference=careful_test,
)

# ---- drawing a word


def sample_next(probabilities: Tensor, lot: float) -> int:
    """The index of the interval that holds the lot, where the probabilities divide the line from 0 to 1."""
    total = 0.0
    for index, probability in enumerate(probabilities):
        total += float(probability)
        if lot < total:
            return index
    return len(probabilities) - 1


def unclamped(probabilities, lot, *, edge: bool = False) -> int:
    """As `sample_next`, but one behind the last index where rounding leaves the sum below the lot."""
    sums = torch.cumsum(probabilities, dim=0)
    return int(torch.searchsorted(sums, torch.tensor(lot, dtype=sums.dtype), right=not edge))


def clamped(probabilities, lot, *, edge: bool = False) -> int:
    return min(unclamped(probabilities, lot, edge=edge), len(probabilities) - 1)


def first_above(probabilities, lot):
    above = (index for index, probability in enumerate(probabilities) if probability > lot)
    return next(above, len(probabilities) - 1)


SAMPLE_NEXT = PlainExercise(
    name="sample_next",
    lesson="guessing_the_next_word",
    inputs=("probabilities", "lot"),
    reference=sample_next,
    by_hand=ByHand(
        inputs={"probabilities": torch.tensor([0.5, 0.25, 0.25]), "lot": 0.6},
        answer=1,
        says="Side by side, word 0 fills the line from 0 to 0.5, word 1 from 0.5 to 0.75, word 2 from 0.75 "
        "to 1. The lot 0.6 falls on word 1.",
    ),
    others=(
        lambda: (torch.tensor([0.5, 0.25, 0.25]), 0.1),
        lambda: (torch.tensor([0.5, 0.25, 0.25]), 0.9),
        lambda: (torch.tensor([0.5, 0.25, 0.25]), 0.5),
        lambda: (torch.tensor([0.0, 0.5, 0.5]), 0.0),
        lambda: (torch.tensor([0.125, 0.125, 0.25, 0.5]), 0.3),
        lambda: (torch.tensor([0.125, 0.125, 0.25, 0.5]), 0.4),
        lambda: (torch.tensor([0.5, 0.25, 0.2499]), 0.99995),
    ),
    slips=(
        Slip(
            "behind-the-last",
            unclamped,
            "rounding may leave the sum of the shares a little below 1. A lot behind it then gets a place "
            "that does not exist. Give it the last one.",
        ),
        Slip(
            "likeliest",
            lambda probabilities, lot: int(torch.argmax(probabilities)),
            "the likeliest word is taken, whatever the lot. A word with a share of ¼ should come up in a "
            "quarter of all draws.",
        ),
        Slip(
            "no-running-sum",
            first_above,
            "the lot is compared with single shares. Compare it with the running sum: where does each word "
            "end on the line?",
        ),
        Slip(
            "edge",
            lambda probabilities, lot: clamped(probabilities, lot, edge=True),
            "a lot just at the end of a word's piece is given to that word. It belongs to the next one: a "
            "piece runs from its start up to, but not including, its end.",
        ),
        Slip(
            "one-before",
            lambda probabilities, lot: clamped(probabilities, lot) - 1,
            "this is the word before the right one. Where the running sum first gets above the lot, there "
            "is your word.",
        ),
        Slip(
            "share-itself",
            lambda probabilities, lot: float(probabilities[sample_next(probabilities, lot)]),
            "this is the word's share. Return its place in the list.",
        ),
        Slip(
            "lot-times-n",
            lambda probabilities, lot: int(lot * len(probabilities)),
            "all words get an equal piece of the line. Each should get its share.",
        ),
    ),
)

EXERCISES = (COUNT_NEXT, GRADIENT_STEP, PERPLEXITY, TEST_PERPLEXITY, SAMPLE_NEXT)
