"""Translation: from a trained system to sentences, and from sentences to scores.

    searching.py        what greedy and beam search share: words never said, limits, rows that are done
    greedy.py           the likeliest word at each step; beam.py keeps several sentences open
    decoded.py          what they give back; recompute.py is the same search without a cache
    weights.py          the attention behind a finished translation; attention_text.py writes it as text
    translate.py        texts in, translations out; notes.py says what was odd about an input
    scores.py           BLEU, chrF, exact match; alignment_error.py compares attention with gold links
    coreference.py      il or elle: whether a pronoun fits its noun
    evaluate.py         all of it over a test set: evaluation.py holds the outcome, as table and JSON
    sample.py           language models: go on with a text; perplexity.py says how surprised one is
    attentions.py       every attention of a system by name: cross-attention, and self-attention where it has it

Take each from its own file, so that a reader sees where it lives:

    >>> from course_lib.translation.translate import translate
"""
