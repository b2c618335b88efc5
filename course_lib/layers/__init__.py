"""The layers that models are built from. Each is a stateless function first, then a module with parameters.

    masks.py            attention masks (`mask`, True = may attend) and masking of scores
    scores.py           score functions: dot, scaled dot, cosine, general, additive, concat, location
    attention.py        scores to attention weights to context: `masked_softmax`, `weighted_sum`, `attend`
    local.py            local attention: window centres, window masks, Gaussian weighting (Luong 2015)
    multi_head.py       multi-head, grouped-query and multi-query attention

    cells.py            one step of an RNN, an LSTM, a GRU
    recurrent.py        recurrent layers: stacked, bidirectional, for sentences of different lengths
    tape.py             an LSTM cell that attends to all its earlier states (Cheng 2016)

    convolution.py      convolutions over a sentence, gated linear units, windows of the last n tokens
    sentence_convolution.py  wider and wider convolutions that reduce a sentence to one vector (2013)

    positions.py        positional encodings: sinusoidal, learned, rotary
    norms.py            LayerNorm, RMSNorm, and BatchNorm over sentences
    residual.py         residual connections with their norm and dropout
    feed_forward.py     position-wise feed-forward layers: ReLU and SwiGLU; maxout
    block.py            a Transformer block, and a stack of blocks

    rows.py             dictionaries of tensors, one row per sentence: states that can be reordered
    checks.py           checks of shapes and dtypes, with their error messages

The names that lessons use most can be imported from the package, all others from their own file:

    >>> from course_lib.layers import attend
"""

from course_lib.lazy import lazy

HOMES = {"AttentionWeights": "block", "Block": "block", "MultiHead": "multi_head", "attend": "attention"}
__all__, __getattr__ = list(HOMES), lazy(__name__, HOMES)
