"""pyproject.toml says which versions will do, constraints.txt and uv.lock which are installed."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import distributions, version

import pytest
import yaml

from tools.cli.environment import PROJECT_ROOT, admits, needed, project

EXTRAS = ("site", "hub", "grading")  # besides those that the command line installs
PIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*==[0-9][0-9A-Za-z.]*")


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def pins(lines: list[str]) -> dict[str, str]:
    """{"torch": "2.13.0"}; a line that is no plain pin, or a name that comes twice, is an error."""
    found: dict[str, str] = {}
    for line in lines:
        assert PIN.fullmatch(line), f"expected name==version, got {line!r}"
        name, number = line.split("==")
        assert canonical(name) not in found, f"{name} is pinned twice"
        found[canonical(name)] = number
    return found


def constraints() -> dict[str, str]:
    lines = (PROJECT_ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    return pins([line for line in lines if line and not line.startswith("#")])


def test_every_direct_dependency_is_installed_in_one_version_which_its_range_admits():
    direct = {canonical(name): constraints()[canonical(name)] for name in needed("test")}
    for name, wanted in needed("test").items():
        assert admits(wanted, direct[canonical(name)]), f"{name} {wanted}"
        assert admits(wanted, version(name)), f"{name}, as it is installed here"
    # The bare machine that the results were made on.
    there = {"torch": "2.11.0+cu130", "numpy": "2.5.2", "safetensors": "0.8.0", "tokenizers": "0.23.2"}
    for name, found in there.items():
        assert admits(needed("training")[name], found)


def test_other_extras_are_pinned_to_versions_that_their_ranges_admit():
    everything = needed("lab", *EXTRAS)
    tools = {name: everything[name] for name in everything.keys() - needed("lab").keys()}
    assert {"sphinx", "jupyterhub", "nbgrader"} <= tools.keys()
    for name, wanted in tools.items():
        assert admits(wanted, constraints()[canonical(name)]), f"{name} {wanted}"


def test_conda_installs_what_the_lessons_need_on_the_pythons_we_take():
    conda = yaml.safe_load((PROJECT_ROOT / "environment.yml").read_text(encoding="utf-8"))
    assert set(conda) == {"name", "channels", "dependencies"}
    *from_conda, from_pip = conda["dependencies"]
    assert [re.match(r"\w+", line)[0] for line in from_conda] == ["python", "pip"]
    assert from_conda[0].startswith("python" + project()["project"]["requires-python"])
    assert from_pip["pip"] == ["-c constraints.txt", "-e .[lab]"]


def test_uv_locks_the_same_pins_for_the_same_requirements():
    """From PyPI: the address of a mirror would be useless to everyone else."""
    lock = tomllib.loads((PROJECT_ROOT / "uv.lock").read_text(encoding="utf-8"))
    ours = next(entry for entry in lock["package"] if entry["source"] == {"editable": "."})
    others = [entry for entry in lock["package"] if entry is not ours]
    assert pins([f"{entry['name']}=={entry['version']}" for entry in others]) == constraints()
    required = {line["name"]: line["specifier"] for line in ours["metadata"]["requires-dist"]}
    assert required.keys() == needed("test", *EXTRAS).keys()
    for name, wanted in needed("test", *EXTRAS).items():
        assert set(required[name].split(",")) == set(wanted.split(",")), name
    assert lock["requires-python"] == project()["project"]["requires-python"]
    assert set(lock["supported-markers"]) == {
        " and ".join(sorted(line.split(" and "))) for line in project()["tool"]["uv"]["environments"]
    }
    for entry in others:
        assert entry["source"] == {"registry": "https://pypi.org/simple"}
        files = [*entry["wheels"], *([entry["sdist"]] if "sdist" in entry else [])]
        assert all(file["url"].startswith("https://files.pythonhosted.org/packages/") for file in files)


def test_admits_agrees_with_pips_own_reading_of_ranges():
    specifiers = pytest.importorskip("packaging.specifiers")
    for wanted in {*needed("test").values(), ">=1.0", "<2", "==0.17.4", ">=2.11,<3"}:
        for found in ("0.9.18", "0.17.4", "0.17.5", "1.0", "1", "2.0.0", "2.10", "2.11.0", "3", "11.2"):
            assert admits(wanted, found) == specifiers.SpecifierSet(wanted).contains(found), (wanted, found)


def test_the_constraints_cover_everything_our_dependencies_bring():
    """Walks what is installed, from our pins downwards: nothing may come in an unnamed version."""
    packaging = pytest.importorskip("packaging.requirements")
    installed = {canonical(each.name): each for each in distributions()}
    direct = [*needed("test", *EXTRAS), "setuptools"]
    constrained, todo, seen = constraints(), [*map(canonical, direct)], set()
    while todo:
        name = todo.pop()
        if name in seen or name not in installed:
            continue
        seen.add(name)
        assert name in constrained, f"{name} is installed but constraints.txt does not name it"
        for line in installed[name].requires or []:
            requirement = packaging.Requirement(line)
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                todo.append(canonical(requirement.name))
    assert {"torch", "tornado", "ipython", "soupsieve"} <= seen
    assert not [name for name, number in constraints().items() if "+" in number]
