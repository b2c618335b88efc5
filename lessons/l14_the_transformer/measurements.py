"""The numbers that lesson 14 quotes: parameters, an attention weight, and what another ε changes."""

from __future__ import annotations

from functools import cache

import torch
from torch import nn

from course_lib.models.registry import n_parameters
from course_lib.text.batch import Batch, make_batch
from course_lib.text.special import PAD
from course_lib.text.toy.generate import running_pair
from course_lib.text.toy.splits import splits
from course_lib.translation.shipped import shared
from lessons.l14_the_transformer import by_parts
from lessons.l14_the_transformer.by_parts import FAULTY, RIGHT, Wiring

SIZES = {"n_heads": 4, "n_layers": 3}
D_MODEL, D_FF, N_BLOCKS, VOCABULARY = 512, 2048, 6, 37_000  # the paper's base model


@cache
def weights() -> dict[str, torch.Tensor]:
    return {name: tensor.detach() for name, tensor in shared("transformer").model.state_dict().items()}


def lesson_batch() -> Batch:
    """The two sentences whose stages the lesson compares."""
    encode, pair = shared("transformer").tokenizer.encode, running_pair()[0]
    sources, targets = [pair.src_text, "the cat sleeps"], [pair.tgt_text, "le chat dort"]
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


@torch.no_grad()
def cross_weights() -> torch.Tensor:
    """The attention weights of cross 1.3 in the first sentence of the running example."""
    batch = lesson_batch()
    found = shared("transformer").model.attention_weights(batch.src, batch.src_lengths, batch.tgt_in)
    return found["cross"][0, 1, 3]


def parameters() -> dict[str, float]:
    """The paper's base model without biases in attention; in millions unless the name says otherwise."""
    attention = 4 * D_MODEL**2
    feed_forward = 2 * D_MODEL * D_FF + D_FF + D_MODEL
    norm, matrix = 2 * D_MODEL, VOCABULARY * D_MODEL
    encoder_block, decoder_block = (n * attention + feed_forward + (n + 1) * norm for n in (1, 2))
    total = N_BLOCKS * (encoder_block + decoder_block) + matrix
    with torch.device("meta"):
        of_torch = n_parameters(nn.Transformer(batch_first=True))
    in_millions = {
        "feed-forward": 2 * N_BLOCKS * feed_forward,
        "attention": 3 * N_BLOCKS * attention,
        "embedding matrix": matrix,
        "all": total,
        "all, three matrices": total + 2 * matrix,
        "encoder block": encoder_block,
        "decoder block": decoder_block,
    }
    return {name: n / 1e6 for name, n in in_millions.items()} | {
        "all, exactly": total,
        "attention biases of torch, exactly": of_torch - (total - matrix) - 2 * norm,  # and two last norms
    }


def measure() -> dict:
    pair = running_pair()[0]
    english = {word for pair in splits(seed=0, sizes={"test": 3000}).test for word in pair.src}
    row, column = pair.tgt.index("il"), pair.src.index("thirsty")
    return {
        "attention": {"il to thirsty": cross_weights()[row, column].item()},
        "parameters": parameters(),
        "gap of F": gaps(FAULTY["F"])["encoder 0"],
        "English words, to the nearest ten": round(len(english), -1),
    }
