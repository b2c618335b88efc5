"""Translate a test set and compute every metric that applies to it.

    evaluation = evaluate(system, tokenizer, splits().test, beam=5)
    evaluation.exact, evaluation.bleu.value

Pairs of the toy language come with annotations: phenomena, antecedents of pronouns, gold links. Sentences
from files have only references, so they get BLEU, chrF, exact match and a breakdown by length.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import torch

from course_lib.models.inference import device_of, eval_mode
from course_lib.models.translator import Translator
from course_lib.shapes import Float, Tensor
from course_lib.text.batch import make_batch
from course_lib.text.corpus import Sentences
from course_lib.text.pair import Pair
from course_lib.text.tokenizer import Tokenizer
from course_lib.training.data import sides
from course_lib.translation.alignment_error import AlignmentError, alignment_error
from course_lib.translation.metrics import Metric, bleu, chrf, exact_matches, pronouns_right
from course_lib.translation.pipeline import TOKENS_PER_BATCH, by_length, translate

LENGTHS = ((1, 5), (6, 10), (11, 15), (16, 20), (21, 30), (31, 40))


@dataclass(frozen=True)
class Slice:
    """The results on a subset of the sentences. `exact` is a fraction from 0 to 1."""

    name: str
    n: int
    bleu: float
    exact: float


@dataclass(frozen=True)
class Accuracy:
    """The number of correct items out of n.

    >>> Accuracy(right=3, n=4).fraction
    0.75
    """

    right: int
    n: int

    @property
    def fraction(self) -> float:
        return self.right / self.n


@dataclass(frozen=True)
class Evaluation:
    """All metrics of one test set; None or empty where a metric doesn't apply."""

    n: int
    beam: int
    length_penalty: float
    lowercase: bool
    bleu: Metric
    chrf: Metric
    exact: float
    n_cut: int  # translations without EOS
    by_length: tuple[Slice, ...]  # number of source words
    by_phenomenon: tuple[Slice, ...] = ()
    coreference: Accuracy | None = None
    alignment: AlignmentError | None = None
    translations: tuple[str, ...] = field(default=(), repr=False)


def evaluate(
    system: Translator,
    tokenizer: Tokenizer,
    pairs: Sequence[Pair] | Sentences,
    *,
    beam: int = 1,
    length_penalty: float = 0.6,
    lowercase: bool = False,
    progress: Callable[[int], object] | None = None,
) -> Evaluation:
    """Translate every source and compare it with its reference. Options as in `translate`.

    The alignment error needs a system with attention, gold links, and a tokenizer that makes each word one
    token. It is computed with teacher forcing, because gold links refer to the words of the reference.
    """
    if len(pairs) == 0:
        raise ValueError("Expected at least one sentence to evaluate on, but got none.")
    toy = [] if isinstance(pairs, Sentences) else list(pairs)
    sources, references = sides(pairs)
    search = {"beam": beam, "length_penalty": length_penalty}
    translations = translate(sources, system, tokenizer, **search, progress=progress)
    outputs = [translation.target for translation in translations]
    exact = exact_matches(outputs, references, lowercase=lowercase)

    def slices(groups: Mapping[str, Sequence[int]]) -> tuple[Slice, ...]:
        parts = []
        for name, group in groups.items():
            texts = [outputs[i] for i in group], [references[i] for i in group]
            exact_fraction = sum(exact[i] for i in group) / len(group)
            parts.append(Slice(name, len(group), bleu(*texts, lowercase=lowercase).value, exact_fraction))
        return tuple(parts)

    right = [
        is_right for pair, text in zip(toy, outputs, strict=False) for is_right in pronouns_right(pair, text)
    ]
    return Evaluation(
        n=len(outputs),
        **search,
        lowercase=lowercase,
        bleu=bleu(outputs, references, lowercase=lowercase),
        chrf=chrf(outputs, references, lowercase=lowercase),
        exact=sum(exact) / len(exact),
        n_cut=sum(not translation.finished for translation in translations),
        by_length=slices(length_groups([len(text.split()) for text in sources])),
        by_phenomenon=slices(phenomenon_groups(toy)),
        coreference=Accuracy(sum(right), len(right)) if right else None,
        alignment=teacher_forced_alignment(system, tokenizer, toy),
        translations=tuple(outputs),
    )


def length_groups(lengths: Sequence[int]) -> dict[str, list[int]]:
    """The indices of the sentences in each range of lengths; empty ranges are left out.

    >>> length_groups([3, 50, 5, 12])
    {'1–5': [0, 2], '11–15': [3], '41 and more': [1]}
    """
    groups: dict[str, list[int]] = {}
    for low, high in (*LENGTHS, (LENGTHS[-1][1] + 1, 10**9)):
        group = [index for index, length in enumerate(lengths) if low <= max(length, 1) <= high]
        if group:
            groups[f"{low}–{high}" if (low, high) in LENGTHS else f"{low} and more"] = group
    return groups


def phenomenon_groups(pairs: Sequence[Pair]) -> dict[str, list[int]]:
    """The indices of the sentences that show each phenomenon; most show several.

    >>> pairs = [Pair(("a",), ("b",), phenomena=frozenset({"past", "gender"})), Pair(("c",), ("d",))]
    >>> phenomenon_groups(pairs)
    {'gender': [0], 'past': [0]}
    """
    names = sorted({name for pair in pairs for name in pair.phenomena})
    return {name: [index for index, pair in enumerate(pairs) if name in pair.phenomena] for name in names}


def teacher_forced_alignment(
    system: Translator, tokenizer: Tokenizer, pairs: Sequence[Pair]
) -> AlignmentError | None:
    """The alignment error under teacher forcing; None where it can't be computed (see `evaluate`)."""
    linked = [pair for pair in pairs if pair.links]
    ids = [(tokenizer.encode(pair.src_text), tokenizer.encode(pair.tgt_text)) for pair in linked]
    sizes = [(len(src), len(tgt)) for src, tgt in ids]
    words_are_tokens = sizes == [(len(pair.src), len(pair.tgt)) for pair in linked]
    fitting = [index for index, size in enumerate(sizes) if max(size) < system.config.max_len]
    if not (system.attends and words_are_tokens and fitting):
        return None
    weights = dict(teacher_forced_weights(system, {index: ids[index] for index in fitting}))
    return alignment_error(
        [weights[index] for index in fitting],
        [linked[index].links for index in fitting],
        [sizes[index] for index in fitting],
    )


def teacher_forced_weights(
    system: Translator, sentences: Mapping[int, tuple[list[int], list[int]]]
) -> Iterator[tuple[int, Float[Tensor, "layers heads tgt src"]]]:
    """The attention weights of each (source, reference) under teacher forcing, with the sentence's key."""
    device = device_of(system)
    lengths = {index: max(len(src), len(tgt)) + 1 for index, (src, tgt) in sentences.items()}
    for indices in by_length(lengths, TOKENS_PER_BATCH):
        batch = make_batch(*zip(*(sentences[index] for index in indices), strict=True)).to(device)
        with eval_mode(system), torch.inference_mode():
            memory = system.encode(batch.src, batch.src_lengths)
            _, weights = system.decode(memory, batch.tgt_in, with_weights=True)
        yield from zip(indices, weights.float().cpu(), strict=True)
