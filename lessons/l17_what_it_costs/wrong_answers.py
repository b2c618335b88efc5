"""Answers to lesson 17 as learners write them: wrong ones with what the message must say, and right ones."""

from __future__ import annotations

import math

import torch
from torch.nn import functional as F

from lessons.l17_what_it_costs.linear_attention import feature_map, linear_start, linear_step
from lessons.l17_what_it_costs.solutions import block_flops

# ---- block_flops


def flops_linear_in_n(n, d, d_ff):
    return block_flops(n, d, d_ff) | {"attention": 4 * n * d * d}


def flops_square_in_d(n, d, d_ff):
    return block_flops(n, d, d_ff) | {"attention": 4 * n * n * d * d}


def flops_by(product):
    """A block by its eight products."""

    def flops(n, d, d_ff):
        return {
            "projections": 4 * product(n, d, d),
            "attention": product(n, d, n) + product(n, n, d),
            "feed-forward": product(n, d, d_ff) + product(n, d_ff, d),
        }

    return flops


def flops_with_softmax(n, d, d_ff):
    parts = flops_by_product(n, d, d_ff)
    parts["attention"] += 3 * n * n
    return parts


def flops_by_product(n, d, d_ff):
    return flops_by(lambda rows, inner, columns: 2 * rows * inner * columns)(n, d, d_ff)


def flops_by_word(n, d, d_ff):
    return {"projections": n * 8 * d**2, "attention": n * 4 * n * d, "feed-forward": n * 4 * d * d_ff}


def flops_other_order(n, d, d_ff):
    count = {"feed-forward": 4 * n * d * d_ff}
    count["attention"] = 4 * n**2 * d
    count["projections"] = 8 * n * d**2
    return count


# ---- running_attention


def attention_of_all_blocks(blocks):
    scores = torch.cat([scores for scores, _ in blocks])
    values = torch.cat([values for _, values in blocks])
    return torch.softmax(scores, dim=0) @ values


def attention_adds_1(blocks):
    m, t, o = torch.tensor(-math.inf), 0.0, 0.0
    for s, v in blocks:
        new = torch.maximum(m, s.max())
        c, w = torch.exp(m - new), torch.exp(s - new)
        t, o, m = c * t + 1, c * o + w @ v, new
    return o / t


def attention_in_64_bits_without_maximum(blocks):
    t, o = 0.0, 0.0
    for s, v in blocks:
        t, o = t + s.double().exp().sum(), o + s.double().exp() @ v.double()
    return (o / t).float()


def attention_clamped(blocks):
    t, o = 0.0, 0.0
    for s, v in blocks:
        w = torch.exp(s.clamp(-80, 80))
        t, o = t + w.sum(), o + w @ v
    return o / t


def attention_in_two_passes(blocks):
    maximum = max(scores.max() for scores, _ in blocks)
    total = sum(torch.exp(scores - maximum).sum() for scores, _ in blocks)
    return sum(torch.exp(scores - maximum) @ values for scores, values in blocks) / total


def attention_of_a_list(blocks):
    blocks = list(blocks)
    scores, values = zip(*blocks, strict=True)
    return torch.cat(scores).softmax(0) @ torch.cat(values)


def attention_so_far(blocks):
    """Everything so far in two growing tensors."""
    all_scores, all_values = None, None
    for scores, values in blocks:
        all_scores = scores if all_scores is None else torch.cat([all_scores, scores])
        all_values = values if all_values is None else torch.cat([all_values, values])
    return all_scores.softmax(0) @ all_values


def attention_by_index(blocks):
    maximum, total, output = torch.tensor(-math.inf), 0, 0
    for i in range(len(blocks)):
        scores, values = blocks[i]
        new = torch.maximum(maximum, scores.max())
        scale, weights = torch.exp(maximum - new), torch.exp(scores - new)
        total, output = total * scale + weights.sum(), output * scale + weights @ values
        maximum = new
    return output / total


def attention_as_list(blocks):
    return attention_step_by_step(blocks).tolist()


def attention_in_float64(blocks):
    return attention_step_by_step((scores.double(), values.double()) for scores, values in blocks)


def attention_as_column(blocks):
    return attention_step_by_step(blocks)[:, None]


def attention_detached(blocks):
    return attention_step_by_step((scores.detach(), values) for scores, values in blocks)


def attention_by_float_sum(blocks):
    maximum, total, output = -math.inf, 0.0, 0.0
    for scores, values in blocks:
        new = max(maximum, scores.max().item())
        weights = torch.exp(scores - new)
        total = total * math.exp(maximum - new) + weights.sum().item()
        output = output * math.exp(maximum - new) + weights @ values
        maximum = new
    return output / total


def attention_of_uniform_weights(blocks):
    n, output = 0, 0
    for _, values in blocks:
        n, output = n + len(values), output + values.sum(0)
    return output / n


def attention_of_powers_of_2(blocks):
    return attention_step_by_step((scores * math.log(2), values) for scores, values in blocks)


def attention_to_the_largest(blocks):
    best, output = -math.inf, None
    for scores, values in blocks:
        if scores.max() > best:
            best, output = scores.max(), values[scores.argmax()]
    return output


def attention_state(blocks):
    maximum, total, output = torch.tensor(-math.inf), 0.0, 0.0
    for scores, values in blocks:
        new = torch.maximum(maximum, scores.max())
        scale, weights = torch.exp(maximum - new), torch.exp(scores - new)
        total, output = total * scale + weights.sum(), output * scale + weights @ values
        maximum = new
    return maximum, total, output


def attention_step_by_step(blocks):
    _, total, output = attention_state(blocks)
    return output / total


def attention_one_score_at_a_time(blocks):
    maximum, total, output = -math.inf, 0.0, 0.0
    for scores, values in blocks:
        for score, value in zip(scores, values, strict=True):
            new = max(maximum, score.item())
            scale, weight = math.exp(maximum - new), torch.exp(score - new)
            total, output = total * scale + weight, output * scale + weight * value
            maximum = new
    return output / total


def attention_if_larger(blocks):
    """Rescales only if the maximum rises; in place."""
    maximum = None
    for scores, values in blocks:
        if maximum is None:
            maximum, total, output = scores.max(), torch.tensor(0.0), torch.zeros(values.shape[1])
        if scores.max() > maximum:
            scale = torch.exp(maximum - scores.max())
            total *= scale
            output *= scale
            maximum = scores.max()
        weights = torch.exp(scores - maximum)
        total += weights.sum()
        output += (weights[:, None] * values).sum(0)
    return output / total


def attention_by_logsumexp(blocks):
    """An output that is normalised after every block, weighted by logsumexp."""
    log_total, output = torch.tensor(-math.inf), 0.0
    for scores, values in blocks:
        of_block = scores.logsumexp(0)
        new = torch.logaddexp(log_total, of_block)
        output = output * torch.exp(log_total - new) + torch.exp(of_block - new) * (
            scores.softmax(0) @ values
        )
        log_total = new
    return output


def attention_of_iterator(blocks):
    blocks = iter(blocks)
    scores, values = next(blocks)
    maximum = scores.max()
    total, output = (scores - maximum).exp().sum(), (scores - maximum).exp() @ values
    for scores, values in blocks:
        new = max(maximum, scores.max())
        total, output = total * (maximum - new).exp(), output * (maximum - new).exp()
        total, output = total + (scores - new).exp().sum(), output + (scores - new).exp() @ values
        maximum = new
    return output / total


def attention_with_sum_in_last_column(blocks):
    """The sum as one more column of the values; the maximum starts at a very low number."""
    maximum, state = torch.tensor(-1e30), 0.0
    for _, (scores, values) in enumerate(blocks):
        wide = torch.hstack([values, torch.ones(len(values), 1)])
        new = torch.maximum(maximum, scores.max())
        state = state * torch.exp(maximum - new) + torch.exp(scores - new) @ wide
        maximum = new
    return state[:-1] / state[-1]


# ---- linear_reader


def add(q, k, v, state, total):
    return state + torch.outer(k, v), total + k


def reader_with(
    *,
    divisor=lambda q, k, z, t: q @ z,
    phi=feature_map,
    phi_query=feature_map,
    gather=torch.stack,
    ask_first=False,
    update=add,
):
    """A reader's loop, with one part written in another way."""

    def read(query, keys, values):
        state, total = torch.zeros(keys.shape[1], values.shape[1]), torch.zeros(keys.shape[1])
        outputs = []
        for t in range(len(query)):
            q, k = phi_query(query[t]), phi(keys[t])
            if ask_first:
                outputs.append(q @ state / divisor(q, k, total, t))
            state, total = update(q, k, values[t], state, total)
            if not ask_first:
                outputs.append(q @ state / divisor(q, k, total, t))
        return gather(outputs), state

    return read


def reader_of_lists(query, keys, values):
    return reader_with(gather=list)(query, keys, values)


def reader_of_earlier_words_detached(query, keys, values):
    def update(q, k, v, state, total):
        return state.detach() + torch.outer(k, v), total.detach() + k

    return reader_with(update=update)(query, keys, values)


def reader_with_epsilon(query, keys, values):
    return reader_with(divisor=lambda q, k, z, t: q @ z + 1e-6)(query, keys, values)


def reader_by_table(query, keys, values):
    weights = (feature_map(query) @ feature_map(keys).T).tril()
    weights = weights / weights.sum(-1, keepdim=True)
    return weights @ values, feature_map(keys).T @ values


def reader_by_steps(query, keys, values):
    state, outputs = linear_start(keys, values), []
    for q, k, v in zip(query, keys, values, strict=True):
        context, state = linear_step(state, q, k, v)
        outputs.append(context)
    return torch.stack(outputs), state["summary"]


def reader_in_place(query, keys, values):
    d_k, d_v = keys.shape[1], values.shape[1]
    state, total, outputs = torch.zeros(d_k, d_v), torch.zeros(d_k), torch.zeros(len(query), d_v)
    for t in range(len(query)):
        q, k = F.elu(query[t]) + 1, F.elu(keys[t]) + 1
        state += k[:, None] * values[t]
        total += k
        outputs[t] = (q[:, None] * state).sum(0) / (q * total).sum()
    return outputs, state


def reader_with_ones(query, keys, values):
    """A column of ones among the values carries the total."""
    wide = torch.cat([values, torch.ones(len(values), 1)], dim=1)
    state, outputs = torch.zeros(keys.shape[1], wide.shape[1]), []
    for q, k, v in zip(feature_map(query), feature_map(keys), wide, strict=True):
        state = state + torch.outer(k, v)
        sums = q @ state
        outputs.append(sums[:-1] / sums[-1])
    return torch.stack(outputs), state[:, :-1]


# ---- cache_bytes


def bytes_as_found(n_words, n_layers, d_model, n_heads, n_kv_heads, bytes_each):
    return 2 * n_layers * n_words * n_kv_heads * (d_model // n_kv_heads) * bytes_each


def bytes_of_all_heads(n_words, n_layers, d_model, n_heads, n_kv_heads, bytes_each):
    return 2 * n_layers * n_words * d_model * bytes_each


def bytes_with_queries(n_words, n_layers, d_model, n_heads, n_kv_heads, bytes_each):
    d_k = d_model // n_heads
    return (2 * n_kv_heads + n_heads) * d_k * n_layers * n_words * bytes_each


def bytes_of_three(n_words, n_layers, d_model, n_heads, n_kv_heads, bytes_each):
    return 3 * n_layers * n_words * n_kv_heads * (d_model // n_heads) * bytes_each


def bytes_repaired(n_words, n_layers, d_model, n_heads, n_kv_heads, bytes_each):
    d_k = d_model // n_heads
    return 2 * n_layers * n_words * n_kv_heads * d_k * bytes_each


def bytes_by_group(n_words, n_layers, d_model, n_heads, n_kv_heads, bytes_each):
    full = 2 * n_layers * n_words * d_model * bytes_each
    return full * n_kv_heads // n_heads


def bytes_by_true_division(n_words, n_layers, d_model, n_heads, n_kv_heads, bytes_each):
    return 2 * n_layers * n_words * n_kv_heads * d_model / n_heads * bytes_each


def bytes_of_a_tensor(n_words, n_layers, d_model, n_heads, n_kv_heads, bytes_each):
    keys = torch.empty(n_layers, n_kv_heads, n_words, d_model // n_heads, device="meta")
    return 2 * keys.numel() * bytes_each


WRONG = {
    "block_flops": [
        (flops_linear_in_n, "n-once"),
        (flops_square_in_d, None),
        (flops_with_softmax, None),
    ],
    "running_attention": [
        (attention_adds_1, None),
        (attention_in_64_bits_without_maximum, None),
        (attention_clamped, None),
        (attention_of_all_blocks, "goes through `blocks`"),
        (attention_in_two_passes, "goes through `blocks`"),
        (attention_of_a_list, "collects all the scores or values"),
        (attention_so_far, "collects all the scores or values"),
        (attention_by_index, "if they come one at a time"),
        (attention_as_list, "wrong-form"),
        (attention_in_float64, "wrong-form"),
        (attention_as_column, None),
        (attention_detached, "no-gradient"),
        (attention_by_float_sum, "wrong-gradient"),
        (attention_of_uniform_weights, None),
        (attention_of_powers_of_2, None),
        (attention_to_the_largest, None),
    ],
    "linear_reader": [
        (reader_of_lists, "wrong-form"),
        (reader_of_earlier_words_detached, "wrong-gradient"),
    ],
    "cache_bytes": [
        (bytes_as_found, "unrepaired"),
        (bytes_of_all_heads, "unrepaired"),
        (bytes_with_queries, "with-queries"),
        (bytes_of_three, "three-of-each"),
    ],
}

RIGHT = {
    "block_flops": [flops_by_product, flops_by_word, flops_other_order],
    "running_attention": [
        attention_step_by_step,
        attention_one_score_at_a_time,
        attention_if_larger,
        attention_by_logsumexp,
        attention_of_iterator,
        attention_with_sum_in_last_column,
    ],
    "linear_reader": [
        reader_by_table,
        reader_by_steps,
        reader_in_place,
        reader_with_ones,
        reader_with_epsilon,
    ],
    "cache_bytes": [bytes_repaired, bytes_by_group, bytes_of_a_tensor, bytes_by_true_division],
}
