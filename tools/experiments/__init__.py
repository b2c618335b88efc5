"""What lessons quote: experiments, run by name (`course_lib experiment`) and kept in data/results.

catalogue.py        the experiments of data/experiments.json, by name
runner.py           runs them, variant by variant, seed by seed
trained_run.py      one run that trains a system of the road and measures it
recall_run.py       one run on recall over a distance
measurements.py     numbers of single lessons, measured by their own code
cpu_runs.py         runs of seconds on one CPU: looking up, a new rule of grammar, lesson 15's clinic

measure.py          the scores of a trained system, by its kind; `course_lib evaluate` uses it, too
tables.py           results as a table in Markdown
telling_pairs.py    sentences that tell systems apart, found in results
"""
