"""The solution of lesson 00: its notebook shows it, and the check compares answers with it."""


def exact_match(translations, references):
    """Return the fraction of translations that are equal to their reference."""
    # solution
    right = [t == r for t, r in zip(translations, references, strict=True)]
    return sum(right) / len(right)
    # end solution
