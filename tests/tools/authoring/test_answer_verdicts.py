"""What changed between two records of verdicts; the records themselves are made by a command."""

from __future__ import annotations

from tools.authoring.answer_verdicts import compare


def row(slip=None, status="wrong", text=""):
    return {"status": status, "slip": slip, "misconception": None, "text": text}


def test_missing_changed_and_reworded_verdicts_are_told_apart():
    before = {"same": row("a"), "words": row("a", text="x"), "gone": row(), "slip": row("a"), "lost": row()}
    after = {"same": row("a"), "words": row("a", text="y"), "slip": row("b"), "lost": row(status="passed")}
    missing, slip, lost, total = compare(before, after)
    assert missing == "missing: gone" and slip.startswith("changed: slip:") and "'passed'" in lost
    assert total == "4 answers judged twice, 3 changes; 1 verdicts in other words"
