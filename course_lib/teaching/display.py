"""The small HTML card of verdicts and progress: a coloured bar, an icon, a word.

    >>> card(theme.GREEN, "✓", "Passed", "`exact_match`", prose("Same numbers as the reference."))
    '<div style=...'

Colours come from JupyterLab's own variables, so a card follows the light and the dark theme; elsewhere it
uses the page's colours. All styles are inline, because an output can't rely on a style sheet. All text is
escaped; `backticks` become code, and *asterisks* emphasis.
"""

from __future__ import annotations

import html
import re

FONT = "font-family:var(--jp-content-font-family,system-ui,sans-serif);font-size:16px;line-height:1.5"
INK = "color:var(--jp-content-font-color1,inherit)"
MUTED = "opacity:.72"
BOX = (
    "margin:4px 0 0;padding:8px 10px;border:1px solid var(--jp-border-color2,#8884);border-radius:4px;"
    "background:var(--jp-layout-color1,transparent);color:inherit;overflow-x:auto;white-space:pre;"
    "font-family:var(--jp-code-font-family,ui-monospace,monospace);font-size:13px;line-height:1.4"
)


MARKUP = re.compile(r"`([^`\n]+)`|(?<![\w*])\*(?=[^\s*])([^*`\n]+)(?<=\S)\*(?![\w*])")


def escape(text: str) -> str:
    """Text made safe for HTML, with `code` set as code and *words* emphasised."""
    return MARKUP.sub(lambda m: f"<code>{m[1]}</code>" if m[1] else f"<em>{m[2]}</em>", html.escape(text))


def prose(text: str, style: str = "") -> str:
    """Paragraphs: an empty line in the text starts a new one; other line breaks stay."""
    frame = f"margin:6px 0 0;max-width:58ch;white-space:pre-wrap;{style}"  # about 72 characters a line
    return "".join(f'<p style="{frame}">{escape(part)}</p>' for part in text.split("\n\n"))


def code_block(text: str) -> str:
    return f'<pre style="{BOX}">{html.escape(text)}</pre>'


def side_by_side(columns: list[tuple[str, str]]) -> str:
    """Titled blocks next to each other if all lines fit, otherwise below each other."""
    cells = [
        f'<div style="font-size:14px;{MUTED}">{html.escape(title)}</div>{code_block(text)}'
        for title, text in columns
    ]
    cells = [f'<div style="min-width:0">{cell}</div>' for cell in cells]
    widest = max(len(line) for _, text in columns for line in text.split("\n"))
    tracks = f"repeat(auto-fit,minmax(min(100%,{8 * widest + 24}px),1fr))"  # 8 px a letter; 24 for its frame
    grid = f"display:grid;grid-template-columns:{tracks};gap:8px 16px;margin-top:8px"
    return f'<div style="{grid}">{"".join(cells)}</div>'


def fold(summary: str, text: str) -> str:
    """A folded block that opens with a click."""
    handle = f'<summary style="cursor:pointer;font-size:14px;{MUTED}">{html.escape(summary)}</summary>'
    return f'<details style="margin-top:8px">{handle}{code_block(text)}</details>'


def card(colour: str, icon: str, word: str, title: str, body: str) -> str:
    """`body` is HTML; the rest is plain text, and is escaped."""
    frame = (
        f"border-left:4px solid {colour};border-radius:3px;padding:10px 16px 12px;margin:4px 0;"
        "box-sizing:border-box;max-width:802px;"  # as wide as an explorable
        f"background:color-mix(in srgb,{colour} 7%,transparent);{FONT};{INK}"
    )
    icon_html = f'<span aria-hidden="true" style="color:{colour};font-weight:700">{icon}</span>'
    head = f"{icon_html} <strong>{html.escape(word)}</strong> · {escape(title)}"
    return f'<div style="{frame}"><div>{head}</div>{body}</div>'
