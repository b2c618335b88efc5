"""The LSTMN as a language model: each word attends to all earlier words, but not to itself."""

from __future__ import annotations

import torch

from course_lib.models.lstmn_lm import LSTMNLM, LSTMNLMConfig

TOKENS = torch.tensor([[1, 5, 6, 7, 8], [1, 9, 9, 4, 10]])


def small() -> LSTMNLM:
    torch.manual_seed(0)
    return LSTMNLM(LSTMNLMConfig(vocab_size=12, embed=5, hidden=7, attn_dim=3)).double().eval()


def test_it_is_a_tape_cell_between_embeddings_and_output_layer():
    model = small()
    logits, weights = model.decode(TOKENS, with_weights=True)
    states, _, tape_weights = model.reader.encode(model.words.target(TOKENS), with_weights=True)
    torch.testing.assert_close(logits, model.words.logits(model.output(states)))
    torch.testing.assert_close(weights[:, 0, 0], tape_weights)


def test_a_word_has_no_attention_to_itself():
    model = small()
    _, whole = model.decode(TOKENS, with_weights=True)
    assert whole.shape == (2, 1, 1, 5, 5) and whole[..., 0, :].eq(0).all()
    state = model.start(n_rows=2)
    for position, tokens in enumerate(TOKENS.unbind(dim=1)):
        _, state, weights = model.step(state, tokens, with_weights=True)
        assert weights.shape == (2, 1, 1, position + 1) and weights[..., -1].eq(0).all()
        torch.testing.assert_close(weights, whole[..., position, : position + 1])
