"""What lesson 09 does to the shipped Transformer does what it says, and leaves no trace."""

from __future__ import annotations

import pytest
import torch

from course_lib.translation.shipped import shared
from lessons.l09_self_attention.interventions import (
    equal_weights,
    listen_alone,
    place_of,
    source_states,
    speak,
    taken_apart,
    translate_alone,
)
from lessons.l09_self_attention.pronoun import ATTENTIONS, listen

THIRSTY = "the cat drank the water because it was thirsty"
COLD = "the cat drank the water because it was cold"


@pytest.fixture(scope="module")
def transformer():
    return shared("transformer")


def test_alone_a_word_sees_itself(transformer):
    heard = listen_alone(transformer, COLD)
    torch.testing.assert_close(heard.own, torch.eye(10).expand(3, 4, 10, 10))
    texts = [
        "the goat behind the door does not eat the good bread on the black table",
        "the dog ate the soup",
    ]
    assert translate_alone(transformer, texts) == [listen_alone(transformer, text).french for text in texts]


def test_states_that_are_left_as_they_are_give_the_translation(transformer):
    states, own = source_states(transformer, COLD)
    assert speak(transformer, COLD, states).french == transformer(COLD).target
    torch.testing.assert_close(own, listen(transformer, COLD).own)


def test_values_may_be_made_from_other_states_than_the_keys(transformer):
    states, other = source_states(transformer, THIRSTY)[0], source_states(transformer, COLD)[0]
    usual, same = speak(transformer, THIRSTY, states), speak(transformer, THIRSTY, states, values=states)
    assert (same.french, same.il) == (usual.french, usual.il)
    mixed = speak(transformer, THIRSTY, states, values=other)
    torch.testing.assert_close(mixed.at_pronoun[0], usual.at_pronoun[0])  # the first layer asks the same keys
    assert mixed.french != usual.french


@pytest.mark.parametrize("attention", ["1a", "3d"])
def test_an_attention_taken_apart_gives_the_weights_inside(transformer, attention):
    x, w_q, w_k, w_v = taken_apart(transformer, THIRSTY, attention)
    weights, own = ((x @ w_q) @ (x @ w_k).T / 4).softmax(dim=-1), listen(transformer, THIRSTY).own
    torch.testing.assert_close(weights, own[place_of(attention)], atol=1e-4, rtol=0)
    assert w_v.shape == (64, 16) and len(ATTENTIONS) == 12


def test_even_weights_are_even_and_only_for_a_while(transformer):
    before = {name: tensor.clone() for name, tensor in transformer.model.state_dict().items()}
    with pytest.raises(KeyError), equal_weights(transformer, "source", ["2b", "2c"]):
        own = listen(transformer, THIRSTY).own
        torch.testing.assert_close(own[1, 1:3], torch.full((2, 10, 10), 0.1))
        assert own[1, 0].max() > 0.2
        raise KeyError
    with equal_weights(transformer, "decoder", ["2d"]):
        torch.testing.assert_close(listen(transformer, THIRSTY).at_pronoun[1, 3], torch.full((10,), 0.1))
    after = transformer.model.state_dict()
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_a_head_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match="1a to 3d"):
        place_of("4a")
