"""The results page: data/results/README.md and its pictures, made from the recorded runs.

    python3 -m tools.experiments.page

Each experiment has a section: its question, the expectation written before it was run, what was found, a dot
for each run, and a table in which the variants are compared with a reference by the course's rule. The entry
"page" in data/experiments.json says what is shown:

    found       at most two sentences; {result:…} is replaced by a recorded number
    reads       how to read the columns, if their headings don't say it
    columns     headings of the columns (the first one is drawn), or paths of numbers in a run
    against     the variant that all are compared with, or one for each variant; it can be another
                experiment's ("positions/none")
    rows        the variants that are shown, if not all of them
    machine     where the experiment ran, if its runs didn't record it
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from course_lib import theme
from course_lib.formatting import counted
from course_lib.results import fill, read_results, runs
from course_lib.runtime import data_path, write_atomically
from course_lib.translation.comparison import BETTER, UNCLEAR, WORSE
from course_lib.views.run_dots import run_dots
from tools.experiments.catalogue import experiments
from tools.experiments.compare import compare_runs, find_column
from tools.experiments.tables import Measure, by_variant, markdown, mean_text, measures, percent

TEMPLATE = Path(__file__).with_name("results_page.md")
COLOURS = {BETTER: theme.BLUE, WORSE: theme.ORANGE, UNCLEAR: theme.SOFT_INK}


class Row(NamedTuple):
    """A variant, its runs, and those that it is compared with."""

    name: str
    runs: list[dict]
    reference: list[dict] | None

    def verdict(self, column: Measure) -> str | None:
        """The verdict by the rule; None without a reference or without numbers in this column."""
        if (
            self.reference is None
            or column.heading == "parameters"
            or not has_numbers(self.runs, column)
            or not has_numbers(self.reference, column)
        ):
            return None
        return compare_runs(self.runs, self.reference, column).verdict


def has_numbers(its_runs: Sequence[dict], column: Measure) -> bool:
    return all(column.find(run) is not None for run in its_runs)


def page() -> str:
    """The whole page as Markdown."""
    sections = "\n\n".join(section(read_results(name)) for name in experiments())
    return TEMPLATE.read_text(encoding="utf-8").replace("{sections}", sections)


def section(results: dict[str, Any], *, whole: bool = False) -> str:
    """The section of an experiment; `whole`: every row and column, and no picture."""
    experiment = experiments()[results["experiment"]]
    about, is_recorded = experiment.page, results == read_results(experiment.name)
    rows = rows_of(results, [] if whole else about.get("rows", []))
    columns = measures(results) if whole else shown_columns(results)
    against = about.get("against")
    lines = [[f"compared with {against}" if isinstance(against, str) else "", *(c.heading for c in columns)]]
    cells = [[row.name or experiment.name for row in rows]]
    cells += [[cell(row, column) for row in rows] for column in columns]
    lines += zip(*cells, strict=True)
    plural = "s" if "," in experiment.lesson else ""
    parts = [
        f"## `{experiment.name}` (lesson{plural} {experiment.lesson})",
        experiment.asks,
        f"**Expected.** {experiment.expected}",
        f"**Found.** {fill(about['found'])}" if is_recorded and "found" in about else "",
        about.get("reads", ""),
        "" if whole else f"![{columns[0].heading}, one dot per run](dots/{experiment.name}.svg)",
        markdown(lines),
        made_by(
            results,
            n_hidden=0
            if whole or "rows" not in about
            else len(by_variant(results["runs"])) - len(about["rows"]),
        ),
    ]
    return "\n\n".join(filter(None, parts))


def cell(row: Row, column: Measure) -> str:
    """The mean and, where there is a clear difference from the reference, "better" or "worse"."""
    verdict = row.verdict(column)
    return f"{mean_text(row.runs, column)} {verdict if verdict in (BETTER, WORSE) else ''}".strip()


def shown_columns(results: dict[str, Any]) -> list[Measure]:
    names = experiments()[results["experiment"]].page.get("columns", [None])
    return [find_column(results, name) for name in names]


def rows_of(results: dict[str, Any], chosen: Sequence[str]) -> list[Row]:
    """The variants, each with its reference; one of another experiment has a row of its own."""
    variants = by_variant(results["runs"])
    against = experiments()[results["experiment"]].page.get("against", {})
    rows: dict[str, Row] = {}
    for name in chosen or variants:
        reference = against if isinstance(against, str) else against.get(name)
        if reference is not None and reference not in variants and "/" in reference:
            experiment, _, variant = reference.partition("/")
            rows.setdefault(reference, Row(reference, by_variant(runs(experiment))[variant], None))
        compared_with = rows[reference].runs if reference in rows else variants.get(reference)
        rows[name] = Row(name, variants[name], compared_with if reference != name else None)
    return list(rows.values())


def made_by(results: dict[str, Any], *, n_hidden: int) -> str:
    """The runs, the machine and the command."""
    name = results["experiment"]
    seeds = sorted({run["seed"] for run in results["runs"]})
    machines = {
        f"{run['machine']}, torch {run['versions']['torch'].partition('+')[0]}"
        for run in results["runs"]
        if run.get("machine")
    }
    machine = " and ".join(sorted(machines)) or experiments()[name].page.get(
        "machine", "machine not recorded"
    )
    hidden = f"; {counted(n_hidden, 'more variant')} with `--table`" if n_hidden else ""
    return f"Seeds {', '.join(map(str, seeds))} · {machine} · `{results['command']}`{hidden}"


def picture(results: dict[str, Any]) -> bytes:
    """One dot for each run in the first column, as SVG: blue is better than the reference, orange worse."""
    from matplotlib import rc_context  # slow to import

    experiment = experiments()[results["experiment"]]
    column, rows = shown_columns(results)[0], rows_of(results, experiment.page.get("rows", []))
    scale = 100 if column.write is percent else 1
    dots = {
        row.name or experiment.name: [
            scale * column.find(run) for run in row.runs if column.find(run) is not None
        ]
        for row in rows
    }
    colours = [
        theme.INK if row.reference is None else COLOURS[row.verdict(column) or UNCLEAR] for row in rows
    ]
    heading = f"{column.heading}, %" if scale == 100 and "%" not in column.heading else column.heading
    sense = "higher" if column.higher_is_better else "lower"
    figure, drawn = run_dots(dots, title=f"{heading} ({sense} is better)", colours=colours), io.BytesIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": experiment.name}):
        figure.savefig(drawn, format="svg", metadata={"Date": None, "Creator": None})
    return drawn.getvalue()


if __name__ == "__main__":
    folder = data_path("results")
    write_atomically(folder / "README.md", page() + "\n")
    for name in experiments():
        write_atomically(folder / "dots" / f"{name}.svg", picture(read_results(name)))
