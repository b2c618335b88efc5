"""Answers to the exercises of lesson 06, as learners write them: wrong, with what must be said, and right."""

import torch
from torch.nn import functional as F

# ---- additive attention


def look_by_sum(states, annotations, w_state, w_annotation, v):
    bent = torch.tanh((states @ w_state.T).unsqueeze(1) + annotations @ w_annotation.T)
    weights = (bent * v).sum(-1).softmax(-1)
    return (weights.unsqueeze(-1) * annotations).sum(1), weights


def look_by_einsum(states, annotations, w_state, w_annotation, v):
    bent = (F.linear(states, w_state)[:, None, :] + F.linear(annotations, w_annotation)).tanh()
    weights = torch.einsum("bnd,d->bn", bent, v).softmax(dim=1)
    return torch.einsum("bn,bna->ba", weights, annotations), weights


def look_by_loop(states, annotations, w_state, w_annotation, v):
    contexts, shares = [], []
    for state, words in zip(states, annotations, strict=True):
        scores = torch.tanh(w_state @ state + words @ w_annotation.T) @ v
        shares.append(torch.softmax(scores, dim=0))
        contexts.append(shares[-1] @ words)
    return torch.stack(contexts), torch.stack(shares)


def look_the_wrong_way_round(states, annotations, w_state, w_annotation, v):
    context, weights = look_by_sum(states, annotations, w_state, w_annotation, v)
    return weights, context


def look_keeps_an_axis(states, annotations, w_state, w_annotation, v):
    weights = look_by_sum(states, annotations, w_state, w_annotation, v)[1]
    return weights[:, None] @ annotations, weights


def look_weights_only(states, annotations, w_state, w_annotation, v):
    return look_by_sum(states, annotations, w_state, w_annotation, v)[1]


def look_by_sigmoid(states, annotations, w_state, w_annotation, v):
    """tanh(x) = 2 · sigmoid(2x) − 1."""
    both = states.matmul(w_state.T).unsqueeze(1) + annotations.matmul(w_annotation.T)
    return weighted(((2 * torch.sigmoid(2 * both) - 1) @ v).softmax(-1), annotations)


def cuts_the_gradient(states, annotations, w_state, w_annotation, v):
    return look_by_sum(states.detach(), annotations, w_state, w_annotation, v)


def subtracts(states, annotations, w_state, w_annotation, v):
    bent = torch.tanh((states @ w_state.T).unsqueeze(1) - annotations @ w_annotation.T)
    return weighted((bent @ v).softmax(-1), annotations)


def attention_after(combine):
    """Attention with the right scores; `combine` takes them and the annotations."""
    return lambda states, annotations, w_state, w_annotation, v: combine(
        torch.tanh(F.linear(states, w_state).unsqueeze(1) + F.linear(annotations, w_annotation)) @ v,
        annotations,
    )


def weighted(weights, annotations):
    return torch.einsum("bn,bna->ba", weights, annotations), weights


def softmax_by_hand(scores, shift):
    """A softmax that subtracts something other than the largest score of each sentence."""
    exponentials = torch.exp(scores - shift)
    return exponentials / exponentials.sum(dim=1, keepdim=True)


def hard_choice(scores):
    """All the weight on the largest score."""
    return torch.eye(scores.shape[-1])[scores.argmax(-1)]


WRONG = {
    "additive_attention": [
        (look_the_wrong_way_round, "swapped-outputs"),
        (look_keeps_an_axis, "wrong-shape"),
        (look_weights_only, "missing-output"),
        (cuts_the_gradient, "no-gradient"),
        (subtracts, "input-negated"),
        (attention_after(lambda e, h: weighted(hard_choice(e), h)), "hard-choice"),
        (attention_after(lambda e, h: weighted(softmax_by_hand(e, 0), h)), "not-finite"),
        (attention_after(lambda e, h: weighted(softmax_by_hand(e, e.max()), h)), "not-finite"),
        (attention_after(lambda e, h: weighted(softmax_by_hand(e, e[:, :1]), h)), "not-finite"),
        (attention_after(lambda e, h: weighted(softmax_by_hand(e.clamp(-80, 80), 0), h)), "large-numbers"),
    ],
    "make_it_she": [
        (lambda: (8, 4), None, "water", "qu' elle était froide", "step is right"),
        (lambda: (1, 4), None, "chat", "le eau a bu"),
        (lambda: (5, 8), None, "first"),
        (lambda: (9, 5), None, "from 0"),
        (lambda: (8, 10), None, "0 to 9"),
        (lambda: (8, -5), None, "0 to 9"),
        (lambda: 8, None),
        (lambda: ("il", "water"), None),
    ],
}

RIGHT = {
    "additive_attention": [look_by_sum, look_by_einsum, look_by_loop, look_by_sigmoid],
    "make_it_she": [lambda: (8, 5), lambda: [8, 5], lambda: torch.tensor([8, 5])],
}
