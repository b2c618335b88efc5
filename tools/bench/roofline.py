"""The cost model of one GPU: two ceilings, and where the work of a Transformer lies below them.

    python3 -m course_lib bench roofline                                        # print the tables
    python3 -m tools.bench.roofline --out data/results/gpu/roofline.json        # and save them

The intensity of an operation is its FLOPs divided by the fewest bytes that it can move: each input read once
and each output written once; attention written out also writes its scores twice and reads them twice. It
can't be faster than its intensity times the bandwidth, nor than a large product. Numbers are random, in
bfloat16. Times are medians on the GPU without the time in which Python starts the work, except for "eager".
A CPU gets tiny sizes, which only show that the program works.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from math import prod
from pathlib import Path
from statistics import median

import torch
from torch import Tensor
from torch.nn import functional as F

from course_lib.layers.masks import causal_mask
from course_lib.models.registry import build, make_config
from course_lib.runtime import device as usual_device
from course_lib.runtime import write_json
from course_lib.training.checkpoint import machine, versions
from course_lib.training.loop import make_step
from course_lib.training.objective import objective_for
from course_lib.training.recipe import Recipe
from lessons.l17_what_it_costs.timing import columns, conditions
from tools.bench.training import GPU_LENGTH, GPU_VOCAB, RATE, SEED, full_batch

COMMAND = "python3 -m tools.bench.roofline"
WARM_UP, REPEATS = 3, 20
CACHE, MOST_SETS = 2**28, 32  # inputs rotate through more bytes than a GPU caches, or through so many sets
SLEEP = 10_000_000  # cycles that the GPU waits before it is timed, while Python starts all the work
LONGEST_WRITTEN_OUT = 8192
PHASES = (("prefill", 8, 2048), ("decode", 1, 1), ("decode", 64, 1))  # sentences, new words
EXPECTED = {  # written before the first run
    "ceilings": "The copy moves about 4.0 of the data sheet's 4.8 TB/s and the product reaches about 700 of "
    "its 989 TFLOP/s, so an operation needs some 175 FLOPs per byte to be limited by arithmetic.",
    "operations": "In prefill the products and fused attention are limited by arithmetic and reach at least "
    "half of the ceiling, all others by bandwidth. In decoding bandwidth limits everything: 64 sentences "
    "instead of one raise the intensity of the products almost 64 times, and that of attention not at all.",
    "attention": "At 128 words fused attention is less than 3 times as fast, at 8,192 more than 10 times. "
    "Its memory grows with the length, that of attention written out with the square.",
    "generation": "As a graph, one sentence reaches 60 to 80% of the speed that the bytes of the weights "
    "allow; eager, less than a third. Sixteen give more than 10 times as many tokens per second. With 256 "
    "and one key-value head there are more than 3 times as many as with all; prefill gains less than 20%.",
    "precision": "The product is about 6 times as fast in tf32 as in float32 and 12 times in bfloat16, with "
    "errors near 0.0003 and 0.003; the training step gains less than a factor of 2 and of 3.",
}
TINY = {
    "ceilings": (99, 32),
    "operations": (32, 8, 50, 6, (("prefill", 2, 6), ("decode", 2, 1))),
    "attention": ((8, 9),),
    "generation": ((1, 3), 6, 2, 32, 8, 50),
    "precision": (32, "tiny", 4),
}
Roof = Mapping[str, float]


def milliseconds(work: Callable[[int], object], device: torch.device, *, n: int = 1, eager=False) -> float:
    """The median time of a call, in rounds of n; `work` gets the number of the call in its round."""
    on_gpu, times = device.type == "cuda", []
    for _ in range(WARM_UP + REPEATS):
        if on_gpu:
            first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            torch.cuda.synchronize()
            torch.cuda._sleep(1 if eager else SLEEP)
            first.record()
        start = time.perf_counter()
        for i in range(n):
            work(i)
        if on_gpu:
            last.record()
            torch.cuda.synchronize()
        times.append(first.elapsed_time(last) if on_gpu else 1000 * (time.perf_counter() - start))
    return median(times[WARM_UP:]) / n


def measure(work: Callable[..., Tensor], shapes: Sequence[tuple], device: torch.device) -> tuple[float, list]:
    """The time with random inputs of these shapes, and one set of them."""
    n = min(MOST_SETS, -(-CACHE // (2 * sum(map(prod, shapes))))) if device.type == "cuda" else 1
    sets = [[torch.randn(shape, device=device, dtype=torch.bfloat16) for shape in shapes] for _ in range(n)]
    return milliseconds(lambda i: work(*sets[i]), device, n=n), sets[0]


def error(output: Tensor, reference: Tensor) -> float:
    """The norm of the difference, relative to that of the reference."""
    return float((output.float() - reference.float()).norm() / reference.float().norm())


@cache
def future(n: int, device: torch.device) -> Tensor:
    return ~causal_mask(n, device=device)


def written_out(query: Tensor, keys: Tensor, values: Tensor, causal: bool = False) -> Tensor:
    if keys.shape[1] != query.shape[1]:
        keys, values = (x.repeat_interleave(query.shape[1] // x.shape[1], dim=1) for x in (keys, values))
    scores = query / query.shape[-1] ** 0.5 @ keys.mT
    if causal:
        scores = scores.masked_fill(future(scores.shape[-1], scores.device), -torch.inf)
    return scores.softmax(dim=-1) @ values


def fused(query: Tensor, keys: Tensor, values: Tensor, causal: bool = False) -> Tensor:
    shared = keys.shape[1] != query.shape[1]
    return F.scaled_dot_product_attention(query, keys, values, is_causal=causal, enable_gqa=shared)


@torch.inference_mode()
def ceilings(device: torch.device, copied: int = 2**30, n: int = 8192) -> Roof:
    copying, _ = measure(lambda x, y: y.copy_(x), [(copied,)] * 2, device)
    multiplying, _ = measure(torch.matmul, [(n, n)] * 2, device)
    return {"bytes/s": 4000 * copied / copying, "FLOP/s": 2000 * n**3 / multiplying}


@torch.inference_mode()
def operations(
    device: torch.device, roof: Roof, d=4096, head_dim=128, vocab=32_000, context=2048, phases=PHASES
) -> Iterator[dict]:
    """The points of the roofline; attention has no mask here."""
    for phase, batch, n in phases:
        t, n_scores = batch * n, batch * n * context * d // head_dim
        query, keys = ((batch, d // head_dim, words, head_dim) for words in (n, context))
        wide, heads = [(t, d), (d, 4 * d), (4 * d, d)], [query, keys, keys]
        work = [  # shapes of the inputs, FLOPs, and numbers that are moved besides inputs and output
            ("projection (Q, K, V or O)", torch.matmul, [(t, d), (d, d)], 2 * t * d * d, 0),
            ("feed-forward", lambda x, up, down: F.relu(x @ up) @ down, wide, 16 * t * d * d, 0),
            ("attention, written out", written_out, heads, 4 * n_scores * head_dim, 4 * n_scores),
            ("attention, fused", fused, heads, 4 * n_scores * head_dim, 0),
            (
                "layer norm",
                lambda x, *wb: F.layer_norm(x, wb[0].shape, *wb),
                [(t, d), (d,), (d,)],
                7 * t * d,
                0,
            ),
            ("residual", torch.add, [(t, d), (t, d)], t * d, 0),
            ("output logits", F.linear, [(t, d), (vocab, d)], 2 * t * d * vocab, 0),
            ("output softmax", partial(torch.softmax, dim=-1), [(t, vocab)], 5 * t * vocab, 0),
        ]
        for name, function, shapes, flops, further in work:
            ms, inputs = measure(function, shapes, device)
            output = function(*inputs)
            n_bytes = 2 * (sum(map(prod, shapes)) + output.numel() + further)
            speed, most = 1000 * flops / ms, min(roof["FLOP/s"], flops / n_bytes * roof["bytes/s"])
            row = {"operation": name, "phase": phase, "batch": batch, "FLOPs": flops, "bytes": n_bytes}
            row |= {"intensity": flops / n_bytes, "ms": ms, "FLOP/s": speed, "of the roof": speed / most}
            yield row | {"error": error(output, written_out(*inputs)) if function is fused else None}


@torch.inference_mode()
def attention(
    device: torch.device, roof: Roof, lengths: Sequence[int] = tuple(2**i for i in range(7, 16))
) -> Iterator[dict]:
    """Written out and fused, causal, one sentence, 16 heads of 64."""
    for n in lengths:
        for function in (written_out, fused)[n > LONGEST_WRITTEN_OUT :]:
            work = partial(function, causal=True)
            ms, inputs = measure(work, [(1, 16, n, 64)] * 3, device)
            if device.type == "cuda":
                torch.cuda.reset_peak_memory_stats()
            before, output, peak = (
                torch.cuda.memory_allocated(),
                work(*inputs),
                torch.cuda.max_memory_allocated(),
            )
            compared = function is fused and n <= LONGEST_WRITTEN_OUT
            row = {"way": function.__name__, "words": n, "ms": ms, "peak MB": (peak - before) / 1e6}
            yield row | {"error": error(output, written_out(*inputs, causal=True)) if compared else None}


def decoder(
    table: Tensor, blocks: Sequence, past: Tensor, tokens: Tensor, first: int, attend=fused
) -> Tensor:
    """Logits after the last token; tokens come after the `first` ones whose keys and values are in `past`."""
    x, end, n_kv, causal = (
        F.embedding(tokens, table),
        first + tokens.shape[1],
        past.shape[3],
        tokens.shape[1] > 1,
    )
    for (w_in, w_out, up, down), cached in zip(blocks, past, strict=True):
        heads = (F.layer_norm(x, x.shape[-1:]) @ w_in).unflatten(-1, (-1, past.shape[-1])).transpose(1, 2)
        cached[:, :, :, first:end] = torch.stack(heads[:, -2 * n_kv :].chunk(2, dim=1))
        context = attend(heads[:, : -2 * n_kv], *cached[:, :, :, :end], causal=causal)
        x = x + context.transpose(1, 2).flatten(2) @ w_out
        x = x + F.relu(F.layer_norm(x, x.shape[-1:]) @ up) @ down
    return F.linear(F.layer_norm(x[:, -1], x.shape[-1:]), table)


@torch.inference_mode()
def generation(
    device: torch.device,
    roof: Roof,
    batches=(1, 4, 16, 64, 256),
    prompt=1024,
    n_layers=8,
    d=2048,
    head_dim=128,
    vocab=32_000,
) -> Iterator[dict]:
    """Prefill, and decode with a key-value cache, by the number of key-value heads and of sentences."""
    random = partial(torch.randn, device=device, dtype=torch.bfloat16)
    for n_kv in (d // head_dim, d // head_dim // 4, 1):
        shapes = [(d, d + 2 * n_kv * head_dim), (d, d), (d, 4 * d), (4 * d, d)]
        table, blocks = random(vocab, d), [[random(s) / s[0] ** 0.5 for s in shapes] for _ in range(n_layers)]
        n_bytes = 2 * (vocab * d + n_layers * sum(map(prod, shapes)))
        for batch in batches:
            past = random(n_layers, 2, batch, n_kv, prompt + 1, head_dim)
            tokens = torch.randint(vocab, (batch, prompt + 1), device=device)
            run_on, cached = partial(decoder, table, blocks, past), 2 * past.numel()
            read, step = partial(run_on, tokens[:, :-1], 0), partial(run_on, tokens[:, -1:], prompt)
            prefill = milliseconds(lambda i, read=read: read(), device)
            eager = milliseconds(lambda i, step=step: step(), device, eager=True)
            replay, output = step, step()
            if device.type == "cuda":
                graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(graph):
                    output = step()
                replay = graph.replay
            ms = milliseconds(lambda i, replay=replay: replay(), device)
            anew = torch.empty_like(past[:, :, :2])
            whole = decoder(table, blocks, anew, tokens[:2], 0, attend=written_out)
            row = {"kv heads": n_kv, "batch": batch, "prefill tokens/s": 1000 * batch * prompt / prefill}
            row |= {"decode tokens/s": 1000 * batch / ms, "eager": 1000 * batch / eager}
            row |= {"by weights": batch * roof["bytes/s"] / n_bytes, "weights MB": n_bytes / 1e6}
            row |= {"by weights and cache": batch * roof["bytes/s"] / (n_bytes + cached)}
            yield row | {"cache MB": cached / 1e6, "error": error(output[:2], whole)}


def precision(device: torch.device, roof: Roof, n=8192, scale="multi30k", n_rows=512) -> Iterator[dict]:
    """A product, and a training step of the course's Transformer without dropout; errors against float32."""
    factors, batch = torch.randn(2, n, n, device=device), full_batch(n_rows, GPU_LENGTH, GPU_VOCAB).to(device)
    config, first = make_config("transformer", scale=scale, vocab_size=GPU_VOCAB), None
    for name, mode in (("float32", "highest"), ("tf32", "high"), ("bfloat16", "highest")):
        torch.set_float32_matmul_precision(mode)
        torch.manual_seed(SEED)
        model = build("transformer", replace(config, dropout=0.0)).to(device).train()
        recipe = Recipe(n_steps=1000, precision=name.replace("tf32", "float32"), fixed_shapes=True)
        left, right = factors.to(getattr(torch, recipe.precision))
        step = make_step(model, objective_for(model, recipe.smoothing), recipe)
        product, loss = left @ right, float(step(batch, RATE)[0])
        first = first or (product, loss)
        multiplying = milliseconds(lambda i, left=left, right=right: left @ right, device)
        training = milliseconds(lambda i, step=step: step(batch, RATE), device)
        row = {"precision": name, "FLOP/s": 2000 * n**3 / multiplying, "error": error(product, first[0])}
        yield row | {"training step, ms": training, "error of the loss": abs(loss / first[1] - 1)}


def run(device: torch.device, *, tiny: bool = False) -> dict:
    """Measure, print the tables, and return everything as plain data."""
    torch.manual_seed(SEED)
    start, sizes = time.perf_counter(), TINY if tiny or device.type == "cpu" else {}
    result = {"machine": machine(device), "versions": versions(), "conditions": conditions("torch")}
    print(f"{result['machine']}, {result['conditions']}", flush=True)
    roof = ceilings(device, *sizes.get("ceilings", ()))
    for part in (None, operations, attention, generation, precision):
        name = part.__name__ if part else "ceilings"
        found = part(device, roof, *sizes.get(name, ())) if part else [roof]
        rows = json.loads(json.dumps(list(found)), parse_float=lambda number: float(f"{float(number):.4g}"))
        cells = [
            [v if isinstance(v, str) else "" if v is None else f"{v:,.4g}" for v in row.values()]
            for row in rows
        ]
        print("", columns(list(rows[0]), cells), sep="\n", flush=True)
        result[name] = {"expected": EXPECTED[name], "rows": rows}
    return result | {"seconds": round(time.perf_counter() - start, 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--out", type=Path, help="save the result as JSON")
    parser.add_argument("--device", type=torch.device, default=None, help="cpu, cuda, …")
    parser.add_argument("--tiny", action="store_true", help="only try it out, with tiny sizes")
    args = parser.parse_args()
    result = run(args.device or usual_device(), tiny=args.tiny)
    if args.out:
        write_json(args.out, {"command": COMMAND} | result)


if __name__ == "__main__":
    main()
