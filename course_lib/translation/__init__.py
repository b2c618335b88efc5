"""Translate with a trained system, and evaluate the translations.

Translation takes three files: shipped.py (or the command line) calls pipeline.py (texts to translations, with
notes), which calls search.py (beam search; greedy decoding is a beam of one).

Evaluation:
    evaluation.py       all metrics of a test set
    metrics.py          BLEU, chrF, exact match, pronouns
    corpus_bleu.py      BLEU from one row of counts per sentence
    comparison.py       is one system better than another? The rule of the whole course
    alignment_error.py  how far attention is from the gold word alignment

Interventions:
    ablation.py         remove attention heads of a Transformer
    masking.py          mask source words of a Transformer

The names that lessons use can be imported from the package, all others from their module:

    >>> from course_lib.translation import translate
"""

from course_lib.lazy import lazy

HOMES = {
    "ablated": "ablation",
    "bleu_of_rows": "corpus_bleu",
    "bleu_rows": "corpus_bleu",
    "evaluate": "evaluation",
    "head_names": "ablation",
    "load_shipped": "shipped",
    "clean_text": "pipeline",
    "translate": "pipeline",
}
__all__, __getattr__ = list(HOMES), lazy(__name__, HOMES)
