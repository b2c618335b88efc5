"""The claims of lesson 12, against recorded runs and the shipped Transformer."""

from __future__ import annotations

import math
from statistics import mean
from unittest.mock import patch

import pytest
import torch

from course_lib.layers import multi_head as layers
from course_lib.results import runs
from course_lib.teaching.questions.question import questions
from course_lib.text.batch import make_batch
from course_lib.translation.ablation import ablated, head_names, multi_heads
from course_lib.translation.shipped import shared
from lessons.l12_many_heads import key_picture
from lessons.l12_many_heads import measurements as m
from lessons.l12_many_heads.exercises import SPLIT_HEADS
from lessons.l12_many_heads.head_switches import N_SRC, NEEDED, entropy
from lessons.l12_many_heads.own_layer import translate_with
from lessons.l12_many_heads.patching import (
    head_outputs,
    minimal_batches,
    noun_positions,
    predict_pronouns,
)
from lessons.l12_many_heads.solutions import many_heads
from tests.lesson_claims import (
    LessonText,
    assert_measured_again,
    exact,
    held_out_splits,
    indices_of_true,
    n_right,
    seeds,
    translations,
)

ASKED = questions("12")
LESSON = LessonText("many_heads")
STORED = LESSON.stored()


@pytest.fixture(scope="module")
def model():
    return shared("transformer").model


@pytest.mark.nightly
def test_the_stored_numbers_are_measured_again():
    assert_measured_again(m.measure(), STORED, parts={"every head": {"abs": 0.002}})


# ---- the key picture


@torch.no_grad()
def test_the_key_picture_shows_what_a_hand_written_layer_computes(model):
    shown, encode = key_picture.numbers(), shared("transformer").tokenizer.encode
    batch = make_batch([encode(key_picture.SENTENCE)], [[]])
    block, inputs = model.encoder.blocks[key_picture.LAYER], []
    hook = block.register_forward_pre_hook(lambda block, args: inputs.append(args[0]))
    model.encode(batch.src, batch.src_lengths)
    hook.remove()
    normed, layer = block.around_attention.norm(inputs[0]), block.attention
    matrices = (layer.w_query, layer.w_key, layer.w_value, layer.w_output)
    output, weights = many_heads(normed, normed, *matrices, 4, None)
    assert torch.allclose(shown.weights, weights[0], atol=1e-5)
    assert torch.allclose(shown.output, output[0], atol=1e-4)
    assert torch.allclose(shown.queries[1], (normed @ layer.w_query.T)[0, :, 16:32], atol=1e-4)
    assert shown.words[key_picture.WORD] == "it"


# ---- recorded runs


def test_most_heads_can_be_spared_and_the_pronouns_need_one_head():
    for run in runs("inside_heads"):
        pronouns = sorted(head["measured"]["pronouns"] for head in run["heads off"]["without"])
        assert len(pronouns) == 36 and run["heads off"]["all heads"]["pronouns"] == 1
        assert pronouns[0] < 0.65 and pronouns[2] > 0.98
    assert STORED["spared"]["least"] > 36 / 2


def test_one_head_is_slightly_worse_on_average_and_several_cannot_be_ranked():
    by_count = {
        count: seeds("heads", count, "scores", "test", "exact", times=100) for count in ("1", *m.SEVERAL)
    }
    of_one, of_several = by_count.pop("1"), list(by_count.values())
    assert len(of_one) == 3 and all(len(percents) == 3 for percents in of_several)
    assert 0 <= min(map(min, of_several)) - max(of_one) < 0.3, "the ranges almost touch"
    means = exact("heads")
    all_of_several = [percent for percents in of_several for percent in percents]
    assert 100 * STORED["exact, several heads"]["mean"] == pytest.approx(mean(all_of_several))
    assert all(0.5 < means[count] - means["1"] < 2.5 for count in m.SEVERAL), "but slightly"
    between_means = max(means[count] for count in m.SEVERAL) - min(means[count] for count in m.SEVERAL)
    assert between_means < max(max(percents) - min(percents) for percents in of_several)
    assert max(map(min, of_several)) <= min(map(max, of_several)), "the four ranges overlap"
    deep_one = seeds("heads", "1", "scores", "depth", "exact")
    assert max(deep_one) > STORED["depth, several heads"]["least"], "these ranges overlap too"
    deep = {count: seeds("heads", count, "scores", "depth", "exact") for count in m.SEVERAL}
    deep_means = [sum(percents) / len(percents) for percents in deep.values()]
    spread = max(max(percents) - min(percents) for percents in deep.values())
    assert max(deep_means) - min(deep_means) < spread
    assert 0 < min(deep["16"]) - max(deep["2"]) < spread / 5, "16 beat 2 in every run, but by little"
    assert STORED["pronouns, one head"]["least"] > 0.97
    assert len({run["parameters"] for run in runs("heads")}) == 1
    assert ASKED["heads-how-many"].right == [2] and ASKED["heads-more-is-better"].right == [0, 2]


def test_heads_on_real_captions():
    base, one, sixteen = (
        seeds("ablation", name, "scores", "test", "greedy") for name in ("base", "(A) 1 head", "(A) 16 heads")
    )
    assert len(base) == len(one) == len(sixteen) == 3
    assert max(one) > min(base), "one head and four overlap"
    assert max(sixteen) < min(*base, *one)
    (n_heads,) = {run["config"]["n_heads"] for run in runs("ablation") if run["variant"] == "base"}
    assert n_heads == 4


# ---- patched heads


def test_one_head_changes_the_pronoun_through_another():
    patching = STORED["patching"]
    n = patching["sentences"]
    assert patching["correct"] == patching["cross 1.3"] == patching["decoder 2.1"] == n
    assert patching["most of the other heads"] < 0.02 * n, "the control"
    assert patching["cross 1.3 with decoder 2.1 held"] == 0
    assert patching["cross 1.3 with another head held, least"] == n, "the control of the chain"
    assert min(patching[f"decoder 2.1 attends to the {noun}"] for noun in ("noun", "other noun")) > 0.98 * n
    assert ASKED["heads-patching-shows"].right == [0]


def test_one_pair_selects_three_heads_and_the_pronouns_of_other_pairs_need_two_of_them():
    for how, pair in STORED["every head"]["pair"].items():
        others = STORED["every head"]["100 pairs"][how]
        assert max(pair["rank"].values()) == 3 < others["rank"]["encoder 0.3"]
        wrong = {head for head, n in pair["translations wrong"].items() if n}
        assert wrong == set(m.FOUND) or how == "patched", "it was selected by its translations"
        left, before = dict(others["probability"]), others["probability"]["no head"]
        assert max(left.pop(head) for head in m.FOUND[1:]) < before - 0.4
        assert min(left.values()) > before - 0.05, "the control: the other 34"
    assert others["translations wrong"]["encoder 0.3"] < others["translations wrong"]["cross 1.0"] < 10
    assert others["translations wrong"]["no head"] == 0


def test_the_cells_print_the_same_for_the_first_pairs(capsys):
    notebook = {
        "transformer": shared("transformer"),
        "minimal_batches": minimal_batches,
        "head_outputs": head_outputs,
        "predict_pronouns": predict_pronouns,
        "head_names": head_names,
    }
    after = LESSON.run_cell("patching", **notebook)
    lines = capsys.readouterr().out.splitlines()
    assert [line.count("100 of 100") for line in lines] == [1, 1, 0]
    assert max(after["changed"].values()) == 0 and len(after["changed"]) == 34
    used = ("own_outputs", "other_outputs", "before", "n_changed")
    LESSON.run_cell(
        "chain", model=after["model"], head_names=head_names, **{name: after[name] for name in used}
    )
    for line in capsys.readouterr().out.splitlines():
        assert (": 0 of 100" in line) == ("decoder 2.1 held" in line), line


def test_a_patch_copies_nothing_but_the_output_of_its_head(model):
    sentences, partners = minimal_batches(2)
    own, other = head_outputs(model, sentences), head_outputs(model, partners)
    assert own.keys() == set(head_names(model))
    assert torch.equal(predict_pronouns(model, sentences, own), sentences.pronouns), "its own outputs"
    assert torch.equal(predict_pronouns(model, sentences), sentences.pronouns)
    assert torch.equal(predict_pronouns(model, sentences, other), partners.pronouns), "all of the other run"
    assert "attend" not in vars(next(heads for _, _, heads in multi_heads(model))), "the model is restored"


def test_a_pair_differs_in_its_last_word_and_its_pronoun():
    sentences, partners = minimal_batches(50)
    for first, second, position in zip(
        sentences.pairs, partners.pairs, sentences.positions.tolist(), strict=True
    ):
        assert first.src[:-1] == second.src[:-1] and first.src != second.src
        assert first.tgt[:position] == second.tgt[:position], "the French words before the pronoun"
        assert first.tgt[position] != second.tgt[position]
    thirsty, nouns = sentences.pairs[0], noun_positions(sentences)
    assert thirsty.tgt[nouns[0]] == "chat" and thirsty.tgt[nouns[1]] == "eau"


def test_the_sentences_that_are_quoted_are_not_those_of_the_cell():
    of_cell, of_text = (
        {pair.src for pair in minimal_batches(*pairs)[0].pairs}
        for pairs in ((50,), (m.N_PAIRS, m.FIRST_PAIR))
    )
    assert not of_cell & of_text and len(of_text) == STORED["patching"]["sentences"]


# ---- ablations


def test_heads_that_replace_one_another(model):
    pairs = held_out_splits().test[:200]

    def n_correct(heads) -> int:
        with ablated(model, heads):
            return n_right(translations(shared("transformer"), pairs), pairs)

    def alone_and_together(layer_name: str) -> tuple[int, int]:
        heads = [f"{layer_name}.{head}" for head in range(4)]
        return min(n_correct([head]) for head in heads), n_correct(heads)

    all_heads = n_correct([])
    alone, together = alone_and_together("decoder 0")
    assert all_heads - alone <= 4 and all_heads - together > 20
    alone, together = alone_and_together("encoder 2")
    assert all_heads - alone <= 4 and all_heads - together <= 4


def test_the_entropy_of_equal_weights_over_the_source():
    assert entropy(torch.full((N_SRC,), 1 / N_SRC)).item() == pytest.approx(3.3, abs=0.05)


@torch.no_grad()
def test_the_needed_heads_are_ranked_by_what_they_cost(model):
    toy, encode = held_out_splits(), shared("transformer").tokenizer.encode
    pairs = [*toy.test[:80], *toy.coreference[:60]]
    batch = make_batch([encode(pair.src_text) for pair in pairs], [encode(pair.tgt_text) for pair in pairs])

    def loss_without(name: str) -> float:
        with ablated(model, [name]):
            logits, _ = model.decode(model.encode(batch.src, batch.src_lengths), batch.tgt_in)
        return torch.nn.functional.cross_entropy(logits.mT, batch.tgt_out, ignore_index=0).item()

    ranked = sorted(NEEDED, key=loss_without)
    assert set(ranked[-2:]) == set(NEEDED[-2:]) and set(ranked[-8:]) >= set(NEEDED[-6:])
    moves = [abs(ranked.index(name) - rank) for rank, name in enumerate(NEEDED)]
    assert sum(moves) / len(moves) < 4, "the order of the unneeded ones is chance"


# ---- the learner's layer in the trained translator


@pytest.mark.parametrize("pair", held_out_splits().coreference[:2] + held_out_splits().test[:4])
def test_the_translator_runs_on_the_learners_layer(pair):
    used = []

    def counted(*inputs):
        used.append(inputs)
        return many_heads(*inputs)

    translate = shared("transformer")
    assert translate_with(translate, counted, pair.src_text) == translate(pair.src_text).target
    assert len(used) == 3 + 6 * (len(pair.tgt) + 1), "in all nine attention layers"


def test_a_wrong_layer_gives_another_translation():
    def without_output_projection(x, source, w_q, w_k, w_v, w_o, n_heads, mask):
        return many_heads(x, source, w_q, w_k, w_v, torch.eye(len(w_o)), n_heads, mask)

    translate, text = shared("transformer"), held_out_splits().coreference[0].src_text
    assert translate_with(translate, without_output_projection, text) != translate(text).target


def test_a_head_has_rows_of_three_matrices_and_columns_of_the_fourth():
    """The formula of section 2, head by head."""
    h, d, d_k = 4, 64, 16
    x, (w_q, w_k, w_v, w_o) = torch.randn(1, 5, d), torch.randn(4, d, d) / 8
    output = torch.zeros(1, 5, d)
    for i in range(h):
        rows = slice(i * d_k, (i + 1) * d_k)
        scores = (x @ w_q[rows].T) @ (x @ w_k[rows].T).mT / math.sqrt(d_k)
        output += scores.softmax(dim=-1) @ (x @ w_v[rows].T) @ w_o[:, rows].T
    torch.testing.assert_close(many_heads(x, x, w_q, w_k, w_v, w_o, h)[0], output, atol=1e-4, rtol=1e-4)


# ---- the first version of the split

first_version = SPLIT_HEADS.unrepaired


def test_the_first_version_breaks_the_translation():
    translate = shared("transformer")
    sentence = held_out_splits().coreference[0].src_text
    right = translate(sentence).target
    with patch.object(layers, "split_heads", first_version):
        assert translate(sentence).target != right


@torch.no_grad()
def test_the_first_version_gets_around_the_causal_mask(model):
    sentences, _ = minimal_batches(1)
    batch = sentences.batch
    eight_words, memory = batch.tgt_in[:1, :8], model.encode(batch.src[:1], batch.src_lengths[:1])
    dog = torch.tensor([shared("transformer").tokenizer.encode("chien")])
    changed = torch.cat([eight_words[:, :-1], dog], dim=1)

    def logit_change(split):
        with patch.object(layers, "split_heads", split):
            before, after = (model.decode(memory, ids)[0][0] for ids in (eight_words, changed))
        return (after - before).abs().amax(dim=-1)

    right, leaky = logit_change(layers.split_heads), logit_change(first_version)
    assert right[:7].max() < 1e-4 < 1 < right[7] and leaky.min() > 0.1


def test_what_the_first_version_mixes():
    three_words = torch.arange(12.0).view(3, 4)
    assert first_version(three_words, n_heads=2)[0].tolist() == [[0, 1], [2, 3], [4, 5]]


# ---- the quiz


def test_the_numbers_of_the_quiz():
    split = layers.split_heads(torch.arange(18).reshape(1, 3, 6), n_heads=2)
    assert ASKED["heads-head-zero"].answer == split[0, 1].flatten()[0].item()
    assert ASKED["heads-head-width"].answer == math.sqrt(96 / 6)


def test_which_steps_split_the_words_rightly():
    x, h = torch.arange(5 * 12.0).reshape(5, 12), 3
    ways = (x.reshape(h, 5, 4), x.reshape(5, h, 4).transpose(0, 1), x.T.reshape(h, 5, 4))
    right = layers.split_heads(x[None], n_heads=h)[0]
    assert ASKED["heads-later-view"].right == indices_of_true(*(torch.equal(way, right) for way in ways))


def costs(n_heads: int) -> tuple[int, int, int, int]:
    """Parameters, attention weights, width of a key and multiplications for the scores of six words."""
    heads = layers.MultiHead(d_model=16, n_heads=n_heads)
    head_dim = heads.w_key.shape[0] // n_heads
    n_weights = heads(torch.randn(1, 6, 16), with_weights=True)[1].numel()
    return sum(w.numel() for w in heads.parameters()), n_weights, head_dim, n_weights * head_dim


def test_what_grows_with_the_number_of_heads():
    doubled = (after == 2 * before for before, after in zip(costs(2), costs(4), strict=True))
    assert ASKED["heads-later-cost"].right == indices_of_true(*doubled)
    (parameters, weights, _, multiplications), of_eight = costs(1), costs(8)
    assert of_eight == (parameters, 8 * weights, 2, multiplications), "only the scores"
    assert ASKED["heads-what-grows"].right == [2]


@torch.no_grad()
def test_without_the_output_projection_a_head_writes_into_its_own_slice():
    heads, x = layers.MultiHead(d_model=12, n_heads=4), torch.randn(1, 5, 12)

    def changed_columns(*, mixes: bool) -> list[int]:
        """The columns of the output that change with the values of the last head."""
        if not mixes:
            heads.w_output.copy_(torch.eye(12))
        before = heads(x)[0]
        heads.w_value[9:] += 1
        return ((heads(x)[0] - before).abs() > 1e-6).any(dim=1)[0].nonzero().flatten().tolist()

    mixed, joined = changed_columns(mixes=True), changed_columns(mixes=False)
    assert mixed == list(range(12))
    weights = heads(x, with_weights=True)[1]
    sums = weights.sum(dim=-1)
    expected = indices_of_true(
        heads(x)[0].shape != x.shape,
        joined == [9, 10, 11],
        not torch.allclose(sums, torch.ones_like(sums)),
        torch.allclose(weights[:, 0], weights[:, 1]),
    )
    assert ASKED["heads-why-output"].right == expected
