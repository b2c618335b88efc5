"""pyproject.toml, environment.yml and constraints.txt say which versions are installed. They agree."""

from __future__ import annotations

import re
from importlib.metadata import distributions, version

import pytest
import yaml

from course_lib.cli.pins import PROJECT_ROOT, needed, project, requirements

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


@pytest.fixture(scope="module")
def conda() -> dict:
    return yaml.safe_load((PROJECT_ROOT / "environment.yml").read_text(encoding="utf-8"))


def test_every_direct_dependency_is_a_plain_pin_and_constrained_to_it():
    direct = pins(requirements("test"))
    assert direct.items() <= constraints().items()
    assert direct["torch"] == "2.13.0"


def test_conda_installs_the_same_pins(conda):
    assert set(conda) == {"name", "channels", "dependencies"}
    *from_conda, from_pip = conda["dependencies"]
    assert [re.match(r"\w+", line)[0] for line in from_conda] == ["python", "pip"]
    options = [line for line in from_pip["pip"] if line.startswith("-")]
    assert options == ["-c constraints.txt", "-e ."]
    ours = pins([line for line in from_pip["pip"] if line not in options])
    assert ours == {canonical(name): number for name, number in needed("test").items()}


def test_conda_takes_the_pythons_we_take(conda):
    assert conda["dependencies"][0].startswith("python" + project()["project"]["requires-python"])


def test_what_is_installed_is_what_is_pinned():
    for name, number in needed("test").items():
        assert version(name).partition("+")[0] == number, name


def test_the_constraints_cover_everything_our_dependencies_bring():
    """Walks what is installed, from our pins downwards: nothing may come in an unnamed version."""
    packaging = pytest.importorskip("packaging.requirements")
    installed = {canonical(each.name): each for each in distributions()}
    constrained, todo, seen = constraints(), list(pins(requirements("test"))), set()
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


def test_a_constraint_is_never_a_local_build():
    assert not [name for name, number in constraints().items() if "+" in number]
