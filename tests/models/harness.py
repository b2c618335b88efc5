"""One way to ask every system: tiny, in float64, every weight shaken so that nothing is equal only by a 0.

A language model is a translator's decoder without a source. So both are asked in the same words, and `given`
is what their calls take first: the memory of a source, or nothing. A system that has `encode` reads a
source, one that has `step` says a target; the sentence encoder has no `step`.
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
# Lengths of all kinds, an empty source and an empty target among them; words that come twice.
SOURCES = [[5, 9, 4, 11, 7, 9], [8], [], [6, 6, 12, 9]]
TARGETS = [[7, 10], [5, 13, 4, 9, 11, 11, 6, 8], [6], []]

# Other forms of a system, as lessons ask for them.
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
    """A system, or one of its forms; the one that counts has counted something."""
    chosen = system(name.partition(",")[0])
    config = make_config(chosen.name, scale="tiny", vocab_size=VOCAB)
    torch.manual_seed(seed)
    model = chosen.model(replace(config, **FORMS.get(name, {}) | changes))
    if chosen.counts:
        model.fit(torch.randint(4, VOCAB, (20, 6)).tolist())
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return model.double().eval()


def batch_of(sources=SOURCES, targets=TARGETS, **shape) -> Batch:
    return make_batch(sources, targets, **shape)


@cache
def eight_sentences(*, one_language: bool) -> tuple[Batch, int]:
    """Eight pairs of the toy language, and how many words they know between them.

    For language models both sides are the same, and two words always tell the third.
    """
    chosen, follows = [], {}
    for pair in generate(400, seed=0, length=(4, 6)):
        words = ["<s>", *pair.src, "</s>"]
        triples = {(a, b): c for a, b, c in zip(words, words[1:], words[2:], strict=False)}
        if ("<s>", pair.src[0]) not in follows and all(
            follows.get(two, c) == c for two, c in triples.items()
        ):
            follows |= triples
            chosen.append((pair.src_text, pair.src_text if one_language else pair.tgt_text))
    words = WordTokenizer.from_texts([text for pair in chosen[:8] for text in pair])
    sources, targets = ([words.encode(text) for text in side] for side in zip(*chosen[:8], strict=True))
    return make_batch(sources, targets), words.vocab_size


def started(model: nn.Module, batch: Batch) -> tuple[tuple[Rows, ...], Rows]:
    """What its calls take first, and the state before the first word."""
    if not hasattr(model, "encode"):
        return (), model.start(len(batch.tgt_in))
    memory = model.encode(batch.src, batch.src_lengths)
    return (memory,), model.start(memory)


def decoded(model: nn.Module, batch: Batch, *, with_weights: bool = True) -> tuple[Tensor, Tensor | None]:
    """All at once: logits (batch, tgt, vocab) and weights (batch, layers, heads, tgt, seen)."""
    given, _ = started(model, batch)
    return model.decode(*given, batch.tgt_in, with_weights=with_weights)


def walked(model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor | None]:
    """The same word by word."""
    given, state = started(model, batch)
    logits, weights, n = [], [], batch.tgt_in.shape[1]
    for place, tokens in enumerate(batch.tgt_in.unbind(dim=1)):
        scores, state, looked = model.step(*given, state, tokens, with_weights=True)
        logits.append(scores)
        if model.attends and not given:  # over the words seen so far, the newest last
            assert looked.shape[-1] == place + 1
            looked = F.pad(looked, (0, n - place - 1))
        weights.append(looked)
    return torch.stack(logits, dim=1), torch.stack(weights, dim=3) if model.attends else None


def recited(model: nn.Module, batch: Batch) -> Tensor:
    """The words chosen one after another; a language model is told the sentence's first."""
    given, state = started(model, batch)
    tokens, chosen = batch.tgt_in[:, 0], []
    for _ in range(batch.tgt_in.shape[1]):
        logits, state, _ = model.step(*given, state, tokens)
        tokens = logits.argmax(dim=-1) if chosen or given else batch.tgt_in[:, 1]
        chosen.append(tokens)
    return torch.stack(chosen, dim=1)


def forward(model: nn.Module, batch: Batch) -> Tensor:
    """What training calls."""
    source = (batch.src, batch.src_lengths) if hasattr(model, "encode") else ()
    target = (batch.tgt_in,) if hasattr(model, "step") else ()
    return model(*source, *target)


def said(model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
    """Logits where they count, and what they should say: the next word, or a class for each sentence."""
    if hasattr(model, "step"):
        return forward(model, batch)[batch.counts], batch.tgt_out[batch.counts]
    rows = batch.counts.any(dim=1)
    return forward(model, batch)[rows], batch.src_lengths[rows] % 2


def loss_and_gradients(model: nn.Module, batch: Batch) -> tuple[Tensor, dict[str, Tensor | None]]:
    model.zero_grad()
    loss = F.cross_entropy(*said(model, batch), reduction="sum")
    if loss.requires_grad:
        loss.backward()
    return loss.detach(), {name: parameter.grad for name, parameter in model.named_parameters()}


def close(ours, theirs) -> None:
    torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-11)
