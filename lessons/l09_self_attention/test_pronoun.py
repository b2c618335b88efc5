"""A masked word gets no weight where it is masked; with all words open, nothing changes."""

from __future__ import annotations

import pytest
import torch

from course_lib.translation.shipped import shared
from lessons.l09_self_attention.measurements import COLD, THIRSTY
from lessons.l09_self_attention.pronoun import masked_translation


@pytest.fixture(scope="module")
def transformer():
    return shared("transformer")


def test_with_nothing_masked_it_is_the_translation_itself(transformer):
    for text in (THIRSTY, COLD):
        usual, result = transformer(text, with_weights=True), masked_translation(transformer, text)
        assert result.french == usual.target and result.words == usual.source_tokens
        step = next(i for i, word in enumerate(usual.target_tokens) if word in ("il", "elle"))
        torch.testing.assert_close(result.pronoun_weights, usual.weights[:, :, step], atol=1e-4, rtol=0)


@pytest.mark.parametrize(("to", "inside", "outside"), [("all", 0, 0), ("source", 0, 1), ("decoder", 1, 0)])
def test_a_masked_word_gets_no_weight_where_it_is_masked(transformer, to, inside, outside):
    result = masked_translation(transformer, THIRSTY, masked=[4], to=to)
    assert (result.encoder_weights[..., 4].sum() > 0) == bool(inside)
    assert (result.pronoun_weights[..., 4].sum() > 0) == bool(outside)
    torch.testing.assert_close(result.encoder_weights.sum(dim=-1), torch.ones(3, 4, 10))


def test_an_unknown_side_is_refused(transformer):
    with pytest.raises(ValueError, match="all, source, decoder"):
        masked_translation(transformer, THIRSTY, to="nobody")
