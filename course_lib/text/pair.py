"""A sentence and its translation, word by word, with the truth about which word became which.

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
    """`links` hold the sure gold alignment as (position in src, position in tgt).

    `antecedents` say for a pronoun which noun it stands for, as (position of the pronoun in src, position
    of the noun in src); a pronoun whose noun is outside the sentence has none.
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
        """Words in the source."""
        return len(self.src)
