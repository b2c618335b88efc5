"""What follows from a learner's events."""

from __future__ import annotations

import pytest

from course_lib.teaching import progress
from course_lib.teaching.exercises import BY_LESSON
from course_lib.teaching.lessons import lesson, lessons
from course_lib.teaching.misconceptions import misconceptions
from course_lib.teaching.progress import Progress


def exercise(name, status="passed", lesson="query_key_value", **more):
    return {"kind": "exercise", "lesson": lesson, "name": name, "status": status, **more}


def quiz(name, correct, first_try=True, lesson="query_key_value", **more):
    return {
        "kind": "quiz",
        "lesson": lesson,
        "name": name,
        "correct": correct,
        "first_try": first_try,
        **more,
    }


def known(*events) -> Progress:
    return Progress(tuple(events))


def test_events_are_recorded_with_their_time_and_read_back():
    progress.record({"kind": "lesson", "lesson": "start_here"})
    (event,) = progress.read().events
    assert event.pop("at").endswith("+00:00")
    assert event == {"kind": "lesson", "lesson": "start_here"}


def test_a_new_learner():
    new = progress.read()
    assert new == Progress()
    assert not any(one.opened or one.complete for one in new.lessons)
    assert len(new.lessons) == len(lessons()) == 20


def test_exercises_are_tried_then_passed_and_stay_passed():
    one = known(exercise("soft_lookup", "wrong")).lesson("query_key_value")
    assert one.opened and one.counts == ("exercises 0 of 5",)
    one = known(
        exercise("soft_lookup", "wrong"),
        exercise("soft_lookup"),
        exercise("soft_lookup", "wrong"),
        exercise("gone"),
    ).lesson("query_key_value")
    assert one.counts == ("exercises 1 of 5",)


def test_goals_and_misses_are_worked_out():
    told = known(
        {"kind": "goal", "lesson": "query_key_value", "name": "Lab/wide"},
        {"kind": "goal", "lesson": "query_key_value", "name": "Lab/wide"},
        {"kind": "quiz", "name": "a", "correct": False},
        {"kind": "quiz", "name": "b", "correct": False},
        {"kind": "quiz", "name": "a", "correct": True},
        {"kind": "quiz", "name": "c", "correct": True},
    )
    assert told.goals("Lab") == {"wide"} and told.goals("Other") == set()
    assert told.lesson("query_key_value").counts[-1] == "goals 1"
    assert told.missed == ("b",)


def test_a_lesson_is_complete_without_its_stretch_exercises():
    core = [one.name for one in BY_LESSON["query_key_value"] if not one.stretch]
    assert "smooth_curve" not in core
    assert not known(*map(exercise, core[1:])).lesson("query_key_value").complete
    assert known(*map(exercise, core)).lesson("query_key_value").complete


def test_the_quiz_score_counts_the_first_answer_to_each_question():
    tries = [quiz("a", False), quiz("a", True, first_try=False), quiz("a", True), quiz("b", True)]
    one = known(*tries, quiz("c", False), quiz("d", True, first_try=False)).lesson("query_key_value")
    assert "quiz 1 of 3 at the first try" in one.counts


def test_predictions_are_counted_once():
    guess = {"kind": "prediction", "lesson": "query_key_value", "name": "x", "guess": 1}
    one = known({**guess, "correct": False}, {**guess, "correct": True}).lesson("query_key_value")
    assert "predictions 0 of 1" in one.counts


def test_misconceptions_are_counted_and_put_right_by_a_later_answer_to_the_same_question():
    wrong = [quiz("a", False, misconception="M10"), exercise("soft_lookup", "wrong", misconception="M10")]
    (met,) = known(*wrong).misconceptions
    assert (met.id, met.times, met.put_right) == ("M10", 2, False)
    (met,) = known(*wrong, quiz("a", True, first_try=False)).misconceptions
    assert not met.put_right
    (met,) = known(*wrong, quiz("a", True, first_try=False), exercise("soft_lookup")).misconceptions
    assert met.put_right and met.times_text == "met twice, since put right"
    (met,) = known(*wrong, quiz("a", True), exercise("soft_lookup"), wrong[0]).misconceptions
    assert (met.times, met.put_right) == (3, False)


def test_what_is_next_is_the_first_lesson_that_is_there_and_not_complete(monkeypatch):
    there = {"start_here", "query_key_value"}
    monkeypatch.setattr("course_lib.teaching.lessons.Lesson.built", property(lambda one: one.topic in there))
    assert known().next_lesson.topic == "start_here"
    done = exercise("double_it", lesson="start_here")
    assert known(done).next_lesson.topic == "query_key_value"
    everything = [exercise(one.name) for one in BY_LESSON["query_key_value"]]
    assert known(done, *everything).next_lesson is None
    there.clear()  # a lesson that is open in front of the learner is there, whatever the folder says
    assert known({"kind": "lesson", "lesson": "start_here"}).next_lesson.topic == "start_here"


@pytest.mark.parametrize(
    "odd",
    [
        {},
        {"kind": "of a later version", "lesson": "query_key_value", "name": "x"},
        {"kind": "exercise"},
        {"kind": "exercise", "lesson": "query_key_value", "name": ["a", "list"], "status": {"x": 1}},
        {"kind": ["?"], "lesson": {"a": 1}, "name": None, "misconception": ["M01"]},
        {
            "kind": "quiz",
            "lesson": "no such lesson",
            "name": 7,
            "correct": "yes",
            "first_try": 1,
            "new": "field",
        },
        {"kind": "quiz", "lesson": "query_key_value", "name": 7, "correct": False, "misconception": "M99"},
    ],
)
def test_events_that_this_version_does_not_know_are_kept_and_do_no_harm(odd):
    progress.record(odd)
    progress.record(exercise("soft_lookup"))
    found = progress.read()
    assert found.events[0].items() >= odd.items()
    assert found.lesson("query_key_value").counts[0] == "exercises 1 of 5"
    assert found.report()


def test_the_report_says_it_all(monkeypatch, course_home):
    monkeypatch.setattr(
        "course_lib.teaching.lessons.Lesson.built", property(lambda one: one.number in ("00", "08"))
    )
    report = known(
        exercise("double_it", lesson="start_here"),
        quiz("a", False, misconception="M10"),
        exercise("soft_lookup"),
    ).report()
    assert report == (
        "Lessons\n"
        "  ✓ 00 · Start here\n"
        "      exercises 1 of 1\n"
        "  … 08 · Query, key, value\n"
        "      exercises 1 of 5\n"
        "      quiz 0 of 1 at the first try\n"
        "\n"
        f"Next: 08 · Query, key, value ({lesson('query_key_value').minutes} minutes)\n"
        f"  {lesson('query_key_value').question}\n"
        "\n"
        "Misconceptions met\n"
        f"  M10 (met once) {misconceptions()['M10'].belief}\n"
        f"      In truth: {misconceptions()['M10'].truth}\n"
        "\n"
        f"Kept in {course_home / 'progress.jsonl'}, on this machine only."
    )
    assert "none opened yet" in known().report()
    assert Progress((), ("It was damaged.",)).report().startswith("It was damaged.")


def test_deleting_leaves_nothing(course_home):
    assert progress.delete() == "There was no progress to delete."
    progress.record({"kind": "lesson", "lesson": "start_here"})
    with (course_home / "progress.jsonl").open("a") as file:
        file.write("{half")
    assert progress.read().notes
    assert progress.delete() == "Your progress is deleted."
    assert not list(course_home.glob("*.jsonl"))
    assert progress.read() == Progress()
