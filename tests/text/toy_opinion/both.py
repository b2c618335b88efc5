"""Both sides together: the notes agree, pronouns have the right gender, links join the right words."""

from __future__ import annotations

from toy_opinion import sense
from toy_opinion.english import English
from toy_opinion.french import French
from toy_opinion.words import (
    BUILDINGS,
    FR_ADJECTIVES,
    FURNITURE,
    GENDER,
    JOINTS,
    KIND,
    PLACES,
    SPECIAL,
    TO_FRENCH,
    WHEN,
)

ARTICLES = {
    "the": "le la l' les du des au aux",
    "a": "un une",
    "an": "un une",
    "some": "des de",
    "two": "deux",
}
ARTICLES |= {"three": "trois", "this": "ce cet cette", "these": "ces"}


def check(pair) -> None:
    english, french = English(pair.src).sentence(), French(pair.tgt).sentence()
    asking = [note["at"] for note in french if note["kind"] == "asking"]
    french = [note for note in french if note["kind"] != "asking"]
    assert [note["kind"] for note in english] == [note["kind"] for note in french]
    links: set[tuple[int, int]] = set()

    def link(left, right) -> None:
        links.update((a, b) for a in left for b in right)

    for at in asking:
        link((0,), at)
    antecedents = dict(pair.antecedents)
    assert len(antecedents) == len(pair.antecedents)
    heads = {note["at"][-1]: note for note in english if note["kind"] == "phrase"}
    for index, (en, fr) in enumerate(zip(english, french, strict=True)):
        if en["kind"] == "phrase":
            check_phrase(en, fr, link)
        elif en["kind"] == "joint":
            assert JOINTS[en["word"]] == fr["word"], (en, fr)
            link(en["at"], fr["at"])
        elif en["kind"] == "place":
            check_place(en, fr, english[index + 1])
            link(en["at"], fr["at"])
        elif en["kind"] == "when":
            assert WHEN[en["word"]] == fr["word"]
            pattern = ((0, 0), (0, 1), (1, 2)) if en["word"] == "every-day" else ((0, 0), (1, 1))
            links.update((en["at"][a], fr["at"][b]) for a, b in pattern if a < len(en["at"]))
        elif en["kind"] == "pronoun":
            link(en["at"], fr["at"])
            assert (fr["gender"], fr["plural"]) == meant(en["word"], en["at"], antecedents, heads)
        elif en["kind"] == "state":
            assert en["quality"] in fr["quality"] and en["past"] == fr["past"]
            for part in ("at", "be_at", "denied", "very"):
                assert bool(en[part]) == bool(fr[part])
                link(en[part], fr[part])
        else:
            check_verb(en, fr, link, antecedents, heads)
    sense.check(english, antecedents, heads)
    assert links == pair.links, f"links: {sorted(links ^ pair.links)}"


def deepest(pair) -> int:
    """How many places and relative clauses lie one in the other."""
    reader = English(pair.src)
    reader.sentence()
    return reader.deepest


def needs_sense(pair) -> bool:
    """Whether the pronoun of a reason could be il or elle for all that its English word tells."""
    return sense.needs_sense(pair, English(pair.src).sentence())


def check_phrase(en: dict, fr: dict, link) -> None:
    assert (en["noun"], en["plural"]) == (fr["noun"], fr["plural"])
    assert fr["det"] in ARTICLES.get(en["det"], "").split() or fr["det"] == en["det"] == "", (en, fr)
    assert bool(en["very"]) == bool(fr["very"]) and len(en["adjectives"]) == len(fr["adjectives"])
    for (word, at), (form, there) in zip(en["adjectives"], fr["adjectives"], strict=True):
        assert TO_FRENCH[word] in {base for base, _, _ in FR_ADJECTIVES.get(form, ())} | {SPECIAL.get(form)}
        link(at, there)
    for part in ("at", "det_at", "very"):
        link(en[part], fr[part])


def check_place(en: dict, fr: dict, ground: dict) -> None:
    """`in` is dans, but the table in the kitchen is la table de la cuisine."""
    head = en["head"] and en["head"]["noun"]
    part = head in FURNITURE or (head in BUILDINGS and ground["noun"] in ("village", "forest"))
    part = part and en["head"]["det"] in ("the", "this", "these")
    assert fr["word"] == ("de" if en["word"] == "in" and part else PLACES[en["word"]]), (en, fr)


def meant(word: str, at: tuple[int, ...], antecedents: dict, heads: dict) -> tuple[str, bool]:
    """Gender and number of what a pronoun stands for; the English word must fit it."""
    if at[0] not in antecedents:
        return {"him": ("m", False), "her": ("f", False)}[word]
    noun = heads[antecedents[at[0]]]
    words = {"man": ("he", "him"), "woman": ("she", "her")}.get(KIND[noun["noun"]], ("it",))
    assert word in (("they", "them") if noun["plural"] else words), (word, noun)
    return GENDER[noun["noun"]], noun["plural"]


def check_verb(en: dict, fr: dict, link, antecedents: dict, heads: dict) -> None:
    assert en["name"] in fr["names"] and en["past"] == fr["past"]
    assert bool(en["denied"]) == bool(fr["denied"]) and bool(en["often"]) == bool(fr["often"])
    link(en["at"], fr["at"])
    link(en["helper"] or (en["at"][:1] if fr["aux_at"] else ()), fr["aux_at"] or fr["at"])
    link(en["denied"], fr["denied"])
    link(en["often"], fr["often"])
    assert (en["object"] is None) == (fr["object"] is None)
    if en["object"] is None:
        return
    (word, at), (form, there) = en["object"], fr["object"]
    link(at, there)
    gender, plural = meant(word, at, antecedents, heads)
    assert form in ({"les"} if plural else {"l'", "le" if gender == "m" else "la"}), (word, form)
    if fr["agrees"]:
        assert (gender, plural) in fr["agrees"], "the participle agrees with the pronoun before it"
