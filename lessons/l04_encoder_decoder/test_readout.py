"""The readout finds the words that are in a vector; the recorded numbers are those of the shipped models."""

from __future__ import annotations

import pytest
import torch

from course_lib.results import runs
from course_lib.translation.shipped import shared
from lessons.l04_encoder_decoder.readout import (
    GROUPS,
    by_length,
    context_vectors,
    find_words,
    fit_readout,
    fraction_found,
    make_texts,
    measure_readout,
    read_scores,
    words_in,
)


def test_a_readout_finds_words_that_are_a_linear_function_of_the_vector():
    generator = torch.Generator().manual_seed(0)
    words = (torch.rand(300, 12, generator=generator) < 0.3).float()
    words[:, 0] = 1.0  # no sentence is empty
    vectors = words @ torch.randn(12, 30, generator=generator) + 5.0
    readout = fit_readout(vectors[:200], words[:200])
    assert fraction_found(read_scores(readout, vectors[200:]), words[200:]).mean() == 1
    noise = torch.randn(300, 30, generator=generator)
    scores = read_scores(fit_readout(noise[:200], words[:200]), noise[200:])
    assert fraction_found(scores, words[200:]).mean() < 0.7


def test_as_many_words_are_found_as_the_sentence_has():
    scores, words = torch.tensor([[0.1, 0.9, 0.5], [0.3, 0.2, 0.1]]), torch.tensor([[1.0, 1, 0], [0, 0, 1]])
    assert find_words(scores, words).tolist() == [[False, True, True], [True, False, False]]
    assert fraction_found(scores, words).tolist() == [0.5, 0.0]


def test_no_sentence_is_both_fitted_and_tested():
    fitted, tested = make_texts(500, 300)
    assert not set(fitted) & set(tested) and len(tested) > 200


def test_a_vector_does_not_depend_on_the_other_sentences():
    shipped = shared("rnn_encoder_decoder")
    texts = ["the cat sleeps", "the cat drank the water because it was cold"]
    together = context_vectors(shipped.model, shipped.tokenizer, texts)
    alone = torch.cat([context_vectors(shipped.model, shipped.tokenizer, [text]) for text in texts])
    torch.testing.assert_close(together, alone)


def test_groups_have_means_and_intervals():
    texts = ["a b c", "a b c d", "a b c d e f", "w " * 12, "w " * 17]
    rows = by_length(torch.tensor([0.0, 1.0, 0.5, 0.25, 1.0]), texts)
    assert {name: (row["n"], row["mean"]) for name, row in rows.items()} == dict(
        zip(GROUPS, [(2, 0.5), (1, 0.5), (1, 0.25), (1, 1.0)], strict=True)
    )
    assert (rows["3–5"]["low"], rows["3–5"]["high"]) == (0.0, 1.0)


@pytest.mark.nightly
def test_the_recorded_numbers_are_those_of_the_shipped_model():
    shipped = shared("rnn_encoder_decoder")
    measured = measure_readout(shipped.model, shipped.tokenizer)
    recorded = next(
        run["readout"] for run in runs("bottleneck_readout") if run["variant"] == "rnn_encoder_decoder"
    )
    assert measured["numbers"] == recorded["numbers"]
    for group in GROUPS:
        for kind in ("trained", "most frequent words"):
            assert measured[kind][group]["mean"] == pytest.approx(recorded[kind][group]["mean"], abs=0.02)


def test_the_shown_sentence_is_encoded_as_words():
    tokenizer = shared("seq2seq").tokenizer
    row = words_in(tokenizer, ["the cat sees the dog"])[0]
    assert int(row.sum()) == 4 and row[tokenizer.encode("cat")[0]] == 1
