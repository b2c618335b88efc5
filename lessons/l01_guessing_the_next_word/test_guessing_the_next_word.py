"""The claims of lesson 01, against data/results and its own measurements."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from functools import cache
from itertools import pairwise

import pytest
import torch
from torch.nn import functional as F

from course_lib.results import runs
from course_lib.runtime import data_path
from course_lib.teaching.exercises import find_exercise
from lessons.l01_guessing_the_next_word import measurements
from lessons.l01_guessing_the_next_word.measurements import (
    CHAT,
    DORT,
    LA,
    LE,
    MATRIX,
    TABLE,
    VACHE,
    measure_nudge,
    train_tiny,
)
from tests.lesson_claims import (
    LessonText,
    all_splits,
    assert_measured_again,
    indices_of_true,
    means,
    numbers_of_right,
)

LESSON = LessonText("guessing_the_next_word")
STORED = json.loads(data_path("results", "lesson_01.json").read_text(encoding="utf-8"))
step = find_exercise("gradient_step").reference


@cache
def text() -> list[list[str]]:
    return [list(pair.tgt) for pair in all_splits().train]


# ---- what is stored is what comes out


@pytest.mark.slow
def test_the_stored_numbers_are_measured_again():
    measured = measurements.measure()
    losses = measured.pop("rate 2")["losses"]  # they diverge
    assert losses[:5] == pytest.approx(STORED["rate 2"]["losses"][:5], rel=1e-2)
    assert_measured_again(measured, STORED, parts={"unseen pairs": {"abs": 0.02}}, rel=1e-3)


# ---- counting


def test_the_corpus():
    corpus = measurements.measure_corpus(text())
    assert corpus == STORED["corpus"] and len(text()) == 20_000 and len(all_splits().test) == 1_000
    assert LESSON.asked("five-grams").answer == corpus["token types"] ** 5


def test_hardly_any_long_beginning_occurs_twice():
    beginnings = Counter(tuple(words[:8]) for words in text() if len(words) > 8)
    assert sum(count for count in beginnings.values() if count > 1) < 0.1 * beginnings.total()
    quoted = next(words[:8] for words in text() if words[:3] == ["les", "rois", "fatigués"])
    assert beginnings[tuple(quoted)] == 1


def test_a_longer_past_makes_counting_worse_after_three_words():
    perplexity = STORED["n-gram"]["perplexity"]
    assert min(perplexity, key=perplexity.get) == "3" and perplexity["3"] < perplexity["4"] < perplexity["5"]
    assert perplexity["3"] == pytest.approx(means("toy_language_models", *PERPLEXITY)["ngram_lm"], abs=0.05)
    assert 0.2 < STORED["n-gram"]["own text"] / perplexity["5"] < 0.3, "about a quarter on its own text"


def test_every_second_5gram_of_new_text_was_never_seen_and_every_tenth_3gram():
    never = STORED["n-gram"]["never seen"]
    right = LESSON.asked("never-seen").options[LESSON.asked("never-seen").right[0]].text
    assert 100 * never["5"] == pytest.approx(*numbers_in(right), abs=5)
    assert never["3"] == pytest.approx(0.1, abs=0.01)


# ---- learning


def test_the_slope_of_a_logit_is_its_probability_minus_one_for_the_right_word():
    logits = (MATRIX @ TABLE[LE]).requires_grad_()
    probabilities = torch.softmax(logits, dim=0)
    assert probabilities.tolist() == pytest.approx([1 / 7, 1 / 7, 1 / 7, 3 / 7, 1 / 7], abs=1e-3)
    (slopes,) = torch.autograd.grad(-probabilities[CHAT].log(), logits)
    torch.testing.assert_close(slopes, (probabilities - F.one_hot(torch.tensor(CHAT), 5)).detach())
    assert -measure_nudge()["slope size"] == pytest.approx(slopes[CHAT].item(), abs=0.01)
    after_la = torch.softmax(MATRIX @ TABLE[LA], dim=0)
    assert after_la[VACHE] == pytest.approx(LESSON.asked("loss-after-la").answer, abs=1e-3)


def test_one_step_brings_the_two_rows_together_and_lowers_the_loss():
    table, matrix, before = step(TABLE, MATRIX, LE, CHAT, 1.0)
    assert table[LE] @ matrix[CHAT] > TABLE[LE] @ MATRIX[CHAT]
    assert step(table, matrix, LE, CHAT, 1.0)[2] < before
    assert LESSON.asked("what-moves").right == [0]
    assert [not torch.equal(*rows) for rows in zip(table, TABLE, strict=True)] == [True, *[False] * 4]
    assert all(not torch.equal(*rows) for rows in zip(matrix, MATRIX, strict=True))


def test_learning_rates_creep_walk_run_and_diverge():
    creeps, walks, runs_down = (train_tiny(rate)[0][-1] for rate in (0.03, 0.3, 1.0))
    assert creeps > 1.5 > 0.6 > walks > 0.4 > 0.05 > runs_down
    assert min(train_tiny(2.0)[0][-3:]) > 1e5, "the figure is cut off there"
    assert LESSON.asked("rate-two").right == [2]


def test_rows_of_words_that_behave_alike_come_to_agree():
    _, table = train_tiny(1.0, epochs=30)
    assert F.cosine_similarity(TABLE[CHAT], TABLE[VACHE], dim=0) == pytest.approx(-1.0)
    assert F.cosine_similarity(table[CHAT], table[VACHE], dim=0) > 0.97
    assert torch.equal(table[DORT], TABLE[DORT]), "a row that is never read never moves"


def test_before_training_the_mlp_is_worse_than_equal_probabilities():
    untrained = STORED["untrained MLP"]
    assert untrained["loss"] > math.log(STORED["corpus"]["token types"])
    assert round(untrained["parameters"], -3) == 64_000


# ---- comparing models

PERPLEXITY = ("scores", "test", "perplexity")


def numbers_in(text: str) -> list[float]:
    return [float(number) for number in re.findall(r"\d+(?:\.\d+)?", text)]


def test_the_mlp_beats_counting_and_the_rnn_beats_the_mlp():
    perplexity = means("toy_language_models", *PERPLEXITY)
    three = [perplexity[name] for name in ("ngram_lm", "mlp_lm", "rnn_lm")]
    assert three == sorted(three, reverse=True)
    asked = LESSON.asked("three-models")
    assert numbers_in(asked.options[asked.right[0]].text) == [round(value) for value in three]


def test_the_three_models_were_trained_alike():
    by_name = {
        name: [run for run in runs("toy_language_models") if run["variant"] == name]
        for name in ("ngram_lm", "mlp_lm", "rnn_lm")
    }
    assert {name: len(group) for name, group in by_name.items()} == dict.fromkeys(by_name, 3)
    networks = by_name["mlp_lm"] + by_name["rnn_lm"]
    assert {round(run["parameters"], -4) for run in networks} == {120_000}
    examples = {run["recipe"]["n_steps"] * run["recipe"]["tokens_per_batch"] for run in networks}
    assert examples == {10 * 400 * 1024}, "ten times those of the lesson's own MLP"
    assert {run["config"]["order"] for run in by_name["ngram_lm"]} == {3}
    assert {run["config"]["window"] for run in by_name["mlp_lm"]} == {4}


# ---- generated text


def test_errors_pile_up_and_length_alone_explains_it():
    unseen = STORED["unseen pairs"]
    assert unseen["RNN"]["pairs"] > 3 * unseen["new text"]["pairs"]
    without = {name: list(unseen[name]["sentences without"].values()) for name in ("new text", "RNN")}
    assert without["RNN"] == sorted(without["RNN"], reverse=True)
    assert all(rnn < new for rnn, new in zip(without["RNN"], without["new text"], strict=True))
    assert without["RNN"][-1] > unseen["expected from length alone"] - 0.05
    answer = LESSON.asked("piling-up").answer
    assert answer == pytest.approx(0.97**20, abs=0.005) == pytest.approx(without["RNN"][-1], abs=0.03)


# ---- answers of the quiz


def test_the_probabilities_of_sentences_by_2_grams():
    text = [["<s>", *line.split(), "</s>"] for line in ("le chat dort", "le chat mange", "le chien dort")]
    pairs = Counter(pair for words in text for pair in pairwise(words))
    firsts = Counter(word for words in text for word in words[:-1])

    def probability(sentence: str) -> float:
        return math.prod(
            pairs[pair] / firsts[pair[0]] for pair in pairwise(["<s>", *sentence.split(), "</s>"])
        )

    assert LESSON.asked("chance-of-sentence").answer == pytest.approx(probability("le chat mange"), abs=1e-3)
    assert LESSON.asked("chance-of-new-sentence").answer == probability("le chien mange")


def test_the_numbers_of_the_quiz():
    assert LESSON.asked("slope-from-nudge").answer == pytest.approx((1.490 - 1.500) / (0.32 - 0.30))
    assert LESSON.asked("nudge-later").answer == pytest.approx(0.5 - 0.1 * -2)
    assert LESSON.asked("error-of-right").answer == pytest.approx((0.7 - 1) * 2)
    perplexity = find_exercise("perplexity").reference(torch.tensor([1 / 2, 1 / 4, 1 / 8]))
    assert LESSON.asked("perplexity-by-hand").answer == pytest.approx(float(perplexity))
    equal = torch.full((4,), 7.0).softmax(dim=0)
    assert numbers_of_right(LESSON.asked("softmax-of-equals")) == [equal[0].item()]


def test_the_losses_of_the_quiz():
    steady, wavering = math.log(2), -(math.log(0.99) + math.log(0.01)) / 2
    expected = indices_of_true(steady < wavering, wavering < steady, steady == wavering)
    assert LESSON.asked("which-loss").right == expected
    before, after = math.exp(2.3), math.exp(1.6)
    expected = indices_of_true(
        abs(before - after - 0.7) < 0.1, abs(after / before - 0.5) < 0.01, after > before
    )
    assert LESSON.asked("loss-vs-perplexity").right == expected


def test_gradients_add_up_until_they_are_reset():
    weight, gradients = torch.tensor([1.0, 2.0], requires_grad=True), []
    for _ in range(2):
        (weight**3).sum().backward()
        gradients.append(weight.grad.clone())
    only_the_new = torch.equal(*gradients)
    expected = indices_of_true(
        only_the_new, torch.equal(gradients[1], 2 * gradients[0]), weight.grad.isnan().any()
    )
    assert LESSON.asked("no-zero-grad").right == expected


def test_a_second_softmax_keeps_the_loss_large():
    sure, target = torch.tensor([[30.0, 0.0, 0.0, 0.0, 0.0]]), torch.tensor([0])
    shares = sure.softmax(dim=-1)
    once, twice = F.cross_entropy(sure, target), F.cross_entropy(shares, target)
    over_the_batch = not torch.allclose(shares.sum(dim=-1), torch.ones(1))
    expected = indices_of_true(torch.isclose(once, twice), twice > once + 0.5, over_the_batch)
    assert LESSON.asked("softmax-twice").right == expected
