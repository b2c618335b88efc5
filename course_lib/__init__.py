"""The shared library of the attention course: from recurrent networks to the Transformer.

Importing it costs nothing and needs nothing but Python's standard library: the command line
(`python3 -m course_lib`) starts here before anything is installed.
"""

import sys

__version__ = "0.1.0"

if sys.version_info >= (3, 11):  # noqa: UP036  (an older Python is told so by the command line)
    from course_lib.old_imports import advise

    advise()
