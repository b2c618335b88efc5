"""The exercise `count_articles`: force the attention at every article, and count what is still right."""

from __future__ import annotations

import random

from course_lib.teaching.exercises import ByHand, PlainExercise, known_mistakes
from course_lib.text.pair import Pair
from lessons.l07_score_functions import solutions
from lessons.l07_score_functions.forcing import (
    ARTICLES,
    PointingModel,
    Positions,
    onto_the,
    onto_the_noun,
    predictor,
)

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


COUNT_ARTICLES = PlainExercise(
    name="count_articles",
    lesson="score_functions",
    inputs=("pairs", "predict", "positions"),
    returns=("n_right", "n_articles"),
    reference=solutions.count_articles,
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
    slips=known_mistakes(solutions.count_articles),
)
