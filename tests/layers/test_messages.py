"""Errors for wrong inputs: they say what was expected, what was passed and what to do.

Also, inputs that are correct are accepted: masks that fit, axes that broadcast.
"""

from __future__ import annotations

from functools import partial

import pytest
import torch

from course_lib.layers import attention, cells, convolution, local, masks, positions, recurrent, scores
from course_lib.layers import multi_head as heads
from course_lib.layers.block import Block, KeysAndValues
from course_lib.layers.sentence_convolution import SentenceConvolution

zeros, true = torch.zeros, torch.ones(1, dtype=torch.bool)
integers = torch.ones(3, 4, dtype=torch.int64)
WEIGHTS = {"w_query": zeros(7, 4), "w_key": zeros(7, 6), "v": zeros(7)}
EVERY_SCORE = {
    "dot": {},
    "scaled_dot": {},
    "cosine": {},
    "general": {"weight": zeros(4, 4)},
    "additive": {"w_query": zeros(7, 4), "w_key": zeros(7, 4), "v": zeros(7)},
    "additive_projected": {"w_query": zeros(4, 4), "v": zeros(4)},
    "concat": {"weight": zeros(7, 8), "v": zeros(7)},
    "location": {"weight": zeros(9, 4)},
}


@pytest.mark.parametrize("name", EVERY_SCORE)
@pytest.mark.parametrize(
    ("query", "keys", "error", "message"),
    [  # for the first, torch alone would silently return scores of shape (5, 5, 3)
        (zeros(5, 4), zeros(5, 3, 4), ValueError, r"\(5, 4\) and keys \(5, 3, 4\).*unsqueeze\(-2\)"),
        (zeros(4), zeros(4), ValueError, r"query \(4,\) and keys \(4,\)"),
        (zeros(()), zeros(()), ValueError, r"query \(\) and keys \(\)"),
        (zeros(2, 3, 4), zeros(5, 3, 4), ValueError, r"query \(2, 3, 4\) and keys \(5, 3, 4\)"),
        (zeros(3, 4), integers, TypeError, r"keys .*torch.int64.*\.float\(\)"),
    ],
    ids=["no axis for queries", "a single vector", "a number", "two batches", "integers"],
)
def test_every_score_checks_query_and_keys(name, query, keys, error, message):
    with pytest.raises(error, match=message):
        getattr(scores, name)(query, keys, **EVERY_SCORE[name])


query, keys, values, wide = zeros(2, 3, 4), zeros(2, 5, 4), zeros(2, 5, 7), zeros(2, 5, 6)
Q, K, V = zeros(2, 6, 5, 4), zeros(2, 3, 5, 4), zeros(2, 3, 5, 4)  # six query heads, three key heads
add = positions.SinusoidalPositions(max_len=4, d_model=8).add
rotate = positions.RotaryPositions(max_len=4, head_dim=8).rotate
gates = {f"bias_{part}": zeros(12) for part in ("ih", "hh")}
gates |= {"weight_ih": zeros(12, 5), "weight_hh": zeros(12, 3)}  # of an LSTM with a hidden size of 3
gru, lstm, both = (
    recurrent.Recurrent(kind=kind, input_size=5, hidden=3, bidirectional=ways == 2)
    for kind, ways in (("gru", 1), ("lstm", 1), ("gru", 2))
)
causal_extend, centred_extend = (
    convolution.GatedConvolution(channels=3, width=3, causal=causal).extend for causal in (True, False)
)
block = partial(Block(d_model=6, n_heads=3, d_ff=9), past=KeysAndValues(*zeros(2, 1, 3, 2, 2)))

WRONG = {
    # scores
    r"query is 4 wide.*keys are 6 wide": [
        lambda: scores.dot(query, wide),
        lambda: scores.cosine(query, wide),
        lambda: heads.multi_head(Q, zeros(2, 3, 5, 6), V),
    ],
    r"weight .*\(query_dim, key_dim\) = \(4, 6\).*got \(6, 4\)": [
        lambda: scores.general(query, wide, weight=zeros(6, 4))
    ],
    r"w_query .* = \(7, 4\).*got \(7, 5\)": [
        lambda: scores.additive(query, wide, **WEIGHTS | {"w_query": zeros(7, 5)})
    ],
    r"w_key .* = \(7, 6\).*got \(9, 6\)": [
        lambda: scores.additive(query, wide, **WEIGHTS | {"w_key": zeros(9, 6)})
    ],
    r"v .* = \(7,\).*got": [
        lambda: scores.additive(query, wide, **WEIGHTS | {"v": zeros(7, 1)}),
        lambda: scores.concat(query, wide, weight=zeros(7, 10), v=zeros(1)),
    ],
    r"query_dim \+ key_dim\) = \(7, 10\).*got \(7, 9\)": [
        lambda: scores.concat(query, wide, weight=zeros(7, 9), v=zeros(7))
    ],
    r"2 keys.*got 5.*max_len": [lambda: scores.location(query, wide, weight=zeros(2, 4))],
    # attention
    r"scores .*torch.int64": [lambda: attention.masked_softmax(integers)],
    r"values .*torch.int64": [lambda: attention.weighted_sum(zeros(2, 3), integers)],
    r"one value for each key": [
        lambda: attention.attend(query, keys, zeros(2, 4, 7)),
        lambda: attention.attend(query, keys, zeros(5, 7)),
        lambda: attention.attend(query, keys, zeros(2, 1, 7)),
        lambda: attention.attend(query, keys, zeros(7)),
        lambda: heads.multi_head(Q, K, V[:, :, :2]),  # torch's fused attention would read past the end
    ],
    r"weights \(2, 3, 5\) and values \(4, 5, 7\)": [lambda: attention.attend(query, keys, zeros(4, 5, 7))],
    r"half_width of at least 1, but got 0": [
        lambda: local.local_mask(zeros(1), torch.arange(3), half_width=0)
    ],
    r"v_p .* = \(5,\).*got \(5, 1\)": [
        lambda: local.predicted_centres(query, torch.tensor([3, 2]), w_p=zeros(5, 4), v_p=zeros(5, 1))
    ],
    # masks; torch's fused attention would take (batch, 1, keys) for heads, and add a mask of 0 and 1
    r"mask .*torch.float32.*mask\.bool\(\).*mask == 0": [
        lambda: attention.masked_softmax(zeros(3, 5), torch.ones(3, 5)),
        lambda: heads.multi_head(Q, K, V, mask=torch.ones(2, 1, 1, 5)),
        lambda: heads.multi_head(Q, K, V, mask=torch.ones(2, 1, 1, 5), with_weights=True),
    ],
    r"mask .*scores of shape.*\(batch, 1, 1, keys\)": [
        lambda: heads.multi_head(Q, K, V, mask=true.expand(2, 1, 5)),
        lambda: heads.multi_head(Q, K, V, mask=true.expand(2, 1, 5), with_weights=True),
        lambda: heads.multi_head(Q, K, V, mask=true.expand(2, 1, 1, 4)),
    ],
    r"causal=True.*queries.*keys and mask": [
        lambda: heads.multi_head(Q, K, V, causal=True, mask=true.expand(5, 5), with_weights=True),
        lambda: heads.multi_head(Q[:, :, :3], K, V, causal=True),  # torch aligns at the first key
        lambda: heads.multi_head(Q[:, :, :3], K, V, causal=True, with_weights=True),
    ],
    # multi-head attention
    r"d_model to be a multiple of n_heads": [
        lambda: heads.MultiHead(d_model=10, n_heads=4),
        lambda: heads.MultiHead(d_model=12, n_heads=4, n_kv_heads=3),
        lambda: heads.MultiHead(d_model=12, n_heads=2, n_kv_heads=4),
    ],
    r"kv_heads, but got query .*split_heads": [
        lambda: heads.multi_head(Q[0], K, V),
        lambda: heads.multi_head(Q[:1], K, V),
        lambda: heads.multi_head(Q[:, :1], K, V, with_weights=True),
    ],
    r"causal nor mask .*past": [
        lambda: block(zeros(1, 1, 6), causal=True),
        lambda: block(zeros(1, 1, 6), mask=true.expand(1, 1, 1, 3)),
    ],
    # recurrent; torch would broadcast a state of one row, or of one number
    r"a state of shape \(2, 3\).*12 rows .* 4 matrices": [
        lambda: cells.lstm_cell(zeros(2, 5), zeros(1, 3), zeros(1, 3), **gates),
        lambda: cells.lstm_cell(zeros(2, 5), zeros(2, 3), zeros(2, 1), **gates),
    ],
    r"a state of shape \(2, 12\)": [lambda: cells.rnn_cell(zeros(2, 5), zeros(2, 3), **gates)],
    r"a state of shape \(2, 4\)": [lambda: cells.gru_cell(zeros(2, 5), zeros(1, 3), **gates)],
    r"inputs .*torch.int64": [lambda: cells.GRUCell(input_size=4, hidden=3)(integers, zeros(3, 3))],
    r"lengths .*\(4,\), but got": [
        lambda: gru(zeros(4, 7, 5), lengths=torch.tensor([3])),
        lambda: gru(zeros(4, 7, 5), lengths=zeros(4)),
    ],
    r"hidden and cell of shape \(4, 1, 3\)": [
        lambda: lstm(zeros(4, 7, 5), {"hidden": zeros(4, 1, 3)}),
        lambda: lstm(zeros(4, 7, 5), lstm.zeros(4) | {"feed": zeros(4, 1, 3)}),
        lambda: lstm.step(zeros(4, 5), lstm.zeros(2)),
    ],
    r"state with hidden of shape \(4, 1, 3\)": [
        lambda: gru(zeros(4, 7, 5), {"hidden": zeros(4, 2, 3)}),
        lambda: gru(zeros(4, 7, 5), gru.zeros(1)),
    ],
    r"bidirectional": [lambda: both.step(zeros(4, 5), both.zeros(4))],
    r"but got cross_attention=True and no source": [
        lambda: Block(d_model=6, n_heads=3, d_ff=9, cross_attention=True)(zeros(1, 1, 6))
    ],
    r"but got cross_attention=False and a source": [
        lambda: block(zeros(1, 1, 6), source=KeysAndValues(*zeros(2, 1, 3, 2, 2)))
    ],
    # convolution
    r"even number of channels.*got 3": [lambda: convolution.gated_linear_unit(zeros(2, 3))],
    r"causal layer.*2 words, but got causal=": [
        lambda: centred_extend(zeros(1, 1, 3), zeros(1, 2, 3)),
        lambda: causal_extend(zeros(2, 1, 3), zeros(2, 3, 3)),
    ],
    r"3 words \(max_len\), 5 wide \(embed\).*but got": [
        lambda: SentenceConvolution(embed=5, max_len=3)(zeros(1, 4, 5), torch.tensor([3])),
        lambda: SentenceConvolution(embed=5, max_len=3)(zeros(1, 3, 1), torch.tensor([3])),
    ],
    # the rest
    r"at most 4 positions.*\(max_len\), but got 5": [
        lambda: add(zeros(1, 2, 8), first=3),
        lambda: rotate(zeros(1, 1, 2, 8), first=3),
    ],
    r"width 8.*\(d_model\), but got \(1, 3, 1\)": [lambda: add(zeros(1, 3, 1))],
    r"\(len, head_dim / 2\), but got": [
        lambda: positions.rotate(zeros(2, 3, 8), zeros(1, 4)),
        lambda: positions.rotate(zeros(2, 3, 8), zeros(3, 1)),
        lambda: positions.rotate(zeros(2, 3, 8), zeros(3, 8)),
    ],
    r"even width.*got 7": [lambda: positions.sinusoids(3, 7)],
}


@pytest.mark.parametrize("message", WRONG)
def test_a_wrong_input_raises_an_error(message):
    for call in WRONG[message]:
        with pytest.raises((ValueError, TypeError), match=message):
            call()


@pytest.mark.parametrize(
    ("scores_shape", "mask_shape"),
    [
        ((2, 3, 5), (2, 5)),  # a padding mask without an axis for queries
        ((4, 4, 3, 5), (4, 1, 5)),  # without an axis for heads: torch would take the batch for heads
        ((3, 5), (2, 3, 5)),  # would broadcast the scores
        ((1, 5), (3, 5)),
        ((2, 3, 5), (2, 5, 3)),
        ((3, 5), (5,)),
        ((5,), (1, 5)),
        ((3, 5), ()),
    ],
    ids=str,
)
def test_a_mask_of_the_wrong_shape_raises_an_error(scores_shape, mask_shape):
    for call in (masks.mask_scores, attention.masked_softmax):
        with pytest.raises(ValueError, match=r"mask .*scores of shape .*got \("):
            call(zeros(scores_shape), true.expand(mask_shape) if mask_shape else true[0])


@pytest.mark.parametrize(
    ("scores_shape", "mask_shape"),
    [
        ((2, 8, 3, 5), (3, 5)),
        ((2, 8, 3, 5), (2, 1, 1, 5)),
        ((2, 3, 5), (2, 3, 1)),
        ((3, 5), (1, 1)),
        ((5,), (5,)),
    ],
    ids=str,
)
def test_a_mask_that_broadcasts_is_accepted(scores_shape, mask_shape):
    assert attention.masked_softmax(zeros(scores_shape), true.expand(mask_shape)).shape == scores_shape


@pytest.mark.parametrize(("shape", "n_heads"), [((3, 10), 4), ((8,), 2), ((), 1), ((3, 8), 0)])
def test_a_width_that_the_heads_cannot_share_is_named(shape, n_heads):
    with pytest.raises(ValueError, match=f"{n_heads} heads"):
        heads.split_heads(zeros(shape), n_heads=n_heads)


def test_heads_need_four_axes():
    for query, keys in ((zeros(()), zeros(())), (zeros(4), zeros(4)), (zeros(1, 2, 3, 4), zeros(1, 0, 3, 4))):
        with pytest.raises(ValueError, match="split_heads"):
            heads.multi_head(query, keys, keys)
