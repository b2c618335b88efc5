"""What lesson 05 says was measured, and comes out so again."""

from __future__ import annotations

import itertools
import json
import math

import pytest
import torch

from course_lib.layers.folding import kernel_widths
from course_lib.runtime import PROJECT_ROOT
from course_lib.teaching.exercises.catalogue import exercise_called
from course_lib.text.special import EOS
from course_lib.translation.shipped import shared
from lessons.l05_distance_between_words import exercises
from tests.lessons.told import Told, means

L = Told("distance_between_words")


def run_cells(*beginnings: str, setup: str = "import torch\nfrom torch.nn import functional as F\n") -> dict:
    """The names that these cells of the notebook leave behind."""
    notebook = json.loads((PROJECT_ROOT / "notebooks" / L.lesson.notebook).read_text(encoding="utf-8"))
    names: dict = {}
    exec(setup, names)
    for cell in notebook["cells"]:
        text = "".join(cell["source"])
        if cell["cell_type"] == "code" and text.startswith(beginnings):
            exec(text, names)
    return names


def test_what_is_handed_over():
    tokens, lengths = torch.tensor([[4, 5, 3]]), torch.tensor([3])
    for name, numbers in (("rctm", 96), ("seq2seq", 400)):
        assert sum(part.numel() for part in shared(name).model.read(tokens, lengths).values()) == numbers
    assert kernel_widths(7) == [2, 3, 4]
    L.says("96 numbers, where seq2seq hands over four times as many", "Seven words become 6, then 4, then 1")
    size = means("toy_ladder", "parameters")
    assert size["rctm"] == pytest.approx(size["seq2seq"], rel=0.02)


def ways_through(widths: list[int]) -> list[int]:
    """How many ways lead from each word to the last output of such layers."""
    ways = [1]
    for width in widths:
        ways = [sum(ways[max(0, i - width + 1) : i + 1]) for i in range(len(ways) + width - 1)]
    return ways


def test_ways_and_hops_are_counted_rightly():
    ways = ways_through([3] * 16)
    assert sum(ways) == 3**16 == 43_046_721 and ways[0] == 1 and max(ways) == ways[16] == 5_196_627
    assert round(math.sqrt(max(ways)), -1) == 2280
    L.says("of all 43 million ways the middle word has 5 million", "The root of five million is 2,280")
    L.says(
        "| recurrent network | 31 |",
        "| convolution, width 3 | 16 |",
        "27 | 4 | log₃ n",
        "| attention | 1 | 1 |",
    )


def test_what_is_heard():
    names = run_cells("def random_stack")
    influence, stack = names["influence"], names["random_stack"]
    deep = influence(stack([1] * 16))
    assert 1200 < deep.max() / deep[0] < 3500 and 1200 < deep.max() / deep[-1] < 3500
    assert 14 <= int(deep.argmax()) <= 18
    assert all(influence(stack([1] * layers))[0] == 0 for layers in (4, 8))
    gapped = influence(stack([1, 3, 9, 27]))
    assert gapped.min() > 0.6 * gapped.max()
    torch.manual_seed(5)
    recurrent = torch.nn.RNN(32, 32, batch_first=True)
    chain = influence(lambda words: recurrent(words)[0])
    assert chain[0] < 1e-6 * chain[-1] and int(chain.argmax()) == 32
    designed = exercise_called("design_memory").reference(32)["forget_bias"]
    for seed in (5, 6, 7):
        torch.manual_seed(seed)
        gated = torch.nn.LSTM(32, 32, batch_first=True)
        for bias, low, high in ((1.0, 0.0005, 0.002), (designed, 0.26, 1.01)):
            with torch.no_grad():
                gated.bias_ih_l0[32:64], gated.bias_hh_l0[32:64] = bias, 0.0
            row = influence(lambda words, gated=gated: gated(words)[0])
            heard = row / row.max()
            assert low < (heard[0] if bias == 1.0 else heard.min()) < high
    assert int((influence(stack([1, 5, 15]), n=43) > 0).sum()) == 27
    L.says("hears the first word about a thousandth as well", "no word is heard less than a quarter as well")
    L.says("about two thousand times more weakly", "Its receptive field is 43 words")


@pytest.mark.slow
def test_what_is_learned():
    """Not only at the rate at which the lesson's cell asserts it (nbval runs that); the middle is learned."""
    learn = run_cells("def learn_to_name")["learn_to_name"]
    assert learn(0, [1] * 16, rate=1e-2) < 0.4 and learn(0, [1, 3, 9, 27], rate=1e-2) > 0.9
    assert learn(15, [1] * 16, steps=300) > 0.6
    L.says("assert plain < 0.4 < 0.9 < gapped", "(in twice as many steps; try `place=15`)")


def heard_by(system, texts: list[str]) -> torch.Tensor:
    """The gradient from RCTM's vector back to each of twelve words and the end mark; the largest is 1."""
    chosen = [[*system.tokenizer.encode(text), EOS] for text in texts if len(text.split()) == 12]
    tokens = torch.tensor(chosen).repeat(16, 1)
    embedded = system.model.words.source(tokens).detach().requires_grad_()
    vector = system.model.folding(embedded, torch.full((len(tokens),), 13))
    direction = torch.randn(vector.shape, generator=torch.Generator().manual_seed(5))
    (vector * direction).sum().backward()
    hears = embedded.grad.norm(dim=-1).mean(dim=0)
    return hears / hears.max()


def test_rctm_does_not_notice_the_last_word():
    names = run_cells("import torch", "rctm, seq2seq", "ANIMALS")
    twice, ends, animals = names["same_twice"], names["ends"], names["animals"]
    assert len(ends) == 200 and len(animals) > 100
    assert all(a.split()[:-1] == b.split()[:-1] and a != b for a, b in ends)
    assert 55 < twice(names["rctm"], ends) < 70 and twice(names["rctm"], animals) == 0
    assert twice(names["seq2seq"], ends) < 2 and twice(names["seq2seq"], animals) < 2
    widths, left = [], 13
    for width in kernel_widths(13):  # the last kernel is cut to what is left
        widths.append(min(width, left))
        left -= widths[-1] - 1
    counted = torch.tensor(ways_through(widths)).sqrt()
    trained, counted = heard_by(names["rctm"], [a for a, _ in ends]), counted / counted.max()
    assert trained[0] > 3 * counted[0], "training has mended the left end"
    assert 0.22 < trained[11] < 0.42 and abs(trained[11] - counted[11]) < 0.15, "but not the right one"
    L.says("about a third as well as the loudest", "training has mended the left end, not the right one")


def test_no_stack_is_cheaper():
    """All stacks of small widths and dilations: none hears so many words for less."""
    assert [sum(exercises.cheapest(n)) for n in (2, 9, 40, 100)] == [2, 6, 11, 13]
    for n_words in range(2, 13):
        least = sum(exercises.cheapest(n_words))
        cheaper = (
            widths
            for layers in range(1, 4)
            for widths in itertools.product(range(2, least), repeat=layers)
            if sum(widths) < least
        )
        for widths in cheaper:
            for gaps in itertools.product(range(1, n_words), repeat=len(widths)):
                assert not set(range(n_words)) <= exercises.heard(widths, gaps)
    L.says("eleven matrices where the plain stack needs sixty")
