"""The class: each learner is counted once at each checkpoint, and everything is sorted for the instructor."""

from __future__ import annotations

import csv
import io
import re
from datetime import UTC, datetime
from html import unescape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.teaching.contents import lessons, misconceptions
from course_lib.teaching.progress import Progress
from course_lib.teaching.questions.question import questions
from tests.tools.class_view.events import TOPICS, check
from tools.class_view.export import Export
from tools.class_view.page import class_page
from tools.class_view.summary import (
    DONE,
    NOT_IN_TRACK,
    NOT_STARTED,
    STATES,
    STUCK,
    TRIED,
    ClassSummary,
    checkpoints,
    learner_of,
)
from tools.class_view.table import HEADER, csv_table, safe_cell

NASTY = '<script>alert(1)</script> & "x" \'</bdi>'
PLACE = {checkpoint.name: checkpoint for checkpoint in checkpoints()}
LAST = [name for name, checkpoint in PLACE.items() if checkpoint.track != "stretch"][-1]


def export(events, name="", track="full", learner="a") -> Export:
    chosen = {"kind": "track", "track": track}
    return Export(learner, name, "0.1.0", datetime(2026, 11, 15, tzinfo=UTC), Progress((*events, chosen)))


def group(*learners) -> ClassSummary:
    """A class, given the events of each learner."""
    exports = [export(events, learner=str(number)) for number, events in enumerate(learners)]
    return ClassSummary(tuple(map(learner_of, exports)))


def vote(question: str, answer: object, number: int | None = None, **more) -> dict:
    event = {"kind": "quiz", "lesson": "query_key_value", "name": question, "answer": answer}
    return event | ({"vote": number} if number else {"first_try": True}) | more


def opened(topic: str) -> dict:
    return {"kind": "lesson", "lesson": topic, "name": ""}


def wrong(name: str, **more) -> dict:
    return check(name, "wrong", **more)


# ---- states

names, ids = st.sampled_from(sorted(TOPICS)), st.sampled_from([None, *list(misconceptions())[:3]])
some_events = st.lists(
    st.one_of(
        st.builds(lambda name, status: check(name, status), names, st.sampled_from(["passed", "wrong"])),
        st.builds(lambda name, id: wrong(name, **({"misconception": id} if id else {})), names, ids),
        st.builds(opened, st.sampled_from([lesson.topic for lesson in lessons()])),
        st.builds(
            vote, st.sampled_from(sorted(questions("08"))), st.integers(-1, 5), st.sampled_from([None, 1, 2])
        ),
    ),
    max_size=12,
)
some_learners = st.lists(
    st.tuples(some_events, st.sampled_from(["full", "short", ""])), min_size=1, max_size=4
)


@settings(max_examples=40, deadline=None)
@given(some_learners)
def test_every_learner_is_counted_once_whatever_they_did(learners):
    exports = [export(events, track=track, learner=str(n)) for n, (events, track) in enumerate(learners)]
    whole = ClassSummary(tuple(map(learner_of, exports)))
    n = len(learners)
    for checkpoint in checkpoints():
        counts = whole.counts(checkpoint)
        assert sum(counts.values()) == n and set(counts) <= set(STATES)
        assert len(whole.stuck_at(checkpoint)) == counts[STUCK] >= whole.n_stuck_now(checkpoint)
    assert sum(whole.positions.values()) == n
    assert all(0 <= row.n_corrected <= row.n_shown <= n for row in whole.misconceptions)
    for row in whole.questions:
        assert len(row.first) <= n and len(row.second) <= n
        assert row.question.kind == "several" or sum(row.first_choices.values()) == len(row.first)
    assert len(csv_table(whole).splitlines()) == 1 + n * len(checkpoints())


@pytest.mark.parametrize(
    ("events", "track", "state"),
    [
        ([], "full", NOT_STARTED),
        ([], "short", NOT_IN_TRACK),
        ([wrong("lstm_cell")], "full", TRIED),
        ([wrong("lstm_cell")], "short", TRIED),
        ([wrong("lstm_cell")] * 2, "full", STUCK),
        ([wrong("lstm_cell")] * 5, "short", STUCK),
        ([*[wrong("lstm_cell")] * 5, check("lstm_cell")], "full", DONE),
        ([check("lstm_cell"), *[wrong("lstm_cell")] * 5], "full", DONE),
    ],
)
def test_the_state_of_a_learner_at_a_checkpoint(events, track, state):
    assert learner_of(export(events, track=track)).states[PLACE["lstm_cell"]] == state


@pytest.mark.parametrize(
    ("events", "track", "name"),
    [
        ([], "full", "exact_match"),
        ([check("exact_match")], "full", "count_next"),
        ([check("exact_match")], "short", "read_sequence"),
        ([wrong("exact_match"), opened("masks")], "full", "masked_attention"),
        ([opened("masks"), check("masked_attention"), opened("masks")], "full", "training_mask"),
        ([check("wire_memory")], "full", "half_life"),  # the exercise between them is for fast learners
        ([wrong("product_of_jacobians")], "full", "product_of_jacobians"),
        ([check("half_life"), opened("start_here"), check("exact_match")], "full", "count_next"),
        ([check(LAST)], "full", None),
        (
            [{"kind": "exercise", "lesson": "masks", "name": "removed", "status": "passed"}],
            "full",
            "exact_match",
        ),
    ],
)
def test_where_a_learner_works(events, track, name):
    assert learner_of(export(events, track=track)).position == PLACE.get(name)


def test_the_front_is_where_most_learners_are_and_stuck_now_comes_first():
    moved_on = [*[wrong("count_next")] * 2, check("gradient_step"), check("perplexity")]
    whole = group(moved_on, moved_on, [*[wrong("half_life")] * 2], [])
    assert whole.front == PLACE["read_sequence"] and whole.positions[PLACE["read_sequence"]] == 2
    assert [checkpoint.name for checkpoint in whole.stuck] == ["half_life", "count_next"]
    assert [whole.n_stuck_now(checkpoint) for checkpoint in whole.stuck] == [1, 0]
    finished = group([check(LAST)], [check(LAST)], [])
    assert finished.front is None and "2 of 3 have finished" in class_page(finished)


# ---- misconceptions and quizzes


def test_misconceptions_count_learners_and_the_open_ones_come_first():
    first, second = [wrong("soft_lookup", misconception=id) for id in ("M07", "M10")]
    whole = group(
        [first, first, second], [first, check("soft_lookup")], [first, check("soft_lookup")], [second]
    )
    rows = [(row.misconception.id, row.n_shown, row.n_corrected) for row in whole.misconceptions]
    assert rows == [("M10", 2, 0), ("M07", 3, 2)]
    page = unescape(class_page(whole))
    assert page.index(misconceptions()["M10"].truth) < page.index(misconceptions()["M07"].truth)


def test_votes_before_and_after_the_discussion():
    question = next(item for item in questions("08").values() if item.kind == "single" and item.use)
    right, bad = question.right[0], next(i for i, option in enumerate(question.options) if not option.correct)
    name = question.id
    whole = group(
        [vote(name, bad, 1), vote(name, right, 2), vote(name, right, 1)],  # the first of each vote counts
        [vote(name, bad, 1), vote(name, right, 2)],
        [vote(name, right, 1), vote(name, bad, 2), vote("no-such-question", 0, 1)],
        [vote(name, bad, 1), vote(name, 99, 2)],  # another version of the quiz had more options
    )
    (row,) = whole.questions
    assert (sum(row.first), len(row.first), sum(row.second), len(row.second)) == (1, 4, 2, 3)
    assert row.first_choices == {bad: 3, right: 1} and row.second_choices == {bad: 1, right: 2}
    page = class_page(whole)
    assert "25% of&nbsp;4" in page and "67% of&nbsp;3" in page


def test_only_the_first_answer_outside_a_classroom_counts_and_the_hardest_question_comes_first():
    single = [item for item in questions("08").values() if item.kind == "single" and item.use][:2]
    (easy, right), (hard, bad) = [(item.id, item.right[0]) for item in single]
    bad = next(i for i, option in enumerate(single[1].options) if not option.correct)
    again = vote(hard, single[1].right[0], first_try=False)
    whole = group([vote(easy, right), vote(hard, bad), again], [vote(hard, bad)])
    assert [(row.question.id, row.first) for row in whole.questions] == [
        (hard, (False, False)),
        (easy, (True,)),
    ]
    summary = next(row for row in whole.lessons if row.lesson.number == "08")
    assert (summary.n_opened, summary.n_complete, summary.quiz) == (2, 0, (False, False, True))


def test_only_the_first_guess_of_a_prediction_counts():
    guesses = [
        {"kind": "prediction", "lesson": "query_key_value", "name": "trained-spread", "correct": correct}
        for correct in (False, True)
    ]
    assert [row.predictions for row in group(guesses).lessons if row.predictions] == [(False,)]


# ---- the page and the table

FIRST_SIGN = re.compile(r'[\s"\u200b]*[=+\-@\uff1d\uff0b\uff0d\uff20]')


def test_what_learners_wrote_is_escaped_and_names_are_folded_away():
    learner = export([*[wrong("exact_match")] * 2], name=NASTY)
    page = class_page(ClassSummary((learner_of(learner),)))
    assert "<script" not in page and page.count("&lt;script&gt;") == 2
    unfolded = re.sub(r"<details>.*?</details>", "", page, flags=re.DOTALL)
    assert "script" not in unfolded and "http" not in page.replace("http-equiv", "")


def test_the_page_shows_every_count_of_an_opened_lesson():
    one = wrong("exact_match")
    whole = group([check("exact_match")], [one, one], [opened("start_here"), one], [])
    page = class_page(whole)
    row = re.search(r"<tr[^>]*><th scope=\"row\"><code>exact_<wbr>match</code>.*?</tr>", page, re.DOTALL)[0]
    assert re.findall(r"<td>(\d+)</td>", row) == ["1", "1", "1", "1", "3"]
    assert "count_<wbr>next" not in page.split("All checkpoints")[1].split("Learners")[0]
    short = ClassSummary((*whole.learners, learner_of(export([], track="short"))))
    assert NOT_IN_TRACK.capitalize() in class_page(short) and NOT_IN_TRACK.capitalize() not in page


def test_the_table_has_a_row_for_each_learner_and_checkpoint():
    table = csv_table(group([check("exact_match")], [wrong("exact_match")] * 2))
    rows = list(csv.DictReader(io.StringIO(table)))
    assert tuple(rows[0]) == HEADER and len(rows) == 2 * len(checkpoints())
    shown = [
        (row["learner"], row["state"], row["failed_checks"])
        for row in rows
        if row["checkpoint"] == "exact_match"
    ]
    assert shown == [("0", DONE, "0"), ("1", STUCK, "2")]
    assert [row["checkpoint"] for row in rows if row["works_here"] == "yes"] == ["count_next", "exact_match"]
    assert [row["checkpoint"] for row in rows[: len(checkpoints())]] == [
        checkpoint.name for checkpoint in checkpoints()
    ]


@pytest.mark.parametrize(
    "start", ["=", "+", "-", "@", " =", "\t=", "\u200b=", "\uff1d", "\uff0b", "\uff0d", "\uff20", '"=']
)
@pytest.mark.parametrize("separator", [",", ";"])
def test_no_cell_is_a_formula_whatever_separates_the_cells(start, separator):
    assert safe_cell(f"{start}1") == f"'{start}1" and safe_cell(f"1{start}") == f"1{start}"
    name = f"Ada;{start}cmd|'/C calc'!A0;x"
    for text in (name, name.removeprefix("Ada;")):
        table = csv_table(ClassSummary((learner_of(export([], name=text, learner="=x")),)))
        assert all(line.startswith('"') and line.endswith('"') for line in table.splitlines())
        for line in table.splitlines():
            cells = [*line.split(separator), *next(csv.reader([line], delimiter=separator))]
            assert not any(FIRST_SIGN.match(cell) for cell in cells)
