"""The control experiment: dot-product attention with an encoder that processes the source from its end.

    python3 -m lessons.l07_score_functions.retrain FOLDER

trains `luong_dot` six times, with an encoder in either direction and three random seeds each, as the
experiment `encoder_direction` does. It keeps the systems in the folder, forces their attention onto "the" and
onto the noun, and counts the correct articles in the 1,000 test sentences. The counts are stored in
`forced_articles.json`; `dot_from_the_end.safetensors` is the first system "from the end". Systems that are
in the folder already are only measured. On an H200, a run takes about half a minute.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from course_lib.text.toy.splits import TEST_SIZES, splits
from course_lib.training.checkpoint import load_system
from lessons.l07_score_functions.article_counts import count_forced

COMMAND = "python3 -m lessons.l07_score_functions.retrain FOLDER"
STORED = Path(__file__).with_name("forced_articles.json")
DIRECTIONS: dict[str, dict[str, Any]] = {"from the start": {}, "from the end": {"reverse": True}}
SEEDS = (0, 1, 2)


def main(folder: Path) -> None:
    pairs = splits(seed=0, sizes=TEST_SIZES).test
    runs = []
    for direction, config in DIRECTIONS.items():
        for seed in SEEDS:
            path = folder / f"dot_{direction.split()[-1]}_{seed}.safetensors"
            if not path.exists():
                train(path, config, seed)
            saved = load_system(path)
            counts = count_forced(saved.model, saved.tokenizer, pairs)
            runs.append({"direction": direction, "seed": seed, **counts})
            print(runs[-1], flush=True)
    STORED.write_text(json.dumps({"command": COMMAND, "runs": runs}, indent=1) + "\n", encoding="utf-8")


def train(path: Path, config: dict[str, Any], seed: int) -> None:
    from tools.experiments.trained_run import run_trained  # here, because it imports most of the course

    run_trained({"system": "luong_dot", "config": config, "keep": path, "command": COMMAND}, seed=seed)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
