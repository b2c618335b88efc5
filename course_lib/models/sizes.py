"""How large each system is, at three scales: for tests, for the toy language, for Multi30k.

    >>> sizes("transformer", "multi30k")["d_model"]
    256

| scale | vocabulary | translators | language models | for |
|---|---|---|---|---|
| `tiny` | any | a few thousand | a few thousand | tests: built and run in milliseconds |
| `toy` | 680 words | 400,000 parameters | 120,000 | the toy language, on a CPU in minutes |
| `multi30k` | 8,000 subwords | 9.4 million | 3.7 million | real sentences, on a GPU |

Systems that are compared have the same number of parameters, give or take a tenth: a test counts them.
What a system does with its budget is its own affair. An RCTM's encoder has hardly any parameters, so its
decoder is broad; a Transformer has no recurrent matrices and stacks layers instead. Luong's six have one
width, so that nothing but their attention differs.
"""

from __future__ import annotations

from torch import nn

Sizes = dict[str, int | float]

SHARED: dict[str, Sizes] = {
    "tiny": {"dropout": 0.0, "max_len": 16},
    "toy": {"dropout": 0.1, "max_len": 64},
    "multi30k": {"dropout": 0.3, "max_len": 128},
}

TINY: dict[str, Sizes] = {
    "ngram_lm": {"order": 3},
    "mlp_lm": {"embed": 8, "hidden": 16, "window": 3},
    "rnn_lm": {"embed": 8, "hidden": 12},
    "lstm_lm": {"embed": 8, "hidden": 12},
    "gru_lm": {"embed": 8, "hidden": 12},
    "lstmn_lm": {"embed": 8, "hidden": 12, "attn_dim": 8},
    "attention_lm": {"embed": 8, "hidden": 12, "span": 3},
    "key_value_lm": {"embed": 8, "hidden": 12, "span": 3},
    "key_value_predict_lm": {"embed": 8, "hidden": 12, "span": 3},
    "ngram_rnn_lm": {"embed": 8, "hidden": 12},
    "transformer_lm": {"d_model": 8, "n_heads": 2, "d_ff": 16, "n_layers": 2},
    "self_attentive": {"embed": 8, "hidden": 6, "attn_dim": 5, "n_hops": 3, "n_classes": 2},
    "rctm": {"embed": 8, "hidden": 16},
    "rnn_encoder_decoder": {"embed": 8, "hidden": 12},
    "seq2seq": {"embed": 8, "hidden": 12},
    "bahdanau": {"embed": 8, "hidden": 12},
    "luong_dot": {"embed": 8, "hidden": 12},
    "luong_general": {"embed": 8, "hidden": 12},
    "luong_concat": {"embed": 8, "hidden": 12},
    "luong_location": {"embed": 8, "hidden": 12},
    "luong_local_m": {"embed": 8, "hidden": 12, "half_width": 2},
    "luong_local_p": {"embed": 8, "hidden": 12, "half_width": 2},
    "lstmn_shallow": {"embed": 8, "hidden": 12, "attn_dim": 8},
    "lstmn_deep": {"embed": 8, "hidden": 12, "attn_dim": 8},
    "convs2s": {"embed": 8, "hidden": 12, "n_layers": 2},
    "transformer": {"d_model": 8, "n_heads": 2, "d_ff": 16, "n_layers": 2},
}

TOY: dict[str, Sizes] = {
    "ngram_lm": {"order": 3},
    "mlp_lm": {"embed": 64, "hidden": 236},
    "rnn_lm": {"embed": 64, "hidden": 216},
    "lstm_lm": {"embed": 64, "hidden": 104},
    "gru_lm": {"embed": 64, "hidden": 120},
    "lstmn_lm": {"embed": 64, "hidden": 96, "attn_dim": 36},
    "attention_lm": {"embed": 64, "hidden": 84},
    "key_value_lm": {"embed": 64, "hidden": 96},
    "key_value_predict_lm": {"embed": 64, "hidden": 105},
    "ngram_rnn_lm": {"embed": 64, "hidden": 105},
    "transformer_lm": {"d_model": 64, "n_heads": 4, "d_ff": 160, "n_layers": 2},
    "self_attentive": {"embed": 64, "hidden": 48, "attn_dim": 32, "n_hops": 4, "n_classes": 2},
    "rctm": {"embed": 96, "hidden": 444},
    "rnn_encoder_decoder": {"embed": 96, "hidden": 132},
    "seq2seq": {"embed": 96, "hidden": 100},
    "bahdanau": {"embed": 96, "hidden": 96},
    "luong_dot": {"embed": 96, "hidden": 132},
    "luong_general": {"embed": 96, "hidden": 132},
    "luong_concat": {"embed": 96, "hidden": 132},
    "luong_location": {"embed": 96, "hidden": 132},
    "luong_local_m": {"embed": 96, "hidden": 132, "half_width": 5},
    "luong_local_p": {"embed": 96, "hidden": 132, "half_width": 5},
    "lstmn_shallow": {"embed": 96, "hidden": 116, "attn_dim": 64},
    "lstmn_deep": {"embed": 96, "hidden": 128, "attn_dim": 64},
    "convs2s": {"embed": 96, "hidden": 80, "n_layers": 3},
    "transformer": {"d_model": 64, "n_heads": 4, "d_ff": 256, "n_layers": 3},
}

MULTI30K: dict[str, Sizes] = {
    "ngram_lm": {"order": 3},
    "mlp_lm": {"embed": 256, "hidden": 1280},
    "rnn_lm": {"embed": 256, "hidden": 1056},
    "lstm_lm": {"embed": 256, "hidden": 512},
    "gru_lm": {"embed": 256, "hidden": 592},
    "lstmn_lm": {"embed": 256, "hidden": 448, "attn_dim": 256},
    "attention_lm": {"embed": 256, "hidden": 408},
    "key_value_lm": {"embed": 256, "hidden": 480},
    "key_value_predict_lm": {"embed": 256, "hidden": 504},
    "ngram_rnn_lm": {"embed": 256, "hidden": 504},
    "transformer_lm": {"d_model": 256, "n_heads": 4, "d_ff": 1024, "n_layers": 2},
    "self_attentive": {"embed": 256, "hidden": 192, "attn_dim": 128, "n_hops": 6, "n_classes": 2},
    "rctm": {"embed": 256, "hidden": 2352},
    "rnn_encoder_decoder": {"embed": 256, "hidden": 704},
    "seq2seq": {"embed": 256, "hidden": 512},
    "bahdanau": {"embed": 256, "hidden": 512},
    "luong_dot": {"embed": 256, "hidden": 720},
    "luong_general": {"embed": 256, "hidden": 720},
    "luong_concat": {"embed": 256, "hidden": 720},
    "luong_location": {"embed": 256, "hidden": 720},
    "luong_local_m": {"embed": 256, "hidden": 720},
    "luong_local_p": {"embed": 256, "hidden": 720},
    "lstmn_shallow": {"embed": 256, "hidden": 624, "attn_dim": 256},
    "lstmn_deep": {"embed": 256, "hidden": 688, "attn_dim": 256},
    "convs2s": {"embed": 256, "hidden": 352, "n_layers": 4},
    "transformer": {"d_model": 256, "n_heads": 4, "d_ff": 1024, "n_layers": 4},
}

SCALES = {"tiny": TINY, "toy": TOY, "multi30k": MULTI30K}


def n_parameters(model: nn.Module) -> int:
    """How many numbers a system learns; one that is used in several places counts once.

    >>> n_parameters(nn.Linear(3, 2))                       # 3 · 2 weights and 2 biases
    8
    """
    return sum(parameter.numel() for parameter in model.parameters())


def sizes(name: str, scale: str) -> Sizes:
    """The fields of this system's configuration that a scale decides: widths, depths, dropout, `max_len`."""
    if scale not in SCALES:
        raise ValueError(f"There is no scale {scale!r}. There are: {', '.join(SCALES)}.")
    return {**SHARED[scale], **SCALES[scale][name]}
