"""Known mistakes in a Transformer's file: the reference with a line changed, and what to say about it.

    >>> "math.sqrt(d_model)" in SLIPS[0].source()
    False

The check of lesson 14 runs these files as it runs the learner's. If a learner's numbers at the first wrong
stage are those of such a file, it names the mistake.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

REFERENCE = Path(__file__).with_name("reference_transformer.py")

EMBEDDED = "return rows * math.sqrt(d_model) + positions"
POSITIONS = "torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)"
SPLIT = "x.unflatten(-1, (self.n_heads, -1)).transpose(1, 2)"
SCALED = " / math.sqrt(keys.shape[-1])"
MASKED = "scores.masked_fill(~mask, -math.inf)"
JOINED = "context.transpose(1, 2).flatten(-2) @ self.w_output.T"
RESIDUAL = "x + self.dropout(layer(self.norm(x)))"
CROSS = "lambda x: self.cross(x, memory, mask)"
FEED = "return self.around_feed_forward(x, self.feed_forward)"
FEED_FIRST = FEED.replace("return", "x =")
SELF = "x = self.around_attention(x, lambda x: self.attention(x, x, mask))"
CAUSAL_SELF = SELF.replace("mask", "causal")
CROSS_CALL = f"x = self.around_cross(x, {CROSS})"
CAUSAL = ".tril()"
ENCODE = "return self.encoder(x, mask)"
MASK = "mask = (source != 0)[:, None, None]"


def reference_text() -> str:
    return REFERENCE.read_text(encoding="utf-8")


@dataclass(frozen=True)
class FileSlip:
    """`changes` are pairs of texts, the reference's and the one that replaces it."""

    name: str
    message: str
    changes: tuple[tuple[str, str], ...]

    def source(self) -> str:
        text = reference_text()
        for old, new in self.changes:
            text = text.replace(old, new)
        return text


def slip(name: str, message: str, old: str, new: str) -> FileSlip:
    return FileSlip(name, message, ((old, new),))


SLIPS = (
    # embeddings and positions
    slip("no-root", "the embeddings aren't multiplied by √d_model.", EMBEDDED, "return rows + positions"),
    slip(
        "root-of-sum",
        "the positions are multiplied by √d_model as well. Scale the rows first, then add the positions.",
        EMBEDDED,
        "return (rows + positions) * math.sqrt(d_model)",
    ),
    slip(
        "divided-by-root",
        "the embeddings are divided by √d_model instead of multiplied.",
        EMBEDDED,
        "return rows / math.sqrt(d_model) + positions",
    ),
    slip(
        "times-width",
        "the embeddings are multiplied by d_model, without the square root.",
        EMBEDDED,
        "return rows * d_model + positions",
    ),
    slip("no-positions", "the positions aren't added.", EMBEDDED, "return rows * math.sqrt(d_model)"),
    slip(
        "halves",
        "all sines come first, then all cosines. They alternate: sin in even columns, cos in odd ones.",
        POSITIONS,
        "torch.cat([angles.sin(), angles.cos()], dim=-1)",
    ),
    slip(
        "cosine-first",
        "sine and cosine are swapped. Even columns have the sine.",
        POSITIONS,
        "torch.stack([angles.cos(), angles.sin()], dim=-1).flatten(-2)",
    ),
    slip(
        "from-one",
        "positions are counted from 1 instead of 0.",
        "position = torch.arange(n, device=tokens.device)[:, None]",
        "position = 1 + torch.arange(n, device=tokens.device)[:, None]",
    ),
    slip(
        "exponent-doubled",
        "the exponent is twice as large as it should be. Column 2i has the frequency 10,000^(−2i / d_model), "
        "and `arange` with a step of 2 already gives 2i.",
        "(even / d_model)",
        "(2 * even / d_model)",
    ),
    slip(
        "exponent-halved",
        "the exponent is half as large as it should be: i / d_model instead of 2i / d_model.",
        "(even / d_model)",
        "(even / 2 / d_model)",
    ),
    # attention
    slip("no-scale", "the scores aren't divided by √d_k.", SCALED, ""),
    slip(
        "scale-width", "the scores are divided by √d_model instead of √d_k.", SCALED, " / x.shape[-1] ** 0.5"
    ),
    slip("scale-dk", "the scores are divided by d_k, without the square root.", SCALED, " / keys.shape[-1]"),
    slip(
        "bare-view",
        "the heads are split by a single `view` or `reshape`, which mixes positions and features. Split "
        "the last axis into (heads, d_k) first, then swap the axes of positions and heads.",
        SPLIT,
        "x.reshape(x.shape[0], self.n_heads, x.shape[1], -1)",
    ),
    slip(
        "interleaved-heads",
        "neighbouring features go to different heads. Head 0 has the first d_k features: split the last axis "
        "into (heads, d_k), in this order.",
        SPLIT,
        "x.unflatten(-1, (-1, self.n_heads)).permute(0, 3, 1, 2)",
    ),
    slip(
        "joined-by-view",
        "the heads are joined without swapping the axes back: (batch, heads, n, d_k) must become (batch, n, "
        "heads, d_k) first.",
        JOINED,
        "context.reshape(context.shape[0], context.shape[2], -1) @ self.w_output.T",
    ),
    slip(
        "one-head",
        "there is a single head, with all d_model features. Split them into n_heads heads.",
        "(self.n_heads, -1)",
        "(1, -1)",
    ),
    slip(
        "not-transposed",
        "the matrices are used as (in, out). They are (out, in), as in `nn.Linear`: write `x @ w.T`.",
        ".T)",
        ")",
    ),
    FileSlip(
        "none-transposed",
        "the four matrices are used as (in, out). They are (out, in), as in `nn.Linear`: write `x @ w.T`.",
        ((".T)", ")"), ("@ self.w_output.T", "@ self.w_output")),
    ),
    slip("output-not-transposed", "`w_output` is used without `.T`.", "@ self.w_output.T", "@ self.w_output"),
    slip("no-output-matrix", "the joined heads aren't multiplied by `w_output`.", " @ self.w_output.T", ""),
    slip(
        "keys-for-values",
        "the values are computed with `w_key`.",
        "source @ self.w_value.T",
        "source @ self.w_key.T",
    ),
    slip(
        "softmax-axis",
        "the softmax runs over the queries. The keys are the last axis: `dim=-1`.",
        "softmax(dim=-1)",
        "softmax(dim=-2)",
    ),
    slip(
        "softmax-heads",
        "the softmax runs over the heads. The keys are the last axis: `dim=-1`.",
        "softmax(dim=-1)",
        "softmax(dim=1)",
    ),
    slip(
        "mask-inverted",
        "the mask is inverted. True means *may attend*, so fill the scores where it is False: `~mask`.",
        MASKED,
        "scores.masked_fill(mask, -math.inf)",
    ),
    slip("mask-times", "the masked scores are multiplied by 0. Set them to −∞.", MASKED, "scores * mask"),
    slip("mask-ignored", "the attention mask is never used.", MASKED, "scores"),
    slip(
        "no-causal-mask",
        "decoder self-attention has no causal mask, so each word can attend to later ones.",
        "self.attention(x, x, causal)",
        "self.attention(x, x)",
    ),
    slip("causal-flipped", "the causal mask allows later words and hides earlier ones.", CAUSAL, ".triu()"),
    slip("causal-shifted", "the causal mask also allows the next word.", CAUSAL, ".tril(1)"),
    slip(
        "encoder-mask-missing",
        "the encoder doesn't use the padding mask.",
        ENCODE,
        "return self.encoder(x, None)",
    ),
    slip(
        "cross-mask-missing",
        "cross-attention doesn't use the padding mask of the source.",
        CROSS,
        "lambda x: self.cross(x, memory)",
    ),
    slip(
        "causal-encoder",
        "the encoder has a causal mask. The whole source is known, so source words may attend to later ones.",
        ENCODE,
        "n = x.shape[1]; return self.encoder(x, mask & torch.ones(n, n, dtype=torch.bool).tril())",
    ),
    # blocks
    slip(
        "post-norm",
        "the norm comes after the addition (post-norm). These weights were trained with pre-norm: "
        "x + dropout(layer(norm(x))).",
        RESIDUAL,
        "self.norm(x + self.dropout(layer(x)))",
    ),
    slip(
        "norm-of-output",
        "the norm is applied to the layer's output instead of its input.",
        RESIDUAL,
        "x + self.dropout(self.norm(layer(x)))",
    ),
    slip("no-norm", "the norms inside the blocks aren't used.", RESIDUAL, "x + self.dropout(layer(x))"),
    slip(
        "no-residual",
        "the input `x` isn't added to the layer's output.",
        RESIDUAL,
        "self.dropout(layer(self.norm(x)))",
    ),
    slip(
        "residual-normed",
        "the normalised `x` is added instead of `x` itself.",
        RESIDUAL,
        "self.norm(x) + self.dropout(layer(self.norm(x)))",
    ),
    slip(
        "no-relu",
        "the ReLU between the two linear layers is missing.",
        "torch.relu(self.inner(x))",
        "self.inner(x)",
    ),
    slip(
        "gelu",
        "the activation function is GELU instead of ReLU.",
        "torch.relu(self.inner(x))",
        "nn.functional.gelu(self.inner(x))",
    ),
    slip(
        "relu-last",
        "the ReLU comes after the second linear layer.",
        "self.outer(torch.relu(self.inner(x)))",
        "torch.relu(self.outer(self.inner(x)))",
    ),
    slip(
        "cross-from-target",
        "the keys and values of cross-attention are computed from the target. They come from the memory.",
        CROSS,
        "lambda x: self.cross(x, x)",
    ),
    slip(
        "cross-memory-normed",
        "the memory is normalised a second time. Only the queries of cross-attention go through the norm.",
        CROSS,
        "lambda x: self.cross(x, self.around_cross.norm(memory), mask)",
    ),
    slip("feed-forward-missing", "the feed-forward layer is never called.", FEED, "return x"),
    FileSlip(
        "feed-forward-first",
        "the feed-forward layer comes before attention.",
        (
            (SELF, f"{FEED_FIRST}\n        {SELF}"),
            (CAUSAL_SELF, f"{FEED_FIRST}\n        {CAUSAL_SELF}"),
            (FEED, "return x"),
        ),
    ),
    FileSlip(
        "cross-last",
        "the decoder's feed-forward layer comes before cross-attention.",
        (
            (
                f"{CROSS_CALL}\n        {FEED}",
                f"{FEED_FIRST}\n        {CROSS_CALL.replace('x =', 'return', 1)}",
            ),
        ),
    ),
    FileSlip(
        "cross-first",
        "cross-attention comes before self-attention.",
        (
            (f"        {CROSS_CALL}\n        return", "        return"),
            (CAUSAL_SELF, f"{CROSS_CALL}\n        {CAUSAL_SELF}"),
        ),
    ),
    slip(
        "cross-missing",
        "cross-attention is never called, so the decoder doesn't see the source.",
        CROSS_CALL,
        "pass",
    ),
    # the ends
    slip("no-last-norm", "the last norm of each stack is missing.", "return self.last_norm(x)", "return x"),
    slip(
        "last-norm-in-loop",
        "the last norm is applied after every block instead of once at the end.",
        "        return self.last_norm(x)",
        "            x = self.last_norm(x)\n        return x",
    ),
    slip(
        "one-block",
        "the first block is used every time. Go through all blocks in `self.blocks`.",
        "x = block(x,",
        "x = self.blocks[0](x,",
    ),
    slip(
        "no-bias",
        "`words.output.bias` isn't added to the logits.",
        "return self.words.output(x)",
        "return x @ self.words.output.weight.T",
    ),
    slip(
        "softmax",
        "the logits went through a softmax. Return them as they are; the loss applies it.",
        "return self.words.output(x)",
        "return self.words.output(x).softmax(-1)",
    ),
    slip(
        "log-softmax",
        "the logits went through a log-softmax. Return them as they are.",
        "return self.words.output(x)",
        "return self.words.output(x).log_softmax(-1)",
    ),
    slip(
        "scaled-logits",
        "the logits are multiplied by √d_model. Only the embeddings are.",
        "return self.words.output(x)",
        "return self.words.output(x * math.sqrt(x.shape[-1]))",
    ),
)
FORWARD_SLIPS = (
    slip(
        "no-padding-mask",
        "`forward` doesn't hide the padding of the source: the mask is `(source != 0)[:, None, None]`.",
        MASK,
        "mask = (source == source)[:, None, None]",
    ),
    slip(
        "padding-mask-inverted",
        "the padding mask is inverted: True marks words, False marks padding.",
        MASK,
        "mask = (source == 0)[:, None, None]",
    ),
    slip(
        "swapped",
        "source and target are swapped.",
        MASK,
        f"source, target = target, source\n        {MASK}",
    ),
)
