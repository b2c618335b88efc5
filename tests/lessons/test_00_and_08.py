"""Claims of lesson 00."""

from __future__ import annotations

from tests.lessons.told import means


def test_three_systems_are_of_about_the_same_size():
    sizes = [means("toy_ladder", "parameters")[name] for name in ("seq2seq", "bahdanau", "transformer")]
    assert max(sizes) < 1.1 * min(sizes)
