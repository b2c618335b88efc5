"""The parts models are built from: each a function first, then a module that only owns weights.

    masks.py        who may look at whom: `may_look`, the one convention, and the one fill
    scores.py       how well each key fits each query: dot, scaled dot, additive and their kin
    attention.py    scores to weights to context: `masked_softmax`, `mix`, `attend`
    checks.py       what these insist on, and what they say when it is not so

Take each from its own file, so that a reader sees where it lives:

    >>> from course_lib.layers.attention import attend
"""
