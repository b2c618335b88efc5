"""A sentence grows: adjectives, places, relative clauses, denials, until it has as many words as were wanted.

    >>> sentence = Sentence(random.Random(0), 9)
    >>> sentence.parts.append(plain(sentence))              # such as "the cat sleeps"
    >>> grow(sentence)                                      # "the very old cat near the river often sleeps"
    >>> sentence.room
    0

A growth is a function that takes the sentence and a node of the tree, spends words and attaches what it made,
last of all; a `DeadEnd` undoes it. To give the language a new rule, write one, and name it in PHRASE, CLAUSE
or STATE at the end of this file.
"""

from __future__ import annotations

from collections.abc import Sequence

from course_lib.text.toy.lexicon import Preposition, Tags, grammar
from course_lib.text.toy.sense import beside, does, done_to, frames, hangs_on, said_of, where
from course_lib.text.toy.sentence import DeadEnd, Sentence, avoid
from course_lib.text.toy.tree import Clause, Phrase, Place

PATIENCE = 30  # growths tried in vain before a sentence is given up
DESCRIBED: Tags = frozenset({"person", "animal", "thing", "food", "drink", "room"})


def grow(sentence: Sentence, *, least_depth: int = 0) -> None:
    """Spend all words that are left, and nest at least so deep."""
    vain = 0
    while sentence.room or sentence.depth < least_depth:
        deepest = _deepest(sentence) if sentence.depth < least_depth else []
        mark = sentence.mark()
        try:
            if deepest:
                behind(sentence, sentence.pick(deepest))
            elif sentence.room >= 6 and sentence.chance(0.02 + sentence.room / 70):
                another(sentence)
            elif sentence.chance(0.25):
                clause = sentence.pick(sentence.clauses)
                sentence.pick(STATE if clause.quality else CLAUSE)(sentence, clause)
            else:
                growth = sentence.pick(PHRASE if sentence.room > 1 else ADJECTIVE)
                growth(sentence, sentence.pick(sentence.phrases))
        except DeadEnd:
            sentence.undo(mark)
            vain += 1
            if vain > PATIENCE:
                raise


def _deepest(sentence: Sentence) -> list[Phrase]:
    """Where to go on going deeper; a dead end for the whole sentence where there is nothing."""
    found = [one for one in sentence.phrases if one.depth == sentence.depth and not one.closed]
    avoid(not found or sentence.room < 2)
    return found


# ---- what belongs to a noun


def adjective(sentence: Sentence, phrase: Phrase) -> None:
    """`old`, `old white`: two only where the second is a colour."""
    quality = sentence.pick(beside(phrase.noun))
    if quality.place == "before":
        avoid(phrase.before or phrase.very or (phrase.after and not phrase.after.colour))
    else:
        avoid(phrase.after or (phrase.before and not quality.colour))
    avoid("contents" in phrase.sorts and "size" not in quality.sorts)  # "a red cup of tea"
    sentence.spend(1)
    sentence.describe(phrase, quality.sorts)
    sentence.combinations.append((quality.en, phrase.noun.name))
    if quality.place == "before":
        phrase.before = quality
    else:
        phrase.after = quality


def very_adjective(sentence: Sentence, phrase: Phrase) -> None:
    first = phrase.before or phrase.after
    avoid(not first or not first.graded or phrase.very)
    sentence.spend(1)
    phrase.very = True


def behind(sentence: Sentence, phrase: Phrase) -> None:
    """A place or a relative clause. Never both: who could tell which noun the clause belongs to?"""
    deeper = _deeper(sentence, phrase)
    if sentence.chance(0.5):
        choices, role = hangs_on(phrase.noun), phrase.role
        verb = role and role.verb  # what moves, "the king in the garden went", is not somewhere else
        if verb and (verb.moves or not verb.transitive) and phrase is (role.object or role.subject):
            choices = [one for one in choices if not one[0].one]
        phrase.behind = place(sentence, choices, deeper, phrase)
    else:
        phrase.behind = relative(sentence, phrase, deeper)
    sentence.depth = max(sentence.depth, deeper)


def _deeper(sentence: Sentence, phrase: Phrase) -> int:
    """The depth of what comes to stand behind a phrase, if something may."""
    avoid(phrase.behind or phrase.closed or phrase.depth == sentence.most_depth)
    return phrase.depth + 1


def place(sentence: Sentence, choices: Sequence[tuple[Preposition, Tags]], depth: int, head: Phrase) -> Place:
    """`near the house`."""
    preposition, ground = sentence.pick(choices)
    avoid(preposition.name in head.sorts)  # the house behind the church behind the hotel: once is enough
    avoid(preposition.head_the and head.determiner != "the")
    sentence.spend(preposition.n_words)
    number = False if preposition.one and not head.plural else None
    definite = sentence.chance(0.5)
    phrase = sentence.phrase(sentence.noun(ground, number), depth=depth, definite=definite)
    if phrase.determiner not in preposition.determiners:
        phrase.determiner = "the"
    return Place(preposition, phrase)


def place_of_verb(sentence: Sentence, clause: Clause) -> Place:
    """`sleeps near the river`."""
    return place(sentence, where(clause.verb, clause.subject.noun), clause.depth, clause.subject)


def contents(sentence: Sentence, phrase: Phrase) -> None:
    """`of water`, behind a bottle that somebody buys, and that is neither empty nor red nor old."""
    deeper, of = _deeper(sentence, phrase), grammar().preposition("full of")
    grounds = [ground for heads, ground in of.frames if heads & phrase.noun.tags]
    described = phrase.sorts - {"size", "big", "small"}
    avoid(not grounds or described or not (phrase.role and phrase.role.verb))
    sentence.spend(1)
    noun, plural = sentence.noun(grounds[0], plural=True)
    inside = sentence.add(Phrase(noun, plural, "none", depth=deeper, closed=True))
    phrase.sorts |= {"contents", "filling"}
    phrase.behind = Place(of, inside)
    sentence.depth = max(sentence.depth, deeper)


def relative(sentence: Sentence, head: Phrase, depth: int) -> Clause:
    """`that is old`, `that drinks the milk`, `that the boy saw`."""
    sentence.spend(1)
    kind, past, last = sentence.random(), sentence.past, sentence.parts[-1:]
    # "the water that the boy bought because it was cold"
    avoid(last and last[0].because and last[0].last.end is head)
    # "the bird that sleeps runs", "the key that the boy saw fell"
    piled = kind >= 0.25 and any(one.verb and one.subject.end is head for one in sentence.clauses)
    if kind < 0.25:
        clause = _state(sentence, head, depth)
    elif kind < 0.6:
        verb, things = sentence.verb(does(head.noun))
        vague = not verb.tells if past else head.noun.kind == "thing"  # "takes the cup that falls"
        avoid(not verb.transitive and (piled or vague))
        clause = Clause(head, verb, depth=depth)
        complete(sentence, clause, things)
    else:
        verb, subjects = sentence.verb(done_to(head.noun))
        # "the man buys the apple that the boy ate"
        avoid(piled or (verb.uses_up and not (head.role and head.role.quality)))
        who = sentence.noun(subjects, head.plural if verb.same_number else None)
        subject = sentence.phrase(who, depth=depth, closed=True, definite=verb.same_number)
        clause = Clause(subject, verb, head, depth=depth)
    return sentence.add_clause(clause)


# ---- clauses


def plain(sentence: Sentence) -> Clause:
    """`the water is cold`, `the cat sleeps`, `the boy eats the apple`."""
    if sentence.room >= 4 and sentence.chance(0.18):
        return sentence.add_clause(_state(sentence, sentence.phrase(sentence.noun(DESCRIBED), definite=True)))
    verb, (subjects, things) = sentence.verb(frames(sentence.room >= 5 and sentence.chance(0.75)))
    clause = Clause(sentence.phrase(sentence.noun(subjects)), verb)
    complete(sentence, clause, things)
    return sentence.add_clause(clause)


def _state(sentence: Sentence, subject: Phrase, depth: int = 0) -> Clause:
    sentence.spend(2)
    state = Clause(subject, quality=sentence.pick(said_of(subject.noun)), depth=depth)
    sentence.describe(subject, state.quality.sorts)
    return state


def complete(sentence: Sentence, clause: Clause, things: Tags) -> None:
    """The object or the place that the verb cannot do without."""
    verb, subject = clause.verb, clause.subject
    if verb.transitive:
        thing = sentence.noun(things, subject.plural if verb.same_number else None)
        clause.object = sentence.phrase(thing, depth=clause.depth, definite=verb.definite, closed=verb.bare)
    elif verb.needs_where:
        clause.place = place_of_verb(sentence, clause)


def deny(sentence: Sentence, clause: Clause) -> None:
    """Not in a question, nor before because. "a dog does not sleep" would say less than it seems to."""
    avoid(clause.negated or sentence.question or clause.firm)
    sentence.spend(1 if clause.quality else 2)
    clause.negated = True
    for one in (clause.subject, clause.object):
        if isinstance(one, Phrase) and one.role is clause and one.determiner != "this":
            one.determiner = "the"


def very_state(sentence: Sentence, state: Clause) -> None:
    avoid(state.very or not state.quality.graded)
    sentence.spend(1)
    state.very = True


def often(sentence: Sentence, clause: Clause) -> None:
    last = clause.subject.end
    avoid(clause.often or clause.adverb or not _again(clause))
    avoid(last.behind and not clause.depth)  # "the boy who finds the key often sleeps"
    sentence.spend(1)
    clause.often = last.closed = True


def _again(clause: Clause) -> bool:
    """Whether it can be done again and again: who eats an apple eats it once."""
    thing = clause.object
    if clause.verb.once and isinstance(thing, Phrase):
        return thing.determiner == "the" if thing.plural else not thing.noun.countable
    return not (clause.verb.once or clause.verb.lasts)


def when(sentence: Sentence, clause: Clause) -> None:
    """`yesterday`, only behind something short: "the man she saw yesterday yesterday" helps nobody."""
    avoid(clause.depth or clause.often or clause.adverb or clause.verb.lasts)
    adverb = sentence.pick(grammar().adverbs)
    last = clause.last
    fits = sentence.past if adverb.tense == "past" else not sentence.past and _again(clause)
    avoid(not fits or (isinstance(last, Phrase) and last.behind))
    sentence.spend(len(adverb.en.split()))
    clause.adverb = adverb
    if isinstance(last, Phrase):
        last.closed = True


def somewhere(sentence: Sentence, clause: Clause) -> None:
    """A place behind the verb; behind an object it would belong to the object."""
    avoid(clause.verb.transitive or clause.place or clause.adverb)
    clause.place = place_of_verb(sentence, clause)


def another(sentence: Sentence) -> None:
    """One more clause, before the others or behind them."""
    parts = sentence.parts
    avoid(sentence.question)
    sentence.spend(1)
    clause = plain(sentence)
    used = {part.joined_by for part in parts}
    joint = "but" if "but" not in used and sentence.chance(0.25) else "and"
    if parts[-1].because or sentence.chance(0.5):  # a reason comes last
        parts[0].joined_by = joint
        parts.insert(0, clause)
    else:
        clause.joined_by = joint
        parts.append(clause)


ADJECTIVE = (adjective, adjective, very_adjective)
PHRASE = (*ADJECTIVE, behind, behind, behind, contents)
CLAUSE = (deny, deny, often, when, somewhere, somewhere)
STATE = (deny, very_state)
