"""All test sentences of 16 to 20 words: how many of them does a system translate without a mistake?

>>> len(long_pairs())
248
>>> picture_of({"seq2seq": [True, False, True]})
Picture('seq2seq has translated 3 of 248 sentences: 2 right, 1 wrong.')
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache

from IPython.display import display

from course_lib.runtime import switched_on
from course_lib.text.pair import Pair
from course_lib.text.toy.splits import TEST_SIZES, splits
from course_lib.translation.pipeline import translate
from course_lib.translation.shipped import Shipped, shared
from course_lib.views.picture import WIDTH, Picture
from course_lib.views.svg import dot, group, word
from lessons.l00_start_here.four_translators import recorded_runs

LENGTHS = range(16, 21)
AT_ONCE = 4  # sentences in a batch: few, so that one sees the dots come
ROW, STEP, LEFT, TOP = 42, 17.2, 26, 54  # dots in a row; pixels
COUNTED = ("seq2seq", "transformer")  # the first is estimated, and the other one follows
Measure = Callable[[list[str], list[str]], float]


@cache
def long_pairs() -> tuple[Pair, ...]:
    """The test sentences of these lengths, with their translations. No system has seen them in training."""
    return tuple(pair for pair in splits(seed=0, sizes=TEST_SIZES).test if len(pair.src) in LENGTHS)


def picture_of(right: Mapping[str, Sequence[bool]]) -> Picture:
    """For each system a dot for each sentence: right, wrong, or not yet translated."""
    n, top, parts, said = len(long_pairs()), TOP, [], []
    for name, judged in right.items():
        done, n_right = len(judged), sum(judged)
        said.append(f"{name} has translated {done} of {n} sentences")
        said[-1] += f": {n_right} right, {done - n_right} wrong" if done else ""
        parts.append(word(LEFT - 6, top - 26, said[-1], 15, anchor="start", bold=True))
        for i in range(n):
            fill = "paper" if i >= done else "calm" if judged[i] else "accent"
            x, y = LEFT + STEP * (i % ROW), top - 6 + STEP * (i // ROW)
            parts.append(dot(x, y, 6, fill, "calm" if fill == "paper" else fill))
        top += STEP * -(-n // ROW) + 44
    key = "A dot is a sentence of 16 to 20 words: grey if its translation is right, coloured if it's wrong."
    parts.append(word(LEFT - 6, top - 34, key, 12, "soft", "start"))
    if any(len(judged) < n for judged in right.values()):
        return Picture(WIDTH, top - 18, *parts, alt=f"{'; '.join(said)}.")
    others = recorded_runs("long sentences", "Right translations: three runs of each system")
    below = group(others.body, transform=f"translate({LEFT - 22} {top - 14})")
    return Picture(WIDTH, top - 14 + others.height, *parts, below, alt=f"{'; '.join(said)}. {others.alt}")


def in_batches(system: Shipped) -> Iterator[list[str]]:
    """The translations so far, after each batch."""
    texts, done = [pair.src_text for pair in long_pairs()], []
    for first in range(0, len(texts), AT_ONCE):
        batch = translate(texts[first : first + AT_ONCE], system.model, system.tokenizer)
        done = [*done, *(translation.target for translation in batch)]
        yield done


def count_live(exact_match: Measure) -> Callable[[], float]:
    """Show a dot for each sentence. What is returned fills them in, and returns the first percentage."""
    right: dict[str, list[bool]] = {name: [] for name in COUNTED}
    shown = display(picture_of(right), display_id=True)
    references = [pair.tgt_text for pair in long_pairs()]

    def count() -> float:
        found = {}
        for name in COUNTED:
            for done in in_batches(shared(name)):
                found[name] = done
                pairs = zip(done, references, strict=False)  # as many as there are so far
                right[name] = [exact_match([one], [other]) == 1 for one, other in pairs]
                if shown and not switched_on("COURSE_STILLS"):
                    shown.update(picture_of(right))
        if shown:
            shown.update(picture_of(right))
        return 100 * float(exact_match(found[COUNTED[0]], references))

    return count
