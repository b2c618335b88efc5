from course_lib.teaching.exercises.exercise import TestExercise  # lessons still import from here

__all__ = ["TestExercise"]
