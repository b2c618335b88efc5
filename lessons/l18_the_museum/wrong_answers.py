"""Answers to the exercises of lesson 18, as learners write them: wrong ones and right ones.

After each wrong one: the slip that must be named, or a name that the message must contain; None if no slip
may be named.
"""

from itertools import product
from statistics import mean

from course_lib.translation.comparison import BETTER, UNCLEAR, WORSE
from lessons.l18_the_museum.exercises import beats

# ---- beats


def forgets_direction(one, other, higher):
    if min(one) > max(other):
        return BETTER
    if max(one) < min(other):
        return WORSE
    return UNCLEAR


def first_two_runs(one, other, higher):
    return beats(one[:2], other[:2], higher)


def bool_without_higher(one, other, higher):
    return min(one) > max(other)


def one_over(one, other, higher):
    if not higher:
        one, other = [1 / x for x in one], [1 / x for x in other]
    return beats_plain(one, other, True)


def rounded(one, other, higher):
    return beats_plain([round(x, 2) for x in one], [round(x, 2) for x in other], higher)


def no_return(one, other, higher):
    verdict = BETTER if min(one) > max(other) else UNCLEAR
    print(verdict)


def beats_plain(one, other, higher):
    if not higher:
        one, other = other, one
        if min(one) > max(other):
            return BETTER
        return WORSE if max(one) < min(other) else UNCLEAR
    if min(one) > max(other):
        return BETTER
    return WORSE if max(one) < min(other) else UNCLEAR


def beats_sign(one, other, higher):
    sign = 1 if higher else -1
    gaps = [sign * (a - b) for a in one for b in other]
    if all(gap > 0 for gap in gaps):
        return BETTER
    return WORSE if all(gap < 0 for gap in gaps) else UNCLEAR


def beats_sorted(one, other, higher):
    one, other = sorted(one), sorted(other)
    above, below = one[0] > other[-1], one[-1] < other[0]
    if above:
        return BETTER if higher else WORSE
    if below:
        return WORSE if higher else BETTER
    return UNCLEAR


def the_same(one, other, higher):
    verdict = beats_sign(one, other, higher)
    return verdict if verdict in (BETTER, WORSE) else "equal"


def a_tie(one, other, higher):
    verdict = beats_sorted(one, other, higher)
    return verdict if verdict in (BETTER, WORSE) else "tie"


def numbers(one, other, higher):
    return {BETTER: 1, WORSE: -1, UNCLEAR: 0}[beats_plain(one, other, higher)]


def capital_letters(one, other, higher):
    return beats_plain(one, other, higher).capitalize()


def one_standard_deviation(one, other, higher):
    gap = (mean(one) - mean(other)) * (1 if higher else -1)
    noise = (max(one) - min(one) + max(other) - min(other)) / 2
    return BETTER if gap > noise else WORSE if gap < -noise else UNCLEAR


def sorts_in_place(one, other, higher):
    one.sort()
    other.sort()
    return beats_sorted(one, other, higher)


def swaps_by_not(one, other, higher):
    verdict = beats_plain(one, other, True)
    return verdict if higher else {BETTER: WORSE, WORSE: BETTER, UNCLEAR: UNCLEAR}[verdict]


def beats_matching(one, other, higher):
    match (min(one) > max(other), max(one) < min(other)):
        case (True, _):
            return BETTER if higher else WORSE
        case (_, True):
            return WORSE if higher else BETTER
    return UNCLEAR


# ---- defend


def _defend(claim, table, higher, *, fine=(BETTER,), skip=False):
    holes = []
    for column in claim["on"]:
        for rival in claim["over"]:
            mine, theirs = table[column].get(claim["system"]), table[column].get(rival)
            if mine is None or theirs is None:
                if not skip:
                    holes.append((column, rival, "not measured"))
                continue
            answer = beats(mine, theirs, higher[column])
            if answer not in fine:
                holes.append((column, rival, answer))
    return holes


def as_lists(claim, table, higher):
    return [list(hole) for hole in _defend(claim, table, higher)]


def every_rival(claim, table, higher):
    holes = []
    for column in claim["on"]:
        rivals = [name for name in table[column] if name != claim["system"]]
        holes += _defend({**claim, "on": [column], "over": rivals}, table, higher)
    return holes


def defend_with_get(claim, table, higher):
    return _defend(claim, table, higher)


def defend_by_list(claim, table, higher):
    def judged(column, rival):
        if {claim["system"], rival} <= set(table[column]):
            return beats(table[column][claim["system"]], table[column][rival], higher[column])
        return "not measured"

    answers = [(column, rival, judged(column, rival)) for column in claim["on"] for rival in claim["over"]]
    return [hole for hole in answers if hole[2] != BETTER]


def defend_with_try(claim, table, higher):
    holes = []
    for column in claim["on"]:
        for rival in claim["over"]:
            try:
                answer = beats(table[column][claim["system"]], table[column][rival], higher[column])
            except KeyError:
                answer = "not measured"
            if answer in (WORSE, UNCLEAR, "not measured"):
                holes.append((column, rival, answer))
    return holes


def defend_with_product(claim, table, higher):
    system = claim["system"]
    holes = []
    for column, rival in product(claim["on"], claim["over"]):
        numbers = table[column]
        measured = system in numbers and rival in numbers
        answer = beats(numbers[system], numbers[rival], higher[column]) if measured else "not measured"
        holes += [] if answer == BETTER else [(column, rival, answer)]
    return holes


# ---- my_claim


def _claim(system, over, on, not_on):
    return {"system": system, "over": over, "on": on, "not_on": not_on}


def newest_is_best():
    return _claim("transformer", ["bahdanau"], ["test", "recombination"], ["21 to 30 words"])


def one_column():
    return _claim("convs2s", ["transformer"], ["BLEU beam"], ["test"])


def no_limit():
    return _claim("convs2s", ["transformer"], ["BLEU beam", "BLEU own rate"], [])


def wrong_limit():
    return _claim("bahdanau", ["seq2seq"], ["test", "depth"], ["BLEU beam"])


def not_there():
    return _claim("bahdanau", ["seq2seq"], ["test", "alignment error"], ["training"])


def a_language_model():
    return _claim("gru_lm", ["lstmn_lm"], ["perplexity", "decoding"], [])


def no_limit_there():
    on = ["21 to 30 words", "31 to 40 words"]
    return _claim("bahdanau", ["transformer"], on, ["test", "alignment error"])


def limit_not_measured():
    return _claim("bahdanau", ["transformer"], ["21 to 30 words", "31 to 40 words"], ["test", "perplexity"])


def rival_twice():
    over = ["transformer", "transformer"]
    return _claim("bahdanau", over, ["21 to 30 words", "31 to 40 words"], ["test"])


def by_parameters():
    return _claim("transformer", ["bahdanau"], ["parameters", "training"], ["test"])


def greedy_and_beam():
    return _claim("convs2s", ["bahdanau"], ("BLEU greedy", "BLEU beam"), ("test",))


def runs_but_not_sentences():
    return _claim("bahdanau", ["transformer"], ["21 to 30 words", "BLEU R-Drop"], ["test"])


def limit_by_sentences():
    on = ["21 to 30 words", "31 to 40 words"]
    return _claim("bahdanau", ["transformer"], on, ["BLEU R-Drop"])


def over_a_part():
    return _claim("transformer", ["no_residual"], ["test", "depth"], ["31 to 40 words"])


def other_way():
    return _claim("transformer", ["convs2s"], ["BLEU beam", "BLEU own rate"], ["test"])


def unknown_name():
    return _claim("luong", ["transformer"], ["test", "depth"], ["BLEU beam"])


def a_word_for_a_list():
    return _claim("convs2s", "transformer", ["BLEU beam", "BLEU own rate"], ["test"])


def convolutions_on_real():
    return _claim("convs2s", ["transformer", "bahdanau"], ["BLEU beam", "BLEU own rate"], ["depth"])


def recurrence_on_length():
    return _claim("bahdanau", ["transformer"], ["21 to 30 words", "31 to 40 words"], ["test"])


def transformer_trains_fast():
    on = ["training", "recombination"]
    return _claim("transformer", ["seq2seq", "luong_dot"], on, ["decoding", "31 to 40 words"])


def older_but_quick():
    return _claim("rnn_encoder_decoder", ["transformer"], ["decoding", "training"], ["test"])


def reciprocals(one, other, higher):
    if not higher:
        one, other = [1 / x for x in one], [1 / x for x in other]
    return forgets_direction(one, other, higher)


def all_differences(one, other, higher):
    sign = 1 if higher else -1
    gaps = [sign * (a - b) for a in one for b in other]
    return BETTER if min(gaps) > 0 else WORSE if max(gaps) < 0 else UNCLEAR


def asks_for_both(claim, table, higher):
    holes = []
    for column in claim["on"]:
        for rival in claim["over"]:
            numbers = table[column]
            answer = "not measured"
            if claim["system"] in numbers and rival in numbers:
                answer = beats(numbers[claim["system"]], numbers[rival], higher[column])
            if answer != BETTER:
                holes.append((column, rival, answer))
    return holes


def a_cost_as_the_limit():
    return _claim("bahdanau", ["transformer"], ["21 to 30 words", "31 to 40 words"], ["parameters"])


def a_rival_without_limit():
    on = ["21 to 30 words", "31 to 40 words"]
    return _claim("bahdanau", ["transformer", "rctm"], on, ["BLEU beam"])


def a_column_on_both_sides():
    return _claim("bahdanau", ["transformer"], ["21 to 30 words", "31 to 40 words", "test"], ["test"])


WRONG = {
    "beats": [
        (reciprocals, None),
        (first_two_runs, None),
        (one_over, None),
        (rounded, None),
        (bool_without_higher, None),
        (no_return, "returns-none"),
        (the_same, "equal"),
        (a_tie, "tie"),
        (numbers, None),
        (capital_letters, None),
        (one_standard_deviation, None),
        (sorts_in_place, "in-place"),
    ],
    "defend": [
        (every_rival, None),
    ],
    "my_claim": [
        (newest_is_best, '"test"'),
        (one_column, "at least two"),
        (no_limit, "transformer"),
        (wrong_limit, '"BLEU beam"'),
        (not_there, '"alignment error"'),
        (other_way, "convs2s"),
        (unknown_name, '"luong"'),
        (a_word_for_a_list, '"over"'),
        (a_language_model, '"gru_lm"'),
        (no_limit_there, "better than all rivals there"),
        (limit_not_measured, "weren't measured there"),
        (a_rival_without_limit, "rctm"),
        (a_column_on_both_sides, 'in "on" and in "not_on"'),
        (rival_twice, '"transformer"'),
        (by_parameters, '"parameters"'),
        (over_a_part, '"no_residual"'),
        (runs_but_not_sentences, "the sentences don't"),
        (lambda: "the Transformer is best", "a string"),
        (lambda: _claim(["bahdanau"], ["transformer"], ["test", "depth"], ["BLEU beam"]), '"system"'),
        (lambda: _claim("bahdanau", [["transformer"]], ["test", "depth"], ["BLEU beam"]), '"over"'),
        (lambda: _claim("bahdanau", ["bahdanau"], ["test", "depth"], ["BLEU beam"]), '"bahdanau"'),
        (lambda: _claim("bahdanau", [], ["test", "depth"], ["BLEU beam"]), '"over"'),
        (lambda: _claim("bahdanau", ["transformer"], ["21 to 30 words"] * 2, ["test"]), '"21 to 30 words"'),
    ],
}

RIGHT = {
    "beats": [beats_plain, beats_sign, beats_sorted, swaps_by_not, beats_matching, all_differences],
    "defend": [
        defend_with_get,
        defend_by_list,
        defend_with_try,
        defend_with_product,
        as_lists,
        asks_for_both,
    ],
    "my_claim": [
        convolutions_on_real,
        recurrence_on_length,
        transformer_trains_fast,
        older_but_quick,
        greedy_and_beam,
        limit_by_sentences,
        a_cost_as_the_limit,
    ],
}
