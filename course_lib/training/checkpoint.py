"""Checkpoints: files with weights and everything needed to use them or to resume training.

    save_checkpoint("best.safetensors", tensors, about)
    tensors, about = load_checkpoint("best.safetensors")
    saved = load_system("best.safetensors")                 # saved.model, saved.tokenizer, ready to translate

The files are in the safetensors format: named tensors and a text header. Unlike pickle, reading one runs no
code. The header holds `about` as JSON: the system and its configuration, the tokenizer, the recipe, the
history, versions, a fingerprint of the data.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from course_lib import __version__
from course_lib.formatting import counted
from course_lib.models.registry import build, config_from_json
from course_lib.runtime import device as usual_device
from course_lib.runtime import write_atomically
from course_lib.text.bpe import BpeTokenizer
from course_lib.text.tokenizer import Tokenizer
from course_lib.text.word_tokenizer import WordTokenizer

FORMAT = {"format": "attention-course checkpoint", "version": "1"}
TOKENIZERS = {"words": WordTokenizer, "bpe": BpeTokenizer}

About = dict[str, Any]


class CheckpointError(ValueError):
    """A file can't be used as a checkpoint; the message says why, and what to do."""


# ---- the file


def save_checkpoint(path: Path | str, tensors: Mapping[str, Tensor], about: About) -> None:
    """Write a checkpoint, completely or not at all; an existing file is replaced."""
    plain = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    header = FORMAT | {"about": json.dumps(about, ensure_ascii=False)}
    write_atomically(Path(path), save(plain, metadata=header))


def read_about(path: Path | str) -> About:
    """The metadata of a checkpoint, without reading its tensors."""
    return _read(Path(path), with_tensors=False)[1]


def load_checkpoint(path: Path | str) -> tuple[dict[str, Tensor], About]:
    """The tensors, on the CPU, and the metadata."""
    return _read(Path(path), with_tensors=True)


def _read(path: Path, *, with_tensors: bool) -> tuple[dict[str, Tensor], About]:
    if not path.is_file():
        raise CheckpointError(f"Expected a checkpoint at {path}, but there is no such file.")
    path.open("rb").close()  # a PermissionError says more than what safetensors would raise
    try:
        with safe_open(path, framework="pt") as file:
            header = file.metadata() or {}
            # Copies, because the tensors would otherwise be views of a file that may be overwritten.
            tensors = {name: file.get_tensor(name).clone() for name in file.keys()} if with_tensors else {}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise _unusable(path, f"is damaged or not a safetensors file ({error})") from error
    try:
        about = json.loads(header["about"])
    except (KeyError, ValueError):
        about = None
    if about is None or not FORMAT.items() <= header.items():
        raise _unusable(
            path, "is not a checkpoint of this course, or is from a newer version (try `git pull`)"
        )
    return tensors, about


def _unusable(path: Path, why: str) -> CheckpointError:
    return CheckpointError(
        f"{path} {why}. The file was not changed. Download it again, or train the system again."
    )


# ---- systems


@dataclass(frozen=True)
class SavedSystem:
    """A trained system with its tokenizer and the metadata of its checkpoint."""

    name: str
    model: nn.Module
    tokenizer: Tokenizer
    about: About


def load_system(path: Path | str, *, device: torch.device | str = "cpu") -> SavedSystem:
    """Read a checkpoint and build what is in it."""
    tensors, about = load_checkpoint(path)
    if "standing" in about:
        raise CheckpointError(
            f"{path} is only for resuming a run. Load best.safetensors from the same folder."
        )
    if "config" not in about:
        raise _unusable(Path(path), "doesn't say which system its weights belong to")
    try:
        name, config = config_from_json(about["config"])
        saved = about["tokenizer"]
        tokenizer = TOKENIZERS[saved["kind"]].from_text(saved["text"], path=f"The tokenizer in {path}")
        model = build(name, config)
        model.load_state_dict(tensors)
    except (KeyError, TypeError, ValueError, RuntimeError) as error:  # from a later version, or edited
        reason = " ".join(str(error).split())
        raise _unusable(path, f"contains a system that can't be built here ({reason:.200})") from error
    return SavedSystem(name, model.to(device).eval(), tokenizer, about)


def versions() -> Mapping[str, str]:
    """The versions to save with a result."""
    return {
        "course": __version__,
        "torch": torch.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
    }


def machine(device: torch.device | None = None) -> str:
    """A description of the device, by default the one that the course uses."""
    device = device or usual_device()
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"{platform.machine()} {device.type.upper()}, {counted(torch.get_num_threads(), 'thread')}"
