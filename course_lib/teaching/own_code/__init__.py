"""The learner's own code: functions that pass their check are saved in my_road.py for later lessons.

kept_functions.py   `keep` saves a function that passed; `yours` chooses which function a lesson gets
source.py           the source of a function, with everything it needs to run outside its notebook
loading.py          loads saved functions as modules, and counts how often they are called
kept_file.py        reads and writes my_road.py, which learners can read and edit too, and backs it up
"""
