"""Rows: named tensors with one row a sentence, so that a whole state can be picked apart and put together.

    >>> state = {"hidden": torch.tensor([[1.0], [2.0]]), "cell": torch.tensor([[3.0], [4.0]])}
    >>> take(state, torch.tensor([1, 1, 0]))["hidden"]      # sentence 1 twice, then sentence 0
    tensor([[2.],
            [2.],
            [1.]])

What a system remembers of the source, and what its decoder remembers of the words so far, is kept like
this. Beam search reorders it without knowing what is in it: a recurrent state, a convolution's window
and a key-value cache are all rows.
"""

from __future__ import annotations

from course_lib.shapes import Int, Tensor

Rows = dict[str, Tensor]
"""Tensors by name; the first axis of each is the batch."""


def take(rows: Rows, which: Int[Tensor, " chosen"]) -> Rows:
    """The chosen rows, in the order asked for; a row may be taken often, or never."""
    return {name: tensor.index_select(0, which) for name, tensor in rows.items()}
