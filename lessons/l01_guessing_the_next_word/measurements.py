"""Numbers that lesson 01 quotes: its corpus, n-gram models of several orders, and text written by the RNN."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from statistics import fmean

import torch
from torch import nn
from torch.nn import functional as F

from course_lib.models.ngram import count_ngrams
from course_lib.text.special import BOS, EOS, PAD
from course_lib.text.toy.splits import splits
from course_lib.translation.search import suppress
from course_lib.translation.shipped import shared
from lessons.l01_guessing_the_next_word.exercises import END, START, gradient_step

Sentences = list[list[str]]

# The tiny language: five words, an arbitrary table and matrix, four pairs to learn.
LE, LA, CHAT, VACHE, DORT = range(5)
TABLE = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.5, -0.5], [-0.5, 0.5], [0.0, 0.0]])
MATRIX = torch.tensor([[0.0, 0.0], [0.0, 0.0], [0.0, 1.1], [1.1, 0.0], [0.0, 0.0]])
PAIRS = [(LE, CHAT), (LA, VACHE), (CHAT, DORT), (VACHE, DORT)]

WINDOW = 4  # words that the MLP reads
LENGTHS = {
    "1 to 5": range(1, 6),
    "6 to 11": range(6, 12),
    "12 to 17": range(12, 18),
    "18 to 40": range(18, 41),
}


def measure() -> dict:
    corpus = splits(seed=0)
    text, new_text = ([list(pair.tgt) for pair in part] for part in (corpus.train, corpus.test))
    return {
        "corpus": measure_corpus(text),
        "n-gram": measure_ngrams(text, new_text),
        "untrained MLP": measure_untrained_mlp(text, new_text),
        "nudge": measure_nudge(),
        "rate 2": {"losses": train_tiny(2.0)[0]},
        "unseen pairs": measure_unseen_pairs(text, new_text),
    }


def measure_corpus(text: Sentences) -> dict[str, int]:
    vocabulary = len({word for words in text for word in words})
    words = sum(map(len, text))
    return {
        "words": words,
        "positions": words + len(text),  # a word or an end mark comes next
        "vocabulary": vocabulary,
        "token types": vocabulary + 1,  # the end mark too
    }


# ---- n-gram models


class Mixture:
    """Witten and Bell's mixture, token by token. Its counts of 5-grams include those of all shorter ones."""

    def __init__(self, text: Sentences):
        tokenizer = shared("ngram_lm").tokenizer
        self.encode, self.vocab_size = tokenizer.encode, tokenizer.vocab_size
        self.counts = count_ngrams([self.encode(" ".join(words)) for words in text], order=5)
        self.totals = {past: after.total() for past, after in self.counts.items()}

    def predictions(self, sentences: Sentences, order: int) -> Iterator[tuple[float, bool]]:
        """For each token its probability, and whether it was counted after its past."""
        for words in sentences:
            tokens = [BOS, *self.encode(" ".join(words)), EOS]
            for position in range(1, len(tokens)):
                probability = 1 / self.vocab_size
                for length in range(min(order, position + 1)):
                    past = tuple(tokens[position - 1 - back] for back in range(length))
                    after = self.counts.get(past, {})
                    if after:
                        count = after.get(tokens[position], 0) + len(after) * probability
                        probability = count / (self.totals[past] + len(after))
                yield probability, tokens[position] in after

    def perplexity(self, sentences: Sentences, order: int) -> float:
        losses = (-math.log(probability) for probability, _ in self.predictions(sentences, order))
        return math.exp(fmean(losses))


def measure_ngrams(text: Sentences, new_text: Sentences) -> dict:
    model = Mixture(text)
    return {
        "perplexity": {str(order): model.perplexity(new_text, order) for order in (2, 3, 4, 5)},
        "own text": model.perplexity(text[:200], 5),
        "never seen": {
            str(order): 1 - fmean(seen for _, seen in model.predictions(new_text, order)) for order in (3, 5)
        },
    }


# ---- networks


def measure_untrained_mlp(text: Sentences, new_text: Sentences) -> dict[str, float]:
    """The lesson's MLP before its training, on new text."""
    tokens = [START, END, *sorted({word for words in text for word in words})]
    ids = {token: i for i, token in enumerate(tokens)}
    rows = [[0] * WINDOW + [ids[word] for word in [*words, END]] for words in new_text]
    pasts = torch.tensor([row[i - WINDOW : i] for row in rows for i in range(WINDOW, len(row))])
    nexts = torch.tensor([token for row in rows for token in row[WINDOW:]])
    torch.manual_seed(1)
    mlp = nn.Sequential(
        nn.Embedding(len(ids), 32),
        nn.Flatten(),
        nn.Linear(WINDOW * 32, 96),
        nn.Tanh(),
        nn.Linear(96, len(ids)),
    )
    with torch.no_grad():
        loss = F.cross_entropy(mlp(pasts), nexts).item()
    parameters = sum(parameter.numel() for parameter in mlp.parameters())
    quoted = round(loss, 2)  # so that e to the quoted loss is the quoted perplexity
    return {"parameters": parameters, "loss": loss, "perplexity": math.exp(quoted)}


def measure_nudge(by: float = 0.01) -> dict[str, float]:
    """The loss of `chat` after `le`, before and after one number of the matrix grows by 0.01; it falls."""
    nudged = MATRIX.clone()
    nudged[CHAT, 0] += by
    before, after = (
        -torch.log_softmax(matrix @ TABLE[LE], dim=0)[CHAT].item() for matrix in (MATRIX, nudged)
    )
    return {"before": before, "after": after, "fall": before - after, "slope size": (before - after) / by}


def train_tiny(rate: float, epochs: int = 10) -> tuple[list[float], torch.Tensor]:
    """The mean loss of every epoch, and the table after training."""
    table, matrix, means = TABLE, MATRIX, []
    for _ in range(epochs):
        losses = []
        for word, right in PAIRS:
            table, matrix, loss = gradient_step(table, matrix, word, right, rate)
            losses.append(float(loss))
        means.append(fmean(losses))
    return means, table


# ---- errors in generated text


def unseen_fraction(sentences: Sentences, seen: set[tuple[str, str]]) -> float:
    """How many of all pairs of neighbouring tokens were never seen."""
    pairs = [pair for words in sentences for pair in pairwise([START, *words, END])]
    return fmean(pair not in seen for pair in pairs)


@torch.inference_mode()
def generate(n: int = 1000, longest: int = 40) -> Sentences:
    """Sentences sampled from the shipped RNN at temperature 1."""
    rnn, generator = shared("rnn_lm"), torch.Generator().manual_seed(1)
    state, token, tokens = rnn.model.start(n), torch.full((n,), BOS), []
    ended = torch.zeros(n, dtype=torch.bool)
    for _ in range(longest):
        logits, state, _ = rnn.model.step(state, token)
        probabilities = suppress(logits.float()).softmax(dim=1)
        token = torch.multinomial(probabilities, 1, generator=generator)[:, 0].masked_fill(ended, PAD)
        ended |= token == EOS
        tokens.append(token)
    return [rnn.tokenizer.decode(row).split() for row in torch.stack(tokens, dim=1)]


def measure_unseen_pairs(text: Sentences, new_text: Sentences) -> dict:
    seen = {pair for words in text for pair in pairwise([START, *words, END])}
    by_rnn = generate()
    unseen = unseen_fraction(by_rnn, seen)
    longest = [words for words in by_rnn if len(words) in LENGTHS["18 to 40"]]
    return {
        name: {
            "pairs": unseen_fraction(sentences, seen),
            "sentences without": {
                label: fmean(
                    unseen_fraction([words], seen) == 0 for words in sentences if len(words) in lengths
                )
                for label, lengths in LENGTHS.items()
            },
        }
        for name, sentences in (("new text", new_text), ("RNN", by_rnn))
    } | {"expected from length alone": fmean((1 - unseen) ** (len(words) + 1) for words in longest)}
