"""`translate`: order, batches, limits, and every odd thing somebody may type."""

from __future__ import annotations

import doctest

import pytest
import torch

from course_lib.models.registry import build, make_config
from course_lib.text.batch import make_batch
from course_lib.text.bpe import BpeTokenizer
from course_lib.text.special import EOS
from course_lib.text.word_tokenizer import WordTokenizer
from course_lib.translation import notes
from course_lib.translation import translate as module
from course_lib.translation.notes import ALL_UNKNOWN, EMPTY, SAID_NOTHING, notes_on, plainly
from course_lib.translation.translate import Translation, by_length, translate

WORDS = WordTokenizer(["the", "cat", "dog", "sleeps", "le", "chat", "chien", "dort"])
TEXTS = ["the cat sleeps", "dog", "", "the dog the cat the dog sleeps", "the cat sleeps", "cat cat"]


@pytest.fixture(scope="module")
def system():
    torch.manual_seed(3)
    return build("bahdanau", make_config("bahdanau", scale="tiny", vocab_size=WORDS.vocab_size))


@pytest.mark.parametrize("each", [module, notes])
def test_examples_in_docstrings(each):
    outcome = doctest.testmod(each, extraglobs={"torch": torch})
    assert outcome.attempted > 0 and outcome.failed == 0


@pytest.mark.slow
@pytest.mark.parametrize("beam", [1, 3])
@pytest.mark.parametrize("tokens_per_batch", [12, 4096])
def test_order_and_batches_change_nothing(system, beam, tokens_per_batch):
    alone = [translate([text], system, WORDS, beam=beam, with_weights=True)[0] for text in TEXTS]
    together = translate(
        TEXTS, system, WORDS, beam=beam, with_weights=True, tokens_per_batch=tokens_per_batch
    )
    for one, other in zip(alone, together, strict=True):
        assert one.source == other.source and one.target_tokens == other.target_tokens
        assert one.notes == other.notes and one.target == other.target
        assert one.score == pytest.approx(other.score, abs=1e-5)
        if one.weights is not None:
            torch.testing.assert_close(one.weights, other.weights)
    assert [one.source for one in together] == TEXTS


def test_tokens_label_the_weights(system):
    (found,) = translate(["the cat sleeps"], system, WORDS, with_weights=True)
    assert found.source_tokens == ("the", "cat", "sleeps", "</s>")
    assert found.weights.shape == (1, 1, len(found.target_tokens), 4)
    torch.testing.assert_close(found.weights.sum(dim=-1), torch.ones(1, 1, len(found.target_tokens)))
    assert found.target.split() == [token for token in found.target_tokens if token != "</s>"]
    assert translate(["the cat sleeps"], system, WORDS)[0].weights is None


def test_the_system_stays_in_its_mode(system):
    system.train()
    translate(TEXTS, system, WORDS, beam=2)
    assert system.training and all(part.training for part in system.modules())


def test_an_empty_text_has_an_empty_translation(system):
    told = []
    found = translate(["", " \t\n", "cat"], system, WORDS, with_weights=True, progress=told.append)
    for one in found[:2]:
        assert (one.target, one.target_tokens, one.weights, one.notes) == ("", (), None, (EMPTY,))
        assert one.finished
    assert sum(told) == 3 and translate([], system, WORDS) == []


def test_a_text_too_long_is_cut_and_that_is_said(system):
    longest = system.config.max_len - 1
    (fits,) = translate(["cat " * longest], system, WORDS)
    (cut,) = translate(["cat " * (longest + 5)], system, WORDS)
    assert cut.target == fits.target and len(cut.source_tokens) == system.config.max_len
    assert cut.notes[0] == f"too long: of its {longest + 5} tokens the first {longest} were read"
    assert not any("too long" in note for note in fits.notes)


def test_a_translation_that_finds_no_end_is_cut_and_that_is_said(system, monkeypatch):
    original = type(system).logits

    def never_ends(self, features):
        logits = original(self, features).clone()
        logits[..., EOS] = -1e4
        return logits

    monkeypatch.setattr(type(system), "logits", never_ends)
    for beam in (1, 3):
        short, long = translate(["cat", "cat " * 9], system, WORDS, beam=beam)
        assert short.notes == ("no end after 14 tokens: the translation was cut there",)
        assert long.notes == (f"no end after {system.config.max_len} tokens: the translation was cut there",)
        assert not short.finished and len(short.target_tokens) == 14 and "</s>" not in short.target_tokens


def test_a_system_that_says_nothing_is_spoken_of(system, monkeypatch):
    original = type(system).logits

    def ends_at_once(self, features):
        logits = original(self, features).clone()
        logits[..., EOS] = 1e4
        return logits

    (before,) = translate(["cat"], system, WORDS)
    assert SAID_NOTHING not in before.notes
    monkeypatch.setattr(type(system), "logits", ends_at_once)
    for beam in (1, 3):
        (found,) = translate(["cat"], system, WORDS, beam=beam)
        assert found.target == "" and found.notes == (SAID_NOTHING,)


def test_words_are_read_as_people_type_them(system):
    assert plainly("The Cat, sleeps. «dog» chat Zebra", WORDS) == "the cat sleeps dog chat Zebra"
    assert plainly("the cat  sleeps", WORDS) == "the cat sleeps" and plainly("... !", WORDS) == ""
    asks = WordTokenizer(["the", "cat", "?"])
    assert plainly("The CAT?!", asks) == "the cat ?" and plainly("?", asks) == "?"
    (typed,) = translate(["The Cat, sleeps."], system, WORDS)
    (plain,) = translate(["the cat sleeps"], system, WORDS)
    assert (typed.target, typed.notes) == (plain.target, plain.notes) and typed.source == "The Cat, sleeps."
    assert notes_on("axolotl ... !", WORDS) == ("read as <unk>: axolotl, ..., !", ALL_UNKNOWN)
    assert translate(["... !"], system, WORDS)[0].notes == (EMPTY,)


def test_labels_show_unknown_words_as_they_were_typed(system):
    (found,) = translate(["the axolotl sleeps $x_1$"], system, WORDS)
    assert found.source_tokens == ("the", "<unk>", "sleeps", "<unk>", "</s>")
    assert found.source_labels == ("the", "axolotl?", "sleeps", "$x_1$?", "</s>")
    pieces = Translation("the 猫", "", ("the", "▁", "<unk>", "</s>"))
    assert pieces.source_labels == pieces.source_tokens, "a piece of a word is not the word"
    assert Translation("", "").source_labels == ()


def test_unknown_words_and_other_scripts_are_noted(system):
    found = translate(["the axolotl sleeps", "кот спит", "cat \ud800 dog", "cat ☃"], system, WORDS)
    assert found[0].notes[0] == "read as <unk>: axolotl" and found[0].source_tokens[1] == "<unk>"
    assert found[1].notes[:3] == (
        "read as <unk>: кот, спит",
        "in a script this vocabulary was not made for: Cyrillic",
        ALL_UNKNOWN,
    )
    assert found[2].notes[0].startswith("read as <unk>")
    assert found[3].notes[0] == "read as <unk>: ☃"


def test_notes_with_subwords():
    tokenizer = BpeTokenizer.from_texts(["the cat sleeps, the dog sleeps"], vocab_size=130)
    assert notes_on("the axolotl sleeps", tokenizer) == ()
    assert notes_on("the 猫 sleeps", tokenizer) == (
        "read as <unk>: 猫",
        "in a script this vocabulary was not made for: CJK",
    )


def test_many_unknown_words_are_counted():
    text = " ".join(f"word{n}" for n in range(12))
    assert notes_on(text, WORDS)[0].endswith("word7 and 4 more")


def test_batches_keep_to_the_budget_and_lose_nobody():
    lengths = {place: 1 + place * 7 % 13 for place in range(40)}
    batches = list(by_length(lengths, 30))
    assert sorted(place for batch in batches for place in batch) == list(range(40))
    assert all(len(batch) * max(lengths[place] for place in batch) <= 30 for batch in batches)
    assert list(by_length({0: 50}, 30)) == [[0]]


@pytest.mark.parametrize(("beam", "sizes"), [(1, [6, 1]), (2, [3, 3, 1]), (3, [2, 2, 2, 1])])
def test_a_wide_beam_takes_fewer_sentences_at_a_time(system, beam, sizes):
    """With EOS they have 4 tokens each, and there are 24 places."""
    told = []
    translate(["the cat sleeps"] * 7, system, WORDS, beam=beam, tokens_per_batch=24, progress=told.append)
    assert told == sizes


def test_of_a_text_too_long_what_is_read_takes_room_and_no_more(system):
    told, longest = [], system.config.max_len
    translate(["cat " * 5 * longest] * 4, system, WORDS, tokens_per_batch=2 * longest, progress=told.append)
    assert told == [2, 2]


@pytest.mark.parametrize("beam", [1, 3])
@pytest.mark.parametrize("length_penalty", [0.0, 0.6, 1.0])
def test_the_score_is_the_log_probability_by_the_length_penalty(system, beam, length_penalty):
    (found,) = translate(["the cat sleeps"], system, WORDS, beam=beam, length_penalty=length_penalty)
    ids = [*WORDS.encode(found.target), *[EOS] * found.finished]
    batch = make_batch([WORDS.encode("the cat sleeps")], [ids[:-1]])
    with torch.no_grad():
        each = system.eval()(batch.src, batch.src_lengths, batch.tgt_in)[0].log_softmax(dim=-1)
    total = sum(row[token].item() for row, token in zip(each, ids, strict=True))
    assert len(ids) > 1 and found.score == pytest.approx(
        total / ((5 + len(ids)) / 6) ** length_penalty, rel=1e-5
    )


def test_what_makes_no_sense_is_refused(system):
    with pytest.raises(TypeError, match=r"Wrap it: translate\(\[text\]"):
        translate("the cat", system, WORDS)
    with pytest.raises(ValueError, match=r"a tokenizer of 12 tokens, .* but it has 5"):
        translate(["the"], system, WordTokenizer(["the"]))
    for option in ({"beam": 0}, {"tokens_per_batch": 0}):
        with pytest.raises(ValueError, match="of 1 or more, but got 0"):
            translate(["the cat"], system, WORDS, **option)
