"""What lets a notebook be opened on its own, as in Colab: a link, and lines that find the course.

    >>> colab_link("https://github.com/ann/attention", "notebooks/08_query_key_value.ipynb")
    'https://colab.research.google.com/github/ann/attention/blob/main/notebooks/08_query_key_value.ipynb'

Both contain the address of the repository, which only pyproject.toml defines. Until it does, nothing in the
course names an address.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from tools.cli.environment import CommandError

ADDRESS = re.compile(r"https://[\w.-]+(?:/[\w.-]+)+")  # it becomes part of a shell command
ON_GITHUB = re.compile(r"https://github\.com/([\w.-]+/[\w.-]+?)(?:\.git)?")
TITLE = "# Set-up: run this cell first."  # all that JupyterLab shows of the folded cell
# A line that a learner can switch on; then the course, if that line has fetched it; then a check of the rest.
# glob, because Python remembers that a folder in sys.path didn't exist. Few lines, as every lesson has them.
FETCH_COURSE = """\
import glob, sys  # If you have only this notebook, as in Colab, remove the # from the next line.
#!git clone -q --depth 1 {address} && {{sys.executable}} {folder}/course_lib packages
sys.path[:0] = glob.glob("{folder}")
"""
CHECK_COURSE = """\
try: from course_lib import ready; ready.check()
except ModuleNotFoundError: sys.exit("The course isn't here: {advice}.")
"""
FETCHED_FROM = re.compile(r"^#!git clone -q --depth 1 (\S+)", re.MULTILINE)
START = "    python3 -m course_lib lab "
IN_README = re.compile(
    rf"^(?:    git clone \S+ attention-course\n    cd attention-course\n)?{START}", re.MULTILINE
)


def repository(root: Path) -> str:
    """The address of the repository, from pyproject.toml; empty as long as it has none."""
    text = (root / "pyproject.toml").read_text(encoding="utf-8")
    address = tomllib.loads(text)["project"].get("urls", {}).get("Repository", "")
    if address and not ADDRESS.fullmatch(address):
        raise CommandError(
            f"Expected the address of the repository in pyproject.toml, but found {address!r}.",
            'Write it below [project.urls], as in Repository = "https://github.com/ann/attention-course".',
        )
    return address


def find_course(address: str) -> str:
    """The first lines of a setup cell."""
    if not address:
        check = CHECK_COURSE.format(advice="open this notebook in the course's own folder")
        return f"{TITLE}\nimport sys\n{check}"
    folder = address.rpartition("/")[2].removesuffix(".git")
    fetch = FETCH_COURSE.format(address=address, folder=folder)
    return f"{TITLE}\n{fetch}{CHECK_COURSE.format(advice='remove the # from line 3')}"


def colab_link(address: str, path: str) -> str:
    """The page that opens a notebook of the repository in Colab; empty if it isn't on GitHub."""
    match = ON_GITHUB.fullmatch(address)
    return f"https://colab.research.google.com/github/{match[1]}/blob/main/{path}" if match else ""


def readme_with_address(readme: str, address: str) -> str:
    """The README with a `git clone` line if there is an address, and without one otherwise."""
    clone = f"    git clone {address} attention-course\n    cd attention-course\n" if address else ""
    return IN_README.sub(lambda _: clone + START, readme)
