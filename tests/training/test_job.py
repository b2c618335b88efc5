"""A job by name: its recipe and configuration, and each kind of system trained in its own way."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch.nn import functional as F

from course_lib.text.batching import Epochs
from course_lib.text.encoded import encode_ids, target_ids
from course_lib.text.toy.generate import generate
from course_lib.training.checkpoint import load_system
from course_lib.training.job import Job, config_for, make_recipe, run_job
from course_lib.training.pronouns import CLASSES, pronoun_labels, right_by_class

SHORT = {"tokens_per_batch": 128, "learning_rate": 1e-2, "average_from": 1.0}


@pytest.fixture(scope="module")
def some(encoded):
    """160 pairs, some with a pronoun, to learn from and to validate on."""
    return encoded(generate(160, seed=1, length=(3, 10)))


@pytest.fixture
def job(tmp_path):
    """Of a tiny system, in 8 steps."""

    def one(name, folder=tmp_path, n_steps=8, **more):
        more["recipe"] = SHORT | more.get("recipe", {})
        return Job(system=name, scale="tiny", device="cpu", folder=folder, n_steps=n_steps, **more)

    return one


# ---- every kind


@pytest.mark.parametrize("name", ["ngram_lm", "gru_lm", "self_attentive", "seq2seq"])
def test_every_kind_is_trained_kept_and_found_again(some, job, name):
    seen = []
    first = run_job(job(name), data=some, after_validation=seen.append)
    assert first.result.ended == "finished" and seen == first.result.history and not first.model.training
    if name == "ngram_lm":
        first.saved.unlink()  # killed between its two files
    again = run_job(job(name), data=some, after_validation=seen.append)
    run_job(job(name), data=some, command="once more, for nothing")
    assert again.result.history == first.result.history == seen
    saved = load_system(first.saved)
    for one in (first.model, again.model):
        assert all(torch.equal(saved.model.state_dict()[key], w) for key, w in one.state_dict().items())
    assert saved.about["command"].startswith(f"Job(system='{name}', data='toy'")
    typed = run_job(job(name, folder=None, n_steps=1), data=some, command="train it")
    assert typed.about["command"] == "train it" and typed.saved is None


def test_a_classifier_is_validated_by_the_plain_cross_entropy(some, job):
    """Without the smoothing and the penalty that it is trained with, and without dropout."""
    asked = job("self_attentive", None, 2, config={"dropout": 0.5}, recipe={"smoothing": 0.3})
    trained = run_job(asked, data=some)
    (batch,) = Epochs(some.validation, tokens_per_batch=9999, seed=0).one(epoch=0)
    labels = pronoun_labels(some.validation, some.tokenizer)[batch.pairs]
    with torch.no_grad():
        expected = F.cross_entropy(trained.model(batch.src, batch.src_lengths), labels)
    assert trained.result.history.best.loss == pytest.approx(expected.item(), rel=1e-5)
    with pytest.raises(ValueError, match=r"R-Drop and scheduled sampling go word by word"):
        run_job(job("self_attentive", recipe={"r_drop": 3.0}), data=some)


@pytest.mark.slow
def test_a_classifier_learns_what_it_is_asked(encoded, job):
    pairs = [pair for pair in generate(600, seed=1, length=(3, 12)) if set(pair.tgt) & set(CLASSES)][:16]
    data = encoded(pairs + generate(16, seed=2, length=(3, 8)))
    longer = {"learning_rate": 3e-2, "tokens_per_batch": 512}
    model = run_job(job("self_attentive", n_steps=160, recipe=longer), data=data).model
    right = right_by_class(model, data.train, pronoun_labels(data.train, data.tokenizer))
    assert right["all"] > 0.9  # sentences it has seen


def test_counts_are_of_the_target_sentences(data, make, job):
    trained, expected = run_job(job("ngram_lm"), data=data), make("ngram_lm")
    expected.fit(target_ids(data.train))
    batch = next(Epochs(data.validation, tokens_per_batch=999, seed=0))
    assert torch.equal(trained.model(batch.tgt_in), expected(batch.tgt_in))
    (record,) = trained.result.history
    assert record.step == trained.result.step == 1
    assert record.n_tokens == sum(tgt for _, tgt in data.train.lengths)
    assert record.train_loss < record.loss  # what it has read is less of a surprise


# ---- its recipe and configuration


@pytest.mark.parametrize(
    ("n_steps", "warm_up", "validate_every", "average_every"),
    [(None, 400, 500, 20), (8000, 400, 1000, 20), (400, 40, 50, 4), (110, 11, 13, 1), (1, 1, 1, 1)],
)
def test_fewer_steps_have_a_shorter_warm_up_and_as_many_validations(
    data, n_steps, warm_up, validate_every, average_every
):
    """A tenth of them at most, or a short run would never reach its rate; its last steps join the average."""
    recipe = make_recipe(Job(system="transformer", n_steps=n_steps), data)
    found = recipe.n_steps, recipe.warm_up, recipe.validate_every, recipe.average_every
    assert found == (n_steps or 4000, warm_up, validate_every, average_every)
    assert recipe.averages(recipe.n_steps)


def test_a_quick_run_takes_a_quarter_of_the_tokens(data):
    usual, quick = (make_recipe(Job(system="transformer", quick=quick), data) for quick in (False, True))
    assert quick.n_steps * quick.tokens_per_batch * 4 == usual.n_steps * usual.tokens_per_batch
    own = {"learning_rate": 1.0, "tokens_per_batch": 256}
    changed = make_recipe(Job(system="transformer", quick=True, n_steps=9, recipe=own), data)
    assert (changed.n_steps, changed.learning_rate, changed.tokens_per_batch) == (9, 1.0, 256)
    assert Job(system="gru_lm", quick=True).changes()[0] == {"dropout": 0.0}
    tiny = Job(system="transformer", scale="tiny", quick=True, config={"n_heads": 1})
    assert tiny.changes()[0] == {"dropout": 0.0, "positions": "rotary", "n_heads": 1}


def test_changes_reach_the_recipe_and_the_configuration_fits_the_data(data, job):
    own = Job(system="transformer", config={"n_heads": 1}, recipe={"decay": "cosine", "warm_up": 7})
    assert make_recipe(own, data).decay == "cosine" and make_recipe(own, data).warm_up == 7
    assert make_recipe(replace(own, n_steps=50), data).warm_up == 5  # a short run is short
    epochs = make_recipe(Job(system="gru_lm", scale="multi30k", recipe={"tokens_per_batch": 16}), data)
    assert epochs.tokens_per_batch == 16 and epochs.n_steps % 20 == 0 and epochs.n_steps > 20 * 40
    made = run_job(job("transformer", n_steps=1, config={"n_heads": 1}), data=data).model.config
    assert made.n_heads == 1 and made.vocab_size == data.tokenizer.vocab_size and made.max_len < 41
    long = replace(data, validation=encode_ids([[5]], [[6] * 40]))  # 41 with EOS
    assert config_for("transformer", scale="tiny", data=long).max_len == 41


def test_the_same_job_makes_the_same_weights_and_another_seed_others(data, job):
    """Its steps are too small to matter: what differs are the weights that it began with."""
    weights = []
    for noise, seed in ((1, 0), (2, 0), (2, 5)):
        torch.manual_seed(noise)  # what was drawn before does not matter
        asked = job("gru_lm", None, 2, seed=seed, recipe={"learning_rate": 1e-9})
        weights.append(run_job(asked, data=data).model.state_dict())
    first, again, other = weights
    assert all(torch.equal(tensor, again[name]) for name, tensor in first.items())
    assert max(float((tensor - other[name]).abs().max()) for name, tensor in first.items()) > 0.01
