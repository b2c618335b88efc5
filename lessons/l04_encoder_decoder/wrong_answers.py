"""Answers to the exercises of lesson 04, as learners write them: wrong, with what must be said, and right.

The slips of exercises.py are tried as well; these answers are written differently or wrong in another way.
Each wrong one has the slip that must be named (None if there is none) or a part of the verdict.
"""

import torch

from course_lib.text.special import BOS, EOS


def encode_and_start(model, source):
    memory = model.encode(torch.tensor([[*source, EOS]]), torch.tensor([len(source) + 1]))
    return memory, model.start(memory)


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


def as_tensors(model, source, max_len):
    return [torch.tensor(word) for word in right_loop(model, source, max_len)]


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


def forced_by_topk(model, source, target):
    memory, _ = encode_and_start(model, source)
    logits, _ = model.decode(memory, torch.tensor([[BOS, *target]]))
    return tuple(int(token) for token in logits.squeeze(0).topk(1).indices[:, 0])


def forced_by_prefix(model, source, target):
    memory, _ = encode_and_start(model, source)
    prefixes = ([BOS, *target[:n]] for n in range(len(target) + 1))
    return [int(model.decode(memory, torch.tensor([read]))[0][0, -1].argmax()) for read in prefixes]


# ---- a slip each, without the helpers of the exercises


def decode_with(choose=torch.argmax, stops=True, read=lambda source: [*source, EOS], first=BOS):
    """Greedy decoding with another choice, other source tokens or another first token."""

    def decode(model, source, max_len):
        src = torch.tensor([read(list(source))])
        memory = model.encode(src, torch.tensor([src.shape[1]]))
        state, word, words = model.start(memory), first, []
        while len(words) < max_len:
            logits, state, _ = model.step(memory, state, torch.tensor([word]))
            word = int(choose(logits[0]))
            if stops and word == EOS:
                break
            words.append(word)
        return words

    return decode


def sample(logits):
    return torch.multinomial(logits.softmax(dim=-1), 1)


def state_from_context(model, source, max_len):
    memory, _ = encode_and_start(model, source)
    state, word, words = memory, BOS, []
    while len(words) < max_len:
        logits, state, _ = model.step(memory, state, torch.tensor([word]))
        word = int(logits.argmax())
        if word == EOS:
            break
        words.append(word)
    return words


def first_word_first(model, source, max_len):
    memory, state = encode_and_start(model, source)
    logits, state, _ = model.step(memory, state, torch.tensor([BOS]))
    words = [logits[0].argmax().item()]
    while len(words) < max_len:
        logits, state, _ = model.step(memory, state, torch.tensor([words[-1]]))
        word = logits[0].argmax().item()
        if word == EOS:
            break
        words.append(word)
    return words


def first_position(model, source, max_len):
    memory, _ = encode_and_start(model, source)
    words = []
    while len(words) < max_len:
        word = int(model.decode(memory, torch.tensor([[BOS, *words]]))[0][0, 0].argmax())
        if word == EOS:
            break
        words.append(word)
    return words


def no_word_twice(model, source, max_len):
    words = []
    for word in right_loop(model, source, max_len):
        if word in words:
            break
        words.append(word)
    return words


def checks_afterwards(model, source, max_len):
    memory, state = encode_and_start(model, source)
    word, words = BOS, []
    while True:
        logits, state, _ = model.step(memory, state, torch.tensor([word]))
        word = logits[0].argmax().item()
        if word == EOS:
            return words
        words.append(word)
        if len(words) >= max_len:
            return words


def returns_in_loop(model, source, max_len):
    memory, state = encode_and_start(model, source)
    words = []
    while len(words) < max_len:
        logits, state, _ = model.step(memory, state, torch.tensor([BOS]))
        word = logits[0].argmax().item()
        if word == EOS:
            break
        words.append(word)
        return words
    return words


def feeds_the_source(model, source, max_len):
    memory, state = encode_and_start(model, source)
    words, inputs = [], [BOS, *source, EOS]
    for i in range(max_len):
        logits, state, _ = model.step(memory, state, torch.tensor([inputs[min(i, len(inputs) - 1)]]))
        word = logits[0].argmax().item()
        if word == EOS:
            break
        words.append(word)
    return words


def as_long_as_the_source(model, source, max_len):
    return right_loop(model, source, min(len(source), max_len))


def own_limit(model, source, max_len):
    return right_loop(model, source, len(source) + 5)


def without_eos(model, source, max_len):
    return [word for word in decode_with(stops=False)(model, source, max_len) if word != EOS]


def until_end(model, source, n):
    """What the model generates, with EOS."""
    words = right_loop(model, source, n)
    return [*words, EOS] if len(words) < n else words


def read_by_decoder(read, source_end=(EOS,)):
    """Teacher forcing with another input of the decoder, or another end of the source."""

    def forced(model, source, target):
        src = torch.tensor([[*source, *source_end]])
        memory = model.encode(src, torch.tensor([src.shape[1]]))
        return model.decode(memory, torch.tensor([read(list(target))]))[0][0].argmax(-1).tolist()

    return forced


def length_without_eos(model, source, target):
    memory = model.encode(torch.tensor([[*source, EOS]]), torch.tensor([len(source)]))
    return model.decode(memory, torch.tensor([[BOS, *target]]))[0][0].argmax(-1).tolist()


def always_from_the_start(model, source, target):
    memory, state = encode_and_start(model, source)
    return [int(model.step(memory, state, torch.tensor([word]))[0].argmax()) for word in [BOS, *target]]


def cut_at_eos(model, source, target):
    words = forced_by_steps(model, source, target)
    return words[: words.index(EOS) + 1] if EOS in words else words


def where_right(model, source, target):
    return [a == b for a, b in zip(forced_by_steps(model, source, target), [*target, EOS], strict=True)]


WRONG = {
    "greedy_decode": [
        (bos_inside_the_loop, "feeds-bos-again"),
        (state_under_another_name, "keeps-first-state"),
        (first_position, "always-first"),
        (appends_before_asking, "returns-eos"),
        (starts_with_bos, "returns-bos"),
        (counts_bos_as_a_word, "one-too-few"),
        (forgets_eos_of_the_source, "source-without-eos"),
        (eos_in_front_of_the_source, "eos-in-front"),
        (starts_with_eos, "starts-with-eos"),
        (says_nothing, "returns-none"),
        (as_text, None),
        (as_tensors, "wrong-form"),
        (lambda *given: [torch.tensor([word]) for word in right_loop(*given)], "tensors-of-one"),
        (decode_with(sample), "random"),
        (decode_with(read=lambda source: [BOS, *source, EOS]), "bos-in-source"),
        (decode_with(read=lambda source: [*reversed(source), EOS]), "reversed-source"),
        (decode_with(read=lambda source: [*source, EOS, EOS]), None),
        (state_from_context, "context-as-state"),
        (first_word_first, "first-unchecked"),
        (no_word_twice, "stops-at-repeats"),
        (without_eos, "filters-eos"),
        (lambda *given: [BOS, *until_end(*given)], "returns-both"),
        (lambda *given: [*right_loop(*given), EOS], "adds-eos"),
        (lambda *given: right_loop(*given)[1:], "first-word-lost"),
        (checks_afterwards, "limit-checked-late"),
        (returns_in_loop, "one-step-only"),
        (feeds_the_source, "feeds-source"),
        (as_long_as_the_source, "stops-at-source-length"),
        (own_limit, None),
        (never_ends, "too-slow"),
        (lambda model, source, max_len: source, None),
        (decode_with(stops=False), "never-stops"),
        (lambda model, source, max_len: right_loop(model, source, max_len + 1), "one-too-many"),
        (lambda model, source, max_len: right_loop(model, source, max_len)[:-1], "last-word-lost"),
        (lambda model, source, max_len: list(reversed(right_loop(model, source, max_len))), "back-to-front"),
        (decode_with(torch.argmin), "least-likely"),
        (decode_with(lambda logits: torch.argmax(logits.abs())), "largest-in-size"),
    ],
    "breaking_sentence": [
        (lambda: "the cat sleeps", None, "le chat dort"),
        (lambda: "the cat drank the water because it was thirsty", None, "9", "8"),
        (lambda: "the axolotl eats the cake", None, "axolotl"),
        (lambda: "the water drank the cat", None, "translations_of"),
        (lambda: "the cats sees the dog", None, "translations_of"),
        (lambda: "the sweet cakes", None, "translations_of"),
        (lambda: "the cat sleeps the dog sleeps", None, "translations_of"),
        (lambda: "the boy drinks milk", None, "determiner"),
        (lambda: "cats sleep", None, "determiner"),
        (lambda: "le chat dort", None, "French"),
        (lambda: ["the", "soup"], None, "list"),
        (lambda: ("the soup is very hot", "la soupe est très chaude"), None, "string"),
        (lambda: "", None, "empty"),
        (lambda: None, "returns-none"),
    ],
    "forced_words": [
        (without_bos, "no-shift"),
        (reads_one_less, "no-last"),
        (feeds_itself, "runs-free"),
        (over_the_places, "over-positions"),
        (as_logits, None),
        (lambda *given: as_logits(*given).argmax().item(), "over-everything"),
        (lambda *given: [as_logits(*given).argmax().item()], "over-everything-listed"),
        (lambda model, source, target: forced_by_steps(model, source, source), "reads-source"),
        (lambda model, source, target: forced_by_steps(model, target, target), "encodes-target"),
        (lambda *given: forced_by_steps(*given)[1:], "no-first"),
        (lambda *given: [token for token in forced_by_steps(*given) if token != EOS], "filters-eos"),
        (forced_as_tensor, "wrong-form"),
        (changes_the_target, "in-place"),
        (length_without_eos, "source-without-eos"),
        (always_from_the_start, "keeps-first-state"),
        (cut_at_eos, "stops-at-eos"),
        (where_right, "compares"),
        (lambda *given: [int(right) for right in where_right(*given)], "compares-as-numbers"),
        (read_by_decoder(lambda target: target or [BOS]), None),
        (read_by_decoder(list), "no-bos"),
        (read_by_decoder(lambda target: [BOS, *target, EOS]), "reads-eos"),
        (read_by_decoder(lambda target: [EOS, *target]), "starts-with-eos"),
        (read_by_decoder(lambda target: [BOS, *target][: len(target) or 1]), "last-unread"),
        (read_by_decoder(lambda target: [BOS, *reversed(target)]), "reversed-target"),
        (read_by_decoder(lambda target: [BOS, *target], source_end=()), "source-without-eos"),
        (lambda model, source, target: until_end(model, source, len(target) + 1), "runs-free-to-eos"),
        (lambda model, source, target: right_loop(model, source, len(target) + 1), "runs-free-without-eos"),
        (lambda model, source, target: [*target, EOS], "target-itself"),
        (lambda model, source, target: [BOS, *forced_by_steps(model, source, target)], "bos-as-answer"),
        (lambda *given: forced_as_tensor(*given)[None], "batch-axis"),
        (lambda *given: as_logits(*given).max(dim=-1).values.tolist(), "largest-logits"),
        (lambda *given: sample(as_logits(*given))[:, 0].tolist(), "random"),
    ],
}

RIGHT = {
    "greedy_decode": [right_loop, right_with_probabilities, right_cut_afterwards, right_from_prefixes],
    "breaking_sentence": [
        lambda: "these hats are not beautiful",
        lambda: "some men close two black bags",
        lambda: "the hats in the living room were beautiful",
        lambda: "the carrot that this hedgehog sees is good",
        lambda: "was the bag on the chair old ?",
        lambda: "this cup of tea does not fall",
    ],
    "forced_words": [forced_by_steps, forced_by_topk, forced_by_prefix],
}
