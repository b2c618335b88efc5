"""The list of learners: a JSON file in the hub's state folder, with a hash of each learner's password.

    sudo .venv/bin/python -m tools.hosting.learners ada grace             # add two learners
    sudo .venv/bin/python -m tools.hosting.learners --instructor emmy     # may use the hub's admin page
    sudo .venv/bin/python -m tools.hosting.learners --reset ada           # give ada a new password
    sudo .venv/bin/python -m tools.hosting.learners --remove ada          # ada can't sign in any more

The first three print names and passwords to hand out. The passwords are random, and aren't stored. The hub
reads the list at every sign-in, so it never has to be restarted.
"""

from __future__ import annotations

import argparse
import json
import re
import secrets
import stat
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from course_lib.runtime import write_json
from tools.cli.environment import CommandError
from tools.hosting.settings import state_folder

FILE = "learners.json"
NAME = r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*"  # becomes part of a system user's name and of addresses
LONGEST_NAME = 20
LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"  # without those that look alike
HASH = re.compile(r"\w+:\S{20,}")  # as jupyter_server writes it: argon2:$argon2id$…


@dataclass(frozen=True)
class Learner:
    """Raises a ValueError if the file, which anyone with root's rights can edit, has something else in it."""

    name: str
    password_hash: str
    instructor: bool = False

    def __post_init__(self) -> None:
        if not (isinstance(self.name, str) and is_name(self.name)):
            raise ValueError(f"{str(self.name)[:40]!r} can't be a learner's name")
        if not (isinstance(self.password_hash, str) and HASH.fullmatch(self.password_hash)):
            raise ValueError(f"the password_hash of {self.name} isn't the hash of a password")
        if not isinstance(self.instructor, bool):
            raise ValueError(f"{self.name}'s instructor is {self.instructor!r}, not true or false")


def is_name(text: str) -> bool:
    """
    >>> is_name("ada"), is_name("ada-2"), is_name("-r"), is_name("../x"), is_name("Ada"), is_name("ada\\n")
    (True, True, False, False, False, False)
    """
    return len(text) <= LONGEST_NAME and re.fullmatch(NAME, text, re.ASCII) is not None


def read_learners(file: Path) -> dict[str, Learner]:
    """The learners by name; none if there is no list yet."""
    if not file.exists():
        return {}
    if stat.S_IMODE(file.stat().st_mode) & 0o077:
        raise CommandError(
            f"Other users can read the passwords in {file}.", f"Make it yours alone with `chmod 600 {file}`."
        )
    try:
        learners = [Learner(**entry) for entry in json.loads(file.read_text(encoding="utf-8"))]
        by_name = {learner.name: learner for learner in learners}
        if len(by_name) < len(learners):
            raise ValueError("a name is listed twice")
    except (TypeError, ValueError) as error:
        raise CommandError(
            f"{file} isn't a list of learners: {error}.",
            "Correct it, or delete the file and add all learners again; their work stays.",
        ) from None
    return by_name


def add(file: Path, names: list[str], *, instructor: bool = False, reset: bool = False) -> dict[str, str]:
    """Add learners, or with `reset` give those who exist a new password; returns the passwords by name."""
    from jupyter_server.auth import passwd

    learners = read_learners(file)
    for name in names:
        if not is_name(name):
            raise CommandError(
                f"The list of learners wasn't changed: {name[:40]!r} can't be a learner's name.",
                f"A name can have up to {LONGEST_NAME} lowercase letters (a–z), digits and single hyphens, "
                "and starts with a letter.",
            )
        if (name in learners) != reset:
            raise CommandError(
                f"{name} is {'not' if reset else 'already'} on the list, which wasn't changed.",
                f"To {'add a learner, leave out' if reset else 'replace a password, use'} --reset.",
            )
    passwords = {name: new_password() for name in names}
    for name, password in passwords.items():
        is_instructor = instructor or (reset and learners[name].instructor)
        learners[name] = Learner(name, passwd(password), is_instructor)
    write(file, learners)
    return passwords


def remove(file: Path, names: list[str]) -> None:
    learners = read_learners(file)
    for name in names:
        if name not in learners:
            raise CommandError(
                f"{name[:40]!r} is not on the list, which wasn't changed.",
                "Without arguments, the command prints who is.",
            )
    write(file, {name: learner for name, learner in learners.items() if name not in names})


def write(file: Path, learners: dict[str, Learner]) -> None:
    if not file.exists():
        file.touch(mode=0o600)  # its mode is kept
    write_json(file, [asdict(learner) for learner in learners.values()])


def new_password() -> str:
    return "-".join("".join(secrets.choice(LETTERS) for _ in range(4)) for _ in range(3))


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.hosting.learners",
        description="Add learners to the hub, and print their passwords. Without names, print who is there.",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="a user name, such as ada or group-7")
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--instructor", action="store_true", help="may use the admin page")
    choice.add_argument("--reset", action="store_true", help="replace the passwords of learners on the list")
    choice.add_argument("--remove", action="store_true", help="take learners off the list; their files stay")
    args = parser.parse_args(argv)
    try:
        file = state_folder() / FILE
        if args.names and args.remove:
            remove(file, args.names)
            print(f"Removed: {', '.join(args.names)}. Running servers end within a minute; files stay.")
        elif args.names:
            passwords = add(file, args.names, instructor=args.instructor, reset=args.reset)
            for name, password in passwords.items():
                print(f"{name:{LONGEST_NAME}}  {password}")
        else:
            for learner in read_learners(file).values():
                print(learner.name + ("  (instructor)" if learner.instructor else ""))
    except CommandError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
