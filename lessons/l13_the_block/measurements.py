"""The numbers that lesson 13 quotes: similarity and size of words in stacks of blocks with random weights."""

from __future__ import annotations

from statistics import mean

import torch

from course_lib.layers.block import Block
from lessons.l13_the_block.exercises import mean_cosine

SEEDS = range(3)


def random_block(**options) -> Block:
    return Block(d_model=64, n_heads=4, d_ff=256, **options)


def root_mean_square(x: torch.Tensor) -> float:
    return x.square().mean().sqrt().item()


@torch.no_grad()
def states(n_blocks: int, seed: int, n_sentences: int = 8, **options) -> list[torch.Tensor]:
    """The words at the start and after every block, as the lesson's cells make them."""
    torch.manual_seed(seed)
    words = [torch.randn(n_sentences, 8, 64)]
    for _ in range(n_blocks):
        words.append(random_block(**options)(words[-1])[0])
    return words


def similarities(n_blocks: int, seed: int, **options) -> list[float]:
    """The mean cosine of two words, at the start and after every block."""
    return [mean_cosine(x).mean().item() for x in states(n_blocks, seed, **options)]


def similarity_after(n_blocks: int, **options) -> float:
    """The mean over three seeds."""
    return mean(similarities(n_blocks, seed, **options)[-1] for seed in SEEDS)


def sizes(n_blocks: int, seed: int = 0, **options) -> list[float]:
    """The size of the words, at the start and after every block."""
    return [root_mean_square(x) for x in states(n_blocks, seed, n_sentences=2, **options)]


def measure() -> dict:
    return {
        "similarity": {
            "no path, 2 blocks": similarity_after(2, residual=False),
            "path, 2 blocks": similarity_after(2),
            "path, 3 blocks": similarity_after(3),
        },
        "size after 24 blocks": {"path and norm": sizes(24)[-1]},
    }
