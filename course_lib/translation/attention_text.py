"""Attention as plain text, for a terminal: a row for each target word, a column for each source word.

>>> weights = torch.tensor([[0.9, 0.1, 0.0], [0.3, 0.7, 0.0], [0.0, 0.05, 0.95]])
>>> print(attention_text(weights, ["the", "cat", "</s>"], ["le", "chat", "</s>"]))
      the cat </s>
le    ███
chat  ▒▒▒ ▓▓▓
</s>          ████
>>> print(attention_text(weights, ["the", "cat", "</s>"], ["le", "chat", "</s>"], percent=True))
      the cat </s>
le     90  10
chat   30  70
</s>        5   95
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence

from course_lib.shapes import Float, Tensor
from course_lib.translation.notes import printable

SHADES = " ░▒▓█"
PLAIN_SHADES = " .:*#"  # for where there are no blocks
FROM = (0.125, 0.25, 0.5, 0.75)


def attention_text(
    weights: Float[Tensor, "tgt src"],
    source_tokens: Sequence[str],
    target_tokens: Sequence[str],
    *,
    percent: bool = False,
    width: int = 100,
    shades: str = SHADES,
) -> str:
    """The weights as shades, or in percent (below one half: blank). A wide source goes on in a block below.

    One head's weights, or a mean of heads: `translation.weights.mean(dim=(0, 1))`.
    """
    if tuple(weights.shape) != (len(target_tokens), len(source_tokens)):
        raise ValueError(
            f"Expected weights of shape ({len(target_tokens)}, {len(source_tokens)}), a row for each target "
            f"token and a column for each source token, but got {tuple(weights.shape)}. "
            "Take one head, or the mean of all: weights.mean(dim=(0, 1))."
        )
    above, beside = [printable(token) for token in source_tokens], [printable(t) for t in target_tokens]
    margin = max(map(columns, beside), default=0) + 2
    sizes = [max(columns(token), 3) for token in above]
    rows = weights.tolist()
    blocks = []
    for part in parts(sizes, width - margin):
        lines = [" " * margin + " ".join(_padded(above[place], sizes[place]) for place in part)]
        for token, row in zip(beside, rows, strict=True):
            cells = (_cell(row[place], sizes[place], percent, shades) for place in part)
            lines.append(_padded(token, margin) + " ".join(cells))
        blocks.append("\n".join(line.rstrip() for line in lines))
    return "\n\n".join(blocks)


def legend(shades: str = SHADES) -> str:
    """What the shades mean.

    >>> legend()
    '░ from 12.5%   ▒ from 25%   ▓ from 50%   █ from 75%'
    """
    return "   ".join(f"{sign} from {100 * bound:g}%" for sign, bound in zip(shades[1:], FROM, strict=True))


def shade(weight: float, shades: str = SHADES) -> str:
    """One of five shades.

    >>> "".join(shade(weight) for weight in (0.0, 0.2, 0.4, 0.6, 0.8))
    ' ░▒▓█'
    """
    return shades[sum(weight >= bound for bound in FROM)]


def columns(text: str) -> int:
    """How many columns of a terminal a text takes: two for a Chinese character, none for an accent alone.

    >>> columns("chat"), columns("猫"), columns("e\N{COMBINING ACUTE ACCENT}")
    (4, 2, 1)
    """
    return sum(
        0 if unicodedata.combining(sign) else 2 if unicodedata.east_asian_width(sign) in "WF" else 1
        for sign in text
    )


def parts(sizes: Sequence[int], room: int, *, gap: int = 1) -> Iterator[list[int]]:
    """Columns of a table, by their numbers, in parts that fit into the room; at least one in each.

    >>> list(parts([8, 8, 11, 8], room=20))
    [[0, 1], [2, 3]]
    """
    part: list[int] = []
    used = 0
    for place, size in enumerate(sizes):
        if part and used + size > room:
            yield part
            part, used = [], 0
        part.append(place)
        used += size + gap
    if part:
        yield part


def _padded(text: str, size: int) -> str:
    return text + " " * (size - columns(text))


def _cell(weight: float, size: int, percent: bool, shades: str) -> str:
    if not percent:
        return shade(weight, shades) * size
    return f"{f'{100 * weight:.0f}' if weight >= 0.005 else '':>{size}}"
