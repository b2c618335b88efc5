"""The experiments that lessons quote, run by name (`course_lib experiment`), with results in data/results.

catalogue.py        the experiments of data/experiments.json, by name
runner.py           runs every variant with every seed, and stores the results
trained_run.py      one run that trains a system of the course and measures it
silence.py          empty and short outputs by beam size and length penalty
recall_run.py       one run of the recall task over a distance
altered.py          systems with one part changed, for a single experiment
snapshot_run.py     one run whose attention is measured while it is trained
measurements.py     numbers that a single lesson quotes, measured by its own code
cpu_runs.py         runs of a few seconds on one CPU, for lessons 08, 15 and 19

measure.py          the scores of a trained system, by its kind; also used by `course_lib evaluate`
tables.py           the columns of a kind of experiment, and their numbers as text
compare.py          variants compared in a column, by the course's rule
page.py             the results page: data/results/README.md and its pictures
telling_pairs.py    sentences that distinguish the systems, found in the results
ambiguous.py        scores without the sentences in which *it* could be the weather
"""
