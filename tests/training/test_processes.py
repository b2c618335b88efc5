"""Training with two processes equals training with one, and a killed run resumes bit for bit."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import distributed, nn

from course_lib.models.registry import SYSTEMS
from course_lib.runtime import PROJECT_ROOT
from course_lib.text.batch import make_batch
from course_lib.training.checkpoint import load_checkpoint
from course_lib.training.objective import translation
from course_lib.training.processes import SINGLE, Processes, join
from tools.cli.commands import parser

WORKER = Path(__file__).with_name("worker.py")
TORCHRUN = ("-m", "torch.distributed.run", "--standalone", "--local-addr=127.0.0.1", "--nproc-per-node=2")
TIMEOUT = 300  # seconds, for a busy machine
on_posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")


def run_torchrun(*words: str) -> tuple[int, str, str]:
    variables = {
        "GLOO_SOCKET_IFNAME": "lo0" if sys.platform == "darwin" else "lo",
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": str(PROJECT_ROOT),
        "COURSE_BAR": "0",
    }
    process = subprocess.Popen(
        [sys.executable, *TORCHRUN, str(WORKER), *words],
        env=os.environ | variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        out, err = process.communicate(timeout=TIMEOUT)
    finally:
        process.terminate()  # it also ends its workers, in case they wait for each other
    return process.returncode, out, err


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """A run of two processes, of which one is killed in its eighth step."""
    folder = tmp_path_factory.mktemp("two")
    return folder, *run_torchrun("kill", str(folder))


@pytest.fixture(scope="module")
def resumed(killed):
    """The output of two processes that resume this run, and the results that each of them saved."""
    code, out, err = run_torchrun("resume", str(killed[0]))
    assert code == 0, err
    return out, [json.loads((killed[0] / f"results_{rank}.json").read_text()) for rank in range(2)]


@pytest.mark.nightly
@on_posix
def test_torchrun_ends_a_run_that_loses_a_process(killed):
    _, code, out, _ = killed
    assert code != 0 and "Finished" not in out
    assert "2 processes" in out and "the same command" in out


@pytest.mark.slow
@on_posix
def test_a_killed_and_a_stopped_run_resume_bit_for_bit(killed, resumed):
    out, results = resumed
    for line in ("at step 6: 18 steps", "Stopped after 12 steps", "at step 12: 12 steps"):
        assert line in out
    assert len(re.findall("^Finished after 24 steps", out, flags=re.MULTILINE)) == 2  # one process prints
    assert [result["exit_codes"] for result in results] == [[130, 0, 0]] * 2  # only one received the Ctrl-C
    assert [result["saved_files"] for result in results] == [["best.safetensors", "last.safetensors"], []]
    for name in ("last.safetensors", "best.safetensors"):  # including the state of the run
        checkpoints = [load_checkpoint(killed[0] / folder / name) for folder in ("run", "uninterrupted")]
        (tensors, about), (expected, expected_about) = checkpoints
        assert tensors.keys() == expected.keys()
        assert all(torch.equal(tensor, expected[key]) for key, tensor in tensors.items())
        history, expected_history = (
            [record | {"seconds": 0} for record in saved["history"]] for saved in (about, expected_about)
        )
        assert history == expected_history
    files = {path.name for path in (killed[0] / "run").iterdir()}
    readable = {"config.json", "history.csv", "loss.svg"}
    assert files == {"last.safetensors", "best.safetensors", ".lock"} | readable  # no partly written file


@pytest.mark.slow
@on_posix
def test_every_system_trains_as_in_one_process(resumed):
    """In float32, without dropout. The batches have 5, 1 and 4 rows: also odd, also fewer than processes."""
    systems = resumed[1][0]["systems"]
    assert systems.keys() == {system.name for system in SYSTEMS if not system.counts}
    for name, (gradients, weights) in systems.items():
        assert gradients < 1e-6, name  # for entries up to about 1: only the order of summation differs
        assert weights < 1e-5, name  # after three steps of 1e-3


@pytest.mark.slow
@on_posix
def test_all_processes_get_the_same_loss_decisions_and_errors(resumed):
    first, second = resumed[1]
    alone, together = first["losses"]
    assert together == second["losses"][1] == pytest.approx(alone, rel=1e-12)
    assert first["agreed"] == second["agreed"] == [True, True, False]
    assert first["error"] == second["error"]
    assert "the run" in first["error"] and "process 1" in first["error"]


# ---- without starting processes


@pytest.mark.parametrize("n_rows", [1, 2, 3, 7, 8])
@pytest.mark.parametrize("n", [2, 3, 8])
def test_the_parts_make_up_the_batch(n_rows, n):
    batch = make_batch([[4 + row] * (row + 1) for row in range(n_rows)], [[5 + row] for row in range(n_rows)])
    parts = [Processes(world_size=n, rank=rank).shard(batch) for rank in range(n)]
    assert sorted(pair for part in parts for pair in part.pairs.tolist() if pair >= 0) == [*range(n_rows)]
    assert sum(int(part.n_tokens) for part in parts) == int(batch.n_tokens)
    for part in parts:
        assert len(part.pairs) >= 1 and (part.src_lengths >= 1).all()
        for row, pair in enumerate(part.pairs.tolist()):
            if pair >= 0:
                assert torch.equal(part.src[row], batch.src[pair])
                assert torch.equal(part.tgt_out[row], batch.tgt_out[pair])


def test_with_one_process_nothing_is_divided_or_communicated(monkeypatch):
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    assert join(torch.device("meta")) == Processes(world_size=1, rank=0, device=torch.device("meta"))
    batch, model, total = make_batch([[4]], [[5]]), nn.Linear(1, 1), torch.ones(2)
    assert (SINGLE.shard(batch), SINGLE.wrap(model), SINGLE.sum_across(total)) == (
        batch,
        model,
        total,
    )
    assert [SINGLE.any_across(True), SINGLE.any_across(False)] == [True, False]
    SINGLE.check_same("anything", object())


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an NVIDIA GPU")
def test_nccl_leaves_the_gradients_of_a_single_process_unchanged(make):
    """A process group of one, with NCCL and gloo: as much as a single GPU can test."""
    gpu = torch.device("cuda", 0)
    distributed.init_process_group("cpu:gloo,cuda:nccl", store=distributed.HashStore(), rank=0, world_size=1)
    try:
        for device in (gpu, torch.device("cpu")):
            ones = torch.ones(3, device=device)
            distributed.all_reduce(ones)
            assert ones.device == device and ones.tolist() == [1.0, 1.0, 1.0]
        model = make("transformer", dropout=0.0).to(gpu)
        batch = make_batch([[5, 6, 7], [8, 9]], [[10, 11], [12, 13, 14]]).to(gpu)

        def gradients(wrapped: nn.Module) -> list[torch.Tensor]:
            model.zero_grad()
            translation(0.1)(wrapped, batch)[0].backward()
            return [parameter.grad.clone() for parameter in model.parameters()]

        torch.testing.assert_close(gradients(nn.parallel.DistributedDataParallel(model)), gradients(model))
    finally:
        distributed.destroy_process_group()


# ---- the commands in docs/training.md

GUIDE = (PROJECT_ROOT / "docs" / "training.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^    (?:.*-m course_lib|course) (.+)$", GUIDE, flags=re.MULTILINE)


def test_every_command_of_the_guide_can_be_parsed():
    assert len(COMMANDS) >= 8
    for command in COMMANDS:
        words = shlex.split(command, comments=True)
        args, unknown = parser().parse_known_args(words)
        assert (args.command, unknown) == (words[0], []), command
        if args.command == "train" and args.system:
            assert args.system in {system.name for system in SYSTEMS}
