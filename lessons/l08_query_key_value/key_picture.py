"""The key picture of this lesson: a query among keys, and the context vector among values.

`draw()` is the menu in two planes, as the explorable begins. With one of the other PARTS, attention is shown
as grids of numbers: `attention_grids.py`. Both can be drawn with what a learner's function returns.
"""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor, tensor

from course_lib.views.picture import Picture
from lessons.l08_query_key_value import attention_grids
from lessons.l08_query_key_value.soft_dictionary import QUERY, SoftDictionary, drawn_with

PARTS = ("", *attention_grids.PARTS)


def draw(
    lit: str = "",
    *,
    look_up: Callable | None = None,
    query: tuple[float, float] = QUERY,
    attend: Callable | None = None,
) -> Picture:
    """The planes, with the lookup of a learner if one is given; or the grids, with a learner's attention."""
    if lit == "one matrix":
        return attention_grids.scores_of_both()
    if lit:
        return attention_grids.grids(lit, attend)
    return drawn_with(look_up, query) if look_up else SoftDictionary().static_image()


def matrices() -> list[Tensor]:
    """X and the matrices of the grids: W_Q, W_K and W_V in torch's orientation (out, in)."""
    step = attention_grids.numbers()
    words, *weights = (tensor(step[name]) for name in ("X", "W_Qᵀ", "W_Kᵀ", "W_Vᵀ"))
    return [words, *(matrix.T for matrix in weights)]
