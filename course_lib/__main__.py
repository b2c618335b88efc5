"""Opens the command line: `python3 -m course_lib lab`. Even a Python that is too old can read this file."""

import os
import sys

if not __package__:  # started by its path, as in `python3 attention-course/course_lib packages`
    sys.path[0] = os.path.dirname(os.path.abspath(sys.path[0]))

from tools.cli import main

if __name__ == "__main__":
    sys.exit(main())
