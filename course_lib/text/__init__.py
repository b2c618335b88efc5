"""Text: from sentences to batches.

    pair.py         a sentence, its translation, and the gold word alignment
    toy/            the toy language: English into French, generated, with the truth known
    tasks.py        a small task that tests one thing: recall over a distance
    corpus.py       real corpora, read from files
    multi30k.py     one of them: where it is, whether it is whole, how to fetch it
    special.py      padding, unknown, begin, end: the four tokens every vocabulary starts with
    tokenizer.py    what a tokenizer can do; word_tokenizer.py and bpe.py make one, merges.py shows how
    encoded.py      a whole corpus as numbers, on any device
    batch.py        sentences padded into tensors; batching.py says which go together

Take each from its own file, so that a reader sees where it lives:

    >>> from course_lib.text.toy.generate import generate
"""
