"""The exercises of lesson 04: decode greedily, test it, break a translator, force it, let it run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import torch

from course_lib.teaching.exercises.any_exercise import ByHand, Slip
from course_lib.teaching.exercises.plain_exercise import PlainExercise
from course_lib.teaching.exercises.written_test import TestExercise
from course_lib.text.special import BOS, EOS
from course_lib.text.toy.generate import generate
from course_lib.translation.shipped import load_shipped
from lessons.l04_encoder_decoder.read import translations_of
from lessons.l04_encoder_decoder.scripted import LOST, Scripted

TOPIC = "encoder_decoder"
MOST_WORDS = 8


class Trained:
    """A shipped model under its name, so that a verdict can say which it was."""

    def __init__(self, name: str):
        self.name = name

    def __repr__(self) -> str:
        return f'load_shipped("{self.name}").model'

    def __getattr__(self, part: str) -> Any:
        return getattr(shipped(self.name).model, part)


@cache
def shipped(name: str):
    return load_shipped(name)


SEQ2SEQ, CHO = Trained("seq2seq"), Trained("rnn_encoder_decoder")


def numbers(text: str) -> list[int]:
    """A sentence as token numbers, in the vocabulary that all shipped models share."""
    return shipped("seq2seq").tokenizer.encode(text)


def read(model: Any, source: Sequence[int]) -> Any:
    src = torch.tensor([[*source, EOS]])
    return model.encode(src, torch.tensor([src.shape[1]]))


# --- greedy decoding


def decoded(
    model: Any,
    source: Sequence[int],
    max_len: int,
    *,
    memory: Callable = read,
    pick: Callable = torch.argmax,
    feeds: Callable = lambda said, token: said,
    keeps_state: bool = True,
    stops: bool = True,
) -> list[int]:
    """Greedy decoding, and by its options the ways to get it wrong."""
    with torch.no_grad():
        kept = memory(model, source)
        state, token, words = model.start(kept), BOS, []
        while len(words) < max_len:
            logits, new_state, _ = model.step(kept, state, torch.tensor([token]))
            state = new_state if keeps_state else state
            said = int(pick(logits[0]))
            if said == EOS and stops:
                break
            words.append(said)
            token = feeds(said, token)
    return words


def without_eos(model: Any, source: Sequence[int]) -> Any:
    src = torch.tensor([list(source)])
    return model.encode(src, torch.tensor([src.shape[1]]))


def ended(model: Any, source: Sequence[int], max_len: int) -> list[int]:
    """With the EOS that ends it, where it ends by itself."""
    words = decoded(model, source, max_len)
    return [*words, EOS] if len(words) < max_len else words


def one_more(model: Any, source: Sequence[int], max_len: int) -> list[int]:
    return decoded(model, source, max_len + 1)


def one_fewer(model: Any, source: Sequence[int], max_len: int) -> list[int]:
    return decoded(model, source, max_len - 1)


def last_word_dropped(model: Any, source: Sequence[int], max_len: int) -> list[int]:
    return decoded(model, source, max_len)[:-1]


GREEDY_DECODE = PlainExercise(
    name="greedy_decode",
    lesson=TOPIC,
    inputs=("model", "source", "max_len"),
    reference=decoded,
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
        lambda: (SEQ2SEQ, numbers("the old fox sees two birds near the river"), 20),
        lambda: (CHO, numbers("the cat drank the water because it was cold"), 20),
    ),
    slips=(
        Slip(
            "feeds-bos-again",
            lambda *given: decoded(*given, feeds=lambda said, token: BOS),
            "the model gets BOS at every step. After the first it must be given the word it has just said.",
        ),
        Slip(
            "keeps-first-state",
            lambda *given: decoded(*given, keeps_state=False),
            "every step starts from the first state. `step` returns a new state: use it in the next step.",
        ),
        Slip(
            "returns-eos",
            ended,
            "the EOS that ended the sentence is returned too. It is no word: stop before you append it.",
        ),
        Slip(
            "never-stops",
            lambda *given: decoded(*given, stops=False),
            "it does not stop at EOS, and goes on until the limit. Leave the loop when the model says EOS.",
        ),
        Slip(
            "returns-bos",
            lambda *given: [BOS, *decoded(*given)],
            "BOS stands at the front of the answer. It opens the decoder, but is not part of what is said.",
        ),
        Slip(
            "source-without-eos",
            lambda *given: decoded(*given, memory=without_eos),
            "the source is read without EOS at its end. The models learned to speak after EOS: append it, "
            "and count it in the length.",
        ),
        Slip("one-too-many", one_more, "it may say one word more than `max_len`. Count the words said."),
        Slip(
            "one-too-few",
            one_fewer,
            "it stops one word before `max_len`. `max_len` words are allowed; EOS and BOS do not count.",
        ),
        Slip(
            "last-word-lost",
            last_word_dropped,
            "the last word is missing. When EOS comes, the words before it stay: cut nothing off.",
        ),
        Slip(
            "back-to-front",
            lambda *given: decoded(*given)[::-1],
            "the words come out in reverse. A new word belongs behind the others: `append`.",
        ),
        Slip(
            "least-likely",
            lambda *given: decoded(*given, pick=torch.argmin),
            "the least likely word is taken. The largest logit belongs to the likeliest word: `argmax`.",
        ),
        Slip(
            "largest-in-size",
            lambda *given: decoded(*given, pick=lambda logits: logits.abs().argmax()),
            "the logit farthest from 0 is taken. Logits can be negative: take the largest, signs and all.",
        ),
    ),
)


# --- the test of it


def with_for(model: Any, source: Sequence[int], max_len: int) -> list[int]:
    memory, words = read(model, source), []
    state, tokens = model.start(memory), torch.tensor([BOS])
    for _ in range(max_len):
        logits, state, _ = model.step(memory, state, tokens)
        tokens = logits.argmax(dim=-1)
        if tokens.item() == EOS:
            return words
        words.append(tokens.item())
    return words


def with_whole_prefix(model: Any, source: Sequence[int], max_len: int) -> list[int]:
    memory, words = read(model, source), []
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
    accepts={"with a for loop": with_for, "without steps, from the whole prefix": with_whole_prefix},
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
def generated() -> dict[str, str]:
    """The sentences that the task offers, with their translations."""
    return {pair.src_text: pair.tgt_text for pair in generate(200, seed=1, length=(5, MOST_WORDS))}


def right_ones(text: str) -> set[str]:
    """Its right translations, as far as they can be known here."""
    made = generated().get(text)
    return translations_of(text) | ({made} if made else set())


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


def is_understood(given: tuple, answer: str) -> str:
    if right_ones(answer):
        return ""
    return (
        "Its right translation is not known here. Our small language does not make this sentence, or it is "
        "one that `translations_of` cannot read: a question, or one with that, which, who. It can read `the "
        "tired women see a big fox`. Of the sentences that `generate(200, seed=1, length=(5, 8))` makes, "
        "each may be handed in."
    )


def breaks_it(given: tuple, answer: str) -> str:
    said, right = shipped("seq2seq")(answer).target, right_ones(answer)
    if said not in right:
        return ""
    return f"It says “{said}”, and that is right. Try again: what must it remember the longest, or know best?"


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
    demands=(is_a_sentence, is_understood, breaks_it),
)


# --- teacher forcing


def forced(model: Any, source: Sequence[int], tgt_in: Sequence[int]) -> list[int]:
    """The likeliest word after each word of `tgt_in`."""
    with torch.no_grad():
        logits, _ = model.decode(read(model, source), torch.tensor([list(tgt_in)]))
    return logits[0].argmax(dim=-1).tolist()


def forced_words(model: Any, source: Sequence[int], target: Sequence[int]) -> list[int]:
    return forced(model, source, [BOS, *target])


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
            numbers("the women eat the mushrooms because they are hungry"),
            numbers("les femmes mangent les champignons parce qu' elles ont faim"),
        ),
        lambda: (CHO, numbers("the soup is very hot"), numbers("la soupe est très chaude")),
    ),
    slips=(
        Slip(
            "runs-free",
            lambda model, source, target: run_free(model, source, len(target) + 1),
            "the model is given its own words. Teacher forcing gives it the right ones, from `target`.",
        ),
        Slip(
            "no-shift",
            lambda model, source, target: forced(model, source, [*target, EOS]),
            "the decoder reads the target without BOS in front. Then it is asked for the word after each "
            "one, and nobody asks for the first. Read BOS and then the words.",
            misconception="M27",
        ),
        Slip(
            "no-last",
            lambda model, source, target: forced(model, source, [BOS, *target])[:-1],
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


def run_free(model: Any, source: Sequence[int], n_steps: int) -> list[int]:
    """So many steps on its own words, whatever it says."""
    return decoded(model, source, n_steps, stops=False)


# --- how many words are right


def right_share(
    model: Any, source: Sequence[int], target: Sequence[int], feeds: Callable, *, stops: bool = True
) -> float:
    with torch.no_grad():
        memory = read(model, source)
        state, token, right = model.start(memory), BOS, 0
        for wanted in [*target, EOS]:
            logits, state, _ = model.step(memory, state, torch.tensor([token]))
            said = logits[0].argmax().item()
            right += said == wanted
            if said == EOS and stops:
                break
            token = feeds(said, wanted)
    return right / (len(target) + 1)


def own_word(said: int, wanted: int) -> int:
    return said


def first_version(model, source, target):
    src = torch.tensor([[*source, EOS]])
    summary = model.encode(src, torch.tensor([src.shape[1]]))
    state, token, right = model.start(summary), BOS, 0
    for wanted in [*target, EOS]:
        logits, state, _ = model.step(summary, state, torch.tensor([token]))
        said = logits[0].argmax().item()
        right += said == wanted
        if said == EOS:
            break
        token = wanted
    return right / (len(target) + 1)


FREE_ACCURACY = PlainExercise(
    name="free_accuracy",
    lesson=TOPIC,
    inputs=("model", "source", "target"),
    reference=lambda model, source, target: right_share(model, source, target, own_word),
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
            numbers("the old woman follows the young wolf because it is hungry"),
            numbers("la vieille femme suit le jeune loup parce qu' il a faim"),
        ),
        lambda: (SEQ2SEQ, numbers(KING), numbers(KING_IN_FRENCH)),
    ),
    slips=(
        Slip(
            "one-short",
            lambda model, source, target: (
                right_share(model, source, target, own_word) * (len(target) + 1) / max(len(target), 1)
            ),
            "the share is taken of the words without EOS. The end counts as one more place.",
        ),
        Slip(
            "all-or-nothing",
            lambda model, source, target: float(right_share(model, source, target, own_word) == 1),
            "this says whether the whole sentence is right. Wanted is the share of its places.",
        ),
        Slip(
            "goes-on-after-eos",
            lambda model, source, target: right_share(model, source, target, own_word, stops=False),
            "what the model says after EOS is counted too. When it has said EOS, it has ended: leave the "
            "loop.",
        ),
        Slip(
            "counts-mistakes",
            lambda model, source, target: 1 - right_share(model, source, target, own_word),
            "this is the share of wrong places.",
        ),
        Slip(
            "feeds-bos-again",
            lambda model, source, target: right_share(model, source, target, lambda said, wanted: BOS),
            "the model gets BOS at every step. Running free, it is given the word it has just said.",
        ),
    ),
)

KING = "the king sees the queen but the queen sees the boy and the boy sees the girl"
KING_IN_FRENCH = "le roi voit la reine mais la reine voit le garçon et le garçon voit la fille"

EXERCISES = (GREEDY_DECODE, TEST_GREEDY, BREAKING_SENTENCE, FORCED_WORDS, FREE_ACCURACY)
