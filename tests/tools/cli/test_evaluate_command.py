"""`course_lib evaluate`: the right sentences, the measures of each kind of system, a line and JSON."""

from __future__ import annotations

import argparse
import json

import pytest

from course_lib.text.corpus import Sentences
from course_lib.text.toy import splits as toy_splits
from course_lib.training.checkpoint import load_system
from course_lib.translation.evaluation import evaluate as evaluate_system
from tools import corpora
from tools.cli import evaluate_command, main
from tools.evaluation_report import evaluation_json, evaluation_table
from tools.perplexity import perplexity

pytestmark = pytest.mark.usefixtures("no_set_up")

SMALL = {"train": 30, "validation": 6, "test": 8, "long": 4, "depth": 4, "recombination": 4, "coreference": 4}


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(toy_splits, "TEST_SIZES", SMALL)


def ask(*words) -> int:
    return main(["evaluate", "--device", "cpu", *map(str, words)])


# ---- the right sentences


def test_the_split_the_number_of_sentences_and_the_search_can_be_chosen(checkpoint, capsys):
    path = checkpoint("bahdanau")
    for words, parts in (
        ("", ["toy, test: 8 sentences  BLEU ", "8 (greedy"]),
        ("--split long --first 3", ["toy, long: 3 sentences"]),
        ("--split coreference --first 2 --beam 2", ["2 (beam 2, length penalty 0.6"]),
        ("--first 2 --beam 2 --length-penalty 1.5", ["2 (beam 2, length penalty 1.5"]),
    ):
        assert ask("--checkpoint", path, *words.split()) == 0
        out = capsys.readouterr().out
        assert all(part in out for part in parts)


@pytest.mark.parametrize(
    ("options", "trained_on", "data", "reader_call"),
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
def test_the_default_corpus_is_the_one_it_was_trained_on(
    monkeypatch, tmp_path, options, trained_on, data, reader_call
):
    (tmp_path / "my" / "corpus").mkdir(parents=True)
    (tmp_path / "my" / "test.tsv").touch()
    monkeypatch.chdir(tmp_path)
    calls = []

    def read(*arguments):
        calls.append(arguments)
        return Sentences(("a", "b"), ("c", "d"))

    for reader in ("load_multi30k", "read_tsv", "read_split"):
        monkeypatch.setattr(corpora, reader, read)
    defaults = {"data": None, "src": None, "tgt": None, "split": None, "first": 1, "multi30k": None}
    name, pairs = evaluate_command.find_pairs(argparse.Namespace(**defaults | options), trained_on)
    assert (name, len(pairs), calls) == (data, 1, [reader_call] if reader_call else [])


def test_bleu_ignores_case_if_the_tokenizer_does(checkpoint, monkeypatch, capsys):
    normalise = "course_lib.text.word_tokenizer.WordTokenizer.normalise"
    monkeypatch.setattr(normalise, lambda self, text: text.lower())
    assert ask("--checkpoint", checkpoint("transformer"), "--first", "1") == 0
    assert "case:lc" in capsys.readouterr().out


# ---- numbers


def test_the_numbers_are_the_library_s_and_the_json_has_them_all(checkpoint, tmp_path, monkeypatch, capsys):
    path, file = checkpoint("bahdanau"), tmp_path / "a folder" / "scores.json"
    monkeypatch.setattr("course_lib.training.checkpoint.machine", lambda device=None: f"on {device}")
    assert ask("--checkpoint", path, "--json", file) == 0
    out, err = capsys.readouterr()
    saved = load_system(path)
    pairs = toy_splits.splits(sizes=SMALL | {"train": 0}).test
    expected = evaluate_system(saved.model, saved.tokenizer, pairs)
    assert out.endswith(f"\n\n{evaluation_table(expected)}\n") and str(file) in err
    assert "of 8 references" in err  # with unknown words
    content = json.loads(file.read_text(encoding="utf-8"))
    options = {"split": "test", "beam": 1, "first": None, "length_penalty": 0.6}
    assert content | options == content
    assert content["command"].endswith(f"evaluate --device cpu --checkpoint {path} --json '{file}'")
    assert {"torch", "course"} <= content["versions"].keys() and content["machine"] == "on cpu"
    (record,) = content["systems"]
    assert (record["system"], record["checkpoint"], record["data"]) == ("bahdanau", str(path), "toy")
    assert record["trained"].keys() == {"command", "data", "machine", "versions"}
    assert record["results"] == json.loads(json.dumps(evaluation_json(expected)))


def test_each_kind_has_its_measures_and_unusable_checkpoints_are_named(checkpoint, tmp_path, capsys):
    names = ("gru_lm", "self_attentive", "bahdanau", "seq2seq")
    paths, broken = [checkpoint(name) for name in names], tmp_path / "broken.safetensors"
    broken.write_bytes(b"PK something else")
    file = tmp_path / "scores.json"
    assert ask("--checkpoint", *paths, tmp_path, broken, "--split", "coreference", "--json", file) == 0
    out, err = capsys.readouterr()
    assert f"\n{broken} " in err and f"{tmp_path / 'best.safetensors'} " in err
    model, encoder, first, second = (line.partition("sentences  ")[2] for line in out.splitlines())
    saved = load_system(paths[0])
    pairs = toy_splits.splits(sizes=SMALL | {"train": 0}).coreference
    short = [pair.tgt_text for pair in pairs if max(len(pair.src), len(pair.tgt)) < 16]
    expected = perplexity(saved.model, [saved.tokenizer.encode(text) for text in short])
    assert model == f"perplexity {expected.perplexity:.2f}  tokens {expected.n_tokens}"
    assert encoder.startswith("accuracy ")
    assert first.split()[::2] == ["BLEU", "chrF", "exact", "il/elle", "AER"] and "AER" not in second
    records = json.loads(file.read_text(encoding="utf-8"))["systems"]
    assert [record["label"] for record in records] == [*names]
    assert records[0]["results"]["perplexity"] == pytest.approx(expected.perplexity)
    assert 0 <= records[1]["results"]["right"]["all"] <= 1
    assert ask("--checkpoint", broken, tmp_path) == 1
    err = capsys.readouterr().err
    assert f"{broken} " in err and f"{tmp_path / 'best.safetensors'} " in err


# ---- errors


@pytest.mark.parametrize(
    ("system", "words", "message"),
    [
        ("rctm", "--data multi30k --multi30k nowhere", "course_lib data multi30k --download"),
        ("rctm", "--data multi30k --from eo", "'eo'"),
        ("rctm", "--data multi30k --split long", "train, validation or test"),
        ("rctm", "--data no/such.tsv", "no/such.tsv"),
        ("rctm", "--data pairs.tsv --split test", "--split"),
        ("rctm", "--json .", "--json"),
        ("rctm", "--data .", "--from en --to fr"),
        ("rctm", "--data . --from en --to fr", "test.en.gz"),
        ("gru_lm", "--split long", "gru_lm accepts at most 15 tokens"),
        ("gru_lm", "--data 16_words.tsv", "gru_lm accepts at most 15 tokens"),
        ("self_attentive", "--split long", "self_attentive accepts at most 15 tokens"),
        ("self_attentive", "--split validation --first 1", "self_attentive: "),
    ],
)
def test_an_impossible_request_is_an_error(checkpoint, tmp_path, monkeypatch, capsys, system, words, message):
    path = checkpoint(system)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pairs.tsv").write_text("a\tb\n", encoding="utf-8")
    (tmp_path / "16_words.tsv").write_text("le chat\t" + 16 * "le " + "\n", encoding="utf-8")
    assert ask("--checkpoint", path, *words.split()) == 1
    out, err = capsys.readouterr()
    assert message in err and out == ""
