"""What both readers share: words with their positions, and notes of what was read."""

from __future__ import annotations

from toy_opinion.words import ASPIRATE, SET_PHRASES


def vowel(word: str) -> bool:
    return word[0] in "aeiouéèêàâîôœ" or (word[0] == "h" and word not in ASPIRATE)


class Reader:
    """Tokens with their positions, set phrases joined by hyphens; `notes` are what was read."""

    def __init__(self, words: tuple[str, ...]):
        self.items: list[tuple[str, tuple[int, ...]]] = []
        at = 0
        while at < len(words):
            n = next(
                (n for n in (3, 2) if at + n <= len(words) and " ".join(words[at : at + n]) in SET_PHRASES), 1
            )
            self.items.append(("-".join(words[at : at + n]), tuple(range(at, at + n))))
            at += n
        self.at, self.notes = 0, []
        self.level = self.deepest = 0  # places and relative clauses, one in the other

    @property
    def word(self) -> str:
        return self.items[self.at][0] if self.at < len(self.items) else ""

    def ahead(self, n: int = 1) -> str:
        return self.items[self.at + n][0] if self.at + n < len(self.items) else ""

    def take(self) -> tuple[str, tuple[int, ...]]:
        self.at += 1
        return self.items[self.at - 1]

    def want(self, *words: str) -> tuple[int, ...]:
        assert self.word in words, f"wanted {words}, read {self.word!r} at {self.at} of {self.items}"
        return self.take()[1]

    def maybe(self, *words: str) -> tuple[int, ...]:
        return self.take()[1] if self.word in words else ()

    def note(self, kind: str, **facts) -> dict:
        self.notes.append({"kind": kind, "level": self.level, **facts})
        return self.notes[-1]
