"""Every system of the road from n-grams to the Transformer, one file each, behind one small interface.

    translator.py       what every translator can do: encode, decode whole, decode a step
    language_model.py   what every language model can do: a translator's decoder without a source
    registry.py         the one table of all systems: paper, class, sizes; find, build and keep them by name
    config.py           sizes and switches that all systems share, checked when they are made
    inputs.py           what systems insist on about sentences, and what they say when it is not so
    in_use.py           a model without dropout for a while, and where it lives
    embeddings.py       the tables at both ends: words to vectors, vectors to scores of words

    ngram.py            counting (1948)
    window_mlp.py       the last few words through one hidden layer (2003)
    recurrent_lm.py     RNN, LSTM and GRU as language models (2010 to 2014)
    lstmn_lm.py         an LSTM with a tape in place of its memory (2016)
    key_value_lm.py     attention over the last states; key, value and prediction part ways (2017)
    ngram_rnn.py        the last few outputs side by side, no attention at all (2017)
    transformer_lm.py   the Transformer's decoder alone (2018)

    self_attentive.py   a sentence as several weighted views of itself (2017)

    rctm.py             convolutions fold the source, a recurrent network unfolds it (2013)
    cho.py              one vector for the source, seen at every word (2014)
    sutskever.py        deep LSTMs, the source backwards, its state handed over (2014)
    bahdanau.py         a learned soft search through the source (2015)
    luong.py            four scores, three windows, input feeding (2015)
    lstmn.py            tapes on both sides, fused shallow or deep (2016)
    convs2s.py          convolutions with attention in every layer (2017)
    transformer.py      attention alone (2017)

What lessons use comes from the package; the rest from its own file:

    >>> from course_lib.models import n_parameters
"""

from course_lib.lazy import lazy

HOMES = {
    "NGramLM": "ngram",
    "NGramLMConfig": "ngram",
    "TransformerConfig": "transformer",
    "build": "registry",
    "make_config": "registry",
    "n_parameters": "registry",
}
__all__, __getattr__ = list(HOMES), lazy(__name__, HOMES)
