"""The table of all systems with their papers, classes and sizes, and functions to build them by name.

    >>> config = make_config("luong_dot", scale="tiny", vocab_size=50)
    >>> config.score, config.hidden
    ('dot', 12)
    >>> model = build("luong_dot", config)
    >>> type(model).__name__
    'Luong'
    >>> system("luong")
    Traceback (most recent call last):
    ValueError: Unknown system 'luong'. Did you mean luong_dot, ...

A name determines what defines a system (its `variant`, such as the score of `luong_dot`), a scale its size.

| scale | vocabulary | translators | language models | for |
|---|---|---|---|---|
| `tiny` | any | a few thousand | a few thousand | tests: built and run in milliseconds |
| `toy` | 680 words | 400,000 parameters | 120,000 | the toy language, on a CPU in minutes |
| `multi30k` | 8,000 subwords | 9.4 million | 3.7 million | real sentences, on a GPU |

Systems that are compared have the same number of parameters, within 10%, which a test checks. Luong's six
systems have the same widths, so that they differ only in their attention.

This module doesn't import torch, which takes seconds to load: a system's own module is imported when needed.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal, get_type_hints

from course_lib.models.config import Config

if TYPE_CHECKING:
    import torch

JsonValue = str | int | float | bool | None

SCALES = {
    "tiny": {"dropout": 0.0, "max_len": 16},
    "toy": {"dropout": 0.1, "max_len": 64},
    "multi30k": {"dropout": 0.3, "max_len": 128},
}
"""The fields that all systems share at a scale."""


@dataclass(frozen=True, eq=False)
class System:
    """One system. `variant` has the configuration fields that its name determines."""

    name: str
    year: int
    kind: Literal["language model", "sentence encoder", "translator"]
    title: str
    class_path: str  # module and class
    paper: str
    sizes: Mapping[str, tuple[int, int, int]]  # at each scale
    variant: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def model(self) -> type[torch.nn.Module]:
        module, _, name = self.class_path.partition(".")
        return getattr(importlib.import_module(f"course_lib.models.{module}"), name)

    @cached_property
    def config(self) -> type[Config]:
        return get_type_hints(self.model.__init__)["config"]

    @property
    def counts(self) -> bool:
        """Whether it is trained by counting, without gradients or an optimizer."""
        return self.name == "ngram_lm"


SHANNON = "Shannon: A Mathematical Theory of Communication"
BENGIO = "Bengio, Ducharme, Vincent, Jauvin: A Neural Probabilistic Language Model"
MIKOLOV = "Mikolov et al.: Recurrent Neural Network based Language Model"
SUNDERMEYER = "Sundermeyer et al.: LSTM Neural Networks for Language Modeling"
CHO = (
    "Cho et al.: Learning Phrase Representations using RNN Encoder-Decoder "
    "for Statistical Machine Translation"
)
CHENG = "Cheng, Dong, Lapata: Long Short-Term Memory-Networks for Machine Reading"
DANILUK = (
    "Daniluk, Rocktäschel, Welbl, Riedel: Frustratingly Short Attention Spans in Neural Language Modeling"
)
LIU = "Liu et al.: Generating Wikipedia by Summarizing Long Sequences"
LIN = "Lin et al.: A Structured Self-attentive Sentence Embedding"
KALCHBRENNER = "Kalchbrenner, Blunsom: Recurrent Continuous Translation Models"
SUTSKEVER = "Sutskever, Vinyals, Le: Sequence to Sequence Learning with Neural Networks"
BAHDANAU = "Bahdanau, Cho, Bengio: Neural Machine Translation by Jointly Learning to Align and Translate"
LUONG = "Luong, Pham, Manning: Effective Approaches to Attention-based Neural Machine Translation"
GEHRING = "Gehring, Auli, Grangier, Yarats, Dauphin: Convolutional Sequence to Sequence Learning"
VASWANI = "Vaswani et al.: Attention Is All You Need"

LM, ENCODER, TRANSLATOR = "language model", "sentence encoder", "translator"

# fmt: off
GLOBAL = {"embed": (8, 96, 256), "hidden": (12, 132, 720)}
LOCAL = GLOBAL | {"half_width": (2, 5, 10)}
SYSTEMS = (
    System("ngram_lm", 1948, LM, "N-gram", "ngram.NGramLM", SHANNON,
        {"order": (3, 3, 3)}),
    System("mlp_lm", 2003, LM, "Fixed-window MLP", "window_mlp.WindowMLP", BENGIO,
        {"embed": (8, 64, 256), "hidden": (16, 236, 1280), "window": (3, 4, 4)}),
    System("rnn_lm", 2010, LM, "RNN", "recurrent_lm.RecurrentLM", MIKOLOV,
        {"embed": (8, 64, 256), "hidden": (12, 216, 1056)}, {"kind": "rnn"}),
    System("lstm_lm", 2012, LM, "LSTM", "recurrent_lm.RecurrentLM", SUNDERMEYER,
        {"embed": (8, 64, 256), "hidden": (12, 104, 512)}, {"kind": "lstm"}),
    System("gru_lm", 2014, LM, "GRU", "recurrent_lm.RecurrentLM", CHO,
        {"embed": (8, 64, 256), "hidden": (12, 120, 592)}, {"kind": "gru"}),
    System("lstmn_lm", 2016, LM, "LSTMN", "lstmn_lm.LSTMNLM", CHENG,
        {"embed": (8, 64, 256), "hidden": (12, 96, 448), "attn_dim": (8, 36, 256)}),
    System("attention_lm", 2017, LM, "LSTM with attention", "key_value_lm.KeyValueLM", DANILUK,
        {"embed": (8, 64, 256), "hidden": (12, 84, 408), "span": (3, 5, 5)}, {"form": "attention"}),
    System("key_value_lm", 2017, LM, "Key-value attention", "key_value_lm.KeyValueLM", DANILUK,
        {"embed": (8, 64, 256), "hidden": (12, 96, 480), "span": (3, 5, 5)}, {"form": "key-value"}),
    System("key_value_predict_lm", 2017, LM, "Key-value-predict attention", "key_value_lm.KeyValueLM",
        DANILUK, {"embed": (8, 64, 256), "hidden": (12, 105, 504), "span": (3, 5, 5)},
        {"form": "key-value-predict"}),
    System("ngram_rnn_lm", 2017, LM, "N-gram RNN", "ngram_rnn.NGramRNN", DANILUK,
        {"embed": (8, 64, 256), "hidden": (12, 105, 504)}),
    System("transformer_lm", 2018, LM, "Decoder-only Transformer", "transformer_lm.TransformerLM", LIU,
        {"d_model": (8, 64, 256), "n_heads": (2, 4, 4), "d_ff": (16, 160, 1024), "n_layers": (2, 2, 2)}),
    System("self_attentive", 2017, ENCODER, "Structured self-attention",
        "self_attentive.SelfAttentive", LIN,
        {"embed": (8, 64, 256), "hidden": (6, 48, 192), "attn_dim": (5, 32, 128), "n_hops": (3, 4, 6),
         "n_classes": (2, 2, 2)}),
    System("rctm", 2013, TRANSLATOR, "Recurrent continuous translation model", "rctm.RCTM", KALCHBRENNER,
        {"embed": (8, 96, 256), "hidden": (16, 444, 2352)}),
    System("rnn_encoder_decoder", 2014, TRANSLATOR, "RNN encoder-decoder", "cho.Cho", CHO,
        {"embed": (8, 96, 256), "hidden": (12, 132, 704)}),
    System("seq2seq", 2014, TRANSLATOR, "Sequence to sequence", "sutskever.Sutskever", SUTSKEVER,
        {"embed": (8, 96, 256), "hidden": (12, 100, 512)}),
    System("bahdanau", 2015, TRANSLATOR, "Bahdanau attention", "bahdanau.Bahdanau", BAHDANAU,
        {"embed": (8, 96, 256), "hidden": (12, 96, 512)}),
    System("luong_dot", 2015, TRANSLATOR, "Luong, dot", "luong.Luong", LUONG,
        GLOBAL, {"score": "dot", "window": "global"}),
    System("luong_general", 2015, TRANSLATOR, "Luong, general", "luong.Luong", LUONG,
        GLOBAL, {"score": "general", "window": "global"}),
    System("luong_concat", 2015, TRANSLATOR, "Luong, concat", "luong.Luong", LUONG,
        GLOBAL, {"score": "concat", "window": "global"}),
    System("luong_location", 2015, TRANSLATOR, "Luong, location", "luong.Luong", LUONG,
        GLOBAL, {"score": "location", "window": "global"}),
    System("luong_local_m", 2015, TRANSLATOR, "Luong, local and monotonic", "luong.Luong", LUONG,
        LOCAL, {"score": "general", "window": "local-m"}),
    System("luong_local_p", 2015, TRANSLATOR, "Luong, local and predicted", "luong.Luong", LUONG,
        LOCAL, {"score": "general", "window": "local-p"}),
    System("lstmn_shallow", 2016, TRANSLATOR, "LSTMN, shallow fusion", "lstmn.LSTMN", CHENG,
        {"embed": (8, 96, 256), "hidden": (12, 116, 624), "attn_dim": (8, 64, 256)}, {"fusion": "shallow"}),
    System("lstmn_deep", 2016, TRANSLATOR, "LSTMN, deep fusion", "lstmn.LSTMN", CHENG,
        {"embed": (8, 96, 256), "hidden": (12, 128, 688), "attn_dim": (8, 64, 256)}, {"fusion": "deep"}),
    System("convs2s", 2017, TRANSLATOR, "ConvS2S", "convs2s.ConvS2S", GEHRING,
        {"embed": (8, 96, 256), "hidden": (12, 80, 352), "n_layers": (2, 3, 4)}),
    System("transformer", 2017, TRANSLATOR, "Transformer", "transformer.Transformer", VASWANI,
        {"d_model": (8, 64, 256), "n_heads": (2, 4, 4), "d_ff": (16, 256, 1024), "n_layers": (2, 3, 4)}),
)
# fmt: on
"""Language models, then the sentence encoder, then the translators, each by year."""


def system(name: str) -> System:
    """Find a system by name, or suggest similar names."""
    for entry in SYSTEMS:
        if entry.name == name:
            return entry
    names = [entry.name for entry in SYSTEMS]
    similar = difflib.get_close_matches(str(name), names, n=3, cutoff=0.5)
    hint = f"Did you mean {', '.join(similar)}?" if similar else f"Choose from: {', '.join(names)}."
    raise ValueError(f"Unknown system {name!r}. {hint}")


def translators() -> tuple[System, ...]:
    """All systems that implement `Translator`."""
    return tuple(entry for entry in SYSTEMS if entry.kind == TRANSLATOR)


def language_models() -> tuple[System, ...]:
    """All systems that implement `LanguageModel`."""
    return tuple(entry for entry in SYSTEMS if entry.kind == LM)


def make_config(name: str, *, scale: str, vocab_size: int) -> Config:
    """The configuration of a system at one of the three scales: tiny, toy or multi30k."""
    entry = system(name)
    if scale not in SCALES:
        raise ValueError(f"Unknown scale {scale!r}. Choose from: {', '.join(SCALES)}.")
    column = list(SCALES).index(scale)
    sizes = {size: numbers[column] for size, numbers in entry.sizes.items()}
    return entry.config(vocab_size=vocab_size, **SCALES[scale], **sizes, **entry.variant)


def build(name: str, config: Config) -> torch.nn.Module:
    """Make a new system, with initial weights from torch's generator: seed it to reproduce them."""
    entry = system(name)
    _check_config(entry, config)
    for key, value in entry.variant.items():
        if getattr(config, key) != value:
            raise ValueError(
                f"Expected {key}={value!r}, which defines {name}, but got {getattr(config, key)!r}. "
                f"Choose another system, or build {entry.model.__name__} directly."
            )
    return entry.model(config)


def n_parameters(model: torch.nn.Module) -> int:
    """The number of parameters; shared ones are counted once.

    >>> n_parameters(torch.nn.Linear(3, 2))                 # 3 · 2 weights and 2 biases
    8
    """
    return sum(parameter.numel() for parameter in model.parameters())


def config_to_json(name: str, config: Config) -> dict[str, JsonValue]:
    """A configuration as plain data, with the name of its system: checkpoints store it with the weights."""
    _check_config(system(name), config)
    return {"system": name, **asdict(config)}


def config_from_json(stored: Mapping[str, JsonValue]) -> tuple[str, Config]:
    """The system's name and its configuration, from the output of `config_to_json`.

    A field that was added later, and so is missing, gets its default, with which the system was built.

    >>> config = make_config("bahdanau", scale="tiny", vocab_size=50)
    >>> config_from_json(config_to_json("bahdanau", config)) == ("bahdanau", config)
    True
    """
    fields = dict(stored)
    entry = system(fields.pop("system", None))
    try:
        return entry.name, entry.config(**fields)
    except TypeError as error:
        raise ValueError(
            f"This is not a valid configuration of {entry.name}: {error}. "
            "Was it saved by another version of the course?"
        ) from error


def _check_config(entry: System, config: Config) -> None:
    if type(config) is not entry.config:
        raise TypeError(
            f"Expected a {entry.config.__name__} for {entry.name}, but got {type(config).__name__}. "
            f"Make one with make_config({entry.name!r}, scale=..., vocab_size=...)."
        )
