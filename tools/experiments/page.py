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

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from course_lib.formatting import counted
from course_lib.results import fill, read_results, runs
from course_lib.runtime import data_path, write_atomically
from course_lib.translation.comparison import BETTER, UNCLEAR, WORSE
from course_lib.views.run_dots import run_dots
from tools.experiments.catalogue import Experiment, experiments
from tools.experiments.compare import compare_runs, find_column
from tools.experiments.tables import Measure, by_variant, markdown, mean_text, measures, percent

TEMPLATE = Path(__file__).with_name("results_page.md")
NOT_JUDGED = ("parameters", "similarity", "gradient", "untrained")  # columns without a better and a worse
FILLS = {BETTER: "query", WORSE: "key", UNCLEAR: "soft"}


class Row(NamedTuple):
    """A variant, its runs, and those that it is compared with."""

    name: str
    runs: list[dict]
    against: str | None = None
    reference: list[dict] | None = None

    def verdict(self, column: Measure) -> str | None:
        """The verdict by the rule; None without a reference or without numbers in this column."""
        if (
            self.reference is None
            or column.heading.startswith(NOT_JUDGED)
            or not has_numbers(self.runs, column)
            or not has_numbers(self.reference, column)
        ):
            return None
        return compare_runs(self.runs, self.reference, column).verdict


def has_numbers(its_runs: Sequence[dict], column: Measure) -> bool:
    return all(column.find(run) is not None for run in its_runs)


def recorded() -> list[str]:
    """The experiments whose runs are in data/results: all but those that are still to be run."""
    return [name for name in experiments() if (data_path("results") / f"{name}.json").exists()]


def page() -> str:
    """The whole page as Markdown."""
    by_lesson: dict[str, list[str]] = {}
    for name in recorded():
        experiment = experiments()[name]
        anchor = re.sub(r"[^\w -]", "", heading(experiment)).replace(" ", "-")
        by_lesson.setdefault(experiment.lesson.partition(",")[0], []).append(f"[{name}](#{anchor})")
    index = " · ".join(f"**{lesson}** {', '.join(links)}" for lesson, links in sorted(by_lesson.items()))
    sections = "\n\n".join(section(read_results(name)) for name in recorded())
    text = TEMPLATE.read_text(encoding="utf-8")
    return text.replace("{index}", f"By lesson: {index}").replace("{sections}", sections)


def heading(experiment: Experiment) -> str:
    return f"`{experiment.name}` (lesson{'s' if ',' in experiment.lesson else ''} {experiment.lesson})"


def section(results: dict[str, Any], *, whole: bool = False) -> str:
    """The section of an experiment; `whole`: every row and column, and no picture."""
    experiment = experiments()[results["experiment"]]
    about = experiment.page
    variants = by_variant(results["runs"])
    rows = rows_of(results, [] if whole else about.get("rows", []))
    columns = measures(results) if whole else shown_columns(results)
    against = about.get("against")
    lines = [[f"compared with {against}" if isinstance(against, str) else "", *(c.heading for c in columns)]]
    labels = [row.name or experiment.name for row in rows]
    if isinstance(against, dict):  # each row has a reference of its own: often the last one above it
        latest = None
        for n, row in enumerate(rows):
            labels[n] += f", against {row.against}" if row.against not in (None, latest) else ""
            latest = latest if row.against else row.name
    cells = [labels]
    cells += [[cell(row, column) for row in rows] for column in columns]
    lines += zip(*cells, strict=True)
    parts = [
        f"## {heading(experiment)}",
        experiment.asks,
        f"**Expected.** {experiment.expected}",
        f"**Found.** {fill(about['found'])}" if "found" in about and is_recorded(results) else "",
        about.get("reads", ""),
        "" if whole else f"![{columns[0].heading}, one dot per run](dots/{experiment.name}.svg)",
        markdown(lines),
        made_by(results, n_hidden=sum(name not in {row.name for row in rows} for name in variants)),
    ]
    return "\n\n".join(filter(None, parts))


def is_recorded(results: dict[str, Any]) -> bool:
    """Whether these are the results in data/results, and not a trial."""
    name = results["experiment"]
    return name in recorded() and results == read_results(name)


def cell(row: Row, column: Measure) -> str:
    """The mean and, where there is a clear difference from the reference, "better" or "worse"."""
    verdict = row.verdict(column)
    return f"{mean_text(row.runs, column)} {verdict if verdict in (BETTER, WORSE) else ''}".strip()


def shown_columns(results: dict[str, Any]) -> list[Measure]:
    names = experiments()[results["experiment"]].page.get("columns", [None])
    return [find_column(results, name) for name in names]


def rows_of(results: dict[str, Any], chosen: Sequence[str]) -> list[Row]:
    """The variants, each with its reference; one of another experiment has a row before them."""
    variants = by_variant(results["runs"])
    against = experiments()[results["experiment"]].page.get("against", {})
    rows: dict[str, Row] = {}
    for name in chosen or variants:
        reference = against if isinstance(against, str) else against.get(name, "")
        experiment, _, variant = reference.partition("/")
        if experiment in experiments() and is_recorded(results):
            rows.setdefault(reference, Row(reference, by_variant(runs(experiment))[variant]))
        compared_with = rows[reference].runs if reference in rows else variants.get(reference)
        has_reference = reference != name and compared_with is not None
        rows[name] = Row(name, variants[name], *(reference, compared_with) if has_reference else ())
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
    plural = "s" if len(seeds) > 1 else ""
    return f"Seed{plural} {', '.join(map(str, seeds))} · {machine} · `{results['command']}`{hidden}"


def picture(results: dict[str, Any]) -> str:
    """One dot for each run in the first column, as SVG: blue is better than the reference, orange worse."""
    experiment = experiments()[results["experiment"]]
    column, rows = shown_columns(results)[0], rows_of(results, experiment.page.get("rows", []))
    scale = 100 if column.write is percent else 1
    dots, fills = {}, {}
    for row in rows:
        name = row.name or experiment.name
        dots[name] = [scale * column.find(run) for run in row.runs if column.find(run) is not None]
        fills[name] = "ink" if row.reference is None else FILLS[row.verdict(column) or UNCLEAR]
    heading = f"{column.heading}, %" if scale == 100 and "%" not in column.heading else column.heading
    sense = "higher" if column.higher_is_better else "lower"
    return run_dots(dots, title=f"{heading} ({sense} is better)", fills=fills).file + "\n"


if __name__ == "__main__":
    folder = data_path("results")
    write_atomically(folder / "README.md", page() + "\n")
    for name in recorded():
        write_atomically(folder / "dots" / f"{name}.svg", picture(read_results(name)))
