"""The interventions of lesson 09 do what they say, and leave the model as it was."""

from __future__ import annotations

import pytest
import torch

from course_lib.translation.masking import mask_self_only, mask_without
from course_lib.translation.shipped import shared
from lessons.l09_self_attention.interventions import (
    decode_states,
    indices_of,
    minimal_pairs,
    source_states,
    take_apart,
    translate_isolated,
    uniform_attention,
)
from lessons.l09_self_attention.measurements import COLD, THIRSTY, pronoun_at
from lessons.l09_self_attention.pronoun import HEADS, masked_translation, translate_with_masks


@pytest.fixture(scope="module")
def transformer():
    return shared("transformer")


def test_only_the_last_word_of_a_minimal_pair_differs_and_with_it_the_noun_that_is_meant():
    pairs = minimal_pairs(100)
    assert len(pairs) == 100 and pairs[0][0].src_text == THIRSTY and pairs[0][1].src_text == COLD
    for first, second in pairs:
        assert first.src[:-1] == second.src[:-1] and first.src[-1] != second.src[-1]
        assert pronoun_at(first) == pronoun_at(second) and first.src[pronoun_at(first)] in ("it", "they")
        assert first.antecedents != second.antecedents


def test_an_isolated_word_attends_to_itself(transformer):
    texts = [
        "the goat behind the door does not eat the good bread on the black table",
        "the dog ate the soup",
    ]
    outputs = translate_isolated(transformer, texts)
    for text, output in zip(texts, outputs, strict=True):
        n = len(text.split()) + 1
        alone = translate_with_masks(transformer, text, own=mask_self_only(n), cross=mask_without([], n))
        torch.testing.assert_close(alone.encoder_weights, torch.eye(n).expand(3, 4, n, n))
        assert output == alone.french


def test_unchanged_states_give_the_usual_translation(transformer):
    states = source_states(transformer, COLD)
    assert states.shape == (10, 64)
    assert decode_states(transformer, COLD, states).french == transformer(COLD).target


@pytest.mark.parametrize("attention", ["0.0", "2.3"])
def test_a_head_taken_apart_gives_the_weights_inside(transformer, attention):
    x, w_q, w_k, w_v = take_apart(transformer, THIRSTY, attention)
    weights = ((x @ w_q.T) @ (x @ w_k.T).T / 4).softmax(dim=-1)
    expected = masked_translation(transformer, THIRSTY).encoder_weights[indices_of(attention)]
    torch.testing.assert_close(weights, expected, atol=1e-4, rtol=0)
    assert w_q.shape == w_k.shape == w_v.shape == (16, 64) and len(HEADS) == 12


def test_attention_is_uniform_inside_the_block_only(transformer):
    before = {name: tensor.clone() for name, tensor in transformer.model.state_dict().items()}
    with pytest.raises(KeyError), uniform_attention(transformer, "encoder", ["1.1", "1.2"]):
        weights = masked_translation(transformer, THIRSTY).encoder_weights
        torch.testing.assert_close(weights[1, 1:3], torch.full((2, 10, 10), 0.1))
        assert weights[1, 0].max() > 0.2
        raise KeyError
    with uniform_attention(transformer, "cross", ["1.3"]):
        weights = masked_translation(transformer, THIRSTY).pronoun_weights[1, 3]
        torch.testing.assert_close(weights, torch.full((10,), 0.1))
    after = transformer.model.state_dict()
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_an_unknown_head_is_refused():
    with pytest.raises(ValueError, match=r"0\.0 to 2\.3"):
        indices_of("3.0")
