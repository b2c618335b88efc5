"""ConvS2S, compared with the paper's formulas for one sentence, and its receptive fields."""

from __future__ import annotations

import math

import pytest
import torch
from torch.nn import functional as F

from course_lib.models.convs2s import ConvS2S, ConvS2SConfig

VOCAB, EMBED, HIDDEN, LAYERS, WIDTH, MAX_LEN = 17, 6, 8, 2, 3, 12
SRC = torch.tensor([[5, 9, 4, 11, 7, 3], [8, 3, 0, 0, 0, 0], [3, 0, 0, 0, 0, 0], [6, 12, 6, 3, 0, 0]])
LENGTHS = torch.tensor([6, 2, 1, 4])
TGT = torch.tensor([[2, 7, 10, 4], [2, 5, 13, 0], [2, 9, 9, 9], [2, 0, 0, 0]])


def convs2s(*, add_noise: bool = True, **changes) -> ConvS2S:
    torch.manual_seed(0)
    sizes = {"vocab_size": VOCAB, "embed": EMBED, "hidden": HIDDEN, "n_layers": LAYERS, "max_len": MAX_LEN}
    model = ConvS2S(ConvS2SConfig(**(sizes | changes))).double().eval()
    with torch.no_grad():
        for parameter in model.parameters() if add_noise else ():
            parameter.add_(0.3 * torch.randn_like(parameter))  # no bias is 0, no softmax uniform
    return model


def by_the_paper(model: ConvS2S, src, tgt, width=WIDTH):
    """One sentence without padding, (len, ...) throughout: (logits, weights)."""
    half, table = math.sqrt(0.5), model.words.output.weight

    def embed(tokens, positions):
        return 0.1 * math.sqrt(EMBED) * table[tokens] + positions.weight[: len(tokens)]

    def gated(layer, x, before):
        x = F.pad(x, (0, 0, before, width - 1 - before))
        return F.glu(F.conv1d(x.T[None], layer.convolution.weight, layer.convolution.bias)[0].T, dim=-1)

    e = embed(src, model.source_positions)
    x = model.source_to_hidden(e)
    for layer in model.encoder:
        x = (gated(layer, x, (width - 1) // 2) + x) * half
    z = model.source_to_embed(x)

    g = embed(tgt, model.target_positions)
    x, weights, m = model.target_to_hidden(g), [], len(src)
    for layer, attention in zip(model.decoder, model.attention, strict=True):
        h = gated(layer, x, width - 1)
        d = (attention.to_query(h) + g) * half
        a = (d @ z.T).softmax(dim=-1)
        c = a @ ((z + e) * half) * m * math.sqrt(1 / m)
        x = ((h + attention.to_hidden(c)) * half + x) * half
        weights.append(a)
    return model.words.output(model.target_to_embed(x)), torch.stack(weights)[:, None]


# ---- equal to the formulas


@pytest.mark.parametrize("width", [1, 2, 3, 5])
def test_equals_the_papers_formulas(width):
    model = convs2s(width=width)
    logits, weights = model.decode(model.encode(SRC, LENGTHS), TGT, with_weights=True)
    assert weights.shape == (4, LAYERS, 1, 4, 6)
    for row, length in enumerate(LENGTHS):
        expected, expected_weights = by_the_paper(model, SRC[row, :length], TGT[row], width)
        torch.testing.assert_close(logits[row], expected)
        torch.testing.assert_close(weights[row, ..., :length], expected_weights)
        assert weights[row, ..., length:].eq(0).all()


def test_the_fused_attention_equals_ours_with_gradients():
    gradients = []
    for with_weights in (False, True):
        model = convs2s()
        logits, _ = model.decode(model.encode(SRC, LENGTHS), TGT, with_weights=with_weights)
        logits.square().sum().backward()
        gradients.append({name: parameter.grad for name, parameter in model.named_parameters()})
    torch.testing.assert_close(*gradients)


# ---- receptive fields


def test_an_output_depends_only_on_the_target_words_in_its_receptive_field():
    """Unlike an RNN, it has no state that carries information further."""
    model, field = convs2s(), 5  # each of two layers adds one word to each side
    tgt = torch.arange(4, 13)[None]
    memory = model.encode(SRC[:1], LENGTHS[:1])
    before, _ = model.decode(memory, tgt)
    for position in range(tgt.shape[1]):
        changed = tgt.clone()
        changed[0, position] = 2
        after, _ = model.decode(memory, changed)
        affected = (after - before).abs().amax(dim=-1)[0].gt(1e-9).nonzero().flatten().tolist()
        assert affected == list(range(position, min(position + field, tgt.shape[1])))


def test_a_source_state_depends_only_on_its_neighbours():
    model, reach = convs2s(), 2
    src, lengths = torch.arange(4, 13)[None], torch.tensor([9])
    before = model.encode(src, lengths)["keys"]
    for position in range(9):
        changed = src.clone()
        changed[0, position] = 2
        affected = (model.encode(changed, lengths)["keys"] - before).abs().amax(dim=-1)[0].gt(1e-9)
        expected = list(range(max(0, position - reach), min(9, position + reach + 1)))
        assert affected.nonzero().flatten().tolist() == expected


# ---- initialisation and dropout


def test_the_initial_attention_is_nearly_uniform():
    model = convs2s(add_noise=False, embed=256, hidden=256, n_layers=4)
    _, weights = model.decode(model.encode(SRC[:1], LENGTHS[:1]), TGT[:1], with_weights=True)
    assert weights.min() > 0.5 / 6 and weights.max() < 2 / 6


def test_the_initial_weights_compensate_for_dropout_and_gates():
    """The variances of the paper's section 3.5, with p the probability of keeping a number."""
    size, width, p = 256, 5, 0.6
    model = convs2s(add_noise=False, embed=size, hidden=size, width=width, dropout=1 - p)
    variances = {
        **{layer.convolution: 4 * p / (width * size) for layer in (*model.encoder, *model.decoder)},
        **dict.fromkeys((model.source_to_hidden, model.target_to_hidden), p / size),
        **dict.fromkeys((model.source_to_embed, model.target_to_embed), 1 / size),
        **dict.fromkeys((part for layer in model.attention for part in layer.children()), 1 / size),
    }
    assert len(variances) == 4 * LAYERS + 4
    for layer, variance in variances.items():
        assert layer.weight.var().item() == pytest.approx(variance, rel=0.03)
        assert layer.weight.mean().item() == pytest.approx(0, abs=0.02 * math.sqrt(variance))
        assert layer.bias.eq(0).all()


def test_dropout_is_applied_to_embeddings_before_every_convolution_and_before_the_output():
    model, shapes = convs2s(dropout=0.4), []
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout) and module.p > 0:
            module.register_forward_hook(lambda _, inputs, __: shapes.append(tuple(inputs[0].shape[1:])))
    model(SRC, LENGTHS, TGT)
    encoder = [(6, EMBED), *[(6, HIDDEN)] * LAYERS]
    decoder = [(4, EMBED), *[(4, HIDDEN)] * LAYERS, (4, EMBED)]
    assert shapes == encoder + decoder
