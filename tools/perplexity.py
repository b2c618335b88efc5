"""The perplexity of a language model on a text.

Perplexity is e to the power of the mean loss per token. A model that always chooses between k equally
probable words has a perplexity of k. EOS counts as a token, because the model also predicts where to stop.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch.nn import functional as F

from course_lib.models.inference import device_of, eval_mode
from course_lib.models.language_model import LanguageModel
from course_lib.shapes import Float, Int, Tensor
from course_lib.text.batch import make_batch
from course_lib.text.special import PAD
from course_lib.translation.pipeline import TOKENS_PER_BATCH, by_length


@dataclass(frozen=True)
class CorpusLoss:
    """The summed loss of a corpus.

    >>> round(CorpusLoss(nats=math.log(8) * 10, n_tokens=10).perplexity, 6)
    8.0
    """

    nats: float
    n_tokens: int

    @property
    def perplexity(self) -> float:
        per_token = self.nats / self.n_tokens
        return math.exp(per_token) if per_token < 700 else math.inf  # exp would overflow


def perplexity(
    model: LanguageModel, sentences: Sequence[Sequence[int]], *, word_by_word: bool = False
) -> CorpusLoss:
    """The model's loss on sentences of ids (without BOS and EOS).

    `word_by_word` uses `step`, as in generation, so the model has no access to later words. For a correct
    model the result is the same; a difference shows that its causal mask leaks.
    """
    if not sentences:
        raise ValueError("Expected at least one sentence, but got none.")
    device, nats = device_of(model), 0.0
    lengths = {index: len(sentence) + 1 for index, sentence in enumerate(sentences)}
    with eval_mode(model), torch.inference_mode():
        for indices in by_length(lengths, TOKENS_PER_BATCH):
            batch = make_batch([[]] * len(indices), [sentences[index] for index in indices]).to(device)
            logits = _word_by_word(model, batch.tgt_in) if word_by_word else model.decode(batch.tgt_in)[0]
            logits, targets = logits.float().flatten(0, 1), batch.tgt_out.flatten()
            losses = F.cross_entropy(logits, targets, ignore_index=PAD, reduction="none")
            nats += float(losses.cpu().double().sum())
    return CorpusLoss(nats=nats, n_tokens=sum(lengths.values()))


def _word_by_word(model: LanguageModel, tokens: Int[Tensor, "batch tgt"]) -> Float[Tensor, "batch tgt vocab"]:
    state, logits = model.start(tokens.shape[0]), []
    for token in tokens.unbind(dim=1):
        token_logits, state, _ = model.step(state, token)
        logits.append(token_logits)
    return torch.stack(logits, dim=1)
