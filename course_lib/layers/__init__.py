"""The parts models are built from: each a function first, then a module that only owns weights.

    masks.py            who may look at whom: `may_look`, the one convention, and the one fill
    scores.py           how well each key fits each query: dot, scaled dot, additive and their kin
    attention.py        scores to weights to context: `masked_softmax`, `mix`, `attend`
    local.py            attention with a window: where its centre is, and how it fades (Luong 2015)
    multi_head.py       several attentions side by side; keys shared among heads, if wished

    cells.py            one step of an RNN, an LSTM, a GRU
    recurrent.py        a sentence through cells: stacked, masked, in both directions, from the end
    tape.py             an LSTM cell that looks back at all its earlier states (Cheng 2016)

    convolution.py      windows over a sentence, and gates on them; the last few words
    folding.py          a sentence folded into one vector by ever wider windows (2013)

    positions.py        where a word stands: sinusoids, a table, rotations
    norms.py            LayerNorm, RMSNorm, and BatchNorm over sentences
    residual.py         the path around a layer, with its norm and dropout
    feed_forward.py     two products with a bend between them, for each word by itself; maxout
    block.py            one layer of a Transformer, and a stack of them

    rows.py             named tensors, one row a sentence: states that can be reordered
    checks.py           what these insist on, and what they say when it is not so

What lessons use comes from the package; the rest from its own file:

    >>> from course_lib.layers import attend
"""

from course_lib.lazy import lazy

HOMES = {
    "Block": "block",
    "MultiHead": "multi_head",
    "attend": "attention",
}
__all__, __getattr__ = list(HOMES), lazy(__name__, HOMES)
