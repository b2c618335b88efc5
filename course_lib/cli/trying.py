"""`translate` and `sample`: a trained system tried out, and every attention it has shown.

python3 -m course_lib translate --attention --layer 1 "the small cat sleeps"
python3 -m course_lib sample --system gru_lm "le petit chat"
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from course_lib.cli.door import PROJECT_ROOT, Trouble, called

SHIPPED = PROJECT_ROOT / "data" / "checkpoints"
BEST = "best.safetensors"
GAUSSIAN = "The Gaussian window takes weight away, so a row may add up to less than 1."
WHICH = "--checkpoint takes a .safetensors file or a run's folder, --system NAME what comes with the course."


# ---- a trained system, and the device it runs on


def find_device(name: str | None):
    """The `torch.device` that --device names, or else the usual one, if it is there."""
    import torch

    from course_lib.runtime import device

    try:
        found = torch.device(name) if name else device()
        torch.zeros(1, device=found)  # knowing its name is not having it
    except (RuntimeError, AssertionError, ValueError) as error:
        why = (str(error).splitlines() or ["torch does not say why"])[0]
        raise Trouble(f"The device cannot be used here: {why}", "--device cpu is always there.") from error
    return found


def find_weights(checkpoint: Path | None, system: str | None) -> Path:
    """The file with the weights; a run's folder stands for its best ones."""
    if checkpoint is None:
        return SHIPPED / f"{system}.safetensors"
    return checkpoint / BEST if checkpoint.is_dir() else checkpoint


def open_system(path: Path, device):
    """The `SavedSystem` in a file, and its kind: translator, language model or sentence encoder."""
    from course_lib.models.registry import system
    from course_lib.training.checkpoint import CheckpointError, load_system

    try:
        saved = load_system(path, device=device)
    except CheckpointError as error:
        todo = "`git checkout -- data/checkpoints` brings it back." if path.parent == SHIPPED else WHICH
        raise Trouble(str(error), todo) from error
    return saved, system(saved.name).kind


def open_as(kind: str, args: argparse.Namespace):
    """The system that was asked for, which must be of this kind."""
    path = find_weights(args.checkpoint, args.system)
    saved, found = open_system(path, find_device(args.device))
    if found != kind:
        use = {"translator": "translate", "language model": "sample"}.get(found, "evaluate")
        raise Trouble(f"{path} holds {saved.name}, a {found}.", f"For it there is `{called()} {use}`.")
    if args.attention and not saved.model.attends:
        print(f"{saved.name} has no attention to show.", file=sys.stderr)
    return saved


# ---- translate


def translate(args: argparse.Namespace) -> int:
    from course_lib.translation.attentions import every_attention
    from course_lib.translation.translate import translate

    if args.picture is not None and len(args.texts) != 1:
        args.refuse("--picture shows one sentence: give one, in quotes")
    if len(args.texts) > 1 and all(len(text.split()) == 1 for text in args.texts):
        print(f"{len(args.texts)} sentences of one word each; for one sentence use quotes", file=sys.stderr)
    saved = open_as("translator", args)
    number = 0
    for texts in sentences(args.texts):
        found = translate(
            texts,
            saved.model,
            saved.tokenizer,
            beam=args.beam,
            length_penalty=args.length_penalty,
            with_weights=(args.attention or args.picture is not None) and saved.model.attends,
        )
        for translation in found:
            number += 1
            print("".join(sign if sign.isprintable() else " " for sign in translation.target), flush=True)
            if args.attention and translation.weights is not None:
                show(every_attention(saved.model, saved.tokenizer, translation), saved, args)
            for note in translation.notes:
                where = "note" if len(args.texts) == 1 else f"{'sentence' if args.texts else 'line'} {number}"
                print(f"{where}: {note}", file=sys.stderr)
    if args.picture is not None:
        draw(args.picture, saved, found[0], args)
    return 0


def sentences(texts: list[str]) -> Iterator[list[str]]:
    """The sentences of the command line together; else stdin's lines, as many at a time as have come."""
    if texts:
        yield texts
        return
    if sys.stdin.isatty():
        print("One sentence a line; Ctrl-D ends (on Windows Ctrl-Z, then Enter).", file=sys.stderr)
    kept = b""
    while block := sys.stdin.buffer.read1(65536):  # whoever writes a line and waits for its answer gets it
        *whole, kept = (kept + block).split(b"\n")
        yield [as_text(line) for line in whole]
    if kept:
        yield [as_text(kept)]


def as_text(line: bytes) -> str:
    """What is not UTF-8 becomes the sign for "unknown"; Windows likes to open a file with a mark."""
    return line.decode("utf-8", errors="replace").removeprefix("\ufeff").removesuffix("\r")


def draw(path: Path, saved, translation, args: argparse.Namespace) -> None:
    """Write a picture of where the translation's words looked, whole or not at all."""
    from course_lib.runtime import write_atomically
    from course_lib.translation.translate import printable
    from course_lib.views.attention_map import attention_map, picture_bytes

    if translation.weights is None:
        why = "the sentence is empty" if saved.model.attends else f"{saved.name} has no attention"
        raise Trouble(f"There is nothing to draw: {why}.", "Take another sentence or another system.")
    matrix, which = chosen(translation.weights, args)
    figure = attention_map(
        matrix,
        source=map(printable, translation.source_labels),
        target=map(printable, translation.target_tokens),
        title=f"Where {saved.name} looked",
        notes=[f"cross-attention{which}"] + ([] if saved.model.weights_sum_to_one else [GAUSSIAN]),
    )
    write_atomically(path, picture_bytes(figure, path.suffix.lower()))
    print(f"The picture is in {path}.", file=sys.stderr)


# ---- sample


def sample(args: argparse.Namespace) -> int:
    """Let a language model go on with a text, or begin one."""
    import torch

    from course_lib.text.special import BOS, EOS
    from course_lib.translation.attentions import Attention
    from course_lib.translation.sample import continue_text
    from course_lib.translation.translate import notes_on, plainly

    saved = open_as("language model", args)
    model, tokenizer = saved.model, saved.tokenizer
    text = plainly(args.text, tokenizer)
    for note in notes_on(text, tokenizer) if text else ():
        print(f"note: {note}", file=sys.stderr)
    start = [BOS, *tokenizer.encode(text)]
    room = model.config.max_len - len(start) + 1
    if room < 1:
        raise Trouble(f"The text is too long: {saved.name} reads {model.config.max_len} tokens.", WHICH)
    said = continue_text(
        model,
        torch.tensor([start] * args.n),
        n=min(args.words, room),
        temperature=args.temperature,
        top_k=args.top_k,
        generator=torch.Generator().manual_seed(args.seed),
    )
    for row in said.tolist():
        print(tokenizer.decode([*start[1:], *row]))
        if args.attention and model.attends:
            read = [*start, *row[: row.index(EOS) if EOS in row else -1]]  # what is said last is read no more
            tokens = torch.tensor([read], device=next(model.parameters()).device)
            with torch.inference_mode():
                _, weights = model.decode(tokens, with_weights=True)
            words = tuple(tokenizer.tokens(read))
            show([Attention("self-attention", weights[0].float().cpu(), words, words)], saved, args)
    return 0


# ---- attention


def show(attentions, saved, args: argparse.Namespace) -> None:
    """Print every `Attention` as text, each under its name."""
    from course_lib.translation.attentions import PLAIN_SHADES, SHADES, attention_text, legend

    try:
        SHADES.encode(sys.stdout.encoding or "utf-8")
        shades = SHADES
    except UnicodeEncodeError:  # a Windows pipe, or LANG=C, knows no blocks
        shades = PLAIN_SHADES
    blocks = []
    for one in attentions:
        matrix, which = chosen(one.weights, args)
        blocks.append(f"{one.name}{which}\n{attention_text(matrix, one.columns, one.rows, shades=shades)}")
    notes = [legend(shades)] + ([] if getattr(saved.model, "weights_sum_to_one", True) else [GAUSSIAN])
    print("", "\n\n".join([*blocks, "\n".join(notes)]), sep="\n", end="\n\n", flush=True)


def chosen(weights, args: argparse.Namespace):
    """The weights of one layer (the last) and one head (the mean of all), and which they are, in words."""
    n_layers, n_heads = weights.shape[:2]
    for flag, wanted, n in (("--layer", args.layer, n_layers), ("--head", args.head, n_heads)):
        if wanted is not None and wanted > n:
            raise Trouble(f"{flag} {wanted} is not there: it has {n}.", f"{flag} counts from 1.")
    layer, head = args.layer or n_layers, args.head
    of_layer = f", layer {layer} of {n_layers}" if n_layers > 1 else ""
    of_head = f", head {head} of {n_heads}" if head else f", mean of {n_heads} heads"
    matrix = weights[layer - 1, head - 1] if head else weights[layer - 1].mean(dim=0)
    return matrix, of_layer + (of_head if n_heads > 1 else "")
