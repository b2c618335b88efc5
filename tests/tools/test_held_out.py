"""What is held out for validation is not trained on."""

from __future__ import annotations

from course_lib.text.encoded import target_ids
from tools.corpora import load_data


def test_no_pair_is_in_both_parts_of_your_own_corpus(tmp_path):
    pairs = [(f"a {number}", f"b {number}") for number in range(60)]
    file = tmp_path / "pairs.tsv"
    file.write_text("".join(f"{src}\t{tgt}\n" for src, tgt in pairs), encoding="utf-8")
    data = load_data(str(file))
    train, held_out = (
        {data.tokenizer.decode(ids) for ids in target_ids(corpus)} for corpus in (data.train, data.validation)
    )
    assert train | held_out == {tgt for _, tgt in pairs} and not train & held_out
    assert (len(train), len(held_out)) == (57, 3)
