"""Where time goes: the profiler's figures, the longest first, none lost."""

from __future__ import annotations

import pytest
import torch

from course_lib.bench.kernels import Kernel, kernels, table


@pytest.mark.slow
def test_the_work_is_found_and_the_longest_comes_first():
    a = torch.randn(300, 300)
    found = kernels(lambda: [a @ a for _ in range(7)], torch.device("cpu"))
    assert found[0].name in ("aten::mm", "aten::matmul")
    assert next(one for one in found if one.name == "aten::mm").calls == 7
    assert found == sorted(found, key=lambda one: -one.milliseconds)


def test_the_rest_is_added_up():
    found = [Kernel("a" * 200, 1, 6.0), Kernel("b", 2, 3.0), Kernel("c", 3, 1.0)]
    first, second, last = table(found, top=1).splitlines()
    assert first.split() == ["share", "ms", "calls"]
    assert second.split()[:3] == ["60%", "6.000", "1"] and len(second) < 120
    assert last.split() == ["40%", "4.000", "5", "and", "2", "other", "kernels"]
    assert "other" not in table(found, top=3)
