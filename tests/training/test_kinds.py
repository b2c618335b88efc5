"""Every kind of system is trained in its own way, through one door."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch.nn import functional as F

from course_lib.models.registry import build, make_config
from course_lib.text.batching import Epochs
from course_lib.text.toy.generate import generate
from course_lib.text.word_tokenizer import WordTokenizer
from course_lib.training.checkpoint import load_checkpoint
from course_lib.training.corpora import encode_data
from course_lib.training.counting import count
from course_lib.training.kinds import config_for, train_by_kind
from course_lib.training.labels import CLASSES, pronoun_labels, right_by_class, target_ids
from course_lib.training.run_folder import RunFolder
from course_lib.training.saved_system import describe, load_system


def test_configurations_fit_the_data(data):
    assert config_for("self_attentive", scale="tiny", data=data).n_classes == len(CLASSES)
    for name in ("ngram_lm", "transformer"):
        assert config_for(name, scale="tiny", data=data).vocab_size == data.tokenizer.vocab_size


def test_a_small_system_has_room_for_long_sentences():
    long, short = " ".join(["word"] * 40), "word"
    texts = [short, long], [short, short]
    data = encode_data("long", texts, texts, WordTokenizer.from_texts([long]))
    usual = make_config("transformer", scale="tiny", vocab_size=9).max_len
    assert usual < 41 == config_for("transformer", scale="tiny", data=data).max_len  # EOS included
    few = encode_data("short", ([short], [short]), ([short], [short]), WordTokenizer.from_texts([long]))
    assert config_for("transformer", scale="tiny", data=few).max_len == usual


@pytest.mark.parametrize("name", ["ngram_lm", "gru_lm", "self_attentive", "seq2seq"])
def test_every_kind_is_trained_kept_and_found_again(tmp_path, recipe, name):
    pairs = generate(160, seed=1, length=(3, 10))
    texts = [pair.src_text for pair in pairs], [pair.tgt_text for pair in pairs]
    data = encode_data("some", texts, texts, WordTokenizer.from_texts([*texts[0], *texts[1]]))
    config = config_for(name, scale="tiny", data=data)
    keeper = RunFolder(tmp_path, describe(name, config, recipe, data))
    seen = []
    torch.manual_seed(0)
    model = build(name, config)
    result = train_by_kind(model, data, recipe, keeper=keeper, after_look=seen.append)
    assert result.ended == "finished" and seen == result.history.records and not model.training
    saved = load_system(keeper.best).model.state_dict()
    assert all(torch.equal(saved[key], tensor) for key, tensor in model.state_dict().items())
    again = build(name, config)
    found = train_by_kind(again, data, recipe, keeper=keeper, after_look=seen.append)
    assert found.history.records == result.history.records == seen
    assert all(torch.equal(saved[key], tensor) for key, tensor in again.state_dict().items())


def test_a_classifier_cannot_be_asked_to_agree_word_by_word(data, recipe):
    model = build("self_attentive", config_for("self_attentive", scale="tiny", data=data))
    with pytest.raises(ValueError, match=r"Expected r_drop 0.*but got 3.0.*translators"):
        train_by_kind(model, data, replace(recipe, r_drop=3.0))


def test_a_classifier_is_validated_by_the_plain_cross_entropy(recipe):
    """Without the smoothing and the penalty that it is trained with, and without dropout."""
    pairs = generate(160, seed=1, length=(3, 10))
    texts = [pair.src_text for pair in pairs], [pair.tgt_text for pair in pairs]
    data = encode_data("some", texts, texts, WordTokenizer.from_texts([*texts[0], *texts[1]]))
    torch.manual_seed(0)
    config = replace(config_for("self_attentive", scale="tiny", data=data), dropout=0.5)
    model = build("self_attentive", config)
    short = replace(recipe, n_steps=2, smoothing=0.3, average_from=1.0)
    (record,) = train_by_kind(model, data, short).history.records
    (batch,) = Epochs(data.validation, tokens_per_batch=9999, seed=0).one(epoch=0)
    labels = pronoun_labels(data.validation, data.tokenizer)[batch.pairs]
    with torch.no_grad():
        expected = F.cross_entropy(model(batch.src, batch.src_lengths), labels)
    assert record.loss == pytest.approx(expected.item(), rel=1e-5)


@pytest.mark.slow
def test_a_classifier_learns_what_it_is_asked(recipe):
    pairs = [pair for pair in generate(600, seed=1, length=(3, 12)) if set(pair.tgt) & set(CLASSES)][:16]
    pairs += generate(16, seed=2, length=(3, 8))
    texts = [pair.src_text for pair in pairs], [pair.tgt_text for pair in pairs]
    data = encode_data("some", texts, texts, WordTokenizer.from_texts([*texts[0], *texts[1]]))
    torch.manual_seed(0)
    model = build("self_attentive", config_for("self_attentive", scale="tiny", data=data))
    longer = replace(
        recipe, n_steps=160, learning_rate=3e-2, validate_every=40, average_from=1.0, tokens_per_batch=512
    )
    train_by_kind(model, data, longer)
    right = right_by_class(model, data.train, pronoun_labels(data.train, data.tokenizer))
    assert right["all"] > 0.9  # sentences it has seen


# ---- counting


def test_killed_between_its_two_files_it_finds_its_counts_all_the_same(tmp_path, data, make, recipe):
    keeper = RunFolder(tmp_path, describe("ngram_lm", make("ngram_lm").config, recipe, data))
    first = count(make("ngram_lm"), data.train, validation=data.validation, keeper=keeper)
    kept, _ = load_checkpoint(keeper.best)
    keeper.best.unlink()
    again = make("ngram_lm")
    found = count(again, data.train, validation=data.validation, keeper=keeper)
    assert found.history.records == first.history.records
    once_more, _ = load_checkpoint(keeper.best)
    assert all(torch.equal(tensor, once_more[name]) for name, tensor in kept.items())


def test_counts_are_of_the_target_sentences(data, make):
    model, expected = make("ngram_lm"), make("ngram_lm")
    result = count(model, data.train, validation=data.validation)
    expected.fit(target_ids(data.train))
    batch = next(Epochs(data.validation, tokens_per_batch=999, seed=0))
    assert torch.equal(model(batch.tgt_in), expected(batch.tgt_in))
    (record,) = result.history.records
    assert record.step == result.step == 1
    assert record.n_tokens == sum(tgt for _, tgt in data.train.lengths)
    assert record.train_loss < record.loss  # what it has read is less of a surprise
