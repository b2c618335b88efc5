"""The Transformer: attention is all it has.

    Vaswani, Shazeer, Parmar, Uszkoreit, Jones, Gomez, Kaiser, Polosukhin 2017    Attention Is All You Need

What was new: no recurrence and no convolution. Words of a sentence look at one another (self-attention),
in several heads at once; any two are one step apart, and a whole sentence trains in parallel. Attention is
used three ways: source words look at source words, target words at earlier target words, and target
words at the source, in every layer of the decoder.

What was still missing: a sense of order, which has to be put in by hand (positions), and thrift. Every word
looks at every word, so the cost grows with the square of the length, and the decoder keeps keys and values of
every word it has said.

    score      scaled dot product; the decoder's words after their self-attention ask, the encoder's last
               states answer, through matrices of each layer's own
    context    enters on a residual path in every decoder layer, between self-attention and feed-forward
    tied       one table embeds source words and target words and scores the next word, as in the paper

Where this differs from the paper:
- Norms stand before each layer, with one more at the end of each stack (`pre_norm`): small models train
  without much care for the warm-up. `pre_norm=False` is the paper's order.
- Positions may be learned, which the paper tried too, rotary (2021) or none; sinusoids are the default.
  Rotary positions turn self-attention only: source and target have no common count.
- Keys and values may be shared among heads (`n_kv_heads`; 2019 and 2023). None: each head has its own.
- The output has a bias for each word, as all our systems have; the paper's tied matrix has none.
- A head's queries and keys may be `d_k` wide, its values `d_v`: the paper's own ablation. None: d_model / h.
- `norm="rms"` (2019) and `feed_forward="swiglu"` (2020) are what came after.
- `ff_dropout`, inside the feed-forward layer, is not in the paper; 0 switches it off.
- What lessons break to see what it is good for: `residual`, `norm="none"` or "batch", `feed_forward="none"`,
  `target_positions="none"`, and `leaky`, a causal mask that shows each word the next one too.
- Smaller: the paper's base model has d_model 512, 8 heads, d_ff 2048, 6 layers, dropout 0.1, 37,000 words.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import torch
from torch import nn

from course_lib.layers.block import Block, Stack
from course_lib.layers.masks import causal_mask, padding_mask
from course_lib.layers.norms import make_norm
from course_lib.layers.positions import Positions, make_positions
from course_lib.layers.rows import Rows
from course_lib.models.config import Config
from course_lib.models.embeddings import Embeddings
from course_lib.models.inputs import check_sentences, check_target
from course_lib.models.translator import Decoded, Stepped, Translator
from course_lib.shapes import Bool, Float, Int, Tensor

USES = {
    "encoder": "encoder self-attention",
    "decoder": "decoder self-attention",
    "cross": "cross-attention",
}
"""Attention's three uses, and what people call them."""


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

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.ff_dropout < 1:
            raise ValueError(f"Expected ff_dropout of at least 0 and below 1, but got {self.ff_dropout}.")

    def make_positions(self, kind: str | None = None) -> Positions:
        """One side's positions, of another kind if wanted; learned ones are a table for each side."""
        return make_positions(
            kind or self.positions,
            max_len=self.max_len,
            d_model=self.d_model,
            head_dim=self.d_k or self.d_model // self.n_heads,
        )

    def make_stack(self, *, crosses: bool) -> Stack:
        """An encoder, or, if it crosses over to a source, a decoder."""
        blocks = [
            Block(
                d_model=self.d_model,
                n_heads=self.n_heads,
                n_kv_heads=self.n_kv_heads,
                d_k=self.d_k,
                d_v=self.d_v,
                d_ff=self.d_ff,
                crosses=crosses,
                pre_norm=self.pre_norm,
                norm=self.norm,
                residual=self.residual,
                feed_forward=self.feed_forward,
                dropout=self.dropout,
                ff_dropout=self.ff_dropout,
            )
            for _ in range(self.n_layers)
        ]
        return Stack(blocks, last_norm=make_norm(self.norm, d_model=self.d_model) if self.pre_norm else None)

    def hidden_ahead(self, n: int, *, device: torch.device) -> dict[str, bool | Tensor]:
        """What a stack is told so that no word sees later ones; with `leaky`, each sees the next one."""
        if not self.leaky:
            return {"causal": True}
        return {"may_look": causal_mask(n + 1, device=device)[1:, :-1]}


class Transformer(Translator):
    """Two stacks: one reads the source, one says the target and looks at the source in every layer."""

    config: TransformerConfig

    def __init__(self, config: TransformerConfig):
        super().__init__(config)
        # Dropout acts on the sum of word and position, so the table has none of its own.
        self.words = Embeddings(config, embed=config.d_model, dropout=0.0)
        self.dropout = nn.Dropout(config.dropout)
        self.source_positions = config.make_positions()
        self.target_positions = config.make_positions(config.target_positions)
        self.encoder = config.make_stack(crosses=False)
        self.decoder = config.make_stack(crosses=True)

    def read(self, src: Int[Tensor, "batch src"], src_lengths: Int[Tensor, " batch"]) -> Rows:
        may_look = padding_mask(src_lengths, src.shape[1]).unsqueeze(1)  # (batch, 1, 1, src)
        return self.memory_of(self.run_encoder(src, may_look)[0], may_look)

    def say(self, memory: Rows, tgt_in: Int[Tensor, "batch tgt"], *, with_weights: bool) -> Decoded:
        logits, weights = self.run_decoder(memory, tgt_in, with_weights=with_weights)
        return logits, weights.get("cross")

    def start(self, memory: Rows) -> Rows:
        """The keys and values of no words yet."""
        return {name: memory[name][..., :0, :] for name in ("keys", "values")}

    def advance(
        self, memory: Rows, state: Rows, tokens: Int[Tensor, " batch"], *, with_weights: bool
    ) -> Stepped:
        seen = state["keys"].shape[-2]
        x = self.dropout(self.target_positions.add(self.words.target(tokens[:, None]), first=seen))
        turn = partial(self.target_positions.turn, first=seen)
        x, state, weights = self.decoder(x, turn=turn, past=state, source=memory, with_weights=with_weights)
        return self.words.logits(x[:, 0]), state, weights["cross"][..., 0, :] if with_weights else None

    def all_weights(
        self,
        src: Int[Tensor, "batch src"],
        src_lengths: Int[Tensor, " batch"],
        tgt_in: Int[Tensor, "batch tgt"],
    ) -> Rows:
        check_sentences(src, src_lengths, self.config)
        check_target(tgt_in, self.config)
        may_look = padding_mask(src_lengths, src.shape[1]).unsqueeze(1)
        states, own = self.run_encoder(src, may_look, with_weights=True)
        return own | self.run_decoder(self.memory_of(states, may_look), tgt_in, with_weights=True)[1]

    def run_encoder(
        self,
        src: Int[Tensor, "batch src"],
        may_look: Bool[Tensor, "#batch 1 #src src"],
        *,
        with_weights: bool = False,
    ) -> tuple[Float[Tensor, "batch src model"], Rows]:
        """The source's last states when its words look only where the mask says; the weights, by use."""
        x = self.dropout(self.source_positions.add(self.words.source(src)))
        x, _, weights = self.encoder(
            x, turn=self.source_positions.turn, may_look=may_look, with_weights=with_weights
        )
        return x, {"encoder": weights["own"]} if with_weights else {}

    def memory_of(
        self, states: Float[Tensor, "batch src model"], may_look: Bool[Tensor, "#batch 1 1 src"]
    ) -> Rows:
        """What the decoder is given of these states, of which it looks only where the mask says."""
        return {**self.decoder.read_source(states), "may_look": may_look}

    def run_decoder(
        self, memory: Rows, tgt_in: Int[Tensor, "batch tgt"], *, with_weights: bool = False
    ) -> tuple[Float[Tensor, "batch tgt vocab"], Rows]:
        """Logits for the word after each word, and the weights, by use."""
        x = self.dropout(self.target_positions.add(self.words.target(tgt_in)))
        # Padding is at the right, so no real word sees it: the causal mask is enough.
        x, _, weights = self.decoder(
            x,
            turn=self.target_positions.turn,
            **self.config.hidden_ahead(tgt_in.shape[1], device=x.device),
            source=memory,
            with_weights=with_weights,
        )
        looked = {"decoder": weights["own"], "cross": weights["cross"]} if with_weights else {}
        return self.words.logits(x), looked
