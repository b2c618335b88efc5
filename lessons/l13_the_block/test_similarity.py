"""The similarity of words by layer, against cosines computed one by one."""

from __future__ import annotations

import pytest
import torch

from course_lib.models.registry import build, make_config
from course_lib.text.batch import make_batch
from lessons.l13_the_block.similarity import similarity_by_layer, word_similarity

BATCH = make_batch([[5, 6, 7, 8], [9, 5]], [[6, 7, 8], [9, 9, 9, 9]])


@pytest.fixture
def model():
    torch.manual_seed(0)
    return build("transformer", make_config("transformer", scale="tiny", vocab_size=20)).eval()


@torch.no_grad()
def test_similarity_is_the_mean_cosine_of_two_words(model):
    states = model.source_positions.add(model.words.source(BATCH.src))
    cosines = [
        torch.cosine_similarity(states[sentence, i], states[sentence, j], dim=0)
        for sentence, length in enumerate(BATCH.src_lengths.tolist())
        for i in range(length)
        for j in range(length)
        if i != j
    ]
    similarities = similarity_by_layer(model, [BATCH])
    assert len(similarities) == 1 + model.config.n_layers
    assert abs(similarities[0] - float(torch.stack(cosines).mean())) < 1e-5


def test_similarity_counts_no_word_with_itself():
    words = torch.tensor([[3.0, 4.0], [6.0, 8.0], [4.0, -3.0]])
    assert word_similarity(words).item() == pytest.approx(1 / 3)
    assert word_similarity(torch.stack([words, words[:1].expand(3, 2)])).item() == pytest.approx(2 / 3)
