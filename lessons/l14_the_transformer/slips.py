"""Wrong versions of lesson 14's `embed` and `decode_logits`, each with what to tell its author."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor
from torch.nn import functional as F

from course_lib.layers.positions import sinusoids
from course_lib.teaching.exercises import Slip
from lessons.l14_the_transformer import by_parts as library
from lessons.l14_the_transformer.solutions import decoder_block

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


# ---- decode_logits


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
            x = after_each(decoder_block(x, memory, parts, n_heads, masks(mask)), weights)
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
        "the embeddings aren't multiplied by √d_model. Call `embed`."),
)
# fmt: on
