"""The toy language: English into French, small enough to know by heart, with any number of sentences.

    lexicon.py      the words and the rules, read from data/toy
    sense.py        which words go together, and what a pronoun could be mistaken for
    tree.py         the tree of a sentence: noun phrases and clauses
    realisation.py          writes a tree in both languages at once, with the word alignment
    read.py         the other way round: reads an English sentence, and gives its translations
    sentence.py     a sentence under construction: random choices, and the words used so far
    cores.py        what a sentence is about, in as few words as possible
    grow.py         extends it, step by step, to the requested length
    generate.py     `generate(n, seed=…)`: pairs of sentences
    splits.py       train, validation, test, and the four hard tests
    twins.py        the minimal pairs, whose pronouns depend on the last word
    stored.py       the standard ones in a file, which is read faster than they are drawn

How a sentence is made (`generate.draw`): first its length is drawn. A core says what it is about, in as few
words as possible: "the cat drank the water because it was cold". Growths then spend the remaining words, a
few each: an adjective, a location, a relative clause, a negation. A growth that reaches a dead end is undone;
when a core does, or too many growths do, a new sentence is started. The finished tree is realised in both
languages.

    >>> from course_lib.text.toy.generate import running_pair
    >>> running_pair()[0].tgt_text
    "le chat a bu l' eau parce qu' il avait soif"
"""
