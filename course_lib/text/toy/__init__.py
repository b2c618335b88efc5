"""The toy language: English into French, small enough to know by heart, generated without end.

    lexicon.py      the words, small ones too, and the rules, read from data/toy
    sense.py        who goes with whom, and what a pronoun could be mistaken for
    tree.py         what a sentence is made of before it is said: noun phrases, clauses
    say.py          says a tree in both languages at once and notes which word became which
    sentence.py     one sentence in the making: draws lots, and remembers what has been said
    cores.py        what a sentence is about, in as few words as it takes
    grow.py         lets it grow, word by word, to the length that is wanted
    generate.py     `generate(n, seed=…)`: the door
    splits.py       train, validation, test, and the four hard tests

How a sentence comes about (`generate.draw`). It is given room for so many words. A core, in as few of them as
it takes, says what it is about: "the cat drank the water because it was cold". If it has a pronoun, whatever
else that could mean is banned from the sentence. Growths spend the words that are left, a few each: an
adjective, a place, a relative clause, a denial. Where a growth finds nothing to say, a `DeadEnd` undoes it;
where a core does, or growths too often, the sentence is begun anew. What stands in the end is a tree, and is
said.

What makes sense is written beside the words (`lexicon.py`): tags say who goes with whom, and verbs and
prepositions have flags for the rest, of three sorts:

- grammar, what an object, a place, a determiner must look like: `needs_where`, `definite`, `verb_only`, …
- sense, what is well said and yet odd, such as two kings who wear one hat: `same_number`, `once`, `bars`, …
- order, what is done to a thing before what, "found it and ate it": `step`, `after`

Take each from its own file, so that a reader sees where it lives:

    >>> from course_lib.text.toy.generate import running_pair
    >>> running_pair()[0].tgt_text
    "le chat a bu l' eau parce qu' il avait soif"
"""
