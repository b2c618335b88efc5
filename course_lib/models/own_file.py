"""A Transformer from a learner's own file, with the interface of all translators.

    model = own_transformer("notebooks/my_transformer.py", config)          # runs the code of the file
    logits = model(src, src_lengths, tgt_in)

The file defines a class `Transformer`:

    Transformer(vocab_size, d_model, n_heads, d_ff, n_layers, dropout)
    forward(source, target)            from token ids (0 is padding) to logits (batch, tgt, vocab)
    encode(source, mask)               to the memory (batch, src, d_model)
    decode(target, memory, mask)       to logits

The mask, (batch, 1, 1, src), is True where a source position may be attended to.

Lesson 14 writes such a file, `own_file_path()`, and lesson 15 trains it. If its parameters have the names of
the library's Transformer, either of the two can load the other's checkpoints. `explain_difference` is the
quick check before training; lesson 14 has the thorough one.
"""

from __future__ import annotations

import linecache
import math
import traceback
from pathlib import Path

import torch
from torch import nn

from course_lib.formatting import counted
from course_lib.layers.masks import padding_mask
from course_lib.layers.rows import Rows
from course_lib.models.transformer import TransformerConfig
from course_lib.models.translator import Decoded, Lengths, Source, Stepped, Target, Tokens, Translator
from course_lib.runtime import PROJECT_ROOT, folder_from, is_strict, user_folder, write_atomically
from course_lib.shapes import Float, Tensor

CLASS = "Transformer"
SIZES = ("vocab_size", "d_model", "n_heads", "d_ff", "n_layers", "dropout")
FILE = "my_transformer.py"
FIRST_LINE = "# A Transformer, written from an empty file (lesson 14).\n"
MOST_OFF = 1e-3  # how far logits may be from the library's


class OwnFileError(ValueError):
    """A learner's file can't be used; the message says why, and what to do."""


def own_file_path() -> Path:
    """The learner's file: beside the notebooks, or with the learner's progress if its folder was chosen.

    A notebook that was copied elsewhere, as for homework, has its file beside it.
    """
    notebooks, here = PROJECT_ROOT / "notebooks", Path.cwd()
    if (here / FILE).is_file() and not here.is_relative_to(notebooks):
        return here / FILE
    return (user_folder() if folder_from("COURSE_HOME") or is_strict() else notebooks) / FILE


def start_own_file(content: str = FIRST_LINE) -> str:
    """Write the learner's file unless something was typed into it; returns a sentence about what was done."""
    path = own_file_path()
    try:
        if path.exists() and not path.is_file():  # reading a pipe would block
            return f"{FILE} can't be written: expected a file at {path}, but that is something else."
        typed = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
        if typed in ("", FIRST_LINE):  # even a comment may be what is left of somebody's work
            write_atomically(path, content)
            return f"{FILE} now has {counted(len(content.splitlines()), 'line')}."
    except OSError as error:
        return f"{FILE} can't be written ({error}). Change the cause, then run this cell again."
    return f"{FILE} exists already, with {counted(len(typed.splitlines()), 'line')}. It wasn't changed."


def is_empty(path: Path) -> bool:
    """Whether there is no code yet: no file, or one with nothing but comments."""
    if not path.is_file():
        return True
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    return all(not line.strip() or line.lstrip().startswith("#") for line in lines)


def run_file(path: Path | str) -> dict[str, object]:
    """Run a file, and return what it defines. It runs again at every call, so that changes count."""
    path = Path(path)
    if not path.is_file():
        raise OwnFileError(f"Expected a Python file at {path}, but there is none.")
    linecache.checkcache(str(path))  # error messages quote its lines
    names: dict[str, object] = {"__name__": path.stem, "__file__": str(path)}
    # not imported: a .pyc could be older than a file that was saved again within the same second
    exec(compile(path.read_bytes(), str(path), "exec"), names)
    return names


def load_class(path: Path | str) -> type[nn.Module]:
    """The class `Transformer` of a file, which is run for it."""
    path = Path(path)
    try:
        found = run_file(path).get(CLASS)
    except OwnFileError:
        raise
    except Exception as error:
        raise OwnFileError(describe_error(error, path)) from error
    if not (isinstance(found, type) and issubclass(found, nn.Module)):
        arrived = "there is none" if found is None else f"{CLASS} is something else"
        raise OwnFileError(
            f"Expected a class {CLASS}(nn.Module) in {path}, but {arrived}. "
            f"Start it with `class {CLASS}(nn.Module):`."
        )
    return found


def describe_error(error: Exception, path: Path) -> str:
    """An error that the code of a file raised, with its line in that file.

    >>> describe_error(SyntaxError("invalid syntax", ("a.py", 3, 1, "x =")), Path("a.py"))
    'a.py, line 3: SyntaxError: invalid syntax'
    """
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    is_syntax = isinstance(error, SyntaxError) and error.filename == str(path)
    line = error.lineno if is_syntax else frames[-1].lineno if frames else None
    place = f"{path}, line {line}" if line else str(path)
    return f"{place}: {type(error).__name__}: {error.msg if is_syntax else error}"


def own_transformer(path: Path | str, config: TransformerConfig) -> OwnTransformer:
    """A new model from the file, with initial weights from torch's generator."""
    if type(config) is not TransformerConfig:
        raise OwnFileError(
            f"Expected the weights of a Transformer for {path}, but got a {type(config).__name__}."
        )
    model_class = load_class(path)
    try:
        model = model_class(**{name: getattr(config, name) for name in SIZES})
        return OwnTransformer(config, model, Path(path))
    except Exception as error:
        raise OwnFileError(describe_error(error, Path(path))) from error


@torch.no_grad()
def explain_difference(path: Path | str, library: Translator) -> str:
    """Why a file doesn't compute the same as a Transformer of the library with its weights; else "".

    A quick check before training, which calls `forward`, and translating, which calls `encode` and `decode`.
    It runs the file's code unguarded; lesson 14's check is the thorough one.
    """
    src, tgt = torch.arange(4, 16).reshape(2, 6), torch.tensor([[2, 5, 4], [2, 7, 9]])
    src[0, 4:] = 0
    lengths = (src != 0).sum(dim=1)
    expected = library.eval()(src, lengths, tgt)
    try:
        own = own_transformer(path, library.config)
        own.load_state_dict(library.state_dict())
        logits = {"forward": own.eval()(src, lengths, tgt)}
        logits["decode, after encode,"] = own.decode(own.encode(src, lengths), tgt)[0]
    except OwnFileError as error:
        return str(error)
    except Exception as error:  # whatever the learner's code raises
        return describe_error(error, Path(path))
    for method, computed in logits.items():
        if computed.shape != expected.shape:
            shapes = f"{tuple(computed.shape)}, but {tuple(expected.shape)} is expected"
            return f"{method} returns logits of shape {shapes}"
        if not (gap := (computed - expected).abs().max()) <= MOST_OFF:  # also if it is NaN
            return f"{method} returns logits that differ from the library's by up to {gap:.2g}"
    return ""


class OwnTransformer(Translator):
    """Any module with the three methods of the file, as a translator.

    Without a key-value cache, each step of decoding processes all earlier words again. An `OwnFileError` says
    what is wrong with `encode` or `decode`. `forward` is called as it is, because a training step may be
    captured as a CUDA graph, where no number can be looked at.
    """

    attends = False  # the file's attention weights aren't returned

    def __init__(self, config: TransformerConfig, model: nn.Module, file: Path):
        super().__init__(config)
        self.file = file
        # Both share their registries instead of one being a part of the other, so that the weights keep the
        # names they have in the file.
        registries = ("_parameters", "_buffers", "_modules", "_non_persistent_buffers_set")
        self.__dict__.update({name: getattr(model, name) for name in registries}, model=model)

    def train(self, mode: bool = True) -> OwnTransformer:
        self.model.training = mode  # it isn't among its own modules
        return super().train(mode)

    def forward(self, src: Source, src_lengths: Lengths, tgt_in: Target) -> Float[Tensor, "batch tgt vocab"]:
        return self.model(src, tgt_in)

    def read(self, src: Source, src_lengths: Lengths) -> Rows:
        mask = padding_mask(src_lengths, src.shape[1]).unsqueeze(1)
        return {"states": self._call("encode", src, mask, size=self.config.d_model), "mask": mask}

    def say(self, memory: Rows, tgt_in: Target, *, with_weights: bool) -> Decoded:
        inputs = tgt_in, memory["states"], memory["mask"]
        return self._call("decode", *inputs, size=self.config.vocab_size), None

    def start(self, memory: Rows) -> Rows:
        """No target tokens yet."""
        states = memory["states"]
        return {"tokens": torch.zeros(len(states), 0, dtype=torch.long, device=states.device)}

    def advance(self, memory: Rows, state: Rows, tokens: Tokens, *, with_weights: bool) -> Stepped:
        so_far = torch.cat([state["tokens"], tokens[:, None]], dim=1)
        return self.say(memory, so_far, with_weights=False)[0][:, -1], {"tokens": so_far}, None

    def _call(self, method: str, tokens: Tensor, *others: Tensor, size: int) -> Tensor:
        """What a method of the file returns, if it can be used: `size` finite numbers for each token."""
        try:
            result = getattr(self.model, method)(tokens, *others)
        except Exception as error:  # whatever the learner's code raises
            raise OwnFileError(describe_error(error, self.file)) from error
        shape = (*tokens.shape, size)
        if not isinstance(result, Tensor):
            arrived = "None: is a `return` missing?" if result is None else f"a {type(result).__name__}."
        elif result.shape != shape:
            arrived = f"one of shape {tuple(result.shape)}."
        elif not (result < math.inf).all():  # also if it is NaN
            arrived = "one with NaN or infinite numbers."
        else:
            return result
        raise OwnFileError(
            f"{self.file}: expected {method} to return a tensor of shape {shape}, but got {arrived}"
        )
