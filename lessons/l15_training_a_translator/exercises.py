"""The exercises of lesson 15: a training step, batches, a learning rate, a loss, a merge."""

from __future__ import annotations

import math
import operator
import random
from collections import Counter
from collections.abc import Callable
from functools import partial
from itertools import pairwise

import torch
from torch import Tensor

from course_lib.teaching.exercises import ByHand, PlainExercise, Slip, known_mistakes
from course_lib.teaching.exercises.mistakes import unrepaired
from course_lib.text.special import PAD
from lessons.l15_training_a_translator import solutions
from lessons.l15_training_a_translator.clipping import clipped

TOPIC = "training_a_translator"


def tensor(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator("cpu").manual_seed(seed))


# ---- batches by length


def rectangle(batch: list[int], lengths: list[int]) -> int:
    """The number of positions that a batch takes: its rows times its longest length."""
    return len(batch) * max(lengths[index] for index in batch)


def filled(order: list[int], lengths: list[int], room: int, taken: Callable = rectangle) -> list[list[int]]:
    """Fill batch after batch with the sentences in this order; `taken` says how much a batch takes."""
    batches: list[list[int]] = []
    for index in order:
        if not batches or taken([*batches[-1], index], lengths) > room:
            batches.append([])
        batches[-1].append(index)
    return batches


def sorted_indices(lengths: list[int]) -> list[int]:
    """The shortest sentence first."""
    return sorted(range(len(lengths)), key=lengths.__getitem__)


def by_length(lengths: list[int], room: int, taken: Callable = rectangle) -> list[list[int]]:
    """The reference, for wrong answers that measure a batch differently."""
    return filled(sorted_indices(lengths), lengths, room, taken)


def padding(batches: list[list[int]], lengths: list[int]) -> int:
    """The number of padding tokens."""
    return sum(max(lengths[i] for i in batch) - lengths[index] for batch in batches for index in batch)


def as_they_come(lengths, room):
    return filled(list(range(len(lengths))), lengths, room)


def without_the_last(lengths, room):
    return by_length(lengths, room)[:-1]


def words_only(lengths, room):
    """Adds up lengths, as if there were no padding."""
    return by_length(lengths, room, lambda batch, lengths: sum(lengths[i] for i in batch))


def new_row_not_counted(lengths, room):
    return by_length(
        lengths, room, lambda batch, lengths: rectangle(batch, lengths) // len(batch) * (len(batch) - 1)
    )


def closed_too_late(lengths, room):
    """Adds a sentence first and then looks whether the batch is full."""
    return by_length(lengths, room, lambda batch, lengths: rectangle(batch[:-1], lengths) if batch[1:] else 0)


def shortest_counts(lengths, room):
    return by_length(lengths, room, lambda batch, lengths: len(batch) * lengths[batch[0]])


def longest_first_by_the_last(lengths, room):
    """From the longest down, measured by the sentence that is added."""
    order = sorted(range(len(lengths)), key=lambda index: -lengths[index])
    return filled(order, lengths, room, lambda batch, lengths: len(batch) * lengths[batch[-1]])


def equal_lengths_only(lengths, room):
    return by_length(
        lengths,
        room,
        lambda batch, lengths: (
            rectangle(batch, lengths) if lengths[batch[0]] == lengths[batch[-1]] else math.inf
        ),
    )


def repeats_the_last(lengths, room):
    """The sentence that doesn't fit is put into the old batch and into the new one."""
    batches = by_length(lengths, room)
    return [[*batch, following[0]] for batch, following in pairwise(batches)] + batches[-1:]


def swaps_one_for_another(lengths, room):
    """The sentence that doesn't fit is lost, and the one before it comes again."""
    batches = by_length(lengths, room)
    return batches[:1] + [[batch[-1], *following[1:]] for batch, following in pairwise(batches)]


def loses_what_does_not_fit(lengths, room):
    batches: list[list[int]] = [[]]
    for index in sorted_indices(lengths):
        fits = rectangle([*batches[-1], index], lengths) <= room
        batches = [*batches[:-1], [*batches[-1], index]] if fits else [*batches, []]
    return [batch for batch in batches if batch]


def lengths_not_indices(lengths, room):
    return [[lengths[index] for index in batch] for batch in by_length(lengths, room)]


def ranks_not_indices(lengths, room):
    return by_length(sorted(lengths), room)


def first_of_equals(lengths, room):
    return [[lengths.index(lengths[index]) for index in batch] for batch in by_length(lengths, room)]


def last_of_equals(lengths, room):
    index_of = {length: index for index, length in enumerate(lengths)}
    return filled([index_of[length] for length in sorted(index_of)], lengths, room)


def one_each(lengths, room):
    return [[index] for index in range(len(lengths))]


def two_each(lengths, room):
    order = sorted_indices(lengths)
    return [order[i : i + 2] for i in range(0, len(order), 2)]


def all_in_one(lengths, room):
    return [sorted_indices(lengths)] if lengths else []


def each_once(inputs, batches) -> str:
    for index in (index for batch in batches for index in batch):
        if not hasattr(index, "__index__"):
            return (
                f"A batch contains {index!r}, but it should contain indices of sentences, which are integers."
            )
    counts = Counter(operator.index(index) for batch in batches for index in batch)
    indices = set(range(len(inputs[0])))
    missing, twice = indices - set(counts), [index for index, n in counts.items() if n > 1]
    if unknown := set(counts) - indices:
        return f"{min(unknown)} is not the index of a sentence: there are {len(indices)}, counted from 0."
    if missing and twice:
        return f"Sentence {min(missing)} is in no batch, and sentence {twice[0]} occurs more than once."
    if missing:
        return f"Sentence {min(missing)} is in no batch."
    return f"Sentence {twice[0]} occurs more than once." if twice else ""


def none_too_large(inputs, batches) -> str:
    lengths, room = inputs
    for batch in batches:
        if len(batch) and (taken := rectangle(batch, lengths)) > room:
            longest = max(lengths[index] for index in batch)
            return (
                f"The batch {list(batch)} is too large. It has {len(batch)} rows, padded to its longest "
                f"length: {len(batch)} · {longest} = {taken} positions, but there is room for {room}."
            )
    return "" if all(len(batch) for batch in batches) else "One of the batches is empty."


def well_filled(inputs, batches) -> str:
    n_needed = len(by_length(*inputs))
    if len(batches) >= max(2 * n_needed, 2):
        return f"There are {len(batches)} batches, but {n_needed} are enough. Put more sentences into each."
    return ""


def little_padding(inputs, batches) -> str:
    least = padding(by_length(*inputs), inputs[0])
    if (n_padding := padding(batches, inputs[0])) > 1.3 * least + max(inputs[0], default=0):
        return (
            f"{n_padding} positions are padding. If the sentences are sorted by length, only {least} are. "
            "Put sentences of similar length into the same batch."
        )
    return ""


def lengths_case(n: int, room: int, seed: int) -> Callable[[], tuple]:
    draw = random.Random(seed)
    lengths = [3 + int(draw.random() * 18) for _ in range(n)]
    return lambda: (list(lengths), room)


BY_LENGTH = PlainExercise(
    name="by_length",
    lesson=TOPIC,
    inputs=("lengths", "room"),
    reference=solutions.by_length,
    design=True,
    may_vary=True,  # the order of batches, and which of equally long sentences meet
    demands=(each_once, none_too_large, well_filled, little_padding),
    by_hand=ByHand(
        inputs={"lengths": [3, 9, 2, 8], "room": 18},
        answer=[[2, 0], [3, 1]],
        says="Sorted by length: 2, 3, 8, 9. Lengths 2 and 3 take 2 · 3 = 6 positions. With 8 it would be "
        "3 · 8 = 24, which is more than 18. So 8 and 9 form the next batch: 2 · 9 = 18.",
    ),
    others=(
        lengths_case(12, 45, 0),
        lengths_case(50, 128, 1),
        lengths_case(400, 200, 2),  # sorted in parts, it has far more padding
        lambda: ([5] * 7, 15),
        lambda: ([10] * 6, 20),
        lambda: ([4], 4),
        lambda: ([], 10),
        lambda: ([20, 1, 1, 1, 1, 1], 40),
        lambda: ([1] * 9 + [40], 40),
    ),
    slips=(
        Slip(
            "as-they-come",
            as_they_come,
            "the sentences are taken in the order of `lengths`. Sort them by length first.",
        ),
        Slip(
            "last-batch-twice",
            lambda lengths, room: by_length(lengths, room) + by_length(lengths, room)[-1:],
            "the last batch occurs twice.",
        ),
        Slip(
            "last-batch-lost",
            without_the_last,
            "the last batch is missing. After the loop, add the batch that isn't full yet.",
        ),
        Slip(
            "padding-not-counted",
            words_only,
            "the lengths in a batch are added up. But a batch is a rectangle, padding included: multiply its "
            "number of rows by its **longest** length.",
        ),
        Slip(
            "new-row-not-counted",
            new_row_not_counted,
            "the batch is measured without the row that is about to be added. Count that row as well.",
        ),
        Slip(
            "strictly-below-room",
            lambda lengths, room: by_length(lengths, room - 1),
            "a batch that takes exactly `room` positions counts as too large, but it is allowed: use `<=`.",
        ),
        Slip(
            "closed-too-late",
            closed_too_late,
            "a sentence is added before you check whether it fits, so batches end up one sentence too large.",
        ),
        Slip(
            "shortest-counts",
            shortest_counts,
            "the number of rows is multiplied by the length of the batch's first, shortest sentence. Every "
            "row is padded to the **longest** one.",
        ),
        Slip(
            "longest-first",
            longest_first_by_the_last,
            "the sentences are sorted from longest to shortest, but the batch is measured by the length of "
            "the last one, its shortest. Every row is padded to the **longest** one.",
        ),
        Slip(
            "equal-lengths-only",
            equal_lengths_only,
            "only sentences of equal length share a batch. That avoids padding, but many batches stay nearly "
            "empty. A little padding is allowed.",
        ),
        Slip(
            "lengths-not-indices",
            lengths_not_indices,
            "the batches contain lengths. They should contain the indices of the sentences: 0, 1, 2, …",
        ),
        Slip(
            "one-based",
            lambda lengths, room: [[index + 1 for index in batch] for batch in by_length(lengths, room)],
            "the sentences are counted from 1. Indices start at 0.",
        ),
        Slip(
            "ranks-not-indices",
            ranks_not_indices,
            "the indices refer to the sorted list. They should refer to `lengths` as it was given, so sort "
            "the indices, not the lengths.",
        ),
        Slip(
            "first-of-equals",
            first_of_equals,
            "the indices are looked up by length, and sentences of equal length all get the index of the "
            "first of them (`lengths.index(n)` does that). Sort the indices instead.",
        ),
        Slip(
            "last-of-equals",
            last_of_equals,
            "of several sentences of equal length, only the last is kept, as in a dictionary whose keys are "
            "lengths. Sort the indices instead.",
        ),
        Slip(
            "one-each",
            one_each,
            "every sentence has a batch of its own. That avoids padding, but nothing runs in parallel.",
        ),
        Slip(
            "two-each",
            two_each,
            "every batch has two sentences, as in the example by hand. Fill each batch as far as `room` "
            "allows.",
        ),
        Slip("all-in-one", all_in_one, "`room` has no effect: all sentences end up in the same batch."),
        Slip(
            "does-not-fit",
            loses_what_does_not_fit,
            "a sentence that doesn't fit into the current batch is lost. Start the next batch with it.",
        ),
        Slip(
            "repeated",
            repeats_the_last,
            "a sentence that doesn't fit is put into the current batch and into the next one.",
        ),
        Slip(
            "swapped",
            swaps_one_for_another,
            "a sentence that doesn't fit is lost, and the next batch starts with the sentence before it.",
        ),
    ),
)


# ---- the learning rate of the 2017 paper


RATE_CASES = (
    *((2, 4, 4), (4, 4, 4), (6, 4, 4), (1, 512, 4000), (4000, 512, 4000)),
    *((100_000, 512, 4000), (24, 64, 400), (399, 64, 400), (401, 64, 400), (15, 9, 7)),
)
PAPER_RATE = PlainExercise(
    name="paper_rate",
    lesson=TOPIC,
    inputs=("step", "d_model", "warm_up"),
    reference=solutions.paper_rate,
    unrepaired=unrepaired(solutions.paper_rate),
    by_hand=ByHand(
        inputs={"step": 1, "d_model": 4, "warm_up": 4},
        answer=1 / 16,
        says="1/√4 = ½. The smaller of 1/√1 = 1 and 1 / 4^1.5 = 1/8 is 1/8, and ½ · 1/8 = 1/16.",
    ),
    others=tuple(lambda step=step, d=d, w=w: (step, d, w) for step, d, w in RATE_CASES),
    slips=known_mistakes(solutions.paper_rate),
)


# ---- the loss


def loss_case(
    batch: int, n: int, vocab: int, smoothing: float, seed: int, *, scale: float = 3, offset: float = 0
) -> Callable[[], tuple]:
    lengths = torch.arange(batch) % n + 1
    targets = torch.randint(1, vocab, (batch, n), generator=torch.Generator("cpu").manual_seed(seed))
    targets = torch.where(torch.arange(n) < lengths[:, None], targets, PAD)
    logits = scale * tensor(batch, n, vocab, seed=seed) + offset
    return lambda: (logits.clone(), targets.clone(), smoothing)


PROBABILITIES = torch.tensor([1 / 8, 1 / 8, 1 / 2, 1 / 4])
BY_HAND_LOSS = 0.8 * math.log(2) + 0.2 * (2 * math.log(8) + math.log(2) + math.log(4)) / 4
SMOOTHED_LOSS = PlainExercise(
    name="smoothed_loss",
    lesson=TOPIC,
    inputs=("logits", "targets", "smoothing"),
    reference=solutions.smoothed_loss,
    answered_by=("torch.nn.CrossEntropyLoss", "torch.nn.functional.cross_entropy"),
    by_hand=ByHand(
        inputs={
            "logits": torch.stack([PROBABILITIES.log(), torch.zeros(4)])[None],
            "targets": torch.tensor([[2, 0]]),
            "smoothing": 0.2,
        },
        answer=torch.tensor(BY_HAND_LOSS),
        says="The probabilities are 1/8, 1/8, 1/2 and 1/4, and their −ln is 2.079, 2.079, 0.693 and 1.386. "
        "The correct word has the id 2: 0.8 · 0.693 = 0.555. The mean of all four is 1.560, times 0.2: "
        "0.312. The sum is 0.866. The second target is 0, which is padding and doesn't count.",
    ),
    others=(
        loss_case(3, 4, 6, 0.1, 0),
        loss_case(2, 5, 9, 0.0, 1),
        loss_case(4, 3, 5, 0.4, 2),
        loss_case(1, 1, 3, 0.1, 3),
        loss_case(2, 2, 5, 0.1, 4, scale=400),
        loss_case(2, 2, 5, 0.1, 5, offset=500),
    ),
    slips=known_mistakes(solutions.smoothed_loss),
)


# ---- the step


def bowl(weights: dict[str, Tensor], size: float = 1.0) -> Tensor:
    """A loss with a steep side and a flat one."""
    return size * sum((i + 1) ** 2 * (w - i).square().sum() for i, w in enumerate(weights.values()))


gentle = partial(bowl, size=0.005)  # the norm of its gradient is below 1: nothing is clipped
faint = partial(bowl, size=1e-3)  # shows whether 1e-9 is added to the root or under it


def step_case(
    loss_of: Callable, step: int, rate: float, seed: int, *, at_rest: bool = False
) -> Callable[[], tuple]:
    """With `at_rest`, the gradient of one weight is 0."""
    weights = {"a": tensor(3, seed=seed) * (not at_rest), "b.c": tensor(2, 2, seed=seed + 1)}
    old = {
        name: (0.1 * tensor(*w.shape, seed=seed + 2), 0.1 * tensor(*w.shape, seed=seed + 3).square() + 0.01)
        for name, w in weights.items()
    }
    state = {} if step == 1 else old
    return lambda: (
        {name: w.clone() for name, w in weights.items()},
        loss_of,
        {name: (m.clone(), v.clone()) for name, (m, v) in state.items()},
        step,
        rate,
    )


def unsorted_case() -> tuple:
    """The names aren't in alphabetical order."""
    weights, *rest = step_case(bowl, 1, 0.01, 60)()
    return dict(reversed(weights.items())), *rest


def a_plain_number(inputs, answer) -> str:
    if isinstance(answer, tuple) and len(answer) == 3 and isinstance(answer[0], Tensor):
        return "The loss is returned as a tensor."
    return ""


TRAINING_STEP = PlainExercise(
    name="training_step",
    trains=False,
    lesson=TOPIC,
    inputs=("weights", "loss_of", "state", "step", "rate"),
    reference=solutions.training_step,
    answered_by=("torch.optim.Adam", "torch.optim.AdamW"),
    may_call=(clipped,),
    demands=(a_plain_number,),
    seconds=20.0,  # torch.optim, which some learners use, loads torch's compiler first
    by_hand=ByHand(
        inputs={
            "weights": {"w": torch.tensor([3.0])},
            "loss_of": lambda weights: weights["w"].square().sum(),
            "state": {},
            "step": 1,
            "rate": 0.1,
        },
        answer=(9.0, {"w": torch.tensor([2.9])}, {"w": (torch.tensor([0.1]), torch.tensor([0.02]))}),
        says="The loss is 3² = 9 and its gradient 6, which is clipped to 1. m = 0.1 · 1 and v = 0.02 · 1². "
        "Divided by 1 − 0.9 and 1 − 0.98, both are 1. The weight moves by 0.1 · 1/√1, from 3 to 2.9.",
    ),
    others=(
        step_case(bowl, 1, 0.01, 0),
        step_case(gentle, 2, 0.01, 10),
        step_case(bowl, 7, 0.3, 20),
        step_case(gentle, 1, 0.002, 30),
        step_case(bowl, 1, 0.01, 40, at_rest=True),
        step_case(faint, 1, 0.1, 50),
        unsorted_case,
    ),
    slips=known_mistakes(solutions.training_step),
)


# ---- byte-pair encoding


def a_tuple_of_two(inputs, answer) -> str:
    if isinstance(answer, tuple) and len(answer) == 2 and isinstance(answer[0], list):
        return "The pair is a list. Return it as a tuple, like the pairs of neighbours in a word."
    return ""


def spelled(**counts: int) -> dict[tuple[str, ...], int]:
    return {tuple(word): n for word, n in counts.items()}


NEXT_MERGE = PlainExercise(
    name="next_merge",
    lesson=TOPIC,
    inputs=("words",),
    reference=solutions.next_merge,
    demands=(a_tuple_of_two,),
    by_hand=ByHand(
        inputs={"words": spelled(chat=5, chats=2, chien=3)},
        answer=(
            ("c", "h"),
            {("ch", "a", "t"): 5, ("ch", "a", "t", "s"): 2, ("ch", "i", "e", "n"): 3},
        ),
        says="c and h are neighbours 5 + 2 + 3 = 10 times, h and a 7 times, a and t 7 times. So c and h are "
        "merged, in all three words.",
    ),
    others=(
        lambda: ({("ch", "a", "t"): 5, ("ch", "a", "t", "s"): 2, ("ch", "i", "e", "n"): 3},),
        lambda: (spelled(papa=3, pas=1),),
        lambda: (spelled(aaa=2, ab=1),),
        lambda: (spelled(mange=2, manges=2, mangent=1, dort=3, dorment=2),),
        lambda: (spelled(le=1, la=9, lapin=1, lapins=1),),
        lambda: (spelled(ba=2, ab=2),),
        lambda: (spelled(oui=9, non=1, nos=1),),
        lambda: (spelled(papa=3, le=4),),
        lambda: ({("a", "t"): 5, ("la", "t"): 1},),
        lambda: ({("a", "bc"): 1, ("ab", "a"): 1},),
        lambda: ({("a", "bc"): 2, ("ab", "c"): 1},),  # both spell “abc”
        lambda: (spelled(y=4, il=2, aaaab=1),),
    ),
    slips=known_mistakes(solutions.next_merge),
)


EXERCISES = (TRAINING_STEP, BY_LENGTH, PAPER_RATE, SMOOTHED_LOSS, NEXT_MERGE)
