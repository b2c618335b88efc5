"""How fast it is: measurements that are commands (`course_lib bench cost`), never timed tests.

training.py         a step, beside what one would write first
decoding.py         what a cache is worth
decoding_speed.py   every translator's words a second, for the museum
explorables.py      a move of a slider
cost.py             attention, beside the rest of its block
clock.py            from raw text to a scored Transformer

timing.py           the one timer of them all
"""
