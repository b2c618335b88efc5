"""The claims of lesson 13, against recorded runs and blocks with random weights."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from course_lib.layers.feed_forward import FeedForward
from course_lib.layers.residual import post_norm, pre_norm
from course_lib.models.transformer import Transformer, TransformerConfig
from course_lib.results import runs
from course_lib.text.batch import make_batch
from course_lib.translation.shipped import shared
from lessons.l13_the_block import key_picture, modules
from lessons.l13_the_block import measurements as m
from tests.lesson_claims import LessonText, assert_measured_again, exact, indices_of_true, means, seeds

TEST = ("scores", "test", "exact")
LESSON = LessonText("the_block")
STORED = LESSON.stored()
asked = LESSON.asked


def overlap(one: list[float], other: list[float]) -> bool:
    """Whether the ranges of two samples overlap."""
    return max(min(one), min(other)) <= min(max(one), max(other))


@pytest.mark.nightly
def test_the_stored_numbers_are_measured_again():
    near = {"cosine after 12 blocks": {"abs": 0.01}}
    assert_measured_again(m.measure(), STORED, parts=near, rel=0.01)


# ---- the key picture


@torch.no_grad()
def test_the_key_picture_shows_the_sizes_that_hooks_find_in_the_shipped_encoder():
    words, embedded, layers, memory = key_picture.numbers()
    translator, found = shared("transformer"), []
    encoder = translator.model.encoder
    hooks = [
        part.register_forward_hook(lambda part, inputs, output: found.append(output))
        for block in encoder.blocks
        for part in (block.feed_forward, block)
    ]
    batch = make_batch([translator.tokenizer.encode(key_picture.SENTENCE)], [[]])
    output = translator.model.run_encoder(batch.src, torch.ones(1, 1, 1, len(words), dtype=torch.bool))[0]
    for hook in hooks:
        hook.remove()
    for layer, added, after in zip(layers[1::2], found[::2], found[1::2], strict=True):
        assert layer.added == pytest.approx(added[0].norm(dim=-1).div(8).tolist(), abs=1e-4)
        assert layer.after == pytest.approx(after[0][0].norm(dim=-1).div(8).tolist(), abs=1e-4)
    assert memory == pytest.approx(output[0].norm(dim=-1).div(8).tolist(), abs=1e-4)
    rows = translator.model.words.output.weight[batch.src[0]]  # the embeddings are √64 times as large
    assert embedded == pytest.approx(rows.norm(dim=-1).tolist(), abs=1e-4)
    assert all(sum(layer.after) > sum(layer.before) for layer in layers)


# ---- blocks with random weights


def test_words_become_similar_without_residual_connections_and_slowly_with_them():
    for seed in m.SEEDS:
        without, with_residual = m.similarities(4, seed, residual=False), m.similarities(12, seed)
        assert without[2] > 0.97 and without[4] > 0.995
        assert with_residual[2] < 0.4 and with_residual[12] < 0.85
    question = asked("block-alike")
    [right] = [option for option in question.options if option.correct]
    assert right.fits(STORED["similarity"]["no residual, 2 blocks"])


def test_similarity_depends_on_the_initial_scale_for_both_placements_of_the_norm():
    small = 24**-0.5
    after = {
        (pre, scale): m.similarity_after(12, pre_norm=pre, scale=scale)
        for pre in (True, False)
        for scale in (1, small)
    }
    assert after[False, 1] > 0.99 and 0.7 < after[True, 1] < 0.9
    assert max(after[True, small], after[False, small]) < 0.15


def test_attention_makes_words_more_similar_than_feed_forward_networks_do():
    similarity = STORED["similarity"]
    attention, feed_forward = (
        similarity[f"no residual, {part} only, 2 layers"] for part in ("attention", "feed-forward")
    )
    assert 0.95 < attention < similarity["no residual, 2 blocks"] and feed_forward < 0.55


def test_with_dropout_on_the_words_of_post_norm_start_less_similar():
    for seed in m.SEEDS:
        with_dropout = m.similarities(12, seed, pre_norm=False, dropout=0.1)[-1]
        assert 0.8 < with_dropout < 0.9 < 0.99 < m.similarities(12, seed, pre_norm=False)[-1]


def test_only_post_norm_with_a_factor_of_1_loses_what_words_started_with():
    cosine = STORED["cosine after 12 blocks"]
    assert abs(cosine["post-norm"]) < 0.05 < 0.25 < cosine["pre-norm"] < 0.4
    assert min(cosine[f"{norm}, scaled by depth"] for norm in ("pre-norm", "post-norm")) > 0.8


@pytest.mark.parametrize(("variance", "pre", "post"), [(1, 1 / 25, 2**-24), (1 / 24, 1 / 2, 0.38)])
def test_the_share_of_the_input_by_hand(variance, pre, post):
    assert 1 / (1 + 24 * variance) == pytest.approx(pre)
    share = 1.0
    for _ in range(24):  # x and the output are divided by the same number, so that the variance is 1 again
        share /= 1 + variance
    assert share == pytest.approx(post, abs=0.005 if variance < 1 else 1e-12)


def test_words_grow_without_a_norm_for_every_seed():
    for seed in m.SEEDS:
        assert m.sizes(24, seed, norm="none")[24] > 3e4 and m.sizes(24, seed)[24] < 7


# ---- recorded runs: parts of the block


def test_without_residual_connections_no_sentence_is_right_and_words_stay_similar():
    assert seeds("block", "no residual path", *TEST) == [0, 0, 0]
    assert min(seeds("block", "no residual path", "likeness", -1)) > 0.99
    assert max(seeds("block", "as it is", "likeness", -1)) < 0.1


def test_without_norms_three_blocks_can_be_trained_and_twelve_diverge():
    assert min(seeds("block", "no norm", *TEST)) > 0.95
    assert seeds("block_causes", "12 layers, no norm", "ended") == ["diverged"] * 3


def test_batch_norm_and_attention_alone_are_worse_with_every_seed():
    complete = seeds("block", "as it is", *TEST)
    for variant in ("BatchNorm", "attention only"):
        assert max(seeds("block", variant, *TEST)) < min(complete), variant


def test_attention_alone_with_as_many_parameters_overlaps_with_the_complete_block():
    complete, sizes = seeds("block", "as it is", *TEST), means("block", "parameters")
    assert sizes["attention only"] == pytest.approx(sizes["as it is"] / 2, rel=0.02), "half as many"
    controls = {"block_causes": "attention only, 7 layers", "initialisation": "attention only, 3 wide layers"}
    for experiment, variant in controls.items():
        assert means(experiment, "parameters")[variant] == pytest.approx(sizes["as it is"], rel=0.03)
        three = seeds(experiment, variant, *TEST)
        assert len(three) == 3 and overlap(three, complete)
        assert min(three) > max(seeds("block", "attention only", *TEST)), "more than without the parameters"
    wide = [run for run in runs("initialisation") if run["variant"] == controls["initialisation"]]
    assert {(run["config"]["d_model"], run["config"]["n_layers"]) for run in wide} == {(96, 3)}


def test_the_later_variants_overlap_with_the_original():
    complete = seeds("block", "as it is", *TEST)
    assert all(overlap(seeds("block", variant, *TEST), complete) for variant in ("RMSNorm", "SwiGLU"))


# ---- recorded runs: depth, norm and initial scale


def test_up_to_three_blocks_the_ranges_of_both_placements_overlap():
    for n in (1, 2, 3):
        assert overlap(*(seeds("depth", f"{n} layers, {norm}", *TEST) for norm in ("pre-norm", "post-norm")))


def test_twelve_post_norm_blocks_learn_with_a_smaller_initial_scale_only():
    assert seeds("depth", "12 layers, post-norm", *TEST) == [0, 0, 0]
    for rate in ("rate 0.001", "rate 0.001, warm-up 2000"):
        assert max(seeds("block_causes", f"12 layers, post-norm, {rate}", *TEST)) <= 0.005
    for scale in ("scale by depth", "scale 0.1"):
        three = seeds("initialisation", f"12 layers, post-norm, {scale}", *TEST)
        assert len(three) == 3 and min(three) > 0.98
    question = asked("block-scale")
    assert question.options[question.right[0]].text == "nearly all of them"


def test_the_runs_differ_in_nothing_but_the_scale():
    def settings(experiment: str, variant: str) -> list[dict]:
        chosen = [run for run in runs(experiment) if run["variant"] == variant]
        return [{**run["config"], **run["recipe"], "output_scale": None} for run in chosen]

    for n in (3, 6, 12):
        for norm in ("pre-norm", "post-norm"):
            scaled = settings("initialisation", f"{n} layers, {norm}, scale by depth")
            assert scaled
            for one, other in zip(settings("depth", f"{n} layers, {norm}"), scaled, strict=True):
                assert all(one[name] == other[name] for name in one.keys() & other.keys())
                assert not any(one[name] for name in one.keys() - other.keys()), (
                    "settings of 0, since removed"
                )
    for run in runs("initialisation"):
        if "scale by depth" in run["variant"]:
            factor = (2 * run["config"]["n_layers"]) ** -0.5
            assert run["config"]["output_scale"] == pytest.approx(factor, abs=1e-4)


def test_for_pre_norm_the_scale_changes_less_than_a_point():
    scale_1, by_depth = exact("depth"), exact("initialisation")
    for n in (3, 6, 12):
        name = f"{n} layers, pre-norm"
        assert abs(scale_1[name] - by_depth[f"{name}, scale by depth"]) < 1
    assert min(seeds("depth", "12 layers, pre-norm", *TEST)) > 0.985


def test_24_post_norm_blocks_need_the_smaller_scale_and_one_seed_a_smaller_rate():
    assert seeds("initialisation", "24 layers, post-norm, scale 1", *TEST) == [0, 0, 0]
    *failed, second, third = sorted(seeds("initialisation", "24 layers, post-norm, scale by depth", *TEST))
    assert failed == [0] and min(second, third) > 0.98
    slower = seeds("initialisation", "24 layers, post-norm, scale by depth, rate 0.001", *TEST)
    assert len(slower) == 3 and min(slower) > 0.98


FAILED = {
    "12 layers, post-norm": "depth",
    "12 layers, post-norm, rate 0.001": "block_causes",
    "12 layers, post-norm, rate 0.001, warm-up 2000": "block_causes",
}


def test_the_validation_loss_of_one_of_nine_failed_runs_was_still_falling():
    histories = [
        history for variant, experiment in FAILED.items() for history in seeds(experiment, variant, "history")
    ]
    assert len(histories) == 9
    last = [[entry["loss"] for entry in history if entry["step"] >= 3000] for history in histories]
    assert all(history[-1]["step"] == 4000 for history in histories)
    assert sum(losses[-1] < losses[0] for losses in last) == 1
    assert sum(losses[-1] < losses[-2] - 0.01 for losses in last) == 1


def test_failed_runs_are_worse_than_uniform_guessing_with_dropout_off():
    failed = [run for run in runs("depth") if run["variant"] == "12 layers, post-norm"]
    uniform = math.log(680)
    assert {(run["config"]["vocab_size"], run["config"]["dropout"]) for run in failed} == {(680, 0.1)}
    assert uniform == pytest.approx(6.5, abs=0.05)
    for run in failed:
        assert run["history"][-1]["loss"] > uniform + 0.8 > 5.1 > run["history"][-1]["train_loss"]


def test_without_dropout_twelve_post_norm_blocks_fail_too_but_are_not_worse_than_guessing():
    variant = "12 layers, post-norm, scale 1, no dropout"
    control = [run for run in runs("initialisation") if run["variant"] == variant]
    assert [run["scores"]["test"]["exact"] for run in control] == [0, 0, 0]
    with_dropout = [run for run in runs("depth") if run["variant"] == "12 layers, post-norm"]
    for run, other in zip(control, with_dropout, strict=True):
        assert run["config"]["dropout"] == 0 and run["config"]["output_scale"] == 1
        for part in ("config", "recipe"):
            same = run[part].keys() & other[part].keys() - {"dropout"}
            assert all(run[part][name] == other[part][name] for name in same)
        assert run["likeness"][-1] > 0.999, "all words are the same after training"
        loss = run["history"][-1]["loss"]
        assert STORED["unigram loss"] - 0.7 < loss < STORED["unigram loss"] + 0.1 < math.log(680)
    assert STORED["unigram loss"] == pytest.approx(5.0, abs=0.05)


def test_xaviers_initialisation_for_the_matrices_of_bert():
    assert nn.init.xavier_uniform_(torch.empty(768, 768)).std() == pytest.approx(0.036, abs=5e-4)
    assert nn.init.xavier_uniform_(torch.empty(3072, 768)).std() == pytest.approx(0.023, abs=5e-4)


# ---- batch norm, feed-forward, dropout, initialisation


@torch.no_grad()
def test_batch_norm_leaks_in_training_and_not_at_inference():
    sizes = {"vocab_size": 20, "max_len": 12, "d_model": 16, "n_layers": 1, "n_heads": 2, "d_ff": 32}
    torch.manual_seed(0)
    model = Transformer(TransformerConfig(**sizes, norm="batch", dropout=0.0))
    src, lengths, tgt = torch.randint(4, 20, (3, 5)), torch.tensor([5, 5, 5]), torch.randint(4, 20, (3, 6))
    changed = tgt.clone()
    changed[0, -1] = 4 + (changed[0, -1] - 3) % 16  # the last word of the first sentence

    def logits_at_start(target):
        return model.decode(model.encode(src, lengths), target)[0][0, 0]

    assert (logits_at_start(tgt) - logits_at_start(changed)).abs().max() > 1e-3
    model.eval()
    assert torch.equal(logits_at_start(tgt), logits_at_start(changed))


@torch.no_grad()
def test_another_sentence_changes_batch_norm_only():
    x = torch.randn(3, 8, 5)
    changed = x.clone()
    changed[0] *= 4
    layer, batch = nn.LayerNorm(8), nn.BatchNorm1d(8)
    by_layer = not torch.equal(layer(x.mT)[1:], layer(changed.mT)[1:])
    by_batch = not torch.allclose(batch(x)[1:], batch(changed)[1:])
    expected = indices_of_true(
        by_layer and by_batch, by_layer and not by_batch, by_batch and not by_layer, not by_layer | by_batch
    )
    assert asked("block-which-norm").right == expected
    assert asked("block-later-norm").right == indices_of_true(by_layer, by_layer, not by_layer)


@torch.no_grad()
def test_a_feed_forward_network_works_on_each_word_alone():
    torch.manual_seed(13)
    layer, x = FeedForward(d_model=8, d_ff=16), torch.randn(5, 8)
    changed = x.clone()
    changed[1] += 1
    which = ((layer(x) - layer(changed)).abs().amax(dim=-1) > 1e-6).nonzero().flatten().tolist()
    expected = indices_of_true(which == [0, 1, 2, 3, 4], which == [1], which == [0, 1, 2])
    assert asked("block-ffn-mixes").right == expected


@torch.no_grad()
def test_dropout_left_on_changes_the_probability_and_not_the_words():
    translator = shared("transformer")
    model, encode = translator.model, translator.tokenizer.encode
    sentence = "the old cat sleeps because it is tired"
    assert sentence in LESSON.source
    batch = make_batch([encode(sentence)], [encode(translator(sentence).target)])

    def score() -> tuple[float, bool]:
        logits, _ = model.decode(model.encode(batch.src, batch.src_lengths), batch.tgt_in)
        probabilities = logits.softmax(dim=-1).gather(-1, batch.tgt_out[..., None])
        return probabilities.prod().item(), torch.equal(logits.argmax(dim=-1), batch.tgt_out)

    without = score()
    torch.manual_seed(13)
    try:
        model.train()
        scores = [score() for _ in range(5)]
    finally:
        model.eval()
    assert without == score() and all(right for _, right in [without, *scores])
    assert len({probability for probability, _ in scores}) == 5
    assert max(probability for probability, _ in scores) < without[0]


def test_three_layers_with_weights_of_standard_deviation_1():
    torch.manual_seed(0)
    y = torch.randn(20_000, 64)
    for _ in range(3):
        y = y @ torch.randn(64, 64).T
    assert y.std() == pytest.approx(asked("block-initial-size").answer, rel=0.1)


def test_relu_halves_the_mean_square_and_linear_starts_with_a_third_of_the_variance():
    torch.manual_seed(0)
    assert torch.relu(torch.randn(100_000)).square().mean().item() == pytest.approx(1 / 2, abs=0.02)
    assert nn.Linear(256, 512).weight.var().item() == pytest.approx(1 / (3 * 256), rel=0.05)


def test_dropout_does_not_help_on_the_toy_task():
    with_dropout, without = (seeds("recipe", variant, *TEST) for variant in ("as it is", "no dropout"))
    assert len(with_dropout) == len(without) == 3
    assert sum(with_dropout) < sum(without) and overlap(with_dropout, without)


def test_scaling_by_depth_keeps_the_residual_stream_small():
    assert m.sizes(12, scale=1.0)[12] > 3 > 1.5 > m.sizes(12, scale=24**-0.5)[12]


# ---- answers of the quiz


def test_the_layer_norm_of_the_quiz():
    word = torch.tensor([2.0, 4.0, 4.0, 6.0])
    normalised = nn.functional.layer_norm(word, (4,), eps=0.0)
    assert normalised[-1].item() == pytest.approx(asked("block-norm-by-hand").answer, abs=0.001)


def test_a_layer_that_gives_zero():
    x, norm = torch.tensor([[2.0, 4.0, 4.0, 6.0]]), nn.LayerNorm(4)
    first, second = (way(x, torch.zeros_like, norm=norm) for way in (pre_norm, post_norm))
    expected = indices_of_true(
        torch.equal(first, x) and torch.equal(second, x),
        not first.any() and torch.equal(second, x),
        torch.equal(first, x) and torch.equal(second, norm(x)),
    )
    assert asked("block-silent-layer").right == expected


def test_a_plain_tensor_is_neither_trained_nor_saved():
    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = torch.ones(64)

        def forward(self, x):
            return x * self.scale

    module = Scaled()
    trained, saved = bool(list(module.parameters())), "scale" in module.state_dict()
    works = torch.equal(module(torch.ones(64)), torch.ones(64))
    expected = indices_of_true(trained and saved, trained and not saved, not trained | saved, not works)
    assert asked("block-plain-tensor").right == expected


def test_buffers_move_and_are_saved_without_being_trained_and_plain_tensors_stay():
    module = nn.Module()
    module.register_buffer("stored", torch.ones(2))
    module.plain = torch.ones(2)
    assert list(module.state_dict()) == ["stored"] and not list(module.parameters())
    module.to("meta")
    assert module.stored.device.type == "meta" and module.plain.device.type == "cpu"


# ---- the modules


@torch.no_grad()
def test_the_modules_are_the_librarys_block_with_the_same_names():
    trained = shared("transformer").model.encoder.blocks[0]
    block = modules.EncoderBlock(64, 4, 256, 0.1).eval()
    block.load_state_dict(trained.state_dict())
    x, mask = torch.randn(2, 9, 64), (torch.arange(9) < torch.tensor([[9], [5]]))[:, None, None]
    torch.testing.assert_close(block(x, mask), trained(x, mask=mask)[0])


@torch.no_grad()
def test_own_blocks_are_used_in_place_of_the_librarys_only_inside_the_with():
    translator, sentence = shared("transformer"), "the cat sleeps"
    blocks = translator.model.encoder.blocks
    silent = [modules.EncoderBlock(64, 4, 256, 0.1) for _ in blocks]  # random weights
    expected = translator(sentence).target
    with modules.in_place_of(blocks, silent):
        assert translator(sentence).target != expected
    assert translator(sentence).target == expected


def test_initial_weights_have_the_variance_that_the_lesson_derives():
    torch.manual_seed(0)
    block = modules.EncoderBlock(64, 4, 256, 0.1)
    assert block.attention.w_query.std().item() == pytest.approx(1 / 8, rel=0.05)
    assert block.feed_forward.inner.weight.std().item() == pytest.approx(math.sqrt(2 / 320), rel=0.05)
