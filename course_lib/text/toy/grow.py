"""A sentence grows: adjectives, places, relative clauses, denials, until it has as many words as were wanted.

    >>> draft = Draft(random.Random(0), 9)
    >>> draft.sentence.parts.append(Part(plain(draft)))     # such as "the cat sleeps"
    >>> grow(draft)                                         # "the very old cat near the river often sleeps"
    >>> draft.room
    0

A growth is a function that takes the draft and a node of the tree, spends words and attaches what it made,
last of all; a `DeadEnd` undoes it. To give the language a new rule, write one, and name it in PHRASE, CLAUSE
or STATE at the end of this file.
"""

from __future__ import annotations

from collections.abc import Sequence

from course_lib.text.toy.draft import DeadEnd, Draft
from course_lib.text.toy.grammar import Preposition, grammar
from course_lib.text.toy.lexicon import Tags
from course_lib.text.toy.sense import beside, does, done_to, frames, hangs_on, said_of, where
from course_lib.text.toy.tree import Clause, Part, Phrase, Place, Relative, State

PATIENCE = 30  # growths tried in vain before a sentence is given up
DESCRIBED: Tags = frozenset({"person", "animal", "thing", "food", "drink", "room"})


def grow(draft: Draft, *, least_depth: int = 0) -> None:
    """Spend all words that are left, and nest at least so deep."""
    vain = 0
    while draft.room or draft.depth < least_depth:
        deepest = _deepest(draft) if draft.depth < least_depth else []
        mark = draft.mark()
        try:
            if deepest:
                behind(draft, draft.pick(deepest))
            elif draft.room >= 6 and draft.chance(0.02 + draft.room / 70):
                another(draft)
            elif draft.chance(0.25):
                clause = draft.pick(draft.clauses)
                draft.pick(STATE if isinstance(clause, State) else CLAUSE)(draft, clause)
            else:
                draft.pick(PHRASE if draft.room > 1 else ADJECTIVE)(draft, draft.pick(draft.phrases))
        except DeadEnd:
            draft.undo(mark)
            vain += 1
            if vain > PATIENCE:
                raise


def _deepest(draft: Draft) -> list[Phrase]:
    """Where to go on going deeper; a dead end for the whole draft where there is nothing."""
    found = [one for one in draft.phrases if one.depth == draft.depth and not one.closed]
    if not found or draft.room < 2:
        raise DeadEnd
    return found


# ---- what belongs to a noun


def adjective(draft: Draft, phrase: Phrase) -> None:
    """`old`, `old white`: two only where the second is a colour."""
    quality = draft.pick(beside(phrase.noun))
    if quality.place == "before":
        if phrase.before or phrase.very or (phrase.after and not phrase.after.colour):
            raise DeadEnd
    elif phrase.after or (phrase.before and not quality.colour):
        raise DeadEnd
    if "contents" in phrase.sorts and "size" not in quality.sorts:
        raise DeadEnd  # "a red cup of tea"
    draft.spend(1)
    draft.describe(phrase, quality.sorts)
    draft.combinations.append((quality.en, phrase.noun.name))
    if quality.place == "before":
        phrase.before = quality
    else:
        phrase.after = quality


def very_adjective(draft: Draft, phrase: Phrase) -> None:
    first = phrase.before or phrase.after
    if not first or not first.graded or phrase.very:
        raise DeadEnd
    draft.spend(1)
    phrase.very = True


def behind(draft: Draft, phrase: Phrase) -> None:
    """A place or a relative clause. Never both: who could tell which noun the clause belongs to?"""
    deeper = _deeper(draft, phrase)
    if draft.chance(0.5):
        role = phrase.role  # what moves, "the king in the garden went", is not somewhere else
        moved = isinstance(role, Clause) and (role.verb.moves or not role.verb.transitive)
        choices = hangs_on(phrase.noun)
        if moved and phrase is (role.object or role.subject):
            choices = [one for one in choices if not one[0].one]
        phrase.behind = place(draft, choices, deeper, phrase)
    else:
        phrase.behind = relative(draft, phrase, deeper)
    draft.depth = max(draft.depth, deeper)


def _deeper(draft: Draft, phrase: Phrase) -> int:
    """The depth of what comes to stand behind a phrase, if something may."""
    if phrase.behind or phrase.closed or phrase.depth == draft.most_depth:
        raise DeadEnd
    return phrase.depth + 1


def place(draft: Draft, choices: Sequence[tuple[Preposition, Tags]], depth: int, head: Phrase) -> Place:
    """`near the house`."""
    preposition, ground = draft.pick(choices)
    if preposition.name in head.sorts or (preposition.head_the and head.determiner != "the"):
        raise DeadEnd  # the house behind the church behind the hotel: once is enough
    draft.spend(preposition.n_words)
    number = False if preposition.one and not head.plural else None
    phrase = draft.phrase(ground, depth=depth, definite=draft.chance(0.5), plural=number)
    if phrase.determiner not in preposition.determiners:
        phrase.determiner = "the"
    return Place(preposition, phrase)


def place_of_verb(draft: Draft, clause: Clause) -> Place:
    """`sleeps near the river`."""
    return place(draft, where(clause.verb, clause.subject.noun), clause.depth, clause.subject)


def contents(draft: Draft, phrase: Phrase) -> None:
    """`of water`, behind a bottle that somebody buys, and that is neither empty nor red nor old."""
    deeper, of = _deeper(draft, phrase), grammar().preposition("full of")
    grounds = [ground for heads, ground in of.frames if heads & phrase.noun.tags]
    described = phrase.sorts - {"size", "big", "small"}
    if not grounds or described or not isinstance(phrase.role, Clause):
        raise DeadEnd
    draft.spend(1)
    noun, plural = draft.noun(grounds[0], plural=True)
    inside = draft.add(Phrase(noun, plural, "none", depth=deeper, closed=True))
    phrase.sorts |= {"contents", "filling"}
    phrase.behind = Place(of, inside)
    draft.depth = max(draft.depth, deeper)


def relative(draft: Draft, head: Phrase, depth: int) -> Relative:
    """`that is old`, `that drinks the milk`, `that the boy saw`."""
    draft.spend(1)
    kind, past, last = draft.random(), draft.sentence.past, draft.sentence.parts[-1:]
    if last and last[0].because and last[0].clause.last.end is head:
        raise DeadEnd  # "the water that the boy bought because it was cold"
    # "the bird that sleeps runs", "the key that the boy saw fell"
    piled = kind >= 0.25 and any(one.subject.end is head for one in draft.clauses if isinstance(one, Clause))
    if kind < 0.25:
        clause = _state(draft, head, depth)
    elif kind < 0.6:
        verb, things = draft.verb(does(head.noun))
        vague = not verb.tells if past else head.noun.kind == "thing"  # "takes the cup that falls"
        if not verb.transitive and (piled or vague):
            raise DeadEnd
        clause = Clause(head, verb, depth=depth)
        complete(draft, clause, things)
    else:
        verb, subjects = draft.verb(done_to(head.noun))
        if piled or (verb.uses_up and not isinstance(head.role, State)):
            raise DeadEnd  # "the man buys the apple that the boy ate"
        number = head.plural if verb.same_number else None
        who = draft.phrase(subjects, depth=depth, closed=True, definite=verb.same_number, plural=number)
        clause = Clause(who, verb, head, depth=depth)
    return Relative(draft.add_clause(clause))


# ---- clauses


def plain(draft: Draft) -> Clause | State:
    """`the water is cold`, `the cat sleeps`, `the boy eats the apple`."""
    if draft.room >= 4 and draft.chance(0.18):
        return draft.add_clause(_state(draft, draft.phrase(DESCRIBED, definite=True)))
    verb, (subjects, things) = draft.verb(frames(draft.room >= 5 and draft.chance(0.75)))
    clause = Clause(draft.phrase(subjects), verb)
    complete(draft, clause, things)
    return draft.add_clause(clause)


def _state(draft: Draft, subject: Phrase, depth: int = 0) -> State:
    draft.spend(2)
    state = State(subject, draft.pick(said_of(subject.noun)), depth=depth)
    draft.describe(subject, state.quality.sorts)
    return state


def complete(draft: Draft, clause: Clause, things: Tags) -> None:
    """The object or the place that the verb cannot do without."""
    verb, subject = clause.verb, clause.subject
    if verb.transitive:
        number = subject.plural if verb.same_number else None
        clause.object = draft.phrase(
            things, depth=clause.depth, definite=verb.definite, plural=number, closed=verb.bare
        )
    elif verb.needs_where:
        clause.place = place_of_verb(draft, clause)


def deny(draft: Draft, clause: Clause | State) -> None:
    """Not in a question, nor before because. "a dog does not sleep" would say less than it seems to."""
    if clause.negated or draft.sentence.question or clause.firm:
        raise DeadEnd
    draft.spend(1 if isinstance(clause, State) else 2)
    clause.negated = True
    for one in (clause.subject, clause.object):
        if isinstance(one, Phrase) and one.role is clause and one.determiner != "this":
            one.determiner = "the"


def very_state(draft: Draft, state: State) -> None:
    if state.very or not state.quality.graded:
        raise DeadEnd
    draft.spend(1)
    state.very = True


def often(draft: Draft, clause: Clause) -> None:
    last = clause.subject.end
    if clause.often or clause.adverb or not _again(clause) or (last.behind and not clause.depth):
        raise DeadEnd  # "the boy who finds the key often sleeps"
    draft.spend(1)
    clause.often = last.closed = True


def _again(clause: Clause) -> bool:
    """Whether it can be done again and again: who eats an apple eats it once."""
    thing = clause.object
    if clause.verb.once and isinstance(thing, Phrase):
        return thing.determiner == "the" if thing.plural else not thing.noun.countable
    return not (clause.verb.once or clause.verb.lasts)


def when(draft: Draft, clause: Clause) -> None:
    """`yesterday`, only behind something short: "the man she saw yesterday yesterday" helps nobody."""
    if clause.depth or clause.often or clause.adverb or clause.verb.lasts:
        raise DeadEnd
    adverb = draft.pick(grammar().adverbs)
    last = clause.last
    fits = draft.sentence.past if adverb.tense == "past" else not draft.sentence.past and _again(clause)
    if not fits or (isinstance(last, Phrase) and last.behind):
        raise DeadEnd
    draft.spend(len(adverb.en.split()))
    clause.adverb = adverb
    if isinstance(last, Phrase):
        last.closed = True


def somewhere(draft: Draft, clause: Clause) -> None:
    """A place behind the verb; behind an object it would belong to the object."""
    if clause.verb.transitive or clause.place or clause.adverb:
        raise DeadEnd
    clause.place = place_of_verb(draft, clause)


def another(draft: Draft) -> None:
    """One more clause, before the others or behind them."""
    parts = draft.sentence.parts
    if draft.sentence.question:
        raise DeadEnd
    draft.spend(1)
    clause = plain(draft)
    used = {part.joined_by for part in parts}
    joint = "but" if "but" not in used and draft.chance(0.25) else "and"
    if parts[-1].because or draft.chance(0.5):  # a reason comes last
        parts[0].joined_by = joint
        parts.insert(0, Part(clause))
    else:
        parts.append(Part(clause, joint))


ADJECTIVE = (adjective, adjective, very_adjective)
PHRASE = (*ADJECTIVE, behind, behind, behind, contents)
CLAUSE = (deny, deny, often, when, somewhere, somewhere)
STATE = (deny, very_state)
