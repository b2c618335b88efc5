"""The numbers that lesson 14 quotes: attention weights, parameters, and what a wrong mask or ε changes."""

from __future__ import annotations

from functools import cache
from itertools import product

import torch
from torch import nn

from course_lib.models.registry import n_parameters
from course_lib.text.batch import Batch, make_batch
from course_lib.text.special import PAD
from course_lib.text.toy.generate import running_pair
from course_lib.text.toy.splits import splits
from course_lib.translation.shipped import shared
from lessons.l09_self_attention.interventions import translate_isolated
from lessons.l14_the_transformer import by_parts, three_uses
from lessons.l14_the_transformer.by_parts import FAULTY, RIGHT, Wiring
from lessons.l14_the_transformer.parameter_ledger import BASE, ONE, THREE, compute, counts

SIZES = {"n_heads": 4, "n_layers": 3}
DRINKERS = ("cat", "dog", "cow", "girl", "boy", "horse", "goat", "hen", "mouse", "woman", "bird")
DRINKS = ("water", "juice", "milk", "soup", "tea")
ROWS_AND_COLUMNS = {  # of the maps of ThreeUses
    "encoder": (three_uses.SOURCE, three_uses.SOURCE),
    "decoder": (three_uses.TARGET, three_uses.TARGET),
    "cross": (three_uses.PREDICTED, three_uses.SOURCE),
}


@cache
def weights() -> dict[str, torch.Tensor]:
    return {name: tensor.detach() for name, tensor in shared("transformer").model.state_dict().items()}


def lesson_batch() -> Batch:
    """The three sentences whose stages the lesson compares."""
    encode = shared("transformer").tokenizer.encode
    texts = [(pair.src_text, pair.tgt_text) for pair in running_pair()] + [("the cat sleeps", "le chat dort")]
    sources, targets = zip(*texts, strict=True)
    return make_batch([*map(encode, sources)], [*map(encode, targets)])


@torch.no_grad()
def gaps(wiring: Wiring) -> dict[str, float]:
    """The largest difference from the right states, for each stage."""
    batch = lesson_batch()
    inputs = {**SIZES, "mask": (batch.src != PAD)[:, None, None]}
    right, wrong = (
        by_parts.stages(batch.src, batch.tgt_in, weights(), **inputs, wiring=each) for each in (RIGHT, wiring)
    )
    return {stage: (wrong[stage] - right[stage]).abs().max().item() for stage in right}


def mean_weight(use: str, row: str, column: str) -> float:
    """The weight from one word to another, as ThreeUses shows it: the mean of the last layer's heads."""
    rows, columns = ROWS_AND_COLUMNS[use]
    facts = three_uses.compute(width=three_uses.D_K, heads=three_uses.ALL, mask=three_uses.AS_TRAINED)
    return float(facts["weights"][use][rows.index(row), columns.index(column)])


def felt_cold() -> int:
    """For how many drinkers and drinks "was cold" becomes "felt cold" if source words see only themselves."""
    sentences = [f"the {who} drank the {what} because it was cold" for who, what in product(DRINKERS, DRINKS)]
    translations = translate_isolated(shared("transformer"), sentences)
    return sum(translation.endswith("avait froid") for translation in translations)


def parameters() -> dict[str, float]:
    """The paper's base model; in millions unless said otherwise."""
    by_part = counts(BASE)
    one, three = (compute(model=BASE, stage=0, tables=tables)["total"] for tables in (ONE, THREE))
    with torch.device("meta"):
        encoder_block = nn.TransformerEncoderLayer(512, 8, 2048)
        decoder_block = nn.TransformerDecoderLayer(512, 8, 2048)
        of_torch = n_parameters(nn.Transformer(batch_first=True))
    attention = sum(by_part[use] for use in ("encoder: attention", "decoder: attention", "cross-attention"))
    in_millions = {
        "feed-forward": by_part["feed-forward"],
        "attention": attention,
        "word table": by_part["embeddings"],
        "all": one,
        "all, three tables": three,
        "encoder block": n_parameters(encoder_block),
        "decoder block": n_parameters(decoder_block),
    }
    return {name: n / 1e6 for name, n in in_millions.items()} | {
        "all, exactly": one,
        "last norms of torch, exactly": of_torch - (one - by_part["embeddings"]),
    }


def measure() -> dict:
    english = {word for pair in splits(seed=0, sizes={"test": 3000}).test for word in pair.src}
    return {
        "weights": {
            "it to water": mean_weight("encoder", "it", "water"),
            "it to was": mean_weight("encoder", "it", "was"),
            "soif to parce": mean_weight("decoder", "soif", "parce"),
            "chat to cat": mean_weight("cross", "chat", "cat"),
            "il to it": mean_weight("cross", "il", "it"),
            "il to because": mean_weight("cross", "il", "because"),
        },
        "parameters": parameters(),
        "gap of F": gaps(FAULTY["F"])["encoder 0"],
        "felt cold": {"drinkers": len(DRINKERS), "drinks": len(DRINKS), "sentences": felt_cold()},
        "English words, to the nearest ten": round(len(english), -1),
    }
