"""Draws clauses with a pronoun that must be understood: because it was thirsty, and ate it, sees her.

    >>> drawer = Pronouns(RULES, random.Random(0))
    >>> (part,) = drawer.because(9)                 # such as: the cat drank the water because it was cold
    >>> part.because.subject.stands_for.noun.name   # such as: 'water'

A pronoun is planned before the words around it: whatever else could be meant by it is banned from the part of
the sentence that comes first, so there is always one right reading.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

from course_lib.text.toy.drawing import TRIES, DeadEnd
from course_lib.text.toy.grammar import Reason, grammar
from course_lib.text.toy.lexicon import Noun, Quality, Tags, Verb, lexicon
from course_lib.text.toy.phrases import Phrases
from course_lib.text.toy.tree import Clause, Part, Place, Pronoun, State, pronoun_for

SUBJECT_SIZES = (2, 2, 2, 2, 3, 3, 4, 5, 6, 7)
GIVEN_AWAY = 0.1  # the share that is kept of reasons whose pronoun fits one noun only: he, said of a boy
PERSON: Tags = frozenset({"person"})


@dataclass(frozen=True)
class Because:
    """A clause whose reason is said of its subject or of its object."""

    verb: Verb
    subject: Noun
    object: Noun
    subject_plural: bool
    object_plural: bool
    quality: Quality
    of_object: bool
    reason: Reason

    @property
    def antecedent(self) -> tuple[Noun, bool]:
        """What the pronoun stands for, and whether it is plural."""
        return (self.object, self.object_plural) if self.of_object else (self.subject, self.subject_plural)

    @property
    def rival(self) -> tuple[Noun, bool]:
        """The other of the two."""
        return (self.subject, self.subject_plural) if self.of_object else (self.object, self.object_plural)

    @property
    def same_word(self) -> bool:
        """Whether the English pronoun is the same for both, so that it says nothing."""
        return _pronoun_word(*self.antecedent) == _pronoun_word(*self.rival)

    @property
    def needs_sense(self) -> bool:
        """Whether only the reason's meaning decides between il and elle, or ils and elles."""
        return self.same_word and self.antecedent[0].gender != self.rival[0].gender


class Pronouns(Phrases):
    """Clauses with a pronoun, each of an exact length."""

    def because(self, size: int) -> list[Part]:
        """`the cat drank the water because it was thirsty`: `size` words."""
        plan = self.plan_because()
        very = "adverbs" in self.rules and plan.quality.graded and size >= 10 and self.chance(0.2)
        self.ban(plan)
        return [self.say_because(plan, size - 4 - very, very)]

    def plan_because(self) -> Because:
        """A verb, who, what, and a reason that can be meant of one of them only.

        Left to chance, one in nine would need its meaning to be understood, and who never learns to would be
        right eight times in nine. So most of the others are dropped.
        """
        for _ in range(4 * TRIES):
            reason = self.pick(grammar().reasons)
            of_object = self.chance(0.55)
            names = reason.object if of_object else reason.subject
            verb = self.words.verb_named.get(reason.verb)
            if not names or verb is None or not self._can_say(verb, reason):
                continue
            subject_tags, object_tags = self.pick(verb.frames)
            subject = self.noun(subject_tags)
            thing = self.noun(self._object_tags(reason, subject, object_tags))
            plural = [
                noun.countable and "plural" in self.rules and self.chance(0.3) for noun in (subject, thing)
            ]
            name = self.pick(names)
            antecedent = thing if of_object else subject
            quality = next((q for q in self.words.said_of[antecedent] if q.en == name), None)
            if quality is None or subject is thing:
                continue
            plan = Because(verb, subject, thing, *plural, quality, of_object, reason)
            if self.is_clear(plan) and (plan.needs_sense or self.chance(GIVEN_AWAY)):
                self.said.append(verb)
                return plan
        raise DeadEnd

    def _can_say(self, verb: Verb, reason: Reason) -> bool:
        if verb.aux == "être" and not self.agreement_is_fine(self.past):
            return False
        return not reason.where or "prepositions" in self.rules

    def _object_tags(self, reason: Reason, subject: Noun, tags: Tags) -> Tags:
        if reason.object_tag:
            return frozenset({reason.object_tag})
        if not reason.where:
            return tags
        frames = self.words.preposition_named[reason.where].frames
        return self.pick([ground for head, ground in frames if head & subject.tags])

    def is_clear(self, plan: Because) -> bool:
        """Whether meaning, or the pronoun itself, leaves one reading.

        A wolf that eats a hen "because it was hungry" is clear although hens can be hungry too.
        """
        if plan.verb.name == "eat" and "prey" in plan.object.tags:
            return True
        return not (plan.same_word and _may_be(plan.rival[0], plan.quality.en))

    def ban(self, plan: Because) -> None:
        noun, plural = plan.antecedent
        self.banned = _rivals_by_quality(noun, plural, plan.quality.en)

    def say_because(self, plan: Because, size: int, very: bool = False) -> Part:
        """The plan with `size` words before because."""
        tail = plan.verb.n_words + (1 if plan.reason.where else 0)
        left = size - tail
        widths = [1 + noun.n_words for noun in (plan.subject, plan.object)]
        if left < sum(widths):
            raise DeadEnd
        n_words = min(max(widths[0], self.pick(SUBJECT_SIZES)), left - widths[1])
        self.taken += [plan.subject, plan.object]
        subject = self.phrase_of(plan.subject, n_words, plural=plan.subject_plural)
        thing = self.phrase_of(
            plan.object, left - n_words, plural=plan.object_plural, definite=plan.verb.definite
        )
        clause = Clause(subject, plan.verb, past=self.past)
        if plan.reason.where:
            clause.place = Place(self.words.preposition_named[plan.reason.where], thing)
        else:
            clause.object = thing
            self.combinations.append((plan.verb.name, plan.object.name))
        meant = thing if plan.of_object else subject
        if not self.may_say(plan.quality, meant):
            raise DeadEnd
        who = pronoun_for(meant)
        return Part(clause, because=State(who, plan.quality, past=self.past, very=very))

    def contrast(self, size: int) -> tuple[Part, Part]:
        """The same clause with a reason that is said of its subject, and one that is said of its object."""
        self.begin()
        plan = self.plan_because()
        (_, plural), (other, _) = plan.antecedent, plan.rival
        names = plan.reason.subject if plan.of_object else plan.reason.object
        qualities = [q for q in self.words.said_of[other] if q.en in names]
        turned = replace(
            plan,
            subject_plural=plural,
            object_plural=plural,
            quality=self.pick(qualities),
            of_object=not plan.of_object,
        )
        plan = replace(plan, subject_plural=plural, object_plural=plural)
        countable = other.countable or not plural
        if not (plan.needs_sense and countable):
            raise DeadEnd
        if not (self.is_clear(plan) and self.is_clear(turned)):
            raise DeadEnd
        self.ban(turned)
        rivals = self.banned
        self.ban(plan)
        self.banned |= rivals
        part = self.say_because(plan, size - 4)
        clause = part.clause
        meant = clause.subject if plan.of_object else clause.object or clause.place.phrase
        if not self.may_say(turned.quality, meant):
            raise DeadEnd
        other_part = Part(clause, because=State(pronoun_for(meant), turned.quality, past=self.past))
        return (other_part, part) if plan.of_object else (part, other_part)

    def linked(self, size: int) -> list[Part]:
        """`the boy bought the apple and ate it`: `size` words."""
        verb, then, subject, thing, subject_tags = self._plan_linked()
        plural = thing.countable and "plural" in self.rules and self.chance(0.3)
        self.banned = _rivals_by_verb(thing, plural, then)
        if subject in self.banned:
            raise DeadEnd
        silent = bool(subject.tags & subject_tags) and self.chance(0.5)
        negated = "negation" in self.rules and self.chance(0.35)
        n_second = 0 if silent else self.pick((2, 2, 3))
        left = size - 1 - n_second - then.n_words - 1 - 2 * negated - verb.n_words
        widths = [1 + noun.n_words for noun in (subject, thing)]
        if left < sum(widths):
            raise DeadEnd
        n_words = min(max(widths[0], self.pick(SUBJECT_SIZES)), left - widths[1])
        self.taken += [subject, thing]
        first = self.phrase_of(subject, n_words)
        what = self.phrase_of(thing, left - n_words, plural=plural, definite=verb.definite)
        who = first if silent else self.phrase(n_second, subject_tags, definite=True, simple=True)
        second = Clause(who, then, pronoun_for(what), past=self.past, negated=negated, silent=silent)
        self.combinations += [(verb.name, thing.name), (then.name, thing.name)]
        return [Part(Clause(first, verb, what, past=self.past)), Part(second, "but" if negated else "and")]

    def _plan_linked(self) -> tuple[Verb, Verb, Noun, Noun, Tags]:
        verb = self.pick(self.words.first_steps)
        subject_tags, object_tags = self.pick(verb.frames)
        subject, thing = self.noun(subject_tags), self.noun(object_tags)
        then, second_tags = self.pick(self.words.done_to[thing])
        if then.step <= verb.step or then.fr == verb.fr or subject is thing:
            raise DeadEnd
        self.said += [verb, then]
        return verb, then, subject, thing, second_tags

    def about_somebody(self, size: int) -> list[Part]:
        """`the boy sees her`: somebody who is not in the sentence."""
        verb, subjects = self.pick(self.words.done_to_people)
        subject_tags = self.pick(subjects)
        gender = "f" if "gender" in self.rules and self.chance(0.5) else "m"
        left = size - verb.n_words - 1
        negated = "negation" in self.rules and left >= 4 and self.chance(0.3)
        self.banned = frozenset(n for n in self.words.pool(PERSON) if n.gender == gender)
        subject = self.phrase(left - 2 * negated, subject_tags, definite=negated)
        return [Part(Clause(subject, verb, Pronoun(gender), past=self.past, negated=negated))]


def _pronoun_word(noun: Noun, plural: bool) -> str:
    return "they" if plural else "it" if not noun.human else "he" if noun.gender == "m" else "she"


@cache
def _may_be(noun: Noun, quality: str) -> bool:
    """Whether the English word could be said of it, in whatever sense."""
    return any(q.en == quality and q.is_said_of & noun.tags for q in lexicon().qualities)


@cache
def _rivals_by_quality(noun: Noun, plural: bool, quality: str) -> frozenset[Noun]:
    """What else the pronoun could mean, if this is said of it."""
    return frozenset(other for other in _same_pronoun(noun, plural) if _may_be(other, quality))


@cache
def _rivals_by_verb(noun: Noun, plural: bool, verb: Verb) -> frozenset[Noun]:
    """What else the pronoun could mean, if this is done to it."""
    objects = frozenset().union(*(tags for _, tags in verb.frames))
    return frozenset(other for other in _same_pronoun(noun, plural) if other.tags & objects)


def _same_pronoun(noun: Noun, plural: bool) -> list[Noun]:
    """The nouns that share its pronoun, each taken in the number of this one."""
    wanted = _pronoun_word(noun, plural)
    return [
        other
        for other in lexicon().nouns
        if (other.countable or not plural) and _pronoun_word(other, plural) == wanted
    ]
