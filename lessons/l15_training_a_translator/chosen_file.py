"""Which model lesson 15 trains: the learner's file or functions of lesson 14, or the library's Transformer.

file = file_to_train()                  # a path, or None; prints which model it is, and why
Transformer = class_to_train(file)      # the class in the file, or in lesson 14's reference file
run = TranslatorRun(data, file=file)
"""

from __future__ import annotations

from pathlib import Path

from torch import nn

from course_lib.models.own_file import explain_difference, is_empty, load_class, own_file_path
from course_lib.teaching.own_code.kept_file import list_own_functions
from course_lib.translation.shipped import load_shipped
from lessons.l14_the_transformer.file_slips import REFERENCE

OF_FUNCTIONS = Path(__file__).with_name("of_functions.py")
FUNCTIONS = {"encode_source", "decode_logits"}  # of lesson 14: together they are a Transformer
INSTEAD = "We train the library's Transformer instead, which has the same parameters."
UNUSABLE = "{} can't be trained: {}\nCorrect the file, check it in lesson 14, and run this cell again."


def file_to_train(path: Path | None = None) -> Path | None:
    """The learner's file, or else one that calls the learner's functions, if it computes what the shipped
    Transformer computes; otherwise None."""
    path = path or own_file_path()
    shipped = load_shipped("transformer").model
    if has_file := not is_empty(path):
        problem = explain_difference(path, shipped)
        if not problem:
            print(f"We train your own Transformer, from {path.name}.")
            return path
        print(UNUSABLE.format(path.name, problem))
    has_functions = FUNCTIONS.issubset(function.name for function in list_own_functions())
    if has_functions and not explain_difference(OF_FUNCTIONS, shipped):
        print("We train the Transformer that your functions from lesson 14 compute.")
        return OF_FUNCTIONS
    print(INSTEAD if has_file else f"You haven't written a Transformer in lesson 14 yet. {INSTEAD}")
    return None


def class_to_train(file: Path | None) -> type[nn.Module]:
    """The class `Transformer` of the file, called as `model(source, target)`."""
    return load_class(file or REFERENCE)
