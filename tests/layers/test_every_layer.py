"""Properties of every layer that processes a sentence.

Padding and other sentences of the batch change nothing, later words don't change earlier outputs of a causal
layer, processing in pieces equals processing at once, gradients equal finite differences, 16-bit inputs give
16-bit outputs, and dropout is applied only in training.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from course_lib.layers.attention import attend
from course_lib.layers.block import Block, Stack
from course_lib.layers.convolution import GatedConvolution
from course_lib.layers.feed_forward import FeedForward, Maxout, SwiGLU
from course_lib.layers.masks import padding_mask
from course_lib.layers.multi_head import MultiHead
from course_lib.layers.norms import NORMS
from course_lib.layers.positions import LearnedPositions, RotaryPositions, SinusoidalPositions
from course_lib.layers.recurrent import Recurrent
from course_lib.layers.tape import TapeCell

WIDTH, LONGEST = 6, 12
ALL, CAUSAL, POINTWISE = "all words", "itself and earlier words", "itself only"


@dataclass(frozen=True)
class Case:
    """How to make a layer and call it, and which words an output depends on."""

    depends_on: str
    run: Callable  # (layer, words, lengths) -> (batch, len, ...)
    make: Callable[[], nn.Module] = nn.Identity
    make_with_dropout: Callable[[], nn.Module] | None = None
    run_pieces: Callable | None = None  # (layer, pieces of the sentence) -> outputs of each piece


def call(layer, x, lengths):
    return layer(x)


def mask(x, lengths):
    return padding_mask(lengths, x.shape[1])


def steps(layer, pieces):
    state = layer.zeros(len(pieces[0]))
    for piece in pieces:
        if piece.shape[1] == 1:
            output, state = layer.step(piece[:, 0], state)
            yield output[:, None]
        else:
            output, state = layer(piece, state)
            yield output


def tape_steps(layer, pieces):
    rows = layer.start(len(pieces[0]))
    for word in torch.cat(pieces, dim=1).unbind(dim=1):
        output, rows, _ = layer(word, rows)
        yield output[:, None]


def window_steps(layer, pieces):
    window = torch.zeros(len(pieces[0]), layer.span, WIDTH, dtype=torch.float64)
    for piece in pieces:
        output, window = layer.extend(piece, window)
        yield output


def cache_steps(heads, pieces):
    past = []
    for word in torch.cat(pieces, dim=1).split(1, dim=1):
        query, *new = heads.project(word)
        past = [torch.cat(pair, dim=2) for pair in zip(past, new, strict=True)] if past else new
        yield heads.attend(query, *past)[0]


def past_steps(stack, pieces):
    heads = stack.blocks[0].attention
    empty = torch.zeros(len(pieces[0]), len(stack.blocks), heads.n_kv_heads, 0, 2, dtype=torch.float64)
    past = {"keys": empty, "values": empty}
    for piece in pieces:
        output, past, _ = stack(piece, past=past)
        yield output


def position_steps(encode):
    def run_pieces(layer, pieces):
        first = 0
        for piece in pieces:
            yield encode(layer, piece, first=first)
            first += piece.shape[1]

    return run_pieces


def add(layer, x, lengths=None, first=0):
    return layer.add(x, first=first)


def rotate(layer, x, lengths=None, first=0):
    return layer.rotate(x[:, None], first=first)[:, 0]


def recurrent(kind, **more):
    def make(dropout=0.0):
        return Recurrent(kind=kind, input_size=WIDTH, hidden=5, n_layers=2, dropout=dropout, **more)

    pieces, depends_on = (None, ALL) if more else (steps, CAUSAL)
    run = lambda layer, x, lengths: layer(x, lengths=lengths)[0]  # noqa: E731
    return Case(depends_on, run, make, partial(make, 0.5), pieces)


def convolution(causal):
    make = partial(GatedConvolution, channels=WIDTH, width=3, causal=causal)
    run = lambda layer, x, lengths: layer(x, lengths=lengths)  # noqa: E731
    return Case(
        CAUSAL if causal else ALL, run, make, partial(make, dropout=0.5), window_steps if causal else None
    )


def stack(causal, **more):
    def make(dropout=0.0):
        sizes = {"d_model": WIDTH, "n_heads": 3, "n_kv_heads": 1, "d_ff": 9, "dropout": dropout, **more}
        return Stack([Block(**sizes) for _ in range(2)], last_norm=nn.LayerNorm(WIDTH))

    def run(layer, x, lengths):
        return layer(x, **({"causal": True} if causal else {"mask": mask(x, lengths)[:, None]}))[0]

    return Case(CAUSAL if causal else ALL, run, make, partial(make, 0.5), past_steps if causal else None)


def pointwise(kind, **sizes):
    make = partial(kind, **sizes)
    return Case(POINTWISE, call, make, partial(make, dropout=0.5) if "d_ff" in sizes else None)


heads = partial(MultiHead, d_model=WIDTH, n_heads=3, n_kv_heads=1)
LAYERS = {
    "attend": Case(ALL, lambda _, x, n: attend(x, x, x, mask=mask(x, n))[0]),
    "heads": Case(ALL, lambda layer, x, n: layer(x, mask=mask(x, n)[:, None])[0], heads),
    "heads, with weights": Case(
        ALL, lambda layer, x, n: layer(x, mask=mask(x, n)[:, None], with_weights=True)[0], heads
    ),
    "heads, causal": Case(
        CAUSAL, lambda layer, x, n: layer(x, causal=True)[0], heads, run_pieces=cache_steps
    ),
    "blocks": stack(causal=False),
    "blocks, causal": stack(causal=True),
    "blocks, post-norm": stack(causal=True, pre_norm=False, norm="rms", feed_forward="swiglu"),
    "rnn": recurrent("rnn"),
    "lstm": recurrent("lstm"),
    "gru": recurrent("gru"),
    "bidirectional lstm": recurrent("lstm", bidirectional=True),
    "bidirectional gru": recurrent("gru", bidirectional=True),
    "tape": Case(
        CAUSAL,
        lambda layer, x, n: layer.encode(x)[0],
        partial(TapeCell, input_size=WIDTH, hidden=4, attn_dim=5),
        run_pieces=tape_steps,
    ),
    "convolution": convolution(causal=False),
    "convolution, causal": convolution(causal=True),
    "layer norm": pointwise(NORMS["layer"], normalized_shape=WIDTH),
    "rms norm": pointwise(NORMS["rms"], normalized_shape=WIDTH),
    "feed-forward": pointwise(FeedForward, d_model=WIDTH, d_ff=9),
    "swiglu": pointwise(SwiGLU, d_model=WIDTH, d_ff=9),
    "maxout": pointwise(Maxout, input_size=WIDTH, output_size=4),
}
for kind, encode, size in (
    (SinusoidalPositions, add, "d_model"),
    (LearnedPositions, add, "d_model"),
    (RotaryPositions, rotate, "head_dim"),
):
    make_positions = partial(kind, max_len=LONGEST, **{size: WIDTH})
    LAYERS[kind.__name__] = Case(POINTWISE, encode, make_positions, run_pieces=position_steps(encode))

every_layer = pytest.mark.parametrize("name", LAYERS)


def case_layer_words(name: str, n: int = 3, length: int = 7):
    torch.manual_seed(0)
    return LAYERS[name], LAYERS[name].make().double(), torch.randn(n, length, WIDTH, dtype=torch.float64)


@every_layer
@settings(derandomize=True, deadline=None, max_examples=6, database=None)
@given(
    lengths=st.lists(st.integers(1, 7), min_size=1, max_size=3),
    more=st.integers(0, 3),
    junk=st.sampled_from([1e6, -12345.0]),
)
def test_padding_and_other_sentences_change_nothing(name, lengths, more, junk):
    """Neither the content nor the amount of padding changes outputs or gradients."""
    case, layer, words = case_layer_words(name, len(lengths))
    outcomes = []
    for filler, width in ((0.0, max(lengths)), (junk, max(lengths) + more)):
        real = torch.arange(width) < torch.tensor(lengths)[:, None]
        x = torch.nn.functional.pad(words, (0, 0, 0, 3))[:, :width]
        x = torch.where(real[..., None], x, filler).requires_grad_()
        outputs = case.run(layer, x, torch.tensor(lengths))[real]
        loss = outputs.square().sum()
        gradients = torch.autograd.grad(loss, [x, *layer.parameters()], materialize_grads=True)
        outcomes.append([outputs, gradients[0][real], *gradients[1:]])
        assert gradients[0][~real].eq(0).all()
    torch.testing.assert_close(*outcomes)
    single = [case.run(layer, words[i : i + 1, :n], torch.tensor([n]))[0] for i, n in enumerate(lengths)]
    torch.testing.assert_close(outcomes[0][0], torch.cat(single))


@every_layer
def test_an_output_depends_on_the_words_it_should(name):
    case, layer, words = case_layer_words(name)
    later, earlier = words.clone(), words.clone()
    later[:, 4:], earlier[:, :6] = 9.0, 9.0
    whole, with_later, with_earlier = (
        case.run(layer, x, torch.tensor([7, 7, 7])) for x in (words, later, earlier)
    )
    assert torch.allclose(whole[:, :4], with_later[:, :4], rtol=0, atol=1e-12) == (case.depends_on != ALL)
    assert torch.allclose(whole[:, 6], with_earlier[:, 6], rtol=0, atol=1e-12) == (
        case.depends_on == POINTWISE
    )


@pytest.mark.parametrize("piece", [1, 3])
@pytest.mark.parametrize("name", [name for name, case in LAYERS.items() if case.run_pieces])
def test_processing_in_pieces_equals_processing_at_once(name, piece):
    case, layer, words = case_layer_words(name)
    outputs = torch.cat(list(case.run_pieces(layer, words.split(piece, dim=1))), dim=1)
    torch.testing.assert_close(outputs, case.run(layer, words, torch.tensor([7, 7, 7])), rtol=0, atol=1e-7)


@every_layer
def test_gradients_equal_finite_differences_and_reach_every_parameter(name):
    case, layer, words = case_layer_words(name, n=2, length=3)
    real = torch.tensor([[True, True, True], [True, True, False]])

    def run(x, *weights):
        return case.run(layer, x, torch.tensor([3, 2]))[real]

    weights = list(layer.parameters())
    assert torch.autograd.gradcheck(run, (words.requires_grad_(), *weights), fast_mode=True)
    run(words).square().sum().backward()
    assert all(weight.grad.abs().max() > 1e-9 for weight in weights)


@every_layer
@pytest.mark.filterwarnings("ignore:mkldnn_matmul failed")  # a CPU without bfloat16 support
def test_bfloat16_outputs_are_bfloat16_and_close(name):
    case, layer, words = case_layer_words(name)
    lengths = torch.tensor([7, 1, 4])
    exact = case.run(layer, words, lengths)
    half = case.run(layer.bfloat16(), words.bfloat16(), lengths)
    real = torch.arange(7) < lengths[:, None]
    assert half.dtype == torch.bfloat16
    torch.testing.assert_close(half.double()[real], exact[real], atol=0.15, rtol=0.02)


@pytest.mark.parametrize("name", [name for name, case in LAYERS.items() if case.make_with_dropout])
def test_dropout_is_applied_only_in_training(name):
    case, _, words = case_layer_words(name)
    torch.manual_seed(0)
    layer, full = case.make_with_dropout().double(), torch.tensor([7, 7, 7])
    runs = [lambda: case.run(layer, words, full)]
    if case.run_pieces:
        runs.append(lambda: torch.cat(list(case.run_pieces(layer, words.split(3, dim=1))), dim=1))
    for run in runs:
        assert not torch.equal(run(), run())
    layer.eval()
    for run in runs:
        assert torch.equal(run(), run())


def test_recurrent_dropout_is_only_between_layers():
    layer = Recurrent(kind="gru", input_size=WIDTH, hidden=5, dropout=0.5)
    assert torch.equal(layer(torch.ones(1, 3, WIDTH))[0], layer(torch.ones(1, 3, WIDTH))[0])
