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


def lists_of_numbers(words, kernel):
    n, width = len(words) - kernel.shape[2] + 1, kernel.shape[2]
    rows = [sum(kernel[:, :, j] @ words[t + j] for j in range(width)).tolist() for t in range(n)]
    return torch.tensor(rows)


def slice_words(choose):
    """The words of each position, chosen by its number, the number of windows and the width."""

    def convolve(words, kernel):
        width = kernel.shape[2]
        n = len(words) - width + 1
        return sum(words[choose(j, n, width)] @ kernel[:, :, j].T for j in range(width))

    return convolve


WRONG = {
    "convolve": [
        (lists_of_numbers, "no-gradient"),
        (slice_words(lambda j, n, width: slice(j, None)), "raises"),
    ],
}

RIGHT = {
    "convolve": [windows_by_unfold, windows_by_loop, windows_by_conv1d, windows_flat],
}
