"""Answers to the exercises of lesson 06, as learners write them: wrong, with what must be said, and right."""

import math

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


def forgot_the_bend(state, annotations, w_state, w_annotation, v):
    return (annotations @ w_annotation.T + w_state @ state).matmul(v)


def bends_too_late(state, annotations, w_state, w_annotation, v):
    return ((annotations @ w_annotation.T + w_state @ state) @ v).tanh()


def dot_product(state, annotations, w_state, w_annotation, v):
    return annotations @ w_annotation.T @ (w_state @ state)


def a_column(state, annotations, w_state, w_annotation, v):
    return torch.tanh(w_state @ state + annotations @ w_annotation.T) @ v[:, None]


def relu_instead(state, annotations, w_state, w_annotation, v):
    return torch.relu(w_state @ state + annotations @ w_annotation.T) @ v


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


def look_over_sentences(states, annotations, w_state, w_annotation, v):
    bent = torch.tanh((states @ w_state.T)[:, None] + annotations @ w_annotation.T)
    weights = torch.softmax(bent @ v, dim=0)
    return torch.einsum("bn,bna->ba", weights, annotations), weights


def look_without_exp(states, annotations, w_state, w_annotation, v):
    scores = torch.tanh((states @ w_state.T)[:, None] + annotations @ w_annotation.T) @ v
    weights = scores / scores.sum(-1, keepdim=True)
    return torch.einsum("bn,bna->ba", weights, annotations), weights


def look_the_wrong_way_round(states, annotations, w_state, w_annotation, v):
    context, weights = look_by_sum(states, annotations, w_state, w_annotation, v)
    return weights, context


def look_keeps_an_axis(states, annotations, w_state, w_annotation, v):
    weights = look_by_sum(states, annotations, w_state, w_annotation, v)[1]
    return weights[:, None] @ annotations, weights


def look_weights_only(states, annotations, w_state, w_annotation, v):
    return look_by_sum(states, annotations, w_state, w_annotation, v)[1]


def look_scaled(states, annotations, w_state, w_annotation, v):
    scores = torch.tanh((states @ w_state.T)[:, None] + annotations @ w_annotation.T) @ v
    weights = torch.softmax(scores / len(v) ** 0.5, dim=-1)
    return torch.einsum("bn,bna->ba", weights, annotations), weights


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


# ---- a slip each, without the helpers of the exercises


def scores_with(score):
    """Scores for one state; `score` takes the projected state, the projected annotations and v."""
    return lambda state, annotations, w_state, w_annotation, v: score(
        F.linear(state, w_state), F.linear(annotations, w_annotation), v
    )


def attention_with(score):
    """The same for a batch, with the attention that follows."""

    def attention(states, annotations, w_state, w_annotation, v):
        projected = F.linear(states, w_state).unsqueeze(1)
        return weighted(
            F.softmax(score(projected, F.linear(annotations, w_annotation), v), dim=1), annotations
        )

    return attention


def attention_after(combine):
    """Attention with the right scores; `combine` takes them and the annotations."""
    return lambda states, annotations, w_state, w_annotation, v: combine(
        bent_sum(states, annotations, w_state, w_annotation) @ v, annotations
    )


def bent_sum(states, annotations, w, u):
    return torch.tanh(F.linear(states, w).unsqueeze(1) + F.linear(annotations, u))


def weighted(weights, annotations):
    return torch.einsum("bn,bna->ba", weights, annotations), weights


def scores_without_the_last(state, annotations, w_state, w_annotation, v):
    scores = torch.zeros(len(annotations))
    for j in range(len(annotations) - 1):
        scores[j] = v @ torch.tanh(w_state @ state + w_annotation @ annotations[j])
    return scores


def score_of_the_last(state, annotations, w_state, w_annotation, v):
    for annotation in annotations:
        score = v @ torch.tanh(w_state @ state + w_annotation @ annotation)
    return score


def scores_of_a_running_sum(state, annotations, w_state, w_annotation, v):
    hidden, scores = w_state @ state, []
    for annotation in annotations:
        hidden = hidden + w_annotation @ annotation
        scores.append(v @ torch.tanh(hidden))
    return torch.stack(scores)


def scores_of_a_recurrent_network(state, annotations, w_state, w_annotation, v):
    hidden, scores = w_state @ state, []
    for annotation in annotations:
        hidden = torch.tanh(hidden + w_annotation @ annotation)
        scores.append(hidden @ v)
    return torch.stack(scores)


def returns_inside_the_loop(state, annotations, w_state, w_annotation, v):
    scores = []
    for annotation in annotations:
        scores.append(v @ torch.tanh(w_state @ state + w_annotation @ annotation))
        return torch.stack(scores)


def returns_the_first_score(state, annotations, w_state, w_annotation, v):
    for annotation in annotations:
        return v @ torch.tanh(w_state @ state + w_annotation @ annotation)


def scores_from_a_reshaped_matrix(state, annotations, w_state, w_annotation, v):
    columns = w_annotation @ annotations.reshape(w_annotation.shape[1], -1)
    return v @ torch.tanh((w_state @ state)[:, None] + columns)


def scores_of_reshaped_projections(state, annotations, w_state, w_annotation, v):
    columns = (annotations @ w_annotation.T).view(len(v), len(annotations))
    return v @ torch.tanh((w_state @ state)[:, None] + columns)


def tanh_by_exp(x):
    return (torch.exp(x) - torch.exp(-x)) / (torch.exp(x) + torch.exp(-x))


def softmax_by_hand(scores, shift):
    """A softmax that subtracts something other than the largest score of each sentence."""
    exponentials = torch.exp(scores - shift)
    return exponentials / exponentials.sum(dim=1, keepdim=True)


WRONG_SCORES = [
    (lambda p, k, v: ((p + k) @ v).tanh(), "tanh-after-v"),
    (lambda p, k, v: (p + k).tanh() @ torch.ones_like(v), "no-v"),
    (lambda p, k, v: (p + k).tanh().sum(-1) / len(v), "mean-without-v"),
    (lambda p, k, v: (p + k).exp() @ v, "exp-activation"),
    (lambda p, k, v: torch.einsum("...d->...", torch.tanh(v * p + v * k)), "v-inside"),
    (lambda p, k, v: (p + k).sigmoid() @ v, "sigmoid"),
    (lambda p, k, v: F.relu(p + k) @ v, "relu"),
    (lambda p, k, v: (p * k).tanh() @ v, "multiplied"),
    (lambda p, k, v: torch.einsum("...d,...d->...", p.expand_as(k), k), "dot-product"),
    (lambda p, k, v: (p + k).tanh() @ v / math.sqrt(v.shape[0]), "scaled-already"),
    (lambda p, k, v: ((p + k).tanh() * v).mean(dim=-1), "mean-for-sum"),
]
WRONG_WEIGHTS = [  # of the scores: (..., n)
    (lambda scores: torch.eye(scores.shape[-1])[scores.argmax(-1)], "hard-choice"),
    (lambda scores: scores, "raw-scores"),
    (lambda scores: scores.exp(), "not-normalised"),
    (lambda scores: scores / scores.sum(-1, keepdim=True), "proportional"),
    (lambda scores: torch.ones_like(scores) / scores.shape[-1], "uniform"),
    (lambda scores: 1 / (1 + torch.exp(-scores)), "sigmoid-weights"),
    (lambda scores: F.softmax(F.softmax(scores, dim=-1), dim=-1), "softmax-twice"),
    (lambda scores: F.softmin(scores, dim=-1), "negative-scores"),
    (lambda scores: scores - torch.logsumexp(scores, dim=-1, keepdim=True), "log-weights"),
    (lambda scores: F.softmax(scores[..., None], dim=-1).squeeze(-1), "all-ones"),
]

WRONG = {
    "additive_scores": [
        (forgot_the_bend, "no-tanh"),
        (bends_too_late, "tanh-after-v"),
        (dot_product, "dot-product"),
        (a_column, "wrong-shape"),
        (relu_instead, "relu"),
        (cuts_the_gradient, "no-gradient"),
        (transposed_weights, "input-transposed"),
        (scores_with(lambda p, k, v: torch.tanh(p) @ v + torch.tanh(k) @ v), "two-tanhs"),
        (scores_with(lambda p, k, v: torch.tanh(p) @ v + k @ v), "tanh-of-state"),
        (scores_with(lambda p, k, v: p @ v + torch.tanh(k) @ v), "tanh-of-annotations"),
        (scores_with(lambda p, k, v: k.tanh() @ v), "state-left-out"),
        (scores_with(lambda p, k, v: F.softmax((p + k).tanh() @ v, dim=0)), "softmax-already"),
        (scores_with(lambda p, k, v: F.log_softmax((p + k).tanh() @ v, dim=0)), "log-softmax"),
        (scores_with(lambda p, k, v: (p + k).tanh()), "hidden-layer"),
        (lambda s, h, w, u, v: (s + F.linear(h, u)).tanh() @ v, "state-unprojected"),
        (lambda s, h, w, u, v: (F.linear(s, w) + h).tanh() @ v, "annotations-unprojected"),
        *((scores_with(score), slip) for score, slip in WRONG_SCORES),
        (scores_with(lambda p, k, v: tanh_by_exp(p + k) @ v), "exp-for-tanh"),
        (scores_with(lambda p, k, v: (scores := (p + k).tanh() @ v) - max(scores)), "shifted"),
        (scores_with(lambda p, k, v: (p - k).tanh() @ v), "input-negated"),
        (scores_without_the_last, "last-word"),
        (lambda s, h, w, u, v: (s @ w + h @ u).tanh() @ v, "both-transposed"),
        (score_of_the_last, "only-one-score"),
        (lambda s, h, w, u, v: v @ torch.tanh(w @ s + u @ h.sum(0)), "words-summed"),
        (lambda s, h, w, u, v: v @ torch.tanh(w @ s + u @ h.mean(0)), "words-averaged"),
        (scores_with(lambda p, k, v: ((p + k).tanh() @ v).tanh()), "tanh-twice"),
        (scores_of_a_running_sum, "running-sum"),
        (scores_of_a_recurrent_network, "running-tanh"),
        (returns_inside_the_loop, "only-the-first"),
        (returns_the_first_score, "first-as-a-number"),
        (lambda s, h, w, u, v: scores_by_loop(s, h[: len(h) - 1], w, u, v), "last-missing"),
        (scores_with(lambda p, k, v: v * (p + k).tanh()), "times-v"),
        (scores_from_a_reshaped_matrix, "annotations-reshaped"),
        (scores_of_reshaped_projections, "projections-reshaped"),
    ],
    "additive_attention": [
        (look_over_sentences, "softmax-over-batch"),
        (look_without_exp, "proportional"),
        (look_the_wrong_way_round, "swapped-outputs"),
        (look_keeps_an_axis, "wrong-shape"),
        (look_weights_only, "missing-output"),
        (look_scaled, "scaled-already"),
        *((attention_with(score), slip) for score, slip in WRONG_SCORES),
        *((attention_after(lambda e, h, f=f: weighted(f(e), h)), slip) for f, slip in WRONG_WEIGHTS),
        (attention_with(lambda p, k, v: (p + k) @ v), "no-tanh"),
        (attention_with(lambda p, k, v: (p.tanh() + k.tanh()) @ v), "state-cancels"),
        (attention_after(lambda e, h: (weighted(F.softmax(e, dim=1), h)[0], e)), "weights-are-scores"),
        (attention_after(lambda e, h: ((e.softmax(1) @ h)[:, 0], e.softmax(1))), "first-weights-for-all"),
        (attention_after(lambda e, h: (h.sum(dim=1), F.softmax(e, dim=1))), "plain-sum"),
        (
            attention_after(lambda e, h: (torch.einsum("bn,bna->na", e.softmax(1), h), e.softmax(1))),
            "summed-over-sentences",
        ),
        (
            attention_after(lambda e, h: (torch.einsum("bn,bna->bn", e.softmax(1), h), e.softmax(1))),
            "summed-over-components",
        ),
        (attention_after(lambda e, h: (e[-1].softmax(0) @ h[-1], e[-1].softmax(0))), "last-sentence-only"),
        (attention_after(lambda e, h: (h.mean(dim=1), F.softmax(e, dim=1))), "uniform-context"),
        (
            attention_after(lambda e, h: (h[range(len(h)), e.argmax(dim=1)], F.softmax(e, dim=1))),
            "hard-context",
        ),
        (
            attention_after(lambda e, h: ((e.softmax(1).unsqueeze(-1) * h).mean(dim=1), e.softmax(1))),
            "mean-of-products",
        ),
        (
            attention_after(lambda e, h: weighted((e.exp() / e.exp().sum()), h)),
            "softmax-over-everything",
        ),
        (attention_after(lambda e, h: ((e.softmax(1) @ h).mean(dim=0), e.softmax(1))), "whole-batch-blended"),
        (attention_after(lambda e, h: ((e.softmax(1) @ h)[0], e.softmax(1))), "first-annotations-for-all"),
        (
            lambda s, h, w, u, v: weighted(F.softmax(bent_sum(s, h, w, u) @ v, dim=1), F.linear(h, u)),
            "blends-projections",
        ),
        (
            lambda s, h, w, u, v: (
                torch.einsum("bn,bnd->bd", (bent_sum(s, h, w, u) @ v).softmax(1), bent_sum(s, h, w, u)),
                (bent_sum(s, h, w, u) @ v).softmax(1),
            ),
            "blends-hidden",
        ),
        (
            lambda s, h, w, u, v: weighted((((s @ w).unsqueeze(1) + h @ u).tanh() @ v).softmax(1), h),
            "both-transposed",
        ),
        (attention_after(lambda e, h: (e.softmax(1).unsqueeze(-1) * h, e.softmax(1))), "products-not-summed"),
        (lambda s, h, w, u, v: weighted(bent_sum(s, h, w, u).softmax(1) @ v, h), "softmax-of-hidden"),
        (
            lambda s, h, w, u, v: weighted(F.softmax(bent_sum(s[:1], h, w, u) @ v, dim=1), h),
            "first-state-for-all",
        ),
        (
            lambda s, h, w, u, v: weighted(
                F.softmax((F.linear(s, w)[None] + F.linear(h, u)).tanh() @ v, dim=1), h
            ),
            "states-along-words",
        ),
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
