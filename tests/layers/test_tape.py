"""The LSTMN's tape against the paper's formulas in a plain loop, and against the LSTM it grew out of."""

from __future__ import annotations

from functools import partial

import pytest
import torch

from course_lib.layers.cells import lstm_cell
from course_lib.layers.rows import take
from course_lib.layers.tape import TapeCell, tape_cell

BATCH, LEN, INPUT, HIDDEN, ATTN = 2, 5, 3, 4, 6


def layer_and_words(seed: int = 0):
    torch.manual_seed(seed)
    layer = TapeCell(input_size=INPUT, hidden=HIDDEN, attn_dim=ATTN).double()
    return layer, torch.randn(BATCH, LEN, INPUT, dtype=torch.float64)


def gates_of(layer: TapeCell) -> dict[str, torch.Tensor]:
    return dict(layer.cell.named_parameters())


def score_of(layer: TapeCell) -> dict[str, torch.Tensor]:
    return dict(layer.score.named_parameters())


def by_the_paper(layer: TapeCell, words):
    """One sentence, one word and one matrix at a time: (hidden states, memories, weights)."""
    w_x, w_summary = layer.score.w_query.split([INPUT, HIDDEN], dim=1)
    w_h, v = layer.score.w_key, layer.score.v
    w, u = layer.cell.weight_ih, layer.cell.weight_hh
    bias = layer.cell.bias_ih + layer.cell.bias_hh
    hiddens, memories, looked, summary = [], [], [], torch.zeros(HIDDEN, dtype=words.dtype)
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
        looked.append([weight.item() for weight in weights])
    return torch.stack(hiddens), torch.stack(memories), looked


# ---- equal to other implementations


def test_equals_the_papers_formulas():
    layer, words = layer_and_words()
    states, rows, weights = layer.read(words, with_weights=True)
    for row in range(BATCH):
        hiddens, memories, looked = by_the_paper(layer, words[row])
        torch.testing.assert_close(states[row], hiddens)
        torch.testing.assert_close(rows["tape"][row], torch.cat([hiddens, memories], dim=-1))
        for place, one in enumerate(looked):
            torch.testing.assert_close(weights[row, place, :place], torch.tensor(one, dtype=words.dtype))


def test_the_function_and_the_module_are_one():
    layer, words = layer_and_words()
    rows, summary = layer.start(BATCH), torch.zeros(BATCH, HIDDEN, dtype=words.dtype)
    hiddens = cells = torch.zeros(BATCH, 0, HIDDEN, dtype=words.dtype)
    for word in words.unbind(dim=1):
        ours = tape_cell(word, summary, hiddens, cells, **score_of(layer), **gates_of(layer))
        hidden, rows, weights = layer(word, rows)
        torch.testing.assert_close((hidden, rows["summary"], weights), (ours[0], ours[2], ours[3]))
        hiddens = torch.cat([hiddens, ours[0][:, None]], dim=1)
        cells = torch.cat([cells, ours[1][:, None]], dim=1)
        summary = ours[2]
    torch.testing.assert_close(rows["tape"], torch.cat([hiddens, cells], dim=-1))


def test_with_one_word_on_the_tape_it_is_an_lstm():
    """One entry gets all the weight, so the second word meets the first one's state; the third does not."""
    layer, words = layer_and_words()
    states, _, _ = layer.read(words)
    state = torch.zeros(2, BATCH, HIDDEN, dtype=words.dtype).unbind()
    for place in range(3):
        state = lstm_cell(words[:, place], *state, **gates_of(layer))
        assert torch.allclose(states[:, place], state[0]) == (place < 2)


def test_nothing_brought_is_the_ordinary_cell():
    layer, words = layer_and_words()
    draw = partial(torch.randn, BATCH, HIDDEN, dtype=words.dtype)
    hidden, cell, brought = draw(), draw(), draw()
    plain_hidden, plain_cell = layer.cell(words[:, 0], hidden, cell)
    with_nothing = lstm_cell(words[:, 0], hidden, cell, brought=torch.zeros_like(cell), **gates_of(layer))
    torch.testing.assert_close(with_nothing, (plain_hidden, plain_cell))
    more_hidden, more = lstm_cell(words[:, 0], hidden, cell, brought=brought, **gates_of(layer))
    torch.testing.assert_close(more, plain_cell + brought)
    # The output gate does not know of it: only the memory behind the gate has grown.
    torch.testing.assert_close(more_hidden / more.tanh(), plain_hidden / plain_cell.tanh())


def test_what_is_brought_goes_into_the_memory_on_the_tape():
    layer, words = layer_and_words()
    brought = torch.ones(BATCH, HIDDEN, dtype=words.dtype)
    _, plain, _ = layer(words[:, 0], layer.start(BATCH))
    _, more, _ = layer(words[:, 0], layer.start(BATCH), brought=brought)
    torch.testing.assert_close(more["tape"][:, 0, HIDDEN:], plain["tape"][:, 0, HIDDEN:] + 1)


# ---- properties


def test_weights_are_shares_of_the_words_before():
    layer, words = layer_and_words()
    weights = layer.read(words, with_weights=True)[2]
    assert weights.shape == (BATCH, LEN, LEN)
    assert weights.triu().eq(0).all() and weights.tril(-1).ge(0).all()
    expected = torch.ones(BATCH, LEN, dtype=words.dtype).index_fill(1, torch.tensor([0]), 0.0)
    torch.testing.assert_close(weights.sum(dim=-1), expected)
    assert layer.read(words)[2] is None


def test_later_words_change_nothing_on_the_tape_before_them():
    layer, words = layer_and_words()
    changed = words.clone()
    changed[:, 3:] = 9.0
    tape, other = layer.read(words)[1]["tape"], layer.read(changed)[1]["tape"]
    assert torch.equal(tape[:, :3], other[:, :3]) and not torch.allclose(tape[:, 3:], other[:, 3:])
    torch.testing.assert_close(layer.read(words[:, :3])[1]["tape"], tape[:, :3])


def test_a_far_word_is_one_look_away():
    """Once it is on the tape it can be had whole: a score that likes its key alone brings its state back."""
    layer, words = layer_and_words()
    _, rows, _ = layer.read(words)
    with torch.no_grad():
        layer.score.v.mul_(1000)
    weights = layer(words[:, 0], rows)[2]
    best = weights.argmax(dim=-1)
    torch.testing.assert_close(weights.amax(dim=-1), torch.ones(BATCH, dtype=words.dtype))
    summary = layer(words[:, 0], rows)[1]["summary"]
    torch.testing.assert_close(summary, rows["tape"][torch.arange(BATCH), best, :HIDDEN])


def test_rows_can_be_reordered():
    layer, words = layer_and_words()
    _, rows, _ = layer.read(words[:, :3])
    order = torch.tensor([1, 0, 1])
    plain, picked = layer(words[:, 3], rows), layer(words[order, 3], take(rows, order))
    torch.testing.assert_close(picked[0], plain[0][order])
    torch.testing.assert_close(picked[2], plain[2][order])
    torch.testing.assert_close(picked[1], take(plain[1], order))


# ---- the edges


def test_an_empty_tape_gives_no_nan_forwards_or_backwards():
    layer, words = layer_and_words()
    with pytest.warns(UserWarning, match="Anomaly Detection"), torch.autograd.detect_anomaly():
        layer.read(words)[0].square().sum().backward()
    assert all(parameter.grad.isfinite().all() for parameter in layer.parameters())
    assert all(parameter.grad.abs().max() > 0 for parameter in layer.parameters())


def test_gradients_equal_finite_differences():
    layer, words = layer_and_words()
    assert torch.autograd.gradcheck(lambda words: layer.read(words[:, :3])[0], words.requires_grad_())


def test_half_precision_stays_half_and_is_close():
    layer, words = layer_and_words()
    exact = layer.read(words)[0]
    states, rows, _ = layer.to(torch.bfloat16).read(words.to(torch.bfloat16))
    assert {tensor.dtype for tensor in (states, *rows.values())} == {torch.bfloat16}
    torch.testing.assert_close(states.double(), exact, rtol=0, atol=0.03)


def test_words_of_another_width_are_refused():
    layer, words = layer_and_words()
    with pytest.raises(ValueError, match=r"Expected w_query of shape \(attn_dim, query_dim\) = \(6, 6\)"):
        layer(words[:, 0, :2], layer.start(BATCH))
