"""Answers to the exercises of lesson 01, as learners write them.

WRONG has answers for each slip of exercises.py and others, each with the slip that the verdict must name
(None: no slip) or a part of its text. RIGHT has answers written differently from the reference.
"""

import bisect
import itertools
import math
from collections import Counter, defaultdict

import torch
import torch.nn.functional as F

from lessons.l01_guessing_the_next_word.exercises import geometric, in_bits, with_math

# ---- shared by several answers


def count_by_zip(sentences, n):
    counts = defaultdict(Counter)
    for words in sentences:
        row = ["<s>"] * (n - 1) + list(words) + ["</s>"]
        for window in zip(*(row[k:] for k in range(n)), strict=False):
            counts[window[:-1]][window[-1]] += 1
    return counts


def parts(table, matrix, word, right):
    x = table[word]
    shares = F.softmax(matrix @ x, dim=-1)
    error = shares - F.one_hot(torch.tensor(right), len(shares))
    return x, shares, error


def step_by_outer(table, matrix, word, right, rate):
    x, shares, error = parts(table, matrix, word, right)
    new_table = table.clone()
    new_table[word] = new_table[word] - rate * error @ matrix
    return new_table, matrix - rate * torch.outer(error, x), -shares[right].log()


# ---- counting


def flat_list(sentences, n):
    row = []
    for words in sentences:
        row += ["<s>"] * (n - 1) + words + ["</s>"]
    counts = {}
    for i in range(n - 1, len(row)):
        after = counts.setdefault(tuple(row[i - n + 1 : i]), {})
        after[row[i]] = after.get(row[i], 0) + 1
    return counts


def zip_without_end(sentences, n):
    counts = defaultdict(Counter)
    for words in sentences:
        row = ["<s>"] * (n - 1) + words
        for window in zip(*(row[k:] for k in range(n)), strict=False):
            counts[window[:-1]][window[-1]] += 1
    return counts


def only_pairs(sentences, n):
    counts = defaultdict(Counter)
    for words in sentences:
        row = ["<s>", *words, "</s>"]
        for before, after in itertools.pairwise(row):
            counts[(before,)][after] += 1
    return counts


def whole_rows(sentences, n):
    counts = Counter()
    for words in sentences:
        row = ["<s>"] * (n - 1) + words + ["</s>"]
        counts.update(zip(*(row[k:] for k in range(n)), strict=False))
    return counts


def marks_in_place(sentences, n):
    for words in sentences:
        words.append("</s>")
    return count_by_zip([words[:-1] for words in sentences], n)


def reversed_past(sentences, n):
    return {past[::-1]: after for past, after in count_by_zip(sentences, n).items()}


def forgets_return(sentences, n):
    count_by_zip(sentences, n)


def count_by_past(sentences, n):
    counts = {}
    for words in sentences:
        past = ("<s>",) * (n - 1)
        for word in [*words, "</s>"]:
            counts.setdefault(past, Counter()).update([word])
            past = (*past, word)[1:]
    return counts


def count_with_get(sentences, n):
    counts = {}
    for words in sentences:
        row = (n - 1) * ["<s>"] + words + ["</s>"]
        for i, word in enumerate(row):
            if i >= n - 1:
                past = tuple(row[i - (n - 1) : i])
                if past not in counts:
                    counts[past] = {}
                counts[past][word] = counts[past].get(word, 0) + 1
    return counts


# ---- one step


def adds(table, matrix, word, right, rate):
    x, shares, error = parts(table, matrix, word, right)
    new_table = table.clone()
    new_table[word] += rate * (matrix.T @ error)
    return new_table, matrix + rate * error[:, None] * x, -shares[right].log()


def in_place(table, matrix, word, right, rate):
    x, shares, error = parts(table, matrix, word, right)
    old = matrix.clone()
    matrix -= rate * torch.outer(error, x)
    table[word] -= rate * (old.T @ error)
    return table, matrix, -shares[right].log()


def row_only(table, matrix, word, right, rate):
    x, shares, error = parts(table, matrix, word, right)
    return x - rate * (matrix.T @ error), matrix - rate * torch.outer(error, x), -shares[right].log()


def matrix_first(table, matrix, word, right, rate):
    x, shares, error = parts(table, matrix, word, right)
    matrix = matrix - rate * torch.outer(error, x)
    table = table.clone()
    table[word] = x - rate * error @ matrix
    return table, matrix, -shares[right].log()


def log_ten(table, matrix, word, right, rate):
    new_table, new_matrix, loss = step_by_outer(table, matrix, word, right, rate)
    return new_table, new_matrix, loss / math.log(10)


def turned_outer(table, matrix, word, right, rate):
    x, shares, error = parts(table, matrix, word, right)
    return table, matrix - rate * torch.outer(x, error), -shares[right].log()


def loss_first(table, matrix, word, right, rate):
    new_table, new_matrix, loss = step_by_outer(table, matrix, word, right, rate)
    return loss, new_table, new_matrix


def gradients_only(table, matrix, word, right, rate):
    x, shares, error = parts(table, matrix, word, right)
    down = torch.zeros_like(table)
    down[word] = matrix.T @ error
    return down, torch.outer(error, x), -shares[right].log()


def step_by_loops(table, matrix, word, right, rate):
    x = [float(number) for number in table[word]]
    logits = [sum(m * n for m, n in zip(row.tolist(), x, strict=True)) for row in matrix]
    raised = [math.exp(logit) for logit in logits]
    errors = [e / sum(raised) - (i == right) for i, e in enumerate(raised)]
    new_table, new_matrix = table.tolist(), matrix.tolist()
    for i, error in enumerate(errors):
        for j, number in enumerate(x):
            new_matrix[i][j] -= rate * error * number
            new_table[word][j] -= rate * error * float(matrix[i][j])
    return new_table, new_matrix, -math.log(raised[right] / sum(raised))


def step_by_autograd(table, matrix, word, right, rate):
    table, matrix = table.clone().requires_grad_(), matrix.clone().requires_grad_()
    loss = F.cross_entropy(matrix @ table[word], torch.tensor(right))
    loss.backward()
    return table.detach() - rate * table.grad, matrix.detach() - rate * matrix.grad, loss.detach()


# ---- perplexity


def typical_then_inverse(chances):
    return 1.0 / (sum(chances) / len(chances))


def root_of_sum(chances):
    return torch.exp(-torch.log(chances).sum() / 2)


def base_ten(chances):
    return torch.exp(-torch.log10(chances).mean())


def median(chances):
    return 1 / chances.median()


def for_each(chances):
    return torch.exp(-torch.log(chances))


def multiplied(chances):
    product = 1.0
    for chance in chances.float():
        product = product * chance
    return (1 / product) ** (1 / len(chances))


# ---- tests of a perplexity


def only_equal(perplexity):
    assert abs(perplexity(torch.full((4,), 0.25)) - 4) < 1e-3


def only_above_one(perplexity):
    assert perplexity(torch.tensor([0.3, 0.5, 0.1])) > 1


def exactly_equal(perplexity):
    assert perplexity(torch.tensor([0.3, 0.7, 0.05])) == math.exp(-math.log(0.3 * 0.7 * 0.05) / 3)


def says_false(perplexity):
    return abs(perplexity(torch.tensor([0.5, 0.125])) - 4) < 1e-3


def never_calls(perplexity):
    assert callable(perplexity)


def wants_cross_entropy(perplexity):
    assert abs(perplexity(torch.tensor([0.5, 0.125])) - 1.386) < 1e-2


def hand_case(perplexity):
    assert abs(float(perplexity(torch.tensor([0.5, 0.125]))) - 4) < 1e-2


def against_formula(perplexity):
    chances = torch.tensor([0.9, 0.2, 0.03, 0.5])
    expected = math.exp(-sum(math.log(c) for c in chances.tolist()) / 4)
    assert math.isclose(float(perplexity(chances)), expected, rel_tol=1e-4)


def several_cases(perplexity):
    cases = {(0.5, 0.125): 4, (0.25, 0.25, 0.25): 4, (1.0,): 1, (0.01, 1.0): 10}
    for chances, expected in cases.items():
        torch.testing.assert_close(
            float(perplexity(torch.tensor(chances))), float(expected), rtol=1e-3, atol=0
        )


# ---- drawing


def argmax(shares, lot):
    return shares.argmax()


def not_above(shares, lot):
    total = 0
    for place, share in enumerate(shares):
        total += share
        if lot <= total:
            return place
    return place


def no_last_place(shares, lot):
    total = 0
    for place, share in enumerate(shares):
        total += share
        if lot < total:
            return place


def ignores_the_lot(shares, lot):
    return 0


def nearest_share(shares, lot):
    return int((shares - lot).abs().argmin())


def prints_it(shares, lot):
    print(int(torch.searchsorted(torch.cumsum(shares, 0), lot, right=True)))


def from_the_back(shares, lot):
    return len(shares) - 1 - by_search(shares.flip(0), lot)


def behind_the_last(shares, lot):
    return torch.searchsorted(torch.cumsum(shares, 0), lot, right=True)


def by_search(shares, lot):
    edges = torch.cumsum(shares, 0)[:-1]
    return torch.searchsorted(edges, lot, right=True)


def by_bisect(shares, lot):
    place = bisect.bisect_right(list(itertools.accumulate(shares.tolist())), lot)
    return min(place, len(shares) - 1)


def by_counting(shares, lot):
    return int((shares.cumsum(0)[:-1] <= lot).sum())


def by_subtracting(shares, lot):
    place = 0
    while place < len(shares) - 1 and lot >= shares[place]:
        lot = lot - float(shares[place])
        place += 1
    return place


# ---- a slip each, without the helpers of the exercises


def counted(rows, n):
    counts = defaultdict(Counter)
    for row in rows:
        for i in range(len(row) - n + 1):
            *past, word = row[i : i + n]
            counts[tuple(past)][word] += 1
    return dict(counts)


def counted_with(before, after=("</s>",)):
    """The count with other marks around each sentence; `before` gives those in front, for an n."""
    return lambda sentences, n: counted([[*before(n), *words, *after] for words in sentences], n)


def renamed(past_of):
    """The right count, with the past in another form."""

    def count(sentences, n):
        right = count_by_zip(sentences, n)
        return {past_of(past): after for past, after in right.items()}

    return count


def past_with_the_word(sentences, n):
    right = count_by_zip(sentences, n)
    return {(*past, word): {word: k} for past, after in right.items() for word, k in after.items()}


def each_word_once(sentences, n):
    return {past: dict.fromkeys(after, 1) for past, after in count_by_zip(sentences, n).items()}


def shares_of_words(sentences, n):
    right = count_by_zip(sentences, n)
    return {
        past: {word: k / sum(after.values()) for word, k in after.items()} for past, after in right.items()
    }


def step_with(table_rate=1.0, matrix_rate=1.0, one=1.0, row=None, loss=None):
    """The step with another rate of a part, another error of the right word, another row or another loss."""

    def step(table, matrix, word, right, rate):
        x, shares = table[word], F.softmax(matrix @ table[word], dim=0)
        error = shares - one * F.one_hot(torch.tensor(right), len(shares))
        new_table, new_matrix = table.clone(), matrix - matrix_rate * rate * error[:, None] * x
        new_table[word if row is None else row(right)] -= table_rate * rate * error @ matrix
        return new_table, new_matrix, loss(shares, right) if loss else -shares[right].log()

    return step


def whole_gradient(table, matrix, word, right, rate):
    return step_by_outer(table, matrix, word, right, 1.0)


def loss_of_the_new_weights(table, matrix, word, right, rate):
    new_table, new_matrix, _ = step_by_outer(table, matrix, word, right, rate)
    return new_table, new_matrix, F.cross_entropy(new_matrix @ new_table[word], torch.tensor(right))


WRONG = {
    "count_next": [
        (flat_list, "across-sentences", "over the end of a sentence"),
        (zip_without_end, "no-end-mark"),
        (only_pairs, None),
        (whole_rows, None),
        (marks_in_place, "in-place"),
        (reversed_past, None),
        (forgets_return, "returns-none"),
        (counted_with(lambda n: []), "no-start-mark"),
        (counted_with(lambda n: [], after=()), "no-marks"),
        (counted_with(lambda n: ["<s>"]), "one-start-mark"),
        (counted_with(lambda n: ["<s>"] * n), "one-too-many"),
        (each_word_once, "once-each"),
        (past_with_the_word, "past-too-long"),
        (renamed(" ".join), "past-as-text"),
        (renamed(lambda past: past[0] if len(past) == 1 else past), "bare-word"),
        (shares_of_words, "shares"),
    ],
    "gradient_step": [
        (adds, "uphill"),
        (in_place, "in-place"),
        (row_only, None),
        (matrix_first, "new-matrix"),
        (log_ten, None),
        (turned_outer, "raises"),
        (loss_first, None),
        (gradients_only, None),
        (step_with(table_rate=0.0), "table-stays"),
        (step_with(matrix_rate=0.0), "matrix-stays"),
        (step_with(one=0.0), "no-minus-one"),
        (whole_gradient, "no-rate"),
        (step_with(row=lambda right: right), "wrong-row"),
        (step_with(row=lambda right: slice(None)), "every-row"),
        (loss_of_the_new_weights, "loss-after"),
        (step_with(loss=lambda shares, right: 1 - shares[right]), "no-log"),
        (step_with(loss=lambda shares, right: shares[right].log()), "positive-log"),
        (step_with(loss=lambda shares, right: -shares.log().max()), "loss-of-likeliest"),
    ],
    "perplexity": [
        (typical_then_inverse, "unrepaired"),
        (root_of_sum, None),
        (base_ten, None),
        (median, None),
        (for_each, None),
        (multiplied, "product", "Add logarithms"),
        (lambda chances: sum(1 / chances) / len(chances), "mean-of-inverses"),
        (lambda chances: chances.log().mean().exp(), "no-minus"),
        (lambda chances: chances.log().neg().mean(), "cross-entropy"),
        (lambda chances: 1 / chances.prod(), "sum"),
        (lambda chances: 2 ** chances.log().neg().mean(), "two-and-e"),
        (lambda chances: math.exp(-chances.log2().mean()), "e-and-two"),
        (lambda chances: (1 / chances).min(), "likeliest-only"),
    ],
    "test_perplexity": [
        (only_equal, "lets-through", "averages the chances themselves"),
        (only_above_one, "lets-through"),
        (exactly_equal, "rejects"),
        (says_false, "raising"),
        (never_calls, "never-calls"),
        (wants_cross_entropy, "rejects-the-right-one"),
    ],
    "sample_next": [
        (argmax, "likeliest"),
        (not_above, "edge"),
        (no_last_place, "returns-none"),
        (behind_the_last, "behind-the-last"),
        (ignores_the_lot, None),
        (nearest_share, None),
        (prints_it, "returns-none"),
        (from_the_back, None),
        (
            lambda shares, lot: next((i for i, share in enumerate(shares) if lot < share), len(shares) - 1),
            "no-running-sum",
        ),
        (lambda shares, lot: by_search(shares, lot) - 1, "one-before"),
        (lambda shares, lot: shares[by_search(shares, lot)].item(), "share-itself"),
        (lambda shares, lot: math.floor(len(shares) * lot), "lot-times-n"),
    ],
}

RIGHT = {
    "count_next": [count_by_zip, count_by_past, count_with_get],
    "gradient_step": [step_by_outer, step_by_loops, step_by_autograd],
    "perplexity": [with_math, in_bits, geometric],
    "test_perplexity": [hand_case, against_formula, several_cases],
    "sample_next": [by_search, by_bisect, by_counting, by_subtracting],
}
