"""Numbers that lesson 11 quotes and no experiment records."""

from __future__ import annotations

import torch
from torch.nn import functional as F

from course_lib.layers.multi_head import join_heads
from course_lib.layers.positions import sinusoids
from course_lib.shapes import Float, Tensor
from course_lib.text.batch import Batch, make_batch
from course_lib.text.pair import Pair
from course_lib.text.special import PAD
from course_lib.text.toy.splits import TEST_SIZES, splits
from course_lib.translation.pipeline import translate
from course_lib.translation.shipped import Shipped, load_shipped

N_ROWS, D_MODEL = 64, 64  # of the translator's tables


def measure() -> dict[str, float]:
    table = sinusoids(20, D_MODEL)
    return {
        **{f"product at offset {offset}": float(table[10] @ table[10 + offset]) for offset in (1, 5, 6)},
        **counting_from_other_positions(),
    }


def counting_from_other_positions() -> dict[str, float]:
    """What the translator does when both sides begin to count at another position than 0."""
    system, pairs = load_shipped("transformer"), six_to_ten_words()
    batch = make_batch(*([system.tokenizer.encode(text) for text in texts] for texts in _texts(pairs)))
    numbers = {}
    for first in (0, 2, 4, 6):
        count_from(system, first)
        numbers[f"exact, from {first}"] = fraction_exact(system, pairs)
        weights = cross_weights(system, batch)
        numbers[f"weight on aligned words, from {first}"] = weight_on_aligned_words(weights, pairs)
        if first == 0:
            usual_weights = weights
    numbers["next words right, from 6"] = fraction_of_right_next_words(system, batch)
    fix_cross_weights(system, usual_weights)
    numbers["next words right, from 6 with the weights of 0"] = fraction_of_right_next_words(system, batch)
    return numbers


def six_to_ten_words() -> list[Pair]:
    """60 test sentences of 6 to 10 words."""
    test = splits(seed=0, sizes=TEST_SIZES).test
    return [pair for pair in test if 6 <= pair.length <= 10][:60]


def _texts(pairs: list[Pair]) -> tuple[list[str], list[str]]:
    return [pair.src_text for pair in pairs], [pair.tgt_text for pair in pairs]


def count_from(system: Shipped, first: int) -> None:
    """Let both sides begin at this row of the sinusoids."""
    rows = sinusoids(first + N_ROWS, D_MODEL)[first:]
    set_tables(system, rows, rows)


def set_tables(system: Shipped, source: Tensor, target: Tensor) -> None:
    system.model.source_positions.table, system.model.target_positions.table = source, target


def fraction_exact(system: Shipped, pairs: list[Pair]) -> float:
    texts, references = _texts(pairs)
    outputs = translate(texts, system.model, system.tokenizer)
    return sum(output.target == text for output, text in zip(outputs, references, strict=True)) / len(pairs)


@torch.no_grad()
def cross_weights(system: Shipped, batch: Batch) -> Float[Tensor, "batch layers heads tgt src"]:
    return system.model.attention_weights(batch.src, batch.src_lengths, batch.tgt_in)["cross"]


def weight_on_aligned_words(weights: Float[Tensor, "batch layers heads tgt src"], pairs: list[Pair]) -> float:
    """The mean weight, in the last layer, of a French word on the English words that it comes from."""
    last = weights[:, -1].mean(dim=1)
    links = [(i, french, english) for i, pair in enumerate(pairs) for english, french in pair.links]
    return float(sum(last[link] for link in links) / len(links))


@torch.no_grad()
def fraction_of_right_next_words(system: Shipped, batch: Batch) -> float:
    """The fraction of sentences in which every next word is right, given the right words before it."""
    memory = system.model.encode(batch.src, batch.src_lengths)
    predicted = system.model.decode(memory, batch.tgt_in)[0].argmax(dim=-1)
    right = (predicted == batch.tgt_out) | (batch.tgt_out == PAD)
    return float(right.all(dim=-1).float().mean())


def fix_cross_weights(system: Shipped, weights: Float[Tensor, "batch layers heads tgt src"]) -> None:
    """From now on, cross-attention uses these attention weights instead of its own."""
    for layer, block in enumerate(system.model.decoder.blocks):

        def attend_with_weights(query, keys, values, *, weights=weights[:, layer], heads=block.cross, **_):
            return F.linear(join_heads(weights @ values), heads.w_output), weights

        block.cross.attend = attend_with_weights
