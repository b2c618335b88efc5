"""The RCTM, compared with the paper's formulas for one sentence, and its number of parameters."""

from __future__ import annotations

import torch
from torch.nn import functional as F

from course_lib.models.rctm import RCTM, RCTMConfig

VOCAB, EMBED, HIDDEN, MAX_LEN = 17, 6, 9, 11
SRC = torch.tensor([[5, 9, 4, 11, 7, 3], [8, 3, 0, 0, 0, 0], [3, 0, 0, 0, 0, 0], [6, 12, 6, 3, 0, 0]])
LENGTHS = torch.tensor([6, 2, 1, 4])
TGT = torch.tensor([[2, 7, 10, 4], [2, 5, 13, 0], [2, 9, 9, 9], [2, 0, 0, 0]])


def rctm(**changes) -> RCTM:
    torch.manual_seed(0)
    sizes = {"vocab_size": VOCAB, "embed": EMBED, "hidden": HIDDEN, "max_len": MAX_LEN}
    model = RCTM(RCTMConfig(**(sizes | changes))).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))  # no parameter is 0
    return model


def by_the_paper(model: RCTM, src, tgt):
    """One sentence, word by word, with the paper's symbols."""
    table = model.words.output.weight
    columns, kernels = (
        (table[src] * EMBED**0.5)[None],
        list(model.folding.kernels.split(model.folding.widths, 1)),
    )
    while columns.shape[1] > 1:
        kernel = kernels.pop(0)[:, : columns.shape[1]]  # (embed, width), truncated where it is too wide
        columns = torch.tanh((columns.unfold(1, kernel.shape[1], 1) * kernel).sum(dim=-1))
    weights = dict(model.decoder.named_parameters())
    (ih,) = (value for name, value in weights.items() if "weight_ih" in name)
    (R,) = (value for name, value in weights.items() if "weight_hh" in name)
    bias = sum(value for name, value in weights.items() if "bias" in name)
    I, S = ih[:, :EMBED], ih[:, EMBED:]  # noqa: E741
    s, h, logits = S @ columns[0, 0], torch.zeros(HIDDEN, dtype=torch.float64), []
    for word in tgt:
        h = torch.tanh(I @ (table[word] * EMBED**0.5) + R @ h + s + bias)
        logits.append(model.words.output(model.to_embed(h)))
    return torch.stack(logits)


def test_equals_the_papers_formulas():
    model = rctm()
    logits = model(SRC, LENGTHS, TGT)
    for row, length in enumerate(LENGTHS):
        torch.testing.assert_close(logits[row], by_the_paper(model, SRC[row, :length], TGT[row]))


def test_the_longest_source_uses_every_kernel():
    model = rctm()
    longest = torch.arange(4, 4 + MAX_LEN)[None]
    logits = model(longest, torch.tensor([MAX_LEN]), TGT[:1])
    F.cross_entropy(logits[0], TGT[0]).backward()
    for grad in model.folding.kernels.grad.split(model.folding.widths, dim=1):
        assert grad.any()


def test_the_number_of_encoder_parameters():
    """`embed` numbers for each column of each kernel: 2 + 3 + 4 + 5 columns for up to 11 words."""
    assert sum(parameter.numel() for parameter in rctm().folding.parameters()) == EMBED * (2 + 3 + 4 + 5)
