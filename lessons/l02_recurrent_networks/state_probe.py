"""Does a language model's state still hold the gender of the subject, and does its prediction use it?

    >>> beginnings = make_beginnings()
    >>> beginnings[0].text, beginnings[0].middle, beginnings[0].feminine
    ("le garçon a mangé la pomme parce qu'", 'a mangé la pomme', False)

Every beginning ends just before a pronoun, *il* (masculine) or *elle* (feminine). Its subject and the rest,
the `middle`, are combined freely, so that nothing after the subject reveals its gender. A probe is a linear
classifier that is trained on states, and tested on subjects or middles that it hasn't seen.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from statistics import mean
from typing import NamedTuple

import torch
from torch import nn

from course_lib.models.inference import device_of
from course_lib.models.recurrent_lm import RecurrentLM
from course_lib.shapes import Bool, Float, Tensor
from course_lib.text.batch import make_batch
from course_lib.text.tokenizer import Tokenizer
from course_lib.text.toy.lexicon import grammar, lexicon
from course_lib.text.toy.realisation import realise
from course_lib.text.toy.tree import Clause, Phrase

SUBJECTS = ("person", "animal")  # the kinds of nouns that do something
N_FOLDS = 5
FEWEST_SUBJECTS = 12  # for a probe of one middle
PENALTY = 0.1  # of the ridge regression
N_RESAMPLED = 1000


class Beginning(NamedTuple):
    """The beginning of a French sentence, up to *parce qu'* (because)."""

    text: str
    subject: str
    middle: str
    feminine: bool  # the subject
    object_feminine: bool


def make_beginnings() -> list[Beginning]:
    """Every subject with every verb and object that make sense with it: `la souris a bu l' eau parce qu'`."""
    words = lexicon()
    rows: dict[str, Beginning] = {}
    for name in dict.fromkeys(reason.verb for reason in grammar().reasons if not reason.where):
        verb = words.verb(name)
        for subject in (noun for noun in words.nouns if noun.kind in SUBJECTS):
            for obj in words.nouns:
                fits = any(subject.tags & first and obj.tags & second for first, second in verb.frames)
                if fits and subject is not obj:
                    clause = Clause(Phrase(subject), verb, Phrase(obj))
                    text = realise([clause], past=True).tgt_text
                    middle = text.split(subject.fr[0], 1)[1].strip()
                    genders = subject.gender == "f", obj.gender == "f"
                    rows[text] = Beginning(f"{text} parce qu'", subject.fr[0], middle, *genders)
    return list(rows.values())


def _encode(texts: Sequence[str], tokenizer: Tokenizer, device: torch.device) -> tuple[Tensor, Tensor]:
    """Token ids with BOS in front, and the index of each text's last word."""
    rows = [tokenizer.encode(text) for text in texts]
    tokens = make_batch(rows, rows).tgt_in  # BOS, then the words
    return tokens.to(device), torch.tensor([len(row) for row in rows], device=device)


@torch.no_grad()
def last_states(
    model: RecurrentLM, tokenizer: Tokenizer, texts: Sequence[str]
) -> Float[Tensor, "texts hidden"]:
    """The hidden state after the last word of each text."""
    tokens, last = _encode(texts, tokenizer, device_of(model))
    states, _ = model.recurrent(model.words.target(tokens))
    return states[range(len(texts)), last].cpu()


def elle_against_il(model: nn.Module, tokenizer: Tokenizer, texts: Sequence[str]) -> Float[Tensor, " texts"]:
    """The probability of *elle* after each text, if only *il* and *elle* are compared."""
    return first_of_two(model, tokenizer, texts, ["elle il"] * len(texts))


@torch.no_grad()
def first_of_two(
    model: nn.Module, tokenizer: Tokenizer, texts: Sequence[str], words: Sequence[str]
) -> Float[Tensor, " texts"]:
    """The probability of the first of two words (`elle il`) after each text, if only these are compared."""
    tokens, last = _encode(texts, tokenizer, device_of(model))
    logits = model.decode(tokens)[0][range(len(texts)), last].cpu()
    both = torch.tensor([tokenizer.encode(two) for two in words])
    return logits.gather(1, both).softmax(dim=-1)[:, 0]


def fit_probe(states: Float[Tensor, "n hidden"], labels: Bool[Tensor, " n"]) -> Callable[[Tensor], Tensor]:
    """A linear classifier by ridge regression on the targets 1 and -1."""
    mean_state, targets = states.mean(dim=0), 2.0 * labels - 1
    offset = targets.mean()
    centred = states - mean_state
    matrix = centred.T @ centred + PENALTY * torch.eye(states.shape[1])
    weights = torch.linalg.solve(matrix, centred.T @ (targets - offset))
    return lambda new: (new - mean_state) @ weights + offset > 0


def held_out_accuracy(
    states: Float[Tensor, "n hidden"], labels: Bool[Tensor, " n"], groups: Sequence[str]
) -> Float[Tensor, " n"]:
    """1 where a probe is right that was trained without this group (this noun, or this middle), else 0."""
    names = sorted(set(groups))
    random.Random(0).shuffle(names)
    fold_of = {name: index % N_FOLDS for index, name in enumerate(names)}
    folds = torch.tensor([fold_of[group] for group in groups])
    right = torch.zeros(len(groups))
    for fold in folds.unique():
        held_out = folds == fold
        probe = fit_probe(states[~held_out], labels[~held_out])
        right[held_out] = (probe(states[held_out]) == labels[held_out]).float()
    return right


def accuracy_with_the_same_middle(
    states: Float[Tensor, "n hidden"], labels: Bool[Tensor, " n"], beginnings: Sequence[Beginning]
) -> Float[Tensor, " n"]:
    """`held_out_accuracy` for unseen subjects, with a separate probe for each middle."""
    right = torch.full((len(beginnings),), torch.nan)
    for middle in dict.fromkeys(beginning.middle for beginning in beginnings):
        rows = [index for index, beginning in enumerate(beginnings) if beginning.middle == middle]
        if len(rows) >= FEWEST_SUBJECTS:
            subjects = [beginnings[row].subject for row in rows]
            right[rows] = held_out_accuracy(states[rows], labels[rows], subjects)
    return right


def summarise(values: Float[Tensor, " n"], groups: Sequence[str]) -> dict[str, float]:
    """The mean, and its 95% interval if the groups (the subjects) are drawn again with replacement."""
    names = sorted(set(groups))
    index = torch.tensor([names.index(group) for group in groups])[~values.isnan()]
    values = values[~values.isnan()].double()
    counts = torch.bincount(index, minlength=len(names)).double()
    sums = torch.bincount(index, weights=values, minlength=len(names))
    generator = torch.Generator().manual_seed(0)
    drawn = torch.randint(len(names), (N_RESAMPLED, len(names)), generator=generator)
    means = sums[drawn].sum(dim=1) / counts[drawn].sum(dim=1)
    low, high = means.quantile(torch.tensor([0.025, 0.975], dtype=torch.float64)).tolist()
    return {"mean": values.mean().item(), "low": low, "high": high}


def measure_pronouns(model: nn.Module, tokenizer: Tokenizer, *, n_labellings: int = 20) -> dict:
    """What the prediction does with the genders, and what can be read from the state of a recurrent model.

    `right`: how often the only correct pronoun is preferred, where subject and object have the same gender;
    `probability`: its probability against the other pronoun. `moved by`: how much the probability of *elle*
    rises if the subject (or the object) is feminine instead of masculine.
    """
    beginnings = make_beginnings()
    texts = [beginning.text for beginning in beginnings]
    subjects = [beginning.subject for beginning in beginnings]
    elle = elle_against_il(model, tokenizer, texts)
    feminine = torch.tensor([beginning.feminine for beginning in beginnings])
    of_object = torch.tensor([beginning.object_feminine for beginning in beginnings])
    same = feminine == of_object
    right_one = torch.where(feminine, elle, 1 - elle)[same]
    chosen = [subject for subject, is_same in zip(subjects, same.tolist(), strict=True) if is_same]
    result = {
        "beginnings": len(texts),
        "with one correct pronoun": int(same.sum()),
        "right": summarise((right_one > 0.5).float(), chosen),
        "probability": summarise(right_one, chosen),
        "moved by the subject": _effect(elle, feminine, [b.middle for b in beginnings]),
        "moved by the object": _effect(elle, of_object, subjects),
    }
    if isinstance(model, RecurrentLM):
        states, middles = last_states(model, tokenizer, texts), [beginning.middle for beginning in beginnings]
        random_labels = [
            accuracy_with_the_same_middle(states, _draw_labels(subjects, seed), beginnings)
            for seed in range(n_labellings)
        ]
        accuracies = {
            "one middle": accuracy_with_the_same_middle(states, feminine, beginnings),
            "one middle, random labels": torch.stack(random_labels).mean(dim=0),
            "new middles": held_out_accuracy(states, feminine, middles),
        }
        result["probe"] = {name: summarise(right, subjects) for name, right in accuracies.items()}
    return result


def _effect(values: Tensor, feminine: Tensor, groups: Sequence[str]) -> float:
    """The mean over the groups of: mean where feminine minus mean where masculine."""
    by_group: dict[str, list[int]] = {}
    for index, group in enumerate(groups):
        by_group.setdefault(group, []).append(index)
    differences = []
    for rows in by_group.values():
        chosen = feminine[rows]
        if chosen.any() and not chosen.all():
            differences.append((values[rows][chosen].mean() - values[rows][~chosen].mean()).item())
    return mean(differences)


def _draw_labels(subjects: Sequence[str], seed: int) -> Bool[Tensor, " n"]:
    """A random half of the subjects is labelled feminine, whatever its gender: the control for a probe."""
    names = sorted(set(subjects))
    feminine = set(random.Random(seed).sample(names, len(names) // 2))
    return torch.tensor([subject in feminine for subject in subjects])
