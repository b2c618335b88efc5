"""Quizzes, guesses and explanations: what they record, what they send to the page, and their static form."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import ipywidgets
import pytest

from course_lib import theme, views
from course_lib.teaching import progress
from course_lib.teaching.contents import lessons
from course_lib.teaching.questions import question as question_module
from course_lib.teaching.questions import quiz as quiz_module
from course_lib.teaching.questions.explanation import LONGEST, explain
from course_lib.teaching.questions.guess import ANSWER, Guess, estimate, predict
from course_lib.teaching.questions.question import Option, Question, read_questions
from course_lib.teaching.questions.question_card import static_html
from course_lib.teaching.questions.quiz import DISCUSS, Quiz, choose_questions, quiz
from lessons.l00_start_here import SoftmaxDial

ASKED = read_questions(Path(__file__).parent / "samples" / "quiz.json")
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
NASTY = "<script>alert('x')</script> & \"quotes\" <img src=x onerror=alert(1)>"


def closing(*, use: str = "closing", asked: dict[str, Question] = ASKED, **options) -> Quiz:
    return Quiz("08", use, [question for question in asked.values() if question.use == "closing"], **options)


@pytest.fixture
def events(monkeypatch):
    recorded: list[dict] = []
    monkeypatch.setattr(progress, "record", recorded.append)
    return recorded


@pytest.fixture
def sample_lesson(monkeypatch):
    """Every lesson has the questions of the sample."""
    monkeypatch.setattr(question_module, "questions", lambda lesson: ASKED)


def from_page(card, **message) -> dict:
    """Send a message as the page does; returns the state that the page then gets."""
    card = card.view.children[0] if isinstance(card, Guess) else card
    card._handle_custom_msg(message, [])
    return card.state.get(message.get("question"), card.state)


# ---- quizzes


def test_the_first_try_counts_and_every_try_is_recorded_and_answered(events):
    sample = closing()
    wrong = from_page(sample, question="sample-single", answer=0)
    assert (wrong["tries"], wrong["correct"], wrong["first"], wrong["others"]) == (1, False, False, [])
    assert wrong["remarks"][0]["html"] == "Softmax subtracts the <em>largest</em> score."
    right = from_page(sample, question="sample-single", answer=1)
    assert (right["tries"], right["correct"], right["first"], len(right["others"])) == (2, True, False, 2)
    assert right["asked"] > wrong["asked"]
    assert from_page(sample, question="sample-number", answer="1/4")["first"]
    shared = {"kind": "quiz", "lesson": "query_key_value", "name": "sample-single"}
    assert events[:2] == [
        {**shared, "first_try": True, "correct": False, "answer": 0, "misconception": "M06"},
        {**shared, "first_try": False, "correct": True, "answer": 1},
    ]
    closing(use="recall").answer("sample-number", 0.25)  # practice
    assert [(event["first_try"], event["correct"]) for event in events[2:]] == [(True, True), (False, True)]


def test_the_right_answer_is_not_sent_with_the_question():
    payload = closing().payload
    sent = json.dumps(payload)
    assert "correct" not in sent and "Softmax subtracts" not in sent and "0.25" not in sent
    single = payload["questions"][0]
    assert [option["letter"] for option in single["options"]] == ["A", "B", "C"]
    assert sorted(option["index"] for option in single["options"]) == [0, 1, 2]
    assert "<msqrt>" in single["text"]


def test_an_unreadable_answer_is_asked_for_again_and_not_counted(events):
    sample, message = closing(), {"question": "sample-number", "answer": "8,000"}
    before = from_page(sample, **message)
    assert "8000 or 8.000" in before["note"] and before["tries"] == 0
    assert from_page(sample, **message)["asked"] > before["asked"]  # sent again, so that the page notices it
    assert events == [] and not sample.tries["sample-number"]


@pytest.mark.parametrize("answer", [-1, 7, [7], ["x"], {}, "x", 0.5, [[0]]])
def test_an_answer_that_is_no_option_is_asked_for_again(events, answer):
    for name, asked in (sample := closing()).questions.items():
        if asked.kind in ("single", "several"):
            assert from_page(sample, question=name, answer=answer)["tries"] == 0
    assert events == []


@pytest.mark.parametrize("message", [{}, {"question": "another"}, {"question": ["x"], "answer": 0}])
def test_a_message_about_no_question_of_the_quiz_is_ignored(events, message):
    sample = closing()
    sample._receive(message)
    assert events == [] and sample.state == {}


def test_in_a_classroom_the_first_vote_gets_no_feedback_and_both_are_recorded(events):
    room = closing(classroom=True)
    first = room.answer("sample-single", 0)
    assert first.correct is None and first.remarks[0].text.endswith(DISCUSS)
    state = room.state["sample-single"]
    assert (state["correct"], state["first"], state["others"]) == (None, None, [])
    assert "Softmax" not in json.dumps(state)
    assert room.answer("sample-single", 1).correct is True
    letters = {index: letter for letter, index, _ in ASKED["sample-single"].shown}
    assert room.state["sample-single"]["votes"] == [letters[0], letters[1]]
    votes = [(e["vote"], e["answer"], e["first_try"], e["correct"]) for e in events]
    assert votes == [(1, 0, True, False), (2, 1, False, True)]


def test_the_classroom_switch_is_read(monkeypatch):
    assert quiz("08", "closing").payload["classroom"] is False
    monkeypatch.setenv("COURSE_CLASSROOM", "1")
    assert quiz("08", "closing").payload["classroom"] is True


@pytest.fixture
def made_up(monkeypatch):
    """Lessons 05 and 07 leave questions for later; 08 has one of its own; 04 has a quiz."""
    uses = {"04": "closing", "05": "later later", "07": "closing later later later", "08": "recall closing"}
    by_lesson = {lesson.number: {} for lesson in lessons()}
    for number, names_of_uses in uses.items():
        names = {f"{use}-{number}-{i}": use for i, use in enumerate(names_of_uses.split())}
        single = ASKED["sample-single"]
        by_lesson[number] = {name: replace(single, id=name, use=use) for name, use in names.items()}
    for module in (question_module, quiz_module):
        monkeypatch.setattr(module, "questions", by_lesson.__getitem__)
    return by_lesson


def test_recall_asks_about_earlier_lessons_and_what_was_not_put_right(made_up):
    def names() -> list[str]:
        return list(quiz("08", "recall").questions)

    later = ["later-07-1", "later-07-2", "later-05-1"]
    assert names() == later
    tried = [("04-0", False), ("07-0", False), ("07-0", True), ("08-1", False)]
    for name, correct in tried:  # the last one is of this lesson
        progress.record({"kind": "quiz", "lesson": "x", "name": f"closing-{name}", "correct": correct})
    assert names() == [*later, "closing-04-0"]
    assert [question.id for question in choose_questions("08", "recall")] == later  # without a learner
    three = ["closing-04-0", "closing-07-0", "later-05-0"]
    again = [question.id for question in choose_questions("08", "recall", missed=three)]
    assert again == [*later, *three[:2]], "a few, not all"
    quiz("08", "recall").answer("closing-04-0", 1)
    assert names() == later
    made_up["07"], made_up["05"] = {}, {}
    assert names() == ["recall-08-0"]  # its own


def test_the_static_form_of_a_quiz_has_every_option_and_folds_the_feedback():
    sample = closing()
    data, _ = sample._repr_mimebundle_()
    page = data["text/html"]
    assert set(data) == {"text/plain", "text/html", WIDGET_VIEW}
    assert data["text/plain"] == repr(sample) == "Quiz('08', 'closing', 3 questions)"
    assert page.count("<details>") == 3
    for question in sample.questions.values():
        assert all(f"<li>{option.text}</li>" in page for _, _, option in question.shown)
    open_part = page[: page.index("<details>")]
    assert "✓" not in open_part and "Yes, a spread near $1$." not in open_part
    # LaTeX: JupyterLab strips MathML from a notebook it does not trust
    for part in (
        "Yes, a spread near $1$.",
        "0.25 of $1$ · ✓ right",
        r"$\sqrt{d_k}$",
        "Read again: Why the root",
    ):
        assert part in page
    sample.answer("sample-single", 1)
    assert sample._repr_mimebundle_()[0]["text/html"] == page


def with_markup(part: Question | Option):
    """The same with HTML in each of its texts, and of its options' texts."""
    fields = [field for field in ("text", "feedback", "because", "reread") if getattr(part, field, "")]
    changed = {field: getattr(part, field) + NASTY for field in fields}
    if isinstance(part, Question):
        changed["options"] = tuple(map(with_markup, part.options))
    return replace(part, **changed)


def test_every_text_is_escaped_in_the_static_form_and_in_what_the_page_sets(events):
    asked = {name: with_markup(question) for name, question in ASKED.items()}
    widget, guess = closing(asked=asked), Guess("08", asked["sample-moves"])
    page = widget._repr_mimebundle_()[0]["text/html"]
    written = json.dumps(list(widget.questions.values()), default=lambda part: part.__dict__)
    assert page.count("&lt;script&gt;") == written.count("<script>") > 20
    for name, answer in (("sample-single", 1), ("sample-several", [1]), ("sample-number", 7)):
        widget.answer(name, answer)
    guess.commit(0)
    assert guess.view.children[0].state["because"].startswith("Values are handed out.&lt;script&gt;alert(")
    rereads = [question.pop("reread") for question in widget.payload["questions"]]  # set as text
    assert NASTY in rereads[0]
    for text in (page, *map(json.dumps, (widget.payload, widget.state, guess.view.children[0].payload))):
        assert "<script" not in text and "<img" not in text


# ---- predictions and estimates


class Bars:
    """The part of an explorable that a prediction needs."""

    title = "Bars"
    presets = {"wide": {"width": 512}}  # noqa: RUF012

    def __init__(self):
        self.width = 8
        self.view = ipywidgets.VBox([ipywidgets.IntSlider()])

    def preset(self, name: str) -> None:
        self.width = self.presets[name]["width"]

    def static_image(self) -> views.Picture:
        return views.Picture(160, 40, alt=f"Bars for a width of {self.width}.")


def predict_number(bars: Bars) -> Guess:
    return Guess("08", ASKED["sample-largest"], covered=bars)


def predict_choice(covered) -> Guess:
    return Guess("08", ASKED["sample-moves"], covered=covered)


def test_it_is_covered_until_the_one_guess_and_opens_where_the_truth_shows(events):
    bars = Bars()
    prediction = predict_number(bars)
    assert not prediction.opened and bars.view not in prediction.view.children and bars.width == 8
    assert prediction.commit(0.4) is False
    assert prediction.opened and prediction.view.children[-1] is bars.view and bars.width == 512
    state = prediction.view.children[0].state
    assert (state["look"], state["guess"][:3]) == ("wrong", "0.4")
    with pytest.raises(ValueError, match="already open"):
        prediction.commit(0.96)
    assert from_page(prediction, guess="0.96") == state  # a second view of the same cell
    event = {"kind": "prediction", "lesson": "query_key_value", "name": "sample-largest"}
    assert prediction.guess == 0.4
    assert events == [{**event, "guess": "0.4 of $1$", "correct": False}]


def test_an_unreadable_guess_is_asked_for_again_and_no_guess_is_needed(events):
    bars = Bars()
    prediction = predict_number(bars)
    first = from_page(prediction, guess="many")
    assert "number" in first["note"] and not prediction.opened
    assert from_page(prediction, guess="many")["asked"] > first["asked"]
    state = from_page(prediction, open=True)
    assert prediction.opened and prediction.guess is None and not prediction.correct and bars.width == 512
    assert (state["look"], state["guess"]) == ("seen", None) and state["truth"].startswith("0.96 of <math")
    assert events == []


def test_an_estimate_is_judged_by_factor_and_measured_when_the_guess_is_in(events):
    measured = []

    def measure() -> float:
        measured.append(1)
        return 40.0

    guess = Guess("08", ASKED["sample-measured"], measure=measure)
    assert not measured
    state = from_page(guess, guess="30")
    assert guess.correct and len(measured) == 1 and "factor of 1.3" in state["word"]
    assert (state["guess"], state["truth"]) == ("30", "40")
    assert events[0]["kind"] == "estimate" and events[0]["correct"]
    from_file = Guess("08", ASKED["sample-size"])
    assert from_page(from_file, guess="512")["truth"] == "262,144 numbers" and not from_file.correct
    unseen = Guess("08", ASKED["sample-measured"], measure=measure)
    assert from_page(unseen, open=True)["truth"] == "40" and len(measured) == 2


def test_the_stored_form_of_a_guess_is_the_question_and_the_picture_at_the_start():
    data, _ = predict_choice(Bars())._repr_mimebundle_()
    assert set(data) == {"text/plain", "text/html", WIDGET_VIEW}
    question, folded = data["text/html"].split("<details>")
    assert "What moves?" in question and 'alt="Bars for a width of 8."' in folded
    assert data["text/plain"] == (
        "Predict first: What moves?\n  A  The weights\n  B  The context\n  C  Both\n"
        "After your prediction: Bars for a width of 8."
    )
    asked, _ = Guess("08", ASKED["sample-size"])._repr_mimebundle_()
    assert asked["text/plain"].startswith("Estimate first: How many") and "512 × 512" in asked["text/html"]
    assert "262" not in asked["text/html"]


def test_the_stored_form_of_an_opened_guess_has_the_answer_and_what_was_covered(events):
    dial, asked = SoftmaxDial(), replace(ASKED["sample-moves"], preset="sharp")
    prediction = Guess("08", asked, covered=dial)
    prediction.open()
    data, _ = prediction._repr_mimebundle_()
    question, answer = data["text/html"].split(ANSWER)
    assert set(data) == {"text/plain", "text/html", WIDGET_VIEW} and question.count("<li>") == 3
    assert "<strong>Actual answer:</strong> The context</p>" in answer
    assert f"<p>{static_html(asked.because)}</p>" in answer and dial.multiplier == 4
    assert f'alt="{dial.description}"' in answer and answer.count("data:image/webp;base64,") == 1
    figure = views.StaticImage(theme.figure(2, 1).subplots().figure, alt='A "line" <b>')
    prediction = predict_choice(figure)
    prediction.commit(0)  # a wrong guess changes nothing
    answer = prediction._repr_mimebundle_()[0]["text/html"].partition(ANSWER)[2]
    assert 'alt="A &quot;line&quot; &lt;b&gt;"' in answer and "The context" in answer
    assert f'width="{figure.width}"' in answer
    guess = Guess("08", ASKED["sample-measured"], measure=lambda: 40.0)
    guess.open()
    answer = guess._repr_mimebundle_()[0]["text/html"].partition(ANSWER)[2]
    assert "<strong>Actual value:</strong> 40</p>" in answer and "<img" not in answer


def test_what_is_covered_is_stored_folded_and_an_explorable_built_when_it_is_opened(events):
    dial = SoftmaxDial()
    prediction = predict_choice(dial)
    assert "<details>" in prediction._repr_mimebundle_()[0]["text/html"] and "view" not in vars(dial)
    prediction.open()
    assert prediction.view.children[1] is dial.view
    figure = views.StaticImage(theme.figure(2, 1).subplots().figure, alt="A line.")
    prediction = predict_choice(figure)
    stored = prediction._repr_mimebundle_()[0]
    assert (
        "A line." in stored["text/html"].partition("<details>")[2] and "A line." not in stored["text/plain"]
    )
    prediction.commit(1)
    card, picture = prediction.view.children
    assert card.state["look"] == "right"
    assert card.state["guess"] == card.state["truth"] == "The context"
    assert picture.value == figure.img()


# ---- explanations


def test_an_explanation_is_written_compared_ticked_and_recorded(sample_lesson, events):
    card = explain("08", "sample-why")
    assert "model" not in card.state and "two jobs" not in str(card.payload)
    state = from_page(card, text="<b>Two</b> jobs")
    assert state["text"] == "<b>Two</b> jobs"  # the page sets it as the field's value, never as HTML
    assert "<math" in state["model"] and len(state["points"]) == 2 and state["ticked"] == []
    assert from_page(card, ticked=[1])["ticked"] == [1]
    assert [(event["text"], event["ticked"], event["of"]) for event in events] == [
        ("<b>Two</b> jobs", [], 2),
        ("<b>Two</b> jobs", [1], 2),
    ]
    assert len(from_page(card, text="x" * 10**6)["text"]) == LONGEST
    del events[:]
    assert from_page(card, text="  ")["model"]  # one may look without writing, and nothing is kept
    from_page(card, ticked=[0])
    assert events == []


@pytest.mark.parametrize("message", [{}, {"ticked": [0]}, {"text": 7}, {"ticked": 1, "text": None}])
def test_a_message_that_is_no_explanation_is_ignored(sample_lesson, events, message):
    card = explain("08", "sample-why")
    card._receive(message)
    assert events == [] and card.state == {}


def test_the_stored_form_folds_the_model_answer(sample_lesson):
    data, _ = explain("08", "sample-why")._repr_mimebundle_()
    asked, folded = data["text/html"].split("<details>")
    assert "<em>two</em>" in asked and "two jobs" not in asked and "two jobs" in folded
    assert folded.count("<li>") == 2 and "$W_Q$" in folded
    assert data["text/plain"] == "In your own words: Why are there *two* matrices?"


# ---- all of them


def test_a_lesson_asks_by_name_and_the_switch_opens_all(monkeypatch, sample_lesson, events):
    assert not predict("08", "sample-largest", Bars()).opened
    monkeypatch.setenv("COURSE_OPEN", "1")
    assert predict("08", "sample-largest", Bars()).opened and estimate("08", "sample-size").opened
    assert explain("08", "sample-why").state["model"]
    assert events == []
