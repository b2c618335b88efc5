"""Exercises: how they are declared, and how an attempt is judged. Nothing is recorded here.

Each file imports only from those above it:

verdict.py          the result of a check, as the learner sees it
time_limit.py       how long a function may take, also on a busy machine
guarded_call.py     calls of the learner's function: stopped if one never ends, explained if it fails
session.py          what a session may have changed: torch's settings, replaced functions
answer.py           what the function returned: read, copied, formatted
comparison.py       whether it is equal to the right answer, and if not, where
gradients.py        whether its gradients are those of the reference
variations.py       harder inputs, derived from ordinary ones
exercise.py         what an exercise is; functions of plain values, tests and files to write
tensor_exercise.py  functions of tensors: their random cases, and what is wrong with the numbers
module_names.py     whether a torch module has the right parameters, and if not, why
module_exercise.py  torch modules: their weights, outputs, dropout, gradients and initial weights
derived_slips.py    mistakes that are the same in every exercise: inputs swapped, ignored, transposed
mistakes.py         known mistakes as changed lines of a solution, in text files
judging.py          `judge`: everything that happens to an attempt, in order
catalogue.py        every exercise of the course, by name
own_work.py         whether an attempt uses the course's own code, for graded work
"""

from course_lib.lazy import lazy

HOMES = {
    "ByHand": "exercise",
    "Case": "exercise",
    "FileExercise": "exercise",
    "Invariant": "tensor_exercise",
    "ModuleExercise": "module_exercise",
    "PlainExercise": "exercise",
    "RandomInput": "tensor_exercise",
    "Slip": "exercise",
    "TensorExercise": "tensor_exercise",
    "TestExercise": "exercise",
    "Trial": "exercise",
    "Verdict": "verdict",
    "attention_mask": "tensor_exercise",
    "call": "guarded_call",
    "compare_parameters": "module_names",
    "explain_failure": "guarded_call",
    "find_exercise": "catalogue",
    "gaussian": "tensor_exercise",
    "judge": "judging",
    "known_mistakes": "mistakes",
    "wrong_only_at": "exercise",
    "wrong_verdict": "verdict",
}
__all__, __getattr__ = list(HOMES), lazy(__name__, HOMES)
