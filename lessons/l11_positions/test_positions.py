"""The claims of lesson 11, against data/results and the shipped systems."""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import mean

import pytest
import torch

from course_lib.layers import positions
from course_lib.layers.positions import angles, rotate, sinusoids
from course_lib.models.registry import build, make_config
from course_lib.results import runs
from course_lib.teaching.questions.question import questions
from course_lib.translation.shipped import load_shipped
from lessons.l11_positions import (
    attend_with,
    attention_layers,
    count_right,
    encode_pairs,
    key_picture,
    percent_exact,
)
from lessons.l11_positions.exercises import ROTATE, in_halves
from lessons.l11_positions.measurements import measure, rotate_from, set_tables, six_to_ten_words
from lessons.l11_positions.scores import RANGES, exact_by_length
from tests.lesson_claims import (
    LessonText,
    all_splits,
    assert_measured_again,
    exact,
    indices_of_true,
    means,
    seeds,
)

L = LessonText("positions")
STORED = L.stored()
ENCODINGS = ("rotary", "sinusoidal", "learned", "none")
TRAINED, BEYOND = "16–20", "21–30"


def by_seed(experiment: str, variant: str, split: str, words: str) -> list[float]:
    return seeds(experiment, variant, "scores", split, "by_length", words, "exact", times=100)


@torch.no_grad()
def test_the_key_picture_turns_the_query_and_the_key_of_the_shipped_model():
    table, _, turned = key_picture.numbers()
    assert torch.allclose(table, load_shipped("transformer").model.source_positions.table, atol=1e-6)
    rope = load_shipped("transformer_rotary")
    block, frequencies = rope.model.encoder.blocks[0], 10_000.0 ** (-torch.arange(0, 16, 2) / 16)
    for each in turned:
        pairs, matrices = [], (block.attention.w_query, block.attention.w_key)
        for name, position, matrix in zip(("drank", "cat"), each.positions, matrices, strict=True):
            embedding = 8 * rope.model.words.output.weight[rope.tokenizer.encode(name)[0]]
            vector = (matrix @ block.around_attention.norm(embedding))[16:32]  # of head 1
            pairs.append(torch.view_as_complex(vector.view(8, 2)) * torch.exp(1j * position * frequencies))
        shown = torch.view_as_complex(torch.tensor(each.after))
        assert torch.allclose(shown, torch.stack([pair[0] for pair in pairs]), atol=1e-4)
        parts = (pairs[0] * pairs[1].conj()).real / 4
        assert each.part == pytest.approx(parts[0].item(), abs=1e-4)
        assert each.score == pytest.approx(parts.sum().item(), abs=1e-4)
    one, again, other = (each.score for each in turned)
    assert one == pytest.approx(again, abs=1e-4) and abs(one - other) > 0.5


@pytest.fixture
def transformer():
    """A copy of its own, to be changed."""
    return load_shipped("transformer")


@pytest.fixture
def rope():
    return load_shipped("transformer_rotary")


@pytest.fixture(scope="module")
def sentences():
    return six_to_ten_words(60)


@pytest.mark.nightly
def test_a_new_measurement_agrees_with_the_stored_one():
    assert_measured_again(measure(), STORED, abs=0.04)


# ---- section 1


def test_without_source_positions_the_order_of_the_words_makes_no_difference(transformer):
    table = transformer.model.source_positions.table.clone()
    set_tables(transformer.model, torch.zeros_like(table), table)
    orders = ("the cat sees the dog", "the dog sees the cat", "sees dog the cat the")
    assert {transformer(text).target for text in orders} == {"le chien voit le chat"}
    assert L.asked("same-bag-shuffled").right == [1]


def test_without_target_positions_short_sentences_are_right_and_others_repeat_themselves(transformer):
    table = transformer.model.source_positions.table.clone()
    set_tables(transformer.model, table, torch.zeros_like(table))
    assert transformer("the cat sees the dog").target == "le chat voit le chien"
    assert transformer("the dog sees the cat").target == "le chien voit le chat"
    repeated = "la fille qui a vu le garçon qui a vu le garçon qui a vu"
    assert transformer("the girl who saw the boy slept").target.startswith(repeated)


def test_source_positions_alone_are_close_to_both_and_target_positions_alone_to_none():
    both_or_none, one_side = exact("positions"), exact("position_sides")
    assert one_side["source only"] == pytest.approx(both_or_none["sinusoidal"], abs=1)
    assert one_side["target only"] == pytest.approx(both_or_none["none"], abs=1)
    assert both_or_none["sinusoidal"] - both_or_none["none"] > 40
    assert L.asked("which-side").right == [1]
    compared = (("positions", "none"), ("positions", "sinusoidal"))
    compared += (("position_sides", "source only"), ("position_sides", "target only"))
    assert len({means(experiment, "parameters")[name] for experiment, name in compared}) == 1


def test_target_positions_make_no_clear_difference():
    both, source = (
        seeds(experiment, name, "scores", "test", "exact")
        for experiment, name in (("positions", "sinusoidal"), ("position_sides", "source only"))
    )
    assert len(both) == len(source) == 3 and max(source) > min(both)


def test_order_matters_more_in_long_sentences():
    none = exact_by_length("positions", "none")[:4]
    assert none == sorted(none, reverse=True) and none[0] > 95 and none[-1] < 10


def test_the_curves_are_the_recorded_means():
    assert [split for split, _ in RANGES] == ["test"] * 4 + ["long"] * 2
    recorded = exact("positions", words="11–15"), exact("positions", "long", "31–40")
    for name in ENCODINGS:
        curve = exact_by_length("positions", name)
        assert [curve[2], curve[5]] == pytest.approx([scores[name] for scores in recorded])


# ---- sections 2 and 3


def test_the_fastest_and_the_slowest_hand():
    periods = [2 * math.pi / float(frequency) for frequency in angles(2, 64)[1]]
    assert round(periods[0]) == 6 and round(periods[-1], -3) == 47_000


def test_the_product_falls_up_to_distance_5_and_then_rises_a_little():
    table = sinusoids(64, 64)
    products = [float(table[10] @ table[10 + distance]) for distance in range(8)]
    assert products[0] == pytest.approx(32)
    assert products[:6] == sorted(products[:6], reverse=True)
    assert 0 < products[6] - products[5] < 0.1 and products[7] < products[6]
    assert L.asked("one-word-more").right == [2]


def test_sines_alone_are_no_function_of_the_distance():
    sines = angles(200, 8).sin()
    products = (sines[:150] * sines[3:153]).sum(-1)
    assert products.max() - products.min() > 1


# ---- section 4


def test_the_shifted_sentences_use_only_positions_of_the_training_set(sentences):
    longest_source = max(len(pair.src) for pair in all_splits().train)
    longest_target = max(len(pair.tgt) for pair in all_splits().train)
    assert (longest_source, longest_target) == (20, 26)  # both are quoted
    assert 6 + max(len(pair.src) for pair in sentences) <= longest_source
    assert 6 + max(len(pair.tgt) for pair in sentences) <= longest_target


@pytest.mark.parametrize("which", ["sinusoidal", "sinusoidal, new sentences"])
def test_counting_from_6_breaks_the_translator_with_sinusoidal_encodings(which):
    scores = STORED[which]
    assert min(scores["from 0"], scores["from 2"]) > 0.95 and scores["from 2"] > scores["from 4"] > 0.8
    assert scores["from 6"] < 0.3 and scores["from 1000"] < 0.5
    assert STORED["sinusoidal"]["from 6"] == pytest.approx(1 / 4, abs=0.05)  # about a quarter


def test_even_matrices_that_respect_the_distance_leave_two_terms_with_absolute_positions():
    """If W_Q^T W_K commutes with the rotations, a shift still changes the two mixed terms."""
    generator, table = torch.Generator().manual_seed(11), sinusoids(40, 8)
    a, b = torch.randn(2, 4, generator=generator)
    blocks = [torch.tensor([[x, -y], [y, x]]) for x, y in zip(a.tolist(), b.tolist(), strict=True)]
    commuting, learned = torch.block_diag(*blocks), torch.randn(8, 8, generator=generator)
    x, y = torch.randn(2, 8, generator=generator)

    def terms(product: torch.Tensor, at: int) -> list[float]:
        """Word with word, word with position, position with word, position with position."""
        p, q = table[at], table[at + 3]
        return [(left @ product @ right).item() for left, right in ((x, y), (x, q), (p, y), (p, q))]

    for product, survives in (
        (commuting, [True, False, False, True]),
        (learned, [True, False, False, False]),
    ):
        before, after = terms(product, 2), terms(product, 8)
        score = (x + table[2]) @ product @ (y + table[5])
        assert sum(before) == pytest.approx(score.item(), abs=1e-4), "the four terms are the score"
        assert [math.isclose(*pair, abs_tol=1e-3) for pair in zip(before, after, strict=True)] == survives
        assert sum(after) != pytest.approx(sum(before), abs=0.01)


def test_dot_products_of_rows_are_symmetric_and_a_matrix_in_between_makes_them_distinguish_directions():
    table = sinusoids(40, 8)
    step_back = torch.linalg.lstsq(table[1:], table[:-1]).solution.T  # rotates every hand back by one step
    assert torch.allclose(table[1:] @ step_back.T, table[:-1], atol=1e-3)
    assert table[10] @ table[11] == pytest.approx((table[10] @ table[9]).item(), abs=1e-4)
    assert (step_back @ table[10]) @ table[9] > (step_back @ table[10]) @ table[11] + 0.5


@pytest.mark.parametrize("which", ["patching", "patching, new sentences"])
def test_only_the_cross_attention_weights_repair_the_translator_and_only_they_break_it(which):
    scores = STORED[which]
    assert scores["from 6"] < 0.3 < 0.95 < scores["from 0"]
    assert scores["from 6 with cross weights from 0"] == scores["from 0"]
    assert max(scores[f"from 6 with {kind} weights from 0"] for kind in ("encoder", "decoder")) < 0.5
    assert scores["from 0 with cross weights from 6"] < 0.3
    assert min(scores[f"from 0 with {kind} weights from 6"] for kind in ("encoder", "decoder")) > 0.9


def test_the_patching_cell_prints_the_stored_numbers(transformer, sentences, capsys):
    table = transformer.model.source_positions.table.clone()
    L.run_cell(
        "patching",
        torch=torch,
        model=transformer.model,
        transformer=transformer,
        pairs=sentences,
        rows=sinusoids(1100, 64),
        original=table,
        set_tables=lambda source, target: set_tables(transformer.model, source, target),
        encode_pairs=encode_pairs,
        count_right=count_right,
        attention_layers=attention_layers,
        attend_with=attend_with,
    )
    printed = [int(line.split(": ")[1].split()[0]) for line in capsys.readouterr().out.splitlines()]
    names = ["from 6"] + [f"from 6 with {kind} weights from 0" for kind in ("encoder", "decoder", "cross")]
    assert [n / 60 for n in printed] == pytest.approx([STORED["patching"][name] for name in names], abs=0.04)
    assert torch.equal(transformer.model.source_positions.table, table)  # nothing is left changed
    assert percent_exact(transformer, sentences[:20]) > 90


def test_a_layer_with_its_own_weights_is_unchanged(transformer, sentences):
    model, batch = transformer.model, encode_pairs(transformer, sentences[:8])
    with torch.no_grad():
        weights = model.attention_weights(batch.src, batch.src_lengths, batch.tgt_in)
        usual = model.decode(model.encode(batch.src, batch.src_lengths), batch.tgt_in)[0]
        for kind in ("encoder", "decoder", "cross"):
            for i, layer in enumerate(attention_layers(model, kind)):
                layer.attend = attend_with(layer, weights[kind][:, i])
        patched = model.decode(model.encode(batch.src, batch.src_lengths), batch.tgt_in)[0]
    assert torch.allclose(usual, patched, atol=1e-4)


# ---- section 5


def test_the_rope_cell_uses_the_learners_function_and_the_translations_survive(rope, sentences):
    calls = []

    def own_rotate(features, angles):
        calls.append(features.shape)
        return rotate(features, angles)

    notebook = L.run_cell(
        "rope",
        load_shipped=lambda name: {"transformer_rotary": rope}[name],
        yours=lambda name: {"rotate": own_rotate}[name],
        positions=positions,
        pairs=sentences,
        percent_exact=percent_exact,
    )
    usual = [side.rotate for side in (rope.model.source_positions, rope.model.target_positions)]
    percents = [notebook["rope_from"](start) for start in (0, 6, 1000)]
    assert percents == [100.0 * STORED["RoPE"][f"from {start}"] for start in (0, 6, 1000)]
    assert min(percents) > 95 and {shape[1] for shape in calls} == {4}  # all heads
    assert notebook["rope_from"](0, factor=0) < 30
    assert [rope.model.source_positions.rotate, rope.model.target_positions.rotate] == usual, "restored"
    assert rope.model.config.d_model // rope.model.config.n_heads == notebook["angles"].shape[1] * 2 == 16


@pytest.mark.parametrize("which", ["RoPE", "RoPE, new sentences"])
def test_with_rope_no_translation_changes_and_without_the_rotation_nearly_all_are_wrong(which):
    scores = STORED[which]
    assert {scores[f"unchanged, from {start}"] for start in (0, 6, 1000)} == {1.0}
    assert scores["without rotation"] < 0.2 < 0.95 < scores["from 0"]
    assert L.asked("from-a-thousand").right == [2]


def test_both_translators_have_the_same_size_and_differ_only_in_their_positions(rope, transformer):
    assert replace(rope.model.config, positions="sinusoidal") == transformer.model.config
    parameters = means("positions", "parameters")
    assert parameters["none"] == parameters["sinusoidal"] == parameters["rotary"]
    assert parameters["learned"] - parameters["none"] == 2 * 64 * 64


def test_any_model_with_rope_is_unaffected_by_a_shift_trained_or_not():
    torch.manual_seed(0)
    config = replace(make_config("transformer", scale="tiny", vocab_size=50), positions="rotary")
    model = build("transformer", config).eval()
    src, tgt, lengths = torch.randint(4, 50, (2, 8)), torch.randint(4, 50, (2, 6)), torch.tensor([8, 8])
    with torch.no_grad():
        usual = model.decode(model.encode(src, lengths), tgt)[0]
        for side in (model.source_positions, model.target_positions):
            side.rotate = lambda features, *, first=0, rotate=side.rotate: rotate(features, first=first + 7)
        assert torch.allclose(usual, model.decode(model.encode(src, lengths), tgt)[0], atol=1e-4)
    assert L.asked("shift-by-hundred").right == [1]


def test_a_rotation_after_the_matrices_depends_on_the_distance_and_one_before_does_not():
    generator = torch.Generator().manual_seed(11)
    w_q, w_k = torch.randn(2, 4, 4, generator=generator)
    words, theta = torch.randn(2, 4, generator=generator), angles(40, 4)

    def rotated(features: torch.Tensor, position: int) -> torch.Tensor:
        return rotate(features[None], theta[position : position + 1])[0]

    after = [(rotated(w_q @ words[0], at) @ rotated(w_k @ words[1], at + 3)).item() for at in (2, 30)]
    before = [((w_q @ rotated(words[0], at)) @ (w_k @ rotated(words[1], at + 3))).item() for at in (2, 30)]
    assert after[1] == pytest.approx(after[0], abs=1e-4) and before[1] != pytest.approx(before[0], abs=0.01)
    assert L.asked("rotary-or-added").right == indices_of_true(True, False, False)


def test_with_rope_the_direction_counts_and_not_only_the_distance():
    def score(query_at: int, key_at: int) -> float:
        theta = angles(20, 4)
        query, key = torch.tensor([[2.0, 0.0, 1.0, 1.0]]), torch.tensor([[0.0, 3.0, 1.0, 0.0]])
        rotated = rotate(query, theta[query_at, None]), rotate(key, theta[key_at, None])
        return (rotated[0] * rotated[1]).sum().item()

    assert score(4, 6) == pytest.approx(score(14, 16), abs=1e-4)  # the key comes two words later
    assert score(6, 4) == pytest.approx(score(16, 14), abs=1e-4)  # two words earlier
    assert score(4, 6) != pytest.approx(score(6, 4), abs=0.1)


@torch.no_grad()
def changes_with_the_order(kind: str, side: str) -> list[list[float]]:
    """How much the queries, keys and values of the words change if two words change places.

    One list for each self-attention layer of an untrained model; queries and keys before any rotation.
    """
    torch.manual_seed(0)
    config = replace(make_config("transformer", scale="tiny", vocab_size=50), positions=kind)
    model = build("transformer", config).eval()
    words, order = torch.tensor([[7, 12, 9, 30, 21]]), [2, 1, 0, 3, 4]
    layers, found = attention_layers(model, side), []
    for ids in (words, words[:, order]):
        projected = []
        for layer in layers:
            project = type(layer).project.__get__(layer)
            layer.project = lambda x, project=project, to=projected: to.append(project(x)) or to[-1]
        model.decode(model.encode(ids, torch.tensor([5])), ids)
        found.append(projected)
    assert len(found[0]) == len(layers) == 2
    return [
        [(new[:, :, order] - old).abs().max().item() for old, new in zip(*layer, strict=True)]
        for layer in zip(*found, strict=True)
    ]


@pytest.mark.parametrize("side", ["encoder", "decoder"])
def test_with_rope_the_values_contain_positions_from_the_second_layer_on(side):
    (*_, in_the_first), (*_, in_the_second) = changes_with_the_order("rotary", side)
    assert in_the_first < 1e-5 and in_the_second > 1e-3


def test_without_positions_the_order_gets_into_queries_and_keys_through_the_causal_mask_only():
    first, second = changes_with_the_order("none", "decoder")
    assert max(first) < 1e-5 and min(second) > 1e-3
    assert max(map(max, changes_with_the_order("none", "encoder"))) < 1e-5
    assert L.asked("order-left").right == [0, 2]


# ---- section 6


def test_up_to_20_words_all_encodings_are_above_95_percent_on_average():
    compared = [exact("positions", words=TRAINED)[name] for name in ("learned", "sinusoidal", "rotary")]
    compared.append(exact("toy_ladder", words=TRAINED)["bahdanau"])
    assert min(compared) > 95
    parameters = [*means("positions", "parameters").values(), means("toy_ladder", "parameters")["bahdanau"]]
    assert all(number == pytest.approx(400_000, rel=0.05) for number in parameters)


def test_rope_extrapolates_best_in_all_seeds_and_none_extrapolates_far():
    rotary, sinusoidal, learned, none = (by_seed("positions", name, "long", BEYOND) for name in ENCODINGS)
    assert min(rotary) > max(sinusoidal) and min(sinusoidal) > max(learned) and min(learned) >= max(none)
    assert len(rotary) == len(sinusoidal) == len(learned) == 3
    assert {run["scores"]["long"]["by_length"]["31–40"]["exact"] for run in runs("positions")} == {0.0}
    assert L.asked("rotary-at-forty").answer == 0 and L.asked("new-lengths").right == [2]


def test_the_differences_at_21_to_30_words_exceed_the_spread_over_sentences():
    """As if the sentences of the two systems were different ones, which overestimates the spread."""
    n = runs("positions")[0]["scores"]["long"]["by_length"][BEYOND]["n"]
    for better, worse in (("rotary", "sinusoidal"), ("sinusoidal", "learned")):
        p, q = (mean(by_seed("positions", name, "long", BEYOND)) / 100 for name in (better, worse))
        assert p - q > 2 * math.sqrt((p * (1 - p) + q * (1 - q)) / n)


def test_the_recurrent_network_with_attention_extrapolates_further_than_every_transformer():
    for words in (BEYOND, "31–40"):
        recurrent = by_seed("toy_ladder", "bahdanau", "long", words)
        transformers = [score for name in ENCODINGS for score in by_seed("positions", name, "long", words)]
        assert min(recurrent) > max(transformers)
    scores = exact("toy_ladder", "long", BEYOND)
    assert max(scores["rnn_encoder_decoder"], scores["seq2seq"]) < 1  # recurrence without attention
    # one number is quoted for both
    assert scores["rnn_encoder_decoder"] == pytest.approx(scores["seq2seq"], abs=0.1)


# ---- Break it


def test_sines_and_cosines_in_halves_have_the_same_products_and_break_the_translator(transformer):
    alternating, halves = sinusoids(64, 64), in_halves(64, 64)
    assert torch.allclose(halves @ halves.T, alternating @ alternating.T, atol=1e-3)
    texts = ("the cat sees the dog", "the small dog sees the black cat")
    usual = [transformer(text).target for text in texts]
    set_tables(transformer.model, halves, halves)
    assert all(transformer(text).target != output for text, output in zip(texts, usual, strict=True))


def test_weights_trained_with_one_layout_of_rope_fail_with_the_other(rope, sentences):
    rotate_from(rope.model, 0)
    assert percent_exact(rope, sentences) > 95
    theta = angles(64, 16)
    [rotate_halves] = [slip.wrong for slip in ROTATE.slips if slip.name == "halves"]

    def in_halves_from(features: torch.Tensor, *, first: int = 0) -> torch.Tensor:
        return rotate_halves(features, theta[first : first + features.shape[-2]])

    rope.model.source_positions.rotate = rope.model.target_positions.rotate = in_halves_from
    assert percent_exact(rope, sentences) < 50


# ---- answers of the quiz


def test_the_dot_products_of_the_rotated_pairs():
    def product(query_at: int, key_at: int) -> float:
        query, key = (
            rotate(torch.tensor([[norm, 0.0]]), torch.tensor([[position * math.pi / 2]]))
            for norm, position in ((2.0, query_at), (3.0, key_at))
        )
        return (query * key).sum().item()

    assert L.asked("turned-product").answer == pytest.approx(product(9, 7), abs=1e-4)
    assert [product(1, 0), product(6, 5), product(2, 0)] == pytest.approx([0, 0, -6], abs=1e-4)  # the table


def test_the_short_track_has_two_closing_questions():
    closing = [question for question in questions("11").values() if question.use == "closing"]
    assert len([question for question in closing if question.track != "core"]) >= 2
