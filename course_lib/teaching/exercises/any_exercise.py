from course_lib.teaching.exercises.exercise import ByHand, Case, Slip, Trial  # lessons still import from here
from course_lib.teaching.exercises.judging import judge

__all__ = ["ByHand", "Case", "Slip", "Trial", "judge"]
