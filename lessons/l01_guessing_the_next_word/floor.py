"""The perplexity of the generator itself, below which no model of its sentences can be expected to come.

The choices that made a sentence (`course_lib.text.toy`) are recorded, then repeated with its growths in every
possible order. The sum over the orders is the probability of the sentence, but for a few other ways to it: a
determiner that a negation replaces, another main clause as the core. So the probability is at most a little
too small, and the perplexity an upper bound. Growths that fail are undone; so the probability of a growth is
divided by that of any success. Its inverse, the mean number of trials, is estimated.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from statistics import fmean
from unittest.mock import patch

from course_lib.text.toy import generate, grow
from course_lib.text.toy import sentence as drawing
from course_lib.text.toy.cores import CORES, PLAN_TRIES, compose, plan_because
from course_lib.text.toy.lexicon import Reason, grammar
from course_lib.text.toy.sense import nouns_with
from course_lib.text.toy.sentence import WORD_TRIES, DeadEnd, Sentence, reject_if
from course_lib.text.toy.splits import TEST_SIZES, draw_splits
from course_lib.text.toy.tree import Phrase

EXPECTED = "The floor is between 6.5 and 7.3, so the LSTM's 7.6 is within 15% of it."
RUNS = 16  # of trials until one succeeds, for each state of a sentence
SIZES = range(generate.USUAL[0], generate.USUAL[1] + 1)


class Recorded(Sentence):
    """Records the choices of each step that succeeded; the first step is the core."""

    def __init__(self, rng: random.Random, size: int, *, max_depth: int = 2):
        self.size, self.choices, self.steps, self.nodes = size, [], [], {}
        super().__init__(rng, size, max_depth=max_depth)
        self.random = lambda: self.record(rng.random)

    def record(self, draw: Callable, *arguments):
        n = len(self.choices)
        value = draw(*arguments)
        self.choices[n:] = [value]  # instead of the choices that it consists of
        return value

    def with_probability(self, probability):
        return self.record(super().with_probability, probability)

    def pick(self, choices):
        return self.record(super().pick, choices)

    def verb(self, choices):
        return self.record(super().verb, choices)

    def noun(self, tags, plural=None):
        return self.record(super().noun, tags, plural)

    def attempt(self, step, *arguments) -> bool:
        self.choices = []
        if succeeded := super().attempt(step, *arguments):
            plans = [i for i, choice in enumerate(self.choices) if isinstance(choice, Reason)]
            if plans:  # all but the last were rejected
                del self.choices[plans[0] : plans[-1]]
            names = [name for name, node in self.nodes.items() for other in arguments if node is other]
            self.steps.append((step, names, self.choices))
            name_new_nodes(self, len(self.steps))
        return succeeded


def name_new_nodes(sentence: Recorded | Repeated, step: int) -> None:
    """By the step that made them, so that they are found again in a repetition."""
    known = list(map(id, sentence.nodes.values()))
    new = [node for node in (*sentence.phrases, *sentence.clauses) if id(node) not in known]
    sentence.nodes |= {(step, i): node for i, node in enumerate(new)}


class Repeated(Sentence):
    """Repeats steps of a recorded sentence in some order, and adds up their log-probabilities."""

    def __init__(self, recorded: Recorded, order: Sequence[int]):
        self.script, self.log_p, self.nodes, self.of_determiner = [recorded.past], 0.0, {}, {}
        super().__init__(random.Random(0), recorded.size, max_depth=recorded.max_depth)
        self.random = self.repeat_random
        for number in order:
            step, names, choices = recorded.steps[number]
            self.script = choices.copy()
            self.telling = [choice for choice in choices[1:3] if isinstance(choice, bool)]
            arguments = [self.nodes[name] for name in names]
            before, n_phrases = self.log_p, len(self.phrases)
            if number:
                self.add(self.probability_of_selecting(step, *arguments))
            step(self, *arguments)
            for phrase in self.phrases[n_phrases:]:
                self.merge_draws_of_determiner(phrase)
            name_new_nodes(self, number + 1)
            self.log_p_of_step = self.log_p - before

    def add(self, probability: float) -> None:
        reject_if(probability <= 0)
        self.latest = math.log(probability)
        self.log_p += self.latest

    def probability_of_selecting(self, step: Callable, node=None) -> float:
        """That `grow` tries this step with this node next."""
        words, main = self.words_left, 0.0
        if words >= grow.WORDS_MAIN_CLAUSE:
            main = grow.P_MAIN_CLAUSE + words / grow.MAIN_CLAUSE_WORDS
        if not node:
            return main
        steps = grow.PHRASE_GROWTHS if words >= grow.WORDS_MODIFIER else grow.ADJECTIVE_GROWTHS
        nodes, p = self.phrases, 1 - grow.P_CLAUSE_GROWTH
        if not isinstance(node, Phrase):
            steps = grow.STATE_GROWTHS if node.quality else grow.CLAUSE_GROWTHS
            nodes, p = self.clauses, grow.P_CLAUSE_GROWTH
        return (1 - main) * p * steps.count(step) / len(steps) / len(nodes)

    def repeat_random(self) -> float:
        """Drawn only for the kind of the core, and for the kind of a relative clause."""
        value = self.script.pop(0)
        if self.phrases:
            p = grow.P_STATE_RELATIVE, grow.P_SUBJECT_RELATIVE
            self.add(p[0] if value < p[0] else p[1] if value < sum(p) else 1 - sum(p))
        else:
            possible = sum(core.percent for core in CORES if core.min_words <= self.words_left)
            below = value * 100
            for core in CORES:
                if 0 <= below < core.percent and core.min_words <= self.words_left:
                    possible = 100 - core.percent
                below -= core.percent
            self.add(1 - possible / 100)
        return value

    def with_probability(self, probability):
        value = self.script.pop(0)
        self.add(probability if value else 1 - probability)
        return value

    def pick(self, choices):
        reject_if(not choices)
        value = self.script.pop(0)
        self.add(choices.count(value) / len(choices))
        if isinstance(value, Reason):
            self.log_p += math.log(mean_plans(*self.telling))
        return value

    def verb(self, choices):
        value = self.script.pop(0)
        reject_if(value[0].fr in self.used)
        again = fmean(verb.fr in self.used for verb, _ in choices)
        self.add(choices.count(value) / len(choices) * sum(again**i for i in range(WORD_TRIES)))
        self.spend(value[0].n_words)
        self.used.append(value[0].fr)
        return value

    def noun(self, tags, plural=None):
        form, latest, again, wanted = self.script.pop(0), self.latest, 0.0, 0.0
        for noun in nouns_with(tags):
            p_plural = (drawing.P_PLURAL if plural is None else plural) * noun.countable
            for number, p in ((False, 1 - p_plural), (True, p_plural)):
                if noun in self.used or (noun, number) in self.banned:
                    again += p / len(nouns_with(tags))
                elif (noun, number) == form:
                    wanted = p / len(nouns_with(tags))
        self.add(wanted * sum(again**i for i in range(WORD_TRIES)))
        self.latest = latest  # for `phrase`
        return form

    def phrase(self, *arguments, **options):
        of_definite, before = self.latest, self.log_p
        phrase = super().phrase(*arguments, **options)
        self.of_determiner[phrase] = of_definite + self.log_p - before
        return phrase

    def merge_draws_of_determiner(self, phrase: Phrase) -> None:
        """After a preposition, several draws end in the same determiner."""
        places = [clause.location for clause in self.clauses if not clause.because]
        for place in [*places, *(head.modifier for head in self.phrases)]:
            if getattr(place, "phrase", None) is phrase and phrase.determiner != "none":
                usual = drawing.PLURAL_DETERMINERS if phrase.plural else drawing.SINGULAR_DETERMINERS
                definite, allowed = drawing.DEFINITE_DETERMINERS, place.preposition.determiners
                self.log_p -= self.of_determiner[phrase]
                self.add(
                    fmean(
                        fmean((word if word in allowed else "the") == phrase.determiner for word in choices)
                        for choices in (definite, usual if phrase.noun.countable else definite)
                    )
                )


@cache
def mean_plans(telling: bool, plural: bool | None = None, n: int = 1000) -> float:
    """How many plans for a reason are drawn until one fits."""
    n_plans, rng = 0, random.Random(0)

    class Planning(Sentence):
        def pick(self, choices):
            nonlocal n_plans
            n_plans += choices is grammar().reasons
            return super().pick(choices)

        def with_probability(self, probability):
            drawn = super().with_probability(probability)
            return plural if telling and probability == drawing.P_PLURAL else drawn

    fitting = sum(Planning(rng, 20).attempt(plan_because, telling) for _ in range(n)) / n_plans
    return (1 - (1 - fitting) ** PLAN_TRIES) / fitting


class Success(Exception):
    """A trial has succeeded."""


class Trials(Sentence):
    """Continues a repeated sentence until a growth succeeds, and counts the trials."""

    def __init__(self, repeated: Repeated, rng: random.Random):
        super().__init__(rng, 0)
        vars(self).update({name: getattr(repeated, name) for name in vars(self) if name != "random"})
        self.n = 0

    def attempt(self, step, *arguments) -> bool:
        self.n += 1
        if super().attempt(step, *arguments):
            raise Success
        return False


def mean_trials(recorded: Recorded, order: Sequence[int], rng: random.Random) -> float:
    n = successes = 0
    while successes < RUNS:
        trials = Trials(Repeated(recorded, order), rng)
        try:
            grow.grow(trials)
        except Success:
            successes += 1
        n += trials.n
    return n / RUNS


def log_probability(recorded: Recorded, rng: random.Random) -> float:
    """Of this sentence among all that are started with its size; many of those are given up."""
    steps = recorded.steps
    main = [number for number, (step, *_) in enumerate(steps) if step is grow.add_main_clause]
    states = {frozenset([0]): ([0], Repeated(recorded, [0]).log_p)}
    for _ in steps[1:]:
        longer: dict[frozenset[int], tuple[list[int], float]] = {}
        for done, (order, log_p) in states.items():
            log_p += math.log(mean_trials(recorded, order, rng))
            for number in set(range(len(steps))) - done:
                if number in main and not done.issuperset(other for other in main if other < number):
                    continue  # in another order they would be another sentence
                try:
                    new = log_p + Repeated(recorded, [*order, number]).log_p_of_step
                except (DeadEnd, KeyError):  # this step needs another first
                    continue
                _, known = longer.get(done | {number}, ([], -math.inf))
                total = max(new, known) + math.log1p(math.exp(-abs(new - known)))
                longer[done | {number}] = [*order, number], total
        states = longer
    [(_, log_p)] = states.values()
    return log_p


def draw(rng: random.Random, size: int, kind: type[Sentence] = Sentence) -> tuple[Sentence, int]:
    """A sentence, and how many were started for it."""
    for n in range(1, generate.MAX_TRIES):
        sentence = kind(rng, size)
        if sentence.attempt(compose) and grow.grow(sentence):
            return sentence, n
    raise DeadEnd


def floor_losses(rng: random.Random, n_drawn: int = 300) -> list[tuple[tuple[str, ...], float]]:
    """The French test sentences, and minus the log-probability of each among those of all lengths."""
    recorded = {}

    class Kept(Recorded):
        def pair(self):
            pair = super().pair()
            recorded[pair.src] = self
            return pair

    with patch.object(generate, "Sentence", Kept):
        splits = draw_splits(0, TEST_SIZES)
    held_out, n_started, n_usual = set(splits.held_out), {}, 0
    for size in SIZES:
        drawn = [draw(rng, size) for _ in range(n_drawn)]
        n_started[size] = fmean(n for _, n in drawn)
        n_usual += sum(held_out.isdisjoint(sentence.combinations) for sentence, _ in drawn)
    losses = []
    for pair in splits.test:
        sentence = recorded[pair.src]
        # Finished; of this one of all lengths; and without the combinations of `recombination`.
        constant = math.log(n_started[sentence.size] / n_usual * n_drawn)
        losses.append((pair.tgt, -log_probability(sentence, rng) - constant))
    return losses


def measure_floor(models: dict[str, Callable[[tuple[str, ...]], float]]) -> dict:
    """`models` gives the loss of each for a sentence with its end token; errors are over the sentences."""
    rng = random.Random(0)
    sentences, floor = zip(*floor_losses(rng), strict=True)
    lengths = [len(words) + 1 for words in sentences]
    n = sum(lengths)

    def compared(losses: list[float]) -> dict[str, float]:
        above = [loss - of_floor for loss, of_floor in zip(losses, floor, strict=True)]
        mean = sum(above) / n
        error = math.sqrt(sum((d - mean * length) ** 2 for d, length in zip(above, lengths, strict=True))) / n
        return {"perplexity": math.exp(sum(losses) / n), "nats above": mean, "standard error": error}

    return {
        "expected": EXPECTED,
        "perplexity": math.exp(sum(floor) / n),
        "tokens": n,
        "models": {name: compared([loss(words) for words in sentences]) for name, loss in models.items()},
        "computed to counted": {str(size): computed_to_counted(size, rng) for size in (3, 4, 5)},
    }


def computed_to_counted(size: int, rng: random.Random, n: int = 20_000, n_computed: int = 300) -> float:
    """The mean probability of a sentence as computed, divided by how often it is drawn."""
    chosen = [draw(rng, size, Recorded) for _ in range(n_computed)]
    others = [draw(rng, size) for _ in range(n)]
    n_started = fmean(n_started for _, n_started in chosen + others)
    counts = Counter(sentence.pair().tgt for sentence, _ in others)
    computed = fmean(math.exp(log_probability(sentence, rng)) * n_started for sentence, _ in chosen)
    return computed / fmean(counts[sentence.pair().tgt] / n for sentence, _ in chosen)
