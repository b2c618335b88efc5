"""Translate sentences with a trained system.

    course translate "the cat drank the water because it was thirsty"
    course translate --attention "the small cat sleeps"
    course translate --checkpoint runs/toy_bahdanau_0 --picture who_looks_where.png "the small cat sleeps"
    cat sentences.txt | course translate > translations.txt

Without a sentence it reads one a line. What is odd about one, such as an unknown word, is said on stderr.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from course_lib.cli import checkpoints
from course_lib.cli.trouble import Trouble

TOGETHER = 64  # lines of a pipe at a time: enough to keep the machine busy, few enough to see it move
BLOCK = 65536


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "texts", nargs="*", metavar="SENTENCE", help="what to translate; else stdin, a line each"
    )
    checkpoints.add_arguments(parser, several=False)
    parser.add_argument("--beam", type=int, default=1, metavar="N", help="sentences kept open (1: greedy)")
    parser.add_argument("--attention", action="store_true", help="show where each word looked, as text")
    parser.add_argument("--picture", metavar="FILE", help="draw it, as .png or .svg; for one sentence")
    parser.add_argument("--layer", type=int, metavar="N", help="whose attention: this layer's (the last)")
    parser.add_argument("--head", type=int, metavar="N", help="this head's (the mean of all)")


def run(args: argparse.Namespace) -> int:
    check(args)
    saved = checkpoints.open_translator(checkpoints.find(args.checkpoint, args.system), device=args.device)
    looks = args.attention or args.picture is not None
    if looks and not saved.model.attends:
        plain = f"{saved.name} has no attention to show: it never looks back at the source words."
        if args.picture is not None:
            raise Trouble(plain, "Leave --picture out, or take a system that attends, such as bahdanau.")
        print(plain, file=sys.stderr)
        looks = False

    from course_lib.translation.attention_text import LEGEND
    from course_lib.translation.translate import translate

    counted = "" if len(args.texts) == 1 else "sentence" if args.texts else "line"
    number = 0
    for texts in sentences(args.texts):
        found = translate(texts, saved.model, saved.tokenizer, beam=args.beam, with_weights=looks)
        shown = [look_of(one, args) if looks else None for one in found]
        for translation, look in zip(found, shown, strict=True):
            number += 1
            print(one_line(translation.target), flush=True)
            if args.attention and look is not None:
                print(attention_block(translation, *look), end="\n\n", flush=True)
            for note in translation.notes:
                print(f"{counted} {number}: {note}" if counted else f"note: {note}", file=sys.stderr)
    if args.attention and looks and number:
        print(LEGEND)
    if args.picture is not None:
        draw(Path(args.picture).expanduser(), translation, look, saved.name)
    return 0


def check(args: argparse.Namespace) -> None:
    """What can be known to be wrong before anything is loaded."""
    if args.beam < 1:
        raise Trouble(f"Expected a beam of 1 or more, but got {args.beam}.", "--beam 5 is usual.")
    if args.picture is not None:
        if Path(args.picture).suffix.lower() not in (".png", ".svg"):
            raise Trouble(f"Expected a picture file, but got {args.picture}.", "Let it end in .png or .svg.")
        if len(args.texts) != 1:
            came = f"{len(args.texts)} of them came" if args.texts else "there is none on the command line"
            raise Trouble(
                f"A picture shows one sentence, but {came}.",
                'Give one in quotes: course translate --picture look.png "the cat sleeps"',
            )
    elif not args.attention and (args.layer is not None or args.head is not None):
        raise Trouble(
            "--layer and --head choose whose attention is shown, and none is.",
            "Add --attention or --picture.",
        )


# ---- what comes in


def sentences(texts: list[str]) -> Iterator[list[str]]:
    """The sentences of the command line together; else stdin's, as many at a time as have come."""
    if texts:
        yield texts
    elif sys.stdin is None or sys.stdin.closed:
        raise Trouble("There is nothing to translate.", 'Try: course translate "the cat sleeps"')
    elif sys.stdin.isatty():
        print("One sentence a line; Ctrl-D ends (on Windows Ctrl-Z, then Enter).", file=sys.stderr)
        for line in sys.stdin:
            yield [line.rstrip("\r\n")]
    else:
        yield from piped(sys.stdin.fileno())


def piped(descriptor: int) -> Iterator[list[str]]:
    """Lines of a pipe or a file as they come: whoever writes one and waits for its answer gets it.

    Lines end at a newline and nowhere else. What is not UTF-8 becomes `\\ufffd`, the sign for "unknown".
    """
    kept, first = b"", True
    while block := os.read(descriptor, BLOCK):
        *whole, kept = (kept + block).split(b"\n")
        for start in range(0, len(whole), TOGETHER):
            lines = [as_text(line) for line in whole[start : start + TOGETHER]]
            if first:
                lines[0] = lines[0].removeprefix("\ufeff")  # Windows likes to open a file with it
            first = False
            yield lines
    if kept:
        last = as_text(kept)
        yield [last.removeprefix("\ufeff") if first else last]


def as_text(line: bytes) -> str:
    return line.removesuffix(b"\r").decode("utf-8", errors="replace")


# ---- what goes out


def one_line(text: str) -> str:
    """A translation is one line, and nothing in it moves the cursor."""
    return "".join(sign if sign.isprintable() else " " for sign in text)


def look_of(translation, args: argparse.Namespace):
    """The weights to show of a `Translation`, (tgt, src), and what they are; None where nothing was read."""
    weights = translation.weights
    if weights is None:
        return None
    n_layers, n_heads = weights.shape[:2]
    layer = chosen(args.layer, n_layers, "layer", usual=n_layers)
    of_layer = f"layer {layer} of {n_layers}" if n_layers > 1 else ""
    if args.head is None:
        of_head = f"mean of {n_heads} heads" if n_heads > 1 else ""
        matrix = weights[layer - 1].mean(dim=0)
    else:
        head = chosen(args.head, n_heads, "head", usual=1)
        of_head = f"head {head} of {n_heads}" if n_heads > 1 else ""
        matrix = weights[layer - 1, head - 1]
    return matrix, ", ".join(part for part in (of_layer, of_head) if part)


def chosen(wanted: int | None, n: int, what: str, *, usual: int) -> int:
    if wanted is not None and not 1 <= wanted <= n:
        there = f"from 1 to {n}" if n > 1 else "1, for there is no other"
        raise Trouble(f"Expected --{what} to be {there}, but got {wanted}.", f"Or leave --{what} out.")
    return usual if wanted is None else wanted


def attention_block(translation, matrix, which: str) -> str:
    from course_lib.translation.attention_text import attention_text

    width = max(shutil.get_terminal_size((100, 24)).columns, 40)
    table = attention_text(matrix, translation.source_tokens, translation.target_tokens, width=width)
    return f"\n{which}\n{table}" if which else f"\n{table}"


def draw(path: Path, translation, look, name: str) -> None:
    """Write the picture file, whole or not at all."""
    from course_lib.runtime import write_atomically
    from course_lib.translation.notes import printable
    from course_lib.views.attention_map import attention_map, picture_bytes

    if look is None:
        raise Trouble("There is nothing to draw: the sentence is empty.", "Give one with words in it.")
    matrix, which = look
    figure = attention_map(
        matrix,
        source=map(printable, translation.source_tokens),
        target=map(printable, translation.target_tokens),
        title=f"{name}: {which}" if which else name,
    )
    try:
        write_atomically(path, picture_bytes(figure, path.suffix.lower()))
    except OSError as error:
        raise Trouble(
            f"{path} cannot be written: {error}", "Choose another place for the picture."
        ) from error
    print(f"The picture is in {path}.", file=sys.stderr)
