"""torch.compile takes whole systems; not those with torch's RNN, LSTM or GRU, which Dynamo does not know."""

from __future__ import annotations

import pytest
import torch

from course_lib.models.registry import build, make_config

VOCAB = 20


OLD = torch.__version__ < "2.12"  # its Dynamo cannot ask whether a device has autocast, as the cells do


# torch 2.11 warns of a part of its own when its compiler is loaded.
@pytest.mark.filterwarnings("ignore:.*script_method.*:DeprecationWarning")
@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "transformer",
        "transformer_lm",
        "convs2s",
        "mlp_lm",
        pytest.param("lstmn_deep", marks=pytest.mark.skipif(OLD, reason="Dynamo of torch 2.11")),
    ],
)
def test_it_compiles_without_a_break_and_says_the_same(name):
    """On the CPU, where ids are read and checked, unless they are being traced."""
    torch.manual_seed(0)
    system = build(name, make_config(name, scale="tiny", vocab_size=VOCAB)).eval()
    tgt = torch.tensor([[2, 5, 9, 9], [2, 7, 0, 0]])
    given = (
        (tgt,) if name.endswith("_lm") else (torch.tensor([[5, 6, 3], [7, 3, 0]]), torch.tensor([3, 2]), tgt)
    )
    torch.compiler.reset()
    torch.testing.assert_close(torch.compile(system, fullgraph=True, backend="eager")(*given), system(*given))
    with pytest.raises(ValueError, match=f"ids from 0 to {VOCAB - 1}, but got 29"):
        system(*given[:-1], tgt + VOCAB)
