"""Wrong translations beside the expected ones, grouped by the kind of error.

    >>> expected, output = "le chat ne dort pas".split(), "le chat dort pas".split()
    >>> kind_of_error(expected, output, plain=expected, rule_words=set())
    'missing words'
    >>> marked(expected, output)
    ('le chat [ne] dort pas', 'le chat dort pas')

Of each run and test set, the first 200 wrong translations are kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from operator import ne
from typing import Any

from course_lib.formatting import counted
from lessons.l19_your_own_claim.corpus import sentences_of, small_world, split_indices
from lessons.l19_your_own_claim.rules import Rule, apply_rule, concerns
from lessons.l19_your_own_claim.trials import Trial

TYPICAL = 0.25  # a word that a rule adds to at least this fraction of the sentences it changes


@dataclass(frozen=True)
class TranslationError:
    seed: int
    source: str
    expected: tuple[str, ...]
    output: tuple[str, ...]
    kind: str


def words_added(rule: Rule) -> set[str]:
    """The words that a rule typically adds, such as "voilà"; a rule that only moves words adds none."""
    changed = [pair for pair in small_world().train if concerns(rule, pair)]
    added = Counter(word for pair in changed for word in Counter(apply_rule(rule, pair)) - Counter(pair.tgt))
    return {word for word, n in added.items() if n >= TYPICAL * len(changed)}


def kind_of_error(
    expected: Sequence[str], output: Sequence[str], *, plain: Sequence[str], rule_words: Iterable[str]
) -> str:
    """What is wrong with an output. `plain` is the expected translation without the rule."""
    expected, output, plain, rule_words = list(expected), list(output), list(plain), set(rule_words)
    is_changed = expected != plain
    if is_changed and output == plain:
        return "rule not applied"
    if not is_changed and rule_words.intersection(output):
        others = [[word for word in words if word not in rule_words] for words in (expected, output)]
        if others[0] == others[1]:
            return "rule applied by mistake"
    if is_changed and _similarity(output, plain) > _similarity(output, expected):
        return "rule not applied, and other errors"
    if Counter(output) == Counter(expected):
        return "right words in the wrong order"
    differences = [code for code in _opcodes(expected, output) if code[0] != "equal"]
    if all(tag == "delete" for tag, *_ in differences):
        return "missing words"
    if all(tag == "insert" for tag, *_ in differences):
        return "extra words"
    if len(output) == len(expected) and sum(map(ne, expected, output)) == 1:
        return "one wrong word"
    return "several errors"


def _opcodes(one: Sequence[str], other: Sequence[str]) -> list[tuple[str, int, int, int, int]]:
    return SequenceMatcher(None, one, other, autojunk=False).get_opcodes()


def _similarity(one: Sequence[str], other: Sequence[str]) -> float:
    return SequenceMatcher(None, one, other, autojunk=False).ratio()


def marked(
    expected: Sequence[str], output: Sequence[str], mark: Callable[[str], str] = "[{}]".format
) -> tuple[str, str]:
    """Both sentences, with the words marked in which they differ."""
    first, second = [], []
    for tag, i, j, k, m in _opcodes(expected, output):
        first += expected[i:j] if tag == "equal" else map(mark, expected[i:j])
        second += output[k:m] if tag == "equal" else map(mark, output[k:m])
    return " ".join(first), " ".join(second)


def find_errors(trial: Trial, system: str, split: str, *, new: bool = False) -> list[TranslationError]:
    """The wrong translations of a system with the rule, of all seeds, as far as they are kept."""
    name, indices = split_indices(trial.rule, new=new)[split]
    pairs, rule_words, found = sentences_of(name), words_added(trial.rule), []
    for seed, outcome in zip(trial.seeds, trial.runs["with"][system], strict=True):
        wrong = outcome["wrong"][name]
        for index in indices:
            if (text := wrong.get(str(index))) is None:
                continue
            pair, output = pairs[index], text.split()
            expected = apply_rule(trial.rule, pair)
            kind = kind_of_error(expected, output, plain=pair.tgt, rule_words=rule_words)
            found.append(TranslationError(seed, pair.src_text, tuple(expected), tuple(output), kind))
    return found


def count_errors(trial: Trial, system: str, split: str, *, new: bool = False) -> tuple[int, int]:
    """How many translations with the rule are wrong, of all seeds, and how many there are."""
    name, indices = split_indices(trial.rule, new=new)[split]
    right = [outcome["right"][name] for outcome in trial.runs["with"][system]]
    n_wrong = sum(marks[index] == "0" for marks in right for index in indices)
    return n_wrong, len(right) * len(indices)


def by_kind(errors: Iterable[TranslationError]) -> dict[str, list[TranslationError]]:
    """The errors of each kind, the commonest kind first."""
    kinds: dict[str, list[TranslationError]] = {}
    for error in errors:
        kinds.setdefault(error.kind, []).append(error)
    return dict(sorted(kinds.items(), key=lambda item: -len(item[1])))


def show_errors(
    trial: Trial, system: str, splits: Sequence[str] = ("rule", "rest"), *, new: bool = False
) -> None:
    """Print how common each kind of error is on each split, with an example."""
    for split in splits:
        errors = find_errors(trial, system, split, new=new)
        n_wrong, n = count_errors(trial, system, split, new=new)
        kept = "" if len(errors) == n_wrong else f"; {len(errors)} of them were saved and are grouped below"
        print(f"{system} on {split}: {n_wrong:,} of {counted(n, 'translation')} are wrong{kept}")
        for kind, examples in by_kind(errors).items():
            expected, output = marked(examples[0].expected, examples[0].output)
            print(f"{len(examples):>6}  {kind}: {examples[0].source}")
            print(f"{'expected':>18}: {expected}\n{'output':>18}: {output}")


def show_errors_of_claim(result: Mapping[str, Any] | None) -> None:
    """Print the errors of both systems of the learner's claim, on short test sentences."""
    if result is None:
        print("There are no errors to show yet: train first.")
        return
    for system in result["trial"].runs["with"]:
        show_errors(result["trial"], system)
