"""`translate`: order, batches, limits, every odd thing somebody may type; and attention as text."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from course_lib.models.registry import build, make_config
from course_lib.text.batch import make_batch
from course_lib.text.bpe import BpeTokenizer
from course_lib.text.special import EOS
from course_lib.text.word_tokenizer import WordTokenizer
from course_lib.translation import pipeline as module
from course_lib.translation.pipeline import (
    ALL_UNKNOWN,
    EMPTY,
    SAID_NOTHING,
    Translation,
    by_length,
    clean_text,
    prepare,
    translate,
)
from tools.attention_text import attention_text, every_attention, legend

WORDS = WordTokenizer(["the", "cat", "dog", "sleeps", "le", "chat", "chien", "dort"])
TEXTS = ["the cat sleeps", "dog", "", "the dog the cat the dog sleeps", "the cat sleeps", "cat cat"]


@pytest.fixture(scope="module")
def system():
    torch.manual_seed(3)
    return build("bahdanau", make_config("bahdanau", scale="tiny", vocab_size=WORDS.vocab_size)).train()


@pytest.fixture
def eos_logit(system, monkeypatch):
    """Sets what the system thinks of ending."""

    def set_to(value: float):
        original = type(system).logits

        def logits(self, features):
            found = original(self, features).clone()
            found[..., EOS] = value
            return found

        monkeypatch.setattr(type(system), "logits", logits)

    return set_to


@pytest.mark.parametrize("beam", [1, 3])
def test_order_and_batches_change_nothing(system, beam, monkeypatch):
    alone = [translate([text], system, WORDS, beam=beam, with_weights=True)[0] for text in TEXTS]
    for tokens in (12, 4096):
        monkeypatch.setattr(module, "TOKENS_PER_BATCH", tokens)
        together = translate(TEXTS, system, WORDS, beam=beam, with_weights=True)
        assert [one.source for one in together] == TEXTS
        for one, other in zip(alone, together, strict=True):
            assert one.target_tokens == other.target_tokens
            assert one.notes == other.notes and one.target == other.target
            assert one.score == pytest.approx(other.score, abs=1e-5)
            torch.testing.assert_close(one.weights, other.weights)
    assert system.training and all(part.training for part in system.modules())


def test_tokens_label_the_weights(system):
    (found,) = translate(["the axolotl sleeps $x_1$"], system, WORDS, with_weights=True)
    assert found.source_tokens == ("the", "<unk>", "sleeps", "<unk>", "</s>")
    assert found.source_labels == ("the", "axolotl?", "sleeps", "$x_1$?", "</s>")
    assert found.weights.shape == (1, 1, len(found.target_tokens), 5)
    torch.testing.assert_close(found.weights.sum(dim=-1), torch.ones(1, 1, len(found.target_tokens)))
    assert found.target.split() == [token for token in found.target_tokens if token != "</s>"]
    assert translate(["the cat sleeps"], system, WORDS)[0].weights is None
    pieces = Translation("the 猫", "", ("the", "▁", "<unk>", "</s>"))
    assert pieces.source_labels == pieces.source_tokens, "a piece of a word is not the word"
    assert Translation("", "").source_labels == ()


def test_an_empty_text_has_an_empty_translation(system):
    told = []
    found = translate(["", " \t\n", "... !", "cat"], system, WORDS, with_weights=True, progress=told.append)
    for one in found[:3]:
        assert (one.target, one.target_tokens, one.weights, one.notes) == ("", (), None, (EMPTY,))
        assert one.finished
    assert sum(told) == 4 and translate([], system, WORDS) == []


def test_a_text_too_long_is_cut_and_that_is_said(system):
    longest = system.config.max_len - 1
    fits, cut = translate(["cat " * longest, "cat " * (longest + 5)], system, WORDS)
    assert cut.target == fits.target and len(cut.source_tokens) == system.config.max_len
    assert cut.notes[0] == f"too long: of its {longest + 5} tokens the first {longest} were read"
    assert not any("too long" in note for note in fits.notes)


@pytest.mark.parametrize("beam", [1, 3])
def test_a_translation_that_finds_no_end_is_cut_and_that_is_said(system, eos_logit, beam):
    eos_logit(-1e4)
    short, long = translate(["cat", "cat " * 9], system, WORDS, beam=beam)
    assert short.notes == ("no end after 14 tokens: the translation was cut there",)
    assert long.notes == (f"no end after {system.config.max_len} tokens: the translation was cut there",)
    assert not short.finished and len(short.target_tokens) == 14 and "</s>" not in short.target_tokens
    eos_logit(1e4)
    (found,) = translate(["cat"], system, WORDS, beam=beam)
    assert found.target == "" and found.notes == (SAID_NOTHING,)


def test_words_are_read_as_people_type_them(system):
    assert clean_text("The Cat, sleeps. «dog» chat Zebra", WORDS) == "the cat sleeps dog chat Zebra"
    assert clean_text("the cat  sleeps", WORDS) == "the cat sleeps" and clean_text("... !", WORDS) == ""
    asks = WordTokenizer(["the", "cat", "?"])
    assert clean_text("The CAT?!", asks) == "the cat ?" and clean_text("?", asks) == "?"
    typed, plain = translate(["The Cat, sleeps.", "the cat sleeps"], system, WORDS)
    assert (typed.target, typed.notes) == (plain.target, plain.notes) and typed.source == "The Cat, sleeps."


def test_an_unknown_word_labels_its_weights_though_a_sign_was_parted():
    asks = WordTokenizer(["the", "cat", "?"])
    torch.manual_seed(0)
    system = build("bahdanau", make_config("bahdanau", scale="tiny", vocab_size=asks.vocab_size))
    (found,) = translate(["The axolotl, cat?"], system, asks)
    assert found.source_labels == ("the", "axolotl?", "cat", "?", "</s>")


@pytest.mark.parametrize(
    ("text", "notes"),
    [
        ("the axolotl sleeps", ("read as <unk>: axolotl",)),
        ("кот спит", ("read as <unk>: кот, спит", ALL_UNKNOWN)),
        ("cat \ud800 dog ☃", (r"read as <unk>: \ud800, ☃",)),
        (
            " ".join(f"word{n}" for n in range(12)) + " cat",
            (f"read as <unk>: {', '.join(f'word{n}' for n in range(8))} and 4 more",),
        ),
    ],
)
def test_unknown_words_are_noted(system, text, notes):
    assert prepare(text, WORDS).notes == notes
    (found,) = translate([text], system, WORDS)
    assert found.notes[: len(notes)] == notes and "<unk>" in found.source_tokens


def test_notes_with_subwords():
    tokenizer = BpeTokenizer.from_texts(["the cat sleeps, the dog sleeps"], vocab_size=130)
    assert prepare("the axolotl sleeps", tokenizer).notes == ()
    assert prepare("the 猫 sleeps", tokenizer).notes == ("read as <unk>: 猫",)


def test_batches_keep_to_the_budget_and_lose_nobody():
    lengths = {place: 1 + place * 7 % 13 for place in range(40)}
    batches = list(by_length(lengths, 30))
    assert sorted(place for batch in batches for place in batch) == list(range(40))
    assert all(len(batch) * max(lengths[place] for place in batch) <= 30 for batch in batches)
    assert list(by_length({0: 50}, 30)) == [[0]]


@pytest.mark.parametrize(
    ("text", "tokens", "beam", "sizes"),
    [
        ("the cat sleeps", 24, 1, [6, 1]),  # with EOS 4 tokens
        ("the cat sleeps", 24, 2, [3, 3, 1]),
        ("the cat sleeps", 24, 3, [2, 2, 2, 1]),
        ("cat " * 80, 32, 1, [2, 2, 2, 1]),  # of which 16 are read
    ],
)
def test_what_is_worked_on_together_fits_the_budget(system, monkeypatch, text, tokens, beam, sizes):
    assert system.config.max_len == 16
    monkeypatch.setattr(module, "TOKENS_PER_BATCH", tokens)
    told = []
    translate([text] * 7, system, WORDS, beam=beam, progress=told.append)
    assert told == [0, *sizes]


@pytest.mark.parametrize("beam", [1, 3])
@pytest.mark.parametrize("length_penalty", [0.0, 0.6, 1.0])
def test_the_score_is_the_log_probability_by_the_length_penalty(system, beam, length_penalty):
    (found,) = translate(["the cat sleeps"], system, WORDS, beam=beam, length_penalty=length_penalty)
    ids = [*WORDS.encode(found.target), *[EOS] * found.finished]
    batch = make_batch([WORDS.encode("the cat sleeps")], [ids[:-1]])
    with torch.no_grad():
        each = system.eval()(batch.src, batch.src_lengths, batch.tgt_in)[0].log_softmax(dim=-1)
    system.train()
    total = sum(row[token].item() for row, token in zip(each, ids, strict=True))
    expected = total / ((5 + len(ids)) / 6) ** length_penalty
    assert len(ids) > 1 and found.score == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    ("texts", "tokenizer", "beam", "error", "message"),
    [
        ("the cat", WORDS, 1, TypeError, r"Wrap it: translate\(\[text\]"),
        (["the"], WordTokenizer(["the"]), 1, ValueError, "a tokenizer of 12 tokens, .* but it has 5"),
        (["the cat"], WORDS, 0, ValueError, "a beam of 1 or more .* but got 0"),
    ],
)
def test_what_makes_no_sense_is_refused(system, texts, tokenizer, beam, error, message):
    with pytest.raises(error, match=message):
        translate(texts, system, tokenizer, beam=beam)


# ---- attention as text


def test_every_attention_is_of_the_tokens_that_were_said():
    """Cut to pieces again, what an untrained system says would be other pieces."""
    tokenizer = BpeTokenizer.from_texts(["the cat sleeps, the dog sleeps"], vocab_size=130)
    torch.manual_seed(0)
    config = make_config("transformer", scale="tiny", vocab_size=tokenizer.vocab_size)
    system = build("transformer", replace(config, dropout=0.5)).train()
    (found,) = translate(["the cat sleeps"], system, tokenizer, with_weights=True)
    _, decoder, cross = every_attention(system, tokenizer, found)
    assert system.training
    assert tokenizer.tokens(tokenizer.encode(found.target)) != list(found.target_tokens)
    assert decoder.rows[1:] == found.target_tokens[:-1] and cross.rows == found.target_tokens
    torch.testing.assert_close(cross.weights, found.weights)


def test_a_wide_source_goes_on_in_a_second_block():
    source = [f"word{place}" for place in range(20)]
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
    assert legend() == "░ from 12.5%   ▒ from 25%   ▓ from 50%   █ from 75%"


def test_words_of_any_script_keep_the_columns_straight():
    text = attention_text(torch.eye(2), ["猫", "e\N{COMBINING ACUTE ACCENT}"], ["chat", "\x1b[31m"])
    assert "\x1b" not in text and "\\x1b[31m" in text  # nobody's text may steer the terminal
    assert text.splitlines()[0].strip() == "猫  e\N{COMBINING ACUTE ACCENT}"
