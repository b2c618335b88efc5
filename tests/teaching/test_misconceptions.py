"""A slip is put down to a misconception: its function must do what follows from that belief."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from course_lib.teaching.contents import misconceptions
from course_lib.teaching.exercises import find_exercise
from course_lib.teaching.exercises.tensor_exercise import compute_outputs

BY_EXERCISE = {
    "additive_attention": {"M12"},
    "layer_norm": {"M40"},
    "masked_attention": {"M19", "M20", "M22"},
    "scaled_attention": {"M07", "M08", "M11", "M12"},
    "self_attention": {"M08", "M19", "M20"},
    "sinusoids": {"M37"},
    "soft_lookup": {"M10", "M12"},
    "translator_masks": {"M21", "M25"},
}


class Trial:
    """One call of a slip's function: the inputs by name, and the outputs, by name where they have names."""

    def __init__(self, exercise: Any, function: Callable):
        self.function, self.reference = function, exercise.reference
        self.inputs = dict(zip(exercise.inputs, exercise.cases[1].make(), strict=True))
        self.outputs, self.right = (
            dict(
                zip(self.names(exercise), compute_outputs(called, tuple(self.inputs.values())), strict=False)
            )
            for called in (function, exercise.reference)
        )

    @staticmethod
    def names(exercise: Any) -> list[str]:
        masks = ["encoder", "decoder", "cross"]
        return list(exercise.returns) or masks

    @property
    def weights(self) -> torch.Tensor:
        return self.outputs["weights"]

    @property
    def allowed(self) -> torch.Tensor:
        mask = self.inputs["mask"] if "mask" in self.inputs else self.inputs["is_open"]
        return mask.expand_as(self.weights)

    @property
    def sums(self) -> torch.Tensor:
        """The sums of those rows in which something may be looked at."""
        return self.weights.sum(-1)[self.allowed.any(-1)]

    def scale(self) -> float:
        """By how much the scores are larger than they should be; a softmax leaves their differences."""
        scores, right = (
            found["scores"] if "scores" in found else found["weights"].log()
            for found in (self.outputs, self.right)
        )
        open_keys = right.isfinite().all(dim=tuple(range(right.ndim - 1)))
        spreads = [
            (values - values.mean(-1, keepdim=True)).norm()
            for values in (scores[..., open_keys], right[..., open_keys])
        ]
        return float(spreads[0] / spreads[1])

    def depends_on_lengths(self, function: Callable) -> bool:
        """Whether longer keys change the result."""
        longer = self.inputs | {"keys": 2 * self.inputs["keys"]}
        first, second = (
            compute_outputs(function, tuple(given.values()))[-1] for given in (self.inputs, longer)
        )
        return not torch.allclose(first, second, atol=1e-4)

    def mixes_words(self) -> bool:
        """Whether another last word changes the outputs of other words, which are the last axis but one."""
        first, *others = self.inputs.values()
        changed = first.clone()
        changed[..., -1, :] *= 3
        before, after = (compute_outputs(self.function, (x, *others))[0] for x in (first, changed))
        return not torch.allclose(before[..., :-1, :], after[..., :-1, :], atol=1e-4)


def divides_by_another_root(trial: Trial) -> bool:
    sizes = {size for tensor in trial.inputs.values() for size in tensor.shape}
    key_width = len(trial.inputs["w_k"]) if "w_k" in trial.inputs else trial.inputs["keys"].shape[-1]
    roots = [(key_width / size) ** 0.5 for size in sizes - {key_width}]
    return any(trial.scale() == pytest.approx(root, rel=1e-3) for root in roots)


def divides_by_the_width(trial: Trial) -> bool:
    key_width = trial.inputs["w_k" if "w_k" in trial.inputs else "keys"].shape[-1]
    return trial.scale() == pytest.approx(key_width**-0.5, rel=1e-3)


def is_one(sums: torch.Tensor) -> bool:
    return torch.allclose(sums, torch.ones_like(sums), atol=1e-5)


def closes_rows_of_padding(trial: Trial) -> bool:
    is_padding = torch.arange(trial.inputs["n_tgt"]) >= trial.inputs["tgt_lengths"][:, None]
    return is_padding.any() and not trial.outputs["decoder"][is_padding].any()


def hides_what_is_ahead_across(trial: Trial) -> bool:
    first, last = trial.outputs["cross"][:, 0], trial.outputs["cross"][:, -1]
    return bool((last & ~first).any())


SHOWS = {
    "M07": divides_by_the_width,
    "M08": divides_by_another_root,
    "M10": lambda trial: (
        trial.depends_on_lengths(trial.function) != trial.depends_on_lengths(trial.reference)
    ),
    "M11": lambda trial: is_one(trial.weights.sum(-2)) and not is_one(trial.weights.sum(-1)),
    "M12": lambda trial: (
        set(trial.weights.flatten().tolist()) == {0.0, 1.0} and is_one(trial.weights.sum(-1))
    ),
    "M19": lambda trial: is_one(trial.sums) and bool(trial.weights[~trial.allowed].any()),
    "M20": lambda trial: not is_one(trial.sums) and not trial.weights[~trial.allowed].any(),
    "M21": closes_rows_of_padding,
    "M22": lambda trial: bool(trial.weights[~trial.allowed].any()) and not trial.weights[trial.allowed].any(),
    "M25": hides_what_is_ahead_across,
    "M37": lambda trial: bool((next(iter(trial.outputs.values())).norm(dim=-1).diff() > 0.5).all()),
    "M40": Trial.mixes_words,
}


@pytest.mark.parametrize("name", BY_EXERCISE)
def test_a_slip_shows_what_its_misconception_says(name):
    exercise = find_exercise(name)
    blamed = [slip for slip in exercise.slips if slip.misconception]
    assert {slip.misconception for slip in blamed} == BY_EXERCISE[name]
    for slip in blamed:
        assert SHOWS[slip.misconception](Trial(exercise, slip.wrong)), slip.name


@pytest.mark.parametrize("misconception", SHOWS)
def test_the_reference_shows_no_misconception_and_the_belief_is_listed(misconception):
    assert misconception in misconceptions()
    for name in (name for name, blamed in BY_EXERCISE.items() if misconception in blamed):
        assert not SHOWS[misconception](Trial(find_exercise(name), find_exercise(name).reference)), name
