"""The beam-search tree says what the library's beam search finds."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest
import torch

from course_lib.explore.beam_tree import END, LONGEST, TREES, compute, following, places, search
from course_lib.teaching.questions import questions
from course_lib.text.special import EOS, SPECIAL
from course_lib.translation.search import beam_search

WIDTHS, ALPHAS = range(1, 6), (0.0, 0.2, 0.3, 0.6, 1.0)


class Speaks(torch.nn.Module):
    """A tree as a translator: its state is the words so far."""

    def __init__(self, name: str):
        super().__init__()
        self.tree = TREES[name]
        found = {word for shares in self.tree.values() for word in shares} - {END}
        self.words = [*SPECIAL, *sorted(found)]
        self.config = SimpleNamespace(max_len=LONGEST)

    def start(self, memory):
        return {"heard": torch.empty(len(memory["row"]), 0, dtype=torch.int64)}

    def step(self, memory, state, tokens):
        heard = torch.cat([state["heard"], tokens[:, None]], dim=1)
        logits = torch.full((len(heard), len(self.words)), -1e9)
        for row, ids in enumerate(heard.tolist()):
            for word, share in following(self.tree, tuple(self.words[i] for i in ids[1:])).items():
                logits[row, EOS if word == END else self.words.index(word)] = math.log(share)
        return logits, {"heard": heard}, None


@pytest.mark.parametrize("name", TREES)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("alpha", ALPHAS)
def test_it_finds_what_the_library_finds(name, width, alpha):
    speaks = Speaks(name)
    memory = {"row": torch.zeros(1, 1)}
    found = beam_search(speaks, memory, beam=width, max_len=LONGEST, length_penalty=alpha)
    ids = [i for i in found.ids[0].tolist() if i]
    best = search(TREES[name], width=width, alpha=alpha).best
    assert tuple(speaks.words[i] for i in ids) == best.sentence
    assert float(found.log_probs[0]) == pytest.approx(best.total, abs=1e-5)
    assert float(found.scores[0]) == pytest.approx(best.score, abs=1e-5)


def test_language_a_greedy_misses_the_likelier_sentence():
    greedy, wider = (compute(tree="A", width=width, alpha=0.0) for width in (1, 2))
    assert greedy["said"] == ("the", "cat") and greedy["chance"] == pytest.approx(0.24)
    assert wider["said"] == ("a", "cat") and wider["chance"] == pytest.approx(0.36)


def test_language_b_a_wide_beam_says_nothing_and_the_penalty_repairs_it():
    for width in WIDTHS:
        bare = compute(tree="B", width=width, alpha=0.0)
        full = width <= 3
        assert bare["said"] == (("le", "chat", "dort") if full else ())
        assert bare["total"] == pytest.approx(-2.339 if full else -2.120, abs=5e-4)
        assert compute(tree="B", width=width, alpha=1.0)["said"] == ("le", "chat", "dort")
    asked = questions("16")["dec-wide-beam"]
    assert asked.preset == "B, k = 5" and asked.options[asked.right[0]].text.startswith("the empty sentence")


@pytest.mark.parametrize("name", TREES)
def test_width_one_is_greedy_and_sums_only_fall(name):
    words: tuple[str, ...] = ()
    while not words or words[-1] != END:
        shares = following(TREES[name], words)
        words = (*words, max(shares, key=shares.get))
    assert search(TREES[name], width=1, alpha=0.0).best.sentence == words
    trace = search(TREES[name], width=5, alpha=0.0)
    sums = {words: total for level in trace.open for words, total in level}
    assert all(total <= sums.get(words[:-1], 0.0) + 1e-12 for words, total in sums.items())


@pytest.mark.parametrize("name", TREES)
def test_chances_sum_to_one_and_every_beginning_has_its_place(name):
    assert all(sum(shares.values()) == pytest.approx(1) for shares in TREES[name].values())
    spots = places(name)
    assert len(set(spots.values())) == len(spots)
