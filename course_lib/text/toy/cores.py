"""What a sentence is about, in as few words as it takes; `grow.py` does the rest.

    >>> draft = Draft(random.Random(0), 12)
    >>> because(draft)                               # such as: the cat drank the water because it was cold
    >>> pronoun = draft.sentence.parts[0].because.subject
    >>> name = pronoun.stands_for.noun.name          # such as: 'water'

A pronoun is planned before the words around it: whatever else it could mean, in English or in French, is
banned from the sentence, so that it has one reading. Another kind of sentence is another function here, and a
line in `compose`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from course_lib.text.toy.draft import PLURAL, DeadEnd, Draft
from course_lib.text.toy.grammar import Reason, grammar
from course_lib.text.toy.grow import plain
from course_lib.text.toy.lexicon import Quality, Tags, Verb, lexicon
from course_lib.text.toy.sense import (
    Counted,
    could_be,
    could_be_done_to,
    done_to,
    first_steps,
    frames,
    pronoun_word,
    rivals,
    rivals_of_somebody,
    said_of,
)
from course_lib.text.toy.tree import Clause, Part, Phrase, Place, Pronoun, Sentence, State

TRIES = 60
TELLING = 0.6  # the share of reasons whose pronoun can be understood by their sense alone


def compose(draft: Draft) -> None:
    """The core of some sentence, as the draft's parts."""
    kind, room = draft.random(), draft.room
    if kind < 0.14 and room >= 5:
        question(draft)
    elif 0.14 < kind < 0.4 and room >= 9:
        because(draft)
    elif 0.4 < kind < 0.56 and room >= 8:
        linked(draft)
    elif 0.56 < kind < 0.62 and room >= 4:
        about_somebody(draft)
    else:
        draft.sentence.parts.append(Part(plain(draft)))


def question(draft: Draft) -> None:
    """`does the cat sleep ?`"""
    draft.sentence.question = True
    draft.spend(1)
    clause = plain(draft)
    if isinstance(clause, Clause):
        draft.spend(1)  # do
    draft.sentence.parts.append(Part(clause))


# ---- because


class Plan(NamedTuple):
    """A clause whose reason is said of its subject (`of` 0) or of its object (`of` 1)."""

    reason: Reason
    verb: Verb
    nouns: tuple[Counted, Counted]
    of: int
    quality: Quality

    @property
    def rivals(self) -> frozenset[Counted]:
        """What else the pronoun could mean."""
        return rivals(*self.nouns[self.of], could_be(self.quality.en))

    @property
    def clear(self) -> bool:
        return self.nouns[1 - self.of] not in self.rivals

    @property
    def telling(self) -> bool:
        """Whether the English pronoun fits both, so that only sense decides between il and elle."""
        one, other = self.nouns
        return pronoun_word(*one) == pronoun_word(*other) and one[0].gender != other[0].gender


def because(draft: Draft) -> None:
    """`the cat drank the water because it was thirsty`."""
    plan = plan_because(draft, draft.chance(TELLING))
    draft.banned = plan.rivals
    clause, phrases = _reasoned(draft, plan)
    state = _reason(draft, plan, phrases)
    draft.clauses.append(state)
    draft.sentence.parts.append(Part(clause, because=state))


def contrast(draft: Draft) -> tuple[State, State]:
    """A clause and two reasons for it: the first is said of its subject, the second of its object."""
    plan = plan_because(draft, telling=True)
    names = plan.reason.names[1 - plan.of]
    fitting = [one for one in said_of(plan.nouns[1 - plan.of][0]) if one.en in names]
    turned = plan._replace(of=1 - plan.of, quality=draft.pick(fitting))
    if not turned.clear:
        raise DeadEnd
    draft.banned = plan.rivals | turned.rivals
    clause, phrases = _reasoned(draft, plan)
    states = [_reason(draft, one, phrases) for one in (plan, turned)]
    draft.sentence.parts.append(Part(clause, because=states[0]))
    return states[plan.of], states[1 - plan.of]


def plan_because(draft: Draft, telling: bool) -> Plan:
    """A verb, who, what, and a reason that can be meant of one of them only."""
    number = draft.chance(PLURAL) if telling else None  # it and it, or they and they
    for _ in range(TRIES):
        reason = draft.pick(grammar().reasons)
        of = int(draft.chance(0.55))
        if not reason.names[of]:
            continue
        verb = lexicon().verb(reason.verb)
        subjects, things = draft.pick(verb.frames)
        subject = draft.noun(subjects, number)
        if telling and pronoun_word(*subject) not in ("it", "they"):
            continue
        thing = draft.noun(_things(draft, reason, subject, things), number)
        name, (noun, _) = draft.pick(reason.names[of]), (subject, thing)[of]
        quality = next((one for one in said_of(noun) if one.en == name), None)
        alone = reason.where and thing[1] and not subject[1]  # one cat sleeps in one house
        if not quality or subject[0] is thing[0] or alone:
            continue
        plan = Plan(reason, verb, (subject, thing), of, quality)
        if plan.telling == telling and plan.clear:
            return plan
    raise DeadEnd


def _things(draft: Draft, reason: Reason, subject: Counted, things: Tags) -> Tags:
    if reason.object_tag:
        return frozenset({reason.object_tag})
    if not reason.where:
        return things
    frames = grammar().preposition(reason.where).frames
    return draft.pick([ground for head, ground in frames if head & subject[0].tags])


def _reasoned(draft: Draft, plan: Plan) -> tuple[Clause, tuple[Phrase, Phrase]]:
    """The clause of a plan, its subject and its object."""
    (subject, thing), verb, where = plan.nouns, plan.verb, plan.reason.where
    draft.spend(verb.n_words + bool(where) + 4)  # because it was cold
    several = bool(where) and thing[1]  # nobody sleeps in three schools
    phrases = (
        draft.phrase_of(*subject),
        draft.phrase_of(*thing, definite=verb.definite or several, closed=verb.bare),
    )
    clause = Clause(phrases[0], verb, firm=True)
    if where:
        clause.place = Place(grammar().preposition(where), phrases[1])
    else:
        clause.object = phrases[1]
    draft.taken.append(verb.fr)
    draft.add_clause(clause)
    return clause, phrases


def _reason(draft: Draft, plan: Plan, phrases: tuple[Phrase, Phrase]) -> State:
    meant = phrases[plan.of]
    draft.describe(meant, plan.quality.sorts)
    return State(Pronoun.of(meant), plan.quality, firm=True)


# ---- pronouns as objects


def linked(draft: Draft) -> None:
    """`the boy bought the apple and ate it`, `but did not eat it`, `and the girl ate it`."""
    verb, (subjects, things) = draft.verb(first_steps())
    who, what = draft.noun(subjects), draft.noun(things)
    if who[0] is what[0]:
        raise DeadEnd
    then, agents = draft.verb([one for one in done_to(what[0]) if one[0].after <= verb.step < one[0].step])
    draft.banned = rivals(*what, could_be_done_to(then), then.lasts)  # l' aimait
    # Who does it cannot be what it is done to, and is no rival.
    same = bool(who[0].tags & agents) and (then.lasts or draft.chance(0.5))
    # "bought the cake and liked it" would be a passé composé, "but the king did not find it" a riddle.
    negated = then.lasts or (same and draft.chance(0.5))
    if (who in draft.banned and not same) or (negated and not same):
        raise DeadEnd
    draft.spend(4 if negated else 2)  # and … it, but did not … it
    subject = draft.phrase_of(*who)
    # "saw the cat that slept and followed it": what lies behind the object must not take the second verb.
    thing = draft.phrase_of(*what, definite=verb.definite, closed=verb.bare or same)
    first = draft.add_clause(Clause(subject, verb, thing, firm=True))
    agent = subject if same else draft.phrase(agents, definite=True, closed=True)
    second = Clause(agent, then, Pronoun.of(thing), negated=negated)
    draft.describe(agent, then.bars[0])
    draft.describe(thing, then.bars[1])
    draft.combinations.append((then.name, thing.noun.name))
    draft.sentence.parts += [Part(first), Part(second, "but" if negated else "and")]


def about_somebody(draft: Draft) -> None:
    """`the boy sees her`: somebody outside. Not loved: `l' aimait` is him, her or it."""
    gender = "f" if draft.chance(0.5) else "m"
    draft.banned = rivals_of_somebody(gender)
    people: Tags = frozenset({"person"})
    choices = [(verb, left) for verb, (left, right) in frames(True) if right & people and not verb.lasts]
    verb, subjects = draft.verb(choices)
    draft.spend(1)
    clause = draft.add_clause(Clause(draft.phrase(subjects), verb, Pronoun(gender)))
    draft.sentence.parts.append(Part(clause))


def with_reason(sentence: Sentence, state: State) -> Sentence:
    """The same sentence with another reason."""
    parts = [replace(part, because=state) if part.because else part for part in sentence.parts]
    return replace(sentence, parts=parts)
