"""`python3 -m course_lib kit`, with a fake for pip: what is in a kit, and when none is made.

tests/kit installs a real one.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import zipfile
from functools import cache
from itertools import pairwise, product
from pathlib import Path

import pytest
from packaging.tags import compatible_tags, cpython_tags, mac_platforms
from packaging.utils import parse_wheel_filename

from course_lib.runtime import PROJECT_ROOT
from tests.test_pins import constraints, pins
from tools.cli import kit_command, main, offline_kit
from tools.cli.environment import CPU_TORCH
from tools.cli.offline_kit import PLATFORMS, PYTHONS, packages_for

pytestmark = pytest.mark.usefixtures("no_set_up")
WORDS = ["kit", "--platform", "macos-arm64", "--python", "3.12"]


class Pip:
    """Writes one wheel for each call, instead of downloading a hundred."""

    def __init__(self):
        self.calls: list[list[str]] = []
        self.code = 0

    def run(self, command: list[str | Path]) -> int:
        words = [str(word) for word in command]
        folder = Path(words[words.index("--dest") + 1])
        folder.mkdir(exist_ok=True)
        (folder / f"package-{len(self.calls)}-py3-none-any.whl").write_bytes(b"a wheel")
        self.calls.append(words[words.index("download") + 1 :])
        return self.code


@pytest.fixture
def course(tmp_path, monkeypatch) -> Path:
    """A clone with one committed file and one that isn't tracked."""
    root = tmp_path / "course"
    root.mkdir()
    for name in ("uv.lock", "pyproject.toml"):
        shutil.copy(PROJECT_ROOT / name, root / name)
    git = ["git", "-C", str(root), "-c", "user.name=x", "-c", "user.email=x@example.org"]
    for words in (["init", "-q"], ["add", "pyproject.toml", "uv.lock"], ["commit", "-qm", "x"]):
        subprocess.run([*git, *words], check=True)
    (root / "my_notes.txt").touch()
    for module in (offline_kit, kit_command):
        monkeypatch.setattr(module, "PROJECT_ROOT", root)
    monkeypatch.setattr(kit_command, "SITE", root / "build" / "site")
    return root


@pytest.fixture
def pip(course, monkeypatch) -> Pip:
    fake = Pip()
    monkeypatch.setattr(offline_kit, "run", fake.run)
    return fake


def values_of(option: str, words: list[str]) -> list[str]:
    return [value for name, value in pairwise(words) if name == option]


# ---- the packages of a platform


def test_each_platform_gets_the_pins_that_it_needs_and_no_others():
    names = {platform: pins(packages_for(platform, "3.13")) for platform in PLATFORMS}
    assert all(chosen.items() < constraints().items() for chosen in names.values())
    linux, arm_linux, macos, windows = map(set, names.values())
    assert linux == arm_linux and macos - linux == {"appnope"} and not linux - macos
    assert windows - linux == {"pywinpty"} and linux - windows == {"pexpect", "ptyprocess"}
    assert {"torch", "jupyterlab", "setuptools"} < linux and not {"pytest", "ruff", "triton"} & linux
    assert not [name for name in linux if name.startswith(("nvidia-", "cuda-"))]
    assert "overrides" in pins(packages_for("linux-x86_64", "3.11")).keys() - linux


def test_every_package_has_a_wheel_for_every_platform_and_python(monkeypatch):
    """According to the lock; so that no kit fails in the middle of its downloads."""
    monkeypatch.setattr(offline_kit, "lock", cache(offline_kit.lock))
    wheels = {
        f"{entry['name']}=={entry['version']}": {
            tag for file in entry["wheels"] for tag in parse_wheel_filename(file["url"].split("/")[-1])[3]
        }
        for entry in offline_kit.lock()["package"]
        if "wheels" in entry
    }
    for (platform, target), python in product(PLATFORMS.items(), PYTHONS):
        version = tuple(map(int, python.split(".")))
        macos = target.sys_platform == "darwin"
        tags = list(mac_platforms((14, 0), "arm64")) if macos else target.tags
        name = f"cp{python.replace('.', '')}"
        fitting = {*cpython_tags(version, [name], tags), *compatible_tags(version, name, tags)}
        lacking = [pin for pin in packages_for(platform, python) if not wheels[pin] & fitting]
        assert not lacking, (platform, python)


# ---- what is in a kit


def test_a_kit_has_the_tracked_files_the_wheels_and_their_checksums(course, pip, tmp_path, capsys):
    assert main([*WORDS, "--out", str(tmp_path / "kit")]) == 0
    kit = tmp_path / "kit"
    found = {path.relative_to(kit).as_posix() for path in kit.rglob("*") if path.is_file()}
    wheel = "attention-course/wheels/package-0-py3-none-any.whl"
    tracked = {"attention-course/pyproject.toml", "attention-course/uv.lock"}
    assert found == {"README.txt", "SHA256SUMS", "kit.json", wheel, *tracked}
    sums = dict(line.split("  ")[::-1] for line in (kit / "SHA256SUMS").read_text().splitlines())
    assert sums.keys() == found - {"SHA256SUMS"}
    assert all(hashlib.sha256((kit / name).read_bytes()).hexdigest() == sums[name] for name in sums)
    assert json.loads((kit / "kit.json").read_text())["platforms"] == ["macos-arm64"]
    assert "macos-arm64\nwith Python 3.12" in (kit / "README.txt").read_text(encoding="utf-8")
    assert "reading edition" in capsys.readouterr().out and not (kit / "reading").exists()


def test_an_archive_has_the_same_files_and_the_reading_edition(course, pip, tmp_path):
    kit_command.SITE.mkdir(parents=True)
    (kit_command.SITE / "index.html").write_text("lessons")
    assert main([*WORDS, "--out", str(tmp_path / "kit.zip")]) == 0
    with zipfile.ZipFile(tmp_path / "kit.zip") as archive:
        assert archive.read("attention-course-kit/reading/index.html") == b"lessons"
        assert "attention-course-kit/attention-course/pyproject.toml" in archive.namelist()


def test_pip_gets_the_platform_and_linux_gets_torch_without_cuda(course, pip, tmp_path):
    words = ["kit", "--platform", "windows-x86_64", "--platform", "linux-x86_64", "--python", "3.11"]
    assert main([*words, "--out", str(tmp_path / "kit")]) == 0
    windows, torch, linux = pip.calls
    assert values_of("--platform", windows) == ["win_amd64"]
    assert "torch==2.13.0" in windows and "--index-url" not in windows
    assert values_of("--index-url", torch) == [CPU_TORCH] and torch[-1] == "torch==2.13.0"
    assert "manylinux_2_28_x86_64" in values_of("--platform", linux) and "--index-url" not in linux
    assert not [word for word in linux if word.startswith("torch==")]
    assert all(
        "--no-deps" in words and values_of("--python-version", words) == ["3.11"] for words in pip.calls
    )


@pytest.mark.parametrize("name", ["kit", "kit.zip"])
def test_an_earlier_kit_is_replaced_and_anything_else_is_kept(course, pip, tmp_path, capsys, name):
    out = tmp_path / name
    assert main([*WORDS, "--out", str(out)]) == main([*WORDS[:-1], "3.13", "--out", str(out)]) == 0
    assert len(pip.calls) == 2 and offline_kit.is_kit(out)
    for other in (tmp_path / "folder", tmp_path / "file.zip"):
        other.mkdir() if other.suffix == "" else other.write_text("mine")
        assert main([*WORDS, "--out", str(other)]) == 1
        assert str(other) in capsys.readouterr().err and other.exists()
    assert len(pip.calls) == 2 and (tmp_path / "file.zip").read_text() == "mine"
    assert not list(tmp_path.glob(".kit-*"))


# ---- when no kit is made


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--platform", "solaris"], "'solaris'"),
        (["--python", "3.10"], "'3.10'"),
        (["--python", "3.15"], "'3.15'"),
        (["--out", ""], "--out"),
    ],
)
def test_a_wrong_argument_is_rejected(course, pip, capsys, words, message):
    with pytest.raises(SystemExit) as stopped:
        main(["kit", *words])
    assert stopped.value.code == 2 and message in capsys.readouterr().err and not pip.calls


@pytest.mark.parametrize("problem", ["pip fails", "no pip", "no git", "no clone", "no site", "an Intel Mac"])
def test_a_kit_that_cannot_be_made_leaves_nothing_behind(course, pip, tmp_path, monkeypatch, capsys, problem):
    words, before = [*WORDS, "--out", str(tmp_path / "kit")], set(tmp_path.iterdir())
    if problem == "pip fails":
        pip.code = 1
    elif problem == "no pip":
        monkeypatch.setattr(kit_command.importlib.util, "find_spec", lambda name: None)
    elif problem == "no git":
        monkeypatch.setattr(offline_kit.shutil, "which", lambda name: None)
    elif problem == "no clone":
        shutil.rmtree(course / ".git")
    elif problem == "no site":
        words += ["--site", str(tmp_path)]
    elif problem == "an Intel Mac":
        monkeypatch.setattr(kit_command.sys, "platform", "darwin")
        monkeypatch.setattr(kit_command.platform, "machine", lambda: "x86_64")
        words = ["kit", "--out", str(tmp_path / "kit")]
    assert main(words) == 1
    err = capsys.readouterr().err
    assert "Traceback" not in err and len(err.strip().splitlines()) >= 2
    assert set(tmp_path.iterdir()) == before
