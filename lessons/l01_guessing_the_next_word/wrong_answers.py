"""Answers to the exercises of lesson 01, as learners write them.

WRONG has answers for each slip of exercises.py and others, each with the slip that the verdict must name
(None: no slip). RIGHT has answers written differently from the reference.
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
    probabilities = F.softmax(matrix @ x, dim=-1)
    error = probabilities - F.one_hot(torch.tensor(right), len(probabilities))
    return x, probabilities, error


def step_by_outer(table, matrix, word, right, rate):
    x, probabilities, error = parts(table, matrix, word, right)
    new_table = table.clone()
    new_table[word] = new_table[word] - rate * error @ matrix
    return new_table, matrix - rate * torch.outer(error, x), -probabilities[right].log()


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


def windows_alone(sentences, n):
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
    x, probabilities, error = parts(table, matrix, word, right)
    new_table = table.clone()
    new_table[word] += rate * (matrix.T @ error)
    return new_table, matrix + rate * error[:, None] * x, -probabilities[right].log()


def in_place(table, matrix, word, right, rate):
    x, probabilities, error = parts(table, matrix, word, right)
    old = matrix.clone()
    matrix -= rate * torch.outer(error, x)
    table[word] -= rate * (old.T @ error)
    return table, matrix, -probabilities[right].log()


def row_only(table, matrix, word, right, rate):
    x, probabilities, error = parts(table, matrix, word, right)
    return x - rate * (matrix.T @ error), matrix - rate * torch.outer(error, x), -probabilities[right].log()


def matrix_first(table, matrix, word, right, rate):
    x, probabilities, error = parts(table, matrix, word, right)
    matrix = matrix - rate * torch.outer(error, x)
    table = table.clone()
    table[word] = x - rate * error @ matrix
    return table, matrix, -probabilities[right].log()


def log_ten(table, matrix, word, right, rate):
    new_table, new_matrix, loss = step_by_outer(table, matrix, word, right, rate)
    return new_table, new_matrix, loss / math.log(10)


def turned_outer(table, matrix, word, right, rate):
    x, probabilities, error = parts(table, matrix, word, right)
    new_table = table.clone()
    new_table[word] = x - rate * error @ matrix
    return new_table, matrix - rate * torch.outer(x, error), -probabilities[right].log()


def forgets_the_transpose(table, matrix, word, right, rate):
    x, probabilities, error = parts(table, matrix, word, right)
    new_table = table.clone()
    new_table[word] = x - rate * (matrix @ error)
    return new_table, matrix - rate * torch.outer(error, x), -probabilities[right].log()


def transposes_for_the_logits(table, matrix, word, right, rate):
    return step_by_outer(table, matrix.T, word, right, rate)


def gradients_only(table, matrix, word, right, rate):
    x, probabilities, error = parts(table, matrix, word, right)
    down = torch.zeros_like(table)
    down[word] = matrix.T @ error
    return down, torch.outer(error, x), -probabilities[right].log()


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
    return torch.tensor(new_table), torch.tensor(new_matrix), -math.log(raised[right] / sum(raised))


def nested_lists(table, matrix, word, right, rate):
    new_table, new_matrix, loss = step_by_loops(table, matrix, word, right, rate)
    return new_table.tolist(), new_matrix.tolist(), loss


def step_by_autograd(table, matrix, word, right, rate):
    table, matrix = table.clone().requires_grad_(), matrix.clone().requires_grad_()
    loss = F.cross_entropy(matrix @ table[word], torch.tensor(right))
    loss.backward()
    return table.detach() - rate * table.grad, matrix.detach() - rate * matrix.grad, loss.detach()


# ---- perplexity


def typical_then_inverse(probabilities):
    return 1.0 / (sum(probabilities) / len(probabilities))


def root_of_sum(probabilities):
    return torch.exp(-torch.log(probabilities).sum() / 2)


def base_ten(probabilities):
    return torch.exp(-torch.log10(probabilities).mean())


def median(probabilities):
    return 1 / probabilities.median()


def geometric_mean(probabilities):
    return torch.exp(torch.sum(torch.log(probabilities)) / len(probabilities))


def all_but_the_last(probabilities):
    total = 0.0
    for i in range(len(probabilities) - 1):
        total += math.log(probabilities[i])
    return math.exp(-total / len(probabilities))


def for_each(probabilities):
    return torch.exp(-torch.log(probabilities))


def multiplied(probabilities):
    product = 1.0
    for probability in probabilities.float():
        product = product * probability
    return (1 / product) ** (1 / len(probabilities))


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
    probabilities = torch.tensor([0.9, 0.2, 0.03, 0.5])
    expected = math.exp(-sum(math.log(c) for c in probabilities.tolist()) / 4)
    assert math.isclose(float(perplexity(probabilities)), expected, rel_tol=1e-4)


def several_cases(perplexity):
    cases = {(0.5, 0.125): 4, (0.25, 0.25, 0.25): 4, (1.0,): 1, (0.01, 1.0): 10}
    for probabilities, expected in cases.items():
        torch.testing.assert_close(
            float(perplexity(torch.tensor(probabilities))), float(expected), rtol=1e-3, atol=0
        )


# ---- drawing


def argmax(probabilities, lot):
    return probabilities.argmax()


def not_above(probabilities, lot):
    total = 0
    for index, probability in enumerate(probabilities):
        total += probability
        if lot <= total:
            return index
    return index


def no_last_index(probabilities, lot):
    total = 0
    for index, probability in enumerate(probabilities):
        total += probability
        if lot < total:
            return index


def ignores_the_lot(probabilities, lot):
    return 0


def nearest_probability(probabilities, lot):
    return int((probabilities - lot).abs().argmin())


def prints_it(probabilities, lot):
    print(int(torch.searchsorted(torch.cumsum(probabilities, 0), lot, right=True)))


def from_the_back(probabilities, lot):
    return len(probabilities) - 1 - by_search(probabilities.flip(0), lot)


def past_the_end(probabilities, lot):
    return torch.searchsorted(torch.cumsum(probabilities, 0), lot, right=True)


def by_search(probabilities, lot):
    edges = torch.cumsum(probabilities, 0)[:-1]
    return torch.searchsorted(edges, lot, right=True)


def by_bisect(probabilities, lot):
    index = bisect.bisect_right(list(itertools.accumulate(probabilities.tolist())), lot)
    return min(index, len(probabilities) - 1)


def by_normalising(probabilities, lot):
    return by_bisect(probabilities / probabilities.sum(), lot)


def by_counting(probabilities, lot):
    return int((probabilities.cumsum(0)[:-1] <= lot).sum())


def by_subtracting(probabilities, lot):
    index = 0
    while index < len(probabilities) - 1 and lot >= probabilities[index]:
        lot = lot - float(probabilities[index])
        index += 1
    return index


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


def probabilities_of_words(sentences, n):
    right = count_by_zip(sentences, n)
    return {
        past: {word: k / sum(after.values()) for word, k in after.items()} for past, after in right.items()
    }


def ends_of_windows(sentences, n, first=0, past_of=lambda row, i, n: tuple(row[i - n + 1 : i])):
    counts = {}
    for words in sentences:
        row = (n - 1) * ["<s>"] + words + ["</s>"]
        for i in range(first, len(row)):
            after = counts.setdefault(past_of(row, i, n), Counter())
            after[row[i]] += 1
    return counts


def sets_of_windows(sentences, n):
    counts = defaultdict(Counter)
    for words in sentences:
        row = ["<s>"] * (n - 1) + words + ["</s>"]
        for window in {tuple(row[i : i + n]) for i in range(len(row) - n + 1)}:
            counts[window[:-1]][window[-1]] += 1
    return counts


def from_zero(sentences, n):
    counts = {}
    for words in sentences:
        row = ["<s>"] * (n - 1) + words + ["</s>"]
        for i in range(n - 1, len(row)):
            after = counts.setdefault(tuple(row[i - n + 1 : i]), {})
            after[row[i]] = after[row[i]] + 1 if row[i] in after else 0
    return counts


def forgets_the_last_words(sentences, n):
    counts = {}
    for words in sentences:
        row = ["<s>"] * (n - 1) + words + ["</s>"]
        for i in range(n - 1, len(row)):
            counts[tuple(row[i - n + 1 : i])] = {row[i]: 1}
    return counts


def starts_at_one(sentences, n):
    counts = {}
    for words in sentences:
        row = ["<s>"] * (n - 1) + words + ["</s>"]
        for i in range(n - 1, len(row)):
            after = counts.setdefault(tuple(row[i - n + 1 : i]), {})
            after[row[i]] = after.get(row[i], 1) + 1
    return counts


def no_padding(sentences, n):
    counts = defaultdict(Counter)
    for words in sentences:
        for i, word in enumerate([*words, "</s>"]):
            counts[tuple(words[max(0, i - n + 1) : i])][word] += 1
    return counts


def negative_zero(sentences, n):
    counts = defaultdict(Counter)
    for words in sentences:
        row = ["<s>"] * (n - 1)
        for word in [*words, "</s>"]:
            counts[tuple(row[-(n - 1) :])][word] += 1
            row.append(word)
    return counts


def returns_early(sentences, n):
    for words in sentences:
        return count_by_zip([words], n)
    return {}


def starts_again(sentences, n):
    counts = {}
    for words in sentences:
        counts = count_by_zip([words], n)
    return counts


def words_as_keys(sentences, n):
    counts = defaultdict(Counter)
    for past, after in count_by_zip(sentences, n).items():
        for word, count in after.items():
            counts[word][past] += count
    return counts


def lists_of_words(sentences, n):
    return {past: sorted(after.elements()) for past, after in count_by_zip(sentences, n).items()}


def slices_for_words(sentences, n):
    counts = defaultdict(Counter)
    for words in sentences:
        row = ["<s>"] * (n - 1) + words + ["</s>"]
        for i in range(n - 1, len(row)):
            counts[tuple(row[i - n + 1 : i])][tuple(row[i : i + 1])] += 1
    return counts


def in_order_of_occurrence(sentences, n):
    return {past: list(after.elements()) for past, after in count_by_zip(sentences, n).items()}


def step_with(table_rate=1.0, matrix_rate=1.0, error_of=None, row=None, loss=None):
    """The step with another rate of a part, another error, another row or another loss."""

    def step(table, matrix, word, right, rate):
        x, probabilities = table[word], F.softmax(matrix @ table[word], dim=0)
        error = probabilities - F.one_hot(torch.tensor(right), len(probabilities))
        error = error_of(probabilities, error) if error_of else error
        new_table, new_matrix = table.clone(), matrix - matrix_rate * rate * error[:, None] * x
        new_table[word if row is None else row(right)] -= table_rate * rate * error @ matrix
        loss_of = loss or (lambda probabilities, word, right: -probabilities[right].log())
        return new_table, new_matrix, loss_of(probabilities, word, right)

    return step


def whole_gradient(table, matrix, word, right, rate):
    return step_by_outer(table, matrix, word, right, 1.0)


def rate_for_one(which):
    def step(table, matrix, word, right, rate):
        x, probabilities, error = parts(table, matrix, word, right)
        rates = {"table": 1.0, "matrix": 1.0} | {which: rate}
        new_table = table.clone()
        new_table[word] = x - rates["table"] * error @ matrix
        new_matrix = matrix - rates["matrix"] * torch.outer(error, x)
        return new_table, new_matrix, -probabilities[right].log()

    return step


def loss_of_the_new_weights(table, matrix, word, right, rate):
    new_table, new_matrix, _ = step_by_outer(table, matrix, word, right, rate)
    return new_table, new_matrix, F.cross_entropy(new_matrix @ new_table[word], torch.tensor(right))


def row_of_the_copy(table, matrix, word, right, rate):
    new_table = table.clone()
    x = new_table[word]
    probabilities = torch.softmax(matrix @ x, dim=-1)
    error = probabilities.clone()
    error[right] -= 1
    x -= rate * (matrix.T @ error)
    return new_table, matrix - rate * torch.outer(error, x), -probabilities[right].log()


def only_the_right_row(table, matrix, word, right, rate):
    x, probabilities, error = parts(table, matrix, word, right)
    new_table, new_matrix = table.clone(), matrix.clone()
    new_table[word] -= rate * (matrix.T @ error)
    new_matrix[right] -= rate * error[right] * x
    return new_table, new_matrix, -probabilities[right].log()


def only_the_row_of_word(table, matrix, word, right, rate):
    x, probabilities, error = parts(table, matrix, word, right)
    new_table, new_matrix = table.clone(), matrix.clone()
    new_table[word] -= rate * (matrix.T @ error)
    new_matrix[word] -= rate * error[word] * x
    return new_table, new_matrix, -probabilities[right].log()


def only_the_right_error(table, matrix, word, right, rate):
    x, probabilities, error = parts(table, matrix, word, right)
    new_table = table.clone()
    new_table[word] -= rate * error[right] * matrix[right]
    return new_table, matrix - rate * torch.outer(error, x), -probabilities[right].log()


def bare_exp(table, matrix, word, right, rate):
    x = table[word]
    powers = torch.exp(matrix @ x)
    probabilities = powers / powers.sum()
    error = probabilities.clone()
    error[right] -= 1
    new_table = table.clone()
    new_table[word] -= rate * (matrix.T @ error)
    return new_table, matrix - rate * torch.outer(error, x), -torch.log(probabilities[right])


def with_sigmoid(table, matrix, word, right, rate):
    x = table[word]
    probabilities = 1 / (1 + torch.exp(-(matrix @ x)))
    error = probabilities.clone()
    error[right] -= 1
    new_table = table.clone()
    new_table[word] -= rate * (matrix.T @ error)
    return new_table, matrix - rate * torch.outer(error, x), -torch.log(probabilities[right])


def error_is_not_a_copy(table, matrix, word, right, rate):
    x = table[word]
    probabilities = torch.softmax(matrix @ x, dim=0)
    error = probabilities
    error[right] -= 1
    new_table = table.clone()
    new_table[word] -= rate * (matrix.T @ error)
    return new_table, matrix - rate * torch.outer(error, x), -torch.log(probabilities[right])


def other_order(order):
    def step(*inputs):
        outputs = step_by_outer(*inputs)
        return tuple(outputs[i] for i in order)

    return step


def with_running_sum(find):
    """A sampler that gets the list of running sums, the random number and the number of words."""
    return lambda probabilities, lot: find(list(itertools.accumulate(probabilities.tolist())), lot)


def sorted_first(**options):
    return lambda probabilities, lot: by_counting(torch.sort(probabilities, **options)[0], lot)


def likeliest_first(probabilities, lot):
    order = sorted(range(len(probabilities)), key=lambda index: -probabilities[index])
    return order[by_counting(probabilities[order], lot)]


def starts_with_the_first(probabilities, lot):
    total = probabilities[0]
    for index, probability in enumerate(probabilities):
        total = total + probability
        if lot < total:
            return index
    return index


def equally_long(probabilities, lot):
    return math.floor(len(probabilities) * lot)


def one_inner_dictionary(sentences, n):
    rows = [["<s>"] * (n - 1) + list(words) + ["</s>"] for words in sentences]
    pasts = [(tuple(row[i - n + 1 : i]), row[i]) for row in rows for i in range(n - 1, len(row))]
    inner = {}
    counts = {past: inner for past, _ in pasts}
    for past, word in pasts:
        counts[past][word] = counts[past].get(word, 0) + 1
    return counts


def cross_entropy_of_probabilities(table, matrix, word, right, rate):
    x = table[word]
    probabilities = torch.softmax(matrix @ x, dim=0)
    loss = F.cross_entropy(probabilities, torch.tensor(right))
    error = probabilities.clone()
    error[right] -= 1
    new_table = table.clone()
    new_table[word] = x - rate * (error @ matrix)
    return new_table, matrix - rate * error[:, None] * x, loss


def mean_over_words(table, matrix, word, right, rate):
    x = table[word]
    error = torch.softmax(matrix @ x, dim=0)
    loss = -torch.log_softmax(matrix @ x, dim=0)[right]
    error[right] -= 1
    new_table = table.clone()
    new_table[word] = x - rate * (error[:, None] * matrix).mean(dim=0)
    return new_table, matrix - rate * error[:, None] * x, loss


def finds_by_value(probabilities, lot):
    numbers, total = probabilities.tolist(), 0.0
    for number in numbers:
        total += number
        if lot < total:
            return numbers.index(number)
    return len(numbers) - 1


WRONG = {
    "count_next": [
        (one_inner_dictionary, "shared-dictionary"),
        (flat_list, "across-sentences"),
        (lambda sentences, n: count_by_past([list(itertools.chain(*sentences))], n), "one-long-sentence"),
        (zip_without_end, "no-end-mark"),
        (only_pairs, "n-ignored"),
        (windows_alone, "flat"),
        (marks_in_place, "in-place"),
        (reversed_past, "reversed-past"),
        (forgets_return, "returns-none"),
        (counted_with(lambda n: []), "no-start-mark"),
        (counted_with(lambda n: [], after=()), "no-marks"),
        (counted_with(lambda n: ["<s>"]), "one-start-mark"),
        (counted_with(lambda n: ["<s>"] * n), "one-too-many"),
        (counted_with(lambda n: ["</s>"] * (n - 1), after=("<s>",)), "marks-swapped"),
        (
            lambda sentences, n: counted(
                [["<s>"] * (n - 1) + words + ["</s>"] * (n - 1) for words in sentences], n
            ),
            "many-end-marks",
        ),
        (lambda sentences, n: ends_of_windows(sentences, n, first=n), "first-word-skipped"),
        (ends_of_windows, "start-mark-counted"),
        (
            lambda sentences, n: ends_of_windows(
                sentences, n, past_of=lambda row, i, n: tuple(row[:i][-n + 1 :]) if n > 1 else ()
            ),
            "short-pasts",
        ),
        (returns_early, "first-sentence-only"),
        (starts_again, "last-sentence-only"),
        (each_word_once, "once-each"),
        (sets_of_windows, "once-per-sentence"),
        (lambda sentences, n: count_by_zip({tuple(words) for words in sentences}, n), "repeated-sentences"),
        (forgets_the_last_words, "overwritten"),
        (
            lambda sentences, n: count_by_past([words for words in sentences if len(words)], n),
            "empty-skipped",
        ),
        (starts_at_one, "count-too-large"),
        (from_zero, "one-too-few"),
        (
            lambda sentences, n: counted([["<s>"] * n + words + ["</s>"] for words in sentences], n + 1),
            "past-of-n-words",
        ),
        (
            lambda sentences, n: ends_of_windows(
                sentences, n, first=n - 1, past_of=lambda row, i, n: tuple(row[i - n + 2 : i])
            ),
            "past-too-short",
        ),
        (no_padding, "shorter-at-start"),
        (past_with_the_word, "past-too-long"),
        (negative_zero, "whole-past"),
        (renamed(" ".join), "past-as-text"),
        (renamed(lambda past: past[0] if len(past) == 1 else past), "bare-word"),
        (words_as_keys, "inside-out"),
        (slices_for_words, "words-as-tuples"),
        (probabilities_of_words, "probabilities"),
        (
            lambda sentences, n: {past: after.total() for past, after in count_by_zip(sentences, n).items()},
            "totals",
        ),
        (in_order_of_occurrence, "lists"),
        (renamed(list), "raises"),
    ],
    "gradient_step": [
        (cross_entropy_of_probabilities, "softmax-in-loss"),
        (mean_over_words, "averaged-over-words"),
        (adds, "uphill"),
        (in_place, "in-place"),
        (nested_lists, "wrong-form"),
        (row_only, "row-only"),
        (matrix_first, "new-matrix"),
        (row_of_the_copy, "new-row"),
        (log_ten, "log-ten"),
        (turned_outer, "outer-swapped"),
        (forgets_the_transpose, "not-transposed"),
        (transposes_for_the_logits, "`matrix`"),
        (other_order((2, 0, 1)), "loss-first"),
        (other_order((1, 0, 2)), "matrix-first"),
        (gradients_only, "gradients-only"),
        (step_with(table_rate=-1.0), "table-uphill"),
        (step_with(matrix_rate=-1.0), "matrix-uphill"),
        (
            lambda table, matrix, *rest: (table, matrix, step_by_outer(table, matrix, *rest)[2]),
            "nothing-moves",
        ),
        (step_with(table_rate=0.0), "table-stays"),
        (step_with(matrix_rate=0.0), "matrix-stays"),
        (step_with(error_of=lambda probabilities, error: probabilities), "no-minus-one"),
        (step_with(error_of=lambda probabilities, error: probabilities - 1), "minus-one-everywhere"),
        (step_with(error_of=lambda probabilities, error: 2 * probabilities - error), "plus-one"),
        (step_with(error_of=lambda probabilities, error: torch.where(error < 0, -1.0, error)), "assigned"),
        (step_with(error_of=lambda probabilities, error: error.abs()), "right-sign"),
        (step_with(error_of=lambda probabilities, error: error / len(error)), "averaged"),
        (whole_gradient, "no-rate"),
        (rate_for_one("matrix"), "no-rate-table"),
        (rate_for_one("table"), "no-rate-matrix"),
        (step_with(row=lambda right: right), "wrong-row"),
        (step_with(row=lambda right: slice(None)), "every-row"),
        (only_the_right_row, "one-matrix-row"),
        (only_the_row_of_word, "matrix-row-of-word"),
        (only_the_right_error, "one-error"),
        (bare_exp, "overflow"),
        (with_sigmoid, "sigmoid"),
        (step_with(loss=lambda probabilities, word, right: -torch.log(probabilities)), "all-losses"),
        (error_is_not_a_copy, "no-copy"),
        (loss_of_the_new_weights, "loss-after"),
        (step_with(loss=lambda probabilities, word, right: 1 - probabilities[right]), "no-log"),
        (step_with(loss=lambda probabilities, word, right: probabilities[right]), "loss-is-probability"),
        (step_with(loss=lambda probabilities, word, right: probabilities[right].log()), "positive-log"),
        (step_with(loss=lambda probabilities, word, right: -torch.log2(probabilities)[right]), "log-two"),
        (step_with(loss=lambda probabilities, word, right: -probabilities.log().max()), "loss-of-likeliest"),
        (step_with(loss=lambda probabilities, word, right: -probabilities.log()[word]), "loss-of-word"),
        (step_with(loss=lambda probabilities, word, right: -probabilities.log().mean()), None),
        (lambda table, matrix, *rest: step_by_outer(matrix, table, *rest), "`table`"),
    ],
    "perplexity": [
        (typical_then_inverse, "unrepaired"),
        (root_of_sum, None),
        (base_ten, "e-and-ten"),
        (median, "median"),
        (for_each, "each-word"),
        (multiplied, "product"),
        (lambda probabilities: (-(probabilities + 1e-7).log().mean()).exp(), None),
        (lambda probabilities: (-probabilities.clamp(min=1e-5).log().mean()).exp(), None),
        (lambda probabilities: sum(1 / probabilities) / len(probabilities), "mean-of-inverses"),
        (lambda probabilities: probabilities.log().mean().exp(), "no-minus"),
        (lambda probabilities: -math.exp(probabilities.log().mean()), "minus-outside"),
        (lambda probabilities: -math.log(probabilities.mean()), "log-of-mean"),
        (lambda probabilities: probabilities.log().neg().mean(), "cross-entropy"),
        (lambda probabilities: 1 / probabilities.prod(), "sum"),
        (lambda probabilities: 2 ** probabilities.log().neg().mean(), "two-and-e"),
        (lambda probabilities: math.exp(-probabilities.log2().mean()), "e-and-two"),
        (lambda probabilities: 10 ** -probabilities.log().mean(), "ten-and-e"),
        (lambda probabilities: -sum(probabilities.log2()) / len(probabilities), "bits"),
        (lambda probabilities: math.exp(-probabilities.mean()), "no-log"),
        (lambda probabilities: (1 / probabilities).min(), "likeliest-only"),
        (lambda probabilities: max(1 / probabilities), "unlikeliest-only"),
        (lambda probabilities: math.e ** sum(-p * p.log() for p in probabilities), "entropy"),
        (lambda probabilities: torch.exp((-torch.log(probabilities) * probabilities).mean()), "weighted"),
        (lambda probabilities: with_math(probabilities / sum(probabilities)), "normalised"),
        (lambda probabilities: with_math(F.softmax(probabilities, dim=-1)), "softmax"),
        (lambda probabilities: with_math(probabilities[:-1]) ** (1 - 1 / len(probabilities)), "last-missing"),
        (all_but_the_last, "last-missing"),
        (lambda probabilities: 1 / geometric_mean(probabilities[:-1]), "without-last"),
        (lambda probabilities: 1 / geometric_mean(probabilities[1:]), "without-first"),
        (lambda probabilities: math.exp(-probabilities.log().sum() / max(len(probabilities) - 1, 1)), None),
        (lambda probabilities: (-probabilities.log().sum() / (len(probabilities) - 1)).exp(), "n-minus-one"),
    ],
    "test_perplexity": [
        (only_equal, "lets-through"),
        (only_above_one, "lets-through"),
        (exactly_equal, "rejects-the-right-one"),
        (says_false, "returns-instead"),
        (never_calls, "never-calls"),
        (wants_cross_entropy, "rejects-the-right-one"),
    ],
    "sample_next": [
        (
            lambda probabilities, lot: min(
                int((probabilities.cumsum(0) <= 1 - lot).sum()), len(probabilities) - 1
            ),
            "one-minus-lot",
        ),
        (finds_by_value, "first-equal"),
        (argmax, "likeliest"),
        (not_above, "edge"),
        (no_last_index, "returns-none"),
        (past_the_end, "past-the-end"),
        (ignores_the_lot, None),
        (nearest_probability, "nearest-probability"),
        (prints_it, "returns-none"),
        (from_the_back, "from-the-end"),
        (
            lambda probabilities, lot: next(
                (i for i, probability in enumerate(probabilities) if lot < probability),
                len(probabilities) - 1,
            ),
            "no-running-sum",
        ),
        (
            with_running_sum(lambda sums, lot: next((i for i, end in enumerate(sums) if lot < end), -1)),
            "minus-one",
        ),
        (lambda probabilities, lot: (probabilities.cumsum(0) > lot).int().argmax(), "zero-at-the-end"),
        (lambda probabilities, lot: by_search(probabilities, lot) - 1, "one-before"),
        (
            with_running_sum(lambda sums, lot: max(sum(end <= lot for end in sums) - 1, 0)),
            "one-before-or-zero",
        ),
        (lambda probabilities, lot: 1 + by_counting(probabilities, lot), "one-after"),
        (
            lambda probabilities, lot: min(by_bisect(probabilities, lot) + 1, len(probabilities) - 1),
            "one-after-or-last",
        ),
        (
            lambda probabilities, lot: probabilities[by_search(probabilities, lot)].item(),
            "probability-itself",
        ),
        (lambda probabilities, lot: float(by_search(probabilities, lot)), None),
        (
            lambda probabilities, lot: probabilities.cumsum(0)[by_search(probabilities, lot)],
            "running-sum-itself",
        ),
        (starts_with_the_first, "first-twice"),
        (
            lambda probabilities, lot: min(sum(p <= lot for p in probabilities), len(probabilities) - 1),
            "smaller-counted",
        ),
        (lambda probabilities, lot: (probabilities.cumsum(0) > lot).sum(), "larger-counted"),
        (equally_long, "equal-intervals"),
        (lambda probabilities, lot: by_search(probabilities.softmax(-1), lot), "softmax-again"),
        (sorted_first(descending=True), "sorted"),
        (sorted_first(), "sorted-ascending"),
        (likeliest_first, "likeliest-first"),
        (
            with_running_sum(lambda sums, lot: min(range(len(sums)), key=lambda i: abs(sums[i] - lot))),
            "nearest-end",
        ),
        (lambda probabilities, lot: torch.multinomial(probabilities, 1).item(), "random"),
        (lambda probabilities, lot: torch.tensor([by_counting(probabilities, lot)]), None),
    ],
}

RIGHT = {
    "count_next": [count_by_zip, count_by_past, count_with_get],
    "gradient_step": [step_by_outer, step_by_loops, step_by_autograd],
    "perplexity": [with_math, in_bits, geometric],
    "test_perplexity": [hand_case, against_formula, several_cases],
    "sample_next": [by_search, by_bisect, by_counting, by_subtracting, by_normalising],
}
