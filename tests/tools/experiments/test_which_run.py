"""Which run is stored where, and which of several settings is reported."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from course_lib.results import unpack_rows
from course_lib.text.corpus import Sentences
from tools.experiments import runner, trained_run
from tools.experiments.catalogue import experiments
from tools.experiments.recall_run import VOCAB, gradient_by_lag
from tools.experiments.runner import Run, run_one, store_runs


@pytest.mark.parametrize(("seed", "is_kept"), [(0, True), (1, False)])
def test_only_the_weights_of_the_first_seed_are_kept(monkeypatch, tmp_path, seed, is_kept):
    """They have one file: another seed would overwrite it."""
    asked = []

    def remember(changes, **options):
        asked.append(changes)
        return {}

    monkeypatch.setitem(runner.LARGE, "train", remember)
    run_one(Run("toy_language_models", "gru_lm", seed), tmp_path, None, "cpu", 1)
    [changes] = asked
    assert ("keep" in changes) is is_kept


def test_runs_are_stored_by_variant_then_by_seed(tmp_path):
    experiment, path = experiments()["key_and_value"], tmp_path / "runs.json"
    variants = list(experiment.variants)[:2]
    finished = [(variants[1], 0), (variants[0], 1), (variants[1], 1), (variants[0], 0)]
    runs = {(variant, seed): {"variant": variant, "seed": seed} for variant, seed in finished}
    store_runs(experiment, runs, path, None)
    stored = json.loads(path.read_text(encoding="utf-8"))["runs"]
    expected = [(variant, seed) for variant in variants for seed in (0, 1)]
    assert [(run["variant"], run["seed"]) for run in stored] == expected


def test_the_test_set_is_translated_with_the_penalty_that_is_best_on_validation(monkeypatch):
    def evaluate(model, tokenizer, split, *, lowercase, beam=1, length_penalty=0.6):
        """On validation 0.6 is best; on test, which must not be looked at, the largest."""
        bleu = 10 * length_penalty if split != "validation" else 30 - abs(length_penalty - 0.6)
        return SimpleNamespace(bleu=SimpleNamespace(value=bleu, signature=""), translations=["the cat"])

    def read_corpus(name, split):
        return Sentences(src=["die Katze"], tgt=["the cat"]) if split == "test" else split

    monkeypatch.setattr(trained_run, "evaluate", evaluate)
    monkeypatch.setattr(trained_run, "read_corpus", read_corpus)
    outcome = SimpleNamespace(model=None, data=SimpleNamespace(name="multi30k-de-en", tokenizer=None))
    scores = trained_run.multi30k_scores(outcome, validation_only=False)
    assert scores["test"]["length_penalty"] == 0.6 and scores["test"]["beam"] == pytest.approx(6)
    assert unpack_rows(scores["test"]["rows"]["beam"]).tolist() == [[2, 1, 0, 0, 2, 2]]


class LooksBack(nn.Module):
    """Its prediction depends on a single token: the one `lag` steps back."""

    def __init__(self, lag: int):
        super().__init__()
        self.lag = lag
        self.words = nn.ModuleDict({"dropout": nn.Dropout(0.0)})
        self.embedding, self.output = nn.Embedding(VOCAB, 4), nn.Linear(4, VOCAB)

    def forward(self, tokens):
        embedded = self.words["dropout"](self.embedding(tokens))
        return self.output(embedded.roll(self.lag, dims=1))


@pytest.mark.parametrize("lag", [1, 5, 100])
def test_the_gradient_is_found_at_the_token_that_mattered(lag):
    torch.manual_seed(0)
    model = LooksBack(lag)
    norms = gradient_by_lag(model, torch.Generator().manual_seed(0))
    assert [name for name, norm in norms.items() if norm] == [str(lag)]
