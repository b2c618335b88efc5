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
from torch import nn

from course_lib.models.translator import Translator
from course_lib.shapes import Float, Int, Tensor
from course_lib.text.batch import make_batch
from course_lib.text.special import EOS, PAD, SPECIAL, UNK
from course_lib.text.tokenizer import Tokenizer
from course_lib.translation.notes import EMPTY, SAID_NOTHING, notes_on, plainly, source_cut, target_cut
from course_lib.translation.search import Decoded, beam_search, eval_mode

BUDGET = 4096


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
        words = (*self.source.split(), SPECIAL[EOS])
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
    tokens_per_batch: int = BUDGET,
    progress: Callable[[int], object] | None = None,
) -> list[Translation]:
    """Translate all texts, in the order given; a beam of 1 is greedy decoding.

    A translation may have 2 · source + 10 tokens, and never more than the system's `max_len`; a source may
    have `max_len`, the rest is left unread, with a note. Texts of similar length are worked on together,
    `tokens_per_batch` places (sentences × beam × length, padding included) at a time. `progress` is told
    after each batch how many texts it held: `tqdm(...).update` will do.
    """
    if isinstance(texts, str):
        raise TypeError("Expected several texts, but got one string. Wrap it: translate([text], ...).")
    if tokenizer.vocab_size != system.config.vocab_size:
        raise ValueError(
            f"Expected a tokenizer of {system.config.vocab_size} tokens, for which this system was built, "
            f"but it has {tokenizer.vocab_size}. Take the one that was saved with the system."
        )
    for name, value in (("beam", beam), ("tokens_per_batch", tokens_per_batch)):
        if value < 1:
            raise ValueError(f"Expected a {name} of 1 or more, but got {value}.")
    longest = system.config.max_len - 1  # EOS needs a place
    plain = [plainly(text, tokenizer) for text in texts]
    read = [tokenizer.encode(text) if text else [] for text in plain]
    empty = [place for place, ids in enumerate(read) if not ids]  # of nothing a system would say anything
    done = {place: Translation(texts[place], "", notes=(EMPTY,)) for place in empty}
    if progress is not None and empty:
        progress(len(empty))
    lengths = {place: min(len(ids), longest) + 1 for place, ids in enumerate(read) if ids}
    for places in by_length(lengths, tokens_per_batch // beam):
        sources = [read[place][:longest] for place in places]
        found = _search(sources, system, beam=beam, length_penalty=length_penalty, with_weights=with_weights)
        for row, (place, ids) in enumerate(zip(places, sources, strict=True)):
            done[place] = _told(texts[place], plain[place], len(read[place]), ids, found, row, tokenizer)
        if progress is not None:
            progress(len(places))
    return [done[place] for place in range(len(texts))]


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


def device_of(system: nn.Module) -> torch.device:
    """Where a system lives.

    >>> device_of(nn.Linear(1, 1))
    device(type='cpu')
    """
    for tensor in (*system.parameters(), *system.buffers()):
        return tensor.device
    return torch.device("cpu")


def _search(
    sources: Sequence[Sequence[int]],
    system: Translator,
    *,
    beam: int,
    length_penalty: float,
    with_weights: bool,
) -> Decoded:
    """The best translation of each source, on the CPU."""
    batch = make_batch(sources, [[]] * len(sources))
    limit = output_limit(batch.src_lengths, max_len=system.config.max_len)
    device = device_of(system)
    with eval_mode(system), torch.inference_mode():
        memory = system.encode(batch.src.to(device), batch.src_lengths.to(device))
    found = beam_search(
        system, memory, beam=beam, max_len=limit, length_penalty=length_penalty, with_weights=with_weights
    )
    weights = None if found.weights is None else found.weights.float().cpu()
    return Decoded(found.ids.cpu(), found.log_probs.cpu(), found.scores.cpu(), weights)


def _told(
    text: str,
    plain: str,
    n_tokens: int,
    read: list[int],
    found: Decoded,
    row: int,
    tokenizer: Tokenizer,
) -> Translation:
    """One row of a search as a translation, with notes."""
    said = [token_id for token_id in found.ids[row].tolist() if token_id != PAD]
    notes = [*notes_on(plain, tokenizer)]
    if n_tokens > len(read):
        notes.append(source_cut(n_tokens, len(read)))
    if said[-1] != EOS:
        notes.append(target_cut(len(said)))
    if said[0] == EOS:
        notes.append(SAID_NOTHING)
    weights = None
    if found.weights is not None:
        weights = found.weights[row, :, :, : len(said), : len(read) + 1].clone()  # not the whole batch's
    return Translation(
        source=text,
        target=tokenizer.decode(said),
        source_tokens=(*tokenizer.tokens(read), SPECIAL[EOS]),
        target_tokens=tuple(tokenizer.tokens(said)),
        score=float(found.scores[row]),
        weights=weights,
        notes=tuple(notes),
    )
