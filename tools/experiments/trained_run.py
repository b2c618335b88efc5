"""One run of an experiment that trains a system of the course and measures it.

    result = run_trained({"system": "transformer", "config": {"positions": "none"}}, seed=0)
    result["scores"]["long"]["exact"]

On the toy language, translators are scored on every test split with greedy decoding, and language models by
perplexity. Their weights are first rounded to half precision, like those of the shipped checkpoints. On
Multi30k the length penalty is chosen on the validation set before the test set is translated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import torch
from sacrebleu.metrics import BLEU
from torch import nn

from course_lib.models.inference import device_of
from course_lib.models.registry import n_parameters, system
from course_lib.results import pack_rows
from course_lib.text.batch import Batch, make_batch
from course_lib.text.encoded import encode_corpus
from course_lib.text.tokenizer import Tokenizer
from course_lib.text.toy.splits import SIZES, TESTS
from course_lib.text.toy.splits import splits as toy_splits
from course_lib.training.checkpoint import save_checkpoint
from course_lib.training.data import TrainingData, sides
from course_lib.training.job import Job, TrainedSystem
from course_lib.translation.ablation import ablated, head_name, multi_heads
from course_lib.translation.evaluation import Evaluation, evaluate
from course_lib.translation.metrics import pronouns_right
from course_lib.translation.pipeline import translate
from lessons.l02_recurrent_networks.state_probe import measure_pronouns
from lessons.l04_encoder_decoder.readout import measure_readout
from lessons.l07_score_functions.article_counts import count_forced
from lessons.l08_query_key_value.score_spread import spreads
from lessons.l13_the_block.similarity import similarity_by_layer
from tools.corpora import corpus_name, default_scale, load_data, read_corpus
from tools.experiments.altered import ALTERED
from tools.experiments.measure import measure
from tools.experiments.silence import measure_silence
from tools.perplexity import perplexity
from tools.train_system import train_system

LENGTH_PENALTIES = (0.0, 0.6, 1.0, 1.4, 2.0, 3.0, 4.0)
BEAM = 5
loaded = cache(load_data)  # once for all runs of a process


def run_trained(
    changes: dict[str, Any], *, seed: int, n_steps: int | None = None, device: str | None = None
) -> dict:
    """Train and measure.

    `changes` names the system and what differs from the defaults: "data", "src", "tgt", "config", "recipe",
    "alter" (see `altered.py`), "sentences" (so many of the toy language), "swap" (its languages),
    "splits" (to test on).
    "measures" lists additional measurements: "test" on Multi30k, and those of `INSIDE`. "keep" is a file for
    the weights in half precision, and "command" the command that its header records.
    """
    options = {key: changes[key] for key in Job.__dataclass_fields__ if key in changes}
    measures = changes.get("measures", [])
    corpus = corpus_name(changes.get("data", "toy"), changes.get("src"), changes.get("tgt"))
    scale = default_scale(corpus)
    job = Job(seed=seed, n_steps=n_steps, device=device, **{"scale": scale} | options)
    data = toy_part(loaded(corpus), changes.get("sentences"), changes.get("swap", False))
    outcome = train_system(
        job,
        data=data,
        command=changes.get("command", ""),
        alter=lambda model: [ALTERED[name](model, how) for name, how in changes.get("alter", {}).items()],
    )
    if scale == "multi30k":
        scores = multi30k_scores(outcome, "test" not in measures)
    else:
        round_to_half(outcome.model)
        options = {name: changes[name] for name in ("swap", "splits") if name in changes}
        scores = toy_scores(job.system, outcome.model, data.tokenizer, **options)
    if "keep" in changes:
        save_half(changes["keep"], outcome)
    inside = {name: INSIDE[name](outcome) for name in measures if name in INSIDE}
    about, result = outcome.about, outcome.result
    return {
        "parameters": n_parameters(outcome.model),
        "scores": scores,
        **inside,
        "history": result.history.to_json(),
        "ended": result.ended,
        "seconds": round(result.seconds, 1),
        **{key: about[key] for key in ("config", "recipe", "machine", "versions")},
    }


def toy_part(data: TrainingData, n_sentences: int | None, swap: bool) -> TrainingData:
    """The data with only the first sentences of the toy language to train on, or with languages swapped."""
    if n_sentences is None and not swap:
        return data
    order = -1 if swap else 1
    parts = toy_splits(seed=0, sizes=SIZES)
    train, validation = (
        encode_corpus(*sides(pairs)[::order], data.tokenizer)
        for pairs in (parts.train[:n_sentences], parts.validation)
    )
    return replace(data, train=train, validation=validation)


# ---- measuring


def toy_scores(
    name: str, model: nn.Module, tokenizer: Tokenizer, *, swap: bool = False, splits: Sequence[str] = TESTS
) -> dict:
    """The scores of a system on the toy language: these splits for a translator, else the test split."""
    if system(name).kind != "translator":
        pairs = read_corpus("toy", "test")
        swapped = [(target, source) for source, target in zip(*sides(pairs), strict=True)]
        return {"test": measure(name, model, tokenizer, swapped if swap else pairs)}
    evaluations = {split: measure(name, model, tokenizer, read_corpus("toy", split)) for split in splits}
    scores = {split: summarise(evaluation) for split, evaluation in evaluations.items()}
    for split, evaluation in evaluations.items():
        outputs = list(zip(evaluation.translations, read_corpus("toy", split), strict=True))
        scores[split]["right"] = digits(text == pair.tgt_text for text, pair in outputs)
        if split == "coreference":
            scores[split]["pronouns right"] = digits(
                all(pronouns_right(pair, text)) for text, pair in outputs if pair.antecedents
            )
    return scores


def digits(right: Iterable[bool]) -> str:
    """One character for each sentence: "1" if it is right, else "0"."""
    return "".join(str(int(is_right)) for is_right in right)


def summarise(evaluation: Evaluation) -> dict:
    """The numbers that tables and lessons use."""
    groups = {"by_length": evaluation.by_length, "by_phenomenon": evaluation.by_phenomenon}
    summary: dict[str, Any] = {
        "n": evaluation.n,
        "exact": evaluation.exact,
        "bleu": evaluation.bleu.value,
        "n_cut": evaluation.n_cut,
    }
    for name, rows in groups.items():
        summary[name] = {row.name: {"n": row.n, "exact": row.exact} for row in rows}
    if evaluation.coreference is not None:
        summary["pronouns"] = evaluation.coreference.fraction
    if evaluation.alignment is not None:
        summary["alignment_error"] = evaluation.alignment.producing
    return summary


def multi30k_scores(outcome: TrainedSystem, validation_only: bool) -> dict:
    """BLEU in lower case: on validation for each length penalty, on test with the best penalty.

    "rows" has what BLEU counts in every sentence of the test set (see `course_lib.results.unpack_rows`).
    """

    def score(split: str, **search: Any) -> Evaluation:
        sentences = read_corpus(outcome.data.name, split)
        return evaluate(outcome.model, outcome.data.tokenizer, sentences, lowercase=True, **search)

    greedy = score("validation").bleu
    scores: dict[str, Any] = {"validation": {"greedy": greedy.value, "signature": greedy.signature}}
    if validation_only:
        return scores
    by_penalty = {
        penalty: score("validation", beam=BEAM, length_penalty=penalty).bleu.value
        for penalty in LENGTH_PENALTIES
    }
    best = max(by_penalty, key=by_penalty.get)
    scores["validation"]["beam by length penalty"] = {str(key): bleu for key, bleu in by_penalty.items()}
    tests = {"greedy": score("test"), "beam": score("test", beam=BEAM, length_penalty=best)}
    references = read_corpus(outcome.data.name, "test").tgt
    scores["test"] = {name: test.bleu.value for name, test in tests.items()} | {
        "length_penalty": best,
        "rows": {name: pack_rows(bleu_counts(test.translations, references)) for name, test in tests.items()},
    }
    return scores


def bleu_counts(translations: Sequence[str], references: Sequence[str]) -> list[list[int]]:
    """What BLEU counts in each sentence: matching n-grams (n = 1 to 4), length of translation and reference.

    Corpus BLEU depends only on the sums of these rows. In this one, each n-gram also occurs in the reference:

        >>> bleu_counts(["the cat sleeps"], ["the cat sleeps here"])
        [[3, 2, 1, 0, 3, 4]]
    """
    counter = BLEU(lowercase=True, force=True, effective_order=True)  # the order doesn't affect counts
    pairs = zip(translations, references, strict=True)
    scores = [counter.sentence_score(translation, [reference]) for translation, reference in pairs]
    return [[*score.counts, score.sys_len, score.ref_len] for score in scores]


# ---- inside a Transformer


def _toy_batches(outcome: TrainedSystem) -> list[Batch]:
    pairs, tokenizer = read_corpus("toy", "test")[:200], outcome.data.tokenizer
    both = ([tokenizer.encode(text) for text in side] for side in sides(pairs))
    return [make_batch(*both).to(device_of(outcome.model))]


def _heads_off(outcome: TrainedSystem) -> dict:
    """Exact match on the test split and pronouns on coreference, with each head ablated in turn."""
    tokenizer = outcome.data.tokenizer

    def measure() -> dict:
        test = evaluate(outcome.model, tokenizer, read_corpus("toy", "test")[:300])
        coreference = evaluate(outcome.model, tokenizer, read_corpus("toy", "coreference")[:200])
        return {"exact": test.exact, "pronouns": coreference.coreference.fraction}

    without = []
    for use, layer, heads in multi_heads(outcome.model):
        for head in range(heads.n_heads):
            with ablated(outcome.model, [head_name(use, layer, head)]):
                without.append({"use": use, "layer": layer, "head": head, "measured": measure()})
    return {"all heads": measure(), "without": without}


def _word_by_word(outcome: TrainedSystem) -> float:
    """A language model's perplexity when it cannot see future words, whatever its mask."""
    sentences = [outcome.data.tokenizer.encode(pair.tgt_text) for pair in read_corpus("toy", "test")]
    return perplexity(outcome.model, sentences, word_by_word=True).perplexity


def _by_length(outcome: TrainedSystem) -> list[list[str]]:
    """One sentence of each length, its translation by the system, and the right one."""
    known = [*read_corpus("toy", "test"), *read_corpus("toy", "long")]
    pairs = {len(pair.src): pair for pair in reversed(known)}  # the first of each length
    shown = [pairs[length] for length in sorted(pairs) if length <= 22]
    outputs = translate([pair.src_text for pair in shown], outcome.model, outcome.data.tokenizer)
    return [
        [pair.src_text, output.target, pair.tgt_text] for pair, output in zip(shown, outputs, strict=True)
    ]


def _shifted(outcome: TrainedSystem, by: int = 6) -> dict[str, float]:
    """Exact match on short sentences, with positions counted from 0 and from `by`, on both sides."""
    pairs = [pair for pair in read_corpus("toy", "test") if 6 <= len(pair.src) <= 10]
    found = {"usual": evaluate(outcome.model, outcome.data.tokenizer, pairs).exact}
    for positions in (outcome.model.source_positions, outcome.model.target_positions):
        for name in ("add", "rotate"):
            usual = getattr(positions, name)
            setattr(positions, name, lambda x, first=0, usual=usual: usual(x, first=first + by))
    return found | {"shifted": evaluate(outcome.model, outcome.data.tokenizer, pairs).exact}


INSIDE: dict[str, Callable[[TrainedSystem], Any]] = {
    "articles": lambda outcome: count_forced(
        outcome.model, outcome.data.tokenizer, read_corpus("toy", "test")
    ),
    "word by word": _word_by_word,
    "pronouns": lambda outcome: measure_pronouns(outcome.model, outcome.data.tokenizer),
    "readout": lambda outcome: measure_readout(outcome.model, outcome.data.tokenizer),
    "heads off": _heads_off,
    "by length": _by_length,
    "shifted": _shifted,
    "spreads": lambda outcome: spreads(outcome.model, _toy_batches(outcome)),
    "likeness": lambda outcome: similarity_by_layer(outcome.model, _toy_batches(outcome)),
    "silence": measure_silence,
}


# ---- saving


def round_to_half(model: nn.Module) -> None:
    """Round each weight to the nearest float16; the model still computes in float32."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(parameter.half())


def save_half(path: Path, outcome: TrainedSystem) -> None:
    """Save the weights in half precision, with everything needed to rebuild the system."""
    parameters = dict(outcome.model.named_parameters())
    tensors = {
        name: tensor.half() if name in parameters else tensor
        for name, tensor in outcome.model.state_dict().items()
    }
    about = outcome.about | {
        "history": outcome.result.history.to_json(),
        "seconds": round(outcome.result.seconds, 1),
    }
    save_checkpoint(path, tensors, about)
