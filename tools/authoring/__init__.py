"""Build notebooks from lesson sources, never the reverse. docs/writing_a_lesson.md is the guide for authors.

build.py            the command `course_lib build`
lesson.py           a lesson: its source file, read into cells that know their track and minutes
source.py           parses a lesson source into cells with line numbers
cell_kinds.py       the kinds of cells and the options of their headers
editions.py         the cells of the learner's, the solved and the instructor's notebook
tracks.py           which cells are on the short track, and the editions made by leaving cells out
cuts.py             what can be left out, in an order in which what remains still runs
solutions.py        the code of exercises, from solutions.py and, for bugs to find, from the known mistakes
mistake_files.py    what is wrong with the files of known mistakes
exercise_cells.py   an exercise cell as card, stub, check, hints and solution
single_file.py      the link to Colab, and the lines by which a notebook finds the course
answers.py          the answers to predictions and estimates, kept as metadata
printed.py          numbers in prose that a cell of the lesson prints
minutes.py          how long a cell takes a beginner
quiz_file.py        the rules for a lesson's quiz.json
glossary.py         terms: their definitions, links to them, and the page that lists them
lesson_table.py     the table of lessons: data/lessons.json, and the README's copy of it
try_answers.py      tries a folder of answers on the checks, to find what they miss
style.py            phrases that a native speaker would not write
imports.py          which module imports which, across lessons, library and tools
rules.py            the rules for every lesson, checked before anything runs

execute.py          runs a whole notebook in a fresh kernel
outputs.py          the rules for stored outputs, and whether they are up to date
picture_count.py    how many words and pictures a stored notebook has
docs_pictures.py    the README's pictures, and the poster of the Transformer
"""
