"""The list of learners: a text file in the hub's state folder, with a name and a password in each line.

    sudo .venv/bin/python -m tools.hosting.learners ada grace             # add two learners
    sudo .venv/bin/python -m tools.hosting.learners --instructor emmy     # may use the hub's admin page
    sudo .venv/bin/python -m tools.hosting.learners --reset ada           # give ada a new password

Each command prints names and passwords to hand out. The passwords are random, and only the hub's own user can
read the file. The hub reads it again at every login, so it never has to be restarted; to remove a learner,
delete the line.
"""

from __future__ import annotations

import argparse
import re
import secrets
import stat
import sys
from dataclasses import dataclass
from pathlib import Path

from course_lib.runtime import write_atomically
from tools.cli.environment import CommandError
from tools.hosting.settings import state_folder

FILE = "learners.txt"
NAME = r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*"  # becomes part of a system user's name and of addresses
LONGEST_NAME = 20
SHORTEST_PASSWORD = 10
LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"  # without those that look alike
INSTRUCTOR = "instructor"
HEADER = f"# One learner per line: name, password, and {INSTRUCTOR!r} for those who may use the admin page.\n"


@dataclass(frozen=True)
class Learner:
    name: str
    password: str
    instructor: bool = False

    def __str__(self) -> str:
        return f"{self.name:{LONGEST_NAME}}  {self.password}{f'  {INSTRUCTOR}' if self.instructor else ''}"


def is_name(text: str) -> bool:
    """
    >>> is_name("ada"), is_name("ada-2"), is_name("-r"), is_name("../x"), is_name("Ada"), is_name("ada\\n")
    (True, True, False, False, False, False)
    """
    return len(text) <= LONGEST_NAME and re.fullmatch(NAME, text, re.ASCII) is not None


def read_learners(file: Path) -> dict[str, Learner]:
    """The learners by name; an error names the line that is wrong."""
    if not file.exists():
        return {}
    if stat.S_IMODE(file.stat().st_mode) & 0o077:
        raise CommandError(
            f"Other users can read the passwords in {file}.", f"Make it yours alone with `chmod 600 {file}`."
        )
    learners: dict[str, Learner] = {}
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        if words := line.partition("#")[0].split():
            learner = parse(words, f"{file}, line {number}")
            if learner.name in learners:
                raise CommandError(
                    f"{file}, line {number}: {learner.name} is listed twice.", "Delete one line."
                )
            learners[learner.name] = learner
    return learners


def parse(words: list[str], where: str) -> Learner:
    name, password, *rest = [*words, ""][:2] + words[2:]
    check_name(name, where)
    if len(password) < SHORTEST_PASSWORD or rest not in ([], [INSTRUCTOR]):
        raise CommandError(
            f"{where}: expected a name, a password of at least {SHORTEST_PASSWORD} characters, "
            f"and perhaps the word {INSTRUCTOR!r}.",
            "Correct the line, or delete it.",
        )
    return Learner(name, password, bool(rest))


def check_name(name: str, where: str) -> None:
    if not is_name(name):
        raise CommandError(
            f"{where}: {name[:40]!r} can't be a learner's name.",
            f"A name has at most {LONGEST_NAME} characters: small letters from a to z, digits and single "
            "hyphens, with a letter first.",
        )


def add(file: Path, names: list[str], *, instructor: bool = False, reset: bool = False) -> list[Learner]:
    """Add learners with new passwords, or with `reset` replace the passwords of those who exist."""
    learners = read_learners(file)
    for name in names:
        check_name(name, "The list of learners wasn't changed")
        if (name in learners) != reset:
            raise CommandError(
                f"{name} is {'not' if reset else 'already'} on the list, which wasn't changed.",
                f"To {'add a learner, leave out' if reset else 'replace a password, use'} --reset.",
            )
    new = {
        name: Learner(name, new_password(), instructor or (reset and learners[name].instructor))
        for name in names
    }
    if not file.exists():
        file.touch(mode=0o600)
    write_atomically(file, HEADER + "".join(f"{learner}\n" for learner in (learners | new).values()))
    return list(new.values())


def new_password() -> str:
    return "-".join("".join(secrets.choice(LETTERS) for _ in range(4)) for _ in range(3))


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.hosting.learners",
        description="Add learners to the hub, and print their passwords. Without names, print the list.",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="a login name, such as ada or group-7")
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--instructor", action="store_true", help="may use the admin page")
    choice.add_argument("--reset", action="store_true", help="replace the passwords of learners on the list")
    args = parser.parse_args(argv)
    try:
        file = state_folder() / FILE
        changed = add(file, args.names, instructor=args.instructor, reset=args.reset) if args.names else None
        for learner in read_learners(file).values() if changed is None else changed:
            print(learner)
    except CommandError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
