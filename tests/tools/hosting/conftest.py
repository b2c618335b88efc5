"""A hub runs on Linux; on macOS it can be tried out."""

import os

collect_ignore_glob = ["test_*.py"] if os.name == "nt" else []
