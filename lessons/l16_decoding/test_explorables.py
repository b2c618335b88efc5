"""What the explorables of lesson 16 compute and show."""

from __future__ import annotations

import math
import operator
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

from course_lib.explore.base import Facts
from course_lib.explore.control import TextInput
from course_lib.text.special import EOS, PAD, SPECIAL
from course_lib.translation.search import beam_search
from course_lib.translation.shipped import shared
from lessons.l16_decoding import LiveTranslator, beam_tree, live_translator
from lessons.l16_decoding.beam_tree import TREES
from lessons.l16_decoding.live_translator import CROSS, HEADS, RCTM, SOURCE, TARGET, WOMAN
from lessons.l16_decoding.typed_sentence import MAX_INPUT, translate_typed
from tests.explore.limits import Limit
from tests.explore.settings import open_question


def close(facts: Facts, count: int) -> Facts:
    return facts | {"closed_words": ["word"] * count}


LIMITS = {
    "BeamTree": [Limit("nothing", "α = 0", "alpha"), Limit("back", "k = 5", "width")],
    "LiveTranslator": [
        Limit("one", "one word", close, counts=True),
        Limit("one", "exactly one", "changed"),
        Limit("unsure", "0.6", ("probabilities", 0), operator.lt),
    ],
}
DERIVED = {
    "BeamTree": lambda facts: {"tree": [list(after.values()) for after in TREES[facts["tree"]].values()]},
    "LiveTranslator": lambda facts: {"step": facts["position"] + 1},
}


def beam(tree: str, width: int, alpha: float = 0.0) -> dict:
    return beam_tree.compute(tree=tree, width=width, alpha=alpha)


class TreeTranslator(nn.Module):
    """A tree as a translator: its state is the words so far."""

    def __init__(self, name: str):
        super().__init__()
        self.tree = beam_tree.TREES[name]
        vocabulary = {word for following in self.tree.values() for word in following} - {beam_tree.END}
        self.words = [*SPECIAL, *sorted(vocabulary)]
        self.config = SimpleNamespace(max_len=beam_tree.LONGEST)

    def start(self, memory):
        return {"tokens": torch.empty(len(memory["row"]), 0, dtype=torch.int64)}

    def step(self, memory, state, tokens):
        read = torch.cat([state["tokens"], tokens[:, None]], dim=1)
        logits = torch.full((len(read), len(self.words)), -1e9)
        for row, ids in enumerate(read.tolist()):
            prefix = tuple(self.words[i] for i in ids[1:])
            for word, probability in beam_tree.following(self.tree, prefix).items():
                token = EOS if word == beam_tree.END else self.words.index(word)
                logits[row, token] = math.log(probability)
        return logits, {"tokens": read}, None


@pytest.mark.parametrize("name", beam_tree.TREES)
def test_the_tree_finds_what_the_library_finds(name):
    translator = TreeTranslator(name)
    for width in range(1, 6):
        for alpha in (0.0, 0.2, 0.3, 0.6, 1.0):
            options = {"beam": width, "max_len": beam_tree.LONGEST, "length_penalty": alpha}
            expected = beam_search(translator, {"row": torch.zeros(1, 1)}, **options)
            best = beam_tree.search(beam_tree.TREES[name], width=width, alpha=alpha).best
            words = tuple(translator.words[i] for i in expected.ids[0].tolist() if i != PAD)
            assert words == best.sentence
            assert float(expected.scores[0]) == pytest.approx(best.score, abs=1e-5)


@pytest.mark.parametrize("name", beam_tree.TREES)
def test_width_one_is_greedy(name):
    tree, words = beam_tree.TREES[name], ()
    while not words or words[-1] != beam_tree.END:
        following = beam_tree.following(tree, words)
        words = (*words, max(following, key=following.get))
    assert beam_tree.search(tree, width=1, alpha=0.0).best.sentence == words


@pytest.mark.parametrize("name", beam_tree.TREES)
def test_a_tree_holds_probabilities_and_sums_only_fall(name):
    assert all(sum(following.values()) == pytest.approx(1) for following in beam_tree.TREES[name].values())
    trace = beam_tree.search(beam_tree.TREES[name], width=5, alpha=0.0)
    sums = {words: total for level in trace.open for words, total in level}
    assert all(total <= sums.get(words[:-1], 0.0) + 1e-12 for words, total in sums.items())


@pytest.mark.parametrize("name", beam_tree.TREES)
def test_no_two_prefixes_are_drawn_at_one_position(name):
    positions = beam_tree.positions(name)
    assert len(set(positions.values())) == len(positions)


def test_greedy_misses_the_likelier_sentence():
    greedy, wider = beam("A", 1), beam("A", 2)
    assert (greedy["output"], wider["output"]) == (("the", "cat"), ("a", "cat"))
    assert greedy["probability"] == pytest.approx(0.6 * 0.4) and wider["probability"] == pytest.approx(
        0.4 * 0.9
    )


def test_a_wide_beam_outputs_the_empty_sentence_unless_there_is_a_length_penalty():
    for width in range(1, 6):
        without, complete = beam("B", width), width <= 3
        assert without["output"] == (("le", "chat", "dort") if complete else ())
        assert without["total"] == pytest.approx(-2.339 if complete else -2.120, abs=5e-4)
        assert beam("B", width, 1.0)["output"] == ("le", "chat", "dort")
        assert beam("B", width, 1.0)["score"] == pytest.approx(-1.559, abs=5e-4)


def test_the_wide_beam_is_the_right_answer_of_its_prediction():
    asked, _, _, after = open_question("16", "dec-wide-beam", beam_tree.BeamTree)
    assert after["output"] == () and after["tree"] == "B" and after["alpha"] == 0
    assert list(asked.right) == [2]


def reached(**settings) -> set[str]:
    start, now = (beam_tree.compute(**values) | values for values in (BEAM_START, BEAM_START | settings))
    return {name for name, met in beam_tree.BeamTree.goals_met(now, start).items() if met}


BEAM_START = {"tree": "A", "width": 1, "alpha": 0.0}


def test_goals_of_the_beam_are_met_only_at_the_smallest_setting():
    assert reached() == reached(tree="B") == set()
    assert reached(width=2) == {"likelier"}
    by_width = [reached(tree="B", width=width) for width in range(1, 6)]
    assert by_width[3] == {"nothing"} and all("nothing" not in goals for goals in by_width[:3] + by_width[4:])
    alphas = [step / 10 for step in range(11)]
    back = [alpha for alpha in alphas if "back" in reached(tree="B", alpha=alpha, width=5)]
    assert len(back) == 1 and beam("B", 5, back[0])["output"] and not beam("B", 5, back[0] - 0.1)["output"]


CAT, DOG = "The cat drank the water because it was thirsty.", WOMAN.replace("dog", "[dog]")


def facts_of(text: str, system: str = CROSS, head: str = "mean", step: int = 1) -> dict:
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
def test_translations_with_and_without_closed_words(text, french):
    assert facts_of(text)["french"] == french
    assert "[" in text or shared("transformer")(text).target == french


def test_rctm_has_no_map_and_nothing_to_close():
    plain, dog = facts_of(WOMAN, RCTM), facts_of(DOG, RCTM)
    assert plain["french"] == dog["french"] == "la vieille femme porte le petit chapeau blanc"
    assert plain["weights"].sum() == 0 and plain["rows"] == ()
    assert not plain["notes"] and dog["notes"], "a note says that nothing was masked"


@pytest.mark.parametrize("system", [CROSS, SOURCE, TARGET])
def test_rows_sum_to_one_and_what_is_closed_or_missing_gets_nothing(system):
    for head in HEADS:
        facts = facts_of(DOG, system, head)
        n_rows, n_columns, weights = len(facts["rows"]), len(facts["columns"]), facts["weights"]
        assert weights[:n_rows].sum(axis=1) == pytest.approx(np.ones(n_rows), abs=1e-4)
        assert weights[n_rows:].sum() == weights[:, n_columns:].sum() == 0
        masked = np.triu(weights, 1) if system == TARGET else weights[:, 6]  # later words, or the dog
        assert masked.max() == 0


def test_a_step_outputs_its_likeliest_word():
    for step in range(1, 13):
        facts = facts_of(CAT, step=step)
        assert facts["top"][0] == facts["output"][facts["position"]]
        assert (np.diff(facts["probabilities"]) <= 0).all() and facts["probabilities"].sum() <= 1 + 1e-6
    assert facts_of(CAT, step=18)["position"] == len(facts_of(CAT)["output"]) - 1


UNUSUAL = {
    "": "",
    "  [ ] ": "",
    "the cat " * 9: "18",
    "The axolotl sleeps.": "axolotl",
    "<b>$x$</b> кот 猫": "кот",
}


@pytest.mark.parametrize("text", UNUSUAL)
def test_a_note_names_what_is_unusual_about_a_text(text):
    notes = facts_of(text)["notes"]
    assert notes and any(UNUSUAL[text] in note for note in notes)
    lab = LiveTranslator()
    lab.text = text
    assert lab.static_image().png and 20 < len(lab.description) < 260


def test_brackets_may_hold_several_words():
    assert translate_typed(shared("transformer"), "the [old woman] sees").closed == (1, 2)
    assert facts_of(WOMAN.replace("a small dog", "a [small dog]"))["closed_words"] == (5, 6)
    assert facts_of(DOG)["changed"] == 1 and facts_of(WOMAN)["changed"] == 0


def test_long_and_foreign_texts_fit():
    assert len(translate_typed(shared("rctm"), "the " * MAX_INPUT).source) == MAX_INPUT + 1
    drawable = live_translator.drawable
    assert drawable("猫") == "□" and drawable("sœur") == "sœur" and len(drawable("x" * 60)) <= 11
    lab = LiveTranslator()
    lab.text = "x" * 500
    assert len(lab.text) == 200


def test_a_text_field_waits_for_enter():
    field = TextInput("English", ("a", "b")).widget()
    assert not field.continuous_update and field.description == "English"


def test_the_closed_dog_is_the_right_answer_of_its_prediction():
    asked, right, _, after = open_question("16", "dec-close-dog", LiveTranslator)
    assert after["closed_words"] == (6,) and after["position"] == 6 and after["top"][0] == "jardin"
    assert list(asked.right) == [2] and "jardin" in right


def test_only_a_word_that_the_learner_closes_counts_for_the_goal():
    lab = LiveTranslator()
    lab.preset("[dog] masked")
    for system in (RCTM, SOURCE, CROSS):
        lab.system = system
    assert "one" not in lab.reached_goals
    lab.text = WOMAN.replace("a small", "[a] small")
    assert "one" in lab.reached_goals


def test_the_decoders_columns_are_the_words_that_it_reads():
    """The start, then every word that it has output: a row may attend up to the column of its own number."""
    facts = facts_of(CAT, TARGET)
    assert facts["columns"][0] == "<s>" and facts["columns"][1:] == facts["rows"][:-1]
