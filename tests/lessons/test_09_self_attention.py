"""Figures and claims of lesson 09 are those of data/results and of the shipped systems."""

from __future__ import annotations

import json
from functools import cache
from itertools import combinations

import pytest
import torch

from course_lib.recorded import recorded
from course_lib.teaching.lessons import lesson
from course_lib.text.special import BOS, EOS
from course_lib.text.toy.splits import SIZES_OF_TESTS, splits
from course_lib.translation.closing import (
    ATTENTIONS,
    before_pronoun,
    equal_weights,
    listen,
    listen_alone,
    source_states,
    speak,
    translate_alone,
)
from course_lib.translation.metrics import pronouns_right
from course_lib.translation.shipped import load_shipped
from course_lib.translation.translate import translate

FOLDER = lesson("self_attention").folder
SOURCE = (FOLDER / "lesson.py").read_text(encoding="utf-8")
QUIZ = json.loads((FOLDER / "quiz.json").read_text(encoding="utf-8"))
BECAUSE = {asked["id"]: asked["because"] for asked in [*QUIZ["predictions"], *QUIZ["estimates"]]}
THIRSTY = "the cat drank the water because it was thirsty"
COLD = "the cat drank the water because it was cold"
IT = 6


@cache
def transformer():
    return load_shipped("transformer")


def wins(heard) -> str:
    return "il" if heard.il > heard.elle else "elle"


def flips(text: str, to: str = "all") -> list[str]:
    usual = wins(listen(transformer(), text))
    words = text.split()
    return [
        word
        for place, word in enumerate(words)
        if wins(listen(transformer(), text, closed=[place], to=to)) != usual
    ]


def test_the_tape_looks_at_the_neighbour_and_leaps_as_told():
    shipped = load_shipped("lstmn_lm")
    french = ["le", "chat", "a", "bu", "l'", "eau", "parce", "qu'", "il", "avait", "soif"]
    ids = torch.tensor([[BOS, *shipped.tokenizer.encode(" ".join(french))]])
    with torch.no_grad():
        _, weights = shipped.model.eval().say(ids, with_weights=True)
    read = ["<s>", *french]
    tops = [int(row.argmax()) for row in weights[0, 0, 0][1:]]
    neighbours = [top == place for place, top in enumerate(tops)]
    assert sum(neighbours) == 7 and len(neighbours) == 11 and "7 of the 11 words" in BECAUSE["tape-neighbour"]
    looked = {word: read[top] for word, top in zip(french, tops, strict=True)}
    assert [looked[word] for word in ("bu", "l'", "avait", "il")] == ["chat", "a", "parce", "eau"]
    assert "four leaps" in SOURCE and "leaps to the wrong noun: *eau*" in SOURCE
    leaps = {place - top for place, top in enumerate(tops) if place != top}
    assert leaps == {1, 2} and "leap over one word or two" in BECAUSE["tape-neighbour"]


def test_recorded_figures_are_as_told():
    perplexity = recorded("toy_language_models", lambda run: run["scores"]["test"]["perplexity"])
    assert (
        f"{perplexity['lstmn_lm']:.2f} with the tape, {perplexity['lstm_lm']:.2f} for a plain LSTM" in SOURCE
    )
    right = recorded("toy_sentence_encoder", lambda run: run["scores"]["test"]["right"]["all"])
    assert round(1000 * right["self_attentive"]) == 999 and "right 999 times in 1,000" in SOURCE


def test_only_the_fourth_view_moves_and_none_looks_at_the_last_word():
    shipped, looks = load_shipped("self_attentive"), []
    for text in (THIRSTY, COLD):
        ids = torch.tensor([[*shipped.tokenizer.encode(text), EOS]])
        with torch.no_grad():
            views = shipped.model.eval().encode(ids, torch.tensor([ids.shape[1]]))[1][0]
        assert views[:, 8].max() < 0.01
        looks.append([text.split()[place] for place in views.argmax(dim=-1)])
    assert looks[0][:3] == looks[1][:3] and [looks[0][3], looks[1][3]] == ["cat", "it"]
    assert "Only view 4 moves, from *cat* to *it*" in SOURCE


def test_it_looks_at_the_same_place_in_eleven_of_twelve():
    own = [listen(transformer(), text).own[:, :, IT].flatten(0, 1) for text in (THIRSTY, COLD)]
    tops = [weights.argmax(dim=-1) for weights in own]
    assert (tops[0] == tops[1]).sum() == 11 and "In eleven of the twelve" in SOURCE
    [other] = (tops[0] != tops[1]).nonzero()[:, 0].tolist()
    assert f"Only in {ATTENTIONS[other]} the first place differs" in BECAUSE["it-in-twelve"]
    assert max(weights[other].max() for weights in own) < 0.25 and "no word gets even a quarter" in SOURCE
    at_b = [weights[ATTENTIONS.index("2b")] for weights in own]
    assert [f"{weights[4]:.2f}" for weights in at_b] == ["0.72", "0.75"]
    assert "0.72, where it was 0.75" in BECAUSE["same-look"] and "a weight of 0.75" in SOURCE


def test_at_the_pronoun_all_twelve_looks_of_the_decoder_go_to_the_same_place():
    tops = [listen(transformer(), text).at_pronoun.argmax(dim=-1) for text in (THIRSTY, COLD)]
    assert torch.equal(*tops)
    at_last = [listen(transformer(), text).at_pronoun[1, 3, 8].item() for text in (THIRSTY, COLD)]
    assert min(at_last) > 0.99 and "one of its heads with a weight above 0.99" in SOURCE
    assert f"{at_last[0]:.2f}" == "1.00" and "2d, which looks at *thirsty* with a weight of 1.00" in SOURCE


@torch.no_grad()
def il_with_cat_closed_at_the_pronoun() -> float:
    model, said = transformer().model.eval(), [BOS, *before_pronoun(transformer(), THIRSTY)]
    may_look = torch.ones(1, 1, len(said), 10, dtype=torch.bool)
    may_look[..., -1, 1] = False
    memory = {**model.decoder.read_source(source_states(transformer(), THIRSTY)[0]), "may_look": may_look}
    logits, _ = model.decode(memory, torch.tensor([said]), with_weights=True)
    return logits[0, -1].softmax(dim=-1)[transformer().tokenizer.encode("il")[0]].item()


def test_closings_flip_what_is_told():
    expected = {
        THIRSTY: ["cat", "thirsty"],
        COLD: ["water"],
        "the mouse drank the milk because it was thirsty": ["thirsty"],
        "the mouse drank the milk because it was cold": [],
        "the women eat the mushrooms because they are hungry": ["women", "hungry"],
        "the women eat the mushrooms because they are good": ["mushrooms"],
    }
    assert {text: flips(text) for text in expected} == expected
    assert "hungry" in flips("the dog ate the soup because it was hungry")
    mouse, milk = list(expected)[2:4]
    after = listen(transformer(), mouse, closed=[1]), listen(transformer(), milk, closed=[4])
    assert after[0].elle < 0.5 and after[1].il < 0.6 and "comes close, and does not flip" in SOURCE
    cat, usual = listen(transformer(), THIRSTY, closed=[1], to="decoder"), listen(transformer(), THIRSTY)
    assert f"closed to the decoder alone it takes *il* from {usual.il:.2f} to {cat.il:.2f}" in SOURCE
    shares = usual.at_pronoun.mean(dim=(0, 1))
    assert f"*cat* has a weight of {shares[1]:.2f}" in SOURCE and shares.argmax() == IT
    assert il_with_cat_closed_at_the_pronoun() > 0.94 and "Closed at that step only" in SOURCE
    hungry, good = (listen(transformer(), text, closed=[IT]).french for text in list(expected)[4:])
    assert hungry.endswith("elle ont faim") and good.endswith("il sont bons") and "*elle ont faim*" in SOURCE
    closed_it = listen(transformer(), THIRSTY, closed=[IT])
    assert f"*il* has {closed_it.il:.2f}, where it had {usual.il:.2f}" in BECAUSE["close-it"]


def test_only_the_last_state_carries_the_pronoun():
    states, other = source_states(transformer(), THIRSTY)[0], source_states(transformer(), COLD)[0]
    for place in range(10):
        mixed = states.clone()
        mixed[0, place] = other[0, place]
        assert wins(speak(transformer(), THIRSTY, mixed)) == ("elle" if place == 8 else "il")


def test_the_values_carry_the_pronoun_and_the_keys_do_not():
    states, other = source_states(transformer(), THIRSTY)[0], source_states(transformer(), COLD)[0]
    by_keys = speak(transformer(), THIRSTY, other, values=states)
    by_values = speak(transformer(), THIRSTY, states, values=other)
    assert f"*elle* has {by_values.elle:.2f}; the other way round nothing changes" in SOURCE
    assert by_keys.il > 0.94 and by_keys.french == listen(transformer(), THIRSTY).french


def test_cold_alone_is_the_cats_and_needs_drank_or_water():
    assert listen_alone(transformer(), COLD).french.endswith("il avait froid")
    assert listen_alone(transformer(), THIRSTY).french.endswith("il avait soif")
    table = "the goat behind the door does not eat the good bread on the black table"
    forests = "two big black foxes slept in the forests because they were very sleepy"
    [bread], [twice] = (translate_alone(transformer(), [text]) for text in (table, forests))
    assert "mange pas le bon pain" in transformer()(table).target and "mange pas le pain" in bread
    assert "les forêts de les forêts" in twice and "*les forêts de les forêts*" in SOURCE
    assert flips(COLD, to="source") == []
    found = [
        pair
        for pair in combinations(range(9), 2)
        if wins(listen(transformer(), COLD, closed=pair, to="source")) == "il"
    ]
    assert found == [(2, 4)]


def right(said: list[str], pairs: list) -> int:
    return sum(one == pair.tgt_text for one, pair in zip(said, pairs, strict=True))


def right_pronouns(said: list[str], pairs: list) -> int:
    return sum(all(pronouns_right(pair, one)) for one, pair in zip(said, pairs, strict=True))


def say_all(pairs: list) -> list[str]:
    shipped = transformer()
    found = translate([pair.src_text for pair in pairs], shipped.model, shipped.tokenizer)
    return [one.target for one in found]


@pytest.mark.slow
def test_figures_over_200_sentences_are_as_told():
    kept = splits(seed=0, sizes=SIZES_OF_TESTS)
    test, coreference = kept.test[:200], kept.coreference[:200]
    assert right(say_all(test), test) == 195 and "195 of 200 test sentences" in SOURCE
    alone = right(translate_alone(transformer(), [pair.src_text for pair in test]), test)
    assert alone == 88 and "88 of 200, where it was 195" in BECAUSE["alone"] and "88 are left" in SOURCE
    said = translate_alone(transformer(), [pair.src_text for pair in coreference])
    assert 175 <= right_pronouns(said, coreference) <= 185 and "nine in ten" in BECAUSE["alone"]
    with equal_weights(transformer(), "source", ["2b"]):
        assert right(say_all(test), test) == 195 and right(say_all(coreference), coreference) == 200
    with equal_weights(transformer(), "decoder", ["2d"]):
        assert right_pronouns(say_all(coreference), coreference) == 110 and "110 stay right" in SOURCE
    with equal_weights(transformer(), "source", ATTENTIONS):
        assert right(say_all(test), test) == 195 - 28 and "costs 28 of 200" in SOURCE


def test_one_head_of_either_side_matters_for_the_pair_and_2b_does_not():
    usual = [transformer()(text).target for text in (THIRSTY, COLD)]
    found = {}
    for side in ("source", "decoder"):
        for attention in ATTENTIONS:
            with equal_weights(transformer(), side, [attention]):
                said = [transformer()(text).target for text in (THIRSTY, COLD)]
            if said != usual:
                found[side, attention] = said
    assert list(found) == [("source", "1d"), ("decoder", "2d")]
    assert found["source", "1d"][1].endswith("elle avait froid")


def test_1d_looks_from_cold_at_what_closing_found():
    from_it, from_cold = listen(transformer(), COLD).own[0, 3, [IT, 8]]
    assert from_it.max() < 0.25 and "from *it* 1d looks nowhere in particular" in SOURCE
    assert sorted(from_cold.topk(2).indices.tolist()) == [2, 4]
    assert f"at *water* with {from_cold[4]:.2f} and at *drank* with {from_cold[2]:.2f}" in SOURCE


def test_with_all_even_elle_stays_and_the_rest_changes():
    with equal_weights(transformer(), "source", ATTENTIONS):
        said = [transformer()(text).target for text in (THIRSTY, COLD, "these dirty classrooms are not cold")]
    assert [one.split()[-3:] for one in said[:2]] == [["il", "avait", "soif"], ["elle", "avait", "froid"]]
    assert said[2].endswith("n' ont pas froid") and "*elle avait froid*" in BECAUSE["all-even"]
    with equal_weights(transformer(), "decoder", ["2d"]):
        assert (
            transformer()(COLD).target.endswith("elle était froide") and "Our *cold* comes through" in SOURCE
        )
