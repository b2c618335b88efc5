"""An English sentence as notes; complains of wrong articles, numbers and verb forms."""

from __future__ import annotations

from toy_opinion.reader import Reader
from toy_opinion.words import EN_NOUNS, EN_VERBS, KIND, PLACES, TO_FRENCH, WHEN

DETERMINERS = {"the": None, "a": False, "an": False, "this": False, "these": True, "some": True}
DETERMINERS |= {"two": True, "three": True}
IS = ("is", "are", "was", "were")


class English(Reader):
    """`the cat that sleeps` as notes; a verb and a state know their subject, a place its head."""

    def sentence(self) -> list[dict]:
        asked = self.word in ("does", "do", "did", *IS)
        self.clause(asked)
        while self.word in ("and", "but", "because"):
            self.note("joint", word=self.word, at=self.take()[1])
            self.clause(False)
        if asked:
            self.note("joint", word="?", at=self.want("?"))
        assert not self.word, f"left over: {self.items[self.at :]}"
        return self.notes

    def clause(self, asked: bool) -> None:
        helper = self.take() if asked else None
        if self.word in ("he", "she", "it", "they"):
            word, at = self.take()
            self.shared = self.note("pronoun", word=word, at=at, plural=word == "they", said=[])
        elif self.word in DETERMINERS:
            self.shared = self.phrase()
        else:  # the subject of the clause before: "the boy took the apple and ate it"
            last = [note for note in self.notes if note["kind"] in ("verb", "state")][-1]
            assert last["level"] == 0, "took the apple that fell and ate it: who ate it?"
        self.predicate(self.shared, helper)

    def phrase(self) -> dict:
        determiner, det_at = self.take() if self.word in DETERMINERS else ("", ())
        start = self.word
        very = self.maybe("very")
        adjectives = []
        while self.word in TO_FRENCH and self.word not in EN_NOUNS:
            adjectives.append(self.take())
        noun, plural = EN_NOUNS[self.word]
        at = self.take()[1]
        assert DETERMINERS.get(determiner) in (None, plural), f"{determiner} with {noun}"
        if determiner in ("a", "an"):
            assert (determiner == "an") == (start[0] in "aeiou"), f"{determiner} {start}"
        note = self.note("phrase", noun=noun, plural=plural, at=at, adjectives=adjectives, very=very)
        note |= {"det": determiner, "det_at": det_at, "said": [word for word, _ in adjectives]}
        if self.word in (*PLACES, "who", "that"):
            self.level += 1
            self.deepest = max(self.deepest, self.level)
            self.behind(note)
            self.level -= 1
        return note

    def behind(self, head: dict) -> None:
        if self.word in PLACES:
            ground = self.place(head)
            if not ground["det"]:  # a bottle of water
                head["said"].append("full")
        else:
            word, at = self.take()
            if word == "that" and self.word in DETERMINERS:
                self.note("joint", word="that … he sees", at=at)
                self.predicate(self.phrase(), None, head)
            else:
                self.note("joint", word="that sees", at=at)
                assert (word == "who") == (KIND[head["noun"]] in ("man", "woman"))
                self.predicate(head, None)

    def place(self, head: dict | None) -> dict:
        word, at = self.take()
        self.note("place", word=word, at=at, head=head)
        ground = self.phrase()
        bare = word == "of" and KIND[ground["noun"]] in ("food", "drink")
        assert bool(ground["det"]) != bare, f"{word} {ground}"
        return ground

    def predicate(self, subject: dict, helper, gap: dict | None = None) -> None:
        plural = subject["plural"]
        if self.word in IS or (helper and helper[0] in IS):
            be, be_at = helper or self.take()
            assert be in (("are", "were") if plural else ("is", "was")), f"{be} with {subject}"
            denied, very = self.maybe("not"), self.maybe("very")
            quality, at = self.take()
            facts = {"quality": quality, "at": at, "be_at": be_at, "denied": denied, "very": very}
            self.note("state", past=be in ("was", "were"), subject=subject, **facts)
            subject["said"].append(quality)
            return
        denied: tuple[int, ...] = ()
        if self.word in ("does", "do", "did"):
            helper, denied = self.take(), self.want("not")
        if helper:
            assert helper[0] in ("did", "do" if plural else "does")
        often = self.maybe("often")
        name, form = EN_VERBS[self.word]
        at = self.take()[1]
        assert form == "past" or form == ("base" if helper or plural else "third"), f"{form} {name} {subject}"
        past = helper[0] == "did" if helper else form == "past"
        note = self.note("verb", name=name, past=past, denied=denied, often=often, at=at, subject=subject)
        note["helper"] = helper[1] if helper else ()
        note["object"] = self.take() if self.word in ("him", "her", "it", "them") else None
        note["thing"] = self.phrase() if not gap and self.word in DETERMINERS else gap
        note["where"] = self.place(None) if self.word in PLACES else None
        note["when"] = self.word
        if self.word in WHEN:
            self.note("when", word=self.word, at=self.take()[1])
