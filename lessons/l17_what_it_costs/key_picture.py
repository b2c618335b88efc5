"""The key picture of this lesson: a GPU's recorded roofline, and the parts of a Transformer below it."""

from __future__ import annotations

import json
import math
from functools import cache

from course_lib.runtime import data_path
from course_lib.views.picture import WIDTH, Picture
from course_lib.views.plane import Plane
from course_lib.views.svg import belongs, box, dot, group, line, note, word

PARTS = ("", "attention")
PLANE = Plane(
    left=72, top=104, width=660, height=340, x=(0.05, 10_000), y=(0.4, 1_400), log_x=True, log_y=True
)
READING = {  # the operations that are shown, and where their names stand
    "feed-forward": ("end", -10, 20),
    "attention, fused": ("middle", 6, 32),
    "attention, written out": ("start", 12, 10),
    "layer norm": ("start", 12, 4),
    "output softmax": ("start", 12, 6),
    "residual": ("start", 12, 6),
}
WRITING = {  # the operation and the number of sentences, its name, and how far above the dot it stands
    ("feed-forward", 1): ("feed-forward, one sentence", 3),
    ("feed-forward", 64): ("feed-forward, 64 sentences at once", 4),
    ("attention, fused", 64): ("attention, 64 sentences", 13),
}
Point = tuple[float, float, float]  # FLOPs per byte, TFLOP/s, milliseconds


@cache
def numbers() -> tuple[float, float, dict[str, Point], dict[tuple[str, int], Point]]:
    """The ceilings in TB/s and TFLOP/s, what reads texts, and what generates a word of so many sentences."""
    record = json.loads(data_path("results", "gpu", "roofline.json").read_text(encoding="utf-8"))
    [ceiling] = record["ceilings"]["rows"]
    points = {
        (row["phase"], row["operation"], row["batch"]): (row["intensity"], row["FLOP/s"] / 1e12, row["ms"])
        for row in record["operations"]["rows"]
    }
    reading = {name: point for (phase, name, _), point in points.items() if phase == "prefill"}
    writing = {which: points["decode", *which] for which in WRITING}
    return ceiling["bytes/s"] / 1e12, ceiling["FLOP/s"] / 1e12, reading, writing


def draw(lit: str = "") -> Picture:
    bandwidth, arithmetic, reading, writing = numbers()
    fill, faded = ("accent", "0.3") if lit else ("query", None)
    ridge = PLANE.at(arithmetic / bandwidth, arithmetic)
    roof = [PLANE.at(0.1, 0.1 * bandwidth), ridge, PLANE.at(10_000, arithmetic)]
    ticks = {10.0**i: f"{10.0**i:,g}" for i in range(-1, 5)}
    bottom = PLANE.top + PLANE.height
    out = box(ridge[0], ridge[1], PLANE.left + PLANE.width - ridge[0], bottom - ridge[1], "wash", radius=0)
    out += word(ridge[0] + 12, bottom - 12, "arithmetic is the limit", 13, "soft", "start")
    out += word(ridge[0] - 12, bottom - 12, "memory is the limit", 13, "soft", "end")
    out += PLANE.scale_x(ticks, "FLOPs for each byte that has to be moved at least (bfloat16)")
    out += PLANE.scale_y({10.0**i: f"{10**i:,}" for i in range(4)}) + line(roof, "ink", 2.4)
    out += word(20, PLANE.top + 4, "TFLOP/s", 12, "soft", "start")
    x, y = PLANE.at(8, 8 * bandwidth)
    slope = math.degrees(math.atan2(roof[0][1] - roof[1][1], roof[1][0] - roof[0][0]))
    turned = f"rotate({-slope:.1f} {x:.1f} {y:.1f})"
    out += word(x, y - 8, f"memory, measured: {bandwidth:.1f} TB/s", 13, transform=turned)
    said = f"arithmetic, measured: {arithmetic:.0f} TFLOP/s"
    out += word(740, ridge[1] - 9, said, 13, anchor="end", halo="paper")
    for name, (anchor, right, down) in READING.items():
        (x, y), attends = PLANE.at(*reading[name][:2]), name.startswith("attention")
        tone, said = (fill, f"{name}: {reading[name][2]:.1f} ms") if attends else ("soft", name)
        drawn = dot(x, y, 5, tone, "paper", 1) + word(x + right, y + down, said, 12, tone, anchor)
        tip = belongs(tip=f"{name}: {reading[name][1]:.0f} TFLOP/s, {reading[name][0]:,.1f} FLOPs per byte")
        out += group(drawn, opacity=None if attends else faded, **tip)
    one, many, attention = writing.values()
    (x, y), (right, top) = PLANE.at(*one[:2]), PLANE.at(*many[:2])
    moved = line([(x, y), (right - 6, top + 5)], "accent", 1.4, dash="4 4", head=True)
    for which, (name, up) in WRITING.items():
        x, y = PLANE.at(*writing[which][:2])
        moved += dot(x, y, 6, "accent", "paper", 1)
        moved += word(x - 12, y - up, name, 13, "accent", "end", bold=True)
    percent = 100 * one[1] / arithmetic
    headline = f"Generating one word, a feed-forward layer waits for memory: {percent:.1f}% of full speed"
    said = [
        "A dot is a part of a Transformer (width 4,096) on an H200, as it reads 8 × 2,048 words at once;",
        "projections and logits, close to feed-forward, are left out. Bold: generating the next word.",
    ]
    out += group(moved, opacity=faded) + word(20, 30, headline, 15, anchor="start", bold=True)
    alt = (
        f"Speed against FLOPs per byte on an H200. Below {arithmetic / bandwidth:.0f} FLOPs per byte, memory "
        f"({bandwidth:.1f} TB/s) is the limit. A feed-forward layer that generates one word reaches "
        f"{one[1]:.1f} of {arithmetic:.0f} TFLOP/s, with 64 sentences {many[1]:.0f}, but attention then only "
        f"{attention[1]:.1f}; reading whole texts, the layer reaches {reading['feed-forward'][1]:.0f}."
    )
    return Picture(WIDTH, 500, out, note(20, 53, said), alt=alt)
