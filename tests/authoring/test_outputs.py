"""The rules for stored outputs, each broken once, and what is taken out before they are looked at."""

from __future__ import annotations

import pytest

from course_lib.authoring.outputs import WIDGET_VIEW, check_outputs, output_slips, strip_outputs
from course_lib.runtime import PROJECT_ROOT


def printed(text: str, name: str = "stdout") -> dict:
    return {"output_type": "stream", "name": name, "text": text}


def shown(**data: object) -> dict:
    mimes = {
        name.replace("_", "/").replace("image/svg", "image/svg+xml"): value for name, value in data.items()
    }
    return {"output_type": "display_data", "data": mimes, "metadata": {}}


@pytest.mark.parametrize(
    ("output", "message"),
    [
        (printed("oh\n", "stderr"), "the cell writes to stderr: oh"),
        (printed("in /home/ann/course/x.py"), "the output holds an absolute path: /home/ann/course/x.py"),
        (printed("'/Users/ann/x'"), "the output holds an absolute path: /Users/ann/x'"),
        (
            printed("/tmp/ipykernel_12/3.py:1: Warning"),
            "the output holds an absolute path: /tmp/ipykernel_12",
        ),
        (printed(r"C:\Users\ann\x.py"), r"the output holds an absolute path: C:\Users\ann\x.py"),
        (printed(r"D:\course\x.py"), r"the output holds an absolute path: D:\course\x.py"),
        (printed("C:/Users/ann"), "the output holds an absolute path: C:/Users/ann"),
        (printed("file:///x.html"), "the output holds a file address: file:///x.html"),
        (printed(f"see {PROJECT_ROOT}"), f"the output holds an absolute path: {PROJECT_ROOT}"),
        (printed("<object at 0x7f3a5c0b2d10>"), "the output holds a memory address: 0x7f3a5c0b2d10"),
        (shown(text_plain="<object at 0x10f3a5c0>"), "the output holds a memory address"),
        (shown(text_html="<b>/usr/lib/python3/x.py</b>"), "the output holds an absolute path"),
        (shown(image_svg="<text>0x7f3a5c0b2d10</text>"), "the output holds a memory address"),
        (shown(application_json={"a": ["/opt/x/y"]}), "the output holds an absolute path"),
        (shown(text_html='<img src="https://example.org/a.png">'), "the output would fetch something"),
        (
            shown(text_html="<style>a{background:url(https://example.org/a.png)}</style>"),
            "the output would fetch",
        ),
        (shown(text_html='<script>import x from "https://esm.sh/x"</script>'), "the output would fetch"),
        (printed(" 40%|████      | 4/10 [00:01<00:02]"), "the output holds a progress bar"),
        (shown(application_javascript="see('/tmp/x')"), "the output holds an absolute path: /tmp/x"),
        (printed("1 of 2\r2 of 2\n"), "the output holds a progress bar"),
        (printed("Wall time: 3 s"), "the output holds a timing"),
        (printed("rows tensor([1., 1.])"), "the output holds a tensor as torch prints it (take `fixed`)"),
        (printed("tensor([[ 0.2500,\n 0.75]])"), "the output holds a tensor as torch prints it"),
        (printed("loss 0.30000000000000004"), "the output holds a number with all its digits"),
        (printed("x" * 300_000), "the output takes 300,0"),
        (shown(image_png="A" * 300_001), "the output takes 300,0"),
        (
            {"output_type": "error", "ename": "ValueError", "evalue": "no", "traceback": []},
            "the stored output is an error: ValueError: no",
        ),
        (
            {"output_type": "display_data", "data": {WIDGET_VIEW: {}}, "metadata": {}},
            "the output holds a widget view",
        ),
    ],
)
def test_a_bad_output_is_told(output, message):
    assert any(slip.startswith(message) for slip in output_slips(output))


@pytest.mark.parametrize(
    "output",
    [
        printed("and/or, n/d, ../tmp/x, data/usr/x, 0xFF, https://example.org/home/ann, 3/4 of 40%"),
        shown(text_latex=r"$f:\mathbb{R}\to x$"),
        shown(text_html='<a href="https://example.org/tmp/x">a page</a></b>'),
        shown(image_svg='<svg xmlns="http://www.w3.org/2000/svg"></svg>'),
        shown(image_png="/home/ann/0x7f3a5c0b2d10"),  # bytes, not words
        printed("x" * 299_000),
    ],
)
def test_a_good_output_is_left_in_peace(output):
    assert list(output_slips(output)) == []


def test_stripping_leaves_the_still_picture_and_the_words_in_one_piece(course, tiny):
    notebook = course.draft(tiny).notebook("learner")
    notebook["metadata"]["widgets"] = {"state": {}}
    see = notebook["cells"][4]
    see["metadata"]["execution"] = {"iopub.execute_input": "now"}
    live = {WIDGET_VIEW: {"model_id": "1"}}
    picture = shown(image_png="iV", text_plain="p")
    see["outputs"] = [
        picture | {"data": picture["data"] | live, "transient": {"display_id": "1"}},
        {"output_type": "display_data", "data": dict(live), "metadata": {}},
        printed("one\n"),
        printed("oh", "stderr"),
        printed("two\n"),
    ]
    strip_outputs(notebook)
    assert "widgets" not in notebook["metadata"] and "execution" not in see["metadata"]
    assert see["outputs"] == [picture, printed("one\ntwo\n"), printed("oh", "stderr")]


def test_problems_carry_the_line_of_their_cell_and_counts_go_up_by_one(course, tiny, line_of):
    draft = course.draft(tiny)
    notebook, cells = draft.notebook("learner"), draft.cells["learner"]
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for count, cell in enumerate(code, 1):
        cell["execution_count"] = count
    assert check_outputs("x.py", cells, notebook) == []
    code[1]["outputs"] = [printed("oh", "stderr")]
    code[4]["execution_count"] = None
    see, quiz = line_of('# %% kind="see"'), line_of('# %% kind="quiz"')
    assert [str(problem) for problem in check_outputs("x.py", cells, notebook)] == [
        f"x.py:{see}: the cell writes to stderr: oh",
        f"x.py:{quiz}: the stored cell has execution count None, not 5",
    ]
    for count, cell in enumerate(code, 1):
        cell |= {"execution_count": count, "outputs": [printed("x" * 250_000)]}
    (problem,) = check_outputs("x.py", cells, notebook)
    assert str(problem).startswith("x.py:1: the notebook takes 1,25")
