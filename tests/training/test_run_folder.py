"""A run's folder: its state is loaded as it was saved, and another run's files are left alone."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, replace

import pytest
import torch

from course_lib.training.checkpoint import CheckpointError, load_checkpoint, read_about, save_checkpoint
from course_lib.training.loop import train
from course_lib.training.recipe import Recipe
from course_lib.training.run_folder import SCHEDULE, History, Record, RunFolder, RunState

ABOUT = {
    "config": {"system": "gru_lm", "dropout": 0.2},
    "tokenizer": {"kind": "words", "text": "a b"},
    "data": {"name": "few", "fingerprint": "e0"},
    "recipe": asdict(Recipe(n_steps=9)),
}
OTHER_WORDS = {"kind": "words", "text": "b a"}
TENSORS = {"weights.w": torch.tensor([1.0]), "adam.step.w": torch.tensor(8.0)}


def record(step, loss, averaged=False):
    return Record(step=step, epoch=0, rate=1e-3, train_loss=2.0, loss=loss, seconds=1.5, averaged=averaged)


def state(*records):
    saved = RunState(step=8, position=[1, 2], seconds=3.5, since=[0.1 + 0.2, 7.0], history=History(records))
    saved.add_to_average({"w": torch.tensor([5.0])})
    saved.add_to_average({"w": torch.tensor([6.0])})
    return saved


def snapshot(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


# ---- saving and loading


@pytest.mark.parametrize(("averaged", "value"), [(False, 1.0), (True, 5.5)])
def test_a_state_is_loaded_with_its_best_weights(tmp_path, averaged, value):
    """Also if it was killed before they were written: `last` has the weights of the best step."""
    folder = RunFolder(tmp_path / "run", ABOUT)
    assert folder.load() is None and folder.resumed_at() == 0 and not folder.folder.exists()
    saved = state(record(4, 2.0), record(8, 1.0, averaged))
    saved.best = {"w": torch.tensor([value])}
    folder.save(saved, TENSORS)
    assert load_checkpoint(folder.best)[0] == saved.best
    folder.best.unlink()
    loaded, tensors = folder.load()
    assert folder.resumed_at() == 8 and tensors == TENSORS and loaded == saved
    loaded.add_to_average({"w": torch.tensor([100.0])})
    assert loaded.best["w"] == value  # a change of the average has no effect


def test_the_best_of_an_earlier_step_is_in_its_own_file(tmp_path):
    folder = RunFolder(tmp_path, ABOUT)
    folder.save(state(), TENSORS)
    assert folder.load()[0].best == {}  # before the first validation
    assert load_checkpoint(folder.best)[0] == {"w": torch.tensor([1.0])}  # the current weights
    folder.best.unlink()
    folder.save(state(record(4, 1.0), record(8, 3.0)), TENSORS)
    with pytest.raises(CheckpointError, match=r"best.safetensors, but there is no such file"):
        folder.load()
    folder.save_best({"w": torch.tensor([9.0])}, History([record(8, 1.0)]))
    with pytest.raises(CheckpointError, match=r"best.safetensors .* last.safetensors.* 4\."):
        folder.load()
    folder.save_best({"w": torch.tensor([9.0])}, History([record(4, 1.0)]))
    assert folder.load()[0].best["w"] == 9
    folder.last.unlink()
    with pytest.raises(CheckpointError, match=r"last.safetensors is missing"):
        folder.load()
    folder.best.rename(folder.last)
    with pytest.raises(CheckpointError, match=r"last.safetensors .*no run"):
        folder.load()


def test_another_objective_is_another_run(tmp_path):
    described = ABOUT | {"objective": {"shifted": False}}
    RunFolder(tmp_path, described).save(state(record(8, 1.0)), TENSORS)
    assert RunFolder(tmp_path, described).resumed_at() == 8
    for other in (ABOUT, ABOUT | {"objective": {"shifted": True}}):
        with pytest.raises(CheckpointError, match=r"objective \(shifted: False in"):
            RunFolder(tmp_path, other).load()


def test_the_lock_excludes_others_and_partly_written_files_are_deleted(tmp_path):
    first, second = RunFolder(tmp_path, ABOUT), RunFolder(tmp_path, ABOUT)
    for name in (".last.safetensors.abc", ".best.safetensors.x1", "notes.txt", "last.safetensors"):
        (tmp_path / name).touch()
    with first.locked():
        assert snapshot(tmp_path).keys() == {".lock", "notes.txt", "last.safetensors"}
        with pytest.raises(CheckpointError, match="Another process is training in "), second.locked():
            pass


def test_the_average_is_the_mean_of_copies():
    draw = torch.Generator().manual_seed(0)
    sets, state = [torch.randn(4, 3, generator=draw) for _ in range(5)], RunState()
    for weights in sets:
        state.add_to_average({"a": weights})
    mean = torch.stack(sets).mean(0)
    for weights in sets:
        weights.zero_()
    torch.testing.assert_close(state.average["a"], mean)
    state.add_to_average({"a": mean.to("meta")})  # instead of a GPU
    assert state.n_averaged == 6 and state.average["a"].device.type == "meta"
    for n_batches in (3, 4):
        state.add_to_average({"n_batches": torch.tensor(n_batches)})
    assert state.average["n_batches"] == 4  # a count has no mean


def test_the_best_is_the_first_with_the_lowest_loss_and_never_nan():
    history, best_steps = History(), []
    assert history.best is None
    for step, loss in enumerate([math.nan, 3.0, 2.0, 2.5, 2.0, math.nan, 1.0]):
        history.append(record(step, loss))
        best_steps.append(history.best and history.best.step)
    assert best_steps == [None, 1, 2, 2, 2, 2, 6]
    history = History([record(1, 1 / 3), record(2, 0.1 + 0.2)])
    assert History.from_json(json.loads(json.dumps(history.to_json()))) == history


@pytest.mark.parametrize(
    ("train_loss", "loss", "diverged"),
    [(1.0, 2.0, False), (math.nan, 2.0, False), (1.0, math.inf, False), (math.nan, math.inf, True)],
)
def test_a_run_has_diverged_if_neither_of_its_last_losses_is_finite(train_loss, loss, diverged):
    """The training loss is a mean over many batches: a single one can make it NaN."""
    last = replace(record(8, loss), train_loss=train_loss)
    assert History([record(4, 1.0), last]).diverged is diverged
    assert not History([last, record(9, 1.0)]).diverged and not History().diverged


# ---- damaged files


def test_a_damaged_run_can_be_restarted_and_the_error_says_how(tmp_path):
    folder = RunFolder(tmp_path, ABOUT)
    folder.save(state(record(4, 1.0), record(8, 3.0)), TENSORS)
    folder.save_best({"w": torch.tensor([9.0])}, History([record(4, 1.0)]))
    contents = snapshot(tmp_path)
    for name, content in contents.items():
        for damaged in (content[:-1], b"", content[:-1] + b"!"):
            (tmp_path / name).write_bytes(damaged)
            with pytest.raises(CheckpointError, match=rf"{name} .*--restart"):
                folder.load()
            assert (tmp_path / name).read_bytes() == damaged
        (tmp_path / name).write_bytes(content)
    assert folder.load()
    assert RunFolder(tmp_path, ABOUT, restart=True).load() is None


@pytest.mark.parametrize("position", [20, -1])
def test_damaged_best_weights_beside_an_intact_state_are_kept_and_named(tmp_path, capsys, position):
    folder = RunFolder(tmp_path, ABOUT)
    saved = state(record(8, 1.0))
    saved.best = {"w": torch.tensor([9.0])}
    folder.save(saved, TENSORS)
    assert folder.has_best(record(8, 1.0)) and not folder.has_best(record(4, 1.0))
    damaged = bytearray(folder.best.read_bytes())
    damaged[position] ^= 1
    folder.best.write_bytes(damaged)
    assert not folder.has_best(record(8, 1.0)) and not folder.has_best(record(8, 1.0))
    assert capsys.readouterr().out.count("damaged_best.safetensors") == 1
    assert (tmp_path / "damaged_best.safetensors").read_bytes() == damaged


@pytest.mark.parametrize("field", ["data", "config", "tokenizer", "recipe", "history", "standing"])
def test_a_run_without_a_field_of_its_header_is_not_resumed(tmp_path, field):
    folder = RunFolder(tmp_path, ABOUT)
    folder.save(state(record(8, 1.0)), TENSORS)
    tensors, about = load_checkpoint(folder.last)
    for changed in (about | {field: None}, {name: about[name] for name in about if name != field}):
        save_checkpoint(folder.last, tensors, changed)
        for reader in (folder.resumed_at, folder.load):
            with pytest.raises(CheckpointError, match=r"last.safetensors .*--restart"):
                reader()


def test_an_impossible_recipe_is_not_resumed(tmp_path):
    RunFolder(tmp_path, ABOUT | {"recipe": ABOUT["recipe"] | {"decay": "slowly"}}).save(state(), TENSORS)
    with pytest.raises(CheckpointError, match=r"last.safetensors .*decay.*--restart"):
        RunFolder(tmp_path, ABOUT).load()


# ---- another run


def test_a_longer_run_resumes_a_shorter_one_with_a_new_average(data, make, recipe, folder):
    train(make(), data.train, recipe, validation=data.validation, folder=folder())
    longer = replace(recipe, n_steps=24)
    loaded, _ = folder(longer).load()
    assert loaded.step == 12 and loaded.n_averaged == 0 and loaded.average == {} and loaded.best
    assert folder().load()[0].n_averaged > 0
    result = train(make(), data.train, longer, validation=data.validation, folder=folder(longer))
    assert result.step == 24 and [record.step for record in result.history] == [4, 8, 12, 16, 20, 24]
    _, about = load_checkpoint(folder().best)
    assert about["history"] == result.history.to_json()


@pytest.mark.parametrize(
    ("key", "change", "message"),
    [
        (
            "recipe",
            {"tokens_per_batch": 64, "seed": 5},
            "tokens_per_batch: 4096 in the file, 64 now; seed: 0 ",
        ),
        ("data", {"fingerprint": "f9"}, "fingerprint: 'e0' in the file, 'f9' now"),
        ("tokenizer", {"text": "b a"}, "text: 'a b' in the file, 'b a' now"),
        ("config", {"dropout": 0.9}, "dropout: 0.2 in the file, 0.9 now"),
    ],
)
def test_another_recipe_corpus_or_system_is_an_error_and_changes_nothing(tmp_path, key, change, message):
    """Each by itself. Another machine, version or command is no other run."""
    RunFolder(tmp_path, ABOUT).save(state(), TENSORS)
    before = snapshot(tmp_path)
    assert RunFolder(tmp_path, ABOUT | {"versions": {"torch": "9"}, "machine": "B", "command": "y"}).load()
    with pytest.raises(CheckpointError) as caught:
        RunFolder(tmp_path, ABOUT | {key: ABOUT[key] | change}).load()
    assert f"({message}" in str(caught.value)
    assert "--restart" in str(caught.value) and snapshot(tmp_path) == before
    RunFolder(tmp_path, ABOUT | {key: ABOUT[key] | {"newer": 1}}).save(state(), TENSORS)
    if key != "recipe":  # whose unknown fields have no effect
        with pytest.raises(CheckpointError, match=r"newer: 1 in the file, None now"):
            RunFolder(tmp_path, ABOUT).load()


def test_only_the_schedule_of_a_recipe_may_change(tmp_path):
    RunFolder(tmp_path, ABOUT).save(state(), TENSORS)
    other = Recipe(
        n_steps=99,
        tokens_per_batch=64,
        learning_rate=0.5,
        warm_up=7,
        decay="linear",
        smoothing=0.5,
        r_drop=1.0,
        scheduled_sampling=0.5,
        clip=0.5,
        seed=5,
        validate_every=7,
        patience=7,
        average_from=0.5,
        average_every=7,
        precision="bfloat16",
        fixed_shapes=True,
    )
    refused = set()
    for name, value in asdict(other).items():
        assert value != ABOUT["recipe"][name]
        try:
            assert RunFolder(tmp_path, ABOUT | {"recipe": ABOUT["recipe"] | {name: value}}).load()
        except CheckpointError:
            refused.add(name)
    assert asdict(other).keys() - refused == set(SCHEDULE)


def test_the_same_sentences_at_another_path_are_no_other_run(tmp_path):
    RunFolder(tmp_path, ABOUT).save(state(), TENSORS)
    assert RunFolder(tmp_path, ABOUT | {"data": ABOUT["data"] | {"name": "./moved"}}).load()


def test_with_restart_the_old_files_stay_until_the_new_run_saves(tmp_path):
    RunFolder(tmp_path, ABOUT).save(state(), TENSORS)
    before = snapshot(tmp_path)
    new = RunFolder(tmp_path, ABOUT | {"tokenizer": OTHER_WORDS}, restart=True)
    assert new.resumed_at() == 0 and new.load() is None and snapshot(tmp_path) == before
    new.save(RunState(step=1), TENSORS)
    assert snapshot(tmp_path)["last.safetensors"] != before["last.safetensors"]
    assert read_about(new.best)["tokenizer"] == OTHER_WORDS
    new.save(state(record(1, math.nan)), TENSORS)
    assert not new.best.exists(), "it may be an earlier run's"


def test_a_run_of_an_earlier_version_is_resumed(tmp_path):
    """Its recipe lacks a field, and has others that no longer exist."""
    old = {name: value for name, value in ABOUT["recipe"].items() if name != "r_drop"}
    old |= {"amsgrad": 0, "weight_decay": 0.0}
    RunFolder(tmp_path, ABOUT | {"recipe": old}).save(state(), TENSORS)
    assert RunFolder(tmp_path, ABOUT).resumed_at() == 8
    with pytest.raises(CheckpointError, match=r"r_drop: 0.0 in the file, 3.0 now"):
        RunFolder(tmp_path, ABOUT | {"recipe": ABOUT["recipe"] | {"r_drop": 3.0}}).resumed_at()
