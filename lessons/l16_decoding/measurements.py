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
from torch import Tensor

from course_lib.models.transformer import TransformerConfig
from course_lib.runtime import data_path
from course_lib.text import special
from course_lib.text.batch import make_batch
from course_lib.text.pair import Pair
from course_lib.text.toy.splits import splits
from course_lib.translation.corpus_bleu import bleu_of_rows, bleu_rows
from course_lib.translation.pipeline import translate
from course_lib.translation.shipped import shared
from lessons.l16_decoding.exercises import bootstrapped, draw_separately
from lessons.l16_decoding.recompute import Recompute

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
N_TEST, N_NEW, N_SAMPLED = 300, 1000, 200  # sentences


def measure() -> dict:
    """Every number, by the part of the lesson that quotes it."""
    pairs = splits(seed=0, sizes={"test": N_TEST + N_NEW}).test
    pairs, new = pairs[:N_TEST], pairs[N_TEST:]
    right = {
        name: is_right(translations(name, sources(pairs)), pairs) for name in ("transformer", "bahdanau")
    }
    return {
        "sampling": sampled_translations(new[:N_SAMPLED]),
        "beam": {str(width): beam_scores(pairs, width) for width in WIDTHS},
        "beam with penalty": beam_scores(pairs, 20, length_penalty=1.0),
        "new sentences": new_sentences(new),
        "attention systems": {name: int(values.sum()) for name, values in right.items()}
        | interval(right["transformer"], right["bahdanau"]),
        "greedy and beam": greedy_and_beam("seq2seq", pairs),
        "BLEU": sentence_scores(),
        "causal mask": right_without_mask(pairs[:100]),
        "cache speed-up": recorded_speed_ups(),
    }


def is_right(outputs: Sequence[str], pairs: Sequence[Pair]) -> Tensor:
    return torch.tensor([float(output == pair.tgt_text) for output, pair in zip(outputs, pairs, strict=True)])


def interval(one: Tensor, other: Tensor, score=torch.mean) -> dict[str, float]:
    low, high = bootstrapped(one, other, score)
    return {"low": low, "high": high}


def greedy_and_beam(name: str, pairs: Sequence[Pair]) -> dict[str, float]:
    """How many translations are right with k = 1 and 5, and the interval of the difference; also in BLEU, and
    if the systems get different samples."""
    outputs = {width: translations(name, sources(pairs), beam=width) for width in (1, 5)}
    right = {width: is_right(texts, pairs) for width, texts in outputs.items()}
    golds = [pair.tgt for pair in pairs]
    rows = {width: bleu_rows([text.split() for text in texts], golds) for width, texts in outputs.items()}
    apart = bootstrapped(right[5], right[1], draw=draw_separately)
    return (
        {str(width): int(values.sum()) for width, values in right.items()}
        | interval(right[5], right[1])
        | {"in BLEU": interval(rows[5], rows[1], bleu_of_rows)}
        | {"not paired": dict(zip(("low", "high"), apart, strict=True))}
    )


def new_sentences(pairs: Sequence[Pair]) -> dict:
    """What the lesson finds with seq2seq, on sentences that did not suggest it."""
    return {
        "sentences": len(pairs),
        "k = 5 minus k = 1": greedy_and_beam("seq2seq", pairs),
        "5": beam_scores(pairs, 5),
        "20": beam_scores(pairs, 20),
        "20 with penalty": beam_scores(pairs, 20, length_penalty=1.0),
    }


@torch.no_grad()
def sampled_translations(pairs: Sequence[Pair]) -> dict[str, float]:
    """How many are right: samples, MBR, greedy decoding and beam search, by the lesson's own functions."""
    names = vars(special) | {"math": math, "torch": torch, "make_batch": make_batch}
    exec(functions_of("sampling"), names)
    seq2seq, sample, mbr = shared("seq2seq"), names["sample"], names["mbr"]
    seq2seq.model.eval()
    outputs = {"one sample": [], "one sample, top-p": [], "MBR": []}
    for number, pair in enumerate(pairs):
        drawn = sample(seq2seq, pair.src_text, 16, seed=number)
        outputs["one sample"].append(drawn[0])
        outputs["one sample, top-p"] += sample(seq2seq, pair.src_text, 1, top_p=0.9, seed=number)
        outputs["MBR"].append(mbr(drawn))
    outputs["greedy"] = translations("seq2seq", sources(pairs))
    outputs["beam"] = translations("seq2seq", sources(pairs), beam=5)
    right = {name: is_right(texts, pairs) for name, texts in outputs.items()}
    return {
        "sentences": len(pairs),
        **{name: int(values.sum()) for name, values in right.items()},
        "MBR minus one sample": interval(right["MBR"], right["one sample"]),
        "MBR minus greedy": interval(right["MBR"], right["greedy"]),
    }


def functions_of(cell: str) -> str:
    """The functions that a named code cell of the lesson defines."""
    source = Path(__file__).with_name("lesson.py").read_text(encoding="utf-8")
    header = rf'^# %% [^\n]*name="{cell}"[^\n]*\n'
    [code] = re.findall(rf"{header}(.*?)(?=^# %%|\Z)", source, re.DOTALL | re.MULTILINE)
    return "\n".join(ast.unparse(node) for node in ast.parse(code).body if isinstance(node, ast.FunctionDef))


def beam_scores(pairs: Sequence[Pair], width: int, *, length_penalty: float = 0.0) -> dict[str, float]:
    """seq2seq with a beam of this width."""
    golds = [pair.tgt_text for pair in pairs]
    outputs = translations("seq2seq", sources(pairs), beam=width, length_penalty=length_penalty)
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
    """Recorded timings of the cache, by `bench decoding`."""
    bench = data_path("results", "bench_decoding_cpu.txt").read_text(encoding="utf-8")
    ratios = re.findall(r"^transformer \((\w+)\).* ([\d.]+) ×$", bench, re.MULTILINE)
    return {name: float(ratio) for name, ratio in ratios}


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
