"""What a cache is worth when a sentence is said word by word: `python3 -m course_lib bench decoding`.

                            cached  recomputed  ratio
    transformer (multi30k)  0.56 s      4.13 s  7.3 ×

A decoder that keeps what it worked out for earlier words does the work of 64 words for a sentence of 64.
One that works everything out again at each step does that of 1 + 2 + … + 64 = 2,080 (`recompute.py`).
"""

from __future__ import annotations

import torch

from course_lib.bench.frame import columns, in_turn, machine
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
ROUNDS, SEED = 3, 0

ABOUT = f"""\
Greedy decoding of {BATCH} sentences, {LENGTH} words each, from sources of {SOURCE}. New weights, seed {SEED};
no sentence ends before its last word. Both ways in turn, {ROUNDS} rounds after one to warm up.
seconds   for all {BATCH} sentences, the median round, by the clock on the wall.
Another machine's figures: data/results/bench_decoding_cpu.txt"""


def run(*, device: torch.device | None = None) -> int:
    """Measure and print the table."""
    device = device or usual_device()
    print(f"{machine('torch')}, on {device.type}", "", ABOUT, "", sep="\n", flush=True)
    rows = [measure(name, scale, device=device) for name, scale in MEASURED]
    print(columns(["", "cached", "recomputed", "ratio", ""], rows))
    return 0


def measure(name: str, scale: str, *, device: torch.device) -> list[str]:
    """One system's row: seconds both ways, their ratio, and a word where the two said different things."""
    system, memory = ready(name, scale, device=device)
    slow = Recompute(system).eval()
    ways = {"cached": lambda: decode(system, memory, LENGTH), "again": lambda: decode(slow, memory, LENGTH)}
    taken = in_turn(ways, rounds=ROUNDS, device=device)
    same = torch.equal(ways["cached"]().ids, ways["again"]().ids)
    cached, again = taken["cached"], taken["again"]
    figures = [f"{cached:.2f} s", f"{again:.2f} s", f"{again / cached:.1f} ×"]
    return [f"{name} ({scale})", *figures, "" if same else "other words"]


def ready(name: str, scale: str = "toy", *, device: str | torch.device = "cpu") -> tuple[Translator, Rows]:
    """A new system that never ends a sentence, and a batch that it has read."""
    torch.manual_seed(SEED)
    vocab_size = VOCAB[scale]
    system = endless(build(name, make_config(name, scale=scale, vocab_size=vocab_size))).to(device).eval()
    src, lengths = sources(vocab_size, max_len=system.config.max_len)
    with torch.inference_mode():
        return system, system.encode(src.to(device), lengths.to(device))


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
