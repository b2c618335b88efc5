"""`train`: train any system of the course, on the toy language, on Multi30k or on a corpus of your own.

    python3 -m course_lib train bahdanau --data my/pairs.tsv --steps 500

Every run is saved in a folder. Ctrl-C stops it after the current step; the same command then resumes it.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import os
import shlex
import sys
from functools import partial
from pathlib import Path

from course_lib.runtime import program_name
from tools.cli import INTERRUPTED
from tools.cli.arguments import (
    MAX_STEPS,
    above_zero,
    add_corpus,
    add_device,
    at_least,
    command,
    find_device,
    path_name,
    seed,
    system_name,
)
from tools.cli.environment import CommandError, discard_output

CORPORA = ("toy", "multi30k")
SMALL = 10_000  # pairs
FOR_SMALL = {"patience": 5, "validate_every": 50}  # 300 pairs are learned, or learned by heart, in no time
MINOR = {  # of the museum, and variants that a lesson mentions: listed with --all only
    *("rctm", "luong_location", "luong_local_m", "luong_local_p", "lstmn_shallow", "lstmn_deep"),
    *("lstmn_lm", "attention_lm", "key_value_lm", "key_value_predict_lm", "ngram_rnn_lm"),
}
RECIPE_OPTIONS = (
    "tokens_per_batch",
    "learning_rate",
    "r_drop",
    "patience",
)  # fields of a recipe that have an option


def add(commands) -> None:
    parser = command(commands, "train", "train a system (one of the course's models)", train)
    parser.epilog = "Example:\n" + __doc__.partition("\n\n")[2]
    parser.add_argument(
        "system",
        type=system_name,
        nargs="?",
        metavar="SYSTEM",
        help="the name of the system; --list shows them all",
    )
    model = "train the class Transformer of this Python file (lesson 14) instead of the library's"
    parser.add_argument("--model", type=path_name, dest="model_file", metavar="FILE", help=model)
    parser.add_argument("--list", action="store_true", help="list the systems that can be trained")
    parser.add_argument("--all", action="store_true", help="with --list: those of the museum, too")
    corpus = "training corpus: toy (default), multi30k, a tab-separated file, or a folder of aligned files"
    add_corpus(parser, corpus, "toy")
    scale = "the size of the model (default: chosen to suit the corpus)"
    parser.add_argument("--scale", choices=["tiny", "toy", "multi30k"], help=scale)
    seed_help = "random seed for the initial weights, the order of the data and dropout (default: 0)"
    parser.add_argument("--seed", type=seed, default=0, metavar="S", help=seed_help)
    steps = "number of training steps (default: depends on the scale)"
    parser.add_argument("--steps", type=at_least(1, MAX_STEPS), dest="n_steps", metavar="N", help=steps)
    tokens = "maximum number of tokens in a batch, on each side (default: depends on the scale)"
    parser.add_argument("--tokens-per-batch", type=at_least(1, 10**7), metavar="N", help=tokens)
    parser.add_argument("--learning-rate", type=above_zero, metavar="X", help="peak learning rate")
    parser.add_argument(
        "--r-drop", type=at_least(0.0), metavar="X", help="R-Drop's weight alpha (0 turns it off)"
    )
    patience = "end early after N validations without a lower loss; 0: never (default: 5 for small corpora)"
    parser.add_argument("--patience", type=at_least(0, MAX_STEPS), metavar="N", help=patience)
    parser.add_argument("--tensorboard", action="store_true", help="write the losses for TensorBoard, too")
    parser.add_argument("--quick", action="store_true", help="a short run for a CPU: a quarter of the tokens")
    folder = "where to save the run (default: runs/DATA_SYSTEM_SEED)"
    parser.add_argument("--folder", type=path_name, help=folder)
    restart = "start again from the beginning instead of resuming the run in the folder"
    parser.add_argument("--restart", action="store_true", help=restart)
    add_device(parser)


def train(args: argparse.Namespace) -> int:
    if args.list:
        print(systems_by_kind(args.all))
        return 0
    if args.system is None and args.model_file:
        args.system = "transformer"
    if args.system is None:
        args.refuse("expected the name of a system; --list shows them all")
    refuse_ignored(args)
    folder = args.folder or default_folder(args)
    board = event_writer(args, folder) if args.tensorboard else None
    find_device(args.device)

    from course_lib.training.job import Job
    from tools.corpora import corpus_name, default_scale, load_data
    from tools.run_files import RunFiles
    from tools.train_system import train_system

    options = {name: value for name, value in vars(args).items() if value is not None}
    if args.model_file:
        options["model_file"] = str(args.model_file)
    job_options = {name: value for name, value in options.items() if name in Job.__dataclass_fields__}
    recipe = {name: options[name] for name in RECIPE_OPTIONS if name in options}
    command = f"python3 -m course_lib {shlex.join(args.argv)}"
    try:
        data = load_data(corpus_name(args.data, args.src, args.tgt), multi30k=args.multi30k)
        if len(data.train) < SMALL and args.n_steps is None:
            recipe = FOR_SMALL | recipe
        changes = {"scale": args.scale or default_scale(args.data), "folder": str(folder), "recipe": recipe}
        report = {"log": print_line, "after_validation": partial(after_validation, RunFiles(folder), board)}
        outcome = train_system(Job(**job_options | changes), data=data, command=command, **report)
    except KeyboardInterrupt:
        advice = "Run the same command again to resume from the last checkpoint, if there is one yet."
        print(f"\nStopped immediately. {advice}", file=sys.stderr)
        return INTERRUPTED
    except (ValueError, FileNotFoundError) as error:  # an impossible request, or a missing corpus
        raise CommandError(str(error)) from error
    if os.environ.get("RANK", "0") == "0":  # under torchrun only the first process prints
        print_line("\n".join(closing_lines(outcome, args.system, args.model_file)))
    return {"stopped": INTERRUPTED, "diverged": 1}.get(outcome.result.ended, 0)


def refuse_ignored(args: argparse.Namespace) -> None:
    """Reject arguments that would have no effect."""
    from course_lib.models.registry import system

    if args.all:
        args.refuse("--all can only be used with --list")
    if args.model_file and args.system != "transformer":
        args.refuse(
            f"--model trains a Transformer, so expected no SYSTEM or transformer, but got {args.system}"
        )
    if args.multi30k and not args.data.startswith("multi30k"):
        args.refuse("--multi30k can only be used with --data multi30k")
    if system(args.system).counts:
        for name in ("n_steps", "quick", *RECIPE_OPTIONS):
            if getattr(args, name) not in (None, False):
                flag = "--" + name.removeprefix("n_").replace("_", "-")
                args.refuse(f"{args.system} is trained by counting, without steps, so it has no {flag}")


def default_folder(args: argparse.Namespace) -> Path:
    """runs/toy_bahdanau_0, runs/multi30k-de-en_transformer_1; --scale and --quick become part of the name."""
    data = args.data if args.data in CORPORA else Path(os.path.realpath(args.data)).name.partition(".")[0]
    languages = (args.src or "de", args.tgt or "en") if args.data == "multi30k" else (args.src, args.tgt)
    system = args.model_file.stem if args.model_file else args.system
    parts = ["-".join([data, *filter(None, languages)]), system, args.scale, args.quick and "quick"]
    return Path("runs", "_".join([*filter(None, parts), str(args.seed)]))


def systems_by_kind(minor: bool) -> str:
    """The text of --list: the systems by kind, in the order of the course."""
    from course_lib.models.registry import SYSTEMS

    parts, listed = [], [system for system in SYSTEMS if minor or system.name not in MINOR]
    for kind in dict.fromkeys(system.kind for system in reversed(listed)):
        systems = [system for system in listed if system.kind == kind]
        rows = [f"  {system.name:22}{system.year}   {system.title}" for system in systems]
        parts.append("\n".join([f"{kind}s", *rows]))
    if not minor:
        parts.append(f"{len(SYSTEMS) - len(listed)} more systems can be trained: --list --all")
    return "\n\n".join(parts)


# ---- printing


def print_line(line: str) -> None:
    """Print above the progress bar, if there is one. Training continues even if the output is closed."""
    from tqdm import tqdm

    try:
        tqdm.write(line)
        sys.stdout.flush()
    except BrokenPipeError:
        discard_output()


def after_validation(files, board, record) -> None:
    """Print the result of a validation, which is already saved, and write it for other programs."""
    files.write()
    for name in ("train_loss", "loss", "rate") if board else ():
        board.add_scalar(name, getattr(record, name), record.step)
    print_line(files.line())


def event_writer(args: argparse.Namespace, folder: Path):
    """TensorBoard's writer, if that package is installed."""
    if importlib.util.find_spec("tensorboard") is None:
        args.refuse(
            "--tensorboard needs the package tensorboard, which is not installed; "
            f"run `{shlex.quote(sys.executable)} -m pip install tensorboard`, or leave the option out"
        )
    from torch.utils.tensorboard import SummaryWriter

    return SummaryWriter(folder)


def closing_lines(outcome, name: str, model_file: Path | None = None) -> list[str]:
    """How the run behind a `TrainedSystem` ended, and what to do next."""
    from course_lib.formatting import counted
    from course_lib.models.registry import system

    result = outcome.result
    lines = [f"{result.ended.capitalize()} after {counted(result.step, 'step')} ({result.seconds:.0f} s)."]
    if result.ended == "diverged":
        return [*lines, "The loss became infinite or NaN. Try a smaller --learning-rate, with --restart."]
    if result.n_left_out:
        n_pairs = len(outcome.data.train)
        lines.append(f"{result.n_left_out:,} of {n_pairs:,} pairs were left out because they are too long.")
    if result.ended == "finished" and result.step < outcome.about["recipe"]["n_steps"]:
        lines.append(
            f"The validation loss hasn't fallen for {counted(result.history.since_best, 'validation')}."
        )
    if result.ended == "stopped":
        lines.append("Run the same command again to resume.")
    lines.append(f"Best weights: {outcome.saved}")
    kind, best = system(name).kind, result.history.best
    if kind == "language model" and best is not None:
        lines.append(f"Perplexity on the validation set: {math.exp(min(best.loss, 700)):.2f}")
    usage = {"translator": 'translate --checkpoint "{}" "..."', "language model": 'sample --checkpoint "{}"'}
    command = usage.get(kind, 'evaluate --checkpoint "{}"').format(outcome.saved)
    if model_file:
        command = command.replace("--checkpoint", f'--model "{model_file}" --checkpoint')
    return [*lines, f"To try them: {program_name()} {command}"]
