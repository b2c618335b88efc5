"""The shipped checkpoints: all there, small, unchanged, and as good as the results say."""

from __future__ import annotations

import hashlib
import json

import pytest
import torch
from safetensors import safe_open

from course_lib.models.registry import SYSTEMS, n_parameters, system
from course_lib.runtime import PROJECT_ROOT, data_path
from course_lib.text.toy.splits import SIZES_OF_TESTS, splits
from course_lib.training.checkpoint import load_system
from course_lib.training.corpora import load_data
from course_lib.training.job import Job
from course_lib.training.recipe import Recipe, usual_recipe
from course_lib.translation.metrics import exact_matches
from course_lib.translation.pipeline import translate
from tools.experiments.catalogue import experiments
from tools.experiments.tables import brief, table
from tools.experiments.telling_pairs import telling, telling_pairs
from tools.experiments.trained_run import toy_scores

CHECKPOINTS, RESULTS = PROJECT_ROOT / "data" / "checkpoints", PROJECT_ROOT / "data" / "results"
NAMES = [one.name for one in SYSTEMS]
ROOM = 20_000_000
LADDERS = ("toy_ladder", "toy_language_models", "toy_sentence_encoder")


def results(name: str) -> dict:
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def shipped() -> dict[str, dict]:
    """The run each shipped checkpoint came from: the first seed of its ladder."""
    runs = [run for name in LADDERS for run in results(name)["runs"]]
    return {run["variant"]: run for run in runs if run["seed"] == 0}


def test_every_system_is_there_unchanged_and_all_together_are_small():
    files = sorted(CHECKPOINTS.glob("*.safetensors"))
    assert {path.stem for path in files} == set(NAMES)
    assert sum(path.stat().st_size for path in files) <= ROOM
    lines = (CHECKPOINTS / "manifest.sha256").read_text(encoding="utf-8").splitlines()
    listed = {name: digest for digest, name in map(str.split, lines)}
    assert {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files} == listed


@pytest.mark.parametrize("name", NAMES)
def test_a_checkpoint_was_made_by_the_usual_recipe_and_is_of_half_precision(name, shipped):
    run = shipped[name]
    made_by = Recipe.from_json(run["recipe"])
    assert made_by == usual_recipe(name, scale="toy", on_gpu=made_by.precision == "bfloat16")
    assert run["machine"] and run["versions"]["torch"]
    with safe_open(CHECKPOINTS / f"{name}.safetensors", framework="pt") as file:
        kinds = {file.get_tensor(key).dtype for key in file.keys()}  # noqa: SIM118
    assert kinds == {torch.float16} or system(name).counts


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_checkpoint_does_what_its_result_says(name, shipped):
    """To a rounding: on another machine a few words in ten thousand may fall the other way."""
    toy, kept = splits(sizes=SIZES_OF_TESTS), shipped[name]
    saved = load_system(CHECKPOINTS / f"{name}.safetensors")
    assert n_parameters(saved.model) == kept["parameters"]
    if system(name).kind != "translator":
        again = toy_scores(name, saved.model, saved.tokenizer)
        assert brief(kept | {"scores": again}, "train") == brief(kept, "train")
        return
    said = translate([pair.src_text for pair in toy.test], saved.model, saved.tokenizer)
    right = exact_matches([one.target for one in said], [pair.tgt_text for pair in toy.test])
    assert sum(right) / len(right) == pytest.approx(kept["scores"]["test"]["exact"], abs=0.004)


@pytest.mark.slow
def test_checkpoints_and_data_are_of_one_language():
    """Whoever changes the toy language has to train again."""
    data = load_data("toy")
    for name in NAMES:
        about = load_system(CHECKPOINTS / f"{name}.safetensors").about
        assert about["data"] == {"name": data.name, "fingerprint": data.fingerprint}, name


# ---- results


@pytest.mark.parametrize("path", sorted(RESULTS.glob("*.json")), ids=lambda path: path.stem)
def test_results_are_those_of_the_table_and_on_the_page(path):
    """All seeds of all variants, and the table in data/results/README.md to the letter."""
    kept = results(path.stem)
    if "experiment" not in kept:
        return
    asked = experiments()[kept["experiment"]]
    assert (kept["asks"], kept["expected"]) == (asked.asks, asked.expected)
    ran = [(run["variant"], run["seed"]) for run in kept["runs"]]
    wanted = [(variant, seed) for variant in asked.variants for seed in asked.seeds]
    assert ran == wanted
    page = (RESULTS / "README.md").read_text(encoding="utf-8")
    assert asked.expected in page and f"\n\n{table(kept)}\n" in page


def test_the_quick_recipe_and_the_clock_are_as_the_page_says():
    page = (PROJECT_ROOT / "docs" / "training.md").read_text(encoding="utf-8")
    before, quick = results("cpu/quick")["runs"]
    on_gpu, clock = results("gpu/quick")["runs"], results("clock")
    config, recipe = Job(system="transformer", quick=True).changes()
    for run in (quick, *on_gpu):
        assert run["config"] | config == run["config"] and run["recipe"] | recipe == run["recipe"]
    assert before["machine"] == quick["machine"] and "CPU, 2 threads" in quick["machine"]
    assert {run["machine"] for run in (*on_gpu, clock)} == {"NVIDIA H200"}
    seconds, earlier = round(quick["seconds"]), round(before["seconds"])
    first, *others = (round(run["seconds"]) for run in on_gpu)
    assert seconds < 0.6 * earlier and set(others) == {3}
    exact = [f"{run['scores']['test']['exact']:.1%}" for run in (quick, before)]
    low, *_, high = sorted(run["scores"]["test"]["exact"] for run in on_gpu)
    for told in (
        f"takes {seconds} s; the one before it",
        f"took {earlier} s\n",
        f"translate {exact[0]} and {exact[1]} of the test sentences",
        "the quick one took 3 s (`data/results/gpu/quick.json`",
        f"starts everything, {first} s",
        f"with {100 * low:.1f} to {high:.1%}.",
        f"took {clock['seconds']} s (`{clock['command']}`",
    ):
        assert told in page
    assert quick["scores"]["coreference"]["pronouns"] == before["scores"]["coreference"]["pronouns"] == 1
    assert clock["seconds"] == pytest.approx(sum(clock["parts"].values())) and clock["bleu"]["value"] > 40


def test_telling_pairs_tell():
    """They are what the results give: seq2seq wrong, the Transformer right; a twin differs in one word."""
    made_up = {"seq2seq": ["010", "000"], "bahdanau": ["101", "011"], "transformer": ["111", "111"]}
    assert {place: one["bahdanau"] for place, one in telling(made_up).items()} == {0: 1, 2: 2}
    kept = json.loads(data_path("toy", "telling_pairs.json").read_text(encoding="utf-8"))
    assert kept == telling_pairs() and len(kept) == 12
    for one in kept:
        assert (one["right"]["seq2seq"], one["right"]["transformer"]) == (0, 3)
        differ = [a != b for a, b in zip(one["src"].split(), one["twin"]["src"].split(), strict=True)]
        assert sum(differ) == 1
