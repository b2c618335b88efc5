"""Beam search: extend each of the `beam` best open hypotheses by every token, keep the best, and repeat.

    hypotheses = beam_search(system, memory, beam=5, max_len=40, length_penalty=0.6)
    hypotheses.ids, hypotheses.scores                       # tokens, EOS, then PAD; the best for each source
    greedy(system, memory, max_len=40)                      # a beam of one: no token is ever revised

A sum of log-probabilities falls with every token, so the unnormalised sum favours short sentences. As in GNMT
(Wu et al. 2016), a finished hypothesis is ranked by its sum divided by ((5 + length) / 6)^length_penalty,
where the length includes EOS:

    >>> penalty_for(torch.tensor([1, 7, 13]), length_penalty=1.0)     # 0 would leave the sum unchanged
    tensor([1., 2., 3.])

The algorithm, which treats each source separately although all share one batch:

1. Extend each open hypothesis by every word and by EOS, and rank all extensions by their sums.
2. An extension among the best `beam` that ends in EOS is finished. A hypothesis that reaches its length limit
   is truncated and counts only if no other is finished, because its sum doesn't include the cost of EOS.
3. The best `beam` extensions without EOS stay open.
4. Stop when `beam` hypotheses are finished, or when the best open one can't overtake the best finished one.
   Sums only fall, so its score can't exceed its current sum divided by the penalty of the maximum length.

PAD, BOS and UNK are never generated; where UNK would win, the most probable known word is taken instead.
Probabilities aren't renormalised, so a score is the system's own log-probability.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from course_lib.layers.rows import Rows, take
from course_lib.models.config import Config
from course_lib.models.inference import eval_mode
from course_lib.models.translator import Translator
from course_lib.shapes import Float, Int, Tensor
from course_lib.text.special import BOS, EOS, PAD, UNK

NEVER_GENERATED = (PAD, UNK, BOS)


@dataclass(frozen=True, eq=False)
class Hypotheses:
    """The best hypothesis for each source: tokens up to EOS, then PAD.

    `scores` are the log-probabilities that `decode` would assign to these tokens, summed and divided by the
    length penalty. Row t of the attention `weights` belongs to the step that generates token t; 0 at PAD.
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
    """Take the most probable token at each step: beam search with a beam of one, in a plain loop.

    Finished rows stay in the batch, so every row of `memory` keeps its index.
    """
    device = next(iter(memory.values())).device
    limit = torch.tensor(limits(max_len, memory, system.config), device=device)
    token, ended = torch.full_like(limit, BOS), torch.zeros_like(limit, dtype=torch.bool)
    sums, ids = torch.zeros(len(limit), device=device), []
    with eval_mode(system), torch.inference_mode():
        state = system.start(memory)
        for length in range(1, int(limit.max()) + 1):
            logits, state, _ = system.step(memory, state, token)
            log_probs, token = next_log_probs(logits).max(dim=1)
            sums, token = sums + log_probs.masked_fill(ended, 0.0), token.masked_fill(ended, PAD)
            ids.append(token)
            ended = ended | (token == EOS) | (length >= limit)
            if ended.all():
                break
    # Created outside inference mode, so that these tensors can be used with autograd.
    tokens = torch.stack(ids, dim=1).clone()
    scores = sums / penalty_for((tokens != PAD).sum(dim=1), length_penalty=length_penalty)
    return Hypotheses(tokens, scores, attention_weights(system, memory, tokens) if with_weights else None)


def beam_search(
    system: Translator,
    memory: Rows,
    *,
    beam: int,
    max_len: int | Int[Tensor, " batch"],
    length_penalty: float = 0.6,
    with_weights: bool = False,
) -> Hypotheses:
    """Find the best hypothesis for every row of `memory`.

    A hypothesis ends with EOS, or without it after `max_len` tokens (one limit for all rows, or one per row).
    Dropout is disabled during the search.
    """
    if beam < 1 or length_penalty < 0:
        raise ValueError(
            "Expected a beam of 1 or more and a length_penalty of 0 (no penalty) or more, "
            f"but got {beam} and {length_penalty}."
        )
    sources = [_Source(limit, beam, length_penalty) for limit in limits(max_len, memory, system.config)]
    device = next(iter(memory.values())).device
    active = list(range(len(sources)))  # the sources whose search continues
    prefixes = torch.full((len(active), 1), BOS, device=device)  # (active sources · open hypotheses, length)
    sums = torch.zeros(len(active), 1, device=device)  # (active sources, open hypotheses)
    with eval_mode(system), torch.inference_mode():
        active_memory, state = memory, system.start(memory)
        for length in range(1, max(source.limit for source in sources) + 1):
            logits, state, _ = system.step(active_memory, state, prefixes[:, -1])
            n_before = sums.shape[1]
            # 1. All extensions, best first. At most one extension of each open hypothesis ends.
            sums, parent, token = _best_extensions(sums, next_log_probs(logits), 2 * beam)
            ended = token == EOS
            # 2. Record the finished ones; a stable sort moves the others to the front in their order.
            if ended[:, :beam].any():
                finished = ended[:, :beam].nonzero(as_tuple=True)
                outputs, totals = prefixes[parent[finished], 1:].tolist(), sums[finished].tolist()
                for index, output, total in zip(finished[0].tolist(), outputs, totals, strict=True):
                    sources[active[index]].finish([*output, EOS], total)
                order = ended.to(torch.uint8).argsort(dim=1, stable=True)
                sums, parent, token = (tensor.gather(1, order) for tensor in (sums, parent, token))
            # 3. The best of those that stay open.
            n_open = min(beam, sums.shape[1] - n_before)
            sums, parent, token = (tensor[:, :n_open] for tensor in (sums, parent, token))
            # 4. The sources whose search continues.
            remaining = []
            for index, (row, total) in enumerate(zip(active, sums[:, 0].tolist(), strict=True)):
                if length == sources[row].limit and not sources[row].n_finished:
                    truncated = [*prefixes[parent[index, 0], 1:].tolist(), int(token[index, 0])]
                    sources[row].finish(truncated, total)
                if length < sources[row].limit and sources[row].can_improve(total):
                    remaining.append(index)
            if not remaining:
                break
            fewer = len(remaining) < len(active)
            if fewer:
                active = [active[index] for index in remaining]
                sums, parent, token = (tensor[remaining] for tensor in (sums, parent, token))
            if fewer or beam > 1:
                prefixes, state = prefixes[parent.flatten()], take(state, parent.flatten())
            if fewer or n_open != n_before:
                active_memory = take(memory, torch.tensor(active, device=device).repeat_interleave(n_open))
            prefixes = torch.cat([prefixes, token.reshape(-1, 1)], dim=1)
    # Created outside inference mode, so that these tensors can be used with autograd.
    longest = max(len(source.ids) for source in sources)
    ids = torch.tensor(
        [source.ids + [PAD] * (longest - len(source.ids)) for source in sources], device=device
    )
    scores = torch.tensor([source.score for source in sources], device=device)
    weights = attention_weights(system, memory, ids) if with_weights else None
    return Hypotheses(ids, scores, weights)


class _Source:
    """The best finished hypothesis for one source, and the number of finished ones."""

    def __init__(self, limit: int, beam: int, length_penalty: float):
        self.limit, self.beam, self.length_penalty = limit, beam, length_penalty
        self.ids: list[int] = []
        self.score = -math.inf
        self.n_finished = 0

    def finish(self, ids: list[int], log_prob: float) -> None:
        """Add a finished hypothesis. One with probability 0 isn't counted, and any other replaces it."""
        score = log_prob / penalty_for(len(ids), length_penalty=self.length_penalty)
        self.n_finished += log_prob > -math.inf
        if score > self.score or not self.ids:
            self.ids, self.score = ids, score

    def can_improve(self, best_open: float) -> bool:
        """Whether a hypothesis could still win, given the sum of the best open one."""
        upper_bound = best_open / penalty_for(self.limit, length_penalty=self.length_penalty)
        return not (self.n_finished >= self.beam or self.score >= upper_bound)


def _best_extensions(
    sums: Float[Tensor, "sources open"], log_probs: Float[Tensor, "hypotheses vocab"], n: int
) -> tuple[Float[Tensor, "sources best"], Int[Tensor, "sources best"], Int[Tensor, "sources best"]]:
    """The n best extensions of each source's open hypotheses: their sums, parent rows and last tokens."""
    (n_sources, n_open), vocab = sums.shape, log_probs.shape[1]
    extensions = (sums[..., None] + log_probs.view(n_sources, n_open, vocab)).flatten(1)
    sums, index = extensions.topk(min(n, n_open * vocab), dim=1)
    first = n_open * torch.arange(n_sources, device=index.device)
    return sums, first[:, None] + index // vocab, index % vocab


def penalty_for(lengths: int | Int[Tensor, "..."], *, length_penalty: float) -> float | Float[Tensor, "..."]:
    """The divisor for a sum of log-probabilities; 1 for a single token."""
    return ((5 + lengths) / 6) ** length_penalty


def next_log_probs(logits: Float[Tensor, "rows vocab"]) -> Float[Tensor, "rows vocab"]:
    """Log-probabilities of the next token in float32; only words and EOS are possible.

    >>> next_log_probs(torch.tensor([[9.0, 9.0, 9.0, 0.0, 0.0]])).round(decimals=1)     # EOS, then a word
    tensor([[    -inf,     -inf,     -inf, -10.1000, -10.1000]])
    """
    return suppress(logits.float().log_softmax(dim=-1))


def suppress(scores: Float[Tensor, "rows vocab"]) -> Float[Tensor, "rows vocab"]:
    """Set the scores of PAD, UNK and BOS to -inf, in place."""
    scores[:, : max(NEVER_GENERATED) + 1] = -torch.inf  # the first three ids
    return scores


def limits(max_len: int | Int[Tensor, " batch"], memory: Rows, config: Config) -> list[int]:
    """The maximum number of tokens for each sentence, including EOS.

    >>> limits(5, {"hidden": torch.zeros(2, 1)}, Config(vocab_size=9))
    [5, 5]
    """
    n_rows = len(next(iter(memory.values())))
    lengths = max_len.tolist() if isinstance(max_len, Tensor) else [max_len] * n_rows
    if len(lengths) != n_rows or min(lengths) < 1 or max(lengths) > config.max_len:
        raise ValueError(
            f"Expected a max_len from 1 to {config.max_len}, the longest this system supports, as one number "
            f"or one for each of the {n_rows} sentences, but got {max_len}."
        )
    return lengths


def attention_weights(
    system: Translator, memory: Rows, ids: Int[Tensor, "batch tgt"]
) -> Float[Tensor, "batch layers heads tgt src"] | None:
    """The attention weights of the step that generated each token; None for a system without attention.

    The search itself requests no weights, so that systems can use fused attention. Once the tokens are known,
    one teacher-forced pass gives the attention weights of every step, since `step` and `decode` agree.
    """
    if not system.attends:
        return None
    with eval_mode(system), torch.inference_mode():
        _, weights = system.decode(memory, shift_right(ids), with_weights=True)
    return weights.masked_fill((ids == PAD)[:, None, None, :, None], 0.0)


def shift_right(ids: Int[Tensor, "batch tgt"]) -> Int[Tensor, "batch tgt"]:
    """The decoder's input at the step that generates each token: the ids shifted right, after BOS.

    >>> shift_right(torch.tensor([[7, 8, EOS]]))
    tensor([[2, 7, 8]])
    """
    return torch.cat([torch.full_like(ids[:, :1], BOS), ids[:, :-1]], dim=1)
