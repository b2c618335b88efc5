"""Claims of lesson 16, checked against recorded results and live computations."""

from __future__ import annotations

import json
import math

import pytest
import torch
from sacrebleu.metrics import BLEU

from course_lib.layers.block import KeysAndValues
from course_lib.runtime import data_path, shipped_weights
from course_lib.teaching.exercises import find_exercise, judge
from course_lib.text import special
from course_lib.text.batch import make_batch
from course_lib.text.special import BOS, EOS
from course_lib.training.checkpoint import read_about
from course_lib.translation.corpus_bleu import bleu_of_rows, bleu_rows, draws
from course_lib.translation.pipeline import translate
from course_lib.translation.search import beam_search, greedy
from course_lib.translation.shipped import shared
from lessons.l16_decoding import key_picture, measurements
from lessons.l16_decoding.exercises import bootstrapped
from lessons.l16_decoding.measurements import COW, GARDEN, sources, translations
from lessons.l16_decoding.recompute import Recompute
from lessons.l16_decoding.typed_sentence import translate_typed
from tests.lesson_claims import LessonText, assert_measured_again, held_out_pairs, indices_of_true

L = LessonText("decoding")
STORED = json.loads(data_path("results", "lesson_16.json").read_text(encoding="utf-8"))


@pytest.mark.nightly
def test_new_measurements_agree_with_the_stored_ones():
    of_chance = {"sampling": {"abs": 8}}  # rounding can change a draw
    assert_measured_again(measurements.measure(), STORED, parts=of_chance, abs=0.03)


# ---- 1, beam search


def test_a_beam_corrects_greedy_decoding_twice_and_spoils_it_once():
    sentences = {
        "a fat wolf in front of the dirty castle looks for the little hen": "cherche",
        "the sister bought some oranges on the tables because she was very hungry": "oranges",
        "the mother buys the horses in a castle because they are beautiful": "ils sont beaux",
    }
    by_greedy, by_beam = (translations("seq2seq", list(sentences), beam=width) for width in (1, 5))
    has_right = [
        [right in text for right, text in zip(sentences.values(), texts, strict=True)]
        for texts in (by_greedy, by_beam)
    ]
    assert has_right == [[False, False, True], [True, True, False]]
    assert "mange" in by_greedy[0] and "robes" in by_greedy[1] and "elles sont belles" in by_beam[2]


# ---- 2, sampling


def test_mbr_avoids_errors_of_single_samples_but_is_behind_greedy_decoding():
    counts = STORED["sampling"]
    assert counts["MBR minus one sample"]["low"] > 0
    assert counts["one sample"] < counts["one sample, top-p"] < counts["MBR"] < counts["greedy"]
    assert counts["MBR minus greedy"]["high"] < 0


def test_seq2seq_was_trained_with_label_smoothing():
    assert read_about(shipped_weights("seq2seq"))["recipe"]["smoothing"] > 0


@torch.no_grad()
def test_the_lessons_sampling():
    names = vars(special) | {"math": math, "torch": torch, "make_batch": make_batch}
    exec(measurements.functions_of("sampling"), names)
    seq2seq, sample, mbr = shared("seq2seq"), names["sample"], names["mbr"]
    (greedy,) = translations("seq2seq", [COW])
    assert set(sample(seq2seq, COW, 3, temperature=0.01)) == {greedy}
    assert set(sample(seq2seq, COW, 3, top_p=1e-6)) == {greedy}, "only the most probable word is left"
    assert len(set(sample(seq2seq, COW, 8, temperature=2.0))) > 4
    assert mbr(["a b c", "a b d", "x y z"]) in ("a b c", "a b d")


# ---- 3, BLEU


def test_a_wide_beam_needs_a_length_penalty():
    new = STORED["new sentences"]
    for five, twenty, penalised in (
        (STORED["beam"]["5"], STORED["beam"]["20"], STORED["beam with penalty"]),
        (new["5"], new["20"], new["20 with penalty"]),
    ):
        assert five["p1"] < twenty["p1"], "better words"
        assert twenty["brevity penalty"] < 0.97 < 0.99 < five["brevity penalty"], "but fewer of them"
        assert penalised["brevity penalty"] > 0.99 and penalised["BLEU"] > twenty["BLEU"] + 1
        assert five["BLEU"] > twenty["BLEU"] + 1
    assert STORED["beam"]["1"]["BLEU"] < STORED["beam"]["2"]["BLEU"] < STORED["beam"]["5"]["BLEU"]
    assert new["k = 5 minus k = 1"]["in BLEU"]["low"] > 0, "k = 1 as well"


@pytest.mark.parametrize("name", ["seq2seq", "transformer"])
def test_bleu_of_rows_equals_sacrebleu(name):
    pairs = held_out_pairs(60)
    outputs, golds = translations(name, sources(pairs)), [pair.tgt_text for pair in pairs]
    rows = bleu_rows([text.split() for text in outputs], [text.split() for text in golds])
    expected = BLEU(tokenize="none", smooth_method="none", force=True).corpus_score(outputs, [golds])
    assert rows.shape == (60, 6) and bleu_of_rows(rows).item() == pytest.approx(expected.score, abs=1e-3)
    assert bleu_of_rows(torch.stack([rows, rows])).tolist() == [bleu_of_rows(rows).item()] * 2
    no_match = bleu_rows([["a", "b"]], [["c", "d", "e"]])
    assert bleu_of_rows(no_match) == 0 and bleu_of_rows(rows[:0]) == 0


def test_the_draws_of_a_bootstrap_depend_on_the_generator_alone():
    first, again = (draws(50, 20, torch.Generator().manual_seed(1)) for _ in range(2))
    assert torch.equal(first, again) and first.sum(dim=1).eq(50).all()


def test_bleu_by_hand():
    outputs = ["le chat noir dort dans le jardin", "la femme ne voit pas le chien"]
    references = ["le petit chat noir dort dans le jardin", "la femme ne voit pas le chien"]
    scored = BLEU(tokenize="none", force=True).corpus_score(outputs, [references])
    assert (scored.counts, scored.totals) == ([14, 11, 9, 7], [14, 12, 10, 8])
    assert (scored.bp, scored.score) == (pytest.approx(0.931, abs=5e-4), pytest.approx(85.8, abs=0.05))
    assert scored.score / scored.bp == pytest.approx(92.2, abs=0.05)
    score = find_exercise("bleu_score").reference
    ours = score([text.split() for text in outputs], [text.split() for text in references])
    assert ours == pytest.approx(scored.score)


def test_bleu_prefers_what_is_wrong_to_what_is_right():
    scores = STORED["BLEU"]
    assert scores["other verb"] < scores["wrong animal"] == scores["the opposite"]
    assert scores["cut at spaces"] < 50 < 80 < scores["cut into letters"]


# ---- 4, the paired bootstrap


def test_beam_search_is_better_on_both_sets_of_sentences_if_the_samples_are_paired():
    for found in (STORED["greedy and beam"], STORED["new sentences"]["k = 5 minus k = 1"]):
        assert found["low"] > 0 and found["in BLEU"]["low"] > 0
    apart, together = STORED["greedy and beam"]["not paired"], STORED["greedy and beam"]
    assert apart["low"] < 0 < apart["high"]
    assert apart["high"] - apart["low"] > 2 * (together["high"] - together["low"])


def test_no_clear_difference_between_the_transformer_and_bahdanau():
    found = STORED["attention systems"]
    assert found["low"] < 0 < found["high"] and found["transformer"] != found["bahdanau"]


def test_a_bootstrap_interval_covers_the_true_difference():
    """Of intervals for samples with a known difference, about 95% contain it."""
    generator, covered = torch.Generator().manual_seed(0), 0
    for seed in range(200):
        difficulty = torch.randn(60, generator=generator)
        one, other = (difficulty + torch.randn(60, generator=generator) for _ in range(2))
        low, high = bootstrapped(one + 0.5, other, n_samples=400, seed=seed)
        covered += low <= 0.5 <= high
    assert 0.89 < covered / 200 < 0.99


@pytest.mark.parametrize("seed", range(5))
def test_any_random_draws_are_accepted(seed):
    """The same function with other draws: the check refuses none of them."""

    def paired_bootstrap(one, other, score=torch.mean, n_samples=1000, seed_=0):
        return bootstrapped(one, other, score, n_samples, 100 * seed + seed_ + 1)

    assert judge(find_exercise("paired_bootstrap"), paired_bootstrap).status == "passed"


# ---- 5, the cache


def test_the_sizes_of_the_cache():
    config = shared("transformer").model.config
    assert (config.n_layers, config.d_model, config.n_heads) == (3, 64, 4)
    assert (config.d_model // config.n_heads, config.n_layers) == (16, 3), "the sizes of `empty_caches`"


def test_the_cache_was_faster_and_more_so_for_the_larger_model():
    assert 1 < STORED["cache speed-up"]["toy"] < STORED["cache speed-up"]["multi30k"]


@torch.no_grad()
def test_the_cached_attention_is_that_of_the_trained_model():
    """With the model's own matrices, (out, in), step by step."""
    layer, x = shared("transformer").model.decoder.blocks[0].attention, torch.randn(2, 5, 64)
    matrices = (layer.w_query, layer.w_key, layer.w_value, layer.w_output)
    expected = find_exercise("many_heads").reference(x, x, *matrices, 4, torch.ones(5, 5).tril() == 1)[0]
    past = (torch.zeros(2, 4, 0, 16), torch.zeros(2, 4, 0, 16))
    for t in range(5):
        output, past = find_exercise("cached_attention").reference(x[:, t : t + 1], past, *matrices, 4)
        torch.testing.assert_close(output, expected[:, t : t + 1], rtol=1e-4, atol=1e-5)


@torch.no_grad()
def translated_with(state: dict, text: str) -> tuple[str, dict]:
    """Greedy decoding that starts from this state: the translation and the state at its end."""
    transformer = shared("transformer")
    batch, tokens = make_batch([transformer.tokenizer.encode(text)], [[]]), [BOS]
    memory = transformer.model.encode(batch.src, batch.src_lengths)
    state = state or transformer.model.start(memory)
    while tokens[-1] != EOS and len(tokens) < 40:
        logits, state, _ = transformer.model.step(memory, state, torch.tensor(tokens[-1:]))
        tokens.append(int(logits.argmax()))
    return transformer.tokenizer.decode(tokens[1:]), state


def test_a_cache_that_is_not_emptied_lets_one_sentence_decide_a_word_of_the_next():
    right, _ = translated_with({}, COW)
    assert "elle avait soif" in right
    pronouns = {}
    for first in ("the cat sleeps", "the woman sleeps"):
        _, state = translated_with({}, first)
        second, _ = translated_with(state, COW)
        assert second != right
        pronouns[first] = {"il", "elle"} & set(second.split())
    assert pronouns == {"the cat sleeps": {"il"}, "the woman sleeps": {"elle"}}


def test_without_the_mask_a_good_part_is_lost():
    right = STORED["causal mask"]
    assert right["with"] == 99 and 20 < right["with"] - right["without"] < 40


@torch.no_grad()
def test_one_layer_deep_the_mask_makes_no_difference_and_two_deep_it_does():
    model, encode, states = shared("transformer").model, shared("transformer").tokenizer.encode, []
    tokens = torch.tensor([[BOS, *encode("la vieille femme voit un petit chien")]])
    batch = make_batch([encode(GARDEN)], [[]])
    memory = model.encode(batch.src, batch.src_lengths)
    for causal in (True, False):
        x = model.target_positions.add(model.words.target(tokens))
        for layer, block in enumerate(model.decoder.blocks):
            source = KeysAndValues(memory["keys"][:, layer], memory["values"][:, layer])
            x, _, _ = block(x, causal=causal, source=source, source_mask=memory["mask"])
            states.append(x[:, -1])
    differences = [(a - b).abs().max().item() for a, b in zip(states[:3], states[3:], strict=True)]
    assert differences[0] < 1e-5 and differences[1] > 1


# ---- the live translator


def test_a_closed_noun_is_replaced_by_the_other_noun_of_the_sentence():
    transformer = shared("transformer")
    closed = translate_typed(transformer, GARDEN.replace("dog", "[dog]"))
    assert closed.french == "la vieille femme voit un petit jardin dans le jardin"
    kitchen = translate_typed(transformer, GARDEN.replace("dog", "[dog]").replace("garden", "kitchen"))
    assert kitchen.french == "la vieille femme voit une petite cuisine dans la cuisine"
    garden = translate_typed(transformer, GARDEN.replace("garden", "[garden]"))
    assert garden.french.endswith("dans le chien")
    confidence = closed.probabilities.max(dim=1).values[6].item()
    assert 0.9 < confidence < 0.965, "as confident as usual"


def test_a_closed_adjective_is_left_out():
    complete = translate_typed(shared("transformer"), GARDEN).output
    for word, position in (("old", 1), ("small", 5)):
        closed = translate_typed(shared("transformer"), GARDEN.replace(word, f"[{word}]"))
        assert closed.output == complete[:position] + complete[position + 1 :]


def test_without_closed_words_almost_every_step_has_the_same_confidence():
    """0.90 to 0.96."""
    translated = [translate_typed(shared("transformer"), pair.src_text) for pair in held_out_pairs(40)]
    steps = [sentence.probabilities for sentence in translated if sentence.probabilities is not None]
    confidence = torch.cat(steps).max(dim=1).values
    assert ((confidence > 0.895) & (confidence < 0.965)).float().mean() > 0.98


# ---- further answers of the quiz


@torch.no_grad()
def test_a_beam_of_one_is_greedy_decoding():
    transformer = shared("transformer")
    batch = make_batch([transformer.tokenizer.encode(GARDEN)], [[]])
    memory = transformer.model.encode(batch.src, batch.src_lengths)
    by_beam = beam_search(transformer.model, memory, beam=1, max_len=30).ids[0].tolist()
    by_greedy = greedy(transformer.model, memory, max_len=30).ids[0].tolist()
    same = by_beam == by_greedy
    assert L.asked("dec-later-beam").right == indices_of_true(same, not same, len(by_greedy) == 1)


@torch.no_grad()
def test_the_cache_keeps_keys_and_values_of_every_layer():
    model, batch = shared("transformer").model, make_batch([[5, 6, 7]], [[]])
    state = model.start(model.encode(batch.src, batch.src_lengths))
    n_layers = state["keys"].shape[1]
    both_of_all_layers = state.keys() == {"keys", "values"} and n_layers == len(model.decoder.blocks)
    assert L.asked("dec-later-cache").right == indices_of_true(
        "queries" in state, both_of_all_layers, n_layers == 1
    )


def test_separate_samples_make_the_interval_wider():
    for found in (STORED["greedy and beam"], STORED["new sentences"]["k = 5 minus k = 1"]):
        paired, apart = (ends["high"] - ends["low"] for ends in (found, found["not paired"]))
        assert L.asked("dec-later-paired").right == indices_of_true(
            apart > 1.5 * paired, apart < paired / 1.5, apart == paired
        )


def test_the_mask_may_not_be_dropped_when_the_prefix_is_run_again():
    right = STORED["causal mask"]
    no_harm = right["without"] == right["with"]
    assert L.asked("dec-drop-mask").right == indices_of_true(no_harm, not no_harm, False)


def test_with_and_without_a_cache_the_words_are_the_same():
    transformer, texts = shared("transformer"), sources(held_out_pairs(300)[:20])
    without = translate(texts, Recompute(transformer.model), transformer.tokenizer)
    same = [output.target for output in without] == translations("transformer", texts)
    assert L.asked("dec-cache-what").right == indices_of_true(not same, same, False)


# ---- the key picture


def test_the_tree_ends_with_the_outputs_of_beam_search_and_of_greedy_decoding():
    system, last = shared("seq2seq"), key_picture.numbers()[-1][: key_picture.BEAM]
    outputs = [system.tokenizer.decode(list(node.ids)) for node in last]
    for output, node, width in ((outputs[0], last[0], key_picture.BEAM), (outputs[1], last[1], 1)):
        batch = make_batch([system.tokenizer.encode(key_picture.SENTENCE)], [[]])
        memory = system.model.encode(batch.src, batch.src_lengths)
        found = beam_search(system.model, memory, beam=width, max_len=28, length_penalty=0.0)
        assert system.tokenizer.decode(found.ids[0].tolist()) == output
        assert found.scores[0].item() == pytest.approx(node.total, abs=1e-3)
    assert key_picture.MISSED in outputs[0] and key_picture.TAKEN in outputs[1]
    assert all(node.ids[-1] == EOS for node in last)
    assert len({len(node.ids) for node in last}) == 1, "so a length penalty wouldn't change who wins"
