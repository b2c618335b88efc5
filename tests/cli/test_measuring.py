"""`course_lib evaluate`: the right sentences, each kind's own numbers, as a table and as JSON."""

from __future__ import annotations

import argparse
import json
import math
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from course_lib.cli import main, measuring
from course_lib.cli.door import Trouble
from course_lib.cli.measuring import Opened
from course_lib.text.corpus import Sentences
from course_lib.text.toy import splits as toy_splits
from course_lib.text.toy.splits import TESTS
from course_lib.training.checkpoint import load_system
from course_lib.translation.evaluate import evaluate as evaluate_system
from course_lib.translation.perplexity import perplexity

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
        ("", "toy, test: 8 sentences, greedy\n\nbahdanau\nsentences         8 (greedy"),
        ("--split long --first 3", "toy, long: 3 sentences, greedy"),
        ("--split coreference --first 2 --beam 2", "2 (beam 2, length penalty 0.6"),
        ("--first 2 --beam 2 --length-penalty 1.5", "2 (beam 2, length penalty 1.5"),
    ):
        assert ask("--checkpoint", path, *words.split()) == 0
        assert told in capsys.readouterr().out


def choose(trained: list[str], **more) -> str:
    args = argparse.Namespace(**{"data": None, "src": None, "tgt": None} | more)
    about = [SimpleNamespace(about={"data": {"name": name}}) for name in trained]
    return measuring.choose_data(args, [Opened(str(n), Path(), one, "") for n, one in enumerate(about)])


@pytest.mark.parametrize(
    ("more", "trained", "data"),
    [
        ({}, ["toy"], "toy"),
        ({}, ["toy-3", "toy-3"], "toy-3"),
        ({}, ["multi30k-en-fr"], "multi30k-en-fr"),
        ({}, ["my/corpus en-fr"], "my/corpus en-fr"),
        ({"data": "toy"}, ["toy", "multi30k-en-fr"], "toy"),
        ({"data": "multi30k"}, ["toy", "multi30k-en-fr"], "multi30k-en-fr"),
        ({"data": "multi30k"}, ["toy"], "multi30k-de-en"),
        ({"src": "fr", "tgt": "de"}, ["multi30k-en-fr"], "multi30k-fr-de"),
        ({"data": "my/test.tsv"}, ["my/pairs.tsv"], "my/test.tsv"),
    ],
)
def test_by_default_what_it_was_trained_on(more, trained, data):
    assert choose(trained, **more) == data


def test_multi30k_is_compared_in_small_letters_as_it_was_learned(checkpoint, monkeypatch, capsys):
    """By what the tokenizer does with capitals, whatever the corpus is called."""
    wanted = []
    sentences = Sentences(("Ein Hund .", "Zwei Katzen ."), ("A dog .", "Two cats ."))
    monkeypatch.setattr(
        "course_lib.text.multi30k.load_multi30k", lambda *where: wanted.append(where) or sentences
    )
    monkeypatch.setattr(
        "course_lib.text.word_tokenizer.WordTokenizer.normalise", lambda self, text: text.lower()
    )
    path = checkpoint("transformer", data="multi30k-de-en")
    words = ["--split", "validation", "--multi30k", "there", "--first", "1"]
    assert ask("--checkpoint", path, *words) == 0
    assert wanted == [("de", "en", "validation", Path("there"))]
    told = capsys.readouterr().out
    assert "multi30k-de-en, validation: 1 sentences" in told and "case:lc" in told
    monkeypatch.undo()


# ---- numbers


def test_the_numbers_are_the_library_s_and_the_json_has_them_all(checkpoint, tmp_path, monkeypatch, capsys):
    path, kept = checkpoint("bahdanau"), tmp_path / "kept here" / "kept.json"
    kept.parent.mkdir()
    monkeypatch.setattr("course_lib.training.checkpoint.machine", lambda device=None: f"on {device}")
    assert ask("--checkpoint", path, "--json", kept) == 0
    out, err = capsys.readouterr()
    saved = load_system(path)
    pairs = toy_splits.splits(sizes=SMALL | {"train": 0}).test
    expected = evaluate_system(saved.model, saved.tokenizer, pairs)
    assert out.endswith(f"bahdanau\n{expected.table()}\n") and err == f"Every number is in {kept}.\n"
    found = json.loads(kept.read_text(encoding="utf-8"))
    assert (found["data"], found["split"], found["beam"], found["first"]) == ("toy", "test", 1, None)
    command = f"evaluate --device cpu --checkpoint {path} --json '{kept}'"
    assert found["command"].endswith(command) and found["length_penalty"] == 0.6
    assert {"torch", "course"} <= found["versions"].keys() and found["machine"] == "on cpu"
    (one,) = found["systems"]
    assert (one["system"], one["checkpoint"]) == ("bahdanau", str(path))
    assert one["trained"].keys() == {"command", "data", "machine", "versions", "seconds"}
    assert one["results"] == json.loads(json.dumps(expected.to_json()["results"]))
    assert one["n_parameters"] == sum(p.numel() for p in saved.model.parameters())
    assert [file.name for file in kept.parent.iterdir()] == ["kept.json"]


def test_a_language_model_has_a_perplexity_and_the_sentence_encoder_an_accuracy(checkpoint, tmp_path, capsys):
    paths = [checkpoint(name) for name in ("gru_lm", "self_attentive", "bahdanau", "seq2seq")]
    assert ask("--checkpoint", *paths, "--split", "coreference", "--json", tmp_path / "kept.json") == 0
    model, encoder, first, second = capsys.readouterr().out.strip().split("\n\n")[1].splitlines()
    kept = {
        one["label"]: one["results"] for one in json.loads((tmp_path / "kept.json").read_text())["systems"]
    }
    saved = load_system(paths[0])
    pairs = toy_splits.splits(sizes=SMALL | {"train": 0}).coreference
    short = [pair.tgt_text for pair in pairs if max(len(pair.src), len(pair.tgt)) < 16]
    surprise = perplexity(saved.model, [saved.tokenizer.encode(text) for text in short])
    assert math.isclose(kept["gru_lm"]["perplexity"], surprise.perplexity, rel_tol=1e-6)
    told = f"gru_lm perplexity {surprise.perplexity:.2f} tokens {surprise.n_tokens}"
    assert " ".join(model.split()) == told
    assert encoder.split()[:2] == ["self_attentive", "accuracy"]
    assert 0 <= kept["self_attentive"]["accuracy"]["all"] <= 1
    names = re.findall(r"[A-Za-z]\S+", first)
    assert names == ["bahdanau", "BLEU", "chrF", "exact", "il/elle", "AER"]
    assert "AER" in first and "AER" not in second


def test_all_splits_come_one_after_another(checkpoint, capsys):
    paths = [checkpoint(name) for name in ("bahdanau", "rctm")]
    assert ask("--checkpoint", *paths, "--split", "all", "--first", "3") == 0
    blocks = capsys.readouterr().out.strip().split("\n\n")
    assert [block.split(":")[0] for block in blocks[::2]] == [f"toy, {split}" for split in TESTS]
    for block in blocks[1::2]:
        assert [line.split()[0] for line in block.splitlines()] == ["bahdanau", "rctm"]
    assert ask("--checkpoint", checkpoint("gru_lm"), "--split", "long") == 1
    assert "gru_lm reads 16 tokens, and every sentence is longer." in capsys.readouterr().err


def test_what_cannot_be_measured_is_left_out_and_named(checkpoint, tmp_path, capsys):
    good, other, broken = checkpoint("bahdanau"), checkpoint("rctm"), tmp_path / "broken.safetensors"
    broken.write_bytes(b"PK something else")
    assert ask("--first", 2, "--checkpoint", good, tmp_path, broken, other) == 0
    out, err = capsys.readouterr()
    assert "bahdanau" in out and "rctm" in out and err.count("left out: ") == 2 and str(broken) in err
    assert ask("--checkpoint", broken, tmp_path) == 1
    told = capsys.readouterr().err
    assert told.count("left out: ") == 2 and "None of the 2 can be measured." in told


# ---- what cannot be


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("--data multi30k --multi30k nowhere", "course_lib data multi30k --download"),
        ("--data multi30k --from eo", "Expected src to be one of de, en, fr, but got 'eo'."),
        ("--data multi30k --split long", "Expected split to be train, validation or test, but got 'long'."),
        ("--data no/such.tsv", "There is no corpus no/such.tsv"),
        ("--data .", ". is a folder: say which of its languages, such as --from en --to fr."),
        ("--data . --from en --to fr", "Expected test.en.gz or test.en in ., but neither is there"),
    ],
)
def test_sentences_that_are_not_there_are_named(checkpoint, tmp_path, monkeypatch, capsys, words, told):
    path = checkpoint("rctm")
    monkeypatch.chdir(tmp_path)
    assert ask("--checkpoint", path, *words.split()) == 1
    out, err = capsys.readouterr()
    assert told in err and out == ""


def test_different_corpora_are_not_mixed(checkpoint, capsys):
    with pytest.raises(Trouble, match="different corpora: 0 on toy, 1 on multi30k-de-en"):
        choose(["toy", "multi30k-de-en"])
    assert ask("--checkpoint", checkpoint("self_attentive"), "--split", "validation", "--first", 1) == 1
    assert "Take more sentences, or another split." in capsys.readouterr().err
    assert ask("--checkpoint", checkpoint("bahdanau", data="my/pairs.tsv")) == 1
    assert "There is no corpus my/pairs.tsv" in capsys.readouterr().err
