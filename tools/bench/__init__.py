"""Benchmarks: measurements of speed that are commands (`course_lib bench training`), never tests.

training.py         a training step, compared with a naive one
decoding.py         decoding with and without a cache
decoding_speed.py   the words per second of every translator, for lesson 18
explorables.py      the time from moving a slider to the new picture
own_file.py         lesson 15's full run: the library, a learner's file, and the captured step on a GPU
roofline.py         a GPU's ceilings and a Transformer's operations below them, for lesson 17
clock.py            the time from raw text to a scored Transformer
start.py            the CPU time of each lesson's first code cell

Lesson 17 measures the cost of attention; its folder has the timer that all of them use.
"""
