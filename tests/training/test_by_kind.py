"""Every kind of system is trained in its own way, through one door."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch.nn import functional as F

from course_lib.models.registry import build
from course_lib.text.batching import Epochs
from course_lib.text.toy.generate import generate
from course_lib.training.by_kind import config_for, count, train_by_kind
from course_lib.training.checkpoint import describe, load_checkpoint, load_system
from course_lib.training.objective import CLASSES, pronoun_labels, right_by_class, target_ids
from course_lib.training.run_folder import RunFolder


@pytest.fixture(scope="module")
def some(encoded):
    """160 pairs, some with a pronoun, to learn from and to validate on."""
    return encoded(generate(160, seed=1, length=(3, 10)))


@pytest.mark.parametrize("name", ["ngram_lm", "gru_lm", "self_attentive", "seq2seq"])
def test_every_kind_is_trained_kept_and_found_again(tmp_path, some, recipe, name):
    config, seen = config_for(name, scale="tiny", data=some), []
    folder = RunFolder(tmp_path, describe(name, config, recipe, some))
    torch.manual_seed(0)
    model, again = build(name, config), build(name, config)
    result = train_by_kind(model, some, recipe, folder=folder, after_validation=seen.append)
    assert result.ended == "finished" and seen == result.history.records and not model.training
    found = train_by_kind(again, some, recipe, folder=folder, after_validation=seen.append)
    assert found.history.records == result.history.records == seen
    saved = load_system(folder.best).model.state_dict()
    for one in (model, again):
        assert all(torch.equal(saved[key], tensor) for key, tensor in one.state_dict().items())


def test_a_classifier_is_validated_by_the_plain_cross_entropy(some, recipe):
    """Without the smoothing and the penalty that it is trained with, and without dropout."""
    torch.manual_seed(0)
    config = replace(config_for("self_attentive", scale="tiny", data=some), dropout=0.5)
    model = build("self_attentive", config)
    short = replace(recipe, n_steps=2, smoothing=0.3, average_from=1.0)
    (record,) = train_by_kind(model, some, short).history.records
    (batch,) = Epochs(some.validation, tokens_per_batch=9999, seed=0).one(epoch=0)
    labels = pronoun_labels(some.validation, some.tokenizer)[batch.pairs]
    with torch.no_grad():
        expected = F.cross_entropy(model(batch.src, batch.src_lengths), labels)
    assert record.loss == pytest.approx(expected.item(), rel=1e-5)
    with pytest.raises(ValueError, match=r"Expected r_drop 0.*but got 3.0.*translators"):
        train_by_kind(model, some, replace(recipe, r_drop=3.0))


@pytest.mark.slow
def test_a_classifier_learns_what_it_is_asked(encoded, recipe):
    pairs = [pair for pair in generate(600, seed=1, length=(3, 12)) if set(pair.tgt) & set(CLASSES)][:16]
    data = encoded(pairs + generate(16, seed=2, length=(3, 8)))
    torch.manual_seed(0)
    model = build("self_attentive", config_for("self_attentive", scale="tiny", data=data))
    longer = {"n_steps": 160, "learning_rate": 3e-2, "validate_every": 40, "tokens_per_batch": 512}
    train_by_kind(model, data, replace(recipe, average_from=1.0, **longer))
    right = right_by_class(model, data.train, pronoun_labels(data.train, data.tokenizer))
    assert right["all"] > 0.9  # sentences it has seen


def test_counts_are_of_the_target_sentences_and_survive_a_kill(data, make, folder):
    model, expected, again = (make("ngram_lm") for _ in range(3))
    result = count(model, data, folder=folder(name="ngram_lm"))
    expected.fit(target_ids(data.train))
    batch = next(Epochs(data.validation, tokens_per_batch=999, seed=0))
    assert torch.equal(model(batch.tgt_in), expected(batch.tgt_in))
    (record,) = result.history.records
    assert record.step == result.step == 1
    assert record.n_tokens == sum(tgt for _, tgt in data.train.lengths)
    assert record.train_loss < record.loss  # what it has read is less of a surprise
    folder().best.unlink()  # killed between its two files
    assert count(again, data, folder=folder(name="ngram_lm")).history.records == [record]
    kept, _ = load_checkpoint(folder().best)
    assert all(torch.equal(tensor, kept[name]) for name, tensor in model.state_dict().items())
