"""What the site carries of an explorable gives every one of its pictures."""

from __future__ import annotations

import json
import re
from itertools import product, zip_longest

import pytest

from course_lib.explore.control import Point
from tests.explore.settings import DRAWN
from tools.site.live_figures import MOST, live_html, tokens_of
from tools.site.sweeps import main_control


@pytest.mark.parametrize("kind", DRAWN, ids=lambda kind: kind.__name__)
def test_every_state_is_a_difference_of_the_first_picture(kind):
    html = live_html(kind, None, main_control(kind))
    [data] = re.findall(r'<script type="application/json">(.*?)</script>', html)
    data = json.loads(data)
    settings = list(product(*(control["values"] for control in data["controls"])))
    assert 1 < len(settings) == len(data["states"]) <= MOST and len(html) < 600_000
    names = [control["name"] for control in data["controls"]]
    fixed = [control.name for control in kind.controls if isinstance(control, Point)]
    assert set(names) | set(fixed) == set(kind.start) or len(names) == 1
    decoded = {-1: data["tokens"]}
    for row, (values, (base, changes, alt)) in enumerate(zip(settings, data["states"], strict=True)):
        picture = kind.picture_of(kind.facts_at(kind.start | dict(zip(names, values, strict=True))))
        tokens = list(decoded[base])
        for start, count, added in changes:
            tokens[start : start + count] = [
                new if isinstance(new, str) else old[: new[0]] + new[2] + old[len(old) - new[1] :]
                for old, new in zip_longest(tokens[start : start + count], added, fillvalue="")
            ][: len(added)]
        decoded[row], expected = tokens, tokens_of(picture.svg)
        assert alt == picture.alt and len(tokens) == len(expected)
        assert [a for a, b in zip(tokens, expected, strict=True) if a != b and "data-drag" not in b] == []
