"""The class view: learners export their progress, and an instructor sees where the class is.

export.py       one learner's results as a JSON file, without free text, code or times
folder.py       reads the exports in a folder, writes the page and the CSV file
summary.py      who is done, stuck or waiting at each checkpoint; misconceptions and quiz answers
page.py         the summary as one HTML page, with the style in page.css
table.py        the summary as a CSV file, one row for each learner and checkpoint
"""
