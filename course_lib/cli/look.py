"""Where each word looked, of one translation: which weights to show, as text or as a picture."""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from course_lib.cli.paths import unwritable
from course_lib.cli.trouble import Trouble

BELL = "The bell of a local window takes weight away, so a row may add up to less than 1."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--attention", action="store_true", help="show where each word looked, as text")
    parser.add_argument("--picture", metavar="FILE", help="draw it, as .png or .svg; for one sentence")
    parser.add_argument("--layer", type=int, metavar="N", help="whose attention: this layer's (the last)")
    parser.add_argument("--head", type=int, metavar="N", help="this head's (the mean of all)")


def is_wanted(args: argparse.Namespace, saved) -> bool:
    """Whether attention is to be shown; a `SavedSystem` that has none may still translate."""
    if not args.attention and args.picture is None:
        return False
    if saved.model.attends:
        return True
    plain = f"{saved.name} has no attention to show: it never looks back at the source words."
    flags = ("--picture", args.picture), ("--layer", args.layer), ("--head", args.head)
    if vain := " and ".join(flag for flag, value in flags if value is not None):
        raise Trouble(plain, f"Leave {vain} out, or take a system that attends, such as bahdanau.")
    print(plain, file=sys.stderr)
    return False


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


# ---- as text


def shades() -> str:
    """Those that the output can show: a Windows pipe, or LANG=C, knows no blocks."""
    from course_lib.translation.attention_text import PLAIN_SHADES, SHADES

    try:
        SHADES.encode(sys.stdout.encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return PLAIN_SHADES
    return SHADES


def attention_block(translation, matrix, which: str) -> str:
    from course_lib.translation.attention_text import attention_text

    width = max(shutil.get_terminal_size((100, 24)).columns, 40)
    table = attention_text(
        matrix, translation.source_labels, translation.target_tokens, width=width, shades=shades()
    )
    return f"\n{which}\n{table}" if which else f"\n{table}"


def footer(saved) -> str:
    """What the shades of a `SavedSystem` mean."""
    from course_lib.translation.attention_text import legend

    return legend(shades()) if saved.model.weights_sum_to_one else f"{legend(shades())}\n{BELL}"


# ---- as a picture


def draw(path: Path, translation, look, saved) -> None:
    """Write the picture file, whole or not at all."""
    from course_lib.runtime import write_atomically
    from course_lib.translation.notes import printable
    from course_lib.views.attention_map import attention_map, picture_bytes

    if look is None:
        raise Trouble("There is nothing to draw: the sentence is empty.", "Give one with words in it.")
    matrix, which = look
    figure = attention_map(
        matrix,
        source=map(printable, translation.source_labels),
        target=map(printable, translation.target_tokens),
        title=f"Where {saved.name} looked",
        notes=[line for line in (which, "" if saved.model.weights_sum_to_one else BELL) if line],
    )
    try:
        write_atomically(path, picture_bytes(figure, path.suffix.lower()))
    except OSError as error:
        raise unwritable(path, error) from error
    print(f"The picture is in {path}.", file=sys.stderr)
