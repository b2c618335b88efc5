"""The trained translator cut down: what the picture claims is what the model does."""

from __future__ import annotations

import numpy as np
import torch

from course_lib.explore.head_switches import shipped
from course_lib.explore.three_uses import (
    ALONE,
    AS_TRAINED,
    D_K,
    HIDDEN,
    N_HEADS,
    PAIR,
    USES,
    WIDTHS,
    compute,
    cut_down,
)  # fmt: skip
from course_lib.translation.closing import listen, listen_alone
from course_lib.translation.inside import attentions


def at(width: int = D_K, heads: int = N_HEADS, mask: str = AS_TRAINED):
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
    assert at(width=12)["right"] == (True, True)
    assert " ".join(at(width=8)["said"][1]).endswith("elle était froid")
    assert at(heads=3)["right"] == (False, False) and at(heads=2)["right"] == (True, False)


def test_narrower_keys_share_out_more_evenly():
    bits = np.array([at(width=width)["entropy"] for width in WIDTHS])
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


def test_the_model_is_left_as_it_was():
    before = [look.w_query.detach().clone() for _, _, look in attentions(shipped().model)]
    with cut_down(4, 2):
        assert all((look.w_output[:, 32:] == 0).all() for _, _, look in attentions(shipped().model))
    after = [look.w_query.detach() for _, _, look in attentions(shipped().model)]
    assert all(map(torch.equal, before, after))
