"""What is inside a trained Transformer: what each head is worth, how far scores spread, how alike words get.

with all_silent(model, names): ...   # several at once, called as `head_names` calls them: "cross 1.3"
switched_off(model, measure)         # the measure with each head silent in turn
with cut_by_row(model, heard): ...   # each row of a batch has heads of its own: many models in one run
read(model, src, may_look)           # the encoder under a mask of one's own, with its weights
say(model, memory, tgt_in)           # the decoder, with the weights of both its looks
spreads(model, batches)              # of the scores of each head, before the softmax
likeness(model, batches)             # of the words of a sentence, after each layer of the encoder
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial

import torch
from torch.nn import functional as F

from course_lib.layers.multi_head import MultiHead, join_heads, multi_head
from course_lib.layers.rows import Rows
from course_lib.models.transformer import Transformer
from course_lib.shapes import Bool, Float, Int, Tensor
from course_lib.text.batch import Batch
from course_lib.text.special import BOS, PAD
from course_lib.translation.search import next_words


def read(
    model: Transformer,
    src: Int[Tensor, "batch src"],
    may_look: Bool[Tensor, "..."],
    *,
    with_weights: bool = True,
) -> tuple[Float[Tensor, "batch src model"], Float[Tensor, "batch layers heads src src"] | None]:
    """The encoder's last states when its words may look only where the mask says; and where they looked."""
    x, positions = model.words.source(src), model.source_positions
    x, _, weights = model.encoder(
        positions.add(x), turn=positions.turn, may_look=may_look, with_weights=with_weights
    )
    return x, weights.get("own")


def say(
    model: Transformer, memory: Rows, tgt_in: Int[Tensor, "batch tgt"]
) -> tuple[Float[Tensor, "batch tgt vocab"], Rows]:
    """The logits of every step, and where it looked: at the target words ("own"), at the source ("cross")."""
    x, positions = model.words.target(tgt_in), model.target_positions
    x, _, weights = model.decoder(
        positions.add(x), turn=positions.turn, causal=True, source=memory, with_weights=True
    )
    return model.words.logits(x), weights


def attentions(model: Transformer) -> Iterator[tuple[str, int, MultiHead]]:
    """Every attention: its use, its layer, itself."""
    for layer, block in enumerate(model.encoder.blocks):
        yield "encoder", layer, block.attention
    for layer, block in enumerate(model.decoder.blocks):
        yield "decoder", layer, block.attention
        yield "cross", layer, block.cross


def head_names(model: Transformer) -> list[str]:
    """Every head as use, layer and number, both counted from 0: encoder 0.0 to cross 2.3, use by use."""
    found = [f"{use} {layer}.{head}" for use, layer, a in attentions(model) for head in range(a.n_heads)]
    return sorted(found, key=lambda name: ("encoder", "decoder", "cross").index(name.split()[0]))


def of_head(heads: MultiHead, head: int, n: int) -> slice:
    """Where a head stands among n numbers: those of all heads lie side by side."""
    width = n // heads.n_heads
    return slice(head * width, (head + 1) * width)


@contextmanager
def zeroed(parts: Sequence[Tensor]) -> Iterator[None]:
    """For a while these parts of weights are 0.

    >>> matrix = torch.ones(2, 2)
    >>> with zeroed([matrix[0]]):
    ...     print(matrix.tolist())
    [[0.0, 0.0], [1.0, 1.0]]
    >>> matrix.tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    parts = [part.detach() for part in parts]
    kept = [part.clone() for part in parts]
    try:
        for part in parts:
            part.zero_()
        yield
    finally:
        for part, before in zip(parts, kept, strict=True):
            part.copy_(before)


def all_silent(model: Transformer, names: Iterable[str]) -> AbstractContextManager[None]:
    """The heads of these names say nothing for a while: their columns of W_O are 0."""
    columns = {
        f"{use} {layer}.{head}": heads.w_output[:, of_head(heads, head, heads.w_output.shape[1])]
        for use, layer, heads in attentions(model)
        for head in range(heads.n_heads)
    }
    return zeroed([columns[name] for name in names])


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
            with all_silent(model, [f"{use} {layer}.{head}"]):
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
            real = (asked != PAD)[:, None, None, :, None] & (weights > 0)  # (…, layers, heads, queries, keys)
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
            others = ~torch.eye(real.shape[1], dtype=torch.bool, device=real.device)
            two = real[:, :, None] & real[:, None, :] & others
            n_pairs += int(two.sum())
            for place, state in enumerate(states):
                unit = F.normalize(state.float(), dim=-1)
                total[place] += (unit @ unit.mT)[two].sum().double().cpu()
    finally:
        for hook in hooks:
            hook.remove()
    return (total / n_pairs).tolist()
