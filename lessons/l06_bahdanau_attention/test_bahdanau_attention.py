"""The claims of lesson 06, against the recorded runs and the shipped system."""

from __future__ import annotations

import pytest
import torch

from course_lib.text.special import BOS, EOS
from course_lib.translation.shipped import load_shipped, shared
from lessons.l06_bahdanau_attention import exercises
from lessons.l06_bahdanau_attention.attention_stepper import translate_stepwise
from lessons.l06_bahdanau_attention.exercises import SOURCE_TOKENS, THIRSTY, attend, translate_forced
from lessons.l06_bahdanau_attention.measurements import IL, measure
from tests.lesson_claims import LessonText, assert_measured_again, exact, indices_of_true, means, seeds

L = LessonText("bahdanau_attention")
STORED = L.stored()
TRANSLATION = "le chat a bu l' eau parce qu' il avait soif"


@pytest.fixture(scope="module")
def translate():
    """The loop of the lesson, by which the learner's attention translates."""
    return L.run_cell("translate", torch=torch, BOS=BOS, EOS=EOS, load_shipped=load_shipped)["translate"]


def test_the_stored_measurements_can_be_reproduced():
    assert_measured_again(measure(), STORED, rel=0.01, abs=0.001)


# ---- length


def test_with_attention_the_cliff_is_gone():
    before, after = exact("toy_ladder", words="16–20"), exact("toy_ladder", "long", "21–30")
    assert before["seq2seq"] < 25 and before["rnn_encoder_decoder"] < 25 and before["bahdanau"] > 90
    assert after["bahdanau"] == pytest.approx(90, abs=2), "nine in ten"
    assert after["seq2seq"] < 1 and after["rnn_encoder_decoder"] < 1, "next to none"
    assert after["transformer"] < after["bahdanau"] / 2, "attention alone is not enough"
    assert L.asked("length-curve").answer == round(after["bahdanau"])
    furthest = exact("toy_ladder", "long", "31–40")
    assert furthest["bahdanau"] == pytest.approx(25, abs=4), "a quarter"
    assert furthest["seq2seq"] < 1


def test_the_systems_are_about_equally_large_and_trained_alike():
    parameters = means("toy_ladder", "parameters")
    assert parameters["bahdanau"] == pytest.approx(parameters["seq2seq"], rel=0.02)
    bahdanau, seq2seq = (seeds("toy_ladder", name, "recipe", "n_steps") for name in ("bahdanau", "seq2seq"))
    assert bahdanau == seq2seq


# ---- alignment


def test_about_four_links_in_ten_lie_on_the_diagonal_and_more_in_short_sentences():
    on_diagonal = STORED["links on the diagonal"]
    assert on_diagonal["all"] == pytest.approx(0.4, abs=0.03)
    assert on_diagonal["up to five words"] > 1.5 * on_diagonal["all"]


def test_the_alignment_is_good_and_one_row_late_it_is_not():
    errors = STORED["alignment error of 60 sentences"]
    assert errors["right"] < 0.1 and errors["one row late"] == pytest.approx(0.9, abs=0.05)
    assert max(seeds("toy_ladder", "bahdanau", "scores", "test", "alignment_error")) < 0.1


def test_il_attends_to_thirsty_and_not_to_the_cat():
    for sentence, adjective, pronoun in (("thirsty", "thirsty", "il"), ("cold", "cold", "elle")):
        steps = translate_stepwise(sentence)
        weights = dict(zip(steps["source"], steps["weights"][IL], strict=True))
        assert steps["words"][IL] == pronoun and max(weights, key=weights.get) == adjective
        assert weights["cat"] < 0.005
    weights = translate_stepwise("thirsty")["weights"][IL]
    assert weights.max() < 0.5, "no word has half of the weight"
    assert weights[:5].sum() < 0.005, "nor has any before because"
    assert SOURCE_TOKENS[weights.argsort()[-2]] == "</s>"
    assert L.asked("where-il-looks").right == [2], "thirsty"


def test_two_words_attend_to_drank_and_the_last_step_to_the_end():
    steps = translate_stepwise("thirsty")
    attended = [SOURCE_TOKENS[position] for position in steps["weights"].argmax(axis=1)]
    words = steps["words"]
    assert {words[i] for i, word in enumerate(attended) if word == "drank"} >= {"a", "bu"}
    assert (words[-1], attended[-1]) == ("</s>", "</s>")


# ---- forced attention


def test_the_second_step_forced_onto_each_word():
    forced = {position: translate_forced(1, position) for position in range(len(SOURCE_TOKENS))}
    by_word = dict(zip(SOURCE_TOKENS, forced.values(), strict=True))
    assert by_word["cat"] == TRANSLATION
    assert by_word["water"] == TRANSLATION.replace("le chat", "le eau"), "as if nothing had happened"
    assert by_word["because"].startswith("le parce"), "a clause is skipped"
    assert by_word["</s>"] == "le", "it stops"
    assert by_word["thirsty"].split()[1] == "avait"
    assert forced[3].split()[1] == "matin" and SOURCE_TOKENS[3] == "the"


def test_the_step_of_il_forced_onto_each_word():
    words = [translate_forced(IL, position).split()[IL] for position in range(len(SOURCE_TOKENS))]
    it = SOURCE_TOKENS.index("it")
    assert words[it:] == ["il"] * 4, "three words and the end"
    others = dict(zip(SOURCE_TOKENS[:it], words[:it], strict=True))
    assert others.pop("cat") == "chat" and set(others.values()) == {"elle"}


def test_another_order_moves_the_weights_and_nothing_else(translate):
    order = [9, 3, 1, 0, 5, 2, 8, 7, 6, 4]
    translation, weights = translate(THIRSTY, attend)
    shuffled, moved = translate(
        THIRSTY, lambda states, annotations, *learned: attend(states, annotations[:, order], *learned)
    )
    assert shuffled == translation == TRANSLATION == shared("bahdanau")(THIRSTY).target
    assert torch.allclose(moved, weights[:, order], atol=1e-5)
    assert L.asked("cards-picked-up").right == [2] and L.asked("shuffled-annotations").right == [0]


# ---- by hand


def test_only_differences_of_scores_count():
    one = torch.ones(1, 1)
    scores = exercises.additive_scores(one[0], torch.tensor([[0.0], [1.0]]), one, -one, 2 * one[0])
    assert scores.tolist() == pytest.approx([1.52, 0], abs=0.005)
    for shift in (0, 10):
        assert (scores + shift).softmax(-1).tolist() == pytest.approx([0.82, 0.18], abs=0.005)


# ---- answers of the quiz


def test_the_numbers_of_the_quiz():
    one = torch.ones(1, 1)
    score = exercises.additive_scores(
        torch.tensor([0.5]), torch.tensor([[-0.5]]), one, one, torch.tensor([3.0])
    )
    assert L.asked("score-by-hand").answer == score.item()
    context, _ = exercises.blend(torch.full((1, 3), 7.0).softmax(-1), torch.tensor([[3.0], [6.0], [9.0]]))
    assert L.asked("context-by-hand").answer == pytest.approx(context.item())
    annotations, states = torch.randn(60, 2), torch.randn(50, 2)
    _, weights = attend(states, annotations.expand(50, -1, -1), torch.eye(2), torch.eye(2), torch.ones(2))
    assert L.asked("sixty-words").answer == weights.numel()
    assert L.asked("error-of-links").answer == pytest.approx(1 - 2 * 9 / (10 + 10))


def test_without_the_tanh_the_weights_are_the_same_at_every_step():
    generator = torch.Generator().manual_seed(6)
    w, u, v, annotations, states = (
        torch.randn(*size, generator=generator) for size in [(4, 4)] * 2 + [(4,), (5, 4), (2, 4)]
    )
    straight = [((annotations @ u.T + state @ w.T) @ v).softmax(-1) for state in states]
    _, bent = attend(states, annotations.expand(2, -1, -1), w, u, v)
    assert not torch.allclose(bent[0], bent[1])
    expected = indices_of_true(False, torch.allclose(*straight), torch.allclose(torch.stack(straight), bent))
    assert L.asked("without-the-bend").right == expected
