"""The packages that a command needs: found in an environment of the user's, or installed into `.venv` by pip.

    ensure("lab", ["lab"])     # returns only in an interpreter that has what the lab needs

Only Python's standard library and course_lib.runtime are imported here. A finished set-up writes a stamp
into `.venv`: which pins it installed, and up to which stage. An environment that already has suitable
versions of everything is used as it is: that of the calling Python, one that is active (conda, or a virtual
environment), or a `.venv` that another program such as uv created.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import operator
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tomllib
import urllib.request
from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from course_lib.runtime import PROJECT_ROOT, program_name

VENV = PROJECT_ROOT / ".venv"
STAMP = "course.json"  # in VENV
STAGES = ("training", "lab", "test")  # each includes the ones before it
WHEELS = PROJECT_ROOT / "wheels"  # in an offline kit: what pip installs, without a network
CPU_TORCH = "https://download.pytorch.org/whl/cpu"  # torch for Linux without NVIDIA's libraries
TORCH = "COURSE_TORCH"  # the switch: "cuda", or the address of another index for the CPU build
ARRIVING = re.compile(r"\s*(?:Downloading|Using cached) (?:\S*/)?([\w.]+)-\S+ \(([\d.]+) ([kMG])B")
MEGABYTES = {"k": 0.001, "M": 1.0, "G": 1000.0}
NOT_DOWNLOADED = (
    "Check that you are online and have enough disk space (2.5 GB; 8 GB with NVIDIA's libraries),\n"
    "then run the same command again. What has been downloaded already is kept."
)
NOT_IN_WHEELS = (
    "It has what the lessons need, on the systems and Python versions that the kit's README.txt lists.\n"
    "To install from the internet instead, delete the folder and run the same command again."
)
MISSING_IN = (
    "import json, sys; from tools.cli import environment as e; print(json.dumps(e.missing(sys.argv[1])))"
)


class CommandError(Exception):
    """An error that the user can fix: what happened, and what to do about it.

    >>> print(CommandError("The disk is full.", "Make room, then run the same command again."))
    The disk is full.
    Make room, then run the same command again.
    """

    def __str__(self) -> str:
        return "\n".join(self.args)


def discard_output() -> None:
    """Redirect stdout to nowhere. Otherwise Python flushes it again at exit, and reports the error."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def ensure(stage: str, argv: list[str]) -> None:
    """Return only in an interpreter that has what a stage needs; otherwise rerun the command in one."""
    os.environ["COURSE_CALLED"] = program_name()
    check_complete()
    inside, ready = Path(sys.prefix) == VENV, is_ready(stage)
    if inside and ready:
        return
    packages = missing(stage)
    if not packages:
        return
    python = venv_python() if ready else complete_python(stage)
    if python is None:
        offer_small(packages)
        set_up(stage, packages)
        python = venv_python()
    restart(python, argv)


# ---- required and installed packages


def check_complete() -> None:
    """Raise unless this is the whole course: `pip install` without --editable leaves data/ behind."""
    for name in ("data", "pyproject.toml"):
        if not (PROJECT_ROOT / name).exists():
            raise CommandError(
                f"{PROJECT_ROOT} contains only part of the course: {name} is missing.",
                "Get the whole course with `git clone`, then run the command in its folder.",
            )


def project() -> dict:
    return tomllib.loads((PROJECT_ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def needed(stage: str, *extras: str) -> dict[str, str]:
    """Each package that a stage and other extras need, with its versions: {"numpy": ">=2.0,<3"}."""
    content = project()["project"]
    lines = list(content["dependencies"])
    for extra in (*STAGES[1 : STAGES.index(stage) + 1], *extras):
        lines += content["optional-dependencies"][extra]
    return dict(re.fullmatch(r"([\w.-]+?)((?:>=|<|==).+)", line).groups() for line in lines)


def missing(stage: str, *extras: str) -> list[str]:
    """What this interpreter lacks: ["numpy >=2.0,<3 (found 1.26.4)"]. Reads metadata, imports nothing."""
    packages = []
    for name, version_range in needed(stage, *extras).items():
        try:
            installed = version(name)
        except PackageNotFoundError:
            packages.append(f"{name} {version_range}")
        else:
            packages += (
                [] if admits(version_range, installed) else [f"{name} {version_range} (found {installed})"]
            )
    return packages


def admits(version_range: str, installed: str) -> bool:
    """Whether a version is within a range, which may use >=, < and ==, joined by commas.

    >>> admits(">=2.11,<3", "2.13.0+cpu"), admits(">=2.11,<3", "2.9.1"), admits(">=2.11,<3", "3.0.0")
    (True, False, False)
    """

    def release(text: str) -> list[int]:  # [2, 13] for 2.13.0+cpu
        number = re.match(r"\d+(?:\.\d+)*", text)[0]
        return [int(part) for part in re.sub(r"(\.0)+$", "", number).split(".")]

    compare = {">=": operator.ge, "<": operator.lt, "==": operator.eq}
    bounds = re.findall(r"(>=|<|==)([\d.]+)", version_range)
    return all(compare[sign](release(installed), release(bound)) for sign, bound in bounds)


# ---- other environments


def complete_python(stage: str) -> Path | None:
    """The Python of another environment that has everything: an active one, or a `.venv` that isn't ours."""
    variables = ("VIRTUAL_ENV", "CONDA_PREFIX")
    folders = [Path(os.environ[name]) for name in variables if os.environ.get(name)]
    pythons = [python_in(folder) for folder in folders if folder not in (VENV, Path(sys.prefix))]
    if stamp() is None:
        pythons.append(venv_python())
    return next((python for python in pythons if missing_in(python, stage) == []), None)


def python_in(folder: Path) -> Path:
    """The interpreter of an environment. On Windows, conda's is at the top."""
    names = ("Scripts/python.exe", "python.exe") if os.name == "nt" else ("bin/python",)
    return next((folder / name for name in names if (folder / name).exists()), folder / names[0])


def missing_in(python: Path, stage: str) -> list[str] | None:
    """What another interpreter lacks; None if it doesn't exist, doesn't start or is too old."""
    try:
        command = [python, "-c", MISSING_IN, stage]
        done = subprocess.run(command, cwd=PROJECT_ROOT, capture_output=True, text=True)
        return json.loads(done.stdout)
    except (OSError, ValueError):
        return None


# ---- .venv


def venv_python() -> Path:
    return python_in(VENV)


def stamp() -> str | None:
    """The stamp's text; None if `.venv` has none."""
    path = VENV / STAMP
    return path.read_text(encoding="utf-8") if path.exists() else None


def stamp_for(stage: str) -> str:
    """The stamp of a set-up: the stage, and a hash of the two files that decide what is installed."""
    files = [(PROJECT_ROOT / name).read_bytes() for name in ("pyproject.toml", "constraints.txt")]
    return json.dumps({"pins": hashlib.sha256(b"".join(files)).hexdigest()[:16], "stage": stage})


def is_ready(stage: str) -> bool:
    """Whether a set-up for these pins, up to this stage or further, was finished and its Python exists."""
    return stamp() in map(stamp_for, STAGES[STAGES.index(stage) :]) and venv_python().exists()


def set_up(stage: str, packages: list[str]) -> None:
    """Create or extend `.venv` for a stage, and stamp it. `packages` are the missing ones."""
    if VENV.exists() and stamp() is None:
        raise CommandError(*foreign_venv(stage))
    offline = WHEELS.is_dir()
    print(f"{sys.executable} lacks {packages[0]}, so the course will be set up in .venv.")
    print("This takes a few minutes and about 1.4 GB of disk space. Press Ctrl-C to stop.", flush=True)
    if not (stamp() and venv_python().exists()):
        make_venv()
    # Wheels only: a learner's machine has no compiler, and every pin of ours has a wheel.
    arguments = ["install", "--only-binary", ":all:", "-c", PROJECT_ROOT / "constraints.txt"]
    if offline:  # pip also passes these two on to the process that builds the course's own wheel
        arguments += ["--no-index", "--find-links", WHEELS]
    else:
        arguments += cpu_build()
    extras = "" if stage == "training" else f"[{','.join(STAGES[1 : STAGES.index(stage) + 1])}]"
    install = [venv_python(), "-m", "pip", "--no-input", *arguments, "--editable", f"{PROJECT_ROOT}{extras}"]
    if run(install, condensed=sys.stdout.isatty()):
        source = " from the folder wheels" if offline else ""
        raise CommandError(
            f"pip couldn't install the packages{source}; see its error message above.",
            NOT_IN_WHEELS if offline else NOT_DOWNLOADED,
        )
    (VENV / STAMP).write_text(stamp_for(stage), encoding="utf-8")


def offer_small(packages: list[str]) -> None:
    """Say how to add a few small packages to this Python, if it has torch and no set-up has begun."""
    if any(package.startswith("torch ") for package in packages) or VENV.exists() or WHEELS.is_dir():
        return
    wanted = [shlex.quote(re.sub(r" \(.*| ", "", package)) for package in packages]
    print("This Python has torch, and lacks only small packages. This line would add them to it:")
    print(f"    {shlex.quote(sys.executable)} -m pip install -c constraints.txt {' '.join(wanted)}")
    if sys.stdin.isatty():
        input("To do that, press Ctrl-C. For an environment of the course's own, press Enter. ")


def cpu_build() -> list[str]:
    """pip's arguments for a torch without NVIDIA's libraries, on Linux without an NVIDIA GPU."""
    index = os.environ.get(TORCH, CPU_TORCH)
    has_gpu = shutil.which("nvidia-smi") or Path("/proc/driver/nvidia").exists()
    if sys.platform != "linux" or index == "cuda" or (has_gpu and TORCH not in os.environ):
        return []
    try:
        with urllib.request.urlopen(f"{index}/torch/", timeout=5):
            pass
    except (OSError, ValueError):
        print(f"{index} can't be reached, so torch comes from pip's usual index. On Linux that")
        print("may be the build with NVIDIA's libraries, which need several GB more.", flush=True)
        return []
    print(f"No NVIDIA GPU: torch's CPU build is used. For the other one: {TORCH}=cuda", flush=True)
    return ["--extra-index-url", index]


def foreign_venv(stage: str) -> tuple[str, str]:
    """What is wrong with a `.venv` that the course didn't create, and what to do."""
    python, packages = venv_python(), missing_in(venv_python(), stage)
    problem = f"lacks {packages[0]}" if packages else "can't run the course"
    return (
        f"The folder .venv was not created by the course, and its Python ({python}) {problem}.",
        "Move the folder elsewhere, or install the packages into it with\n"
        "    uv sync --extra lab --extra test\nor, without uv, with\n"
        f"    {python} -m pip install -c constraints.txt -e .[lab,test]\nThen run the same command again.",
    )


def make_venv() -> None:
    """Create an empty `.venv`, replacing one whose first set-up was never finished."""
    if importlib.util.find_spec("venv") is None or importlib.util.find_spec("ensurepip") is None:
        raise CommandError(
            f"This Python ({sys.executable}) can't create environments: its venv module is not installed.",
            "On Debian and Ubuntu it is in a separate package:\n"
            f"    sudo apt install python3.{sys.version_info.minor}-venv\nThen run the same command again.",
        )
    shutil.rmtree(VENV, ignore_errors=True)
    VENV.mkdir()
    (VENV / STAMP).touch()  # first, so that a half-made folder is recognised as ours after a power cut
    # Not with the Python of `.venv` itself, which has just been deleted.
    if run([getattr(sys, "_base_executable", None) or sys.executable, "-m", "venv", VENV], quiet=True):
        raise CommandError(
            "Python couldn't create .venv; see its error message above.",
            "Fix the problem, then run the same command again.",
        )


def run(command: list[str | Path], *, quiet: bool = False, condensed: bool = False) -> int:
    """The exit code of a command; a quiet one prints only if it fails, and no traceback after Ctrl-C.

    Of pip, a condensed one shows what is arriving, in one line.
    """
    # With `user = true` in a pip.conf, pip would install outside the environment.
    variables = {"PIP_USER": "0", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    output = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    if condensed:
        with subprocess.Popen(command, env=os.environ | variables, **output) as pip:
            said = "".join(shown(pip.stdout))
        print(said if pip.returncode else "", file=sys.stderr if pip.returncode else sys.stdout)
        return pip.returncode
    output = output if quiet else {}
    done = subprocess.run(command, env=os.environ | variables, **output)
    if quiet and done.returncode:
        print(done.stdout, file=sys.stderr)
    return done.returncode


def shown(lines: Iterable[str]) -> Iterator[str]:
    """The lines that pip prints; meanwhile one line says what arrives, and how much has arrived."""
    n_packages, megabytes = 0, 0.0
    for line in lines:
        so_far = f"\r{n_packages} packages, {megabytes:,.0f} MB; "
        if found := ARRIVING.match(line):
            print(f"{so_far}next: {found[1]}, {found[2]} {found[3]}B".ljust(78), end="", flush=True)
            n_packages, megabytes = n_packages + 1, megabytes + float(found[2]) * MEGABYTES[found[3]]
        elif line.startswith("Installing"):
            print(f"{so_far}installing them".ljust(78), end="", flush=True)
        yield line


def restart(python: Path, argv: list[str]) -> None:
    """Run the command again with another Python: replacing this process, or on Windows as its child."""
    variables = {
        "PYTHONPATH": first_in_path(PROJECT_ROOT, "PYTHONPATH"),
        "PATH": first_in_path(python.parent, "PATH"),
    }
    if python == venv_python():
        variables["VIRTUAL_ENV"] = str(VENV)
    command = [str(python), "-m", "course_lib", *argv]
    sys.stdout.flush()
    if os.name != "nt":
        os.execve(command[0], command, os.environ | variables)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the child receives Ctrl-C too, and handles it
    raise SystemExit(subprocess.call(command, env=os.environ | variables))


def first_in_path(folder: Path, variable: str) -> str:
    """The value of a variable such as PATH with a folder put in front."""
    return os.pathsep.join([str(folder), *filter(None, [os.environ.get(variable)])])
