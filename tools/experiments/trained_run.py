"""One run of an experiment that trains a system of the road and measures it.

    found = run_trained({"system": "transformer", "config": {"positions": "none"}}, seed=0)
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

from course_lib.models.in_use import device_of
from course_lib.models.registry import n_parameters, system
from course_lib.text.batch import Batch, make_batch
from course_lib.text.tokenizer import Tokenizer
from course_lib.text.toy.splits import TESTS
from course_lib.training.checkpoint import save_checkpoint
from course_lib.training.corpora import MULTI30K, load_data, read_corpus, sides
from course_lib.training.job import Job, TrainedSystem, run_job
from course_lib.translation.ablation import ablate_each
from course_lib.translation.evaluation import Evaluation, evaluate
from course_lib.translation.perplexity import perplexity
from lessons.l08_query_key_value.score_spread import spreads
from lessons.l13_the_block.similarity import similarity_by_layer
from tools.experiments.measure import measure

LENGTH_PENALTIES = (0.0, 0.6, 1.0, 1.4, 2.0)
BEAM = 5
loaded = cache(load_data)  # once for all runs of a process


def run_trained(
    changes: dict[str, Any], *, seed: int, n_steps: int | None = None, device: str | None = None
) -> dict:
    """Train and measure.

    `changes`: the system, and what is otherwise than usual: "data", "src", "tgt", "config", "recipe".
    "measures" lists what else is wanted: "test" of Multi30k, and those of `INSIDE`. "keep" is a
    file for the weights, in half precision, and "command" what its header says was typed.
    """
    asked = {key: changes[key] for key in Job.__dataclass_fields__ if key in changes}
    measures = changes.get("measures", [])
    job = Job(seed=seed, n_steps=n_steps, device=device, **asked)
    outcome = run_job(job, data=loaded(job.corpus), command=changes.get("command", ""))
    if MULTI30K.fullmatch(job.data):
        scores = _multi30k(outcome, "test" not in measures)
    else:
        round_to_half(outcome.model)
        scores = toy_scores(job.system, outcome.model, outcome.data.tokenizer)
    if "keep" in changes:
        save_half(changes["keep"], outcome)
    more = {name: INSIDE[name](outcome) for name in measures if name in INSIDE}
    about, result = outcome.about, outcome.result
    return {
        "parameters": n_parameters(outcome.model),
        "scores": scores,
        **more,
        "history": result.history.to_json(),
        "ended": result.ended,
        "seconds": round(result.seconds, 1),
        **{key: about[key] for key in ("config", "recipe", "machine", "versions")},
    }


# ---- measuring


def toy_scores(name: str, model: nn.Module, tokenizer: Tokenizer) -> dict:
    """What is measured of a system on the toy language, by its kind."""
    if system(name).kind != "translator":
        return {"test": measure(name, model, tokenizer, read_corpus("toy", "test"))}
    found = {split: measure(name, model, tokenizer, read_corpus("toy", split)) for split in TESTS}
    scores = {split: in_short(one) for split, one in found.items()}
    said = zip(found["coreference"].translations, read_corpus("toy", "coreference"), strict=True)
    scores["coreference"]["right"] = "".join(str(int(text == pair.tgt_text)) for text, pair in said)
    return scores


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


def _multi30k(outcome: TrainedSystem, validation_only: bool) -> dict:
    """BLEU, lower-cased: on validation by length penalty, on test with the penalty that won there."""

    def score(split: str, **search: Any) -> Evaluation:
        sentences = read_corpus(outcome.data.name, split)
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


# ---- inside a Transformer


def _toy_batches(outcome: TrainedSystem) -> list[Batch]:
    pairs, tokenizer = read_corpus("toy", "test")[:200], outcome.data.tokenizer
    both = ([tokenizer.encode(text) for text in side] for side in sides(pairs))
    return [make_batch(*both).to(device_of(outcome.model))]


def _heads_off(outcome: TrainedSystem) -> dict:
    """Exact match on the test split and pronouns on coreference, with each head silent in turn."""
    tokenizer = outcome.data.tokenizer

    def measure() -> dict:
        test = evaluate(outcome.model, tokenizer, read_corpus("toy", "test")[:300])
        coreference = evaluate(outcome.model, tokenizer, read_corpus("toy", "coreference")[:200])
        return {"exact": test.exact, "pronouns": coreference.coreference.share}

    return {"all heads": measure(), "without": ablate_each(outcome.model, measure)}


def _word_by_word(outcome: TrainedSystem) -> float:
    """A language model's perplexity when the words to come cannot be seen, whatever its mask."""
    sentences = [outcome.data.tokenizer.encode(pair.tgt_text) for pair in read_corpus("toy", "test")]
    return perplexity(outcome.model, sentences, word_by_word=True).perplexity


INSIDE: dict[str, Callable[[TrainedSystem], Any]] = {
    "word by word": _word_by_word,
    "heads off": _heads_off,
    "spreads": lambda outcome: spreads(outcome.model, _toy_batches(outcome)),
    "likeness": lambda outcome: similarity_by_layer(outcome.model, _toy_batches(outcome)),
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
