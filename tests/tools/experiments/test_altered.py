"""Systems with one part changed still translate, step by step as all at once, and differ as they should."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from course_lib.models.registry import build, make_config, n_parameters
from course_lib.text.special import PAD
from tools.experiments.altered import ALTERED

CASES = [
    ("seq2seq", "context", 4),
    ("bahdanau", "encoder", "forward"),
    ("bahdanau", "encoder", "no attention"),
    ("luong_general", "general starts", "identity"),
    ("luong_general", "general starts", "linear"),
    ("transformer", "shared query and key", "self"),
    ("transformer", "shared query and key", "everywhere"),
    ("transformer", "sinusoids too", True),
    ("transformer", "wrong split", "everywhere"),
    ("transformer", "wrong split", "encoder"),
    ("transformer", "decoder only", 2),
]
SRC = torch.tensor([[7, 8, 9, 10, 3], [9, 7, 3, PAD, PAD]])
LENGTHS, TGT_IN = torch.tensor([5, 3]), torch.tensor([[2, 11, 12, 13], [2, 14, 15, 16]])


def made(system: str, part: str = "", how: object = None):
    torch.manual_seed(0)
    config = make_config(system, scale="tiny", vocab_size=30)
    if part == "sinusoids too":
        config = replace(config, positions="rotary")
    model = build(system, config).eval()
    if part:
        ALTERED[part](model, how)
    return model


def logits(model, src=SRC, lengths=LENGTHS):
    return model(src, lengths, TGT_IN)


@pytest.mark.parametrize(("system", "part", "how"), CASES)
def test_an_altered_system_decodes_step_by_step_as_all_at_once(system, part, how):
    model = made(system, part, how)
    whole = logits(model)
    assert not torch.allclose(whole, logits(made(system)), atol=1e-3)
    memory = model.encode(SRC, LENGTHS)
    state = model.start(memory)
    for t, tokens in enumerate(TGT_IN.unbind(dim=1)):
        step, state, _ = model.step(memory, state, tokens)
        if (part, how) != ("wrong split", "everywhere"):  # there, heads depend on how many words there are
            assert torch.allclose(step, whole[:, t], atol=1e-5)
    assert torch.allclose(step, whole[:, -1], atol=1e-5)
    logits(model).sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())


@pytest.mark.parametrize(("system", "part", "how"), [case for case in CASES if case[1] != "wrong split"])
def test_padding_changes_nothing_in_an_altered_system(system, part, how):
    model = made(system, part, how)
    alone = model(SRC[1:, :3], LENGTHS[1:], TGT_IN[1:])
    assert torch.allclose(alone, logits(model)[1:], atol=1e-5)


def test_sizes():
    """The widths of a context have equally many parameters; so have one and two directions."""
    sizes = {n: n_parameters(made("seq2seq", "context", n)) for n in (4, 8, 48)}
    assert len(set(sizes.values())) == 1 and sizes[4] == n_parameters(made("seq2seq")) + 48**2
    assert n_parameters(made("bahdanau", "encoder", "forward")) == n_parameters(made("bahdanau"))


def test_only_the_first_numbers_of_a_context_are_passed_on():
    model = made("seq2seq", "context", 5)
    state = model.encode(SRC, LENGTHS)
    numbers = torch.cat([state["hidden"], state["cell"]], dim=1)
    assert (numbers != 0).sum(dim=(1, 2)).tolist() == [5, 5]
    assert (numbers != 0).sum(dim=2).max() <= 2, "spread over all vectors"


def test_a_forward_encoder_does_not_know_what_follows():
    model, usual = made("bahdanau", "encoder", "forward"), made("bahdanau")
    other = SRC.clone()
    other[0, 3] = 20
    for system, differs in ((model, False), (usual, True)):
        before, after = (system.encode(src, LENGTHS)["annotations"][0, :3] for src in (SRC, other))
        assert torch.allclose(before, after) != differs


def test_the_wrong_split_makes_a_sentence_depend_on_its_padding():
    model = made("transformer", "wrong split", "everywhere")
    assert not torch.allclose(model(SRC[1:, :3], LENGTHS[1:], TGT_IN[1:]), logits(model)[1:], atol=1e-3)
