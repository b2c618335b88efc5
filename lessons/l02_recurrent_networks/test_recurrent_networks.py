"""The claims of lesson 02, against data/results, its own measurements and the shipped RNN."""

from __future__ import annotations

import math
from unittest.mock import Mock

import pytest
import torch
from torch.nn import functional as F

from course_lib.teaching.exercises import find_exercise
from course_lib.text.special import BOS, EOS
from course_lib.translation.shipped import shared
from lessons.l02_recurrent_networks import key_picture, measurements
from lessons.l02_recurrent_networks.solutions import product_of_jacobians, read_sequence
from tests.lesson_claims import (
    LessonText,
    assert_measured_again,
    indices_of_true,
    means,
    numbers_of_right,
    seeds,
)

LESSON = LessonText("recurrent_networks")
STORED = LESSON.stored()


# ---- a trained language model


def test_the_rnn_beats_the_window():
    by_name = means("toy_language_models", "scores", "test", "perplexity")
    assert by_name["rnn_lm"] < by_name["mlp_lm"]


@torch.no_grad()
def il_and_elle_after(text: str) -> tuple[float, float]:
    system = shared("rnn_lm")
    tokens = torch.tensor([[BOS, *system.tokenizer.encode(text)]])
    probabilities = system.model(tokens)[0, -1].softmax(dim=-1)
    return tuple(float(probabilities[token]) for token in system.tokenizer.encode("il elle"))


def test_the_prediction_depends_on_the_noun_until_a_second_noun_comes():
    for end in ("dort parce qu'", "a souvent dormi hier parce qu'"):
        (il_cat, _), (il_mouse, _) = (il_and_elle_after(f"{noun} {end}") for noun in ("le chat", "la souris"))
        assert il_cat > 0.7 > 0.5 > il_mouse
    cat, mouse = (il_and_elle_after(f"{noun} a bu l' eau parce qu'") for noun in ("le chat", "la souris"))
    assert mouse[1] < 0.5, "though elle is the only right answer"
    assert cat == pytest.approx(mouse, abs=0.05), "the prediction hardly depends on the subject"


@torch.no_grad()
def test_the_picture_shows_the_losses_of_the_model_and_its_surprise():
    """The model runs step by step here."""
    model, steps = shared("rnn_lm").model, key_picture.numbers()
    tokens = [BOS, *shared("rnn_lm").tokenizer.encode(key_picture.SENTENCE), EOS]
    state = model.start(1)
    for token, after, step in zip(tokens[:-1], tokens[1:], steps, strict=True):
        logits, state, _ = model.advance(state, torch.tensor([token]), with_weights=False)
        assert step.loss == pytest.approx(F.cross_entropy(logits, torch.tensor([after])).item(), abs=1e-3)
        likely = logits[0].softmax(dim=-1).sort(descending=True).values
        assert [p for _, p in step.guesses] == pytest.approx(likely[:2].tolist(), abs=1e-4)
        if step.next == "chat":
            assert (likely > 0.01).sum() > 15, "many nouns are possible"
        torch.testing.assert_close(
            torch.tensor(step.state), state["hidden"][0, 0, ::27], atol=1e-3, rtol=1e-3
        )
    assert max(steps, key=lambda step: step.loss).next == "chat"
    assert (steps[5].word, steps[5].next) == ("l'", "eau") and steps[5].probability > 0.99


def test_the_state_contains_the_gender_that_the_prediction_does_not_use():
    path = ("pronoun_probe", "rnn_lm", "pronouns")
    new_nouns, random_labels, new_middles = (
        seeds(*path, "probe", name) for name in ("one middle", "one middle, random labels", "new middles")
    )
    assert len(new_nouns) == 3 and min(found["low"] for found in new_nouns) > 0.97
    assert all(abs(found["mean"] - 0.5) < 0.06 for found in random_labels), "about as often as guessing"
    assert max(found["high"] for found in new_middles) < 0.75
    assert max(seeds(*path, "moved by the subject")) < 0.05
    assert min(seeds(*path, "moved by the object")) > 0.3, "the last noun"
    asked = LESSON.asked("gender-probe")
    assert [asked.options[i].text for i in asked.right] == ["In more than 95% of cases"]


# ---- agreements across another noun


def test_the_corpus_rewards_the_number_of_the_subject_far_more_often_than_its_gender():
    counts = STORED["agreements"]["in the training set"]
    misled = {kind: found["it misleads"] for kind, found in counts.items()}
    number = sum(n for kind, n in misled.items() if kind.startswith("number"))
    gender = misled["gender of an adjective"] + misled["gender of a participle"]
    assert number > 3 * gender > 1900
    pronouns = STORED["agreements"]["pronouns"]
    masculine, feminine = (pronouns[f"animal {gender}, object f"]["n"] for gender in "mf")
    assert masculine > 20 * feminine, "whoever knows the object's gender knows the subject's"


def test_the_rnn_keeps_the_number_of_the_subject_across_another_noun_and_loses_its_gender():
    rnn, lstm = (STORED["agreements"]["models"][name] for name in ("rnn_lm", "lstm_lm"))
    for between in ("preposition", "relative clause"):
        across = rnn[f"number of a verb, across a {between}"]["it misleads"]
        assert across["right"] > 0.95 and across["n"] > 50
    for kind in ("gender of an adjective", "gender of a participle"):
        assert rnn[kind]["it misleads"]["right"] < 0.5 and lstm[kind]["it misleads"]["right"] < 0.65
        assert rnn[kind]["the nearer noun agrees"]["right"] > 0.7


# ---- a signal, stored by hand and learned


def test_weights_chosen_by_hand_store_a_signal_and_their_gradient_vanishes():
    w, u, b = find_exercise("wire_memory").reference()
    state, gradient = math.tanh(w), 1.0
    for _ in range(200_000):
        state = math.tanh(u * state + b)
        gradient *= u * (1 - state**2)
    assert state == pytest.approx(0.995, abs=0.001) and gradient == 0
    assert u * (1 - state**2) == pytest.approx(0.03, abs=0.002)
    assert LESSON.asked("saturated-memory").right == [1]


@pytest.mark.nightly
def test_the_stored_counts_are_measured_again():
    """Training is chaotic: another machine may count one or two networks more or fewer."""
    measured = measurements.measure(long_seeds=(0,))
    assert measured["networks"] == STORED["networks"]
    for length, counts in measured["learned by length"].items():
        assert counts == pytest.approx(STORED["learned by length"][length], abs=4), length
    for name, counts in by_change(measured).items():
        assert counts == pytest.approx(by_change(STORED)[name][: len(counts)], abs=4), name
    for name in ("one number", "64 numbers"):
        for length, by_step in measured["gradient"][name].items():
            fresh = next(iter(by_step))
            assert by_step[fresh] == pytest.approx(STORED["gradient"][name][length][fresh], rel=0.01)
    assert_measured_again({"agreements": measured["agreements"]}, STORED, abs=0.03)


def by_change(numbers: dict) -> dict[str, list[int]]:
    """The counts for each seed at length 200, by what was changed."""
    at_200 = numbers["learned at length 200"]
    return {name: found["by seed"] for name, found in at_200.items() if name != "networks"}


def test_side_by_side_is_the_lessons_own_training():
    train_tiny = LESSON.run_cell("tiny training", torch=torch, F=F)["train_tiny"]
    rates = (0.05, 0.1)
    both = measurements.train_side_by_side(4, rates, steps=20, seed=1)
    for accuracies, rate in zip(both, rates, strict=True):
        torch.testing.assert_close(accuracies, train_tiny(4, steps=20, rate=rate, seed=1), atol=0.011, rtol=0)


def test_tiny_networks_learn_short_texts_and_not_long_ones():
    learned, networks = STORED["learned by length"], STORED["networks"]
    assert set(learned["2"]) == {networks}, "all"
    assert min(learned["5"]) > networks / 2, "more than half"
    assert max(learned["10"]) < min(learned["5"]), "fewer"
    assert sum(learned["200"]) == 0 and len(learned["200"]) == 3, "none of sixty"
    assert LESSON.asked("trained-memory").right == [2]


def test_more_training_and_another_start_help_some_of_sixty():
    totals = {name: sum(counts) for name, counts in by_change(STORED).items()}
    stored = STORED["learned at length 200"]
    assert totals == {name: stored[name]["total"] for name in totals}
    assert totals["as above"] == 0 and stored["networks"] == 60
    assert 0 < totals["rate × 2"] < totals["steps × 10"] < totals["both"] < 30, "most runs don't find them"
    assert min(by_change(STORED)["u from 2 to 4"]) > 0, "the control: with every seed some learn"


def test_a_larger_network_learns_five_steps_and_not_twenty():
    accuracies = seeds("recall_one_distance", "rnn_lm", "right")
    assert len(accuracies) == 3
    assert min(run["5"] for run in accuracies) > 0.99, "always succeeds"
    assert min(run["10"] for run in accuracies) < 0.5 < max(run["10"] for run in accuracies)
    assert max(run[distance] for run in accuracies for distance in ("20", "50", "100")) < 0.15


def test_the_gradient_is_not_small_at_length_200_but_nothing_of_it_comes_through_the_first_word():
    tiny = STORED["gradient"]["one number"]
    for batch in (32, 1024):
        short, long = (tiny[length][f"step 0, batch {batch}"] for length in ("2", "200"))
        assert long["total"] > 0.6 * short["total"], "most of it is that of the output layer:"
        assert 0.2 < long["recurrent weights"] / short["recurrent weights"] < 0.35
        assert short["through word 1"] > 0.2 * short["total"] and long["through word 1"] < 1e-100
    assert tiny["200"]["step 100, batch 32"]["total"] > 2 * tiny["2"]["step 100, batch 32"]["total"]


def test_in_training_most_of_the_gradient_at_length_200_is_the_chance_of_the_batch():
    tiny = STORED["gradient"]["one number"]
    for step in (30, 100):
        total = {batch: tiny["200"][f"step {step}, batch {batch}"]["total"] for batch in (32, 1024)}
        assert total[1024] < total[32] / 2
    assert tiny["2"]["step 30, batch 1024"]["total"] > 0.9 * tiny["2"]["step 30, batch 32"]["total"]


def test_a_larger_network_learns_where_the_part_through_the_first_word_takes_over():
    larger = STORED["gradient"]["64 numbers"]
    assert larger["50"]["step 0"]["total"] > 0.7 * larger["2"]["step 0"]["total"]
    after = {length: found["step 100"] for length, found in larger.items()}
    assert after["5"]["through word 1"] > 0.8 * after["5"]["total"], "it was 7% at first"
    assert max(after[length]["through word 1"] for length in ("20", "50")) < 1e-4


def test_the_loss_has_a_plateau_and_an_edge():
    loss_for = LESSON.run_cell("loss for u", torch=torch, F=F, views=Mock())["loss_for"]
    u = torch.tensor([0.0, 0.5, 1.0, 1.2, 1.5, 3.0])
    short, long = loss_for(u, 2), loss_for(u, 200)
    assert (short.diff() < 0).all(), "with two steps it falls steadily"
    assert (long[:2] - long[0]).abs().max() < 0.05 and short[0] - short[1] > 0.2, "nearly flat"
    assert long[3] > long[0] + 0.1, "rises a little"
    assert long[4] < 0.15 and long[5] < 0.15, "beyond the edge"


# ---- gradients


def test_products_on_paper():
    assert pytest.approx(0.005, abs=0.0005) == 0.9**50 and round(1.1**50) == 117
    assert 0.9**199 < 1e-9
    factors = [2 * (1 - 0.6**2), 2 * (1 - 0.8**2)]
    assert factors == pytest.approx([1.28, 0.72]) and math.prod(factors) == pytest.approx(0.92, abs=0.005)
    assert [math.tanh(0.1), math.tanh(3.0)] == pytest.approx([0.0997, 0.995], abs=5e-4)


# ---- references


def test_the_references_agree_with_torch():
    torch.manual_seed(0)
    rnn = torch.nn.RNN(4, 6, batch_first=True)
    words, start = torch.randn(3, 7, 4), torch.randn(3, 6)
    weights = (rnn.weight_ih_l0, rnn.weight_hh_l0, rnn.bias_ih_l0 + rnn.bias_hh_l0)
    torch.testing.assert_close(read_sequence(words, start, *weights), rnn(words, start[None])[0])


# ---- answers of the quiz


def test_the_numbers_of_the_quiz():
    factor = product_of_jacobians(torch.tensor([[0.3], [0.0], [0.5]]), torch.tensor([[2.0]]))
    assert LESSON.asked("three-factors").answer == pytest.approx(factor.item())
    assert LESSON.asked("half-per-ten").answer == pytest.approx(0.5**10)
    n_weights = sum(weight.numel() for weight in torch.nn.RNNCell(10, 20, bias=False).parameters()) + 20
    assert numbers_of_right(LESSON.asked("weights-for-length")) == [n_weights]


def test_clipping_leaves_a_short_gradient():
    weight = torch.nn.Parameter(torch.zeros(2))
    weight.grad = torch.tensor([0.006, 0.008])
    torch.nn.utils.clip_grad_norm_([weight], 1.0)
    after = weight.grad.norm().item()
    expected = indices_of_true(after == pytest.approx(0.01), after == pytest.approx(1), after < 0.0099)
    assert LESSON.asked("what-clipping-does").right == expected


def test_a_detached_state_gives_the_same_outputs_and_no_gradient_over_a_distance():
    torch.manual_seed(2)
    cell, words = torch.nn.RNNCell(3, 4), torch.randn(5, 1, 3, requires_grad=True)

    def read(words: torch.Tensor, *, detached: bool) -> torch.Tensor:
        state = torch.zeros(1, 4)
        for word in words:
            state = cell(word, state.detach() if detached else state)
        return state

    outputs, last = read(words, detached=False), read(words, detached=True)
    [gradient] = torch.autograd.grad(last.sum(), words)
    no_distance = not gradient[:-1].any() and bool(gradient[-1].any())
    expected = indices_of_true(not torch.equal(outputs, last), no_distance, not gradient.any())
    assert LESSON.asked("detach-in-the-loop").right == expected
