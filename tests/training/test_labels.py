"""Which pronoun a sentence needs, and a classifier that learns to tell."""

from __future__ import annotations

import pytest
import torch

from course_lib.text.encoded import encode_ids
from course_lib.text.toy.generate import generate, running_pair
from course_lib.text.word_tokenizer import WordTokenizer
from course_lib.training.corpora import encode_data
from course_lib.training.labels import CLASSES, label_of, pronoun_labels, right_by_class, target_ids


@pytest.fixture(scope="module")
def toy():
    """400 pairs, some with a pronoun."""
    pairs = generate(400, seed=3)
    texts = [pair.src_text for pair in pairs], [pair.tgt_text for pair in pairs]
    return pairs, encode_data("toy", texts, texts, WordTokenizer.from_texts([*texts[0], *texts[1]]))


def test_the_running_pair():
    assert [CLASSES[label_of(pair.tgt_text)] for pair in running_pair()] == ["il", "elle"]


def test_labels_are_those_of_the_pairs_in_order(toy):
    pairs, data = toy
    labels = pronoun_labels(data.train, data.tokenizer).tolist()
    for pair, label in zip(pairs, labels, strict=True):
        said = [word for word in pair.tgt if word in CLASSES[1:]]
        assert said == ([CLASSES[label]] if label else [])  # never two in a sentence
    assert set(labels) == set(range(len(CLASSES)))


def test_target_sentences_come_back():
    targets = [[5], [6, 4, 5], [9, 9]]
    assert target_ids(encode_ids([[7, 8], [9], [4]], targets)) == targets


def test_sentences_of_one_class_are_refused():
    tokenizer = WordTokenizer(["the", "cat"])
    with pytest.raises(ValueError, match=r"all 2 are of one class, 'none'.*toy language"):
        pronoun_labels(encode_ids([[4], [5]], [[4], [5]]), tokenizer)


def test_right_by_class(toy):
    _, data = toy
    labels = pronoun_labels(data.train, data.tokenizer)

    class AlwaysNone(torch.nn.Module):
        def forward(self, src, lengths):
            return torch.eye(len(CLASSES))[torch.zeros(len(src), dtype=torch.int64)]

    model = AlwaysNone().train()
    found = right_by_class(model, data.train, labels)
    assert found["none"] == 1 and all(found[name] == 0 for name in CLASSES[1:])
    assert found["all"] == pytest.approx((labels == 0).double().mean().item())
    assert model.training


@pytest.mark.parametrize("training", [True, False])
def test_a_model_is_judged_at_rest(toy, training):
    _, data = toy

    class OnlyAtRest(torch.nn.Module):
        def forward(self, src, lengths):
            return torch.eye(len(CLASSES))[torch.full_like(lengths, int(self.training))]

    model = OnlyAtRest().train(training)
    found = right_by_class(model, data.train, pronoun_labels(data.train, data.tokenizer))
    assert (found["none"], found["il"]) == (1, 0) and model.training is training
