"""A run of each kind of system: a language model, a translator, the n-gram model, the sentence encoder."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

from course_lib.text.batching import Epochs
from course_lib.text.encoded import target_ids
from course_lib.text.toy.generate import generate
from course_lib.training.checkpoint import load_system
from course_lib.training.job import Job
from tools.pronouns import CLASSES, pronoun_labels, right_by_class
from tools.train_system import train_system

SHORT = {"tokens_per_batch": 128, "learning_rate": 1e-2, "average_from": 1.0}


@pytest.fixture(scope="module")
def pronoun_data(encoded):
    """160 pairs, some with a pronoun, for both training and validation."""
    return encoded(generate(160, seed=1, length=(3, 10)))


@pytest.fixture
def job(tmp_path):
    """Makes a job for a tiny system with 8 steps."""

    def make_job(name, folder=tmp_path, n_steps=8, **more):
        more["recipe"] = SHORT | more.get("recipe", {})
        return Job(system=name, scale="tiny", device="cpu", folder=folder, n_steps=n_steps, **more)

    return make_job


@pytest.mark.parametrize("name", ["ngram_lm", "gru_lm", "self_attentive", "seq2seq"])
def test_every_kind_is_trained_saved_and_loaded(pronoun_data, job, name):
    records = []
    first = train_system(job(name), data=pronoun_data, after_validation=records.append)
    assert first.result.ended == "finished" and records == first.result.history and not first.model.training
    if name == "ngram_lm":
        first.saved.unlink()  # as if killed before the second file was saved
    again = train_system(job(name), data=pronoun_data, after_validation=records.append)
    train_system(job(name), data=pronoun_data, command="third run, which has nothing to do")
    assert again.result.history == first.result.history == records
    saved = load_system(first.saved)
    for model in (first.model, again.model):
        assert all(torch.equal(saved.model.state_dict()[key], w) for key, w in model.state_dict().items())
    assert saved.about["command"].startswith(f"Job(system='{name}', ")
    typed = train_system(job(name, folder=None, n_steps=1), data=pronoun_data, command="train it")
    assert typed.about["command"] == "train it" and typed.saved is None


def test_a_classifier_is_validated_with_plain_cross_entropy(pronoun_data, job):
    """Without the label smoothing, the penalty and the dropout of training."""
    two_steps = job("self_attentive", None, 2, config={"dropout": 0.5}, recipe={"smoothing": 0.3})
    trained = train_system(two_steps, data=pronoun_data)
    (batch,) = Epochs(pronoun_data.validation, tokens_per_batch=9999, seed=0).batches(epoch=0)
    labels = pronoun_labels(pronoun_data.validation, pronoun_data.tokenizer)[batch.pairs]
    with torch.no_grad():
        expected = F.cross_entropy(trained.model(batch.src, batch.src_lengths), labels)
    assert trained.result.history.best.loss == pytest.approx(expected.item(), rel=1e-5)
    with pytest.raises(ValueError, match=r"R-Drop and scheduled sampling"):
        train_system(job("self_attentive", recipe={"r_drop": 3.0}), data=pronoun_data)


@pytest.mark.slow
def test_a_classifier_learns_its_training_sentences(encoded, job):
    pairs = [pair for pair in generate(600, seed=1, length=(3, 12)) if set(pair.tgt) & set(CLASSES)][:16]
    data = encoded(pairs + generate(16, seed=2, length=(3, 8)))
    longer = {"learning_rate": 3e-2, "tokens_per_batch": 512}
    model = train_system(job("self_attentive", n_steps=160, recipe=longer), data=data).model
    right = right_by_class(model, data.train, pronoun_labels(data.train, data.tokenizer))
    assert right["all"] > 0.9


def test_the_ngram_model_counts_the_target_sentences(data, make, job):
    trained, expected = train_system(job("ngram_lm"), data=data), make("ngram_lm")
    expected.fit(target_ids(data.train))
    batch = next(Epochs(data.validation, tokens_per_batch=999, seed=0))
    assert torch.equal(trained.model(batch.tgt_in), expected(batch.tgt_in))
    (record,) = trained.result.history
    assert record.step == trained.result.step == 1
    assert record.n_tokens == sum(tgt for _, tgt in data.train.lengths)
    assert record.train_loss < record.loss  # training sentences are more probable
