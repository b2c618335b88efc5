"""Every command with every option and hostile values: an exit code and a message, never a traceback."""

from __future__ import annotations

import argparse
import os
from functools import cache

import pytest
from hypothesis import strategies as st

from tests.soak.inputs import any_text, arguments, run_command
from tests.tools.cli.conftest import checkpoint, tiny_data  # noqa: F401  (fixtures)
from tools.cli import commands

PARSED_ONLY = ("lab", "test", "bench", "build")  # they start servers, tests and kernels
TEXTS = [
    *(
        "",
        " ",
        "-1",
        "0",
        "1",
        "2",
        "3",
        "1e9",
        "nan",
        "inf",
        "-inf",
        "1e-400",
        "9" * 400,
        "0x10",
        "1_0",
        "٣",
        "½",
    ),
    *("cpu", "cuda", "cuda:9", "mps", "meta", "xpu", "toy", "multi30k", "tiny", "de", "en", "test", "long"),
    *("transformer", "gru_lm", "bahdanau", "ngram_lm", "positions", "toy_ladder", "none", "because", "short"),
    *(
        "the cat sleeps",
        "le petit chat",
        "THE CAT.",
        "é́",
        "\u202e",
        "\0",
        "\udcff",
        "a" * 5000,
        "x " * 400,
        "\n",
    ),
    *(
        ".",
        "..",
        "/",
        "/dev/null",
        "/dev/full",
        "/proc/self/mem",
        "missing",
        "~",
        "run",
        "pairs.tsv",
        "a/b\0c",
    ),
    *(
        "transformer.safetensors",
        "damaged.safetensors",
        "folder",
        "runs/*",
        "--",
        "--help",
        "-",
        "<b>",
        "%s{}",
    ),
]
texts = st.sampled_from(TEXTS) | arguments
ALWAYS = {"train": ["--scale", "tiny", "--steps", "2", "--device", "cpu"], "experiment": ["--table"]}


@cache
def parsers() -> dict[str, argparse.ArgumentParser]:
    """The parser of each command; `data show` and the like are commands of their own."""

    def below(parser: argparse.ArgumentParser, name: str) -> dict[str, argparse.ArgumentParser]:
        groups = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
        found = {} if groups else {name: parser}
        for group in groups:
            for key, child in group.choices.items():
                found |= below(child, f"{name} {key}".strip())
        return found

    return below(commands.parser(), "")


@st.composite
def command_lines(draw) -> list[str]:
    """A command, a few of its options and arguments with any values, and what keeps it short."""
    command = draw(st.sampled_from(sorted(parsers())))
    argv = command.split()
    for action in draw(st.lists(st.sampled_from(parsers()[command]._actions), max_size=5)):
        n = {"*": draw(st.integers(0, 3)), "+": draw(st.integers(1, 3))}.get(action.nargs, action.nargs)
        argv += action.option_strings[:1]
        argv += [draw(texts) for _ in range(n if isinstance(n, int) else 1)]
    return argv + ALWAYS.get(command, [])


@pytest.fixture
def folder(tmp_path, monkeypatch, checkpoint):  # noqa: F811
    """A working directory with a corpus, a checkpoint, a damaged one, and no network."""
    content = checkpoint("transformer").read_bytes()
    (tmp_path / "transformer.safetensors").write_bytes(content)
    (tmp_path / "damaged.safetensors").write_bytes(content[: len(content) // 2])
    (tmp_path / "pairs.tsv").write_text("the cat\tle chat\n" * 30, encoding="utf-8")
    (tmp_path / "folder").mkdir()

    def no_network(*_, **__):
        raise OSError("no network")

    monkeypatch.setattr("urllib.request.urlopen", no_network)
    monkeypatch.chdir(tmp_path)
    for variable in (
        "HOME",
        "XDG_DATA_HOME",
        "LOCALAPPDATA",
    ):  # nobody's real progress, whatever COURSE_HOME is
        monkeypatch.setenv(variable, str(tmp_path))
    monkeypatch.setenv("COURSE_BAR", "0")
    monkeypatch.setenv("COURSE_MULTI30K", str(tmp_path / "multi30k"))
    return tmp_path


@pytest.mark.soak(weight=8)
def test_command_lines(soak, folder):
    def run(argv):
        if argv[0] in PARSED_ONLY:
            argv = [*argv, "--help"]
        run_command(*argv, stdin=b"the cat sleeps\n\xff\n", ctrl_c_after=3)

    soak.search(run, target=8_000, argv=command_lines(), limit=30)


VARIABLES = ("HOME", "DEVICE", "MULTI30K", "BAR", "OPEN", "CLASSROOM", "STRICT", "CALLED")
QUICK = [["progress"], ["progress", "--track", "short"], ["data", "show", "--n", "1"], ["data", "multi30k"]]
QUICK += [
    ["translate", "the cat"],
    ["sample", "--n", "1"],
    ["train", "gru_lm", *ALWAYS["train"], "--restart"],
]


@pytest.mark.soak(weight=3)
def test_environment_variables(soak, folder):
    def run(argv, variables):
        before = dict(os.environ)
        try:
            for name, value in variables.items():
                in_folder = value and name in ("HOME", "MULTI30K")  # a relative one starts at the course's
                os.environ[f"COURSE_{name}"] = f"{folder}/{value}" if in_folder else value
            run_command(*argv)
        finally:
            for name in variables:
                os.environ.pop(f"COURSE_{name}", None)
            os.environ.update(before)

    values = texts.map(lambda text: text.replace("\0", "0"))  # no system passes a zero byte
    variables = st.dictionaries(st.sampled_from(VARIABLES), values, max_size=3)
    soak.search(run, target=2_000, argv=st.sampled_from(QUICK), variables=variables, limit=30)


@pytest.mark.soak(weight=3)
def test_texts_to_translate_and_continue(soak, folder):
    """From stdin, one translation for each line, unless the file is in another encoding."""

    def run(lines, prompt, attention):
        text = b"\n".join(line.replace(b"\n", b"") for line in lines)
        code, printed = run_command("translate", *attention, stdin=text)
        assert code == 0 or "UTF-8" in printed, printed
        code, printed = run_command("sample", "--n", "1", *attention, "--", prompt)
        assert code == 0 or "too long" in printed, printed

    words = st.lists(st.sampled_from(["the", "cat", "Water,", "sleeps.", "l'", "zzz"]), max_size=300)
    lines = st.lists(st.binary(max_size=40) | words.map(lambda row: " ".join(row).encode()), max_size=3)
    attention = st.sampled_from([[], ["--attention"]])
    soak.search(run, target=4_000, lines=lines, prompt=any_text, attention=attention)
