"""Text: from sentences to batches.

    pair.py         a sentence, its translation, and the gold word alignment
    toy/            the toy language: English into French, generated, with the truth known
    corpus.py       real corpora, read from files
    multi30k.py     one of them: where it is, whether it is whole, how to fetch it
    special.py      padding, unknown, begin, end: the four tokens every vocabulary starts with
    tokenizer.py    what a tokenizer can do; word_tokenizer.py and bpe.py make one
    encoded.py      a whole corpus as numbers, on any device
    batch.py        sentences padded into tensors; batching.py says which go together

What lessons use comes from the package; the rest from its own file:

    >>> from course_lib.text import splits
"""

from course_lib.lazy import lazy

HOMES = {
    "BOS": "special",
    "EOS": "special",
    "PAD": "special",
    "SIZES_OF_TESTS": "toy.splits",
    "UNK": "special",
    "WordTokenizer": "word_tokenizer",
    "encode_corpus": "encoded",
    "generate": "toy.generate",
    "make_batch": "batch",
    "splits": "toy.splits",
}
__all__, __getattr__ = list(HOMES), lazy(__name__, HOMES)
