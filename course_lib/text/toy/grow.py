"""Growths extend a sentence with adjectives, locations, relative clauses or negation to the requested length.

    >>> sentence = Sentence(random.Random(0), 9)
    >>> sentence.main_clauses.append(make_plain_clause(sentence))   # such as "the cat sleeps"
    >>> grow(sentence)                          # such as "the very old cat near the river often sleeps"
    True
    >>> sentence.words_left
    0

A growth is a function of the sentence and a node of its tree. It spends words first and attaches what it made
last; where it doesn't fit, it raises `DeadEnd`. To give the language a new rule, write a growth and add it to
a table at the end of this file. A growth that is listed twice is tried twice as often.
"""

from __future__ import annotations

from course_lib.text.toy import sense
from course_lib.text.toy.lexicon import Tags, grammar
from course_lib.text.toy.sentence import Sentence, reject_if
from course_lib.text.toy.tree import Clause, Phrase, PrepositionalPhrase

MAX_FAILURES = 30  # growths that fail before a sentence is given up
DESCRIBABLE: Tags = frozenset({"person", "animal", "thing", "food", "drink", "room"})

# Fewest words that must be left for:
WORDS_MODIFIER = 2
WORDS_STATE = 4  # the water is cold
WORDS_TRANSITIVE = 5  # the boy eats the apple
WORDS_MAIN_CLAUSE = 6

# Probability that
P_MAIN_CLAUSE = 0.02  # the next growth is a main clause, where there is room for one,
MAIN_CLAUSE_WORDS = 70  # plus 1/70 for each word that is left
P_CLAUSE_GROWTH = 0.25  # it belongs to a clause rather than to a noun
P_PREPOSITION = 0.5  # a noun is followed by a prepositional phrase rather than by a relative clause
P_DEFINITE = 0.5  # the noun after a preposition has the or this, never a
P_STATE_RELATIVE = 0.25  # a relative clause is a state: that is old
P_SUBJECT_RELATIVE = 0.35  # its head is the subject: that drinks the milk; otherwise it is the object
P_STATE = 0.18  # a plain clause is a state
P_TRANSITIVE = 0.75  # its verb has an object
P_BUT = 0.25  # a new main clause is joined by but, if that is still unused
P_FIRST = 0.5  # it comes first in the sentence


def grow(sentence: Sentence, *, min_depth: int = 0) -> bool:
    """Spend all remaining words and nest at least `min_depth` deep; return whether that worked."""
    n_failures = 0
    while sentence.words_left or sentence.depth < min_depth:
        if sentence.depth < min_depth:
            depth = sentence.depth
            deepest = [phrase for phrase in sentence.phrases if phrase.depth == depth and not phrase.closed]
            if not deepest or sentence.words_left < WORDS_MODIFIER:
                return False
            step = add_modifier, sentence.pick(deepest)
        elif sentence.words_left >= WORDS_MAIN_CLAUSE and sentence.with_probability(
            P_MAIN_CLAUSE + sentence.words_left / MAIN_CLAUSE_WORDS
        ):
            step = (add_main_clause,)
        elif sentence.with_probability(P_CLAUSE_GROWTH):
            clause = sentence.pick(sentence.clauses)
            step = sentence.pick(STATE_GROWTHS if clause.quality else CLAUSE_GROWTHS), clause
        else:
            growths = PHRASE_GROWTHS if sentence.words_left >= WORDS_MODIFIER else ADJECTIVE_GROWTHS
            step = sentence.pick(growths), sentence.pick(sentence.phrases)
        n_failures += not sentence.attempt(*step)
        if n_failures > MAX_FAILURES:
            return False
    return True


# ---- what belongs to a noun


def add_adjective(sentence: Sentence, phrase: Phrase) -> None:
    """`old`, `old white`: two only where the second is a colour."""
    quality = sentence.pick(sense.adjectives_of(phrase.noun))
    if quality.place == "before":
        reject_if(phrase.before or phrase.very or (phrase.after and not phrase.after.colour))
    else:
        reject_if(phrase.after or (phrase.before and not quality.colour))
    reject_if("contents" in phrase.sorts and "size" not in quality.sorts)  # "a red cup of tea"
    sentence.spend(1)
    sentence.describe(phrase, quality.sorts)
    sentence.combinations.append((quality.en, phrase.noun.name))
    setattr(phrase, quality.place, quality)


def add_very(sentence: Sentence, node: Phrase | Clause) -> None:
    """`the very old house`, before the first adjective; or `is very cold`."""
    quality = node.before or node.after if isinstance(node, Phrase) else node.quality
    reject_if(not quality or not quality.graded or node.very)
    sentence.spend(1)
    node.very = True


def add_modifier(sentence: Sentence, phrase: Phrase) -> None:
    """A prepositional phrase or a relative clause; with both, the clause could modify either noun."""
    depth = _modifier_depth(sentence, phrase)
    if sentence.with_probability(P_PREPOSITION):
        choices, role = sense.prepositions_after(phrase.noun), phrase.role
        verb = role and role.verb  # "the king in the garden went": where is he?
        if verb and (verb.moves or not verb.transitive) and phrase is (role.object or role.subject):
            choices = [(preposition, tags) for preposition, tags in choices if not preposition.one]
        phrase.modifier = make_prepositional_phrase(sentence, choices, depth, phrase)
    else:
        phrase.modifier = make_relative(sentence, phrase, depth)
    sentence.depth = max(sentence.depth, depth)


def _modifier_depth(sentence: Sentence, phrase: Phrase) -> int:
    reject_if(phrase.modifier or phrase.closed or phrase.depth == sentence.max_depth)
    return phrase.depth + 1


def make_prepositional_phrase(
    sentence: Sentence, choices: sense.PrepositionsWithTags, depth: int, head: Phrase
) -> PrepositionalPhrase:
    """`near the house`, after the noun or the subject `head`."""
    preposition, tags = sentence.pick(choices)
    reject_if(preposition.name in head.sorts)  # "the house behind the church behind the hotel"
    reject_if(preposition.head_the and head.determiner != "the")
    sentence.spend(preposition.n_words)
    plural = False if preposition.one and not head.plural else None
    definite = sentence.with_probability(P_DEFINITE)
    phrase = sentence.phrase(sentence.noun(tags, plural), depth=depth, definite=definite)
    if phrase.determiner not in preposition.determiners:
        phrase.determiner = "the"
    return PrepositionalPhrase(preposition, phrase)


def make_location(sentence: Sentence, clause: Clause) -> PrepositionalPhrase:
    """`near the river`, as in `sleeps near the river`."""
    choices = sense.prepositions_after(clause.subject.noun, clause.verb)
    return make_prepositional_phrase(sentence, choices, clause.depth, clause.subject)


def add_contents(sentence: Sentence, phrase: Phrase) -> None:
    """`of water`, after a bottle that is bought and of which only the size is known."""
    depth, of = _modifier_depth(sentence, phrase), grammar().preposition("full of")
    contents = [tags for head_tags, tags in of.frames if head_tags & phrase.noun.tags]
    described = phrase.sorts - {"size", "big", "small"}
    reject_if(not contents or described or not (phrase.role and phrase.role.verb))
    sentence.spend(1)
    content = sentence.phrase(sentence.noun(contents[0], plural=True), depth=depth, closed=True, bare=True)
    phrase.sorts |= {"contents", "filling"}
    phrase.modifier = PrepositionalPhrase(of, content)
    sentence.depth = max(sentence.depth, depth)


def make_relative(sentence: Sentence, head: Phrase, depth: int) -> Clause:
    """`that is old`, `that drinks the milk`, `that the boy saw`."""
    sentence.spend(1)
    draw, last = sentence.random(), sentence.main_clauses[-1:]
    # "the water that the boy bought because it was cold"
    reject_if(last and last[0].because and last[0].last.end is head)
    if draw < P_STATE_RELATIVE:
        return _add_state(sentence, head, depth)
    # "the bird that sleeps runs", "the key that the boy saw fell"
    verbs_collide = any(clause.verb and clause.subject.end is head for clause in sentence.clauses)
    if draw < P_STATE_RELATIVE + P_SUBJECT_RELATIVE:
        verb, object_tags = sentence.verb(sense.verbs_with_subject(head.noun))
        # "the cup that falls" could be any cup
        vague = not verb.tells if sentence.past else head.noun.kind == "thing"
        reject_if(not verb.transitive and (verbs_collide or vague))
        clause = Clause(head, verb, depth=depth)
        add_complement(sentence, clause, object_tags)
    else:
        verb, subject_tags = sentence.verb(sense.verbs_with_object(head.noun))
        # "the man buys the apple that the boy ate"
        reject_if(verbs_collide or (verb.uses_up and not (head.role and head.role.quality)))
        noun = sentence.noun(subject_tags, head.plural if verb.same_number else None)
        subject = sentence.phrase(noun, depth=depth, closed=True, definite=verb.same_number)
        clause = Clause(subject, verb, head, depth=depth)
    return sentence.add_clause(clause)


# ---- clauses


def make_plain_clause(sentence: Sentence) -> Clause:
    """`the water is cold`, `the cat sleeps`, `the boy eats the apple`."""
    if sentence.words_left >= WORDS_STATE and sentence.with_probability(P_STATE):
        subject = sentence.phrase(sentence.noun(DESCRIBABLE), definite=True)
        return _add_state(sentence, subject)
    transitive = sentence.words_left >= WORDS_TRANSITIVE and sentence.with_probability(P_TRANSITIVE)
    verb, (subject_tags, object_tags) = sentence.verb(sense.verb_frames(transitive))
    clause = Clause(sentence.phrase(sentence.noun(subject_tags)), verb)
    add_complement(sentence, clause, object_tags)
    return sentence.add_clause(clause)


def _add_state(sentence: Sentence, subject: Phrase, depth: int = 0) -> Clause:
    sentence.spend(2)
    quality = sentence.pick(sense.qualities_of(subject.noun))
    sentence.describe(subject, quality.sorts)
    return sentence.add_clause(Clause(subject, quality=quality, depth=depth))


def add_complement(sentence: Sentence, clause: Clause, object_tags: Tags) -> None:
    """The object or the location that the verb requires."""
    verb, subject = clause.verb, clause.subject
    if verb.transitive:
        noun = sentence.noun(object_tags, subject.plural if verb.same_number else None)
        clause.object = sentence.phrase(noun, depth=clause.depth, definite=verb.definite, closed=verb.bare)
    elif verb.needs_where:
        clause.location = make_location(sentence, clause)


def negate(sentence: Sentence, clause: Clause) -> None:
    """Neither in a question nor before because. Nouns become definite: "a dog does not sleep" is vague."""
    reject_if(clause.negated or sentence.question or clause.firm)
    sentence.spend(1 if clause.quality else 2)
    clause.negated = True
    for phrase in (clause.subject, clause.object):
        if isinstance(phrase, Phrase) and phrase.role is clause and phrase.determiner != "this":
            phrase.determiner = "the"


def add_often(sentence: Sentence, clause: Clause) -> None:
    """`often sleeps`."""
    last = clause.subject.end
    reject_if(clause.often or clause.adverb or not _is_repeatable(clause))
    reject_if(last.modifier and not clause.depth)  # "the boy who finds the key often sleeps"
    sentence.spend(1)
    clause.often = last.closed = True


def _is_repeatable(clause: Clause) -> bool:
    """Whether it can happen repeatedly: one apple can be eaten only once."""
    obj = clause.object
    if clause.verb.once and isinstance(obj, Phrase):
        return obj.determiner == "the" if obj.plural else not obj.noun.countable
    return not (clause.verb.once or clause.verb.lasts)


def add_time(sentence: Sentence, clause: Clause) -> None:
    """`yesterday`, after an unmodified noun only: not "saw the man who slept yesterday"."""
    reject_if(clause.depth or clause.often or clause.adverb or clause.verb.lasts)
    adverb = sentence.pick(grammar().adverbs)
    last = clause.last
    fits = sentence.past if adverb.tense == "past" else not sentence.past and _is_repeatable(clause)
    reject_if(not fits or (isinstance(last, Phrase) and last.modifier))
    sentence.spend(len(adverb.en.split()))
    clause.adverb = adverb
    if isinstance(last, Phrase):
        last.closed = True


def add_location(sentence: Sentence, clause: Clause) -> None:
    """A location after an intransitive verb; after an object it would modify the object."""
    reject_if(clause.verb.transitive or clause.location or clause.adverb)
    clause.location = make_location(sentence, clause)


def add_main_clause(sentence: Sentence) -> None:
    """One more main clause, before the others or after them."""
    reject_if(sentence.question)
    clauses = sentence.main_clauses
    sentence.spend(1)
    clause = make_plain_clause(sentence)
    but = all(other.joined_by != "but" for other in clauses) and sentence.with_probability(P_BUT)
    conjunction = "but" if but else "and"
    if clauses[-1].because or sentence.with_probability(P_FIRST):  # a reason comes last
        clauses[0].joined_by = conjunction
        clauses.insert(0, clause)
    else:
        clause.joined_by = conjunction
        clauses.append(clause)


ADJECTIVE_GROWTHS = (add_adjective, add_adjective, add_very)
PHRASE_GROWTHS = (*ADJECTIVE_GROWTHS, add_modifier, add_modifier, add_modifier, add_contents)
CLAUSE_GROWTHS = (negate, negate, add_often, add_time, add_location, add_location)
STATE_GROWTHS = (negate, add_very)
