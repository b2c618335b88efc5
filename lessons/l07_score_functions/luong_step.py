"""One step of Luong's decoder, with real words and states: from the previous word to the next one.

The system is the shipped one with dot products, at a word for which it needs two source words.
"""

from __future__ import annotations

from functools import cache

import torch

from course_lib.formatting import fixed, minus
from course_lib.text.batch import make_batch
from course_lib.translation.shipped import shared
from course_lib.views.cells import cells
from course_lib.views.picture import WIDTH, Picture
from course_lib.views.shapes import side_bars
from course_lib.views.svg import bend, dot, line, note, word

SOURCE, BEFORE, NEXT = "this queen was very sleepy", "cette reine", "avait"
LEFT, APART, SHOWN = 214, 92, 8  # the first source word, the distance between two, numbers of a state


@cache
def numbers() -> dict[str, torch.Tensor]:
    """States of the encoder, and the decoder's at this step: state, scores, weights, probabilities."""
    shipped = shared("luong_dot")
    model, encode = shipped.model, shipped.tokenizer.encode
    batch = make_batch([encode(SOURCE)], [encode(BEFORE)])
    with torch.no_grad():
        memory = model.encode(batch.src, batch.src_lengths)
        state = model.start(memory)
        for word_id in batch.tgt_in[0]:
            feature, state, weights = model.walk(memory, state, model.embed(word_id[None, None])[:, 0])
        probabilities = model.logits(feature)[0].softmax(dim=-1)
    states, top = memory["states"][0], state["hidden"].flatten()[-memory["states"].shape[-1] :]
    steps = {"states": states, "state": top, "scores": states @ top, "weights": weights.flatten()}
    return steps | {"context": weights.flatten() @ states, "next": probabilities}


def draw() -> Picture:
    """Above the source, below the decoder; the context vector goes into the prediction."""
    step, words = numbers(), [*SOURCE.split(), "</s>"]
    places = [LEFT + APART * i for i in range(len(words))]
    best = step["next"].topk(2)
    names = [shared("luong_dot").tokenizer.decode([int(index)]) for index in best.indices]
    out = word(
        14,
        28,
        f"To choose *{NEXT}*, Luong's decoder updates its state first and then attends",
        15,
        anchor="start",
        bold=True,
    )
    for name, y in (("encoder states", 106), ("scores *s* · *h*", 172), ("attention weights", 196)):
        out += word(14, y, name, 12, "soft", "start")
    out += word(14, 122, f"shown: {SHOWN} of {len(step['state'])} numbers", 11, "soft", "start")
    context, feature = (430, 282), (566, 326)
    out += line([(150, 306), (150, 146), (places[-1], 146)], "query", 2)
    for x, text, state, score, weight in zip(
        places, words, step["states"], step["scores"], step["weights"], strict=True
    ):
        lit = float(weight) >= 0.1
        out += word(x, 66, text, 14, "key", bold=lit)
        out += cells(x - 10.5, 78, state[:SHOWN], 11, columns=2) + line(
            [(x, 146), (x, 128)], "query", 1.4, head=True
        )
        out += word(x, 172, minus(fixed(float(score), 1)), 12)
        out += word(x, 196, fixed(float(weight), 2), 13, "accent" if lit else "soft", bold=lit)
        strand = {"opacity": 0.8 if lit else 0.4, "stroke_linecap": "butt"}
        out += bend((x, 204), (context[0], context[1] - 14), "value", max(0.6, 14 * float(weight)), **strand)
    out += _decoder(step["state"], context, feature)
    out += side_bars(650, 290, names, best.values.tolist(), width=50, lit=[0], fill="calm", row=24)
    out += word(640, 280, f"next word, of {len(step['next'])} tokens", 12, "soft")
    both = " and ".join(
        f"{words[i]} {fixed(float(step['weights'][i]), 2)}" for i in step["weights"].topk(2).indices
    )
    return Picture(
        WIDTH,
        412,
        out,
        alt=f"After {BEFORE}, the new decoder state is compared with all encoder states. The attention "
        f"weights are {both}. The weighted sum and the state give h tilde, which predicts {NEXT} "
        f"({fixed(float(best.values[0]), 2)}) and is part of the next input.",
    )


def _decoder(state: torch.Tensor, context: tuple[int, int], feature: tuple[int, int]) -> str:
    """The new state, the context vector, and the attentional hidden state made from both."""
    (x, y), (across, down) = context, feature
    out = dot(150, down, 20, "paper", "query", 2.5) + word(150, down + 5, "*s*", 16, "query", bold=True)
    out += word(150, down + 38, "new state", 12, "query")
    for text, rise in (("old *s*", -38), (f"*{BEFORE.split()[-1]}*", 0), ("old *h̃*", 38)):
        out += word(92, down + rise + 4, text, 13, anchor="end")
        out += line([(98, down + rise), (127 + abs(rise) / 6, down + rise / 2.6)], "soft", 1.4, head=True)
    out += line([(171, down), (across - 25, down)], "query", 2, head=True)
    out += line([(x + 17, y + 4), (across - 22, down - 10)], "value", 3, head=True)
    out += dot(x, y, 16, "paper", "value", 2.5) + word(x, y + 5, "*c*", 15, "value", bold=True)
    out += note(x - 24, y + 2, ["context: the weighted", "sum of the states"], 12, anchor="end")
    out += dot(across, down, 20, "paper", "accent", 2.5) + word(
        across, down + 5, "*h̃*", 16, "accent", bold=True
    )
    out += word(across, down + 40, "tanh(*W* [*c*; *s*])", 12, "accent")
    out += line([(across + 21, down), (across + 42, down)], "soft", 1.4, head=True)
    out += line(
        [(across, down + 47), (across, down + 68), (744, down + 68)], "soft", 1.4, dash="4 3", head=True
    )
    return out + word(
        across - 10, down + 72, "input feeding: *h̃* is part of the next input", 12, "soft", "end"
    )
