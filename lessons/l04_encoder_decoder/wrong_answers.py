"""Answers to the exercises of lesson 04, as learners write them: wrong, with what must be said, and right.

The slips of exercises.py are tried as well; these answers are written differently or wrong in another way.
Each wrong one has the slip that must be named (None if there is none) or a part of the verdict.
"""

import torch

from course_lib.text.special import BOS, EOS
from lessons.l04_encoder_decoder.solutions import greedy_decode


def encode_and_start(model, source):
    memory = model.encode(torch.tensor([[*source, EOS]]), torch.tensor([len(source) + 1]))
    return memory, model.start(memory)


# --- greedy decoding


def says_nothing(model, source, max_len):
    greedy_words = greedy_decode(model, source, max_len)
    print(greedy_words)


def as_text(model, source, max_len):
    return " ".join(map(str, greedy_decode(model, source, max_len)))


def as_tensors(model, source, max_len):
    return [torch.tensor(word) for word in greedy_decode(model, source, max_len)]


def never_ends(model, source, max_len):
    memory, state = encode_and_start(model, source)
    token, words = BOS, []
    while True:
        logits, state, _ = model.step(memory, state, torch.tensor([token]))
        if token == EOS and len(words) > 10**9:
            return words
        token = logits[0].argmax().item()


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


def own_limit(model, source, max_len):
    return greedy_decode(model, source, len(source) + 5)


def read_by_decoder(read, source_end=(EOS,)):
    """Teacher forcing with another input of the decoder, or another end of the source."""

    def forced(model, source, target):
        src = torch.tensor([[*source, *source_end]])
        memory = model.encode(src, torch.tensor([src.shape[1]]))
        return model.decode(memory, torch.tensor([read(list(target))]))[0][0].argmax(-1).tolist()

    return forced


WRONG = {
    "greedy_decode": [
        (says_nothing, "returns-none"),
        (as_text, None),
        (as_tensors, "wrong-form"),
        (decode_with(sample), "random"),
        (decode_with(read=lambda source: [*source, EOS, EOS]), None),
        (own_limit, None),
        (never_ends, "too-slow"),
        (lambda model, source, max_len: source, None),
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
        (as_logits, None),
        (forced_as_tensor, "wrong-form"),
        (changes_the_target, "in-place"),
        (read_by_decoder(lambda target: target or [BOS]), None),
        (lambda *given: sample(as_logits(*given))[:, 0].tolist(), "random"),
    ],
}

RIGHT = {
    "greedy_decode": [right_with_probabilities, right_cut_afterwards, right_from_prefixes],
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
