"""The command line: the commands together, and how each may end.

    run_command(["train", "bahdanau", "--seed", "1"])

A command's own file has the words that may follow it, and what it does: `train_command.py` and so on.
Only the standard library is imported before the environment is known to be there; each command imports
what it needs when it runs. A wrong word is answered by argparse, before anything is loaded.
"""

from __future__ import annotations

import argparse
import errno
import sys
from collections.abc import Callable

from course_lib import __version__
from course_lib.runtime import program_name
from tools.cli import (
    bench_command,
    build_command,
    data_command,
    evaluate_command,
    experiment_command,
    lab_command,
    progress_command,
    test_command,
    train_command,
    translate_command,
)
from tools.cli.environment import CommandError, discard_output, ensure

PARTS = (  # in the order of --help
    *(lab_command, progress_command, build_command, test_command, data_command),
    *(train_command, translate_command, evaluate_command, experiment_command, bench_command),
)
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
NO_RIGHT = (errno.EBADF, errno.EACCES, errno.EROFS, errno.EISDIR, errno.EEXIST, errno.ENOTDIR)
NO_MEMORY = (
    "There is not enough memory for this.\n"
    "Close other programs, or ask for less at a time: a smaller --beam to translate and evaluate, a smaller\n"
    "--tokens-per-batch to train. Where the GPU is full, --device cpu goes round it."
)


def run_command(argv: list[str]) -> int:
    """Read the command line, see to the environment, run the command; its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="replace")  # a Windows pipe may not know "✓"
    program = parser()
    if not argv:
        program.print_help()
        return 2
    args, further = program.parse_known_args(argv)
    args.words_typed, args.further = argv, further
    if further and args.command != "lab":
        args.refuse(f"unrecognized arguments: {' '.join(further)}")

    def run() -> int:
        ensure(args.stage, argv)
        return args.run(args)

    return ended(run)


def ended(run: Callable[[], int]) -> int:
    """Run to the end, or to one that is nobody's bug and so needs words and no traceback; the exit code."""
    try:
        code = run()
        sys.stdout.flush()  # now, while a full disk can still be spoken of
        return code
    except CommandError as trouble:
        told = str(trouble)
    except KeyboardInterrupt:
        print("\nStopped.", file=sys.stderr)
        return 130  # what a shell expects of a program that Ctrl-C ended
    except BrokenPipeError:  # `course_lib progress | head`: nobody reads any further
        discard_output()
        return 0
    except OSError as error:
        if error.errno not in NO_ROOM + NO_RIGHT:
            raise
        if error.filename is None:
            discard_output()
        told = f"{error.filename or 'The output'} cannot be used: {error.strerror}.\n"
        full = error.errno in NO_ROOM
        todo = "Make room" if full else "See who may read and write it, or name another place"
        told += f"{todo}; then run the same command again."
    except (MemoryError, RuntimeError) as error:
        if not out_of_memory(error):
            raise
        told = NO_MEMORY
    print(f"\n{told}", file=sys.stderr)
    return 1


def out_of_memory(error: Exception) -> bool:
    """Whether that is what an error means. torch has a class for it on a GPU, and only words on the CPU.

    >>> out_of_memory(RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to"))
    True
    >>> out_of_memory(RuntimeError("mat1 and mat2 shapes cannot be multiplied"))
    False
    """
    words = ("not enough memory", "out of memory", "can't allocate memory")
    return isinstance(error, MemoryError) or any(one in str(error).lower() for one in words)


def parser() -> argparse.ArgumentParser:
    """All that can be typed."""
    program = argparse.ArgumentParser(
        prog=program_name(),
        description="The attention course: from the bottlenecks of recurrent networks to the Transformer.",
        epilog="Start with `lab`. Each command tells more with --help.",
        allow_abbrev=False,
    )
    program.add_argument("--version", action="version", version=f"attention-course {__version__}")
    commands = program.add_subparsers(dest="command", metavar="COMMAND", title="commands", required=True)
    for part in PARTS:
        part.add(commands)
    return program
