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

# ---- shared by several answers


def count_by_zip(sentences, n):
    counts = defaultdict(Counter)
    for words in sentences:
        row = ["<s>"] * (n - 1) + list(words) + ["</s>"]
        for window in zip(*(row[k:] for k in range(n)), strict=False):
            counts[window[:-1]][window[-1]] += 1
    return counts


def parts(embeddings, weight, word, target):
    x = embeddings[word]
    probabilities = F.softmax(weight @ x, dim=-1)
    error = probabilities - F.one_hot(torch.tensor(target), len(probabilities))
    return x, probabilities, error


def step_by_outer(embeddings, weight, word, target, rate):
    x, probabilities, error = parts(embeddings, weight, word, target)
    new_embeddings = embeddings.clone()
    new_embeddings[word] = new_embeddings[word] - rate * error @ weight
    return new_embeddings, weight - rate * torch.outer(error, x), -probabilities[target].log()


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


def pads_once(sentences, n):
    row = ["<s>"] * (n - 1)
    for words in sentences:
        row += [*words, "</s>"]
    return counted([row], n)


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


def reversed_context(sentences, n):
    return {context[::-1]: after for context, after in count_by_zip(sentences, n).items()}


def forgets_return(sentences, n):
    count_by_zip(sentences, n)


def count_by_context(sentences, n):
    counts = {}
    for words in sentences:
        context = ("<s>",) * (n - 1)
        for word in [*words, "</s>"]:
            counts.setdefault(context, Counter()).update([word])
            context = (*context, word)[1:]
    return counts


def count_with_get(sentences, n):
    counts = {}
    for words in sentences:
        row = (n - 1) * ["<s>"] + words + ["</s>"]
        for i, word in enumerate(row):
            if i >= n - 1:
                context = tuple(row[i - (n - 1) : i])
                if context not in counts:
                    counts[context] = {}
                counts[context][word] = counts[context].get(word, 0) + 1
    return counts


# ---- one step


def adds(embeddings, weight, word, target, rate):
    x, probabilities, error = parts(embeddings, weight, word, target)
    new_embeddings = embeddings.clone()
    new_embeddings[word] += rate * (weight.T @ error)
    return new_embeddings, weight + rate * error[:, None] * x, -probabilities[target].log()


def in_place(embeddings, weight, word, target, rate):
    x, probabilities, error = parts(embeddings, weight, word, target)
    old = weight.clone()
    weight -= rate * torch.outer(error, x)
    embeddings[word] -= rate * (old.T @ error)
    return embeddings, weight, -probabilities[target].log()


def row_only(embeddings, weight, word, target, rate):
    x, probabilities, error = parts(embeddings, weight, word, target)
    return x - rate * (weight.T @ error), weight - rate * torch.outer(error, x), -probabilities[target].log()


def matrix_first(embeddings, weight, word, target, rate):
    x, probabilities, error = parts(embeddings, weight, word, target)
    weight = weight - rate * torch.outer(error, x)
    embeddings = embeddings.clone()
    embeddings[word] = x - rate * error @ weight
    return embeddings, weight, -probabilities[target].log()


def log_ten(embeddings, weight, word, target, rate):
    new_embeddings, new_weight, loss = step_by_outer(embeddings, weight, word, target, rate)
    return new_embeddings, new_weight, loss / math.log(10)


def turned_outer(embeddings, weight, word, target, rate):
    x, probabilities, error = parts(embeddings, weight, word, target)
    new_embeddings = embeddings.clone()
    new_embeddings[word] = x - rate * error @ weight
    return new_embeddings, weight - rate * torch.outer(x, error), -probabilities[target].log()


def forgets_outer(embeddings, weight, word, target, rate):
    x, probabilities, error = parts(embeddings, weight, word, target)
    new_embeddings = embeddings.clone()
    new_embeddings[word] = x - rate * error @ weight
    return new_embeddings, weight - rate * error * x, -probabilities[target].log()


def forgets_the_transpose(embeddings, weight, word, target, rate):
    x, probabilities, error = parts(embeddings, weight, word, target)
    new_embeddings = embeddings.clone()
    new_embeddings[word] = x - rate * (weight @ error)
    return new_embeddings, weight - rate * torch.outer(error, x), -probabilities[target].log()


def transposes_for_the_logits(embeddings, weight, word, target, rate):
    return step_by_outer(embeddings, weight.T, word, target, rate)


def gradients_only(embeddings, weight, word, target, rate):
    x, probabilities, error = parts(embeddings, weight, word, target)
    down = torch.zeros_like(embeddings)
    down[word] = weight.T @ error
    return down, torch.outer(error, x), -probabilities[target].log()


def gradient_of_the_row(embeddings, weight, word, target, rate):
    x, probabilities, error = parts(embeddings, weight, word, target)
    return weight.T @ error, torch.outer(error, x), -probabilities[target].log()


def row_is_the_change(embeddings, weight, word, target, rate):
    x, probabilities, error = parts(embeddings, weight, word, target)
    new_embeddings = embeddings.clone()
    new_embeddings[word] = -rate * (weight.T @ error)
    return new_embeddings, weight - rate * torch.outer(error, x), -probabilities[target].log()


def logits_as_probabilities(embeddings, weight, word, target, rate):
    x, new_embeddings = embeddings[word], embeddings.clone()
    error = weight @ x
    loss = -torch.log(error[target])
    error[target] -= 1
    new_embeddings[word] -= rate * (weight.T @ error)
    return new_embeddings, weight - rate * torch.outer(error, x), loss


def step_by_loops(embeddings, weight, word, target, rate):
    x = [float(number) for number in embeddings[word]]
    logits = [sum(m * n for m, n in zip(row.tolist(), x, strict=True)) for row in weight]
    raised = [math.exp(logit) for logit in logits]
    errors = [e / sum(raised) - (i == target) for i, e in enumerate(raised)]
    new_embeddings, new_weight = embeddings.tolist(), weight.tolist()
    for i, error in enumerate(errors):
        for j, number in enumerate(x):
            new_weight[i][j] -= rate * error * number
            new_embeddings[word][j] -= rate * error * float(weight[i][j])
    return torch.tensor(new_embeddings), torch.tensor(new_weight), -math.log(raised[target] / sum(raised))


def nested_lists(embeddings, weight, word, target, rate):
    new_embeddings, new_weight, loss = step_by_loops(embeddings, weight, word, target, rate)
    return new_embeddings.tolist(), new_weight.tolist(), loss


def step_by_autograd(embeddings, weight, word, target, rate):
    embeddings, weight = embeddings.clone().requires_grad_(), weight.clone().requires_grad_()
    loss = F.cross_entropy(weight @ embeddings[word], torch.tensor(target))
    loss.backward()
    return embeddings.detach() - rate * embeddings.grad, weight.detach() - rate * weight.grad, loss.detach()


def step_with_record(embeddings, weight, word, target, rate):
    embeddings, weight = embeddings.clone().requires_grad_(), weight.clone().requires_grad_()
    loss = F.cross_entropy(weight @ embeddings[word], torch.tensor(target))
    loss.backward()
    return embeddings - rate * embeddings.grad, weight - rate * weight.grad, loss


# ---- perplexity


def in_bits(probabilities):
    return 2 ** (-torch.log2(probabilities).mean())


def geometric(probabilities):
    return math.prod(float(probability) ** (-1 / len(probabilities)) for probability in probabilities)


def with_math(probabilities):
    return math.exp(-sum(math.log(float(probability)) for probability in probabilities) / len(probabilities))


def typical_then_inverse(probabilities):
    return 1.0 / (sum(probabilities) / len(probabilities))


def exponential_of_entropy(probabilities):
    scaled = probabilities / probabilities.sum()
    return torch.exp(-(scaled * scaled.log()).sum())


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


# ---- drawing


def argmax(probabilities, u):
    return probabilities.argmax()


def not_above(probabilities, u):
    total = 0
    for index, probability in enumerate(probabilities):
        total += probability
        if u <= total:
            return index
    return index


def no_last_index(probabilities, u):
    total = 0
    for index, probability in enumerate(probabilities):
        total += probability
        if u < total:
            return index


def ignores_the_lot(probabilities, u):
    return 0


def nearest_probability(probabilities, u):
    return int((probabilities - u).abs().argmin())


def returns_in_the_first_round(probabilities, u):
    total = 0.0
    for index, probability in enumerate(probabilities):
        total += float(probability)
        if u < total:
            return index
        else:
            return len(probabilities) - 1


def prints_it(probabilities, u):
    print(int(torch.searchsorted(torch.cumsum(probabilities, 0), u, right=True)))


def sorts_by_probability(probabilities, u):
    numbers, order = torch.sort(probabilities, descending=True)
    return int(order[by_counting(numbers, u)])


def from_the_back(probabilities, u):
    return len(probabilities) - 1 - by_search(probabilities.flip(0), u)


def past_the_end(probabilities, u):
    return torch.searchsorted(torch.cumsum(probabilities, 0), u, right=True)


def by_search(probabilities, u):
    edges = torch.cumsum(probabilities, 0)[:-1]
    return torch.searchsorted(edges, u, right=True)


def by_bisect(probabilities, u):
    index = bisect.bisect_right(list(itertools.accumulate(probabilities.tolist())), u)
    return min(index, len(probabilities) - 1)


def by_normalising(probabilities, u):
    return by_bisect(probabilities / probabilities.sum(), u)


def by_counting(probabilities, u):
    return int((probabilities.cumsum(0)[:-1] <= u).sum())


def by_subtracting(probabilities, u):
    index = 0
    while index < len(probabilities) - 1 and u >= probabilities[index]:
        u = u - float(probabilities[index])
        index += 1
    return index


# ---- a slip each, without the helpers of the exercises


def counted(rows, n):
    counts = defaultdict(Counter)
    for row in rows:
        for i in range(len(row) - n + 1):
            *context, word = row[i : i + n]
            counts[tuple(context)][word] += 1
    return dict(counts)


def counted_with(before, after=("</s>",)):
    """The count with other marks around each sentence; `before` gives those in front, for an n."""
    return lambda sentences, n: counted([[*before(n), *words, *after] for words in sentences], n)


def renamed(context_of):
    """The right count, with the context in another form."""

    def count(sentences, n):
        right = count_by_zip(sentences, n)
        return {context_of(context): after for context, after in right.items()}

    return count


def context_with_the_word(sentences, n):
    right = count_by_zip(sentences, n)
    return {(*context, word): {word: k} for context, after in right.items() for word, k in after.items()}


def each_word_once(sentences, n):
    return {context: dict.fromkeys(after, 1) for context, after in count_by_zip(sentences, n).items()}


def probabilities_of_words(sentences, n):
    right = count_by_zip(sentences, n)
    return {
        context: {word: k / sum(after.values()) for word, k in after.items()}
        for context, after in right.items()
    }


def ends_of_windows(sentences, n, first=0, context_of=lambda row, i, n: tuple(row[i - n + 1 : i])):
    counts = {}
    for words in sentences:
        row = (n - 1) * ["<s>"] + words + ["</s>"]
        for i in range(first, len(row)):
            after = counts.setdefault(context_of(row, i, n), Counter())
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


def one_start_and_short_contexts(sentences, n):
    counts = defaultdict(Counter)
    for words in sentences:
        row = ["<s>", *words, "</s>"]
        for i in range(1, len(row)):
            counts[tuple(row[max(i - (n - 1), 0) : i])][row[i]] += 1
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
    for context, after in count_by_zip(sentences, n).items():
        for word, count in after.items():
            counts[word][context] += count
    return counts


def lists_of_words(sentences, n):
    return {context: sorted(after.elements()) for context, after in count_by_zip(sentences, n).items()}


def slices_for_words(sentences, n):
    counts = defaultdict(Counter)
    for words in sentences:
        row = ["<s>"] * (n - 1) + words + ["</s>"]
        for i in range(n - 1, len(row)):
            counts[tuple(row[i - n + 1 : i])][tuple(row[i : i + 1])] += 1
    return counts


def in_order_of_occurrence(sentences, n):
    return {context: list(after.elements()) for context, after in count_by_zip(sentences, n).items()}


def step_with(table_rate=1.0, matrix_rate=1.0, error_of=None, row=None, loss=None):
    """The step with another rate of a part, another error, another row or another loss."""

    def step(embeddings, weight, word, target, rate):
        x, probabilities = embeddings[word], F.softmax(weight @ embeddings[word], dim=0)
        error = probabilities - F.one_hot(torch.tensor(target), len(probabilities))
        error = error_of(probabilities, error) if error_of else error
        new_embeddings, new_weight = embeddings.clone(), weight - matrix_rate * rate * error[:, None] * x
        new_embeddings[word if row is None else row(target)] -= table_rate * rate * error @ weight
        loss_of = loss or (lambda probabilities, word, target: -probabilities[target].log())
        return new_embeddings, new_weight, loss_of(probabilities, word, target)

    return step


def whole_gradient(embeddings, weight, word, target, rate):
    return step_by_outer(embeddings, weight, word, target, 1.0)


def rate_for_one(which):
    def step(embeddings, weight, word, target, rate):
        x, probabilities, error = parts(embeddings, weight, word, target)
        rates = {"embeddings": 1.0, "weight": 1.0} | {which: rate}
        new_embeddings = embeddings.clone()
        new_embeddings[word] = x - rates["embeddings"] * error @ weight
        new_weight = weight - rates["weight"] * torch.outer(error, x)
        return new_embeddings, new_weight, -probabilities[target].log()

    return step


def loss_of_the_new_weights(embeddings, weight, word, target, rate):
    new_embeddings, new_weight, _ = step_by_outer(embeddings, weight, word, target, rate)
    return (
        new_embeddings,
        new_weight,
        F.cross_entropy(new_weight @ new_embeddings[word], torch.tensor(target)),
    )


def row_of_the_copy(embeddings, weight, word, target, rate):
    new_embeddings = embeddings.clone()
    x = new_embeddings[word]
    probabilities = torch.softmax(weight @ x, dim=-1)
    error = probabilities.clone()
    error[target] -= 1
    x -= rate * (weight.T @ error)
    return new_embeddings, weight - rate * torch.outer(error, x), -probabilities[target].log()


def only_the_right_row(embeddings, weight, word, target, rate):
    x, probabilities, error = parts(embeddings, weight, word, target)
    new_embeddings, new_weight = embeddings.clone(), weight.clone()
    new_embeddings[word] -= rate * (weight.T @ error)
    new_weight[target] -= rate * error[target] * x
    return new_embeddings, new_weight, -probabilities[target].log()


def only_the_row_of_word(embeddings, weight, word, target, rate):
    x, probabilities, error = parts(embeddings, weight, word, target)
    new_embeddings, new_weight = embeddings.clone(), weight.clone()
    new_embeddings[word] -= rate * (weight.T @ error)
    new_weight[word] -= rate * error[word] * x
    return new_embeddings, new_weight, -probabilities[target].log()


def only_the_right_error(embeddings, weight, word, target, rate):
    x, probabilities, error = parts(embeddings, weight, word, target)
    new_embeddings = embeddings.clone()
    new_embeddings[word] -= rate * error[target] * weight[target]
    return new_embeddings, weight - rate * torch.outer(error, x), -probabilities[target].log()


def bare_exp(embeddings, weight, word, target, rate):
    x = embeddings[word]
    powers = torch.exp(weight @ x)
    probabilities = powers / powers.sum()
    error = probabilities.clone()
    error[target] -= 1
    new_embeddings = embeddings.clone()
    new_embeddings[word] -= rate * (weight.T @ error)
    return new_embeddings, weight - rate * torch.outer(error, x), -torch.log(probabilities[target])


def with_sigmoid(embeddings, weight, word, target, rate):
    x = embeddings[word]
    probabilities = 1 / (1 + torch.exp(-(weight @ x)))
    error = probabilities.clone()
    error[target] -= 1
    new_embeddings = embeddings.clone()
    new_embeddings[word] -= rate * (weight.T @ error)
    return new_embeddings, weight - rate * torch.outer(error, x), -torch.log(probabilities[target])


def error_is_not_a_copy(embeddings, weight, word, target, rate):
    x = embeddings[word]
    probabilities = torch.softmax(weight @ x, dim=0)
    error = probabilities
    error[target] -= 1
    new_embeddings = embeddings.clone()
    new_embeddings[word] -= rate * (weight.T @ error)
    return new_embeddings, weight - rate * torch.outer(error, x), -torch.log(probabilities[target])


def other_order(order):
    def step(*inputs):
        outputs = step_by_outer(*inputs)
        return tuple(outputs[i] for i in order)

    return step


def with_running_sum(find):
    """A sampler that gets the list of running sums, the random number and the number of words."""
    return lambda probabilities, u: find(list(itertools.accumulate(probabilities.tolist())), u)


def sorted_first(**options):
    return lambda probabilities, u: by_counting(torch.sort(probabilities, **options)[0], u)


def likeliest_first(probabilities, u):
    order = sorted(range(len(probabilities)), key=lambda index: -probabilities[index])
    return order[by_counting(probabilities[order], u)]


def starts_with_the_first(probabilities, u):
    total = probabilities[0]
    for index, probability in enumerate(probabilities):
        total = total + probability
        if u < total:
            return index
    return index


def equally_long(probabilities, u):
    return math.floor(len(probabilities) * u)


def one_inner_dictionary(sentences, n):
    rows = [["<s>"] * (n - 1) + list(words) + ["</s>"] for words in sentences]
    contexts = [(tuple(row[i - n + 1 : i]), row[i]) for row in rows for i in range(n - 1, len(row))]
    inner = {}
    counts = {context: inner for context, _ in contexts}
    for context, word in contexts:
        counts[context][word] = counts[context].get(word, 0) + 1
    return counts


def cross_entropy_of_probabilities(embeddings, weight, word, target, rate):
    x = embeddings[word]
    probabilities = torch.softmax(weight @ x, dim=0)
    loss = F.cross_entropy(probabilities, torch.tensor(target))
    error = probabilities.clone()
    error[target] -= 1
    new_embeddings = embeddings.clone()
    new_embeddings[word] = x - rate * (error @ weight)
    return new_embeddings, weight - rate * error[:, None] * x, loss


def scaled_error(factor):
    def step(embeddings, weight, word, target, rate):
        x, probabilities, error = parts(embeddings, weight, word, target)
        error = factor(rate) * error
        new_embeddings = embeddings.clone()
        new_embeddings[word] = x - rate * error @ weight
        return new_embeddings, weight - rate * torch.outer(error, x), -probabilities[target].log()

    return step


def subtracts_at_the_input(embeddings, weight, word, target, rate):
    x, probabilities, _ = parts(embeddings, weight, word, target)
    error = probabilities.clone()
    error[word] -= 1
    new_embeddings = embeddings.clone()
    new_embeddings[word] = x - rate * weight.T @ error
    return new_embeddings, weight - rate * torch.outer(error, x), -probabilities[target].log()


def moves_the_target_too(embeddings, weight, word, target, rate):
    x, probabilities, error = parts(embeddings, weight, word, target)
    new_embeddings = embeddings.clone()
    for row in (word, target):
        new_embeddings[row] -= rate * error @ weight
    return new_embeddings, weight - rate * torch.outer(error, x), -probabilities[target].log()


def compares_with_embeddings(embeddings, weight, word, target, rate):
    x = embeddings[word]
    probabilities = torch.softmax(embeddings @ x, dim=0)
    error = probabilities.clone()
    error[target] -= 1
    new_embeddings = embeddings.clone()
    new_embeddings[word] = x - rate * weight.T @ error
    return new_embeddings, weight - rate * torch.outer(error, x), -probabilities[target].log()


def mean_over_words(embeddings, weight, word, target, rate):
    x = embeddings[word]
    error = torch.softmax(weight @ x, dim=0)
    loss = -torch.log_softmax(weight @ x, dim=0)[target]
    error[target] -= 1
    new_embeddings = embeddings.clone()
    new_embeddings[word] = x - rate * (error[:, None] * weight).mean(dim=0)
    return new_embeddings, weight - rate * error[:, None] * x, loss


def finds_by_value(probabilities, u):
    numbers, total = probabilities.tolist(), 0.0
    for number in numbers:
        total += number
        if u < total:
            return numbers.index(number)
    return len(numbers) - 1


WRONG = {
    "count_next": [
        (one_inner_dictionary, "shared-dictionary"),
        (counted_with(lambda n: ["<s>"] * max(1, n - 1)), "start-token-for-unigrams"),
        (counted_with(lambda n: ["<s>", "<s>"]), "two-start-tokens"),
        (counted_with(lambda n: ["<s>"] * (n - 2)), "one-start-token-too-few"),
        (counted_with(lambda n: ["<s>"] if n > 1 else []), "one-start-token"),
        (pads_once, "padded-once"),
        (counted_with(lambda n: [["<s>"] * (n - 1)]), "raises", "not even inside a tuple"),
        (counted_with(lambda n: ["<s>"] * (n - 1), after=("<s>",)), "start-token-at-the-end"),
        (counted_with(lambda n: ["<s>" * (n - 1)]), "joined-start-token"),
        (one_start_and_short_contexts, "short-first-contexts"),
        (flat_list, "across-sentences"),
        (lambda sentences, n: count_by_context([list(itertools.chain(*sentences))], n), "one-long-sentence"),
        (zip_without_end, "no-end-token"),
        (only_pairs, "n-ignored"),
        (windows_alone, "flat"),
        (marks_in_place, "in-place"),
        (reversed_context, "reversed-context"),
        (forgets_return, "returns-none"),
        (counted_with(lambda n: []), "no-start-token"),
        (counted_with(lambda n: [], after=()), "no-tokens"),
        (counted_with(lambda n: ["<s>"]), "unrepaired"),
        (counted_with(lambda n: ["<s>"] * n), "one-too-many"),
        (counted_with(lambda n: ["</s>"] * (n - 1), after=("<s>",)), "tokens-swapped"),
        (
            lambda sentences, n: counted(
                [["<s>"] * (n - 1) + words + ["</s>"] * (n - 1) for words in sentences], n
            ),
            "many-end-tokens",
        ),
        (lambda sentences, n: ends_of_windows(sentences, n, first=n), "first-word-skipped"),
        (ends_of_windows, "start-token-counted"),
        (
            lambda sentences, n: ends_of_windows(
                sentences, n, context_of=lambda row, i, n: tuple(row[:i][-n + 1 :]) if n > 1 else ()
            ),
            "short-contexts",
        ),
        (returns_early, "first-sentence-only"),
        (starts_again, "last-sentence-only"),
        (each_word_once, "once-each"),
        (sets_of_windows, "once-per-sentence"),
        (lambda sentences, n: count_by_zip({tuple(words) for words in sentences}, n), "repeated-sentences"),
        (forgets_the_last_words, "overwritten"),
        (
            lambda sentences, n: count_by_context([words for words in sentences if len(words)], n),
            "empty-skipped",
        ),
        (starts_at_one, "count-too-large"),
        (from_zero, "one-too-few"),
        (
            lambda sentences, n: counted([["<s>"] * n + words + ["</s>"] for words in sentences], n + 1),
            "context-of-n-words",
        ),
        (
            lambda sentences, n: ends_of_windows(
                sentences, n, first=n - 1, context_of=lambda row, i, n: tuple(row[i - n + 2 : i])
            ),
            "context-too-short",
        ),
        (no_padding, "shorter-at-start"),
        (context_with_the_word, "context-too-long"),
        (negative_zero, "whole-context"),
        (renamed(" ".join), "context-as-text"),
        (renamed(lambda context: context[0] if len(context) == 1 else context), "bare-word"),
        (words_as_keys, "inside-out"),
        (slices_for_words, "words-as-tuples"),
        (probabilities_of_words, "probabilities"),
        (
            lambda sentences, n: {
                context: after.total() for context, after in count_by_zip(sentences, n).items()
            },
            "totals",
        ),
        (in_order_of_occurrence, "lists"),
        (renamed(list), "raises"),
    ],
    "gradient_step": [
        (step_with_record, "a second one, which starts from its result"),
        (cross_entropy_of_probabilities, "softmax-in-loss"),
        (scaled_error(lambda rate: rate), "rate-twice"),
        (scaled_error(lambda rate: 1 / rate**2), "divided-by-rate"),
        (moves_the_target_too, "target-row-too"),
        (subtracts_at_the_input, "minus-one-for-the-input"),
        (
            step_with(error_of=lambda probabilities, error: torch.where(error < 0, error, 0.0)),
            "error-of-target-only",
        ),
        (compares_with_embeddings, None),
        (step_with(loss=lambda probabilities, word, target: -sum(probabilities.log())), "sum-of-losses"),
        (step_with(loss=lambda probabilities, word, target: -probabilities[target]), "minus-probability"),
        (mean_over_words, "averaged-over-words"),
        (adds, "uphill"),
        (in_place, "in-place"),
        (nested_lists, "wrong-form"),
        (row_only, "row-only"),
        (matrix_first, "new-weight"),
        (row_of_the_copy, "new-row"),
        (log_ten, "log-ten"),
        (turned_outer, "outer-swapped"),
        (forgets_outer, "no-outer"),
        (forgets_the_transpose, "not-transposed"),
        (transposes_for_the_logits, "`weight`"),
        (other_order((2, 0, 1)), "loss-first"),
        (other_order((1, 0, 2)), "weight-first"),
        (gradients_only, "gradients-only"),
        (gradient_of_the_row, "gradient-of-the-row"),
        (row_is_the_change, "change-only"),
        (logits_as_probabilities, "no-softmax"),
        (
            step_with(error_of=lambda probabilities, error: probabilities - probabilities**2),
            "softmax-derivative",
        ),
        (step_with(error_of=lambda p, error: -(error < 0).float() / p), "log-derivative"),
        (step_with(table_rate=-1.0), "embeddings-uphill"),
        (step_with(matrix_rate=-1.0), "weight-uphill"),
        (
            lambda embeddings, weight, *rest: (
                embeddings,
                weight,
                step_by_outer(embeddings, weight, *rest)[2],
            ),
            "nothing-moves",
        ),
        (step_with(table_rate=0.0), "embeddings-stays"),
        (step_with(matrix_rate=0.0), "weight-stays"),
        (step_with(error_of=lambda probabilities, error: probabilities), "no-minus-one"),
        (step_with(error_of=lambda probabilities, error: probabilities - 1), "minus-one-everywhere"),
        (step_with(error_of=lambda probabilities, error: 2 * probabilities - error), "plus-one"),
        (step_with(error_of=lambda probabilities, error: torch.where(error < 0, -1.0, error)), "assigned"),
        (step_with(error_of=lambda probabilities, error: error.abs()), "right-sign"),
        (step_with(error_of=lambda probabilities, error: error / len(error)), "averaged"),
        (whole_gradient, "no-rate"),
        (rate_for_one("weight"), "no-rate-embeddings"),
        (rate_for_one("embeddings"), "no-rate-weight"),
        (step_with(row=lambda target: target), "wrong-row"),
        (step_with(row=lambda target: slice(None)), "every-row"),
        (only_the_right_row, "one-weight-row"),
        (only_the_row_of_word, "weight-row-of-word"),
        (only_the_right_error, "one-error"),
        (bare_exp, "overflow"),
        (with_sigmoid, "sigmoid"),
        (step_with(loss=lambda probabilities, word, target: -torch.log(probabilities)), "all-losses"),
        (error_is_not_a_copy, "no-copy"),
        (loss_of_the_new_weights, "loss-after"),
        (step_with(loss=lambda probabilities, word, target: 1 - probabilities[target]), "no-log"),
        (step_with(loss=lambda probabilities, word, target: probabilities[target]), "loss-is-probability"),
        (step_with(loss=lambda probabilities, word, target: probabilities[target].log()), "positive-log"),
        (step_with(loss=lambda probabilities, word, target: -torch.log2(probabilities)[target]), "log-two"),
        (step_with(loss=lambda probabilities, word, target: -probabilities.log().max()), "loss-of-likeliest"),
        (step_with(loss=lambda probabilities, word, target: -probabilities.log()[word]), "loss-of-word"),
        (step_with(loss=lambda probabilities, word, target: -probabilities.log().mean()), "mean-of-losses"),
        (lambda embeddings, weight, *rest: step_by_outer(weight, embeddings, *rest), "`embeddings`"),
    ],
    "perplexity": [
        (typical_then_inverse, "unrepaired"),
        (lambda probabilities: torch.prod(probabilities) ** (1 / len(probabilities)), "mean-of-products"),
        (exponential_of_entropy, "entropy-of-scaled"),
        (root_of_sum, None),
        (base_ten, "e-and-ten"),
        (median, "median"),
        (for_each, "each-word"),
        (multiplied, "product"),
        (lambda p: 1 / math.prod(p.tolist()) ** (1 / len(p)), "raises", "is rounded to 0"),
        (lambda probabilities: round(with_math(probabilities)), "rounded"),
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
    "sample_next": [
        (
            lambda probabilities, u: min(
                int((probabilities.cumsum(0) <= 1 - u).sum()), len(probabilities) - 1
            ),
            "one-minus-u",
        ),
        (finds_by_value, "first-equal"),
        (returns_in_the_first_round, "first-or-last"),
        (argmax, "likeliest"),
        (not_above, "edge"),
        (no_last_index, "returns-none"),
        (past_the_end, "past-the-end"),
        (ignores_the_lot, None),
        (nearest_probability, "nearest-probability"),
        (prints_it, "returns-none"),
        (from_the_back, "from-the-end"),
        (
            lambda probabilities, u: next(
                (i for i, probability in enumerate(probabilities) if u < probability),
                len(probabilities) - 1,
            ),
            "no-running-sum",
        ),
        (
            with_running_sum(lambda sums, u: next((i for i, end in enumerate(sums) if u < end), -1)),
            "minus-one",
        ),
        (lambda probabilities, u: (probabilities.cumsum(0) > u).int().argmax(), "zero-at-the-end"),
        (lambda probabilities, u: by_search(probabilities, u) - 1, "one-before"),
        (
            with_running_sum(lambda sums, u: max(sum(end <= u for end in sums) - 1, 0)),
            "one-before-or-zero",
        ),
        (lambda probabilities, u: 1 + by_counting(probabilities, u), "one-after"),
        (
            lambda probabilities, u: min(by_bisect(probabilities, u) + 1, len(probabilities) - 1),
            "one-after-or-last",
        ),
        (
            lambda probabilities, u: probabilities[by_search(probabilities, u)].item(),
            "probability-itself",
        ),
        (lambda probabilities, u: float(by_search(probabilities, u)), None),
        (
            lambda probabilities, u: probabilities.cumsum(0)[by_search(probabilities, u)],
            "running-sum-itself",
        ),
        (starts_with_the_first, "first-twice"),
        (
            lambda probabilities, u: min(sum(p <= u for p in probabilities), len(probabilities) - 1),
            "smaller-counted",
        ),
        (lambda probabilities, u: (probabilities.cumsum(0) > u).sum(), "larger-counted"),
        (equally_long, "equal-intervals"),
        (lambda probabilities, u: by_search(probabilities.softmax(-1), u), "softmax-again"),
        (sorted_first(descending=True), "sorted"),
        (sorted_first(), "sorted-ascending"),
        (likeliest_first, "likeliest-first"),
        (sorts_by_probability, "likeliest-first"),
        (
            lambda probabilities, u: next(
                (i for i, end in enumerate(probabilities.cumsum(0)) if u < end), int(probabilities.argmax())
            ),
            "likeliest-at-the-end",
        ),
        (
            with_running_sum(lambda sums, u: min(range(len(sums)), key=lambda i: abs(sums[i] - u))),
            "nearest-end",
        ),
        (lambda probabilities, u: torch.multinomial(probabilities, 1).item(), "random"),
        (lambda probabilities, u: torch.tensor([by_counting(probabilities, u)]), None),
    ],
}

RIGHT = {
    "count_next": [count_by_zip, count_by_context, count_with_get],
    "gradient_step": [step_by_outer, step_by_loops, step_by_autograd],
    "perplexity": [with_math, in_bits, geometric, lambda p: 1 / p.double().log().mean().exp()],
    "sample_next": [by_search, by_bisect, by_counting, by_subtracting, by_normalising],
}
