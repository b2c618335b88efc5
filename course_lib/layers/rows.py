"""Rows: a dictionary of tensors with one row per sentence, so that a whole state can be reordered at once.

    >>> state = {"hidden": torch.tensor([[1.0], [2.0]]), "cell": torch.tensor([[3.0], [4.0]])}
    >>> take(state, torch.tensor([1, 1, 0]))["hidden"]      # sentence 1 twice, then sentence 0
    tensor([[2.],
            [2.],
            [1.]])

The encoder's memory and the decoder's state are both rows. Beam search can reorder them without knowing
their content, be it a recurrent state, a convolution's window or a key-value cache.
"""

from __future__ import annotations

from course_lib.shapes import Int, Tensor

Rows = dict[str, Tensor]
"""Tensors by name; the first axis of each is the batch."""


def take(rows: Rows, indices: Int[Tensor, " chosen"]) -> Rows:
    """Select rows by index; a row may be selected several times, or not at all."""
    return {name: tensor.index_select(0, indices) for name, tensor in rows.items()}
