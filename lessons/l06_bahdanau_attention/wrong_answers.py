"""Answers to the exercises of lesson 06, as learners write them: wrong, with what must be said, and right."""

import torch
from torch.nn import functional as F

# ---- additive scores


def scores_by_loop(state, annotations, w_state, w_annotation, v):
    asked = w_state @ state
    return torch.stack([torch.dot(v, torch.tanh(asked + w_annotation @ word)) for word in annotations])


def scores_by_concat(state, annotations, w_state, w_annotation, v):
    both = torch.cat([state.expand(len(annotations), -1), annotations], dim=-1)
    return torch.tanh(both @ torch.cat([w_state, w_annotation], dim=-1).T) @ v


def scores_by_linear(state, annotations, w_state, w_annotation, v):
    hidden = F.linear(annotations, w_annotation) + F.linear(state, w_state)
    return hidden.tanh().matmul(v)


def scores_by_sigmoid(state, annotations, w_state, w_annotation, v):
    """tanh(x) = 2 · sigmoid(2x) − 1."""
    hidden = (w_state @ state).unsqueeze(1) + w_annotation @ annotations.T
    return (v.unsqueeze(1) * (2 * torch.sigmoid(2 * hidden) - 1)).sum(dim=0)


def a_column(state, annotations, w_state, w_annotation, v):
    return torch.tanh(w_state @ state + annotations @ w_annotation.T) @ v[:, None]


def cuts_the_gradient(state, annotations, w_state, w_annotation, v):
    return torch.tanh((w_state @ state).detach() + annotations @ w_annotation.T) @ v


def transposed_weights(state, annotations, w_state, w_annotation, v):
    return torch.tanh(state @ w_state + annotations @ w_annotation.T) @ v


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


# ---- forced attention


def she_by_the():
    return 8, 0


def she_by_drank():
    return (8, 2)


def she_as_a_list():
    return [8, 5]


def still_a_he():
    return 8, 8


def too_early():
    return 1, 4


def position_first():
    return 4, 8


def counted_from_1():
    return 9, 5


def off_the_end():
    return 8, 10


def before_the_start():
    return 8, -5


def one_number():
    return 8


def words_for_numbers():
    return "il", "water"


def she_as_a_tensor():
    return torch.tensor([8, 3])


def scores_with(score):
    """Scores for one state; `score` takes the projected state, the projected annotations and v."""
    return lambda state, annotations, w_state, w_annotation, v: score(
        F.linear(state, w_state), F.linear(annotations, w_annotation), v
    )


def attention_after(combine):
    """Attention with the right scores; `combine` takes them and the annotations."""
    return lambda states, annotations, w_state, w_annotation, v: combine(
        bent_sum(states, annotations, w_state, w_annotation) @ v, annotations
    )


def bent_sum(states, annotations, w, u):
    return torch.tanh(F.linear(states, w).unsqueeze(1) + F.linear(annotations, u))


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
    "additive_scores": [
        (a_column, "wrong-shape"),
        (cuts_the_gradient, "no-gradient"),
        (transposed_weights, "input-transposed"),
        (scores_with(lambda p, k, v: (p - k).tanh() @ v), "input-negated"),
    ],
    "additive_attention": [
        (look_the_wrong_way_round, "swapped-outputs"),
        (look_keeps_an_axis, "wrong-shape"),
        (look_weights_only, "missing-output"),
        (attention_after(lambda e, h: weighted(hard_choice(e), h)), "hard-choice"),
        (attention_after(lambda e, h: weighted(softmax_by_hand(e, 0), h)), "not-finite"),
        (attention_after(lambda e, h: weighted(softmax_by_hand(e, e.max()), h)), "not-finite"),
        (attention_after(lambda e, h: weighted(softmax_by_hand(e, e[:, :1]), h)), "not-finite"),
        (attention_after(lambda e, h: weighted(softmax_by_hand(e.clamp(-80, 80), 0), h)), "large-numbers"),
    ],
    "make_it_she": [
        (still_a_he, None, "thirsty", "qu' il avait soif", "step is right"),
        (too_early, None, "chat", "le eau a bu"),
        (position_first, None, "first"),
        (counted_from_1, None, "from 0"),
        (off_the_end, None, "0 to 9"),
        (before_the_start, None, "0 to 9"),
        (one_number, None),
        (words_for_numbers, None),
    ],
}

RIGHT = {
    "additive_scores": [scores_by_loop, scores_by_concat, scores_by_linear, scores_by_sigmoid],
    "additive_attention": [look_by_sum, look_by_einsum, look_by_loop],
    "make_it_she": [she_by_the, she_by_drank, she_as_a_list, she_as_a_tensor],
}
