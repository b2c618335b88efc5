"""How large a machine has to be for a class on a hub: the sizing section of docs/hosting.md.

arithmetic.py   memory, cores and disk for so many learners, from what was measured for one
page.py         the section as Markdown, from recorded measurements and the text in section.md
"""
