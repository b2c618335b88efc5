"""The solutions of lesson 06: its notebook shows them, and the checks compare answers with them."""

import torch


def additive_attention(states, annotations, w_state, w_annotation, v):
    """states (b, s), annotations (b, n, a), w_state (d, s), w_annotation (d, a), v (d,)

    ->  context (b, a), weights (b, n)
    """
    # solution
    from_state = states @ w_state.T  # (b, d)
    from_annotations = annotations @ w_annotation.T  # (b, n, d)
    hidden = torch.tanh(from_state[:, None] + from_annotations)
    weights = torch.softmax(hidden @ v, dim=-1)  # (b, n)
    context = (weights[:, None] @ annotations)[:, 0]  # (b, a)
    return context, weights
    # end solution


def make_it_she():
    """(step, position): where forced attention makes il elle, and elle il"""
    # solution
    return 8, 5  # the step that generates the pronoun, attending to because
    # end solution
