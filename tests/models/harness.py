"""Helpers that call every system in the same way: tiny, in float64, with noise on every parameter.

A language model is a translator's decoder without a source. `leading` holds the arguments that come first in
calls of `decode` and `step`: the memory of a source, or nothing. A system with `encode` has a source, one
with `step` generates a target; the sentence encoder has no `step`.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from course_lib.layers.rows import Rows
from course_lib.models.registry import make_config, system
from course_lib.text.batch import Batch, make_batch
from course_lib.text.toy.generate import generate
from course_lib.text.word_tokenizer import WordTokenizer

VOCAB = 17
# Different lengths, with an empty source and an empty target, and repeated words.
SOURCES = [[5, 9, 4, 11, 7, 9], [8], [], [6, 6, 12, 9]]
TARGETS = [[7, 10], [5, 13, 4, 9, 11, 11, 6, 8], [6], []]

# Variants of a system that lessons use.
FORMS = {
    "transformer, post-norm": {"pre_norm": False},
    "transformer, learned": {"positions": "learned"},
    "transformer, rotary": {"positions": "rotary", "n_kv_heads": 1},
    "transformer, rms": {"norm": "rms", "feed_forward": "swiglu", "positions": "rotary"},
    "transformer, wide values": {"d_k": 2, "d_v": 6, "n_kv_heads": 1, "positions": "rotary"},
    "transformer, bare": {"norm": "none", "feed_forward": "none", "positions": "none"},
    "transformer, no residual": {"residual": False},
    "transformer_lm, rotary": {"positions": "rotary", "n_kv_heads": 1, "pre_norm": False},
    "transformer_lm, rms": {"norm": "rms", "feed_forward": "swiglu", "positions": "learned"},
    "transformer_lm, wide values": {"d_k": 2, "d_v": 6},
    "luong_concat, no feeding": {"input_feeding": False, "n_layers": 2},
    "luong_local_p, no feeding": {"input_feeding": False},
    "luong_local_m, reversed": {"reverse": True},
    "seq2seq, forwards": {"reverse": False, "n_layers": 3},
    "convs2s, wide": {"width": 4},
    "ngram_rnn_lm, order 7": {"order": 7},
    "ngram_lm, unigrams": {"order": 1},
    "key_value_lm, span 1": {"span": 1},
}


def small(name: str, *, seed: int = 0, **changes) -> nn.Module:
    """A tiny system, or one of its forms; the n-gram model is fitted to random sentences."""
    entry = system(name.partition(",")[0])
    config = make_config(entry.name, scale="tiny", vocab_size=VOCAB)
    torch.manual_seed(seed)
    model = entry.model(replace(config, **FORMS.get(name, {}) | changes))
    if entry.counts:
        model.fit(torch.randint(4, VOCAB, (20, 6)).tolist())
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return model.double().eval()


def batch_of(sources=SOURCES, targets=TARGETS) -> Batch:
    return make_batch(sources, targets)


@cache
def eight_sentences(*, one_language: bool) -> tuple[Batch, int]:
    """Eight sentence pairs of the toy language, and the size of their vocabulary.

    For language models both sides are the same, and any two words determine the third.
    """
    pairs, follows = [], {}
    for pair in generate(400, seed=0, length=(4, 6)):
        words = ["<s>", *pair.src, "</s>"]
        triples = {(a, b): c for a, b, c in zip(words, words[1:], words[2:], strict=False)}
        if ("<s>", pair.src[0]) not in follows and all(
            follows.get(words_before, c) == c for words_before, c in triples.items()
        ):
            follows |= triples
            pairs.append((pair.src_text, pair.src_text if one_language else pair.tgt_text))
    words = WordTokenizer.from_texts([text for pair in pairs[:8] for text in pair])
    sources, targets = ([words.encode(text) for text in side] for side in zip(*pairs[:8], strict=True))
    return make_batch(sources, targets), words.vocab_size


def start(model: nn.Module, batch: Batch) -> tuple[tuple[Rows, ...], Rows]:
    """The leading arguments of its calls, and the state before the first word."""
    if not hasattr(model, "encode"):
        return (), model.start(len(batch.tgt_in))
    memory = model.encode(batch.src, batch.src_lengths)
    return (memory,), model.start(memory)


def decode(model: nn.Module, batch: Batch, *, with_weights: bool = True) -> tuple[Tensor, Tensor | None]:
    """All positions at once: logits (batch, tgt, vocab), weights (batch, layers, heads, tgt, seen)."""
    leading, _ = start(model, batch)
    return model.decode(*leading, batch.tgt_in, with_weights=with_weights)


def decode_stepwise(model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor | None]:
    """The same as `decode`, word by word."""
    leading, state = start(model, batch)
    logits, weights, n = [], [], batch.tgt_in.shape[1]
    for position, tokens in enumerate(batch.tgt_in.unbind(dim=1)):
        step_logits, state, step_weights = model.step(*leading, state, tokens, with_weights=True)
        logits.append(step_logits)
        if model.attends and not leading:  # over the words so far, the newest last
            assert step_weights.shape[-1] == position + 1
            step_weights = F.pad(step_weights, (0, n - position - 1))
        weights.append(step_weights)
    return torch.stack(logits, dim=1), torch.stack(weights, dim=3) if model.attends else None


def decode_greedily(model: nn.Module, batch: Batch) -> Tensor:
    """Greedy decoding; a language model is given the first word of the sentence."""
    leading, state = start(model, batch)
    tokens, outputs = batch.tgt_in[:, 0], []
    for _ in range(batch.tgt_in.shape[1]):
        logits, state, _ = model.step(*leading, state, tokens)
        tokens = logits.argmax(dim=-1) if outputs or leading else batch.tgt_in[:, 1]
        outputs.append(tokens)
    return torch.stack(outputs, dim=1)


def forward(model: nn.Module, batch: Batch) -> Tensor:
    """The model's `forward`, as training calls it."""
    source = (batch.src, batch.src_lengths) if hasattr(model, "encode") else ()
    target = (batch.tgt_in,) if hasattr(model, "step") else ()
    return model(*source, *target)


def logits_and_labels(model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
    """Logits at real positions and their labels: the next word, or a class for each sentence."""
    if hasattr(model, "step"):
        return forward(model, batch)[batch.loss_mask], batch.tgt_out[batch.loss_mask]
    rows = batch.loss_mask.any(dim=1)
    return forward(model, batch)[rows], batch.src_lengths[rows] % 2


def loss_and_gradients(model: nn.Module, batch: Batch) -> tuple[Tensor, dict[str, Tensor | None]]:
    model.zero_grad()
    loss = F.cross_entropy(*logits_and_labels(model, batch), reduction="sum")
    if loss.requires_grad:
        loss.backward()
    return loss.detach(), {name: parameter.grad for name, parameter in model.named_parameters()}


def assert_close(actual, expected) -> None:
    torch.testing.assert_close(actual, expected, rtol=1e-9, atol=1e-11)
