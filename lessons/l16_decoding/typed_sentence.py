"""A typed sentence, translated, with the probabilities and attention weights of each step.

    >>> from course_lib.translation.shipped import shared
    >>> translation = translate_typed(shared("transformer"), "The cat drank the [water].")
    >>> translation.source, translation.closed           # a word in brackets is masked
    (('the', 'cat', 'drank', 'the', 'water', '</s>'), (4,))
    >>> translation.output[:2], translation.probabilities.shape
    (('le', 'chat'), torch.Size([7, 680]))

`closed` are the masked words (`translation/masking.py`). A system without attention has nothing to mask: it
reads the word as if there were no brackets, and a note says so.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch

from course_lib.models.inference import eval_mode
from course_lib.models.transformer import Transformer
from course_lib.shapes import Float, Tensor
from course_lib.text.batch import make_batch
from course_lib.text.special import EOS, PAD, SPECIAL, UNK
from course_lib.text.tokenizer import Tokenizer
from course_lib.translation.masking import mask_without, masked_memory
from course_lib.translation.pipeline import EMPTY, clean_text, notes_after, prepare
from course_lib.translation.search import greedy, shift_right
from course_lib.translation.shipped import Shipped

MAX_INPUT, MAX_OUTPUT = 12, 18  # words; tokens
NOTHING_TO_CLOSE = "no attention here, so no word can be masked"


@dataclass(frozen=True)
class TypedTranslation:
    """One translation, step by step: source and target tokens, `</s>` among them.

    `probabilities[t]` are those of the step that outputs token t. `attention` holds the attention weights of
    each of the Transformer's `ATTENTIONS`, (layers, heads, queries, keys); without attention it is empty.
    """

    source: tuple[str, ...] = ()
    output: tuple[str, ...] = ()
    closed: tuple[int, ...] = ()
    french: str = ""
    probabilities: Float[Tensor, "tgt vocab"] | None = None
    attention: dict[str, Tensor] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def split_brackets(text: str, tokenizer: Tokenizer) -> tuple[list[str], tuple[int, ...]]:
    """The words as the vocabulary has them, and the positions of those in brackets, from 0.

    >>> from course_lib.text.word_tokenizer import WordTokenizer
    >>> split_brackets("The [old cat] sleeps.", WordTokenizer(["the", "old", "cat", "sleeps"]))
    (['the', 'old', 'cat', 'sleeps'], (1, 2))
    """
    words, closed, inside = [], [], False
    for piece in text.replace("[", " [ ").replace("]", " ] ").split():
        if piece in ("[", "]"):
            inside = piece == "["
            continue
        pieces = clean_text(piece, tokenizer).split()
        closed += range(len(words), len(words) + len(pieces)) if inside else ()
        words += pieces
    return words, tuple(closed)


@torch.inference_mode()
def translate_typed(shipped: Shipped, text: str) -> TypedTranslation:
    """Translate greedily and keep what each step computed. `notes` name what is unusual about the text."""
    tokenizer, model = shipped.tokenizer, shipped.model
    words, closed = split_brackets(text, tokenizer)
    if not words:
        return TypedTranslation(notes=(EMPTY,))
    if len(words) > MAX_INPUT:
        return TypedTranslation(notes=(f"too long: {len(words)} words; at most {MAX_INPUT} fit here",))
    plain = " ".join(words)
    notes = list(prepare(plain, tokenizer).notes)
    if closed and not isinstance(model, Transformer):
        closed, notes = (), [*notes, NOTHING_TO_CLOSE]
    batch, attention = make_batch([tokenizer.encode(plain)], [[]]), {}
    with eval_mode(model):
        if isinstance(model, Transformer):
            mask = mask_without(closed, len(words) + 1)
            memory, attention = masked_memory(model, batch.src, mask, mask, with_weights=True)
            ids = greedy(model, memory, max_len=MAX_OUTPUT).ids
            logits, weights = model.run_decoder(memory, shift_right(ids), with_weights=True)
            attention |= weights
        else:
            memory = model.encode(batch.src, batch.src_lengths)
            ids = greedy(model, memory, max_len=MAX_OUTPUT).ids
            logits, _ = model.decode(memory, shift_right(ids))
    output = [token for token in ids[0].tolist() if token != PAD]
    notes += notes_after(len(words), len(words), output)
    encoded = zip(words, tokenizer.encode(plain), strict=True)
    return TypedTranslation(
        source=(*(f"{word}?" if token == UNK else word for word, token in encoded), SPECIAL[EOS]),
        output=tuple(tokenizer.tokens(output)),
        closed=closed,
        french=tokenizer.decode(output),
        probabilities=logits[0, : len(output)].float().softmax(dim=-1),
        attention={use: weights[0] for use, weights in attention.items()},
        notes=tuple(notes),
    )
