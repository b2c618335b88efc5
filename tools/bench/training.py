"""How fast a training step is, compared with a naive one: `python3 -m course_lib bench training`.

                           ms per step   tokens/s  padding  ratio
    eager nn.Transformer         33.79    242,403       0%  1.0 ×
    recorded step                 5.50  1,488,314       0%  6.1 ×

On a GPU: one step of the Transformer at scale multi30k, compared with torch's own modules; then a profile of
the fastest, kernel by kernel. On a CPU: two small systems, compared with a plain loop over random batches.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from statistics import median
from typing import NamedTuple

import torch
from torch import nn
from torch.nn import functional as F
from torch.profiler import ProfilerActivity, profile

from course_lib.layers.positions import sinusoids
from course_lib.models.registry import build, make_config
from course_lib.models.transformer import Transformer, TransformerConfig
from course_lib.shapes import Float, Int, Tensor
from course_lib.text.batch import Batch
from course_lib.text.batching import Epochs
from course_lib.text.encoded import EncodedCorpus, encode_corpus
from course_lib.text.special import BOS, EOS, PAD, SPECIAL
from course_lib.text.toy.generate import generate
from course_lib.text.word_tokenizer import WordTokenizer
from course_lib.training.data import sides
from course_lib.training.graph_step import GraphStep
from course_lib.training.objective import objective_for, translation
from course_lib.training.recipe import Recipe
from course_lib.training.step import PlainStep
from lessons.l17_what_it_costs.timing import columns, conditions, in_turn

RATE, SEED = 1e-4, 0
ROUNDS = {"cuda": 7, "cpu": 5}
GPU_ROWS, GPU_LENGTH, GPU_VOCAB, GPU_STEPS = 512, 16, 8000, 20
CPU_SYSTEMS, CPU_PAIRS, CPU_STEPS = ("transformer", "bahdanau"), 4000, 10
CPU_ROWS, CPU_TOKENS = 64, 1024  # sentences in a naive batch, tokens in ours; both have about 900 words

ABOUT = {
    "cuda": f"""\
The Transformer at scale multi30k, on {GPU_ROWS} sentences of {GPU_LENGTH} tokens per side without padding;
vocabulary of {GPU_VOCAB:,}, dropout, label smoothing 0.1, gradient clipping, fused AdamW, bfloat16.
eager nn.Transformer     torch's own modules of the same sizes, under autocast, with torch's loss
compiled nn.Transformer  the same, with model and loss compiled by torch.compile(..., mode="reduce-overhead")
plain step               the course's Transformer, run eagerly (training/step.py)
recorded step            the same, recorded as one CUDA graph (training/graph_step.py)
tokens/s                 target tokens per second
All four take turns, in {ROUNDS["cuda"]} rounds of {GPU_STEPS} steps; the table shows the median round.
Results from another machine: data/results/bench_training_h200.txt""",
    "cpu": f"""\
naive     {CPU_ROWS} random sentences per batch, padded to the longest; Adam updates one tensor at a time
ours      the course's step: sentences of similar length, at most {CPU_TOKENS:,} tokens per batch; fused Adam
tokens/s  target tokens per second, without padding
padding   the fraction of target positions that are padding
The two take turns, in {ROUNDS["cpu"]} rounds of {CPU_STEPS} batches; the table shows the median round.
Results from another machine: data/results/bench_training_cpu.txt""",
}


Step = Callable[[Batch, float], object]


class Way(NamedTuple):
    """A training step, and the batches of one round of measurement."""

    step: Step
    batches: Sequence[Batch]

    def learn(self) -> None:
        for batch in self.batches:
            self.step(batch, RATE)


def run(device: torch.device) -> None:
    """Measure on this device and print the tables."""
    on_gpu = device.type == "cuda"
    machine = torch.cuda.get_device_name(device) if on_gpu else f"{torch.get_num_threads()} threads"
    print(f"{machine}, {conditions('torch')}", "", ABOUT["cuda" if on_gpu else "cpu"], sep="\n", flush=True)
    if not on_gpu:
        for name in CPU_SYSTEMS:
            print("", table(cpu_ways(name), name, ROUNDS["cpu"]), sep="\n", flush=True)
        return
    ways = gpu_ways(device)
    print("", table(ways, "", ROUNDS["cuda"]), sep="\n", flush=True)
    recorded = ways["recorded step"]
    if not recorded.step.records:
        print("\nThe step could not be recorded here, so the last row shows a plain step.")
    with profile(activities=[ProfilerActivity.CUDA], acc_events=True) as profiler:
        recorded.step(recorded.batches[0], RATE)
        torch.cuda.synchronize(device)
    print("", "Kernels of one recorded step:", sep="\n")
    print(profiler.key_averages().table(sort_by="self_cuda_time_total", row_limit=15))


def table(ways: Mapping[str, Way], title: str, rounds: int) -> str:
    """Time all ways; the ratios are relative to the first."""
    times = in_turn({name: way.learn for name, way in ways.items()}, rounds=rounds)
    rows, first = [], None
    for name, (_, batches) in ways.items():
        seconds, n_tokens = median(times[name]), sum(int(batch.n_tokens) for batch in batches)
        speed, padding = n_tokens / seconds, 1 - n_tokens / sum(batch.tgt_out.numel() for batch in batches)
        first = first or speed
        figures = [f"{1000 * seconds / len(batches):.2f}", f"{speed:,.0f}", f"{padding:.0%}"]
        rows.append([name, *figures, f"{speed / first:.2f} ×"])
    return columns([title, "ms per step", "tokens/s", "padding", "ratio"], rows)


# ---- on a GPU


class TorchTransformer(nn.Module):
    """The baseline: torch's own `nn.Transformer` of the same sizes, wrapped as in tutorials.

    It uses post-norm, torch's default and the order of the 2017 paper; the speed is the same.
    """

    def __init__(self, config: TransformerConfig):
        super().__init__()
        self.table = nn.Embedding(config.vocab_size, config.d_model)
        nn.init.normal_(self.table.weight, std=config.d_model**-0.5)
        self.bias = nn.Parameter(torch.zeros(config.vocab_size))
        self.register_buffer("positions", sinusoids(config.max_len, config.d_model), persistent=False)
        self.dropout = nn.Dropout(config.dropout)
        self.transformer = nn.Transformer(
            d_model=config.d_model,
            nhead=config.n_heads,
            num_encoder_layers=config.n_layers,
            num_decoder_layers=config.n_layers,
            dim_feedforward=config.d_ff,
            dropout=config.dropout,
            batch_first=True,
        )

    def forward(
        self,
        src: Int[Tensor, "batch src"],
        src_lengths: Int[Tensor, " batch"],
        tgt_in: Int[Tensor, "batch tgt"],
    ) -> Float[Tensor, "batch tgt vocab"]:
        # In torch's modules True means "may NOT be attended to", the opposite of the course's masks.
        padding = torch.arange(src.shape[1], device=src.device) >= src_lengths[:, None]
        future = torch.ones(tgt_in.shape[1], tgt_in.shape[1], dtype=torch.bool, device=src.device).triu(1)
        features = self.transformer(
            self.embed(src),
            self.embed(tgt_in),
            tgt_mask=future,
            tgt_is_causal=True,
            src_key_padding_mask=padding,
            memory_key_padding_mask=padding,
        )
        return F.linear(features, self.table.weight, self.bias)

    def embed(self, tokens: Int[Tensor, "batch n"]) -> Float[Tensor, "batch n model"]:
        """Word embeddings with positional encodings."""
        words = self.table(tokens) * math.sqrt(self.table.embedding_dim)
        return self.dropout(words + self.positions[: tokens.shape[1]])


def torch_objective(smoothing: float):
    """Torch's cross-entropy with label smoothing, in float32."""

    def objective(model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
        logits = model(batch.src, batch.src_lengths, batch.tgt_in)
        loss = F.cross_entropy(
            logits.flatten(0, 1).float(),
            batch.tgt_out.flatten(),
            ignore_index=PAD,
            reduction="sum",
            label_smoothing=smoothing,
        )
        return loss, batch.n_tokens

    return objective


def gpu_ways(device: torch.device) -> dict[str, Way]:
    """Torch's modules, eager and compiled; our modules, with a plain and a recorded step."""
    config = make_config("transformer", scale="multi30k", vocab_size=GPU_VOCAB)
    recipe = Recipe(n_steps=10_000, precision="bfloat16", fixed_shapes=True)
    eager, ours = torch_objective(recipe.smoothing), translation(recipe.smoothing)
    compiled = torch.compile(eager, mode="reduce-overhead")

    def new(kind: Callable[[TransformerConfig], nn.Module]) -> nn.Module:
        torch.manual_seed(SEED)
        return kind(config).to(device).train()

    steps = {
        "eager nn.Transformer": PlainStep(new(TorchTransformer), eager, recipe),
        "compiled nn.Transformer": PlainStep(new(TorchTransformer), compiled, recipe),
        "plain step": PlainStep(new(Transformer), ours, recipe),
        "recorded step": GraphStep(new(Transformer), ours, recipe),
    }
    batches = [full_batch(GPU_ROWS, GPU_LENGTH, GPU_VOCAB).to(device)] * GPU_STEPS
    return {name: Way(step, batches) for name, step in steps.items()}


def full_batch(n_rows: int, length: int, vocab_size: int) -> Batch:
    """Random tokens without padding, so that every position counts."""
    generator = torch.Generator().manual_seed(SEED)
    src, tgt = torch.randint(len(SPECIAL), vocab_size, (2, n_rows, length), generator=generator)
    src[:, -1] = tgt[:, -1] = EOS
    tgt_in = torch.cat([torch.full((n_rows, 1), BOS), tgt[:, :-1]], dim=1)
    lengths = torch.full((n_rows,), length)
    return Batch(src, lengths, tgt_in, tgt, lengths.clone(), torch.arange(n_rows))


# ---- on a CPU


def cpu_ways(name: str) -> dict[str, Way]:
    """A naive loop, and the course's step and batches as `train` uses them."""
    src, tgt = sides(generate(CPU_PAIRS, seed=SEED))
    tokenizer = WordTokenizer.from_texts([*src, *tgt])
    corpus = encode_corpus(src, tgt, tokenizer)
    config = make_config(name, scale="toy", vocab_size=tokenizer.vocab_size)
    naive_model, our_model = build(name, config).train(), build(name, config).train()
    recipe = Recipe(n_steps=1, tokens_per_batch=CPU_TOKENS)
    our_step = PlainStep(our_model, objective_for(our_model, recipe.smoothing), recipe)
    by_length = Epochs(corpus, tokens_per_batch=CPU_TOKENS, seed=SEED)
    return {
        "naive": Way(naive_step(naive_model), random_batches(corpus)),
        "ours": Way(our_step, list(islice(by_length, CPU_STEPS))),
    }


def naive_step(model: nn.Module) -> Step:
    """Forward, loss, backward, clip, update, as in a first training loop."""
    objective, adam = torch_objective(0.0), torch.optim.Adam(model.parameters(), lr=RATE, foreach=False)

    def step(batch: Batch, rate: float) -> tuple[Tensor, Tensor]:
        adam.zero_grad()
        loss, n_tokens = objective(model, batch)
        (loss / n_tokens).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=False)
        adam.step()
        return loss.detach(), n_tokens

    return step


def random_batches(corpus: EncodedCorpus) -> list[Batch]:
    """Sentences in random order, each batch padded to its longest sentence."""
    order = random.Random(SEED).sample(range(len(corpus)), CPU_STEPS * CPU_ROWS)
    batches = []
    for first in range(0, len(order), CPU_ROWS):
        pairs = order[first : first + CPU_ROWS]
        src_len, tgt_len = (max(sizes) for sizes in zip(*(corpus.lengths[i] for i in pairs), strict=True))
        batches.append(corpus.batch(torch.tensor(pairs), src_len=src_len, tgt_len=tgt_len))
    return batches
