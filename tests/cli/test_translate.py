"""`course_lib translate`: sentences in, sentences out, in order; attention as text and as a picture."""

from __future__ import annotations

import argparse
import io
import os
import subprocess
import sys

import pytest
import torch
from PIL import Image

from course_lib.cli import checkpoints, look, main, translate
from course_lib.cli.pins import PROJECT_ROOT
from course_lib.cli.trouble import Trouble
from course_lib.training.saved_system import load_system
from course_lib.translation.translate import Translation
from course_lib.translation.translate import translate as translate_texts

pytestmark = pytest.mark.usefixtures("no_set_up")

TEXT = "the cat sleeps"


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
        stream = os.fdopen(reading)
        opened.append(stream)
        monkeypatch.setattr(sys, "stdin", stream)

    yield put
    for stream in opened:
        stream.close()


def ask(path, *words: str) -> int:
    return main(["translate", "--device", "cpu", "--checkpoint", str(path), *words])


# ---- sentences


def test_a_sentence_is_translated_as_the_library_does(bahdanau, capsys):
    saved = load_system(bahdanau)
    (expected,) = translate_texts([TEXT], saved.model, saved.tokenizer)
    assert ask(bahdanau, TEXT) == 0
    assert capsys.readouterr().out == f"{expected.target}\n"
    (wider,) = translate_texts([TEXT], saved.model, saved.tokenizer, beam=3)
    assert ask(bahdanau, "--beam", "3", TEXT) == 0
    assert capsys.readouterr().out == f"{wider.target}\n"


def test_the_folder_of_a_run_stands_for_its_best_weights(checkpoint, capsys):
    assert ask(checkpoint("bahdanau", file="best.safetensors").parent, TEXT) == 0
    assert capsys.readouterr().out.count("\n") == 1


def test_alpha_reaches_the_beam(bahdanau, monkeypatch):
    seen = []

    def spy(*texts, length_penalty: float, beam: int, **more):
        seen.append((beam, length_penalty))
        return translate_texts(*texts, length_penalty=length_penalty, beam=beam, **more)

    monkeypatch.setattr("course_lib.translation.translate.translate", spy)
    assert (
        ask(bahdanau, "--beam", "4", "--length-penalty", "0", TEXT) == ask(bahdanau, "--beam", "2", TEXT) == 0
    )
    assert ask(bahdanau, TEXT) == 0
    assert seen == [(4, 0.0), (2, 0.6), (1, 0.6)]


def test_words_without_quotes_are_asked_about(bahdanau, capsys):
    assert ask(bahdanau, "the", "cat", "sleeps") == 0
    out, err = capsys.readouterr()
    assert out.count("\n") == 3 and err.startswith(
        "3 sentences of one word each; for one sentence use quotes\n"
    )
    for texts in (["the"], ["the cat", "sleeps"], ["the", ""]):
        assert ask(bahdanau, *texts) == 0
        assert "quotes" not in capsys.readouterr().err


def test_several_sentences_stay_in_order(bahdanau, capsys):
    alone = []
    for text in (TEXT, "a dog", ""):
        ask(bahdanau, text)
        alone.append(capsys.readouterr().out)
    assert ask(bahdanau, TEXT, "a dog", "") == 0
    assert capsys.readouterr().out == "".join(alone)


def test_a_pipe_gives_a_line_for_a_line(bahdanau, pipe, capsys):
    ask(bahdanau, TEXT)
    line = capsys.readouterr().out
    pipe(
        b"\xef\xbb\xbfthe cat sleeps\r\n\nthe cat sleeps\n\xff\xfe\nthe cat sleeps"
    )  # the last without its end
    assert ask(bahdanau) == 0
    out, err = capsys.readouterr()
    assert out.split("\n")[:3] == [line[:-1], "", line[:-1]] and out.endswith(line) and out.count("\n") == 5
    assert "line 2: nothing to translate" in err and "line 4: read as <unk>" in err
    assert "line 1: read as" not in err, "the mark at the head of the file is no part of its first word"


def test_an_empty_pipe_gives_nothing(bahdanau, pipe, capsys):
    pipe(b"")
    assert ask(bahdanau, "--attention") == 0
    assert capsys.readouterr() == ("", "There was nothing to translate: not one line came.\n")


def test_lines_come_out_as_they_come_in_and_not_too_many_at_once():
    reading, writing = os.pipe()
    lines = translate.piped(reading)
    os.write(writing, b"one\ntwo\nthr")
    assert next(lines) == ["one", "two"]
    os.write(writing, b"ee\n")
    assert next(lines) == ["three"]
    os.write(writing, b"x\n" * 100 + b"last")
    assert [len(next(lines)), len(next(lines))] == [translate.TOGETHER, 100 - translate.TOGETHER]
    os.close(writing)
    assert list(lines) == [["last"]]
    os.close(reading)


def test_a_line_ends_at_a_newline_and_nowhere_else():
    reading, writing = os.pipe()
    os.write(writing, "a\u2028b\x0cc\rd\n".encode())
    os.close(writing)
    assert list(translate.piped(reading)) == [["a\u2028b\x0cc\rd"]]
    os.close(reading)


def test_at_a_terminal_each_line_is_answered_at_once(bahdanau, monkeypatch, capsys):
    typed = io.StringIO(f"{TEXT}\n{TEXT}\n")
    typed.isatty = lambda: True
    monkeypatch.setattr(sys, "stdin", typed)
    assert ask(bahdanau) == 0
    out, err = capsys.readouterr()
    assert out.count("\n") == 2 and err.startswith("One sentence a line; Ctrl-D ends")


@pytest.mark.slow
def test_whoever_writes_a_line_and_waits_gets_its_answer(bahdanau):
    command = [
        sys.executable,
        "-m",
        "course_lib",
        "translate",
        "--device",
        "cpu",
        "--checkpoint",
        str(bahdanau),
    ]
    with subprocess.Popen(command, cwd=PROJECT_ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        for _ in range(2):
            child.stdin.write(b"the cat sleeps\n")
            child.stdin.flush()
            assert child.stdout.readline().endswith(b"\n")
        child.stdin.close()
        assert child.wait(30) == 0


# ---- what is odd


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("the axolotl sleeps", "note: read as <unk>: axolotl"),
        ("кот sleeps", "note: in a script this vocabulary was not made for: Cyrillic"),
        ("  ", "note: nothing to translate: the text is empty"),
        ("the " * 40, "note: too long: of its 40 tokens the first 15 were read"),
        ("\x1b[31mred\x1b[0m\ud800", r"note: read as <unk>: \x1b[31mred\x1b[0m"),
    ],
)
def test_odd_sentences_are_translated_and_spoken_of_on_stderr(bahdanau, capsys, text, note):
    assert ask(bahdanau, text) == 0
    out, err = capsys.readouterr()
    assert out.count("\n") == 1 and note in err and "\x1b" not in out + err


def test_nothing_in_a_translation_moves_the_cursor():
    assert translate.one_line("le\nchat\x1b[2J dort\u202e") == "le chat [2J dort "


# ---- attention


def test_attention_as_text_stands_under_its_sentence(bahdanau, capsys):
    assert ask(bahdanau, "--attention", TEXT, "") == 0
    said, blank, *table = capsys.readouterr().out.splitlines()
    assert blank == "" and table[0].split() == [*TEXT.split(), "</s>"]
    assert [line.split()[0] for line in table[1 : 1 + len(said.split())]] == said.split()
    assert table[-2] == "" and table[-1].startswith("░ from 12.5%")


def test_without_a_table_there_is_no_legend(bahdanau, capsys):
    assert ask(bahdanau, "--attention", "", "  ") == 0
    assert capsys.readouterr().out == "\n\n"


def test_an_output_without_blocks_gets_plain_shades(checkpoint, monkeypatch):
    for encoding, sign in (("utf-8", "░"), ("cp437", "░"), ("ascii", "."), ("cp1252", "."), ("odd", ".")):
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", argparse.Namespace(encoding=encoding))
            assert look.shades()[1] == sign
            assert look.footer(load_system(checkpoint("bahdanau"))).startswith(f"{sign} from 12.5%")
            weights = torch.tensor([[0.2, 0.8]])
            shown = Translation("a", "b", ("a", "</s>"), ("b",))
            assert sign in look.attention_block(shown, weights, "")


def test_rows_that_do_not_add_up_are_explained(checkpoint, capsys):
    assert ask(checkpoint("luong_local_p"), "--attention", TEXT) == 0
    assert capsys.readouterr().out.endswith(f"{look.BELL}\n")
    assert ask(checkpoint("luong_local_m"), "--attention", TEXT) == 0
    assert look.BELL not in capsys.readouterr().out


def test_unknown_words_stand_in_the_table_as_they_were_typed(bahdanau, capsys):
    assert ask(bahdanau, "--attention", "the axolotl sleeps") == 0
    assert " the axolotl? sleeps </s>\n" in capsys.readouterr().out


def test_the_transformer_shows_the_last_layer_or_the_one_that_is_asked_for(checkpoint, capsys):
    path = checkpoint("transformer")
    for words, which in (
        ([], "layer 2 of 2, mean of 2 heads"),
        (["--layer", "1"], "layer 1 of 2, mean of 2 heads"),
        (["--layer", "1", "--head", "2"], "layer 1 of 2, head 2 of 2"),
    ):
        assert ask(path, "--attention", *words, TEXT) == 0
        assert capsys.readouterr().out.splitlines()[2] == which


def chosen(weights: torch.Tensor, layer: int | None = None, head: int | None = None):
    translation = Translation("", "", weights=weights)
    return look.look_of(translation, argparse.Namespace(layer=layer, head=head))


def test_the_right_weights_are_taken():
    weights = torch.rand(3, 4, 2, 5, generator=torch.Generator().manual_seed(0))
    assert torch.equal(chosen(weights)[0], weights[2].mean(dim=0))
    assert torch.equal(chosen(weights, layer=1)[0], weights[0].mean(dim=0))
    assert torch.equal(chosen(weights, head=4)[0], weights[2, 3])
    assert torch.equal(chosen(weights, layer=2, head=1)[0], weights[1, 0])
    assert chosen(weights[:1, :1])[1] == "" and chosen(None) is None
    for layer, head, told in ((4, None, "--layer to be from 1 to 3"), (None, 0, "--head to be from 1 to 4")):
        with pytest.raises(Trouble, match=told):
            chosen(weights, layer, head)
    with pytest.raises(Trouble, match="--head to be 1, for there is no other, but got 2"):
        chosen(weights[:, :1], head=2)


def test_a_system_without_attention_says_so_and_translates(checkpoint, capsys):
    path = checkpoint("seq2seq")
    ask(path, TEXT)
    plain = capsys.readouterr().out
    assert ask(path, "--attention", TEXT) == 0
    out, err = capsys.readouterr()
    assert out == plain and "seq2seq has no attention to show" in err
    assert ask(path, "--attention", "--layer", "7", "--head", "2", TEXT) == 1
    assert "Leave --layer and --head out" in capsys.readouterr().err


# ---- the picture


@pytest.mark.slow
@pytest.mark.parametrize("name", ["look.png", "LOOK.SVG"])
def test_the_picture_is_written_whole(bahdanau, tmp_path, capsys, name):
    path = tmp_path / "a folder" / name
    path.parent.mkdir()
    assert ask(bahdanau, "--picture", str(path), TEXT) == 0
    assert capsys.readouterr().err.endswith(f"The picture is in {path}.\n")
    assert [file.name for file in path.parent.iterdir()] == [name]
    if name.endswith("png"):
        with Image.open(path) as picture:
            assert min(picture.size) > 100
    else:
        assert path.read_text(encoding="utf-8").startswith("<?xml")


def test_a_place_that_cannot_be_written_is_known_before_anything_is_said(bahdanau, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert ask(bahdanau, "--picture", str(tmp_path / "file" / "look.png"), TEXT) == 1
    out, err = capsys.readouterr()
    assert "look.png cannot be written" in err and out == ""


def test_a_disk_that_fills_up_meanwhile(bahdanau, tmp_path, monkeypatch, capsys):
    def full(path, content):
        raise OSError(28, "No space left on device", f".{path.name}.x7k2")

    monkeypatch.setattr("course_lib.runtime.write_atomically", full)
    assert ask(bahdanau, "--picture", str(tmp_path / "look.png"), TEXT) == 1
    told = capsys.readouterr().err
    assert f"{tmp_path / 'look.png'} cannot be written: No space left on device." in told
    assert ".look.png.x7k2" not in told


def test_without_attention_or_words_there_is_no_picture(checkpoint, bahdanau, tmp_path, capsys):
    path = tmp_path / "look.png"
    assert ask(checkpoint("rctm"), "--picture", str(path), TEXT) == 1
    assert "rctm has no attention to show" in capsys.readouterr().err
    assert ask(bahdanau, "--picture", str(path), "") == 1
    assert "There is nothing to draw" in capsys.readouterr().err and not path.exists()


# ---- words that are wrong


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--beam", "0", TEXT], "Expected --beam to be from 1 to 1000, but got 0."),
        (["--beam", "10000000", TEXT], "Expected --beam to be from 1 to 1000, but got 10000000."),
        (["--length-penalty", "1", TEXT], "Add --beam 5, or leave --length-penalty out."),
        (
            ["--beam", "2", "--length-penalty", "-1", TEXT],
            "Expected --length-penalty to be from 0 to 10, but got -1.",
        ),
        (
            ["--beam", "2", "--length-penalty", "nan", TEXT],
            "Expected --length-penalty to be from 0 to 10, but got nan.",
        ),
        (["--picture", "look.gif", TEXT], "Let it end in .png or .svg."),
        (["--picture", "look.png", TEXT, TEXT], "A picture shows one sentence, but 2 of them came."),
        (["--picture", "look.png"], "but there is none on the command line."),
        (["--layer", "1", TEXT], "Add --attention or --picture."),
        (
            ["--attention", "--layer", "9", TEXT],
            "Expected --layer to be 1, for there is no other, but got 9.",
        ),
    ],
)
def test_a_wrong_wish_is_answered_before_anything_is_said(bahdanau, capsys, words, told):
    assert ask(bahdanau, *words) == 1
    out, err = capsys.readouterr()
    assert told in err and out == ""


def test_systems_by_name(bahdanau, monkeypatch, capsys):
    monkeypatch.setattr(checkpoints, "SHIPPED", bahdanau.parent)
    monkeypatch.setattr(checkpoints, "PROJECT_ROOT", bahdanau.parent)
    assert main(["translate", "--system", "bahdanau", "--device", "cpu", TEXT]) == 0
    assert main(["translate", "--system", "bahdano", TEXT]) == 1
    assert "Did you mean bahdanau?" in capsys.readouterr().err
    assert main(["translate", TEXT]) == 1
    told = capsys.readouterr().err
    assert "transformer.safetensors is not there" in told
    assert "`python3 -m course_lib train transformer`,\n" in told
    assert "then add --checkpoint runs/toy_transformer_0/best.safetensors" in told
