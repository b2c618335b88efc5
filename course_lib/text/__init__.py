"""Text: from sentences to batches.

    pair.py         a sentence, its translation, and the gold word alignment
    toy/            the toy language: generated English-French pairs with gold alignments
    corpus.py       real corpora, read from files
    multi30k.py     one of them: finding, checking and downloading it
    special.py      padding, unknown, begin, end: the four tokens every vocabulary starts with
    tokenizer.py    the interface of a tokenizer; word_tokenizer.py and bpe.py implement it
    encoded.py      a whole corpus as ids, on any device
    batch.py        sentences padded into tensors; batching.py decides which go together

Names that lessons use can be imported from the package, all others from their own file:

    >>> from course_lib.text import splits
"""

from course_lib.lazy import lazy

HOMES = {
    "BOS": "special",
    "EOS": "special",
    "PAD": "special",
    "TEST_SIZES": "toy.splits",
    "UNK": "special",
    "WordTokenizer": "word_tokenizer",
    "encode_corpus": "encoded",
    "generate": "toy.generate",
    "make_batch": "batch",
    "splits": "toy.splits",
    "translations_of": "toy.read",
}
__all__, __getattr__ = list(HOMES), lazy(__name__, HOMES)
