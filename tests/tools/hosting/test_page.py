"""docs/hosting.md quotes the recorded trial and the rule that the hub itself uses."""

from __future__ import annotations

import json
import re

from course_lib.runtime import PROJECT_ROOT, data_path
from tools.hosting import checks
from tools.hosting.settings import read_settings

PAGE = (PROJECT_ROOT / "docs" / "hosting.md").read_text(encoding="utf-8")
TRIAL = json.loads(data_path("results", "hub.json").read_text(encoding="utf-8"))


def test_the_page_has_the_numbers_of_the_trial():
    assert TRIAL["system_users"], "a trial without root doesn't test what the page says"
    kernel, servers = TRIAL["kernel"], {name: of["peak_mb"] for name, of in TRIAL["servers"].items()}
    learner = servers.pop("jupyterhub-singleuser")
    seconds = [f"{TRIAL[name]['median']:.0f} s" for name in ("start_seconds", "run_seconds")]
    megabytes = [f"{number} MB" for number in (kernel["peak_mb"], learner, sum(servers.values()))]
    assert re.findall(r"^\| .* \| (\d+ (?:s|MB)) \|$", PAGE, re.MULTILINE) == seconds + megabytes
    about = f"{TRIAL['learners']} learners .* lesson {TRIAL['lesson']} .* on {TRIAL['cores']} cores"
    assert re.search(about, PAGE)
    assert (kernel["peak_mb"] + learner) / 1000 < checks.GB_FOR_EACH
    assert sum(servers.values()) / 1000 < checks.GB_FOR_THE_REST


def test_the_page_has_the_rule_that_the_hub_uses(tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_HUB_STATE", str(tmp_path / "state"))
    monkeypatch.delenv("COURSE_HUB_PLACES", raising=False)
    places, each, rest = read_settings().places, checks.GB_FOR_EACH, checks.GB_FOR_THE_REST
    assert f"{each} GB of memory for each learner" in PAGE and f"{rest} GB for the system" in PAGE
    assert f"{places} places that are the default need {each * places + rest} GB" in PAGE
