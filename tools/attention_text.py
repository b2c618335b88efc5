"""All attention weights of a translation, by name, and as text for a terminal.

    for attention in every_attention(system, tokenizer, translation):
        print(attention.name, attention.weights.shape)          # encoder self-attention (3, 4, 6, 6), ...

Every translator with attention has cross-attention. The Transformer and the LSTMN also have self-attention
in the encoder and in the decoder. As text, rows are queries and columns are keys:

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

from course_lib.models.inference import device_of, eval_mode
from course_lib.models.transformer import ATTENTIONS
from course_lib.models.translator import Translator
from course_lib.shapes import Float, Tensor
from course_lib.text.special import EOS, SPECIAL, UNK
from course_lib.text.tokenizer import Tokenizer
from course_lib.translation.pipeline import Translation, printable
from course_lib.translation.search import shift_right
from course_lib.views.picture import WIDTH, Picture
from course_lib.views.svg import width_of, word
from course_lib.views.words import links, spread, word_row

SHADES = " ░▒▓█"
THRESHOLDS = (0.125, 0.25, 0.5, 0.75)  # the smallest weight of each shade but the first
TERMINAL_WIDTH = 100


class Attention(NamedTuple):
    """The weights of one kind of attention, with the tokens that label rows (queries) and columns (keys)."""

    use: str  # encoder, decoder or cross: the first word of a head's name
    name: str
    weights: Float[Tensor, "layers heads rows columns"]
    rows: tuple[str, ...]
    columns: tuple[str, ...]


def every_attention(system: Translator, tokenizer: Tokenizer, translation: Translation) -> list[Attention]:
    """Compute all weights in one teacher-forced pass. Decoder rows are labelled with the input tokens."""
    token_ids = {token: index for index, token in enumerate(tokenizer.vocabulary)}
    src, tgt_out = (
        torch.tensor([[token_ids[token] for token in tokens]], device=device_of(system))
        for tokens in (translation.source_tokens, translation.target_tokens)
    )
    tgt_in = shift_right(tgt_out)
    with eval_mode(system), torch.inference_mode():
        all_weights = system.attention_weights(src, torch.full_like(src[:, 0], src.shape[1]), tgt_in)
    source, target = source_labels(translation), tuple(tokenizer.tokens(tgt_in[0].tolist()))
    before = (f"{SPECIAL[EOS]} of the source",)  # the LSTMN's decoder starts from the encoder's last token
    labels = {
        "encoder": (source, source),
        "decoder": (target, (*before, *target)),
        "cross": (translation.target_tokens, source),
    }
    attentions = []
    for use, batch_weights in all_weights.items():
        weights = batch_weights[0].float().cpu()
        rows, columns = labels[use]
        attentions.append(Attention(use, ATTENTIONS[use], weights, rows, columns[-weights.shape[-1] :]))
    return attentions


def source_labels(translation: Translation) -> tuple[str, ...]:
    """The source tokens, with unknown words as they were typed if each word is one token.

    >>> source_labels(Translation("the axolotl", "le chat", ("the", "<unk>", "</s>")))
    ('the', 'axolotl?', '</s>')
    """
    words = (*(translation.read or translation.source).split(), SPECIAL[EOS])
    if len(words) != len(translation.source_tokens):
        return translation.source_tokens
    labelled = zip(words, translation.source_tokens, strict=True)
    return tuple(f"{word}?" if token == SPECIAL[UNK] else token for word, token in labelled)


def attention_text(
    weights: Float[Tensor, "tgt src"],
    source_tokens: Sequence[str],
    target_tokens: Sequence[str],
) -> str:
    """One head's weights, or a mean over heads, as shades. A wide source is split into several blocks."""
    headings, row_labels = (
        [printable(token) for token in tokens] for tokens in (source_tokens, target_tokens)
    )
    margin = max(map(display_width, row_labels), default=0) + 2
    widths = [max(display_width(token), 3) for token in headings]
    blocks = []
    for block in split_columns(widths, TERMINAL_WIDTH - margin):
        lines = [" " * margin + " ".join(_padded(headings[column], widths[column]) for column in block)]
        for token, row in zip(row_labels, weights.tolist(), strict=True):
            cells = (_shade(row[column]) * widths[column] for column in block)
            lines.append(_padded(token, margin) + " ".join(cells))
        blocks.append("\n".join(line.rstrip() for line in lines))
    return "\n\n".join(blocks)


def lines_picture(
    title: str, weights: Float[Tensor, "tgt src"], source_tokens: Sequence[str], target_tokens: Sequence[str]
) -> Picture:
    """The same weights as lines between both sentences: the thicker, the larger."""
    rows = [[printable(token) for token in tokens] for tokens in (source_tokens, target_tokens)]
    width = max(WIDTH, *(32 + sum(width_of(token) + 12 for token in row) for row in rows))
    english, french = (spread(row, 16, width - 16) for row in rows)
    target, most = rows[1], [rows[0][i] for i in weights.argmax(dim=-1).tolist()]
    return Picture(
        width,
        236,
        word(16, 28, title, 14, anchor="start", bold=True),
        links(weights.numpy(), french, english, (196, 74)),
        word_row(rows[0], english, 64),
        word_row(target, french, 216),
        alt=f"{title}: "
        + ", ".join(f"{token} mostly to {to}" for token, to in zip(target, most, strict=True)),
    )


def legend() -> str:
    """The smallest weight of each shade.

    >>> legend()
    '░ ≥ 12.5%   ▒ ≥ 25%   ▓ ≥ 50%   █ ≥ 75%'
    """
    shades = zip(SHADES[1:], THRESHOLDS, strict=True)
    return "   ".join(f"{shade} ≥ {100 * threshold:g}%" for shade, threshold in shades)


def display_width(text: str) -> int:
    """How many terminal columns a text takes: two for a Chinese character, none for a combining accent.

    >>> display_width("chat"), display_width("猫"), display_width("e\N{COMBINING ACUTE ACCENT}")
    (4, 2, 1)
    """
    characters = [character for character in text if not unicodedata.combining(character)]
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in characters)


def split_columns(widths: Sequence[int], max_width: int) -> Iterator[list[int]]:
    """The columns of a table, by index, in blocks that fit into `max_width`; at least one in each.

    >>> list(split_columns([8, 8, 11, 8], max_width=20))
    [[0, 1], [2, 3]]
    """
    block: list[int] = []
    used = 0
    for column, width in enumerate(widths):
        if block and used + width > max_width:
            yield block
            block, used = [], 0
        block.append(column)
        used += width + 1
    if block:
        yield block


def _shade(weight: float) -> str:
    return SHADES[sum(weight >= threshold for threshold in THRESHOLDS)]


def _padded(text: str, width: int) -> str:
    return text + " " * (width - display_width(text))
