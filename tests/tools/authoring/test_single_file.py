"""A notebook opened on its own, as in Colab: what its first lines say, and that they make the lesson run."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import venv
from dataclasses import replace
from pathlib import Path

import pytest

from course_lib import ready
from course_lib.runtime import PROJECT_ROOT
from tests.drafts import drafted
from tests.test_pins import constraints
from tests.tools.authoring.made_up import ADDRESS, TINY, only
from tools.authoring.lesson import sources
from tools.authoring.single_file import (
    FETCHED_FROM,
    find_course,
    readme_with_address,
    repository,
)
from tools.cli.environment import CommandError, needed

COLAB = "https://colab.research.google.com/github/someone/tiny-course/blob/main/notebooks"


# ---- the text


def test_every_notebook_links_to_itself_in_colab_and_can_find_the_course(course):
    made = course.draft()
    for edition, folder in (("learner", ""), ("short", "/short")):
        notebook = made.notebook(edition)
        assert f"[open in Colab]({COLAB}{folder}/42_tiny.ipynb)" in only(notebook, "title")["source"]
        setup = only(notebook, "setup")
        assert setup["source"] == f"{find_course(ADDRESS)}\nimport os\n" + "\n".join(
            TINY.split("import os\n")[1].split("\n")[:2]
        )
        assert setup["metadata"]["jupyter"]["source_hidden"] and setup["source"].startswith("# Set-up")
    assert "colab" not in only(made.notebook("solved"), "title")["source"].lower()


def test_ids_do_not_depend_on_the_address_and_lines_are_those_of_the_source(course):
    made = course.draft()
    moved = replace(made, repository="https://example.org/ann/another.git")
    before, after = (which.notebook("learner") for which in (made, moved))
    assert [cell["id"] for cell in before["cells"]] == [cell["id"] for cell in after["cells"]]
    assert "colab" not in only(after, "title")["source"].lower()  # Colab opens what is on GitHub
    setup = only(after, "setup")["source"]
    assert FETCHED_FROM.search(setup)[1].endswith("another.git") and ' glob.glob("another")' in setup
    [cell] = (cell for cell in made.completed("learner") if cell.kind == "setup")
    for number, line in cell.numbered_lines()[find_course(ADDRESS).count("\n") + 1 :]:
        assert TINY.split("\n")[number - 1] == line


@pytest.mark.parametrize("address", ["github.com/a/b", "https://github.com/a/b; rm -rf x", "https://x"])
def test_an_address_that_is_none_is_refused(course, address):
    course.publish(address)
    with pytest.raises(CommandError, match=r"pyproject.toml"):
        repository(course.root)


def test_without_an_address_nothing_links_to_one(course):
    course.publish("")
    assert repository(course.root) == ""
    made = replace(course.draft(), repository="")
    assert "colab" not in only(made.notebook("learner"), "title")["source"].lower()
    setup = only(made.notebook("learner"), "setup")["source"]
    assert "git clone" not in setup and setup.startswith("# Set-up")  # what is shown of the folded cell


def test_the_readme_has_a_clone_line_if_there_is_an_address():
    readme = (PROJECT_ROOT / "README.md").read_text(encoding="utf-8")
    assert readme_with_address(readme, repository(PROJECT_ROOT)) == readme
    with_address = readme_with_address(readme, ADDRESS)
    assert f"    git clone {ADDRESS} attention-course\n    cd attention-course\n    python3" in with_address
    assert "git clone" not in readme_with_address(with_address, "")


# ---- the first lines of a notebook


def run_first_lines(folder: Path, *options: str) -> subprocess.CompletedProcess:
    """Run them as a program in a Python without packages, or with this one's."""
    program = f"{find_course(ADDRESS)}\nprint(ready.__file__)"
    command = [sys._base_executable, *options, "-c", program]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment)


def copy_of_course(folder: Path, *, data: bool) -> Path:
    """What the first lines need of the course, where the line that fetches it would put it."""
    copy = folder / "tiny-course"
    (copy / "course_lib").mkdir(parents=True)
    for name in ("__init__", "ready", "runtime"):
        text = (PROJECT_ROOT / "course_lib" / f"{name}.py").read_text(encoding="utf-8")
        (copy / "course_lib" / f"{name}.py").write_text(text, encoding="utf-8")
    if data:
        (copy / "data").mkdir()
    return copy


def test_without_the_course_one_sentence_points_to_the_line_that_fetches_it(tmp_path):
    ran = run_first_lines(tmp_path, "-S")
    assert ran.returncode == 1 and ran.stdout == "" and len(ran.stderr.splitlines()) == 1
    assert "line 3" in ran.stderr and find_course(ADDRESS).splitlines()[2].startswith("#!git clone ")
    assert not list(tmp_path.iterdir())  # nothing is fetched unasked


@pytest.mark.parametrize(("data", "what"), [(True, "torch"), (False, "pip install")])
def test_a_fetched_course_is_found_and_what_else_is_missing_is_said(tmp_path, data, what):
    copy = copy_of_course(tmp_path, data=data)
    ran = run_first_lines(tmp_path, "-S")
    assert ran.returncode == 1 and str(copy) in ran.stderr and what in ran.stderr
    assert "git clone" not in ran.stderr.splitlines()[-1]


def test_each_missing_package_is_named_with_what_to_do(monkeypatch):
    ready.check()
    monkeypatch.setattr(ready, "SMALL", ("tqdm", "no-such-package"))
    with pytest.raises(ready.NotReady) as refused:
        ready.check()
    [shown] = refused.value._render_traceback_()  # what Jupyter shows instead of a traceback
    assert "no-such-package" in shown and "tqdm" not in shown
    assert shown.endswith(f'!"{sys.executable}" "{PROJECT_ROOT / "course_lib"}" packages')
    monkeypatch.setattr(ready, "PLATFORM", ("no-such-torch",))
    with pytest.raises(ready.NotReady, match=r"no-such-torch.*\n.*course_lib lab"):
        ready.check()
    monkeypatch.setattr(ready, "OLDEST", (99, 0))
    with pytest.raises(ready.NotReady, match=r"version 3\."):
        ready.check()


def test_the_packages_are_those_of_the_project():
    """Without those of JupyterLab and of authors, and without jaxtyping, which lessons can do without."""
    others = {"jupyterlab", "jsonschema", "nbclient", "nbformat", "jaxtyping"}
    assert {*ready.PLATFORM, *ready.SMALL} == set(needed("lab")) - others


# ---- a platform like Colab: a torch of its own, ipywidgets 7.7.1, no JupyterLab


@pytest.fixture(scope="module")
def platform(tmp_path_factory) -> Path:
    """A Python like Colab's, without the course and what only the course needs."""
    folder = tmp_path_factory.mktemp("platform")
    venv.create(folder, with_pip=True)
    install = [folder / "bin" / "python", "-m", "pip", "install", "-q"]
    versions = [f"{name}=={constraints()[name]}" for name in ("torch", "numpy", "matplotlib")]
    old = ("ipywidgets==7.7.1", "notebook==6.5.7")  # with an old ipykernel; the latest would bring JupyterLab
    subprocess.run([*install, *versions, *old], check=True)
    kernel = ["-m", "ipykernel", "install", "--prefix", folder, "--name", "platform"]
    subprocess.run([folder / "bin" / "python", *kernel], check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def published(tmp_path_factory) -> str:
    """A repository with what is committed, and its address."""
    path = tmp_path_factory.mktemp("published") / "attention-course"
    subprocess.run(["git", "clone", "-q", "--bare", PROJECT_ROOT, path], check=True)
    return path.as_uri()


def frozen(python_folder: Path) -> set[str]:
    command = [python_folder / "bin" / "python", "-m", "pip", "freeze"]
    return set(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split())


@pytest.mark.kit
@pytest.mark.parametrize("source", sources(PROJECT_ROOT), ids=lambda path: path.parent.name)
def test_a_single_notebook_runs_on_a_platform_like_colab(platform, published, tmp_path, source):
    from jupyter_client.kernelspec import KernelSpecManager
    from jupyter_client.manager import AsyncKernelManager
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError

    notebook = replace(drafted(source), repository=published).notebook("learner")
    setup = only(notebook, "setup")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment["COURSE_HOME"] = str(tmp_path / "home")
    folder, before = tmp_path / "empty", frozen(platform)
    folder.mkdir()

    def run() -> None:
        specs = KernelSpecManager(kernel_dirs=[str(platform / "share" / "jupyter" / "kernels")])
        specs.ensure_native_kernel = False
        client = NotebookClient(notebook, timeout=600, shutdown_kernel="immediate")
        client.km = AsyncKernelManager(kernel_name="platform", kernel_spec_manager=specs)
        asyncio.run(client.async_execute(env=environment, cwd=str(folder)))

    with pytest.raises(CellExecutionError, match=r"line 3"):
        run()
    assert not list(folder.iterdir())
    assert setup["source"].count("\n#!git") == 1
    setup["source"] = setup["source"].replace("\n#!git", "\n!git")
    run()
    views = [
        output["data"]
        for cell in notebook["cells"]
        for output in cell.get("outputs", ())
        if "application/vnd.jupyter.widget-view+json" in output.get("data", {})
    ]
    bars = [data for data in views if "%|" in data["text/plain"]]  # of training runs; nothing to keep
    static = [data for data in views if {"text/html", "image/png", "text/markdown"} & set(data)]
    assert static and [data for data in views if data not in static + bars] == []
    assert (folder / "attention-course" / "data").is_dir()
    after = frozen(platform)
    assert before <= after and not [line for line in after if line.startswith("jupyterlab==")]
    setup["source"] = setup["source"].replace("\n!git", "\n#!git")
    notebook["cells"] = [setup]
    run()  # after a restart of the kernel, the fetched course is found
