"""The claims of lesson 01, against data/results and its own measurements."""

from __future__ import annotations

import json
import math
import random
import re
from collections import Counter
from functools import cache
from itertools import pairwise

import pytest
import torch
from torch.nn import functional as F

from course_lib.formatting import minus
from course_lib.results import runs
from course_lib.runtime import data_path
from course_lib.teaching.exercises import find_exercise
from course_lib.text.special import BOS, EOS
from course_lib.text.toy.sense import nouns_with, verb_frames
from course_lib.translation.shipped import shared
from lessons.l01_guessing_the_next_word import (
    key_picture,
    measurements,
    nearest_neighbours,
    noun_map,
    word_classes,
)
from lessons.l01_guessing_the_next_word.embeddings import embeddings_of, nouns_by_form
from lessons.l01_guessing_the_next_word.floor import Recorded, Repeated, draw, log_probability
from lessons.l01_guessing_the_next_word.kneser_ney import KneserNey, discounts_of
from lessons.l01_guessing_the_next_word.measurements import (
    CHAT,
    DORT,
    EMBEDDINGS,
    LA,
    LE,
    ORDERS,
    VACHE,
    WEIGHT,
    make_mlp,
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
    seeds,
)

LESSON = LessonText("guessing_the_next_word")
STORED = json.loads(data_path("results", "lesson_01.json").read_text(encoding="utf-8"))
step = find_exercise("gradient_step").reference


@cache
def text() -> list[list[str]]:
    return [list(pair.tgt) for pair in all_splits().train]


# ---- the key picture


@torch.no_grad()
def test_the_picture_shows_what_the_model_predicts_and_that_the_drinks_are_neighbours():
    system, (window, places, sample) = shared("mlp_lm"), key_picture.numbers()
    encode = system.tokenizer.encode
    logits = system.model(torch.tensor([[BOS, *encode(f"le {key_picture.CONTEXT}")]]))[0, -1]
    for word, probability in window.best:
        assert probability == pytest.approx(logits.softmax(dim=-1)[encode(word)[0]].item(), abs=1e-4)
    assert {word for word, _ in window.best} > set(noun_map.DRINKS)
    nearest = nearest_neighbours(embeddings_of(list(places)), list(places))
    for drink in noun_map.DRINKS:  # on the map, and in all 64 dimensions
        on_the_map = sorted(places, key=lambda other, at=places[drink]: math.dist(places[other], at))[1]
        assert {on_the_map, nearest[drink]} < set(noun_map.DRINKS)
    vectors = embeddings_of(list(places))
    spread = torch.linalg.svdvals(vectors - vectors.mean(dim=0)).square()
    assert f"{len(places)} singular nouns" in noun_map.draw(places)
    assert f"{spread[:2].sum() / spread.sum():.0%} of the variance" in noun_map.draw(places)
    first = system.model.words.target(torch.tensor(encode(key_picture.CONTEXT)))[:, 0]
    assert all(f": {minus(f'{value:.2f}')} " in key_picture.draw().svg for value in first.tolist())
    text = " ".join(word for word, _ in sample[:-1])
    ids = [BOS, *encode(text), EOS]
    loss = F.cross_entropy(system.model(torch.tensor([ids[:-1]]))[0], torch.tensor(ids[1:]), reduction="sum")
    assert -sum(math.log(p) for _, p in sample) == pytest.approx(loss.item(), rel=1e-3)


# ---- what is stored is what comes out


@pytest.mark.nightly
def test_the_stored_numbers_are_measured_again():
    measured = measurements.measure()
    parts = {"overfitting": {"rel": 0.05}, "floor": {"abs": 0.05}}
    assert_measured_again(measured, STORED, parts=parts, rel=2e-3)


# ---- counting


def test_the_corpus():
    corpus = measurements.measure_corpus(text())
    assert corpus == STORED["corpus"] and len(text()) == 20_000 and len(all_splits().test) == 1_000


def test_hardly_any_long_beginning_occurs_twice():
    beginnings = Counter(tuple(words[:8]) for words in text() if len(words) > 8)
    assert sum(count for count in beginnings.values() if count > 1) < 0.1 * beginnings.total()
    quoted = next(words[:8] for words in text() if words[:3] == ["les", "rois", "fatigués"])
    assert beginnings[tuple(quoted)] == 1


def test_with_good_smoothing_more_context_stops_helping_but_does_not_hurt():
    perplexity = list(STORED["n-gram"]["Kneser-Ney"]["validation"].values())
    assert len(perplexity) == len(ORDERS)
    gains = [worse - better for worse, better in pairwise(perplexity)]
    assert all(gain > 0 for gain in gains) and gains[0] > 5 > 1 > max(gains[1:]), (
        "it hardly helps after n = 3"
    )
    witten_bell = STORED["n-gram"]["Witten-Bell"]["validation"]
    assert (
        min(witten_bell, key=witten_bell.get) == "3"
        and witten_bell["3"] < witten_bell["4"] < witten_bell["6"]
    )
    assert all(
        better < worse for better, worse in zip(perplexity[1:], list(witten_bell.values())[1:], strict=True)
    )


def test_about_every_second_5gram_of_new_text_was_never_seen_and_every_tenth_3gram():
    never = STORED["n-gram"]["never seen"]
    right = LESSON.asked("never-seen").options[LESSON.asked("never-seen").right[0]].text
    assert 100 * never["5"] == pytest.approx(*numbers_in(right), abs=5)
    assert never["3"] == pytest.approx(0.1, abs=0.02)


# ---- Kneser-Ney smoothing

TINY_TEXT = [[5, 6, 7], [5, 6, 8], [9, 6, 7], [9, 5], []]


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_the_probabilities_after_any_context_sum_to_one(order):
    model = KneserNey(TINY_TEXT, order=order, vocab_size=12)
    unseen = [(11,), (6, 11), (11, 6), (6, 5, 11), (7, 7, 7)]
    for past in [*model.counts, *(past for past in unseen if len(past) < order)]:
        probabilities = [model.probability(past, word) for word in range(12)]
        assert min(probabilities) > 0 and sum(probabilities) == pytest.approx(1.0)


def test_a_shorter_context_counts_different_words_before_it():
    model = KneserNey(TINY_TEXT, order=2, vocab_size=12)
    assert model.counts[()][6] == 2, "6 follows 5 and 9, although it occurs three times"
    assert model.counts[()][7] == 1, "7 follows only 6, although it occurs twice"
    assert model.counts[(5,)] == Counter({6: 2, EOS: 1}), "the longest context is counted plainly"
    assert model.counts[(BOS,)][5] == 2, "nothing precedes a sentence, so its first word is counted plainly"


def test_the_discounts_are_those_of_chen_and_goodman():
    counts = {(1,): Counter(dict(enumerate([1] * 8 + [2] * 4 + [3] * 2 + [4])))}
    ratio = 8 / (8 + 2 * 4)
    expected = (0.0, 1 - 2 * ratio * 4 / 8, 2 - 3 * ratio * 2 / 4, 3 - 4 * ratio * 1 / 2)
    assert discounts_of(counts, 1) == pytest.approx(expected)


def test_an_unseen_context_is_skipped():
    model = KneserNey(TINY_TEXT, order=3, vocab_size=12)
    assert model.probability((6, 11), 7) == model.probability((6,), 7)


# ---- the floor


def test_the_probability_of_three_words_is_the_product_of_their_choices():
    rng = random.Random(1)
    sentence, _ = next(
        drawn for drawn in iter(lambda: draw(rng, 3, Recorded), None) if drawn[0].pair().src[0] == "the"
    )
    [clause] = sentence.main_clauses
    verb, noun = 1 / len(verb_frames(False)), 1 / len(nouns_with(clause.verb.frames[0][0]))
    tense, number = (0.55, 0.45)[not sentence.past], (0.65, 0.35)[clause.subject.plural]
    the = (5 / 8, 4 / 9)[clause.subject.plural]
    assert log_probability(sentence, rng) == pytest.approx(math.log(tense * verb * noun * number * the))


def test_a_sentence_repeated_in_its_own_order_is_the_same():
    rng = random.Random(0)
    for size in (5, 9, 12, 15, 18, 20):
        sentence, _ = draw(rng, size, Recorded)
        repeated = Repeated(sentence, range(len(sentence.steps)))
        assert repeated.pair() == sentence.pair() and repeated.log_p <= log_probability(sentence, rng) + 1


def test_no_model_reaches_the_floor_and_the_lstm_is_a_sixth_above_it():
    floor = STORED["floor"]
    assert all(0.9 < ratio < 1.05 for ratio in floor["computed to counted"].values())
    assert floor["tokens"] == 13_088, "those of the recorded perplexities"
    best = min(floor["models"].values(), key=lambda found: found["nats above"])
    assert best["nats above"] > 10 * best["standard error"]
    lstm = floor["models"]["lstm_lm"]["perplexity"]
    recorded, *_ = seeds("toy_language_models", "lstm_lm", "scores", "test", "perplexity")
    assert lstm == pytest.approx(recorded, rel=1e-3)
    assert 1.1 < lstm / floor["perplexity"] < 1.25


# ---- learning


def test_the_derivative_for_a_logit_is_its_probability_minus_one_for_the_target():
    logits = (WEIGHT @ EMBEDDINGS[LE]).requires_grad_()
    probabilities = torch.softmax(logits, dim=0)
    assert probabilities.tolist() == pytest.approx([1 / 7, 1 / 7, 1 / 7, 3 / 7, 1 / 7], abs=1e-3)
    (slopes,) = torch.autograd.grad(-probabilities[CHAT].log(), logits)
    torch.testing.assert_close(slopes, (probabilities - F.one_hot(torch.tensor(CHAT), 5)).detach())
    assert -measure_nudge()["slope size"] == pytest.approx(slopes[CHAT].item(), abs=0.01)
    after_la = torch.softmax(WEIGHT @ EMBEDDINGS[LA], dim=0)
    assert after_la[VACHE] == pytest.approx(LESSON.asked("loss-after-la").answer, abs=1e-3)


def test_one_step_lowers_the_loss_and_changes_one_embedding_and_all_output_weights():
    embeddings, weight, before = step(EMBEDDINGS, WEIGHT, LE, CHAT, 1.0)
    assert embeddings[LE] @ weight[CHAT] > EMBEDDINGS[LE] @ WEIGHT[CHAT]
    assert step(embeddings, weight, LE, CHAT, 1.0)[2] < before
    assert LESSON.asked("what-moves").right == [0]
    changed = [not torch.equal(*rows) for rows in zip(embeddings, EMBEDDINGS, strict=True)]
    assert changed == [True, *[False] * 4]
    assert all(not torch.equal(*rows) for rows in zip(weight, WEIGHT, strict=True))


def test_the_chain_rule_multiplies_two_derivatives():
    weight = WEIGHT.clone().requires_grad_()
    logits = weight @ EMBEDDINGS[CHAT]
    logits.retain_grad()
    F.cross_entropy(logits, torch.tensor(DORT)).backward()
    x = EMBEDDINGS[CHAT][0].item()
    assert x == 0.5 and weight.grad[DORT, 0].item() == pytest.approx(x * logits.grad[DORT].item())


def test_the_loss_falls_faster_with_larger_learning_rates_until_it_diverges():
    slow, faster, fastest = (train_tiny(rate)[0][-1] for rate in (0.03, 0.3, 1.0))
    assert slow > 1.5 > 0.6 > faster > 0.4 > 0.05 > fastest
    assert min(train_tiny(2.0)[0][-3:]) > 1e5, "the figure is cut off there"
    assert LESSON.asked("rate-two").right == [2]


def test_words_with_the_same_use_get_similar_embeddings():
    _, embeddings = train_tiny(1.0, epochs=30)
    assert F.cosine_similarity(EMBEDDINGS[CHAT], EMBEDDINGS[VACHE], dim=0) == pytest.approx(-1.0)
    assert F.cosine_similarity(embeddings[CHAT], embeddings[VACHE], dim=0) > 0.97
    assert torch.equal(embeddings[DORT], EMBEDDINGS[DORT]), "a word that is never an input never changes"


def test_with_little_text_the_network_overfits():
    early, late = STORED["overfitting"]["after 100"], STORED["overfitting"]["after 400"]
    assert late["training"] < early["training"] and late["validation"] > early["validation"]
    assert min(late["each validation"]) > max(early["each validation"]), "with all three seeds"
    assert late["validation"] > 5 * late["training"]
    parameters = sum(parameter.numel() for parameter in make_mlp(399).parameters())
    assert round(parameters, -3) == 64_000, "quoted in section 7"


# ---- embeddings


def same_rate(vectors: torch.Tensor, labels: dict[str, object]) -> float:
    """How many words have the same label as their nearest neighbour."""
    nearest = nearest_neighbours(vectors, list(labels))
    return sum(labels[word] == labels[other] for word, other in nearest.items()) / len(labels)


def test_the_nearest_neighbour_of_a_word_nearly_always_has_its_word_class():
    classes, generator = word_classes(), torch.Generator().manual_seed(0)
    vectors = embeddings_of(list(classes))
    assert same_rate(vectors, classes) > 0.97
    by_chance = [same_rate(torch.randn(vectors.shape, generator=generator), classes) for _ in range(5)]
    assert max(by_chance) < 0.4


def test_nouns_group_by_what_they_refer_to_by_number_and_by_gender():
    nouns = nouns_by_form()
    vectors = embeddings_of(list(nouns))
    assert same_rate(vectors, {word: noun.kind for word, (noun, _) in nouns.items()}) > 0.95
    assert same_rate(vectors, {word: number for word, (_, number) in nouns.items()}) > 0.9
    assert same_rate(vectors, {word: noun.gender for word, (noun, _) in nouns.items()}) > 0.85


# ---- comparing models

PERPLEXITY = ("scores", "test", "perplexity")


def numbers_in(text: str) -> list[float]:
    return [float(number) for number in re.findall(r"\d+(?:\.\d+)?", text)]


def test_the_mlp_beats_counting_and_the_rnn_beats_the_mlp():
    perplexity = means("toy_language_models", *PERPLEXITY)
    counting = STORED["n-gram"]["Kneser-Ney"]["test"]["5"]
    three = [counting, perplexity["mlp_lm"], perplexity["rnn_lm"]]
    assert three == sorted(three, reverse=True)
    asked = LESSON.asked("three-models")
    assert numbers_in(asked.options[asked.right[0]].text) == [round(value) for value in three]
    by_run = {
        name: [
            run["scores"]["test"]["perplexity"]
            for run in runs("toy_language_models")
            if run["variant"] == name
        ]
        for name in ("mlp_lm", "rnn_lm")
    }
    assert counting > max(by_run["mlp_lm"]) and min(by_run["mlp_lm"]) > max(by_run["rnn_lm"])


def test_other_test_sentences_would_not_change_the_order():
    resampled = STORED["test set"]
    assert resampled["n-gram to MLP"]["low"] > 1 and resampled["MLP to RNN"]["low"] > 1
    assert resampled["perplexity"]["n-gram"] == pytest.approx(STORED["n-gram"]["Kneser-Ney"]["test"]["5"])
    trained = means("toy_language_models", *PERPLEXITY)
    assert resampled["perplexity"]["MLP"] == pytest.approx(trained["mlp_lm"], rel=0.01)
    assert resampled["perplexity"]["RNN"] == pytest.approx(trained["rnn_lm"], rel=0.01)


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
    assert {run["config"]["order"] for run in by_name["ngram_lm"]} == {3}, "the one that generates text"
    assert {run["config"]["window"] for run in by_name["mlp_lm"]} == {4}


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
    assert LESSON.asked("chain-rule-product").answer == pytest.approx(2 * -0.3)
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
