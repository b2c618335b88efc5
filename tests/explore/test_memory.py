"""Memory stays bounded however often a control moves: no cache keeps every state, no picture is kept.

`course_lib test --soak` measures the memory itself, over 2,000 moves of each explorable.
"""

from __future__ import annotations

import random
import sys

import pytest

from course_lib.explore.control import TextInput
from course_lib.explore.raster.pillow_text import _mask
from tests.explore.settings import KINDS

MEGABYTE = 2**20
every_explorable = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)


def random_value(control, draw: random.Random) -> object:
    typed = isinstance(control, TextInput) and draw.random() < 0.5  # a learner types what nobody typed before
    return f"the cat {draw.random()}" if typed else draw.choice(control.values)


@pytest.mark.slow
@every_explorable
def test_a_cache_of_states_has_a_limit_or_few_entries(kind):
    """Over 300 random states; an entry of the largest cache without a limit takes about 1 KB."""
    draw = random.Random(0)
    for _ in range(300):
        kind.compute(**{control.name: random_value(control, draw) for control in kind.controls})
    functions = vars(sys.modules[kind.__module__]).values()
    for info in [function.cache_info() for function in functions if hasattr(function, "cache_info")]:
        assert info.maxsize or info.currsize <= 250


def test_the_cache_of_drawn_texts_is_small():
    heading, *_ = _mask("matrix × 0.85   ·   57 steps back   ·   sigmoid", "normal", 24, "rs")
    assert heading.nbytes * _mask.cache_info().maxsize < 16 * MEGABYTE
