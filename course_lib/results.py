"""Recorded results: the runs that lessons quote, their means over seeds, and numbers for prose.

    >>> round(mean_over_seeds("key_and_value", lambda run: run["right"])["width 2, two matrices"], 4)
    0.9999
    >>> fill("Bahdanau's system translates {result:toy_ladder/bahdanau/scores/test/exact:.1%} correctly.")
    "Bahdanau's system translates 97.7% correctly."

The runs are in data/results, with seeds, machine and command; `course_lib experiment` makes them again.

A number in a lesson's Markdown or in its quiz.json is written `{result:PATH:FORMAT}`, so that it can't differ
from the measurement. The path names the file, the variant (unless there is one without a name) and the keys
inside a run; the number is the mean over the variant's seeds.

    {result:heads/1/scores/test/exact:.1%}          96.7%
    {result:heads/1/scores/test/exact:.1p}          96.7, in percent without the sign
    {result:min heads/4/scores/test/exact:.1%}      the smallest over the seeds; also `max`
    {result:each heads/4/scores/test/exact:.1%}     98.1%, 98.6% and 98.7%: every seed, in ascending order
    {result:heads/4/parameters - heads/1/parameters:,.0f}     a difference of two means
"""

from __future__ import annotations

import base64
import difflib
import json
import re
import zlib
from collections.abc import Callable, Sequence
from functools import cache
from statistics import mean
from typing import Any

import numpy as np

from course_lib.runtime import data_path

PLACEHOLDER = re.compile(r"\{result:(?P<query>[^{}\n]*)\}")
LIKE_A_PLACEHOLDER = re.compile(r"\{\s*results?\s*[:|][^}\n]*\}?", re.IGNORECASE)
SYNTAX = re.compile(r"(?:(?P<statistic>mean|min|max|each) )?(?P<paths>.+):(?P<format>[^:]*)")
EXAMPLE = "{result:toy_ladder/bahdanau/scores/test/exact:.1%}"


class UnknownResult(ValueError):
    """A placeholder that names no recorded number, and its offset in the text."""

    def __init__(self, message: str, offset: int = 0):
        super().__init__(message)
        self.offset = offset


@cache
def read_results(file: str) -> dict:
    """A file of data/results, parsed once: a lesson quotes the same few files many times."""
    return json.loads(data_path("results", f"{file}.json").read_text(encoding="utf-8"))


def with_digits(numbers: Any, digits: int = 4) -> Any:
    """Nested numbers with so many significant digits, before they are stored.

    >>> with_digits({"losses": [0.123456, 1234.56, 7]})
    {'losses': [0.1235, 1235.0, 7]}
    """
    return json.loads(json.dumps(numbers), parse_float=lambda text: float(f"{float(text):.{digits}g}"))


def runs(experiment: str) -> list[dict]:
    """Every run of an experiment: its variant, its seed, and what was measured."""
    return read_results(experiment)["runs"]


def value_at(run: dict, *path: str | int) -> Any:
    """The value at a path of keys in a run, or None.

    >>> run = runs("toy_ladder")[0]
    >>> value_at(run, "scores", "test", "n"), value_at(run, "scores", "test", "perplexity")
    (1000, None)
    """
    value: Any = run
    for key in path:
        if value is None:
            return None
        value = value.get(key) if isinstance(value, dict) else value[key]
    return value


def mean_over_seeds(experiment: str, measure: Callable[[dict], float]) -> dict[str, float]:
    """The mean of a measure over the seeds, for each variant of an experiment."""
    by_variant: dict[str, list[float]] = {}
    for run in runs(experiment):
        by_variant.setdefault(run["variant"], []).append(measure(run))
    return {variant: mean(values) for variant, values in by_variant.items()}


# ---- one row per sentence


def pack_rows(rows: Sequence[Sequence[int]]) -> str:
    """Rows of small counts, one per sentence, as text: a few kilobytes for a thousand sentences.

    >>> unpack_rows(pack_rows([[3, 2, 1, 0, 3, 4], [5, 4, 3, 2, 5, 5]])).tolist()
    [[3, 2, 1, 0, 3, 4], [5, 4, 3, 2, 5, 5]]
    """
    table = np.array(rows)
    if table.ndim != 2 or table.min() < 0 or table.max() > 255:
        raise ValueError(
            f"Expected rows of counts from 0 to 255, but got shape {table.shape} with {rows[:1]}."
        )
    content = np.array([table.shape[1], *table.ravel()], dtype=np.uint8).tobytes()
    return base64.b64encode(zlib.compress(content, 9)).decode()


def unpack_rows(text: str) -> np.ndarray:
    """The rows that `pack_rows` packed, as an array of integers (sentences, counts)."""
    width, *counts = zlib.decompress(base64.b64decode(text))
    return np.array(counts).reshape(-1, width)


# ---- numbers for prose


def fill(text: str) -> str:
    """The text with every `{result:…}` replaced by its number. Raises `UnknownResult`."""
    if wrong := LIKE_A_PLACEHOLDER.search(PLACEHOLDER.sub(lambda match: " " * len(match[0]), text)):
        raise UnknownResult(f"write a recorded number as {EXAMPLE}, not as {wrong[0]}", wrong.start())

    def number(match: re.Match[str]) -> str:
        try:
            return formatted(match["query"])
        except UnknownResult as error:
            raise UnknownResult(f"{match[0]}: {error}", match.start()) from None

    return PLACEHOLDER.sub(number, text)


def formatted(query: str) -> str:
    """The number that a placeholder asks for, as text.

    >>> formatted("each heads/4/scores/test/exact:.1%")
    '98.1%, 98.6% and 98.7%'
    """
    match = SYNTAX.fullmatch(query)
    if match is None:
        raise UnknownResult(f"expected a path and a format, as in {EXAMPLE}")
    paths, statistic, form = match["paths"].split(" - "), match["statistic"], match["format"]
    if len(paths) > 1:
        if len(paths) > 2 or statistic:
            raise UnknownResult("a difference takes exactly two paths and no statistic")
        first, second = (mean(values_at(path)) for path in paths)
        return _format(first - second, form)
    values = values_at(paths[0])
    if statistic == "each":
        *others, last = (_format(value, form) for value in sorted(values))
        return f"{', '.join(others)} and {last}" if others else last
    return _format({"min": min, "max": max}.get(statistic, mean)(values), form)


def _format(value: float, form: str) -> str:
    """A number in a format of Python's, or in one that ends in `p`: percent without the sign."""
    try:
        return format(100 * value, f"{form[:-1]}f") if form.endswith("p") else format(value, form)
    except ValueError:
        raise UnknownResult(f"{form!r} is not a number format; try .1%, .1p, .2f or ,.0f") from None


def values_at(path: str) -> list[float]:
    """One number for each seed, or a single number if the file has no runs."""
    file, keys = _find_file(path.strip().split("/"))
    content = read_results(file)
    if "runs" not in content:
        return [_number(content, keys, file)]
    variants = list(dict.fromkeys(run["variant"] for run in content["runs"]))
    variant = "" if variants == [""] else keys.pop(0) if keys else ""
    if variant not in variants:
        raise UnknownResult(f"{file} has no variant {variant!r}{_suggest(variant, variants)}")
    return [_number(run, keys, file) for run in content["runs"] if run["variant"] == variant]


def _find_file(parts: list[str]) -> tuple[str, list[str]]:
    """The results file, which may be in a folder, and the keys that follow it in the path."""
    folder = data_path("results")
    for n_parts in (2, 1):
        file = "/".join(parts[:n_parts])
        if len(parts) > n_parts and (folder / f"{file}.json").exists():
            return file, parts[n_parts:]
    files = sorted(path.stem for path in folder.glob("*.json"))
    raise UnknownResult(f"there is no results file {parts[0]!r}{_suggest(parts[0], files)}")


def _number(content: Any, keys: list[str], file: str) -> float:
    value = content
    for key in keys:
        try:
            value = value[int(key)] if isinstance(value, list) else value[key]
        except (KeyError, IndexError, TypeError, ValueError):
            names = list(value) if isinstance(value, dict) else []
            raise UnknownResult(
                f"{file} has no {key!r} at this point in the path{_suggest(key, names)}"
            ) from None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UnknownResult(f"{'/'.join(keys)} in {file} is a {type(value).__name__}, not a number")
    return value


def _suggest(name: str, names: list[str]) -> str:
    if close := difflib.get_close_matches(name, names, n=1):
        return f"; did you mean {close[0]!r}?"
    return f"; choose from {', '.join(map(repr, names[:12]))}" if names else ""
