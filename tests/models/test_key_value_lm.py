"""Attention, key-value and key-value-predict against the paper's formulas, word by word."""

from __future__ import annotations

import pytest
import torch

from course_lib.models.key_value_lm import N_PARTS, KeyValueLM, KeyValueLMConfig, span_before

TOKENS = torch.tensor([[1, 5, 6, 7, 8, 6, 4], [1, 9, 9, 4, 10, 11, 5]])

every_form = pytest.mark.parametrize("form", N_PARTS)


def small(form: str, *, span: int = 3) -> KeyValueLM:
    torch.manual_seed(0)
    config = KeyValueLMConfig(vocab_size=12, embed=5, hidden=6, span=span, form=form)
    return KeyValueLM(config).double().eval()


def by_the_paper(model: KeyValueLM, tokens, form: str):
    """One text: logits, and each word's weights over the words before it that are in its span."""
    outputs = model.lstm.explicit(model.words.target(tokens)[None])[0][0]
    if form == "attention":
        keys = values = predicts = outputs
    elif form == "key-value":
        keys, values = outputs.split(3, dim=-1)
        predicts = values
    else:
        keys, values, predicts = outputs.split(2, dim=-1)
    w_r, w_x = model.join.weight.split(keys.shape[-1], dim=1)
    score, logits, looked = model.score, [], []
    for t in range(len(tokens)):
        seen = range(max(0, t - model.config.span), t)
        scores = [score.v @ torch.tanh(score.w_key @ keys[i] + score.w_query @ keys[t]) for i in seen]
        weights = torch.stack(scores).softmax(dim=0) if scores else torch.zeros(0, dtype=torch.float64)
        context = sum((weight * values[i] for weight, i in zip(weights, seen, strict=True)), 0 * values[0])
        logits.append(model.words.logits(torch.tanh(w_r @ context + w_x @ predicts[t])))
        looked.append(dict(zip(seen, weights.tolist(), strict=True)))
    return torch.stack(logits), looked


@every_form
@pytest.mark.parametrize("span", [1, 3, 100])
def test_equals_the_formulas_word_by_word(form, span):
    model = small(form, span=span)
    logits, weights = model.decode(TOKENS, with_weights=True)
    assert weights.shape == (2, 1, 1, 7, 7)
    for row, tokens in enumerate(TOKENS):
        expected, looked = by_the_paper(model, tokens, form)
        torch.testing.assert_close(logits[row], expected)
        square = torch.zeros(7, 7, dtype=torch.float64)
        for t, seen in enumerate(looked):
            for i, weight in seen.items():
                square[t, i] = weight
        torch.testing.assert_close(weights[row, 0, 0], square)


@every_form
def test_the_state_keeps_the_span_and_no_more(form):
    model = small(form)
    whole, square = model.decode(TOKENS, with_weights=True)
    state, kept = model.start(n_rows=2), []
    for place, tokens in enumerate(TOKENS.unbind(dim=1)):
        logits, state, weights = model.step(state, tokens, with_weights=True)
        torch.testing.assert_close(logits, whole[:, place])
        torch.testing.assert_close(weights, square[..., place, : place + 1])
        kept.append((state["keys"].shape[1], state["values"].shape[1]))
    assert kept == [(1, 1), (2, 2), (3, 3), (3, 3), (3, 3), (3, 3), (3, 3)]


@every_form
def test_a_text_of_one_word_sees_nothing(form):
    logits, weights = small(form).decode(TOKENS[:, :1], with_weights=True)
    assert logits.isfinite().all() and weights.eq(0).all() and weights.shape == (2, 1, 1, 1, 1)


def test_each_part_does_its_own_job():
    """Three parts: the key alone moves the weights, the value and the prediction alone move what is said."""
    model = small("key-value-predict")
    embedded = model.words.target(TOKENS)
    outputs, _ = model.lstm(embedded)

    def with_part(which: int):
        moved = outputs.clone()
        moved[:, 2, 2 * which : 2 * which + 2] += 0.5
        model.lstm.forward = lambda inputs: (moved, {})
        try:
            return model.decode(TOKENS, with_weights=True)
        finally:
            del model.lstm.forward

    logits, weights = model.decode(TOKENS, with_weights=True)
    moved = [with_part(which) for which in range(3)]
    assert [torch.allclose(one[1], weights) for one in moved] == [False, True, True]
    at_once = [torch.allclose(one[0][:, 2], logits[:, 2]) for one in moved]
    later = [torch.allclose(one[0][:, 3], logits[:, 3]) for one in moved]
    assert at_once == [False, True, False]  # a word's own value is there for the words after it
    assert later == [False, False, True]  # and its prediction for itself


def test_the_span_before_each_word_equals_a_loop():
    x = torch.arange(1.0, 13.0).view(2, 6, 1)
    for span in (1, 2, 6):
        seen = span_before(x, span)
        assert seen.shape == (2, 6, span, 1)
        for t in range(6):
            expected = [float(x[1, i]) if i >= 0 else 0.0 for i in range(t - span, t)]
            assert seen[1, t, :, 0].tolist() == expected


def test_a_wrong_form_or_width_is_refused():
    with pytest.raises(ValueError, match="one of attention, key-value, key-value-predict, but got 'query'"):
        small("query")
    with pytest.raises(ValueError, match="hidden to be a multiple of 3, but got 8"):
        KeyValueLMConfig(vocab_size=12, embed=5, hidden=8)
    with pytest.raises(ValueError, match="span of at least 1"):
        KeyValueLMConfig(vocab_size=12, embed=5, hidden=6, span=0)
