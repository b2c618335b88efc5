"""The museum's decoding speeds: every translator, three turns, and a measurement that can be made again."""

from __future__ import annotations

import json

from course_lib.bench.decoding_speed import COMMAND, LENGTH, TURNS, ready, words_per_second
from course_lib.models.registry import translators
from course_lib.runtime import data_path


def test_every_translator_is_recorded_in_every_turn():
    kept = json.loads(data_path("results", "decoding_speed.json").read_text(encoding="utf-8"))
    names = [one.name for one in translators()]
    assert kept["command"] == COMMAND and kept["machine"]
    assert [(run["variant"], run["seed"]) for run in kept["runs"]] == [
        (name, turn) for turn in range(TURNS) for name in names
    ]


def test_a_system_never_ends_early_and_takes_time():
    system, memory = ready("rnn_encoder_decoder")
    assert system.config.max_len >= LENGTH
    assert words_per_second(system, memory) > 0
