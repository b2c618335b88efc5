"""Files of mistakes: what they change, and what is said, with file and line, if one is written wrong."""

from __future__ import annotations

import linecache

import pytest
import torch

from course_lib.runtime import PROJECT_ROOT
from course_lib.teaching.contents import lessons
from course_lib.teaching.exercises import find_exercise, judge
from course_lib.teaching.exercises.catalogue import exercise_topics
from course_lib.teaching.exercises.mistakes import MistakeError, changed, read_mistakes
from lessons.l08_query_key_value.solutions import scaled_attention, soft_lookup
from tests.drafts import drafted
from tools.authoring.lesson import sources

HEADING = "bad: a sentence.\n"


TWO_CHANGES = """\
# a comment

two-lines M07: it goes
on here.
- scores = queries @ keys.mT / math.sqrt(keys.shape[-1])
- weights = torch.softmax(scores, dim=-1)
+ weights = torch.ones(len(queries), len(keys))
+ if len(keys) > 1:
+     weights = weights / len(keys)
- return weights @ values
+ return 2 * weights @ values
"""


@pytest.fixture
def file(tmp_path):
    return tmp_path / "soft_lookup.txt"


def test_changed_lines_are_run_in_place_of_those_of_the_solution(file):
    file.write_text(TWO_CHANGES, encoding="utf-8")
    [mistake] = read_mistakes(file)
    assert (mistake.name, mistake.message, mistake.misconception) == ("two-lines", "it goes on here.", "M07")
    context, weights = changed(scaled_attention, mistake)(
        torch.ones(1, 2), torch.ones(4, 2), torch.ones(4, 1)
    )
    assert weights.tolist() == [[0.25] * 4] and context.tolist() == [[2.0]]
    assert scaled_attention(torch.ones(1, 2), torch.ones(4, 2), torch.ones(4, 1))[0].tolist() == [[1.0]]


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("- weights\n+ x\n", 1, "no name or no sentence"),
        ("bad:\n- weights\n+ x\n", 1, "no name or no sentence"),
        (HEADING, 1, "changes nothing"),
        (HEADING + "+ x\n", 2, "expected a line of the solution after `- `"),
        (HEADING + "- weights @ values\n* x\n", 3, "expected a line of the solution after `- `"),
        (HEADING + "-weights\n+ x\n", 2, "expected a line of the solution after `- `"),
        (HEADING + "- a\n+ b\n\n" + HEADING + "- a\n+ c\n", 5, "'bad' is there twice"),
        (HEADING + "- no such line\n+ x\n", 1, "occurs 0 times in the solution of `soft_lookup`"),
        (HEADING + "- weights\n+ x\n", 1, "occurs 4 times in the solution of `soft_lookup`"),
        (HEADING + "- weights @ values\n+ weights @\n", 1, "invalid syntax"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_with_its_line(file, text, line, words):
    file.write_text(text, encoding="utf-8")
    with pytest.raises(MistakeError, match=rf"^soft_lookup\.txt:{line}: ") as raised:
        for mistake in read_mistakes(file):
            changed(soft_lookup, mistake)
    assert words in str(raised.value)


def test_a_stub_that_is_not_repaired_is_not_tried_yet():
    """The source of what the learner gets is compared with that of the learner's function."""
    cells = [cell for path in sources(PROJECT_ROOT) for cell in drafted(path).cells["learner"]]
    stubs = [cell for cell in cells if cell.kind == "exercise" and cell.options.get("mode") == "bug"]
    for cell in stubs:
        name, namespace = cell.options["exercise"], {"torch": torch}
        label = f"<stub of {name}>"
        linecache.cache[label] = (len(cell.text), None, cell.text.splitlines(keepends=True), label)
        exec(compile(cell.text, label, "exec"), namespace)
        assert judge(find_exercise(name), namespace[name]).status == "not tried", name
    assert len(stubs) > 5


def test_every_file_belongs_to_an_exercise():
    files = [file for lesson in lessons() for file in lesson.folder.glob("mistakes/*.txt")]
    assert files and {file.stem for file in files} <= exercise_topics().keys()
