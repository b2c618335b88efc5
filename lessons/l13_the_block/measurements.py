"""The numbers that lesson 13 quotes: similarity and size of words in stacks of blocks with random weights."""

from __future__ import annotations

from statistics import mean

import torch

from course_lib.layers.block import Block
from lessons.l13_the_block.similarity import word_similarity

SEEDS = range(3)


@torch.no_grad()
def states(n_blocks: int, seed: int, n_sentences: int = 8, scale: float = 1.0, **options):
    """The words at the start and after every block, as the lesson's cells compute them."""
    torch.manual_seed(seed)
    words = [torch.randn(n_sentences, 8, 64)]
    for _ in range(n_blocks):
        block = Block(d_model=64, n_heads=4, d_ff=256, **options)
        block.scale_outputs(scale)
        words.append(block(words[-1])[0])
    return words


def similarities(n_blocks: int, seed: int, **options) -> list[float]:
    """The mean similarity of two words, at the start and after every block."""
    return [word_similarity(x).item() for x in states(n_blocks, seed, **options)]


def similarity_after(n_blocks: int, **options) -> float:
    """The mean over three seeds."""
    return mean(similarities(n_blocks, seed, **options)[-1] for seed in SEEDS)


def sizes(n_blocks: int, seed: int = 0, **options) -> list[float]:
    """The root mean square of the words, at the start and after every block."""
    return [x.square().mean().sqrt().item() for x in states(n_blocks, seed, n_sentences=2, **options)]


def measure() -> dict:
    without_norm = sizes(24, norm="none")
    return {
        "similarity": {
            "no residual, 2 blocks": similarity_after(2, residual=False),
            "residual, 2 blocks": similarity_after(2),
            "residual, 12 blocks": similarity_after(12),
            "post-norm, scaled by depth, 24 blocks": similarity_after(24, pre_norm=False, scale=48**-0.5),
        },
        "size without norm": {  # with two digits, as the lesson quotes them
            "12 blocks": float(f"{without_norm[12]:.2g}"),
            "24 blocks": float(f"{without_norm[24]:.2g}"),
        },
        "size with norm": {"24 blocks": sizes(24)[-1]},
    }
