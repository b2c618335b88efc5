"""Two processes that train one model: as good as one; killed and resumed, bit for bit."""

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
from course_lib.training.processes import ALONE, Processes, join
from tools.cli.commands import parser

WORKER = Path(__file__).with_name("worker.py")
TORCHRUN = ("-m", "torch.distributed.run", "--standalone", "--local-addr=127.0.0.1", "--nproc-per-node=2")
LONGEST = 300  # seconds any of these may take on a busy machine
on_posix = pytest.mark.skipif(sys.platform == "win32", reason="signals are another matter there")


def end_of_torchrun(*words: str) -> tuple[int, str, str]:
    own = {
        "GLOO_SOCKET_IFNAME": "lo0" if sys.platform == "darwin" else "lo",
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": str(PROJECT_ROOT),
        "COURSE_BAR": "0",
    }
    process = subprocess.Popen(
        [sys.executable, *TORCHRUN, str(WORKER), *words],
        env=os.environ | own,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        out, err = process.communicate(timeout=LONGEST)
    finally:
        process.terminate()  # it ends its workers, should they wait for each other
    return process.returncode, out, err


@pytest.fixture(scope="module")
def lost(tmp_path_factory):
    """A run of two processes, started by torchrun, of which one is killed in its eighth step."""
    folder = tmp_path_factory.mktemp("two")
    return folder, *end_of_torchrun("lost", str(folder))


@pytest.fixture(scope="module")
def found(lost):
    """What two processes that go on with it printed, and found out about themselves."""
    code, out, err = end_of_torchrun("together", str(lost[0]))
    assert code == 0, err
    return out, [json.loads((lost[0] / f"found_{rank}.json").read_text()) for rank in range(2)]


@pytest.mark.slow
@on_posix
def test_torchrun_ends_a_run_that_loses_a_process(lost):
    _, code, out, _ = lost
    assert code != 0 and "Finished" not in out
    assert "Should one be lost, torchrun ends the others, and the same command goes on" in out


@pytest.mark.slow
@on_posix
def test_it_goes_on_is_stopped_together_goes_on_and_is_as_if_nothing_had_been(lost, found):
    out, noted = found
    for line in ("at step 6: 18 to go.", "Stopped after 12 steps", "at step 12: 12 to go."):
        assert line in out
    assert len(re.findall("^Finished after 24 steps", out, flags=re.MULTILINE)) == 2  # one process talks
    assert [each["ends"] for each in noted] == [[130, 0, 0]] * 2  # though only one of them heard the Ctrl-C
    assert [each["wrote"] for each in noted] == [["best.safetensors", "last.safetensors"], []]
    for name in ("last.safetensors", "best.safetensors"):  # all of it, to the last bit
        (run, about), (whole, of_whole) = (load_checkpoint(lost[0] / one / name) for one in ("run", "whole"))
        assert run.keys() == whole.keys()
        assert all(torch.equal(tensor, whole[key]) for key, tensor in run.items())
        histories = [[r | {"seconds": 0} for r in each["history"]] for each in (about, of_whole)]
        assert histories[0] == histories[1]
    left = {path.name for path in (lost[0] / "run").iterdir()}
    assert left == {"last.safetensors", "best.safetensors", ".lock"}  # nothing half written


@pytest.mark.slow
@on_posix
def test_every_system_learns_as_in_one_process(found):
    """In float32, without dropout. The batches have 5, 1 and 4 rows: an odd number, fewer than processes."""
    systems = found[1][0]["systems"]
    assert systems.keys() == {system.name for system in SYSTEMS if not system.counts}
    for name, (gradients, weights) in systems.items():
        assert gradients < 1e-6, name  # of entries up to about 1: only the order of sums differs
        assert weights < 1e-5, name  # after three steps of 1e-3


@pytest.mark.slow
@on_posix
def test_validation_wishes_and_differences_are_everybodys(found):
    first, second = found[1]
    alone, together = first["losses"]
    assert together == second["losses"][1] == pytest.approx(alone, rel=1e-12)
    assert first["agreed"] == second["agreed"] == [True, True, False]
    assert first["refused"] == second["refused"]
    assert "the run to be the same in all 2 processes, but it differs in process 1" in first["refused"]


# ---- without starting any


@pytest.mark.parametrize("n_rows", [1, 2, 3, 7, 8])
@pytest.mark.parametrize("n", [2, 3, 8])
def test_the_shares_are_the_batch(n_rows, n):
    batch = make_batch([[4 + row] * (row + 1) for row in range(n_rows)], [[5 + row] for row in range(n_rows)])
    shares = [Processes(n=n, rank=rank).share(batch) for rank in range(n)]
    assert sorted(pair for share in shares for pair in share.pairs.tolist() if pair >= 0) == [*range(n_rows)]
    assert sum(int(share.n_tokens) for share in shares) == int(batch.n_tokens)
    for share in shares:
        assert len(share.pairs) >= 1 and (share.src_lengths >= 1).all()
        for row, pair in enumerate(share.pairs.tolist()):
            if pair >= 0:
                assert torch.equal(share.src[row], batch.src[pair])
                assert torch.equal(share.tgt_out[row], batch.tgt_out[pair])


def test_alone_nothing_is_shared_and_nobody_is_asked(monkeypatch):
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    assert join(torch.device("meta")) == Processes(n=1, rank=0, device=torch.device("meta"))
    batch, model, total = make_batch([[4]], [[5]]), nn.Linear(1, 1), torch.ones(2)
    assert (ALONE.share(batch), ALONE.wrap(model), ALONE.add_up(total)) == (batch, model, total)
    assert [ALONE.agree(True), ALONE.agree(False)] == [True, False]
    ALONE.check_same("anything", object())


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an NVIDIA GPU")
def test_gradients_that_went_through_nccl_are_the_gradients(make):
    """A group of one, over NCCL and gloo: as far as one GPU can show it."""
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


# ---- the guide

GUIDE = (PROJECT_ROOT / "docs" / "training.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^    (?:.*-m course_lib|course) (.+)$", GUIDE, flags=re.MULTILINE)


def test_every_command_of_the_guide_can_be_read():
    assert len(COMMANDS) >= 8
    for command in COMMANDS:
        words = shlex.split(command, comments=True)
        args, further = parser().parse_known_args(words)
        assert (args.command, further) == (words[0], []), command
        if args.command == "train" and args.system:
            assert args.system in {system.name for system in SYSTEMS}
