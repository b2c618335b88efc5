"""The road itself: every system, in order, with its paper, its model and its configuration.

    >>> [(system.name, system.year) for system in SYSTEMS if system.kind == "sentence encoder"]
    [('self_attentive', 2017)]

`listing.py` has names, years and titles; `registry.py` finds and builds them by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from torch import nn

from course_lib.models.bahdanau import Bahdanau, BahdanauConfig
from course_lib.models.cho import Cho, ChoConfig
from course_lib.models.config import Config
from course_lib.models.convs2s import ConvS2S, ConvS2SConfig
from course_lib.models.key_value_lm import KeyValueLM, KeyValueLMConfig
from course_lib.models.listing import Kind, listed
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


@dataclass(frozen=True, eq=False, kw_only=True)
class System:
    """One system of the history. `variant` are the fields of its configuration that its name decides.

    `counts` marks the one that learns by counting: it has no gradient and needs no optimiser.
    """

    name: str
    paper: str
    model: type[nn.Module]
    config: type[Config]
    variant: Mapping[str, str | bool] = field(default_factory=dict)
    counts: bool = False

    @property
    def title(self) -> str:
        return listed(self.name).title

    @property
    def year(self) -> int:
        return listed(self.name).year

    @property
    def kind(self) -> Kind:
        return listed(self.name).kind


PHRASES = (
    "Cho et al.: Learning Phrase Representations using RNN Encoder-Decoder "
    "for Statistical Machine Translation"
)
SHORT_SPANS = (
    "Daniluk, Rocktäschel, Welbl, Riedel: Frustratingly Short Attention Spans in Neural Language Modeling"
)
MACHINE_READING = "Cheng, Dong, Lapata: Long Short-Term Memory-Networks for Machine Reading"
EFFECTIVE = "Luong, Pham, Manning: Effective Approaches to Attention-based Neural Machine Translation"


def _recurrent(kind: str, paper: str) -> System:
    return System(
        name=f"{kind}_lm",
        paper=paper,
        model=RecurrentLM,
        config=RecurrentLMConfig,
        variant={"kind": kind},
    )


def _key_value(name: str, form: str) -> System:
    return System(
        name=name, paper=SHORT_SPANS, model=KeyValueLM, config=KeyValueLMConfig, variant={"form": form}
    )


def _luong(name: str, *, score: str, window: str = "global") -> System:
    return System(
        name=name,
        paper=EFFECTIVE,
        model=Luong,
        config=LuongConfig,
        variant={"score": score, "window": window},
    )


def _lstmn(fusion: str) -> System:
    return System(
        name=f"lstmn_{fusion}",
        paper=MACHINE_READING,
        model=LSTMN,
        config=LSTMNConfig,
        variant={"fusion": fusion},
    )


SYSTEMS: tuple[System, ...] = (
    System(
        name="ngram_lm",
        paper="Shannon: A Mathematical Theory of Communication",
        model=NGramLM,
        config=NGramLMConfig,
        counts=True,
    ),
    System(
        name="mlp_lm",
        paper="Bengio, Ducharme, Vincent, Jauvin: A Neural Probabilistic Language Model",
        model=WindowMLP,
        config=WindowMLPConfig,
    ),
    _recurrent("rnn", "Mikolov et al.: Recurrent Neural Network based Language Model"),
    _recurrent("lstm", "Sundermeyer et al.: LSTM Neural Networks for Language Modeling"),
    _recurrent("gru", PHRASES),
    System(
        name="lstmn_lm",
        paper=MACHINE_READING,
        model=LSTMNLM,
        config=LSTMNLMConfig,
    ),
    _key_value("attention_lm", "attention"),
    _key_value("key_value_lm", "key-value"),
    _key_value("key_value_predict_lm", "key-value-predict"),
    System(
        name="ngram_rnn_lm",
        paper=SHORT_SPANS,
        model=NGramRNN,
        config=NGramRNNConfig,
    ),
    System(
        name="transformer_lm",
        paper="Liu et al.: Generating Wikipedia by Summarizing Long Sequences",
        model=TransformerLM,
        config=TransformerConfig,
    ),
    System(
        name="self_attentive",
        paper="Lin et al.: A Structured Self-attentive Sentence Embedding",
        model=SelfAttentive,
        config=SelfAttentiveConfig,
    ),
    System(
        name="rctm",
        paper="Kalchbrenner, Blunsom: Recurrent Continuous Translation Models",
        model=RCTM,
        config=RCTMConfig,
    ),
    System(
        name="rnn_encoder_decoder",
        paper=PHRASES,
        model=Cho,
        config=ChoConfig,
    ),
    System(
        name="seq2seq",
        paper="Sutskever, Vinyals, Le: Sequence to Sequence Learning with Neural Networks",
        model=Sutskever,
        config=SutskeverConfig,
    ),
    System(
        name="bahdanau",
        paper="Bahdanau, Cho, Bengio: Neural Machine Translation by Jointly Learning to Align and Translate",
        model=Bahdanau,
        config=BahdanauConfig,
    ),
    _luong("luong_dot", score="dot"),
    _luong("luong_general", score="general"),
    _luong("luong_concat", score="concat"),
    _luong("luong_location", score="location"),
    _luong("luong_local_m", score="general", window="local-m"),
    _luong("luong_local_p", score="general", window="local-p"),
    _lstmn("shallow"),
    _lstmn("deep"),
    System(
        name="convs2s",
        paper="Gehring, Auli, Grangier, Yarats, Dauphin: Convolutional Sequence to Sequence Learning",
        model=ConvS2S,
        config=ConvS2SConfig,
    ),
    System(
        name="transformer",
        paper="Vaswani et al.: Attention Is All You Need",
        model=Transformer,
        config=TransformerConfig,
    ),
)
"""In the order of `listing.py`."""
