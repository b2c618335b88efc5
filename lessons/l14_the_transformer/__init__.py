"""Lesson 14: The full Transformer."""

from course_lib.lazy import lazy

HOMES = {
    "ParameterLedger": "parameter_ledger",
    "ThreeUses": "three_uses",
}
__all__, __getattr__ = list(HOMES), lazy(__name__, HOMES)
