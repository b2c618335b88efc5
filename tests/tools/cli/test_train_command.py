"""`course_lib train`: the folder of a run, going on, Ctrl-C, the causes of trouble, a corpus of one's own."""

from __future__ import annotations

import errno
import io
import os
import re
import shutil
import signal
import sys

import pytest

from course_lib.models.registry import SYSTEMS
from course_lib.text.toy.generate import generate
from course_lib.training import job
from course_lib.training.checkpoint import load_checkpoint, load_system, read_about, save_checkpoint
from tools.cli import commands, main, train_command
from tools.cli.environment import PROJECT_ROOT

pytestmark = pytest.mark.usefixtures("no_set_up")
RUN = "runs/toy_{}_tiny_0/best.safetensors"


@pytest.fixture
def asked(monkeypatch, tiny_data, tmp_path):
    """Runs the command on sixty sentences, in a folder of the test's own."""
    load = job.load_data
    known = {"toy": tiny_data}
    monkeypatch.setattr(job, "load_data", lambda name, **more: known.get(name) or load(name, **more))
    monkeypatch.chdir(tmp_path)

    def ask(*words: str) -> int:
        return main(["train", "--scale", "tiny", "--device", "cpu", *words])

    return ask


# ---- a run


def test_a_run_says_its_recipe_and_leaves_weights_that_can_be_used(asked, capsys):
    assert asked("transformer", "--steps", "16", "--tokens-per-batch", "64") == 0
    first, second, *_ = (told := capsys.readouterr().out).splitlines()
    path = RUN.format("transformer")
    assert load_system(path).name == "transformer"
    assert first.startswith("transformer: ") and first.endswith("40 pairs of toy, on cpu")
    recipe = "learning rate 0.003 (warm-up of 1), label smoothing 0.1, dropout 0"
    assert second == f"16 steps of 64 tokens, {recipe}"
    assert told.count("  validation ") == 8 and "Finished after 16 steps" in told
    assert f"Best weights: {path}\nTry them: " in told
    assert told.endswith(f' translate --checkpoint "{path}" "..."\n')


def test_options_reach_the_recipe_and_the_folder(asked):
    words = "--seed 3 --steps 2 --tokens-per-batch 50 --learning-rate 0.25 --folder here"
    assert asked("bahdanau", *words.split()) == 0
    about = load_system("here/best.safetensors").about
    recipe = [about["recipe"][name] for name in ("seed", "n_steps", "tokens_per_batch", "learning_rate")]
    assert recipe == [3, 2, 50, 0.25] and about["data"]["name"] == "toy"
    assert about["command"] == f"python3 -m course_lib train --scale tiny --device cpu bahdanau {words}"


@pytest.mark.parametrize(
    ("words", "folder"),
    [
        ("convs2s --seed 2", "runs/toy_convs2s_2"),
        ("convs2s --data multi30k", "runs/multi30k-de-en_convs2s_0"),
        ("convs2s --data multi30k --from en --to fr", "runs/multi30k-en-fr_convs2s_0"),
        ("convs2s --scale tiny --quick", "runs/toy_convs2s_tiny_quick_0"),
        ("convs2s --data my/pairs.tsv", "runs/pairs_convs2s_0"),
        ("convs2s --data my/corpus --from en --to fr", "runs/corpus-en-fr_convs2s_0"),
    ],
)
def test_the_folder_says_what_is_in_it(words, folder):
    asked = commands.parser().parse_args(["train", *words.split()])
    assert str(train_command.default_folder(asked)) == folder


def test_a_language_model_says_its_perplexity_and_is_to_be_sampled(asked, capsys):
    assert asked("gru_lm", "--steps", "1") == asked("ngram_lm") == 0
    told = capsys.readouterr().out
    assert len(re.findall(r"Perplexity on the validation set: \d+\.\d\d\n", told)) == 2
    assert told.count(" sample --checkpoint ") == 2 and "translate" not in told
    assert load_system(RUN.format("ngram_lm")).name == "ngram_lm"
    assert told.count("learning rate ") == told.count(" once: there are no steps.") == 1
    assert asked("ngram_lm") == 0 and "nothing left to do" in capsys.readouterr().out


def test_what_cannot_be_trained_on_is_told(asked, capsys):
    assert asked("gru_lm", "--steps", "1", "--tokens-per-batch", "9") == 0
    told = re.search(r"Too long to train on, left out: (\d+) of 40 pairs\.", capsys.readouterr().out)
    assert told and 0 < int(told[1]) < 40


def test_a_run_that_diverges_is_no_success(asked, capsys, tmp_path):
    assert asked("seq2seq", "--steps", "16", "--learning-rate", "1e30") == 1
    told = capsys.readouterr().out
    assert "Diverged after 2 steps" in told and "Try a smaller --learning-rate" in told
    assert "Best weights" not in told and not (tmp_path / RUN.format("seq2seq")).exists()


# ---- stopping and going on


@pytest.mark.slow
def test_ctrl_c_ends_it_with_a_word_and_the_same_command_goes_on(asked, monkeypatch, capsys):
    words = ["seq2seq", "--steps", "16", "--tokens-per-batch", "64"]
    with monkeypatch.context() as patch:
        patch.setattr(train_command, "tell_record", lambda record: signal.raise_signal(signal.SIGINT))
        assert asked(*words) == 130
    told, warned = capsys.readouterr()
    assert warned.count("Stopping after this step.") == 1
    stood = int(re.search(r"Stopped after (\d+) steps? and \d+ s\.\n", told)[1])
    assert 1 < stood < 16 and "The same command goes on from here.\nBest weights" in told
    assert asked(*words) == 0
    told = capsys.readouterr().out
    assert f"Resumed from runs/toy_seq2seq_tiny_0 at step {stood}: {16 - stood} to go.\n" in told
    assert "step      2" not in told and "step     16" in told and "Finished after 16 steps" in told
    assert asked(*words) == 0
    assert "at step 16: there is nothing left to do." in capsys.readouterr().out
    assert asked(*words, "--learning-rate", "0.5") == 1
    told = capsys.readouterr()
    assert "is of another run: its recipe differs" in told.err and "--restart" in told.err


def test_more_steps_go_on_and_restart_begins_anew(asked, capsys):
    words = ["gru_lm", "--tokens-per-batch", "64"]
    assert asked(*words, "--steps", "6") == 0
    capsys.readouterr()
    assert asked(*words, "--steps", "8") == 0
    told = capsys.readouterr().out
    assert "at step 6: 2 to go." in told and "Finished after 8 steps" in told
    history = read_about(RUN.format("gru_lm"))["history"]
    assert [record["step"] for record in history] == [*range(1, 7), 7, 8]
    assert asked(*words, "--steps", "6", "--learning-rate", "0.5", "--restart") == 0
    told = capsys.readouterr().out
    assert "Resumed" not in told and "Finished after 6 steps" in told
    kept = read_about(RUN.format("gru_lm"))
    assert len(kept["history"]) == 6
    assert asked(*words, "--steps", "6", "--tokens-per-batch", "2", "--restart") == 1  # nothing fits
    assert "Raise tokens_per_batch." in capsys.readouterr().err and read_about(RUN.format("gru_lm")) == kept
    assert asked(*words, "--steps", "4", "--learning-rate", "0.5") == 0  # there is nothing left to do
    assert read_about(RUN.format("gru_lm")) == kept


def test_best_weights_that_are_another_run_s_are_refused(asked, capsys):
    for name in ("gru_lm", "lstm_lm"):
        assert asked(name, "--steps", "2", "--folder", name) == 0
    shutil.copy("gru_lm/best.safetensors", "lstm_lm/best.safetensors")
    tensors, about = load_checkpoint("lstm_lm/last.safetensors")
    about["history"][0]["loss"] = 0.0  # were the last step the best, its weights would be in this file too
    save_checkpoint("lstm_lm/last.safetensors", tensors, about)
    assert asked("lstm_lm", "--steps", "2", "--folder", "lstm_lm") == 1
    said = capsys.readouterr().err
    assert "lstm_lm/best.safetensors is of another run: its config differs" in said and "--restart" in said


def test_a_second_ctrl_c_stops_at_once(asked, monkeypatch, capsys):
    def twice(record):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(train_command, "tell_record", twice)
    assert asked("seq2seq", "--steps", "16", "--tokens-per-batch", "64") == 1
    assert "Stopped at once.\nThe same command goes on from the last" in capsys.readouterr().err


def test_lines_stand_above_the_bar_and_nobody_has_to_read_them(monkeypatch, capsys):
    class Closed(io.StringIO):
        def write(self, text):
            raise BrokenPipeError

        def fileno(self):
            return os.open(os.devnull, os.O_WRONLY)

    train_command.tell("a line")
    assert capsys.readouterr().out == "a line\n"
    monkeypatch.setattr(sys, "stdout", Closed())
    train_command.tell("to nobody")


# ---- causes


def test_a_folder_that_cannot_be_written_is_told_before_the_first_step(asked, monkeypatch, tmp_path, capsys):
    (tmp_path / "afile").write_text("x", encoding="utf-8")
    assert asked("gru_lm", "--steps", "1", "--folder", str(tmp_path / "afile")) == 1
    said = capsys.readouterr()
    assert "afile cannot be used: File exists." in said.err and "step  " not in said.out

    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert asked("gru_lm", "--steps", "1") == 1
    said = capsys.readouterr().err
    assert re.search(r"runs/toy_gru_lm_tiny_0/\S+ cannot be used: No space left on device\.", said)
    assert "Make room" in said


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("--data multi30k --multi30k nothing", "course_lib data multi30k --download"),
        ("--data multi30k --from xx", "one of de, en, fr, but got 'xx'"),
        ("--data no/such.tsv --from en", "There is no corpus no/such.tsv"),
        ("--data toy --from fr --to en", "toy has its own direction: --from and --to are for Multi30k"),
        ("--data .", ". is a folder: say which of its languages, such as --from en --to fr"),
        ("--learning-rate inf", "learning_rate"),
        ("--device cuda:7", "The device cannot be used here: "),
        ("--device abacus", "The device cannot be used here: "),
    ],
)
def test_what_cannot_be_is_told_by_whoever_knows(asked, capsys, words, told):
    assert asked("gru_lm", *words.split()) == 1
    said = capsys.readouterr().err
    assert told in said and "Make room" not in said and "Traceback" not in said


def test_the_list_has_every_system(capsys):
    assert main(["train", "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert {line.split()[0] for line in lines if line.startswith("  ")} == {one.name for one in SYSTEMS}
    assert "  bahdanau              2015   Bahdanau attention" in lines


# ---- a corpus of one's own


@pytest.fixture
def own(tmp_path) -> list[tuple[str, str]]:
    """Sixty pairs, as my/pairs.tsv and in my/corpus as aligned files, with a test file each."""
    pairs = [(pair.src_text, pair.tgt_text) for pair in generate(70, seed=1, length=(3, 8))]
    folder = tmp_path / "my" / "corpus"
    folder.mkdir(parents=True)
    for name, part in (("pairs", pairs[:60]), ("test", pairs[60:])):
        text = "".join(f"{src}\t{tgt}\n" for src, tgt in part)
        (tmp_path / "my" / f"{name}.tsv").write_text(text, encoding="utf-8")
        split = "train" if name == "pairs" else "test"
        for place, language in enumerate(("en", "fr")):
            text = "".join(f"{pair[place]}\n" for pair in part)
            (folder / f"{split}.{language}").write_text(text, encoding="utf-8")
    return pairs


@pytest.mark.parametrize(
    ("words", "name", "test"),
    [
        ("--data my/pairs.tsv", "my/pairs.tsv", "--data my/test.tsv"),
        ("--data my/corpus --from en --to fr", "my/corpus en-fr", ""),
    ],
)
def test_a_corpus_of_ones_own_is_trained_on_measured_and_translated(asked, own, capsys, words, name, test):
    assert asked("bahdanau", "--steps", "4", "--folder", "here", *words.split()) == 0
    assert f"57 pairs of {name}, on cpu" in capsys.readouterr().out  # one in twenty is for validation
    assert read_about("here/best.safetensors")["data"]["name"] == name
    assert read_about("here/best.safetensors")["command"].endswith(words)
    on = ["--device", "cpu", "--checkpoint", "here"]
    assert main(["evaluate", *on, *test.split()]) == 0
    told = capsys.readouterr().out
    assert ": 10 sentences  BLEU" in told and ("my/test.tsv: 10" in told) == ("my/test.tsv" in test)
    assert main(["translate", *on, own[0][0]]) == 0
    if test:
        assert main(["evaluate", *on]) == 1
        assert "It was trained on my/pairs.tsv itself." in capsys.readouterr().err


def test_the_ten_lines_of_the_guide_do_the_same(own, tmp_path, monkeypatch, capsys):
    guide = (PROJECT_ROOT / "docs" / "training.md").read_text(encoding="utf-8")
    (lines,) = re.findall(r"```python\n(.*?)```", guide, flags=re.DOTALL)
    assert len(lines.split("\n\n")[1].splitlines()) <= 10
    monkeypatch.chdir(tmp_path)
    exec(lines.replace("n_steps=500", 'n_steps=2, scale="tiny", device="cpu"'), {})
    assert "57 pairs of my/pairs.tsv" in (told := capsys.readouterr().out) and "exact match" in told


def test_validation_sentences_that_are_given_are_used(asked, own, tmp_path, capsys):
    for language in ("en", "fr"):
        text = (tmp_path / "my" / "corpus" / f"test.{language}").read_text(encoding="utf-8")
        (tmp_path / "my" / "corpus" / f"val.{language}").write_text(text, encoding="utf-8")
    words = "--data my/corpus --from en --to fr --steps 1 --folder here"
    assert asked("gru_lm", *words.split()) == 0
    assert "60 pairs of my/corpus en-fr" in capsys.readouterr().out
    (tmp_path / "few.tsv").write_text("a\tb\n" * 19, encoding="utf-8")
    assert asked("gru_lm", "--data", "few.tsv") == 1
    assert "Expected 20 sentence pairs or more, but few.tsv has 19." in capsys.readouterr().err
