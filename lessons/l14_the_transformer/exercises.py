"""The exercises of lesson 14: the parts of a Transformer, the first difference, and a whole file."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from course_lib.teaching.exercises import ByHand, PlainExercise, known_mistakes
from lessons.l14_the_transformer import by_own_parts, slips, solutions
from lessons.l14_the_transformer import by_parts as library
from lessons.l14_the_transformer.file_check import MY_TRANSFORMER

TOPIC = "the_transformer"


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator("cpu").manual_seed(seed))


# ---- embeddings


def embed_case(batch: int, n: int, vocab: int, width: int, seed: int) -> Callable[[], tuple]:
    tokens = torch.randint(vocab, (batch, n), generator=torch.Generator("cpu").manual_seed(seed))
    return lambda: (tokens.clone(), normal(vocab, width, seed=seed) / math.sqrt(width))


EMBED = PlainExercise(
    name="embed",
    lesson=TOPIC,
    inputs=("tokens", "table"),
    reference=library.embed,
    by_hand=ByHand(
        inputs={
            "tokens": torch.tensor([[1, 0]]),
            "table": torch.tensor([[0.0, 0.0, 0.0, 0.0], [1.0, 2.0, 3.0, 4.0]]),
        },
        answer=torch.tensor(
            [[[2.0, 5.0, 6.0, 9.0], [math.sin(1), math.cos(1), math.sin(0.01), math.cos(0.01)]]]
        ),
        says="d_model is 4, and √4 = 2. The first token selects row 1: 2 · (1, 2, 3, 4) = (2, 4, 6, 8). "
        "Adding position 0, (0, 1, 0, 1), gives (2, 5, 6, 9). The second token selects row 0, which is all "
        "zeros, so only the encoding of position 1 is left.",
    ),
    others=(
        embed_case(2, 5, 9, 8, 0),
        embed_case(3, 4, 6, 16, 1),
        embed_case(1, 1, 3, 2, 2),
        embed_case(1, 150, 3, 2, 3),  # longer than a table of positions that someone computed in advance
    ),
    slips=slips.EMBED,
)


# ---- the encoder


def shapes_of(block: str, d: int, d_ff: int, *, has_cross: bool) -> dict[str, tuple[int, ...]]:
    attentions = ("attention", "cross") if has_cross else ("attention",)
    shapes = {
        f"{block}.{name}.w_{kind}": (d, d)
        for name in attentions
        for kind in ("query", "key", "value", "output")
    }
    for around in (*attentions, "feed_forward"):
        shapes |= {f"{block}.around_{around}.norm.{kind}": (d,) for kind in ("weight", "bias")}
    shapes |= {f"{block}.feed_forward.inner.weight": (d_ff, d), f"{block}.feed_forward.inner.bias": (d_ff,)}
    return shapes | {
        f"{block}.feed_forward.outer.weight": (d, d_ff),
        f"{block}.feed_forward.outer.bias": (d,),
    }


def make_weights(vocab: int, d: int, n_layers: int, seed: int) -> dict[str, Tensor]:
    """The weights of an untrained Transformer, with the names of the shipped one."""
    shapes: dict[str, tuple[int, ...]] = {"words.output.weight": (vocab, d), "words.output.bias": (vocab,)}
    for side in ("encoder", "decoder"):
        for layer in range(n_layers):
            shapes |= shapes_of(f"{side}.blocks.{layer}", d, 2 * d + 1, has_cross=side == "decoder")
        shapes |= {f"{side}.last_norm.{kind}": (d,) for kind in ("weight", "bias")}
    return {name: normal(*shape, seed=seed + i) / 2 for i, (name, shape) in enumerate(shapes.items())}


def hand_weights() -> dict[str, Tensor]:
    """Width 2, one layer, matrices simple enough to follow a word on paper."""
    eye, zeros, ones, root = torch.eye(2), torch.zeros(2), torch.ones(2), math.sqrt(2)
    weights = {"words.output.weight": torch.tensor([[1 / root, 2 / root], [2.0, 5.0]])}
    weights["words.output.bias"] = torch.tensor([0.0, 10.0])
    for side in ("encoder", "decoder"):
        for name, shape in shapes_of(f"{side}.blocks.0", 2, 2, has_cross=side == "decoder").items():
            weights[name] = eye if len(shape) == 2 else ones if name.endswith("norm.weight") else zeros
        weights[f"{side}.blocks.0.attention.w_output"] = 2 * eye
        weights |= {f"{side}.last_norm.weight": ones, f"{side}.last_norm.bias": zeros}
    return {name: w.clone() for name, w in weights.items()}


def padded(batch: int, n: int) -> Tensor:
    """A mask (batch, 1, 1, n). The first sentence, which a learner is shown, has the most padding."""
    return (torch.arange(n) < n - torch.arange(batch).flip(0)[:, None])[:, None, None]


def tokens_of(batch: int, n: int, vocab: int, seed: int) -> Tensor:
    return torch.randint(vocab, (batch, n), generator=torch.Generator("cpu").manual_seed(seed))


def encoder_case(
    batch: int, n: int, d: int, n_heads: int, n_layers: int, seed: int, n_spare: int = 0
) -> Callable[[], tuple]:
    """`n_spare` blocks in the file are not asked for."""
    mask = padded(batch, n) if batch > 1 else None
    source = tokens_of(batch, n, 7, seed)
    return lambda: (source.clone(), make_weights(7, d, n_layers + n_spare, seed), n_heads, n_layers, mask)


ENCODE_SOURCE = PlainExercise(
    name="encode_source",
    lesson=TOPIC,
    inputs=("source", "weights", "n_heads", "n_layers", "mask"),
    reference=solutions.encode_source,
    answered_by=("torch.nn.TransformerEncoder",),
    library=by_own_parts.encode_source,
    by_hand=ByHand(
        inputs={
            "source": torch.tensor([[0]]),
            "weights": hand_weights(),
            "n_heads": 1,
            "n_layers": 1,
            "mask": None,
        },
        answer=torch.tensor([[[-1.0, 1.0]]]),
        says="Row 0 of the table is (0.707, 1.414). Times √2 it is (1, 2), and adding position 0, (0, 1), "
        "gives (1, 3). The block turns it into (−1, 6), as in lesson 13. In the last norm, the mean is 2.5 "
        "and the deviations are ∓3.5, so the result is (−1, 1).",
    ),
    others=(
        encoder_case(1, 5, 6, 2, 3, seed=0),
        encoder_case(3, 4, 8, 2, 2, seed=100),
        encoder_case(2, 12, 4, 1, 1, seed=200, n_spare=2),
    ),
    slips=known_mistakes(solutions.encode_source),
)


# ---- the decoder's block


def decoder_parts(d: int, seed: int) -> dict[str, Tensor]:
    shapes = shapes_of("b", d, 2 * d + 1, has_cross=True)
    return {name[2:]: normal(*shape, seed=seed + i) / 2 for i, (name, shape) in enumerate(shapes.items())}


def decoder_case(batch: int, m: int, n: int, d: int, n_heads: int, seed: int) -> Callable[[], tuple]:
    mask = padded(batch, n) if batch > 1 else None
    x, memory = normal(batch, m, d, seed=seed), normal(batch, n, d, seed=seed + 1)
    return lambda: (x.clone(), memory.clone(), decoder_parts(d, seed + 10), n_heads, mask)


HAND = library.parts_of(hand_weights(), "decoder.blocks.0")
DECODER_BLOCK = PlainExercise(
    name="decoder_block",
    lesson=TOPIC,
    inputs=("x", "memory", "parts", "n_heads", "mask"),
    reference=solutions.decoder_block,
    answered_by=("torch.nn.TransformerDecoderLayer",),
    library=by_own_parts.decoder_block,
    by_hand=ByHand(
        inputs={
            "x": torch.tensor([[[1.0, 3.0]]]),
            "memory": torch.tensor([[[4.0, 0.0]]]),
            "parts": HAND,
            "n_heads": 1,
            "mask": None,
        },
        answer=torch.tensor([[[3.0, 6.0]]]),
        says="The word (1, 3) is normalised to (−1, 1). It attends to itself alone, and `w_output` doubles "
        "the result to (−2, 2), so x is now (−1, 5). In cross-attention the memory has a single word, (4, "
        "0), whose attention weight is 1, so x is now (3, 5). Normalised, it is (−1, 1), and ReLU makes "
        "that (0, 1). Added, x is (3, 6).",
    ),
    others=(
        decoder_case(1, 4, 5, 8, 2, seed=0),
        decoder_case(3, 5, 4, 6, 3, seed=100),
        decoder_case(2, 3, 3, 4, 1, seed=200),
    ),
    slips=known_mistakes(solutions.decoder_block),
)


# ---- the logits


def decode_logits(target, memory, weights, n_heads, n_layers, mask=None):
    sizes = {"n_heads": n_heads, "n_layers": n_layers, "mask": mask}
    return library.decoder_stages(target, memory, weights, **sizes)[0]["logits"]


def decode_case(batch: int, m: int, n: int, d: int, n_heads: int, n_layers: int, seed: int):
    mask = padded(batch, n) if batch > 1 else None
    memory = normal(batch, n, d, seed=seed + 1)
    return lambda: (
        tokens_of(batch, m, 7, seed),
        memory.clone(),
        make_weights(7, d, n_layers, seed),
        n_heads,
        n_layers,
        mask,
    )


DECODE_LOGITS = PlainExercise(
    name="decode_logits",
    lesson=TOPIC,
    inputs=("target", "memory", "weights", "n_heads", "n_layers", "mask"),
    reference=decode_logits,
    library=by_own_parts.decode_logits,
    by_hand=ByHand(
        inputs={
            "target": torch.tensor([[0]]),
            "memory": torch.tensor([[[4.0, 0.0]]]),
            "weights": hand_weights(),
            "n_heads": 1,
            "n_layers": 1,
            "mask": None,
        },
        answer=torch.tensor([[[1 / math.sqrt(2), 13.0]]]),
        says="The embedded word is (1, 3), and the block turns it into (3, 6). The last norm makes that "
        "(−1, 1). The dot product with row 0 of the table, (0.707, 1.414), is 0.707, and the bias is 0. "
        "With row 1, (2, 5), it is 3, and the bias is 10, so the logits are (0.707, 13).",
    ),
    others=(
        decode_case(1, 4, 5, 6, 2, 3, seed=0),
        decode_case(3, 3, 4, 8, 2, 2, seed=100),
        decode_case(2, 12, 3, 4, 1, 1, seed=200),
    ),
    slips=slips.DECODE_LOGITS,
)


# ---- the first difference


def stages_case(changes: dict[str, float], tolerance: float = 1e-4, theirs: float = 0.0) -> Callable:
    """In each of these stages one number differs: it is the one here, and `theirs` in the other network."""
    names = ("words", "block 0", "block 1", "norm", "logits")

    def make() -> tuple:
        networks = [{name: normal(2, 3, 4, seed=i) for i, name in enumerate(names)} for _ in range(2)]
        for name, number in changes.items():
            networks[0][name][1, 2, 3], networks[1][name][1, 2, 3] = number, theirs
        return *networks, tolerance

    return make


def at_large_numbers() -> tuple:
    """A difference above the tolerance, but small relative to the numbers."""
    theirs = {name: torch.full((2, 3), 1000.0) for name in ("words", "block", "out")}
    mine = theirs | {"block": theirs["block"] + 0.015, "out": theirs["out"] + 900.0}
    return mine, theirs, 0.01


def small_everywhere() -> tuple:
    """No difference is above the tolerance, but their sum is."""
    theirs = {name: normal(4, 6, seed=i) for i, name in enumerate(("words", "out"))}
    return {name: numbers + 5e-5 for name, numbers in theirs.items()}, theirs, 1e-4


def in_the_first_number() -> tuple:
    theirs = {name: normal(2, 3, 4, seed=i) for i, name in enumerate(("words", "out"))}
    mine = {name: numbers.clone() for name, numbers in theirs.items()}
    mine["words"][0, 0, 0] += 0.1
    return mine, theirs, 1e-4


FIRST_DIFFERENCE = PlainExercise(
    name="first_difference",
    lesson=TOPIC,
    inputs=("mine", "theirs", "tolerance"),
    reference=solutions.first_difference,
    trains=False,
    by_hand=ByHand(
        inputs={
            "mine": {
                "words": torch.tensor([1.0]),
                "block": torch.tensor([2.0, 5.0]),
                "out": torch.tensor([9.0]),
            },
            "theirs": {
                "words": torch.tensor([1.0]),
                "block": torch.tensor([2.0, 6.0]),
                "out": torch.tensor([3.0]),
            },
            "tolerance": 0.1,
        },
        answer="block",
        says="`words` agrees. In `block` one number is off by 1, which is more than 0.1. `out` differs "
        "even more, but it comes later.",
    ),
    others=(
        stages_case({}),
        stages_case({"block 1": -0.3, "norm": 2.0, "logits": 7.0}),
        stages_case({"words": 2e-5, "logits": 2e-3}),
        stages_case({"norm": 3e-4}),
        stages_case({"words": 0.2, "norm": 0.5}),
        stages_case({"block 1": -0.5, "logits": 0.9}, theirs=0.5),
        stages_case({"words": 0.3, "block 0": -0.5, "norm": 0.5}, tolerance=0.5),
        stages_case({"block 0": math.nan, "block 1": math.nan, "norm": math.nan}),
        stages_case({"block 1": math.nan}, theirs=math.nan),
        stages_case({"block 1": 0.0}, theirs=math.nan),
        at_large_numbers,
        small_everywhere,
        in_the_first_number,
    ),
    slips=known_mistakes(solutions.first_difference),
)


EXERCISES = (EMBED, ENCODE_SOURCE, DECODER_BLOCK, DECODE_LOGITS, FIRST_DIFFERENCE, MY_TRANSFORMER)
