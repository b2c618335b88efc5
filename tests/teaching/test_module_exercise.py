"""Checks of torch modules: names of parameters, and classes that are kept for later lessons.

The wrong answers of lesson 13 test the verdicts on its own exercises; see test_mutants.py.
"""

from __future__ import annotations

import linecache

import pytest
import torch
from torch import nn

from course_lib.teaching import check, list_own_functions, yours
from course_lib.teaching.exercises import compare_parameters, find_exercise, judge
from course_lib.teaching.own_code import kept_functions

SOURCE = """\
from torch import nn
import torch


def initialise(layer):
    nn.init.xavier_uniform_(layer.weight)
    nn.init.zeros_(layer.bias)


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.inner, self.outer = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        initialise(self.inner)
        initialise(self.outer)

    def forward(self, x):
        return self.outer(torch.relu(self.inner(x)))
"""


def from_a_cell(source: str, name: str):
    """What a notebook cell defines: it has no file, but Jupyter keeps its source in the line cache."""
    linecache.cache["<cell>"] = (len(source), None, source.splitlines(True), "<cell>")
    namespace = {"__name__": "__main__"}
    exec(compile(source, "<cell>", "exec"), namespace)
    return namespace[name]


@pytest.fixture(autouse=True)
def nothing_judged_yet(monkeypatch):
    monkeypatch.setattr(kept_functions, "_choices", {})


class Stack(nn.Module):
    def __init__(self, container):
        super().__init__()
        self.blocks = container([nn.Linear(2, 2), nn.Linear(2, 2)])


def by_number(modules):
    return {str(i): module for i, module in enumerate(modules)}


@pytest.mark.parametrize(
    ("container", "advice"), [(list, "nn.ModuleList"), (tuple, "nn.ModuleList"), (by_number, "nn.ModuleDict")]
)
def test_modules_in_a_python_container_are_explained(container, advice):
    verdict = compare_parameters(Stack(container), Stack(nn.ModuleList).state_dict())
    assert verdict.slip == "unregistered-container"
    assert "`blocks`" in verdict.headline and advice in verdict.details


def test_the_right_parameters_have_no_problem():
    assert compare_parameters(Stack(nn.ModuleList), Stack(nn.ModuleList).state_dict()) is None


def test_many_names_are_shortened_and_both_kinds_are_listed():
    many = nn.ModuleList(nn.Linear(2, 2) for _ in range(9))
    verdict = compare_parameters(nn.Linear(2, 2), many.state_dict())
    assert "12 more" in verdict.details and "Unexpected: `weight` and `bias`." in verdict.details


def test_all_parameters_with_other_initial_numbers_are_named(course_home):
    """The default of `nn.Linear`, which for the first matrix is close to Xavier's."""
    text = SOURCE.replace("        initialise(self.inner)\n        initialise(self.outer)\n", "")
    verdict = check("FeedForward", from_a_cell(text, "FeedForward"))
    assert verdict.slip == "initial-values" and "`inner.bias`" in verdict.headline
    assert "`outer.weight` and `outer.bias`" in verdict.details


def test_a_class_that_passes_is_kept_with_its_helpers_and_stays_a_class(course_home, capsys):
    verdict = check("FeedForward", from_a_cell(SOURCE, "FeedForward"))
    assert verdict.status == "passed" and not verdict.details, verdict
    [kept] = list_own_functions()
    assert kept.name == "FeedForward" and "def initialise" in kept.source
    own = yours("FeedForward")
    assert "your version from lesson 13" in capsys.readouterr().out
    assert issubclass(own, nn.Module) and own(4, 8)(torch.ones(3, 4)).shape == (3, 4)


def test_a_class_uses_the_kept_version_of_another_exercise(course_home):
    check("FeedForward", from_a_cell(SOURCE, "FeedForward"))
    block = (
        SOURCE
        + "\n\nfrom lessons.l13_the_block.modules import MultiHead, Residual\n"
        + """

class EncoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, dropout):
        super().__init__()
        self.attention, self.feed_forward = MultiHead(d_model, n_heads), FeedForward(d_model, d_ff)
        self.around_attention, self.around_feed_forward = (Residual(d_model, dropout) for _ in range(2))

    def forward(self, x, mask=None):
        x = self.around_attention(x, lambda x: self.attention(x, x, mask))
        return self.around_feed_forward(x, self.feed_forward)
"""
    )
    verdict = check("EncoderBlock", from_a_cell(block, "EncoderBlock"))
    assert verdict.status == "passed" and not verdict.details, verdict
    source = list_own_functions()[-1].source
    assert 'FeedForward = yours("FeedForward")' in source and "class FeedForward" not in source


def test_a_stub_is_not_tried_yet():
    stub = SOURCE.replace("        super().__init__()\n", '        raise NotImplementedError("Your turn")\n')
    assert judge(find_exercise("FeedForward"), from_a_cell(stub, "FeedForward")).status == "not tried"


def test_what_a_module_prints_is_shown():
    noisy = SOURCE.replace("        return self", "        print(x.shape)\n        return self")
    verdict = judge(find_exercise("FeedForward"), from_a_cell(noisy, "FeedForward"))
    assert verdict.status == "passed" and "torch.Size" in verdict.printed
