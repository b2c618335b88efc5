"""The spreads recovered from the weights are those of the scores."""

from __future__ import annotations

import pytest
import torch

from course_lib.models.registry import build, make_config
from course_lib.text.batch import make_batch
from lessons.l08_query_key_value.score_spread import spreads

BATCH = make_batch([[5, 6, 7, 8], [9, 5]], [[6, 7, 8], [9, 9, 9, 9]])


@pytest.fixture
def model():
    torch.manual_seed(0)
    return build("transformer", make_config("transformer", scale="tiny", vocab_size=20)).eval()


@torch.no_grad()
def test_spreads_are_those_of_the_scores(model):
    """Compared with scores computed directly, for the first layer of the encoder."""
    x = model.source_positions.add(model.words.source(BATCH.src))
    block = model.encoder.blocks[0]
    query, keys, _ = block.attention.project(block.around_attention.before(x))
    long = (query @ keys.mT / query.shape[-1] ** 0.5)[0, :, :5, :5]
    short = (query @ keys.mT / query.shape[-1] ** 0.5)[1, :, :3, :3]
    sums = [scores.std(dim=-1, correction=0).sum(dim=-1) for scores in (long, short)]
    first_layer = torch.tensor(spreads(model, [BATCH])["encoder"][0])
    torch.testing.assert_close(first_layer, sum(sums) / 8, atol=1e-4, rtol=1e-4)
