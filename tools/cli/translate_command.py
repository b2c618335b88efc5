"""`translate` and `sample`: run a trained system, and show all its attention weights as text.

python3 -m course_lib translate --attention --layer 1 --head 3 "the small cat sleeps"
python3 -m course_lib sample --attention "le petit chat"
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from course_lib.runtime import program_name
from tools.cli.arguments import (
    add_model_file,
    add_search,
    add_weights,
    at_least,
    command,
    find_device,
    find_weights,
    model_file_errors,
    open_system,
    seed,
)
from tools.cli.environment import CommandError

GAUSSIAN = "The Gaussian window lowers the attention weights, so a row may add up to less than 1."
TRANSLATE = """Sentences may contain capital letters and full stops. Anything unusual, such as an unknown
word, is reported on stderr. Without a SENTENCE, the command reads one sentence per line from stdin:

    cat sentences.txt | python3 -m course_lib translate > translations.txt"""


def add(commands) -> None:
    parser = command(
        commands,
        "translate",
        "translate sentences and, with --attention, show the attention weights",
        translate,
    )
    parser.epilog = TRANSLATE
    parser.add_argument(
        "texts",
        nargs="*",
        metavar="SENTENCE",
        help="a sentence in quotes (default: read sentences from stdin)",
    )
    add_weights(parser, "transformer")
    add_model_file(parser)
    add_search(parser)
    add_attention(parser)
    save = "with --attention: save the lines between both sentences as an SVG picture"
    parser.add_argument("--save", type=svg_name, metavar="FILE", help=save)
    parser = command(commands, "sample", "generate text with a language model", sample)
    parser.add_argument(
        "text",
        nargs="?",
        default="",
        metavar="TEXT",
        help="the beginning of the text, in quotes (default: empty)",
    )
    add_weights(parser, "transformer_lm")
    parser.add_argument(
        "--n",
        type=at_least(1, 10_000),
        default=5,
        metavar="N",
        help="number of texts to generate (default: 5)",
    )
    parser.add_argument(
        "--max-tokens",
        type=at_least(1),
        default=30,
        metavar="N",
        help="maximum number of tokens to generate (default: 30)",
    )
    temperature = (
        "1 samples from the model's own distribution, 0 always takes the most probable token (default: 1)"
    )
    parser.add_argument("--temperature", type=at_least(0.0), default=1.0, metavar="X", help=temperature)
    parser.add_argument(
        "--top-k", type=at_least(1), metavar="N", help="sample only from the N most probable tokens"
    )
    parser.add_argument("--seed", type=seed, default=0, metavar="S", help="random seed (default: 0)")
    add_attention(parser)


def add_attention(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--attention", action="store_true", help="show the attention weights as text")
    layer = "show the attention weights of this layer, counted from 0 (default: the last layer)"
    parser.add_argument("--layer", type=at_least(0), metavar="N", help=layer)
    head = "show the attention weights of this head, counted from 0 (default: the mean over all heads)"
    parser.add_argument("--head", type=at_least(0), metavar="N", help=head)


def svg_name(text: str) -> Path:
    """An argparse type: the name of an SVG file."""
    if not text.lower().endswith(".svg"):
        raise argparse.ArgumentTypeError(f"expected a file name that ends in .svg, got {text!r}")
    return Path(text)


def open_as(kind: str, args: argparse.Namespace):
    """Load the requested system, which must be of this kind. Warns if it has no attention to show."""
    path = find_weights(args.checkpoint, args.system or args.default_system)
    model_file = getattr(args, "model", None)  # `sample` has no such option
    saved, saved_kind = open_system(path, find_device(args.device), model_file)
    if saved_kind != kind:
        command = {"translator": "translate", "language model": "sample"}.get(saved_kind, "evaluate")
        raise CommandError(
            f"Expected a {kind}, but {path} contains {saved.name}, a {saved_kind}.",
            f"Use `{program_name()} {command}` instead.",
        )
    args.attention = args.attention or args.layer is not None or args.head is not None
    if args.attention and not saved.model.attends:
        reason = (
            "--model doesn't return attention weights" if model_file else f"{saved.name} has no attention"
        )
        print(f"{reason}, so there is nothing to show.", file=sys.stderr)
    return saved


# ---- translate


def translate(args: argparse.Namespace) -> int:
    from course_lib.translation.pipeline import translate
    from tools.attention_text import every_attention

    if args.save and not (args.attention and len(args.texts) == 1):
        args.refuse("--save draws one translation: use it with --attention and one SENTENCE in quotes")
    if len(args.texts) > 1 and all(len(text.split()) == 1 for text in args.texts):
        note = f"Read as {len(args.texts)} sentences of one word each; for a single sentence, use quotes."
        print(note, file=sys.stderr)
    saved = open_as("translator", args)
    number = 0
    for texts in sentences(args.texts):
        with model_file_errors():
            translations = translate(
                texts,
                saved.model,
                saved.tokenizer,
                beam=args.beam,
                length_penalty=args.length_penalty,
            )
        for translation in translations:
            number += 1
            print("".join(char if char.isprintable() else " " for char in translation.target), flush=True)
            if args.attention and saved.model.attends and translation.source_tokens:
                attentions = every_attention(saved.model, saved.tokenizer, translation)
                show(attentions, saved, args)
                if args.save:
                    save_picture(attentions, args)
            for note in translation.notes:
                label = "note" if len(args.texts) == 1 else f"{'sentence' if args.texts else 'line'} {number}"
                print(f"{label}: {note}", file=sys.stderr)
    return 0


def sentences(texts: list[str]) -> Iterator[list[str]]:
    """The sentences given as arguments, all at once; or the lines of stdin, as they arrive."""
    if texts:
        yield texts
        return
    if sys.stdin.isatty():
        print(
            "Type one sentence per line. Finish with Ctrl-D (on Windows: Ctrl-Z, then Enter).",
            file=sys.stderr,
        )
    rest, n_lines = b"", 0
    while block := sys.stdin.buffer.read1(65536):  # a program that writes one line gets its answer at once
        *lines, rest = (rest + block).split(b"\n")
        yield [as_text(line + b"\n", n_lines + i) for i, line in enumerate(lines, start=1)]
        n_lines += len(lines)
    if rest:
        yield [as_text(rest, n_lines + 1)]


def as_text(line: bytes, line_number: int) -> str:
    """Decode a line of stdin without its end and a byte-order mark, common on Windows.

    UTF-16 and carriage returns without line feeds are an error; invalid UTF-8 becomes U+FFFD, with a note.
    """
    from course_lib.text.corpus import SAVE_AS, find_problem

    if problem := find_problem(line, line_number):
        raise CommandError(f"stdin, {problem}", SAVE_AS)
    try:
        text = line.decode()
    except UnicodeDecodeError as error:
        byte = hex(line[error.start])
        found = f"expected UTF-8 text, but found the byte {byte}, replaced with \N{REPLACEMENT CHARACTER}"
        print(f"line {line_number}: {found}. {SAVE_AS}", file=sys.stderr)
        text = line.decode(errors="replace")
    return text.removesuffix("\n").removesuffix("\r").removeprefix("\ufeff")


# ---- sample


def sample(args: argparse.Namespace) -> int:
    """Let a language model continue a text, or start one."""
    import torch

    from course_lib.models.inference import device_of
    from course_lib.text.special import BOS, EOS
    from course_lib.translation.pipeline import prepare
    from tools.attention_text import Attention
    from tools.sample import continue_text

    saved = open_as("language model", args)
    model, tokenizer = saved.model, saved.tokenizer
    text = prepare(args.text, tokenizer)
    for note in text.notes if text.ids else ():
        print(f"note: {note}", file=sys.stderr)
    prompt = [BOS, *text.ids]
    max_new_tokens = model.config.max_len - len(prompt) + 1
    if max_new_tokens < 1:
        raise CommandError(
            f"The text is too long: {saved.name} accepts at most {model.config.max_len} tokens.",
            "Use a shorter text.",
        )
    continuations = continue_text(
        model,
        torch.tensor([prompt] * (args.n if args.temperature else 1)),
        n=min(args.max_tokens, max_new_tokens),
        temperature=args.temperature,
        top_k=args.top_k,
        generator=torch.Generator().manual_seed(args.seed),
    )
    for generated in continuations.tolist():
        print(tokenizer.decode([*prompt[1:], *generated]))
        if args.attention and model.attends:
            # The last generated token is never an input.
            inputs = [*prompt, *generated[: generated.index(EOS) if EOS in generated else -1]]
            with torch.inference_mode():
                _, weights = model.decode(torch.tensor([inputs], device=device_of(model)), with_weights=True)
            labels = tuple(tokenizer.tokens(inputs))
            show(
                [Attention("decoder", "self-attention", weights[0].float().cpu(), labels, labels)],
                saved,
                args,
            )
    return 0


# ---- attention


def show(attentions, saved, args: argparse.Namespace) -> None:
    """Print every `Attention` as text, each under its name."""
    from tools.attention_text import attention_text, legend

    for attention in attentions:
        matrix, title = select_weights(attention, args)
        print(f"\n{title}")
        print(attention_text(matrix, attention.columns, attention.rows))
    dimmed = getattr(saved.model.config, "window", None) == "local-p"
    print("", legend(), *([GAUSSIAN] if dimmed else []), "", sep="\n", flush=True)


def save_picture(attentions, args: argparse.Namespace) -> None:
    """Cross-attention as lines between both sentences."""
    from course_lib.runtime import write_atomically
    from tools.attention_text import lines_picture

    [cross] = (attention for attention in attentions if attention.use == "cross")
    matrix, title = select_weights(cross, args)
    write_atomically(args.save, lines_picture(title, matrix, cross.columns, cross.rows).file)
    print(f"The picture is in {args.save}", file=sys.stderr)


def select_weights(attention, args: argparse.Namespace):
    """The weights of a layer (default: the last) and head (default: the mean), with a title."""
    from course_lib.translation.ablation import head_name

    n_layers, n_heads = attention.weights.shape[:2]
    for flag, number, n in (("--layer", args.layer, n_layers), ("--head", args.head, n_heads)):
        if number is not None and number >= n:
            allowed = f"Choose a number from 0 to {n - 1}." if n > 1 else "The only valid number is 0."
            raise CommandError(f"{flag} {number} is out of range.", allowed)
    layer = n_layers - 1 if args.layer is None else args.layer
    if args.head is not None and n_heads > 1:
        title = f"{head_name(attention.use, layer, args.head)} ({attention.name})"
        return attention.weights[layer, args.head], title
    of_layer = f", layer {layer} of 0–{n_layers - 1}" if n_layers > 1 else ""
    of_heads = f", mean of heads 0–{n_heads - 1}" if n_heads > 1 else ""
    return attention.weights[layer].mean(dim=0), attention.name + of_layer + of_heads
