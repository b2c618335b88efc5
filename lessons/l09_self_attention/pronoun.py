"""Which pronoun a shipped Transformer says when source words are masked: for `CloseAWord` and lesson 09.

    >>> heard = listen(shared("transformer"), "the cat drank the water because it was thirsty", closed=[8])
    >>> heard.french                                        # nobody can look at “thirsty”
    "le chat a bu l' eau parce qu' elle était était"
    >>> round(heard.il, 2), round(heard.elle, 2)
    (0.0, 0.93)

Learners call a masked word closed: to the other words of its sentence ("source"), to the decoder ("decoder"),
or to both ("all"). `translation/masking.py` closes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import torch

from course_lib.layers.rows import Rows
from course_lib.models.in_use import eval_mode
from course_lib.shapes import Bool, Float, Tensor
from course_lib.text.batch import make_batch
from course_lib.text.special import BOS, EOS, SPECIAL
from course_lib.translation.masking import masked_memory, without
from course_lib.translation.search import greedy
from course_lib.translation.shipped import Shipped, shared

# The heads of one use, three layers of four, as lesson 09 names them; elsewhere “2b” is 1.1.
ATTENTIONS = tuple(f"{layer}{letter}" for layer in (1, 2, 3) for letter in "abcd")
TO = ("all", "source", "decoder")
IL, ELLE = ("il", "ils"), ("elle", "elles")
LONGEST = 30


@dataclass(frozen=True)
class PronounTranslation:
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


def listen(shipped: Shipped, text: str, *, closed: Sequence[int] = (), to: str = "all") -> PronounTranslation:
    """The translation with some source words closed, by their places from 0; `</s>` comes last."""
    if to not in TO:
        raise ValueError(f"Expected to be one of {', '.join(TO)}, but got {to!r}.")
    n = len(text.split()) + 1
    shut, all_open = without(closed, n), without([], n)
    return under_masks(
        shipped, text, all_open if to == "decoder" else shut, all_open if to == "source" else shut
    )


def under_masks(
    shipped: Shipped, text: str, own: Bool[Tensor, "1 1 #src src"], cross: Bool[Tensor, "1 1 1 src"]
) -> PronounTranslation:
    """The translation where source words look at one another by one mask, and the decoder by the other."""
    src = make_batch([shipped.tokenizer.encode(text)], [[]]).src
    memory, weights = masked_memory(shipped.model, src, own, cross, with_weights=True)
    return from_memory(shipped, text, memory, weights["encoder"][0])


@torch.no_grad()
def from_memory(
    shipped: Shipped, text: str, memory: Rows, own: Float[Tensor, "layers heads src src"] | None = None
) -> PronounTranslation:
    """What the decoder makes of this memory; the pronoun is looked for where `text` itself has it."""
    model, tokenizer = shipped.model, shipped.tokenizer
    with eval_mode(model):
        said = greedy(model, memory, max_len=LONGEST).ids[0].tolist()
        said_before = torch.tensor([[BOS, *before_pronoun(shipped, text)]])
        logits, weights = model.decode(memory, said_before, with_weights=True)
    shares = logits[0, -1].softmax(dim=-1)
    il, elle = (sum(shares[tokenizer.encode(word)[0]].item() for word in words) for words in (IL, ELLE))
    words = (*text.split(), SPECIAL[EOS])
    return PronounTranslation(tokenizer.decode(said), il, elle, words, own, weights[0, :, :, -1])


def before_pronoun(shipped: Shipped, text: str) -> list[int]:
    """The words, as ids, that the undisturbed translation has before its pronoun; all, where it has none."""
    said = _translated(shipped.name, text).split()
    upto = next((place for place, word in enumerate(said) if word in (*IL, *ELLE)), len(said))
    return shipped.tokenizer.encode(" ".join(said[:upto]))


@cache
def _translated(name: str, text: str) -> str:
    return shared(name)(text).target
