"""Luong, Pham, Manning 2015: Effective Approaches to Attention-based Neural Machine Translation.

    >>> config = LuongConfig(vocab_size=50, embed=8, hidden=16, window="local-m", half_width=1)
    >>> system = Luong(config)
    >>> memory = system.encode(torch.tensor([[7, 8, 9, 3]]), torch.tensor([4]))
    >>> _, weights = system.decode(memory, torch.tensor([[2, 7, 8]]), with_weights=True)
    >>> weights[0, 0, 0].gt(0).int()                      # target word t sees the words around t
    tensor([[1, 1, 0, 0],
            [1, 1, 1, 0],
            [0, 1, 1, 1]], dtype=torch.int32)

What was new: a simpler road to the same place. The decoder moves first and looks then, with the state it
has just reached; the score can be a mere dot product; the context meets the state above the recurrence, and
enters it only at the next word, if h~ is fed back (input feeding). And attention need not be global: a
window around one place may do.

    state       h_t = LSTM([E y_(t-1) ; h~_(t-1)], h_(t-1))     input feeding: h~ tells where it has looked
    scores      dot h_tᵀ k · general h_tᵀ W k · concat vᵀ tanh(W [h_t ; k]) · location W h_t
    weights     softmax over all words, or over a window (`layers/local.py`)
    context     c_t = Σ_j weight_tj k_j                         over the encoder's top layer
    next word   W_s h~_t   with   h~_t = tanh(W_c [c_t ; h_t])

What was still missing: it is recurrent, and with input feeding it must walk in training too. Without,
the LSTM runs over the whole target in one call, and then all words look at once.

With local-p, weights are the softmax inside the window times a bell, and nothing makes them sum to 1
again, as in the paper: such a row sums to at most 1.

Where this differs from the paper:
- The source is not reversed, as it is in the paper (`reverse=True` does that). Positions count from 0, so a
  centre of local-p lies in [0, S].
- h~ is as wide as an embedding, so that one table can serve both ends (`tied`). The paper has tables of
  their own and 1000 for every width, in 4 layers.
- concat is computed as `additive`, its equal: the half that belongs to the keys is made once. Its hidden
  layer, and that of local-p, is as wide as the state.
- local-m's centre, which is t in the paper, is kept within the source: a target may be longer.
- A location score has a row for every position up to `max_len`, cut to the source: the paper cuts too.
- Dropout acts on embeddings, between layers and before the vocabulary (after Zaremba 2014, as there),
  but h~ is fed on whole.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

from course_lib.layers.attention import masked_softmax, mix
from course_lib.layers.local import PredictedCentres, gaussian_window, monotonic_centres, near
from course_lib.layers.masks import padding_mask
from course_lib.layers.recurrent import Recurrent, reverse_within
from course_lib.layers.rows import Rows
from course_lib.layers.scores import AdditiveScore, GeneralScore, LocationScore, Score, dot
from course_lib.models.config import Config
from course_lib.models.embeddings import Embeddings
from course_lib.models.translator import Decoded, SteppingTranslator
from course_lib.shapes import Float, Int, Tensor

SCORES = ("dot", "general", "concat", "location")
WINDOWS = ("global", "local-m", "local-p")


@dataclass(frozen=True, kw_only=True)
class LuongConfig(Config):
    """`half_width` is the D of a local window, which holds 2 D + 1 words; a global one does not use it."""

    embed: int
    hidden: int
    n_layers: int = 1
    score: str = "general"
    window: str = "global"
    half_width: int = 10
    input_feeding: bool = True
    reverse: bool = False  # the encoder reads the source from its end

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, known in (("score", SCORES), ("window", WINDOWS)):
            if getattr(self, name) not in known:
                raise ValueError(
                    f"Expected {name} to be one of {', '.join(known)}, but got {getattr(self, name)!r}."
                )


class Luong(SteppingTranslator):
    """An LSTM translator that looks after each move, at all source words or at a few."""

    config: LuongConfig

    def __init__(self, config: LuongConfig):
        super().__init__(config)
        embed, hidden, n_layers, dropout = config.embed, config.hidden, config.n_layers, config.dropout
        self.words = Embeddings(config, embed=embed)
        self.encoder = Recurrent(
            kind="lstm", input_size=embed, hidden=hidden, n_layers=n_layers, dropout=dropout
        )
        fed = embed if config.input_feeding else 0
        self.decoder = Recurrent(
            kind="lstm", input_size=embed + fed, hidden=hidden, n_layers=n_layers, dropout=dropout
        )
        self.score = _make_score(config)
        if config.window == "local-p":
            self.centres = PredictedCentres(query_dim=hidden, attn_dim=hidden)
        self.combine = nn.Linear(2 * hidden, embed, bias=False)  # W_c
        self.dropout = nn.Dropout(dropout)

    def read(self, src: Int[Tensor, "batch src"], src_lengths: Int[Tensor, " batch"]) -> Rows:
        words = reverse_within(src, src_lengths - 1) if self.config.reverse else src  # EOS stays the last
        states, last = self.encoder(self.words.source(words), lengths=src_lengths)
        if self.config.reverse:  # a state belongs to its word, whichever way it was read
            states = reverse_within(states, src_lengths - 1)
        memory = {
            "states": states,
            "hidden": last["hidden"],
            "cell": last["cell"],
            "lengths": src_lengths,
            "may_look": padding_mask(src_lengths, src.shape[1]),
        }
        if self.config.score == "concat":
            memory["keys"] = self.score.project_keys(states)  # the same at every step, so made once
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

    def say(self, memory: Rows, tgt_in: Int[Tensor, "batch tgt"], *, with_weights: bool) -> Decoded:
        if self.config.input_feeding:
            return super().say(memory, tgt_in, with_weights=with_weights)
        # Nothing that was looked at goes back into the LSTM: it may run ahead, then all words look at once.
        first = {name: memory[name] for name in ("hidden", "cell")}
        tops, _ = self.decoder(self.embed(tgt_in), first)
        steps = torch.arange(tgt_in.shape[1], device=tgt_in.device).expand(tgt_in.shape)
        features, weights = self.look(memory, tops, steps)
        return self.logits(features), weights[:, None, None] if with_weights else None

    def embed(self, tokens: Int[Tensor, "batch tgt"]) -> Float[Tensor, "batch tgt embed"]:
        return self.words.target(tokens)

    def walk(
        self, memory: Rows, state: Rows, embedded: Float[Tensor, "batch embed"]
    ) -> tuple[Float[Tensor, "batch embed"], Rows, Float[Tensor, "batch layers heads src"]]:
        """Move on, then look with the new state."""
        inputs = torch.cat([embedded, state["fed"]], dim=-1) if self.config.input_feeding else embedded
        top, moved = self.decoder.step(inputs, {name: state[name] for name in ("hidden", "cell")})
        feature, weights = self.look(memory, top[:, None], state["step"][:, None])
        feature = feature.squeeze(1)  # (batch, embed)
        state = moved | {"step": state["step"] + 1}
        if self.config.input_feeding:
            state["fed"] = feature
        return feature, state, weights[:, None]

    def look(
        self, memory: Rows, tops: Float[Tensor, "batch tgt hidden"], steps: Int[Tensor, "batch tgt"]
    ) -> tuple[Float[Tensor, "batch tgt embed"], Float[Tensor, "batch tgt src"]]:
        """h~ = tanh(W_c [c ; h]) for each of the decoder's top states, and the weights behind its c."""
        weights = self._weights(memory, tops, steps)
        context = mix(weights, memory["states"])
        return torch.tanh(self.combine(torch.cat([context, tops], dim=-1))), weights

    def logits(self, features: Float[Tensor, "... embed"]) -> Float[Tensor, "... vocab"]:
        return self.words.logits(self.dropout(features))

    def _weights(self, memory: Rows, tops: Tensor, steps: Tensor) -> Tensor:
        if self.config.score == "concat":
            scores = self.score.score_projected(tops, memory["keys"])
        else:
            scores = self.score(tops, memory["states"])
        if self.config.window == "global":
            return masked_softmax(scores, memory["may_look"])
        moves_along = self.config.window == "local-m"
        lengths, half_width = memory["lengths"], self.config.half_width
        centres = monotonic_centres(steps, lengths) if moves_along else self.centres(tops, lengths)
        positions = torch.arange(scores.shape[-1], device=scores.device)
        window = near(centres, positions, half_width=half_width)
        weights = masked_softmax(scores, memory["may_look"] & window)
        if moves_along:
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
