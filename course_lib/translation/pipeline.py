"""Texts in, translations out: tokenise, batch, search, and put everything back in order.

    for translation in translate(["the cat sleeps", ""], system, tokenizer):
        print(translation.target, translation.notes)

    le chat dort ()
     ('nothing to translate: the text is empty',)

Nothing that somebody may type is an error: what is odd is said in the notes. Nothing is printed here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import torch

from course_lib.models.in_use import device_of, eval_mode
from course_lib.models.translator import Translator
from course_lib.shapes import Float, Int, Tensor
from course_lib.text.batch import make_batch
from course_lib.text.special import EOS, PAD, SPECIAL, UNK
from course_lib.text.tokenizer import Tokenizer
from course_lib.translation.search import beam_search, greedy

EMPTY = "nothing to translate: the text is empty"
ALL_UNKNOWN = "not one token of it is known: the translation is a guess"
SAID_NOTHING = "the system ended at once: it said no word"
PUNCTUATION = '.,!?;:…"()«»“”'
SHOWN = 8  # unknown words in a note
TOKENS_PER_BATCH = 4096  # sentences × beam × length, padding included


@dataclass(frozen=True)
class Translation:
    """One text and what became of it.

    The tokens are those the system read and said, `</s>` among them, so they label the weights: rows are
    target tokens, columns source tokens. A translation that was cut has no `</s>`, an empty one no tokens.
    `score` is the log-probability, divided by GNMT's length penalty (`search.py`).
    """

    source: str
    target: str
    source_tokens: tuple[str, ...] = ()
    target_tokens: tuple[str, ...] = ()
    score: float = 0.0
    weights: Float[Tensor, "layers heads tgt src"] | None = field(default=None, compare=False, repr=False)
    notes: tuple[str, ...] = ()
    read: str = ""  # the source as the system read it (`clean_text`)

    @property
    def finished(self) -> bool:
        """Whether the system found an end. An empty text has none to find."""
        return not self.source_tokens or self.target_tokens[-1:] == (SPECIAL[EOS],)

    @property
    def source_labels(self) -> tuple[str, ...]:
        """The source tokens for a reader: an unknown word as it was typed, where each word is one token.

        >>> Translation("the axolotl", "le chat", ("the", "<unk>", "</s>")).source_labels
        ('the', 'axolotl?', '</s>')
        """
        words = (*(self.read or self.source).split(), SPECIAL[EOS])
        if len(words) != len(self.source_tokens):
            return self.source_tokens
        both = zip(words, self.source_tokens, strict=True)
        return tuple(f"{word}?" if token == SPECIAL[UNK] else token for word, token in both)


def translate(
    texts: Sequence[str],
    system: Translator,
    tokenizer: Tokenizer,
    *,
    beam: int = 1,
    length_penalty: float = 0.6,
    with_weights: bool = False,
    progress: Callable[[int], object] | None = None,
) -> list[Translation]:
    """Translate all texts, in the order given; a beam of 1 is greedy decoding.

    A translation may have 2 · source + 10 tokens, and never more than the system's `max_len`; a source may
    have `max_len`, the rest is left unread, with a note. Texts of similar length are worked on together.
    `progress` is told after each batch how many texts it held: `tqdm(...).update` will do.
    """
    if isinstance(texts, str):
        raise TypeError("Expected several texts, but got one string. Wrap it: translate([text], ...).")
    if tokenizer.vocab_size != system.config.vocab_size:
        raise ValueError(
            f"Expected a tokenizer of {system.config.vocab_size} tokens, for which this system was built, "
            f"but it has {tokenizer.vocab_size}. Take the one that was saved with the system."
        )
    longest = system.config.max_len - 1  # EOS needs a place
    sources = [prepare(text, tokenizer) for text in texts]
    lengths = {i: min(len(source.ids), longest) + 1 for i, source in enumerate(sources) if source.ids}
    empty = [i for i, source in enumerate(sources) if not source.ids]  # a system would make something up
    done = {i: Translation(texts[i], "", notes=sources[i].notes) for i in empty}
    report = progress or (lambda n: None)
    report(len(empty))
    for chosen in by_length(lengths, TOKENS_PER_BATCH // max(beam, 1)):  # the search refuses a beam of 0
        batch = make_batch([sources[i].ids[:longest] for i in chosen], [[]] * len(chosen))
        limit = output_limit(batch.src_lengths, max_len=system.config.max_len)
        batch = batch.to(device_of(system))
        with eval_mode(system), torch.inference_mode():
            memory = system.encode(batch.src, batch.src_lengths)
        options = {"max_len": limit, "length_penalty": length_penalty, "with_weights": with_weights}
        if beam == 1:
            found = greedy(system, memory, **options)
        else:
            found = beam_search(system, memory, beam=beam, **options)
        weights = [None] * len(chosen) if found.weights is None else found.weights.float().cpu()
        rows = zip(chosen, found.ids.tolist(), found.scores.tolist(), weights, strict=True)
        for i, row, score, attention in rows:
            output, source = [token for token in row if token != PAD], sources[i]
            read = source.ids[:longest]
            done[i] = Translation(
                source=texts[i],
                target=tokenizer.decode(output),
                source_tokens=(*tokenizer.tokens(read), SPECIAL[EOS]),
                target_tokens=tuple(tokenizer.tokens(output)),
                score=score,
                # a copy: a view would keep the whole batch
                weights=None if attention is None else attention[..., : len(output), : len(read) + 1].clone(),
                notes=(*source.notes, *notes_after(len(source.ids), len(read), output)),
                read=source.text,
            )
        report(len(chosen))
    return [done[i] for i in range(len(texts))]


@dataclass(frozen=True)
class SourceText:
    """A text as the system reads it: cleaned (`clean_text`), as token ids, and the words that are unknown."""

    text: str
    ids: tuple[int, ...]
    unknown: tuple[str, ...]

    @property
    def notes(self) -> tuple[str, ...]:
        """What is odd about the text, before it is translated.

        >>> from course_lib.text.word_tokenizer import WordTokenizer
        >>> prepare("the axolotl sleeps", WordTokenizer(["the", "cat", "sleeps"])).notes
        ('read as <unk>: axolotl',)
        """
        if not self.ids:
            return (EMPTY,)
        if not self.unknown:
            return ()
        more = f" and {len(self.unknown) - SHOWN} more" if len(self.unknown) > SHOWN else ""
        note = f"read as <unk>: {', '.join(map(printable, self.unknown[:SHOWN]))}{more}"
        return (note, ALL_UNKNOWN) if set(self.ids) == {UNK} else (note,)


def prepare(text: str, tokenizer: Tokenizer) -> SourceText:
    """The text cleaned and encoded, and its unknown words."""
    cleaned = clean_text(text, tokenizer)
    ids, unknown = tokenizer.encode_with_unknown(cleaned)
    return SourceText(cleaned, tuple(ids), tuple(unknown))


def clean_text(text: str, tokenizer: Tokenizer) -> str:
    """A text as people type it, in the form that the vocabulary has: a word known only in lower case is put
    in lower case, punctuation is split from words, and unknown punctuation is dropped.

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


def notes_after(n_tokens: int, n_read: int, said: Sequence[int]) -> list[str]:
    """What became of a text: how many of its tokens were read, and what was said.

    >>> notes_after(300, 255, [7, 3])
    ['too long: of its 300 tokens the first 255 were read']
    """
    notes = []
    if n_tokens > n_read:
        notes.append(f"too long: of its {n_tokens} tokens the first {n_read} were read")
    if said[-1] != EOS:
        notes.append(f"no end after {len(said)} tokens: the translation was cut there")
    if said[0] == EOS:
        notes.append(SAID_NOTHING)
    return notes


def printable(word: str) -> str:
    r"""A word as it can be shown in one line: signs that would spoil it are written out.

    >>> printable("a\x07b\u202e")
    'a\\x07b\\u202e'
    """
    shown = word if len(word) <= 40 else word[:39] + "…"
    return "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in shown)


def output_limit(src_lengths: Int[Tensor, " batch"], *, max_len: int) -> Int[Tensor, " batch"]:
    """How many tokens a translation may have, from the length of its source, EOS counted in both.

    >>> output_limit(torch.tensor([4, 60]), max_len=100)
    tensor([ 18, 100])
    """
    return (2 * src_lengths + 10).clamp(max=max_len)


def by_length(lengths: Mapping[int, int], tokens_per_batch: int) -> Iterator[list[int]]:
    """Sentences, by their numbers, longest first, in batches of at most so many tokens (or of one sentence).

    >>> list(by_length({0: 2, 1: 9, 3: 3, 4: 8}, tokens_per_batch=18))
    [[1, 4], [3, 0]]
    """
    ranked = sorted(lengths, key=lambda place: -lengths[place])
    first = 0
    while first < len(ranked):
        n = max(1, tokens_per_batch // lengths[ranked[first]])
        yield ranked[first : first + n]
        first += n
