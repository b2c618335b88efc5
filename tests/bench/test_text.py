"""The bench of text: its rows, its verdicts, what it says without Multi30k. No test depends on the clock."""

from __future__ import annotations

import re

import pytest

from course_lib.bench import text as bench
from course_lib.text.corpus import Sentences
from course_lib.text.toy.generate import generate


def row(what: str = "toy, 20,000 pairs of 3 to 40 words", seconds: float = 1.0) -> bench.Row:
    return bench.Row(what, seconds, "290 + 395 different words")


@pytest.fixture(scope="module")
def corpus() -> Sentences:
    pairs = generate(300, seed=0)
    return Sentences(tuple(pair.src_text for pair in pairs), tuple(pair.tgt_text for pair in pairs))


@pytest.fixture
def quick(monkeypatch):
    """Thirty pairs for twenty thousand."""
    monkeypatch.setattr(bench, "N_PAIRS", 30)
    monkeypatch.setattr(bench, "TOY_SECONDS", 3600)
    monkeypatch.delenv("COURSE_MULTI30K", raising=False)


# ---- verdicts


@pytest.mark.parametrize(("seconds", "good"), [(0.01, True), (2.99, True), (3.0, False), (8.9, False)])
def test_a_toy_row_within_its_time_or_not(seconds, good):
    first, second = bench.judge([row(), row("toy, slow", seconds)])
    assert first.good and second.good == good
    assert second.text == f"toy, slow in less than 3 s: {seconds:.2f} s"


@pytest.mark.parametrize(("waste", "good"), [(0.0, True), (0.15, True), (0.151, False)])
def test_little_padding_or_too_much(waste, good):
    *_, verdict = bench.judge([row()], waste)
    assert verdict.good == good and verdict.text.endswith(f"padding: {waste:.1%}")


def test_without_a_corpus_nothing_is_said_of_padding():
    assert len(bench.judge([row()])) == 1


# ---- rows


def test_the_table_stands_in_columns():
    head, first, second = bench.table([row(), row("short", 12.345)]).splitlines()
    assert head.index("seconds") + len("seconds") == first.index("1.00") + 4 == second.index("12.35") + 5
    assert first.index("290") == second.index("290")


def test_a_toy_row_counts_the_words_of_both_sides():
    measured = bench.measure_toy(40, (5, 5))
    pairs = generate(40, seed=bench.SEED, length=(5, 5))
    english = {word for pair in pairs for word in pair.src}
    french = {word for pair in pairs for word in pair.tgt}
    assert measured.what == "toy, 40 pairs of 5 to 5 words" and measured.seconds > 0
    assert measured.found.startswith(f"{len(english)} + {len(french)} different words, 5.0 + ")


def test_a_corpus_is_learned_tokenised_and_batched_twice(corpus):
    rows, waste = bench.measure_multi30k(corpus, vocab_size=300)
    learned, tokenised, free, fixed = rows
    assert "300 tokens" in learned.found
    assert tokenised.found.startswith("300 pairs, ")
    for batched in (free, fixed):
        assert re.match(
            r"tokens_per_batch 4,096: 300 pairs in \d+ batches, 0 left out; .* padding", batched.found
        )
    assert "free" in free.what and "fixed" in fixed.what
    assert fixed.found.endswith(f"({waste:.1%})") and 0 < waste < 1


# ---- the whole command


def test_with_the_corpus_every_row_and_verdict_is_there(monkeypatch, capsys, corpus, quick):
    asked = []
    monkeypatch.setattr(bench, "load_multi30k", lambda *where: asked.append(where) or corpus)
    monkeypatch.setattr(bench, "VOCAB_SIZE", 300)
    monkeypatch.setattr(bench, "WASTE", 1.0)
    assert bench.run("corpora") == 0
    assert asked == [("de", "en", "train", "corpora")]
    out = capsys.readouterr().out
    assert "torch " in out.splitlines()[0] and "seed 0" in out
    for what in ("30 pairs of 3 to 20", "30 pairs of 3 to 40", "Multi30k, read", "BPE", "tokenised"):
        assert what in out
    assert out.count("left out") == 2 and out.count("\npass  ") == 3
    monkeypatch.setattr(bench, "WASTE", 0.0)
    assert bench.run("corpora") == 1
    assert "MISS  at most 0% of Multi30k's batches" in capsys.readouterr().out


@pytest.mark.parametrize("broken", [False, True], ids=["missing", "another file"])
def test_without_multi30k_it_says_so_and_goes_on(capsys, tmp_path, quick, broken):
    if broken:
        (tmp_path / "train.de.gz").write_bytes(b"not it")
    assert bench.run(str(tmp_path)) == 0
    out = capsys.readouterr().out
    assert "Multi30k: not measured. " in out and str(tmp_path) in out and "--download" in out
    assert ("SHA-256 differs" in out) == broken
    assert "Multi30k, read" not in out and out.count("\npass  ") == 2
