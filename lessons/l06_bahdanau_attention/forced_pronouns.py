"""Which source word carries the pronoun? Bahdanau's decoder with all its attention on one of them.

    >>> sentences = twins(1)
    >>> roles(*sentences)["because"], pronoun_step(sentences[0])
    (5, 8)
    >>> tokens = shared("bahdanau").tokenizer
    >>> [tokens.decode([token]) for token in predicted(sentences, contexts(sentences)["was"]).tolist()]
    ['il', 'elle']

The words before the pronoun are given (teacher forcing), and their attention isn't changed. Twins are two
sentences that differ only in the last word, and with it in the pronoun: a word carries the answer if the
pronoun is right in both. A decoder that always says *il* is right in one of each two, and never in both.
"""

from __future__ import annotations

from functools import cache

import torch

from course_lib.shapes import Float, Int, Tensor
from course_lib.text.batch import make_batch
from course_lib.text.pair import Pair
from course_lib.text.toy.lexicon import lexicon
from course_lib.text.toy.splits import TEST_SIZES, splits
from course_lib.translation.shipped import shared

EXPECTED = (
    "A reader found 134 of 200 twins right for was, 86 for it, 78 for the adjective, 60 for because and 0 "
    "for the end, and we should find the same; the nouns, the main verb, the first word and uniform "
    "attention get fewer than 20, the position with the largest weight more than the adjective, and "
    "wherever both are right, the annotations of the twin give the twin's pronouns."
)
N_TWINS = 200
PRONOUNS = ("il", "elle", "ils", "elles")
Contexts = dict[str, Float[Tensor, "sentences annotation"]]


def twins(n: int, first: int = 0) -> tuple[Pair, ...]:
    """2n sentences: 0 and 1 are twins, 2 and 3, and so on."""
    return splits(seed=0, sizes=TEST_SIZES).coreference[2 * first : 2 * (first + n)]


def pronoun_step(pair: Pair) -> int:
    """The step that predicts the pronoun of `… because it was ADJECTIVE`, which is also its position."""
    return max(i for i, word in enumerate(pair.tgt) if word in PRONOUNS)


def roles(pair: Pair, twin: Pair) -> dict[str, int]:
    """The source position of each role, the same in both twins."""
    first_noun, second_noun = sorted(noun for [(_, noun)] in (pair.antecedents, twin.antecedents))
    verb = max(i for i, word in enumerate(pair.src[:second_noun]) if word in _verbs())
    nouns = {"first word": 0, "first noun": first_noun, "main verb": verb, "second noun": second_noun}
    clause = ("because", "it", "was", "adjective", "end")
    return nouns | {role: pair.length - 4 + i for i, role in enumerate(clause)}


@cache
def _verbs() -> frozenset[str]:
    return frozenset(form for verb in lexicon().verbs for form in verb.en)


@cache
@torch.no_grad()
def _at_pronoun(sentences: tuple[Pair, ...]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Where each pronoun is predicted: previous word, state and attention weights; and the annotations."""
    model, encode = shared("bahdanau").model, shared("bahdanau").tokenizer.encode
    batch = make_batch([encode(pair.src_text) for pair in sentences], [encode(p.tgt_text) for p in sentences])
    memory = model.encode(batch.src, batch.src_lengths)
    embedded, state, steps = model.words.target(batch.tgt_in), model.start(memory), []
    for words in embedded.unbind(dim=1):
        before = state["hidden"]
        _, state, weights = model.walk(memory, state, words)
        steps.append((before, weights.flatten(1)))
    hidden, weights = (torch.stack(column, dim=1) for column in zip(*steps, strict=True))
    at = torch.arange(len(sentences)), torch.tensor([pronoun_step(pair) for pair in sentences])
    return embedded[at], hidden[at], weights[at], memory["annotations"]


def contexts(sentences: tuple[Pair, ...]) -> Contexts:
    """The context vector at the pronoun: of the model, of uniform attention, and of each word alone."""
    *_, weights, annotations = _at_pronoun(sentences)
    n = torch.tensor([pair.length + 1 for pair in sentences])[:, None]
    uniform = (torch.arange(weights.shape[1]) < n) / n
    averaged = torch.stack([weights, uniform], dim=1) @ annotations
    of_each = [roles(*sentences[i - i % 2 :][:2]) for i in range(len(sentences))]
    places = {role: torch.tensor([places[role] for places in of_each]) for role in of_each[0]}
    places["most attended"] = weights.argmax(dim=1)
    rows = torch.arange(len(sentences))
    return {"model": averaged[:, 0], "uniform": averaged[:, 1]} | {
        role: annotations[rows, place] for role, place in places.items()
    }


@torch.no_grad()
def predicted(
    sentences: tuple[Pair, ...], context: Float[Tensor, "sentences annotation"]
) -> Int[Tensor, " sentences"]:
    """The most probable word at the pronoun, with this context vector instead of the model's own."""
    model, (embedded, hidden, *_) = shared("bahdanau").model, _at_pronoun(sentences)
    state = model.decoder(torch.cat([embedded, context], dim=-1), hidden)
    return model.logits(torch.cat([state, embedded, context], dim=-1)).argmax(dim=-1)


def forced_pronouns() -> dict:
    """How many pronouns are right with each context vector, singly and in both twins.

    `both wrong`: each twin gets the other's pronoun. A word that carries noise has as many of these as of
    `both right`. Then each sentence gets the context vector of its twin, but keeps its state: if `both
    follow` it, and say the twin's pronoun, the answer is in the annotations; if `both keep` their own
    pronoun, it is in the states.
    """
    sentences, encode = twins(N_TWINS), shared("bahdanau").tokenizer.encode
    right = torch.tensor([encode(pair.tgt[pronoun_step(pair)])[0] for pair in sentences])
    swapped = torch.arange(len(sentences)) ^ 1

    def count(context: Tensor) -> dict[str, int]:
        words, after_swap = predicted(sentences, context), predicted(sentences, context[swapped])
        hits = {"right": words == right, "wrong": words == right[swapped]}
        both = hits | {"follow": after_swap == right[swapped], "keep": after_swap == right}
        return {name: int(hit.sum()) for name, hit in hits.items()} | {
            f"both {name}": int(hit.view(-1, 2).all(dim=1).sum()) for name, hit in both.items()
        }

    counts = {name: count(context) for name, context in contexts(sentences).items()}
    return {"expected": EXPECTED, "twins": N_TWINS, "both right by tossing a coin": N_TWINS // 4, **counts}
