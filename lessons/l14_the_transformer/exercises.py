"""The exercises of lesson 14: parts by name, words in, encoder, decoder, logits, and where two runs part."""

from __future__ import annotations

import io
import math
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor

from course_lib.layers.positions import sinusoids
from course_lib.teaching.exercises.any_exercise import ByHand, Slip
from course_lib.teaching.exercises.plain_exercise import PlainExercise
from course_lib.teaching.exercises.written_test import TestExercise
from lessons.l14_the_transformer import by_parts as library
from lessons.l14_the_transformer.by_parts import RIGHT, Wiring

TOPIC = "the_transformer"


def random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator("cpu").manual_seed(seed))


# ---- the parts by name


def names_of(n_blocks: int) -> dict[str, Tensor]:
    names = [f"encoder.blocks.{block}.{part}" for block in range(n_blocks) for part in ("w", "norm.bias")]
    return {
        name: torch.tensor([float(i)]) for i, name in enumerate([*names, "encoder.last_norm.w", "words.w"])
    }


def block_names() -> dict[str, Tensor]:
    names = ("attention.w_key", "around_attention.norm.bias", "attention.w_query", "self_attention.w")
    return {name: torch.tensor([float(i)]) for i, name in enumerate(names)}


def replaced(begins: Callable[[str, str], bool]) -> Callable:
    """Cut by `replace`, which also cuts further on in the name."""
    return lambda weights, prefix: {
        name.replace(f"{prefix}.", ""): w for name, w in weights.items() if begins(name, prefix)
    }


ANYWHERE = "the prefix may stand anywhere in the name. It must be the beginning: `attention.` is in "
ANYWHERE += "`around_attention.norm.bias`, too."
DOT = "with twelve blocks, `encoder.blocks.1` also finds block 10 and block 11. Ask for the prefix *and* the "
DOT += "dot behind it."
PARTS_OF = PlainExercise(
    name="parts_of",
    lesson=TOPIC,
    inputs=("weights", "prefix"),
    reference=library.parts_of,
    by_hand=ByHand(
        inputs={
            "weights": {"encoder.0.w": torch.tensor([1.0]), "encoder.1.w": torch.tensor([2.0])},
            "prefix": "encoder.1",
        },
        answer={"w": torch.tensor([2.0])},
        says="Only the second name begins with `encoder.1.`; without that beginning it is called `w`.",
    ),
    others=(
        lambda: (names_of(3), "encoder.blocks.2"),
        lambda: (names_of(12), "encoder.blocks.1"),
        lambda: (names_of(2), "encoder"),
        lambda: (names_of(2), "decoder"),
        lambda: (names_of(11), "encoder.blocks.10"),
        lambda: (block_names(), "attention"),
        lambda: ({"a.b.a.b.w": torch.tensor([1.0]), "a.b.w": torch.tensor([2.0])}, "a.b"),
    ),
    slips=(
        Slip(
            "dot-forgotten",
            lambda weights, prefix: {
                name[len(prefix) + 1 :]: w for name, w in weights.items() if name.startswith(prefix)
            },
            DOT,
        ),
        Slip("dot-forgotten-replaced", replaced(str.startswith), DOT),
        Slip(
            "replaced-everywhere",
            replaced(lambda name, prefix: name.startswith(f"{prefix}.")),
            "`replace` cuts the prefix out wherever it stands in the name. Cut it off the beginning alone.",
        ),
        Slip(
            "whole-names",
            lambda weights, prefix: {name: w for name, w in weights.items() if name.startswith(f"{prefix}.")},
            "the right weights, but under their long names. Cut the prefix and its dot off.",
        ),
        Slip(
            "leading-dot",
            lambda weights, prefix: {
                name[len(prefix) :]: w for name, w in weights.items() if name.startswith(f"{prefix}.")
            },
            "the names begin with a dot. Cut one character more.",
        ),
        Slip(
            "last-piece-only",
            lambda weights, prefix: {
                name.split(".")[-1]: w for name, w in weights.items() if name.startswith(f"{prefix}.")
            },
            "only the last piece of each name is left, so two names can become one. Keep all that follows "
            "the prefix.",
        ),
        Slip("everywhere-in-the-name", replaced(lambda name, prefix: prefix in name), ANYWHERE),
        Slip("anywhere-with-its-dot", replaced(lambda name, prefix: f"{prefix}." in name), ANYWHERE),
        Slip(
            "anywhere-by-split",
            lambda weights, prefix: {
                name.split(f"{prefix}.", 1)[1]: w for name, w in weights.items() if f"{prefix}." in name
            },
            ANYWHERE,
        ),
    ),
)


# ---- words in


def scaled_together(tokens, table):
    n, d_model = tokens.shape[1], table.shape[1]
    return (table[tokens] + sinusoids(n, d_model)) * d_model**0.5


def words_in(tokens: Tensor, table: Tensor, *, times: Callable[[int], float] = math.sqrt, places=True):
    n, width = tokens.shape[1], table.shape[1]
    return table[tokens] * times(width) + (sinusoids(n, width) if places else 0)


def embed_case(batch: int, n: int, vocab: int, width: int, seed: int) -> Callable[[], tuple]:
    tokens = torch.randint(vocab, (batch, n), generator=torch.Generator("cpu").manual_seed(seed))
    return lambda: (tokens.clone(), random(vocab, width, seed=seed) / math.sqrt(width))


EMBED = PlainExercise(
    name="embed",
    lesson=TOPIC,
    inputs=("tokens", "table"),
    reference=library.embed,
    unrepaired=scaled_together,
    by_hand=ByHand(
        inputs={
            "tokens": torch.tensor([[1, 0]]),
            "table": torch.tensor([[0.0, 0.0, 0.0, 0.0], [1.0, 2.0, 3.0, 4.0]]),
        },
        answer=torch.tensor(
            [[[2.0, 5.0, 6.0, 9.0], [math.sin(1), math.cos(1), math.sin(0.01), math.cos(0.01)]]]
        ),
        says="Width 4, and √4 = 2. The first word is row 1: 2 · (1, 2, 3, 4) = (2, 4, 6, 8), plus position "
        "0, (0, 1, 0, 1): (2, 5, 6, 9). The second word is row 0, all zeros: its position alone.",
    ),
    others=(embed_case(2, 5, 9, 8, 0), embed_case(3, 4, 6, 16, 1), embed_case(1, 1, 3, 2, 2)),
    slips=(
        Slip(
            "no-root",
            partial(words_in, times=lambda width: 1.0),
            "the rows of the table come in as they are. They are multiplied by √d_model first.",
        ),
        Slip(
            "times-d-model",
            partial(words_in, times=float),
            "the rows are multiplied by d_model. Take its root.",
        ),
        Slip(
            "divided",
            partial(words_in, times=lambda width: width**-0.5),
            "the rows are *divided* by √d_model. That is done to the scores of attention; words are "
            "multiplied.",
        ),
        Slip(
            "no-positions",
            partial(words_in, places=False),
            "no positions are added: *cat bites dog* is *dog bites cat*.",
        ),
        Slip(
            "one-position",
            lambda tokens, table: table[tokens] * math.sqrt(table.shape[1]) + sinusoids(1, table.shape[1]),
            "every word gets position 0. Take as many rows of `sinusoids` as there are words.",
        ),
    ),
)


# ---- what the lesson lends: a frame of the library's, with the learner's own parts in it


def quietly(*names: str) -> list[Callable]:
    from course_lib.teaching import yours  # not above: it is made of the exercises, and so of this file

    with redirect_stdout(io.StringIO()):
        return [yours(name) for name in names]


def lent_encoder(source, weights, n_heads, n_layers, may_look=None):
    embed, parts_of, block, norm = quietly("embed", "parts_of", "encoder_block", "layer_norm")
    x = embed(source, weights["words.output.weight"])
    for layer in range(n_layers):
        x = block(x, parts_of(weights, f"encoder.blocks.{layer}"), n_heads, may_look)
    last = parts_of(weights, "encoder.last_norm")
    return norm(x, weight=last["weight"], bias=last["bias"])


def lent_decoder(target, memory, weights, n_heads, n_layers, may_look=None):
    embed, parts_of, block, norm = quietly("embed", "parts_of", "decoder_block", "layer_norm")
    x = embed(target, weights["words.output.weight"])
    for layer in range(n_layers):
        x = block(x, memory, parts_of(weights, f"decoder.blocks.{layer}"), n_heads, may_look)
    last = parts_of(weights, "decoder.last_norm")
    x = norm(x, weight=last["weight"], bias=last["bias"])
    return x @ weights["words.output.weight"].T + weights["words.output.bias"]


def lent_block(x, memory, parts, n_heads, may_look=None):
    many_heads, feed_forward, norm = quietly("many_heads", "feed_forward", "layer_norm")

    def seen(x: Tensor, name: str) -> Tensor:
        weight, bias = (parts[f"around_{name}.norm.{kind}"] for kind in ("weight", "bias"))
        return norm(x, weight=weight, bias=bias)

    def look(x: Tensor, source: Tensor, name: str, mask: Tensor | None) -> Tensor:
        matrices = [parts[f"{name}.w_{kind}"].T for kind in ("query", "key", "value", "output")]
        return many_heads(x, source, *matrices, n_heads, mask)[0]

    asking = seen(x, "attention")
    x = x + look(asking, asking, "attention", library.causal(x.shape[1]))
    x = x + look(seen(x, "cross"), memory, "cross", may_look)
    names = (("w_in", "inner.weight"), ("b_in", "inner.bias"))
    names += (("w_out", "outer.weight"), ("b_out", "outer.bias"))
    inner = {own: parts[f"feed_forward.{name}"] for own, name in names}
    return x + feed_forward(seen(x, "feed_forward"), **inner)


# ---- the encoder


def shapes_of(where: str, d: int, d_ff: int, *, crosses: bool) -> dict[str, tuple[int, ...]]:
    looks = ("attention", "cross") if crosses else ("attention",)
    shapes = {
        f"{where}.{look}.w_{kind}": (d, d) for look in looks for kind in ("query", "key", "value", "output")
    }
    for around in (*looks, "feed_forward"):
        shapes |= {f"{where}.around_{around}.norm.{kind}": (d,) for kind in ("weight", "bias")}
    shapes |= {f"{where}.feed_forward.inner.weight": (d_ff, d), f"{where}.feed_forward.inner.bias": (d_ff,)}
    return shapes | {
        f"{where}.feed_forward.outer.weight": (d, d_ff),
        f"{where}.feed_forward.outer.bias": (d,),
    }


def make_weights(vocab: int, d: int, n_layers: int, seed: int) -> dict[str, Tensor]:
    """A whole Transformer, untrained, under the names of the shipped one."""
    shapes: dict[str, tuple[int, ...]] = {"words.output.weight": (vocab, d), "words.output.bias": (vocab,)}
    for side in ("encoder", "decoder"):
        for layer in range(n_layers):
            where = f"{side}.blocks.{layer}"
            shapes |= shapes_of(where, d, 2 * d + 1, crosses=side == "decoder")
        shapes |= {f"{side}.last_norm.{kind}": (d,) for kind in ("weight", "bias")}
    return {name: random(*shape, seed=seed + i) / 2 for i, (name, shape) in enumerate(shapes.items())}


def hand_weights() -> dict[str, Tensor]:
    """Width 2, one layer, matrices so plain that a word can be followed on paper."""
    eye, none, one, root = torch.eye(2), torch.zeros(2), torch.ones(2), math.sqrt(2)
    made = {"words.output.weight": torch.tensor([[1 / root, 2 / root], [2.0, 5.0]])}
    made["words.output.bias"] = torch.tensor([0.0, 10.0])
    for side in ("encoder", "decoder"):
        for name, shape in shapes_of(f"{side}.blocks.0", 2, 2, crosses=side == "decoder").items():
            made[name] = eye if len(shape) == 2 else one if name.endswith("norm.weight") else none
        made[f"{side}.blocks.0.attention.w_output"] = 2 * eye
        made |= {f"{side}.last_norm.weight": one, f"{side}.last_norm.bias": none}
    return {name: w.clone() for name, w in made.items()}


def padded(batch: int, n: int) -> Tensor:
    """The last sentence has no padding, the first the most, for that is the one shown: (batch, 1, 1, n)."""
    return (torch.arange(n) < n - torch.arange(batch).flip(0)[:, None])[:, None, None]


def tokens_of(batch: int, n: int, vocab: int, seed: int) -> Tensor:
    return torch.randint(vocab, (batch, n), generator=torch.Generator("cpu").manual_seed(seed))


def encoded(source, weights, n_heads, n_layers, may_look=None, *, wiring: Wiring = RIGHT):
    sizes = {"n_heads": n_heads, "n_layers": n_layers, "may_look": may_look, "wiring": wiring}
    return library.encoder_stages(source, weights, **sizes)[0]["memory"]


def encoder_case(batch: int, n: int, d: int, n_heads: int, n_layers: int, seed: int) -> Callable[[], tuple]:
    mask = padded(batch, n) if batch > 1 else None
    return lambda: (tokens_of(batch, n, 7, seed), make_weights(7, d, n_layers, seed), n_heads, n_layers, mask)


def one_block_again(source, weights, n_heads, n_layers, may_look=None):
    first = library.parts_of(weights, "encoder.blocks.0")
    again = {f"encoder.blocks.{i}.{name}": w for i in range(n_layers) for name, w in first.items()}
    return encoded(source, weights | again, n_heads, n_layers, may_look)


def norm_in_between(source, weights, n_heads, n_layers, may_look=None):
    x = library.embed(source, weights["words.output.weight"])
    for layer in range(n_layers):
        parts = library.parts_of(weights, f"encoder.blocks.{layer}")
        x, _ = library.block(x, parts, n_heads=n_heads, own=may_look)
        x = library.norm(x, weights, "encoder.last_norm")
    return x


def decoders_norm(source, weights, n_heads, n_layers, may_look=None):
    x = library.encoder_stages(source, weights, n_heads=n_heads, n_layers=n_layers, may_look=may_look)[0]
    return library.norm(x[f"encoder {n_layers - 1}"], weights, "decoder.last_norm")


def layers_reversed(source, weights, n_heads, n_layers, may_look=None):
    turned = {
        f"encoder.blocks.{n_layers - 1 - i}.{name}": w
        for i in range(n_layers)
        for name, w in library.parts_of(weights, f"encoder.blocks.{i}").items()
    }
    return encoded(source, weights | turned, n_heads, n_layers, may_look)


ENCODE_SOURCE = PlainExercise(
    name="encode_source",
    lesson=TOPIC,
    inputs=("source", "weights", "n_heads", "n_layers", "may_look"),
    reference=encoded,
    library=lent_encoder,
    by_hand=ByHand(
        inputs={
            "source": torch.tensor([[0]]),
            "weights": hand_weights(),
            "n_heads": 1,
            "n_layers": 1,
            "may_look": None,
        },
        answer=torch.tensor([[[-1.0, 1.0]]]),
        says="Row 0 of the table is (0.707, 1.414); times √2, (1, 2); plus position 0, (0, 1): (1, 3). One "
        "block makes (−1, 6) of it, as in lesson 13. The last norm: mean 2.5, distances ∓3.5, so (−1, 1).",
    ),
    others=(
        encoder_case(1, 5, 8, 2, 2, seed=0),
        encoder_case(3, 4, 6, 3, 3, seed=100),
        encoder_case(2, 3, 4, 1, 1, seed=200),
    ),
    slips=(
        Slip(
            "no-last-norm",
            partial(encoded, wiring=Wiring(last_norm=False)),
            "the last norm is missing. Pre-norm blocks hand on sums that grow; `encoder.last_norm` comes "
            "after the last block.",
        ),
        Slip(
            "ignores-mask",
            partial(encoded, wiring=Wiring(masked=False)),
            "`may_look` changes nothing: words look at padding. Hand it to every block.",
        ),
        Slip(
            "no-root",
            partial(encoded, wiring=Wiring(scaled=False)),
            "the words come in without √d_model. Use your `embed`.",
        ),
        Slip(
            "one-block-again",
            one_block_again,
            "every layer uses the weights of block 0. Block `i` has its own: `encoder.blocks.{i}`.",
        ),
        Slip(
            "norm-in-between",
            norm_in_between,
            "the last norm comes after every block. It comes once, after the last one.",
        ),
        Slip(
            "decoders-norm",
            decoders_norm,
            "the *decoder's* last norm is used at the end. The encoder has its own.",
        ),
        Slip("layers-reversed", layers_reversed, "the blocks come in the wrong order: 0 is the first."),
        Slip(
            "first-block-only",
            lambda source, weights, n_heads, n_layers, may_look=None: encoded(
                source, weights, n_heads, 1, may_look
            ),
            "only one block is used. There are `n_layers`.",
        ),
    ),
)


# ---- the decoder's block


def decoder(x, memory, parts, n_heads, may_look=None, *, ahead: int = 0):
    own = library.causal(x.shape[1], ahead)
    return library.block(x, parts, n_heads=n_heads, own=own, memory=memory, may_look=may_look)[0]


def mask_ignored(x, memory, parts, n_heads, may_look=None):
    return decoder(x, memory, parts, n_heads)


def decoder_parts(d: int, seed: int) -> dict[str, Tensor]:
    shapes = shapes_of("b", d, 2 * d + 1, crosses=True)
    return {name[2:]: random(*shape, seed=seed + i) / 2 for i, (name, shape) in enumerate(shapes.items())}


def decoder_case(batch: int, m: int, n: int, d: int, n_heads: int, seed: int) -> Callable[[], tuple]:
    mask = padded(batch, n) if batch > 1 else None
    x, memory = random(batch, m, d, seed=seed), random(batch, n, d, seed=seed + 1)
    return lambda: (x.clone(), memory.clone(), decoder_parts(d, seed + 10), n_heads, mask)


def memory_normed(x, memory, parts, n_heads, may_look=None):
    return decoder(x, library.norm(memory, parts, "around_cross.norm"), parts, n_heads, may_look)


def same_matrices(x, memory, parts, n_heads, may_look=None):
    kinds = ("query", "key", "value", "output")
    return decoder(
        x,
        memory,
        parts | {f"cross.w_{kind}": parts[f"attention.w_{kind}"] for kind in kinds},
        n_heads,
        may_look,
    )


def no_self(x, memory, parts, n_heads, may_look=None):
    silent = torch.zeros_like(parts["attention.w_output"])
    return decoder(x, memory, parts | {"attention.w_output": silent}, n_heads, may_look)


def no_cross(x, memory, parts, n_heads, may_look=None):
    silent = torch.zeros_like(parts["cross.w_output"])
    return decoder(x, memory, parts | {"cross.w_output": silent}, n_heads, may_look)


def looks_ahead_only(x, memory, parts, n_heads, may_look=None):
    own = library.causal(x.shape[1]).T
    return library.block(x, parts, n_heads=n_heads, own=own, memory=memory, may_look=may_look)[0]


def not_turned(x, memory, parts, n_heads, may_look=None):
    turned = {name: w.T if ".w_" in name else w for name, w in parts.items()}
    return decoder(x, memory, turned, n_heads, may_look)


def in_steps(
    x, memory, parts, n_heads, may_look=None, *,
    order=("attention", "cross"), across="memory", path_normed=False, post_norm=False,
):  # fmt: skip
    """The block once more, with ways to get it wrong: `across` may be "itself" or "causal", too."""
    causal = library.causal(x.shape[1])
    rectangle = torch.ones(x.shape[1], memory.shape[1], dtype=torch.bool).tril()

    def layer(seen, name):
        if name == "feed_forward":
            return thought(seen, library.parts_of(parts, "feed_forward"))
        source, mask = (seen, causal)
        if name == "cross":
            source = seen if across == "itself" else memory
            mask = {"memory": may_look, "itself": None, "causal": rectangle}[across]
        return library.look(seen, source, parts, name, n_heads=n_heads, may_look=mask)[0]

    for name in (*order, "feed_forward"):
        norm_of = partial(library.norm, parts=parts, name=f"around_{name}.norm")
        if post_norm:
            x = norm_of(x + layer(x, name))
        else:
            seen = norm_of(x)
            x = (seen if path_normed else x) + layer(seen, name)
    return x


def thought(x: Tensor, parts: dict[str, Tensor]) -> Tensor:
    wide = torch.relu(x @ parts["inner.weight"].T + parts["inner.bias"])
    return wide @ parts["outer.weight"].T + parts["outer.bias"]


def keys_for_values(x, memory, parts, n_heads, may_look=None):
    swapped = {"cross.w_key": parts["cross.w_value"], "cross.w_value": parts["cross.w_key"]}
    return decoder(x, memory, parts | swapped, n_heads, may_look)


def norm_of_the_first_look(x, memory, parts, n_heads, may_look=None):
    kinds = ("weight", "bias")
    taken = {f"around_cross.norm.{kind}": parts[f"around_attention.norm.{kind}"] for kind in kinds}
    return decoder(x, memory, parts | taken, n_heads, may_look)


HAND = library.parts_of(hand_weights(), "decoder.blocks.0")
DECODER_BLOCK = PlainExercise(
    name="decoder_block",
    lesson=TOPIC,
    inputs=("x", "memory", "parts", "n_heads", "may_look"),
    reference=decoder,
    library=lent_block,
    by_hand=ByHand(
        inputs={
            "x": torch.tensor([[[1.0, 3.0]]]),
            "memory": torch.tensor([[[4.0, 0.0]]]),
            "parts": HAND,
            "n_heads": 1,
            "may_look": None,
        },
        answer=torch.tensor([[[3.0, 6.0]]]),
        says="The word (1, 3), normalised (−1, 1), looks at itself alone and hears (−2, 2): (−1, 5). Across, "
        "there is one word of memory, (4, 0): whatever is asked, that is heard. (3, 5). Normalised: (−1, 1), "
        "bent to (0, 1). Added: (3, 6).",
    ),
    others=(
        decoder_case(1, 4, 5, 8, 2, seed=0),
        decoder_case(3, 5, 4, 6, 3, seed=100),
        decoder_case(2, 3, 3, 4, 1, seed=200),
    ),
    slips=(
        Slip(
            "no-causal-mask",
            partial(decoder, ahead=99),
            "its words see later words. The first look needs the causal mask: `tril`.",
        ),
        Slip(
            "sees-the-next",
            partial(decoder, ahead=1),
            "each word sees the next one. `tril()` without a number keeps the diagonal and below.",
        ),
        Slip("looks-ahead-only", looks_ahead_only, "the causal mask is turned round: `tril`, not `triu`."),
        Slip(
            "cross-from-itself",
            partial(in_steps, across="itself"),
            "keys and values of the second look are made from `x`, so the source is never seen. They come "
            "from `memory`.",
            misconception="M14",
        ),
        Slip(
            "causal-across",
            partial(in_steps, across="causal"),
            "the causal mask lies on the look across, too. The source is known from the start: only "
            "`may_look` counts there.",
            misconception="M25",
        ),
        Slip(
            "memory-normed",
            memory_normed,
            "the memory goes through `around_cross.norm`. It comes out of the encoder's last norm already; "
            "only the words that ask are normalised here.",
        ),
        Slip(
            "ignores-mask",
            mask_ignored,
            "`may_look` changes nothing: padding of the source is looked at. Hand it to the second look.",
        ),
        Slip(
            "same-matrices",
            same_matrices,
            "both looks use the matrices of `attention`. The look across has its own: `cross.w_query` and so "
            "on.",
        ),
        Slip(
            "not-turned",
            not_turned,
            "the matrices of the looks are not turned: `many_heads` wants each as `.T`. (By hand nobody "
            "notices: there they are the same turned round.)",
        ),
        Slip(
            "diagonal-closed",
            partial(decoder, ahead=-1),
            "no word may look at itself. The causal mask keeps the diagonal: j ≤ i.",
        ),
        Slip(
            "cross-first",
            partial(in_steps, order=("cross", "attention")),
            "the look across comes first. Its own past comes before it.",
        ),
        Slip(
            "path-normed",
            partial(in_steps, path_normed=True),
            "the *normalised* words are added. The path takes x as it came: `x + layer(norm(x))`.",
        ),
        Slip(
            "keys-for-values",
            keys_for_values,
            "across, keys and values have changed places. The order is query, key, value, output.",
        ),
        Slip(
            "norm-of-the-first-look",
            norm_of_the_first_look,
            "the look across uses the norm of the first look. It has its own: `around_cross.norm`.",
        ),
        Slip("no-self-attention", no_self, "the decoder's words never look at one another."),
        Slip("no-cross-attention", no_cross, "the memory changes nothing: the look across is missing."),
        Slip(
            "post-norm",
            partial(in_steps, post_norm=True),
            "the norms come after the additions. Here each comes before its layer, as in lesson 13.",
        ),
    ),
)


# ---- the test of it

TESTED = decoder_parts(8, seed=500)


def with_weights_inside(block: Callable) -> Callable:
    return lambda x, memory: block(x, memory, TESTED, 2)


def word_by_word(x, memory):
    """Each word from its beginning alone: whoever cannot see ahead needs no mask."""
    return torch.cat([decoder(x[:, : t + 1], memory, TESTED, 2)[:, -1:] for t in range(x.shape[1])], dim=1)


def careful_test(block: Callable) -> None:
    x, memory = random(1, 5, 8, seed=1), random(1, 6, 8, seed=2)
    before = block(x, memory)
    for place in range(1, 5):
        other = x.clone()
        other[:, place] = random(8, seed=place)
        after = block(other, memory)
        assert torch.allclose(before[:, :place], after[:, :place], atol=1e-5)
        assert not torch.allclose(before[:, -1], after[:, -1], atol=1e-5)
    for place in range(6):
        other = memory.clone()
        other[:, place] += 1
        assert not torch.allclose(before[:, 0], block(x, other)[:, 0], atol=1e-5)


TEST_DECODER = TestExercise(
    name="test_decoder",
    lesson=TOPIC,
    inputs={"block": "a function"},
    of=replace(
        DECODER_BLOCK,
        name="block",
        inputs=("x", "memory"),
        reference=with_weights_inside(decoder),
        slips=tuple(replace(slip, wrong=with_weights_inside(slip.wrong)) for slip in DECODER_BLOCK.slips),
    ),
    what="decoder block",
    accepts={"word by word, without a mask": word_by_word},
    rejects={
        "no-causal-mask": "lets every word see all words of the target",
        "sees-the-next": "lets each word see the next one",
        "looks-ahead-only": "looks ahead and not back",
        "cross-from-itself": "never looks at the memory",
        "causal-across": "hides the end of the source from the first words",
    },
    reference=careful_test,
)


# ---- the logits


def decoded(target, memory, weights, n_heads, n_layers, may_look=None, *, wiring: Wiring = RIGHT):
    sizes = {"n_heads": n_heads, "n_layers": n_layers, "may_look": may_look, "wiring": wiring}
    return library.decoder_stages(target, memory, weights, **sizes)[0]["logits"]


def decode_case(batch: int, m: int, n: int, d: int, n_heads: int, n_layers: int, seed: int):
    mask = padded(batch, n) if batch > 1 else None
    memory = random(batch, n, d, seed=seed + 1)
    return lambda: (
        tokens_of(batch, m, 7, seed),
        memory.clone(),
        make_weights(7, d, n_layers, seed),
        n_heads,
        n_layers,
        mask,
    )


def as_softmax(*given):
    return decoded(*given).softmax(-1)


def scaled_out(target, memory, weights, n_heads, n_layers, may_look=None):
    bias = weights["words.output.bias"]
    bare = decoded(target, memory, weights, n_heads, n_layers, may_look) - bias
    return bare * math.sqrt(memory.shape[-1]) + bias


def encoders_norm(target, memory, weights, n_heads, n_layers, may_look=None):
    swapped = {
        f"decoder.last_norm.{kind}": weights[f"encoder.last_norm.{kind}"] for kind in ("weight", "bias")
    }
    return decoded(target, memory, weights | swapped, n_heads, n_layers, may_look)


DECODE_LOGITS = PlainExercise(
    name="decode_logits",
    lesson=TOPIC,
    inputs=("target", "memory", "weights", "n_heads", "n_layers", "may_look"),
    reference=decoded,
    library=lent_decoder,
    by_hand=ByHand(
        inputs={
            "target": torch.tensor([[0]]),
            "memory": torch.tensor([[[4.0, 0.0]]]),
            "weights": hand_weights(),
            "n_heads": 1,
            "n_layers": 1,
            "may_look": None,
        },
        answer=torch.tensor([[[1 / math.sqrt(2), 13.0]]]),
        says="The word comes in as (1, 3), and the block makes (3, 6) of it. Last norm: (−1, 1). Its dot "
        "product with row 0 of the table, (0.707, 1.414), is 0.707, plus bias 0; with row 1, (2, 5), it is "
        "3, plus 10.",
    ),
    others=(
        decode_case(1, 4, 5, 8, 2, 2, seed=0),
        decode_case(3, 3, 4, 6, 3, 3, seed=100),
        decode_case(2, 2, 3, 4, 1, 1, seed=200),
    ),
    slips=(
        Slip(
            "no-bias",
            partial(decoded, wiring=Wiring(bias=False)),
            "the output's bias is missing. The paper's tied output has none; ours has: `words.output.bias`.",
        ),
        Slip(
            "no-last-norm",
            partial(decoded, wiring=Wiring(last_norm=False)),
            "the last norm is missing: `decoder.last_norm`, before the table.",
        ),
        Slip(
            "encoders-norm",
            encoders_norm,
            "the *encoder's* last norm is used at the end. The decoder has its own.",
        ),
        Slip(
            "ignores-mask",
            partial(decoded, wiring=Wiring(masked=False)),
            "`may_look` changes nothing. Hand it to every block.",
        ),
        Slip(
            "softmax",
            as_softmax,
            "these are shares, after a softmax. Logits are asked for: whoever uses them takes the softmax.",
            misconception="M29",
        ),
        Slip(
            "scaled-at-the-end",
            scaled_out,
            "√d_model comes in at the output, too. It belongs to the words that come in.",
        ),
        Slip(
            "no-root",
            partial(decoded, wiring=Wiring(scaled=False)),
            "the words come in without √d_model. Use your `embed`.",
        ),
    ),
)


# ---- where two runs part


def parting(mine, theirs, tolerance):
    for name, expected in theirs.items():
        if not (mine[name] - expected).abs().max() <= tolerance:
            return name
    return "nowhere"


def last_parting(mine, theirs, tolerance):
    return next(
        (name for name in reversed(theirs) if parting(mine, {name: theirs[name]}, tolerance) == name),
        "nowhere",
    )


def largest(mine, theirs, tolerance):
    gaps = {name: (mine[name] - theirs[name]).abs().max().item() for name in theirs}
    name = max(gaps, key=gaps.get)
    return name if gaps[name] > tolerance else "nowhere"


def signed(mine, theirs, tolerance):
    return next((name for name in theirs if (mine[name] - theirs[name]).max() > tolerance), "nowhere")


def nan_passes(mine, theirs, tolerance):
    return next((name for name in theirs if (mine[name] - theirs[name]).abs().max() > tolerance), "nowhere")


def in_the_mean(mine, theirs, tolerance):
    return next(
        (name for name in theirs if not (mine[name] - theirs[name]).abs().mean() <= tolerance), "nowhere"
    )


def relative_too(mine, theirs, tolerance):
    for name in theirs:
        if not torch.allclose(mine[name], theirs[name], atol=tolerance):
            return name
    return "nowhere"


def by_equal(mine, theirs, tolerance):
    return next((name for name in theirs if not torch.equal(mine[name], theirs[name])), "nowhere")


def run(changes: dict[str, float], *, nan: bool = False) -> Callable[[], tuple]:
    names = ("words", "block 0", "block 1", "norm", "logits")

    def make() -> tuple:
        theirs = {name: random(2, 3, 4, seed=i) for i, name in enumerate(names)}
        mine = {name: states.clone() for name, states in theirs.items()}
        for name, change in changes.items():
            mine[name][1, 2, 3] += float("nan") if nan and change else change
        return mine, theirs, 1e-4

    return make


def at_large_numbers() -> tuple:
    """Off by more than is allowed, and by little for its size."""
    theirs = {name: torch.full((2, 3), 1000.0) for name in ("words", "block", "out")}
    mine = theirs | {"block": theirs["block"] + 0.015, "out": theirs["out"] + 9.0}
    return mine, theirs, 0.01


def small_everywhere() -> tuple:
    """No number is off by more than is allowed; all together are."""
    theirs = {name: random(4, 6, seed=i) for i, name in enumerate(("words", "out"))}
    return {name: numbers + 5e-5 for name, numbers in theirs.items()}, theirs, 1e-4


def in_the_first_number() -> tuple:
    theirs = {name: random(2, 3, 4, seed=i) for i, name in enumerate(("words", "out"))}
    mine = {name: numbers.clone() for name, numbers in theirs.items()}
    mine["words"][0, 0, 0] += 0.1
    return mine, theirs, 1e-4


FIRST_DIFFERENCE = PlainExercise(
    name="first_difference",
    lesson=TOPIC,
    inputs=("mine", "theirs", "tolerance"),
    reference=parting,
    by_hand=ByHand(
        inputs={
            "mine": {
                "words": torch.tensor([1.0]),
                "block": torch.tensor([2.0, 5.0]),
                "out": torch.tensor([9.0]),
            },
            "theirs": {
                "words": torch.tensor([1.0]),
                "block": torch.tensor([2.0, 6.0]),
                "out": torch.tensor([3.0]),
            },
            "tolerance": 0.1,
        },
        answer="block",
        says="`words` agrees. In `block` one number is 1 off, more than 0.1. What comes after is no news.",
    ),
    others=(
        run({}),
        run({"block 1": -0.3, "norm": 2.0, "logits": 7.0}),
        run({"words": 2e-5, "logits": 1e-3}),
        run({"block 0": 1.0, "block 1": 3.0, "norm": 1.0}, nan=True),
        run({"norm": 3e-4}),
        run({"words": 0.2, "norm": 0.5}),
        at_large_numbers,
        small_everywhere,
        in_the_first_number,
    ),
    slips=(
        Slip("last-one", last_parting, "that is the *last* stage that differs. Stop at the first one."),
        Slip(
            "largest",
            largest,
            "that is the stage that differs *most*. Mistakes grow on their way; the first one is wanted.",
        ),
        Slip(
            "sign-forgotten",
            signed,
            "a number that is too small goes unnoticed. Take the difference without its sign: `.abs()`.",
        ),
        Slip(
            "nan-passes",
            nan_passes,
            "`nan` passes: `nan > tolerance` is False, and so is every comparison with it. Ask the other way "
            "round: `not gap <= tolerance`.",
        ),
        Slip(
            "in-the-mean",
            in_the_mean,
            "the *mean* difference is compared, so one wrong number among many hides. Take the largest.",
        ),
        Slip(
            "relative-too",
            relative_too,
            "a large number may be off by more than `tolerance`: `torch.allclose` also allows a share of the "
            "number, `rtol`. Say `rtol=0`.",
        ),
        Slip(
            "bit-by-bit",
            by_equal,
            "it asks for the same bits. Rounding differs: up to `tolerance` is the same.",
        ),
    ),
)

EXERCISES = (
    PARTS_OF, EMBED, ENCODE_SOURCE, DECODER_BLOCK, TEST_DECODER, DECODE_LOGITS, FIRST_DIFFERENCE,
)  # fmt: skip
