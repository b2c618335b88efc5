"""The Transformer, compared with `nn.Transformer` with copied weights, and its own properties."""

from __future__ import annotations

from collections import Counter

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from course_lib.layers.positions import sinusoids
from course_lib.models.transformer import Transformer, TransformerConfig
from course_lib.models.transformer_lm import TransformerLM

VOCAB, D_MODEL, N_HEADS, D_FF, N_LAYERS = 23, 24, 3, 40, 2
SRC = torch.tensor([[5, 6, 7, 8, 9, 3], [4, 3, 0, 0, 0, 0], [11, 12, 13, 3, 0, 0]])
LENGTHS = torch.tensor([6, 2, 4])
TGT = torch.tensor([[2, 5, 9, 9, 4], [2, 7, 0, 0, 0], [2, 8, 6, 0, 0]])
REAL = TGT != 0


def config(**changes) -> TransformerConfig:
    sizes = {"vocab_size": VOCAB, "d_model": D_MODEL, "n_heads": N_HEADS, "d_ff": D_FF, "n_layers": N_LAYERS}
    return TransformerConfig(**{**sizes, "max_len": 12, **changes})


def made(**changes) -> Transformer:
    torch.manual_seed(0)
    return Transformer(config(**changes)).double()


# ---- comparison with torch


def torch_transformer(*, pre_norm: bool) -> nn.Transformer:
    """nn.Transformer without the extra final norm that it adds to post-norm stacks by default."""
    sizes = {
        "d_model": D_MODEL,
        "nhead": N_HEADS,
        "dim_feedforward": D_FF,
        "dropout": 0.0,
        "batch_first": True,
        "norm_first": pre_norm,
    }
    final_norm = (lambda: nn.LayerNorm(D_MODEL)) if pre_norm else (lambda: None)
    encoder = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(**sizes), N_LAYERS, norm=final_norm(), enable_nested_tensor=False
    )
    decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(**sizes), N_LAYERS, norm=final_norm())
    return nn.Transformer(
        d_model=D_MODEL, nhead=N_HEADS, custom_encoder=encoder, custom_decoder=decoder, batch_first=True
    ).double()


def copy_into(theirs: nn.Transformer, ours: Transformer) -> None:
    """Copy our weights, with added noise so that norms and biases matter; their attention biases are 0."""
    with torch.no_grad():
        for parameter in ours.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.1)
        for our_stack, their_stack in ((ours.encoder, theirs.encoder), (ours.decoder, theirs.decoder)):
            for block, layer in zip(our_stack.blocks, their_stack.layers, strict=True):
                attentions = [(block.attention, layer.self_attn)]
                paths = [block.around_attention, block.around_feed_forward]
                if block.cross is not None:
                    attentions.append((block.cross, layer.multihead_attn))
                    paths.insert(1, block.around_cross)
                for heads, other in attentions:
                    other.in_proj_weight.copy_(torch.cat([heads.w_query, heads.w_key, heads.w_value]))
                    other.out_proj.weight.copy_(heads.w_output)
                    other.in_proj_bias.zero_()
                    other.out_proj.bias.zero_()
                for number, path in enumerate(paths, start=1):
                    getattr(layer, f"norm{number}").load_state_dict(path.norm.state_dict())
                layer.linear1.load_state_dict(block.feed_forward.inner.state_dict())
                layer.linear2.load_state_dict(block.feed_forward.outer.state_dict())
            if our_stack.last_norm is not None:
                their_stack.norm.load_state_dict(our_stack.last_norm.state_dict())


@pytest.mark.parametrize("pre_norm", [True, False])
def test_equals_nn_transformer_encoder_decoder_logits_and_gradients(pre_norm):
    ours, theirs = made(pre_norm=pre_norm), torch_transformer(pre_norm=pre_norm)
    copy_into(theirs, ours)
    padding = torch.arange(SRC.shape[1]) >= LENGTHS[:, None]
    table = ours.words.output.weight.detach().clone().requires_grad_()
    waves = sinusoids(12, D_MODEL).double()

    def embed(tokens):
        return F.embedding(tokens, table) * D_MODEL**0.5 + waves[: tokens.shape[1]]

    encoded = theirs.encoder(embed(SRC), src_key_padding_mask=padding)
    decoded = theirs.decoder(
        embed(TGT),
        encoded,
        tgt_mask=torch.ones(TGT.shape[1], TGT.shape[1], dtype=torch.bool).triu(1),
        memory_key_padding_mask=padding,
    )
    expected = F.linear(decoded, table, ours.words.output.bias.detach())

    memory = ours.encode(SRC, LENGTHS)
    for layer, block in enumerate(ours.decoder.blocks):  # the source's keys and values in each layer
        keys, values = block.cross.project_source(encoded)
        for row, length in enumerate(LENGTHS):
            torch.testing.assert_close(memory["keys"][row, layer, :, :length], keys[row, :, :length])
            torch.testing.assert_close(memory["values"][row, layer, :, :length], values[row, :, :length])
    for with_weights in (False, True):
        logits, _ = ours.decode(memory, TGT, with_weights=with_weights)
        torch.testing.assert_close(logits[REAL], expected[REAL])

    upstream = torch.randn(expected[REAL].shape, dtype=torch.float64)
    logits[REAL].backward(upstream)
    expected[REAL].backward(upstream)
    torch.testing.assert_close(ours.words.output.weight.grad, table.grad)
    first = ours.encoder.blocks[0].attention
    torch.testing.assert_close(
        torch.cat([first.w_query.grad, first.w_key.grad, first.w_value.grad]),
        theirs.encoder.layers[0].self_attn.in_proj_weight.grad,
    )


@pytest.mark.slow
def test_the_number_of_parameters_of_the_papers_base_model():
    """65 million in the paper's table, with a vocabulary of about 37,000."""
    with torch.device("meta"):
        base = Transformer(
            config(vocab_size=37_000, d_model=512, n_heads=8, d_ff=2048, n_layers=6, pre_norm=False)
        )
    n_parameters = sum(parameter.numel() for parameter in base.parameters())
    attention, feed_forward, norm = 4 * 512 * 512, 2 * 512 * 2048 + 2048 + 512, 2 * 512
    encoder, decoder = attention + feed_forward + 2 * norm, 2 * attention + feed_forward + 3 * norm
    assert n_parameters == 6 * (encoder + decoder) + 37_000 * 512 + 37_000
    assert 60e6 < n_parameters < 66e6


# ---- its own properties


def test_a_leaky_mask_also_allows_the_next_word():
    system = made(leaky=True)
    memory = system.encode(SRC[:1], LENGTHS[:1])
    tgt = TGT[:1]
    before = system.decode(memory, tgt)[0]
    changed = tgt.clone()
    changed[0, 3] = 11
    affected = (system.decode(memory, changed)[0] - before).abs().amax(dim=-1)[0] > 1e-9
    # Each of the two layers leaks one word; all later words are affected anyway.
    assert affected.tolist() == [False, True, True, True, True]
    assert not torch.allclose(made().decode(memory, tgt)[0], before)


def test_without_residual_connections_a_layer_with_output_zero_erases_everything():
    residual, plain = made(), made(residual=False)
    for system in (residual, plain):
        for block in system.encoder.blocks:
            torch.nn.init.zeros_(block.feed_forward.outer.weight)
    keys = [system.encode(SRC, LENGTHS)["keys"] for system in (residual, plain)]
    assert keys[0].abs().max() > 0.1 and keys[1].abs().max() == 0


def test_the_cache_shrinks_with_the_number_of_key_heads():
    def cache_size(**changes):
        system = made(**changes)
        memory = system.encode(SRC, LENGTHS)
        return system.step(memory, system.start(memory), TGT[:, 0])[1]["keys"].numel()

    assert cache_size() == 3 * cache_size(n_kv_heads=1)


def test_attention_weights_has_three_kinds_that_respect_their_masks():
    system = made().eval()
    kinds = system.attention_weights(SRC, LENGTHS, TGT)
    src, tgt = SRC.shape[1], TGT.shape[1]
    front = (len(SRC), N_LAYERS, N_HEADS)
    assert {name: tuple(weights.shape) for name, weights in kinds.items()} == {
        "encoder": (*front, src, src),
        "decoder": (*front, tgt, tgt),
        "cross": (*front, tgt, src),
    }
    _, cross = system.decode(system.encode(SRC, LENGTHS), TGT, with_weights=True)
    torch.testing.assert_close(kinds["cross"], cross)
    for weights in kinds.values():
        torch.testing.assert_close(weights.sum(dim=-1), torch.ones_like(weights[..., 0]))
    padding = (torch.arange(src) >= LENGTHS[:, None])[:, None, None, None]
    for name in ("encoder", "cross"):
        assert kinds[name].masked_select(padding.expand_as(kinds[name])).eq(0).all()
        assert kinds[name].masked_select(~padding.expand_as(kinds[name])).gt(0).all()
    assert kinds["decoder"].triu(1).eq(0).all()


def test_only_positions_encode_the_order():
    """Swapping two source words changes the output, unless the rotation angles are 0."""
    swapped = SRC.clone()
    swapped[0, [0, 1]] = SRC[0, [1, 0]]
    for kind in ("sinusoidal", "learned", "rotary"):
        system = made(positions=kind).eval()
        assert not torch.allclose(system(swapped, LENGTHS, TGT)[0], system(SRC, LENGTHS, TGT)[0])
    without_order = made(positions="rotary").eval()
    without_order.source_positions.sin.zero_()
    without_order.source_positions.cos.fill_(1.0)
    torch.testing.assert_close(without_order(swapped, LENGTHS, TGT)[0], without_order(SRC, LENGTHS, TGT)[0])


def test_without_target_positions_only_the_source_has_an_order():
    """With a single layer, what a word attends to doesn't depend on the order of the words before it."""
    system = made(target_positions="none", n_layers=1).eval()
    swapped_src, swapped_tgt = SRC[:, [1, 0, 2, 3, 4, 5]], TGT[:, [0, 2, 1, 3, 4]]
    logits = system(SRC, LENGTHS, TGT)[0]
    torch.testing.assert_close(system(SRC, LENGTHS, swapped_tgt)[0, 3:], logits[3:])
    assert not torch.allclose(system(swapped_src, LENGTHS, TGT)[0, 3:], logits[3:])
    with_positions = made(n_layers=1).eval()
    logits = with_positions(SRC, LENGTHS, TGT)[0]
    assert not torch.allclose(with_positions(SRC, LENGTHS, swapped_tgt)[0, 3:], logits[3:])


def test_dropout_is_applied_to_embeddings_residual_connections_and_feed_forward_layers():
    system, shapes = made(dropout=0.4, ff_dropout=0.2), Counter()
    for module in system.modules():
        if isinstance(module, nn.Dropout) and module.p > 0:
            module.register_forward_hook(lambda _, inputs, __: shapes.update([tuple(inputs[0].shape[1:])]))
    system(SRC, LENGTHS, TGT)
    src, tgt = SRC.shape[1], TGT.shape[1]
    assert shapes == {
        (src, D_MODEL): 1 + 2 * N_LAYERS,  # embeddings; attention and feed-forward in each layer
        (tgt, D_MODEL): 1 + 3 * N_LAYERS,  # and cross-attention
        (src, D_FF): N_LAYERS,
        (tgt, D_FF): N_LAYERS,
    }


def test_the_language_model_has_no_parameters_for_a_source():
    names = [name for name, _ in TransformerLM(config(tied=False)).named_parameters()]
    assert not any("cross" in name or "source" in name for name in names)


def test_the_output_scale_multiplies_what_is_added_to_the_residual_stream():
    plain, scaled = made().state_dict(), made(output_scale=0.25).state_dict()
    outputs = [name for name in plain if name.endswith(("w_output", "feed_forward.outer.weight"))]
    assert len(outputs) == 5 * N_LAYERS
    for name, weights in plain.items():
        torch.testing.assert_close(scaled[name], 0.25 * weights if name in outputs else weights)
    with pytest.raises(ValueError, match="output_scale to be a number above 0"):
        config(output_scale=0.0)
