"""Attention, key-value and key-value-predict, compared with the paper's formulas word by word."""

from __future__ import annotations

import pytest
import torch

from course_lib.models.key_value_lm import N_PARTS, KeyValueLM, KeyValueLMConfig

TOKENS = torch.tensor([[1, 5, 6, 7, 8, 6, 4], [1, 9, 9, 4, 10, 11, 5]])

every_form = pytest.mark.parametrize("form", N_PARTS)


def small(form: str, *, span: int = 3) -> KeyValueLM:
    torch.manual_seed(0)
    config = KeyValueLMConfig(vocab_size=12, embed=5, hidden=6, span=span, form=form)
    return KeyValueLM(config).double().eval()


def by_the_paper(model: KeyValueLM, tokens, form: str):
    """One text: logits, and each word's attention weights by position within its span."""
    outputs = model.lstm(model.words.target(tokens)[None])[0][0]
    if form == "attention":
        keys = values = predicts = outputs
    elif form == "key-value":
        keys, values = outputs.split(3, dim=-1)
        predicts = values
    else:
        keys, values, predicts = outputs.split(2, dim=-1)
    w_r, w_x = model.join.weight.split(keys.shape[-1], dim=1)
    score, logits, weights_by_position = model.score, [], []
    for t in range(len(tokens)):
        span = range(max(0, t - model.config.span), t)
        scores = [score.v @ torch.tanh(score.w_key @ keys[i] + score.w_query @ keys[t]) for i in span]
        weights = torch.stack(scores).softmax(dim=0) if scores else torch.zeros(0, dtype=torch.float64)
        context = sum((weight * values[i] for weight, i in zip(weights, span, strict=True)), 0 * values[0])
        logits.append(model.words.logits(torch.tanh(w_r @ context + w_x @ predicts[t])))
        weights_by_position.append(dict(zip(span, weights.tolist(), strict=True)))
    return torch.stack(logits), weights_by_position


@every_form
@pytest.mark.parametrize("span", [1, 3, 100])
def test_equals_the_papers_formulas(form, span):
    model = small(form, span=span)
    logits, weights = model.decode(TOKENS, with_weights=True)
    assert weights.shape == (2, 1, 1, 7, 7)
    for row, tokens in enumerate(TOKENS):
        expected, weights_by_position = by_the_paper(model, tokens, form)
        torch.testing.assert_close(logits[row], expected)
        square = torch.zeros(7, 7, dtype=torch.float64)
        for t, word_weights in enumerate(weights_by_position):
            for i, weight in word_weights.items():
                square[t, i] = weight
        torch.testing.assert_close(weights[row, 0, 0], square)


@every_form
def test_the_state_has_only_the_keys_and_values_of_the_span(form):
    model = small(form)
    whole, square = model.decode(TOKENS, with_weights=True)
    state, lengths = model.start(n_rows=2), []
    for position, tokens in enumerate(TOKENS.unbind(dim=1)):
        logits, state, weights = model.step(state, tokens, with_weights=True)
        torch.testing.assert_close(logits, whole[:, position])
        torch.testing.assert_close(weights, square[..., position, : position + 1])
        lengths.append((state["keys"].shape[1], state["values"].shape[1]))
    assert lengths == [(1, 1), (2, 2), (3, 3), (3, 3), (3, 3), (3, 3), (3, 3)]


@every_form
def test_a_text_of_one_word_has_attention_weights_of_zero(form):
    logits, weights = small(form).decode(TOKENS[:, :1], with_weights=True)
    assert logits.isfinite().all() and weights.eq(0).all() and weights.shape == (2, 1, 1, 1, 1)
