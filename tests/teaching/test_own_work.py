"""In graded work, an attempt that uses the course's code, or a library that does the exercise, isn't passed;
everything else is judged as usual."""

from __future__ import annotations

import functools
import inspect
import linecache
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from course_lib.layers import attention, positions, scores
from course_lib.teaching import check
from course_lib.teaching.contents import lessons
from course_lib.teaching.exercises.catalogue import find_exercise, load_exercises
from course_lib.teaching.exercises.exercise import Exercise, FileExercise
from course_lib.teaching.exercises.own_work import find_borrowed
from lessons.l13_the_block import modules

EXERCISES = [load_exercises(lesson.topic)[name] for lesson in lessons() for name in lesson.exercises]
FUNCTIONS = [exercise for exercise in EXERCISES if not isinstance(exercise, FileExercise)]


def written(source: str, **names: object) -> dict:
    """What a notebook cell with this source defines."""
    linecache.cache["<cell>"] = (len(source), None, source.splitlines(keepends=True), "<cell>")
    namespace = {"__name__": "__main__", "torch": torch, **names}
    exec(compile(source, "<cell>", "exec"), namespace)
    return namespace


def wrapped(function: Callable) -> Callable:
    """A learner's function that only calls this one."""
    return written("def attempt(*inputs):\n    return function(*inputs)\n", function=function)["attempt"]


def find_course_code(exercise: Exercise, attempt: object) -> str:
    return find_borrowed(exercise, attempt).get("course-code", "")


@pytest.mark.parametrize("exercise", FUNCTIONS, ids=lambda exercise: exercise.name)
def test_the_reference_of_every_exercise_is_recognised(exercise):
    assert find_course_code(exercise, exercise.reference).startswith("lessons.l") or (
        exercise.name in ("training_mask", "sinusoids")
    )
    if isinstance(exercise.reference, type):
        own = written("class Own(base):\n    pass\n", base=exercise.reference)["Own"]
    else:
        own = wrapped(exercise.reference)
    assert find_course_code(exercise, own)


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("scaled_attention", lambda q, k, v: attention.attend(q, k, v)[0]),
        ("additive_attention", scores.additive),
        ("sinusoids", functools.partial(positions.sinusoids)),
    ],
)
def test_the_library_behind_a_reference_is_recognised(name, function):
    assert find_course_code(find_exercise(name), function) or find_course_code(
        find_exercise(name), wrapped(function)
    )


def test_a_layer_inside_a_function_is_recognised():
    source = "def attempt(query, keys, values):\n    return attend(query[None], keys, values)[0][0]\n"
    exercise, attempt = find_exercise("soft_lookup"), written(source, attend=attention.attend)["attempt"]
    assert find_course_code(exercise, attempt) == "course_lib.layers.attention.attend"
    late = "def attempt(query, keys, values):\n    from course_lib.layers.attention import attend\n"
    late += "    return attend(query[None], keys, values)[0][0]\n"
    assert find_course_code(exercise, written(late)["attempt"]) == "course_lib.layers.attention.attend"


def test_what_an_exercise_gives_or_allows_may_be_called():
    decode = """
def greedy_decode(model, source, max_len):
    memory = model.encode(source, torch.tensor([source.shape[1]]))
    return model.start(memory)
"""
    exercise = find_exercise("greedy_decode")
    assert not find_course_code(exercise, written(decode)["greedy_decode"])
    feature_map = find_exercise("linear_reader").may_call[0]
    reader = "def linear_reader(query, keys, values):\n    return feature_map(query), feature_map(keys)\n"
    own = written(reader, feature_map=feature_map)["linear_reader"]
    assert not find_course_code(find_exercise("linear_reader"), own)
    assert find_course_code(find_exercise("soft_lookup"), own).endswith("feature_map")


def test_a_test_may_call_the_implementations_that_it_gets():
    source = "def test_attention(implementation):\n    x = torch.eye(2)\n    implementation(x, x, x)\n"
    assert not find_course_code(find_exercise("test_attention"), written(source)["test_attention"])


def test_earlier_exercises_may_be_used_and_later_ones_may_not():
    many_heads = find_exercise("many_heads")
    source = "def many_heads(x, *others):\n    return split(x, 2)\n"
    own = written(source, split=find_exercise("split_heads").reference)["many_heads"]
    assert not find_course_code(many_heads, own)
    source = "def attempt(queries, keys, values):\n    return attend(queries, keys, values, None)\n"
    own = written(source, attend=find_exercise("masked_attention").reference)["attempt"]
    assert find_course_code(find_exercise("scaled_attention"), own).startswith("lessons.l10_masks")


def test_a_class_that_inherits_from_or_contains_the_courses_is_recognised():
    source = """
class EncoderBlock(torch.nn.Module):
    def __init__(self, d_model, n_heads, d_ff, dropout):
        super().__init__()
        self.inner = inner(d_model, n_heads, d_ff, dropout)

    def forward(self, x, mask=None):
        return self.inner(x, mask)
"""
    exercise = find_exercise("EncoderBlock")
    names = {"inner": modules.EncoderBlock}
    own = written(source, **names)["EncoderBlock"]
    assert find_course_code(exercise, own) == "lessons.l13_the_block.modules.EncoderBlock"


@pytest.mark.parametrize(
    "text",
    [
        "from lessons.l14_the_transformer.reference_transformer import Transformer\n",
        "import course_lib.models.transformer as library\n",
        "from course_lib.layers.attention import attend\n",
    ],
)
def test_a_file_that_imports_the_course_is_recognised(tmp_path, text):
    path = tmp_path / "my_transformer.py"
    path.write_text(text)
    assert find_course_code(find_exercise("my_transformer"), path)


def test_only_graded_work_is_refused(monkeypatch):
    attempt = find_exercise("exact_match").reference
    assert check("exact_match", attempt).status == "passed"
    verdict = check("exact_match", attempt, own_work=True)
    assert (verdict.status, verdict.slip) == ("wrong", "course-code")
    own = written("def double_it(numbers):\n    return 2 * numbers\n")["double_it"]
    assert check("double_it", own, own_work=True).status == "passed"


ANSWERED = {  # by a library, as someone may write it: the exercise, what is used, and the code
    "layer_norm": (
        "torch.nn.functional.layer_norm",
        "from torch.nn.functional import layer_norm as norm\n"
        "def attempt(x, weight, bias, eps=1e-5):\n    return norm(x, weight.shape, weight, bias, eps)\n",
    ),
    "soft_lookup": (
        "torch.nn.functional.scaled_dot_product_attention",
        "import functools\n"
        "F = torch.nn.functional\n"
        "attend = functools.partial(F.scaled_dot_product_attention, scale=1.0)\n"
        "def attempt(query, keys, values):\n"
        "    return [attend(query[None], keys, v)[0] for v in (values, torch.eye(len(keys)))]\n",
    ),
    "scaled_attention": (
        "torch.nn.functional.scaled_dot_product_attention",
        "def attempt(queries, keys, values):\n"
        "    eye = torch.eye(keys.shape[-2]).expand(*keys.shape[:-1], -1)\n"
        "    attend = getattr(torch.nn.functional, 'scaled_dot_product' + '_attention')\n"
        "    return attend(queries, keys, values), attend(queries, keys, eye)\n",
    ),
    "convolve": (
        "torch.nn.functional.conv1d",
        "def attempt(words, kernel):\n    return torch.conv1d(words.T, kernel).T\n",
    ),
    "gradient_step": (
        "torch.Tensor.backward",
        "def attempt(embeddings, weight, word, target, rate):\n"
        "    e, w = (x.clone().requires_grad_() for x in (embeddings, weight))\n"
        "    loss = -torch.log_softmax(w @ e[word], dim=0)[target]\n"
        "    loss.backward()\n"
        "    return (e - rate * e.grad).detach(), (w - rate * w.grad).detach(), loss.detach()\n",
    ),
    "lstm_cell": (
        "torch.lstm_cell",
        "def attempt(x, hidden, cell, w_x, w_h, b):\n"
        "    return torch.lstm_cell(x, (hidden, cell), w_x, w_h, b, torch.zeros_like(b))\n",
    ),
    "smoothed_loss": (
        "torch.nn.CrossEntropyLoss",
        "def attempt(logits, targets, smoothing):\n"
        "    loss = torch.nn.CrossEntropyLoss(ignore_index=0, label_smoothing=smoothing)\n"
        "    return loss(logits.mT, targets)\n",
    ),
}


@pytest.mark.parametrize(("name", "used", "source"), [(name, *rest) for name, rest in ANSWERED.items()])
def test_a_library_that_does_the_exercise_is_mentioned_and_gives_no_points(name, used, source):
    attempt = written(source)["attempt"]
    verdict = check(name, attempt)
    assert verdict.status == "passed" and used in verdict.details
    verdict = check(name, attempt, own_work=True)
    assert (verdict.status, verdict.slip) == ("wrong", "library-call") and used in verdict.details


ANSWERABLE = [exercise for exercise in FUNCTIONS if exercise.answered_by]


@pytest.mark.parametrize("exercise", ANSWERABLE, ids=lambda exercise: exercise.name)
def test_a_solution_that_is_written_out_needs_no_library_that_does_the_exercise(exercise):
    solution = exercise.reference
    names = {name: value for name, value in solution.__globals__.items() if name != "__name__"}
    own = written(inspect.getsource(solution), **names)[solution.__name__]
    assert "library-call" not in find_borrowed(exercise, own)


OUT_OF_SIGHT = {
    "another process": "import subprocess, sys\n"
    "def attempt(numbers):\n    subprocess.run([sys.executable, '--version'])\n    return 2 * numbers\n",
    "a pool from another cell": "P = ThreadPoolExecutor(1)\n"
    "def attempt(numbers):\n    return P.submit(lambda: reference(numbers)).result()\n",
    "a new thread": "import threading\n"
    "def attempt(numbers):\n"
    "    found = []\n"
    "    thread = threading.Thread(target=lambda: found.append(reference(numbers)))\n"
    "    thread.start()\n    thread.join()\n    return found[0]\n",
    "no profile": "import sys\n"
    "def attempt(numbers):\n    list(map(sys.setprofile, [None]))\n    return reference(numbers)\n",
}


@pytest.mark.parametrize("source", OUT_OF_SIGHT.values(), ids=OUT_OF_SIGHT)
def test_work_that_is_done_out_of_sight_gives_no_points(source):
    names = {"ThreadPoolExecutor": ThreadPoolExecutor, "reference": find_exercise("double_it").reference}
    attempt = written(source, **names)["attempt"]
    assert check("double_it", attempt).status == "passed"
    assert check("double_it", attempt, own_work=True).slip in ("out-of-sight", "course-code")


def test_a_generator_of_numpy_which_has_a_lock_is_not_out_of_sight():
    source = "import numpy\ndef attempt(numbers):\n    numpy.random.default_rng(0)\n    return 2 * numbers\n"
    assert not find_borrowed(find_exercise("double_it"), written(source)["attempt"])
