"""What is read off a Transformer's heads, against its formulas."""

from __future__ import annotations

import torch

from course_lib.models.registry import build, make_config
from course_lib.text.batch import make_batch
from course_lib.text.special import PAD
from course_lib.translation.inside import (
    attentions,
    cut_by_row,
    likeness,
    said_by_row,
    silent,
    spreads,
    switched_off,
)  # fmt: skip
from course_lib.translation.search import greedy

BATCH = make_batch([[5, 6, 7, 8], [9, 5]], [[6, 7, 8], [9, 9, 9, 9]])


def made():
    torch.manual_seed(0)
    return build("transformer", make_config("transformer", scale="tiny", vocab_size=20)).eval()


@torch.no_grad()
def logits(model):
    return model(BATCH.src, BATCH.src_lengths, BATCH.tgt_in)


def test_a_silent_head_says_nothing_and_then_speaks_again():
    model = made()
    before = logits(model)
    use, layer, heads = next(iter(attentions(model)))
    assert (use, layer) == ("encoder", 0)
    with silent(heads, 1):
        width = heads.w_output.shape[1] // heads.n_heads
        assert heads.w_output[:, width : 2 * width].eq(0).all() and not heads.w_output[:, :width].eq(0).any()
        assert not torch.allclose(logits(model), before)
    assert torch.equal(logits(model), before)


def test_each_row_has_heads_and_widths_of_its_own():
    """The first row is whole; in the second a head of the first attention is silent, or all queries are 0."""
    model, whole = made(), logits(made())
    n_heads, looks = model.config.n_heads, [heads for _, _, heads in attentions(model)]
    heard = torch.ones(2, len(looks), n_heads, dtype=torch.bool)
    heard[1, 0, 1] = False
    with cut_by_row(model, heard):
        found = logits(model)
    with silent(looks[0], 1):
        torch.testing.assert_close(found[1], logits(model)[1])
    torch.testing.assert_close(found[0], whole[0])
    wide = torch.ones(2, looks[0].w_query.shape[0] // n_heads, dtype=torch.bool)
    wide[1] = False
    with cut_by_row(model, torch.ones_like(heard), wide=wide):
        found = logits(model)
    torch.testing.assert_close(found[0], whole[0])
    with torch.no_grad():
        for heads in looks:
            heads.w_query.zero_()
    torch.testing.assert_close(found[1], logits(model)[1])


@torch.no_grad()
def test_said_by_row_is_greedy():
    model = made()
    memory = model.encode(BATCH.src, BATCH.src_lengths)
    expected = greedy(model, memory, max_len=8).ids
    said = said_by_row(model, memory, max_len=8)
    real = expected != PAD
    assert torch.equal(said[:, : expected.shape[1]][real], expected[real]) and real.any()


def test_every_head_is_switched_off_once():
    model = made()
    found = switched_off(model, lambda: float(logits(model).sum()))
    config = model.config
    assert len(found) == 3 * config.n_layers * config.n_heads
    assert len({one["measured"] for one in found}) == len(found)  # each makes a difference of its own
    assert len({(one["use"], one["layer"], one["head"]) for one in found}) == len(found)


def test_spreads_are_those_of_the_scores():
    """Read off the weights, against scores made by hand, for the first layer of the encoder."""
    model = made()
    found = spreads(model, [BATCH])["encoder"][0]
    x = model.source_positions.add(model.words.source(BATCH.src))
    block = model.encoder.blocks[0]
    query, keys, _ = block.attention.project(block.around_attention.before(x))
    scores = query @ keys.mT / query.shape[-1] ** 0.5
    expected = torch.zeros(model.config.n_heads)
    n = 0
    for sentence, length in enumerate(BATCH.src_lengths.tolist()):
        own = scores[sentence, :, :length, :length]
        if length >= 3:
            expected += own.std(dim=-1, correction=0).sum(dim=-1)
            n += length
    torch.testing.assert_close(torch.tensor(found), expected / n, atol=1e-4, rtol=1e-4)


def test_likeness_is_the_mean_cosine_of_two_words():
    model = made().requires_grad_(False)
    found = likeness(model, [BATCH])
    assert len(found) == 1 + model.config.n_layers
    states = model.source_positions.add(model.words.source(BATCH.src))
    cosines = []
    for sentence, length in enumerate(BATCH.src_lengths.tolist()):
        for i in range(length):
            for j in range(length):
                if i != j:
                    cosines.append(torch.cosine_similarity(states[sentence, i], states[sentence, j], dim=0))
    assert abs(found[0] - float(torch.stack(cosines).mean())) < 1e-5
