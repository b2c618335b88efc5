"""The numbers that lesson 06 quotes and no experiment records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from course_lib.text.pair import Pair
from course_lib.text.toy.splits import TEST_SIZES, splits
from course_lib.text.toy.twins import pronoun_step
from course_lib.translation.pipeline import translate
from course_lib.translation.shipped import shared
from lessons.l06_bahdanau_attention.attention_stepper import IL, compute
from lessons.l06_bahdanau_attention.forced_pronouns import forced_pronouns

FROM_THE_END = {"because": -4, "pronoun": -3, "verb": -2, "adjective": -1, "end": 0}


def measure() -> dict[str, dict[str, float]]:
    tests = splits(seed=0, sizes=TEST_SIZES)
    step = compute(sentence="thirsty", step=IL)
    at = {"thirsty": "thirsty", "end": "</s>", "cat": "cat"}.items()
    return {
        "weights at il": {name: float(step["weights"][step["source"].index(word)]) for name, word in at},
        "pronouns": attended_at_pronouns(tests.coreference),
        "links on the diagonal": {
            "all": diagonal_fraction(tests.test),
            "up to five words": diagonal_fraction(pair for pair in tests.test if pair.length <= 5),
        },
        "forced pronouns": forced_pronouns(),
    }


def attended_at_pronouns(pairs: Sequence[Pair]) -> dict[str, float]:
    """Which word gets the largest attention weight at the pronoun of `… because it was ADJECTIVE`."""
    system = shared("bahdanau")
    texts = [pair.src_text for pair in pairs]
    attended, n_correct = Counter(), 0
    for pair, output in zip(
        pairs, translate(texts, system.model, system.tokenizer, with_weights=True), strict=True
    ):
        n_correct += output.target == pair.tgt_text
        attended[int(output.weights[0, 0, pronoun_step(pair)].argmax()) - pair.length] += 1
    fractions = {name: attended[place] / len(pairs) for name, place in FROM_THE_END.items()}
    return {"sentences": len(pairs), "correct": n_correct / len(pairs), **fractions}


def diagonal_fraction(pairs: Iterable[Pair]) -> float:
    """The fraction of links that join equal positions."""
    links = [link for pair in pairs for link in pair.links]
    return sum(english == french for english, french in links) / len(links)
