"""The command line: every command with its arguments, what it needs installed, and how it may end.

    run_command(["train", "bahdanau", "--seed", "1"])

Only the standard library is imported before the environment is known to be there; each command imports
what it needs when it runs.
"""

from __future__ import annotations

import argparse
import errno
import os
import sys
from collections.abc import Callable

from course_lib import __version__
from course_lib.cli import arguments, data, lab, learning, measuring, testing, trying
from course_lib.cli.door import CALLED, PROJECT_ROOT, Trouble, called, enter

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
    "bench": "measure how fast it is: explorables, text, training, decoding",
}
TRANSLATE = """Capitals and full stops do no harm. What is odd about a sentence, such as an unknown word, is
said on stderr. Without a sentence it reads one a line:

    cat sentences.txt | python3 -m course_lib translate > translations.txt"""
MULTI30K = """31,014 captions of photographs in German, English and French, from their makers' public
repository. Looked for in FOLDER, else in the folder that the environment variable COURSE_MULTI30K names,
else in a folder of the course on this computer. It is never part of the course: please do not pass it on."""
REFUSED = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF, errno.EACCES, errno.EROFS)
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
    if args.command is None:
        program.error(f"expected a command first: {', '.join(COMMANDS)}")
    if further and args.command != "lab":
        args.refuse(f"unrecognized arguments: {' '.join(further)}")

    def run() -> int:
        if not (PROJECT_ROOT / "notebooks").is_dir():
            raise Trouble(
                f"{PROJECT_ROOT} is not the whole course.", "Get it with git clone, and run it there."
            )
        enter(args.stage, argv)
        os.environ.setdefault(CALLED, called())  # for messages of those who cannot ask: text/multi30k.py
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
        if error.errno not in REFUSED:
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


# ---- the short commands


def build(args: argparse.Namespace) -> int:
    from course_lib.authoring.build import build_all

    return build_all(args.lessons, args.check)


def progress(args: argparse.Namespace) -> int:
    from course_lib.teaching import keeping, progress

    if args.delete:
        print(progress.delete())
        return 1 if progress.progress_file().exists() else 0
    print(progress.read().report())
    kept = [f"  {name} (lesson {lesson}, {day})" for name, lesson, day in keeping.road()]
    if kept:
        print("\nYour own functions", *kept, sep="\n")
        print(f"Kept in {keeping.road_file()}, yours to read and edit.")
    else:
        print("\nYour own functions: none yet. A function that passes its check is kept for later lessons.")
    return 0


def bench(args: argparse.Namespace) -> int:
    if args.what == "explorables":
        from course_lib.bench.explorables import run as bench_explorables

        return bench_explorables()
    if args.what == "text":
        from course_lib.bench.text import run as bench_text

        return bench_text(args.folder)
    if args.what == "training":
        from course_lib.bench.training import run as bench_device
    else:
        from course_lib.bench.decoding import run as bench_device
    return bench_device(device=trying.find_device(args.device))


def experiment(args: argparse.Namespace) -> int:
    from course_lib.bench import experiments

    known = experiments.experiments()
    if args.list or not args.names:
        for one in known.values():
            print(f"{one.name}  (lesson {one.lesson}, {len(one.variants)} variants)\n    {one.asks}")
        return 0
    if unknown := [name for name in args.names if name not in known]:
        raise Trouble(f"There is no experiment {unknown[0]!r}.", f"There are: {', '.join(known)}.")
    if args.table:
        return experiment_tables(args)
    trying.find_device(args.device)
    names = ("out", "seeds", "variants", "n_steps", "device", "at_a_time")
    try:
        failed = experiments.run(args.names, **{name: getattr(args, name) for name in names})
    except ValueError as error:
        raise Trouble(str(error), f"`{called()} experiment --list` shows them all.") from error
    return 1 if failed else 0


def experiment_tables(args: argparse.Namespace) -> int:
    import json

    from course_lib.bench.tables import table

    for name in args.names:
        path = args.out / f"{name}.json"
        if not path.exists():
            raise Trouble(f"{path} is not there.", f"Run `{called()} experiment {name}` first.")
        print(f"{name}\n\n{table(json.loads(path.read_text(encoding='utf-8')))}\n")
    return 0


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
    commands = program.add_subparsers(dest="command", metavar="COMMAND", title="commands")

    def command(name: str, run: Callable, stage: str = "training", more: str = "") -> argparse.ArgumentParser:
        return add(commands, name, COMMANDS[name], run, stage, more)

    own = command("lab", lab.open_lab, "lab", "Arguments that are not listed here go to JupyterLab.")
    own.add_argument("--no-browser", action="store_true", help="print the address and open nothing")

    own = command("test", testing.run, "test")
    own.add_argument("--quick", action="store_true", help="style and unit tests only, about a minute")
    own.add_argument("-k", metavar="WORDS", help="only unit tests whose name fits, as pytest's -k")

    own = command("build", build, "lab")
    own.add_argument("lessons", nargs="*", metavar="NN", help="a lesson's number or topic (default: all)")
    own.add_argument("--check", action="store_true", help="run nothing: do the notebooks fit their sources?")

    add_data(command("data", data.show))
    arguments.add_train(command("train", learning.train, more=learning.__doc__.partition("\n\n")[2]))
    arguments.add_translate(command("translate", trying.translate, more=TRANSLATE))
    arguments.add_sample(command("sample", trying.sample))
    arguments.add_evaluate(
        command("evaluate", measuring.evaluate, more=measuring.__doc__.partition("\n\n")[2])
    )
    arguments.add_experiment(
        command("experiment", experiment, more="What is done is kept; the same command goes on.")
    )

    own = command("progress", progress, "lab", "It is kept on this computer only.")
    own.add_argument("--delete", action="store_true", help="forget all of it")

    add_bench(command("bench", bench))
    return program


def add(to, name: str, help: str, run: Callable, stage: str = "training", more: str = ""):
    """One command, which says what it is for and gives no abbreviations."""
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
    own = add(chosen, "show", "print sentences of the toy language, with their alignment", data.show)
    own.add_argument("--n", type=arguments.number(int, 1), default=5, metavar="N", help="how many pairs (5)")
    own.add_argument("--seed", type=int, default=0, metavar="S", help="another seed, other sentences (0)")
    own.add_argument(
        "--rule", metavar="NAME", help="only pairs with this phenomenon; a wrong name lists them"
    )
    words = "at least A and at most B English words (3 12)"
    own.add_argument("--length", type=int, nargs=2, default=(3, 12), metavar=("A", "B"), help=words)
    add(chosen, "words", "list the words that the toy language knows, by kind", data.words)
    own = add(chosen, "multi30k", "find, check or download the Multi30k corpus", data.multi30k, more=MULTI30K)
    own.add_argument("folder", nargs="?", metavar="FOLDER", help="where the files are, or shall be")
    own.add_argument("--download", action="store_true", help="get what is missing, without asking")


def add_bench(parser: argparse.ArgumentParser) -> None:
    chosen = parser.add_subparsers(dest="what", metavar="WHAT", required=True, title="what to measure")
    add(chosen, "explorables", "how fast the explorables answer", bench, "test")  # in a real browser
    own = add(chosen, "text", "how fast text is made and read", bench)
    own.add_argument(
        "--folder", type=arguments.path, metavar="FOLDER", help="where Multi30k is, to measure it too"
    )
    arguments.add_device(add(chosen, "training", "how fast a step of training is", bench))
    arguments.add_device(add(chosen, "decoding", "what a cache is worth when a sentence is said", bench))
