"""The claims of lesson 06, against the recorded runs and the shipped system."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
import torch

from course_lib.results import runs
from course_lib.text.toy.twins import ROLES
from course_lib.translation.comparison import compare, resampled, sentence_rows
from course_lib.translation.shipped import load_shipped, shared
from lessons.l04_encoder_decoder.solutions import greedy_decode
from lessons.l06_bahdanau_attention import attention_emerges, evidence, exercises, own_run, six_steps
from lessons.l06_bahdanau_attention.attention_stepper import IL, AttentionStepper, translate_stepwise
from lessons.l06_bahdanau_attention.exercises import SOURCE_TOKENS, THIRSTY, TRANSLATION, translate_forced
from lessons.l06_bahdanau_attention.forced_pronouns import N_TWINS
from lessons.l06_bahdanau_attention.measurements import measure
from lessons.l06_bahdanau_attention.own_attention import decode_steps
from lessons.l06_bahdanau_attention.solutions import additive_attention
from tests.lesson_claims import LessonText, assert_measured_again, exact, indices_of_true, means, seeds

L = LessonText("bahdanau_attention")
STORED = L.stored()
CROSSING = attention_emerges.pair_of(attention_emerges.MOTHER)


@pytest.fixture(scope="module")
def translate():
    """What the lesson's class does with `greedy_decode`."""
    with_attention = L.run_cell("with attention", torch=torch, load_shipped=load_shipped)
    chosen = {"additive_attention": additive_attention, "greedy_decode": greedy_decode}
    views = type("views", (), {"translations": staticmethod(lambda *_, **__: None)})
    others = {"yours": chosen.get, "views": views, "translations_of": lambda text: None}
    return L.run_cell("translate", **with_attention | others)["translate"]


@pytest.mark.nightly
def test_the_stored_measurements_can_be_reproduced():
    assert_measured_again(measure(), STORED, rel=0.01, abs=0.001)


# ---- length


def test_with_attention_the_cliff_is_gone():
    before, after = exact("toy_ladder", words="16–20"), exact("toy_ladder", "long", "21–30")
    assert before["seq2seq"] < 25 and before["rnn_encoder_decoder"] < 25 and before["bahdanau"] > 90
    assert after["seq2seq"] < 1 and after["rnn_encoder_decoder"] < 1, "next to none"
    assert L.asked("length-curve").answer == round(after["bahdanau"])
    assert means("toy_ladder", "parameters")["bahdanau"] == pytest.approx(
        means("toy_ladder", "parameters")["seq2seq"], rel=0.02
    )
    bahdanau, seq2seq = (seeds("toy_ladder", name, "recipe", "n_steps") for name in ("bahdanau", "seq2seq"))
    assert bahdanau == seq2seq


def test_the_controls_show_that_attention_makes_the_difference():
    def of(name: str, words: str) -> list[float]:
        return evidence.exact(*evidence.CONTROLS[name][:2], words)

    both, forward, none = evidence.CONTROLS
    assert min(of(forward, "16–20")) > 90 > 2 * max(of(none, "16–20")), "A, and every run of B is far behind"
    assert L.asked("one-more-system").right == [1]
    assert max(of(forward, "21–30")) < min(of(both, "21–30")), "the second direction"
    assert max(max(of(name, "31–40")) for name in evidence.CONTROLS) < 50, "all fail on most"
    of_system = [[r for r in runs(e) if r["variant"] == v] for e, v, _ in evidence.CONTROLS.values()][:2]
    rows = [sentence_rows(each, "scores", "long", "by_length", "21–30", "exact") for each in of_system]
    samples = tuple(resampled(each) for each in rows)
    assert compare(of(both, "21–30"), of(forward, "21–30"), samples=samples).verdict == "better"


# ---- alignment


def test_about_four_links_in_ten_are_on_the_diagonal_and_more_in_short_sentences():
    on_diagonal = STORED["links on the diagonal"]
    assert on_diagonal["up to five words"] > 1.5 * on_diagonal["all"] > 0.5


def test_the_map_of_the_crossing_sentence(translate):
    translation, weights = translate(CROSSING.src_text, additive_attention)
    assert translation == CROSSING.tgt_text
    attended = dict(zip(CROSSING.tgt, (CROSSING.src[row.argmax()] for row in weights[:-1]), strict=True))
    own = {"mère": "mother", "heureuse": "happy", "vieille": "old", "fleur": "flower", "blanche": "white"}
    assert attended | own == attended and weights[-1].argmax() == CROSSING.length
    assert L.asked("crossing-map").right == [1]


def test_did_and_not_share_the_attention_in_the_picture_of_the_six_steps():
    facts = six_steps.vectors()
    assert (six_steps.SENTENCE, facts["words"][six_steps.STEP]) == (CROSSING.src_text, "n'")
    assert facts["words"][: six_steps.STEP] == six_steps.WRITTEN
    shared_by = dict(zip(facts["source"], facts["weights"], strict=True))
    assert shared_by["did"] + shared_by["not"] > 0.99 and shared_by["did"] > 0.3
    recomputed = facts["weights"] @ facts["annotations"]
    assert facts["context"][0] == pytest.approx(recomputed, abs=1e-5)


# ---- how it emerges


def test_the_diagonal_comes_first_then_words_then_links_in_every_run():
    assert L.asked("words-or-links").right == [0]
    for run in runs("emergence"):
        points, shots = ({each["step"]: each for each in run[part]} for part in ("curve", "snapshots"))
        first = {n: min(s for s in points if points[s][n] > 0.5) for n in ("words", "links", "diagonal")}
        assert first["diagonal"] < first["words"] < first["links"]
        assert L.asked("order-of-emergence").right == [2]
        assert shots[200]["exact"] == 0 and points[200]["diagonal"] > 0.85
        assert points[250]["words"] > 0.5 > points[250]["links"]


def test_a_run_with_a_learners_attention_is_filmed_and_learns():
    film = own_run.train_and_film(additive_attention, n_steps=50)
    assert all([each["step"] for each in film[part]] == [0, 25, 50] for part in ("curve", "snapshots"))
    assert film["curve"][0]["words"] < 0.02 < film["curve"][-1]["words"]
    kind = attention_emerges.AttentionEmerges.of(film)
    facts = kind().facts
    assert facts["step"] == 50 and facts["curves"]["words"].shape == (3, 4), "and the three recorded runs"
    for step, sentence in ((0, "the cat drank …"), (50, "the happy mother …")):
        assert kind.picture_of(kind.facts_at({"step": step, "sentence": sentence})).svg


# ---- where il attends to


def test_il_attends_to_thirsty_and_not_to_the_cat():
    for adjective, pronoun in (("thirsty", "il"), ("cold", "elle")):
        steps = translate_stepwise(adjective)
        weights = dict(zip(steps["source"], steps["weights"][IL], strict=True))
        assert steps["words"][IL] == pronoun and max(weights, key=weights.get) == adjective
        assert weights["cat"] < 0.005
    assert translate_stepwise("thirsty")["weights"][IL].max() < 0.5, "no word has half of the weight"
    assert L.asked("where-il-looks").right == [2], "thirsty"


def wrong_axis(states, annotations, w_state, w_annotation, v):
    weights = torch.tanh((states @ w_state.T)[:, None] + annotations @ w_annotation.T).matmul(v).softmax(0)
    return (weights[:, None] @ annotations)[:, 0], weights


def unwritten(*inputs):
    raise NotImplementedError("Your turn")


@pytest.mark.parametrize(
    ("attend", "said"),
    [
        (lambda *inputs: additive_attention(*inputs), "looks most at thirsty, not at cat"),
        (wrong_axis, "sum to 10.00, not to 1"),
        (unwritten, "it isn't written yet"),
        (lambda *inputs: None, "TypeError in your function"),
        (lambda *inputs: tuple(part * torch.nan for part in additive_attention(*inputs)), "a weight isn't"),
    ],
)
def test_the_learners_function_draws_the_lines(attend, said):
    kind = AttentionStepper.using(attend)
    picture = kind().static_image()
    texts = ["".join(text.itertext()) for text in ElementTree.fromstring(picture.svg).iter()]
    assert any(said in text for text in texts)
    assert ("thirsty: weight" in picture.svg) is ("sum" in said or "looks" in said), "no weight is given away"


# ---- forced attention


def test_what_the_text_says_about_steering():
    assert translate_forced(1, 4) == TRANSLATION.replace("le chat", "le eau"), "as if nothing had happened"
    assert L.asked("chat-at-water").right == [2]
    words = [translate_forced(IL, position).split()[IL] for position in range(len(SOURCE_TOKENS))]
    it = SOURCE_TOKENS.index("it")
    assert words[it:] == ["il"] * 4, "it, was, thirsty and the end"
    others = dict(zip(SOURCE_TOKENS[:it], words[:it], strict=True))
    assert others.pop("cat") == "chat" and set(others.values()) == {"elle"}
    for word, output in {"was": "elle", "it": "il"}.items():
        steps = decode_steps(exercises.COLD, at=(IL, SOURCE_TOKENS.index(word)))
        assert steps["words"][IL] == output
    for sentence, pronoun in {THIRSTY: "il", exercises.COLD: "elle"}.items():  # without the adjective
        assert decode_steps(sentence, at=(IL, it + 2, True))["words"][IL] == pronoun
    turned = [p for p, _ in enumerate(SOURCE_TOKENS) if not exercises.turns_both_around((), (IL, p))]
    assert turned == [SOURCE_TOKENS.index("because")], "one position turns both pronouns around"


def test_the_word_that_a_map_favours_is_enough_more_often_than_any_fixed_word_but_not_needed():
    pronouns, forced = STORED["pronouns"], STORED["forced pronouns"]
    rest = [pronouns[name] for name in ("because", "pronoun", "verb", "end")]
    assert 0.5 > pronouns["adjective"] > max(rest)
    right = {role: forced[role]["both right"] for role in ROLES}
    margin = 1.96 * (2 * N_TWINS / 4) ** 0.5  # of a difference between two of these counts, at most
    assert right["was"] - max(right["it"], right["adjective"], right["because"]) > margin
    assert max(right[noun] for noun in ("first noun", "second noun")) <= 1, "no noun carries it"
    assert forced["most attended"]["both right"] > right["was"], "the map of each sentence knows more"
    without = {role: each["both right"] for role, each in forced["removed"].items()}
    assert without["was"] == N_TWINS and min(without.values()) == without["most attended"] > N_TWINS / 2
    assert forced["model"]["both follow"] > 0.95 * N_TWINS, "the context vectors decide"
    assert L.asked("which-word-carries").right == [2]


def test_another_order_moves_the_weights_and_nothing_else(translate):
    order = [9, 3, 1, 0, 5, 2, 8, 7, 6, 4]
    translation, weights = translate(THIRSTY, additive_attention)
    shuffled, moved = translate(
        THIRSTY,
        lambda states, annotations, *learned: additive_attention(states, annotations[:, order], *learned),
    )
    assert shuffled == translation == TRANSLATION == shared("bahdanau")(THIRSTY).target
    assert torch.allclose(moved, weights[:, order], atol=1e-5)
    assert L.asked("order-of-annotations").right == [0] and L.asked("shuffled-annotations").right == [0]


# ---- answers of the quiz


def test_the_numbers_of_the_quiz():
    context, _ = exercises.blend(torch.full((1, 3), 7.0).softmax(-1), torch.tensor([[3.0], [6.0], [9.0]]))
    assert L.asked("context-by-hand").answer == pytest.approx(context.item())
    assert L.asked("error-of-links").answer == pytest.approx(1 - 2 * 9 / (10 + 10))


def test_without_the_tanh_the_weights_are_the_same_at_every_step():
    generator = torch.Generator().manual_seed(6)
    w, u, v, annotations, states = (
        torch.randn(*size, generator=generator) for size in [(4, 4)] * 2 + [(4,), (5, 4), (2, 4)]
    )
    straight = [((annotations @ u.T + state @ w.T) @ v).softmax(-1) for state in states]
    _, bent = additive_attention(states, annotations.expand(2, -1, -1), w, u, v)
    assert not torch.allclose(bent[0], bent[1])
    expected = indices_of_true(False, torch.allclose(*straight), torch.allclose(torch.stack(straight), bent))
    assert L.asked("without-the-bend").right == expected
