"""The decoder-only Transformer: word by word equals all at once, and the future is unseen."""

from __future__ import annotations

import pytest
import torch

from course_lib.layers.masks import causal_mask
from course_lib.models.transformer import TransformerConfig
from course_lib.models.transformer_lm import TransformerLM

VOCAB, D_MODEL, N_HEADS, N_LAYERS = 19, 12, 3, 2
TEXT = torch.tensor([[2, 5, 6, 7, 3], [2, 9, 3, 0, 0]])
FORMS = [
    {},
    {"pre_norm": False},
    {"positions": "learned"},
    {"positions": "rotary", "n_kv_heads": 1},
    {"tied": False},
    {"norm": "rms", "feed_forward": "swiglu", "positions": "rotary"},
    {"d_k": 2, "d_v": 6},
]


def made(**changes) -> TransformerLM:
    torch.manual_seed(0)
    sizes = {"vocab_size": VOCAB, "d_model": D_MODEL, "n_heads": N_HEADS, "d_ff": 20, "n_layers": N_LAYERS}
    return TransformerLM(TransformerConfig(**{**sizes, "max_len": 8, **changes})).double()


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_word_by_word_equals_all_at_once(form):
    model = made(**form).eval()
    expected, looked = model.decode(TEXT, with_weights=True)
    torch.testing.assert_close(model.decode(TEXT)[0], expected)
    assert looked.shape == (2, N_LAYERS, N_HEADS, 5, 5)
    state = model.start(n_rows=2)
    for at in range(TEXT.shape[1]):
        logits, state, weights = model.step(state, TEXT[:, at], with_weights=True)
        torch.testing.assert_close(logits, expected[:, at])
        torch.testing.assert_close(weights, looked[..., at, : at + 1])


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_the_future_changes_nothing_and_every_parameter_learns(form):
    model = made(**form)
    changed = TEXT.clone()
    changed[:, 3:] = 11
    torch.testing.assert_close(model(changed)[:, :3], model(TEXT)[:, :3], rtol=0, atol=1e-12)
    model(TEXT).square().sum().backward()
    assert all(parameter.grad.ne(0).any() for parameter in model.parameters())


def test_weights_look_at_words_up_to_oneself():
    _, weights = made().decode(TEXT, with_weights=True)
    assert weights[..., ~causal_mask(5)].eq(0).all() and weights[..., causal_mask(5)].gt(0).all()
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones_like(weights[..., 0]))


def test_there_is_no_source_in_it():
    names = [name for name, _ in made(tied=False).named_parameters()]
    assert not any("cross" in name or "source" in name for name in names)


@pytest.mark.slow
def test_no_number_is_read_on_the_way():
    """On the meta device tensors have no numbers: whatever reads one, or makes one elsewhere, fails."""
    model = made().to("meta")
    model(TEXT.to("meta")).sum().backward()
    logits, state, _ = model.step(model.start(n_rows=2), TEXT[:, 0].to("meta"))
    assert logits.is_meta and state["keys"].is_meta


def test_a_text_too_long_is_refused():
    model = made(max_len=4)
    with pytest.raises(ValueError, match="at most 4 tokens"):
        model(TEXT)
    state = model.start(n_rows=2)
    for at in range(4):
        _, state, _ = model.step(state, TEXT[:, at])
    with pytest.raises(ValueError, match=r"at most 4 positions.*up to the 5th"):
        model.step(state, TEXT[:, 4])
