"""Translation: from a trained system to sentences, and from sentences to scores.

A sentence becomes its translation in three files: shipped.py (or the command line) calls translate.py
(texts in, translations out, notes on what was odd), which calls search.py (a beam; greedy is a beam of one).

    evaluate.py         a whole test set, measured: table and JSON, with the help of
                        metrics.py (BLEU, chrF, exact match, il or elle) and alignment_error.py
    sample.py           language models: go on with a text; perplexity.py says how surprised one is
    attentions.py       every attention behind a translation, by name and as text
    inside.py           a Transformer's heads: silenced, measured, read with a mask of one's own;
                        closing.py closes words and swaps states, live.py shows it as somebody types

For one lesson each:

    scripted.py         04: a translator that says what it was told to
    by_parts.py         14: a Transformer of plain functions and a table of weights
    small_run.py        15: a run that takes seconds, by functions of one's own
    recompute.py        16: any system without its cache
    claim.py            19: a rule of one's own, put to the test

Take each from its own file, so that a reader sees where it lives:

    >>> from course_lib.translation.translate import translate
"""
