"""The shipped checkpoints are complete, small and unchanged, and reproduce the recorded results."""

from __future__ import annotations

import hashlib
import json

import pytest
import torch
from safetensors import safe_open

from course_lib.models.registry import SYSTEMS, n_parameters, system
from course_lib.runtime import PROJECT_ROOT, data_path
from course_lib.text.toy.splits import TEST_SIZES, splits
from course_lib.training.checkpoint import load_system
from course_lib.training.job import Job
from course_lib.training.recipe import Recipe, usual_recipe
from course_lib.translation.metrics import exact_matches
from course_lib.translation.pipeline import translate
from tools.corpora import load_data
from tools.experiments.catalogue import experiments, kept_name
from tools.experiments.tables import brief
from tools.experiments.telling_pairs import telling, telling_pairs
from tools.experiments.trained_run import toy_scores

CHECKPOINTS, RESULTS = PROJECT_ROOT / "data" / "checkpoints", PROJECT_ROOT / "data" / "results"
KEPT = {  # the experiment and the variant of each checkpoint
    kept_name(changes): (experiment.name, variant)
    for experiment in experiments().values()
    for variant, changes in experiment.variants.items()
    if kept_name(changes)
}
NAMES = list(KEPT)
NOT_ONLY_NIGHTLY = ("gru_lm", "bahdanau", "transformer")
MAX_BYTES = 20_000_000


def results(name: str) -> dict:
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def shipped() -> dict[str, dict]:
    """The run that made each shipped checkpoint: the first seed of its experiment."""
    return {
        name: next(run for run in results(experiment)["runs"] if run["variant"] == variant)
        for name, (experiment, variant) in KEPT.items()
    }


def test_every_system_has_an_unchanged_checkpoint_and_all_together_are_small():
    files = sorted(CHECKPOINTS.glob("*.safetensors"))
    assert {path.stem for path in files} == set(NAMES) >= {entry.name for entry in SYSTEMS}
    assert sum(path.stat().st_size for path in files) <= MAX_BYTES
    lines = (CHECKPOINTS / "manifest.sha256").read_text(encoding="utf-8").splitlines()
    manifest = {name: digest for digest, name in map(str.split, lines)}
    assert {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files} == manifest


@pytest.mark.parametrize("name", NAMES)
def test_a_checkpoint_was_made_by_the_default_recipe_in_half_precision(name, shipped):
    run = shipped[name]
    recipe, trained = Recipe.from_json(run["recipe"]), run["config"]["system"]
    assert recipe == usual_recipe(trained, scale="toy", on_gpu=recipe.precision == "bfloat16")
    assert run["machine"] and run["versions"]["torch"]
    with safe_open(CHECKPOINTS / f"{name}.safetensors", framework="pt") as file:
        dtypes = {file.get_tensor(key).dtype for key in file.keys()}  # noqa: SIM118
    assert dtypes == {torch.float16} or system(trained).counts


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in NOT_ONLY_NIGHTLY else pytest.mark.nightly) for name in NAMES],
)
def test_a_checkpoint_reproduces_its_result(name, shipped):
    """Up to rounding: on another machine a few words in ten thousand may differ."""
    toy, recorded = splits(sizes=TEST_SIZES), shipped[name]
    saved = load_system(CHECKPOINTS / f"{name}.safetensors")
    assert n_parameters(saved.model) == recorded["parameters"]
    trained = recorded["config"]["system"]
    if system(trained).kind != "translator":
        scores = toy_scores(trained, saved.model, saved.tokenizer)
        assert brief(recorded | {"scores": scores}, "train") == brief(recorded, "train")
        return
    translations = translate([pair.src_text for pair in toy.test], saved.model, saved.tokenizer)
    right = exact_matches(
        [translation.target for translation in translations], [pair.tgt_text for pair in toy.test]
    )
    assert sum(right) / len(right) == pytest.approx(recorded["scores"]["test"]["exact"], abs=0.004)


@pytest.mark.slow
def test_checkpoints_were_trained_on_the_current_toy_language():
    """A change of the toy language means training again."""
    data = load_data("toy")
    for name in NAMES:
        about = load_system(CHECKPOINTS / f"{name}.safetensors").about
        assert about["data"] == {"name": data.name, "fingerprint": data.fingerprint}, name


# ---- results


@pytest.mark.parametrize("path", sorted(RESULTS.glob("*.json")), ids=lambda path: path.stem)
def test_results_cover_their_experiment(path):
    """All seeds of all variants."""
    recorded = results(path.stem)
    if "experiment" not in recorded:
        return
    experiment = experiments()[recorded["experiment"]]
    assert (recorded["asks"], recorded["expected"]) == (experiment.asks, experiment.expected)
    runs = [(run["variant"], run["seed"]) for run in recorded["runs"]]
    assert runs == [(variant, seed) for variant in experiment.variants for seed in experiment.seeds]


def test_the_training_guide_quotes_the_recorded_times_of_quick_and_clock():
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
    for number in (
        f" {seconds} s",
        f" {earlier} s",
        f" {exact[0]} and {exact[1]} ",
        " 3 s (`data/results/gpu/quick.json`",
        f" {first} s",
        f" {100 * low:.1f} to {high:.1%}",
        f" {clock['seconds']} s (`{clock['command']}`",
    ):
        assert number in page
    assert quick["scores"]["coreference"]["pronouns"] == before["scores"]["coreference"]["pronouns"] == 1
    assert clock["seconds"] == pytest.approx(sum(clock["parts"].values())) and clock["bleu"]["value"] > 40


def test_telling_pairs_distinguish_the_systems():
    """They follow from the results: seq2seq wrong, the Transformer right; a twin differs in one word."""
    made_up = {"seq2seq": ["010", "000"], "bahdanau": ["101", "011"], "transformer": ["111", "111"]}
    assert {index: counts["bahdanau"] for index, counts in telling(made_up).items()} == {0: 1, 2: 2}
    stored = json.loads(data_path("toy", "telling_pairs.json").read_text(encoding="utf-8"))
    assert stored == telling_pairs() and len(stored) == 12
    for pair in stored:
        assert (pair["right"]["seq2seq"], pair["right"]["transformer"]) == (0, 3)
        words = zip(pair["src"].split(), pair["twin"]["src"].split(), strict=True)
        assert sum(word != other for word, other in words) == 1
