"""`evaluate` on a system whose answers are known: it says what it was told to say."""

from __future__ import annotations

import doctest
import json
from dataclasses import replace

import pytest
import torch

from course_lib.models.registry import build, make_config
from course_lib.text.bpe import BpeTokenizer
from course_lib.text.corpus import Sentences
from course_lib.text.pair import Pair
from course_lib.text.special import EOS
from course_lib.text.toy.generate import generate
from course_lib.text.toy.splits import splits
from course_lib.text.word_tokenizer import WordTokenizer
from course_lib.translation import evaluate as module
from course_lib.translation import evaluation as outcome_module
from course_lib.translation.coreference import pronouns_right
from course_lib.translation.evaluate import evaluate


@pytest.fixture(scope="module")
def pairs():
    return [*splits(sizes={"coreference": 4}).coreference, *generate(12, seed=1, length=(3, 14))]


@pytest.fixture(scope="module")
def tokenizer(pairs):
    return WordTokenizer.from_texts([text for pair in pairs for text in (pair.src_text, pair.tgt_text)])


@pytest.fixture
def parrot(markov, tokenizer):
    """Finds the source in a phrase book and says its translation; looks where the gold links say."""

    class Parrot(markov):
        def __init__(self, book):
            super().__init__(1, max_len=64)
            self.config = type(self.config)(vocab_size=tokenizer.vocab_size, max_len=64)
            self.book = {tuple(tokenizer.encode(pair.src_text)): pair for pair in book}

        def read(self, src, src_lengths):
            sentences = [
                tuple(row[: n - 1]) for row, n in zip(src.tolist(), src_lengths.tolist(), strict=True)
            ]
            pages = [self.book[sentence] for sentence in sentences]
            answers = torch.full((len(src), 64), EOS)
            looks = torch.zeros(len(src), 64, src.shape[1])
            for row, page in enumerate(pages):
                words = tokenizer.encode(page.tgt_text)
                answers[row, : len(words)] = torch.tensor(words)
                looks[row, :, len(page.src)] = 0.1
                for source, target in page.links:
                    looks[row, target, source] = 0.9
            return {"answers": answers, "looks": looks}

        def start(self, memory):
            return {"step": torch.zeros(len(memory["answers"]), dtype=torch.int64)}

        def step(self, memory, state, tokens, *, with_weights=False):
            word = memory["answers"].gather(1, state["step"][:, None])[:, 0]
            logits = 20 * torch.nn.functional.one_hot(word, self.config.vocab_size).float()
            return logits, {"step": state["step"] + 1}, None

        def say(self, memory, tgt_in, *, with_weights):
            words = memory["answers"][:, : tgt_in.shape[1]]
            logits = 20 * torch.nn.functional.one_hot(words, self.config.vocab_size).float()
            return logits, memory["looks"][:, None, None, : tgt_in.shape[1]]

    return Parrot


@pytest.mark.parametrize("each", [module, outcome_module])
def test_examples_in_docstrings(each):
    outcome = doctest.testmod(each, extraglobs={"torch": torch})
    assert outcome.attempted > 0 and outcome.failed == 0


@pytest.mark.parametrize("beam", [1, 2])
def test_a_parrot_with_the_right_book_is_perfect(parrot, pairs, tokenizer, beam):
    found = evaluate(parrot(pairs), tokenizer, pairs, beam=beam, tokens_per_batch=60)
    assert found.bleu.value == found.chrf.value == 100 and found.exact == 1 and found.n_cut == 0
    assert found.n == len(pairs) == sum(part.n for part in found.by_length)
    assert found.translations == tuple(pair.tgt_text for pair in pairs)
    assert found.coreference.share == 1 and found.coreference.n >= 4
    assert found.alignment.producing == found.alignment.floor < 0.1 < found.alignment.reading
    assert {part.name for part in found.by_phenomenon} == set().union(*(pair.phenomena for pair in pairs))


def test_a_parrot_that_confuses_il_and_elle(parrot, pairs, tokenizer):
    """The two minimal pairs swapped: half of each is right, and no pronoun among them."""
    four = pairs[:4]
    swapped = [
        Pair(pair.src, other.tgt, pair.links, pair.phenomena, pair.antecedents)
        for pair, other in zip(four, [four[1], four[0], four[3], four[2]], strict=True)
    ]
    found = evaluate(parrot(swapped), tokenizer, four)
    assert (found.coreference.right, found.coreference.n) == (0, 4)
    assert found.exact == 0 and 50 < found.bleu.value < 100
    assert sum(part.n for part in found.by_length) == 4
    assert all(part.exact == 0 for part in found.by_length)


def test_json_table_and_equality(parrot, pairs, tokenizer):
    system = parrot(pairs)
    found, again = (evaluate(system, tokenizer, pairs) for _ in range(2))
    assert found == again  # though the seconds differ
    kept = json.loads(json.dumps(found.to_json()))
    assert set(kept) == {"results", "seconds"} and set(kept["seconds"]) == {"translate", "align"}
    assert kept["results"]["bleu"]["signature"].startswith("nrefs:1|case:mixed")
    assert "translations" not in kept["results"]
    assert found.to_json(with_translations=True)["results"]["translations"] == found.translations
    table = found.table()
    for expected in (
        "16 (greedy)",
        "BLEU",
        "100.0",
        "exact match",
        "il/elle  ",
        "AER says  ",
        "AER reads  ",
        "\nil/elle    pronouns that have the gender of their noun",
        "alignment error rate",
        f"with one link a word, {found.alignment.floor:.1%} is as good as can be",
        "because",
    ):
        assert expected in table
    assert all(line == line.rstrip() and len(line) < 110 for line in table.splitlines())


def test_sentences_from_files_have_scores_and_lengths_only(parrot, pairs, tokenizer):
    sentences = Sentences(tuple(p.src_text for p in pairs), tuple(p.tgt_text.upper() for p in pairs))
    found = evaluate(parrot(pairs), tokenizer, sentences, lowercase=True)
    assert found.exact == 1 and "case:lc" in found.bleu.signature
    assert found.alignment is None and found.coreference is None and found.by_phenomenon == ()
    assert "AER" not in found.table() and "il/elle" not in found.table() and found.by_length
    assert evaluate(parrot(pairs), tokenizer, sentences).exact == 0


def test_no_alignment_without_attention_or_with_subwords(pairs, tokenizer):
    blind = build("seq2seq", make_config("seq2seq", scale="tiny", vocab_size=tokenizer.vocab_size))
    assert evaluate(blind, tokenizer, pairs[4:8]).alignment is None
    pieces = BpeTokenizer.from_texts([pair.src_text for pair in pairs], vocab_size=150)
    system = build("bahdanau", make_config("bahdanau", scale="tiny", vocab_size=pieces.vocab_size))
    assert evaluate(system, pieces, pairs[4:8]).alignment is None


def test_a_registered_system_has_an_alignment_error(pairs, tokenizer):
    system = build("transformer", make_config("transformer", scale="tiny", vocab_size=tokenizer.vocab_size))
    found = evaluate(system, tokenizer, pairs)
    assert len(found.alignment.layers_producing) == len(found.alignment.layers_reading) == 2
    assert 0.3 < found.alignment.producing <= 1 and "layer 2" in found.table()
    assert found.n_cut > 0 and "found no end" in found.table()


def test_the_alignment_needs_room_for_both_sentences_and_their_ends(pairs, tokenizer):
    pair = max((one for one in pairs if one.links), key=lambda one: len(one.tgt) - len(one.src))
    assert len(pair.tgt) > len(pair.src)
    usual = make_config("bahdanau", scale="tiny", vocab_size=tokenizer.vocab_size)
    for room, fits in ((0, False), (1, True)):
        system = build("bahdanau", replace(usual, max_len=len(pair.tgt) + room))
        assert (evaluate(system, tokenizer, [pair]).alignment is not None) == fits


def test_what_is_forced_keeps_to_the_budget_on_both_sides(tokenizer, monkeypatch):
    """Four targets of seven words and EOS: with 16 places two at a time, however short their sources are."""
    first = tokenizer.decode([4])
    pair = Pair((first,), (first,) * 7, links=frozenset({(0, 0)}))
    system = build("bahdanau", make_config("bahdanau", scale="tiny", vocab_size=tokenizer.vocab_size))
    shapes, decode = [], system.decode

    def noting(memory, tgt_in, *, with_weights):
        shapes.append(tuple(tgt_in.shape))
        return decode(memory, tgt_in, with_weights=with_weights)

    monkeypatch.setattr(system, "decode", noting)
    assert evaluate(system, tokenizer, [pair] * 4, tokens_per_batch=16).alignment is not None
    assert shapes == [(2, 8), (2, 8)]


def test_pronouns_are_compared_in_turn():
    pair = Pair(
        ("she", "saw", "it", "because", "it", "was", "red"),
        ("elle", "a", "vu", "parce", "qu'", "il", "était", "rouge"),
        links=frozenset({(0, 0), (4, 5)}),
        antecedents=((4, 2),),
    )
    assert pronouns_right(pair, "elle a vu parce qu' il était rouge") == [True]
    assert pronouns_right(pair, "Elle a vu parce qu' elle était rouge") == [False]
    assert pronouns_right(pair, "Elle a vu parce qu' IL était rouge") == [True]  # in letters of any size
    assert pronouns_right(pair, "il") == [False]  # there is no second one
    assert pronouns_right(Pair(("he",), ("il",), frozenset({(0, 0)})), "elle") == []  # its noun is elsewhere


def test_nothing_to_evaluate_is_refused(parrot, tokenizer):
    with pytest.raises(ValueError, match="at least one sentence"):
        evaluate(parrot([]), tokenizer, [])
