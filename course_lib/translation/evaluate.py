"""Translate a test set and measure everything that can be measured on it.

    evaluation = evaluate(system, tokenizer, splits().test, beam=5)
    print(evaluation.table())

Pairs of the toy language bring the truth along: phenomena, pronouns, gold links. Sentences from files
(`corpus.py`) bring their references alone, and are measured by BLEU, chrF, exact match and length.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence

import torch

from course_lib.models.translator import Translator
from course_lib.shapes import Float, Tensor
from course_lib.text.batch import make_batch
from course_lib.text.corpus import Sentences
from course_lib.text.pair import Pair
from course_lib.text.tokenizer import Tokenizer
from course_lib.translation.alignment_error import AlignmentError, alignment_error
from course_lib.translation.coreference import pronouns_right
from course_lib.translation.evaluation import Evaluation, Seconds, Share, Slice
from course_lib.translation.scores import bleu, chrf, exact_matches
from course_lib.translation.search import eval_mode
from course_lib.translation.translate import BUDGET, by_length, device_of, translate

LENGTHS = ((1, 5), (6, 10), (11, 15), (16, 20), (21, 30), (31, 40))


def evaluate(
    system: Translator,
    tokenizer: Tokenizer,
    pairs: Sequence[Pair] | Sentences,
    *,
    beam: int = 1,
    length_penalty: float = 0.6,
    lowercase: bool = False,
    tokens_per_batch: int = BUDGET,
    progress: Callable[[int], object] | None = None,
) -> Evaluation:
    """Free-running translation of every source, compared with its reference. Options as in `translate`.

    The alignment error needs a system that attends, gold links, and a tokenizer for which each word is one
    token. For it the reference is forced upon the system, since gold links are about its words.
    """
    if len(pairs) == 0:
        raise ValueError("Expected at least one sentence to evaluate on, but got none.")
    toy = [] if isinstance(pairs, Sentences) else list(pairs)
    sources = [pair.src_text for pair in toy] if toy else list(pairs.src)
    references = [pair.tgt_text for pair in toy] if toy else list(pairs.tgt)

    began = time.perf_counter()
    found = translate(
        sources,
        system,
        tokenizer,
        beam=beam,
        length_penalty=length_penalty,
        tokens_per_batch=tokens_per_batch,
        progress=progress,
    )
    translated = time.perf_counter()
    alignment = _alignment(system, tokenizer, toy, tokens_per_batch)
    aligned = time.perf_counter()

    said = [translation.target for translation in found]
    exact = exact_matches(said, references, lowercase=lowercase)

    def slices(named: Mapping[str, Sequence[int]]) -> tuple[Slice, ...]:
        return tuple(
            Slice(
                name,
                len(places),
                bleu([said[i] for i in places], [references[i] for i in places], lowercase=lowercase).value,
                sum(exact[i] for i in places) / len(places),
            )
            for name, places in named.items()
        )

    right = [one for pair, text in zip(toy, said, strict=False) for one in pronouns_right(pair, text)]
    return Evaluation(
        n=len(said),
        beam=beam,
        length_penalty=length_penalty,
        lowercase=lowercase,
        bleu=bleu(said, references, lowercase=lowercase),
        chrf=chrf(said, references, lowercase=lowercase),
        exact=sum(exact) / len(exact),
        n_cut=sum(not translation.finished for translation in found),
        by_length=slices(length_groups([len(text.split()) for text in sources])),
        by_phenomenon=slices(phenomenon_groups(toy)),
        coreference=Share(sum(right), len(right)) if right else None,
        alignment=alignment,
        translations=tuple(said),
        seconds=Seconds(translate=translated - began, align=aligned - translated),
    )


def length_groups(lengths: Sequence[int]) -> dict[str, list[int]]:
    """Which sentences have how many words, in groups; a group without a sentence is left out.

    >>> length_groups([3, 50, 5, 12])
    {'1–5': [0, 2], '11–15': [3], '41 and more': [1]}
    """
    groups: dict[str, list[int]] = {f"{low}–{high}": [] for low, high in LENGTHS}
    last = LENGTHS[-1][1]
    groups[f"{last + 1} and more"] = []
    for place, length in enumerate(lengths):
        fitting = (f"{low}–{high}" for low, high in LENGTHS if length <= high)
        groups[next(fitting, f"{last + 1} and more")].append(place)
    return {name: places for name, places in groups.items() if places}


def phenomenon_groups(pairs: Sequence[Pair]) -> dict[str, list[int]]:
    """Which sentences show which phenomenon; most show several.

    >>> pairs = [Pair(("a",), ("b",), phenomena=frozenset({"past", "gender"})), Pair(("c",), ("d",))]
    >>> phenomenon_groups(pairs)
    {'gender': [0], 'past': [0]}
    """
    names = sorted({name for pair in pairs for name in pair.phenomena})
    return {name: [place for place, pair in enumerate(pairs) if name in pair.phenomena] for name in names}


def _alignment(
    system: Translator, tokenizer: Tokenizer, pairs: Sequence[Pair], tokens_per_batch: int
) -> AlignmentError | None:
    linked = [pair for pair in pairs if pair.links]
    sources = [tokenizer.encode(pair.src_text) for pair in linked]
    targets = [tokenizer.encode(pair.tgt_text) for pair in linked]
    sizes = [(len(pair.src), len(pair.tgt)) for pair in linked]
    whole = [(len(src), len(tgt)) for src, tgt in zip(sources, targets, strict=True)] == sizes
    if not (system.attends and linked and whole):
        return None
    fits = [place for place, size in enumerate(sizes) if max(size) < system.config.max_len]
    if not fits:
        return None
    forced = dict(
        _forced(system, {place: (sources[place], targets[place]) for place in fits}, tokens_per_batch)
    )
    return alignment_error(
        [forced[place] for place in fits],
        [linked[place].links for place in fits],
        [sizes[place] for place in fits],
    )


def _forced(
    system: Translator, sentences: Mapping[int, tuple[list[int], list[int]]], tokens_per_batch: int
) -> Iterator[tuple[int, Float[Tensor, "layers heads tgt src"]]]:
    """The weights of each sentence when its reference is forced upon the system, by the sentence's number."""
    device = device_of(system)
    lengths = {place: max(len(src), len(tgt)) + 1 for place, (src, tgt) in sentences.items()}
    for places in by_length(lengths, tokens_per_batch):
        batch = make_batch(*zip(*(sentences[place] for place in places), strict=True)).to(device)
        with eval_mode(system), torch.inference_mode():
            memory = system.encode(batch.src, batch.src_lengths)
            _, weights = system.decode(memory, batch.tgt_in, with_weights=True)
        yield from zip(places, weights.float().cpu(), strict=True)
