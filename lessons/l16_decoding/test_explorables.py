"""The facts that the explorables of lesson 16 show."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

from course_lib.explore.control import Writing
from course_lib.teaching.questions.question import questions
from course_lib.text.special import EOS, SPECIAL
from course_lib.translation.search import beam_search
from course_lib.translation.shipped import shared
from lessons.l16_decoding import LiveTranslator, beam_tree, live_translator
from lessons.l16_decoding.live_translator import ACROSS, HEADS, RCTM, SOURCE, TARGET, WOMAN
from lessons.l16_decoding.typed_sentence import MOST_READ, live
from tests.explore.stops import opened


def beam(tree: str, width: int, alpha: float = 0.0) -> dict:
    return beam_tree.compute(tree=tree, width=width, alpha=alpha)


class Speaks(nn.Module):
    """A tree as a translator: its state is the words so far."""

    def __init__(self, name: str):
        super().__init__()
        self.tree = beam_tree.TREES[name]
        found = {word for shares in self.tree.values() for word in shares} - {beam_tree.END}
        self.words = [*SPECIAL, *sorted(found)]
        self.config = SimpleNamespace(max_len=beam_tree.LONGEST)

    def start(self, memory):
        return {"heard": torch.empty(len(memory["row"]), 0, dtype=torch.int64)}

    def step(self, memory, state, tokens):
        heard = torch.cat([state["heard"], tokens[:, None]], dim=1)
        logits = torch.full((len(heard), len(self.words)), -1e9)
        for row, ids in enumerate(heard.tolist()):
            said = tuple(self.words[i] for i in ids[1:])
            for word, share in beam_tree.following(self.tree, said).items():
                logits[row, EOS if word == beam_tree.END else self.words.index(word)] = math.log(share)
        return logits, {"heard": heard}, None


@pytest.mark.parametrize("name", beam_tree.TREES)
def test_the_tree_finds_what_the_library_finds(name):
    speaks, longest = Speaks(name), beam_tree.LONGEST
    for width in range(1, 6):
        for alpha in (0.0, 0.2, 0.3, 0.6, 1.0):
            sizes = {"beam": width, "max_len": longest, "length_penalty": alpha}
            found = beam_search(speaks, {"row": torch.zeros(1, 1)}, **sizes)
            best = beam_tree.search(beam_tree.TREES[name], width=width, alpha=alpha).best
            assert tuple(speaks.words[i] for i in found.ids[0].tolist() if i) == best.sentence
            assert float(found.scores[0]) == pytest.approx(best.score, abs=1e-5)


@pytest.mark.parametrize("name", beam_tree.TREES)
def test_width_one_is_greedy_sums_only_fall_and_every_beginning_has_its_place(name):
    tree, words = beam_tree.TREES[name], ()
    while not words or words[-1] != beam_tree.END:
        shares = beam_tree.following(tree, words)
        words = (*words, max(shares, key=shares.get))
    assert beam_tree.search(tree, width=1, alpha=0.0).best.sentence == words
    trace = beam_tree.search(tree, width=5, alpha=0.0)
    sums = {words: total for level in trace.open for words, total in level}
    assert all(total <= sums.get(words[:-1], 0.0) + 1e-12 for words, total in sums.items())
    assert all(sum(shares.values()) == pytest.approx(1) for shares in tree.values())
    assert len(set(beam_tree.places(name).values())) == len(beam_tree.places(name))


def test_greedy_misses_the_likelier_sentence_and_a_wide_beam_says_nothing():
    assert [beam("A", width)["said"] for width in (1, 2)] == [("the", "cat"), ("a", "cat")]
    for width in range(1, 6):
        bare, full = beam("B", width), width <= 3
        assert bare["said"] == (("le", "chat", "dort") if full else ())
        assert bare["total"] == pytest.approx(-2.339 if full else -2.120, abs=5e-4)
        assert beam("B", width, 1.0)["said"] == ("le", "chat", "dort")


# Where a number is estimated from random draws, the tolerance is about four standard errors.
NUMBERS = [
    (lambda: beam("A", 1)["chance"], 0.24, 1e-9),
    (lambda: beam("A", 2)["chance"], 0.36, 1e-9),
]  # fmt: skip


@pytest.mark.parametrize(("number", "expected", "tolerance"), NUMBERS)
def test_numbers_quoted_in_the_lesson(number, expected, tolerance):
    assert number() == pytest.approx(expected, abs=tolerance, rel=0)


CAT, DOG = "The cat drank the water because it was thirsty.", WOMAN.replace("dog", "[dog]")


def seen(text: str, system: str = ACROSS, head: str = "mean", step: int = 1) -> dict:
    return live_translator.compute(text=text, system=system, head=head, step=step)


@pytest.mark.parametrize(
    ("text", "french"),
    [
        (WOMAN, "la vieille femme voit un petit chien dans le jardin"),
        (DOG, "la vieille femme voit un petit jardin dans le jardin"),
        (WOMAN.replace("a small", "[a] small"), "la vieille femme voit le petit chien dans le jardin"),
        (WOMAN.replace("woman", "[woman]"), "le vieux chien voit un petit chien dans le jardin"),
        (CAT, "le chat a bu l' eau parce qu' il avait soif"),
        ("The Cat sleeps.", "le chat dort"),
    ],
)
def test_frozen_translations(text, french):
    assert seen(text)["french"] == french
    assert "[" in text or shared("transformer")(text).target == french


def test_rctm_has_no_map_and_nothing_to_close():
    plain, dog = seen(WOMAN, RCTM), seen(DOG, RCTM)
    assert plain["french"] == dog["french"] == "la vieille femme porte le petit chapeau blanc"
    assert plain["weights"].sum() == 0 and plain["rows"] == ()
    assert "no word can be closed" in dog["notes"][0]


@pytest.mark.parametrize("system", [ACROSS, SOURCE, TARGET])
def test_rows_sum_to_one_and_what_is_closed_or_missing_gets_nothing(system):
    for head in HEADS:
        facts = seen(DOG, system, head)
        n_rows, n_columns, weights = len(facts["rows"]), len(facts["columns"]), facts["weights"]
        assert weights[:n_rows].sum(axis=1) == pytest.approx(np.ones(n_rows), abs=1e-4)
        assert weights[n_rows:].sum() == weights[:, n_columns:].sum() == 0
        nowhere = np.triu(weights, 1) if system == TARGET else weights[:, 6]  # ahead, or at the dog
        assert nowhere.max() == 0


def test_a_step_says_its_likeliest_word():
    for step in range(1, 13):
        facts = seen(CAT, step=step)
        assert facts["top"][0] == facts["said"][facts["place"]]
        assert (np.diff(facts["shares"]) <= 0).all() and facts["shares"].sum() <= 1 + 1e-6
    assert seen(CAT, step=18)["place"] == len(seen(CAT)["said"]) - 1


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "empty"),
        ("  [ ] ", "empty"),
        ("the cat " * 9, "too long: 18 words"),
        ("The axolotl sleeps.", "read as <unk>: axolotl"),
        ("<b>$x$</b> кот 猫", "кот"),
    ],
)
def test_odd_texts_are_answered(text, says):
    assert any(says in note for note in seen(text)["notes"])
    lab = LiveTranslator()
    lab.text = text
    assert lab.still() and 20 < len(lab.description) < 260


def test_brackets_and_what_is_written():
    assert live(shared("transformer"), "the [old woman] sees").closed == (1, 2)
    assert seen(WOMAN.replace("a small dog", "a [small dog]"))["closed_words"] == (5, 6)
    assert len(live(shared("rctm"), "the " * MOST_READ).source) == MOST_READ + 1
    assert seen(DOG)["changed"] == 1 and seen(WOMAN)["changed"] == 0
    drawable = live_translator.drawable
    assert drawable("猫") == "□" and drawable("sœur") == "sœur" and len(drawable("x" * 60)) <= 11
    field, lab = Writing("English", ("a", "b")).widget(), LiveTranslator()
    assert not field.continuous_update and field.description == "English"
    lab.text = "x" * 500
    assert len(lab.text) == 200


def test_the_prediction_is_true_and_only_the_learners_own_brackets_count():
    asked, lab = questions("16")["dec-close-dog"], LiveTranslator()
    lab.preset(asked.preset)
    assert asked.options[asked.right[0]].text.startswith("*jardin*")
    assert lab.facts["top"][0] == "jardin" and f"{lab.facts['shares'][0]:.2f}" == "0.92"
    for system in (RCTM, SOURCE, ACROSS):
        lab.system = system
    assert "one" not in lab.ticked
    lab.text = WOMAN.replace("a small", "[a] small")
    assert "one" in lab.ticked


def test_a_wide_beam_says_nothing_as_predicted():
    _, _, _, after = opened("16", "dec-wide-beam", beam_tree.BeamTree)
    assert after["said"] == ()
