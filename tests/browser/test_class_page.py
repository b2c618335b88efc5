"""The class page in a real browser: it fits every width, follows the theme, and runs nothing."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from course_lib.teaching.contents import lessons, misconceptions
from course_lib.teaching.progress import Progress
from tools.class_view.export import Export
from tools.class_view.page import class_page
from tools.class_view.summary import ClassSummary, checkpoints, learner_of

pytestmark = pytest.mark.browser
NASTY = "<script>window.hurt = 1</script><img src=x onerror='window.hurt = 1'>" + "long" * 20
N_NAMES = "() => document.querySelectorAll('bdi').length"
N_VISIBLE_NAMES = (
    "() => [...document.querySelectorAll('bdi')].filter((name) => name.checkVisibility()).length"
)
HEADERS = """() => [...document.querySelectorAll("tr")].every((row) =>
  row.closest("thead") ? [...row.cells].every((cell) => cell.scope === "col") : row.cells[0].scope)"""


@pytest.fixture(scope="module")
def page_file(tmp_path_factory):
    """A class in which everyone is stuck everywhere and shows every misconception."""
    opened = [{"kind": "lesson", "lesson": lesson.topic, "name": ""} for lesson in lessons()]
    failed = [
        {
            "kind": "exercise",
            "lesson": checkpoint.lesson.topic,
            "name": checkpoint.name,
            "status": "wrong",
            **shown,
        }
        for checkpoint in checkpoints()
        for shown in ({"misconception": id} for id in list(misconceptions())[:8])
    ]
    learners = [
        Export(str(n), NASTY, "0.0.1", datetime.now(UTC), Progress((*opened, *failed))) for n in range(3)
    ]
    path = tmp_path_factory.mktemp("class") / "class_progress.html"
    path.write_text(class_page(ClassSummary(tuple(map(learner_of, learners)))), encoding="utf-8")
    return path


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (768, "dark"), (390, "light"), (390, "dark")])
def test_the_class_page(browser, page_file, photograph, width, scheme):
    page = browser.new_page()
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme)
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.goto(page_file.as_uri())
    assert page.evaluate(N_NAMES) > 3 and page.evaluate(N_VISIBLE_NAMES) == 0, "folded away"
    photograph(page, f"{width}-{scheme}")
    page.evaluate("() => document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")
    assert page.evaluate(N_VISIBLE_NAMES) == page.evaluate(N_NAMES)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= width
    background = page.evaluate("() => getComputedStyle(document.body).backgroundColor")
    is_light = int(background.split("(")[1].split(",")[0]) > 128
    assert is_light == (scheme == "light")
    assert page.evaluate(HEADERS) and page.locator("h1").count() == 1
    assert page.evaluate("() => window.hurt") is None and len(requests) == 1
    page.close()
