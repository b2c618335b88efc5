"""The one exception of the door: something the person at the keyboard can put right."""

from __future__ import annotations


class Trouble(Exception):
    """What happened, what to do about it, and the last lines of whoever knows more.

    >>> print(Trouble("There is no room on the disk.", "Free 2.5 GB, then run the same command again."))
    There is no room on the disk.
    Free 2.5 GB, then run the same command again.
    """

    def __init__(self, happened: str, todo: str, *, evidence: str = ""):
        super().__init__(happened, todo, evidence)
        self.happened, self.todo, self.evidence = happened, todo, evidence

    def __str__(self) -> str:
        quoted = ["    " + line for line in self.evidence.splitlines()]
        return "\n".join([self.happened, *quoted, self.todo])
