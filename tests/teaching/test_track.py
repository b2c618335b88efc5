"""The learner's track: what is chosen, and what follows it."""

from __future__ import annotations

import pytest
from IPython.core.formatters import DisplayFormatter

from course_lib.teaching import progress, quiz, road_map, start_lesson
from course_lib.teaching.contents import FULL, SHORT, lesson, lessons
from course_lib.teaching.progress import Progress
from course_lib.teaching.questions.question import questions_for
from course_lib.teaching.questions.quiz import choose_questions
from course_lib.teaching.track import enter_track, notebook_track
from tools.cli import main

TOPIC = "query_key_value"


@pytest.fixture(autouse=True)
def full_notebook():
    yield
    enter_track(FULL)


def opened(track: str | None = None) -> dict:
    return {"kind": "lesson", "lesson": TOPIC} | ({"track": track} if track else {})


def chosen(track: object) -> dict:
    return {"kind": "track", "track": track}


@pytest.mark.parametrize(
    ("events", "track"),
    [
        ([], ""),
        ([opened()], FULL),  # of a version without tracks
        ([opened(FULL), opened(SHORT)], SHORT),
        ([chosen(SHORT), opened(FULL)], SHORT),  # a visit to a skipped section changes nothing
        ([chosen(SHORT), chosen(FULL)], FULL),
        ([chosen(SHORT), chosen("fast"), chosen(None)], SHORT),
    ],
)
def test_the_last_choice_counts_and_without_one_the_notebook_opened_last(events, track):
    assert Progress(tuple(events)).track == track


def test_progress_counts_and_completes_by_the_exercises_of_the_track():
    topic = "encoder_decoder"  # with exercises that are not on the short track
    tracks = lesson(topic).exercises
    short = [name for name, track in tracks.items() if track == SHORT]
    assert 0 < len(short) < len(tracks)
    passed = [{"kind": "exercise", "lesson": topic, "name": name, "status": "passed"} for name in short]
    full, on_short = (Progress((chosen(track), *passed)).lesson(topic) for track in (FULL, SHORT))
    assert on_short.complete and on_short.counts == (f"exercises {len(short)} of {len(short)}",)
    assert not full.complete and full.counts == (f"exercises {len(short)} of {len(tracks)}",)


def test_minutes_and_what_comes_next_follow_the_track():
    full, short = (Progress((chosen(track),)) for track in (FULL, SHORT))
    first = lessons()[0]
    assert f"{first.short_minutes} minutes" in short.next_text and f"{first.minutes} min" in full.next_text
    assert all(row.short_minutes <= row.minutes for row in lessons())
    later = lessons()[5]
    assert (
        f"{later.short_minutes} min<" in short._repr_html_() and f"{later.minutes} min<" in full._repr_html_()
    )
    assert "short track" in str(short) and "short track" not in str(full)


def test_opening_a_short_notebook_is_recorded_and_a_wrong_track_is_refused():
    start_lesson(TOPIC, track=SHORT)
    assert notebook_track() == SHORT == progress.read().track
    with pytest.raises(ValueError, match=r"'fast'.*full, short"):
        start_lesson(TOPIC, track="fast")


# ---- quizzes


@pytest.mark.parametrize("number", [row.number for row in lessons()])
def test_a_short_quiz_asks_only_about_the_short_track(number):
    closing = questions_for(number, "closing", SHORT)
    assert len(closing) >= 2 and all(question.track != "core" for question in closing)
    assert set(closing) <= set(questions_for(number, "closing"))
    recall = choose_questions(number, "recall", SHORT) if number != "00" else []
    assert all(question.track != "core" for question in recall)
    assert number == "00" or 2 <= len(recall) <= 5


def test_recall_follows_the_learner_and_the_closing_quiz_the_notebook():
    recalls = {
        row.number: [choose_questions(row.number, "recall", track) for track in (FULL, SHORT)]
        for row in lessons()[1:]
    }
    following = next(number for number, (full, short) in recalls.items() if full != short)
    on_full, on_short = recalls[following]
    assert list(quiz(following, "recall").questions.values()) == on_full
    progress.choose_track(SHORT)
    assert list(quiz(following, "recall").questions.values()) == on_short
    assert len(quiz("08", "closing").questions) == len(questions_for("08", "closing"))
    enter_track(SHORT)
    assert len(quiz("08", "closing").questions) == len(questions_for("08", "closing", SHORT))


# ---- the choice


@pytest.mark.parametrize(
    ("notebook", "links"), [(FULL, {FULL: "(", SHORT: "(short/"}), (SHORT, {FULL: "(../", SHORT: "("})]
)
def test_the_road_map_stores_a_choice_and_links_to_its_notebooks(notebook, links):
    enter_track(notebook)
    shown = road_map()
    assert shown.choice.value == notebook and progress.read().events == ()
    for track in (SHORT, FULL, SHORT)[notebook == SHORT :]:  # the first choice is a change
        shown.choice.value = track
        table = shown.table.outputs[0]["data"]["text/markdown"]
        assert progress.read().track == track
        for row in lessons():
            assert f"{links[track]}{row.notebook})" in table and f"| {row.minutes_on(track)} |" in table
    assert road_map().choice.value == SHORT  # remembered


def test_without_a_kernel_the_road_map_shows_both_tracks():
    data, _ = DisplayFormatter().format(road_map())
    for row in lessons():
        assert f"]({row.notebook})" in data["text/markdown"]
        assert f"[{row.short_minutes}](short/{row.notebook})" in data["text/markdown"]
    assert data["text/plain"] == "RoadMap('full')"


def test_the_command_line_changes_the_track(capsys):
    assert main(["progress", "--track", "short"]) == 0
    assert progress.read().track == SHORT and "short track" in capsys.readouterr().out
    assert main(["progress", "--track", "full"]) == 0 and progress.read().track == FULL
