"""Beam search against every sentence there is, against a plain loop, and by its properties."""

from __future__ import annotations

import doctest
import itertools
import math
from functools import cache

import pytest
import torch

from course_lib.text.special import BOS, EOS, PAD, UNK
from course_lib.translation import beam as beam_module
from course_lib.translation import decoded, searching
from course_lib.translation.beam import beam_search
from course_lib.translation.greedy import greedy
from course_lib.translation.recompute import Recompute

pytestmark = pytest.mark.slow

WORDS = (4, 5, 6)


@pytest.mark.parametrize("module", [beam_module, decoded, searching])
def test_examples_in_docstrings(module):
    outcome = doctest.testmod(module, extraglobs={"torch": torch})
    assert outcome.attempted > 0 and outcome.failed == 0


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


def plain_beam(system, source: int, *, beam: int, limit: int, length_penalty: float, n_best: int):
    """The four rules of the docstring for one sentence, in plain Python."""
    open_ones, finished = [()], []
    for length in range(1, limit + 1):
        new = [(*sentence, word) for sentence in open_ones for word in (*WORDS, EOS)]
        new.sort(key=lambda sentence: -log_prob(system, source, sentence))
        ends = [one for one in new[:beam] if one[-1] == EOS or length == limit]
        finished += ends
        finished.sort(key=lambda sentence: rank(system, source, sentence, length_penalty))
        open_ones = [one for one in new if one[-1] != EOS][:beam]
        can_reach = log_prob(system, source, open_ones[0]) / ((5 + limit) / 6) ** length_penalty
        if len(finished) >= beam:
            break
        if (
            len(finished) >= n_best
            and score(system, source, finished[n_best - 1], length_penalty) >= can_reach
        ):
            break
    return finished[:n_best]


def said(ids) -> tuple[int, ...]:
    return tuple(token for token in ids.tolist() if token != PAD)


@pytest.mark.parametrize("length_penalty", [0.0, 0.6, 1.0])
def test_a_beam_as_wide_as_the_world_finds_the_best_of_all_sentences(markov, sources, length_penalty):
    system, limits = markov(6), torch.tensor([4, 4, 3, 1, 2, 4])
    found = beam_search(
        system, system.encode(*sources(6)), beam=3**4, max_len=limits, length_penalty=length_penalty, n_best=3
    )
    for source, limit in enumerate(limits.tolist()):
        ranked = sorted(every_sentence(limit), key=lambda one: rank(system, source, one, length_penalty))
        assert [said(ids) for ids in found.ids[source]] == ranked[:3]
        expected = torch.tensor([score(system, source, one, length_penalty) for one in ranked[:3]])
        torch.testing.assert_close(found.scores[source], expected)
        expected = torch.tensor([log_prob(system, source, one) for one in ranked[:3]])
        torch.testing.assert_close(found.log_probs[source], expected)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("beam", [1, 2, 5])
@pytest.mark.parametrize("length_penalty", [0.0, 0.6, 2.0])
def test_equals_the_plain_loop(markov, sources, seed, beam, length_penalty):
    system = markov(6, seed=seed, spread=1.5)
    limits = torch.tensor([9, 3, 12, 1, 6, 12])
    n_best = min(beam, 2)
    found = beam_search(
        system,
        system.encode(*sources(6)),
        beam=beam,
        max_len=limits,
        length_penalty=length_penalty,
        n_best=n_best,
    )
    for source, limit in enumerate(limits.tolist()):
        expected = plain_beam(
            system, source, beam=beam, limit=limit, length_penalty=length_penalty, n_best=n_best
        )
        assert [said(ids) for ids in found.ids[source]] == expected


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("length_penalty", [0.0, 0.6, 3.0])
def test_a_beam_of_one_is_greedy_to_the_letter(markov, sources, seed, length_penalty):
    system = markov(6, seed=seed)
    memory = system.encode(*sources(6))
    one = beam_search(
        system, memory, beam=1, max_len=20, length_penalty=length_penalty, with_weights=True
    ).best
    straight = greedy(system, memory, max_len=20, with_weights=True)
    assert torch.equal(one.ids, straight.ids) and torch.equal(one.log_probs, straight.log_probs)
    assert torch.equal(one.weights, straight.weights)


def test_a_beam_of_one_is_greedy_even_where_all_words_are_equally_likely(markov, sources):
    system = markov(3, spread=0.0)
    memory = system.encode(*sources(3))
    one, straight = beam_search(system, memory, beam=1, max_len=9).best, greedy(system, memory, max_len=9)
    assert torch.equal(one.ids, straight.ids) and not straight.finished.any()


def test_beam_finds_what_greedy_misses(markov, sources):
    """Worked by hand: 4 looks better at first (0.6), but only 5 (0.4) is followed by a sure end."""
    system = markov(1)
    with torch.no_grad():
        system.table.fill_(-1e4)
        system.table[0, BOS, BOS, [4, 5]] = torch.tensor([0.6, 0.4]).log()
        system.table[0, BOS, 4, [4, 5, EOS]] = torch.tensor([0.3, 0.3, 0.4]).log()
        system.table[0, BOS, 5, EOS] = 0.0
    memory = system.encode(*sources(1))
    straight = greedy(system, memory, max_len=2)
    wide = beam_search(system, memory, beam=2, max_len=2, length_penalty=0.0, n_best=2)
    assert straight.ids.tolist() == [[4, EOS]] and wide.ids.tolist() == [[[5, EOS], [4, EOS]]]
    torch.testing.assert_close(straight.log_probs, torch.tensor([0.24]).log())
    torch.testing.assert_close(wide.log_probs, torch.tensor([[0.4, 0.24]]).log())
    torch.testing.assert_close(wide.scores, wide.log_probs)


def test_the_penalty_by_hand_lets_the_longer_sentence_win(markov, sources):
    """(EOS) has probability 0.5, (4 EOS) 0.49: with length_penalty 1, ln 0.5 / 1 < ln 0.49 / (7/6)."""
    system = markov(1)
    with torch.no_grad():
        system.table.fill_(-1e4)
        system.table[0, BOS, BOS, [EOS, 4, 5]] = torch.tensor([0.5, 0.49, 0.01]).log()
        system.table[0, BOS, 4, EOS] = 0.0
    memory = system.encode(*sources(1))
    for length_penalty, ids in [(0.0, [EOS]), (1.0, [4, EOS])]:
        found = beam_search(system, memory, beam=2, max_len=5, length_penalty=length_penalty)
        assert said(found.best.ids[0]) == tuple(ids)
    assert float(found.scores) == pytest.approx(torch.tensor(0.49).log().item() * 6 / 7)


def test_a_sentence_that_never_ends_does_not_win(markov, sources):
    """(EOS) has probability 0.5, (4 EOS) 0.4, and 5 for ever 0.1: divided by its penalty, that is most."""
    system = markov(1)
    with torch.no_grad():
        system.table.fill_(-1e4)
        system.table[0, BOS, BOS, [EOS, 4, 5]] = torch.tensor([0.5, 0.4, 0.1]).log()
        system.table[0, BOS, 4, EOS] = system.table[0, BOS, 5, 5] = system.table[0, 5, 5, 5] = 0.0
    found = beam_search(system, system.encode(*sources(1)), beam=3, max_len=20, length_penalty=1.0, n_best=3)
    assert [said(ids) for ids in found.ids[0]] == [(EOS,), (4, EOS), (5,) * 20]
    assert found.scores[0, 2] > found.scores[0, 0]  # by its score alone it would have won


def test_a_batch_gives_what_its_sentences_give_alone(markov, sources):
    system, (src, lengths) = markov(6, seed=3), sources(6)
    memory = system.encode(src, lengths)
    limits = torch.tensor([7, 3, 9, 5, 20, 2])
    together = beam_search(system, memory, beam=3, max_len=limits, n_best=2, with_weights=True)
    for row in range(6):
        one = system.encode(src[row : row + 1], lengths[row : row + 1])
        alone = beam_search(system, one, beam=3, max_len=int(limits[row]), n_best=2, with_weights=True)
        assert list(map(said, alone.ids[0])) == list(map(said, together.ids[row]))
        torch.testing.assert_close(alone.scores[0], together.scores[row])
        n = alone.weights.shape[3]
        torch.testing.assert_close(alone.weights[0], together.weights[row, :, :, :n])
        assert together.weights[row, :, :, n:].eq(0).all()


@pytest.mark.parametrize("every", [1, 3, 8])
@pytest.mark.parametrize("keep_while", [0.0, 0.5, 1.0])
def test_when_the_finished_are_set_aside_does_not_matter(markov, sources, monkeypatch, every, keep_while):
    system = markov(6, seed=2)
    memory = system.encode(*sources(6))
    expected = beam_search(system, memory, beam=3, max_len=20, n_best=3)
    straight = greedy(system, memory, max_len=20)
    monkeypatch.setattr(searching, "ASK_EVERY", {"cpu": every})
    monkeypatch.setattr(searching, "KEEP_WHILE", keep_while)
    found = beam_search(system, memory, beam=3, max_len=20, n_best=3)
    assert torch.equal(found.ids, expected.ids) and torch.equal(found.scores, expected.scores)
    again = greedy(system, memory, max_len=20)
    assert torch.equal(again.ids, straight.ids) and torch.equal(again.log_probs, straight.log_probs)


def test_it_stops_when_the_best_cannot_be_overtaken(markov, sources):
    """A sure end after one word: nothing open can win, though only one of five sentences is finished."""
    system = markov(1, max_len=200)
    with torch.no_grad():
        system.table.fill_(0.0)
        system.table[0, BOS, BOS, 4] = 50.0
        system.table[0, BOS, 4, EOS] = 50.0
    beam_search(system, system.encode(*sources(1)), beam=5, max_len=200)
    assert system.n_steps == 2


def test_it_does_not_stop_while_a_longer_sentence_can_win(markov, sources):
    """(EOS) 0.5, (4 5 6 6 EOS) 0.4. With length_penalty 1: ln 0.5 / 1 = -0.69, ln 0.4 / (10/6) = -0.55.

    After the first word the longer one is behind, and would be if it ended next: ln 0.4 / (7/6) = -0.79.
    """
    system = markov(1)
    with torch.no_grad():
        system.table.fill_(-1e4)
        system.table[0, BOS, BOS, [EOS, 4, 5]] = torch.tensor([0.5, 0.4, 0.1]).log()
        for before, last, word in ((BOS, 4, 5), (4, 5, 6), (5, 6, 6), (6, 6, EOS), (BOS, 5, 5), (5, 5, 5)):
            system.table[0, before, last, word] = 0.0
    found = beam_search(system, system.encode(*sources(1)), beam=2, max_len=12, length_penalty=1.0)
    assert said(found.best.ids[0]) == (4, 5, 6, 6, EOS)
    assert float(found.scores) == pytest.approx(math.log(0.4) * 6 / 10)


def test_special_words_are_never_said_and_the_best_come_first(markov, sources):
    system = markov(6)
    with torch.no_grad():
        system.table[..., [PAD, UNK, BOS]] += 9.0
    found = beam_search(system, system.encode(*sources(6)), beam=4, max_len=8, n_best=4)
    for ids in found.ids.flatten(0, 1):
        words = said(ids)
        assert not {PAD, UNK, BOS} & set(words) and ids.tolist() == [*words, *[PAD] * (len(ids) - len(words))]
    assert found.scores.diff(dim=1).le(0).all() and found.scores.isfinite().all()


def test_without_a_cache_it_finds_the_same(markov, sources):
    system = markov(6, seed=4)
    memory = system.encode(*sources(6))
    found = beam_search(system, memory, beam=3, max_len=10, n_best=2, with_weights=True)
    again = beam_search(Recompute(system), memory, beam=3, max_len=10, n_best=2, with_weights=True)
    assert torch.equal(found.ids, again.ids) and torch.equal(found.weights, again.weights)


def test_the_score_is_what_the_system_thinks_of_the_sentence(markov, sources):
    system = markov(6, seed=5).eval()
    memory = system.encode(*sources(6))
    best = beam_search(system, memory, beam=3, max_len=10).best
    tgt_in = torch.cat([torch.full((6, 1), BOS), best.ids[:, :-1]], dim=1)
    each = system.decode(memory, tgt_in)[0].log_softmax(dim=-1).gather(2, best.ids[..., None])[..., 0]
    expected = each.masked_fill(best.ids == PAD, 0.0).sum(dim=1)
    torch.testing.assert_close(best.log_probs, expected.detach())


def test_a_beam_wider_than_the_vocabulary_is_filled_up_with_nothing(markov, sources):
    system = markov(1)
    found = beam_search(system, system.encode(*sources(1)), beam=30, max_len=1, n_best=30)
    assert int(found.scores.isfinite().sum()) == 4  # three words and EOS
    assert found.ids[0, 4:].eq(PAD).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"beam": 0}, "a beam of 1 or more"),
        ({"beam": 2, "n_best": 3}, "n_best from 1 to it, got 2 and 3"),
        ({"beam": 2, "length_penalty": -1.0}, r"length_penalty of 0 \(the bare sum\) or more, but got -1.0"),
        ({"beam": 2, "max_len": 0}, "max_len from 1 to 24.* but got 0"),
        ({"beam": 2, "max_len": 25}, "max_len from 1 to 24.* but got 25"),
        ({"beam": 2, "max_len": torch.tensor([3, 3])}, "one for each of the 1 sentences"),
    ],
)
def test_what_makes_no_sense_is_refused(markov, sources, options, message):
    system = markov(1)
    with pytest.raises(ValueError, match=message):
        beam_search(system, system.encode(*sources(1)), **{"max_len": 5, **options})
