"""`yours`: a function that passed is kept in my_road.py, and nothing in that file can stop a lesson."""

from __future__ import annotations

import errno
import functools
import inspect
import json
import math
import os
import stat
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from types import ModuleType

import pytest
import torch
from filelock import FileLock
from numpy.typing import NDArray
from torch.nn import functional as F

from course_lib.runtime import PROJECT_ROOT
from course_lib.teaching import count_own_calls, list_own_functions, progress, track, yours
from course_lib.teaching.checking import check
from course_lib.teaching.contents import SHORT
from course_lib.teaching.own_code import kept_file, kept_functions, loading
from course_lib.teaching.own_code.kept_file import TOP, KeptFunction, write_function

TWO, LEAST = 2, -math.inf
YOURS = "your version from lesson 00"
NOT_YET = "the library's version (you haven't passed this exercise yet)"
FAILS = "the library's version (yours no longer passes its check)"
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


def test_on_the_short_track_a_learner_isnt_told_to_pass_what_isnt_there(course_home, capsys, monkeypatch):
    monkeypatch.setattr(track, "_notebook", SHORT)
    assert line_of_yours(capsys, "read_sequence") == NOT_YET  # lesson 02, on both tracks
    assert line_of_yours(capsys, "count_next") != NOT_YET  # lesson 01, only on the full one


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
    (backup,) = backups(course_home)
    assert backup.read_text() == old
    assert [name for name, *_ in list_own_functions()] == ["double_it", "gone"]


def backups(course_home) -> list[Path]:
    return sorted((course_home / "my_road_backups").iterdir())


def replace_double_it(source: str) -> None:
    write_function(KeptFunction("double_it", "00", "2026-11-15", source))


def test_every_edit_by_hand_that_is_replaced_stays_in_a_backup(course_home):
    texts = [f"# note {number}\n{GOOD}" for number in range(3)]
    texts[1] = "\ufeff" + texts[1].replace("\n", "\r\n")  # each is copied as it is
    for text in [*texts, texts[0]]:  # all in the same second or two; the last is there already
        write(course_home, text)
        check("double_it", double_it)
    contents = [path.read_bytes() for path in backups(course_home)]
    assert sorted(contents) == sorted(text.encode() for text in texts)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such permissions")
def test_an_older_backup_is_not_overwritten_and_a_private_file_stays_private(course_home, monkeypatch):
    class Now(datetime):
        @classmethod
        def now(cls, tz=None):
            return cls(2026, 11, 17, 9, 5, 7, tzinfo=tz)

    monkeypatch.setattr(kept_file, "datetime", Now)
    write(course_home, GOOD)
    (course_home / "my_road.py").chmod(0o600)
    replace_double_it("two = 2")
    replace_double_it("three = 3")
    first, second = backups(course_home)
    assert first.read_text() == GOOD and "two = 2" in second.read_text()
    assert "2026-11-17" in first.name and "2026-11-17" in second.name
    for path in (course_home / "my_road.py", first, second):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_without_room_for_a_backup_nothing_is_replaced(course_home, monkeypatch):
    write(course_home, GOOD)

    def full(_):
        raise OSError(errno.ENOSPC, "No space left")

    monkeypatch.setattr(os, "fsync", full)
    details = check("double_it", double_it).details
    assert "No space left" in details and str(course_home / "my_road.py") in details
    assert (course_home / "my_road.py").read_text() == GOOD and backups(course_home) == []


def test_of_two_blocks_with_the_same_name_the_first_is_used_and_replaced(course_home, capsys):
    variant = GOOD.replace("numbers + numbers", "3 * numbers")
    write(course_home, variant + GOOD)
    assert line_of_yours(capsys) == FAILS
    replace_double_it(BODY)  # what passed, but only the second block has it
    assert line_of_yours(capsys) == YOURS
    replace_double_it("two = 2")
    assert [function.source.strip() for function in list_own_functions()] == ["two = 2", BODY.strip()]


@pytest.mark.skipif(sys.platform == "win32", reason="links need a special right on Windows")
def test_a_linked_file_stays_linked(course_home, tmp_path):
    write(course_home, GOOD)
    target = (course_home / "my_road.py").rename(tmp_path / "in_my_repository.py")
    (course_home / "my_road.py").symlink_to(target)
    check("double_it", double_it)
    assert (course_home / "my_road.py").is_symlink() and "def twice" in target.read_text()
    assert [path.read_text() for path in backups(course_home)] == [GOOD]


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


NAMES = {"two": 2}


@functools.lru_cache
def two():
    return NAMES["two"]


def with_yours(numbers):
    """Calls `yours` for another exercise."""
    weights = yours("scaled_attention")(numbers.reshape(-1, 1), torch.ones(1, 1), torch.ones(1, 1))[1]
    return (numbers.reshape(-1, 1) * 2 * weights).reshape(numbers.shape)


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


KEPT = [with_a_memo, under_another_name, with_yours, with_a_comprehension, annotated]


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
ITSELF = "`double_it` asks `yours` for itself (double_it → double_it))"
BODY = GOOD[len(HEADER) :]
HOSTILE = [
    (b"", NOT_YET),
    (GOOD[:-12], FAILS),
    (HEADER, CANNOT + "it doesn't define a function `double_it`)"),
    (HEADER + "def double_it(numbers:\n", CANNOT + "loading it raises a SyntaxError)"),
    (HEADER + "raise SystemExit\n", CANNOT + "loading it raises a SystemExit)"),
    (HEADER + "while True:\n    pass\n", CANNOT + "loading it takes too long)"),
    (HEADER + f"{IMPORT} check\ncheck('double_it', 3)\n", CANNOT + "loading it raises a CheckInside)"),
    (HEADER + f"{IMPORT} yours\ndouble_it = yours('double_it')\n", CANNOT + ITSELF),
    (HEADER + f"{IMPORT} yours\ndef double_it(n):\n    return yours('double_it')(n)\n", CANNOT + ITSELF),
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
    for text in (line_of_yours(capsys), check("double_it", double_it).details):
        assert f"{course_home / 'my_road.py'} can't be read: {os.strerror(errno.EISDIR)}" in text
    assert list_own_functions() == []


def test_what_cannot_be_read_is_not_written_over(course_home, capsys):
    write(course_home, b"\xff\xfe my notes")
    for text in (line_of_yours(capsys), check("double_it", double_it).details):
        assert f"{course_home / 'my_road.py'} can't be read" in text and text.count("UTF-8") == 2
    assert (course_home / "my_road.py").read_bytes() == b"\xff\xfe my notes"


@pytest.mark.parametrize(
    ("method", "action", "reason"),
    [
        ("course_lib.teaching.own_code.kept_file.write_atomically", "written", errno.EROFS),
        ("pathlib.Path.read_text", "read", errno.EACCES),
    ],
)
def test_the_reason_names_the_file_and_what_could_not_be_done(
    course_home, monkeypatch, method, action, reason
):
    write(course_home, GOOD)

    def fail(path, *_, **__):
        raise OSError(reason, os.strerror(reason), str(path))

    monkeypatch.setattr(method, fail)
    details = check("double_it", double_it).details
    assert details.endswith(f"{course_home / 'my_road.py'} can't be {action}: {os.strerror(reason)}.")


def test_a_lock_that_another_process_holds_is_named(course_home, monkeypatch):
    write(course_home, GOOD)
    monkeypatch.setattr(progress, "LONGEST_WAIT", 0.1)
    with FileLock(course_home / "my_road.lock"):
        details = check("double_it", double_it).details
    assert str(course_home / "my_road.lock") in details and "0.1 seconds" in details
    assert (course_home / "my_road.py").read_text() == GOOD


# ---- functions that ask `yours` for themselves


def asks_for_itself(numbers):
    return yours("double_it")(numbers)


def test_a_function_that_asks_for_itself_fails_and_the_saved_one_stays(course_home, capsys):
    write(course_home, GOOD)
    verdict = check("double_it", asks_for_itself)
    assert (verdict.status, verdict.slip) == ("wrong", "raises")
    assert "(double_it → double_it)" in verdict.details and 'yours("double_it")' in verdict.details
    assert line_of_yours(capsys) == YOURS
    assert check("double_it", yours("double_it")).details == "", "this is the saved one itself"
    assert (course_home / "my_road.py").read_text() == GOOD


saved_earlier = None


def uses_what_was_saved_earlier(numbers):
    return saved_earlier(numbers)


def test_what_only_passes_with_its_own_saved_version_is_not_saved(course_home, monkeypatch):
    write(course_home, GOOD)
    monkeypatch.setitem(globals(), "saved_earlier", yours("double_it"))
    monkeypatch.setitem(globals(), "double_it", yours("double_it"))
    for attempt in (uses_what_was_saved_earlier, better):
        verdict = check("double_it", attempt)
        assert verdict.status == "passed" and "library's version" in verdict.details
        assert (course_home / "my_road.py").read_text() == GOOD
    assert "(double_it → double_it)" in verdict.details


def better(numbers):
    return double_it(numbers)


LATER = """
from course_lib.teaching import yours


def double_it(numbers):
    if numbers.ndim == 7:  # not tried by the check
        return yours("double_it")(numbers)
    return numbers + numbers
"""


def test_a_saved_function_that_asks_for_itself_later_gets_an_error(course_home, capsys):
    write(course_home, HEADER + LATER)
    assert line_of_yours(capsys) == YOURS
    function = yours("double_it")
    for _ in range(2):
        with pytest.raises(RecursionError, match=r"\(double_it → double_it\)"):
            function(torch.ones(1, 1, 1, 1, 1, 1, 1))
        assert torch.equal(function(torch.ones(3)), 2 * torch.ones(3))
    assert function.__name__ == "double_it" and inspect.signature(function).parameters.keys() == {"numbers"}


OTHER_HEADER = "# --- scaled_attention · lesson 08 · 2026-11-15\n"
TWICE = "{}\n\ndef double_it(numbers):\n    {}\n    return numbers + numbers\n"
ATTEND = """{}
import torch

def scaled_attention(queries, keys, values):
    {}
    weights = torch.softmax(queries @ keys.mT / keys.shape[-1] ** 0.5, dim=-1)
    return weights @ values, weights
"""
ASK_TWICE = f"{IMPORT} yours; double = yours('double_it')"
ASK_ATTEND = f"{IMPORT} yours; attend = yours('scaled_attention')"


@pytest.mark.parametrize("places", [("{}", "pass"), ("pass", "{}")], ids=["loaded", "called"])
def test_functions_that_ask_for_each_other_end_with_a_line_that_names_them(course_home, capsys, places):
    twice, attend = TWICE.format(*places).format(ASK_ATTEND), ATTEND.format(*places).format(ASK_TWICE)
    texts = HEADER + twice, OTHER_HEADER + attend
    write(course_home, "\n\n\n".join(map(str.strip, texts)) + "\n")  # with the space that saving leaves
    line = line_of_yours(capsys)
    assert line.startswith(CANNOT) and "(double_it → scaled_attention → double_it)" in line
    assert line_of_yours(capsys, "scaled_attention") == "your version from lesson 08"  # with the library's
    assert check("scaled_attention", scaled_attention).details == ""
    assert line_of_yours(capsys) == YOURS, "the other one no longer asks for it"


def test_functions_that_ask_for_each_other_later_get_an_error(course_home):
    unless = "if {}.ndim == 7: {}"
    later = TWICE.format("", unless.format("numbers", ASK_ATTEND + "; attend(numbers, numbers, numbers)"))
    other = ATTEND.format("", unless.format("queries", ASK_TWICE + "; double(queries)"))
    write(course_home, HEADER + later + OTHER_HEADER + other)
    with pytest.raises(RecursionError, match=r"\(double_it → scaled_attention → double_it\)"):
        yours("double_it")(torch.ones(1, 1, 1, 1, 1, 1, 1))


def has_a_line_like_a_header(numbers):
    return (
        2 * numbers
        if """
# --- scaled_attention · lesson 08 · 2026-11-15
"""
        else 0
    )


def test_a_line_that_looks_like_a_header_would_cut_a_function_in_two(course_home):
    verdict = check("double_it", has_a_line_like_a_header)
    assert verdict.status == "passed" and "my_road.py" in verdict.details
    assert list_own_functions() == []


def test_two_notebooks_at_once_lose_nothing(course_home):
    functions = [KeptFunction(f"name_{number}", "00", "2026-11-15", "x = 1") for number in range(16)]
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(write_function, functions))
    assert {block.name for block in list_own_functions()} == {block.name for block in functions}


def test_in_a_notebook(course_home):
    """The cells of a real IPython session: source comes from the cell, also of the second definition."""
    cells = [
        "import tests.double_it",
        "from course_lib.teaching import check, yours",
        "import torch as t",
        "def double_it(numbers):\n    return 3 * numbers",
        "def twice(numbers):\n    return t.mul(numbers, 2)",
        "def double_it(numbers):\n    return twice(numbers)",
        "print(repr(check('double_it', double_it).details))",
        "import inspect\nprint(inspect.unwrap(yours('double_it')).__code__.co_names)",
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
