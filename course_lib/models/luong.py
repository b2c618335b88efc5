"""Luong, Pham, Manning 2015: Effective Approaches to Attention-based Neural Machine Translation.

    >>> config = LuongConfig(vocab_size=50, embed=8, hidden=16, window="local-m", half_width=1)
    >>> system = Luong(config)
    >>> memory = system.encode(torch.tensor([[7, 8, 9, 3]]), torch.tensor([4]))
    >>> _, weights = system.decode(memory, torch.tensor([[2, 7, 8]]), with_weights=True)
    >>> weights[0, 0, 0].gt(0).int()                      # target word t attends to words around t
    tensor([[1, 1, 0, 0],
            [1, 1, 1, 0],
            [0, 1, 1, 1]], dtype=torch.int32)

New: the decoder first updates its state and then attends with the new one; simpler scores; attention to a
window around one position instead of the whole source.

    state       h_t = LSTM([E y_(t-1) ; h~_(t-1)], h_(t-1))     input feeding: h~ carries past attention
    scores      dot h_tᵀ k · general h_tᵀ W k · concat vᵀ tanh(W [h_t ; k]) · location W h_t
    weights     softmax over all words, or over a window (`layers/local.py`)
    context     c_t = Σ_j weight_tj k_j                         over the encoder's top layer
    next word   W_s h~_t   with   h~_t = tanh(W_c [c_t ; h_t])

With local-p, the attention weights are the softmax inside the window times a Gaussian. As in the paper they
are not normalised again, so a row sums to at most 1.

Where this differs from the paper:
- The source is not reversed by default (`reverse=True`, as in the paper). Positions count from 0.
- h~ is as wide as an embedding, so that embeddings and output layer can share a matrix (`tied`).
- concat is computed as the equivalent `additive`, so that the keys' part is computed once. Its hidden layer,
  and that of local-p, is as wide as the state.
- local-m's centre, which is t in the paper, is limited to the source, because a target can be longer.
- Dropout is not applied to the h~ that is fed back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import nn

from course_lib.layers.attention import masked_softmax, weighted_sum
from course_lib.layers.local import PredictedCentres, gaussian_window, local_mask, monotonic_centres
from course_lib.layers.masks import padding_mask
from course_lib.layers.recurrent import Recurrent, reverse_within
from course_lib.layers.rows import Rows
from course_lib.layers.scores import AdditiveScore, GeneralScore, LocationScore, Score, dot
from course_lib.models.config import Config
from course_lib.models.embeddings import Embeddings
from course_lib.models.translator import Decoded, Lengths, Source, SteppingTranslator, Target, Walked
from course_lib.shapes import Float, Int, Tensor


@dataclass(frozen=True, kw_only=True)
class LuongConfig(Config):
    """`half_width` is the D of a local window of 2 D + 1 words; global attention doesn't use it."""

    embed: int
    hidden: int
    n_layers: int = 1
    score: Literal["dot", "general", "concat", "location"] = "general"
    window: Literal["global", "local-m", "local-p"] = "global"
    half_width: int = 10
    input_feeding: bool = True
    reverse: bool = False  # encode the source in reverse order


class Luong(SteppingTranslator):
    """An LSTM translator that attends after each state update, to all source words or to a window."""

    def __init__(self, config: LuongConfig):
        super().__init__(config)
        embed, hidden, n_layers, dropout = config.embed, config.hidden, config.n_layers, config.dropout
        self.words = Embeddings(config, embed=embed)
        self.encoder = Recurrent(
            kind="lstm", input_size=embed, hidden=hidden, n_layers=n_layers, dropout=dropout
        )
        feedback_width = embed if config.input_feeding else 0
        self.decoder = Recurrent(
            kind="lstm", input_size=embed + feedback_width, hidden=hidden, n_layers=n_layers, dropout=dropout
        )
        self.score = _make_score(config)
        if config.window == "local-p":
            self.centres = PredictedCentres(query_dim=hidden, attn_dim=hidden)
        self.combine = nn.Linear(2 * hidden, embed, bias=False)  # W_c
        self.dropout = nn.Dropout(dropout)

    def read(self, src: Source, src_lengths: Lengths) -> Rows:
        words = reverse_within(src, src_lengths - 1) if self.config.reverse else src  # EOS stays last
        states, last = self.encoder(self.words.source(words), lengths=src_lengths)
        if self.config.reverse:  # restore the words' order
            states = reverse_within(states, src_lengths - 1)
        memory = {
            "states": states,
            "hidden": last["hidden"],
            "cell": last["cell"],
            "lengths": src_lengths,
            "mask": padding_mask(src_lengths, src.shape[1]),
        }
        if self.config.score == "concat":
            memory["keys"] = self.score.project_keys(states)  # the same at every step, so computed once
        return memory

    def start(self, memory: Rows) -> Rows:
        state = {
            "hidden": memory["hidden"],
            "cell": memory["cell"],
            "step": torch.zeros_like(memory["lengths"]),
        }
        if self.config.input_feeding:
            state["fed"] = memory["states"].new_zeros(len(memory["states"]), self.config.embed)
        return state

    def say(self, memory: Rows, tgt_in: Target, *, with_weights: bool) -> Decoded:
        if self.config.input_feeding:
            return super().say(memory, tgt_in, with_weights=with_weights)
        # No context is fed back into the LSTM, so it can process all words before any of them attends.
        initial = {name: memory[name] for name in ("hidden", "cell")}
        tops, _ = self.decoder(self.embed(tgt_in), initial)
        steps = torch.arange(tgt_in.shape[1], device=tgt_in.device).expand(tgt_in.shape)
        features, weights = self.attend(memory, tops, steps)
        return self.logits(features), weights[:, None, None] if with_weights else None

    def walk(self, memory: Rows, state: Rows, embedded: Float[Tensor, "batch embed"]) -> Walked:
        """Update the state, then attend with the new one."""
        inputs = torch.cat([embedded, state["fed"]], dim=-1) if self.config.input_feeding else embedded
        top, lstm_state = self.decoder.step(inputs, {name: state[name] for name in ("hidden", "cell")})
        feature, weights = self.attend(memory, top[:, None], state["step"][:, None])
        feature = feature.squeeze(1)  # (batch, embed)
        state = lstm_state | {"step": state["step"] + 1}
        if self.config.input_feeding:
            state["fed"] = feature
        return feature, state, weights[:, None]

    def attend(
        self, memory: Rows, tops: Float[Tensor, "batch tgt hidden"], steps: Int[Tensor, "batch tgt"]
    ) -> tuple[Float[Tensor, "batch tgt embed"], Float[Tensor, "batch tgt src"]]:
        """h~ = tanh(W_c [c ; h]) for each of the decoder's top states, and the attention weights."""
        weights = self._weights(memory, tops, steps)
        context = weighted_sum(weights, memory["states"])
        return torch.tanh(self.combine(torch.cat([context, tops], dim=-1))), weights

    def logits(self, features: Float[Tensor, "... embed"]) -> Float[Tensor, "... vocab"]:
        return self.words.logits(self.dropout(features))

    def _weights(self, memory: Rows, tops: Tensor, steps: Tensor) -> Tensor:
        if self.config.score == "concat":
            scores = self.score.score_projected(tops, memory["keys"])
        else:
            scores = self.score(tops, memory["states"])
        if self.config.window == "global":
            return masked_softmax(scores, memory["mask"])
        monotonic = self.config.window == "local-m"
        lengths, half_width = memory["lengths"], self.config.half_width
        centres = monotonic_centres(steps, lengths) if monotonic else self.centres(tops, lengths)
        positions = torch.arange(scores.shape[-1], device=scores.device)
        window = local_mask(centres, positions, half_width=half_width)
        weights = masked_softmax(scores, memory["mask"] & window)
        if monotonic:
            return weights
        return weights * gaussian_window(centres, positions, sigma=half_width / 2).to(weights.dtype)


def _make_score(config: LuongConfig) -> Score:
    hidden = config.hidden
    if config.score == "general":
        return GeneralScore(query_dim=hidden, key_dim=hidden)
    if config.score == "concat":
        return AdditiveScore(query_dim=hidden, key_dim=hidden, attn_dim=hidden)
    if config.score == "location":
        return LocationScore(query_dim=hidden, max_len=config.max_len)
    return dot
