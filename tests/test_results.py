"""Recorded numbers in prose: every form of a placeholder, and a clear error for an invalid one."""

from __future__ import annotations

import json

import pytest

from course_lib import results
from course_lib.results import UnknownResult, fill, formatted, pack_rows, unpack_rows

RUNS = [
    {"variant": "small", "seed": seed, "right": right, "sizes": [1, 2 + seed], "n": {"6–10": 1200 + seed}}
    for seed, right in enumerate([0.9, 0.5, 0.7])
] + [{"variant": "large, twice", "seed": 0, "right": 1.0, "done": True}]


@pytest.fixture
def recorded(tmp_path, monkeypatch):
    files = {
        "made_up": {"runs": RUNS},
        "single": {"runs": [{"variant": "", "seed": 0, "right": 0.25}]},
        "gpu/made_up": {"runs": [{"variant": "small", "seed": 0, "right": 0.125}]},
        "lesson_42": {"command": "python3 -m nothing", "by hand": {"sum": 5}},
    }
    for name, content in files.items():
        path = tmp_path / f"{name}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(content), encoding="utf-8")
    monkeypatch.setattr(results, "data_path", lambda *parts: tmp_path.joinpath(*parts[1:]))


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("made_up/small/right:.0%", "70%"),
        ("mean made_up/small/right:.1p", "70.0"),
        ("min made_up/small/right:.1f", "0.5"),
        ("max made_up/small/right:+.1%", "+90.0%"),
        ("each made_up/small/right:.0%", "50%, 70% and 90%"),
        ("made_up/small/n/6–10:,.0f", "1,201"),
        ("made_up/small/sizes/-1:.0f", "3"),
        ("made_up/large, twice/right:.2f", "1.00"),
        ("each made_up/large, twice/right:.0f", "1"),
        ("made_up/large, twice/right - made_up/small/right:.0p", "30"),
        ("single/right:.2f", "0.25"),
        ("gpu/made_up/small/right:.3f", "0.125"),
        ("lesson_42/by hand/sum:", "5"),
    ],
)
def test_a_number_is_filled_in(recorded, query, expected):
    assert fill(f"so {{result:{query}}} of them, {{minutes}} and {{term:softmax}}") == (
        f"so {expected} of them, {{minutes}} and {{term:softmax}}"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{result:made_op/small/right:.0%}", "there is no results file 'made_op'; did you mean 'made_up'?"),
        ("{result:made_up/smal/right:.0%}", "made_up has no variant 'smal'; did you mean 'small'?"),
        ("{result:made_up/small/wrong:.0%}", "made_up has no 'wrong'"),
        ("{result:made_up/small/sizes/7:.0%}", "made_up has no '7'"),
        ("{result:made_up/small/sizes:.0%}", "sizes in made_up is a list"),
        ("{result:made_up/large, twice/done:.0%}", "done in made_up is a bool"),
        ("{result:made_up/small/right:.0x}", "'.0x' is not a number format"),
        ("{result:made_up/small/right}", "expected a path and a format"),
        ("{result:max a/b:.1f - c:.1f}", "two paths and no statistic"),
        ("{results:made_up/small/right:.0%}", "write a recorded number as {result:"),
        ("{result: made_up/small/right:.0%", "write a recorded number as {result:"),
    ],
)
def test_the_error_for_an_invalid_placeholder_says_why(recorded, text, message):
    with pytest.raises(UnknownResult) as raised:
        fill(f"two\nlines {text}")
    assert message in str(raised.value) and raised.value.offset == len("two\nlines ")


def test_the_files_of_the_course_are_read():
    assert formatted("toy_ladder/bahdanau/scores/test/exact:.1%") == "97.7%"


def test_rows_have_counts_from_0_to_255():
    assert unpack_rows(pack_rows([[0, 255]])).tolist() == [[0, 255]]
    for wrong in ([[256]], [[-1]], [1, 2]):
        with pytest.raises(ValueError, match="from 0 to 255"):
            pack_rows(wrong)
