"""Figures and claims of lesson 09 are those of data/results and of the shipped systems."""

from __future__ import annotations

import pytest
import torch

from course_lib.text.special import BOS, EOS
from course_lib.translation.metrics import pronouns_right
from course_lib.translation.shipped import shared
from lessons.l09_self_attention.interventions import equal_weights, source_states, speak, translate_alone
from lessons.l09_self_attention.pronoun import ATTENTIONS, before_pronoun
from lessons.l09_self_attention.pronoun import listen as listen_to
from tests.lessons.told import Told, exams, n_right, said

L = Told("self_attention")
THIRSTY = "the cat drank the water because it was thirsty"
COLD = "the cat drank the water because it was cold"
IT = 6


def transformer():
    return shared("transformer")


def listen(text: str, **closed):
    return listen_to(transformer(), text, **closed)


def wins(heard) -> str:
    return "il" if heard.il > heard.elle else "elle"


def test_the_tape_looks_at_the_neighbour_and_leaps():
    tape, french = (
        shared("lstmn_lm"),
        ["le", "chat", "a", "bu", "l'", "eau", "parce", "qu'", "il", "avait", "soif"],
    )
    ids = torch.tensor([[BOS, *tape.tokenizer.encode(" ".join(french))]])
    with torch.no_grad():
        _, weights = tape.model.say(ids, with_weights=True)
    tops = [int(row.argmax()) for row in weights[0, 0, 0][1:]]
    assert sum(top == place for place, top in enumerate(tops)) == 7 and len(tops) == 11
    looked = {word: ["<s>", *french][top] for word, top in zip(french, tops, strict=True)}
    assert [looked[word] for word in ("bu", "l'", "avait", "il")] == ["chat", "a", "parce", "eau"]
    assert {place - top for place, top in enumerate(tops) if place != top} == {1, 2}
    L.says("7 of the 11 words", "four leaps", "leaps to the wrong noun: *eau*", "leap over one word or two")


def test_only_the_fourth_view_moves_and_none_looks_at_the_last_word():
    encoder, looks = shared("self_attentive"), []
    for text in (THIRSTY, COLD):
        ids = torch.tensor([[*encoder.tokenizer.encode(text), EOS]])
        with torch.no_grad():
            views = encoder.model.encode(ids, torch.tensor([ids.shape[1]]))[1][0]
        assert views[:, 8].max() < 0.01
        looks.append([text.split()[place] for place in views.argmax(dim=-1)])
    assert looks[0][:3] == looks[1][:3] and [looks[0][3], looks[1][3]] == ["cat", "it"]
    L.says("Only view 4 moves, from *cat* to *it*")


def test_it_looks_at_the_same_place_in_eleven_of_twelve():
    own = [listen(text).own[:, :, IT].flatten(0, 1) for text in (THIRSTY, COLD)]
    tops = [weights.argmax(dim=-1) for weights in own]
    assert (tops[0] == tops[1]).sum() == 11
    [other] = (tops[0] != tops[1]).nonzero()[:, 0].tolist()
    assert max(weights[other].max() for weights in own) < 0.25
    L.says("In eleven of the twelve", f"Only in {ATTENTIONS[other]} the first place differs")
    at_b = [f"{weights[ATTENTIONS.index('2b')][4]:.2f}" for weights in own]
    assert at_b == ["0.72", "0.75"]
    L.says("no word gets even a quarter", "0.72, where it was 0.75", "a weight of 0.75")


def test_at_the_pronoun_all_twelve_looks_of_the_decoder_go_to_the_same_place():
    looks = [listen(text).at_pronoun for text in (THIRSTY, COLD)]
    assert torch.equal(*(look.argmax(dim=-1) for look in looks))
    at_last = [look[1, 3, 8].item() for look in looks]
    assert min(at_last) > 0.99 and f"{at_last[0]:.2f}" == "1.00"
    L.says("one of its heads with a weight above 0.99", "2d, which looks at *thirsty* with a weight of 1.00")


@torch.no_grad()
def il_with_cat_closed_at_the_pronoun() -> float:
    model, words = transformer().model, [BOS, *before_pronoun(transformer(), THIRSTY)]
    may_look = torch.ones(1, 1, len(words), 10, dtype=torch.bool)
    may_look[..., -1, 1] = False
    memory = {**model.decoder.read_source(source_states(transformer(), THIRSTY)[0]), "may_look": may_look}
    logits, _ = model.decode(memory, torch.tensor([words]), with_weights=True)
    return logits[0, -1].softmax(dim=-1)[transformer().tokenizer.encode("il")[0]].item()


def test_closings_flip_what_is_told():
    mouse = "the mouse drank the milk because it was"
    women = "the women eat the mushrooms because they are"
    dog = "the dog ate the soup because it was hungry"
    assert wins(listen(dog)) != wins(listen(dog, closed=[8]))
    assert listen(f"{mouse} thirsty", closed=[1]).elle < 0.5 and listen(f"{mouse} cold", closed=[4]).il < 0.6
    cat, usual = listen(THIRSTY, closed=[1], to="decoder"), listen(THIRSTY)
    shares, closed_it = usual.at_pronoun.mean(dim=(0, 1)), listen(THIRSTY, closed=[IT])
    assert shares.argmax() == IT and il_with_cat_closed_at_the_pronoun() > 0.94
    L.says(f"*cat* has a weight of {shares[1]:.2f}")
    L.says(f"closed to the decoder alone it takes *il* from {usual.il:.2f} to {cat.il:.2f}")
    L.says("Closed at that step only", f"*il* has {closed_it.il:.2f}, where it had {usual.il:.2f}")
    assert listen(f"{women} hungry", closed=[IT]).french.endswith("elle ont faim")
    assert listen(f"{women} good", closed=[IT]).french.endswith("il sont bons")
    L.says("*elle ont faim*")


def test_the_last_state_carries_the_pronoun_and_by_its_values():
    states, other = (source_states(transformer(), text)[0] for text in (THIRSTY, COLD))
    for place in range(10):
        mixed = states.clone()
        mixed[0, place] = other[0, place]
        assert wins(speak(transformer(), THIRSTY, mixed)) == ("elle" if place == 8 else "il")
    by_keys = speak(transformer(), THIRSTY, other, values=states)
    by_values = speak(transformer(), THIRSTY, states, values=other)
    L.says(f"*elle* has {by_values.elle:.2f}; the other way round nothing changes")
    assert by_keys.il > 0.94 and by_keys.french == listen(THIRSTY).french


def test_words_that_are_alone_lose_one_another():
    table = "the goat behind the door does not eat the good bread on the black table"
    forests = "two big black foxes slept in the forests because they were very sleepy"
    [bread], [twice] = (translate_alone(transformer(), [text]) for text in (table, forests))
    assert "mange pas le bon pain" in transformer()(table).target and "mange pas le pain" in bread
    assert "les forêts de les forêts" in twice
    L.says("*les forêts de les forêts*")


def right_pronouns(texts: list[str], pairs: list) -> int:
    return sum(all(pronouns_right(pair, one)) for one, pair in zip(texts, pairs, strict=True))


@pytest.mark.slow
def test_figures_over_200_sentences():
    test, coreference = exams().test[:200], exams().coreference[:200]

    def right(pairs) -> int:
        return n_right(said(transformer(), pairs), pairs)

    assert right(test) == 195
    assert n_right(translate_alone(transformer(), [pair.src_text for pair in test]), test) == 88
    L.says("195 of 200 test sentences", "88 of 200, where it was 195", "88 are left")
    alone = translate_alone(transformer(), [pair.src_text for pair in coreference])
    assert 175 <= right_pronouns(alone, coreference) <= 185
    with equal_weights(transformer(), "source", ["2b"]):
        assert right(test) == 195 and right(coreference) == 200
    with equal_weights(transformer(), "decoder", ["2d"]):
        assert right_pronouns(said(transformer(), coreference), coreference) == 110
    with equal_weights(transformer(), "source", ATTENTIONS):
        assert right(test) == 195 - 28
    L.says("nine in ten", "110 stay right", "costs 28 of 200")


def test_one_head_of_either_side_matters_for_the_pair_and_2b_does_not():
    usual, found = [transformer()(text).target for text in (THIRSTY, COLD)], {}
    for side in ("source", "decoder"):
        for attention in ATTENTIONS:
            with equal_weights(transformer(), side, [attention]):
                now = [transformer()(text).target for text in (THIRSTY, COLD)]
            if now != usual:
                found[side, attention] = now
    assert list(found) == [("source", "1d"), ("decoder", "2d")]
    assert found["source", "1d"][1].endswith("elle avait froid")
    from_it, from_cold = listen(COLD).own[0, 3, [IT, 8]]
    assert from_it.max() < 0.25 and sorted(from_cold.topk(2).indices.tolist()) == [2, 4]
    L.says("from *it* 1d looks nowhere in particular")
    L.says(f"at *water* with {from_cold[4]:.2f} and at *drank* with {from_cold[2]:.2f}")


def test_with_all_even_elle_stays_and_the_rest_changes():
    with equal_weights(transformer(), "source", ATTENTIONS):
        now = [transformer()(text).target for text in (THIRSTY, COLD, "these dirty classrooms are not cold")]
    assert now[0].endswith("il avait soif") and now[1].endswith("elle avait froid")
    assert now[2].endswith("n' ont pas froid")
    with equal_weights(transformer(), "decoder", ["2d"]):
        assert transformer()(COLD).target.endswith("elle était froide")
    L.says("*elle avait froid*", "Our *cold* comes through")
