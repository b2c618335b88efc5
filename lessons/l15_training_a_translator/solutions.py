"""The solutions of lesson 15: its notebook shows them, and the checks compare answers with them."""

import torch

from lessons.l15_training_a_translator.clipping import clipped


def training_step(weights, loss_of, state, step, rate):
    """-> loss (a number), new weights {name: tensor}, new state {name: (m, v)}"""
    ready = {name: w.detach().requires_grad_() for name, w in weights.items()}
    loss = loss_of(ready)
    gradients = torch.autograd.grad(loss, list(ready.values()))
    # solution
    gradients = clipped(list(gradients), 1.0)
    new_weights, new_state = {}, {}
    for (name, w), g in zip(weights.items(), gradients, strict=True):
        m, v = state.get(name, (torch.zeros_like(w), torch.zeros_like(w)))
        m = 0.9 * m + 0.1 * g
        v = 0.98 * v + 0.02 * g.square()
        m_hat, v_hat = m / (1 - 0.9**step), v / (1 - 0.98**step)
        new_weights[name] = w - rate * m_hat / (v_hat.sqrt() + 1e-9)
        new_state[name] = m, v
    return loss.item(), new_weights, new_state
    # end solution


def by_length(lengths, room):
    """[3, 9, 2, 8], 18  ->  [[2, 0], [3, 1]]"""
    # solution
    order = sorted(range(len(lengths)), key=lambda i: lengths[i])
    batches = []
    for i in order:
        fits = batches and (len(batches[-1]) + 1) * lengths[i] <= room
        if not fits:
            batches.append([])
        batches[-1].append(i)
    return batches
    # end solution


def paper_rate(step, d_model, warm_up):
    """step 1, 2, 3, …, width, number of warm-up steps  ->  the learning rate"""
    # solution
    up, down = step * warm_up**-1.5, step**-0.5
    return d_model**-0.5 * min(up, down)
    # end solution


def smoothed_loss(logits, targets, smoothing):
    """(batch, n, vocab), (batch, n), a number  ->  a tensor of shape ()"""
    # solution
    log_probs = logits.log_softmax(dim=-1)
    correct = log_probs.gather(-1, targets[..., None])[..., 0]
    losses = -(1 - smoothing) * correct - smoothing * log_probs.mean(dim=-1)
    return losses[targets != 0].mean()
    # end solution


def next_merge(words):
    """{tuple of tokens: count}  ->  (left, right), {tuple of tokens: count}"""
    # solution
    counts = {}
    for word, n in words.items():
        for i in range(len(word) - 1):
            pair = word[i : i + 2]
            counts[pair] = counts.get(pair, 0) + n
    best = min(counts, key=lambda pair: (-counts[pair], pair))
    merged = {}
    for word, n in words.items():
        tokens, rest = (), word
        while rest:
            width = 2 if rest[:2] == best else 1
            tokens, rest = (*tokens, "".join(rest[:width])), rest[width:]
        merged[tokens] = merged.get(tokens, 0) + n
    return best, merged
    # end solution
