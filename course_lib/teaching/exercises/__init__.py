"""An exercise, and the way of a learner's function to its verdict. Nothing here is recorded or kept.

catalogue.py        every exercise of the course, by name
any_exercise.py     what all have in common; `judge` gives the verdict of the first stage that comes to one
guarded_call.py     the call: stopped where it never ends, and everything put back
no_answer.py        why no answer came, in words
answer.py           what it returned: read however it is wrapped, compared, shown

tensor_exercise.py  a function of tensors: `Exercise`. Its cases, and what is wrong with the numbers
gradients.py        whether what was written can be trained
plain_exercise.py   a function of words, lists, counts, or a design: `PlainExercise`
written_test.py     a test to write: `TestExercise`

code_reading.py     what can be told from a function's code without calling it
verdict.py          what the learner is told
"""
