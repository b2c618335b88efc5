"""`course_lib evaluate`: the right sentences, each kind's own numbers, in a line and as JSON."""

from __future__ import annotations

import argparse
import json

import pytest

from course_lib.text.corpus import Sentences
from course_lib.text.toy import splits as toy_splits
from course_lib.training import corpora
from course_lib.training.checkpoint import load_system
from course_lib.translation.evaluation import evaluate as evaluate_system
from course_lib.translation.perplexity import perplexity
from tools.cli import evaluate_command, main

pytestmark = pytest.mark.usefixtures("no_set_up")

SMALL = {"train": 30, "validation": 6, "test": 8, "long": 4, "depth": 4, "recombination": 4, "coreference": 4}


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(toy_splits, "SIZES_OF_TESTS", SMALL)


def ask(*words) -> int:
    return main(["evaluate", "--device", "cpu", *map(str, words)])


# ---- the right sentences


def test_the_split_and_the_first_few(checkpoint, capsys):
    path = checkpoint("bahdanau")
    for words, told in (
        ("", ["toy, test: 8 sentences  BLEU ", "\n\nsentences         8 (greedy"]),
        ("--split long --first 3", ["toy, long: 3 sentences"]),
        ("--split coreference --first 2 --beam 2", ["2 (beam 2, length penalty 0.6"]),
        ("--first 2 --beam 2 --length-penalty 1.5", ["2 (beam 2, length penalty 1.5"]),
    ):
        assert ask("--checkpoint", path, *words.split()) == 0
        out = capsys.readouterr().out
        assert all(part in out for part in told)


@pytest.mark.parametrize(
    ("asked", "trained", "data", "read"),
    [
        ({}, "toy", "toy", None),
        ({}, "multi30k-en-fr", "multi30k-en-fr", ("en", "fr", "test", None)),
        ({}, "my/corpus en-fr", "my/corpus en-fr", ("my/corpus", "test", "en", "fr")),
        ({"data": "toy"}, "multi30k-en-fr", "toy", None),
        ({"data": "multi30k"}, "multi30k-en-fr", "multi30k-en-fr", ("en", "fr", "test", None)),
        ({"data": "multi30k"}, "toy", "multi30k-de-en", ("de", "en", "test", None)),
        ({"src": "fr", "tgt": "de"}, "multi30k-en-fr", "multi30k-fr-de", ("fr", "de", "test", None)),
        ({"data": "my/test.tsv"}, "my/pairs.tsv", "my/test.tsv", ("my/test.tsv",)),
    ],
)
def test_by_default_what_it_was_trained_on(monkeypatch, tmp_path, asked, trained, data, read):
    (tmp_path / "my" / "corpus").mkdir(parents=True)
    (tmp_path / "my" / "test.tsv").touch()
    monkeypatch.chdir(tmp_path)
    seen = []
    for reader in ("load_multi30k", "read_tsv", "read_split"):
        found = lambda *where: seen.append(where) or Sentences(("a", "b"), ("c", "d"))  # noqa: E731
        monkeypatch.setattr(corpora, reader, found)
    usual = {"data": None, "src": None, "tgt": None, "split": "test", "first": 1, "multi30k": None}
    found, pairs = evaluate_command.find_pairs(argparse.Namespace(**usual | asked), trained)
    assert (found, len(pairs), seen) == (data, 1, [read] if read else [])


def test_what_was_learned_in_small_letters_is_compared_so(checkpoint, monkeypatch, capsys):
    """By what the tokenizer does with capitals, whatever the corpus is called."""
    lower = "course_lib.text.word_tokenizer.WordTokenizer.normalise"
    monkeypatch.setattr(lower, lambda self, text: text.lower())
    assert ask("--checkpoint", checkpoint("transformer"), "--first", "1") == 0
    assert "case:lc" in capsys.readouterr().out


# ---- numbers


def test_the_numbers_are_the_library_s_and_the_json_has_them_all(checkpoint, tmp_path, monkeypatch, capsys):
    path, kept = checkpoint("bahdanau"), tmp_path / "kept here" / "kept.json"
    monkeypatch.setattr("course_lib.training.checkpoint.machine", lambda device=None: f"on {device}")
    assert ask("--checkpoint", path, "--json", kept) == 0
    out, err = capsys.readouterr()
    saved = load_system(path)
    pairs = toy_splits.splits(sizes=SMALL | {"train": 0}).test
    expected = evaluate_system(saved.model, saved.tokenizer, pairs)
    assert out.endswith(f"\n\n{expected.table()}\n") and err.endswith(f"Every number is in {kept}.\n")
    assert "of 8 references have words that it does not know, such as " in err
    found = json.loads(kept.read_text(encoding="utf-8"))
    assert (found["split"], found["beam"], found["first"], found["length_penalty"]) == ("test", 1, None, 0.6)
    assert found["command"].endswith(f"evaluate --device cpu --checkpoint {path} --json '{kept}'")
    assert {"torch", "course"} <= found["versions"].keys() and found["machine"] == "on cpu"
    (one,) = found["systems"]
    assert (one["system"], one["checkpoint"], one["data"]) == ("bahdanau", str(path), "toy")
    assert one["trained"].keys() == {"command", "data", "machine", "versions"}
    assert one["results"] == json.loads(json.dumps(expected.to_json()["results"]))


def test_each_kind_has_its_numbers_and_what_cannot_be_measured_is_named(checkpoint, tmp_path, capsys):
    names = ("gru_lm", "self_attentive", "bahdanau", "seq2seq")
    paths, broken = [checkpoint(name) for name in names], tmp_path / "broken.safetensors"
    broken.write_bytes(b"PK something else")
    where = [*paths, tmp_path, broken]
    assert ask("--checkpoint", *where, "--split", "coreference", "--json", tmp_path / "kept.json") == 0
    out, err = capsys.readouterr()
    assert err.count(" is left out: ") == 2 and str(broken) in err
    model, encoder, first, second = (line.partition("sentences  ")[2] for line in out.splitlines())
    saved = load_system(paths[0])
    pairs = toy_splits.splits(sizes=SMALL | {"train": 0}).coreference
    short = [pair.tgt_text for pair in pairs if max(len(pair.src), len(pair.tgt)) < 16]
    surprise = perplexity(saved.model, [saved.tokenizer.encode(text) for text in short])
    assert model == f"perplexity {surprise.perplexity:.2f}  tokens {surprise.n_tokens}"
    assert encoder.startswith("accuracy ")
    assert first.split()[::2] == ["BLEU", "chrF", "exact", "il/elle", "AER"] and "AER" not in second
    kept = json.loads((tmp_path / "kept.json").read_text(encoding="utf-8"))["systems"]
    assert [one["label"] for one in kept] == [*names]
    assert kept[0]["results"]["perplexity"] == pytest.approx(surprise.perplexity)
    assert 0 <= kept[1]["results"]["right"]["all"] <= 1
    assert ask("--checkpoint", broken, tmp_path) == 1
    assert capsys.readouterr().err.count(" is left out: ") == 2


# ---- what cannot be


@pytest.mark.parametrize(
    ("system", "words", "told"),
    [
        ("rctm", "--data multi30k --multi30k nowhere", "course_lib data multi30k --download"),
        ("rctm", "--data multi30k --from eo", "Expected src to be one of de, en, fr, but got 'eo'."),
        (
            "rctm",
            "--data multi30k --split long",
            "Expected split to be train, validation or test",
        ),
        ("rctm", "--data no/such.tsv", "There is no corpus no/such.tsv"),
        ("rctm", "--data .", ". is a folder: say which of its languages, such as --from en --to fr."),
        ("rctm", "--data . --from en --to fr", "Expected test.en.gz or test.en in ., but neither is there"),
        ("gru_lm", "--split long", "gru_lm reads 15 tokens, but all 4 pairs have more."),
        ("self_attentive", "--split long", "self_attentive reads 15 tokens, but all 4 pairs have more."),
        ("self_attentive", "--split validation --first 1", "Take more sentences, or another split."),
    ],
)
def test_what_is_not_there_is_named(checkpoint, tmp_path, monkeypatch, capsys, system, words, told):
    path = checkpoint(system)
    monkeypatch.chdir(tmp_path)
    assert ask("--checkpoint", path, *words.split()) == 1
    out, err = capsys.readouterr()
    assert told in err and out == ""
