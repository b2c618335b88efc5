"""The exercises of lesson 04: greedy decoding, a breaking sentence, teacher forcing."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import torch
from torch import Tensor

from course_lib.teaching.exercises import ByHand, PlainExercise, Slip, known_mistakes
from course_lib.teaching.exercises.answer import describe_type
from course_lib.teaching.exercises.verdict import quote_names
from course_lib.text.special import BOS, EOS
from course_lib.text.toy.read import translations_of
from course_lib.translation.pipeline import clean_text
from course_lib.translation.shipped import load_shipped
from lessons.l04_encoder_decoder import solutions
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

GREEDY_DECODE = PlainExercise(
    name="greedy_decode",
    lesson=TOPIC,
    inputs=("model", "source", "max_len"),
    reference=solutions.greedy_decode,
    by_hand=ByHand(
        inputs={"model": Scripted([7, 8, 7]), "source": [5, 6], "max_len": 10},
        answer=[7, 8, 7],
        says="The model encodes 5, 6 and EOS. Given BOS, it generates 7; given that 7, it generates 8; given "
        "that 8, it generates 7 again; given that 7, it generates EOS. This ends the translation, and EOS "
        "isn't part of it: [7, 8, 7].",
    ),
    others=(
        lambda: (Scripted([5, 9], endless=True), [8], 3),
        lambda: (Scripted([]), [6, 7, 8], 4),
        lambda: (Scripted([9, 9, 6]), [9], 3),
        lambda: (Scripted([7, 8]), [5], 0),
        lambda: (SEQ2SEQ, token_ids("the old fox sees two birds near the river"), 20),
        lambda: (CHO, token_ids("the cat drank the water because it was cold"), 20),
        lambda: (SEQ2SEQ, token_ids(KING), 40),
    ),
    slips=known_mistakes(solutions.greedy_decode),
)


# --- a sentence that breaks it

FRENCH = frozenset({"le", "la", "les", "l'", "un", "une", "des", "ce", "cet", "cette", "ces"})


def read_sentence(answer: str) -> str:
    """What the translator reads: capital letters and a full stop don't matter."""
    return clean_text(answer, shipped("seq2seq").tokenizer)


def is_a_sentence(given: tuple, answer: Any) -> str:
    if not isinstance(answer, str):
        return f"Expected a sentence (a string), but your function returned {describe_type(answer)}."
    words = read_sentence(answer).removesuffix("?").split()
    if not words:
        return "Your sentence is empty."
    if len(words) > MOST_WORDS:
        return f"Your sentence has {len(words)} words. At most {MOST_WORDS} are allowed."
    unknown = shipped("seq2seq").tokenizer.unknown(read_sentence(answer))
    if unknown:
        return f"The translator doesn't know {quote_names(unknown)}. Lesson 00 lists the words it knows."
    return ""


def has_known_translation(given: tuple, answer: str) -> str:
    text = read_sentence(answer)
    if translations_of(text):
        return ""
    if FRENCH & set(text.split()):
        return "Your sentence is French. Return the English sentence, not its translation."
    return (
        "The toy language doesn't contain this sentence: `translations_of` finds no translation of it. Is it "
        "a single complete sentence, does every noun have a determiner (`the`, `a`, `this`, `some`, `two`), "
        "do the verbs agree with their subjects, and does it make sense? For example, `the tired women see "
        "a big fox` is in the language, and so is every sentence from `generate`."
    )


def breaks_it(given: tuple, answer: str) -> str:
    text = read_sentence(answer)
    translation = shipped("seq2seq")(text).target
    if translation not in translations_of(text):
        return ""
    return (
        f"seq2seq translates this as “{translation}”, which is correct. Try a sentence with more to "
        "remember, or with a rare noun, whose gender the model may not know."
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
        says="Soup is feminine in French: la soupe est très chaude. The translator generates chaud.",
    ),
    others=(),
    demands=(is_a_sentence, has_known_translation, breaks_it),
)


# --- teacher forcing


def forced_logits(
    model: Any, source: Sequence[int], tgt_in: Sequence[int], encoder: Callable = encode
) -> Tensor:
    with torch.no_grad():
        return model.decode(encoder(model, source), torch.tensor([list(tgt_in)]))[0][0]


def predict_after(*given: Any) -> list[int]:
    """The most likely token after each token of the decoder's input."""
    return forced_logits(*given).argmax(dim=-1).tolist()


def forced_words(model: Any, source: Sequence[int], target: Sequence[int]) -> list[int]:
    return predict_after(model, source, [BOS, *target])


def largest_of_all(model: Any, source: Sequence[int], target: Sequence[int]) -> int:
    return int(forced_logits(model, source, [BOS, *target]).argmax())


def compare_with_target(model: Any, source: Sequence[int], target: Sequence[int]) -> list[bool]:
    return list(map(operator.eq, forced_words(model, source, target), [*target, EOS]))


def run_freely(model: Any, source: Sequence[int], n_steps: int) -> list[int]:
    """Greedy decoding that goes on after EOS."""
    with torch.no_grad():
        memory = encode(model, source)
        state, tokens = model.start(memory), [BOS]
        for _ in range(n_steps):
            logits, state, _ = model.step(memory, state, torch.tensor(tokens[-1:]))
            tokens.append(int(logits[0].argmax()))
    return tokens[1:]


def up_to_eos(tokens: list[int]) -> list[int]:
    return tokens[: [*tokens, EOS].index(EOS) + 1]


def encode_without_eos(model: Any, source: Sequence[int]) -> Any:
    return model.encode(torch.tensor([list(source)]), torch.tensor([len(source)]))


SOURCE_WITHOUT_EOS = (
    "the encoder doesn't get EOS: either it isn't appended to the source, or the length doesn't count it. "
    "The models were trained with EOS at the end of the source."
)
STARTS_WITH_EOS = "the decoder's first input is EOS. It should be BOS."
OVER_EVERYTHING = (
    "`argmax()` is taken over all positions and tokens at once. Take it over the vocabulary, the last axis, "
    "so that there is one token for each position."
)
SHOWS_WHERE_RIGHT = "this shows where the model is right. Return the tokens that it predicts."
RUNS_FREE = "the model is given its own predictions. In teacher forcing it gets the words of `target`."
LAST_MISSING = (
    "the last prediction is missing. It is the one after the last word of the target, where the model should "
    "predict EOS."
)

FORCED_WORDS = PlainExercise(
    name="forced_words",
    lesson=TOPIC,
    inputs=("model", "source", "target"),
    reference=forced_words,
    by_hand=ByHand(
        inputs={"model": Scripted([7, 8, 9]), "source": [5], "target": [7, 6, 9]},
        answer=[7, 8, LOST, LOST],
        says=f"Given BOS, the model predicts 7; given 7, it predicts 8. The target has 6 there, so the model "
        f"gets 6 next. That isn't in its script, so from now on it predicts {LOST}. Three target words give "
        "four predictions; the last one should be EOS.",
    ),
    others=(
        lambda: (Scripted([5, 9]), [8, 7], [5, 9]),
        lambda: (Scripted([6]), [8], []),
        lambda: (Scripted([5]), [8], [5, 9, 6]),  # it predicts EOS, and the target goes on
        lambda: (Scripted([10, 11], endless=True), [9], [10, 11, 10, 11]),
        lambda: (
            SEQ2SEQ,
            token_ids("the women eat the mushrooms because they are hungry"),
            token_ids("les femmes mangent les champignons parce qu' elles ont faim"),
        ),
        lambda: (CHO, token_ids("the soup is very hot"), token_ids("la soupe est très chaude")),
        lambda: (SEQ2SEQ, token_ids(KING), token_ids(KING_IN_FRENCH)),
    ),
    slips=(
        Slip(
            "runs-free",
            lambda model, source, target: run_freely(model, source, len(target) + 1),
            RUNS_FREE,
        ),
        Slip(
            "runs-free-to-eos",
            lambda model, source, target: up_to_eos(run_freely(model, source, len(target) + 1)),
            RUNS_FREE,
        ),
        Slip(
            "runs-free-without-eos",
            lambda model, source, target: solutions.greedy_decode(model, source, len(target) + 1),
            RUNS_FREE,
        ),
        Slip(
            "no-shift",
            lambda model, source, target: predict_after(model, source, [*target, EOS]),
            "the decoder's input doesn't start with BOS, so the first word is never predicted. The input is "
            "BOS, then the target.",
            misconception="M27",
        ),
        Slip(
            "no-bos",
            lambda model, source, target: predict_after(model, source, target),
            "the decoder's input is the target alone, so the first word is never predicted. The input is "
            "BOS, then the target.",
        ),
        Slip(
            "reads-eos",
            lambda model, source, target: predict_after(model, source, [BOS, *target, EOS]),
            "the decoder's input ends with EOS, so there is one prediction too many. The model should "
            "predict EOS, but nothing follows it.",
        ),
        Slip(
            "starts-with-eos",
            lambda model, source, target: predict_after(model, source, [EOS, *target]),
            STARTS_WITH_EOS,
        ),
        Slip(
            "last-unread",
            lambda model, source, target: predict_after(model, source, [BOS, *target[:-1]]),
            LAST_MISSING,
        ),
        Slip(
            "no-last",
            lambda model, source, target: predict_after(model, source, [BOS, *target])[:-1],
            LAST_MISSING,
        ),
        Slip(
            "stops-at-eos",
            lambda *given: up_to_eos(forced_words(*given)),
            "the list ends at the first EOS that the model predicts. Teacher forcing continues with the "
            "target, so there is a prediction for every position.",
        ),
        Slip(
            "bos-as-answer",
            lambda model, source, target: [BOS, *forced_words(model, source, target)],
            "the answer starts with BOS. BOS is the first input; the first prediction is what follows it.",
        ),
        Slip(
            "target-itself",
            lambda model, source, target: [*target, EOS],
            "this is the target, not what the model predicts. Use `model.decode` and `argmax`.",
        ),
        Slip("compares", compare_with_target, SHOWS_WHERE_RIGHT),
        Slip(
            "compares-as-numbers",
            lambda *given: list(map(int, compare_with_target(*given))),
            SHOWS_WHERE_RIGHT,
        ),
        Slip(
            "source-without-eos",
            lambda model, source, target: predict_after(model, source, [BOS, *target], encode_without_eos),
            SOURCE_WITHOUT_EOS,
        ),
        Slip(
            "reversed-target",
            lambda model, source, target: predict_after(model, source, [BOS, *target[::-1]]),
            "the target is reversed. Give it to the decoder in its own order.",
        ),
        Slip(
            "keeps-first-state",
            lambda model, source, target: [
                predict_after(model, source, [token])[0] for token in [BOS, *target]
            ],
            "every prediction starts from the initial state, so the decoder sees only one word. Decode the "
            "whole input at once, or use the new state that `step` returns.",
        ),
        Slip(
            "over-positions",
            lambda model, source, target: forced_logits(model, source, [BOS, *target]).argmax(dim=0),
            "`argmax` is taken over the positions. Take it over the vocabulary, the last axis.",
        ),
        Slip(
            "largest-logits",
            lambda model, source, target: forced_logits(model, source, [BOS, *target]).amax(dim=-1),
            "these are the largest logits themselves. Return the tokens that have them: use `argmax`.",
        ),
        Slip("over-everything", largest_of_all, OVER_EVERYTHING),
        Slip("over-everything-listed", lambda *given: [largest_of_all(*given)], OVER_EVERYTHING),
        Slip(
            "reads-source",
            lambda model, source, target: predict_after(model, source, [BOS, *source]),
            "the decoder's input is the source. Give it BOS, then the target.",
        ),
        Slip(
            "encodes-target",
            lambda model, source, target: predict_after(model, target, [BOS, *target]),
            "the encoder gets the target. It should encode the source.",
        ),
        Slip(
            "no-first",
            lambda *given: forced_words(*given)[1:],
            "the first prediction, the one after BOS, is missing.",
        ),
        Slip(
            "filters-eos",
            lambda *given: [token for token in forced_words(*given) if token != EOS],
            "EOS is removed from the predictions. Return one token for every position, including EOS.",
        ),
        Slip(
            "batch-axis",
            lambda *given: [forced_words(*given)],
            "the answer still has the batch axis. `decode` returns a pair, whose `[0]` is the logits of the "
            "whole batch; the `[0]` of these logits belongs to its only sentence.",
        ),
    ),
)


KING = "the king sees the queen but the queen sees the boy and the boy sees the girl"
KING_IN_FRENCH = "le roi voit la reine mais la reine voit le garçon et le garçon voit la fille"

EXERCISES = (GREEDY_DECODE, BREAKING_SENTENCE, FORCED_WORDS)
