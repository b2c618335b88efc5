"""Explorables: pictures that answer to a learner's hand."""

from course_lib.explore.base import Explorable
from course_lib.explore.gate_mixer import GateMixer
from course_lib.explore.saturation_lab import SaturationLab
from course_lib.explore.soft_dictionary import SoftDictionary
from course_lib.explore.softmax_dial import SoftmaxDial
from course_lib.explore.who_attends import WhoAttends

__all__ = ["Explorable", "GateMixer", "SaturationLab", "SoftDictionary", "SoftmaxDial", "WhoAttends"]
