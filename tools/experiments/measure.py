"""Measure a trained system by its kind: for `course_lib evaluate` and for experiments.

>>> from course_lib.text.toy.generate import running_pair
>>> from course_lib.translation.shipped import shared
>>> translator, language_model = shared("bahdanau"), shared("transformer_lm")
>>> measure("bahdanau", translator.model, translator.tokenizer, running_pair()).exact
1.0
>>> scores = measure("transformer_lm", language_model.model, language_model.tokenizer, running_pair())
>>> scores["n_tokens"], round(scores["perplexity"])
(24, 3)
"""

from __future__ import annotations

from collections.abc import Callable

from torch import nn

from course_lib.models.inference import device_of
from course_lib.models.registry import system
from course_lib.text.encoded import encode_corpus
from course_lib.text.tokenizer import Tokenizer
from course_lib.training.data import Pairs, sides
from course_lib.translation.evaluation import Evaluation, evaluate
from tools.perplexity import perplexity
from tools.pronouns import pronoun_labels, right_by_class


def measure(
    name: str,
    model: nn.Module,
    tokenizer: Tokenizer,
    pairs: Pairs,
    *,
    beam: int = 1,
    length_penalty: float = 0.6,
    progress: Callable[[int], object] | None = None,
) -> Evaluation | dict:
    """Measure a system on pairs.

    A translator gets an `Evaluation`, a language model its perplexity on the target side (its training data),
    and the sentence encoder its accuracy at predicting the pronoun.
    """
    kind = system(name).kind
    if kind == "translator":
        return evaluate(
            model,
            tokenizer,
            pairs,
            beam=beam,
            length_penalty=length_penalty,
            lowercase=tokenizer.normalise("A")
            == "a",  # compare in lower case if the system was trained in lower case
            progress=progress,
        )
    src, tgt = sides(pairs)
    if kind == "language model":
        result = perplexity(model, [tokenizer.encode(text) for text in tgt])
        return {"perplexity": result.perplexity, "n_tokens": result.n_tokens}
    corpus = encode_corpus(src, tgt, tokenizer).to(device_of(model))
    return {"right": right_by_class(model, corpus, pronoun_labels(corpus, tokenizer))}
