"""`catch_up`: what is above a section is there, nothing is shown or recorded, and the rest still runs."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch

from course_lib.runtime import PROJECT_ROOT
from course_lib.teaching import catch_up, catching_up, check
from course_lib.teaching.contents import FULL, SHORT, lessons
from course_lib.teaching.track import enter_track
from course_lib.translation import load_shipped

NUMBERED = [lesson for lesson in lessons() if lesson.number != "00"]
QUICK_FULL = ("05", "06", "11", "13")  # whose code cells take a few seconds
NOT_ONLY_NIGHTLY = {(SHORT, "08"), (SHORT, "14"), (FULL, "06")}


@pytest.fixture
def notebook(monkeypatch):
    """The namespace of a notebook whose kernel has just started."""
    module = ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", module)
    yield vars(module)
    enter_track(FULL)
    torch.set_grad_enabled(True)


def cells_of(file: Path) -> list[dict]:
    return json.loads(file.read_text(encoding="utf-8"))["cells"]


def sections_of(file: Path) -> dict[str, int]:
    """The place of each numbered section."""
    sources = ["".join(cell["source"]) for cell in cells_of(file)]
    matches = [
        (re.search(r"^## (\d+) · ", source, re.MULTILINE), place) for place, source in enumerate(sources)
    ]
    return {match[1]: place for match, place in matches if match}


def test_everything_above_is_there_nothing_is_recorded_and_little_is_printed(notebook, course_home, capsys):
    assert catch_up("06", 4) is None
    printed = capsys.readouterr().out
    assert "additive_attention" in printed and "make_it_she" not in printed
    assert printed.count("\n") <= 2 and "4 · Attention emerges" in printed
    assert notebook["translation"] == load_shipped("bahdanau")(notebook["MOTHER"]).target
    states, annotations = torch.randn(2, 3), torch.randn(2, 5, 4)
    parameters = torch.randn(6, 3), torch.randn(6, 4), torch.randn(6)
    context, weights = notebook["additive_attention"](states, annotations, *parameters)
    assert (context.shape, weights.shape) == ((2, 4), (2, 5))
    assert not course_home.exists()


def my_attention(states, annotations, w_state, w_annotation, v):
    hidden = torch.tanh((states @ w_state.T)[:, None] + annotations @ w_annotation.T)
    weights = torch.softmax(hidden @ v, dim=-1)
    return (weights[..., None] * annotations).sum(dim=1), weights


def test_what_the_learner_has_passed_stays_and_what_is_saved_does_not_change(notebook, course_home, capsys):
    assert check("additive_attention", my_attention).status == "passed"
    before = {path.name: path.read_bytes() for path in course_home.iterdir()}
    catch_up(6, "3")
    assert {path.name: path.read_bytes() for path in course_home.iterdir()} == before
    printed = capsys.readouterr().out
    assert "your own version of additive_attention" in printed
    assert notebook["additive_attention"].__wrapped__.__code__.co_code == my_attention.__code__.co_code
    # A learner's own work after it is recorded again.
    check("additive_attention", my_attention)
    assert (course_home / "progress.jsonl").read_bytes() != before["progress.jsonl"]


def test_the_folder_or_the_started_lesson_says_which_notebook_this_is(notebook, monkeypatch):
    monkeypatch.chdir(PROJECT_ROOT / "notebooks" / "short")
    catch_up("06", 3)
    assert "percent_on_diagonal" not in notebook, "it isn't on the short track"
    monkeypatch.chdir(PROJECT_ROOT)
    with pytest.raises(ValueError, match=r"no section 4 .*1, 2, 3, 5, 6\."):
        catch_up("04", 4)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("99",), rf"'99'.*\"00\" to \"{lessons()[-1].number}\""),
        ((None, 4), "None"),
        (("",), "''"),
        (("attention", 4), "'attention'"),
        (("06", 9), r"no section 9 .*1, 2, 3, 4, 5, 6\."),
        (("06", "four"), "'four'"),
        (("00", 1), r"no section 1 .*none"),
    ],
)
def test_what_does_not_exist_is_named_with_the_choices(notebook, arguments, message):
    with pytest.raises(ValueError, match=message):
        catch_up(*arguments)
    assert set(notebook) <= set(vars(ModuleType("__main__"))), "nothing has run"


def test_a_notebook_that_the_learner_has_changed(notebook, monkeypatch, tmp_path):
    file = tmp_path / "notebooks" / "06_bahdanau_attention.ipynb"
    file.parent.mkdir()
    shutil.copy(PROJECT_ROOT / "notebooks" / file.name, file)
    content = json.loads(file.read_text(encoding="utf-8"))

    def change(kind: str, source: str) -> None:
        next(c for c in content["cells"] if c["metadata"].get("course", {}).get("kind") == kind)["source"] = (
            source
        )
        file.write_text(json.dumps(content), encoding="utf-8")

    monkeypatch.setattr(catching_up, "PROJECT_ROOT", tmp_path)
    content["cells"].insert(
        3, {"cell_type": "code", "metadata": {}, "source": ["raise SystemError"], "outputs": []}
    )
    change("exercise", "def additive_attention(:")
    catch_up("06", 3)
    assert callable(notebook["additive_attention"])
    change("picture", "PARTS = undefined")
    with pytest.raises(NameError) as raised:
        catch_up("06", 3)
    assert file.name in raised.value.__notes__[0]


@pytest.mark.parametrize(
    "content",
    [
        *(None, "", "\udcff", "not JSON", '{"cells": [{"cell_type": "co', "[" * 100_000, "[]", "7", "{}"),
        *('{"cells": 7}', '{"cells": [7]}', '{"cells": [{"cell_type": "code", "source": "x"}]}'),
        *(
            '{"cells": [{"cell_type": "code", "metadata": {}}]}',
            '{"cells": [{"source": "", "metadata": []}]}',
        ),
    ],
)
def test_a_damaged_notebook_is_named_with_how_to_restore_it(notebook, monkeypatch, tmp_path, content):
    name = "notebooks/06_bahdanau_attention.ipynb"
    (tmp_path / "notebooks").mkdir()
    if content is not None:
        (tmp_path / name).write_text(content, encoding="utf-8", errors="surrogateescape")
    monkeypatch.setattr(catching_up, "PROJECT_ROOT", tmp_path)
    with pytest.raises(ValueError, match=f"{name} .*`git checkout -- {name}`"):
        catch_up("06", 4)


@pytest.mark.slow
def test_in_a_real_session_nothing_is_displayed(course_home):
    cells = ["from course_lib.teaching import catch_up; catch_up('06')", "print(WithAttention.__name__)"]
    cells.append("import inspect; print(len(inspect.getsource(WithAttention.step).splitlines()) > 5)")
    script = (
        "import json, sys\nfrom IPython.core.interactiveshell import InteractiveShell\n"
        "shell = InteractiveShell.instance()\n"
        "for cell in json.loads(sys.argv[1]): shell.run_cell(cell).raise_error()"
    )
    environment = {**os.environ, "COURSE_HOME": str(course_home), "PYTHONPATH": str(PROJECT_ROOT)}
    command = [sys.executable, "-c", script, json.dumps(cells)]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=PROJECT_ROOT)
    summary, *others = run.stdout.splitlines()
    assert summary.startswith("Lesson 06 ") and len(others) == 2 and others[1] == "True", (
        run.stdout + run.stderr
    )
    assert not course_home.exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("track", "number"),
    [
        pytest.param(track, number, marks=() if (track, number) in NOT_ONLY_NIGHTLY else pytest.mark.nightly)
        for track, numbers in ((SHORT, [lesson.number for lesson in NUMBERED]), (FULL, QUICK_FULL))
        for number in numbers
    ],
)
def test_after_it_the_rest_of_the_lesson_runs(notebook, course_home, track, number):
    """On the short track from the last section, in the full lesson from one in the middle."""
    folder = PROJECT_ROOT / "notebooks" / ("short" if track == SHORT else "")
    (file,) = folder.glob(f"{number}_*.ipynb")
    sections = sections_of(file)
    section = list(sections)[-1 if track == SHORT else len(sections) // 2]
    enter_track(track)
    catch_up(number, section)
    assert not [path.name for path in course_home.glob("*") if path.is_file()], (
        "only training runs are stored"
    )
    with contextlib.redirect_stdout(io.StringIO()):
        for cell in cells_of(file)[sections[section] :]:
            if cell["cell_type"] == "code":
                exec(compile("".join(cell["source"]), str(file), "exec"), notebook)
