"""What serves one lesson, so that the rooms below hold what all lessons share: none of them needs it.

Above, `experiments` trains by small_run.py and claim.py, and `bench` times recompute.py: so the numbers that
lessons 15, 16 and 19 tell were made by what a learner runs there.

scripted.py         04: a translator that says what it was told to
interventions.py    09: source words left alone, states swapped, a head taken apart or made even
by_parts.py         14: a Transformer of plain functions and a table of weights
small_run.py        15: a run that takes seconds, by functions of one's own; live_training.py draws it
recompute.py        16: any system without its cache
claim.py            19: a rule of one's own, put to the test; claim_book.py writes down what was expected
sound.py            19: is a translator of one's own sound?
"""
