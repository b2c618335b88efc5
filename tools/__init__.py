"""The programs that build and measure the course.

cli/                the commands: `python3 -m course_lib ...`
authoring/          builds notebooks and the glossary from lesson sources
site/               builds the reading edition, a static web site
workshop/           makes the run sheets of workshops
bench/              measures speed: training, decoding, explorables
experiments/        runs the experiments that lessons quote
class_view/         shows an instructor where a class is, from the progress that learners export
hosting/            runs a JupyterHub for a class
toy_splits.py       draws and stores the standard splits of the toy language
attention_text.py   attention weights as text for a terminal
"""
