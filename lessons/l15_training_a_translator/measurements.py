"""Numbers that lesson 15 quotes and no experiment records: padding, and two faulty runs."""

from __future__ import annotations

import math
from statistics import mean

import torch

from course_lib.models.translator import Translator
from course_lib.text.special import EOS, PAD
from course_lib.text.toy.splits import splits
from course_lib.training.data import TrainingData
from lessons.l15_training_a_translator.by_hand import by_length
from lessons.l15_training_a_translator.short_sentences import short_data
from lessons.l15_training_a_translator.training_settings import HEALTHY, TrainingSettings
from lessons.l15_training_a_translator.translator_run import TranslatorRun


def measure() -> dict:
    data = short_data()
    return {
        "padding": measure_padding(),
        "softmax twice": measure_plateau(data),
        "high rate": measure_saturation(data, TrainingSettings(rate=0.1)),
        "healthy": measure_saturation(data, HEALTHY),
    }


def measure_padding() -> dict[str, float]:
    """Batches of forty sentences in the order of the corpus, and by length."""
    lengths = [max(len(p.src), len(p.tgt)) + 1 for p in splits(seed=0, sizes={"train": 3000}).train]
    in_order = [list(range(first, first + 40)) for first in range(0, 3000, 40)]
    sorted_batches = by_length(lengths, 1024)

    def fraction(batches: list[list[int]]) -> float:
        return 1 - sum(lengths) / sum(len(batch) * max(lengths[i] for i in batch) for batch in batches)

    return {
        "in order": fraction(in_order),
        "by length": fraction(sorted_batches),
    }


def measure_plateau(data: TrainingData) -> dict[str, float]:
    """What the run with two softmaxes predicts after 24 steps, and the loss that follows from it."""
    run = TranslatorRun(data, TrainingSettings(softmaxes=2)).train(until=24)
    batch = run.validation_batch
    with torch.no_grad():
        probabilities = run.model(batch.src, batch.src_lengths, batch.tgt_in).softmax(dim=-1)
    counted = batch.tgt_out != PAD
    ends = float((batch.tgt_out[counted] == EOS).float().mean())
    predicted = probabilities.argmax(dim=-1)[counted] == EOS
    return {
        "fraction of EOS predicted": float(predicted.float().mean()),
        "probability of EOS": float(probabilities[..., EOS][counted].mean()),
        "fraction of EOS": ends,
        "loss": math.log(math.e + run.data.tokenizer.vocab_size - 1) - ends,
    }


def measure_saturation(data: TrainingData, settings: TrainingSettings) -> dict[str, float]:
    """Attention and weights after 48 steps."""
    run = TranslatorRun(data, settings)
    batch = run.validation_batch

    def saturation(model: Translator) -> dict[str, float]:
        attention = model.attention_weights(batch.src, batch.src_lengths, batch.tgt_in).values()
        matrices = [weight for weight in model.parameters() if weight.dim() == 2]
        return {
            "largest attention weight": mean(float(w.max(dim=-1).values.mean()) for w in attention),
            "size of the weights": mean(float(weight.square().mean().sqrt()) for weight in matrices),
        }

    return dict(run.train(until=48, score=saturation).history[-1].scores)
