from course_lib.teaching.exercises.guarded_call import explain_failure as mishap  # for lesson 19

__all__ = ["mishap"]
