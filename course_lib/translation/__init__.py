"""Translation: from a trained system to sentences, and from sentences to scores.

A sentence becomes its translation in three files: shipped.py (or the command line) calls translate.py
(texts in, translations out, notes on what was odd), which calls search.py (a beam; greedy is a beam of one).

Scores:
    measure.py          any trained system, by its kind: what `course_lib evaluate` and experiments ask for
    evaluate.py         a whole test set, measured: table and JSON
    metrics.py          BLEU, chrF, exact match, il or elle
    alignment_error.py  how far attention is from the true word links

Language models:
    sample.py           go on with a text
    perplexity.py       how surprised one is by a text

What happens inside:
    attentions.py       the weights of every attention behind a translation, as text
    ablation.py         a Transformer without some of its heads
    masking.py          a Transformer that cannot look at some source words
    inside.py           how far a Transformer's scores spread, how alike its words get

Take each from its own file, so that a reader sees where it lives:

    >>> from course_lib.translation.translate import translate
"""
