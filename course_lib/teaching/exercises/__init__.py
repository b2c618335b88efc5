"""Every exercise of the course, by name. A lesson's exercises live in the file of its topic.

>>> EXERCISES["double_it"].signature
'double_it(numbers)'
"""

from __future__ import annotations

from course_lib.teaching.exercise import Exercise
from course_lib.teaching.exercises import query_key_value, start_here

BY_LESSON: dict[str, tuple[Exercise, ...]] = {
    "start_here": start_here.EXERCISES,
    "query_key_value": query_key_value.EXERCISES,
}

EXERCISES: dict[str, Exercise] = {one.name: one for group in BY_LESSON.values() for one in group}
