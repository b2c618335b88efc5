"""The door: `python3 -m course_lib lab`. It opens on any Python, so that an old one is told what to do."""

import sys

from course_lib.cli import main

if __name__ == "__main__":
    sys.exit(main())
