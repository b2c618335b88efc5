"""Which source word carries the pronoun? Bahdanau's decoder with all its attention on one word, or with none.

The words before the pronoun are given (teacher forcing), and the attention at their steps isn't changed. A
word is enough if, with all the attention on it, the pronoun is right in both twins, two sentences that
differ only in the last word. (A decoder that always says *il* is right in one of each two, never in both.) It
is needed if they aren't right without it, when the other words share its weight in proportion to theirs.
"""

from __future__ import annotations

import torch

from course_lib.shapes import Int, Tensor
from course_lib.text.batch import Batch, make_batch
from course_lib.text.pair import Pair
from course_lib.text.toy.twins import pronoun_step, role_positions, twins
from course_lib.translation.shipped import shared

EXPECTED = (
    "A reader found 134 of 200 twins right for was, 86 for it, 78 for the adjective, 60 for because and 0 "
    "for the end, and we should find the same; the nouns, the main verb, the first word and uniform "
    "attention get fewer than 20, the position with the largest weight more than the adjective, and "
    "wherever both are right, the annotations of the twin give the twin's pronouns. Without one word, both "
    "are right in 200 pairs for was and because, 180 for the adjective, 138 for it, 137 for the largest."
)
N_TWINS = 200


def forced_batch(system: str, sentences: tuple[Pair, ...]) -> tuple[Batch, Int[Tensor, " sentences"]]:
    """A batch for teacher forcing, and the steps that predict the pronouns."""
    encode = shared(system).tokenizer.encode
    batch = make_batch([encode(pair.src_text) for pair in sentences], [encode(p.tgt_text) for p in sentences])
    return batch, torch.tensor([pronoun_step(pair) for pair in sentences])


@torch.no_grad()
def forced_pronouns() -> dict:
    """How many pronouns are right with each context vector, singly and in both twins.

    `both wrong`: each twin gets the other's pronoun. A word that carries noise has as many of these as of
    `both right`. Then each sentence gets the context vector of its twin, but keeps its state: if `both
    follow` it, and say the twin's pronoun, the answer is in the annotations; if `both keep` their own
    pronoun, it is in the states.
    """
    model, sentences = shared("bahdanau").model, twins(N_TWINS)
    batch, pronoun_steps = forced_batch("bahdanau", sentences)
    rows = torch.arange(len(sentences))
    at, twin = (rows, pronoun_steps), rows ^ 1
    right = batch.tgt_out[at]

    memory, embedded = model.encode(batch.src, batch.src_lengths), model.words.target(batch.tgt_in)
    annotations, state, steps = memory["annotations"], model.start(memory), []
    for words in embedded.unbind(dim=1):
        before = state["hidden"]
        _, state, weights = model.walk(memory, state, words)
        steps.append((before, weights.flatten(1)))
    hidden, weights = (torch.stack(column, dim=1)[at] for column in zip(*steps, strict=True))
    uniform = memory["mask"].reshape(weights.shape) / batch.src_lengths[:, None]
    places = role_positions(sentences) | {"most attended": weights.argmax(dim=1)}

    def predicted(context: Tensor) -> Tensor:
        new = model.decoder(torch.cat([embedded[at], context], dim=-1), hidden)
        return model.logits(torch.cat([new, embedded[at], context], dim=-1)).argmax(dim=-1)

    def count(context: Tensor) -> dict[str, int]:
        words, after_swap = predicted(context), predicted(context[twin])
        hits = {"right": words == right, "wrong": words == right[twin]}
        both = hits | {"follow": after_swap == right[twin], "keep": after_swap == right}
        return {name: int(hit.sum()) for name, hit in hits.items()} | {
            f"both {name}": int(hit.view(-1, 2).all(dim=1).sum()) for name, hit in both.items()
        }

    forced = {role: torch.eye(weights.shape[1])[place] for role, place in places.items()}
    used = {"model": weights, "uniform": uniform} | forced
    rest = {role: weights * (1 - each) for role, each in forced.items()}
    removed = {role: each / each.sum(dim=1, keepdim=True) for role, each in rest.items()}
    counts, others = (
        {name: count((each[:, None] @ annotations)[:, 0]) for name, each in kinds.items()}
        for kinds in (used, removed)
    )
    return {"expected": EXPECTED, "twins": N_TWINS, **counts, "removed": others}
