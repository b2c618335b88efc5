"""Figures and claims of lesson 06 are those of data/results and of the shipped system."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
import torch

from course_lib.text.batch import make_batch
from course_lib.text.special import BOS, EOS
from course_lib.translation.shipped import shared
from lessons.l06_bahdanau_attention import exercises
from tests.lessons.told import Told, exact, exams, means

L = Told("bahdanau_attention")


@torch.no_grad()
def translate(sentence: str, look: Callable = exercises.look) -> tuple[str, torch.Tensor]:
    """As in the lesson: what is said, and a row of weights for each word of it and for the end."""
    model, tokenizer = shared("bahdanau").model, shared("bahdanau").tokenizer
    batch, score = make_batch([tokenizer.encode(sentence)], [[]]), model.score
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


@pytest.mark.parametrize("topic", ["bahdanau_attention", "masks"])
def test_read_again_names_a_heading_of_the_lesson(topic):
    lines = Told(topic).source.replace("*", "").splitlines()
    headings = {line.removeprefix("## ") for line in lines if line.startswith("## ")}
    told = set(re.findall(r'"reread": "(.+)"', Told(topic).quiz))
    assert told and told <= headings


def test_the_length_curve_and_the_sizes():
    beyond = exact("toy_ladder", "long", "21–30")
    assert L.asked("length-curve").answer == round(beyond["bahdanau"])
    L.says(f"looks at every word too, and has {beyond['transformer']:.0f}%", "drops to a quarter")
    assert beyond["rnn_encoder_decoder"] < 1
    assert 20 < exact("toy_ladder", "long", "31–40")["bahdanau"] < 30
    size = means("toy_ladder", "parameters")
    L.says(f"{size['seq2seq']:,.0f} parameters, this system {size['bahdanau']:,.0f}")


def test_the_error_on_sixty_sentences():
    right = found = true = 0
    for pair in exams().test[:60]:
        said, weights = translate(pair.src_text)
        if said == pair.tgt_text:
            places = weights[:-1, :-1].argmax(dim=-1).tolist()
            right += len({(english, french) for french, english in enumerate(places)} & pair.links)
            found, true = found + len(places), true + len(pair.links)
    assert f"{1 - 2 * right / (found + true):.2f}" == "0.07"
    L.says("0.07 on these sixty")


def test_the_diagonal():
    def share(pairs: list) -> float:
        links = [link for pair in pairs for link in pair.links]
        return 100 * sum(english == french for english, french in links) / len(links)

    assert round(share(exams().test), -1) == 40
    assert round(share([pair for pair in exams().test if pair.length <= 5])) == 71
    L.says("About 40%", "it is 71%")


def test_another_order_moves_the_weights_and_nothing_else():
    sentence, cards = "the cat drank the water because it was thirsty", [9, 3, 1, 0, 5, 2, 8, 7, 6, 4]
    said, weights = translate(sentence)
    shuffled = lambda state, words, *learned: exercises.look(state, words[:, cards], *learned)  # noqa: E731
    again, moved = translate(sentence, shuffled)
    assert again == said and torch.allclose(moved, weights[:, cards], atol=1e-5)
    L.says(str(cards))


def test_only_differences_of_scores_count():
    for scores in ([1.52, 0.0], [11.52, 10.0]):
        assert torch.tensor(scores).softmax(-1).tolist() == pytest.approx([0.82, 0.18], abs=0.005)
    L.says("1.52 and 0 give the weights 0.82 and 0.18, and so do 11.52 and 10")
