"""The solution of lesson 00: its notebook shows it, and the check compares answers with it."""

import torch  # noqa: F401  (the mistakes use it)


def double_it(numbers):
    """Return a new tensor with every number of the tensor `numbers` doubled."""
    # solution
    return 2 * numbers
    # end solution
