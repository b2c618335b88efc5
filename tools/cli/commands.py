"""The parser of all commands, and how errors become messages and exit codes.

    run_command(["train", "bahdanau", "--seed", "1"])

Each command's arguments and implementation are in a file of its own: `train_command.py` and so on. Only the
standard library and course_lib.runtime are imported before the environment has been set up; each command
imports what it needs when it runs. Argparse rejects wrong arguments before anything else is loaded.
"""

from __future__ import annotations

import argparse
import errno
import sys
from collections.abc import Callable

from course_lib import __version__
from course_lib.runtime import program_name
from tools.cli import (
    agenda_command,
    bench_command,
    build_command,
    data_command,
    evaluate_command,
    experiment_command,
    kit_command,
    lab_command,
    packages_command,
    progress_command,
    site_command,
    test_command,
    train_command,
    translate_command,
)
from tools.cli.environment import CommandError, discard_output, ensure

COMMAND_MODULES = (  # in the order of --help --all
    *(lab_command, progress_command, translate_command, train_command),
    *(agenda_command, kit_command, build_command),
    *(data_command, evaluate_command, experiment_command, packages_command, site_command),
    *(test_command, bench_command),
)
FOR_LEARNERS, FOR_INSTRUCTORS = ("lab", "progress", "translate", "train"), ("agenda", "kit")
OPTIONS_FOR_INSTRUCTORS = {  # of commands that have another use, too
    "build --edition": "make homework for nbgrader",
    "progress --class": "show how far the learners of a class are",
}
EPILOG = "Start with `lab`. A command with --help shows its options, --help --all every command."
ADVICE = {  # by the number of a system error
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT, errno.EFBIG), "Free some disk space"),
    **dict.fromkeys(
        (errno.EACCES, errno.EPERM, errno.EROFS), "Check the permissions, or choose another path"
    ),
    **dict.fromkeys(
        (errno.EEXIST, errno.ENOTDIR), "There is a file where a folder is expected; choose another path"
    ),
    errno.EISDIR: "This is a folder; choose the path of a file",
    errno.EIO: "Check the disk",
    errno.ENAMETOOLONG: "Choose a shorter name",
    errno.ENOENT: "Check the path",
}
NO_MEMORY = (
    "There isn't enough memory for this.\n"
    "Close other programs, or use less memory at a time: a smaller --beam for `translate` and `evaluate`,\n"
    "a smaller --tokens-per-batch for `train`. If the GPU's memory is full, try --device cpu."
)


def run_command(argv: list[str]) -> int:
    """Parse the arguments, set up the environment if needed, run the command; return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(
                encoding="utf-8", errors="replace"
            )  # a Windows pipe may be unable to encode "✓"
    program = parser()
    if not argv or set(argv) <= {"-h", "--help", "--all"}:
        print(program.format_help() if "--all" in argv else overview(program), end="")
        return 0 if argv else 2
    args, extra = program.parse_known_args(argv)
    args.argv, args.extra = argv, extra
    if extra and args.command != "lab":
        args.refuse(f"unrecognized arguments: {' '.join(extra)}")

    def run() -> int:
        if args.stage:
            ensure(args.stage, argv)
        return args.run(args)

    return exit_code(run)


def exit_code(run: Callable[[], int]) -> int:
    """Run a command and return its exit code. Errors that are not bugs print a message, not a traceback."""
    try:
        code = run()
        sys.stdout.flush()  # now, while a full disk can still be reported
        return code
    except CommandError as error:
        message = str(error)
    except BrokenPipeError:  # `course_lib progress | head`: the reader has gone
        discard_output()
        return 0
    except OSError as error:
        if error.strerror is None and not isinstance(error, FileNotFoundError):
            raise
        message = explain(error)
    except (MemoryError, RuntimeError) as error:
        if not out_of_memory(error):
            raise
        message = NO_MEMORY
    print(f"\n{message}", file=sys.stderr)
    return 1


def explain(error: OSError) -> str:
    """What the operating system reports, and what to do about it."""
    if error.errno == errno.ENOMEM:
        return NO_MEMORY
    if error.strerror is None:  # from `data_path`, whose message says what to do
        return str(error)
    if error.filename is None:  # it may be the output, and Python would try to write to it again
        discard_output()
        where = "The operating system reports an error"
    else:
        where = f"Can't read or write {error.filename}"
    advice = ADVICE.get(error.errno, "Fix the cause")
    return f"{where}: {error.strerror}.\n{advice}, then run the same command again."


def out_of_memory(error: Exception) -> bool:
    """Whether an error means that memory ran out. On the CPU torch says so only in the message.

    >>> out_of_memory(RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to"))
    True
    >>> out_of_memory(RuntimeError("mat1 and mat2 shapes cannot be multiplied"))
    False
    """
    phrases = ("not enough memory", "out of memory", "can't allocate memory")
    return isinstance(error, MemoryError) or any(phrase in str(error).lower() for phrase in phrases)


def overview(program: argparse.ArgumentParser) -> str:
    """The help on one screen, by audience."""
    [commands] = (action for action in program._actions if action.dest == "command")
    what = {
        name: command.description.partition(";")[0].rstrip(".") for name, command in commands.choices.items()
    }
    others = [name for name in what if name not in (*FOR_LEARNERS, *FOR_INSTRUCTORS, "build")]
    shown = {
        "for learners": {name: what[name] for name in FOR_LEARNERS},
        "for instructors": {name: what[name] for name in FOR_INSTRUCTORS} | OPTIONS_FOR_INSTRUCTORS,
    }
    lines = [f"usage: {program.prog} COMMAND ...", "", program.description]
    for title, rows in shown.items():
        lines += [
            "",
            f"{title}:",
            *(f"  {name:18}{what[:1].lower()}{what[1:]}" for name, what in rows.items()),
        ]
    lines += ["", "for everything else:", f"  {', '.join([*others, 'build'])}"]
    return "\n".join([*lines, "", EPILOG, ""])


def parser() -> argparse.ArgumentParser:
    program = argparse.ArgumentParser(
        prog=program_name(),
        description="The attention course: from the bottlenecks of recurrent networks to the Transformer.",
        epilog=EPILOG,
        allow_abbrev=False,
    )
    program.add_argument("--all", action="store_true", help="with --help: describe all commands")
    program.add_argument("--version", action="version", version=f"attention-course {__version__}")
    commands = program.add_subparsers(dest="command", metavar="COMMAND", title="commands", required=True)
    for module in COMMAND_MODULES:
        module.add(commands)
    return program
