"""The exercises of lesson 01: count n-grams, take a gradient step, measure perplexity, sample."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from course_lib.teaching.exercises import ByHand, PlainExercise, Slip, Verdict, call, wrong_verdict
from course_lib.teaching.exercises.time_limit import TimeLimit
from lessons.l01_guessing_the_next_word.examples import END, START, Sentences, ngrams

Counts = dict[tuple[str, ...], dict[str, int]]

# ---- counting


def count_next(sentences: Sentences, n: int) -> Counts:
    """How often each word followed each context of n - 1 words."""
    return count_windows([[START] * (n - 1) + list(words) + [END] for words in sentences], n)


def count_windows(rows: Sentences, n: int) -> Counts:
    """Every window of n words in each row of tokens."""
    windows = (row[i - n + 1 : i + 1] for row in rows for i in range(n - 1, len(row)))
    return count_pairs((tuple(context), word) for *context, word in windows)


def count_pairs(pairs: Iterator[tuple[tuple[str, ...], str]]) -> Counts:
    counts = defaultdict(Counter)
    for context, word in pairs:
        counts[context][word] += 1
    return {context: dict(after) for context, after in counts.items()}


def first_count(sentences, n):
    return count_windows([[START, *words, END] for words in sentences], n)


def with_tokens(row_of: Callable) -> Callable:
    """The count of rows that `row_of` makes from a sentence and n."""
    return lambda sentences, n: count_windows([row_of(words, n) for words in sentences], n)


def with_context(change: Callable) -> Callable:
    """The right count with another form of each context; `change` gets the context and the next word."""
    return lambda sentences, n: count_pairs(
        (change(context, word), word) for context, word in ngrams(sentences, n)
    )


def with_after(change: Callable) -> Callable:
    """The right count with something else instead of the next words and their counts."""
    return lambda sentences, n: {
        context: change(after) for context, after in count_next(sentences, n).items()
    }


def count_prefixes(sentences: Sentences, n: int) -> Counts:
    """Right unless n is 1: then the context is everything so far."""
    if n > 1:
        return count_next(sentences, n)
    rows = [[*words, END] for words in sentences]
    return count_pairs((tuple(row[:i]), row[i]) for row in rows for i in range(len(row)))


def count_from(context_start: Callable, first: Callable = lambda n: 0) -> Callable:
    """The count from the token at `first(n)` on; `context_start` says where the context of the token at i
    starts."""

    def count(sentences: Sentences, n: int) -> Counts:
        rows = [[START] * (n - 1) + list(words) + [END] for words in sentences]
        positions = ((row, i) for row in rows for i in range(first(n), len(row)))
        return count_pairs((tuple(row[context_start(i, n) : i]), row[i]) for row, i in positions)

    return count


def count_short(sentences: Sentences, n: int) -> Counts:
    """With one start token and, near it, contexts of fewer than n - 1 tokens."""
    rows = [[START, *words, END] for words in sentences]
    positions = ((row, i) for row in rows for i in range(1, len(row)))
    return count_pairs((tuple(row[max(0, i - n + 1) : i]), row[i]) for row, i in positions)


def once_per_sentence(sentences: Sentences, n: int) -> Counts:
    counts = defaultdict(Counter)
    for words in sentences:
        for context, after in count_next([words], n).items():
            counts[context].update(after.keys())
    return counts


def share_dictionary(sentences: Sentences, n: int) -> Counts:
    """Every context has the counts of all words."""
    words = Counter(word for _, word in ngrams(sentences, n))
    return {context: words for context, _ in ngrams(sentences, n)}


EARLY_START = (
    "a start token is counted as a next word. Start at the first word, after the n − 1 start tokens."
)

COUNT_NEXT = PlainExercise(
    name="count_next",
    lesson="guessing_the_next_word",
    inputs=("sentences", "n"),
    reference=count_next,
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
    unrepaired=first_count,
    slips=(
        Slip(
            "across-sentences",
            lambda sentences, n: count_windows(
                [[w for words in sentences for w in [*[START] * (n - 1), *words, END]]], n
            ),
            "a context extends past the start of a sentence into the previous one. Count each sentence "
            "separately.",
        ),
        Slip(
            "padded-once",
            lambda sentences, n: count_windows(
                [[*[START] * (n - 1), *(word for words in sentences for word in [*words, END])]], n
            ),
            "only the first sentence has start tokens, so later ones continue from the sentence before. "
            "Count each sentence separately, with n − 1 start tokens of its own.",
        ),
        Slip(
            "one-long-sentence",
            lambda sentences, n: count_next([[word for words in sentences for word in words]], n),
            "the sentences are joined into one long sentence. Count each sentence separately, with start "
            "and end tokens of its own.",
        ),
        Slip(
            "no-end-token",
            with_tokens(lambda words, n: [START] * (n - 1) + list(words)),
            "the end of a sentence isn't counted. Is the end token `</s>` there, and does the loop reach it?",
        ),
        Slip(
            "no-start-token",
            with_tokens(lambda words, n: [*words, END]),
            "the first words of a sentence aren't counted. Add n − 1 start tokens `<s>` before each "
            "sentence.",
        ),
        Slip(
            "no-tokens",
            count_windows,
            "the start and end tokens are missing. Add n − 1 start tokens before each sentence and one end "
            "token after it.",
        ),
        Slip(
            "one-start-token",
            with_tokens(lambda words, n: [START] * min(1, n - 1) + list(words) + [END]),
            "there is only one start token, however large n is. The first word should come after n − 1 of "
            "them.",
        ),
        Slip(
            "one-start-token-too-few",
            with_tokens(lambda words, n: [START] * (n - 2) + list(words) + [END]),
            "there are only n − 2 start tokens. The first word should come after n − 1 of them.",
        ),
        Slip(
            "one-too-many",
            with_tokens(lambda words, n: [START] * n + list(words) + [END]),
            "there are n start tokens. The first word should come after n − 1 of them.",
        ),
        Slip(
            "start-token-for-unigrams",
            with_tokens(lambda words, n: [START] * max(1, n - 1) + list(words) + [END]),
            "for n = 1 there is still a start token, and it is counted as a word. With an empty context, no "
            "start token is needed.",
        ),
        Slip(
            "two-start-tokens",
            with_tokens(lambda words, n: [START, START, *words, END]),
            "there are always two start tokens. Their number should depend on n: the first word comes after "
            "n − 1 of them.",
        ),
        Slip(
            "joined-start-token",
            with_tokens(lambda words, n: [START * (n - 1), *words, END]),
            'the start tokens are joined into one string. `["<s>"] * (n - 1)` is a list of n − 1 tokens, '
            'but `"<s>" * (n - 1)` is a single string.',
        ),
        Slip(
            "short-first-contexts",
            count_short,
            "there is always one start token, and the first contexts are shorter than n − 1 tokens. Add n − "
            "1 start tokens instead.",
        ),
        Slip(
            "many-end-tokens",
            with_tokens(lambda words, n: [START] * (n - 1) + list(words) + [END] * (n - 1)),
            "there are n − 1 end tokens. A sentence ends once, so it needs a single end token.",
        ),
        Slip(
            "tokens-swapped",
            with_tokens(lambda words, n: [END] * (n - 1) + list(words) + [START]),
            "the start and end tokens are swapped. `<s>` is the start token, and `</s>` is the end token.",
        ),
        Slip(
            "start-token-at-the-end",
            with_tokens(lambda words, n: [START] * (n - 1) + list(words) + [START]),
            "a sentence ends with the start token `<s>`. The end token is `</s>`.",
        ),
        Slip(
            "first-word-skipped",
            count_from(lambda i, n: i - n + 1, first=lambda n: n),
            "the first word of each sentence isn't counted, although its start tokens are there. The loop "
            "starts one step too late.",
        ),
        Slip("start-token-counted", count_from(lambda i, n: i - n + 1), EARLY_START),
        Slip("short-contexts", count_from(lambda i, n: max(0, i - n + 1)), EARLY_START),
        Slip(
            "first-sentence-only",
            lambda sentences, n: count_next(sentences[:1], n),
            "only the first sentence is counted. Is `return` inside the loop?",
        ),
        Slip(
            "last-sentence-only",
            lambda sentences, n: count_next(sentences[-1:], n),
            "only the last sentence is counted. Is the dictionary created anew for each sentence?",
        ),
        Slip(
            "once-each",
            with_after(lambda after: dict.fromkeys(after, 1)),
            "every count is 1, however often the word occurred. Add 1 each time.",
        ),
        Slip(
            "once-per-sentence",
            once_per_sentence,
            "an n-gram that occurs several times in one sentence is counted only once. Count each "
            "occurrence (a set keeps only one).",
        ),
        Slip(
            "repeated-sentences",
            lambda sentences, n: count_next(dict.fromkeys(map(tuple, sentences)), n),
            "a sentence that occurs twice is counted only once. Count every sentence.",
        ),
        Slip(
            "overwritten",
            lambda sentences, n: {context: {word: 1} for context, word in ngrams(sentences, n)},
            "the dictionary for a context is replaced each time, so only the last word is left. Create it "
            "once, then add to it.",
        ),
        Slip(
            "empty-skipped",
            lambda sentences, n: count_next([words for words in sentences if words], n),
            "empty sentences are skipped. They have an end token too.",
        ),
        Slip(
            "shared-dictionary",
            share_dictionary,
            "all contexts share the same inner dictionary, so each contains all words. Create a new "
            "dictionary for each context (`dict.fromkeys` uses one for all).",
        ),
        Slip(
            "count-too-large",
            with_after(lambda after: {word: count + 1 for word, count in after.items()}),
            "every count is 1 too large. Before a word has occurred, its count is 0.",
        ),
        Slip(
            "one-too-few",
            with_after(lambda after: {word: count - 1 for word, count in after.items()}),
            "every count is 1 too small. The first time a word occurs, its count becomes 1.",
        ),
        Slip(
            "n-ignored",
            lambda sentences, n: count_next(sentences, 2),
            "the context is always one word, whatever n is. It should be the n − 1 previous words.",
        ),
        Slip(
            "context-of-n-words",
            lambda sentences, n: count_next(sentences, n + 1),
            "the context is n words long. An n-gram is a context of n − 1 words and the next word.",
        ),
        Slip(
            "context-too-short",
            with_context(lambda context, word: context[1:]),
            "the context is n − 2 words long. An n-gram is a context of n − 1 words and the next word.",
        ),
        Slip(
            "shorter-at-start",
            with_context(lambda context, word: tuple(token for token in context if token != START)),
            "the context is shorter at the start of a sentence. Fill it with start tokens, so that it "
            "always has n − 1 words.",
        ),
        Slip(
            "context-too-long",
            with_context(lambda context, word: (*context, word)),
            "the context also contains the next word. It should be the n − 1 words before that.",
        ),
        Slip(
            "whole-context",
            count_prefixes,
            "for n = 1 the context should be empty. But `context[-(n - 1):]` is then `context[0:]`, which "
            "is everything.",
        ),
        Slip(
            "reversed-context",
            with_context(lambda context, word: context[::-1]),
            "the words of the context are in reverse order. Keep the order of the sentence.",
        ),
        Slip(
            "context-as-text",
            with_context(lambda context, word: " ".join(context)),
            "the context is a string. It should be a tuple of words: `tuple(...)`.",
        ),
        Slip(
            "bare-word",
            with_context(lambda context, word: context[0] if len(context) == 1 else context),
            "for n = 2 the context is a bare word. It should be a tuple that contains one word, `('le',)`.",
        ),
        Slip(
            "flat",
            lambda sentences, n: Counter((*context, word) for context, word in ngrams(sentences, n)),
            "whole n-grams are the keys. The key should be the context, and its value a dictionary of the "
            "next words and their counts.",
        ),
        Slip(
            "inside-out",
            lambda sentences, n: count_pairs((word, context) for context, word in ngrams(sentences, n)),
            "the next word and the context are swapped: the outer key should be the context.",
        ),
        Slip(
            "words-as-tuples",
            with_after(lambda after: {(word,): count for word, count in after.items()}),
            "the next word is a tuple. Only the context is a tuple; the next word is a string.",
        ),
        Slip(
            "probabilities",
            with_after(lambda after: {word: k / sum(after.values()) for word, k in after.items()}),
            "these are probabilities. Return the counts themselves, without dividing them.",
        ),
        Slip(
            "totals",
            with_after(lambda after: sum(after.values())),
            "only the total of each context is returned. Count each next word separately.",
        ),
        Slip(
            "lists",
            with_after(lambda after: [word for word, count in after.items() for _ in range(count)]),
            "the next words are listed. Return how often each of them occurred.",
        ),
    ),
)

# ---- one gradient step


def gradient_step(
    embeddings: Tensor, weight: Tensor, word: int, target: int, rate: float
) -> tuple[Tensor, Tensor, float]:
    """One step of gradient descent for the smallest network: an embedding, output weights and a softmax."""
    return changed_step(embeddings, weight, word, target, rate)


def overflowing_softmax(logits: Tensor) -> Tensor:
    return logits.exp() / logits.exp().sum()


def changed_step(
    embeddings: Tensor,
    weight: Tensor,
    word: int,
    target: int,
    rate: float,
    *,
    probabilities_of: Callable[[Tensor], Tensor] | None = None,
    error_of: Callable[[Tensor, Tensor], Tensor] = torch.sub,
    embeddings_factor: float = 1.0,
    weight_factor: float = 1.0,
    new_weight_first: bool = False,
    new_row_first: bool = False,
    row: int | slice | None = None,
) -> tuple[Tensor, Tensor, float]:
    """The step, or one with a slip. `error_of` gets the probabilities and the one-hot vector of the
    target; the factors scale the updates; `row` is the row of the embeddings that moves."""
    x, logits = embeddings[word], weight @ embeddings[word]
    probabilities = probabilities_of(logits) if probabilities_of else torch.softmax(logits, dim=0)
    log_probabilities = probabilities.log() if probabilities_of else torch.log_softmax(logits, dim=0)
    error = error_of(probabilities, torch.eye(len(weight), dtype=weight.dtype)[target])
    new_weight = weight - weight_factor * rate * torch.outer(error, x)
    change = embeddings_factor * rate * ((new_weight if new_weight_first else weight).T @ error)
    if new_row_first:
        new_weight = weight - rate * torch.outer(error, x - change)
    new_embeddings = embeddings.clone()
    new_embeddings[word if row is None else row] -= change
    return new_embeddings, new_weight, -log_probabilities[target].item()


def with_step(**changes: object) -> Callable:
    return lambda *inputs: changed_step(*inputs, **changes)


def with_loss(loss: Callable, *, after: bool = False) -> Callable:
    """The right step with another loss, computed from the probabilities before or after the step."""

    def wrong(embeddings, weight, word, target, rate):
        new_embeddings, new_weight, _ = gradient_step(embeddings, weight, word, target, rate)
        logits = new_weight @ new_embeddings[word] if after else weight @ embeddings[word]
        return new_embeddings, new_weight, loss(torch.softmax(logits, dim=0), target)

    return wrong


def with_outputs(change: Callable) -> Callable:
    """The right step, returned in another form; `change` also gets the inputs."""
    return lambda *inputs: change(*gradient_step(*inputs), *inputs)


def find_error(embeddings, weight, word, target):
    return (
        torch.softmax(weight @ embeddings[word], dim=0) - torch.eye(len(weight), dtype=weight.dtype)[target]
    )


def only_gradients(embeddings, weight, word, target, rate):
    error, of_embeddings = find_error(embeddings, weight, word, target), torch.zeros_like(embeddings)
    of_embeddings[word] = weight.T @ error
    return (
        of_embeddings,
        torch.outer(error, embeddings[word]),
        gradient_step(embeddings, weight, word, target, rate)[2],
    )


def target_row_too(embeddings, weight, word, target, rate):
    new_embeddings, new_weight, loss = gradient_step(embeddings, weight, word, target, rate)
    new_embeddings[target] -= rate * (weight.T @ find_error(embeddings, weight, word, target))
    return new_embeddings, new_weight, loss


def outer_swapped(embeddings, weight, word, target, rate):
    new_embeddings, _, loss = gradient_step(embeddings, weight, word, target, rate)
    return (
        new_embeddings,
        weight - rate * torch.outer(embeddings[word], find_error(embeddings, weight, word, target)),
        loss,
    )


def no_outer(embeddings, weight, word, target, rate):
    new_embeddings, _, loss = gradient_step(embeddings, weight, word, target, rate)
    error = find_error(embeddings, weight, word, target)
    return new_embeddings, weight - rate * error * embeddings[word], loss


def not_transposed(embeddings, weight, word, target, rate):
    _, new_weight, loss = gradient_step(embeddings, weight, word, target, rate)
    new_embeddings = embeddings.clone()
    new_embeddings[word] -= rate * (weight @ find_error(embeddings, weight, word, target))
    return new_embeddings, new_weight, loss


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

    def find_further_problem(self, attempt: Callable, limit: TimeLimit) -> Verdict | None:
        embeddings, weight, *others = self.others[0]()

        def take_two_steps() -> None:
            new_embeddings, new_weight, _ = attempt(embeddings, weight, *others)
            attempt(new_embeddings, new_weight, *others)

        result = call(take_two_steps, limit)
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
    reference=gradient_step,
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
    slips=(
        Slip(
            "uphill",
            with_step(embeddings_factor=-1, weight_factor=-1),
            "the step increases the loss. Either the gradients are added instead of subtracted, or the "
            "errors have the wrong sign: the target's error is its probability minus 1.",
        ),
        Slip(
            "embeddings-uphill",
            with_step(embeddings_factor=-1),
            "the update of the embedding has the wrong sign. Subtract the gradient instead of adding it.",
        ),
        Slip(
            "weight-uphill",
            with_step(weight_factor=-1),
            "the update of the output weights has the wrong sign. Subtract the gradient instead of adding "
            "it.",
        ),
        Slip(
            "nothing-moves",
            with_step(embeddings_factor=0, weight_factor=0),
            "neither the embeddings nor the output weights have changed. Return the new ones.",
        ),
        Slip(
            "embeddings-stays",
            with_step(embeddings_factor=0),
            "the embeddings haven't changed. The row of `word` needs an update too.",
        ),
        Slip(
            "weight-stays",
            with_step(weight_factor=0),
            "the output weights haven't changed. All rows need an update; the gradient of a row is its "
            "error times `x`.",
        ),
        Slip(
            "no-minus-one",
            with_step(error_of=lambda probabilities, one_hot: probabilities),
            "the probabilities themselves are used as errors. Subtract 1 for the target.",
        ),
        Slip(
            "minus-one-everywhere",
            with_step(error_of=lambda probabilities, one_hot: probabilities - 1),
            "1 is subtracted from every probability. Subtract it only for the target.",
        ),
        Slip(
            "minus-one-for-the-input",
            lambda *inputs: changed_step(
                *inputs, error_of=lambda p, _: p - torch.eye(len(p), dtype=p.dtype)[inputs[2]]
            ),
            "1 is subtracted for `word`, the input. Subtract it for `target`, the word that should be "
            "predicted.",
        ),
        Slip(
            "error-of-target-only",
            with_step(error_of=lambda probabilities, one_hot: (probabilities - one_hot) * one_hot),
            "only the target has an error. The errors of all other words are their probabilities.",
        ),
        Slip(
            "plus-one",
            with_step(error_of=torch.add),
            "1 is added for the target. The error of the target is its probability minus 1.",
        ),
        Slip(
            "softmax-derivative",
            with_step(error_of=lambda probabilities, one_hot: probabilities * (1 - probabilities)),
            "the errors are p · (1 − p), the derivative of a probability with respect to its own logit. The "
            "derivative of the loss is p, minus 1 for the target.",
        ),
        Slip(
            "log-derivative",
            with_step(error_of=lambda probabilities, one_hot: -one_hot / probabilities),
            "the error is −1/p, the derivative of the loss with respect to the target's probability. With "
            "respect to the logits, it is p, minus 1 for the target.",
        ),
        Slip(
            "assigned",
            with_step(error_of=lambda probabilities, one_hot: probabilities * (1 - one_hot) - one_hot),
            "the error of the target is set to −1. It should be the probability minus 1.",
        ),
        Slip(
            "right-sign",
            with_step(
                error_of=lambda probabilities, one_hot: torch.where(
                    one_hot > 0, 1 - probabilities, probabilities
                )
            ),
            "the error of the target has the wrong sign. It is the probability minus 1, which is negative.",
        ),
        Slip(
            "averaged",
            with_step(error_of=lambda probabilities, one_hot: (probabilities - one_hot) / len(one_hot)),
            "the gradients are divided by the number of words. The loss is that of a single word, so there "
            "is nothing to average.",
        ),
        Slip(
            "new-weight",
            with_step(new_weight_first=True),
            "the gradient of the embedding is computed with the new output weights. Compute all gradients "
            "first, then update.",
        ),
        Slip(
            "new-row",
            with_step(new_row_first=True),
            "the gradient of the output weights is computed with the new embedding. Compute all gradients "
            "first, then update. Note that `new_embeddings[word]` is a view: it changes together with the "
            "embeddings.",
        ),
        Slip(
            "no-rate",
            lambda embeddings, weight, word, target, rate: gradient_step(
                embeddings, weight, word, target, 1.0
            ),
            "the learning rate isn't used: the whole gradient is subtracted.",
        ),
        Slip(
            "no-rate-embeddings",
            lambda *inputs: changed_step(*inputs, embeddings_factor=1 / inputs[4]),
            "the learning rate isn't used for the embeddings.",
        ),
        Slip(
            "no-rate-weight",
            lambda *inputs: changed_step(*inputs, weight_factor=1 / inputs[4]),
            "the learning rate isn't used for the output weights.",
        ),
        Slip(
            "rate-twice",
            lambda *inputs: changed_step(*inputs, embeddings_factor=inputs[4], weight_factor=inputs[4]),
            "the gradients are multiplied by the learning rate twice. Multiply them once.",
        ),
        Slip(
            "divided-by-rate",
            lambda *inputs: changed_step(
                *inputs, embeddings_factor=inputs[4] ** -2, weight_factor=inputs[4] ** -2
            ),
            "the gradients are divided by the learning rate. Multiply them by it.",
        ),
        Slip(
            "wrong-row",
            lambda *inputs: changed_step(*inputs, row=inputs[3]),
            "the row of `target` is updated. The network's input was `word`, so update the row of `word`.",
        ),
        Slip(
            "target-row-too",
            target_row_too,
            "the embedding of `target` is updated as well. Only the embedding of `word` was an input, so "
            "only that row changes.",
        ),
        Slip(
            "every-row",
            with_step(row=slice(None)),
            "all embeddings are updated. Only the row of `word` was used, so only that row changes.",
        ),
        Slip(
            "one-weight-row",
            with_outputs(
                lambda new_embeddings, new_weight, loss, embeddings, weight, word, target, rate: (
                    new_embeddings,
                    torch.where(torch.arange(len(weight))[:, None] == target, new_weight, weight),
                    loss,
                )
            ),
            "only the target's row of the output weights is updated. The other words have errors as well, "
            "so all rows change.",
        ),
        Slip(
            "weight-row-of-word",
            with_outputs(
                lambda new_embeddings, new_weight, loss, embeddings, weight, word, target, rate: (
                    new_embeddings,
                    torch.where(torch.arange(len(weight))[:, None] == word, new_weight, weight),
                    loss,
                )
            ),
            "only one row of the output weights is updated, that of `word`. Each row computes the logit of "
            "one word, and every word has an error, so all rows change.",
        ),
        Slip(
            "one-error",
            with_outputs(
                lambda new_embeddings, new_weight, loss, embeddings, weight, word, target, rate: (
                    changed_step(
                        embeddings,
                        weight,
                        word,
                        target,
                        rate,
                        error_of=lambda p, one_hot: (p - one_hot) * one_hot,
                    )[0],
                    new_weight,
                    loss,
                )
            ),
            "the gradient of the embedding uses only the target's error. It should be the sum over all "
            "words of the error times that word's row of the output weights.",
        ),
        Slip(
            "outer-swapped",
            outer_swapped,
            "the gradient of the output weights is transposed. Its row i is the error of word i times `x`, "
            "so the error comes first in `torch.outer`.",
        ),
        Slip(
            "no-outer",
            no_outer,
            "`error * x` multiplies the two vectors element by element. The gradient of the output weights "
            "contains every error times every number of `x`, which is `torch.outer(error, x)`.",
        ),
        Slip(
            "not-transposed",
            not_transposed,
            "`weight` isn't transposed in the gradient of `x`. Element j of this gradient multiplies column "
            "j of `weight` by the errors and adds the products.",
        ),
        Slip(
            "no-softmax",
            with_step(probabilities_of=lambda logits: logits),
            "the logits are used as probabilities. Apply a softmax to them first.",
        ),
        Slip(
            "sigmoid",
            with_step(probabilities_of=torch.sigmoid),
            "the probabilities come from a sigmoid, so they don't sum to 1. Use a softmax.",
        ),
        Slip(
            "overflow",
            with_step(probabilities_of=overflowing_softmax),
            "in float32, `exp` overflows to infinity for logits above 88, and infinity divided by infinity "
            "is NaN. `torch.softmax` avoids that.",
        ),
        Slip(
            "softmax-in-loss",
            with_loss(lambda probabilities, target: -torch.log_softmax(probabilities, dim=0)[target]),
            "the loss applies a softmax to the probabilities once more, as `cross_entropy` does. Give it "
            "the logits, or take the logarithm of the probability yourself.",
        ),
        Slip(
            "averaged-over-words",
            lambda *inputs: changed_step(*inputs, embeddings_factor=1 / len(inputs[1])),
            "the gradient of the embedding is a mean over the words. It should be a sum.",
        ),
        Slip(
            "loss-after",
            with_loss(lambda probabilities, target: -probabilities[target].log(), after=True),
            "this is the loss after the step. Return the loss before it.",
        ),
        Slip(
            "no-copy",
            with_loss(lambda probabilities, target: -(probabilities[target] - 1).log()),
            "the 1 is subtracted from the probabilities themselves, so the loss is the logarithm of a "
            "negative number. Compute the loss first, or copy: `error = probabilities.clone()`.",
        ),
        Slip(
            "no-log",
            with_loss(lambda probabilities, target: 1 - probabilities[target]),
            "the loss is 1 − probability. Cross-entropy is −ln(probability).",
        ),
        Slip(
            "loss-is-probability",
            with_loss(lambda probabilities, target: probabilities[target]),
            "the loss is the probability of the target. Cross-entropy is −ln(probability).",
        ),
        Slip(
            "positive-log",
            with_loss(lambda probabilities, target: probabilities[target].log()),
            "the loss has the wrong sign. It is minus the logarithm.",
        ),
        Slip(
            "log-two",
            with_loss(lambda probabilities, target: -probabilities[target].log2()),
            "the loss uses the logarithm to base 2. Use the natural logarithm, `torch.log`.",
        ),
        Slip(
            "log-ten",
            with_loss(lambda probabilities, target: -probabilities[target].log10()),
            "the loss uses the logarithm to base 10. Use the natural logarithm, `torch.log`.",
        ),
        Slip(
            "loss-of-likeliest",
            with_loss(lambda probabilities, target: -probabilities.max().log()),
            "the loss is that of the most likely word. It should be that of the target.",
        ),
        Slip(
            "mean-of-losses",
            with_loss(lambda probabilities, target: -probabilities.log().mean()),
            "the loss is a mean over all words of the vocabulary. It should be that of the target alone.",
        ),
        Slip(
            "sum-of-losses",
            with_loss(lambda probabilities, target: -probabilities.log().sum()),
            "the loss is a sum over all words of the vocabulary. It should be that of the target alone.",
        ),
        Slip(
            "minus-probability",
            with_loss(lambda probabilities, target: -probabilities[target]),
            "the loss is minus the probability of the target: the logarithm is missing. (`F.nll_loss` "
            "expects log-probabilities.)",
        ),
        Slip(
            "all-losses",
            with_loss(lambda probabilities, target: -probabilities.log()),
            "there is a loss for every word. Return only that of the target.",
        ),
        Slip(
            "loss-of-word",
            lambda embeddings, weight, word, target, rate: (
                *gradient_step(embeddings, weight, word, target, rate)[:2],
                gradient_step(embeddings, weight, word, word, rate)[2],
            ),
            "the loss is that of `word`, the input. It should be that of `target`, the word that follows it.",
        ),
        Slip(
            "loss-first",
            with_outputs(
                lambda new_embeddings, new_weight, loss, *inputs: (loss, new_embeddings, new_weight)
            ),
            "the outputs are in the wrong order. Return the new embeddings, the new output weights and the "
            "loss.",
        ),
        Slip(
            "weight-first",
            with_outputs(
                lambda new_embeddings, new_weight, loss, *inputs: (new_weight, new_embeddings, loss)
            ),
            "the outputs are in the wrong order. Return the new embeddings, the new output weights and the "
            "loss.",
        ),
        Slip(
            "gradients-only",
            only_gradients,
            "these are the gradients. Return the new embeddings, the new output weights and the loss.",
        ),
        Slip(
            "gradient-of-the-row",
            lambda embeddings, weight, word, target, rate: (
                weight.T @ find_error(embeddings, weight, word, target),
                *only_gradients(embeddings, weight, word, target, rate)[1:],
            ),
            "these are the gradients. Return the new embeddings (all rows), the new output weights and the "
            "loss.",
        ),
        Slip(
            "change-only",
            with_outputs(
                lambda new_embeddings, new_weight, loss, embeddings, weight, word, *rest: (
                    new_embeddings - embeddings * (torch.arange(len(weight)) == word)[:, None],
                    new_weight,
                    loss,
                )
            ),
            "the embedding of `word` is replaced by the change. Add the change to the old embedding.",
        ),
        Slip(
            "row-only",
            with_outputs(
                lambda new_embeddings, new_weight, loss, embeddings, weight, word, *rest: (
                    new_embeddings[word],
                    new_weight,
                    loss,
                )
            ),
            "only the new row of `word` is returned. Return all embeddings, with this row replaced.",
        ),
    ),
)

# ---- perplexity


def perplexity(probabilities: Tensor) -> float:
    """e to the mean loss."""
    return torch.exp(-torch.log(probabilities).mean()).item()


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
    unrepaired=first_version,
    slips=(
        Slip(
            "mean-of-inverses",
            lambda probabilities: (1 / probabilities).mean(),
            "the inverse probabilities, 1/p, are averaged, so a single unlikely word dominates the result. "
            "Average the logarithms.",
        ),
        Slip(
            "product",
            lambda probabilities: probabilities.prod() ** (-1 / len(probabilities)),
            "the probabilities are multiplied first. That is mathematically right, but the product of 2,000 "
            "probabilities is so small that it is rounded to 0. Average the logarithms instead.",
        ),
        Slip(
            "no-minus",
            lambda probabilities: torch.exp(torch.log(probabilities).mean()),
            "the minus sign is missing. This is the geometric mean of the probabilities; the perplexity is "
            "its inverse.",
        ),
        Slip(
            "mean-of-products",
            lambda probabilities: probabilities.prod() ** (1 / len(probabilities)),
            "this is the geometric mean of the probabilities; the perplexity is its inverse. Besides, the "
            "product of 2,000 probabilities is rounded to 0, so average their logarithms instead.",
        ),
        Slip(
            "minus-outside",
            lambda probabilities: -torch.exp(torch.log(probabilities).mean()),
            "the minus sign is outside the power. It belongs to the logarithms: e to the power of minus "
            "their mean.",
        ),
        Slip(
            "log-of-mean",
            lambda probabilities: -torch.log(probabilities.mean()),
            "this is minus the logarithm of the mean probability. Take the mean of the losses instead, then "
            "raise e to it.",
        ),
        Slip(
            "cross-entropy",
            lambda probabilities: -torch.log(probabilities).mean(),
            "this is the mean loss, the cross-entropy. Perplexity is e raised to it.",
        ),
        Slip(
            "sum",
            lambda probabilities: torch.exp(-torch.log(probabilities).sum()),
            "the losses are added up, not averaged, so a longer text always has a higher perplexity.",
        ),
        Slip(
            "two-and-e",
            lambda probabilities: 2 ** (-torch.log(probabilities).mean()),
            "the logarithm has base e, but the power has base 2. Use the same base for both.",
        ),
        Slip(
            "e-and-two",
            lambda probabilities: torch.exp(-torch.log2(probabilities).mean()),
            "the logarithm has base 2, but the power has base e. Use the same base for both.",
        ),
        Slip(
            "e-and-ten",
            lambda probabilities: torch.exp(-torch.log10(probabilities).mean()),
            "the logarithm has base 10, but the power has base e. Use the same base for both.",
        ),
        Slip(
            "ten-and-e",
            lambda probabilities: 10 ** (-torch.log(probabilities).mean()),
            "the logarithm has base e, but the power has base 10. Use the same base for both.",
        ),
        Slip(
            "bits",
            lambda probabilities: -torch.log2(probabilities).mean(),
            "this is the cross-entropy in bits. Perplexity is 2 raised to it.",
        ),
        Slip(
            "no-log",
            lambda probabilities: torch.exp(-probabilities.mean()),
            "the logarithm is missing. The loss of a word is minus the logarithm of its probability.",
        ),
        Slip(
            "likeliest-only",
            lambda probabilities: 1 / probabilities.max(),
            "only the largest probability counts. Every word of the text should.",
        ),
        Slip(
            "unlikeliest-only",
            lambda probabilities: 1 / probabilities.min(),
            "only the smallest probability counts. Every word of the text should.",
        ),
        Slip(
            "entropy",
            lambda probabilities: torch.exp(-(probabilities * torch.log(probabilities)).sum()),
            "each logarithm is multiplied by its probability, as for an entropy. But these probabilities "
            "belong to different predictions and don't sum to 1. Average the logarithms.",
        ),
        Slip(
            "entropy-of-scaled",
            lambda probabilities: torch.exp(torch.special.entr(probabilities / probabilities.sum()).sum()),
            "the probabilities are scaled to sum to 1, and e is raised to their entropy. But they belong to "
            "different predictions. Average the plain logarithms.",
        ),
        Slip(
            "weighted",
            lambda probabilities: torch.exp(-(probabilities * torch.log(probabilities)).mean()),
            "each logarithm is multiplied by its probability. Average the plain logarithms: every word of "
            "the text counts equally.",
        ),
        Slip(
            "normalised",
            lambda probabilities: perplexity(probabilities / probabilities.sum()),
            "the probabilities are scaled to sum to 1. They belong to different predictions, so leave them "
            "as they are.",
        ),
        Slip(
            "softmax",
            lambda probabilities: perplexity(torch.softmax(probabilities, dim=0)),
            "a softmax is applied to the probabilities. They are probabilities already.",
        ),
        Slip(
            "median",
            lambda probabilities: torch.exp(-torch.log(probabilities).median()),
            "the median of the losses is used. Take the mean.",
        ),
        Slip(
            "each-word",
            lambda probabilities: 1 / probabilities,
            "there is one number for each word. Average the losses first, then apply `exp`.",
        ),
        Slip(
            "last-missing",
            lambda probabilities: torch.exp(-torch.log(probabilities[:-1]).sum() / len(probabilities)),
            "the loss of the last word is left out of the sum, although the sum is divided by the number of "
            "all words.",
        ),
        Slip(
            "without-last",
            lambda probabilities: perplexity(probabilities[:-1]),
            "the last word isn't counted. Does a loop or a slice end one step too early?",
        ),
        Slip(
            "without-first",
            lambda probabilities: perplexity(probabilities[1:]),
            "the first word isn't counted. Python counts from 0.",
        ),
        Slip(
            "rounded",
            lambda probabilities: round(perplexity(probabilities)),
            "the result is rounded to a whole number. Keep its decimals.",
        ),
        Slip(
            "n-minus-one",
            lambda probabilities: torch.exp(-torch.log(probabilities).sum() / (len(probabilities) - 1)),
            "the sum of the losses is divided by n − 1. A mean of n numbers is their sum divided by n.",
        ),
    ),
)


# ---- sampling a word


def sample_next(probabilities: Tensor, u: float) -> int:
    """The index of the interval that contains u if the probabilities divide the line from 0 to 1."""
    total = 0.0
    for index, probability in enumerate(probabilities):
        total += float(probability)
        if u < total:
            return index
    return len(probabilities) - 1


def search(sums: Tensor, u: float, *, edge: bool = False) -> int:
    """How many sums are at most `u`; with `edge`, how many are below it."""
    return int((sums < u).sum() if edge else (sums <= u).sum())


def find_interval(probabilities, u, **options) -> int:
    """As `sample_next`, but past the last index if the probabilities sum to less than u."""
    return search(torch.cumsum(probabilities, dim=0), u, **options)


def or_else(last: Callable[[Tensor], int]) -> Callable:
    """A function that returns `last(probabilities)` if they sum to less than u."""

    def sample(probabilities, u):
        index = find_interval(probabilities, u)
        return index if index < len(probabilities) else last(probabilities)

    return sample


def first_above(probabilities, u):
    above = (index for index, probability in enumerate(probabilities) if probability > u)
    return next(above, len(probabilities) - 1)


def first_equal(probabilities, u):
    numbers, index = probabilities.tolist(), find_interval(probabilities, u)
    return numbers.index(numbers[index]) if index < len(numbers) else len(numbers) - 1


def is_whole(inputs: tuple, answer: object) -> str:
    is_float = answer.is_floating_point() if isinstance(answer, Tensor) else isinstance(answer, float)
    return "An index is a whole number, but your function returned a float." if is_float else ""


def draw_cases(*pairs: tuple[list[float], float]) -> tuple[Callable, ...]:
    return tuple(lambda numbers=numbers, u=u: (torch.tensor(numbers), u) for numbers, u in pairs)


SAMPLE_NEXT = PlainExercise(
    name="sample_next",
    lesson="guessing_the_next_word",
    inputs=("probabilities", "u"),
    reference=sample_next,
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
    slips=(
        Slip(
            "past-the-end",
            find_interval,
            "rounding may leave the sum of the probabilities a little below 1. If `u` is above this sum, "
            "your index is past the last word. Return the last index in this case.",
        ),
        Slip(
            "minus-one",
            or_else(lambda probabilities: -1),
            "if rounding leaves the sum of the probabilities below `u`, your function returns −1. Return "
            "the last index, `len(probabilities) - 1`.",
        ),
        Slip(
            "zero-at-the-end",
            or_else(lambda probabilities: 0),
            "if rounding leaves the sum of the probabilities below `u`, your function returns 0. Return the "
            "last index in this case. If you use `argmax`, note that it returns 0 when no element is True.",
        ),
        Slip(
            "likeliest-at-the-end",
            or_else(lambda probabilities: int(probabilities.argmax())),
            "if rounding leaves the sum of the probabilities below `u`, your function returns the most "
            "likely word. Return the last index in this case.",
        ),
        Slip(
            "first-or-last",
            lambda probabilities, u: 0 if u < float(probabilities[0]) else len(probabilities) - 1,
            "only word 0 and the last word are ever returned. Does the loop return in its first iteration? "
            "Return the last index only after the loop.",
        ),
        Slip(
            "likeliest",
            lambda probabilities, u: int(torch.argmax(probabilities)),
            "the most likely word is chosen, whatever `u` is. A word with a probability of ¼ should be "
            "chosen a quarter of the time.",
        ),
        Slip(
            "no-running-sum",
            first_above,
            "`u` is compared with individual probabilities. Compare it with their running sum, which says "
            "where the interval of each word ends.",
        ),
        Slip(
            "smaller-counted",
            lambda probabilities, u: min(search(probabilities, u), len(probabilities) - 1),
            "the individual probabilities up to `u` are counted. Count the running sums instead, which say "
            "where the interval of each word ends.",
        ),
        Slip(
            "larger-counted",
            lambda probabilities, u: len(probabilities) - find_interval(probabilities, u),
            "the running sums above `u` are counted. The index is the number of those that aren't above it.",
        ),
        Slip(
            "edge",
            lambda probabilities, u: min(find_interval(probabilities, u, edge=True), len(probabilities) - 1),
            "a number exactly at the end of a word's interval is assigned to that word. It belongs to the "
            "next one: an interval includes its start, not its end.",
        ),
        Slip(
            "one-before",
            lambda probabilities, u: sample_next(probabilities, u) - 1,
            "the index is 1 too small. Return the first word at which the running sum exceeds `u`.",
        ),
        Slip(
            "one-before-or-zero",
            lambda probabilities, u: max(find_interval(probabilities, u) - 1, 0),
            "the index is 1 too small, except for word 0. The running sums say where the intervals end, not "
            "where they start.",
        ),
        Slip(
            "one-after",
            lambda probabilities, u: sample_next(probabilities, u) + 1,
            "the index is 1 too large. Python counts from 0.",
        ),
        Slip(
            "one-after-or-last",
            lambda probabilities, u: min(sample_next(probabilities, u) + 1, len(probabilities) - 1),
            "the index is 1 too large, except for the last word. Return the first word at which the running "
            "sum exceeds `u`.",
        ),
        Slip(
            "probability-itself",
            lambda probabilities, u: float(probabilities[sample_next(probabilities, u)]),
            "this is the probability of the word. Return its index.",
        ),
        Slip(
            "running-sum-itself",
            lambda probabilities, u: float(torch.cumsum(probabilities, 0)[sample_next(probabilities, u)]),
            "this is the running sum. Return the index of the word.",
        ),
        Slip(
            "first-twice",
            lambda probabilities, u: min(
                search(torch.cumsum(probabilities, 0) + probabilities[0], u), len(probabilities) - 1
            ),
            "the probability of word 0 is counted twice. The running sum starts at 0.",
        ),
        Slip(
            "equal-intervals",
            lambda probabilities, u: int(u * len(probabilities)),
            "all words get intervals of equal length. Each interval should be as long as the word's "
            "probability.",
        ),
        Slip(
            "softmax-again",
            lambda probabilities, u: sample_next(torch.softmax(probabilities, dim=0), u),
            "a softmax is applied to the probabilities. They are probabilities already.",
        ),
        Slip(
            "sorted",
            lambda probabilities, u: sample_next(probabilities.sort(descending=True).values, u),
            "the probabilities are sorted, so the index refers to the sorted list. Keep them in the given "
            "order.",
        ),
        Slip(
            "sorted-ascending",
            lambda probabilities, u: sample_next(probabilities.sort().values, u),
            "the probabilities are sorted, so the index refers to the sorted list. Keep them in the given "
            "order.",
        ),
        Slip(
            "likeliest-first",
            lambda probabilities, u: int(
                probabilities.argsort(descending=True, stable=True)[
                    sample_next(probabilities.sort(descending=True).values, u)
                ]
            ),
            "the intervals are sorted by length, the most likely word first. Keep the words in the given "
            "order.",
        ),
        Slip(
            "from-the-end",
            lambda probabilities, u: len(probabilities) - 1 - sample_next(probabilities.flip(0), u),
            "the intervals start with the last word. Start with word 0.",
        ),
        Slip(
            "one-minus-u",
            lambda probabilities, u: sample_next(probabilities, 1 - u),
            "`u` is measured from the other end of the line, as `1 - u`. Start at 0.",
        ),
        Slip(
            "first-equal",
            first_equal,
            "if several words have the same probability, the first of them is returned (`.index` finds only "
            "the first). Keep track of the index itself, for example with `enumerate`.",
        ),
        Slip(
            "nearest-probability",
            lambda probabilities, u: int((probabilities - u).abs().argmin()),
            "this is the word whose probability is closest to `u`. Return the word whose interval contains "
            "`u`.",
        ),
        Slip(
            "nearest-end",
            lambda probabilities, u: int((torch.cumsum(probabilities, 0) - u).abs().argmin()),
            "this is the word whose interval ends closest to `u`. Return the word whose interval contains "
            "`u`.",
        ),
    ),
)

EXERCISES = (COUNT_NEXT, GRADIENT_STEP, PERPLEXITY, SAMPLE_NEXT)
