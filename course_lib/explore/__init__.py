"""Explorables: pictures that answer to a learner's hand, each in the file of its name.

    >>> from course_lib.explore import MaskPainter      # of mask_painter.py

What they are made of:

    base.py             what all of them are: controls, facts, panels, goals
    control.py          what a learner may turn
    moving.py           a figure of which only what moves is painted again
    picture.py          the same on the page
    museum.py           what was measured of every system, for the leaderboard and lesson 18
    pronoun.py          which pronoun the Transformer says with words masked, for CloseAWord and lesson 09
    typed_sentence.py   any sentence, translated with everything open to view, for the live translator
"""

import re
from importlib import import_module

__all__ = [
    "AttentionStepper",
    "BeamTree",
    "ClockHands",
    "CloseAWord",
    "CostExplorer",
    "GateMixer",
    "GradientTelephone",
    "HeadCount",
    "HeadSwitches",
    "Leaderboard",
    "LiveTranslator",
    "LossFloor",
    "MaskPainter",
    "OneVectorSuitcase",
    "ParameterLedger",
    "PathPast",
    "PathRace",
    "RateDial",
    "SaturationLab",
    "ScoreZoo",
    "SoftDictionary",
    "SoftmaxDial",
    "ThreeUses",
    "WhichMean",
    "WhoAttends",
    "WindowLab",
    "WordByWord",
]


def __getattr__(name: str):
    """Loaded when a lesson asks for it: all of them together take seconds."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    file = re.sub("(?<!^)(?=[A-Z])", "_", name).lower()
    return getattr(import_module(f"{__name__}.{file}"), name)


def __dir__() -> list[str]:
    return __all__
