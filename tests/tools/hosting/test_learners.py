"""The list of learners: who gets on it, what a broken one says, and who can sign in."""

from __future__ import annotations

import asyncio

import pytest

from tools.cli.environment import CommandError
from tools.hosting import learners
from tools.hosting.learners import add, is_name, read_learners

HOSTILE = (
    "../x",
    "-r",
    "",
    "ada\n",
    "ada\nroot",
    "Ada",
    "ädä",
    "a b",
    "a;b",
    "$(id)",
    "a" * 21,
    "7up",
    "a--b",
    "a/",
    ".",
)


@pytest.fixture
def file(tmp_path):
    return tmp_path / "learners.txt"


def test_learners_get_passwords_of_their_own_and_only_the_owner_can_read_them(file):
    ada, grace = add(file, ["ada", "grace"])
    (emmy,) = add(file, ["emmy"], instructor=True)
    assert read_learners(file) == {"ada": ada, "grace": grace, "emmy": emmy}
    assert file.stat().st_mode & 0o777 == 0o600
    assert len({ada.password, grace.password, emmy.password}) == 3
    assert (ada.instructor, emmy.instructor) == (False, True)


def test_a_reset_changes_one_password_and_keeps_the_role(file):
    before = add(file, ["ada"]) + add(file, ["emmy"], instructor=True)
    (emmy,) = add(file, ["emmy"], reset=True)
    assert emmy.instructor and emmy.password != before[1].password
    assert read_learners(file)["ada"] == before[0]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_that_could_do_harm_is_refused_and_changes_nothing(file, name):
    add(file, ["ada"])
    before = file.read_bytes()
    assert not is_name(name)
    with pytest.raises(CommandError):
        add(file, ["grace", name])
    assert file.read_bytes() == before


@pytest.mark.parametrize(("names", "reset"), [(["ada"], False), (["grace"], True)])
def test_an_existing_learner_is_not_added_and_an_unknown_one_not_reset(file, names, reset):
    add(file, ["ada"])
    before = file.read_bytes()
    with pytest.raises(CommandError):
        add(file, names, reset=reset)
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    "line", ["bob", "bob short", "Bob long-enough-word", "bob long-enough-word admin", "ada long-enough-word"]
)
def test_a_broken_list_names_its_line(file, line):
    add(file, ["ada"])
    with file.open("a") as stream:
        stream.write(f"\n# a comment\n{line}\n")
    with pytest.raises(CommandError, match="line 5"):
        read_learners(file)


def test_a_list_that_others_can_read_is_refused(file):
    add(file, ["ada"])
    file.chmod(0o640)
    with pytest.raises(CommandError, match="chmod 600"):
        read_learners(file)


def test_the_command_prints_what_to_hand_out(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("COURSE_HUB_STATE", str(tmp_path / "state"))
    assert learners.main(["ada", "grace"]) == 0
    printed = capsys.readouterr().out
    assert learners.main([]) == 0
    assert capsys.readouterr().out == printed
    known = read_learners(tmp_path / "state" / learners.FILE)
    assert [line.split() for line in printed.splitlines()] == [
        [ada.name, ada.password] for ada in known.values()
    ]
    assert learners.main(["../x"]) == 1
    assert "../x" in capsys.readouterr().err


def test_who_can_sign_in(file):
    pytest.importorskip("jupyterhub")
    from tools.hosting.authenticator import LearnerAuthenticator

    ada, emmy = *add(file, ["ada"]), *add(file, ["emmy"], instructor=True)
    authenticator = LearnerAuthenticator(file=str(file), allow_all=True)

    def sign_in(name: str, password: str) -> tuple[str, bool] | None:
        form = {"username": name, "password": password}
        found = asyncio.run(authenticator.get_authenticated_user(None, form))
        return found and (found["name"], found["admin"])

    assert sign_in("ada", ada.password) == sign_in("ADA", ada.password) == ("ada", False)
    assert sign_in("emmy", emmy.password) == ("emmy", True)
    for name, password in [("ada", emmy.password), ("ada", ""), ("bob", ada.password), ("ada", "päßwort")]:
        assert sign_in(name, password) is None
    assert [sign_in(name, ada.password) for name in HOSTILE if name.lower().strip() != "ada"] == [None] * 13
    assert not any(authenticator.validate_username(name) for name in HOSTILE)
    file.write_text("ada short\n")  # a mistake of the instructor's lets nobody in, and the hub goes on
    assert sign_in("ada", "short") is None


def test_someone_who_was_removed_from_the_list_is_signed_out(file):
    pytest.importorskip("jupyterhub")
    from tools.hosting.authenticator import LearnerAuthenticator

    (ada,) = add(file, ["ada"])
    authenticator = LearnerAuthenticator(file=str(file))
    assert asyncio.run(authenticator.refresh_user(ada)) is True
    file.write_text("")
    assert asyncio.run(authenticator.refresh_user(ada)) is False
