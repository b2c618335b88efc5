"""What a move of a slider costs: `python3 -m course_lib bench explorables`.

Some explorables, two of them on the trained translator, are measured in a real kernel, beside
`ipywidgets.interact` with a fresh `plt.figure` that draws the same picture at the same size; and the others,
where Chromium and Playwright are there, from the key press to the new picture on the screen.
"""

from __future__ import annotations

import json
import os
from statistics import median, quantiles
from typing import NamedTuple

from course_lib.bench.frame import Verdict, conclude, machine
from course_lib.runtime import PROJECT_ROOT

KERNEL_MS, RATIO, BROWSER_MS = 25, 10, 120
NAMES = ("SoftmaxDial", "SaturationLab", "SoftDictionary", "WhoAttends")
TRAINED = ("HeadSwitches", "ThreeUses")  # on the trained translator: measured in the kernel only
PACKAGES = ("matplotlib", "ipywidgets", "ipykernel", "anywidget")

ABOUT = """\
kernel    setting a control in a running kernel until the new picture is handed to the front end: compute,
          draw, PNG, message. 120 moves that sweep every control. Milliseconds, median / 95th percentile.
interact  the same moves and the same picture with ipywidgets.interactive and a fresh plt.figure a move:
          inline back end as it comes, layout already settled, the same quick texts. 20 moves.
ratio     median of interact over median of kernel.
bytes     sent to the front end for a move, in kB: ours / interact.
Chromium  key press on a slider until the frame that shows the new picture, in JupyterLab; 40 presses."""


class Row(NamedTuple):
    name: str
    kernel: list[float]
    interact: list[float]
    kernel_bytes: float
    interact_bytes: float
    browser: list[float]


def run() -> int:
    """Measure, print the table and the verdicts; 0 when every target that was measured is met."""
    print(machine(*PACKAGES), "", ABOUT, "", sep="\n")
    in_browser = _in_browser()
    seen = in_browser if isinstance(in_browser, dict) else {}
    rows = [Row(name, **_measure(name), browser=seen.get(name, [])) for name in (*NAMES, *TRAINED)]
    print(table(rows))
    if not seen:
        print(f"Chromium: not measured ({in_browser}).")
    return conclude(judge(rows))


def p95(times: list[float]) -> float:
    return quantiles(times, n=20, method="inclusive")[-1]


def table(rows: list[Row]) -> str:
    head = f"{'':16}{'kernel':>14}{'interact':>16}{'ratio':>8}{'bytes':>16}{'Chromium':>14}"
    lines = [head]
    for row in rows:
        browser = f"{median(row.browser):.0f} / {p95(row.browser):.0f}" if row.browser else "–"
        lines.append(
            f"{row.name:16}{f'{median(row.kernel):.1f} / {p95(row.kernel):.1f}':>14}"
            f"{f'{median(row.interact):.0f} / {p95(row.interact):.0f}':>16}"
            f"{f'{median(row.interact) / median(row.kernel):.0f}×':>8}"
            f"{f'{row.kernel_bytes / 1000:.0f} / {row.interact_bytes / 1000:.0f} kB':>16}{browser:>14}"
        )
    return "\n".join(lines)


def judge(rows: list[Row]) -> list[Verdict]:
    """Each target with the worst that was measured."""
    slowest = max(rows, key=lambda row: p95(row.kernel))
    closest = min(rows, key=lambda row: median(row.interact) / median(row.kernel))
    kernel, ratio = p95(slowest.kernel), median(closest.interact) / median(closest.kernel)
    verdicts = [
        Verdict(
            kernel <= KERNEL_MS,
            f"a move costs at most {KERNEL_MS} ms in the kernel (p95): {kernel:.1f} ms, {slowest.name}",
        ),
        Verdict(
            ratio >= RATIO,
            f"at least {RATIO} times less than interact (median): {ratio:.1f} times, {closest.name}",
        ),
    ]
    if seen := [row for row in rows if row.browser]:
        last = max(seen, key=lambda row: p95(row.browser))
        shown = p95(last.browser)
        verdicts.append(
            Verdict(
                shown <= BROWSER_MS,
                f"shown in Chromium within {BROWSER_MS} ms (p95): {shown:.0f} ms, {last.name}",
            )
        )
    return verdicts


def _in_browser() -> dict[str, list[float]] | str:
    """Milliseconds by explorable, or why there are none."""
    try:
        from course_lib.bench.in_browser import key_press_to_picture
    except ImportError:
        return "Playwright is not installed"
    return key_press_to_picture(NAMES)


def _measure(name: str) -> dict:
    """Run one explorable's measurement in a kernel of its own."""
    from jupyter_client.manager import start_new_kernel

    environment = {**os.environ, "PYTHONPATH": str(PROJECT_ROOT)}
    with open(os.devnull, "w") as nowhere:
        manager, client = start_new_kernel(kernel_name="python3", env=environment, stderr=nowhere)
    heard: list[str] = []

    def listen(message: dict) -> None:
        if message["msg_type"] == "stream":
            heard.append(message["content"]["text"])
        elif message["msg_type"] == "error":
            raise RuntimeError("\n".join(message["content"]["traceback"]))

    try:
        client.execute_interactive(
            f"from course_lib.bench import in_kernel; in_kernel.report({name!r})",
            output_hook=listen,
            timeout=300,
        )
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    return json.loads("".join(heard).splitlines()[-1])
