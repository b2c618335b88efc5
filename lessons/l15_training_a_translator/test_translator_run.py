"""Lesson 15's run: its data, the learner's file in the library's loop, and how it is stopped and resumed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from course_lib.models.own_file import run_file
from course_lib.runtime import PROJECT_ROOT
from course_lib.teaching.own_code.kept_file import KeptFunction, write_function
from course_lib.text.batching import Epochs
from course_lib.text.special import EOS
from course_lib.training.checkpoint import load_checkpoint, load_system, read_about
from course_lib.training.objective import objective_for
from course_lib.training.step import PlainStep, parts_of
from lessons.l15_training_a_translator import chosen_file
from lessons.l15_training_a_translator import live_training as live
from lessons.l15_training_a_translator.by_hand import by_length, paper_rate, training_step
from lessons.l15_training_a_translator.own_parts import BatcherEpochs
from lessons.l15_training_a_translator.short_sentences import short_data, short_pairs
from lessons.l15_training_a_translator.training_settings import (
    FAULTY_RUNS,
    FULL_RUN,
    HEALTHY,
    TrainingSettings,
)
from lessons.l15_training_a_translator.translator_run import TranslatorRun
from tests.lesson_claims import LessonText
from tools.experiments.catalogue import experiments

REFERENCE = PROJECT_ROOT / "lessons" / "l14_the_transformer" / "reference_transformer.py"
OWN = {"batcher": by_length, "schedule": paper_rate}
L = LessonText("training_a_translator")
WATCHED = ("the queen slept", "a sad king ran", "the old mouse sleeps")


@pytest.fixture(scope="module")
def data():
    return short_data()


@pytest.fixture(scope="module")
def few():
    return short_data(n_train=100)


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_HOME", str(tmp_path))
    monkeypatch.setattr(live, "display", lambda picture, **options: None)
    return tmp_path


def short_run(data, n_steps, settings=HEALTHY, **parts):
    return TranslatorRun(data, replace(settings, n_steps=n_steps), **parts)


def same(one, other):
    assert one.keys() == other.keys()
    return all(torch.equal(one[name], other[name]) for name in one)


def records(run):
    """The history without the time."""
    return [{**record, "seconds": 0} for record in run.history.to_json()]


# ---- the data


def test_the_sentences_are_short_and_all_different(data, few):
    pairs = short_pairs()
    assert len({pair.src for pair in pairs}) == len(pairs) >= 3200
    assert all(3 <= len(pair.src) <= 6 for pair in pairs)
    assert len({word for pair in pairs for word in pair.src}) <= 80
    assert (len(data.train), len(data.validation), data.tokenizer.vocab_size) == (3000, 200, 195)
    assert few.tokenizer.vocab_size == 195


# ---- the model


def test_a_file_and_the_library_start_from_weights_of_the_same_names_and_shapes(few):
    own, library = TranslatorRun(few, file=REFERENCE), TranslatorRun(few)
    shapes = [{name: w.shape for name, w in run.model.state_dict().items()} for run in (own, library)]
    assert shapes[0] == shapes[1]
    config = FULL_RUN.config(680)
    assert (config.n_layers, config.d_model, config.n_heads, config.dropout) == (2, 80, 5, 0)


def test_exact_match_compares_whole_translations(few):
    run = TranslatorRun(few)
    batch = run.validation_batch
    assert run.exact_match() == {"exact": 0}

    class Oracle(type(run.model)):
        """The right token at the last position; only its argmax matters."""

        def advance(self, memory, state, tokens, *, with_weights):
            index = state.setdefault("index", torch.zeros(len(tokens), dtype=torch.long))
            right = batch.tgt_out[:, int(index[0])].clamp(min=EOS)
            return torch.nn.functional.one_hot(right, 195).float(), {"index": index + 1}, None

        def start(self, memory):
            return {"index": torch.zeros(len(batch.src), dtype=torch.long)}

    assert run.exact_match(Oracle(run.model.config)) == {"exact": 1}


def test_the_captured_step_gets_the_file_as_it_is(few):
    """Without a step of one's own, the library's takes its place; on a GPU that is a CUDA graph."""
    run = short_run(few, 3, file=REFERENCE, step=None)
    assert not run.has_own_step and run.train().finished and not run.recipe.fixed_shapes  # a CPU
    if torch.cuda.is_available():
        assert short_run(few, 3, file=REFERENCE, step=None, device="cuda").recipe.fixed_shapes


@pytest.mark.parametrize("kind", ["cpu", "cuda"])
@pytest.mark.parametrize("insists", [False, True])
def test_the_full_run_uses_the_captured_step_on_a_gpu_unless_the_learner_insists(kind, insists):
    cell = L.cell("full").text.replace("FULL = False", "FULL = True")
    if insists:
        cell = re.sub(r"OWN_STEP = .*", "OWN_STEP = True", cell)
    made = []
    run = SimpleNamespace(test_exact=lambda: 0.9, finished=True)
    notebook = {
        "device": lambda: torch.device(kind),
        "yours": lambda name: name,
        "TranslatorRun": lambda *args, **options: made.append(options) or run,
        "train_live": lambda run, name: run,
        "full_data": lambda: None,
        "run_folder": lambda name: name,
        "fixed": lambda value, digits: str(value),
        "FULL_RUN": FULL_RUN,
        "SENTENCES": (),
        "file": None,
    }
    exec(cell, notebook)
    own = kind == "cpu" or insists
    assert made[0]["step"] == ("training_step" if own else None) and made[0]["device"].type == kind


@pytest.mark.parametrize("own_file", [False, True])
def test_the_script_trains_and_saves_all_that_a_resumed_run_needs(data, home, own_file):
    torch.manual_seed(5)
    notebook = {
        "class_to_train": chosen_file.class_to_train,
        "file": REFERENCE if own_file else None,
        "device": lambda: torch.device("cpu"),
        "Epochs": Epochs,
        "run": TranslatorRun(data),
        "run_folder": live.run_folder,
        "paper_rate": paper_rate,
        "data": data,
        "fixed": lambda value, digits: f"{value:.{digits}f}",
        "torch": torch,
        "nn": torch.nn,
        "F": torch.nn.functional,
    }
    exec(L.cell("script parts").text, notebook)
    script = L.cell("script").text
    live.run_folder("").mkdir(exist_ok=True)  # earlier runs of the lesson are in it
    exec(
        script if own_file else script.replace("range(1, 49)", "range(1, 3)").replace("% 24", "% 2"), notebook
    )
    if own_file:
        assert notebook["validation"] < 3 and not notebook["model"].training
    saved = torch.load(live.run_folder("lesson_15_script").with_suffix(".pt"), weights_only=True)
    assert saved.keys() == {"model", "optimizer", "schedule", "step", "position", "generator"}
    assert saved["step"] == notebook["step"] == saved["schedule"]["last_epoch"]
    assert same(saved["model"], notebook["model"].state_dict())


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_the_own_step_runs_on_a_gpu(few):
    assert short_run(few, 3, file=REFERENCE, device="cuda", **OWN).train().finished


# ---- stopped and resumed


@pytest.mark.parametrize("file", [None, REFERENCE], ids=["library", "own file"])
@pytest.mark.parametrize("parts", [{}, OWN], ids=["the library's parts", "the learner's parts"])
def test_stopped_and_resumed_is_the_same_to_the_last_bit(few, tmp_path, parts, file):
    settings = replace(HEALTHY, validate_every=5, average_from=0.5)
    parts = parts | {"file": file, "watched": WATCHED}
    whole, first, second = (short_run(few, 12, settings, **parts) for _ in range(3))
    whole.train(folder=whole.folder(tmp_path / "whole"))
    first.train(folder=first.folder(tmp_path / "run"), until=7)
    assert first.state.step == 7 and not first.finished
    second.train(folder=second.folder(tmp_path / "run"))
    assert second.finished and records(second) == records(whole)  # the translations too
    assert [len(record.scores["translations"]) for record in second.history] == [3, 3, 3]
    assert same(second.model.state_dict(), whole.model.state_dict())
    assert same(*(load_checkpoint(tmp_path / name / "last.safetensors")[0] for name in ("run", "whole")))


def test_a_checkpoint_of_a_file_is_the_librarys_and_its_step_can_resume_it(few, tmp_path):
    run = short_run(few, 3, file=REFERENCE)
    run.train(folder=run.folder(tmp_path))
    about = read_about(tmp_path / "best.safetensors")
    assert about["own_file"] == REFERENCE.name and about["config"]["system"] == "transformer"
    saved = load_system(tmp_path / "best.safetensors")
    assert saved.name == "transformer" and same(saved.model.state_dict(), run.model.state_dict())
    state = parts_of(load_checkpoint(tmp_path / "last.safetensors")[0], "step")
    step = PlainStep(saved.model.train(), objective_for(saved.model, 0.1), run.recipe)
    step.load(state)
    assert {int(tensor) for name, tensor in step.adam.state.items() if name.startswith("adam.step")} == {3}
    weights = {name: weight.detach().clone() for name, weight in step.adam.weights.items()}
    memory = {name: tuple(state[f"adam.{m}.{name}"] for m in ("exp_avg", "exp_avg_sq")) for name in weights}
    batch = run.validation_batch
    loss_of = HEALTHY.loss_of(run.model, batch, run._loss, smoothing=0.1)
    _, by_hand, _ = training_step(weights, loss_of, memory, 4, 0.005)
    step(batch, 0.005)
    for name, weight in step.adam.weights.items():
        torch.testing.assert_close(weight.detach(), by_hand[name], atol=2e-4, rtol=1e-3)


def test_a_batcher_may_make_more_batches_in_one_epoch_than_in_another(few):
    calls = []

    def alternating(lengths, room):
        calls.append(room)
        return OWN["batcher"](lengths, room // (1 + len(calls) % 2))

    batches = BatcherEpochs(few.train, alternating, tokens_per_batch=256, seed=0)
    n_first = batches.n_batches
    pairs = [next(batches).pairs for _ in range(n_first)]
    assert sorted(torch.cat(pairs).tolist()) == list(range(100)) and batches.position == (1, 0)
    next(batches)
    assert batches.n_batches != n_first
    planned = BatcherEpochs(few.train, OWN["batcher"], tokens_per_batch=256, seed=0)
    for epoch in (0, 1):
        assert sorted(pair for batch in planned.plan(epoch) for pair in batch.pairs) == list(range(100))


def test_the_learning_rate_follows_the_schedule_and_the_settings(few):
    run = TranslatorRun(few, **OWN)
    assert [run.rate(step) for step in (12, 24, 96)] == pytest.approx([0.0025, 0.005, 0.0025])
    usual, high = TranslatorRun(few), TranslatorRun(few, TrainingSettings(rate=0.1, usual_rate_after=48))
    assert [usual.rate(step) for step in (12, 24, 240)] == pytest.approx([0.0025, 0.005, 0])
    assert high.rate(48) == pytest.approx(20 * usual.rate(48)) and high.rate(49) == usual.rate(49)


def test_without_warm_up_only_the_climb_is_missing(few):
    with_it, without = (TranslatorRun(few, TrainingSettings(warm_up=n), **OWN) for n in (24, 0))
    assert [without.rate(step) for step in (1, 12, 24)] == pytest.approx([0.005] * 3)
    assert all(without.rate(step) == with_it.rate(step) for step in (25, 96, 240))


# ---- which model is trained


def test_the_learners_file_is_trained_if_it_computes_what_the_library_does(home, capsys):
    path = home / "my_transformer.py"
    assert chosen_file.file_to_train() is None
    assert chosen_file.INSTEAD in capsys.readouterr().out
    path.write_text(REFERENCE.read_text(encoding="utf-8"), encoding="utf-8")
    assert chosen_file.file_to_train() == path


ENCODE = """from lessons.l14_the_transformer import by_parts as library

def encode_source(source, weights, n_heads, n_layers, mask=None):
    sizes = {"n_heads": n_heads, "n_layers": n_layers, "mask": mask}
    return library.encoder_stages(source, weights, **sizes)[0]["memory"]
"""
DECODE = """from lessons.l14_the_transformer import by_parts as library

def decode_logits(target, memory, weights, n_heads, n_layers, mask=None):
    sizes = {"n_heads": n_heads, "n_layers": n_layers, "mask": mask}
    return library.decoder_stages(target, memory, weights, **sizes)[0]["logits"]
"""


def test_without_a_file_the_learners_functions_are_trained(home, few):
    write_function(KeptFunction("encode_source", "14", "2026-11-18", ENCODE))
    assert chosen_file.file_to_train() is None  # half a Transformer
    write_function(KeptFunction("decode_logits", "14", "2026-11-18", DECODE))
    (home / "my_transformer.py").write_text("import torch\n")  # begun, but not finished
    file = chosen_file.file_to_train()
    assert file == chosen_file.OF_FUNCTIONS
    assert "my_road" in run_file(file)["encode_source"].__wrapped__.__code__.co_filename
    run = TranslatorRun(few, TrainingSettings(n_steps=3), file=file, step=training_step)
    before = {name: weight.clone() for name, weight in run.model.named_parameters()}
    run.train()
    assert all(not torch.equal(weight, before[name]) for name, weight in run.model.named_parameters())


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("class MultiHead(nn.Module):", "class MultiHead(nn.Module:", "SyntaxError"),
        ("/ math.sqrt(keys.shape[-1])", "", "logits"),
        ("    def encode(self, source, mask):", "    def encoded(self, source, mask):", "encode"),
        ("self.inner", "self.within", "inner"),
    ],
)
def test_a_file_that_no_longer_works_is_named_and_the_library_is_trained(
    home, capsys, before, after, message
):
    text = REFERENCE.read_text(encoding="utf-8")
    path = home / "my_transformer.py"
    path.write_text(text.replace(before, after), encoding="utf-8")
    assert before in text and chosen_file.file_to_train() is None
    said = capsys.readouterr().out
    assert path.name in said and message in said and chosen_file.INSTEAD in said


def test_decode_must_agree_with_forward(home, capsys):
    text = REFERENCE.read_text(encoding="utf-8")
    text = text.replace("return self.decode(", "return self.plain(").replace(
        "def decode(self", "def plain(self"
    )
    text += (
        "\n    def decode(self, target, memory, mask):\n        return self.plain(target, memory, mask) + 1\n"
    )
    path = home / "my_transformer.py"
    path.write_text(text, encoding="utf-8")
    assert chosen_file.file_to_train() is None and "decode" in capsys.readouterr().out


# ---- watched in a notebook


def test_training_is_watched_stopped_and_resumed(few, home, monkeypatch):
    shown = []
    monkeypatch.setattr(live, "display", lambda output, **options: shown.append(output))
    parts = {"watched": WATCHED, "file": REFERENCE}
    run = live.train_live(short_run(few, 7, **parts), "trial", until=5)
    assert run.state.step == 5 and not run.finished and not shown  # no validation yet
    run = live.train_live(short_run(few, 7, **parts), "trial")
    assert run.finished and [record.step for record in run.history] == [7]
    picture, text = shown
    assert "7" in picture.alt and all(sentence in text["text/plain"] for sentence in WATCHED)
    again = live.train_live(short_run(few, 7, **parts), "trial")
    assert again.finished and same(again.model.state_dict(), run.model.state_dict())
    assert live.train_live(short_run(few, 7, **parts), "trial", until=2, anew=True).state.step == 2


def test_what_is_displayed_is_updated_at_every_validation(few, home, monkeypatch):
    updates = []

    class Handle:
        def update(self, output, **options):
            updates.append(output)

    monkeypatch.setenv("COURSE_BAR", "1")
    monkeypatch.setattr(live, "display", lambda output, **options: Handle())
    run = live.train_live(short_run(few, 6, replace(HEALTHY, validate_every=2), watched=WATCHED), "trial")
    assert len(run.history) == 3 and len(updates) == 4  # a figure and a text, after the first validation
    lines = updates[-1]["text/plain"].split("\n\n")[0].splitlines()
    assert len(lines) == 4 and [line.split()[0] for line in lines[1:]] == ["2", "4", "6"]


def test_an_interruption_ends_a_run_after_its_step(few, home):
    def interrupted(weights, loss_of, memory, step, rate):
        if step == 3:
            os.kill(os.getpid(), signal.SIGINT)
        return training_step(weights, loss_of, memory, step, rate)

    run = short_run(few, 7, step=interrupted, file=REFERENCE)
    assert live.train_live(run, "trial").state.step == 3
    assert short_run(few, 7, file=REFERENCE).folder(live.run_folder("trial")).resumed_at() == 3


@pytest.mark.parametrize("other", ["another run", "another model", "damaged"])
def test_a_checkpoint_that_cannot_be_resumed_is_replaced(few, home, capsys, other):
    settings = TrainingSettings(shifted=other != "another run")
    run = live.train_live(short_run(few, 3, settings), "trial")
    if other == "damaged":
        run.folder(live.run_folder("trial")).last.write_bytes(b"no checkpoint")
    capsys.readouterr()
    file = REFERENCE if other == "another model" else None
    assert live.train_live(short_run(few, 3, file=file), "trial").finished
    assert live.ANOTHER_RUN.format(live.run_folder("trial")) in capsys.readouterr().out
    assert short_run(few, 3, file=file).folder(live.run_folder("trial")).resumed_at() == 3


def test_a_file_whose_parameters_changed_starts_again_with_a_message(few, home, capsys):
    text = REFERENCE.read_text(encoding="utf-8")
    path = home / "my_transformer.py"
    path.write_text(text, encoding="utf-8")
    live.train_live(short_run(few, 3, file=path), "trial", until=2)
    path.write_text(text.replace("self.inner", "self.within"), encoding="utf-8")
    capsys.readouterr()
    assert live.train_live(short_run(few, 3, file=path), "trial").finished
    said = capsys.readouterr().out
    assert "feed_forward.inner" in said and "Resuming" not in said
    saved, _ = load_checkpoint(live.run_folder("trial") / "best.safetensors")
    assert "decoder.blocks.0.feed_forward.within.weight" in saved


def test_training_needs_no_jupyter():
    """As on a machine that has only torch and a few other packages."""
    blocked = "IPython ipywidgets anywidget ipykernel traitlets jupyterlab"
    code = f"""
import sys
sys.modules.update(dict.fromkeys({blocked.split()!r}))
import tools.bench.own_file
from lessons.l15_training_a_translator import (
    FULL_RUN, TranslatorRun, TrainingSettings, file_to_train, full_data, short_data)
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=PROJECT_ROOT)


# ---- the faulty runs


def test_faulty_runs_are_those_of_the_experiment():
    others = {"healthy", "no warm-up", "rate 20 times too high, healthy after 48"}
    assert set(FAULTY_RUNS.values()) == set(experiments()["sick"].variants) - others
    for variant in FAULTY_RUNS.values():
        [fault] = experiments()["sick"].variants[variant]["habits"].items()
        assert getattr(HEALTHY, fault[0]) != fault[1]
