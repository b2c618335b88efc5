"""One sentence that grows, four trained translators, and how each gets from the English to the French words.

    >>> facts = compute(clauses=3, system="seq2seq")
    >>> facts["mistakes"]
    {'rnn_encoder_decoder': 0, 'seq2seq': 7, 'bahdanau': 0, 'transformer': 0}

The sentence is selected, and no evidence: of 400,000 sentences of 16 to 20 words that the grammar drew, 1,060
grow by a clause three times. In 60 of them, no stage was seen in training, both systems with attention are
right throughout, the others break after different clauses and stay wrong, and all of it fits on one line.
This one was picked by hand from the 60. How often the systems fail, `toy_ladder` says; the lesson quotes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from itertools import product

import numpy as np
import torch

from course_lib.explore.base import Choice, Explorable, Facts, Integer
from course_lib.models.inference import eval_mode
from course_lib.text.batch import make_batch
from course_lib.text.pair import Pair
from course_lib.text.toy.lexicon import lexicon
from course_lib.text.toy.realisation import realise
from course_lib.text.toy.tree import Clause, Phrase, Pronoun
from course_lib.translation.shipped import shared
from course_lib.views.cells import cells
from course_lib.views.svg import belongs, bend, box, choice, group, note, path, width_of, word
from course_lib.views.words import BLANK, links, mistakes, spread, text_rows, verdict, with_blanks, word_row

SYSTEMS = {
    "rnn_encoder_decoder": "one vector",
    "seq2seq": "one vector",
    "bahdanau": "attention",
    "transformer": "attention",
}
SHUFFLED = ("bahdanau", "seq2seq", "transformer", "rnn_encoder_decoder")  # translator 1, 2, … before the bet
LINES = {
    "bahdanau": "The lines are its attention weights from 0.02 on: the thicker, the larger.",
    "transformer": "The lines are its last layer's attention weights from 0.02 on, averaged over 4 heads.",
}
VECTORS = {
    "rnn_encoder_decoder": "The decoder reads the vector again at every word.",
    "seq2seq": "The decoder reads the vector once, at the start. Then each word leads to the next.",
}
IN_ENGLISH = {  # of the translations that are wrong
    ("seq2seq", 3): "the tired man sleeps and the kitchen that is dirty opens the box and a cat",
    ("seq2seq", 4): "… and the kitchen that is dirty opens the little carrot because it is very hungry",
    ("rnn_encoder_decoder", 4): "… but the cow eats this bean because it is very hungry",
}
N_CLAUSES = 4
END = "(end)"  # the end-of-sentence token
SIZE, LEFT, RIGHT, FRENCH_GAP = 12, 12, 748, 9
ENGLISH, TOP, BOTTOM, FRENCH = 66, 74, 178, 194  # heights: words, and the ends of the lines between them
CELL, N_CELLS = 11, 40  # of the vector's strip
TABLE, ROW, NAMES, WORDS = 236, 42, 22, 178


@cache
def growing() -> tuple[Pair, ...]:
    """The sentence after each clause, and its translation by the grammar."""
    words = lexicon()
    man, kitchen, cow, bean = (Phrase(words.noun(name)) for name in ("man", "kitchen", "cow", "bean"))
    man.after, cow.determiner = words.quality("tired", man.noun), "this"
    clauses = [
        Clause(man, words.verb("sleep")),
        Clause(kitchen, quality=words.quality("dirty", kitchen.noun), joined_by="and"),
        Clause(cow, words.verb("eat"), bean, joined_by="but"),
    ]
    shorter = [realise(clauses[:n]) for n in (1, 2, 3)]
    clauses[2].because = Clause(Pronoun.of(cow), quality=words.quality("hungry", cow.noun), very=True)
    return (*shorter, realise(clauses))


@cache
def translate(system: str, clauses: int) -> tuple[tuple[str, ...], np.ndarray]:
    """The French words, and what led to them: attention weights (French, English and the end) or the vector.

    The weights are those of the last layer, averaged over its heads; Bahdanau's system has one of each.
    """
    shipped, text = shared(system), growing()[clauses - 1].src_text
    found = shipped(text, with_weights=True)
    words = found.target_tokens[:-1]
    if found.weights is not None:
        return words, found.weights[-1].mean(dim=0)[: len(words)].numpy()
    batch = make_batch([shipped.tokenizer.encode(text)], [[]])
    with eval_mode(shipped.model), torch.inference_mode():
        memory = shipped.model.encode(batch.src, batch.src_lengths)
    return words, torch.cat([part.flatten() for part in memory.values()]).numpy()


@cache
def first_mistakes() -> dict[str, int]:
    """After how many clauses a system makes its first mistake; those that make none are left out."""
    found = {}
    for (n, pair), name in product(enumerate(growing(), start=1), SYSTEMS):
        if translate(name, n)[0] != pair.tgt:
            found.setdefault(name, n)
    return found


def compute(*, clauses: int, system: str) -> Facts:
    pair, found = growing()[clauses - 1], {name: translate(name, clauses)[0] for name in SYSTEMS}
    marks = {name: mistakes(words, pair.tgt) for name, words in found.items()}
    target, evidence = translate(system, clauses)
    return {
        "source": pair.src,
        "target": target,
        "translations": found,
        "marks": marks,
        "mistakes": {name: len(wrong) + sum(missing.values()) for name, (wrong, missing) in marks.items()},
        "first_mistakes": first_mistakes(),
        "weights": evidence if system in LINES else None,
        "vector": None if system in LINES else evidence,
    }


def english_places(n: int) -> list[float]:
    """The words have fixed places, so that nothing jumps when a clause is added; the end follows the nth."""
    places = spread(whole := [*growing()[-1].src, END], LEFT, RIGHT, SIZE)
    return [*places[:n], places[n] + (width_of(END, SIZE) - width_of(whole[n], SIZE)) / 2]


def draw_bridge(facts: Facts, english: Sequence[float], french: Sequence[float]) -> Iterable[str]:
    """What connects both languages: attention, or a vector, through which everything passes."""
    if facts["weights"] is not None:
        texts, ends = (facts["target"], [*facts["source"], END]), (BOTTOM, TOP)
        drawn = links(facts["weights"], french, english, ends, names=("french", "english"), words=texts)
        yield group(drawn, data_key="attention")
        return
    vector, middle, y, drawn = facts["vector"], (LEFT + RIGHT) / 2, (TOP + BOTTOM) / 2, ""
    once = facts["system"] == "seq2seq"  # its vector is only the decoder's first state
    for side, places, end, strip in (("english", english, TOP, y - 12), ("french", french, BOTTOM, y + 12)):
        for i, x in enumerate(places):
            own = belongs(f"{side}-{i}") | {"class_": "link", "data_key": f"{side}-{i}"}
            if once and side == "french" and i:
                middle_way = f"{(places[i - 1] + x) / 2:.1f} {end - 14}"
                hop = f"M{places[i - 1] + 3:.1f} {end}Q{middle_way} {x - 3:.1f} {end}"
                drawn += path(hop, "calm", 1.3, head=True, **own)
            else:
                drawn += bend((x, end), (middle, strip), "calm", 1.3, **own)
    half, shown = CELL * N_CELLS / 2, vector[:: len(vector) // N_CELLS][:N_CELLS]
    drawn += box(middle - half - 5, y - 11, 2 * half + 9, 22, stroke="calm")
    drawn += cells(middle - half, y - 5, shown, CELL, largest=2 * float(np.abs(shown).mean()))
    drawn += word(middle - half - 14, y + 4, "one vector", SIZE, "soft", "end")
    drawn += note(middle + half + 14, y - 2, [f"{len(vector)} numbers,", f"{N_CELLS} of them shown"], SIZE)
    yield group(drawn, data_key="vector")


def draw_table(facts: Facts) -> Iterable[str]:
    """All four translations; a row is a button that chooses its system."""
    for i, (name, what) in enumerate(SYSTEMS.items()):
        y, chosen, (wrong, missing) = TABLE + ROW * i, name == facts["system"], facts["marks"][name]
        row = box(LEFT, y, RIGHT - LEFT, ROW - 4, "wash" if chosen else "paper")
        row += word(NAMES, y + 16, name, SIZE, anchor="start", bold=chosen)
        was = f"translator {SHUFFLED.index(name) + 1}, {what}"
        row += word(NAMES, y + 31, was, 11, "soft", "start")
        shown = text_rows(WORDS, y + 16, facts["translations"][name], 440, SIZE, wrong=wrong, missing=missing)
        judged = "accent" if facts["mistakes"][name] else "soft"
        row += shown[0] + word(RIGHT - 10, y + 16, verdict(wrong, missing), SIZE, judged, "end", bold=chosen)
        yield choice(row, f"Show how {name} translates", chosen=chosen, system=name)


class AttentionLines(Explorable):
    title = "A sentence grows"
    question = "Let the sentence grow. Then choose a system: how does it get from English to French?"
    size = (760, TABLE + ROW * len(SYSTEMS) + 6)
    clauses = Integer("clauses", 1, N_CLAUSES, 1)
    system = Choice("system", tuple(SYSTEMS), "seq2seq", buttons=True)
    play = "clauses"
    presets = {"attention": {"system": "bahdanau"}}
    goals = {
        "first": "Find the first mistake: grow the sentence, and show the system",
        "holds": "Show the longest sentence that rnn_encoder_decoder still gets right",
        "crossing": "Find lines that cross: French puts the words in another order",
    }
    compute = staticmethod(compute)

    @staticmethod
    def goals_met(now: Facts, start: Facts) -> dict[str, bool]:
        first, shown, weights = now["first_mistakes"], (now["system"], now["clauses"]), now["weights"]
        return {
            "first": shown in first.items() and now["clauses"] == min(first.values()),
            "holds": shown == ("rnn_encoder_decoder", first["rnn_encoder_decoder"] - 1),
            # a word's thickest line leads further left than that of the word before it
            "crossing": weights is not None and bool((np.diff(weights.argmax(axis=1)) < 0).any()),
        }

    @staticmethod
    def headline(facts: Facts) -> str:
        n, name, n_wrong = len(facts["source"]), facts["system"], facts["mistakes"][facts["system"]]
        how = f"looks back at all {n} words" if name in LINES else f"squeezes {n} words into one vector"
        return f"{name} {how}; {f'{n_wrong} mistakes' if n_wrong else 'no mistake'}"

    @staticmethod
    def draw(facts: Facts) -> Iterable[str]:
        english = english_places(len(facts["source"]))
        parts = with_blanks(facts["target"], *facts["marks"][facts["system"]])
        row = [text for text, _ in parts]
        places = spread(row, LEFT, RIGHT, SIZE, most=FRENCH_GAP)
        french = [x for text, x in zip(row, places, strict=True) if text != BLANK]
        yield word(LEFT + 2, 28, AttentionLines.headline(facts), 15, anchor="start", bold=True)
        yield from draw_bridge(facts, english, french)
        yield word_row([*facts["source"], END], english, ENGLISH, SIZE, name="english")
        lit = [i for i, (_, mistake) in enumerate(parts) if mistake]
        yield word_row(row, places, FRENCH, SIZE, name="french", marked=lit, bold=lit[:1])
        meant = IN_ENGLISH.get((facts["system"], facts["clauses"]))
        below = f"It says: *{meant}*" if meant else (LINES | VECTORS)[facts["system"]]
        yield word(LEFT, FRENCH + 24, below, SIZE, "soft", "start")
        yield from draw_table(facts)

    @staticmethod
    def describe(facts: Facts) -> str:
        each = "; ".join(f"{name}: {verdict(*marks)}" for name, marks in facts["marks"].items())
        text = f"“{' '.join(facts['source'])}” becomes, by {facts['system']}, “{' '.join(facts['target'])}”. "
        if facts["weights"] is not None:
            most = [[*facts["source"], END][i] for i in facts["weights"].argmax(axis=1)]
            pairs = zip(facts["target"], most, strict=True)
            text += f"Thickest lines: {', '.join(f'{french} to {english}' for french, english in pairs)}. "
        return f"{text}All four: {each}."
