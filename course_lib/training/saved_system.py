"""A trained system from its file: the model, its tokenizer, and what the file says about both.

saved = load_system("data/checkpoints/bahdanau.safetensors")
saved.model, saved.tokenizer, saved.about["history"]
"""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from torch import nn

from course_lib import __version__
from course_lib.models.config import Config
from course_lib.models.registry import build, config_from_json, config_to_json
from course_lib.runtime import device as usual_device
from course_lib.text.bpe import BpeTokenizer
from course_lib.text.tokenizer import Tokenizer
from course_lib.text.word_tokenizer import WordTokenizer
from course_lib.training.checkpoint import About, CheckpointError, load_checkpoint, put_weights
from course_lib.training.corpora import TrainingData
from course_lib.training.recipe import Recipe

TOKENIZERS = {"words": WordTokenizer, "bpe": BpeTokenizer}


@dataclass(frozen=True)
class SavedSystem:
    """A system ready to translate."""

    name: str
    model: nn.Module
    tokenizer: Tokenizer
    about: About


def load_system(path: Path | str, *, device: torch.device | str = "cpu") -> SavedSystem:
    """Read a checkpoint and build what is in it."""
    tensors, about = load_checkpoint(path)
    if "standing" in about:
        raise CheckpointError(
            f"{path} is where a run stands, to go on from. Load the best.safetensors beside it."
        )
    try:
        name, config = config_from_json(about["config"])
        kind, text = about["tokenizer"]["kind"], about["tokenizer"]["text"]
        if kind not in TOKENIZERS:
            raise ValueError(f"there is no tokenizer {kind!r}. There are: {', '.join(TOKENIZERS)}.")
        tokenizer = TOKENIZERS[kind].from_text(text, path=f"The tokenizer in {path}")
        if tokenizer.vocab_size != config.vocab_size:  # before tables of that size are made
            raise ValueError(
                f"its system is for {config.vocab_size} tokens, but its tokenizer has {tokenizer.vocab_size}."
            )
        model = build(name, config)
    except KeyError as error:
        raise CheckpointError(
            f"{path} cannot be built: what it says of itself has no {error}. Get or train it again."
        ) from error
    except (TypeError, ValueError) as error:
        raise CheckpointError(f"{path} cannot be built: {error} Get or train it again.") from error
    put_weights(model, tensors, path=path)
    return SavedSystem(name, model.to(device).eval(), tokenizer, about)


def describe(name: str, config: Config, recipe: Recipe, data: TrainingData, *, command: str = "") -> About:
    """What a checkpoint says of itself, but for its history."""
    kind = next((kind for kind, one in TOKENIZERS.items() if isinstance(data.tokenizer, one)), None)
    if kind is None:
        raise TypeError(
            f"Expected a tokenizer that a checkpoint can hold ({', '.join(TOKENIZERS)}), "
            f"but got {type(data.tokenizer).__name__}. Make one with `from_texts`."
        )
    return {
        "config": config_to_json(name, config),
        "recipe": asdict(recipe),
        "tokenizer": {"kind": kind, "text": data.tokenizer.to_text()},
        "data": {"name": data.name, "fingerprint": data.fingerprint},
        "versions": versions(),
        "machine": machine(data.train.device),
        "command": command,
    }


def versions() -> Mapping[str, str]:
    """What made it."""
    return {
        "course": __version__,
        "torch": torch.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
    }


def machine(device: torch.device | None = None) -> str:
    """What it was made on, in words; None: the device that the course takes by itself."""
    device = device or usual_device()
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    threads = "1 thread" if torch.get_num_threads() == 1 else f"{torch.get_num_threads()} threads"
    return f"{platform.machine()} {device.type.upper()}, {threads}"
