"""How much a cache speeds up decoding: `python3 -m course_lib bench decoding`.

                            cached  recomputed  ratio
    transformer (multi30k)  0.55 s      3.99 s  7.3 ×

A decoder that caches what it computed for earlier words processes 64 words for a sentence of 64. One that
recomputes everything at each step processes 1 + 2 + … + 64 = 2,080 (`recompute.py`).
"""

from __future__ import annotations

from statistics import median

import torch

from course_lib.layers.rows import Rows
from course_lib.models.registry import build, make_config
from course_lib.models.translator import Translator
from course_lib.text.special import EOS, SPECIAL
from course_lib.translation.search import greedy
from lessons.l16_decoding.recompute import Recompute
from lessons.l17_what_it_costs.timing import columns, conditions, in_turn

LENGTH, BATCH, N_SRC = 64, 8, 16
VOCAB = {"toy": 680, "multi30k": 8000}
MEASURED = (("transformer", "multi30k"), ("transformer", "toy"), ("bahdanau", "toy"))
ROUNDS, SEED = 3, 0

ABOUT = f"""\
Greedy decoding of {BATCH} sentences, {LENGTH} words each, from sources of {N_SRC} words. The weights are
untrained (seed {SEED}), and no sentence ends early. The two methods take turns, {ROUNDS} rounds each after
a warm-up round.
cached      the decoder keeps what it computed for earlier words
recomputed  the decoder computes everything again at each step
Times are wall-clock seconds for all {BATCH} sentences in the median round.
Results from another machine: data/results/bench_decoding_cpu.txt"""


def run(device: torch.device) -> None:
    """Measure and print the table."""
    print(f"{conditions('torch')}, on {device.type}", "", ABOUT, "", sep="\n", flush=True)
    rows = [measure(name, scale, device=device) for name, scale in MEASURED]
    print(columns(["", "cached", "recomputed", "ratio", ""], rows))


def measure(name: str, scale: str, *, device: torch.device) -> list[str]:
    """One system's row: seconds with and without the cache, their ratio, and a note if the outputs differ."""
    system, memory = prepare(name, scale, device=device)
    without_cache = Recompute(system).eval()
    ways = {
        "cached": lambda: greedy(system, memory, max_len=LENGTH),
        "recomputed": lambda: greedy(without_cache, memory, max_len=LENGTH),
    }
    cached, recomputed = map(median, in_turn(ways, rounds=ROUNDS).values())
    same = torch.equal(ways["cached"]().ids, ways["recomputed"]().ids)
    figures = [f"{cached:.2f} s", f"{recomputed:.2f} s", f"{recomputed / cached:.1f} ×"]
    return [f"{name} ({scale})", *figures, "" if same else "different output"]


def prepare(name: str, scale: str = "toy", *, device: str | torch.device = "cpu") -> tuple[Translator, Rows]:
    """An untrained system that never generates </s>, so that all outputs are equally long, and a memory."""
    torch.manual_seed(SEED)
    vocab_size = VOCAB[scale]
    system = build(name, make_config(name, scale=scale, vocab_size=vocab_size)).to(device).eval()
    generator = torch.Generator().manual_seed(SEED)
    n = min(N_SRC, system.config.max_len)
    src = torch.randint(len(SPECIAL), vocab_size, (BATCH, n), generator=generator)
    src[:, -1] = EOS
    with torch.inference_mode():
        system.words.output.bias[EOS] = -1e4
        return system, system.encode(src.to(device), torch.full((BATCH,), n, device=device))
