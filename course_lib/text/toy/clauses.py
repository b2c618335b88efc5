"""Draws clauses and whole sentences of an exact length.

>>> drawer = Sentences(RULES, random.Random(0))
>>> parts, question = drawer.sentence(9)
>>> say(parts, question).length
9
"""

from __future__ import annotations

from course_lib.text.toy.drawing import TRIES, DeadEnd
from course_lib.text.toy.lexicon import Tags
from course_lib.text.toy.pronouns import SUBJECT_SIZES, Pronouns
from course_lib.text.toy.tree import Clause, Part, Phrase, State

LEAST_CLAUSE = 3
VERY_LONG = 18  # a clause so long needs an object that does something in its turn
BECAUSE_NEEDS = frozenset({"because", "states", "elision"})
DESCRIBED: Tags = frozenset({"person", "animal", "thing", "food", "drink", "room"})


class Sentences(Pronouns):
    """Sentences of any length from 3 words."""

    def sentence(self, size: int) -> tuple[list[Part], bool]:
        """The parts of a sentence of `size` words, and whether it is a question."""
        self.begin()
        if "questions" in self.rules and size >= LEAST_CLAUSE + 2 and self.chance(0.1):
            return [Part(self.clause(size - 2, asked=True))], True
        kind = self.random()
        if size >= 9 and kind < 0.28 and self.rules >= BECAUSE_NEEDS:
            return self._around(size, 9, self.because), False
        if "object_pronouns" in self.rules and self._pronouns_are_fine():
            if size >= 8 and "coordination" in self.rules and 0.28 < kind < 0.42:
                return self._around(size, 8, self.linked), False
            if 0.42 < kind < 0.48 and size >= 4:
                return self._around(size, 4, self.about_somebody), False
        return self._around(size, LEAST_CLAUSE, lambda n: [Part(self.clause(n))]), False

    def _pronouns_are_fine(self) -> bool:
        return not self.past or {"participle_agreement", "elision"} <= self.rules

    def _around(self, size: int, least: int, draw) -> list[Part]:
        """The clause that matters somewhere among others, if there are words left for others."""
        n_others, sizes = 0, [size]
        if "coordination" in self.rules:
            n_others = self._how_many_others(size, least)
            sizes = self._share(size - n_others, [least] + [LEAST_CLAUSE] * n_others)
        place = int(self.random() * (n_others + 1))
        # Drawn first, because what it means bans words from all that is said before it.
        middle = draw(sizes[0])
        parts: list[Part] = []
        for index in range(n_others + 1):
            if index == place:
                parts += middle
                self.banned = frozenset()
            else:
                parts.append(Part(self.clause(sizes[1 + index - (index > place)])))
        joints = [part.joined_by for part in parts]
        for part in parts[1:]:
            if not part.joined_by:
                part.joined_by = "but" if "but" not in joints and self.chance(0.25) else "and"
                joints.append(part.joined_by)
        return parts

    def _how_many_others(self, size: int, least: int) -> int:
        spare = size - least
        most = spare // (LEAST_CLAUSE + 1)
        wanted = 0
        while wanted < most and self.chance(0.15 + (size - 10 * wanted) / 40):
            wanted += 1
        return wanted

    def _share(self, size: int, least: list[int]) -> list[int]:
        """Words for every clause, at least what it needs."""
        sizes = list(least)
        spare = size - sum(least)
        while spare > 0:
            given = min(spare, 1 + int(self.random() * 6))
            sizes[int(self.random() * len(sizes))] += given
            spare -= given
        return sizes

    # ---- one clause

    def clause(self, size: int, *, asked: bool = False) -> Clause | State:
        """A clause of `size` words whose subject is said."""
        for _ in range(TRIES):
            n_taken, n_combinations = len(self.taken), len(self.combinations)
            try:
                return self._clause(size, asked)
            except DeadEnd:
                del self.taken[n_taken:]
                del self.combinations[n_combinations:]
        raise DeadEnd

    def _clause(self, size: int, asked: bool) -> Clause | State:
        may_deny = not asked
        careful = asked and "elision" not in self.rules
        room = size + asked  # is the tea hot ? does the cat sleep ? A state asks without do.
        if "states" in self.rules and 4 <= room <= 12 and self.chance(0.18):
            tail = self.pick((2, 2, 3))
            subject = self.phrase(room - tail, DESCRIBED, definite=True)
            state = self.state(subject, tail, self.past, may_deny=may_deny)
            state.silent = False
            return state
        if size > VERY_LONG:
            verbs = self.words.at_length
        else:
            verbs = self.words.with_object if size >= 5 and self.chance(0.75) else self.words.without_object
        verb, (subject_tags, object_tags) = self.verb(verbs)
        least = verb.n_words + (2 if verb.transitive else 3 if verb.needs_where else 0)
        n_words = min(self.pick(SUBJECT_SIZES), size - least)
        if n_words < 2:
            raise DeadEnd
        subject = self.phrase(n_words, subject_tags, definite=careful)
        clause = Clause(subject, verb, past=self.past)
        if asked:
            self._ask(clause, size - n_words, object_tags)
        else:
            self.predicate(clause, size - n_words, object_tags)
        if clause.negated and subject.determiner != "this":
            subject.determiner = "the"  # "a dog does not sleep" would say less than it seems to
        return clause

    def _ask(self, clause: Clause, size: int, object_tags: Tags) -> None:
        self.predicate(clause, size, object_tags, may_deny=False)
        if isinstance(clause.object, Phrase) and clause.object.determiner == "some":
            clause.object.determiner = "the"  # a question would say any
