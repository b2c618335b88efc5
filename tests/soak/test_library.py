"""Functions of the library with any shapes: a right answer, or a ValueError or TypeError with a reason."""

from __future__ import annotations

import math
import re

import pytest
import torch
from hypothesis import strategies as st

from course_lib.layers.attention import attend
from course_lib.layers.masks import causal_mask, padding_mask
from course_lib.layers.multi_head import MultiHead, join_heads, multi_head, split_heads
from course_lib.models.registry import SYSTEMS, build, make_config
from course_lib.text.special import EOS, PAD
from course_lib.translation.search import beam_search
from tests.translation.conftest import Markov, markov, sources  # noqa: F401  (fixtures)
from tests.translation.test_search import plain_beam, without_padding

sizes = st.integers(0, 4)
shapes = st.lists(sizes, max_size=4)
dtypes = st.sampled_from([torch.float64, torch.float32, torch.int64, torch.bool])


def numbers(shape: list[int], seed: int, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    values = 3 * torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return values.to(dtype)


def refused(error: Exception) -> None:
    """Torch itself explains what is wrong with two dtypes."""
    assert not isinstance(error, RuntimeError) or re.search("dtype|scalar type", str(error)), (
        f"not explained: {error!r}"
    )
    assert len(str(error)) > 30, f"a message without a reason: {error!r}"


@pytest.mark.soak(weight=2)
def test_attention_of_any_shapes(soak):
    def attend_or_refuse(shapes, kinds, seed):
        *shapes, mask = shapes
        inputs = [numbers(shape, seed + i, kinds[i]) for i, shape in enumerate(shapes)]
        allowed = None if mask is None else numbers(mask, seed) > 0
        try:
            context, weights = attend(*inputs, mask=allowed)
        except (ValueError, TypeError, RuntimeError) as error:
            return refused(error)
        scores = inputs[0] @ inputs[1].mT / math.sqrt(max(1, inputs[0].shape[-1]))
        expected = scores if allowed is None else scores.masked_fill(~allowed, -math.inf)
        expected = expected.softmax(dim=-1).nan_to_num(0.0)
        torch.testing.assert_close(weights, expected, atol=1e-5, rtol=1e-4)
        torch.testing.assert_close(context, expected @ inputs[2], atol=1e-4, rtol=1e-4)

    kinds = st.tuples(dtypes, dtypes, dtypes) | st.just((torch.float64,) * 3)
    fitting = st.tuples(st.lists(st.integers(1, 3), max_size=2), sizes, sizes, sizes, sizes).map(
        lambda s: ([*s[0], s[1], s[3]], [*s[0], s[2], s[3]], [*s[0], s[2], s[4]], [s[1], s[2]])
    )
    arbitrary = st.tuples(shapes, shapes, shapes, st.none() | shapes)
    inputs = {"shapes": fitting | arbitrary, "kinds": kinds, "seed": st.integers(0, 99)}
    soak.search(attend_or_refuse, target=8_000, **inputs)


@pytest.mark.soak(weight=2)
def test_heads_of_any_shapes(soak):
    def split_and_attend(shapes, n_heads, causal, sentences):
        tensors = [numbers(shape, i) for i, shape in enumerate(shapes)]
        try:
            slow, weights = multi_head(*tensors, causal=causal, with_weights=True)
            fast, _ = multi_head(*tensors, causal=causal)
            torch.testing.assert_close(slow, fast)
            assert causal is False or not weights.triu(1).any()
        except (ValueError, TypeError) as error:
            refused(error)
        words = numbers(sentences, 0)
        try:
            torch.testing.assert_close(join_heads(split_heads(words, n_heads=n_heads)), words)
            heads = MultiHead(d_model=words.shape[-1], n_heads=n_heads).double()
            outputs, weights = heads(words, with_weights=True)
            assert outputs.shape == words.shape and torch.isfinite(outputs).all()
            torch.testing.assert_close(weights.sum(-1), torch.ones_like(weights.sum(-1)))
        except (ValueError, TypeError) as error:
            refused(error)

    four = st.tuples(*[st.integers(1, 4)] * 5).map(
        lambda s: ([s[0], s[1], s[2], s[4]], [s[0], s[1], s[3], s[4]], [s[0], s[1], s[3], s[2]])
    )
    inputs = {"shapes": four | st.tuples(shapes, shapes, shapes), "causal": st.booleans()}
    sentences = st.lists(st.integers(1, 8), min_size=2, max_size=4)
    soak.search(split_and_attend, target=5_000, **inputs, n_heads=st.integers(1, 5), sentences=sentences)


@pytest.mark.soak(weight=1)
def test_masks_of_any_size(soak):
    def compare(lengths, n):
        try:
            causal, padding = causal_mask(n), padding_mask(torch.tensor(lengths, dtype=torch.long), n)
        except (ValueError, TypeError) as error:
            return refused(error)
        assert causal.tolist() == [[j <= i for j in range(n)] for i in range(n)]
        assert padding.tolist() == [[[j < length for j in range(n)]] for length in lengths]

    soak.search(compare, target=2_000, lengths=st.lists(st.integers(-3, 9), max_size=4), n=st.integers(0, 8))


@pytest.mark.soak(weight=2)
def test_beam_search_equals_the_plain_loop(soak, sources):  # noqa: F811
    def search(beam, limits, penalty, seed, spread):
        system = Markov(len(limits), seed=seed, spread=spread)
        memory = system.encode(*sources(len(limits)))
        try:
            result = beam_search(
                system, memory, beam=beam, max_len=torch.tensor(limits), length_penalty=penalty
            )
        except (ValueError, TypeError) as error:
            assert min(limits) < 1 or max(limits) > 24 or beam < 1 or penalty < 0
            return refused(error)
        for source, limit in enumerate(limits):
            options = {"beam": beam, "limit": limit, "length_penalty": penalty}
            assert without_padding(result.ids[source]) == plain_beam(system, source, **options)

    inputs = {"beam": st.integers(-1, 6), "limits": st.lists(st.integers(-1, 26), min_size=1, max_size=4)}
    inputs |= {"penalty": st.floats(-0.5, 2), "seed": st.integers(0, 999), "spread": st.floats(0.5, 3)}
    soak.search(search, target=2_000, **inputs)


@pytest.mark.soak(weight=2)
def test_systems_and_padding(soak):
    """More padding changes no output, in any translator of the course."""
    names = [system.name for system in SYSTEMS if system.kind == "translator"]
    torch.manual_seed(0)
    models = {name: build(name, make_config(name, scale="tiny", vocab_size=12)).eval() for name in names}

    @torch.inference_mode()
    def compare(name, rows, tgt, extra):
        lengths = torch.tensor([len(row) + 1 for row in rows])
        src = torch.full((len(rows), int(lengths.max()) + extra), PAD)
        for i, row in enumerate(rows):
            src[i, : len(row) + 1] = torch.tensor([*row, EOS])
        tgt = torch.tensor([tgt] * len(rows))
        padded = models[name].decode(models[name].encode(src, lengths), tgt)[0]
        for i, row in enumerate(rows):
            memory = models[name].encode(src[i : i + 1, : len(row) + 1], lengths[i : i + 1])
            torch.testing.assert_close(
                models[name].decode(memory, tgt[:1])[0][0], padded[i], atol=1e-4, rtol=1e-3
            )

    words = st.integers(4, 11)
    rows = st.lists(st.lists(words, min_size=1, max_size=6), min_size=1, max_size=3)
    tgt = st.lists(words, min_size=1, max_size=4).map(lambda tokens: [2, *tokens])
    inputs = {"name": st.sampled_from(names), "rows": rows, "tgt": tgt, "extra": st.integers(0, 3)}
    soak.search(compare, target=3_000, **inputs)
