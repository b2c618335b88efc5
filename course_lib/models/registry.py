"""Every system of the road by its name: what it is, its sizes, and how it is built.

    >>> config = make_config("luong_dot", scale="tiny", vocab_size=50)
    >>> config.score, config.vocab_size
    ('dot', 50)
    >>> model = build("luong_dot", config)
    >>> type(model).__name__
    'Luong'
    >>> system("luong").paper
    Traceback (most recent call last):
    ValueError: There is no system 'luong'. Did you mean luong_dot, ...

A name fixes what makes a system that system (`variant`: the score of `luong_dot`); its sizes come from
`sizes.py`, or from a configuration of your own. A configuration goes into a checkpoint as plain JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, asdict, fields

from torch import nn

from course_lib.models.config import Config
from course_lib.models.listing import listed
from course_lib.models.road import SYSTEMS, System
from course_lib.models.sizes import sizes

Plain = str | int | float | bool | None


def system(name: str) -> System:
    """The system of this name."""
    listed(name)  # says which ones are called alike, where there is none
    return next(one for one in SYSTEMS if one.name == name)


def translators() -> tuple[System, ...]:
    """All systems that translate: they keep to `translator.py`."""
    return tuple(one for one in SYSTEMS if one.kind == "translator")


def language_models() -> tuple[System, ...]:
    """All systems that say what comes next: they keep to `language_model.py`."""
    return tuple(one for one in SYSTEMS if one.kind == "language model")


def make_config(name: str, *, scale: str, vocab_size: int) -> Config:
    """The configuration of a system at one of the three scales of `sizes.py`: tiny, toy or multi30k."""
    chosen = system(name)
    return chosen.config(vocab_size=vocab_size, **sizes(name, scale), **chosen.variant)


def build(name: str, config: Config) -> nn.Module:
    """A new system, its weights drawn from torch's generator: seed that first to get the same one again."""
    chosen = system(name)
    if type(config) is not chosen.config:
        raise TypeError(
            f"Expected a {chosen.config.__name__} for {name}, but got {type(config).__name__}. "
            f"Make one with make_config({name!r}, scale=..., vocab_size=...)."
        )
    for key, value in chosen.variant.items():
        if getattr(config, key) != value:
            raise ValueError(
                f"Expected {key}={value!r}, for that is what {name} means, but got {getattr(config, key)!r}. "
                f"Take the system of that name, or build {chosen.model.__name__} itself."
            )
    return chosen.model(config)


def config_to_json(name: str, config: Config) -> dict[str, Plain]:
    """A configuration as plain data, with its system's name: what a checkpoint keeps beside the weights.

    >>> kept = config_to_json("bahdanau", make_config("bahdanau", scale="tiny", vocab_size=50))
    >>> kept["system"], kept["vocab_size"]
    ('bahdanau', 50)
    """
    if type(config) is not system(name).config:
        raise TypeError(
            f"Expected a {system(name).config.__name__} for {name}, but got {type(config).__name__}."
        )
    return {"system": name, **asdict(config)}


def config_from_json(kept: Mapping[str, Plain]) -> tuple[str, Config]:
    """The system's name and its configuration, as `config_to_json` kept them.

    An option that joined later, and so is not there, has its default: that is how the system was built.

    >>> config = make_config("bahdanau", scale="tiny", vocab_size=50)
    >>> config_from_json(config_to_json("bahdanau", config)) == ("bahdanau", config)
    True
    """
    if "system" not in kept:
        raise ValueError(f"Expected the name of a system under 'system', but there are only {_list(kept)}.")
    chosen = system(kept["system"])
    known, came = {one.name for one in fields(chosen.config)}, set(kept) - {"system"}
    needed = {one.name for one in fields(chosen.config) if one.default is MISSING}
    if not needed <= came <= known:
        differences = [
            f"{what} {_list(names)}"
            for what, names in (("lacks", needed - came), ("has the unknown", came - known))
            if names
        ]
        raise ValueError(
            f"Expected the fields of {chosen.config.__name__}, but this configuration of "
            f"{chosen.name} {' and '.join(differences)}. Was it written by another version of the course?"
        )
    return chosen.name, chosen.config(**{key: kept[key] for key in came})


def _list(names: Mapping | set[str]) -> str:
    return ", ".join(sorted(names)) or "nothing"
