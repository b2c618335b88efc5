"""What a learner controls never becomes HTML: names, messages, printed output, paths, edited progress."""

from __future__ import annotations

import json
from html.parser import HTMLParser

import pytest

from course_lib.teaching import progress
from course_lib.teaching.display import escape
from course_lib.teaching.exercises import find_exercise, judge
from course_lib.teaching.exercises.verdict import Verdict
from course_lib.teaching.questions.markup import inline_html
from course_lib.views import heatmap

ATTACK = "<img src=x onerror=alert(1)> & \"double\" 'single' </pre></details><script>alert(2)</script>"


class Tags(HTMLParser):
    """The tags of a page and its text."""

    def __init__(self, page: str):
        super().__init__()
        self.tags, self.text = [], ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        assert not any(name.startswith("on") for name, _ in attrs)

    def handle_data(self, data):
        self.text += data


def assert_shown_as_text(page: str, times: int = 1) -> None:
    parsed = Tags(page)
    assert not {"img", "script"} & set(parsed.tags) and parsed.text.count(ATTACK) >= times


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_HOME", str(tmp_path))
    return tmp_path


def test_all_texts_of_a_verdict():
    texts = dict.fromkeys(("headline", "details", "given", "expected", "got", "printed"), ATTACK)
    assert_shown_as_text(Verdict(ATTACK, "wrong", **texts)._repr_html_(), times=7)


def test_asterisks_around_words_are_emphasis_and_others_stay():
    others = "f(*args, **named), 2 * 3 * 4, x*y*z"
    assert escape(f"*before* `a*b*c` {others}") == f"<em>before</em> <code>a*b*c</code> {others}"


def test_what_a_learner_s_function_prints_raises_and_returns():
    def raises(x):
        print(ATTACK)
        raise ValueError(ATTACK)

    raises.__name__ = raises.__qualname__ = ATTACK
    assert_shown_as_text(judge(find_exercise("double_it"), raises)._repr_html_(), times=2)
    page = judge(find_exercise("double_it"), lambda x: ATTACK)._repr_html_()
    assert not {"img", "script"} & set(Tags(page).tags)


def test_progress_edited_by_hand_and_the_path_of_the_folder(home, monkeypatch):
    keys = ("kind", "lesson", "name", "status", "track", "misconception", "answer", "at")
    lessons = [{"lesson": "start_here", "kind": kind} for kind in ("quiz", "goal", "lesson", "exercise")]
    events = [dict.fromkeys(keys, ATTACK), *(dict.fromkeys(keys, ATTACK) | lesson for lesson in lessons)]
    lines = [*map(json.dumps, events), "<img src=x>"]
    progress.progress_file().write_text("\n".join(lines), encoding="utf-8")
    assert not {"img", "script"} & set(Tags(progress.read()._repr_html_()).tags)
    folder = home / "<img src=x onerror=alert(1)>"
    (folder / "progress.jsonl").mkdir(parents=True)  # can't be read: a note says so
    monkeypatch.setenv("COURSE_HOME", str(folder))
    assert progress.read().notes and not {"img", "script"} & set(Tags(progress.read()._repr_html_()).tags)


def test_markup_and_pictures():
    assert_shown_as_text(inline_html(ATTACK))
    assert inline_html("`<b>` $x<y$ **<i>**", mathml=False) == (
        "<code>&lt;b&gt;</code> $x&lt;y$ <strong>&lt;i&gt;</strong>"
    )
    assert "\x00" not in inline_html("\x007\x00 and `code`")
    drawn = heatmap([[1.0]], rows=[ATTACK], columns=["b"], title=ATTACK)
    assert set(Tags(drawn.img()).tags) == {"img"}
    assert not {"img", "script"} & set(Tags(drawn.svg).tags)


@pytest.mark.parametrize("text", ["\ud800", "caf\udce9", "\ud83d and \ude00"])
def test_half_a_character_is_recorded_and_read_again(text):
    progress.record({"kind": "explanation", "lesson": "start_here", "name": "why", "text": text})
    progress.progress_file().read_text(encoding="utf-8")  # the file is valid UTF-8
    assert [event["text"] for event in progress.read().events] == [text]
    inline_html(f"**{text}** `{text}` ${text}$")
