"""Explorables: pictures that answer to a learner's hand."""

from course_lib.explore.attention_stepper import AttentionStepper
from course_lib.explore.base import Explorable
from course_lib.explore.close_a_word import CloseAWord
from course_lib.explore.gate_mixer import GateMixer
from course_lib.explore.gradient_telephone import GradientTelephone
from course_lib.explore.mask_painter import MaskPainter
from course_lib.explore.one_vector_suitcase import OneVectorSuitcase
from course_lib.explore.path_race import PathRace
from course_lib.explore.saturation_lab import SaturationLab
from course_lib.explore.soft_dictionary import SoftDictionary
from course_lib.explore.softmax_dial import SoftmaxDial
from course_lib.explore.who_attends import WhoAttends
from course_lib.explore.word_by_word import WordByWord

__all__ = [
    "AttentionStepper",
    "CloseAWord",
    "Explorable",
    "GateMixer",
    "GradientTelephone",
    "MaskPainter",
    "OneVectorSuitcase",
    "PathRace",
    "SaturationLab",
    "SoftDictionary",
    "SoftmaxDial",
    "WhoAttends",
    "WordByWord",
]
