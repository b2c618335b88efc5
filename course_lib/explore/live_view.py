"""How widgets show themselves in a notebook, with ipywidgets 7 (in Colab) and 8."""

from __future__ import annotations

from typing import Any

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"


def live_view(widget: Any) -> dict[str, dict[str, Any]]:
    """The MIME bundle by which a page finds the widget. ipywidgets 8 makes one too; version 7 doesn't."""
    return {WIDGET_VIEW: {"version_major": 2, "version_minor": 0, "model_id": widget.model_id}}
