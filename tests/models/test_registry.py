"""The registry: names, sizes and budgets, and what it says to a name or a configuration it does not know."""

from __future__ import annotations

import json
import sys
from dataclasses import FrozenInstanceError, replace

import pytest
import torch

from course_lib.models import sizes
from course_lib.models.language_model import LanguageModel
from course_lib.models.registry import (
    SYSTEMS,
    build,
    config_from_json,
    config_to_json,
    language_models,
    make_config,
    system,
    translators,
)
from course_lib.models.translator import Translator
from course_lib.text.toy.splits import splits
from course_lib.text.word_tokenizer import WordTokenizer

NAMES = [one.name for one in SYSTEMS]
every_system = pytest.mark.parametrize("name", NAMES)

# The road as the syllabus has it.
LANGUAGE_MODELS = (
    "ngram_lm mlp_lm rnn_lm lstm_lm gru_lm lstmn_lm attention_lm key_value_lm key_value_predict_lm "
    "ngram_rnn_lm transformer_lm"
)
TRANSLATORS = (
    "rctm rnn_encoder_decoder seq2seq bahdanau luong_dot luong_general luong_concat luong_location "
    "luong_local_m luong_local_p lstmn_shallow lstmn_deep convs2s transformer"
)


def test_the_road_is_all_there_and_in_order():
    assert [one.name for one in language_models()] == LANGUAGE_MODELS.split()
    assert [one.name for one in translators()] == TRANSLATORS.split()
    assert [*LANGUAGE_MODELS.split(), "self_attentive", *TRANSLATORS.split()] == NAMES
    for kind in (language_models(), translators()):
        assert [one.year for one in kind] == sorted(one.year for one in kind)


@every_system
def test_what_is_said_of_a_system(name):
    """Its kind is its interface, and its paper's authors are named in its file."""
    one = system(name)
    kinds = {"translator": Translator, "language model": LanguageModel, "sentence encoder": torch.nn.Module}
    assert issubclass(one.model, kinds[one.kind])
    authors = one.paper.partition(":")[0].removesuffix(" et al.").split(", ")
    text = sys.modules[one.model.__module__].__doc__
    assert all(author in text for author in authors), authors
    assert str(one.year) in text
    with pytest.raises(FrozenInstanceError):
        one.year = 2018


def test_titles_differ_within_a_kind():
    assert len({(one.kind, one.title) for one in SYSTEMS}) == len(SYSTEMS)


# ---- sizes


@pytest.fixture(scope="module")
def toy_vocabulary() -> int:
    """Words of both languages in the toy language: a quarter of its training split knows nearly all."""
    train = splits(seed=0, sizes={"train": 5_000}).train
    return WordTokenizer.from_texts(
        [text for one in train for text in (one.src_text, one.tgt_text)]
    ).vocab_size


def n_parameters(name: str, scale: str, vocab_size: int) -> int:
    with torch.device("meta"):  # sizes without numbers: ten million of those are not drawn for a count
        model = build(name, make_config(name, scale=scale, vocab_size=vocab_size))
    return sum(parameter.numel() for parameter in model.parameters())


def check_budget(systems, scale: str, vocab_size: int, budget: int) -> None:
    counts = {one.name: n_parameters(one.name, scale, vocab_size) for one in systems if not one.counts}
    table = "\n".join(f"{name:24}{count:>12,}{count / budget - 1:>+8.1%}" for name, count in counts.items())
    within = all(abs(count / budget - 1) <= 0.1 for count in counts.values())
    assert within, f"{scale}, {vocab_size} words, {budget:,} parameters, give or take a tenth:\n{table}"


@pytest.mark.slow
def test_budgets_of_the_toy_scale(toy_vocabulary):
    assert 650 <= toy_vocabulary <= 720
    check_budget(translators(), "toy", toy_vocabulary, 400_000)
    check_budget((*language_models(), system("self_attentive")), "toy", toy_vocabulary, 120_000)


@pytest.mark.slow
def test_budgets_of_the_multi30k_scale():
    check_budget(translators(), "multi30k", 8_000, 9_400_000)
    check_budget((*language_models(), system("self_attentive")), "multi30k", 8_000, 3_700_000)


def test_a_tiny_system_is_tiny():
    assert all(n_parameters(name, "tiny", 20) < 6_000 for name in NAMES)
    assert all(make_config(name, scale="tiny", vocab_size=20).dropout == 0 for name in NAMES)


def test_the_transformer_of_multi30k():
    config = make_config("transformer", scale="multi30k", vocab_size=8_000)
    assert (config.d_model, config.n_layers, config.d_ff, config.n_heads) == (256, 4, 1024, 4)
    assert config.dropout == 0.3 and config.tied


def test_a_budget_that_is_missed_prints_the_table():
    with pytest.raises(
        AssertionError, match=r"toy, 50 words, 400,000 parameters.*\n +bahdanau +\d+,\d+ +-\d+"
    ):
        check_budget([system("bahdanau")], "toy", 50, 400_000)


def test_every_scale_has_every_system():
    assert all(list(scale) == NAMES for scale in sizes.SCALES.values())


# ---- by name


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("luong", "Did you mean luong_"),
        ("Transformer", "Did you mean transformer, transformer_lm"),
        ("seq2sec", "Did you mean seq2seq"),
        ("gpt5", f"There are: {', '.join(NAMES)}"),
    ],
)
def test_a_name_nobody_has(name, hint):
    with pytest.raises(ValueError, match=rf"There is no system '{name}'\. {hint}"):
        system(name)
    with pytest.raises(ValueError, match="There is no system"):
        make_config(name, scale="tiny", vocab_size=20)


def test_a_scale_nobody_has():
    with pytest.raises(ValueError, match=r"no scale 'huge'\. There are: tiny, toy, multi30k"):
        make_config("bahdanau", scale="huge", vocab_size=20)


def test_a_configuration_of_another_system():
    config = make_config("convs2s", scale="tiny", vocab_size=20)
    with pytest.raises(
        TypeError, match=r"Expected a LuongConfig for luong_dot, but got ConvS2SConfig\. Make one"
    ):
        build("luong_dot", config)
    with pytest.raises(TypeError, match="Expected a LuongConfig for luong_dot, but got ConvS2SConfig"):
        config_to_json("luong_dot", config)


def test_a_configuration_that_is_not_what_the_name_says():
    config = replace(make_config("luong_dot", scale="tiny", vocab_size=20), score="concat")
    with pytest.raises(
        ValueError, match=r"Expected score='dot', for that is what luong_dot means, but got 'concat'"
    ):
        build("luong_dot", config)


@every_system
def test_the_same_seed_builds_the_same_system(name):
    config = make_config(name, scale="tiny", vocab_size=20)
    weights = []
    for _ in range(2):
        torch.manual_seed(5)
        weights.append(build(name, config).state_dict())
    torch.testing.assert_close(*weights, rtol=0, atol=0)


# ---- configurations as JSON


@every_system
@pytest.mark.parametrize("scale", sizes.SCALES)
def test_a_configuration_survives_json(name, scale):
    config = make_config(name, scale=scale, vocab_size=20)
    assert config_from_json(json.loads(json.dumps(config_to_json(name, config)))) == (name, config)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"system": None}, r"name of a system under 'system', but there are only .*vocab_size"),
        ({"system": "bahdanoi"}, r"There is no system 'bahdanoi'\. Did you mean bahdanau"),
        ({"hidden": None}, r"fields of BahdanauConfig.*bahdanau lacks hidden\. Was it written"),
        ({"depth": 3}, r"has the unknown depth\."),
        ({"depth": 3, "hidden": None}, r"lacks hidden and has the unknown depth\."),
        ({"dropout": 2.0}, r"dropout of at least 0 and below 1"),
    ],
)
def test_json_that_is_no_configuration(change, message):
    kept = config_to_json("bahdanau", make_config("bahdanau", scale="tiny", vocab_size=20)) | change
    with pytest.raises(ValueError, match=message):
        config_from_json({key: value for key, value in kept.items() if value is not None})


def test_an_option_that_joined_later_has_its_default():
    config = make_config("transformer", scale="tiny", vocab_size=20)
    kept = config_to_json("transformer", config)
    del kept["norm"], kept["d_k"]
    assert config_from_json(kept) == ("transformer", config)


def test_json_that_belies_its_name():
    kept = config_to_json("luong_dot", make_config("luong_dot", scale="tiny", vocab_size=20))
    with pytest.raises(ValueError, match="Expected score='dot'"):
        build(*config_from_json(kept | {"score": "general"}))
