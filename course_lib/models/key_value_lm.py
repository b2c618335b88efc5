"""A language model that attends to its last few states: attention, key-value, key-value-predict (2017).

    Daniluk, Rocktäschel, Welbl, Riedel 2017   Frustratingly Short Attention Spans in Neural Language Modeling

New: the LSTM's output had been key, value and prediction at once. Here it is split into parts, one for each
role:

| form | parts of the output | keys | values | used with the context for the prediction |
|---|---|---|---|---|
| `attention` | h | h | h | h |
| `key-value` | k, v | k | v | v |
| `key-value-predict` | k, v, p | k | v | p |

    a_i = wᵀ tanh(W_Y k_i + W_h k_t)          for the last `span` words before t
    context_t = Σ softmax(a)_i v_i            the paper's r_t
    h*_t = tanh(W_r context_t + W_x p_t)      and the vocabulary is scored from h*_t

The LSTM never sees the context, so it processes all words first, in one fused call.

Where this differs from the paper:
- h*_t has the width of the embeddings (`embed`), so that the output layer can share their matrix.
- The span includes only words of the same text; the paper treats a corpus as one long text.
- `hidden` is the whole width of the LSTM, divided among the parts; the paper gives the width of a part, k.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import nn
from torch.nn import functional as F

from course_lib.layers.attention import attend
from course_lib.layers.recurrent import Recurrent
from course_lib.layers.rows import Rows
from course_lib.layers.scores import AdditiveScore
from course_lib.models.config import Config
from course_lib.models.embeddings import Embeddings
from course_lib.models.language_model import LanguageModel
from course_lib.models.translator import Decoded, Stepped, Target, Tokens
from course_lib.shapes import Float, Tensor

N_PARTS = {"attention": 1, "key-value": 2, "key-value-predict": 3}
"""The number of parts that the LSTM's output is split into."""


@dataclass(frozen=True, kw_only=True)
class KeyValueLMConfig(Config):
    """`hidden` is the width of the LSTM, `span` the number of earlier words that can be attended to."""

    embed: int
    hidden: int
    span: int = 5
    form: Literal["attention", "key-value", "key-value-predict"] = "key-value-predict"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.hidden % N_PARTS[self.form]:
            raise ValueError(
                f"Expected hidden to be a multiple of {N_PARTS[self.form]}, but got {self.hidden}. "
                f"The form {self.form!r} splits the LSTM's output into that many equal parts."
            )


def span_before(
    x: Float[Tensor, "batch tgt value_dim"], span: int
) -> Float[Tensor, "batch tgt span value_dim"]:
    """For each position, the `span` positions before it, without itself and with the nearest last.

        >>> span_before(torch.tensor([[[1.0], [2.0], [3.0]]]), span=2)[0, :, :, 0]
        tensor([[0., 0.],
                [0., 1.],
                [1., 2.]])

    There are zeros before the start. The spans overlap but are not copied: all are views of one tensor.
    """
    return F.pad(x, (0, 0, span, 0))[:, :-1].unfold(1, span, 1).mT


class KeyValueLM(LanguageModel):
    """An LSTM with attention over its last few outputs."""

    attends = True

    def __init__(self, config: KeyValueLMConfig):
        super().__init__(config)
        part_width = config.hidden // N_PARTS[config.form]
        self.words = Embeddings(config, embed=config.embed, reads_source=False)
        self.lstm = Recurrent(kind="lstm", input_size=config.embed, hidden=config.hidden)
        self.score = AdditiveScore(query_dim=part_width, key_dim=part_width, attn_dim=part_width)
        # The concatenation of W_r and W_x.
        self.join = nn.Linear(2 * part_width, config.embed, bias=False)
        self.dropout = nn.Dropout(config.dropout)

    def start(self, n_rows: int) -> Rows:
        v = self.score.v
        empty = v.new_zeros(n_rows, 0, len(v))
        return self.lstm.zeros(n_rows) | {"keys": empty, "values": empty, "seen": empty[..., :0]}

    def say(self, tokens: Target, *, with_weights: bool) -> Decoded:
        """Row t of the attention weights covers the `span` words before t; row 0 and the diagonal are 0."""
        outputs, _ = self.lstm(self.words.target(tokens))
        query, key, value, predict = self._parts(outputs)
        n = tokens.shape[1]
        span = min(self.config.span, n)
        columns = torch.arange(n, device=tokens.device)[:, None] + torch.arange(span, device=tokens.device)
        context, weights = attend(
            query[:, :, None],
            span_before(key, span),
            span_before(value, span),
            mask=(columns >= span)[None, :, None],  # column j of row t is word t + j - span
            score=self.score.score_projected,
        )  # (batch, tgt, 1, part), (batch, tgt, 1, span)
        logits = self._logits(context[:, :, 0], predict)
        if not with_weights:
            return logits, None
        weights = weights.transpose(1, 2)  # (batch, 1, tgt, span)
        square = weights.new_zeros(*weights.shape[:3], span + n)
        square = square.scatter(-1, columns.expand_as(weights), weights)[..., span:]  # (batch, 1, tgt, tgt)
        return logits, square[:, None]

    def advance(self, state: Rows, tokens: Tokens, *, with_weights: bool) -> Stepped:
        """The state has the last `span` keys and values. `seen` is empty: only its length is used."""
        lstm_state = {"hidden": state["hidden"], "cell": state["cell"]}
        output, lstm_state = self.lstm.step(self.words.target(tokens[:, None])[:, 0], lstm_state)
        query, key, value, predict = self._parts(output)
        score = self.score.score_projected
        context, weights = attend(query[:, None], state["keys"], state["values"], score=score)
        new_entry = {"keys": key[:, None], "values": value[:, None], "seen": key[:, None, :0]}
        cache = {name: torch.cat([state[name], entry], dim=1) for name, entry in new_entry.items()}
        for name in ("keys", "values"):
            cache[name] = cache[name][:, -self.config.span :]
        # Words before the span have weight 0, and so has the newest word, which doesn't attend to itself.
        n_before_span = state["seen"].shape[1] - weights.shape[-1]
        weights = F.pad(weights, (n_before_span, 1))[:, None] if with_weights else None
        return self._logits(context[:, 0], predict), lstm_state | cache, weights

    def _parts(self, outputs: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Split the outputs into query, projected key, value and prediction part."""
        parts = outputs.chunk(N_PARTS[self.config.form], dim=-1)
        key, value, predict = parts[0], parts[min(1, len(parts) - 1)], parts[-1]
        return key, self.score.project_keys(key), value, predict

    def _logits(self, context: Tensor, predict: Tensor) -> Tensor:
        features = torch.tanh(self.join(torch.cat([context, predict], dim=-1)))
        return self.words.logits(self.dropout(features))
