"""Systems with one part changed, for experiments that lessons quote: too special for the library.

    ALTERED["context"](model, 8)          # seq2seq passes on 8 numbers to the decoder

Each function changes a model in place, before its first step.
In data/experiments.json: "alter": {"context": 8}.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import MethodType

import torch
from torch import nn
from torch.nn import functional as F

from course_lib.layers.multi_head import MultiHead, multi_head
from course_lib.layers.positions import SinusoidalPositions
from course_lib.layers.recurrent import Recurrent
from course_lib.layers.rows import Rows
from course_lib.models.bahdanau import Bahdanau
from course_lib.models.inference import device_of
from course_lib.models.luong import Luong
from course_lib.models.sutskever import Sutskever
from course_lib.models.transformer import Transformer
from course_lib.models.translator import Decoded, Lengths, Source, Stepped, Target, Tokens
from course_lib.shapes import Float, Tensor

# ---- lesson 04: how wide is the context vector?


class Passing(nn.Module):
    """An encoder whose last state goes through a matrix, of whose outputs only the first are passed on.

    The outputs are spread evenly over the state vectors of the decoder (hidden and cell of each layer).
    """

    def __init__(self, encoder: Recurrent, n_passed: int):
        super().__init__()
        n_vectors, hidden = 2 * encoder.state_shape[0], encoder.state_shape[1]
        self.encoder, self.matrix = encoder, nn.Linear(n_vectors * hidden, n_vectors * hidden, bias=False)
        self.register_buffer("passed", (torch.arange(n_vectors * hidden) < n_passed).float())

    def forward(self, words: Tensor, *, lengths: Lengths) -> tuple[Tensor, Rows]:
        outputs, last = self.encoder(words, lengths=lengths)
        vectors = torch.cat([last["hidden"], last["cell"]], dim=1)  # (batch, 2 · layers, hidden)
        numbers = self.matrix(vectors.flatten(1)) * self.passed
        hidden, cell = numbers.unflatten(1, vectors.shape[:0:-1]).transpose(1, 2).chunk(2, dim=1)
        return outputs, {"hidden": hidden, "cell": cell}


def context(model: Sutskever, n_passed: int) -> None:
    model.encoder = Passing(model.encoder, n_passed).to(device_of(model))


# ---- lesson 06: what does attention add?


class TwiceForward(nn.Module):
    """Both halves of a bidirectional encoder read from left to right: the same size, without later words."""

    def __init__(self, encoder: Recurrent):
        super().__init__()
        self.encoder = encoder

    def forward(self, words: Tensor, *, lengths: Lengths) -> tuple[Tensor, Rows]:
        forward, backward = self.encoder.layers[0]
        zeros = self.encoder.zeros(len(words))["hidden"]
        halves = [
            self.encoder._run_fused(layer, words.to(zeros.dtype), {"hidden": zeros[:, 0]}, lengths)[0]
            for layer in (forward, backward)
        ]
        return torch.cat(halves, dim=-1), {}


class ForwardBahdanau(Bahdanau):
    """Attends to annotations that know only the words before; the first state is made at the last word."""

    def read(self, src: Source, src_lengths: Lengths) -> Rows:
        memory = super().read(src, src_lengths)
        last = torch.take_along_dim(memory["annotations"], (src_lengths - 1)[:, None, None], dim=1)
        return memory | {"last": last[:, 0]}

    def start(self, memory: Rows) -> Rows:
        return {"hidden": torch.tanh(self.first_state(memory["last"][:, self.config.hidden :]))}


class NoAttention(Bahdanau):
    """The context is the same at every step: the last states of both directions."""

    attends = False

    def read(self, src: Source, src_lengths: Lengths) -> Rows:
        annotations, last = self.encoder(self.words.source(src), lengths=src_lengths)
        return {"annotations": annotations, "context": last["hidden"].flatten(1)}

    def walk(self, memory: Rows, state: Rows, embedded: Float[Tensor, "batch embed"]) -> tuple:
        context = memory["context"]
        hidden = self.decoder(torch.cat([embedded, context], dim=-1), state["hidden"])
        nowhere = context.new_zeros(len(context), 1, memory["annotations"].shape[1])
        return torch.cat([hidden, embedded, context], dim=-1), {"hidden": hidden}, nowhere


def encoder(model: Bahdanau, kind: str) -> None:
    if kind == "forward":
        model.encoder, model.__class__ = TwiceForward(model.encoder), ForwardBahdanau
    else:
        model.__class__ = NoAttention
        del model.score


# ---- lesson 07: does general's initialisation matter?


@torch.no_grad()
def general_starts(model: Luong, where: str) -> None:
    """As the identity, so like dot, or uniform in ±1/√d like `nn.Linear`; the library's is ±1/d."""
    weight = model.score.weight
    weight.copy_(torch.eye(len(weight))) if where == "identity" else nn.init.uniform_(
        weight, -(len(weight) ** -0.5), len(weight) ** -0.5
    )


# ---- lessons 08, 11, 12: the Transformer


def shared_query_key(model: Transformer, where: str) -> None:
    """One matrix for queries and keys: in self-attention, or everywhere."""
    for block in (*model.encoder.blocks, *model.decoder.blocks):
        for heads in (block.attention, block.cross if where == "everywhere" else None):
            if heads is not None:
                heads.w_key = heads.w_query


def sinusoids_too(model: Transformer, _: bool) -> None:
    """Rotary positions, and sinusoids added to the words as well."""
    added = SinusoidalPositions(max_len=model.config.max_len, d_model=model.config.d_model)
    for positions in (model.source_positions, model.target_positions):
        positions.register_buffer("table", added.table.to(device_of(model)), persistent=False)
        positions.add = MethodType(SinusoidalPositions.add, positions)


class Recomputing(Transformer):
    """Decodes without a cache, so that a word's heads can depend on how many words there are."""

    def start(self, memory: Rows) -> Rows:
        return {"said": memory["mask"].new_zeros(len(memory["mask"]), 0, dtype=torch.int64)}

    def advance(self, memory: Rows, state: Rows, tokens: Tokens, *, with_weights: bool) -> Stepped:
        said = torch.cat([state["said"], tokens[:, None]], dim=1)
        logits, weights = self.say(memory, said, with_weights=with_weights)
        return logits[:, -1], {"said": said}, weights[..., -1, :] if with_weights else None


def wrong_split(model: Transformer, where: str) -> None:
    """Heads are split with one `view`, so each gets a piece of the sentence; joined to match."""

    def split(features: Tensor, n_heads: int) -> Tensor:
        return features.view(len(features), n_heads, features.shape[1], -1)

    def project(self: MultiHead, inputs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return self.project_query(inputs), *self.project_source(inputs)

    def project_query(self: MultiHead, inputs: Tensor) -> Tensor:
        return split(F.linear(inputs, self.w_query), self.n_heads)

    def project_source(self: MultiHead, source: Tensor) -> tuple[Tensor, Tensor]:
        return split(F.linear(source, self.w_key), self.n_heads), split(
            F.linear(source, self.w_value), self.n_heads
        )

    def attend(self: MultiHead, query: Tensor, keys: Tensor, values: Tensor, **options) -> tuple:
        heads, weights = multi_head(query, keys, values, **options)
        return F.linear(heads.reshape(len(heads), heads.shape[2], -1), self.w_output), weights

    part = model.encoder if where == "encoder" else model
    for heads in filter(lambda module: isinstance(module, MultiHead), part.modules()):
        for method in (project, project_query, project_source, attend):
            setattr(heads, method.__name__, MethodType(method, heads))
    if part is model:
        model.__class__ = Recomputing


# ---- lesson 19: without an encoder


class DecoderOnly(Recomputing):
    """One causal stack over "English EOS BOS French"; the loss is that of a translator, on the French."""

    attends = False

    def read(self, src: Source, src_lengths: Lengths) -> Rows:
        is_word = torch.arange(src.shape[1], device=src.device) < src_lengths[:, None]
        return {"src": src, "mask": is_word}

    def say(self, memory: Rows, tgt_in: Target, *, with_weights: bool) -> Decoded:
        words = torch.cat([self.words.source(memory["src"]), self.words.target(tgt_in)], dim=1)
        is_word = F.pad(memory["mask"], (0, tgt_in.shape[1]), value=True)
        positions = is_word.cumsum(dim=1).sub(1).clamp(min=0)  # padding between the two isn't counted
        x = self.dropout(words + self.source_positions.table[positions])
        n = words.shape[1]
        causal = torch.ones(n, n, dtype=torch.bool, device=x.device).tril()
        x, _, _ = self.decoder(x, mask=causal & is_word[:, None, None])
        return self.words.logits(x[:, memory["src"].shape[1] :]), None


def decoder_only(model: Transformer, n_layers: int) -> None:
    del model.encoder
    longer = 2 * model.config.max_len  # both sentences
    model.source_positions = replace(model.config, max_len=longer).make_positions()
    model.decoder = replace(model.config, n_layers=n_layers).make_stack(cross_attention=False)
    model.to(device_of(model.words)).__class__ = DecoderOnly


ALTERED: dict[str, Callable] = {
    "context": context,
    "encoder": encoder,
    "general starts": general_starts,
    "shared query and key": shared_query_key,
    "sinusoids too": sinusoids_too,
    "wrong split": wrong_split,
    "decoder only": decoder_only,
}
