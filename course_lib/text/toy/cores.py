"""The core of a sentence: what it is about, in as few words as possible; `grow.py` extends it.

    >>> sentence = Sentence(random.Random(0), 12)
    >>> build_because(sentence)                      # such as: the cat drank the water because it was cold
    >>> pronoun = sentence.main_clauses[0].because.subject
    >>> name = pronoun.antecedent.noun.name          # such as: 'water'

A pronoun is planned before the words around it: every other noun it could refer to, in English or in French,
is banned from the sentence. To add a kind of sentence, write a function like these and add it to CORES.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from typing import NamedTuple

from course_lib.text.toy import sense
from course_lib.text.toy.grow import make_plain_clause
from course_lib.text.toy.lexicon import LAST, Quality, Reason, Tags, Verb, grammar, lexicon
from course_lib.text.toy.sense import NounForm
from course_lib.text.toy.sentence import P_PLURAL, DeadEnd, Sentence, reject_if
from course_lib.text.toy.tree import Clause, Phrase, PrepositionalPhrase, Pronoun

PLAN_TRIES = 60

# Probability that
P_TELLING = 0.6  # the pronoun of a reason can be resolved by its meaning alone
P_REASON_OF_OBJECT = 0.55  # a reason is about the object, not the subject
P_SAME_SUBJECT = 0.5  # "and ate it", not "and the girl ate it"
P_NEGATED = 0.5  # "but did not eat it"
P_FEMININE = 0.5  # "her", not "him"


def compose(sentence: Sentence) -> None:
    """Draw the kind of sentence and build its core, or a plain clause where that needs more words."""
    draw, limits = sentence.random(), accumulate(core.percent for core in CORES)
    core = next((core for core, limit in zip(CORES, limits, strict=True) if draw < limit / 100), None)
    if core and sentence.words_left >= core.min_words:
        core.build(sentence)
    else:
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
    """A clause, and a reason for it that is about its subject (`about` is 0) or its object (1)."""

    reason: Reason
    verb: Verb
    nouns: tuple[NounForm, NounForm]
    about: int
    quality: Quality

    @property
    def rivals(self) -> frozenset[NounForm]:
        """What else the pronoun could refer to."""
        return sense.rivals(*self.nouns[self.about], sense.kinds_described_by(self.quality.en))

    @property
    def unambiguous(self) -> bool:
        return self.nouns[1 - self.about] not in self.rivals

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
    other = 1 - plan.about
    possible = sense.qualities_of(plan.nouns[other].noun)
    quality = sentence.pick([quality for quality in possible if quality.en in plan.reason.names[other]])
    opposite = plan._replace(about=other, quality=quality)
    reject_if(not opposite.unambiguous)
    sentence.banned = plan.rivals | opposite.rivals
    clause, phrases = _build_clause(sentence, plan)
    reasons = [_build_reason(sentence, reason_plan, phrases) for reason_plan in (plan, opposite)]
    clause.because = reasons[0]
    return clause, (reasons[plan.about], reasons[other])


def plan_because(sentence: Sentence, telling: bool) -> Plan:
    """A verb, its subject and object, and a reason that can be about only one of them."""
    plural = sentence.with_probability(P_PLURAL) if telling else None  # it and it, or they and they
    for _ in range(PLAN_TRIES):
        reason = sentence.pick(grammar().reasons)
        about = int(sentence.with_probability(P_REASON_OF_OBJECT))
        if not reason.names[about]:
            continue
        verb = lexicon().verb(reason.verb)
        subject_tags, object_tags = sentence.pick(verb.frames)
        subject = sentence.noun(subject_tags, plural)
        if telling and sense.pronoun_word(*subject) not in ("it", "they"):
            continue
        obj = sentence.noun(_narrow_tags(sentence, reason, subject, object_tags), plural)
        name, noun = sentence.pick(reason.names[about]), (subject, obj)[about].noun
        quality = lexicon().quality(name, noun)
        spread_out = reason.where and obj.plural and not subject.plural  # one cat sleeps in one house
        if not quality or subject.noun is obj.noun or spread_out:
            continue
        plan = Plan(reason, verb, (subject, obj), about, quality)
        if plan.telling == telling and plan.unambiguous:
            return plan
    raise DeadEnd


def _narrow_tags(sentence: Sentence, reason: Reason, subject: NounForm, object_tags: Tags) -> Tags:
    """The tags of an object, or of a location, to which the reason applies."""
    if reason.object_tag:
        return frozenset({reason.object_tag})
    if not reason.where:
        return object_tags
    frames = grammar().preposition(reason.where).frames
    return sentence.pick([tags for head_tags, tags in frames if head_tags & subject.noun.tags])


def _build_clause(sentence: Sentence, plan: Plan) -> tuple[Clause, tuple[Phrase, Phrase]]:
    """The clause of a plan; its subject, and its object or location."""
    (subject, obj), verb, where = plan.nouns, plan.verb, plan.reason.where
    sentence.spend(verb.n_words + bool(where) + 4)  # because it was cold
    subject_phrase = sentence.phrase(subject)
    definite = verb.definite or bool(where and obj.plural)  # not "slept in three schools"
    object_phrase = sentence.phrase(obj, definite=definite, closed=verb.bare)
    clause = Clause(subject_phrase, verb, firm=True)
    if where:
        clause.location = PrepositionalPhrase(grammar().preposition(where), object_phrase)
    else:
        clause.object = object_phrase
    sentence.used.append(verb.fr)
    sentence.main_clauses.append(sentence.add_clause(clause))
    return clause, (subject_phrase, object_phrase)


def _build_reason(sentence: Sentence, plan: Plan, phrases: tuple[Phrase, Phrase]) -> Clause:
    antecedent = phrases[plan.about]
    sentence.describe(antecedent, plan.quality.sorts)
    return Clause(Pronoun.of(antecedent), quality=plan.quality, firm=True)


# ---- pronouns as objects


def build_two_verbs(sentence: Sentence) -> None:
    """`the boy bought the apple and ate it`, `but did not eat it`, `and the girl ate it`."""
    choices = [(verb, frame) for verb, frame in sense.verb_frames(True) if verb.step < LAST]
    first_verb, (subject_tags, object_tags) = sentence.verb(choices)
    subject_noun, object_noun = sentence.noun(subject_tags), sentence.noun(object_tags)
    reject_if(subject_noun.noun is object_noun.noun)
    choices = sense.verbs_with_object(object_noun.noun)
    choices = [(verb, tags) for verb, tags in choices if verb.after <= first_verb.step < verb.step]
    second_verb, agent_tags = sentence.verb(choices)
    lasts, kinds = second_verb.lasts, sense.kinds_of_object(second_verb)
    sentence.banned = sense.rivals(*object_noun, kinds, either=lasts)  # l' aimait
    # The agent of the second verb can't be its object, and so is no rival.
    fits = bool(subject_noun.noun.tags & agent_tags)
    same_subject = fits and (lasts or sentence.with_probability(P_SAME_SUBJECT))
    # "bought the cake and liked it" would be a passé composé; "but the king did not find it" is unclear.
    negated = lasts or (same_subject and sentence.with_probability(P_NEGATED))
    reject_if(not same_subject and (negated or subject_noun in sentence.banned))
    sentence.spend(4 if negated else 2)  # and … it, but did not … it
    subject = agent = sentence.phrase(subject_noun)
    # "saw the cat that slept and followed it": a modifier of the object would attract the second verb.
    obj = sentence.phrase(object_noun, definite=first_verb.definite, closed=first_verb.bare or same_subject)
    first = sentence.add_clause(Clause(subject, first_verb, obj, firm=True))
    if not same_subject:
        agent = sentence.phrase(sentence.noun(agent_tags), definite=True, closed=True)
    conjunction = "but" if negated else "and"
    second = Clause(agent, second_verb, Pronoun.of(obj), negated=negated, joined_by=conjunction)
    sentence.describe(agent, second_verb.bars[0])
    sentence.describe(obj, second_verb.bars[1])
    sentence.combinations.append((second_verb.name, obj.noun.name))
    sentence.main_clauses += [first, second]


def build_outside_object(sentence: Sentence) -> None:
    """`the boy sees her`: a person outside the sentence. Not `loved`: `l' aimait` could be him, her or it."""
    gender = "f" if sentence.with_probability(P_FEMININE) else "m"
    sentence.banned = sense.rivals_of_person(gender)
    frames = sense.verb_frames(True)
    choices = [(verb, tags) for verb, tags in frames if "person" in tags[1] and not verb.lasts]
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
