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

from course_lib.teaching.exercises import ByHand, PlainExercise, Slip
from course_lib.text.special import PAD
from lessons.l15_training_a_translator import by_hand as library
from lessons.l15_training_a_translator.merges import count_pairs, merge

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
    reference=library.by_length,
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


def warm_up_for_width(step, d_model, warm_up):
    return warm_up**-0.5 * min(step**-0.5, step * warm_up**-1.5)


def rate_by(step, d_model, warm_up, *, choose=min, width=-0.5, climb=-1.5, fall=-0.5):
    return d_model**width * choose(step**fall, step * warm_up**climb)


def stays_at_the_peak(step, d_model, warm_up):
    return library.paper_rate(min(step, warm_up), d_model, warm_up)


def climbs_to_one(step, d_model, warm_up):
    return d_model**-0.5 * (step / warm_up if step < warm_up else step**-0.5)


def falls_from_the_warm_up(step, d_model, warm_up):
    if step <= warm_up:
        return library.paper_rate(step, d_model, warm_up)
    return (d_model * (step - warm_up)) ** -0.5


def precedence(step, d_model, warm_up, *, width=True, fall=True, climb=True):
    """`a**-1/2` is (1/a)/2; each keyword argument says where it is written that way."""
    factor = d_model**-1 / 2 if width else d_model**-0.5
    down = step**-1 / 2 if fall else step**-0.5
    up = step * (warm_up**-3 / 2 if climb else warm_up**-1.5)
    return factor * min(down, up)


PRECEDENCE = "`a**-1/2` is read as `(a**-1) / 2`, because `**` binds more tightly than `/`. Write `a**-0.5`."

RATE_CASES = (
    *((2, 4, 4), (4, 4, 4), (6, 4, 4), (1, 512, 4000), (4000, 512, 4000)),
    *((100_000, 512, 4000), (24, 64, 400), (399, 64, 400), (401, 64, 400), (15, 9, 7)),
)
PAPER_RATE = PlainExercise(
    name="paper_rate",
    lesson=TOPIC,
    inputs=("step", "d_model", "warm_up"),
    reference=library.paper_rate,
    unrepaired=warm_up_for_width,
    by_hand=ByHand(
        inputs={"step": 1, "d_model": 4, "warm_up": 4},
        answer=1 / 16,
        says="1/√4 = ½. The smaller of 1/√1 = 1 and 1 / 4^1.5 = 1/8 is 1/8, and ½ · 1/8 = 1/16.",
    ),
    others=tuple(lambda step=step, d=d, w=w: (step, d, w) for step, d, w in RATE_CASES),
    slips=(
        Slip("precedence", precedence, PRECEDENCE),
        Slip("precedence-width", partial(precedence, fall=False, climb=False), PRECEDENCE),
        Slip("precedence-terms", partial(precedence, width=False), PRECEDENCE),
        Slip("precedence-fall", partial(precedence, width=False, climb=False), PRECEDENCE),
        Slip("precedence-fall-and-width", partial(precedence, climb=False), PRECEDENCE),
        Slip(
            "both-factors",
            lambda step, d_model, warm_up: (
                (d_model * warm_up) ** -0.5 * min(step**-0.5, step * warm_up**-1.5)
            ),
            "the factor in front contains `warm_up` as well as `d_model`. It is 1/√d_model alone.",
        ),
        Slip(
            "width-in-one-term",
            lambda step, d_model, warm_up: min((d_model * step) ** -0.5, step * warm_up**-1.5),
            "only the first term is divided by √d_model. The factor multiplies the minimum of both: put "
            "parentheses around it.",
        ),
        Slip(
            "width-in-the-second-term",
            lambda step, d_model, warm_up: min(step**-0.5, d_model**-0.5 * step * warm_up**-1.5),
            "only the second term is divided by √d_model. The factor multiplies the minimum of both.",
        ),
        Slip(
            "width-in-the-climb",
            lambda step, d_model, warm_up: (
                d_model**-0.5 * step * warm_up**-1.5 if step < warm_up else step**-0.5
            ),
            "after the warm-up, `d_model` has no effect. The factor 1/√d_model belongs to both terms.",
        ),
        Slip(
            "falls-from-the-peak-too-fast",
            lambda step, d_model, warm_up: (d_model * warm_up) ** -0.5 * min(step / warm_up, warm_up / step),
            "after the warm-up, the rate falls with 1/step. The formula has the square root: 1/√step.",
        ),
        Slip(
            "the-larger",
            partial(rate_by, choose=max),
            "the **larger** of the two terms is used. Take the smaller one.",
        ),
        Slip(
            "added", partial(rate_by, choose=operator.add), "the two terms are added. Take the smaller one."
        ),
        Slip(
            "multiplied",
            partial(rate_by, choose=operator.mul),
            "the two terms are multiplied. Take the smaller one.",
        ),
        Slip("no-width", partial(rate_by, width=0), "`d_model` has no effect. Multiply by 1/√d_model."),
        Slip(
            "times-the-root",
            partial(rate_by, width=0.5),
            "the rate is multiplied by √d_model. Divide by it: a wider model takes smaller steps.",
        ),
        Slip(
            "width-without-root",
            partial(rate_by, width=-1.0),
            "the rate is divided by d_model. Divide by its square root.",
        ),
        Slip(
            "width-of-the-paper",
            lambda step, d_model, warm_up: library.paper_rate(step, 512, warm_up),
            "`d_model` has no effect, and the rate is always that of width 512. Use the parameter.",
        ),
        Slip(
            "warm-up-of-the-paper",
            lambda step, d_model, warm_up: library.paper_rate(step, d_model, 4000),
            "`warm_up` has no effect, and the warm-up always takes 4,000 steps. Use the parameter.",
        ),
        Slip(
            "stays-at-the-peak",
            stays_at_the_peak,
            "the rate stays at its peak after the warm-up. It should fall with 1/√step.",
        ),
        Slip(
            "no-climb",
            lambda step, d_model, warm_up: library.paper_rate(max(step, warm_up), d_model, warm_up),
            "the rate stays at its peak during the warm-up. It should climb in proportion to the step.",
        ),
        Slip(
            "peak-too-high",
            climbs_to_one,
            "during the warm-up, the rate climbs to 1/√d_model, and then it drops. In the formula, both "
            "terms meet at the end of the warm-up: divide the step by warm-up^1.5.",
        ),
        Slip(
            "keeps-climbing",
            partial(rate_by, fall=0),
            "the rate keeps climbing after the warm-up. It should fall with 1/√step from there.",
        ),
        Slip(
            "no-warm-up",
            lambda step, d_model, warm_up: (d_model * step) ** -0.5,
            "there is no warm-up: the rate starts at its maximum. Take the smaller of the two terms.",
        ),
        Slip(
            "falls-too-fast",
            partial(rate_by, fall=-1.0),
            "the rate falls with 1/step. The formula has the square root: 1/√step.",
        ),
        Slip(
            "falls-from-the-warm-up",
            falls_from_the_warm_up,
            "after the warm-up, the steps are counted from its end. The formula has 1/√step with the step "
            "itself, so that both terms meet at the peak.",
        ),
        Slip(
            "climbs-over-warm-up",
            partial(rate_by, climb=-1.0),
            "the second term is step / warm-up. The formula divides by warm-up^1.5, so that both terms meet "
            "at the end of the warm-up.",
        ),
        Slip(
            "climbs-over-the-root",
            partial(rate_by, climb=-0.5),
            "the second term is step / √warm-up. The formula divides by warm-up^1.5.",
        ),
        Slip(
            "power-of-the-fraction",
            lambda step, d_model, warm_up: d_model**-0.5 * min(step**-0.5, (step / warm_up) ** 1.5),
            "the second term is (step / warm-up)^1.5. Only the warm-up has the exponent 1.5.",
        ),
        Slip(
            "constant-warm-up",
            lambda step, d_model, warm_up: d_model**-0.5 * min(step**-0.5, warm_up**-1.5),
            "the second term lacks the step, so the rate doesn't climb during the warm-up.",
        ),
        Slip(
            "whole-numbers",
            lambda step, d_model, warm_up: d_model**-0.5 * min(step**-0.5, step // warm_up**1.5),
            "the rate is 0 during the warm-up. `//` drops everything after the decimal point; use `/`.",
        ),
        Slip(
            "next-step",
            lambda step, d_model, warm_up: library.paper_rate(step + 1, d_model, warm_up),
            "this is the rate of the next step. `step` starts at 1, so use it as it is.",
        ),
        Slip(
            "rounded",
            lambda *inputs: round(library.paper_rate(*inputs), 4),
            "the rate is rounded to four decimals, and small rates become 0. Don't round.",
        ),
    ),
)


# ---- the loss


def loss_by(
    logits,
    targets,
    smoothing,
    *,
    counts=lambda targets: targets != PAD,
    weigh_right=lambda e, v: 1 - e,
    weigh_all=lambda e, v: e / v,
    scores=lambda logits: logits.log_softmax(dim=-1),
    average=lambda losses, counts: losses[counts].mean(),
):
    """Smoothed cross-entropy; each keyword argument replaces a part that learners get wrong."""
    log_probs, v = scores(logits), logits.shape[-1]
    right = log_probs.gather(-1, targets[..., None])[..., 0]
    losses = -weigh_right(smoothing, v) * right - weigh_all(smoothing, v) * log_probs.sum(dim=-1)
    return average(losses, counts(targets))


def others_only(logits, targets, smoothing):
    """ε is spread over the other words only."""
    v = logits.shape[-1]
    aside = smoothing / (v - 1)
    return loss_by(
        logits, targets, smoothing, weigh_right=lambda e, v: 1 - e - aside, weigh_all=lambda e, v: aside
    )


def without_the_padding_word(logits, targets, smoothing):
    """ε is spread over all words except PAD."""
    log_probs = logits.log_softmax(dim=-1)
    right = log_probs.gather(-1, targets[..., None])[..., 0]
    losses = -(1 - smoothing) * right - smoothing * log_probs[..., 1:].mean(dim=-1)
    return losses[targets != PAD].mean()


def half_masked(logits, targets, smoothing):
    """Padding is left out of the smoothing term only."""
    right = partial(loss_by, weigh_all=lambda e, v: 0.0, counts=lambda targets: targets > -1)
    spread = partial(loss_by, weigh_right=lambda e, v: 0.0)
    return right(logits, targets, smoothing) + spread(logits, targets, smoothing)


def smoothing_not_masked(logits, targets, smoothing):
    """Padding is left out of the first term only."""
    right = partial(loss_by, weigh_all=lambda e, v: 0.0)
    spread = partial(loss_by, weigh_right=lambda e, v: 0.0, counts=lambda targets: targets > -1)
    return right(logits, targets, smoothing) + spread(logits, targets, smoothing)


def sum_of_exp(logits):
    return logits.exp().sum(dim=-1, keepdim=True)


def zero_padding(losses, counts):
    return torch.where(counts, losses, 0.0)


def mean_of_sentences(losses, counts):
    return (zero_padding(losses, counts).sum(dim=-1) / counts.sum(dim=-1)).mean()


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
    reference=library.smoothed_loss,
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
    slips=(
        Slip(
            "padding-counts",
            partial(loss_by, counts=lambda targets: targets > -1),
            "padding counts as a word. Leave out the positions whose target is 0 before you take the mean.",
        ),
        Slip(
            "only-padding",
            partial(loss_by, counts=lambda targets: targets == PAD),
            "the mean is taken over the padding. Keep the positions whose target is **not** 0.",
        ),
        Slip(
            "padding-in-the-count",
            partial(loss_by, average=lambda losses, counts: zero_padding(losses, counts).mean()),
            "the loss of padding is set to 0, but the mean still counts those positions. Divide by the "
            "number of words that aren't padding.",
        ),
        Slip(
            "padding-in-the-sum",
            partial(loss_by, average=lambda losses, counts: losses.sum() / counts.sum()),
            "the sum includes padding; only the number of words leaves it out. Leave it out of both.",
        ),
        Slip(
            "half-masked",
            half_masked,
            "padding is left out of the second term only. Leave it out of both.",
        ),
        Slip(
            "smoothing-not-masked",
            smoothing_not_masked,
            "padding is left out of the first term only. Leave it out of both.",
        ),
        Slip(
            "spread-over-the-others",
            others_only,
            "ε is spread over the **other** words only. Here, as in torch, every word gets ε/V, "
            "including the correct one.",
        ),
        Slip(
            "padding-word-left-out",
            without_the_padding_word,
            "ε is spread over V − 1 words, because word 0 is left out. Some implementations do that, but "
            "here and in torch, word 0 gets its ε/V too. Only *positions* whose target is 0 are left out.",
        ),
        Slip(
            "nothing-taken-away",
            partial(loss_by, weigh_right=lambda e, v: 1.0),
            "the correct word's term has the factor 1, so the target sums to 1 + ε. The factor is 1 − ε.",
        ),
        Slip(
            "sign-of-the-second-term",
            partial(loss_by, weigh_all=lambda e, v: -e / v),
            "the second term has the wrong sign. Both terms are −ln p, which is positive.",
        ),
        Slip(
            "smoothed-twice",
            partial(
                loss_by, weigh_right=lambda e, v: (1 - e) ** 2, weigh_all=lambda e, v: (2 * e - e * e) / v
            ),
            "the loss is smoothed twice. `cross_entropy(…, label_smoothing=…)` contains both terms already.",
        ),
        Slip(
            "second-term-missing",
            partial(loss_by, weigh_all=lambda e, v: 0.0),
            "the second term is missing: ε times the mean of −ln p over all words.",
        ),
        Slip(
            "epsilon-swapped",
            partial(loss_by, weigh_right=lambda e, v: e, weigh_all=lambda e, v: (1 - e) / v),
            "ε and 1 − ε are swapped. The correct word gets 1 − ε.",
        ),
        Slip(
            "sum-of-all-words",
            partial(loss_by, weigh_all=lambda e, v: e),
            "the second term is the sum over all words. It should be the mean: each word gets ε/V.",
        ),
        Slip(
            "divided-by-the-vocabulary",
            lambda logits, *rest: library.smoothed_loss(logits, *rest) / logits.shape[-1],
            "the loss of each position is divided by V. The sum of target · −ln p over the vocabulary is the "
            "loss; only ε is divided by V.",
        ),
        Slip(
            "constant-smoothing",
            lambda logits, targets, smoothing: library.smoothed_loss(logits, targets, 0.1),
            "`smoothing` has no effect, and ε is always 0.1. Use the parameter.",
        ),
        Slip(
            "not-smoothed",
            lambda logits, targets, smoothing: library.smoothed_loss(logits, targets, 0.0),
            "`smoothing` has no effect. The loss of a position is (1 − ε) times −ln p of the correct word "
            "plus ε times the mean of −ln p over all words.",
        ),
        Slip(
            "no-minus",
            lambda *inputs: -library.smoothed_loss(*inputs),
            "the sign is wrong. ln p is negative, so the loss is −ln p.",
        ),
        Slip(
            "softmax-twice",
            partial(loss_by, scores=lambda logits: logits.softmax(dim=-1).log_softmax(dim=-1)),
            "the softmax is applied twice. `log_softmax` and `cross_entropy` expect logits and apply it "
            "themselves.",
            misconception="M29",
        ),
        Slip(
            "no-softmax",
            partial(loss_by, scores=lambda logits: logits),
            "the logits are used as if they were ln p. Apply `log_softmax` over the last axis first.",
        ),
        Slip(
            "no-log",
            partial(loss_by, scores=lambda logits: logits.softmax(dim=-1)),
            "the probabilities are used without the logarithm. Use `log_softmax`, which returns ln p.",
        ),
        Slip(
            "wrong-axis",
            partial(loss_by, scores=lambda logits: logits.log_softmax(dim=1)),
            "the softmax is taken over the positions of a sentence. Take it over the vocabulary, the last "
            "axis.",
        ),
        Slip(
            "batch-axis",
            partial(loss_by, scores=lambda logits: logits.log_softmax(dim=0)),
            "the softmax is taken over the sentences of the batch. Take it over the vocabulary, the last "
            "axis.",
        ),
        Slip(
            "log-of-softmax",
            partial(loss_by, scores=lambda logits: logits.softmax(dim=-1).log()),
            "the softmax is computed first, and its logarithm afterwards. If the logits are far apart, a "
            "probability underflows to 0, and ln 0 is −∞. `log_softmax` computes both in one stable step.",
        ),
        Slip(
            "bare-exp",
            partial(loss_by, scores=lambda logits: (logits.exp() / sum_of_exp(logits)).log()),
            "`exp` of a large logit overflows to infinity, and ∞ / ∞ is NaN. `log_softmax` avoids that.",
        ),
        Slip(
            "log-of-exp",
            partial(loss_by, scores=lambda logits: logits - sum_of_exp(logits).log()),
            "`exp` of a large logit overflows to infinity. `log_softmax` and `logsumexp` avoid that.",
        ),
        Slip(
            "sum",
            partial(loss_by, average=lambda losses, counts: losses[counts].sum()),
            "the losses are summed. Take the mean over all words that aren't padding.",
        ),
        Slip(
            "per-sentence",
            partial(loss_by, average=lambda losses, counts: zero_padding(losses, counts).sum() / len(losses)),
            "the sum of the losses is divided by the number of sentences. Divide it by the number of words "
            "that aren't padding.",
        ),
        Slip(
            "mean-of-means",
            partial(loss_by, average=mean_of_sentences),
            "each sentence is averaged first, so the words of short sentences count more. Take one mean over "
            "all words.",
        ),
        Slip(
            "not-averaged",
            partial(loss_by, average=lambda losses, counts: losses[counts]),
            "there is one loss per word. Take their mean.",
        ),
        Slip(
            "one-per-position",
            partial(loss_by, average=lambda losses, counts: losses),
            "there is one loss per position, padding included. Leave out the padding and take the mean.",
        ),
    ),
)


# ---- the step


def step_by(
    weights,
    loss_of,
    state,
    step,
    rate,
    *,
    clip: Callable[[list[Tensor]], list[Tensor]] = lambda gradients: library.clipped(gradients, 1.0),
    square: Callable[[Tensor, Tensor], Tensor] = lambda gradient, mean: gradient.square(),
    fair: Callable[[Tensor, float, int], Tensor] = lambda m, beta, step: m / (1 - beta**step),
    below: Callable[[Tensor], Tensor] = lambda spread: spread.sqrt() + 1e-9,
    sign: float = -1.0,
    betas: tuple[float, float] = (0.9, 0.98),
    keeps: Callable = lambda old, new, fair: new,
    fresh: Callable[[Tensor, Tensor, float], Tensor] = lambda old, new, b: b * old + (1 - b) * new,
    last_gradient: bool = False,
):
    """A training step; each keyword argument replaces a part that learners get wrong."""
    ready = {name: w.detach().requires_grad_() for name, w in weights.items()}
    loss = loss_of(ready)
    gradients = clip(list(torch.autograd.grad(loss, list(ready.values()))))
    moved, kept = {}, {}
    for (name, w), g in zip(weights.items(), gradients, strict=True):
        m, v = state.get(name, (torch.zeros_like(w), torch.zeros_like(w)))
        m = fresh(m, g, betas[0])
        v = fresh(v, square(g, m), betas[1])
        hats = fair(m, betas[0], step), fair(v, betas[1], step)
        moved[name] = w + sign * rate * (g if last_gradient else hats[0]) / below(hats[1])
        kept[name] = keeps(state.get(name, (torch.zeros_like(w), torch.zeros_like(w))), (m, v), hats)
    return loss.item(), moved, kept


def scaled(gradients: list[Tensor]) -> list[Tensor]:
    """To a norm of 1, however small it was."""
    norm = torch.stack([gradient.norm() for gradient in gradients]).norm()
    return [gradient / norm for gradient in gradients]


def plain_descent(weights, loss_of, state, step, rate):
    """Gradient descent without Adam."""
    loss, _, kept = library.training_step(weights, loss_of, state, step, rate)
    ready = {name: w.detach().requires_grad_() for name, w in weights.items()}
    gradients = library.clipped(list(torch.autograd.grad(loss_of(ready), list(ready.values()))), 1.0)
    moved = {name: w - rate * g for (name, w), g in zip(weights.items(), gradients, strict=True)}
    return loss, moved, kept


def plain_descent_without_means(weights, loss_of, state, step, rate):
    """Gradient descent, and the state as it was."""
    loss, moved, _ = plain_descent(weights, loss_of, state, step, rate)
    return loss, moved, dict(state)


def two_dictionaries(*inputs):
    """One dictionary of m, another of v."""
    loss, moved, kept = library.training_step(*inputs)
    return loss, moved, tuple({name: pair[i] for name, pair in kept.items()} for i in range(2))


def loss_after_the_step(weights, loss_of, state, step, rate):
    _, moved, kept = library.training_step(weights, loss_of, state, step, rate)
    return loss_of(moved).item(), moved, kept


def loss_as_a_tensor(*inputs):
    loss, *rest = library.training_step(*inputs)
    return torch.tensor(loss), *rest


def only_the_last_name(*inputs):
    loss, *tables = library.training_step(*inputs)
    return loss, *({name: table[name] for name in list(table)[-1:]} for table in tables)


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
    reference=library.training_step,
    may_call=(library.clipped,),
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
    slips=(
        Slip(
            "not-clipped",
            partial(step_by, clip=lambda gradients: gradients),
            "the gradients aren't clipped. Limit their joint norm to 1 before you compute m and v.",
        ),
        Slip(
            "always-scaled",
            partial(step_by, clip=scaled),
            "the gradients are always scaled to a norm of 1. Clipping only shortens long ones; a norm below "
            "1 stays as it is.",
        ),
        Slip(
            "clipped-one-by-one",
            partial(step_by, clip=lambda gradients: [library.clipped([g], 1.0)[0] for g in gradients]),
            "each gradient is clipped on its own. Clip them together, so that their joint norm is at most 1.",
        ),
        Slip(
            "clamped",
            partial(step_by, clip=lambda gradients: [g.clamp(-1, 1) for g in gradients]),
            "every number is cut off at −1 and 1, which changes the gradient's direction. Clip the "
            "joint norm.",
        ),
        Slip(
            "uphill",
            partial(step_by, sign=1.0),
            "the step goes **uphill**, because the change is added to the weight. Subtract it.",
        ),
        Slip(
            "not-corrected",
            partial(step_by, fair=lambda m, beta, step: m),
            "m and v are used as they are. Both start at 0, so divide by 1 − 0.9^step and 1 − 0.98^step.",
        ),
        Slip(
            "v-not-corrected",
            partial(step_by, fair=lambda m, beta, step: m / (1 - beta**step) if beta < 0.95 else m),
            "m is corrected, but v isn't. Divide it by 1 − 0.98^step.",
        ),
        Slip(
            "m-not-corrected",
            partial(step_by, fair=lambda m, beta, step: m / (1 - beta**step) if beta > 0.95 else m),
            "v is corrected, but m isn't. Divide it by 1 − 0.9^step.",
        ),
        Slip(
            "always-the-first-step",
            partial(step_by, fair=lambda m, beta, step: m / (1 - beta)),
            "m and v are always divided by 1 − 0.9 and 1 − 0.98, as in the first step. Use 0.9^step and "
            "0.98^step.",
        ),
        Slip(
            "next-step",
            partial(step_by, fair=lambda m, beta, step: m / (1 - beta ** (step + 1))),
            "the correction uses step + 1. `step` starts at 1, so use it as it is.",
        ),
        Slip(
            "no-root",
            partial(step_by, below=lambda spread: spread + 1e-9),
            "m̂ is divided by v̂ itself. Divide it by the square root.",
        ),
        Slip(
            "no-division",
            partial(step_by, below=lambda spread: 1.0),
            "the weight moves by rate · m̂. Divide by √v̂ as well.",
        ),
        Slip(
            "no-epsilon",
            partial(step_by, below=lambda spread: spread.sqrt()),
            "a weight whose gradient is 0 becomes NaN, from 0 / 0. Add 1e-9 to √v̂.",
        ),
        Slip(
            "epsilon-under-the-root",
            partial(step_by, below=lambda spread: (spread + 1e-9).sqrt()),
            "1e-9 is added under the square root, where it changes the steps of small "
            "gradients. Add it to √v̂.",
        ),
        Slip(
            "times-the-step",
            partial(step_by, fair=lambda m, beta, step: m / (1 - beta * step)),
            "m and v are divided by 1 − 0.9 · step and 1 − 0.98 · step. The step is an "
            "exponent: `0.9**step`.",
        ),
        Slip(
            "gradient-for-mean",
            partial(step_by, last_gradient=True),
            "the weight moves by the current gradient divided by √v̂. Use m̂, the corrected mean.",
        ),
        Slip(
            "signed-gradient",
            partial(step_by, square=lambda gradient, mean: gradient),
            "v averages the gradient itself, so it can be negative, and its root is NaN. Average its square.",
        ),
        Slip(
            "square-of-the-mean",
            partial(step_by, square=lambda gradient, mean: mean.square()),
            "v averages the square of *m*. It should average the square of the gradient.",
        ),
        Slip(
            "not-squared",
            partial(step_by, square=lambda gradient, mean: gradient.abs()),
            "v averages the gradient's absolute value. It should average its square.",
        ),
        Slip(
            "one-v-for-all",
            partial(step_by, square=lambda gradient, mean: gradient.square().mean()),
            "v has the same value for a whole tensor. Each weight has its own: `g**2`, not its mean.",
        ),
        Slip(
            "betas-swapped",
            partial(step_by, betas=(0.98, 0.9)),
            "0.9 and 0.98 are swapped: 0.9 belongs to m, 0.98 to v.",
        ),
        Slip(
            "same-betas",
            partial(step_by, betas=(0.9, 0.9)),
            "v is computed with 0.9, like m. Use 0.98 for v.",
        ),
        Slip(
            "usual-betas",
            partial(step_by, betas=(0.9, 0.999)),
            "v is computed with 0.999, Adam's usual value. The task, like the 2017 paper, uses 0.98.",
        ),
        Slip(
            "not-a-mean",
            partial(step_by, fresh=lambda old, new, b: b * old + new),
            "the new gradient lacks its factor: 0.1 for m, 0.02 for v.",
        ),
        Slip(
            "weights-of-the-mean-swapped",
            partial(step_by, fresh=lambda old, new, b: (1 - b) * old + b * new),
            "the factors are swapped: the new gradient gets 0.9, and the old mean 0.1. The means should "
            "change slowly.",
        ),
        Slip(
            "state-ignored",
            lambda weights, loss_of, state, step, rate: library.training_step(
                weights, loss_of, {}, step, rate
            ),
            "the old m and v have no effect: every step starts from 0. Read them from `state`.",
        ),
        Slip(
            "state-not-kept",
            partial(step_by, keeps=lambda old, new, hats: old),
            "the returned state is the old one. Return the new m and v.",
        ),
        Slip(
            "corrected-means-kept",
            partial(step_by, keeps=lambda old, new, hats: hats),
            "the returned state contains m̂ and v̂. Those are only for this step; keep m and v.",
        ),
        Slip(
            "pair-swapped",
            partial(step_by, keeps=lambda old, new, hats: new[::-1]),
            "the state contains (v, m). The order is (m, v).",
        ),
        Slip(
            "no-rate",
            lambda weights, loss_of, state, step, rate: library.training_step(
                weights, loss_of, state, step, 1.0
            ),
            "`rate` has no effect. Multiply the change by it.",
        ),
        Slip(
            "loss-after-the-step",
            loss_after_the_step,
            "the loss is computed with the new weights. Return the loss whose gradient was taken.",
        ),
        Slip(
            "loss-as-tensor",
            loss_as_a_tensor,
            "the loss is a tensor, but a plain number is expected. Use `loss.item()`.",
        ),
        Slip(
            "only-the-last-name",
            only_the_last_name,
            "only the last weight is returned. Create the two dictionaries before the loop, not inside it.",
        ),
        Slip(
            "no-adam",
            plain_descent,
            "the weight moves by rate · gradient, which is gradient descent. Adam moves it by "
            "rate · m̂ / (√v̂ + 1e-9).",
        ),
        Slip(
            "no-adam-no-means",
            plain_descent_without_means,
            "this is gradient descent: the weight moves by rate · gradient, and the state isn't updated. "
            "Compute m and v, return them, and move the weight by rate · m̂ / (√v̂ + 1e-9).",
        ),
        Slip(
            "two-dictionaries",
            two_dictionaries,
            "the state is two dictionaries, one of m and one of v. Return one dictionary that maps each "
            "name to the pair (m, v).",
        ),
    ),
)


# ---- byte-pair encoding


def first_in_the_alphabet(counts: dict[tuple[str, str], int]) -> tuple[str, str]:
    return min(counts, key=lambda pair: (-counts[pair], pair))


def merged_by(
    words, *, count=count_pairs, choose=first_in_the_alphabet, glue=merge, keeps=lambda word, pair: True
):
    """The best pair, and the words with it merged; a keyword argument replaces a part that can be wrong."""
    pair, merged = choose(count(words)), Counter()
    for word, times in words.items():
        if keeps(word, pair):
            merged[glue(word, pair)] += times
    return pair, dict(merged)


def next_merge(words: dict[tuple[str, ...], int]) -> tuple[tuple[str, str], dict[tuple[str, ...], int]]:
    return merged_by(words)


def each_word_once(words):
    return dict(Counter(pair for word in words for pair in pairwise(word)))


def once_in_a_word(words):
    counts = Counter()
    for word, times in words.items():
        counts.update(dict.fromkeys(pairwise(word), times))
    return dict(counts)


def without_the_last_pair(words):
    counts = Counter()
    for word, times in words.items():
        for pair in pairwise(word[:-1]):
            counts[pair] += times
    return dict(counts)


def around_the_word(words):
    return count_pairs({(word[-1], *word): times for word, times in words.items()})


def replaced_as_text(word, pair):
    return tuple(" ".join(word).replace(" ".join(pair), "".join(pair)).split(" "))


def first_occurrence_only(word, pair):
    for i in range(len(word) - 1):
        if word[i : i + 2] == pair:
            return (*word[:i], "".join(pair), *word[i + 2 :])
    return word


def from_the_right(word, pair):
    backwards = merge(word[::-1], pair[::-1])
    return tuple("".join(pair) if token == "".join(pair[::-1]) else token for token in backwards[::-1])


def second_token_kept(word, pair):
    return tuple("".join(pair) if word[i : i + 2] == pair else token for i, token in enumerate(word))


def tokens_used_twice(word, pair):
    pairs = [*pairwise((None, *word, None))]  # each token, with the one before it and the one after it
    tokens = (
        "".join(pair) if after == pair else after[0]
        for before, after in pairwise(pairs)
        if before != pair or after == pair
    )
    return tuple(tokens)


def with_a_space(word, pair):
    return tuple(" ".join(pair) if token == "".join(pair) else token for token in merge(word, pair))


def pair_as_text(words):
    pair, merged = next_merge(words)
    return "".join(pair), merged


def unordered(words):
    """(a, b) and (b, a) counted as the same pair."""
    counts: Counter = Counter()
    for (left, right), times in count_pairs(words).items():
        counts[tuple(sorted((left, right)))] += times
    return dict(counts)


def single_tokens(words):
    """Pairs ranked by how frequent their first token is."""
    tokens: Counter = Counter()
    for word, times in words.items():
        for token in word:
            tokens[token] += times
    return {pair: tokens[pair[0]] + tokens[pair[1]] for pair in count_pairs(words)}


def nested(word, pair):
    return tuple(pair if token == "".join(pair) else token for token in merge(word, pair))


def counts_forgotten(words):
    pair, merged = next_merge(words)
    return pair, dict.fromkeys(merged, 1)


def words_unchanged(words):
    return next_merge(words)[0], dict(words)


def words_first(words):
    return next_merge(words)[::-1]


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
    reference=next_merge,
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
        lambda: (spelled(y=4, il=2, aaaab=1),),
    ),
    slips=(
        Slip(
            "words-first",
            words_first,
            "the two results are in the wrong order. Return the pair first, then the words.",
        ),
        Slip(
            "words-unchanged",
            words_unchanged,
            "the pair is right, but the words are unchanged. Merge the pair in every word that contains it.",
        ),
        Slip(
            "counts-forgotten",
            counts_forgotten,
            "every word has a count of 1 now. A word keeps its count when its tokens are merged.",
        ),
        Slip(
            "nested",
            partial(merged_by, glue=nested),
            "the merged pair is a tuple inside the word. Join its two tokens into one string: "
            "`left + right`.",
        ),
        Slip(
            "words-joined",
            partial(merged_by, glue=lambda word, pair: "".join(merge(word, pair))),
            "the words are strings. Each should be a tuple of tokens.",
        ),
        Slip(
            "unordered",
            partial(merged_by, count=unordered),
            "(a, b) and (b, a) are counted as the same pair. The order of the two tokens matters.",
        ),
        Slip(
            "frequent-tokens",
            partial(merged_by, count=single_tokens),
            "the pair with the most frequent *tokens* is chosen. Count how often the two are neighbours.",
        ),
        Slip(
            "words-counted-once",
            partial(merged_by, count=each_word_once),
            "every word counts once. If a word occurs five times, so does each of its pairs.",
        ),
        Slip(
            "counted-once-in-a-word",
            partial(merged_by, count=once_in_a_word),
            "a pair that occurs twice in a word is counted once. If *papa* occurs 3 times, *p a* occurs 6 "
            "times.",
        ),
        Slip(
            "last-pair-not-counted",
            partial(merged_by, count=without_the_last_pair),
            "the last pair of each word isn't counted. A word of n tokens has n − 1 pairs.",
        ),
        Slip(
            "around-the-word",
            partial(merged_by, count=around_the_word),
            "the last token of a word and its first are counted as neighbours, which happens with "
            "`word[i - 1]` when i is 0.",
        ),
        Slip(
            "ties-the-other-way",
            partial(merged_by, choose=lambda counts: max(counts, key=lambda pair: (counts[pair], pair))),
            "among equally frequent pairs, the last in alphabetical order is chosen. Choose the first.",
        ),
        Slip(
            "first-met-of-equals",
            partial(merged_by, choose=lambda counts: max(counts, key=lambda pair: counts[pair])),
            "among equally frequent pairs, the one that occurs first is chosen. Choose the first in "
            "alphabetical order.",
        ),
        Slip(
            "ties-by-the-glued-word",
            partial(merged_by, choose=lambda counts: min(counts, key=lambda p: (-counts[p], "".join(p), p))),
            "equally frequent pairs are compared as merged strings. Compare the tuples: ('a', 'bc') comes "
            "before ('ab', 'a').",
        ),
        Slip(
            "rarest",
            partial(merged_by, choose=lambda counts: min(counts, key=lambda pair: (counts[pair], pair))),
            "the **rarest** pair is chosen. Choose the most frequent.",
        ),
        Slip(
            "replaced-as-text",
            partial(merged_by, glue=replaced_as_text),
            "the word is searched as a string, so *a t* is found inside *la t*. Compare whole tokens.",
        ),
        Slip(
            "only-once-in-a-word",
            partial(merged_by, glue=first_occurrence_only),
            "the pair is merged only once in each word. *papa* has *p a* twice.",
        ),
        Slip(
            "from-the-right",
            partial(merged_by, glue=from_the_right),
            "the pairs are merged from right to left: *a a a* becomes *a aa*. Go from left to right.",
        ),
        Slip(
            "second-token-kept",
            partial(merged_by, glue=second_token_kept),
            "the second token of a merged pair remains after it. Skip both tokens.",
        ),
        Slip(
            "tokens-used-twice",
            partial(merged_by, glue=tokens_used_twice),
            "a token is merged with both neighbours, so *a a a* becomes *aa aa*. After a merge, skip both "
            "tokens.",
        ),
        Slip(
            "with-a-space",
            partial(merged_by, glue=with_a_space),
            "the new token contains a space. Join its two parts without one.",
        ),
        Slip(
            "words-as-text",
            partial(merged_by, glue=lambda word, pair: " ".join(merge(word, pair))),
            "the words are strings. Each should be a tuple of tokens.",
        ),
        Slip(
            "other-words-lost",
            partial(merged_by, keeps=lambda word, pair: pair in pairwise(word)),
            "words without the pair are lost. They belong in the new dictionary too, unchanged.",
        ),
        Slip(
            "single-tokens-lost",
            partial(merged_by, keeps=lambda word, pair: len(word) > 1),
            "words of a single token are lost. They have no pair, but they belong in the new dictionary.",
        ),
        Slip("pair-as-text", pair_as_text, "the pair is a single string. Return a tuple of two tokens."),
    ),
)


EXERCISES = (TRAINING_STEP, BY_LENGTH, PAPER_RATE, SMOOTHED_LOSS, NEXT_MERGE)
