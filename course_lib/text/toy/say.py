"""Says a tree in both languages at once, and notes which word became which.

    >>> woman, water = (Phrase(lexicon().noun(name)) for name in ("woman", "water"))
    >>> pair = say([Clause(woman, lexicon().verb("drink"), water)])
    >>> pair.src_text, pair.tgt_text
    ('the woman drinks the water', "la femme boit l' eau")
    >>> sorted(pair.links)
    [(0, 0), (1, 1), (2, 2), (3, 3), (4, 4)]

One method for each kind of node. English words are said in their order; French words as soon as their turn
comes, each with the places of the English ones it came from: the links fall out. At the very end words meet:
le eau → l' eau, de le → du.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from itertools import product, starmap

from course_lib.text.pair import Pair
from course_lib.text.toy.lexicon import VOWELS, Adverb, Noun, Quality, grammar, starts_with_vowel
from course_lib.text.toy.tree import Clause, Phrase, Place, Pronoun

RULES = grammar()
CONTRACTIONS = {tuple(two.split()): one for two, one in RULES.contractions.items()}
MAY_CHANGE = frozenset([*RULES.elision, *(first for first, _ in CONTRACTIONS)])  # if the next word asks
JOINTS = {"and": "et", "but": "mais"}
BE, DO, AVOIR, ÊTRE = (RULES.auxiliaries[word] for word in ("be", "do", "avoir", "être"))

INDEFINITE = frozenset({"a", "some", "two", "three"})

Places = Sequence[int]


def say(clauses: Iterable[Clause], *, past: bool = False, question: bool = False) -> Pair:
    """The sentence and its translation, with links, phenomena and antecedents."""
    speaker = _Speaker(past)
    for clause in clauses:
        if clause.joined_by:
            speaker.mark("coordination")
            speaker.fr(JOINTS[clause.joined_by], speaker.en(clause.joined_by))
        speaker.clause(clause, question)
        if clause.because:
            speaker.mark("because")
            speaker.fr("parce que", speaker.en("because"))
            speaker.clause(clause.because)
    speaker.mark("past", past)
    speaker.mark("questions", question)
    speaker.fr("?", speaker.en("?", question))
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
        self.phenomena: set[str] = set()
        self.antecedents: list[tuple[int, int]] = []
        self.noun_at: dict[Phrase, int] = {}  # the phrases said so far, and where their nouns stand

    def en(self, words: str, said: bool = True) -> Places:
        """Says English words, or says nothing; gives their places."""
        start = len(self.src)
        if said:
            self.src += words.split()
        return range(start, len(self.src))

    def fr(self, words: str, places: Places) -> None:
        """Says the French words that the English ones at these places became. From nothing comes nothing."""
        for word in words.split() if places else ():
            self.links += product(places, [len(self.tgt)])
            self.tgt.append(word)

    def mark(self, rule: str, at_work: object = True) -> None:
        if at_work:
            self.phenomena.add(rule)

    # ---- noun phrases

    def phrase(self, phrase: Phrase) -> None:
        said = _noun(phrase.noun, phrase.plural, phrase.determiner, phrase.before, phrase.after, phrase.very)
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
        english, french = place.preposition.en, place.preposition.fr
        self.mark("prepositions")
        self.mark("fertility", english.count(" ") != french.count(" "))
        self.fr(french, self.en(english))
        self.phrase(place.phrase)

    def relative(self, head: Phrase, clause: Clause) -> None:
        self.mark("relatives")
        does = clause.subject is head
        who = does and head.noun.kind == "person"
        self.fr("qui" if does else "que", self.en("who" if who else "that"))
        self.clause(clause)

    def pronoun(self, pronoun: Pronoun, role: str) -> None:
        english, french = RULES.pronouns[pronoun.key][role]
        at = self.en(english)
        self.fr(french, at)
        if pronoun.stands_for:
            self.antecedents.append((at[0], self.noun_at[pronoun.stands_for]))
        self.mark("gender", pronoun.gender == "f")
        self.mark("plural", pronoun.plural)

    # ---- clauses

    def clause(self, clause: Clause, question: bool = False) -> None:
        subject = clause.subject
        # does, did or is at the front, where French says est-ce que
        asking = self.en((BE if clause.quality else DO)[self.tense][subject.plural], question)
        self.fr("est-ce que", asking)
        if isinstance(subject, Pronoun):
            self.pronoun(subject, "subject")
        elif subject not in self.noun_at:
            self.phrase(subject)
        self.mark("negation", clause.negated)
        if clause.quality:
            self.state(clause, asking)
        else:
            self.verb(clause, asking)

    def state(self, clause: Clause, asking: Places) -> None:
        """`(is) not very cold`, n' est pas très froide."""
        subject, quality, feeling = clause.subject, clause.quality, not clause.quality.place
        be = asking or self.en(BE[self.tense][subject.plural])
        denied, very, at = self.en("not", clause.negated), self.en("very", clause.very), self.en(quality.en)
        self.fr("ne", denied)
        self.fr((AVOIR if feeling else ÊTRE)[self.tense][subject.plural], be)
        self.fr("pas", denied)
        self.fr("très", very)
        self.fr(quality.fr[0 if feeling else _form(subject)], at)
        self.mark("states")
        self.mark("adverbs", very)

    def verb(self, clause: Clause, helper: Places) -> None:
        """`(did not) often see her`, ne l' a pas souvent vue; and what stands behind it."""
        verb, thing, plural = clause.verb, clause.object, clause.subject.plural
        helper = helper or self.en(DO[self.tense][plural], clause.negated)
        denied, often = self.en("not", clause.negated), self.en("often", clause.often)
        at = self.en(f"{verb.en[0 if helper else 2 if self.past else 1 - plural]} {verb.particle}")
        self.fr("ne", denied)
        if isinstance(thing, Pronoun):
            self.mark("object_pronouns")
            self.pronoun(thing, "object")
        compound = self.past and not verb.lasts
        if compound:
            self.fr((ÊTRE if verb.aux == "être" else AVOIR)["present"][plural], helper or at[:1])
        else:
            self.fr((verb.imperfect if self.past else verb.fr)[plural], [*helper, *at])
        self.fr("pas", denied)
        self.fr("souvent", often)
        if compound:
            self.fr(self.participle(clause), at)
        if isinstance(thing, Phrase) and thing not in self.noun_at:
            self.phrase(thing)
        if clause.place:
            self.place(clause.place)
        if clause.adverb:
            self.adverb(clause.adverb)
        self.mark("adverbs", often)
        self.mark("fertility", verb.particle)

    def participle(self, clause: Clause) -> str:
        """It agrees with the subject of être, or with an object that was said before it."""
        agrees_with = clause.subject if clause.verb.aux == "être" else clause.object
        if isinstance(agrees_with, Phrase) and agrees_with not in self.noun_at:
            agrees_with = None
        self.mark("participle_agreement", agrees_with)
        return clause.verb.participle[_form(agrees_with) if agrees_with else 0]

    def adverb(self, adverb: Adverb) -> None:
        at, french = self.en(adverb.en), adverb.fr.split()
        for place, word in enumerate(french):
            self.fr(word, [at[left] for left, right in adverb.links if right == place])
        self.mark("adverbs")
        self.mark("fertility", len(at) != len(french))

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


def _form(one: Phrase | Pronoun) -> int:
    """Which of four forms agrees with it: m, f, m plural, f plural."""
    return (one.gender == "f") + 2 * one.plural


@cache
def _noun(
    noun: Noun, plural: bool, determiner: str, before: Quality | None, after: Quality | None, very: bool
) -> _Speaker:
    """A noun with its determiner and adjectives. A few thousand make up all sentences: each is said once."""
    speaker, english, french = _Speaker(False), noun.en[plural], noun.fr[plural]
    adjectives = [quality.en for quality in (before, after) if quality]
    article = RULES.determiners[determiner]["en"][plural]
    start = "very" if very else [*adjectives, english][0]
    the = speaker.en("an" if article == "a" and start[0] in VOWELS else article)
    strong = speaker.en("very", very)
    early, late = speaker.en(before.en if before else ""), speaker.en(after.en if after else "")
    at = speaker.en(english)

    form, vowel = (noun.gender == "f") + 2 * plural, starts_with_vowel(french)
    said = RULES.determiners[determiner]["fr"]["plural" if plural else noun.gender]
    meets = vowel and not before and said in RULES.before_vowel  # cet oiseau
    bends = vowel and before and before.before_vowel and form == 0  # un vieil homme
    speaker.fr("de" if before and said == "des" else RULES.before_vowel[said] if meets else said, the)
    if before:
        speaker.fr("très", strong)
        speaker.fr(before.before_vowel if bends else before.fr[form], early)
    speaker.fr(french, at)
    if after:
        speaker.fr("très", [] if before else strong)
        speaker.fr(after.fr[form], late)

    speaker.mark("gender", noun.gender == "f")
    speaker.mark("plural", plural)
    speaker.mark("indefinites", determiner in INDEFINITE)
    speaker.mark("adjectives_before", before)
    speaker.mark("adjectives_after", after)
    speaker.mark("adverbs", very)
    speaker.mark("fertility", english.count(" ") != french.count(" "))
    speaker.mark("elision", meets or bends)
    return speaker
