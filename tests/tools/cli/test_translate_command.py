"""`translate` and `sample`: sentences in, sentences out, in order; attention as text and as a picture."""

from __future__ import annotations

import argparse
import io
import os
import subprocess
import sys

import pytest
import torch

from course_lib.models.registry import language_models, translators
from course_lib.models.transformer import USES
from course_lib.training.checkpoint import load_checkpoint, load_system, save_checkpoint
from course_lib.translation.pipeline import translate as translate_texts
from tools.attention_text import every_attention
from tools.cli import arguments, main, translate_command
from tools.cli.environment import PROJECT_ROOT, CommandError

pytestmark = pytest.mark.usefixtures("no_set_up")

TEXT = "the cat sleeps"
ENCODER, DECODER, CROSS = USES.values()


@pytest.fixture
def bahdanau(checkpoint):
    return checkpoint("bahdanau")


@pytest.fixture
def pipe(monkeypatch):
    """Puts bytes where stdin is."""
    opened = []

    def put(data: bytes) -> None:
        reading, writing = os.pipe()
        os.write(writing, data)
        os.close(writing)
        opened.append(os.fdopen(reading))
        monkeypatch.setattr(sys, "stdin", opened[-1])

    yield put
    for stream in opened:
        stream.close()


def ask(path, *words: str) -> int:
    return main(["translate", "--device", "cpu", "--checkpoint", str(path), *words])


# ---- which weights


def without_a_tensor(path):
    """As if the system had changed since."""
    tensors, about = load_checkpoint(path)
    save_checkpoint(path, dict(list(tensors.items())[1:]), about)
    return path


def of_a_later_version(path):
    """With a system that nobody knows yet."""
    tensors, about = load_checkpoint(path)
    save_checkpoint(path, tensors, about | {"config": {"system": "mamba"}})
    return path


def no_checkpoint(path):
    path.write_bytes(b"PK something else")
    return path


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda tmp, _: no_checkpoint(tmp / "x"), "is damaged or no safetensors file"),
        (lambda _, make: without_a_tensor(make("gru_lm")), "cannot be built here (Error(s) in loading"),
        (lambda _, make: of_a_later_version(make("gru_lm")), "(There is no system 'mamba'."),
        (lambda tmp, _: tmp / "none.safetensors", "but there is no such file.\n--checkpoint takes a"),
        (lambda tmp, _: tmp, "best.safetensors, but there is no such file."),
        (lambda _, make: make("gru_lm"), "gru_lm, a language model.\nFor it there is `"),
        (lambda _, make: make("self_attentive"), " evaluate`."),
    ],
)
def test_weights_that_cannot_be_used_are_told_of_with_a_way_out(tmp_path, checkpoint, capsys, make, told):
    assert ask(make(tmp_path, checkpoint), TEXT) == 1
    assert told in capsys.readouterr().err


def test_systems_by_name_and_the_folder_of_a_run(bahdanau, checkpoint, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(arguments, "shipped_weights", lambda name: bahdanau.parent / f"{name}.safetensors")
    assert main(["translate", "--system", "bahdanau", "--device", "cpu", TEXT]) == 0
    assert ask(checkpoint("bahdanau", file="best.safetensors").parent, TEXT) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first == second
    bahdanau.with_name("rctm.safetensors").write_bytes(b"PK")
    assert main(["translate", "--system", "rctm", TEXT]) == 1
    assert "`git checkout -- data/checkpoints` brings it back." in capsys.readouterr().err


# ---- sentences


@pytest.mark.parametrize(
    ("words", "beam", "penalty"),
    [("", 1, 0.6), ("--beam 3", 3, 0.6), ("--beam 3 --length-penalty 0", 3, 0.0)],
)
def test_a_sentence_is_translated_as_the_library_does(bahdanau, monkeypatch, capsys, words, beam, penalty):
    def spy(*texts, **options):
        assert (options["beam"], options["length_penalty"]) == (beam, penalty)
        return translate_texts(*texts, **options)

    monkeypatch.setattr("course_lib.translation.pipeline.translate", spy)
    assert ask(bahdanau, *words.split(), TEXT) == 0
    saved = load_system(bahdanau)
    (found,) = translate_texts([TEXT], saved.model, saved.tokenizer, beam=beam, length_penalty=penalty)
    assert capsys.readouterr().out == f"{found.target}\n"


def test_several_sentences_stay_in_order_and_words_without_quotes_are_asked_about(bahdanau, capsys):
    alone = []
    for text in (TEXT, "a dog", ""):
        ask(bahdanau, text)
        alone.append(capsys.readouterr().out)
    assert ask(bahdanau, "The Cat Sleeps.", "a dog", "") == 0  # ordinary English is as good
    out, err = capsys.readouterr()
    assert out == "".join(alone) and "<unk>" not in err
    assert ask(bahdanau, "the", "cat", "sleeps") == 0
    out, err = capsys.readouterr()
    assert out.count("\n") == 3 and err.startswith(
        "3 sentences of one word each; for one sentence use quotes\n"
    )


def test_a_pipe_gives_a_line_for_a_line(bahdanau, pipe, capsys):
    """And a line ends at a newline, nowhere else."""
    ask(bahdanau, TEXT)
    line = capsys.readouterr().out
    pipe(b"\xef\xbb\xbfthe cat sleeps\r\n\nthe cat\x0c sleeps\n\xff\xfe\nthe cat sleeps")
    assert ask(bahdanau) == 0
    out, err = capsys.readouterr()
    assert out.split("\n")[:3] == [line[:-1], "", line[:-1]] and out.endswith(line) and out.count("\n") == 5
    assert "line 2: nothing to translate" in err and "line 4: read as <unk>" in err
    assert "line 1: read as" not in err, "the mark at the head of the file is no part of its first word"
    pipe(b"")
    assert ask(bahdanau) == 0 and capsys.readouterr().out == ""


@pytest.mark.slow
def test_whoever_writes_a_line_and_waits_gets_its_answer(bahdanau):
    words = ["-m", "course_lib", "translate", "--device", "cpu", "--checkpoint", str(bahdanau)]
    with subprocess.Popen(
        [sys.executable, *words], cwd=PROJECT_ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        for _ in range(2):
            child.stdin.write(b"the cat sleeps\n")
            child.stdin.flush()
            assert child.stdout.readline().endswith(b"\n")
        child.stdin.close()
        assert child.wait(30) == 0


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("The Axolotl sleeps.", "note: read as <unk>: Axolotl\n"),
        ("кот sleeps", "note: read as <unk>: кот\n"),
        ("  ", "note: nothing to translate: the text is empty"),
        ("the " * 40, "note: too long: of its 40 tokens the first 15 were read"),
        ("\x1b[31mred\x1b[0m\ud800", r"note: read as <unk>: \x1b[31mred\x1b[0m"),
    ],
)
def test_odd_sentences_are_translated_and_spoken_of_on_stderr(bahdanau, capsys, text, note):
    assert ask(bahdanau, text) == 0
    out, err = capsys.readouterr()
    assert out.count("\n") == 1 and note in err and "\x1b" not in out + err


# ---- attention


def test_attention_as_text_stands_under_its_sentence(bahdanau, capsys):
    assert ask(bahdanau, "--attention", TEXT, "") == 0
    said, blank, name, *table = capsys.readouterr().out.splitlines()
    assert blank == "" and name == CROSS and table[0].split() == [*TEXT.split(), "</s>"]
    assert [line.split()[0] for line in table[1 : 1 + len(said.split())]] == said.split()
    assert any(line.startswith("░ from 12.5%") for line in table)


def test_the_transformer_shows_its_three_attentions_by_name(checkpoint, capsys):
    assert ask(checkpoint("transformer"), "--attention", "--layer", "1", "the axolotl sleeps") == 0
    told = capsys.readouterr().out
    for name in (ENCODER, DECODER, CROSS):
        assert told.count(f"\n{name}, layer 1 of 2, mean of 2 heads\n") == 1
    assert " the axolotl? sleeps </s>\n" in told


def test_the_right_weights_are_taken():
    weights = torch.rand(3, 4, 2, 5, generator=torch.Generator().manual_seed(0))
    for layer, head, expected, which in (
        (None, None, weights[2].mean(dim=0), ", layer 3 of 3, mean of 4 heads"),
        (1, None, weights[0].mean(dim=0), ", layer 1 of 3, mean of 4 heads"),
        (None, 4, weights[2, 3], ", layer 3 of 3, head 4 of 4"),
        (2, 1, weights[1, 0], ", layer 2 of 3, head 1 of 4"),
    ):
        found, told = translate_command.chosen(weights, argparse.Namespace(layer=layer, head=head))
        assert torch.equal(found, expected) and told == which
    for layer, head, told in ((4, None, "--layer 4 is not there: it has 3"), (None, 5, "--head 5")):
        with pytest.raises(CommandError, match=told):
            translate_command.chosen(weights, argparse.Namespace(layer=layer, head=head))


@pytest.mark.parametrize("name", [one.name for one in translators() if one.model.attends])
def test_every_attention_has_its_labels_and_looks_at_nothing_to_come(checkpoint, name):
    saved = load_system(checkpoint(name))
    (found,) = translate_texts([TEXT], saved.model, saved.tokenizer, with_weights=True)
    every = every_attention(saved.model, saved.tokenizer, found)
    looks_at_itself = name == "transformer" or name.startswith("lstmn")
    assert [one.name for one in every] == ([ENCODER, DECODER, CROSS] if looks_at_itself else [CROSS])
    for one in every:
        assert tuple(one.weights.shape[2:]) == (len(one.rows), len(one.columns))
        if one.name != CROSS and name.startswith("lstmn"):  # the tape holds only what came before
            first = len(one.columns) - len(one.rows)
            assert torch.equal(one.weights, one.weights.tril(first - 1)) and one.weights.sum() > 0
        elif one.name == DECODER:
            assert torch.equal(one.weights, one.weights.tril())


def test_an_output_of_another_encoding_gets_utf_8_and_a_gaussian_window_is_explained(checkpoint, monkeypatch):
    out = io.TextIOWrapper(io.BytesIO(), encoding="cp1252")
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", out)
        assert ask(checkpoint("luong_local_p"), "--attention", TEXT) == 0
    told = out.buffer.getvalue().decode("utf-8").rstrip()
    assert "\n░ from 12.5%" in told and told.endswith(translate_command.GAUSSIAN)


def test_a_system_without_attention_says_so_and_translates(checkpoint, capsys):
    assert ask(checkpoint("seq2seq"), "--attention", TEXT) == 0
    out, err = capsys.readouterr()
    assert out.count("\n") == 1 and "seq2seq has no attention to show." in err


# ---- sample


def test_a_language_model_goes_on_with_a_text(checkpoint, capsys):
    path = ["--device", "cpu", "--checkpoint", str(checkpoint("gru_lm"))]
    told = []
    for more in (["--seed", "1"], ["--seed", "1"], ["--seed", "2"]):
        assert main(["sample", *path, "the cat", "--n", "3", "--max-tokens", "6", *more]) == 0
        told.append(capsys.readouterr().out.splitlines())
    assert told[0] == told[1] != told[2] and len(told[0]) == 3
    assert all(line.startswith("the cat") and len(line.split()) <= 8 for line in told[0])
    assert main(["sample", *path, "--n", "2", "--temperature", "0", "--attention"]) == 0
    out, err = capsys.readouterr()
    assert out.count("\n") == 1, "a temperature of 0 draws no lots: all would be the same"
    assert err == "gru_lm has no attention to show.\n"
    assert main(["sample", *path, "the axolotl"]) == 0
    assert "note: read as <unk>: axolotl" in capsys.readouterr().err
    assert main(["sample", *path, "the cat " * 30]) == 1
    assert "The text is too long: gru_lm reads 16 tokens." in capsys.readouterr().err


@pytest.mark.parametrize("name", [one.name for one in language_models() if one.model.attends])
def test_a_language_model_shows_where_it_looked(checkpoint, capsys, name):
    words = ["--n", "1", "--max-tokens", "4", "--attention", "--device", "cpu", "--layer", "1", "--head", "1"]
    assert main(["sample", "--checkpoint", str(checkpoint(name)), "the cat", *words]) == 0
    said, blank, title, above, *rows = capsys.readouterr().out.splitlines()
    assert blank == "" and title.startswith("self-attention")
    read = above.split()
    assert read[:3] == ["<s>", "the", "cat"]
    assert read == ["<s>", *said.split()][:6], "of six words the last is said and not read"
    assert [row.split()[0] for row in rows[: len(read)]] == read
    assert main(["sample", "--checkpoint", str(checkpoint(name)), "the cat", *words, "--head", "9"]) == 1
    assert "--head 9 is not there" in capsys.readouterr().err
