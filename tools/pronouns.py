"""The classification task of the sentence encoder: which French pronoun an English sentence needs.

    >>> CLASSES[label_of("le chat a bu l' eau parce qu' elle était froide")]
    'elle'

English has "it" and "they"; which of the four French pronouns is right depends on a noun elsewhere in the
sentence, so a correct prediction must use that noun. Five sentences in six have no pronoun, so always
predicting "none" already has that accuracy: compare the accuracies of each class (`right_by_class`).
"""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from course_lib.models.inference import eval_mode
from course_lib.models.self_attentive import redundancy
from course_lib.shapes import Int, Tensor
from course_lib.text.batch import Batch
from course_lib.text.batching import Epochs
from course_lib.text.encoded import EncodedCorpus, target_ids
from course_lib.text.tokenizer import Tokenizer
from course_lib.training.data import TrainingData
from course_lib.training.objective import Objective
from course_lib.training.recipe import Recipe

CLASSES = ("none", "il", "elle", "ils", "elles")
PENALTY = 0.03  # on hops of the sentence encoder that attend to the same words


def pronoun_objective(data: TrainingData, recipe: Recipe) -> Objective:
    """The objective of the sentence encoder: classify the French pronoun that a sentence needs."""
    if recipe.r_drop or recipe.scheduled_sampling:
        raise ValueError(
            "R-Drop and scheduled sampling apply to words, but this system predicts one class per sentence."
        )
    labels, unseen = (pronoun_labels(corpus, data.tokenizer) for corpus in (data.train, data.validation))
    return classification(labels, unseen, smoothing=recipe.smoothing, penalty=PENALTY)


def classification(labels: Tensor, unseen: Tensor, *, smoothing: float, penalty: float) -> Objective:
    """Cross-entropy on the class of each source, from `labels` in training and `unseen` in validation.

    The penalty discourages the hops of a self-attentive encoder from attending to the same words.
    """

    def objective(model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
        encoder = getattr(model, "module", model)  # without its DistributedDataParallel
        embedding, weights = encoder.encode(batch.src, batch.src_lengths)
        is_wrapped = encoder is not model  # then the wrapper must be called, or gradients are not averaged
        logits = model(batch.src, batch.src_lengths) if is_wrapped else encoder.classify(embedding)
        targets = (labels if model.training else unseen)[batch.pairs.clamp(min=0)]
        epsilon = smoothing if model.training else 0.0
        losses = F.cross_entropy(logits.float(), targets, reduction="none", label_smoothing=epsilon)
        if model.training:
            losses = losses + penalty * redundancy(weights.float())
        is_real = batch.pairs >= 0  # a blank row has no class
        return (losses * is_real).sum(), is_real.sum()

    return objective


def label_of(translation: str) -> int:
    """The class of the first pronoun in a French sentence; 0 if it has none.

    >>> CLASSES[label_of("le chat dort")]
    'none'
    """
    words = translation.lower().split()
    return next((CLASSES.index(word) for word in words if word in CLASSES[1:]), 0)


def pronoun_labels(corpus: EncodedCorpus, tokenizer: Tokenizer) -> Int[Tensor, " pairs"]:
    """The label of each pair, taken from its translation; on the corpus's device."""
    labels = torch.tensor([label_of(tokenizer.decode(ids)) for ids in target_ids(corpus)])
    if len(labels.unique()) == 1:
        raise ValueError(
            f"Expected translations with and without {', '.join(CLASSES[1:])}, but all "
            f"{len(labels):,} belong to the same class, {CLASSES[labels[0]]!r}. Use the toy language."
        )
    return labels.to(corpus.device)


@torch.inference_mode()
def right_by_class(
    model: nn.Module, corpus: EncodedCorpus, labels: Int[Tensor, " pairs"]
) -> dict[str, float]:
    """The accuracy on the sentences of each class, and on all of them as "all"."""
    epochs = Epochs(corpus, tokens_per_batch=4096, seed=0)  # raises an error rather than skip a sentence
    predictions = torch.zeros_like(labels)
    with eval_mode(model):
        for batch in epochs.batches(epoch=0):
            predictions[batch.pairs] = model(batch.src, batch.src_lengths).argmax(dim=-1)
    right, labels = (predictions == labels).cpu().double(), labels.cpu()
    by_class = {name: right[labels == label] for label, name in enumerate(CLASSES)}
    return {name: float(part.mean()) for name, part in {"all": right, **by_class}.items() if len(part)}
