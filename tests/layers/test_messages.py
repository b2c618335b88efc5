"""A wrong input gets an error that says what was expected, what came and what to do: one table for all.

And what is right is not refused: masks that fit, axes that may be shared.
"""

from __future__ import annotations

import pytest
import torch

from course_lib.layers import (
    attention,
    cells,
    convolution,
    feed_forward,
    folding,
    linear_attention,
    local,
    masks,
    norms,
    positions,
    recurrent,
    restricted,
    scores,
)
from course_lib.layers import multi_head as heads
from course_lib.layers.tape import TapeCell

zeros, yes = torch.zeros, torch.ones(1, dtype=torch.bool)
whole = torch.ones(3, 4, dtype=torch.int64)
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
    [  # of the first, torch alone would make (5, 5, 3) scores without a word
        (
            zeros(5, 4),
            zeros(5, 3, 4),
            ValueError,
            r"as many axes.*\(5, 4\) and keys \(5, 3, 4\).*unsqueeze\(-2\)",
        ),
        (zeros(4), zeros(4), ValueError, r"query \(4,\) and keys \(4,\)"),
        (
            zeros(2, 3, 4),
            zeros(5, 3, 4),
            ValueError,
            r"agree.*query \(2, 3, 4\) and keys \(5, 3, 4\).*same batch",
        ),
        (zeros(3, 4), whole, TypeError, r"keys to hold decimal numbers, but got torch.int64.*\.float\(\)"),
    ],
    ids=["no axis for queries", "a single vector", "two batches", "whole numbers"],
)
def test_every_score_refuses(name, query, keys, error, message):
    with pytest.raises(error, match=message):
        getattr(scores, name)(query, keys, **EVERY_SCORE[name])


query, keys, values = zeros(2, 3, 4), zeros(2, 5, 4), zeros(2, 5, 7)
wide = zeros(2, 5, 6)
Q, K, V = zeros(2, 6, 5, 4), zeros(2, 3, 5, 4), zeros(2, 3, 5, 4)  # six heads that share three
cell = cells.GRUCell(input_size=5, hidden=3)
gru, lstm, both = (
    recurrent.Recurrent(kind=kind, input_size=5, hidden=3, bidirectional=ways == 2)
    for kind, ways in (("gru", 1), ("lstm", 1), ("gru", 2))
)
back, ahead = (
    convolution.GatedConvolution(channels=3, width=3, causal=causal).extend for causal in (True, False)
)
tape = TapeCell(input_size=5, hidden=3, attn_dim=6)
add = positions.SinusoidalPositions(max_len=4, d_model=8).add
turn = positions.RotaryPositions(max_len=4, head_dim=8).turn
nearby, linear = restricted.attend_nearby, linear_attention.linear_attend
summed = linear_attention.causal_linear_attend
many = heads.multi_head

BAD = {
    # scores
    r"expects one width.*query is 4 wide.*keys are 6 wide.*Project": [
        lambda: scores.dot(query, wide),
        lambda: scores.cosine(query, wide),
        lambda: linear(query, wide, values),
        lambda: summed(query, wide, values),
        lambda: many(Q, zeros(2, 3, 5, 6), V),
    ],
    r"weight .*\(query_dim, key_dim\) = \(4, 6\).*got \(6, 4\).*turned": [
        lambda: scores.general(query, wide, weight=zeros(6, 4)),
    ],
    r"w_query .* = \(7, 4\).*got \(7, 5\)": [
        lambda: scores.additive(query, wide, **WEIGHTS | {"w_query": zeros(7, 5)}),
    ],
    r"w_key .* = \(7, 6\).*got \(9, 6\)": [
        lambda: scores.additive(query, wide, **WEIGHTS | {"w_key": zeros(9, 6)}),
    ],
    r"v .* = \(7,\).*got": [
        lambda: scores.additive(query, wide, **WEIGHTS | {"v": zeros(7, 1)}),
        lambda: scores.concat(query, wide, weight=zeros(7, 10), v=zeros(1)),
    ],
    r"query_dim \+ key_dim\) = \(7, 10\).*got \(7, 9\)": [
        lambda: scores.concat(query, wide, weight=zeros(7, 9), v=zeros(7)),
    ],
    r"\(max_len, query_dim\) = \(8, 4\).*got \(8, 3\)": [
        lambda: scores.location(query, wide, weight=zeros(8, 3)),
    ],
    r"at most 2 keys.*got 5.*larger max_len": [lambda: scores.location(query, wide, weight=zeros(2, 4))],
    # attention
    r"scores to hold decimal": [lambda: attention.masked_softmax(whole)],
    r"values to hold decimal": [lambda: attention.mix(zeros(2, 3), whole)],
    r"one value for each key.*come in pairs": [
        lambda: attention.attend(query, keys, zeros(2, 4, 7)),
        lambda: attention.attend(query, keys, zeros(5, 7)),
        lambda: attention.attend(query, keys, zeros(2, 1, 7)),
        lambda: attention.attend(query, keys, zeros(7)),
        lambda: linear(query, keys, values[:, :1]),
        lambda: summed(keys, keys, values[:, :1]),
        lambda: many(Q, K, V[:, :, :2]),
    ],
    r"agree.*weights \(2, 3, 5\) and values \(4, 5, 7\)": [
        lambda: attention.attend(query, keys, zeros(4, 5, 7)),
    ],
    r"as many axes in both": [lambda: linear(query[0], keys, values), lambda: summed(keys[0], keys, values)],
    r"as many.*3 queries and 5 keys": [
        lambda: summed(query, keys, values),
        lambda: nearby(query, keys, values, radius=2),
        lambda: many(Q[:, :, :3], K, V, causal=True),  # torch would line the triangle up with the first key
        lambda: many(Q[:, :, :3], K, V, causal=True, with_weights=True),
    ],
    r"radius of at least 1.*but got 0": [lambda: nearby(keys, keys, values, radius=0)],
    r"half_width of at least 1, but got 0.*between two words": [
        lambda: local.window_mask(zeros(1), torch.arange(3), half_width=0),
    ],
    r"w_p .* = \(4, 4\).*got \(4, 5\)": [
        lambda: local.predicted_centres(query, torch.tensor([3, 2]), w_p=zeros(4, 5), v_p=zeros(4)),
    ],
    r"v_p .* = \(5,\).*got \(4,\)": [
        lambda: local.predicted_centres(query, torch.tensor([3, 2]), w_p=zeros(5, 4), v_p=zeros(4)),
    ],
    # masks; torch's fused attention would read (batch, 1, keys) as heads, and add a mask of 0 and 1
    r"may_look to be boolean.*got torch.float32.*may_look\.bool\(\).*may_look == 0": [
        lambda: attention.masked_softmax(zeros(3, 5), torch.ones(3, 5)),
        lambda: linear(keys, keys, values, may_look=torch.ones(2, 1, 5)),
        lambda: nearby(keys, keys, values, radius=2, may_look=torch.ones(2, 1, 5)),
        lambda: many(Q, K, V, may_look=torch.ones(2, 1, 1, 5)),
        lambda: many(Q, K, V, may_look=torch.ones(2, 1, 1, 5), with_weights=True),
    ],
    r"may_look to fit scores of shape.*\(batch, 1, 1, keys\) every head too": [
        lambda: linear(keys, keys, values, may_look=yes.expand(3, 1, 5)),
        lambda: many(Q, K, V, may_look=yes.expand(2, 1, 5)),
        lambda: many(Q, K, V, may_look=yes.expand(2, 1, 5), with_weights=True),
        lambda: many(Q, K, V, may_look=yes.expand(2, 1, 1, 4)),
    ],
    r"hide keys from all queries alike": [
        lambda: linear(keys, keys, values, may_look=yes.expand(5, 5)),
        lambda: nearby(keys, keys, values, radius=2, may_look=yes.expand(5, 5)),
    ],
    r"either causal=True or a may_look mask.*Join them": [
        lambda: many(Q, K, V, causal=True, may_look=yes.expand(5, 5)),
    ],
    # many heads
    r"d_model to be a multiple of n_heads.*shared out evenly": [
        lambda: heads.MultiHead(d_model=10, n_heads=4),
        lambda: heads.MultiHead(d_model=12, n_heads=4, n_kv_heads=3),
        lambda: heads.MultiHead(d_model=12, n_heads=2, n_kv_heads=4),
    ],
    r"multiple of n_heads, but got \(3, 7, 12\) and n_heads=5": [
        lambda: heads.split_heads(zeros(3, 7, 12), n_heads=5),
    ],
    r"heads a multiple of kv_heads, but got query .*split_heads": [
        lambda: many(Q[0], K, V),
        lambda: many(Q[:1], K, V),
        lambda: many(Q[:, :4], K, V),
    ],
    # recurrent
    r"inputs of width 5 and one state of width 3": [
        lambda: cell(zeros(2, 4), zeros(2, 3)),
        lambda: cell(zeros(2, 5), zeros(2, 2)),
        lambda: cell(zeros(2, 5), zeros(1, 3)),
        lambda: cells.gru_cell(zeros(2, 4), zeros(2, 3), **dict(cell.named_parameters())),
    ],
    r"inputs to hold decimal numbers": [lambda: cell(torch.ones(1, 5).long(), zeros(1, 3))],
    r"one of rnn, lstm, gru, but got 'mlp'": [
        lambda: recurrent.Recurrent(kind="mlp", input_size=1, hidden=1),
    ],
    r"inputs \(batch, len, 5\) with at least one word": [
        lambda: gru(zeros(4, 7, 6)),
        lambda: gru(zeros(4, 5)),
        lambda: gru(zeros(4, 0, 5)),
        lambda: gru.explicit(zeros(4, 7, 6)),
    ],
    r"lengths to be one whole number a sentence": [
        lambda: gru(zeros(4, 7, 5), lengths=torch.tensor([3, 1])),
        lambda: gru(zeros(4, 7, 5), lengths=zeros(4)),
    ],
    r"a state with hidden and cell of shape": [
        lambda: lstm(zeros(4, 7, 5), lstm.zeros(2)),
        lambda: lstm(zeros(4, 7, 5), {"hidden": zeros(4, 1, 3)}),
        lambda: lstm(zeros(4, 7, 5), lstm.zeros(4) | {"feed": zeros(4, 1, 3)}),
        lambda: lstm.step(zeros(4, 5), lstm.zeros(2)),
    ],
    r"this one reads both ways": [lambda: both.step(zeros(4, 5), both.zeros(4))],
    r"w_query of shape \(attn_dim, query_dim\) = \(6, 7\)": [lambda: tape(zeros(2, 4), tape.start(2))],
    # convolution
    r"at least 5 words, the span of one window, but got 4\. Pad": [
        lambda: convolution.convolve(zeros(1, 4, 3), zeros(5, 3, 3), dilation=2),
    ],
    r"\(out_channels, channels, width\) = \(5, 3, 2\)": [
        lambda: convolution.convolve(zeros(1, 4, 3), zeros(5, 4, 2)),
    ],
    r"even number of channels, half of them gates, but got 5": [
        lambda: convolution.gated_linear_unit(zeros(2, 5)),
    ],
    r"this one also looks ahead.*causal=True": [lambda: ahead(zeros(1, 1, 3), zeros(1, 2, 3))],
    r"the last 2 words, so of shape \(2, 2, 3\), but got \(2, 3, 3\)": [
        lambda: back(zeros(2, 1, 3), zeros(2, 3, 3)),
    ],
    r"kernel of shape \(embed, width\)": [lambda: folding.convolve_rows(zeros(1, 3, 4), zeros(5, 2))],
    r"at most 3 words, .* \(max_len\), but got 4\. Cut the sentence": [
        lambda: folding.Folding(embed=5, max_len=3)(zeros(1, 4, 5), torch.tensor([3])),
    ],
    # the rest
    r"cut into groups of 2, but got 3": [lambda: feed_forward.maxout(zeros(3))],
    r"x to hold decimal": [lambda: feed_forward.maxout(whole)],
    r"relu, swiglu or none, but got 'gelu'": [
        lambda: feed_forward.make_feed_forward("gelu", d_model=4, d_ff=8),
    ],
    r"layer, rms, batch or none, but got 'group'": [lambda: norms.make_norm("group", d_model=4)],
    r"at most 4 positions.*\(max_len\).*up to the 5th.*larger max_len": [
        lambda: add(zeros(1, 2, 8), first=3),
        lambda: turn(zeros(1, 1, 2, 8), first=3),
    ],
    r"width 8, for which these positions were made": [  # and not stretched
        lambda: add(zeros(1, 3, 1)),
        lambda: turn(zeros(1, 1, 3, 10)),
        lambda: turn(zeros(1, 1, 3, 1)),
    ],
    r"an angle for each position and each pair": [
        lambda: positions.rotate(zeros(2, 3, 8), zeros(1, 4)),
        lambda: positions.rotate(zeros(2, 3, 8), zeros(3, 1)),
        lambda: positions.rotate(zeros(2, 3, 8), zeros(3, 8)),
    ],
    r"even width.*pairs of numbers, but got 7": [lambda: positions.sinusoids(3, 7)],
    r"learned, rotary or none, but got 'sine'": [
        lambda: positions.make_positions("sine", max_len=3, d_model=4, head_dim=2),
    ],
}


@pytest.mark.parametrize("message", BAD)
def test_a_wrong_input_is_named(message):
    for call in BAD[message]:
        with pytest.raises((ValueError, TypeError), match=message):
            call()


@pytest.mark.parametrize("call", [masks.hide, attention.masked_softmax])
@pytest.mark.parametrize(
    ("scored", "mask"),
    [
        ((2, 3, 5), (2, 5)),  # padding without an axis for queries
        ((4, 4, 3, 5), (4, 1, 5)),  # padding without an axis for heads: torch would take batch for heads
        ((3, 5), (2, 3, 5)),  # would stretch the scores
        ((1, 5), (3, 5)),
        ((2, 3, 5), (2, 5, 3)),
        ((3, 5), (5,)),
        ((5,), (1, 5)),
        ((3, 5), ()),
    ],
    ids=str,
)
def test_a_mask_that_does_not_fit(call, scored, mask):
    with pytest.raises(ValueError, match=r"may_look to fit scores of shape .*But got \(.*axis.*size 1"):
        call(zeros(scored), yes.expand(mask) if mask else yes[0])
    with pytest.raises(TypeError, match=r"boolean.*got torch.uint8.*may_look\.bool\(\).*may_look == 0"):
        call(zeros(3, 5), torch.ones(3, 5, dtype=torch.uint8))


@pytest.mark.parametrize(
    ("scored", "mask"),
    [
        ((2, 8, 3, 5), (3, 5)),
        ((2, 8, 3, 5), (2, 1, 1, 5)),
        ((2, 3, 5), (2, 3, 1)),
        ((3, 5), (1, 1)),
        ((5,), (5,)),
    ],
    ids=str,
)
def test_a_mask_that_fits(scored, mask):
    assert attention.masked_softmax(zeros(scored), yes.expand(mask)).shape == scored
