"""Run sheets for workshops, made from the minutes, tracks and code of the lessons.

plans.py       which lessons fit into which duration, and why
sections.py    the sections that a plan teaches: their minutes, exercises and what they need from each other
schedule.py    sections on a clock, with checkpoints, breaks and lunch
run_sheet.py   the whole sheet as Markdown, for the command `course_lib agenda`
"""
