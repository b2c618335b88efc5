"""The interventions of lesson 09 do what they say, and leave the model as it was."""

from __future__ import annotations

import pytest
import torch

from course_lib.translation.shipped import shared
from lessons.l09_self_attention.interventions import (
    decode_states,
    equal_weights,
    indices_of,
    listen_alone,
    source_states,
    take_apart,
    translate_alone,
)
from lessons.l09_self_attention.measurements import COLD, THIRSTY
from lessons.l09_self_attention.pronoun import HEADS, listen


@pytest.fixture(scope="module")
def transformer():
    return shared("transformer")


def test_an_isolated_word_attends_to_itself(transformer):
    result = listen_alone(transformer, COLD)
    torch.testing.assert_close(result.encoder_weights, torch.eye(10).expand(3, 4, 10, 10))
    texts = [
        "the goat behind the door does not eat the good bread on the black table",
        "the dog ate the soup",
    ]
    assert translate_alone(transformer, texts) == [listen_alone(transformer, text).french for text in texts]


def test_unchanged_states_give_the_usual_translation(transformer):
    states, weights = source_states(transformer, COLD)
    assert decode_states(transformer, COLD, states).french == transformer(COLD).target
    torch.testing.assert_close(weights, listen(transformer, COLD).encoder_weights)


def test_values_may_be_made_from_other_states_than_the_keys(transformer):
    states, other = source_states(transformer, THIRSTY)[0], source_states(transformer, COLD)[0]
    usual = decode_states(transformer, THIRSTY, states)
    same = decode_states(transformer, THIRSTY, states, values=states)
    assert (same.french, same.il) == (usual.french, usual.il)
    mixed = decode_states(transformer, THIRSTY, states, values=other)
    # the queries and keys of the first layer are the same
    torch.testing.assert_close(mixed.pronoun_weights[0], usual.pronoun_weights[0])
    assert mixed.french != usual.french


@pytest.mark.parametrize("attention", ["0.0", "2.3"])
def test_a_head_taken_apart_gives_the_weights_inside(transformer, attention):
    x, w_q, w_k, w_v = take_apart(transformer, THIRSTY, attention)
    weights = ((x @ w_q) @ (x @ w_k).T / 4).softmax(dim=-1)
    expected = listen(transformer, THIRSTY).encoder_weights[indices_of(attention)]
    torch.testing.assert_close(weights, expected, atol=1e-4, rtol=0)
    assert w_v.shape == (64, 16) and len(HEADS) == 12


def test_weights_are_equal_inside_the_block_only(transformer):
    before = {name: tensor.clone() for name, tensor in transformer.model.state_dict().items()}
    with pytest.raises(KeyError), equal_weights(transformer, "encoder", ["1.1", "1.2"]):
        weights = listen(transformer, THIRSTY).encoder_weights
        torch.testing.assert_close(weights[1, 1:3], torch.full((2, 10, 10), 0.1))
        assert weights[1, 0].max() > 0.2
        raise KeyError
    with equal_weights(transformer, "cross", ["1.3"]):
        torch.testing.assert_close(listen(transformer, THIRSTY).pronoun_weights[1, 3], torch.full((10,), 0.1))
    after = transformer.model.state_dict()
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_an_unknown_head_is_refused():
    with pytest.raises(ValueError, match=r"0\.0 to 2\.3"):
        indices_of("3.0")
