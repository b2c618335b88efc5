"""The solutions of lesson 04: its notebook shows them, and the checks compare answers with them."""

import torch

from course_lib.text import BOS, EOS


def greedy_decode(model, source, max_len):
    """A model, the source's token ids, a limit (0 or more)  ->  the generated ids.

    They are a list of at most max_len numbers, without BOS and EOS.
    """
    # solution
    src = torch.tensor([[*source, EOS]])
    context = model.encode(src, torch.tensor([len(source) + 1]))
    state, token, words = model.start(context), BOS, []
    while len(words) < max_len:
        logits, state, _ = model.step(context, state, torch.tensor([token]))
        token = logits[0].argmax().item()
        if token == EOS:
            break
        words.append(token)
    return words
    # end solution
