"""Translation: from a trained system to sentences, and from sentences to scores.

A sentence becomes its translation in three files: shipped.py (or the command line) calls pipeline.py
(texts in, translations out, notes on what was odd), which calls search.py (a beam; greedy is a beam of one).

Scores:
    evaluation.py       a whole test set, measured: table and JSON
    metrics.py          BLEU, chrF, exact match, il or elle
    alignment_error.py  how far attention is from the true word links

Language models:
    sample.py           go on with a text
    perplexity.py       how surprised one is by a text

What happens inside:
    ablation.py         a Transformer without some of its heads
    masking.py          a Transformer that cannot look at some source words

What lessons use comes from the package; the rest from its own file:

    >>> from course_lib.translation import translate
"""

from course_lib.lazy import lazy

HOMES = {
    "ablated": "ablation",
    "error_rate": "alignment_error",
    "evaluate": "evaluation",
    "head_names": "ablation",
    "links_from": "alignment_error",
    "load_shipped": "shipped",
    "clean_text": "pipeline",
    "translate": "pipeline",
}
__all__, __getattr__ = list(HOMES), lazy(__name__, HOMES)
