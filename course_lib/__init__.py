"""The shared library of the attention course: from recurrent networks to the Transformer.

Importing it costs nothing and needs nothing but Python's standard library: the command line
(`python3 -m course_lib`) starts here before anything is installed.
"""

__version__ = "0.1.0"
