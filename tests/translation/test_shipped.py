"""What lessons load: shipped systems translate the running pair, and a telling pair tells them apart."""

from __future__ import annotations

import json

import pytest

from course_lib.runtime import data_path
from course_lib.translation.shipped import load_shipped

RUNNING = {
    "The cat drank the water because it was thirsty.": "le chat a bu l' eau parce qu' il avait soif",
    "the cat drank the water because it was cold": "le chat a bu l' eau parce qu' elle était froide",
}


@pytest.mark.parametrize("name", ["seq2seq", "bahdanau", "transformer"])
def test_the_running_pair_as_people_type_it(name):
    system = load_shipped(name)
    assert {text: system(text).target for text in RUNNING} == RUNNING


def test_a_telling_pair_tells():
    (pair,) = [one for one in json.loads(data_path("toy", "telling_pairs.json").read_text(encoding="utf-8"))
               if one["src"].startswith("a cow drinks")]  # fmt: skip
    said = {name: load_shipped(name)(pair["src"]).target for name in ("seq2seq", "bahdanau", "transformer")}
    assert said["bahdanau"] == said["transformer"] == pair["tgt"] != said["seq2seq"]
    assert "il a soif" in said["seq2seq"]  # the milk is thirsty


def test_weights_and_notes_come_along():
    found = load_shipped("bahdanau")("the axolotl sleeps", with_weights=True)
    assert found.notes == ("read as <unk>: axolotl",)
    assert found.weights.shape[-1] == len(found.source_tokens) == 4
