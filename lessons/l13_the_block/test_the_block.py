"""The claims of lesson 13, against recorded runs and blocks with random weights."""

from __future__ import annotations

import ast
import re
from statistics import mean

import pytest
import torch

from course_lib.layers.block import Block
from course_lib.layers.feed_forward import FeedForward
from course_lib.layers.residual import post_norm, pre_norm
from course_lib.models.transformer import Transformer, TransformerConfig
from course_lib.results import runs
from course_lib.teaching.questions.question import questions, questions_for
from course_lib.text.batch import make_batch
from course_lib.translation.shipped import shared
from lessons.l13_the_block import measurements as m
from tests.lesson_claims import LessonText, assert_measured_again, exact, indices_of_true, means, seeds

ASKED = questions("13")
TEST = ("scores", "test", "exact")
FAULTS = (
    "BatchNorm",
    "attention only",
    "no residual path",
    "6 layers, post-norm",
)  # as the options are ordered


LESSON = LessonText("the_block")
STORED = LESSON.stored()


def test_the_stored_numbers_are_measured_again():
    assert_measured_again(m.measure(), STORED, rel=0.01)


# ---- blocks with random weights


def test_words_become_similar_without_a_path_and_slowly_with_one():
    for seed in m.SEEDS:
        without, with_path = m.similarities(4, seed, residual=False), m.similarities(12, seed)
        assert without[2] > 0.97 and without[4] > 0.995
        assert with_path[2] < 0.4 and with_path[12] < 0.85
    answer = ASKED["block-alike"]
    right = next(option for option in answer.options if option.correct)
    assert right.fits(STORED["similarity"]["no path, 2 blocks"])
    assert answer.answer == pytest.approx(STORED["similarity"]["no path, 2 blocks"], abs=0.01)


def test_post_norm_makes_words_similar_before_training_and_pre_norm_less():
    assert m.similarity_after(12, pre_norm=False) > 0.99 > 0.85 > m.similarity_after(12)


def number_in(text: str) -> float:
    """The number that an option consists of, such as "about 60,000" or "about 60 million"."""
    number = float(re.search(r"[\d.,]*\d", text)[0].replace(",", ""))
    return number * (1e6 if "million" in text else 1)


def test_the_size_of_words_through_24_blocks():
    assert 4 < STORED["size after 24 blocks"]["path and norm"] < 6
    without_norm = m.sizes(24, norm="none")
    assert 150 < without_norm[12] < 250, "the question says about 200"
    asked = ASKED["block-how-large"]
    apart = [abs(torch.tensor(number_in(option.text) / without_norm[24]).log()) for option in asked.options]
    assert asked.right == [apart.index(min(apart))]
    assert all(3e4 < m.sizes(24, seed, norm="none")[24] < 1.2e5 for seed in m.SEEDS)
    assert m.sizes(24, norm="none", residual=False)[-1] < 1e-5


def gradients(seed: int, **options) -> tuple[float, float]:
    """The size of the gradient at the first of 24 blocks, and of the query matrix of the twelfth."""
    torch.manual_seed(seed)
    start = torch.randn(2, 8, 64, requires_grad=True)
    blocks = [m.random_block(**options) for _ in range(24)]
    x = start
    for block in blocks:
        x = block(x)[0]
    (x * torch.randn_like(x)).sum().backward()
    return m.root_mean_square(start.grad), m.root_mean_square(blocks[11].attention.w_query.grad)


@pytest.mark.parametrize("seed", m.SEEDS)
def test_gradients_through_24_blocks(seed):
    at_start, of_query = gradients(seed)
    assert 1 < at_start < 10 and of_query > 0.1, "within a factor of ten"
    at_start, of_query = gradients(seed, residual=False)
    assert 0.05 < at_start < 20 and of_query < 1e-5, "without a path the queries learn nothing"
    assert gradients(seed, norm="none")[0] > 1e11
    assert gradients(seed, norm="none", residual=False)[0] < 1e-4


def test_a_path_without_norms_has_a_gradient_of_about_14_zeros():
    assert 1e13 < gradients(0, norm="none")[0] < 1e15


# ---- recorded runs: parts of the block


def test_without_a_path_no_sentence_is_right_and_words_stay_the_same():
    assert seeds("block", "no residual path", *TEST) == [0, 0, 0]
    assert means("block", "likeness", -1)["no residual path"] > 0.99
    assert means("block", "likeness", -1)["as it is"] < 0.1 < STORED["similarity"]["path, 3 blocks"]


def test_what_each_part_of_the_block_is_worth():
    test = exact("block")
    assert 2.5 < test["as it is"] - test["attention only"] < 3.5, "three points"
    assert 3.5 < test["as it is"] - test["BatchNorm"] < 4.5, "four points"
    assert all(abs(test["as it is"] - test[name]) < 0.6 for name in ("RMSNorm", "SwiGLU", "post-norm")), (
        "level"
    )
    assert 0 < test["as it is"] - test["no norm"] < 1, "nearly level"
    sizes = means("block", "parameters")
    assert sizes["attention only"] == pytest.approx(sizes["as it is"] / 2, rel=0.02), "half of the parameters"
    assert sizes["SwiGLU"] == pytest.approx(sizes["as it is"], rel=0.01)


def causes(variant: str) -> list[dict]:
    three = [run for run in runs("block_causes") if run["variant"] == variant]
    assert len(three) == 3
    return three


def test_attention_alone_of_the_same_size_is_level():
    assert causes("attention only, 7 layers")[0]["parameters"] == pytest.approx(392_360, rel=0.005)
    assert abs(exact("block")["as it is"] - exact("block_causes")["attention only, 7 layers"]) < 0.5


@pytest.mark.parametrize(
    ("variant", "warm_up"),
    [("12 layers, post-norm, rate 0.001", 400), ("12 layers, post-norm, rate 0.001, warm-up 2000", 2000)],
)
def test_a_lower_rate_does_not_save_12_layers_of_post_norm(variant, warm_up):
    for run in causes(variant):
        assert (run["recipe"]["learning_rate"], run["recipe"]["warm_up"]) == (0.001, warm_up)
        assert run["scores"]["test"]["exact"] <= 0.005
        assert min(run["likeness"][5:]) > 0.96, "from the fifth block on"


def test_12_layers_without_norms_diverge_within_500_steps():
    for run in causes("12 layers, no norm"):
        assert run["ended"] == "diverged" and run["history"][0]["step"] == 500


# ---- recorded runs: depth


def test_the_position_of_the_norm_matters_with_depth():
    test = exact("depth")
    assert all(abs(test[f"{n} layers, pre-norm"] - test[f"{n} layers, post-norm"]) < 1.5 for n in (1, 2, 3))
    assert min(seeds("depth", "6 layers, pre-norm", *TEST)) > 0.98
    worst, *others = sorted(seeds("depth", "6 layers, post-norm", *TEST))
    assert worst < 0.25 and all(0.8 < fraction < 0.96 for fraction in others), "one of three hardly learns"
    assert seeds("depth", "12 layers, post-norm", *TEST) == [0, 0, 0]
    assert min(seeds("depth", "12 layers, pre-norm", *TEST)) > 0.985
    assert ASKED["block-post-norm"].right == [3]
    recipe = runs("depth")[0]["recipe"]
    assert (recipe["warm_up"], recipe["learning_rate"]) == (400, 0.003)


def test_warm_up_matters_more_with_post_norm():
    post, pre = exact("warm_up"), exact("recipe")  # the pre-norm runs are those of lesson 15
    assert 3.5 < post["post-norm"] - post["post-norm, no warm-up"] < 4.5
    assert 0 < pre["as it is"] - pre["no warm-up"] < 1


# ---- the four faulty runs


def variants_shown() -> dict[str, str]:
    """The variant behind each letter, from the cell that chooses them by number."""
    code = LESSON.cell("faulty").text
    assigned = next(
        node.value
        for node in ast.parse(code).body
        if isinstance(node, ast.Assign) and node.targets[0].id == "variants"
    )
    return {
        letter: list(means(experiment, "parameters"))[number]
        for letter, (experiment, number) in ast.literal_eval(assigned).items()
    }


def test_the_right_diagnosis_is_the_variant_that_is_shown():
    shown = variants_shown()
    for letter, asked in zip(shown, questions_for("13", "diagnosis"), strict=True):
        assert asked.id == f"block-patient-{letter.lower()}"
        assert [FAULTS[index] for index in asked.right] == [shown[letter]]
        assert asked.keep_order and "ABCD"[asked.right[0]] != letter, "the order gives nothing away"


def curve(variant: str, kind: str) -> list[float]:
    """The mean over the seeds of a loss, entry by entry of the history."""
    histories = seeds("depth" if "layers" in variant else "block", variant, "history")
    return [mean(entry[kind] for entry in entries) for entries in zip(*histories, strict=True)]


def test_the_curves_show_the_faults():
    training, validation = curve("as it is", "train_loss"), curve("as it is", "loss")
    assert training[-1] == pytest.approx(1, abs=0.1), "near 1 even without a fault"

    no_path = curve("no residual path", "train_loss")
    assert min(no_path) > 4 and curve("no residual path", "loss")[-1] > curve("no residual path", "loss")[0]

    late = curve("6 layers, post-norm", "train_loss")
    assert late[3] > 2 and late[-1] < 1.4, "2,000 steps slow, then better"

    batch_norm, attention_only = curve("BatchNorm", "train_loss"), curve("attention only", "train_loss")
    for entry in range(3, 8):  # the part shown in close-up
        assert training[entry] < batch_norm[entry] < training[entry] + 0.02 < attention_only[entry] < 1.16
    assert curve("BatchNorm", "loss")[-1] > 1.3 * validation[-1]
    assert all(a < 1.1 * b for a, b in zip(attention_only[1:], training[1:], strict=True)), (
        "from step 1,000 on"
    )
    assert curve("attention only", "loss")[-1] < validation[-1], "below, with fewer sentences right"


# ---- batch norm, feed-forward, dropout


@torch.no_grad()
def test_batch_norm_leaks_in_training_and_not_in_use():
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
def test_in_use_only_padding_without_a_mask_depends_on_the_batch():
    block = Block(d_model=16, n_heads=2, d_ff=32, norm="batch").eval()
    x = torch.randn(3, 5, 16)
    padded = torch.cat([x, torch.randn(3, 2, 16)], dim=1)
    mask = torch.arange(7)[None, None, None] < 5
    torch.testing.assert_close(block(x)[0][:1], block(x[:1])[0])
    torch.testing.assert_close(block(padded, mask=mask)[0][:, :5], block(x)[0])
    assert (block(padded)[0][:, :5] - block(x)[0]).abs().max() > 1e-2
    assert ASKED["block-alone-or-not"].right == [2]


def test_the_feed_forward_layer_has_two_thirds_of_the_parameters():
    block = m.random_block()
    of_feed_forward = sum(p.numel() for p in block.feed_forward.parameters())
    of_attention = sum(p.numel() for p in block.attention.parameters())
    assert (of_feed_forward, of_attention) == (ASKED["block-ffn-numbers"].answer, 4 * 64 * 64)
    assert of_feed_forward / (of_feed_forward + of_attention) == pytest.approx(2 / 3, abs=0.01)


@torch.no_grad()
def test_dropout_left_on_changes_the_probability_and_not_the_words():
    translator = shared("transformer")
    model, encode = translator.model, translator.tokenizer.encode
    sentence = "the cat drank the water because it was thirsty"
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
    assert max(probability for probability, _ in scores) < 0.9 * without[0], "each well below"


def test_the_layer_norm_of_the_quiz():
    word = torch.tensor([2.0, 4.0, 4.0, 6.0])
    normalised = torch.nn.functional.layer_norm(word, (4,), eps=0.0)
    assert normalised[-1].item() == pytest.approx(ASKED["block-norm-by-hand"].answer, abs=0.001)


# ---- answers of the quiz


@torch.no_grad()
def test_a_feed_forward_layer_works_on_each_word_alone():
    torch.manual_seed(13)
    layer, x = FeedForward(d_model=8, d_ff=16), torch.randn(5, 8)
    changed = x.clone()
    changed[1] += 1
    moved = (layer(x) - layer(changed)).abs().amax(dim=-1) > 1e-6
    which = moved.nonzero().flatten().tolist()
    expected = indices_of_true(which == [0, 1, 2, 3, 4], which == [1], which == [0, 1, 2])
    assert ASKED["block-ffn-mixes"].right == expected


def test_a_layer_that_gives_zero():
    x, norm = torch.tensor([[2.0, 4.0, 4.0, 6.0]]), torch.nn.LayerNorm(4)
    first, second = (way(x, torch.zeros_like, norm=norm) for way in (pre_norm, post_norm))
    expected = indices_of_true(
        torch.equal(first, x) and torch.equal(second, x),
        not first.any() and torch.equal(second, x),
        torch.equal(first, x) and torch.equal(second, norm(x)),
    )
    assert ASKED["block-silent-layer"].right == expected


def test_another_sentence_changes_no_layer_norm():
    x, norm = torch.randn(3, 5, 8), torch.nn.LayerNorm(8)
    changed = x.clone()
    changed[0] *= 4
    others = torch.equal(norm(x)[1:], norm(changed)[1:])
    assert ASKED["block-later-norm"].right == indices_of_true(not others, not others, others)
