"""A sound system is not accused, and one that breaks a property is told which."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from course_lib.models.registry import build, make_config, translators
from lessons.l19_your_own_claim.sound import faults


def maker(name: str, spoil=lambda system: None):
    def make(vocab_size: int):
        system = build(name, make_config(name, scale="tiny", vocab_size=vocab_size))
        spoil(system)
        return system

    return make


@pytest.mark.parametrize("name", {system.model: system.name for system in translators()}.values())
def test_a_sound_system_is_not_accused(name):
    assert faults(maker(name)) == []


def forgets_the_mask(system):
    tell = system.decoder.forward
    system.decoder.forward = lambda *args, **options: tell(*args, **{**options, "causal": False})


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


def hears_nothing(system):
    encode = system.encode
    system.encode = lambda src, lengths: encode(torch.full_like(src, 5), lengths)


def mixes_sentences(system):
    embed = system.words.source
    system.words.source = lambda src: embed(src) + 0.5 * embed(src)[:, :1].mean(0, keepdim=True)


def endless(system):
    system.words.output.bias.data.fill_(float("nan"))


def narrow(system):
    system.forward = lambda src, lengths, tgt_in: torch.zeros(*tgt_in.shape, 16)


@pytest.mark.parametrize(
    ("name", "spoil", "says"),
    [
        ("transformer", forgets_the_mask, "The future leaks"),
        ("bahdanau", reads_padding, "Padding changes the logits"),
        ("bahdanau", forgets_its_state, "Word by word"),
        ("luong_dot", hears_nothing, "The source is not heard"),
        ("transformer", mixes_sentences, "Sentences of a batch mix"),
        ("bahdanau", frozen, "does not learn three sentences by heart"),
        ("transformer", endless, "not finite"),
        ("transformer", narrow, "(batch, tgt, vocab)"),
    ],
)
def test_a_fault_is_named(name, spoil, says):
    assert any(says in fault for fault in faults(maker(name, spoil)))


def test_what_is_no_system():
    assert "subclass of Translator" in faults(lambda vocab_size: nn.Linear(2, 2))[0]
    assert "cannot be built" in faults(lambda: None)[0]
