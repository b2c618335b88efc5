"""`course_lib train`: names, numbers, the folder of a run, Ctrl-C. How it learns is tested with the loop."""

from __future__ import annotations

import errno
import io
import os
import re
import signal
import sys

import pytest

from course_lib.cli import main, train
from course_lib.models.registry import SYSTEMS
from course_lib.training import job, run_folder
from course_lib.training import train as loop
from course_lib.training.saved_system import load_system

pytestmark = pytest.mark.usefixtures("no_set_up")


@pytest.fixture
def asked(monkeypatch, tiny_data, tmp_path):
    """Runs the command on sixty sentences, in a folder of the test's own."""
    monkeypatch.setattr(job, "toy_data", lambda: tiny_data)
    monkeypatch.chdir(tmp_path)

    def ask(*words: str) -> int:
        return main(["train", *words, "--scale", "tiny", "--device", "cpu"])

    return ask


# ---- a run


def test_a_run_leaves_weights_that_can_be_used(asked, tmp_path, capsys):
    assert asked("transformer", "--steps", "16", "--tokens-per-batch", "64") == 0
    told = capsys.readouterr().out
    best = tmp_path / "runs" / "toy_transformer_0" / "best.safetensors"
    assert load_system(best).name == "transformer"
    assert told.startswith("transformer: ") and "40 pairs, on cpu" in told
    assert told.count("validation") == 8 and "Finished after 16 steps" in told
    shown = best.relative_to(tmp_path)
    again = f'python3 -m course_lib translate --checkpoint "{shown}" "..."'
    assert told.endswith(f"Best weights: {shown}\nTry them: {again}\n")


def test_options_reach_the_recipe_and_the_folder(asked, tmp_path):
    words = [
        "--seed",
        "3",
        "--steps",
        "2",
        "--tokens-per-batch",
        "50",
        "--learning-rate",
        "0.25",
        "--folder",
        "here",
    ]
    assert asked("bahdanau", *words) == 0
    about = load_system(tmp_path / "here" / "best.safetensors").about
    recipe = about["recipe"]
    assert (recipe["seed"], recipe["n_steps"], recipe["tokens_per_batch"], recipe["learning_rate"]) == (
        3,
        2,
        50,
        0.25,
    )
    asked = "train bahdanau --data toy --scale tiny --seed 3 --steps 2"
    assert about["command"].startswith(f"python3 -m course_lib {asked}")


def test_of_a_language_model_nobody_is_told_to_translate(asked, capsys):
    assert asked("gru_lm", "--steps", "1") == 0
    assert "Best weights" in (told := capsys.readouterr().out) and "translate" not in told
    assert re.search(r"Perplexity on the validation set: \d+\.\d\d\n", told)


def test_one_that_counts_is_trained_as_well(asked, tmp_path, capsys):
    assert asked("ngram_lm") == 0
    assert load_system(tmp_path / "runs" / "toy_ngram_lm_0" / "best.safetensors").name == "ngram_lm"
    assert "Finished after 1 step" in (told := capsys.readouterr().out) and "translate" not in told


def test_one_that_sorts_needs_something_to_sort(asked, capsys):
    """The sixty sentences here are too short for a pronoun; `test_kinds.py` trains it."""
    assert asked("self_attentive") == 1
    assert "all 40 are of one class, 'none'" in capsys.readouterr().err


def test_what_is_too_long_to_train_on_is_told(asked, capsys):
    assert asked("gru_lm", "--steps", "1", "--tokens-per-batch", "9") == 0
    told = re.search(r"Too long to train on, left out: (\d+) of 40 pairs\.", capsys.readouterr().out)
    assert told and 0 < int(told[1]) < 40


@pytest.mark.slow
def test_ctrl_c_ends_it_with_a_word_and_the_same_command_goes_on(asked, monkeypatch, capsys):
    words = ["seq2seq", "--steps", "16", "--tokens-per-batch", "64"]
    with monkeypatch.context() as patch:
        patch.setattr(train, "show", lambda record: signal.raise_signal(signal.SIGINT))
        assert asked(*words) == 130
    told, warned = capsys.readouterr()
    assert warned.count("Stopping after this step.") == 1
    stood = int(re.search(r"Stopped after (\d+) steps? and \d+ s\.\n", told)[1])
    assert 1 < stood < 16 and "The same command goes on from here.\nBest weights" in told
    assert asked(*words) == 0
    told = capsys.readouterr().out
    assert f"pairs, on cpu\nruns/toy_seq2seq_0 stands at step {stood}: it goes on from there.\n" in told
    assert "step      2" not in told and "step     16" in told and "Finished after 16 steps" in told
    assert asked(*words) == 0
    assert "stands at step 16: there is nothing left to do." in capsys.readouterr().out
    assert asked(*words, "--learning-rate", "0.5") == 1
    told = capsys.readouterr()
    assert "is of another run: its recipe differs" in told.err and "goes on" not in told.out


def test_a_second_ctrl_c_says_what_is_kept(asked, monkeypatch, capsys):
    def twice(record):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(train, "show", twice)
    assert asked("seq2seq", "--steps", "16", "--tokens-per-batch", "64") == 1
    said = capsys.readouterr().err
    assert "Stopped at once.\nruns/toy_seq2seq_0 has a checkpoint of step 2: go on from it" in said


def test_a_run_that_diverges_is_no_success(asked, capsys, tmp_path):
    assert asked("seq2seq", "--steps", "16", "--learning-rate", "1e30") == 1
    told = capsys.readouterr().out
    assert (
        "Diverged after 2 steps" in told
        and "Try a smaller --learning-rate" in told
        and "Best weights" not in told
    )
    assert not (tmp_path / "runs" / "toy_seq2seq_0" / "best.safetensors").exists()


def test_a_home_folder_is_found(asked, monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert asked("gru_lm", "--steps", "1", "--folder", "~/my run") == 0
    assert (tmp_path / "home" / "my run" / "best.safetensors").exists()
    assert f"Best weights: {tmp_path / 'home' / 'my run' / 'best.safetensors'}" in capsys.readouterr().out


def test_a_folder_that_cannot_be_written_is_told_before_the_first_step(asked, tmp_path, capsys):
    (tmp_path / "afile").write_text("x", encoding="utf-8")
    assert asked("gru_lm", "--steps", "1", "--folder", str(tmp_path / "afile")) == 1
    said = capsys.readouterr()
    assert "afile cannot be used: File exists. Choose another one" in said.err and "step " not in said.out


def test_a_full_disk_is_told_with_the_folder(asked, monkeypatch, capsys):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(run_folder, "save_checkpoint", full)
    assert asked("gru_lm", "--steps", "1") == 1
    said = capsys.readouterr().err
    assert "runs/toy_gru_lm_0 cannot be used: No space left on device." in said and "Make room" in said


def test_lines_stand_above_the_bar_and_nobody_has_to_read_them(monkeypatch, capsys):
    class Closed(io.StringIO):
        def write(self, text):
            raise BrokenPipeError

        def fileno(self):
            return os.open(os.devnull, os.O_WRONLY)

    train.tell("a line")
    assert capsys.readouterr().out == "a line\n"
    monkeypatch.setattr(sys, "stdout", Closed())
    train.tell("to nobody")


def test_stopped_before_the_first_look_the_weights_can_be_used_all_the_same(
    asked, monkeypatch, capsys, tmp_path
):
    learn = loop._Loop.learn

    def learn_and_stop(self):
        learn(self)
        signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr(loop._Loop, "learn", learn_and_stop)
        assert asked("seq2seq", "--steps", "16") == 130
    told = capsys.readouterr().out
    assert "Stopped after 1 step and" in told
    path = re.search(r"Best weights: (.*)\n", told)[1]
    assert load_system(tmp_path / path).name == "seq2seq"


def test_of_several_processes_only_the_first_one_talks(asked, monkeypatch, capsys):
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setattr(train, "tell", lambda line: None)  # which the job itself asks of the first alone
    assert asked("gru_lm", "--steps", "1") == 0
    assert capsys.readouterr().out == ""


# ---- words that are wrong


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["bahdano"], "no system 'bahdano'. Did you mean bahdanau?\n`python3 -m course_lib train --list`"),
        (["luong"], "Did you mean luong_"),
        (["wombat"], "There are: ngram_lm"),
        ([], "Expected a system's name.\n`python3 -m course_lib train --list` shows them all."),
        (["gru_lm", "--steps", "0"], "Expected --steps to be 1 or more, but got 0."),
        (["gru_lm", "--tokens-per-batch", "0"], "Expected --tokens-per-batch to be 1 or more, but got 0."),
        (
            ["gru_lm", "--learning-rate", "-1"],
            "Expected --learning-rate to be a number above 0, but got -1.0.",
        ),
        (
            ["gru_lm", "--learning-rate", "nan"],
            "Expected --learning-rate to be a number above 0, but got nan.",
        ),
        (["gru_lm", "--r-drop", "-1"], "Expected --r-drop to be a number of 0 or more"),
        (["gru_lm", "--seed", "-1"], "Expected --seed to be a whole number from 0 on"),
        (["gru_lm", "--seed", "9" * 30], "Expected --seed to be a whole number from 0 on"),
        (["gru_lm", "--data", "multi30k", "--from", "xx"], "two of de, en, fr, got xx and en."),
        (["gru_lm", "--data", "multi30k", "--from", "en"], "two of de, en, fr, got en and en."),
        (["gru_lm", "--folder", "~nosuchuser/x"], "this computer knows no ~nosuchuser"),
    ],
)
def test_a_wrong_word_is_answered_in_full(asked, capsys, words, told):
    assert asked(*words) == 1
    assert told in capsys.readouterr().err


def test_a_device_that_is_not_there(capsys):
    for name in ("cuda:7", "abacus"):
        assert main(["train", "gru_lm", "--device", name]) == 1
        told = capsys.readouterr().err
        assert f"--device {name} cannot be used here: " in told and "Try --device cpu." in told


def test_without_multi30k_it_says_how_to_get_it(asked, tmp_path, capsys):
    assert asked("transformer", "--data", "multi30k", "--multi30k", str(tmp_path / "nothing")) == 1
    assert "python3 -m course_lib data multi30k --download" in capsys.readouterr().err


def test_a_folder_with_another_run_is_left_alone(asked, tmp_path, capsys):
    assert asked("gru_lm", "--steps", "2", "--folder", "here") == 0
    before = (tmp_path / "here" / "last.safetensors").read_bytes()
    assert asked("gru_lm", "--steps", "5", "--folder", "here") == 1
    assert "is of another run" in capsys.readouterr().err
    assert (tmp_path / "here" / "last.safetensors").read_bytes() == before


# ---- the list


def test_the_list_has_every_system(capsys):
    assert main(["train", "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    names = {line.split()[0] for line in lines if line.startswith("  ")}
    assert names == {one.name for one in SYSTEMS}
    assert "  bahdanau              2015   Bahdanau attention" in lines


def test_the_folder_says_what_is_in_it():
    args = train.argparse.Namespace(data="multi30k", src="en", tgt="fr", system="convs2s", seed=2)
    assert train.default_folder(args) == "runs/multi30k-en-fr_convs2s_2"
