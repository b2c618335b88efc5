"""The claims of lesson 10, against data/results and live computations."""

from __future__ import annotations

import pytest
import torch

from course_lib.layers.attention import attend
from course_lib.layers.masks import causal_mask
from course_lib.text.special import BOS, EOS, PAD
from course_lib.text.toy.splits import splits
from course_lib.translation.shipped import load_shipped, shared
from lessons.l10_masks.exercises import MASKED_ATTENTION, one_step_ahead
from lessons.l10_masks.measurements import measure
from tests.lesson_claims import LessonText, assert_measured_again, means, seeds

L = LessonText("masks")
VARIANTS = ("sound", "leaky")


def test_a_new_measurement_agrees_with_the_stored_one():
    assert_measured_again(measure(), L.stored(), abs=2e-3)


def test_the_leaky_language_model_is_perfect_at_once_and_useless_word_by_word():
    at_once = {name: seeds("leak_language_model", name, "scores", "test", "perplexity") for name in VARIANTS}
    word_by_word = {name: seeds("leak_language_model", name, "word by word") for name in VARIANTS}
    assert max(at_once["leaky"]) < 1.01 and min(word_by_word["leaky"]) > 10_000_000
    assert word_by_word["sound"] == pytest.approx(at_once["sound"], rel=1e-4)
    assert len(at_once["sound"]) == len(at_once["leaky"]) == 3


def test_the_leaky_translator_has_nearly_the_same_loss_and_translates_nothing():
    loss = means("leak", "history", -1, "loss")
    assert 0 < loss["leaky"] - loss["sound"] < 0.02
    assert set(seeds("leak", "leaky", "scores", "test", "n")) == {1000}
    assert max(seeds("leak", "leaky", "scores", "test", "exact")) == 0
    assert min(seeds("leak", "sound", "scores", "test", "exact")) > 0.95


def test_the_best_language_model_is_the_one_that_is_quoted():
    perplexity = means("toy_language_models", "scores", "test", "perplexity")
    assert min(perplexity, key=perplexity.get) == "gru_lm"


def test_the_small_language_model_reads_about_two_thousand_short_sentences():
    notebook = L.run_cell(
        "data",
        torch=torch,
        load_shipped=load_shipped,
        splits=splits,
        yours=lambda name: MASKED_ATTENTION.reference,
        BOS=BOS,
        EOS=EOS,
        PAD=PAD,
    )
    vocabulary_sizes = {shared(name).tokenizer.vocab_size for name in ("transformer", "transformer_lm")}
    assert vocabulary_sizes == {notebook["VOCABULARY"]}
    assert 1800 < len(notebook["train_rows"]) < 2300


def output_at(position: int, mask: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return attend(x, x, x, mask=mask)[0][position]


def test_changing_the_future_reveals_a_leak_and_changing_one_distant_word_may_not():
    """Position 3 sees word 4 through the leak, and not word 5."""
    x = torch.randn(8, 4, generator=torch.Generator().manual_seed(0))
    changed, changed_far = x.clone(), x.clone()
    changed[4:] += 1
    changed_far[5] += 1
    sound, leaky = causal_mask(8), one_step_ahead(8)
    assert torch.equal(output_at(3, sound, x), output_at(3, sound, changed))
    assert not torch.allclose(output_at(3, leaky, x), output_at(3, leaky, changed))
    assert torch.equal(output_at(3, leaky, x), output_at(3, leaky, changed_far))


@torch.no_grad()
def test_torch_takes_our_mask_the_other_way_round():
    """Every word then attends to the future alone, and the last one to nothing: NaN."""
    torch.manual_seed(10)
    layer = torch.nn.MultiheadAttention(embed_dim=8, num_heads=1, batch_first=True)
    x, mask = torch.randn(1, 4, 8), torch.ones(4, 4).tril() == 1
    weights = layer(x, x, x, attn_mask=mask)[1][0]
    assert weights[3].isnan().all() and weights[:3][mask[:3]].sum() == 0
    torch.testing.assert_close(layer(x, x, x, attn_mask=~mask)[1][0].triu(1), torch.zeros(4, 4))
