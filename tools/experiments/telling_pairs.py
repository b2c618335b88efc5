"""Telling pairs: short sentences that systems without attention get wrong and the Transformer gets right.

    python3 -m tools.experiments.telling_pairs

They come from the results of `experiment toy_ladder`: seq2seq is wrong and the Transformer right with every
seed. Those that Bahdanau gets right with only some seeds come first, then the shortest. A dozen are stored in
`data/toy/telling_pairs.json`, each with its twin, in which one English word differs and il becomes elle or
the reverse. Pairs in which an English reader may take *it* for the weather are left out.
"""

from __future__ import annotations

from course_lib.results import runs
from course_lib.runtime import data_path, write_json
from course_lib.text.toy.sense import could_mean_the_weather
from course_lib.text.toy.splits import TEST_SIZES, splits

N_PAIRS = 12


def telling(right: dict[str, list[str]]) -> dict[int, dict[str, int]]:
    """Which sentences distinguish the systems, and with how many seeds each system gets them right.

    `right` has a string for each system and seed, with "1" for a right sentence and "0" for a wrong one.

    >>> telling({"seq2seq": ["010", "000"], "bahdanau": ["101", "011"], "transformer": ["111", "111"]})[2]
    {'seq2seq': 0, 'bahdanau': 2, 'transformer': 2}
    """
    counts = {}
    for index in range(len(right["transformer"][0])):
        n_right = {name: sum(digits[index] == "1" for digits in seeds) for name, seeds in right.items()}
        if not n_right["seq2seq"] and n_right["transformer"] == len(right["transformer"]):
            counts[index] = n_right
    return counts


def telling_pairs() -> list[dict]:
    """The dozen pairs of the coreference split, each with its twin."""
    right: dict[str, list[str]] = {}
    for run in runs("toy_ladder"):
        right.setdefault(run["variant"], []).append(run["scores"]["coreference"]["right"])
    pairs = splits(sizes=TEST_SIZES).coreference
    counts = {
        index: n_right
        for index, n_right in telling(right).items()
        if not any(could_mean_the_weather(pairs[either]) for either in (index, index ^ 1))
    }

    def rank(index: int) -> tuple:
        return counts[index]["bahdanau"] in (0, len(right["bahdanau"])), pairs[index].length, index

    return [
        {
            "src": pairs[index].src_text,
            "tgt": pairs[index].tgt_text,
            "twin": {"src": pairs[index ^ 1].src_text, "tgt": pairs[index ^ 1].tgt_text},
            "right": counts[index],
        }
        for index in sorted(counts, key=rank)[:N_PAIRS]
    ]


if __name__ == "__main__":
    write_json(data_path("toy", "telling_pairs.json"), telling_pairs())
