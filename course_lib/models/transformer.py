"""The Transformer: an encoder-decoder built on attention alone.

    Vaswani, Shazeer, Parmar, Uszkoreit, Jones, Gomez, Kaiser, Polosukhin 2017    Attention Is All You Need

New: no recurrence and no convolution. Attention with several heads is used in three ways: source words attend
to source words, target words to earlier target words, and in every decoder layer target words to the source.
Any two words are one step apart, and training is parallel over all positions. The cost grows with the square
of the length.

Where this differs from the paper:
- The norm comes before each layer, with one more at the end of each stack (`pre_norm`), so that small models
  train without a carefully chosen warm-up. `pre_norm=False` is the paper's order.
- Positions may also be learned, rotary (2021) or none. Rotary encodings apply only to self-attention, because
  source and target positions are not comparable.
- Keys and values may be shared among heads (`n_kv_heads`; 2019 and 2023). None: each head has its own.
- The output layer has a bias, as in all our systems; the paper's tied matrix has none.
- `d_k` and `d_v`, the widths of a head's keys and values, default to d_model / h.
- `norm="rms"` (2019), `feed_forward="swiglu"` (2020) and `ff_dropout`, inside the feed-forward layer, are
  later developments.
- `output_scale` multiplies the initial weights of the layers whose output is added to the residual stream;
  GPT-2 (2019) uses 1 / √(number of such layers). The paper doesn't say how its weights are initialised; ours
  are Xavier uniform, with a scale of 1.
- Lessons use some settings for ablations: `residual`, `norm="none"` or "batch", `feed_forward="none"`,
  `target_positions="none"`, and `leaky`, a causal mask that also allows the next word.
- It is smaller: the paper's base model has d_model 512, 8 heads, d_ff 2048 and 6 layers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import torch
from torch import nn

from course_lib.layers.block import Block, Stack
from course_lib.layers.masks import causal_mask, padding_mask
from course_lib.layers.norms import make_norm
from course_lib.layers.positions import NoPositions, make_positions
from course_lib.layers.rows import Rows
from course_lib.models.config import Config
from course_lib.models.embeddings import Embeddings
from course_lib.models.inputs import check_ids, check_sentences
from course_lib.models.translator import Decoded, Lengths, Source, Stepped, Target, Tokens, Translator
from course_lib.shapes import Bool, Float, Tensor

ATTENTIONS = {
    "encoder": "encoder self-attention",
    "decoder": "decoder self-attention",
    "cross": "cross-attention",
}
"""The keys of `attention_weights`, with their usual names."""


@dataclass(frozen=True, kw_only=True)
class TransformerConfig(Config):
    """Sizes under the paper's names. Encoder and decoder have `n_layers` each."""

    d_model: int
    n_heads: int
    d_ff: int
    n_layers: int
    n_kv_heads: int | None = None
    d_k: int | None = None
    d_v: int | None = None
    pre_norm: bool = True
    norm: str = "layer"
    residual: bool = True
    feed_forward: str = "relu"
    leaky: bool = False
    positions: str = "sinusoidal"
    target_positions: str | None = None
    ff_dropout: float = 0.0
    output_scale: float = 1.0

    def make_positions(self, kind: str | None = None) -> NoPositions:
        """Of the configured kind, unless another is given."""
        return make_positions(
            kind or self.positions,
            max_len=self.max_len,
            d_model=self.d_model,
            head_dim=self.d_k or self.d_model // self.n_heads,
        )

    def make_stack(self, *, cross_attention: bool) -> Stack:
        blocks = [
            Block(
                d_model=self.d_model,
                n_heads=self.n_heads,
                n_kv_heads=self.n_kv_heads,
                d_k=self.d_k,
                d_v=self.d_v,
                d_ff=self.d_ff,
                cross_attention=cross_attention,
                pre_norm=self.pre_norm,
                norm=self.norm,
                residual=self.residual,
                feed_forward=self.feed_forward,
                dropout=self.dropout,
                ff_dropout=self.ff_dropout,
            )
            for _ in range(self.n_layers)
        ]
        for block in blocks:
            block.scale_outputs(self.output_scale)
        return Stack(blocks, last_norm=make_norm(self.norm, d_model=self.d_model) if self.pre_norm else None)

    def causal_arguments(self, n: int, *, device: torch.device) -> dict[str, bool | Tensor]:
        """The arguments that make a stack causal; with `leaky`, each word may also attend to the next one."""
        if not self.leaky:
            return {"causal": True}
        return {"mask": causal_mask(n + 1, device=device)[1:, :-1]}


class Transformer(Translator):
    """An encoder stack, and a decoder stack with cross-attention in every layer."""

    def __init__(self, config: TransformerConfig):
        super().__init__(config)
        # Dropout is applied to the sum of embedding and position instead.
        self.words = Embeddings(config, embed=config.d_model, dropout=0.0)
        self.dropout = nn.Dropout(config.dropout)
        self.source_positions = config.make_positions()
        self.target_positions = config.make_positions(config.target_positions)
        self.encoder = config.make_stack(cross_attention=False)
        self.decoder = config.make_stack(cross_attention=True)

    def read(self, src: Source, src_lengths: Lengths) -> Rows:
        mask = padding_mask(src_lengths, src.shape[1]).unsqueeze(1)  # (batch, 1, 1, src)
        return self.make_memory(self.run_encoder(src, mask)[0], mask)

    def say(self, memory: Rows, tgt_in: Target, *, with_weights: bool) -> Decoded:
        logits, weights = self.run_decoder(memory, tgt_in, with_weights=with_weights)
        return logits, weights.get("cross")

    def start(self, memory: Rows) -> Rows:
        """An empty key-value cache."""
        return {name: memory[name][..., :0, :] for name in ("keys", "values")}

    def advance(self, memory: Rows, state: Rows, tokens: Tokens, *, with_weights: bool) -> Stepped:
        position = state["keys"].shape[-2]
        x = self.dropout(self.target_positions.add(self.words.target(tokens[:, None]), first=position))
        rotate = partial(self.target_positions.rotate, first=position)
        x, state, weights = self.decoder(
            x, rotate=rotate, past=state, source=memory, with_weights=with_weights
        )
        return self.words.logits(x[:, 0]), state, weights["cross"][..., 0, :] if with_weights else None

    def attention_weights(self, src: Source, src_lengths: Lengths, tgt_in: Target) -> Rows:
        check_sentences(src, src_lengths, self.config)
        check_ids("tgt_in", tgt_in, ("batch", "tgt"), self.config)
        mask = padding_mask(src_lengths, src.shape[1]).unsqueeze(1)
        states, encoder_weights = self.run_encoder(src, mask, with_weights=True)
        memory = self.make_memory(states, mask)
        return encoder_weights | self.run_decoder(memory, tgt_in, with_weights=True)[1]

    def run_encoder(
        self, src: Source, mask: Bool[Tensor, "#batch 1 #src src"], *, with_weights: bool = False
    ) -> tuple[Float[Tensor, "batch src model"], Rows]:
        """The encoder's output with this attention mask, and the attention weights if requested."""
        x = self.dropout(self.source_positions.add(self.words.source(src)))
        x, _, weights = self.encoder(
            x, rotate=self.source_positions.rotate, mask=mask, with_weights=with_weights
        )
        return x, {"encoder": weights["own"]} if with_weights else {}

    def make_memory(
        self, states: Float[Tensor, "batch src model"], mask: Bool[Tensor, "#batch 1 1 src"]
    ) -> Rows:
        """The memory for the decoder: keys and values of the encoder's output, and the padding mask."""
        return {**self.decoder.project_source(states), "mask": mask}

    def run_decoder(
        self, memory: Rows, tgt_in: Target, *, with_weights: bool = False
    ) -> tuple[Float[Tensor, "batch tgt vocab"], Rows]:
        x = self.dropout(self.target_positions.add(self.words.target(tgt_in)))
        # Padding is on the right, so the causal mask also hides it from real words.
        x, _, weights = self.decoder(
            x,
            rotate=self.target_positions.rotate,
            **self.config.causal_arguments(tgt_in.shape[1], device=x.device),
            source=memory,
            with_weights=with_weights,
        )
        by_name = {"decoder": weights["own"], "cross": weights["cross"]} if with_weights else {}
        return self.words.logits(x), by_name
