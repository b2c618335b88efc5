"""A wrong input gets an error that says what was expected, what came and what to do."""

from __future__ import annotations

import pytest
import torch

from course_lib.layers.attention import attend, masked_softmax, mix
from course_lib.layers.masks import hide
from course_lib.layers.scores import (
    additive,
    additive_projected,
    concat,
    cosine,
    dot,
    general,
    location,
    scaled_dot,
)

zeros = torch.zeros
yes = torch.ones(1, dtype=torch.bool)
WIDTHLESS = {"w_query": zeros(7, 4), "w_key": zeros(7, 6), "v": zeros(7)}


@pytest.mark.parametrize("score", [dot, scaled_dot, cosine])
def test_one_width(score):
    with pytest.raises(ValueError, match=r"expects one width.*query is 4 wide.*keys are 6 wide.*Project"):
        score(zeros(2, 3, 4), zeros(2, 5, 6))


EVERY_SCORE = [
    pytest.param(dot, {}, id="dot"),
    pytest.param(scaled_dot, {}, id="scaled_dot"),
    pytest.param(cosine, {}, id="cosine"),
    pytest.param(general, {"weight": zeros(4, 4)}, id="general"),
    pytest.param(additive, {"w_query": zeros(7, 4), "w_key": zeros(7, 4), "v": zeros(7)}, id="additive"),
    pytest.param(additive_projected, {"w_query": zeros(4, 4), "v": zeros(4)}, id="additive_projected"),
    pytest.param(concat, {"weight": zeros(7, 8), "v": zeros(7)}, id="concat"),
    pytest.param(location, {"weight": zeros(9, 4)}, id="location"),
]


@pytest.mark.parametrize(("score", "weights"), EVERY_SCORE)
def test_a_decoder_state_without_an_axis_for_queries(score, weights):
    """Torch alone would make (5, 5, 3) scores of this without a word."""
    message = r"as many axes.*query \(5, 4\) and keys \(5, 3, 4\).*unsqueeze\(-2\)"
    with pytest.raises(ValueError, match=message):
        score(zeros(5, 4), zeros(5, 3, 4), **weights)


@pytest.mark.parametrize(("score", "weights"), EVERY_SCORE)
def test_a_single_vector(score, weights):
    with pytest.raises(ValueError, match=r"query \(4,\) and keys \(4,\)"):
        score(zeros(4), zeros(4), **weights)


@pytest.mark.parametrize(("score", "weights"), EVERY_SCORE)
def test_two_batches(score, weights):
    with pytest.raises(ValueError, match=r"agree.*query \(2, 3, 4\) and keys \(5, 3, 4\).*same batch"):
        score(zeros(2, 3, 4), zeros(5, 3, 4), **weights)


@pytest.mark.parametrize(("score", "weights"), EVERY_SCORE)
def test_whole_numbers(score, weights):
    whole = torch.ones(3, 4, dtype=torch.int64)
    with pytest.raises(TypeError, match=r"keys to hold decimal numbers, but got torch.int64.*\.float\(\)"):
        score(zeros(3, 4), whole, **weights)


def test_whole_numbers_elsewhere():
    whole = torch.ones(3, 4, dtype=torch.int64)
    with pytest.raises(TypeError, match="query to hold decimal"):
        dot(whole, zeros(3, 4))
    with pytest.raises(TypeError, match="scores to hold decimal"):
        masked_softmax(whole)
    with pytest.raises(TypeError, match="values to hold decimal"):
        mix(zeros(2, 3), whole)


@pytest.mark.parametrize(
    ("score", "weights", "message"),
    [
        (general, {"weight": zeros(6, 4)}, r"weight .*\(query_dim, key_dim\) = \(4, 6\).*\(6, 4\).*turned"),
        (additive, WIDTHLESS | {"w_query": zeros(7, 5)}, r"w_query .* = \(7, 4\).*got \(7, 5\)"),
        (additive, WIDTHLESS | {"w_key": zeros(9, 6)}, r"w_key .* = \(7, 6\).*got \(9, 6\)"),
        (additive, WIDTHLESS | {"v": zeros(7, 1)}, r"v .* = \(7,\).*got \(7, 1\)"),
        (additive_projected, {"w_query": zeros(7, 4), "v": zeros(6)}, r"w_query .* = \(6, 4\).*got \(7, 4\)"),
        (concat, {"weight": zeros(7, 9), "v": zeros(7)}, r"query_dim \+ key_dim\) = \(7, 10\).*got \(7, 9\)"),
        (concat, {"weight": zeros(7, 10), "v": zeros(1)}, r"v .* = \(7,\).*got \(1,\)"),
        (location, {"weight": zeros(8, 3)}, r"\(max_len, query_dim\) = \(8, 4\).*got \(8, 3\)"),
        (location, {"weight": zeros(2, 4)}, r"at most 2 keys.*got 5.*larger max_len"),
    ],
)
def test_weights_of_another_size(score, weights, message):
    with pytest.raises(ValueError, match=message):
        score(zeros(2, 3, 4), zeros(2, 5, 6), **weights)


@pytest.mark.parametrize(
    "values",
    [zeros(2, 4, 7), zeros(5, 7), zeros(2, 1, 7), zeros(7)],
    ids=["one too few", "no batch axis", "one for all", "a single vector"],
)
def test_a_value_for_every_key(values):
    with pytest.raises(ValueError, match=r"one value for each key.*weights \(2, 3, 5\).*come in pairs"):
        attend(zeros(2, 3, 4), zeros(2, 5, 4), values)


def test_values_of_another_batch():
    with pytest.raises(ValueError, match=r"agree.*weights \(2, 3, 5\) and values \(4, 5, 7\)"):
        attend(zeros(2, 3, 4), zeros(2, 5, 4), zeros(4, 5, 7))


@pytest.mark.parametrize("layer", [hide, masked_softmax])
@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.uint8])
def test_a_mask_that_is_not_boolean(layer, dtype):
    with pytest.raises(TypeError, match=rf"boolean.*got {dtype}.*may_look\.bool\(\).*may_look == 0"):
        layer(zeros(3, 5), torch.ones(3, 5, dtype=dtype))


@pytest.mark.parametrize("layer", [hide, masked_softmax])
@pytest.mark.parametrize(
    ("scores", "mask"),
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
def test_a_mask_that_does_not_fit(layer, scores, mask):
    with pytest.raises(ValueError, match=r"may_look to fit scores of shape .*But got \(.*axis.*size 1"):
        layer(zeros(scores), yes.expand(mask) if mask else yes[0])


@pytest.mark.parametrize(
    ("scores", "mask"),
    [
        ((2, 8, 3, 5), (3, 5)),
        ((2, 8, 3, 5), (2, 1, 1, 5)),
        ((2, 3, 5), (2, 3, 1)),
        ((3, 5), (1, 1)),
        ((5,), (5,)),
    ],
    ids=str,
)
def test_masks_that_fit(scores, mask):
    assert masked_softmax(zeros(scores), yes.expand(mask)).shape == scores
