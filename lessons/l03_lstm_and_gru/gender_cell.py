"""Which numbers of the LSTM's cell state decide between *il* and *elle*?

Two sentences differ only in their subject, one masculine and one feminine. Some numbers of the cell state
after a word are exchanged between them, and each sentence then continues on its own. The effect is how far
this moves the probability of *elle* towards that of the other sentence; the whole difference is the most.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from course_lib.layers.cells import lstm_cell
from course_lib.shapes import Bool, Float, Int, Tensor
from course_lib.text.special import BOS
from course_lib.translation.shipped import shared
from lessons.l02_recurrent_networks.state_probe import make_beginnings

Pairs = Sequence[tuple[str, str]]  # a masculine subject and a feminine one

WORDS = ("the subject", "a", "bu", "l'", "eau", "parce", "qu'")
DRANK_WATER, DRANK_MILK = "a bu l' eau", "a bu le lait"  # eau is feminine, lait is masculine
CHOSEN_ON: Pairs = (
    *(("chat", "souris"), ("cheval", "souris"), ("lapin", "poule"), ("renard", "poule")),
    *(("garçon", "fille"), ("père", "fille"), ("roi", "reine"), ("père", "reine")),
    *(("garçon", "mère"), ("roi", "mère")),
)
OTHER_NOUNS: Pairs = (
    *(("chien", "vache"), ("loup", "vache"), ("hérisson", "chèvre"), ("oiseau", "grenouille")),
    *(("homme", "femme"), ("frère", "femme"), ("frère", "sœur"), ("oncle", "sœur")),
    *(("oncle", "tante"), ("homme", "tante")),
)
EXPECTED = (
    "Cell 101 has the largest effect by far, about 0.3 on average, and it has it on other nouns and after a "
    "masculine object too; no other cell reaches a third of that. One word earlier, the hidden state alone "
    "does almost nothing and the cell state almost everything."
)


def sentences(pairs: Pairs, middle: str = DRANK_WATER) -> Int[Tensor, "sentences len"]:
    """Two rows for each pair: `le chat a bu l' eau parce qu'`, then `la souris …`."""
    texts = {row.subject: row.text for row in make_beginnings() if row.middle == middle}
    encode = shared("lstm_lm").tokenizer.encode
    return torch.tensor([[BOS, *encode(texts[noun])] for pair in pairs for noun in pair])


@torch.no_grad()
def elle_after_swap(
    tokens: Int[Tensor, "sentences len"],
    swapped: Bool[Tensor, "swaps hidden"],
    *,
    at: int = -1,
    hidden_too: Bool[Tensor, "swaps 1"] | None = None,
) -> Float[Tensor, "swaps sentences"]:
    """The probability of *elle* if the sentences of a pair exchange these numbers of the cell at this word.

    The hidden state follows from the cell and the sentence's own output gate, except where it is exchanged.
    """
    system = shared("lstm_lm")
    model, layer = system.model, system.model.recurrent.layers[0][0]
    weights = {
        name: getattr(layer, f"{name}_l0") for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    }
    words = model.words.target(tokens).expand(len(swapped), -1, -1, -1)
    hidden = cell = torch.zeros(*words.shape[:2], swapped.shape[1])
    partner = torch.arange(len(tokens)) ^ 1
    for position, word in enumerate(words.unbind(dim=2)):
        before = hidden, cell
        hidden, cell = lstm_cell(word, *before, **weights)
        if position == at % tokens.shape[1]:
            others = hidden[:, partner]
            change = swapped[:, None] * (cell[:, partner] - cell)
            hidden, cell = lstm_cell(word, *before, **weights, added=change)
            if hidden_too is not None:
                hidden = torch.where(hidden_too[:, None], others, hidden)
    [elle] = system.tokenizer.encode("elle")
    return model.words.logits(model.to_embed(hidden)).softmax(dim=-1)[..., elle]


def effects(
    tokens: Int[Tensor, "sentences len"], swapped: Bool[Tensor, "swaps hidden"], **options
) -> Float[Tensor, "swaps pairs"]:
    """How far each swap moves *elle* towards the other sentence; the mean over both sentences of a pair."""
    before = elle_after_swap(tokens, torch.zeros_like(swapped[:1]))
    masculine, feminine = (
        (elle_after_swap(tokens, swapped, **options) - before).unflatten(1, (-1, 2)).unbind(2)
    )
    return (masculine - feminine) / 2


def measure_gender_cell() -> dict:
    """The cell is chosen on ten pairs; the other ten have other nouns."""
    chosen_on, others, milk = sentences(CHOSEN_ON), sentences(OTHER_NOUNS), sentences(OTHER_NOUNS, DRANK_MILK)
    cells = torch.eye(shared("lstm_lm").model.recurrent.layers[0][0].hidden_size, dtype=torch.bool)
    by_pair = effects(chosen_on, cells)
    by_cell = by_pair.mean(dim=1)
    [best, *_] = ranking = by_cell.abs().argsort(descending=True).tolist()
    on_others = effects(others, cells)
    ranking_of_others = on_others.mean(dim=1).abs().sort(descending=True)
    one, every, none = cells[[best]], cells.any(dim=0)[None], torch.zeros_like(cells[:1])
    hidden_only = torch.tensor([[False], [False], [True]])
    by_word = {
        word: effects(others, torch.cat([one, every, none]), at=place, hidden_too=hidden_only).mean(dim=1)
        for place, word in enumerate(WORDS, start=-len(WORDS))
    }
    masculine = others[:16:2]  # chien and loup, hérisson and oiseau, …
    unrelated = elle_after_swap(masculine, one) - elle_after_swap(masculine, none)

    def difference(tokens: Tensor) -> float:
        return effects(tokens, none, hidden_too=hidden_only[2:]).mean().item()

    return {
        "expected": EXPECTED,
        "best cell": best,
        "by cell": by_cell.tolist(),
        "ranking": [{"cell": cell, "effect": by_cell[cell].item()} for cell in ranking[:6]],
        "size": {
            "median": by_cell.abs().median().item(),
            "95th percentile": by_cell.abs().quantile(0.95).item(),
        },
        "pairs": dict(zip(map(", ".join, CHOSEN_ON), by_pair[best].tolist(), strict=True)),
        "whole difference": difference(chosen_on),
        "other nouns": {
            "best cell": ranking_of_others.indices[0].item(),
            "pairs": dict(zip(map(", ".join, OTHER_NOUNS), on_others[best].tolist(), strict=True)),
            "effect": on_others[best].mean().item(),
            "next": ranking_of_others.values[1].item(),
            "all but the best": effects(others, ~one).mean().item(),
            "whole difference": difference(others),
            "same gender": unrelated.abs().mean().item(),
        },
        "after a masculine object": {
            "effect": effects(milk, one).mean().item(),
            "whole difference": difference(milk),
        },
        "swapped after": {
            word: dict(zip(("best cell", "cell state", "hidden state"), values.tolist(), strict=True))
            for word, values in by_word.items()
        },
    }
