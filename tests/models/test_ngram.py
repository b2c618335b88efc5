"""The n-gram model, compared with the formula in plain Python; its sums, saving and loading."""

from __future__ import annotations

import copy
import math

import pytest
import torch
from safetensors.torch import load_file, save_file

from course_lib.models.ngram import NGramLM, NGramLMConfig
from course_lib.text.special import BOS, EOS, PAD

VOCAB = 11
SENTENCES = [[5, 6, 7], [5, 6, 8], [5, 6, 7, 9], [9], [], [7, 5, 6, 7]]
TOKENS = torch.tensor([[BOS, 5, 6, 7, 9], [BOS, 9, 9, 6, PAD], [BOS, 7, 10, 5, 6]])
orders = pytest.mark.parametrize("order", [1, 2, 3, 6])


def small(order: int = 3, vocab_size: int = VOCAB) -> NGramLM:
    model = NGramLM(NGramLMConfig(vocab_size=vocab_size, order=order))
    model.fit(SENTENCES)
    return model


def by_the_formula(past: list[int], word: int) -> float:
    """p(word | past), with new counts for each call."""
    shorter = by_the_formula(past[1:], word) if past else 1 / VOCAB
    texts = [[BOS, *sentence, EOS] for sentence in SENTENCES]
    followed = [
        text[position]
        for text in texts
        for position in range(1, len(text))
        if len(past) <= position and text[position - len(past) : position] == past
    ]
    kinds = len(set(followed))
    return (followed.count(word) + kinds * shorter) / (len(followed) + kinds) if followed else shorter


@orders
def test_equals_the_formula(order):
    logits, weights = small(order).decode(TOKENS, with_weights=True)
    for row, tokens in enumerate(TOKENS.tolist()):
        for position in range(len(tokens)):
            past = tokens[max(0, position - order + 2) : position + 1] if order > 1 else []
            expected = [math.log(by_the_formula(past, word)) for word in range(VOCAB)]
            torch.testing.assert_close(logits[row, position], torch.tensor(expected))
    assert weights is None


@orders
def test_probabilities_sum_to_one_and_none_is_zero(order):
    triples = torch.cartesian_prod(*[torch.arange(VOCAB)] * 3)
    logits = small(order)(triples)
    torch.testing.assert_close(logits.exp().sum(dim=-1), torch.ones(logits.shape[:-1]))
    assert logits.isfinite().all()


def test_without_counts_all_words_are_equally_likely():
    logits = NGramLM(NGramLMConfig(vocab_size=VOCAB))(TOKENS)
    torch.testing.assert_close(logits, torch.full((3, 5, VOCAB), -math.log(VOCAB)))


def test_fitting_again_replaces_the_counts():
    model = small()
    expected = model(TOKENS)
    model.fit([[8, 8, 8]])
    assert not torch.allclose(model(TOKENS), expected)
    model.fit(iter(SENTENCES))
    assert torch.equal(model(TOKENS), expected)


def test_saving_and_loading(tmp_path):
    model = small()
    save_file(model.state_dict(), tmp_path / "ngram.safetensors")
    refitted = copy.deepcopy(model)
    refitted.fit([[8, 8]])
    for other in (NGramLM(model.config), refitted):
        other.load_state_dict(load_file(tmp_path / "ngram.safetensors"))
        assert torch.equal(other(TOKENS), model(TOKENS))
    whole = torch.nn.ModuleDict({"inner": NGramLM(model.config)})
    whole.load_state_dict({f"inner.{name}": table for name, table in model.state_dict().items()})
    assert torch.equal(whole["inner"](TOKENS), model(TOKENS))
    with pytest.raises(RuntimeError, match="Missing key"):
        NGramLM(model.config).load_state_dict({})


def test_a_large_vocabulary_does_not_overflow():
    """60,000⁶ has 29 digits, a 64-bit integer 19."""
    model = NGramLM(NGramLMConfig(vocab_size=60_000, order=6))
    words = [59_999, 59_998, 59_997, 59_996, 59_995, 59_994]
    model.fit([words])
    probabilities = model(torch.tensor([[BOS, *words]])).exp()[0]
    assert probabilities[torch.arange(6), torch.tensor(words)].gt(0.45).all()
    assert probabilities[6, EOS] > 0.45


def test_half_precision_does_not_change_the_counts():
    model = small()
    assert torch.equal(copy.deepcopy(model).bfloat16()(TOKENS), model(TOKENS))
    assert model.double()(TOKENS).dtype == torch.float64
    assert not list(model.parameters())


@pytest.mark.parametrize(
    ("sentences", "message"),
    [
        ([[5, VOCAB]], "Expected ids from 0 to 10"),
        ([[BOS, 5]], r"but got 2\."),
        ([[5, PAD]], r"but got 0\."),
        ([], "Expected at least one sentence"),
    ],
)
def test_invalid_sentences_raise_errors(sentences, message):
    with pytest.raises(ValueError, match=message):
        small().fit(sentences)
