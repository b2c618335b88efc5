"""Cards and explorables show themselves with ipywidgets 7 too, and pass on what Colab needs to load them."""

from __future__ import annotations

import anywidget
import ipywidgets
import pytest
from IPython.core.formatters import DisplayFormatter

from course_lib.explore.live_view import WIDGET_VIEW
from course_lib.teaching import estimate, explain, predict, quiz, road_map
from lessons.l00_start_here import SoftmaxDial
from lessons.l08_query_key_value import SoftDictionary

FOR_COLAB = {WIDGET_VIEW: {"colab": {"custom_widget_manager": {"url": "an address"}}}}
SHOWN = {  # with what each of them stores next to the live view
    "quiz": (lambda: quiz("06", "recall"), "text/html"),
    "explanation": (lambda: explain("08", "why-the-order-flips"), "text/html"),
    "prediction": (lambda: predict("00", "times-four", SoftmaxDial()), "text/html"),
    "estimate": (lambda: estimate("06", "diagonal"), "text/html"),
    "explorable": (SoftmaxDial, "image/png"),
    "picture to take hold of": (SoftDictionary, "text/html"),
    "road map": (road_map, "text/markdown"),
}


@pytest.fixture
def ipywidgets_7(monkeypatch):
    """Widgets have a method that displays them, and boxes no bundle. anywidget has one, as in Colab."""
    monkeypatch.delattr(ipywidgets.Widget, "_repr_mimebundle_")
    shown_alone = lambda self: pytest.fail(f"{self} would be stored without text")  # noqa: E731
    monkeypatch.setattr(ipywidgets.Widget, "_ipython_display_", shown_alone, raising=False)
    bundle = anywidget.AnyWidget._repr_mimebundle_
    monkeypatch.setattr(
        anywidget.AnyWidget, "_repr_mimebundle_", lambda self, **options: (bundle(self)[0], dict(FOR_COLAB))
    )


@pytest.mark.parametrize("name", SHOWN)
def test_each_has_a_live_view_and_a_stored_form(ipywidgets_7, name):
    make, stored = SHOWN[name]
    shown = make()
    data, metadata = DisplayFormatter().format(shown)
    assert stored in data and data[WIDGET_VIEW]["model_id"] == getattr(shown, "view", shown).model_id
    if name != "road map":  # it has only widgets that Colab knows
        assert FOR_COLAB.items() <= metadata.items()
