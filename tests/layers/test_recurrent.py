"""The recurrent layer three ways: fused, by our own loop, and torch's with packed sentences."""

from __future__ import annotations

from functools import partial

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from course_lib.layers.cells import LSTMCell
from course_lib.layers.recurrent import Recurrent, last_cell, unroll

BATCH, LEN, INPUT, HIDDEN = 4, 7, 5, 3
LENGTHS = torch.tensor([7, 1, 4, 6])
KINDS = {"rnn": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}

every_kind = pytest.mark.parametrize("kind", KINDS)
both_ways = pytest.mark.parametrize("bidirectional", [False, True], ids=["forwards", "both ways"])
deep = pytest.mark.parametrize("n_layers", [1, 2])


def layer_of(kind, *, dtype=torch.float64, **sizes):
    torch.manual_seed(0)
    return Recurrent(kind=kind, input_size=INPUT, hidden=HIDDEN, **sizes).to(dtype)


def words(dtype=torch.float64, seed=0):
    return torch.randn(BATCH, LEN, INPUT, dtype=dtype, generator=torch.Generator().manual_seed(seed))


def state_for(layer, dtype=torch.float64):
    draw = partial(torch.randn, dtype=dtype, generator=torch.Generator().manual_seed(1))
    return {name: draw(part.shape) for name, part in layer.zeros(BATCH).items()}


def torchs_own(layer, kind, n_layers, bidirectional, dtype=torch.float64):
    """Torch's stack, with the weights of ours."""
    theirs = KINDS[kind](INPUT, HIDDEN, n_layers, batch_first=True, bidirectional=bidirectional).to(dtype)
    copied = {}
    for depth, directions in enumerate(layer.layers):
        for direction, one in zip(("", "_reverse"), directions, strict=False):
            for name, weight in one.state_dict().items():
                copied[name.replace("_l0", f"_l{depth}{direction}")] = weight
    theirs.load_state_dict(copied)
    return theirs


def close(ours, theirs, dtype=torch.float64):
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12 if dtype == torch.float64 else 1e-6)


# ---- equal to other implementations


@pytest.mark.slow
@every_kind
@both_ways
@deep
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("lengths", [None, LENGTHS], ids=["full", "ragged"])
@pytest.mark.parametrize("given", [False, True], ids=["from zeros", "from a state"])
def test_fused_equals_explicit_equals_torchs_packed(kind, bidirectional, n_layers, dtype, lengths, given):
    layer = layer_of(kind, dtype=dtype, n_layers=n_layers, bidirectional=bidirectional)
    x, state = words(dtype), state_for(layer, dtype) if given else None
    outputs, final = layer(x, state, lengths=lengths)
    close(layer.explicit(x, state, lengths=lengths), (outputs, final), dtype)

    theirs = torchs_own(layer, kind, n_layers, bidirectional, dtype)
    first = None
    if given:
        first = tuple(part.transpose(0, 1).contiguous() for part in state.values())
        first = first if kind == "lstm" else first[0]
    n_words = torch.full((BATCH,), LEN) if lengths is None else lengths
    packed, last = theirs(pack_padded_sequence(x, n_words, batch_first=True, enforce_sorted=False), first)
    close(outputs, pad_packed_sequence(packed, batch_first=True)[0], dtype)
    last = last if kind == "lstm" else (last,)
    close(final, dict(zip(final, (part.transpose(0, 1) for part in last), strict=True)), dtype)


@every_kind
@both_ways
def test_gradients_agree_too(kind, bidirectional):
    layer = layer_of(kind, n_layers=2, bidirectional=bidirectional)
    outcomes = []
    for run in (layer, layer.explicit):
        x, state = words().requires_grad_(), state_for(layer)
        leaves = [x, *(part.requires_grad_() for part in state.values()), *layer.parameters()]
        outputs, final = run(x, state, lengths=LENGTHS)
        loss = outputs.square().sum() + sum(part.square().sum() for part in final.values())
        outcomes.append(torch.autograd.grad(loss, leaves))
    close(*outcomes)


@every_kind
@deep
def test_steps_equal_the_whole(kind, n_layers):
    layer = layer_of(kind, n_layers=n_layers)
    state, outputs = state_for(layer), []
    whole, final = layer(words(), state)
    for word in words().unbind(dim=1):
        output, state = layer.step(word, state)
        outputs.append(output)
    close(torch.stack(outputs, dim=1), whole)
    close(state, final)


@every_kind
def test_a_sentence_may_be_read_in_two_halves(kind):
    layer = layer_of(kind, n_layers=2)
    whole, final = layer(words())
    first, between = layer(words()[:, :4])
    second, last = layer(words()[:, 4:], between)
    close(torch.cat([first, second], dim=1), whole)
    close(last, final)


def test_unroll_takes_any_cell():
    cell = LSTMCell(input_size=INPUT, hidden=HIDDEN).double()

    def step(word, state):
        hidden, memory = cell(word, state["hidden"], state["cell"])
        return {"hidden": hidden, "cell": memory}

    layer = Recurrent(kind="lstm", input_size=INPUT, hidden=HIDDEN).double()
    layer.load_state_dict({f"layers.0.0.{name}_l0": weight for name, weight in cell.state_dict().items()})
    zeros = {name: torch.zeros(BATCH, HIDDEN, dtype=torch.float64) for name in ("hidden", "cell")}
    outputs, final = unroll(step, words(), zeros, lengths=LENGTHS)
    expected, last = layer(words(), lengths=LENGTHS)
    close(outputs, expected)
    close(final, {name: part[:, 0] for name, part in last.items()})


# ---- padding


@every_kind
@both_ways
def test_padding_changes_nothing(kind, bidirectional):
    layer = layer_of(kind, n_layers=2, bidirectional=bidirectional)
    real = (torch.arange(LEN) < LENGTHS[:, None])[..., None]
    outcomes = []
    for junk in (0.0, 1e6, -12345.0):
        x = torch.where(real, words(), junk).requires_grad_()
        outputs, final = layer(x, lengths=LENGTHS)
        loss = outputs.square().sum() + sum(part.square().sum() for part in final.values())
        outcomes.append([outputs, final, *torch.autograd.grad(loss, [x, *layer.parameters()])])
        assert outputs[~real.expand_as(outputs)].eq(0).all()
    close(outcomes[1], outcomes[0])
    close(outcomes[2], outcomes[0])


@every_kind
@both_ways
def test_a_batch_equals_its_sentences_one_by_one(kind, bidirectional):
    layer = layer_of(kind, n_layers=2, bidirectional=bidirectional)
    outputs, final = layer(words(), lengths=LENGTHS)
    for row, length in enumerate(LENGTHS.tolist()):
        alone, last = layer(words()[row : row + 1, :length])
        close(outputs[row, :length], alone[0])
        close(
            {name: part[row] for name, part in final.items()}, {name: part[0] for name, part in last.items()}
        )


def test_the_last_cell_of_gates_that_slam_shut_is_finite():
    """A forget gate of 1e-30 forgets all; a gradient through it is small and not NaN."""
    x = words(torch.float32).requires_grad_()
    hidden = torch.zeros(BATCH, HIDDEN)
    weights = {"weight_ih": torch.zeros(4 * HIDDEN, INPUT), "weight_hh": torch.zeros(4 * HIDDEN, HIDDEN)}
    for size in (-1e4, 1e4):
        bias = torch.cat([torch.zeros(HIDDEN), torch.full((HIDDEN,), size), torch.ones(2 * HIDDEN)])
        bias.requires_grad_()
        arguments = weights | {"bias_ih": bias, "bias_hh": torch.zeros(4 * HIDDEN), "lengths": LENGTHS}
        cell = last_cell(x, torch.zeros(BATCH, LEN, HIDDEN), hidden, hidden + 5, **arguments)
        written = 0.5 * torch.tanh(torch.tensor(1.0))
        kept = written if size < 0 else 5 + LENGTHS[:, None] * written
        torch.testing.assert_close(cell, kept.expand(BATCH, HIDDEN))
        assert all(grad.isfinite().all() for grad in torch.autograd.grad(cell.sum(), [bias, x]))


# ---- dropout, numbers, errors


@every_kind
def test_dropout_acts_between_layers_and_only_in_training(kind):
    for n_layers, acts in ((1, False), (2, True)):
        layer = layer_of(kind, n_layers=n_layers, dropout=0.5)
        assert torch.equal(layer(words())[0], layer(words())[0]) != acts
        state, word = state_for(layer), words()[:, 0]
        assert torch.equal(layer.step(word, state)[0], layer.step(word, state)[0]) != acts
        layer.eval()
        assert torch.equal(layer(words())[0], layer(words())[0])
        close(layer(words(), lengths=LENGTHS), layer.explicit(words(), lengths=LENGTHS))


@every_kind
@both_ways
def test_autocast_around_it_changes_nothing(kind, bidirectional):
    """A state is handed on from word to word: it keeps the precision of the weights."""
    layer = layer_of(kind, dtype=torch.float32, n_layers=2, bidirectional=bidirectional)
    x = words(torch.float32).bfloat16()  # as a linear layer under autocast would give it
    expected = layer(x.float(), lengths=LENGTHS)
    with torch.autocast("cpu", torch.bfloat16):
        close(layer(x, lengths=LENGTHS), expected, torch.float32)
        close(layer.explicit(x, lengths=LENGTHS), expected, torch.float32)
        if not bidirectional:
            half = {name: part.bfloat16() for name, part in expected[1].items()}
            output, state = layer.step(x[:, 0], half)
            assert output.dtype == state["hidden"].dtype == torch.float32


@both_ways
def test_a_fresh_lstm_remembers(bidirectional):
    layer = layer_of("lstm", n_layers=2, bidirectional=bidirectional)
    for directions in layer.layers:
        for one in directions:
            assert (one.bias_ih_l0 + one.bias_hh_l0)[HIDDEN : 2 * HIDDEN].eq(1).all()


def test_the_order_of_a_state_does_not_matter():
    layer = layer_of("lstm")
    state = state_for(layer)
    turned = {"cell": state["cell"], "hidden": state["hidden"]}
    close(layer(words(), turned), layer(words(), state))
    close(layer.step(words()[:, 0], turned), layer.step(words()[:, 0], state))


def test_an_unknown_kind_is_named():
    with pytest.raises(ValueError, match="Expected kind to be one of rnn, lstm, gru, but got 'mlp'"):
        Recurrent(kind="mlp", input_size=1, hidden=1)


@pytest.mark.parametrize("shape", [(BATCH, LEN, INPUT + 1), (BATCH, INPUT), (BATCH, 0, INPUT)], ids=str)
def test_wrong_inputs_are_named(shape):
    layer = layer_of("gru")
    for run in (layer, layer.explicit):
        with pytest.raises(
            ValueError, match=rf"Expected inputs \(batch, len, {INPUT}\) with at least one word"
        ):
            run(torch.zeros(shape, dtype=torch.float64))


@pytest.mark.parametrize("lengths", [LENGTHS[:2], LENGTHS.double()], ids=["too few", "decimal"])
def test_wrong_lengths_are_named(lengths):
    with pytest.raises(ValueError, match="Expected lengths to be one whole number a sentence"):
        layer_of("gru")(words(), lengths=lengths)


def test_a_wrong_state_is_named():
    layer = layer_of("lstm")
    good = layer.zeros(BATCH)
    for wrong in (layer.zeros(2), {"hidden": good["hidden"]}, good | {"feed": good["cell"]}):
        for run in (partial(layer, words()), partial(layer.step, words()[:, 0])):
            with pytest.raises(ValueError, match="Expected a state with hidden and cell of shape"):
                run(wrong)


def test_a_layer_that_reads_both_ways_takes_no_steps():
    layer = layer_of("gru", bidirectional=True)
    with pytest.raises(ValueError, match="this one reads both ways"):
        layer.step(words()[:, 0], layer.zeros(BATCH))
