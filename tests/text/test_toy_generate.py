"""The toy language: what it says, how long, with which rules, and always the same."""

from __future__ import annotations

import doctest
import hashlib
import importlib
import inspect
import os
import random
import subprocess
import sys
from collections import Counter
from itertools import islice

import pytest

from course_lib.runtime import PROJECT_ROOT
from course_lib.text.pair import Pair
from course_lib.text.toy import grow as growing
from course_lib.text.toy.cores import compose
from course_lib.text.toy.draft import DeadEnd, Draft
from course_lib.text.toy.generate import DEEP, draw, generate, running_pair
from course_lib.text.toy.grammar import Adverb, grammar
from course_lib.text.toy.lexicon import lexicon
from course_lib.text.toy.say import say
from course_lib.text.toy.splits import splits
from course_lib.text.toy.tree import (
    Clause,
    Part,
    Phrase,
    Place,
    Pronoun,
    Relative,
    Sentence,
    State,
)

# Of `digest()`. Another value means other sentences: every stored result is then out of date.
SHA_256 = "96348e09bfe2cee88e17d31dfe37e0fba0c1dd7efc328d0485c9019fbd29deab"


@pytest.fixture(scope="module")
def pairs() -> list[Pair]:
    return generate(4000, seed=1, length=(3, 40))


def digest() -> str:
    """Everything about some pairs, in bytes."""
    lines = [
        f"{p.src_text}|{p.tgt_text}|{sorted(p.links)}|{sorted(p.phenomena)}|{p.antecedents}"
        for p in generate(500, seed=0, length=(3, 40))
    ]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


# ---- the sentences the course is built on


def test_the_running_pair():
    first, second = running_pair()
    assert first.src_text == "the cat drank the water because it was thirsty"
    assert first.tgt_text == "le chat a bu l' eau parce qu' il avait soif"
    assert second.src_text == "the cat drank the water because it was cold"
    assert second.tgt_text == "le chat a bu l' eau parce qu' elle était froide"
    assert first.antecedents == ((6, 1),) and second.antecedents == ((6, 4),)
    # the cat drank(a, bu) the water because(parce, qu') it was thirsty
    links = {(0, 0), (1, 1), (2, 2), (2, 3), (3, 4), (4, 5), (5, 6), (5, 7), (6, 8), (7, 9), (8, 10)}
    assert first.links == second.links == links


def the(name: str, **more) -> Phrase:
    return Phrase(lexicon().noun(name), **more)


def a(name: str, **more) -> Phrase:
    return the(name, determiner="a", **more)


def are(subject: Phrase, name: str, **more) -> State:
    return State(subject, lexicon().quality(name, subject.noun), **more)


def beside(name: str):
    return next(q for q in lexicon().qualities if q.en == name and q.place)


def place(name: str, phrase: Phrase) -> Place:
    return Place(grammar().preposition(name), phrase)


def do(subject, verb: str, thing=None, **more) -> Clause:
    return Clause(subject, lexicon().verb(verb), thing, **more)


def eaten_apple() -> Phrase:
    apple = the("apple")
    apple.behind = Relative(do(the("boy"), "eat", apple))
    return apple


def water_of(name: str) -> Phrase:
    return a(name, behind=place("full of", the("water", determiner="none")))


PRESENT = [
    (do(the("boy"), "see", Pronoun("f")), "the boy sees her", "le garçon la voit"),
    (
        do(the("cat", plural=True, determiner="some", before=beside("small")), "run"),
        "some small cats run",
        "de petits chats courent",
    ),
    (do(the("cat", plural=True, determiner="some"), "run"), "some cats run", "des chats courent"),
    (do(a("man", before=beside("old")), "sleep"), "an old man sleeps", "un vieil homme dort"),
    (do(the("hedgehog", before=beside("old")), "sleep"), "the old hedgehog sleeps", "le vieux hérisson dort"),
    (do(the("bird", determiner="this"), "arrive"), "this bird arrives", "cet oiseau arrive"),
    (
        do(the("woman"), "wash", the("car", before=beside("big"), after=beside("red"))),
        "the woman washes the big red car",
        "la femme lave la grande voiture rouge",
    ),
    (
        do(the("dog", behind=place("of", the("king"))), "sleep", place=place("near", the("school"))),
        "the dog of the king sleeps near the school",
        "le chien du roi dort près de l' école",
    ),
    (
        do(the("man"), "look for", the("key"), often=True, negated=True),
        "the man does not often look for the key",
        "l' homme ne cherche pas souvent la clé",
    ),
    (do(the("queen"), "buy", water_of("bottle")), "the queen buys a bottle of water",
     "la reine achète une bouteille d' eau"),
    (do(the("aunt"), "wash", the("table", behind=place("part of", the("kitchen")))),
     "the aunt washes the table in the kitchen", "la tante lave la table de la cuisine"),
    (are(the("boy"), "cold"), "the boy is cold", "le garçon a froid"),
    (are(the("water"), "cold"), "the water is cold", "l' eau est froide"),
]  # fmt: skip
PAST = [
    (do(the("girl"), "see", Pronoun("f")), "the girl saw her", "la fille l' a vue"),
    (do(the("girl"), "love", Pronoun("m")), "the girl loved him", "la fille l' aimait"),
    (
        do(the("cat"), "drink", the("milk"), negated=True),
        "the cat did not drink the milk",
        "le chat n' a pas bu le lait",
    ),
    (do(the("king"), "wear", the("hat"), negated=True), "the king did not wear the hat",
     "le roi ne portait pas le chapeau"),
    (are(eaten_apple(), "good"), "the apple that the boy ate was good",
     "la pomme que le garçon a mangée était bonne"),
    (do(the("girl", plural=True), "fall"), "the girls fell", "les filles sont tombées"),
    (do(the("king"), "go", place=place("to", the("market"))), "the king went to the market",
     "le roi est allé au marché"),
    (do(the("king"), "arrive", place=place("at", the("school"))), "the king arrived at the school",
     "le roi est arrivé à l' école"),
]  # fmt: skip
SAID = [(False, *row) for row in PRESENT] + [(True, *row) for row in PAST]


@pytest.mark.parametrize(("past", "clause", "english", "french"), SAID, ids=[row[2] for row in SAID])
def test_what_is_said(past, clause, english, french):
    pair = say(Sentence([Part(clause)], past=past))
    assert (pair.src_text, pair.tgt_text) == (english, french)


def test_a_question():
    seen = do(a("cat"), "see", the("water"))
    pair = say(Sentence([Part(seen)], past=True, question=True))
    assert pair.src_text == "did a cat see the water ?"
    assert pair.tgt_text == "est-ce qu' un chat a vu l' eau ?"
    assert pair.links >= {(0, 0), (0, 1), (0, 4), (3, 5), (6, 8)}


def test_a_subject_that_is_not_said_again():
    boy, apple = the("boy"), the("apple")
    second = do(boy, "eat", Pronoun.of(apple), negated=True)
    pair = say(Sentence([Part(do(boy, "buy", apple)), Part(second, "but")], past=True))
    assert pair.src_text == "the boy bought the apple but did not eat it"
    assert pair.tgt_text == "le garçon a acheté la pomme mais ne l' a pas mangée"
    assert pair.antecedents == ((9, 4),)


# ---- size, length, rules


def test_250_to_400_words_a_side(pairs):
    for side in ({w for p in pairs for w in p.src}, {w for p in pairs for w in p.tgt}):
        assert 250 <= len(side) <= 400


@pytest.mark.parametrize("length", [(3, 3), (4, 4), (6, 6), (9, 11), (27, 27), (40, 40)], ids=str)
def test_the_length_is_honoured(length):
    found = Counter(pair.length for pair in generate(300, seed=2, length=length))
    assert sorted(found) == list(range(length[0], length[1] + 1))


def test_every_length_comes_alike_often(pairs):
    found = Counter(pair.length for pair in pairs)
    assert sorted(found) == list(range(3, 41))
    assert max(found.values()) < 2 * min(found.values())


def test_every_rule_is_at_work_in_many_sentences(pairs):
    found = Counter(rule for pair in pairs for rule in pair.phenomena)
    assert set(found) == set(grammar().rules)
    assert min(found.values()) > 0.04 * len(pairs)


@pytest.mark.parametrize("nesting", [(0, 0), (0, 2), DEEP], ids=str)
def test_the_depth_is_honoured(nesting):
    found = {one.depth for one in islice(draw(random.Random(0), length=(14, 20), nesting=nesting), 300)}
    assert found == set(range(nesting[0], nesting[1] + 1))


def test_every_word_has_a_counterpart(pairs):
    for pair in pairs:
        assert {left for left, _ in pair.links} == set(range(len(pair.src))), pair
        assert {right for _, right in pair.links} == set(range(len(pair.tgt))), pair


def test_it_and_they_always_have_an_antecedent(pairs):
    for pair in pairs:
        wanted = {at for at, word in enumerate(pair.src) if word in ("it", "they", "them", "he", "she")}
        assert wanted <= {pronoun for pronoun, _ in pair.antecedents}
        assert all(noun < pronoun for pronoun, noun in pair.antecedents)


def test_one_sentence_one_translation(pairs):
    translation = {}
    for pair in [*pairs, *generate(3000, seed=8, length=(3, 9))]:
        assert translation.setdefault(pair.src, pair.tgt) == pair.tgt


def test_a_rule_of_ones_own(monkeypatch):
    """What a learner does: one function, named in a table."""
    now = Adverb("right now", "maintenant", ((0, 0), (1, 0)), "present")

    def right_now(draft: Draft, clause: Clause) -> None:
        if draft.sentence.past or clause.depth or clause.object or clause.place or clause.adverb:
            raise DeadEnd
        draft.spend(2)
        clause.adverb = now

    monkeypatch.setattr(growing, "CLAUSE", (*growing.CLAUSE, right_now))
    found = [pair for pair in generate(2500, seed=0, length=(5, 9)) if "maintenant" in pair.tgt]
    assert len(found) > 5
    for pair in found:
        at, there = pair.src.index("right"), pair.tgt.index("maintenant")
        assert pair.src[at + 1] == "now" and {(at, there), (at + 1, there)} <= pair.links


def test_a_dead_end_leaves_nothing_behind():
    rng = random.Random(5)
    draft = Draft(rng, 12)
    while not draft.sentence.parts:
        draft = Draft(rng, 12)
        try:
            compose(draft)
        except DeadEnd:
            draft.sentence.parts.clear()
    before, room = say(draft.sentence), draft.room
    draft.room = 0
    with pytest.raises(DeadEnd):
        growing.behind(draft, draft.phrases[0])
    assert say(draft.sentence) == before and draft.sentence.parts
    draft.room = room
    growing.grow(draft)
    assert say(draft.sentence).length == 12


@pytest.mark.parametrize(
    "name",
    ["cores", "draft", "generate", "grammar", "grow", "lexicon", "say", "sense", "splits", "tree"],
)
def test_the_examples_of_the_docstrings(name):
    """Their values, not what merely shows: an example without an answer is only run."""
    module = importlib.import_module(f"course_lib.text.toy.{name}")
    scope = {
        "random": random,
        **{key: value for key, value in globals().items() if key[0] != "_"},
        **vars(module),
    }
    runner = doctest.DocTestRunner(checker=_Lenient(), verbose=False)
    for example in doctest.DocTestFinder().find(module, globs=scope):
        runner.run(example)
    assert runner.failures == 0, "the captured output shows which example"


class _Lenient(doctest.OutputChecker):
    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        return not want or super().check_output(want, got, optionflags)


# ---- the same everywhere


def test_the_same_seed_gives_the_same_bytes():
    assert digest() == SHA_256


def test_another_seed_gives_other_sentences():
    assert generate(5, seed=0) == generate(5, seed=0) != generate(5, seed=1)


def spoken() -> str:
    toy = splits(sizes={"train": 40, "recombination": 5, "coreference": 6, "depth": 5})
    every = [*generate(40, seed=0), *toy.train, *toy.recombination, *toy.coreference, *toy.depth]
    return ascii([(p.src_text, p.tgt_text, sorted(p.links), p.antecedents) for p in every] + [toy.held_out])


@pytest.mark.slow
def test_the_order_of_sets_changes_nothing():
    """In another process, whose hashes differ from those of this one."""
    program = (
        "from course_lib.text.toy.generate import generate\n"
        "from course_lib.text.toy.splits import splits\n"
        f"{inspect.getsource(spoken)}\nprint(spoken())"
    )
    here = os.environ.get("PYTHONHASHSEED", "random")
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=PROJECT_ROOT,
        env=os.environ | {"PYTHONHASHSEED": "2" if here == "1" else "1"},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert done.stdout.strip() == spoken()


@pytest.mark.parametrize("length", [(2, 5), (5, 4), (3, 41)], ids=str)
def test_an_impossible_length_says_what_is_possible(length):
    with pytest.raises(ValueError, match=r"has 3 to 40 words, .* such as") as raised:
        generate(1, seed=0, length=length)
    assert str(length) in str(raised.value)


def test_a_depth_out_of_reach_says_so():
    with pytest.raises(ValueError, match=r"No sentence of 5 words .* 3 to 4 deep\. Ask for longer"):
        next(draw(random.Random(0), length=(5, 5), nesting=DEEP))
