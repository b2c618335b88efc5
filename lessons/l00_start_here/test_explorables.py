"""The explorables of lesson 00: the sentence that grows, and the softmax."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from course_lib.models.inference import eval_mode
from course_lib.teaching.questions.question import questions
from course_lib.text.batch import make_batch
from course_lib.translation.shipped import shared
from course_lib.views.words import fits
from lessons.l00_start_here import attention_lines
from lessons.l00_start_here.attention_lines import LINES, SYSTEMS, AttentionLines, growing, translate
from lessons.l00_start_here.softmax_dial import SCORES, SoftmaxDial, compute, softmax
from tests.explore.limits import Limit
from tests.explore.settings import open_question, values_reaching
from tests.lesson_claims import all_splits

DERIVED = {
    "AttentionLines": lambda facts: {
        "translators, heads, numbers shown": [1, 2, 3, 4, attention_lines.N_CELLS],
        "size of the vector": 0 if facts["vector"] is None else len(facts["vector"]),
    }
}
LIMITS = {
    "SoftmaxDial": [Limit("sure", "above 0.9", ("probabilities", 0))],
}


def test_the_sentence_only_grows_and_no_stage_of_it_was_seen_in_training():
    pairs = growing()
    assert [len(pair.src) for pair in pairs] == [4, 9, 15, 20]
    for pair in pairs:
        whole = pairs[-1]
        assert (whole.src[: len(pair.src)], whole.tgt[: len(pair.tgt)]) == (pair.src, pair.tgt)
    assert {pair.src for pair in pairs}.isdisjoint(pair.src for pair in all_splits().train)


def test_one_vector_breaks_after_different_clauses_and_attention_never():
    right = {
        name: [translate(name, n + 1)[0] == pair.tgt for n, pair in enumerate(growing())] for name in SYSTEMS
    }
    assert {
        name: sum(stages) for name, stages in right.items() if sorted(stages, reverse=True) == stages
    } == {
        "rnn_encoder_decoder": 3,
        "seq2seq": 2,
        "bahdanau": 4,
        "transformer": 4,
    }
    assert set(attention_lines.IN_ENGLISH) == {("seq2seq", 3), ("seq2seq", 4), ("rnn_encoder_decoder", 4)}


@pytest.mark.parametrize("name", LINES)
def test_the_lines_are_the_weights_of_the_last_layer_averaged_over_its_heads(name):
    (words, weights), model, encode = translate(name, 4), shared(name).model, shared(name).tokenizer.encode
    batch = make_batch([encode(growing()[-1].src_text)], [encode(" ".join(words))])
    with eval_mode(model), torch.inference_mode():
        expected = model.attention_weights(batch.src, batch.src_lengths, batch.tgt_in)["cross"]
    assert weights == pytest.approx(expected[0, -1].mean(dim=0)[:-1].numpy(), abs=1e-4)


def test_no_word_moves_when_a_clause_is_added_and_all_fit_on_one_line():
    whole = attention_lines.english_places(20)
    for n, pair in enumerate(growing(), start=1):
        assert attention_lines.english_places(len(pair.src))[:-1] == whole[: len(pair.src)]
        rows = [(*pair.src, attention_lines.END), *(translate(name, n)[0] for name in SYSTEMS)]
        assert all(fits(row, 736, attention_lines.SIZE) for row in rows)


def test_where_the_goals_of_the_growing_sentence_are():
    def reached(goal):
        found = {
            name: values_reaching(AttentionLines, goal, system=name, clauses=range(1, 5)) for name in SYSTEMS
        }
        return {name: lengths for name, lengths in found.items() if lengths}

    assert reached("first") == {"seq2seq": [3]} and reached("holds") == {"rnn_encoder_decoder": [3]}
    assert reached("crossing") == {name: [1, 2, 3, 4] for name in LINES}


def test_the_bet_names_the_first_to_break_and_opens_before_anything_breaks():
    asked, opened = questions("00")["translator-2"], AttentionLines().facts
    right, first = (
        asked.options[asked.right[0]].text,
        min(opened["first_mistakes"], key=opened["first_mistakes"].get),
    )
    assert opened["clauses"] == 1 and not any(opened["mistakes"].values())
    assert right == f"`{first}`" and asked.preset is None and attention_lines.SHUFFLED.index(first) == 1


@pytest.mark.parametrize("multiplier", [0.0, 0.7, 1.0, 8.0])
def test_the_probabilities_are_those_of_torch(multiplier):
    expected = torch.softmax(torch.tensor(SCORES) * multiplier, dim=0)
    assert compute(multiplier=multiplier)["probabilities"] == pytest.approx(expected.numpy())


@pytest.mark.parametrize("size", [1e4, 1e300])
def test_the_softmax_never_overflows(size):
    assert softmax(np.array([[size, -size, 0.0, size]])).tolist() == [[0.5, 0.0, 0.0, 0.5]]


def test_times_four_brings_the_largest_probability_close_to_one():
    asked, _, before, after = open_question("00", "times-four", SoftmaxDial)
    assert asked.right == [2], "close to 1"
    assert before["multiplier"] == 1 and before["scores"].tolist() == [2.0, 1.0, 0.0]
    assert after["multiplier"] == 4 and after["probabilities"].max() > 0.97
