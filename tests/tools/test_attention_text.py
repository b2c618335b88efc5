"""Attention as text: the right tokens, blocks that fit a terminal, shades, and any script."""

from __future__ import annotations

from dataclasses import replace

import torch

from course_lib.models.registry import build, make_config
from course_lib.text.bpe import BpeTokenizer
from course_lib.translation.pipeline import translate
from tools.attention_text import attention_text, every_attention, legend


def test_every_attention_belongs_to_the_generated_tokens():
    """Encoding the translation again would give other pieces than the untrained system generated."""
    tokenizer = BpeTokenizer.from_texts(["the cat sleeps, the dog sleeps"], vocab_size=130)
    torch.manual_seed(0)
    config = make_config("transformer", scale="tiny", vocab_size=tokenizer.vocab_size)
    system = build("transformer", replace(config, dropout=0.5)).train()
    (translation,) = translate(["the cat sleeps"], system, tokenizer, with_weights=True)
    _, decoder, cross = every_attention(system, tokenizer, translation)
    assert system.training
    assert tokenizer.tokens(tokenizer.encode(translation.target)) != list(translation.target_tokens)
    assert decoder.rows[1:] == translation.target_tokens[:-1] and cross.rows == translation.target_tokens
    torch.testing.assert_close(cross.weights, translation.weights)


def test_a_wide_source_continues_in_a_second_block():
    source = [f"word{number}" for number in range(20)]
    text = attention_text(torch.eye(2, 20), source, ["un", "deux"])
    blocks = [block.splitlines() for block in text.split("\n\n")]
    assert len(blocks) == 2 and all(len(line) <= 100 for block in blocks for line in block)
    assert [word for block in blocks for word in block[0].split()] == source
    assert blocks[0][2].index("█") == blocks[0][0].index("word1")


def test_shades_grow_with_the_weights():
    weights = torch.tensor([[0.1, 0.125], [0.25, 0.5], [0.75, 1.0]])
    text = attention_text(weights, ["a", "b"], ["c", "d", "e"])
    shown = [line[3:].split() for line in text.splitlines()[1:]]
    assert shown == [["░░░"], ["▒▒▒", "▓▓▓"], ["███", "███"]]
    assert legend() == "░ ≥ 12.5%   ▒ ≥ 25%   ▓ ≥ 50%   █ ≥ 75%"


def test_words_of_any_script_keep_the_columns_straight():
    text = attention_text(torch.eye(2), ["猫", "e\N{COMBINING ACUTE ACCENT}"], ["chat", "\x1b[31m"])
    assert "\x1b" not in text and "\\x1b[31m" in text  # no text may control the terminal
    assert text.splitlines()[0].strip() == "猫  e\N{COMBINING ACUTE ACCENT}"
