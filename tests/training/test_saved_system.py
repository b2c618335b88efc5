"""A system from its file says what it said before it was saved."""

from __future__ import annotations

import pytest
import torch

from course_lib.models.registry import build, config_to_json, make_config
from course_lib.models.road import SYSTEMS
from course_lib.text.bpe import BpeTokenizer
from course_lib.training.checkpoint import CheckpointError, save_checkpoint
from course_lib.training.corpora import encode_data
from course_lib.training.recipe import Recipe
from course_lib.training.saved_system import describe, load_system
from course_lib.translation.translate import translate

TEXTS = ["the cat sleeps", "a dog sees the old house"]


@pytest.fixture
def save(tmp_path, data, make):
    """Save a new system, with what is said of it changed."""

    def one(name="bahdanau", weights=None, **changes):
        model, path = make(name), tmp_path / "x.safetensors"
        about = describe(name, model.config, Recipe(n_steps=1), data, command="course_lib train") | changes
        save_checkpoint(path, weights or model.state_dict(), about)
        return model, path

    return one


def test_it_translates_as_it_did(save, data):
    model, path = save()
    saved = load_system(path)
    assert saved.name == "bahdanau" and saved.tokenizer.to_text() == data.tokenizer.to_text()
    assert translate(TEXTS, saved.model, saved.tokenizer) == translate(TEXTS, model, data.tokenizer)
    assert not saved.model.training
    assert saved.about["data"] == {"name": "few", "fingerprint": data.fingerprint}
    assert (
        saved.about["command"] == "course_lib train" and saved.about["versions"]["torch"] == torch.__version__
    )


@pytest.mark.parametrize("name", [system.name for system in SYSTEMS if system.name != "ngram_lm"])
def test_every_system_comes_back(save, name):
    model, path = save(name)
    found = load_system(path).model.state_dict()
    assert found.keys() == model.state_dict().keys()
    assert all(torch.equal(found[key], tensor) for key, tensor in model.state_dict().items())


def test_counts_come_back_too(save, make):
    model = make("ngram_lm")
    model.fit([[5, 6, 7], [6, 7]])
    _, path = save("ngram_lm", weights=model.state_dict())
    found = load_system(path).model
    tokens = torch.tensor([[2, 5, 6]])
    assert torch.equal(found(tokens), model(tokens))


def test_bpe_comes_back(tmp_path, make):
    tokenizer = BpeTokenizer.from_texts(TEXTS * 3, vocab_size=120)
    data = encode_data("two", (TEXTS, TEXTS), (TEXTS, TEXTS), tokenizer)
    config = make_config("gru_lm", scale="tiny", vocab_size=tokenizer.vocab_size)
    path = tmp_path / "x.safetensors"
    save_checkpoint(
        path, build("gru_lm", config).state_dict(), describe("gru_lm", config, Recipe(n_steps=1), data)
    )
    assert load_system(path).tokenizer.encode(TEXTS[0]) == tokenizer.encode(TEXTS[0])


# ---- refused


def refused(path, *parts):
    with pytest.raises(CheckpointError) as caught:
        load_system(path)
    for part in (str(path), *parts):
        assert part in str(caught.value)


def test_a_system_nobody_knows(save, make):
    kept = config_to_json("bahdanau", make("bahdanau").config)
    refused(save(config=kept | {"system": "bahdanaut"})[1], "no system 'bahdanaut'", "Did you mean bahdanau")


def test_a_configuration_that_does_not_fit(save, make):
    kept = config_to_json("bahdanau", make("bahdanau").config)
    refused(save(config=kept | {"hidden": 13})[1], "has shape", "another configuration")
    refused(save(config=kept | {"colour": 1})[1], "unknown colour")
    refused(save(config=kept | {"hidden": "wide"})[1], "cannot be built")
    refused(save(config=kept | {"dropout": 2.0})[1], "Expected dropout")
    for nonsense in ([], "bahdanau", None, 3):
        refused(save(config=nonsense)[1], "cannot be built")


def test_a_tokenizer_that_does_not_fit(save, data):
    kept = {"kind": "words", "text": data.tokenizer.to_text()}
    refused(save(tokenizer=kept | {"kind": "letters"})[1], "no tokenizer 'letters'", "words, bpe")
    refused(save(tokenizer=kept | {"text": "{}"})[1], "tokenizer in")
    refused(save(tokenizer={"kind": "words"})[1], "has no 'text'")
    few = data.tokenizer.to_text().replace('"le",\n', "")
    size = data.tokenizer.vocab_size
    refused(save(tokenizer=kept | {"text": few})[1], f"for {size} tokens", f"has {size - 1}")


def test_where_a_run_stands_is_no_system(save):
    refused(save(standing={"step": 3})[1], "to go on from", "best.safetensors")
