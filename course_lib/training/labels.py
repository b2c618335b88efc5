"""Sentences with a label: which French pronoun an English sentence needs. A classifier learns to tell.

    >>> CLASSES[label_of("le chat a bu l' eau parce qu' elle était froide")]
    'elle'
    >>> CLASSES[label_of("le chat dort")]
    'none'

English says "it" and "they"; which of four words that becomes depends on a noun elsewhere in the sentence, so
whoever gets it right has found that noun. Five sentences in six have no pronoun: "none" for all is right as
often, so look at each class by itself (`right_by_class`).
"""

from __future__ import annotations

import torch
from torch import nn

from course_lib.shapes import Int, Tensor
from course_lib.text.batching import Epochs
from course_lib.text.encoded import EncodedCorpus
from course_lib.text.tokenizer import Tokenizer

CLASSES = ("none", "il", "elle", "ils", "elles")


def label_of(translation: str) -> int:
    """The number of the first pronoun in a French sentence; 0 where there is none."""
    words = translation.lower().split()
    return next((CLASSES.index(word) for word in words if word in CLASSES[1:]), 0)


def target_ids(corpus: EncodedCorpus) -> list[list[int]]:
    """The target sentences of a corpus, as ids without EOS.

    >>> from course_lib.text.encoded import encode_ids
    >>> target_ids(encode_ids([[7, 8], [9]], [[5], [6, 4, 5]]))
    [[5], [6, 4, 5]]
    """
    ids, starts = corpus.ids.tolist(), corpus.tgt_start.tolist()
    return [
        ids[start : start + length - 1]
        for start, (_, length) in zip(starts[: len(corpus)], corpus.lengths, strict=True)
    ]


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
    model: nn.Module, corpus: EncodedCorpus, labels: Int[Tensor, " pairs"], *, tokens_per_batch: int = 4096
) -> dict[str, float]:
    """The share of sentences of each class that are told right; of all of them under "all"."""
    was_training = model.training
    batches = Epochs(corpus, tokens_per_batch=tokens_per_batch, seed=0)  # all sentences, or an error
    said = torch.zeros_like(labels)
    model.eval()
    try:
        for batch in batches.one(epoch=0):
            said[batch.pairs] = model(batch.src, batch.src_lengths).argmax(dim=-1)
    finally:
        model.train(was_training)
    right, labels = (said == labels).cpu().double(), labels.cpu()
    by_class = {name: right[labels == place] for place, name in enumerate(CLASSES)}
    return {name: float(hits.mean()) for name, hits in {"all": right, **by_class}.items() if len(hits)}
