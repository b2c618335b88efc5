"""Greedy decoding: by hand, when it stops, what it leaves as it was."""

from __future__ import annotations

import pytest
import torch

from course_lib.text.special import BOS, EOS, PAD, UNK
from course_lib.translation import searching
from course_lib.translation.greedy import greedy
from course_lib.translation.recompute import Recompute


def chain(system, source: int, *words: int) -> None:
    """Make these words all but certain, one after the other."""
    before, last = BOS, BOS
    with torch.no_grad():
        for word in words:
            system.table[source, before, last] = 0.0
            system.table[source, before, last, word] = 20.0
            before, last = last, word


def test_words_then_eos_then_pad(markov, sources):
    system = markov(3)
    chain(system, 0, 4, 5, EOS)
    chain(system, 1, EOS)
    chain(system, 2, 6, 6, 5, 4)
    found = greedy(system, system.encode(*sources(3)), max_len=4)
    assert found.ids.tolist() == [[4, 5, EOS, PAD], [EOS, PAD, PAD, PAD], [6, 6, 5, 4]]
    assert found.finished.tolist() == [True, True, False] and found.lengths.tolist() == [3, 1, 4]
    torch.testing.assert_close(found.log_probs, torch.zeros(3), atol=1e-6, rtol=0)


def test_each_sentence_may_have_its_own_limit(markov, sources):
    system = markov(2)
    chain(system, 0, 4, 5, 6, 6, EOS)
    chain(system, 1, 4, 5, 6, 6, EOS)
    found = greedy(system, system.encode(*sources(2)), max_len=torch.tensor([2, 9]))
    assert found.ids.tolist() == [[4, 5, PAD, PAD, PAD], [4, 5, 6, 6, EOS]]
    assert found.finished.tolist() == [False, True]


@pytest.mark.parametrize("seed", range(4))
def test_without_a_cache_it_says_the_same(markov, sources, seed):
    system = markov(6, seed=seed)
    memory = system.encode(*sources(6))
    found = greedy(system, memory, max_len=12, with_weights=True)
    again = greedy(Recompute(system), memory, max_len=12, with_weights=True)
    assert torch.equal(found.ids, again.ids) and torch.equal(found.weights, again.weights)
    assert found.weights.shape == (6, 1, 2, found.ids.shape[1], 4)


def test_weights_belong_to_the_step_that_says_the_word(markov, sources):
    """The first head looks at the place numbered like the word that was read: BOS, 4, 5."""
    system = markov(1)
    chain(system, 0, 4, 5, EOS)
    src, lengths = sources(3)
    src[2, 0] = src[0, 0]
    found = greedy(system, system.encode(src[2:], lengths[2:]), max_len=9, with_weights=True)
    assert found.weights[0, 0, 0].argmax(dim=-1).tolist() == [BOS % 4, 4 % 4, 5 % 4]
    assert found.weights[0, 0, 1].tolist() == [[0.25] * 4] * 3


def test_a_system_that_does_not_attend_has_no_weights(markov, sources):
    class Blind(markov):
        attends = False

    system = Blind(2)
    assert greedy(system, system.encode(*sources(2)), max_len=3, with_weights=True).weights is None
    assert Recompute(system).attends is False and Recompute(markov(2)).attends is True


def test_it_stops_when_all_are_done_and_sets_finished_sentences_aside(markov, sources):
    system = markov(6, max_len=24)
    for source in range(5):
        chain(system, source, 4, EOS)
    chain(system, 5, 4, 5, 6, 4, 4, EOS)
    greedy(system, system.encode(*sources(6)), max_len=24)
    assert system.n_steps == 6 and system.n_rows_read == 2 * 6 + 4 * 1


def test_asking_seldom_costs_a_few_steps_and_changes_nothing(markov, sources, monkeypatch):
    system = markov(3)
    for source in range(3):
        chain(system, source, 4, EOS)
    monkeypatch.setattr(searching, "ASK_EVERY", {})
    found = greedy(system, system.encode(*sources(3)), max_len=24)
    assert system.n_steps == searching.ASK_SELDOM and found.ids.tolist() == [[4, EOS]] * 3


def test_modes_come_back_as_they_were_also_after_an_error(markov, sources):
    system = markov(2).train()
    memory = system.encode(*sources(2))
    expected = greedy(markov(2).eval(), memory, max_len=6)
    system.nonsense.eval()
    assert torch.equal(greedy(system, memory, max_len=6).ids, expected.ids)
    assert system.training and not system.nonsense.training
    system.train()
    assert torch.equal(greedy(system, memory, max_len=6).ids, expected.ids)
    assert system.training and system.nonsense.training
    with pytest.raises(KeyError):
        greedy(system, {"lengths": torch.ones(2)}, max_len=6)
    assert system.training and system.nonsense.training


def test_special_words_are_never_said(markov, sources):
    system = markov(6)
    with torch.no_grad():
        system.table[..., [PAD, UNK, BOS]] += 30.0
    found = greedy(system, system.encode(*sources(6)), max_len=8)
    for ids, length in zip(found.ids.tolist(), found.lengths.tolist(), strict=True):
        assert not {PAD, UNK, BOS} & set(ids[:length])
    assert found.log_probs.lt(-25).all()  # and nothing is shared out anew


def test_half_precision_logits_give_full_precision_scores(markov, sources):
    """As if the same logits had come in full precision: only the weights have been rounded."""
    half, full = markov(6).to(torch.bfloat16), markov(6).to(torch.bfloat16).float()
    memory = half.encode(*sources(6))
    tokens = torch.full((6,), BOS)
    assert half.step(memory, half.start(memory), tokens)[0].dtype == torch.bfloat16
    found, expected = (greedy(system, memory, max_len=8) for system in (half, full))
    assert found.log_probs.dtype == torch.float32
    assert torch.equal(found.ids, expected.ids) and torch.equal(found.log_probs, expected.log_probs)
