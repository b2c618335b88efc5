"""Which French pronoun an English sentence needs: what the sentence encoder is asked for.

    >>> CLASSES[label_of("le chat a bu l' eau parce qu' elle était froide")]
    'elle'

English says "it" and "they"; which of four words that becomes depends on a noun elsewhere in the sentence,
so whoever gets it right has found that noun. Five sentences in six have no pronoun: "none" for all is right
as often, so look at each class by itself (`right_by_class`).
"""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from course_lib.models.in_use import eval_mode
from course_lib.models.self_attentive import redundancy
from course_lib.shapes import Int, Tensor
from course_lib.text.batch import Batch
from course_lib.text.batching import Epochs
from course_lib.text.encoded import EncodedCorpus, target_ids
from course_lib.text.tokenizer import Tokenizer
from course_lib.training.objective import Objective

CLASSES = ("none", "il", "elle", "ils", "elles")


def classification(labels: Tensor, unseen: Tensor, *, smoothing: float, penalty: float) -> Objective:
    """The class of each source sentence: `labels` has one for each pair to train on, `unseen` to validate on.

    The penalty keeps the hops of a self-attentive encoder apart.
    """

    def objective(model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
        encoder = getattr(model, "module", model)  # several processes wrap it, and want to be called
        embedding, weights = encoder.encode(batch.src, batch.src_lengths)
        alone = encoder is model
        logits = encoder.classify(embedding) if alone else model(batch.src, batch.src_lengths)
        wanted = (labels if model.training else unseen)[batch.pairs.clamp(min=0)]
        spread = smoothing if model.training else 0.0
        losses = F.cross_entropy(logits.float(), wanted, reduction="none", label_smoothing=spread)
        if model.training:
            losses = losses + penalty * redundancy(weights.float())
        real = batch.pairs >= 0  # a blank row has no class
        return (losses * real).sum(), real.sum()

    return objective


def label_of(translation: str) -> int:
    """The number of the first pronoun in a French sentence; 0 where there is none.

    >>> CLASSES[label_of("le chat a bu l' eau parce qu' elle était froide")]
    'elle'
    >>> CLASSES[label_of("le chat dort")]
    'none'
    """
    words = translation.lower().split()
    return next((CLASSES.index(word) for word in words if word in CLASSES[1:]), 0)


def pronoun_labels(corpus: EncodedCorpus, tokenizer: Tokenizer) -> Int[Tensor, " pairs"]:
    """The label of each pair, told by its translation; on the corpus's device."""
    labels = torch.tensor([label_of(tokenizer.decode(ids)) for ids in target_ids(corpus)])
    if len(labels.unique()) == 1:
        raise ValueError(
            f"Expected sentences with and without {', '.join(CLASSES[1:])} in their French, but all "
            f"{len(labels)} are of one class, {CLASSES[labels[0]]!r}. The toy language has such sentences."
        )
    return labels.to(corpus.device)


@torch.inference_mode()
def right_by_class(
    model: nn.Module, corpus: EncodedCorpus, labels: Int[Tensor, " pairs"]
) -> dict[str, float]:
    """The share of sentences of each class that are told right; of all of them under "all"."""
    batches = Epochs(corpus, tokens_per_batch=4096, seed=0)  # all sentences, or an error
    said = torch.zeros_like(labels)
    with eval_mode(model):
        for batch in batches.one(epoch=0):
            said[batch.pairs] = model(batch.src, batch.src_lengths).argmax(dim=-1)
    right, labels = (said == labels).cpu().double(), labels.cpu()
    by_class = {name: right[labels == place] for place, name in enumerate(CLASSES)}
    return {name: float(hits.mean()) for name, hits in {"all": right, **by_class}.items() if len(hits)}
