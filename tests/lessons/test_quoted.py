"""Every mean that a lesson quotes from data/results, and every number that it quotes from its own cells.

A row of means: the lesson, the experiment, the way to the number in a run, how it is printed, what is told of
each variant (the mean over its seeds), and the sentences that tell it. The commands are in the README there.
A row of what is printed: the lines, which nbval runs again and compares, and the sentences that quote them.
"""

from __future__ import annotations

from statistics import mean

import pytest

from tests.lessons.told import Told, seeds

PERPLEXITY = ("scores", "test", "perplexity")
PRONOUNS = ("scores", "coreference", "pronouns")
LINKS = ("scores", "test", "alignment_error")
TEST = ("scores", "test", "exact")
GREEDY, BEAM = ("scores", "test", "greedy"), ("scores", "test", "beam")


def words(group: str, split: str = "long") -> tuple[str, ...]:
    return ("scores", split, "by_length", group, "exact")


OLD, NEW, FAR = words("16–20", "test"), words("21–30"), words("31–40")
LM, LADDER = "toy_language_models", "toy_ladder"

TOLD = {
    "many_heads": [("heads", TEST, ".1%", {"1": "96.7%"}, "96.7% with one head, 97.8 to 98.5%")],
    "the_block": [
        (
            *("block", TEST, ".1%"),
            {"RMSNorm": "98.0%", "SwiGLU": "98.2%", "as it is": "98.5%", "no norm": "97.8%"},
            *("98.0 and 98.2% against 98.5", "97.8%"),
        ),
        ("block", TEST, ".0%", {"no residual path": "0%"}),
        (
            *("block", ("likeness", -1), ".2f"),
            {"no residual path": "1.00", "as it is": "0.02", "no norm": "0.11"},
        ),
        ("block_causes", TEST, ".1%", {"attention only, 7 layers": "98.2%"}),
    ],
    "training_a_translator": [
        (
            *("recipe", TEST, ".1%"),
            {"as it is": "98.4%", "no warm-up": "97.7%", "no smoothing": "98.7%", "no dropout": "98.8%"},
            *("98.4% and 98.7% right", "without it 98.8%"),
        ),
        (
            *("recipe", ("history", -1, "loss"), ".3f", {"no dropout": "0.115", "as it is": "0.074"}),
            "0.115 against 0.074",
        ),
        ("recipe", ("history", -1, "train_loss"), ".2f", {"as it is": "1.03", "no smoothing": "0.01"}),
        (
            *("warm_up", TEST, ".1%", {"post-norm": "98.1%", "post-norm, no warm-up": "94.3%"}),
            "94.3% in place of 98.1%",
        ),
        (LADDER, TEST, ".1%", {"seq2seq": "66.4%", "bahdanau": "97.7%", "transformer": "98.5%"}),
        (LADDER, OLD, ".1%", {"seq2seq": "21.5%", "bahdanau": "95.4%", "transformer": "97.2%"}),
        (
            *(LADDER, ("scores", "long", "exact"), ".1%"),
            {"seq2seq": "0.2%", "bahdanau": "58.7%", "transformer": "11.5%"},
            *("| 66.4% | 21.5% | 0.2% |", "| 97.7% | 95.4% | **58.7%** |", "| 98.5% | 97.2% | 11.5% |"),
        ),
        (
            *(LADDER, ("history", -1, "loss"), ".3f"),
            {"seq2seq": "0.314", "bahdanau": "0.095", "transformer": "0.074"},
            *("2014 | 0.314 |", "2015 | 0.095 |", "2017 | **0.074** |"),
        ),
        (
            *("multi30k_ladder", GREEDY, ".1f"),
            {"transformer": "41.3", "bahdanau": "40.6", "seq2seq": "30.4"},
            "it is 41.3, with Bahdanau at 40.6 and seq2seq at 30.4",
        ),
    ],
}


@pytest.mark.parametrize("topic", TOLD)
def test_means_are_as_told(topic):
    lesson = Told(topic)
    for experiment, path, form, told, *texts in TOLD[topic]:
        found = {variant: f"{mean(seeds(experiment, variant, *path)):{form}}" for variant in told}
        assert found == told, experiment
        lesson.says(*texts)


PRINTED = {
    "many_heads": [
        (["without encoder 2.1: 100% right", "without cross 1.3: 53% right without decoder 2.1: 48% right"],),
        (["encoder 1: 0.0 one by one, 0.0 together", "decoder 0: 0.0 one by one, 0.9 together"],),
        (["cross 0: 0.2 one by one, 2.4 together"],),
    ],
    "the_block": [
        (["pre-norm: likeness 0.42 after 3, 0.63 after 6, 0.79 after 12", "1.00 after 12"],),
        (["healthy: 392,360 parameters, exact 99, 98, 99%, likeness 0.02", "exact 95, 19, 83%"],),
        (["exact 94, 95, 94%, likeness 0.05", "exact 95, 95, 97%"],),
    ],
    "the_transformer": [
        (["C: first at 'source words', by 3; right 0 of 40"], "C lets the words in without the root"),
        (["well: nowhere; right 39 of 40", "right 34 of 40", "right 5 of 40", "by 0.7; right 39 of 40"],),
        (["E: first at 'target words', by 7; right 0 of 40 l' eau a bu"], "E begins with EOS"),
        (["encoder 0 (3, 10, 64) 1.7 on encoder 1 (3, 10, 64) 2.3 on encoder 2 (3, 10, 64) 2.8 on memory"],),
        (["decoder 2 (3, 12, 64) 12.0 on last norm (3, 12, 64) 1.2 on"],),
        (["six blocks on each side 44,138,496", "63,082,496", "44,140,544"], "2,048"),
        (["The young queen sees three old horses near the bridge. → la jeune reine voit trois vieux"],),
        (["right word for word: 29"],),
    ],
    "training_a_translator": [
        (
            [
                "as they come: 75 batches, 42.4% of the",
                "by length: 41 batches, 1.5% of the places are padding",
            ],
            *("**75 batches become 41**", "padding becomes 1.5%"),
        ),
        (["parce, met 572 times: ▁parce femme, met 139 times: ▁f e m me princes, met 0 times"],),
    ],
    "your_own_claim": [
        (
            [
                "rule 50 transformer 89.3 without, lost [23.3, 17.3, 21.3]",
                "gap 8.7 to 16.7, predicted 10: open",
            ],
        ),
        (["bahdanau 86.7 without, lost [6.7, 8.7, 6.7]"], "the closest one is 8.7 apart"),
        (["rest 450 transformer 97.0 without, lost [0.7, 0.5, 3.4]"], "held on *rest* (at most 3.4)"),
        (["rest, long 142 transformer 13.1 without, lost [4.0, 2.6, 6.1]"], "up to 6.1 of 13"),
        (["rule 234 no positions 87.0 without, lost [2.4, 4.6, 9.3]", "lost [7.4, 4.0, 17.2]"],),
        (["rest 266 no positions 89.2 without, lost [8.4, 9.9, 8.8]", "lost [16.8, 16.0, 20.6]"],),
        (["gap -14.8 to 5.3, predicted 20: failed"],),
        (
            ["rest 266 transformer 97.5 without, lost [14.8, 20.1, 13.7]"],
            "A 14.8, 20.1, 13.7, B 11.3, 14.7, 11.3",
        ),
        (["all seeds: 3 of 16 hold chosen seeds: 8 of 16 hold"], "Three, and eight."),
    ],
}


@pytest.mark.parametrize("topic", PRINTED)
def test_what_is_printed_is_what_is_told(topic):
    lesson = Told(topic)
    for lines, *texts in PRINTED[topic]:
        lesson.prints(*lines)
        lesson.says(*texts)
