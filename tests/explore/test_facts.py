"""The facts that lessons lean on, of the explorables without a trained model.

Numbers first, in one table; then what must hold of them, each held to torch, to the library or to paper.
"""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

from course_lib import explore
from course_lib.explore import (
    beam_tree,
    clock_hands,
    cost_explorer,
    gate_mixer,
    gradient_telephone,
    head_count,
    loss_floor,
    one_vector_suitcase,
    path_past,
    path_race,
    rate_dial,
    saturation_lab,
    score_zoo,
    soft_dictionary,
    softmax_dial,
    which_mean,
    who_attends,
)
from course_lib.explore.softmax_dial import softmax
from course_lib.layers.block import Block
from course_lib.layers.convolution import receptive_field
from course_lib.layers.positions import sinusoids
from course_lib.layers.scores import AdditiveScore, GeneralScore, LocationScore
from course_lib.teaching.questions.question import questions
from course_lib.text.special import EOS, SPECIAL
from course_lib.translation.search import beam_search

RIGHT = clock_hands.TABLES[0]
NONE, PLAIN, PRE, POST = path_past.NONE, path_past.PLAIN, path_past.PRE, path_past.POST
SHARED, EACH = head_count.SHARED, head_count.EACH
LAYER, TRAINING, IN_USE = which_mean.LAYER, which_mean.TRAINING, which_mean.IN_USE
AS_IT_IS, LOUDER, PADDING = which_mean.AS_IT_IS, which_mean.LOUDER, which_mean.PADDING


def lab(d_k: int, divisor: str, query: int = 1) -> dict:
    return saturation_lab.compute(d_k=d_k, divisor=divisor, query=query)


def cafe(**changes) -> dict:
    return soft_dictionary.compute(**{"temperature": 0.5, "crunch": 0.2, "cream": 10.0, **changes})


def cost(n: int, d: int = 512) -> dict:
    return cost_explorer.compute(n=n, d=d, heads=8)


def telephone(factor: float, steps: int, activation: str = "linear") -> dict:
    return gradient_telephone.compute(factor=factor, steps=steps, activation=activation)


def past(path: str, gain: float = 0.5, depth: int = 12) -> dict:
    return path_past.compute(depth=depth, gain=gain, path=path)


def rate(step: int, warm_up: int = 4000) -> dict:
    return rate_dial.compute(warm_up=warm_up, d_model=512, step=step)


def floor(smoothing: float, words: int, softmax: str) -> dict:
    return loss_floor.compute(smoothing=smoothing, words=words, softmax=softmax)


def recall(n: int, d: int, keeps: str = one_vector_suitcase.ONE) -> float:
    return one_vector_suitcase.compute(n=n, d=d, keeps=keeps)["recall"]


def beam(tree: str, width: int, alpha: float = 0.0) -> dict:
    return beam_tree.compute(tree=tree, width=width, alpha=alpha)


def norm(norm: str, other: str = AS_IT_IS, word: int = 1) -> dict:
    return which_mean.compute(norm=norm, other=other, word=word)


# Where a number is estimated from random draws, `off` is about four standard errors; else its last digit.
NUMBERS = [
    *((lambda d=d, by=by: lab(d, by)["mean_max"], most, 0.012) for d, by, most in
      [(64, "1", 0.87), (512, "1", 0.96), (64, "√d_k", 0.36), (512, "√d_k", 0.36),
       (64, "d_k", 0.148), (512, "d_k", 0.133)]),
    *((lambda d=d: lab(d, "1")["std"], math.sqrt(d), 0.05 * math.sqrt(d)) for d in saturation_lab.WIDTHS),
    *((lambda d=d: lab(d, "√d_k")["std"], 1, 0.05) for d in saturation_lab.WIDTHS),
    (lambda: lab(512, "√d_k")["gradient"], 0.367, 0.003),
    (lambda: lab(512, "1")["gradient"], 1.2e-4, 0.8e-4),  # heavy tails: four seeds gave 0.7 to 1.1e-4
    *((lambda d=d: who_attends.diagonal_share("shared", d), share, 0.02) for d, share in
      [(1, 0.25), (2, 0.44), (4, 0.70), (8, 0.92), (16, 0.99), (32, 1.0), (64, 1.0)]),
    *((lambda d=d: who_attends.diagonal_share("separate", d), 1 / 8, 0.02) for d in who_attends.WIDTHS),
    *((lambda n=n: 100 * cost(n)["share"], share, 0.05) for n, share in
      [(64, 2.0), (512, 14.3), (3072, 50.0), (8192, 72.7)]),
    *((lambda b=b: gate_mixer.half_life(b), steps, 0.05) for b, steps in
      [(0, 1.0), (1, 2.2), (2, 5.5), (3, 14.3)]),
    (lambda: gate_mixer.half_life(5), 103, 0.5),
    (lambda: gate_mixer.sigmoid(1.0), 0.7311, 5e-5),
    (lambda: gate_mixer.cell_path(forget=0.99, write=0.0, steps=100)[-1], 0.366, 5e-4),
    (lambda: gate_mixer.cell_path(forget=0.9, write=0.0, steps=100)[-1], 2.7e-5, 5e-7),
    *((lambda f=f, n=n: telephone(f, n)["left"], left, 4e-3 * left) for f, n, left in
      [(0.9, 50, 5.15e-3), (1.1, 50, 117), (0.5, 20, 9.54e-7), (1.0, 100, 1.0)]),
    *((lambda g=g: past(NONE, g)["back"][0], g**12, 1e-6 * g**12) for g in path_past.GAINS),
    (lambda: past(NONE)["back"][0], 2.44e-4, 5e-7),
    *((lambda p=p: past(p, depth=6)["back"][-1], 1, 0) for p in (NONE, PLAIN, PRE, POST)),
    (lambda: past(PLAIN)["ways"], 4096, 0),
    *((lambda s=s: rate(s)["rate"], found, 5e-4 * found) for s, found in
      [(1, 1.747e-7), (4000, 6.988e-4), (100_000, 1.398e-4)]),
    (lambda: rate(1)["peak"] / rate(1, warm_up=8000)["peak"], math.sqrt(2), 1e-9),
    *((lambda s=s: floor(*s)["floor"], lowest, 1e-4) for *s, lowest in
      [(0.1, 10, "once", 0.5003), (0.1, 37_000, "once", 1.3769), (0.0, 10, "twice", 1.4612),
       (0.0, 10_000, "twice", 8.2105), (0.0, 680, "once", 0.0)]),
    (lambda: floor(0.1, 37_000, "once")["perplexity"], 3.96, 0.005),
    (lambda: recall(5, 64), 0.88, 0.03),
    (lambda: recall(10, 128) - recall(40, 512), 0, 0.03),  # what counts is words per number
    (lambda: one_vector_suitcase.bits(50), 758.8, 0.05),
    (lambda: beam("A", 1)["chance"], 0.24, 1e-9),
    (lambda: beam("A", 2)["chance"], 0.36, 1e-9),
    (lambda: norm(which_mean.UNBIASED)["variance"], 0.75, 1e-4),
    (lambda: norm(which_mean.UNBIASED)["after"][0, 3], 1.1619, 1e-4),
    (lambda: clock_hands.compute(position=10, offset=5, table=RIGHT)["product"], 23.50, 0.005),
    (lambda: clock_hands.compute(position=110, offset=5, table=RIGHT)["product"], 23.50, 0.005),
]  # fmt: skip


@pytest.mark.parametrize(("number", "expected", "off"), NUMBERS)
def test_the_numbers_of_the_lessons(number, expected, off):
    assert number() == pytest.approx(expected, abs=off, rel=0)


# -- softmax dial, saturation lab, soft dictionary, who attends (00 and 08) ---------------------------


def test_the_softmax_is_that_of_torch_and_never_overflows():
    for multiplier in (0.0, 0.7, 1.0, 8.0):
        weights = torch.softmax(torch.tensor(softmax_dial.SCORES) * multiplier, dim=0)
        assert softmax_dial.compute(multiplier=multiplier)["weights"] == pytest.approx(weights.numpy())
    for size in (1e4, 1e300):
        assert softmax(np.array([[size, -size, 0.0, size]])).tolist() == [[0.5, 0.0, 0.0, 0.5]]


def test_scores_are_dot_products_and_the_gradient_is_that_of_autograd():
    generator = np.random.default_rng(saturation_lab.SEED)
    queries = generator.standard_normal((2048, 512), dtype=np.float32)
    keys = generator.standard_normal((2048, 8, 512), dtype=np.float32)
    for d_k in (1, 64, 512):
        by_hand = keys[5, :, :d_k].astype(float) @ queries[5, :d_k].astype(float)
        assert saturation_lab.raw_scores()[d_k][5] == pytest.approx(by_hand, abs=1e-4)
    for row in torch.from_numpy(saturation_lab.raw_scores()[16][:5]):
        jacobian = torch.autograd.functional.jacobian(lambda s: torch.softmax(s, dim=0), row)
        ours = saturation_lab.jacobian_norm(softmax(row.numpy()))
        assert float(jacobian.norm()) == pytest.approx(float(ours), rel=1e-6)


def test_what_grows_with_d_k_and_what_does_not():
    unscaled, scaled = ([lab(d, by)["mean_max"] for d in saturation_lab.WIDTHS] for by in ("1", "√d_k"))
    assert all(np.diff(unscaled) > 0) and unscaled[0] == scaled[0] and max(scaled) - min(scaled) < 0.07
    assert all(np.diff([lab(d, "d_k")["mean_max"] for d in saturation_lab.WIDTHS]) < 0)
    for d_k, divisor in ((512, "1"), (64, "√d_k"), (512, "d_k")):
        shares = lab(d_k, divisor)["shares"]
        assert shares.sum() == pytest.approx(1.0) and shares.max() < 0.55, "fits the panel"
    assert lab(512, "1")["shares"][[0, -1]].sum() > 0.6
    assert lab(512, "1")["weights"].max() > 0.95, "the first query is a typical one"
    assert len({lab(64, "√d_k", query)["weights"].max() for query in range(1, 9)}) == 8


def test_values_do_not_move_weights_and_keys_do():
    """By autograd: the plate depends on the values, the weights do not."""
    query, keys = (torch.tensor(array) for array in (soft_dictionary.QUERY, soft_dictionary.LABELS))
    values = torch.tensor(soft_dictionary.VALUES, requires_grad=True)
    plate = torch.softmax(keys @ query / 0.5, dim=0) @ values
    gradient = torch.autograd.grad(plate[2], values)[0]
    assert gradient[:, 2].tolist() == pytest.approx(cafe()["weights"].tolist())
    assert gradient[:, :2].abs().sum() == 0
    for cream in (0.0, 40.0):
        assert np.array_equal(cafe(cream=cream)["weights"], cafe()["weights"])
    assert cafe(cream=40.0)["plate"][2] > cafe(cream=0.0)["plate"][2]
    assert np.all(np.diff([cafe(crunch=crunch)["weights"][0] for crunch in np.linspace(-1, 1, 9)]) > 0)
    assert soft_dictionary.VALUES[0, 2] == 10 and soft_dictionary.LABELS[0, 1] == 0.2, "left alone"


@pytest.mark.parametrize("temperature", soft_dictionary.TEMPERATURES)
def test_a_soft_look_up_lies_between_the_exact_one_and_the_mean(temperature):
    facts = cafe(temperature=temperature)
    assert facts["weights"].sum() == pytest.approx(1.0)
    assert np.all(facts["values"].min(axis=0) - 1e-9 <= facts["plate"])
    assert np.all(facts["plate"] <= facts["values"].max(axis=0) + 1e-9)
    asked = facts["query"], facts["keys"], facts["values"]
    best = int(facts["scores"].argmax())
    plate, weights = soft_dictionary.look_up(*asked, 1e-6)
    assert plate == pytest.approx(facts["values"][best]) and weights[best] == pytest.approx(1.0)
    assert soft_dictionary.look_up(*asked, 1e9)[0] == pytest.approx(facts["values"].mean(axis=0))
    twins = cafe(crunch=-0.8, temperature=temperature)  # waffle and ice cream: equal keys, other values
    assert twins["weights"][0] == twins["weights"][2] and (twins["values"][0] != twins["values"][2]).any()


def test_the_coldest_and_the_hottest_stop_are_nearly_there():
    assert cafe(temperature=0.02)["weights"].max() > 0.99
    assert cafe(temperature=20.0)["plate"] == pytest.approx(soft_dictionary.VALUES.mean(axis=0), rel=0.05)


@pytest.mark.parametrize("d_k", who_attends.WIDTHS)
def test_shared_projections_make_scores_symmetric_and_the_rank_is_at_most_d_k(d_k):
    for seed in range(who_attends.N_SEEDS):
        shared, separate = (
            who_attends.compute(projections=name, d_k=d_k, seed=seed) for name in ("shared", "separate")
        )
        assert shared["scores"] == pytest.approx(shared["scores"].T) and shared["symmetry_error"] < 1e-9
        assert shared["rank"] == separate["rank"] == min(d_k, 8)
        assert d_k < 2 or separate["symmetry_error"] > 0.3


def test_vectors_of_one_length_always_look_at_themselves():
    """The condition behind "100%": by Cauchy-Schwarz, if all projected words have the same length."""
    projected = np.random.default_rng(1).standard_normal((200, 8, 4))
    projected /= np.linalg.norm(projected, axis=-1, keepdims=True)
    assert who_attends.on_diagonal(projected @ projected.transpose(0, 2, 1)).all()


# -- recurrent networks, gates, the suitcase, hops (02 to 05) ----------------------------------------


@pytest.mark.parametrize("factor", [0.5, 0.9, 1.0, 1.1, 1.2])
def test_no_activation_lets_more_through_than_none(factor):
    linear, tanh, sigmoid = (telephone(factor, 100, name)["norms"] for name in gradient_telephone.ACTIVATIONS)
    assert linear == pytest.approx(factor ** np.arange(101.0)) == telephone(factor, 100)["linear"]
    assert (tanh <= linear * (1 + 1e-9)).all()
    assert (sigmoid <= (0.25 * factor) ** np.arange(101.0) * (1 + 1e-9)).all()


@pytest.mark.parametrize("activation", ["tanh", "sigmoid"])
def test_what_is_passed_back_is_that_of_autograd(activation):
    turn, inputs = (torch.from_numpy(part) for part in gradient_telephone.turn_and_inputs())
    squash = {"tanh": torch.tanh, "sigmoid": torch.sigmoid}[activation]

    def last(state):
        for given in inputs[1:13]:
            state = squash(1.1 * turn @ state + given)
        return state

    jacobian = torch.autograd.functional.jacobian(last, squash(inputs[0]))
    expected = torch.linalg.matrix_norm(jacobian, 2).item()
    assert telephone(1.1, 12, activation)["left"] == pytest.approx(expected)


def test_the_cell_is_that_of_torch():
    """Weights of 0 but for the forget bias and the candidate: what the picture calls new, through a tanh."""
    facts = gate_mixer.compute(forget_bias=1.5, write=0.5, steps=20)
    cell = nn.LSTMCell(1, 1, dtype=torch.float64)
    with torch.no_grad():
        for weight in cell.parameters():
            weight.zero_()
        cell.bias_ih[1], cell.weight_ih[2] = 1.5, 100.0  # the candidate is the sign of what comes
        hidden, held = torch.zeros(1, 1, dtype=torch.float64), torch.ones(1, 1, dtype=torch.float64)
        for new in np.sign(facts["cell"][1:] - facts["forget"] * facts["cell"][:-1]):
            hidden, held = cell(torch.full((1, 1), new, dtype=torch.float64), (hidden, held))
    assert held.item() == pytest.approx(facts["cell"][-1])
    kept = gate_mixer.cell_path(forget=1.0, write=0.0, steps=100)
    assert (kept == 1).all(), "a gate of one that writes nothing keeps the cell as it is"


@pytest.mark.parametrize("d", one_vector_suitcase.WIDTHS)
def test_more_words_come_back_less_and_a_vector_for_each_loses_nothing(d):
    lengths = one_vector_suitcase.LENGTHS
    shares = [recall(n, d) for n in lengths]
    assert shares[0] == 1 and shares == sorted(shares, reverse=True)
    assert all(recall(n, d) <= recall(n, 2 * d) for n in lengths if d < 512)
    assert all(recall(n, d, one_vector_suitcase.EACH) == 1 for n in lengths)


def test_beside_the_suitcase_stands_the_record():
    for d, percent in {512: [100, 100, 98, 81, 15, 0], 32: [62, 11, 0, 0, 0, 0]}.items():
        assert [round(100 * share) for share in one_vector_suitcase.trained(d)] == percent


@pytest.mark.parametrize("n", path_race.LENGTHS)
@pytest.mark.parametrize("width", path_race.WIDTHS)
@pytest.mark.parametrize("gaps", ["without", "with"])
def test_so_many_layers_are_needed_and_no_fewer(n, width, gaps):
    """The hops are the layers of the smallest stack whose receptive field holds the sentence."""
    jumps, hops = path_race.jumps(n, width, gaps), path_race.hops(n, width, gaps)
    assert hops == {"recurrent": n - 1, "convolution": len(jumps), "attention": 1} and sum(jumps) == n - 1
    dilations = [width**layer if gaps == "with" else 1 for layer in range(len(jumps))]
    assert all(
        jump <= (width - 1) * gap and jump % gap == 0 for jump, gap in zip(jumps, dilations, strict=True)
    )
    assert receptive_field([width] * len(jumps), dilations) >= n
    assert receptive_field([width] * (len(jumps) - 1), dilations[:-1]) < n


def test_reading_and_writing_are_counted_apart_and_arcs_lead_to_the_last_word():
    facts = path_race.compute(n=64, width=3, gaps="with")
    assert facts["read_steps"] == {"recurrent": 64, "convolution": 4, "attention": 1}
    assert facts["write_steps"] == 64
    x, y = path_race.arcs([1, 3, 0, 27], 32, 1.0)
    assert x[0] == pytest.approx(0) and x[~np.isnan(x)][-1] == pytest.approx(1) and np.nanmin(y) >= 1 - 1e-9


# -- scores, positions, heads, the block (07, 11 to 13) ----------------------------------------------


def zoo(**state) -> dict[str, np.ndarray]:
    facts = score_zoo.compute(**{"angle": 30, "length": 1.0, "key_2": 1.0, **state})
    expected = torch.softmax(torch.from_numpy(facts["scores"]), dim=-1).numpy()
    assert facts["weights"] == pytest.approx(expected)
    return dict(zip(score_zoo.SCORES, facts["scores"], strict=True))


def test_which_scores_see_a_doubled_key():
    """What the prediction of lesson 07 says: all change but cosine and location."""
    before, after = zoo(), zoo(key_2=2.0)
    for name in ("cosine", "location"):
        assert after[name] == pytest.approx(before[name], abs=1e-6)
    assert zoo(length=2.4)["cosine"] == pytest.approx(before["cosine"], abs=1e-6)
    for name in ("dot", "scaled dot", "general"):
        assert after[name] == pytest.approx(before[name] * [1, 2, 1], rel=1e-5)
    assert abs(after["additive"][1] - before["additive"][1]) > 0.05
    assert after["additive"][1] != pytest.approx(2 * before["additive"][1], rel=0.05)
    found = [zoo(angle=angle, length=2.4, key_2=2.4)["additive"] for angle in range(0, 360, 10)]
    assert np.abs(found).max() <= float(score_zoo.V.abs().sum()), "tanh has an end"


def test_what_each_score_has_to_learn():
    layers = (
        GeneralScore(query_dim=2, key_dim=2),
        AdditiveScore(query_dim=2, key_dim=2, attn_dim=3),
        LocationScore(query_dim=2, max_len=3),
    )
    learned = [sum(p.numel() for p in layer.parameters()) for layer in layers]
    assert (0, 0, 0, *learned) == score_zoo.PARAMETERS and learned[:2] == [4, 15]


def test_the_table_is_that_of_the_library_and_only_the_offset_counts():
    made = clock_hands.made(RIGHT)
    assert torch.allclose(torch.from_numpy(made[20:160].astype(np.float32)), sinusoids(140, 64), atol=2e-5)
    products = made @ made.T
    assert all(np.ptp(products.diagonal(offset)) < 1e-12 * 64 for offset in range(0, 100, 7))
    for start, k in ((0, 3), (50, 11)):  # PE(pos + k) = R_k PE(pos), for every hand
        kappa = clock_hands.SPEEDS * k
        (sin, cos), there = clock_hands.row(RIGHT, start).reshape(-1, 2).T, clock_hands.row(RIGHT, start + k)
        assert there[0::2] == pytest.approx(sin * np.cos(kappa) + cos * np.sin(kappa))
        assert there[1::2] == pytest.approx(cos * np.cos(kappa) - sin * np.sin(kappa))


def test_the_wrong_tables_are_wrong_in_their_own_ways():
    here, there = (
        clock_hands.compute(position=at, offset=5, table="sin only")["product"] for at in (10, 110)
    )
    assert abs(here - there) > 4, "sines alone depend on the place"
    alike = clock_hands.made("row 0 for all")
    assert (alike == clock_hands.row(RIGHT, 0)).all(), "cut by the batch: one row for all words"


@pytest.mark.parametrize("n_heads", head_count.COUNTS)
def test_shared_out_only_the_scores_grow_and_the_parameters_are_those_of_torch(n_heads):
    n, found = 20, head_count.cost(n_heads, 20, SHARED)
    layer = nn.MultiheadAttention(512, n_heads, bias=False)
    assert found["params"] == sum(p.numel() for p in layer.parameters()) == 1_048_576
    assert (found["multiplies"], found["entries"]) == (n**2 * 512, n_heads * n**2)
    assert found["d_k"] * n_heads == 512
    picture = head_count.compute(n_heads=n_heads, n=16, widths=SHARED)["tables"]
    across = next(count for count in (1, 2, 4, 8) if count**2 >= n_heads)
    assert (picture >= 0).sum() == n_heads * (6 * (8 // across)) ** 2, "a table for each head"


def test_heads_of_fixed_width_cost_more():
    cost = head_count.cost
    assert cost(8, 20, EACH) == cost(8, 20, SHARED)
    assert cost(64, 20, EACH)["params"] == 8 * cost(1, 20, SHARED)["params"]
    assert cost(16, 20, EACH)["multiplies"] == 2 * cost(8, 20, EACH)["multiplies"]
    for n_heads, told in {1: "1 head, ", 8: "8 heads, "}.items():
        chosen = {"n_heads": n_heads, "n": 16, "widths": SHARED}
        assert explore.HeadCount.heading(explore.HeadCount.facts_at(chosen))[0].startswith(told)


def test_layer_norm_and_batch_norm_are_those_of_library_and_torch():
    assert norm(LAYER)["after"][0] == pytest.approx([-1.3416, -0.4472, 0.4472, 1.3416], abs=1e-4)
    louder = which_mean.batch(LOUDER)
    for layer in (nn.LayerNorm(4).train(), nn.LayerNorm(4).eval()):
        told = layer(torch.from_numpy(louder).float()).detach().numpy()
        assert told == pytest.approx(which_mean.normalised(louder, LAYER), abs=1e-5)
    torchs = nn.BatchNorm1d(4)(torch.from_numpy(which_mean.words()).float()).detach().numpy()
    assert torchs == pytest.approx(which_mean.normalised(which_mean.words(), TRAINING), abs=1e-5)
    for other in (LOUDER, PADDING):
        assert norm(LAYER, other)["moved"] == norm(IN_USE, other)["moved"] == 0 < 0.5
        assert norm(TRAINING, other)["moved"] > 0.5
    assert np.argwhere(norm(LAYER, word=3)["counted"])[:, 0].tolist() == [2] * 4
    assert norm(TRAINING, word=3)["counted"][:, 0].all()


def test_a_path_keeps_the_gradient_and_slows_the_words_growing_alike():
    whole = np.linalg.multi_dot([np.eye(64) + 1e-9 * layer for layer in path_past.rotations()[:12]])
    assert whole == pytest.approx(np.eye(64), abs=1e-6) and past(PLAIN)["back"][0] > 1
    x, back = np.random.default_rng(0).standard_normal((2, 64))
    given = torch.tensor(x, requires_grad=True)
    F.layer_norm(given, (64,)).backward(torch.tensor(back))
    assert path_past.norm_back(back, x) == pytest.approx(given.grad.numpy(), abs=1e-9)
    without, pre = path_past.likeness(1.0, NONE), path_past.likeness(1.0, PRE)
    assert without[2] > 0.97 and without[4] == pytest.approx(1, abs=0.005)
    assert 0.15 < pre[2] < 0.35 and 0.75 < pre[12] < 0.9 and path_past.likeness(1.0, POST)[12] > 0.99


# -- training, decoding, cost (15 to 17) --------------------------------------------------------------


def test_the_curve_is_the_rate():
    steps = np.array([1, 30, 4000, 5000, 90_000])
    found = [rate(int(step))["rate"] for step in steps]
    assert rate_dial.rates(steps, warm_up=4000, d_model=512) == pytest.approx(found)
    assert rate(1)["even"].max() <= rate(1)["peak"] * (1 + 1e-9)


@pytest.mark.parametrize("softmax", ["once", "twice"])
@pytest.mark.parametrize("words", loss_floor.WORDS)
@pytest.mark.parametrize("smoothing", loss_floor.SMOOTHINGS)
def test_nothing_lies_below_the_floor_and_torch_computes_the_same(smoothing, words, softmax):
    found = floor(smoothing, words, softmax)
    assert found["losses"].min() >= found["floor"] - 1e-9
    shares = torch.full((1, words), 0.3 / (words - 1), dtype=torch.float64)
    shares[0, 0] = 0.7
    logits = shares.log() if softmax == "once" else shares
    theirs = float(F.cross_entropy(logits, torch.tensor([0]), label_smoothing=smoothing))
    ours = loss_floor.losses(np.array([0.7]), smoothing=smoothing, words=words, softmax=softmax)[0]
    assert ours == pytest.approx(theirs, abs=1e-6)


class Speaks(nn.Module):
    """A tree as a translator: its state is the words so far."""

    def __init__(self, name: str):
        super().__init__()
        self.tree = beam_tree.TREES[name]
        found = {word for shares in self.tree.values() for word in shares} - {beam_tree.END}
        self.words = [*SPECIAL, *sorted(found)]
        self.config = SimpleNamespace(max_len=beam_tree.LONGEST)

    def start(self, memory):
        return {"heard": torch.empty(len(memory["row"]), 0, dtype=torch.int64)}

    def step(self, memory, state, tokens):
        heard = torch.cat([state["heard"], tokens[:, None]], dim=1)
        logits = torch.full((len(heard), len(self.words)), -1e9)
        for row, ids in enumerate(heard.tolist()):
            said = tuple(self.words[i] for i in ids[1:])
            for word, share in beam_tree.following(self.tree, said).items():
                logits[row, EOS if word == beam_tree.END else self.words.index(word)] = math.log(share)
        return logits, {"heard": heard}, None


@pytest.mark.parametrize("name", beam_tree.TREES)
def test_the_tree_finds_what_the_library_finds(name):
    speaks, longest = Speaks(name), beam_tree.LONGEST
    for width in range(1, 6):
        for alpha in (0.0, 0.2, 0.3, 0.6, 1.0):
            sizes = {"beam": width, "max_len": longest, "length_penalty": alpha}
            found = beam_search(speaks, {"row": torch.zeros(1, 1)}, **sizes)
            best = beam_tree.search(beam_tree.TREES[name], width=width, alpha=alpha).best
            assert tuple(speaks.words[i] for i in found.ids[0].tolist() if i) == best.sentence
            assert float(found.scores[0]) == pytest.approx(best.score, abs=1e-5)


@pytest.mark.parametrize("name", beam_tree.TREES)
def test_width_one_is_greedy_sums_only_fall_and_every_beginning_has_its_place(name):
    tree, words = beam_tree.TREES[name], ()
    while not words or words[-1] != beam_tree.END:
        shares = beam_tree.following(tree, words)
        words = (*words, max(shares, key=shares.get))
    assert beam_tree.search(tree, width=1, alpha=0.0).best.sentence == words
    trace = beam_tree.search(tree, width=5, alpha=0.0)
    sums = {words: total for level in trace.open for words, total in level}
    assert all(total <= sums.get(words[:-1], 0.0) + 1e-12 for words, total in sums.items())
    assert all(sum(shares.values()) == pytest.approx(1) for shares in tree.values())
    assert len(set(beam_tree.places(name).values())) == len(beam_tree.places(name))


def test_greedy_misses_the_likelier_sentence_and_a_wide_beam_says_nothing():
    assert [beam("A", width)["said"] for width in (1, 2)] == [("the", "cat"), ("a", "cat")]
    for width in range(1, 6):
        bare, full = beam("B", width), width <= 3
        assert bare["said"] == (("le", "chat", "dort") if full else ())
        assert bare["total"] == pytest.approx(-2.339 if full else -2.120, abs=5e-4)
        assert beam("B", width, 1.0)["said"] == ("le", "chat", "dort")


def test_where_attention_meets_the_rest_and_torch_counts_the_same():
    for d in cost_explorer.WIDTHS:
        assert cost(d, d)["against_recurrent"] == 1
    for d in (64, 512):
        assert cost(6 * d, d)["share"] == 0.5
    n, d = 48, 64
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        Block(d_model=d, n_heads=4, d_ff=4 * d)(torch.randn(1, n, d), with_weights=True)
    assert counter.get_total_flops() == sum(cost_explorer.flops(n, d).values())
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        nn.RNN(d, d, batch_first=True)(torch.randn(1, n, d))
    assert counter.get_total_flops() == cost_explorer.recurrent_flops(n, d)
    found = [cost(n, d) for n in cost_explorer.LENGTHS for d in cost_explorer.WIDTHS]
    parts = [size for one in found for size in (one["parts"]["attention"], one["recurrent"])]
    rest = [one["total"] - one["parts"]["attention"] for one in found]
    assert min(parts) > 6e4 and max(*parts, *rest) < 1e13, "every curve stays in its picture"


# -- words, goals and predictions ---------------------------------------------------------------------


def test_the_words_say_the_numbers_and_the_start_gives_nothing_away():
    assert explore.SoftmaxDial().description == (
        "Scores times 1.0: the shares are cat 0.51, water 0.31, drank 0.19. They add up to 1."
    )
    saturated = explore.SaturationLab()
    assert "0.96" not in saturated.description, "asked before the explorable is seen"
    saturated.preset("unscaled-512")
    assert "d_k = 512, scores divided by 1: the scores spread by 22." in saturated.description
    assert "the largest of 8 weights is 0.96 on average (1.00 for query 1)" in saturated.description
    who = explore.WhoAttends()
    assert who.state["projections"] == "separate", "the question asked before is about one shared matrix"
    told = "Separate projections, d_k = 32: 3 of 8 words look most at themselves (12% over 500"
    assert who.description.startswith(told)
    assert who.description.endswith("The symmetry error of the scores is 0.45, their rank 8.")
    grams = zip(("sugar", "protein", "fat"), cafe()["plate"], strict=True)
    plate = ", ".join(f"{name} {each:.1f} g" for name, each in grams)
    assert explore.SoftDictionary().description.endswith(f"On the plate: {plate}.")


def answers(kind, goal: str, **sweep) -> list:
    """The values of one control, others as at the start or as given, that meet a goal."""
    (name, values), fixed = sweep.popitem(), {**kind.start, **sweep}
    start = kind.facts_at(kind.start)
    return [v for v in values if kind.met(kind.facts_at({**fixed, name: v}), start)[goal]]


def test_goals_have_the_answers_that_lessons_tell():
    lab, cafe, who = explore.SaturationLab, explore.SoftDictionary, explore.WhoAttends
    assert answers(lab, "lose-90", divisor="1", d_k=saturation_lab.WIDTHS) == [128]
    assert answers(lab, "too-flat", divisor="d_k", d_k=saturation_lab.WIDTHS) == [256]
    assert answers(lab, "spared", divisor="1", d_k=512, query=range(1, 9)) == [2]
    back = -1 + 12 * 0.1  # where a slider comes back to: not quite 0.2
    for crunch in (0.2, back):
        assert answers(cafe, "fat-by-values", crunch=crunch, cream=range(41)) == [27]
    assert answers(cafe, "fat-by-weights", temperature=soft_dictionary.TEMPERATURES) == [0.02, 2.0, 3.0]
    assert answers(cafe, "tie", crunch=[i / 10 for i in range(-10, 11)]) == [0.0]
    assert answers(who, "others-win", projections="shared", d_k=who_attends.WIDTHS) == [1, 2]
    assert answers(who, "by-luck", seed=range(20)) == [19]
    assert answers(explore.ClockHands, "three-quarters", offset=range(21)) == [4]
    assert answers(explore.ClockHands, "comes-round", offset=range(21)) == [19]


def opened(lesson: str, question: str, kind: type) -> tuple:
    """The question and its right option, the facts at the start, and those where its preset opens."""
    asked, explorable = questions(lesson)[question], kind()
    before = explorable.facts
    explorable.preset(asked.preset)
    return asked, asked.options[asked.right[0]].text if asked.options else "", before, explorable.facts


def test_the_predictions_are_true():
    asked, _, _, facts = opened("03", "bias-one", explore.GateMixer)
    assert (facts["forget_bias"], facts["write"]) == (1, 0)
    assert facts["half_life"] == pytest.approx(asked.answer, abs=0.05)
    _, right, before, after = opened("04", "twice-the-words", explore.OneVectorSuitcase)
    assert (before["n"], before["d"], round(100 * before["recall"])) == (10, 128, 87), "the question says so"
    assert (after["n"], after["d"]) == (20, 256) and abs(after["recall"] - before["recall"]) < 0.03
    assert right == "256, twice as many" and recall(20, 128) < 0.6
    _, right, before, after = opened("05", "hops-at-32", explore.PathRace)
    assert before["n"] != 32 and before["width"] != 3, "the start gives nothing away"
    hops = [path_race.hops(32, 3, gaps)["convolution"] for gaps in ("without", "with")]
    assert right == " / ".join(map(str, [31, *hops, 1])) == "31 / 16 / 4 / 1"
    _, right, _, after = opened("16", "dec-wide-beam", explore.BeamTree)
    assert right.startswith("the empty sentence") and after["said"] == ()
