"""Files that a user keeps, in any state: checkpoints, corpora, progress and the learner's own functions."""

from __future__ import annotations

import gzip
import json
import unicodedata

import pytest
from hypothesis import strategies as st
from safetensors.torch import load, save

from course_lib.teaching import progress
from course_lib.teaching.own_code.kept_file import (
    KeptFileError,
    KeptFunction,
    kept_file,
    list_own_functions,
    write_function,
)
from course_lib.teaching.own_code.kept_functions import yours
from course_lib.text.corpus import CorpusError, read_split, read_tsv
from course_lib.training.checkpoint import FORMAT, CheckpointError, checksums, load_checkpoint, load_system
from tests.soak.inputs import damage, edits, json_paths, json_values, replaced, run_command
from tests.tools.cli.conftest import checkpoint, tiny_data  # noqa: F401  (fixtures)

PAIRS = "the cat sleeps\tle chat dort\na dog eats\tun chien mange\n" * 12


# ---- checkpoints


@pytest.mark.soak(weight=4)
def test_checkpoints_with_damaged_bytes(soak, tmp_path, checkpoint):  # noqa: F811
    files = [checkpoint(name).read_bytes() for name in ("transformer", "gru_lm", "bahdanau")]
    path = tmp_path / "damaged.safetensors"

    def load_or_refuse(file, changes):
        path.write_bytes(content := damage(file, changes))
        try:
            load_system(path)
        except CheckpointError as error:
            assert path.name in str(error)
        assert path.read_bytes() == content

    soak.search(load_or_refuse, target=12_000, file=st.sampled_from(files), changes=edits)


def with_header(tensors, about) -> bytes:
    """A checkpoint whose checksums fit an edited header."""
    text = json.dumps(about)
    return save(tensors, FORMAT | {"about": text} | checksums(text, tensors))


@pytest.mark.soak(weight=4)
def test_checkpoints_with_an_edited_header(soak, tmp_path, checkpoint):  # noqa: F811
    saved = checkpoint("transformer")
    tensors, about = load_checkpoint(saved)
    path = tmp_path / "edited.safetensors"

    def translate_or_refuse(where, value):
        path.write_bytes(with_header(tensors, replaced(about, where, value)))
        run_command("translate", "--checkpoint", str(path), "the cat sleeps")

    where = st.sampled_from(json_paths(about))
    soak.search(translate_or_refuse, target=6_000, where=where, value=json_values)


@pytest.mark.soak(weight=4)
def test_runs_with_damaged_files_are_resumed_or_refused(soak, tmp_path):
    """`train` in a folder with an edited last.safetensors: a message, or a run that goes on."""
    (tmp_path / "pairs.tsv").write_text(PAIRS, encoding="utf-8")
    folder = tmp_path / "run"
    command = ["train", "gru_lm", "--scale", "tiny", "--data", str(tmp_path / "pairs.tsv"), "--device", "cpu"]
    command += ["--folder", str(folder), "--steps"]
    assert run_command(*command, "1", ctrl_c_after=60)[0] == 0
    whole = {path: path.read_bytes() for path in folder.glob("*.safetensors")}
    last = folder / "last.safetensors"
    tensors, about = load(whole[last]), load_checkpoint(last)[1]

    def resume(where, value, changes):
        for path, content in whole.items():
            path.write_bytes(content)
        if changes:
            last.write_bytes(damage(whole[last], changes))
        else:
            last.write_bytes(with_header(tensors, replaced(about, where, value)))
        damaged = last.read_bytes()
        code, printed = run_command(*command, "2")
        assert code in (0, 1), printed
        assert code == 0 or last.read_bytes() == damaged, "a run that was refused changed its file"

    where = st.sampled_from(json_paths(about))
    changes = st.just([]) | edits
    soak.search(resume, target=2_000, where=where, value=json_values, changes=changes, limit=30)


# ---- corpora

sentences = st.text(max_size=12).map(lambda text: "".join(c for c in text if c not in "\t\n\r\0"))
BOM = b"\xef\xbb\xbf"


@pytest.mark.soak(weight=2)
def test_corpora_of_any_bytes(soak, tmp_path):
    path, folder = tmp_path / "pairs.tsv", tmp_path / "corpus"
    folder.mkdir()

    def read_or_refuse(first, second, changes, pack):
        contents = [damage(content, changes) for content in (first, second)]
        contents = [gzip.compress(content) for content in contents] if pack else contents
        contents = [damage(content, changes) for content in contents] if pack else contents
        for name, content in zip(("train.en", "train.fr"), contents, strict=True):
            (folder / name).write_bytes(content)
        path.write_bytes(contents[0])
        for read in (lambda: read_tsv(path), lambda: read_split(folder, "train", "en", "fr")):
            try:
                pairs = read()
            except CorpusError:
                continue
            assert len(pairs.src) == len(pairs.tgt) > 0
            assert all(side == side.strip() and side for pair in pairs for side in pair)

    content = st.binary(max_size=60) | st.text(max_size=60).map(str.encode) | st.just(PAIRS.encode())
    inputs = {"first": content, "second": content, "changes": st.just([]) | edits, "pack": st.booleans()}
    soak.search(read_or_refuse, target=14_000, **inputs)


@pytest.mark.soak(weight=2)
def test_corpora_are_read_as_they_were_written(soak, tmp_path):
    path, folder = tmp_path / "pairs.tsv", tmp_path / "corpus"
    folder.mkdir()

    def read_back(pairs, end, pack, bom):
        def write(file, lines):
            content = (BOM if bom else b"") + "".join(line + end for line in lines).encode()
            file.write_bytes(gzip.compress(content) if pack else content)

        write(path, [f"{src}\t{tgt}" for src, tgt in pairs])
        for language, side in zip(("en", "fr"), zip(*pairs, strict=True), strict=True):
            write(folder / f"train.{language}", side)
        composed = [[unicodedata.normalize("NFC", side).strip() for side in pair] for pair in pairs]
        expected = [tuple(pair) for pair in composed if all(pair)]
        for read in (lambda: read_tsv(path), lambda: read_split(folder, "train", "en", "fr")):
            if expected:
                assert list(read()) == expected
            else:
                with pytest.raises(CorpusError):
                    read()

    pairs = st.lists(st.tuples(sentences, sentences), min_size=1, max_size=6)
    ends = st.sampled_from(["\n", "\r\n"])
    options = {"pairs": pairs, "end": ends, "pack": st.booleans(), "bom": st.booleans()}
    soak.search(read_back, target=10_000, **options)


# ---- the learner's files

KEYS = ["kind", "lesson", "name", "status", "track", "correct", "misconception", "first_try", "at", "x"]
KNOWN = ["quiz", "exercise", "goal", "track", "lesson", "start_here", "double_it", "passed", "M06", "short"]
events = st.dictionaries(st.sampled_from(KEYS), st.sampled_from(KNOWN) | json_values, max_size=7)


@pytest.mark.soak(weight=2)
def test_progress_files_of_any_content(soak, course_home):
    course_home.mkdir()
    file, event = progress.progress_file(), {"kind": "goal", "lesson": "start_here", "name": "Dial/half"}

    def show_and_append(lines, changes):
        content = b"\n".join(line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines)
        file.write_bytes(content := damage(content, changes))
        learner = progress.read()
        assert all((repr(learner), learner._repr_html_(), learner.next_text))
        assert isinstance(learner.missed, tuple)
        progress.record(event)
        assert file.read_bytes().startswith(content), "an earlier line was lost"
        assert progress.read().events[-1].items() >= event.items() and "half" in progress.read().goals("Dial")
        assert len(progress.read().events) == len(learner.events) + 1
        assert run_command("progress")[0] == 0

    lines = st.lists(st.binary(max_size=30) | events | json_values, max_size=6)
    soak.search(show_and_append, target=8_000, lines=lines, changes=st.just([]) | edits)


NEW = KeptFunction("double_it", "00", "2026-11-17", "def double_it(numbers):\n    return 2 * numbers")
SOURCES = [
    *(NEW.source, "def double_it(numbers):\n    return 3", "double_it = 5", "raise SystemExit(3)", "(" * 300),
    *("import nothing", "exit()", "\0", "\tx", 'x = """\n# --- half · lesson 01', "def double_it(:", ""),
    *(
        "del __builtins__",
        "raise KeyboardInterrupt",
        "from course_lib.teaching import yours\nyours('double_it')",
    ),
]
HEADERS = st.sampled_from(["double_it", "softmax", "é", "x1"])
blocks = st.tuples(
    HEADERS, st.sampled_from(SOURCES) | st.text(max_size=40), st.sampled_from(["\n", "\r\n", ""])
)


@pytest.mark.soak(weight=2)
def test_own_functions_files_of_any_content(soak, course_home):
    course_home.mkdir()
    file = kept_file()

    def use_and_save(top, blocks, changes):
        parts = [f"# --- {name} · lesson 08 · 2026-11-15{end}{source}" for name, source, end in blocks]
        file.write_bytes(content := damage("\n\n".join([top, *parts]).encode(), changes) + b"\n")
        before = list_own_functions()
        assert callable(yours("double_it")) and run_command("progress")[0] == 0
        assert file.read_bytes() == content
        others = [row._replace(source=row.source.strip()) for row in before if row.name != NEW.name]
        try:
            write_function(NEW)
        except KeptFileError:
            assert file.read_bytes() == content, "a file that can't be read was overwritten"
            return
        after = [row._replace(source=row.source.strip()) for row in list_own_functions()]
        assert all(row in after for row in others), "another function was changed or lost"
        assert NEW.source in {row.source for row in after if row.name == NEW.name}
        if file.read_bytes() != content and any(row.name == NEW.name for row in before):
            copies = [copy.read_bytes() for copy in file.with_name("my_road_backups").iterdir()]
            assert content in copies, "no copy of what was replaced"

    inputs = {"top": st.text(max_size=20), "blocks": st.lists(blocks, max_size=4)}
    soak.search(use_and_save, target=6_000, **inputs, changes=st.just([]) | edits)
