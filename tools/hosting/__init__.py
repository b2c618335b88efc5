"""What a JupyterHub for the course needs; `hosting/` has its configuration, and docs/hosting.md explains it.

settings.py        the settings of the local hub, from environment variables
checks.py          what must be true before the hub starts
learners.py        the list of learners with their passwords, and the command that adds to it
authenticator.py   signs in those who are on the list
spawner.py         starts a learner's server under a system user of the learner's own
start.py           prepares a learner's folder, then starts JupyterLab; the image uses it too
memory.py          limits the memory of learners' processes, and explains in the notebook when it is used up
"""
