"""Translate sentences with a trained system.

    python3 -m course_lib translate "the cat drank the water because it was thirsty"
    python3 -m course_lib translate --attention "the small cat sleeps"
    python3 -m course_lib translate --checkpoint runs/toy_bahdanau_0 --picture look.png "the small cat sleeps"
    cat sentences.txt | python3 -m course_lib translate > translations.txt

Without a sentence it reads one a line. What is odd about one, such as an unknown word, is said on stderr.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator

from course_lib.cli import checkpoints, look, search
from course_lib.cli.device import find_device
from course_lib.cli.paths import target_path
from course_lib.cli.trouble import Trouble

TOGETHER = 64  # lines of a pipe at a time: enough to keep the machine busy, few enough to see it move
BLOCK = 65536


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "texts", nargs="*", metavar="SENTENCE", help="what to translate; else stdin, a line each"
    )
    checkpoints.add_arguments(parser, several=False)
    search.add_arguments(parser)
    look.add_arguments(parser)


def run(args: argparse.Namespace) -> int:
    check(args)
    picture = None if args.picture is None else target_path(args.picture)
    path = checkpoints.find(args.checkpoint, args.system)
    saved = checkpoints.open_translator(path, device=find_device(args.device))
    looks = look.is_wanted(args, saved)

    from course_lib.translation.translate import translate

    counted = "" if len(args.texts) == 1 else "sentence" if args.texts else "line"
    number = 0
    shown = False
    for texts in sentences(args.texts):
        found = translate(
            texts,
            saved.model,
            saved.tokenizer,
            beam=args.beam,
            length_penalty=args.length_penalty,
            with_weights=looks,
        )
        views = [look.look_of(one, args) if looks else None for one in found]
        for translation, view in zip(found, views, strict=True):
            number += 1
            print(one_line(translation.target), flush=True)
            if args.attention and view is not None:
                print(look.attention_block(translation, *view), end="\n\n", flush=True)
                shown = True
            for note in translation.notes:
                print(f"{counted} {number}: {note}" if counted else f"note: {note}", file=sys.stderr)
    if shown:
        print(look.footer(saved))
    if number == 0:
        print("There was nothing to translate: not one line came.", file=sys.stderr)
    if picture is not None:
        look.draw(picture, translation, view, saved)
    return 0


def check(args: argparse.Namespace) -> None:
    """What can be known to be wrong, or odd, before anything is loaded."""
    search.check(args)
    if args.picture is not None:
        if not args.picture.lower().endswith((".png", ".svg")):
            raise Trouble(f"Expected a picture file, but got {args.picture}.", "Let it end in .png or .svg.")
        if len(args.texts) != 1:
            came = f"{len(args.texts)} of them came" if args.texts else "there is none on the command line"
            raise Trouble(
                f"A picture shows one sentence, but {came}.",
                'Give one in quotes: python3 -m course_lib translate --picture look.png "the cat sleeps"',
            )
    elif not args.attention and (args.layer is not None or args.head is not None):
        raise Trouble(
            "--layer and --head choose whose attention is shown, and none is.",
            "Add --attention or --picture.",
        )
    if len(args.texts) > 1 and all(len(text.split()) == 1 for text in args.texts):
        print(f"{len(args.texts)} sentences of one word each; for one sentence use quotes", file=sys.stderr)


# ---- what comes in


def sentences(texts: list[str]) -> Iterator[list[str]]:
    """The sentences of the command line together; else stdin's, as many at a time as have come."""
    if texts:
        yield texts
    elif sys.stdin is None or sys.stdin.closed:
        todo = 'Try: python3 -m course_lib translate "the cat sleeps"'
        raise Trouble("There is nothing to translate.", todo)
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
