"""Realises a syntax tree in both languages at once, with the word alignment.

    >>> woman, water = (Phrase(lexicon().noun(name)) for name in ("woman", "water"))
    >>> pair = realise([Clause(woman, lexicon().verb("drink"), water)])
    >>> pair.src_text, pair.tgt_text
    ('the woman drinks the water', "la femme boit l' eau")
    >>> sorted(pair.links)
    [(0, 0), (1, 1), (2, 2), (3, 3), (4, 4)]

There is one method for each kind of node. It writes the English words, then the French words, each with the
positions of the English words it translates: these are the links. Elision (le eau → l' eau) and contraction
(de le → du) come last.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from itertools import product, starmap

from course_lib.text.pair import Pair
from course_lib.text.toy.lexicon import VOWELS, Adverb, Noun, Quality, grammar, starts_with_vowel
from course_lib.text.toy.tree import Clause, Phrase, PrepositionalPhrase, Pronoun

RULES = grammar()
CONTRACTIONS = {tuple(words.split()): word for words, word in RULES.contractions.items()}
MAY_CHANGE = frozenset([*RULES.elision, *(first for first, _ in CONTRACTIONS)])  # depending on the next word
CONJUNCTIONS = {"and": "et", "but": "mais"}
BE, DO, AVOIR, ÊTRE = (RULES.auxiliaries[word] for word in ("be", "do", "avoir", "être"))

INDEFINITE = frozenset({"a", "some", "two", "three"})

Positions = Sequence[int]


def realise(clauses: Iterable[Clause], *, past: bool = False, question: bool = False) -> Pair:
    """The sentence and its translation, with links, phenomena and antecedents."""
    writer = _Writer(past)
    for clause in clauses:
        if clause.joined_by:
            writer.mark("coordination")
            writer.fr(CONJUNCTIONS[clause.joined_by], writer.en(clause.joined_by))
        writer.clause(clause, question)
        if clause.because:
            writer.mark("because")
            writer.fr("parce que", writer.en("because"))
            writer.clause(clause.because)
    writer.mark("past", past)
    writer.mark("questions", question)
    writer.fr("?", writer.en("?", question))
    writer.join()
    links, phenomena = frozenset(starmap(_link, writer.links)), frozenset(writer.phenomena)
    return Pair(tuple(writer.src), tuple(writer.tgt), links, phenomena, tuple(writer.antecedents))


@cache
def _link(left: int, right: int) -> tuple[int, int]:
    """The same object for equal links: a million new ones would keep Python's garbage collector busy."""
    return left, right


class _Writer:
    def __init__(self, past: bool) -> None:
        self.past, self.tense = past, "past" if past else "present"
        self.src: list[str] = []
        self.tgt: list[str] = []
        self.links: list[tuple[int, int]] = []
        self.phenomena: set[str] = set()
        self.antecedents: list[tuple[int, int]] = []
        self.noun_at: dict[Phrase, int] = {}  # the position of the noun of each phrase written so far

    def en(self, words: str, wanted: object = True) -> Positions:
        """Write English words, if wanted, and return their positions."""
        start = len(self.src)
        if wanted:
            self.src += words.split()
        return range(start, len(self.src))

    def fr(self, words: str, positions: Positions) -> None:
        """Write the French words that translate the English words at these positions, if there are any."""
        for word in words.split() if positions else ():
            self.links += product(positions, [len(self.tgt)])
            self.tgt.append(word)

    def mark(self, rule: str, applies: object = True) -> None:
        if applies:
            self.phenomena.add(rule)

    # ---- noun phrases

    def phrase(self, phrase: Phrase) -> None:
        noun = _write_noun(
            phrase.noun, phrase.plural, phrase.determiner, phrase.before, phrase.after, phrase.very
        )
        n_src, n_tgt = len(self.src), len(self.tgt)
        self.src += noun.src
        self.tgt += noun.tgt
        self.links += [(n_src + left, n_tgt + right) for left, right in noun.links]
        self.phenomena |= noun.phenomena
        self.noun_at[phrase] = len(self.src) - 1  # an English noun comes last
        if isinstance(phrase.modifier, PrepositionalPhrase):
            self.prepositional_phrase(phrase.modifier)
        elif phrase.modifier:
            self.relative(phrase, phrase.modifier)

    def prepositional_phrase(self, node: PrepositionalPhrase) -> None:
        english, french = node.preposition.en, node.preposition.fr
        self.mark("prepositions")
        self.mark("fertility", english.count(" ") != french.count(" "))
        self.fr(french, self.en(english))
        self.phrase(node.phrase)

    def relative(self, head: Phrase, clause: Clause) -> None:
        self.mark("relatives")
        is_subject = clause.subject is head
        who = is_subject and head.noun.kind == "person"
        self.fr("qui" if is_subject else "que", self.en("who" if who else "that"))
        self.clause(clause)

    def pronoun(self, pronoun: Pronoun, role: str) -> None:
        english, french = RULES.pronouns[pronoun.key][role]
        positions = self.en(english)
        self.fr(french, positions)
        if pronoun.antecedent:
            self.antecedents.append((positions[0], self.noun_at[pronoun.antecedent]))
        self.mark("gender", pronoun.gender == "f")
        self.mark("plural", pronoun.plural)

    # ---- clauses

    def clause(self, clause: Clause, question: bool = False) -> None:
        subject = clause.subject
        # A question starts with does, did or is in English, and with est-ce que in French.
        auxiliary = self.en((BE if clause.quality else DO)[self.tense][subject.plural], question)
        self.fr("est-ce que", auxiliary)
        if isinstance(subject, Pronoun):
            self.pronoun(subject, "subject")
        elif subject not in self.noun_at:
            self.phrase(subject)
        self.mark("negation", clause.negated)
        if clause.quality:
            self.state(clause, auxiliary)
        else:
            self.verb(clause, auxiliary)

    def state(self, clause: Clause, auxiliary: Positions) -> None:
        """`(is) not very cold`, n' est pas très froide."""
        subject, quality, feeling = clause.subject, clause.quality, not clause.quality.place
        be = auxiliary or self.en(BE[self.tense][subject.plural])
        negation, very = self.en("not", clause.negated), self.en("very", clause.very)
        positions = self.en(quality.en)
        self.fr("ne", negation)
        self.fr((AVOIR if feeling else ÊTRE)[self.tense][subject.plural], be)
        self.fr("pas", negation)
        self.fr("très", very)
        self.fr(quality.fr[0 if feeling else _form(subject.gender, subject.plural)], positions)
        self.mark("states")
        self.mark("adverbs", very)

    def verb(self, clause: Clause, auxiliary: Positions) -> None:
        """`(did not) often see her`, ne l' a pas souvent vue; and what follows the verb."""
        verb, obj, plural = clause.verb, clause.object, clause.subject.plural
        auxiliary = auxiliary or self.en(DO[self.tense][plural], clause.negated)
        negation, often = self.en("not", clause.negated), self.en("often", clause.often)
        form = 0 if auxiliary else 2 if self.past else 1 - plural
        positions = self.en(f"{verb.en[form]} {verb.particle}")
        self.fr("ne", negation)
        if isinstance(obj, Pronoun):
            self.mark("object_pronouns")
            self.pronoun(obj, "object")
        compound = self.past and not verb.lasts
        if compound:
            self.fr((ÊTRE if verb.aux == "être" else AVOIR)["present"][plural], auxiliary or positions[:1])
        else:
            self.fr((verb.imperfect if self.past else verb.fr)[plural], [*auxiliary, *positions])
        self.fr("pas", negation)
        self.fr("souvent", often)
        if compound:
            self.fr(self.participle(clause), positions)
        if isinstance(obj, Phrase) and obj not in self.noun_at:
            self.phrase(obj)
        if clause.location:
            self.prepositional_phrase(clause.location)
        if clause.adverb:
            self.adverb(clause.adverb)
        self.mark("adverbs", often)
        self.mark("fertility", verb.particle)

    def participle(self, clause: Clause) -> str:
        """The participle agrees with the subject of être, or with an object that precedes it."""
        node = clause.subject if clause.verb.aux == "être" else clause.object
        if not node or (isinstance(node, Phrase) and node not in self.noun_at):
            return clause.verb.participle[0]
        self.mark("participle_agreement")
        return clause.verb.participle[_form(node.gender, node.plural)]

    def adverb(self, adverb: Adverb) -> None:
        positions, french = self.en(adverb.en), adverb.fr.split()
        for index, word in enumerate(french):
            self.fr(word, [positions[left] for left, right in adverb.links if right == index])
        self.mark("adverbs")
        self.mark("fertility", len(positions) != len(french))

    # ---- elision and contraction

    def join(self) -> None:
        """`le eau` becomes l' eau; `de le` becomes du, which then comes from both English words.

        From the end, so that in `de le eau` le is elided before de and le could be contracted.
        """
        tgt = self.tgt
        for index in reversed([index for index, word in enumerate(tgt[:-1]) if word in MAY_CHANGE]):
            word, following = tgt[index], tgt[index + 1]
            if word in RULES.elision and starts_with_vowel(following):
                tgt[index] = RULES.elision[word]
                self.mark("elision")
            elif (word, following) in CONTRACTIONS:
                tgt[index : index + 2] = [CONTRACTIONS[word, following]]
                self.links = [(left, right - (right > index)) for left, right in self.links]
                self.mark("contractions")


def _form(gender: str, plural: bool) -> int:
    """The index of the form that agrees: m, f, m plural, f plural."""
    return (gender == "f") + 2 * plural


@cache
def _write_noun(
    noun: Noun, plural: bool, determiner: str, before: Quality | None, after: Quality | None, very: bool
) -> _Writer:
    """A noun with its determiner and adjectives. Sentences share a few thousand of them, hence the cache."""
    writer, english, french = _Writer(False), noun.en[plural], noun.fr[plural]
    adjectives = [quality.en for quality in (before, after) if quality]
    article = RULES.determiners[determiner]["en"][plural]
    following = "very" if very else [*adjectives, english][0]
    article_at = writer.en("an" if article == "a" and following[0] in VOWELS else article)
    very_at = writer.en("very", very)
    before_at, after_at = writer.en(before.en if before else ""), writer.en(after.en if after else "")
    noun_at = writer.en(english)

    form, vowel = _form(noun.gender, plural), starts_with_vowel(french)
    article = RULES.determiners[determiner]["fr"]["plural" if plural else noun.gender]
    article_changes = vowel and not before and article in RULES.before_vowel  # cet oiseau
    adjective_changes = vowel and before and before.before_vowel and form == 0  # un vieil homme
    if article_changes:
        article = RULES.before_vowel[article]
    elif before and article == "des":
        article = "de"
    writer.fr(article, article_at)
    if before:
        writer.fr("très", very_at)
        writer.fr(before.before_vowel if adjective_changes else before.fr[form], before_at)
    writer.fr(french, noun_at)
    if after:
        writer.fr("très", [] if before else very_at)
        writer.fr(after.fr[form], after_at)

    writer.mark("gender", noun.gender == "f")
    writer.mark("plural", plural)
    writer.mark("indefinites", determiner in INDEFINITE)
    writer.mark("adjectives_before", before)
    writer.mark("adjectives_after", after)
    writer.mark("adverbs", very)
    writer.mark("fertility", english.count(" ") != french.count(" "))
    writer.mark("elision", article_changes or adjective_changes)
    return writer
