"""`evaluate` on a system with known outputs, and each metric by hand or compared with sacreBLEU."""

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
from course_lib.translation import evaluation, pipeline
from course_lib.translation.alignment_error import alignment_error, error_rate, links_from
from course_lib.translation.evaluation import evaluate
from course_lib.translation.metrics import bleu, chrf, exact_matches, pronouns_right
from course_lib.translation.pipeline import translate
from tools.evaluation_report import evaluation_json, evaluation_table

TRANSLATIONS = ["le chat dort sur le tapis .", "la fille voit un oiseau", "Il pleut"]
REFERENCES = ["le chat dort sur un tapis .", "la petite fille voit un oiseau", "il pleut"]


@pytest.fixture(scope="module")
def pairs():
    return [*splits(sizes={"coreference": 4}).coreference, *generate(12, seed=1, length=(3, 14))]


@pytest.fixture(scope="module")
def tokenizer(pairs):
    return WordTokenizer.from_texts([text for pair in pairs for text in (pair.src_text, pair.tgt_text)])


def system_of(name: str, tokenizer, **changes):
    return build(name, replace(make_config(name, scale="tiny", vocab_size=tokenizer.vocab_size), **changes))


@pytest.fixture
def phrase_book(markov, tokenizer):
    """A system that looks each source up in a list of pairs and attends along the gold links."""

    class PhraseBook(markov):
        def __init__(self, pairs):
            super().__init__(1, max_len=64)
            self.config = type(self.config)(vocab_size=tokenizer.vocab_size, max_len=64)
            self.pairs = {tuple(tokenizer.encode(pair.src_text)): pair for pair in pairs}

        def read(self, src, src_lengths):
            outputs, weights = torch.full((len(src), 64), EOS), torch.zeros(len(src), 64, src.shape[1])
            for row, n in enumerate(src_lengths.tolist()):
                pair = self.pairs[tuple(src[row, : n - 1].tolist())]
                words = tokenizer.encode(pair.tgt_text)
                outputs[row, : len(words)] = torch.tensor(words)
                weights[row, :, len(pair.src)] = 0.1
                for source, target in pair.links:
                    weights[row, target, source] = 0.9
            return {"outputs": outputs, "weights": weights}

        def start(self, memory):
            return {"step": torch.zeros(len(memory["outputs"]), dtype=torch.int64)}

        def advance(self, memory, state, tokens, *, with_weights):
            word = memory["outputs"].gather(1, state["step"][:, None])[:, 0]
            logits = 20 * torch.nn.functional.one_hot(word, self.config.vocab_size).float()
            return logits, {"step": state["step"] + 1}, None

        def say(self, memory, tgt_in, *, with_weights):
            words = memory["outputs"][:, : tgt_in.shape[1]]
            logits = 20 * torch.nn.functional.one_hot(words, self.config.vocab_size).float()
            return logits, memory["weights"][:, None, None, : tgt_in.shape[1]]

    return PhraseBook


@pytest.mark.parametrize("beam", [1, 2])
def test_a_system_with_all_references_is_perfect(phrase_book, pairs, tokenizer, beam, monkeypatch):
    for module in (evaluation, pipeline):
        monkeypatch.setattr(module, "TOKENS_PER_BATCH", 60)
    result, again = (evaluate(phrase_book(pairs), tokenizer, pairs, beam=beam) for _ in range(2))
    assert result == again
    assert result.bleu.value == result.chrf.value == 100 and result.exact == 1 and result.n_cut == 0
    counts, lengths = {part.name: part.n for part in result.by_length}, [pair.length for pair in pairs]
    assert result.n == len(pairs) == sum(counts.values())
    assert counts["1–5"] == sum(n <= 5 for n in lengths) and counts["6–10"] == sum(
        5 < n <= 10 for n in lengths
    )
    assert result.translations == tuple(pair.tgt_text for pair in pairs)
    assert result.coreference.fraction == 1 and result.coreference.n >= 4
    assert result.alignment.producing == result.alignment.floor < 0.1 < result.alignment.reading
    assert {part.name for part in result.by_phenomenon} == set().union(*(pair.phenomena for pair in pairs))
    loaded = json.loads(json.dumps(evaluation_json(result)))
    assert loaded["bleu"]["signature"].startswith("nrefs:1|case:mixed")
    assert "translations" not in loaded and loaded["coreference"]["share"] == 1
    table = evaluation_table(result)
    for expected in (
        "16 (greedy)" if beam == 1 else "16 (beam 2, length penalty 0.6)",
        "BLEU              100.0   nrefs:1",
        "exact match       100.0%",
        "\nil/elle  ",
        "\nAER producing  ",
        "\nAER reading  ",
        f"{result.alignment.floor:.1%}",
        "because",
    ):
        assert expected in table
    assert table.count("\nil/elle  ") == 2, "a row and its explanation"
    assert all(line == line.rstrip() and len(line) < 110 for line in table.splitlines())


def test_a_system_that_confuses_il_and_elle(phrase_book, pairs, tokenizer):
    """The targets of two minimal pairs are swapped: about half of the words are right, but no pronoun."""
    four = pairs[:4]
    swapped = [replace(four[index], tgt=four[other].tgt) for index, other in enumerate([1, 0, 3, 2])]
    result = evaluate(phrase_book(swapped), tokenizer, four)
    assert (result.coreference.right, result.coreference.n) == (0, 4)
    assert result.exact == 0 and 50 < result.bleu.value < 100
    assert sum(part.n for part in result.by_length) == 4
    assert all(part.exact == 0 for part in result.by_length)


def test_sentences_from_files_have_only_scores_and_lengths(phrase_book, pairs, tokenizer):
    sentences = Sentences(tuple(p.src_text for p in pairs), tuple(p.tgt_text.upper() for p in pairs))
    result = evaluate(phrase_book(pairs), tokenizer, sentences, lowercase=True)
    assert result.exact == 1 and "case:lc" in result.bleu.signature
    assert result.alignment is None and result.coreference is None and result.by_phenomenon == ()
    table = evaluation_table(result)
    assert "AER" not in table and "il/elle" not in table
    assert {(part.exact, part.bleu) for part in result.by_length} == {(1.0, 100.0)}
    assert evaluate(phrase_book(pairs), tokenizer, sentences).exact == 0
    with pytest.raises(ValueError, match="at least one sentence"):
        evaluate(phrase_book([]), tokenizer, [])


def test_evaluate_searches_as_translate_does(pairs, tokenizer):
    torch.manual_seed(0)
    system, sources, outputs = system_of("bahdanau", tokenizer), [pair.src_text for pair in pairs], set()
    for options in ({"beam": 1}, {"beam": 3, "length_penalty": 0.0}, {"beam": 3, "length_penalty": 5.0}):
        translations = translate(sources, system, tokenizer, **options)
        result = evaluate(system, tokenizer, pairs, **options)
        assert result.translations == tuple(translation.target for translation in translations)
        outputs.add(result.translations)
    assert len(outputs) == 3


# ---- alignment


def test_alignment_needs_attention_whole_words_and_sentences_that_fit(pairs, tokenizer):
    some = pairs[4:8]
    assert evaluate(system_of("seq2seq", tokenizer), tokenizer, some).alignment is None
    pieces = BpeTokenizer.from_texts([pair.src_text for pair in pairs], vocab_size=150)
    assert evaluate(system_of("bahdanau", pieces), pieces, some).alignment is None
    pair = max((pair for pair in pairs if pair.links), key=lambda pair: len(pair.tgt) - len(pair.src))
    assert len(pair.tgt) > len(pair.src)
    for extra, fits in ((0, False), (1, True)):  # EOS needs a position too
        system = system_of("bahdanau", tokenizer, max_len=len(pair.tgt) + extra)
        assert (evaluate(system, tokenizer, [pair]).alignment is not None) == fits
    result = evaluate(system_of("transformer", tokenizer), tokenizer, some)
    assert len(result.alignment.layers_producing) == len(result.alignment.layers_reading) == 2
    assert 0.3 < result.alignment.producing <= 1 and "layer 1" in evaluation_table(result)
    assert result.n_cut > 0 and f"{result.n_cut} cut off" in evaluation_table(result)


def test_forced_batches_respect_the_token_limit_on_both_sides(tokenizer, monkeypatch):
    """Four targets of seven words and EOS: 16 tokens allow two at a time, however short their sources are."""
    monkeypatch.setattr(evaluation, "TOKENS_PER_BATCH", 16)
    word = tokenizer.decode([4])
    pair = Pair((word,), (word,) * 7, links=frozenset({(0, 0)}))
    system, shapes = system_of("bahdanau", tokenizer), []
    decode = system.decode

    def record_shape(memory, tgt_in, *, with_weights):
        shapes.append(tuple(tgt_in.shape))
        return decode(memory, tgt_in, with_weights=with_weights)

    monkeypatch.setattr(system, "decode", record_shape)
    assert evaluate(system, tokenizer, [pair] * 4).alignment is not None
    assert shapes == [(2, 8), (2, 8)]


def test_alignment_error_by_hand():
    """the cat drank </s> → le chat a bu </s>, two layers of two heads.

    Layer 0 attends to the right word at the step that predicts it, layer 1 at the step that reads it. In
    layer 0 all four links are right for producing: AER 0. For reading it gives le→cat, chat→drank, a→drank,
    bu→the (EOS is left out and all words are equal, so the first wins): one right, AER 1 - 2·1/8. Layer 1 is
    the other way round: its row 0 reads BOS and attends to "drank"; producing le→drank, chat→the, a→cat,
    bu→drank: one right.
    """
    gold, eye = {(0, 0), (1, 1), (2, 2), (2, 3)}, torch.eye(4)
    first, second = (eye[list(columns)].expand(2, 5, 4) for columns in ((0, 1, 2, 2, 3), (2, 0, 1, 2, 2)))
    result = alignment_error([torch.stack([first, second])], [gold], [(3, 4)])
    assert result.layers_producing == (0.0, 0.75) and result.layers_reading == (0.75, 0.0)
    assert result.floor == 0.0
    # The mean of both layers has rows (the|drank), (the|cat), (cat|drank), drank, (drank|</s>).
    # Of equal weights the first wins.
    assert result.producing == error_rate([{(0, 0), (0, 1), (1, 2), (2, 3)}], [gold]) == 0.5
    assert result.reading == error_rate([{(0, 0), (1, 1), (2, 2), (2, 3)}], [gold]) == 0.0
    # of the → du: two gold links, of which one can be predicted. 1 - 2·1 / (1 + 2) = 1/3.
    result = alignment_error([torch.ones(1, 1, 2, 3) / 3], [{(0, 0), (1, 0)}], [(2, 1)])
    assert result.floor == result.producing == pytest.approx(1 / 3)


@pytest.mark.parametrize("reading", [False, True])
def test_padding_is_never_linked(reading):
    weights = torch.rand(5, 6, generator=torch.Generator().manual_seed(0))
    wide = torch.cat([weights, torch.ones(5, 3)], dim=1)
    padded, links = (links_from(w, n_source=6, n_target=4, reading=reading) for w in (wide, weights))
    assert padded == links and {target for _, target in links} == set(range(4))


# ---- the other metrics


def test_each_length_belongs_to_one_group_even_0():
    groups = evaluation.length_groups([0, 1, 5, 6, 40, 41])
    assert groups == {"1–5": [0, 1, 2], "6–10": [3], "31–40": [4], "41 and more": [5]}


@pytest.mark.parametrize("lowercase", [False, True])
def test_scores_equal_sacrebleu(lowercase):
    lowered = [[text.lower() if lowercase else text for text in side] for side in (TRANSLATIONS, REFERENCES)]
    our_bleu, our_chrf = (metric(TRANSLATIONS, REFERENCES, lowercase=lowercase) for metric in (bleu, chrf))
    expected = sacrebleu.corpus_bleu(TRANSLATIONS, [REFERENCES], lowercase=lowercase, force=True).score
    assert our_bleu.value == pytest.approx(expected) and 0 < our_bleu.value < 100
    assert our_chrf.value == pytest.approx(sacrebleu.corpus_chrf(lowered[0], [lowered[1]]).score)
    for signature in (our_bleu.signature, our_chrf.signature):
        assert f"case:{'lc' if lowercase else 'mixed'}" in signature and "nrefs:1" in signature
        assert sacrebleu.__version__ in signature
    matches = exact_matches([*TRANSLATIONS, " a  b"], [*REFERENCES, "a b"], lowercase=lowercase)
    assert matches == [0, 0, lowercase, 1]


def test_bleu_splits_punctuation_off_as_in_published_scores_and_heeds_case():
    """The tokenisation "13a", that of WMT. Every other one of sacreBLEU gives another score here."""
    translations = ["Le chat dort sur le tapis rouge, aujourd’hui.", "Il coûte 3.5 €, dit-on ici."]
    references = ["Le chat dort sur le tapis vert , aujourd’hui .", "Il coûte 3.5 € , dit-on là ."]
    scores = {
        name: sacrebleu.corpus_bleu(translations, [references], tokenize=name, force=True).score
        for name in ("13a", "intl", "char", "none", "zh")
    }
    assert bleu(translations, references).value == pytest.approx(scores["13a"])
    assert len({round(score) for score in scores.values()}) == len(scores)
    assert bleu(["Le chat dort ici, dit-on."], ["Le chat dort ici , dit-on ."]).value == 100
    assert bleu(["le Chat dort ici."], ["Le chat dort ici."]).value < 100
    assert bleu(["le Chat dort ici."], ["Le chat dort ici."], lowercase=True).value == 100


def test_pronouns_are_compared_in_order():
    pair = Pair(
        ("she", "saw", "it", "because", "it", "was", "red"),
        ("elle", "a", "vu", "parce", "qu'", "il", "était", "rouge"),
        links=frozenset({(0, 0), (4, 5)}),
        antecedents=((4, 2),),
    )
    assert pronouns_right(pair, "elle a vu parce qu' il était rouge") == [True]
    assert pronouns_right(pair, "Elle a vu parce qu' elle était rouge") == [False]
    assert pronouns_right(pair, "Elle a vu parce qu' IL était rouge") == [True]  # case is ignored
    assert pronouns_right(pair, "il") == [False]  # there is no second one
    assert pronouns_right(Pair(("he",), ("il",), frozenset({(0, 0)})), "elle") == []  # no antecedent


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bleu(["a"], ["a", "b"]), "got 1 translations and 2 references"),
        (lambda: chrf([], []), "got 0 translations and 0 references"),
        (
            lambda: links_from(torch.ones(2, 3), n_source=3, n_target=2, reading=True),
            r"at least \(3, 3\).* got \(2, 3\)",
        ),
        (lambda: links_from(torch.ones(2, 3), n_source=0, n_target=2), r"at least \(2, 0\)"),
        (lambda: error_rate([set()], [set()]), "at least one link"),
    ],
)
def test_invalid_inputs_are_rejected(call, message):
    with pytest.raises(ValueError, match=message):
        call()
