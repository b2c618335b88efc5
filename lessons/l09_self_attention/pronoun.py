"""The pronoun in a Transformer's translation when source words are masked: for `CloseAWord` and lesson 09.

    >>> thirsty = "the cat drank the water because it was thirsty"
    >>> result = masked_translation(shared("transformer"), thirsty, masked=[8])
    >>> result.french                                       # “thirsty” is masked
    "le chat a bu l' eau parce qu' elle était était"
    >>> round(result.il, 2), round(result.elle, 2)
    (0.0, 0.93)

A word is masked for the words of its sentence ("source"), for the decoder ("decoder"), or for both ("all").
The masks are those of `translation/masking.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import torch

from course_lib.layers.rows import Rows
from course_lib.models.inference import eval_mode
from course_lib.shapes import Bool, Float, Tensor
from course_lib.text.batch import make_batch
from course_lib.text.special import BOS, EOS, SPECIAL
from course_lib.translation.masking import mask_without, masked_memory
from course_lib.translation.search import greedy
from course_lib.translation.shipped import Shipped, shared

# The heads of each attention: three layers of four, layer.head, counted from 0.
HEADS = tuple(f"{layer}.{head}" for layer in range(3) for head in range(4))
TO = ("all", "source", "decoder")
IL, ELLE = ("il", "ils"), ("elle", "elles")
MAX_LENGTH = 30


@dataclass(frozen=True)
class PronounTranslation:
    """A translation, the probabilities of the pronouns, and attention weights.

    `il` is the probability of il or ils, `elle` that of elle or elles, at the position where the undisturbed
    translation has its pronoun, after the words that precede it there. `pronoun_weights` are the attention
    weights of cross-attention at that step, `encoder_weights` those of the encoder's self-attention.
    """

    shipped: Shipped
    memory: Rows
    il: float
    elle: float
    words: tuple[str, ...]
    encoder_weights: Float[Tensor, "layers heads src src"] | None
    pronoun_weights: Float[Tensor, "layers heads src"]

    @cached_property
    @torch.no_grad()
    def french(self) -> str:
        """The whole translation, decoded when it is asked for: measurements need only the pronouns."""
        with eval_mode(self.shipped.model):
            ids = greedy(self.shipped.model, self.memory, max_len=MAX_LENGTH).ids[0].tolist()
        return self.shipped.tokenizer.decode(ids)


def masked_translation(
    shipped: Shipped, text: str, *, masked: Sequence[int] = (), to: str = "all"
) -> PronounTranslation:
    """The translation with some source words masked, by their positions from 0; `</s>` comes last."""
    if to not in TO:
        raise ValueError(f"Expected to be one of {', '.join(TO)}, but got {to!r}.")
    n = len(text.split()) + 1
    some_masked, all_open = mask_without(masked, n), mask_without([], n)
    return translate_with_masks(
        shipped,
        text,
        own=all_open if to == "decoder" else some_masked,
        cross=all_open if to == "source" else some_masked,
    )


def translate_with_masks(
    shipped: Shipped, text: str, own: Bool[Tensor, "1 1 #src src"], cross: Bool[Tensor, "1 1 1 src"]
) -> PronounTranslation:
    """The translation with one mask for self-attention in the encoder and one for cross-attention."""
    src = make_batch([shipped.tokenizer.encode(text)], [[]]).src
    memory, weights = masked_memory(shipped.model, src, own, cross, with_weights=True)
    return from_memory(shipped, text, memory, weights["encoder"][0])


@torch.no_grad()
def from_memory(
    shipped: Shipped,
    text: str,
    memory: Rows,
    encoder_weights: Float[Tensor, "layers heads src src"] | None = None,
) -> PronounTranslation:
    """The translation decoded from this memory; the pronoun is expected where that of `text` has it."""
    model, tokenizer = shipped.model, shipped.tokenizer
    with eval_mode(model):
        prefix = torch.tensor([[BOS, *before_pronoun(shipped, text)]])
        logits, weights = model.decode(memory, prefix, with_weights=True)
    probabilities = logits[0, -1].softmax(dim=-1)
    il, elle = (
        sum(probabilities[tokenizer.encode(word)[0]].item() for word in pronouns) for pronouns in (IL, ELLE)
    )
    return PronounTranslation(
        shipped=shipped,
        memory=memory,
        il=il,
        elle=elle,
        words=(*text.split(), SPECIAL[EOS]),
        encoder_weights=encoder_weights,
        pronoun_weights=weights[0, :, :, -1],
    )


def before_pronoun(shipped: Shipped, text: str) -> list[int]:
    """The ids before the pronoun in the undisturbed translation; all of them if it has none."""
    words = _translation(shipped.name, text).split()
    end = next((i for i, word in enumerate(words) if word in (*IL, *ELLE)), len(words))
    return shipped.tokenizer.encode(" ".join(words[:end]))


@cache
def _translation(name: str, text: str) -> str:
    return shared(name)(text).target
