"""What every system of the road keeps to, whatever is inside it: one test for all of them and their forms."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest
import torch
from safetensors.torch import load_file, save_file

from course_lib.layers.rows import take
from course_lib.models.config import Config
from course_lib.models.language_model import LanguageModel
from course_lib.models.registry import build, language_models, make_config, system, translators
from course_lib.models.translator import Translator
from course_lib.text.special import EOS, PAD
from tests.models.harness import (
    FORMS,
    SOURCES,
    TARGETS,
    VOCAB,
    batch_of,
    close,
    decoded,
    eight_sentences,
    forward,
    loss_and_gradients,
    recited,
    said,
    small,
    started,
    walked,
)

TRANSLATORS = [one.name for one in translators()]
DECODERS = [*(one.name for one in language_models()), *TRANSLATORS]
EVERY = [*DECODERS, "self_attentive"]
LEARNERS = [name for name in EVERY if not system(name).counts]

every_translator = pytest.mark.parametrize("name", TRANSLATORS)
every_decoder = pytest.mark.parametrize("name", DECODERS)
MORE = [pytest.param(name, marks=pytest.mark.slow) for name in FORMS]
every_form = pytest.mark.parametrize("name", [*DECODERS, *MORE])
every_system = pytest.mark.parametrize("name", EVERY)
every_learner = pytest.mark.parametrize("name", LEARNERS)


# ---- two ways to decode


@every_form
def test_word_by_word_equals_all_at_once(name):
    model, batch = small(name), batch_of()
    whole, stepped = decoded(model, batch), walked(model, batch)
    close(stepped[0][batch.counts], whole[0][batch.counts])
    if model.attends:
        places = batch.counts[:, None, None].expand(whole[1].shape[:-1])
        close(stepped[1][places], whole[1][places])


@every_decoder
def test_a_step_leaves_the_state_it_came_from_as_it_was(name):
    """Beam search goes on from one state with several words."""
    model, batch = small(name), batch_of()
    given, state = started(model, batch)
    _, state, _ = model.step(*given, state, batch.tgt_in[:, 0])
    rows = {"state": state} | ({"memory": given[0]} if given else {})
    before = {part: {key: tensor.clone() for key, tensor in one.items()} for part, one in rows.items()}
    first = model.step(*given, state, torch.full((4,), 7))[0]
    model.step(*given, state, torch.full((4,), 8))
    close(rows, before)
    close(model.step(*given, state, torch.full((4,), 7))[0], first)


@every_decoder
def test_asking_for_weights_changes_no_logit(name):
    model, batch = small(name), batch_of()
    with_weights, weights = decoded(model, batch)
    without, nothing = decoded(model, batch, with_weights=False)
    close(without, with_weights)
    close(forward(model, batch), without)
    assert nothing is None and (weights is not None) == model.attends
    given, state = started(model, batch)
    assert model.step(*given, state, batch.tgt_in[:, 0])[2] is None


@every_decoder
def test_rows_can_be_reordered_and_repeated(name):
    model, batch = small(name), batch_of()
    given, state = started(model, batch)
    for tokens in batch.tgt_in.unbind(dim=1)[:3]:
        _, state, _ = model.step(*given, state, tokens)
    words = torch.tensor([5, 9, 11, 4])
    logits, _, weights = model.step(*given, state, words, with_weights=True)
    assert all(tensor.shape[0] == 4 for rows in (*given, state) for tensor in rows.values())
    for which in (torch.tensor([2, 0, 3, 1]), torch.tensor([1, 1]), torch.arange(4).repeat_interleave(3)):
        rows = [take(one, which) for one in (*given, state)]
        picked = model.step(*rows, words[which], with_weights=True)
        close(picked[0], logits[which])
        assert weights is None or close(picked[2], weights[which]) is None


# ---- who may know what


@every_form
def test_a_future_word_cannot_change_an_earlier_output(name):
    model, batch = small(name), batch_of([[5, 9, 4]], [[7, 10, 5, 13]])
    logits, _ = decoded(model, batch)
    for place in range(1, 5):
        changed = batch.tgt_in.clone()
        changed[0, place] = 12
        other, _ = decoded(model, replace(batch, tgt_in=changed))
        close(other[:, :place], logits[:, :place])
        # But it does know what was just said: if it has counted such words, or a path for them.
        deaf = name.startswith(("ngram_lm", "transformer, no residual"))
        assert deaf or not torch.allclose(other[:, place], logits[:, place])


@every_translator
def test_every_source_word_counts(name):
    model, batch = small(name), batch_of([[5, 9, 4, 11, 7]], [[7, 10]])
    logits, _ = decoded(model, batch)
    for place in range(5):
        src = batch.src.clone()
        src[0, place] = 12
        assert not torch.allclose(decoded(model, replace(batch, src=src))[0], logits)


@pytest.mark.parametrize("name", [*EVERY, *MORE])
def test_padding_changes_nothing(name):
    """Wider in both languages and with a blank row more: outputs, weights, loss and gradients stay."""
    model, narrow = small(name), batch_of()
    rows, src, tgt = len(SOURCES), narrow.src.shape[1], narrow.tgt_in.shape[1]
    wide = batch_of(src_len=src + 5, tgt_len=tgt + 3, n_rows=rows + 1)
    close(said(model, wide), said(model, narrow))
    close(loss_and_gradients(model, wide), loss_and_gradients(model, narrow))
    if name == "self_attentive":
        weights, wide_weights = (model.encode(one.src, one.src_lengths)[1] for one in (narrow, wide))
        close(wide_weights[:rows], torch.nn.functional.pad(weights, (0, 5)))
    elif model.attends:
        weights, wide_weights = decoded(model, narrow)[1], decoded(model, wide)[1]
        real = narrow.counts[:, None, None].expand(weights.shape[:-1])
        seen = weights.shape[-1]
        close(wide_weights[:rows, :, :, :tgt, :seen][real], weights[real])
        assert isinstance(model, LanguageModel) or wide_weights[..., seen:].eq(0).all()


@every_decoder
def test_a_batch_equals_its_sentences_one_by_one(name):
    model, batch = small(name), batch_of()
    logits, weights = decoded(model, batch)
    for row, (source, target) in enumerate(zip(SOURCES, TARGETS, strict=True)):
        alone, looked = decoded(model, batch_of([source], [target]))
        close(logits[row, : len(target) + 1], alone[0])
        if model.attends:
            close(weights[row, :, :, : len(target) + 1, : looked.shape[-1]], looked[0])


@every_decoder
def test_weights_are_shares_of_the_words_that_may_be_seen(name):
    """Source words that are there, or earlier words; before a text's first word there may be none."""
    model, batch = small(name), batch_of()
    _, weights = decoded(model, batch)
    if not model.attends:
        return
    (rows, tgt), earlier = batch.tgt_in.shape, isinstance(model, LanguageModel)
    assert weights.shape == (rows, *weights.shape[1:3], tgt, tgt if earlier else batch.src.shape[1])
    assert weights.ge(0).all()
    if earlier:
        assert torch.equal(weights, weights.tril())
    else:
        assert weights.masked_select((batch.src == PAD)[:, None, None, None]).eq(0).all()
    total = weights.sum(dim=-1)
    if earlier and total[..., 0].eq(0).all():
        total = total[..., 1:]
    if name.startswith("luong_local_p"):  # its Gaussian takes weight away
        assert total.gt(0).all() and total.lt(1).all()
    else:
        close(total, torch.ones_like(total))


@every_translator
def test_all_weights_name_each_attention(name):
    model, batch = small(name), batch_of()
    found = model.all_weights(batch.src, batch.src_lengths, batch.tgt_in)
    own = ["encoder", "decoder"] if name.startswith(("transformer", "lstmn")) else []
    assert list(found) == [*own, *["cross"] * model.attends]
    if model.attends:
        close(found["cross"], decoded(model, batch)[1])


def test_a_translator_may_bring_its_own_step():
    """Lesson 19 asks a learner for read, say, start and step: nothing else may be needed."""

    class Mute(Translator):
        def read(self, src, src_lengths):
            return {"lengths": src_lengths}

        def say(self, memory, tgt_in, *, with_weights):
            return torch.zeros(*tgt_in.shape, VOCAB), None

        def start(self, memory):
            return {}

        def step(self, memory, state, tokens, *, with_weights=False):
            return torch.zeros(len(tokens), VOCAB), state, None

    model, batch = Mute(Config(vocab_size=VOCAB)), batch_of()
    assert model(batch.src, batch.src_lengths, batch.tgt_in).shape == (*batch.tgt_in.shape, VOCAB)
    memory = model.encode(batch.src, batch.src_lengths)
    assert model.step(memory, model.start(memory), batch.tgt_in[:, 0])[0].shape == (len(SOURCES), VOCAB)
    del Mute.step
    with pytest.raises(NotImplementedError, match="Mute needs `advance`, or a `step` of its own"):
        model.step(memory, model.start(memory), batch.tgt_in[:, 0])


# ---- weights that are learned and kept


@every_system
def test_save_and_load_is_exact(name, tmp_path):
    model, batch = small(name).float(), batch_of()
    save_file(model.state_dict(), tmp_path / "model.safetensors")
    other = small(name, seed=1).float()
    assert not torch.equal(forward(other, batch), forward(model, batch))
    other.load_state_dict(load_file(tmp_path / "model.safetensors"))
    assert torch.equal(forward(other, batch), forward(model, batch))


@pytest.mark.parametrize("tied", [True, False], ids=["tied", "untied"])
@every_learner
def test_every_parameter_gets_a_gradient(name, tied):
    """A real one: what a softmax cancels is not exactly 0 in a computer, but smaller than anything else."""
    _, found = loss_and_gradients(small(name, tied=tied), batch_of())
    assert all(gradient is not None and gradient.isfinite().all() for gradient in found.values())
    sizes = {key: gradient.abs().max().item() for key, gradient in found.items()}
    assert not {key: size for key, size in sizes.items() if size < 1e-7 * max(sizes.values())}


@every_learner
def test_dropout_acts_in_training_only(name):
    plain, dropping, batch = small(name), small(name, dropout=0.5), batch_of()
    dropping.load_state_dict(plain.state_dict())
    assert torch.equal(forward(dropping, batch), forward(plain, batch))
    dropping.train()
    assert not torch.allclose(forward(dropping, batch), forward(dropping, batch))
    close(forward(plain.train(), batch), forward(plain.eval(), batch))


@every_decoder
def test_nothing_is_kept_from_one_call_to_the_next(name):
    model, batch = small(name), batch_of()
    before = {key: set(vars(part)) for key, part in model.named_modules()}
    first = decoded(model, batch)[0]
    walked(model, batch)
    assert torch.equal(decoded(model, batch)[0], first)
    assert {key: set(vars(part)) for key, part in model.named_modules()} == before


# ---- other numbers, no numbers, a compiler


@every_system
def test_float32_is_close_to_float64(name):
    model, batch = small(name), batch_of()
    exact = forward(model, batch)
    single = forward(model.float(), batch)
    assert single.dtype == torch.float32
    torch.testing.assert_close(single.double(), exact, rtol=1e-4, atol=1e-4)


@pytest.mark.filterwarnings("ignore:mkldnn_matmul failed")  # a CPU without bfloat16 of its own
@pytest.mark.slow
@every_form
@torch.no_grad()
def test_bfloat16_is_near(name):
    """Whole or under autocast, all at once or word by word: it keeps 8 bits."""
    model, batch = small(name).float(), batch_of()
    exact = forward(model, batch)[batch.counts]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        mixed = [way(model, batch)[0] for way in (decoded, walked)]
    halved, weights = decoded(model.bfloat16(), batch)
    assert name.startswith("ngram_lm") or halved.dtype == torch.bfloat16
    assert weights is None or weights.dtype == torch.bfloat16
    for near in (*mixed, halved):
        torch.testing.assert_close(near[batch.counts].float(), exact, rtol=0, atol=0.3 * float(exact.std()))


@pytest.mark.slow
@every_system
def test_no_number_is_read_on_the_way(name):
    """A GPU would wait for it, and a CUDA graph refuses it. The meta device has shapes and no numbers."""
    model, batch = small(name).to("meta"), batch_of([[5], []], [[7], []]).to("meta")
    logits = forward(model, batch)
    if logits.requires_grad:
        logits.sum().backward()
    if name in DECODERS:
        assert decoded(model, batch)[0].shape == walked(model, batch)[0].shape == (2, 2, VOCAB)


# Its Dynamo cannot ask whether a device has autocast, as the cells do.
OLD = pytest.mark.skipif(torch.__version__ < "2.12", reason="Dynamo of torch 2.11")


# torch 2.11 warns of a part of its own when its compiler is loaded.
@pytest.mark.filterwarnings("ignore:.*script_method.*:DeprecationWarning")
@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["transformer", "transformer_lm", "convs2s", "mlp_lm", pytest.param("lstmn_deep", marks=OLD)]
)
def test_it_compiles_without_a_break_and_says_the_same(name):
    """Whole systems; not those with torch's RNN, LSTM or GRU, which Dynamo does not know."""
    model, batch = small(name), batch_of([[5, 6], [7]], [[5, 9], [7]])
    torch.compiler.reset()
    close(forward(torch.compile(model, fullgraph=True, backend="eager"), batch), forward(model, batch))


# ---- shapes


def annotated(checked, name: str):
    """A system with each annotation enforced by jaxtyping and beartype, in its layers too."""
    registry = checked["models.registry"]
    return registry.build(name, registry.make_config(name, scale="tiny", vocab_size=VOCAB))


@every_system
def test_shapes_are_those_of_the_annotations(checked, name):
    model, batch = annotated(checked, name), batch_of()
    if name == "self_attentive":
        assert forward(model, batch).shape == (4, 2)
        return
    assert forward(model, batch).shape == (*batch.tgt_in.shape, VOCAB)
    decoded(model, batch)
    walked(model, batch)
    given, state = started(model, batch)
    model.step(*given, state, batch.tgt_in[:, 0])


# ---- what cannot be read


@every_system
def test_what_cannot_be_read_is_named(name):
    model, batch = small(name), batch_of()
    src, lengths, tgt_in, long = batch.src, batch.src_lengths, batch.tgt_in, torch.full((1, 17), 7)
    refused = {}
    if hasattr(model, "encode"):
        refused |= {
            r"sentences to hold ids from 0 to 16, but got 29": (src + VOCAB, lengths),
            r"sentences to hold ids from 0 to 16, but got -1": (src - 1, lengths),
            r"sentences .* shape \(batch, len\), but got torch.float32.*make_batch": (src.float(), lengths),
            r"shape \(batch, len\), but got torch.bool": (src.bool(), lengths),
            r"shape \(batch, len\), but got torch.int64 \(7,\)": (src[0], lengths),
            r"at least one sentence.*got \(0, 7\)": (src[:0], lengths[:0]),
            r"sentences of at most 16 tokens.*\(max_len\), but got 17": (long, torch.tensor([5])),
            r"lengths from 1 to 7.*got 0\..*EOS": (src, lengths - 1),
            r"lengths from 1 to 7.*got 8": (src, lengths + 1),
            r"int64 .*\(4,\), but got \(3,\)": (src, lengths[:3]),
            r"int64 .*got \(4,\) of torch.float32": (src, lengths.float()),
        }  # fmt: skip
        refused = {message: (model.encode, *wrong) for message, wrong in refused.items()}
        model.encode(src.int(), lengths)
    if hasattr(model, "step"):
        given, state = started(model, batch)
        decode, step = partial(model.decode, *given), partial(model.step, *given, state)
        refused |= {
            r"tgt_in to hold ids from 0 to 16, but got 30": (decode, tgt_in + VOCAB),
            r"tgt_in to hold ids from 0 to 16, but got -2": (decode, tgt_in - 2),
            r"shape \(batch, tgt\), but got torch.float32": (decode, tgt_in.float()),
            r"shape \(batch, tgt\), but got torch.int64 \(1, 4, 9\)": (decode, tgt_in[None]),
            r"at least one sentence.*got \(4, 0\)": (decode, tgt_in[:, :0]),
            r"tgt_in of at most 16 tokens.*got 17": (decode, long),
            r"tokens to hold ids from 0 to 16, but got 17": (step, tgt_in[:, 0] + 15),
            r"shape \(batch\), but got torch.float32": (step, tgt_in[:, 0].float()),
            r"shape \(batch\), but got torch.int64 \(4, 9\)": (step, tgt_in),
        }
        with pytest.raises(ValueError, match="at most 16 tokens"):  # shapes are known where numbers are not
            small(name).to("meta").decode(*({} for _ in given), long.to("meta"))
    for message, (call, *wrong) in refused.items():
        with pytest.raises(ValueError, match=message):
            call(*wrong)


@every_form
@torch.no_grad()
def test_the_longest_sentence_and_one_step_more(name):
    """All of `max_len` can be read and said. One step more works, or says why it does not."""
    model, batch = small(name), batch_of([[7] * 15], [[7] * 15])
    assert batch.src.shape[1] == batch.tgt_in.shape[1] == model.config.max_len
    whole, stepped = decoded(model, batch)[0], walked(model, batch)[0]
    assert whole.isfinite().all()
    close(stepped, whole)
    given, state = started(model, batch)
    for word in batch.tgt_in.unbind(dim=1):
        logits, state, _ = model.step(*given, state, word)
    try:
        logits, state, _ = model.step(*given, state, word)
    except ValueError as error:
        assert "max_len" in str(error)
    assert logits.isfinite().all()


# ---- a wire loose somewhere


@pytest.mark.slow
@every_decoder
def test_it_learns_four_sentences_by_heart(name):
    """Greedy decoding gives each back, word for word, after 250 steps of Adam at most; or by counting."""
    batch, vocab_size = eight_sentences(one_language=name not in TRANSLATORS)
    batch = batch.map(lambda rows: rows[:4])
    torch.manual_seed(0)
    model = build(name, make_config(name, scale="tiny", vocab_size=vocab_size))

    def by_heart() -> bool:
        with torch.no_grad():
            return torch.equal(torch.where(batch.counts, recited(model, batch), PAD), batch.tgt_out)

    assert not by_heart()
    if system(name).counts:
        model.fit([row[row > EOS].tolist() for row in batch.tgt_in])
        assert by_heart()
        return
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for step in range(1, 251):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(*said(model, batch)).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 10 == 0 and by_heart():
            return
    raise AssertionError(f"{name} does not know them after 250 steps")
