"""How long a learner's code may take, judged fairly on a busy machine.

>>> limit = TimeLimit(5.0)
>>> 4.9 < limit.seconds_left() <= 5.0
True
"""

from __future__ import annotations

import time

PATIENCE = 4  # how many times the limit may pass on the clock while the process gets little CPU time


class TimeLimit:
    """Seconds from now, of CPU time; or `PATIENCE` times as many on the clock, whichever is over first.

    The clock alone would blame the learner's code for other programs. CPU time alone never passes in a call
    that waits (`time.sleep`). Several threads at once don't make the time pass faster than the clock.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.clock, self.cpu = time.monotonic(), time.process_time()

    def seconds_spent(self) -> float:
        on_the_clock = time.monotonic() - self.clock
        return max(min(time.process_time() - self.cpu, on_the_clock), on_the_clock / PATIENCE)

    def seconds_left(self) -> float:
        return self.seconds - self.seconds_spent()
