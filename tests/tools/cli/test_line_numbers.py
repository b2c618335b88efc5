"""A note names the line of the whole input, however it arrives."""

from __future__ import annotations

import pytest

from tools.cli import main, translate_command


@pytest.mark.usefixtures("no_set_up")
def test_lines_are_counted_over_all_blocks(checkpoint, monkeypatch, capsys):
    """A pipe gives its lines in blocks; the last line of each is empty here, which is worth a note."""
    monkeypatch.setattr(translate_command, "sentences", lambda texts: iter([["the cat", ""], ["a dog", ""]]))
    assert main(["translate", "--device", "cpu", "--checkpoint", str(checkpoint("bahdanau"))]) == 0
    notes = capsys.readouterr().err.splitlines()
    assert {"line 2", "line 4"} <= {note.partition(":")[0] for note in notes}
