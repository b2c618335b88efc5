"""Explorables: pictures that answer to a learner's hand."""

from course_lib.explore.attention_stepper import AttentionStepper
from course_lib.explore.base import Explorable
from course_lib.explore.beam_tree import BeamTree
from course_lib.explore.clock_hands import ClockHands
from course_lib.explore.close_a_word import CloseAWord
from course_lib.explore.cost_explorer import CostExplorer
from course_lib.explore.gate_mixer import GateMixer
from course_lib.explore.gradient_telephone import GradientTelephone
from course_lib.explore.head_count import HeadCount
from course_lib.explore.head_switches import HeadSwitches
from course_lib.explore.leaderboard import Leaderboard
from course_lib.explore.live_translator import LiveTranslator
from course_lib.explore.loss_floor import LossFloor
from course_lib.explore.mask_painter import MaskPainter
from course_lib.explore.one_vector_suitcase import OneVectorSuitcase
from course_lib.explore.parameter_ledger import ParameterLedger
from course_lib.explore.path_past import PathPast
from course_lib.explore.path_race import PathRace
from course_lib.explore.rate_dial import RateDial
from course_lib.explore.saturation_lab import SaturationLab
from course_lib.explore.score_zoo import ScoreZoo
from course_lib.explore.soft_dictionary import SoftDictionary
from course_lib.explore.softmax_dial import SoftmaxDial
from course_lib.explore.three_uses import ThreeUses
from course_lib.explore.which_mean import WhichMean
from course_lib.explore.who_attends import WhoAttends
from course_lib.explore.window_lab import WindowLab
from course_lib.explore.word_by_word import WordByWord

__all__ = [
    "AttentionStepper",
    "BeamTree",
    "ClockHands",
    "CloseAWord",
    "CostExplorer",
    "Explorable",
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
