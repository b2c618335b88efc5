"""The rules for stored outputs, each broken once, and what is removed before outputs are stored."""

from __future__ import annotations

import pytest

from course_lib.runtime import PROJECT_ROOT
from tests.tools.authoring.made_up import line_of
from tools.authoring.outputs import WIDGET_VIEW, check_outputs, clean_outputs, output_problems

HTML, SVG = "text/html", "image/svg+xml"


def printed(text: str, name: str = "stdout") -> dict:
    return {"output_type": "stream", "name": name, "text": text}


def displayed(mime: str, content: object) -> dict:
    return {"output_type": "display_data", "data": {mime: content}, "metadata": {}}


PATH, ADDRESS, BAR, FETCH, TENSOR = "path", "memory address", "progress bar", "network: ", "tensor"
ERROR = {"output_type": "error", "ename": "ValueError", "evalue": "no", "traceback": []}
BAD = [
    (printed("oh\n", "stderr"), "stderr: oh"),
    (printed("in /home/ann/course/x.py"), f"{PATH}: /home/ann/course/x.py"),
    (printed("'/Users/ann/x'"), f"{PATH}: /Users/ann/x'"),
    (printed("/tmp/ipykernel_12/3.py:1: Warning"), f"{PATH}: /tmp/ipykernel_12"),
    (printed(r"C:\Users\ann\x.py"), rf"{PATH}: C:\Users\ann\x.py"),
    (printed(r"D:\course\x.py"), rf"{PATH}: D:\course\x.py"),
    (printed("C:/Users/ann"), f"{PATH}: C:/Users/ann"),
    (printed(f"see {PROJECT_ROOT}"), f"{PATH}: {PROJECT_ROOT}"),
    (printed("file:///x.html"), "file:///x.html"),
    (printed("<object at 0x7f3a5c0b2d10>"), f"{ADDRESS}: 0x7f3a5c0b2d10"),
    (displayed("text/plain", "<object at 0x10f3a5c0>"), ADDRESS),
    (displayed(HTML, "<b>/usr/lib/python3/x.py</b>"), PATH),
    (displayed(SVG, "<text>0x7f3a5c0b2d10</text>"), ADDRESS),
    (displayed("application/json", {"a": ["/opt/x/y"]}), PATH),
    (displayed("application/javascript", "see('/tmp/x')"), f"{PATH}: /tmp/x"),
    (displayed(HTML, '<img src="https://example.org/a.png">'), f"{FETCH}https://example.org/a.png"),
    (displayed(HTML, "<style>a{background:url(https://example.org/a.png)}</style>"), FETCH),
    (displayed(HTML, '<script>import x from "https://esm.sh/x"</script>'), FETCH),
    (printed(" 40%|████      | 4/10 [00:01<00:02]"), BAR),
    (printed("1 of 2\r2 of 2\n"), BAR),
    (printed("Wall time: 3 s"), "timing"),
    (printed("rows tensor([1., 1.])"), TENSOR),
    (printed("tensor([[ 0.2500,\n 0.75]])"), TENSOR),
    (printed("loss 0.30000000000000004"), "digits"),
    (printed("x" * 300_000), "300,0"),
    (displayed("image/png", "A" * 300_001), "300,0"),
    (ERROR, "ValueError: no"),
    (displayed(WIDGET_VIEW, {}), "widget view"),
]
GOOD = [
    printed("and/or, n/d, ../tmp/x, data/usr/x, 0xFF, https://example.org/home/ann, 3/4 of 40%"),
    displayed("text/latex", r"$f:\mathbb{R}\to x$"),
    displayed(HTML, '<a href="https://example.org/tmp/x">a page</a></b>'),
    displayed(SVG, '<svg xmlns="http://www.w3.org/2000/svg"></svg>'),
    displayed("image/png", "/home/ann/0x7f3a5c0b2d10"),  # bytes, not words
    printed("x" * 299_000),
]


@pytest.mark.parametrize(("output", "message"), [*BAD, *((output, None) for output in GOOD)])
def test_only_bad_outputs_are_reported(output, message):
    problems = list(output_problems(output))
    assert any(message in problem for problem in problems) if message else problems == []


def test_cleaning_keeps_the_still_picture_and_joins_streams():
    picture = displayed("image/png", "iV")
    live = displayed(WIDGET_VIEW, {"model_id": "1"})
    both = picture | {"data": picture["data"] | live["data"], "transient": {"display_id": "1"}}
    outputs = [both, live, printed("one\n"), printed("oh", "stderr"), printed("two\n")]
    assert clean_outputs(outputs) == [picture, printed("one\ntwo\n"), printed("oh", "stderr")]


def test_problems_have_the_line_of_their_cell_and_execution_counts_are_checked(course):
    draft = course.draft()
    notebook, cells = draft.notebook("learner"), draft.cells["learner"]
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]

    def problems() -> list[str]:
        return [problem.at("x.py") for problem in check_outputs(cells, notebook)]

    for count, cell in enumerate(code, 1):
        cell["execution_count"] = count
    assert problems() == []
    code[1]["outputs"], code[4]["execution_count"] = [printed("oh", "stderr")], None
    see, quiz = line_of('# %% kind="see"'), line_of('# %% kind="quiz"')
    in_see, in_quiz = problems()
    assert in_see.startswith(f"x.py:{see}: ") and "stderr: oh" in in_see
    assert in_quiz.startswith(f"x.py:{quiz}: ") and "None, not 5" in in_quiz
    for count, cell in enumerate(code, 1):
        cell |= {"execution_count": count, "outputs": [printed("x" * 250_000)]}
    [problem] = problems()
    assert problem.startswith("x.py:1: ") and " 1,25" in problem
