"""Answers to the exercises of lesson 05, as learners write them: wrong, with what must be said, and right.

Each wrong one has the slip that must be named (None if there is none) or a part of the verdict.
"""

import itertools

import torch
import torch.nn.functional as F


def random_inputs(width):
    """Six words of four channels, and a kernel of this width."""
    generator = torch.Generator().manual_seed(1)
    return [torch.randn(shape, generator=generator) for shape in ((6, 4), (width, 4, 5))]


def with_gaps(widths):
    """The widths, and dilations that waste no way."""
    gaps = [1]
    for width in widths[:-1]:
        gaps.append(gaps[-1] * width)
    return list(widths), gaps


# --- one convolution


def flipped_by_index(words, kernel):
    width = len(kernel)
    rows = [
        sum(words[t + j] @ kernel[width - 1 - j] for j in range(width)) for t in range(len(words) - width + 1)
    ]
    return torch.stack(rows)


def overwritten(words, kernel):
    n = len(words) - len(kernel) + 1
    for place in range(len(kernel)):
        outputs = words[place : place + n] @ kernel[place]
    return outputs


def one_window_short(words, kernel):
    n = len(words) - len(kernel)
    return sum(words[place : place + n] @ kernel[place] for place in range(len(kernel)))


def as_many_as_words(words, kernel):
    padded = F.pad(words, (0, 0, len(kernel) - 1, 0))
    return sum(padded[place : place + len(words)] @ kernel[place] for place in range(len(kernel)))


def matrices_added_first(words, kernel):
    n = len(words) - len(kernel) + 1
    return sum(words[place : place + n] for place in range(len(kernel))) @ kernel.sum(0)


def averaged(words, kernel):
    return windows_by_unfold(words, kernel) / kernel.shape[0]


def lists_of_numbers(words, kernel):
    n = len(words) - len(kernel) + 1
    rows = [sum(words[t + j] @ kernel[j] for j in range(len(kernel))).tolist() for t in range(n)]
    return torch.tensor(rows)


def kernel_the_other_way(words, kernel):
    return F.conv1d(words.T[None], kernel)[0].T


def windows_by_unfold(words, kernel):
    return torch.einsum("tck,kco->to", words.unfold(0, len(kernel), 1), kernel)


def windows_by_loop(words, kernel):
    rows = []
    for start in range(len(words) - len(kernel) + 1):
        window = words[start : start + len(kernel)]
        rows.append((window[:, :, None] * kernel).sum(dim=(0, 1)))
    return torch.stack(rows)


def windows_by_conv1d(words, kernel):
    return F.conv1d(words.T.unsqueeze(0), kernel.permute(2, 1, 0)).squeeze(0).T


def windows_flat(words, kernel):
    width = len(kernel)
    stacked = torch.cat([words[j : len(words) - width + 1 + j] for j in range(width)], dim=1)
    return stacked @ kernel.reshape(-1, kernel.shape[-1])


# --- receptive fields


def field_loop(widths, dilations):
    seen, out = 1, []
    for i in range(len(widths)):
        seen += (widths[i] - 1) * dilations[i]
        out.append(seen)
    return out


def field_sums(widths, dilations):
    return [
        1 + sum((w - 1) * d for w, d in list(zip(widths, dilations, strict=True))[: i + 1])
        for i in range(len(widths))
    ]


def field_tensor(widths, dilations):
    return 1 + torch.cumsum((torch.tensor(widths) - 1) * torch.tensor(dilations), 0)


def ignores_gaps(widths, dilations):
    return [1 + sum(w - 1 for w in widths[: i + 1]) for i in range(len(widths))]


def whole_widths(widths, dilations):
    total, out = 0, []
    for w, d in zip(widths, dilations, strict=True):
        total += w * d
        out.append(total)
    return out


def only_the_last(widths, dilations):
    return 1 + sum((w - 1) * d for w, d in zip(widths, dilations, strict=True))


def products(widths, dilations):
    out, seen = [], 1
    for w in widths:
        seen *= w
        out.append(seen)
    return out


def twice_per_side(widths, dilations):
    return [2 * seen - 1 for seen in field_loop(widths, dilations)]


def from_zero(widths, dilations):
    return [seen - 1 for seen in field_loop(widths, dilations)]


def dilations_after(widths, dilations):
    return [seen * d for seen, d in zip(ignores_gaps(widths, dilations), dilations, strict=True)]


# --- the cheapest stack


def threes(n_words):
    widths = [3]
    while 3 ** len(widths) < n_words:
        widths.append(3)
    return with_gaps(widths)


def one_wide_layer(n_words):
    return [n_words], [1]


def two_words(n_words):
    return [2], [n_words - 1]


def doubling(n_words):
    widths = [2]
    while 2 ** len(widths) < n_words:
        widths.append(2)
    return with_gaps(widths)


def only_forty(n_words):
    return [5, 3, 3], [1, 5, 15]


def too_short(n_words):
    return [2, 2], [1, 2]


def one_dilation_missing(n_words):
    return [5, 3, 3], [1, 5]


def one_list(n_words):
    return [5, 3, 3]


def half_widths(n_words):
    return [n_words**0.5, n_words**0.5], [1, n_words**0.5]


def by_all_designs(n_words):
    best = None
    for layers in range(1, 6):
        for widths in itertools.combinations_with_replacement(range(2, 11), layers):
            product = 1
            for width in widths:
                product *= width
            if product >= n_words and (best is None or sum(widths) < sum(best)):
                best = widths
    return with_gaps(best)


def by_recursion(n_words):
    def best(n):
        if n <= 1:
            return []
        found = [[k, *best(-(-n // k))] for k in range(2, min(n, 6) + 1)]
        return min(found, key=sum)

    return with_gaps(best(n_words))


def by_table(n_words):
    return with_gaps({40: [4, 4, 3], 9: [3, 3], 100: [3, 3, 3, 4], 2: [2]}[n_words])


# --- looking back only


def zeros_behind(words, kernel):
    padded = torch.cat([words, words.new_zeros(len(kernel) - 1, words.shape[1])])
    return windows_by_unfold(padded, kernel)


def one_zero_too_few(words, kernel):
    n, width = len(words), len(kernel)
    padded = torch.cat([words.new_zeros(max(width - 2, 0), words.shape[1]), words, words[:1] * 0])
    return windows_by_unfold(padded[len(padded) - n - width + 1 :], kernel)


def too_few_rows(words, kernel):
    return windows_by_unfold(words, kernel)


def rolled(words, kernel):
    width = len(kernel)
    return sum(torch.roll(words, width - 1 - j, 0) @ kernel[j] for j in range(width))


def one_too_many(words, kernel):
    padded = torch.cat([words.new_zeros(len(kernel), words.shape[1]), words])
    return windows_by_unfold(padded, kernel)[:-1]


def repeated_first(words, kernel):
    padded = torch.cat([words[:1]] * (len(kernel) - 1) + [words])
    return windows_by_unfold(padded, kernel)


def centred_again(words, kernel):
    left = (len(kernel) - 1) // 2
    padded = F.pad(words.T, (left, len(kernel) - 1 - left)).T
    return windows_by_unfold(padded, kernel)


def back_by_pad(words, kernel):
    return windows_by_unfold(F.pad(words, (0, 0, len(kernel) - 1, 0)), kernel)


def back_by_conv1d(words, kernel):
    weight = kernel.permute(2, 1, 0)
    return F.conv1d(words.T[None], weight, padding=len(kernel) - 1)[0].T[: len(words)]


def back_by_loop(words, kernel):
    rows = []
    for now in range(len(words)):
        row = torch.zeros(kernel.shape[2])
        for back in range(min(len(kernel), now + 1)):
            row = row + words[now - back] @ kernel[len(kernel) - 1 - back]
        rows.append(row)
    return torch.stack(rows)


# --- tests of it


def test_by_formula(convolution):
    for width in (1, 2, 3, 5):
        words, kernel = random_inputs(width)
        torch.testing.assert_close(convolution(words, kernel), back_by_pad(words, kernel))


def only_width_three(convolution):
    words, kernel = random_inputs(3)
    torch.testing.assert_close(convolution(words, kernel), back_by_pad(words, kernel))


def test_by_hand(convolution):
    words = torch.tensor([[1.0], [2.0], [4.0], [8.0]])
    kernel = torch.tensor([[[100.0]], [[10.0]], [[1.0]]])
    assert convolution(words, kernel).flatten().tolist() == [1.0, 12.0, 124.0, 248.0]
    assert convolution(words, kernel[1:]).flatten().tolist() == [1.0, 12.0, 24.0, 48.0]


def test_by_changes(convolution):
    words, kernel = random_inputs(4)
    before = convolution(words, kernel)
    for place in range(6):
        changed = words.clone()
        changed[place] += 1
        moved = (convolution(changed, kernel) - before).abs().sum(-1) > 1e-4
        assert moved.tolist() == [place <= now < place + 4 for now in range(6)]
    torch.testing.assert_close(before[0], words[0] @ kernel[-1])


def only_shape(convolution):
    words, kernel = random_inputs(3)
    assert convolution(words, kernel).shape == (6, 5)


def only_the_future(convolution):
    words, kernel = random_inputs(3)
    before = convolution(words, kernel)
    words[4:] += 1
    assert torch.allclose(convolution(words, kernel)[:4], before[:4], atol=1e-5)


def width_one(convolution):
    words, kernel = random_inputs(1)
    torch.testing.assert_close(convolution(words, kernel), words @ kernel[0])


def says_false(convolution):
    words, kernel = random_inputs(3)
    return torch.allclose(convolution(words, kernel), back_by_pad(words, kernel))


def wants_centred(convolution):
    words, kernel = random_inputs(3)
    torch.testing.assert_close(convolution(words, kernel), centred_again(words, kernel))


def never_calls(convolution):
    assert convolution is not None


WRONG = {
    "convolve_words": [
        (flipped_by_index, "turned-round"),
        (overwritten, "last-place-only"),
        (one_window_short, "wrong-shape"),
        (as_many_as_words, "wrong-shape"),
        (matrices_added_first, None),
        (averaged, "mean"),
        (lists_of_numbers, "no-gradient"),
        (kernel_the_other_way, "wrong-shape"),
        (lambda words, kernel: words[: len(words) - len(kernel) + 1] @ kernel[0], "first-place-only"),
        (lambda words, kernel: words.unfold(0, len(kernel), 1).sum(-1) @ kernel[0], "same-matrix-everywhere"),
        (
            lambda words, kernel: torch.einsum(
                "nck,kco->no", words.unfold(0, len(kernel), 1)[..., :-1], kernel[:-1]
            ),
            "last-place-forgotten",
        ),
        (
            lambda words, kernel: torch.einsum("nck,kco->no", words.unfold(0, len(kernel), 1), kernel).tanh(),
            "squashed",
        ),
    ],
    "receptive_field": [
        (ignores_gaps, "no-gaps"),
        (whole_widths, "adds-whole-width"),
        (only_the_last, "Expected a list"),
        (products, "multiplies"),
        (twice_per_side, None),
        (from_zero, "starts-at-nothing"),
        (dilations_after, None),
        (
            lambda widths, gaps: [
                1 + total for total in itertools.accumulate(w * g for w, g in zip(widths, gaps, strict=True))
            ],
            "adds-whole-width-to-one",
        ),
        (lambda widths, gaps: [w * g - g + 1 for w, g in zip(widths, gaps, strict=True)], "each-for-itself"),
    ],
    "cheapest_cnn": [
        (threes, "costs 12 matrices; it can be done with 11"),
        (one_wide_layer, "costs 40 matrices; it can be done with 11"),
        (two_words, "no way leads from the word 1 places back"),
        (doubling, "costs 12 matrices"),
        (only_forty, "costs 11 matrices; it can be done with 6"),
        (too_short, "spans 4 words; 40 are wanted"),
        (one_dilation_missing, "Each layer needs a width and a dilation"),
        (one_list, "can't be checked as an answer"),
        (half_widths, "whole numbers"),
    ],
    "look_back": [
        (zeros_behind, "looks-ahead"),
        (one_zero_too_few, "peeks"),
        (too_few_rows, "wrong-shape"),
        (rolled, "wraps-around"),
        (one_too_many, "skips-own-word"),
        (repeated_first, "first-word-again"),
        (centred_again, "unrepaired"),
        (
            lambda words, kernel: windows_by_unfold(F.pad(words, (0, 0, 2, max(len(kernel) - 3, 0))), kernel)[
                : len(words)
            ],
            "two-zeros",
        ),
        (lambda words, kernel: back_by_pad(words, kernel.flip(0)), "turned-round"),
    ],
    "test_looks_back": [
        (only_shape, "lets-through"),
        (only_the_future, "lets-through", "does not see the word itself"),
        (width_one, "lets-through"),
        (only_width_three, "one that puts two zeros before the sentence"),
        (says_false, "raising"),
        (wants_centred, "rejects-the-right-one"),
        (never_calls, "never-calls"),
    ],
}

RIGHT = {
    "convolve_words": [windows_by_unfold, windows_by_loop, windows_by_conv1d, windows_flat],
    "receptive_field": [field_loop, field_sums, field_tensor],
    "cheapest_cnn": [by_all_designs, by_recursion, by_table],
    "look_back": [back_by_pad, back_by_conv1d, back_by_loop],
    "test_looks_back": [test_by_formula, test_by_hand, test_by_changes],
}
