"""What a move of a slider costs: `python3 -m course_lib bench explorables`.

                    kernel  interact  ratio
    SoftmaxDial  6.1 / 7.9  112 / 130   18 ×

Some explorables, two of them on the trained translator, each in a real kernel, beside `ipywidgets.interact`
with a fresh `plt.figure` that draws the same picture at the same size. From the key press to the picture on
the screen, in a real browser: `python3 -m tests.browser.speed`.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from itertools import cycle
from statistics import median, quantiles
from typing import Any

from jupyter_client.manager import run_kernel

from course_lib import explore
from course_lib.bench.frame import columns, machine
from course_lib.explore.base import Explorable
from course_lib.runtime import PROJECT_ROOT

NAMES = ("SoftmaxDial", "SaturationLab", "SoftDictionary", "WhoAttends")
TRAINED = ("HeadSwitches", "ThreeUses")  # on the trained translator
PACKAGES = ("matplotlib", "ipywidgets", "ipykernel", "anywidget")
OUR_MOVES, INTERACT_MOVES = 120, 20

ABOUT = f"""\
kernel    setting a control in a running kernel until the new picture is handed to the front end: compute,
          draw, PNG, message. {OUR_MOVES} moves that sweep every control; ms, median / 95th percentile.
interact  the same moves and the same picture with ipywidgets.interactive and a fresh plt.figure a move:
          inline back end as it comes, layout already settled, the same quick texts. {INTERACT_MOVES} moves.
ratio     median of interact over median of kernel.
A slider feels smooth where a move takes at most 25 ms in the kernel."""


def run() -> int:
    """Measure and print the table."""
    print(machine(*PACKAGES), "", ABOUT, "", sep="\n", flush=True)
    rows = []
    for name in (*NAMES, *TRAINED):
        found = measure(name)
        ratio = median(found["interact"]) / median(found["kernel"])
        rows.append([name, told(found["kernel"]), told(found["interact"]), f"{ratio:.0f} ×"])
    print(columns(["", "kernel", "interact", "ratio"], rows))
    return 0


def told(times: list[float]) -> str:
    """Median and 95th percentile.

    >>> told([float(number) for number in range(101)])
    '50.0 / 95.0'
    """
    return f"{median(times):.1f} / {quantiles(times, n=20, method='inclusive')[-1]:.1f}"


def measure(name: str) -> dict[str, list[float]]:
    """Run one explorable's measurement in a kernel of its own: milliseconds, ours and interact's."""
    heard: list[str] = []

    def listen(message: dict) -> None:
        if message["msg_type"] == "stream":
            heard.append(message["content"]["text"])
        elif message["msg_type"] == "error":
            raise RuntimeError("\n".join(message["content"]["traceback"]))

    environment = {**os.environ, "PYTHONPATH": str(PROJECT_ROOT)}
    with (
        open(os.devnull, "w") as nowhere,
        run_kernel(kernel_name="python3", env=environment, stderr=nowhere) as client,
    ):
        code = f"from course_lib.bench import explorables; explorables.report({name!r})"
        client.execute_interactive(code, output_hook=listen, timeout=300)
    return json.loads("".join(heard).splitlines()[-1])


# ---- inside the kernel


def report(name: str) -> None:
    """Print one line of JSON: the milliseconds of every move, our way and interact's."""
    kind = getattr(explore, name)
    facts = {
        "kernel": move(kind, our_knobs(kind), OUR_MOVES),
        "interact": move(kind, interact_knobs(kind), INTERACT_MOVES),
    }
    print("\n" + json.dumps(facts))


def our_knobs(kind: type[Explorable]) -> dict[str, Any]:
    """The explorable on the page; its knobs by trait."""
    from IPython.display import display

    explorable = kind()
    display(explorable)
    knobs = explorable.view.children[1].children
    return {control.name: knob for control, knob in zip(kind.controls, knobs, strict=True)}


def interact_knobs(kind: type[Explorable]) -> dict[str, Any]:
    """The same picture, as `interact` and pyplot draw it; its knobs by trait."""
    import ipywidgets
    from IPython.display import display
    from matplotlib import pyplot

    pyplot.ioff()
    places = [axes.get_position() for axes in kind.moving().figure.axes]

    def show(**state: Any) -> None:
        figure = pyplot.figure(figsize=kind.size, layout="constrained")
        show_facts = kind.scene(figure)
        figure.set_layout_engine("none")  # ours settled its layout once: do not charge for it here
        for axes, place in zip(figure.axes, places, strict=True):
            axes.set_position(place)
        show_facts(kind.facts_at(state))
        pyplot.show()

    start = kind()
    knobs = {control.name: control.widget() for control in kind.controls}
    for name, knob in knobs.items():
        knob.value = getattr(start, name)
    display(ipywidgets.VBox([*knobs.values(), ipywidgets.interactive(show, **knobs).children[-1]]))
    return knobs


def move(kind: type[Explorable], knobs: dict[str, Any], count: int) -> list[float]:
    """So many changes of a knob; the milliseconds of each."""
    times: list[float] = []
    for name, value in sweep(kind):
        if len(times) == count:
            return times
        if knobs[name].value != value:
            start = time.perf_counter()
            knobs[name].value = value
            times.append(1000 * (time.perf_counter() - start))
    return times


def sweep(kind: type[Explorable]) -> Iterator[tuple[str, Any]]:
    """Every control from end to end, all of them in turn, for ever."""
    tracks = {control.name: control.stops for control in kind.controls}
    for i in cycle(range(max(map(len, tracks.values())))):
        for name, track in tracks.items():
            yield name, track[i % len(track)]
