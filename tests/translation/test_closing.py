"""Closing words, swapping states, even weights: they do what they say, and leave no trace."""

from __future__ import annotations

import pytest
import torch

from course_lib.translation.closing import (
    ATTENTIONS,
    equal_weights,
    listen,
    listen_alone,
    place_of,
    source_states,
    speak,
    taken_apart,
    translate_alone,
)
from course_lib.translation.shipped import load_shipped

THIRSTY = "the cat drank the water because it was thirsty"
COLD = "the cat drank the water because it was cold"


@pytest.fixture(scope="module")
def transformer():
    return load_shipped("transformer")


def test_values_may_be_made_from_other_states_than_the_keys(transformer):
    states, other = source_states(transformer, THIRSTY)[0], source_states(transformer, COLD)[0]
    usual, same = speak(transformer, THIRSTY, states), speak(transformer, THIRSTY, states, values=states)
    assert (same.french, same.il) == (usual.french, usual.il)
    looked = speak(transformer, THIRSTY, states, values=other).at_pronoun
    torch.testing.assert_close(looked[0], usual.at_pronoun[0])  # the first layer asks the same keys
    assert speak(transformer, THIRSTY, states, values=other).french != usual.french


def test_with_nothing_closed_it_is_the_translation_itself(transformer):
    for text in (THIRSTY, COLD):
        usual = transformer(text, with_weights=True)
        heard = listen(transformer, text)
        assert heard.french == usual.target and heard.words == usual.source_tokens
        place = next(i for i, word in enumerate(usual.target_tokens) if word in ("il", "elle"))
        torch.testing.assert_close(heard.at_pronoun, usual.weights[:, :, place], atol=1e-4, rtol=0)


@pytest.mark.parametrize(
    ("to", "inside", "outside"), [("all", 0, 0), ("source", 0, 1), ("decoder", 1, 0)], ids=str
)
def test_a_closed_word_is_looked_at_by_nobody_it_is_closed_to(transformer, to, inside, outside):
    heard = listen(transformer, THIRSTY, closed=[4], to=to)
    assert (heard.own[..., 4].sum() > 0) == bool(inside)
    assert (heard.at_pronoun[..., 4].sum() > 0) == bool(outside)
    torch.testing.assert_close(heard.own.sum(dim=-1), torch.ones(3, 4, 10))


def test_alone_a_word_sees_itself(transformer):
    heard = listen_alone(transformer, COLD)
    torch.testing.assert_close(heard.own, torch.eye(10).expand(3, 4, 10, 10))
    texts = [COLD, "the cat sleeps", THIRSTY]
    assert translate_alone(transformer, texts) == [listen_alone(transformer, text).french for text in texts]


def test_the_states_lead_to_the_translation(transformer):
    states, own = source_states(transformer, COLD)
    heard = speak(transformer, COLD, states)
    assert heard.french == listen(transformer, COLD).french and own.shape == (3, 4, 10, 10)


@pytest.mark.parametrize("attention", ["1a", "2b", "3d"])
def test_an_attention_taken_apart_gives_the_weights_inside(transformer, attention):
    x, w_q, w_k, w_v = taken_apart(transformer, THIRSTY, attention)
    assert w_v.shape == (64, 16)
    weights = ((x @ w_q) @ (x @ w_k).T / 4).softmax(dim=-1)
    torch.testing.assert_close(
        weights, listen(transformer, THIRSTY).own[place_of(attention)], atol=1e-4, rtol=0
    )


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


def test_what_is_not_there_is_refused(transformer):
    with pytest.raises(ValueError, match="1a to 3d"):
        place_of("4a")
    with pytest.raises(ValueError, match="all, source, decoder"):
        listen(transformer, THIRSTY, to="nobody")
    assert len(ATTENTIONS) == 12
