"""The shipped checkpoints: all there, small, unchanged, and as good as the results say."""

from __future__ import annotations

import hashlib
import json

import pytest
import torch
from safetensors import safe_open

from course_lib.bench.experiments import experiments
from course_lib.bench.tables import table
from course_lib.bench.telling import N, right_by_seed, telling
from course_lib.bench.trained import brief, toy_scores
from course_lib.models.registry import SYSTEMS, system
from course_lib.runtime import PROJECT_ROOT, data_path
from course_lib.text.toy.splits import SIZES_OF_TESTS, splits
from course_lib.training.checkpoint import load_system
from course_lib.training.corpora import toy_data
from course_lib.training.job import Job
from course_lib.training.recipe import Recipe, usual_recipe
from course_lib.translation.metrics import exact_matches
from course_lib.translation.translate import translate

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


def test_every_system_is_there_and_all_together_are_small():
    files = sorted(CHECKPOINTS.glob("*.safetensors"))
    assert {path.stem for path in files} == set(NAMES)
    assert sum(path.stat().st_size for path in files) <= ROOM


def test_the_manifest_is_right():
    lines = (CHECKPOINTS / "manifest.sha256").read_text(encoding="utf-8").splitlines()
    listed = {name: digest for digest, name in map(str.split, lines)}
    found = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in CHECKPOINTS.glob("*.safetensors")
    }
    assert found == listed


@pytest.mark.parametrize("name", NAMES)
def test_weights_are_of_half_precision(name):
    if system(name).counts:
        return
    with safe_open(CHECKPOINTS / f"{name}.safetensors", framework="pt") as file:
        kinds = {file.get_tensor(key).dtype for key in file.keys()}  # noqa: SIM118
    assert kinds == {torch.float16}


@pytest.mark.parametrize("name", NAMES)
def test_a_checkpoint_was_made_by_the_usual_recipe(name, shipped):
    run = shipped[name]
    made_by = Recipe(**run["recipe"])
    on_gpu = made_by.precision == "bfloat16"
    assert made_by == usual_recipe(name, scale="toy", on_gpu=on_gpu)
    assert run["machine"] and run["versions"]["torch"]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_checkpoint_does_what_its_result_says(name, shipped):
    """To a rounding: on another machine a few words in ten thousand may fall the other way."""
    toy, saved, kept = (
        splits(sizes=SIZES_OF_TESTS),
        load_system(CHECKPOINTS / f"{name}.safetensors"),
        shipped[name],
    )
    assert sum(p.numel() for p in saved.model.parameters()) == kept["parameters"]
    if system(name).kind != "translator":
        again = toy_scores(name, saved.model, saved.tokenizer)
        assert brief(again) == brief(kept["scores"])
        return
    said = translate([pair.src_text for pair in toy.test], saved.model, saved.tokenizer)
    right = exact_matches([one.target for one in said], [pair.tgt_text for pair in toy.test])
    assert sum(right) / len(right) == pytest.approx(kept["scores"]["test"]["exact"], abs=0.004)


@pytest.mark.slow
def test_checkpoints_and_data_are_of_one_language():
    """Whoever changes the toy language has to train again."""
    data = toy_data()
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


def test_the_quick_recipe_on_a_cpu_is_as_the_page_says():
    before, quick = results("cpu/quick")["runs"]
    assert before["machine"] == quick["machine"] and "CPU, 2 threads" in quick["machine"]
    config, recipe = Job(system="transformer", quick=True).changes()
    assert quick["config"] | config == quick["config"] and quick["recipe"] | recipe == quick["recipe"]
    page = (PROJECT_ROOT / "docs" / "training.md").read_text(encoding="utf-8")
    seconds, earlier = round(quick["seconds"]), round(before["seconds"])
    assert f"takes {seconds} s; the one before it" in page and f"took {earlier} s\n" in page
    assert seconds < 0.6 * earlier
    exact = [f"{run['scores']['test']['exact']:.1%}" for run in (quick, before)]
    assert f"translate {exact[0]} and {exact[1]} of the test sentences" in page
    assert quick["scores"]["coreference"]["pronouns"] == before["scores"]["coreference"]["pronouns"] == 1


def test_the_quick_recipe_on_a_gpu_is_as_the_page_says():
    runs = results("gpu/quick")["runs"]
    config, recipe = Job(system="transformer", quick=True).changes()
    assert all(run["config"] | config == run["config"] for run in runs)
    assert all(run["recipe"] | recipe == run["recipe"] for run in runs)
    assert {run["machine"] for run in runs} == {"NVIDIA H200"}
    page = (PROJECT_ROOT / "docs" / "training.md").read_text(encoding="utf-8")
    first, *others = (round(run["seconds"]) for run in runs)
    assert set(others) == {3} and "the quick one took 3 s (`data/results/gpu/quick.json`" in page
    assert f"starts everything, {first} s" in page
    exact = sorted(run["scores"]["test"]["exact"] for run in runs)
    assert f"with {100 * exact[0]:.1f} to {exact[-1]:.1%}." in page


def test_the_clock_is_as_the_page_says():
    kept = results("clock")
    assert kept["seconds"] == pytest.approx(sum(kept["parts"].values())) and kept["bleu"]["value"] > 40
    page = (PROJECT_ROOT / "docs" / "training.md").read_text(encoding="utf-8")
    assert f"took {kept['seconds']} s (`{kept['command']}`" in page and kept["machine"] == "NVIDIA H200"


def test_telling_pairs_tell():
    made_up = {"seq2seq": ["010", "000"], "bahdanau": ["101", "011"], "transformer": ["111", "111"]}
    assert telling(made_up) == [(0, 1), (2, 2)]
    kept = json.loads(data_path("toy", "telling_pairs.json").read_text(encoding="utf-8"))
    right = right_by_seed(results("toy_ladder")["runs"])
    pairs = splits(sizes=SIZES_OF_TESTS).coreference
    places = {pair.src_text: place for place, pair in enumerate(pairs)}
    tell = dict(telling(right))
    assert len(kept) == N
    for one in kept:
        place = places[one["src"]]
        assert place in tell and pairs[place].tgt_text == one["tgt"]
        assert one["right"]["seq2seq"] == 0 and one["right"]["transformer"] == 3
        assert one["right"]["bahdanau"] == tell[place]
        assert one["twin"]["src"] == pairs[place ^ 1].src_text
        differ = [a != b for a, b in zip(one["src"].split(), one["twin"]["src"].split(), strict=True)]
        assert sum(differ) == 1
