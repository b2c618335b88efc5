"""A training run with the learner's attention, filmed: one to three minutes for 600 steps on two cores.

    run = train_and_film(additive_attention)
    run["curve"][3]["links"], run["snapshots"][3]["maps"]["thirsty"]["translation"]

The training configuration is that of the recorded runs (`emergence` in data/results), and so is what the film
holds; it is measured on fewer sentences.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import mean
from typing import Any

import torch
from torch import nn

from course_lib.models.bahdanau import BahdanauConfig
from course_lib.models.inference import device_of, eval_mode
from course_lib.models.translator import Translator
from course_lib.results import runs
from course_lib.runtime import is_strict
from course_lib.text.batch import make_batch
from course_lib.text.pair import Pair
from course_lib.text.special import PAD
from course_lib.text.tokenizer import Tokenizer
from course_lib.text.toy.splits import TEST_SIZES, splits
from course_lib.training.console import bar_enabled
from course_lib.training.data import encode_data, sides, toy_data
from course_lib.training.loop import train
from course_lib.training.recipe import Recipe
from course_lib.translation.evaluation import teacher_forced_weights
from course_lib.translation.pipeline import translate
from lessons.l06_bahdanau_attention.attention_emerges import SENTENCES, pair_of
from lessons.l06_bahdanau_attention.own_attention import Attention, OwnAttention

N_STEPS, N_STORED, EVERY, N_SENTENCES = 600, 25, 25, 60  # few steps where a notebook is built or graded


def train_and_film(attend: Attention, *, n_steps: int = 0, seed: int = 6) -> dict[str, list[dict[str, Any]]]:
    """Train from new random weights; interrupted, it returns the film so far."""
    watched = bar_enabled() and not is_strict()
    n_steps = n_steps or (N_STEPS if watched else N_STORED)
    data, recorded = toy_data(), runs("emergence")[0]
    recipe = Recipe.from_json(recorded["recipe"])
    short = replace(recipe, n_steps=n_steps, validate_every=EVERY, average_from=1.0, seed=seed)
    torch.manual_seed(seed)
    config = {name: value for name, value in recorded["config"].items() if name != "system"}
    model, film = OwnAttention(BahdanauConfig(**config), attend), {"curve": [], "snapshots": []}
    tests = splits(seed=0, sizes=TEST_SIZES).test[:N_SENTENCES]
    few = sides(tests[:1])  # its loss is measured, but not shown
    validation = encode_data("few", few, few, data.tokenizer).validation

    def watch(model: nn.Module) -> dict[str, float]:
        step = {"step": EVERY * len(film["curve"])}
        film["curve"].append(step | forced_measures(model, data.tokenizer, tests))
        maps = {name: map_of(model, data.tokenizer, pair_of(each)) for each, name in SENTENCES.items()}
        film["snapshots"].append(step | {"maps": maps})
        return {}

    watch(model.eval())
    train(model, data.train, short, validation=validation, score=watch, schedule=recipe.rate)
    return film


@torch.no_grad()
def map_of(model: Translator, tokenizer: Tokenizer, pair: Pair) -> dict[str, Any]:
    """The attention weights under teacher forcing, a row for each target word, and the translation."""
    ids = tokenizer.encode(pair.src_text), tokenizer.encode(pair.tgt_text)
    ((_, weights),) = teacher_forced_weights(model, {0: ids})
    (translation,) = translate([pair.src_text], model, tokenizer)
    return {"weights": weights[0, 0].tolist(), "translation": translation.target}


def forced_measures(model: Translator, tokenizer: Tokenizer, pairs: Sequence[Pair]) -> dict[str, float]:
    """The fractions of right words and right links, and the correlation of a word's position with the mean
    position that it attends to, averaged over the sentences."""
    ids = [(tokenizer.encode(pair.src_text), tokenizer.encode(pair.tgt_text)) for pair in pairs]
    batch = make_batch(*zip(*ids, strict=True)).to(device_of(model))
    with eval_mode(model), torch.inference_mode():
        memory = model.encode(batch.src, batch.src_lengths)
        logits, weights = model.decode(memory, batch.tgt_in, with_weights=True)
    is_word = batch.tgt_out != PAD
    right = (logits.argmax(dim=-1) == batch.tgt_out)[is_word].double().mean().item()
    links, diagonal = [], []
    for pair, (src, tgt), rows in zip(pairs, ids, weights.mean(dim=(1, 2)).double().cpu(), strict=True):
        rows = rows[: len(tgt), : len(src)]
        linked = {target: {s for s, t in pair.links if t == target} for _, target in pair.links}
        links += [int(rows[target].argmax()) in sources for target, sources in linked.items()]
        attended = (rows / rows.sum(dim=1, keepdim=True).clamp(min=1e-9)) @ torch.arange(len(src)).double()
        if len(tgt) > 2 and attended.std() > 1e-9:
            places = torch.stack([torch.arange(len(tgt)).double(), attended])
            diagonal.append(torch.corrcoef(places)[0, 1].item())
    found = {"words": right, "links": mean(links), "diagonal": mean(diagonal) if diagonal else 0.0}
    return {name: round(number, 4) for name, number in found.items()}
