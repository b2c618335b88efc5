"""The table of systems: names, sizes and parameter budgets; configurations, their checks and JSON."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import FrozenInstanceError, dataclass, replace

import pytest
import torch

from course_lib.models.config import Config
from course_lib.models.language_model import LanguageModel
from course_lib.models.registry import (
    SCALES,
    SYSTEMS,
    build,
    config_from_json,
    config_to_json,
    language_models,
    make_config,
    n_parameters,
    system,
    translators,
)
from course_lib.models.translator import Translator
from course_lib.text.toy.splits import splits
from course_lib.text.word_tokenizer import WordTokenizer

LANGUAGE_MODELS = [
    *("ngram_lm", "mlp_lm", "rnn_lm", "lstm_lm", "gru_lm", "lstmn_lm", "attention_lm", "key_value_lm"),
    *("key_value_predict_lm", "ngram_rnn_lm", "transformer_lm"),
]
TRANSLATORS = [
    *("rctm", "rnn_encoder_decoder", "seq2seq", "bahdanau", "luong_dot", "luong_general", "luong_concat"),
    *("luong_location", "luong_local_m", "luong_local_p", "lstmn_shallow", "lstmn_deep", "convs2s"),
    "transformer",
]
NAMES = [*LANGUAGE_MODELS, "self_attentive", *TRANSLATORS]


def test_all_systems_are_there_in_order():
    assert [entry.name for entry in SYSTEMS] == NAMES
    for kind, names in ((language_models(), LANGUAGE_MODELS), (translators(), TRANSLATORS)):
        assert [entry.name for entry in kind] == names
        assert [entry.year for entry in kind] == sorted(entry.year for entry in kind)
    assert len({(entry.kind, entry.title) for entry in SYSTEMS}) == len(SYSTEMS)
    assert [entry.name for entry in SYSTEMS if entry.counts] == ["ngram_lm"]


def test_the_table_does_not_import_torch():
    code = "import sys, course_lib.models.registry as r; assert r.SYSTEMS; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


@pytest.mark.parametrize("name", NAMES)
def test_the_entry_of_a_system(name):
    """Its kind is its interface, its file names the paper's authors and year, and it can be stored."""
    entry = system(name)
    kinds = {"translator": Translator, "language model": LanguageModel, "sentence encoder": torch.nn.Module}
    assert issubclass(entry.model, kinds[entry.kind])
    authors = entry.paper.partition(":")[0].removesuffix(" et al.").split(", ")
    docstring = sys.modules[entry.model.__module__].__doc__
    assert all(fact in docstring for fact in (*authors, str(entry.year)))
    for scale in SCALES:
        config = make_config(name, scale=scale, vocab_size=20)
        assert config_from_json(json.loads(json.dumps(config_to_json(name, config)))) == (name, config)
    config, weights = make_config(name, scale="tiny", vocab_size=20), []
    for _ in range(2):
        torch.manual_seed(5)
        weights.append(build(name, config).state_dict())
    torch.testing.assert_close(*weights, rtol=0, atol=0)
    assert config.dropout == 0 and n_parameters(build(name, config)) < 6_000


# ---- parameter budgets


def toy_vocabulary() -> int:
    """The vocabulary of both toy languages: a quarter of the training split has nearly all words."""
    train = splits(seed=0, sizes={"train": 5_000}).train
    texts = [text for pair in train for text in (pair.src_text, pair.tgt_text)]
    return WordTokenizer.from_texts(texts).vocab_size


@pytest.mark.slow
def test_systems_that_are_compared_have_the_same_number_of_parameters():
    """Within 10 %. Built on the meta device, to save the initialisation."""
    groups = {"translator": translators(), "another": (*language_models(), system("self_attentive"))}
    budgets = {
        "toy": (toy_vocabulary(), {"translator": 400_000, "another": 120_000}),
        "multi30k": (8_000, {"translator": 9_400_000, "another": 3_700_000}),
    }
    assert 650 <= budgets["toy"][0] <= 720
    deviations = []
    for scale, (vocab_size, budget) in budgets.items():
        for kind, systems in groups.items():
            for name in (entry.name for entry in systems if not entry.counts):
                with torch.device("meta"):
                    n = n_parameters(build(name, make_config(name, scale=scale, vocab_size=vocab_size)))
                if abs(n / budget[kind] - 1) > 0.1:
                    deviations.append(f"{scale} {name}: {n:,} for {budget[kind]:,}")
    assert not deviations


def test_the_sizes_of_the_multi30k_transformer():
    config = make_config("transformer", scale="multi30k", vocab_size=8_000)
    assert (config.d_model, config.n_layers, config.d_ff, config.n_heads) == (256, 4, 1024, 4)
    assert (config.dropout, config.max_len, config.tied) == (0.3, 128, True)


# ---- configurations


@dataclass(frozen=True, kw_only=True)
class TwoSizes(Config):
    hidden: int
    score: str = "dot"
    bridge: bool = False


def test_a_configuration_has_the_given_values_and_is_frozen():
    config = TwoSizes(vocab_size=500, hidden=7, tied=False)
    assert (config.vocab_size, config.hidden, config.dropout, config.tied) == (500, 7, 0.0, False)
    with pytest.raises(FrozenInstanceError):
        config.hidden = 8


def tiny(name: str, **changes):
    return replace(make_config(name, scale="tiny", vocab_size=20), **changes)


def built(name: str, **changes):
    return lambda: system(name).model(tiny(name, **changes))


def from_json(**changes):
    stored = config_to_json("bahdanau", tiny("bahdanau")) | changes
    return lambda: config_from_json({key: value for key, value in stored.items() if value is not None})


VALUES = {
    r"Unknown system 'luong'\. Did you mean luong_": lambda: system("luong"),
    r"Did you mean transformer, transformer_lm": lambda: system("Transformer"),
    rf"Unknown system 'gpt5'\. .*{', '.join(NAMES)}": lambda: system("gpt5"),
    r"scale 'huge'\. .*tiny, toy": lambda: make_config("bahdanau", scale="huge", vocab_size=20),
    r"score='dot'.*luong_dot.*got 'concat'": lambda: build("luong_dot", tiny("luong_dot", score="concat")),
    r"Unknown system None": from_json(system=None),
    r"Unknown system 'bahdanoi'\. Did you mean bahdanau": from_json(system="bahdanoi"),
    r"configuration of bahdanau: .*missing .*'hidden'": from_json(hidden=None),
    r"configuration of bahdanau: .*unexpected .*'depth'": from_json(depth=3),
    r"dropout of at least 0 and below 1, but got 2.0": from_json(dropout=2.0),
    r"dropout of at least 0 and below 1, but got -0.1": lambda: Config(vocab_size=5, dropout=-0.1),
    r"dropout of at least 0 and below 1, but got 1.0": lambda: Config(vocab_size=5, dropout=1.0),
    r"Expected vocab_size of at least 1, but got 0": lambda: Config(vocab_size=0),
    r"Expected hidden of at least 1, but got 0": lambda: TwoSizes(vocab_size=5, hidden=0),
    r"Expected hidden of at most 1,000,000, but got 1000001": lambda: TwoSizes(
        vocab_size=5, hidden=10**6 + 1
    ),
    r"kind to be one of rnn, lstm, gru, but got 'tape'": built("rnn_lm", kind="tape"),
    r"one of attention, key-value, key-value-predict, but got 'query'": built("key_value_lm", form="query"),
    r"hidden to be a multiple of 3, but got 8": built("key_value_predict_lm", hidden=8),
    r"order of at least 2, but got 1": built("ngram_rnn_lm", order=1),
    r"hidden to be a multiple of 5, but got 12": built("ngram_rnn_lm", order=6),
    r"score to be one of dot, .*got 'cosine'": built("luong_dot", score="cosine"),
    r"window to be one of global, .*got 'wide'": built("luong_dot", window="wide"),
    r"fusion to be one of shallow, deep, but got 'cold'": built("lstmn_deep", fusion="cold"),
    r"multiple of n_heads": built("transformer", n_heads=3),
    r"n_heads a multiple of n_kv_heads": built("transformer", n_heads=4, n_kv_heads=3),
    r"d_v of at least 1": built("transformer", d_v=0),
    r"sinusoidal, learned, rotary or none": built("transformer", positions="sine"),
    r"layer, rms, batch or none, but got 'group'": built("transformer", norm="group"),
    r"relu, swiglu or none, but got 'gelu'": built("transformer", feed_forward="gelu"),
    r"ff_dropout of at least 0 and below 1, but got 1.0": built("transformer", ff_dropout=1.0),
}
TYPES = {
    r"Expected a LuongConfig for luong_dot, but got ConvS2SConfig\. Make one": lambda: build(
        "luong_dot", tiny("convs2s")
    ),
    r"a LuongConfig for luong_dot, but got ConvS2SConfig": lambda: config_to_json(
        "luong_dot", tiny("convs2s")
    ),
    r"positional": lambda: Config(500),
    r"Expected tied to be of type bool, but got 1": lambda: Config(vocab_size=5, tied=1),
    r"Expected vocab_size to be of type int, but got 5.0": lambda: Config(vocab_size=5.0),
}


@pytest.mark.parametrize("message", VALUES | TYPES)
def test_wrong_values_and_types_raise_errors(message):
    with pytest.raises(TypeError if message in TYPES else ValueError, match=message):
        (VALUES | TYPES)[message]()


def test_a_missing_field_gets_its_default():
    config = make_config("transformer", scale="tiny", vocab_size=20)
    stored = config_to_json("transformer", config)
    del stored["norm"], stored["d_k"]
    assert config_from_json(stored) == ("transformer", config)
