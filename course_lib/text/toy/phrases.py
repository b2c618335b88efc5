"""Draws noun phrases of an exact length, with what hangs on them.

    >>> drawer = Phrases(RULES, random.Random(0))
    >>> phrase = drawer.phrase(5, lexicon().noun("cat").tags)      # such as "the cat near the house"

Whoever asks says how many words there are to spend; each word is spent once, so the sentence has the length
that was wanted and nothing need be thrown away. Where the words cannot be spent (a tree has no colour), a
`DeadEnd` says so, and the phrase or the sentence is begun again.
"""

from __future__ import annotations

from collections.abc import Sequence

from course_lib.text.toy.choices import ENOUGH
from course_lib.text.toy.drawing import TRIES, DeadEnd, Drawing, NoWayOut
from course_lib.text.toy.grammar import Preposition, grammar
from course_lib.text.toy.lexicon import Noun, Quality, Tags
from course_lib.text.toy.tree import Clause, Phrase, Place, Relative, State

MOST_EFFORT = 150  # phrases begun for one sentence; tries within tries would else multiply
LONG = 9  # so many words do not fit behind a place: a house does nothing that could be told at length
ONE = ("the", "the", "the", "the", "the", "a", "a", "this")
SEVERAL = ("the", "the", "the", "the", "some", "some", "this", "two", "three")


class Phrases(Drawing):
    """Noun phrases: determiner, adjectives, noun, and a place or a relative clause behind it."""

    def phrase(self, size: int, tags: Tags, *, definite: bool = False, simple: bool = False) -> Phrase:
        """A phrase of `size` words; `simple` ones have adjectives and nothing behind them."""
        for _ in range(TRIES):
            noun = self.noun(tags, size)
            try:
                return self.phrase_of(noun, size, definite=definite, simple=simple)
            except DeadEnd:
                continue
        raise DeadEnd

    def phrase_of(
        self,
        noun: Noun,
        size: int,
        *,
        definite: bool = False,
        simple: bool = False,
        plural: bool | None = None,
    ) -> Phrase:
        """A phrase of `size` words around this noun."""
        self.effort += 1
        if self.effort > MOST_EFFORT:
            raise NoWayOut
        rest = size - 1 - noun.n_words
        if rest < 0 or rest > self.words.most_words[noun]:
            raise DeadEnd
        if plural is None:
            plural = noun.countable and "plural" in self.rules and self.chance(0.35)
        phrase = Phrase(noun, plural, self._determiner(noun, plural, definite))
        n_taken, n_combinations = len(self.taken), len(self.combinations)
        self.taken.append(noun)
        if rest:
            try:
                self._spend(phrase, rest, simple)
            except DeadEnd:
                del self.taken[n_taken:]
                del self.combinations[n_combinations:]
                raise
        return phrase

    def _determiner(self, noun: Noun, plural: bool, definite: bool) -> str:
        chance = self.random()
        if definite or not noun.countable or "indefinites" not in self.rules:
            return "the" if chance < 0.88 else "this"
        if plural:
            return SEVERAL[int(chance * len(SEVERAL))]
        return ONE[int(chance * len(ONE))]

    # ---- what belongs to a noun

    def _spend(self, phrase: Phrase, rest: int, simple: bool) -> None:
        options = self.words.before_noun(phrase.noun, min(rest, ENOUGH), simple or self.bare)
        for _ in range(TRIES):
            n_words = self.pick(options)
            if 1 < n_words < rest and self.chance(0.6):
                continue  # long phrases are long behind the noun rather than before it
            try:
                if n_words:
                    self._adjectives(phrase, n_words)
                if n_words < rest:
                    self._behind(phrase, rest - n_words)
                return
            except DeadEnd:
                phrase.before = phrase.after = phrase.place = phrase.relative = None
                phrase.very = False
        raise DeadEnd

    def _adjectives(self, phrase: Phrase, n_words: int) -> None:
        beside = self.words.beside[phrase.noun]
        if n_words == 1:
            chosen = [self.pick(beside["any"])]
        elif n_words == 2 and beside["before"] and beside["colour"] and self.chance(0.75):
            chosen = [self.pick(beside["before"]), self.pick(beside["colour"])]
        elif "adverbs" not in self.rules:
            raise DeadEnd
        else:
            phrase.very = True
            chosen = [self.pick(beside["graded before" if n_words == 3 else "graded"])]
            if n_words == 3:
                chosen.append(self.pick(beside["colour"]))
        for quality in chosen:
            if quality.place == "before":
                phrase.before = quality
            else:
                phrase.after = quality
            self.combinations.append((quality.en, phrase.noun.name))

    def _behind(self, phrase: Phrase, size: int) -> None:
        """A place or a relative clause. Never both: who could tell which noun the clause belongs to?"""
        places = self.words.hangs_on[phrase.noun]
        place = size >= 3 and places and "prepositions" in self.rules
        relative = "relatives" in self.rules and self.may_be_told(phrase.noun, size)
        if relative and (not place or size > LONG or self.chance(0.5)):
            phrase.relative = self.relative(phrase, size)
        elif place:
            phrase.place = self.place(places, size, phrase.determiner)
        else:
            raise DeadEnd

    def may_be_told(self, noun: Noun, size: int) -> bool:
        """Whether a relative clause of so many words is likely to be found for it."""
        if size == 2:
            return bool(self.words.does_alone[noun])
        return size <= 6 or bool(self.words.does[noun])

    def place(
        self,
        choices: Sequence[tuple[Preposition, Tags]],
        size: int,
        determiner: str = "the",
        *,
        simple: bool = False,
    ) -> Place:
        """A preposition and its phrase, `size` words together."""
        if size > LONG + 4 and "relatives" in self.rules:
            raise DeadEnd
        for _ in range(TRIES):
            preposition, ground = self.pick(choices)
            left = size - len(preposition.en)
            if left < 2 or preposition is self.last or (preposition.head_the and determiner != "the"):
                continue
            self.last = preposition  # the house behind the church behind the hotel: once is enough
            # Without elision there is no "près d' un".
            careful = preposition.definite or ("elision" not in self.rules and "de" in preposition.fr)
            phrase = self.phrase(left, ground, definite=careful or self.chance(0.6), simple=simple)
            if preposition.not_some and phrase.determiner == "some":
                phrase.determiner = "the"
            return Place(preposition, phrase)
        raise DeadEnd

    def relative(self, head: Phrase, size: int) -> Relative:
        """A clause of `size` words that starts with who or that."""
        past = self.past or ("past" in self.rules and self.chance(0.25))
        left = size - 1
        kinds = []
        if 2 <= left <= 4 and "states" in self.rules:
            kinds.append("is")
        if 3 <= left <= 5 and self.agreement_is_fine(past):
            kinds.append("done to it")
        words = self.words
        table = words.does_alone if left <= 2 else words.does if left <= LONG + 4 else words.does_at_length
        verbs = table[head.noun]
        if verbs:
            kinds.append("does")
        kind = self.pick(kinds)
        if kind == "is":
            return Relative(self.state(head, left, past))
        if kind == "done to it":
            return self._done_to_head(head, left, past)
        verb, thing = self.verb(verbs)
        clause = Clause(head, verb, past=past, silent=True)
        self.predicate(clause, left, thing)
        return Relative(clause)

    def _done_to_head(self, head: Phrase, left: int, past: bool) -> Relative:
        verb, subject = self.verb(self.words.done_to[head.noun])
        left -= verb.n_words
        if not 2 <= left <= 4:
            raise DeadEnd
        who = self.phrase(left, subject, definite="elision" not in self.rules, simple=True)
        self.combinations.append((verb.name, head.noun.name))
        return Relative(Clause(who, verb, head, past=past), head_is_object=True)

    # ---- what is said of a subject

    def agreement_is_fine(self, past: bool) -> bool:
        return not past or "participle_agreement" in self.rules

    def state(self, subject: Phrase, size: int, past: bool, *, may_deny: bool = True) -> State:
        """`was very cold`: `size` words."""
        quality = self.pick(self.words.said_of[subject.noun])
        if not self.may_say(quality, subject):
            raise DeadEnd
        state = State(subject, quality, past=past, silent=True)
        left = size - 2
        may_deny &= "negation" in self.rules and "elision" in self.rules
        if left == 2 and may_deny and self._may_be_very(quality):
            state.negated = state.very = True
        elif left == 1 and may_deny and self.chance(0.5):
            state.negated = True
        elif left == 1 and self._may_be_very(quality):
            state.very = True
        elif left:
            raise DeadEnd
        return state

    def may_say(self, quality: Quality, subject: Phrase) -> bool:
        """Never "the cold water was cold", nor "was hot"."""
        return all(grammar().may_meet(quality.en, said) for said in subject.qualities)

    def _may_be_very(self, quality: Quality) -> bool:
        return "adverbs" in self.rules and quality.graded

    def predicate(self, clause: Clause, size: int, tags: Tags, *, may_deny: bool = True) -> None:
        """The verb and all that follows it, `size` words, into a clause that has its subject."""
        verb = clause.verb
        if verb.aux == "être" and not self.agreement_is_fine(clause.past):
            raise DeadEnd
        left = size - verb.n_words
        least = 2 if verb.transitive else 3 if verb.needs_where else 0
        if left < least:
            raise DeadEnd
        may_deny &= "negation" in self.rules and ("elision" in self.rules or not clause.past)
        if may_deny and left - 2 >= least and self.chance(0.3):
            clause.negated = True
            left -= 2
        if "adverbs" in self.rules and not verb.steady:
            if left - 1 >= least and self.chance(0.1 if verb.transitive else 0.25):
                clause.often = True
                left -= 1
            else:
                left -= self._adverb(clause, left, least)
        simple = clause.adverb is not None or verb.bare
        if verb.transitive:
            definite = clause.negated or verb.definite
            clause.object = self.phrase(left, tags, definite=definite, simple=simple)
            self.combinations.append((verb.name, clause.object.noun.name))
        elif left:
            if left < 3 or "prepositions" not in self.rules:
                raise DeadEnd
            clause.place = self.place(self.words.where(verb, clause.subject.noun), left, simple=simple)

    def _adverb(self, clause: Clause, left: int, least: int) -> int:
        """Perhaps says when; gives the number of words that took.

        Only behind something short: "the man she saw yesterday yesterday" helps nobody.
        """
        adverb = self.pick(self.words.adverbs)
        fits = adverb.tense == ("past" if clause.past else "present")
        left -= len(adverb.en)
        if not fits or not least <= left <= 5 or clause.silent or not self.chance(0.5):
            return 0
        clause.adverb = adverb
        return len(adverb.en)
