"""The solution of lesson 05: its notebook shows it, and the check compares answers with it."""

import torch  # noqa: F401  (the mistakes use it)


def convolve(words, kernel):
    """words (n, channels), kernel (out, channels, width)  ->  (n - width + 1, out)"""
    # solution
    width = kernel.shape[2]
    n_windows = len(words) - width + 1
    outputs = 0
    for j in range(width):
        outputs = outputs + words[j : j + n_windows] @ kernel[:, :, j].T
    return outputs
    # end solution
