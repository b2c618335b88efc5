"""`yours`: a passed function lives on in my_road.py, and nothing in that file can stop a lesson."""

from __future__ import annotations

import functools
import json
import math
import os
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType

import pytest
import torch
from numpy.typing import NDArray
from torch.nn import functional as F

from course_lib.runtime import PROJECT_ROOT
from course_lib.teaching import yours
from course_lib.teaching.checking import check
from course_lib.teaching.exercises.catalogue import exercise_called
from course_lib.teaching.own_code import own_functions, road_file
from course_lib.teaching.own_code.road_file import Kept, road

TWO, LEAST = 2, -math.inf
HEADER = "# --- double_it · lesson 00 · 2026-11-15\n"
GOOD = HEADER + "def double_it(numbers):\n    return numbers + numbers\n"


@pytest.fixture(autouse=True)
def nothing_judged_yet(monkeypatch):
    monkeypatch.setattr(own_functions, "_judged", {})


def write(course_home, text: str | bytes) -> None:
    course_home.mkdir(exist_ok=True)
    (course_home / "my_road.py").write_bytes(text.encode() if isinstance(text, str) else text)


def said(capsys, name: str = "double_it") -> str:
    function = yours(name)
    out = capsys.readouterr().out
    assert out.count("\n") == 1, out
    assert exercise_called(name).name in out and callable(function)
    assert torch.equal(function(torch.ones(3)), 2 * torch.ones(3)) if name == "double_it" else True
    return out.strip()


def twice(numbers):
    return (numbers * TWO).clamp(min=LEAST)


def double_it(numbers):
    """With a helper and a number of the notebook."""
    return twice(numbers)


def scaled_attention(queries: torch.Tensor, keys, values):
    scores = torch.einsum("...md,...nd->...mn", queries, keys) / math.sqrt(keys.shape[-1])
    weights = F.softmax(scores, dim=-1)
    return weights @ values, weights


def test_what_passed_is_used_and_the_file_reads_well_and_runs_as_it_stands(course_home, capsys):
    assert said(capsys) == "double_it: the library's (yours is not there yet)"
    assert "kept" not in str(check("double_it", double_it))
    assert not check("scaled_attention", scaled_attention).details
    (*first, day, _), (*second, _, _) = road()
    assert (first, second) == (["double_it", "00"], ["scaled_attention", "08"])
    assert said(capsys) == "double_it: yours, from lesson 00" and yours("double_it").__module__ == "my_road"
    text = (course_home / "my_road.py").read_text()
    start = textwrap.dedent(f'''\
        # Your own functions, each kept when its check passed. Later lessons use them. They are yours to edit;
        # only leave the lines that begin with # --- as they are: a function is found by them.


        # --- double_it · lesson 00 · {day}
        LEAST = float("-inf")
        TWO = 2


        def twice(numbers):
            return (numbers * TWO).clamp(min=LEAST)


        def double_it(numbers):
            """With a helper and a number of the notebook."""
            return twice(numbers)


        # --- scaled_attention · lesson 08 · {day}
        import math
        import torch
        import torch.nn.functional as F


        def scaled_attention(''')
    assert text.startswith(start)
    exec(compile(text, "my_road.py", "exec"), {})
    check("double_it", double_it)
    assert (course_home / "my_road.py").read_text() == text, "the same again changes nothing"


def test_passing_again_replaces_that_block_alone_and_the_old_file_is_kept(course_home, capsys):
    write(course_home, "# My notes\n" + GOOD + "\n\n# --- gone · lesson 99 · 2026-01-01\nx = 1\n")
    old = (course_home / "my_road.py").read_text()
    check("double_it", double_it)
    text = (course_home / "my_road.py").read_text()
    assert text.startswith("# My notes\n") and text.count("def double_it") == 1 and "lesson 99" in text
    assert "numbers + numbers" not in text
    assert (course_home / "my_road_before.py").read_text() == old
    assert [name for name, *_ in road()] == ["double_it", "gone"]


def by_partial(numbers, factor):
    return factor * numbers


def made(factor):
    def double_it(numbers):
        return factor * numbers

    return double_it


space: dict = {"torch": torch}
exec("def without_source(numbers):\n    return 2 * numbers", space)
IN_THE_NOTEBOOK = torch.tensor(2.0)


def needs_a_tensor(numbers):
    return numbers * IN_THE_NOTEBOOK


@pytest.mark.parametrize(
    ("attempt", "why"),
    [
        (lambda numbers: 2 * numbers, "only a function written with `def` can be"),
        (functools.partial(by_partial, factor=2), "only a function written with `def` can be"),
        (made(2), "away from this notebook it does not pass"),
        (needs_a_tensor, "away from this notebook it does not pass"),
        (space["without_source"], "its source cannot be found"),
    ],
)
def test_what_cannot_be_kept_passes_all_the_same_and_it_is_said(course_home, attempt, why):
    verdict = check("double_it", attempt)
    assert verdict.status == "passed" and not (course_home / "my_road.py").exists()
    assert f"It is not kept for later lessons: {why}." in verdict.details


def under_another_name(numbers):
    return 2 * numbers


library_double = exercise_called("double_it").reference
NAMES = {"two": 2}


@functools.lru_cache
def two():
    return NAMES["two"]


def by_the_library(numbers):
    return library_double(numbers)


def with_what_is_mine(numbers):
    return yours("double_it")(numbers)


cell = ModuleType("nowhere")  # of the same name as a variable below; nobody can import it


def with_a_comprehension(numbers):
    return torch.stack([2 * cell for cell in numbers.unbind()]) if numbers.ndim else 2 * numbers


def annotated(numbers: NDArray) -> NDArray:
    return two() * numbers


MEMO = {}


def with_a_memo(numbers):
    """Filled by the check: what it holds then is nobody's."""
    MEMO[f"{len(MEMO)} of {numbers.shape}"] = numbers
    return 2 * numbers


KEPT = [with_a_memo, under_another_name, by_the_library, with_what_is_mine, with_a_comprehension, annotated]


@pytest.mark.parametrize("attempt", KEPT)
def test_what_can_be_kept(course_home, capsys, attempt):
    assert check("double_it", attempt).details == ""
    assert said(capsys) == "double_it: yours, from lesson 00"
    assert "\nMEMO = dict()\n" in (course_home / "my_road.py").read_text() or attempt is not with_a_memo


def uses_the_other(queries, keys, values):
    scores = double_it(queries) @ keys.mT / (2 * math.sqrt(keys.shape[-1]))
    return F.softmax(scores, dim=-1) @ values, F.softmax(scores, dim=-1)


def test_a_helper_with_a_block_of_its_own_is_not_copied(course_home, capsys):
    check("double_it", double_it)
    check("scaled_attention", uses_the_other)
    text = (course_home / "my_road.py").read_text()
    assert text.count("def double_it(") == 1 and 'double_it = yours("double_it")' in text
    assert said(capsys, "scaled_attention") == "scaled_attention: yours, from lesson 08"


CANNOT, IMPORT = "the library's (yours cannot be used: ", "from course_lib.teaching import"
NOT_YET = "the library's (yours is not there yet)"
FAILS, YOURS = "the library's (yours does not pass its check any more)", "yours, from lesson 00"
BODY = GOOD[len(HEADER) :]
HOSTILE = [
    (b"", NOT_YET),
    (b"\x00\xff\xfe", "the library's (your my_road.py cannot be read)"),
    (GOOD[:-12], FAILS),
    (HEADER, CANNOT + "it makes no function `double_it`)"),
    (HEADER + "def double_it(numbers:\n", CANNOT + "it stops with a SyntaxError)"),
    (HEADER + "raise SystemExit\n", CANNOT + "it stops with a SystemExit)"),
    (HEADER + "while True:\n    pass\n", CANNOT + "it does not end when it is loaded)"),
    (HEADER + f"{IMPORT} check\ncheck('double_it', 3)\n", CANNOT + "it stops with a CheckInside)"),
    (HEADER + f"{IMPORT} yours\ndouble_it = yours('double_it')\n", YOURS),
    (HEADER + "print('hello')\nimport torch\ntorch.manual_seed(1)\n" + BODY, YOURS),
    (GOOD + "# --- broken · lesson 08 · 2026-01-01\ndef (:\n", YOURS),
    (GOOD.replace("\n", "\r\n"), YOURS),
    ("\ufeff" + GOOD, YOURS),
    (GOOD + GOOD.replace("numbers + numbers", "0 * numbers"), YOURS),
]


@pytest.mark.parametrize(("content", "line"), HOSTILE)
def test_no_file_can_stop_a_lesson(course_home, capsys, monkeypatch, content, line):
    monkeypatch.setattr(own_functions, "LONGEST_LOAD", 0.3)
    write(course_home, content)
    assert said(capsys).startswith(f"double_it: {line}")
    road()


def test_a_folder_in_place_of_the_file_stops_nothing(course_home, capsys):
    (course_home / "my_road.py").mkdir(parents=True)
    assert said(capsys) == "double_it: the library's (your my_road.py cannot be read)"
    assert road() == []
    note = "It is not kept for later lessons: `my_road.py` cannot be written."
    assert note in check("double_it", double_it).details


def test_what_cannot_be_read_is_not_written_over(course_home):
    write(course_home, b"\xff\xfe my notes")
    assert "cannot be written" in check("double_it", double_it).details
    assert (course_home / "my_road.py").read_bytes() == b"\xff\xfe my notes"


def test_two_notebooks_at_once_lose_nothing(course_home):
    blocks = [Kept(f"name_{number}", "00", "2026-11-15", "x = 1") for number in range(16)]
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(road_file.write_block, blocks))
    assert sorted(kept.name for kept in road()) == sorted(kept.name for kept in blocks)


def test_in_a_notebook(course_home):
    """The cells of a real IPython session: source comes from the cell, also of the second definition."""
    cells = [
        "from course_lib.teaching import check, yours",
        "import torch as t",
        "def double_it(numbers):\n    return 3 * numbers",
        "def twice(numbers):\n    return t.mul(numbers, 2)",
        "def double_it(numbers):\n    return twice(numbers)",
        "print(repr(check('double_it', double_it).details))",
        "print(yours('double_it').__code__.co_names)",
    ]
    script = (
        "import json, sys\nfrom IPython.core.interactiveshell import InteractiveShell\n"
        "shell = InteractiveShell()\n"
        "for cell in json.loads(sys.argv[1]): shell.run_cell(cell).raise_error()"
    )
    environment = {**os.environ, "COURSE_HOME": str(course_home), "PYTHONPATH": str(PROJECT_ROOT)}
    run = [sys.executable, "-c", script, json.dumps(cells)]
    out = subprocess.run(run, env=environment, capture_output=True, text=True, cwd=PROJECT_ROOT)
    assert out.stdout.splitlines() == ["''", "double_it: yours, from lesson 00", "('twice',)"], out.stderr
    assert "import torch as t\n" in (course_home / "my_road.py").read_text()


def test_inside_a_check_it_says_nothing(capsys):
    assert check("double_it", with_what_is_mine).printed == "" and capsys.readouterr().out == ""
