"""Every system by name, year, kind and title: what can be listed without torch, which takes seconds to load.

    >>> listed("bahdanau")
    Listed(name='bahdanau', year=2015, kind='translator', title='Bahdanau attention')
    >>> listed("luong")
    Traceback (most recent call last):
    ValueError: There is no system 'luong'. Did you mean luong_dot, ...

`road.py` gives each its paper, its model and its configuration; `registry.py` builds them.
"""

from __future__ import annotations

import difflib
from typing import Literal, NamedTuple

Kind = Literal["language model", "sentence encoder", "translator"]


class Listed(NamedTuple):
    """One system of the history."""

    name: str
    year: int
    kind: Kind
    title: str


LISTING = (
    Listed("ngram_lm", 1948, "language model", "N-gram"),
    Listed("mlp_lm", 2003, "language model", "Fixed-window MLP"),
    Listed("rnn_lm", 2010, "language model", "RNN"),
    Listed("lstm_lm", 2012, "language model", "LSTM"),
    Listed("gru_lm", 2014, "language model", "GRU"),
    Listed("lstmn_lm", 2016, "language model", "LSTMN"),
    Listed("attention_lm", 2017, "language model", "LSTM with attention"),
    Listed("key_value_lm", 2017, "language model", "Key-value attention"),
    Listed("key_value_predict_lm", 2017, "language model", "Key-value-predict attention"),
    Listed("ngram_rnn_lm", 2017, "language model", "N-gram RNN"),
    Listed("transformer_lm", 2018, "language model", "Decoder-only Transformer"),
    Listed("self_attentive", 2017, "sentence encoder", "Structured self-attentive embedding"),
    Listed("rctm", 2013, "translator", "Recurrent continuous translation model"),
    Listed("rnn_encoder_decoder", 2014, "translator", "RNN encoder-decoder"),
    Listed("seq2seq", 2014, "translator", "Sequence to sequence"),
    Listed("bahdanau", 2015, "translator", "Bahdanau attention"),
    Listed("luong_dot", 2015, "translator", "Luong, dot"),
    Listed("luong_general", 2015, "translator", "Luong, general"),
    Listed("luong_concat", 2015, "translator", "Luong, concat"),
    Listed("luong_location", 2015, "translator", "Luong, location"),
    Listed("luong_local_m", 2015, "translator", "Luong, local and monotonic"),
    Listed("luong_local_p", 2015, "translator", "Luong, local and predicted"),
    Listed("lstmn_shallow", 2016, "translator", "LSTMN, shallow fusion"),
    Listed("lstmn_deep", 2016, "translator", "LSTMN, deep fusion"),
    Listed("convs2s", 2017, "translator", "ConvS2S"),
    Listed("transformer", 2017, "translator", "Transformer"),
)
"""Language models, then the sentence encoder, then the translators, each by year."""


def listed(name: str) -> Listed:
    """The system of this name."""
    for one in LISTING:
        if one.name == name:
            return one
    names = [one.name for one in LISTING]
    near = difflib.get_close_matches(str(name), names, n=3, cutoff=0.5)
    hint = f"Did you mean {', '.join(near)}?" if near else f"There are: {', '.join(names)}."
    raise ValueError(f"There is no system {name!r}. {hint}")
