"""One run of an experiment that trains a system of the road and measures it.

    found = run({"system": "transformer", "config": {"positions": "none"}}, seed=0)
    found["scores"]["long"]["exact"]

On the toy language translators are scored on every test split, greedily, and language models by perplexity.
Their weights are first rounded to half precision, as the shipped ones are. On Multi30k the length penalty
is chosen on the validation set, and only then is the test set translated.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import nn

from course_lib.models.registry import n_parameters, system
from course_lib.text.batch import Batch, make_batch
from course_lib.text.encoded import encode_corpus
from course_lib.text.multi30k import load_multi30k
from course_lib.text.tokenizer import Tokenizer
from course_lib.text.toy.splits import SIZES_OF_TESTS, TESTS, Splits, splits
from course_lib.training.checkpoint import save_checkpoint
from course_lib.training.corpora import TrainingData, multi30k_data, toy_data
from course_lib.training.job import Job, TrainedSystem, run_job
from course_lib.training.objective import pronoun_labels, right_by_class
from course_lib.translation.evaluate import Evaluation, evaluate
from course_lib.translation.inside import likeness, spreads, switched_off
from course_lib.translation.perplexity import perplexity

LENGTH_PENALTIES = (0.0, 0.6, 1.0, 1.4, 2.0)
BEAM = 5


def run(
    changes: dict[str, Any],
    *,
    seed: int,
    n_steps: int | None = None,
    device: str | None = None,
    keep: Path | None = None,
) -> dict:
    """Train and measure; `keep` is a file for the weights, in half precision.

    `changes`: the system, and what is otherwise than usual: "data", "src", "tgt", "config", "recipe".
    "measures" lists what else is wanted: "test" of Multi30k, and what `inside.py` looks for.
    """
    asked = {
        key: changes[key] for key in ("system", "data", "src", "tgt", "config", "recipe") if key in changes
    }
    job = Job(seed=seed, n_steps=n_steps, device=device, **asked)
    data = _data(job.data, job.src, job.tgt)
    outcome = run_job(job, data=data)
    if job.data == "toy":
        round_to_half(outcome.model)
    measures = changes.get("measures", [])
    if job.data == "multi30k":
        scores = _multi30k(job, outcome, "test" not in measures)
    else:
        scores = toy_scores(job.system, outcome.model, data.tokenizer)
    if keep is not None:
        save_half(keep, outcome)
    more = {name: INSIDE[name](outcome) for name in measures if name in INSIDE}
    about, result = outcome.about, outcome.result
    return {
        "parameters": n_parameters(outcome.model),
        "scores": scores,
        **more,
        "brief": brief(scores),
        "history": result.history.to_json(),
        "ended": result.ended,
        "seconds": round(result.seconds, 1),
        **{key: about[key] for key in ("config", "recipe", "machine", "versions")},
    }


@cache
def _data(name: str, src: str, tgt: str) -> TrainingData:
    return toy_data() if name == "toy" else multi30k_data(src, tgt)


@cache
def _toy() -> Splits:
    return splits(sizes=SIZES_OF_TESTS)


# ---- measuring


def toy_scores(name: str, model: nn.Module, tokenizer: Tokenizer) -> dict:
    """What is measured of a system on the toy language, by its kind."""
    toy, kind = _toy(), system(name).kind
    if kind == "translator":
        found = {split: evaluate(model, tokenizer, getattr(toy, split)) for split in TESTS}
        scores = {split: in_short(one) for split, one in found.items()}
        said = zip(found["coreference"].translations, toy.coreference, strict=True)
        scores["coreference"]["right"] = "".join(str(int(text == pair.tgt_text)) for text, pair in said)
        return scores
    texts = [pair.src_text for pair in toy.test], [pair.tgt_text for pair in toy.test]
    if kind == "sentence encoder":
        corpus = encode_corpus(*texts, tokenizer).to(next(model.parameters()).device)
        return {"test": {"right": right_by_class(model, corpus, pronoun_labels(corpus, tokenizer))}}
    surprise = perplexity(model, [tokenizer.encode(text) for text in texts[1]])
    return {"test": {"perplexity": surprise.perplexity, "n_tokens": surprise.n_tokens}}


def in_short(found: Evaluation) -> dict:
    """The numbers that tables and lessons are made of."""
    short: dict[str, Any] = {
        "n": found.n,
        "exact": found.exact,
        "bleu": found.bleu.value,
        "n_cut": found.n_cut,
        "by_length": {one.name: {"n": one.n, "exact": one.exact} for one in found.by_length},
        "by_phenomenon": {one.name: {"n": one.n, "exact": one.exact} for one in found.by_phenomenon},
    }
    if found.coreference is not None:
        short["pronouns"] = found.coreference.share
    if found.alignment is not None:
        short["alignment_error"] = found.alignment.producing
    return short


def _multi30k(job: Job, outcome: TrainedSystem, validation_only: bool) -> dict:
    """BLEU, lower-cased: on validation by length penalty, on test with the penalty that won there."""

    def score(split: str, **search: Any) -> Evaluation:
        sentences = load_multi30k(job.src, job.tgt, split, job.multi30k)
        return evaluate(outcome.model, outcome.data.tokenizer, sentences, lowercase=True, **search)

    greedy = score("validation").bleu
    scores: dict[str, Any] = {"validation": {"greedy": greedy.value, "signature": greedy.signature}}
    if validation_only:
        return scores
    by_penalty = {x: score("validation", beam=BEAM, length_penalty=x).bleu.value for x in LENGTH_PENALTIES}
    best = max(by_penalty, key=by_penalty.get)
    scores["validation"]["beam by length penalty"] = {str(x): value for x, value in by_penalty.items()}
    scores["test"] = {
        "greedy": score("test").bleu.value,
        "beam": score("test", beam=BEAM, length_penalty=best).bleu.value,
        "length_penalty": best,
    }
    return scores


def brief(scores: dict) -> str:
    """One line of the figures that matter most.

    >>> brief({"test": {"exact": 0.971, "bleu": 98.2}, "long": {"exact": 0.5, "bleu": 80.0}})
    'test 97.1%, long 50.0%'
    >>> brief({"test": {"perplexity": 4.2, "n_tokens": 9}})
    'test perplexity 4.20'
    """

    def figures(found: dict) -> str:
        if "perplexity" in found:
            return f"perplexity {found['perplexity']:.2f}"
        if isinstance(found.get("right"), dict):
            return ", ".join(f"{name} {share:.1%}" for name, share in found["right"].items())
        if "greedy" in found:
            return f"BLEU {found['greedy']:.1f}" + (f" / {found['beam']:.1f}" if "beam" in found else "")
        return f"{found['exact']:.1%}"

    return ", ".join(f"{name} {figures(found)}" for name, found in scores.items())


# ---- inside a Transformer


def _toy_batches(outcome: TrainedSystem, n: int = 200) -> list[Batch]:
    pairs, tokenizer = _toy().test[:n], outcome.data.tokenizer
    sides = ([tokenizer.encode(getattr(pair, side)) for pair in pairs] for side in ("src_text", "tgt_text"))
    device = next(outcome.model.parameters()).device
    return [make_batch(*sides).map(lambda tensor: tensor.to(device))]


def _heads_off(outcome: TrainedSystem) -> dict:
    """Exact match on the test split and pronouns on coreference, with each head silent in turn."""
    toy, tokenizer = _toy(), outcome.data.tokenizer

    def measure() -> dict:
        test = evaluate(outcome.model, tokenizer, toy.test[:300])
        coreference = evaluate(outcome.model, tokenizer, toy.coreference[:200])
        return {"exact": test.exact, "pronouns": coreference.coreference.share}

    return {"all heads": measure(), "without": switched_off(outcome.model, measure)}


def _word_by_word(outcome: TrainedSystem) -> float:
    """A language model's perplexity when the words to come cannot be seen, whatever its mask."""
    sentences = [outcome.data.tokenizer.encode(pair.tgt_text) for pair in _toy().test]
    return perplexity(outcome.model, sentences, word_by_word=True).perplexity


INSIDE: dict[str, Callable[[TrainedSystem], Any]] = {
    "word by word": _word_by_word,
    "heads off": _heads_off,
    "spreads": lambda outcome: spreads(outcome.model, _toy_batches(outcome)),
    "likeness": lambda outcome: likeness(outcome.model, _toy_batches(outcome)),
}


# ---- keeping


def round_to_half(model: nn.Module) -> None:
    """Each weight becomes the nearest number of 16 bits; the model goes on computing in 32."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(parameter.half())


def save_half(path: Path, outcome: TrainedSystem) -> None:
    """The weights in half precision, with what the system needs to be built again."""
    learned = dict(outcome.model.named_parameters())
    tensors = {
        name: tensor.half() if name in learned else tensor
        for name, tensor in outcome.model.state_dict().items()
    }
    about = outcome.about | {
        "history": outcome.result.history.to_json(),
        "seconds": round(outcome.result.seconds, 1),
    }
    save_checkpoint(path, tensors, about)
