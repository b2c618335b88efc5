"""What is inside a trained Transformer: what each head is worth, how far scores spread, how alike words get.

switched_off(model, measure)         # the measure with each head silent in turn
with all_silent(model, names): ...   # several at once, called as `head_names` calls them: "cross 1.3"
with cut_by_row(model, heard): ...   # each row of a batch has heads of its own: many models in one run
spreads(model, batches)              # of the scores of each head, before the softmax
likeness(model, batches)             # of the words of a sentence, after each layer of the encoder
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial

import torch
from torch import Tensor
from torch.nn import functional as F

from course_lib.layers.multi_head import MultiHead, join_heads, multi_head
from course_lib.layers.rows import Rows
from course_lib.models.transformer import Transformer
from course_lib.text.batch import Batch
from course_lib.text.special import BOS, PAD
from course_lib.translation.search import next_words


def attentions(model: Transformer) -> Iterator[tuple[str, int, MultiHead]]:
    """Every attention: its use, its layer, itself."""
    for layer, block in enumerate(model.encoder.blocks):
        yield "encoder", layer, block.attention
    for layer, block in enumerate(model.decoder.blocks):
        yield "decoder", layer, block.attention
        yield "cross", layer, block.cross


@contextmanager
def silent(heads: MultiHead, head: int) -> Iterator[None]:
    """One head says nothing: its columns of W_O are 0 for a while."""
    width = heads.w_output.shape[1] // heads.n_heads
    own = slice(head * width, (head + 1) * width)
    kept = heads.w_output[:, own].detach().clone()
    with torch.no_grad():
        heads.w_output[:, own] = 0.0
    try:
        yield
    finally:
        with torch.no_grad():
            heads.w_output[:, own] = kept


def head_names(model: Transformer) -> list[str]:
    """Every head as use, layer and number, both counted from 0: encoder 0.0 to cross 2.3, use by use."""
    found = [f"{use} {layer}.{head}" for use, layer, a in attentions(model) for head in range(a.n_heads)]
    return sorted(found, key=lambda name: ("encoder", "decoder", "cross").index(name.split()[0]))


@contextmanager
def all_silent(model: Transformer, names: Iterable[str]) -> Iterator[None]:
    """The heads of these names say nothing for a while."""
    found = {f"{use} {layer}": heads for use, layer, heads in attentions(model)}
    with ExitStack() as stack:
        for name in names:
            attention, head = name.rsplit(".", 1)
            stack.enter_context(silent(found[attention], int(head)))
        yield


@contextmanager
def cut_by_row(model: Transformer, heard: Tensor, *, wide: Tensor | None = None) -> Iterator[None]:
    """For a while each row of a batch has a model of its own, so that hundreds are tried in one run.

    Of its heads those are heard which `heard` (rows, attentions, heads) says, attentions in the order of
    `attentions`; of each query's numbers those count which `wide` (rows, d_k) says.
    """
    found = [heads for _, _, heads in attentions(model)]
    for heads, own in zip(found, heard.unbind(dim=1), strict=True):
        heads.look = partial(_look_cut, heads, own[..., None, None], wide)
    try:
        yield
    finally:
        for heads in found:
            del heads.look


def _look_cut(
    heads: MultiHead, heard: Tensor, wide: Tensor | None, query: Tensor, *source: Tensor, **options
):
    query = query if wide is None else query * wide[:, None, None]
    context, weights = multi_head(query, *source, **options)
    return F.linear(join_heads(context * heard), heads.w_output), weights


def said_by_row(model: Transformer, memory: Rows, *, max_len: int) -> Tensor:
    """As `greedy`, which sets finished sentences aside: here every row keeps its place, (rows, max_len)."""
    state, token, ids = model.start(memory), torch.full((len(memory["may_look"]),), BOS), []
    for _ in range(max_len):
        logits, state, _ = model.step(memory, state, token)
        token = next_words(logits).argmax(dim=1)
        ids.append(token)
    return torch.stack(ids, dim=1)


def switched_off(model: Transformer, measure: Callable[[], float]) -> list[dict]:
    """What is measured while one head is silent, for each head in turn."""
    found = []
    for use, layer, heads in attentions(model):
        for head in range(heads.n_heads):
            with silent(heads, head):
                found.append({"use": use, "layer": layer, "head": head, "measured": measure()})
    return found


@torch.no_grad()
def spreads(model: Transformer, batches: Iterable[Batch]) -> dict[str, list[list[float]]]:
    """For each use, by layer and head: the standard deviation of a query's scores over its keys, on average.

    Scores are read off the weights: the softmax adds one number to all scores of a query, so the logarithms
    of its weights spread as the scores did. Queries with fewer than three keys are left out.
    """
    sums: dict[str, Tensor] = {}
    counts: dict[str, int] = dict.fromkeys(("encoder", "decoder", "cross"), 0)
    for batch in batches:
        for use, weights in model.all_weights(batch.src, batch.src_lengths, batch.tgt_in).items():
            asked = batch.src if use == "encoder" else batch.tgt_in
            real = (asked != PAD)[:, None, None, :, None] & (
                weights > 0
            )  # (batch, layers, heads, queries, keys)
            n = real.sum(dim=-1)
            logs = torch.where(real, weights.clamp(min=1e-30).log(), 0.0).double()
            mean = logs.sum(dim=-1) / n.clamp(min=1)
            squares = torch.where(real, (logs - mean[..., None]).square(), 0.0).sum(dim=-1) / n.clamp(min=1)
            counted = n >= 3
            spread = torch.where(counted, squares.sqrt(), 0.0).sum(dim=(0, 3))
            sums[use] = sums.get(use, 0) + spread
            counts[use] += int(counted[:, 0, 0].sum())
    return {use: (total / counts[use]).tolist() for use, total in sums.items()}


@torch.no_grad()
def likeness(model: Transformer, batches: Iterable[Batch]) -> list[float]:
    """The mean cosine between two words of a sentence: as they enter the encoder, then after each layer."""
    states: list[Tensor] = []
    hooks = [
        model.encoder.blocks[0].register_forward_pre_hook(lambda block, given: states.append(given[0])),
        *(
            block.register_forward_hook(lambda block, given, out: states.append(out[0]))
            for block in model.encoder.blocks
        ),
    ]
    total, n_pairs = torch.zeros(len(hooks), dtype=torch.float64), 0
    try:
        for batch in batches:
            states.clear()
            model.encode(batch.src, batch.src_lengths)
            real = batch.src != PAD
            two = (
                real[:, :, None]
                & real[:, None, :]
                & ~torch.eye(real.shape[1], dtype=torch.bool, device=real.device)
            )
            n_pairs += int(two.sum())
            for place, state in enumerate(states):
                unit = F.normalize(state.float(), dim=-1)
                total[place] += (unit @ unit.mT)[two].sum().double().cpu()
    finally:
        for hook in hooks:
            hook.remove()
    return (total / n_pairs).tolist()
