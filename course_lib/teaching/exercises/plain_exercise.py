from course_lib.teaching.exercises.exercise import Inputs, PlainExercise  # lessons still import from here

__all__ = ["Inputs", "PlainExercise"]
