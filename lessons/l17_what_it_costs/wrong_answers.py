"""Answers to lesson 17 as learners write them: wrong ones with what the message must say, and right ones."""

from __future__ import annotations

import math

import torch
from torch.nn import functional as F

from lessons.l17_what_it_costs.exercises import count
from lessons.l17_what_it_costs.linear_attention import feature_map, linear_start, linear_step

# ---- block_flops


def flops_without_additions(n, d, d_ff):
    return {"projections": 4 * n * d * d, "attention": 2 * n * n * d, "feed-forward": 2 * n * d * d_ff}


def flops_of_qkv(n, d, d_ff):
    return count(n, d, d_ff) | {"projections": 3 * 2 * n * d * d}


def flops_of_scores(n, d, d_ff):
    return count(n, d, d_ff) | {"attention": 2 * n * n * d}


def flops_one_layer(n, d, d_ff):
    return count(n, d, d_ff) | {"feed-forward": 2 * n * d * d_ff}


def flops_linear_in_n(n, d, d_ff):
    return count(n, d, d_ff) | {"attention": 4 * n * d * d}


def flops_as_total(n, d, d_ff):
    return 8 * n * d * d + 4 * n * n * d + 4 * n * d * d_ff


def flops_square_in_d(n, d, d_ff):
    return count(n, d, d_ff) | {"attention": 4 * n * n * d * d}


def flops_by(product):
    """A block by its eight products."""

    def flops(n, d, d_ff):
        return {
            "projections": 4 * product(n, d, d),
            "attention": product(n, d, n) + product(n, n, d),
            "feed-forward": product(n, d, d_ff) + product(n, d_ff, d),
        }

    return flops


def flops_with_b_minus_1(n, d, d_ff):
    return flops_by(lambda a, b, c: a * c * (2 * b - 1))(n, d, d_ff)


def flops_w_o_with_attention(n, d, d_ff):
    return count(n, d, d_ff) | {"projections": 6 * n * d * d, "attention": 4 * n * n * d + 2 * n * d * d}


def flops_other_key(n, d, d_ff):
    return {"projections": 8 * n * d * d, "attention": 4 * n * n * d, "feed_forward": 4 * n * d * d_ff}


def flops_and_total(n, d, d_ff):
    parts = flops_by_product(n, d, d_ff)
    parts["total"] = sum(parts.values())
    return parts


def flops_of_heads(n, d, d_ff):
    parts, n_heads = flops_by_product(n, d, d_ff), 4
    parts["attention"] = n_heads * (2 * n * d * n + 2 * n * n * d)
    return parts


def flops_with_softmax(n, d, d_ff):
    parts = flops_by_product(n, d, d_ff)
    parts["attention"] += 3 * n * n
    return parts


def flops_with_exponentials(n, d, d_ff):
    parts = flops_by_product(n, d, d_ff)
    parts["attention"] += n * n
    return parts


def flops_each_product_once(n, d, d_ff):
    return flops_by_product(n, d, d_ff) | {"attention": 2 * n * d * n, "feed-forward": 2 * n * d * d_ff}


def flops_sum_as_projection(n, d, d_ff):
    return flops_by_product(n, d, d_ff) | {"attention": 2 * n * d * n + 2 * n * d * d}


def flops_not_back(n, d, d_ff):
    return flops_by_product(n, d, d_ff) | {"feed-forward": 2 * n * d * d_ff + 2 * n * d_ff * d_ff}


def flops_in_a_tuple(n, d, d_ff):
    return 8 * n * d * d, 4 * n * n * d, 4 * n * d * d_ff


def flops_without_attention(n, d, d_ff):
    return {"projections": 8 * n * d * d, "feed-forward": 4 * n * d * d_ff}


def flops_of_n_cubed(n, d, d_ff):
    return flops_by_product(n, d, d_ff) | {"attention": 2 * n * d * n + 2 * n * n * n}


def flops_of_one_word_in_network(n, d, d_ff):
    return flops_by_product(n, d, d_ff) | {"feed-forward": 2 * d * d_ff + 2 * d_ff * d}


def flops_projections_twice(n, d, d_ff):
    projections = 4 * 2 * n * d * d
    return flops_by_product(n, d, d_ff) | {
        "projections": projections,
        "attention": projections + 2 * 2 * n * d * n,
    }


def flops_always_four_times(n, d, d_ff):
    return flops_by_product(n, d, 4 * d)


def flops_of_two_projections(n, d, d_ff):
    return flops_by_product(n, d, d_ff) | {"projections": 2 * 2 * n * d * d}


def flops_of_cells(n, d, d_ff):
    return flops_by_product(n, d, d_ff) | {"attention": 2 * 2 * n * n}


def flops_as_parameters(n, d, d_ff):
    return {"projections": 4 * d * d, "attention": 0, "feed-forward": d * d_ff + d_ff * d}


def flops_of_single_words(n, d, d_ff):
    return {"projections": 4 * 2 * d * d, "attention": 2 * 2 * n * d * n, "feed-forward": 2 * 2 * d * d_ff}


def flops_twice_two(n, d, d_ff):
    return flops_by(lambda rows, inner, columns: 2 * 2 * rows * inner * columns)(n, d, d_ff)


def flops_below_the_diagonal(n, d, d_ff):
    seen = sum(range(1, n + 1)) if n < 1000 else n * (n + 1) // 2
    return flops_by_product(n, d, d_ff) | {"attention": 2 * 2 * seen * d}


def flops_with_biases(n, d, d_ff):
    parts = flops_by_product(n, d, d_ff)
    parts["projections"] += 4 * n * d
    parts["feed-forward"] += n * d_ff + n * d
    return parts


def flops_in_32_bits(n, d, d_ff):
    parts = flops_by_product(*torch.tensor([n, d, d_ff], dtype=torch.int32))
    return {name: int(flops) for name, flops in parts.items()}


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


def attention_never_rescaled(blocks):
    maximum, total, output = -math.inf, 0, 0
    for scores, values in blocks:
        maximum = max(maximum, scores.max())
        weights = torch.exp(scores - maximum)
        total += weights.sum()
        output += weights @ values
    return output / total


def attention_scale_too_late(blocks):
    """The factor is computed after the maximum has been overwritten, so it is always 1."""
    maximum, total, output = torch.tensor(-math.inf), 0, 0
    for scores, values in blocks:
        maximum = torch.maximum(maximum, scores.max())
        scale = torch.exp(maximum - torch.maximum(maximum, scores.max()))
        weights = torch.exp(scores - maximum)
        total = scale * total + weights.sum()
        output = scale * output + weights @ values
    return output / total


def attention_rescales_output_only(blocks):
    maximum, total, output = torch.tensor(-math.inf), 0, 0
    for scores, values in blocks:
        new = torch.maximum(maximum, scores.max())
        weights = torch.exp(scores - new)
        total = total + weights.sum()
        output = output * torch.exp(maximum - new) + weights @ values
        maximum = new
    return output / total


def attention_rescales_sum_only(blocks):
    maximum, total, output = torch.tensor(-math.inf), 0, 0
    for scores, values in blocks:
        new = torch.maximum(maximum, scores.max())
        weights = torch.exp(scores - new)
        total = total * torch.exp(maximum - new) + weights.sum()
        output = output + weights @ values
        maximum = new
    return output / total


def attention_scaled_up(blocks):
    maximum, total, output = torch.tensor(-math.inf), torch.tensor(0.0), torch.zeros(blocks[0][1].shape[1])
    for scores, values in blocks:
        new = torch.maximum(maximum, scores.max())
        scale = torch.exp(new - maximum)
        weights = torch.exp(scores - new)
        total, output = total * scale + weights.sum(), output * scale + weights @ values
        maximum = new
    return output / total


def attention_scaled_up_from_0(blocks):
    maximum, total, output = torch.tensor(0.0), 0, 0
    for scores, values in blocks:
        new = torch.maximum(maximum, scores.max())
        scale = torch.exp(new - maximum)
        weights = torch.exp(scores - new)
        total, output = total * scale + weights.sum(), output * scale + weights @ values
        maximum = new
    return output / total


def attention_without_maximum(blocks):
    total, output = 0, 0
    for scores, values in blocks:
        total = total + scores.exp().sum()
        output = output + scores.exp() @ values
    return output / total


def attention_by_first_maximum(blocks):
    maximum, total, output = None, 0, 0
    for scores, values in blocks:
        if maximum is None:
            maximum = scores.max()
        weights = torch.exp(scores - maximum)
        total, output = total + weights.sum(), output + weights @ values
    return output / total


def attention_from_0(blocks):
    maximum, total, output = torch.tensor(0.0), 0, 0
    for scores, values in blocks:
        new = torch.maximum(maximum, scores.max())
        weights = torch.exp(scores - new)
        total = total * torch.exp(maximum - new) + weights.sum()
        output = output * torch.exp(maximum - new) + weights @ values
        maximum = new
    return output / total


def attention_keeps_minus_infinity(blocks):
    maximum, total, output = torch.tensor(-math.inf), 0, 0
    for scores, values in blocks:
        new = torch.maximum(maximum, scores.max())
        weights = torch.exp(scores - new)
        total = total * torch.exp(maximum - new) + weights.sum()
        output = output * torch.exp(maximum - new) + weights @ values
    return output / total


def attention_to_last_block(blocks):
    for scores, values in blocks:
        output = scores.softmax(0) @ values
    return output


def attention_by_block_maxima(blocks):
    total, output = 0, 0
    for scores, values in blocks:
        weights = torch.exp(scores - scores.max())
        total, output = total + weights.sum(), output + weights @ values
    return output / total


def attention_mean_of_blocks(blocks):
    outputs = [torch.softmax(scores, dim=0) @ values for scores, values in blocks]
    return sum(outputs) / len(outputs)


def attention_sum_of_blocks(blocks):
    return sum(torch.softmax(scores, dim=0) @ values for scores, values in blocks)


def attention_undivided(blocks):
    return attention_state(blocks)[2]


def attention_divides_always(blocks):
    maximum, total, output = torch.tensor(-math.inf), 0, 0
    for scores, values in blocks:
        new = torch.maximum(maximum, scores.max())
        weights = torch.exp(scores - new)
        total = total * torch.exp(maximum - new) + weights.sum()
        output = (output * torch.exp(maximum - new) + weights @ values) / total
        maximum = new
    return output


def attention_over_count(blocks):
    n, (_, _, output) = 0, attention_state(blocks)
    for scores, _ in blocks:
        n += len(scores)
    return output / n


def attention_returns_total(blocks):
    _, total, output = attention_state(blocks)
    return output / total, total


def attention_returns_both(blocks):
    _, total, output = attention_state(blocks)
    return output, total


def attention_of_all_blocks(blocks):
    scores = torch.cat([scores for scores, _ in blocks])
    values = torch.cat([values for _, values in blocks])
    return torch.softmax(scores, dim=0) @ values


def attention_by_block_maximum_rescaled(blocks):
    m, t, o = torch.tensor(-math.inf), 0.0, 0.0
    for s, v in blocks:
        c, w = torch.exp(m - s.max()), torch.exp(s - s.max())
        t, o = c * t + w.sum(), c * o + w @ v
        m = torch.maximum(m, s.max())
    return o / t


def attention_by_latest_maximum(blocks):
    m, t, o = torch.tensor(-math.inf), 0.0, 0.0
    for s, v in blocks:
        new = s.max()
        c, w = torch.exp(m - new), torch.exp(s - new)
        t, o, m = c * t + w.sum(), c * o + w @ v, new
    return o / t


def attention_by_maximum_of_each(blocks):
    m, t, o = torch.tensor(-math.inf), 0.0, 0.0
    for s, v in blocks:
        new = torch.maximum(m, s)
        c, w = torch.exp(m - new), torch.exp(s - new)
        t, o, m = c * t + w.sum(), c * o + w @ v, new
    return o / t


def attention_scaled_up_later(blocks):
    m = None
    for s, v in blocks:
        new = s.max() if m is None else max(m, s.max())
        w = (s - new).exp()
        if m is None:
            t, o = w.sum(), w @ v
        else:
            c = (new - m).exp()
            t, o = t * c + w.sum(), o * c + w @ v
        m = new
    return o / t


def attention_adds_1(blocks):
    m, t, o = torch.tensor(-math.inf), 0.0, 0.0
    for s, v in blocks:
        new = torch.maximum(m, s.max())
        c, w = torch.exp(m - new), torch.exp(s - new)
        t, o, m = c * t + 1, c * o + w @ v, new
    return o / t


def attention_by(update):
    """The loop; `update` gets the rescaled sums, the weights, values and scores, and returns new sums."""

    def attention(blocks):
        m, t, o = torch.tensor(-math.inf), 0.0, 0.0
        for s, v in blocks:
            new = torch.maximum(m, s.max())
            c = (m - new).exp()
            t, o = update(t * c, o * c, (s - new).exp(), v, s)
            m = new
        return o / t

    return attention


def attention_with_block_weights(blocks):
    m, t, o = torch.tensor(-math.inf), 0.0, 0.0
    for s, v in blocks:
        w = torch.exp(s - s.max())
        if s.max() > m:
            c = torch.exp(m - s.max())
            t, o, m = c * t, c * o, s.max()
        t, o = t + w.sum(), o + w @ v
    return o / t


def attention_scales_everything(blocks):
    m, t, o = torch.tensor(-math.inf), 0.0, 0.0
    for s, v in blocks:
        new = torch.maximum(m, s.max())
        t, o = t + torch.exp(s - new).sum(), o + torch.exp(s - new) @ v
        t, o = t * torch.exp(m - new), o * torch.exp(m - new)
        m = new
    return o / t


def attention_softmax_in_block(blocks):
    m, t, o = torch.tensor(-math.inf), 0.0, 0.0
    for s, v in blocks:
        new = torch.maximum(m, s.max())
        w = torch.softmax(s, dim=0)
        t, o = t * torch.exp(m - new) + w.sum(), o * torch.exp(m - new) + w @ v
        m = new
    return o / t


def attention_without_exp(blocks):
    m, t, o = torch.tensor(-math.inf), 0.0, 0.0
    for s, v in blocks:
        new = torch.maximum(m, s.max())
        t, o = t * torch.exp(m - new) + (s - new).sum(), o * torch.exp(m - new) + (s - new) @ v
        m = new
    return o / t


def attention_divides_twice(blocks):
    m, t, o = torch.tensor(-math.inf), 0.0, 0.0
    for s, v in blocks:
        new = torch.maximum(m, s.max())
        w = torch.exp(s - new)
        t, o = t * torch.exp(m - new) + w.sum(), o * torch.exp(m - new) + (w / w.sum()) @ v
        m = new
    return o / t


def attention_returns_in_loop(blocks):
    m, t, o = torch.tensor(-math.inf), 0.0, 0.0
    for s, v in blocks:
        new = torch.maximum(m, s.max())
        w = torch.exp(s - new)
        t, o = t * torch.exp(m - new) + w.sum(), o * torch.exp(m - new) + w @ v
        m = new
        return o / t


def attention_over_root(blocks):
    return attention_step_by_step((s / math.sqrt(v.shape[-1]), v) for s, v in blocks)


def attention_scale_without_exp(blocks):
    m, t, o = torch.tensor(-math.inf), 0.0, 0.0
    for s, v in blocks:
        new = torch.maximum(m, s.max())
        w = torch.exp(s - new)
        t, o = t * (m - new) + w.sum(), o * (m - new) + w @ v
        m = new
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


def same(x):
    return x


def reader_without_total(query, keys, values):
    return reader_with(divisor=lambda q, k, z, t: 1)(query, keys, values)


def reader_by_count(query, keys, values):
    return reader_with(divisor=lambda q, k, z, t: t + 1)(query, keys, values)


def reader_asks_first(query, keys, values):
    def divisor(q, k, z, t):
        return max(q @ z, torch.tensor(1e-9))

    return reader_with(divisor=divisor, ask_first=True)(query, keys, values)


def reader_asks_an_empty_state(query, keys, values):
    return reader_with(ask_first=True)(query, keys, values)


def reader_of_lists(query, keys, values):
    return reader_with(gather=list)(query, keys, values)


def reader_over_sum(query, keys, values):
    return reader_with(divisor=lambda q, k, z, t: z.sum())(query, keys, values)


def reader_over_own_weight(query, keys, values):
    return reader_with(divisor=lambda q, k, z, t: q @ k)(query, keys, values)


def reader_divides_by_old_z(query, keys, values):
    state, total, outputs = torch.zeros(keys.shape[1], values.shape[1]), torch.zeros(keys.shape[1]), []
    for q, k, v in zip(feature_map(query), feature_map(keys), values, strict=True):
        state = state + torch.outer(k, v)
        outputs.append(q @ state / (q @ total))
        total = total + k
    return torch.stack(outputs), state


def reader_uses_old_state(query, keys, values):
    state, total, outputs = torch.zeros(keys.shape[1], values.shape[1]), torch.zeros(keys.shape[1]), []
    for q, k, v in zip(feature_map(query), feature_map(keys), values, strict=True):
        total = total + k
        outputs.append(q @ state / (q @ total))
        state = state + torch.outer(k, v)
    return torch.stack(outputs), state


def reader_adds_raw_keys_to_z(query, keys, values):
    state, total, outputs = torch.zeros(keys.shape[1], values.shape[1]), torch.zeros(keys.shape[1]), []
    for q, k, v in zip(query, keys, values, strict=True):
        state = state + torch.outer(feature_map(k), v)
        total = total + k
        outputs.append(feature_map(q) @ state / (feature_map(q) @ total))
    return torch.stack(outputs), state


def reader_divides_by_raw_query(query, keys, values):
    state, total, outputs = torch.zeros(keys.shape[1], values.shape[1]), torch.zeros(keys.shape[1]), []
    for q, k, v in zip(query, feature_map(keys), values, strict=True):
        state, total = state + torch.outer(k, v), total + k
        outputs.append(feature_map(q) @ state / (q @ total))
    return torch.stack(outputs), state


def reader_asks_with_key(query, keys, values):
    state, total, outputs = torch.zeros(keys.shape[1], values.shape[1]), torch.zeros(keys.shape[1]), []
    for k, v in zip(feature_map(keys), values, strict=True):
        state, total = state + torch.outer(k, v), total + k
        outputs.append(k @ state / (k @ total))
    return torch.stack(outputs), state


def reader_multiplies_elements(query, keys, values):
    return reader_with(update=lambda q, k, v, state, total: (state + k * v, total + k))(query, keys, values)


def reader_returns_divided_state(query, keys, values):
    outputs, state = reader_by_table(query, keys, values)
    return outputs, state / feature_map(keys).sum(0).unsqueeze(1)


def reader_of_earlier_words_detached(query, keys, values):
    def update(q, k, v, state, total):
        return state.detach() + torch.outer(k, v), total.detach() + k

    return reader_with(update=update)(query, keys, values)


def reader_raw_keys(query, keys, values):
    return reader_with(phi=same)(query, keys, values)


def reader_raw_query(query, keys, values):
    return reader_with(phi_query=same)(query, keys, values)


def reader_without_map(query, keys, values):
    return reader_with(phi=same, phi_query=same)(query, keys, values)


def reader_of_all(query, keys, values):
    q, k = feature_map(query), feature_map(keys)
    state = k.T @ values
    return q @ state / (q @ k.sum(0))[:, None], state


def reader_outputs_only(query, keys, values):
    return reader_by_table(query, keys, values)[0]


def reader_outer_turned(query, keys, values):
    state, total = torch.zeros(values.shape[1], keys.shape[1]), torch.zeros(keys.shape[1])
    outputs = []
    for t in range(len(query)):
        q, k = feature_map(query[t]), feature_map(keys[t])
        state, total = state + torch.outer(values[t], k), total + k
        outputs.append(state @ q / (q @ total))
    return torch.stack(outputs), state


def reader_values_first(query, keys, values):
    def update(q, k, v, state, total):
        return state + torch.outer(v, k), total + k

    return reader_with(update=update)(query, keys, values)


def reader_without_parentheses(query, keys, values):
    state, total = torch.zeros(keys.shape[1], values.shape[1]), torch.zeros(keys.shape[1])
    outputs = []
    for q, k, v in zip(feature_map(query), feature_map(keys), values, strict=True):
        state += torch.outer(k, v)
        total += k
        outputs.append(q @ state / q @ total)
    return torch.stack(outputs), state


def reader_state_times_query(query, keys, values):
    state, total = torch.zeros(keys.shape[1], values.shape[1]), torch.zeros(keys.shape[1])
    outputs = []
    for q, k, v in zip(feature_map(query), feature_map(keys), values, strict=True):
        state += torch.outer(k, v)
        total += k
        outputs.append(state @ q / (q @ total))
    return torch.stack(outputs), state


def reader_overwrites(query, keys, values):
    outputs = []
    for t in range(len(query)):
        q, k = feature_map(query[t]), feature_map(keys[t])
        state = torch.outer(k, values[t])
        outputs.append(q @ state / (q @ k))
    return torch.stack(outputs), state


def reader_clamped(query, keys, values):
    return reader_with(divisor=lambda q, k, z, t: max(q @ z, torch.tensor(1.0)))(query, keys, values)


def reader_adds_queries(query, keys, values):
    def update(q, k, v, state, total):
        return state + k[:, None] * v, total + q

    return reader_with(update=update)(query, keys, values)


def reader_table_of_queries(query, keys, values):
    def update(q, k, v, state, total):
        return state + q[:, None] * v, total + k

    return reader_with(update=update)(query, keys, values)


def reader_divides_state(query, keys, values):
    def update(q, k, v, state, total):
        total = total + k
        return (state + torch.outer(k, v)) / (q @ total), total

    return reader_with(update=update, divisor=lambda q, k, z, t: 1)(query, keys, values)


def reader_maps_values(query, keys, values):
    return reader_by_table(query, keys, F.elu(values) + 1)


def reader_of_elu(query, keys, values):
    return reader_with(phi=F.elu, phi_query=F.elu)(query, keys, values)


def reader_by_softmax(query, keys, values):
    scores = query @ keys.T / keys.shape[1] ** 0.5
    weights = scores.masked_fill(torch.ones_like(scores).triu(1).bool(), -torch.inf).softmax(-1)
    return weights @ values, feature_map(keys).T @ values


def reader_overwrites_table(query, keys, values):
    def update(q, k, v, state, total):
        return torch.outer(k, v), total + k

    return reader_with(update=update)(query, keys, values)


def reader_every_state(query, keys, values):
    states = [reader_by_table(query[:t], keys[:t], values[:t])[1] for t in range(1, len(query) + 1)]
    return reader_by_table(query, keys, values)[0], torch.stack(states)


def reader_with_total(query, keys, values):
    return *reader_by_table(query, keys, values), feature_map(keys).sum(0)


def reader_divides_rows(query, keys, values):
    k = feature_map(keys)
    outputs = []
    for t in range(len(query)):
        means = k[: t + 1].T @ values[: t + 1] / k[: t + 1].sum(0)[:, None]
        outputs.append(feature_map(query[t]) @ means)
    return torch.stack(outputs), k.T @ values


def reader_maps_twice(query, keys, values):
    return reader_by_table(feature_map(query), feature_map(keys), values)


def reader_of_exp(query, keys, values):
    return reader_with(phi=torch.exp, phi_query=torch.exp)(query, keys, values)


def reader_of_relu(query, keys, values):
    return reader_with(phi=torch.relu, phi_query=torch.relu)(query, keys, values)


def reader_scaled(query, keys, values):
    return reader_by_table(query / keys.shape[1] ** 0.5, keys, values)


def reader_last_output(query, keys, values):
    outputs, state = reader_by_table(query, keys, values)
    return outputs[-1], state


def reader_state_first(query, keys, values):
    outputs, state = reader_by_table(query, keys, values)
    return state, outputs


def reader_square_state(query, keys, values):
    d = keys.shape[1]
    state, total, outputs = torch.zeros(d, d), torch.zeros(d), []
    for q, k, v in zip(feature_map(query), feature_map(keys), values, strict=True):
        state, total = state + torch.outer(k, v), total + k
        outputs.append(q @ state / (q @ total))
    return torch.stack(outputs), state


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


def bytes_of_keys(n_words, n_layers, d_model, n_heads, n_kv_heads, bytes_each):
    return n_layers * n_words * n_kv_heads * (d_model // n_heads) * bytes_each


def bytes_of_all_heads(n_words, n_layers, d_model, n_heads, n_kv_heads, bytes_each):
    return 2 * n_layers * n_words * d_model * bytes_each


def bytes_with_queries(n_words, n_layers, d_model, n_heads, n_kv_heads, bytes_each):
    d_k = d_model // n_heads
    return (2 * n_kv_heads + n_heads) * d_k * n_layers * n_words * bytes_each


def bytes_forgotten(n_words, n_layers, d_model, n_heads, n_kv_heads, bytes_each):
    return 2 * n_layers * n_words * n_kv_heads * (d_model // n_heads)


def bytes_of_a_layer(n_words, n_layers, d_model, n_heads, n_kv_heads, bytes_each):
    return 2 * n_words * n_kv_heads * (d_model // n_heads) * bytes_each


def bytes_of_a_group(n_words, n_layers, d_model, n_heads, n_kv_heads, bytes_each):
    d_k, group = d_model // n_heads, n_heads // n_kv_heads
    return 2 * n_layers * n_words * group * d_k * bytes_each


def bytes_without_the_two(n_words, n_layers, d_model, n_heads, n_kv_heads, bytes_each):
    return n_layers * n_words * d_model * bytes_each


def bytes_of_three(n_words, n_layers, d_model, n_heads, n_kv_heads, bytes_each):
    return 3 * n_layers * n_words * n_kv_heads * (d_model // n_heads) * bytes_each


def bytes_of_scores(n_words, n_layers, d_model, n_heads, n_kv_heads, bytes_each):
    return 2 * n_layers * n_words * n_words * n_kv_heads * bytes_each


def bytes_of_wide_heads(n_words, n_layers, d_model, n_heads, n_kv_heads, bytes_each):
    return 2 * n_layers * n_words * n_kv_heads * d_model * bytes_each


def bytes_rounded_to_zero(n_words, n_layers, d_model, n_heads, n_kv_heads, bytes_each):
    share = n_kv_heads // n_heads
    return 2 * n_layers * n_words * d_model * share * bytes_each


def bytes_of_floats(n_words, n_layers, d_model, n_heads, n_kv_heads, bytes_each):
    return 2 * n_layers * n_words * n_kv_heads * (d_model // n_heads) * 4


def bytes_of_unshared_values(n_words, n_layers, d_model, n_heads, n_kv_heads, bytes_each):
    keys, values = n_kv_heads * (d_model // n_heads), d_model
    return n_layers * n_words * (keys + values) * bytes_each


def bytes_of_a_word(n_words, n_layers, d_model, n_heads, n_kv_heads, bytes_each):
    return 2 * n_layers * n_kv_heads * (d_model // n_heads) * bytes_each


def bytes_of_one_head(n_words, n_layers, d_model, n_heads, n_kv_heads, bytes_each):
    return 2 * n_layers * n_words * (d_model // n_heads) * bytes_each


def bytes_twice(n_words, n_layers, d_model, n_heads, n_kv_heads, bytes_each):
    return 2 * 2 * n_layers * n_words * n_kv_heads * (d_model // n_heads) * bytes_each


def bytes_in_32_bits(n_words, n_layers, d_model, n_heads, n_kv_heads, bytes_each):
    sizes = torch.tensor([2, n_layers, n_words, n_kv_heads, d_model // n_heads, bytes_each])
    return int(sizes.prod(dtype=torch.int32))


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
        (flops_without_additions, "multiplications-only"),
        (flops_of_qkv, "three-matrices"),
        (flops_of_scores, "half-of-attention"),
        (flops_one_layer, "half-of-feed-forward"),
        (flops_linear_in_n, "n-once"),
        (flops_as_total, "total-only"),
        (flops_square_in_d, None),
        (flops_with_softmax, None),
        (flops_with_exponentials, "with-softmax"),
        (flops_each_product_once, "half-of-both"),
        (flops_sum_as_projection, "one-product-with-d-d"),
        (flops_not_back, "d-ff-twice"),
        (flops_in_a_tuple, "without-names"),
        (flops_without_attention, "attention-forgotten"),
        (flops_of_n_cubed, "n-three-times"),
        (flops_of_one_word_in_network, "feed-forward-of-one-word"),
        (flops_in_32_bits, "overflow"),
        (flops_of_single_words, "n-forgotten"),
        (flops_twice_two, "doubled"),
        (flops_below_the_diagonal, "causal"),
        (flops_with_biases, "with-biases"),
        (flops_with_b_minus_1, "one-addition-less"),
        (flops_w_o_with_attention, "w-o-in-attention"),
        (flops_other_key, "underscore"),
        (flops_and_total, "with-total"),
        (flops_of_heads, "heads-as-wide-as-d"),
        (flops_projections_twice, "projections-twice"),
        (flops_always_four_times, "d-ff-not-used"),
        (flops_of_two_projections, "half-of-the-projections"),
        (flops_of_cells, "without-the-width"),
        (flops_as_parameters, "counts-parameters"),
        (lambda n, d, d_ff: flops_by_product(n, d, d_ff) | {"projections": 2 * n * d * d}, "one-projection"),
        (lambda n, d, d_ff: {part: flops / n for part, flops in count(n, d, d_ff).items()}, "one-word"),
    ],
    "running_attention": [
        (attention_never_rescaled, "never-rescaled"),
        (attention_scale_too_late, "never-rescaled"),
        (attention_rescales_output_only, "total-not-rescaled"),
        (attention_rescales_sum_only, "output-not-rescaled"),
        (attention_scaled_up, "wrong-direction"),
        (attention_scaled_up_from_0, "wrong-direction-from-0"),
        (attention_scaled_up_later, "wrong-direction-later"),
        (attention_by_latest_maximum, "maximum-falls"),
        (attention_by_maximum_of_each, "maximum-of-each-score"),
        (attention_adds_1, None),
        (attention_by(lambda t, o, w, v, s: (w.sum(), w @ v)), "overwritten"),
        (attention_by(lambda t, o, w, v, s: (w.sum(), o + w @ v)), "total-overwritten"),
        (attention_by(lambda t, o, w, v, s: (t + w.sum(), w @ v)), "output-overwritten"),
        (attention_by(lambda t, o, w, v, s: (t + w, o + w @ v)), "total-without-sum"),
        (attention_by(lambda t, o, w, v, s: (t + w.sum(), o + (w * v.T).T)), "not-summed-over-keys"),
        (attention_by(lambda t, o, w, v, s: (t + w.sum(), o + w * v)), "component-by-component"),
        (attention_by(lambda t, o, w, v, s: (t + w.sum(), o + v @ w)), "values-first"),
        (
            attention_by(lambda t, o, w, v, s: (t + s.exp().sum(), o + s.exp() @ v)),
            "maximum-only-in-the-factor",
        ),
        (attention_without_maximum, "no-maximum"),
        (attention_by_first_maximum, "first-maximum"),
        (attention_from_0, "starts-at-0"),
        (attention_keeps_minus_infinity, "last-block"),
        (attention_to_last_block, "last-block"),
        (attention_by_block_maxima, "block-maximum"),
        (attention_by_block_maximum_rescaled, "refers-to-the-block"),
        (attention_with_block_weights, "own-weights"),
        (attention_scales_everything, "new-terms-scaled"),
        (attention_softmax_in_block, "softmax-in-the-block"),
        (attention_without_exp, "no-exp"),
        (attention_divides_twice, "divided-twice"),
        (attention_returns_in_loop, "first-block"),
        (attention_over_root, "scaled-scores"),
        (attention_scale_without_exp, "wrong-direction"),
        (attention_in_64_bits_without_maximum, None),
        (attention_clamped, None),
        (attention_mean_of_blocks, "mean-of-blocks"),
        (attention_sum_of_blocks, "sum-of-blocks"),
        (attention_undivided, "not-divided"),
        (attention_divides_always, "divided-at-every-block"),
        (attention_over_count, "over-the-count"),
        (attention_returns_total, "returns-the-state"),
        (attention_returns_both, "returns-both-sums"),
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
        (reader_without_total, "undivided"),
        (reader_by_count, "over-the-count"),
        (reader_asks_first, "asks-before-writing"),
        (reader_raw_query, "raw-query"),
        (reader_without_map, "no-feature-map"),
        (reader_of_all, "sees-everything"),
        (reader_outputs_only, "outputs-only"),
        (reader_with_total, "with-z"),
        (reader_last_output, "last-output-only"),
        (reader_state_first, "state-first"),
        (reader_divides_rows, "divides-rows"),
        (reader_maps_twice, "mapped-twice"),
        (reader_of_exp, "exp"),
        (reader_of_relu, "relu"),
        (reader_scaled, "scaled"),
        (reader_outer_turned, "transposed-state"),
        (reader_values_first, "outer-turned"),
        (reader_with(divisor=lambda q, k, z, t: k @ z), "key-in-divisor"),
        (reader_with(divisor=lambda q, k, z, t: z), "over-each-component-of-z"),
        (reader_without_parentheses, "no-parentheses"),
        (reader_state_times_query, "state-times-query"),
        (reader_with(divisor=lambda q, k, z, t: 1 / (q @ z)), "multiplied"),
        (reader_with(gather=torch.cat), "concatenated"),
        (reader_overwrites, "forgets"),
        (reader_overwrites_table, "forgets-s"),
        (reader_clamped, "divisor-at-least-1"),
        (reader_adds_queries, "z-of-queries"),
        (reader_table_of_queries, "s-of-queries"),
        (reader_divides_state, "divides-the-state"),
        (reader_maps_values, "mapped-values"),
        (reader_of_elu, "elu-alone"),
        (reader_by_softmax, "softmax"),
        (reader_every_state, "every-state"),
        (reader_square_state, "square-state"),
        (reader_asks_an_empty_state, "asks-an-empty-state"),
        (reader_of_lists, "wrong-form"),
        (reader_over_sum, "over-the-sum-of-z"),
        (reader_divides_by_old_z, "z-one-behind"),
        (reader_uses_old_state, "s-one-behind"),
        (reader_adds_raw_keys_to_z, "z-of-raw-keys"),
        (reader_divides_by_raw_query, "raw-query-in-divisor"),
        (reader_asks_with_key, "asks-with-the-key"),
        (reader_multiplies_elements, "no-outer-product"),
        (reader_returns_divided_state, "returns-a-divided-state"),
        (reader_of_earlier_words_detached, "wrong-gradient"),
        (reader_over_own_weight, "over-this-word"),
        (reader_raw_keys, "raw-keys"),
    ],
    "cache_bytes": [
        (bytes_as_found, "unrepaired"),
        (bytes_of_keys, "keys-only"),
        (bytes_of_all_heads, "unrepaired"),
        (bytes_with_queries, "with-queries"),
        (bytes_forgotten, "counts-numbers"),
        (bytes_of_a_layer, "one-layer"),
        (bytes_of_a_group, "size-of-a-group"),
        (bytes_without_the_two, "half-of-the-first-version"),
        (bytes_twice, "doubled"),
        (bytes_of_three, "three-of-each"),
        (bytes_of_scores, "table-of-scores"),
        (bytes_of_wide_heads, "as-wide-as-the-model"),
        (bytes_rounded_to_zero, "rounded-to-zero"),
        (bytes_of_floats, "always-4-bytes"),
        (bytes_of_unshared_values, "only-one-is-shared"),
        (bytes_of_a_word, "one-word"),
        (bytes_of_one_head, "one-head"),
        (bytes_in_32_bits, "overflow"),
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
