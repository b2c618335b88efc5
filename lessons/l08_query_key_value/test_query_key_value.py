"""The claims of lesson 08, against data/results and live computations."""

from __future__ import annotations

import pytest
import torch

from course_lib.layers.scores import dot, scaled_dot
from course_lib.models.registry import build, make_config
from course_lib.results import runs
from course_lib.text.batch import make_batch
from course_lib.translation.masking import mask_without
from course_lib.translation.shipped import shared
from lessons.l08_query_key_value import attention_grids, key_picture
from lessons.l08_query_key_value.measurements import measure
from lessons.l08_query_key_value.score_spread import spreads
from lessons.l08_query_key_value.solutions import soft_lookup
from tests.lesson_claims import (
    LessonText,
    assert_measured_again,
    indices_of_true,
    means,
    numbers_of_right,
    seeds,
)

L = LessonText("query_key_value")
RATES = ("0.001", "0.003", "0.008", "0.02", "0.07", "0.2")
LARGEST_RATES = RATES[-2:]


def run_cells(*names: str, **variables) -> dict:
    """The variables of the notebook after the code cells with these names."""
    for name in names:
        variables = L.run_cell(name, **variables)
    return variables


@pytest.mark.nightly
def test_a_new_measurement_agrees_with_the_stored_one():
    assert_measured_again(measure(), L.stored(), rel=1e-2)


def test_with_two_numbers_two_matrices_learn_the_look_up_and_one_does_not():
    right = means("key_and_value", "right")
    assert max(seeds("key_and_value", "width 2, one matrix", "right")) < 1 / 4
    assert min(seeds("key_and_value", "width 2, two matrices", "right")) > 0.99
    assert 0.95 < right["width 4, one matrix"] < right["width 2, two matrices"]  # nearly as well
    assert all(right[f"width {width}, one matrix"] > 0.99 for width in (8, 16, 32))


def test_attention_and_the_split_do_not_help_the_language_model():
    names = ("lstm_lm", "attention_lm", "key_value_lm")
    lstm, attention, key_value = (
        seeds("toy_language_models", name, "scores", "test", "perplexity") for name in names
    )
    assert max(lstm) < min(attention) and max(attention) < min(key_value)
    parameters = [means("toy_language_models", "parameters")[name] for name in names]
    assert max(parameters) < 1.05 * min(parameters)


def test_a_change_of_a_score_changes_the_weight_less_the_larger_the_gap():
    moved = []
    for gap in (0.0, 2.0, 8.0, 20.0):
        before, after = (
            torch.tensor([first, gap], dtype=torch.float64).softmax(0)[0] for first in (0.0, 0.1)
        )
        moved.append(float(after - before))
    assert moved == sorted(moved, reverse=True) and moved[-1] < 1e-9


def test_a_softmax_of_large_scores_is_finite():
    assert torch.tensor([10_000.0, 9_999.0, 0.0]).softmax(dim=-1).isfinite().all()


def test_ice_cream_gets_more_than_75_percent_and_39_with_small_scores():
    assert torch.tensor([3.0, 0.0, 1.0]).softmax(dim=0)[0] > 0.75
    assert torch.tensor([0.3, 0.0, 0.1]).softmax(dim=0)[0].item() == pytest.approx(0.39, abs=0.005)
    assert torch.tensor([1.0, 0.0]).softmax(dim=0)[0].item() == pytest.approx(0.73, abs=0.005)


@pytest.mark.parametrize("d_k", [64, 512])
def test_which_divisor_has_the_lowest_loss_at_each_rate(d_k):
    best = dict.fromkeys(("1", "root", "d_k"), float("inf"))
    for rate in RATES:
        means_at_rate = means("divisor", "end", rate)
        loss = {name: means_at_rate[f"d_k {d_k}, divided by {name}"] for name in best}
        if rate in LARGEST_RATES:
            assert loss["d_k"] == min(loss.values()), rate
        elif (d_k, rate) == (64, "0.003"):
            assert loss["root"] == pytest.approx(loss["1"], abs=0.001) and loss["d_k"] > loss["1"]  # a tie
        else:
            assert loss["root"] < 0.75 * min(loss["1"], loss["d_k"]), rate
        best = {name: min(best[name], loss[name]) for name in best}
    assert max(best.values()) < 0.02  # at some rate each divisor learns


def test_the_three_divisors_differ_in_the_live_run_and_in_the_records():
    def ends(name: str) -> list[float]:
        return seeds("divisor", f"d_k 512, divided by {name}", "end", "0.001")

    assert max(ends("root")) < 0.2 * min(ends("1")) and max(ends("1")) < 0.3 * min(ends("d_k"))
    learn = run_cells("learn_lookup", torch=torch)["learn_lookup"]
    losses = {name: learn(divisor) for name, divisor in (("1", 1), ("root", 512**0.5), ("d_k", 512))}
    assert 5 * losses["root"][-1] < losses["1"][-1] < losses["d_k"][-1] / 3
    assert losses["1"][0] == max(loss[0] for loss in losses.values())  # a wrong key gets all the attention
    assert 0.65 < losses["d_k"][-1] < losses["d_k"][0] == pytest.approx(7 / 8, abs=0.05)  # uniform attention
    assert all(len(loss) == 21 for loss in losses.values())
    assert L.asked("three-divisors").right == [2]


def test_without_scaling_most_gradients_are_tiny_and_the_gradient_of_a_batch_is_noisy():
    unscaled, scaled = (L.stored()["gradients"][name] for name in ("1", "root"))
    assert unscaled["median"] < 0.01 * scaled["median"] and unscaled["mean"] > 3 * scaled["mean"]
    assert unscaled["of the largest tenth"] > 0.75 and scaled["of the largest tenth"] < 0.3
    assert unscaled["noise"] > 2.5 * scaled["noise"]


def test_training_spreads_the_scores():
    """Below 1 at the start; several times as large afterwards, least in the first layer."""
    transformer = shared("transformer")
    texts = ("the cat drank the water because it was thirsty", "le chat a bu l' eau parce qu' il avait soif")
    batch = make_batch(*([transformer.tokenizer.encode(text)] for text in texts))
    torch.manual_seed(0)
    config = make_config("transformer", scale="toy", vocab_size=transformer.tokenizer.vocab_size)
    untrained = torch.tensor(spreads(build("transformer", config).eval(), [batch])["cross"])
    trained = torch.tensor(spreads(transformer.model, [batch])["cross"])
    assert untrained.shape == trained.shape == (3, 4)
    assert 0.3 < untrained.mean() < 1 and trained.mean() > 3
    first, *rest = trained.mean(dim=1)
    assert first < min(rest)
    for run in runs("inside_heads"):
        first, *rest = (sum(layer) for layer in run["spreads"]["cross"])
        assert first < min(rest) and 3 < (first + sum(rest)) / 12 < 6


def test_fixed_weights_stay_at_positions_and_attention_finds_the_words():
    notebook = run_cells("hand_made", torch=torch, fixed=lambda number, digits: number)
    words, describe = notebook["words"], notebook["describe"]
    moved = [*words[5:], *words[:5]]

    def weights_of_it(sentence: list[str]) -> torch.Tensor:
        x = describe(sentence)
        scores = (x @ notebook["w_q"].T) @ (x @ notebook["w_k"].T).T
        return scores.softmax(dim=-1)[sentence.index("it")]

    nouns = [moved.index("cat"), moved.index("water")]
    assert weights_of_it(moved)[nouns].sum() > 2 * weights_of_it(words)[nouns].sum()
    cat, water = (weights_of_it(words)[words.index(noun)] for noun in ("cat", "water"))
    assert cat == pytest.approx(float(water))
    assert notebook["scores"][notebook["it"], notebook["cat"]] > 0
    assert notebook["scores"][notebook["cat"], notebook["it"]] == 0


# ---- answers of the quiz


def test_the_numbers_of_the_quiz():
    context, _ = soft_lookup(torch.tensor([1.0]), torch.tensor([[1.1], [0.0]]), torch.tensor([[10.0], [2.0]]))
    assert L.asked("blend-of-two").answer == pytest.approx(context.item(), abs=0.01)
    query, keys = torch.randn(2, 200_000, 16, generator=torch.Generator().manual_seed(8))
    products, scores = query * keys, (query * keys).sum(dim=1)
    assert L.asked("mean-of-product").answer == pytest.approx(products.mean().item(), abs=0.01)
    assert L.asked("variance-of-product").answer == pytest.approx(products.var().item(), abs=0.02)
    assert L.asked("variance-of-score").answer == pytest.approx(scores.var().item(), abs=0.3)
    assert L.asked("spread-of-score").answer == pytest.approx(scores.std().item(), abs=0.05)
    of_four_times_the_width = 4 * (query[:50_000] * keys[:50_000]).sum(dim=1).var().item()
    assert L.asked("wider-keys").answer == pytest.approx((of_four_times_the_width / 16) ** 0.5, abs=0.03)
    one_of_64 = torch.ones(1, 64)
    divisor = dot(one_of_64, one_of_64) / scaled_dot(one_of_64, one_of_64)
    assert numbers_of_right(L.asked("which-root")) == [divisor.item()]


def test_what_follows_from_one_matrix_for_queries_and_keys():
    generator = torch.Generator().manual_seed(8)
    words, matrix = torch.randn(6, 5, generator=generator), torch.randn(5, 3, generator=generator)
    scores = scaled_dot(words @ matrix, words @ matrix)
    trained = [part for part in shared("transformer").model.modules() if hasattr(part, "w_key")]
    expected = indices_of_true(
        torch.allclose(scores, scores.T),
        bool((scores.diagonal() >= 0).all()),
        any(torch.allclose(part.w_query, part.w_key, atol=0.01) for part in trained),
        not torch.allclose(scores.softmax(-1).sum(-1), torch.ones(6)),
    )
    assert len(trained) > 5 and L.asked("shared-projection").right == expected


def test_a_changed_value_moves_the_context_alone():
    query, keys, values = torch.randn(3), torch.randn(4, 3), torch.randn(4, 2)
    before = soft_lookup(query, keys, values)
    values[1] += 1
    context, weights = (
        not torch.equal(*pair) for pair in zip(before, soft_lookup(query, keys, values), strict=True)
    )
    expected = indices_of_true(
        context and weights, context and not weights, weights and not context, not (context or weights)
    )
    assert L.asked("change-one-value").right == expected


def test_the_grids_are_nearly_the_head_of_the_transformer_and_agree_with_torch():
    step = {name: torch.from_numpy(matrix) for name, matrix in attention_grids.numbers().items()}
    context = torch.nn.functional.scaled_dot_product_attention(*(step[name][None] for name in "QKV"))[0]
    assert torch.allclose(context, step["context"], atol=0.1)
    transformer = shared("transformer")
    src = make_batch([transformer.tokenizer.encode(attention_grids.SENTENCE)], [[]]).src
    with torch.no_grad():
        _, weights = transformer.model.run_encoder(src, mask_without([], src.shape[1]), with_weights=True)
    difference = (weights["encoder"][0, 0, attention_grids.HEAD] - step["weights"]).abs().max()
    assert difference < 0.06 and "weights by less than 0.06." in attention_grids.PROVENANCE


def test_the_key_picture_is_a_mixture_with_more_of_what_matches_better():
    query, keys, values = (
        torch.tensor(numbers, dtype=torch.float32)
        for numbers in (key_picture.QUERY, key_picture.KEYS, key_picture.VALUES)
    )
    context, weights = soft_lookup(query / key_picture.TEMPERATURE, keys, values)
    assert torch.equal(weights.argsort(), (keys @ query).argsort()) and weights.topk(2).values.min() > 0.3
    assert torch.allclose(context, torch.tensor(key_picture.numbers()[2]).float(), atol=1e-3)
