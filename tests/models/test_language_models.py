"""What every language model of the road keeps to: as in `test_translators.py`, without a source."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch.nn import functional as F

from course_lib.layers.rows import repeat, take
from course_lib.models.registry import build, language_models, make_config, system
from course_lib.text.batch import Batch, make_batch
from course_lib.text.special import PAD

VOCAB = 17
TEXTS = [[7, 10, 4], [5, 13, 4, 9, 11, 11, 6, 8], [6], []]

every_model = pytest.mark.parametrize("name", [one.name for one in language_models()])
every_trained_model = pytest.mark.parametrize(
    "name", [one.name for one in language_models() if not one.counts]
)


def small(name: str, *, seed: int = 0, **changes):
    """With every weight shaken, so that nothing is equal only because it started at 0; a counter counts."""
    torch.manual_seed(seed)
    model = build(name, replace(make_config(name, scale="tiny", vocab_size=VOCAB), **changes))
    if system(name).counts:
        model.fit(torch.randint(4, VOCAB, (20, 6)).tolist())
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return model.double().eval()


def batch_of(texts=TEXTS, **shape) -> Batch:
    """`tgt_in` is what a language model reads, `tgt_out` what it should say; the source is empty."""
    return make_batch([[]] * len(texts), texts, **shape)


def walked(model, tokens):
    """Word by word: logits (batch, tgt, vocab) and weights (batch, layers, heads, tgt, tgt)."""
    state, logits, weights, n = model.start(len(tokens)), [], [], tokens.shape[1]
    for place, word in enumerate(tokens.unbind(dim=1)):
        scores, state, looked = model.step(state, word, with_weights=True)
        logits.append(scores)
        if model.attends:
            assert looked.shape[-1] == place + 1  # the words seen so far, the newest last
            weights.append(F.pad(looked, (0, n - place - 1)))
    return torch.stack(logits, dim=1), torch.stack(weights, dim=3) if model.attends else None


def loss_of(model, batch: Batch):
    logits = model(batch.tgt_in).flatten(0, 1)
    return F.cross_entropy(logits, batch.tgt_out.flatten(), ignore_index=PAD, reduction="sum")


def gradients(model, batch: Batch):
    model.zero_grad()
    loss_of(model, batch).backward()
    return {name: parameter.grad for name, parameter in model.named_parameters()}


def close(ours, theirs):
    torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-11)


# ---- two ways to read


@every_model
def test_word_by_word_equals_all_at_once(name):
    model, batch = small(name), batch_of()
    for whole, stepped in zip(
        model.decode(batch.tgt_in, with_weights=True), walked(model, batch.tgt_in), strict=True
    ):
        if whole is not None:
            places = batch.counts if whole.ndim == 3 else batch.counts[:, None, None].expand(whole.shape[:-1])
            close(stepped[places], whole[places])


@every_model
def test_a_step_leaves_the_state_it_came_from_as_it_was(name):
    model = small(name)
    _, state, _ = model.step(model.start(2), torch.tensor([5, 6]))
    before = {key: tensor.clone() for key, tensor in state.items()}
    first = model.step(state, torch.tensor([7, 7]))[0]
    model.step(state, torch.tensor([8, 8]))
    close(state, before)
    close(model.step(state, torch.tensor([7, 7]))[0], first)


@every_model
def test_asking_for_weights_changes_no_logit(name):
    model, tokens = small(name), batch_of().tgt_in
    with_weights, weights = model.decode(tokens, with_weights=True)
    without, nothing = model.decode(tokens)
    close(without, with_weights)
    close(model(tokens), without)
    assert nothing is None and (weights is not None) == model.attends
    assert model.step(model.start(4), tokens[:, 0])[2] is None


# ---- who may know what


@every_model
def test_a_future_word_cannot_change_an_earlier_output(name):
    model, tokens = small(name), torch.tensor([[2, 7, 10, 5, 13]])
    logits, _ = model.decode(tokens)
    for place in range(5):
        changed = tokens.clone()
        changed[0, place] = 12
        other, _ = model.decode(changed)
        close(other[:, :place], logits[:, :place])
        if not system(name).counts:  # a pair of words never met may well be told from nothing
            assert not torch.allclose(other[:, place], logits[:, place])


@every_model
def test_padding_changes_nothing(name):
    model, narrow = small(name), batch_of()
    rows, n = narrow.tgt_in.shape
    wide = batch_of(tgt_len=n + 4, n_rows=rows + 1)
    (logits, weights), (wide_logits, wide_weights) = (
        model.decode(batch.tgt_in, with_weights=True) for batch in (narrow, wide)
    )
    close(wide_logits[:rows, :n][narrow.counts], logits[narrow.counts])
    if model.attends:
        real = narrow.counts[:, None, None].expand(weights.shape[:-1])
        close(wide_weights[:rows, :, :, :n, :n][real], weights[real])
    close(loss_of(model, wide), loss_of(model, narrow))
    if not system(name).counts:
        close(gradients(model, wide), gradients(model, narrow))


@every_model
def test_a_batch_equals_its_texts_one_by_one(name):
    model, batch = small(name), batch_of()
    logits, weights = model.decode(batch.tgt_in, with_weights=True)
    for row, text in enumerate(TEXTS):
        n = len(text) + 1
        alone, alone_weights = model.decode(batch_of([text]).tgt_in, with_weights=True)
        close(logits[row, :n], alone[0])
        if model.attends:
            close(weights[row, :, :, :n, :n], alone_weights[0])


@every_model
def test_weights_are_shares_of_earlier_words(name):
    """The first row may be empty, where a model looks only at the words before."""
    model, tokens = small(name), batch_of().tgt_in
    _, weights = model.decode(tokens, with_weights=True)
    if not model.attends:
        assert weights is None
        return
    rows, n = tokens.shape
    assert weights.shape == (rows, *weights.shape[1:3], n, n)
    assert weights.ge(0).all() and torch.equal(weights, weights.tril())
    total = weights.sum(dim=-1)
    close(total[..., 1:], torch.ones_like(total[..., 1:]))
    nothing_yet = total[..., 0].eq(0).all()
    assert nothing_yet or close(total[..., 0], torch.ones_like(total[..., 0])) is None


# ---- rows


@every_model
def test_a_state_can_be_reordered_and_repeated(name):
    model, tokens = small(name), batch_of().tgt_in
    state = model.start(4)
    for word in tokens.unbind(dim=1)[:3]:
        _, state, _ = model.step(state, word)
    assert all(tensor.shape[0] == 4 for tensor in state.values())
    words = torch.tensor([5, 9, 11, 4])
    logits, _, weights = model.step(state, words, with_weights=True)
    for which in (torch.tensor([2, 0, 3, 1]), torch.tensor([1, 1]), torch.arange(4).repeat_interleave(3)):
        picked = model.step(take(state, which), words[which], with_weights=True)
        close(picked[0], logits[which])
        assert weights is None or close(picked[2], weights[which]) is None
    close(model.step(repeat(state, 3), words.repeat_interleave(3))[0], logits.repeat_interleave(3, dim=0))


# ---- what is learned and kept


@every_model
def test_save_and_load_is_exact(name, tmp_path):
    model, tokens = small(name).float(), batch_of().tgt_in
    save_file(model.state_dict(), tmp_path / "model.safetensors")
    other = small(name, seed=1).float()
    assert not torch.equal(other(tokens), model(tokens))
    other.load_state_dict(load_file(tmp_path / "model.safetensors"))
    assert torch.equal(other(tokens), model(tokens))


@every_trained_model
@pytest.mark.parametrize("tied", [True, False], ids=["tied", "untied"])
def test_every_parameter_gets_a_gradient(name, tied):
    found = gradients(small(name, tied=tied), batch_of())
    assert all(gradient is not None and gradient.isfinite().all() for gradient in found.values())
    sizes = {key: gradient.abs().max().item() for key, gradient in found.items()}
    assert not {key: size for key, size in sizes.items() if size < 1e-7 * max(sizes.values())}


@every_trained_model
def test_dropout_acts_in_training_only(name):
    plain, dropping, tokens = small(name), small(name, dropout=0.5), batch_of().tgt_in
    dropping.load_state_dict(plain.state_dict())
    assert torch.equal(dropping(tokens), plain(tokens))
    dropping.train()
    assert not torch.allclose(dropping(tokens), dropping(tokens))
    close(plain.train()(tokens), plain.eval()(tokens))


@every_model
def test_nothing_is_kept_from_one_call_to_the_next(name):
    model, tokens = small(name), batch_of().tgt_in
    before = {key: set(vars(part)) for key, part in model.named_modules()}
    first = model(tokens)
    walked(model, tokens)
    assert torch.equal(model(tokens), first)
    assert {key: set(vars(part)) for key, part in model.named_modules()} == before


# ---- other numbers, other devices


@every_model
def test_float32_is_close_to_float64(name):
    model, tokens = small(name), batch_of().tgt_in
    exact = model(tokens)
    single = model.float()(tokens)
    assert single.dtype == torch.float32
    torch.testing.assert_close(single.double(), exact, rtol=1e-4, atol=1e-4)


@every_model
@pytest.mark.slow
def test_no_number_is_read_on_the_way(name):
    """A GPU would wait for it, and a CUDA graph refuses it. The meta device has shapes and no numbers."""
    model, batch = small(name).to("meta"), batch_of([[7], []]).to("meta")
    if not system(name).counts:
        loss_of(model, batch).backward()
    assert model(batch.tgt_in).shape == walked(model, batch.tgt_in)[0].shape == (2, 2, VOCAB)
