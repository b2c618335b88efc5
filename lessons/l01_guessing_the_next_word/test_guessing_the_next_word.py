"""Figures and claims of lesson 01 are those that come out."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from statistics import fmean as mean

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from course_lib.models.ngram import count_ngrams
from course_lib.results import runs
from course_lib.teaching.exercises.catalogue import exercise_called
from course_lib.text.special import BOS, EOS
from course_lib.translation.sample import continue_text
from course_lib.translation.shipped import shared
from lessons.l01_guessing_the_next_word.word_by_word import compute
from tests.lessons.told import Told, language

L = Told("guessing_the_next_word")
LE, LA, CHAT, VACHE, DORT = range(5)
TABLE = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.5, -0.5], [-0.5, 0.5], [0.0, 0.0]])
MATRIX = torch.tensor([[0.0, 0.0], [0.0, 0.0], [0.0, 1.1], [1.1, 0.0], [0.0, 0.0]])
PAIRS = [(LE, CHAT), (LA, VACHE), (CHAT, DORT), (VACHE, DORT)]


def texts() -> tuple[list[list[str]], list[list[str]]]:
    return [list(pair.tgt) for pair in language().train], [list(pair.tgt) for pair in language().test]


def test_the_three_models_were_trained_alike():
    assert L.right("three-models") == "n-gram near 12, MLP near 9, RNN near 8"
    three = {
        name: [run for run in runs("toy_language_models") if run["variant"] == name]
        for name in ("ngram_lm", "mlp_lm", "rnn_lm")
    }
    assert [len(found) for found in three.values()] == [3, 3, 3], "each with three random starts"
    networks = three["mlp_lm"] + three["rnn_lm"]
    assert {round(run["parameters"], -4) for run in networks} == {120_000}
    seen = {run["recipe"]["n_steps"] * run["recipe"]["tokens_per_batch"] for run in networks}
    assert seen == {10 * 400 * 1024}
    assert {run["config"]["order"] for run in three["ngram_lm"]} == {3}
    assert {run["config"]["window"] for run in three["mlp_lm"]} == {4}


@pytest.mark.slow
def test_the_text_its_tables_and_what_more_past_does_to_counting():
    """One count of 5-grams has those of all shorter ones in it: a model of order 3 asks it for two words.

    Witten and Bell's mixture as the lesson tells it, word by word; `tests/models` hold the library's to it.
    """
    text, new = texts()
    vocabulary = {word for words in text for word in words}
    assert len(text) == 20_000 and len(new) == 1_000 and len(vocabulary) == 397
    assert sum(map(len, text)) == 247_451 and sum(len(words) + 1 for words in text) == 267_451
    L.says("267,451 places where a token comes next (247,451 words and 20,000 end marks)")
    assert (len(vocabulary) + 1) ** 5 == L.asked("five-grams").answer
    encode, vocab_size = shared("ngram_lm").tokenizer.encode, shared("ngram_lm").tokenizer.vocab_size
    ids, new_ids = ([encode(" ".join(words)) for words in half] for half in (text, new))
    counts = count_ngrams(ids, order=5)
    totals = {past: after.total() for past, after in counts.items()}

    def guesses(sentences: list[list[int]], order: int) -> Iterator[tuple[float, bool]]:
        """For each place how likely its word was, and whether it was ever seen after these words."""
        for sentence in sentences:
            words = [BOS, *sentence, EOS]
            for place in range(1, len(words)):
                likely = 1 / vocab_size
                for length in range(min(order, place + 1)):
                    past = tuple(words[place - 1 - back] for back in range(length))
                    after = counts.get(past, {})
                    if after:
                        times = after.get(words[place], 0) + len(after) * likely
                        likely = times / (totals[past] + len(after))
                yield likely, words[place] in after

    def surprise(sentences: list[list[int]], order: int) -> float:
        return math.exp(-mean(math.log(likely) for likely, _ in guesses(sentences, order)))

    assert [f"{surprise(new_ids, order):.1f}" for order in (2, 3, 4, 5)] == ["17.7", "12.4", "13.1", "14.5"]
    L.says("it has 17.7, 12.4, 13.1 and 14.5")
    assert 3.3 < surprise(ids[:200], 5) < 3.9, "about a quarter"
    never = {order: 1 - mean(seen for _, seen in guesses(new_ids, order)) for order in (3, 5)}
    assert L.right("never-seen") == "About 50" and 0.48 < never[5] < 0.55
    assert 0.09 < never[3] < 0.11, "of the 3-grams it is every tenth"


def test_the_tiny_network_by_hand():
    table, matrix, loss = exercise_called("gradient_step").reference(TABLE, MATRIX, LE, CHAT, 1.0)
    assert f"{float(loss):.2f}" == "1.95"
    L.says("| loss | 0 | 0.69 | 1.95 | 4.6 | 13.8 |")
    assert [round(-math.log(x), 2) for x in (1, 1 / 2, 1 / 7, 1 / 100, 1e-6)] == [0, 0.69, 1.95, 4.61, 13.82]
    L.prints("after 'le': [0.14, 0.14, 0.14, 0.43, 0.14]", "matrix [-0.86, 0.00] vache")
    L.prints("loss before the step: 1.95", "torch's step and the step by hand: the same")
    nudged = MATRIX.clone()
    nudged[CHAT, 0] += 0.01
    losses = [-torch.softmax(each @ TABLE[LE], dim=0)[CHAT].log() for each in (MATRIX, nudged)]
    assert [f"{float(each):.4f}" for each in losses] == ["1.9465", "1.9379"]
    L.says("goes from 1.9465 to 1.9379. The slope is −0.0086 / 0.01 = −0.86")
    assert table[LE] @ matrix[CHAT] > TABLE[LE] @ MATRIX[CHAT], "their dot product has grown"


@pytest.mark.slow
def test_before_training_it_is_worse_than_one_that_knows_nothing():
    text, new = texts()
    number = {token: i for i, token in enumerate(["<s>", "</s>", *sorted({w for ws in text for w in ws})])}
    rows = [[0] * 4 + [number[word] for word in [*words, "</s>"]] for words in new]
    pasts = torch.tensor([row[i - 4 : i] for row in rows for i in range(4, len(row))])
    nexts = torch.tensor([token for row in rows for token in row[4:]])
    torch.manual_seed(1)
    layers = nn.Embedding(399, 32), nn.Flatten(), nn.Linear(128, 96), nn.Tanh(), nn.Linear(96, 399)
    mlp = nn.Sequential(*layers)
    assert sum(each.numel() for each in mlp.parameters()) == 63_855
    with torch.no_grad():
        loss = F.cross_entropy(mlp(pasts), nexts).item()
    assert f"{loss:.2f}" == "6.03" and round(math.exp(6.03)) == 416
    L.says("not 64,000", r"$e^{6.03} \approx 416$")
    assert loss > math.log(399), "than equal shares for all"


def losses_at(rate: float, epochs: int = 10) -> tuple[list[float], torch.Tensor]:
    step, table, matrix, means = exercise_called("gradient_step").reference, TABLE, MATRIX, []
    for _ in range(epochs):
        found = []
        for word, right in PAIRS:
            table, matrix, loss = step(table, matrix, word, right, rate)
            found.append(float(loss))
        means.append(sum(found) / 4)
    return means, table


def test_learning_rates_creep_walk_run_and_break_and_words_that_behave_alike_agree():
    ends = [losses_at(rate)[0][-1] for rate in (0.03, 0.3, 1.0)]
    assert ends[0] > 1.5 > 0.6 > ends[1] > 0.4 > 0.05 > ends[2]
    broken = losses_at(2.0)[0]
    assert min(broken[-3:]) > 1e5, "the figure cuts it off there"
    assert L.right("rate-two") == "It never arrives: the loss grows and grows"
    told = L.asked("rate-too-large").text
    assert "Loss by epoch: " + ", ".join(f"{loss:.1f}" for loss in broken[:5]) in told
    _, table = losses_at(1.0, epochs=30)
    assert F.cosine_similarity(TABLE[CHAT], TABLE[VACHE], dim=0) == pytest.approx(-1.0)
    assert F.cosine_similarity(table[CHAT], table[VACHE], dim=0) > 0.97
    assert torch.equal(table[DORT], TABLE[DORT]), "a row that is never read never moves"


def test_at_temperature_zero_the_ngram_model_goes_in_a_circle():
    said = {model: compute(model=model, written=18, temperature=0.0) for model in ("n-gram", "MLP", "RNN")}
    words = said["n-gram"]["said"]
    assert words[:6] == words[6:12] and [each["ended"] for each in said.values()] == [False, True, True]
    lost = compute(model="n-gram", written=18, temperature=1.0)["said"]
    L.says(f"*{' '.join(words[:12])}*", f"*{' '.join(lost)}*")


@pytest.mark.slow
def test_errors_pile_up():
    text, new = texts()
    rnn = shared("rnn_lm")
    seen = {pair for words in text for pair in pairwise(["<s>", *words, "</s>"])}
    chance = torch.Generator().manual_seed(1)
    written = continue_text(rnn.model, torch.full((1000, 1), BOS), n=40, generator=chance)
    by_rnn = [rnn.tokenizer.decode(row).split() for row in written]

    def never(sentences: list[list[str]]) -> float:
        pairs = [pair for words in sentences for pair in pairwise(["<s>", *words, "</s>"])]
        return sum(pair not in seen for pair in pairs) / len(pairs)

    assert 0.006 < never(new) < 0.008 and 0.022 < never(by_rnn) < 0.032
    L.says("0.7% of all pairs", "that the RNN wrote it is 2.7%")
    for name, sentences, told in (
        ("new text", new, (99, 94, 86, 88)),
        ("by the RNN", by_rnn, (92, 79, 68, 54)),
    ):
        lengths = ((1, 6), (6, 12), (12, 18), (18, 41))
        chosen = [[words for words in sentences if low <= len(words) < high] for low, high in lengths]
        clean = [sum(never([words]) == 0 for words in few) / len(few) for few in chosen]
        assert [100 * share for share in clean] == pytest.approx(told, abs=2)
        L.says(f"| {name} | " + " | ".join(f"{share}%" for share in told) + " |")
    assert pytest.approx(L.asked("piling-up").answer, abs=0.005) == 0.97**20
    by_length = sum((1 - never(by_rnn)) ** (len(words) + 1) for words in chosen[-1]) / len(chosen[-1])
    assert clean[-1] > by_length - 0.05, "their length alone explains it"
