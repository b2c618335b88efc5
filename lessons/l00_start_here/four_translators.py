"""The lesson's four systems side by side: on a sentence of the learner's, and in the runs that were recorded.

>>> translate_with_all("The cat sleeps.")
Picture('the cat sleeps. rnn_encoder_decoder: le chat dort (all right). seq2seq: le chat dort (all right)...
"""

from __future__ import annotations

from course_lib.results import runs, value_at
from course_lib.text.toy.read import translations_of
from course_lib.translation.shipped import shared
from course_lib.views.picture import Picture
from course_lib.views.run_dots import run_dots
from course_lib.views.translations import translations
from lessons.l00_start_here.attention_lines import LINES, SYSTEMS

SCORES = {  # where a recorded run has them
    "long sentences": ("test", "by_length", "16–20", "exact"),
    "pronouns": ("coreference", "pronouns"),
}


def translate_with_all(sentence: str) -> Picture:
    """The four translations, their mistakes marked. An unknown word is named above them."""
    found = {name: shared(name)(sentence) for name in SYSTEMS}
    first, *_ = found.values()
    rows = {name: translation.target for name, translation in found.items()}
    return translations(first.read, rows, reference=translations_of(first.read), title="; ".join(first.notes))


def recorded_runs(what: str, title: str) -> Picture:
    """A dot for each recorded run of the four systems, in percent; those with attention are blue."""
    path = ("scores", *SCORES[what])
    rows = {
        f"{name}, {SYSTEMS[name]}": [
            100 * value_at(run, *path) for run in runs("toy_ladder") if run["variant"] == name
        ]
        for name in SYSTEMS
    }
    fills = {row: "query" if row.split(",")[0] in LINES else "soft" for row in rows}
    return run_dots(rows, title=title, fills=fills, unit="%")
