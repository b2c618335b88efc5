"""`translate`: order, batches, length limits, and unusual input."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.models.registry import build, make_config
from course_lib.text.batch import make_batch
from course_lib.text.bpe import BpeTokenizer
from course_lib.text.special import EOS
from course_lib.text.word_tokenizer import WordTokenizer
from course_lib.translation import pipeline
from course_lib.translation.pipeline import (
    ALL_UNKNOWN,
    EMPTY,
    NO_OUTPUT,
    Translation,
    by_length,
    clean_text,
    prepare,
    translate,
)
from course_lib.translation.shipped import Shipped, shared
from tools.attention_text import source_labels

WORDS = WordTokenizer(["the", "cat", "dog", "sleeps", "le", "chat", "chien", "dort"])
TEXTS = ["the cat sleeps", "dog", "", "the dog the cat the dog sleeps", "the cat sleeps", "cat cat"]


@pytest.fixture(scope="module")
def system():
    torch.manual_seed(3)
    return build("bahdanau", make_config("bahdanau", scale="tiny", vocab_size=WORDS.vocab_size)).train()


@pytest.fixture
def eos_logit(system, monkeypatch):
    """Sets the logit of EOS at every step."""

    def set_to(value: float):
        original = type(system).logits

        def logits(self, features):
            result = original(self, features).clone()
            result[..., EOS] = value
            return result

        monkeypatch.setattr(type(system), "logits", logits)

    return set_to


@pytest.mark.parametrize("beam", [1, 3])
def test_results_do_not_depend_on_order_or_batches(system, beam, monkeypatch):
    alone = [translate([text], system, WORDS, beam=beam, with_weights=True)[0] for text in TEXTS]
    for tokens in (12, 4096):
        monkeypatch.setattr(pipeline, "TOKENS_PER_BATCH", tokens)
        together = translate(TEXTS, system, WORDS, beam=beam, with_weights=True)
        assert [translation.source for translation in together] == TEXTS
        for expected, actual in zip(alone, together, strict=True):
            assert expected.target_tokens == actual.target_tokens
            assert expected.notes == actual.notes and expected.target == actual.target
            assert expected.score == pytest.approx(actual.score, abs=1e-5)
            torch.testing.assert_close(expected.weights, actual.weights)
    assert system.training and all(part.training for part in system.modules())


def test_tokens_label_the_weights(system):
    (translation,) = translate(["the axolotl sleeps $x_1$"], system, WORDS, with_weights=True)
    assert translation.source_tokens == ("the", "<unk>", "sleeps", "<unk>", "</s>")
    assert source_labels(translation) == ("the", "axolotl?", "sleeps", "$x_1$?", "</s>")
    assert translation.weights.shape == (1, 1, len(translation.target_tokens), 5)
    torch.testing.assert_close(
        translation.weights.sum(dim=-1), torch.ones(1, 1, len(translation.target_tokens))
    )
    assert translation.target.split() == [token for token in translation.target_tokens if token != "</s>"]
    assert translate(["the cat sleeps"], system, WORDS)[0].weights is None
    pieces = Translation("the 猫", "", ("the", "▁", "<unk>", "</s>"))
    assert source_labels(pieces) == pieces.source_tokens, "a piece of a word is not the word"
    assert source_labels(Translation("", "")) == ()


def test_a_shipped_system_translates_with_the_same_options(system):
    shipped, text = Shipped("bahdanau", system, WORDS), "the dog the cat the dog sleeps"
    greedy, beam = (translate([text], system, WORDS, beam=beam)[0] for beam in (1, 4))
    assert shipped(text) == greedy != beam == shipped(text, beam=4)
    assert shipped(text).weights is None and shipped(text, with_weights=True).weights is not None


def test_an_empty_text_has_an_empty_translation(system):
    texts, counts = ["", " \t\n", "... !", "cat"], []
    translations = translate(texts, system, WORDS, with_weights=True, progress=counts.append)
    for empty in translations[:3]:
        assert (empty.target, empty.target_tokens, empty.weights, empty.notes) == ("", (), None, (EMPTY,))
        assert empty.finished
    assert sum(counts) == 4 and translate([], system, WORDS) == []


def test_a_text_too_long_is_truncated_with_a_note(system):
    longest = system.config.max_len - 1
    fits, cut = translate(["cat " * longest, "cat " * (longest + 5)], system, WORDS)
    assert cut.target == fits.target and len(cut.source_tokens) == system.config.max_len
    assert "too long" in cut.notes[0] and f"{longest + 5} " in cut.notes[0] and f"{longest} " in cut.notes[0]
    assert not any("too long" in note for note in fits.notes)


@pytest.mark.parametrize("beam", [1, 3])
def test_a_translation_without_eos_is_cut_off_with_a_note(system, eos_logit, beam):
    eos_logit(-1e4)
    short, long = translate(["cat", "cat " * 9], system, WORDS, beam=beam)
    for translation, limit in ((short, 14), (long, system.config.max_len)):
        (note,) = translation.notes
        assert f"after {limit} tokens" in note
    assert not short.finished and len(short.target_tokens) == 14 and "</s>" not in short.target_tokens
    eos_logit(1e4)
    (translation,) = translate(["cat"], system, WORDS, beam=beam)
    assert translation.target == "" and translation.notes == (NO_OUTPUT,)


def test_capitals_and_punctuation_are_normalised(system):
    assert clean_text("The Cat, sleeps. «dog» chat Zebra", WORDS) == "the cat sleeps dog chat Zebra"
    assert clean_text("the cat  sleeps", WORDS) == "the cat sleeps" and clean_text("... !", WORDS) == ""
    tokenizer = WordTokenizer(["the", "cat", "?"])
    assert clean_text("The CAT?!", tokenizer) == "the cat ?" and clean_text("?", tokenizer) == "?"
    typed, plain = translate(["The Cat, sleeps.", "the cat sleeps"], system, WORDS)
    assert (typed.target, typed.notes) == (plain.target, plain.notes) and typed.source == "The Cat, sleeps."


def test_an_unknown_word_labels_its_weights_after_punctuation_is_split():
    tokenizer = WordTokenizer(["the", "cat", "?"])
    torch.manual_seed(0)
    system = build("bahdanau", make_config("bahdanau", scale="tiny", vocab_size=tokenizer.vocab_size))
    (translation,) = translate(["The axolotl, cat?"], system, tokenizer)
    assert source_labels(translation) == ("the", "axolotl?", "cat", "?", "</s>")


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("the axolotl sleeps", ("<unk>: axolotl",)),
        ("кот спит", ("<unk>: кот, спит", ALL_UNKNOWN)),
        ("cat \ud800 dog ☃", (r"<unk>: \ud800, ☃",)),
        (
            " ".join(f"word{n}" for n in range(12)) + " cat",
            (f"<unk>: {', '.join(f'word{n}' for n in range(8))} and 4 more",),
        ),
    ],
)
def test_unknown_words_are_noted(system, text, ends):
    notes = prepare(text, WORDS).notes
    assert all(note.endswith(end) for note, end in zip(notes, ends, strict=True))
    (translation,) = translate([text], system, WORDS)
    assert translation.notes[: len(notes)] == notes and "<unk>" in translation.source_tokens


def test_notes_with_subwords():
    tokenizer = BpeTokenizer.from_texts(["the cat sleeps, the dog sleeps"], vocab_size=130)
    assert prepare("the axolotl sleeps", tokenizer).notes == ()
    (note,) = prepare("the 猫 sleeps", tokenizer).notes
    assert note.endswith("<unk>: 猫")


def test_batches_respect_the_token_limit_and_contain_every_sentence():
    lengths = {index: 1 + index * 7 % 13 for index in range(40)}
    batches = list(by_length(lengths, 30))
    assert sorted(index for batch in batches for index in batch) == list(range(40))
    assert all(len(batch) * max(lengths[index] for index in batch) <= 30 for batch in batches)
    assert list(by_length({0: 50}, 30)) == [[0]]


@pytest.mark.parametrize(
    ("text", "tokens", "beam", "sizes"),
    [
        ("the cat sleeps", 24, 1, [6, 1]),  # 4 tokens with EOS
        ("the cat sleeps", 24, 2, [3, 3, 1]),
        ("the cat sleeps", 24, 3, [2, 2, 2, 1]),
        ("cat " * 80, 32, 1, [2, 2, 2, 1]),  # truncated to 16
    ],
)
def test_each_batch_respects_the_token_limit_for_any_beam(system, monkeypatch, text, tokens, beam, sizes):
    assert system.config.max_len == 16
    monkeypatch.setattr(pipeline, "TOKENS_PER_BATCH", tokens)
    counts = []
    translate([text] * 7, system, WORDS, beam=beam, progress=counts.append)
    assert counts == [0, *sizes]


@pytest.mark.parametrize("beam", [1, 3])
@pytest.mark.parametrize("length_penalty", [0.0, 0.6, 1.0])
def test_the_score_is_the_log_probability_divided_by_the_length_penalty(system, beam, length_penalty):
    (translation,) = translate(["the cat sleeps"], system, WORDS, beam=beam, length_penalty=length_penalty)
    ids = [*WORDS.encode(translation.target), *[EOS] * translation.finished]
    batch = make_batch([WORDS.encode("the cat sleeps")], [ids[:-1]])
    with torch.no_grad():
        log_probs = system.eval()(batch.src, batch.src_lengths, batch.tgt_in)[0].log_softmax(dim=-1)
    system.train()
    total = sum(row[token].item() for row, token in zip(log_probs, ids, strict=True))
    expected = total / ((5 + len(ids)) / 6) ** length_penalty
    assert len(ids) > 1 and translation.score == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    ("texts", "tokenizer", "beam", "error", "message"),
    [
        ("the cat", WORDS, 1, TypeError, r"translate\(\[text\]"),
        (["the"], WordTokenizer(["the"]), 1, ValueError, "12 tokens, .* has 5"),
        (["the cat"], WORDS, 0, ValueError, "beam of 1 or more .* got 0"),
    ],
)
def test_invalid_arguments_are_rejected(system, texts, tokenizer, beam, error, message):
    with pytest.raises(error, match=message):
        translate(texts, system, tokenizer, beam=beam)


@settings(derandomize=True, deadline=None, max_examples=40, database=None)
@given(
    st.lists(
        st.text(st.characters(codec=None)) | st.text("the cat\ud800\udfff\0\r▁.é", max_size=9), max_size=3
    )
)
def test_a_shipped_system_translates_any_text_and_all_it_shows_can_be_printed(texts):
    """Half a character, which UTF-8 can't encode, is an unknown word; only `source` keeps it as it was."""
    shipped = shared("bahdanau")
    translations = translate(texts, shipped.model, shipped.tokenizer)
    assert [translation.source for translation in translations] == texts
    for translation in translations:
        shown = translation.target, *translation.source_tokens, *translation.target_tokens, *translation.notes
        "".join(shown).encode()
