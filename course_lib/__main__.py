"""Opens the command line: `python3 -m course_lib lab`. Any Python can read this file, also one too old."""

import sys

from tools.cli import main

if __name__ == "__main__":
    sys.exit(main())
