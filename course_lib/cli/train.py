"""Train a system: any of the road, on the toy language or on Multi30k.

    python3 -m course_lib train transformer
    python3 -m course_lib train bahdanau --data multi30k --from de --to en

A run lives in a folder. Ctrl-C stops it after the step it is in; the same command goes on from there.
On several GPUs or machines: torchrun --nproc-per-node 2 -m course_lib train transformer
"""

from __future__ import annotations

import argparse
import math
import os
import shlex
import sys
from pathlib import Path

from course_lib.cli.checkpoints import check_name
from course_lib.cli.device import find_device
from course_lib.cli.endings import STOPPED, read_no_further
from course_lib.cli.paths import reason, user_path
from course_lib.cli.trouble import Trouble

HELP = "`python3 -m course_lib train --help` tells what can be asked for."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("system", metavar="SYSTEM", nargs="?", help="its name; --list shows them")
    parser.add_argument("--list", action="store_true", help="show every system that can be trained")
    parser.add_argument("--data", choices=["toy", "multi30k"], default="toy", help="what to train on (toy)")
    parser.add_argument("--from", dest="src", default="de", metavar="LANG", help="Multi30k: de, en or fr")
    parser.add_argument("--to", dest="tgt", default="en", metavar="LANG", help="Multi30k: de, en or fr")
    parser.add_argument(
        "--scale", choices=["tiny", "toy", "multi30k"], help="its size; else made for the data"
    )
    parser.add_argument("--seed", type=int, default=0, help="of weights, order and dropout (0)")
    parser.add_argument(
        "--steps", type=int, dest="n_steps", metavar="N", help="how many; else the usual recipe's"
    )
    parser.add_argument("--tokens-per-batch", type=int, metavar="N", help="tokens of one side of a batch")
    parser.add_argument(
        "--learning-rate", type=float, dest="learning_rate", metavar="X", help="the highest learning rate"
    )
    parser.add_argument(
        "--r-drop",
        type=float,
        metavar="X",
        help="R-Drop: read each sentence twice, and weigh how far the two readings differ (0)",
    )
    parser.add_argument(
        "--quick", action="store_true", help="a quarter of the tokens, for those who wait before a CPU"
    )
    parser.add_argument("--folder", help="where the run is kept; else runs/DATA_SYSTEM_SEED")
    parser.add_argument("--multi30k", metavar="FOLDER", help="where Multi30k is")
    parser.add_argument("--device", help="cpu, cuda, ...; else a GPU where there is one")


def run(args: argparse.Namespace) -> int:
    if args.list:
        print(listed())
        return 0
    check_system(args.system)
    check_numbers(args)
    check_languages(args)
    find_device(args.device)

    from course_lib.training.job import Job, run_job

    wanted = {key: value for key, value in vars(args).items() if key in Job.__dataclass_fields__}
    folder = user_path(args.folder or default_folder(args))
    multi30k = None if args.multi30k is None else str(user_path(args.multi30k))
    job = Job(**wanted | {"folder": str(folder), "multi30k": multi30k})
    # Under torchrun every process comes along here; the first one does the talking.
    leads = os.environ.get("RANK", "0") == "0"
    try:
        outcome = run_job(job, tell=tell, after_look=show)
    except KeyboardInterrupt:
        command = "python3 -m course_lib " + shlex.join(sys.argv[1:])
        raise Trouble("Stopped at once.", how_to_go_on(folder, command)) from None
    except ValueError as error:
        raise Trouble(str(error), HELP) from error
    except OSError as error:
        raise Trouble(
            f"{folder} cannot be used: {reason(error)}.",
            f"Make room, or choose another --folder. {how_to_go_on(folder, 'python3 -m course_lib train …')}",
        ) from error
    if leads:
        for line in farewell(outcome, args.system):
            tell(line)
    return {"stopped": STOPPED, "diverged": 1}.get(outcome.result.ended, 0)


def tell(line: str) -> None:
    """A line above the bar, if there is one. Where nobody reads any more, training goes on all the same."""
    from tqdm import tqdm

    try:
        tqdm.write(line)
        sys.stdout.flush()
    except BrokenPipeError:
        read_no_further()


def show(record) -> None:
    """One look at the validation set: a `Record` of the history."""
    kind = " (averaged weights)" if record.averaged else ""
    tell(
        f"step {record.step:6,}  epoch {record.epoch:3}  training loss {record.train_loss:6.3f}  "
        f"validation {record.loss:6.3f}{kind}  {record.seconds:6.1f} s"
    )


def farewell(outcome, name: str) -> list[str]:
    """How a run, a job's `Outcome`, ended, and what to do now."""
    from course_lib.models.registry import system

    result = outcome.result
    steps = "1 step" if result.step == 1 else f"{result.step:,} steps"
    lines = [f"{result.ended.capitalize()} after {steps} and {result.seconds:.0f} s."]
    if result.ended == "diverged":
        return [*lines, "The loss is no longer a number. Try a smaller --learning-rate, in another --folder."]
    if result.n_left_out:
        n_pairs = len(outcome.data.train)
        lines.append(f"Too long to train on, left out: {result.n_left_out:,} of {n_pairs:,} pairs.")
    if result.ended == "stopped":
        lines.append("The same command goes on from here.")
    lines.append(f"Best weights: {outcome.saved}")
    kind, best = system(name).kind, result.history.best
    if kind == "translator":
        lines.append(f'Try them: python3 -m course_lib translate --checkpoint "{outcome.saved}" "..."')
    elif kind == "language model" and best is not None:
        lines.append(f"Perplexity on the validation set: {math.exp(min(best.loss, 700)):.2f}")
    return lines


def check_system(name: str | None) -> None:
    """Whether there is such a system."""
    if name is None:
        raise Trouble("Expected a system's name.", "`python3 -m course_lib train --list` shows them all.")
    check_name(name)


def check_numbers(args: argparse.Namespace) -> None:
    """Said in the words of the command line, and before anything is loaded."""
    for flag, value, good, expected in (
        ("--steps", args.n_steps, lambda n: n >= 1, "1 or more"),
        ("--tokens-per-batch", args.tokens_per_batch, lambda n: n >= 1, "1 or more"),
        ("--learning-rate", args.learning_rate, lambda x: 0 < x < math.inf, "a number above 0"),
        ("--r-drop", args.r_drop, lambda x: 0 <= x < math.inf, "a number of 0 or more"),
        ("--seed", args.seed, lambda n: 0 <= n < 2**63, "a whole number from 0 on, of at most 18 digits"),
    ):
        if value is not None and not good(value):
            raise Trouble(f"Expected {flag} to be {expected}, but got {value}.", HELP)


def check_languages(args: argparse.Namespace) -> None:
    """Two of Multi30k's three; the toy language has two of its own, from English into French."""
    from course_lib.text.multi30k import LANGUAGES

    if args.data == "multi30k" and (not {args.src, args.tgt} <= set(LANGUAGES) or args.src == args.tgt):
        raise Trouble(
            f"Expected --from and --to to be two of {', '.join(LANGUAGES)}, got {args.src} and {args.tgt}.",
            "Such as: --from de --to en",
        )


def listed() -> str:
    """Every system, by kind, in the order of the road."""
    from course_lib.models.registry import SYSTEMS

    parts = []
    for kind in ("translator", "language model", "sentence encoder"):
        rows = [f"  {one.name:22}{one.year}   {one.title}" for one in SYSTEMS if one.kind == kind]
        parts.append("\n".join([f"{kind}s", *rows]))
    return "\n\n".join(parts)


def how_to_go_on(folder: Path, command: str) -> str:
    """For a run that has lost one of its processes."""
    step = steps_done(folder)
    go_on = f"{folder} has a checkpoint of step {step:,}: go on from it" if step else "Begin anew"
    return f"{go_on}, with the same command (on every machine that takes part):\n    {command}"


def steps_done(folder: Path) -> int:
    """How many steps the run in a folder has made; 0 where there is none."""
    from course_lib.training.checkpoint import read_about

    last = folder / "last.safetensors"
    if not last.exists():
        return 0
    standing = read_about(last).get("standing")
    return standing.get("step", 0) if isinstance(standing, dict) else 0


def default_folder(args: argparse.Namespace) -> str:
    """runs/toy_bahdanau_0, runs/multi30k-de-en_transformer_1"""
    data = args.data if args.data == "toy" else f"{args.data}-{args.src}-{args.tgt}"
    return f"runs/{data}_{args.system}_{args.seed}"
