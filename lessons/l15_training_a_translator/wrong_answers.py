"""Answers to the exercises of lesson 15 as learners write them, wrong and right.

A wrong answer is followed by the slip that the verdict must name; None if it may name none.
"""

import math
import random

import torch
import torch.nn.functional as F

from lessons.l15_training_a_translator.clipping import clipped
from lessons.l15_training_a_translator.merges import count_pairs, merge

# ---- what several answers share


def clip_to_1(gradients):
    return clipped(gradients, 1.0)


def gradients_by_backward(weights, loss_of):
    ready = {name: w.detach().clone().requires_grad_() for name, w in weights.items()}
    loss = loss_of(ready)
    loss.backward()
    return loss.item(), [w.grad for w in ready.values()]


def adam(
    weights,
    gradients,
    memory,
    step,
    rate,
    *,
    clip=clip_to_1,
    correct=lambda m, v, step: (m / (1 - 0.9**step), v / (1 - 0.98**step)),
    change=lambda m, v: m / (v**0.5 + 1e-9),
    sign=1.0,
):
    """New weights and new memory."""
    weights, memory = dict(weights), dict(memory)
    for name, g in zip(list(weights), clip(gradients), strict=True):
        m, v = memory.get(name, (0 * g, 0 * g))
        m, v = 0.9 * m + 0.1 * g, 0.98 * v + 0.02 * g**2
        memory[name] = (m, v)
        weights[name] = weights[name] - sign * rate * change(*correct(m, v, step))
    return weights, memory


def step_with(**changes):
    """A training step by `backward`, with these changes of Adam."""

    def step_by_backward(weights, loss_of, memory, step, rate):
        loss, gradients = gradients_by_backward(weights, loss_of)
        return loss, *adam(weights, gradients, memory, step, rate, **changes)

    return step_by_backward


def frequent_first(counts):
    return min(counts, key=lambda pair: (-counts[pair], pair))


def merge_with(count=count_pairs, choose=frequent_first):
    """A merge of the pair that is chosen by these counts."""

    def next_merge(words):
        best = choose(count(words))
        return best, {merge(word, best): n for word, n in words.items()}

    return next_merge


# ---- by_length


def batches_flat(lengths, room):
    return sorted(range(len(lengths)), key=lengths.__getitem__)


def batches_shuffled(lengths, room):
    batches = batches_with_a_row(lengths, room)
    return [random.choices(batch, k=len(batch)) for batch in batches]


def batches_from_both_ends(lengths, room):
    order = sorted(range(len(lengths)), key=lengths.__getitem__)
    mixed = [order[k // 2] if k % 2 == 0 else order[-1 - k // 2] for k in range(len(order))]
    batches = []
    for i in mixed:
        if batches and (len(batches[-1]) + 1) * max(lengths[j] for j in [*batches[-1], i]) <= room:
            batches[-1].append(i)
        else:
            batches.append([i])
    return batches


def batches_of_equal_size(lengths, room):
    rows = room // max(lengths, default=1)
    order = sorted(range(len(lengths)), key=lengths.__getitem__)
    return [order[k : k + rows] for k in range(0, len(order), rows)]


def batches_of_tensors(lengths, room):
    return [torch.tensor(batch) for batch in batches_with_a_row(lengths, room)]


def batches_shortest_down(lengths, room):
    order = sorted(range(len(lengths)), key=lambda i: lengths[i], reverse=True)
    batches = []
    while order:
        n = max(room // lengths[order[0]], 1)
        batches.append(order[:n])
        order = order[n:]
    return batches


def batches_with_a_row(lengths, room):
    out = []
    for i in sorted(range(len(lengths)), key=lambda i: lengths[i]):
        if out and (len(out[-1]) + 1) * lengths[i] <= room:
            out[-1].append(i)
        else:
            out.append([i])
    return out


def batches_by_zip(lengths, room):
    rows, batch, out = sorted(zip(lengths, range(len(lengths)), strict=True)), [], []
    for length, i in rows:
        if batch and (len(batch) + 1) * length > room:
            out.append(tuple(batch))
            batch = []
        batch.append(i)
    if batch:
        out.append(tuple(batch))
    return out


# ---- paper_rate


def rate_with(
    choose=min, width=lambda d: 1 / math.sqrt(d), up=lambda s, w: s / w**1.5, down=lambda s: s**-0.5
):
    """The formula with another choice or another factor."""
    return lambda step, d_model, warm_up: width(d_model) * choose(up(step, warm_up), down(step))


def rate_by_if(step, d_model, warm_up):
    if step < warm_up:
        return step / warm_up**1.5 / math.sqrt(d_model)
    return 1 / math.sqrt(step * d_model)


def rate_by_peak(step, d_model, warm_up):
    peak = (d_model * warm_up) ** -0.5
    return peak * min(step / warm_up, (warm_up / step) ** 0.5)


def rate_by_torch(step, d_model, warm_up):
    both = torch.tensor([step**-0.5, step * warm_up**-1.5], dtype=torch.float64)
    return float(both.min() * d_model**-0.5)


# ---- smoothed_loss


def loss_twice(logits, targets, smoothing):
    return F.cross_entropy(
        logits.softmax(dim=-1).flatten(0, 1), targets.flatten(), label_smoothing=smoothing, ignore_index=0
    )


def loss_cut_off(logits, targets, smoothing):
    return F.cross_entropy(logits.mT, targets, label_smoothing=smoothing, ignore_index=0).detach()


def loss_number(logits, targets, smoothing):
    return loss_by_torch(logits, targets, smoothing).item()


def loss_right_word_detached(logits, targets, smoothing):
    logs = logits.log_softmax(-1)
    right = logs.gather(-1, targets[..., None])[..., 0].detach()
    return (-(1 - smoothing) * right - smoothing * logs.mean(-1))[targets != 0].mean()


def loss_clamped(logits, targets, smoothing):
    logs = logits.softmax(-1).clamp(min=1e-9).log()
    return loss_with(lambda logits, dim: logs)(logits, targets, smoothing)


def loss_by_torch(logits, targets, smoothing):
    return F.cross_entropy(logits.mT, targets, label_smoothing=smoothing, ignore_index=0)


def loss_by_one_hot(logits, targets, smoothing):
    n = logits.shape[-1]
    wanted = (1 - smoothing) * F.one_hot(targets, n) + smoothing / n
    losses = -(wanted * logits.log_softmax(-1)).sum(-1)
    real = (targets != 0).float()
    return (losses * real).sum() / real.sum()


def loss_by_loop(logits, targets, smoothing):
    logs, found = logits.log_softmax(dim=-1), []
    for row, wanted in zip(logs.flatten(0, 1), targets.flatten().tolist(), strict=True):
        if wanted:
            found.append(-(1 - smoothing) * row[wanted] - smoothing * row.mean())
    return sum(found) / len(found)


# ---- training_step


def step_no_loss(weights, loss_of, memory, step, rate):
    _, gradients = gradients_by_backward(weights, loss_of)
    return adam(weights, gradients, memory, step, rate)


def step_stacks_memory(weights, loss_of, memory, step, rate):
    loss, new, kept = step_with()(weights, loss_of, memory, step, rate)
    return loss, new, {name: torch.stack(pair) for name, pair in kept.items()}


def step_in_place(weights, loss_of, memory, step, rate):
    loss, new, kept = step_with()(weights, loss_of, memory, step, rate)
    for name, w in weights.items():
        w.copy_(new[name])
    return loss, weights, kept


def step_from_ready(weights, loss_of, memory, step, rate):
    """Subtracts from the tensors that record gradients; the caller detaches them."""
    ready = {name: w.detach().requires_grad_() for name, w in weights.items()}
    loss = loss_of(ready)
    gradients = list(torch.autograd.grad(loss, list(ready.values())))
    return loss.item(), *adam(ready, gradients, memory, step, rate)


def step_by_torch(weights, loss_of, memory, step, rate):
    ready = {name: w.detach().clone().requires_grad_() for name, w in weights.items()}
    adam = torch.optim.Adam(ready.values(), lr=rate, betas=(0.9, 0.98), eps=1e-9)
    for name, w in ready.items():
        m, v = memory.get(name, (0 * w.detach(), 0 * w.detach()))
        adam.state[w] = {
            "step": torch.tensor(step - 1.0),
            "exp_avg": m.clone(),
            "exp_avg_sq": v.clone(),
        }
    loss = loss_of(ready)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(ready.values(), 1.0)
    adam.step()
    kept = {name: (adam.state[w]["exp_avg"], adam.state[w]["exp_avg_sq"]) for name, w in ready.items()}
    return float(loss), {name: w.detach() for name, w in ready.items()}, kept


def step_with_lerp(weights, loss_of, memory, step, rate):
    ready = {name: w.detach().requires_grad_() for name, w in weights.items()}
    loss = loss_of(ready)
    gradients = dict(
        zip(ready, clip_to_1(list(torch.autograd.grad(loss, list(ready.values())))), strict=True)
    )
    none = {name: (torch.zeros_like(w), torch.zeros_like(w)) for name, w in weights.items()}
    memory = {name: (none | memory)[name] for name in weights}
    new = {n: (memory[n][0].lerp(g, 0.1), memory[n][1].lerp(g * g, 0.02)) for n, g in gradients.items()}
    factor = rate * math.sqrt(1 - 0.98**step) / (1 - 0.9**step)
    moved = {n: w - factor * new[n][0] / (new[n][1].sqrt() + 1e-9) for n, w in weights.items()}
    return loss.item(), moved, new


# ---- next_merge


def merge_as_list(words):
    best, merged = merge_with()(words)
    return list(best), merged


def merge_in_place(words):
    best = frequent_first(count_pairs(words))
    for word in list(words):
        words[merge(word, best)] = words.pop(word)
    return best, words


def merge_pair_only(words):
    return frequent_first(count_pairs(words))


def merge_sorted_first(words):
    counts = {}
    for word, n in words.items():
        for i in range(len(word) - 1):
            pair = word[i], word[i + 1]
            counts[pair] = counts.get(pair, 0) + n
    best = max(sorted(counts), key=lambda pair: counts[pair])
    new = {}
    for word, n in words.items():
        new[merge(word, best)] = n
    return best, new


def loss_with(logits_to_logs=F.log_softmax, spread=None, join=None):
    """The smoothed loss with another first step, another share of ε for each word, or another mean."""

    def loss(logits, targets, smoothing):
        logs, real = logits_to_logs(logits, dim=-1), targets != 0
        right = torch.gather(logs, 2, targets.unsqueeze(2)).squeeze(2)
        each = smoothing * (spread or 1 / logits.shape[-1])
        losses = (smoothing - 1) * right - each * logs.sum(2)
        return join(losses, real) if join else losses[real].mean()

    return loss


WRONG = {
    "by_length": [
        (lambda lengths, room: [[float(i) for i in b] for b in batches_with_a_row(lengths, room)], None),
        (batches_from_both_ends, None),
        (batches_of_equal_size, "are enough"),  # one long sentence makes every batch small
        (batches_flat, None),
        (batches_shuffled, None),
    ],
    "paper_rate": [
        (rate_with(down=lambda s: s**-0.25), None),
    ],
    "smoothed_loss": [
        (loss_twice, "softmax-twice"),
        (loss_clamped, None),
        (loss_cut_off, "no-gradient"),
        (loss_number, "no-gradient"),
        (lambda logits, targets, smoothing: loss_by_torch(logits.double(), targets, smoothing), "wrong-form"),
        (loss_right_word_detached, "wrong-gradient"),
    ],
    "training_step": [
        (step_in_place, "in-place"),
        (step_stacks_memory, "wrong-form"),
        (step_no_loss, None),
    ],
    "next_merge": [
        (merge_in_place, "in-place"),
        (merge_as_list, None),
        (merge_pair_only, None),
    ],
}

RIGHT = {
    "by_length": [
        batches_shortest_down,
        batches_with_a_row,
        batches_by_zip,
        batches_of_tensors,
    ],
    "paper_rate": [rate_by_if, rate_by_peak, rate_by_torch],
    "smoothed_loss": [loss_by_torch, loss_by_one_hot, loss_by_loop],
    "training_step": [step_with(), step_by_torch, step_with_lerp, step_from_ready],
    "next_merge": [
        merge_with(),
        merge_with(choose=lambda c: min(pair for pair, n in c.items() if n == max(c.values()))),
        merge_sorted_first,
    ],
}
