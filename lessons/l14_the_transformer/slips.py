"""Wrong versions of the functions that lesson 14 asks for, each with what to tell its author."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor
from torch.nn import functional as F

from course_lib.layers.feed_forward import feed_forward
from course_lib.layers.positions import sinusoids
from course_lib.teaching.exercises import Slip
from lessons.l14_the_transformer import by_parts as library

TABLE, BIAS = "words.output.weight", "words.output.bias"

# ---- embed


def positions_of(tokens: Tensor, table: Tensor) -> Tensor:
    return sinusoids(tokens.shape[1], table.shape[1])


def embed_with(
    scale: Callable[[Tensor, Tensor], float] = lambda tokens, table: math.sqrt(table.shape[1]),
    positions: Callable[[Tensor, Tensor], Tensor | float] = positions_of,
    rows: Callable[[Tensor, Tensor], Tensor] = lambda tokens, table: table[tokens],
) -> Callable:
    """Rows times scale, plus positions; each is a function of the tokens and the table."""
    return lambda tokens, table: rows(tokens, table) * scale(tokens, table) + positions(tokens, table)


NO_ROOT = {"scale": lambda tokens, table: 1.0}
NO_POSITIONS = {"positions": lambda tokens, table: 0.0}


def is_word(tokens: Tensor) -> Tensor:
    return (tokens != 0)[..., None]


PADDING = (
    "padding (token 0) is set to zeros. Every token gets its row and its position; a mask hides the "
    "padding later."
)
# fmt: off
EMBED = (
    Slip("no-root", embed_with(**NO_ROOT),
        "the rows of `table` aren't multiplied by √d_model."),
    Slip("root-of-sum", lambda *both: (both[1][both[0]] + positions_of(*both)) * both[1].shape[1] ** 0.5,
        "the positions are multiplied by √d_model too. Scale the rows first, then add the positions."),
    Slip("times-d-model", embed_with(scale=lambda tokens, table: table.shape[1]),
        "the rows are multiplied by d_model instead of its square root."),
    Slip("divided", embed_with(scale=lambda tokens, table: table.shape[1] ** -0.5),
        "the rows are *divided* by √d_model. Attention scores are divided by √d_k, but embeddings are "
        "multiplied by √d_model."),
    Slip("no-positions", embed_with(**NO_POSITIONS),
        "no positions are added, so *cat bites dog* and *dog bites cat* get the same vectors."),
    Slip("rows-only", embed_with(**NO_ROOT, **NO_POSITIONS),
        "these are just the rows of `table`. Multiply them by √d_model and add the positions."),
    Slip("root-on-positions",
        embed_with(**NO_ROOT, positions=lambda *both: positions_of(*both) * both[1].shape[1] ** 0.5),
        "the positions are multiplied by √d_model, and the rows of `table` aren't. It should be the other "
        "way round."),
    Slip("all-divided", lambda tokens, table: embed_with(**NO_ROOT)(tokens, table) / table.shape[1] ** 0.5,
        "the sum is divided by √d_model. Only the rows of `table` are scaled, and they are multiplied."),
    Slip("positions-divided",
        embed_with(**NO_ROOT, positions=lambda *both: positions_of(*both) / both[1].shape[1] ** 0.5),
        "the positions are divided by √d_model. Multiply the rows of `table` instead, and leave the "
        "positions as they are."),
    Slip("positions-subtracted", embed_with(positions=lambda *both: -positions_of(*both)),
        "the positions are subtracted. Add them."),
    Slip("root-of-64", embed_with(scale=lambda tokens, table: 8.0),
        "the rows are always multiplied by 8, which is right only if d_model is 64. Compute the factor from "
        "the shape of `table`."),
    Slip("root-of-length", embed_with(scale=lambda tokens, table: tokens.shape[1] ** 0.5),
        "the factor is the square root of the sentence's length. It should be √d_model, the square root of "
        "the number of columns of `table`."),
    Slip("root-of-vocabulary", embed_with(scale=lambda tokens, table: len(table) ** 0.5),
        "the factor is the square root of the vocabulary's size. `table` is (vocab, d_model), so d_model "
        "is its second axis."),
    Slip("rounded-root", embed_with(scale=lambda tokens, table: math.isqrt(table.shape[1])),
        "√d_model is rounded down to a whole number. Keep the decimals."),
    Slip("one-position", embed_with(positions=lambda tokens, table: sinusoids(1, table.shape[1])),
        "every word gets position 0. `sinusoids` needs as many positions as there are words."),
    Slip("positions-from-1",
        embed_with(positions=lambda tokens, table: sinusoids(tokens.shape[1] + 1, table.shape[1])[1:]),
        "the positions start at 1. The first word has position 0."),
    Slip("positions-by-token", embed_with(positions=lambda tokens, table: sinusoids(*table.shape)[tokens]),
        "a word's token id is used as its position. Its position is where it is in the sentence: 0, 1, 2, …"),
    Slip("positions-by-sentence",
        embed_with(positions=lambda tokens, table: sinusoids(len(tokens), table.shape[1])[:, None]),
        "the positions count the sentences of the batch, not the words of a sentence."),
    Slip("padding-zeroed", lambda tokens, table: library.embed(tokens, table) * is_word(tokens), PADDING),
    Slip("padding-rows-zeroed", embed_with(rows=lambda tokens, table: table[tokens] * is_word(tokens)),
        PADDING),
    Slip("first-sentence", embed_with(rows=lambda tokens, table: table[tokens[0]].expand(*tokens.shape, -1)),
        "every sentence of the batch gets the embeddings of the first one."),
    Slip("rows-normalised", embed_with(rows=lambda tokens, table: F.normalize(table, dim=-1)[tokens]),
        "the rows are scaled to length 1 first. Use them as they are."),
)
# fmt: on


# ---- encode_source


def keep(x: Tensor, weights: dict[str, Tensor]) -> Tensor:
    return x


def last_norm(side: str, *, weight: bool = True, bias: bool = True) -> Callable:
    def norm(x: Tensor, weights: dict[str, Tensor]) -> Tensor:
        options = {"weight": weight, "bias": bias}
        chosen = {kind: weights[f"{side}.last_norm.{kind}"] for kind, used in options.items() if used}
        return F.layer_norm(x, x.shape[-1:], **chosen)

    return norm


def swapped_norm(side: str) -> Callable:
    def norm(x: Tensor, weights: dict[str, Tensor]) -> Tensor:
        bias, weight = (weights[f"{side}.last_norm.{kind}"] for kind in ("weight", "bias"))
        return F.layer_norm(x, x.shape[-1:], weight, bias)

    return norm


ENCODER_NORM, DECODER_NORM = last_norm("encoder"), last_norm("decoder")


def count_blocks(n_layers: int, weights: dict[str, Tensor]) -> range:
    """All in the file, however many are asked for."""
    return range(sum(name.startswith("encoder.blocks.") and name.endswith(".w_key") for name in weights))


def encode_with(
    source, weights, n_heads, n_layers, mask=None, *,
    words=library.embed, before=keep, blocks=lambda n_layers, weights: range(n_layers), side="encoder",
    masks=lambda source, mask, i, n: mask, from_words=False, residual=False, after_each=keep,
    end=ENCODER_NORM,
):  # fmt: skip
    """The encoder, with options that make it wrong. `masks` returns the mask of block i of n."""
    start = x = before(words(source, weights[TABLE]), weights)
    for number, block in enumerate(blocks(n_layers, weights)):
        parts = library.parts_of(weights, f"{side}.blocks.{block}")
        seen = masks(source, mask, number, n_layers)
        output, _ = library.block(start if from_words else x, parts, n_heads=n_heads, self_mask=seen)
        x = after_each(x + output if residual else output, weights)
    return end(x, weights)


def padding_zeroed(source, weights, n_heads, n_layers, mask=None):
    memory = encode_with(source, weights, n_heads, n_layers, mask)
    return memory if mask is None else memory * mask[:, 0, 0, :, None]


def list_states(source, weights, n_heads, n_layers, mask=None):
    sizes = {"n_heads": n_heads, "n_layers": n_layers, "mask": mask}
    states = library.encoder_stages(source, weights, **sizes)[0]
    return [state for name, state in states.items() if name != f"encoder {n_layers - 1}"]


USE_EMBED = "Call `embed`."
# fmt: off
ENCODE_SOURCE = (
    Slip("no-last-norm", partial(encode_with, end=keep),
        "the last norm is missing. Apply `encoder.last_norm` after the last block."),
    Slip("norm-first", partial(encode_with, before=ENCODER_NORM, end=keep),
        "the last norm is applied to the embedded words, before the blocks. It comes after the last block."),
    Slip("norm-in-between", partial(encode_with, after_each=ENCODER_NORM, end=keep),
        "the last norm is applied after every block. It comes only once, after the last block."),
    Slip("decoders-norm", partial(encode_with, end=DECODER_NORM),
        "the last norm is the *decoder's*. The encoder has its own, `encoder.last_norm`."),
    Slip("norm-after-each-and-last", partial(encode_with, after_each=ENCODER_NORM),
        "the last norm is applied after every block and once more at the end. It comes only once, after the "
        "last block."),
    Slip("norm-swapped", partial(encode_with, end=swapped_norm("encoder")),
        "the weight and the bias of the last norm are swapped."),
    Slip("norm-without-weights", partial(encode_with, end=last_norm("encoder", weight=False, bias=False)),
        "the last norm is applied without its learned weight and bias."),
    Slip("norm-without-bias", partial(encode_with, end=last_norm("encoder", bias=False)),
        "the last norm is applied without its bias."),
    Slip("ignores-mask", partial(encode_with, masks=lambda source, mask, i, n: None),
        "`mask` has no effect, so the words attend to padding. Pass it to every block."),
    Slip("mask-in-the-first-block",
        partial(encode_with, masks=lambda source, mask, i, n: mask if i == 0 else None),
        "only the first block gets the mask. Pass it to every block."),
    Slip("mask-in-the-last-block",
        partial(encode_with, masks=lambda source, mask, i, n: mask if i == n - 1 else None),
        "only the last block gets the mask. Pass it to every block."),
    Slip("mask-inverted",
        partial(encode_with, masks=lambda source, mask, i, n: None if mask is None else ~mask),
        "the mask is inverted, so the words attend to padding only. True marks the words that may be "
        "attended to."),
    Slip("own-mask", partial(encode_with, masks=lambda source, mask, i, n: (source != 0)[:, None, None]),
        "a mask is computed from the token ids, and the one in `mask` is ignored. Pass `mask` to the "
        "blocks."),
    Slip("causal", partial(encode_with, masks=lambda source, mask, i, n: library.causal(source.shape[1])),
        "the blocks get a causal mask. The encoder may attend to the whole source: only `mask` hides "
        "anything."),
    Slip("no-root", partial(encode_with, words=embed_with(**NO_ROOT)),
        f"the embeddings aren't multiplied by √d_model. {USE_EMBED}"),
    Slip("scaled-again",
        partial(encode_with, words=lambda tokens, table: library.embed(tokens, table) *
            table.shape[1] ** 0.5),
        "the embedded words are multiplied by √d_model once more. `embed` does that already."),
    Slip("no-positions", partial(encode_with, words=embed_with(**NO_POSITIONS)),
        f"no positions are added to the words. {USE_EMBED}"),
    Slip("rows-only", partial(encode_with, words=embed_with(**NO_ROOT, **NO_POSITIONS)),
        "the rows of the embedding matrix go into the first block as they are, without √d_model and without "
        f"positions. {USE_EMBED}"),
    Slip("one-block-again", partial(encode_with, blocks=lambda n_layers, weights: [0] * n_layers),
        "every block uses the weights of block 0. Block i has its own, `encoder.blocks.i`."),
    Slip("first-block-only", partial(encode_with, blocks=lambda n_layers, weights: [0]),
        "only one block is applied. There are `n_layers` blocks."),
    Slip("no-blocks", partial(encode_with, blocks=lambda n_layers, weights: []),
        "the blocks are missing: this is the last norm of the embedded words."),
    Slip("last-block-again", partial(encode_with, blocks=lambda n_layers, weights: [n_layers - 1] * n_layers),
        "every block uses the weights of the last one. Block i has its own, `encoder.blocks.i`."),
    Slip("one-block-too-many", partial(encode_with, blocks=lambda n_layers, weights: range(n_layers + 1)),
        "an extra block is applied. The blocks are numbered from 0 to `n_layers` − 1."),
    Slip("last-block-missing", partial(encode_with, blocks=lambda n_layers, weights: range(n_layers - 1)),
        "the last block is missing. The blocks are numbered from 0 to `n_layers` − 1."),
    Slip("starts-at-1", partial(encode_with, blocks=lambda n_layers, weights: range(1, n_layers + 1)),
        "the first block that is used is block 1. The blocks are numbered from 0 to `n_layers` − 1."),
    Slip("first-block-missing", partial(encode_with, blocks=lambda n_layers, weights: range(1, n_layers)),
        "block 0 is missing. The blocks are numbered from 0 to `n_layers` − 1."),
    Slip("n-layers-ignored", partial(encode_with, blocks=count_blocks),
        "`n_layers` is ignored. Apply that many blocks, even if the file has more."),
    Slip("layers-reversed", partial(encode_with, blocks=lambda n_layers, weights: reversed(range(n_layers))),
        "the blocks are in reverse order. Block 0 is the first."),
    Slip("from-the-words", partial(encode_with, from_words=True),
        "every block starts from the embedded words, so only the last block has an effect. Pass the output "
        "of each block to the next."),
    Slip("residual-around-blocks", partial(encode_with, residual=True),
        "the input of each block is added to its output once more. The residual connections are inside the "
        "block."),
    Slip("decoders-blocks", partial(encode_with, side="decoder"),
        "the weights are those of the *decoder's* blocks. Use `encoder.blocks`."),
    Slip("four-heads",
        lambda source, weights, n_heads, n_layers, mask=None: encode_with(source, weights, 4,
            n_layers, mask),
        "the number of heads is always 4. Pass `n_heads` to the blocks."),
    Slip("one-head",
        lambda source, weights, n_heads, n_layers, mask=None: encode_with(source, weights, 1, n_layers, mask),
        "the number of heads is always 1. Pass `n_heads` to the blocks."),
    Slip("padding-zeroed", padding_zeroed,
        "the vectors of the padding are set to zeros. Leave them as they are: the mask hides them in the "
        "decoder too."),
    Slip("all-states", list_states,
        "this is a list of the states after every stage. Return only the last one, the memory."),
)
# fmt: on


# ---- decoder_block


STEPS = ("attention", "cross", "feed_forward")


def causal(ahead: int = 0) -> Callable:
    return lambda m, n, mask: library.causal(m, ahead)


CAUSAL = causal()


def causal_rectangle(m: int, n: int, mask: Tensor | None) -> Tensor:
    return torch.ones(m, n, dtype=torch.bool).tril()


def both_masks(mask: Tensor | None, other: Tensor) -> Tensor:
    return other if mask is None else mask & other


def block_with(
    *, steps=STEPS, self_mask=CAUSAL, cross_mask=lambda m, n, mask: mask,
    own=lambda words, x, memory: (words, words), cross=lambda words, memory: (words, memory),
    no_norm=(), no_residual=(), reads_input=(), adds_to="x", post_norm=False, heads=None,
    parts_of=lambda parts: {},
):  # fmt: skip
    """The block, with options that make it wrong.

    A mask is a function of m, n and the mask of the source. `own` and `cross` return the queries and the
    source of the two attentions. The next three options name the steps that lack something or that read the
    input of the block. `adds_to` is "x", "normed" or "input". `parts_of` returns weights that replace others.
    """

    def block(x, memory, parts, n_heads, mask=None):
        block_input, parts, sizes = x, parts | parts_of(parts), (x.shape[1], memory.shape[1], mask)

        def layer(name: str, words: Tensor) -> Tensor:
            if name == "feed_forward":
                return feed_forward(words, **library.feed_forward_weights(parts))
            pair, own_mask = cross(words, memory), cross_mask(*sizes)
            if name == "attention":
                pair, own_mask = own(words, x, memory), self_mask(*sizes)
            options = {"n_heads": heads or n_heads, "mask": own_mask}
            return library.multi_head_attention(*pair, parts, name, **options)[0]

        for name in steps:
            norm_of = partial(library.norm, parts=parts, name=f"around_{name}.norm")
            if post_norm:
                x = norm_of(x + layer(name, x))
                continue
            read = block_input if name in reads_input else x
            words = read if name in no_norm else norm_of(read)
            residual = {"x": x, "normed": words, "input": block_input}[adds_to]
            x = layer(name, words) + (0 if name in no_residual else residual)
        return x

    return block


def swap_matrices(one: str, other: str, attentions: tuple[str, ...] = ("attention", "cross")) -> Callable:
    pairs = [
        (f"{name}.w_{a}", f"{name}.w_{b}") for name in attentions for a, b in ((one, other), (other, one))
    ]
    return lambda parts: {a: parts[b] for a, b in pairs}


def use_other_norm(name: str, other: str) -> Callable:
    return lambda parts: {
        f"around_{name}.norm.{kind}": parts[f"around_{other}.norm.{kind}"] for kind in ("weight", "bias")
    }


def same_matrices(
    parts: dict[str, Tensor], name: str = "cross", other: str = "attention"
) -> dict[str, Tensor]:
    return {f"{name}.w_{kind}": parts[f"{other}.w_{kind}"] for kind in ("query", "key", "value", "output")}


def transpose(*names: str) -> Callable:
    """All matrices of attention whose names contain one of these."""
    return lambda parts: {
        key: w.T for key, w in parts.items() if ".w_" in key and any(n in key for n in names)
    }


def memory_normed(x, memory, parts, n_heads, mask=None):
    return block_with()(x, library.norm(memory, parts, "around_cross.norm"), parts, n_heads, mask)


def without_step(name: str) -> Callable:
    return block_with(steps=tuple(step for step in STEPS if step != name))


SOURCE_ONLY = (
    "`mask` belongs to cross-attention: it hides the padding of the source. Self-attention gets a causal "
    "mask of its own."
)
FROM_ITSELF = (
    "the keys and values of cross-attention come from `x`, so the decoder never sees the source. They "
    "should come from `memory`."
)
CAUSAL_ACROSS = (
    "cross-attention has a causal mask too. The whole source is known from the start, so only `mask` "
    "applies there."
)
PRE_NORM = "Each layer gets normalised words: `x + layer(norm(x))`."
RESIDUAL = "Each step adds the layer's output to `x`: `x + layer(norm(x))`."
NAMES_OF_STEPS = {"attention": "self-attention", "cross": "cross-attention", "feed_forward": "feed-forward"}
# fmt: off
DECODER_BLOCK = (
    Slip("no-causal-mask", block_with(self_mask=lambda m, n, mask: None),
        "words attend to later words. Self-attention needs a causal mask."),
    Slip("no-masks", block_with(self_mask=lambda m, n, mask: None, cross_mask=lambda m, n, mask: None),
        "both masks are missing. Self-attention needs a causal mask, and cross-attention needs `mask`."),
    Slip("sees-the-next", block_with(self_mask=causal(1)),
        "each word also attends to the next one. In the causal mask, position i may attend to j ≤ i."),
    Slip("diagonal-closed", block_with(self_mask=causal(-1)),
        "no word attends to itself. The causal mask includes the diagonal: j ≤ i."),
    Slip("looks-ahead-only", block_with(self_mask=lambda m, n, mask: library.causal(m).T),
        "the causal mask is transposed, so words attend to themselves and to *later* words. Rows are "
        "queries, columns are keys."),
    Slip("causal-inverted", block_with(self_mask=lambda m, n, mask: ~library.causal(m)),
        "the causal mask is inverted. In this course, True means that a word may be attended to."),
    Slip("source-mask-only", block_with(self_mask=lambda m, n, mask: mask), SOURCE_ONLY),
    Slip("source-mask-too", block_with(self_mask=lambda m, n, mask: both_masks(mask, library.causal(m))),
        SOURCE_ONLY),
    Slip("masks-swapped", block_with(self_mask=lambda m, n, mask: mask, cross_mask=CAUSAL),
        f"the two masks are swapped. {SOURCE_ONLY}"),
    Slip("cross-from-itself",
        block_with(cross=lambda words, memory: (words, words), cross_mask=lambda m, n, mask: None),
        FROM_ITSELF, misconception="M14"),
    Slip("cross-from-itself-masked", block_with(cross=lambda words, memory: (words, words)),
        FROM_ITSELF, misconception="M14"),
    Slip("cross-from-itself-causal",
        block_with(cross=lambda words, memory: (words, words), cross_mask=CAUSAL),
        FROM_ITSELF, misconception="M14"),
    Slip("memory-twice",
        block_with(own=lambda words, x, memory: (words, memory), self_mask=lambda m, n, mask: mask),
        "both attentions attend to `memory`. In self-attention, queries, keys and values all come from `x`."),
    Slip("keys-not-normed", block_with(own=lambda words, x, memory: (words, x)),
        "in self-attention, only the queries are normalised. Compute the keys and values from the "
        "normalised words too."),
    Slip("queries-from-memory", block_with(cross=lambda words, memory: (memory, words)),
        "in cross-attention, the queries come from `memory`, and the keys and values from `x`. It should be "
        "the other way round."),
    Slip("causal-across", block_with(cross_mask=causal_rectangle), CAUSAL_ACROSS, misconception="M25"),
    Slip("causal-across-masked",
        block_with(cross_mask=lambda m, n, mask: both_masks(mask, causal_rectangle(m, n, mask))),
        CAUSAL_ACROSS, misconception="M25"),
    Slip("ignores-mask", block_with(cross_mask=lambda m, n, mask: None),
        "`mask` has no effect, so the decoder attends to the padding of the source. Pass it to "
        "cross-attention."),
    Slip("mask-inverted", block_with(cross_mask=lambda m, n, mask: None if mask is None else ~mask),
        "`mask` is inverted, so the decoder attends only to the padding. True marks the words that may be "
        "attended to."),
    Slip("memory-normed", memory_normed,
        "the memory is normalised again. The encoder's last norm has done that; in cross-attention, only the "
        "queries are normalised."),
    Slip("same-matrices", block_with(parts_of=same_matrices),
        "both attentions use the matrices of `attention`. Cross-attention has its own: `cross.w_query` and "
        "so on."),
    Slip("cross-matrices-twice", block_with(parts_of=partial(same_matrices, name="attention", other="cross")),
        "both attentions use the matrices of `cross`. Self-attention has its own: `attention.w_query` and so "
        "on."),
    Slip("not-turned", block_with(parts_of=transpose("")),
        "the matrices of attention are transposed. `many_heads` computes `x @ w.T` itself, so pass them as "
        "they are. The worked example doesn't show it, because its matrices are symmetric."),
    Slip("cross-not-turned", block_with(parts_of=transpose("cross")),
        "the matrices of cross-attention are transposed. `many_heads` computes `x @ w.T` itself, so pass "
        "them as they are."),
    Slip("self-not-turned", block_with(parts_of=transpose("attention")),
        "the matrices of self-attention are transposed. `many_heads` computes `x @ w.T` itself, so pass "
        "them as they are."),
    Slip("output-not-turned", block_with(parts_of=transpose("output")),
        "`w_output` is transposed. Pass all four matrices to `many_heads` as they are."),
    Slip("keys-for-values", block_with(parts_of=swap_matrices("key", "value", ("cross",))),
        "in cross-attention, the matrices for keys and values are swapped. The order is query, key, value, "
        "output."),
    Slip("keys-for-values-twice", block_with(parts_of=swap_matrices("key", "value")),
        "the matrices for keys and values are swapped. The order is query, key, value, output."),
    Slip("keys-for-queries", block_with(parts_of=swap_matrices("key", "query")),
        "the matrices for queries and keys are swapped. The order is query, key, value, output."),
    Slip("norm-of-self-attention", block_with(parts_of=use_other_norm("cross", "attention")),
        "cross-attention uses the norm of self-attention. It has its own, `around_cross.norm`."),
    Slip("norm-of-cross-attention", block_with(parts_of=use_other_norm("feed_forward", "cross")),
        "the feed-forward layer uses the norm of cross-attention. It has its own, "
        "`around_feed_forward.norm`."),
    Slip("no-self-attention", without_step("attention"),
        "self-attention is missing, so the words of the target never attend to each other."),
    Slip("no-cross-attention", without_step("cross"),
        "cross-attention is missing, so `memory` has no effect."),
    Slip("no-feed-forward", without_step("feed_forward"), "the feed-forward layer is missing."),
    Slip("cross-first", block_with(steps=("cross", "attention", "feed_forward")),
        "cross-attention comes first. Self-attention should come before it."),
    Slip("feed-forward-early", block_with(steps=("attention", "feed_forward", "cross")),
        "the feed-forward layer comes before cross-attention. It should be the last step."),
    Slip("post-norm", block_with(post_norm=True),
        "the norms come after the additions (post-norm). Here each comes before its layer, as in lesson 13. "
        f"{PRE_NORM}"),
    Slip("no-norms", block_with(no_norm=STEPS), f"the norms are missing. {PRE_NORM}"),
    *(
        Slip(f"no-norm-{step.replace('_', '-')}", block_with(no_norm=(step,)),
                f"the words aren't normalised before {name}. {PRE_NORM}")
        for step, name in NAMES_OF_STEPS.items()
    ),
    Slip("no-residuals", block_with(no_residual=STEPS), f"the residual connections are missing. {RESIDUAL}"),
    *(
        Slip(f"no-residual-{step.replace('_', '-')}", block_with(no_residual=(step,)),
                f"the residual connection around {name} is missing. {RESIDUAL}")
        for step, name in NAMES_OF_STEPS.items()
    ),
    Slip("path-normed", block_with(adds_to="normed"),
        f"the *normalised* words are added. The residual connection takes x as it is. {PRE_NORM}"),
    Slip("adds-to-the-input", block_with(adds_to="input"),
        "each step adds to the input of the block, so what earlier steps added is lost. Add to the result "
        "of the step before."),
    Slip("in-parallel", block_with(reads_input=STEPS),
        "all three layers get the input of the block. Each should get the result of the step before."),
    Slip("cross-reads-the-input", block_with(reads_input=("cross",)),
        "the queries of cross-attention are computed from the input of the block. They should be computed "
        "from the result of self-attention."),
    Slip("four-heads", block_with(heads=4), "there are always four heads. Use `n_heads`."),
    Slip("one-head", block_with(heads=1), "there is always one head. Use `n_heads`."),
)
# fmt: on


# ---- decode_logits


def score(x: Tensor, weights: dict[str, Tensor]) -> Tensor:
    return x @ weights[TABLE].T + weights[BIAS]


def decode_with(
    *, words=library.embed, masks=lambda mask: mask, after_each=keep, end=DECODER_NORM, scores=score
) -> Callable:
    """The decoder, with options that make it wrong; the last three are functions of x and the weights."""

    def decode(target, memory, weights, n_heads, n_layers, mask=None):
        x = words(target, weights[TABLE])
        for layer in range(n_layers):
            parts = library.parts_of(weights, f"decoder.blocks.{layer}")
            x = after_each(block_with()(x, memory, parts, n_heads, masks(mask)), weights)
        return scores(end(x, weights), weights)

    return decode


def then(function: Callable[[Tensor], Tensor]) -> Callable:
    """The decoder with something done to its logits."""
    return decode_with(scores=lambda x, weights: function(score(x, weights)))


def forbid_padding(logits: Tensor) -> Tensor:
    return logits.index_fill(-1, torch.tensor([0]), -math.inf)


def cosine_scores(x: Tensor, weights: dict[str, Tensor]) -> Tensor:
    return F.normalize(x, dim=-1) @ F.normalize(weights[TABLE], dim=-1).T + weights[BIAS]


def scaled_scores(power: float) -> Callable:
    return lambda x, weights: x @ weights[TABLE].T * x.shape[-1] ** power + weights[BIAS]


LOGITS = (
    "Return the dot products plus the bias as they are; the loss and the decoder apply a softmax if needed."
)
# fmt: off
DECODE_LOGITS = (
    Slip("no-bias", decode_with(scores=lambda x, weights: x @ weights[TABLE].T),
        "the bias of the output layer is missing. The paper's model has none, but ours does: "
        "`words.output.bias`."),
    Slip("no-last-norm", decode_with(end=keep),
        "the last norm, `decoder.last_norm`, is missing. It comes before the logits."),
    Slip("no-norm-no-bias", decode_with(end=keep, scores=lambda x, weights: x @ weights[TABLE].T),
        "both the last norm and the bias of the output layer are missing."),
    Slip("encoders-norm", decode_with(end=ENCODER_NORM),
        "the last norm is the *encoder's*. The decoder has its own, `decoder.last_norm`."),
    Slip("norm-swapped", decode_with(end=swapped_norm("decoder")),
        "the weight and the bias of the last norm are swapped."),
    Slip("norm-without-weights", decode_with(end=last_norm("decoder", weight=False, bias=False)),
        "the last norm is applied without its learned weight and bias."),
    Slip("norm-without-bias", decode_with(end=last_norm("decoder", bias=False)),
        "the last norm is applied without its bias."),
    Slip("norm-in-between", decode_with(after_each=DECODER_NORM, end=keep),
        "the last norm is applied after every block. It comes only once, after the loop."),
    Slip("norm-after-the-scores",
        decode_with(end=keep, scores=lambda x, weights: DECODER_NORM(score(x, weights), weights)),
        "the last norm is applied to the logits. It comes before them."),
    Slip("ignores-mask", decode_with(masks=lambda mask: None),
        "`mask` has no effect. Pass it to every block, as in the given loop."),
    Slip("softmax", then(partial(torch.softmax, dim=-1)),
        f"these are probabilities, after a softmax. {LOGITS}", misconception="M29"),
    Slip("softmax-over-positions", then(partial(torch.softmax, dim=1)),
        f"these are the results of a softmax over the positions. {LOGITS}"),
    Slip("log-softmax", then(partial(torch.log_softmax, dim=-1)),
        f"these are log-probabilities, after a log-softmax. {LOGITS}"),
    Slip("largest-subtracted", then(lambda logits: logits - logits.amax(dim=-1, keepdim=True)),
        f"the largest logit is subtracted. {LOGITS}"),
    Slip("padding-forbidden", then(forbid_padding),
        "the logit of token 0, padding, is set to −∞. Return the logit of every token as it is."),
    Slip("argmax", then(partial(torch.argmax, dim=-1)),
        "these are the ids of the most probable tokens. Return the logits of all tokens in the vocabulary."),
    Slip("last-position", then(lambda logits: logits[:, -1]),
        "only the logits at the last position are returned. Return them for every position."),
    Slip("last-position-kept", then(lambda logits: logits[:, -1:]),
        "only the logits at the last position are returned. Return them for every position."),
    Slip("no-end", decode_with(end=keep, scores=keep),
        "these are the states after the last block. The last norm and the output layer are missing."),
    Slip("no-scores", decode_with(scores=keep),
        "these are the states after the last norm. The logits are missing: the dot products with the rows "
        "of the embedding matrix, plus the bias."),
    Slip("table-not-transposed", decode_with(scores=lambda x, weights: x @ weights[TABLE] + weights[BIAS]),
        "each logit is a dot product with a *column* of `table`. Transpose it, so that the dot products are "
        "with its *rows*."),
    Slip("cosine", decode_with(scores=cosine_scores),
        "the logits are cosine similarities: the vectors are scaled to length 1 first. Use the plain dot "
        "product."),
    Slip("scaled-at-the-end", decode_with(scores=scaled_scores(0.5)),
        "the logits are multiplied by √d_model. That factor belongs to the embeddings, at the input."),
    Slip("divided-at-the-end", decode_with(scores=scaled_scores(-0.5)),
        "the logits are divided by √d_model. Only attention scores are divided by a square root, √d_k."),
    Slip("positions-again",
        decode_with(scores=lambda x, weights: score(x + sinusoids(*x.shape[1:]), weights)),
        "the positions are added again before the output layer. They are added once, at the input."),
    Slip("no-root", decode_with(words=embed_with(**NO_ROOT)),
        f"the embeddings aren't multiplied by √d_model. {USE_EMBED}"),
)
# fmt: on


# ---- first_difference


def first_where(differs: Callable[[Tensor, Tensor, float], object], order: Callable = list) -> Callable:
    """The first stage for which `differs(mine, theirs, tolerance)` is true, in that order of the names."""
    return lambda mine, theirs, tolerance: next(
        (name for name in order(theirs) if differs(mine[name], theirs[name], tolerance)), "nowhere"
    )


def measured(measure: Callable[[Tensor, Tensor], Tensor], *, sees_nan: bool) -> Callable:
    """The first stage whose measured difference is above the tolerance, or nan if that is noticed."""
    if sees_nan:
        return first_where(lambda a, b, tolerance: not measure(a, b) <= tolerance)
    return first_where(lambda a, b, tolerance: measure(a, b) > tolerance)


def above(mine: Tensor, theirs: Tensor, tolerance: float) -> bool:
    return bool(((mine - theirs).abs() > tolerance).any())


def differs(mine: Tensor, theirs: Tensor, tolerance: float) -> bool:
    return not (mine - theirs).abs().max() <= tolerance


def largest_difference(mine, theirs, tolerance, *, sees_nan: bool):
    gaps = {name: (mine[name] - theirs[name]).abs().max().item() for name in theirs}
    gaps = {name: (math.inf if sees_nan else 0.0) if gap != gap else gap for name, gap in gaps.items()}
    name = max(gaps, key=gaps.get)
    return name if gaps[name] > tolerance else "nowhere"


def all_differences(mine, theirs, tolerance):
    return [name for name in theirs if differs(mine[name], theirs[name], tolerance)] or "nowhere"


def number_of_stage(mine, theirs, tolerance):
    name = first_where(differs)(mine, theirs, tolerance)
    return name if name == "nowhere" else list(theirs).index(name)


NAN = (
    "a `nan` isn't counted as a difference. Either it is compared (`nan > tolerance` is False), or it is "
    "replaced by 0 first, as `nan_to_num` does."
)
LARGEST = (
    "this is the stage with the *largest* difference. A mistake can grow from stage to stage, so find the "
    "*first* stage that differs."
)
TOGETHER = (
    "the differences of all numbers are combined (in a sum or a norm), so many tiny ones count as a large "
    "one. Use the largest difference."
)
# fmt: off
MEASURES = {  # what is compared with the tolerance, and the message
    "sign-forgotten": (lambda a, b: (a - b).max(),
        "a number that is too small goes unnoticed. Take the absolute value of every difference, then the "
        "maximum."),
    "signs-lost": (lambda a, b: (a.abs() - b.abs()).abs().max(),
        "the absolute values of the numbers are compared, so 1 and −1 count as equal. Subtract first, then "
        "take the absolute value."),
    "in-the-mean": (lambda a, b: (a - b).abs().mean(),
        "the *mean* difference is compared, so one wrong number among many goes unnoticed. Use the largest."),
    "combined": (lambda a, b: (a - b).abs().sum(), TOGETHER),
    "squared": (lambda a, b: (a - b).square().max(),
        "the *squared* difference is compared with `tolerance`. Use the absolute value."),
    "relative": (lambda a, b: ((a - b).abs() / b.abs()).max(),
        "the differences are compared relative to the numbers (divided by them, or with `rtol`). Compare "
        "the difference itself with `tolerance`."),
    "first-sentence": (lambda a, b: (a - b)[0].abs().max(),
        "only the beginning of each tensor is compared, such as its first row. Compare all numbers."),
    "last-sentence": (lambda a, b: (a - b)[-1].abs().max(),
        "only the end of each tensor is compared, such as its last row. Compare all numbers."),
}
# fmt: on
LIMIT = "a difference of exactly `tolerance` isn't more than `tolerance`, so it doesn't count."
RELATIVE = (
    "large numbers may be off by more than `tolerance`, because `torch.allclose` also allows a relative "
    "error, `rtol`. Set `rtol=0`."
)
# fmt: off
FIRST_DIFFERENCE = (
    Slip("last-one", first_where(differs, order=reversed),
        "this is the *last* stage that differs. Stop at the first one."),
    Slip("largest", partial(largest_difference, sees_nan=True), LARGEST),
    Slip("largest-without-nan", partial(largest_difference, sees_nan=False), f"{LARGEST} Also, {NAN}"),
    Slip("nan-passes", measured(lambda a, b: (a - b).abs().max(), sees_nan=False), NAN),
    Slip("nan-in-mine-only", first_where(lambda a, b, tolerance: a.isnan().any() or above(a, b, tolerance)),
        "a `nan` in `theirs` isn't counted as a difference. Any `nan` counts."),
    Slip("nan-in-both",
        first_where(lambda a, b, tolerance: not a.allclose(b, rtol=0, atol=tolerance, equal_nan=True)),
        "a `nan` in both networks isn't counted as a difference. Any `nan` counts."),
    *(
        Slip(name, measured(measure, sees_nan=True), says)
        for name, (measure, says) in MEASURES.items()
    ),
    *(
        Slip(f"{name}-and-nan", measured(measure, sees_nan=False), f"{says} Also, {NAN}")
        for name, (measure, says) in MEASURES.items()
        if name != "first-sentence"  # where there is no nan
    ),
    Slip("every-number", first_where(lambda a, b, tolerance: ((a - b).abs() > tolerance).all()),
        "a stage is returned only if *all* its numbers differ. One is enough."),
    Slip("limit", first_where(lambda a, b, tolerance: not (a - b).abs().max() < tolerance), LIMIT),
    Slip("limit-and-nan", first_where(lambda a, b, tolerance: (a - b).abs().max() >= tolerance),
        f"{LIMIT} Also, {NAN}"),
    Slip("relative-too", first_where(lambda a, b, tolerance: not torch.allclose(a, b, atol=tolerance)),
        RELATIVE),
    Slip("first-equal", first_where(lambda a, b, tolerance: not differs(a, b, tolerance)),
        "this is the first stage that *agrees*. Find the first that doesn't."),
    Slip("bit-by-bit", first_where(lambda a, b, tolerance: not torch.equal(a, b)),
        "`tolerance` is ignored: differences count even if they are smaller, such as rounding errors."),
    Slip("always-a-thousandth", first_where(lambda a, b, tolerance: differs(a, b, 1e-3)),
        "`tolerance` is ignored: a difference of more than 0.001 always counts."),
    Slip("first-stage-only",
        first_where(differs, order=lambda theirs: list(theirs)[:1]),
        'the search ends after the first stage, even if it agrees. Return `"nowhere"` only after the '
        "loop."),
    Slip("last-stage-only",
        first_where(differs, order=lambda theirs: list(theirs)[-1:]),
        "only the last stage is compared. Go through all of them."),
    Slip("alphabetical", first_where(differs, order=sorted),
        "the stages are compared in alphabetical order. Keep the order of the dictionary."),
    Slip("number-of-stage", number_of_stage, "this is the number of the stage. Return its name."),
    Slip("all-names", all_differences,
        "these are the names of all stages that differ. Return only the first."),
)
# fmt: on
