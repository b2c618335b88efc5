"""The numbers that lesson 13 quotes: similarity and size of words in stacks of blocks with random weights.

Also the loss of a model that knows nothing but how frequent each target word is.
"""

from __future__ import annotations

import math
from collections import Counter
from statistics import mean

import torch

from course_lib.layers.block import Block
from course_lib.text.special import EOS
from course_lib.text.toy.splits import splits
from course_lib.translation.shipped import shared
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


def cosine_after(n_blocks: int, **options) -> float:
    """The mean cosine between a word before the first block and after the last, over three seeds."""
    ends = [states(n_blocks, seed, **options) for seed in SEEDS]
    return mean(torch.cosine_similarity(words[0], words[-1], dim=-1).mean().item() for words in ends)


@torch.no_grad()
def feed_forward_similarity(n_layers: int) -> float:
    """The similarity after feed-forward networks alone, without residual connections, over three seeds."""
    after = []
    for seed in SEEDS:
        torch.manual_seed(seed)
        x = torch.randn(8, 8, 64)
        for _ in range(n_layers):
            block = Block(d_model=64, n_heads=4, d_ff=256, residual=False)
            x = block.around_feed_forward(x, block.feed_forward)
        after.append(word_similarity(x).item())
    return mean(after)


def unigram_loss() -> float:
    """The lowest loss, on sentences drawn like the validation set, of a model that knows only frequencies."""
    encode = shared("transformer").tokenizer.encode
    pairs = splits(seed=0, sizes={"validation": 1000}).validation
    tokens = [token for pair in pairs for token in [*encode(pair.tgt_text), EOS]]
    counts = Counter(tokens)
    return math.log(len(tokens)) - mean(math.log(counts[token]) for token in tokens)


def measure() -> dict:
    without_norm = sizes(24, norm="none")
    return {
        "similarity": {
            "no residual, 2 blocks": similarity_after(2, residual=False),
            "residual, 2 blocks": similarity_after(2),
            "residual, 12 blocks": similarity_after(12),
            "no residual, attention only, 2 layers": similarity_after(2, residual=False, feed_forward="none"),
            "no residual, feed-forward only, 2 layers": feed_forward_similarity(2),
            "post-norm, dropout, 12 blocks": similarity_after(12, pre_norm=False, dropout=0.1),
            "post-norm, scaled by depth, 24 blocks": similarity_after(24, pre_norm=False, scale=48**-0.5),
        },
        "cosine after 12 blocks": {
            "pre-norm": cosine_after(12),
            "pre-norm, scaled by depth": cosine_after(12, scale=24**-0.5),
            "post-norm": cosine_after(12, pre_norm=False),
            "post-norm, scaled by depth": cosine_after(12, pre_norm=False, scale=24**-0.5),
        },
        "unigram loss": unigram_loss(),
        "size without norm": {  # with two digits, as the lesson quotes them
            "12 blocks": float(f"{without_norm[12]:.2g}"),
            "24 blocks": float(f"{without_norm[24]:.2g}"),
        },
        "size with norm": {"24 blocks": sizes(24)[-1]},
    }
