"""A JupyterHub for one class on one machine. docs/hosting.md says how to use it.

Started as root, it gives each learner a system user, so that no learner can read another's files. Otherwise
all learners share the user who starts the hub, which is only good for trying it out.
"""

import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from tools.cli.environment import CommandError  # noqa: E402
from tools.hosting.authenticator import INSTRUCTORS, LearnerAuthenticator  # noqa: E402
from tools.hosting.checks import check_machine, memory_warning  # noqa: E402
from tools.hosting.learners import FILE  # noqa: E402
from tools.hosting.settings import KEPT, THREAD_VARIABLES, read_settings  # noqa: E402
from tools.hosting.spawner import LearnerSpawner, SharedUserSpawner  # noqa: E402

c = get_config()  # noqa: F821

try:
    settings = read_settings()
    check_machine(settings)
except CommandError as error:
    sys.exit(str(error))
if warning := memory_warning(settings.places):
    print(warning, file=sys.stderr)

# ---- the hub
c.JupyterHub.bind_url = f"http://{settings.address}:{settings.port}"
c.JupyterHub.hub_port = settings.port + 1
c.ConfigurableHTTPProxy.api_url = f"http://127.0.0.1:{settings.port + 2}"
c.ConfigurableHTTPProxy.pid_file = str(settings.state / "proxy.pid")
c.JupyterHub.db_url = f"sqlite:///{settings.state}/jupyterhub.sqlite"
c.JupyterHub.cookie_secret_file = str(settings.state / "cookie_secret")
c.JupyterHub.active_server_limit = settings.places
c.JupyterHub.template_paths = [str(HERE / "templates")]
c.JupyterHub.template_vars = {"places": settings.places}

# ---- who may sign in
c.JupyterHub.authenticator_class = LearnerAuthenticator
c.LearnerAuthenticator.file = str(settings.state / FILE)
c.LearnerAuthenticator.allow_all = True  # all who are on the list
c.LearnerAuthenticator.auth_refresh_age = 10  # seconds until someone who was removed is signed out
c.LearnerAuthenticator.auth_refresh_strict = True  # and can't use tokens any more

# Instructors aren't JupyterHub's admins, who could open every learner's server.
c.LearnerAuthenticator.manage_groups = True
c.JupyterHub.load_roles = [
    {
        "name": "instructor",
        "scopes": ["admin-ui", "list:users", "read:users", "delete:users", "read:servers", "delete:servers"],
        "groups": [INSTRUCTORS],
    }
]

# ---- learners' servers
c.Spawner.cmd = [sys.executable, "-P", "-m", "tools.hosting.start"]
c.Spawner.environment = {
    "PYTHONPATH": str(HERE.parent),
    **dict.fromkeys(THREAD_VARIABLES, "1"),  # with more, learners would slow each other down
    **{name: os.environ[name] for name in KEPT if name in os.environ},
}
c.Spawner.mem_limit = settings.memory  # tools/hosting/memory.py enforces it
c.Spawner.start_timeout = c.Spawner.http_timeout = 180  # seconds: a whole class may start at once
c.Spawner.poll_interval = 10  # seconds until the hub notices that a server has stopped itself

# An idle server stops itself. JupyterHub's idle culler can't see whether a notebook is still computing.
c.Spawner.args = [
    f"--MappingKernelManager.cull_idle_timeout={settings.idle}",
    f"--MappingKernelManager.cull_interval={min(settings.idle, 300)}",
    "--MappingKernelManager.cull_connected=True",  # also if its tab is still open somewhere
    f"--TerminalManager.cull_inactive_timeout={settings.idle}",
    f"--ServerApp.shutdown_no_activity_timeout={settings.idle}",
]
if os.geteuid() == 0:
    c.JupyterHub.spawner_class = LearnerSpawner
else:
    print(
        "Not started as root: learners can read and change each other's files. "
        "Only use this to try the hub by yourself."
    )
    c.JupyterHub.spawner_class = SharedUserSpawner
    c.SimpleLocalProcessSpawner.home_dir_template = str(settings.state / "homes" / "{username}")
