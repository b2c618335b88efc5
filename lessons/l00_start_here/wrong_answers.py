"""Answers to the exercise of lesson 00, as learners write them.

WRONG has wrong answers, each with the slip that its verdict must name (None: no slip), or words that it must
contain. RIGHT has answers written differently from the reference.
"""

import difflib
from collections import Counter
from operator import eq

import numpy as np
import torch


def prints(translations, references):
    print(sum(map(eq, translations, references)) / len(references))


def takes_away(translations, references):
    n_right = 0
    while translations:
        n_right += translations.pop() == references.pop()
    return n_right / 4


def loop(translations, references):
    n_right = 0
    for i in range(len(translations)):
        if translations[i] == references[i]:
            n_right += 1
    return n_right / len(translations)


def is_similar(pair):
    return difflib.SequenceMatcher(None, *pair).ratio() > 0.7


WRONG = {
    "exact_match": [
        (prints, "returns-none"),
        (takes_away, "in-place"),
        (lambda t, r: np.mean([*map(is_similar, zip(t, r, strict=True))]), None),
        (lambda t, r: (Counter(t) & Counter(r)).total() / len(t), None),
        (lambda t, r: sum(map(eq, sorted(t), sorted(r))) / len(t), None),
        (lambda t, r: f"{100 * loop(t, r):.0f}%", None, "a string"),
        (lambda t, r: (sum(map(eq, t, r)), len(t)), None, "a tuple of 2 items"),
        (lambda t, r: len(t) / sum(map(eq, t, r)), None, "ZeroDivisionError"),
        (lambda t, r: np.array(t) == np.array(r), "list"),
        (lambda t, r: t == r, "all-or-nothing"),
        (lambda t, r: int(loop(t, r)), "one-or-zero"),
        (lambda t, r: 1 - loop(t, r), "wrong-ones"),
        (lambda t, r: 1, "itself", "always 1"),
        (lambda t, r: len({*zip(t, r, strict=True)} & {*zip(r, t, strict=True)}) / len(t), "sets"),
        (lambda t, r: np.mean([{*a.split()} == {*b.split()} for a, b in zip(t, r)]), "any-order"),  # noqa: B905
        (lambda translations: translations, "parameters", "`exact_match(translations, references)`"),
    ]
}
RIGHT = {
    "exact_match": [
        loop,
        lambda t, r: sum(map(eq, t, r)) / len(r),
        lambda t, r: np.mean(np.array(t) == np.array(r)),
        lambda t, r: torch.tensor([a == b for a, b in zip(t, r, strict=True)]).float().mean(),
        lambda t, r: 1 - sum(a != b for a, b in zip(t, r, strict=True)) / len(t),
        lambda t, r: sum(a.split() == b.split() for a, b in zip(t, r, strict=True)) / len(t),
    ]
}
