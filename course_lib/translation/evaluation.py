"""Translate a test set and measure everything that can be measured on it.

    evaluation = evaluate(system, tokenizer, splits().test, beam=5)
    print(evaluation.table())
    json.dumps(evaluation.to_json())

Pairs of the toy language bring the truth along: phenomena, pronouns, gold links. Sentences from files
(`corpus.py`) bring their references alone, and are measured by BLEU, chrF, exact match and length.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import torch

from course_lib.models.in_use import device_of, eval_mode
from course_lib.models.translator import Translator
from course_lib.shapes import Float, Tensor
from course_lib.text.batch import make_batch
from course_lib.text.corpus import Sentences
from course_lib.text.pair import Pair
from course_lib.text.tokenizer import Tokenizer
from course_lib.training.corpora import sides
from course_lib.translation.alignment_error import AlignmentError, alignment_error
from course_lib.translation.metrics import Metric, bleu, chrf, exact_matches, pronouns_right
from course_lib.translation.pipeline import TOKENS_PER_BATCH, by_length, translate

LENGTHS = ((1, 5), (6, 10), (11, 15), (16, 20), (21, 30), (31, 40))
ABOUT_PRONOUNS = "il/elle    pronouns that have the gender of their noun; a coin gets half of them right"
ABOUT_AER = """\
AER        alignment error rate: how far the strongest weights are from the true word links;
           with one link a word, {:.1%} is as good as can be
says       of the step that says the word; reads: of the next one, which reads it"""


@dataclass(frozen=True)
class Slice:
    """Some of the sentences, and how well they went. `exact` is a share from 0 to 1."""

    name: str
    n: int
    bleu: float
    exact: float


@dataclass(frozen=True)
class Share:
    """So many right of so many.

    >>> Share(right=3, n=4).share
    0.75
    """

    right: int
    n: int

    @property
    def share(self) -> float:
        return self.right / self.n


@dataclass(frozen=True)
class Evaluation:
    """Everything measured on one test set. What cannot be measured there is None, or empty.

    Seconds are kept apart: the same system on the same sentences has the same results on any day.
    """

    n: int
    beam: int
    length_penalty: float
    lowercase: bool
    bleu: Metric
    chrf: Metric
    exact: float
    n_cut: int  # translations that found no end
    by_length: tuple[Slice, ...]  # words of the source
    by_phenomenon: tuple[Slice, ...] = ()
    coreference: Share | None = None
    alignment: AlignmentError | None = None
    translations: tuple[str, ...] = field(default=(), repr=False)
    seconds: Mapping[str, float] = field(default_factory=dict, compare=False)

    def to_json(self) -> dict[str, Any]:
        """Plain numbers, words and lists: {"results": {...}, "seconds": {...}}; without the translations."""
        results = asdict(self)
        seconds = results.pop("seconds")
        del results["translations"]
        if self.coreference is not None:
            results["coreference"]["share"] = self.coreference.share
        return {"results": results, "seconds": seconds}

    def table(self) -> str:
        """All of it as text. The seconds are not in it."""
        search = "greedy" if self.beam == 1 else f"beam {self.beam}, length penalty {self.length_penalty:g}"
        cut = f"; {self.n_cut:,} found no end" if self.n_cut else ""
        lines, notes = (
            [
                ("sentences", f"{self.n:,} ({search}{cut})"),
                ("BLEU", f"{self.bleu.value:.1f}   {self.bleu.signature}"),
                ("chrF", f"{self.chrf.value:.1f}   {self.chrf.signature}"),
                ("exact match", f"{self.exact:.1%}"),
            ],
            [],
        )
        if self.coreference is not None:
            lines.append(("il/elle", f"{self.coreference.share:.1%} of {self.coreference.n:,}"))
            notes.append(ABOUT_PRONOUNS)
        if (found := self.alignment) is not None:
            lines += [("AER says", f"{found.producing:.1%}"), ("AER reads", f"{found.reading:.1%}")]
            layers = [*zip(found.layers_producing, found.layers_reading, strict=True)]
            for layer, (says, reads) in enumerate(layers if len(layers) > 1 else (), start=1):
                lines.append((f"  layer {layer}", f"{says:.1%} / {reads:.1%}"))
            notes.append(ABOUT_AER.format(found.floor))
        parts = ["\n".join(f"{name:<18}{value}" for name, value in lines)]
        for title, slices in (("source words", self.by_length), ("phenomenon", self.by_phenomenon)):
            if not slices:
                continue
            width = max(22, *(len(one.name) + 2 for one in slices))
            rows = [f"{title:<{width}}{'sentences':>9}{'BLEU':>8}{'exact':>8}"]
            rows += [f"{one.name:<{width}}{one.n:>9,}{one.bleu:>8.1f}{one.exact:>8.1%}" for one in slices]
            parts.append("\n".join(rows))
        return "\n\n".join([*parts, "\n".join(notes)] if notes else parts)


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
    """Free-running translation of every source, compared with its reference. Options as in `translate`.

    The alignment error needs a system that attends, gold links, and a tokenizer for which each word is one
    token. For it the reference is forced upon the system, since gold links are about its words.
    """
    if len(pairs) == 0:
        raise ValueError("Expected at least one sentence to evaluate on, but got none.")
    toy = [] if isinstance(pairs, Sentences) else list(pairs)
    sources, references = sides(pairs)

    began = time.perf_counter()
    search = {"beam": beam, "length_penalty": length_penalty}
    found = translate(sources, system, tokenizer, **search, progress=progress)
    translated = time.perf_counter()
    alignment = forced_alignment(system, tokenizer, toy)
    seconds = {"translate": translated - began, "align": time.perf_counter() - translated}

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
        **search,
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
        seconds=seconds,
    )


def length_groups(lengths: Sequence[int]) -> dict[str, list[int]]:
    """Which sentences have how many words, in groups; a group without a sentence is left out.

    >>> length_groups([3, 50, 5, 12])
    {'1–5': [0, 2], '11–15': [3], '41 and more': [1]}
    """
    groups: dict[str, list[int]] = {}
    for low, high in (*LENGTHS, (LENGTHS[-1][1] + 1, 10**9)):
        places = [place for place, length in enumerate(lengths) if low <= max(length, 1) <= high]
        if places:
            groups[f"{low}–{high}" if (low, high) in LENGTHS else f"{low} and more"] = places
    return groups


def phenomenon_groups(pairs: Sequence[Pair]) -> dict[str, list[int]]:
    """Which sentences show which phenomenon; most show several.

    >>> pairs = [Pair(("a",), ("b",), phenomena=frozenset({"past", "gender"})), Pair(("c",), ("d",))]
    >>> phenomenon_groups(pairs)
    {'gender': [0], 'past': [0]}
    """
    names = sorted({name for pair in pairs for name in pair.phenomena})
    return {name: [place for place, pair in enumerate(pairs) if name in pair.phenomena] for name in names}


def forced_alignment(
    system: Translator, tokenizer: Tokenizer, pairs: Sequence[Pair]
) -> AlignmentError | None:
    """The alignment error when each reference is forced upon the system; None where there is none to tell."""
    linked = [pair for pair in pairs if pair.links]
    ids = [(tokenizer.encode(pair.src_text), tokenizer.encode(pair.tgt_text)) for pair in linked]
    sizes = [(len(src), len(tgt)) for src, tgt in ids]
    whole = sizes == [(len(pair.src), len(pair.tgt)) for pair in linked]
    fits = [place for place, size in enumerate(sizes) if max(size) < system.config.max_len]
    if not (system.attends and whole and fits):
        return None
    weights = dict(forced_weights(system, {place: ids[place] for place in fits}))
    return alignment_error(
        [weights[place] for place in fits],
        [linked[place].links for place in fits],
        [sizes[place] for place in fits],
    )


def forced_weights(
    system: Translator, sentences: Mapping[int, tuple[list[int], list[int]]]
) -> Iterator[tuple[int, Float[Tensor, "layers heads tgt src"]]]:
    """The weights of each sentence when its reference is forced upon the system, by the sentence's number."""
    device = device_of(system)
    lengths = {place: max(len(src), len(tgt)) + 1 for place, (src, tgt) in sentences.items()}
    for places in by_length(lengths, TOKENS_PER_BATCH):
        batch = make_batch(*zip(*(sentences[place] for place in places), strict=True)).to(device)
        with eval_mode(system), torch.inference_mode():
            memory = system.encode(batch.src, batch.src_lengths)
            _, weights = system.decode(memory, batch.tgt_in, with_weights=True)
        yield from zip(places, weights.float().cpu(), strict=True)
