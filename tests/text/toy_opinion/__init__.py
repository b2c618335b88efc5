"""A second opinion on the toy language: both sides read again, from tables written by hand.

    words.py      the words and their forms, by rules of thumb of its own
    reader.py     what both readers share
    english.py    an English sentence as notes: phrases, verbs, states, in their order
    french.py     a French one; complains of wrong agreement, elision, word order
    both.py       the notes of the two must agree, and so must the gold links
    sense.py      pronouns have one reading, nothing contradicts itself, all is in one tense

Nothing here comes from the generator. `test_toy_grammar.py` loads it.
"""
