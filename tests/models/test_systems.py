"""Properties of every system, and of its forms."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from course_lib.layers.recurrent import Recurrent
from course_lib.layers.rows import take
from course_lib.models.config import Config
from course_lib.models.inference import eval_mode
from course_lib.models.language_model import LanguageModel
from course_lib.models.registry import build, language_models, make_config, system, translators
from course_lib.models.translator import Translator
from course_lib.text.encoded import encode_ids
from course_lib.text.special import EOS, PAD
from tests.models.harness import (
    FORMS,
    SOURCES,
    TARGETS,
    VOCAB,
    assert_close,
    batch_of,
    decode,
    decode_greedily,
    decode_stepwise,
    eight_sentences,
    forward,
    logits_and_labels,
    loss_and_gradients,
    small,
    start,
)

TRANSLATORS = [entry.name for entry in translators()]
DECODERS = [*(entry.name for entry in language_models()), *TRANSLATORS]
EVERY = [*DECODERS, "self_attentive"]
GRADIENT_TRAINED = [name for name in EVERY if not system(name).counts]

every_translator = pytest.mark.parametrize("name", TRANSLATORS)
every_decoder = pytest.mark.parametrize("name", DECODERS)
MORE = [pytest.param(name, marks=pytest.mark.slow) for name in FORMS]
every_form = pytest.mark.parametrize("name", [*DECODERS, *MORE])
every_system = pytest.mark.parametrize("name", EVERY)
every_gradient_trained = pytest.mark.parametrize("name", GRADIENT_TRAINED)


# ---- decoding at once and step by step


@every_form
def test_stepwise_decoding_equals_decoding_at_once(name):
    model, batch = small(name), batch_of()
    whole, stepped = decode(model, batch), decode_stepwise(model, batch)
    assert_close(stepped[0][batch.loss_mask], whole[0][batch.loss_mask])
    if model.attends:
        is_word = batch.loss_mask[:, None, None].expand(whole[1].shape[:-1])
        assert_close(stepped[1][is_word], whole[1][is_word])


@every_decoder
def test_a_step_does_not_modify_its_input_state(name):
    """Beam search continues from one state with several words."""
    model, batch = small(name), batch_of()
    leading, state = start(model, batch)
    _, state, _ = model.step(*leading, state, batch.tgt_in[:, 0])
    rows = {"state": state} | ({"memory": leading[0]} if leading else {})
    before = {
        part: {key: tensor.clone() for key, tensor in tensors.items()} for part, tensors in rows.items()
    }
    first = model.step(*leading, state, torch.full((4,), 7))[0]
    model.step(*leading, state, torch.full((4,), 8))
    assert_close(rows, before)
    assert_close(model.step(*leading, state, torch.full((4,), 7))[0], first)


@every_decoder
def test_requesting_weights_does_not_change_the_logits(name):
    model, batch = small(name), batch_of()
    logits, weights = decode(model, batch)
    logits_only, no_weights = decode(model, batch, with_weights=False)
    assert_close(logits_only, logits)
    assert_close(forward(model, batch), logits_only)
    assert no_weights is None and (weights is not None) == model.attends
    leading, state = start(model, batch)
    assert model.step(*leading, state, batch.tgt_in[:, 0])[2] is None


@every_decoder
def test_rows_can_be_reordered_and_repeated(name):
    model, batch = small(name), batch_of()
    leading, state = start(model, batch)
    for tokens in batch.tgt_in.unbind(dim=1)[:3]:
        _, state, _ = model.step(*leading, state, tokens)
    words = torch.tensor([5, 9, 11, 4])
    logits, _, weights = model.step(*leading, state, words, with_weights=True)
    assert all(tensor.shape[0] == 4 for rows in (*leading, state) for tensor in rows.values())
    for indices in (torch.tensor([2, 0, 3, 1]), torch.tensor([1, 1]), torch.arange(4).repeat_interleave(3)):
        taken = [take(rows, indices) for rows in (*leading, state)]
        taken_logits, _, taken_weights = model.step(*taken, words[indices], with_weights=True)
        assert_close(taken_logits, logits[indices])
        assert weights is None or assert_close(taken_weights, weights[indices]) is None


# ---- what an output depends on


@every_form
def test_a_later_word_does_not_change_an_earlier_output(name):
    model, batch = small(name), batch_of([[5, 9, 4]], [[7, 10, 5, 13]])
    logits, _ = decode(model, batch)
    for position in range(1, 5):
        changed = batch.tgt_in.clone()
        changed[0, position] = 12
        other, _ = decode(model, replace(batch, tgt_in=changed))
        assert_close(other[:, :position], logits[:, :position])
        # But the output at a position depends on its word, with two exceptions: an n-gram that was never
        # counted, and a Transformer without residual connections.
        exception = name.startswith(("ngram_lm", "transformer, no residual"))
        assert exception or not torch.allclose(other[:, position], logits[:, position])


@every_translator
def test_every_source_word_changes_the_logits(name):
    model, batch = small(name), batch_of([[5, 9, 4, 11, 7]], [[7, 10]])
    logits, _ = decode(model, batch)
    for position in range(5):
        src = batch.src.clone()
        src[0, position] = 12
        assert not torch.allclose(decode(model, replace(batch, src=src))[0], logits)


@pytest.mark.parametrize("name", [*EVERY, *MORE])
def test_padding_changes_nothing(name):
    """More padding and an extra empty row don't change outputs, attention weights, loss and gradients."""
    model, narrow = small(name), batch_of()
    rows, src, tgt = len(SOURCES), narrow.src.shape[1], narrow.tgt_in.shape[1]
    with_blank = torch.tensor([*range(rows), -1])
    wide = encode_ids(SOURCES, TARGETS).batch(with_blank, src_len=src + 5, tgt_len=tgt + 3)
    assert_close(logits_and_labels(model, wide), logits_and_labels(model, narrow))
    assert_close(loss_and_gradients(model, wide), loss_and_gradients(model, narrow))
    if name == "self_attentive":
        weights, wide_weights = (model.encode(batch.src, batch.src_lengths)[1] for batch in (narrow, wide))
        assert_close(wide_weights[:rows], torch.nn.functional.pad(weights, (0, 5)))
    elif model.attends:
        weights, wide_weights = decode(model, narrow)[1], decode(model, wide)[1]
        real = narrow.loss_mask[:, None, None].expand(weights.shape[:-1])
        seen = weights.shape[-1]
        assert_close(wide_weights[:rows, :, :, :tgt, :seen][real], weights[real])
        assert isinstance(model, LanguageModel) or wide_weights[..., seen:].eq(0).all()


@every_decoder
def test_a_batch_equals_single_sentences(name):
    model, batch = small(name), batch_of()
    logits, weights = decode(model, batch)
    for row, (source, target) in enumerate(zip(SOURCES, TARGETS, strict=True)):
        single, single_weights = decode(model, batch_of([source], [target]))
        assert_close(logits[row, : len(target) + 1], single[0])
        if model.attends:
            assert_close(weights[row, :, :, : len(target) + 1, : single_weights.shape[-1]], single_weights[0])


@every_decoder
def test_attention_weights_are_a_distribution_over_unmasked_words(name):
    """Real source words, or earlier words; before the first word of a text there may be none."""
    model, batch = small(name), batch_of()
    _, weights = decode(model, batch)
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
    if name.startswith("luong_local_p"):  # the Gaussian reduces the sum
        assert total.gt(0).all() and total.lt(1).all()
    else:
        assert_close(total, torch.ones_like(total))


@every_translator
def test_attention_weights_has_an_entry_for_each_attention(name):
    model, batch = small(name), batch_of()
    weights = model.attention_weights(batch.src, batch.src_lengths, batch.tgt_in)
    self_attention = ["encoder", "decoder"] if name.startswith(("transformer", "lstmn")) else []
    assert list(weights) == [*self_attention, *["cross"] * model.attends]
    if model.attends:
        assert_close(weights["cross"], decode(model, batch)[1])


def test_a_translator_may_override_step():
    """Lesson 19 asks a learner for read, say, start and step; nothing else is needed."""

    class Constant(Translator):
        def read(self, src, src_lengths):
            return {"lengths": src_lengths}

        def say(self, memory, tgt_in, *, with_weights):
            return torch.zeros(*tgt_in.shape, VOCAB), None

        def start(self, memory):
            return {}

        def step(self, memory, state, tokens, *, with_weights=False):
            return torch.zeros(len(tokens), VOCAB), state, None

    model, batch = Constant(Config(vocab_size=VOCAB)), batch_of()
    assert model(batch.src, batch.src_lengths, batch.tgt_in).shape == (*batch.tgt_in.shape, VOCAB)
    memory = model.encode(batch.src, batch.src_lengths)
    assert model.step(memory, model.start(memory), batch.tgt_in[:, 0])[0].shape == (len(SOURCES), VOCAB)
    del Constant.step
    with pytest.raises(NotImplementedError, match=r"Constant .*`advance`"):
        model.step(memory, model.start(memory), batch.tgt_in[:, 0])


# ---- parameters: stored, trained


@every_system
def test_saving_and_loading_is_exact(name, tmp_path):
    model, batch = small(name).float(), batch_of()
    save_file(model.state_dict(), tmp_path / "model.safetensors")
    other = small(name, seed=1).float()
    assert not torch.equal(forward(other, batch), forward(model, batch))
    other.load_state_dict(load_file(tmp_path / "model.safetensors"))
    assert torch.equal(forward(other, batch), forward(model, batch))


@pytest.mark.parametrize("tied", [True, False], ids=["tied", "untied"])
@every_gradient_trained
def test_every_parameter_gets_a_gradient(name, tied):
    """Larger than rounding error, which remains where a softmax cancels a gradient."""
    _, gradients = loss_and_gradients(small(name, tied=tied), batch_of())
    assert all(gradient is not None and gradient.isfinite().all() for gradient in gradients.values())
    sizes = {key: gradient.abs().max().item() for key, gradient in gradients.items()}
    assert not {key: size for key, size in sizes.items() if size < 1e-7 * max(sizes.values())}


@every_gradient_trained
def test_dropout_is_applied_only_in_training(name):
    plain, dropping, batch = small(name), small(name, dropout=0.5), batch_of()
    dropping.load_state_dict(plain.state_dict())
    assert torch.equal(forward(dropping, batch), forward(plain, batch))
    dropping.train()
    assert not torch.allclose(forward(dropping, batch), forward(dropping, batch))
    assert_close(forward(plain.train(), batch), forward(plain.eval(), batch))


@every_gradient_trained
def test_every_dropout_is_used_in_training(name):
    """Also between recurrent layers, if there are two."""
    more = {"n_layers": 2} if hasattr(small(name).config, "n_layers") else {}
    model, used = small(name, dropout=0.5, **more).train(), set()
    dropouts = {path: part for path, part in model.named_modules() if isinstance(part, nn.Dropout) and part.p}
    for path, part in dropouts.items():
        part.register_forward_hook(lambda *_, path=path: used.add(path))
    forward(model, batch_of())
    assert used == dropouts.keys()
    for part in model.modules():
        assert not isinstance(part, Recurrent) or part.dropout.p == (0.5 if len(part.layers) > 1 else 0.0)


def test_eval_mode_restores_the_mode_of_each_part():
    """A part that was frozen by hand stays frozen."""
    model = small("transformer").train()
    model.encoder.eval()
    before = {path: part.training for path, part in model.named_modules()}
    with pytest.raises(ZeroDivisionError), eval_mode(model):
        assert not any(part.training for part in model.modules())
        raise ZeroDivisionError
    assert {path: part.training for path, part in model.named_modules()} == before


@every_decoder
def test_calls_leave_no_state_on_the_model(name):
    model, batch = small(name), batch_of()
    before = {key: set(vars(part)) for key, part in model.named_modules()}
    first = decode(model, batch)[0]
    decode_stepwise(model, batch)
    assert torch.equal(decode(model, batch)[0], first)
    assert {key: set(vars(part)) for key, part in model.named_modules()} == before


# ---- other dtypes, the meta device, compilation


@every_system
def test_float32_is_close_to_float64(name):
    model, batch = small(name), batch_of()
    exact = forward(model, batch)
    single = forward(model.float(), batch)
    assert single.dtype == torch.float32
    torch.testing.assert_close(single.double(), exact, rtol=1e-4, atol=1e-4)


@pytest.mark.filterwarnings("ignore:mkldnn_matmul failed")  # a CPU without bfloat16 support
@pytest.mark.slow
@every_form
@torch.no_grad()
def test_bfloat16_is_close_to_float32(name):
    """As dtype or under autocast, at once or step by step, within its 8 bits of precision."""
    model, batch = small(name).float(), batch_of()
    exact = forward(model, batch)[batch.loss_mask]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        mixed = [run(model, batch)[0] for run in (decode, decode_stepwise)]
    half, weights = decode(model.bfloat16(), batch)
    assert name.startswith("ngram_lm") or half.dtype == torch.bfloat16
    assert weights is None or weights.dtype == torch.bfloat16
    for logits in (*mixed, half):
        torch.testing.assert_close(
            logits[batch.loss_mask].float(), exact, rtol=0, atol=0.3 * float(exact.std())
        )


@pytest.mark.slow
@every_system
def test_no_value_is_read_during_a_call(name):
    """Reading one would synchronise a GPU, and fails in a CUDA graph. The meta device has no values."""
    model, batch = small(name).to("meta"), batch_of([[5], []], [[7], []]).to("meta")
    logits = forward(model, batch)
    if logits.requires_grad:
        logits.sum().backward()
    if name in DECODERS:
        assert decode(model, batch)[0].shape == decode_stepwise(model, batch)[0].shape == (2, 2, VOCAB)


# Its Dynamo can't trace the cells' question whether a device has autocast.
OLD = pytest.mark.skipif(torch.__version__ < "2.12", reason="Dynamo of torch 2.11")


# torch 2.11 warns about its own code when its compiler is loaded.
@pytest.mark.filterwarnings("ignore:.*script_method.*:DeprecationWarning")
@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        *("transformer", "mlp_lm"),
        *(pytest.param(name, marks=pytest.mark.nightly) for name in ("transformer_lm", "convs2s")),
        pytest.param("lstmn_deep", marks=(OLD, pytest.mark.nightly)),
    ],
)
def test_a_compiled_model_has_one_graph_and_equal_outputs(name):
    """Only systems without torch's RNN, LSTM or GRU, which Dynamo doesn't support."""
    model, batch = small(name), batch_of([[5, 6], [7]], [[5, 9], [7]])
    torch.compiler.reset()
    assert_close(forward(torch.compile(model, fullgraph=True, backend="eager"), batch), forward(model, batch))


# ---- shapes


def annotated(checked, name: str):
    """A system whose annotations, and those of its layers, are enforced by jaxtyping and beartype."""
    registry = checked["models.registry"]
    return registry.build(name, registry.make_config(name, scale="tiny", vocab_size=VOCAB))


@every_system
def test_shapes_match_the_annotations(checked, name):
    model, batch = annotated(checked, name), batch_of()
    if name == "self_attentive":
        assert forward(model, batch).shape == (4, 2)
        return
    assert forward(model, batch).shape == (*batch.tgt_in.shape, VOCAB)
    decode(model, batch)
    decode_stepwise(model, batch)
    leading, state = start(model, batch)
    model.step(*leading, state, batch.tgt_in[:, 0])


# ---- wrong inputs


@every_system
def test_wrong_inputs_raise_errors(name):
    model, batch = small(name), batch_of()
    src, lengths, tgt_in, long = batch.src, batch.src_lengths, batch.tgt_in, torch.full((1, 17), 7)
    wrong_calls = {}
    if hasattr(model, "encode"):
        wrong_calls |= {
            r"sentences .*ids from 0 to 16, but got 29": (src + VOCAB, lengths),
            r"sentences .*ids from 0 to 16, but got -1": (src - 1, lengths),
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
        wrong_calls = {message: (model.encode, *arguments) for message, arguments in wrong_calls.items()}
        model.encode(src.int(), lengths)
    if hasattr(model, "step"):
        leading, state = start(model, batch)
        model_decode, model_step = partial(model.decode, *leading), partial(model.step, *leading, state)
        wrong_calls |= {
            r"tgt_in .*ids from 0 to 16, but got 30": (model_decode, tgt_in + VOCAB),
            r"tgt_in .*ids from 0 to 16, but got -2": (model_decode, tgt_in - 2),
            r"shape \(batch, tgt\), but got torch.float32": (model_decode, tgt_in.float()),
            r"shape \(batch, tgt\), but got torch.int64 \(1, 4, 9\)": (model_decode, tgt_in[None]),
            r"at least one sentence.*got \(4, 0\)": (model_decode, tgt_in[:, :0]),
            r"tgt_in of at most 16 tokens.*got 17": (model_decode, long),
            r"tokens .*ids from 0 to 16, but got 17": (model_step, tgt_in[:, 0] + 15),
            r"shape \(batch\), but got torch.float32": (model_step, tgt_in[:, 0].float()),
            r"shape \(batch\), but got torch.int64 \(4, 9\)": (model_step, tgt_in),
        }
        with pytest.raises(ValueError, match="at most 16 tokens"):  # shapes are checked without values
            small(name).to("meta").decode(*({} for _ in leading), long.to("meta"))
    for message, (call, *arguments) in wrong_calls.items():
        with pytest.raises(ValueError, match=message):
            call(*arguments)


@every_form
@torch.no_grad()
def test_sentences_of_max_len_work_and_one_more_step_works_or_raises_an_error(name):
    model, batch = small(name), batch_of([[7] * 15], [[7] * 15])
    assert batch.src.shape[1] == batch.tgt_in.shape[1] == model.config.max_len
    whole, stepped = decode(model, batch)[0], decode_stepwise(model, batch)[0]
    assert whole.isfinite().all()
    assert_close(stepped, whole)
    leading, state = start(model, batch)
    for word in batch.tgt_in.unbind(dim=1):
        logits, state, _ = model.step(*leading, state, word)
    try:
        logits, state, _ = model.step(*leading, state, word)
    except ValueError as error:
        assert "max_len" in str(error)
    assert logits.isfinite().all()


# ---- learning


@pytest.mark.slow
@every_decoder
def test_a_model_can_overfit_four_sentences(name):
    """Greedy decoding reproduces each of them after at most 250 steps of Adam, or after counting."""
    batch, vocab_size = eight_sentences(one_language=name not in TRANSLATORS)
    batch = batch.map(lambda rows: rows[:4])
    torch.manual_seed(0)
    model = build(name, make_config(name, scale="tiny", vocab_size=vocab_size))

    def is_exact() -> bool:
        with torch.no_grad():
            return torch.equal(
                torch.where(batch.loss_mask, decode_greedily(model, batch), PAD), batch.tgt_out
            )

    assert not is_exact()
    if system(name).counts:
        model.fit([row[row > EOS].tolist() for row in batch.tgt_in])
        assert is_exact()
        return
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for step in range(1, 251):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(*logits_and_labels(model, batch)).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 10 == 0 and is_exact():
            return
    raise AssertionError(f"{name} does not reproduce them after 250 steps")
