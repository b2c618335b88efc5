"""How fast it is: measurements that are commands (`course_lib bench training`), never timed tests.

training.py         a step, beside what one would write first
decoding.py         what a cache is worth
decoding_speed.py   every translator's words a second, for the museum
explorables.py      a move of a slider
clock.py            from raw text to a scored Transformer

Lesson 17 measures the cost of attention, and its folder has the timer that all of them use.
"""
