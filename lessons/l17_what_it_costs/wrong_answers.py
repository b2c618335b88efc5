"""Answers to lesson 17 as learners write them: wrong ones with what the message must say, and right ones."""

from __future__ import annotations

import torch
from torch.nn import functional as F

from course_lib.layers.attention import attend
from lessons.l17_what_it_costs.exercises import count, random
from lessons.l17_what_it_costs.linear_attention import feature_map, linear_start, linear_step
from lessons.l17_what_it_costs.restricted import window_mask

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


# ---- test_nearby


def expected_nearby(n, radius):
    """Random queries, keys and values, and what a mask gives for them."""
    query, keys, values = random(3, n, 4)
    context, _ = attend(query, keys, values, mask=window_mask(n, radius))
    return query, keys, values, context


def compare(nearby, n, radius):
    query, keys, values, expected = expected_nearby(n, radius)
    torch.testing.assert_close(nearby(query, keys, values, radius), expected)


def neighbours_of_two_words(nearby):
    compare(nearby, 2, 3)


def neighbours_of_whole_blocks(nearby):
    compare(nearby, 8, 2)


def neighbours_of_equal_words(nearby):
    same, values = torch.zeros(7, 4), torch.ones(7, 4)
    torch.testing.assert_close(nearby(same, same, values, 2), values)


def neighbours_in_the_middle(nearby):
    query, keys, values, expected = expected_nearby(7, 2)
    torch.testing.assert_close(nearby(query, keys, values, 2)[3], expected[3])


def neighbours_by_shape(nearby):
    assert nearby(torch.zeros(7, 4), torch.zeros(7, 4), torch.zeros(7, 4), 2).shape == (7, 4)


def neighbours_to_the_bit(nearby):
    query, keys, values = random(3, 7, 4)
    weights = (query @ keys.T / 2).masked_fill(~window_mask(7, 2), -torch.inf).softmax(-1)
    assert torch.equal(nearby(query, keys, values, 2) + 1e-7, weights @ values)


def neighbours_returned(nearby):
    query, keys, values, expected = expected_nearby(7, 2)
    return torch.allclose(nearby(query, keys, values, 2), expected, atol=1e-5)


def neighbours_at_several_sizes(nearby):
    for n, radius in ((5, 1), (7, 2), (10, 3)):
        compare(nearby, n, radius)


def neighbours_by_means(nearby):
    """Equal scores, so each blend is a mean; values that tell every sum apart."""
    same, values = torch.zeros(7, 2), 2.0 ** torch.arange(7)[:, None]
    means = [values[max(0, i - 2) : i + 3].mean(0) for i in range(7)]
    torch.testing.assert_close(nearby(query=same, keys=same, values=values, radius=2), torch.stack(means))


def neighbours_by_one_large_word(nearby):
    """A changed value may change the output of its neighbours only."""
    query, keys, values = random(3, 7, 4)
    before = nearby(query, keys, values, 2)
    for j in range(7):
        larger = values.clone()
        larger[j] += 10
        changed = (nearby(query, keys, larger, 2) - before).abs().sum(-1) > 1e-4
        assert changed.tolist() == [abs(i - j) <= 2 for i in range(7)]
    ones = torch.ones(7, 4)
    assert torch.allclose(nearby(query, keys, ones, 2), ones, atol=1e-5)


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


def bytes_of_a_tensor(n_words, n_layers, d_model, n_heads, n_kv_heads, bytes_each):
    keys = torch.empty(n_layers, n_kv_heads, n_words, d_model // n_heads, device="meta")
    return 2 * keys.numel() * bytes_each


# ---- choose_heads


def size_of(n_words, n_layers, d_k, n_kv_heads, bytes_each):
    return 2 * n_layers * n_words * n_kv_heads * d_k * bytes_each


def heads_shared_by_all(budget, n_words, n_layers, d_model, bytes_each):
    return d_model // 64, 1


def heads_unshared(budget, n_words, n_layers, d_model, bytes_each):
    return d_model // 64, d_model // 64


def heads_turned(budget, n_words, n_layers, d_model, bytes_each):
    return heads_of(*range(128, 31, -1))(budget, n_words, n_layers, d_model, bytes_each)[::-1]


def heads_too_narrow(budget, n_words, n_layers, d_model, bytes_each):
    return heads_of(8)(budget, n_words, n_layers, d_model, bytes_each)


def heads_that_do_not_divide(budget, n_words, n_layers, d_model, bytes_each):
    n_heads = d_model // 64
    return n_heads, min(n_heads, int(budget // size_of(n_words, n_layers, 64, 1, bytes_each)) or 1)


def heads_of_64_only(budget, n_words, n_layers, d_model, bytes_each):
    n_heads = d_model // 64
    fits = [k for k in range(1, n_heads + 1) if n_heads % k == 0]
    fits = [k for k in fits if size_of(n_words, n_layers, 64, k, bytes_each) <= budget]
    return n_heads, max(fits, default=1)


def heads_of_32_that_do_not_divide(budget, n_words, n_layers, d_model, bytes_each):
    n_heads = kv = d_model // 32
    while size_of(n_words, n_layers, d_model // n_heads, kv, bytes_each) > budget:
        kv -= 1
    return n_heads, kv


def heads_of_32(budget, n_words, n_layers, d_model, bytes_each):
    n_heads = d_model // 32
    for kv in range(n_heads, 0, -1):
        if n_heads % kv == 0 and size_of(n_words, n_layers, d_model // n_heads, kv, bytes_each) <= budget:
            return n_heads, kv


def heads_strictly_less(budget, n_words, n_layers, d_model, bytes_each):
    return heads_of(*range(128, 31, -1))(budget - 1, n_words, n_layers, d_model, bytes_each)


def heads_searched_for_64(budget, n_words, n_layers, d_model, bytes_each):
    return heads_of(64)(budget, n_words, n_layers, d_model, bytes_each)


def heads_as_floats(budget, n_words, n_layers, d_model, bytes_each):
    n_heads, kv = heads_wide_first(budget, n_words, n_layers, d_model, bytes_each)
    return float(n_heads), float(kv)


def heads_one_number(budget, n_words, n_layers, d_model, bytes_each):
    return d_model // 64


def heads_of(*widths):
    def choose(budget, n_words, n_layers, d_model, bytes_each):
        for width in widths:
            n_heads = d_model // width
            if n_heads * width != d_model:
                continue
            for k in range(n_heads, 0, -1):
                if n_heads % k == 0 and size_of(n_words, n_layers, width, k, bytes_each) <= budget:
                    return n_heads, k

    return choose


def heads_narrow_first(budget, n_words, n_layers, d_model, bytes_each):
    return heads_of(*range(32, 129))(budget, n_words, n_layers, d_model, bytes_each)


def heads_wide_first(budget, n_words, n_layers, d_model, bytes_each):
    return heads_of(*range(128, 31, -1))(budget, n_words, n_layers, d_model, bytes_each)


def heads_that_use_most(budget, n_words, n_layers, d_model, bytes_each):
    fitting = []
    for n_heads in range(1, d_model + 1):
        for k in range(1, n_heads + 1):
            width = d_model // n_heads
            whole = d_model % n_heads == 0 and n_heads % k == 0 and 32 <= width <= 128
            if whole and size_of(n_words, n_layers, width, k, bytes_each) <= budget:
                fitting.append((width * k, n_heads, k))
    _, n_heads, k = max(fitting)
    return n_heads, k


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
    "test_nearby": [
        (neighbours_of_two_words, "lets-through"),
        (neighbours_of_whole_blocks, "lets-through"),
        (neighbours_of_equal_words, "lets-through"),
        (neighbours_in_the_middle, "lets-through"),
        (neighbours_by_shape, "lets-through"),
        (neighbours_to_the_bit, "rejects-the-right-one"),
        (neighbours_returned, "returns-instead"),
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
    "choose_heads": [
        (heads_shared_by_all, "shares more than it must"),
        (heads_unshared, "the budget is"),
        (heads_turned, "shared out evenly"),
        (heads_too_narrow, "from 32 to 128 are wanted"),
        (heads_that_do_not_divide, None),
        (heads_of_64_only, "the budget is"),
        (heads_one_number, None),
        (heads_of_32_that_do_not_divide, "shared out evenly"),
        (heads_of_32, "shared out evenly"),
        (heads_strictly_less, "shares more than it must"),
        (heads_searched_for_64, "your search found nothing"),
    ],
}

RIGHT = {
    "block_flops": [flops_by_product, flops_by_word, flops_other_order],
    "test_nearby": [neighbours_at_several_sizes, neighbours_by_means, neighbours_by_one_large_word],
    "linear_reader": [
        reader_by_table,
        reader_by_steps,
        reader_in_place,
        reader_with_ones,
        reader_with_epsilon,
    ],
    "cache_bytes": [bytes_repaired, bytes_by_group, bytes_of_a_tensor],
    "choose_heads": [heads_narrow_first, heads_wide_first, heads_that_use_most, heads_as_floats],
}
