"""BLEU and chrF against sacreBLEU's own command, exact match and alignment error by hand."""

from __future__ import annotations

import doctest

import pytest
import sacrebleu
import torch

from course_lib.translation import alignment_error as alignment_module
from course_lib.translation import attention_text as text_module
from course_lib.translation import coreference, scores
from course_lib.translation.alignment_error import alignment_error, error_rate, links_from
from course_lib.translation.attention_text import PLAIN_SHADES, attention_text, legend
from course_lib.translation.scores import bleu, chrf, exact_matches

OURS = ["le chat dort sur le tapis .", "la fille voit un oiseau", "Il pleut"]
THEIRS = ["le chat dort sur un tapis .", "la petite fille voit un oiseau", "il pleut"]


@pytest.mark.parametrize("module", [scores, alignment_module, text_module, coreference])
def test_examples_in_docstrings(module):
    outcome = doctest.testmod(module, extraglobs={"torch": torch}, optionflags=doctest.ELLIPSIS)
    assert outcome.attempted > 0 and outcome.failed == 0


@pytest.mark.parametrize("lowercase", [False, True])
def test_equals_sacrebleu(lowercase):
    expected = sacrebleu.corpus_bleu(OURS, [THEIRS], lowercase=lowercase, force=True).score
    found = bleu(OURS, THEIRS, lowercase=lowercase)
    assert found.value == pytest.approx(expected) and 0 < found.value < 100
    assert f"case:{'lc' if lowercase else 'mixed'}" in found.signature and "nrefs:1" in found.signature
    assert sacrebleu.__version__ in found.signature
    ours, theirs = ([text.lower() if lowercase else text for text in texts] for texts in (OURS, THEIRS))
    found_chrf = chrf(OURS, THEIRS, lowercase=lowercase)
    assert found_chrf.value == pytest.approx(sacrebleu.corpus_chrf(ours, [theirs]).score)
    assert f"case:{'lc' if lowercase else 'mixed'}" in found_chrf.signature
    assert str(found) == f"{found.value:.1f} ({found.signature})"


def test_case_and_space_in_exact_matches():
    assert exact_matches(OURS, THEIRS) == [False, False, False]
    assert exact_matches(OURS, THEIRS, lowercase=True) == [False, False, True]
    assert exact_matches([" a  b"], ["a b"]) == [True]


def test_scores_refuse_what_cannot_be_compared():
    for metric in (bleu, chrf, exact_matches):
        with pytest.raises(ValueError, match="but got 1 and 2"):
            metric(["a"], ["a", "b"])
        with pytest.raises(ValueError, match="but got 0 and 0"):
            metric([], [])
        with pytest.raises(TypeError, match="several references"):
            metric(["a"], "a")


# ---- alignment


def peaked(*places: int, width: int) -> torch.Tensor:
    return torch.eye(width)[list(places)]


def test_alignment_error_by_hand():
    """the cat drank </s> → le chat a bu </s>, two layers of two heads.

    Layer 1 looks at the right word when it says one, layer 2 when it has read one. Of layer 1 four of four
    links are right for producing: AER 0. For reading it gives le→cat, chat→drank, a→drank, bu→(EOS left out,
    all words equal, so the first) the: one right, AER 1 - 2·1/8. Layer 2 the other way round: its row 0 reads
    BOS and looks at "drank"; producing le→drank, chat→the, a→cat, bu→drank: one right.
    """
    gold = {(0, 0), (1, 1), (2, 2), (2, 3)}
    first = peaked(0, 1, 2, 2, 3, width=4).expand(2, 5, 4)
    second = peaked(2, 0, 1, 2, 2, width=4).expand(2, 5, 4)
    weights = torch.stack([first, second])
    found = alignment_error([weights], [gold], [(3, 4)])
    assert found.layers_producing == (0.0, 0.75) and found.layers_reading == (0.75, 0.0)
    assert found.floor == 0.0
    # The mean of both: rows (the|drank), (the|cat), (cat|drank), drank, (drank|</s>); ties go to the left.
    assert found.producing == error_rate([{(0, 0), (0, 1), (1, 2), (2, 3)}], [gold]) == 0.5
    assert found.reading == error_rate([{(0, 0), (1, 1), (2, 2), (2, 3)}], [gold]) == 0.0


def test_the_floor_is_what_one_link_a_word_allows():
    """of the → du: two gold links, one can be found. 1 - 2·1 / (1 + 2) = 1/3."""
    found = alignment_error([torch.ones(1, 1, 2, 3) / 3], [{(0, 0), (1, 0)}], [(2, 1)])
    assert found.floor == found.producing == pytest.approx(1 / 3)


def test_padding_is_never_linked():
    weights = torch.rand(5, 6, generator=torch.Generator().manual_seed(0))
    wide = torch.cat([weights, torch.ones(5, 3)], dim=1)
    for reading in (False, True):
        ours = links_from(wide, n_source=6, n_target=4, reading=reading)
        assert ours == links_from(weights, n_source=6, n_target=4, reading=reading)
        assert {target for _, target in ours} == set(range(4))


def test_alignment_refuses_what_cannot_be():
    with pytest.raises(ValueError, match=r"at least \(3, 3\), .* and one more .* but got \(2, 3\)"):
        links_from(torch.ones(2, 3), n_source=3, n_target=2, reading=True)
    with pytest.raises(ValueError, match="one or more"):
        links_from(torch.ones(2, 3), n_source=0, n_target=2)
    with pytest.raises(ValueError, match="there is none"):
        error_rate([set()], [set()])


# ---- as text


def test_a_wide_source_goes_on_in_a_second_block():
    source = [f"word{place}" for place in range(9)]
    text = attention_text(torch.eye(2, 9), source, ["un", "deux"], width=40)
    blocks = text.split("\n\n")
    assert len(blocks) == 2 and all(len(line) <= 40 for line in text.splitlines())
    assert " ".join(" ".join(block.splitlines()[0].split()) for block in blocks).split() == source
    assert blocks[0].splitlines()[2].index("█") == blocks[0].splitlines()[0].index("word1")


def test_shades_can_be_plain():
    weights = torch.tensor([[0.1, 0.125], [0.25, 0.5], [0.75, 1.0]])
    text = attention_text(weights, ["a", "b"], ["c", "d", "e"], shades=PLAIN_SHADES)
    assert text.isascii() and [line[3:].split() for line in text.splitlines()[1:]] == [
        ["..."],
        [":::", "***"],
        ["###", "###"],
    ]
    assert legend(PLAIN_SHADES) == ". from 12.5%   : from 25%   * from 50%   # from 75%"


def test_words_of_any_script_keep_the_columns_straight():
    text = attention_text(torch.eye(2), ["猫", "e\N{COMBINING ACUTE ACCENT}"], ["chat", "\x1b[31m"])
    assert "\x1b" not in text and "\\x1b[31m" in text  # nobody's text may steer the terminal
    assert text.splitlines()[0].strip() == "猫  e\N{COMBINING ACUTE ACCENT}"


def test_weights_that_do_not_fit_the_words_are_refused():
    with pytest.raises(ValueError, match=r"shape \(1, 2\).*but got \(1, 1, 1, 2\).*mean\(dim=\(0, 1\)\)"):
        attention_text(torch.ones(1, 1, 1, 2), ["a", "b"], ["c"])
