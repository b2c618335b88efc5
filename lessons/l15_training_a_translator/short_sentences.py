"""The corpora of lesson 15: short sentences for the small run, and the whole toy language for the full run.

data = short_data()                                     # 3 to 6 English words, of the 80 most frequent ones
len(data.train), len(data.validation)                   # 3000, 200
data = full_data()                                      # all 20,000 sentences, up to 20 words
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cache

from course_lib.text.pair import Pair
from course_lib.text.toy.generate import generate
from course_lib.text.toy.splits import SIZES, splits
from course_lib.text.word_tokenizer import WordTokenizer
from course_lib.training.data import TrainingData, encode_data, sides

N_WORDS, LONGEST = 80, 6  # of the English vocabulary; of an English sentence
N_DRAWN, N_TRAIN, N_VALIDATION = 16_000, 3000, 200


def with_frequent_words(pairs: Iterable[Pair], n_words: int, counted: Iterable[Pair]) -> list[Pair]:
    """The pairs, without repeats, whose English words are all among the most frequent ones in `counted`."""
    counts = Counter(word for pair in counted for word in pair.src)
    frequent = {word for word, _ in counts.most_common(n_words)}
    return list({pair.src: pair for pair in pairs if frequent.issuperset(pair.src)}.values())


@cache  # several runs in one session are trained on them
def short_pairs(*, seed: int = 0) -> tuple[Pair, ...]:
    """Short toy sentences, without repeats, made of the most frequent words."""
    drawn = {pair.src: pair for pair in generate(N_DRAWN, seed=seed, length=(3, LONGEST))}.values()
    return tuple(with_frequent_words(drawn, N_WORDS, drawn))


def short_data(*, seed: int = 0, n_train: int = N_TRAIN) -> TrainingData:
    """The first pairs for validation, `n_train` others for training; the vocabulary doesn't depend on it."""
    pairs = short_pairs(seed=seed)[: N_VALIDATION + N_TRAIN]
    both = sides(pairs)
    tokenizer = WordTokenizer.from_texts(both[0] + both[1])
    parts = slice(N_VALIDATION, N_VALIDATION + n_train), slice(N_VALIDATION)
    train, validation = (tuple(side[part] for side in both) for part in parts)
    return encode_data(f"short-{seed}-{n_train}", train, validation, tokenizer)


def full_data() -> TrainingData:
    """All training sentences of the toy language, but few for validation, which is done often."""
    toy = splits(seed=0, sizes=SIZES)
    train, validation = sides(toy.train), sides(toy.validation[:N_VALIDATION])
    return encode_data("toy", train, validation, WordTokenizer.from_texts([*train[0], *train[1]]))
