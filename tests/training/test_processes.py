"""Two real processes that train one model: as good as one, stopped together, and not left waiting."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from course_lib.cli.commands import parser
from course_lib.models.registry import SYSTEMS
from course_lib.runtime import PROJECT_ROOT
from course_lib.text.batch import make_batch
from course_lib.training.checkpoint import read_about
from course_lib.training.job import Job, run_job
from course_lib.training.processes import (
    ALONE,
    Processes,
    join,
    own_device,
    seconds_to_wait,
)

WORKER = Path(__file__).with_name("worker.py")
GUIDE = (PROJECT_ROOT / "docs" / "training.md").read_text(encoding="utf-8")
TORCHRUN = (sys.executable, "-m", "torch.distributed.run", "--standalone", "--local-addr", "127.0.0.1")
LONGEST = 120  # seconds any of these may take on a busy machine


def two_processes(folder: Path, *asked: str, **environment: str) -> subprocess.Popen:
    """`course_lib train transformer` in two processes that talk over this machine's own 127.0.0.1."""
    own = {
        "GLOO_SOCKET_IFNAME": "lo0" if sys.platform == "darwin" else "lo",
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": str(PROJECT_ROOT),
    }
    asked = (
        "train",
        "transformer",
        *asked,
        "--tokens-per-batch",
        "60",
        "--device",
        "cpu",
        "--folder",
        str(folder),
    )
    return subprocess.Popen(
        [*TORCHRUN, "--nproc-per-node", "2", str(WORKER), *asked],
        env=os.environ | own | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder.parent,
    )


def end_of(process: subprocess.Popen) -> tuple[int, str, str]:
    try:
        out, err = process.communicate(timeout=LONGEST)
    finally:
        process.kill()
    return process.returncode, out, err


TOY = ("--scale", "toy", "--steps", "24")  # dropout 0.1; a look every third step


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run that nothing disturbs, and what two processes found out about themselves after it."""
    home = tmp_path_factory.mktemp("whole")
    code, out, err = end_of(two_processes(home / "run", *TOY, NUMBERS=str(home)))
    assert code == 0, err
    found = [json.loads((home / f"numbers_{rank}.json").read_text()) for rank in range(2)]
    return home / "run", out, found


on_posix = pytest.mark.skipif(sys.platform == "win32", reason="signals are another matter there")


# ---- two processes against one


@pytest.mark.slow
def test_every_system_learns_as_in_one_process(whole):
    """In float32, without dropout. The batches have 5, 1 and 4 rows: an odd number, fewer than processes."""
    found = whole[2][0]["systems"]
    assert found.keys() == {system.name for system in SYSTEMS if not system.counts}
    for name, (gradients, weights) in found.items():
        assert gradients < 1e-6, name  # of entries up to about 1: only the order of sums differs
        assert weights < 1e-5, name  # after three steps of 1e-3


@pytest.mark.slow
def test_validation_is_shared_and_the_same_everywhere(whole):
    losses = [found["losses"] for found in whole[2]]
    alone, together = losses[0]
    assert losses[0] == losses[1]
    assert together == pytest.approx(alone, rel=1e-12)


@pytest.mark.slow
def test_one_wish_is_enough_to_agree(whole):
    assert [found["agreed"] for found in whole[2]] == [[True, True, False]] * 2


@pytest.mark.slow
def test_processes_with_different_runs_are_refused_in_all_of_them(whole):
    for found in whole[2]:
        assert found["refused"].startswith(
            "Expected the run to be the same in all 2 processes, but it differs in process 1 from process 0."
        )


@pytest.mark.slow
def test_who_falls_silent_is_waited_for_no_longer_than_said(whole):
    assert 1.5 < whole[2][0]["seconds"] < 11  # the other one was silent for 12


@pytest.mark.slow
def test_only_the_leader_writes_and_prints(whole):
    folder, out, _ = whole
    lines = out.splitlines()
    assert len(lines) == len(set(lines)), out
    assert [int(step) for step in re.findall(r"^step +(\d+)", out, flags=re.MULTILINE)] == [*range(3, 25, 3)]
    assert not (folder / "wrote_1.txt").exists()
    assert set((folder / "wrote_0.txt").read_text().split()) == {"last.safetensors", "best.safetensors"}
    assert [(folder / f"ended_{rank}.txt").read_text() for rank in range(2)] == ["finished 24\n"] * 2


# ---- ends before the end


@pytest.mark.slow
@on_posix
def test_a_killed_worker_ends_the_run_and_a_resumed_one_is_as_if_nothing_had_been(whole, tmp_path):
    folder = tmp_path / "run"
    code, out, _ = end_of(two_processes(folder, *TOY, HURT="8"))
    assert code != 0
    assert time.time() - float((folder / "died_1.txt").read_text()) < 50  # nobody waits for the 60 s
    # Told beforehand: torchrun may end the survivor before it notices anything.
    assert "Should one be lost, torchrun ends the others, and the same command goes on" in out
    assert "Finished" not in out

    code, out, err = end_of(two_processes(folder, *TOY))
    assert code == 0, err
    assert "at step 6: 18 to go." in out
    for name in ("last.safetensors", "best.safetensors"):
        kept, never_disturbed = load_file(folder / name), load_file(whole[0] / name)
        assert kept.keys() == never_disturbed.keys()
        for key, tensor in kept.items():
            assert torch.equal(tensor, never_disturbed[key]), key


@pytest.mark.slow
@on_posix
def test_ctrl_c_stops_all_at_the_same_step_and_one_process_can_go_on(tmp_path):
    folder = tmp_path / "run"
    process = two_processes(folder, "--scale", "tiny", "--steps", "200")
    for line in process.stdout:
        if line.startswith("step"):
            process.send_signal(
                signal.SIGINT
            )  # torchrun passes it on: its workers are in sessions of their own
            break
    _, out, err = end_of(process)
    stopped = re.search(r"Stopped after (\d+) steps", out)
    assert stopped, out + err
    step = int(stopped[1])
    assert 25 <= step < 200
    assert [(folder / f"ended_{rank}.txt").read_text() for rank in range(2)] == [f"stopped {step}\n"] * 2
    kept = read_about(folder / "last.safetensors")
    assert kept["standing"]["step"] == step

    job = Job(
        system="transformer", scale="tiny", n_steps=200, tokens_per_batch=60, device="cpu", folder=str(folder)
    )
    result = run_job(job, data=worker().tiny_data()).result
    assert (result.ended, result.step) == ("finished", 200)
    assert result.history.to_json()[: len(kept["history"])] == kept["history"]


def worker():
    spec = importlib.util.spec_from_file_location("worker", WORKER)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# ---- without starting any


@pytest.mark.parametrize("n_rows", [1, 2, 3, 7, 8])
@pytest.mark.parametrize("n", [2, 3, 8])
def test_the_shares_are_the_batch(n_rows, n):
    batch = make_batch([[4 + row] * (row + 1) for row in range(n_rows)], [[5 + row] for row in range(n_rows)])
    shares = [Processes(n=n, rank=rank).share(batch) for rank in range(n)]
    assert sorted(pair for share in shares for pair in share.pairs.tolist() if pair >= 0) == [*range(n_rows)]
    assert sum(int(share.n_tokens) for share in shares) == int(batch.n_tokens)
    for share in shares:
        assert len(share.pairs) >= 1
        assert share.src.shape[1:] == batch.src.shape[1:]
        for row, pair in enumerate(share.pairs.tolist()):
            if pair >= 0:
                assert torch.equal(share.src[row], batch.src[pair])
                assert torch.equal(share.tgt_out[row], batch.tgt_out[pair])
            else:
                assert int(share.src_lengths[row]) >= 1


def test_alone_nothing_is_shared_and_nobody_is_asked(monkeypatch):
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    batch = make_batch([[4]], [[5]])
    with join(torch.device("meta")) as processes:
        assert (processes.n, processes.leads, processes.device.type) == (1, True, "meta")
        assert processes.share(batch) is batch
    model, total = torch.nn.Linear(1, 1), torch.ones(2)
    assert ALONE.wrap(model) is model
    assert ALONE.add_up(total) is total
    assert [ALONE.agree(True), ALONE.agree(False)] == [True, False]
    ALONE.check_same("anything", object())


def test_each_process_gets_a_gpu_of_its_own(monkeypatch):
    chosen = []
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "set_device", chosen.append)
    monkeypatch.setenv("LOCAL_RANK", "1")
    assert own_device(torch.device("cuda")) == own_device(torch.device("cuda:0")) == torch.device("cuda:1")
    assert chosen == [1, 1]
    assert own_device(torch.device("cpu")) == torch.device("cpu")
    monkeypatch.setenv("LOCAL_RANK", "2")
    with pytest.raises(
        ValueError, match=r"at most as many processes .* GPUs \(2\), but this is number 3.*--nproc-per-node 2"
    ):
        own_device(torch.device("cuda"))
    with pytest.raises(ValueError, match="Expected cpu or cuda for several processes, but got mps"):
        own_device(torch.device("mps"))


def test_how_long_to_wait_can_be_chosen(monkeypatch):
    monkeypatch.delenv("COURSE_TIMEOUT", raising=False)
    assert seconds_to_wait() == 60
    monkeypatch.setenv("COURSE_TIMEOUT", "7.5")
    assert seconds_to_wait() == 7.5
    for wrong in ("soon", "0", "-1", "nan", "inf"):
        monkeypatch.setenv("COURSE_TIMEOUT", wrong)
        with pytest.raises(ValueError, match=f"COURSE_TIMEOUT to be a number of seconds .* got '{wrong}'"):
            seconds_to_wait()


# ---- the guide

COMMANDS = re.findall(r"^    (?:.*-m course_lib|course) (.+)$", GUIDE, flags=re.MULTILINE)


def test_the_guide_has_commands():
    assert len(COMMANDS) >= 8


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_of_the_guide_can_be_read(command):
    words = shlex.split(command, comments=True)
    args, further = parser().parse_known_args(words)
    assert args.command == words[0]
    assert further == []
    if args.command == "train" and args.system:
        assert args.system in {system.name for system in SYSTEMS}
