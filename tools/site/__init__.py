"""The reading edition: all lessons, the glossary and the docs as a static site, built by Sphinx and myst-nb.

build.py            the steps: write the sources, run Sphinx, put the finished site in place
pages.py            which pages there are, in which order; READMEs and docs as Sphinx sources, and their links
lesson_pages.py     a lesson's notebook for readers who can't run it
live.py, live/      the first page: two translators that run in the browser
quizzes.py          quizzes and predictions that answer in the page
formulas.py         formulas as MathML
sweeps.py           an explorable as a row of pictures with a slider
live_figures.py     an explorable that is alive in the page: all its states as differences of one picture
record.py           the first page as the animated picture of the README
npm.py              fetches MathJax, which typesets the formulas, so that pages load nothing from elsewhere
conf.py             the settings of Sphinx
static/             styles and scripts that every page loads
"""
