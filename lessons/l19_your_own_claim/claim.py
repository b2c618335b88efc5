"""A claim about a new rule of grammar, put to the test in a world so small that a run takes seconds.

    >>> mirror(["it", "did", "not", "rain"], ["il", "n'", "a", "pas", "plu"])
    ['plu', 'pas', 'a', "n'", 'il']

    right = run("bahdanau", mirror, seed=0)                 # some seconds: trains, then translates
    by_split(right, mirror)["rule"]                         # percent of the sentences that the rule changes

A rule is a function: it gets the words of a sentence and of its translation, and gives the words of the
translation as the new grammar wants them. A sentence that it gives back as it was is not concerned. Systems
learn the new language from short sentences, and are asked for short ones and for longer ones.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from pathlib import Path
from statistics import mean

import torch

from course_lib.models.registry import build, make_config
from course_lib.models.translator import Translator
from course_lib.results import runs as recorded_runs
from course_lib.runtime import write_json
from course_lib.text.pair import Pair
from course_lib.text.toy.generate import generate
from course_lib.text.word_tokenizer import WordTokenizer
from course_lib.training.corpora import TrainingData, encode_data
from course_lib.training.loop import train
from course_lib.training.recipe import Recipe
from course_lib.translation.pipeline import translate
from lessons.l15_training_a_translator.small_run import in_common_words

Rule = Callable[[list[str], list[str]], list[str]]
Right = dict[str, str]  # for each split a sign for each sentence: "1" where it came out right, else "0"
SeedTable = dict[str, dict[str, list[float]]]  # table[split][system]: a number for each seed
Make = Callable[[int], Translator]  # a system of one's own, for a vocabulary of that size

SHORT, LONG = (3, 8), (9, 12)  # words of the English sentence
N_WORDS, N_TEST, N_VALIDATION = 100, 500, 150
N_STEPS, WIDTH = 600, 48
SPLITS = {  # which sentences, and whether the rule changes them
    "rule": ("test", True),
    "rest": ("test", False),
    "rule, long": ("long", True),
    "rest, long": ("long", False),
}
RECORDS = ("claims", "claims_again")  # in data/results: seeds 0 to 2, and fresh ones
OTHERWISE: dict[str, tuple[str, dict[str, object]]] = {  # systems that are another one with a change
    "no positions": ("transformer", {"positions": "none"})
}


# ---- rules


def mirror(src: list[str], tgt: list[str]) -> list[str]:
    """A sentence with "not" is said backwards."""
    return tgt[::-1] if "not" in src else tgt


def even(src: list[str], tgt: list[str]) -> list[str]:
    """A sentence of an even number of words ends with "voilà"."""
    return [*tgt, "voilà"] if len(src) % 2 == 0 else tgt


def very_last(src: list[str], tgt: list[str]) -> list[str]:
    """The word "très" waits until all is said."""
    return [*(word for word in tgt if word != "très"), *(word for word in tgt if word == "très")]


RULES: dict[str, Rule] = {"mirror": mirror, "even": even, "very last": very_last}


# ---- the small world


@dataclass(frozen=True)
class World:
    """Sentences of a hundred frequent words: short ones to learn from, short and longer ones to be asked."""

    train: tuple[Pair, ...]
    validation: tuple[Pair, ...]
    test: tuple[Pair, ...]
    long: tuple[Pair, ...]


@cache
def small_world() -> World:
    """Always the same sentences; none of them twice, and no word that training never shows."""
    short, longer = generate(12_000, seed=19, length=SHORT), generate(9_000, seed=20, length=LONG)
    kept = in_common_words(short, N_WORDS, short + longer[:3000])
    learned = kept[N_TEST + N_VALIDATION :]
    known = {word for pair in learned for word in (*pair.src, *pair.tgt)}

    def told(pairs: Sequence[Pair]) -> tuple[Pair, ...]:
        found = {pair.src: pair for pair in pairs if known.issuperset((*pair.src, *pair.tgt))}
        return tuple(found.values())

    return World(
        tuple(learned), told(kept[N_TEST : N_TEST + N_VALIDATION]), told(kept[:N_TEST]), told(longer)
    )


def under(rule: Rule | None, pair: Pair) -> list[str]:
    """The translation as the rule wants it."""
    return list(pair.tgt) if rule is None else list(rule(list(pair.src), list(pair.tgt)))


def concerns(rule: Rule, pair: Pair) -> bool:
    """Whether the rule changes this sentence."""
    return under(rule, pair) != list(pair.tgt)


def fingerprint(rule: Rule | None) -> str:
    """The same for two rules that say the same of every sentence of the small world, however written."""
    world = small_world()
    said = [under(rule, pair) for part in vars(world).values() for pair in part]
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()[:16]


def split_sizes(rule: Rule) -> dict[str, int]:
    """How many test sentences the rule changes and leaves alone, short and long.

    >>> split_sizes(mirror)
    {'rule': 50, 'rest': 450, 'rule, long': 134, 'rest, long': 142}
    """
    return {split: len(places) for split, (_, places) in split_places(rule).items()}


def split_places(rule: Rule) -> dict[str, tuple[str, list[int]]]:
    """Which sentences are in a split: of "test" or "long", and their places there."""
    world = small_world()
    changed = {name: [concerns(rule, pair) for pair in getattr(world, name)] for name in ("test", "long")}
    return {
        split: (name, [place for place, one in enumerate(changed[name]) if one == wanted])
        for split, (name, wanted) in SPLITS.items()
    }


def language(rule: Rule | None) -> TrainingData:
    """What a system learns from: the small world, spoken by the rule."""
    world = small_world()

    def texts(pairs: Sequence[Pair]) -> tuple[list[str], list[str]]:
        return [pair.src_text for pair in pairs], [" ".join(under(rule, pair)) for pair in pairs]

    learned = texts(world.train)
    tokenizer = WordTokenizer.from_texts([*learned[0], *learned[1]])
    return encode_data("small world", learned, texts(world.validation), tokenizer)


# ---- runs


def make_system(name: str, vocab_size: int) -> Translator:
    """A translator of the road, small, without dropout: some 100,000 parameters."""
    name, changes = OTHERWISE.get(name, (name, {}))
    config = make_config(name, scale="toy", vocab_size=vocab_size)
    sizes = {"n_layers": 2, "d_model": WIDTH, "n_heads": 4, "d_ff": 2 * WIDTH}
    sizes |= {"embed": WIDTH, "hidden": WIDTH}
    known = {key: value for key, value in sizes.items() if hasattr(config, key)}
    return build(name, replace(config, dropout=0.0, **known, **changes))


def run(system: str | Make, rule: Rule | None = None, *, seed: int, n_steps: int = N_STEPS) -> Right:
    """Train on the language with the rule, and say of every test sentence whether it came out right."""
    data = language(rule)
    torch.manual_seed(seed)
    size = data.tokenizer.vocab_size
    model = make_system(system, size) if isinstance(system, str) else system(size)
    recipe = Recipe(
        n_steps=n_steps,
        tokens_per_batch=256,
        learning_rate=1e-2,
        warm_up=n_steps // 10,
        decay="linear",
        smoothing=0.0,
        seed=seed,
        validate_every=n_steps,
    )
    if train(model, data.train, recipe, validation=data.validation).ended == "stopped":
        raise KeyboardInterrupt  # half a run is no result
    world = small_world()
    return {name: asked(model, data, getattr(world, name), rule) for name in ("test", "long")}


def asked(model: Translator, data: TrainingData, pairs: Sequence[Pair], rule: Rule | None) -> str:
    """A sign for each sentence: was every word right?"""
    said = translate([pair.src_text for pair in pairs], model, data.tokenizer)
    wanted = (" ".join(under(rule, pair)) for pair in pairs)
    return "".join(str(int(one.target == text)) for one, text in zip(said, wanted, strict=True))


def kept_run(system: str | Make, rule: Rule | None, seed: int) -> Right | None:
    """The run of data/results, where there is one."""
    name = next((name for name, known in RULES.items() if known is rule), "no rule" if rule is None else "")
    for one in (one for record in RECORDS for one in recorded_runs(record)):
        if one["variant"] == f"{system}, {name}" and one["seed"] == seed:
            return one["right"]
    return None


def run_file(system: str | Make, rule: Rule | None, seed: int, n_steps: int, folder: Path) -> Path | None:
    """Where a run is kept; nowhere for a system of one's own, which may have changed since."""
    if not isinstance(system, str):
        return None
    key = hashlib.sha256(f"{fingerprint(rule)} {system} {seed} {n_steps}".encode()).hexdigest()[:16]
    return folder / f"{system}_{seed}_{key}.json"


def trial(
    rule: Rule,
    systems: Mapping[str, str | Make],
    *,
    seeds: Sequence[int] = (0, 1, 2),
    n_steps: int = N_STEPS,
    folder: Path | None = None,
    tell: Callable[[str], None] = print,
) -> dict[str, SeedTable]:
    """Every system without the rule and with it: {"without": table, "with": table}.

    Runs of full length that are in data/results are taken from there; the others are made, and kept in
    `folder`, so that whoever stops it goes on where it was.
    """
    found: dict[str, SeedTable] = {}
    for name, spoken in (("without", None), ("with", rule)):
        runs: dict[str, list[Right]] = {label: [] for label in systems}
        for label, seed in product(systems, seeds):
            system = systems[label]
            right = kept_run(system, spoken, seed) if n_steps == N_STEPS else None
            file = run_file(system, spoken, seed, n_steps, folder) if folder else None
            how = "on record" if right else "kept" if file and file.exists() else "a run"
            tell(f"{label}, {name} the rule, seed {seed}: {how}")
            if how == "kept":
                right = json.loads(file.read_text(encoding="utf-8"))
            elif how == "a run":
                right = run(system, spoken, seed=seed, n_steps=n_steps)
                if file:
                    write_json(file, right)
            runs[label].append(right)
        found[name] = table(runs, rule)
    return found


# ---- what came out


def by_split(right: Mapping[str, str], rule: Rule) -> dict[str, float]:
    """Percent right of what the rule changes and of the rest, short and long; a split of nothing is left out.

    Also of a run without the rule: then it is what the system could do with the very same sentences.
    """
    return {
        split: 100 * mean(int(right[name][place]) for place in places)
        for split, (name, places) in split_places(rule).items()
        if places
    }


def by_length(right: Mapping[str, str]) -> dict[int, float]:
    """Percent right of the short test sentences, by the number of English words."""
    found: dict[int, list[int]] = {}
    for sign, pair in zip(right["test"], small_world().test, strict=True):
        found.setdefault(len(pair.src), []).append(int(sign))
    return {length: 100 * mean(signs) for length, signs in sorted(found.items())}


def table(runs: Mapping[str, Sequence[Right]], rule: Rule) -> SeedTable:
    """`table[split][system]`: percent right, one number for each seed."""
    scored = {system: [by_split(right, rule) for right in seeds] for system, seeds in runs.items()}
    first = next(iter(scored.values()))[0]
    return {split: {name: [one[split] for one in seeds] for name, seeds in scored.items()} for split in first}


def lost(tables: Mapping[str, SeedTable], split: str, system: str) -> list[float]:
    """Points that the rule costs a system on a split, for each seed: from its mean without the rule."""
    before = mean(tables["without"][split][system])
    return [before - now for now in tables["with"][split][system]]
