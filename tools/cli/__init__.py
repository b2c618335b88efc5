"""The command line, `python3 -m course_lib lab`: from the arguments to the exit code.

commands.py             the parser of all commands, and how errors become exit codes
environment.py          the packages a command needs, and `CommandError`: an error the user can fix
arguments.py            arguments that several commands take: --device, --checkpoint, --data, --beam
put_in_place.py         moves a finished folder or file to where users expect it

lab_command.py          opens JupyterLab on the first lesson, with the settings in lab_settings/
packages_command.py     installs the small packages that a platform such as Colab lacks
progress_command.py     reports or exports what the learner has done; reports on a class
agenda_command.py       makes the run sheet of a workshop
build_command.py        builds the notebooks from the lesson sources
site_command.py         builds the reading edition: the lessons and docs as web pages
kit_command.py          makes a kit for a workshop without a network; offline_kit.py says what is in it
test_command.py         runs style checks, unit tests, notebooks and browser tests
data_command.py         prints the toy language; finds or downloads Multi30k
train_command.py        trains a system
translate_command.py    `translate` and `sample`: run a trained system
evaluate_command.py     measures trained systems
experiment_command.py   repeats an experiment that a lesson quotes
bench_command.py        measures speed

This file, `tools/__init__.py`, `course_lib/__init__.py` and `course_lib/__main__.py` run before the Python
version has been checked. They use only syntax that every Python can parse (no f-strings, ASCII), so that an
old Python prints what the course needs instead of a syntax error. All other files of `cli` may use Python
3.11, but only its standard library and course_lib.runtime until the environment has been set up.
"""

import os
import signal
import sys

OLDEST = (3, 11)
STOPPED, INTERRUPTED = "\nStopped.\n", 130  # the exit code that shells expect after Ctrl-C
NEWER = ("python3.13", "python3.12", "python3.11", "python3.14")  # the best-tested version first


def main(argv=None):
    """Run one command and return its exit code: `main(["test", "--quick"])`; after Ctrl-C, that is 130."""
    argv = sys.argv[1:] if argv is None else list(argv)
    if sys.version_info < OLDEST:
        sys.stderr.write(too_old(argv))
        return 1
    before = signal.getsignal(signal.SIGINT)
    if before == signal.default_int_handler:  # not where it is ignored, as in a background job
        signal.signal(signal.SIGINT, interrupt)
    try:
        from tools.cli.commands import run_command

        return run_command(argv)
    except KeyboardInterrupt:
        sys.stderr.write(STOPPED)
        return INTERRUPTED
    finally:
        if before == signal.default_int_handler:
            signal.signal(signal.SIGINT, before)


def interrupt(number, frame):
    """Ctrl-C. While torch is being imported, it ends the process: torch's C code would drop an exception."""
    if getattr(getattr(sys.modules.get("torch"), "__spec__", None), "_initializing", False):
        sys.stderr.write(STOPPED)
        sys.stderr.flush()
        os._exit(INTERRUPTED)
    raise KeyboardInterrupt


def too_old(argv):
    """The message for a Python that is too old: a newer one on this computer, or how to install one."""
    this = ".".join(str(part) for part in sys.version_info[:3])
    text = "The course needs Python 3.11 or newer. This is Python " + this + " (" + sys.executable + ").\n"
    import shutil  # only here: what is imported before `main` can't be stopped in an orderly way

    find = getattr(shutil, "which", lambda name: None)  # Python 2 has none
    newer = [name for name in NEWER if find(name)]
    if newer:
        again = " ".join([newer[0], "-m", "course_lib"] + argv)  # noqa: RUF005  (Python 2 reads this line too)
        return text + "This computer also has " + newer[0] + ". Run\n    " + again + "\n"
    return (
        text + "Install a newer Python (from python.org, your system's package manager, or with\n"
        "`conda create -n course python=3.12`), then use it to run the same command.\n"
    )
