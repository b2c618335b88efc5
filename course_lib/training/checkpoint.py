"""Checkpoints: files with weights and everything needed to use them or to resume training.

    save_checkpoint("best.safetensors", tensors, about)
    tensors, about = load_checkpoint("best.safetensors")
    saved = load_system("best.safetensors")                 # saved.model, saved.tokenizer, ready to translate

The files are in the safetensors format: named tensors and a text header. Unlike pickle, reading one runs no
code. The header holds `about` as JSON: the system and its configuration, the tokenizer, the recipe, the
history, versions, a fingerprint of the data. It also holds checksums, because a damaged disk or a broken
download would otherwise give a model that translates nonsense.
"""

from __future__ import annotations

import json
import math
import platform
import textwrap
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from course_lib import __version__
from course_lib.formatting import counted
from course_lib.models.own_file import OwnFileError, own_transformer
from course_lib.models.registry import build, config_from_json
from course_lib.runtime import device as usual_device
from course_lib.runtime import shipped_weights, write_atomically
from course_lib.text.bpe import BpeTokenizer
from course_lib.text.tokenizer import Tokenizer
from course_lib.text.word_tokenizer import WordTokenizer

FORMAT = {"format": "attention-course checkpoint", "version": "1"}
UNBUILDABLE = (KeyError, TypeError, ValueError, RuntimeError, OverflowError)  # edited, or a later version's
TOKENIZERS = {"words": WordTokenizer, "bpe": BpeTokenizer}
MOST_UNSAVED = 50_000_000  # numbers of a system that aren't in its checkpoint, such as tables of positions

About = dict[str, Any]


class CheckpointError(ValueError):
    """A file can't be used as a checkpoint; the message says why, and what to do."""


# ---- the header


def is_number(value: object) -> bool:
    return type(value) is float or (type(value) is int and abs(value) < 2**63)


def is_count(value: object) -> bool:
    return is_number(value) and type(value) is int and value >= 0


def is_pair(value: object, is_valid: Callable[[object], bool]) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(map(is_valid, value))


# A rule is a description and a test, or a dict or list of rules. A "?" marks an entry that may be missing.
TEXT = ("text", lambda value: isinstance(value, str))
FLAG = ("true or false", lambda value: isinstance(value, bool))
NUMBER = ("a number", is_number)  # a loss may be NaN or infinite
COUNT = ("a whole number of 0 or more", is_count)
SECONDS = ("a number of 0 or more", lambda value: is_number(value) and 0 <= value < math.inf)
RECORD = {
    "step": COUNT,
    "epoch": COUNT,
    "rate": NUMBER,
    "train_loss": NUMBER,
    "loss": NUMBER,
    "seconds": SECONDS,
    "n_tokens?": COUNT,
    "averaged?": FLAG,
    "scores?": {},
}
HEADER = {
    "config": {"system": TEXT},
    "tokenizer": {"kind": TEXT, "text": TEXT},
    "recipe": {"n_steps": COUNT, "tokens_per_batch?": COUNT, "learning_rate?": NUMBER, "r_drop?": NUMBER},
    "data": {"name": TEXT, "fingerprint": TEXT},
    "objective": {},
    "history": [RECORD],
    "standing": {
        "step": COUNT,
        "position": ("two whole numbers of 0 or more", lambda value: is_pair(value, is_count)),
        "seconds": SECONDS,
        "since": ("two numbers", lambda value: is_pair(value, is_number)),
        "n_averaged": COUNT,
    },
}


def check_fields(value: object, rule: object, name: str = "the header") -> None:
    """Raise an error that names the first entry of a header that breaks its rule.

    >>> check_fields({"history": [{"step": "4"}]}, {"history": [{"step": COUNT}]})
    Traceback (most recent call last):
    ValueError: expected history[0].step to be a whole number of 0 or more, but got '4'
    """
    wanted, is_valid = rule if isinstance(rule, tuple) else (type(rule).__name__, None)
    if not (is_valid(value) if is_valid else isinstance(value, type(rule))):
        arrived = "it is missing" if value is None else f"got {value!r:.60}"
        raise ValueError(f"expected {name} to be {wanted}, but {arrived}")
    if isinstance(rule, list):
        for index, entry in enumerate(value):
            check_fields(entry, rule[0], f"{name}[{index}]")
    if isinstance(rule, dict):
        prefix = "" if name == "the header" else f"{name}."
        for key, inner in rule.items():
            field = key.removesuffix("?")
            if field in value or field == key:
                check_fields(value.get(field), inner, prefix + field)


# ---- the file


def save_checkpoint(path: Path | str, tensors: Mapping[str, Tensor], about: About) -> None:
    """Write a checkpoint, completely or not at all; an existing file is replaced."""
    plain = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    text = json.dumps(about)
    write_atomically(Path(path), save(plain, metadata=FORMAT | {"about": text} | checksums(text, plain)))


def checksums(text: str, tensors: Mapping[str, Tensor] | None) -> dict[str, str]:
    """The CRC-32 of a header's text, and of all names, types, shapes and numbers of the tensors.

    >>> checksums("{}", {"b": torch.ones(1), "a": torch.zeros(2)})
    {'about_sum': 'a3a6bf43', 'tensors_sum': 'a7d175b4'}
    """
    sums = {"about_sum": f"{zlib.crc32(text.encode()):08x}"}
    if tensors is not None:
        total = 0
        for name, tensor in sorted(tensors.items()):
            total = zlib.crc32(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode(), total)
            total = zlib.crc32(tensor.flatten().view(torch.uint8).numpy(), total)
        sums["tensors_sum"] = f"{total:08x}"
    return sums


def read_about(path: Path | str, *, needs: Sequence[str] = ()) -> About:
    """The metadata of a checkpoint, without reading its tensors. `needs` are fields that it must have."""
    return _read(Path(path), needs, with_tensors=False)[1]


def load_checkpoint(path: Path | str, *, needs: Sequence[str] = ()) -> tuple[dict[str, Tensor], About]:
    """The tensors, on the CPU, and the metadata."""
    return _read(Path(path), needs, with_tensors=True)


def _read(path: Path, needs: Sequence[str], *, with_tensors: bool) -> tuple[dict[str, Tensor], About]:
    if not path.is_file():
        problem = "that is not a file" if path.exists() else "there is no such file"
        raise CheckpointError(f"Expected a checkpoint at {path}, but {problem}.{_how_to_restore(path)}")
    path.open("rb").close()  # a PermissionError says more than what safetensors would raise
    try:
        with safe_open(path, framework="pt") as file:
            header = file.metadata() or {}
            # Copies, because the tensors would otherwise be views of a file that may be overwritten.
            tensors = {name: file.get_tensor(name).clone() for name in file.keys()} if with_tensors else {}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise _unusable(path, f"is damaged or not a safetensors file ({error})") from error
    text = header.get("about", "")
    sums = checksums(text, tensors if with_tensors else None)
    if not (FORMAT.items() <= header.items() and sums.keys() <= header.keys()):
        raise _unusable(
            path, "is not a checkpoint of this course, or is from a newer version (try `git pull`)"
        )
    if any(header[name] != value for name, value in sums.items()):
        raise _unusable(path, "is damaged: its contents don't match their checksum")
    try:
        about = json.loads(text)
        check_fields(about, {name if name in needs else f"{name}?": rule for name, rule in HEADER.items()})
    except (ValueError, RecursionError) as error:
        raise _unusable(path, f"has an invalid header: {error}") from error
    return tensors, about


def _unusable(path: Path, why: str) -> CheckpointError:
    advice = " The file was not changed. Download it again, or train the system again."
    return CheckpointError(f"{path} {why}.{_how_to_restore(path) or advice}")


def _how_to_restore(path: Path) -> str:
    """What to do about a damaged or missing file that comes with the course; "" for any other."""
    is_shipped = path.absolute() == shipped_weights(path.stem)
    return " Run `git checkout -- data/checkpoints` to restore it." if is_shipped else ""


# ---- systems


@dataclass(frozen=True)
class SavedSystem:
    """A trained system with its tokenizer and the metadata of its checkpoint."""

    name: str
    model: nn.Module
    tokenizer: Tokenizer
    about: About


def load_system(
    path: Path | str, *, device: torch.device | str = "cpu", model_file: Path | str | None = None
) -> SavedSystem:
    """Read a checkpoint and build what is in it.

    With `model_file`, the model is the class `Transformer` of that Python file, whose code runs
    (`models/own_file.py`).
    """
    path = Path(path)
    tensors, about = load_checkpoint(path, needs=("config", "tokenizer"))
    if "standing" in about:
        raise CheckpointError(
            f"{path} is only for resuming a run. Load best.safetensors from the same folder."
        )
    try:
        name, config = config_from_json(about["config"])
        saved = about["tokenizer"]
        tokenizer = TOKENIZERS[saved["kind"]].from_text(saved["text"], path=f"The tokenizer in {path}")
        if tokenizer.vocab_size != config.vocab_size:
            raise ValueError(f"{tokenizer.vocab_size} tokens, but a vocab_size of {config.vocab_size}")
        with _Limit(20 * sum(tensor.numel() for tensor in tensors.values()) + MOST_UNSAVED):
            model = own_transformer(model_file, config) if model_file else build(name, config)
        model.load_state_dict(tensors)
    except OwnFileError:
        raise
    except UNBUILDABLE as error:
        reason = " ".join(str(error).split())
        if model_file:
            problem = f"{path} doesn't fit the model in {model_file}, which may have changed since"
            raise CheckpointError(f"{problem} the training: {textwrap.shorten(reason, 400)}") from error
        raise _unusable(path, f"contains a system that can't be built here ({reason:.200})") from error
    return SavedSystem(name, model.to(device).eval(), tokenizer, about)


class _Limit(TorchFunctionMode):
    """Raises an error once a system that is being built has made more than `n` numbers.

    A stranger's configuration may describe one that takes all memory, or hours. Each call counts as at least
    1,000 numbers, so that there aren't too many calls either.
    """

    def __init__(self, n: int):
        super().__init__()
        self.left = n

    def __torch_function__(self, function, types, args=(), kwargs=None):
        result = function(*args, **kwargs or {})
        self.left -= max(1000, result.numel()) if isinstance(result, Tensor) else 1000
        if self.left < 0:
            raise ValueError("it is much larger than the weights in the file")
        return result


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
