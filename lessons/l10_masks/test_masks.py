"""The claims of lesson 10, against data/results and live computations."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable

import pytest
import torch

from course_lib.formatting import fixed
from course_lib.layers.attention import attend
from course_lib.layers.masks import causal_mask, padding_mask
from course_lib.text.special import BOS, EOS, PAD
from course_lib.translation.shipped import load_shipped, shared
from lessons.l10_masks import key_picture
from lessons.l10_masks.exercises import MASKED_ATTENTION, TRANSLATOR_MASKS, one_step_ahead
from lessons.l10_masks.mask_painter import BOTH, CAUSAL, N_REAL, PADDING, padded_sentence
from lessons.l10_masks.measurements import measure
from lessons.l10_masks.small_language_model import toy_rows, train
from tests.lesson_claims import LessonText, assert_measured_again, indices_of_true, means, seeds

L = LessonText("masks")
VARIANTS = ("sound", "leaky")


@pytest.mark.nightly
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


def test_both_correct_methods_agree_and_the_wrong_ones_harm_the_model():
    perplexity = L.stored()["perplexity"]
    assert perplexity["renormalised"] == pytest.approx(perplexity["-inf before"])
    assert min(perplexity["x 0 before"], perplexity["0 after"]) > 1.2 * perplexity["-inf before"]


def small_model() -> dict:
    """The notebook after the cell that defines the small language model."""
    given = {"torch": torch, "F": torch.nn.functional, "load_shipped": load_shipped, "toy_rows": toy_rows}
    tokens = {"BOS": BOS, "EOS": EOS, "PAD": PAD, "fixed": fixed}
    return L.run_cell("model", yours=lambda name: MASKED_ATTENTION.reference, **given, **tokens)


def test_the_small_language_model_is_trained_on_about_two_thousand_short_sentences():
    vocabulary_sizes = {shared(name).tokenizer.vocab_size for name in ("transformer", "transformer_lm")}
    assert vocabulary_sizes == {inspect.signature(train).parameters["vocabulary"].default} == {680}
    assert 1800 < len(small_model()["train_rows"]) < 2300


@pytest.mark.nightly
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_with_other_seeds_the_leaky_model_predicts_random_words_and_repeats_what_it_has(seed):
    notebook = small_model()
    rows, loss_of = notebook["train_rows"], notebook["loss_of"]
    first, second = (train(loss_of, rows, mask, seed=seed) for mask in (one_step_ahead, causal_mask))
    notebook |= {"first": first, "first_mask": one_step_ahead, "second": second, "mask": causal_mask}
    notebook = L.run_cell("writes", **notebook)
    notebook = L.run_cell("noise", **notebook)
    noise = notebook["noise"]

    def predicted(model: dict, mask: Callable[[int], torch.Tensor]) -> float:
        """The fraction of the random words that a model predicts."""
        words = notebook["logits_of"](model, noise, mask(noise.shape[1])).argmax(-1)
        return (words[:, :-1] == noise[:, 1:]).float().mean().item()

    assert 0.85 < predicted(first, one_step_ahead) < 0.95 and predicted(second, causal_mask) < 0.01
    for beginning in notebook["BEGINNINGS"]:
        words = notebook["write"](first, one_step_ahead, beginning).split()
        repeated = [word in words[:i] for i, word in enumerate(words)][len(beginning.split()) :]
        assert sum(repeated) > 0.8 * len(repeated)


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
    assert L.asked("what-true-means").right == [1]
    torch.testing.assert_close(layer(x, x, x, attn_mask=~mask)[1][0].triu(1), torch.zeros(4, 4))


# ---- answers of the quiz


def test_the_numbers_of_the_quiz():
    is_open = torch.tensor([1.0, 1.0, 0.0, 0.0])
    times_zero = (torch.tensor([0.0, 0.0, 7.0, 7.0]) * is_open).softmax(0)
    assert L.asked("zero-score-weight").answer == times_zero[0].item()
    assert L.asked("zero-after-sum").answer == (torch.zeros(4).softmax(0) * is_open).sum().item()


def test_which_masks_broadcast_to_the_scores():
    question = L.asked("mask-shapes")

    def broadcasts(option: str) -> bool:
        try:
            return torch.broadcast_shapes(ast.literal_eval(option), (2, 4, 7, 7)) == (2, 4, 7, 7)
        except RuntimeError:
            return False

    assert question.right == indices_of_true(*(broadcasts(option.text) for option in question.options))


def test_across_the_third_word_sees_the_whole_source_without_its_padding():
    length, n_places = 6, 8
    *_, cross = TRANSLATOR_MASKS.reference(torch.tensor([length]), torch.tensor([4]), n_places, 5)
    third = cross.expand(1, 5, n_places)[0, 2]
    places = torch.arange(n_places)
    options = (places < 3, places < length, places < n_places)
    assert L.asked("cross-mask").right == indices_of_true(*(torch.equal(third, option) for option in options))


def test_a_padding_mask_that_hides_rows_gives_nan_and_changes_no_word():
    """The plain formula, four words and two places of padding."""
    scores = torch.randn(6, 6, generator=torch.Generator().manual_seed(10))
    is_word = torch.arange(6) < 4
    columns, rows_too = (
        scores.masked_fill(~mask, -torch.inf).softmax(-1) for mask in (is_word, is_word & is_word[:, None])
    )
    harmless = torch.equal(columns[:4], rows_too[:4]) and not columns.isnan().any()
    assert L.asked("padded-queries").right == indices_of_true(not rows_too.isnan().any(), harmless, False)


def test_a_changed_last_word_moves_the_last_output_alone():
    x = torch.randn(5, 3, generator=torch.Generator().manual_seed(11))
    changed = x.clone()
    changed[-1] += 1
    before, after = (attend(words, words, words, mask=causal_mask(5))[0] for words in (x, changed))
    moved = (before != after).any(dim=-1).tolist()
    expected = indices_of_true(moved == [False] * 4 + [True], all(moved), not any(moved))
    assert L.asked("future-test").right == expected


def test_masks_are_joined_so_that_both_allow_it():
    padding, causal = torch.arange(4) < 3, causal_mask(4)
    allowed = torch.tensor([[j <= i and j < 3 for j in range(4)] for i in range(4)])
    joined = (padding & causal, padding | causal, (padding + causal).bool())
    assert L.asked("joined-masks").right == indices_of_true(*(torch.equal(mask, allowed) for mask in joined))
    weight_of = [(torch.tensor([0.0, score]).softmax(0)[1] == 0).item() for score in (-torch.inf, 0.0)]
    assert weight_of == [True, False] and L.asked("minus-infinity-why").right == [0]


def test_the_key_picture_has_the_weights_of_the_model_under_the_masks_of_the_library():
    model, n = shared("transformer_lm").model, len(key_picture.WORDS)
    block = model.stack.blocks[0]
    padding, causal = padding_mask(torch.tensor([N_REAL]), n), causal_mask(n)
    with torch.no_grad():
        x = block.around_attention.before(
            model.positions.add(model.words.target(padded_sentence()[None, :n]))
        )
        for name, mask in {
            PADDING: padding.expand(1, n, n),
            CAUSAL: causal[None],
            BOTH: padding & causal,
        }.items():
            weights = block.attention(x, mask=mask[:, None], with_weights=True)[1][0, key_picture.HEAD]
            shown = torch.from_numpy(key_picture.numbers()[name])
            assert torch.equal(shown.isfinite(), mask[0])
            assert torch.allclose(shown.nan_to_num().float(), weights, atol=1e-4)
    causal, both = (key_picture.numbers()[name][:N_REAL] for name in (CAUSAL, BOTH))
    assert (causal == both)[causal > 0].all(), "for words the same, as the picture says"
