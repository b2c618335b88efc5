"""A still picture: bytes, words and sizes that a notebook can store."""

from __future__ import annotations

import base64
import io

import pytest
from matplotlib import pyplot
from PIL import Image

from course_lib import theme
from course_lib.views import still
from course_lib.views.fit import MARGIN, fit
from course_lib.views.still import Still


def drawing():
    figure = theme.figure(3, 2)
    figure.subplots().plot([1, 2, 3])
    return figure


def test_the_bundle_holds_picture_words_and_size():
    data, metadata = Still(drawing(), alt="A line that rises.")._repr_mimebundle_()
    assert set(data) == {"image/png", "text/plain"}
    assert data["text/plain"] == "A line that rises."
    assert metadata == {"image/png": {"width": 240, "height": 160, "alt": "A line that rises."}}
    image = Image.open(io.BytesIO(base64.b64decode(data["image/png"])))
    assert image.size == (480, 320)  # twice what is shown


def test_a_width_scales_the_height_too():
    picture = Still(drawing(), alt="x", width=120)
    assert (picture.width, picture.height) == (120, 80)


def test_the_same_drawing_gives_the_same_bytes():
    assert still.png(drawing()) == still.png(drawing())


def test_repr_has_no_address():
    assert repr(Still(drawing(), alt="A line.")) == "Still('A line.')"


def test_pyplot_knows_nothing_of_it():
    Still(drawing(), alt="x")
    assert pyplot.get_fignums() == []


@pytest.mark.parametrize("title", ["", "A title much longer than the axes below it are wide, by far"])
def test_fit_grows_the_figure_around_the_labels(title):
    axes = theme.figure(1, 1).subplots()
    axes.set_title(title)
    axes.set_ylabel("a long label of the upright axis")
    fit(axes, width=2.0, height=1.0)
    figure = axes.figure
    box = axes.get_tightbbox(figure.canvas.get_renderer())
    width, height = figure.get_size_inches() * figure.dpi
    margin = MARGIN * figure.dpi
    assert [box.x0, box.y0, width - box.x1, height - box.y1] == pytest.approx([margin] * 4, abs=2)
    assert axes.get_position().width * figure.get_figwidth() == pytest.approx(2.0)
    assert axes.get_position().height * figure.get_figheight() == pytest.approx(1.0)
