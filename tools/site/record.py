"""Record the picture of the README from the site's first page: the sentence grows, one translator fails.

python -m tools.site.record                     # writes docs/translators.gif; needs Chromium and playwright
"""

from __future__ import annotations

import io
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

from course_lib.runtime import PROJECT_ROOT, write_atomically
from tests.browser.lab import CHROMIUM_ARGS, chromium_path
from tools.site.live import growing, inline, landing_page, weights_scripts

PICTURE = PROJECT_ROOT / "docs" / "translators.gif"
N_SENTENCES = 3  # the fourth doesn't fit into rows
SIZE = {"width": 1200, "height": 650}
ONLY_ANSWERS = "h1, main > .soft, form, #offers, #note { display: none !important; }"
FRAME, HOLD = 200, 2400  # ms of each frame while the answers appear, and of the last one
COLOURS = 128
SET_TIME = """time => {
  for (const animation of document.getAnimations()) {
    animation.pause();
    animation.currentTime = time;
  }
  return Math.max(...document.getAnimations().map(({ effect }) => effect.getComputedTiming().endTime));
}"""


def record() -> bytes:
    """The animated picture as a GIF."""
    frames: list[tuple[Image.Image, int]] = []
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        file = Path(folder, "page.html")
        file.write_text(landing_page(inline(weights_scripts()), ""), encoding="utf-8")
        browser = driver.chromium.launch(executable_path=chromium_path(), args=CHROMIUM_ARGS)
        page = browser.new_page(viewport=SIZE, color_scheme="light")
        page.goto(file.as_uri())
        page.add_style_tag(content=ONLY_ANSWERS)
        for n_clauses in range(1, N_SENTENCES + 1):
            text = " ".join(part["text"] for part in growing(past=False)[:n_clauses])
            page.wait_for_function("text => document.body.dataset.shown === text", arg=text)
            frames += answer_frames(page)
            page.evaluate("document.getElementById('longer').click()")
        browser.close()
    palette = frames[-1][0].quantize(COLOURS)
    pictures = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame, _ in frames]
    gif = io.BytesIO()
    durations = [duration for _, duration in frames]
    pictures[0].save(gif, "gif", save_all=True, append_images=pictures[1:], duration=durations, loop=0)
    return gif.getvalue()


def answer_frames(page: Page) -> list[tuple[Image.Image, int]]:
    """What one sees while the answers appear word by word, each with its time in ms."""
    end = page.evaluate(SET_TIME, 0)
    frames = []
    for time in range(0, int(end) + FRAME, FRAME):
        page.evaluate(SET_TIME, time)
        picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
        frames.append((picture, FRAME if time < end else HOLD))
    return frames


if __name__ == "__main__":
    content = record()
    write_atomically(PICTURE, content)
    print(f"{PICTURE}: {len(content) / 1e6:.2f} MB")
