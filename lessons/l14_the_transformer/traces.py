"""What a Transformer computes for one sentence: every state, every attention map, the words that come out.

    >>> found = trace("library", "the cat sleeps")
    >>> found.output, found.states["memory"].shape, found.maps["encoder 0, after attention"].shape
    (('le', 'chat', 'dort', '</s>'), (4, 64), (4, 4, 4))

It works for the library's model, the learner's functions, their file, and models with a known mistake. All
have the shipped weights, and all get the library's translation as the target so far, so that their states can
be compared. The source is padded, as in a batch with a longer sentence: otherwise a padding mask that is
missing couldn't be noticed. What is returned is without the padding.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache, lru_cache
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from course_lib.formatting import fixed
from course_lib.models.own_file import FILE, OwnFileError, describe_error, load_class, own_file_path
from course_lib.teaching import count_own_calls
from course_lib.teaching.own_code.kept_file import kept_file
from course_lib.text.special import BOS, EOS, PAD, SPECIAL, UNK
from course_lib.training.step import parts_of
from course_lib.translation.pipeline import clean_text
from course_lib.translation.shipped import shared
from lessons.l14_the_transformer import by_parts
from lessons.l14_the_transformer.by_own_parts import own_parts
from lessons.l14_the_transformer.file_slips import SLIPS, FileSlip
from lessons.l14_the_transformer.file_stages import (
    Stages,
    faulty,
    filled,
    reference_class,
    run_through,
    same,
    stage_names,
)

LONGEST = 14  # words of a sentence, and at most 4 more in its translation
N_LAYERS, N_HEADS = 3, 4
OWN_FUNCTIONS = {"memory": "encode_source", "last norm": "layer_norm", "logits": "decode_logits"}
EPSILON = ("nn.LayerNorm(d_model)", "nn.LayerNorm(d_model, eps=1e-3)")
NAMED = {slip.name: slip for slip in SLIPS}
# the networks of section 7, as files; what is wrong with A and E isn't in a file
FILES = NAMED | {"B": NAMED["no-last-norm"], "C": NAMED["no-root"], "D": NAMED["no-bias"]}
FILES["F"] = FileSlip("epsilon", "the norms have another ε.", (EPSILON,))
MODELS = ("library", "your functions", "your file", "A", "B", "C", "D", "E", "F")


@dataclass(frozen=True)
class Trace:
    """`maps` are attention weights (heads, queries, keys) by the state that follows them. `own` says of a
    state, or of a block, whether the learner's code computed it; `wrong` is the first state that differs."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    output: tuple[str, ...] = ()
    probability: float = 0.0  # of the last word
    likeliest: dict[str, float] = field(default_factory=dict)  # after the last word
    states: dict[str, np.ndarray] = field(default_factory=dict)
    maps: dict[str, np.ndarray] = field(default_factory=dict)
    own: dict[str, bool] = field(default_factory=dict)
    wrong: str = ""
    gap: float = 0.0
    problem: str = ""
    cut: bool = False  # the sentence was too long

    @property
    def widths(self) -> tuple[int, int, int]:
        """Of a vector before, inside and after a feed-forward layer."""
        sizes = shared("transformer").model.config
        return sizes.d_model, sizes.d_ff, sizes.d_model

    @property
    def n_logits(self) -> int:
        return shared("transformer").model.config.vocab_size

    def shape_and_size(self, stage: str) -> str:
        """Of a state, with its root mean square: "10 × 64, size 1.9"."""
        if stage not in self.states:
            return "not reached"
        state = self.states[stage]
        return f"{state.shape[0]} × {state.shape[1]}, size {fixed(float(np.sqrt((state**2).mean())), 1)}"


class WatchedSoftmax(TorchDispatchMode):
    """Keeps the attention weights of any code: what a softmax returns with four axes."""

    def __init__(self):
        super().__init__()
        self.found: list[Tensor] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        output = func(*args, **(kwargs or {}))
        if func is torch.ops.aten._softmax.default and output.dim() == 4:
            self.found.append(output)
        return output


def trace(model: str, sentence: str, target: str | None = None) -> Trace:
    """What one of the `MODELS` computes for a sentence, and for a target so far if one is given."""
    version = ()
    if model.startswith("your"):
        path = own_file_path() if model == "your file" else kept_file()
        version = (path.stat().st_mtime_ns, path.stat().st_size) if path.exists() else ()
    return _trace(model, sentence, target, version)


@lru_cache(64)
@torch.no_grad()
def _trace(model: str, sentence: str, target: str | None, version: tuple[int, ...]) -> Trace:
    """`version` changes with the learner's code."""
    tokenizer = shared("transformer").tokenizer
    typed = clean_text(sentence, tokenizer).split()
    words = typed[:LONGEST]
    source = [*tokenizer.encode(" ".join(words)), EOS]
    shown = (f"{word}?" if token == UNK else word for word, token in zip(words, source, strict=False))
    tokens = [BOS, *(_translation(tuple(source)) if target is None else tokenizer.encode(target))]
    first = SPECIAL[EOS if model == "E" else BOS]
    names = (*shown, SPECIAL[EOS]), (first, *tokenizer.tokens(tokens[1:]))
    padded = len(source) + 2 + (len(source) + 2 == len(tokens))  # lengths that tell both sides apart
    inputs = torch.tensor([source + [PAD] * (padded - len(source))]), torch.tensor([tokens])
    stages, maps, own, problem = _run(model, *inputs)
    n, m = len(source), len(tokens)
    real = {padded: n, m: m}  # how many rows of a state aren't padding
    reached = [stage for stage in stage_names(N_LAYERS) if stage in stages and stages[stage].dim() == 3]
    states = {stage: stages[stage][0, : real.get(stages[stage].shape[1])] for stage in reached}
    right = _trace("library", sentence, target, ()).states if model != "library" else {}
    nothing = torch.empty(0)
    differing = {s for s, state in right.items() if not same(states.get(s, nothing), torch.from_numpy(state))}
    wrong = first_wrong(reached, differing)
    gap = float(np.abs(states[wrong].numpy() - right[wrong]).max()) if wrong in states else 0.0
    said, probability, likeliest = (), 0.0, {}
    if "logits" in states:
        logits = states["logits"]
        said = tuple(tokenizer.tokens(logits.argmax(dim=-1).tolist()))
        top = logits[-1].softmax(dim=-1).topk(5)
        likeliest = dict(zip(tokenizer.tokens(top.indices.tolist()), top.values.tolist(), strict=True))
        probability = max(likeliest.values())
    arrays = {stage: state.numpy() for stage, state in states.items()}
    found = {stage: w[0, :, : real[w.shape[2]], : real[w.shape[3]]].numpy() for stage, w in maps.items()}
    own = {stage: is_own for stage, is_own in own.items() if not is_own or stage not in differing}
    cut = len(typed) > LONGEST
    return Trace(*names, said, probability, likeliest, arrays, found, own, wrong, gap, problem, cut)


def first_wrong(reached: list[str], differing: set[str]) -> str:
    """The first state that differs, or wasn't reached; empty if there is none, or nothing was reached.

    The state between two sub-layers is seen when the second one begins. If a block went on without it, that
    sub-layer is the one that is missing.
    """
    for stage, following in pairwise([*stage_names(N_LAYERS), ""] if reached else []):
        if stage in differing:
            skipped = stage not in reached and ", after" in stage and stage.partition(",")[0] in reached
            return following if skipped else stage
    return ""


@lru_cache(64)
def _translation(source: tuple[int, ...]) -> list[int]:
    """The library's, without the end."""
    src = torch.tensor([source])
    model, mask = _library(), (src != PAD)[:, None, None]
    memory = model.encode(src, mask)
    found = by_parts.likeliest(lambda target: model.decode(target, memory, mask), 1, LONGEST + 4)[0].tolist()
    return found[: found.index(EOS)] if EOS in found else found


@cache
def _library() -> nn.Module:
    return filled(reference_class())


def _run(
    model: str, source: Tensor, target: Tensor
) -> tuple[Stages, dict[str, Tensor], dict[str, bool], str]:
    """States, attention weights, what is the learner's, and what went wrong."""
    mask = (source != PAD)[:, None, None]
    if model == "your functions":
        (stages, maps), called = count_own_calls(lambda: _run_functions(source, target, mask))
        return stages, maps, _owned(called), ""
    stages: Stages = {}
    try:
        if model == "your file":
            network = filled(load_class(own_file_path()))
        else:
            network = faulty(FILES[model]) if model in FILES else _library()
        if model == "A":  # hides no padding
            mask = torch.ones_like(mask)
        if model == "E":  # starts with EOS
            target = torch.cat([torch.full_like(target[:, :1], EOS), target[:, 1:]], dim=1)
        with WatchedSoftmax() as watched:
            run_through(network, stages, source, target, mask, n_layers=N_LAYERS)
    except OwnFileError as error:
        return {}, {}, {}, without_path(str(error))
    except Exception as error:  # whatever a learner's file may raise
        return stages, {}, {}, without_path(describe_error(error, own_file_path()))
    own = dict.fromkeys(stage_names(N_LAYERS), True) if model == "your file" else {}
    return stages, _sorted_maps(watched.found, source.shape[1], target.shape[1]), own, ""


def without_path(message: str) -> str:
    return message.replace(str(own_file_path()), FILE)


def _owned(called: dict[str, int]) -> dict[str, bool]:
    """Of each state and block, whether a function of the learner's computed it."""
    own = {}
    for stage in stage_names(N_LAYERS):
        if "embeddings" in stage:
            function = "embed"
        elif "after" in stage:
            function = "many_heads"
        elif stage in OWN_FUNCTIONS:
            function = OWN_FUNCTIONS[stage]
        else:
            function, side = "feed_forward", stage.split()[0]
            own[f"{stage} block"] = f"{side}_block" in called
        own[stage] = function in called
    return own


def _sorted_maps(watched: list[Tensor], n: int, m: int) -> dict[str, Tensor]:
    """By the state that follows. Their shapes say which use of attention they are from."""
    shapes = {
        "encoder": {"attention": (n, n)},
        "decoder": {"self-attention": (m, m), "cross-attention": (m, n)},
    }
    maps: dict[str, Tensor] = {}
    for side, uses in shapes.items():
        for use, shape in uses.items():
            fitting = [w for w in watched if tuple(w.shape[2:]) == shape]
            maps |= {f"{side} {layer}, after {use}": w for layer, w in enumerate(fitting[:N_LAYERS])}
    return maps


def _run_functions(source: Tensor, target: Tensor, mask: Tensor) -> tuple[Stages, dict[str, Tensor]]:
    """The same with the learner's functions. Inside a block, the states are computed again from its parts."""
    weights = shared("transformer").model.state_dict()
    embed, norm, many_heads = own_parts("embed", "layer_norm", "many_heads")
    encoder_block, decoder_block = own_parts("encoder_block", "decoder_block")
    encode_source, decode_logits = own_parts("encode_source", "decode_logits")
    table, maps = weights["words.output.weight"], {}

    def attend(
        x: Tensor, parts: dict[str, Tensor], use: str, name: str, memory: Tensor | None, mask: Tensor
    ) -> Tensor:
        normed = norm(x, *(parts[f"around_{name}.norm.{kind}"] for kind in ("weight", "bias")))
        matrices = [parts[f"{name}.w_{kind}"] for kind in ("query", "key", "value", "output")]
        output, maps[use] = many_heads(normed, normed if memory is None else memory, *matrices, N_HEADS, mask)
        return x + output

    x = embed(source, table)
    stages = {"source embeddings": x}
    for i in range(N_LAYERS):
        parts, use = parts_of(weights, f"encoder.blocks.{i}"), f"encoder {i}, after attention"
        stages[use] = attend(x, parts, use, "attention", None, mask)
        x = stages[f"encoder {i}"] = encoder_block(x, parts, N_HEADS, mask)
    memory = stages["memory"] = encode_source(source, weights, N_HEADS, N_LAYERS, mask)
    x = stages["target embeddings"] = embed(target, table)
    for i in range(N_LAYERS):
        parts = parts_of(weights, f"decoder.blocks.{i}")
        own, cross = (f"decoder {i}, after {use}-attention" for use in ("self", "cross"))
        stages[own] = attend(x, parts, own, "attention", None, by_parts.causal(x.shape[1]))
        stages[cross] = attend(stages[own], parts, cross, "cross", memory, mask)
        x = stages[f"decoder {i}"] = decoder_block(x, memory, parts, N_HEADS, mask)
    last = parts_of(weights, "decoder.last_norm")
    stages["last norm"] = norm(x, last["weight"], last["bias"])
    stages["logits"] = decode_logits(target, memory, weights, N_HEADS, N_LAYERS, mask)
    return stages, maps
