"""Beam search and greedy decoding: against every sentence there is, against a plain loop, and by hand."""

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
def known(system) -> list:
    return system.table.detach().double().log_softmax(dim=-1).tolist()


def log_prob(system, source: int, sentence: tuple[int, ...]) -> float:
    before, last, total = BOS, BOS, 0.0
    table = known(system)
    for word in sentence:
        total += table[source][before][last][word]
        before, last = last, word
    return total


def score(system, source: int, sentence: tuple[int, ...], length_penalty: float) -> float:
    return log_prob(system, source, sentence) / ((5 + len(sentence)) / 6) ** length_penalty


def rank(system, source: int, sentence: tuple[int, ...], length_penalty: float) -> tuple[bool, float]:
    """Best first; what was cut off comes behind all that ended."""
    return sentence[-1] != EOS, -score(system, source, sentence, length_penalty)


def every_sentence(limit: int):
    """All that end by EOS within the limit, and all that are cut by it."""
    for n in range(limit):
        for words in itertools.product(WORDS, repeat=n):
            yield (*words, EOS)
    yield from itertools.product(WORDS, repeat=limit)


def plain_beam(system, source: int, *, beam: int, limit: int, length_penalty: float) -> tuple[int, ...]:
    """The four rules of the docstring for one sentence, in plain Python."""
    open_ones, finished = [()], []
    for length in range(1, limit + 1):
        new = [(*sentence, word) for sentence in open_ones for word in (*WORDS, EOS)]
        new.sort(key=lambda sentence: -log_prob(system, source, sentence))
        finished += [one for one in new[:beam] if one[-1] == EOS or length == limit]
        finished.sort(key=lambda sentence: rank(system, source, sentence, length_penalty))
        open_ones = [one for one in new if one[-1] != EOS][:beam]
        can_reach = log_prob(system, source, open_ones[0]) / ((5 + limit) / 6) ** length_penalty
        if len(finished) >= beam:
            break
        if finished and score(system, source, finished[0], length_penalty) >= can_reach:
            break
    return finished[0]


def said(ids) -> tuple[int, ...]:
    return tuple(token for token in ids.tolist() if token != PAD)


def chain(system, source: int, *words: int) -> None:
    """Make these words all but certain, one after the other."""
    with torch.no_grad():
        for before, last, word in zip((BOS, BOS, *words), (BOS, *words), words, strict=False):
            system.table[source, before, last] = 0.0
            system.table[source, before, last, word] = 20.0


# ---- the best that such a search can find


@pytest.mark.parametrize("length_penalty", [0.0, 0.6, 1.0])
def test_a_beam_as_wide_as_the_world_finds_the_best_of_all_sentences(markov, sources, length_penalty):
    system, limits = markov(6), torch.tensor([4, 4, 3, 1, 2, 4])
    memory = system.encode(*sources(6))
    found = beam_search(system, memory, beam=3**4, max_len=limits, length_penalty=length_penalty)
    for source, limit in enumerate(limits.tolist()):
        best = min(every_sentence(limit), key=lambda one: rank(system, source, one, length_penalty))
        assert said(found.ids[source]) == best
        assert float(found.scores[source]) == pytest.approx(score(system, source, best, length_penalty))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("beam", [1, 2, 5])
@pytest.mark.parametrize("length_penalty", [0.0, 0.6, 2.0])
def test_equals_the_plain_loop(markov, sources, seed, beam, length_penalty):
    system, limits = markov(6, seed=seed, spread=1.5), torch.tensor([9, 3, 12, 1, 6, 12])
    memory = system.encode(*sources(6))
    found = beam_search(system, memory, beam=beam, max_len=limits, length_penalty=length_penalty)
    for source, limit in enumerate(limits.tolist()):
        expected = plain_beam(system, source, beam=beam, limit=limit, length_penalty=length_penalty)
        assert said(found.ids[source]) == expected


@pytest.mark.parametrize("seed", range(3))
def test_greedy_is_a_beam_of_one_in_which_every_row_keeps_its_place(markov, sources, seed):
    system, limits = markov(6, seed=seed, spread=1.5), torch.tensor([9, 3, 12, 1, 6, 12])
    memory = system.encode(*sources(6))
    plain = greedy(system, memory, max_len=limits, length_penalty=1.0, with_weights=True)
    assert system.n_rows_read == 6 * system.n_steps
    beam = beam_search(system, memory, beam=1, max_len=limits, length_penalty=1.0, with_weights=True)
    assert torch.equal(plain.ids, beam.ids)
    torch.testing.assert_close(plain.scores, beam.scores)
    assert (plain.weights is None) == (beam.weights is None)


# ---- by hand


def test_it_stops_when_the_best_cannot_be_overtaken(markov, sources):
    """A sure end after one word: nothing open can win, though only one of five sentences is finished."""
    system = markov(1, max_len=200)
    with torch.no_grad():
        system.table.fill_(0.0)
    chain(system, 0, 4, EOS)
    beam_search(system, system.encode(*sources(1)), beam=5, max_len=200)
    assert system.n_steps == 2


def test_greedy_says_words_then_eos_then_pad(markov, sources):
    system = markov(4)
    for source, words in enumerate([(4, 5, EOS), (EOS,), (6, 6, 5, 4), (4, 5, 6, 6)]):
        chain(system, source, *words)
    found = greedy(system, system.encode(*sources(4)), max_len=torch.tensor([4, 4, 4, 2]))
    assert found.ids.tolist() == [[4, 5, EOS, PAD], [EOS, PAD, PAD, PAD], [6, 6, 5, 4], [4, 5, PAD, PAD]]
    assert found.scores.tolist() == pytest.approx([0] * 4, abs=1e-6)


def test_sources_that_are_done_are_worked_on_no_more(markov, sources):
    system = markov(6)
    for source in range(5):
        chain(system, source, 4, EOS)
    chain(system, 5, 4, 5, 6, 4, 4, EOS)
    found = beam_search(system, system.encode(*sources(6)), beam=1, max_len=24)
    assert system.n_steps == 6 and system.n_rows_read == 2 * 6 + 4 * 1
    assert list(map(said, found.ids)) == [(4, EOS)] * 5 + [(4, 5, 6, 4, 4, EOS)]


def test_weights_belong_to_the_step_that_says_the_word(markov, sources):
    """The first head looks at the place numbered like the word that was read: BOS, 4, 5."""
    system = markov(1)
    chain(system, 0, 4, 5, EOS)
    src, lengths = sources(3)
    src[2, 0] = src[0, 0]
    found = beam_search(system, system.encode(src[2:], lengths[2:]), beam=1, max_len=9, with_weights=True)
    assert found.weights[0, 0, 0].argmax(dim=-1).tolist() == [BOS % 4, 4 % 4, 5 % 4]
    assert found.weights[0, 0, 1].tolist() == [[0.25] * 4] * 3
    system.attends = False
    memory = system.encode(*sources(1))
    assert beam_search(system, memory, beam=1, max_len=3, with_weights=True).weights is None


# ---- what holds for every search


@pytest.mark.parametrize(("beam", "seed"), [(1, 0), (3, 1)])
def test_a_batch_gives_what_its_sentences_give_alone_with_a_cache_or_without(markov, sources, beam, seed):
    system, (src, lengths) = markov(6, seed=seed), sources(6)
    limits = torch.tensor([7, 3, 9, 5, 20, 2])
    memory = system.encode(src, lengths)
    together = beam_search(system, memory, beam=beam, max_len=limits, with_weights=True)
    again = beam_search(Recompute(system), memory, beam=beam, max_len=limits, with_weights=True)
    assert torch.equal(together.ids, again.ids) and torch.equal(together.weights, again.weights)
    for row in range(6):
        one = system.encode(src[row : row + 1], lengths[row : row + 1])
        alone = beam_search(system, one, beam=beam, max_len=int(limits[row]), with_weights=True)
        assert said(alone.ids[0]) == said(together.ids[row])
        torch.testing.assert_close(alone.scores[0], together.scores[row])
        n = alone.weights.shape[3]
        torch.testing.assert_close(alone.weights[0], together.weights[row, :, :, :n])
        assert together.weights[row, :, :, n:].eq(0).all()


@pytest.mark.parametrize("beam", [1, 4])
def test_special_words_are_never_said_and_nothing_is_shared_out_anew(markov, sources, beam):
    system = markov(6)
    with torch.no_grad():
        system.table[..., [PAD, UNK, BOS]] += 30.0
    found = beam_search(system, system.encode(*sources(6)), beam=beam, max_len=8, length_penalty=0.0)
    for ids in found.ids:
        words = said(ids)
        assert words and not {UNK, BOS} & set(words) and tuple(ids[: len(words)].tolist()) == words
    assert found.scores.lt(-25).all()


def test_modes_come_back_as_they_were_also_after_an_error(markov, sources):
    system = markov(2)
    memory = system.encode(*sources(2))
    expected = greedy(markov(2).eval(), memory, max_len=6)
    for mode in (False, True):
        system.train().nonsense.train(mode)
        found = beam_search(system, memory, beam=1, max_len=6, with_weights=True)
        assert torch.equal(found.ids, expected.ids) and not found.weights.is_inference()
        assert system.training and system.nonsense.training == mode
    with pytest.raises(KeyError):
        greedy(system, {"lengths": torch.ones(2)}, max_len=6)
    assert system.training and system.nonsense.training


def test_half_precision_logits_give_full_precision_scores(markov, sources):
    """As if the same logits had come in full precision: only the weights have been rounded."""
    half, full = markov(6).to(torch.bfloat16), markov(6).to(torch.bfloat16).float()
    memory = half.encode(*sources(6))
    assert half.step(memory, half.start(memory), torch.full((6,), BOS))[0].dtype == torch.bfloat16
    found, expected = (greedy(system, memory, max_len=8) for system in (half, full))
    assert torch.equal(found.ids, expected.ids) and torch.equal(found.scores, expected.scores)


@pytest.mark.parametrize("beam", [1, 3])
def test_a_system_that_has_come_to_nothing_still_says_something(markov, sources, beam):
    """Training may end in NaN; the evaluation after it shall not end in an error."""
    system = markov(2)
    with torch.no_grad():
        system.table.fill_(torch.nan)
    found = beam_search(system, system.encode(*sources(2)), beam=beam, max_len=4)
    assert all(map(said, found.ids)) and found.scores.isnan().all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"beam": 0}, "a beam of 1 or more .* but got 0 and 0.6"),
        ({"length_penalty": -1.0}, r"length_penalty of 0 \(the bare sum\) or more, but got 2 and -1.0"),
        ({"max_len": 0}, "max_len from 1 to 24.* but got 0"),
        ({"max_len": 25}, "max_len from 1 to 24.* but got 25"),
        ({"max_len": torch.tensor([3, 3])}, "one for each of the 1 sentences"),
    ],
)
def test_what_makes_no_sense_is_refused(markov, sources, options, message):
    system = markov(1)
    with pytest.raises(ValueError, match=message):
        beam_search(system, system.encode(*sources(1)), **{"beam": 2, "max_len": 5, **options})
