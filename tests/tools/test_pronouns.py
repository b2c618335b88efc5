"""The classification task of the sentence encoder: its loss, its labels, its accuracies."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from torch import nn

from course_lib.text.encoded import encode_ids, target_ids
from course_lib.text.toy.generate import generate, running_pair
from course_lib.text.word_tokenizer import WordTokenizer
from tools.pronouns import CLASSES, classification, label_of, pronoun_labels, right_by_class


@pytest.mark.parametrize(("smoothing", "penalty"), [(0.2, 0.0), (0.0, 0.5), (0.2, 0.5)])
def test_classification_by_hand(make, smoothing, penalty):
    """Cross-entropy with label smoothing, plus the penalty times ‖A Aᵀ − I‖²."""
    model = make("self_attentive", dropout=0.0)
    corpus = encode_ids([[7], [4], [5, 6, 8]], [[4]] * 3)
    batch = corpus.batch(torch.tensor([2, 0, -1, -1]), src_len=4, tgt_len=2)  # two rows are blank
    embedding, weights = model.encode(batch.src, batch.src_lengths)
    rows = zip(model.classify(embedding).tolist(), weights.tolist(), [1, 0], strict=False)
    plain = expected = 0.0
    for logits, hops, label in rows:
        log_sum = math.log(sum(map(math.exp, logits)))
        plain += log_sum - logits[1 - label]
        for index, logit in enumerate(logits):
            probability = (1 - smoothing) * (index == label) + smoothing / len(logits)
            expected += probability * (log_sum - logit)
        for i, j in itertools.product(range(len(hops)), repeat=2):
            overlap = sum(a * b for a, b in zip(hops[i], hops[j], strict=True))
            expected += penalty * (overlap - (i == j)) ** 2
    labels, unseen = torch.tensor([0, 0, 1]), torch.tensor([1, 0, 0])
    objective = classification(labels, unseen, smoothing=smoothing, penalty=penalty)
    assert objective(model.eval(), batch)[0].item() == pytest.approx(plain, rel=1e-5)  # labels of validation
    loss, n_counted = objective(model.train(), batch)
    assert loss.item() == pytest.approx(expected, rel=1e-5) and n_counted == 2

    class Wrapper(nn.Module):
        """Like DistributedDataParallel, which averages gradients only if it is called itself."""

        def __init__(self, module):
            super().__init__()
            self.module, self.n_calls = module, 0

        def forward(self, *args):
            self.n_calls += 1
            return self.module(*args)

    wrapper = Wrapper(model)
    torch.testing.assert_close(objective(wrapper, batch), (loss, n_counted))
    assert wrapper.n_calls == 1


def test_labels_follow_the_order_of_the_pairs(encoded):
    assert [CLASSES[label_of(pair.tgt_text)] for pair in running_pair()] == ["il", "elle"]
    pairs = generate(400, seed=3)
    data = encoded(pairs)
    labels = pronoun_labels(data.train, data.tokenizer).tolist()
    for pair, label in zip(pairs, labels, strict=True):
        pronouns = [word for word in pair.tgt if word in CLASSES[1:]]
        assert pronouns == ([CLASSES[label]] if label else [])  # never two in a sentence
    assert set(labels) == set(range(len(CLASSES)))
    targets = [[5], [6, 4, 5], [9, 9]]
    assert target_ids(encode_ids([[7, 8], [9], [4]], targets)) == targets
    with pytest.raises(ValueError, match=r"all 2 .* 'none'.*toy language"):
        pronoun_labels(encode_ids([[4], [5]], [[4], [5]]), WordTokenizer(["the", "cat"]))


def test_right_by_class_uses_evaluation_mode(encoded):
    data = encoded(generate(400, seed=3))
    labels = pronoun_labels(data.train, data.tokenizer)

    class PredictsNone(nn.Module):
        """Predicts "none" in evaluation mode and "il" in training mode."""

        def forward(self, src, lengths):
            return torch.eye(len(CLASSES))[torch.full_like(lengths, int(self.training))]

    accuracies = right_by_class(PredictsNone(), data.train, labels)
    assert accuracies["none"] == 1 and all(accuracies[name] == 0 for name in CLASSES[1:])
    assert accuracies["all"] == pytest.approx((labels == 0).double().mean().item())
