"""What a sentence is about, in as few words as it takes; `grow.py` does the rest.

    >>> sentence = Sentence(random.Random(0), 12)
    >>> because(sentence)                            # such as: the cat drank the water because it was cold
    >>> pronoun = sentence.parts[0].because.subject
    >>> name = pronoun.stands_for.noun.name          # such as: 'water'

A pronoun is planned before the words around it: whatever else it could mean, in English or in French, is
banned from the sentence, so that it has one reading. Another kind of sentence is another function here, and a
line in `compose`.
"""

from __future__ import annotations

from typing import NamedTuple

from course_lib.text.toy import sense
from course_lib.text.toy.grow import plain
from course_lib.text.toy.lexicon import LAST, Quality, Reason, Tags, Verb, grammar, lexicon
from course_lib.text.toy.sentence import PLURAL, DeadEnd, Sentence, avoid
from course_lib.text.toy.tree import Clause, Phrase, Place, Pronoun

PLAN_TRIES = 60
TELLING = 0.6  # the share of reasons whose pronoun can be understood by their sense alone


def compose(sentence: Sentence) -> None:
    """The core of some sentence, as the sentence's parts."""
    kind, room = sentence.random(), sentence.room
    if kind < 0.14 and room >= 5:
        question(sentence)
    elif 0.14 < kind < 0.4 and room >= 9:
        because(sentence)
    elif 0.4 < kind < 0.56 and room >= 8:
        linked(sentence)
    elif 0.56 < kind < 0.62 and room >= 4:
        about_somebody(sentence)
    else:
        sentence.parts.append(plain(sentence))


def question(sentence: Sentence) -> None:
    """`does the cat sleep ?`"""
    sentence.question = True
    sentence.spend(1)
    clause = plain(sentence)
    if clause.verb:
        sentence.spend(1)  # do
    sentence.parts.append(clause)


# ---- because


class Plan(NamedTuple):
    """A clause whose reason is said of its subject (`of` 0) or of its object (`of` 1)."""

    reason: Reason
    verb: Verb
    nouns: tuple[sense.Counted, sense.Counted]
    of: int
    quality: Quality

    @property
    def rivals(self) -> frozenset[sense.Counted]:
        """What else the pronoun could mean."""
        return sense.rivals(*self.nouns[self.of], sense.could_be(self.quality.en))

    @property
    def clear(self) -> bool:
        return self.nouns[1 - self.of] not in self.rivals

    @property
    def telling(self) -> bool:
        """Whether the English pronoun fits both, so that only sense decides between il and elle."""
        one, other = self.nouns
        return sense.pronoun_word(*one) == sense.pronoun_word(*other) and one.noun.gender != other.noun.gender


def because(sentence: Sentence) -> None:
    """`the cat drank the water because it was thirsty`."""
    plan = plan_because(sentence, sentence.chance(TELLING))
    sentence.banned = plan.rivals
    clause, phrases = _reasoned(sentence, plan)
    clause.because = _reason(sentence, plan, phrases)
    sentence.clauses.append(clause.because)


def contrast(sentence: Sentence) -> tuple[Clause, tuple[Clause, Clause]]:
    """A clause and two reasons for it: the first is said of its subject, the second of its object."""
    plan = plan_because(sentence, telling=True)
    names = plan.reason.names[1 - plan.of]
    fitting = [one for one in sense.said_of(plan.nouns[1 - plan.of].noun) if one.en in names]
    turned = plan._replace(of=1 - plan.of, quality=sentence.pick(fitting))
    avoid(not turned.clear)
    sentence.banned = plan.rivals | turned.rivals
    clause, phrases = _reasoned(sentence, plan)
    states = [_reason(sentence, one, phrases) for one in (plan, turned)]
    clause.because = states[0]
    return clause, (states[plan.of], states[1 - plan.of])


def plan_because(sentence: Sentence, telling: bool) -> Plan:
    """A verb, who, what, and a reason that can be meant of one of them only."""
    number = sentence.chance(PLURAL) if telling else None  # it and it, or they and they
    for _ in range(PLAN_TRIES):
        reason = sentence.pick(grammar().reasons)
        of = int(sentence.chance(0.55))
        if not reason.names[of]:
            continue
        verb = lexicon().verb(reason.verb)
        subjects, things = sentence.pick(verb.frames)
        subject = sentence.noun(subjects, number)
        if telling and sense.pronoun_word(*subject) not in ("it", "they"):
            continue
        thing = sentence.noun(_things(sentence, reason, subject, things), number)
        name, meant = sentence.pick(reason.names[of]), (subject, thing)[of]
        quality = next((one for one in sense.said_of(meant.noun) if one.en == name), None)
        alone = reason.where and thing.plural and not subject.plural  # one cat sleeps in one house
        if not quality or subject.noun is thing.noun or alone:
            continue
        plan = Plan(reason, verb, (subject, thing), of, quality)
        if plan.telling == telling and plan.clear:
            return plan
    raise DeadEnd


def _things(sentence: Sentence, reason: Reason, subject: sense.Counted, things: Tags) -> Tags:
    if reason.object_tag:
        return frozenset({reason.object_tag})
    if not reason.where:
        return things
    frames = grammar().preposition(reason.where).frames
    return sentence.pick([ground for head, ground in frames if head & subject.noun.tags])


def _reasoned(sentence: Sentence, plan: Plan) -> tuple[Clause, tuple[Phrase, Phrase]]:
    """The clause of a plan, its subject and its object."""
    (subject, thing), verb, where = plan.nouns, plan.verb, plan.reason.where
    sentence.spend(verb.n_words + bool(where) + 4)  # because it was cold
    several = bool(where) and thing.plural  # nobody sleeps in three schools
    phrases = (
        sentence.phrase(subject),
        sentence.phrase(thing, definite=verb.definite or several, closed=verb.bare),
    )
    clause = Clause(phrases[0], verb, firm=True)
    if where:
        clause.place = Place(grammar().preposition(where), phrases[1])
    else:
        clause.object = phrases[1]
    sentence.taken.append(verb.fr)
    sentence.parts.append(sentence.add_clause(clause))
    return clause, phrases


def _reason(sentence: Sentence, plan: Plan, phrases: tuple[Phrase, Phrase]) -> Clause:
    meant = phrases[plan.of]
    sentence.describe(meant, plan.quality.sorts)
    return Clause(Pronoun.of(meant), quality=plan.quality, firm=True)


# ---- pronouns as objects


def linked(sentence: Sentence) -> None:
    """`the boy bought the apple and ate it`, `but did not eat it`, `and the girl ate it`."""
    earlier = [one for one in sense.frames(True) if one[0].step < LAST]
    verb, (subjects, things) = sentence.verb(earlier)
    who, what = sentence.noun(subjects), sentence.noun(things)
    avoid(who.noun is what.noun)
    later = [one for one in sense.done_to(what.noun) if one[0].after <= verb.step < one[0].step]
    then, agents = sentence.verb(later)
    sentence.banned = sense.rivals(*what, sense.could_be_done_to(then), then.lasts)  # l' aimait
    # Who does it cannot be what it is done to, and is no rival.
    same = bool(who.noun.tags & agents) and (then.lasts or sentence.chance(0.5))
    # "bought the cake and liked it" would be a passé composé, "but the king did not find it" a riddle.
    negated = then.lasts or (same and sentence.chance(0.5))
    avoid(not same and (negated or who in sentence.banned))
    sentence.spend(4 if negated else 2)  # and … it, but did not … it
    subject = sentence.phrase(who)
    # "saw the cat that slept and followed it": what lies behind the object must not take the second verb.
    thing = sentence.phrase(what, definite=verb.definite, closed=verb.bare or same)
    first = sentence.add_clause(Clause(subject, verb, thing, firm=True))
    agent = subject if same else sentence.phrase(sentence.noun(agents), definite=True, closed=True)
    joint = "but" if negated else "and"
    second = Clause(agent, then, Pronoun.of(thing), negated=negated, joined_by=joint)
    sentence.describe(agent, then.bars[0])
    sentence.describe(thing, then.bars[1])
    sentence.combinations.append((then.name, thing.noun.name))
    sentence.parts += [first, second]


def about_somebody(sentence: Sentence) -> None:
    """`the boy sees her`: somebody outside. Not loved: `l' aimait` is him, her or it."""
    gender = "f" if sentence.chance(0.5) else "m"
    sentence.banned = sense.rivals_of_somebody(gender)
    to_people = [one for one in sense.frames(True) if "person" in one[1][1] and not one[0].lasts]
    verb, (subjects, _) = sentence.verb(to_people)
    sentence.spend(1)
    subject = sentence.phrase(sentence.noun(subjects))
    sentence.parts.append(sentence.add_clause(Clause(subject, verb, Pronoun(gender))))
