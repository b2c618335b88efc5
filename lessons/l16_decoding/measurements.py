"""Numbers that lesson 16 quotes and that no experiment records: `measure()` returns them all."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Sequence
from pathlib import Path
from unittest.mock import patch

import torch
from sacrebleu.metrics import BLEU

from course_lib.models.transformer import TransformerConfig
from course_lib.results import mean_over_seeds
from course_lib.runtime import data_path
from course_lib.text import special
from course_lib.text.batch import make_batch
from course_lib.text.pair import Pair
from course_lib.text.toy.splits import splits
from course_lib.translation.alignment_error import error_rate, links_from
from course_lib.translation.pipeline import translate
from course_lib.translation.shipped import shared
from lessons.l16_decoding.exercises import first_grow
from lessons.l16_decoding.recompute import Recompute
from lessons.l16_decoding.typed_sentence import translate_typed

GARDEN = "the old woman sees a small dog in the garden"
COW = "the cow drank the milk because it was thirsty"
REFERENCE = "la femme ne voit pas le petit chien dans le jardin"
ALTERED = {
    "wrong animal": REFERENCE.replace("chien", "chat"),
    "other verb": REFERENCE.replace("ne voit", "n' aperçoit"),
    "the opposite": REFERENCE.replace("voit pas", "voit que"),
}
CUT = "Le chat n'a pas bu l'eau, parce qu'elle était froide."
CUT_REFERENCE = "Le chat n'a pas bu l'eau parce qu'elle était trop froide."
WIDTHS = (1, 2, 5, 20)


def measure() -> dict:
    """Every number, by the part of the lesson that quotes it."""
    pairs = splits(seed=0, sizes={"test": 300}).test
    return {
        "vocabulary": shared("transformer").tokenizer.vocab_size,
        "closed": closed_words(),
        "rival words": rival_words(),
        "alignment error": alignment_errors(pairs[:100]),
        "misplaced states": misplaced_states(splits(seed=0, sizes={"test": 60}).test),
        "beam": {str(width): beam_scores(pairs, width) for width in WIDTHS},
        "beam with penalty": beam_scores(pairs, 20, length_penalty=1.0),
        "beam on captions": caption_gains(),
        "BLEU": sentence_scores(),
        "causal mask": right_without_mask(pairs[:100]),
        "cache speed-up": recorded_speed_ups(),
    }


def closed_words() -> dict[str, float]:
    """The probability of the noun that replaces a closed word."""
    probabilities = {"dog": 6, "garden": 9}  # the step that outputs the noun
    for word, step in probabilities.items():
        translation = translate_typed(shared("transformer"), GARDEN.replace(word, f"[{word}]"))
        probabilities[word] = translation.probabilities[step].max().item()
    return probabilities


def rival_words() -> dict[str, float]:
    """RCTM's two likeliest words at the step where greedy decoding goes wrong."""
    probabilities = {}
    for text, step in (("a man runs", 0), (COW, 8)):
        values, tokens = translate_typed(shared("rctm"), text).probabilities[step].topk(2)
        words = shared("rctm").tokenizer.tokens(tokens.tolist())
        probabilities |= dict(zip(words, values.tolist(), strict=True))
    return probabilities


@torch.no_grad()
def alignment_errors(pairs: Sequence[Pair]) -> dict[str, float]:
    """With each row of the map given to the word that the step outputs, or to the word that it reads."""
    model, encode = shared("transformer").model.eval(), shared("transformer").tokenizer.encode
    batch = make_batch([encode(p.src_text) for p in pairs], [encode(p.tgt_text) for p in pairs])
    memory = model.encode(batch.src, batch.src_lengths)
    _, weights = model.decode(memory, batch.tgt_in, with_weights=True)
    maps = weights.mean(dim=(1, 2))
    gold = [set(pair.links) for pair in pairs]
    errors = {}
    for name, reading in (("output", False), ("read", True)):
        links = [
            links_from(weights, n_source=len(pair.src), n_target=len(pair.tgt), reading=reading)
            for weights, pair in zip(maps, pairs, strict=True)
        ]
        errors[name] = error_rate(links, gold)
    return errors


def misplaced_states(pairs: Sequence[Pair]) -> dict[str, int]:
    """What the unrepaired `grow` changes, with RCTM and k = 5."""
    golds = [pair.tgt_text for pair in pairs]
    sound = translations("rctm", sources(pairs), beam=5)
    faulty = by_the_lessons_beam(first_grow, pairs, 5)
    return {
        "sentences": len(pairs),
        "changed": sum(a != b for a, b in zip(sound, faulty, strict=True)),
        "right when repaired": n_right(sound, golds),
        "right with the bug": n_right(faulty, golds),
        "BLEU when repaired": bleu(sound, golds),
        "BLEU with the bug": bleu(faulty, golds),
    }


@torch.no_grad()
def by_the_lessons_beam(grow, pairs: Sequence[Pair], width: int) -> list[str]:
    """RCTM's translations by the lesson's own code cells, with this `grow`."""
    names = vars(special) | {"grow": grow, "math": math, "torch": torch, "make_batch": make_batch}
    for cell in ("beam", "two widths"):
        exec(functions_of(cell), names)
    rctm, beam, step_function = shared("rctm"), names["beam"], names["step_function"]
    rctm.model.eval()
    return [rctm.tokenizer.decode(beam(*step_function(rctm, pair.src_text), width)) for pair in pairs]


def functions_of(cell: str) -> str:
    """The functions that a named code cell of the lesson defines."""
    source = Path(__file__).with_name("lesson.py").read_text(encoding="utf-8")
    header = rf'^# %% [^\n]*name="{cell}"[^\n]*\n'
    [code] = re.findall(rf"{header}(.*?)(?=^# %%|\Z)", source, re.DOTALL | re.MULTILINE)
    return "\n".join(ast.unparse(node) for node in ast.parse(code).body if isinstance(node, ast.FunctionDef))


def beam_scores(pairs: Sequence[Pair], width: int, *, length_penalty: float = 0.0) -> dict[str, float]:
    """RCTM with a beam of this width."""
    golds = [pair.tgt_text for pair in pairs]
    outputs = translations("rctm", sources(pairs), beam=width, length_penalty=length_penalty)
    score = BLEU(tokenize="none", smooth_method="none", force=True).corpus_score(outputs, [golds])
    longer = [len(a.split()) - len(b.split()) for a, b in zip(outputs, golds, strict=True)]
    return {
        "right": n_right(outputs, golds),
        "BLEU": score.score,
        "p1": score.precisions[0],
        "brevity penalty": score.bp,
        "too short": sum(n < 0 for n in longer),
        "too long": sum(n > 0 for n in longer),
    }


def caption_gains() -> dict[str, float]:
    """What a beam gains over greedy decoding on Multi30k, in BLEU: the number of systems and the range."""
    gain = mean_over_seeds(
        "multi30k_ladder", lambda run: run["scores"]["test"]["beam"] - run["scores"]["test"]["greedy"]
    )
    return {"systems": len(gain), "least": min(gain.values()), "most": max(gain.values())}


def sentence_scores() -> dict[str, float]:
    """BLEU of single sentences, and of one sentence cut at spaces or into letters."""
    return {name: bleu([text], [REFERENCE]) for name, text in ALTERED.items()} | {
        "cut at spaces": bleu([CUT], [CUT_REFERENCE]),
        "cut into letters": bleu([CUT], [CUT_REFERENCE], tokenize="char"),
    }


def right_without_mask(pairs: Sequence[Pair]) -> dict[str, int]:
    """Sentences that the Transformer translates correctly with its causal mask and without."""
    golds, transformer = [pair.tgt_text for pair in pairs], shared("transformer")
    recompute = Recompute(transformer.model)
    texts = sources(pairs)
    with patch.object(TransformerConfig, "causal_arguments", lambda self, n, device: {}):
        unmasked = [output.target for output in translate(texts, recompute, transformer.tokenizer)]
    return {
        "with": n_right(translations("transformer", sources(pairs)), golds),
        "without": n_right(unmasked, golds),
    }


def recorded_speed_ups() -> dict[str, float]:
    """Recorded timings of the cache: `bench decoding`, and the lesson's own cell on another machine."""
    bench = data_path("results", "bench_decoding_cpu.txt").read_text(encoding="utf-8")
    ratios = dict(re.findall(r"^transformer \((\w+)\).* ([\d.]+) ×$", bench, re.MULTILINE))
    other = data_path("results", "gpu", "lessons.txt").read_text(encoding="utf-8")
    [cell] = re.findall(r"^16_decoding.*:\n((?:[\d.]+ times faster.*\n)+)", other, re.MULTILINE)
    later, earlier = re.findall(r"[\d.]+", cell)
    return {name: float(ratio) for name, ratio in ratios.items()} | {
        "16 cores, earlier": float(earlier),
        "16 cores, later": float(later),
    }


def sources(pairs: Sequence[Pair]) -> list[str]:
    return [pair.src_text for pair in pairs]


def translations(name: str, texts: Sequence[str], *, beam: int = 1, length_penalty: float = 0.0) -> list[str]:
    """The outputs of a system."""
    system, options = shared(name), {"beam": beam, "length_penalty": length_penalty}
    return [output.target for output in translate(texts, system.model, system.tokenizer, **options)]


def n_right(outputs: Sequence[str], golds: Sequence[str]) -> int:
    return sum(a == b for a, b in zip(outputs, golds, strict=True))


def bleu(outputs: Sequence[str], golds: Sequence[str], *, tokenize: str = "none") -> float:
    return BLEU(tokenize=tokenize, smooth_method="none", force=True).corpus_score(outputs, [golds]).score
