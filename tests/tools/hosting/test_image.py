"""The image agrees with the code."""

from __future__ import annotations

import json
import re

from course_lib.runtime import PROJECT_ROOT
from tools.hosting.settings import THREAD_VARIABLES

DOCKERFILE = (PROJECT_ROOT / "hosting" / "Dockerfile").read_text(encoding="utf-8")


def test_the_image_limits_threads_and_runs_as_a_learner():
    assert all(f"{name}=1" in DOCKERFILE for name in THREAD_VARIABLES)
    users = re.findall(r"^USER (.*)", DOCKERFILE, re.MULTILINE)
    assert users == ["1000"] and "--uid 1000" in DOCKERFILE
    assert DOCKERFILE.index("\nUSER 1000") > DOCKERFILE.index("chmod -R a+rX,go-w")


def test_the_image_starts_the_server_as_the_hub_does():
    command = json.loads(re.search(r"^CMD (.*)", DOCKERFILE, re.MULTILINE)[1])
    assert command[:4] == ["python", "-P", "-m", "tools.hosting.start"]


def test_the_context_of_the_image_leaves_out_what_is_private_or_large():
    ignored = (PROJECT_ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert {".git", ".venv", "build", "wheels", "progress-*.json"} <= set(ignored)
