"""The environment of a command: old Pythons, missing packages, a set-up with fakes for pip and venv."""

from __future__ import annotations

import ast
import http.server
import os
import shutil
import subprocess
import sys
import threading
import venv
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

from course_lib import runtime
from course_lib.runtime import PROJECT_ROOT
from tools.cli import commands, environment, main
from tools.cli.environment import CommandError, ensure, is_ready

PYPROJECT = """
[build-system]
requires = ["setuptools==84.2.1"]
[project]
dependencies = ["no-such-package>=1.0,<2"]
optional-dependencies.lab = ["no-such-lab>=3.0"]
optional-dependencies.test = ["no-such-test-package>=2.0"]
"""
MISSING_IN = environment.missing_in


# ---- old Pythons, and how the program was called


FIRST_FILES = (
    "course_lib/__init__.py",
    "course_lib/__main__.py",
    "tools/__init__.py",
    "tools/cli/__init__.py",
)


@pytest.mark.parametrize("name", FIRST_FILES)
def test_an_old_python_can_parse_the_first_files(name):
    """Python 2.7 and 3.6 were tried by hand; this test keeps the syntax within what they can parse."""
    text = (PROJECT_ROOT / name).read_bytes().decode("ascii")
    nodes = [type(node) for node in ast.walk(ast.parse(text, feature_version=(3, 7)))]
    new = {ast.JoinedStr, ast.NamedExpr, ast.AnnAssign, ast.Starred, ast.AsyncFunctionDef, ast.Nonlocal}
    assert not new.intersection(nodes)
    assert not any(line.startswith("from __future__") for line in text.splitlines())


@pytest.mark.parametrize(
    ("installed", "advice"),
    [
        (("python3.12", "python3.11"), "    python3.12 -m course_lib lab --no-browser\n"),
        ((), "python=3.12"),
    ],
)
def test_an_old_python_prints_what_to_do(monkeypatch, capsys, installed, advice):
    with monkeypatch.context() as patch:
        patch.setattr("sys.version_info", (3, 9, 18))
        patch.setattr("shutil.which", lambda name: f"/bin/{name}" if name in installed else None)
        assert main(["lab", "--no-browser"]) == 1
    err = capsys.readouterr().err
    assert "Python 3.11" in err and "Python 3.9.18" in err and advice in err


@pytest.mark.parametrize(
    ("argv", "orig", "set_before", "expected"),
    [
        ("/x/course_lib/__main__.py", "python3 -m course_lib", "", "python3 -m course_lib"),
        ("/x/course_lib/__main__.py", "py -m course_lib", "", "py -m course_lib"),
        ("/x/bin/course", "/x/bin/python /x/bin/course", "", "course"),
        ("/x/__main__.py", "/x/python -u -m course_lib", "", "python3 -m course_lib"),  # torchrun
        ("/x/__main__.py", "/x/.venv/python -m course_lib", "py -m course_lib", "py -m course_lib"),
    ],
)
def test_messages_name_the_command_as_it_was_called(monkeypatch, capsys, argv, orig, set_before, expected):
    monkeypatch.setattr(sys, "argv", [argv])
    monkeypatch.setattr(sys, "orig_argv", orig.split())
    if set_before:
        monkeypatch.setenv("COURSE_CALLED", set_before)
    with pytest.raises(SystemExit):
        main(["trian"])
    assert capsys.readouterr().err.startswith(f"usage: {expected} ")
    assert main(["data", "multi30k", "nowhere"]) == 1
    assert f"    {expected} data multi30k --download" in capsys.readouterr().out
    assert runtime.program_name() == expected


# ---- a course folder with nothing but its pins


@pytest.fixture
def course(tmp_path, monkeypatch) -> Path:
    """A course folder whose `.venv` would have this very Python."""
    root = tmp_path / "a course"
    (root / "data").mkdir(parents=True)
    (root / "pyproject.toml").write_text(PYPROJECT, encoding="utf-8")
    (root / "constraints.txt").write_text("no-such-package==1.0\n", encoding="utf-8")
    monkeypatch.setattr(environment, "PROJECT_ROOT", root)
    monkeypatch.setattr(environment, "VENV", root / ".venv")
    monkeypatch.setattr(environment, "WHEELS", root / "wheels")
    monkeypatch.setattr(environment, "venv_python", lambda: Path(sys.executable))
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("COURSE_TORCH", "cuda")  # no network
    return root


class Machine:
    """Fakes for pip, venv and the process that replaces this one."""

    def __init__(self):
        self.installs: list[list[str]] = []
        self.venvs = 0
        self.restarts: list[list[str]] = []
        self.pip_fails: int | BaseException = 0

    def run(self, command, quiet=False, condensed=False) -> int:
        words = [str(word) for word in command]
        assert quiet == ("install" not in words)
        if quiet:
            self.venvs += 1
            return 0
        self.installs.append(words[words.index("install") + 1 :])
        if isinstance(self.pip_fails, BaseException):
            raise self.pip_fails
        return self.pip_fails


@pytest.fixture
def machine(course, monkeypatch) -> Machine:
    fake = Machine()
    monkeypatch.setattr(environment, "run", fake.run)
    monkeypatch.setattr(environment, "restart", lambda python, argv: fake.restarts.append(argv))
    monkeypatch.setattr(environment, "missing_in", lambda python, stage: None)
    return fake


def error_of(stage: str = "lab") -> str:
    with pytest.raises(CommandError) as caught:
        ensure(stage, ["lab"])
    return str(caught.value)


def test_an_interpreter_with_versions_in_range_is_used_as_it_is(course, machine, monkeypatch):
    """Even if the pinned version is another one."""
    monkeypatch.setattr(
        environment, "version", lambda name: "3.0.1+cpu" if "lab" in name else "1.10.0a0+git12"
    )
    ensure("lab", ["lab"])
    assert not machine.installs and not machine.restarts and not environment.VENV.exists()
    assert environment.missing("test") == ["no-such-test-package >=2.0 (found 1.10.0a0+git12)"]
    ensure("test", ["test"])
    assert machine.restarts == [["test"]] and machine.installs[0][-1] == f"{course}[lab,test]"


@pytest.mark.parametrize("name", ["data", "pyproject.toml"])
def test_an_incomplete_course_is_an_error(course, machine, name):
    (course / name).rename(course / "elsewhere")
    assert f"{name} is missing" in error_of() and not machine.installs


def test_only_the_first_start_sets_up(course, machine, capsys):
    ensure("lab", ["lab", "--no-browser"])
    (install,) = machine.installs
    pins = str(course / "constraints.txt")
    assert install == ["--only-binary", ":all:", "-c", pins, "--editable", f"{course}[lab]"]
    assert ".venv" in capsys.readouterr().out
    ensure("lab", ["lab"])
    assert len(machine.installs) == 1 and machine.venvs == 1
    assert machine.restarts == [["lab", "--no-browser"], ["lab"]] and capsys.readouterr().out == ""


def test_a_later_stage_is_added_and_a_failure_keeps_the_earlier_ones(course, machine, monkeypatch):
    ensure("training", ["train"])
    monkeypatch.setattr(sys, "prefix", str(environment.VENV))
    ensure("lab", ["lab"])
    machine.pip_fails = 1
    assert "pip" in error_of("test")
    assert [arguments[-1] for arguments in machine.installs] == [
        str(course),
        f"{course}[lab]",
        f"{course}[lab,test]",
    ]
    assert machine.venvs == 1 and is_ready("lab") and machine.restarts == [["train"], ["lab"]]


def test_inside_a_ready_environment_no_file_is_parsed(course, machine, monkeypatch):
    """Every command starts here and must be fast: the stamp decides, not the versions of thirty packages."""
    ensure("test", ["test"])
    monkeypatch.setattr(sys, "prefix", str(environment.VENV))
    monkeypatch.setattr(environment, "project", lambda: pytest.fail("pyproject.toml was parsed"))
    for stage in environment.STAGES:
        ensure(stage, ["train"])
    assert len(machine.installs) == 1


@pytest.mark.parametrize("name", ["constraints.txt", "pyproject.toml"])
def test_changed_pins_are_installed(course, machine, name):
    ensure("lab", ["lab"])
    (course / name).write_text((course / name).read_text().replace("1.0", "1.1"))
    assert not is_ready("lab")
    ensure("lab", ["lab"])
    assert len(machine.installs) == 2 and machine.venvs == 1 and is_ready("lab")


@pytest.mark.parametrize("fails", [1, KeyboardInterrupt()])
def test_an_interrupted_set_up_is_repeated_from_scratch(course, machine, fails):
    machine.pip_fails = fails
    with pytest.raises((CommandError, KeyboardInterrupt)):
        ensure("lab", ["lab"])
    assert not is_ready("lab") and not machine.restarts
    machine.pip_fails = 0
    ensure("lab", ["lab"])
    assert machine.restarts == [["lab"]] and is_ready("lab")
    assert machine.venvs == 2, (
        "pip may have stopped halfway through a package, and would consider it installed"
    )


def test_without_the_venv_module_the_error_names_its_package(course, machine, monkeypatch):
    find_spec = environment.importlib.util.find_spec
    monkeypatch.setattr(
        "importlib.util.find_spec", lambda name: None if name == "ensurepip" else find_spec(name)
    )
    error = error_of()
    assert "venv module" in error and f"sudo apt install python3.{sys.version_info.minor}-venv" in error
    assert not environment.VENV.exists()


@pytest.mark.parametrize("offline", [False, True])
def test_the_wheels_of_a_kit_are_installed_without_a_network(course, machine, offline):
    if offline:
        (course / "wheels").mkdir()
    ensure("lab", ["lab"])
    options = ["--no-index", "--find-links", str(course / "wheels")]
    assert (machine.installs[0][4:7] == options) is offline
    machine.pip_fails = 1
    assert ("README.txt" in error_of("test")) is offline


@pytest.fixture
def index(tmp_path):
    """A local index with one package."""
    (tmp_path / "index" / "torch").mkdir(parents=True)
    handler = partial(http.server.SimpleHTTPRequestHandler, directory=tmp_path / "index")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere torch has no libraries of NVIDIA")
def test_without_an_nvidia_gpu_torch_is_the_cpu_build_if_its_index_can_be_reached(
    course, machine, index, monkeypatch, capsys
):
    monkeypatch.setattr(environment.shutil, "which", lambda name: None)
    for switch, expected, said in (
        (index, ["--extra-index-url", index], "COURSE_TORCH=cuda"),
        (f"{index}/missing", [], "can't be reached"),
        ("no address", [], "can't be reached"),
        ("cuda", [], ""),
    ):
        monkeypatch.setenv("COURSE_TORCH", switch)
        assert environment.cpu_build() == expected and said in capsys.readouterr().out
    monkeypatch.setenv("COURSE_TORCH", index)
    ensure("lab", ["lab"])
    assert machine.installs[0][4:6] == ["--extra-index-url", index]


def test_small_packages_are_offered_for_a_python_that_has_torch(capsys, course, machine):
    environment.offer_small(["jupyterlab >=4.4,<5", "anywidget >=0.9 (found 0.8)"])
    out = capsys.readouterr().out
    assert "-m pip install -c constraints.txt 'jupyterlab>=4.4,<5' 'anywidget>=0.9'" in out
    environment.offer_small(["torch >=2.11,<3", "jupyterlab >=4.4,<5"])
    assert capsys.readouterr().out == ""


def test_what_arrives_is_one_line_with_sizes(capsys):
    lines = ["Collecting torch\n", "  Downloading torch-2.13.0-cp311-x86.whl (190.2 MB)\n"]
    lines += [
        "Using cached https://a.org/b/numpy-2.4-cp311.whl (900 kB)\n",
        "Installing collected packages\n",
    ]
    assert list(environment.shown(lines)) == lines
    out = capsys.readouterr().out
    assert "\n" not in out and "next: torch, 190.2 MB" in out and "2 packages, 191 MB; installing" in out


# ---- environments that the course didn't create


@pytest.fixture
def other_environment(course, machine, monkeypatch):
    """A function that creates a real environment with some packages, for a course that can be imported."""
    first_files = ("course_lib/__init__.py", "course_lib/runtime.py")
    for name in (*first_files, "tools/__init__.py", "tools/cli"):
        copy = shutil.copytree if (PROJECT_ROOT / name).is_dir() else shutil.copy
        (course / name).parent.mkdir(exist_ok=True)
        copy(PROJECT_ROOT / name, course / name)
    monkeypatch.setattr(environment, "missing_in", MISSING_IN)
    monkeypatch.setattr(environment, "venv_python", lambda: environment.python_in(environment.VENV))
    monkeypatch.setattr(environment, "restart", lambda python, argv: machine.restarts.append(python))

    def make(folder: Path, *packages: str) -> Path:
        venv.create(folder)
        (site_packages,) = folder.rglob("site-packages")
        for package in packages:
            name, number = package.split("==")
            information = site_packages / f"{name.replace('-', '_')}-{number}.dist-info"
            information.mkdir()
            (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {number}\n")
        return environment.python_in(folder)

    return make


LAB = ("no-such-package==1.5", "no-such-lab==3.1")


def test_a_complete_venv_of_another_program_is_used(course, machine, other_environment):
    """As `uv sync` makes it. The calling Python lacks the packages, `.venv` doesn't."""
    python = other_environment(environment.VENV, *LAB)
    ensure("lab", ["lab"])
    assert machine.restarts == [python] and not machine.installs and environment.stamp() is None


@pytest.mark.parametrize("variable", ["VIRTUAL_ENV", "CONDA_PREFIX"])
def test_a_complete_active_environment_is_used(course, machine, other_environment, monkeypatch, variable):
    """On Windows `py` starts another Python than that of an active conda environment."""
    python = other_environment(course.parent / "mine", *LAB)
    monkeypatch.setenv(variable, str(course.parent / "mine"))
    ensure("lab", ["lab"])
    assert machine.restarts == [python] and not machine.installs and not environment.VENV.exists()


def test_an_active_environment_without_the_packages_is_left_alone(
    course, machine, other_environment, monkeypatch, capsys
):
    other_environment(course.parent / "mine", "no-such-package==1.5")
    monkeypatch.setenv("VIRTUAL_ENV", str(course.parent / "mine"))
    ensure("lab", ["lab"])
    assert len(machine.installs) == 1 and machine.restarts == [environment.venv_python()]
    assert f"{sys.executable} lacks no-such-package" in capsys.readouterr().out


def test_a_venv_that_the_course_did_not_make_is_left_alone(course, machine, other_environment):
    """The message names the Python that lacks a package, not the one that was called."""
    python = other_environment(environment.VENV, "no-such-package==1.5", "no-such-lab==2.0")
    error = error_of()
    assert f"({python}) lacks no-such-lab >=3.0 (found 2.0)" in error and sys.executable not in error
    assert python.exists() and not machine.installs and not machine.restarts


def test_a_venv_without_a_python_that_works_is_left_alone(course, machine, other_environment):
    environment.VENV.mkdir()
    (environment.VENV / "pyvenv.cfg").write_text("home = /usr/bin")
    assert "can't run the course" in error_of()
    assert (environment.VENV / "pyvenv.cfg").exists() and not machine.installs


def test_a_venv_whose_python_was_removed_is_not_ready(course, machine, monkeypatch):
    ensure("lab", ["lab"])
    monkeypatch.setattr(environment, "venv_python", lambda: environment.VENV / "gone")
    assert not is_ready("lab")


@pytest.mark.skipif(os.name == "nt", reason="on Windows it is a child process")
def test_the_command_in_the_environment_replaces_the_process(course, monkeypatch):
    def execve(path, command, environment):
        assert command == [path, "-m", "course_lib", "lab", "--port", "9000"] and path == sys.executable
        assert environment["PYTHONPATH"].split(os.pathsep)[0] == str(course)
        raise SystemExit(0)  # the real one never comes back

    monkeypatch.setattr(os, "execve", execve)
    with pytest.raises(SystemExit):
        environment.restart(Path(sys.executable), ["lab", "--port", "9000"])


def test_each_command_needs_only_its_own_stage():
    """A GPU machine without Jupyter can train."""
    stages = {
        "training": "train bahdanau|translate x|evaluate|sample|data show|bench clock|experiment",
        "lab": "lab|build|progress|kit|bench explorables|bench start",
        "test": "test",
    }
    for stage, lines in stages.items():
        for line in lines.split("|"):
            assert commands.parser().parse_args(line.split()).stage == stage, line
    training = environment.needed("training")
    assert "torch" in training and training.items() < environment.needed("lab").items()
    assert not [name for name in training if "jupyter" in name or "ipy" in name or name.startswith("nb")]


def test_the_output_of_pip_is_shown(monkeypatch):
    calls = []
    monkeypatch.setattr(
        subprocess, "run", lambda *command, **options: calls.append(options) or SimpleNamespace(returncode=3)
    )
    assert environment.run(["pip"]) == 3
    assert calls[0].keys() == {"env"} and calls[0]["env"]["PIP_USER"] == "0"


def test_a_quiet_command_prints_only_if_it_fails(capfd):
    """Otherwise Ctrl-C would print the traceback of the Python that creates `.venv`."""
    for code in (0, 3):
        program = f"import sys; print('Traceback', file=sys.stderr); sys.exit({code})"
        assert environment.run([sys.executable, "-c", program], quiet=True) == code
        assert ("Traceback" in capfd.readouterr().err) == (code != 0)
