"""A language model goes on with a text: by the likeliest word, or by drawing lots.

    tokens = torch.tensor([[BOS, *tokenizer.encode("the cat")]])
    more = continue_text(model, tokens, n=10, temperature=0.8, top_k=20, generator=generator)
    tokenizer.decode(more[0])

The temperature divides the logits before the softmax. 1 draws as the model thinks; below 1 likely words
become likelier still, and 0 always takes the likeliest; above 1 rare words get their chance:

    >>> logits = torch.tensor([[0.0, 0.0, 0.0, 0.0, 1.0, 2.0]])
    >>> chances(logits, temperature=1.0)[0, 3:]             # EOS and two words; the others are never said
    tensor([0.0900, 0.2447, 0.6652])
    >>> chances(logits, temperature=0.5)[0, 3:]
    tensor([0.0159, 0.1173, 0.8668])
    >>> chances(logits, temperature=1.0, top_k=2)[0, 3:]
    tensor([0.0000, 0.2689, 0.7311])
"""

from __future__ import annotations

import torch

from course_lib.models.in_use import device_of, eval_mode
from course_lib.models.language_model import LanguageModel
from course_lib.shapes import Float, Int, Tensor
from course_lib.text.special import EOS, PAD
from course_lib.translation.search import suppress


def continue_text(
    model: LanguageModel,
    tokens: Int[Tensor, "batch tgt"],
    *,
    n: int,
    temperature: float = 1.0,
    top_k: int | None = None,
    generator: torch.Generator | None = None,
) -> Int[Tensor, "batch said"]:
    """At most `n` more tokens for each row, EOS then PAD where a sentence ends before.

    `tokens` open with BOS, and all rows have the same length. A temperature of 0 is greedy and draws
    nothing; otherwise a generator makes it repeatable. `top_k` leaves only so many of the likeliest words
    in the draw. PAD, BOS and UNK are never said. The result is on the device of `tokens`.
    """
    room = model.config.max_len - tokens.shape[1] + 1  # what is said last is read no more
    if not 1 <= n <= room or not tokens.numel():
        raise ValueError(
            f"Expected tokens that open with BOS and n from 1 to {room}, for the model reads "
            f"{model.config.max_len} tokens, but got {tuple(tokens.shape)} and {n}."
        )
    home, tokens = tokens.device, tokens.to(device_of(model))
    said = torch.full((len(tokens), n), PAD, device=tokens.device)
    with eval_mode(model), torch.inference_mode():
        state = model.start(len(tokens))
        for read in tokens.unbind(dim=1):
            logits, state, _ = model.step(state, read)
        ended = torch.zeros(len(tokens), dtype=torch.bool, device=tokens.device)
        for step in range(n):
            token = choose(logits, temperature=temperature, top_k=top_k, generator=generator)
            said[:, step] = token.masked_fill(ended, PAD)
            ended = ended | (token == EOS)
            if step + 1 == n or (tokens.device.type == "cpu" and ended.all()):
                break
            logits, state, _ = model.step(state, said[:, step])
    return said.to(home)


def choose(
    logits: Float[Tensor, "batch vocab"],
    *,
    temperature: float,
    top_k: int | None = None,
    generator: torch.Generator | None = None,
) -> Int[Tensor, " batch"]:
    """The next word of each row."""
    if temperature < 1e-6:  # a division by less would overflow
        return suppress(logits.float().clone()).argmax(dim=1)
    shares = chances(logits, temperature=temperature, top_k=top_k)
    if generator is not None:
        shares = shares.to(generator.device)  # lots are drawn where the generator lives
    return torch.multinomial(shares, 1, generator=generator)[:, 0].to(logits.device)


def chances(
    logits: Float[Tensor, "batch vocab"], *, temperature: float, top_k: int | None = None
) -> Float[Tensor, "batch vocab"]:
    """The probability of each word in the draw."""
    scores = suppress(logits.float() / temperature)
    if top_k is not None and top_k < scores.shape[1]:
        least = scores.topk(top_k, dim=1).values[:, -1:]
        scores = scores.masked_fill(scores < least, -torch.inf)
    return scores.softmax(dim=1)
