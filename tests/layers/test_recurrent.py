"""Cells and recurrent layers: by hand, with our loop, fused, and torch's with packed sequences; the tape."""

from __future__ import annotations

from functools import partial

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from course_lib.layers import cells
from course_lib.layers.cells import LSTMCell, lstm_cell, without_autocast
from course_lib.layers.recurrent import Recurrent, last_cell, reverse_within, unroll
from course_lib.layers.tape import TapeCell

BATCH, LEN, INPUT, HIDDEN, ATTN = 4, 7, 5, 3, 6
LENGTHS = torch.tensor([7, 1, 4, 6])
KINDS = ("rnn", "lstm", "gru")
every_kind = pytest.mark.parametrize("kind", KINDS)
both_ways = pytest.mark.parametrize("bidirectional", [False, True], ids=["unidirectional", "bidirectional"])

close = partial(torch.testing.assert_close, rtol=0, atol=1e-12)


def draw(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def words(seed=0):
    return draw(BATCH, LEN, INPUT, seed=seed)


def as_tuple(output):
    return output if isinstance(output, tuple) else (output,)


def with_gradients(run, *leaves):
    """The output, and the gradient of its sum of squares for every leaf."""
    output = run()
    loss = sum(tensor.square().sum() for tensor in torch.utils._pytree.tree_leaves(output))
    return [output, *torch.autograd.grad(loss, leaves)]


# ---- cells


def cell_of(kind: str):
    """Our module (torch's for a plain RNN) and our function with the same weights, an input and states."""
    torch.manual_seed(0)
    sizes = {"input_size": INPUT, "hidden": HIDDEN}
    module = nn.RNNCell(INPUT, HIDDEN) if kind == "rnn" else getattr(cells, f"{kind.upper()}Cell")(**sizes)
    module = module.double()
    states = [draw(BATCH, HIDDEN, seed=seed) for seed in ((1, 2) if kind == "lstm" else (1,))]
    by_hand = partial(getattr(cells, f"{kind}_cell"), **dict(module.named_parameters()))
    return module, by_hand, [draw(BATCH, INPUT), *states]


@every_kind
def test_cells_by_hand_ours_and_torchs_agree_with_gradients(kind):
    module, by_hand, inputs = cell_of(kind)
    theirs = getattr(nn, f"{kind.upper()}Cell")(INPUT, HIDDEN).double()
    theirs.load_state_dict(module.state_dict())  # same names, same shapes
    outcomes = []
    for run, owner in ((theirs, theirs), (module, module), (by_hand, module)):
        x, *states = (tensor.clone().requires_grad_() for tensor in inputs)
        arguments = [tuple(states) if kind == "lstm" else states[0]] if run is theirs else states
        outcome = with_gradients(lambda: as_tuple(run(x, *arguments)), x, *states, *owner.parameters())  # noqa: B023
        outcomes.append(outcome)
    close(outcomes[1], outcomes[0])
    close(outcomes[2], outcomes[0])
    unbatched = as_tuple(by_hand(*(tensor[1] for tensor in inputs)))
    close(unbatched, tuple(tensor[1] for tensor in as_tuple(by_hand(*inputs))))


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_autocast_does_not_change_a_cell(kind):
    module, _, inputs = cell_of(kind)
    halves = [tensor.bfloat16() for tensor in inputs]
    expected = as_tuple(module.float()(*(tensor.float() for tensor in halves)))
    with torch.autocast("cpu", torch.bfloat16):
        torch.testing.assert_close(as_tuple(module(*halves)), expected)
    with without_autocast(torch.device("meta")):
        pass  # a device without autocast


@pytest.mark.parametrize(("bias", "fraction"), [(1.0, 1 / 23), (0.0, 1 / 1000)])
def test_the_initial_forget_bias_keeps_the_cell(bias, fraction):
    """The fraction of a new cell's state that is left after ten zero inputs, also for a bias of 0."""
    torch.manual_seed(0)
    cell = LSTMCell(input_size=1, hidden=50)
    assert cell.bias_ih[50:100].eq(1).all() and cell.bias_hh[50:100].eq(0).all()
    assert cell.bias_ih[:50].abs().max() < 0.15 and cell.bias_ih[100:].abs().max() < 0.15  # the other gates
    with torch.no_grad():
        cell.bias_ih[50:100] = bias
        memory = torch.full((1, 50), 1e6)
        for _ in range(10):
            _, memory = cell(torch.zeros(1, 1), torch.zeros(1, 50), memory)
    assert memory.mean().item() / 1e6 == pytest.approx(fraction, rel=0.1)


# ---- layers


def layer_of(kind, **sizes):
    torch.manual_seed(0)
    return Recurrent(kind=kind, input_size=INPUT, hidden=HIDDEN, **sizes).double()


def state_for(layer):
    return {name: draw(*part.shape, seed=len(name)) for name, part in layer.zeros(BATCH).items()}


@every_kind
@both_ways
@pytest.mark.parametrize("n_layers", [1, 2])
@pytest.mark.parametrize("lengths", [None, LENGTHS], ids=["full", "ragged"])
@pytest.mark.parametrize("with_state", [False, True], ids=["from zeros", "from a state"])
def test_fused_layers_equal_torchs_packed_sequences(kind, bidirectional, n_layers, lengths, with_state):
    layer = layer_of(kind, n_layers=n_layers, bidirectional=bidirectional)
    state = state_for(layer) if with_state else None
    x, same_x = words().requires_grad_(), words().requires_grad_()
    outputs, final = layer(x, state, lengths=lengths)
    theirs = getattr(nn, kind.upper())(
        INPUT, HIDDEN, n_layers, batch_first=True, bidirectional=bidirectional
    ).double()
    theirs.load_state_dict(
        {
            name.replace("_l0", f"_l{depth}{direction}"): weight
            for depth, directions in enumerate(layer.layers)
            for direction, module in zip(("", "_reverse"), directions, strict=False)
            for name, weight in module.state_dict().items()
        }
    )
    initial = tuple(x.transpose(0, 1).contiguous() for x in state.values()) if with_state else None
    n_words = torch.full((BATCH,), LEN) if lengths is None else lengths
    packed = pack_padded_sequence(same_x, n_words, batch_first=True, enforce_sorted=False)
    expected, last = theirs(packed, initial[0] if with_state and kind != "lstm" else initial)
    expected = pad_packed_sequence(expected, batch_first=True)[0]
    last = dict(zip(final, (part.transpose(0, 1) for part in as_tuple(last)), strict=True))
    close(with_gradients(lambda: (outputs, final), x), with_gradients(lambda: (expected, last), same_x))
    real = torch.arange(LEN) < n_words[:, None]
    assert outputs[~real].eq(0).all()


@every_kind
def test_fused_layers_equal_the_loop_with_gradients(kind):
    layer, outcomes = layer_of(kind), []
    weights = {name.removesuffix("_l0"): weight for name, weight in layer.layers[0][0].named_parameters()}

    def cell(word, state):
        new = as_tuple(getattr(cells, f"{kind}_cell")(word, *state.values(), **weights))
        return dict(zip(state, new, strict=True))

    def by_hand(x, state, lengths):
        outputs, final = unroll(cell, x, {n: part[:, 0] for n, part in state.items()}, lengths=lengths)
        return outputs, {name: part[:, None] for name, part in final.items()}

    for run in (layer, by_hand):
        x, state = words().requires_grad_(), state_for(layer)
        leaves = [x, *(part.requires_grad_() for part in state.values()), *layer.parameters()]
        outcomes.append(with_gradients(partial(run, x, state, lengths=LENGTHS), *leaves))
    close(*outcomes)


def test_unroll_accepts_any_cell_and_the_order_of_a_state_does_not_matter():
    layer, cell = layer_of("lstm"), LSTMCell(input_size=INPUT, hidden=HIDDEN).double()
    layer.load_state_dict({f"layers.0.0.{name}_l0": weight for name, weight in cell.state_dict().items()})
    state = state_for(layer)

    def step(word, state):
        return dict(zip(("hidden", "cell"), cell(word, state["hidden"], state["cell"]), strict=True))

    expected, last = layer(words(), state, lengths=LENGTHS)
    outputs, final = unroll(step, words(), {n: part[:, 0] for n, part in state.items()}, lengths=LENGTHS)
    close((outputs, final), (expected, {name: part[:, 0] for name, part in last.items()}))
    swapped = {"cell": state["cell"], "hidden": state["hidden"]}
    close(layer(words(), swapped, lengths=LENGTHS), (expected, last))
    close(layer.step(words()[:, 0], swapped), layer.step(words()[:, 0], state))


def test_the_last_cell_is_finite_for_saturated_forget_gates():
    """Also the gradient through a forget gate of almost 0."""
    x = words().float().requires_grad_()
    hidden = torch.zeros(BATCH, HIDDEN)
    weights = {"weight_ih": torch.zeros(4 * HIDDEN, INPUT), "weight_hh": torch.zeros(4 * HIDDEN, HIDDEN)}
    for size in (-1e4, 1e4):
        bias = torch.cat([torch.zeros(HIDDEN), torch.full((HIDDEN,), size), torch.ones(2 * HIDDEN)])
        bias.requires_grad_()
        arguments = weights | {"bias_ih": bias, "bias_hh": torch.zeros(4 * HIDDEN), "lengths": LENGTHS}
        cell = last_cell(x, torch.zeros(BATCH, LEN, HIDDEN), hidden, hidden + 5, **arguments)
        added = 0.5 * torch.tanh(torch.tensor(1.0))
        expected = added if size < 0 else 5 + LENGTHS[:, None] * added
        torch.testing.assert_close(cell, expected.expand(BATCH, HIDDEN))
        assert all(grad.isfinite().all() for grad in torch.autograd.grad(cell.sum(), [bias, x]))


def test_the_last_cell_is_precise_in_16_bits():
    """600 forget gates of sigmoid(4) leave sigmoid(4)⁶⁰⁰ of the cell, and nothing is added."""
    half = {"dtype": torch.bfloat16}
    weights = {"weight_ih": torch.zeros(4, 1, **half), "weight_hh": torch.zeros(4, 1, **half)}
    weights |= {"bias_ih": torch.tensor([0.0, 4.0, 0.0, 0.0], **half), "bias_hh": torch.zeros(4, **half)}
    words, one = torch.zeros(1, 600, 1, **half), torch.ones(1, 1, **half)
    cell = last_cell(words, words, one, one, lengths=torch.tensor([600]), **weights)
    assert cell.dtype == torch.bfloat16
    assert cell.item() == pytest.approx(torch.tensor(4.0).sigmoid().item() ** 600, rel=0.01)


@every_kind
@both_ways
def test_autocast_does_not_change_a_layer(kind, bidirectional):
    """Rounding errors would accumulate in the state, so it keeps the precision of the weights."""
    layer = layer_of(kind, n_layers=2, bidirectional=bidirectional).float()
    x = words().bfloat16()  # like the output of a linear layer under autocast
    expected = layer(x.float(), lengths=LENGTHS)
    with torch.autocast("cpu", torch.bfloat16):
        torch.testing.assert_close(layer(x, lengths=LENGTHS), expected, rtol=0, atol=1e-6)
        if not bidirectional:
            output, state = layer.step(x[:, 0], {name: part.bfloat16() for name, part in expected[1].items()})
            assert output.dtype == state["hidden"].dtype == torch.float32


@both_ways
def test_a_new_lstm_layer_has_a_forget_bias_of_one(bidirectional):
    for directions in layer_of("lstm", n_layers=2, bidirectional=bidirectional).layers:
        for layer in directions:
            assert (layer.bias_ih_l0 + layer.bias_hh_l0)[HIDDEN : 2 * HIDDEN].eq(1).all()


def test_reverse_within_leaves_padding_in_place():
    x, lengths = torch.arange(40.0).view(4, 5, 2).requires_grad_(), torch.tensor([5, 1, 3, 0])
    expected = x.detach().clone()
    for row, length in enumerate(lengths.tolist()):
        expected[row, :length] = x[row, :length].flip(0)
    reversed_x = reverse_within(x, lengths)
    assert torch.equal(reversed_x, expected) and torch.equal(reverse_within(reversed_x, lengths), x)
    assert torch.equal(reverse_within(x[..., 0], lengths), expected[..., 0])
    assert torch.equal(reverse_within(x, None), x.flip(1))
    (reversed_x * x.detach()).sum().backward()  # gradients are reversed too
    assert torch.equal(x.grad, expected)


# ---- the tape


@pytest.fixture
def tape():
    torch.manual_seed(0)
    return TapeCell(input_size=INPUT, hidden=HIDDEN, attn_dim=ATTN).double()


@torch.no_grad()
def by_the_paper(layer: TapeCell, words):
    """One sentence, one word and one matrix at a time: (hidden states, memories, attention weights)."""
    w_x, w_summary = layer.score.w_query.split([INPUT, HIDDEN], dim=1)
    w_h, v = layer.score.w_key, layer.score.v
    w, u = layer.cell.weight_ih, layer.cell.weight_hh
    bias = layer.cell.bias_ih + layer.cell.bias_hh
    hiddens, memories, all_weights, summary = [], [], [], torch.zeros(HIDDEN, dtype=words.dtype)
    for x in words:
        scores = [v @ torch.tanh(w_h @ h + w_x @ x + w_summary @ summary) for h in hiddens]
        total = sum(score.exp() for score in scores)
        weights = [score.exp() / total for score in scores]
        summary, memory = torch.zeros_like(summary), torch.zeros_like(summary)
        for weight, h, c in zip(weights, hiddens, memories, strict=True):
            summary, memory = summary + weight * h, memory + weight * c
        i, f, new, o = (w @ x + u @ summary + bias).view(4, HIDDEN)
        memories.append(f.sigmoid() * memory + i.sigmoid() * new.tanh())
        hiddens.append(o.sigmoid() * memories[-1].tanh())
        padded = [*map(float, weights), *[0.0] * (LEN - len(weights))]
        all_weights.append(torch.tensor(padded, dtype=words.dtype))
    return torch.stack(hiddens), torch.stack(memories), torch.stack(all_weights)


def test_the_tape_equals_the_papers_formulas(tape):
    states, rows, weights = tape.encode(words(), with_weights=True)
    for row in range(BATCH):
        hiddens, memories, expected_weights = by_the_paper(tape, words()[row])
        close((states[row], weights[row]), (hiddens, expected_weights))
        close(rows["tape"][row], torch.cat([hiddens, memories], dim=-1))
    assert tape.encode(words())[2] is None


def test_what_is_added_to_the_cell_passes_the_output_gate(tape):
    hidden, cell, added = (draw(BATCH, HIDDEN, seed=seed) for seed in range(3))
    run = partial(lstm_cell, words()[:, 0], hidden, cell, **dict(tape.cell.named_parameters()))
    close(run(added=torch.zeros_like(cell)), tape.cell(words()[:, 0], hidden, cell))
    close(run(added=added)[1], run()[1] + added)
    close(run(added=added)[0] / run(added=added)[1].tanh(), run()[0] / run()[1].tanh())
    _, plain, _ = tape(words()[:, 0], tape.start(BATCH))
    _, more, _ = tape(words()[:, 0], tape.start(BATCH), added=added)
    close(more["tape"][:, 0, HIDDEN:], plain["tape"][:, 0, HIDDEN:] + added)


def test_an_empty_tape_gives_no_nan_in_either_pass(tape):
    with pytest.warns(UserWarning, match="Anomaly Detection"), torch.autograd.detect_anomaly():
        tape.encode(words())[0].square().sum().backward()
    assert all(parameter.grad.isfinite().all() for parameter in tape.parameters())
