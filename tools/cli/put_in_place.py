"""Put a finished folder or file where users expect it: completely, or not at all."""

from __future__ import annotations

from pathlib import Path


def put_in_place(new: Path, out: Path, spare: Path) -> None:
    """Move `new` to `out`, on the same disk. An earlier file there is replaced; an earlier folder moves to
    `spare`, and back if this fails."""
    if out.is_dir():
        out.rename(spare)
    try:
        new.replace(out)
    except OSError:
        if spare.exists():
            spare.rename(out)
        raise
