"""The n-gram model: count what followed the last n - 1 words, interpolated with shorter contexts.

    Andrey Markov 1913; Claude Shannon 1948    counts of letters, then of words, given those before them
    Ian Witten, Timothy Bell 1991              The Zero-Frequency Problem    (the interpolation weights)

    p(w | a b) = (count(a b w) + kinds(a b) · p(w | b)) / (count(a b) + kinds(a b))

where kinds(a b) is the number of different words that have followed "a b". After a context with many
different successors another new one is likely, so the shorter context gets more weight. The shortest context
is a uniform distribution over the vocabulary, so no probability is 0. A context that was never seen is
skipped, and the next shorter one is used.

Kneser-Ney smoothing (1995) is slightly better, but harder to explain. `fit` counts; there are no parameters
and no gradients, and logits are log probabilities.
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
from course_lib.models.translator import Decoded, Stepped, Target, Tokens
from course_lib.shapes import Float, Int, Tensor
from course_lib.text.special import BOS, EOS, PAD, check_id, check_words

Past = tuple[int, ...]
"""The preceding words, nearest first, so that a longer past starts with the shorter one."""

_NO_KEY = torch.iinfo(torch.int64).max


def count_ngrams(sentences: Iterable[Sequence[int]], *, order: int) -> dict[Past, Counter[int]]:
    """Count how often each word followed each past of at most order - 1 words. Adds BOS and EOS.

    >>> counts = count_ngrams([[7, 8], [7, 9]], order=2)
    >>> counts[(7,)]                              # 8 and 9 each followed 7 once
    Counter({8: 1, 9: 1})
    >>> counts[()][EOS]                           # EOS occurred twice
    2
    """
    counts = defaultdict(Counter)
    for sentence in sentences:
        words = [BOS, *sentence, EOS]
        for position in range(1, len(words)):
            for length in range(min(order, position + 1)):
                past = tuple(words[position - 1 - back] for back in range(length))
                counts[past][words[position]] += 1
    return counts


def witten_bell(
    count: Int[Tensor, "... vocab"],
    total: Int[Tensor, "... 1"],
    kinds: Int[Tensor, "... 1"],
    shorter: Float[Tensor, "... vocab"],
) -> Float[Tensor, "... vocab"]:
    """Interpolate the counts after a past with the probabilities after a shorter one.

    >>> uniform = torch.full((1, 4), 0.25)        # 6 words of 2 kinds: the shorter past counts as 2 words
    >>> witten_bell(torch.tensor([[4, 2, 0, 0]]), torch.tensor([[6]]), torch.tensor([[2]]), uniform)
    tensor([[0.5625, 0.3125, 0.0625, 0.0625]])
    """
    interpolated = (count + kinds * shorter) / (total + kinds).clamp(min=1)
    return torch.where(total > 0, interpolated, shorter)


@dataclass(frozen=True, kw_only=True)
class NGramLMConfig(Config):
    """`order` is n: 3 predicts a word from the two before it. `tied` and `dropout` have no effect."""

    order: int = 3


class NGramLM(LanguageModel):
    """Counts, stored in tensors so that they are saved and moved like parameters.

    Pasts are numbered, and the empty past is 0. `longer` maps a past to one that goes a word further back: it
    has sorted keys number · vocab_size + word, and the key at index i belongs to past i + 1. `grams` has keys
    of the same form for the words that followed a past, and `counts` their counts. Both end with a key that
    never occurs, `total` and `kinds` with an unseen past, so that a search always returns a valid index.
    """

    def __init__(self, config: NGramLMConfig):
        super().__init__(config)
        self._set_tables({(): Counter()})
        # Without parameters, this buffer records the dtype that the model was moved to.
        self.register_buffer("decimal", torch.zeros(()), persistent=False)
        self.register_load_state_dict_pre_hook(_resize_tables)

    def fit(self, sentences: Iterable[Sequence[int]]) -> None:
        """Count these sentences (ids without BOS and EOS), replacing all earlier counts."""
        counts = count_ngrams(map(self._checked, sentences), order=self.config.order)
        if not counts:
            raise ValueError("Expected at least one sentence, but got none. Was an iterator exhausted?")
        self._set_tables(counts)

    def start(self, n_rows: int) -> Rows:
        return {"window": torch.full((n_rows, self.config.order - 1), PAD, device=self.total.device)}

    def say(self, tokens: Target, *, with_weights: bool) -> Decoded:
        windows = last_words(tokens, self.config.order, fill=PAD)  # (batch, tgt, order)
        return self._log_probabilities(windows[..., 1:]), None

    def advance(self, state: Rows, tokens: Tokens, *, with_weights: bool) -> Stepped:
        window = slide(state["window"], tokens)
        return self._log_probabilities(window), {"window": window}, None

    def _log_probabilities(self, window: Tensor) -> Tensor:
        """Start with the empty past and go back one word at a time."""
        vocab = torch.arange(self.config.vocab_size, device=window.device)
        past = torch.zeros(window.shape[:-1], dtype=torch.int64, device=window.device)
        # Half precision would lose the probabilities of rare words.
        dtype = torch.promote_types(self.decimal.dtype, torch.float32)
        probabilities = torch.full(
            (*past.shape, len(vocab)), 1 / len(vocab), dtype=dtype, device=window.device
        )
        for back in range(window.shape[-1] + 1):
            if back > 0:
                index, exists = self._search(self.longer, past, window[..., -back])
                past = torch.where(exists, index + 1, len(self.total) - 1)
            index, exists = self._search(self.grams, past[..., None], vocab)  # (..., vocab)
            count = torch.where(exists, self.counts[index], 0)
            total, kinds = self.total[past][..., None], self.kinds[past][..., None]
            probabilities = witten_bell(count, total, kinds, probabilities)
        return probabilities.log()

    def _search(self, keys: Tensor, past: Tensor, word: Tensor) -> tuple[Tensor, Tensor]:
        """The index of (past, word) in the sorted keys, and whether it is there."""
        key = past * self.config.vocab_size + word
        index = torch.searchsorted(keys, key)
        return index, keys[index] == key

    def _checked(self, sentence: Sequence[int]) -> Sequence[int]:
        check_words(sentence)
        for token_id in sentence:
            check_id(token_id, self.config.vocab_size)
        return sentence

    def _set_tables(self, counts: Mapping[Past, Counter[int]]) -> None:
        pasts = sorted(counts, key=lambda past: (len(past), past))  # the empty past is first
        first_key = {past: index * self.config.vocab_size for index, past in enumerate(pasts)}
        grams = [(past, word) for past in pasts for word in sorted(counts[past])]
        tables = {
            "longer": [*(first_key[past[:-1]] + past[-1] for past in pasts[1:]), _NO_KEY],
            "grams": [*(first_key[past] + word for past, word in grams), _NO_KEY],
            "counts": [*(counts[past][word] for past, word in grams), 0],
            "total": [*(counts[past].total() for past in pasts), 0],
            "kinds": [*(len(counts[past]) for past in pasts), 0],
        }
        device = self.total.device if "total" in self._buffers else None
        for name, table in tables.items():
            self.register_buffer(name, torch.tensor(table, device=device))


def _resize_tables(module: nn.Module, state_dict: dict[str, Tensor], prefix: str, *_: object) -> None:
    """Resize the tables to the saved ones before loading: their lengths depend on the text."""
    for name, table in module.named_buffers(recurse=False):
        saved = state_dict.get(prefix + name)
        if saved is not None:
            setattr(module, name, table.new_zeros(saved.shape))
