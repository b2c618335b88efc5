"""The exercises of lesson 04: greedy decoding, its test, a breaking sentence, forced and free running."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import torch

from course_lib.teaching.exercises import ByHand, PlainExercise, Slip, TestExercise
from course_lib.text.special import BOS, EOS
from course_lib.text.toy.generate import generate
from course_lib.translation.shipped import load_shipped
from lessons.l04_encoder_decoder.read import translations_of
from lessons.l04_encoder_decoder.scripted import LOST, Scripted

TOPIC = "encoder_decoder"
MOST_WORDS = 8
shipped = cache(load_shipped)  # not `shared`: a learner's function gets these models


class Trained:
    """A shipped model that is loaded when it is used, and whose name appears in verdicts."""

    def __init__(self, name: str):
        self.name = name

    def __repr__(self) -> str:
        return f'load_shipped("{self.name}").model'

    def __getattr__(self, part: str) -> Any:
        return getattr(shipped(self.name).model, part)


SEQ2SEQ, CHO = Trained("seq2seq"), Trained("rnn_encoder_decoder")


def token_ids(text: str) -> list[int]:
    """The ids of a sentence, in the vocabulary that all shipped models share."""
    return shipped("seq2seq").tokenizer.encode(text)


def encode(model: Any, source: Sequence[int]) -> Any:
    src = torch.tensor([[*source, EOS]])
    return model.encode(src, torch.tensor([src.shape[1]]))


# --- greedy decoding


def greedy_decode(
    model: Any,
    source: Sequence[int],
    max_len: int,
    *,
    encoder: Callable = encode,
    choose: Callable = torch.argmax,
    next_input: Callable = lambda predicted: predicted,
    updates_state: bool = True,
    stops: bool = True,
) -> list[int]:
    """Greedy decoding. The options are the mistakes that the slips make."""
    with torch.no_grad():
        memory = encoder(model, source)
        state, token, words = model.start(memory), BOS, []
        while len(words) < max_len:
            logits, new_state, _ = model.step(memory, state, torch.tensor([token]))
            state = new_state if updates_state else state
            predicted = int(choose(logits[0]))
            if predicted == EOS and stops:
                break
            words.append(predicted)
            token = next_input(predicted)
    return words


def encode_without_eos(model: Any, source: Sequence[int]) -> Any:
    src = torch.tensor([list(source)])
    return model.encode(src, torch.tensor([src.shape[1]]))


def decode_and_keep_eos(model: Any, source: Sequence[int], max_len: int) -> list[int]:
    words = greedy_decode(model, source, max_len)
    return [*words, EOS] if len(words) < max_len else words


GREEDY_DECODE = PlainExercise(
    name="greedy_decode",
    lesson=TOPIC,
    inputs=("model", "source", "max_len"),
    reference=greedy_decode,
    by_hand=ByHand(
        inputs={"model": Scripted([7, 8, 7]), "source": [5, 6], "max_len": 10},
        answer=[7, 8, 7],
        says="The model reads 5, 6 and EOS. Given BOS it says 7; given that 7 it says 8; given that 8 it "
        "says 7 again; given that 7 it says EOS. The sentence is over, and EOS is no word of it: [7, 8, 7].",
    ),
    others=(
        lambda: (Scripted([5, 9], endless=True), [8], 5),
        lambda: (Scripted([]), [6, 7, 8], 4),
        lambda: (Scripted([6, 10, 11]), [9], 3),
        lambda: (SEQ2SEQ, token_ids("the old fox sees two birds near the river"), 20),
        lambda: (CHO, token_ids("the cat drank the water because it was cold"), 20),
    ),
    slips=(
        Slip(
            "feeds-bos-again",
            lambda *given: greedy_decode(*given, next_input=lambda predicted: BOS),
            "the model gets BOS at every step. After the first it must be given the word it has just said.",
        ),
        Slip(
            "keeps-first-state",
            lambda *given: greedy_decode(*given, updates_state=False),
            "every step starts from the first state. `step` returns a new state: use it in the next step.",
        ),
        Slip(
            "returns-eos",
            decode_and_keep_eos,
            "the EOS that ended the sentence is returned too. It is no word: stop before you append it.",
        ),
        Slip(
            "never-stops",
            lambda *given: greedy_decode(*given, stops=False),
            "it does not stop at EOS, and goes on until the limit. Leave the loop when the model says EOS.",
        ),
        Slip(
            "returns-bos",
            lambda *given: [BOS, *greedy_decode(*given)],
            "BOS stands at the front of the answer. It opens the decoder, but is not part of what is said.",
        ),
        Slip(
            "source-without-eos",
            lambda *given: greedy_decode(*given, encoder=encode_without_eos),
            "the source is read without EOS at its end. The models learned to speak after EOS: append it, "
            "and count it in the length.",
        ),
        Slip(
            "one-too-many",
            lambda model, source, max_len: greedy_decode(model, source, max_len + 1),
            "it may say one word more than `max_len`. Count the words said.",
        ),
        Slip(
            "one-too-few",
            lambda model, source, max_len: greedy_decode(model, source, max_len - 1),
            "it stops one word before `max_len`. `max_len` words are allowed; EOS and BOS do not count.",
        ),
        Slip(
            "last-word-lost",
            lambda *given: greedy_decode(*given)[:-1],
            "the last word is missing. When EOS comes, the words before it stay: cut nothing off.",
        ),
        Slip(
            "back-to-front",
            lambda *given: greedy_decode(*given)[::-1],
            "the words come out in reverse. A new word belongs behind the others: `append`.",
        ),
        Slip(
            "least-likely",
            lambda *given: greedy_decode(*given, choose=torch.argmin),
            "the least likely word is taken. The largest logit belongs to the likeliest word: `argmax`.",
        ),
        Slip(
            "largest-in-size",
            lambda *given: greedy_decode(*given, choose=lambda logits: logits.abs().argmax()),
            "the logit farthest from 0 is taken. Logits can be negative: take the largest, signs and all.",
        ),
    ),
)


# --- the test of it


def decode_with_for(model: Any, source: Sequence[int], max_len: int) -> list[int]:
    memory, words = encode(model, source), []
    state, tokens = model.start(memory), torch.tensor([BOS])
    for _ in range(max_len):
        logits, state, _ = model.step(memory, state, tokens)
        tokens = logits.argmax(dim=-1)
        if tokens.item() == EOS:
            return words
        words.append(tokens.item())
    return words


def decode_whole_prefix(model: Any, source: Sequence[int], max_len: int) -> list[int]:
    memory, words = encode(model, source), []
    while len(words) < max_len:
        logits, _ = model.decode(memory, torch.tensor([[BOS, *words]]))
        word = int(logits[0, -1].argmax())
        if word == EOS:
            break
        words.append(word)
    return words


def careful_test(decode: Callable) -> None:
    assert list(decode(Scripted([7, 8, 7]), [5, 6], 10)) == [7, 8, 7]
    assert list(decode(Scripted([7, 8], endless=True), [5], 4)) == [7, 8, 7, 8]
    assert list(decode(Scripted([]), [5], 3)) == []


TEST_GREEDY = TestExercise(
    name="test_greedy",
    lesson=TOPIC,
    inputs={"decode": "a function"},
    of=GREEDY_DECODE,
    what="decoder",
    accepts={"with a for loop": decode_with_for, "without steps, from the whole prefix": decode_whole_prefix},
    rejects={
        "feeds-bos-again": "gives the model BOS at every step",
        "keeps-first-state": "never takes over the new state",
        "returns-eos": "returns EOS as a word",
        "never-stops": "does not stop at EOS",
        "returns-bos": "returns BOS as a word",
        "source-without-eos": "reads the source without EOS",
        "one-too-many": "says one word more than the limit",
        "one-too-few": "stops one word before the limit",
        "last-word-lost": "drops the last word",
        "back-to-front": "gives the words back to front",
        "least-likely": "takes the least likely word",
    },
    reference=careful_test,
)


# --- a sentence that breaks it


@cache
def generated_translations() -> dict[str, str]:
    """The generated sentences that the task suggests, with their translations."""
    return {pair.src_text: pair.tgt_text for pair in generate(200, seed=1, length=(5, MOST_WORDS))}


def right_translations(text: str) -> set[str]:
    """The correct translations of a sentence, if it can be parsed or is one of the generated ones."""
    generated = generated_translations().get(text)
    return translations_of(text) | ({generated} if generated else set())


def is_a_sentence(given: tuple, answer: Any) -> str:
    if not isinstance(answer, str):
        return f"A sentence is wanted, as text in quotation marks; this is a {type(answer).__name__}."
    if answer != answer.lower() or not answer.removesuffix("?").replace(" ", "").isalpha():
        return "Small letters only please, no full stop: `the cat sleeps in the garden`."
    if len(answer.split()) > MOST_WORDS:
        return (
            f"This has {len(answer.split())} words. At most {MOST_WORDS}: long sentences break it too easily."
        )
    unknown = shipped("seq2seq").tokenizer.unknown(answer)
    if unknown:
        return f"The translator does not know: {', '.join(unknown)}. Lesson 00 lists what it knows."
    return ""


def has_known_translation(given: tuple, answer: str) -> str:
    if right_translations(answer):
        return ""
    return (
        "Its right translation is not known here. Our small language does not make this sentence, or it is "
        "one that `translations_of` cannot read: a question, or one with that, which, who. It can read `the "
        "tired women see a big fox`. Of the sentences that `generate(200, seed=1, length=(5, 8))` makes, "
        "each may be handed in."
    )


def breaks_it(given: tuple, answer: str) -> str:
    translation = shipped("seq2seq")(answer).target
    if translation not in right_translations(answer):
        return ""
    return (
        f"It says “{translation}”, and that is right. Try again: what must it remember the longest, or know "
        "best?"
    )


BREAKING_SENTENCE = PlainExercise(
    name="breaking_sentence",
    lesson=TOPIC,
    inputs=(),
    design=True,
    reference=lambda: "the soup is very hot",
    by_hand=ByHand(
        inputs={},
        answer="the soup is very hot",
        says="Soup is feminine in French: la soupe est très chaude. The translator says chaud.",
    ),
    others=(),
    demands=(is_a_sentence, has_known_translation, breaks_it),
)


# --- teacher forcing


def predict_after(model: Any, source: Sequence[int], tgt_in: Sequence[int]) -> list[int]:
    """The likeliest token after each token of `tgt_in`."""
    with torch.no_grad():
        logits, _ = model.decode(encode(model, source), torch.tensor([list(tgt_in)]))
    return logits[0].argmax(dim=-1).tolist()


def forced_words(model: Any, source: Sequence[int], target: Sequence[int]) -> list[int]:
    return predict_after(model, source, [BOS, *target])


FORCED_WORDS = PlainExercise(
    name="forced_words",
    lesson=TOPIC,
    inputs=("model", "source", "target"),
    reference=forced_words,
    by_hand=ByHand(
        inputs={"model": Scripted([7, 8, 9]), "source": [5], "target": [7, 6, 9]},
        answer=[7, 8, LOST, LOST],
        says=f"Given BOS the model says 7; given 7 it says 8. The right word is 6, so 6 is what it gets "
        f"next: it never said that and is lost, and says {LOST}; given 9, {LOST} again. Three target words, "
        "four answers: the last one stands where EOS should.",
    ),
    others=(
        lambda: (Scripted([5, 9]), [8, 7], [5, 9]),
        lambda: (Scripted([6]), [8], []),
        lambda: (Scripted([10, 11], endless=True), [9], [10, 11, 10, 11]),
        lambda: (
            SEQ2SEQ,
            token_ids("the women eat the mushrooms because they are hungry"),
            token_ids("les femmes mangent les champignons parce qu' elles ont faim"),
        ),
        lambda: (CHO, token_ids("the soup is very hot"), token_ids("la soupe est très chaude")),
    ),
    slips=(
        Slip(
            "runs-free",
            lambda model, source, target: greedy_decode(model, source, len(target) + 1, stops=False),
            "the model is given its own words. Teacher forcing gives it the right ones, from `target`.",
        ),
        Slip(
            "no-shift",
            lambda model, source, target: predict_after(model, source, [*target, EOS]),
            "the decoder reads the target without BOS in front. Then it is asked for the word after each "
            "one, and nobody asks for the first. Read BOS and then the words.",
            misconception="M27",
        ),
        Slip(
            "no-last",
            lambda model, source, target: predict_after(model, source, [BOS, *target])[:-1],
            "the last answer is missing: after the last word the model should say EOS, and that counts too.",
        ),
        Slip(
            "bos-as-answer",
            lambda model, source, target: [BOS, *forced_words(model, source, target)],
            "BOS stands among the answers. It is read first; the first answer is what the model says then.",
        ),
        Slip(
            "target-itself",
            lambda model, source, target: [*target, EOS],
            "this is the target, not what the model would say. Ask the model: `decode`, then `argmax`.",
        ),
    ),
)


# --- how many words are right


def free_accuracy(
    model: Any,
    source: Sequence[int],
    target: Sequence[int],
    *,
    next_input: Callable = lambda predicted: predicted,
    stops: bool = True,
) -> float:
    with torch.no_grad():
        memory = encode(model, source)
        state, token, right = model.start(memory), BOS, 0
        for expected in [*target, EOS]:
            logits, state, _ = model.step(memory, state, torch.tensor([token]))
            predicted = logits[0].argmax().item()
            right += predicted == expected
            if predicted == EOS and stops:
                break
            token = next_input(predicted)
    return right / (len(target) + 1)


def first_version(model, source, target):
    src = torch.tensor([[*source, EOS]])
    summary = model.encode(src, torch.tensor([src.shape[1]]))
    state, token, right = model.start(summary), BOS, 0
    for expected in [*target, EOS]:
        logits, state, _ = model.step(summary, state, torch.tensor([token]))
        predicted = logits[0].argmax().item()
        right += predicted == expected
        if predicted == EOS:
            break
        token = expected
    return right / (len(target) + 1)


FREE_ACCURACY = PlainExercise(
    name="free_accuracy",
    lesson=TOPIC,
    inputs=("model", "source", "target"),
    reference=free_accuracy,
    unrepaired=first_version,
    by_hand=ByHand(
        inputs={"model": Scripted([7, 8, 9]), "source": [5], "target": [7, 6, 9]},
        answer=0.75,
        says="Running free, the model says 7, 8, 9 and EOS, whatever is wanted. Wanted are 7, 6, 9 and EOS. "
        "Three of the four places agree: 3/4.",
    ),
    others=(
        lambda: (Scripted([5, 9]), [8, 7], [5, 9]),
        lambda: (Scripted([6]), [8], [6, 7, 8]),
        lambda: (Scripted([6]), [8], [6, 7, LOST]),
        lambda: (Scripted([6, 7, 8, 9]), [8], [6, 10]),
        lambda: (
            SEQ2SEQ,
            token_ids("the old woman follows the young wolf because it is hungry"),
            token_ids("la vieille femme suit le jeune loup parce qu' il a faim"),
        ),
        lambda: (SEQ2SEQ, token_ids(KING), token_ids(KING_IN_FRENCH)),
    ),
    slips=(
        Slip(
            "one-short",
            lambda model, source, target: (
                free_accuracy(model, source, target) * (len(target) + 1) / max(len(target), 1)
            ),
            "the share is taken of the words without EOS. The end counts as one more place.",
        ),
        Slip(
            "all-or-nothing",
            lambda *given: float(free_accuracy(*given) == 1),
            "this says whether the whole sentence is right. Wanted is the share of its places.",
        ),
        Slip(
            "goes-on-after-eos",
            lambda *given: free_accuracy(*given, stops=False),
            "what the model says after EOS is counted too. When it has said EOS, it has ended: leave the "
            "loop.",
        ),
        Slip(
            "counts-mistakes",
            lambda *given: 1 - free_accuracy(*given),
            "this is the share of wrong places.",
        ),
        Slip(
            "feeds-bos-again",
            lambda *given: free_accuracy(*given, next_input=lambda predicted: BOS),
            "the model gets BOS at every step. Running free, it is given the word it has just said.",
        ),
    ),
)

KING = "the king sees the queen but the queen sees the boy and the boy sees the girl"
KING_IN_FRENCH = "le roi voit la reine mais la reine voit le garçon et le garçon voit la fille"

EXERCISES = (GREEDY_DECODE, TEST_GREEDY, BREAKING_SENTENCE, FORCED_WORDS, FREE_ACCURACY)
