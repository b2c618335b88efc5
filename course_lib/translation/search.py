"""Beam search: keep the `beam` best open sentences, let each go on with every word, keep the best again.

    found = beam_search(system, memory, beam=5, max_len=40, length_penalty=0.6)
    found.ids, found.scores                                 # words, EOS, then PAD; the best for each source
    greedy(system, memory, max_len=40)                      # a beam of one: no word is ever taken back

A sum of log-probabilities falls with every word, so the bare sum likes short sentences. As in GNMT (Wu et
al. 2016) a finished sentence is ranked by its sum divided by ((5 + length) / 6)^length_penalty, EOS counted:

    >>> penalty_for(torch.tensor([1, 7, 13]), length_penalty=1.0)     # 0 would leave the sum as it is
    tensor([1., 2., 3.])

How it goes, for each source on its own though all are worked on together:

1. Each open sentence is continued by every word and by EOS; all these are ranked by their sums.
2. A sentence among the best `beam` that has ended is finished. One that reaches its limit is cut off there,
   and counts only where none is finished: it never had to pay for its end.
3. The best `beam` that have not ended stay open.
4. It is over when `beam` sentences are finished, or when not even the best open one can overtake: sums only
   fall, so its score can at best be its sum now, divided by the penalty of the longest length allowed.

PAD, BOS and UNK are never said: UNK is a word only to a vocabulary, so the best known word is taken instead.
The others keep the probabilities the system gave them, so a score is what the system itself thinks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from course_lib.layers.rows import Rows, take
from course_lib.models.config import Config
from course_lib.models.in_use import eval_mode
from course_lib.models.translator import Translator
from course_lib.shapes import Float, Int, Tensor
from course_lib.text.special import BOS, EOS, PAD, UNK

NEVER_SAID = (PAD, UNK, BOS)


@dataclass(frozen=True, eq=False)
class Hypotheses:
    """What a search found, the best hypothesis for each source: words up to EOS, then PAD.

    `scores` are the system's own log-probabilities, what `decode` would give these very words, summed and
    divided by the length penalty. Row t of `weights` belongs to the step that says word t; of PAD it is 0.
    """

    ids: Int[Tensor, "batch tgt"]
    scores: Float[Tensor, " batch"]
    weights: Float[Tensor, "batch layers heads tgt src"] | None = None


def greedy(
    system: Translator,
    memory: Rows,
    *,
    max_len: int | Int[Tensor, " batch"],
    length_penalty: float = 0.6,
    with_weights: bool = False,
) -> Hypotheses:
    """Always the most probable word: beam search with a beam of one, in a plain loop.

    Every row of `memory` keeps its row from the first step to the last, finished or not.
    """
    device = next(iter(memory.values())).device
    limit = torch.tensor(limits(max_len, memory, system.config), device=device)
    token, ended = torch.full_like(limit, BOS), torch.zeros_like(limit, dtype=torch.bool)
    sums, ids = torch.zeros(len(limit), device=device), []
    with eval_mode(system), torch.inference_mode():
        state = system.start(memory)
        for length in range(1, int(limit.max()) + 1):
            logits, state, _ = system.step(memory, state, token)
            log_probs, token = next_words(logits).max(dim=1)
            sums, token = sums + log_probs.masked_fill(ended, 0.0), token.masked_fill(ended, PAD)
            ids.append(token)
            ended = ended | (token == EOS) | (length >= limit)
            if ended.all():
                break
    # Made out here, these are ordinary tensors, which may be used with gradients.
    words = torch.stack(ids, dim=1).clone()
    scores = sums / penalty_for((words != PAD).sum(dim=1), length_penalty=length_penalty)
    return Hypotheses(words, scores, weights_behind(system, memory, words) if with_weights else None)


def beam_search(
    system: Translator,
    memory: Rows,
    *,
    beam: int,
    max_len: int | Int[Tensor, " batch"],
    length_penalty: float = 0.6,
    with_weights: bool = False,
) -> Hypotheses:
    """The best sentence that a search of this width finds, for every row of `memory`.

    A sentence ends with EOS, or without it when it has `max_len` tokens: one number for all, or one each.
    Dropout is off while it runs.
    """
    if beam < 1 or length_penalty < 0:
        raise ValueError(
            "Expected a beam of 1 or more and a length_penalty of 0 (the bare sum) or more, "
            f"but got {beam} and {length_penalty}."
        )
    sources = [_Source(limit, beam, length_penalty) for limit in limits(max_len, memory, system.config)]
    device = next(iter(memory.values())).device
    going = list(range(len(sources)))  # the sources that are still searched
    said = torch.full((len(going), 1), BOS, device=device)  # each open sentence; those of a source together
    sums = torch.zeros(len(going), 1, device=device)  # (sources, open sentences)
    with eval_mode(system), torch.inference_mode():
        source, state = memory, system.start(memory)
        for length in range(1, max(one.limit for one in sources) + 1):
            logits, state, _ = system.step(source, state, said[:, -1])
            n_before = sums.shape[1]
            # 1. All continuations, best first. At most one of each open sentence has ended.
            sums, parent, token = _continuations(sums, next_words(logits), 2 * beam)
            ended = token == EOS
            # 2. The finished ones, written down; a stable sort brings the others to the front in their order.
            if ended[:, :beam].any():
                which = ended[:, :beam].nonzero(as_tuple=True)
                words, totals = said[parent[which], 1:].tolist(), sums[which].tolist()
                for place, before, total in zip(which[0].tolist(), words, totals, strict=True):
                    sources[going[place]].finish([*before, EOS], total)
                order = ended.to(torch.uint8).argsort(dim=1, stable=True)
                sums, parent, token = (each.gather(1, order) for each in (sums, parent, token))
            # 3. The best that stay open.
            n_open = min(beam, sums.shape[1] - n_before)
            sums, parent, token = (each[:, :n_open] for each in (sums, parent, token))
            # 4. The sources for which it is not over.
            left = []
            for place, (row, total) in enumerate(zip(going, sums[:, 0].tolist(), strict=True)):
                if length == sources[row].limit and not sources[row].n_finished:
                    cut_off = [*said[parent[place, 0], 1:].tolist(), int(token[place, 0])]
                    sources[row].finish(cut_off, total)
                if length < sources[row].limit and sources[row].may_improve(total):
                    left.append(place)
            if not left:
                break
            fewer = len(left) < len(going)
            if fewer:
                going = [going[place] for place in left]
                sums, parent, token = (each[left] for each in (sums, parent, token))
            if fewer or beam > 1:
                said, state = said[parent.flatten()], take(state, parent.flatten())
            if fewer or n_open != n_before:
                source = take(memory, torch.tensor(going, device=device).repeat_interleave(n_open))
            said = torch.cat([said, token.reshape(-1, 1)], dim=1)
    # Made out here, these are ordinary tensors, which may be used with gradients.
    longest = max(len(one.ids) for one in sources)
    ids = torch.tensor([one.ids + [PAD] * (longest - len(one.ids)) for one in sources], device=device)
    scores = torch.tensor([one.score for one in sources], device=device)
    weights = weights_behind(system, memory, ids) if with_weights else None
    return Hypotheses(ids, scores, weights)


class _Source:
    """The best finished sentence for one source, and how many are finished."""

    def __init__(self, limit: int, beam: int, length_penalty: float):
        self.limit, self.beam, self.length_penalty = limit, beam, length_penalty
        self.ids: list[int] = []
        self.score = -math.inf
        self.n_finished = 0

    def finish(self, ids: list[int], log_prob: float) -> None:
        """One more sentence. An impossible one does not count, and stays only while there is no other."""
        score = log_prob / penalty_for(len(ids), length_penalty=self.length_penalty)
        self.n_finished += log_prob > -math.inf
        if score > self.score or not self.ids:
            self.ids, self.score = ids, score

    def may_improve(self, best_open: float) -> bool:
        """Whether the search shall go on, when this is the sum of the best open sentence."""
        can_reach = best_open / penalty_for(self.limit, length_penalty=self.length_penalty)
        return not (self.n_finished >= self.beam or self.score >= can_reach)


def _continuations(
    sums: Float[Tensor, "sources open"], log_probs: Float[Tensor, "hypotheses vocab"], most: int
) -> tuple[Float[Tensor, "sources best"], Int[Tensor, "sources best"], Int[Tensor, "sources best"]]:
    """The best continuations of each source's open sentences: their sums, which they continue, by what."""
    (n_sources, n_open), vocab = sums.shape, log_probs.shape[1]
    every = (sums[..., None] + log_probs.view(n_sources, n_open, vocab)).flatten(1)
    sums, place = every.topk(min(most, n_open * vocab), dim=1)
    first = n_open * torch.arange(n_sources, device=place.device)
    return sums, first[:, None] + place // vocab, place % vocab


def penalty_for(lengths: int | Int[Tensor, "..."], *, length_penalty: float) -> float | Float[Tensor, "..."]:
    """What a sum of log-probabilities is divided by; 1 for a sentence of one token."""
    return ((5 + lengths) / 6) ** length_penalty


def next_words(logits: Float[Tensor, "rows vocab"]) -> Float[Tensor, "rows vocab"]:
    """Log-probabilities, in full precision, of what may come next: any word, or EOS.

    >>> next_words(torch.tensor([[9.0, 9.0, 9.0, 0.0, 0.0]])).round(decimals=1)     # EOS, then a word
    tensor([[    -inf,     -inf,     -inf, -10.1000, -10.1000]])
    """
    return suppress(logits.float().log_softmax(dim=-1))


def suppress(scores: Float[Tensor, "rows vocab"]) -> Float[Tensor, "rows vocab"]:
    """The same tensor, where PAD, UNK and BOS have become impossible."""
    scores[:, : max(NEVER_SAID) + 1] = -torch.inf  # they are the first three
    return scores


def limits(max_len: int | Int[Tensor, " batch"], memory: Rows, config: Config) -> list[int]:
    """For each sentence how many tokens it may have, EOS among them.

    >>> limits(5, {"hidden": torch.zeros(2, 1)}, Config(vocab_size=9))
    [5, 5]
    """
    n_rows = len(next(iter(memory.values())))
    found = max_len.tolist() if isinstance(max_len, Tensor) else [max_len] * n_rows
    if len(found) != n_rows or min(found) < 1 or max(found) > config.max_len:
        raise ValueError(
            f"Expected a max_len from 1 to {config.max_len}, for which this system was built, one for all or "
            f"one for each of the {n_rows} sentences, but got {max_len}."
        )
    return found


def weights_behind(
    system: Translator, memory: Rows, ids: Int[Tensor, "batch tgt"]
) -> Float[Tensor, "batch layers heads tgt src"] | None:
    """Where each step looked that said these words; None for a system that does not attend.

    The search itself asks for no weights, so the systems may use their fused attention. When the words are
    known, one pass with teacher forcing gives the weights of every step: `step` and `decode` agree.
    """
    if not system.attends:
        return None
    with eval_mode(system), torch.inference_mode():
        _, weights = system.decode(memory, read_before(ids), with_weights=True)
    return weights.masked_fill((ids == PAD)[:, None, None, :, None], 0.0)


def read_before(ids: Int[Tensor, "batch tgt"]) -> Int[Tensor, "batch tgt"]:
    """What the decoder had read last at the step that said each word: BOS, then the words themselves.

    >>> read_before(torch.tensor([[7, 8, EOS]]))
    tensor([[2, 7, 8]])
    """
    return torch.cat([torch.full_like(ids[:, :1], BOS), ids[:, :-1]], dim=1)
