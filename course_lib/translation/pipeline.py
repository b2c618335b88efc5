"""Translate texts: tokenise, batch, search, and return the translations in the order of the texts.

    for translation in translate(["the cat sleeps", ""], system, tokenizer):
        print(translation.target, translation.notes)

    le chat dort ()
     ('nothing to translate: the text is empty',)

No text is an error: anything unusual (unknown words, a truncated source) is reported in the notes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import torch

from course_lib.models.inference import device_of, eval_mode
from course_lib.models.translator import Translator
from course_lib.shapes import Float, Tensor
from course_lib.text.batch import make_batch
from course_lib.text.special import EOS, PAD, SPECIAL, UNK
from course_lib.text.tokenizer import Tokenizer
from course_lib.translation.search import beam_search, greedy

EMPTY = "nothing to translate: the text is empty"
ALL_UNKNOWN = "none of these words is in the vocabulary, so the output is only a guess"
NO_OUTPUT = "the system generated no words, only the end-of-sentence token"
PUNCTUATION = '.,!?;:…"()«»“”'
MAX_UNKNOWN = 8  # unknown words listed in a note
TOKENS_PER_BATCH = 4096  # sentences × beam × length, padding included


@dataclass(frozen=True)
class Translation:
    """A text and its translation.

    The tokens include `</s>`, so they label the attention weights: rows are target tokens, columns source
    tokens. A translation that was cut off has no `</s>`; that of an empty text has no tokens. `score` is
    the log-probability divided by GNMT's length penalty (`search.py`).
    """

    source: str
    target: str
    source_tokens: tuple[str, ...] = ()
    target_tokens: tuple[str, ...] = ()
    score: float = 0.0
    weights: Float[Tensor, "layers heads tgt src"] | None = field(default=None, compare=False, repr=False)
    notes: tuple[str, ...] = ()
    read: str = ""  # the source after `clean_text`

    @property
    def finished(self) -> bool:
        """Whether the system generated EOS; True for an empty text."""
        return not self.source_tokens or self.target_tokens[-1:] == (SPECIAL[EOS],)


def translate(
    texts: Sequence[str],
    system: Translator,
    tokenizer: Tokenizer,
    *,
    beam: int = 1,
    length_penalty: float = 0.6,
    with_weights: bool = False,
    progress: Callable[[int], object] | None = None,
    tokens_per_batch: int | None = None,
) -> list[Translation]:
    """Translate all texts, in the order given; a beam of 1 is greedy decoding.

    A translation has at most 2 · source + 10 tokens, and a source or translation at most the system's
    `max_len`, all including EOS; a longer source is truncated, with a note. `progress` is called after each
    batch with the number of texts in it, so it can be `tqdm(...).update`. A batch has at most
    `tokens_per_batch` tokens, or `TOKENS_PER_BATCH`: sentences × beam × length.
    """
    if isinstance(texts, str):
        raise TypeError("Expected several texts, but got one string. Wrap it: translate([text], ...).")
    if tokenizer.vocab_size != system.config.vocab_size:
        raise ValueError(
            f"Expected a tokenizer of {system.config.vocab_size} tokens, as in the system's configuration, "
            f"but it has {tokenizer.vocab_size}. Use the tokenizer that was saved with the system."
        )
    longest = system.config.max_len - 1  # one position is for EOS
    sources = [prepare(text, tokenizer) for text in texts]
    lengths = {i: min(len(source.ids), longest) + 1 for i, source in enumerate(sources) if source.ids}
    empty = [i for i, source in enumerate(sources) if not source.ids]  # a system would invent an output
    done = {i: Translation(texts[i], "", notes=sources[i].notes) for i in empty}
    report, most = progress or (lambda n: None), tokens_per_batch or TOKENS_PER_BATCH
    report(len(empty))
    for indices in by_length(lengths, most // max(beam, 1)):  # beam_search rejects a beam of 0
        batch = make_batch([sources[i].ids[:longest] for i in indices], [[]] * len(indices))
        limit = (2 * batch.src_lengths + 10).clamp(max=system.config.max_len)
        batch = batch.to(device_of(system))
        with eval_mode(system), torch.inference_mode():
            memory = system.encode(batch.src, batch.src_lengths)
        options = {"max_len": limit, "length_penalty": length_penalty, "with_weights": with_weights}
        if beam == 1:
            best = greedy(system, memory, **options)
        else:
            best = beam_search(system, memory, beam=beam, **options)
        weights = [None] * len(indices) if best.weights is None else best.weights.float().cpu()
        rows = zip(indices, best.ids.tolist(), best.scores.tolist(), weights, strict=True)
        for i, row, score, attention in rows:
            output, source = [token for token in row if token != PAD], sources[i]
            read = source.ids[:longest]
            done[i] = Translation(
                source=texts[i],
                target=tokenizer.decode(output),
                source_tokens=(*tokenizer.tokens(read), SPECIAL[EOS]),
                target_tokens=tuple(tokenizer.tokens(output)),
                score=score,
                # a copy, because a view would keep the whole batch in memory
                weights=None if attention is None else attention[..., : len(output), : len(read) + 1].clone(),
                notes=(*source.notes, *notes_after(len(source.ids), len(read), output)),
                read=source.text,
            )
        report(len(indices))
    return [done[i] for i in range(len(texts))]


@dataclass(frozen=True)
class SourceText:
    """A text after `clean_text`, its token ids, and its unknown words."""

    text: str
    ids: tuple[int, ...]
    unknown: tuple[str, ...]

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on the text itself, before it is translated.

        >>> from course_lib.text.word_tokenizer import WordTokenizer
        >>> prepare("the axolotl sleeps", WordTokenizer(["the", "cat", "sleeps"])).notes
        ('not in the vocabulary, replaced with <unk>: axolotl',)
        """
        if not self.ids:
            return (EMPTY,)
        if not self.unknown:
            return ()
        n_more = len(self.unknown) - MAX_UNKNOWN
        listed = ", ".join(map(printable, self.unknown[:MAX_UNKNOWN]))
        more = f" and {n_more} more" if n_more > 0 else ""
        note = f"not in the vocabulary, replaced with <unk>: {listed}{more}"
        return (note, ALL_UNKNOWN) if set(self.ids) == {UNK} else (note,)


def prepare(text: str, tokenizer: Tokenizer) -> SourceText:
    """Clean and encode a text."""
    cleaned = clean_text(text, tokenizer)
    ids, unknown = tokenizer.encode_with_unknown(cleaned)
    return SourceText(cleaned, tuple(ids), tuple(unknown))


def clean_text(text: str, tokenizer: Tokenizer) -> str:
    """Normalise a typed text to the vocabulary: lower-case words known only in lower case, split punctuation
    from words, and drop unknown punctuation.

    >>> from course_lib.text.word_tokenizer import WordTokenizer
    >>> clean_text("The Cat, Tom, sleeps.", WordTokenizer(["the", "cat", "sleeps"]))
    'the cat Tom sleeps'
    """
    unknown = set(tokenizer.unknown(text))
    words = []
    for word in text.split():
        if word not in unknown:
            words.append(word)
            continue
        bare = word.strip(PUNCTUATION)
        signs = word[word.rfind(bare) + len(bare) :] if bare else word
        words.append(bare if tokenizer.unknown(bare.lower()) else bare.lower())
        words += [sign for sign in signs if not tokenizer.unknown(sign)]
    return " ".join(filter(None, words))


def notes_after(n_tokens: int, n_read: int, output: Sequence[int]) -> list[str]:
    """Notes on a translation, from the source's token count, the number of tokens read, and the output ids.

    >>> notes_after(300, 255, [7, 3])
    ['too long: only the first 255 of its 300 tokens were used']
    """
    notes = []
    if n_tokens > n_read:
        notes.append(f"too long: only the first {n_read} of its {n_tokens} tokens were used")
    if output[-1] != EOS:
        notes.append(f"the translation was cut off after {len(output)} tokens, before it had ended")
    if output[0] == EOS:
        notes.append(NO_OUTPUT)
    return notes


def printable(word: str) -> str:
    r"""A word shortened to 40 characters, with unprintable characters escaped.

    >>> printable("a\x07b\u202e")
    'a\\x07b\\u202e'
    """
    shown = word if len(word) <= 40 else word[:39] + "…"
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in shown)


def by_length(lengths: Mapping[int, int], tokens_per_batch: int) -> Iterator[list[int]]:
    """Group sentences into batches of at most `tokens_per_batch` tokens (or one sentence), longest first.

    `lengths` maps each sentence's index to its length.

    >>> list(by_length({0: 2, 1: 9, 3: 3, 4: 8}, tokens_per_batch=18))
    [[1, 4], [3, 0]]
    """
    ranked = sorted(lengths, key=lambda index: -lengths[index])
    first = 0
    while first < len(ranked):
        n = max(1, tokens_per_batch // lengths[ranked[first]])
        yield ranked[first : first + n]
        first += n
