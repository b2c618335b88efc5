"""The toy language: English into French, small enough to know by heart, generated without end.

    lexicon.py      the words, read from data/toy/lexicon.json and checked
    grammar.py      the small words and rules, read from data/toy/grammar.json and checked
    tree.py         what a sentence is made of before it is said: noun phrases, clauses
    wording.py      the words of a noun with its determiner and adjectives
    say.py          says a tree in both languages at once and notes which word became which
    choices.py      the words that a set of rules leaves, and who goes with whom
    drawing.py      draws lots, and remembers what a sentence has said so far
    phrases.py      draws noun phrases of an exact length, with what hangs on them
    pronouns.py     draws clauses with a pronoun that has one right reading
    clauses.py      draws clauses and whole sentences of an exact length
    generate.py     `generate(n, seed=…)`: the door
    splits.py       train, validation, test, and the three hard tests

Take each from its own file, so that a reader sees where it lives:

    >>> from course_lib.text.toy.generate import running_pair
    >>> running_pair()[0].tgt_text
    "le chat a bu l' eau parce qu' il avait soif"
"""
