"""Numbers that lesson 09 quotes and no experiment records."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import torch

from course_lib.results import mean_over_seeds
from course_lib.shapes import Float, Tensor
from course_lib.text.pair import Pair
from course_lib.text.special import BOS, EOS
from course_lib.text.toy.splits import TEST_SIZES, Splits, splits
from course_lib.translation.metrics import pronouns_right
from course_lib.translation.pipeline import translate
from course_lib.translation.shipped import shared
from lessons.l09_self_attention.interventions import (
    decode_states,
    equal_weights,
    source_states,
    translate_alone,
)
from lessons.l09_self_attention.pronoun import HEADS, listen

THIRSTY = "the cat drank the water because it was thirsty"
COLD = "the cat drank the water because it was cold"
FRENCH = "le chat a bu l' eau parce qu' il avait soif"
CAT, DRANK, WATER, IT, LAST = 1, 2, 4, 6, 8  # positions in THIRSTY and COLD
N_SENTENCES = 200


def measure() -> dict[str, float]:
    return {**recurrent_readers(), **one_pair_of_sentences(), **many_sentences()}


def recurrent_readers() -> dict[str, float]:
    most = [int(row.argmax()) for row in tape_weights()[1:]]
    accuracy = mean_over_seeds("toy_sentence_encoder", lambda run: run["scores"]["test"]["right"]["all"])
    return {
        "tape words that attend most to the neighbour": sum(at == i for i, at in enumerate(most)),
        "pronouns classified correctly in 1,000": 1000 * accuracy["self_attentive"],
        "smallest weight of view 3 on the first word": min(
            view_weights(text)[2, 0].item() for text in (THIRSTY, COLD)
        ),
    }


@torch.no_grad()
def tape_weights() -> Float[Tensor, "words words"]:
    """The weights of the LSTMN language model over its tape, while it reads FRENCH; `<s>` comes first."""
    system = shared("lstmn_lm")
    ids = torch.tensor([[BOS, *system.tokenizer.encode(FRENCH)]])
    return system.model.say(ids, with_weights=True)[1][0, 0, 0]


@torch.no_grad()
def view_weights(text: str) -> Float[Tensor, "views words"]:
    """The weights of the four views of the self-attentive sentence encoder."""
    system = shared("self_attentive")
    ids = torch.tensor([[*system.tokenizer.encode(text), EOS]])
    return system.model.encode(ids, torch.tensor([ids.shape[1]]))[1][0]


def one_pair_of_sentences() -> dict[str, float]:
    """Weights and probabilities for THIRSTY and COLD."""
    transformer = shared("transformer")
    thirsty, cold = (listen(transformer, text) for text in (THIRSTY, COLD))
    from_it = [result.encoder_weights[:, :, IT] for result in (thirsty, cold)]
    same = from_it[0].argmax(dim=-1) == from_it[1].argmax(dim=-1)
    states, other_states = (source_states(transformer, text)[0] for text in (THIRSTY, COLD))
    return {
        "heads in which it attends most to the same position": int(same.sum()),
        "encoder 1.1 from it to water, thirsty": from_it[0][1, 1, WATER].item(),
        "encoder 1.1 from it to water, cold": from_it[1][1, 1, WATER].item(),
        "encoder 0.3 from cold to water": cold.encoder_weights[0, 3, LAST, WATER].item(),
        "encoder 0.3 from cold to drank": cold.encoder_weights[0, 3, LAST, DRANK].item(),
        "cross 1.3 to thirsty": thirsty.pronoun_weights[1, 3, LAST].item(),
        "decoder to cat": thirsty.pronoun_weights.mean(dim=(0, 1))[CAT].item(),
        "il": thirsty.il,
        "il, it closed": listen(transformer, THIRSTY, closed=[IT]).il,
        "il, cat closed to the decoder": listen(transformer, THIRSTY, closed=[CAT], to="decoder").il,
        "elle, values of cold": decode_states(transformer, THIRSTY, states, values=other_states).elle,
    }


def many_sentences() -> dict[str, int]:
    """Of 200 test sentences and of 200 sentences with pronouns, how many are right under interventions."""
    transformer = shared("transformer")
    test, coreference = all_tests().test[:N_SENTENCES], all_tests().coreference[:N_SENTENCES]
    numbers = {
        "right": n_exact(translations(test), test),
        "right, words alone": n_exact(translate_alone(transformer, sources(test)), test),
        "pronouns right, words alone": n_right_pronouns(
            translate_alone(transformer, sources(coreference)), coreference
        ),
    }
    with equal_weights(transformer, "encoder", ["1.1"]):
        numbers["right, encoder 1.1 uniform"] = n_exact(translations(test), test)
        numbers["coreference right, encoder 1.1 uniform"] = n_exact(translations(coreference), coreference)
    with equal_weights(transformer, "encoder", HEADS):
        numbers["right, all even"] = n_exact(translations(test), test)
    with equal_weights(transformer, "cross", ["1.3"]):
        numbers["pronouns right, cross 1.3 uniform"] = n_right_pronouns(
            translations(coreference), coreference
        )
    return numbers


@cache
def all_tests() -> Splits:
    return splits(seed=0, sizes=TEST_SIZES)


def sources(pairs: Sequence[Pair]) -> list[str]:
    return [pair.src_text for pair in pairs]


def translations(pairs: Sequence[Pair]) -> list[str]:
    system = shared("transformer")
    return [result.target for result in translate(sources(pairs), system.model, system.tokenizer)]


def n_exact(texts: Sequence[str], pairs: Sequence[Pair]) -> int:
    return sum(text == pair.tgt_text for text, pair in zip(texts, pairs, strict=True))


def n_right_pronouns(texts: Sequence[str], pairs: Sequence[Pair]) -> int:
    return sum(all(pronouns_right(pair, text)) for text, pair in zip(texts, pairs, strict=True))
