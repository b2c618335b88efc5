"""Events of invented learners."""

from __future__ import annotations

from course_lib.teaching.contents import lessons

TOPICS = {name: lesson.topic for lesson in lessons() for name in lesson.exercises}


def check(name: str, status: str = "passed", **more) -> dict:
    return {"kind": "exercise", "lesson": TOPICS[name], "name": name, "status": status, **more}
