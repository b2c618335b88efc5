"""A made-up course in a temporary folder, with a small lesson that breaks no rule."""

from __future__ import annotations

import io
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from tools.authoring.build import build_all, draft
from tools.authoring.rules import breaches
from tools.authoring.source import LessonError

TINY = '''\
# A tiny lesson: everything a short lesson needs, and nothing that takes time.

# %% [markdown] kind="title" introduction=true
r"""
# 42 · How does a tiny lesson work?

**The question:** how does a tiny lesson work?

About {minutes} minutes. Needs nothing.
"""
# %% [markdown] kind="goals"
"""
- build a notebook
"""
# %% kind="setup"
import os

MODE = "solved" if os.environ.get("COURSE_STRICT") else "not tried yet"
# %% [markdown] kind="text" contents="a picture and an exercise"
r"""
## One picture

A formula: $\\sqrt{d_k}$.
"""
# %% kind="see"
class Picture:
    def __repr__(self):
        return "Picture()"

    def _repr_mimebundle_(self, include=None, exclude=None):
        view = {"model_id": "0" * 32, "version_major": 2, "version_minor": 0}
        picture = {"image/png": "iVBORw0KGgo=", "text/plain": "a still picture"}
        return {"application/vnd.jupyter.widget-view+json": view, **picture}


print("seven:", 3 + 4)
Picture()
# %% [markdown] kind="instructor"
"""
**Ask:** what did you expect?
"""
# %% [markdown] kind="text" exercise="double_it"
"""
Return twice the number.
"""
# %% kind="exercise" exercise="double_it" title="Double it" difficulty=2 importance=4 track="core"
def double_it(number):
    """Twice the number."""
    # solution
    return 2 * number
    # end solution
# %% kind="check"
def check(name, attempt):
    try:
        return f"{name}: passed" if attempt(4) == 8 else f"{name}: wrong"
    except NotImplementedError:
        return f"{name}: not tried yet"


print(check("double_it", double_it))
# %% [markdown] kind="hints"
"""
### Look at `number`
What is twice 4?

---

Multiply:

```text
---
2 * number
```
"""
# %% kind="quiz" track="stretch"
print("quiz")
# %% [markdown] kind="summary"
"""
## Summary

All is built.
"""
# %% [markdown] kind="reading"
"""
[A page](https://example.org/page).
"""
'''
ADDRESS = "https://github.com/someone/tiny-course"
REGION = "    # solution\n    return 2 * number\n    # end solution"
FORMULA = "A formula: $\\sqrt{d_k}$."


class MadeUpCourse:
    """A project folder with made-up lesson sources."""

    def __init__(self, root: Path):
        self.root = root
        for folder in ("lessons", "notebooks"):
            (root / folder).mkdir(parents=True)
        self.publish(ADDRESS)

    def publish(self, address: str) -> None:
        project = f'[project.urls]\nRepository = "{address}"\n'
        (self.root / "pyproject.toml").write_text(project, encoding="utf-8")

    def write(self, text: str = TINY, name: str = "42_tiny") -> Path:
        path = self.root / "lessons" / f"l{name}" / "lesson.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def draft(self, text: str = TINY, name: str = "42_tiny"):
        return draft(self.write(text, name), self.root)

    def problems(self, text: str, name: str = "42_tiny") -> list[str]:
        """The first error of a source, or its breaches of the rules: "12: the option ..."."""
        try:
            errors = breaches(self.draft(text, name))
        except LessonError as error:
            errors = [error]
        return [f"{error.line}: {error.message}" for error in errors]

    def build(self, *names: str, **options) -> tuple[int, str, list[str]]:
        """Build for real; returns the exit status, what was printed, and the problems."""
        with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
            status = build_all(names, root=self.root, **options)
        return status, out.getvalue(), err.getvalue().splitlines()


def line_of(text: str, source: str = TINY) -> int:
    """The line of a text's first occurrence, counted from 1."""
    return source[: source.index(text)].count("\n") + 1


def only(notebook: dict, kind: str) -> dict:
    """The only cell of a kind in a notebook."""
    (cell,) = (cell for cell in notebook["cells"] if cell["metadata"]["course"]["kind"] == kind)
    return cell
