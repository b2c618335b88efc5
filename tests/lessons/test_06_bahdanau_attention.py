"""Figures and claims of lesson 06 are those of data/results and of the shipped system."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
import torch

from course_lib.explore.attention_stepper import walk
from course_lib.recorded import recorded
from course_lib.teaching.exercises import load
from course_lib.teaching.lessons import lesson
from course_lib.teaching.questions import questions
from course_lib.text.batch import make_batch
from course_lib.text.special import BOS, EOS
from course_lib.text.toy.splits import SIZES_OF_TESTS, splits
from course_lib.translation.shipped import load_shipped

FOLDER = lesson("bahdanau_attention").folder
SOURCE = (FOLDER / "lesson.py").read_text(encoding="utf-8")
QUIZ = (FOLDER / "quiz.json").read_text(encoding="utf-8")
look = load(FOLDER / "exercises.py").look


def exact(name: str, split: str, group: str, experiment: str = "toy_ladder") -> float:
    found = recorded(experiment, lambda run: run["scores"][split]["by_length"][group]["exact"])
    return 100 * found[name]


@torch.no_grad()
def translate(sentence: str, look: Callable = look) -> tuple[str, torch.Tensor]:
    """As in the lesson: what is said, and a row of weights for each word of it and for the end."""
    shipped = load_shipped("bahdanau")
    model, tokenizer, score = shipped.model.eval(), shipped.tokenizer, shipped.model.score
    batch = make_batch([tokenizer.encode(sentence)], [[]])
    memory = model.encode(batch.src, batch.src_lengths)
    state, word, said, looks = model.start(memory)["hidden"], BOS, [], []
    while len(said) < 30:
        context, weights = look(state, memory["annotations"], score.w_query, score.w_key, score.v)
        looks.append(weights[0])
        read = model.embed(torch.tensor([[word]]))[:, 0]
        state = model.decoder(torch.cat([read, context], dim=-1), state)
        word = model.logits(torch.cat([state, read, context], dim=-1)).argmax().item()
        if word == EOS:
            break
        said.append(word)
    return tokenizer.decode(said), torch.stack(looks)


def test_read_again_names_a_heading_of_the_lesson():
    headings = {line.removeprefix("## ") for line in SOURCE.splitlines() if line.startswith("## ")}
    told = set(re.findall(r'"reread": "(.+)"', QUIZ))
    assert told and told <= headings


def test_the_length_curve_is_as_told():
    assert [round(exact(name, "test", "16–20")) for name in ("seq2seq", "bahdanau")] == [22, 95]
    assert "it is 95% where it was 22%" in SOURCE and "Nine in ten" in SOURCE
    beyond = {name: exact(name, "long", "21–30") for name in ("bahdanau", "seq2seq", "transformer")}
    asked = questions("06")["length-curve"]
    assert asked.answer == round(beyond["bahdanau"]) == 90
    assert f"Seq2seq gets {beyond['seq2seq']:.1f}% of them right" in asked.text
    assert f"the Transformer {beyond['transformer']:.0f}% (lesson 04)" in asked.text
    assert f"looks at every word too, and has {beyond['transformer']:.0f}%" in SOURCE
    assert exact("rnn_encoder_decoder", "long", "21–30") < 1
    assert 20 < exact("bahdanau", "long", "31–40") < 30 and "drops to a quarter" in SOURCE


def test_sizes_and_alignment_error_are_as_told():
    run = recorded("toy_ladder", lambda run: run["parameters"])
    assert f"{run['seq2seq']:,.0f} parameters, this system {run['bahdanau']:,.0f}" in SOURCE
    error = recorded("toy_ladder", lambda run: run["scores"]["test"].get("alignment_error", 0) or 0)
    assert f"{error['bahdanau']:.2f}" == "0.06" and "the right translation, it is 0.06" in SOURCE


def test_the_error_on_sixty_sentences_is_as_told():
    right = found = true = 0
    for pair in splits(seed=0, sizes=SIZES_OF_TESTS).test[:60]:
        said, weights = translate(pair.src_text)
        if said == pair.tgt_text:
            places = weights[:-1, :-1].argmax(dim=-1).tolist()
            right += len({(english, french) for french, english in enumerate(places)} & pair.links)
            found, true = found + len(places), true + len(pair.links)
    assert f"{1 - 2 * right / (found + true):.2f}" == "0.07" and "0.07 on these sixty" in SOURCE


def test_the_diagonal_is_as_told():
    pairs = splits(seed=0, sizes=SIZES_OF_TESTS).test

    def share(pairs: list) -> float:
        links = [link for pair in pairs for link in pair.links]
        return 100 * sum(english == french for english, french in links) / len(links)

    assert round(share(pairs), -1) == 40 and "About 40%" in QUIZ
    assert round(share([pair for pair in pairs if pair.length <= 5])) == 71 and "it is 71%" in QUIZ


def test_il_looks_at_thirsty_as_told():
    kept = walk("thirsty")
    row = dict(zip(kept["source"], kept["weights"][8], strict=True))
    assert [f"{row[word]:.2f}" for word in ("thirsty", "</s>", "cat")] == ["0.46", "0.30", "0.00"]
    for text in (QUIZ, SOURCE):
        assert "*thirsty* (0.46)" in text and "(0.30)" in text
    assert sum(kept["weights"][8][:5]) < 0.005 and "the words before have nothing" in SOURCE


def test_another_order_moves_the_weights_and_nothing_else():
    sentence, cards = "the cat drank the water because it was thirsty", [9, 3, 1, 0, 5, 2, 8, 7, 6, 4]
    said, weights = translate(sentence)
    again, moved = translate(sentence, lambda state, words, *learned: look(state, words[:, cards], *learned))
    assert again == said and torch.allclose(moved, weights[:, cards], atol=1e-5)
    assert str(cards) in SOURCE


def test_only_differences_of_scores_count():
    for scores in ([1.52, 0.0], [11.52, 10.0]):
        assert torch.tensor(scores).softmax(-1).tolist() == pytest.approx([0.82, 0.18], abs=0.005)
    assert "1.52 and 0 give the weights 0.82 and 0.18, and so do 11.52 and 10" in SOURCE


def test_forced_looks_say_what_is_told():
    steered = load(lesson("bahdanau_attention").folder / "exercises.py").steered
    assert [steered(8, place).split()[8] for place in range(10)] == [
        "elle",
        "chat",
        *["elle"] * 4,
        *["il"] * 4,
    ]
    assert (
        steered(1, 4).startswith("le eau a bu")
        and steered(1, 9) == "le"
        and steered(1, 8).startswith("le avait")
        and steered(1, 3).startswith("le matin")
        and steered(1, 5).startswith("le parce qu'")
    )
