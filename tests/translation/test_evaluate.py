"""`evaluate` on a system whose answers are known, and each of its measures by hand or against sacreBLEU."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import sacrebleu
import torch

from course_lib.models.registry import build, make_config
from course_lib.text.bpe import BpeTokenizer
from course_lib.text.corpus import Sentences
from course_lib.text.pair import Pair
from course_lib.text.special import EOS
from course_lib.text.toy.generate import generate
from course_lib.text.toy.splits import splits
from course_lib.text.word_tokenizer import WordTokenizer
from course_lib.translation import evaluation as module
from course_lib.translation import pipeline as translate_module
from course_lib.translation.alignment_error import alignment_error, error_rate, links_from
from course_lib.translation.evaluation import evaluate
from course_lib.translation.metrics import bleu, chrf, exact_matches, pronouns_right

OURS = ["le chat dort sur le tapis .", "la fille voit un oiseau", "Il pleut"]
THEIRS = ["le chat dort sur un tapis .", "la petite fille voit un oiseau", "il pleut"]


@pytest.fixture(scope="module")
def pairs():
    return [*splits(sizes={"coreference": 4}).coreference, *generate(12, seed=1, length=(3, 14))]


@pytest.fixture(scope="module")
def tokenizer(pairs):
    return WordTokenizer.from_texts([text for pair in pairs for text in (pair.src_text, pair.tgt_text)])


def system_of(name: str, tokenizer, **changes):
    return build(name, replace(make_config(name, scale="tiny", vocab_size=tokenizer.vocab_size), **changes))


@pytest.fixture
def parrot(markov, tokenizer):
    """Finds the source in a phrase book and says its translation; looks where the gold links say."""

    class Parrot(markov):
        def __init__(self, book):
            super().__init__(1, max_len=64)
            self.config = type(self.config)(vocab_size=tokenizer.vocab_size, max_len=64)
            self.book = {tuple(tokenizer.encode(pair.src_text)): pair for pair in book}

        def read(self, src, src_lengths):
            answers, looks = torch.full((len(src), 64), EOS), torch.zeros(len(src), 64, src.shape[1])
            for row, n in enumerate(src_lengths.tolist()):
                page = self.book[tuple(src[row, : n - 1].tolist())]
                words = tokenizer.encode(page.tgt_text)
                answers[row, : len(words)] = torch.tensor(words)
                looks[row, :, len(page.src)] = 0.1
                for source, target in page.links:
                    looks[row, target, source] = 0.9
            return {"answers": answers, "looks": looks}

        def start(self, memory):
            return {"step": torch.zeros(len(memory["answers"]), dtype=torch.int64)}

        def advance(self, memory, state, tokens, *, with_weights):
            word = memory["answers"].gather(1, state["step"][:, None])[:, 0]
            logits = 20 * torch.nn.functional.one_hot(word, self.config.vocab_size).float()
            return logits, {"step": state["step"] + 1}, None

        def say(self, memory, tgt_in, *, with_weights):
            words = memory["answers"][:, : tgt_in.shape[1]]
            logits = 20 * torch.nn.functional.one_hot(words, self.config.vocab_size).float()
            return logits, memory["looks"][:, None, None, : tgt_in.shape[1]]

    return Parrot


@pytest.mark.parametrize("beam", [1, 2])
def test_a_parrot_with_the_right_book_is_perfect(parrot, pairs, tokenizer, beam, monkeypatch):
    for each in (module, translate_module):
        monkeypatch.setattr(each, "TOKENS_PER_BATCH", 60)
    found, again = (evaluate(parrot(pairs), tokenizer, pairs, beam=beam) for _ in range(2))
    assert found == again  # though the seconds differ
    assert found.bleu.value == found.chrf.value == 100 and found.exact == 1 and found.n_cut == 0
    assert found.n == len(pairs) == sum(part.n for part in found.by_length)
    assert found.translations == tuple(pair.tgt_text for pair in pairs)
    assert found.coreference.share == 1 and found.coreference.n >= 4
    assert found.alignment.producing == found.alignment.floor < 0.1 < found.alignment.reading
    assert {part.name for part in found.by_phenomenon} == set().union(*(pair.phenomena for pair in pairs))
    kept = json.loads(json.dumps(found.to_json()))
    assert set(kept) == {"results", "seconds"} and set(kept["seconds"]) == {"translate", "align"}
    assert kept["results"]["bleu"]["signature"].startswith("nrefs:1|case:mixed")
    assert "translations" not in kept["results"] and kept["results"]["coreference"]["share"] == 1
    table = found.table()
    for expected in (
        "16 (greedy)" if beam == 1 else "16 (beam 2, length penalty 0.6)",
        "BLEU              100.0   nrefs:1",
        "exact match       100.0%",
        "il/elle  ",
        "AER says  ",
        "AER reads  ",
        "\nil/elle    pronouns that have the gender of their noun",
        f"with one link a word, {found.alignment.floor:.1%} is as good as can be",
        "because",
    ):
        assert expected in table
    assert all(line == line.rstrip() and len(line) < 110 for line in table.splitlines())


def test_a_parrot_that_confuses_il_and_elle(parrot, pairs, tokenizer):
    """The two minimal pairs swapped: half of each is right, and no pronoun among them."""
    four = pairs[:4]
    swapped = [replace(four[place], tgt=four[other].tgt) for place, other in enumerate([1, 0, 3, 2])]
    found = evaluate(parrot(swapped), tokenizer, four)
    assert (found.coreference.right, found.coreference.n) == (0, 4)
    assert found.exact == 0 and 50 < found.bleu.value < 100
    assert sum(part.n for part in found.by_length) == 4
    assert all(part.exact == 0 for part in found.by_length)


def test_sentences_from_files_have_scores_and_lengths_only(parrot, pairs, tokenizer):
    sentences = Sentences(tuple(p.src_text for p in pairs), tuple(p.tgt_text.upper() for p in pairs))
    found = evaluate(parrot(pairs), tokenizer, sentences, lowercase=True)
    assert found.exact == 1 and "case:lc" in found.bleu.signature
    assert found.alignment is None and found.coreference is None and found.by_phenomenon == ()
    assert "AER" not in found.table() and "il/elle" not in found.table() and found.by_length
    assert evaluate(parrot(pairs), tokenizer, sentences).exact == 0
    with pytest.raises(ValueError, match="at least one sentence"):
        evaluate(parrot([]), tokenizer, [])


# ---- alignment


def test_alignment_needs_attention_whole_words_and_room(pairs, tokenizer):
    some = pairs[4:8]
    assert evaluate(system_of("seq2seq", tokenizer), tokenizer, some).alignment is None
    pieces = BpeTokenizer.from_texts([pair.src_text for pair in pairs], vocab_size=150)
    assert evaluate(system_of("bahdanau", pieces), pieces, some).alignment is None
    pair = max((one for one in pairs if one.links), key=lambda one: len(one.tgt) - len(one.src))
    assert len(pair.tgt) > len(pair.src)
    for room, fits in ((0, False), (1, True)):  # both sentences and their ends
        system = system_of("bahdanau", tokenizer, max_len=len(pair.tgt) + room)
        assert (evaluate(system, tokenizer, [pair]).alignment is not None) == fits
    found = evaluate(system_of("transformer", tokenizer), tokenizer, some)
    assert len(found.alignment.layers_producing) == len(found.alignment.layers_reading) == 2
    assert 0.3 < found.alignment.producing <= 1 and "layer 2" in found.table()
    assert found.n_cut > 0 and "found no end" in found.table()


def test_what_is_forced_keeps_to_the_budget_on_both_sides(tokenizer, monkeypatch):
    """Four targets of seven words and EOS: with 16 places two at a time, however short their sources are."""
    monkeypatch.setattr(module, "TOKENS_PER_BATCH", 16)
    first = tokenizer.decode([4])
    pair = Pair((first,), (first,) * 7, links=frozenset({(0, 0)}))
    system, shapes = system_of("bahdanau", tokenizer), []
    decode = system.decode

    def noting(memory, tgt_in, *, with_weights):
        shapes.append(tuple(tgt_in.shape))
        return decode(memory, tgt_in, with_weights=with_weights)

    monkeypatch.setattr(system, "decode", noting)
    assert evaluate(system, tokenizer, [pair] * 4).alignment is not None
    assert shapes == [(2, 8), (2, 8)]


def test_alignment_error_by_hand():
    """the cat drank </s> → le chat a bu </s>, two layers of two heads.

    Layer 1 looks at the right word when it says one, layer 2 when it has read one. Of layer 1 four of four
    links are right for producing: AER 0. For reading it gives le→cat, chat→drank, a→drank, bu→(EOS left out,
    all words equal, so the first) the: one right, AER 1 - 2·1/8. Layer 2 the other way round: its row 0 reads
    BOS and looks at "drank"; producing le→drank, chat→the, a→cat, bu→drank: one right.
    """
    gold, eye = {(0, 0), (1, 1), (2, 2), (2, 3)}, torch.eye(4)
    first, second = (eye[list(places)].expand(2, 5, 4) for places in ((0, 1, 2, 2, 3), (2, 0, 1, 2, 2)))
    found = alignment_error([torch.stack([first, second])], [gold], [(3, 4)])
    assert found.layers_producing == (0.0, 0.75) and found.layers_reading == (0.75, 0.0)
    assert found.floor == 0.0
    # The mean of both: rows (the|drank), (the|cat), (cat|drank), drank, (drank|</s>); ties go to the left.
    assert found.producing == error_rate([{(0, 0), (0, 1), (1, 2), (2, 3)}], [gold]) == 0.5
    assert found.reading == error_rate([{(0, 0), (1, 1), (2, 2), (2, 3)}], [gold]) == 0.0
    # of the → du: two gold links, one can be found. 1 - 2·1 / (1 + 2) = 1/3.
    found = alignment_error([torch.ones(1, 1, 2, 3) / 3], [{(0, 0), (1, 0)}], [(2, 1)])
    assert found.floor == found.producing == pytest.approx(1 / 3)


@pytest.mark.parametrize("reading", [False, True])
def test_padding_is_never_linked(reading):
    weights = torch.rand(5, 6, generator=torch.Generator().manual_seed(0))
    wide = torch.cat([weights, torch.ones(5, 3)], dim=1)
    ours, theirs = (links_from(one, n_source=6, n_target=4, reading=reading) for one in (wide, weights))
    assert ours == theirs and {target for _, target in ours} == set(range(4))


# ---- the other measures


@pytest.mark.parametrize("lowercase", [False, True])
def test_equals_sacrebleu(lowercase):
    ours, theirs = ([text.lower() if lowercase else text for text in texts] for texts in (OURS, THEIRS))
    found, found_chrf = bleu(OURS, THEIRS, lowercase=lowercase), chrf(OURS, THEIRS, lowercase=lowercase)
    expected = sacrebleu.corpus_bleu(OURS, [THEIRS], lowercase=lowercase, force=True).score
    assert found.value == pytest.approx(expected) and 0 < found.value < 100
    assert found_chrf.value == pytest.approx(sacrebleu.corpus_chrf(ours, [theirs]).score)
    for signature in (found.signature, found_chrf.signature):
        assert f"case:{'lc' if lowercase else 'mixed'}" in signature and "nrefs:1" in signature
        assert sacrebleu.__version__ in signature
    assert exact_matches([*OURS, " a  b"], [*THEIRS, "a b"], lowercase=lowercase) == [0, 0, lowercase, 1]


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


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bleu(["a"], ["a", "b"]), "as many references, but got 1 and 2"),
        (lambda: chrf([], []), "at least one translation .* but got 0 and 0"),
        (
            lambda: links_from(torch.ones(2, 3), n_source=3, n_target=2, reading=True),
            r"at least \(3, 3\), .* and one more .* but got \(2, 3\)",
        ),
        (lambda: links_from(torch.ones(2, 3), n_source=0, n_target=2), "one or more"),
        (lambda: error_rate([set()], [set()]), "there is none"),
    ],
)
def test_what_cannot_be_compared_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
