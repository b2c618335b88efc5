"""Answers to the exercises of lesson 15 as learners write them, wrong and right.

A wrong answer is followed by the slip that the verdict must name; None if it may name none.
"""

import math
import random
from collections import Counter
from itertools import pairwise

import torch
import torch.nn.functional as F

from lessons.l15_training_a_translator.by_hand import clipped
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


def batches_unsorted(lengths, room):
    batches, batch = [], []
    for i in range(len(lengths)):
        if (len(batch) + 1) * max(lengths[j] for j in [*batch, i]) > room:
            batches.append(batch)
            batch = []
        batch.append(i)
    return batches + ([batch] if batch else [])


def batches_last_lost(lengths, room):
    batches, batch = [], []
    for i in sorted(range(len(lengths)), key=lengths.__getitem__):
        if (len(batch) + 1) * lengths[i] > room:
            batches.append(batch)
            batch = []
        batch.append(i)
    return batches


def batches_added_up(lengths, room):
    batches, batch, total = [], [], 0
    for i in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and total + lengths[i] > room:
            batches.append(batch)
            batch, total = [], 0
        batch.append(i)
        total += lengths[i]
    return batches + ([batch] if batch else [])


def batches_of_lengths(lengths, room):
    batches, batch = [], []
    for length in sorted(lengths):
        if (len(batch) + 1) * length > room:
            batches.append(batch)
            batch = []
        batch.append(length)
    return batches + ([batch] if batch else [])


def batches_single(lengths, room):
    return [[i] for i, _ in enumerate(lengths)]


def batches_one_too_many(lengths, room):
    batches, batch = [], []
    for i in sorted(range(len(lengths)), key=lengths.__getitem__):
        batch.append(i)
        if len(batch) * lengths[i] > room:
            batches.append(batch)
            batch = []
    return batches + ([batch] if batch else [])


def batches_flat(lengths, room):
    return sorted(range(len(lengths)), key=lengths.__getitem__)


def batches_before_the_row(lengths, room):
    batches, batch = [], []
    for i in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and len(batch) * lengths[i] > room:
            batches.append(batch)
            batch = []
        batch.append(i)
    return batches + ([batch] if batch else [])


def batches_strictly_below(lengths, room):
    batches = []
    for i in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batches and (len(batches[-1]) + 1) * lengths[i] < room:
            batches[-1].append(i)
        else:
            batches.append([i])
    return batches


def batches_down_by_the_last(lengths, room):
    batches = []
    for i in sorted(range(len(lengths)), key=lengths.__getitem__, reverse=True):
        if batches and (len(batches[-1]) + 1) * lengths[i] <= room:
            batches[-1].append(i)
        else:
            batches.append([i])
    return batches


def batches_of_equal_length(lengths, room):
    batches = []
    for length in sorted(set(lengths)):
        same, rows = [i for i, n in enumerate(lengths) if n == length], room // length
        batches += [same[k : k + rows] for k in range(0, len(same), rows)]
    return batches


def batches_last_again(lengths, room):
    batches = batches_with_a_row(lengths, room)
    return [*batches, batches[-1]] if batches else []


def batches_shuffled(lengths, room):
    batches = batches_with_a_row(lengths, room)
    return [random.choices(batch, k=len(batch)) for batch in batches]


def batches_from_1(lengths, room):
    batches = []
    for number, length in sorted(enumerate(lengths, start=1), key=lambda pair: pair[1]):
        if batches and (len(batches[-1]) + 1) * length <= room:
            batches[-1].append(number)
        else:
            batches.append([number])
    return batches


def batches_by_the_shortest(lengths, room):
    batches = []
    for i in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batches and (len(batches[-1]) + 1) * lengths[batches[-1][0]] <= room:
            batches[-1].append(i)
        else:
            batches.append([i])
    return batches


def batches_of_sorted_indices(lengths, room):
    batches = []
    for i, n in enumerate(sorted(lengths)):
        if batches and (len(batches[-1]) + 1) * n <= room:
            batches[-1].append(i)
        else:
            batches.append([i])
    return batches


def batches_by_dictionary(lengths, room):
    index = {n: i for i, n in enumerate(lengths)}
    batches = []
    for n in sorted(index):
        if batches and (len(batches[-1]) + 1) * n <= room:
            batches[-1].append(index[n])
        else:
            batches.append([index[n]])
    return batches


def batches_by_list_index(lengths, room):
    batches = []
    for n in sorted(lengths):
        if batches and (len(batches[-1]) + 1) * n <= room:
            batches[-1].append(lengths.index(n))
        else:
            batches.append([lengths.index(n)])
    return batches


def batches_of_any_size(lengths, room):
    return batches_with_a_row(lengths, 10**6)


def batches_of_two(lengths, room):
    order = sorted(range(len(lengths)), key=lengths.__getitem__)
    return [list(pair) for pair in zip(order[::2], order[1::2], strict=False)] + (
        [order[-1:]] if len(order) % 2 else []
    )


def batches_skipping(lengths, room):
    batches, batch = [], []
    for i in sorted(range(len(lengths)), key=lengths.__getitem__):
        if (len(batch) + 1) * lengths[i] <= room:
            batch.append(i)
        else:
            batches.append(batch)
            batch = []
    return batches + ([batch] if batch else [])


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


def rate_larger(step, d_model, warm_up):
    return max(step**-0.5, step * warm_up**-1.5) / d_model**0.5


def rate_no_width(step, d_model, warm_up):
    return min(1 / step**0.5, step / warm_up**1.5)


def rate_with(
    choose=min, width=lambda d: 1 / math.sqrt(d), up=lambda s, w: s / w**1.5, down=lambda s: s**-0.5
):
    """The formula with another choice or another factor."""
    return lambda step, d_model, warm_up: width(d_model) * choose(up(step, warm_up), down(step))


def rate_never_falls(step, d_model, warm_up):
    if step < warm_up:
        return d_model**-0.5 * step * warm_up**-1.5
    return d_model**-0.5 * warm_up**-0.5


def rate_climbs_to_one(step, d_model, warm_up):
    return (step / warm_up if step < warm_up else 1 / math.sqrt(step)) / math.sqrt(d_model)


def rate_flat_at_first(step, d_model, warm_up):
    return 1 / math.sqrt(d_model * max(step, warm_up))


def rate_from_the_peak(step, d_model, warm_up):
    if step <= warm_up:
        return d_model**-0.5 * step * warm_up**-1.5
    return d_model**-0.5 / math.sqrt(step - warm_up)


def rate_too_fast(step, d_model, warm_up):
    return d_model**-0.5 * min(1 / step, step * warm_up**-1.5)


def rate_share(step, d_model, warm_up):
    return d_model**-0.5 * min(step**-0.5, step / warm_up)


def rate_over_width(step, d_model, warm_up):
    return min(step**-0.5, step * warm_up**-1.5) / d_model


def rate_minus_one_half(step, d_model, warm_up):
    return d_model**-1 / 2 * min(step**-1 / 2, step * warm_up**-3 / 2)


def rate_half_of_the_width(step, d_model, warm_up):
    return d_model**-1 / 2 * min(step**-0.5, step * warm_up**-1.5)


def rate_halves_in_the_terms(step, d_model, warm_up):
    return d_model**-0.5 * min(step**-1 / 2, step * warm_up**-3 / 2)


def rate_half_of_the_step(step, d_model, warm_up):
    return 1 / math.sqrt(d_model) * min(step**-1 / 2, step / warm_up**1.5)


def rate_half_of_both(step, d_model, warm_up):
    return d_model**-1 / 2 * min(step**-1 / 2, step / warm_up**1.5)


def rate_keeps_the_bug(step, d_model, warm_up):
    up, down = step * warm_up**-1.5, step**-0.5
    return d_model**-0.5 * warm_up**-0.5 * min(up, down)


def rate_without_parentheses(step, d_model, warm_up):
    return min(d_model**-0.5 * step**-0.5, step * warm_up**-1.5)


def rate_factor_on_the_climb(step, d_model, warm_up):
    up, down = d_model**-0.5 * step * warm_up**-1.5, step**-0.5
    return min(up, down)


def rate_root_of_the_step(step, d_model, warm_up):
    return d_model**-0.5 * min(math.sqrt(step), step * warm_up**-1.5)


def rate_width_in_one_branch(step, d_model, warm_up):
    if step < warm_up:
        return step / (math.sqrt(d_model) * warm_up**1.5)
    return 1 / math.sqrt(step)


def rate_down_by_the_step(step, d_model, warm_up):
    peak = 1 / math.sqrt(d_model * warm_up)
    return peak * step / warm_up if step <= warm_up else peak * warm_up / step


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


def loss_pads(logits, targets, smoothing):
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), label_smoothing=smoothing)


def loss_twice(logits, targets, smoothing):
    return F.cross_entropy(
        logits.softmax(dim=-1).flatten(0, 1), targets.flatten(), label_smoothing=smoothing, ignore_index=0
    )


def loss_plain(logits, targets, smoothing):
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=0)


def loss_sum(logits, targets, smoothing):
    return F.cross_entropy(
        logits.flatten(0, 1), targets.flatten(), label_smoothing=smoothing, ignore_index=0, reduction="sum"
    )


def loss_others(logits, targets, smoothing):
    n = logits.shape[-1]
    wanted = torch.full_like(logits, smoothing / (n - 1)).scatter(-1, targets[..., None], 1 - smoothing)
    losses = -(wanted * logits.log_softmax(dim=-1)).sum(dim=-1)
    return losses[targets > 0].mean()


def loss_too_much(logits, targets, smoothing):
    n = logits.shape[-1]
    wanted = F.one_hot(targets, n) + smoothing / n
    losses = -(wanted * logits.log_softmax(dim=-1)).sum(dim=-1)
    return losses[targets > 0].mean()


def loss_padded_mean(logits, targets, smoothing):
    losses = F.cross_entropy(logits.mT, targets, label_smoothing=smoothing, reduction="none", ignore_index=0)
    return losses.mean()


def loss_negative(logits, targets, smoothing):
    return -F.cross_entropy(
        logits.flatten(0, 1), targets.flatten(), label_smoothing=smoothing, ignore_index=0
    )


def loss_cut_off(logits, targets, smoothing):
    return F.cross_entropy(logits.mT, targets, label_smoothing=smoothing, ignore_index=0).detach()


def loss_number(logits, targets, smoothing):
    return loss_by_torch(logits, targets, smoothing).item()


def loss_right_word_detached(logits, targets, smoothing):
    logs = logits.log_softmax(-1)
    right = logs.gather(-1, targets[..., None])[..., 0].detach()
    return (-(1 - smoothing) * right - smoothing * logs.mean(-1))[targets != 0].mean()


def loss_half_masked(logits, targets, smoothing):
    logs = logits.log_softmax(-1)
    right = -logs.gather(-1, targets[..., None])[..., 0]
    return (1 - smoothing) * right.mean() - smoothing * logs.mean(-1)[targets != 0].mean()


def loss_second_term_unmasked(logits, targets, smoothing):
    logs = logits.log_softmax(-1)
    right = -logs.gather(-1, targets[..., None])[..., 0]
    return (1 - smoothing) * right[targets != 0].mean() - smoothing * logs.mean()


def loss_term(logits, targets, smoothing):
    logs = logits.log_softmax(-1)
    return (smoothing - 1) * logs.gather(-1, targets[..., None])[targets != 0].mean()


def loss_minus_plus(logits, targets, smoothing):
    spread = logits.log_softmax(-1)[targets != 0].mean()
    return loss_term(logits, targets, smoothing) + smoothing * spread


def loss_both(logits, targets, smoothing):
    spread = -logits.log_softmax(-1)[targets != 0].mean()
    return (1 - smoothing) * loss_by_torch(logits, targets, smoothing) + smoothing * spread


def loss_mean_over_vocabulary(logits, targets, smoothing):
    n = logits.shape[-1]
    wanted = (1 - smoothing) * F.one_hot(targets, n) + smoothing / n
    return -(wanted * logits.log_softmax(-1)).mean(-1)[targets != 0].mean()


def loss_swapped(logits, targets, smoothing):
    return loss_by_torch(logits, targets, 1 - smoothing)


def loss_clamped(logits, targets, smoothing):
    logs = logits.softmax(-1).clamp(min=1e-9).log()
    return loss_with(lambda logits, dim: logs)(logits, targets, smoothing)


def loss_as_in_a_book(logits, targets, smoothing):
    logs = logits.log_softmax(dim=-1)
    spread = -logs[..., 1:].mean(-1)
    right = -logs.gather(-1, targets.unsqueeze(-1)).squeeze(-1)
    return ((1 - smoothing) * right + smoothing * spread)[targets != 0].mean()


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


def step_by_the_gradient(weights, loss_of, memory, step, rate):
    loss, gradients = gradients_by_backward(weights, loss_of)
    gradients = clip_to_1(gradients)
    _, kept = adam(weights, gradients, memory, step, rate, clip=lambda gradients: gradients)
    moved = {}
    for (name, w), g in zip(weights.items(), gradients, strict=True):
        v_hat = kept[name][1] / (1 - 0.98**step)
        moved[name] = w - rate * g / (v_hat.sqrt() + 1e-9)
    return loss, moved, kept


def step_forgets(weights, loss_of, memory, step, rate):
    loss, gradients = gradients_by_backward(weights, loss_of)
    before = {name: memory.get(name, (0 * w, 0 * w)) for name, w in weights.items()}
    return loss, adam(weights, gradients, memory, step, rate)[0], before


def step_always_scaled(weights, loss_of, memory, step, rate):
    loss, gradients = gradients_by_backward(weights, loss_of)
    norm = sum(g.square().sum() for g in gradients).sqrt()
    return loss, *adam(weights, [g / norm for g in gradients], memory, step, rate)


def step_keeps_hats(weights, loss_of, memory, step, rate):
    loss, gradients = gradients_by_backward(weights, loss_of)
    moved, kept = adam(weights, gradients, memory, step, rate)
    return loss, moved, {n: (m / (1 - 0.9**step), v / (1 - 0.98**step)) for n, (m, v) in kept.items()}


def step_loss_as_tensor(weights, loss_of, memory, step, rate):
    loss, gradients = gradients_by_backward(weights, loss_of)
    return torch.tensor(loss), *adam(weights, gradients, memory, step, rate)


def step_no_loss(weights, loss_of, memory, step, rate):
    _, gradients = gradients_by_backward(weights, loss_of)
    return adam(weights, gradients, memory, step, rate)


def step_with_an_empty_memory(weights, loss_of, memory, step, rate):
    loss, gradients = gradients_by_backward(weights, loss_of)
    return loss, *adam(weights, gradients, {}, step, rate)


def step_sums_up(weights, loss_of, memory, step, rate):
    loss, gradients = gradients_by_backward(weights, loss_of)
    new, kept = {}, {}
    for (name, w), g in zip(weights.items(), clip_to_1(gradients), strict=True):
        m, v = memory.get(name, (0, 0))
        m, v = kept[name] = 0.9 * m + g, 0.98 * v + g * g
        new[name] = w - rate * m / (1 - 0.9**step) / ((v / (1 - 0.98**step)) ** 0.5 + 1e-9)
    return loss, new, kept


def step_stacks_memory(weights, loss_of, memory, step, rate):
    loss, new, kept = step_with()(weights, loss_of, memory, step, rate)
    return loss, new, {name: torch.stack(pair) for name, pair in kept.items()}


def step_v_first(weights, loss_of, memory, step, rate):
    loss, new, kept = step_with()(weights, loss_of, memory, step, rate)
    return loss, new, {name: (v, m) for name, (m, v) in kept.items()}


def step_of_rate_1(weights, loss_of, memory, step, rate):
    return step_with()(weights, loss_of, memory, step, 1.0)


def step_new_loss(weights, loss_of, memory, step, rate):
    _, gradients = gradients_by_backward(weights, loss_of)
    new, memory = adam(weights, gradients, memory, step, rate)
    return loss_of(new).item(), new, memory


def step_new_table_each_time(weights, loss_of, memory, step, rate):
    loss, gradients = gradients_by_backward(weights, loss_of)
    for name, g in zip(weights, clip_to_1(gradients), strict=True):
        before = {name: memory[name]} if name in memory else {}
        new, kept = adam({name: weights[name]}, [g], before, step, rate, clip=lambda gradients: gradients)
    return loss, new, kept


def step_in_place(weights, loss_of, memory, step, rate):
    loss, new, kept = step_with()(weights, loss_of, memory, step, rate)
    for name, w in weights.items():
        w.copy_(new[name])
    return loss, weights, kept


def step_descent_without_means(weights, loss_of, memory, step, rate):
    loss, gradients = gradients_by_backward(weights, loss_of)
    moves = zip(weights.items(), clip_to_1(gradients), strict=True)
    return loss, {name: w - rate * g for (name, w), g in moves}, memory


def step_with_two_memories(*inputs):
    loss, moved, memory = step_with()(*inputs)
    return loss, moved, ({k: m for k, (m, _) in memory.items()}, {k: v for k, (_, v) in memory.items()})


def step_from_ready(weights, loss_of, memory, step, rate):
    """Subtracts from the tensors that record gradients; the caller detaches them."""
    ready = {name: w.detach().requires_grad_() for name, w in weights.items()}
    loss = loss_of(ready)
    gradients = list(torch.autograd.grad(loss, list(ready.values())))
    return loss.item(), *adam(ready, gradients, memory, step, rate)


def step_descent(weights, loss_of, memory, step, rate):
    loss, gradients = gradients_by_backward(weights, loss_of)
    gradients = clip_to_1(gradients)
    _, memory = adam(weights, gradients, memory, step, rate)
    return loss, {name: w - rate * g for (name, w), g in zip(weights.items(), gradients, strict=True)}, memory


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


def count_each_word_once(words):
    return Counter(pair for word in words for pair in pairwise(word))


def count_by_sets(words):
    counts = Counter()
    for word, n in words.items():
        for pair in set(pairwise(word)):
            counts[pair] += n
    return counts


def merge_as_text(words):
    best = frequent_first(count_pairs(words))
    return best, {
        tuple(" ".join(w).replace(" ".join(best), "".join(best)).split()): n for w, n in words.items()
    }


def merge_once(words):
    best = frequent_first(count_pairs(words))
    out = {}
    for word, n in words.items():
        for i, pair in enumerate(pairwise(word)):
            if pair == best:
                word = (*word[:i], "".join(pair), *word[i + 2 :])
                break
        out[word] = n
    return best, out


def count_around(words):
    counts = Counter()
    for word, n in words.items():
        for i in range(len(word)):
            counts[word[i - 1], word[i]] += n
    return counts


def count_without_the_last_pair(words):
    counts = Counter()
    for word, n in words.items():
        for i in range(len(word) - 2):
            counts[word[i], word[i + 1]] += n
    return counts


def glue_with(glue):
    """A merge that glues the words in this way."""

    def next_merge(words):
        best = frequent_first(count_pairs(words))
        return best, {glue(word, best): n for word, n in words.items()}

    return next_merge


def glue_right_to_left(word, best):
    tokens, i = list(word), len(word) - 2
    while i >= 0:
        if (tokens[i], tokens[i + 1]) == best:
            tokens[i : i + 2] = ["".join(best)]
            i -= 1
        i -= 1
    return tuple(tokens)


def glue_by_one(word, best):
    out = []
    for i, token in enumerate(word):
        if word[i : i + 2] == best:
            out.append("".join(best))
        elif i == 0 or word[i - 1 : i + 1] != best:
            out.append(token)
    return tuple(out)


def glue_without_skipping(word, best):
    out = []
    for i in range(len(word)):
        both = word[i : i + 2]
        out.append(word[i] + word[i + 1] if both == best else word[i])
    return tuple(out)


def merge_some(keep):
    """A merge that keeps only some of the words."""

    def next_merge(words):
        best = frequent_first(count_pairs(words))
        return best, {merge(word, best): n for word, n in words.items() if keep(word, best)}

    return next_merge


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


def merge_joined_pair(words):
    best = frequent_first(count_pairs(words))
    return "".join(best), {merge(word, best): n for word, n in words.items()}


def merge_words_first(words):
    best = frequent_first(count_pairs(words))
    return {merge(word, best): n for word, n in words.items()}, best


def merge_nothing(words):
    return frequent_first(count_pairs(words)), words.copy()


def merge_counts_lost(words):
    best, new = frequent_first(count_pairs(words)), {}
    for word in words:
        merged = merge(word, best)
        new[merged] = new.get(merged, 0) + 1
    return best, new


def glue_nested(word, best):
    out, i = [], 0
    while i < len(word):
        if word[i : i + 2] == best:
            out.append(best)
            i += 2
        else:
            out.append(word[i])
            i += 1
    return tuple(out)


def count_in_any_order(words):
    counts = Counter()
    for word, n in words.items():
        for a, b in pairwise(word):
            counts[min(a, b), max(a, b)] += n
    return counts


def count_tokens(words):
    tokens = Counter()
    for word, n in words.items():
        for token in word:
            tokens[token] += n
    return {pair: tokens[pair[0]] + tokens[pair[1]] for word in words for pair in pairwise(word)}


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


# ---- a slip each, without the helpers of the exercises


def batches_twice(lengths, room):
    batches = batches_with_a_row(lengths, room)
    return [[*batch, after[0]] for batch, after in pairwise(batches)] + batches[-1:]


def batches_wrong_one_again(lengths, room):
    batches = batches_with_a_row(lengths, room)
    return batches[:1] + [[before[-1], *batch[1:]] for before, batch in pairwise(batches)]


def loss_with(logits_to_logs=F.log_softmax, spread=None, join=None):
    """The smoothed loss with another first step, another share of ε for each word, or another mean."""

    def loss(logits, targets, smoothing):
        logs, real = logits_to_logs(logits, dim=-1), targets != 0
        right = torch.gather(logs, 2, targets.unsqueeze(2)).squeeze(2)
        each = smoothing * (spread or 1 / logits.shape[-1])
        losses = (smoothing - 1) * right - each * logs.sum(2)
        return join(losses, real) if join else losses[real].mean()

    return loss


def sentence_means(losses, real):
    return torch.stack([row[words].mean() for row, words in zip(losses, real, strict=True)]).mean()


def adam_with(betas=(0.9, 0.98), square=lambda g, m: g**2, swap=False):
    """A training step with other betas, with another second memory, or with old and new swapped."""

    def step(weights, loss_of, memory, step, rate):
        loss, gradients = gradients_by_backward(weights, loss_of)
        weights, memory = dict(weights), dict(memory)
        for name, g in zip(list(weights), clip_to_1(gradients), strict=True):
            m, v = memory.get(name, (torch.zeros_like(g), torch.zeros_like(g)))
            one, two = (1 - beta if swap else beta for beta in betas)
            m = one * m + (1 - one) * g
            v = two * v + (1 - two) * square(g, m)
            memory[name] = (m, v)
            first, second = m / (1 - betas[0] ** step), v / (1 - betas[1] ** step)
            weights[name] = weights[name] - rate * first / (second**0.5 + 1e-9)
        return loss, weights, memory

    return step


def merge_spaced(words):
    best, merged = merge_with()(words)
    return best, {tuple(" ".join(best) if t == "".join(best) else t for t in w): n for w, n in merged.items()}


WRONG = {
    "by_length": [
        (batches_unsorted, "as-they-come"),
        (batches_last_lost, "last-batch-lost"),
        (batches_added_up, "padding-not-counted"),
        (batches_before_the_row, "new-row-not-counted"),
        (batches_one_too_many, "closed-too-late"),
        (batches_strictly_below, "strictly-below-room"),
        (batches_down_by_the_last, "longest-first"),
        (batches_of_equal_length, "equal-lengths-only"),
        (batches_last_again, "last-batch-twice"),
        (batches_from_1, "one-based"),
        (lambda lengths, room: [[float(i) for i in b] for b in batches_with_a_row(lengths, room)], None),
        (batches_by_the_shortest, "shortest-counts"),
        (batches_of_lengths, "lengths-not-indices"),
        (batches_of_sorted_indices, "ranks-not-indices"),
        (batches_by_list_index, "first-of-equals"),
        (batches_by_dictionary, "last-of-equals"),
        (batches_single, "one-each"),
        (batches_of_two, "two-each"),
        (batches_of_any_size, "all-in-one"),
        (batches_skipping, "does-not-fit"),
        (batches_twice, "repeated"),
        (batches_wrong_one_again, "swapped"),
        (batches_from_both_ends, None),
        (batches_flat, None),
        (batches_shuffled, None),
    ],
    "paper_rate": [
        (rate_minus_one_half, "precedence"),
        (rate_half_of_the_width, "precedence-width"),
        (rate_halves_in_the_terms, "precedence-terms"),
        (rate_half_of_the_step, "precedence-fall"),
        (rate_half_of_both, "precedence-fall-and-width"),
        (rate_keeps_the_bug, "both-factors"),
        (rate_without_parentheses, "width-in-one-term"),
        (rate_factor_on_the_climb, "width-in-the-second-term"),
        (rate_root_of_the_step, "keeps-climbing"),
        (rate_width_in_one_branch, "width-in-the-climb"),
        (rate_down_by_the_step, "falls-from-the-peak-too-fast"),
        (rate_larger, "the-larger"),
        (rate_with(choose=lambda up, down: up + down), "added"),
        (rate_with(choose=lambda up, down: up * down), "multiplied"),
        (rate_no_width, "no-width"),
        (rate_with(width=math.sqrt), "times-the-root"),
        (rate_over_width, "width-without-root"),
        (rate_with(width=lambda d: 512**-0.5), "width-of-the-paper"),
        (rate_with(up=lambda s, w: s / 4000**1.5), "warm-up-of-the-paper"),
        (rate_never_falls, "stays-at-the-peak"),
        (rate_with(choose=lambda up, down: up), "keeps-climbing"),
        (rate_flat_at_first, "no-climb"),
        (rate_climbs_to_one, "peak-too-high"),
        (rate_with(choose=lambda up, down: down), "no-warm-up"),
        (rate_too_fast, "falls-too-fast"),
        (rate_from_the_peak, "falls-from-the-warm-up"),
        (rate_share, "climbs-over-warm-up"),
        (rate_with(up=lambda s, w: s / math.sqrt(w)), "climbs-over-the-root"),
        (rate_with(up=lambda s, w: (s / w) ** 1.5), "power-of-the-fraction"),
        (rate_with(up=lambda s, w: 1 / w**1.5), "constant-warm-up"),
        (rate_with(up=lambda s, w: s // w**1.5), "whole-numbers"),
        (rate_with(up=lambda s, w: (s + 1) / w**1.5, down=lambda s: (s + 1) ** -0.5), "next-step"),
        (lambda step, d_model, warm_up: round(rate_by_if(step, d_model, warm_up), 4), "rounded"),
        (rate_with(down=lambda s: s**-0.25), None),
    ],
    "smoothed_loss": [
        (loss_pads, "padding-counts"),
        (loss_with(join=lambda losses, real: losses[~real].mean()), "only-padding"),
        (loss_padded_mean, "padding-in-the-count"),
        (loss_with(join=lambda losses, real: losses.sum() / real.sum()), "padding-in-the-sum"),
        (loss_half_masked, "half-masked"),
        (loss_second_term_unmasked, "smoothing-not-masked"),
        (loss_others, "spread-over-the-others"),
        (loss_as_in_a_book, "padding-word-left-out"),
        (loss_too_much, "nothing-taken-away"),
        (loss_term, "second-term-missing"),
        (loss_minus_plus, "sign-of-the-second-term"),
        (loss_both, "smoothed-twice"),
        (loss_swapped, "epsilon-swapped"),
        (loss_with(spread=1.0), "sum-of-all-words"),
        (loss_mean_over_vocabulary, "divided-by-the-vocabulary"),
        (lambda logits, targets, smoothing: loss_by_torch(logits, targets, 0.1), "constant-smoothing"),
        (loss_plain, "not-smoothed"),
        (loss_negative, "no-minus"),
        (loss_twice, "softmax-twice"),
        (loss_with(lambda logits, dim: logits), "no-softmax"),
        (loss_with(torch.softmax), "no-log"),
        (loss_with(lambda logits, dim: F.log_softmax(logits, dim=1)), "wrong-axis"),
        (loss_with(lambda logits, dim: F.log_softmax(logits, dim=0)), "batch-axis"),
        (loss_with(lambda logits, dim: torch.log(F.softmax(logits, dim=dim))), "log-of-softmax"),
        (loss_with(lambda logits, dim: logits - logits.exp().sum(dim, keepdim=True).log()), "log-of-exp"),
        (loss_with(lambda logits, dim: (logits.exp() / logits.exp().sum(dim, True)).log()), "bare-exp"),
        (loss_clamped, None),
        (loss_sum, "sum"),
        (loss_with(join=lambda losses, real: losses[real].sum() / len(real)), "per-sentence"),
        (loss_with(join=sentence_means), "mean-of-means"),
        (loss_with(join=lambda losses, real: losses[real]), "not-averaged"),
        (loss_with(join=lambda losses, real: losses), "one-per-position"),
        (loss_cut_off, "no-gradient"),
        (loss_number, "no-gradient"),
        (lambda logits, targets, smoothing: loss_by_torch(logits.double(), targets, smoothing), "wrong-form"),
        (loss_right_word_detached, "wrong-gradient"),
    ],
    "training_step": [
        (step_with(clip=lambda gradients: gradients), "not-clipped"),
        (step_always_scaled, "always-scaled"),
        (step_with(clip=lambda gradients: [clip_to_1([g])[0] for g in gradients]), "clipped-one-by-one"),
        (step_with(clip=lambda gradients: [g.clamp(-1, 1) for g in gradients]), "clamped"),
        (step_with(sign=-1.0), "uphill"),
        (step_with(correct=lambda m, v, step: (m, v)), "not-corrected"),
        (step_with(correct=lambda m, v, step: (m / (1 - 0.9**step), v)), "v-not-corrected"),
        (step_with(correct=lambda m, v, step: (m, v / (1 - 0.98**step))), "m-not-corrected"),
        (step_with(correct=lambda m, v, step: (10 * m, 50 * v)), "always-the-first-step"),
        (
            step_with(correct=lambda m, v, t: (m / (1 - 0.9 ** (t + 1)), v / (1 - 0.98 ** (t + 1)))),
            "next-step",
        ),
        (step_with(change=lambda m, v: m / (v + 1e-9)), "no-root"),
        (step_with(change=lambda m, v: m), "no-division"),
        (step_with(change=lambda m, v: m / v.sqrt()), "no-epsilon"),
        (step_with(change=lambda m, v: m / torch.sqrt(v + 1e-9)), "epsilon-under-the-root"),
        (step_with(correct=lambda m, v, t: (m / (1 - 0.9 * t), v / (1 - 0.98 * t))), "times-the-step"),
        (step_by_the_gradient, "gradient-for-mean"),
        (adam_with(square=lambda g, m: g), "signed-gradient"),
        (adam_with(square=lambda g, m: m**2), "square-of-the-mean"),
        (adam_with(square=lambda g, m: g.abs()), "not-squared"),
        (adam_with(square=lambda g, m: (g * g).mean()), "one-v-for-all"),
        (adam_with(betas=(0.98, 0.9)), "betas-swapped"),
        (adam_with(betas=(0.9, 0.9)), "same-betas"),
        (adam_with(betas=(0.9, 0.999)), "usual-betas"),
        (step_sums_up, "not-a-mean"),
        (adam_with(swap=True), "weights-of-the-mean-swapped"),
        (step_with_an_empty_memory, "state-ignored"),
        (step_forgets, "state-not-kept"),
        (step_keeps_hats, "corrected-means-kept"),
        (step_v_first, "pair-swapped"),
        (step_of_rate_1, "no-rate"),
        (step_new_loss, "loss-after-the-step"),
        (step_loss_as_tensor, "loss-as-tensor"),
        (step_new_table_each_time, "only-the-last-name"),
        (step_descent, "no-adam"),
        (step_descent_without_means, "no-adam-no-means"),
        (step_with_two_memories, "two-dictionaries"),
        (step_in_place, "in-place"),
        (step_stacks_memory, "wrong-form"),
        (step_no_loss, None),
    ],
    "next_merge": [
        (merge_words_first, "words-first"),
        (merge_nothing, "words-unchanged"),
        (merge_counts_lost, "counts-forgotten"),
        (glue_with(glue_nested), "nested"),
        (glue_with(lambda word, best: "".join(merge(word, best))), "words-joined"),
        (merge_with(count=count_in_any_order), "unordered"),
        (merge_with(count=count_tokens), "frequent-tokens"),
        (merge_with(count=count_each_word_once), "words-counted-once"),
        (merge_with(count=count_by_sets), "counted-once-in-a-word"),
        (merge_with(count=count_around), "around-the-word"),
        (merge_with(count=count_without_the_last_pair), "last-pair-not-counted"),
        (merge_with(choose=lambda counts: Counter(counts).most_common(1)[0][0]), "first-met-of-equals"),
        (merge_with(choose=lambda c: max(c, key=lambda pair: (c[pair], pair))), "ties-the-other-way"),
        (
            merge_with(choose=lambda c: min(c, key=lambda pair: (-c[pair], "".join(pair), pair))),
            "ties-by-the-glued-word",
        ),
        (merge_with(choose=lambda c: sorted(c, key=lambda pair: (c[pair], pair))[0]), "rarest"),
        (merge_as_text, "replaced-as-text"),
        (merge_once, "only-once-in-a-word"),
        (glue_with(glue_right_to_left), "from-the-right"),
        (glue_with(glue_without_skipping), "second-token-kept"),
        (glue_with(glue_by_one), "tokens-used-twice"),
        (merge_spaced, "with-a-space"),
        (glue_with(lambda word, best: " ".join(merge(word, best))), "words-as-text"),
        (
            merge_some(lambda word, best: list(best) in [list(pair) for pair in pairwise(word)]),
            "other-words-lost",
        ),
        (merge_some(lambda word, best: word[1:]), "single-tokens-lost"),
        (merge_joined_pair, "pair-as-text"),
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
        batches_of_equal_size,
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
