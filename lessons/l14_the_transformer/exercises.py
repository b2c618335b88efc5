"""The exercises of lesson 14: parts by name, words in, encoder, decoder, logits, the first difference."""

from __future__ import annotations

import io
import math
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor

from course_lib.layers.feed_forward import feed_forward
from course_lib.layers.positions import sinusoids
from course_lib.teaching.exercises import ByHand, PlainExercise, Slip, TestExercise
from lessons.l14_the_transformer import by_parts as library
from lessons.l14_the_transformer.by_parts import RIGHT, Wiring

TOPIC = "the_transformer"


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator("cpu").manual_seed(seed))


# ---- the parts by name


def block_weights(n_blocks: int) -> dict[str, Tensor]:
    names = [f"encoder.blocks.{block}.{part}" for block in range(n_blocks) for part in ("w", "norm.bias")]
    return {
        name: torch.tensor([float(i)]) for i, name in enumerate([*names, "encoder.last_norm.w", "words.w"])
    }


def attention_weights() -> dict[str, Tensor]:
    names = ("attention.w_key", "around_attention.norm.bias", "attention.w_query", "self_attention.w")
    return {name: torch.tensor([float(i)]) for i, name in enumerate(names)}


def cut_by_replace(selects: Callable[[str, str], bool]) -> Callable:
    """`replace` also cuts the prefix out of the middle of a name."""
    return lambda weights, prefix: {
        name.replace(f"{prefix}.", ""): w for name, w in weights.items() if selects(name, prefix)
    }


ANYWHERE = "the prefix may stand anywhere in the name. It must be the beginning: `attention.` is in "
ANYWHERE += "`around_attention.norm.bias`, too."
DOT = "with twelve blocks, `encoder.blocks.1` also finds block 10 and block 11. Ask for the prefix *and* the "
DOT += "dot behind it."
PARTS_OF = PlainExercise(
    name="parts_of",
    lesson=TOPIC,
    inputs=("weights", "prefix"),
    reference=library.parts_of,
    by_hand=ByHand(
        inputs={
            "weights": {"encoder.0.w": torch.tensor([1.0]), "encoder.1.w": torch.tensor([2.0])},
            "prefix": "encoder.1",
        },
        answer={"w": torch.tensor([2.0])},
        says="Only the second name begins with `encoder.1.`; without that beginning it is called `w`.",
    ),
    others=(
        lambda: (block_weights(3), "encoder.blocks.2"),
        lambda: (block_weights(12), "encoder.blocks.1"),
        lambda: (block_weights(2), "encoder"),
        lambda: (block_weights(2), "decoder"),
        lambda: (block_weights(11), "encoder.blocks.10"),
        lambda: (attention_weights(), "attention"),
        lambda: ({"a.b.a.b.w": torch.tensor([1.0]), "a.b.w": torch.tensor([2.0])}, "a.b"),
    ),
    slips=(
        Slip(
            "dot-forgotten",
            lambda weights, prefix: {
                name[len(prefix) + 1 :]: w for name, w in weights.items() if name.startswith(prefix)
            },
            DOT,
        ),
        Slip("dot-forgotten-replaced", cut_by_replace(str.startswith), DOT),
        Slip(
            "replaced-everywhere",
            cut_by_replace(lambda name, prefix: name.startswith(f"{prefix}.")),
            "`replace` cuts the prefix out wherever it stands in the name. Cut it off the beginning alone.",
        ),
        Slip(
            "whole-names",
            lambda weights, prefix: {name: w for name, w in weights.items() if name.startswith(f"{prefix}.")},
            "the right weights, but under their long names. Cut the prefix and its dot off.",
        ),
        Slip(
            "leading-dot",
            lambda weights, prefix: {
                name[len(prefix) :]: w for name, w in weights.items() if name.startswith(f"{prefix}.")
            },
            "the names begin with a dot. Cut one character more.",
        ),
        Slip(
            "last-piece-only",
            lambda weights, prefix: {
                name.split(".")[-1]: w for name, w in weights.items() if name.startswith(f"{prefix}.")
            },
            "only the last piece of each name is left, so two names can become one. Keep all that follows "
            "the prefix.",
        ),
        Slip("everywhere-in-the-name", cut_by_replace(lambda name, prefix: prefix in name), ANYWHERE),
        Slip("anywhere-with-its-dot", cut_by_replace(lambda name, prefix: f"{prefix}." in name), ANYWHERE),
        Slip(
            "anywhere-by-split",
            lambda weights, prefix: {
                name.split(f"{prefix}.", 1)[1]: w for name, w in weights.items() if f"{prefix}." in name
            },
            ANYWHERE,
        ),
    ),
)


# ---- words in


def first_version(tokens, table):
    """As in the lesson's cell, before the learner repairs it."""
    n, d_model = tokens.shape[1], table.shape[1]
    return (table[tokens] + sinusoids(n, d_model)) * d_model**0.5


def embed_with(tokens: Tensor, table: Tensor, *, scale: Callable[[int], float] = math.sqrt, positions=True):
    n, width = tokens.shape[1], table.shape[1]
    return table[tokens] * scale(width) + (sinusoids(n, width) if positions else 0)


def embed_case(batch: int, n: int, vocab: int, width: int, seed: int) -> Callable[[], tuple]:
    tokens = torch.randint(vocab, (batch, n), generator=torch.Generator("cpu").manual_seed(seed))
    return lambda: (tokens.clone(), normal(vocab, width, seed=seed) / math.sqrt(width))


EMBED = PlainExercise(
    name="embed",
    lesson=TOPIC,
    inputs=("tokens", "table"),
    reference=library.embed,
    unrepaired=first_version,
    by_hand=ByHand(
        inputs={
            "tokens": torch.tensor([[1, 0]]),
            "table": torch.tensor([[0.0, 0.0, 0.0, 0.0], [1.0, 2.0, 3.0, 4.0]]),
        },
        answer=torch.tensor(
            [[[2.0, 5.0, 6.0, 9.0], [math.sin(1), math.cos(1), math.sin(0.01), math.cos(0.01)]]]
        ),
        says="Width 4, and √4 = 2. The first word is row 1: 2 · (1, 2, 3, 4) = (2, 4, 6, 8), plus position "
        "0, (0, 1, 0, 1): (2, 5, 6, 9). The second word is row 0, all zeros: its position alone.",
    ),
    others=(embed_case(2, 5, 9, 8, 0), embed_case(3, 4, 6, 16, 1), embed_case(1, 1, 3, 2, 2)),
    slips=(
        Slip(
            "no-root",
            partial(embed_with, scale=lambda width: 1.0),
            "the rows of the table come in as they are. They are multiplied by √d_model first.",
        ),
        Slip(
            "times-d-model",
            partial(embed_with, scale=float),
            "the rows are multiplied by d_model. Take its root.",
        ),
        Slip(
            "divided",
            partial(embed_with, scale=lambda width: width**-0.5),
            "the rows are *divided* by √d_model. That is done to the scores of attention; words are "
            "multiplied.",
        ),
        Slip(
            "no-positions",
            partial(embed_with, positions=False),
            "no positions are added: *cat bites dog* is *dog bites cat*.",
        ),
        Slip(
            "one-position",
            lambda tokens, table: table[tokens] * math.sqrt(table.shape[1]) + sinusoids(1, table.shape[1]),
            "every word gets position 0. Take as many rows of `sinusoids` as there are words.",
        ),
    ),
)


# ---- the library's versions, which call the learner's own parts


def own_parts(*names: str) -> list[Callable]:
    """The learner's functions, or the library's, without a message."""
    from course_lib.teaching import yours  # not above: it imports the exercises, and so this file

    with redirect_stdout(io.StringIO()):
        return [yours(name) for name in names]


def library_encoder(source, weights, n_heads, n_layers, mask=None):
    embed, parts_of, block, norm = own_parts("embed", "parts_of", "encoder_block", "layer_norm")
    x = embed(source, weights["words.output.weight"])
    for layer in range(n_layers):
        x = block(x, parts_of(weights, f"encoder.blocks.{layer}"), n_heads, mask)
    last = parts_of(weights, "encoder.last_norm")
    return norm(x, weight=last["weight"], bias=last["bias"])


def library_decoder(target, memory, weights, n_heads, n_layers, mask=None):
    embed, parts_of, block, norm = own_parts("embed", "parts_of", "decoder_block", "layer_norm")
    x = embed(target, weights["words.output.weight"])
    for layer in range(n_layers):
        x = block(x, memory, parts_of(weights, f"decoder.blocks.{layer}"), n_heads, mask)
    last = parts_of(weights, "decoder.last_norm")
    x = norm(x, weight=last["weight"], bias=last["bias"])
    return x @ weights["words.output.weight"].T + weights["words.output.bias"]


def library_block(x, memory, parts, n_heads, mask=None):
    many_heads, feed_forward, norm = own_parts("many_heads", "feed_forward", "layer_norm")

    def normed(x: Tensor, name: str) -> Tensor:
        weight, bias = (parts[f"around_{name}.norm.{kind}"] for kind in ("weight", "bias"))
        return norm(x, weight=weight, bias=bias)

    def attend(x: Tensor, source: Tensor, name: str, mask: Tensor | None) -> Tensor:
        matrices = [parts[f"{name}.w_{kind}"].T for kind in ("query", "key", "value", "output")]
        return many_heads(x, source, *matrices, n_heads, mask)[0]

    queries = normed(x, "attention")
    x = x + attend(queries, queries, "attention", library.causal(x.shape[1]))
    x = x + attend(normed(x, "cross"), memory, "cross", mask)
    return x + feed_forward(normed(x, "feed_forward"), **library.feed_forward_weights(parts))


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


def encode_source(source, weights, n_heads, n_layers, mask=None, *, wiring: Wiring = RIGHT):
    sizes = {"n_heads": n_heads, "n_layers": n_layers, "mask": mask, "wiring": wiring}
    return library.encoder_stages(source, weights, **sizes)[0]["memory"]


def encoder_case(batch: int, n: int, d: int, n_heads: int, n_layers: int, seed: int) -> Callable[[], tuple]:
    mask = padded(batch, n) if batch > 1 else None
    return lambda: (tokens_of(batch, n, 7, seed), make_weights(7, d, n_layers, seed), n_heads, n_layers, mask)


def one_block_again(source, weights, n_heads, n_layers, mask=None):
    first = library.parts_of(weights, "encoder.blocks.0")
    again = {f"encoder.blocks.{i}.{name}": w for i in range(n_layers) for name, w in first.items()}
    return encode_source(source, weights | again, n_heads, n_layers, mask)


def norm_in_between(source, weights, n_heads, n_layers, mask=None):
    x = library.embed(source, weights["words.output.weight"])
    for layer in range(n_layers):
        parts = library.parts_of(weights, f"encoder.blocks.{layer}")
        x, _ = library.block(x, parts, n_heads=n_heads, self_mask=mask)
        x = library.norm(x, weights, "encoder.last_norm")
    return x


def decoders_norm(source, weights, n_heads, n_layers, mask=None):
    sizes = {"n_heads": n_heads, "n_layers": n_layers, "mask": mask}
    states, _ = library.encoder_stages(source, weights, **sizes)
    return library.norm(states[f"encoder {n_layers - 1}"], weights, "decoder.last_norm")


def layers_reversed(source, weights, n_heads, n_layers, mask=None):
    reversed_blocks = {
        f"encoder.blocks.{n_layers - 1 - i}.{name}": w
        for i in range(n_layers)
        for name, w in library.parts_of(weights, f"encoder.blocks.{i}").items()
    }
    return encode_source(source, weights | reversed_blocks, n_heads, n_layers, mask)


ENCODE_SOURCE = PlainExercise(
    name="encode_source",
    lesson=TOPIC,
    inputs=("source", "weights", "n_heads", "n_layers", "mask"),
    reference=encode_source,
    library=library_encoder,
    by_hand=ByHand(
        inputs={
            "source": torch.tensor([[0]]),
            "weights": hand_weights(),
            "n_heads": 1,
            "n_layers": 1,
            "mask": None,
        },
        answer=torch.tensor([[[-1.0, 1.0]]]),
        says="Row 0 of the table is (0.707, 1.414); times √2, (1, 2); plus position 0, (0, 1): (1, 3). One "
        "block makes (−1, 6) of it, as in lesson 13. The last norm: mean 2.5, distances ∓3.5, so (−1, 1).",
    ),
    others=(
        encoder_case(1, 5, 8, 2, 2, seed=0),
        encoder_case(3, 4, 6, 3, 3, seed=100),
        encoder_case(2, 3, 4, 1, 1, seed=200),
    ),
    slips=(
        Slip(
            "no-last-norm",
            partial(encode_source, wiring=Wiring(last_norm=False)),
            "the last norm is missing. Pre-norm blocks hand on sums that grow; `encoder.last_norm` comes "
            "after the last block.",
        ),
        Slip(
            "ignores-mask",
            partial(encode_source, wiring=Wiring(masked=False)),
            "`mask` changes nothing: words look at padding. Hand it to every block.",
        ),
        Slip(
            "no-root",
            partial(encode_source, wiring=Wiring(scaled=False)),
            "the words come in without √d_model. Use your `embed`.",
        ),
        Slip(
            "one-block-again",
            one_block_again,
            "every layer uses the weights of block 0. Block `i` has its own: `encoder.blocks.{i}`.",
        ),
        Slip(
            "norm-in-between",
            norm_in_between,
            "the last norm comes after every block. It comes once, after the last one.",
        ),
        Slip(
            "decoders-norm",
            decoders_norm,
            "the *decoder's* last norm is used at the end. The encoder has its own.",
        ),
        Slip("layers-reversed", layers_reversed, "the blocks come in the wrong order: 0 is the first."),
        Slip(
            "first-block-only",
            lambda source, weights, n_heads, n_layers, mask=None: encode_source(
                source, weights, n_heads, 1, mask
            ),
            "only one block is used. There are `n_layers`.",
        ),
    ),
)


# ---- the decoder's block


def decoder_block(x, memory, parts, n_heads, mask=None, *, ahead: int = 0):
    past = library.causal(x.shape[1], ahead)
    return library.block(x, parts, n_heads=n_heads, self_mask=past, memory=memory, mask=mask)[0]


def mask_ignored(x, memory, parts, n_heads, mask=None):
    return decoder_block(x, memory, parts, n_heads)


def decoder_parts(d: int, seed: int) -> dict[str, Tensor]:
    shapes = shapes_of("b", d, 2 * d + 1, has_cross=True)
    return {name[2:]: normal(*shape, seed=seed + i) / 2 for i, (name, shape) in enumerate(shapes.items())}


def decoder_case(batch: int, m: int, n: int, d: int, n_heads: int, seed: int) -> Callable[[], tuple]:
    mask = padded(batch, n) if batch > 1 else None
    x, memory = normal(batch, m, d, seed=seed), normal(batch, n, d, seed=seed + 1)
    return lambda: (x.clone(), memory.clone(), decoder_parts(d, seed + 10), n_heads, mask)


def memory_normed(x, memory, parts, n_heads, mask=None):
    return decoder_block(x, library.norm(memory, parts, "around_cross.norm"), parts, n_heads, mask)


def same_matrices(x, memory, parts, n_heads, mask=None):
    kinds = ("query", "key", "value", "output")
    return decoder_block(
        x,
        memory,
        parts | {f"cross.w_{kind}": parts[f"attention.w_{kind}"] for kind in kinds},
        n_heads,
        mask,
    )


def without(x, memory, parts, n_heads, mask=None, *, attention: str):
    name = f"{attention}.w_output"
    return decoder_block(x, memory, parts | {name: torch.zeros_like(parts[name])}, n_heads, mask)


def looks_ahead_only(x, memory, parts, n_heads, mask=None):
    future = library.causal(x.shape[1]).T
    return library.block(x, parts, n_heads=n_heads, self_mask=future, memory=memory, mask=mask)[0]


def not_transposed(x, memory, parts, n_heads, mask=None):
    transposed = {name: w.T if ".w_" in name else w for name, w in parts.items()}
    return decoder_block(x, memory, transposed, n_heads, mask)


def in_steps(
    x, memory, parts, n_heads, mask=None, *,
    order=("attention", "cross"), across="memory", path_normed=False, post_norm=False,
):  # fmt: skip
    """The block with options that make it wrong; `across` is "memory", "itself" or "causal"."""
    causal = library.causal(x.shape[1])
    rectangle = torch.ones(x.shape[1], memory.shape[1], dtype=torch.bool).tril()

    def layer(x, name):
        if name == "feed_forward":
            return feed_forward(x, **library.feed_forward_weights(parts))
        source, attention_mask = x, causal
        if name == "cross":
            source = x if across == "itself" else memory
            attention_mask = {"memory": mask, "itself": None, "causal": rectangle}[across]
        return library.multi_head_attention(x, source, parts, name, n_heads=n_heads, mask=attention_mask)[0]

    for name in (*order, "feed_forward"):
        norm_of = partial(library.norm, parts=parts, name=f"around_{name}.norm")
        if post_norm:
            x = norm_of(x + layer(x, name))
        else:
            normed = norm_of(x)
            x = (normed if path_normed else x) + layer(normed, name)
    return x


def keys_for_values(x, memory, parts, n_heads, mask=None):
    swapped = {"cross.w_key": parts["cross.w_value"], "cross.w_value": parts["cross.w_key"]}
    return decoder_block(x, memory, parts | swapped, n_heads, mask)


def norm_of_self_attention(x, memory, parts, n_heads, mask=None):
    kinds = ("weight", "bias")
    replaced = {f"around_cross.norm.{kind}": parts[f"around_attention.norm.{kind}"] for kind in kinds}
    return decoder_block(x, memory, parts | replaced, n_heads, mask)


HAND = library.parts_of(hand_weights(), "decoder.blocks.0")
DECODER_BLOCK = PlainExercise(
    name="decoder_block",
    lesson=TOPIC,
    inputs=("x", "memory", "parts", "n_heads", "mask"),
    reference=decoder_block,
    library=library_block,
    by_hand=ByHand(
        inputs={
            "x": torch.tensor([[[1.0, 3.0]]]),
            "memory": torch.tensor([[[4.0, 0.0]]]),
            "parts": HAND,
            "n_heads": 1,
            "mask": None,
        },
        answer=torch.tensor([[[3.0, 6.0]]]),
        says="The word (1, 3), normalised (−1, 1), looks at itself alone and hears (−2, 2): (−1, 5). Across, "
        "there is one word of memory, (4, 0): whatever is asked, that is heard. (3, 5). Normalised: (−1, 1), "
        "bent to (0, 1). Added: (3, 6).",
    ),
    others=(
        decoder_case(1, 4, 5, 8, 2, seed=0),
        decoder_case(3, 5, 4, 6, 3, seed=100),
        decoder_case(2, 3, 3, 4, 1, seed=200),
    ),
    slips=(
        Slip(
            "no-causal-mask",
            partial(decoder_block, ahead=99),
            "its words see later words. The first look needs the causal mask: `tril`.",
        ),
        Slip(
            "sees-the-next",
            partial(decoder_block, ahead=1),
            "each word sees the next one. `tril()` without a number keeps the diagonal and below.",
        ),
        Slip("looks-ahead-only", looks_ahead_only, "the causal mask is turned round: `tril`, not `triu`."),
        Slip(
            "cross-from-itself",
            partial(in_steps, across="itself"),
            "keys and values of the second look are made from `x`, so the source is never seen. They come "
            "from `memory`.",
            misconception="M14",
        ),
        Slip(
            "causal-across",
            partial(in_steps, across="causal"),
            "the causal mask lies on the look across, too. The source is known from the start: only "
            "`mask` counts there.",
            misconception="M25",
        ),
        Slip(
            "memory-normed",
            memory_normed,
            "the memory goes through `around_cross.norm`. It comes out of the encoder's last norm already; "
            "only the words that ask are normalised here.",
        ),
        Slip(
            "ignores-mask",
            mask_ignored,
            "`mask` changes nothing: padding of the source is looked at. Hand it to the second look.",
        ),
        Slip(
            "same-matrices",
            same_matrices,
            "both looks use the matrices of `attention`. The look across has its own: `cross.w_query` and so "
            "on.",
        ),
        Slip(
            "not-turned",
            not_transposed,
            "the matrices of the looks are not turned: `many_heads` wants each as `.T`. (By hand nobody "
            "notices: there they are the same turned round.)",
        ),
        Slip(
            "diagonal-closed",
            partial(decoder_block, ahead=-1),
            "no word may look at itself. The causal mask keeps the diagonal: j ≤ i.",
        ),
        Slip(
            "cross-first",
            partial(in_steps, order=("cross", "attention")),
            "the look across comes first. Its own past comes before it.",
        ),
        Slip(
            "path-normed",
            partial(in_steps, path_normed=True),
            "the *normalised* words are added. The path takes x as it came: `x + layer(norm(x))`.",
        ),
        Slip(
            "keys-for-values",
            keys_for_values,
            "across, keys and values have changed places. The order is query, key, value, output.",
        ),
        Slip(
            "norm-of-the-first-look",
            norm_of_self_attention,
            "the look across uses the norm of the first look. It has its own: `around_cross.norm`.",
        ),
        Slip(
            "no-self-attention",
            partial(without, attention="attention"),
            "the decoder's words never look at one another.",
        ),
        Slip(
            "no-cross-attention",
            partial(without, attention="cross"),
            "the memory changes nothing: the look across is missing.",
        ),
        Slip(
            "post-norm",
            partial(in_steps, post_norm=True),
            "the norms come after the additions. Here each comes before its layer, as in lesson 13.",
        ),
    ),
)


# ---- the test of it

TEST_PARTS = decoder_parts(8, seed=500)


def with_weights_inside(block: Callable) -> Callable:
    return lambda x, memory: block(x, memory, TEST_PARTS, 2)


def word_by_word(x, memory):
    """Each output from the words up to its position, which needs no causal mask."""
    outputs = [decoder_block(x[:, : n + 1], memory, TEST_PARTS, 2)[:, -1:] for n in range(x.shape[1])]
    return torch.cat(outputs, dim=1)


def careful_test(block: Callable) -> None:
    x, memory = normal(1, 5, 8, seed=1), normal(1, 6, 8, seed=2)
    before = block(x, memory)
    for position in range(1, 5):
        changed = x.clone()
        changed[:, position] = normal(8, seed=position)
        after = block(changed, memory)
        assert torch.allclose(before[:, :position], after[:, :position], atol=1e-5)
        assert not torch.allclose(before[:, -1], after[:, -1], atol=1e-5)
    for position in range(6):
        changed = memory.clone()
        changed[:, position] += 1
        assert not torch.allclose(before[:, 0], block(x, changed)[:, 0], atol=1e-5)


TEST_DECODER = TestExercise(
    name="test_decoder",
    lesson=TOPIC,
    inputs={"block": "a function"},
    of=replace(
        DECODER_BLOCK,
        name="block",
        inputs=("x", "memory"),
        reference=with_weights_inside(decoder_block),
        slips=tuple(replace(slip, wrong=with_weights_inside(slip.wrong)) for slip in DECODER_BLOCK.slips),
    ),
    what="decoder block",
    accepts={"word by word, without a mask": word_by_word},
    rejects={
        "no-causal-mask": "lets every word see all words of the target",
        "sees-the-next": "lets each word see the next one",
        "looks-ahead-only": "looks ahead and not back",
        "cross-from-itself": "never looks at the memory",
        "causal-across": "hides the end of the source from the first words",
    },
    reference=careful_test,
)


# ---- the logits


def decode_logits(target, memory, weights, n_heads, n_layers, mask=None, *, wiring: Wiring = RIGHT):
    sizes = {"n_heads": n_heads, "n_layers": n_layers, "mask": mask, "wiring": wiring}
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


def probabilities(*inputs):
    return decode_logits(*inputs).softmax(-1)


def scaled_output(target, memory, weights, n_heads, n_layers, mask=None):
    bias = weights["words.output.bias"]
    without_bias = decode_logits(target, memory, weights, n_heads, n_layers, mask) - bias
    return without_bias * math.sqrt(memory.shape[-1]) + bias


def encoders_norm(target, memory, weights, n_heads, n_layers, mask=None):
    swapped = {
        f"decoder.last_norm.{kind}": weights[f"encoder.last_norm.{kind}"] for kind in ("weight", "bias")
    }
    return decode_logits(target, memory, weights | swapped, n_heads, n_layers, mask)


DECODE_LOGITS = PlainExercise(
    name="decode_logits",
    lesson=TOPIC,
    inputs=("target", "memory", "weights", "n_heads", "n_layers", "mask"),
    reference=decode_logits,
    library=library_decoder,
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
        says="The word comes in as (1, 3), and the block makes (3, 6) of it. Last norm: (−1, 1). Its dot "
        "product with row 0 of the table, (0.707, 1.414), is 0.707, plus bias 0; with row 1, (2, 5), it is "
        "3, plus 10.",
    ),
    others=(
        decode_case(1, 4, 5, 8, 2, 2, seed=0),
        decode_case(3, 3, 4, 6, 3, 3, seed=100),
        decode_case(2, 2, 3, 4, 1, 1, seed=200),
    ),
    slips=(
        Slip(
            "no-bias",
            partial(decode_logits, wiring=Wiring(bias=False)),
            "the output's bias is missing. The paper's tied output has none; ours has: `words.output.bias`.",
        ),
        Slip(
            "no-last-norm",
            partial(decode_logits, wiring=Wiring(last_norm=False)),
            "the last norm is missing: `decoder.last_norm`, before the table.",
        ),
        Slip(
            "encoders-norm",
            encoders_norm,
            "the *encoder's* last norm is used at the end. The decoder has its own.",
        ),
        Slip(
            "ignores-mask",
            partial(decode_logits, wiring=Wiring(masked=False)),
            "`mask` changes nothing. Hand it to every block.",
        ),
        Slip(
            "softmax",
            probabilities,
            "these are shares, after a softmax. Logits are asked for: whoever uses them takes the softmax.",
            misconception="M29",
        ),
        Slip(
            "scaled-at-the-end",
            scaled_output,
            "√d_model comes in at the output, too. It belongs to the words that come in.",
        ),
        Slip(
            "no-root",
            partial(decode_logits, wiring=Wiring(scaled=False)),
            "the words come in without √d_model. Use your `embed`.",
        ),
    ),
)


# ---- the first difference


def first_difference(mine, theirs, tolerance):
    for name, expected in theirs.items():
        if not (mine[name] - expected).abs().max() <= tolerance:
            return name
    return "nowhere"


def last_difference(mine, theirs, tolerance):
    return next(
        (
            name
            for name in reversed(theirs)
            if first_difference(mine, {name: theirs[name]}, tolerance) == name
        ),
        "nowhere",
    )


def largest_difference(mine, theirs, tolerance):
    gaps = {name: (mine[name] - theirs[name]).abs().max().item() for name in theirs}
    name = max(gaps, key=gaps.get)
    return name if gaps[name] > tolerance else "nowhere"


def signed_difference(mine, theirs, tolerance):
    return next((name for name in theirs if (mine[name] - theirs[name]).max() > tolerance), "nowhere")


def nan_passes(mine, theirs, tolerance):
    return next((name for name in theirs if (mine[name] - theirs[name]).abs().max() > tolerance), "nowhere")


def mean_difference(mine, theirs, tolerance):
    return next(
        (name for name in theirs if not (mine[name] - theirs[name]).abs().mean() <= tolerance), "nowhere"
    )


def relative_too(mine, theirs, tolerance):
    for name in theirs:
        if not torch.allclose(mine[name], theirs[name], atol=tolerance):
            return name
    return "nowhere"


def bit_by_bit(mine, theirs, tolerance):
    return next((name for name in theirs if not torch.equal(mine[name], theirs[name])), "nowhere")


def stages_case(changes: dict[str, float], *, nan: bool = False) -> Callable[[], tuple]:
    names = ("words", "block 0", "block 1", "norm", "logits")

    def make() -> tuple:
        theirs = {name: normal(2, 3, 4, seed=i) for i, name in enumerate(names)}
        mine = {name: states.clone() for name, states in theirs.items()}
        for name, change in changes.items():
            mine[name][1, 2, 3] += float("nan") if nan and change else change
        return mine, theirs, 1e-4

    return make


def at_large_numbers() -> tuple:
    """A difference above the tolerance, but small relative to the numbers."""
    theirs = {name: torch.full((2, 3), 1000.0) for name in ("words", "block", "out")}
    mine = theirs | {"block": theirs["block"] + 0.015, "out": theirs["out"] + 9.0}
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
    reference=first_difference,
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
        says="`words` agrees. In `block` one number is 1 off, more than 0.1. What comes after is no news.",
    ),
    others=(
        stages_case({}),
        stages_case({"block 1": -0.3, "norm": 2.0, "logits": 7.0}),
        stages_case({"words": 2e-5, "logits": 1e-3}),
        stages_case({"block 0": 1.0, "block 1": 3.0, "norm": 1.0}, nan=True),
        stages_case({"norm": 3e-4}),
        stages_case({"words": 0.2, "norm": 0.5}),
        at_large_numbers,
        small_everywhere,
        in_the_first_number,
    ),
    slips=(
        Slip("last-one", last_difference, "that is the *last* stage that differs. Stop at the first one."),
        Slip(
            "largest",
            largest_difference,
            "that is the stage that differs *most*. Mistakes grow on their way; the first one is wanted.",
        ),
        Slip(
            "sign-forgotten",
            signed_difference,
            "a number that is too small goes unnoticed. Take the difference without its sign: `.abs()`.",
        ),
        Slip(
            "nan-passes",
            nan_passes,
            "`nan` passes: `nan > tolerance` is False, and so is every comparison with it. Ask the other way "
            "round: `not gap <= tolerance`.",
        ),
        Slip(
            "in-the-mean",
            mean_difference,
            "the *mean* difference is compared, so one wrong number among many hides. Take the largest.",
        ),
        Slip(
            "relative-too",
            relative_too,
            "a large number may be off by more than `tolerance`: `torch.allclose` also allows a share of the "
            "number, `rtol`. Say `rtol=0`.",
        ),
        Slip(
            "bit-by-bit",
            bit_by_bit,
            "it asks for the same bits. Rounding differs: up to `tolerance` is the same.",
        ),
    ),
)

EXERCISES = (
    PARTS_OF, EMBED, ENCODE_SOURCE, DECODER_BLOCK, TEST_DECODER, DECODE_LOGITS, FIRST_DIFFERENCE,
)  # fmt: skip
