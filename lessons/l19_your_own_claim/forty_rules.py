"""Forty rules to forecast: which system does each of them break? Those of `rules.py` and 37 more, by family.

    >>> DESCRIPTIONS["twice, three"]
    'In a sentence of three words, everything is said twice.'
    >>> RULES["twice, three"](["a", "cat", "slept"], ["un", "chat", "a", "dormi"])
    ['un', 'chat', 'a', 'dormi', 'un', 'chat', 'a', 'dormi']

A rule is a change and the sentences that it is made in, both by name, so that it can be sent to another
process. Lengths are those of the English sentence; all other words and places are those of the translation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from lessons.l19_your_own_claim import rules
from lessons.l19_your_own_claim.rules import Rule

Words = list[str]

PLURAL, FEMININE = ("les", "des", "ces", "deux", "trois"), {"la", "une", "cette"}
THIS, NOT, VERY, YOUNG = ("ce", "cet", "cette", "ces"), ("pas",), ("très",), ("jeune", "jeunes")
VERBS, FAMILY = {"a", "ont", "est", "sont"}, ("mère", "père", "frère", "sœur", "oncle", "tante")
CAROUSEL = {"dormi": "couru", "couru": "nagé", "nagé": "dormi"}
DOGS = {"loup": "chien", "renard": "chien", "loups": "chiens"}
FULL = {"l'": "le", "n'": "ne", "qu'": "que"}
ONE_GENDER = {"la": "le", "une": "un", "cette": "ce"}
SWAPPED = {"le": "la", "la": "le", "un": "une", "une": "un"}
NUMBERS = {4: "quatre", 5: "cinq", 6: "six"}
VOILA, PRONOUNS = ["voilà"], {"le": "lui", "la": "elle"}


def changed(when: str, what: str, src: Words, tgt: Words) -> Words:
    """The translation with the change, if the sentence is one of those that it is made in."""
    return WHAT[what][1](src, tgt) if WHEN[when][1](src, tgt) else tgt


def swap(table: Mapping[str, str]) -> Rule:
    return lambda src, tgt: [table.get(word, word) for word in tgt]


def middle(words: Words) -> int:
    return len(words) // 2


def doubled(words: Words, which: Sequence[str]) -> Words:
    return [word for word in words for _ in range(1 + (word in which))]


def after(words: Words, markers: Sequence[str], new: str) -> Words:
    """Each word that follows a marker is replaced with the new one."""
    pairs = zip(["", *words[:-1]], words, strict=True)
    return [new if before in markers else word for before, word in pairs]


def in_pairs(words: Words) -> Words:
    return [word for i in range(0, len(words), 2) for word in words[i : i + 2][::-1]]


def articles_after(words: Words) -> Words:
    """From the right, so that an article moves once."""
    words = list(words)
    for i in reversed(range(len(words) - 1)):
        if words[i] in ("la", "les"):
            words[i : i + 2] = words[i + 1], words[i]
    return words


WHEN: dict[str, tuple[str, Callable[[Words, Words], bool]]] = {  # in which sentences
    "": ("", lambda src, tgt: True),
    "three": ("in a sentence of three words, ", lambda src, tgt: len(src) == 3),
    "four": ("in a sentence of four words, ", lambda src, tgt: len(src) == 4),
    "five": ("in a sentence of five words, ", lambda src, tgt: len(src) == 5),
    "long": ("in a sentence of five or more words, ", lambda src, tgt: len(src) >= 5),
    "longer": ("in a sentence of six or more words, ", lambda src, tgt: len(src) >= 6),
    "odd": ("in a sentence with an odd number of words, ", lambda src, tgt: len(src) % 2 == 1),
    "threes": ("if the number of words is a multiple of three, ", lambda src, tgt: len(src) % 3 == 0),
    "counted": ("in a sentence of four, five or six words, ", lambda src, tgt: len(src) in NUMBERS),
    "not": ("in a negated sentence, ", lambda src, tgt: "pas" in tgt),
    "question": ("in a question, ", lambda src, tgt: "?" in tgt),
    "very": ('in a sentence with "très", ', lambda src, tgt: "très" in tgt),
    "feminine": ('in a sentence with "la", "une" or "cette", ', lambda src, tgt: bool(FEMININE & {*tgt})),
    "one": ('in a sentence with "un" or "une", ', lambda src, tgt: bool({"un", "une"} & {*tgt})),
    "this": ('if "ce", "cet", "cette" or "ces" comes first, ', lambda src, tgt: tgt[0] in THIS),
    "le": ('if the first word is "le" or "la", ', lambda src, tgt: tgt[0] in PRONOUNS),
    "slept": ('if the last word is "dormi", "couru" or "nagé", ', lambda src, tgt: tgt[-1] in CAROUSEL),
    "letters": ("if the last word has five letters, ", lambda src, tgt: len(tgt[-1]) == 5),
}
WHAT: dict[str, tuple[str, Rule]] = {  # the change
    "backwards": ("the words are in reverse order", lambda src, tgt: tgt[::-1]),
    "halves": ("the second half comes first", lambda src, tgt: tgt[middle(tgt) :] + tgt[: middle(tgt)]),
    "pairs": ("words 1 and 2 change places, 3 and 4, and so on", lambda src, tgt: in_pairs(tgt)),
    "ends": ("the first and the last word change places", lambda src, tgt: [tgt[-1], *tgt[1:-1], tgt[0]]),
    "sorted": ('the words are in alphabetical order, "é" after "z"', lambda src, tgt: sorted(tgt)),
    "verb last": (
        '"a", "ont", "est" and "sont" come last',
        lambda src, tgt: sorted(tgt, key=VERBS.__contains__),
    ),
    "article after": ('"la" and "les" come after the next word', lambda src, tgt: articles_after(tgt)),
    "voilà": ('"voilà" comes last', lambda src, tgt: tgt + VOILA),
    "voilà fourth": ('"voilà" is the fourth word', lambda src, tgt: tgt[:3] + VOILA + tgt[3:]),
    "voilà inside": (
        '"voilà" is in the middle',
        lambda _, tgt: tgt[: middle(tgt)] + VOILA + tgt[middle(tgt) :],
    ),
    "plural": ('"les", "des", "ces" and numbers are said twice', lambda src, tgt: doubled(tgt, PLURAL)),
    "pas": ('"pas" comes first too', lambda src, tgt: ["pas", *tgt]),
    "one gender": ('"la" becomes "le", "une" "un", "cette" "ce"', swap(ONE_GENDER)),
    "number": ('their number comes last, as in "six"', lambda src, tgt: [*tgt, NUMBERS[len(src)]]),
    "tally": ('one "oui" per English "the" comes last', lambda src, tgt: tgt + ["oui"] * src.count("the")),
    "third again": ("the third word is said twice", lambda src, tgt: [*tgt[:3], *tgt[2:]]),
    "first lost": ("the first word is left out", lambda src, tgt: tgt[1:]),
    "every other": ("only words 1, 3, 5 and so on are left", lambda src, tgt: tgt[::2]),
    "twice": ("everything is said twice", lambda src, tgt: tgt + tgt),
    "stutter": ("every word is said twice in a row", lambda src, tgt: doubled(tgt, tgt)),
    "palindrome": ("everything is said again, backwards", lambda src, tgt: tgt + tgt[::-1]),
    "english": ("nothing is translated", lambda src, tgt: src),
    "second again": ("the second word comes again at the end", lambda src, tgt: [*tgt, tgt[1]]),
    "first again": ("the first word comes again at the end", lambda src, tgt: [*tgt, tgt[0]]),
    "genders": ('"le" and "la" change places, and "un" and "une"', swap(SWAPPED)),
    "good": ('the word after "très" becomes "bon"', lambda src, tgt: after(tgt, VERY, "bon")),
    "child": ('the word after "jeune(s)" becomes "enfant"', lambda src, tgt: after(tgt, YOUNG, "enfant")),
    "before": ('the word before "pas" becomes "fait"', lambda src, tgt: after(tgt[::-1], NOT, "fait")[::-1]),
    "pronoun": (
        '"lui" comes last after "le" and "elle" after "la"',
        lambda src, tgt: [*tgt, PRONOUNS[tgt[0]]],
    ),
    "hier": ('"hier" comes first', lambda src, tgt: ["hier", *tgt]),
    "aucun": ('the first word becomes "aucun"', lambda src, tgt: ["aucun", *tgt[1:]]),
    "carousel": ('"dormi" becomes "couru", "couru" "nagé", "nagé" "dormi"', swap(CAROUSEL)),
    "dogs": ('"loup", "renard" and "loups" become "chien" or "chiens"', swap(DOGS)),
    "family": ("relatives in the singular are said twice", lambda src, tgt: doubled(tgt, FAMILY)),
    "in full": ('"l\'" becomes "le", "n\'" "ne", and "qu\'" "que"', swap(FULL)),
}
FAMILIES = {  # the 37 rules: a change, and in which sentences
    "order": "backwards, long; halves, longer; pairs, one; ends, four; sorted, very; verb last",
    "marking": "article after; voilà, feminine; plural; pas, not; one gender",
    "counting": "voilà, threes; number, counted; tally; voilà inside, odd",
    "position": "third again, long; first lost, five; every other, longer; voilà fourth, four",
    "copying": "twice, three; stutter, not; palindrome, question; english, very; second again, this",
    "substitution": "genders, not; good; child; before",
    "long distance": "pronoun, le; hier, slept; aucun, not; first again, long",
    "single words": "carousel; dogs; family; in full; voilà, letters",
}
RULES, DESCRIPTIONS = dict(rules.RULES), {name: rule.__doc__ for name, rule in rules.RULES.items()}
for name in "; ".join(FAMILIES.values()).split("; "):
    what, _, when = name.partition(", ")
    text = f"{WHEN[when][0]}{WHAT[what][0]}."
    RULES[name], DESCRIPTIONS[name] = partial(changed, when, what), text[0].upper() + text[1:]
