"""A Transformer of plain functions, as a model that the library trains, saves and decodes with.

    model = FunctionTransformer(small_config(vocab_size=195), forward)
    model(src, src_lengths, tgt_in)                         # forward(weights, source, target, mask)

Its weights have the names of lesson 14. A checkpoint of it is one of the library's Transformer.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from course_lib.layers.rows import Rows
from course_lib.models.transformer import Transformer, TransformerConfig
from course_lib.models.translator import Decoded, Stepped
from course_lib.shapes import Float, Int, Tensor
from course_lib.text.special import PAD
from lessons.l14_the_transformer import by_parts
from lessons.l15_training_a_translator.by_hand import Weights

Forward = Callable[[Weights, Tensor, Tensor, Tensor], Tensor]  # weights, source, target so far, mask: logits

N_HEADS, N_LAYERS, WIDTH = 4, 1, 64


def small_config(vocab_size: int) -> TransformerConfig:
    """One block on each side."""
    sizes = {"d_model": WIDTH, "n_heads": N_HEADS, "d_ff": 4 * WIDTH, "n_layers": N_LAYERS}
    return TransformerConfig(vocab_size=vocab_size, tied=True, **sizes)


def forward(weights: Weights, source: Tensor, target: Tensor, mask: Tensor) -> Tensor:
    """Logits, by the functions of lesson 14."""
    sizes = {"n_heads": N_HEADS, "n_layers": N_LAYERS, "mask": mask}
    return by_parts.stages(source, target, weights, **sizes)["logits"]


class FunctionTransformer(Transformer):
    """Holds the weights; `function` computes the logits from them. It keeps no attention weights."""

    attends = False

    def __init__(self, config: TransformerConfig, function: Forward = forward):
        super().__init__(config)
        self.function = function

    def logits(self, weights: Weights, source: Tensor, target: Tensor) -> Float[Tensor, "batch tgt vocab"]:
        """The logits by any table of weights."""
        return self.function(weights, source, target, (source != PAD)[:, None, None])

    def read(self, src: Int[Tensor, "batch src"], src_lengths: Int[Tensor, " batch"]) -> Rows:
        return {"source": src}

    def say(self, memory: Rows, tgt_in: Int[Tensor, "batch tgt"], *, with_weights: bool) -> Decoded:
        return self.logits(dict(self.named_parameters()), memory["source"], tgt_in), None

    def start(self, memory: Rows) -> Rows:
        return {"target": memory["source"][:, :0]}

    def advance(
        self, memory: Rows, state: Rows, tokens: Int[Tensor, " batch"], *, with_weights: bool
    ) -> Stepped:
        """Everything is computed again for each token: the functions have no cache."""
        target = torch.cat([state["target"], tokens[:, None]], dim=1)
        return self.say(memory, target, with_weights=False)[0][:, -1], {"target": target}, None
