"""The road itself: every system, in order, with its year and its paper.

    >>> [(system.name, system.year) for system in SYSTEMS if system.kind == "sentence encoder"]
    [('self_attentive', 2017)]

`registry.py` finds and builds them by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from torch import nn

from course_lib.models.bahdanau import Bahdanau, BahdanauConfig
from course_lib.models.cho import Cho, ChoConfig
from course_lib.models.config import Config
from course_lib.models.convs2s import ConvS2S, ConvS2SConfig
from course_lib.models.key_value_lm import KeyValueLM, KeyValueLMConfig
from course_lib.models.lstmn import LSTMN, LSTMNConfig
from course_lib.models.lstmn_lm import LSTMNLM, LSTMNLMConfig
from course_lib.models.luong import Luong, LuongConfig
from course_lib.models.ngram import NGramLM, NGramLMConfig
from course_lib.models.ngram_rnn import NGramRNN, NGramRNNConfig
from course_lib.models.rctm import RCTM, RCTMConfig
from course_lib.models.recurrent_lm import RecurrentLM, RecurrentLMConfig
from course_lib.models.self_attentive import SelfAttentive, SelfAttentiveConfig
from course_lib.models.sutskever import Sutskever, SutskeverConfig
from course_lib.models.transformer import Transformer, TransformerConfig
from course_lib.models.transformer_lm import TransformerLM
from course_lib.models.window_mlp import WindowMLP, WindowMLPConfig

Kind = Literal["language model", "sentence encoder", "translator"]


@dataclass(frozen=True, eq=False, kw_only=True)
class System:
    """One system of the history. `variant` are the fields of its configuration that its name decides.

    `counts` marks the one that learns by counting: it has no gradient and needs no optimiser.
    """

    name: str
    title: str
    year: int
    kind: Kind
    paper: str
    model: type[nn.Module]
    config: type[Config]
    variant: Mapping[str, str | bool] = field(default_factory=dict)
    counts: bool = False


PHRASES = (
    "Cho et al.: Learning Phrase Representations using RNN Encoder-Decoder "
    "for Statistical Machine Translation"
)
SHORT_SPANS = (
    "Daniluk, Rocktäschel, Welbl, Riedel: Frustratingly Short Attention Spans in Neural Language Modeling"
)
MACHINE_READING = "Cheng, Dong, Lapata: Long Short-Term Memory-Networks for Machine Reading"
EFFECTIVE = "Luong, Pham, Manning: Effective Approaches to Attention-based Neural Machine Translation"


def _recurrent(kind: str, year: int, paper: str) -> System:
    return System(
        name=f"{kind}_lm",
        title=kind.upper(),
        year=year,
        kind="language model",
        paper=paper,
        model=RecurrentLM,
        config=RecurrentLMConfig,
        variant={"kind": kind},
    )


def _key_value(name: str, title: str, form: str) -> System:
    return System(
        name=name,
        title=title,
        year=2017,
        kind="language model",
        paper=SHORT_SPANS,
        model=KeyValueLM,
        config=KeyValueLMConfig,
        variant={"form": form},
    )


def _luong(name: str, title: str, *, score: str, window: str = "global") -> System:
    return System(
        name=name,
        title=f"Luong, {title}",
        year=2015,
        kind="translator",
        paper=EFFECTIVE,
        model=Luong,
        config=LuongConfig,
        variant={"score": score, "window": window},
    )


def _lstmn(fusion: str) -> System:
    return System(
        name=f"lstmn_{fusion}",
        title=f"LSTMN, {fusion} fusion",
        year=2016,
        kind="translator",
        paper=MACHINE_READING,
        model=LSTMN,
        config=LSTMNConfig,
        variant={"fusion": fusion},
    )


SYSTEMS: tuple[System, ...] = (
    System(
        name="ngram_lm",
        title="N-gram",
        year=1948,
        kind="language model",
        paper="Shannon: A Mathematical Theory of Communication",
        model=NGramLM,
        config=NGramLMConfig,
        counts=True,
    ),
    System(
        name="mlp_lm",
        title="Fixed-window MLP",
        year=2003,
        kind="language model",
        paper="Bengio, Ducharme, Vincent, Jauvin: A Neural Probabilistic Language Model",
        model=WindowMLP,
        config=WindowMLPConfig,
    ),
    _recurrent("rnn", 2010, "Mikolov et al.: Recurrent Neural Network based Language Model"),
    _recurrent("lstm", 2012, "Sundermeyer et al.: LSTM Neural Networks for Language Modeling"),
    _recurrent("gru", 2014, PHRASES),
    System(
        name="lstmn_lm",
        title="LSTMN",
        year=2016,
        kind="language model",
        paper=MACHINE_READING,
        model=LSTMNLM,
        config=LSTMNLMConfig,
    ),
    _key_value("attention_lm", "LSTM with attention", "attention"),
    _key_value("key_value_lm", "Key-value attention", "key-value"),
    _key_value("key_value_predict_lm", "Key-value-predict attention", "key-value-predict"),
    System(
        name="ngram_rnn_lm",
        title="N-gram RNN",
        year=2017,
        kind="language model",
        paper=SHORT_SPANS,
        model=NGramRNN,
        config=NGramRNNConfig,
    ),
    System(
        name="transformer_lm",
        title="Decoder-only Transformer",
        year=2018,
        kind="language model",
        paper="Liu et al.: Generating Wikipedia by Summarizing Long Sequences",
        model=TransformerLM,
        config=TransformerConfig,
    ),
    System(
        name="self_attentive",
        title="Structured self-attentive embedding",
        year=2017,
        kind="sentence encoder",
        paper="Lin et al.: A Structured Self-attentive Sentence Embedding",
        model=SelfAttentive,
        config=SelfAttentiveConfig,
    ),
    System(
        name="rctm",
        title="Recurrent continuous translation model",
        year=2013,
        kind="translator",
        paper="Kalchbrenner, Blunsom: Recurrent Continuous Translation Models",
        model=RCTM,
        config=RCTMConfig,
    ),
    System(
        name="rnn_encoder_decoder",
        title="RNN encoder-decoder",
        year=2014,
        kind="translator",
        paper=PHRASES,
        model=Cho,
        config=ChoConfig,
    ),
    System(
        name="seq2seq",
        title="Sequence to sequence",
        year=2014,
        kind="translator",
        paper="Sutskever, Vinyals, Le: Sequence to Sequence Learning with Neural Networks",
        model=Sutskever,
        config=SutskeverConfig,
    ),
    System(
        name="bahdanau",
        title="Bahdanau attention",
        year=2015,
        kind="translator",
        paper="Bahdanau, Cho, Bengio: Neural Machine Translation by Jointly Learning to Align and Translate",
        model=Bahdanau,
        config=BahdanauConfig,
    ),
    _luong("luong_dot", "dot", score="dot"),
    _luong("luong_general", "general", score="general"),
    _luong("luong_concat", "concat", score="concat"),
    _luong("luong_location", "location", score="location"),
    _luong("luong_local_m", "local and monotonic", score="general", window="local-m"),
    _luong("luong_local_p", "local and predicted", score="general", window="local-p"),
    _lstmn("shallow"),
    _lstmn("deep"),
    System(
        name="convs2s",
        title="ConvS2S",
        year=2017,
        kind="translator",
        paper="Gehring, Auli, Grangier, Yarats, Dauphin: Convolutional Sequence to Sequence Learning",
        model=ConvS2S,
        config=ConvS2SConfig,
    ),
    System(
        name="transformer",
        title="Transformer",
        year=2017,
        kind="translator",
        paper="Vaswani et al.: Attention Is All You Need",
        model=Transformer,
        config=TransformerConfig,
    ),
)
"""Language models, then the sentence encoder, then the translators, each by year."""
