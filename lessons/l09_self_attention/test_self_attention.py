"""The claims of lesson 09, against data/results and the shipped systems."""

from __future__ import annotations

import itertools

import pytest
import torch

from course_lib.layers.attention import attend
from course_lib.text.special import BOS
from course_lib.translation.shipped import shared
from lessons.l08_query_key_value.exercises import look_up
from lessons.l09_self_attention.exercises import read_twice
from lessons.l09_self_attention.interventions import (
    decode_states,
    equal_weights,
    listen_alone,
    source_states,
    translate_alone,
)
from lessons.l09_self_attention.measurements import (
    CAT,
    COLD,
    DRANK,
    FRENCH,
    IT,
    LAST,
    N_SENTENCES,
    THIRSTY,
    WATER,
    measure,
    tape_weights,
    view_weights,
)
from lessons.l09_self_attention.pronoun import HEADS, PronounTranslation, before_pronoun
from lessons.l09_self_attention.pronoun import listen as listen_to
from tests.lesson_claims import LessonText, assert_measured_again, indices_of_true, means, seeds

L = LessonText("self_attention")
STORED = L.stored()
MOUSE = "the mouse drank the milk because it was"
WOMEN = "the women eat the mushrooms because they are"


def transformer():
    return shared("transformer")


def listen(text: str, **closed) -> PronounTranslation:
    return listen_to(transformer(), text, **closed)


def gender(result: PronounTranslation) -> str:
    return "il" if result.il > result.elle else "elle"


def flipping(text: str, **to) -> set[int]:
    """The positions whose closing, each alone, flips the gender of the pronoun."""
    before = gender(listen(text))
    return {i for i in range(9) if gender(listen(text, closed=[i], **to)) != before}


@pytest.mark.slow
def test_a_new_measurement_agrees_with_the_stored_one():
    assert_measured_again(measure(), STORED, abs=2e-3)


@pytest.mark.slow
def test_what_isolated_words_and_equal_weights_cost():
    right = STORED["right"]
    assert STORED["right, words alone"] < right / 2 < STORED["right, all even"] < right
    assert STORED["right, encoder 1.1 uniform"] == right
    assert STORED["coreference right, encoder 1.1 uniform"] == N_SENTENCES
    assert STORED["pronouns right, words alone"] / N_SENTENCES == pytest.approx(0.9, abs=0.025)
    assert STORED["pronouns right, cross 1.3 uniform"] / N_SENTENCES == pytest.approx(0.5, abs=0.1)


# ---- sections 1 to 3


def test_the_tape_attends_to_the_neighbour_and_to_four_other_words():
    french, weights = FRENCH.split(), tape_weights()[1:]
    most = weights.argmax(dim=-1).tolist()  # 0 is <s>, so the neighbour of word i is at i
    neighbours = [i for i, position in enumerate(most) if position == i]
    assert len(french) == 11 and L.asked("tape-neighbour").right == [0]
    assert len(neighbours) > len(french) / 2
    assert sum(float(weights[i, i]) > 0.9 for i in neighbours) > len(neighbours) / 2
    leaps = {french[i]: ["<s>", *french][at] for i, at in enumerate(most) if at != i}
    assert leaps == {"bu": "chat", "l'": "a", "il": "eau", "avait": "parce"}
    assert {i - at for i, at in enumerate(most) if at != i} == {1, 2}  # over one word or two


def test_the_tape_does_not_pay_here():
    perplexity, parameters = (
        means("toy_language_models", *path) for path in (("scores", "test", "perplexity"), ("parameters",))
    )
    assert perplexity["lstmn_lm"] > perplexity["lstm_lm"]
    assert parameters["lstmn_lm"] == pytest.approx(parameters["lstm_lm"], rel=0.05)


def test_one_read_finds_mary_and_a_second_one_the_kitchen():
    milk, mary, john, kitchen, garden = torch.eye(5)
    keys, values = torch.stack([milk, mary, john]), 8 * torch.stack([mary, kitchen, garden])
    assert look_up(4 * milk, keys, values)[0].argmax() == mary.argmax()
    assert read_twice(4 * milk, keys, values)[0].argmax() == kitchen.argmax()


def test_only_the_fourth_view_moves_and_none_attends_to_the_last_word():
    thirsty, cold = (view_weights(text) for text in (THIRSTY, COLD))
    assert max(thirsty[:, LAST].max(), cold[:, LAST].max()) < 0.01
    assert torch.equal(thirsty[:3].argmax(dim=-1), cold[:3].argmax(dim=-1))
    assert (thirsty[3].argmax(), cold[3].argmax()) == (CAT, IT)
    assert thirsty[2].argmax() == 0 and L.asked("view-on-the").right == [1]
    assert min(seeds("toy_sentence_encoder", "self_attentive", "scores", "test", "right", "all")) > 0.99


# ---- section 4


def test_it_attends_most_to_the_same_position_in_all_heads_but_1b():
    thirsty, cold = (listen(text).encoder_weights[:, :, IT].flatten(0, 1) for text in (THIRSTY, COLD))
    differs = (thirsty.argmax(dim=-1) != cold.argmax(dim=-1)).nonzero()[:, 0].tolist()
    assert differs == [HEADS.index("0.1")] and L.asked("it-in-twelve").right == [2]
    assert max(thirsty[differs].max(), cold[differs].max()) < 0.25
    head_1_1 = HEADS.index("1.1")
    assert thirsty[head_1_1].argmax() == cold[head_1_1].argmax() == WATER
    assert L.asked("same-look").right == [2]


# ---- section 5


def test_which_single_words_flip_the_pronoun():
    """The last word if it speaks for the subject, and the noun that is meant; never “it” or “they”."""
    assert flipping(THIRSTY) == {CAT, LAST} and flipping(COLD) == {WATER}
    assert flipping(f"{MOUSE} thirsty") == {LAST} and flipping(f"{MOUSE} cold") == set()
    assert flipping(f"{WOMEN} hungry") == {1, LAST} and flipping(f"{WOMEN} good") == {4}
    assert listen(f"{MOUSE} thirsty", closed=[1]).elle < 0.5  # close, but not flipped
    assert listen(f"{MOUSE} cold", closed=[4]).il < 0.6


def test_without_hungry_the_pronoun_is_that_of_the_second_noun():
    dog = "the dog ate the soup because it was hungry"
    assert gender(listen(dog)) == "il" and gender(listen(dog, closed=[LAST])) == "elle"
    assert L.asked("without-hungry").right == [1]


def test_without_they_the_plural_of_the_pronoun_is_lost():
    assert listen(f"{WOMEN} hungry", closed=[IT]).french.endswith("elle ont faim")
    assert listen(f"{WOMEN} good", closed=[IT]).french.endswith("il sont bons")


def test_the_last_state_carries_the_pronoun_by_its_values():
    states, other = (source_states(transformer(), text)[0] for text in (THIRSTY, COLD))
    for position in range(10):
        mixed = states.clone()
        mixed[0, position] = other[0, position]
        result = decode_states(transformer(), THIRSTY, mixed)
        assert gender(result) == ("elle" if position == LAST else "il")
    by_keys = decode_states(transformer(), THIRSTY, other, values=states)
    by_values = decode_states(transformer(), THIRSTY, states, values=other)
    assert gender(by_values) == "elle"
    assert by_keys.il == pytest.approx(listen(THIRSTY).il, abs=0.01)
    assert by_keys.french == listen(THIRSTY).french


def test_the_decoder_attends_to_the_same_positions_in_both_sentences():
    thirsty, cold = (listen(text).pronoun_weights for text in (THIRSTY, COLD))
    assert torch.equal(thirsty.argmax(dim=-1), cold.argmax(dim=-1))
    assert min(thirsty[1, 3, LAST], cold[1, 3, LAST]) > 0.99


def test_a_cold_that_is_alone_is_that_of_the_cat():
    assert listen_alone(transformer(), THIRSTY).french.endswith("il avait soif")
    assert listen_alone(transformer(), COLD).french.endswith("il avait froid")


def test_inside_the_source_only_two_words_together_flip_cold():
    before = gender(listen(COLD))
    assert flipping(COLD, to="source") == set()
    pairs = [
        pair
        for pair in itertools.combinations(range(9), 2)
        if gender(listen(COLD, closed=pair, to="source")) != before
    ]
    assert pairs == [(DRANK, WATER)] and L.asked("two-wires").right == [1]


def test_isolated_words_lose_adjectives_and_repeat_nouns():
    goat = "the goat behind the door does not eat the good bread on the black table"
    foxes = "two big black foxes slept in the forests because they were very sleepy"
    without_adjective, repeated = translate_alone(transformer(), [goat, foxes])
    assert "mange pas le bon pain" in transformer()(goat).target
    assert "mange pas le pain" in without_adjective
    assert "les forêts de les forêts" in repeated


# ---- section 7


@torch.no_grad()
def il_with_cat_closed_at_the_pronoun() -> float:
    model, prefix = transformer().model, [BOS, *before_pronoun(transformer(), THIRSTY)]
    mask = torch.ones(1, 1, len(prefix), 10, dtype=torch.bool)
    mask[..., -1, CAT] = False
    memory = {**model.decoder.project_source(source_states(transformer(), THIRSTY)[0]), "mask": mask}
    logits, _ = model.decode(memory, torch.tensor([prefix]), with_weights=True)
    return logits[0, -1].softmax(dim=-1)[transformer().tokenizer.encode("il")[0]].item()


def test_the_largest_weight_is_idle_and_a_small_one_matters():
    usual = listen(THIRSTY)
    weights = usual.pronoun_weights.mean(dim=(0, 1))
    assert weights.argmax() == IT and weights[CAT] < 0.05
    assert listen(THIRSTY, closed=[IT]).il == pytest.approx(usual.il, abs=0.03)
    assert listen(THIRSTY, closed=[CAT], to="decoder").il < usual.il - 0.3
    assert il_with_cat_closed_at_the_pronoun() == pytest.approx(usual.il, abs=0.01)


def test_one_head_of_either_side_matters_for_the_pair_and_1_1_does_not():
    usual, changed = [transformer()(text).target for text in (THIRSTY, COLD)], {}
    for side, head in itertools.product(("encoder", "cross"), HEADS):
        with equal_weights(transformer(), side, [head]):
            outputs = [transformer()(text).target for text in (THIRSTY, COLD)]
        if outputs != usual:
            changed[side, head] = outputs
    assert list(changed) == [("encoder", "0.3"), ("cross", "1.3")]
    assert changed["encoder", "0.3"][1].endswith("elle avait froid")
    assert changed["cross", "1.3"][1] == usual[1]  # the second noun is the right one there


def test_0_3_attends_from_cold_to_the_pair_that_closing_found_and_from_it_nowhere():
    from_it, from_cold = listen(COLD).encoder_weights[0, 3, [IT, LAST]]
    assert from_it.max() < 0.25
    assert from_cold.topk(2).indices.tolist() == [WATER, DRANK]


def test_with_all_heads_even_elle_stays_and_the_rest_changes():
    sentences = (THIRSTY, COLD, "these dirty classrooms are not cold")
    with equal_weights(transformer(), "encoder", HEADS):
        thirsty, cold, classrooms = [transformer()(text).target for text in sentences]
    assert thirsty.endswith("il avait soif") and cold.endswith("elle avait froid")
    assert classrooms.endswith("n' ont pas froid")
    assert transformer()(COLD).target.endswith("elle était froide") and L.asked("all-even").right == [1]


# ---- answers of the quiz


def test_the_numbers_of_the_quiz():
    x = torch.tensor([[2.0], [6.0]])
    outputs, _ = attend(0 * x, x, 3 * x)
    assert L.asked("layer-by-hand").answer == outputs[1].item()
    words = torch.randn(20, 3)
    assert L.asked("scores-of-twenty").answer == attend(words, words, words)[1].numel()


def test_shuffled_words_give_the_same_outputs_shuffled():
    generator = torch.Generator().manual_seed(9)
    x, order = torch.randn(6, 3, generator=generator), torch.tensor([3, 0, 5, 1, 4, 2])
    outputs, shuffled = (attend(words, words, words)[0] for words in (x, x[order]))
    along = torch.allclose(shuffled, outputs[order], atol=1e-6)
    expected = indices_of_true(torch.allclose(shuffled, outputs), along, not along)
    assert L.asked("later-shuffle").right == expected
