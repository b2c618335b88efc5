"""Says a tree in both languages at once, and notes which word became which.

    >>> woman, water = (Phrase(lexicon().noun(name)) for name in ("woman", "water"))
    >>> pair = say(Sentence([Part(Clause(woman, lexicon().verb("drink"), water))]))
    >>> pair.src_text, pair.tgt_text
    ('the woman drinks the water', "la femme boit l' eau")
    >>> sorted(pair.links)
    [(0, 0), (1, 1), (2, 2), (3, 3), (4, 4)]

One method for each kind of node. English words are said in their order; the French word that belongs to each
is said as soon as its turn comes and is linked to the English ones it came from. At the very end words meet:
le eau → l' eau, de le → du.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from itertools import starmap

from course_lib.text.pair import Pair
from course_lib.text.toy.grammar import Adverb, grammar, starts_with_vowel
from course_lib.text.toy.tree import Clause, Part, Phrase, Place, Pronoun, Relative, Sentence, State
from course_lib.text.toy.wording import wording

RULES = grammar()
CONTRACTIONS = {tuple(two.split()): one for two, one in RULES.contractions.items()}
MAY_CHANGE = frozenset([*RULES.elision, *(first for first, _ in CONTRACTIONS)])  # if the next word asks
JOINTS = {"and": "et", "but": "mais"}
BE, DO, AVOIR, ÊTRE = (RULES.auxiliaries[word] for word in ("be", "do", "avoir", "être"))


def say(sentence: Sentence) -> Pair:
    """The sentence and its translation, with links, phenomena and antecedents."""
    speaker = _Speaker(sentence.past)
    for part in sentence.parts:
        speaker.part(part, sentence.question)
    if sentence.question:
        speaker.mark("questions")
        speaker.fr("?", [speaker.en("?")])
    speaker.join()
    return Pair(
        tuple(speaker.src),
        tuple(speaker.tgt),
        frozenset(starmap(_link, speaker.links)),
        frozenset(speaker.phenomena),
        tuple(speaker.antecedents),
    )


@cache
def _link(left: int, right: int) -> tuple[int, int]:
    """One and the same object for the same link: a million new ones would keep Python's collector busy."""
    return left, right


class _Speaker:
    def __init__(self, past: bool) -> None:
        self.past, self.tense = past, "past" if past else "present"
        self.src: list[str] = []
        self.tgt: list[str] = []
        self.links: list[tuple[int, int]] = []
        self.phenomena: set[str] = {"past"} if past else set()
        self.mark = self.phenomena.add
        self.antecedents: list[tuple[int, int]] = []
        self.noun_at: dict[Phrase, int] = {}  # the phrases said so far, and where their nouns stand

    def en(self, word: str) -> int:
        """Says an English word; gives its place."""
        self.src.append(word)
        return len(self.src) - 1

    def fr(self, word: str, places: Iterable[int]) -> None:
        """Says the French word that the English ones at these places became."""
        here = len(self.tgt)
        for at in places:
            self.links.append((at, here))
        self.tgt.append(word)

    # ---- noun phrases

    def phrase(self, phrase: Phrase) -> None:
        said = wording(
            phrase.noun, phrase.plural, phrase.determiner, phrase.before, phrase.after, phrase.very
        )
        n_src, n_tgt = len(self.src), len(self.tgt)
        self.src += said.src
        self.tgt += said.tgt
        self.links += [(n_src + left, n_tgt + right) for left, right in said.links]
        self.phenomena |= said.phenomena
        self.noun_at[phrase] = len(self.src) - 1  # an English noun comes last
        if isinstance(phrase.behind, Place):
            self.place(phrase.behind)
        elif phrase.behind:
            self.relative(phrase, phrase.behind)

    def place(self, place: Place) -> None:
        self.mark("prepositions")
        at = [self.en(word) for word in place.preposition.en]
        if len(at) != len(place.preposition.fr):
            self.mark("fertility")
        for word in place.preposition.fr:
            self.fr(word, at)
        self.phrase(place.phrase)

    def relative(self, head: Phrase, relative: Relative) -> None:
        self.mark("relatives")
        does = relative.clause.subject is head
        who = does and head.noun.kind == "person"
        self.fr("qui" if does else "que", [self.en("who" if who else "that")])
        self.clause(relative.clause)

    def pronoun(self, pronoun: Pronoun, role: str) -> None:
        english, french = RULES.pronouns[pronoun.key][role]
        at = self.en(english)
        self.fr(french, [at])
        if pronoun.stands_for:
            self.antecedents.append((at, self.noun_at[pronoun.stands_for]))
        if pronoun.gender == "f":
            self.mark("gender")
        if pronoun.plural:
            self.mark("plural")

    # ---- clauses

    def part(self, part: Part, question: bool) -> None:
        if part.joined_by:
            self.mark("coordination")
            self.fr(JOINTS[part.joined_by], [self.en(part.joined_by)])
        self.clause(part.clause, question)
        if part.because:
            self.mark("because")
            at = [self.en("because")]
            self.fr("parce", at)
            self.fr("que", at)
            self.clause(part.because)

    def clause(self, clause: Clause | State, question: bool = False) -> None:
        subject, helper = clause.subject, []
        if question:  # does, did or is at the front, where French says est-ce que
            auxiliary = BE if isinstance(clause, State) else DO
            helper = [self.en(auxiliary[self.tense][subject.plural])]
            self.fr("est-ce", helper)
            self.fr("que", helper)
        if isinstance(subject, Pronoun):
            self.pronoun(subject, "subject")
        elif subject not in self.noun_at:
            self.phrase(subject)
        if clause.negated:
            self.mark("negation")
        if isinstance(clause, State):
            self.state(clause, helper)
        else:
            self.verb(clause, helper)

    def state(self, state: State, be: list[int]) -> None:
        """`(is) not very cold`, n' est pas très froide."""
        self.mark("states")
        subject, quality = state.subject, state.quality
        be = be or [self.en(BE[self.tense][subject.plural])]
        denied = [self.en("not")] if state.negated else []
        very = [self.en("very")] if state.very else []
        at = [self.en(quality.en)]
        feeling = not quality.place
        if denied:
            self.fr("ne", denied)
        self.fr((AVOIR if feeling else ÊTRE)[self.tense][subject.plural], be)
        if denied:
            self.fr("pas", denied)
        if very:
            self.mark("adverbs")
            self.fr("très", very)
        self.fr(quality.fr[0 if feeling else (subject.gender == "f") + 2 * subject.plural], at)

    def verb(self, clause: Clause, helper: list[int]) -> None:
        """`(did not) often see her`, ne l' a pas souvent vue; and what stands behind it."""
        verb, thing, plural = clause.verb, clause.object, clause.subject.plural
        denied: list[int] = []
        if clause.negated:
            helper, denied = [self.en(DO[self.tense][plural])], [self.en("not")]
        often = [self.en("often")] if clause.often else []
        at = [self.en(verb.en[0 if helper else 2 if self.past else 1 - plural])]
        if verb.particle:
            at.append(self.en(verb.particle))
            self.mark("fertility")
        if denied:
            self.fr("ne", denied)
        if isinstance(thing, Pronoun):
            self.mark("object_pronouns")
            self.pronoun(thing, "object")
        compound = self.past and not verb.lasts
        if compound:
            auxiliary = ÊTRE if verb.aux == "être" else AVOIR
            self.fr(auxiliary["present"][plural], helper or at[:1])
        else:
            self.fr((verb.imperfect if self.past else verb.fr)[plural], helper + at)
        if denied:
            self.fr("pas", denied)
        if often:
            self.mark("adverbs")
            self.fr("souvent", often)
        if compound:
            self.fr(self._participle(clause), at)
        if isinstance(thing, Phrase) and thing not in self.noun_at:
            self.phrase(thing)
        if clause.place:
            self.place(clause.place)
        if clause.adverb:
            self.adverb(clause.adverb)

    def _participle(self, clause: Clause) -> str:
        """It agrees with the subject of être, or with an object that was said before it."""
        agrees_with = None
        if clause.verb.aux == "être":
            agrees_with = clause.subject
        elif isinstance(clause.object, Pronoun) or clause.object in self.noun_at:
            agrees_with = clause.object
        if agrees_with is None:
            return clause.verb.participle[0]
        self.mark("participle_agreement")
        return clause.verb.participle[(agrees_with.gender == "f") + 2 * agrees_with.plural]

    def adverb(self, adverb: Adverb) -> None:
        self.mark("adverbs")
        if len(adverb.en) != len(adverb.fr):
            self.mark("fertility")
        at = [self.en(word) for word in adverb.en]
        for place, word in enumerate(adverb.fr):
            self.fr(word, [at[left] for left, right in adverb.links if right == place])

    # ---- where words meet

    def join(self) -> None:
        """`le eau` becomes l' eau; `de le` becomes du, which then comes from both English words.

        From the end, so that in `de le eau` le has met its vowel before de looks at it.
        """
        tgt = self.tgt
        for at in reversed([at for at, word in enumerate(tgt[:-1]) if word in MAY_CHANGE]):
            word, following = tgt[at], tgt[at + 1]
            if word in RULES.elision and starts_with_vowel(following):
                tgt[at] = RULES.elision[word]
                self.mark("elision")
            elif (word, following) in CONTRACTIONS:
                tgt[at : at + 2] = [CONTRACTIONS[word, following]]
                self.links = [(left, right - (right > at)) for left, right in self.links]
                self.mark("contractions")
