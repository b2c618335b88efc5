"""The command line: `python3 -m course_lib lab`, from the word that is typed to the exit code.

commands.py             every command together, and how each may end
environment.py          the packages a command needs, and `CommandError`: what a user can put right
arguments.py            arguments that several commands take: --device, --checkpoint, --data, --beam

lab_command.py          JupyterLab on the first lesson, with the settings in lab_settings/
progress_command.py     what the learner has done
build_command.py        lesson sources to notebooks
test_command.py         style, unit tests, notebooks, the browser
data_command.py         the toy language shown, Multi30k found or fetched
train_command.py        a system trained
translate_command.py    `translate` and `sample`: a system tried out
evaluate_command.py     systems measured
experiment_command.py   what a lesson quotes, run again
bench_command.py        how fast it is

This file, `course_lib/__init__.py` and `course_lib/__main__.py` run before anything is known about the
Python that runs them. They keep to what every Python can read (no f-strings, ASCII), so that an old one
says what it needs instead of showing a syntax error. All other files of `cli` may use Python 3.11, but
only its standard library until the environment is there.
"""

import shutil
import sys

OLDEST = (3, 11)
NEWER = ("python3.13", "python3.12", "python3.11", "python3.14")  # best tried first


def main(argv=None):
    """Run one command and return its exit code: `main(["test", "--quick"])`."""
    argv = sys.argv[1:] if argv is None else list(argv)
    if sys.version_info < OLDEST:
        sys.stderr.write(too_old(argv))
        return 1
    from tools.cli.commands import run_command

    return run_command(argv)


def too_old(argv):
    """What to tell someone whose Python is too old: which one they may have besides, or how to get one."""
    this = ".".join(str(part) for part in sys.version_info[:3])
    text = "The course needs Python 3.11 or newer. This is Python " + this + " (" + sys.executable + ").\n"
    find = getattr(shutil, "which", lambda name: None)  # Python 2 has none
    newer = [name for name in NEWER if find(name)]
    if newer:
        again = " ".join([newer[0], "-m", "course_lib"] + argv)  # noqa: RUF005  (Python 2 reads this line too)
        return text + "This computer has " + newer[0] + " as well. Run\n    " + again + "\n"
    return (
        text + "Install a newer Python (from python.org, your system's packages, or with\n"
        "`conda create -n course python=3.12`), then run the same command with it.\n"
    )
