"""A sentence as somebody types it, translated with everything open to view: `live_translator.py` draws it.

    >>> from course_lib.translation.shipped import shared
    >>> seen = live(shared("transformer"), "The cat drank the [water].")
    >>> seen.source, seen.closed                        # a word in brackets is closed: nobody looks at it
    (('the', 'cat', 'drank', 'the', 'water', '</s>'), (4,))
    >>> seen.said[:2], seen.chances.shape               # for every step, how likely each token was
    (('le', 'chat'), torch.Size([7, 680]))

Closing a word is masking it (`translation/masking.py`). A system without attention has nothing to mask: it
reads the word as if there were no brackets, and a note says so.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch

from course_lib.models.in_use import eval_mode
from course_lib.models.transformer import Transformer
from course_lib.shapes import Float, Tensor
from course_lib.text.batch import make_batch
from course_lib.text.special import EOS, PAD, SPECIAL, UNK
from course_lib.text.tokenizer import Tokenizer
from course_lib.translation.masking import masked_memory, without
from course_lib.translation.pipeline import EMPTY, clean_text, notes_after, prepare
from course_lib.translation.search import greedy, read_before
from course_lib.translation.shipped import Shipped

MOST_READ, MOST_SAID = 12, 18  # words; tokens
NOTHING_TO_CLOSE = "no attention here, so no word can be closed"


@dataclass(frozen=True)
class Live:
    """One translation, step by step: source and target tokens, `</s>` among them.

    `chances[t]` are the probabilities at the step that says token t. `looked` holds the attention weights of
    each of the Transformer's `USES`, (layers, heads, queries, keys); nothing for a system without attention.
    """

    source: tuple[str, ...] = ()
    said: tuple[str, ...] = ()
    closed: tuple[int, ...] = ()
    french: str = ""
    chances: Float[Tensor, "tgt vocab"] | None = None
    looked: dict[str, Tensor] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def parted(text: str, tokenizer: Tokenizer) -> tuple[list[str], tuple[int, ...]]:
    """The words as the vocabulary has them, and the places of those in brackets, from 0.

    >>> from course_lib.text.word_tokenizer import WordTokenizer
    >>> parted("The [old cat] sleeps.", WordTokenizer(["the", "old", "cat", "sleeps"]))
    (['the', 'old', 'cat', 'sleeps'], (1, 2))
    """
    words, closed, inside = [], [], False
    for piece in text.replace("[", " [ ").replace("]", " ] ").split():
        if piece in ("[", "]"):
            inside = piece == "["
            continue
        found = clean_text(piece, tokenizer).split()
        closed += range(len(words), len(words) + len(found)) if inside else ()
        words += found
    return words, tuple(closed)


@torch.inference_mode()
def live(shipped: Shipped, text: str) -> Live:
    """Read, translate greedily, and keep what was seen on the way. `notes` say what was odd."""
    tokenizer, model = shipped.tokenizer, shipped.model
    words, closed = parted(text, tokenizer)
    if not words:
        return Live(notes=(EMPTY,))
    if len(words) > MOST_READ:
        return Live(notes=(f"too long: {len(words)} words, and {MOST_READ} fit here",))
    plain = " ".join(words)
    notes = list(prepare(plain, tokenizer).notes)
    if closed and not isinstance(model, Transformer):
        closed, notes = (), [*notes, NOTHING_TO_CLOSE]
    batch, looked = make_batch([tokenizer.encode(plain)], [[]]), {}
    with eval_mode(model):
        if isinstance(model, Transformer):
            may_look = without(closed, len(words) + 1)
            memory, looked = masked_memory(model, batch.src, may_look, may_look, with_weights=True)
            ids = greedy(model, memory, max_len=MOST_SAID).ids
            logits, weights = model.run_decoder(memory, read_before(ids), with_weights=True)
            looked |= weights
        else:
            memory = model.encode(batch.src, batch.src_lengths)
            ids = greedy(model, memory, max_len=MOST_SAID).ids
            logits, _ = model.decode(memory, read_before(ids))
    said = [token for token in ids[0].tolist() if token != PAD]
    notes += notes_after(len(words), len(words), said)
    known = zip(words, tokenizer.encode(plain), strict=True)
    return Live(
        source=(*(f"{word}?" if token == UNK else word for word, token in known), SPECIAL[EOS]),
        said=tuple(tokenizer.tokens(said)),
        closed=closed,
        french=tokenizer.decode(said),
        chances=logits[0, : len(said)].float().softmax(dim=-1),
        looked={use: weights[0] for use, weights in looked.items()},
        notes=tuple(notes),
    )
