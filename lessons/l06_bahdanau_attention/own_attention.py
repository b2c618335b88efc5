"""Bahdanau's system with any function for its attention: the learner's, or one whose weights are forced.

    >>> up_to_end(decode_steps("the cat sleeps", additive_attention)["words"])
    ['le', 'chat', 'dort']

The function gets the states, the annotations and the three parameters of the score, and returns the context
vectors and the attention weights.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import cache
from itertools import count
from typing import Any

import torch

from course_lib.layers.rows import Rows
from course_lib.models.bahdanau import Bahdanau, BahdanauConfig
from course_lib.models.translator import Walked
from course_lib.shapes import Float, Tensor
from course_lib.text.batch import make_batch
from course_lib.text.special import BOS, EOS, SPECIAL
from course_lib.translation.shipped import shared
from lessons.l06_bahdanau_attention.solutions import additive_attention

Attention = Callable[..., tuple[Tensor, Tensor]]


class OwnAttention(Bahdanau):
    def __init__(self, config: BahdanauConfig, attend: Attention):
        super().__init__(config)
        self.attend = attend

    def walk(self, memory: Rows, state: Rows, embedded: Float[Tensor, "batch embed"]) -> Walked:
        hidden, annotations, score = state["hidden"], memory["annotations"], self.score
        context, weights = self.attend(hidden, annotations, score.w_query, score.w_key, score.v)
        mask = memory["mask"].reshape(len(annotations), -1)
        if not mask.all():  # without their padding, the rest of the weights are a softmax again
            weights = weights * mask / (weights * mask).sum(dim=-1, keepdim=True)
            context = (weights[:, None] @ annotations)[:, 0]
        hidden = self.decoder(torch.cat([embedded, context], dim=-1), hidden)
        return torch.cat([hidden, embedded, context], dim=-1), {"hidden": hidden}, weights[:, None, None]


@cache
def trained() -> OwnAttention:
    """The shipped system, with the solution's attention."""
    shipped = shared("bahdanau").model
    model = OwnAttention(shipped.config, additive_attention)
    model.load_state_dict(shipped.state_dict())
    return model.eval()


def with_attention(attend: Attention) -> OwnAttention:
    """The trained system with another attention function; the weights are shared."""
    model = copy(trained())
    model.attend = attend
    return model


def forced(attend: Attention, step: int, position: int, removed: bool = False) -> Attention:
    """The same attention, but one step attends to one position only, or to all but this one."""
    steps = count()

    def attend_there(states: Tensor, annotations: Tensor, *parameters: Tensor) -> tuple[Tensor, Tensor]:
        if next(steps) != step:
            return attend(states, annotations, *parameters)
        weights = torch.eye(annotations.shape[1])[[position]]
        if removed:
            others = attend(states, annotations, *parameters)[1] * (1 - weights)
            weights = others / others.sum(dim=-1, keepdim=True).clamp(min=1e-30)
        return weights @ annotations[0], weights

    return attend_there


@cache
@torch.no_grad()
def decode_steps(
    sentence: str, attend: Attention = additive_attention, *, at: tuple[int, ...] = (), n: int = 16
) -> dict[str, Any]:
    """The weights and the most probable words of n steps, even after the end.

    `at` is a step, the position onto which its attention is forced, and whether it is removed instead.
    """
    tokenizer, model = shared("bahdanau").tokenizer, with_attention(forced(attend, *at) if at else attend)
    batch = make_batch(sources=[tokenizer.encode(sentence)], targets=[[]])
    memory = model.encode(batch.src, batch.src_lengths)
    state, token, scores, weights, likely = model.start(memory), torch.tensor([BOS]), [], [], []
    for _ in range(n):
        scores.append(model.score(state["hidden"][:, None], memory["annotations"])[0, 0])
        logits, state, attended = model.step(memory, state, token, with_weights=True)
        weights.append(attended[0, 0, 0])
        best = logits[0].softmax(-1).topk(3)
        token = best.indices[:1]
        names = [SPECIAL[EOS] if i == EOS else tokenizer.decode([i]) for i in best.indices.tolist()]
        likely.append((names, best.values.tolist()))
    return {
        "words": [names[0] for names, _ in likely],
        "likely": likely,
        "weights": torch.stack(weights).numpy(),
        "scores": torch.stack(scores).numpy(),
        "annotations": memory["annotations"][0].numpy(),
        "source": [*sentence.split(), SPECIAL[EOS]],
    }


def up_to_end(words: list[str]) -> list[str]:
    """A translation without its end and what follows."""
    return words[: words.index(SPECIAL[EOS])] if SPECIAL[EOS] in words else words
