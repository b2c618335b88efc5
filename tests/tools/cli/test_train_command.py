"""`course_lib train`: a run's folder, resuming, Ctrl-C, errors, a corpus of your own."""

from __future__ import annotations

import csv
import errno
import io
import json
import os
import re
import shutil
import signal
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from course_lib.models.registry import SYSTEMS
from course_lib.text.toy.generate import generate
from course_lib.training.checkpoint import load_checkpoint, load_system, read_about, save_checkpoint
from tools import corpora
from tools.cli import commands, main, train_command
from tools.cli.environment import PROJECT_ROOT

pytestmark = pytest.mark.usefixtures("no_set_up")
RUN = "runs/toy_{}_tiny_0/best.safetensors"


@pytest.fixture
def train(monkeypatch, tiny_data, tmp_path):
    """A function that runs the command on sixty sentences, in a temporary folder."""
    load = corpora.load_data
    fakes = {"toy": tiny_data}
    monkeypatch.setattr(corpora, "load_data", lambda name, **kw: fakes.get(name) or load(name, **kw))
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> int:
        return main(["train", "--scale", "tiny", "--device", "cpu", *words])

    return run


# ---- a run


def test_a_run_prints_its_configuration_and_saves_weights_that_can_be_loaded(train, capsys):
    assert train("transformer", "--steps", "16", "--tokens-per-batch", "64") == 0
    first, second, *_ = (out := capsys.readouterr().out).splitlines()
    path = RUN.format("transformer")
    assert load_system(path).name == "transformer"
    assert first.startswith("transformer: ") and "40 sentence pairs" in first
    for part in ("16 steps", "64 tokens", "learning rate 0.003", "label smoothing 0.1", "dropout 0"):
        assert part in second
    assert out.count("  validation ") == 8 and "Finished after 16 steps" in out
    assert out.endswith(f' translate --checkpoint "{path}" "..."\n')


def test_options_reach_the_recipe_and_the_folder(train):
    words = "--seed 3 --steps 2 --tokens-per-batch 50 --learning-rate 0.25 --folder here"
    assert train("bahdanau", *words.split()) == 0
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
def test_the_default_folder_names_data_system_size_and_seed(words, folder):
    args = commands.parser().parse_args(["train", *words.split()])
    assert str(train_command.default_folder(args)) == folder


def test_a_language_model_prints_its_perplexity_and_how_to_sample(train, capsys):
    assert train("gru_lm", "--steps", "1") == train("ngram_lm") == 0
    out = capsys.readouterr().out
    assert len(re.findall(r"Perplexity .*: \d+\.\d\d\n", out)) == 2
    assert out.count(" sample --checkpoint ") == 2 and "translate" not in out
    assert load_system(RUN.format("ngram_lm")).name == "ngram_lm"
    assert out.count("learning rate ") == 1  # an n-gram model has none
    assert train("ngram_lm") == 0


def test_pairs_too_long_to_train_on_are_counted(train, capsys):
    assert train("gru_lm", "--steps", "1", "--tokens-per-batch", "9") == 0
    match = re.search(r"(\d+) of 40 pairs", capsys.readouterr().out)
    assert match and 0 < int(match[1]) < 40


def test_a_run_that_diverges_fails_and_saves_no_weights(train, capsys, tmp_path):
    assert train("seq2seq", "--steps", "16", "--learning-rate", "1e30") == 1
    out = capsys.readouterr().out
    assert "Diverged after 2 steps" in out and "--learning-rate" in out
    assert "best.safetensors" not in out and not (tmp_path / RUN.format("seq2seq")).exists()


def test_a_run_folder_says_in_plain_files_what_was_done_and_a_resumed_one_says_the_same(train, monkeypatch):
    words = ["gru_lm", "--steps", "16", "--tokens-per-batch", "64"]
    assert train(*words, "--folder", "whole") == 0

    def stop(files, *_):  # before anything is written
        signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr(train_command, "after_validation", stop)
        assert train(*words, "--folder", "parts") == 130
    assert not Path("parts/history.csv").exists() and train(*words, "--folder", "parts") == 0
    config = json.loads(Path("parts/config.json").read_text(encoding="utf-8"))
    assert config["recipe"]["n_steps"] == 16 and config["config"]["system"] == "gru_lm"
    assert "course_lib train" in config["command"]
    texts = [Path(folder, "history.csv").read_text(encoding="utf-8") for folder in ("whole", "parts")]
    tables = [list(csv.DictReader(text.splitlines())) for text in texts]
    whole, parts = (
        [{n: row[n] for n in ("step", "rate", "train_loss", "loss")} for row in t] for t in tables
    )
    assert whole == parts and len(whole) == 8
    assert all(float(row["tokens_per_second"]) > 0 for row in tables[1])
    picture = ElementTree.parse("parts/loss.svg").getroot()
    assert f"validation {float(whole[-1]['loss']):.3f}" in "".join(picture.itertext())


def test_a_small_corpus_is_not_trained_on_for_ever_unless_asked(train, capsys):
    rate = ["--learning-rate", "0.05"]  # soon it has learned the forty sentences by heart
    assert train("gru_lm", *rate) == 0
    out = capsys.readouterr().out
    ended = int(re.search(r"Finished after ([\d,]+) steps", out)[1].replace(",", ""))
    assert ended < 1000 and "The validation loss hasn't fallen for 5 validations." in out
    recipe = read_about(RUN.format("gru_lm"))["recipe"]
    assert (recipe["n_steps"], recipe["patience"]) == (4000, 5)
    assert train("gru_lm", *rate) == 0 and f"Finished after {ended} steps" in capsys.readouterr().out
    assert train("gru_lm", *rate, "--steps", "60", "--patience", "0", "--folder", "all") == 0
    assert "Finished after 60 steps" in capsys.readouterr().out


def test_tensorboard_is_asked_for_by_name(train, capsys, monkeypatch):
    monkeypatch.setattr(train_command.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SystemExit) as stopped:
        train("gru_lm", "--steps", "1", "--tensorboard")
    err = capsys.readouterr().err
    assert stopped.value.code == 2 and "-m pip install tensorboard" in err


# ---- stopping and resuming


@pytest.mark.slow
def test_after_ctrl_c_the_same_command_resumes_the_run(train, monkeypatch, capsys):
    words = ["seq2seq", "--steps", "16", "--tokens-per-batch", "64"]
    with monkeypatch.context() as patch:
        patch.setattr(train_command, "after_validation", lambda *_: signal.raise_signal(signal.SIGINT))
        assert train(*words) == 130
    out, err = capsys.readouterr()
    assert err.count("Stopping") == 1
    stopped_at = int(re.search(r"Stopped after (\d+) steps?\b", out)[1])
    assert 1 < stopped_at < 16
    assert train(*words) == 0
    out = capsys.readouterr().out
    assert f"runs/toy_seq2seq_tiny_0 at step {stopped_at}: {16 - stopped_at} " in out
    assert "step      2" not in out and "step     16" in out and "Finished after 16 steps" in out
    assert train(*words) == 0
    assert "at step 16: " in capsys.readouterr().out
    assert train(*words, "--learning-rate", "0.5") == 1
    err = capsys.readouterr().err
    assert "learning_rate" in err and "--restart" in err


def test_a_run_can_be_extended_and_restarted(train, capsys):
    words = ["gru_lm", "--tokens-per-batch", "64"]
    assert train(*words, "--steps", "6") == 0
    capsys.readouterr()
    assert train(*words, "--steps", "8") == 0
    out = capsys.readouterr().out
    assert "at step 6: 2 " in out and "Finished after 8 steps" in out
    history = read_about(RUN.format("gru_lm"))["history"]
    assert [record["step"] for record in history] == [*range(1, 7), 7, 8]
    assert train(*words, "--steps", "6", "--learning-rate", "0.5", "--restart") == 0
    out = capsys.readouterr().out
    assert "Resumed" not in out and "Finished after 6 steps" in out
    saved = read_about(RUN.format("gru_lm"))
    assert len(saved["history"]) == 6
    assert train(*words, "--steps", "6", "--tokens-per-batch", "2", "--restart") == 1  # nothing fits
    assert "tokens_per_batch" in capsys.readouterr().err and read_about(RUN.format("gru_lm")) == saved
    assert train(*words, "--steps", "4", "--learning-rate", "0.5") == 0  # no steps are left
    assert read_about(RUN.format("gru_lm")) == saved


def test_best_weights_of_another_run_are_rejected(train, capsys):
    for name in ("gru_lm", "lstm_lm"):
        assert train(name, "--steps", "2", "--folder", name) == 0
    shutil.copy("gru_lm/best.safetensors", "lstm_lm/best.safetensors")
    tensors, about = load_checkpoint("lstm_lm/last.safetensors")
    about["history"][0]["loss"] = (
        0.0  # the last step must not be the best: this file would contain the best weights too
    )
    save_checkpoint("lstm_lm/last.safetensors", tensors, about)
    assert train("lstm_lm", "--steps", "2", "--folder", "lstm_lm") == 1
    err = capsys.readouterr().err
    assert "lstm_lm/best.safetensors" in err and "config" in err and "--restart" in err


def test_a_second_ctrl_c_stops_at_once(train, monkeypatch, capsys):
    def twice(*_):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(train_command, "after_validation", twice)
    assert train("seq2seq", "--steps", "16", "--tokens-per-batch", "64") == 130
    assert "Stopped" in capsys.readouterr().err


def test_ctrl_c_before_the_first_step(train, monkeypatch, capsys):
    monkeypatch.setattr(corpora, "load_data", lambda *_, **__: signal.raise_signal(signal.SIGINT))
    assert train("seq2seq") == 130
    assert "Stopped" in capsys.readouterr().err


def test_printing_to_a_closed_output_is_no_error(monkeypatch, capsys):
    class Closed(io.StringIO):
        def write(self, text):
            raise BrokenPipeError

        def fileno(self):
            return os.open(os.devnull, os.O_WRONLY)

    train_command.print_line("a line")
    assert capsys.readouterr().out == "a line\n"
    monkeypatch.setattr(sys, "stdout", Closed())
    train_command.print_line("another line")


def test_a_damaged_run_says_how_to_restart(train, capsys):
    words = ["gru_lm", "--steps", "2", "--folder", "here"]
    assert train(*words) == 0
    path = Path("here/last.safetensors")
    path.write_bytes(path.read_bytes()[:-1])
    assert train(*words) == 1
    err = capsys.readouterr().err
    assert str(path) in err and "--restart" in err
    assert train(*words, "--restart") == train(*words) == 0


# ---- errors


def test_a_folder_that_cannot_be_written_is_reported_before_the_first_step(
    train, monkeypatch, tmp_path, capsys
):
    (tmp_path / "afile").write_text("x", encoding="utf-8")
    assert train("gru_lm", "--steps", "1", "--folder", str(tmp_path / "afile")) == 1
    out, err = capsys.readouterr()
    assert "afile" in err and "File exists" in err and "permissions" not in err and "step  " not in out

    def disk_full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", disk_full)
    assert train("gru_lm", "--steps", "1") == 1
    assert re.search(r"runs/toy_gru_lm_tiny_0/\S+ .*No space left on device", capsys.readouterr().err)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--data multi30k --multi30k nothing", "course_lib data multi30k --download"),
        ("--data multi30k --from xx", "'xx'"),
        ("--data no/such.tsv --from en", "no/such.tsv"),
        ("--data toy --from fr --to en", "--from and --to"),
        ("--data .", "--from en --to fr"),
        ("--data multi30k --multi30k nothing --from en --to en", "both 'en'"),
        ("--data multi30k --multi30k nothing --from en", "both 'en'"),
        ("--device cuda:7", "--device cpu"),
        ("--device abacus", "--device cpu"),
    ],
)
def test_an_impossible_request_is_an_error(train, capsys, words, message):
    assert train("gru_lm", *words.split()) == 1
    err = capsys.readouterr().err
    assert message in err and "Traceback" not in err


@pytest.mark.parametrize(("option", "left_out"), [([], train_command.MINOR), (["--all"], set())])
def test_the_list_has_every_system_but_minor_ones_only_if_asked(option, left_out, capsys):
    assert main(["train", "--list", *option]) == 0
    lines = capsys.readouterr().out.splitlines()
    listed = {line.split()[0] for line in lines if line.startswith("  ")}
    assert listed == {system.name for system in SYSTEMS} - left_out and left_out.isdisjoint(listed)
    assert any(line.split()[:2] == ["bahdanau", "2015"] for line in lines)


# ---- a corpus of your own


@pytest.fixture
def own_corpus(tmp_path) -> list[tuple[str, str]]:
    """Sixty pairs, as my/pairs.tsv and in my/corpus as aligned files, with a test file each."""
    pairs = [(pair.src_text, pair.tgt_text) for pair in generate(70, seed=1, length=(3, 8))]
    folder = tmp_path / "my" / "corpus"
    folder.mkdir(parents=True)
    for name, part in (("pairs", pairs[:60]), ("test", pairs[60:])):
        text = "".join(f"{src}\t{tgt}\n" for src, tgt in part)
        (tmp_path / "my" / f"{name}.tsv").write_text(text, encoding="utf-8")
        split = "train" if name == "pairs" else "test"
        for side, language in enumerate(("en", "fr")):
            text = "".join(f"{pair[side]}\n" for pair in part)
            (folder / f"{split}.{language}").write_text(text, encoding="utf-8")
    return pairs


@pytest.mark.parametrize(
    ("words", "name", "test"),
    [
        ("--data my/pairs.tsv", "my/pairs.tsv", "--data my/test.tsv"),
        ("--data my/corpus --from en --to fr", "my/corpus en-fr", ""),
    ],
)
def test_a_system_trained_on_your_own_corpus_evaluates_and_translates(
    train, own_corpus, capsys, words, name, test
):
    assert train("bahdanau", "--steps", "4", "--folder", "here", *words.split()) == 0
    assert f"57 sentence pairs from {name}" in capsys.readouterr().out  # one in twenty is for validation
    assert read_about("here/best.safetensors")["data"]["name"] == name
    assert read_about("here/best.safetensors")["command"].endswith(words)
    system = ["--device", "cpu", "--checkpoint", "here"]
    assert main(["evaluate", *system, *test.split()]) == 0
    out = capsys.readouterr().out
    assert ": 10 sentences  BLEU" in out and ("my/test.tsv: 10" in out) == ("my/test.tsv" in test)
    assert main(["translate", *system, own_corpus[0][0]]) == 0
    if test:
        assert main(["evaluate", *system]) == 1
        err = capsys.readouterr().err
        assert "my/pairs.tsv" in err and "--data" in err


def test_the_python_example_of_the_guide_does_the_same(own_corpus, tmp_path, monkeypatch, capsys):
    guide = (PROJECT_ROOT / "docs" / "training.md").read_text(encoding="utf-8")
    (lines,) = re.findall(r"```python\n(.*?)```", guide, flags=re.DOTALL)
    assert len(lines.split("\n\n")[1].splitlines()) <= 10
    monkeypatch.chdir(tmp_path)
    exec(lines.replace("n_steps=500", 'n_steps=2, scale="tiny", device="cpu"'), {})
    assert "57 sentence pairs from my/pairs.tsv" in (out := capsys.readouterr().out) and "exact match" in out


def test_validation_files_are_used_if_there_are_any(train, own_corpus, tmp_path, capsys):
    for language in ("en", "fr"):
        text = (tmp_path / "my" / "corpus" / f"test.{language}").read_text(encoding="utf-8")
        (tmp_path / "my" / "corpus" / f"val.{language}").write_text(text, encoding="utf-8")
    words = "--data my/corpus --from en --to fr --steps 1 --folder here"
    assert train("gru_lm", *words.split()) == 0
    assert "60 sentence pairs from my/corpus en-fr" in capsys.readouterr().out
    (tmp_path / "few.tsv").write_text("a\tb\n" * 19, encoding="utf-8")
    assert train("gru_lm", "--data", "few.tsv") == 1
    err = capsys.readouterr().err
    assert "few.tsv" in err and "19" in err and "20" in err


# ---- a model of your own

REFERENCE = PROJECT_ROOT / "lessons" / "l14_the_transformer" / "reference_transformer.py"


def test_a_file_with_a_transformer_is_trained_like_the_librarys(train, capsys):
    words = ["--steps", "2", "--tokens-per-batch", "64"]
    assert train("--model", str(REFERENCE), *words) == 0
    folder = "runs/toy_reference_transformer_tiny_0"
    assert f'--model "{REFERENCE}" --checkpoint "{folder}/best.safetensors"' in capsys.readouterr().out
    assert read_about(f"{folder}/best.safetensors")["own_file"] == "reference_transformer.py"
    assert (
        main(["translate", "--device", "cpu", "--model", str(REFERENCE), "--checkpoint", folder, "the cat"])
        == 0
    )
    assert train("--model", str(REFERENCE), *words) == 0 and "Resumed" in capsys.readouterr().out
    assert train("transformer", *words, "--folder", folder) == 1
    assert "different objective" in capsys.readouterr().err
    assert train("--model", "nowhere.py", *words) == 1
    assert "nowhere.py, but there is none" in capsys.readouterr().err
    with pytest.raises(SystemExit) as stopped:
        train("seq2seq", "--model", str(REFERENCE))
    assert stopped.value.code == 2
