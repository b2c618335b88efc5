"""Telling pairs: short sentences that systems without attention get wrong and the Transformer gets right.

    python3 -m tools.experiments.telling_pairs

Searched for in the results of `experiment toy_ladder`, over all its seeds: seq2seq wrong with every seed, the
Transformer right with every seed. Those that Bahdanau gets right with some seeds and wrong with others come
first, then the shortest. A dozen are kept in `data/toy/telling_pairs.json`, each with its twin: one English
word differs, and il and elle flip.
"""

from __future__ import annotations

from course_lib.results import runs
from course_lib.runtime import data_path, write_json
from course_lib.text.toy.splits import SIZES_OF_TESTS, splits

N = 12


def telling(right: dict[str, list[str]]) -> dict[int, dict[str, int]]:
    """Which sentences tell the systems apart, and with how many seeds each system has them right.

    `right` has for each system and seed "1" where a sentence came out right, else "0".

    >>> telling({"seq2seq": ["010", "000"], "bahdanau": ["101", "011"], "transformer": ["111", "111"]})[2]
    {'seq2seq': 0, 'bahdanau': 2, 'transformer': 2}
    """
    found = {}
    for place in range(len(right["transformer"][0])):
        n_right = {name: sum(signs[place] == "1" for signs in each) for name, each in right.items()}
        if not n_right["seq2seq"] and n_right["transformer"] == len(right["transformer"]):
            found[place] = n_right
    return found


def telling_pairs() -> list[dict]:
    """The dozen of the coreference split, each with its twin."""
    right: dict[str, list[str]] = {}
    for run in runs("toy_ladder"):
        right.setdefault(run["variant"], []).append(run["scores"]["coreference"]["right"])
    found, pairs = telling(right), splits(sizes=SIZES_OF_TESTS).coreference

    def worth(place: int) -> tuple:
        return found[place]["bahdanau"] in (0, len(right["bahdanau"])), pairs[place].length, place

    return [
        {
            "src": pairs[place].src_text,
            "tgt": pairs[place].tgt_text,
            "twin": {"src": pairs[place ^ 1].src_text, "tgt": pairs[place ^ 1].tgt_text},
            "right": found[place],
        }
        for place in sorted(found, key=worth)[:N]
    ]


if __name__ == "__main__":
    write_json(data_path("toy", "telling_pairs.json"), telling_pairs())
