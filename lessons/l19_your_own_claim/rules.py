"""New rules of grammar for the target language.

    >>> mirror(["it", "did", "not", "rain"], ["il", "n'", "a", "pas", "plu"])
    ['plu', 'pas', 'a', "n'", 'il']

A rule is a function of the words of a sentence and of its translation. It returns the translation as the new
grammar has it. A sentence whose translation it leaves as it was is not concerned.
"""

from __future__ import annotations

from collections.abc import Callable

from course_lib.text.pair import Pair

Rule = Callable[[list[str], list[str]], list[str]]


def mirror(src: list[str], tgt: list[str]) -> list[str]:
    """The translation of a sentence with "not" is reversed."""
    return tgt[::-1] if "not" in src else tgt


def even(src: list[str], tgt: list[str]) -> list[str]:
    """The translation of a sentence with an even number of words ends with "voilà"."""
    return [*tgt, "voilà"] if len(src) % 2 == 0 else tgt


def very_last(src: list[str], tgt: list[str]) -> list[str]:
    """The word "très" moves to the end of the sentence."""
    return [*(word for word in tgt if word != "très"), *(word for word in tgt if word == "très")]


RULES: dict[str, Rule] = {"mirror": mirror, "even": even, "very last": very_last}


def apply_rule(rule: Rule | None, pair: Pair) -> list[str]:
    """The words of the translation under the rule; without a rule, as they are."""
    return list(pair.tgt) if rule is None else list(rule(list(pair.src), list(pair.tgt)))


def concerns(rule: Rule, pair: Pair) -> bool:
    """Whether the rule changes this sentence."""
    return apply_rule(rule, pair) != list(pair.tgt)
