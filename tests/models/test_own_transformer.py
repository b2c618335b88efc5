"""A Transformer from a file, as a translator: equal to the library's, the same weights, clear errors."""

from __future__ import annotations

import pytest
import torch
from torch.func import functional_call

from course_lib.models.own_file import OwnFileError, OwnTransformer, load_class, own_transformer
from course_lib.models.registry import build, make_config
from course_lib.runtime import PROJECT_ROOT
from course_lib.text.batch import make_batch
from course_lib.training.objective import translation
from course_lib.training.recipe import Recipe
from course_lib.training.step import PlainStep
from course_lib.translation.search import beam_search, greedy

REFERENCE = PROJECT_ROOT / "lessons" / "l14_the_transformer" / "reference_transformer.py"
CONFIG = make_config("transformer", scale="tiny", vocab_size=20)


@pytest.fixture
def both():
    """The model of the file and the library's, with the same weights."""
    torch.manual_seed(0)
    own, library = own_transformer(REFERENCE, CONFIG), build("transformer", CONFIG)
    own.load_state_dict(library.state_dict())
    return own.eval(), library.eval()


@pytest.fixture
def batch():
    return make_batch([[5, 6, 7], [8]], [[9, 4], [10, 11, 12]])


def test_it_computes_what_the_librarys_transformer_computes(both, batch):
    own, library = (model(batch.src, batch.src_lengths, batch.tgt_in) for model in both)
    torch.testing.assert_close(own[batch.loss_mask], library[batch.loss_mask])
    assert own.isfinite().all()


@pytest.mark.parametrize("search", [greedy, lambda *args, **options: beam_search(*args, beam=3, **options)])
def test_search_finds_the_same_translations_with_both(both, batch, search):
    found = [search(model, model.encode(batch.src, batch.src_lengths), max_len=6) for model in both]
    assert found[0].ids.tolist() == found[1].ids.tolist()


def test_its_weights_keep_the_names_of_the_file():
    model = load_class(REFERENCE)(vocab_size=20, d_model=8, n_heads=2, d_ff=16, n_layers=2, dropout=0.0)
    translator = OwnTransformer(CONFIG, model, REFERENCE)
    assert list(translator.state_dict()) == list(model.state_dict())
    assert all(a is b for a, b in zip(translator.parameters(), model.parameters(), strict=True))
    assert "model" not in dict(translator.named_modules())


def test_mode_dtype_and_new_weights_reach_the_model_of_the_file(both, batch):
    own, _ = both
    assert not any(module.training for module in (own.model, *own.model.modules()))
    own.train()
    assert own.model.training and own.model.encoder.blocks[0].around_attention.dropout.training
    zeros = {name: torch.zeros_like(weight) for name, weight in own.named_parameters()}
    logits = functional_call(own, zeros, (batch.src, batch.src_lengths, batch.tgt_in))
    assert logits.abs().max() == 0
    own.to(torch.float64)
    assert next(own.model.parameters()).dtype == torch.float64


def test_the_librarys_step_trains_it_as_it_trains_its_own(both, batch):
    losses = []
    for model in both:
        step = PlainStep(model, translation(0.1), Recipe(n_steps=5))
        losses.append([float(step(batch, 0.01)[0]) for _ in range(5)])
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)
    assert losses[0][-1] < losses[0][0]


def test_a_file_that_is_saved_again_is_run_again(tmp_path):
    path = tmp_path / "mine.py"
    for number in (1, 2):
        path.write_text(f"from torch import nn\nclass Transformer(nn.Module):\n    number = {number}\n")
        assert load_class(path).number == number


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, ["mine.py", "none"]),
        ("", ["class Transformer(nn.Module)", "mine.py", "none"]),
        ("class Transformer: pass", ["class Transformer(nn.Module)"]),
        ("x = 1\ny = = 2\n", ["mine.py, line 2", "SyntaxError"]),
        ("x = 1\n\nz = x + y\n", ["mine.py, line 3", "NameError", "'y'"]),
        (
            "from torch import nn\nclass Transformer(nn.Module):\n    def __init__(self, **sizes):\n"
            "        self.linear = nn.Linear(2, 2)\n",
            ["mine.py, line 4", "AttributeError"],
        ),
        ("from torch import nn\nclass Transformer(nn.Module):\n    pass\n", ["mine.py", "TypeError"]),
    ],
)
def test_a_file_that_cant_be_used_says_why_and_where(tmp_path, text, words):
    path = tmp_path / "mine.py"
    if text is not None:
        path.write_text(text)
    with pytest.raises(OwnFileError) as caught:
        own_transformer(path, CONFIG)
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_other_systems_have_no_own_file():
    with pytest.raises(OwnFileError, match="Transformer"):
        own_transformer(REFERENCE, make_config("bahdanau", scale="tiny", vocab_size=20))
