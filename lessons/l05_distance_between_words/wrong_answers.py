"""Answers to the exercise of lesson 05, as learners write them: wrong, with what must be said, and right.

Each wrong one has the slip that must be named (None if there is none) or a part of the verdict.
"""

import torch
import torch.nn.functional as F


def windows_by_unfold(words, kernel):
    return torch.einsum("tck,ock->to", words.unfold(0, kernel.shape[2], 1), kernel)


def windows_by_loop(words, kernel):
    width, rows = kernel.shape[-1], []
    for start in range(len(words) - width + 1):
        window = words[start : start + width]
        rows.append((kernel * window.T).sum(dim=(1, 2)))
    return torch.stack(rows)


def windows_by_conv1d(words, kernel):
    return F.conv1d(words.T.unsqueeze(0), kernel).squeeze(0).T


def windows_flat(words, kernel):
    width = kernel.shape[2]
    stacked = torch.cat([words[j : len(words) - width + 1 + j] for j in range(width)], dim=1)
    return stacked @ kernel.permute(2, 1, 0).reshape(-1, kernel.shape[0])


def loop_over(positions):
    """The windows, summed over some positions only."""

    def convolve(words, kernel):
        width = kernel.shape[2]
        n, outputs = len(words) - width + 1, 0
        for j in positions(width):
            outputs = outputs + words[j : j + n] @ kernel[:, :, j].T
        return outputs

    return convolve


def flipped_by_index(words, kernel):
    width = kernel.shape[2]
    rows = [
        sum(kernel[:, :, width - 1 - j] @ words[t + j] for j in range(width))
        for t in range(len(words) - width + 1)
    ]
    return torch.stack(rows)


def overwritten(words, kernel):
    n = len(words) - kernel.shape[2] + 1
    for j in range(kernel.shape[2]):
        outputs = words[j : j + n] @ kernel[:, :, j].T
    return outputs


def one_window_short(words, kernel):
    n = len(words) - kernel.shape[2]
    return sum(words[j : j + n] @ kernel[:, :, j].T for j in range(kernel.shape[2]))


def padded(before, after):
    """Zeros around the sentence: functions of the width."""

    def convolve(words, kernel):
        width = kernel.shape[2]
        return windows_by_unfold(F.pad(words, (0, 0, before(width), after(width))), kernel)

    return convolve


def matrices_added_first(words, kernel):
    n = len(words) - kernel.shape[2] + 1
    return sum(words[j : j + n] for j in range(kernel.shape[2])) @ kernel.sum(2).T


def positions_first_by_reshape(words, kernel):
    out, channels, width = kernel.shape
    n = len(words) - width + 1
    matrices = kernel.reshape(width, channels, out)
    return sum(words[j : j + n] @ matrices[j] for j in range(width))


def three_built_in(words, kernel):
    n = len(words) - 2
    first, second, third = kernel[:, :, 0], kernel[:, :, 1], kernel[:, :, 2]
    return words[:n] @ first.T + words[1 : n + 1] @ second.T + words[2 : n + 2] @ third.T


def sliced_to_zero(words, kernel):
    outputs, width = 0, kernel.shape[2]
    for j in range(width):
        outputs = outputs + words[j : j - width + 1] @ kernel[:, :, j].T
    return outputs


def lists_of_numbers(words, kernel):
    n, width = len(words) - kernel.shape[2] + 1, kernel.shape[2]
    rows = [sum(kernel[:, :, j] @ words[t + j] for j in range(width)).tolist() for t in range(n)]
    return torch.tensor(rows)


def not_transposed(words, kernel):
    n = len(words) - kernel.shape[2] + 1
    return sum(words[j : j + n] @ kernel[:, :, j] for j in range(kernel.shape[2]))


def first_axis_as_width(words, kernel):
    n = len(words) - len(kernel) + 1
    return sum(words[j : j + n] @ kernel[j] for j in range(len(kernel)))


def every_third_window(words, kernel):
    width = kernel.shape[2]
    return torch.einsum("tck,ock->to", words.unfold(0, width, width), kernel)


def without_first(words, kernel):
    return torch.einsum("tck,ock->to", words.unfold(0, kernel.shape[2], 1)[..., 1:], kernel[..., 1:])


def without_last(words, kernel):
    return torch.einsum("tck,ock->to", words.unfold(0, kernel.shape[2], 1)[..., :-1], kernel[..., :-1])


def never_moved(words, kernel):
    n = len(words) - kernel.shape[2] + 1
    return sum(words[:n] @ kernel[:, :, j].T for j in range(kernel.shape[2]))


def negative_indices(words, kernel):
    width, rows = kernel.shape[2], []
    for t in range(len(words)):
        rows.append(sum(kernel[:, :, j] @ words[t - width + 1 + j] for j in range(width)))
    return torch.stack(rows)


def first_outside_the_loop(words, kernel):
    width = kernel.shape[2]
    n = len(words) - width + 1
    outputs = words[:n] @ kernel[:, :, 0].T
    for j in range(1, width - 1):
        outputs = outputs + words[j : j + n] @ kernel[:, :, j].T
    return outputs


def each_position(words, kernel):
    width = kernel.shape[2]
    n = len(words) - width + 1
    return torch.stack([words[j : j + n] @ kernel[:, :, j].T for j in range(width)])


def window_overwritten(words, kernel):
    for t in range(len(words) - kernel.shape[2] + 1):
        output = (kernel * words[t : t + kernel.shape[2]].T).sum(dim=(1, 2))
    return output


def flattened(words, kernel):
    width = kernel.shape[2]
    flat = torch.stack([words[t : t + width].reshape(-1) for t in range(len(words) - width + 1)])
    return flat @ kernel.reshape(len(kernel), -1).T


def sum_over_axis(axis):
    """Each window times the kernel, summed over one axis only."""

    def convolve(words, kernel):
        width = kernel.shape[2]
        windows = [words[t : t + width].T for t in range(len(words) - width + 1)]
        return torch.stack([(kernel * window).sum(dim=axis) for window in windows])

    return convolve


def slice_words(choose):
    """The words of each position, chosen by its number, the number of windows and the width."""

    def convolve(words, kernel):
        width = kernel.shape[2]
        n = len(words) - width + 1
        return sum(words[choose(j, n, width)] @ kernel[:, :, j].T for j in range(width))

    return convolve


def width_of(kernel_axis):
    def convolve(words, kernel):
        width = kernel.size(kernel_axis)
        n = len(words) - width + 1
        return sum(words[j : j + n] @ kernel[:, :, j].T for j in range(width))

    return convolve


def viewed_matrices(words, kernel):
    out, channels, width = kernel.shape
    n, outputs = len(words) - width + 1, 0
    for j in range(width):
        outputs = outputs + words[j : j + n] @ kernel[:, :, j].reshape(channels, out)
    return outputs


WRONG = {
    "convolve": [
        (flipped_by_index, "turned-round"),
        (overwritten, "last-place-only"),
        (one_window_short, "last-window-missing"),
        (padded(lambda width: width - 1, lambda width: 0), "padded-before"),
        (padded(lambda width: (width - 1) // 2, lambda width: width // 2), "padded-around"),
        (padded(lambda width: 0, lambda width: width - 1), "padded-after"),
        (matrices_added_first, "summed-first"),
        (lambda words, kernel: windows_by_unfold(words, kernel) / kernel.shape[2], "mean"),
        (lists_of_numbers, "no-gradient"),
        (positions_first_by_reshape, "kernel-reshaped"),
        (not_transposed, "not-transposed"),
        (first_axis_as_width, "first-axis-as-width"),
        (lambda words, kernel: windows_by_unfold(words, kernel)[None], "batch-axis"),
        (lambda words, kernel: F.conv1d(words.T[None], kernel), "conv1d-output"),
        (never_moved, "never-moves"),
        (slice_words(lambda j, n, width: slice(None)), "no-slices"),
        (slice_words(lambda j, n, width: slice(j, None)), "raises"),
        (slice_words(lambda j, n, width: slice(j, n)), "slices-with-the-same-end"),
        (slice_words(lambda j, n, width: slice(j, j + width)), "slice-as-long-as-a-window"),
        (width_of(0), "width-from-out"),
        (width_of(1), "width-from-channels"),
        (viewed_matrices, "matrices-reshaped"),
        (sum_over_axis((0, 2)), "channels-kept"),
        (loop_over(lambda width: range(width - 1)), "last-place-unread"),
        (loop_over(lambda width: range(1, width)), "first-place-unread"),
        (three_built_in, "width-3"),
        (sliced_to_zero, "empty-slice"),
        (lambda words, kernel: F.conv1d(words.T, kernel), "outputs-transposed"),
        (lambda words, kernel: windows_by_conv1d(words, kernel).squeeze(), "squeezed"),
        (lambda words, kernel: windows_by_unfold(words[: kernel.shape[2]], kernel), "one-window"),
        (lambda words, kernel: windows_by_conv1d(words, kernel)[1:], "first-window-missing"),
        (every_third_window, "no-overlap"),
        (lambda words, kernel: each_position(words, kernel).sum(0).softmax(-1), "softmax"),
        (lambda words, kernel: each_position(words, kernel).sum(dim=(0, 1)), "windows-added"),
        (lambda words, kernel: each_position(words, kernel).sum(0).mean(0), "windows-averaged"),
        (lambda words, kernel: each_position(words, kernel).sum(dim=(0, 2)), "out-added"),
        (padded(lambda width: width - 1, lambda width: width - 1), "padded-fully"),
        (negative_indices, "wraps-around"),
        (first_outside_the_loop, "last-place-skipped"),
        (lambda words, kernel: each_position(words, kernel).prod(0), "multiplied"),
        (lambda words, kernel: each_position(words, kernel).max(0).values, "maximum"),
        (lambda words, kernel: each_position(words, kernel).sum(0) / words.shape[1], "mean-over-channels"),
        (padded(lambda width: width // 2, lambda width: width // 2), "padded-by-half"),
        (window_overwritten, "last-window-only"),
        (lambda words, kernel: (kernel * words[: kernel.shape[2]].T).sum(dim=(1, 2)), "first-window-only"),
        (sum_over_axis(2), "channels-not-added"),
        (sum_over_axis(1), "positions-not-added"),
        (flattened, "flattened-differently"),
        (without_first, "first-place-forgotten"),
        (without_last, "last-place-forgotten"),
        (lambda words, kernel: windows_by_unfold(words, kernel).clamp(min=0), "rectified"),
        (lambda words, kernel: windows_by_unfold(words, kernel).tanh(), "squashed"),
        (loop_over(lambda width: [0]), "first-place-only"),
        (
            lambda words, kernel: words.unfold(0, kernel.shape[2], 1).sum(-1) @ kernel[:, :, 0].T,
            "same-matrix-everywhere",
        ),
    ],
}

RIGHT = {
    "convolve": [windows_by_unfold, windows_by_loop, windows_by_conv1d, windows_flat],
}
