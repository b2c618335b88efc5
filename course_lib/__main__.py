"""Opens the command line: `python3 -m course_lib lab`. Even a Python that is too old can read this file."""

import sys

from tools.cli import main

if __name__ == "__main__":
    sys.exit(main())
