"""Answers to the exercises of lesson 04, as learners write them: wrong, with what must be said, and right.

The slips of exercises.py are tried as well; these answers are written differently or wrong in another way.
Each wrong one has the slip that must be named (None if there is none) or a part of the verdict.
"""

import torch

from course_lib.text.special import BOS, EOS
from lessons.l04_encoder_decoder.scripted import Scripted


def encode_and_start(model, source):
    memory = model.encode(torch.tensor([[*source, EOS]]), torch.tensor([len(source) + 1]))
    return memory, model.start(memory)


def accuracy(words, target):
    """The fraction of the target's positions, EOS included, that agree."""
    expected = [*target, EOS]
    return sum(a == b for a, b in zip(words, expected, strict=False)) / len(expected)


# --- greedy decoding


def bos_inside_the_loop(model, source, max_len):
    memory, state = encode_and_start(model, source)
    words = []
    for _ in range(max_len):
        token = torch.tensor([BOS])
        logits, state, _ = model.step(memory, state, token)
        word = logits.argmax().item()
        if word == EOS:
            break
        words.append(word)
    return words


def state_under_another_name(model, source, max_len):
    memory, state = encode_and_start(model, source)
    token, words = BOS, []
    for _ in range(max_len):
        logits, _new_state, _ = model.step(memory, state, torch.tensor([token]))
        token = logits[0].argmax().item()
        if token == EOS:
            break
        words.append(token)
    return words


def appends_before_asking(model, source, max_len):
    memory, state = encode_and_start(model, source)
    token, words = BOS, []
    while token != EOS and len(words) < max_len:
        logits, state, _ = model.step(memory, state, torch.tensor([token]))
        token = logits[0].argmax().item()
        words.append(token)
    return words


def starts_with_bos(model, source, max_len):
    memory, state = encode_and_start(model, source)
    words = [BOS]
    while len(words) <= max_len:
        logits, state, _ = model.step(memory, state, torch.tensor(words[-1:]))
        word = logits[0].argmax().item()
        if word == EOS:
            break
        words.append(word)
    return words


def counts_bos_as_a_word(model, source, max_len):
    memory, state = encode_and_start(model, source)
    words = [BOS]
    while len(words) < max_len:
        logits, state, _ = model.step(memory, state, torch.tensor(words[-1:]))
        word = logits[0].argmax().item()
        if word == EOS:
            break
        words.append(word)
    return words[1:]


def forgets_eos_of_the_source(model, source, max_len):
    memory = model.encode(torch.tensor([source]), torch.tensor([len(source)]))
    state, token, words = model.start(memory), BOS, []
    for _ in range(max_len):
        logits, state, _ = model.step(memory, state, torch.tensor([token]))
        token = logits[0].argmax().item()
        if token == EOS:
            break
        words.append(token)
    return words


def eos_in_front_of_the_source(model, source, max_len):
    memory = model.encode(torch.tensor([[EOS, *source]]), torch.tensor([len(source) + 1]))
    state, token, words = model.start(memory), BOS, []
    for _ in range(max_len):
        logits, state, _ = model.step(memory, state, torch.tensor([token]))
        token = logits[0].argmax().item()
        if token == EOS:
            break
        words.append(token)
    return words


def starts_with_eos(model, source, max_len):
    memory, state = encode_and_start(model, source)
    token, words = EOS, []
    for _ in range(max_len):
        logits, state, _ = model.step(memory, state, torch.tensor([token]))
        token = logits[0].argmax().item()
        if token == EOS:
            break
        words.append(token)
    return words


def says_nothing(model, source, max_len):
    greedy_words = right_loop(model, source, max_len)
    print(greedy_words)


def as_text(model, source, max_len):
    return " ".join(map(str, right_loop(model, source, max_len)))


def never_ends(model, source, max_len):
    memory, state = encode_and_start(model, source)
    token, words = BOS, []
    while True:
        logits, state, _ = model.step(memory, state, torch.tensor([token]))
        if token == EOS and len(words) > 10**9:
            return words
        token = logits[0].argmax().item()


def right_loop(model, source, max_len):
    memory, state = encode_and_start(model, source)
    token, words = BOS, []
    for _ in range(max_len):
        logits, state, _ = model.step(memory, state, torch.tensor([token]))
        token = logits[0].argmax().item()
        if token == EOS:
            break
        words.append(token)
    return words


def right_with_probabilities(model, source, max_len):
    memory, state = encode_and_start(model, source)
    token, words = torch.tensor([BOS]), []
    while len(words) < max_len:
        logits, state, _ = model.step(memory, state, token)
        token = torch.softmax(logits, dim=-1).argmax(dim=-1)
        if int(token) == EOS:
            return words
        words.append(int(token))
    return words


def right_cut_afterwards(model, source, max_len):
    memory, state = encode_and_start(model, source)
    token, words = BOS, []
    for _ in range(max_len):
        logits, state, _ = model.step(memory, state, torch.tensor([token]))
        token = logits.argmax(dim=1).item()
        words.append(token)
    return words[: words.index(EOS)] if EOS in words else words


def right_from_prefixes(model, source, max_len):
    memory, _ = encode_and_start(model, source)
    words = [BOS]
    while len(words) <= max_len:
        logits, _ = model.decode(memory, torch.tensor([words]))
        best = logits[0, -1].topk(1).indices.item()
        if best == EOS:
            break
        words.append(best)
    return words[1:]


# --- tests of a decoder


def test_three(decode):
    assert decode(Scripted([9, 9, 5]), [6], 20) == [9, 9, 5]
    assert decode(Scripted([9, 5], endless=True), [6], 3) == [9, 5, 9]


def test_many_limits(decode):
    for limit in range(1, 6):
        got = list(decode(Scripted([7, 8, 9], endless=True), [5, 5], limit))
        assert got == [7, 8, 9, 7, 8][:limit], got
    assert list(decode(Scripted([10]), [5], 8)) == [10]


def test_with_torch(decode):
    got = torch.tensor(decode(Scripted([7, 8, 7]), [5, 6], 10))
    torch.testing.assert_close(got, torch.tensor([7, 8, 7]))
    got = torch.tensor(decode(Scripted([7, 8], endless=True), [5, 6], 6))
    torch.testing.assert_close(got, torch.tensor([7, 8, 7, 8, 7, 8]))


def only_short(decode):
    assert decode(Scripted([7, 8]), [5], 10) == [7, 8]


def only_length(decode):
    assert len(decode(Scripted([7, 8]), [5], 10)) == 2
    assert len(decode(Scripted([7, 8], endless=True), [5], 4)) == 4


def says_false(decode):
    return decode(Scripted([7, 8]), [5], 10) == [7, 8]


def wants_eos(decode):
    assert decode(Scripted([7, 8]), [5], 10) == [7, 8, EOS]


def never_calls(decode):
    assert callable(decode)


def misspelt(decode):
    _got = decode(Scripted([7, 8]), [5], 10)
    assert gott == [7, 8]  # noqa: F821


# --- teacher forcing


def without_bos(model, source, target):
    memory, _ = encode_and_start(model, source)
    logits, _ = model.decode(memory, torch.tensor([[*target, EOS]]))
    return logits[0].argmax(-1).tolist()


def reads_one_less(model, source, target):
    memory, _ = encode_and_start(model, source)
    logits, _ = model.decode(memory, torch.tensor([[BOS, *target]])[:, : len(target) or 1])
    return logits[0].argmax(-1).tolist()[: len(target)]


def feeds_itself(model, source, target):
    memory, state = encode_and_start(model, source)
    token, said = BOS, []
    for _ in range(len(target) + 1):
        logits, state, _ = model.step(memory, state, torch.tensor([token]))
        token = logits[0].argmax().item()
        said.append(token)
    return said


def over_the_places(model, source, target):
    memory, _ = encode_and_start(model, source)
    logits, _ = model.decode(memory, torch.tensor([[BOS, *target]]))
    return logits[0].argmax(dim=0).tolist()


def as_logits(model, source, target):
    memory, _ = encode_and_start(model, source)
    return model.decode(memory, torch.tensor([[BOS, *target]]))[0][0]


def changes_the_target(model, source, target):
    target.insert(0, BOS)
    memory, _ = encode_and_start(model, source)
    return model.decode(memory, torch.tensor([target]))[0][0].argmax(-1).tolist()


def forced_by_steps(model, source, target):
    memory, state = encode_and_start(model, source)
    said = []
    for token in [BOS, *target]:
        logits, state, _ = model.step(memory, state, torch.tensor([token]))
        said.append(int(logits[0].argmax()))
    return said


def forced_as_tensor(model, source, target):
    memory, _ = encode_and_start(model, source)
    logits, _ = model.decode(memory, torch.tensor([[BOS, *target]]))
    return logits[0].max(dim=-1).indices


def forced_by_prefix(model, source, target):
    memory, _ = encode_and_start(model, source)
    prefixes = ([BOS, *target[:n]] for n in range(len(target) + 1))
    return [int(model.decode(memory, torch.tensor([read]))[0][0, -1].argmax()) for read in prefixes]


# --- words right, running free


def leaks_still(model, source, target):
    said = forced_by_steps(model, source, target)
    until = said.index(EOS) + 1 if EOS in said else len(said)
    return accuracy(said[:until], target)


def never_breaks(model, source, target):
    memory, state = encode_and_start(model, source)
    token, right = BOS, 0
    for wanted in [*target, EOS]:
        logits, state, _ = model.step(memory, state, torch.tensor([token]))
        token = logits[0].argmax().item()
        right += token == wanted
    return right / (len(target) + 1)


def ends_over_and_over(model, source, target):
    said = right_loop(model, source, len(target) + 1)
    return accuracy(said + [EOS] * (len(target) + 1 - len(said)), target)


def free_by_decoding(model, source, target):
    said = [*right_loop(model, source, len(target) + 1), EOS]
    return accuracy(said[: len(target) + 1], target)


def free_by_flags(model, source, target):
    memory, state = encode_and_start(model, source)
    token, right, over = BOS, [], False
    for wanted in [*target, EOS]:
        logits, state, _ = model.step(memory, state, torch.tensor([token]))
        token = logits[0].argmax().item()
        right.append(token == wanted and not over)
        over = over or token == EOS
    return sum(right) / len(right)


def free_as_tensor(model, source, target):
    return torch.tensor(free_by_flags(model, source, target))


# ---- a slip each, without the helpers of the exercises


def decode_with(choose=torch.argmax, stops=True):
    """Greedy decoding with another choice, or one that does not stop at EOS."""

    def decode(model, source, max_len):
        memory, state = encode_and_start(model, source)
        word, words = BOS, []
        while len(words) < max_len:
            logits, state, _ = model.step(memory, state, torch.tensor([word]))
            word = int(choose(logits[0]))
            if stops and word == EOS:
                break
            words.append(word)
        return words

    return decode


def always_after_bos(model, source, target):
    memory, state = encode_and_start(model, source)
    words = []
    for _ in [*target, EOS]:
        logits, state, _ = model.step(memory, state, torch.tensor([BOS]))
        words.append(int(logits[0].argmax()))
    return accuracy(words, target)


WRONG = {
    "greedy_decode": [
        (bos_inside_the_loop, "feeds-bos-again"),
        (state_under_another_name, "keeps-first-state"),
        (appends_before_asking, "returns-eos"),
        (starts_with_bos, "returns-bos"),
        (counts_bos_as_a_word, "one-too-few"),
        (forgets_eos_of_the_source, "source-without-eos"),
        (eos_in_front_of_the_source, None),
        (starts_with_eos, None),
        (says_nothing, "returns-none"),
        (as_text, None, "a list", "a str"),
        (never_ends, "too-slow"),
        (lambda model, source, max_len: source, None),
        (decode_with(stops=False), "never-stops"),
        (lambda model, source, max_len: right_loop(model, source, max_len + 1), "one-too-many"),
        (lambda model, source, max_len: right_loop(model, source, max_len)[:-1], "last-word-lost"),
        (lambda model, source, max_len: list(reversed(right_loop(model, source, max_len))), "back-to-front"),
        (decode_with(torch.argmin), "least-likely"),
        (decode_with(lambda logits: torch.argmax(logits.abs())), "largest-in-size"),
    ],
    "test_greedy": [
        (only_short, "one that says one word more than the limit"),
        (only_length, "lets-through"),
        (says_false, "raising"),
        (wants_eos, "rejects-the-right-one"),
        (never_calls, "never-calls"),
        (misspelt, "NameError"),
    ],
    "breaking_sentence": [
        (lambda: "the cat sleeps", None, "and that is right"),
        (lambda: "the cat drank the water because it was thirsty", None, "At most 8"),
        (lambda: "the axolotl eats the cake", None, "axolotl"),
        (lambda: "the water drank the cat", None, "is not known here"),
        (lambda: "the cat that the fox sees is good", None, "cannot read: a question"),
        (lambda: "the cat of this girl slept ?", None, "is not known here"),
        (lambda: "The soup is very hot.", None, "Small letters"),
        (lambda: ["the", "soup"], None, "this is a list"),
        (lambda: "cat the sleeps", None, "is not known here"),
        (lambda: "", None, "Small letters"),
    ],
    "forced_words": [
        (without_bos, "no-shift"),
        (reads_one_less, "no-last"),
        (feeds_itself, "runs-free"),
        (over_the_places, None),
        (as_logits, None),
        (changes_the_target, "in-place"),
        (lambda model, source, target: [*target, EOS], "target-itself"),
        (lambda model, source, target: [BOS, *forced_by_steps(model, source, target)], "bos-as-answer"),
    ],
    "free_accuracy": [
        (leaks_still, "unrepaired"),
        (never_breaks, "goes-on-after-eos"),
        (ends_over_and_over, None),
        (lambda model, source, target: 1 - free_by_flags(model, source, target), "counts-mistakes"),
        (lambda model, source, target: 100 * free_by_flags(model, source, target), None),
        (lambda model, source, target: round(free_by_flags(model, source, target)), None),
        (
            lambda model, source, target: accuracy(forced_by_steps(model, source, target), target),
            None,
        ),
        (lambda model, source, target: free_by_flags(model, target, target), None),
        (
            lambda model, source, target: (
                free_by_flags(model, source, target) * (1 + 1 / max(len(target), 1))
            ),
            "one-short",
        ),
        (
            lambda model, source, target: 1.0 if free_by_flags(model, source, target) == 1 else 0.0,
            "all-or-nothing",
        ),
        (always_after_bos, "feeds-bos-again"),
    ],
}

RIGHT = {
    "greedy_decode": [right_loop, right_with_probabilities, right_cut_afterwards, right_from_prefixes],
    "test_greedy": [test_three, test_many_limits, test_with_torch],
    "breaking_sentence": [
        lambda: "these hats are not beautiful",
        lambda: "some men close two black bags",
        lambda: "the hats in the living room were beautiful",
        lambda: "the carrot that this hedgehog sees is good",
        lambda: "was the bag on the chair old ?",
    ],
    "forced_words": [forced_by_steps, forced_as_tensor, forced_by_prefix],
    "free_accuracy": [free_by_decoding, free_by_flags, free_as_tensor],
}
