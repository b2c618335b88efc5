"""Answers to the exercises of lesson 18, as learners write them: wrong ones and right ones.

After each wrong one: the slip that must be named, or a name that the message must contain; None if no slip
may be named.
"""

from itertools import pairwise, product
from statistics import mean, median

from lessons.l18_the_museum.exercises import not_beaten, ranked
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
    return "no" if min(other) >= max(one) else "open"


def equal_wins_for_yes(one, other, higher):
    if not higher:
        one, other = other, one
    if min(one) >= max(other):
        return "yes"
    return "no" if min(other) > max(one) else "open"


def equal_wins_for_no(one, other, higher):
    if not higher:
        one, other = other, one
    if min(one) > max(other):
        return "yes"
    return "no" if max(one) <= min(other) else "open"


def one_pair_is_enough(one, other, higher):
    if any(a > b if higher else a < b for a, b in product(one, other)):
        return "yes"
    return "no" if any(b > a if higher else b < a for a, b in product(one, other)) else "open"


def half_is_enough(one, other, higher):
    pairs = [(a, b) if higher else (b, a) for a, b in product(one, other)]
    if sum(a > b for a, b in pairs) > 0.5 * len(pairs):
        return "yes"
    return "no" if sum(a < b for a, b in pairs) > 0.5 * len(pairs) else "open"


def higher_once(one, other, higher):
    if wins(one, other, higher):
        return "yes"
    return "no" if max(one) < min(other) else "open"


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
    return "open" if wins == {True, False} else beats_plain(one, other, higher)


def one_over(one, other, higher):
    if not higher:
        one, other = [1 / x for x in one], [1 / x for x in other]
    return beats_plain(one, other, True)


def rounded(one, other, higher):
    return beats_plain([round(x, 2) for x in one], [round(x, 2) for x in other], higher)


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


def by_every_best_seed(table, higher):
    leading = {}
    for name, column in table.items():
        best = max if higher[name] else min
        order = sorted(column, key=lambda s, c=column, b=best: b(c[s]), reverse=higher[name])
        leading[name] = [order[0], *not_beaten(column, order[0], order[1:], higher[name])]
    return leading


def leaders_by(*, order=ranked, keep=lambda first, rival, higher: beats(first, rival, higher) != "yes"):
    """The loop of the lesson, with another order or another comparison."""

    def lead(table, higher):
        leading = {}
        for name, column in table.items():
            first, *rest = order(column, higher[name])
            level = [rival for rival in rest if keep(column[first], column[rival], higher[name])]
            leading[name] = [first, *level]
        return leading

    return lead


def upside_down(table, higher):
    return leaders_by(order=lambda column, more: ranked(column, not more))(table, higher)


def beats_gets_true(table, higher):
    return leaders_by(keep=lambda first, rival, more: beats(first, rival, True) != "yes")(table, higher)


def keeps_the_beaten(table, higher):
    return leaders_by(keep=lambda first, rival, more: beats(first, rival, more) == "yes")(table, higher)


def rival_against_first(table, higher):
    return leaders_by(keep=lambda first, rival, more: beats(rival, first, more) != "yes")(table, higher)


def by_the_worst_seed(table, higher):
    def order(column, more):
        return sorted(column, key=lambda s: min(column[s]) if more else max(column[s]), reverse=more)

    return leaders_by(order=order)(table, higher)


def by_the_middle(table, higher):
    def order(column, more):
        return sorted(column, key=lambda s: median(column[s]), reverse=more)

    return leaders_by(order=order)(table, higher)


def everybody(table, higher):
    return leaders_by(keep=lambda first, rival, more: True)(table, higher)


def within_a_point(table, higher):
    return leaders_by(keep=lambda first, rival, more: abs(mean(first) - mean(rival)) < 1)(table, higher)


def by_mean_dict(table, higher):
    def order(column, more):
        systems = {}
        for name, seeds in column.items():
            systems[sum(seeds) / len(seeds)] = name
        return [systems[key] for key in sorted(systems, reverse=more)]

    return leaders_by(order=order)(table, higher)


def neighbour_by_neighbour(table, higher):
    leading = {}
    for name, column in table.items():
        order = ranked(column, higher[name])
        leading[name] = order[:1]
        for a, b in pairwise(order):
            if beats(column[a], column[b], higher[name]) != "yes":
                leading[name].append(b)
    return leading


def reversed_at_the_end(table, higher):
    leading = leaders_loop(table, higher)
    return {name: names if higher[name] else list(reversed(names)) for name, names in leading.items()}


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


def open_is_both(claim, table, higher):
    judged = _defend(claim, table, higher)
    judged["carried"] += [why for *_, why in judged["holes"]].count("open")
    return judged


def whole_columns(claim, table, higher):
    parts = [_defend({**claim, "on": [column]}, table, higher)["holes"] for column in claim["on"]]
    return {"carried": parts.count([]), "holes": [hole for holes in parts for hole in holes]}


def number_of_holes(claim, table, higher):
    holes = _defend(claim, table, higher)["holes"]
    return {"carried": len(holes), "holes": holes}


def leaves_the_column(claim, table, higher):
    carried, holes = 0, []
    for column in claim["on"]:
        for rival in claim["over"]:
            part = _defend({**claim, "on": [column], "over": [rival]}, table, higher)
            if part["holes"]:
                holes += part["holes"]
                break
            carried += 1
    return {"carried": carried, "holes": holes}


def one_hole_for_a_column(claim, table, higher):
    carried, holes = 0, []
    for column in claim["on"]:
        if claim["system"] not in table[column]:
            holes += [(column, rival, "not measured") for rival in claim["over"][:1]]
            continue
        part = _defend({**claim, "on": [column]}, table, higher)
        carried, holes = carried + part["carried"], holes + part["holes"]
    return {"carried": carried, "holes": holes}


def grouped(claim, table, higher):
    judged = _defend(claim, table, higher)
    order = {"not measured": 0, "open": 1, "lost": 2}
    return {**judged, "holes": sorted(judged["holes"], key=lambda hole: order[hole[2]])}


def with_reasons(reasons):
    """Holes whose reasons are those that a dictionary gives for the words of `beats`."""

    def judge(claim, table, higher):
        judged = _defend(claim, table, higher, why=False)
        holes = [(column, rival, reasons.get(word, word)) for column, rival, word in judged["holes"]]
        return {**judged, "holes": holes}

    return judge


def with_holes(change):
    """The right number, and other holes."""

    def judge(claim, table, higher):
        judged = _defend(claim, table, higher)
        return {"carried": judged["carried"], "holes": change(judged["holes"])}

    return judge


def lost_if_missing(holes):
    return [(column, rival, "lost" if why == "not measured" else why) for column, rival, why in holes]


def without_open(holes):
    return [(column, rival, why) for column, rival, why in holes if why in ("lost", "not measured")]


def pairs_only(holes):
    return [(column, rival) for column, rival, _ in holes]


def missing_is_carried(claim, table, higher):
    judged = _defend(claim, table, higher)
    extra = [hole for hole in judged["holes"] if hole[2] == "not measured"]
    return {**judged, "carried": judged["carried"] + len(extra)}


def all_are_carried(claim, table, higher):
    judged = _defend(claim, table, higher)
    return {**judged, "carried": judged["carried"] + len(judged["holes"])}


def carried_and_holes(claim, table, higher):
    judged = _defend(claim, table, higher)
    return judged["carried"], judged["holes"]


def asks_for_the_rival_only(claim, table, higher):
    for column in claim["on"]:
        for rival in claim["over"]:
            if rival in table[column]:
                beats(table[column][claim["system"]], table[column][rival], higher[column])
    return _defend(claim, table, higher)


def only_holes(claim, table, higher):
    return _defend(claim, table, higher)["holes"]


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


def greedy_and_beam():
    return _claim("transformer", ["bahdanau"], ("BLEU greedy", "BLEU beam"), ("test",))


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
        (true_false_or_none, "none-for-open"),
        (strict_zip, "equal-lengths"),
        (bool_without_higher, None),
        (no_return, "returns-none"),
        (beats_by_the_worst, "by-worst"),
    ],
    "test_beats": [
        (test_only_yes, "lets-through"),
        (test_nothing, "lets-through"),
        (test_never, "never-calls"),
        (test_ties_win, "rejects-the-right-one"),
        (test_no_mixture, "lets-through"),
        (test_no_tie, "lets-through"),
        (test_says_false, "returns-instead"),
    ],
    "leaders": [
        (as_handed_out, "unrepaired"),
        (as_in_the_table, "table-order"),
        (sums, "by-sum"),
        (first_alone, "only-first"),
        (all_descending, "more-is-better"),
        (best_single_seed, "by-best-seed"),
        (by_every_best_seed, "by-best-seed"),
        (level_only, "without-first"),
        (while_level, "stops-early"),
        (upside_down, "worst-first"),
        (beats_gets_true, "beats-without-higher"),
        (keeps_the_beaten, "lists-the-beaten"),
        (rival_against_first, "asks-the-rival"),
        (neighbour_by_neighbour, "the-one-before"),
        (by_mean_dict, "equal-means"),
        (reversed_at_the_end, "first-comes-last"),
        (by_the_worst_seed, "by-worst-seed"),
        (by_the_middle, "by-median"),
        (everybody, "asks-the-rival"),
        (within_a_point, None),
        (as_one_list, None),
    ],
    "defend": [
        (defend_by_means, "by-mean"),
        (open_is_fine, "forgives-open"),
        (passes_over, "skips-unmeasured"),
        (rival_first, "turned"),
        (rivals_first, "rivals-outside"),
        (for_the_rival, "roles-swapped"),
        (says_no, "says-no"),
        (with_reasons({"no": "open"}), "lost-is-open"),
        (with_reasons({"no": "lost", "open": "lost"}), "open-is-lost"),
        (with_reasons({"no": "open", "open": "lost"}), "open-and-lost-swapped"),
        (no_direction, "always-more"),
        (open_is_both, "counts-open"),
        (whole_columns, "counts-columns"),
        (number_of_holes, "counts-holes"),
        (leaves_the_column, "stops-at-a-hole"),
        (one_hole_for_a_column, "once-per-column"),
        (grouped, "sorted-by-reason"),
        (with_holes(lost_if_missing), "unmeasured-is-lost"),
        (with_holes(without_open), "leaves-out-open"),
        (with_holes(pairs_only), "without-reasons"),
        (with_holes(sorted), "sorted"),
        (missing_is_carried, "counts-unmeasured"),
        (all_are_carried, "counts-all"),
        (only_holes, "holes-only"),
        (carried_and_holes, "as-a-pair"),
        (breaks_on_missing, "never-asks"),
        (asks_for_the_rival_only, "asks-for-the-rival-only"),
        (asks_for_the_system, "asks-for-the-system-only"),
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
        (no_limit_there, '"alignment error"'),
        (limit_not_measured, '"perplexity"'),
        (rival_twice, '"transformer"'),
        (by_parameters, '"parameters"'),
        (over_a_part, '"no_residual"'),
        (lambda: "the Transformer is best", "a string"),
        (lambda: _claim(["bahdanau"], ["transformer"], ["test", "depth"], ["BLEU beam"]), '"system"'),
        (lambda: _claim("bahdanau", [["transformer"]], ["test", "depth"], ["BLEU beam"]), '"over"'),
        (lambda: _claim("bahdanau", ["bahdanau"], ["test", "depth"], ["BLEU beam"]), '"bahdanau"'),
        (lambda: _claim("bahdanau", [], ["test", "depth"], ["BLEU beam"]), '"over"'),
        (lambda: _claim("bahdanau", ["transformer"], ["21 to 30 words"] * 2, ["test"]), '"21 to 30 words"'),
    ],
}

RIGHT = {
    "beats": [beats_plain, beats_sign, beats_sorted],
    "test_beats": [test_table, test_raises, test_own_words],
    "leaders": [leaders_loop, leaders_signed, leaders_one_line],
    "defend": [defend_with_get, defend_by_list, defend_with_try],
    "my_claim": [
        convolutions_on_real,
        recurrence_on_length,
        transformer_trains_fast,
        older_but_quick,
        greedy_and_beam,
    ],
}
