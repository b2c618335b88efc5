"""A run's folder: what it keeps comes back, and another run's is refused and left alone."""

from __future__ import annotations

from dataclasses import asdict, replace

import pytest
import torch

from course_lib.text.word_tokenizer import WordTokenizer
from course_lib.training.checkpoint import CheckpointError, load_checkpoint, save_checkpoint
from course_lib.training.history import History, Record
from course_lib.training.recipe import Recipe
from course_lib.training.run_folder import RunFolder, Standing, difference
from course_lib.training.saved_system import describe
from course_lib.training.train import train


def record(step, loss, averaged=False):
    return Record(step=step, epoch=0, rate=1e-3, train_loss=2.0, loss=loss, seconds=1.5, averaged=averaged)


def standing(*records, step=8):
    found = Standing(step=step, position=(1, 2), seconds=3.5, since=(0.1 + 0.2, 7.0))
    found.history = History(records)
    found.average.add({"w": torch.tensor([5.0])})
    found.average.add({"w": torch.tensor([6.0])})
    return found


STATE = {"weights.w": torch.tensor([1.0]), "adam.step.w": torch.tensor(8.0)}


def snapshot(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_where_a_run_stands_comes_back(tmp_path):
    keeper = RunFolder(tmp_path / "run", {"seed": 1})
    assert keeper.find() is None and not keeper.folder.exists()
    kept = standing(record(4, 2.0), record(8, 1.0))
    keeper.keep(kept, STATE)
    found = keeper.find()
    assert (found.standing.step, found.standing.position) == (8, (1, 2))
    assert (found.standing.seconds, found.standing.since) == (3.5, (0.1 + 0.2, 7.0))
    assert found.standing.history.records == kept.history.records
    assert found.standing.average.n == 2 and found.standing.average.weights["w"] == 5.5
    assert found.state == STATE


@pytest.mark.parametrize(("averaged", "value"), [(False, 1.0), (True, 5.5)])
def test_killed_before_the_best_was_written(tmp_path, averaged, value):
    """`last` holds the weights of the step that is the best."""
    keeper = RunFolder(tmp_path, {})
    keeper.keep(standing(record(8, 1.0, averaged)), STATE)
    found = keeper.find()
    assert found.best["w"] == value and not found.best_is_kept
    found.standing.average.add({"w": torch.tensor([100.0])})
    found.state["weights.w"].fill_(100)
    assert found.best["w"] == value  # whatever becomes of the others


def test_the_best_of_an_earlier_step_is_in_its_own_file(tmp_path):
    keeper = RunFolder(tmp_path, {})
    early = record(4, 1.0)
    keeper.keep_best({"w": torch.tensor([9.0])}, History([early]))
    keeper.keep(standing(early, record(8, 3.0)), STATE)
    assert keeper.find().best["w"] == 9 and keeper.find().best_is_kept


def test_no_look_no_best(tmp_path):
    keeper = RunFolder(tmp_path, {})
    keeper.keep(standing(), STATE)
    assert keeper.find().best == {}


@pytest.mark.parametrize("there", [None, 2])
def test_a_best_that_is_missing_or_of_another_step_is_refused(tmp_path, there):
    keeper = RunFolder(tmp_path, {})
    if there is not None:
        keeper.keep_best({"w": torch.tensor([9.0])}, History([record(there, 1.0)]))
    keeper.keep(standing(record(4, 1.0), record(8, 3.0)), STATE)
    before = snapshot(tmp_path)
    with pytest.raises(CheckpointError, match=r"step 4, but there are (none|those of step 2)\."):
        keeper.find()
    assert snapshot(tmp_path) == before


def test_what_a_killed_process_left_is_taken_away(tmp_path):
    keeper = RunFolder(tmp_path, {})
    keeper.keep(standing(), STATE)
    for name in (".last.safetensors.abc", ".best.safetensors.x1", "notes.txt"):
        (tmp_path / name).touch()
    keeper.tidy()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["last.safetensors", "notes.txt"]


def test_a_last_that_does_not_say_where_it_stands(tmp_path):
    keeper = RunFolder(tmp_path, {})
    keeper.keep_best({"w": torch.ones(1)}, History())
    keeper.best.rename(keeper.last)
    with pytest.raises(CheckpointError, match="does not say where the run stands"):
        keeper.find()


# ---- another run


def test_a_longer_run_goes_on_from_a_shorter_one_and_averages_anew(data, make, recipe, keeper):
    train(make(), data.train, recipe, validation=data.validation, keeper=keeper())
    longer = replace(recipe, n_steps=24)
    found = keeper(longer).find()
    assert found.standing.step == 12 and found.standing.average.n == 0 and found.best
    assert keeper().find().standing.average.n > 0
    result = train(make(), data.train, longer, validation=data.validation, keeper=keeper(longer))
    assert result.step == 24 and [record.step for record in result.history.records] == [4, 8, 12, 16, 20, 24]
    keeper(longer).clear()
    assert keeper().find() is None


def test_another_runs_folder_is_refused_and_nothing_overwritten(tmp_path, data, make, recipe, keeper):
    train(make(), data.train, recipe, validation=data.validation, keeper=keeper())
    before = snapshot(tmp_path / "run")
    for changes, message in (
        ({"learning_rate": 0.5}, "its recipe differs (learning_rate: 0.01 there, 0.5 here)"),
        (
            {"seed": 5, "tokens_per_batch": 64},
            "its recipe differs (tokens_per_batch: 128 there, 64 here; seed: 0 there, 5 here)",
        ),
    ):
        other = replace(recipe, **changes)
        model = make(seed=9)
        weights = {name: tensor.clone() for name, tensor in model.state_dict().items()}
        with pytest.raises(CheckpointError) as caught:
            train(model, data.train, other, validation=data.validation, keeper=keeper(other))
        assert message in str(caught.value) and "or begin anew in this one (--restart)" in str(caught.value)
        assert snapshot(tmp_path / "run") == before
        assert all(torch.equal(tensor, weights[name]) for name, tensor in model.state_dict().items())


def test_a_best_alone_is_never_overwritten(tmp_path):
    folder = RunFolder(tmp_path, {"seed": 1})
    folder.keep_best({"w": torch.ones(1)}, History())
    with pytest.raises(
        CheckpointError, match=r"best.safetensors holds weights.*last.safetensors.*is missing"
    ):
        folder.find()
    assert folder.stands_at() == 0


def test_a_run_from_before_a_new_number_of_the_recipe_goes_on(tmp_path):
    old = {name: value for name, value in asdict(Recipe(n_steps=9)).items() if name != "r_drop"}
    RunFolder(tmp_path, {"recipe": old}).keep(standing(), STATE)
    now = asdict(Recipe(n_steps=9))
    assert RunFolder(tmp_path, {"recipe": now}).stands_at() == standing().step
    with pytest.raises(CheckpointError, match=r"r_drop: 0.0 there, 3.0 here"):
        RunFolder(tmp_path, {"recipe": now | {"r_drop": 3.0}}).stands_at()


def test_two_do_not_write_into_one_folder(tmp_path):
    one, other = RunFolder(tmp_path / "run", {}), RunFolder(tmp_path / "run", {})
    with (
        one.held(),
        pytest.raises(CheckpointError, match=r"Somebody is training in .*run just now"),
        other.held(),
    ):
        pass
    with other.held():
        pass


@pytest.mark.parametrize(
    "change",
    [
        {"standing": None},
        {"standing": {"step": "many"}},
        {"standing": {"position": [1]}},
        {"standing": {"since": [1.0, 2.0, 3.0]}},
        {"standing": {"seconds": "x"}},
        {"history": [{"loss": "low"}]},
    ],
    ids=str,
)
def test_where_it_stands_must_make_sense(tmp_path, change):
    folder = RunFolder(tmp_path, {})
    folder.keep(standing(), STATE)
    tensors, about = load_checkpoint(folder.last)
    inner = change.get("standing")
    about |= {"standing": about["standing"] | inner} if inner else change
    save_checkpoint(folder.last, tensors, about)
    with pytest.raises(CheckpointError, match="does not say where the run stands"):
        folder.find()


@pytest.mark.parametrize("what", ["gone", "of another shape", "one too many"])
@pytest.mark.parametrize("prefix", ["step.weights.", "step.adam.exp_avg."])
def test_tensors_that_do_not_fit_are_refused(tmp_path, data, make, recipe, keeper, what, prefix):
    short = replace(recipe, n_steps=recipe.validate_every)
    train(make(), data.train, short, validation=data.validation, keeper=keeper(short))
    path = tmp_path / "run" / "last.safetensors"
    tensors, about = load_checkpoint(path)
    name = next(name for name in tensors if name.startswith(prefix))
    if what == "gone":
        del tensors[name]
    elif what == "of another shape":
        tensors[name] = torch.ones(1)
    else:
        tensors[prefix + "new"] = torch.ones(1)
    save_checkpoint(path, tensors, about)
    with pytest.raises(CheckpointError, match=r"last.safetensors"):
        train(make(), data.train, short, validation=data.validation, keeper=keeper(short))


def test_another_machine_and_version_may_go_on(tmp_path):
    about = {"seed": 1, "versions": {"torch": "2.11"}, "machine": "A", "command": "x", "pair": (1, 2)}
    RunFolder(tmp_path, about).keep(standing(), STATE)
    other = about | {"versions": {"torch": "2.13"}, "machine": "B", "command": "y"}
    assert RunFolder(tmp_path, other).find() is not None


@pytest.mark.parametrize("which", ["last", "best"])
def test_a_damaged_folder_is_refused_and_nothing_overwritten(tmp_path, data, make, recipe, keeper, which):
    # Gets worse and worse: the best is an early one.
    worse = replace(recipe, learning_rate=5.0, warm_up=12, decay="inverse_square_root", average_from=1.0)
    done = train(make(), data.train, worse, validation=data.validation, keeper=keeper(worse))
    assert done.history.best.step < 12
    path = tmp_path / "run" / f"{which}.safetensors"
    path.write_bytes(path.read_bytes()[:-5])
    before = snapshot(tmp_path / "run")
    with pytest.raises(CheckpointError, match=which):
        train(make(), data.train, worse, validation=data.validation, keeper=keeper(worse))
    assert snapshot(tmp_path / "run") == before


def test_differences_in_few_words():
    assert difference({"a": {"b": 1}}, {"a": {"b": 2}}) == "a: b: 1 there, 2 here"
    assert difference({"a": 1}, {}) == "a: 1 there, None here"
    assert len(difference("x" * 500, "y" * 500)) < 100


def test_best_carries_all_of_the_history(tmp_path, data, make, recipe, keeper):
    done = train(make(), data.train, recipe, validation=data.validation, keeper=keeper())
    _, about = load_checkpoint(tmp_path / "run" / "best.safetensors")
    assert about["history"] == done.history.to_json() and len(about["history"]) == 3


@pytest.mark.parametrize("key", ["data", "tokenizer", "config"])
def test_another_corpus_vocabulary_or_system_is_refused(tmp_path, data, make, recipe, key):
    """Each by itself: all the rest is the same."""
    config, other, found = make().config, make().config, data
    if key == "data":
        found = replace(data, fingerprint="0" * 64)
    elif key == "tokenizer":
        words = data.tokenizer.tokens(range(4, data.tokenizer.vocab_size))
        found = replace(data, tokenizer=WordTokenizer(words[::-1]))
    else:
        other = replace(config, dropout=0.9)
    RunFolder(tmp_path, describe("gru_lm", config, recipe, data)).keep(standing(), STATE)
    before = snapshot(tmp_path)
    folder = RunFolder(tmp_path, describe("gru_lm", other, recipe, found))
    for asked in (folder.stands_at, folder.find):
        with pytest.raises(CheckpointError, match=rf"is of another run: its {key} differs"):
            asked()
    assert snapshot(tmp_path) == before
