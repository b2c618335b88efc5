"""Answers to the exercises of lesson 18, as learners write them: wrong ones and right ones.

After each wrong one: the slip that must be named, or a name that the message must contain; None if no slip
may be named.
"""

from itertools import product
from statistics import mean, median

from lessons.l18_the_museum.museum import HIGHER, beats
from lessons.l18_the_museum.museum import table as real_table

# ---- beats


def compare_means(one, other, higher):
    a, b = sum(one) / len(one), sum(other) / len(other)
    if a == b:
        return "undecided"
    if higher:
        return "yes" if a > b else "no"
    return "yes" if a < b else "no"


def compare_best(one, other, higher):
    a, b = (max(one), max(other)) if higher else (min(one), min(other))
    if a == b:
        return "undecided"
    return "yes" if (a > b) == higher else "no"


def forgets_direction(one, other, higher):
    if min(one) > max(other):
        return "yes"
    if max(one) < min(other):
        return "no"
    return "undecided"


def pairs_of_seeds(one, other, higher):
    signs = [(a > b) - (a < b) for a, b in zip(one, other, strict=False)]
    if all(sign == (1 if higher else -1) for sign in signs):
        return "yes"
    if all(sign == (-1 if higher else 1) for sign in signs):
        return "no"
    return "undecided"


def wins(one, other, higher):
    return min(one) > max(other) if higher else max(one) < min(other)


def yes_or_no(one, other, higher):
    return "yes" if wins(one, other, higher) else "no"


def yes_or_undecided(one, other, higher):
    return "yes" if wins(one, other, higher) else "undecided"


def first_two_seeds(one, other, higher):
    return beats(one[:2], other[:2], higher)


def booleans(one, other, higher):
    return wins(one, other, higher)


def true_false_or_none(one, other, higher):
    if wins(one, other, higher):
        return True
    return False if wins(other, one, higher) else None


def bool_without_higher(one, other, higher):
    return min(one) > max(other)


def equal_wins(one, other, higher):
    if not higher:
        one, other = other, one
    if min(one) >= max(other):
        return "yes"
    return "no" if min(other) >= max(one) else "undecided"


def equal_wins_for_yes(one, other, higher):
    if not higher:
        one, other = other, one
    if min(one) >= max(other):
        return "yes"
    return "no" if min(other) > max(one) else "undecided"


def equal_wins_for_no(one, other, higher):
    if not higher:
        one, other = other, one
    if min(one) > max(other):
        return "yes"
    return "no" if max(one) <= min(other) else "undecided"


def one_pair_is_enough(one, other, higher):
    if any(a > b if higher else a < b for a, b in product(one, other)):
        return "yes"
    return "no" if any(b > a if higher else b < a for a, b in product(one, other)) else "undecided"


def half_is_enough(one, other, higher):
    pairs = [(a, b) if higher else (b, a) for a, b in product(one, other)]
    if sum(a > b for a, b in pairs) > 0.5 * len(pairs):
        return "yes"
    return "no" if sum(a < b for a, b in pairs) > 0.5 * len(pairs) else "undecided"


def higher_once(one, other, higher):
    if wins(one, other, higher):
        return "yes"
    return "no" if max(one) < min(other) else "undecided"


def inverted(one, other, higher):
    return beats_plain(one, other, not higher)


def three_seeds(one, other, higher):
    return beats_plain(one[:3], other[:3], higher)


def first_against_first(one, other, higher):
    return compare_means(one[:1], other[:1], higher)


def middle_seeds(one, other, higher):
    return compare_means([median(one)], [median(other)], higher)


def in_order_of_size(one, other, higher):
    return pairs_of_seeds(sorted(one), sorted(other), higher)


def strict_zip(one, other, higher):
    wins = {a > b if higher else a < b for a, b in zip(one, other, strict=True)}
    return "undecided" if wins == {True, False} else beats_plain(one, other, higher)


def one_over(one, other, higher):
    if not higher:
        one, other = [1 / x for x in one], [1 / x for x in other]
    return beats_plain(one, other, True)


def rounded(one, other, higher):
    return beats_plain([round(x, 2) for x in one], [round(x, 2) for x in other], higher)


def no_return(one, other, higher):
    verdict = "yes" if min(one) > max(other) else "undecided"
    print(verdict)


def beats_plain(one, other, higher):
    if not higher:
        one, other = other, one
        if min(one) > max(other):
            return "yes"
        return "no" if max(one) < min(other) else "undecided"
    if min(one) > max(other):
        return "yes"
    return "no" if max(one) < min(other) else "undecided"


def beats_sign(one, other, higher):
    sign = 1 if higher else -1
    gaps = [sign * (a - b) for a in one for b in other]
    if all(gap > 0 for gap in gaps):
        return "yes"
    return "no" if all(gap < 0 for gap in gaps) else "undecided"


def beats_sorted(one, other, higher):
    one, other = sorted(one), sorted(other)
    above, below = one[0] > other[-1], one[-1] < other[0]
    if above:
        return "yes" if higher else "no"
    if below:
        return "no" if higher else "yes"
    return "undecided"


def the_old_word(one, other, higher):
    verdict = beats_plain(one, other, higher)
    return "open" if verdict == "undecided" else verdict


def the_same(one, other, higher):
    verdict = beats_sign(one, other, higher)
    return verdict if verdict in ("yes", "no") else "equal"


def a_tie(one, other, higher):
    verdict = beats_sorted(one, other, higher)
    return verdict if verdict in ("yes", "no") else "tie"


def numbers(one, other, higher):
    return {"yes": 1, "no": -1, "undecided": 0}[beats_plain(one, other, higher)]


def capital_letters(one, other, higher):
    return beats_plain(one, other, higher).capitalize()


def one_standard_deviation(one, other, higher):
    gap = (mean(one) - mean(other)) * (1 if higher else -1)
    noise = (max(one) - min(one) + max(other) - min(other)) / 2
    return "yes" if gap > noise else "no" if gap < -noise else "undecided"


def smaller_lists_first(one, other, higher):
    n = min(len(one), len(other))
    return beats_plain(one[:n], other[:n], higher)


def sorts_in_place(one, other, higher):
    one.sort()
    other.sort()
    return beats_sorted(one, other, higher)


def swaps_by_not(one, other, higher):
    verdict = beats_plain(one, other, True)
    return verdict if higher else {"yes": "no", "no": "yes", "undecided": "undecided"}[verdict]


def beats_matching(one, other, higher):
    match (min(one) > max(other), max(one) < min(other)):
        case (True, _):
            return "yes" if higher else "no"
        case (_, True):
            return "no" if higher else "yes"
    return "undecided"


# ---- defend


def defend_by_means(claim, table, higher):
    holes = []
    for column in claim["on"]:
        for rival in claim["over"]:
            if claim["system"] not in table[column] or rival not in table[column]:
                holes.append((column, rival, "not measured"))
                continue
            gap = mean(table[column][claim["system"]]) - mean(table[column][rival])
            if (gap > 0) != higher[column]:
                holes.append((column, rival, "no"))
    return holes


def _defend(claim, table, higher, *, fine=("yes",), skip=False):
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


def undecided_is_fine(claim, table, higher):
    return _defend(claim, table, higher, fine=("yes", "undecided"))


def only_undecided(claim, table, higher):
    return _defend(claim, table, higher, fine=("yes", "no"))


def passes_over(claim, table, higher):
    return _defend(claim, table, higher, skip=True)


def all_of_them(claim, table, higher):
    return _defend(claim, table, higher, fine=())


def successes(claim, table, higher):
    return _defend(claim, table, higher, fine=("no", "undecided"), skip=True)


def rival_first(claim, table, higher):
    return [(rival, column, answer) for column, rival, answer in _defend(claim, table, higher)]


def system_named(claim, table, higher):
    return [(column, claim["system"], answer) for column, rival, answer in _defend(claim, table, higher)]


def no_direction(claim, table, higher):
    return _defend(claim, table, dict.fromkeys(higher, True))


def rivals_first(claim, table, higher):
    holes = []
    for rival in claim["over"]:
        holes += _defend({**claim, "over": [rival]}, table, higher)
    return holes


def for_the_rival(claim, table, higher):
    holes = []
    for column in claim["on"]:
        for rival in claim["over"]:
            mine, theirs = table[column].get(claim["system"]), table[column].get(rival)
            if mine is None or theirs is None:
                holes.append((column, rival, "not measured"))
            elif (answer := beats(theirs, mine, higher[column])) != "yes":
                holes.append((column, rival, answer))
    return holes


def leaves_the_column(claim, table, higher):
    holes = []
    for column in claim["on"]:
        for rival in claim["over"]:
            part = _defend({**claim, "on": [column], "over": [rival]}, table, higher)
            if part:
                holes += part
                break
    return holes


def returns_in_the_loop(claim, table, higher):
    for column in claim["on"]:
        holes = _defend({**claim, "on": [column]}, table, higher)
        return holes
    return []


def starts_again(claim, table, higher):
    holes = []
    for column in claim["on"]:
        holes = _defend({**claim, "on": [column]}, table, higher)
    return holes


def one_hole_for_a_column(claim, table, higher):
    holes = []
    for column in claim["on"]:
        if claim["system"] not in table[column]:
            holes += [(column, rival, "not measured") for rival in claim["over"][:1]]
            continue
        holes += _defend({**claim, "on": [column]}, table, higher)
    return holes


def grouped(claim, table, higher):
    order = {"not measured": 0, "undecided": 1, "no": 2}
    return sorted(_defend(claim, table, higher), key=lambda hole: order[hole[2]])


def alphabetical(claim, table, higher):
    return sorted(_defend(claim, table, higher))


def with_reasons(reasons):
    """Holes with other reasons."""

    def judge(claim, table, higher):
        return [(c, r, reasons.get(word, word)) for c, r, word in _defend(claim, table, higher)]

    return judge


def pairs_only(claim, table, higher):
    return [(column, rival) for column, rival, _ in _defend(claim, table, higher)]


def answers_only(claim, table, higher):
    return [answer for *_, answer in _defend(claim, table, higher)]


def as_lists(claim, table, higher):
    return [list(hole) for hole in _defend(claim, table, higher)]


def as_a_dictionary(claim, table, higher):
    return {(column, rival): answer for column, rival, answer in _defend(claim, table, higher)}


def how_many(claim, table, higher):
    return len(_defend(claim, table, higher))


def as_in_the_second_edition(claim, table, higher):
    holes = _defend(claim, table, higher)
    return {"carried": len(claim["on"]) * len(claim["over"]) - len(holes), "holes": holes}


def asks_for_the_rival_only(claim, table, higher):
    for column in claim["on"]:
        for rival in claim["over"]:
            if rival in table[column]:
                beats(table[column][claim["system"]], table[column][rival], higher[column])
    return _defend(claim, table, higher)


def breaks_on_missing(claim, table, higher):
    for column in claim["on"]:
        for rival in claim["over"]:
            beats(table[column][claim["system"]], table[column][rival], higher[column])
    return _defend(claim, table, higher)


def asks_for_the_system(claim, table, higher):
    for column in claim["on"]:
        for rival in claim["over"]:
            if claim["system"] in table[column]:
                beats(table[column][claim["system"]], table[column][rival], higher[column])
    return _defend(claim, table, higher)


def every_column(claim, table, higher):
    return _defend({**claim, "on": list(table)}, table, higher)


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
    return [hole for hole in answers if hole[2] != "yes"]


def defend_with_try(claim, table, higher):
    holes = []
    for column in claim["on"]:
        for rival in claim["over"]:
            try:
                answer = beats(table[column][claim["system"]], table[column][rival], higher[column])
            except KeyError:
                answer = "not measured"
            if answer in ("no", "undecided", "not measured"):
                holes.append((column, rival, answer))
    return holes


def defend_with_product(claim, table, higher):
    system = claim["system"]
    holes = []
    for column, rival in product(claim["on"], claim["over"]):
        seeds = table[column]
        measured = system in seeds and rival in seeds
        answer = beats(seeds[system], seeds[rival], higher[column]) if measured else "not measured"
        holes += [] if answer == "yes" else [(column, rival, answer)]
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


def seeds_but_not_sentences():
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


# ---- a slip each, without the helpers of the exercises


def beats_by_the_worst(one, other, higher):
    worst = (min(one), min(other)) if higher else (-max(one), -max(other))
    return "undecided" if worst[0] == worst[1] else "yes" if worst[0] > worst[1] else "no"


def better_mean_or_not(one, other, higher):
    if higher:
        return "yes" if mean(one) > mean(other) else "no"
    return "yes" if mean(one) < mean(other) else "no"


def both_ends_better(one, other, higher):
    if not higher:
        one, other = [-x for x in one], [-x for x in other]
    if max(one) > max(other) and min(one) > min(other):
        return "yes"
    if max(one) < max(other) and min(one) < min(other):
        return "no"
    return "undecided"


def reciprocals(one, other, higher):
    if not higher:
        one, other = [1 / x for x in one], [1 / x for x in other]
    return forgets_direction(one, other, higher)


def all_differences(one, other, higher):
    sign = 1 if higher else -1
    gaps = [sign * (a - b) for a in one for b in other]
    return "yes" if min(gaps) > 0 else "no" if max(gaps) < 0 else "undecided"


def the_notebooks_table(claim, table, higher):
    return asks_for_both(claim, real_table(), HIGHER)


def the_notebooks_higher(claim, table, higher):
    return asks_for_both(claim, table, HIGHER)


def beats_without_higher(claim, table, higher):
    holes = []
    for column in claim["on"]:
        for rival in claim["over"]:
            mine, theirs = table[column].get(claim["system"]), table[column].get(rival)
            answer = beats(mine, theirs) if mine and theirs else "not measured"
            if answer != "yes":
                holes.append((column, rival, answer))
    return holes


def a_misspelt_key(claim, table, higher):
    holes = []
    for column in claim["on"]:
        for rival in claim["over"]:
            answer = beats(table[column][claim["name"]], table[column][rival], higher[column])
            if answer != "yes":
                holes.append((column, rival, answer))
    return holes


def asks_for_both(claim, table, higher):
    holes = []
    for column in claim["on"]:
        for rival in claim["over"]:
            numbers = table[column]
            answer = "not measured"
            if claim["system"] in numbers and rival in numbers:
                answer = beats(numbers[claim["system"]], numbers[rival], higher[column])
            if answer != "yes":
                holes.append((column, rival, answer))
    return holes


def too_close_to_call():
    return _claim("transformer", ["bahdanau"], ["training", "BLEU greedy"], ["decoding", "BLEU beam"])


def too_close_but_ahead():
    return _claim("transformer", ["bahdanau"], ["BLEU greedy", "BLEU beam"], ["test"])


def a_cost_as_the_limit():
    return _claim("bahdanau", ["transformer"], ["21 to 30 words", "31 to 40 words"], ["parameters"])


def a_rival_without_limit():
    on = ["21 to 30 words", "31 to 40 words"]
    return _claim("bahdanau", ["transformer", "rctm"], on, ["BLEU beam"])


def a_column_on_both_sides():
    return _claim("bahdanau", ["transformer"], ["21 to 30 words", "31 to 40 words", "test"], ["test"])


WRONG = {
    "beats": [
        (better_mean_or_not, "mean-decides"),
        (both_ends_better, "both-ends"),
        (reciprocals, None),
        (compare_means, "by-mean"),
        (compare_best, "by-best"),
        (forgets_direction, "always-higher"),
        (pairs_of_seeds, "seed-by-seed"),
        (yes_or_no, "never-undecided"),
        (yes_or_undecided, "never-no"),
        (equal_wins, "ties-count"),
        (equal_wins_for_yes, "tie-is-yes"),
        (equal_wins_for_no, "tie-is-no"),
        (one_pair_is_enough, "any-pair"),
        (half_is_enough, "most-pairs"),
        (higher_once, "higher-for-yes-only"),
        (inverted, "turned"),
        (three_seeds, "first-three"),
        (first_against_first, "first-seed"),
        (first_two_seeds, None),
        (middle_seeds, "by-median"),
        (in_order_of_size, "sorted-pairs"),
        (one_over, None),
        (rounded, None),
        (booleans, "booleans"),
        (true_false_or_none, "none-for-undecided"),
        (strict_zip, "equal-lengths"),
        (bool_without_higher, None),
        (no_return, "returns-none"),
        (beats_by_the_worst, "by-worst"),
        (the_old_word, "another-word"),
        (the_same, "equal"),
        (a_tie, "tie"),
        (numbers, None),
        (capital_letters, None),
        (one_standard_deviation, None),
        (smaller_lists_first, "shorter-list"),
        (sorts_in_place, "in-place"),
    ],
    "defend": [
        (defend_by_means, "by-mean"),
        (undecided_is_fine, "leaves-out-undecided"),
        (only_undecided, "leaves-out-no"),
        (passes_over, "leaves-out-unmeasured"),
        (all_of_them, "every-comparison"),
        (successes, "only-supported"),
        (rival_first, "turned"),
        (system_named, "with-the-system"),
        (rivals_first, "rivals-outside"),
        (for_the_rival, "roles-swapped"),
        (with_reasons({"no": "undecided"}), "no-is-undecided"),
        (with_reasons({"no": "lost"}), "lost"),
        (with_reasons({"not measured": "no"}), "unmeasured-is-no"),
        (with_reasons({"not measured": "undecided"}), "unmeasured-is-undecided"),
        (no_direction, "always-more"),
        (leaves_the_column, "stops-at-a-hole"),
        (returns_in_the_loop, "first-column-only"),
        (starts_again, "last-column-only"),
        (one_hole_for_a_column, "once-per-column"),
        (grouped, "sorted-by-reason"),
        (alphabetical, "sorted"),
        (pairs_only, "without-reasons"),
        (answers_only, "reasons-only"),
        (as_a_dictionary, "as-a-dictionary"),
        (how_many, "count"),
        (as_in_the_second_edition, "with-a-count"),
        (breaks_on_missing, "never-asks"),
        (asks_for_the_rival_only, "asks-for-the-rival-only"),
        (asks_for_the_system, "asks-for-the-system-only"),
        (every_column, "every-column"),
        (every_rival, None),
        (the_notebooks_table, "fails-in-every-comparison"),
        (a_misspelt_key, "fails-in-every-comparison"),
        (the_notebooks_higher, "fails-where-both-were-measured"),
        (beats_without_higher, "fails-where-both-were-measured"),
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
        (no_limit_there, "ahead of every rival measured there"),
        (limit_not_measured, "weren't measured there"),
        (a_rival_without_limit, "rctm"),
        (a_column_on_both_sides, 'in "on" and in "not_on"'),
        (rival_twice, '"transformer"'),
        (by_parameters, '"parameters"'),
        (over_a_part, '"no_residual"'),
        (seeds_but_not_sentences, "other sentences"),
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
        too_close_to_call,
        too_close_but_ahead,
        a_cost_as_the_limit,
    ],
}
