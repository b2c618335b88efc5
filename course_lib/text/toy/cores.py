"""The core of a sentence: what it is about, in as few words as possible; `grow.py` extends it.

    >>> sentence = Sentence(random.Random(0), 12)
    >>> build_because(sentence)                      # such as: the cat drank the water because it was cold
    >>> pronoun = sentence.main_clauses[0].because.subject
    >>> name = pronoun.antecedent.noun.name          # such as: 'water'

A pronoun is planned before the words around it: every other noun it could refer to, in English or in French,
is banned from the sentence, so that it has one reading. To add a kind of sentence, write a function like the
ones below and add it to CORES.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from course_lib.text.toy import sense
from course_lib.text.toy.grow import make_plain_clause
from course_lib.text.toy.lexicon import LAST, Quality, Reason, Tags, Verb, grammar, lexicon
from course_lib.text.toy.sentence import P_PLURAL, DeadEnd, Sentence, reject_if
from course_lib.text.toy.tree import Clause, Phrase, Place, Pronoun

PLAN_TRIES = 60

# Probability that
P_TELLING = 0.6  # the pronoun of a reason can be resolved by its meaning alone
P_REASON_OF_OBJECT = 0.55  # a reason is about the object, not the subject
P_SAME_SUBJECT = 0.5  # "and ate it", not "and the girl ate it"
P_NEGATED = 0.5  # "but did not eat it"
P_FEMININE = 0.5  # "her", not "him"


def compose(sentence: Sentence) -> None:
    """Draw the kind of sentence and build its core; where the words do not suffice, a plain clause."""
    draw, percent = sentence.random(), 0
    for core in CORES:
        percent += core.percent
        if draw < percent / 100:
            if sentence.words_left >= core.min_words:
                return core.build(sentence)
            break
    sentence.main_clauses.append(make_plain_clause(sentence))


def build_question(sentence: Sentence) -> None:
    """`does the cat sleep ?`"""
    sentence.question = True
    sentence.spend(1)
    clause = make_plain_clause(sentence)
    if clause.verb:
        sentence.spend(1)  # do
    sentence.main_clauses.append(clause)


# ---- because


class Plan(NamedTuple):
    """A clause whose reason is about its subject (`of` 0) or about its object (`of` 1)."""

    reason: Reason
    verb: Verb
    nouns: tuple[sense.NounForm, sense.NounForm]
    of: int
    quality: Quality

    @property
    def rivals(self) -> frozenset[sense.NounForm]:
        """What else the pronoun could mean."""
        return sense.rivals(*self.nouns[self.of], sense.could_be(self.quality.en))

    @property
    def unambiguous(self) -> bool:
        return self.nouns[1 - self.of] not in self.rivals

    @property
    def telling(self) -> bool:
        """Whether the English pronoun fits both nouns, so that only meaning decides between il and elle."""
        subject, obj = self.nouns
        same_word = sense.pronoun_word(*subject) == sense.pronoun_word(*obj)
        return same_word and subject.noun.gender != obj.noun.gender


def build_because(sentence: Sentence) -> None:
    """`the cat drank the water because it was thirsty`."""
    plan = plan_because(sentence, sentence.with_probability(P_TELLING))
    sentence.banned = plan.rivals
    clause, phrases = _build_clause(sentence, plan)
    clause.because = _build_reason(sentence, plan, phrases)
    sentence.clauses.append(clause.because)


def build_contrast(sentence: Sentence) -> tuple[Clause, tuple[Clause, Clause]]:
    """A clause and two reasons for it: the first is about its subject, the second about its object."""
    plan = plan_because(sentence, telling=True)
    names = plan.reason.names[1 - plan.of]
    qualities = [quality for quality in sense.said_of(plan.nouns[1 - plan.of].noun) if quality.en in names]
    opposite = plan._replace(of=1 - plan.of, quality=sentence.pick(qualities))
    reject_if(not opposite.unambiguous)
    sentence.banned = plan.rivals | opposite.rivals
    clause, phrases = _build_clause(sentence, plan)
    reasons = [_build_reason(sentence, each_plan, phrases) for each_plan in (plan, opposite)]
    clause.because = reasons[0]
    return clause, (reasons[plan.of], reasons[1 - plan.of])


def plan_because(sentence: Sentence, telling: bool) -> Plan:
    """A verb, its subject and object, and a reason that can be about only one of them."""
    plural = sentence.with_probability(P_PLURAL) if telling else None  # it and it, or they and they
    for _ in range(PLAN_TRIES):
        reason = sentence.pick(grammar().reasons)
        of = int(sentence.with_probability(P_REASON_OF_OBJECT))
        if not reason.names[of]:
            continue
        verb = lexicon().verb(reason.verb)
        subject_tags, object_tags = sentence.pick(verb.frames)
        subject = sentence.noun(subject_tags, plural)
        if telling and sense.pronoun_word(*subject) not in ("it", "they"):
            continue
        obj = sentence.noun(_narrow_tags(sentence, reason, subject, object_tags), plural)
        name, antecedent = sentence.pick(reason.names[of]), (subject, obj)[of]
        quality = next((q for q in sense.said_of(antecedent.noun) if q.en == name), None)
        spread_out = reason.where and obj.plural and not subject.plural  # one cat sleeps in one house
        if not quality or subject.noun is obj.noun or spread_out:
            continue
        plan = Plan(reason, verb, (subject, obj), of, quality)
        if plan.telling == telling and plan.unambiguous:
            return plan
    raise DeadEnd


def _narrow_tags(sentence: Sentence, reason: Reason, subject: sense.NounForm, object_tags: Tags) -> Tags:
    """The tags of an object, or of a place, to which the reason applies."""
    if reason.object_tag:
        return frozenset({reason.object_tag})
    if not reason.where:
        return object_tags
    frames = grammar().preposition(reason.where).frames
    return sentence.pick([tags for head_tags, tags in frames if head_tags & subject.noun.tags])


def _build_clause(sentence: Sentence, plan: Plan) -> tuple[Clause, tuple[Phrase, Phrase]]:
    """The clause of a plan; its subject, and its object or place."""
    (subject, obj), verb, where = plan.nouns, plan.verb, plan.reason.where
    sentence.spend(verb.n_words + bool(where) + 4)  # because it was cold
    several_places = bool(where) and obj.plural  # not "slept in three schools"
    phrases = (
        sentence.phrase(subject),
        sentence.phrase(obj, definite=verb.definite or several_places, closed=verb.bare),
    )
    clause = Clause(phrases[0], verb, firm=True)
    if where:
        clause.place = Place(grammar().preposition(where), phrases[1])
    else:
        clause.object = phrases[1]
    sentence.used.append(verb.fr)
    sentence.main_clauses.append(sentence.add_clause(clause))
    return clause, phrases


def _build_reason(sentence: Sentence, plan: Plan, phrases: tuple[Phrase, Phrase]) -> Clause:
    antecedent = phrases[plan.of]
    sentence.describe(antecedent, plan.quality.sorts)
    return Clause(Pronoun.of(antecedent), quality=plan.quality, firm=True)


# ---- pronouns as objects


def build_two_verbs(sentence: Sentence) -> None:
    """`the boy bought the apple and ate it`, `but did not eat it`, `and the girl ate it`."""
    verb, (subject_tags, object_tags) = sentence.verb(
        [pair for pair in sense.frames(True) if pair[0].step < LAST]
    )
    who, what = sentence.noun(subject_tags), sentence.noun(object_tags)
    reject_if(who.noun is what.noun)
    later = [pair for pair in sense.done_to(what.noun) if pair[0].after <= verb.step < pair[0].step]
    second_verb, agent_tags = sentence.verb(later)
    sentence.banned = sense.rivals(*what, sense.could_be_done_to(second_verb), second_verb.lasts)  # l' aimait
    # The agent of the second verb can't be its object, and so is no rival.
    same_subject = bool(who.noun.tags & agent_tags) and (
        second_verb.lasts or sentence.with_probability(P_SAME_SUBJECT)
    )
    # "bought the cake and liked it" would be a passé composé; "but the king did not find it" is unclear.
    negated = second_verb.lasts or (same_subject and sentence.with_probability(P_NEGATED))
    reject_if(not same_subject and (negated or who in sentence.banned))
    sentence.spend(4 if negated else 2)  # and … it, but did not … it
    subject = sentence.phrase(who)
    # "saw the cat that slept and followed it": a modifier of the object would attract the second verb.
    obj = sentence.phrase(what, definite=verb.definite, closed=verb.bare or same_subject)
    first = sentence.add_clause(Clause(subject, verb, obj, firm=True))
    agent = (
        subject if same_subject else sentence.phrase(sentence.noun(agent_tags), definite=True, closed=True)
    )
    conjunction = "but" if negated else "and"
    second = Clause(agent, second_verb, Pronoun.of(obj), negated=negated, joined_by=conjunction)
    sentence.describe(agent, second_verb.bars[0])
    sentence.describe(obj, second_verb.bars[1])
    sentence.combinations.append((second_verb.name, obj.noun.name))
    sentence.main_clauses += [first, second]


def build_outside_object(sentence: Sentence) -> None:
    """`the boy sees her`: somebody not in the sentence. Not `loved`: `l' aimait` could be him, her or it."""
    gender = "f" if sentence.with_probability(P_FEMININE) else "m"
    sentence.banned = sense.rivals_of_somebody(gender)
    choices = [(verb, tags) for verb, tags in sense.frames(True) if "person" in tags[1] and not verb.lasts]
    verb, (subject_tags, _) = sentence.verb(choices)
    sentence.spend(1)
    subject = sentence.phrase(sentence.noun(subject_tags))
    sentence.main_clauses.append(sentence.add_clause(Clause(subject, verb, Pronoun(gender))))


# ---- which core, and how often


class Core(NamedTuple):
    """A function that builds a core, how often it is drawn, and the fewest words it needs."""

    build: Callable[[Sentence], None]
    percent: int
    min_words: int


CORES = (  # otherwise: a plain clause
    Core(build_question, percent=14, min_words=5),
    Core(build_because, percent=26, min_words=9),
    Core(build_two_verbs, percent=16, min_words=8),
    Core(build_outside_object, percent=6, min_words=4),
)
