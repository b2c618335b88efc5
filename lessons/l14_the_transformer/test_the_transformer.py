"""The claims of lesson 14, against the shipped Transformer."""

from __future__ import annotations

import ast
from functools import cache

import pytest
import torch

from course_lib.layers.positions import sinusoids
from course_lib.teaching import yours
from course_lib.teaching.exercises import find_exercise, judge
from course_lib.teaching.questions.question import questions
from course_lib.text.batch import make_batch
from course_lib.text.special import PAD, until_eos
from course_lib.text.toy.generate import running_pair
from course_lib.translation.shipped import shared
from lessons.l14_the_transformer import by_parts
from lessons.l14_the_transformer import measurements as m
from lessons.l14_the_transformer.by_parts import FAULTY, RIGHT, Wiring
from lessons.l14_the_transformer.file_slips import REFERENCE
from tests.lesson_claims import LessonText, assert_measured_again, held_out_pairs, indices_of_true, n_right
from tools.authoring.source import read_cells

ASKED, LESSON = questions("14"), LessonText("the_transformer")
STORED = LESSON.stored()
FIRST_STAGES = {
    "A": "encoder 0",
    "B": "memory",
    "C": "source embeddings",
    "D": "logits",
    "E": "target embeddings",
    "F": "encoder 0",
}


@pytest.mark.nightly
def test_the_stored_numbers_are_measured_again():
    assert_measured_again(m.measure(), STORED, rel=0.01, abs=1e-4)


# ---- the file


def test_the_shipped_model_is_as_described():
    config = shared("transformer").model.config
    assert (config.d_model, config.n_heads, config.d_ff, config.n_layers) == (64, 4, 256, 3)
    assert config.pre_norm and config.tied and config.positions == "sinusoidal"
    names = set(m.weights())
    assert "words.output.bias" in names and "encoder.last_norm.weight" in names, "as the table says"
    assert not any(name.startswith("encoder.blocks.0.attention.b") for name in names), (
        "no biases in attention"
    )
    assert sum("cross.w_key" in name for name in names) == 3


def test_rows_of_the_table_are_small_and_lead_after_scaling():
    row = m.weights()["words.output.weight"].square().mean().sqrt().item()
    position = sinusoids(20, 64).square().mean().sqrt().item()
    assert 0.17 < row / position < 0.25, "about a fifth"
    assert 8 * row > 1.5 * position


def test_states_grow_from_block_to_block_and_the_last_norms_bring_them_back():
    batch = m.lesson_batch()
    mask = (batch.src != PAD)[:, None, None]
    states = by_parts.stages(batch.src, batch.tgt_in, m.weights(), **m.SIZES, mask=mask)
    sizes = {stage: state.square().mean().sqrt().item() for stage, state in states.items()}
    for side in ("encoder", "decoder"):
        assert sizes[f"{side} 0"] < sizes[f"{side} 1"] < sizes[f"{side} 2"]
    assert all(0.7 < sizes[stage] < 1.5 < sizes["encoder 2"] for stage in ("memory", "last norm"))


# ---- faulty Transformers


def translations(wiring: Wiring, texts: list[str]) -> list[str]:
    """Of all sentences in one batch, with padding."""
    tokenizer = shared("transformer").tokenizer
    src = make_batch([tokenizer.encode(text) for text in texts], [[]] * len(texts)).src
    mask = (src != PAD)[:, None, None]
    ids = by_parts.translate(src, m.weights(), **m.SIZES, max_len=30, mask=mask, wiring=wiring)
    return [tokenizer.decode(list(until_eos(row, 680))) for row in ids.tolist()]


@cache
def right_of_40(name: str) -> int:
    wiring = FAULTY.get(name, RIGHT)
    return n_right(translations(wiring, [pair.src_text for pair in held_out_pairs(40)]), held_out_pairs(40))


def test_which_mistake_each_faulty_one_has():
    assert {
        "A": Wiring(masked=False),
        "B": Wiring(last_norm=False),
        "C": Wiring(scaled=False),
        "D": Wiring(bias=False),
        "E": Wiring(starts_with_bos=False),
        "F": Wiring(eps=1e-3),
    } == FAULTY
    right = {letter: ASKED[f"full-patient-{letter}"].right for letter in "ad"}
    assert right == {"a": [1], "d": [0]}


def test_only_the_stages_reveal_d_and_f():
    assert right_of_40("D") == right_of_40("F") == right_of_40("correct") >= 38
    assert ASKED["full-later-stages"].right == [1]


def test_a_fails_with_padding_only_and_c_and_e_always():
    pair = running_pair()[0]
    assert translations(FAULTY["A"], [pair.src_text]) == [pair.tgt_text]
    assert right_of_40("A") < right_of_40("correct") - 2
    assert right_of_40("B") < 20
    for name in "CE":
        assert right_of_40(name) == 0 and translations(FAULTY[name], [pair.src_text]) != [pair.tgt_text]


@pytest.mark.parametrize(("name", "first"), FIRST_STAGES.items())
def test_where_each_faulty_one_differs_first(name, first):
    assert next(stage for stage, gap in m.gaps(FAULTY[name]).items() if gap > 1e-3) == first


def test_the_gaps_that_the_lesson_relies_on():
    of_f, of_d = m.gaps(FAULTY["F"]), m.gaps(FAULTY["D"])
    assert of_f["source embeddings"] == of_f["target embeddings"] == 0 and 0.001 < of_f["encoder 0"] < 0.01
    assert 0.1 < of_d["logits"] < 1, "off by less than 1"


def test_a_causal_mask_on_cross_attention_spoils_the_article(monkeypatch):
    right = by_parts.multi_head_attention

    def with_causal_cross(x, source, parts, name, *, n_heads, mask):
        causal = torch.ones(x.shape[1], source.shape[1], dtype=torch.bool).tril()
        mask = causal if name == "cross" else mask
        return right(x, source, parts, name, n_heads=n_heads, mask=mask)

    monkeypatch.setattr(by_parts, "multi_head_attention", with_causal_cross)
    spoilt = translations(RIGHT, [pair.src_text for pair in running_pair()])
    assert all(text.split()[:2] == ["la", "chat"] for text in spoilt)


# ---- the lesson's cells


def first_in_mine(mine, theirs, tolerance):
    for stage in mine:
        if not (mine[stage] - theirs[stage]).abs().max() <= tolerance:
            return stage
    return "nowhere"


def first_by_zip(mine, theirs, tolerance):
    for (stage, own), right in zip(mine.items(), theirs.values(), strict=True):
        if not (own - right).abs().max() <= tolerance:
            return stage
    return "nowhere"


def test_any_finder_that_passes_runs_through_the_cells(monkeypatch):
    """Whether it goes through the stages of one or of both. Each faulty one translates only once."""
    translate, cached, space = by_parts.translate, {}, {}

    def translate_once(src, *weights, wiring, **options):
        key = wiring, tuple(src.shape)
        if key not in cached:
            cached[key] = translate(src, *weights, wiring=wiring, **options)
        return cached[key]

    monkeypatch.setattr(by_parts, "translate", translate_once)
    monkeypatch.setattr("course_lib.teaching.start_lesson", lambda *args, **options: None)
    space |= {name: yours(name) for name in ("decoder_block", "encode_source", "decode_logits")}
    for name in ("setup", "file", "parts of", "size", "parts"):
        exec(LESSON.cell(name).text, space)
    space["numbers_of"] = space["shipped"].tokenizer.encode
    for finder in (first_in_mine, first_by_zip):
        assert judge(find_exercise("first_difference"), finder).status == "passed"
        exec(LESSON.cell("stages").text, space)
        space["first_difference"] = finder
        exec(LESSON.cell("compared").text, space)
        assert finder(space["mine"], space["theirs"], 1e-3) == "nowhere"
        exec(LESSON.cell("faults").text, space)
        expected = {"correct": "nowhere", **FIRST_STAGES}
        assert space["results"] == {name: (stage, right_of_40(name)) for name, stage in expected.items()}


def test_the_functions_that_are_counted_are_exercises():
    (assigned,) = (
        node.value.value
        for node in ast.parse(LESSON.cell("names").text).body
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "NAMES"
    )
    names = assigned.split()
    assert len(names) == len(set(names)) and "masked_attention" in names  # it computes all the attention
    assert all(find_exercise(name).name == name for name in names)


def test_the_sentence_of_the_lesson_is_new_and_translated_correctly():
    (sentence,) = (
        node.value.value
        for node in ast.parse(LESSON.cell("speaks").text).body
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "MY_SENTENCE"
    )
    plain = sentence.lower().rstrip(".")
    assert plain not in {pair.src_text for pair in running_pair()}
    assert translations(RIGHT, [plain]) == ["la jeune reine voit trois vieux chevaux près du pont"]


def test_the_lines_that_are_new_in_the_file():
    """Those of the reference's new classes, each counted once: much of the decoder is a copy."""
    text = REFERENCE.read_text(encoding="utf-8")
    classes = {node.name: node for node in ast.parse(text).body if isinstance(node, ast.ClassDef)}

    def lines(names):
        spans = ((classes[name].lineno - 1, classes[name].end_lineno) for name in names)
        return {line for first, end in spans for line in text.splitlines()[first:end] if line.strip()}

    known = ("MultiHead", "FeedForward", "Residual", "EncoderBlock")  # lesson 13
    new = len(lines(classes) - lines(known))
    (exercise,) = (cell for cell in read_cells(LESSON.source) if cell.options.get("mode") == "file")
    assert abs(exercise.options["lines"] - new) <= 5, new


@pytest.mark.parametrize("name", ["encode_source", "decoder_block", "decode_logits"])
def test_the_library_version_passes_the_check(name):
    exercise = find_exercise(name)
    assert judge(exercise, exercise.library).status == "passed"


@pytest.mark.parametrize("kind", [torch.nn.TransformerEncoderLayer, torch.nn.TransformerDecoderLayer])
def test_torch_drops_out_attention_weights_and_hidden_numbers_too(kind):
    block = kind(8, 2, 16, dropout=0.5, batch_first=True, norm_first=True).train()
    for name in ("dropout1", "dropout2", "dropout3"):  # those that the lesson's model has
        setattr(block, name, torch.nn.Identity())
    x = torch.randn(2, 5, 8)
    inputs = (x,) if kind is torch.nn.TransformerEncoderLayer else (x, x)

    def is_random():
        return not torch.equal(block(*inputs), block(*inputs))

    hidden, block.dropout = block.dropout, torch.nn.Identity()
    assert is_random()  # attention weights
    for module in block.modules():
        if isinstance(module, torch.nn.MultiheadAttention):
            module.dropout = 0.0
    assert not is_random()
    block.dropout = hidden
    assert is_random()


# ---- numbers in the text


def test_words_and_lengths():
    assert STORED["English words, to the nearest ten"] == 290
    assert max(len(pair.src) for pair in held_out_pairs(3000)) == 20


def test_cross_attention_to_thirsty():
    assert STORED["attention"]["il to thirsty"] == pytest.approx(m.cross_weights()[8].max().item())
    assert running_pair()[0].tgt[8] == "il" and running_pair()[0].src[8] == "thirsty"


def test_the_parameters_of_the_base_model():
    millions = STORED["parameters"]
    parts = ("feed-forward", "attention", "embedding matrix")
    assert max(parts, key=millions.get) == "feed-forward"
    assert millions["attention"] == pytest.approx(millions["embedding matrix"], abs=0.1), "18.9 million each"
    assert 3 * millions["embedding matrix"] > millions["all, three matrices"] / 2, "more than half"
    assert millions["attention biases of torch, exactly"] == 18 * 4 * 512
    assert ASKED["full-later-largest"].right == [1]


# ---- answers of the quiz


def test_every_decoder_block_makes_keys_of_its_own_from_one_memory():
    names = [name for name, _ in shared("transformer").model.named_parameters() if "cross.w_key" in name]
    matrices = [shared("transformer").model.get_parameter(name) for name in names]
    assert len(matrices) == 3
    all_alike = all(torch.equal(matrices[0], matrix) for matrix in matrices[1:])
    assert ASKED["full-own-keys"].right == indices_of_true(not all_alike, all_alike, False, False)


@torch.no_grad()
def test_only_words_of_the_source_see_later_ones():
    model = shared("transformer").model
    src, tgt = torch.arange(10, 16)[None], torch.arange(20, 26)[None]
    later_src, later_tgt = src.clone(), tgt.clone()
    later_src[0, -1], later_tgt[0, -1] = 30, 31
    lengths = torch.tensor([6])
    memory = model.encode(src, lengths)
    keys = [one["keys"][..., 0, :] for one in (memory, model.encode(later_src, lengths))]
    logits = [model.decode(memory, target)[0][:, 0] for target in (tgt, later_tgt)]
    in_encoder, in_decoder = (not torch.allclose(*pair, atol=1e-5) for pair in (keys, logits))
    expected = indices_of_true(
        in_encoder and not in_decoder,
        in_decoder and not in_encoder,
        in_encoder and in_decoder,
        not (in_encoder or in_decoder),
    )
    assert ASKED["full-later-uses"].right == expected
