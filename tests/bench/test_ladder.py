"""The shipped checkpoints: all there, unchanged, and as good as it says beside them."""

from __future__ import annotations

import hashlib
import json
import shlex
from types import SimpleNamespace

import pytest

from course_lib.bench.ladder import (
    CHECKPOINTS,
    RESULTS,
    _one_by_one,
    _parser,
    brief,
    main,
    multi30k_result,
    names,
    toy_scores,
    write_manifest,
)
from course_lib.models.registry import SYSTEMS, build, make_config, system
from course_lib.text.corpus import Sentences
from course_lib.text.toy.splits import splits
from course_lib.text.words import WordTokenizer
from course_lib.training.corpora import toy_data
from course_lib.training.history import History
from course_lib.training.job import Job
from course_lib.training.saved_system import load_system
from course_lib.translation.scores import exact_matches
from course_lib.translation.translate import translate

NAMES = [one.name for one in SYSTEMS]
ROOM = 30_000_000


def recorded(name):
    return json.loads((RESULTS / "toy" / f"{name}.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def toy():
    return splits()


def test_every_system_is_there_and_all_together_are_small():
    files = sorted(CHECKPOINTS.glob("*.safetensors"))
    assert {path.stem for path in files} == set(NAMES)
    assert {path.stem for path in (RESULTS / "toy").glob("*.json")} == set(NAMES)
    assert sum(path.stat().st_size for path in files) <= ROOM


def test_the_manifest_is_right():
    lines = (CHECKPOINTS / "manifest.sha256").read_text(encoding="utf-8").splitlines()
    listed = {name: digest for digest, name in map(str.split, lines)}
    found = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in CHECKPOINTS.glob("*.safetensors")
    }
    assert found == listed


def test_a_manifest_is_written_anew(tmp_path):
    (tmp_path / "a.safetensors").write_bytes(b"abc")
    write_manifest(tmp_path)
    digest = hashlib.sha256(b"abc").hexdigest()
    assert (tmp_path / "manifest.sha256").read_text(encoding="utf-8") == f"{digest}  a.safetensors\n"


@pytest.mark.parametrize("name", NAMES)
def test_a_result_says_how_it_was_made(name):
    kept = recorded(name)
    assert kept["system"] == name and kept["data"] == "toy"
    assert f" train {name} " in kept["training"]["command"]
    assert kept["training"]["machine"] and kept["training"]["versions"]["torch"]
    assert kept["training"]["recipe"]["seed"] == 0
    assert kept["scores"]["test"]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_checkpoint_does_what_its_result_says(name, toy):
    """To a rounding: on another machine one word in ten thousand may fall the other way."""
    saved, kept = load_system(CHECKPOINTS / f"{name}.safetensors"), recorded(name)
    assert sum(p.numel() for p in saved.model.parameters()) == kept["parameters"]
    if system(name).kind != "translator":
        again = toy_scores(saved, toy)["test"]
        assert brief({"test": again}) == brief({"test": kept["scores"]["test"]})
        return
    said = translate([pair.src_text for pair in toy.test], saved.model, saved.tokenizer)
    right = exact_matches([one.target for one in said], [pair.tgt_text for pair in toy.test])
    assert sum(right) / len(right) == pytest.approx(kept["scores"]["test"]["exact"], abs=0.002)


def on_a_cpu(split):
    kept = json.loads((RESULTS / "cpu" / f"transformer_{split}.json").read_text(encoding="utf-8"))
    (one,) = kept["systems"]
    return one


def test_a_transformer_trained_on_a_cpu_reaches_what_was_aimed_at():
    test, coreference = on_a_cpu("test"), on_a_cpu("coreference")
    assert test["results"]["exact"] >= 0.95 and coreference["results"]["coreference"]["share"] >= 0.9
    assert test["trained"] == coreference["trained"]
    assert "CPU, 2 threads" in test["trained"]["machine"] and test["trained"]["seconds"] < 200


@pytest.mark.slow
def test_checkpoints_and_data_are_of_one_language():
    """Whoever changes the toy language has to train again."""
    data = toy_data()
    assert on_a_cpu("test")["trained"]["data"] == {"name": data.name, "fingerprint": data.fingerprint}
    for name in NAMES:
        about = load_system(CHECKPOINTS / f"{name}.safetensors").about
        assert about["data"] == {"name": data.name, "fingerprint": data.fingerprint}, name


def test_many_at_a_time_are_the_same_commands_one_by_one(monkeypatch, tmp_path):
    asked = []

    def keep(programs, *, at_a_time):
        asked.append((programs, at_a_time))
        return []

    monkeypatch.setattr("course_lib.bench.ladder.run_all", keep)
    words = shlex.split(
        "multi30k seq2seq bahdanau --from en --to fr --seeds 1 2 --learning-rate 0.001 --at-a-time 3"
    )
    monkeypatch.setattr("sys.argv", ["ladder", *words, "--out", str(tmp_path)])
    assert main() == 0
    ((programs, at_a_time),) = asked
    assert at_a_time == 3 and len(programs) == 4
    parsed = [_parser().parse_args(program[2:]) for program in programs]
    assert [(one.systems, one.seeds) for one in parsed] == [
        (["seq2seq"], [1]),
        (["seq2seq"], [2]),
        (["bahdanau"], [1]),
        (["bahdanau"], [2]),
    ]
    for one in parsed:
        assert (one.what, one.src, one.tgt, one.rate, one.tokens_per_batch) == (
            "multi30k",
            "en",
            "fr",
            0.001,
            None,
        )
        assert one.out == tmp_path and one.is_one_of_many and one.at_a_time == 3
    args = _parser().parse_args(["train", "rctm", "--seeds", "4", "5", "--at-a-time", "3"])
    (program,) = _one_by_one(args, tmp_path)  # one file for a system, so one seed
    assert _parser().parse_args(program[2:]).seeds == [4]


@pytest.mark.slow
def test_toy_training_keeps_checkpoints_and_their_manifest(monkeypatch, tmp_path, capfd):
    words = ["ladder", "train", "ngram_lm", "--at-a-time", "2", "--out", str(tmp_path)]
    monkeypatch.setattr("sys.argv", words)
    assert main() == 0
    assert load_system(tmp_path / "ngram_lm.safetensors").about["at_a_time"] == 2
    assert "ngram_lm.safetensors" in (tmp_path / "manifest.sha256").read_text(encoding="utf-8")
    assert capfd.readouterr().out.startswith("ngram_lm")


def test_multi30k_is_scored_in_small_letters_and_with_alpha_1(monkeypatch):
    """As its scores are published; the pieces are of small letters too."""
    tokenizer = WordTokenizer(["ein", "mann", "a", "man"])
    test = Sentences(("ein mann", "mann"), ("A man", "Man"))
    monkeypatch.setattr("course_lib.bench.ladder.load_multi30k", lambda *asked: test)
    model = build("bahdanau", make_config("bahdanau", scale="tiny", vocab_size=tokenizer.vocab_size))
    about = dict.fromkeys(("command", "recipe", "machine", "versions"), "")
    outcome = SimpleNamespace(
        model=model, about=about, result=SimpleNamespace(seconds=1.0, history=History())
    )
    data = SimpleNamespace(name="multi30k-de-en", tokenizer=tokenizer)
    kept = multi30k_result("bahdanau", Job(system="bahdanau", data="multi30k"), outcome, data, beams=(1, 2))
    assert list(kept["scores"]) == ["beam 1", "beam 2"]
    for beam, found in zip((1, 2), kept["scores"].values(), strict=True):
        assert (found["lowercase"], found["beam"], found["alpha"]) == (True, beam, 1.0)
        assert "case:lc" in found["bleu"]["signature"] and "case:lc" in found["chrf"]["signature"]


def test_systems_are_chosen_by_name():
    assert names(["bahdanau"]) == ["bahdanau"] and names([]) == NAMES
    with pytest.raises(ValueError, match="There is no system"):
        names(["bahdanow"])
