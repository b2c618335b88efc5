"""The exercises of lesson 16: one step of a beam, BLEU from its parts, attention with a cache."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from course_lib.layers.multi_head import join_heads, multi_head, split_heads
from course_lib.teaching.exercises import ByHand, PlainExercise, Slip

TOPIC = "decoding"


def random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator("cpu").manual_seed(seed))


# ---- one step of a beam


class TableDecoder:
    """A small decoder: its state is the text that it has read; a table holds what may follow a word."""

    def __init__(self, table: dict[str, dict[str, float]]):
        self.table = table

    def __repr__(self) -> str:
        return f"step, by the table {self.table}"

    def __call__(self, state: str, word: str) -> tuple[dict[str, float], str]:
        return dict(self.table[word]), f"{state} {word}".strip()


def grown(
    sums: Sequence[float],
    sentences: Sequence[Sequence[str]],
    states: Sequence[Any],
    step: Callable,
    width: int,
    *,
    adds: bool = True,
    best_first: bool = True,
    each: int | None = None,
    new_state: bool = True,
) -> tuple[list, list, list]:
    """One step of a beam; the options are ways to get it wrong."""
    candidates = []
    for total, sentence, state in zip(sums, sentences, states, strict=True):
        log_probs, new = step(state, sentence[-1])
        children = [
            (total * adds + log_prob, [*sentence, word], new if new_state else state)
            for word, log_prob in log_probs.items()
        ]
        children.sort(key=lambda candidate: -candidate[0])
        candidates += children[:each]
    candidates.sort(key=lambda candidate: candidate[0], reverse=best_first)
    kept = candidates[:width]
    return tuple([candidate[i] for candidate in kept] for i in range(3))


def first_grow(sums, sentences, states, step, width):
    candidates, new_states = [], []
    for total, sentence, state in zip(sums, sentences, states, strict=True):
        log_probs, new_state = step(state, sentence[-1])
        for word, log_prob in log_probs.items():
            candidates.append((total + log_prob, [*sentence, word]))
            new_states.append(new_state)
    best = sorted(candidates, key=lambda candidate: candidate[0], reverse=True)[:width]
    sums = [total for total, _ in best]
    sentences = [sentence for _, sentence in best]
    return sums, sentences, new_states[:width]


ARTICLES = {"the": {"cat": -3.0, "dog": -4.0}, "a": {"cat": -0.5, "dog": -1.0}}
FRENCH = {
    "le": {"chat": -0.5, "chien": -1.5, "lit": -2.5},
    "un": {"chat": -0.2, "chien": -1.9, "lit": -3.0},
    "ce": {"chat": -1.1, "chien": -1.3, "lit": -1.7},
}
VERBS = {"chat": {"dort": -0.2, "mange": -0.4}}  # rivals that end in the same word
GROW = PlainExercise(
    name="grow",
    lesson=TOPIC,
    inputs=("sums", "sentences", "states", "step", "width"),
    reference=grown,
    unrepaired=first_grow,
    by_hand=ByHand(
        inputs={
            "sums": [-1.0, -2.0],
            "sentences": [["the"], ["a"]],
            "states": ["", ""],
            "step": TableDecoder(ARTICLES),
            "width": 2,
        },
        answer=([-2.5, -3.0], [["a", "cat"], ["a", "dog"]], ["a", "a"]),
        says="“the” has −1 so far, and goes on with cat (−3) or dog (−4): −4 and −5. “a” has −2 and goes "
        "on with −0.5 or −1: −2.5 and −3. The best two are “a cat” and “a dog”. A state tells what was read.",
    ),
    others=(
        lambda: (
            [-0.9, -1.0, -1.2],
            [["le"], ["un"], ["ce"]],
            ["x", "y", "z"],
            TableDecoder(FRENCH),
            3,
        ),
        lambda: ([0.0], [["le"]], ["start"], TableDecoder(FRENCH), 2),
        lambda: (
            [-5.0, -1.0],
            [["vois", "le"], ["vois", "ce"]],
            ["vois", "vois"],
            TableDecoder(FRENCH),
            2,
        ),
        lambda: ([-1.0, -1.1], [["un"], ["ce"]], ["p", "q"], TableDecoder(FRENCH), 4),
        lambda: ([-2.0, -0.1], [["le"], ["un"]], ["p", "q"], TableDecoder(FRENCH), 1),
        lambda: ([-1.0, -1.1], [["le", "chat"], ["un", "chat"]], ["p", "q"], TableDecoder(VERBS), 3),
    ),
    slips=(
        Slip(
            "only-the-last-word",
            lambda *given: grown(*given, adds=False),
            "sentences are ranked by their last word alone. Add its log-probability to the sum so far.",
        ),
        Slip(
            "worst-first",
            lambda *given: grown(*given, best_first=False),
            "the least likely are kept. Log-probabilities are negative: the best sum is the one nearest "
            "to 0, so sort from the largest down.",
        ),
        Slip(
            "one-from-each",
            lambda *given: grown(*given, each=1),
            "each open sentence leaves one child. All children compete with one another: two of one "
            "parent may both stay, and another parent may have none.",
        ),
        Slip(
            "state-before-reading",
            lambda *given: grown(*given, new_state=False),
            "the states are those from before this step. Keep the one that `step` returned for the parent.",
        ),
        Slip(
            "keeps-all",
            lambda sums, sentences, states, step, width: grown(sums, sentences, states, step, 99),
            "every continuation is kept. Only the best `width` stay open.",
        ),
    ),
)


# ---- BLEU


def grams(words: Sequence[str], n: int) -> list[tuple[str, ...]]:
    return [tuple(words[i : i + n]) for i in range(len(words) - n + 1)]


def matches(output: Sequence[str], reference: Sequence[str], n: int) -> tuple[int, int]:
    ours, theirs = Counter(grams(output, n)), Counter(grams(reference, n))
    return sum((ours & theirs).values()), max(len(output) - n + 1, 0)


def not_clipped(output: Sequence[str], reference: Sequence[str], n: int) -> tuple[int, int]:
    theirs = set(grams(reference, n))
    return sum(gram in theirs for gram in grams(output, n)), max(len(output) - n + 1, 0)


def counts_of(
    translations: Sequence[Sequence[str]],
    references: Sequence[Sequence[str]],
    n: int,
    counts: Callable = matches,
) -> tuple[int, int]:
    """Matches and n-grams of a whole corpus."""
    pairs = [counts(output, right, n) for output, right in zip(translations, references, strict=True)]
    return sum(pair[0] for pair in pairs), sum(pair[1] for pair in pairs)


def lengths(translations: Sequence[Sequence[str]], references: Sequence[Sequence[str]]) -> tuple[int, int]:
    return sum(map(len, translations)), sum(map(len, references))


def words_of(text: str) -> list[str]:
    return text.split()


def score(
    translations: Sequence[Sequence[str]],
    references: Sequence[Sequence[str]],
    *,
    brevity: bool = True,
    counts: Callable = matches,
    orders: Sequence[int] = (1, 2, 3, 4),
) -> float:
    """BLEU of a corpus, from 0 to 100; the options are ways to get it wrong."""
    logs = 0.0
    for n in orders:
        matched, total = counts_of(translations, references, n, counts)
        if matched == 0:
            return 0.0
        logs += math.log(matched / total) / len(orders)
    c, r = lengths(translations, references)
    penalty = min(0.0, 1 - r / c) if brevity else 0.0
    return 100 * math.exp(logs + penalty)


def mean_of_sentences(translations, references):
    return sum(score([a], [b]) for a, b in zip(translations, references, strict=True)) / len(translations)


def arithmetic_mean(translations, references):
    c, r = lengths(translations, references)
    if not c:
        return 0.0
    counts = [counts_of(translations, references, n) for n in (1, 2, 3, 4)]
    precisions = [matched / total if total else 0.0 for matched, total in counts]
    return 100 * sum(precisions) / 4 * math.exp(min(0.0, 1 - r / c))


def penalty_both_ways(translations, references):
    c, r = lengths(translations, references)
    without_penalty = score(translations, references, brevity=False)
    return without_penalty * math.exp(1 - r / c) if without_penalty else 0.0


def plain_ratio(translations, references):
    c, r = lengths(translations, references)
    return score(translations, references, brevity=False) * min(1.0, c / r)


def only_pairs(translations, references):
    return score(translations, references, orders=(1, 2))


def as_a_fraction(translations, references):
    return score(translations, references) / 100


def corpus(*pairs: tuple[str, str]) -> Callable:
    return lambda: ([words_of(output) for output, _ in pairs], [words_of(right) for _, right in pairs])


GARDEN = "le petit chat noir dort dans le grand jardin"
BLEU = PlainExercise(
    name="bleu_score",
    lesson=TOPIC,
    inputs=("translations", "references"),
    reference=score,
    by_hand=ByHand(
        inputs={
            "translations": [words_of("a b c d e f g h")],
            "references": [words_of("a b c d e f g h i j")],
        },
        answer=100 * math.exp(1 - 10 / 8),
        says="Everything that was said is right: all four precisions are 1. But 8 words stand for 10, so "
        "the brevity penalty is exp(1 − 10/8) = exp(−0.25) = 0.779, and BLEU is 77.9.",
    ),
    others=(
        corpus(
            ("le chat noir dort dans le jardin", "le petit chat noir dort dans le jardin"),
            ("la femme ne voit pas le chien", "la femme ne voit pas le chien"),
        ),
        corpus((GARDEN.replace("dort", "ne dort pas"), GARDEN)),
        corpus((GARDEN, GARDEN)),
        corpus(("le matou sommeille dehors", GARDEN)),
        corpus(("le chat", "le chat"), (GARDEN, GARDEN.replace("noir", "blanc"))),
        corpus(("le le le le le le", "le chat dort sur le lit")),
        corpus(("le chat dort ici le chat dort ici", "le chat dort ici bien")),
        corpus((GARDEN + " ce soir", GARDEN), ("les chiens courent", "les deux chiens courent vite ici")),
        lambda: ([[]], [words_of("le chat")]),
    ),
    slips=(
        Slip(
            "mean-of-sentences",
            mean_of_sentences,
            "each sentence gets a score of its own, and they are averaged. Add up matches and totals over "
            "all sentences first, for each n, and divide once.",
        ),
        Slip(
            "no-brevity",
            lambda *given: score(*given, brevity=False),
            "there is no brevity penalty: who says little and only what is sure gets too much.",
        ),
        Slip(
            "arithmetic",
            arithmetic_mean,
            "the four precisions are averaged in the ordinary way. BLEU takes the geometric mean: the "
            "mean of the logarithms, then exp.",
        ),
        Slip(
            "rewards-length",
            penalty_both_ways,
            "translations that are longer than the references get a bonus. The penalty is 1 for those.",
        ),
        Slip(
            "plain-ratio",
            plain_ratio,
            "the penalty is c / r. BLEU's is exp(1 − r/c): harder on very short ones.",
        ),
        Slip("only-pairs", only_pairs, "only groups of one and two words count. BLEU goes up to four."),
        Slip(
            "as-a-share",
            as_a_fraction,
            "this is between 0 and 1. Give it from 0 to 100, as everybody writes it.",
        ),
        Slip(
            "not-clipped",
            lambda *given: score(*given, counts=not_clipped),
            "a word group said often counts often. Use `clipped_matches`.",
        ),
    ),
)


# ---- the cache

Past = tuple[Tensor, Tensor]


def split_all(x: Tensor, n_heads: int, *matrices: Tensor) -> list[Tensor]:
    """The products of x with each matrix, split into heads."""
    return [split_heads(x @ matrix, n_heads=n_heads) for matrix in matrices]


def cached(
    x: Tensor,
    past: Past,
    w_q: Tensor,
    w_k: Tensor,
    w_v: Tensor,
    w_o: Tensor,
    n_heads: int,
    *,
    sees_past: bool = True,
    sees_itself: bool = True,
    keeps: bool = True,
    front: bool = False,
    both: bool = True,
    scale: float = 1.0,
    out: bool = True,
) -> tuple[Tensor, Past]:
    """Attention of one new word with a cache; the options are ways to get it wrong."""
    query, key, value = split_all(x, n_heads, w_q, w_k, w_v)
    parts = [(key, past[0]), (value, past[1] if both else value.new_zeros(past[1].shape))]
    keys, values = (torch.cat([new, old] if front else [old, new], dim=2) for new, old in parts)
    attended = (keys, values)
    if not sees_past:
        attended = (key, value)
    elif not sees_itself and past[0].shape[2]:
        attended = past
    context, _ = multi_head(query * scale, *attended, with_weights=True)
    joined = join_heads(context)
    return joined @ w_o if out else joined, (keys, values) if keeps else past


def queries_kept(x, past, w_q, w_k, w_v, w_o, n_heads):
    return cached(x, past, w_q, w_q, w_v, w_o, n_heads)


def values_are_keys(x, past, w_q, w_k, w_v, w_o, n_heads):
    return cached(x, past, w_q, w_k, w_k, w_o, n_heads)


def cache_case(seed: int, batch: int, t: int, d: int, n_heads: int) -> Callable:
    x = random(batch, 1, d, seed=seed)
    past = tuple(random(batch, n_heads, t, d // n_heads, seed=seed + i) for i in (1, 2))
    matrices = [random(d, d, seed=seed + 3 + i) / math.sqrt(d) for i in range(4)]
    return lambda: (
        x.clone(),
        tuple(part.clone() for part in past),
        *(matrix.clone() for matrix in matrices),
        n_heads,
    )


LN3 = math.log(3)
CACHED_ATTENTION = PlainExercise(
    name="cached_attention",
    lesson=TOPIC,
    inputs=("x", "past", "w_q", "w_k", "w_v", "w_o", "n_heads"),
    reference=cached,
    by_hand=ByHand(
        inputs={
            "x": torch.tensor([[[1.0]]]),
            "past": (torch.tensor([[[[0.0]]]]), torch.tensor([[[[4.0]]]])),
            "w_q": torch.tensor([[1.0]]),
            "w_k": torch.tensor([[LN3]]),
            "w_v": torch.tensor([[8.0]]),
            "w_o": torch.tensor([[10.0]]),
            "n_heads": 1,
        },
        answer=(
            torch.tensor([[[70.0]]]),
            (torch.tensor([[[[0.0], [LN3]]]]), torch.tensor([[[[4.0], [8.0]]]])),
        ),
        says="One head, one number each. The cache holds one word: key 0, value 4. The new word makes "
        "query 1, key ln 3 and value 8. Keys are now (0, ln 3), values (4, 8). The scores are 0 and "
        "ln 3, the weights 1/4 and 3/4, the blend 1/4 · 4 + 3/4 · 8 = 7. Times W_O: 70. The cache "
        "now holds both words.",
    ),
    others=(
        cache_case(0, 1, 4, 12, 3),
        cache_case(10, 2, 3, 8, 2),
        cache_case(20, 1, 0, 8, 4),
        cache_case(30, 3, 6, 6, 1),
    ),
    slips=(
        Slip(
            "forgets-the-past",
            lambda *given: cached(*given, sees_past=False),
            "the new word looks at itself alone. Its query must meet all keys: the old ones and its own.",
        ),
        Slip(
            "does-not-see-itself",
            lambda *given: cached(*given, sees_itself=False),
            "the new word does not look at itself. Append its key and value first, then attend.",
        ),
        Slip(
            "does-not-keep",
            lambda *given: cached(*given, keeps=False),
            "the cache comes back as it was. Return it with the new word's key and value, for the next step.",
        ),
        Slip(
            "at-the-front",
            lambda *given: cached(*given, front=True),
            "the new word stands in front of the older ones. The output does not notice (a sum has no "
            "order), but the cache is in the wrong order: old first, then new.",
        ),
        Slip(
            "keys-only",
            lambda *given: cached(*given, both=False),
            "the values of the earlier words are gone. Append to the values just as to the keys.",
        ),
        Slip(
            "queries-kept",
            queries_kept,
            "the keys are made with `w_q`. What is kept are keys and values; a query is used once.",
            misconception="M44",
        ),
        Slip(
            "values-are-keys",
            values_are_keys,
            "the values are made with `w_k`. They have a matrix of their own.",
        ),
        Slip(
            "no-output-projection",
            lambda *given: cached(*given, out=False),
            "the joined heads are returned as they are. One product is missing: `@ w_o`.",
        ),
        Slip(
            "root-of-d-model",
            lambda *given: cached(*given, scale=1 / math.sqrt(given[6])),
            "the scores are divided by √d_model. Each head divides by the root of its own width.",
            misconception="M08",
        ),
    ),
)


EXERCISES = (GROW, BLEU, CACHED_ATTENTION)
