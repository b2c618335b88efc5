"""Beam search and greedy decoding: compared with exhaustive search, with a plain loop, and by hand."""

from __future__ import annotations

import itertools
from functools import cache

import pytest
import torch

from course_lib.text.special import BOS, EOS, PAD, UNK
from course_lib.translation.search import beam_search, greedy
from lessons.l16_decoding.recompute import Recompute

WORDS = (4, 5, 6)


@cache
def log_probs(system) -> list:
    return system.table.detach().double().log_softmax(dim=-1).tolist()


def log_prob(system, source: int, sentence: tuple[int, ...]) -> float:
    before, last, total = BOS, BOS, 0.0
    table = log_probs(system)
    for word in sentence:
        total += table[source][before][last][word]
        before, last = last, word
    return total


def score(system, source: int, sentence: tuple[int, ...], length_penalty: float) -> float:
    return log_prob(system, source, sentence) / ((5 + len(sentence)) / 6) ** length_penalty


def rank(system, source: int, sentence: tuple[int, ...], length_penalty: float) -> tuple[bool, float]:
    """A sort key, best first; truncated sentences come after all that ended."""
    return sentence[-1] != EOS, -score(system, source, sentence, length_penalty)


def every_sentence(limit: int):
    """All sentences that end in EOS within the limit, and all that are truncated by it."""
    for n in range(limit):
        for words in itertools.product(WORDS, repeat=n):
            yield (*words, EOS)
    yield from itertools.product(WORDS, repeat=limit)


def plain_beam(system, source: int, *, beam: int, limit: int, length_penalty: float) -> tuple[int, ...]:
    """The four steps of the docstring for one source, in plain Python."""
    still_open, finished = [()], []
    for length in range(1, limit + 1):
        extended = [(*sentence, word) for sentence in still_open for word in (*WORDS, EOS)]
        extended.sort(key=lambda sentence: -log_prob(system, source, sentence))
        finished += [sentence for sentence in extended[:beam] if sentence[-1] == EOS or length == limit]
        finished.sort(key=lambda sentence: rank(system, source, sentence, length_penalty))
        still_open = [sentence for sentence in extended if sentence[-1] != EOS][:beam]
        upper_bound = log_prob(system, source, still_open[0]) / ((5 + limit) / 6) ** length_penalty
        if len(finished) >= beam:
            break
        if finished and score(system, source, finished[0], length_penalty) >= upper_bound:
            break
    return finished[0]


def without_padding(ids) -> tuple[int, ...]:
    return tuple(token for token in ids.tolist() if token != PAD)


def make_certain(system, source: int, *words: int) -> None:
    """Give this sequence of words a probability of nearly 1."""
    with torch.no_grad():
        for before, last, word in zip((BOS, BOS, *words), (BOS, *words), words, strict=False):
            system.table[source, before, last] = 0.0
            system.table[source, before, last, word] = 20.0


# ---- compared with slower searches


@pytest.mark.parametrize("length_penalty", [0.0, 0.6, 1.0])
def test_a_beam_that_holds_every_sentence_finds_the_best_one(markov, sources, length_penalty):
    system, limits = markov(6), torch.tensor([4, 4, 3, 1, 2, 4])
    memory = system.encode(*sources(6))
    result = beam_search(system, memory, beam=3**4, max_len=limits, length_penalty=length_penalty)
    for source, limit in enumerate(limits.tolist()):
        best = min(every_sentence(limit), key=lambda sentence: rank(system, source, sentence, length_penalty))
        assert without_padding(result.ids[source]) == best
        assert float(result.scores[source]) == pytest.approx(score(system, source, best, length_penalty))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("beam", [1, 2, 5, 20])  # torch sorts up to 16 numbers stably, asked or not
@pytest.mark.parametrize("length_penalty", [0.0, 0.6, 2.0])
def test_beam_search_equals_the_plain_loop(markov, sources, seed, beam, length_penalty):
    system, limits = markov(6, seed=seed, spread=1.5), torch.tensor([9, 3, 12, 1, 6, 12])
    memory = system.encode(*sources(6))
    result = beam_search(system, memory, beam=beam, max_len=limits, length_penalty=length_penalty)
    for source, limit in enumerate(limits.tolist()):
        expected = plain_beam(system, source, beam=beam, limit=limit, length_penalty=length_penalty)
        assert without_padding(result.ids[source]) == expected


@pytest.mark.parametrize("seed", range(3))
def test_greedy_equals_a_beam_of_one_and_keeps_every_row(markov, sources, seed):
    system, limits = markov(6, seed=seed, spread=1.5), torch.tensor([9, 3, 12, 1, 6, 12])
    memory = system.encode(*sources(6))
    plain = greedy(system, memory, max_len=limits, length_penalty=1.0, with_weights=True)
    assert system.n_rows_read == 6 * system.n_steps
    beam = beam_search(system, memory, beam=1, max_len=limits, length_penalty=1.0, with_weights=True)
    assert torch.equal(plain.ids, beam.ids)
    torch.testing.assert_close(plain.scores, beam.scores)
    assert (plain.weights is None) == (beam.weights is None)


# ---- by hand


def test_search_stops_when_the_best_cannot_be_overtaken(markov, sources):
    """EOS is certain after one word: no open hypothesis can win, though only one of five is finished."""
    system = markov(1, max_len=200)
    with torch.no_grad():
        system.table.fill_(0.0)
    make_certain(system, 0, 4, EOS)
    beam_search(system, system.encode(*sources(1)), beam=5, max_len=200)
    assert system.n_steps == 2


def test_an_impossible_end_does_not_count_as_finished(markov, sources):
    """A beam as wide as the vocabulary takes EOS at any probability; the truncated hypothesis still wins."""
    system = markov(1)
    with torch.no_grad():
        system.table[..., EOS] = -torch.inf
    result = beam_search(system, system.encode(*sources(1)), beam=20, max_len=2)
    assert EOS not in result.ids and result.scores.isfinite()


def test_greedy_returns_words_then_eos_then_pad(markov, sources):
    system = markov(4)
    for source, words in enumerate([(4, 5, EOS), (EOS,), (6, 6, 5, 4), (4, 5, 6, 6)]):
        make_certain(system, source, *words)
    result = greedy(system, system.encode(*sources(4)), max_len=torch.tensor([4, 4, 4, 2]))
    assert result.ids.tolist() == [[4, 5, EOS, PAD], [EOS, PAD, PAD, PAD], [6, 6, 5, 4], [4, 5, PAD, PAD]]
    assert result.scores.tolist() == pytest.approx([0] * 4, abs=1e-6)


def test_finished_sources_leave_the_batch(markov, sources):
    system = markov(6)
    for source in range(5):
        make_certain(system, source, 4, EOS)
    make_certain(system, 5, 4, 5, 6, 4, 4, EOS)
    result = beam_search(system, system.encode(*sources(6)), beam=1, max_len=24)
    assert system.n_steps == 6 and system.n_rows_read == 2 * 6 + 4 * 1
    assert list(map(without_padding, result.ids)) == [(4, EOS)] * 5 + [(4, 5, 6, 4, 4, EOS)]


def test_weights_belong_to_the_step_that_generates_the_word(markov, sources):
    """The first head attends to the position (input token) mod 4; the inputs are BOS, 4, 5."""
    system = markov(1)
    make_certain(system, 0, 4, 5, EOS)
    src, lengths = sources(3)
    src[2, 0] = src[0, 0]
    result = beam_search(system, system.encode(src[2:], lengths[2:]), beam=1, max_len=9, with_weights=True)
    assert result.weights[0, 0, 0].argmax(dim=-1).tolist() == [BOS % 4, 4 % 4, 5 % 4]
    assert result.weights[0, 0, 1].tolist() == [[0.25] * 4] * 3
    system.attends = False
    memory = system.encode(*sources(1))
    assert beam_search(system, memory, beam=1, max_len=3, with_weights=True).weights is None


# ---- properties of every search


@pytest.mark.parametrize(("beam", "seed"), [(1, 0), (3, 1)])
def test_results_do_not_depend_on_the_batch_or_the_cache(markov, sources, beam, seed):
    system, (src, lengths) = markov(6, seed=seed), sources(6)
    limits = torch.tensor([7, 3, 9, 5, 20, 2])
    memory = system.encode(src, lengths)
    together = beam_search(system, memory, beam=beam, max_len=limits, with_weights=True)
    uncached = beam_search(Recompute(system), memory, beam=beam, max_len=limits, with_weights=True)
    assert torch.equal(together.ids, uncached.ids) and torch.equal(together.weights, uncached.weights)
    for row in range(6):
        memory_of_row = system.encode(src[row : row + 1], lengths[row : row + 1])
        alone = beam_search(system, memory_of_row, beam=beam, max_len=int(limits[row]), with_weights=True)
        assert without_padding(alone.ids[0]) == without_padding(together.ids[row])
        torch.testing.assert_close(alone.scores[0], together.scores[row])
        n = alone.weights.shape[3]
        torch.testing.assert_close(alone.weights[0], together.weights[row, :, :, :n])
        assert together.weights[row, :, :, n:].eq(0).all()


@pytest.mark.parametrize("beam", [1, 4])
def test_special_tokens_are_never_generated_and_probabilities_are_not_renormalised(markov, sources, beam):
    system = markov(6)
    with torch.no_grad():
        system.table[..., [PAD, UNK, BOS]] += 30.0
    result = beam_search(system, system.encode(*sources(6)), beam=beam, max_len=8, length_penalty=0.0)
    for ids in result.ids:
        words = without_padding(ids)
        assert words and not {UNK, BOS} & set(words) and tuple(ids[: len(words)].tolist()) == words
    assert result.scores.lt(-25).all()


def test_training_modes_are_restored_even_after_an_error(markov, sources):
    system = markov(2)
    memory = system.encode(*sources(2))
    expected = greedy(markov(2).eval(), memory, max_len=6)
    for mode in (False, True):
        system.train().dropout.train(mode)
        result = beam_search(system, memory, beam=1, max_len=6, with_weights=True)
        assert torch.equal(result.ids, expected.ids) and not result.weights.is_inference()
        assert system.training and system.dropout.training == mode
    with pytest.raises(KeyError):
        greedy(system, {"lengths": torch.ones(2)}, max_len=6)
    assert system.training and system.dropout.training


def test_half_precision_logits_give_full_precision_scores(markov, sources):
    """The scores equal those of a float32 system with the same rounded weights."""
    half, full = markov(6).to(torch.bfloat16), markov(6).to(torch.bfloat16).float()
    memory = half.encode(*sources(6))
    assert half.step(memory, half.start(memory), torch.full((6,), BOS))[0].dtype == torch.bfloat16
    result, expected = (greedy(system, memory, max_len=8) for system in (half, full))
    assert torch.equal(result.ids, expected.ids) and torch.equal(result.scores, expected.scores)


@pytest.mark.parametrize("beam", [1, 3])
def test_a_system_with_nan_logits_still_generates(markov, sources, beam):
    """Training may diverge to NaN; the evaluation that follows must not raise an error."""
    system = markov(2)
    with torch.no_grad():
        system.table.fill_(torch.nan)
    result = beam_search(system, system.encode(*sources(2)), beam=beam, max_len=4)
    assert all(map(without_padding, result.ids)) and result.scores.isnan().all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"beam": 0}, "beam of 1 .* got 0 and 0.6"),
        ({"length_penalty": -1.0}, "length_penalty of 0 .* got 2 and -1.0"),
        ({"max_len": 0}, "max_len from 1 to 24.* but got 0"),
        ({"max_len": 25}, "max_len from 1 to 24.* but got 25"),
        ({"max_len": torch.tensor([3, 3])}, "each of the 1 sentences"),
    ],
)
def test_invalid_arguments_are_rejected(markov, sources, options, message):
    system = markov(1)
    with pytest.raises(ValueError, match=message):
        beam_search(system, system.encode(*sources(1)), **{"beam": 2, "max_len": 5, **options})
