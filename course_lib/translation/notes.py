"""What is odd about a text that is to be translated, said in a sentence each.

>>> from course_lib.text.word_tokenizer import WordTokenizer
>>> tokenizer = WordTokenizer(["the", "cat", "sleeps"])
>>> notes_on("the axolotl sleeps", tokenizer)
('read as <unk>: axolotl',)
>>> plainly("The Cat sleeps.", tokenizer)
'the cat sleeps'
>>> notes_on("кот sleeps", tokenizer)
('read as <unk>: кот', 'in a script this vocabulary was not made for: Cyrillic')
>>> notes_on("  ", tokenizer)
('nothing to translate: the text is empty',)
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from course_lib.text.special import UNK
from course_lib.text.tokenizer import Tokenizer

EMPTY = "nothing to translate: the text is empty"
ALL_UNKNOWN = "not one token of it is known: the translation is a guess"
SAID_NOTHING = "the system ended at once: it said no word"
PUNCTUATION = '.,!?;:…"()«»“”'
SHOWN = 8


def notes_on(text: str, tokenizer: Tokenizer) -> tuple[str, ...]:
    """About the text alone, before it is translated."""
    if not text.strip():
        return (EMPTY,)
    notes = []
    if unknown := tokenizer.unknown(text):
        notes.append(f"read as <unk>: {listed(unknown)}")
        if scripts := foreign_scripts("".join(unknown)):
            notes.append(f"in a script this vocabulary was not made for: {', '.join(scripts)}")
        if all(token_id == UNK for token_id in tokenizer.encode(text)):
            notes.append(ALL_UNKNOWN)
    return tuple(notes)


def plainly(text: str, tokenizer: Tokenizer) -> str:
    """A text as people type it, as the vocabulary has it: a word known only in small letters is written so.

    Signs are parted from words, and those that are not known are left out.
    """
    unknown = set(tokenizer.unknown(text))
    words = []
    for word in text.split():
        small = word.lower().strip(PUNCTUATION)
        if word not in unknown or (small and tokenizer.unknown(small)):
            words.append(word)
        else:
            signs = word.lower()[word.lower().rfind(small) + len(small) :] if small else word
            words += [small, *(sign for sign in signs if not tokenizer.unknown(sign))]
    return " ".join(filter(None, words))


def listed(words: Sequence[str]) -> str:
    """The first few words in a row.

    >>> listed(list("abcdefghij"))
    'a, b, c, d, e, f, g, h and 2 more'
    """
    more = f" and {len(words) - SHOWN} more" if len(words) > SHOWN else ""
    return ", ".join(map(printable, words[:SHOWN])) + more


def source_cut(n_tokens: int, n_read: int) -> str:
    """The note about a source that was too long.

    >>> source_cut(300, 255)
    'too long: of its 300 tokens the first 255 were read'
    """
    return f"too long: of its {n_tokens} tokens the first {n_read} were read"


def target_cut(n_tokens: int) -> str:
    """The note about a translation that found no end.

    >>> target_cut(40)
    'no end after 40 tokens: the translation was cut there'
    """
    return f"no end after {n_tokens} tokens: the translation was cut there"


def foreign_scripts(text: str) -> list[str]:
    """The scripts of the letters in a text, each once, Latin left out.

        >>> foreign_scripts("kot кот 猫 γάτα 7!")
        ['Cyrillic', 'CJK', 'Greek']

    Python knows no scripts, but the name of a letter opens with its own.
    """
    found = dict.fromkeys(unicodedata.name(sign, "").partition(" ")[0] for sign in text if sign.isalpha())
    return [name if name == "CJK" else name.capitalize() for name in found if name not in ("LATIN", "")]


def printable(word: str) -> str:
    r"""A word as it can be shown in one line: signs that would spoil it are written out.

    >>> printable("a\x07b\u202e")
    'a\\x07b\\u202e'
    """
    shown = word if len(word) <= 40 else word[:39] + "…"
    return "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in shown)
