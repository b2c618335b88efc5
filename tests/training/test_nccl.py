"""What travels between GPUs, as far as one GPU can show it: a group of one, over NCCL and gloo."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import distributed, nn

from course_lib.models.registry import build, make_config
from course_lib.text.batch import make_batch
from course_lib.training.objective import translation
from course_lib.training.processes import backend_for

GPU = torch.device("cuda", 0)


def test_gpus_get_nccl_beside_gloo_and_cpus_gloo_alone():
    assert backend_for(torch.device("cpu")) == "gloo"
    assert backend_for(GPU) == "cpu:gloo,cuda:nccl"


@pytest.fixture
def group():
    if not torch.cuda.is_available():
        pytest.skip("needs an NVIDIA GPU")
    distributed.init_process_group(backend_for(GPU), store=distributed.HashStore(), rank=0, world_size=1)
    yield
    distributed.destroy_process_group()


@pytest.mark.usefixtures("group")
def test_sums_are_made_where_their_numbers_are():
    for device in (GPU, torch.device("cpu")):
        ones = torch.ones(3, device=device)
        distributed.all_reduce(ones)
        assert ones.device == device and ones.tolist() == [1.0, 1.0, 1.0]


@pytest.mark.usefixtures("group")
@pytest.mark.parametrize("name", ["bahdanau", "transformer"])
def test_gradients_that_went_through_nccl_are_the_gradients(name):
    torch.manual_seed(0)
    config = replace(make_config(name, scale="tiny", vocab_size=30), dropout=0.0)
    model = build(name, config).to(GPU)
    batch = make_batch([[5, 6, 7], [8, 9]], [[10, 11], [12, 13, 14]]).map(lambda tensor: tensor.to(GPU))

    def gradients(wrapped: nn.Module) -> list[torch.Tensor]:
        model.zero_grad()
        loss, _ = translation(0.1)(wrapped, batch)
        loss.backward()
        return [parameter.grad.clone() for parameter in model.parameters()]

    torch.testing.assert_close(gradients(nn.parallel.DistributedDataParallel(model)), gradients(model))
