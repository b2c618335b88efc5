"""Answers to the exercises of lesson 18, as learners write them: wrong ones and right ones.

After each wrong one: the slip that must be named, or a part of the message; None if no slip may be named.
"""

from statistics import mean

from lessons.l18_the_museum.exercises import not_beaten, ranked, ties_count
from lessons.l18_the_museum.museum import beats

# ---- beats


def compare_means(one, other, higher):
    a, b = sum(one) / len(one), sum(other) / len(other)
    if a == b:
        return "open"
    if higher:
        return "yes" if a > b else "no"
    return "yes" if a < b else "no"


def compare_best(one, other, higher):
    a, b = (max(one), max(other)) if higher else (min(one), min(other))
    if a == b:
        return "open"
    return "yes" if (a > b) == higher else "no"


def forgets_direction(one, other, higher):
    if min(one) > max(other):
        return "yes"
    if max(one) < min(other):
        return "no"
    return "open"


def pairs_of_seeds(one, other, higher):
    signs = [(a > b) - (a < b) for a, b in zip(one, other, strict=False)]
    if all(sign == (1 if higher else -1) for sign in signs):
        return "yes"
    if all(sign == (-1 if higher else 1) for sign in signs):
        return "no"
    return "open"


def wins(one, other, higher):
    return min(one) > max(other) if higher else max(one) < min(other)


def yes_or_no(one, other, higher):
    return "yes" if wins(one, other, higher) else "no"


def yes_or_open(one, other, higher):
    return "yes" if wins(one, other, higher) else "open"


def first_two_seeds(one, other, higher):
    return beats(one[:2], other[:2], higher)


def booleans(one, other, higher):
    return min(one) > max(other)


def no_return(one, other, higher):
    verdict = "yes" if min(one) > max(other) else "open"
    print(verdict)


def beats_plain(one, other, higher):
    if not higher:
        one, other = other, one
        if min(one) > max(other):
            return "yes"
        return "no" if max(one) < min(other) else "open"
    if min(one) > max(other):
        return "yes"
    return "no" if max(one) < min(other) else "open"


def beats_sign(one, other, higher):
    sign = 1 if higher else -1
    gaps = [sign * (a - b) for a in one for b in other]
    if all(gap > 0 for gap in gaps):
        return "yes"
    return "no" if all(gap < 0 for gap in gaps) else "open"


def beats_sorted(one, other, higher):
    one, other = sorted(one), sorted(other)
    above, below = one[0] > other[-1], one[-1] < other[0]
    if above:
        return "yes" if higher else "no"
    if below:
        return "no" if higher else "yes"
    return "open"


# ---- test_beats


def test_only_yes(beats):
    assert beats([3, 4], [1, 2], True) == "yes"


def test_nothing(beats):
    beats([3, 4], [1, 2], True)


def test_never(beats):
    assert True


def test_ties_win(beats):
    assert beats([3, 4], [1, 3], True) == "yes"


def test_no_mixture(beats):
    assert beats([3, 4], [1, 2], True) == "yes"
    assert beats([1, 2], [3, 4], True) == "no"
    assert beats([1, 2], [3, 4], False) == "yes"


def test_no_tie(beats):
    assert beats([97, 98, 96], [90, 95, 93], True) == "yes"
    assert beats([90, 95, 93], [97, 98, 96], True) == "no"
    assert beats([97, 98, 96], [90, 95, 93], False) == "no"
    assert beats([3, 5, 7], [2, 4, 6], True) == "open"
    assert beats([98, 94, 99], [95, 93, 92], True) == "open"


def test_says_false(beats):
    return beats([3, 4], [1, 2], True) == "yes" and beats([1, 2], [3, 4], True) == "no"


def test_table(beats):
    cases = [
        ([10, 12], [1, 2], True, "yes"),
        ([1, 2], [10, 12], True, "no"),
        ([1, 2], [10, 12], False, "yes"),
        ([1, 9, 10], [2, 5, 6], True, "open"),
        ([5, 6, 7], [4, 4.5, 6.5], True, "open"),
        ([5, 6], [4, 5], True, "open"),
    ]
    for one, other, higher, expected in cases:
        assert beats(one, other, higher) == expected


def test_raises(beats):
    if beats([97, 98, 96], [90, 95, 93], True) != "yes":
        raise ValueError("clear lead")
    if beats([97, 98, 96], [90, 95, 93], False) != "no":
        raise ValueError("less is better")
    if beats([3, 5, 7], [2, 4, 6], True) != "open":
        raise ValueError("mixed")
    if beats([5, 6], [5, 4], True) != "open":
        raise ValueError("equal")


def test_own_words(beats):
    ahead, behind, wide = [8, 9], [1, 2], [1.5, 8.5]
    assert beats(ahead, behind, higher=True) == beats(behind, ahead, higher=False) == "yes"
    assert beats(behind, ahead, higher=True) == "no"
    assert beats(wide, [1, 8], higher=True) == "open"
    assert beats([8.2, 9], [8, 8.5], higher=True) == "open"
    assert beats([1, 2], [2, 3], higher=False) == "open"


# ---- leaders


def first_alone(table, higher):
    leading = {}
    for name, column in table.items():
        pick = max if higher[name] else min
        leading[name] = [pick(column, key=lambda s, c=column: sum(c[s]) / len(c[s]))]
    return leading


def all_descending(table, higher):
    leading = {}
    for name, column in table.items():
        first, *rest = ranked(column, True)
        leading[name] = [first, *not_beaten(column, first, rest, True)]
    return leading


def best_single_seed(table, higher):
    leading = {}
    for name, column in table.items():
        pick = max if higher[name] else min
        first = pick(column, key=lambda s, c=column, p=pick: p(c[s]))
        rest = [s for s in ranked(column, higher[name]) if s != first]
        leading[name] = [first, *not_beaten(column, first, rest, higher[name])]
    return leading


def level_only(table, higher):
    leading = {}
    for name, column in table.items():
        first, *rest = ranked(column, higher[name])
        leading[name] = not_beaten(column, first, rest, higher[name])
    return leading


def while_level(table, higher):
    leading = {}
    for name, column in table.items():
        order = ranked(column, higher[name])
        names = order[:1]
        while len(names) < len(order):
            if beats(column[order[0]], column[order[len(names)]], higher[name]) == "yes":
                break
            names.append(order[len(names)])
        leading[name] = names
    return leading


def as_handed_out(table, higher):
    leading = {}
    for name, column in table.items():
        order = ranked(column, True)
        leading[name] = [order[0]]
        for rival in order[1:]:
            if beats(column[order[0]], column[rival], higher[name]) != "yes":
                leading[name].append(rival)
    return leading


def as_in_the_table(table, higher):
    leading = {}
    for name, column in table.items():
        pick = max if higher[name] else min
        first = pick(column, key=lambda s, c=column: mean(c[s]))
        rest = [s for s in column if s != first]
        leading[name] = [first, *not_beaten(column, first, rest, higher[name])]
    return leading


def sums(table, higher):
    leading = {}
    for name, column in table.items():
        first, *rest = sorted(column, key=lambda s, c=column: sum(c[s]), reverse=higher[name])
        leading[name] = [first, *not_beaten(column, first, rest, higher[name])]
    return leading


def as_one_list(table, higher):
    return [names[0] for names in first_alone(table, higher).values()]


def leaders_loop(table, higher):
    leading = {}
    for name in table:
        column = table[name]
        order = list(column)
        order.sort(key=lambda s, c=column: sum(c[s]) / len(c[s]), reverse=higher[name])
        names = [order[0]]
        for other in order[1:]:
            if beats(column[order[0]], column[other], higher[name]) != "yes":
                names.append(other)
        leading[name] = names
    return leading


def leaders_signed(table, higher):
    leading = {}
    for name, column in table.items():
        sign = 1 if higher[name] else -1
        order = sorted(column, key=lambda s, c=column, k=sign: -k * mean(c[s]))
        worst = min(sign * x for x in column[order[0]])
        leading[name] = [s for s in order if s == order[0] or max(sign * x for x in column[s]) >= worst]
    return leading


def leaders_one_line(table, higher):
    order = {n: sorted(c, key=lambda s, c=c: mean(c[s]), reverse=higher[n]) for n, c in table.items()}
    return {
        n: [s for s in o if s == o[0] or beats(table[n][o[0]], table[n][s], higher[n]) != "yes"]
        for n, o in order.items()
    }


# ---- defend


def defend_by_means(claim, table, higher):
    carried, holes = 0, []
    for column in claim["on"]:
        for rival in claim["over"]:
            if claim["system"] not in table[column] or rival not in table[column]:
                holes.append((column, rival, "not measured"))
                continue
            gap = mean(table[column][claim["system"]]) - mean(table[column][rival])
            if (gap > 0) == higher[column]:
                carried += 1
            else:
                holes.append((column, rival, "lost"))
    return {"carried": carried, "holes": holes}


def _defend(claim, table, higher, *, why=True, skip=False, open_is_fine=False, turned=False):
    carried, holes = 0, []
    for column in claim["on"]:
        for rival in claim["over"]:
            mine, theirs = table[column].get(claim["system"]), table[column].get(rival)
            if mine is None or theirs is None:
                hole = (column, rival, "not measured")
                if not skip:
                    holes.append((rival, column, "not measured") if turned else hole)
                continue
            verdict = beats(mine, theirs, higher[column])
            if verdict == "yes" or (open_is_fine and verdict == "open"):
                carried += 1
            else:
                word = {"no": "lost", "open": "open"}[verdict] if why else verdict
                holes.append((rival, column, word) if turned else (column, rival, word))
    return {"carried": carried, "holes": holes}


def open_is_fine(claim, table, higher):
    return _defend(claim, table, higher, open_is_fine=True)


def passes_over(claim, table, higher):
    return _defend(claim, table, higher, skip=True)


def rival_first(claim, table, higher):
    return _defend(claim, table, higher, turned=True)


def says_no(claim, table, higher):
    return _defend(claim, table, higher, why=False)


def no_direction(claim, table, higher):
    return _defend(claim, table, dict.fromkeys(higher, True))


def rivals_first(claim, table, higher):
    carried, holes = 0, []
    for rival in claim["over"]:
        part = _defend({**claim, "over": [rival]}, table, higher)
        carried += part["carried"]
        holes += part["holes"]
    return {"carried": carried, "holes": holes}


def for_the_rival(claim, table, higher):
    carried, holes = 0, []
    for column in claim["on"]:
        for rival in claim["over"]:
            mine, theirs = table[column].get(claim["system"]), table[column].get(rival)
            if mine is None or theirs is None:
                holes.append((column, rival, "not measured"))
            elif (verdict := beats(theirs, mine, higher[column])) == "yes":
                carried += 1
            else:
                holes.append((column, rival, "lost" if verdict == "no" else "open"))
    return {"carried": carried, "holes": holes}


def only_holes(claim, table, higher):
    return _defend(claim, table, higher)["holes"]


def breaks_on_missing(claim, table, higher):
    for column in claim["on"]:
        for rival in claim["over"]:
            beats(table[column][claim["system"]], table[column][rival], higher[column])
    return _defend(claim, table, higher)


def defend_with_get(claim, table, higher):
    return _defend(claim, table, higher)


def defend_by_list(claim, table, higher):
    words = {"yes": "carried", "no": "lost", "open": "open"}

    def judged(column, rival):
        if {claim["system"], rival} <= set(table[column]):
            return words[beats(table[column][claim["system"]], table[column][rival], higher[column])]
        return "not measured"

    verdicts = [(column, rival, judged(column, rival)) for column in claim["on"] for rival in claim["over"]]
    holes = [verdict for verdict in verdicts if verdict[2] != "carried"]
    return {"carried": len(verdicts) - len(holes), "holes": holes}


def defend_with_try(claim, table, higher):
    holes, n = [], 0
    for column in claim["on"]:
        for rival in claim["over"]:
            n += 1
            try:
                verdict = beats(table[column][claim["system"]], table[column][rival], higher[column])
            except KeyError:
                holes.append((column, rival, "not measured"))
                continue
            if verdict == "open":
                holes.append((column, rival, "open"))
            elif verdict == "no":
                holes.append((column, rival, "lost"))
    return {"holes": holes, "carried": n - len(holes)}


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
    return _claim("gru_lm", ["lstmn_lm"], ["perplexity", "LM training"], [])


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


def one_run_twice():
    return _claim("transformer", ["bahdanau"], ["BLEU greedy", "BLEU beam"], ["test"])


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
    on = ["training", "real training"]
    return _claim("transformer", ["bahdanau", "luong_dot"], on, ["decoding"])


def older_but_quick():
    return _claim("rnn_encoder_decoder", ["transformer"], ["decoding", "real training"], ["test"])


# ---- a slip each, without the helpers of the exercises


def beats_by_the_worst(one, other, higher):
    worst = (min(one), min(other)) if higher else (-max(one), -max(other))
    return "open" if worst[0] == worst[1] else "yes" if worst[0] > worst[1] else "no"


WRONG = {
    "beats": [
        (compare_means, "by-mean"),
        (compare_best, "by-best"),
        (forgets_direction, "always-higher"),
        (pairs_of_seeds, "seed-by-seed"),
        (yes_or_no, "never-open"),
        (yes_or_open, "never-no"),
        (ties_count, "ties-count"),
        (first_two_seeds, None),
        (booleans, None),
        (no_return, "returns-none"),
        (beats_by_the_worst, "by-worst"),
    ],
    "test_beats": [
        (test_only_yes, "lets-through"),
        (test_nothing, "lets-through"),
        (test_never, "never-calls"),
        (test_ties_win, "rejects-the-right-one"),
        (test_no_mixture, "compares the means"),
        (test_no_tie, "takes equal for better"),
        (test_says_false, "raising"),
    ],
    "leaders": [
        (as_handed_out, "unrepaired"),
        (as_in_the_table, "table-order"),
        (sums, None),
        (first_alone, "only-first"),
        (all_descending, "more-is-better"),
        (best_single_seed, "by-best-seed"),
        (level_only, "without-first"),
        (while_level, "stops-early"),
        (as_one_list, "Expected a"),
    ],
    "defend": [
        (defend_by_means, "by-mean"),
        (open_is_fine, "forgives-open"),
        (passes_over, "skips-unmeasured"),
        (rival_first, "turned"),
        (rivals_first, "rivals-outside"),
        (for_the_rival, "roles-swapped"),
        (says_no, None),
        (no_direction, "always-more"),
        (only_holes, "Expected a"),
        (breaks_on_missing, "KeyError"),
    ],
    "my_claim": [
        (newest_is_best, "newest-wins"),
        (one_column, "One column is an anecdote"),
        (no_limit, "Where does the claim end?"),
        (wrong_limit, '"BLEU beam" is no limit'),
        (not_there, "not measured there"),
        (other_way, "it is the other way round"),
        (unknown_name, 'There is no system "luong"'),
        (a_word_for_a_list, "is a list"),
        (a_language_model, "Take a translator"),
        (no_limit_there, '"alignment error" is no limit'),
        (limit_not_measured, '"perplexity" is no limit'),
        (rival_twice, "A rival stands twice"),
        (by_parameters, "set by us, not measured"),
        (one_run_twice, "are the same runs"),
        (over_a_part, "with a part taken out"),
    ],
}

RIGHT = {
    "beats": [beats_plain, beats_sign, beats_sorted],
    "test_beats": [test_table, test_raises, test_own_words],
    "leaders": [leaders_loop, leaders_signed, leaders_one_line],
    "defend": [defend_with_get, defend_by_list, defend_with_try],
    "my_claim": [convolutions_on_real, recurrence_on_length, transformer_trains_fast, older_but_quick],
}
