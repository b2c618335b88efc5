"""A run's folder: what it keeps comes back, and another run's is refused and left alone."""

from __future__ import annotations

from dataclasses import asdict, replace

import pytest
import torch

from course_lib.text.word_tokenizer import WordTokenizer
from course_lib.training.checkpoint import CheckpointError, describe, load_checkpoint
from course_lib.training.recipe import Recipe
from course_lib.training.run_folder import Average, RunFolder, RunState
from course_lib.training.train import train
from course_lib.training.validation import History, Record

ABOUT = {"config": {}, "tokenizer": {}, "data": {}, "recipe": asdict(Recipe(n_steps=9))}
TENSORS = {"weights.w": torch.tensor([1.0]), "adam.step.w": torch.tensor(8.0)}


def record(step, loss, averaged=False):
    return Record(step=step, epoch=0, rate=1e-3, train_loss=2.0, loss=loss, seconds=1.5, averaged=averaged)


def state(*records, step=8):
    found = RunState(step=step, position=(1, 2), seconds=3.5, since=(0.1 + 0.2, 7.0))
    found.history = History(records)
    found.average.add({"w": torch.tensor([5.0])})
    found.average.add({"w": torch.tensor([6.0])})
    return found


def snapshot(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


# ---- what is kept


def test_a_state_comes_back(tmp_path):
    folder = RunFolder(tmp_path / "run", ABOUT)
    assert folder.load() is None and folder.resumed_at() == 0 and not folder.folder.exists()
    kept = state(record(4, 2.0), record(8, 1.0))
    folder.save(kept, TENSORS)
    found = folder.load()
    assert folder.resumed_at() == 8 and found.tensors == TENSORS
    assert vars(found.state) | {"history": 0, "average": 0} == vars(kept) | {"history": 0, "average": 0}
    assert found.state.history.records == kept.history.records
    assert found.state.average.n == 2 and found.state.average.weights["w"] == 5.5


@pytest.mark.parametrize(("averaged", "value"), [(False, 1.0), (True, 5.5)])
def test_killed_before_the_best_was_written(tmp_path, averaged, value):
    """`last` holds the weights of the step that is the best."""
    folder = RunFolder(tmp_path, ABOUT)
    folder.save(state(record(8, 1.0, averaged)), TENSORS)
    found = folder.load()
    assert found.best["w"] == value
    found.state.average.add({"w": torch.tensor([100.0])})
    found.tensors["weights.w"].fill_(100)
    assert found.best["w"] == value  # whatever becomes of the others


def test_the_best_of_an_earlier_step_is_in_its_own_file(tmp_path):
    folder, early = RunFolder(tmp_path, ABOUT), record(4, 1.0)
    folder.save(state(), TENSORS)
    assert folder.load().best == {}  # before the first validation
    folder.save(state(early, record(8, 3.0)), TENSORS)
    with pytest.raises(CheckpointError, match=r"best.safetensors, but there is no such file"):
        folder.load()
    folder.save_best({"w": torch.tensor([9.0])}, History([record(2, 1.0)]))
    with pytest.raises(CheckpointError, match=r"step 4, but there are others"):
        folder.load()
    folder.save_best({"w": torch.tensor([9.0])}, History([early]))
    assert folder.load().best["w"] == 9


def test_one_at_a_time_writes_and_takes_away_what_a_killed_process_left(tmp_path):
    one, other = RunFolder(tmp_path, ABOUT), RunFolder(tmp_path, ABOUT)
    for name in (".last.safetensors.abc", ".best.safetensors.x1", "notes.txt", "last.safetensors"):
        (tmp_path / name).touch()
    with one.locked():
        assert snapshot(tmp_path).keys() == {".lock", "notes.txt", "last.safetensors"}
        with pytest.raises(CheckpointError, match=r"Somebody is training in .* just now"), other.locked():
            pass
    other.clear()
    assert snapshot(tmp_path).keys() == {".lock", "notes.txt"}


# ---- another run


def test_a_longer_run_goes_on_from_a_shorter_one_and_averages_anew(data, make, recipe, folder):
    train(make(), data.train, recipe, validation=data.validation, folder=folder())
    longer = replace(recipe, n_steps=24)
    found = folder(longer).load()
    assert found.state.step == 12 and found.state.average.n == 0 and found.best
    assert folder().load().state.average.n > 0
    result = train(make(), data.train, longer, validation=data.validation, folder=folder(longer))
    assert result.step == 24 and [record.step for record in result.history.records] == [4, 8, 12, 16, 20, 24]
    _, about = load_checkpoint(folder().best)
    assert about["history"] == result.history.to_json()


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("recipe", "(tokens_per_batch: 128 there, 64 here; seed: 0 there, 5 here)"),
        ("data", "(fingerprint: '"),
        ("tokenizer", "(text: '"),
        ("config", "(dropout: 0.2 there, 0.9 here)"),
    ],
)
def test_another_recipe_corpus_or_system_is_refused(tmp_path, data, make, recipe, folder, key, message):
    """Each by itself: all the rest is the same. Another machine, version or command is no other run."""
    config, found = make().config, data
    if key == "recipe":
        recipe = replace(recipe, tokens_per_batch=64, seed=5)
    elif key == "data":
        found = replace(data, fingerprint="0" * 64)
    elif key == "tokenizer":
        words = data.tokenizer.tokens(range(4, data.tokenizer.vocab_size))
        found = replace(data, tokenizer=WordTokenizer(words[::-1]))
    else:
        config = replace(config, dropout=0.9)
    folder().save(state(), TENSORS)
    elsewhere = {"versions": {"torch": "9"}, "machine": "B", "command": "y"}
    assert RunFolder(tmp_path / "run", folder().about | elsewhere).load()
    other, model = RunFolder(tmp_path / "run", describe("gru_lm", config, recipe, found)), make(seed=9)
    before, weights = snapshot(tmp_path / "run"), {n: w.clone() for n, w in model.state_dict().items()}
    with pytest.raises(CheckpointError) as caught:
        train(model, data.train, recipe, validation=data.validation, folder=other)
    assert f"is of another run: its {key} differs {message}" in str(caught.value)
    assert "or begin anew in this one (--restart)" in str(caught.value)
    assert snapshot(tmp_path / "run") == before | {".lock": b""}
    assert all(torch.equal(tensor, weights[name]) for name, tensor in model.state_dict().items())


def test_a_run_from_before_a_new_number_of_the_recipe_goes_on(tmp_path):
    old = {name: value for name, value in ABOUT["recipe"].items() if name != "r_drop"}
    RunFolder(tmp_path, ABOUT | {"recipe": old}).save(state(), TENSORS)
    assert RunFolder(tmp_path, ABOUT).resumed_at() == 8
    with pytest.raises(CheckpointError, match=r"r_drop: 0.0 there, 3.0 here"):
        RunFolder(tmp_path, ABOUT | {"recipe": ABOUT["recipe"] | {"r_drop": 3.0}}).resumed_at()


@pytest.mark.parametrize("which", ["last", "best"])
def test_files_that_are_damaged_missing_or_mistaken_are_refused_and_left(
    tmp_path, data, make, recipe, folder, which
):
    # Gets worse and worse: the best is an early one.
    worse = replace(recipe, learning_rate=5.0, warm_up=12, decay="inverse_square_root", average_from=1.0)
    done = train(make(), data.train, worse, validation=data.validation, folder=folder(worse))
    assert done.history.best.step < 12
    last, best = folder().last, folder().best
    path = last if which == "last" else best
    whole = path.read_bytes()

    def refused(message):
        before = snapshot(tmp_path / "run")
        with pytest.raises(CheckpointError, match=message):
            train(make(), data.train, worse, validation=data.validation, folder=folder(worse))
        assert snapshot(tmp_path / "run") == before

    path.write_bytes(whole[:-5])
    refused(f"{which}.safetensors is damaged")
    path.unlink()
    refused("last.safetensors, to go on from, is missing" if which == "last" else "there is no such file")
    if which == "last":
        best.rename(last)
        refused("last.safetensors is not the state of a run")


def test_tensors_that_do_not_fit_are_refused(data, make, recipe, folder):
    """As they would be after a system was changed."""
    train(make(), data.train, recipe, validation=data.validation, folder=folder())
    for changed in (make(hidden=7), torch.nn.Sequential(make())):
        with pytest.raises(CheckpointError, match=r"last.safetensors does not fit this system"):
            train(
                changed,
                data.train,
                recipe,
                validation=data.validation,
                objective=lambda model, batch: None,
                folder=folder(),
            )


# ---- averaged weights


def test_the_average_is_the_mean_of_copies_wherever_it_went_on():
    draw = torch.Generator().manual_seed(0)
    sets = [{"a": torch.randn(4, 3, generator=draw), "seen": torch.tensor(n)} for n in range(5)]
    straight, broken = Average(), Average()
    for weights in sets:
        straight.add(weights)
        broken.add(weights)
        broken = Average(broken.weights, broken.n)  # as from a file
    mean = torch.stack([one["a"] for one in sets]).mean(0)
    for weights in sets:
        weights["a"].zero_()
    assert straight.n == broken.n == 5 and torch.equal(straight.weights["a"], broken.weights["a"])
    torch.testing.assert_close(straight.weights["a"], mean)
    assert straight.weights["seen"] == 4 and straight.weights["seen"].dtype == torch.int64  # not averaged
    straight.add({name: tensor.to("meta") for name, tensor in sets[0].items()})  # which stands for a GPU
    assert all(tensor.device.type == "meta" for tensor in straight.weights.values())
