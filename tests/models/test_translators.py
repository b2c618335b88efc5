"""What every translator of the road keeps to, whatever is inside it: one test, all systems.

The systems are tiny and in float64, so that equal means equal to ten places and more; and every weight is
shaken first, so that nothing is equal only because it started at 0.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch.nn import functional as F

from course_lib.layers.rows import repeat, take
from course_lib.models.registry import build, make_config, translators
from course_lib.text.batch import Batch, make_batch
from course_lib.text.special import PAD

VOCAB = 17
# Lengths of all kinds, an empty source and an empty target among them; a word that comes twice.
SOURCES = [[5, 9, 4, 11, 7, 9], [8], [], [6, 6, 12, 9]]
TARGETS = [[7, 10], [5, 13, 4, 9, 11, 11], [6], []]

every_translator = pytest.mark.parametrize("name", [system.name for system in translators()])


def small(name: str, *, seed: int = 0, **changes):
    torch.manual_seed(seed)
    model = build(name, replace(make_config(name, scale="tiny", vocab_size=VOCAB), **changes))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return model.double().eval()


def batch_of(**shape) -> Batch:
    return make_batch(SOURCES, TARGETS, **shape)


def decoded(model, batch: Batch, *, with_weights: bool = True):
    return model.decode(model.encode(batch.src, batch.src_lengths), batch.tgt_in, with_weights=with_weights)


def walked(model, batch: Batch):
    """The same word by word: logits (batch, tgt, vocab) and weights (batch, layers, heads, tgt, src)."""
    memory = model.encode(batch.src, batch.src_lengths)
    state, logits, weights = model.start(memory), [], []
    for tokens in batch.tgt_in.unbind(dim=1):
        scores, state, looked = model.step(memory, state, tokens, with_weights=True)
        logits.append(scores)
        weights.append(looked)
    return torch.stack(logits, dim=1), torch.stack(weights, dim=3) if model.attends else None


def loss_of(model, batch: Batch):
    logits = model(batch.src, batch.src_lengths, batch.tgt_in)
    return F.cross_entropy(logits.flatten(0, 1), batch.tgt_out.flatten(), ignore_index=PAD, reduction="sum")


def gradients(model, batch: Batch):
    model.zero_grad()
    loss_of(model, batch).backward()
    return {name: parameter.grad for name, parameter in model.named_parameters()}


def close(ours, theirs):
    torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-11)


# ---- two ways to decode


@every_translator
def test_step_by_step_equals_teacher_forcing(name):
    model, batch = small(name), batch_of()
    for whole, stepped in zip(decoded(model, batch), walked(model, batch), strict=True):
        if whole is not None:
            places = batch.counts if whole.ndim == 3 else batch.counts[:, None, None].expand(whole.shape[:-1])
            close(stepped[places], whole[places])


@every_translator
def test_a_step_leaves_the_state_it_came_from_as_it_was(name):
    """Beam search goes on from one state with several words."""
    model, batch = small(name), batch_of()
    memory = model.encode(batch.src, batch.src_lengths)
    _, state, _ = model.step(memory, model.start(memory), batch.tgt_in[:, 0])
    before = {key: tensor.clone() for key, tensor in (memory | state).items()}
    first = model.step(memory, state, torch.full((4,), 7))[0]
    model.step(memory, state, torch.full((4,), 8))
    close(memory | state, before)
    close(model.step(memory, state, torch.full((4,), 7))[0], first)


@every_translator
def test_asking_for_weights_changes_no_logit(name):
    model, batch = small(name), batch_of()
    with_weights, weights = decoded(model, batch)
    without, nothing = decoded(model, batch, with_weights=False)
    close(without, with_weights)
    assert nothing is None and (weights is not None) == model.attends
    close(model(batch.src, batch.src_lengths, batch.tgt_in), without)
    memory = model.encode(batch.src, batch.src_lengths)
    assert model.step(memory, model.start(memory), batch.tgt_in[:, 0])[2] is None


# ---- who may know what


@every_translator
def test_a_future_word_cannot_change_an_earlier_output(name):
    model, batch = small(name), make_batch([[5, 9, 4]], [[7, 10, 5, 13]])
    memory = model.encode(batch.src, batch.src_lengths)
    logits, _ = model.decode(memory, batch.tgt_in)
    for place in range(1, 5):
        changed = batch.tgt_in.clone()
        changed[0, place] = 12
        other, _ = model.decode(memory, changed)
        close(other[:, :place], logits[:, :place])
        assert not torch.allclose(other[:, place], logits[:, place])  # but it does know what was just said


@every_translator
def test_every_source_word_counts(name):
    model, batch = small(name), make_batch([[5, 9, 4, 11, 7]], [[7, 10]])
    logits, _ = decoded(model, batch)
    for place in range(5):
        src = batch.src.clone()
        src[0, place] = 12
        assert not torch.allclose(decoded(model, replace(batch, src=src))[0], logits)


@every_translator
def test_padding_changes_nothing(name):
    """Wider in both languages and with a blank row more: outputs, weights, loss and gradients stay."""
    model, narrow = small(name), batch_of()
    n_rows, src, tgt = len(SOURCES), narrow.src.shape[1], narrow.tgt_in.shape[1]
    wide = batch_of(src_len=src + 5, tgt_len=tgt + 3, n_rows=n_rows + 1)
    (logits, weights), (wide_logits, wide_weights) = decoded(model, narrow), decoded(model, wide)
    close(wide_logits[:n_rows, :tgt][narrow.counts], logits[narrow.counts])
    if model.attends:
        real = narrow.counts[:, None, None].expand(weights.shape[:-1])
        close(wide_weights[:n_rows, :, :, :tgt, :src][real], weights[real])
        assert wide_weights[..., src:].eq(0).all()
    close(loss_of(model, wide), loss_of(model, narrow))
    close(gradients(model, wide), gradients(model, narrow))


@every_translator
def test_a_batch_equals_its_sentences_one_by_one(name):
    model, batch = small(name), batch_of()
    logits, weights = decoded(model, batch)
    for row, (source, target) in enumerate(zip(SOURCES, TARGETS, strict=True)):
        alone, alone_weights = decoded(model, make_batch([source], [target]))
        close(logits[row, : len(target) + 1], alone[0])
        if model.attends:
            close(weights[row, :, :, : len(target) + 1, : len(source) + 1], alone_weights[0])


# ---- attention


@every_translator
def test_weights_are_shares_of_the_words_that_are_there(name):
    model, batch = small(name), batch_of()
    _, weights = decoded(model, batch)
    if not model.attends:
        assert weights is None
        return
    n_rows, tgt = batch.tgt_in.shape
    assert weights.shape == (n_rows, *weights.shape[1:3], tgt, batch.src.shape[1])
    assert weights.ge(0).all()
    assert weights.masked_select(~batch.src_may_look[:, None, None]).eq(0).all()
    total = weights.sum(dim=-1)
    if model.weights_sum_to_one:
        close(total, torch.ones_like(total))
    else:
        assert total.gt(0).all() and total.le(1 + 1e-12).all()


# ---- rows


@every_translator
def test_memory_and_state_can_be_reordered_and_repeated(name):
    model, batch = small(name), batch_of()
    memory = model.encode(batch.src, batch.src_lengths)
    state = model.start(memory)
    for tokens in batch.tgt_in.unbind(dim=1)[:2]:
        _, state, _ = model.step(memory, state, tokens)
    words = torch.tensor([5, 9, 11, 4])
    logits, _, weights = model.step(memory, state, words, with_weights=True)
    assert all(tensor.shape[0] == 4 for tensor in (memory | state).values())
    for which in (torch.tensor([2, 0, 3, 1]), torch.tensor([1, 1]), torch.arange(4).repeat_interleave(3)):
        picked = model.step(take(memory, which), take(state, which), words[which], with_weights=True)
        close(picked[0], logits[which])
        assert weights is None or close(picked[2], weights[which]) is None
    thrice = model.step(repeat(memory, 3), repeat(state, 3), words.repeat_interleave(3))[0]
    close(thrice, logits.repeat_interleave(3, dim=0))


# ---- weights that are learned, kept and not forgotten


@every_translator
def test_save_and_load_is_exact(name, tmp_path):
    model, batch = small(name).float(), batch_of()
    save_file(model.state_dict(), tmp_path / "model.safetensors")
    other = small(name, seed=1).float()
    assert not torch.equal(decoded(other, batch)[0], decoded(model, batch)[0])
    other.load_state_dict(load_file(tmp_path / "model.safetensors"))
    for loaded, saved in zip(decoded(other, batch), decoded(model, batch), strict=True):
        assert saved is None or torch.equal(loaded, saved)


@every_translator
@pytest.mark.parametrize("tied", [True, False], ids=["tied", "untied"])
def test_every_parameter_gets_a_gradient(name, tied):
    """A real one: what a softmax cancels is not exactly 0 in a computer, but smaller than anything else."""
    found = gradients(small(name, tied=tied), batch_of())
    sizes = {key: 0.0 if gradient is None else gradient.abs().max().item() for key, gradient in found.items()}
    assert all(gradient is not None and gradient.isfinite().all() for gradient in found.values())
    assert not {key: size for key, size in sizes.items() if size < 1e-7 * max(sizes.values())}


@every_translator
def test_dropout_acts_in_training_only(name):
    plain, dropping, batch = small(name), small(name, dropout=0.5), batch_of()
    dropping.load_state_dict(plain.state_dict())
    assert torch.equal(decoded(dropping, batch)[0], decoded(plain, batch)[0])
    dropping.train()
    assert not torch.allclose(decoded(dropping, batch)[0], decoded(dropping, batch)[0])
    plain.train()
    close(decoded(plain, batch)[0], decoded(plain.eval(), batch)[0])


@every_translator
def test_nothing_is_kept_from_one_call_to_the_next(name):
    model, batch = small(name), batch_of()
    before = {key: set(vars(part)) for key, part in model.named_modules()}
    first = decoded(model, batch)[0]
    walked(model, batch)
    assert torch.equal(decoded(model, batch)[0], first)
    assert {key: set(vars(part)) for key, part in model.named_modules()} == before


# ---- other numbers, other devices


@every_translator
def test_float32_is_close_to_float64(name):
    model, batch = small(name), batch_of()
    exact, exact_weights = decoded(model, batch)
    single, single_weights = decoded(model.float(), batch)
    assert single.dtype == torch.float32
    torch.testing.assert_close(single.double(), exact, rtol=1e-4, atol=1e-4)
    if model.attends:
        torch.testing.assert_close(single_weights.double(), exact_weights, rtol=1e-4, atol=1e-4)


@every_translator
@pytest.mark.slow
def test_no_number_is_read_on_the_way(name):
    """A GPU would wait for it, and a CUDA graph refuses it. The meta device has shapes and no numbers."""
    model, batch = small(name).to("meta"), make_batch([[5], []], [[7], []]).to("meta")
    loss_of(model, batch).backward()
    assert decoded(model, batch)[0].shape == walked(model, batch)[0].shape == (2, 2, VOCAB)
