"""The exercises of lesson 15: batches, a learning rate, a loss, a training step, a merge, a repair."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable
from functools import partial
from itertools import pairwise

import torch
from torch import Tensor

from course_lib.teaching.exercises import ByHand, PlainExercise, Slip, TestExercise
from course_lib.text.special import PAD
from lessons.l15_training_a_translator import by_hand as library
from lessons.l15_training_a_translator.merges import count_pairs, merge
from lessons.l15_training_a_translator.training_settings import TrainingSettings

TOPIC = "training_a_translator"


def tensor(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator("cpu").manual_seed(seed))


# ---- batches by length


def filled(order: list[int], lengths: list[int], room: int) -> list[list[int]]:
    """Fill batch after batch with sentences in this order; a batch takes its rows times its longest."""
    batches: list[list[int]] = [[]]
    for index in order:
        longest = max(lengths[i] for i in [*batches[-1], index])
        if (len(batches[-1]) + 1) * longest > room:
            batches.append([])
        batches[-1].append(index)
    return [batch for batch in batches if batch]


def by_length(lengths: list[int], room: int) -> list[list[int]]:
    """From the shortest up."""
    return filled(sorted(range(len(lengths)), key=lambda index: lengths[index]), lengths, room)


def from_the_longest(lengths, room):
    return filled(sorted(range(len(lengths)), key=lambda index: -lengths[index]), lengths, room)


def sorted_in_tuples(lengths, room):
    pairs = sorted((length, index) for index, length in enumerate(lengths))
    return [list(batch) for batch in filled([index for _, index in pairs], lengths, room)]


def padding(batches: list[list[int]], lengths: list[int]) -> int:
    """The number of padding tokens."""
    return sum(max(lengths[i] for i in batch) - lengths[index] for batch in batches for index in batch)


def as_they_come(lengths, room):
    return filled(list(range(len(lengths))), lengths, room)


def without_the_last(lengths, room):
    return by_length(lengths, room)[:-1]


def words_only(lengths, room):
    """Adds up lengths, as if there were no padding."""
    batches, total = [[]], 0
    for index in sorted(range(len(lengths)), key=lambda index: lengths[index]):
        if total + lengths[index] > room and batches[-1]:
            batches, total = [*batches, []], 0
        batches[-1].append(index)
        total += lengths[index]
    return batches


def repeats_the_last(lengths, room):
    """The sentence that did not fit is put into the old batch and into the new one."""
    batches = by_length(lengths, room)
    return [[*batch, following[0]] for batch, following in pairwise(batches)] + batches[-1:]


def swaps_one_for_another(lengths, room):
    """The sentence that did not fit is lost, and the one before it comes again."""
    batches = by_length(lengths, room)
    return batches[:1] + [[batch[-1], *following[1:]] for batch, following in pairwise(batches)]


def lengths_not_indices(lengths, room):
    return [[lengths[index] for index in batch] for batch in by_length(lengths, room)]


def one_each(lengths, room):
    return [[index] for index in range(len(lengths))]


def each_once(inputs, batches) -> str:
    counts = Counter(index for batch in batches for index in batch)
    indices = set(range(len(inputs[0])))
    if unknown := set(counts) - indices:
        return f"{sorted(unknown)[0]} is no sentence's place. Batches hold places, counted from 0."
    if missing := indices - set(counts):
        return f"Sentence {min(missing)} is in no batch. Is the last batch handed over, too?"
    twice = [index for index, n in counts.items() if n > 1]
    return f"Sentence {twice[0]} is in two batches, or twice in one." if twice else ""


def none_too_large(inputs, batches) -> str:
    lengths, room = inputs
    for batch in batches:
        if batch and (taken := len(batch) * max(lengths[index] for index in batch)) > room:
            return (
                f"The batch {list(batch)} takes {len(batch)} rows times its longest: {taken} places, and "
                f"there is room for {room}. Padding takes places, too."
            )
    return "" if all(batches) else "One of the batches is empty."


def well_filled(inputs, batches) -> str:
    n_needed = len(by_length(*inputs))
    if len(batches) > n_needed + 1:
        return f"{len(batches)} batches, and {n_needed} would do: put more sentences into each."
    return ""


def little_padding(inputs, batches) -> str:
    least = padding(by_length(*inputs), inputs[0])
    if (n_padding := padding(batches, inputs[0])) > 1.3 * least + max(inputs[0], default=0):
        return (
            f"{n_padding} places are padding; sorted by length it is {least}, and little more is allowed. "
            "Put sentences of like length together."
        )
    return ""


def lengths_case(n: int, room: int, seed: int) -> Callable[[], tuple]:
    draw = random.Random(seed)
    lengths = [3 + int(draw.random() * 18) for _ in range(n)]
    return lambda: (list(lengths), room)


ROOM = "the lengths are added up, but a batch is a rectangle: its rows times its **longest** must fit."
BY_LENGTH = PlainExercise(
    name="by_length",
    lesson=TOPIC,
    inputs=("lengths", "room"),
    reference=by_length,
    design=True,
    demands=(each_once, none_too_large, well_filled, little_padding),
    by_hand=ByHand(
        inputs={"lengths": [3, 9, 2, 8], "room": 18},
        answer=[[2, 0], [3, 1]],
        says="Sorted: 2, 3, 8, 9. Lengths 2 and 3 take 2 · 3 = 6 places; with 8 it would be 3 · 8 = 24, too "
        "many. So 8 and 9 make a batch of their own: 2 · 9 = 18. Two places are padding.",
    ),
    others=(
        lengths_case(40, 60, 0),
        lengths_case(200, 128, 1),
        lambda: ([5] * 7, 15),
        lambda: ([4], 4),
        lambda: ([], 10),
        lambda: ([20, 1, 1, 1, 1, 1], 20),
    ),
    slips=(
        Slip("as-they-come", as_they_come, "the sentences go in as they come. Sort them by length first."),
        Slip("last-batch-lost", without_the_last, "the last batch is missing: hand over what is left."),
        Slip("padding-not-counted", words_only, ROOM),
        Slip(
            "lengths-not-places",
            lengths_not_indices,
            "the batches hold lengths. Hand over the sentences' places in the list: 0, 1, 2, …",
        ),
        Slip("one-each", one_each, "every sentence has a batch of its own: no padding, and no batch either."),
        Slip(
            "repeated",
            repeats_the_last,
            "the sentence that did not fit any more is in the old batch and in the new one.",
        ),
        Slip(
            "swapped",
            swaps_one_for_another,
            "the sentence that did not fit any more is lost, and the one before it comes twice.",
        ),
    ),
)


def test_batches(by_length):
    for lengths, room in (([3, 9, 2, 8], 18), ([5] * 7, 15), ([20, 3, 19, 4, 18, 5], 40)):
        batches = by_length(lengths, room)
        assert sorted(index for batch in batches for index in batch) == list(range(len(lengths)))
        for batch in batches:
            assert len(batch) * max(lengths[index] for index in batch) <= room
    assert padding(by_length([20, 3, 19, 4, 18, 5], 40), [20, 3, 19, 4, 18, 5]) <= 20


TEST_BATCHES = TestExercise(
    name="test_batches",
    lesson=TOPIC,
    of=BY_LENGTH,
    what="batcher",
    accepts={"from the longest down": from_the_longest, "with tuples": sorted_in_tuples},
    rejects={
        "last-batch-lost": "loses the last batch",
        "padding-not-counted": "forgets that padding takes places",
        "repeated": "puts a sentence into two batches",
        "as-they-come": "does not sort at all",
        "swapped": "loses one sentence and has another twice",
    },
    reference=test_batches,
)


# ---- the learning rate of the 2017 paper


def warm_up_for_width(step, d_model, warm_up):
    return warm_up**-0.5 * min(step**-0.5, step * warm_up**-1.5)


def rate_by(step, d_model, warm_up, *, choose=min, width=-0.5, climb=-1.5, fall=-0.5):
    return d_model**width * choose(step**fall, step * warm_up**climb)


RATE_CASES = (
    *((2, 4, 4), (4, 4, 4), (16, 4, 4), (1, 512, 4000), (4000, 512, 4000)),
    *((100_000, 512, 4000), (24, 64, 400), (399, 64, 400), (401, 64, 400)),
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
        says="1/√4 = ½. The smaller of 1/√1 = 1 and 1 · 4^(−3/2) = 1/8: that is 1/8, and half of it 1/16.",
    ),
    others=tuple(lambda step=step, d=d, w=w: (step, d, w) for step, d, w in RATE_CASES),
    slips=(
        Slip(
            "the-larger", partial(rate_by, choose=max), "the **larger** of the two is taken, not the smaller."
        ),
        Slip(
            "no-width",
            partial(rate_by, width=0),
            "the width is left out: a wide model takes smaller steps, 1/√d_model.",
        ),
        Slip(
            "never-falls",
            partial(rate_by, fall=0),
            "after the warm-up the rate stays where it is. It falls with 1/√step.",
        ),
        Slip(
            "falls-too-fast",
            partial(rate_by, fall=-1.0),
            "it falls with 1/step. The formula has the root: 1/√step.",
        ),
        Slip(
            "climbs-over-warm-up",
            partial(rate_by, climb=-1.0),
            "the way up is step / warm_up, and at the end of the warm-up the two halves do not meet.",
        ),
    ),
)


# ---- the loss


def loss_by(
    logits,
    targets,
    smoothing,
    *,
    pad=PAD,
    weigh_right=lambda e, v: 1 - e,
    weigh_all=lambda e, v: e / v,
    scores=lambda logits: logits.log_softmax(dim=-1),
    gather=lambda losses, counts: losses[counts].mean(),
):
    """Smoothed cross-entropy; each keyword argument replaces a part that learners get wrong."""
    log_probs, v = scores(logits), logits.shape[-1]
    right = log_probs.gather(-1, targets[..., None])[..., 0]
    losses = -weigh_right(smoothing, v) * right - weigh_all(smoothing, v) * log_probs.sum(dim=-1)
    return gather(losses, targets != pad)


def others_only(logits, targets, smoothing):
    """ε over the other words alone."""
    log_probs, v = logits.log_softmax(dim=-1), logits.shape[-1]
    right = log_probs.gather(-1, targets[..., None])[..., 0]
    losses = -(1 - smoothing) * right - smoothing / (v - 1) * (log_probs.sum(dim=-1) - right)
    return losses[targets != PAD].mean()


def without_the_padding_word(logits, targets, smoothing):
    """ε over the words alone, not over PAD."""
    log_probs = logits.log_softmax(dim=-1)
    right = log_probs.gather(-1, targets[..., None])[..., 0]
    losses = -(1 - smoothing) * right - smoothing * log_probs[..., 1:].mean(dim=-1)
    return losses[targets != PAD].mean()


def mean_of_sentences(losses, counts):
    counted = torch.where(counts, losses, 0.0)
    return (counted.sum(dim=-1) / counts.sum(dim=-1)).mean()


def loss_case(batch: int, n: int, vocab: int, smoothing: float, seed: int) -> Callable[[], tuple]:
    lengths = torch.arange(batch) % n + 1
    targets = torch.randint(1, vocab, (batch, n), generator=torch.Generator("cpu").manual_seed(seed))
    targets = torch.where(torch.arange(n) < lengths[:, None], targets, PAD)
    logits = 3 * tensor(batch, n, vocab, seed=seed)
    return lambda: (logits.clone().requires_grad_(), targets.clone(), smoothing)


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
        says="The shares are 1/8, 1/8, 1/2, 1/4, and their −ln is 2.079, 2.079, 0.693, 1.386. The right word "
        "is 2: 0.8 · 0.693 = 0.555. The mean of all four is 1.560, times 0.2: 0.312. Together 0.866. The "
        "second target is 0, padding: it does not count.",
    ),
    others=(
        loss_case(3, 4, 6, 0.1, 0),
        loss_case(2, 5, 9, 0.0, 1),
        loss_case(4, 3, 5, 0.4, 2),
        loss_case(1, 1, 3, 0.1, 3),
    ),
    slips=(
        Slip(
            "padding-counts",
            partial(loss_by, pad=-1),
            "padding counts as a word. Leave out the places whose target is 0 before you take the mean.",
        ),
        Slip(
            "spread-over-the-others",
            others_only,
            "ε is spread over the **other** words alone. Here (and in torch) every word gets ε/V, the right "
            "one, too.",
        ),
        Slip(
            "padding-word-left-out",
            without_the_padding_word,
            "ε is spread over V − 1 words, padding left out. Some books do it so; here (and in torch) word 0 "
            "gets its ε/V, too. What is left out are the *places* whose target is 0.",
        ),
        Slip(
            "nothing-taken-away",
            partial(loss_by, weigh_right=lambda e, v: 1.0),
            "the right word keeps all of its share: the target adds up to 1 + ε. It should be 1 − ε.",
        ),
        Slip(
            "sum-of-all-words",
            partial(loss_by, weigh_all=lambda e, v: e),
            "each word gets ε. It is spread: ε/V for each.",
        ),
        Slip(
            "softmax-twice",
            partial(loss_by, scores=lambda logits: logits.softmax(dim=-1).log_softmax(dim=-1)),
            "softmax is taken twice. `log_softmax` makes shares of the logits by itself.",
            misconception="M29",
        ),
        Slip(
            "no-softmax",
            partial(loss_by, scores=lambda logits: logits),
            "the logits are used as they are. `log_softmax` over the last axis comes first.",
        ),
        Slip(
            "not-smoothed",
            lambda logits, targets, smoothing: library.smoothed_loss(logits, targets, 0.0),
            "`smoothing` changes nothing. 1 − ε of the right word, and ε of the mean over all words.",
        ),
        Slip(
            "sum",
            partial(loss_by, gather=lambda losses, counts: losses[counts].sum()),
            "the losses are added up. Take the mean over all words that count.",
        ),
        Slip(
            "mean-of-means",
            partial(loss_by, gather=mean_of_sentences),
            "each sentence is averaged first, so a word of a short one counts more. One mean over all words.",
        ),
        Slip(
            "padding-in-the-count",
            partial(loss_by, gather=lambda losses, counts: torch.where(counts, losses, 0.0).mean()),
            "padding is set to 0 and then counted in the mean. Divide by the number of real words.",
        ),
    ),
)


# ---- the step


def step_by(
    weights,
    loss_of,
    memory,
    step,
    rate,
    *,
    clip: Callable[[list[Tensor]], list[Tensor]] = lambda gradients: library.clipped(gradients, 1.0),
    square: Callable[[Tensor, Tensor], Tensor] = lambda gradient, mean: gradient.square(),
    fair: Callable[[Tensor, float, int], Tensor] = lambda m, beta, step: m / (1 - beta**step),
    below: Callable[[Tensor], Tensor] = lambda spread: spread.sqrt(),
    sign: float = -1.0,
    betas: tuple[float, float] = (0.9, 0.98),
    keeps: Callable = lambda old, new, fair: new,
    fresh: Callable[[Tensor, Tensor, float], Tensor] = lambda old, new, b: b * old + (1 - b) * new,
):
    """A training step; each keyword argument replaces a part that learners get wrong."""
    ready = {name: w.detach().requires_grad_() for name, w in weights.items()}
    loss = loss_of(ready)
    gradients = clip(list(torch.autograd.grad(loss, list(ready.values()))))
    moved, kept = {}, {}
    for (name, w), g in zip(weights.items(), gradients, strict=True):
        m, v = memory.get(name, (torch.zeros_like(w), torch.zeros_like(w)))
        m = fresh(m, g, betas[0])
        v = fresh(v, square(g, m), betas[1])
        hats = fair(m, betas[0], step), fair(v, betas[1], step)
        moved[name] = w + sign * rate * hats[0] / (below(hats[1]) + 1e-9)
        kept[name] = keeps(memory.get(name, (torch.zeros_like(w), torch.zeros_like(w))), (m, v), hats)
    return loss.item(), moved, kept


def scaled(gradients: list[Tensor]) -> list[Tensor]:
    """Of length 1, however short they were."""
    length = torch.stack([gradient.norm() for gradient in gradients]).norm()
    return [gradient / length for gradient in gradients]


def plain_descent(weights, loss_of, memory, step, rate):
    """Gradient descent without Adam."""
    _, _, kept = library.training_step(weights, loss_of, memory, step, rate)
    ready = {name: w.detach().requires_grad_() for name, w in weights.items()}
    loss = loss_of(ready)
    gradients = library.clipped(list(torch.autograd.grad(loss, list(ready.values()))), 1.0)
    moved = {name: w - rate * g for (name, w), g in zip(weights.items(), gradients, strict=True)}
    return loss.item(), moved, kept


def bowl(weights: dict[str, Tensor]) -> Tensor:
    """A loss with a steep side and a flat one."""
    return sum((i + 1) ** 2 * (w - i).square().sum() for i, w in enumerate(weights.values()))


def gentle(weights: dict[str, Tensor]) -> Tensor:
    """Its gradient is shorter than 1: nothing is to be clipped."""
    return 0.005 * bowl(weights)


def step_case(loss_of: Callable, step: int, rate: float, seed: int) -> Callable[[], tuple]:
    weights = {"a": tensor(3, seed=seed), "b.c": tensor(2, 2, seed=seed + 1)}
    old = {
        name: (0.1 * tensor(*w.shape, seed=seed + 2), 0.1 * tensor(*w.shape, seed=seed + 3).square() + 0.01)
        for name, w in weights.items()
    }
    memory = {} if step == 1 else old
    return lambda: (
        {name: w.clone() for name, w in weights.items()},
        loss_of,
        {name: (m.clone(), v.clone()) for name, (m, v) in memory.items()},
        step,
        rate,
    )


def a_plain_number(inputs, answer) -> str:
    if isinstance(answer, tuple) and len(answer) == 3 and isinstance(answer[0], Tensor):
        return "The loss is handed back as a tensor. Make it a plain number: `loss.item()`."
    return ""


TRAINING_STEP = PlainExercise(
    name="training_step",
    trains=False,
    lesson=TOPIC,
    inputs=("weights", "loss_of", "memory", "step", "rate"),
    reference=library.training_step,
    demands=(a_plain_number,),
    seconds=20.0,  # torch.optim, where somebody uses it, loads torch's compiler first
    by_hand=ByHand(
        inputs={
            "weights": {"w": torch.tensor([3.0])},
            "loss_of": lambda weights: weights["w"].square().sum(),
            "memory": {},
            "step": 1,
            "rate": 0.1,
        },
        answer=(9.0, {"w": torch.tensor([2.9])}, {"w": (torch.tensor([0.1]), torch.tensor([0.02]))}),
        says="The loss is 3² = 9, its slope 6; clipped to length 1 it is 1. Means: 0.1 · 1 and 0.02 · 1². "
        "Divided by 1 − 0.9 and 1 − 0.98 both are 1. The weight moves by 0.1 · 1/√1: from 3 to 2.9.",
    ),
    others=(
        step_case(bowl, 1, 0.01, 0),
        step_case(gentle, 2, 0.01, 10),
        step_case(bowl, 7, 0.3, 20),
        step_case(gentle, 1, 0.002, 30),
    ),
    slips=(
        Slip(
            "not-clipped",
            partial(step_by, clip=lambda gradients: gradients),
            "the gradient is not clipped. `clip_gradients(gradients, 1.0)` comes before Adam sees it.",
        ),
        Slip(
            "always-scaled",
            partial(step_by, clip=scaled),
            "every gradient gets the length 1. Clipping shortens a long one; a shorter one stays.",
        ),
        Slip(
            "clipped-one-by-one",
            partial(step_by, clip=lambda gradients: [library.clipped([g], 1.0)[0] for g in gradients]),
            "every gradient is clipped by itself. All together get a length of at most 1 (lesson 02).",
        ),
        Slip(
            "uphill",
            partial(step_by, sign=1.0),
            "the step goes **up**: the change is added. Take it away from the weight.",
        ),
        Slip(
            "not-corrected",
            partial(step_by, fair=lambda m, beta, step: m),
            "the two means are used as they are. They begin at 0: divide by 1 − 0.9^step and 1 − 0.98^step.",
        ),
        Slip(
            "no-root",
            partial(step_by, below=lambda spread: spread),
            "the mean is divided by the mean square itself. Take its root.",
        ),
        Slip(
            "square-of-the-mean",
            partial(step_by, square=lambda gradient, mean: mean.square()),
            "the second memory keeps the square of the *mean*. It keeps the mean of the squares: gradient².",
        ),
        Slip(
            "not-squared",
            partial(step_by, square=lambda gradient, mean: gradient.abs()),
            "the second memory keeps the gradient's size. It keeps its square.",
        ),
        Slip(
            "betas-swapped",
            partial(step_by, betas=(0.98, 0.9)),
            "0.9 and 0.98 are swapped: the mean forgets faster (0.9), the squares slower (0.98).",
        ),
        Slip(
            "memory-not-kept",
            partial(step_by, keeps=lambda old, new, hats: old),
            "the memory that is handed back is the old one. Hand back the two means that you have just made.",
        ),
        Slip(
            "corrected-means-kept",
            partial(step_by, keeps=lambda old, new, hats: hats),
            "the memory holds the corrected means. They serve this one step; keep m and v themselves.",
        ),
        Slip(
            "weights-of-the-mean-swapped",
            partial(step_by, fresh=lambda old, new, b: (1 - b) * old + b * new),
            "the new gradient gets 0.9 and the memory 0.1. Swap them: the memory changes slowly.",
        ),
        Slip(
            "no-adam",
            plain_descent,
            "the weight moves by rate · gradient. That is gradient descent; Adam moves by mean over root.",
        ),
    ),
)


# ---- byte-pair encoding


def first_in_the_alphabet(counts: dict[tuple[str, str], int]) -> tuple[str, str]:
    return min(counts, key=lambda pair: (-counts[pair], pair))


def merged_by(words, *, count=count_pairs, choose=first_in_the_alphabet, glue=merge):
    """The best pair, and the words with it merged; a keyword argument replaces a part that can be wrong."""
    pair, merged = choose(count(words)), Counter()
    for word, times in words.items():
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


def replaced_as_text(word, pair):
    return tuple(" ".join(word).replace(" ".join(pair), "".join(pair)).split(" "))


def first_occurrence_only(word, pair):
    for i in range(len(word) - 1):
        if word[i : i + 2] == pair:
            return (*word[:i], "".join(pair), *word[i + 2 :])
    return word


def with_a_space(word, pair):
    return tuple(" ".join(pair) if token == "".join(pair) else token for token in merge(word, pair))


def spelled(**counts: int) -> dict[tuple[str, ...], int]:
    return {tuple(word): n for word, n in counts.items()}


NEXT_MERGE = PlainExercise(
    name="next_merge",
    lesson=TOPIC,
    inputs=("words",),
    reference=next_merge,
    by_hand=ByHand(
        inputs={"words": spelled(chat=5, chats=2, chien=3)},
        answer=(
            ("c", "h"),
            {("ch", "a", "t"): 5, ("ch", "a", "t", "s"): 2, ("ch", "i", "e", "n"): 3},
        ),
        says="c and h are side by side 5 + 2 + 3 = 10 times, h and a 7 times, a and t 7 times. So c and h "
        "are glued together, in all three words.",
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
    ),
    slips=(
        Slip(
            "words-counted-once",
            partial(merged_by, count=each_word_once),
            "every word counts once. A word that is met five times has each of its pairs five times.",
        ),
        Slip(
            "ties-the-other-way",
            partial(merged_by, choose=lambda counts: max(counts, key=lambda pair: (counts[pair], pair))),
            "of equally frequent pairs the last in the alphabet is taken. Take the first.",
        ),
        Slip(
            "first-met-of-equals",
            partial(merged_by, choose=lambda counts: max(counts, key=lambda pair: counts[pair])),
            "of equally frequent pairs the one that is met first is taken. Take the first in the alphabet.",
        ),
        Slip(
            "ties-by-the-glued-word",
            partial(merged_by, choose=lambda counts: min(counts, key=lambda p: (-counts[p], "".join(p), p))),
            "equals are compared as glued words. Compare the tuples: ('a', 'bc') comes before ('ab', 'a').",
        ),
        Slip(
            "counted-once-in-a-word",
            partial(merged_by, count=once_in_a_word),
            "a pair that stands twice in a word is counted once. *papa*, met 3 times, has *pa* 6 times.",
        ),
        Slip(
            "replaced-as-text",
            partial(merged_by, glue=replaced_as_text),
            "the word is searched as text, and *a t* is found inside *la t*. Compare whole tokens.",
        ),
        Slip(
            "only-once-in-a-word",
            partial(merged_by, glue=first_occurrence_only),
            "the pair is glued together once in each word. *papa* has *pa* twice.",
        ),
        Slip(
            "with-a-space",
            partial(merged_by, glue=with_a_space),
            "there is a space inside the new token. Put the two together as they are.",
        ),
        Slip(
            "rarest",
            partial(merged_by, choose=lambda counts: min(counts, key=lambda pair: (counts[pair], pair))),
            "the **rarest** pair is taken. Take the most frequent.",
        ),
    ),
)


# ---- a recipe to repair

FAULTY = {"rate": 0.1, "warm_up": 24, "n_sentences": 100, "shifted": False, "softmaxes": 1, "smoothing": 0.1}
GOOD_RATES = (0.003, 0.01)
ENOUGH = 2000


def repaired(recipe: dict) -> dict:
    return {**recipe, "rate": 0.005, "n_sentences": 3000, "shifted": True}


def is_a_recipe(inputs, recipe) -> str:
    if set(recipe) != set(inputs[0]):
        return "A recipe has the same names as the one that was handed in: " + ", ".join(inputs[0]) + "."
    TrainingSettings(**recipe)
    return ""


def is_shifted(inputs, recipe) -> str:
    copies = "The decoder still reads the very word that it is to say: the loss falls to its floor at once, "
    if recipe["shifted"] not in (True, False):
        return f"`shifted` is {recipe['shifted']!r}. It is True or False."
    return "" if recipe["shifted"] else copies + "and it has learned to copy. What must be shifted?"


def has_enough(inputs, recipe) -> str:
    if recipe["n_sentences"] < ENOUGH:
        return f"{recipe['n_sentences']} sentences are too few, and soon known by heart. There are 3,000."
    return "" if recipe["n_sentences"] <= 3000 else "There are 3,000 sentences."


def has_a_good_rate(inputs, recipe) -> str:
    low, high = GOOD_RATES
    if recipe["rate"] > high:
        return f"At a rate of {recipe['rate']:g} its first steps do too much damage. Try a smaller one."
    if recipe["rate"] < low:
        return f"At a rate of {recipe['rate']:g} it will not be done in 240 steps. Try a larger one."
    return ""


def leaves_the_rest(inputs, recipe) -> str:
    if recipe["softmaxes"] != 1:
        return "One softmax is right: the loss takes it by itself."
    if recipe["smoothing"] != inputs[0]["smoothing"] or not 0 <= recipe["warm_up"] <= 40:
        return "Smoothing and warm-up were not what ailed it. Leave them as they were handed in."
    return ""


REPAIR = PlainExercise(
    name="repair",
    lesson=TOPIC,
    inputs=("recipe",),
    reference=repaired,
    design=True,
    demands=(is_a_recipe, is_shifted, has_enough, has_a_good_rate, leaves_the_rest),
    by_hand=ByHand(
        inputs={"recipe": FAULTY},
        answer=repaired(FAULTY),
        says="Three things ail it: one for each of the curves that you have diagnosed and that it resembles.",
    ),
    others=(lambda: (FAULTY | {"smoothing": 0.0},),),
    slips=(
        Slip("nothing-changed", dict, "the recipe is as it was."),
        Slip(
            "only-shifted",
            lambda recipe: {**recipe, "shifted": True},
            "one of three is repaired: it does not copy any more. Look at the rate, and at what it reads.",
        ),
    ),
)

EXERCISES = (BY_LENGTH, TEST_BATCHES, PAPER_RATE, SMOOTHED_LOSS, TRAINING_STEP, REPAIR, NEXT_MERGE)
