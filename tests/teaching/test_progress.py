"""What follows from a learner's events, and the card and the report that tell it."""

from __future__ import annotations

from html import unescape

import pytest

from course_lib.teaching import progress, progress_summary
from course_lib.teaching.exercises import BY_LESSON
from course_lib.teaching.lessons import lesson, lessons
from course_lib.teaching.misconceptions import misconceptions
from course_lib.teaching.progress import Progress
from course_lib.teaching.summary import summary_html, summary_text

TOPIC = "query_key_value"


def event(kind, name, lesson=TOPIC, **more):
    return {"kind": kind, "lesson": lesson, "name": name, **more}


def exercise(name, status="passed", **more):
    return event("exercise", name, status=status, **more)


def quiz(name, correct, first_try=True, **more):
    return event("quiz", name, correct=correct, first_try=first_try, **more)


def known(*events) -> Progress:
    return Progress(tuple(events))


@pytest.fixture
def there(monkeypatch):
    """The lessons that are built: a set to change."""
    found = {"start_here", TOPIC}
    monkeypatch.setattr("course_lib.teaching.lessons.Lesson.built", property(lambda one: one.topic in found))
    return found


def test_a_new_learner_then_an_event_with_its_time_then_nothing_again(course_home):
    assert progress.read() == Progress() and len(Progress().lessons) == len(lessons())
    assert not any(one.opened or one.complete for one in Progress().lessons)
    assert progress.delete() == "There was no progress to delete."
    progress.record({"kind": "lesson", "lesson": "start_here"})
    (found,) = progress.read().events
    assert found.pop("at").endswith("+00:00") and found == {"kind": "lesson", "lesson": "start_here"}
    with (course_home / "progress.jsonl").open("a") as file:
        file.write("{half")
    assert progress.read().notes
    assert progress.delete() == "Your progress is deleted."
    assert not list(course_home.glob("*.jsonl")) and progress.read() == Progress()


WRONG, GUESS = exercise("soft_lookup", "wrong"), event("prediction", "x", guess=1)


@pytest.mark.parametrize(
    ("events", "counts"),
    [
        ([WRONG], ["exercises 0 of 5"]),
        (
            [WRONG, exercise("soft_lookup"), WRONG, exercise("gone")],
            ["exercises 1 of 5"],
        ),  # passed stays passed
        ([event("goal", "Lab/wide"), event("goal", "Lab/wide")], ["exercises 0 of 5", "goals 1"]),
        (
            [{**GUESS, "correct": False}, {**GUESS, "correct": True}],
            ["exercises 0 of 5", "predictions 0 of 1"],
        ),
        (
            [
                quiz("a", False),
                quiz("a", True, False),
                quiz("a", True),
                quiz("b", True),
                quiz("d", True, False),
            ],
            ["exercises 0 of 5", "quiz 1 of 2 at the first try"],
        ),
    ],
)
def test_what_is_counted(events, counts):
    found = known(*events).lesson(TOPIC)
    assert found.opened and list(found.counts) == counts


def test_goals_and_misses_are_worked_out():
    tries = [quiz("a", False), quiz("b", False), quiz("a", True), quiz("c", True)]
    told = known(event("goal", "Lab/wide"), *tries)
    assert told.goals("Lab") == {"wide"} and told.goals("Other") == set()
    assert told.missed == ("b",)


def test_a_lesson_is_complete_without_its_stretch_exercises_and_then_the_next_one_comes(there):
    core = [exercise(one.name) for one in BY_LESSON[TOPIC] if not one.stretch]
    assert 0 < len(core) < len(BY_LESSON[TOPIC])
    assert not known(*core[1:]).lesson(TOPIC).complete
    assert known(*core).lesson(TOPIC).complete
    assert known().next_lesson.topic == "start_here"
    done = exercise("double_it", lesson="start_here")
    assert known(done).next_lesson.topic == TOPIC
    assert known(done, *core).next_lesson is None and "finished every lesson" in known(done, *core).report()
    there.clear()  # a lesson that is open in front of the learner is there, whatever the folder says
    assert known({"kind": "lesson", "lesson": "start_here"}).next_lesson.topic == "start_here"


def test_misconceptions_are_counted_and_put_right_by_a_later_answer_to_the_same_question():
    wrong = [quiz("a", False, misconception="M10"), exercise("soft_lookup", "wrong", misconception="M10")]
    right = [quiz("a", True, first_try=False), exercise("soft_lookup")]
    for events, text in (
        (wrong, "met twice"),
        ([*wrong, right[0]], "met twice"),
        ([*wrong, *right], "met twice, since put right"),
        ([*wrong, *right, wrong[0]], "met 3 times"),
    ):
        (met,) = known(*events).misconceptions
        assert (met.known.id, met.times_text) == ("M10", text)


@pytest.mark.parametrize(
    "odd",
    [
        {},
        {"kind": "of a later version", "lesson": TOPIC, "name": "x"},
        {"kind": "exercise"},
        {"kind": "exercise", "lesson": TOPIC, "name": ["a", "list"], "status": {"x": 1}},
        {"kind": ["?"], "lesson": {"a": 1}, "name": None, "misconception": ["M01"]},
        {"kind": "quiz", "lesson": "no such lesson", "name": 7, "correct": "yes", "first_try": 1, "new": "x"},
        {"kind": "quiz", "lesson": TOPIC, "name": 7, "correct": False, "misconception": "M99"},
    ],
)
def test_events_that_this_version_does_not_know_are_kept_and_do_no_harm(odd):
    progress.record(odd)
    progress.record(exercise("soft_lookup"))
    found = progress.read()
    assert found.events[0].items() >= odd.items()
    assert found.lesson(TOPIC).counts[0] == "exercises 1 of 5"
    assert found.report() and summary_html(found)


# ---- the report and the card

TOLD = Progress(
    (
        exercise("double_it", lesson="start_here"),
        quiz("a", False, misconception="M10"),
        exercise("soft_lookup"),
    ),
    notes=("Your file <was> damaged.",),
)


def test_the_report_says_it_all(there, course_home):
    assert (
        TOLD.report()
        == f"""Your file <was> damaged.
Lessons
  ✓ 00 · Start here
      exercises 1 of 1
  … 08 · Query, key, value
      exercises 1 of 5
      quiz 0 of 1 at the first try

Next: 08 · Query, key, value ({lesson(TOPIC).minutes} minutes)
  {lesson(TOPIC).question}

Misconceptions met
  M10 (met once) {misconceptions()["M10"].belief}
      In truth: {misconceptions()["M10"].truth}

Kept in {course_home / "progress.jsonl"}, on this machine only."""
    )
    assert "none opened yet" in known().report()


def test_the_card_says_the_same(there):
    page, plain = summary_html(TOLD), summary_text(TOLD)
    belief, truth = misconceptions()["M10"].belief, misconceptions()["M10"].truth
    coming = f"Next: 08 · Query, key, value ({lesson(TOPIC).minutes} minutes)"
    counts = "exercises 1 of 5 · quiz 0 of 1 at the first try"
    met = ("M10 · met once", f"“{belief}”", f"In truth: {truth}")
    for part in ("1 of 20 lessons", "18 · The museum", counts, coming, *met, "Your file <was> damaged."):
        assert part in unescape(page)
    assert "<was>" not in page
    assert plain.splitlines() == [
        "Your file <was> damaged.",
        "Your progress",
        "✓ 00 · Start here · exercises 1 of 1",
        "… 08 · Query, key, value · exercises 1 of 5 · quiz 0 of 1 at the first try",
        coming,
        f"M10 (met once): in truth, {truth}",
    ]


def test_what_a_new_learner_sees_does_not_change_when_lessons_are_added(there, monkeypatch):
    before = summary_html(Progress()), summary_text(Progress())
    there |= {one.topic for one in lessons()}
    monkeypatch.setattr("course_lib.teaching.lessons.Lesson.exercises", {})
    assert (summary_html(Progress()), summary_text(Progress())) == before


def test_the_card_is_stored_the_same_every_time_and_its_button_brings_it_up_to_date(there):
    summary, again = progress_summary(), progress_summary()._repr_mimebundle_()
    bundle = summary._repr_mimebundle_()
    assert bundle["text/html"] == again["text/html"] and bundle["text/plain"] == again["text/plain"]
    assert "application/vnd.jupyter.widget-view+json" in bundle
    assert " id=" not in bundle["text/html"] and "0x" not in bundle["text/html"]
    page, button = summary.children
    assert "exercises 1 of 1" not in page.value
    progress.record(exercise("double_it", lesson="start_here"))
    button.click()
    assert "exercises 1 of 1" in page.value and "✓ 00 · Start here" in repr(summary)
