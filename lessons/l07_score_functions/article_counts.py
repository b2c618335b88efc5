"""How many articles a Luong system predicts correctly, with its own attention and with forced attention."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import torch

from course_lib.models.inference import device_of
from course_lib.models.luong import Luong
from course_lib.text.batch import make_batch
from course_lib.text.pair import Pair
from course_lib.text.tokenizer import Tokenizer
from lessons.l07_score_functions.forcing import onto_the, onto_the_noun

DIRECTIONS = ("from the start", "from the end")  # of the encoder: the variants of `encoder_direction`


@torch.no_grad()
def count_forced(model: Luong, tokenizer: Tokenizer, pairs: Sequence[Pair]) -> dict[str, int]:
    """Counts over all articles that translate "the", and over all other words with one source word.

    The decoder is teacher-forced. An article is forced onto "the" or onto its noun, any other word onto its
    source word; the forced attention is used for this word only, and isn't fed back.
    """
    batch = make_batch(
        [tokenizer.encode(pair.src_text) for pair in pairs],
        [tokenizer.encode(pair.tgt_text) for pair in pairs],
    ).to(device_of(model))
    memory = model.encode(batch.src, batch.src_lengths)
    state, rows = model.start(memory), torch.arange(len(pairs), device=batch.src.device)
    the, noun = ([find(pair) for pair in pairs] for find in (onto_the, onto_the_noun))
    others = [_single_links(pair, the[row]) for row, pair in enumerate(pairs)]
    counts: Counter[str] = Counter()
    [les] = tokenizer.encode("les")
    for step in range(batch.tgt_in.shape[1]):
        embedded = model.embed(batch.tgt_in[:, step : step + 1])[:, 0]
        inputs = torch.cat([embedded, state["fed"]], dim=-1)
        top, _ = model.decoder.step(inputs, {part: state[part] for part in ("hidden", "cell")})
        free, state, weights = model.walk(memory, state, embedded)
        best = weights.reshape(len(pairs), -1).argmax(dim=-1).tolist()

        def forced(tables: list[dict[int, int]], step: int = step, top: torch.Tensor = top) -> list[int]:
            positions = [table.get(step, 0) for table in tables]
            context = memory["states"][rows, positions]
            features = torch.tanh(model.combine(torch.cat([context, top], dim=-1)))
            return model.logits(features).argmax(dim=-1).tolist()

        expected, own = batch.tgt_out[:, step].tolist(), model.logits(free).argmax(dim=-1).tolist()
        on_the, on_noun, on_source = forced(the), forced(noun), forced(others)
        for row, word in enumerate(expected):
            if step in the[row]:
                counts["articles"] += 1
                counts["own attention"] += own[row] == word
                counts["onto the"] += on_the[row] == word
                counts["onto the, predicts les"] += on_the[row] == les
                counts["onto the noun"] += on_noun[row] == word
                counts["attends most to the"] += best[row] == the[row][step]
                counts["attends most to the noun"] += best[row] == noun[row][step]
            elif step in others[row]:
                counts["other words"] += 1
                counts["other words, own attention"] += own[row] == word
                counts["other words, onto their source"] += on_source[row] == word
    return dict(counts)


def _single_links(pair: Pair, articles: dict[int, int]) -> dict[int, int]:
    """For each French word with exactly one source word, unless it is one of the articles: that word."""
    sources: dict[int, list[int]] = {}
    for english, french in pair.links:
        sources.setdefault(french, []).append(english)
    return {french: s[0] for french, s in sources.items() if len(s) == 1 and french not in articles}
