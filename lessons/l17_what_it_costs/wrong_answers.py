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


def reader_with(
    *,
    divisor=lambda q, k, z, t: q @ z,
    phi=feature_map,
    phi_query=feature_map,
    gather=torch.stack,
    ask_first=False,
):
    """A reader's loop, with one part written in another way."""

    def read(query, keys, values):
        state, total = torch.zeros(keys.shape[1], values.shape[1]), torch.zeros(keys.shape[1])
        outputs = []
        for t in range(len(query)):
            q, k = phi_query(query[t]), phi(keys[t])
            if ask_first:
                outputs.append(q @ state / divisor(q, k, total, t))
            state, total = state + torch.outer(k, values[t]), total + k
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
        (flops_of_scores, "scores-without-mix"),
        (flops_one_layer, "one-way-only"),
        (flops_linear_in_n, "n-once"),
        (flops_as_total, None),
        (flops_square_in_d, None),
        (flops_with_b_minus_1, "one-addition-less"),
        (flops_w_o_with_attention, "w-o-in-attention"),
        (flops_other_key, "spelt like this"),
        (lambda n, d, d_ff: count(n, d, d_ff) | {"projections": 2 * n * d * d}, "one-projection"),
        (lambda n, d, d_ff: {part: flops / n for part, flops in count(n, d, d_ff).items()}, "one-word"),
    ],
    "test_nearby": [
        (neighbours_of_two_words, "lets-through"),
        (neighbours_of_whole_blocks, "one that gives nothing to the words after the last whole block"),
        (neighbours_of_equal_words, "lets-through"),
        (neighbours_in_the_middle, "one that joins both ends into a ring"),
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
        (reader_outputs_only, None),
        (reader_outer_turned, None),
        (reader_overwrites, "forgets"),
        (reader_asks_an_empty_state, "asks-an-empty-state"),
        (reader_of_lists, "torch.stack"),
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
        (bytes_without_the_two, "differs from the worked example"),
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
    "linear_reader": [reader_by_table, reader_by_steps, reader_in_place, reader_with_ones],
    "cache_bytes": [bytes_repaired, bytes_by_group, bytes_of_a_tensor],
    "choose_heads": [heads_narrow_first, heads_wide_first, heads_that_use_most, heads_as_floats],
}
