"""Lesson 17: What it costs."""

from course_lib.lazy import lazy

HOMES = {
    "CostExplorer": "cost_explorer",
    "feature_map": "linear_attention",
    "fraction_correct": "shared_heads",
    "linear_attend": "linear_attention",
}
__all__, __getattr__ = list(HOMES), lazy(__name__, HOMES)
