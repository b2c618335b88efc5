"""Evaluations of several systems in one table: a column a system, a row a number.

    print(side_by_side({"bahdanau": ..., "transformer": ...}, width=80))

                   bahdanau  transformer
    BLEU               96.1         98.7

Many systems need more columns than fit. Then each block is turned, a row a system, or cut and continued
below, whichever takes fewer lines.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

NONE = "–"
GAP = 2
Grid = Sequence[Sequence[str]]  # rows of cells; the first row and the first column say what the others are


def side_by_side(found: Mapping[str, object], *, width: int) -> str:
    """The table of some `Evaluation`s of the same sentences; a number that a system has not is a dash."""
    from course_lib.translation.evaluation import explained

    each = list(found.values())
    grids = [[(corner, *found), *rows] for corner, rows in blocks(each)]
    # A row in which nobody has a number says nothing.
    grids = [[row for row in grid if set(row[1:]) != {NONE}] for grid in grids]
    signatures = f"BLEU       {each[0].bleu.signature}\nchrF       {each[0].chrf.signature}"
    notes = explained(each)
    return "\n\n".join([*(laid_out(grid, width) for grid in grids), signatures + (notes and f"\n{notes}")])


def blocks(each: Sequence) -> Iterator[tuple[str, list[tuple[str, ...]]]]:
    """What a block is about, and its rows: the name of a number, then what it is for each system."""
    yield (
        "",
        [
            ("BLEU", *(f"{one.bleu.value:.1f}" for one in each)),
            ("chrF", *(f"{one.chrf.value:.1f}" for one in each)),
            ("exact", *(f"{one.exact:.1%}" for one in each)),
            ("il/elle", *(percent(one.coreference and one.coreference.share) for one in each)),
            ("AER says", *(percent(one.alignment and one.alignment.producing) for one in each)),
            ("AER reads", *(percent(one.alignment and one.alignment.reading) for one in each)),
            ("no end", *(f"{one.n_cut:,}" for one in each)),
        ],
    )
    for corner, part in (("exact by words", "by_length"), ("exact by phenomenon", "by_phenomenon")):
        slices = [getattr(evaluation, part) for evaluation in each]
        if slices[0]:
            yield (
                corner,
                [
                    (f"{same[0].name} ({same[0].n:,})", *(percent(one.exact) for one in same))
                    for same in zip(*slices, strict=True)
                ],
            )


def laid_out(grid: Grid, width: int) -> str:
    """The grid as it is where it fits; else as it is or turned, whichever takes fewer lines."""
    as_it_is, turned = written(grid, width), written(list(zip(*grid, strict=True)), width)
    fits = len(as_it_is) == len(grid)
    return "\n".join(as_it_is if fits or len(as_it_is) <= len(turned) else turned)


def written(grid: Grid, width: int) -> list[str]:
    """Lines, the first column to the left, numbers to the right; columns that do not fit go on below.

    >>> print(*written([("", "a", "b"), ("BLEU", "12.3", "4.5")], width=12), sep="|")
             a|BLEU  12.3||        b|BLEU  4.5
    """
    from course_lib.translation.attention_text import parts

    sizes = [max(map(len, column)) for column in zip(*grid, strict=True)]
    first = sizes[0] + GAP
    lines = []
    for part in parts(sizes[1:], width - first, gap=GAP):
        lines += [""] if lines else []
        for name, *cells in grid:
            row = (" " * GAP).join(f"{cells[place]:>{sizes[1 + place]}}" for place in part)
            lines.append(f"{name:<{first}}{row}")
    return lines


def percent(share: float | None) -> str:
    return NONE if share is None else f"{share:.1%}"
