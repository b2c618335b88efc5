"""The numbers that lesson 06 quotes and no experiment records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from math import sqrt
from statistics import mean

from course_lib.results import runs
from course_lib.text.pair import Pair
from course_lib.text.toy.splits import TEST_SIZES, splits
from course_lib.text.toy.twins import pronoun_step
from course_lib.translation.pipeline import translate
from course_lib.translation.shipped import shared
from lessons.l06_bahdanau_attention.attention_emerges import MOTHER, pair_of
from lessons.l06_bahdanau_attention.attention_stepper import compute
from lessons.l06_bahdanau_attention.forced_pronouns import forced_pronouns

IL = 8  # the step that generates it
FROM_THE_END = {"because": -4, "pronoun": -3, "verb": -2, "adjective": -1, "end": 0}
SOURCE, TARGET = list(pair_of(MOTHER).src), list(pair_of(MOTHER).tgt)


def measure() -> dict[str, dict[str, float]]:
    tests = splits(seed=0, sizes=TEST_SIZES)
    pairs = tests.test
    step = compute(sentence="thirsty", step=IL)
    weights = {word: float(weight) for word, weight in zip(step["source"], step["weights"], strict=True)}
    return {
        "weights at il": {"thirsty": weights["thirsty"], "end": weights["</s>"], "cat": weights["cat"]},
        "weights on not": weights_on_not(),
        "pronouns": attended_at_pronouns(tests.coreference),
        "links on the diagonal": {
            "all": diagonal_fraction(pairs),
            "up to five words": diagonal_fraction(pair for pair in pairs if pair.length <= 5),
        },
        "21–30 words": {"margin of error": margin_of_error("21–30")},
        "emergence": emergence(),
        "forced pronouns": forced_pronouns(),
    }


def weights_on_not() -> dict[str, float]:
    """How much n' and pas attend to not, in the sentence with the crossings."""
    weights = shared("bahdanau")(" ".join(SOURCE), with_weights=True).weights[0, 0]
    return {word: float(weights[TARGET.index(word), SOURCE.index("not")]) for word in ("n'", "pas")}


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


def margin_of_error(words: str) -> float:
    """Half the width of the 95% confidence interval over the long sentences of a length."""
    groups = [
        run["scores"]["long"]["by_length"][words]
        for run in runs("toy_ladder")
        if run["variant"] == "bahdanau"
    ]
    fraction = mean(group["exact"] for group in groups)
    return 1.96 * sqrt(fraction * (1 - fraction) / groups[0]["n"])


def emergence() -> dict[str, float]:
    """When the alignment error is halved, and what the first la attends to until then, over three runs."""
    halved, correct, at_mother, at_the = [], [], [], []
    for run in runs("emergence"):
        curve = {point["step"]: point["alignment_error"] for point in run["curve"]}
        exact = {shot["step"]: shot["exact"] for shot in run["snapshots"]}
        halved.append(next(step for step, error in curve.items() if error < curve[0] / 2))
        correct.append(exact[halved[-1]])
        attended = {shot["step"]: attended_by_la(shot) for shot in run["snapshots"]}
        at_mother.append({step for step, word in attended.items() if word == "mother"})
        at_the.append(next(s for s in attended if all(attended[t] == "the" for t in attended if t >= s)))
    in_all_runs = set.intersection(*at_mother)
    return {
        "half of the error, earliest step": min(halved),
        "half of the error, latest step": max(halved),
        "half of the error, fewest correct": min(correct),
        "half of the error, most correct": max(correct),
        "la attends to mother from step": min(in_all_runs),
        "la attends to mother to step": max(in_all_runs),
        "la attends to the from step": max(at_the),
    }


def attended_by_la(snapshot: dict) -> str:
    """The word with the largest attention weight when the first la is predicted; the second the is `the₂`."""
    row = snapshot["maps"]["crossing"]["weights"][0]
    position = row.index(max(row))
    return "the₂" if position == 6 else [*SOURCE, "</s>"][position]
