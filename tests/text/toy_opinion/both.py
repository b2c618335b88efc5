"""Both sides together: the notes agree, pronouns mean the right noun, links join the right words."""

from __future__ import annotations

from toy_opinion.english import English
from toy_opinion.french import French
from toy_opinion.words import (
    ANIMALS,
    FR_ADJECTIVES,
    FR_NOUNS,
    JOINTS,
    MEN,
    OF_THE_LIVING,
    PLACES,
    PREY,
    SPECIAL,
    TO_FRENCH,
    WHEN,
    WOMEN,
)


def check(pair) -> None:
    english, french = English(pair.src).sentence(), French(pair.tgt).sentence()
    asking = [note["at"] for note in french if note["kind"] == "asking"]
    french = [note for note in french if note["kind"] != "asking"]
    assert [note["kind"] for note in english] == [note["kind"] for note in french]
    links: set[tuple[int, int]] = set()

    def link(left, right) -> None:
        links.update((a, b) for a in left for b in right)

    first_word = (0,)
    for at in asking:
        link(first_word, at)
    antecedents = dict(pair.antecedents)
    heads = {note["at"][-1]: (e, note) for e, note in enumerate(english) if note["kind"] == "phrase"}
    for index, (en, fr) in enumerate(zip(english, french, strict=True)):
        if en["kind"] == "phrase":
            check_phrase(en, fr, link)
        elif en["kind"] == "joint":
            assert (JOINTS | PLACES)[en["word"]] == fr["word"], (en, fr)
            link(en["at"], fr["at"])
        elif en["kind"] == "when":
            check_when(en, fr, links)
        elif en["kind"] == "pronoun":
            link(en["at"], fr["at"])
            check_pronoun(en, (fr["gender"], fr["plural"]), antecedents, heads, french)
            check_meaning(english, index, antecedents, heads)
        elif en["kind"] == "state":
            assert en["quality"] in fr["quality"] and en["past"] == fr["past"]
            for part in ("at", "be_at", "denied", "very"):
                assert bool(en[part]) == bool(fr[part])
                link(en[part], fr[part])
        else:
            check_verb(en, fr, link, antecedents, heads, french)
    assert links == pair.links, f"links: {sorted(links ^ pair.links)}"
    assert len(antecedents) == len(pair.antecedents)


def check_phrase(en: dict, fr: dict, link) -> None:
    assert (en["noun"], en["plural"]) == (fr["noun"], fr["plural"])
    kinds = {
        "the": {"le", "la", "l'", "les", "du", "des", "au", "aux"},
        "a": {"un", "une"},
        "an": {"un", "une"},
    }
    kinds |= {"some": {"des", "de"}, "two": {"deux"}, "three": {"trois"}}
    kinds |= {"this": {"ce", "cet", "cette"}, "these": {"ces"}}
    assert fr["det"] in kinds[en["det"]], (en, fr)
    assert bool(en["very"]) == bool(fr["very"]) and len(en["adjectives"]) == len(fr["adjectives"])
    for (word, at), (form, there) in zip(en["adjectives"], fr["adjectives"], strict=True):
        assert TO_FRENCH[word] in {base for base, _, _ in FR_ADJECTIVES.get(form, ())} | {SPECIAL.get(form)}
        link(at, there)
    for part in ("at", "det_at", "very"):
        link(en[part], fr[part])


def check_when(en: dict, fr: dict, links: set) -> None:
    assert WHEN[en["word"]] == fr["word"]
    pattern = {"every-day": ((0, 0), (0, 1), (1, 2))}.get(en["word"]) or [
        (n, n) for n in range(len(en["at"]))
    ]
    links.update((en["at"][a], fr["at"][b]) for a, b in pattern)


def check_pronoun(en: dict, agrees: tuple, antecedents, heads, french) -> None:
    """The French gender and number are those of the noun the English pronoun stands for."""
    _, noun = heads[antecedents[en["at"][0]]]
    gender = next(FR_NOUNS[form][1] for form in FR_NOUNS if FR_NOUNS[form][0] == noun["noun"])
    assert (gender, noun["plural"]) == agrees, (en, noun)
    check_word(en["word"], noun)


def check_word(word: str, noun: dict) -> None:
    if noun["plural"]:
        assert word in ("they", "them")
    else:
        wanted = (
            ("he", "him") if noun["noun"] in MEN else ("she", "her") if noun["noun"] in WOMEN else ("it",)
        )
        assert word in wanted


def check_meaning(english: list[dict], index: int, antecedents, heads) -> None:
    """What only the living can be is said of the living, and no other could be meant; or the reverse."""
    pronoun, quality = english[index], english[index + 1]["quality"]
    meant = heads[antecedents[pronoun["at"][0]]][1]
    persons = pronoun["word"] == "they"
    alive = (ANIMALS if quality != "rich" else []) + (MEN + WOMEN if persons else [])
    before = [note for note in english[:index] if note["kind"] == "phrase" and note is not meant]
    verb = [note["name"] for note in english[:index] if note["kind"] == "verb"]
    eaten = "eat" in verb and meant["noun"] in (*PREY, "wolf", "fox")
    if quality in OF_THE_LIVING and pronoun["word"] in ("it", "they"):
        assert meant["noun"] in alive
        rivals = [note["noun"] for note in before if note["noun"] in alive]
        assert not rivals or (eaten and len(rivals) == 1), rivals
    elif pronoun["word"] == "it" and quality != "fat":
        assert meant["noun"] not in ANIMALS or quality in ("beautiful", "old", "big", "small"), (
            quality,
            meant,
        )


def check_verb(en: dict, fr: dict, link, antecedents, heads, french) -> None:
    assert en["name"] in fr["names"] and en["past"] == fr["past"]
    assert bool(en["denied"]) == bool(fr["denied"]) and bool(en["often"]) == bool(fr["often"])
    link(en["at"], fr["at"])
    if en["past"]:
        link(en["helper"] or en["at"][:1], fr["aux_at"])
    link(en["denied"], fr["denied"])
    link(en["often"], fr["often"])
    assert (en["object"] is None) == (fr["object"] is None)
    if en["object"] is None:
        return
    (word, at), (form, there) = en["object"], fr["object"]
    link(at, there)
    if at[0] in antecedents:
        noun = heads[antecedents[at[0]]][1]
        gender = next(FR_NOUNS[f][1] for f in FR_NOUNS if FR_NOUNS[f][0] == noun["noun"])
        agrees = (gender, noun["plural"])
        check_word(word, noun)
    else:
        agrees = {"him": ("m", False), "her": ("f", False)}[word]
    allowed = {"les"} if agrees[1] else {"l'", "le" if agrees[0] == "m" else "la"}
    assert form in allowed, (word, form, agrees)
    if en["past"]:
        assert agrees in fr["agrees"], "the participle agrees with the pronoun before it"
