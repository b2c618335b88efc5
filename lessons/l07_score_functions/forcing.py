"""Change the attention weights of a trained Luong decoder, and see which words it then predicts.

>>> links = frozenset({(0, 0), (1, 1), (2, 2)})
>>> pair = Pair(("the", "cat", "sleeps"), ("le", "chat", "dort"), links)
>>> predict = predictor("luong_dot")
>>> predict(pair, lambda step, weights: weights)        # nothing is changed
['le', 'chat', 'dort']
>>> onto_the(pair), onto_the_noun(pair)     # {step: position to attend to}
({0: 0}, {0: 1})
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache

import torch
from torch import Tensor

from course_lib.text.batch import make_batch
from course_lib.text.pair import Pair
from course_lib.text.toy.lexicon import lexicon
from course_lib.translation.shipped import shared

Change = Callable[[int, Tensor], Tensor]  # a step and its attention weights -> the attention weights to use
ARTICLES = ("le", "la", "l'", "les")


class Predictor:
    """Calls `change(step, weights)` at every step and uses the attention weights that it returns.

    The decoder is teacher-forced. The answer has the most likely word for each word of the target.
    """

    def __init__(self, name: str):
        self.name = name

    def __repr__(self) -> str:
        return f'predictor("{self.name}")'

    def __eq__(self, other: object) -> bool:
        return repr(self) == repr(other)

    __hash__ = None

    @torch.no_grad()
    def __call__(self, pair: Pair, change: Change) -> list[str]:
        translator = shared(self.name)
        model, tokenizer = translator.model, translator.tokenizer
        batch = make_batch([tokenizer.encode(pair.src_text)], [tokenizer.encode(pair.tgt_text)])
        memory = model.encode(batch.src, batch.src_lengths)
        state, words = model.start(memory), []
        for step in range(len(pair.tgt)):
            embedded = model.embed(batch.tgt_in[:, step : step + 1])[:, 0]
            inputs = torch.cat([embedded, state["fed"]], dim=-1)
            top, state = model.decoder.step(inputs, {part: state[part] for part in ("hidden", "cell")})
            _, weights = model.attend(memory, top[:, None], torch.tensor([[step]]))
            weights = read_weights(change(step, weights[0, 0].clone()), weights.shape[-1])
            context = weights[None] @ memory["states"][0]
            state["fed"] = torch.tanh(model.combine(torch.cat([context, top], dim=-1)))
            words.append(tokenizer.decode([int(model.logits(state["fed"]).argmax())]))
        return words


predictor = Predictor


def read_weights(weights: object, n: int) -> Tensor:
    if not isinstance(weights, Tensor) or weights.shape != (n,):
        shape = f" of shape {tuple(weights.shape)}" if isinstance(weights, Tensor) else ""
        raise TypeError(
            f"at every step, `change(step, weights)` must return the attention weights, a tensor of shape "
            f"({n},), with EOS; it returned {'a tensor' if shape else repr(weights)}{shape}"
        )
    return weights.float()


# ---- articles


def onto_the(pair: Pair) -> dict[int, int]:
    """For each French article that translates "the": its position, and the position of "the"."""
    return {french: english for english, french in sorted(pair.links) if _is_article(pair, english, french)}


def onto_the_noun(pair: Pair) -> dict[int, int]:
    """For each French article that translates "the": its position, and the position of the next noun."""
    return {french: next(_nouns_after(pair, english)) for french, english in onto_the(pair).items()}


def _is_article(pair: Pair, english: int, french: int) -> bool:
    return pair.src[english] == "the" and pair.tgt[french] in ARTICLES


def _nouns_after(pair: Pair, position: int) -> Iterator[int]:
    """The positions of nouns; the last word of "ice cream"."""
    for end in range(position + 2, len(pair.src) + 1):
        if pair.src[end - 1] in _nouns() or " ".join(pair.src[end - 2 : end]) in _nouns():
            yield end - 1


@cache
def _nouns() -> frozenset[str]:
    return frozenset(form for noun in lexicon().nouns for form in noun.en)


# ---- for trying out and for the check


class PointingModel:
    """A decoder without parameters that has the interface of `Predictor`.

        >>> pair = Pair(("the", "cat"), ("le", "chat"))
        >>> model = PointingModel({"le chat": [1, 1]})           # it finds both words at position 1
        >>> model(pair, lambda step, weights: weights)
        ['le', 'chat']
        >>> model(pair, lambda step, weights: torch.tensor([1.0, 0.0, 0.0]))
        ['?', '?']

    Its own attention weights are 0.7 at the word's position, and the rest is spread evenly. It predicts a
    word if these weights are unchanged or if all the weight is on the word's position, and "?" otherwise.
    Once it has missed a word that isn't an article, it predicts nothing but "?". With `least=0.8`, it is
    enough if 80% of the weight is on the word's position.
    """

    def __init__(self, positions: Mapping[str, Sequence[int]], *, least: float = 1.0):
        self.positions, self.least = dict(positions), least

    def __repr__(self) -> str:
        return f"PointingModel({self.positions}{f', least={self.least}' if self.least < 1 else ''})"

    def __eq__(self, other: object) -> bool:
        return repr(self) == repr(other)

    __hash__ = None

    def __call__(self, pair: Pair, change: Change) -> list[str]:
        n, is_lost, words = len(pair.src) + 1, False, []
        for step, position in enumerate(self.positions[pair.tgt_text]):
            all_on_it = torch.eye(n)[position]
            own = 0.7 * all_on_it + 0.3 * (1 - all_on_it) / (n - 1)
            used = read_weights(change(step, own.clone()), n)
            is_far = (used - all_on_it).abs().max() > 1 - self.least + 1e-3
            is_right = not is_lost and (used.allclose(own, atol=1e-3) or not is_far)
            words.append(pair.tgt[step] if is_right else "?")
            is_lost = is_lost or not (is_right or pair.tgt[step] in ARTICLES)
        return words


class Positions:
    """A function like `onto_the`, given as a table."""

    def __init__(self, by_target: Mapping[str, Mapping[int, int]]):
        self.by_target = {target: dict(positions) for target, positions in by_target.items()}

    def __repr__(self) -> str:
        return f"Positions({self.by_target})"

    def __eq__(self, other: object) -> bool:
        return repr(self) == repr(other)

    __hash__ = None

    def __call__(self, pair: Pair) -> dict[int, int]:
        return dict(self.by_target[pair.tgt_text])
