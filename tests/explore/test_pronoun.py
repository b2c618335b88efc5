"""Nobody looks at a word that is closed to them; with all words open, it is the translation itself."""

from __future__ import annotations

import pytest
import torch

from course_lib.translation.shipped import shared
from lessons.l09_self_attention.pronoun import listen

THIRSTY = "the cat drank the water because it was thirsty"
COLD = "the cat drank the water because it was cold"


@pytest.fixture(scope="module")
def transformer():
    return shared("transformer")


def test_with_nothing_closed_it_is_the_translation_itself(transformer):
    for text in (THIRSTY, COLD):
        usual, heard = transformer(text, with_weights=True), listen(transformer, text)
        assert heard.french == usual.target and heard.words == usual.source_tokens
        place = next(i for i, word in enumerate(usual.target_tokens) if word in ("il", "elle"))
        torch.testing.assert_close(heard.at_pronoun, usual.weights[:, :, place], atol=1e-4, rtol=0)


@pytest.mark.parametrize(("to", "inside", "outside"), [("all", 0, 0), ("source", 0, 1), ("decoder", 1, 0)])
def test_a_closed_word_is_looked_at_by_nobody_it_is_closed_to(transformer, to, inside, outside):
    heard = listen(transformer, THIRSTY, closed=[4], to=to)
    assert (heard.own[..., 4].sum() > 0) == bool(inside)
    assert (heard.at_pronoun[..., 4].sum() > 0) == bool(outside)
    torch.testing.assert_close(heard.own.sum(dim=-1), torch.ones(3, 4, 10))


def test_what_is_not_there_is_refused(transformer):
    with pytest.raises(ValueError, match="all, source, decoder"):
        listen(transformer, THIRSTY, to="nobody")
