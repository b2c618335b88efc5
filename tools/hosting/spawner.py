"""Start a learner's server as a local process under a system user of the learner's own.

The system user of the learner ada is course-ada. It is created at the first start, without a password, so it
can't be used to log in to the machine. Only this user can read its home folder.
"""

from __future__ import annotations

import pwd
import subprocess
from collections.abc import Callable

from jupyterhub.spawner import LocalProcessSpawner, SimpleLocalProcessSpawner

from tools.hosting.learners import is_name

PREFIX = "course-"  # keeps learners apart from all other users of the machine


def system_user(name: str) -> pwd.struct_passwd:
    """The system user of a learner, who is created if it doesn't exist."""
    if not is_name(name):
        raise ValueError(f"{name!r} can't be a learner's name")
    try:
        return pwd.getpwnam(PREFIX + name)
    except KeyError:
        command = [
            "useradd",
            "--create-home",
            "--shell",
            "/bin/bash",
            "--key",
            "HOME_MODE=0700",
            PREFIX + name,
        ]
        subprocess.run(command, check=True)
        return pwd.getpwnam(PREFIX + name)


class ListedSpawner(LocalProcessSpawner):
    """Ends the server of someone who was removed from the list of learners."""

    async def poll_and_notify(self) -> int | None:  # JupyterHub calls it every few seconds
        if not self.authenticator.lists(self.user.name):
            await self.stop()
        return await super().poll_and_notify()


class SharedUserSpawner(ListedSpawner, SimpleLocalProcessSpawner):
    """All learners are the system user who has started the hub."""


class LearnerSpawner(ListedSpawner):
    """A kernel's sockets are files in the learner's home: other users of the machine could read TCP ports."""

    def make_preexec_fn(self, name: str) -> Callable[[], None]:
        return super().make_preexec_fn(PREFIX + name)

    def user_env(self, env: dict[str, str]) -> dict[str, str]:
        user = system_user(self.user.name)
        runtime = f"{user.pw_dir}/.jupyter_run"  # short: a socket's path has at most 107 characters
        return env | {
            "USER": user.pw_name,
            "HOME": user.pw_dir,
            "SHELL": user.pw_shell,
            "JUPYTER_RUNTIME_DIR": runtime,
        }

    def get_args(self) -> list[str]:
        return [*super().get_args(), "--KernelManager.transport=ipc"]
