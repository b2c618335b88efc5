"""The lessons, one folder each: everything an author edits, and everything only that lesson uses.

    lesson.py           the source of the notebook: prose, code, exercises with their solutions
    exercises.py        what the checks know
    wrong_answers.py    wrong answers that the tests try on every check
    quiz.json           recall and closing questions
    test_*.py           tests of what the lesson claims

A lesson imports from `course_lib` and from earlier lessons only. Code that a third lesson needs moves into
`course_lib`.
"""
