"""What a cache is worth when a sentence is said word by word: `python3 -m course_lib bench decoding`.

    >>> print(table([Row("transformer", "multi30k", 0.9, 9.0, True)]))
                                cached   recomputed    ratio
    transformer (multi30k)      0.90 s       9.00 s    10.0 ×

A decoder that keeps what it worked out for earlier words does the work of 64 words for a sentence of 64.
One that works everything out again at each step does that of 1 + 2 + … + 64 = 2,080 (`recompute.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

import torch

from course_lib.bench.frame import Verdict, conclude, machine
from course_lib.bench.stopwatch import seconds
from course_lib.layers.rows import Rows
from course_lib.models.registry import build, make_config
from course_lib.models.translator import Translator
from course_lib.runtime import device as usual_device
from course_lib.shapes import Int, Tensor
from course_lib.text.special import EOS, SPECIAL
from course_lib.translation.recompute import Recompute
from course_lib.translation.search import Decoded, greedy

LENGTH, BATCH, SOURCE = 64, 8, 16
VOCAB = {"toy": 680, "multi30k": 8000}
MEASURED = (("transformer", "multi30k"), ("transformer", "toy"), ("bahdanau", "toy"))
AIM, AIM_OF = 5.0, ("transformer", "multi30k")
ROUNDS, SEED = 3, 0

ABOUT = f"""\
Greedy decoding of {BATCH} sentences, {LENGTH} words each, from sources of {SOURCE}. New weights, seed {SEED};
no sentence ends before its last word. Both ways in turn, {ROUNDS} rounds after one to warm up.
seconds   for all {BATCH} sentences, the median round, by the clock on the wall."""


class Row(NamedTuple):
    """Seconds for one batch, each way, and whether both said the same."""

    name: str
    scale: str
    cached: float
    recomputed: float
    same: bool

    @property
    def ratio(self) -> float:
        return self.recomputed / self.cached


def run(*, device: torch.device | None = None) -> int:
    """Measure, print the table and the verdicts; 0 when the target is met."""
    device = device or usual_device()
    print(f"{machine('torch')}, on {device.type}", "", ABOUT, "", sep="\n", flush=True)
    rows = [measure(name, scale, device=device) for name, scale in MEASURED]
    print(table(rows))
    return conclude(judge(rows))


def measure(
    name: str,
    scale: str,
    *,
    device: torch.device,
    vocab_size: int | None = None,
    length: int = LENGTH,
    rounds: int = ROUNDS,
) -> Row:
    """Decode one batch both ways, in turn, so that a busy moment of the machine meets both."""
    torch.manual_seed(SEED)
    vocab_size = vocab_size or VOCAB[scale]
    system = endless(build(name, make_config(name, scale=scale, vocab_size=vocab_size))).to(device).eval()
    src, lengths = sources(vocab_size, max_len=system.config.max_len)
    with torch.inference_mode():
        memory = system.encode(src.to(device), lengths.to(device))
    ways = {"cached": system, "recomputed": Recompute(system).eval()}
    said = {way: decode(one, memory, length) for way, one in ways.items()}
    taken: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(rounds):
        for way, one in ways.items():
            taken[way].append(seconds(lambda one=one: decode(one, memory, length), device))
    same = torch.equal(said["cached"].ids, said["recomputed"].ids)
    return Row(name, scale, median(taken["cached"]), median(taken["recomputed"]), same)


def endless(system: Translator) -> Translator:
    """The system, unable to end a sentence: both ways then say the same number of words."""
    with torch.no_grad():
        system.words.output.bias[EOS] = -1e4
    return system


def sources(vocab_size: int, *, max_len: int) -> tuple[Int[Tensor, "batch src"], Int[Tensor, " batch"]]:
    """A batch of words drawn by lot, EOS behind each."""
    generator = torch.Generator().manual_seed(SEED)
    n = min(SOURCE, max_len)
    src = torch.randint(len(SPECIAL), vocab_size, (BATCH, n), generator=generator)
    src[:, -1] = EOS
    return src, torch.full((BATCH,), n)


def decode(system: Translator, memory: Rows, length: int) -> Decoded:
    return greedy(system, memory, max_len=length)


def table(rows: Sequence[Row]) -> str:
    width = max(len(_title(row)) for row in rows) + 2
    lines = [f"{'':{width}}{'cached':>10}{'recomputed':>13}{'ratio':>9}"]
    for row in rows:
        numbers = f"{f'{row.cached:.2f} s':>10}{f'{row.recomputed:.2f} s':>13}{f'{row.ratio:.1f} ×':>10}"
        lines.append(f"{_title(row):{width}}{numbers}")
    return "\n".join(lines)


def judge(rows: Sequence[Row]) -> list[Verdict]:
    """The target is the Transformer's. Two ways that say different things cannot be compared at all."""
    verdicts = [
        Verdict(
            row.ratio >= AIM, f"{_title(row)}: at least {AIM:g} × faster with its cache: {row.ratio:.1f} ×"
        )
        for row in rows
        if (row.name, row.scale) == AIM_OF
    ]
    differ = [_title(row) for row in rows if not row.same]
    return [*verdicts, Verdict(not differ, f"both ways say the same words{_but(differ)}")]


def _but(differ: Sequence[str]) -> str:
    return f": not {', '.join(differ)}" if differ else ""


def _title(row: Row) -> str:
    return f"{row.name} ({row.scale})"
