"""Every system of the road from 2013 to 2017, one file each, behind one small interface.

Take each from its own file, so that a reader sees where it lives.
"""
