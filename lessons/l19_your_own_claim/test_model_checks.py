"""A sound system passes all checks, and a system with a fault fails the check of the property it lacks."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from course_lib.models.registry import build, make_config, translators
from lessons.l19_your_own_claim.model_checks import CHECKS, failed_checks, faults


def maker(name: str, break_it=lambda system: None):
    def make(vocab_size: int):
        system = build(name, make_config(name, scale="tiny", vocab_size=vocab_size))
        break_it(system)
        return system

    return make


@pytest.mark.parametrize("name", {system.model: system.name for system in translators()}.values())
def test_a_sound_system_has_no_faults(name):
    assert faults(maker(name)) == []


def forgets_the_mask(system):
    forward = system.decoder.forward
    system.decoder.forward = lambda *args, **options: forward(*args, **{**options, "causal": False})


def reads_padding(system):
    read = system.read
    system.read = lambda src, lengths: read(src, torch.full_like(lengths, src.shape[1]))


def forgets_its_state(system):
    advance = system.advance
    system.advance = lambda memory, state, *rest, **more: advance(memory, system.start(memory), *rest, **more)


def frozen(system):
    for parameter in system.parameters():
        parameter.data.zero_()
    system.forward = lambda src, lengths, tgt_in: torch.zeros(*tgt_in.shape, 17, requires_grad=True)


def ignores_the_source(system):
    encode = system.encode
    system.encode = lambda src, lengths: encode(torch.full_like(src, 5), lengths)


def mixes_sentences(system):
    embed = system.words.source
    system.words.source = lambda src: embed(src) + 0.5 * embed(src)[:, :1].mean(0, keepdim=True)


def not_finite(system):
    system.words.output.bias.data.fill_(float("nan"))


def lacks_a_word(system):
    system.forward = lambda src, lengths, tgt_in: torch.zeros(*tgt_in.shape, 16)


@pytest.mark.parametrize(
    ("name", "break_it", "check"),
    [
        ("transformer", forgets_the_mask, "future"),
        ("bahdanau", reads_padding, "padding"),
        ("bahdanau", forgets_its_state, "steps"),
        ("luong_dot", ignores_the_source, "source"),
        ("transformer", mixes_sentences, "alone"),
        ("bahdanau", frozen, "loss"),
        ("transformer", not_finite, "finite"),
        ("transformer", lacks_a_word, "shape"),
    ],
)
def test_a_fault_is_found_by_its_check(name, break_it, check):
    make = maker(name, break_it)
    failed = failed_checks(make)
    assert check in failed and faults(make) == list(failed.values())
    assert check in CHECKS or len(failed) == 1


def test_what_is_no_system():
    assert failed_checks(lambda vocab_size: nn.Linear(2, 2)).keys() == {"type"}
    assert failed_checks(lambda: None).keys() == {"build"}
    assert failed_checks(maker("bahdanau", lambda system: delattr(system, "decoder"))).keys() == {"read"}
