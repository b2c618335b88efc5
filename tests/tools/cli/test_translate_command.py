"""`translate` and `sample`: sentences in, sentences out, in order; attention as text."""

from __future__ import annotations

import argparse
import io
import os
import subprocess
import sys
from xml.etree import ElementTree

import pytest
import torch

from course_lib.models.registry import language_models, translators
from course_lib.models.transformer import ATTENTIONS
from course_lib.training import checkpoint as checkpoint_module
from course_lib.training.checkpoint import load_checkpoint, load_system, save_checkpoint
from course_lib.translation.pipeline import translate as translate_texts
from tools.attention_text import Attention, every_attention
from tools.cli import arguments, main, translate_command
from tools.cli.environment import PROJECT_ROOT, CommandError

pytestmark = pytest.mark.usefixtures("no_set_up")

TEXT = "the cat sleeps"
ENCODER, DECODER, CROSS = ATTENTIONS.values()


@pytest.fixture
def bahdanau(checkpoint):
    return checkpoint("bahdanau")


@pytest.fixture
def pipe(monkeypatch):
    """A function that replaces stdin by a pipe with the given bytes."""
    streams = []

    def put(data: bytes) -> None:
        reading, writing = os.pipe()
        os.write(writing, data)
        os.close(writing)
        streams.append(os.fdopen(reading))
        monkeypatch.setattr(sys, "stdin", streams[-1])

    yield put
    for stream in streams:
        stream.close()


def ask(path, *words: str) -> int:
    return main(["translate", "--device", "cpu", "--checkpoint", str(path), *words])


# ---- a model from a file of one's own

REFERENCE = PROJECT_ROOT / "lessons" / "l14_the_transformer" / "reference_transformer.py"


@pytest.mark.parametrize("command", [["translate", TEXT], ["evaluate", "--first", "2", "--data", "toy"]])
def test_a_model_from_a_file_uses_the_weights_of_a_checkpoint(checkpoint, capsys, command):
    """It gives the same output as the library's own model, after saying that the file's code runs."""
    outputs = []
    for model in ([], ["--model", str(REFERENCE)]):
        assert (
            main([*command, "--device", "cpu", "--checkpoint", str(checkpoint("transformer")), *model]) == 0
        )
        outputs.append(capsys.readouterr())
    assert str(REFERENCE) in outputs[1].err and str(REFERENCE) not in outputs[0].err
    own, library = (output.out.splitlines()[0].partition("AER")[0].strip() for output in reversed(outputs))
    assert own == library


def test_a_model_file_that_doesnt_fit_is_refused(checkpoint, bahdanau, tmp_path, capsys):
    renamed = tmp_path / "renamed.py"
    renamed.write_text(REFERENCE.read_text().replace("w_query", "w_q"))
    broken = tmp_path / "broken.py"
    broken.write_text("def (")
    transformer = checkpoint("transformer")
    for weights, path, words in [
        (transformer, renamed, ["doesn't fit", str(renamed), "w_q"]),
        (transformer, broken, ["broken.py, line 1"]),
        (bahdanau, REFERENCE, ["Transformer"]),
    ]:
        assert ask(weights, TEXT, "--model", str(path)) != 0
        error = capsys.readouterr().err
        assert all(word in error for word in words), error


@pytest.mark.parametrize("command", [["translate", TEXT], ["evaluate", "--first", "2", "--data", "toy"]])
@pytest.mark.parametrize(
    ("old", "new", "parts"),
    [
        ("return self.encoder(x, mask)", "self.encoder(x, mask)", ["encode", "None", "return"]),
        ("return self.encoder(x, mask)", "return self.encoder(x, mask)[0]", ["encode", "shape"]),
        ("return self.words.output(x)", "return {}[7]", ["line {line}: KeyError: 7"]),
        ("return self.words.output(x)", "return self.words.output(x)[:, -1]", ["decode", "shape"]),
        ("return self.words.output(x)", "return self.words.output(x) / 0", ["decode", "NaN"]),
        ("return self.words.output(x)", "return 'le chat'", ["decode", "str"]),
        ("def encode(self, source, mask)", "def encode(self, source)", ["encode", "TypeError"]),
    ],
)
def test_an_error_while_the_file_computes_names_the_file_and_what_is_wrong(
    checkpoint, tmp_path, capsys, command, old, new, parts
):
    path, text = tmp_path / "mine.py", REFERENCE.read_text()
    assert text.count(old) == 1
    path.write_text(text.replace(old, new))
    line = text[: text.index(old)].count("\n") + 1
    words = ["--device", "cpu", "--checkpoint", str(checkpoint("transformer")), "--model", str(path)]
    assert main([*command, *words]) == 1
    message = capsys.readouterr().err.splitlines()[-1]
    assert message.startswith(f"--model: {path}")
    assert all(part.format(line=line) in message for part in parts), message


# ---- weights


def without_a_tensor(path):
    """A checkpoint from before the system's code changed."""
    tensors, about = load_checkpoint(path)
    save_checkpoint(path, dict(list(tensors.items())[1:]), about)
    return path


def of_a_later_version(path):
    """A checkpoint of an unknown system."""
    tensors, about = load_checkpoint(path)
    save_checkpoint(path, tensors, about | {"config": {"system": "mamba"}})
    return path


def no_checkpoint(path):
    path.write_bytes(b"PK something else")
    return path


@pytest.mark.parametrize(
    ("make", "parts"),
    [
        (lambda tmp, _: no_checkpoint(tmp / "x"), ["safetensors", "--checkpoint"]),
        (lambda _, make: without_a_tensor(make("gru_lm")), ["Error(s) in loading"]),
        (lambda _, make: of_a_later_version(make("gru_lm")), ["'mamba'"]),
        (lambda tmp, _: tmp / "none.safetensors", ["none.safetensors", "--checkpoint"]),
        (lambda tmp, _: tmp, ["best.safetensors", "--checkpoint"]),
        (lambda _, make: make("gru_lm"), ["gru_lm, a language model", " sample`"]),
        (lambda _, make: make("self_attentive"), [" evaluate`"]),
    ],
)
def test_unusable_weights_are_an_error_with_advice(tmp_path, checkpoint, capsys, make, parts):
    assert ask(make(tmp_path, checkpoint), TEXT) == 1
    err = capsys.readouterr().err
    assert "Traceback" not in err and all(part in err for part in parts)


def test_a_system_is_found_by_name_or_in_a_run_s_folder(bahdanau, checkpoint, tmp_path, monkeypatch, capsys):
    for module in (arguments, checkpoint_module):
        monkeypatch.setattr(module, "shipped_weights", lambda name: bahdanau.parent / f"{name}.safetensors")
    assert main(["translate", "--system", "bahdanau", "--device", "cpu", TEXT]) == 0
    assert ask(checkpoint("bahdanau", file="best.safetensors").parent, TEXT) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first == second
    bahdanau.with_name("rctm.safetensors").write_bytes(b"PK")
    assert main(["translate", "--system", "rctm", TEXT]) == 1
    assert "`git checkout -- data/checkpoints`" in capsys.readouterr().err


def test_a_run_without_best_weights_says_how_to_resume_it(checkpoint, capsys):
    folder = checkpoint("bahdanau", file="last.safetensors").parent
    for command in ("translate", "evaluate"):
        assert main([command, "--device", "cpu", "--checkpoint", str(folder)]) == 1
        err = capsys.readouterr().err
        assert str(folder) in err and "best.safetensors" in err and "`train`" in err


# ---- sentences


@pytest.mark.parametrize(
    ("words", "beam", "penalty"),
    [("", 1, 0.6), ("--beam 3", 3, 0.6), ("--beam 3 --length-penalty 0", 3, 0.0)],
)
def test_a_sentence_is_translated_as_by_the_library(bahdanau, monkeypatch, capsys, words, beam, penalty):
    def spy(*texts, **options):
        assert (options["beam"], options["length_penalty"]) == (beam, penalty)
        return translate_texts(*texts, **options)

    monkeypatch.setattr("course_lib.translation.pipeline.translate", spy)
    assert ask(bahdanau, *words.split(), TEXT) == 0
    saved = load_system(bahdanau)
    (expected,) = translate_texts([TEXT], saved.model, saved.tokenizer, beam=beam, length_penalty=penalty)
    assert capsys.readouterr().out == f"{expected.target}\n"


def test_several_sentences_stay_in_order_and_unquoted_words_give_a_warning(bahdanau, capsys):
    alone = []
    for text in (TEXT, "a dog", ""):
        ask(bahdanau, text)
        alone.append(capsys.readouterr().out)
    assert ask(bahdanau, "The Cat Sleeps.", "a dog", "") == 0  # capitals and full stops do no harm
    out, err = capsys.readouterr()
    assert out == "".join(alone) and "<unk>" not in err
    assert ask(bahdanau, "the", "cat", "sleeps") == 0
    out, err = capsys.readouterr()
    assert out.count("\n") == 3 and "quotes" in err


def test_each_line_of_a_pipe_gives_one_line(bahdanau, pipe, capsys):
    """A line ends at a newline, not at a form feed or carriage return."""
    ask(bahdanau, TEXT)
    line = capsys.readouterr().out
    pipe(b"\xef\xbb\xbfthe cat sleeps\r\n\nthe cat\x0c sleeps\n\xff\xfe\nthe cat sleeps")
    assert ask(bahdanau) == 0
    out, err = capsys.readouterr()
    assert out.split("\n")[:3] == [line[:-1], "", line[:-1]] and out.endswith(line) and out.count("\n") == 5
    assert "line 2: " in err and "line 4: expected UTF-8 text, but found the byte 0xff" in err
    unknown = [line for line in err.splitlines() if "<unk>" in line]
    assert len(unknown) == 1, "the byte-order mark is not part of the first word"
    pipe(b"")
    assert ask(bahdanau) == 0 and capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("data", "parts"),
    [
        ("the cat\nthe dog\n".encode("utf-16"), ["line 1", "UTF-16"]),
        ("the cat\nthe dog\n".encode("utf-16-le"), ["line 1", "UTF-16"]),
        ("the cat\nthe dog\n".encode("utf-16-be"), ["line 1", "UTF-16"]),
        (b"the cat\nthe\0dog\n", ["line 2", "zero byte"]),
        (b"the cat\rthe dog\r", ["line 1", "carriage returns"]),
    ],
)
def test_a_pipe_that_is_not_utf8_with_line_feeds_is_refused(bahdanau, pipe, capsys, data, parts):
    pipe(data)
    assert ask(bahdanau) == 1
    out, err = capsys.readouterr()
    assert out == "" and all(part in err for part in ["stdin", "UTF-8, with line feeds", *parts])


def test_a_lone_carriage_return_among_lines_is_a_space(bahdanau, pipe, capsys):
    ask(bahdanau, TEXT)
    line = capsys.readouterr().out
    pipe(b"the\rcat sleeps\nthe cat\rsleeps")
    assert ask(bahdanau) == 0 and capsys.readouterr().out == 2 * line


@pytest.mark.slow
def test_a_line_is_answered_before_the_next_one_is_written(bahdanau):
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
        ("The Axolotl sleeps.", "<unk>: Axolotl\n"),
        ("кот sleeps", "<unk>: кот\n"),
        ("  ", "empty"),
        ("the " * 40, "15"),  # tokens read
        ("\x1b[31mred\x1b[0m\ud800", r"<unk>: \x1b[31mred\x1b[0m"),
    ],
)
def test_unusual_sentences_are_translated_with_a_note_on_stderr(bahdanau, capsys, text, note):
    assert ask(bahdanau, text) == 0
    out, err = capsys.readouterr()
    assert out.count("\n") == 1 and err.startswith("note: ") and note in err and "\x1b" not in out + err


# ---- attention


def test_attention_is_printed_below_its_sentence(bahdanau, capsys):
    assert ask(bahdanau, "--attention", TEXT, "") == 0
    translation, blank, name, *table = capsys.readouterr().out.splitlines()
    assert blank == "" and name == CROSS and table[0].split() == [*TEXT.split(), "</s>"]
    words = translation.split()
    assert [line.split()[0] for line in table[1 : 1 + len(words)]] == words
    assert any(line.startswith("░ ") and "12.5%" in line for line in table)


def test_the_transformer_shows_its_three_attentions_by_name(checkpoint, capsys):
    path = checkpoint("transformer")
    assert ask(path, "--layer", "0", "the axolotl sleeps") == 0
    out = capsys.readouterr().out
    for name in (ENCODER, DECODER, CROSS):
        assert out.count(f"\n{name}, layer 0 of 0–1, mean of heads 0–1\n") == 1
    assert " the axolotl? sleeps </s>\n" in out
    assert ask(path, "--head", "0", "the cat") == 0
    out = capsys.readouterr().out
    for use, name in (("encoder", ENCODER), ("decoder", DECODER), ("cross", CROSS)):
        assert out.count(f"\n{use} 1.0 ({name})\n") == 1


def test_the_lines_between_both_sentences_are_saved_as_a_picture(bahdanau, tmp_path, capsys):
    path = tmp_path / "a folder" / "lines.svg"
    path.parent.mkdir()
    assert ask(bahdanau, "--attention", "--save", str(path), "the <cat> sleeps") == 0
    texts = [text for text in ElementTree.parse(path).getroot().itertext() if text.strip()]
    translation = capsys.readouterr().out.split("\n")[0]
    assert "<cat>?" in texts and set(translation.split()) <= set(texts)


@pytest.mark.parametrize(
    "words",
    [
        "--save x.svg a",
        "--attention --save x.png a",
        "--attention --save x.svg a b",
        "--attention --save x.svg",
    ],
)
def test_a_picture_is_of_one_sentence_and_svg(words, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["translate", *words.split()])
    assert stopped.value.code == 2 and "--save" in capsys.readouterr().err


def test_layer_and_head_select_the_weights():
    weights = torch.rand(3, 4, 2, 5, generator=torch.Generator().manual_seed(0))
    cross = Attention("cross", CROSS, weights, ("a", "b"), tuple("vwxyz"))
    for layer, head, expected, title in (
        (None, None, weights[2].mean(dim=0), f"{CROSS}, layer 2 of 0–2, mean of heads 0–3"),
        (0, None, weights[0].mean(dim=0), f"{CROSS}, layer 0 of 0–2, mean of heads 0–3"),
        (None, 0, weights[2, 0], f"cross 2.0 ({CROSS})"),
        (1, 3, weights[1, 3], f"cross 1.3 ({CROSS})"),
    ):
        selected = translate_command.select_weights(cross, argparse.Namespace(layer=layer, head=head))
        assert torch.equal(selected[0], expected) and selected[1] == title
    for layer, head, message in ((3, None, "(?s)--layer 3 .* 0 to 2"), (None, 4, "(?s)--head 4 .* 0 to 3")):
        with pytest.raises(CommandError, match=message):
            translate_command.select_weights(cross, argparse.Namespace(layer=layer, head=head))
    one_head = cross._replace(weights=weights[:1, :1])
    selected = translate_command.select_weights(one_head, argparse.Namespace(layer=0, head=0))
    assert torch.equal(selected[0], weights[0, 0]) and selected[1] == CROSS


@pytest.mark.parametrize("name", [system.name for system in translators() if system.model.attends])
def test_every_attention_has_labels_and_self_attention_is_causal(checkpoint, name):
    saved = load_system(checkpoint(name))
    (translation,) = translate_texts([TEXT], saved.model, saved.tokenizer, with_weights=True)
    attentions = every_attention(saved.model, saved.tokenizer, translation)
    has_self_attention = name == "transformer" or name.startswith("lstmn")
    names = [ENCODER, DECODER, CROSS] if has_self_attention else [CROSS]
    assert [attention.name for attention in attentions] == names
    for attention in attentions:
        weights, n_rows, n_columns = attention.weights, len(attention.rows), len(attention.columns)
        assert tuple(weights.shape[2:]) == (n_rows, n_columns)
        if attention.name != CROSS and name.startswith("lstmn"):  # its tape holds earlier positions only
            assert torch.equal(weights, weights.tril(n_columns - n_rows - 1)) and weights.sum() > 0
        elif attention.name == DECODER:
            assert torch.equal(weights, weights.tril())


def test_output_is_always_utf_8_and_a_gaussian_window_is_explained(checkpoint, monkeypatch):
    out = io.TextIOWrapper(io.BytesIO(), encoding="cp1252")
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", out)
        assert ask(checkpoint("luong_local_p"), "--attention", TEXT) == 0
    text = out.buffer.getvalue().decode("utf-8").rstrip()
    assert "\n░ " in text and text.endswith(translate_command.GAUSSIAN)


def test_a_system_without_attention_warns_and_translates(checkpoint, capsys):
    assert ask(checkpoint("seq2seq"), "--attention", TEXT) == 0
    out, err = capsys.readouterr()
    assert out.count("\n") == 1 and "seq2seq has no attention" in err


# ---- sample


def test_a_language_model_continues_a_text(checkpoint, capsys):
    path = ["--device", "cpu", "--checkpoint", str(checkpoint("gru_lm"))]
    samples = []
    for seed in ("1", "1", "2"):
        assert main(["sample", *path, "the cat", "--n", "3", "--max-tokens", "6", "--seed", seed]) == 0
        samples.append(capsys.readouterr().out.splitlines())
    assert samples[0] == samples[1] != samples[2] and len(samples[0]) == 3
    assert all(line.startswith("the cat") and len(line.split()) <= 8 for line in samples[0])
    assert main(["sample", *path, "--n", "2", "--temperature", "0", "--attention"]) == 0
    out, err = capsys.readouterr()
    assert out.count("\n") == 1, "at temperature 0 nothing is sampled: all texts would be the same"
    assert "gru_lm has no attention" in err
    assert main(["sample", *path, "the axolotl"]) == 0
    assert "<unk>: axolotl" in capsys.readouterr().err
    assert main(["sample", *path, "the cat " * 30]) == 1
    assert "gru_lm accepts at most 16 tokens" in capsys.readouterr().err


@pytest.mark.parametrize("name", [system.name for system in language_models() if system.model.attends])
def test_a_language_model_shows_its_attention(checkpoint, capsys, name):
    words = ["--n", "1", "--max-tokens", "4", "--attention", "--device", "cpu", "--layer", "0", "--head", "0"]
    assert main(["sample", "--checkpoint", str(checkpoint(name)), "the cat", *words]) == 0
    text, blank, title, headings, *rows = capsys.readouterr().out.splitlines()
    assert blank == "" and "self-attention" in title
    inputs = headings.split()
    assert inputs[:3] == ["<s>", "the", "cat"]
    assert inputs == ["<s>", *text.split()][:6], "the last generated token is never an input"
    assert [row.split()[0] for row in rows[: len(inputs)]] == inputs
    assert main(["sample", "--checkpoint", str(checkpoint(name)), "the cat", *words, "--head", "9"]) == 1
    assert "--head 9" in capsys.readouterr().err
