"""All systems from n-grams to the Transformer, one file each, with one small interface.

    translator.py       the interface of translators: encode, decode with teacher forcing, decode one step
    language_model.py   the interface of language models: a translator's decoder without a source
    registry.py         the table of all systems: paper, class, sizes; build and store them by name
    config.py           the configuration fields that all systems share
    inputs.py           checks of the sentences passed to a system
    inference.py        a model in eval mode for a while, and the device it is on
    embeddings.py       embedding matrices and the output layer
    own_file.py         a Transformer from a learner's own file, as a translator

    ngram.py            counting (1948)
    window_mlp.py       the last few words through one hidden layer (2003)
    recurrent_lm.py     RNN, LSTM and GRU as language models (2010 to 2014)
    lstmn_lm.py         an LSTM with a memory tape (2016)
    key_value_lm.py     attention over the last states, with separate key, value and prediction (2017)
    ngram_rnn.py        the last few outputs concatenated, without attention (2017)
    transformer_lm.py   the decoder-only Transformer (2018)

    self_attentive.py   a sentence embedding from several attention hops (2017)

    rctm.py             a convolutional encoder and a recurrent decoder (2013)
    cho.py              one context vector for the source, used at every target word (2014)
    sutskever.py        deep LSTMs, with a reversed source (2014)
    bahdanau.py         additive attention over the source (2015)
    luong.py            four score functions, global and local attention, input feeding (2015)
    lstmn.py            memory tapes in encoder and decoder, with shallow or deep fusion (2016)
    convs2s.py          convolutions with attention in every decoder layer (2017)
    transformer.py      attention only (2017)

The names that lessons use most can be imported from the package, all others from their own file:

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
