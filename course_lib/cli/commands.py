"""The command line: what can be typed, what each command needs installed, and how it may end.

    run_command(["train", "bahdanau", "--seed", "1"])

Only the standard library is imported before the environment is known to be there; each command imports
what it needs when it runs. A wrong word is answered by argparse, before anything is loaded.
"""

from __future__ import annotations

import argparse
import errno
import sys
from collections.abc import Callable
from pathlib import Path

from course_lib import __version__
from course_lib.cli import data, lab, learning, measuring, testing, trying
from course_lib.cli.door import PROJECT_ROOT, Trouble, called, enter

COMMANDS = {
    "lab": "set up on the first run, then open JupyterLab",
    "test": "set up what is missing, then run every test",
    "build": "make the notebooks from their sources",
    "data": "show the toy language and its words, or get the real corpus",
    "train": "train a system",
    "translate": "translate sentences, and show every attention",
    "sample": "let a language model write",
    "evaluate": "measure trained systems",
    "experiment": "run an experiment that a lesson quotes again",
    "progress": "show what you have done so far, or delete it",
    "bench": "measure how fast it is: explorables, training, decoding",
}
TRANSLATE = """Capitals and full stops do no harm. What is odd about a sentence, such as an unknown word, is
said on stderr. Without a sentence it reads one a line:

    cat sentences.txt | python3 -m course_lib translate > translations.txt"""
MULTI30K = """31,014 captions of photographs in German, English and French, from their makers' public
repository. Looked for in FOLDER, else in the folder that the environment variable COURSE_MULTI30K names,
else in a folder of the course on this computer. It is never part of the course: please do not pass it on."""
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
NO_RIGHT = (errno.EBADF, errno.EACCES, errno.EROFS, errno.EISDIR, errno.EEXIST, errno.ENOTDIR)
NO_MEMORY = (
    "There is not enough memory for this.\n"
    "Close other programs, or ask for less at a time: a smaller --beam to translate and evaluate, a smaller\n"
    "--tokens-per-batch to train. Where the GPU is full, --device cpu goes round it."
)


def run_command(argv: list[str]) -> int:
    """Read the command line, see to the environment, run the command; its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a Windows pipe may not know the sign for "done"
    program = parser()
    if not argv:
        program.print_help()
        return 2
    args, further = program.parse_known_args(argv)
    args.words_typed, args.further = argv, further
    if further and args.command != "lab":
        args.refuse(f"unrecognized arguments: {' '.join(further)}")

    def run() -> int:
        if not (PROJECT_ROOT / "notebooks").is_dir():
            raise Trouble(
                f"{PROJECT_ROOT} is not the whole course.", "Get it with git clone, and run it there."
            )
        enter(args.stage, argv)
        return args.run(args)

    return ended(run)


def ended(run: Callable[[], int]) -> int:
    """Run to the end, or to one that is nobody's bug and so needs words and no traceback; the exit code."""
    try:
        code = run()
        sys.stdout.flush()  # now, while a full disk can still be spoken of
        return code
    except Trouble as trouble:
        told = str(trouble)
    except KeyboardInterrupt:
        print("\nStopped.", file=sys.stderr)
        return 130  # what a shell expects of a program that Ctrl-C ended
    except BrokenPipeError:  # `course_lib progress | head`: nobody reads any further
        learning.read_no_further()
        return 0
    except OSError as error:
        if error.errno not in NO_ROOM + NO_RIGHT:
            raise
        if error.filename is None:
            learning.read_no_further()
        told = f"{error.filename or 'The output'} cannot be used: {error.strerror}.\n"
        told += "Make room, or choose a place that you may write to; then run the same command again."
    except (MemoryError, RuntimeError) as error:
        if not out_of_memory(error):
            raise
        told = NO_MEMORY
    print(f"\n{told}", file=sys.stderr)
    return 1


def out_of_memory(error: Exception) -> bool:
    """Whether that is what an error means. torch has a class for it on a GPU, and only words on the CPU.

    >>> out_of_memory(RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to"))
    True
    >>> out_of_memory(RuntimeError("mat1 and mat2 shapes cannot be multiplied"))
    False
    """
    words = ("not enough memory", "out of memory", "can't allocate memory")
    return isinstance(error, MemoryError) or any(one in str(error).lower() for one in words)


# ---- what can be typed


def parser() -> argparse.ArgumentParser:
    """All of it. Each command says which function runs it, and what must be installed (`door.STAGES`)."""
    program = argparse.ArgumentParser(
        prog=called(),
        description="The attention course: from the bottlenecks of recurrent networks to the Transformer.",
        epilog="Start with `lab`. Each command tells more with --help.",
        allow_abbrev=False,
    )
    program.add_argument("--version", action="version", version=f"attention-course {__version__}")
    commands = program.add_subparsers(dest="command", metavar="COMMAND", title="commands", required=True)

    def command(name: str, run: Callable, stage: str = "training", more: str = "") -> argparse.ArgumentParser:
        return one_command(commands, name, COMMANDS[name], run, stage, more)

    own = command("lab", lab.open_lab, "lab", "Arguments that are not listed here go to JupyterLab.")
    own.add_argument("--no-browser", action="store_true", help="print the address and open nothing")

    own = command("test", testing.run, "test")
    own.add_argument("--quick", action="store_true", help="style and unit tests only, about a minute")
    own.add_argument("-k", metavar="WORDS", help="only unit tests whose name fits, as pytest's -k")

    own = command("build", lab.build, "lab")
    own.add_argument("lessons", nargs="*", metavar="NN", help="a lesson's number or topic (default: all)")
    own.add_argument("--check", action="store_true", help="run nothing: do the notebooks fit their sources?")

    add_data(command("data", data.show))
    add_train(command("train", learning.train, more=learning.__doc__.partition("\n\n")[2]))
    add_translate(command("translate", trying.translate, more=TRANSLATE))
    add_sample(command("sample", trying.sample))
    add_evaluate(command("evaluate", measuring.evaluate, more=measuring.__doc__.partition("\n\n")[2]))
    add_experiment(
        command("experiment", measuring.experiment, more="What is done is kept; the same command goes on.")
    )

    own = command("progress", lab.progress, "lab", "It is kept on this computer only.")
    own.add_argument("--delete", action="store_true", help="forget all of it")

    chosen = command("bench", measuring.bench).add_subparsers(
        dest="what", metavar="WHAT", required=True, title="what to measure"
    )
    one_command(chosen, "explorables", "how fast the explorables answer", measuring.bench, "test")
    add_device(one_command(chosen, "training", "how fast a step of training is", measuring.bench))
    add_device(
        one_command(chosen, "decoding", "what a cache is worth when a sentence is said", measuring.bench)
    )
    return program


def one_command(to, name: str, help: str, run: Callable, stage: str = "training", more: str = ""):
    """One command, which says what it is for and takes no abbreviations."""
    own = to.add_parser(
        name,
        help=help,
        description=f"{help[0].upper()}{help[1:]}.\n\n{more}".strip(),
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    own.set_defaults(run=run, stage=stage, refuse=own.error)
    return own


def add_data(parser: argparse.ArgumentParser) -> None:
    chosen = parser.add_subparsers(dest="what", metavar="WHAT", required=True, title="what")
    own = one_command(chosen, "show", "print sentences of the toy language, with their alignment", data.show)
    own.add_argument("--n", type=at_least(1), default=5, metavar="N", help="how many pairs (5)")
    own.add_argument("--seed", type=int, default=0, metavar="S", help="another seed, other sentences (0)")
    rule = "only pairs with this phenomenon; a wrong name lists them"
    own.add_argument("--rule", metavar="NAME", help=rule)
    words = "at least A and at most B English words (3 12)"
    own.add_argument("--length", type=int, nargs=2, default=(3, 12), metavar=("A", "B"), help=words)
    one_command(chosen, "words", "list the words that the toy language knows, by kind", data.words)
    multi30k = "find, check or download the Multi30k corpus"
    own = one_command(chosen, "multi30k", multi30k, data.multi30k, more=MULTI30K)
    own.add_argument("folder", nargs="?", metavar="FOLDER", help="where the files are, or shall be")
    own.add_argument("--download", action="store_true", help="get what is missing, without asking")


def add_train(own: argparse.ArgumentParser) -> None:
    own.add_argument("system", type=system, nargs="?", metavar="SYSTEM", help="its name; --list shows them")
    own.add_argument("--list", action="store_true", help="show every system that can be trained")
    add_corpus(own, "what to train on: toy (default), multi30k, a file with tabs, or a folder", "toy")
    own.add_argument("--scale", choices=["tiny", "toy", "multi30k"], help="its size; else made for the data")
    own.add_argument("--seed", type=at_least(0), default=0, help="of weights, order, dropout (0)")
    own.add_argument("--steps", type=int, dest="n_steps", metavar="N", help="else the recipe's")
    own.add_argument("--tokens-per-batch", type=int, metavar="N", help="of one side of a batch")
    own.add_argument("--learning-rate", type=float, metavar="X", help="the highest one")
    own.add_argument("--r-drop", type=float, metavar="X", help="R-Drop's alpha (0: off)")
    own.add_argument("--quick", action="store_true", help="a quarter of the tokens, for a CPU")
    own.add_argument("--folder", type=Path, help="where the run is kept; else runs/DATA_SYSTEM_SEED")
    own.add_argument("--restart", action="store_true", help="begin anew, in place of going on")
    add_device(own)


def add_corpus(own: argparse.ArgumentParser, help: str, usual: str | None = None) -> None:
    own.add_argument("--data", default=usual, metavar="CORPUS", help=help)
    own.add_argument("--from", dest="src", metavar="LANG", help="source language, of Multi30k or a folder")
    own.add_argument("--to", dest="tgt", metavar="LANG", help="target language, of Multi30k or a folder")
    own.add_argument("--multi30k", type=Path, metavar="FOLDER", help="where Multi30k is")


def add_weights(own: argparse.ArgumentParser, usual: str) -> None:
    which = own.add_mutually_exclusive_group()
    file = "a .safetensors file, or a run's folder"
    which.add_argument("--checkpoint", type=Path, metavar="FILE", help=file)
    shipped = f"a system whose weights come with the course ({usual})"
    which.add_argument("--system", type=system, default=usual, metavar="NAME", help=shipped)
    add_device(own)


def add_device(own: argparse.ArgumentParser) -> None:
    own.add_argument("--device", help="cpu, cuda, ...; else a GPU where there is one")


def add_search(own: argparse.ArgumentParser) -> None:
    own.add_argument("--beam", type=at_least(1), default=1, metavar="N", help="beam size (1: greedy)")
    penalty = "of a beam: 0 does not look at the length, more favours long sentences (0.6)"
    own.add_argument("--length-penalty", type=at_least(0.0), default=0.6, metavar="X", help=penalty)


def add_translate(own: argparse.ArgumentParser) -> None:
    texts = "what to translate; else stdin, a line each"
    own.add_argument("texts", nargs="*", metavar="SENTENCE", help=texts)
    add_weights(own, "transformer")
    add_search(own)
    add_attention(own)
    own.add_argument("--picture", type=picture, metavar="FILE", help="draw it, as .png or .svg; one sentence")


def add_attention(own: argparse.ArgumentParser) -> None:
    own.add_argument("--attention", action="store_true", help="show where each word looked, as text")
    layer = "whose attention: this layer's (the last)"
    own.add_argument("--layer", type=at_least(1), metavar="N", help=layer)
    own.add_argument("--head", type=at_least(1), metavar="N", help="this head's (the mean of all)")


def add_sample(own: argparse.ArgumentParser) -> None:
    text = "what to go on with; else from nothing"
    own.add_argument("text", nargs="?", default="", metavar="TEXT", help=text)
    add_weights(own, "transformer_lm")
    own.add_argument("--n", type=at_least(1), default=5, metavar="N", help="how many texts (5)")
    own.add_argument("--words", type=at_least(1), default=30, metavar="N", help="at most so many tokens (30)")
    draw = "1 draws as the model thinks, 0 takes the likeliest word (1)"
    own.add_argument("--temperature", type=at_least(0.0), default=1.0, metavar="X", help=draw)
    own.add_argument("--top-k", type=at_least(1), metavar="N", help="draw from the N likeliest words only")
    own.add_argument("--seed", type=int, default=0, metavar="S", help="another seed, other texts (0)")
    add_attention(own)


def add_evaluate(own: argparse.ArgumentParser) -> None:
    files = ".safetensors files, or runs' folders"
    own.add_argument("--checkpoint", type=Path, nargs="+", default=[], metavar="FILE", help=files)
    shipped = "systems whose weights come with the course (transformer)"
    own.add_argument("--system", type=system, nargs="+", default=[], metavar="NAME", help=shipped)
    add_device(own)
    add_corpus(own, "toy, multi30k, a file with tabs, or a folder; else what they were trained on")
    splits = "which part of it (test); all: every test split of the toy language"
    own.add_argument("--split", choices=[*measuring.SPLITS, "all"], default="test", help=splits)
    add_search(own)
    own.add_argument("--first", type=at_least(1), metavar="N", help="only the first N sentences")
    own.add_argument("--json", type=Path, metavar="FILE", help="keep every number there")


def add_experiment(own: argparse.ArgumentParser) -> None:
    own.add_argument("names", nargs="*", metavar="NAME", help="one or more; --list shows them")
    own.add_argument("--list", action="store_true", help="show every experiment, and what it asks")
    own.add_argument("--table", action="store_true", help="show what --out holds, and run nothing")
    own.add_argument("--variants", nargs="+", metavar="VARIANT", help="only these")
    own.add_argument("--seeds", nargs="+", type=int, metavar="N", help="else the experiment's own, 0 1 2")
    own.add_argument("--steps", type=int, dest="n_steps", metavar="N", help="else the usual recipe's")
    own.add_argument("--at-a-time", type=int, default=1, metavar="N", help="how many runs at once (1)")
    add_device(own)
    out = Path("runs/experiments")
    own.add_argument(
        "--out", type=Path, default=out, metavar="FOLDER", help=f"where results are kept ({out})"
    )


# ---- kinds of words


def at_least(least: float) -> Callable[[str], float]:
    """A reader for numbers of the same kind that are not smaller.

    >>> at_least(1)("8")
    8
    """
    kind = type(least)

    def read(text: str) -> float:
        if not (value := kind(text)) >= least:
            raise argparse.ArgumentTypeError(f"expected {least} or more, got {text}")
        return value

    read.__name__ = kind.__name__  # what argparse calls it
    return read


def picture(text: str) -> Path:
    if not text.lower().endswith((".png", ".svg")):
        raise argparse.ArgumentTypeError(f"expected a file ending in .png or .svg, got {text}")
    return Path(text)


def system(text: str) -> str:
    from course_lib.models.registry import system

    try:
        return system(text).name
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
