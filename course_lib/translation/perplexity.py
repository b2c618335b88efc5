"""How surprised a language model is by a text, a word at a time.

A model that always wavers between k equally likely words has a perplexity of k. It is e to the power of
the mean loss; EOS counts as a word, for knowing where to stop is part of the language.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch.nn import functional as F

from course_lib.models.in_use import device_of, eval_mode
from course_lib.models.language_model import LanguageModel
from course_lib.shapes import Float, Int, Tensor
from course_lib.text.batch import make_batch
from course_lib.text.special import PAD
from course_lib.translation.pipeline import TOKENS_PER_BATCH, by_length


@dataclass(frozen=True)
class CorpusLoss:
    """The loss of a whole corpus.

    >>> round(CorpusLoss(nats=math.log(8) * 10, n_tokens=10).perplexity, 6)
    8.0
    """

    nats: float
    n_tokens: int

    @property
    def perplexity(self) -> float:
        per_token = self.nats / self.n_tokens
        return math.exp(per_token) if per_token < 700 else math.inf  # beyond it a float cannot go


def perplexity(
    model: LanguageModel, sentences: Sequence[Sequence[int]], *, word_by_word: bool = False
) -> CorpusLoss:
    """The model's loss on sentences of ids (without BOS and EOS).

    `word_by_word` reads as one does when writing: the words to come are not even there yet. For a sound
    model the number is the same; a model whose mask leaks is found out.
    """
    if not sentences:
        raise ValueError("Expected at least one sentence, but got none.")
    device, nats = device_of(model), 0.0
    lengths = {place: len(words) + 1 for place, words in enumerate(sentences)}
    with eval_mode(model), torch.inference_mode():
        for places in by_length(lengths, TOKENS_PER_BATCH):
            batch = make_batch([[]] * len(places), [sentences[place] for place in places]).to(device)
            logits = _word_by_word(model, batch.tgt_in) if word_by_word else model.decode(batch.tgt_in)[0]
            scores, words = logits.float().flatten(0, 1), batch.tgt_out.flatten()
            each = F.cross_entropy(scores, words, ignore_index=PAD, reduction="none")
            nats += float(each.cpu().double().sum())
    return CorpusLoss(nats=nats, n_tokens=sum(lengths.values()))


def _word_by_word(model: LanguageModel, tokens: Int[Tensor, "batch tgt"]) -> Float[Tensor, "batch tgt vocab"]:
    state, said = model.start(tokens.shape[0]), []
    for word in tokens.unbind(dim=1):
        logits, state, _ = model.step(state, word)
        said.append(logits)
    return torch.stack(said, dim=1)
