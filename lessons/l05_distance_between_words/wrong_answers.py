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


def unpermuted(words, kernel):
    width, channels, out = kernel.shape
    return F.conv1d(words.T, kernel.reshape(out, channels, width)).T


def three_built_in(words, kernel):
    return windows_by_unfold(words, torch.stack([kernel[0], kernel[1], kernel[2]]))


def sliced_to_zero(words, kernel):
    outputs = 0
    for place in range(len(kernel)):
        outputs = outputs + words[place : place - len(kernel) + 1] @ kernel[place]
    return outputs


def centred(words, kernel):
    return F.conv1d(words.T, kernel.permute(2, 1, 0), padding="same").T


def loop_over(positions):
    """The windows, summed over some positions only."""

    def convolve(words, kernel):
        n, outputs = len(words) - len(kernel) + 1, 0
        for place in positions(len(kernel)):
            outputs = outputs + words[place : place + n] @ kernel[place]
        return outputs

    return convolve


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


def field_tuple(widths, dilations):
    steps = ((w - 1) * d for w, d in zip(widths, dilations, strict=True))
    return tuple(itertools.accumulate(steps, initial=1))[1:]


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


def field_with(step, start=1):
    """The fields, if each layer adds `step(width, dilation)`."""

    def fields(widths, dilations):
        seen, out = start, []
        for width, dilation in zip(widths, dilations, strict=True):
            seen += step(width, dilation)
            out.append(seen)
        return out

    return fields


def words_heard(widths, dilations):
    out, heard = [], {0}
    for w, d in zip(widths, dilations, strict=True):
        heard = {word - i * d for word in heard for i in range(w)}
        out.append(len(heard))
    return out


def strides(widths, dilations):
    seen, step, out = 1, 1, []
    for w, d in zip(widths, dilations, strict=True):
        step *= d
        seen += (w - 1) * step
        out.append(seen)
    return out


def starts_with_a_width(widths, dilations):
    out = [widths[0]]
    for w, d in list(zip(widths, dilations, strict=True))[1:]:
        out.append(out[-1] + (w - 1) * d)
    return out


def from_the_end(widths, dilations):
    return field_loop(list(reversed(widths)), list(reversed(dilations)))


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


def zeros_before_outputs(words, kernel):
    n, width = len(words), len(kernel)
    outputs = sum(words[j : n - width + 1 + j] @ kernel[j] for j in range(width))
    return F.pad(outputs, (0, 0, width - 1, 0))


def negative_slices(words, kernel):
    rows = []
    for now in range(len(words)):
        window = words[now - len(kernel) + 1 : now + 1]
        rows.append(
            sum((word @ matrix for word, matrix in zip(window, kernel, strict=False)), 0 * kernel[0, 0])
        )
    return torch.stack(rows)


def short_windows(words, kernel):
    rows = []
    for now in range(len(words)):
        window = words[max(0, now - len(kernel) + 1) : now + 1]
        rows.append(sum(word @ kernel[j] for j, word in enumerate(window)))
    return torch.stack(rows)


def present_left_out(words, kernel):
    padded = F.pad(words, (0, 0, len(kernel) - 1, 0))
    outputs = words.new_zeros(len(words), kernel.shape[-1])
    for j in range(len(kernel) - 1):
        outputs = outputs + padded[j : j + len(words)] @ kernel[j]
    return outputs


def padded_with(left, value=0.0):
    """`left` of the width rows before the sentence, and the rest after it."""

    def convolution(words, kernel):
        before = left(len(kernel))
        rows = (0, 0, before, len(kernel) - 1 - before)
        return windows_by_unfold(F.pad(words, rows, value=value), kernel)

    return convolution


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
    words = torch.tensor([[1.0, 0.0], [2.0, 1.0], [4.0, 0.0], [8.0, 1.0]])
    kernel = torch.tensor([[[100.0, 0.0], [0.0, 3.0]], [[10.0, 0.0], [0.0, 2.0]], [[1.0, 0.0], [0.0, 1.0]]])
    three = [[1.0, 0.0], [12.0, 1.0], [124.0, 2.0], [248.0, 4.0]]
    assert torch.allclose(convolution(words, kernel), torch.tensor(three))
    two = [[1.0, 0.0], [12.0, 1.0], [24.0, 2.0], [48.0, 1.0]]
    assert torch.allclose(convolution(words, kernel[1:]), torch.tensor(two))


def test_by_changes(convolution):
    for width in (1, 4):
        words, kernel = random_inputs(width)
        before = convolution(words, kernel)
        assert before.shape == (6, 5)
        for place in range(6):
            changed = words.clone()
            changed[place] += torch.arange(4)
            expected = torch.zeros(6, 5)
            for j in range(min(width, 6 - place)):
                expected[place + j] = (changed - words)[place] @ kernel[width - 1 - j]
            torch.testing.assert_close(convolution(changed, kernel) - before, expected, atol=1e-4, rtol=1e-4)
        torch.testing.assert_close(convolution(0 * words, kernel), torch.zeros(6, 5))


def only_one_channel(convolution):
    words = torch.tensor([[1.0], [2.0], [4.0], [8.0]])
    kernel = torch.tensor([[[100.0]], [[10.0]], [[1.0]]])
    assert convolution(words, kernel).flatten().tolist() == [1.0, 12.0, 124.0, 248.0]
    assert convolution(words, kernel[1:]).flatten().tolist() == [1.0, 12.0, 24.0, 48.0]


def only_the_pattern(convolution):
    words, kernel = random_inputs(4)
    before = convolution(words, kernel)
    for place in range(6):
        changed = words.clone()
        changed[place] += 1
        moved = (convolution(changed, kernel) - before).abs().sum(-1) > 1e-4
        assert moved.tolist() == [place <= now < place + 4 for now in range(6)]
    torch.testing.assert_close(before[0], words[0] @ kernel[-1])


def only_totals(convolution):
    for width in (1, 2, 3):
        words, kernel = random_inputs(width)
        torch.testing.assert_close(convolution(words, kernel).sum(), back_by_pad(words, kernel).sum())


def only_one_word(convolution):
    for width in (1, 2, 3):
        words, kernel = random_inputs(width)
        torch.testing.assert_close(convolution(words[:1], kernel), words[:1] @ kernel[-1])


def all_but_the_last(convolution):
    for width in (2, 3):
        words, kernel = random_inputs(width)
        torch.testing.assert_close(convolution(words, kernel)[:-1], back_by_pad(words, kernel)[:-1])


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


def newest_first(widths, dilations):
    fields, field = [], 1
    for width, dilation in zip(widths, dilations, strict=True):
        field += (width - 1) * dilation
        fields.insert(0, field)
    return fields


def all_windows(words, kernel):
    padded = torch.cat([torch.zeros(len(kernel), words.shape[1]), words])
    starts = range(len(padded) - len(kernel) + 1)
    return torch.stack([torch.einsum("kc,kco->o", padded[i : i + len(kernel)], kernel) for i in starts])


def counts_from_the_end(words, kernel):
    outputs = []
    for t in range(len(words)):
        output = torch.zeros(kernel.shape[-1])
        for j, matrix in enumerate(kernel):
            output = output + words[t - len(kernel) + 1 + j] @ matrix
        outputs.append(output)
    return torch.stack(outputs)


WRONG = {
    "convolve_words": [
        (flipped_by_index, "turned-round"),
        (overwritten, "last-place-only"),
        (one_window_short, "last-window-missing"),
        (as_many_as_words, "padded-before"),
        (centred, "padded-around"),
        (lambda words, kernel: zeros_behind(words, kernel), "padded-after"),
        (matrices_added_first, "summed-first"),
        (averaged, "mean"),
        (lists_of_numbers, "no-gradient"),
        (kernel_the_other_way, "wrong-shape"),
        (unpermuted, "kernel-reshaped"),
        (lambda words, kernel: windows_by_unfold(words, kernel)[None], "batch-axis"),
        (lambda words, kernel: F.conv1d(words.T[None], kernel.permute(2, 1, 0)), "conv1d-output"),
        (
            lambda words, kernel: sum(words[: len(words) - len(kernel) + 1] @ matrix for matrix in kernel),
            "never-moves",
        ),
        (loop_over(lambda width: range(width - 1)), "last-place-unread"),
        (loop_over(lambda width: range(1, width)), "first-place-unread"),
        (three_built_in, "width-3"),
        (sliced_to_zero, "empty-slice"),
        (lambda words, kernel: windows_by_conv1d(words, kernel).T, "outputs-transposed"),
        (lambda words, kernel: windows_by_conv1d(words, kernel).squeeze(), "squeezed"),
        (lambda words, kernel: windows_by_unfold(words[: len(kernel)], kernel), "one-window"),
        (lambda words, kernel: windows_by_conv1d(words, kernel)[1:], "first-window-missing"),
        (
            lambda words, kernel: torch.einsum(
                "tck,kco->to", words.unfold(0, len(kernel), len(kernel)), kernel
            ),
            "no-overlap",
        ),
        (
            lambda words, kernel: torch.einsum(
                "tck,kco->to", words.unfold(0, len(kernel), 1)[..., 1:], kernel[1:]
            ),
            "first-place-forgotten",
        ),
        (lambda words, kernel: windows_by_unfold(words, kernel).clamp(min=0), "rectified"),
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
        (newest_first, "reversed-list"),
        (lambda widths, dilations: (1 for _ in widths), "wrong-type"),
        (ignores_gaps, "no-gaps"),
        (whole_widths, "adds-whole-width"),
        (only_the_last, "only-last"),
        (products, "multiplies"),
        (twice_per_side, "both-sides"),
        (from_zero, "starts-at-nothing"),
        (dilations_after, None),
        (field_tensor, "wrong-form"),
        (words_heard, "without-skipped-words"),
        (strides, "dilations-multiplied"),
        (starts_with_a_width, "first-dilation-ignored"),
        (from_the_end, "from-the-end"),
        (lambda widths, gaps: ([1, *field_loop(widths, gaps)])[:-1], "appended-too-early"),
        (lambda widths, gaps: [w * g - g for w, g in zip(widths, gaps, strict=True)], "steps-only"),
        (field_with(lambda w, d: w * d - 1), "parentheses"),
        (field_with(lambda w, d: (w - 1) * d + w - 1), "dilation-between"),
        (field_with(lambda w, d: w - 1 + (d - 1)), "adds-dilation"),
        (field_with(lambda w, d: d * (w - 2 if w % 2 == 0 else w - 1)), "odd-widths"),
        (field_with(lambda w, d: 2 * d), "width-3"),
        (lambda widths, dilations: [1, *field_loop(widths, dilations)], "one-in-front"),
        (lambda widths, dilations: field_loop([widths[0] for _ in widths], dilations), "first-width-only"),
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
        (one_list, None),
        (half_widths, "whole numbers"),
    ],
    "look_back": [
        (all_windows, "one-output-too-many"),
        (counts_from_the_end, "wraps-around"),
        (zeros_behind, "looks-ahead"),
        (one_zero_too_few, "peeks"),
        (lambda words, kernel: zeros_before_outputs(words, kernel)[len(kernel) - 1 :], "no-zeros"),
        (zeros_before_outputs, "pads-outputs"),
        (negative_slices, "negative-start"),
        (short_windows, "kernel-start"),
        (present_left_out, "own-word-left-out"),
        (
            lambda words, kernel: loop_over(lambda width: range(width - 1))(
                F.pad(words, (0, 0, len(kernel) - 1, 0)), kernel
            ),
            "own-word-unread",
        ),
        (padded_with(lambda width: width // 2), "centred-right"),
        (padded_with(lambda width: width - 1, value=1.0), "ones"),
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
        (only_the_future, "lets-through"),
        (width_one, "lets-through"),
        (only_width_three, "lets-through"),
        (only_one_channel, "lets-through"),
        (only_the_pattern, "lets-through"),
        (all_but_the_last, "lets-through"),
        (only_totals, "lets-through"),
        (only_one_word, "lets-through"),
        (says_false, "returns-instead"),
        (wants_centred, "rejects-the-right-one"),
        (never_calls, "never-calls"),
    ],
}

RIGHT = {
    "convolve_words": [windows_by_unfold, windows_by_loop, windows_by_conv1d, windows_flat],
    "receptive_field": [field_loop, field_sums, field_tuple],
    "cheapest_cnn": [by_all_designs, by_recursion, by_table],
    "look_back": [back_by_pad, back_by_conv1d, back_by_loop],
    "test_looks_back": [test_by_formula, test_by_hand, test_by_changes],
}
