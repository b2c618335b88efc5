"""The learner's own code: what passed its check is kept and used by later lessons.

own_functions.py    kept with what it needs, loaded and judged again, and counted while at work
road_file.py        the file my_road.py, theirs to read and to edit
"""
