"""Interventions in a shipped Transformer: close a word, swap a state, and hear what it says then.

    >>> transformer = load_shipped("transformer")
    >>> heard = listen(transformer, "the cat drank the water because it was thirsty", closed=[8])
    >>> heard.french                                        # nobody can look at “thirsty”
    "le chat a bu l' eau parce qu' elle était était"
    >>> heard.il, heard.elle
    (0.002, 0.929)

A closed word still asks, but nobody can look at it: not the other words of its sentence ("source"), or not
the decoder ("decoder"), or neither ("all"). All else is left as it is, places too.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache

import torch

from course_lib.layers.masks import padding_mask
from course_lib.layers.rows import Rows
from course_lib.shapes import Bool, Float, Tensor
from course_lib.text.batch import make_batch
from course_lib.text.special import BOS, EOS, SPECIAL
from course_lib.translation.inside import of_head, read, zeroed
from course_lib.translation.search import eval_mode, greedy
from course_lib.translation.shipped import Shipped, shared

# The attentions of each side: three layers of four, side by side. “2b” is the second one of layer 2.
ATTENTIONS = tuple(f"{layer}{letter}" for layer in (1, 2, 3) for letter in "abcd")
TO = ("all", "source", "decoder")
PRONOUNS = {"il": ("il", "ils"), "elle": ("elle", "elles")}
LONGEST = 30


@dataclass(frozen=True)
class Heard:
    """What a Transformer said, how likely the pronouns were, and where its attentions looked.

    `il` is the probability of il or ils, `elle` that of elle or elles, where the undisturbed translation has
    its pronoun, after the very words that stand before it there. `own` holds all attentions among the source
    words, `at_pronoun` where the decoder looked just then.
    """

    french: str
    il: float
    elle: float
    words: tuple[str, ...]
    own: Float[Tensor, "layers heads src src"] | None
    at_pronoun: Float[Tensor, "layers heads src"]


def listen(shipped: Shipped, text: str, *, closed: Sequence[int] = (), to: str = "all") -> Heard:
    """The translation with some source words closed, by their places from 0; `</s>` comes last."""
    if to not in TO:
        raise ValueError(f"Expected to be one of {', '.join(TO)}, but got {to!r}.")
    is_open = torch.ones(len(text.split()) + 1, dtype=torch.bool)
    is_open[list(closed)] = False
    all_open = torch.ones_like(is_open)
    states, own = source_states(shipped, text, all_open if to == "decoder" else is_open)
    return speak(shipped, text, states, all_open if to == "source" else is_open, own)


def listen_alone(shipped: Shipped, text: str) -> Heard:
    """The translation when every source word sees itself alone: no word knows its sentence."""
    states, own = source_states(shipped, text, torch.eye(len(text.split()) + 1, dtype=torch.bool))
    return speak(shipped, text, states, own=own)


@torch.no_grad()
def source_states(
    shipped: Shipped, text: str, may_look: Bool[Tensor, "#src src"] | Bool[Tensor, " src"] | None = None
) -> tuple[Float[Tensor, "1 src model"], Float[Tensor, "layers heads src src"]]:
    """The encoder's last states, one a word and one for `</s>`; and where each word looked.

    `may_look` says which words may be looked at: by all (one row), or row by row.
    """
    src = make_batch([shipped.tokenizer.encode(text)], [[]]).src
    with eval_mode(shipped.model):
        states, own = read(shipped.model, src, _four_axes(may_look, src.shape[1]))
    return states, own[0]


@torch.no_grad()
def speak(
    shipped: Shipped,
    text: str,
    states: Float[Tensor, "1 src model"],
    may_look: Bool[Tensor, " src"] | None = None,
    own: Tensor | None = None,
    *,
    values: Float[Tensor, "1 src model"] | None = None,
) -> Heard:
    """What the decoder makes of these states; the pronoun is looked for where `text` itself has it.

    Where `values` is given, the decoder's values are made from those states, and only its keys from `states`.
    """
    model, tokenizer = shipped.model, shipped.tokenizer
    with eval_mode(model):
        memory = memory_of(shipped, states, may_look)
        if values is not None:
            memory["values"] = model.decoder.read_source(values)["values"]
        said = greedy(model, memory, max_len=LONGEST).ids[0].tolist()
        said_before = torch.tensor([[BOS, *before_pronoun(shipped, text)]])
        logits, weights = model.decode(memory, said_before, with_weights=True)
    shares = logits[0, -1].softmax(dim=-1)
    il, elle = (
        sum(shares[tokenizer.encode(word)[0]].item() for word in words) for words in PRONOUNS.values()
    )
    words = (*text.split(), SPECIAL[EOS])
    return Heard(tokenizer.decode(said), il, elle, words, own, weights[0, :, :, -1])


def memory_of(
    shipped: Shipped, states: Float[Tensor, "1 src model"], may_look: Bool[Tensor, " src"] | None = None
) -> Rows:
    """What the decoder is given of these states, when it may look at some of them only."""
    read_by_decoder = shipped.model.decoder.read_source(states)
    return {**read_by_decoder, "may_look": _four_axes(may_look, states.shape[1])}


def before_pronoun(shipped: Shipped, text: str) -> list[int]:
    """The words, as ids, that the undisturbed translation has before its pronoun; all, where it has none."""
    said = _translated(shipped.name, text).split()
    pronouns = {word for words in PRONOUNS.values() for word in words}
    upto = next((place for place, word in enumerate(said) if word in pronouns), len(said))
    return shipped.tokenizer.encode(" ".join(said[:upto]))


@torch.no_grad()
def translate_alone(shipped: Shipped, texts: Sequence[str]) -> list[str]:
    """Many translations, where every source word sees itself alone."""
    model, encode = shipped.model, shipped.tokenizer.encode
    batch = make_batch([encode(text) for text in texts], [[]] * len(texts))
    n = batch.src.shape[1]
    with eval_mode(model):
        x, _ = read(model, batch.src, torch.eye(n, dtype=torch.bool)[None, None], with_weights=False)
        real = padding_mask(batch.src_lengths, n).unsqueeze(1)
        found = greedy(model, {**model.decoder.read_source(x), "may_look": real}, max_len=2 * n + 10)
    return [shipped.tokenizer.decode(ids) for ids in found.ids.tolist()]


def place_of(attention: str) -> tuple[int, int]:
    """Layer and place in it, both from 0.

    >>> place_of("2b")
    (1, 1)
    """
    if attention not in ATTENTIONS:
        raise ValueError(f"Expected an attention from 1a to 3d, but got {attention!r}.")
    return int(attention[0]) - 1, "abcd".index(attention[1])


@torch.no_grad()
def taken_apart(
    shipped: Shipped, text: str, attention: str
) -> tuple[Float[Tensor, "src model"], Float[Tensor, "model d_k"], Float[Tensor, "model d_k"], Tensor]:
    """What one attention of the encoder is given, and its three matrices: x, w_q, w_k, w_v."""
    layer, which = place_of(attention)
    model, src = shipped.model, make_batch([shipped.tokenizer.encode(text)], [[]]).src
    blocks = model.encoder.blocks
    with eval_mode(model):
        x = model.source_positions.add(model.words.source(src))
        for block in blocks[:layer]:
            x, _, _ = block(x)
        x = blocks[layer].around_attention.before(x)[0]
    heads = blocks[layer].attention
    matrices = (heads.w_query, heads.w_key, heads.w_value)
    return x, *(matrix[of_head(heads, which, len(matrix))].detach().T for matrix in matrices)


def equal_weights(shipped: Shipped, side: str, attentions: Sequence[str]) -> AbstractContextManager[None]:
    """For a while these attentions share out evenly: their queries are 0, hence all their scores.

    `side` is "source", for source words that look at one another, or "decoder", for its look at the source.
    """
    model, places = shipped.model, [place_of(attention) for attention in attentions]
    if side == "source":
        heads = [(model.encoder.blocks[layer].attention, which) for layer, which in places]
    else:
        heads = [(model.decoder.blocks[layer].cross, which) for layer, which in places]
    return zeroed([part.w_query[of_head(part, which, len(part.w_query))] for part, which in heads])


@cache
def _translated(name: str, text: str) -> str:
    return shared(name)(text).target


def _four_axes(may_look: Tensor | None, n: int) -> Tensor:
    """(1, 1, rows, src), as the stacks want it; all may be looked at where nothing is said."""
    may_look = torch.ones(n, dtype=torch.bool) if may_look is None else may_look
    return may_look.view(1, 1, -1, n)
