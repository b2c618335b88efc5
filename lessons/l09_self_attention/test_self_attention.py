"""The claims of lesson 09, against data/results and the shipped systems."""

from __future__ import annotations

import itertools

import pytest
import torch

from course_lib.layers.attention import attend
from course_lib.layers.scores import dot
from course_lib.results import runs
from course_lib.text.toy.lexicon import lexicon
from course_lib.translation.shipped import shared
from lessons.l09_self_attention import key_picture
from lessons.l09_self_attention.interventions import (
    decode_states,
    source_states,
    take_apart,
    translate_isolated,
    uniform_attention,
)
from lessons.l09_self_attention.measurements import (
    CAT,
    COLD,
    DRANK,
    IT,
    LAST,
    N_SENTENCES,
    PAIRS,
    THIRSTY,
    WATER,
    measure,
)
from lessons.l09_self_attention.pronoun import HEADS, PronounTranslation, masked_translation
from tests.lesson_claims import LessonText, assert_measured_again, held_out_splits, indices_of_true, means

L = LessonText("self_attention")
STORED = L.stored()
MOUSE = "the mouse drank the milk because it was"
WOMEN = "the women eat the mushrooms because they are"


def transformer():
    return shared("transformer")


def translated(text: str, **masked) -> PronounTranslation:
    return masked_translation(transformer(), text, **masked)


def gender(result: PronounTranslation) -> str:
    return "il" if result.il > result.elle else "elle"


def flipping(text: str) -> set[int]:
    """The positions that flip the gender of the pronoun when masked, each on its own."""
    before = gender(translated(text))
    return {i for i in range(9) if gender(translated(text, masked=[i])) != before}


@pytest.mark.nightly
def test_a_new_measurement_agrees_with_the_stored_one():
    assert_measured_again(measure(), STORED, abs=2e-3)


# ---- sections 1 to 3


def test_bank_in_two_dimensions():
    the, river, bank, money = torch.tensor([[0.0, 0.0], [3.0, 0.0], [1.0, 1.0], [0.0, 3.0]])

    def outputs(*words):
        x = torch.stack(words)
        weights = torch.softmax(x @ x.T, dim=-1)
        return weights, weights @ x

    weights, vectors = outputs(the, river, bank)
    assert weights[2].tolist() == pytest.approx([0.04, 0.71, 0.26], abs=0.006)
    assert vectors[2].tolist() == pytest.approx([2.4, 0.3], abs=0.05)
    assert weights[1, 1] > 0.99  # river attends to itself
    torch.testing.assert_close(outputs(river, the, bank)[1][2], vectors[2])
    torch.testing.assert_close(outputs(the, money, bank)[1][2], vectors[2].flip(0))
    assert L.asked("the-in-three-words").answer == pytest.approx(vectors[0, 0].item(), abs=0.01)


def test_shuffled_words_give_the_same_outputs_shuffled():
    generator = torch.Generator().manual_seed(9)
    x, order = torch.randn(6, 3, generator=generator), torch.tensor([3, 0, 5, 1, 4, 2])
    outputs, shuffled = (attend(words, words, words)[0] for words in (x, x[order]))
    along = torch.allclose(shuffled, outputs[order], atol=1e-6)
    expected = indices_of_true(torch.allclose(shuffled, outputs), along, not along)
    assert L.asked("later-shuffle").right == expected


# ---- section 4


def test_it_attends_most_to_the_same_position_in_all_heads_but_0_1():
    thirsty, cold = (translated(text).encoder_weights[:, :, IT].flatten(0, 1) for text in (THIRSTY, COLD))
    differs = (thirsty.argmax(dim=-1) != cold.argmax(dim=-1)).nonzero()[:, 0].tolist()
    assert differs == [HEADS.index("0.1")]
    assert max(thirsty[differs].max(), cold[differs].max()) < 0.25
    head_1_1 = HEADS.index("1.1")
    assert thirsty[head_1_1].argmax() == cold[head_1_1].argmax() == WATER
    assert L.asked("same-look").right == [2]


# ---- section 5


def test_masking_the_most_attended_word_changes_next_to_nothing():
    weights = translated(THIRSTY).pronoun_weights.mean(dim=(0, 1))
    assert weights.argmax() == IT
    assert STORED["flips in 200, it masked"] < 0.02 * N_SENTENCES


def test_which_single_words_flip_the_pronoun():
    """The last word if it refers to the first noun, and the noun that is meant; never “it” or “they”."""
    assert flipping(THIRSTY) == {CAT, LAST} and flipping(COLD) == {WATER}
    assert flipping(f"{MOUSE} thirsty") == {LAST} and flipping(f"{MOUSE} cold") == set()
    assert flipping(f"{WOMEN} hungry") == {1, LAST} and flipping(f"{WOMEN} good") == {4}


def test_without_hungry_the_pronoun_is_that_of_the_second_noun():
    dog = "the dog ate the soup because it was hungry"
    assert translated(dog).french == "le chien a mangé la soupe parce qu' il avait faim"
    assert gender(translated(dog, masked=[LAST])) == "elle" and L.asked("without-hungry").right == [1]
    about_first = STORED["flips in 200, last word masked, about the first noun"]
    assert about_first == STORED["flips in 200, last word masked"]  # none of the others
    assert about_first == STORED["sentences of 200 about the first noun"]


def test_the_last_state_carries_the_pronoun():
    states, other = (source_states(transformer(), text) for text in (THIRSTY, COLD))
    assert L.asked("patch-which").right == [1]
    for position in range(10):
        mixed = states.clone()
        mixed[position] = other[position]
        result = decode_states(transformer(), THIRSTY, mixed)
        assert result.elle > 0.8 if position == LAST else result.elle < 0.1
    assert STORED["flips in 200, last word patched"] == N_SENTENCES
    assert STORED["flips in 200, it patched"] == 0


def test_an_isolated_cold_is_that_of_the_cat():
    thirsty, cold = translate_isolated(transformer(), [THIRSTY, COLD])
    assert thirsty == transformer()(THIRSTY).target and cold.endswith("il avait froid")


def test_isolation_harms_words_with_two_meanings():
    right = {
        name: STORED[f"{name} meaning{'s' * (name == 'two')}: pronouns right, isolated"]
        / STORED[f"{name} meaning{'s' * (name == 'two')}: sentences"]
        for name in ("one", "two")
    }
    assert right["one"] > 0.9 and right["two"] < 0.5
    assert STORED["pronouns right"] == STORED["one meaning: sentences"] + STORED["two meanings: sentences"]
    assert STORED["right, isolated"] < STORED["right"] / 2


def test_isolated_words_lose_adjectives_and_repeat_nouns():
    goat = "the goat behind the door does not eat the good bread on the black table"
    foxes = "two big black foxes slept in the forests because they were very sleepy"
    without_adjective, repeated = translate_isolated(transformer(), [goat, foxes])
    assert "mange pas le bon pain" in transformer()(goat).target
    assert "mange pas le pain" in without_adjective
    assert "les forêts de les forêts" in repeated


# ---- sections 6 and 7


def test_one_head_of_either_side_matters_for_the_pair_and_1_1_does_not():
    usual, changed = [transformer()(text).target for text in (THIRSTY, COLD)], {}
    for side, head in itertools.product(("encoder", "cross"), HEADS):
        with uniform_attention(transformer(), side, [head]):
            outputs = [transformer()(text).target for text in (THIRSTY, COLD)]
        if outputs != usual:
            changed[side, head] = outputs
    assert list(changed) == [("encoder", "0.3"), ("cross", "1.3")]
    assert changed["encoder", "0.3"][1].endswith("elle avait froid")
    assert STORED["right, encoder 1.1 uniform"] == STORED["right"]
    assert STORED["coreference right, encoder 1.1 uniform"] == N_SENTENCES


def test_0_3_attends_from_cold_to_water_and_from_it_to_nothing_in_particular():
    from_it, from_cold = translated(COLD).encoder_weights[0, 3, [IT, LAST]]
    assert from_it.max() < 0.25
    assert from_cold.topk(2).indices.tolist() == [WATER, DRANK]
    n = STORED["cold: sentences"]
    assert STORED["cold: right"] == n and STORED["cold: encoder 0.3 attends most to the noun"] > 0.9 * n
    assert n / 2 < STORED["cold: right, encoder 0.3 uniform"] < n  # most of them, but not all


def test_without_cross_1_3_pronouns_are_not_clearly_better_than_guessed():
    margin = 1.96 * (N_SENTENCES / 4) ** 0.5
    assert abs(STORED["pronouns right, cross 1.3 uniform"] - N_SENTENCES / 2) < margin


def test_before_a_patch_only_the_last_word_differs_and_the_pronoun_in_the_decoder():
    of_pairs = STORED["differences"]
    for name, (layer, row) in itertools.product(PAIRS, of_pairs["unrelated"]["encoder"].items()):
        distances = dict(of_pairs[name]["encoder"][layer])
        assert distances.pop("adjective") > 0.8 and max(distances.values()) < 0.15
        assert all(row[role] > 3 * distance for role, distance in distances.items()), "the control"
    after = {layer: row["pronoun"] for layer, row in of_pairs["100 pairs"]["decoder"].items()}
    assert after["layer 0"] < 0.11 < 0.65 < after["layer 1"] < after["layer 2"]


# ---- section 8


def test_every_lstmn_is_slightly_worse_than_every_lstm_with_as_many_parameters():
    perplexities = {
        name: [run["scores"]["test"]["perplexity"] for run in runs("toy_language_models")
               if run["variant"] == name]
        for name in ("lstmn_lm", "lstm_lm")
    }  # fmt: skip
    parameters = means("toy_language_models", "parameters")
    assert max(perplexities["lstm_lm"]) < min(perplexities["lstmn_lm"]) < 1.03 * min(perplexities["lstm_lm"])
    assert parameters["lstmn_lm"] == pytest.approx(parameters["lstm_lm"], rel=0.01)
    assert all(len(values) == 3 for values in perplexities.values())


def test_the_sentence_encoder_is_judged_by_the_sentences_that_need_a_pronoun():
    assert len(runs("toy_sentence_encoder")) == 3
    assert STORED["sentences that need a pronoun"] == 185


# ---- answers of the quiz


def test_the_numbers_of_the_quiz():
    x = torch.tensor([[2.0], [6.0]])
    outputs, _ = attend(0 * x, x, 3 * x)
    assert L.asked("layer-by-hand").answer == outputs[1].item()
    words = torch.randn(20, 3)
    assert L.asked("scores-of-twenty").answer == attend(words, words, words)[1].numel()


# ---- the key picture


def test_in_no_other_head_of_the_encoder_does_the_attend_more_to_its_noun():
    weights, shares, moved = key_picture.numbers()
    maps = {}
    for head in HEADS:
        x, w_q, w_k, w_v = take_apart(transformer(), key_picture.SENTENCE, head)
        maps[head] = attend(x @ w_q.T, x @ w_k.T, x @ w_v.T)[1]
    to_noun = {
        head: sum(own[asks, noun] for asks, noun in key_picture.ARTICLES.items())
        for head, own in maps.items()
    }
    assert max(to_noun, key=to_noun.get) == f"{key_picture.LAYER}.{key_picture.HEAD}" == "2.0"
    assert torch.allclose(maps["2.0"], weights, atol=1e-4)
    assert all(weights[asks].argmax() == noun for asks, noun in key_picture.ARTICLES.items())
    adjectives = {"very", "two", "three"} | {quality.en for quality in lexicon().qualities}
    most = []
    for pair in held_out_splits().test[:100]:
        x, w_q, w_k, w_v = take_apart(transformer(), pair.src_text, "2.0")
        own = attend(x @ w_q.T, x @ w_k.T, x @ w_v.T)[1]
        for i in (i for i, word in enumerate(pair.src) if word == "the"):
            noun = next(j for j, word in enumerate(pair.src) if j > i and word not in adjectives)
            most.append(int(own[i].argmax()) == noun)
    assert key_picture.of_test_sentences() == (sum(most), len(most))
    x = torch.tensor(list(key_picture.VECTORS.values()))
    context, own = attend(x, x, x, score=dot)
    assert torch.allclose(own[2], torch.tensor(shares).float()) and moved == pytest.approx(
        context[2].tolist()
    )
