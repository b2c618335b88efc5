"""The decoder-only Transformer, a language model.

    Liu, Saleh, Pot, Goodrich, Sepassi, Kaiser, Shazeer 2018
        Generating Wikipedia by Summarizing Long Sequences
    Radford, Narasimhan, Salimans, Sutskever 2018
        Improving Language Understanding by Generative Pre-Training

Without a source, a decoder block consists of self-attention and feed-forward. Every word attends directly to
every earlier word; the key-value cache grows with every word, up to `max_len`.

Where this differs from the papers:
- Pre-norm by default, as in GPT-2 (2019), and ReLU; Radford et al. have GELU.
- Sinusoidal positions by default, as in Liu et al.; Radford et al. learn theirs.
- Liu et al.'s local and memory-compressed attention, for texts of 11,000 words, is left out.
"""

from __future__ import annotations

from functools import partial

from torch import nn

from course_lib.layers.rows import Rows
from course_lib.models.embeddings import Embeddings
from course_lib.models.language_model import LanguageModel
from course_lib.models.transformer import TransformerConfig
from course_lib.models.translator import Decoded, Stepped, Target, Tokens


class TransformerLM(LanguageModel):
    """A single causal stack."""

    attends = True

    def __init__(self, config: TransformerConfig):
        super().__init__(config)
        # Dropout is applied to the sum of embedding and position instead.
        self.words = Embeddings(config, embed=config.d_model, dropout=0.0, reads_source=False)
        self.dropout = nn.Dropout(config.dropout)
        self.positions = config.make_positions()
        self.stack = config.make_stack(cross_attention=False)

    def say(self, tokens: Target, *, with_weights: bool) -> Decoded:
        x = self.dropout(self.positions.add(self.words.target(tokens)))
        mask = self.config.causal_arguments(tokens.shape[1], device=x.device)
        x, _, weights = self.stack(x, rotate=self.positions.rotate, **mask, with_weights=with_weights)
        return self.words.logits(x), weights.get("own")

    def start(self, n_rows: int) -> Rows:
        """An empty key-value cache."""
        heads, n_layers = self.stack.blocks[0].attention, len(self.stack.blocks)
        matrices = {"keys": heads.w_key, "values": heads.w_value}
        return {
            name: matrix.new_zeros(n_rows, n_layers, heads.n_kv_heads, 0, len(matrix) // heads.n_kv_heads)
            for name, matrix in matrices.items()
        }

    def advance(self, state: Rows, tokens: Tokens, *, with_weights: bool) -> Stepped:
        position = state["keys"].shape[-2]
        x = self.dropout(self.positions.add(self.words.target(tokens[:, None]), first=position))
        rotate = partial(self.positions.rotate, first=position)
        x, state, weights = self.stack(x, rotate=rotate, past=state, with_weights=with_weights)
        return self.words.logits(x[:, 0]), state, weights["own"][..., 0, :] if with_weights else None
