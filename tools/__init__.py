"""The programs that make and measure the course.

cli/            the commands: `python3 -m course_lib ...`
authoring/      lesson sources to notebooks and glossary
bench/          speed: training, decoding, explorables
experiments/    the runs that lessons quote, by name
"""
