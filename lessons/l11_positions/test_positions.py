"""Figures and claims of lesson 11 are those of data/results and of the shipped systems."""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import median

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from course_lib.layers.multi_head import join_heads
from course_lib.layers.positions import angles, sinusoids
from course_lib.models.registry import build, make_config
from course_lib.results import runs
from course_lib.text.batch import make_batch
from course_lib.text.special import PAD
from course_lib.translation.shipped import load_shipped, shared
from tests.lessons.told import Told, exact, exams, n_right, said, seeds

L = Told("positions")
NEW = ("scores", "long", "by_length", "21–30", "exact")


@pytest.fixture
def transformer():
    """Its own, to be changed."""
    return load_shipped("transformer")


def put(system, source, target) -> None:
    system.model.source_positions.table, system.model.target_positions.table = source, target


def six_to_ten():
    return [pair for pair in exams().test if 6 <= pair.length <= 10][:60]


def test_the_records():
    within = exact("positions", words="16–20")
    assert 4 < within["none"] < 6.5
    L.says("about one in twenty", "already at one in twenty")
    assert min(within[name] for name in ("learned", "sinusoidal", "rotary")) > 95
    assert exact("toy_ladder", words="16–20")["bahdanau"] > 95
    rotary, sinusoidal, learned, none = (
        seeds("positions", name, *NEW) for name in ("rotary", "sinusoidal", "learned", "none")
    )
    assert min(rotary) > max(sinusoidal) and min(sinusoidal) > max(learned) > max(none)  # in every training
    assert {run["scores"]["long"]["by_length"]["31–40"]["exact"] for run in runs("positions")} == {0.0}
    L.says("Not one sentence, in any of three trainings")


def test_without_positions_a_sentence_is_a_bag_or_goes_in_circles(transformer):
    table = transformer.model.source_positions.table.clone()
    put(transformer, torch.zeros_like(table), table)
    assert transformer("sees dog the cat the").target == "le chien voit le chat"
    assert L.quiz.count("le chien voit le chat") == 2
    L.says("sees dog the cat the")
    put(transformer, table, torch.zeros_like(table))
    told = "la fille qui a vu le garçon qui a vu le garçon qui a vu"
    assert transformer("the girl who saw the boy slept").target.startswith(told)
    L.says(f"*{told} …*")


def test_counting_from_six_breaks_it_and_it_is_the_look_across_that_goes_astray(transformer):
    model, encode, rows, pairs = (
        transformer.model,
        transformer.tokenizer.encode,
        sinusoids(100, 64),
        six_to_ten(),
    )
    shares = []
    for first in (0, 2, 4, 6):
        put(transformer, rows[first : first + 64], rows[first : first + 64])
        shares.append(n_right(said(transformer, pairs), pairs) / 60)
    assert shares[0] > 0.95 and shares[1] > 0.97 and 0.83 < shares[2] < 0.93 and 0.2 < shares[3] < 0.33
    L.says("about 98% of the 60", "About a quarter", "from 4 still 88%")
    batch = make_batch([encode(pair.src_text) for pair in pairs], [encode(pair.tgt_text) for pair in pairs])

    @torch.no_grad()
    def run(first: int) -> tuple[Tensor, float]:
        """The weights across, and the share of sentences of which every next word is right."""
        put(transformer, rows[first : first + 64], rows[first : first + 64])
        weights = model.all_weights(batch.src, batch.src_lengths, batch.tgt_in)["cross"]
        found = model.decode(model.encode(batch.src, batch.src_lengths), batch.tgt_in)[0].argmax(-1)
        right = (found == batch.tgt_out) | (batch.tgt_out == PAD)
        return weights, float(right.all(-1).float().mean())

    def on_the_right_words(weights: Tensor) -> float:
        last = weights[:, -1].mean(1)
        links = [(i, french, english) for i, pair in enumerate(pairs) for english, french in pair.links]
        return float(sum(last[link] for link in links) / len(links))

    (plain, _), (moved, broken) = run(0), run(6)
    assert on_the_right_words(plain) > 0.75 and on_the_right_words(moved) < 0.6
    for layer, block in enumerate(model.decoder.blocks):

        def look(query, keys, values, *, as_before=plain[:, layer], heads=block.cross, **_):
            return F.linear(join_heads(as_before @ values), heads.w_output), as_before

        block.cross.look = look
    assert (round(100 * run(6)[1]), round(100 * broken)) == (98, 27)
    L.says("98% are right again in place of 27%")


def test_the_matrices_of_section_5_are_those_of_one_head():
    attention = shared("transformer").model.encoder.blocks[0].attention
    L.says("w_query[:16].detach().T", "w_key[:16].detach().T")
    words = torch.randn(1, 5, 64, generator=torch.Generator().manual_seed(0))
    query, keys, _ = attention.project(words)
    assert torch.allclose(query[0, 0], words[0] @ attention.w_query[:16].T, atol=1e-5)
    assert torch.allclose(keys[0, 0], words[0] @ attention.w_key[:16].T, atol=1e-5)
    assert attention.n_heads == 4 and query.shape[-1] == 16


def test_products_and_turns():
    table = sinusoids(64, 64)
    products = [f"{float(table[10] @ table[10 + offset]):.2f}" for offset in range(7)]
    assert products[:6] == sorted(products[:6], reverse=True)
    assert [products[at] for at in (0, 1, 5, 6)] == ["32.00", "30.92", "23.50", "23.56"]
    rounds = [2 * math.pi / float(speed) for speed in angles(2, 64)[1]]
    assert round(rounds[0]) == 6 and round(rounds[-1], -3) == 47_000
    L.says("30.92", "23.50 with row 15", "23.56", "after 6 words, the slowest after 47,000")


def test_it_breaks_off_after_about_twenty_words():
    pairs, kept = exams().long[:40], []
    for text, pair in zip(said(shared("transformer"), pairs), pairs, strict=True):
        same = [a == b for a, b in zip(text.split(), pair.tgt, strict=False)]
        kept.append(same.index(False) if False in same else len(same))
    assert 17 <= median(kept) <= 24
    L.says("first twenty words or so are usually right")


def test_rotary_self_attention_does_not_see_a_shift():
    """The whole Transformer, untrained: counted from 0 or from 7, source and target each by itself."""
    torch.manual_seed(0)
    config = replace(make_config("transformer", scale="tiny", vocab_size=50), positions="rotary")
    model = build("transformer", config).eval()
    src, tgt, lengths = torch.randint(4, 50, (2, 8)), torch.randint(4, 50, (2, 6)), torch.tensor([8, 8])
    with torch.no_grad():
        plain = model.decode(model.encode(src, lengths), tgt)[0]
        for side in (model.source_positions, model.target_positions):
            side.turn = lambda features, *, first=0, turn=side.turn: turn(features, first=first + 7)
        assert torch.allclose(plain, model.decode(model.encode(src, lengths), tgt)[0], atol=1e-4)
