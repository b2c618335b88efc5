"""Continue a text with a language model, greedily or by sampling.

    tokens = torch.tensor([[BOS, *tokenizer.encode("the cat")]])
    continuation = continue_text(model, tokens, n=10, temperature=0.8, top_k=20, generator=generator)
    tokenizer.decode(continuation[0])

The temperature divides the logits before the softmax. 1 samples from the model's own distribution; below 1
probable words become more probable, and 0 always takes the most probable; above 1 rare words gain:

    >>> logits = torch.tensor([[0.0, 0.0, 0.0, 0.0, 1.0, 2.0]])
    >>> next_probabilities(logits, temperature=1.0)[0, 3:]      # EOS and two words; the rest have 0
    tensor([0.0900, 0.2447, 0.6652])
    >>> next_probabilities(logits, temperature=0.5)[0, 3:]
    tensor([0.0159, 0.1173, 0.8668])
    >>> next_probabilities(logits, temperature=1.0, top_k=2)[0, 3:]
    tensor([0.0000, 0.2689, 0.7311])
"""

from __future__ import annotations

import torch

from course_lib.models.inference import device_of, eval_mode
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
) -> Int[Tensor, "batch generated"]:
    """Generate at most `n` more tokens for each row; a row that ends earlier has EOS, then PAD.

    `tokens` start with BOS, and all rows have the same length. A temperature of 0 is greedy and uses no
    random numbers; otherwise a generator makes the sample reproducible. `top_k` restricts sampling to the k
    most probable words. PAD, BOS and UNK are never generated. The result is on the device of `tokens`.
    """
    most = model.config.max_len - tokens.shape[1] + 1  # the last token generated is never an input
    if not 1 <= n <= most or not tokens.numel():
        raise ValueError(
            f"Expected tokens that start with BOS and n from 1 to {most}, because the model accepts at most "
            f"{model.config.max_len} tokens, but got {tuple(tokens.shape)} and {n}."
        )
    device, tokens = tokens.device, tokens.to(device_of(model))
    generated = torch.full((len(tokens), n), PAD, device=tokens.device)
    with eval_mode(model), torch.inference_mode():
        state = model.start(len(tokens))
        for token in tokens.unbind(dim=1):
            logits, state, _ = model.step(state, token)
        ended = torch.zeros(len(tokens), dtype=torch.bool, device=tokens.device)
        for step in range(n):
            token = sample_token(logits, temperature=temperature, top_k=top_k, generator=generator)
            generated[:, step] = token.masked_fill(ended, PAD)
            ended = ended | (token == EOS)
            if step + 1 == n or (tokens.device.type == "cpu" and ended.all()):
                break
            logits, state, _ = model.step(state, generated[:, step])
    return generated.to(device)


def sample_token(
    logits: Float[Tensor, "batch vocab"],
    *,
    temperature: float,
    top_k: int | None = None,
    generator: torch.Generator | None = None,
) -> Int[Tensor, " batch"]:
    """The next token of each row: the most probable one at temperature 0, otherwise sampled."""
    if temperature < 1e-6:  # dividing by a smaller number would overflow
        return suppress(logits.float().clone()).argmax(dim=1)
    probabilities = next_probabilities(logits, temperature=temperature, top_k=top_k)
    if generator is not None:
        probabilities = probabilities.to(generator.device)  # multinomial needs both on the same device
    return torch.multinomial(probabilities, 1, generator=generator)[:, 0].to(logits.device)


def next_probabilities(
    logits: Float[Tensor, "batch vocab"], *, temperature: float, top_k: int | None = None
) -> Float[Tensor, "batch vocab"]:
    """The distribution that `sample_token` samples from."""
    scores = suppress(logits.float() / temperature)
    if top_k is not None and top_k < scores.shape[1]:
        threshold = scores.topk(top_k, dim=1).values[:, -1:]
        scores = scores.masked_fill(scores < threshold, -torch.inf)
    return scores.softmax(dim=1)
