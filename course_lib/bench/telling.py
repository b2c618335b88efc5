"""Telling pairs: short sentences that systems without attention get wrong and the Transformer gets right.

    python3 -m course_lib.bench.telling

Searched for in the results of `experiment toy_ladder`, over all its seeds: seq2seq wrong with every seed, the
Transformer right with every seed. Those that Bahdanau gets right with some seeds and wrong with others come
first, then the shortest. A dozen are kept in `data/toy/telling_pairs.json`, each with its twin: one English
word differs, and il and elle flip.
"""

from __future__ import annotations

import json

from course_lib.runtime import PROJECT_ROOT, data_path, write_json
from course_lib.text.toy.splits import SIZES_OF_TESTS, splits

N = 12
OUT = PROJECT_ROOT / "data" / "toy" / "telling_pairs.json"


def right_by_seed(runs: list[dict]) -> dict[str, list[str]]:
    """For each system and seed: "1" where a sentence of the coreference split came out right, else "0"."""
    found: dict[str, list[str]] = {}
    for run in runs:
        found.setdefault(run["variant"], []).append(run["scores"]["coreference"]["right"])
    return found


def telling(right: dict[str, list[str]]) -> list[tuple[int, int]]:
    """Which sentences tell the systems apart, and with how many seeds Bahdanau has them right.

    >>> telling({"seq2seq": ["010", "000"], "bahdanau": ["101", "011"], "transformer": ["111", "111"]})
    [(0, 1), (2, 2)]
    """
    found = []
    for place in range(len(right["transformer"][0])):
        n_right = {name: sum(signs[place] == "1" for signs in right[name]) for name in right}
        if not n_right["seq2seq"] and n_right["transformer"] == len(right["transformer"]):
            found.append((place, n_right["bahdanau"]))
    return found


def main() -> int:
    kept = json.loads(data_path("results", "toy_ladder.json").read_text(encoding="utf-8"))
    right = right_by_seed(kept["runs"])
    pairs = splits(sizes=SIZES_OF_TESTS).coreference
    all_right = len(right["bahdanau"])
    found = sorted(telling(right), key=lambda one: (one[1] in (0, all_right), pairs[one[0]].length, one[0]))
    write_json(
        OUT,
        [
            {
                "src": pairs[place].src_text,
                "tgt": pairs[place].tgt_text,
                "twin": {"src": pairs[place ^ 1].src_text, "tgt": pairs[place ^ 1].tgt_text},
                "right": {name: sum(one[place] == "1" for one in signs) for name, signs in right.items()},
            }
            for place, _ in found[:N]
        ],
    )
    kept_in = f"{min(N, len(found))} kept in {OUT.name}"
    print(f"{len(found)} of {len(pairs)} sentences tell the systems apart; {kept_in}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
