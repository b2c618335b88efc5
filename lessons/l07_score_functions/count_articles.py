"""The exercise `count_articles`: force the attention at every article, and count what is still right."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from course_lib.teaching.exercises import ByHand, PlainExercise, Slip
from course_lib.text.pair import Pair
from lessons.l07_score_functions.forcing import (
    ARTICLES,
    PointingModel,
    Positions,
    onto_the,
    onto_the_noun,
    predictor,
)

Force = Callable[[Tensor, int], Tensor]  # attention weights and a position -> the weights to use
ARTICLE_AT_BOTH_ENDS = Pair(("the", "cat", "sees", "the", "queens"), ("le", "chat", "voit", "les", "reines"))
TWO_IN_A_ROW = Pair(("the", "the", "cat"), ("le", "la", "chat"))
NO_ARTICLE = Pair(("a", "cat", "sleeps"), ("un", "chat", "dort"))
QUEEN = Pair(("the", "queen"), ("la", "reine"))
BARE_PLURAL = Pair(("cats", "see", "the", "queen"), ("les", "chats", "voient", "la", "reine"))
LE_TWICE = Pair(("the", "cat", "sees", "the", "dog"), ("le", "chat", "voit", "le", "chien"))
CAT = Pair(("the", "cat", "sleeps"), ("le", "chat", "dort"))
REAL = (
    Pair(
        ("the", "woman", "on", "the", "bridge", "takes", "the", "cake"),
        ("la", "femme", "sur", "le", "pont", "prend", "le", "gâteau"),
        links=frozenset((i, i) for i in range(8)),
    ),
    Pair(
        ("the", "old", "kings", "drank", "the", "water"),
        ("les", "vieux", "rois", "ont", "bu", "l'", "eau"),
        links=frozenset({(0, 0), (1, 1), (2, 2), (3, 3), (3, 4), (4, 5), (5, 6)}),
    ),
)


def random_inputs(n_pairs: int, seed: int) -> tuple[list[Pair], PointingModel, Positions]:
    """Many articles, about half of which are forced onto the position where the model finds them."""
    chance = random.Random(seed)
    pairs, found, forced = [], {}, {}
    for number in range(n_pairs):
        n_source, n_target = chance.randint(3, 8), chance.randint(3, 8)
        target = [f"mot{number}{step}" for step in range(n_target)]
        for step in chance.sample(range(n_target), chance.randint(1, 3)):
            target[step] = chance.choice(ARTICLES)
        pair = Pair(tuple(f"word{i}" for i in range(n_source)), tuple(target))
        at = [chance.randrange(n_source) for _ in target]
        steps = [step for step, word in enumerate(target) if word in ARTICLES]
        elsewhere = {
            step: at[step] if chance.random() < 0.5 else chance.randrange(n_source) for step in steps
        }
        pairs.append(pair)
        found[pair.tgt_text], forced[pair.tgt_text] = at, elsewhere
    return pairs, PointingModel(found), Positions(forced)


def all_onto(weights: Tensor, position: int) -> Tensor:
    return torch.eye(len(weights))[position]


def count_with(
    force: Force = all_onto,
    *,
    forces: Callable[[int, dict[int, int]], bool] = lambda step, forced: step in forced,
    counts: Callable[[Pair, list[str], dict[int, int]], tuple[int, int]] | None = None,
    gives: Callable[[int, int], Any] = lambda n_right, n_all: (n_right, n_all),
) -> Callable:
    """`count_articles`, or a wrong version of it.

    `force` makes the new attention weights at the steps that `forces` selects, `counts` counts in a sentence,
    and `gives` makes the answer.
    """

    def count(pairs: Sequence[Pair], predict: Callable, positions: Callable) -> Any:
        n_right = n_all = 0
        for pair in pairs:
            forced = positions(pair)

            def change(step: int, weights: Tensor, forced: dict[int, int] = forced) -> Tensor:
                return force(weights, forced.get(step, 0)) if forces(step, forced) else weights

            words = predict(pair, change)
            right, of_all = (counts or count_forced_words)(pair, words, forced)
            n_right, n_all = n_right + right, n_all + of_all
        return gives(n_right, n_all)

    return count


def count_forced_words(pair: Pair, words: list[str], forced: dict[int, int]) -> tuple[int, int]:
    return sum(words[step] == pair.tgt[step] for step in forced), len(forced)


def count_all_words(pair: Pair, words: list[str], forced: dict[int, int]) -> tuple[int, int]:
    return sum(a == b for a, b in zip(words, pair.tgt, strict=True)), len(words)


def count_other_words(pair: Pair, words: list[str], forced: dict[int, int]) -> tuple[int, int]:
    right, n_all = count_all_words(pair, words, forced)
    forced_right, n_forced = count_forced_words(pair, words, forced)
    return right - forced_right, n_all - n_forced


def count_right_of_all(pair: Pair, words: list[str], forced: dict[int, int]) -> tuple[int, int]:
    return count_forced_words(pair, words, forced)[0], len(words)


def comparing(*, word_at: int, target_at: int) -> Callable:
    """Counts as if the step (0) and the English position (1) were interchangeable."""

    def counts(pair: Pair, words: list[str], forced: dict[int, int]) -> tuple[int, int]:
        at = [(item[word_at], item[target_at]) for item in forced.items()]
        inside = [(i, j) for i, j in at if max(i, j) < len(words)]
        return sum(words[i] == pair.tgt[j] for i, j in inside), len(forced)

    return counts


def count_spelled_articles(pair: Pair, words: list[str], forced: dict[int, int]) -> tuple[int, int]:
    """Finds the articles by their spelling instead of the dictionary."""
    steps = dict.fromkeys((step for step, word in enumerate(pair.tgt) if word in ARTICLES), 0)
    return count_forced_words(pair, words, steps)


def count_all_right(pair: Pair, words: list[str], forced: dict[int, int]) -> tuple[int, int]:
    right, n_all = count_forced_words(pair, words, forced)
    return int(right == n_all), 1


def count_articles_everywhere(pair: Pair, words: list[str], forced: dict[int, int]) -> tuple[int, int]:
    """Any article counts as right."""
    return sum(words[step] in ARTICLES for step in forced), len(forced)


def count_wrong(pair: Pair, words: list[str], forced: dict[int, int]) -> tuple[int, int]:
    right, n_all = count_forced_words(pair, words, forced)
    return n_all - right, n_all


def only_one_sentence(which: int) -> Callable:
    def count(pairs: Sequence[Pair], predict: Callable, positions: Callable) -> tuple[int, int]:
        chosen = list(pairs)[which:][:1]
        return count_articles(chosen, predict, positions)

    return count


def one_article_a_sentence(pairs: Sequence[Pair], predict: Callable, positions: Callable) -> tuple[int, int]:
    def first_only(pair: Pair) -> dict[int, int]:
        return dict(list(positions(pair).items())[:1])

    return count_articles(pairs, predict, first_only)


def forcing_at(moved: Callable[[dict[int, int]], dict[int, int]]) -> Callable:
    """Forces what `moved` makes of the dictionary, but counts at its own steps."""

    def count(pairs: Sequence[Pair], predict: Callable, positions: Callable) -> tuple[int, int]:
        n_right = n_all = 0
        for pair in pairs:
            forced = moved(positions(pair))

            def change(step: int, weights: Tensor, forced: dict[int, int] = forced) -> Tensor:
                inside = step in forced and forced[step] < len(weights)
                return all_onto(weights, forced[step]) if inside else weights

            right, of_all = count_forced_words(pair, predict(pair, change), positions(pair))
            n_right, n_all = n_right + right, n_all + of_all
        return n_right, n_all

    return count


def last_dictionary(pairs: Sequence[Pair], predict: Callable, positions: Callable) -> tuple[int, int]:
    """Every sentence is forced at the positions of the last one, as a function made in a loop would do."""
    n_right = n_all = 0
    last = positions(pairs[-1]) if pairs else {}
    for pair in pairs:

        def change(step: int, weights: Tensor) -> Tensor:
            return all_onto(weights, min(last[step], len(weights) - 1)) if step in last else weights

        right, of_all = count_forced_words(pair, predict(pair, change), positions(pair))
        n_right, n_all = n_right + right, n_all + of_all
    return n_right, n_all


count_articles = count_with()
NOT_ZEROED = (
    "the other attention weights aren't set to 0. Start from zeros, then set the one at this position to 1."
)


def weight_set_to_one(weights: Tensor, position: int) -> Tensor:
    weights = weights.clone()
    weights[position] = 1.0
    return weights


def others_zeroed(weights: Tensor, position: int) -> Tensor:
    return weights * all_onto(weights, position)


COUNT_ARTICLES = PlainExercise(
    name="count_articles",
    lesson="score_functions",
    inputs=("pairs", "predict", "positions"),
    returns=("n_right", "n_articles"),
    reference=count_articles,
    trains=False,
    seconds=10.0,
    by_hand=ByHand(
        inputs={
            "pairs": [CAT, QUEEN],
            "predict": PointingModel({CAT.tgt_text: [1, 1, 2], QUEEN.tgt_text: [0, 1]}),
            "positions": Positions({CAT.tgt_text: {0: 0}, QUEEN.tgt_text: {0: 0}}),
        },
        answer=(1, 2),
        says="In both sentences the article is the first French word, and it is forced onto position 0, "
        "*the*. This toy model finds *la* there, but *le* only at position 1, so 1 of 2 articles is right.",
    ),
    others=(
        lambda: (
            [ARTICLE_AT_BOTH_ENDS],
            PointingModel({ARTICLE_AT_BOTH_ENDS.tgt_text: [1, 1, 2, 4, 4]}),
            Positions({ARTICLE_AT_BOTH_ENDS.tgt_text: {0: 1, 3: 3}}),
        ),
        lambda: (
            [ARTICLE_AT_BOTH_ENDS, NO_ARTICLE, CAT],
            PointingModel(
                {
                    ARTICLE_AT_BOTH_ENDS.tgt_text: [0, 1, 2, 4, 4],
                    NO_ARTICLE.tgt_text: [0, 1, 2],
                    CAT.tgt_text: [1, 1, 2],
                }
            ),
            Positions(
                {ARTICLE_AT_BOTH_ENDS.tgt_text: {0: 1, 3: 4}, NO_ARTICLE.tgt_text: {}, CAT.tgt_text: {0: 1}}
            ),
        ),
        lambda: ([], PointingModel({}), Positions({})),
        lambda: (
            [QUEEN, CAT],
            PointingModel({QUEEN.tgt_text: [1, 1], CAT.tgt_text: [1, 1, 2]}, least=0.8),
            Positions({QUEEN.tgt_text: {0: 1}, CAT.tgt_text: {0: 1}}),
        ),
        lambda: (
            [NO_ARTICLE],
            PointingModel({NO_ARTICLE.tgt_text: [0, 1, 2]}),
            Positions({NO_ARTICLE.tgt_text: {}}),
        ),
        lambda: (
            [TWO_IN_A_ROW, QUEEN],
            PointingModel({TWO_IN_A_ROW.tgt_text: [2, 2, 2], QUEEN.tgt_text: [1, 1]}),
            Positions({TWO_IN_A_ROW.tgt_text: {0: 2, 1: 1}, QUEEN.tgt_text: {0: 1}}),
        ),
        lambda: (
            [BARE_PLURAL, LE_TWICE],  # an article that doesn't translate "the"; one "le" right, one wrong
            PointingModel({BARE_PLURAL.tgt_text: [0, 0, 1, 3, 3], LE_TWICE.tgt_text: [1, 1, 2, 4, 4]}),
            Positions({BARE_PLURAL.tgt_text: {3: 3}, LE_TWICE.tgt_text: {0: 1, 3: 3}}),
        ),
        lambda: random_inputs(15, seed=7),
        lambda: (list(REAL), predictor("luong_dot"), onto_the),
        lambda: (list(REAL), predictor("luong_dot"), onto_the_noun),
    ),
    slips=(
        Slip(
            "not-forced",
            count_with(forces=lambda step, forced: False),
            "nothing is forced: the model uses its own attention weights at every step. Does the function "
            "that you pass to `predict` return the new weights?",
        ),
        Slip(
            "forces-every-step",
            count_with(forces=lambda step, forced: True),
            "the attention is forced at every step. Change it only at the steps in `positions(pair)`.",
        ),
        Slip(
            "forces-the-others",
            count_with(forces=lambda step, forced: step not in forced),
            "the attention is forced at the wrong steps: everywhere except at the articles. Is the condition "
            "the wrong way round?",
        ),
        Slip("not-zeroed", count_with(weight_set_to_one), NOT_ZEROED),
        Slip("one-added", count_with(lambda w, position: w + all_onto(w, position)), NOT_ZEROED),
        Slip(
            "others-zeroed",
            count_with(others_zeroed),
            "the other attention weights are set to 0, but the one at this position isn't set to 1.",
        ),
        Slip(
            "softmax",
            count_with(lambda w, position: all_onto(w, position).softmax(-1)),
            "the new attention weights go through a softmax, which spreads them again. Use them as they are.",
        ),
        Slip(
            "all-zero",
            count_with(lambda w, position: torch.zeros_like(w)),
            "at the articles, all attention weights are 0. Set the one at the given position to 1.",
        ),
        Slip(
            "this-one-zeroed",
            count_with(lambda w, position: w * (1 - all_onto(w, position))),
            "at the articles, the attention weight of the given position is set to 0. All the attention "
            "weight should go there.",
        ),
        Slip(
            "uniform",
            count_with(lambda w, position: torch.full_like(w, 1 / len(w))),
            "at the articles, the attention is uniform. All the attention weight should go to one position.",
        ),
        Slip(
            "always-position-0",
            count_with(lambda w, position: all_onto(w, 0)),
            "the attention is always forced onto position 0. The position is `positions(pair)[step]`.",
        ),
        Slip(
            "one-too-far",
            count_with(lambda w, position: all_onto(w, min(position + 1, len(w) - 1))),
            "the attention is forced onto the position after the given one. Positions are counted from 0.",
        ),
        Slip(
            "one-too-early",
            count_with(lambda w, position: all_onto(w, max(position - 1, 0))),
            "the attention is forced onto the position before the given one. Positions are counted from 0.",
        ),
        Slip(
            "step-for-position",
            lambda pairs, predict, positions: count_articles(
                pairs, predict, lambda pair: {step: min(step, len(pair.src)) for step in positions(pair)}
            ),
            "the attention is forced onto the step's own number. `positions(pair)[step]` is the position to "
            "attend to.",
        ),
        Slip(
            "swapped-positions",
            forcing_at(lambda forced: {position: step for step, position in forced.items()}),
            "the keys and the values of `positions(pair)` are swapped. A key is the step, that is, the "
            "position of the French article; its value is the position to attend to.",
        ),
        Slip(
            "all-words",
            count_with(counts=count_all_words),
            "all French words are counted. Count only the articles, at the steps in `positions(pair)`.",
        ),
        Slip(
            "right-words",
            count_with(counts=lambda p, w, f: (count_all_words(p, w, f)[0], len(f))),
            "the correct words of the whole sentence are counted. Count only those at the steps in "
            "`positions(pair)`.",
        ),
        Slip(
            "other-words",
            count_with(counts=count_other_words),
            "the words that aren't forced are counted. Count those at the steps in `positions(pair)`.",
        ),
        Slip(
            "of-all-words",
            count_with(counts=count_right_of_all),
            "the second number counts all words. It should count the articles.",
        ),
        *(
            Slip(
                f"compares-at-positions-{word_at}{target_at}",
                count_with(counts=comparing(word_at=word_at, target_at=target_at)),
                "the words are compared at the English positions. The article is at position `step` of the "
                "French sentence: compare `words[step]` with `pair.tgt[step]`.",
            )
            for word_at, target_at in ((1, 1), (0, 1))
        ),
        Slip(
            "spelled-articles",
            count_with(counts=count_spelled_articles),
            "the articles are recognised by their spelling. Count only the steps in `positions(pair)`: not "
            "every *le*, *la* or *les* translates *the*.",
        ),
        *(
            Slip(
                f"step-{name}",
                forcing_at(lambda forced, by=by: {step + by: at for step, at in forced.items()}),
                f"the attention is forced one step too {name}. Steps are counted from 0.",
            )
            for name, by in (("early", -1), ("late", 1))
        ),
        Slip(
            "ignores-position-0",
            forcing_at(lambda forced: {step: at for step, at in forced.items() if at}),
            "nothing is forced if the given position is 0. The number 0 counts as False in a condition: ask "
            "whether `step` is in the dictionary.",
        ),
        Slip(
            "previous-word",
            count_with(counts=lambda p, w, f: (sum(w[s - 1] == p.tgt[s] for s in f), len(f))),
            "the predicted word before the article is compared. `words[step]` is the prediction for "
            "`pair.tgt[step]`: both are counted from 0.",
        ),
        Slip(
            "sentences",
            count_with(counts=count_all_right),
            "sentences are counted. Count the articles one by one.",
        ),
        Slip(
            "all-or-nothing",
            count_with(counts=lambda p, w, f: (count_all_right(p, w, f)[0], len(f))),
            "each sentence adds at most 1 to the first number. Count the correct articles one by one.",
        ),
        Slip(
            "sentences-with-articles",
            count_with(counts=lambda p, w, f: (count_forced_words(p, w, f)[0], int(bool(f)))),
            "the second number counts sentences with an article. It should count the articles.",
        ),
        Slip(
            "compares-with-source",
            count_with(counts=lambda p, w, f: (sum(w[s] == (*p.src, "")[f[s]] for s in f), len(f))),
            "the predicted French words are compared with English words. Compare `words[step]` with "
            "`pair.tgt[step]`.",
        ),
        Slip(
            "forced-once",
            forcing_at(lambda forced: dict(sorted(forced.items())[:1])),
            "only the first article of each sentence is forced. Force every step in `positions(pair)`.",
        ),
        Slip(
            "last-dictionary",
            last_dictionary,
            "every sentence is forced at the positions of the last sentence. A function that is made in a "
            "loop and called later uses the variables' last values: call `predict` inside the loop.",
        ),
        Slip(
            "any-article",
            count_with(counts=count_articles_everywhere),
            "any article counts as right. It must be the one in the correct translation, `pair.tgt[step]`.",
        ),
        Slip(
            "anywhere",
            count_with(counts=lambda p, w, f: (sum(p.tgt[step] in w for step in f), len(f))),
            "an article counts as right if it is predicted anywhere in the sentence. Compare `words[step]` "
            "with `pair.tgt[step]`.",
        ),
        Slip(
            "counts-mistakes",
            count_with(counts=count_wrong),
            "the wrong articles are counted. Count those that are right.",
        ),
        Slip(
            "last-sentence",
            only_one_sentence(-1),
            "only the last sentence is counted. Set both counts to 0 before the loop, and return after it.",
        ),
        Slip(
            "first-sentence",
            only_one_sentence(0),
            "only the first sentence is counted. Return after the loop.",
        ),
        Slip(
            "first-article",
            one_article_a_sentence,
            "only one article of each sentence is forced and counted. A sentence can have several.",
        ),
        Slip(
            "n-sentences",
            lambda pairs, predict, positions: (count_articles(pairs, predict, positions)[0], len(pairs)),
            "the second number is the number of sentences. It should be the number of articles.",
        ),
        Slip(
            "last-length",
            lambda pairs, predict, positions: (
                count_articles(pairs, predict, positions)[0],
                sum(len(positions(pair)) for pair in pairs[-1:]),
            ),
            "the second number counts the articles of the last sentence only. Is there `=` instead of `+=`?",
        ),
        Slip(
            "stops-early",
            lambda pairs, predict, positions: count_articles(
                itertools.takewhile(positions, pairs), predict, positions
            ),
            "the loop ends at the first sentence without an article. Go on with the next one: `continue`, "
            "not `break` or `return`.",
        ),
        Slip(
            "swapped-answer",
            count_with(gives=lambda n_right, n_all: (n_all, n_right)),
            "the two numbers are swapped: return the number of correct articles first.",
        ),
        Slip(
            "only-right",
            count_with(gives=lambda n_right, n_all: n_right),
            "only one number is returned. Return two, the correct articles and all articles.",
        ),
        Slip(
            "fraction",
            count_with(gives=lambda n_right, n_all: n_right / max(n_all, 1)),
            "this is a fraction. Return two counts, the correct articles and all articles.",
        ),
        Slip(
            "fraction-and-count",
            count_with(gives=lambda n_right, n_all: (n_right / max(n_all, 1), n_all)),
            "the first number is a fraction. It should be the number of correct articles.",
        ),
        Slip(
            "percent",
            count_with(gives=lambda n_right, n_all: 100 * n_right / max(n_all, 1)),
            "this is a percentage. Return two counts, the correct articles and all articles.",
        ),
        Slip(
            "right-and-wrong",
            count_with(gives=lambda n_right, n_all: (n_right, n_all - n_right)),
            "the second number counts the wrong articles. It should count all articles.",
        ),
    ),
)
