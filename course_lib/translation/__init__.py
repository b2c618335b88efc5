"""Translation: from a trained system to sentences, and from sentences to scores.

    search.py           beam search, and greedy decoding as a beam of one
    recompute.py        any system without its cache, which the same search must find the same with
    attention_text.py   the attention behind a translation as text
    translate.py        texts in, translations out; notes.py says what was odd about an input
    scores.py           BLEU, chrF, exact match; alignment_error.py compares attention with gold links
    coreference.py      il or elle: whether a pronoun fits its noun
    evaluate.py         all of it over a test set: evaluation.py holds the outcome, as table and JSON
    sample.py           language models: go on with a text; perplexity.py says how surprised one is
    attentions.py       every attention of a system by name: cross- and self-attention

Take each from its own file, so that a reader sees where it lives:

    >>> from course_lib.translation.translate import translate
"""
