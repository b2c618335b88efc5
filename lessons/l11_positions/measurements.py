"""Numbers that lesson 11 quotes and no experiment records."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from course_lib.layers.positions import angles, rotate, sinusoids
from course_lib.models.transformer import Transformer
from course_lib.shapes import Tensor
from course_lib.text.pair import Pair
from course_lib.text.toy.splits import TEST_SIZES, splits
from course_lib.translation.pipeline import translate
from course_lib.translation.shipped import Shipped, load_shipped
from lessons.l11_positions.patching import attend_with, attention_layers
from lessons.l11_positions.scores import count_right, encode_pairs, percent_exact

N_ROWS, D_MODEL, HEAD_DIM = 64, 64, 16  # of the translators
STARTS = (0, 6, 1000)
KINDS = ("encoder", "decoder", "cross")
N_SHOWN, N_NEW = 60, 200  # the sentences in the lesson, and others that confirm the finding


def measure() -> dict[str, object]:
    table, pairs = sinusoids(20, D_MODEL), six_to_ten_words(N_SHOWN + N_NEW)
    shown, new = pairs[:N_SHOWN], pairs[N_SHOWN:]
    return {
        **{
            f"product at distance {distance}": float(table[10] @ table[10 + distance])
            for distance in (1, 5, 6)
        },
        "sinusoidal": sinusoidal_from_each_start(shown),
        "sinusoidal, new sentences": sinusoidal_from_each_start(new),
        "RoPE": rope_from_each_start(shown),
        "RoPE, new sentences": rope_from_each_start(new),
        "patching": patch_attention_weights(shown),
        "patching, new sentences": patch_attention_weights(new),
    }


def six_to_ten_words(n: int) -> list[Pair]:
    """Test sentences of 6 to 10 words."""
    test = splits(seed=0, sizes=TEST_SIZES).test
    return [pair for pair in test if 6 <= pair.length <= 10][:n]


def sinusoidal_from_each_start(pairs: Sequence[Pair]) -> dict[str, float]:
    """The fraction of exact translations if both sides count positions from another number than 0."""
    system, numbers = load_shipped("transformer"), {}
    for start in (*STARTS, 2, 4):
        count_from(system.model, start)
        numbers[f"from {start}"] = percent_exact(system, pairs) / 100
    return numbers


def rope_from_each_start(pairs: Sequence[Pair]) -> dict[str, float]:
    """The same for the translator with RoPE; also how many translations change, and without any rotation."""
    system = load_shipped("transformer_rotary")
    usual, numbers = translations(system, pairs), {}
    for start in STARTS:
        rotate_from(system.model, start)
        texts = translations(system, pairs)
        numbers[f"from {start}"] = fraction_equal(texts, [pair.tgt_text for pair in pairs])
        numbers[f"unchanged, from {start}"] = fraction_equal(texts, usual)
    rotate_from(system.model, 0, factor=0.0)
    numbers["without rotation"] = percent_exact(system, pairs) / 100
    return numbers


def patch_attention_weights(pairs: Sequence[Pair]) -> dict[str, float]:
    """The fraction of sentences with all next words right, with the attention weights of another run."""
    system = load_shipped("transformer")
    model, batch, n = system.model, encode_pairs(system, pairs), len(pairs)
    weights = {}
    for start in (0, 6):
        count_from(model, start)
        with torch.no_grad():
            weights[start] = model.attention_weights(batch.src, batch.src_lengths, batch.tgt_in)
    numbers = {}
    for start, other in ((0, 6), (6, 0)):
        count_from(model, start)
        numbers[f"from {start}"] = count_right(model, batch) / n
        for kind in KINDS:
            layers = attention_layers(model, kind)
            for i, layer in enumerate(layers):
                layer.attend = attend_with(layer, weights[other][kind][:, i])
            numbers[f"from {start} with {kind} weights from {other}"] = count_right(model, batch) / n
            for layer in layers:
                del layer.attend
    return numbers


def count_from(model: Transformer, start: int) -> None:
    """Let both sides begin at this row of the sinusoidal encodings."""
    rows = sinusoids(start + N_ROWS, D_MODEL)[start:]
    set_tables(model, rows, rows)


def set_tables(model: Transformer, source: Tensor, target: Tensor) -> None:
    model.source_positions.table, model.target_positions.table = source, target


def rotate_from(model: Transformer, start: int, *, factor: float = 1.0) -> None:
    """Let both sides of a model with RoPE begin at this position; the factor multiplies all angles."""
    theta = factor * angles(start + N_ROWS, HEAD_DIM)[start:]

    def rotated(features: Tensor, *, first: int = 0) -> Tensor:
        return rotate(features, theta[first : first + features.shape[-2]])

    model.source_positions.rotate = model.target_positions.rotate = rotated


def translations(system: Shipped, pairs: Sequence[Pair]) -> list[str]:
    outputs = translate([pair.src_text for pair in pairs], system.model, system.tokenizer)
    return [output.target for output in outputs]


def fraction_equal(texts: Sequence[str], others: Sequence[str]) -> float:
    return sum(text == other for text, other in zip(texts, others, strict=True)) / len(texts)
