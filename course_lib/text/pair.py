"""A sentence and its translation, as words, with the gold word alignment.

>>> pair = Pair(("the", "water"), ("l'", "eau"), links=frozenset({(0, 0), (1, 1)}))
>>> pair.tgt_text
"l' eau"
>>> pair.length
2
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Pair:
    """`links` is the gold alignment, sure links only, as (position in src, position in tgt).

    `antecedents` lists (position in src of a pronoun, position of its noun); a pronoun that refers to a
    person outside the sentence has none.
    """

    src: tuple[str, ...]
    tgt: tuple[str, ...]
    links: frozenset[tuple[int, int]] = frozenset()
    phenomena: frozenset[str] = frozenset()
    antecedents: tuple[tuple[int, int], ...] = ()

    @property
    def src_text(self) -> str:
        return " ".join(self.src)

    @property
    def tgt_text(self) -> str:
        return " ".join(self.tgt)

    @property
    def length(self) -> int:
        """The number of source words."""
        return len(self.src)
