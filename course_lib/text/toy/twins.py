"""The minimal pairs of the coreference split: two sentences that differ only in their last word.

>>> thirsty, cold = twins(1)
>>> thirsty.src_text, cold.src[-1], pronoun_step(thirsty)
('the cat drank the water because it was thirsty', 'cold', 8)
>>> role_positions((thirsty, cold))["because"]
tensor([5, 5])
"""

from __future__ import annotations

import torch

from course_lib.shapes import Int, Tensor
from course_lib.text.pair import Pair
from course_lib.text.toy.lexicon import lexicon
from course_lib.text.toy.splits import TEST_SIZES, splits

PRONOUNS = ("il", "elle", "ils", "elles")
ROLES = ("first word", "first noun", "main verb", "second noun", "because", "it", "was", "adjective", "end")


def twins(n: int, first: int = 0) -> tuple[Pair, ...]:
    """2n sentences: 0 and 1 are twins, 2 and 3, and so on."""
    return splits(seed=0, sizes=TEST_SIZES).coreference[2 * first : 2 * (first + n)]


def pronoun_step(pair: Pair) -> int:
    """The step that predicts the pronoun of `… because it was ADJECTIVE`, which is also its position."""
    return max(i for i, word in enumerate(pair.tgt) if word in PRONOUNS)


def role_positions(sentences: tuple[Pair, ...]) -> dict[str, Int[Tensor, " sentences"]]:
    """The source positions of each role; they are the same in both twins."""
    found, verbs = [], {form for verb in lexicon().verbs for form in verb.en}
    for i, pair in enumerate(sentences):
        nouns = sorted(noun for [(_, noun)] in (pair.antecedents, sentences[i ^ 1].antecedents))
        verb = max(at for at, word in enumerate(pair.src[: nouns[1]]) if word in verbs)
        found.append([0, nouns[0], verb, nouns[1], *range(pair.length - 4, pair.length + 1)])
    return dict(zip(ROLES, torch.tensor(found).unbind(dim=1), strict=True))
