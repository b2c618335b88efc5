"""The bench of training: the yardstick is what it says, the three ways learn, the verdicts, the table."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import pytest
import torch

from course_lib.bench import training as bench
from course_lib.bench.kernels import Kernel
from course_lib.bench.torch_transformer import TorchTransformer, usual_objective
from course_lib.cli import commands, main
from course_lib.models.registry import build, make_config
from course_lib.runtime import PROJECT_ROOT
from course_lib.text.batch import make_batch
from course_lib.text.special import BOS, EOS, PAD
from course_lib.training.objective import translation
from course_lib.training.recipe import Recipe

pytestmark = pytest.mark.slow

CPU = torch.device("cpu")
ROWS = [bench.Row(bench.YARDSTICK, 25.0, 8192), bench.Row(bench.PLAIN, 20.0, 8192)]


@pytest.fixture
def config():
    return make_config("transformer", scale="tiny", vocab_size=40)


def new(config) -> TorchTransformer:
    torch.manual_seed(0)
    return TorchTransformer(config).train()  # at rest torch takes another path; tiny has no dropout


# ---- the yardstick


def test_it_is_as_large_as_the_course_s_transformer():
    config = make_config("transformer", scale="multi30k", vocab_size=8000)
    sizes = [
        sum(p.numel() for p in model.parameters())
        for model in (TorchTransformer(config), build("transformer", config))
    ]
    assert sizes[0] == pytest.approx(sizes[1], rel=0.01)


def test_it_reads_the_source_up_to_its_end_and_the_target_up_to_now(config):
    model, batch = new(config), make_batch([[7, 8, 9], [5]], [[6, 7, 8], [9, 5, 4]])
    logits = model(batch.src, batch.src_lengths, batch.tgt_in)
    assert logits.shape == (2, 4, 40)
    src = batch.src.clone()
    src[1, 2:] = 11  # padding
    torch.testing.assert_close(model(src, batch.src_lengths, batch.tgt_in), logits)
    tgt_in = batch.tgt_in.clone()
    tgt_in[:, 2:] = 11  # the future
    torch.testing.assert_close(model(src, batch.src_lengths, tgt_in)[:, :2], logits[:, :2])
    src[0, 0] = 11
    assert not torch.allclose(model(src, batch.src_lengths, batch.tgt_in)[0], logits[0])


def test_its_loss_is_the_course_s(config):
    model, batch = new(config), make_batch([[7, 8], [5]], [[6, 7, 8], [9]])
    ours, n = translation(0.1)(model, batch)
    theirs, m = usual_objective(0.1)(model, batch)
    torch.testing.assert_close(ours, theirs)
    assert n == m == 6


# ---- the measuring


def test_every_place_of_the_batch_counts():
    batch = bench.drawn_batch(6, 5, 40)
    assert int(batch.n_tokens) == 30 and not (batch.src == PAD).any()
    assert (batch.tgt_in[:, 0] == BOS).all() and torch.equal(batch.tgt_in[:, 1:], batch.tgt_out[:, :-1])
    assert (batch.src[:, -1] == EOS).all() and (batch.tgt_out[:, -1] == EOS).all()


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_each_way_learns_and_is_timed(config, precision):
    recipe = Recipe(n_steps=100, precision=precision)
    steps = bench.make_steps(config, recipe, CPU)
    batch = bench.drawn_batch(4, 5, 40)
    assert list(steps) == [bench.YARDSTICK, bench.PLAIN]  # there is no graph without a GPU
    before = [float(step(batch, 0.0)[0]) for step in steps.values()]
    rows = bench.measure(steps, batch, device=CPU, rounds=2, n_steps=3, warm_up=1)
    after = [float(step(batch, 0.0)[0]) for step in steps.values()]
    assert all(new < old for new, old in zip(after, before, strict=True))
    assert [row.n_tokens for row in rows] == [20, 20] and all(row.milliseconds > 0 for row in rows)


def test_the_milliseconds_are_of_one_step_in_the_median_round(monkeypatch):
    """Three rounds of four steps: 0.2 s, 0.08 s, 0.04 s for the first way, twice that for the second."""
    made, clock = [], iter([0.2, 0.4, 0.08, 0.16, 0.04, 0.08])

    def seconds(work, device):
        work()
        return next(clock)

    monkeypatch.setattr(bench, "seconds", seconds)
    steps = {name: lambda batch, rate, name=name: made.append(name) for name in ("one", "two")}
    rows = bench.measure(steps, bench.drawn_batch(4, 5, 40), device=CPU, rounds=3, n_steps=4, warm_up=2)
    assert [(row.name, row.n_tokens) for row in rows] == [("one", 20), ("two", 20)]
    assert [row.milliseconds for row in rows] == pytest.approx([20.0, 40.0])
    assert made == ["one"] * 2 + ["two"] * 2 + (["one"] * 4 + ["two"] * 4) * 3


@pytest.mark.parametrize(
    ("milliseconds", "good"), [(5.0, [True, True]), (8.0, [True, False]), (11.0, [False] * 2)]
)
def test_the_best_of_ours_is_judged(milliseconds, good):
    verdicts = bench.judge([*ROWS, bench.Row(bench.RECORDED, milliseconds, 8192)])
    assert [verdict.good for verdict in verdicts] == good
    assert verdicts[1].text == (
        f"at least 4 × as fast as eager nn.Transformer: {25 / milliseconds:.2f} × (recorded step)"
    )


def test_the_table_to_the_letter():
    assert bench.table([ROWS[0], bench.Row(bench.RECORDED, 5.0, 8192)]) == (
        """\
                           ms a step    tokens/s     ratio
eager nn.Transformer           25.00     327,680     1.0 ×
recorded step                   5.00   1,638,400     5.0 ×"""
    )


# ---- the command


def test_on_a_cpu_another_bench_is_asked(monkeypatch):
    other = SimpleNamespace(run=lambda: 7)
    monkeypatch.setitem(sys.modules, "course_lib.bench.training_cpu", other)
    assert bench.run(device=CPU) == 7
    assert bench.main(["--device", "cpu"]) == 7


def test_on_a_gpu_all_three_are_told_of(monkeypatch, capsys):
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "A GPU")
    monkeypatch.setattr(bench, "ROWS", 2)
    for records, milliseconds, code in ((True, 5.0, 0), (False, 20.0, 1)):
        steps = {bench.RECORDED: SimpleNamespace(records=records)}
        rows = [*ROWS, bench.Row(bench.RECORDED, milliseconds, 8192)]
        monkeypatch.setattr(bench, "make_steps", lambda *_, steps=steps: steps)
        monkeypatch.setattr(bench, "measure", lambda *_, rows=rows, **__: rows)
        monkeypatch.setattr(bench, "without_parts", lambda *_: {})
        monkeypatch.setattr(bench, "kernels", lambda *_: [Kernel("gemm", 3, 2.0)])
        monkeypatch.setattr(bench, "drawn_batch", lambda *_: SimpleNamespace(to=lambda device: None))
        assert bench.run(device=torch.device("cuda")) == code
        out = capsys.readouterr().out
        assert out.startswith("A GPU, ") and out.count("recorded step") >= 2
        assert ("could not be recorded" in out) == (not records)
        assert ("torch does one part" in out) == ("gemm" in out) == records


def test_the_door_leads_here(monkeypatch):
    monkeypatch.setattr(commands, "enter", lambda *_: None)
    monkeypatch.setattr(bench, "run", lambda device: {"cpu": 5}[device.type])
    assert main(["bench", "training", "--device", "cpu"]) == 5


@pytest.mark.slow
def test_a_bare_gpu_machine_can_run_it():
    """In an interpreter in which nothing of Jupyter, matplotlib or jaxtyping can be imported."""
    program = """
import sys

ABSENT = "IPython ipywidgets traitlets jaxtyping beartype matplotlib".split()

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ABSENT:
            raise ModuleNotFoundError(name + " is not on a bare machine", name=name)

sys.meta_path.insert(0, Absent())
from course_lib.bench import decoding, training
assert training.drawn_batch(2, 3, 9) and decoding.sources(9, max_len=3)
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=PROJECT_ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
