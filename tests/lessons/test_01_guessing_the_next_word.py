"""Figures and claims of lesson 01 are those that come out."""

from __future__ import annotations

import json
import math
from itertools import pairwise

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from course_lib.explore.word_by_word import compute
from course_lib.models.ngram import NGramLM, NGramLMConfig
from course_lib.recorded import recorded
from course_lib.runtime import data_path
from course_lib.teaching.exercises import EXERCISES
from course_lib.teaching.lessons import lesson
from course_lib.teaching.questions import questions
from course_lib.text.special import BOS
from course_lib.text.toy.splits import splits
from course_lib.translation.perplexity import perplexity
from course_lib.translation.sample import continue_text
from course_lib.translation.shipped import load_shipped

LE, LA, CHAT, VACHE, DORT = range(5)
TABLE = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.5, -0.5], [-0.5, 0.5], [0.0, 0.0]])
MATRIX = torch.tensor([[0.0, 0.0], [0.0, 0.0], [0.0, 1.1], [1.1, 0.0], [0.0, 0.0]])
PAIRS = [(LE, CHAT), (LA, VACHE), (CHAT, DORT), (VACHE, DORT)]


@pytest.fixture(scope="module")
def source() -> str:
    return (lesson("guessing_the_next_word").folder / "lesson.py").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def texts() -> tuple[list[list[str]], list[list[str]]]:
    toy = splits(seed=0)
    return [list(pair.tgt) for pair in toy.train], [list(pair.tgt) for pair in toy.test]


def told(name: str) -> str:
    asked = questions("01")[name]
    return asked.options[asked.right[0]].text


def test_the_three_perplexities_are_those_recorded(source):
    found = recorded("toy_language_models", lambda run: run["scores"]["test"]["perplexity"])
    names = ("ngram_lm", "mlp_lm", "rnn_lm")
    assert [f"{found[name]:.1f}" for name in names] == ["12.4", "9.3", "8.1"]
    assert "12.4, 9.3, 8.1. Is the comparison fair" in source and "12.4 → 9.3 → 8.1" in source
    assert told("three-models") == "n-gram near 12, MLP near 9, RNN near 8"
    kept = json.loads(data_path("results", "toy_language_models.json").read_text(encoding="utf-8"))
    runs = [run for run in kept["runs"] if run["variant"] in names]
    assert len(runs) == 9, "each with three random starts"
    networks = [run for run in runs if run["variant"] != "ngram_lm"]
    assert {round(run["parameters"], -4) for run in networks} == {120_000}
    assert {run["recipe"]["n_steps"] * run["recipe"]["tokens_per_batch"] for run in networks} == {
        10 * 400 * 1024
    }
    assert {run["config"]["order"] for run in runs if run["variant"] == "ngram_lm"} == {3}
    assert {run["config"]["window"] for run in runs if run["variant"] == "mlp_lm"} == {4}


def test_the_text_and_its_tables(source, texts):
    text, new = texts
    count = EXERCISES["count_next"].reference
    vocabulary = {word for words in text for word in words}
    assert len(text) == 20_000 and len(new) == 1_000 and len(vocabulary) == 397
    assert sum(len(words) + 1 for words in text) == 267_451
    assert "267,451 places where a token comes next (247,451 words and 20,000 end marks)" in source
    assert sum(map(len, text)) == 247_451
    assert (len(vocabulary) + 1) ** 5 == questions("01")["five-grams"].answer
    never = {}
    for n in (3, 5):
        table, asked = count(text, n), count(new, n)
        times = [
            (k, word in table.get(past, {})) for past, after in asked.items() for word, k in after.items()
        ]
        never[n] = sum(k for k, seen in times if not seen) / sum(k for k, _ in times)
    assert told("never-seen") == "About 50" and 0.48 < never[5] < 0.55
    assert 0.09 < never[3] < 0.11, "of the 3-grams it is every tenth"


def test_the_tiny_network_by_hand(source):
    shares = torch.softmax(MATRIX @ TABLE[LE], dim=0)
    sevenths = torch.tensor([1, 1, 1, 3, 1]) / 7
    torch.testing.assert_close(shares, sevenths, atol=0.002, rtol=0)
    step = EXERCISES["gradient_step"].reference
    table, matrix, loss = step(TABLE, MATRIX, LE, CHAT, 1.0)
    assert f"{float(loss):.2f}" == "1.95" and "| loss | 0 | 0.69 | 1.95 | 4.6 | 13.8 |" in source
    assert [round(-math.log(x), 2) for x in (1, 1 / 2, 1 / 7, 1 / 100, 1e-6)] == [0, 0.69, 1.95, 4.61, 13.82]
    slopes = (MATRIX - matrix)[:, 0]
    assert [f"{float(slope):.2f}" for slope in slopes] == ["0.14", "0.14", "-0.86", "0.43", "0.14"]
    nudged = MATRIX.clone()
    nudged[CHAT, 0] += 0.01
    losses = [-torch.softmax(each @ TABLE[LE], dim=0)[CHAT].log() for each in (MATRIX, nudged)]
    assert [f"{float(each):.4f}" for each in losses] == ["1.9465", "1.9379"]
    assert "goes from 1.9465 to 1.9379. The slope is −0.0086 / 0.01 = −0.86" in source
    before, after = TABLE[LE] @ MATRIX[CHAT], table[LE] @ matrix[CHAT]
    assert after > before, "their dot product has grown"
    auto = TABLE.clone().requires_grad_()
    F.cross_entropy(MATRIX @ auto[LE], torch.tensor(CHAT)).backward()
    torch.testing.assert_close(TABLE - auto.grad, table)


def test_before_training_it_is_worse_than_one_that_knows_nothing(source, texts):
    text, new = texts
    number = {token: i for i, token in enumerate(["<s>", "</s>", *sorted({w for ws in text for w in ws})])}
    rows = [[0] * 4 + [number[word] for word in [*words, "</s>"]] for words in new]
    pasts = torch.tensor([row[i - 4 : i] for row in rows for i in range(4, len(row))])
    nexts = torch.tensor([token for row in rows for token in row[4:]])
    torch.manual_seed(1)
    layers = nn.Embedding(399, 32), nn.Flatten(), nn.Linear(128, 96), nn.Tanh(), nn.Linear(96, 399)
    mlp = nn.Sequential(*layers)
    assert sum(each.numel() for each in mlp.parameters()) == 63_855 and "not 64,000" in source
    with torch.no_grad():
        loss = F.cross_entropy(mlp(pasts), nexts).item()
    assert f"{loss:.2f}" == "6.03" and round(math.exp(6.03)) == 416 and r"$e^{6.03} \approx 416$" in source
    assert loss > math.log(399), "than equal shares for all"


def losses_at(rate: float, epochs: int = 10) -> tuple[list[float], torch.Tensor]:
    step, table, matrix, means = EXERCISES["gradient_step"].reference, TABLE, MATRIX, []
    for _ in range(epochs):
        found = []
        for word, right in PAIRS:
            table, matrix, loss = step(table, matrix, word, right, rate)
            found.append(float(loss))
        means.append(sum(found) / 4)
    return means, table


def test_learning_rates_creep_walk_run_and_break():
    ends = [losses_at(rate)[0][-1] for rate in (0.03, 0.3, 1.0)]
    assert ends[0] > 1.5 > 0.6 > ends[1] > 0.4 > 0.05 > ends[2]
    broken = losses_at(2.0)[0]
    assert min(broken[-3:]) > 1e5, "the figure cuts it off there"
    assert told("rate-two") == "It never arrives: the loss grows and grows"
    text = questions("01")["rate-too-large"].text
    assert "Loss by epoch: " + ", ".join(f"{loss:.1f}" for loss in broken[:5]) in text


def test_rows_of_words_that_behave_alike_come_to_agree():
    _, table = losses_at(1.0, epochs=30)
    assert F.cosine_similarity(TABLE[CHAT], TABLE[VACHE], dim=0) == pytest.approx(-1.0)
    assert F.cosine_similarity(table[CHAT], table[VACHE], dim=0) > 0.97
    assert torch.equal(table[DORT], TABLE[DORT]), "a row that is never read never moves"


@pytest.mark.slow
def test_more_past_makes_counting_worse(source, texts):
    text, new = texts
    tokenizer = load_shipped("ngram_lm").tokenizer
    ids, new_ids = ([tokenizer.encode(" ".join(words)) for words in half] for half in (text, new))
    found, five = [], None
    for order in (2, 3, 4, 5):
        five = NGramLM(NGramLMConfig(vocab_size=tokenizer.vocab_size, order=order))
        five.fit(ids)
        found.append(f"{perplexity(five, new_ids).perplexity:.1f}")
    assert found == ["17.7", "12.4", "13.1", "14.5"]
    assert "it has 17.7, 12.4, 13.1 and 14.5" in source
    assert 3.3 < perplexity(five, ids[:200]).perplexity < 3.9, "about a quarter"


def test_at_temperature_zero_the_ngram_model_goes_in_a_circle(source):
    said = {model: compute(model=model, written=18, temperature=0.0) for model in ("n-gram", "MLP", "RNN")}
    circle = " ".join(said["n-gram"]["said"][:12])
    assert said["n-gram"]["said"][:6] == said["n-gram"]["said"][6:12] and f"*{circle}*" in source
    assert [each["ended"] for each in said.values()] == [False, True, True]
    lost = " ".join(compute(model="n-gram", written=18, temperature=1.0)["said"])
    assert f"*{lost}*" in source


@pytest.mark.slow
def test_errors_pile_up(source, texts):
    text, new = texts
    rnn = load_shipped("rnn_lm")
    seen = {pair for words in text for pair in pairwise(["<s>", *words, "</s>"])}
    written = continue_text(
        rnn.model, torch.full((1000, 1), BOS), n=40, generator=torch.Generator().manual_seed(1)
    )
    by_rnn = [rnn.tokenizer.decode(row).split() for row in written]

    def never(sentences: list[list[str]]) -> float:
        pairs = [pair for words in sentences for pair in pairwise(["<s>", *words, "</s>"])]
        return sum(pair not in seen for pair in pairs) / len(pairs)

    assert 0.006 < never(new) < 0.008 and "0.7% of all pairs" in source
    assert 0.022 < never(by_rnn) < 0.032 and "that the RNN wrote it is 2.7%" in source
    rows = {"new text": [], "by the RNN": []}
    for low, high in ((1, 6), (6, 12), (12, 18), (18, 41)):
        for row, sentences in zip(rows.values(), (new, by_rnn), strict=True):
            chosen = [words for words in sentences if low <= len(words) < high]
            row.append(sum(never([words]) == 0 for words in chosen) / len(chosen))
    for name, told in (("new text", (99, 94, 86, 88)), ("by the RNN", (92, 79, 68, 54))):
        assert [100 * share for share in rows[name]] == pytest.approx(told, abs=2)
        assert f"| {name} | " + " | ".join(f"{share}%" for share in told) + " |" in source
    long, clean = [words for words in by_rnn if len(words) >= 18], rows["by the RNN"][-1]
    assert pytest.approx(questions("01")["piling-up"].answer, abs=0.005) == 0.97**20
    by_length = sum((1 - never(by_rnn)) ** (len(words) + 1) for words in long) / len(long)
    assert clean > by_length - 0.05, "their length alone explains it"
