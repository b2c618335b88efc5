"""The results of `evaluate` as a table and as JSON.

print(evaluation_table(evaluate(system, tokenizer, pairs)))
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from course_lib.translation.evaluation import Evaluation

ABOUT_PRONOUNS = "il/elle    pronouns whose gender matches their noun; guessing gets half of them right"
ABOUT_AER = """\
AER        alignment error rate: how far the largest attention weights are from the gold alignment;
           with one link per word, {:.1%} is the lowest possible
producing  measured at the step that outputs the word
reading    measured at the next step, which takes the word as input"""


def evaluation_json(evaluation: Evaluation) -> dict[str, Any]:
    """The metrics, without the translations."""
    results = asdict(evaluation)
    del results["translations"]
    if evaluation.coreference is not None:
        results["coreference"]["share"] = evaluation.coreference.fraction
    return results


def evaluation_table(evaluation: Evaluation) -> str:
    """The metrics as text."""
    beam, penalty = evaluation.beam, evaluation.length_penalty
    search = "greedy" if beam == 1 else f"beam {beam}, length penalty {penalty:g}"
    cut = f"; {evaluation.n_cut:,} cut off" if evaluation.n_cut else ""
    lines = [
        ("sentences", f"{evaluation.n:,} ({search}{cut})"),
        ("BLEU", f"{evaluation.bleu.value:.1f}   {evaluation.bleu.signature}"),
        ("chrF", f"{evaluation.chrf.value:.1f}   {evaluation.chrf.signature}"),
        ("exact match", f"{evaluation.exact:.1%}"),
    ]
    notes = []
    if evaluation.coreference is not None:
        lines.append(("il/elle", f"{evaluation.coreference.fraction:.1%} of {evaluation.coreference.n:,}"))
        notes.append(ABOUT_PRONOUNS)
    if (errors := evaluation.alignment) is not None:
        lines += [("AER producing", f"{errors.producing:.1%}"), ("AER reading", f"{errors.reading:.1%}")]
        layers = [*zip(errors.layers_producing, errors.layers_reading, strict=True)]
        for layer, (producing, reading) in enumerate(layers if len(layers) > 1 else ()):
            lines.append((f"  layer {layer}", f"{producing:.1%} / {reading:.1%}"))
        notes.append(ABOUT_AER.format(errors.floor))
    parts = ["\n".join(f"{name:<18}{value}" for name, value in lines)]
    for title, slices in (("source words", evaluation.by_length), ("phenomenon", evaluation.by_phenomenon)):
        if not slices:
            continue
        width = max(22, *(len(part.name) + 2 for part in slices))
        rows = [f"{title:<{width}}{'sentences':>9}{'BLEU':>8}{'exact':>8}"]
        rows += [f"{part.name:<{width}}{part.n:>9,}{part.bleu:>8.1f}{part.exact:>8.1%}" for part in slices]
        parts.append("\n".join(rows))
    return "\n\n".join([*parts, "\n".join(notes)] if notes else parts)
