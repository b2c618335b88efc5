"""The list of learners: who gets on it, what a broken one says, and who can sign in."""

from __future__ import annotations

import asyncio
import json

import pytest
from jupyter_server.auth import passwd_check

from tools.cli.environment import CommandError
from tools.hosting import learners
from tools.hosting.learners import add, is_name, read_learners, remove

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
A_HASH = "sha1:0123456789abcdef0123456789"


@pytest.fixture
def file(tmp_path):
    return tmp_path / learners.FILE


def test_learners_get_passwords_of_their_own_which_are_not_stored(file):
    passwords = add(file, ["ada", "grace"]) | add(file, ["emmy"], instructor=True)
    known = read_learners(file)
    assert list(known) == list(passwords) == ["ada", "grace", "emmy"]
    assert len(set(passwords.values())) == 3 and file.stat().st_mode & 0o777 == 0o600
    assert (known["ada"].instructor, known["emmy"].instructor) == (False, True)
    for name, password in passwords.items():
        assert len(password) >= 12 and password not in file.read_text(encoding="utf-8")
        fits = [other for other in known if passwd_check(known[other].password_hash, password)]
        assert fits == [name]


def test_a_reset_changes_one_password_and_keeps_the_role(file):
    old = add(file, ["ada"]) | add(file, ["emmy"], instructor=True)
    before = read_learners(file)
    new = add(file, ["emmy"], reset=True)["emmy"]
    after = read_learners(file)
    assert after["ada"] == before["ada"] and after["emmy"].instructor
    assert [passwd_check(after["emmy"].password_hash, word) for word in (old["emmy"], new)] == [False, True]


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
    ("entry", "expected"),
    [
        ("bob", "isn't a list of learners"),
        ({"name": "bob"}, "password_hash"),
        ({"name": "bob", "password_hash": A_HASH, "admin": True}, "admin"),
        ({"name": "bob", "password_hash": "password"}, "hash of a password"),
        ({"name": "bob", "password_hash": None}, "hash of a password"),
        ({"name": "bob", "password_hash": A_HASH, "instructor": "no"}, "true or false"),
        ({"name": "Bob", "password_hash": A_HASH}, "'Bob'"),
        ({"name": 7, "password_hash": A_HASH}, "'7'"),
        ({"name": "ada", "password_hash": A_HASH}, "twice"),
    ],
)
def test_a_broken_list_says_what_is_wrong(file, entry, expected):
    add(file, ["ada"])
    file.write_text(json.dumps([*json.loads(file.read_text()), entry]))
    with pytest.raises(CommandError, match=expected) as caught:
        read_learners(file)
    assert str(file) in str(caught.value)


@pytest.mark.parametrize("text", ["", "ada argon2:hash", "7", "null", "{", '{"ada": 1}'])
def test_a_file_that_is_no_list_is_refused(file, text):
    add(file, ["ada"])
    file.write_text(text)
    with pytest.raises(CommandError, match="isn't a list of learners"):
        read_learners(file)


def test_a_list_that_others_can_read_is_refused(file):
    add(file, ["ada"])
    file.chmod(0o640)
    with pytest.raises(CommandError, match="chmod 600"):
        read_learners(file)


def test_the_command_prints_what_to_hand_out(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("COURSE_HUB_STATE", str(tmp_path / "state"))
    assert learners.main(["ada", "grace"]) == 0
    printed = dict(line.split() for line in capsys.readouterr().out.splitlines())
    known = read_learners(tmp_path / "state" / learners.FILE)
    assert printed.keys() == known.keys() and passwd_check(known["ada"].password_hash, printed["ada"])
    assert learners.main(["--instructor", "emmy"]) == 0
    assert capsys.readouterr().out.split()[0] == "emmy"
    assert learners.main([]) == 0
    assert capsys.readouterr().out.splitlines() == ["ada", "grace", "emmy  (instructor)"]
    assert learners.main(["../x"]) == learners.main(["--remove", "../x"]) == 1
    assert capsys.readouterr().err.count("../x") == 2
    assert learners.main(["--remove", "ada", "emmy"]) == 0
    assert list(read_learners(tmp_path / "state" / learners.FILE)) == ["grace"]


def test_who_can_sign_in(file):
    pytest.importorskip("jupyterhub")
    from tools.hosting.authenticator import LearnerAuthenticator

    ada, emmy = add(file, ["ada"])["ada"], add(file, ["emmy"], instructor=True)["emmy"]
    authenticator = LearnerAuthenticator(file=str(file), allow_all=True)

    def sign_in(name: str, password: str) -> tuple[str, list[str]] | None:
        form = {"username": name, "password": password}
        found = asyncio.run(authenticator.get_authenticated_user(None, form))
        assert not (found and found["admin"])  # JupyterHub's admins could open everyone's server
        return found and (found["name"], found["groups"])

    assert sign_in("ada", ada) == sign_in("ADA", ada) == ("ada", [])
    assert sign_in("emmy", emmy) == ("emmy", ["instructors"])
    for name, password in [("ada", emmy), ("ada", ""), ("bob", ada), ("ada", "päßwort")]:
        assert sign_in(name, password) is None
    assert [sign_in(name, ada) for name in HOSTILE if name.lower().strip() != "ada"] == [None] * 13
    assert not any(authenticator.validate_username(name) for name in HOSTILE)
    file.write_text("ada short\n")  # a mistake of the instructor's lets nobody in, and the hub goes on
    assert sign_in("ada", "short") is None


def test_someone_who_was_removed_from_the_list_is_signed_out(file):
    pytest.importorskip("jupyterhub")
    from tools.hosting.authenticator import LearnerAuthenticator

    add(file, ["ada", "grace"])
    ada, grace = read_learners(file).values()
    authenticator = LearnerAuthenticator(file=str(file))
    assert asyncio.run(authenticator.refresh_user(ada)) is True
    with pytest.raises(CommandError, match="bob"):
        remove(file, ["ada", "bob"])
    assert asyncio.run(authenticator.refresh_user(ada)) is True
    remove(file, ["ada"])
    assert asyncio.run(authenticator.refresh_user(ada)) is False
    assert read_learners(file) == {"grace": grace}
    file.write_text("grace short\n")  # a mistake of the instructor's ends nobody's work
    assert asyncio.run(authenticator.refresh_user(grace)) is True
