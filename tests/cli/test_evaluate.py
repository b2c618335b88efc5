"""`course_lib evaluate`: the right sentences, the right numbers in their places, as a table and as JSON."""

from __future__ import annotations

import argparse
import doctest
import json
import shlex
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from course_lib.cli import evaluate, main, systems
from course_lib.cli.side_by_side import side_by_side
from course_lib.cli.trouble import Trouble
from course_lib.text.corpus import Sentences
from course_lib.text.toy import splits as toy_splits
from course_lib.text.toy.splits import TESTS
from course_lib.training.saved_system import load_system
from course_lib.translation.alignment_error import AlignmentError
from course_lib.translation.evaluate import evaluate as evaluate_system
from course_lib.translation.evaluation import Evaluation, Share, Slice
from course_lib.translation.scores import Score

pytestmark = pytest.mark.usefixtures("no_set_up")

SMALL = {"train": 30, "validation": 6, "test": 8, "long": 4, "depth": 4, "recombination": 4, "coreference": 4}


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(toy_splits, "SIZES_OF_TESTS", SMALL)


def ask(*words) -> int:
    return main(["evaluate", "--device", "cpu", *map(str, words)])


# ---- the right sentences


def test_the_test_sets_are_the_same_without_the_sentences_to_learn_from():
    whole, alone = (toy_splits.splits(seed=0, sizes=SMALL | more) for more in ({}, {"train": 0}))
    for name in evaluate.SPLITS["toy"]:
        assert getattr(whole, name) == getattr(alone, name) and len(getattr(alone, name)) == SMALL[name]


def test_the_split_and_the_first_few(checkpoint, capsys):
    path = checkpoint("bahdanau")
    for words, told in (
        ([], "toy, test: 8 sentences, greedy\n\nbahdanau\nsentences         8 (greedy"),
        (["--split", "long", "--first", "3"], "toy, long: 3 sentences, greedy"),
        (["--split", "coreference", "--first", "2", "--beam", "2"], "2 (beam 2, length penalty 0.6"),
        (["--first", "2", "--beam", "2", "--length-penalty", "1.5"], "2 (beam 2, length penalty 1.5"),
    ):
        assert ask("--checkpoint", path, *words) == 0
        assert told in capsys.readouterr().out


def asked(**more) -> argparse.Namespace:
    return argparse.Namespace(
        **{"data": None, "split": "test", "src": None, "tgt": None, "multi30k": None} | more
    )


@pytest.mark.parametrize(
    ("more", "trained", "data"),
    [
        ({}, ["toy"], "toy"),
        ({}, ["toy-3", "toy-3"], "toy-3"),
        ({}, ["multi30k-en-fr"], "multi30k-en-fr"),
        ({"data": "toy"}, ["toy", "multi30k-en-fr"], "toy"),
        ({"data": "multi30k"}, ["toy", "multi30k-en-fr"], "multi30k-en-fr"),
        ({"data": "multi30k"}, ["toy"], "multi30k-de-en"),
        ({"src": "fr", "tgt": "de"}, ["multi30k-en-fr"], "multi30k-fr-de"),
        ({"data": "toy"}, [""], "toy"),
    ],
)
def test_by_default_what_it_was_trained_on(more, trained, data):
    assert evaluate.choose_data(asked(**more), dict(enumerate(trained))) == data


@pytest.mark.parametrize(
    ("more", "trained", "told"),
    [
        ({}, {"a": "toy", "b": "multi30k-de-en"}, "different corpora: a on toy, b on multi30k-de-en"),
        ({}, {"a": ""}, "does not say what it was trained on"),
        (
            {"split": "long"},
            {"a": "multi30k-de-en"},
            "multi30k has no split long.\nIt has: test, validation.",
        ),
        ({"src": "xx"}, {"a": "toy"}, "The corpus is toy, but only Multi30k takes --from."),
        ({"tgt": "fr", "multi30k": "."}, {"a": "toy-3"}, "--to and --multi30k"),
    ],
)
def test_a_choice_that_cannot_be_made_is_handed_back(more, trained, told):
    with pytest.raises(Trouble, match=told):
        evaluate.choose_data(asked(**more), trained)


def test_multi30k_is_compared_in_small_letters(checkpoint, monkeypatch, capsys):
    wanted = []
    sentences = Sentences(("Ein Hund .", "Zwei Katzen ."), ("A dog .", "Two cats ."))
    monkeypatch.setattr(
        "course_lib.text.multi30k.load_multi30k", lambda *where: wanted.append(where) or sentences
    )
    path = checkpoint("transformer", data="multi30k-de-en")
    assert ask("--checkpoint", path, "--split", "validation", "--multi30k", "there", "--first", "1") == 0
    assert wanted == [("de", "en", "validation", Path("there"))]
    told = capsys.readouterr().out
    assert "multi30k-de-en, validation: 1 sentences" in told and "case:lc" in told


# ---- numbers


def test_all_splits_stand_in_one_table(checkpoint, capsys, tmp_path):
    first, second = checkpoint("bahdanau"), checkpoint("transformer")
    assert ask("--checkpoint", first, second, "--split", "all", "--first", "3") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "toy, sentences without a fault on every test split, greedy"
    assert lines[2].split() == ["bahdanau", "transformer"]
    assert [line.split()[0] for line in lines[3:]] == [*TESTS, "il/elle"]
    assert all(line.split()[-1].endswith("%") for line in lines[3:])
    assert ask("--checkpoint", first, "--split", "all", "--json", tmp_path / "x.json") == 1
    assert "--json keeps one split at a time" in capsys.readouterr().err
    assert ask("--checkpoint", checkpoint("gru_lm"), "--split", "all") == 1


def test_the_numbers_are_the_library_s_and_the_json_has_them_all(checkpoint, tmp_path, capsys):
    path, kept = checkpoint("bahdanau"), tmp_path / "kept here" / "kept.json"
    kept.parent.mkdir()
    assert ask("--checkpoint", path, "--json", kept) == 0
    out, err = capsys.readouterr()
    saved = load_system(path)
    expected = evaluate_system(
        saved.model, saved.tokenizer, toy_splits.splits(sizes=SMALL | {"train": 0}).test
    )
    assert out.endswith(f"bahdanau\n{expected.table()}\n") and err == f"Every number is in {kept}.\n"
    found = json.loads(kept.read_text(encoding="utf-8"))
    assert (found["data"], found["split"], found["beam"], found["first"]) == ("toy", "test", 1, None)
    command = [
        "python3",
        "-m",
        "course_lib",
        "evaluate",
        "--device",
        "cpu",
        "--checkpoint",
        str(path),
        "--json",
        str(kept),
    ]
    assert shlex.split(found["command"]) == command and found["length_penalty"] == 0.6
    assert {"torch", "course"} <= found["versions"].keys() and " CPU, " in found["machine"]
    (one,) = found["systems"]
    assert (one["system"], one["checkpoint"], one["trained"]["command"]) == (
        "bahdanau",
        str(path),
        "course_lib train",
    )
    assert one["trained"].keys() == {"command", "data", "machine", "versions", "seconds"}
    assert one["results"] == json.loads(json.dumps(expected.to_json()["results"]))
    assert one["n_parameters"] == sum(p.numel() for p in saved.model.parameters())
    assert [file.name for file in kept.parent.iterdir()] == ["kept.json"]


def test_the_json_names_the_device_that_was_used(checkpoint, tmp_path, monkeypatch):
    monkeypatch.setattr("course_lib.training.saved_system.machine", lambda device=None: f"on {device}")
    assert ask("--checkpoint", checkpoint("rctm"), "--json", tmp_path / "kept.json", "--first", "1") == 0
    assert json.loads((tmp_path / "kept.json").read_text(encoding="utf-8"))["machine"] == "on cpu"


def test_systems_stand_side_by_side(checkpoint, tmp_path, capsys):
    paths = [checkpoint("bahdanau"), checkpoint("seq2seq")]
    assert ask("--checkpoint", *paths, "--json", tmp_path / "kept.json", "--first", "4") == 0
    out = capsys.readouterr().out
    assert "bahdanau  seq2seq" in out and out.count("BLEU") == 2
    assert [line.split()[-1] for line in out.splitlines() if line.startswith(("AER says", "AER reads"))] == [
        "–",
        "–",
    ]
    kept = json.loads((tmp_path / "kept.json").read_text(encoding="utf-8"))
    assert [one["label"] for one in kept["systems"]] == ["bahdanau", "seq2seq"]


def evaluation(**more) -> Evaluation:
    usual = {
        "n": 10,
        "beam": 1,
        "length_penalty": 0.6,
        "lowercase": False,
        "bleu": Score(12.34, "nrefs:1"),
        "chrf": Score(56.78, "nc:6"),
        "exact": 0.1,
        "n_cut": 2,
        "by_length": (Slice("1–5", 4, 20.0, 0.25), Slice("6–10", 6, 10.0, 0.0)),
    }
    return Evaluation(**usual | more)


def test_the_table_to_the_letter():
    rich = evaluation(
        coreference=Share(3, 4),
        alignment=AlignmentError(0.2, 0.4, 0.1, (0.2,), (0.4,)),
        by_phenomenon=(Slice("gender", 3, 9.0, 1 / 3),),
    )
    poor = evaluation(by_phenomenon=(Slice("gender", 3, 9.0, 0.0),))
    assert side_by_side({"transformer": rich, "rctm": poor}, width=80) == (
        """\
           transformer   rctm
BLEU              12.3   12.3
chrF              56.8   56.8
exact            10.0%  10.0%
il/elle          75.0%      –
AER says         20.0%      –
AER reads        40.0%      –
no end               2      2

exact by words  transformer   rctm
1–5 (4)               25.0%  25.0%
6–10 (6)               0.0%   0.0%

exact by phenomenon  transformer  rctm
gender (3)                 33.3%  0.0%

BLEU       nrefs:1
chrF       nc:6
il/elle    pronouns that have the gender of their noun; a coin gets half of them right
AER        alignment error rate: how far the strongest weights are from the true word links;
           with one link a word, 10.0% is as good as can be
says       of the step that says the word; reads: of the next one, which reads it"""
    )


def test_examples_in_docstrings():
    outcome = doctest.testmod(sys.modules[side_by_side.__module__])
    assert outcome.attempted > 0 and outcome.failed == 0


def test_many_systems_keep_to_the_width():
    each = {f"system_number_{n:02}": evaluation(n_cut=n) for n in range(14)}
    told = side_by_side(each, width=80)
    table, _, signatures = told.rpartition("\n\n")
    assert max(map(len, table.splitlines())) <= 80 and signatures.startswith("BLEU ")
    assert "\nsystem_number_07  12.3  56.8  10.0%       7\n" in told, "one system a row"
    assert len(table.splitlines()) == 15 + 1 + 15
    wide = side_by_side(each, width=400)
    assert wide.splitlines()[0].split() == list(each) and "\nno end " in wide


def test_what_fits_nowhere_goes_on_below():
    names = [f"a_phenomenon_with_a_name_{n}" for n in range(4)]
    each = {
        f"system_{n}": evaluation(by_phenomenon=tuple(Slice(name, 3, 9.0, n / 10) for name in names))
        for n in range(9)
    }
    told = side_by_side(each, width=60)
    assert max(map(len, told.splitlines()[:-2])) <= 60
    for n in range(9):
        assert told.count(f"{n / 10:.1%}") >= 4
    assert all(f"{name} (3)" in told for name in names)


def test_rows_that_nobody_has_are_left_out():
    told = side_by_side({"a": evaluation(), "b": evaluation()}, width=80)
    assert "il/elle" not in told and "AER" not in told and "phenomenon" not in told


def test_two_of_one_name_are_told_apart(checkpoint, tmp_path):
    first, second = checkpoint("rctm"), checkpoint("rctm", file="other.safetensors")
    assert labels(first, second, first) == ["rctm", "other"]
    third = checkpoint("rctm")
    assert labels(first, third) == [str(first), str(third)]


def labels(*paths) -> list[str]:
    return [label for label, *_ in systems.labelled([(str(path), None) for path in paths], "cpu")]


def test_what_cannot_be_measured_is_left_out_and_named(checkpoint, tmp_path, capsys):
    good, other, model = checkpoint("bahdanau"), checkpoint("rctm"), checkpoint("gru_lm")
    broken, run = tmp_path / "broken.safetensors", tmp_path / "run"
    broken.write_bytes(b"PK something else")
    run.mkdir()
    assert ask("--first", 2, "--checkpoint", model, good, run, broken, other, "~nosuchuser/x") == 0
    out, err = capsys.readouterr()
    assert "bahdanau  rctm" in out
    assert f"left out: {model} (holds gru_lm. That is a language model, and does not translate)\n" in err
    for path in (run, broken, "~nosuchuser/x"):
        assert f"left out: {path} (" in err
    assert err.count("left out") == 4


def test_where_nothing_is_left_it_fails(checkpoint, tmp_path, capsys):
    assert ask("--checkpoint", checkpoint("gru_lm"), tmp_path, "") == 1
    told = capsys.readouterr().err
    assert told.count("left out: ") == 3 and "None of the 3 can be measured." in told


def test_a_stop_shows_what_was_measured(checkpoint, monkeypatch, tmp_path, capsys):
    first, second, third = checkpoint("bahdanau"), checkpoint("rctm"), checkpoint("seq2seq")
    measure, stop_at = evaluate.measure, "seq2seq"

    def stopped(saved, pairs, args, label, data):
        if label == stop_at:
            raise KeyboardInterrupt
        return measure(saved, pairs, args, label, data)

    monkeypatch.setattr(evaluate, "measure", stopped)
    words = ["--first", 2, "--checkpoint", first, second, third, "--json", tmp_path / "kept.json"]
    assert ask(*words) == 130
    out, err = capsys.readouterr()
    assert "bahdanau  rctm" in out and "Stopped. Measured so far: 2 of 3." in err
    kept = json.loads((tmp_path / "kept.json").read_text(encoding="utf-8"))
    assert [one["label"] for one in kept["systems"]] == ["bahdanau", "rctm"]
    stop_at = "bahdanau"
    assert ask(*words) == 130
    out, err = capsys.readouterr()
    assert "BLEU" not in out and err.endswith("Stopped.\n")


# ---- words that are wrong


def test_what_cannot_be_is_answered(checkpoint, tmp_path, capsys):
    path = checkpoint("bahdanau")
    (tmp_path / "file").write_text("")
    for words, told in (
        (["--beam", "0"], "Expected --beam to be from 1 to 1000, but got 0."),
        (["--beam", "9" * 20], f"Expected --beam to be from 1 to 1000, but got {'9' * 20}."),
        (["--length-penalty", "1"], "Add --beam 5, or leave --length-penalty out."),
        (["--first", "0"], "Expected --first to be 1 or more, but got 0."),
        (["--data", "multi30k", "--multi30k", tmp_path], "python3 -m course_lib data multi30k --download"),
        (["--data", "multi30k", "--from", "eo"], "Expected src to be one of de, en, fr, but got 'eo'."),
        (["--multi30k", "~nosuchuser/x", "--data", "multi30k"], "knows no ~nosuchuser"),
        (["--from", "xx"], "The corpus is toy, but only Multi30k takes --from."),
        (["--json", tmp_path / "file" / "kept.json"], "there is no folder"),
        (["--json", ""], "Expected the path of a file or a folder, but got an empty text."),
        (["--system", "bahdano"], "Did you mean bahdanau?"),
    ):
        assert ask("--checkpoint", path, *words) == 1
        out, err = capsys.readouterr()
        assert told in err and out == ""


def test_a_language_model_is_refused(checkpoint, capsys):
    assert ask("--checkpoint", checkpoint("transformer_lm")) == 1
    assert "does not translate" in capsys.readouterr().err


def test_how_long_training_took_is_read_off_the_history():
    def of(about):
        return evaluate.seconds_of(SimpleNamespace(about=about))

    assert of({"history": [{"seconds": 1.0}, {"seconds": 2.5}]}) == 2.5
    assert of({"history": []}) is None and of({}) is None
