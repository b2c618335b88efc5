"""The n-gram model: count what followed the last words, and mix with what followed fewer of them.

    Andrey Markov 1913; Claude Shannon 1948    counting letters, then words, by those before them
    Ian Witten, Timothy Bell 1991              The Zero-Frequency Problem    (how much to trust a count)

    p(w | a b) = (count(a b w) + kinds(a b) · p(w | b)) / (count(a b) + kinds(a b))

where kinds(a b) is how many different words have followed "a b". Read it as: beside what was counted,
every new kind of word that turned up earns one vote for a shorter past, since where many new ones came
another new one is likely. At the bottom of the ladder all words of the vocabulary are equally likely, so
nothing is ever impossible. A past that was never seen is left out, and the shorter one decides.

What was new: a language model at all, by counting alone. It is still hard to beat with little text.

What was still missing: it cannot see beyond n - 1 words, the number of pasts explodes with n so that most
are never seen, and no two words are ever alike: what it learns of "cat" tells it nothing about "dog".

Where this differs from common practice: Kneser and Ney (1995) is a little better and a little harder to
explain. `fit` counts; there are no weights and no gradients, and logits are log probabilities.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import nn

from course_lib.layers.convolution import last_words, slide
from course_lib.layers.rows import Rows
from course_lib.models.config import Config
from course_lib.models.language_model import LanguageModel
from course_lib.models.translator import Decoded, Stepped
from course_lib.shapes import Float, Int, Tensor
from course_lib.text.special import BOS, EOS, PAD, check_id, check_words

Past = tuple[int, ...]
"""The words before, nearest first: so a longer past starts with the shorter one."""

_NO_KEY = torch.iinfo(torch.int64).max


def count_ngrams(sentences: Iterable[Sequence[int]], *, order: int) -> dict[Past, Counter[int]]:
    """How often each word followed each past of at most order - 1 words, with BOS before and EOS after.

    >>> counts = count_ngrams([[7, 8], [7, 9]], order=2)
    >>> counts[(7,)]                              # after 7: once 8, once 9
    Counter({8: 1, 9: 1})
    >>> counts[()][EOS]                           # whatever came before: EOS twice
    2
    """
    counts: dict[Past, Counter[int]] = defaultdict(Counter)
    for sentence in sentences:
        words = [BOS, *sentence, EOS]
        for place in range(1, len(words)):
            for length in range(min(order, place + 1)):
                past = tuple(words[place - 1 - back] for back in range(length))
                counts[past][words[place]] += 1
    return counts


def witten_bell(
    count: Int[Tensor, "... vocab"],
    total: Int[Tensor, "... 1"],
    kinds: Int[Tensor, "... 1"],
    shorter: Float[Tensor, "... vocab"],
) -> Float[Tensor, "... vocab"]:
    """Counts after a past, mixed with the probabilities after a shorter one.

    >>> even = torch.full((1, 4), 0.25)           # 6 words seen, of 2 kinds: the shorter past has 2 votes
    >>> witten_bell(torch.tensor([[4, 2, 0, 0]]), torch.tensor([[6]]), torch.tensor([[2]]), even)
    tensor([[0.5625, 0.3125, 0.0625, 0.0625]])
    """
    mixed = (count + kinds * shorter) / (total + kinds).clamp(min=1)
    return torch.where(total > 0, mixed, shorter)


@dataclass(frozen=True, kw_only=True)
class NGramLMConfig(Config):
    """`order` is n: 3 looks at two words to tell the third. There is nothing to tie or to drop out."""

    order: int = 3


class NGramLM(LanguageModel):
    """Counts, in tables that are tensors: they are saved and moved like weights.

    Pasts are numbered, the empty one is 0. `longer` leads from a past to one that goes a word further back:
    sorted keys number · vocab_size + word, and the key at place i stands for past i + 1. `grams` are keys of
    the same make for the words that followed a past, with their `counts`. Both end with a key that nobody
    asks for, `total` and `kinds` with a past that never was: so a search always lands somewhere.
    """

    def __init__(self, config: NGramLMConfig):
        super().__init__(config)
        self._set_tables({(): Counter()})
        # No weight tells which dtype the model was moved to: this does.
        self.register_buffer("decimal", torch.zeros(()), persistent=False)
        self.register_load_state_dict_pre_hook(_make_room)

    def fit(self, sentences: Iterable[Sequence[int]]) -> None:
        """Counts these sentences (ids without BOS and EOS), in place of what was counted before."""
        counts = count_ngrams(map(self._checked, sentences), order=self.config.order)
        if not counts:
            raise ValueError(
                "Expected at least one sentence to count, but got none. Was an iterator used up?"
            )
        self._set_tables(counts)

    def start(self, n_rows: int) -> Rows:
        return {"window": torch.full((n_rows, self.config.order - 1), PAD, device=self.total.device)}

    def say(self, tokens: Int[Tensor, "batch tgt"], *, with_weights: bool) -> Decoded:
        windows = last_words(tokens, self.config.order, fill=PAD)  # (batch, tgt, order)
        return self._log_probabilities(windows[..., 1:]), None

    def advance(self, state: Rows, tokens: Int[Tensor, " batch"], *, with_weights: bool) -> Stepped:
        window = slide(state["window"], tokens)
        return self._log_probabilities(window), {"window": window}, None

    def _log_probabilities(self, window: Tensor) -> Tensor:
        """From the empty past to the longest, one word further back at a time."""
        vocab = torch.arange(self.config.vocab_size, device=window.device)
        past = torch.zeros(window.shape[:-1], dtype=torch.int64, device=window.device)
        # Half precision would round the rare words off: never below float32.
        dtype = torch.promote_types(self.decimal.dtype, torch.float32)
        likely = torch.full((*past.shape, len(vocab)), 1 / len(vocab), dtype=dtype, device=window.device)
        for back in range(window.shape[-1] + 1):
            if back > 0:
                place, found = self._search(self.longer, past, window[..., -back])
                past = torch.where(found, place + 1, len(self.total) - 1)
            place, found = self._search(self.grams, past[..., None], vocab)  # (..., vocab)
            count = torch.where(found, self.counts[place], 0)
            likely = witten_bell(count, self.total[past][..., None], self.kinds[past][..., None], likely)
        return likely.log()

    def _search(self, keys: Tensor, past: Tensor, word: Tensor) -> tuple[Tensor, Tensor]:
        wanted = past * self.config.vocab_size + word
        place = torch.searchsorted(keys, wanted)
        return place, keys[place] == wanted

    def _checked(self, sentence: Sequence[int]) -> Sequence[int]:
        check_words(sentence)
        for token_id in sentence:
            check_id(token_id, self.config.vocab_size)
        return sentence

    def _set_tables(self, counts: Mapping[Past, Counter[int]]) -> None:
        pasts = sorted(counts, key=lambda past: (len(past), past))  # shorter ones first: 0 is the empty one
        number = {past: place * self.config.vocab_size for place, past in enumerate(pasts)}
        grams = [(past, word) for past in pasts for word in sorted(counts[past])]
        tables = {
            "longer": [*(number[past[:-1]] + past[-1] for past in pasts[1:]), _NO_KEY],
            "grams": [*(number[past] + word for past, word in grams), _NO_KEY],
            "counts": [*(counts[past][word] for past, word in grams), 0],
            "total": [*(counts[past].total() for past in pasts), 0],
            "kinds": [*(len(counts[past]) for past in pasts), 0],
        }
        device = self.total.device if "total" in self._buffers else None
        for name, table in tables.items():
            self.register_buffer(name, torch.tensor(table, device=device))


def _make_room(module: nn.Module, state_dict: dict[str, Tensor], prefix: str, *_: object) -> None:
    """How long the tables are depends on the text that was counted: take the saved lengths over first."""
    for name, table in module.named_buffers(recurse=False):
        saved = state_dict.get(prefix + name)
        if saved is not None:
            setattr(module, name, table.new_zeros(saved.shape))
