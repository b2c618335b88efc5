"""Which words of the source can be read from the vector between encoder and decoder?

    vectors = context_vectors(model, tokenizer, texts)       (sentences, numbers)
    readout = fit_readout(vectors, words)                    (numbers + 1, vocab)
    scores = read_scores(readout, vectors)                   (sentences, vocab)
    fraction_found(scores, words)                            (sentences,)

The readout is one matrix, fitted by ridge regression on some sentences and tested on others. It gives every
word of the vocabulary a score for being in the sentence, at any position. Of a sentence with seven different
words, the seven words with the highest scores are compared with the true ones.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from course_lib.models.inference import device_of
from course_lib.models.translator import Translator
from course_lib.shapes import Bool, Float, Tensor
from course_lib.text.batch import make_batch
from course_lib.text.tokenizer import Tokenizer
from course_lib.text.toy.generate import generate

GROUPS = {"3–5": (3, 5), "6–10": (6, 10), "11–15": (11, 15), "16–20": (16, 20)}
PENALTY = 0.1  # of the ridge regression
N_FITTED, N_TESTED = 6_000, 2_000
SEEDS = (401, 402)  # of the sentences to fit and to test on; none is a seed of the splits
CHUNK = 500  # sentences encoded at once
N_RESAMPLED = 1000


def make_texts(n_fitted: int = N_FITTED, n_tested: int = N_TESTED) -> tuple[list[str], list[str]]:
    """English sentences of 3 to 20 words, to fit a readout and to test it; none is in both."""
    fitted, tested = (
        [pair.src_text for pair in generate(n, seed=seed)]
        for n, seed in zip((n_fitted, n_tested), SEEDS, strict=True)
    )
    seen = set(fitted)
    return fitted, [text for text in tested if text not in seen]


@torch.no_grad()
def context_vectors(
    model: Translator, tokenizer: Tokenizer, texts: Sequence[str]
) -> Float[Tensor, "sentences numbers"]:
    """All numbers that the decoder gets from the encoder, one row for each sentence."""
    model.eval()
    rows = [tokenizer.encode(text) for text in texts]
    vectors = torch.empty(0)
    by_length = sorted(range(len(rows)), key=lambda index: len(rows[index]))
    for start in range(0, len(rows), CHUNK):
        chosen = by_length[start : start + CHUNK]
        batch = make_batch([rows[index] for index in chosen], [[]] * len(chosen)).to(device_of(model))
        memory = model.encode(batch.src, batch.src_lengths)
        found = torch.cat([tensor.flatten(start_dim=1) for tensor in memory.values()], dim=1).float().cpu()
        if not len(vectors):
            vectors = found.new_empty(len(rows), found.shape[1])
        vectors[chosen] = found
    return vectors


def words_in(tokenizer: Tokenizer, texts: Sequence[str]) -> Float[Tensor, "sentences vocab"]:
    """1 for every word that occurs in a sentence, else 0."""
    words = torch.zeros(len(texts), tokenizer.vocab_size)
    for row, text in zip(words, texts, strict=True):
        row[tokenizer.encode(text)] = 1.0
    return words


def fit_readout(
    vectors: Float[Tensor, "sentences numbers"], words: Float[Tensor, "sentences vocab"]
) -> Float[Tensor, "numbers+1 vocab"]:
    """The matrix whose scores are closest to the words, with a small penalty on its size."""
    inputs = _with_one(vectors)
    return torch.linalg.solve(inputs.T @ inputs + PENALTY * torch.eye(inputs.shape[1]), inputs.T @ words)


def read_scores(
    readout: Float[Tensor, "numbers+1 vocab"], vectors: Float[Tensor, "sentences numbers"]
) -> Float[Tensor, "sentences vocab"]:
    return _with_one(vectors) @ readout


def find_words(
    scores: Float[Tensor, "sentences vocab"], words: Float[Tensor, "sentences vocab"]
) -> Bool[Tensor, "sentences vocab"]:
    """The words with the highest scores, as many as the sentence has."""
    rank = scores.argsort(dim=1, descending=True).argsort(dim=1)
    return rank < words.sum(dim=1, keepdim=True)


def fraction_found(
    scores: Float[Tensor, "sentences vocab"], words: Float[Tensor, "sentences vocab"]
) -> Float[Tensor, " sentences"]:
    """For each sentence, the fraction of its words that are among those with the highest scores."""
    return (find_words(scores, words) * words).sum(dim=1) / words.sum(dim=1)


def by_length(values: Float[Tensor, " sentences"], texts: Sequence[str]) -> dict[str, dict[str, float]]:
    """The mean in each group of lengths, with its 95% interval over sentences (bootstrap)."""
    lengths = torch.tensor([len(text.split()) for text in texts])
    result = {}
    for name, (shortest, longest) in GROUPS.items():
        group = values[(lengths >= shortest) & (lengths <= longest)].double()
        generator = torch.Generator().manual_seed(0)
        drawn = torch.randint(len(group), (N_RESAMPLED, len(group)), generator=generator)
        means = group[drawn].mean(dim=1)
        low, high = means.quantile(torch.tensor([0.025, 0.975], dtype=torch.float64)).tolist()
        result[name] = {"n": len(group), "mean": group.mean().item(), "low": low, "high": high}
    return result


def measure_readout(model: Translator, tokenizer: Tokenizer) -> dict:
    """The fraction of words found, by length: with the trained encoder, with one that wasn't trained, and
    with the most frequent words of the language."""
    fitted, tested = make_texts()
    words, answers = words_in(tokenizer, fitted), words_in(tokenizer, tested)

    def scores_of(encoder: Translator) -> Tensor:
        readout = fit_readout(context_vectors(encoder, tokenizer, fitted), words)
        return read_scores(readout, context_vectors(encoder, tokenizer, tested))

    with torch.random.fork_rng():
        torch.manual_seed(0)
        untrained = type(model)(model.config).to(device_of(model))
    scores = {
        "trained": scores_of(model),
        "untrained": scores_of(untrained),
        "most frequent words": words.mean(dim=0).expand_as(answers),
    }
    found = {kind: by_length(fraction_found(of_kind, answers), tested) for kind, of_kind in scores.items()}
    return {"numbers": context_vectors(model, tokenizer, tested[:1]).shape[1], **found}


def _with_one(vectors: Float[Tensor, "sentences numbers"]) -> Float[Tensor, "sentences numbers+1"]:
    """A last column of ones, so that the fit has a bias."""
    return torch.cat([vectors, vectors.new_ones(len(vectors), 1)], dim=1)
