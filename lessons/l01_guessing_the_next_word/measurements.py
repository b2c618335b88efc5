"""Numbers that lesson 01 quotes: corpus, n-grams, the nudge, overfitting, the test set and its floor."""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import fmean

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from course_lib.models.ngram import count_ngrams
from course_lib.results import with_digits
from course_lib.text.special import BOS, EOS
from course_lib.text.toy.splits import splits
from course_lib.translation.shipped import shared
from lessons.l01_guessing_the_next_word.examples import END, START, Sentences, ngrams, windows
from lessons.l01_guessing_the_next_word.floor import measure_floor
from lessons.l01_guessing_the_next_word.kneser_ney import KneserNey
from lessons.l01_guessing_the_next_word.solutions import gradient_step

# The tiny language: five words, made-up parameters, four pairs to learn.
LE, LA, CHAT, VACHE, DORT = range(5)
EMBEDDINGS = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.5, -0.5], [-0.5, 0.5], [0.0, 0.0]])
WEIGHT = torch.tensor([[0.0, 0.0], [0.0, 0.0], [0.0, 1.1], [1.1, 0.0], [0.0, 0.0]])
PAIRS = [(LE, CHAT), (LA, VACHE), (CHAT, DORT), (VACHE, DORT)]

ORDERS = (2, 3, 4, 5, 6)
CHOSEN = 5  # it sees as many words as the MLP
SEEDS = (1, 2, 3)
NETWORKS = ("mlp_lm", "rnn_lm", "lstm_lm", "transformer_lm")


def measure() -> dict:
    corpus = splits(seed=0)
    text, validation, test = (
        [list(pair.tgt) for pair in part] for part in (corpus.train, corpus.validation, corpus.test)
    )
    return {
        "corpus": measure_corpus(text),
        "n-gram": measure_ngrams(text, validation, test),
        "nudge": measure_nudge(),
        "overfitting": measure_overfitting(text, validation),
        "test set": measure_test_set(text, test),
        "floor": with_digits(measure_floor({name: sentence_loss(name) for name in NETWORKS})),
    }


def measure_corpus(text: Sentences) -> dict[str, int]:
    vocabulary = len({word for words in text for word in words})
    words = sum(map(len, text))
    return {
        "words": words,
        "positions": words + len(text),  # each predicts a word or an end token
        "vocabulary": vocabulary,
        "token types": vocabulary + 1,  # the end token too
    }


# ---- n-gram models


def encoded(sentences: Sentences) -> list[list[int]]:
    return [shared("ngram_lm").tokenizer.encode(" ".join(words)) for words in sentences]


def kneser_ney(text: Sentences, order: int) -> KneserNey:
    """With the vocabulary of the trained models, so that the perplexities are comparable."""
    return KneserNey(encoded(text), order=order, vocab_size=shared("ngram_lm").tokenizer.vocab_size)


class WittenBell:
    """The smoothing of the library's n-gram model, token by token, for several orders from one count."""

    def __init__(self, text: Sentences):
        self.counts = count_ngrams(encoded(text), order=max(ORDERS))
        self.totals = {past: after.total() for past, after in self.counts.items()}

    def perplexity(self, sentences: Sentences, order: int) -> float:
        losses = []
        for ids in encoded(sentences):
            tokens = [BOS, *ids, EOS]
            for i in range(1, len(tokens)):
                past = tuple(tokens[max(0, i - order + 1) : i][::-1])
                losses.append(-math.log(self.probability(past, tokens[i])))
        return math.exp(fmean(losses))

    def probability(self, past: tuple[int, ...], word: int) -> float:
        vocab_size = shared("ngram_lm").tokenizer.vocab_size
        shorter = self.probability(past[:-1], word) if past else 1 / vocab_size
        if past not in self.counts:
            return shorter
        after = self.counts[past]
        return (after[word] + len(after) * shorter) / (self.totals[past] + len(after))


def measure_ngrams(text: Sentences, validation: Sentences, test: Sentences) -> dict:
    witten_bell = WittenBell(text)
    models = {order: kneser_ney(text, order) for order in ORDERS}
    return {
        "Kneser-Ney": {
            "validation": {
                str(order): model.perplexity(encoded(validation)) for order, model in models.items()
            },
            "test": {str(CHOSEN): models[CHOSEN].perplexity(encoded(test))},
        },
        "Witten-Bell": {
            "validation": {str(order): witten_bell.perplexity(validation, order) for order in ORDERS}
        },
        "never seen": {str(order): unseen_fraction(text, validation, order) for order in (3, 5)},
    }


def unseen_fraction(text: Sentences, new_text: Sentences, order: int) -> float:
    """How many n-grams of a new text don't occur in the training set."""
    seen = set(ngrams(text, order))
    return fmean(gram not in seen for gram in ngrams(new_text, order))


# ---- networks


def measure_nudge(by: float = 0.01) -> dict[str, float]:
    """The loss of `chat` after `le`, before and after one output weight grows by 0.01; it falls."""
    nudged = WEIGHT.clone()
    nudged[CHAT, 0] += by
    before, after = (
        -torch.log_softmax(weight @ EMBEDDINGS[LE], dim=0)[CHAT].item() for weight in (WEIGHT, nudged)
    )
    return {"before": before, "after": after, "fall": before - after, "slope size": (before - after) / by}


def train_tiny(rate: float, epochs: int = 10) -> tuple[list[float], Tensor]:
    """The mean loss of every epoch, and the embeddings after training."""
    embeddings, weight, means = EMBEDDINGS, WEIGHT, []
    for _ in range(epochs):
        losses = []
        for word, target in PAIRS:
            embeddings, weight, loss = gradient_step(embeddings, weight, word, target, rate)
            losses.append(float(loss))
        means.append(fmean(losses))
    return means, embeddings


def make_mlp(n_tokens: int) -> nn.Sequential:
    """The lesson's window MLP."""
    return nn.Sequential(
        nn.Embedding(n_tokens, 32), nn.Flatten(), nn.Linear(4 * 32, 96), nn.Tanh(), nn.Linear(96, n_tokens)
    )


def measure_overfitting(text: Sentences, validation: Sentences, n_sentences: int = 500) -> dict:
    """The lesson's MLP and training loop with 500 sentences: losses after 100 and 400 steps, three seeds."""
    tokens = [START, END, *sorted({word for words in text for word in words})]
    ids = {token: i for i, token in enumerate(tokens)}
    training, validation = windows(text[:n_sentences], ids), windows(validation, ids)
    losses = {steps: {"training": [], "validation": []} for steps in (100, 400)}
    for seed in SEEDS:
        torch.manual_seed(seed)
        mlp, generator = make_mlp(len(ids)), torch.Generator().manual_seed(seed)
        optimizer = torch.optim.Adam(mlp.parameters(), lr=0.01)
        for step in range(1, 401):
            rows = torch.randint(len(training[0]), (1024,), generator=generator)
            optimizer.zero_grad()
            F.cross_entropy(mlp(training[0][rows]), training[1][rows]).backward()
            optimizer.step()
            if step in losses:
                with torch.no_grad():
                    for name, (contexts, targets) in (("training", training), ("validation", validation)):
                        losses[step][name].append(F.cross_entropy(mlp(contexts), targets).item())
    return {
        f"after {steps}": {name: fmean(values) for name, values in by_part.items()}
        | {f"each {name}": values for name, values in by_part.items()}
        for steps, by_part in losses.items()
    }


# ---- the test set


def network_losses(name: str) -> Callable[[list[int]], list[float]]:
    """The losses of a shipped network on a sentence, word by word."""
    model = shared(name).model

    def losses(ids: list[int]) -> list[float]:
        tokens = torch.tensor([BOS, *ids, EOS])
        with torch.inference_mode():
            return F.cross_entropy(
                model.decode(tokens[None, :-1])[0][0], tokens[1:], reduction="none"
            ).tolist()

    return losses


def sentence_loss(name: str) -> Callable[[tuple[str, ...]], float]:
    """The loss of a shipped network on a whole sentence."""
    losses = network_losses(name)
    return lambda words: sum(losses(*encoded([words])))


def measure_test_set(text: Sentences, test: Sentences, resamples: int = 2000) -> dict:
    """95% intervals of the ratio of two perplexities, from resampling the sentences (paired bootstrap)."""
    models = {"n-gram": kneser_ney(text, CHOSEN).losses, "MLP": network_losses("mlp_lm")}
    models["RNN"] = network_losses("rnn_lm")
    sentences = encoded(test)
    sums = {name: torch.tensor([sum(losses(ids)) for ids in sentences]) for name, losses in models.items()}
    n_tokens = torch.tensor([len(ids) + 1.0 for ids in sentences])
    rows = torch.randint(len(test), (resamples, len(test)), generator=torch.Generator().manual_seed(0))
    perplexity = {name: (sums[name][rows].sum(1) / n_tokens[rows].sum(1)).exp() for name in models}
    intervals = {}
    for worse, better in (("n-gram", "MLP"), ("MLP", "RNN")):
        ratio = perplexity[worse] / perplexity[better]
        low, high = ratio.quantile(torch.tensor([0.025, 0.975])).tolist()
        intervals[f"{worse} to {better}"] = {"low": low, "high": high}
    whole = {name: math.exp(sums[name].sum() / n_tokens.sum()) for name in models}
    return intervals | {"perplexity": whole}
