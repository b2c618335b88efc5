"""What a system is asked for, and how wrong its answer is: one objective for each kind of system.

    loss, n_counted = objective(model, batch)               # a sum, and over how many it is

Sums, not means: two halves of a batch then add up to the whole, whatever their padding, and that is
what training on several processes needs.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional as F

from course_lib.models.language_model import LanguageModel
from course_lib.models.self_attentive import redundancy
from course_lib.models.translator import Translator
from course_lib.shapes import Float, Int, Tensor
from course_lib.text.batch import Batch
from course_lib.text.batching import Epochs
from course_lib.text.encoded import EncodedCorpus
from course_lib.text.special import PAD
from course_lib.text.tokenizer import Tokenizer
from course_lib.training.fused_loss import can_fuse, fused_sum_loss

Objective = Callable[[nn.Module, Batch], tuple[Tensor, Tensor]]


# ---- words


def sum_loss(
    logits: Float[Tensor, "batch tgt vocab"], targets: Int[Tensor, "batch tgt"], *, smoothing: float = 0.0
) -> Float[Tensor, ""]:
    """The losses of all words that count, added up: PAD does not count. On a GPU in one pass.

    Label smoothing asks for (1 - ε) on the right word and spreads ε evenly over the whole vocabulary, the
    right word included. A model that is sure of itself pays for it; it learns to be a little less sure, and
    translates better for it, though its perplexity gets worse (Vaswani et al. 2017, section 5.4).
    """
    if can_fuse(logits):
        return fused_sum_loss(logits.flatten(0, 1), targets.flatten(), smoothing=smoothing)
    return F.cross_entropy(
        logits.flatten(0, 1).float(),
        targets.flatten(),
        ignore_index=PAD,
        reduction="sum",
        label_smoothing=smoothing,
    )


def symmetric_kl(
    one: Float[Tensor, "batch tgt vocab"],
    other: Float[Tensor, "batch tgt vocab"],
    targets: Int[Tensor, "batch tgt"],
) -> Float[Tensor, ""]:
    """How far two answers are apart: the mean of both Kullback-Leibler divergences, added up; not at PAD.

    >>> sure, unsure = torch.tensor([[[2.0, 0.0]]]), torch.tensor([[[0.0, 0.0]]])
    >>> symmetric_kl(sure, unsure, torch.tensor([[4]]))         # (0.881 - 0.5) · (log 0.881 - log 0.119) / 2
    tensor(0.3808)
    """
    first, second = (logits.float().log_softmax(dim=-1) for logits in (one, other))
    apart = ((first.exp() - second.exp()) * (first - second)).sum(dim=-1)  # (batch, tgt)
    return torch.where(targets != PAD, apart, 0.0).sum() / 2


def translation(smoothing: float, r_drop: float = 0.0, scheduled_sampling: float = 0.0) -> Objective:
    """The next target word, given the source and the target words before it.

    With `scheduled_sampling`, so large a share of the words before it are not the right ones but those that
    the system itself would have said there (Bengio et al. 2015; all at once, as Mihaylova and Martins 2019).
    """

    def read(model: nn.Module, batch: Batch) -> Tensor:
        tgt_in = batch.tgt_in
        if scheduled_sampling:
            with torch.no_grad():
                said = model(batch.src, batch.src_lengths, tgt_in).argmax(dim=-1)
            own = torch.rand(tgt_in[:, 1:].shape, device=tgt_in.device) < scheduled_sampling
            own = own & (tgt_in[:, 1:] != PAD)
            tgt_in = torch.cat([tgt_in[:, :1], torch.where(own, said[:, :-1], tgt_in[:, 1:])], dim=1)
        return model(batch.src, batch.src_lengths, tgt_in)

    return _next_word(read, smoothing, r_drop)


def language_modelling(smoothing: float, r_drop: float = 0.0) -> Objective:
    """The next word, given the words before it; the source is not read."""
    return _next_word(lambda model, batch: model(batch.tgt_in), smoothing, r_drop)


def _next_word(read: Callable[[nn.Module, Batch], Tensor], smoothing: float, r_drop: float) -> Objective:
    """The loss of a system that says words; `read` gives its logits.

    With `r_drop`, each sentence is read twice, by two draws of dropout. Both readings must be right, and
    say the same (R-Drop: Liang et al. 2021, whose α this is): on few sentences, worth a step twice as large.
    """

    def objective(model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
        if not r_drop:
            return sum_loss(read(model, batch), batch.tgt_out, smoothing=smoothing), batch.n_tokens
        twice = batch.map(lambda tensor: torch.cat([tensor, tensor]))
        logits = read(model, twice)
        wrong = sum_loss(logits, twice.tgt_out, smoothing=smoothing) / 2
        return wrong + r_drop / 2 * symmetric_kl(*logits.chunk(2), batch.tgt_out), batch.n_tokens

    return objective


def objective_for(
    model: nn.Module, smoothing: float, r_drop: float = 0.0, scheduled_sampling: float = 0.0
) -> Objective:
    """The usual objective of a system's kind."""
    if isinstance(model, Translator):
        return translation(smoothing, r_drop, scheduled_sampling)
    if isinstance(model, LanguageModel):
        return language_modelling(smoothing, r_drop)
    raise TypeError(
        f"Expected a translator or a language model, but got {type(model).__name__}. "
        "Pass an objective of your own: a function of the model and a batch."
    )


# ---- classes: which French pronoun an English sentence needs

# English says "it" and "they"; which of four words that becomes depends on a noun elsewhere in the sentence,
# so whoever gets it right has found that noun. Five sentences in six have no pronoun: "none" for all is right
# as often, so look at each class by itself (`right_by_class`).
CLASSES = ("none", "il", "elle", "ils", "elles")


def classification(labels: Tensor, *, smoothing: float = 0.0, penalty: float = 0.0) -> Objective:
    """The class of each source sentence; `labels` has one for each pair of the corpus.

    The penalty keeps the hops of a self-attentive encoder apart; 0: the loss alone.
    """

    def objective(model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
        encoder = getattr(model, "module", model)  # several processes wrap it, and want to be called
        embedding, weights = encoder.encode(batch.src, batch.src_lengths)
        alone = encoder is model
        logits = encoder.classify(embedding) if alone else model(batch.src, batch.src_lengths)
        wanted = labels[batch.pairs.clamp(min=0)]
        losses = F.cross_entropy(logits.float(), wanted, reduction="none", label_smoothing=smoothing)
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
