"""The learner's own code: what passed its check is kept in my_road.py and used by later lessons.

kept_functions.py   `yours`: which function a lesson gets; `keep`: what passed goes into the file
source.py           the source of a function, with what it needs outside its notebook
loading.py          kept functions loaded as a module, and how often they are called
kept_file.py        the file my_road.py, which learners may read and edit
"""
