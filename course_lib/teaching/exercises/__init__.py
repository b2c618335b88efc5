"""Exercises: how they are declared, and how an attempt is judged. Nothing is recorded here.

Each file imports only from those above it:

verdict.py               the result of a check, as the learner sees it
time_limit.py            how long a function may take, also on a busy machine
guarded_call.py          calls of the learner's function: stopped if one never ends
failures.py              why a call gave no answer, and what to do about it
session.py               what a session may have changed: torch's settings, replaced functions
answer.py                what the function returned: read, copied, formatted
comparison.py            whether it is equal to the right answer, and if not, where
gradients.py             whether its gradients are those of the reference
variations.py            harder inputs, derived from ordinary ones
exercise.py              what every exercise has, and its slips
derived_slips.py         slips that are the same in every exercise: inputs swapped, ignored, transposed
mistakes.py              slips as changed lines of a solution, in text files
examination.py           one examination of an attempt: calls, time, what was printed
function_exercise.py     functions of plain values: their cases, and what is wrong with the answers
tensor_exercise.py       functions of tensors: their random cases, and what is wrong with the numbers
function_examination.py  how a function is examined: one loop over the cases, then the likely cause
module_names.py          whether a torch module has the right parameters, and if not, why
module_exercise.py       torch modules: functions of their weights, with dropout and initial weights
testing_exercise.py      tests to write: which implementations they must accept and reject
judging.py               `judge`: an examination in an ordinary session
catalogue.py             every exercise of the course, by name
own_work.py              whether an attempt uses the course's own code, for graded work
"""

from course_lib.lazy import lazy

HOMES = {
    "ByHand": "function_exercise",
    "Case": "function_exercise",
    "FileExercise": "exercise",
    "Invariant": "tensor_exercise",
    "ModuleExercise": "module_exercise",
    "PlainExercise": "function_exercise",
    "RandomInput": "tensor_exercise",
    "Slip": "exercise",
    "TensorExercise": "tensor_exercise",
    "TestExercise": "testing_exercise",
    "Trial": "function_exercise",
    "Verdict": "verdict",
    "attention_mask": "tensor_exercise",
    "call": "guarded_call",
    "compare_parameters": "module_names",
    "explain_failure": "failures",
    "find_exercise": "catalogue",
    "gaussian": "tensor_exercise",
    "judge": "judging",
    "known_mistakes": "mistakes",
    "wrong_only_at": "testing_exercise",
    "wrong_verdict": "verdict",
}
__all__, __getattr__ = list(HOMES), lazy(__name__, HOMES)
