"""The solutions of lesson 09: its notebook shows them, and the checks compare answers with them."""


def flipping_words(words, pronoun):
    """words: a list of n words; pronoun: a function, list of masked positions -> a word

    ->  a list of the positions that change the pronoun when masked, each on its own
    """
    # solution
    before = pronoun([])
    positions = range(len(words))
    return [position for position in positions if pronoun([position]) != before]
    # end solution
