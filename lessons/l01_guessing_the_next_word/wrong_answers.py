"""Answers to the exercises of lesson 01, as learners write them.

WRONG has answers that no slip of exercises.py repeats, each with the slip that the verdict must name
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


def marks_in_place(sentences, n):
    for words in sentences:
        words.append("</s>")
    return count_by_zip([words[:-1] for words in sentences], n)


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


def in_place(embeddings, weight, word, target, rate):
    x, probabilities, error = parts(embeddings, weight, word, target)
    old = weight.clone()
    weight -= rate * torch.outer(error, x)
    embeddings[word] -= rate * (old.T @ error)
    return embeddings, weight, -probabilities[target].log()


def transposes_for_the_logits(embeddings, weight, word, target, rate):
    return step_by_outer(embeddings, weight.T, word, target, rate)


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


def root_of_sum(probabilities):
    return torch.exp(-torch.log(probabilities).sum() / 2)


# ---- drawing


def no_last_index(probabilities, u):
    total = 0
    for index, probability in enumerate(probabilities):
        total += probability
        if u < total:
            return index


def ignores_the_lot(probabilities, u):
    return 0


def prints_it(probabilities, u):
    print(int(torch.searchsorted(torch.cumsum(probabilities, 0), u, right=True)))


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


def compares_with_embeddings(embeddings, weight, word, target, rate):
    x = embeddings[word]
    probabilities = torch.softmax(embeddings @ x, dim=0)
    error = probabilities.clone()
    error[target] -= 1
    new_embeddings = embeddings.clone()
    new_embeddings[word] = x - rate * weight.T @ error
    return new_embeddings, weight - rate * torch.outer(error, x), -probabilities[target].log()


WRONG = {
    "count_next": [
        (counted_with(lambda n: [["<s>"] * (n - 1)]), "raises", "not even inside a tuple"),
        (marks_in_place, "in-place"),
        (forgets_return, "returns-none"),
        (counted_with(lambda n: ["<s>"]), "unrepaired"),
        (renamed(list), "raises"),
    ],
    "gradient_step": [
        (step_with_record, "a second one, which starts from its result"),
        (compares_with_embeddings, None),
        (in_place, "in-place"),
        (nested_lists, "wrong-form"),
        (transposes_for_the_logits, "`weight`"),
        (lambda embeddings, weight, *rest: step_by_outer(weight, embeddings, *rest), "`embeddings`"),
    ],
    "perplexity": [
        (typical_then_inverse, "unrepaired"),
        (root_of_sum, None),
        (lambda p: 1 / math.prod(p.tolist()) ** (1 / len(p)), "raises", "is rounded to 0"),
        (lambda probabilities: (-(probabilities + 1e-7).log().mean()).exp(), None),
        (lambda probabilities: (-probabilities.clamp(min=1e-5).log().mean()).exp(), None),
        (lambda probabilities: math.exp(-probabilities.log().sum() / max(len(probabilities) - 1, 1)), None),
    ],
    "sample_next": [
        (no_last_index, "returns-none"),
        (ignores_the_lot, None),
        (prints_it, "returns-none"),
        (lambda probabilities, u: float(by_search(probabilities, u)), None),
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
