"""A French sentence as notes; complains of wrong agreement, elision and word order."""

from __future__ import annotations

from itertools import pairwise

from toy_opinion.reader import Reader, vowel
from toy_opinion.words import (
    ALONE,
    BEFORE_BASES,
    COPULAS,
    FEELINGS,
    FR_ADJECTIVES,
    FR_FINITE,
    FR_NOUNS,
    FR_PARTICIPLES,
    SPECIAL,
    TO_FRENCH,
    VERB_NAMES,
    WHEN,
    WITH_ÊTRE,
)

DETERMINERS = {"le": ("m", False), "la": ("f", False), "l'": (None, False), "les": (None, True)}
DETERMINERS |= {"un": ("m", False), "une": ("f", False), "des": (None, True), "de": (None, True)}
DETERMINERS |= {"ce": ("m", False), "cet": ("m", False), "cette": ("f", False), "ces": (None, True)}
DETERMINERS |= {"deux": (None, True), "trois": (None, True)}
CONTRACTED = {"du": ("m", False), "au": ("m", False), "des": (None, True), "aux": (None, True)}
PREPOSITIONS = {
    "dans",
    "sur",
    "sous",
    "derrière",
    "devant",
    "avec",
    "de",
    "d'",
    "du",
    "des",
    "à",
    "au",
    "aux",
}
PREPOSITIONS |= {"près-de", "près-d'", "près-du", "près-des"}
CLITICS = ("le", "la", "l'", "les")


class French(Reader):
    """`le chat qui dort` as notes."""

    def sentence(self) -> list[dict]:
        self.spelling()
        asked = self.word == "est-ce"
        if asked:
            at = self.take()[1] + self.want("que", "qu'")
            self.note("asking", at=at)
        self.clause()
        while self.word in ("et", "mais", "parce-que", "parce-qu'"):
            word, at = self.take()
            self.note("joint", word=word.replace("qu'", "que"), at=at)
            self.clause()
        if asked:
            self.note("joint", word="?", at=self.want("?"))
        assert not self.word, f"left over: {self.items[self.at :]}"
        return self.notes

    def spelling(self) -> None:
        """Vowels meet nowhere, and nothing is cut without need."""
        plain = [word for item, _ in self.items for word in item.replace("est-ce", "est_ce").split("-")]
        for word, following in pairwise(plain):
            if word in ("le", "la", "ne", "de", "que", "ce", "du", "au"):
                assert not vowel(following), f"{word} {following}"
            if word.endswith("'") or word == "cet":
                assert vowel(following), f"{word} {following}"
            assert (word, following) not in {("de", "le"), ("de", "les"), ("à", "le"), ("à", "les")}
            assert (word, following) != ("de", "des")

    def clause(self) -> None:
        if self.word in ("il", "elle", "ils", "elles"):
            word, at = self.take()
            gender, plural = "f" if word.startswith("elle") else "m", word.endswith("s")
            self.shared = self.note("pronoun", word=word, at=at, gender=gender, plural=plural)
        elif self.opens_phrase():
            self.shared = self.phrase()
        self.predicate(self.shared)

    def opens_phrase(self) -> bool:
        """A determiner, unless it is an object pronoun: `la ferme` is a farm, or closes it and is done."""
        clitic = self.word in CLITICS and (
            self.ahead() in COPULAS
            or (self.ahead() in FR_FINITE and self.ahead() not in FR_NOUNS)
            or (
                self.ahead() in FR_FINITE
                and self.ahead(2) in ("", "pas", "et", "mais", "parce-que", "parce-qu'")
            )
        )
        return self.word in DETERMINERS and not clitic

    def phrase(self, contracted: str = "", contracted_at: tuple[int, ...] = ()) -> dict:
        if contracted:
            determiner, det_at, wanted = contracted, contracted_at, CONTRACTED[contracted]
        elif self.word in DETERMINERS:
            determiner, det_at = self.take()
            wanted = DETERMINERS[determiner]
        else:  # d' eau, de pommes
            determiner, det_at, wanted = "", (), (None, False not in self.numbers_ahead())
        very = self.maybe("très")
        adjectives = [self.take()] if self.word in FR_ADJECTIVES or self.word in SPECIAL else []
        early = bool(adjectives)
        english, gender, numbers = FR_NOUNS[self.word]
        noun, at = self.take()
        plural = wanted[1]
        assert plural in numbers, f"{determiner} {noun}"
        assert wanted[0] in (None, gender), f"{determiner} {noun}"
        if early:
            assert determiner not in ("des",) or contracted, "des before an adjective is de"
            form = adjectives[0][0]
            base = SPECIAL.get(form) or next(
                b for b, g, p in FR_ADJECTIVES[form] if (g, p) == (gender, plural)
            )
            assert base in BEFORE_BASES, f"{form} stands before {noun}"
            assert form not in SPECIAL or (gender == "m" and not plural), f"{form} {noun}"
            if gender == "m" and not plural and base in SPECIAL.values():
                assert (form in SPECIAL) == vowel(noun), f"{form} {noun}"
        elif determiner == "de":
            raise AssertionError("de for des needs an adjective")
        late_very = () if early else self.maybe("très")
        if self.word in FR_ADJECTIVES and self.word not in FR_NOUNS:
            form = self.word
            base = next(b for b, g, p in FR_ADJECTIVES[form] if (g, p) == (gender, plural))
            assert base not in BEFORE_BASES, f"{form} stands after {noun}"
            adjectives.append(self.take())
        note = self.note("phrase", noun=english, gender=gender, plural=plural, at=at, adjectives=adjectives)
        note |= {"det": determiner, "det_at": det_at, "very": very or late_very}
        self.behind(note)
        return note

    def numbers_ahead(self) -> set[bool]:
        """The numbers that the next noun can have."""
        return next(FR_NOUNS[word][2] for word, _ in self.items[self.at :] if word in FR_NOUNS)

    def place(self) -> None:
        word, at = self.take()
        tail = word.split("-")[-1]
        name = {"d'": "de", "du": "de", "des": "de", "au": "à", "aux": "à"}.get(tail, tail)
        self.note("place", word="près-de" if word.startswith("près") else name, at=at)
        if tail in CONTRACTED:
            self.phrase(tail, at[-1:])
        else:
            self.phrase()

    def behind(self, head: dict) -> None:
        if self.word in PREPOSITIONS:
            self.place()
        elif self.word in ("qui", "que", "qu'"):
            word, at = self.take()
            self.note("joint", word=word.replace("qu'", "que"), at=at)
            if word == "qui":
                self.predicate(head)
            else:
                self.predicate(self.phrase(), before=head)

    def predicate(self, subject: dict, before: dict | None = None) -> None:
        denied = self.maybe("ne", "n'")
        thing = self.take() if self.word in CLITICS else None
        finite, finite_at = self.take()
        pas = self.maybe("pas")
        assert bool(denied) == bool(pas), "ne and pas come together"
        denied += pas
        gender, plural = subject["gender"], subject["plural"]
        if finite in COPULAS:
            verb, is_plural, past = COPULAS[finite]
            assert is_plural == plural, f"{finite} with {subject}"
            often, very = self.maybe("souvent"), self.maybe("très")
            if past or self.word not in FR_PARTICIPLES:
                return self.state(verb, past, (gender, plural), finite_at, denied, very)
            self.past(verb, (gender, plural), before, thing, finite_at, denied, often)
        else:
            is_plural, past = FR_FINITE[finite]
            assert is_plural == plural, f"{finite} with {subject}"
            often = self.maybe("souvent")
            facts = {"names": VERB_NAMES[finite], "past": past, "denied": denied, "often": often}
            self.note("verb", **facts, at=finite_at, aux_at=(), object=thing, agrees=None)
        alone = thing or before or self.notes[-1]["names"] & ALONE
        if not alone and self.word in DETERMINERS:
            self.phrase()
        if self.word in PREPOSITIONS:
            self.place()
        if self.word in WHEN.values():
            self.note("when", word=self.word, at=self.take()[1])

    def state(self, verb: str, past: bool, agrees: tuple, be_at, denied, very) -> None:
        quality, at = self.take()
        if verb == "avoir":
            meant = {FEELINGS[quality]}
        else:
            bases = {base for base, g, p in FR_ADJECTIVES[quality] if (g, p) == agrees}
            assert bases, f"{quality} should agree with {agrees}"
            meant = {english for english, french in TO_FRENCH.items() if french in bases}
        facts = {"quality": meant, "at": at, "be_at": be_at, "denied": denied, "very": very}
        self.note("state", past=past, **facts)

    def past(self, aux: str, subject: tuple, before, thing, aux_at, denied, often) -> None:
        participle, at = self.take()
        names = VERB_NAMES[participle]
        assert (aux == "être") == bool(names & WITH_ÊTRE), f"{aux} {participle}"
        note = self.note("verb", names=names, past=True, denied=denied, often=often, at=at, aux_at=aux_at)
        note |= {"object": thing, "agrees": FR_PARTICIPLES[participle]}
        if aux == "être":
            assert subject in note["agrees"], f"{participle} with {subject}"
        elif before:
            assert (before["gender"], before["plural"]) in note["agrees"], f"{participle} with {before}"
        elif not thing:
            assert ("m", False) in note["agrees"], f"{participle} agrees with nothing"
