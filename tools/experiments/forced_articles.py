"""The control experiment of lesson 07: dot-product attention with an encoder that starts at the end.

    python3 -m tools.experiments.forced_articles FOLDER

trains `luong_dot` six times, with an encoder in either direction and three random seeds each, exactly as the
experiment `encoder_direction` does, and keeps the systems in the folder. It forces their attention onto "the"
and onto the noun, and counts the correct articles in the 1,000 test sentences. The counts are stored in
`lessons/l07_score_functions/forced_articles.json`; `dot_from_the_end.safetensors` beside it is the first
system "from the end". Systems that are in the folder already are only measured. On an H200, a run takes about
half a minute.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from course_lib.text.toy.splits import TEST_SIZES, splits
from course_lib.training.checkpoint import load_system
from lessons.l07_score_functions.article_counts import DIRECTIONS, STORED, count_forced
from tools.experiments.trained_run import run_trained

COMMAND = "python3 -m tools.experiments.forced_articles FOLDER"
SEEDS = (0, 1, 2)


def main(folder: Path) -> None:
    pairs = splits(seed=0, sizes=TEST_SIZES).test
    runs = []
    for direction in DIRECTIONS:
        for seed in SEEDS:
            path = folder / f"dot_{direction.split()[-1]}_{seed}.safetensors"
            if not path.exists():
                config = {"reverse": direction == "from the end"}
                changes = {"system": "luong_dot", "config": config, "keep": path, "command": COMMAND}
                run_trained(changes, seed=seed)
            saved = load_system(path)
            counts = count_forced(saved.model, saved.tokenizer, pairs)
            runs.append({"direction": direction, "seed": seed, **counts})
            print(runs[-1], flush=True)
    STORED.write_text(json.dumps({"command": COMMAND, "runs": runs}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
