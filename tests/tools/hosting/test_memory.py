"""The memory limit: what MEM_LIMIT may be, and what a notebook shows when it is used up."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from course_lib.runtime import PROJECT_ROOT
from tools.hosting import memory

CELLS = """
from IPython.core.interactiveshell import InteractiveShell
from tools.hosting import memory
memory.limit_memory()
shell = InteractiveShell.instance(colors="nocolor")
shell.extension_manager.load_extension("tools.hosting.memory")
for code in {cells}:
    shell.run_cell(code)
"""
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="other systems don't enforce the limit")


def run(code: str, limit: str) -> subprocess.CompletedProcess:
    variables = os.environ | {"MEM_LIMIT": limit, "PYTHONPATH": str(PROJECT_ROOT), "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [sys.executable, "-c", code], env=variables, capture_output=True, text=True, timeout=120
    )


@on_linux
def test_a_cell_that_needs_too_much_gets_advice_and_the_next_one_runs(tmp_path, monkeypatch):
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    cells = ["x = 1", "bytearray(10**9)", "[bytearray(10**6) for _ in range(10**6)]", "print('x is', x)"]
    done = run(CELLS.format(cells=[*cells, "raise RuntimeError('another')"]), str(2**29))
    assert done.stdout.count("Out of memory: on this hub, a notebook can use 0.2 GiB") == 2
    assert done.stdout.count(memory.FREED) == 2 and memory.STILL_FULL not in done.stdout
    assert "x is 1" in done.stdout
    assert done.stdout.count("Traceback") == 1 and "RuntimeError: another" in done.stdout


@on_linux
def test_while_variables_fill_the_memory_the_message_asks_for_a_restart(tmp_path, monkeypatch):
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    done = run(CELLS.format(cells=["z = []\nwhile True: z.append('x' * 10**6 + str(len(z)))"]), str(2**29))
    assert memory.STILL_FULL in done.stdout and memory.FREED not in done.stdout


def test_the_limit_is_inherited_and_cannot_be_raised():
    code = (
        "import subprocess, sys; from tools.hosting.memory import limit_memory; limit_memory();"
        "code = 'import resource; print(resource.getrlimit(resource.RLIMIT_DATA))';"
        "subprocess.run([sys.executable, '-c', code])"
    )
    limit = 2**30 - 2**28
    assert run(code, str(2**30)).stdout.strip() == str((limit, limit))
    assert run(code, "").stdout.strip() != str((limit, limit))


@pytest.mark.parametrize("value", ["2G", "-1", "1000", "²"])
def test_a_bad_limit_ends_with_a_sentence(value):
    from tools.cli.environment import CommandError
    from tools.hosting.memory import limit_memory

    with pytest.MonkeyPatch.context() as patch, pytest.raises(CommandError, match="number of bytes"):
        patch.setenv("MEM_LIMIT", value)
        limit_memory()
