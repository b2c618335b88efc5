"""From lesson source to notebooks, one way. The guide for authors is docs/writing_a_lesson.md.

build.py            what `course_lib build` does, from beginning to end
source.py           a lesson source, read into cells that know their lines; its words are in cell_kinds.py
editions.py         the cells of the learner's, the solved and the instructor's notebook
exercise_cells.py   an exercise cell as card, stub, check, hints and solution
printed.py          numbers in prose that a cell of the lesson prints
glossary.py         terms, marked in the lessons and gathered on one page
imports.py          what imports what, across lessons, library and tools
rules.py            what every lesson keeps, read off its cells before anything runs

execute.py          a notebook run whole in a fresh kernel
outputs.py          what a stored output may hold, and whether it is still true
"""
