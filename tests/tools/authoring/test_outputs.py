"""The rules for stored outputs, each broken once, and what is taken out before they are looked at."""

from __future__ import annotations

import pytest

from course_lib.runtime import PROJECT_ROOT
from tests.tools.authoring.made_up import line_of
from tools.authoring.outputs import WIDGET_VIEW, check_outputs, output_slips, stripped

HTML, SVG = "text/html", "image/svg+xml"


def printed(text: str, name: str = "stdout") -> dict:
    return {"output_type": "stream", "name": name, "text": text}


def shown(mime: str, content: object) -> dict:
    return {"output_type": "display_data", "data": {mime: content}, "metadata": {}}


PATH, ADDRESS = "the output holds an absolute path", "the output holds a memory address"
BAR, FETCH = "the output holds a progress bar", "the output would fetch something from the network: "
TENSOR = "the output holds a tensor as torch prints it (take `fixed`)"
ERROR = {"output_type": "error", "ename": "ValueError", "evalue": "no", "traceback": []}
BAD = [
    (printed("oh\n", "stderr"), "the cell writes to stderr: oh"),
    (printed("in /home/ann/course/x.py"), f"{PATH}: /home/ann/course/x.py"),
    (printed("'/Users/ann/x'"), f"{PATH}: /Users/ann/x'"),
    (printed("/tmp/ipykernel_12/3.py:1: Warning"), f"{PATH}: /tmp/ipykernel_12"),
    (printed(r"C:\Users\ann\x.py"), rf"{PATH}: C:\Users\ann\x.py"),
    (printed(r"D:\course\x.py"), rf"{PATH}: D:\course\x.py"),
    (printed("C:/Users/ann"), f"{PATH}: C:/Users/ann"),
    (printed(f"see {PROJECT_ROOT}"), f"{PATH}: {PROJECT_ROOT}"),
    (printed("file:///x.html"), "the output holds a file address: file:///x.html"),
    (printed("<object at 0x7f3a5c0b2d10>"), f"{ADDRESS}: 0x7f3a5c0b2d10"),
    (shown("text/plain", "<object at 0x10f3a5c0>"), ADDRESS),
    (shown(HTML, "<b>/usr/lib/python3/x.py</b>"), PATH),
    (shown(SVG, "<text>0x7f3a5c0b2d10</text>"), ADDRESS),
    (shown("application/json", {"a": ["/opt/x/y"]}), PATH),
    (shown("application/javascript", "see('/tmp/x')"), f"{PATH}: /tmp/x"),
    (shown(HTML, '<img src="https://example.org/a.png">'), f"{FETCH}https://example.org/a.png"),
    (shown(HTML, "<style>a{background:url(https://example.org/a.png)}</style>"), FETCH),
    (shown(HTML, '<script>import x from "https://esm.sh/x"</script>'), FETCH),
    (printed(" 40%|████      | 4/10 [00:01<00:02]"), BAR),
    (printed("1 of 2\r2 of 2\n"), BAR),
    (printed("Wall time: 3 s"), "the output holds a timing"),
    (printed("rows tensor([1., 1.])"), TENSOR),
    (printed("tensor([[ 0.2500,\n 0.75]])"), TENSOR),
    (printed("loss 0.30000000000000004"), "the output holds a number with all its digits"),
    (printed("x" * 300_000), "the output takes 300,0"),
    (shown("image/png", "A" * 300_001), "the output takes 300,0"),
    (ERROR, "the stored output is an error: ValueError: no"),
    (shown(WIDGET_VIEW, {}), "the output holds a widget view"),
]
GOOD = [
    printed("and/or, n/d, ../tmp/x, data/usr/x, 0xFF, https://example.org/home/ann, 3/4 of 40%"),
    shown("text/latex", r"$f:\mathbb{R}\to x$"),
    shown(HTML, '<a href="https://example.org/tmp/x">a page</a></b>'),
    shown(SVG, '<svg xmlns="http://www.w3.org/2000/svg"></svg>'),
    shown("image/png", "/home/ann/0x7f3a5c0b2d10"),  # bytes, not words
    printed("x" * 299_000),
]


@pytest.mark.parametrize(("output", "message"), [*BAD, *((output, None) for output in GOOD)])
def test_a_bad_output_is_told_and_a_good_one_left_in_peace(output, message):
    slips = list(output_slips(output))
    assert any(slip.startswith(message) for slip in slips) if message else slips == []


def test_stripping_leaves_the_still_picture_and_the_words_in_one_piece():
    picture = shown("image/png", "iV")
    live = shown(WIDGET_VIEW, {"model_id": "1"})
    both = picture | {"data": picture["data"] | live["data"], "transient": {"display_id": "1"}}
    outputs = [both, live, printed("one\n"), printed("oh", "stderr"), printed("two\n")]
    assert stripped(outputs) == [picture, printed("one\ntwo\n"), printed("oh", "stderr")]


def test_problems_carry_the_line_of_their_cell_and_counts_go_up_by_one(course):
    draft = course.draft()
    notebook, cells = draft.notebook("learner"), draft.cells["learner"]
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]

    def told() -> list[str]:
        return [problem.at("x.py") for problem in check_outputs(cells, notebook)]

    for count, cell in enumerate(code, 1):
        cell["execution_count"] = count
    assert told() == []
    code[1]["outputs"], code[4]["execution_count"] = [printed("oh", "stderr")], None
    see, quiz = line_of('# %% kind="see"'), line_of('# %% kind="quiz"')
    count = f"x.py:{quiz}: the stored cell has execution count None, not 5"
    assert told() == [f"x.py:{see}: the cell writes to stderr: oh", count]
    for count, cell in enumerate(code, 1):
        cell |= {"execution_count": count, "outputs": [printed("x" * 250_000)]}
    [problem] = told()
    assert problem.startswith("x.py:1: the notebook takes 1,25")
