"""Lessons as homework, graded by nbgrader. docs/grading.md is the guide for instructors.

homework.py          a lesson as an nbgrader notebook: markers around solutions, points, graded checks
course_folder.py     the command `build --edition homework`: a course folder for nbgrader
nbgrader_config.py   the configuration that is copied into that folder
nbgrader_steps.py    the steps that nbgrader gets from the course: the learner's stub, broken submissions
"""
