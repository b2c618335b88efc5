"""The check of my_transformer.py: right files pass however they are written, and each mistake is named.

The wrong files are made from a right one that was written without the reference, by changing a line or two.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
import torch

from course_lib.models import own_file
from course_lib.models.own_file import explain_difference, own_file_path, own_transformer, start_own_file
from course_lib.teaching import check, progress
from course_lib.teaching.exercises.time_limit import TimeLimit
from course_lib.teaching.exercises.verdict import Verdict
from course_lib.translation.shipped import shared
from lessons.l14_the_transformer import file_check
from lessons.l14_the_transformer.file_slips import FORWARD_SLIPS, REFERENCE, SLIPS
from lessons.l14_the_transformer.skeleton import SKELETON
from tests.lesson_claims import LessonText

FOLDER = Path(__file__).with_name("right_files")
OWN = (FOLDER / "a_class_for_each_part.py").read_text(encoding="utf-8")
SPLIT = "x.view(batch, n, self.n_heads, d_model // self.n_heads).transpose(1, 2)"
RESIDUAL = "x + self.dropout(layer(self.norm(x)))"
CROSS_AND_FEED = (
    "x = self.around_cross(x, lambda y: self.cross(y, memory, mask))\n"
    "        return self.around_feed_forward(x, self.feed_forward)"
)
ROWS = "rows * math.sqrt(d_model) + encoding"
ENCODE, DECODE = "self.encoder(self.words(source), mask)", "self.decoder(self.words(target), memory, mask)"
XAVIER = "        for w in self.parameters():\n            nn.init.xavier_uniform_(w)\n"
STAGES = "the stages from"
LESSON = LessonText("the_transformer")

# What is changed, what replaces it, the slip, and words of the verdict: the stage, or what is right so far.
WRONG = {
    "syntax": ("def forward(self, x):", "def forward(self, x)", "syntax", "line "),
    "indentation": ("        self.n_heads = n_heads", "      self.n_heads = n_heads", "syntax", "line "),
    "no import": ("import math\n", "", "raises", "math"),
    "exception at the top": ("class MultiHead", "1 / 0\n\n\nclass MultiHead", "raises", "line 9: `1 / 0`"),
    "other constructor": (
        "vocab_size, d_model=64, n_heads=4",
        "vocab, d_model=64, heads=4",
        "constructor",
        "vocab_size",
    ),
    "not a module": ("class Transformer(nn.Module)", "class Transformer", "not-a-module", "nn.Module"),
    "no super": (
        "        super().__init__()\n        self.inner",
        "        self.inner",
        "no-super",
        "super()",
    ),
    "plain tensor": (
        "self.w_key = nn.Parameter(torch.empty(d_model, d_model))",
        "self.w_key = torch.randn(d_model, d_model)",
        "plain-tensor",
        "w_key",
    ),
    "Python list": (
        "nn.ModuleList(EncoderBlock(*sizes) for _ in range(n_layers))",
        "[EncoderBlock(*sizes) for _ in range(n_layers)]",
        "unregistered-container",
        "encoder.blocks",
    ),
    "other name": ("self.inner", "self.linear1", "parameter-names", "0–2.feed_forward.linear1.weight"),
    "bias too many": (
        "self.last_norm = nn.LayerNorm(sizes[0])",
        "self.last_norm = nn.LayerNorm(sizes[0], bias=False)",
        "parameter-names",
        "encoder.last_norm.bias",
    ),
    "no bias in the output": (
        "nn.Linear(d_model, vocab_size)",
        "nn.Linear(d_model, vocab_size, bias=False)",
        "raises",
        "zeros_",
    ),
    "shape": ("nn.Linear(d_model, d_ff)", "nn.Linear(d_model, d_model)", "parameter-shape", "(64, 64)"),
    "saved buffer": (
        "self.dropout = nn.Dropout(dropout)\n\n    def forward(self, tokens)",
        "self.dropout = nn.Dropout(dropout)\n        self.register_buffer('grid', torch.ones(3))\n\n"
        "    def forward(self, tokens)",
        "parameter-names",
        "persistent=False",
    ),
    "one block three times": (
        "nn.ModuleList(EncoderBlock(*sizes) for _ in range(n_layers))",
        "nn.ModuleList([EncoderBlock(*sizes)] * n_layers)",
        "shared-parameter",
        "same parameter",
    ),
    "no root": (ROWS, "rows + encoding", "no-root", "“source embeddings”"),
    "root of the sum": (ROWS, "(rows + encoding) * math.sqrt(d_model)", "root-of-sum", "“source embeddings”"),
    "no positions": (ROWS, "rows * math.sqrt(d_model)", "no-positions", "“source embeddings”"),
    "halves": (
        "torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)",
        "torch.cat([angle.sin(), angle.cos()], dim=1)",
        "halves",
        "“source embeddings”",
    ),
    "from one": (
        "torch.arange(n, device=tokens.device)",
        "torch.arange(1, n + 1, device=tokens.device)",
        "from-one",
        "“source embeddings”",
    ),
    "wrong base": ("10000", "1000", "stage-differs", "“source embeddings”"),
    "no scale": (" / math.sqrt(q.shape[-1])", "", "no-scale", "“encoder 0, after attention”"),
    "scale by the width": (
        "math.sqrt(q.shape[-1])",
        "math.sqrt(x.shape[-1])",
        "scale-width",
        "“encoder 0, after attention”",
    ),
    "bare view": (
        SPLIT,
        "x.view(batch, self.n_heads, n, d_model // self.n_heads)",
        "bare-view",
        "“encoder 0, after attention”",
    ),
    "joined by view": (
        "context.transpose(1, 2).flatten(2)",
        "context.reshape(x.shape)",
        "joined-by-view",
        "“encoder 0, after attention”",
    ),
    "not transposed": (".T)", ")", "not-transposed", "“encoder 0, after attention”"),
    "output matrix missing": (" @ self.w_output.T", "", "no-output-matrix", "“encoder 0, after attention”"),
    "mask inverted": (
        "masked_fill(~mask",
        "masked_fill(mask",
        "mask-inverted",
        "“encoder 0, after attention”",
    ),
    "mask ignored": ("if mask is not None:", "if False:", "mask-ignored", "“encoder 0, after attention”"),
    "softmax over queries": (
        "torch.softmax(scores, dim=-1)",
        "torch.softmax(scores, dim=-2)",
        "softmax-axis",
        "“encoder 0, after attention”",
    ),
    "mean of the heads": (
        "context.transpose(1, 2).flatten(2)",
        "context.mean(1)",
        "raises",
        "source embeddings",
    ),
    "encoder mask missing": (
        ENCODE,
        "self.encoder(self.words(source), None)",
        "encoder-mask-missing",
        "“encoder 0, after attention”",
    ),
    "post-norm": (
        RESIDUAL,
        "self.norm(x + self.dropout(layer(x)))",
        "post-norm",
        "“encoder 0, after attention”",
    ),
    "no residual": (
        RESIDUAL,
        "self.dropout(layer(self.norm(x)))",
        "no-residual",
        "“encoder 0, after attention”",
    ),
    "no norm": (RESIDUAL, "x + self.dropout(layer(x))", "no-norm", "“encoder 0”"),
    "no relu": ("torch.relu(self.inner(x))", "self.inner(x)", "no-relu", "“encoder 0”"),
    "gelu": ("torch.relu(", "torch.nn.functional.gelu(", "gelu", "“encoder 0”"),
    "no last norm": ("return self.last_norm(x)", "return x", "no-last-norm", "“memory”"),
    "no causal mask": (
        "lambda y: self.attention(y, y, causal)",
        "lambda y: self.attention(y, y)",
        "no-causal-mask",
        "“decoder 0, after self-attention”",
    ),
    "causal mask flipped": (".tril()", ".triu()", "causal-flipped", "“decoder 0, after self-attention”"),
    "causal mask shifted": (
        ".tril()",
        ".tril(diagonal=1)",
        "causal-shifted",
        "“decoder 0, after self-attention”",
    ),
    "cross from the target": (
        "self.cross(y, memory, mask)",
        "self.cross(y, y)",
        "cross-from-target",
        "“decoder 0, after cross-attention”",
    ),
    "cross mask missing": (
        "self.cross(y, memory, mask)",
        "self.cross(y, memory)",
        "cross-mask-missing",
        "“decoder 0, after cross-attention”",
    ),
    "memory normalised again": (
        "self.cross(y, memory, mask)",
        "self.cross(y, self.around_cross.norm(memory), mask)",
        "cross-memory-normed",
        "“decoder 0, after cross-attention”",
    ),
    "keys and queries swapped": (
        "self.cross(y, memory, mask)",
        "self.cross(memory, y)",
        "raises",
        "Right so far",
    ),
    "softmax of the logits": (
        "return self.words.output(self.decoder(self.words(target), memory, mask))",
        "return self.words.output(self.decoder(self.words(target), memory, mask)).softmax(-1)",
        "softmax",
        "“logits”",
    ),
    "no bias": (
        "self.words.output(self.decoder(self.words(target), memory, mask))",
        "self.decoder(self.words(target), memory, mask) @ self.words.output.weight.T",
        "no-bias",
        "“logits”",
    ),
    "dropout in eval": (
        "self.dropout(layer(self.norm(x)))",
        "torch.nn.functional.dropout(layer(self.norm(x)), 0.1)",
        "dropout-in-eval",
        "eval()",
    ),
    "source in place": (
        ENCODE,
        "self.encoder(self.words(source.clamp_(min=1)), mask)",
        "in-place",
        "`source`",
    ),
    "source in place in forward": (
        "mask = (source != 0)[:, None, None]",
        "mask = (source != 0)[:, None, None]\n        source += source == 0",
        "in-place",
        "`source`",
    ),
    "memory in place": (
        "self.cross(y, memory, mask)",
        "self.cross(y, memory.mul_(1.5), mask)",
        "in-place",
        "`memory`",
    ),
    "residual in place": (
        RESIDUAL,
        "x.add_(self.dropout(layer(self.norm(x))))",
        "raises",
        "line 55: `return x.add_(",
    ),
    "feed-forward before cross-attention": (
        CROSS_AND_FEED,
        "x = self.around_feed_forward(x, self.feed_forward)\n"
        "        return self.around_cross(x, lambda y: self.cross(y, memory, mask))",
        "cross-last",
        "before cross-attention",
    ),
    "leaves training mode": (
        f"return {ENCODE}",
        f"self.eval()\n        return {ENCODE}",
        "leaves-training",
        "eval()",
    ),
    "no padding mask in forward": (
        "mask = (source != 0)[:, None, None]",
        "mask = None",
        "no-padding-mask",
        "`forward`",
    ),
    "padding mask of the target": (
        "mask = (source != 0)[:, None, None]",
        "mask = torch.ones_like(source[:, None, None]) == 1",
        "no-padding-mask",
        "`forward`",
    ),
    "width hard-wired": ("math.sqrt(d_model) + encoding", "8 + encoding", "hard-wired", "d_model is 96"),
    "divisor hard-wired": (" / math.sqrt(q.shape[-1])", " / 4", "hard-wired", "d_model is 96"),
    "head size hard-wired": (
        SPLIT,
        "x.view(batch, n, -1, 16).transpose(1, 2)",
        "hard-wired",
        "d_model is 96",
    ),
    "heads hard-wired": ("self.n_heads = n_heads", "self.n_heads = 4", "hard-wired", "n_heads is 3"),
    "positions of 64 tokens": (
        "n, d_model = rows.shape[1:]",
        "n, d_model = rows.shape[1:]\n        assert n <= 64",
        "raises",
        "`forward`",
    ),
    "squeezed": (
        "mask = (source != 0)[:, None, None]",
        "mask = (source != 0)[:, None, None]\n        source = source.squeeze(0)",
        "raises",
        "`forward`",
    ),
    "detached": (
        "self.cross(y, memory, mask)",
        "self.cross(y, memory.detach(), mask)",
        "gradient",
        "encoder.blocks",
    ),
    "no gradient": ("def decode(self", "@torch.no_grad()\n    def decode(self", "no-gradient", "no_grad"),
    "dropout nowhere": ("nn.Dropout(dropout)", "nn.Identity()", "no-dropout", "nn.Dropout"),
    "dropout only in the blocks": (
        "return self.dropout(rows",
        "return (rows",
        "dropout-elsewhere",
        "embeddings and positions",
    ),
    "dropout only on the embeddings": (
        "x + self.dropout(layer(self.norm(x)))",
        "x + layer(self.norm(x))",
        "dropout-elsewhere",
        "after attention",
    ),
    "dropout before the layer": (
        RESIDUAL,
        "x + layer(self.dropout(self.norm(x)))",
        "dropout-elsewhere",
        "“encoder 0”",
    ),
    "dropout on the sum": (
        RESIDUAL,
        "self.dropout(x + layer(self.norm(x)))",
        "dropout-elsewhere",
        "“encoder 0, after attention”",
    ),
    "dropout hard-wired": ("nn.Dropout(dropout)", "nn.Dropout(0.1)", "hard-wired", "dropout is 0"),
    "on the CPU": (
        "torch.arange(n, device=tokens.device)",
        "torch.arange(n)",
        "device",
        "device=source.device",
    ),
    "attribute on the CPU": (
        "self.dropout = nn.Dropout(dropout)\n\n    def forward(self, tokens)",
        "self.dropout = nn.Dropout(dropout)\n        self.one = torch.ones(1, 1)\n\n"
        "    def forward(self, tokens):\n        return self.one * self.rows(tokens)\n\n"
        "    def rows(self, tokens)",
        "device",
        "register_buffer",
    ),
    "causal mask on the CPU": (
        "dtype=torch.bool, device=x.device",
        "dtype=torch.bool",
        "device",
        "device=source.device",
    ),
    "not initialised": (
        XAVIER,
        "        for w in self.parameters():\n            nn.init.zeros_(w)\n",
        "initial-values",
        "w_query",
    ),
    "attention too large": (
        XAVIER,
        "        for w in self.parameters():\n            nn.init.normal_(w)\n",
        "initial-size",
        "w_query",
    ),
    "torch's default for the embeddings": (
        "nn.init.normal_(self.output.weight, std=d_model**-0.5)",
        "pass",
        "initial-size",
        "words.output.weight",
    ),
    "embeddings too large": ("std=d_model**-0.5", "std=1.0", "initial-size", "words.output.weight"),
    "seeded": (XAVIER, "        torch.manual_seed(0)\n" + XAVIER, "fixed-seed", "manual_seed"),
    "endless": (
        "n, d_model = rows.shape[1:]",
        "n, d_model = rows.shape[1:]\n        while True:\n            pass",
        "too-slow",
        "still busy in line",
    ),
}


def judge(path: Path, seconds: float = 20) -> Verdict:
    return file_check.TransformerExamination(file_check.MY_TRANSFORMER, path, TimeLimit(seconds)).verdict()


@pytest.fixture
def file(tmp_path) -> Path:
    return tmp_path / "my_transformer.py"


@pytest.mark.parametrize("path", [REFERENCE, *FOLDER.glob("*.py")], ids=lambda path: path.stem)
def test_a_right_file_passes_however_it_is_written(path):
    assert judge(path).status == "passed", judge(path)
    assert explain_difference(path, shared("transformer").model) == ""


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_file_is_caught_and_the_mistake_named(name, file):
    old, new, slip, words = WRONG[name]
    assert old in OWN
    file.write_text(OWN.replace(old, new))
    verdict = judge(file, seconds=1 if name == "endless" else 20)
    assert verdict.status == "wrong" and verdict.slip == slip, verdict
    assert words in str(verdict), verdict


@pytest.mark.parametrize("slip", [*SLIPS, *FORWARD_SLIPS], ids=lambda slip: slip.name)
def test_each_known_mistake_changes_something_and_no_two_are_the_same(slip):
    text = REFERENCE.read_text(encoding="utf-8")
    for old, _ in slip.changes:
        assert old in text
        text = text.replace(old, "")
    right = file_check.reference_stages()
    if slip in FORWARD_SLIPS:
        source, target, _ = file_check.batch()
        with torch.no_grad():
            assert not file_check.same(file_check.faulty(slip)(source, target), right["logits"])
        return
    stages = file_check.faulty_stages(slip)
    first = next(name for name in right if name in stages and not file_check.same(stages[name], right[name]))
    assert file_check.recognise(stages, first) == slip


# ---- a file that isn't finished


def test_an_empty_file_is_not_tried(file):
    assert judge(file).status == "not tried"
    file.write_text("# My notes\n\n")
    assert judge(file).status == "not tried"
    file.write_text(SKELETON)
    assert judge(file).status == "unfinished"


def cut(before: str) -> str:
    return OWN[: OWN.index(before)]


@pytest.mark.parametrize(
    ("text", "right"),
    [
        (cut("class FeedForward"), "`MultiHead`"),
        (cut("class Residual"), "`MultiHead`; `FeedForward`"),
        (cut("class DecoderBlock"), "`MultiHead`; `FeedForward`"),
        (cut("class DecoderBlock").replace("x, mask):", "x, mask=None):"), "`EncoderBlock`"),
        (
            OWN.replace("        self.decoder = Decoder(n_layers, d_model, n_heads, d_ff, dropout)\n", ""),
            "to “memory”",
        ),
        (OWN.replace("    def decode(", "    def decode_later("), "to “memory”"),
        (cut("    def encode(self, source"), "96 names"),
        (cut("    def forward(self, source"), "to “logits”"),
    ],
)
def test_an_unfinished_file_is_right_so_far(text, right, file):
    file.write_text(text)
    verdict = judge(file)
    assert verdict.status == "unfinished" and right in verdict.details, verdict


def test_classes_that_cannot_be_examined_alone_are_named(file):
    file.write_text(cut("class DecoderBlock"))
    assert "`Residual` and `EncoderBlock` are checked later" in judge(file).details
    file.write_text(cut("class Encoder(").replace("x, mask):", "x, mask=None):"))
    assert "`DecoderBlock` is checked later" in judge(file).details


def test_an_exception_is_located_between_two_stages(file):
    file.write_text(OWN.replace("self.cross(y, memory, mask)", "self.cross(memory, y, mask)"))
    assert "on the way to the stage “decoder 0, after cross-attention”" in judge(file).details


def test_a_norm_that_is_never_called_is_named(file):
    before, after = OWN.rsplit("return self.last_norm(x)", 1)
    file.write_text(before + "return x" + after)
    assert "`decoder.last_norm` is never called" in judge(file).details


def test_a_second_table_of_embeddings_is_named(file):
    made = "self.output = nn.Linear(d_model, vocab_size)"
    text = OWN.replace("rows = self.output.weight[", "rows = self.table[")
    file.write_text(text.replace(made, f"{made}\n        self.table = self.output.weight.detach().clone()"))
    verdict = judge(file)
    assert verdict.slip == "stage-differs" and "`words.table` is a second table" in verdict.details, verdict


def test_modules_that_are_right_are_named_as_long_as_something_else_is_wrong(file):
    file.write_text(OWN.replace(".tril()", ".triu()"))
    assert "`MultiHead`; `FeedForward`" in judge(file).details


def test_an_unused_dropout_is_harmless(file):
    unused = "        self.unused = nn.Dropout(dropout)\n"
    functional = "nn.functional.dropout(x, self.rate, self.training)"
    text = (FOLDER / "functions.py").read_text()
    assert functional in text
    file.write_text(text.replace("        self.encoder = stack", unused + "        self.encoder = stack"))
    assert judge(file).status == "passed", judge(file)


def test_a_skeleton_is_filled_in_class_by_class(file):
    rest = SKELETON[SKELETON.index("class Residual") :]
    file.write_text(cut("class Residual") + rest)
    verdict = judge(file)
    assert verdict.status == "unfinished" and "`MultiHead`; `FeedForward`" in verdict.details, verdict
    file.write_text(cut("class Residual").replace("torch.relu", "torch.tanh") + rest)
    assert judge(file).status == "wrong"


def test_skeleton_and_reference_have_the_same_classes_and_methods():
    """So that they can be compared class by class."""

    def signatures(text):
        return {
            (cls.name, method.name): ast.unparse(method.args)
            for cls in ast.parse(text).body
            if isinstance(cls, ast.ClassDef)
            for method in cls.body
            if method.name in ("__init__", "forward", "encode", "decode")
        }

    assert signatures(SKELETON) == signatures(REFERENCE.read_text(encoding="utf-8"))


def test_the_hint_about_the_skeleton_runs_as_it_is_written(course_home, monkeypatch):
    (hint,) = re.findall(r"### A skeleton\nRun (.+?) in a new cell", LESSON.source)
    space = {}
    monkeypatch.setattr("course_lib.teaching.start_lesson", lambda *args, **options: None)
    exec(LESSON.cell("setup").text, space)
    for line in re.findall("`(.+?)`", hint):
        exec(line, space)
    assert own_file_path().read_text() == SKELETON


@pytest.mark.parametrize(
    ("old", "new", "slip"),
    [
        (" / math.sqrt(q.shape[-1])", "", "no-scale"),
        ("if mask is not None:", "if False:", "mask-ignored"),
        ("masked_fill(~mask", "masked_fill(mask", "mask-inverted"),
        ("torch.relu(self.inner(x))", "self.inner(x)", None),
        (
            "self.w_value = nn.Parameter(torch.empty(d_model, d_model))",
            "self.w_value = torch.empty(d_model, d_model)",
            "plain-tensor",
        ),
    ],
)
def test_a_wrong_module_of_an_unfinished_file_is_named(old, new, slip, file):
    file.write_text(cut("class DecoderBlock").replace(old, new))
    verdict = judge(file)
    assert verdict.status == "wrong" and (slip is None or verdict.slip == slip), verdict
    assert verdict.headline.startswith(("`MultiHead`", "`FeedForward`"))


# ---- the file itself


@pytest.mark.parametrize("text", ["x = " + "-" * 200_000 + "1", "x = " + "(" * 5_000])
def test_a_file_that_python_cannot_compile_gets_a_verdict(text, file):
    file.write_text(text)
    verdict = judge(file)
    assert (verdict.status, verdict.slip) == ("wrong", "syntax"), verdict


def test_the_file_is_written_once_and_never_overwritten(course_home):
    path = own_file_path()
    assert path.parent == course_home and not path.exists()
    assert "1 line." in start_own_file()
    assert own_file.is_empty(path)
    start_own_file(SKELETON)
    assert path.read_text() == SKELETON
    assert "wasn't changed" in start_own_file("x = 1\n") and path.read_text() == SKELETON


def test_the_check_records_progress_and_raises_in_strict_mode(course_home, monkeypatch, tmp_path):
    start_own_file(OWN)
    assert check("my_transformer", own_file_path()).status == "passed"
    events = progress.read().events
    assert ("my_transformer", "passed") in {(event.get("name"), event.get("status")) for event in events}
    own_path = own_file_path()
    own_path.write_text(OWN.replace(".tril()", ".triu()"))  # the file is loaded again
    monkeypatch.setenv("COURSE_STRICT", "1")
    monkeypatch.setenv("COURSE_HOME", str(tmp_path / "new"))
    with pytest.raises(AssertionError, match="causal mask"):
        check("my_transformer", own_path)


def test_a_path_is_needed(course_home):
    assert check("my_transformer", lambda: 0).slip == "not-a-path"


def test_own_and_library_weights_fit_each_other(file):
    library = shared("transformer").model
    own = own_transformer(REFERENCE, library.config)
    own.load_state_dict(library.state_dict())
    type(library)(library.config).load_state_dict(own.state_dict())
    file.write_text(OWN.replace(".tril()", ".triu()"))
    assert "differ" in explain_difference(file, library)
    output = "return self.words.output(self.decoder(self.words(target), memory, mask))"
    file.write_text(OWN.replace(output, f"{output} * float('nan')"))
    assert output in OWN and "NaN" in explain_difference(file, library)
    file.write_text("class Transformer: pass")
    assert "nn.Module" in explain_difference(file, library)
