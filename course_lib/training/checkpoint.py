"""Checkpoints: one file that holds weights and everything needed to use them or to go on.

    save_checkpoint("best.safetensors", tensors, about)
    tensors, about = load_checkpoint("best.safetensors")

The file is in the safetensors format: named tensors, and a header of text. Reading one runs no code, which
cannot be said of pickle. `about` is JSON and travels in the header: the system and its configuration, the
tokenizer, the recipe, the history so far, versions, a fingerprint of the data. It is written whole or not
at all, so whoever reads it never meets half of one. Checksums find out what a bad disk or a broken download
has changed.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from course_lib.runtime import write_atomically

FORMAT, VERSION = "attention-course checkpoint", 1

About = dict[str, Any]


class CheckpointError(ValueError):
    """A file that cannot be used as a checkpoint; the message says why, and what to do."""


def save_checkpoint(path: Path | str, tensors: Mapping[str, Tensor], about: About) -> None:
    """Write a checkpoint in place of whatever was there."""
    plain = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    text = json.dumps(about, ensure_ascii=False)
    header = {
        "format": FORMAT,
        "version": str(VERSION),
        "about": text,
        "about_sum": _sum_text(text),
        "tensors_sum": sum_tensors(plain),
    }
    write_atomically(Path(path), save(plain, metadata=header))


def read_about(path: Path | str) -> About:
    """What a checkpoint says of itself, without reading its tensors."""
    return _open(Path(path), with_tensors=False)[1]


def load_checkpoint(path: Path | str) -> tuple[dict[str, Tensor], About]:
    """The tensors, on the CPU, and what the checkpoint says of itself."""
    return _open(Path(path), with_tensors=True)


def sum_tensors(tensors: Mapping[str, Tensor]) -> str:
    """A checksum (CRC-32) of names, types, shapes and every number; the order of the names does not count.

    >>> sum_tensors({"a": torch.zeros(2), "b": torch.ones(1)})
    'a7d175b4'
    """
    total = 0
    for name in sorted(tensors):
        tensor = tensors[name].contiguous()
        total = zlib.crc32(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode(), total)
        total = zlib.crc32(tensor.flatten().view(torch.uint8).numpy(), total)
    return f"{total:08x}"


def _sum_text(text: str) -> str:
    return f"{zlib.crc32(text.encode()):08x}"


def _open(path: Path, *, with_tensors: bool) -> tuple[dict[str, Tensor], About]:
    _check_readable(path)
    try:
        with safe_open(path, framework="pt") as file:
            header = file.metadata() or {}
            about = _check_header(path, header)
            # Copies: else they would be windows into the file, which may soon be another one.
            tensors = {name: file.get_tensor(name).clone() for name in file.keys()} if with_tensors else {}  # noqa: SIM118
    except SafetensorError as error:
        raise CheckpointError(
            f"{path} is damaged or no safetensors file ({error}). It was not changed. "
            "Take another checkpoint, or get or train this one again."
        ) from error
    if with_tensors and sum_tensors(tensors) != header.get("tensors_sum"):
        raise _damaged(path, "its tensors do not have the checksum they were saved with")
    return tensors, about


def _check_readable(path: Path) -> None:
    """Said in our words: the library takes a file that may not be read for one that is not there."""
    try:
        if path.exists() and not path.is_file():
            raise CheckpointError(f"Expected a checkpoint at {path}, but that is no file.")
        path.open("rb").close()
    except FileNotFoundError:
        raise CheckpointError(f"Expected a checkpoint at {path}, but there is no such file.") from None
    except OSError as error:
        raise CheckpointError(f"Expected a checkpoint at {path}, but: {error.strerror}.") from error


def _check_header(path: Path, header: Mapping[str, str]) -> About:
    if header.get("format") != FORMAT:
        raise CheckpointError(
            f"{path} is a safetensors file, but no checkpoint of this course: "
            f"its format is {header.get('format')!r}, expected {FORMAT!r}."
        )
    if "version" not in header:
        raise _damaged(path, "it does not say in which version it is written")
    version = header["version"]
    if not version.isdecimal() or not 1 <= int(version) <= VERSION:
        raise CheckpointError(
            f"{path} has version {version!r}, and this course reads versions up to {VERSION}. "
            "It comes from a newer course: update yours (git pull)."
        )
    text = header.get("about", "")
    try:
        about = json.loads(text)
    except ValueError as error:
        raise _damaged(path, f"its header cannot be read ({error})") from error
    if not isinstance(about, dict):
        raise _damaged(path, f"in its header, expected names and values, got {about!r:.40}")
    if _sum_text(text) != header.get("about_sum"):
        raise _damaged(path, "its header does not have the checksum it was saved with")
    return about


def _damaged(path: Path, why: str) -> CheckpointError:
    return CheckpointError(f"{path} is damaged: {why}. It was not changed. Get or train it again.")


def check_names(own: Mapping[str, Tensor], weights: Mapping[str, Tensor], *, path: Path | str) -> None:
    """Every tensor must be there, of its kind, and none may be left over."""
    if missing := sorted(own.keys() - weights.keys()):
        raise CheckpointError(f"{path} lacks {len(missing)} tensors of this system, such as {missing[0]!r}.")
    if foreign := sorted(weights.keys() - own.keys()):
        raise CheckpointError(
            f"{path} holds {len(foreign)} tensors this system does not know, such as {foreign[0]!r}."
        )
    for name, tensor in weights.items():
        if own[name].is_floating_point() != tensor.is_floating_point():
            raise CheckpointError(
                f"In {path}, {name} is of type {tensor.dtype}, but this system expects {own[name].dtype}."
            )


def check_shapes(own: Mapping[str, Tensor], weights: Mapping[str, Tensor], *, path: Path | str) -> None:
    """Each of these must have the same shape there."""
    for name, tensor in own.items():
        if tensor.shape != weights[name].shape:
            raise CheckpointError(
                f"In {path}, {name} has shape {tuple(weights[name].shape)}, but this system expects "
                f"{tuple(tensor.shape)}. Was it built with another configuration?"
            )


def put_weights(model: nn.Module, weights: Mapping[str, Tensor], *, path: Path | str) -> None:
    """Copy weights into a model; every one must fit, and none may be left over."""
    check_names(model.state_dict(), weights, path=path)
    check_shapes(dict(model.named_parameters()), weights, path=path)
    try:
        # Tables that were counted, not learned, are as long as their text: a model makes room for its own.
        model.load_state_dict(dict(weights))
    except RuntimeError as error:
        raise CheckpointError(f"{path} does not fit this system. {error}") from error
