"""The exercises of lesson 16: BLEU, the paired bootstrap, attention with a cache, one step of beam search."""

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any

import torch
from torch import Tensor

from course_lib.layers.multi_head import join_heads, multi_head, split_heads
from course_lib.teaching.exercises import ByHand, PlainExercise, Slip
from course_lib.teaching.exercises.answer import Answer, describe_type, format_value
from course_lib.teaching.exercises.exercise import Case, Trial
from course_lib.teaching.exercises.verdict import Verdict, join_paragraphs, wrong_verdict
from lessons.l16_decoding.corpus_bleu import bleu_of_rows

TOPIC = "decoding"


def random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator("cpu").manual_seed(seed))


# ---- one step of a beam


class TableDecoder:
    """A small decoder: its state is the text that it has read; a table has the log-probabilities of the words
    that may follow a word."""

    def __init__(self, table: dict[str, dict[str, float]]):
        self.table = table

    def __repr__(self) -> str:
        return f"step, by the table {self.table}"

    def __call__(self, state: Any, word: str) -> tuple[dict[str, float], Any]:
        return dict(self.table.get(word, {"</s>": -0.1})), self.read(state, word)

    def read(self, state: str, word: str) -> str:
        return f"{state} {word}".strip()


class DictDecoder(TableDecoder):
    """Its state is a dictionary: unlike two texts, two states can't be sorted."""

    def read(self, state: dict[str, str], word: str) -> dict[str, str]:
        return {"read": super().read(state["read"], word)}


def grown(
    sums: Sequence[float],
    sentences: Sequence[Sequence[str]],
    states: Sequence[Any],
    step: Callable,
    width: int,
    *,
    add: Callable[[float, float], float] = operator.add,
    extend: Callable[[Sequence[str], str], list[str]] = lambda sentence, word: [*sentence, word],
    state_of: Callable = lambda old, new, word: new,
    best_first: bool = True,
    each: int | None = None,
) -> tuple[list, list, list]:
    """One step of a beam; the options are ways to get it wrong."""
    candidates = []
    for total, sentence, state in zip(sums, sentences, states, strict=True):
        log_probs, new = step(state, sentence[-1])
        children = [
            (add(total, log_prob), extend(sentence, word), state_of(state, new, word))
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


def all_kept(sums, sentences, states, step, width):
    return grown(sums, sentences, states, step, 99)


def best_of_each(sums, sentences, states, step, width):
    return grown(sums, sentences, states, step, 99, each=width)


def as_many_as_before(sums, sentences, states, step, width):
    return grown(sums, sentences, states, step, len(sums))


def best_last(*inputs):
    return tuple(part[::-1] for part in grown(*inputs))


def as_probabilities(*inputs):
    sums, *rest = grown(*inputs)
    return [math.exp(total) for total in sums], *rest


def one_for_each_word(sums, sentences, states, step, width):
    kept, words = [], set()
    for candidate in zip(*all_kept(sums, sentences, states, step, width), strict=True):
        if candidate[1][-1] not in words and len(kept) < width:
            words.add(candidate[1][-1])
            kept.append(candidate)
    return tuple(map(list, zip(*kept, strict=True)))


def states_of_parents(sums, sentences, states, step, width):
    """One new state for each hypothesis, in the order of the hypotheses."""
    read = [step(state, sentence[-1])[1] for state, sentence in zip(states, sentences, strict=True)]
    return *grown(sums, sentences, states, step, width)[:2], read[:width]


def states_by_last_word(sums, sentences, states, step, width):
    pairs = zip(states, sentences, strict=True)
    read = {sentence[-1]: step(state, sentence[-1])[1] for state, sentence in pairs}
    sums, kept, _ = grown(sums, sentences, states, step, width)
    return sums, kept, [read[sentence[-2]] for sentence in kept]


ARTICLES = {"the": {"cat": -3.0, "dog": -4.0}, "a": {"cat": -0.5, "dog": -1.0}}
FRENCH = {
    "le": {"chat": -0.5, "chien": -1.5, "lit": -2.5},
    "un": {"chat": -0.2, "chien": -1.9, "lit": -3.0},
    "ce": {"chat": -1.1, "chien": -1.3, "lit": -1.7},
}
VERBS = {"chat": {"dort": -0.2, "mange": -0.4}}  # hypotheses that end in the same word
CERTAIN = {"le": {"chat": 0.0}, "un": {"chat": -0.3, "lit": -0.5}}  # a word of probability 1
TIED = {"le": {"chat": -0.5, "lit": -3.0}, "un": {"chat": -1.0, "lit": -2.5}}  # both with "lit": −4, not kept
GROW = PlainExercise(
    name="grow",
    lesson=TOPIC,
    inputs=("sums", "sentences", "states", "step", "width"),
    reference=grown,
    unrepaired=first_grow,
    trains=False,
    by_hand=ByHand(
        inputs={
            "sums": [-1.0, -2.0],
            "sentences": [["the"], ["a"]],
            "states": ["", ""],
            "step": TableDecoder(ARTICLES),
            "width": 2,
        },
        answer=([-2.5, -3.0], [["a", "cat"], ["a", "dog"]], ["a", "a"]),
        says="“the” has a sum of −1 and continues with cat (−3) or dog (−4): −4 and −5. “a” has −2 and "
        "continues with cat (−0.5) or dog (−1): −2.5 and −3. The best two are “a cat” and “a dog”. Here a "
        "state is the text that has been read, so both states are “a”.",
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
            [-3.0, -1.0],  # ranked by the mean of its words, the longer one would win
            [["je", "vois", "le"], ["ce"]],
            ["je vois", ""],
            TableDecoder(FRENCH),
            2,
        ),
        lambda: ([-1.0, -1.1], [["un"], ["ce"]], ["p", "q"], TableDecoder(FRENCH), 4),
        lambda: ([-2.0, -0.1], [["le"], ["un"]], ["p", "q"], TableDecoder(FRENCH), 1),
        lambda: ([-1.0, -1.1], [["le", "chat"], ["un", "chat"]], ["p", "q"], TableDecoder(VERBS), 3),
        lambda: ([-1.0, -1.1], [["un"], ["ce"]], ["p", "q"], TableDecoder(FRENCH), 9),
        lambda: (
            [-1.0, -1.5],
            [["le"], ["un"]],
            [{"read": "p"}, {"read": "q"}],
            DictDecoder(TIED),
            2,
        ),
        lambda: ([-1.0, -1.2], [["le"], ["un"]], ["p", "q"], TableDecoder(CERTAIN), 2),
    ),
    slips=(
        Slip(
            "only-the-last-word",
            partial(grown, add=lambda total, log_prob: log_prob),
            "hypotheses are ranked by their last word alone. Add its log-probability to the sum so far.",
        ),
        Slip(
            "multiplied",
            partial(grown, add=operator.mul),
            "the log-probability is multiplied by the sum so far. Probabilities are multiplied; their "
            "logarithms are added.",
        ),
        Slip(
            "subtracted",
            partial(grown, add=operator.sub),
            "the log-probability is subtracted from the sum so far. Add it.",
        ),
        Slip(
            "as-probabilities",
            as_probabilities,
            "the sums are returned as probabilities. Keep them as sums of log-probabilities: the next step "
            "adds to them.",
        ),
        Slip(
            "worst-first",
            partial(grown, best_first=False),
            "the least likely continuations are kept. Log-probabilities are negative, and the best sum is "
            "the one nearest to 0, so sort from the largest down.",
        ),
        Slip("best-last", best_last, "the right ones are kept, but the best comes last. Put it first."),
        Slip(
            "one-from-each",
            partial(grown, each=1),
            "only the best continuation of each hypothesis is kept. All continuations compete with each "
            "other: two of the same hypothesis may be kept, and none of another.",
        ),
        Slip(
            "best-of-each",
            best_of_each,
            "the best `width` continuations of *each* hypothesis are kept. Keep the best `width` of all.",
        ),
        Slip("keeps-all", all_kept, "every continuation is kept. Keep only the best `width`."),
        Slip(
            "as-many-as-before",
            as_many_as_before,
            "as many hypotheses are kept as there were before. Keep `width` of them.",
        ),
        Slip(
            "one-for-each-word",
            one_for_each_word,
            "each next word is kept only once. Two hypotheses may continue with the same word.",
        ),
        Slip(
            "word-not-appended",
            partial(grown, extend=lambda sentence, word: list(sentence)),
            "the sentences lack the new word. Append it.",
        ),
        Slip(
            "only-the-new-word",
            partial(grown, extend=lambda sentence, word: [word]),
            "the sentences contain only the new word. Append it to the words so far.",
        ),
        Slip(
            "prepended",
            partial(grown, extend=lambda sentence, word: [word, *sentence]),
            "the new word comes first in its sentence. Append it at the end.",
        ),
        Slip(
            "as-candidates",
            lambda *inputs: list(zip(*grown(*inputs), strict=True)),
            "one list of candidates is returned. Return three lists: sums, sentences, states.",
        ),
        Slip(
            "state-before-reading",
            partial(grown, state_of=lambda old, new, word: old),
            "the states are those from before this step. Keep the ones that `step` returned.",
        ),
        Slip(
            "state-ahead",
            lambda sums, sentences, states, step, width: grown(
                *(sums, sentences, states, step, width), state_of=lambda old, new, word: step(new, word)[1]
            ),
            "the states already include the new word. The next call of `grow` feeds it to `step`, so keep "
            "the state from before that.",
        ),
        Slip(
            "states-of-parents",
            states_of_parents,
            "the states are in the order of the old hypotheses, one for each. After the ranking, each kept "
            "sentence needs the state of the hypothesis that it continues.",
        ),
        Slip(
            "states-by-last-word",
            states_by_last_word,
            "the states are looked up by the last word, but two hypotheses may end in the same word.",
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


def unique_matches(output: Sequence[str], reference: Sequence[str], n: int) -> tuple[int, int]:
    ours = set(grams(output, n))
    return len(ours & set(grams(reference, n))), len(ours)


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


def brevity_penalty(c: int, r: int) -> float:
    return math.exp(min(0.0, 1 - r / c)) if c else 0.0


def geometric_mean(precisions: Sequence[float]) -> float:
    return math.prod(precisions) ** (1 / len(precisions))


def score(
    translations: Sequence[Sequence[str]],
    references: Sequence[Sequence[str]],
    *,
    counts: Callable = matches,
    orders: Sequence[int] = (1, 2, 3, 4),
    extra: Callable[[int], int] = lambda n: 0,
    mean: Callable[[Sequence[float]], float] = geometric_mean,
    penalty: Callable[[int, int], float] = brevity_penalty,
    zero_if: Callable[[int], bool] = lambda matched: matched == 0,
) -> float:
    """BLEU of a corpus, from 0 to 100; the options are ways to get it wrong."""
    precisions = []
    for n in orders:
        matched, total = counts_of(translations, references, n, counts)
        if zero_if(matched + extra(n)):
            return 0.0
        precisions.append((matched + extra(n)) / max(total + extra(n), 1))
    return 100 * mean(precisions) * penalty(*lengths(translations, references))


def mean_of_sentences(translations, references):
    return sum(score([a], [b]) for a, b in zip(translations, references, strict=True)) / len(translations)


def precisions_of_sentences(translations, references):
    pairs = list(zip(translations, references, strict=True))
    counts = [[matches(output, right, n) for output, right in pairs] for n in (1, 2, 3, 4)]
    precisions = [sum(hit / max(total, 1) for hit, total in row) / len(row) for row in counts]
    return 100 * geometric_mean(precisions) * brevity_penalty(*lengths(translations, references))


def arithmetic_mean(precisions):
    return sum(precisions) / len(precisions)


def without_zeros(precisions):
    """The fourth root of the product of those that aren't 0."""
    return math.prod(p for p in precisions if p) ** 0.25


def penalty_of_sentences(translations, references):
    pairs = zip(translations, references, strict=True)
    penalties = [brevity_penalty(len(output), len(right)) for output, right in pairs]
    return score(translations, references, penalty=lambda c, r: sum(penalties) / len(penalties))


def over_sentence_ends(translations, references):
    return score(*([list(chain(*sentences))] for sentences in (translations, references)))


def matched_anywhere(translations, references):
    """An n-gram matches if any reference has it."""

    def counts(output, right, n):  # all at once, instead of the first sentence
        ours, theirs = (
            Counter(gram for sentence in sentences for gram in grams(sentence, n))
            for sentences in (translations, references)
        )
        first = output is translations[0]
        return (sum((ours & theirs).values()), sum(ours.values())) if first else (0, 0)

    return score(translations, references, counts=counts)


def short_ones_left_out(translations, references):
    pairs = [pair for pair in zip(translations, references, strict=True) if len(pair[0]) >= 4]
    return score([output for output, _ in pairs], [right for _, right in pairs])


def log_of_zero(translations, references):
    counts = [counts_of(translations, references, n) for n in (1, 2, 3, 4)]
    logs = [math.log(hit / total) for hit, total in counts if total]
    return 100 * math.exp(sum(logs) / 4) * brevity_penalty(*lengths(translations, references))


def divides_by_zero(translations, references):
    counts = [counts_of(translations, references, n) for n in (1, 2, 3, 4)]
    precisions = [hit / total for hit, total in counts]
    return 100 * geometric_mean(precisions) * brevity_penalty(*lengths(translations, references))


def last_sentence_only(translations, references):
    """The counts are overwritten in the loop over the sentences; the lengths are right."""

    def counts(output, right, n):
        return matches(output, right, n) if output is translations[-1] else (0, 0)

    return score(translations, references, counts=counts)


def zero_for_one_sentence(translations, references):
    """Returns 0 as soon as one sentence has no match."""
    pairs = list(zip(translations, references, strict=True))
    if any(matches(output, right, n)[0] == 0 for n in (1, 2, 3, 4) for output, right in pairs):
        return 0.0
    return score(translations, references)


def mean_of_decimal_logs(precisions):
    return math.exp(sum(map(math.log10, precisions)) / len(precisions))


def corpus(*pairs: tuple[str, str]) -> Callable:
    return lambda: ([words_of(output) for output, _ in pairs], [words_of(right) for _, right in pairs])


GARDEN = "le petit chat noir dort dans le grand jardin"
DOG, BED = "un chien court dans la rue", "le chat dort dans le lit"
BLEU = PlainExercise(
    name="bleu_score",
    lesson=TOPIC,
    inputs=("translations", "references"),
    reference=score,
    trains=False,
    by_hand=ByHand(
        inputs={
            "translations": [words_of("a b c d e f g h")],
            "references": [words_of("a b c d e f g h i j")],
        },
        answer=100 * math.exp(1 - 10 / 8),
        says="Every n-gram of the translation is in the reference, so all four precisions are 1. But the "
        "translation has 8 words and the reference 10, so the brevity penalty is exp(1 − 10/8) = "
        "exp(−0.25) = 0.779, and BLEU is 77.9.",
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
        corpus((DOG, BED), (BED, DOG), (GARDEN, GARDEN)),
        corpus(("le chat", "le chat")),
        lambda: ([[]], [words_of("le chat")]),
    ),
    slips=(
        Slip(
            "mean-of-sentences",
            mean_of_sentences,
            "BLEU is computed for each sentence and averaged. For each n, first add up matches and totals "
            "over all sentences; then divide once.",
        ),
        Slip(
            "precisions-of-sentences",
            precisions_of_sentences,
            "the precisions are computed for each sentence and averaged. For each n, first add up matches "
            "and totals over all sentences; then divide once.",
        ),
        Slip(
            "no-brevity",
            partial(score, penalty=lambda c, r: 1.0),
            "the brevity penalty is missing, or always 1. Translations that are too short score too high.",
        ),
        Slip(
            "arithmetic",
            partial(score, mean=arithmetic_mean),
            "the four precisions are averaged arithmetically. BLEU takes the geometric mean: `exp` of the "
            "mean of the logarithms.",
        ),
        Slip(
            "arithmetic-without-zero",
            partial(score, mean=arithmetic_mean, zero_if=lambda matched: False),
            "the four precisions are averaged arithmetically. BLEU takes the geometric mean, so that one "
            "precision of 0 makes it 0.",
        ),
        Slip(
            "no-root",
            partial(score, mean=math.prod),
            "the fourth root is missing: the four precisions are only multiplied.",
        ),
        Slip(
            "rewards-length",
            partial(score, penalty=lambda c, r: math.exp(1 - r / c)),
            "translations that are longer than the references get a bonus. The penalty is at most 1.",
        ),
        Slip(
            "penalty-on-the-wrong-side",
            partial(score, penalty=lambda c, r: math.exp(1 - r / c) if c > r else 1.0),
            "the penalty is applied when the translations are longer than the references. It should apply "
            "when they are shorter.",
        ),
        Slip(
            "penalty-inverted",
            partial(score, penalty=lambda c, r: math.exp(min(0.0, 1 - c / r))),
            "long translations are penalised, not short ones. c and r are swapped: c is the number "
            "of words in the translations.",
        ),
        Slip(
            "plain-ratio",
            partial(score, penalty=lambda c, r: min(1.0, c / r)),
            "the penalty is c / r. BLEU's is exp(1 − r/c), which penalises very short translations more.",
        ),
        Slip(
            "penalty-of-sentences",
            penalty_of_sentences,
            "the brevity penalty is computed for each sentence and averaged. Compute it once, from all words "
            "of the translations and all words of the references.",
        ),
        Slip("only-pairs", partial(score, orders=(1, 2)), "only n = 1 and 2 count. BLEU goes up to n = 4."),
        Slip(
            "up-to-three",
            partial(score, orders=(1, 2, 3)),
            "only n = 1 to 3 count. BLEU goes up to n = 4; `range(1, 4)` ends before 4.",
        ),
        Slip(
            "up-to-three-of-four",
            partial(score, orders=(1, 2, 3), mean=lambda precisions: math.prod(precisions) ** 0.25),
            "only n = 1 to 3 count, although the fourth root is taken. `range(1, 4)` ends before 4; write "
            "`range(1, 5)`.",
        ),
        Slip(
            "last-sentence-only",
            last_sentence_only,
            "only the counts of the last sentence are used. Add up those of all sentences: `+=`, not `=`.",
        ),
        Slip(
            "zero-for-one-sentence",
            zero_for_one_sentence,
            "BLEU becomes 0 as soon as one sentence has no match for some n. Add up the matches of all "
            "sentences first; only if that sum is 0 is BLEU 0.",
        ),
        Slip(
            "decimal-logarithms",
            partial(score, mean=mean_of_decimal_logs),
            "the logarithms have base 10. `exp` is the inverse of the natural logarithm, `math.log`.",
        ),
        Slip(
            "penalty-under-the-root",
            partial(score, penalty=lambda c, r: brevity_penalty(c, r) ** 0.25),
            "the fourth root is taken of the brevity penalty, too. Divide only the sum of the four "
            "logarithms by 4, not 1 − r/c.",
        ),
        Slip(
            "rounded",
            lambda *inputs: round(score(*inputs), 1),
            "the score is rounded. Return it as it is, and round only when you print it.",
        ),
        Slip(
            "up-to-five",
            partial(score, orders=(1, 2, 3, 4, 5)),
            "n goes up to 5. BLEU stops at n = 4; `range(1, 5)` ends before 5.",
        ),
        Slip(
            "from-zero",
            partial(score, orders=(0, 1, 2, 3)),
            "n goes from 0 to 3. BLEU uses n = 1 to 4; `range(4)` starts at 0, so write `range(1, 5)`.",
        ),
        Slip(
            "penalty-without-exp",
            partial(score, penalty=lambda c, r: min(1.0, 1 - r / c)),
            "the penalty is min(1, 1 − r/c). The exponential is missing: it is min(1, exp(1 − r/c)).",
        ),
        Slip(
            "log-of-zero",
            log_of_zero,
            "the logarithm of 0 isn't defined. If nothing matches for some n, return 0.0 before you take it.",
        ),
        Slip(
            "divides-by-zero",
            divides_by_zero,
            "a corpus can have no n-grams of some length, and then `matches / total` divides by 0. Return "
            "0.0 before the division if nothing matches.",
        ),
        Slip(
            "recall",
            partial(score, counts=lambda output, right, n: matches(right, output, n)),
            "this is recall: the matches are divided by the n-grams of the references. A precision divides "
            "them by the n-grams of the translations. Are the arguments of `clipped_matches` swapped?",
        ),
        Slip(
            "over-sentence-ends",
            over_sentence_ends,
            "the sentences are joined into one, so some n-grams run across the end of a sentence.",
        ),
        Slip(
            "matched-anywhere",
            matched_anywhere,
            "an n-gram counts as a match if it occurs in the reference of another sentence. Compare each "
            "translation with its own reference.",
        ),
        Slip(
            "short-ones-left-out",
            short_ones_left_out,
            "sentences of fewer than four words are left out. They count too.",
        ),
        Slip(
            "smoothed",
            partial(score, extra=lambda n: n > 1),
            "1 is added to the matches and the totals (smoothing). Without it, BLEU is 0 if nothing matches.",
        ),
        Slip(
            "zeros-left-out",
            partial(score, mean=without_zeros, zero_if=lambda matched: False),
            "a precision of 0 is left out. It should make BLEU 0.",
        ),
        Slip(
            "as-a-fraction",
            lambda *inputs: score(*inputs) / 100,
            "the score is between 0 and 1. Return it from 0 to 100.",
        ),
        Slip(
            "not-clipped",
            partial(score, counts=not_clipped),
            "the matches aren't clipped: an n-gram may count more often than it occurs in the reference. Use "
            "`clipped_matches`.",
        ),
        Slip(
            "unique",
            partial(score, counts=unique_matches),
            "an n-gram that occurs several times in a sentence is counted once. Use `clipped_matches`.",
        ),
    ),
)


# ---- the paired bootstrap

Score = Callable[[Tensor], Tensor | float]
ACCURATE = 10_000  # draws for the expected interval
FEW = 2  # rounds that can't give the expected interval
TOLERANCE = 0.25  # in standard deviations of the differences; a quantile of 4,000 draws varies by 0.04
KNOWN: dict[tuple, tuple[float, float, float]] = {}


def root_mean_square(values: Tensor) -> Tensor:
    return values.square().mean().sqrt()


BATCHED: dict[Score, Score] = {  # the scores of many samples at once
    torch.mean: lambda samples: samples.flatten(1).mean(dim=-1),
    root_mean_square: lambda samples: samples.square().mean(dim=-1).sqrt(),
    bleu_of_rows: bleu_of_rows,
}
Draw = Callable[[int, int, torch.Generator], tuple[Tensor, Tensor]]


def scores_of(samples: Tensor, score: Score) -> Tensor:
    if score in BATCHED:
        return BATCHED[score](samples)
    return torch.tensor([float(score(sample)) for sample in samples])


def differences_of(one: Tensor, other: Tensor, score: Score, n_samples: int, seed: int, draw: Draw) -> Tensor:
    """The difference of the scores in each sample; `draw` makes the indices for the two systems."""
    rows, others = draw(n_samples, len(one), torch.Generator().manual_seed(seed))
    return scores_of(one[rows], score) - scores_of(other[others], score)


def draw_pairs(n_samples: int, n: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    rows = torch.randint(n, (n_samples, n), generator=generator)
    return rows, rows


def bootstrapped(
    one: Tensor,
    other: Tensor,
    score: Score = torch.mean,
    n_samples: int = 1000,
    seed: int = 0,
    *,
    draw: Draw = draw_pairs,
    ends: Callable[[Tensor], tuple[Tensor, Tensor]] = lambda d: (d.quantile(0.025), d.quantile(0.975)),
) -> tuple[float, float]:
    """The central 95% of the differences between two systems; the options are ways to get it wrong."""
    low, high = ends(differences_of(one, other, score, n_samples, seed, draw))
    return float(low), float(high)


def draw_separately(n_samples, n, generator):
    return draw_pairs(n_samples, n, generator)[0], draw_pairs(n_samples, n, generator)[0]


def all_once(n_samples, n, generator):
    rows = torch.arange(n).expand(n_samples, n)
    return rows, rows


def all_but_the_last(n_samples, n, generator):
    rows = torch.randint(n - 1, (n_samples, n), generator=generator)
    return rows, rows


def score_of_differences(one, other, score, n_samples, seed):
    rows, _ = draw_pairs(n_samples, len(one), torch.Generator().manual_seed(seed))
    found = scores_of((one - other)[rows], score)
    return found.quantile(0.025).item(), found.quantile(0.975).item()


def unsorted_ends(differences):
    return differences[int(0.025 * len(differences))], differences[int(0.975 * len(differences))]


def as_many_as_samples(one, other, score, n_samples, seed):
    rows = torch.randint(len(one), (500, n_samples), generator=torch.Generator().manual_seed(seed))
    return bootstrapped(one, other, score, draw=lambda *_: (rows, rows))


def of_one_system(one, other, score, n_samples, seed):
    rows, _ = draw_pairs(n_samples, len(one), torch.Generator().manual_seed(seed))
    scores = scores_of(one[rows], score)
    return scores.quantile(0.025).item(), scores.quantile(0.975).item()


def means_only(one, other, score, n_samples, seed):
    return bootstrapped(one, other, torch.mean, n_samples, seed)


def quantiles_first(*inputs):
    one, other, *rest = inputs
    ends = of_one_system(*inputs), of_one_system(other, one, *rest)
    return ends[0][0] - ends[1][0], ends[0][1] - ends[1][1]


def normal_ends(differences):
    mean, std = differences.mean(), differences.std()
    return mean - 1.96 * std, mean + 1.96 * std


def standard_error_ends(differences):
    mean, error = differences.mean(), differences.std() / math.sqrt(len(differences))
    return mean - 1.96 * error, mean + 1.96 * error


def quantile_ends(low: float, high: float) -> Callable[[Tensor], tuple[Tensor, Tensor]]:
    return lambda differences: (differences.quantile(low), differences.quantile(high))


def has_width(interval: Sequence[float]) -> bool:
    """Whether the ends differ by more than rounding, or aren't numbers."""
    return not abs(interval[1] - interval[0]) <= 1e-5


@dataclass(frozen=True, kw_only=True, eq=False)
class IntervalExercise(PlainExercise):
    """The answer is an interval from random draws: any draws are accepted, and both ends may deviate a
    little."""

    def expected_interval(self, inputs: Sequence[Any]) -> tuple[float, float, float]:
        """Low, high and the standard deviation of the differences, from many draws."""
        one, other, score, _, _ = inputs
        key = (one.numpy().tobytes(), other.numpy().tobytes(), score)
        if key not in KNOWN:
            found = differences_of(one, other, score, ACCURATE, 0, draw_pairs)
            KNOWN[key] = (found.quantile(0.025).item(), found.quantile(0.975).item(), found.std().item())
        return KNOWN[key]

    def is_close(self, inputs: Sequence[Any], interval: Sequence[float], answer: Sequence[float]) -> bool:
        """Whether two intervals differ by no more than random draws explain."""
        spread = max(self.expected_interval(inputs)[2], abs(interval[1] - interval[0]) / 4)
        pairs = zip(interval, answer, strict=True)
        return all(abs(expected - end) <= TOLERANCE * spread + 1e-5 for expected, end in pairs)

    def read(self, value: Any, case: Case) -> Answer | Verdict:
        answer = super().read(value, case)
        if isinstance(answer, Verdict):
            return answer
        try:
            low, high = (float(end) for end in value)
        except (TypeError, ValueError, RuntimeError):
            headline = (
                f"Expected two numbers, (low, high), but your function returned {describe_type(value)}."
            )
            return wrong_verdict(headline, "", "wrong-type")
        return Answer((low, high), answer.form_problems)

    def behaves_like(self, function: Callable, trial: Trial) -> bool:
        inputs = trial.case.make()
        if inputs[3] == FEW:  # says nothing about the method
            return True
        interval = function(*inputs)
        if any(map(math.isnan, trial.answer)):
            return list(map(math.isnan, interval)) == list(map(math.isnan, trial.answer))
        same_kind = has_width(interval) == has_width(trial.answer)
        return same_kind and self.is_close(inputs, interval, trial.answer)

    def find_problem(self, trials: list[Trial]) -> Verdict | None:
        return next(filter(None, map(self._compare, trials)), None) or self._seed_ignored(trials)

    def _compare(self, trial: Trial) -> Verdict | None:
        inputs = trial.case.make()
        *expected, spread = self.expected_interval(inputs)
        if inputs[3] == FEW:
            return self._compare_few(inputs, expected, trial)
        if self.is_close(inputs, expected, trial.answer):
            return None
        where = (
            "worked example" if trial.case.by_hand else "reference solution, more than random draws explain"
        )
        headline, details, slip = f"Your interval differs from the {where}.", "", None
        if not has_width(trial.answer) and spread > 0:
            headline = "Your interval has no width: all differences are the same."
            details = (
                "Usually, the same sample is used every time, or the sentences are drawn without "
                "replacement, so that each sample contains all of them once. Draw a new sample in every "
                "round, in which a sentence may occur several times."
            )
            slip = "no-width"
        return wrong_verdict(
            headline,
            join_paragraphs(details, self.by_hand.explanation if trial.case.by_hand else ""),
            slip,
            given=self.describe_call(trial.case),
            expected=f"about {format_value(tuple(expected))}",
            got=format_value(trial.answer),
        )

    def _compare_few(self, inputs: Sequence[Any], expected: Sequence[float], trial: Trial) -> Verdict | None:
        """Two differences don't reach both ends of the interval of thousands."""
        if not self.is_close(inputs, expected, trial.answer):
            return None
        return wrong_verdict(
            f"With `n_samples={FEW}`, your interval is as wide as with thousands of rounds.",
            "`n_samples` is the number of rounds. Use it in the loop instead of a fixed number.",
            "n-samples-ignored",
            given=self.describe_call(trial.case),
            got=format_value(trial.answer),
        )

    def _seed_ignored(self, trials: list[Trial]) -> Verdict | None:
        """Two of the cases differ in their seed only, and no two intervals of random samples are equal."""
        answers: dict[tuple, list] = {}
        for trial in trials:
            one, _, score, _, _ = trial.case.make()
            if len(one) > 2:
                answers.setdefault((one.numpy().tobytes(), score), []).append(trial.answer)
        if not any(len(same) > 1 and len(set(same)) == 1 for same in answers.values()):
            return None
        return wrong_verdict(
            "Different seeds give exactly the same interval.",
            "Use `seed` for the generator: `torch.Generator().manual_seed(seed)`.",
            "seed-ignored",
        )

    def praise(self, n_others: int) -> str:
        return (
            f"Correct on the worked example. On {n_others} other inputs, it is as close to the expected "
            "interval as random draws allow."
        )


def noisy_scores(n: int, seed: int) -> tuple[Tensor, Tensor]:
    """Two systems that find the same sentences difficult."""
    difficulty = random(n, seed=seed)
    return difficulty + 0.3 * random(n, seed=seed + 1) + 0.2, difficulty + 0.3 * random(n, seed=seed + 2)


def random_rows(n: int, seed: int) -> Tensor:
    """Counts for BLEU: each precision is a little lower than the one before."""
    lengths = 8 + (4 * random(n, seed=seed).abs()).round()
    missed = (random(n, 4, seed=seed + 1).abs() + torch.arange(4) * 0.8).round().cumsum(dim=1)
    matched = (lengths[:, None] - torch.arange(4) - missed).clamp(min=0)
    return torch.cat(
        [matched, lengths[:, None], (lengths + random(n, seed=seed + 2).round())[:, None]], dim=1
    )


SIMILAR, SKEWED = noisy_scores(50, 0), tuple((1.5 * values).exp() for values in noisy_scores(30, 10))
ROWS = random_rows(40, 20), random_rows(40, 30)
UNEQUAL = random(25, seed=40) * 3, random(25, seed=41)


def interval_case(
    pair: tuple[Tensor, Tensor], score: Score = torch.mean, n: int = 4000, seed: int = 0
) -> Callable:
    return lambda: (pair[0].clone(), pair[1].clone(), score, n, seed)


PAIRED_BOOTSTRAP = IntervalExercise(
    name="paired_bootstrap",
    lesson=TOPIC,
    inputs=("one", "other", "score", "n_samples", "seed"),
    reference=bootstrapped,
    trains=False,
    variations=(),
    seconds=20.0,
    by_hand=ByHand(
        inputs={
            "one": torch.tensor([1.0, 0.0]),
            "other": torch.tensor([0.0, 0.0]),
            "score": torch.mean,
            "n_samples": 1000,
            "seed": 0,
        },
        answer=(0.0, 1.0),
        says="There are two sentences, and only the first is right with system one. A sample of two is "
        "(1, 1), (1, 2), (2, 1) or (2, 2), each with probability ¼. The differences of the means are 1, 0.5, "
        "0.5 and 0. The extreme values 0 and 1 each occur in about 25% of the samples, more than the 2.5% "
        "that are cut off at each end, so the interval is from 0 to 1.",
    ),
    others=(
        interval_case(SIMILAR),
        interval_case(SIMILAR, seed=7),
        interval_case(ROWS, bleu_of_rows, n=2000),
        interval_case(SKEWED, n=2000),
        interval_case(UNEQUAL, root_mean_square, n=2000, seed=3),
        interval_case((torch.tensor([0.75]), torch.tensor([0.25])), n=100),
        interval_case(UNEQUAL, n=FEW),
    ),
    slips=(
        Slip(
            "drawn-separately",
            partial(bootstrapped, draw=draw_separately),
            "the sentences of the two systems are drawn independently of each other. Draw the indices once "
            "in each round and use them for both systems.",
        ),
        Slip(
            "no-replacement",
            partial(bootstrapped, draw=all_once),
            "the sentences are drawn without replacement (`randperm`), so every sample contains each "
            "sentence once, and all differences are the same. `torch.randint(n, (n,))` draws with "
            "replacement.",
        ),
        Slip(
            "never-the-last",
            partial(bootstrapped, draw=all_but_the_last),
            "the last sentence is never drawn. `torch.randint(n, (n,))` excludes its upper limit, so it "
            "draws from 0 to n − 1 already.",
        ),
        Slip(
            "score-of-differences",
            score_of_differences,
            "`score` is called once, on `one − other`. Call it for each system, and subtract the two scores.",
        ),
        Slip(
            "not-sorted",
            partial(bootstrapped, ends=unsorted_ends),
            "two differences are picked by their index, but the list isn't sorted. Sort it first, or use "
            "`quantile`.",
        ),
        Slip(
            "absolute",
            partial(bootstrapped, ends=lambda differences: quantile_ends(0.025, 0.975)(differences.abs())),
            "the absolute values of the differences are used. Keep the sign: it shows which system is ahead.",
        ),
        Slip(
            "wrong-size",
            as_many_as_samples,
            "each sample has `n_samples` sentences. It should have as many as the test set, `len(one)`; "
            "`n_samples` is the number of rounds.",
        ),
        Slip(
            "ninety-percent",
            partial(bootstrapped, ends=quantile_ends(0.05, 0.95)),
            "the interval contains 90% of the differences, because 5% are cut off at each end. For 95%, cut "
            "off 2.5% at each end: the quantiles 0.025 and 0.975.",
        ),
        Slip(
            "ninety-nine-percent",
            partial(bootstrapped, ends=quantile_ends(0.005, 0.995)),
            "the interval contains 99% of the differences. For 95%, cut off 2.5% at each end: the quantiles "
            "0.025 and 0.975.",
        ),
        Slip(
            "quartiles",
            partial(bootstrapped, ends=quantile_ends(0.25, 0.75)),
            "25% of the differences are cut off at each end. It should be 2.5%: the quantiles 0.025 and "
            "0.975.",
        ),
        Slip(
            "uneven",
            partial(bootstrapped, ends=quantile_ends(0.025, 0.95)),
            "2.5% of the differences are cut off at the lower end but 5% at the upper end. The upper "
            "quantile is 0.975.",
        ),
        Slip(
            "mean-and-deviation",
            partial(bootstrapped, ends=lambda differences: (differences.mean(), differences.std())),
            "the mean and the standard deviation of the differences are returned. Return their quantiles "
            "0.025 and 0.975.",
        ),
        Slip(
            "one-sided",
            partial(bootstrapped, ends=quantile_ends(0.05, 1.0)),
            "5% of the differences are cut off at the lower end and nothing at the upper end. Cut off 2.5% "
            "at each end.",
        ),
        Slip(
            "upper-end-only",
            partial(bootstrapped, ends=quantile_ends(0.0, 0.95)),
            "5% of the differences are cut off at the upper end and nothing at the lower end. Cut off 2.5% "
            "at each end.",
        ),
        Slip(
            "whole-range",
            partial(bootstrapped, ends=quantile_ends(0.0, 1.0)),
            "these are the smallest and the largest difference. Cut off 2.5% at each end: the quantiles "
            "0.025 and 0.975.",
        ),
        Slip(
            "one-system",
            of_one_system,
            "this is the interval of one system's score. Subtract the score of the other system in each "
            "round.",
        ),
        Slip(
            "other-minus-one",
            lambda one, other, *rest: bootstrapped(other, one, *rest),
            "the sign is wrong: the differences are score(other) − score(one).",
        ),
        Slip(
            "ends-swapped",
            lambda *inputs: bootstrapped(*inputs)[::-1],
            "the two ends are in the wrong order. Return (low, high).",
        ),
        Slip(
            "score-ignored",
            means_only,
            "`score` isn't used: the mean of the drawn rows is taken instead. Call `score(one[rows])`.",
        ),
        Slip(
            "quantiles-first",
            quantiles_first,
            "the interval of each system is computed, and then they are subtracted. Subtract the two scores "
            "in each round, and take the quantiles of the differences.",
        ),
        Slip(
            "normal",
            partial(bootstrapped, ends=normal_ends),
            "the interval is the mean ± 1.96 standard deviations, which assumes a normal distribution. Take "
            "the quantiles 0.025 and 0.975 of the differences.",
        ),
        Slip(
            "standard-error",
            partial(bootstrapped, ends=standard_error_ends),
            "the standard deviation is divided by √n_samples, so the interval shrinks with every further "
            "round. Take the quantiles 0.025 and 0.975 of the differences.",
        ),
    ),
)


# ---- the cache

Past = tuple[Tensor, Tensor]


def split_all(x: Tensor, n_heads: int, *matrices: Tensor) -> list[Tensor]:
    """The projections of x by each matrix (out, in), split into heads."""
    return [split_heads(x @ matrix.mT, n_heads=n_heads) for matrix in matrices]


def attended(query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    return multi_head(query, keys, values, with_weights=True)[0]


def cached(
    x: Tensor,
    past: Past,
    w_q: Tensor,
    w_k: Tensor,
    w_v: Tensor,
    w_o: Tensor,
    n_heads: int,
    *,
    attend: Callable[[Tensor, Tensor, Tensor], Tensor] = attended,
    seen: Callable[[Past, Past, Past], Past] = lambda past, new, both: both,
    keeps: Callable[[Past, Past, Past], Past] = lambda past, new, both: both,
    joins: Callable[[Tensor, Tensor], list[Tensor]] = lambda old, new: [old, new],
    out: bool = True,
) -> tuple[Tensor, Past]:
    """Attention of one new token with a cache; the options are ways to get it wrong."""
    query, *new = split_all(x, n_heads, w_q, w_k, w_v)
    both = tuple(torch.cat(joins(*pair), dim=2) for pair in zip(past, new, strict=True))
    joined = join_heads(attend(query, *seen(past, new, both)))
    return joined @ w_o.mT if out else joined, keeps(past, new, both)


def old_values_lost(x, past, *rest):
    return cached(x, (past[0], torch.zeros_like(past[1])), *rest)


def queries_kept(x, past, w_q, w_k, *rest):
    return cached(x, past, w_q, w_q, *rest)


def values_are_keys(x, past, w_q, w_k, w_v, *rest):
    return cached(x, past, w_q, w_k, w_k, *rest)


def keys_not_projected(x, past, w_q, w_k, *rest):
    return cached(x, past, w_q, torch.eye(len(w_k)), *rest)


def query_not_projected(x, past, w_q, *rest):
    return cached(x, past, torch.eye(len(w_q)), *rest)


def value_not_projected(x, past, w_q, w_k, w_v, *rest):
    return cached(x, past, w_q, w_k, torch.eye(len(w_v)), *rest)


def value_after_keys(x, past, *rest):
    return cached(x, (past[0], past[0]), *rest)


def nothing_projected(x, past, w_q, w_k, w_v, *rest):
    return cached(x, past, *[torch.eye(len(w_k))] * 3, *rest)


def all_transposed(x, past, *rest):
    *matrices, n_heads = rest
    return cached(x, past, *(matrix.T for matrix in matrices), n_heads)


def with_weights(x, past, w_q, w_k, w_v, w_o, n_heads):
    query, *new = split_all(x, n_heads, w_q, w_k, w_v)
    keys, values = (torch.cat(pair, dim=2) for pair in zip(past, new, strict=True))
    context, weights = multi_head(query, keys, values, with_weights=True)
    return join_heads(context) @ w_o.mT, weights, (keys, values)


def projects_again(x, past, w_q, w_k, w_v, w_o, n_heads):
    again = [
        split_heads(join_heads(part) @ matrix.mT, n_heads=n_heads)
        for part, matrix in zip(past, (w_k, w_v), strict=True)
    ]
    return cached(x, tuple(again), w_q, w_k, w_v, w_o, n_heads)


def over_the_heads(query, keys, values):
    return (query @ keys.mT / math.sqrt(query.shape[-1])).softmax(dim=1) @ values


def over_the_root_of_d_model(query, keys, values):
    return attended(query / math.sqrt(query.shape[1]), keys, values)


def scaled_twice(query, keys, values):
    return attended(query / math.sqrt(query.shape[-1]), keys, values)


def not_scaled(query, keys, values):
    return attended(query * math.sqrt(query.shape[-1]), keys, values)


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
    trains=False,  # a cache serves decoding
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
        says="One head of width 1. The cache holds one token: key 0, value 4. The new token has the query 1, "
        "the key ln 3 and the value 8, so the keys are now (0, ln 3) and the values (4, 8). The scores are 0 "
        "and ln 3, the attention weights 1/4 and 3/4, and their weighted sum is 1/4 · 4 + 3/4 · 8 = 7. "
        "Times W_O that is 70. The returned cache holds both tokens.",
    ),
    others=(
        cache_case(0, 1, 2, 4, 2),
        cache_case(10, 2, 3, 12, 3),
        cache_case(20, 1, 0, 8, 4),
        cache_case(30, 3, 6, 6, 1),
        cache_case(40, 1, 130, 4, 2),
    ),
    slips=(
        Slip(
            "forgets-the-past",
            partial(cached, seen=lambda past, new, both: new),
            "the new token attends only to itself. Its query should be compared with all keys: the cached "
            "ones and its own.",
        ),
        Slip(
            "does-not-see-itself",
            partial(cached, seen=lambda past, new, both: past),
            "the new token doesn't attend to itself. Append its key and value first, then attend.",
        ),
        Slip(
            "does-not-keep",
            partial(cached, keeps=lambda past, new, both: past),
            "the cache is returned unchanged. Return it with the new token's key and value.",
        ),
        Slip(
            "keeps-only-the-new",
            partial(cached, keeps=lambda past, new, both: tuple(new)),
            "the returned cache holds only the new token. Return the earlier tokens as well.",
        ),
        Slip(
            "at-the-front",
            partial(cached, joins=lambda old, new: [new, old]),
            "the new token comes before the earlier ones. The output doesn't depend on their order, but the "
            "cache should hold the earlier tokens first.",
        ),
        Slip(
            "pair-swapped",
            partial(cached, keeps=lambda past, new, both: both[::-1]),
            "the pair is returned as (values, keys). Return (keys, values).",
        ),
        Slip(
            "past-swapped",
            lambda x, past, *rest: cached(x, past[::-1], *rest),
            "`past` is read as (values, keys). It is (keys, values).",
        ),
        Slip(
            "keys-values-swapped",
            partial(cached, seen=lambda past, new, both: both[::-1]),
            "keys and values are swapped in the attention. `scaled_attention` takes queries, keys, values.",
        ),
        Slip(
            "keys-only",
            old_values_lost,
            "the values of the earlier tokens are lost. Append the new value to the cached values, as you do "
            "with the key.",
        ),
        Slip(
            "queries-kept",
            queries_kept,
            "the keys are computed with `w_q`. Use `w_k`: the cache holds keys and values; a query is used "
            "once.",
            misconception="M44",
        ),
        Slip(
            "values-are-keys",
            values_are_keys,
            "the values are computed with `w_k`. Use `w_v`.",
        ),
        Slip(
            "keys-not-projected",
            keys_not_projected,
            "`w_k` isn't used: the key is `x` itself. Multiply `x` by `w_k` before splitting it into heads.",
        ),
        Slip(
            "query-not-projected",
            query_not_projected,
            "`w_q` isn't used: the query is `x` itself. Multiply `x` by `w_q` before splitting it into "
            "heads.",
        ),
        Slip(
            "value-not-projected",
            value_not_projected,
            "`w_v` isn't used: the value is `x` itself. Multiply `x` by `w_v` before splitting it into "
            "heads.",
        ),
        Slip(
            "value-after-keys",
            value_after_keys,
            "the new value is appended to the cached keys. Append it to the cached values, `past[1]`.",
        ),
        Slip(
            "nothing-projected",
            nothing_projected,
            "`x` itself is used as query, key and value. Multiply it by `w_q`, `w_k` and `w_v`.",
        ),
        Slip(
            "all-transposed",
            all_transposed,
            "the matrices aren't transposed. They have the shape (out, in), so multiply by their transposes: "
            "`x @ w_q.T`.",
        ),
        Slip(
            "output-not-transposed",
            lambda x, past, w_q, w_k, w_v, w_o, n_heads: cached(x, past, w_q, w_k, w_v, w_o.T, n_heads),
            "`w_o` isn't transposed. Like the other matrices it has the shape (out, in), so multiply by "
            "`w_o.T`.",
        ),
        Slip(
            "inputs-not-transposed",
            lambda x, past, w_q, w_k, w_v, w_o, n_heads: cached(x, past, w_q.T, w_k.T, w_v.T, w_o, n_heads),
            "`w_q`, `w_k` and `w_v` aren't transposed. They have the shape (out, in), so multiply by their "
            "transposes: `x @ w_q.T`.",
        ),
        Slip(
            "three-outputs",
            lambda *inputs: (cached(*inputs)[0], *cached(*inputs)[1]),
            "three values are returned. Return two: the output, and the pair `(keys, values)`.",
        ),
        Slip(
            "output-only",
            lambda *inputs: cached(*inputs)[0],
            "only the output is returned. Return the new cache as well: `output, (keys, values)`.",
        ),
        Slip(
            "weights-too",
            with_weights,
            "the attention weights are returned as well. Return two values: the output and the pair "
            "`(keys, values)`.",
        ),
        Slip(
            "residual",
            lambda x, *rest: (x + cached(x, *rest)[0], cached(x, *rest)[1]),
            "`x` is added to the output. The residual connection is outside this function (lesson 13).",
        ),
        Slip(
            "projects-again",
            projects_again,
            "the keys and values in `past` are projected a second time. They are ready to use: append to "
            "them.",
        ),
        Slip(
            "one-new-tensor",
            partial(cached, keeps=lambda past, new, both: (both[0], past[1])),
            "the returned cache has the new key, but not the new value. Append both.",
        ),
        Slip(
            "no-output-projection",
            partial(cached, out=False),
            "the concatenated heads are returned without the output projection. Multiply them by `w_o`.",
        ),
        Slip(
            "causal-mask",
            partial(
                cached, attend=lambda query, keys, values: attended(query, keys[:, :, :1], values[:, :, :1])
            ),
            "the new token attends only to the first one. A causal mask of one row (`tril`) does that. No "
            "mask is needed: the cache holds nothing that comes later.",
        ),
        Slip(
            "over-the-heads",
            partial(cached, attend=over_the_heads),
            "the softmax is taken over the heads. Take it over the keys, the last axis of the scores.",
        ),
        Slip(
            "not-scaled",
            partial(cached, attend=not_scaled),
            "the scores aren't divided by √d_k. `scaled_attention` does that for you.",
        ),
        Slip(
            "scaled-twice",
            partial(cached, attend=scaled_twice),
            "the scores are divided by √d_k twice. `scaled_attention` divides by it already.",
        ),
        Slip(
            "root-of-d-model",
            partial(cached, attend=over_the_root_of_d_model),
            "the scores are divided by √d_model. Each head divides by the square root of its own width, d_k.",
            misconception="M08",
        ),
    ),
)


EXERCISES = (BLEU, PAIRED_BOOTSTRAP, CACHED_ATTENTION, GROW)
