"""The claims of lesson 11, against data/results and the shipped systems."""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import mean, median

import pytest
import torch

from course_lib.layers.positions import angles, rotate, sinusoids
from course_lib.models.registry import build, make_config
from course_lib.results import runs
from course_lib.translation.shipped import load_shipped, shared
from lessons.l11_positions.exercises import first_version, in_halves
from lessons.l11_positions.measurements import measure, set_tables
from tests.lesson_claims import (
    LessonText,
    assert_measured_again,
    exact,
    held_out_splits,
    indices_of_true,
    means,
    seeds,
    translations,
)

L = LessonText("positions")
STORED = L.stored()
ENCODINGS = ("rotary", "sinusoidal", "learned", "none")
TRAINED, BEYOND = "16–20", "21–30"


def by_seed(experiment: str, variant: str, split: str, words: str) -> list[float]:
    return seeds(experiment, variant, "scores", split, "by_length", words, "exact", times=100)


@pytest.fixture
def transformer():
    """A copy of its own, to be changed."""
    return load_shipped("transformer")


def test_a_new_measurement_agrees_with_the_stored_one():
    assert_measured_again(measure(), STORED, abs=0.02)


# ---- section 1


def test_without_source_positions_a_sentence_is_a_bag_of_words(transformer):
    table = transformer.model.source_positions.table.clone()
    set_tables(transformer, torch.zeros_like(table), table)
    orders = ("the cat sees the dog", "the dog sees the cat", "sees dog the cat the")
    assert {transformer(text).target for text in orders} == {"le chien voit le chat"}
    assert L.asked("same-bag-shuffled").right == [1]


def test_without_target_positions_short_sentences_are_right_and_others_go_in_circles(transformer):
    table = transformer.model.source_positions.table.clone()
    set_tables(transformer, table, torch.zeros_like(table))
    assert transformer("the cat sees the dog").target == "le chat voit le chien"
    assert transformer("the dog sees the cat").target == "le chien voit le chat"
    circling = "la fille qui a vu le garçon qui a vu le garçon qui a vu"
    assert transformer("the girl who saw the boy slept").target.startswith(circling)


def test_source_positions_alone_are_level_with_both_and_target_positions_alone_with_none():
    both_or_none, one_side = exact("positions"), exact("position_sides")
    assert one_side["source only"] == pytest.approx(both_or_none["sinusoidal"], abs=1)
    assert one_side["target only"] == pytest.approx(both_or_none["none"], abs=1)
    assert both_or_none["sinusoidal"] - both_or_none["none"] > 40
    assert L.asked("which-side").right == [1]
    compared = (("positions", "none"), ("positions", "sinusoidal"))
    compared += (("position_sides", "source only"), ("position_sides", "target only"))
    assert len({means(experiment, "parameters")[name] for experiment, name in compared}) == 1


def test_order_matters_more_in_long_sentences():
    none = [exact("positions", words=words)["none"] for words in ("1–5", "6–10", "11–15", TRAINED)]
    assert none == sorted(none, reverse=True)
    assert none[0] > 95 and none[-1] == pytest.approx(100 / 20, abs=1.5)  # one in twenty


# ---- sections 2 and 3


def test_the_fastest_and_the_slowest_hand():
    periods = [2 * math.pi / float(speed) for speed in angles(2, 64)[1]]
    assert round(periods[0]) == 6 and round(periods[-1], -3) == 47_000


def test_the_product_falls_up_to_offset_5_and_then_rises_a_little():
    table = sinusoids(64, 64)
    products = [float(table[10] @ table[10 + offset]) for offset in range(8)]
    assert products[0] == pytest.approx(32)
    assert products[:6] == sorted(products[:6], reverse=True)
    assert 0 < products[6] - products[5] < 0.1 and products[7] < products[6]
    assert L.asked("one-word-more").right == [2]


# ---- section 4


def test_counting_from_six_breaks_the_translator_and_cross_attention_is_the_cause():
    from_0, from_2, from_4, from_6 = (STORED[f"exact, from {first}"] for first in (0, 2, 4, 6))
    assert min(from_0, from_2) > 0.95 and from_2 > from_4 > 0.8
    assert from_6 == pytest.approx(1 / 4, abs=0.05)  # about a quarter
    weight = [STORED[f"weight on aligned words, from {first}"] for first in (0, 6)]
    assert weight[0] > 0.75 and weight[1] < 0.6
    assert STORED["next words right, from 6 with the weights of 0"] > 0.95
    assert STORED["next words right, from 6"] < 0.33


# ---- section 5


def test_the_first_16_rows_are_the_matrices_of_one_head():
    attention = shared("transformer").model.encoder.blocks[0].attention
    words = torch.randn(1, 5, 64, generator=torch.Generator().manual_seed(0))
    query, keys, _ = attention.project(words)
    assert torch.allclose(query[0, 0], words[0] @ attention.w_query[:16].T, atol=1e-5)
    assert torch.allclose(keys[0, 0], words[0] @ attention.w_key[:16].T, atol=1e-5)
    assert attention.n_heads == 4 and query.shape[-1] == 16


def test_rotary_self_attention_does_not_see_a_shift():
    """The whole Transformer, untrained: counted from 0 or from 7, source and target separately."""
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


def test_rotary_positions_and_sinusoids_have_no_parameters_and_learned_ones_a_table_for_each_side():
    parameters = means("positions", "parameters")
    assert parameters["none"] == parameters["sinusoidal"] == parameters["rotary"]
    assert parameters["learned"] - parameters["none"] == 2 * 64 * 64


# ---- section 6


def test_up_to_20_words_all_encodings_are_level():
    compared = [exact("positions", words=TRAINED)[name] for name in ("learned", "sinusoidal", "rotary")]
    compared.append(exact("toy_ladder", words=TRAINED)["bahdanau"])
    assert min(compared) > 95
    parameters = [*means("positions", "parameters").values(), means("toy_ladder", "parameters")["bahdanau"]]
    assert all(number == pytest.approx(400_000, rel=0.05) for number in parameters)


def test_rotary_carries_furthest_in_all_seeds_and_none_carries_far():
    rotary, sinusoidal, learned, none = (by_seed("positions", name, "long", BEYOND) for name in ENCODINGS)
    assert min(rotary) > max(sinusoidal) and min(sinusoidal) > max(learned) and min(learned) >= max(none)
    assert len(rotary) == 3 and mean(rotary) == pytest.approx(100 / 3, abs=4)  # about a third
    assert {run["scores"]["long"]["by_length"]["31–40"]["exact"] for run in runs("positions")} == {0.0}
    assert L.asked("rotary-at-forty").answer == 0 and L.asked("new-lengths").right == [2]


def test_the_recurrent_network_with_attention_carries_further_than_every_transformer():
    for words in (BEYOND, "31–40"):
        recurrent = by_seed("toy_ladder", "bahdanau", "long", words)
        transformers = [score for name in ENCODINGS for score in by_seed("positions", name, "long", words)]
        assert min(recurrent) > max(transformers)
    scores = exact("toy_ladder", "long", BEYOND)
    assert max(scores["rnn_encoder_decoder"], scores["seq2seq"]) < 1  # recurrence without attention
    # one number is quoted for both
    assert scores["rnn_encoder_decoder"] == pytest.approx(scores["seq2seq"], abs=0.1)


def test_luongs_networks_lose_beyond_the_trained_lengths_and_location_nearly_everything():
    before, after = exact("toy_ladder", words=TRAINED), exact("toy_ladder", "long", BEYOND)
    names = ("dot", "general", "concat", "local_m")
    kept = {name: after[f"luong_{name}"] / before[f"luong_{name}"] for name in names}
    assert all(0.4 < fraction < 0.85 for fraction in kept.values())
    assert kept["general"] < kept["local_m"] < kept["concat"]  # a rule for places does no worse than content
    assert after["luong_location"] < 5 < 80 < before["luong_location"]


def test_the_transformer_leaves_the_last_clause_out():
    notebook = L.run_cell("long_sentence", transformer=shared("transformer"), load_shipped=shared)
    assert len(notebook["long_one"].split()) == 24
    names = ("transformer", "bahdanau")
    transformer, recurrent = (shared(name)(notebook["long_one"]).target for name in names)
    assert recurrent.startswith(transformer)
    assert "acheté" in recurrent.removeprefix(transformer)  # “but did not buy it”


def test_the_first_twenty_words_or_so_are_usually_right():
    pairs, n_right = held_out_splits().long[:40], []
    for text, pair in zip(translations(shared("transformer"), pairs), pairs, strict=True):
        same = [word == reference for word, reference in zip(text.split(), pair.tgt, strict=False)]
        n_right.append(same.index(False) if False in same else len(same))
    assert 17 <= median(n_right) <= 24


# ---- Break it


def test_sines_and_cosines_in_halves_have_the_same_products_and_break_the_translator(transformer):
    woven, halves = sinusoids(64, 64), in_halves(64, 64)
    assert torch.allclose(halves @ halves.T, woven @ woven.T, atol=1e-3)
    texts = ("the cat sees the dog", "the small dog sees the black cat")
    usual = [transformer(text).target for text in texts]
    set_tables(transformer, halves, halves)
    assert all(transformer(text).target != output for text, output in zip(texts, usual, strict=True))


# ---- answers of the quiz


def test_the_numbers_of_the_quiz():
    query, key = (
        rotate(torch.tensor([[length, 0.0]]), torch.tensor([[position * math.pi / 2]]))
        for length, position in ((2.0, 9), (3.0, 7))
    )
    assert L.asked("turned-product").answer == pytest.approx((query * key).sum().item(), abs=1e-4)
    assert L.asked("row-length").answer == pytest.approx(sinusoids(78, 512)[77].norm().item(), abs=1e-3)


def test_a_batch_of_one_got_the_first_row_for_all_its_words():
    table, words = sinusoids(5, 8), torch.zeros(1, 5, 8)
    added = first_version(words, table)[0]
    expected = indices_of_true(torch.equal(added, table), torch.equal(added, table[:1].expand(5, -1)), False)
    assert L.asked("batch-or-words").right == expected


def test_a_turn_after_the_matrices_leaves_the_offset_alone_and_one_before_does_not():
    generator = torch.Generator().manual_seed(11)
    w_q, w_k = torch.randn(2, 4, 4, generator=generator)
    words, theta = torch.randn(2, 4, generator=generator), angles(40, 4)

    def turned(features: torch.Tensor, position: int) -> torch.Tensor:
        return rotate(features[None], theta[position : position + 1])[0]

    after, before = (
        [score(position) for position in (2, 30)]
        for score in (
            lambda at: (turned(words[0] @ w_q, at) @ turned(words[1] @ w_k, at + 3)).item(),
            lambda at: ((turned(words[0], at) @ w_q) @ (turned(words[1], at + 3) @ w_k)).item(),
        )
    )
    offset_alone = after[1] == pytest.approx(after[0], abs=1e-4)
    lost = before[1] != pytest.approx(before[0], abs=0.01)
    keeps_lengths = turned(words[0], 30).norm().item() == pytest.approx(words[0].norm().item())
    assert L.asked("place-of-the-turn").right == indices_of_true(
        not lost, lost and offset_alone, not keeps_lengths
    )
    assert L.asked("rotary-or-added").right == indices_of_true(offset_alone, False, False)


def test_sines_alone_do_not_tell_how_far_apart_two_rows_are():
    sines = angles(200, 8).sin().repeat_interleave(2, dim=-1)
    products = [(sines[at] @ sines[at + 3]).item() for at in range(150)]
    expected = indices_of_true(
        sines[100:].norm(dim=-1).mean() > 1.5 * sines[:100].norm(dim=-1).mean(),
        max(products) - min(products) > 1,
        torch.allclose(sines[1::2], sines[::2]),
        False,
    )
    assert L.asked("why-cosine").right == expected
