"""What lesson 05 says was measured, and comes out so again."""

from __future__ import annotations

import itertools
import json
import math

import pytest
import torch

from course_lib.layers.folding import kernel_widths
from course_lib.recorded import recorded
from course_lib.runtime import PROJECT_ROOT
from course_lib.teaching.exercises import EXERCISES, load
from course_lib.teaching.lessons import lesson
from course_lib.text.special import EOS
from course_lib.translation.shipped import load_shipped

ROW = lesson("distance_between_words")
SOURCE = (ROW.folder / "lesson.py").read_text(encoding="utf-8")


def run_cells(*beginnings: str, setup: str = "import torch\nfrom torch.nn import functional as F\n") -> dict:
    """The names that these cells of the lesson leave behind."""
    notebook = json.loads((PROJECT_ROOT / "notebooks" / ROW.notebook).read_text(encoding="utf-8"))
    names: dict = {}
    exec(setup, names)
    for cell in notebook["cells"]:
        text = "".join(cell["source"])
        if cell["cell_type"] == "code" and text.startswith(beginnings):
            exec(text, names)
    return names


def says(*parts: str) -> None:
    for part in parts:
        assert part in SOURCE, part


def test_the_ladder():
    exact = recorded("toy_ladder", lambda run: 100 * run["scores"]["test"]["exact"])
    pronouns = recorded("toy_ladder", lambda run: 100 * run["scores"]["coreference"]["pronouns"])
    told = [f"{exact[name]:.1f}" for name in ("rctm", "seq2seq", "convs2s")]
    assert told == ["23.9", "66.4", "96.5"] and round(pronouns["rctm"]) == 51
    says("RCTM gets 23.9% of the test", "seq2seq 66.4%", "It gets 96.5% here", "51% of the pronouns")
    size = recorded("toy_ladder", lambda run: run["parameters"])
    assert size["rctm"] == pytest.approx(size["seq2seq"], rel=0.02)


def test_a_small_seq2seq_is_worse_than_rctm():
    exact = recorded("state_size", lambda run: 100 * run["scores"]["test"]["exact"])
    small = next(value for name, value in exact.items() if name.split()[0] == "32")
    assert round(small) == 13
    says("cut down to 32 numbers a state (128 in all, and fewer parameters) gets 13%, less than RCTM")


def test_what_is_handed_over():
    tokens, lengths = torch.tensor([[4, 5, 3]]), torch.tensor([3])
    handed = {
        name: sum(part.numel() for part in load_shipped(name).model.read(tokens, lengths).values())
        for name in ("rctm", "seq2seq")
    }
    assert handed == {"rctm": 96, "seq2seq": 400}
    assert kernel_widths(7) == [2, 3, 4]
    says("96 numbers, where seq2seq hands over four times as many", "Seven words become 6, then 4, then 1")


def test_ways_are_counted_rightly():
    ways = [1]
    for _ in range(16):
        ways = [sum(ways[max(0, i - 2) : i + 1]) for i in range(len(ways) + 2)]
    assert sum(ways) == 3**16 == 43_046_721
    assert ways[0] == 1 and max(ways) == ways[16] == 5_196_627
    assert round(math.sqrt(max(ways)), -1) == 2280
    says("of all 43 million ways the middle word has 5 million", "The root of five million is 2,280")


def test_what_is_heard():
    names = run_cells("def random_stack")
    influence, stack = names["influence"], names["random_stack"]
    designed = EXERCISES["design_memory"].reference(32)["forget_bias"]
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
    for seed in (5, 6, 7):
        torch.manual_seed(seed)
        gated = torch.nn.LSTM(32, 32, batch_first=True)
        for bias, low, high in ((1.0, 0.0005, 0.002), (designed, 0.26, 1.01)):
            with torch.no_grad():
                gated.bias_ih_l0[32:64], gated.bias_hh_l0[32:64] = bias, 0.0
            row = influence(lambda words, gated=gated: gated(words)[0])
            heard = row / row.max()
            assert low < (heard[0] if bias == 1.0 else heard.min()) < high
    holes = influence(stack([1, 5, 15]), n=43)
    assert int((holes > 0).sum()) == 27
    says("hears the first word about a thousandth as well", "no word is heard less than a quarter as well")
    says("about two thousand times more weakly", "Its receptive field is 43 words")


@pytest.mark.slow
def test_what_is_learned():
    """The plain stack stays near one in four at three rates; with gaps it learns; the middle it learns."""
    names = run_cells("def learn_to_name")
    learn = names["learn_to_name"]
    assert all(learn(0, [1] * 16, rate=rate) < 0.4 for rate in (1e-3, 3e-3, 1e-2))
    assert all(learn(0, [1, 3, 9, 27], rate=rate) > 0.9 for rate in (3e-3, 1e-2))
    assert learn(15, [1] * 16, steps=300) > 0.6


def ways_of_a_fold(n_words: int) -> list[int]:
    """How many ways lead from each word to the one vector."""
    ways, left = [1], n_words
    for width in kernel_widths(n_words):
        width = min(width, left)  # the last kernel is cut to what is left
        ways = [sum(ways[max(0, i - width + 1) : i + 1]) for i in range(len(ways) + width - 1)]
        left -= width - 1
    return ways


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
    counted = torch.tensor(ways_of_a_fold(13)).sqrt()
    trained, counted = heard_by(names["rctm"], [a for a, _ in ends]), counted / counted.max()
    assert trained[0] > 3 * counted[0], "training has mended the left end"
    assert 0.22 < trained[11] < 0.42 and abs(trained[11] - counted[11]) < 0.15, "but not the right one"
    says("about a third as well as the loudest", "training has mended the left end, not the right one")


def test_no_stack_is_cheaper():
    """All stacks of small widths and dilations: none hears so many words for less."""
    exercises = load(ROW.folder / "exercises.py")
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
    says("eleven matrices where the plain stack needs sixty")


def test_hops_at_32_words():
    says("| recurrent network | 31 |", "| convolution, width 3 | 16 |")
    says("27 | 4 | log₃ n", "| attention | 1 | 1 |")
