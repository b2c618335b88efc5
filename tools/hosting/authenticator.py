"""Sign in the people on the list of learners, each with a password of their own."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any

from jupyter_server.auth import passwd, passwd_check
from jupyterhub.auth import Authenticator
from traitlets import Unicode

from tools.cli.environment import CommandError
from tools.hosting.learners import is_name, read_learners

NOBODYS = passwd(secrets.token_hex())


INSTRUCTORS = "instructors"  # the group whose role hosting/jupyterhub_config.py defines


class LearnerAuthenticator(Authenticator):
    """The list is read at every sign-in, so a change counts at once."""

    file = Unicode(help="The list of learners.").tag(config=True)

    def validate_username(self, username: str) -> bool:
        return is_name(username)

    async def authenticate(self, handler: Any, data: dict[str, str]) -> dict[str, Any] | None:
        try:
            learners = read_learners(Path(self.file))
        except (CommandError, OSError) as error:
            self.log.error("Nobody can sign in. %s", error)
            return None
        learner = learners.get(self.normalize_username(data["username"]))
        stored = learner.password_hash if learner else NOBODYS  # takes as long to compare
        if not passwd_check(stored, data["password"]) or learner is None:
            return None
        groups = [INSTRUCTORS] if learner.instructor else []
        return {"name": learner.name, "admin": False, "groups": groups}

    async def refresh_user(self, user: Any, handler: Any = None, **_: Any) -> bool:
        """Whether someone who is signed in is still on the list. JupyterHub asks every few minutes."""
        if handler is not None and not hasattr(handler, "_token_authenticated"):
            handler._token_authenticated = False  # JupyterHub 6.1.1 reads it without having set it
        return self.lists(user.name)

    def lists(self, name: str) -> bool:
        """Whether the list has this name. If it can't be read, nobody loses a server for that."""
        try:
            return name in read_learners(Path(self.file))
        except (CommandError, OSError) as error:
            self.log.error("%s", error)
            return True
