"""Every attention behind a translation, by name, and as text for a terminal.

    for one in every_attention(system, tokenizer, translation):
        print(one.name, one.weights.shape)          # encoder self-attention (3, 4, 6, 6), ...

All translators that attend look at the source. The Transformer and the LSTMN also have self-attention, on
both sides. As text, a row for each word that looks, a column for each that is looked at:

    >>> weights = torch.tensor([[0.9, 0.1, 0.0], [0.3, 0.7, 0.0], [0.0, 0.05, 0.95]])
    >>> print(attention_text(weights, ["the", "cat", "</s>"], ["le", "chat", "</s>"]))
          the cat </s>
    le    ███
    chat  ▒▒▒ ▓▓▓
    </s>          ████
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch

from course_lib.models.in_use import device_of, eval_mode
from course_lib.models.transformer import USES
from course_lib.models.translator import Translator
from course_lib.shapes import Float, Tensor
from course_lib.text.special import EOS, SPECIAL
from course_lib.text.tokenizer import Tokenizer
from course_lib.translation.pipeline import Translation, printable
from course_lib.translation.search import read_before

SHADES = " ░▒▓█"
FROM = (0.125, 0.25, 0.5, 0.75)
WIDTH = 100  # columns of a terminal


class Attention(NamedTuple):
    """One attention: what it is called, its weights, and the words of its rows and its columns."""

    name: str
    weights: Float[Tensor, "layers heads rows columns"]
    rows: tuple[str, ...]
    columns: tuple[str, ...]


def every_attention(system: Translator, tokenizer: Tokenizer, translation: Translation) -> list[Attention]:
    """Read once more, word for word as it was said. The decoder's rows are the words that it has read."""
    number = {token: place for place, token in enumerate(tokenizer.vocabulary)}
    src, said = (
        torch.tensor([[number[token] for token in tokens]], device=device_of(system))
        for tokens in (translation.source_tokens, translation.target_tokens)
    )
    read = read_before(said)
    with eval_mode(system), torch.inference_mode():
        found = system.all_weights(src, torch.full_like(src[:, 0], src.shape[1]), read)
    source, target = translation.source_labels, tuple(tokenizer.tokens(read[0].tolist()))
    before = (f"{SPECIAL[EOS]} of the source",)  # the LSTMN's decoder begins with the encoder's last word
    words = {
        "encoder": (source, source),
        "decoder": (target, (*before, *target)),
        "cross": (translation.target_tokens, source),
    }
    return [
        Attention(USES[use], weights, words[use][0], words[use][1][-weights.shape[-1] :])
        for use, weights in ((use, found[use][0].float().cpu()) for use in found)
    ]


def attention_text(
    weights: Float[Tensor, "tgt src"],
    source_tokens: Sequence[str],
    target_tokens: Sequence[str],
) -> str:
    """One head's weights, or a mean of heads, as shades. A wide source goes on in a block below."""
    above, beside = ([printable(token) for token in tokens] for tokens in (source_tokens, target_tokens))
    margin = max(map(columns, beside), default=0) + 2
    sizes = [max(columns(token), 3) for token in above]
    blocks = []
    for part in parts(sizes, WIDTH - margin):
        lines = [" " * margin + " ".join(_padded(above[place], sizes[place]) for place in part)]
        for token, row in zip(beside, weights.tolist(), strict=True):
            signs = (SHADES[sum(row[place] >= bound for bound in FROM)] * sizes[place] for place in part)
            lines.append(_padded(token, margin) + " ".join(signs))
        blocks.append("\n".join(line.rstrip() for line in lines))
    return "\n\n".join(blocks)


def legend() -> str:
    """What the shades mean.

    >>> legend()
    '░ from 12.5%   ▒ from 25%   ▓ from 50%   █ from 75%'
    """
    return "   ".join(f"{sign} from {100 * bound:g}%" for sign, bound in zip(SHADES[1:], FROM, strict=True))


def columns(text: str) -> int:
    """How many columns of a terminal a text takes: two for a Chinese character, none for an accent alone.

    >>> columns("chat"), columns("猫"), columns("e\N{COMBINING ACUTE ACCENT}")
    (4, 2, 1)
    """
    wide = (2 if unicodedata.east_asian_width(sign) in "WF" else 1 for sign in text)
    return sum(0 if unicodedata.combining(sign) else n for sign, n in zip(text, wide, strict=True))


def parts(sizes: Sequence[int], room: int) -> Iterator[list[int]]:
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
        used += size + 1
    if part:
        yield part


def _padded(text: str, size: int) -> str:
    return text + " " * (size - columns(text))
