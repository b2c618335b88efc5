"""Nothing in a lesson may need the network: find what would be fetched when the page is shown.

    >>> remote_address('<img src="https://example.org/cat.png">')
    'https://example.org/cat.png'

A link that the reader may follow, `[the paper](https://...)`, is welcome.
"""

from __future__ import annotations

import re

ADDRESS = r"(?P<address>(?:https?:)?//[^\s\"'<>)\]]+)"
FETCHED = [
    re.compile(pattern + ADDRESS, re.IGNORECASE)
    for pattern in (
        r"!\[[^\]]*\]\(\s*<?",  # ![alt](...)
        r"\b(?:src|srcset|poster|data)\s*=\s*[\"']?\s*",  # <img src=...>, <script src=...>
        r"<link\b[^>]*\bhref\s*=\s*[\"']?\s*",
        r"\burl\(\s*[\"']?",  # in a style sheet
        r"@import\s+[\"']",
        r"\b(?:from|import)\s*\(?\s*[\"']",  # in a script
    )
]


def remote_address(text: str) -> str | None:
    """The first address that showing this Markdown or HTML would fetch, or None."""
    for pattern in FETCHED:
        if match := pattern.search(text):
            return match["address"]
    return None
