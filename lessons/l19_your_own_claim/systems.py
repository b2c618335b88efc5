"""Training and testing one small system on the small world: some seconds on a CPU.

outcome = train_and_test("bahdanau", mirror, seed=0)
outcome["right"]["test"].count("1")                     # how many short sentences are translated correctly
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import torch

from course_lib.models.registry import build, make_config
from course_lib.models.translator import Translator
from course_lib.text.pair import Pair
from course_lib.text.tokenizer import Tokenizer
from course_lib.training.loop import train
from course_lib.training.recipe import Recipe
from course_lib.translation.pipeline import translate
from lessons.l19_your_own_claim.corpus import NEW_SETS, TEST_SETS, sentences_of, training_data
from lessons.l19_your_own_claim.rules import Rule, apply_rule

Make = Callable[[int], Translator]  # builds a system for a vocabulary of that size
Correct = dict[str, str]  # for each test set a character for each sentence: "1" if it is correct, else "0"
Outcome = dict[str, dict]  # "right": Correct; "wrong": for each test set the wrong translations, by index

N_STEPS, WIDTH = 600, 48
N_WRONG = 200  # wrong translations that are kept of each test set
VARIANTS: dict[str, tuple[str, dict[str, object]]] = {  # a name of its own for a system with a change
    "no positions": ("transformer", {"positions": "none"})
}


def make_system(name: str, vocab_size: int) -> Translator:
    """A small version of one of the course's translators, without dropout: some 100,000 parameters."""
    name, changes = VARIANTS.get(name, (name, {}))
    config = make_config(name, scale="toy", vocab_size=vocab_size)
    sizes = {"n_layers": 2, "d_model": WIDTH, "n_heads": 4, "d_ff": 2 * WIDTH}
    sizes |= {"embed": WIDTH, "hidden": WIDTH}
    sizes = {key: value for key, value in sizes.items() if hasattr(config, key)}
    return build(name, replace(config, dropout=0.0, **sizes, **changes))


def train_and_test(
    system: str | Make,
    rule: Rule | None = None,
    *,
    seed: int,
    n_steps: int = N_STEPS,
    with_new: bool = False,
) -> Outcome:
    """Train on the small world under the rule, and mark the translation of every test sentence.

    `with_new` also tests it on `new_sentences()`.
    """
    data = training_data(rule)
    torch.manual_seed(seed)
    vocab_size = data.tokenizer.vocab_size
    model = make_system(system, vocab_size) if isinstance(system, str) else system(vocab_size)
    recipe = Recipe(
        n_steps=n_steps,
        tokens_per_batch=256,
        learning_rate=1e-2,
        warm_up=n_steps // 10,
        decay="linear",
        smoothing=0.0,
        seed=seed,
        validate_every=n_steps,
    )
    if train(model, data.train, recipe, validation=data.validation).ended == "stopped":
        raise KeyboardInterrupt  # an unfinished run is no result
    names = [*TEST_SETS, *(NEW_SETS if with_new else ())]
    marks = {name: mark(model, data.tokenizer, sentences_of(name), rule) for name in names}
    return {key: {name: marked[key] for name, marked in marks.items()} for key in ("right", "wrong")}


def mark(model: Translator, tokenizer: Tokenizer, pairs: Sequence[Pair], rule: Rule | None) -> dict:
    """`right` has a character for each sentence: "1" if every word of its translation is correct, else "0".

    `wrong` has the first of the other translations, by the number of the sentence.
    """
    translations = translate([pair.src_text for pair in pairs], model, tokenizer)
    expected = [" ".join(apply_rule(rule, pair)) for pair in pairs]
    outputs = [translation.target for translation in translations]
    right = "".join(str(int(text == wanted)) for text, wanted in zip(outputs, expected, strict=True))
    wrong = [index for index, digit in enumerate(right) if digit == "0"][:N_WRONG]
    return {"right": right, "wrong": {str(index): outputs[index] for index in wrong}}
