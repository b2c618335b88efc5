"""The toy language: English into French, small enough to know by heart, generated without end.

    lexicon.py      the words, read from data/toy/lexicon.json
    grammar.py      the small words and rules, read from data/toy/grammar.json
    sense.py        who goes with whom, and what a pronoun could be mistaken for
    tree.py         what a sentence is made of before it is said: noun phrases, clauses
    say.py          says a tree in both languages at once and notes which word became which
    sentence.py     one sentence in the making: draws lots, and remembers what has been said
    cores.py        what a sentence is about, in as few words as it takes
    grow.py         lets it grow, word by word, to the length that is wanted
    generate.py     `generate(n, seed=…)`: the door
    splits.py       train, validation, test, and the four hard tests
    read.py         the way back: what a sentence that somebody typed means in French

Take each from its own file, so that a reader sees where it lives:

    >>> from course_lib.text.toy.generate import running_pair
    >>> running_pair()[0].tgt_text
    "le chat a bu l' eau parce qu' il avait soif"
"""
