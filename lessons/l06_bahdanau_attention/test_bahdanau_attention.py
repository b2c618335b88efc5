"""The claims of lesson 06, against the recorded runs and the shipped system."""

from __future__ import annotations

import itertools

import pytest
import torch

from course_lib.results import runs
from course_lib.text.special import BOS, EOS
from course_lib.text.toy.twins import ROLES
from course_lib.translation.shipped import load_shipped, shared
from lessons.l06_bahdanau_attention import attention_emerges, exercises
from lessons.l06_bahdanau_attention.attention_stepper import translate_stepwise
from lessons.l06_bahdanau_attention.exercises import SOURCE_TOKENS, THIRSTY, translate_forced
from lessons.l06_bahdanau_attention.forced_pronouns import N_TWINS
from lessons.l06_bahdanau_attention.measurements import IL, SOURCE, TARGET, measure
from lessons.l06_bahdanau_attention.solutions import additive_attention
from tests.lesson_claims import LessonText, assert_measured_again, exact, indices_of_true, means, seeds

L = LessonText("bahdanau_attention")
STORED = L.stored()
TRANSLATION = "le chat a bu l' eau parce qu' il avait soif"


@pytest.fixture(scope="module")
def translate():
    """The loop of the lesson, by which the learner's attention translates."""
    return L.run_cell("translate", torch=torch, BOS=BOS, EOS=EOS, load_shipped=load_shipped)["translate"]


@pytest.mark.nightly
def test_the_stored_measurements_can_be_reproduced():
    assert_measured_again(measure(), STORED, rel=0.01, abs=0.001)


# ---- length


def test_with_attention_the_cliff_is_gone():
    before, after = exact("toy_ladder", words="16–20"), exact("toy_ladder", "long", "21–30")
    assert before["seq2seq"] < 25 and before["rnn_encoder_decoder"] < 25 and before["bahdanau"] > 90
    assert after["bahdanau"] == pytest.approx(90, abs=2), "nine in ten"
    assert after["seq2seq"] < 1 and after["rnn_encoder_decoder"] < 1, "next to none"
    assert L.asked("length-curve").answer == round(after["bahdanau"])
    furthest = exact("toy_ladder", "long", "31–40")
    assert furthest["bahdanau"] == pytest.approx(25, abs=4), "a quarter"
    assert furthest["seq2seq"] < 1


def test_with_a_forward_encoder_alone_attention_still_helps_most():
    """The control in section 5: a Luong system of about the same size, with one forward encoder."""
    forward = exact("encoder_direction", words="16–20")["from the start"]
    ladder = exact("toy_ladder", words="16–20")
    assert forward - ladder["rnn_encoder_decoder"] > 0.8 * (
        ladder["bahdanau"] - ladder["rnn_encoder_decoder"]
    )
    sizes = means("encoder_direction", "parameters")["from the start"], means("toy_ladder", "parameters")
    assert sizes[0] == pytest.approx(sizes[1]["bahdanau"], rel=0.05)


def test_the_systems_are_about_equally_large_and_trained_alike():
    parameters = means("toy_ladder", "parameters")
    assert parameters["bahdanau"] == pytest.approx(parameters["seq2seq"], rel=0.02)
    bahdanau, seq2seq = (seeds("toy_ladder", name, "recipe", "n_steps") for name in ("bahdanau", "seq2seq"))
    assert bahdanau == seq2seq


# ---- alignment


def test_about_four_links_in_ten_are_on_the_diagonal_and_more_in_short_sentences():
    on_diagonal = STORED["links on the diagonal"]
    assert on_diagonal["all"] == pytest.approx(0.4, abs=0.03)
    assert on_diagonal["up to five words"] > 1.5 * on_diagonal["all"]


def test_the_alignment_is_good_in_every_run():
    assert max(seeds("toy_ladder", "bahdanau", "scores", "test", "alignment_error")) < 0.1


def test_the_map_of_the_crossing_sentence(translate):
    translation, weights = translate(" ".join(SOURCE), additive_attention)
    assert translation.split() == TARGET
    attended = dict(zip(TARGET[1:], (SOURCE[row.argmax()] for row in weights[1:-1]), strict=True))
    assert attended | {"mère": "mother", "heureuse": "happy", "vieille": "old"} == attended
    assert attended | {"fleur": "flower", "blanche": "white", "n'": "not", "pas": "not"} == attended
    for word in ("n'", "pas"):
        row = weights[TARGET.index(word)]
        assert row[SOURCE.index("not")] + row[SOURCE.index("did")] > 0.99, "the rest goes to did"
    assert weights[-1].argmax() == len(SOURCE), "the last row attends to the end"
    assert L.asked("crossing-map").right == [1]


# ---- how it emerges


def test_fluent_french_about_something_else_comes_first():
    facts = attention_emerges.compute(step=150, sentence=attention_emerges.CAT)
    assert " ".join(facts["translation"]) == "la reine a bu le lait parce qu' elle était très bonne"
    assert "*la reine a bu le lait parce qu' elle était très bonne*" in L.source


def test_the_alignment_and_the_translations_improve_over_the_same_steps():
    assert L.asked("which-comes-first").right == [2]
    for run in runs("emergence"):
        points, shots = ({each["step"]: each for each in run[part]} for part in ("curve", "snapshots"))
        exact, error = (
            {s: of[s][name] for s in shots} for of, name in ((shots, "exact"), (points, "alignment_error"))
        )
        assert exact[600] - exact[200] > 0.6 * (exact[4000] - exact[0])
        assert error[200] - error[600] > 0.6 * (error[0] - error[4000])
        assert exact[200] == 0 and points[200]["diagonal"] > 0.85, "the diagonal comes first"


# ---- where il attends to


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


# ---- forced attention


def test_the_second_step_forced_onto_each_word():
    forced = {position: translate_forced(1, position) for position in range(len(SOURCE_TOKENS))}
    by_word = dict(zip(SOURCE_TOKENS, forced.values(), strict=True))
    assert by_word["cat"] == TRANSLATION
    assert by_word["water"] == TRANSLATION.replace("le chat", "le eau"), "as if nothing had happened"
    assert by_word["because"].startswith("le parce"), "a clause is skipped"
    assert by_word["</s>"] == "le", "it stops"
    assert forced[3].split()[1] == "matin" and SOURCE_TOKENS[3] == "the"


def test_the_step_of_il_forced_onto_each_word_in_both_sentences():
    words = [translate_forced(IL, position).split()[IL] for position in range(len(SOURCE_TOKENS))]
    it = SOURCE_TOKENS.index("it")
    assert words[it:] == ["il"] * 4, "it, was, thirsty and the end"
    others = dict(zip(SOURCE_TOKENS[:it], words[:it], strict=True))
    assert others.pop("cat") == "chat" and set(others.values()) == {"elle"}


def test_only_was_and_the_adjective_lead_to_the_correct_pronoun_in_both_sentences(translate):
    def force(position):
        steps = itertools.count()

        def attend_there(states, annotations, *parameters):
            context, weights = additive_attention(states, annotations, *parameters)
            return (annotations[:, position] if next(steps) == IL else context), weights

        return attend_there

    cold = THIRSTY.replace("thirsty", "cold")
    outputs = [
        [[*translate(text, force(position))[0].split(), "</s>"][IL] for position in range(len(SOURCE_TOKENS))]
        for text in (THIRSTY, cold)
    ]
    correct = [
        SOURCE_TOKENS[i] for i, both in enumerate(zip(*outputs, strict=True)) if both == ("il", "elle")
    ]
    assert correct == ["was", "thirsty"]
    for word in ("it", "</s>"):
        assert [output[SOURCE_TOKENS.index(word)] for output in outputs] == ["il", "il"]


def test_the_adjective_gets_the_largest_weight_in_a_minority_of_such_sentences():
    pronouns = STORED["pronouns"]
    assert pronouns["correct"] == 1, "all of them are translated correctly"
    assert pronouns["adjective"] < 0.5
    assert pronouns["adjective"] > pronouns["because"] > pronouns["pronoun"] > 5 * pronouns["verb"]


def test_over_all_twins_was_carries_the_answer_more_often_than_it_and_the_adjective():
    forced = STORED["forced pronouns"]
    n, both = N_TWINS, {name: counts["both right"] for name, counts in list(forced.items())[2:]}
    assert both.pop("model") == n > both.pop("most attended") > both.pop("was") > n / 2
    margin = 1.96 * (2 * n / 4) ** 0.5  # of a difference between two of these counts, at most
    assert forced["was"]["both right"] - max(both.values()) > margin, "the control"
    assert abs(both["it"] - both["adjective"]) < margin, "no clear difference"
    assert both["uniform"] < n / 4, "tossing a coin"
    assert max(both[role] for role in (*ROLES[:4], "end")) <= 1, "no word before because"


def test_the_adjective_and_because_often_give_the_twins_each_others_pronouns():
    forced = {role: STORED["forced pronouns"][role] for role in ROLES}
    right, wrong, follow = (
        {role: forced[role][f"both {what}"] for role in ROLES} for what in ("right", "wrong", "follow")
    )
    assert wrong["adjective"] > right["adjective"] / 2 and wrong["because"] > right["because"]
    assert wrong["was"] == 0 and follow["was"] > 0.8 * right["was"], "its annotation decides"
    assert follow["it"] < 0.25 * right["it"], "not its annotation alone"


def test_another_order_moves_the_weights_and_nothing_else(translate):
    order = [9, 3, 1, 0, 5, 2, 8, 7, 6, 4]
    translation, weights = translate(THIRSTY, additive_attention)
    shuffled, moved = translate(
        THIRSTY,
        lambda states, annotations, *learned: additive_attention(states, annotations[:, order], *learned),
    )
    assert shuffled == translation == TRANSLATION == shared("bahdanau")(THIRSTY).target
    assert torch.allclose(moved, weights[:, order], atol=1e-5)
    assert L.asked("order-of-annotations").right == [0] and L.asked("shuffled-annotations").right == [0]


# ---- by hand


def test_only_differences_of_scores_count():
    one = torch.ones(1, 1)
    scores = exercises.additive_scores(one[0], torch.tensor([[0.0], [1.0]]), one, -one, 2 * one[0])
    assert scores.tolist() == pytest.approx([1.52, 0], abs=0.005)
    for shift in (0, 10):
        assert (scores + shift).softmax(-1).tolist() == pytest.approx([0.82, 0.18], abs=0.005)


# ---- answers of the quiz


def test_the_numbers_of_the_quiz():
    context, _ = exercises.blend(torch.full((1, 3), 7.0).softmax(-1), torch.tensor([[3.0], [6.0], [9.0]]))
    assert L.asked("context-by-hand").answer == pytest.approx(context.item())
    assert L.asked("error-of-links").answer == pytest.approx(1 - 2 * 9 / (10 + 10))


def test_without_the_tanh_the_weights_are_the_same_at_every_step():
    generator = torch.Generator().manual_seed(6)
    w, u, v, annotations, states = (
        torch.randn(*size, generator=generator) for size in [(4, 4)] * 2 + [(4,), (5, 4), (2, 4)]
    )
    straight = [((annotations @ u.T + state @ w.T) @ v).softmax(-1) for state in states]
    _, bent = additive_attention(states, annotations.expand(2, -1, -1), w, u, v)
    assert not torch.allclose(bent[0], bent[1])
    expected = indices_of_true(False, torch.allclose(*straight), torch.allclose(torch.stack(straight), bent))
    assert L.asked("without-the-bend").right == expected
