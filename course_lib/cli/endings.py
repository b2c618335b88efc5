"""How a command ends: as it should, or in a way that is nobody's bug and so needs words and no traceback.

ended(lambda: 0)        # 0
ended(full_disk)        # says that the output cannot be written; 1
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable

from course_lib.cli.paths import reason
from course_lib.cli.trouble import Trouble

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)  # why an open file takes no more
STOPPED = 130  # what a shell expects of a program that Ctrl-C ended
NO_MEMORY = Trouble(
    "There is not enough memory for this.",
    "Close other programs, or ask for less at a time: a smaller --beam to translate and evaluate, a smaller\n"
    "--tokens-per-batch to train. Where the GPU is full, --device cpu goes round it.",
)


def ended(command: Callable[[], int]) -> int:
    """Run a command to its end; the exit code."""
    try:
        code = command()
        if sys.stdout is not None:
            sys.stdout.flush()  # now, while a full disk can still be spoken of
    except Trouble as trouble:
        return told(trouble)
    except KeyboardInterrupt:
        print("\nStopped.", file=sys.stderr)
        return STOPPED
    except BrokenPipeError:  # `python3 -m course_lib progress | head`: nobody reads any further
        read_no_further()
        return 0
    except OSError as error:
        if error.filename is not None or error.errno not in FULL:
            raise
        if not output_works():
            read_no_further()
        todo = "Is the disk full? Send the output elsewhere, then run the same command again."
        return told(Trouble(f"The output cannot be written: {reason(error)}.", todo))
    except (MemoryError, RuntimeError) as error:
        if not out_of_memory(error):
            raise
        return told(NO_MEMORY)
    return code


def told(trouble: Trouble) -> int:
    print(f"\n{trouble}", file=sys.stderr)
    return 1


def output_works() -> bool:
    """Whether what was printed so far, and waits, can go where it should."""
    try:
        sys.stdout.flush()
    except OSError:
        return False
    return True


def read_no_further() -> None:
    """What is still to be printed goes nowhere; else Python would try again at its end, and complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def out_of_memory(error: Exception) -> bool:
    """Whether that is what an error means. torch has a class for it on a GPU, and only words on the CPU.

    >>> out_of_memory(RuntimeError("DefaultCPUAllocator: not enough memory: you tried to allocate 9 bytes"))
    True
    >>> out_of_memory(RuntimeError("mat1 and mat2 shapes cannot be multiplied"))
    False
    """
    words = str(error).lower()
    return isinstance(error, MemoryError) or "not enough memory" in words or "out of memory" in words
