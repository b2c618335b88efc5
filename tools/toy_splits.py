"""The standard splits of the toy language, drawn and stored in data/toy/splits.jsonl.gz.

    python3 -m tools.toy_splits

Run it after a change of the lexicon, the grammar or the generator that changes sentences.
"""

from __future__ import annotations

from course_lib.runtime import PROJECT_ROOT, write_atomically
from course_lib.text.toy import stored
from course_lib.text.toy.splits import SIZES, draw_splits


def content() -> bytes:
    return stored.packed(vars(draw_splits(0, SIZES)))


if __name__ == "__main__":
    write_atomically(PROJECT_ROOT / "data" / "toy" / stored.FILE, content())
