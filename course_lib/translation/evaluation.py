"""What an evaluation found: numbers, a table for the terminal, JSON for a file.

    evaluation.bleu.value, evaluation.exact
    print(evaluation.table())
    json.dumps(evaluation.to_json())

Results and seconds are kept apart: the same system on the same sentences has the same results on any day.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from course_lib.translation.alignment_error import AlignmentError
from course_lib.translation.scores import Score


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
class Seconds:
    """How long it took: to translate, and to look at the attention."""

    translate: float
    align: float


@dataclass(frozen=True)
class Evaluation:
    """Everything measured on one test set. What cannot be measured there is None, or empty."""

    n: int
    beam: int
    length_penalty: float
    lowercase: bool
    bleu: Score
    chrf: Score
    exact: float
    n_cut: int  # translations that found no end
    by_length: tuple[Slice, ...]  # words of the source
    by_phenomenon: tuple[Slice, ...] = ()
    coreference: Share | None = None
    alignment: AlignmentError | None = None
    translations: tuple[str, ...] = field(default=(), repr=False)
    seconds: Seconds = field(default=Seconds(0.0, 0.0), compare=False)

    def to_json(self, *, with_translations: bool = False) -> dict[str, Any]:
        """Plain numbers, words and lists: {"results": {...}, "seconds": {...}}."""
        results = asdict(self)
        seconds = results.pop("seconds")
        if not with_translations:
            del results["translations"]
        if self.coreference is not None:
            results["coreference"]["share"] = self.coreference.share
        return {"results": results, "seconds": seconds}

    def table(self) -> str:
        """All of it as text. The seconds are not in it."""
        search = "greedy" if self.beam == 1 else f"beam {self.beam}, length penalty {self.length_penalty:g}"
        cut = f"; {self.n_cut:,} found no end" if self.n_cut else ""
        lines = [
            ("sentences", f"{self.n:,} ({search}{cut})"),
            ("BLEU", f"{self.bleu.value:.1f}   {self.bleu.signature}"),
            ("chrF", f"{self.chrf.value:.1f}   {self.chrf.signature}"),
            ("exact match", f"{self.exact:.1%}"),
        ]
        if self.coreference is not None:
            lines.append(("il/elle", f"{self.coreference.share:.1%} of {self.coreference.n:,}"))
        if self.alignment is not None:
            lines += _alignment_lines(self.alignment)
        parts = ["\n".join(f"{name:<18}{value}" for name, value in lines)]
        for title, slices in (("source words", self.by_length), ("phenomenon", self.by_phenomenon)):
            if slices:
                parts.append(_slices(title, slices))
        if notes := explained([self]):
            parts.append(notes)
        return "\n\n".join(parts)


def explained(evaluations: Sequence[Evaluation]) -> str:
    """What the less usual numbers of a table mean, for those that stand in it."""
    lines = []
    if any(one.coreference for one in evaluations):
        lines.append("il/elle    pronouns that have the gender of their noun; a coin gets half of them right")
    if alignment := next((one.alignment for one in evaluations if one.alignment), None):
        lines += [
            "AER        alignment error rate: how far the strongest weights are from the true word links;",
            f"           with one link a word, {alignment.floor:.1%} is as good as can be",
            "says       of the step that says the word; reads: of the next one, which reads it",
        ]
    return "\n".join(lines)


def _alignment_lines(alignment: AlignmentError) -> list[tuple[str, str]]:
    lines = [("AER says", f"{alignment.producing:.1%}"), ("AER reads", f"{alignment.reading:.1%}")]
    if len(alignment.layers_producing) > 1:
        both = zip(alignment.layers_producing, alignment.layers_reading, strict=True)
        for layer, (says, reads) in enumerate(both, start=1):
            lines.append((f"  layer {layer}", f"{says:.1%} / {reads:.1%}"))
    return lines


def _slices(title: str, slices: Sequence[Slice]) -> str:
    width = max(22, *(len(one.name) + 2 for one in slices))
    head = f"{title:<{width}}{'sentences':>9}{'BLEU':>8}{'exact':>8}"
    rows = [f"{one.name:<{width}}{one.n:>9,}{one.bleu:>8.1f}{one.exact:>8.1%}" for one in slices]
    return "\n".join([head, *rows])
