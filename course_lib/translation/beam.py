"""Beam search: keep the `beam` best open sentences, let each go on with every word, keep the best again.

    found = beam_search(system, memory, beam=5, max_len=40, length_penalty=0.6)
    found.best.ids, found.scores                            # best first

A sum of log-probabilities falls with every word, so the bare sum likes short sentences. As in GNMT (Wu et
al. 2016) a finished sentence is ranked by its sum divided by ((5 + length) / 6)^length_penalty, EOS counted:

    >>> penalty_for(torch.tensor([1, 7, 13]), length_penalty=1.0)     # 0 would leave the sum as it is
    tensor([1., 2., 3.])

How it goes, for each source on its own though all are worked on together:

1. Each open sentence is continued by its best `beam` words and by EOS; all these are ranked by their sums.
2. A sentence among the best `beam` that has ended is finished. One that reaches its limit is cut off there,
   and ranks behind every finished one: it never had to pay for its end.
3. The best `beam` that have not ended stay open.
4. It is over when `beam` sentences are finished, or when not even the best open one can overtake: sums only
   fall, so its score can at best be its sum now, divided by the penalty of the longest length allowed.

With a beam of 1 this is greedy decoding, to the letter.
"""

from __future__ import annotations

import torch

from course_lib.layers.rows import Rows, repeat, take
from course_lib.models.translator import Translator
from course_lib.shapes import Bool, Float, Int, Tensor
from course_lib.text.special import BOS, EOS, PAD
from course_lib.translation.decoded import NBest, longest
from course_lib.translation.searching import asks, in_order, limits, next_words, ordinary, resting, split_done
from course_lib.translation.weights import weights_behind


def penalty_for(lengths: Int[Tensor, "..."], *, length_penalty: float) -> Float[Tensor, "..."]:
    """What a sum of log-probabilities is divided by; 1 for a sentence of one token."""
    return ((5 + lengths) / 6) ** length_penalty


def beam_search(
    system: Translator,
    memory: Rows,
    *,
    beam: int,
    max_len: int | Int[Tensor, " batch"],
    length_penalty: float = 0.6,
    n_best: int = 1,
    with_weights: bool = False,
) -> NBest:
    """The best `n_best` sentences that a search of this width finds, for every row of `memory`.

    Limits, words never said and dropout are as in `greedy`. The weights are those of the best sentence.
    """
    if not 1 <= n_best <= beam:
        raise ValueError(f"Expected a beam of 1 or more and n_best from 1 to it, got {beam} and {n_best}.")
    if length_penalty < 0:
        raise ValueError(f"Expected length_penalty of 0 (the bare sum) or more, but got {length_penalty}.")
    limit, n_steps = limits(max_len, memory, system.config)
    search = _begin(limit, n_steps, beam, n_best)
    with resting(system), torch.inference_mode():
        source, ready = repeat(memory, beam), []
        state = system.start(source)
        for step in range(n_steps):
            logits, state, _ = system.step(source, state, search["token"].flatten())
            search, parents = _advance(search, *next_words(logits), step, length_penalty)
            state = take(state, parents)  # the source is the same for all that descend from it
            if asks(step, limit.device) and (split := split_done(search)):
                going, done = split
                ready.append(take(search, done))
                hypotheses = _hypotheses(going, beam)
                search, state, source = take(search, going), take(state, hypotheses), take(source, hypotheses)
                if len(going) == 0:
                    break
        found = in_order([*ready, search])
        ids = found["best_ids"][..., : longest(found["best_ids"])]
        best = ids[:, 0, : longest(ids[:, 0])]
        weights = weights_behind(system, memory, best) if with_weights else None
    return NBest(*map(ordinary, (ids, found["best_scores"], found["best_log_probs"], weights)))


def _begin(limit: Int[Tensor, " batch"], n_steps: int, beam: int, n_best: int) -> Rows:
    """Nothing said, nothing found. All open sentences are alike, so only the first one counts."""
    batch, device = len(limit), limit.device
    log_probs = torch.full((batch, beam), -torch.inf, device=device)
    log_probs[:, 0] = 0.0
    return {
        "row": torch.arange(batch, device=device),
        "limit": limit,
        "done": torch.zeros(batch, dtype=torch.bool, device=device),
        "n_finished": torch.zeros(batch, dtype=torch.int64, device=device),
        "ids": torch.full((batch, beam, n_steps), PAD, device=device),
        "log_probs": log_probs,
        "token": torch.full((batch, beam), BOS, device=device),
        "best_ids": torch.full((batch, n_best, n_steps), PAD, device=device),
        "best_log_probs": torch.full((batch, n_best), -torch.inf, device=device),
        "best_scores": torch.full((batch, n_best), -torch.inf, device=device),
    }


def _advance(
    search: Rows,
    words: Float[Tensor, "hypotheses vocab"],
    ending: Float[Tensor, " hypotheses"],
    step: int,
    length_penalty: float,
) -> tuple[Rows, Int[Tensor, " hypotheses"]]:
    """One step for all sources: the new search, and which row of the state each open sentence needs."""
    batch, beam = search["log_probs"].shape
    log_probs, parent, token = _continuations(search["log_probs"], words, ending)

    ended = token == EOS
    at_limit = search["limit"] == step + 1
    finished = (ended | at_limit[:, None])[:, :beam] & ~search["done"][:, None]
    finished = finished & log_probs[:, :beam].isfinite()
    ids = _gather(search["ids"], parent)
    ids[..., step] = token
    best = _keep_best(
        search, finished, ended[:, :beam], ids[:, :beam], log_probs[:, :beam], step, length_penalty
    )

    # A stable sort brings the open ones to the front and leaves them in their order.
    open_ones = ended.to(torch.uint8).argsort(dim=1, stable=True)[:, :beam]
    log_probs, parent, token = (each.gather(1, open_ones) for each in (log_probs, parent, token))
    n_finished = search["n_finished"] + finished.sum(dim=1)
    can_reach = log_probs[:, 0] / penalty_for(search["limit"], length_penalty=length_penalty)
    beaten = best["best_scores"][:, -1] >= can_reach
    new = {
        **search,
        **best,
        "ids": _gather(ids, open_ones),
        "log_probs": log_probs,
        "token": token,
        "n_finished": n_finished,
        "done": search["done"] | at_limit | beaten | (n_finished >= beam),
    }
    return new, (torch.arange(batch, device=parent.device)[:, None] * beam + parent).flatten()


def _continuations(
    so_far: Float[Tensor, "batch beam"],
    words: Float[Tensor, "hypotheses vocab"],
    ending: Float[Tensor, " hypotheses"],
) -> tuple[
    Float[Tensor, "batch candidates"], Int[Tensor, "batch candidates"], Int[Tensor, "batch candidates"]
]:
    """The best 2 · beam of all continuations: their sums, whom they continue, and by what.

    At most `beam` of them have ended, one for each open sentence, so `beam` go on.
    """
    batch, beam = so_far.shape
    width = min(beam, words.shape[1])
    # Greedy's own operation where it must give the same word, of equally likely ones too.
    best, word = words.max(dim=1, keepdim=True) if beam == 1 else words.topk(width, dim=1)
    # (batch · beam, width) and (batch · beam, 1) → (batch, beam · width + beam): words first, then the ends
    goes_on = so_far[..., None] + best.view(batch, beam, width)
    sums = torch.cat([goes_on.flatten(1), so_far + ending.view(batch, beam)], dim=1)
    # Stable: of equal sums the one further to the left comes first, so a word before EOS.
    sums, order = (each[:, : 2 * beam] for each in sums.sort(dim=1, descending=True, stable=True))
    n_words = beam * width
    is_word = order < n_words
    parent = torch.where(is_word, order // width, order - n_words)
    token = torch.where(is_word, word.view(batch, n_words).gather(1, order.clamp(max=n_words - 1)), EOS)
    return sums, parent, token


def _keep_best(
    search: Rows,
    finished: Bool[Tensor, "batch beam"],
    ended: Bool[Tensor, "batch beam"],
    ids: Int[Tensor, "batch beam tgt"],
    log_probs: Float[Tensor, "batch beam"],
    step: int,
    length_penalty: float,
) -> Rows:
    """The best finished sentences, when these have joined."""
    n_best = search["best_scores"].shape[1]
    scores = log_probs / penalty_for(torch.tensor(step + 1), length_penalty=length_penalty)
    scores = torch.cat([search["best_scores"], scores.masked_fill(~finished, -torch.inf)], dim=1)
    # Those found before have ended, for a source's limit is its last step. Afterwards nothing changes.
    cut_off = torch.cat([torch.zeros_like(search["best_scores"], dtype=torch.bool), ~ended], dim=1)
    order = scores.argsort(dim=1, descending=True, stable=True)
    ranks = cut_off.to(torch.uint8) + 2 * scores.isinf()  # what is not there at all comes last
    order = order.gather(1, ranks.gather(1, order).argsort(dim=1, stable=True))[:, :n_best]
    order = torch.where(search["done"][:, None], torch.arange(n_best, device=order.device), order)
    return {
        "best_scores": scores.gather(1, order),
        "best_log_probs": torch.cat([search["best_log_probs"], log_probs], dim=1).gather(1, order),
        "best_ids": _gather(torch.cat([search["best_ids"], ids], dim=1), order),
    }


def _gather(ids: Int[Tensor, "batch beam tgt"], which: Int[Tensor, "batch chosen"]) -> Tensor:
    """The chosen sentences of each source."""
    return ids.gather(1, which[..., None].expand(-1, -1, ids.shape[2]))


def _hypotheses(sources: Int[Tensor, " going"], beam: int) -> Int[Tensor, " hypotheses"]:
    """The rows of a state that belong to these sources.

    >>> _hypotheses(torch.tensor([0, 2]), beam=3)
    tensor([0, 1, 2, 6, 7, 8])
    """
    return (sources[:, None] * beam + torch.arange(beam, device=sources.device)).flatten()
