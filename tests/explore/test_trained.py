"""The explorables on what came with the course, its trained systems and its records: they show what is so."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest
import torch
from torch import nn

from course_lib.explore import (
    LiveTranslator,
    WordByWord,
    attention_stepper,
    close_a_word,
    head_switches,
    leaderboard,
    live_translator,
    mask_painter,
    parameter_ledger,
    three_uses,
    window_lab,
    word_by_word,
)
from course_lib.explore.control import Writing
from course_lib.explore.head_switches import ALONE, LEAST, MOST, NEEDED
from course_lib.explore.leaderboard import ATTENTION, BEST, EVERY, MEAN, PLAIN, WORST
from course_lib.explore.live_translator import ACROSS, HEADS, RCTM, SOURCE, TARGET, WOMAN
from course_lib.explore.mask_painter import AFTER, BEFORE, BLIND, BOTH, CAUSAL, PADDING, RENORMED, TIMES_0
from course_lib.explore.museum import COLUMNS, TOY, WITHOUT_ATTENTION, runs_of, table
from course_lib.explore.parameter_ledger import BASE, BATCH, BIG, N_SRC, N_TGT, ONE, OURS, THREE
from course_lib.explore.pronoun import listen
from course_lib.explore.typed_sentence import MOST_READ, live
from course_lib.explore.window_lab import ENGLISH, FRENCH
from course_lib.lessons.interventions import listen_alone
from course_lib.models.registry import make_config, n_parameters
from course_lib.models.transformer import Transformer
from course_lib.teaching.questions.question import questions
from course_lib.text.special import BOS, EOS
from course_lib.text.toy.splits import SIZES_OF_TESTS, splits
from course_lib.translation.ablation import ablated, multi_heads
from course_lib.translation.sample import chances, continue_text
from course_lib.translation.shipped import shared

# -- word by word (01) -------------------------------------------------------------------------------


def written(model: str, n: int = word_by_word.LONGEST, temperature: float = 0.0) -> dict:
    return word_by_word.compute(model=model, written=n, temperature=temperature)


@pytest.mark.parametrize("model", word_by_word.MODELS)
def test_a_model_writes_what_the_librarys_sampler_writes(model):
    system, facts = shared(word_by_word.MODELS[model]), written(model)
    said = continue_text(system.model, torch.tensor([[BOS]]), n=len(word_by_word.LOTS) - 1, temperature=0.0)
    assert " ".join(facts["said"]) == system.tokenizer.decode(said[0].tolist())
    assert facts["ended"] == (EOS in said[0])
    warm = written(model, 2, 1.0)
    tokens = torch.tensor([[BOS, *system.tokenizer.encode(" ".join(warm["said"]))]])
    with torch.inference_mode():
        shares = chances(system.model.decode(tokens)[0][:, -1], temperature=1.0)[0]
    np.testing.assert_allclose(warm["shares"], shares.topk(len(warm["shares"])).values.numpy(), rtol=1e-4)
    for temperature in (0.5, 1.0, 2.0):
        texts = [written(model, n, temperature)["said"] for n in range(word_by_word.LONGEST + 1)]
        for shorter, longer in itertools.pairwise(texts):
            assert longer[: len(shorter)] == shorter and len(longer) <= len(shorter) + 1


def test_what_lesson_01_tells_of_temperature():
    asked, lab = questions("01")["cold-ngram"], WordByWord()
    assert asked.options[asked.right[0]].text == "The same few words again and again, without an end"
    lab.preset(asked.preset)
    assert (lab.model, lab.temperature, lab.facts["ended"]) == ("n-gram", 0.0, False)
    assert lab.facts["said"] == ("les", "très", "jeunes", "sœurs", "ont", "acheté") * 3
    assert written("MLP")["ended"] and written("RNN")["ended"]
    first = [word_by_word.story("RNN", temperature)[0].shares[0] for temperature in (0.5, 1.0, 2.0)]
    assert first[0] > first[1] > first[2]
    told = word_by_word.story("RNN", 1.0)[:4]
    assert written("RNN", 4, 1.0)["chance"] == pytest.approx(np.prod([moment.own_share for moment in told]))
    assert written("RNN", 0, 1.0)["chance"] == 1.0
    quoted = written("n-gram", temperature=1.0)
    assert " ".join(quoted["said"]) == "les pères dans un jardin tranquille parce qu' ils étaient riches"
    assert quoted["ended"] and word_by_word.END not in quoted["said"]
    texts = [written(m, temperature=t / 10)["said"] for m in word_by_word.MODELS for t in range(21)]
    assert max(len(word_by_word.in_lines((*said, word_by_word.END))) for said in texts) <= 5, "fits the panel"


# -- the attention stepper and the window lab (06, 07) -----------------------------------------------


def test_the_stepper_translates_the_running_pair_and_shows_only_what_has_been():
    ends = {"thirsty": "il avait soif </s>", "cold": "elle était froide </s>"}
    for sentence, end in ends.items():
        kept = attention_stepper.walk(sentence)
        assert " ".join(kept["said"]) == f"le chat a bu l' eau parce qu' {end}"
        assert kept["weights"] == pytest.approx(
            torch.tensor(kept["scores"] + 3).softmax(-1).numpy(), abs=1e-5
        )
        facts = attention_stepper.compute(sentence=sentence, step=3)
        assert np.array_equal(facts["map"], kept["weights"][:4])


def at(system: str, half_width: int, times: float = 1.0) -> dict:
    return window_lab.compute(system=system, half_width=half_width, times=times)


@pytest.mark.parametrize("system", window_lab.SYSTEMS)
def test_with_its_own_window_it_is_the_shipped_system(system):
    own = 5 if system.startswith("local") else 20
    weights = window_lab.system_called(system)(ENGLISH, with_weights=True).weights[0, 0].numpy()
    assert window_lab.walk(system, own, 1.0)["weights"] == pytest.approx(weights, abs=1e-5)
    assert at(system, own)["right"]


def test_what_lesson_07_tells(monkeypatch):
    pair = next(pair for pair in splits(seed=0, sizes=SIZES_OF_TESTS).test if pair.src_text == ENGLISH)
    linked = (tuple(sorted(e for e, f in pair.links if f == place)) for place in range(len(pair.tgt)))
    assert pair.tgt_text == FRENCH and tuple(linked) == window_lab.LINKS
    narrow, french = at("local-m", 3), FRENCH.split()
    opening = "ces salles de classe n' étaient pas grandes et les reines ont ce"
    assert " ".join(narrow["said"]).startswith(opening) and not narrow["right"] and at("local-m", 5)["right"]
    assert narrow["agreed"] == 12 and french[12] == "vendu" and not narrow["window"][12, 8]
    assert at("local-p", 2)["right"] and not at("local-p", 1)["right"]
    assert at("location", 20)["missed"] >= 8 and not at("concat", 20, 0.1)["right"]
    assert at("general", 20, 0.25)["missed"] == at("general", 20)["missed"] == 0
    assert not at("local-p", 2)["window"][french.index("pas"), ENGLISH.split().index("not")]
    assert at("local-p", 5)["sums"].max() <= 1.0001 and at("local-p", 5)["sums"].min() < 0.5

    look = window_lab.look

    def blind_at_pas(*given):
        weights, window = look(*given)
        return (0 * weights if given[3] == french.index("pas") else weights), window

    monkeypatch.setattr(window_lab, "look", blind_at_pas)
    assert window_lab.walk.__wrapped__("local-p", 2, 1.0)["said"][:-1] == french, "pas needs no look"


# -- closing words, masks (09, 10) -------------------------------------------------------------------


def closed(sentence: str, word: int = 0, to: str = "all") -> dict:
    return close_a_word.compute(sentence=sentence, closed=word, to=to)


@pytest.mark.parametrize("sentence", ["women … hungry", "women … good"])
def test_what_is_asked_of_the_mouse_is_not_done_by_the_women(sentence):
    """Closing “they” among source words would otherwise do."""
    facts = closed(sentence, 7, "source")
    assert facts["share"] == facts["largest"] and facts["moved"] < 0.05
    now = facts | {"sentence": sentence, "closed": 7}
    assert not close_a_word.CloseAWord.met(now, now)["idle"]
    assert close_a_word.CloseAWord.met(now | {"sentence": "mouse … cold"}, now)["idle"]


@pytest.mark.parametrize("sentence", close_a_word.SENTENCES)
def test_every_sentence_fits_the_picture(sentence):
    words, facts = close_a_word.SENTENCES[sentence].split(), closed(sentence)
    assert len(words) + 1 == close_a_word.N_SOURCE and words[close_a_word.PRONOUN] in ("it", "they")
    assert facts["moved"] == 0 and not facts["flipped"]
    assert facts["shares"].sum() == pytest.approx(1, abs=1e-4)
    assert facts["own"].sum(axis=-1) == pytest.approx(np.ones(12), abs=1e-4)


def test_what_closing_a_word_changes():
    thirsty, cold = closed("cat … thirsty"), closed("cat … cold")
    assert thirsty["il"] > 0.9 > 0.1 > thirsty["elle"] and cold["elle"] > 0.9 > 0.1 > cold["il"]
    assert thirsty["french"].endswith("il avait soif") and cold["french"].endswith("elle était froide")
    asked, it = questions("09")["close-it"], closed("cat … thirsty", close_a_word.PRONOUN + 1)
    assert asked.preset == "“it” closed" and asked.options[asked.right[0]].text == "It stays *il*"
    assert f"{it['il']:.2f}" == "0.92" and it["share"] == it["largest"]
    assert closed("cat … thirsty", 9)["flipped"]
    for sentence in ("cat … thirsty", "cat … cold"):  # inside the source no single closing flips
        assert not any(closed(sentence, place, "source")["flipped"] for place in range(1, 11))


@pytest.mark.parametrize(
    ("method", "weights"),
    [
        (BEFORE, [0.5, 0.5, 0, 0]),
        (TIMES_0, [0.25, 0.25, 0.25, 0.25]),
        (AFTER, [0.25, 0.25, 0, 0]),
        (RENORMED, [0.5, 0.5, 0, 0]),
    ],
)
def test_four_equal_scores_two_of_them_hidden(method, weights):
    half = np.array([[True, True, False, False]])
    assert mask_painter.apply(np.zeros((1, 4)), half, method)[0][0] == pytest.approx(weights)


def test_dividing_by_the_sum_is_as_good_as_minus_infinity_unless_a_row_is_blind():
    for mask, head in itertools.product((mask_painter.NONE, PADDING, CAUSAL, BOTH), (1, 2, 3, 4)):
        right, again = (mask_painter.compute(mask=mask, method=m, head=head) for m in (BEFORE, RENORMED))
        assert again["weights"] == pytest.approx(right["weights"], abs=1e-9)
        assert right["sums"] == pytest.approx(np.ones(10)) and right["hidden_share"] == 0
        assert not right["broken"].any()
    for method in (BEFORE, RENORMED):
        blind = mask_painter.compute(mask=BLIND, method=method, head=1)
        assert np.flatnonzero(blind["broken"]).tolist() == [4]


def test_what_the_masks_hide_and_whose_scores_they_are():
    masks, scores = mask_painter.masks(), mask_painter.scores()
    assert masks[CAUSAL].sum() == 55 and (masks[BOTH] == (masks[PADDING] & masks[CAUSAL])).all()
    assert masks[PADDING][:, :7].all() and not masks[PADDING][:, 7:].any(), "columns only"
    assert scores.mean(axis=-1) == pytest.approx(np.zeros((4, 10)), abs=1e-5)
    assert scores.std() > 0.5, "it has learned something"


# -- heads switched off, three uses (12, 14) ---------------------------------------------------------


def off(sentence: str, how: str, head: int) -> dict:
    return head_switches.compute(sentence=sentence, how=how, head=head)


def test_every_head_has_its_place_and_its_turn():
    names, switched = head_switches.names(), head_switches.switched
    assert len(names) == 36 and set(NEEDED) == set(names)
    assert names[0] == "encoder 0.0" and names[-1] == "cross 2.3"
    assert switched(ALONE, 0) == switched(LEAST, 0) == ()
    assert switched(ALONE, 32) == ("cross 1.3",) == switched(MOST, 1)
    assert set(switched(LEAST, 36)) == set(switched(MOST, 36)) == set(names)


@pytest.mark.parametrize(
    ("sentence", "breaking"), [("thirsty", {"cross 1.3"}), ("cold", {"encoder 0.3", "decoder 2.1"})]
)
def test_which_heads_break_a_sentence(sentence, breaking):
    pair, found = head_switches.SENTENCES[sentence], head_switches.outcomes(sentence)
    whole = off(sentence, ALONE, 0)
    assert whole["is_right"] and " ".join(whole["said"]) == shared("transformer")(pair.src_text).target
    alone = {name for name in head_switches.names() if found[frozenset([name])]["said"] != pair.tgt}
    assert alone == breaking


def test_one_head_after_another():
    assert [off("thirsty", LEAST, n)["is_right"] for n in (10, 30, 31)] == [True, True, False]
    assert not off("cold", LEAST, 19)["is_right"]
    back = [off("thirsty", MOST, n)["is_right"] for n in (1, 2)]
    assert back == [False, True], "without both pronoun heads il comes by default"
    for head in (0, 32):  # cross 1.3 looks at the word that decides, heard or not
        facts = off("thirsty", ALONE, head)
        row = facts["weights"][facts["right"].index("il")]
        assert row.argmax() == head_switches.SENTENCES["thirsty"].src.index("thirsty") and row.max() > 0.9
    on, silent = (off("thirsty", ALONE, head)["entropy"] for head in (0, 3))  # encoder 0.2
    assert silent[0] == pytest.approx(on[0], abs=1e-6) and np.abs(silent[1:] - on[1:]).max() > 0.03
    assert head_switches.entropy(torch.tensor([0.25] * 4)).item() == pytest.approx(2)
    assert head_switches.entropy(torch.tensor([1.0, 0.0])).item() == pytest.approx(0)


def test_a_silent_head_leaves_no_trace():
    model = shared("transformer").model
    before = [heads.w_output.detach().clone() for _, _, heads in multi_heads(model)]
    with ablated(model, head_switches.names()):
        assert all((heads.w_output == 0).all() for _, _, heads in multi_heads(model))
    assert all(map(torch.equal, before, [heads.w_output for _, _, heads in multi_heads(model)]))


def uses(width: int = 16, heads: str = three_uses.ALL, mask: str = three_uses.AS_TRAINED) -> dict:
    return three_uses.compute(width=width, heads=heads, mask=mask)


def test_masks_do_what_the_interventions_do():
    system = shared("transformer")
    for place, pair in enumerate(three_uses.PAIR):
        hidden = listen(system, pair.src_text, closed=[8], to="decoder").french
        expected = {three_uses.AS_TRAINED: system(pair.src_text).target, three_uses.HIDDEN: hidden}
        expected[three_uses.ALONE] = listen_alone(system, pair.src_text).french
        assert {mask: " ".join(uses(mask=mask)["said"][place]) for mask in expected} == expected
    assert uses()["right"] == (True, True)


def test_what_lesson_14_tells():
    alone = uses(mask=three_uses.ALONE)
    assert alone["right"] == (True, False) and " ".join(alone["said"][1]).endswith("il avait froid")
    assert uses(width=10)["right"] == (True, True) and uses(heads="1 3 4")["right"] == (True, False)
    assert " ".join(uses(width=8)["said"][1]).endswith("elle était froid")
    assert not any("chat" in words for words in uses(width=6)["said"])
    survive = {"2 3 4": 2, "1 3 4": 1, "1 2 4": 2, "1 2 3": 0, "2 4": 2}
    assert {heads: sum(uses(heads=heads)["right"]) for heads in survive} == survive
    assert " ".join(uses(heads="1 2 3")["said"][0]).endswith("elle avait soif")
    source, target, following = three_uses.SOURCE, three_uses.TARGET, three_uses.NEXT
    for use, word, looked, share in [
        ("encoder", "it", "water", "0.21"),
        ("encoder", "it", "was", "0.21"),
        ("decoder", "soif", "parce", "0.43"),
        ("cross", "chat", "cat", "1.00"),
        ("cross", "il", "it", "0.42"),
        ("cross", "il", "because", "0.38"),
    ]:
        rows = {"encoder": source, "decoder": target, "cross": following}[use]
        columns = target if use == "decoder" else source
        weights = uses()["weights"][use][rows.index(word)]
        assert f"{weights[columns.index(looked)]:.2f}" == share, (use, word, looked)
    assert f"{uses()['weights']['encoder'][source.index('it')].max():.2f}" == "0.21"


def test_flat_weights_alone_break_less_than_lost_numbers():
    """All scores a quarter as large: flatter than at d_k 4, and only the gender of cold is lost."""
    looks = [look for _, _, look in multi_heads(shared("transformer").model)]
    with torch.no_grad():
        for look in looks:
            look.w_query.mul_(0.25)
    try:
        flat = three_uses.outcomes.__wrapped__()[16, three_uses.ALL, three_uses.AS_TRAINED]
    finally:
        with torch.no_grad():
            for look in looks:
                look.w_query.mul_(4.0)
    narrow = uses(width=4)
    assert (flat["entropy"] > narrow["entropy"]).all() and narrow["right"] == (False, False)
    assert flat["said"][0] == three_uses.PAIR[0].tgt
    assert " ".join(flat["said"][1]).endswith("parce qu' il était froid")


def test_the_maps_are_of_heads_that_are_heard_sum_to_one_and_never_look_ahead():
    assert not any(table.any() for table in uses(heads="none")["weights"].values())
    maps = [uses(heads=heads)["weights"]["cross"] for heads in three_uses.HEARD[1:5]]
    assert np.abs(maps[0] - maps[3]).max() > 0.1
    for width, mask in ((16, three_uses.AS_TRAINED), (4, three_uses.HIDDEN), (0, three_uses.ALONE)):
        maps += uses(width=width, mask=mask)["weights"].values()
    assert all(np.allclose(table.sum(axis=1), 1, atol=1e-5) for table in maps)
    assert np.allclose(np.triu(uses()["weights"]["decoder"], 1), 0)
    assert np.allclose(uses(mask=three_uses.HIDDEN)["weights"]["cross"][:, 8], 0)
    assert np.allclose(uses(mask=three_uses.ALONE)["weights"]["encoder"], np.eye(10))
    bits = np.array([uses(width=width)["entropy"] for width in reversed(three_uses.WIDTHS)])
    assert (np.diff(bits, axis=0) > 0).all(), "narrower keys share out more evenly"
    assert bits[0, 2] < 1 and abs(bits[-1, 2] - np.log2(10)) < 1e-3


# -- the parameter ledger (14) ------------------------------------------------------------------------


def total(model: str, tables: str = ONE) -> int:
    return parameter_ledger.compute(model=model, place=0, tables=tables)["total"]


def test_the_ledger_counts_as_torch_counts():
    found = parameter_ledger.counts(BASE)
    assert found["encoder: attention"] == found["cross-attention"] == 6 * 1_050_624
    assert found["feed-forward"] == 12 * 2_099_712
    with torch.device("meta"):
        layers = nn.TransformerEncoderLayer(512, 8, 2048), nn.TransformerDecoderLayer(512, 8, 2048)
        assert [n_parameters(layer) for layer in layers] == [3_152_384, 4_204_032]
        assert n_parameters(nn.Transformer(batch_first=True)) == total(BASE) - found["word tables"] + 2 * 1024
    assert total(BASE) == 63_082_496 and total(BIG) == 214_245_376
    assert total(OURS) == n_parameters(shared("transformer").model) == 392_360
    assert total(BASE, THREE) - total(BASE) == 37_888_000
    shares = [parameter_ledger.compute(model=m, place=0, tables=THREE)["tables_share"] for m in (BASE, BIG)]
    assert shares[0] > 0.5 > shares[1]
    facts = parameter_ledger.compute(model=BASE, place=parameter_ledger.CROSS, tables=ONE)
    assert facts["shape"] == (BATCH, 8, N_TGT, N_SRC) and facts["name"] == "cross: scores"


@pytest.mark.parametrize("name", parameter_ledger.SIZES)
def test_shapes_are_those_of_a_live_model(name):
    """On the meta device: shapes without numbers."""
    sizes = zip(("d_model", "n_heads", "d_ff", "n_layers"), parameter_ledger.SIZES[name], strict=False)
    config = make_config("transformer", scale="toy", vocab_size=parameter_ledger.SIZES[name][-1])
    with torch.device("meta"):
        model = Transformer(type(config)(**{**vars(config), **dict(sizes)})).eval()
        source, target = (torch.zeros(BATCH, n, dtype=torch.long) for n in (N_SRC, N_TGT))
        x, _, looked = model.encoder(model.words.source(source), with_weights=True)
        memory = model.decoder.read_source(x)
        memory |= {"may_look": torch.ones(BATCH, 1, 1, N_SRC, dtype=torch.bool)}
        words = model.words.target(target)
        y, _, weights = model.decoder(words, causal=True, source=memory, with_weights=True)
        live_ones = {
            "source words": x,
            "memory": x,
            "encoder: scores": looked["own"][:, 0],
            "decoder: scores": weights["own"][:, 0],
            "cross: scores": weights["cross"][:, 0],
            "cross: keys": memory["keys"][:, 0],
            "encoder: widened": model.encoder.blocks[0].feed_forward.inner(x),
            "target words": y,
            "logits": model.words.logits(y),
        }
    found = parameter_ledger.shapes(name)
    assert tuple(found) == parameter_ledger.STAGES
    assert {stage: found[stage] for stage in live_ones} == {s: tuple(v.shape) for s, v in live_ones.items()}


# -- the live translator (16) -------------------------------------------------------------------------

CAT, DOG = "The cat drank the water because it was thirsty.", WOMAN.replace("dog", "[dog]")


def seen(text: str, system: str = ACROSS, head: str = "mean", step: int = 1) -> dict:
    return live_translator.compute(text=text, system=system, head=head, step=step)


@pytest.mark.parametrize(
    ("text", "french"),
    [
        (WOMAN, "la vieille femme voit un petit chien dans le jardin"),
        (DOG, "la vieille femme voit un petit jardin dans le jardin"),
        (WOMAN.replace("a small", "[a] small"), "la vieille femme voit le petit chien dans le jardin"),
        (WOMAN.replace("woman", "[woman]"), "le vieux chien voit un petit chien dans le jardin"),
        (CAT, "le chat a bu l' eau parce qu' il avait soif"),
        ("The Cat sleeps.", "le chat dort"),
    ],
)
def test_frozen_translations(text, french):
    assert seen(text)["french"] == french
    assert "[" in text or shared("transformer")(text).target == french


def test_rctm_has_no_map_and_nothing_to_close():
    plain, dog = seen(WOMAN, RCTM), seen(DOG, RCTM)
    assert plain["french"] == dog["french"] == "la vieille femme porte le petit chapeau blanc"
    assert plain["weights"].sum() == 0 and plain["rows"] == ()
    assert "no word can be closed" in dog["notes"][0]


@pytest.mark.parametrize("system", [ACROSS, SOURCE, TARGET])
def test_rows_sum_to_one_and_what_is_closed_or_missing_gets_nothing(system):
    for head in HEADS:
        facts = seen(DOG, system, head)
        n_rows, n_columns, weights = len(facts["rows"]), len(facts["columns"]), facts["weights"]
        assert weights[:n_rows].sum(axis=1) == pytest.approx(np.ones(n_rows), abs=1e-4)
        assert weights[n_rows:].sum() == weights[:, n_columns:].sum() == 0
        nowhere = np.triu(weights, 1) if system == TARGET else weights[:, 6]  # ahead, or at the dog
        assert nowhere.max() == 0


def test_a_step_says_its_likeliest_word():
    for step in range(1, 13):
        facts = seen(CAT, step=step)
        assert facts["top"][0] == facts["said"][facts["place"]]
        assert (np.diff(facts["shares"]) <= 0).all() and facts["shares"].sum() <= 1 + 1e-6
    assert seen(CAT, step=18)["place"] == len(seen(CAT)["said"]) - 1


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "empty"),
        ("  [ ] ", "empty"),
        ("the cat " * 9, "too long: 18 words"),
        ("The axolotl sleeps.", "read as <unk>: axolotl"),
        ("<b>$x$</b> кот 猫", "кот"),
    ],
)
def test_odd_texts_are_answered(text, says):
    assert any(says in note for note in seen(text)["notes"])
    lab = LiveTranslator()
    lab.text = text
    assert lab.still() and 20 < len(lab.description) < 260


def test_brackets_and_what_is_written():
    assert live(shared("transformer"), "the [old woman] sees").closed == (1, 2)
    assert seen(WOMAN.replace("a small dog", "a [small dog]"))["closed_words"] == (5, 6)
    assert len(live(shared("rctm"), "the " * MOST_READ).source) == MOST_READ + 1
    assert seen(DOG)["changed"] == 1 and seen(WOMAN)["changed"] == 0
    drawable = live_translator.drawable
    assert drawable("猫") == "□" and drawable("sœur") == "sœur" and len(drawable("x" * 60)) <= 11
    field, lab = Writing("English", ("a", "b")).widget(), LiveTranslator()
    assert not field.continuous_update and field.description == "English"
    lab.text = "x" * 500
    assert len(lab.text) == 200


def test_the_prediction_is_true_and_only_the_learners_own_brackets_count():
    asked, lab = questions("16")["dec-close-dog"], LiveTranslator()
    lab.preset(asked.preset)
    assert asked.options[asked.right[0]].text.startswith("*jardin*")
    assert lab.facts["top"][0] == "jardin" and f"{lab.facts['shares'][0]:.2f}" == "0.92"
    for system in (RCTM, SOURCE, ACROSS):
        lab.system = system
    assert "one" not in lab.ticked
    lab.text = WOMAN.replace("a small", "[a] small")
    assert "one" in lab.ticked


# -- the leaderboard (18) -----------------------------------------------------------------------------


def ranked(column: str, rows: str = EVERY, place: str = MEAN) -> dict:
    return leaderboard.compute(column=column, rows=rows, place=place)


@pytest.mark.parametrize(
    ("column", "place", "first"),
    [
        *((column, MEAN, "transformer") for column in ("test", "pronouns")),
        *((column, MEAN, "bahdanau") for column in ("21 to 30 words", "alignment error", "BLEU R-Drop")),
        *((column, MEAN, "convs2s") for column in ("BLEU beam", "BLEU own rate")),
        ("perplexity", MEAN, "gru_lm"),
        ("LM training", MEAN, "ngram_lm"),
        ("negation", MEAN, "luong_concat"),
        ("negation", WORST, "bahdanau"),
    ],
)
def test_who_is_first(column, place, first):
    assert ranked(column, place=place)["names"][0] == first


def test_lead_spread_and_verdict():
    facts, narrow = ranked("test"), ranked("alignment error")
    assert facts["lead"] == pytest.approx(98.4667 - 98.0, abs=1e-3)
    assert facts["spread"] == pytest.approx(98.3 - 97.5)
    assert (facts["level"], ranked("21 to 30 words")["level"]) == (3, 0)
    assert narrow["lead"] < narrow["spread"] and leaderboard.told(narrow).startswith("alone"), "by the seeds"
    assert leaderboard.told(ranked("pronouns")) == "level with the first: 5 more"
    alone, nobody = ranked("pronoun class"), ranked("pronoun class", PLAIN)
    assert alone["lead"] is None and len(alone["names"]) == 1 and nobody["names"] == []
    assert leaderboard.told(nobody) == "nobody was measured"
    for higher in (True, False):  # less is better where it is
        least, most = (WORST, BEST) if higher else (BEST, WORST)
        assert leaderboard.placed([3.0, 1.0, 2.0], least, higher) == 1.0
        assert leaderboard.placed([3.0, 1.0, 2.0], most, higher) == 3.0


@pytest.mark.parametrize("column", COLUMNS)
def test_the_filter_parts_the_rows_and_a_column_says_its_sentences(column):
    every, with_it, without = (ranked(column, rows)["names"] for rows in (EVERY, ATTENTION, PLAIN))
    assert sorted(every) == sorted([*with_it, *without]) and 1 <= len(every) <= leaderboard.N_ROWS
    assert set(without) <= set(WITHOUT_ATTENTION)
    assert all(len(seeds) == 3 for seeds in table()[column].values())
    scores = runs_of("toy_ladder")["transformer"][0]["scores"]
    sizes = {part["n"] for part in scores.values()}
    for part in scores.values():
        sizes |= {one["n"] for kind in ("by_length", "by_phenomenon") for one in part[kind].values()}
    said = re.search(r"n = (\d+)", COLUMNS[column].says)
    assert COLUMNS[column].hall != TOY or not said or int(said[1]) in sizes
