"""Which model lesson 15 trains: the learner's own file from lesson 14, or else the library's Transformer.

file = file_to_train()                  # a path, or None; prints which model it is, and why
Transformer = class_to_train(file)      # the class in the file, or in lesson 14's reference file
run = TranslatorRun(data, file=file)
"""

from __future__ import annotations

from pathlib import Path

import torch
from torch import nn

from course_lib.models.own_file import (
    explain_difference,
    is_empty,
    load_class,
    own_file_path,
    own_transformer,
)
from course_lib.text.batch import make_batch
from course_lib.translation.shipped import load_shipped
from lessons.l14_the_transformer.file_slips import REFERENCE

INSTEAD = "We train the library's Transformer instead, which has the same parameters."
NOT_WRITTEN = "{} doesn't contain your Transformer yet (lesson 14). " + INSTEAD
UNUSABLE = (
    "{} can't be trained: {}\n"
    + INSTEAD
    + " Correct the file, check it in lesson 14, and run this cell again."
)


def file_to_train(path: Path | None = None) -> Path | None:
    """The learner's file if it computes what the shipped Transformer computes, or else None."""
    path = path or own_file_path()
    if is_empty(path):
        print(NOT_WRITTEN.format(path.name))
        return None
    if problem := what_is_wrong(path):
        print(UNUSABLE.format(path.name, problem))
        return None
    print(f"We train your own Transformer, from {path.name}.")
    return path


def class_to_train(file: Path | None) -> type[nn.Module]:
    """The class `Transformer` of the file, called as `model(source, target)`."""
    return load_class(file or REFERENCE)


def what_is_wrong(path: Path) -> str:
    """Why the file's Transformer differs from the shipped one; "" if it doesn't."""
    shipped = load_shipped("transformer").model
    return explain_difference(path, shipped) or _how_decoding_differs(path, shipped)


@torch.no_grad()
def _how_decoding_differs(path: Path, shipped: torch.nn.Module) -> str:
    """Training calls `forward`, but translating calls `encode` and `decode`: both must agree."""
    batch = make_batch([[5, 6, 7], [8]], [[9, 10], [11, 12]])
    model = own_transformer(path, shipped.config)
    model.load_state_dict(shipped.state_dict())
    model.eval()
    logits = model(batch.src, batch.src_lengths, batch.tgt_in)
    try:
        by_parts = model.decode(model.encode(batch.src, batch.src_lengths), batch.tgt_in)[0]
    except Exception as error:  # whatever the learner's code raises
        return f"encode and decode can't be called as in lesson 14 ({type(error).__name__}: {error})."
    if by_parts.shape != logits.shape or not torch.allclose(by_parts, logits, atol=1e-3):
        return "decode(target, encode(source, mask), mask) doesn't return the same logits as forward."
    return ""
