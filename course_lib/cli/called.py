"""How this program was called, so that advice can be typed as it stands.

    as_called("Train it with `course train gru_lm`.")       # in a clone without an installed `course`:
    'Train it with `python3 -m course_lib train gru_lm`.'

Messages everywhere say `course train`; they are put right once, where they are printed.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

COMMAND = re.compile(r"\bcourse(?= (?:lab|test|build|data|train|translate|evaluate|progress|bench)\b)")


def program() -> str:
    """`course`, or `python3 -m course_lib` for those who came that way."""
    return (
        "python3 -m course_lib" if Path(sys.argv[0]).parts[-2:] == ("course_lib", "__main__.py") else "course"
    )


def as_called(text: str) -> str:
    """The text with its commands as they must be typed here."""
    return COMMAND.sub(program(), text)
