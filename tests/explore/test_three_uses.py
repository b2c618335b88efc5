"""The trained translator cut down: what the picture claims is what the model does."""

from __future__ import annotations

import numpy as np
import torch

from course_lib.explore.head_switches import shipped
from course_lib.explore.three_uses import (
    ALL,
    ALONE,
    AS_TRAINED,
    D_K,
    HEARD,
    HIDDEN,
    NEXT,
    PAIR,
    SOURCE,
    TARGET,
    USES,
    WIDTHS,
    compute,
    outcomes,
)  # fmt: skip
from course_lib.translation.closing import listen, listen_alone
from course_lib.translation.inside import attentions


def at(width: int = D_K, heads: str = ALL, mask: str = AS_TRAINED):
    return compute(width=width, heads=heads, mask=mask)


def test_as_trained_it_says_what_the_shipped_system_says():
    facts = at()
    assert facts["right"] == (True, True)
    assert [" ".join(words) for words in facts["said"]] == [shipped()(pair.src_text).target for pair in PAIR]


def test_masks_do_what_the_interventions_do():
    for place, pair in enumerate(PAIR):
        alone = listen_alone(shipped(), pair.src_text).french
        assert " ".join(at(mask=ALONE)["said"][place]) == alone
        hidden = listen(shipped(), pair.src_text, closed=[8], to="decoder").french
        assert " ".join(at(mask=HIDDEN)["said"][place]) == hidden


def test_what_the_lesson_tells():
    alone = at(mask=ALONE)
    assert alone["right"] == (True, False) and " ".join(alone["said"][1]).endswith("il avait froid")
    assert at(width=10)["right"] == (True, True)
    assert " ".join(at(width=8)["said"][1]).endswith("elle était froid")
    assert not any("chat" in words for words in at(width=6)["said"])
    survive = {"2 3 4": 2, "1 3 4": 1, "1 2 4": 2, "1 2 3": 0, "2 4": 2}
    assert {heads: sum(at(heads=heads)["right"]) for heads in survive} == survive
    assert at(heads="1 3 4")["right"] == (True, False)
    assert " ".join(at(heads="1 2 3")["said"][0]).endswith("elle avait soif")


def row(use: str, rows: tuple[str, ...], columns: tuple[str, ...], word: str) -> dict[str, str]:
    weights = at()["weights"][use][rows.index(word)]
    return {column: f"{weight:.2f}" for column, weight in zip(columns, weights, strict=True)}


def test_the_rows_that_the_lesson_reads():
    it = row("encoder", SOURCE, SOURCE, "it")
    assert it["water"] == it["was"] == "0.21" == max(it.values())
    assert row("decoder", TARGET, TARGET, "soif")["parce"] == "0.43"
    assert row("cross", NEXT, SOURCE, "chat")["cat"] == "1.00"
    about_il = row("cross", NEXT, SOURCE, "il")
    assert (about_il["it"], about_il["because"]) == ("0.42", "0.38")


def test_flat_weights_alone_break_less_than_lost_numbers():
    """All scores a quarter as large: flatter than at d_k 4, and only the gender of cold is lost."""
    looks = [look for _, _, look in attentions(shipped().model)]
    with torch.no_grad():
        for look in looks:
            look.w_query.mul_(0.25)
    try:
        flat = outcomes.__wrapped__()[D_K, ALL, AS_TRAINED]
    finally:
        with torch.no_grad():
            for look in looks:
                look.w_query.mul_(4.0)
    assert (flat["entropy"] > at(width=4)["entropy"]).all()
    assert flat["said"][0] == PAIR[0].tgt and " ".join(flat["said"][1]).endswith("parce qu' il était froid")
    assert at(width=4)["right"] == (False, False)


def test_only_heads_that_are_heard_are_shown():
    assert not any(table.any() for table in at(heads="none")["weights"].values())
    maps = [at(heads=heads)["weights"]["cross"] for heads in HEARD[1:5]]
    assert all(np.allclose(table.sum(axis=1), 1, atol=1e-5) for table in maps)
    assert np.abs(maps[0] - maps[3]).max() > 0.1


def test_narrower_keys_share_out_more_evenly():
    bits = np.array([at(width=width)["entropy"] for width in reversed(WIDTHS)])
    assert (np.diff(bits, axis=0) > 0).all()
    across = bits[:, USES.index("cross")]
    assert across[0] < 1 and abs(across[-1] - np.log2(10)) < 1e-3


def test_weights_sum_to_one_and_nobody_looks_ahead():
    for width, mask in ((D_K, AS_TRAINED), (4, HIDDEN), (0, ALONE)):
        for table in at(width=width, mask=mask)["weights"].values():
            assert np.allclose(table.sum(axis=1), 1, atol=1e-5)
    assert np.allclose(np.triu(at()["weights"]["decoder"], 1), 0)
    assert np.allclose(at(mask=HIDDEN)["weights"]["cross"][:, 8], 0)
    assert np.allclose(at(mask=ALONE)["weights"]["encoder"], np.eye(10))
