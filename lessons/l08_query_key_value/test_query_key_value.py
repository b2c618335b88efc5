"""The claims of lesson 08, against data/results and live computations."""

from __future__ import annotations

import math
import statistics

import pytest
import torch

from course_lib.layers.scores import dot, scaled_dot
from course_lib.results import runs
from course_lib.text.batch import make_batch
from course_lib.translation.comparison import BETTER, compare
from course_lib.translation.masking import mask_without
from course_lib.translation.shipped import shared
from lessons.l08_query_key_value import attention_grids, key_picture, soft_dictionary
from lessons.l08_query_key_value.measurements import measure
from lessons.l08_query_key_value.soft_dictionary import KEYS
from lessons.l08_query_key_value.solutions import scaled_attention, soft_lookup
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


LEARN = run_cells("learn_lookup", torch=torch, math=math)["learn_lookup"]


@pytest.mark.nightly
def test_a_new_measurement_agrees_with_the_stored_one():
    assert_measured_again(measure(), L.stored(), rel=1e-2)


def test_with_two_numbers_two_matrices_learn_the_look_up_and_one_does_not():
    right = means("key_and_value", "right")
    assert max(seeds("key_and_value", "width 2, one matrix", "right")) < 1 / 4
    assert min(seeds("key_and_value", "width 2, two matrices", "right")) > 0.99
    assert 0.95 < right["width 4, one matrix"] < right["width 2, two matrices"]  # nearly as well
    assert all(right[f"width {width}, one matrix"] > 0.99 for width in (8, 16, 32))


def test_ice_cream_is_ahead_of_the_apple_by_e_to_the_difference():
    found = run_cells("menu", torch=torch, fixed=lambda number, digits: number)
    scores = found["keys"] @ found["query"]
    weights = scores.softmax(dim=0)
    assert (weights[0] / weights[1]).item() == pytest.approx(7.4, abs=0.05), "the lesson says so"
    torch.testing.assert_close((scores + 10_000).softmax(dim=0), weights)  # finite, and nothing has changed
    for name, key in zip(found["dishes"], found["keys"], strict=True):
        assert key.tolist() == KEYS[soft_dictionary.DISHES.index(name)].tolist()


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
    losses = {name: LEARN(divisor) for name, divisor in (("1", 1), ("root", 512**0.5), ("d_k", 512))}
    assert losses["root"][-1] < losses["1"][-1] < losses["d_k"][-1]
    assert losses["1"][0] == max(loss[0] for loss in losses.values())  # a wrong key gets all the attention
    assert 0.6 < losses["d_k"][-1] < losses["d_k"][0] == pytest.approx(7 / 8, abs=0.1)  # uniform attention
    root, d_k = ([LEARN(by, rate=0.05, seed=seed)[-1] for seed in range(3)] for by in (512**0.5, 512))
    assert max(d_k) < 0.1 * min(root)
    assert LEARN(512, rate=0.07)[-1] < 0.002 < 0.02 < LEARN(rate=0.07)[-1] < LEARN(1, rate=0.07)[-1]
    assert L.asked("three-divisors").right == [2]


def test_the_recorded_runs_say_which_divisor_leads_at_which_rate():
    def ends(divisor: str, rate: str) -> list[float]:
        return [
            run["end"][rate] for run in runs("divisor") if run["variant"] == f"d_k 512, divided by {divisor}"
        ]

    for rate in ("0.001", "0.003", "0.008", "0.02", "0.07", "0.2"):
        one, root, d_k = (ends(divisor, rate) for divisor in ("1", "root", "d_k"))
        assert max(root) < min(one), "÷ 1 is behind at every rate"
        best, others = (d_k, root) if float(rate) > 0.05 else (root, d_k)
        assert max(best) < min(others)


def test_without_scaling_most_gradients_are_tiny_and_the_gradient_of_a_batch_is_noisy():
    unscaled, scaled = (L.stored()["gradients"][name] for name in ("1", "root"))
    assert unscaled["median"] < 0.01 * scaled["median"] and unscaled["mean"] > 3 * scaled["mean"]
    assert unscaled["of the largest tenth"] > 0.75 and scaled["of the largest tenth"] < 0.3
    assert unscaled["noise"] > 2.5 * scaled["noise"]


def test_a_shared_matrix_learns_nothing_of_a_quarter_turn():
    """R is a turn by 90°, and the score of the right key changes its sign from x to Rx, whatever W is."""
    generator = torch.Generator().manual_seed(3)
    a, b = torch.linalg.qr(torch.randn(32, 32, generator=generator))[0].chunk(2, dim=1)
    turn, matrix = a @ b.T - b @ a.T, torch.randn(512, 32, generator=generator)
    assert torch.allclose(turn @ turn, -torch.eye(32), atol=1e-5)
    x = torch.randn(100, 32, generator=generator)
    right, of_turned = (((v @ turn.T @ matrix.T) * (v @ matrix.T)).sum(-1) for v in (x, x @ turn.T))
    torch.testing.assert_close(right, -of_turned, atol=0.1, rtol=1e-3)
    assert LEARN(rate=0.003, quarter=True)[-1] < 0.05
    assert all(LEARN(rate=rate, shared=True, quarter=True)[-1] > 7 / 8 for rate in (0.003, 0.02))
    longer = run_cells("learn_lookup", torch=torch, math=math, range=lambda n: range(3 * n))["learn_lookup"]
    after_300 = statistics.mean(longer(rate=0.01, shared=True, quarter=True)[-20:])
    assert after_300 == pytest.approx(7 / 8, abs=0.05)
    assert LEARN(rate=0.003, shared=True)[-1] < 0.65, "of a random rotation, it learns a part"
    assert "above the loss of uniform" in L.asked("one-or-two").options[2].text
    assert L.asked("one-or-two").right == [2]


def test_translators_with_a_shared_matrix_are_worse_by_two_to_three_sentences_in_a_hundred():
    two = seeds("toy_ladder", "transformer", "scores", "test", "exact")
    for name in ("one in self-attention", "one everywhere"):
        one = seeds("shared_query_key", name, "scores", "test", "exact")
        assert compare(two, one).verdict == BETTER
        assert 0.02 < statistics.mean(two) - statistics.mean(one) < 0.03


def test_fixed_weights_stay_at_positions_and_attention_finds_the_words():
    found = run_cells("moved", torch=torch, yours=lambda name: scaled_attention, word_lines=lambda *a, **b: 0,
                      predict=lambda *a: 0)  # fmt: skip
    largest = [{words[i] for i in weights.topk(2).indices} for words, weights in found["rows"].values()]
    assert largest == [{"cat", "water"}, {"it", "the"}, {"cat", "water"}]
    assert L.asked("moved-clause").right == [1]
    assert set(found["words"]) == set(found["moved"])


# ---- answers of the quiz


def test_the_numbers_of_the_quiz():
    keys, values = torch.tensor([[-2.0, 1.0], [1.1, 0.0], [2.0, -1.0]]), torch.tensor([[5.0], [20.0], [0.0]])
    context, _ = soft_lookup(torch.tensor([1.0, 2.0]), keys, values)
    assert L.asked("blend-of-two").answer == pytest.approx(context.item(), abs=0.02)
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
    (context, weights), (moved, same) = (soft_lookup(query, keys, v) for v in (values, values + 1))
    assert torch.equal(weights, same) and not torch.isclose(context, moved).any()
    assert L.asked("change-one-value").right == [1]


def test_the_grids_are_nearly_the_head_of_the_transformer_and_agree_with_torch():
    step = {name: torch.from_numpy(matrix) for name, matrix in attention_grids.numbers().items()}
    context = torch.nn.functional.scaled_dot_product_attention(*(step[name][None] for name in "QKV"))[0]
    assert torch.allclose(context, step["context"], atol=0.1)
    transformer = shared("transformer")
    src = make_batch([transformer.tokenizer.encode(attention_grids.SENTENCE)], [[]]).src
    with torch.no_grad():
        _, weights = transformer.model.run_encoder(src, mask_without([], src.shape[1]), with_weights=True)
    difference = (weights["encoder"][0, 0, attention_grids.HEAD] - step["weights"]).abs().max()
    assert difference < 0.07 and "weights by less than 0.07." in attention_grids.PROVENANCE


def test_the_grids_are_filled_with_what_a_learner_returns():
    step = attention_grids.numbers()
    right = key_picture.draw("attention", attend=scaled_attention)
    assert right.svg.count("= 1.0<") == 4 and "0.47" in right.alt

    def over_queries(queries, keys, values):
        weights = (queries @ keys.mT / 2**0.5).softmax(dim=0)
        return weights @ values, weights

    assert key_picture.draw("attention", attend=over_queries).svg.count("= 1.0<") < 4
    nothing = key_picture.draw("attention", attend=lambda *inputs: None)
    assert nothing.svg.count(">?<") == step["weights"].size + step["context"].size
    x, w_q, w_k, w_v = (matrix.numpy() for matrix in key_picture.matrices())
    for name, matrix in (("Q", w_q), ("K", w_k), ("V", w_v)):
        assert abs(x @ matrix.T - step[name]).max() < 0.051  # each grid is rounded
