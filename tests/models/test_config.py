"""A configuration is checked when it is made, before anything is built from it."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, dataclass

import pytest

from course_lib.models.config import Config


@dataclass(frozen=True, kw_only=True)
class TwoSizes(Config):
    hidden: int
    score: str = "dot"
    bridge: bool = False


def test_what_is_said_is_kept():
    config = TwoSizes(vocab_size=500, hidden=7)
    assert (config.vocab_size, config.hidden, config.dropout, config.tied) == (500, 7, 0.0, True)
    with pytest.raises(FrozenInstanceError):
        config.hidden = 8


@pytest.mark.parametrize("dropout", [-0.1, 1.0, 1.5])
def test_dropout_is_a_share(dropout):
    with pytest.raises(ValueError, match=rf"dropout of at least 0 and below 1, but got {dropout}.*share"):
        Config(vocab_size=5, dropout=dropout)


@pytest.mark.parametrize("field", ["vocab_size", "max_len", "hidden"])
def test_a_size_is_at_least_one(field):
    with pytest.raises(ValueError, match=f"Expected {field} of at least 1, but got 0"):
        TwoSizes(**{"vocab_size": 5, "hidden": 5, field: 0})


def test_a_switch_that_is_off_is_no_size():
    assert TwoSizes(vocab_size=5, hidden=5, tied=False, bridge=False).tied is False


def test_sizes_are_given_by_name():
    with pytest.raises(TypeError, match="positional"):
        Config(500)
    with pytest.raises(TypeError, match="vocabulary"):
        Config(vocabulary=500)
