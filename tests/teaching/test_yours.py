"""`yours`: a function that passed is kept in my_road.py, and nothing in that file can stop a lesson."""

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
from course_lib.teaching import count_own_calls, list_own_functions, yours
from course_lib.teaching.checking import check
from course_lib.teaching.exercises import find_exercise
from course_lib.teaching.own_code import kept_functions, loading
from course_lib.teaching.own_code.kept_file import TOP, KeptFunction, write_function

TWO, LEAST = 2, -math.inf
YOURS = "your version from lesson 00"
NOT_YET = "the library's version (you haven't passed this exercise yet)"
FAILS = "the library's version (yours no longer passes its check)"
UNREADABLE = "the library's version (your my_road.py can't be read)"
HEADER = "# --- double_it · lesson 00 · 2026-11-15\n"
GOOD = HEADER + "def double_it(numbers):\n    return numbers + numbers\n"


@pytest.fixture(autouse=True)
def nothing_judged_yet(monkeypatch):
    monkeypatch.setattr(kept_functions, "_choices", {})


def write(course_home, text: str | bytes) -> None:
    course_home.mkdir(exist_ok=True)
    (course_home / "my_road.py").write_bytes(text.encode() if isinstance(text, str) else text)


def line_of_yours(capsys, name: str = "double_it") -> str:
    """What `yours` prints: one line, whatever happens; and the function that it returns works."""
    function = yours(name)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 and lines[0].startswith(f"{name}: ") and callable(function)
    assert torch.equal(function(torch.ones(3)), 2 * torch.ones(3)) if name == "double_it" else True
    return lines[0].removeprefix(f"{name}: ")


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
    assert line_of_yours(capsys) == NOT_YET
    assert not check("double_it", double_it).details
    assert not check("scaled_attention", scaled_attention).details
    (*first, day, _), (*second, _, _) = list_own_functions()
    assert (first, second) == (["double_it", "00"], ["scaled_attention", "08"])
    assert line_of_yours(capsys) == YOURS and yours("double_it").__module__ == "my_road"
    text = (course_home / "my_road.py").read_text()
    start = textwrap.dedent(f'''\
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
    assert text.startswith(f"{TOP}\n\n{start}")
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
    assert [name for name, *_ in list_own_functions()] == ["double_it", "gone"]


def by_partial(numbers, factor):
    return factor * numbers


def made(factor):
    def double_it(numbers):
        return factor * numbers

    return double_it


namespace: dict = {"torch": torch}
exec("def without_source(numbers):\n    return 2 * numbers", namespace)
IN_THE_NOTEBOOK = torch.tensor(2.0)


def needs_a_tensor(numbers):
    return numbers * IN_THE_NOTEBOOK


@pytest.mark.parametrize(
    ("attempt", "reason"),
    [
        (lambda numbers: 2 * numbers, "`def`"),
        (functools.partial(by_partial, factor=2), "`def`"),
        (made(2), "outside this notebook"),
        (needs_a_tensor, "outside this notebook"),
        (namespace["without_source"], "its source"),
    ],
)
def test_what_cannot_be_kept_passes_all_the_same_and_the_reason_is_given(course_home, attempt, reason):
    verdict = check("double_it", attempt)
    assert verdict.status == "passed" and not (course_home / "my_road.py").exists()
    assert "library's version" in verdict.details and reason in verdict.details


def under_another_name(numbers):
    return 2 * numbers


library_double = find_exercise("double_it").reference
NAMES = {"two": 2}


@functools.lru_cache
def two():
    return NAMES["two"]


def by_the_library(numbers):
    return library_double(numbers)


def with_yours(numbers):
    return yours("double_it")(numbers)


cell = ModuleType("nowhere")  # has the name of a variable below, and cannot be imported


def with_a_comprehension(numbers):
    return torch.stack([2 * cell for cell in numbers.unbind()]) if numbers.ndim else 2 * numbers


def annotated(numbers: NDArray) -> NDArray:
    return two() * numbers


MEMO = {}


def with_a_memo(numbers):
    """Filled by the check, and kept without its contents."""
    MEMO[f"{len(MEMO)} of {numbers.shape}"] = numbers
    return 2 * numbers


KEPT = [with_a_memo, under_another_name, by_the_library, with_yours, with_a_comprehension, annotated]


@pytest.mark.parametrize("attempt", KEPT)
def test_what_can_be_kept(course_home, capsys, attempt):
    assert check("double_it", attempt).details == ""
    assert line_of_yours(capsys) == YOURS
    assert "\nMEMO = dict()\n" in (course_home / "my_road.py").read_text() or attempt is not with_a_memo


def uses_the_other(queries, keys, values):
    scores = double_it(queries) @ keys.mT / (2 * math.sqrt(keys.shape[-1]))
    return F.softmax(scores, dim=-1) @ values, F.softmax(scores, dim=-1)


def test_a_helper_with_a_block_of_its_own_is_not_copied(course_home, capsys):
    check("double_it", double_it)
    check("scaled_attention", uses_the_other)
    text = (course_home / "my_road.py").read_text()
    assert text.count("def double_it(") == 1 and 'double_it = yours("double_it")' in text
    assert line_of_yours(capsys, "scaled_attention") == "your version from lesson 08"


CANNOT, IMPORT = "the library's version (yours can't be used: ", "from course_lib.teaching import"
BODY = GOOD[len(HEADER) :]
HOSTILE = [
    (b"", NOT_YET),
    (b"\x00\xff\xfe", UNREADABLE),
    (GOOD[:-12], FAILS),
    (HEADER, CANNOT + "it doesn't define a function `double_it`)"),
    (HEADER + "def double_it(numbers:\n", CANNOT + "loading it raises a SyntaxError)"),
    (HEADER + "raise SystemExit\n", CANNOT + "loading it raises a SystemExit)"),
    (HEADER + "while True:\n    pass\n", CANNOT + "loading it takes too long)"),
    (HEADER + f"{IMPORT} check\ncheck('double_it', 3)\n", CANNOT + "loading it raises a CheckInside)"),
    (HEADER + f"{IMPORT} yours\ndouble_it = yours('double_it')\n", YOURS),
    (HEADER + "print('hello')\nimport torch\ntorch.manual_seed(1)\n" + BODY, YOURS),
    (GOOD + "# --- broken · lesson 08 · 2026-01-01\ndef (:\n", YOURS),
    (GOOD.replace("\n", "\r\n"), YOURS),
    ("\ufeff" + GOOD, YOURS),
    (GOOD + GOOD.replace("numbers + numbers", "0 * numbers"), YOURS),
]


@pytest.mark.parametrize(("content", "line"), HOSTILE)
def test_no_file_can_stop_a_lesson(course_home, capsys, monkeypatch, content, line):
    monkeypatch.setattr(loading, "LONGEST_LOAD", 0.3)
    write(course_home, content)
    assert line_of_yours(capsys) == line
    list_own_functions()


def test_a_folder_in_place_of_the_file_stops_nothing(course_home, capsys):
    (course_home / "my_road.py").mkdir(parents=True)
    assert line_of_yours(capsys) == UNREADABLE
    assert list_own_functions() == []
    assert "`my_road.py` can't be written" in check("double_it", double_it).details


def test_what_cannot_be_read_is_not_written_over(course_home):
    write(course_home, b"\xff\xfe my notes")
    assert "can't be written" in check("double_it", double_it).details
    assert (course_home / "my_road.py").read_bytes() == b"\xff\xfe my notes"


def test_two_notebooks_at_once_lose_nothing(course_home):
    functions = [KeptFunction(f"name_{number}", "00", "2026-11-15", "x = 1") for number in range(16)]
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(write_function, functions))
    assert {block.name for block in list_own_functions()} == {block.name for block in functions}


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
    command = [sys.executable, "-c", script, json.dumps(cells)]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=PROJECT_ROOT)
    assert run.stdout.splitlines() == ["''", f"double_it: {YOURS}", "('twice',)"], run.stderr
    assert "import torch as t\n" in (course_home / "my_road.py").read_text()


def test_inside_a_check_yours_prints_nothing(capsys):
    assert check("double_it", with_yours).printed == "" and capsys.readouterr().out == ""


def test_calls_of_own_functions_are_counted_and_a_profiler_is_restored(course_home):
    check("double_it", double_it)
    own, numbers = yours("double_it"), torch.ones(2)
    result, counts = count_own_calls(lambda: own(own(twice(numbers))))
    assert torch.equal(result, 8 * numbers)
    assert counts == {"double_it": 2, "twice": 2}, "the call of this module's own `twice` does not count"
    profiler = sys.getprofile()
    with pytest.raises(ZeroDivisionError):
        count_own_calls(lambda: 1 / 0)
    assert sys.getprofile() is profiler
