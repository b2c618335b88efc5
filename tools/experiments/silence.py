"""When does a translator fall silent? Empty and short outputs by beam size and length penalty.

    measure_silence(trained)["test"]["20"]["0.0"]       # the fractions that are empty, short, and right; BLEU

An output is short if it has fewer than half as many words as the reference; an empty one is short too. With
a beam of 1 there is nothing to rank, so the penalty makes no difference and is not varied.
"""

from __future__ import annotations

from statistics import mean

from course_lib.training.data import sides
from course_lib.training.job import TrainedSystem
from course_lib.translation.metrics import bleu, exact_matches
from course_lib.translation.pipeline import translate
from tools.corpora import read_corpus

BEAMS, PENALTIES, N_SENTENCES = (1, 2, 5, 10, 20, 50), (0.0, 0.6, 1.0), 300
TOKENS_PER_BATCH = 2**17  # a GPU is as fast with a hundred sentences as with two


def measure_silence(trained: TrainedSystem) -> dict[str, dict]:
    """By split, beam size and length penalty."""
    corpus = trained.data.name
    return {
        split: {
            str(beam): {
                str(penalty): score(trained, split, beam, penalty)
                for penalty in (PENALTIES if beam > 1 else PENALTIES[:1])
            }
            for beam in BEAMS
        }
        for split in (("test", "long") if corpus == "toy" else ("validation",))
    }


def score(trained: TrainedSystem, split: str, beam: int, penalty: float) -> dict[str, float]:
    src, tgt = (side[:N_SENTENCES] for side in sides(read_corpus(trained.data.name, split)))
    search = {"beam": beam, "length_penalty": penalty, "tokens_per_batch": TOKENS_PER_BATCH}
    outputs = [done.target for done in translate(src, trained.model, trained.data.tokenizer, **search)]
    lengths = [(len(output.split()), len(text.split())) for output, text in zip(outputs, tgt, strict=True)]
    lowercase = trained.data.name != "toy"
    found = {
        "empty": mean(length == 0 for length, _ in lengths),
        "short": mean(length < expected / 2 for length, expected in lengths),
        "exact": mean(exact_matches(outputs, tgt, lowercase=lowercase)),
        "bleu": bleu(outputs, tgt, lowercase=lowercase).value,
    }
    return {name: round(value, 4) for name, value in found.items()}
