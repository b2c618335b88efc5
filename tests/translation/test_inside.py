"""What is done to a Transformer from outside does what it says and leaves no trace; what is read is true."""

from __future__ import annotations

import pytest
import torch

from course_lib.models.registry import build, make_config
from course_lib.text.batch import make_batch
from course_lib.text.special import PAD
from course_lib.translation.closing import (
    ATTENTIONS,
    equal_weights,
    listen,
    listen_alone,
    place_of,
    source_states,
    speak,
    taken_apart,
    translate_alone,
)
from course_lib.translation.inside import (
    all_silent,
    attentions,
    cut_by_row,
    likeness,
    read,
    said_by_row,
    say,
    spreads,
    switched_off,
)
from course_lib.translation.search import greedy
from course_lib.translation.shipped import shared

BATCH = make_batch([[5, 6, 7, 8], [9, 5]], [[6, 7, 8], [9, 9, 9, 9]])
THIRSTY = "the cat drank the water because it was thirsty"
COLD = "the cat drank the water because it was cold"


# ---- heads of a small one


@pytest.fixture
def model():
    torch.manual_seed(0)
    return build("transformer", make_config("transformer", scale="tiny", vocab_size=20)).eval()


@torch.no_grad()
def logits(model):
    return model(BATCH.src, BATCH.src_lengths, BATCH.tgt_in)


def test_read_and_say_are_the_model(model):
    with torch.no_grad():
        may_look = BATCH.src_may_look[:, None]
        states, own = read(model, BATCH.src, may_look)
        found, looked = say(model, {**model.decoder.read_source(states), "may_look": may_look}, BATCH.tgt_in)
        torch.testing.assert_close(found, logits(model))
        all_weights = model.all_weights(BATCH.src, BATCH.src_lengths, BATCH.tgt_in)
    ours = {"encoder": own, "decoder": looked["own"], "cross": looked["cross"]}
    torch.testing.assert_close(ours, all_weights)


def test_a_silent_head_says_nothing_and_then_speaks_again(model):
    before = logits(model)
    use, layer, heads = next(iter(attentions(model)))
    assert (use, layer) == ("encoder", 0)
    with pytest.raises(KeyError), all_silent(model, ["encoder 0.1", "cross 1.0", "encoder 0.1"]):
        width = heads.w_output.shape[1] // heads.n_heads
        assert heads.w_output[:, width : 2 * width].eq(0).all() and not heads.w_output[:, :width].eq(0).any()
        assert not torch.allclose(logits(model), before)
        raise KeyError
    assert torch.equal(logits(model), before)


def test_each_row_has_heads_and_widths_of_its_own(model):
    """The first row is whole; in the second a head of the first attention is silent, or all queries are 0."""
    whole = logits(model)
    n_heads, looks = model.config.n_heads, [heads for _, _, heads in attentions(model)]
    heard = torch.ones(2, len(looks), n_heads, dtype=torch.bool)
    heard[1, 0, 1] = False
    with cut_by_row(model, heard):
        found = logits(model)
    with all_silent(model, ["encoder 0.1"]):
        torch.testing.assert_close(found[1], logits(model)[1])
    torch.testing.assert_close(found[0], whole[0])
    wide = torch.ones(2, looks[0].w_query.shape[0] // n_heads, dtype=torch.bool)
    wide[1] = False
    with cut_by_row(model, torch.ones_like(heard), wide=wide):
        found = logits(model)
    torch.testing.assert_close(found[0], whole[0])
    with torch.no_grad():
        for heads in looks:
            heads.w_query.zero_()
    torch.testing.assert_close(found[1], logits(model)[1])


@torch.no_grad()
def test_said_by_row_is_greedy(model):
    memory = model.encode(BATCH.src, BATCH.src_lengths)
    expected = greedy(model, memory, max_len=8).ids
    said = said_by_row(model, memory, max_len=8)
    real = expected != PAD
    assert torch.equal(said[:, : expected.shape[1]][real], expected[real]) and real.any()


def test_every_head_is_switched_off_once(model):
    found = switched_off(model, lambda: float(logits(model).sum()))
    assert len(found) == 3 * model.config.n_layers * model.config.n_heads
    assert len({one["measured"] for one in found}) == len(found)  # each makes a difference of its own
    assert len({(one["use"], one["layer"], one["head"]) for one in found}) == len(found)


@torch.no_grad()
def test_spreads_are_those_of_the_scores(model):
    """Read off the weights, against scores made by hand, for the first layer of the encoder."""
    x = model.source_positions.add(model.words.source(BATCH.src))
    block = model.encoder.blocks[0]
    query, keys, _ = block.attention.project(block.around_attention.before(x))
    long = (query @ keys.mT / query.shape[-1] ** 0.5)[0, :, :5, :5]  # the other has only three keys
    short = (query @ keys.mT / query.shape[-1] ** 0.5)[1, :, :3, :3]
    both = [part.std(dim=-1, correction=0).sum(dim=-1) for part in (long, short)]
    found = spreads(model, [BATCH])["encoder"][0]
    torch.testing.assert_close(torch.tensor(found), sum(both) / 8, atol=1e-4, rtol=1e-4)


@torch.no_grad()
def test_likeness_is_the_mean_cosine_of_two_words(model):
    states = model.source_positions.add(model.words.source(BATCH.src))
    cosines = [
        torch.cosine_similarity(states[sentence, i], states[sentence, j], dim=0)
        for sentence, length in enumerate(BATCH.src_lengths.tolist())
        for i in range(length)
        for j in range(length)
        if i != j
    ]
    found = likeness(model, [BATCH])
    assert len(found) == 1 + model.config.n_layers
    assert abs(found[0] - float(torch.stack(cosines).mean())) < 1e-5


# ---- words of the shipped one


@pytest.fixture(scope="module")
def transformer():
    return shared("transformer")


def test_with_nothing_closed_it_is_the_translation_itself(transformer):
    for text in (THIRSTY, COLD):
        usual, heard = transformer(text, with_weights=True), listen(transformer, text)
        assert heard.french == usual.target and heard.words == usual.source_tokens
        place = next(i for i, word in enumerate(usual.target_tokens) if word in ("il", "elle"))
        torch.testing.assert_close(heard.at_pronoun, usual.weights[:, :, place], atol=1e-4, rtol=0)
    states, own = source_states(transformer, COLD)
    assert speak(transformer, COLD, states).french == heard.french and own.shape == (3, 4, 10, 10)


def test_values_may_be_made_from_other_states_than_the_keys(transformer):
    states, other = source_states(transformer, THIRSTY)[0], source_states(transformer, COLD)[0]
    usual, same = speak(transformer, THIRSTY, states), speak(transformer, THIRSTY, states, values=states)
    assert (same.french, same.il) == (usual.french, usual.il)
    mixed = speak(transformer, THIRSTY, states, values=other)
    torch.testing.assert_close(mixed.at_pronoun[0], usual.at_pronoun[0])  # the first layer asks the same keys
    assert mixed.french != usual.french


@pytest.mark.parametrize(("to", "inside", "outside"), [("all", 0, 0), ("source", 0, 1), ("decoder", 1, 0)])
def test_a_closed_word_is_looked_at_by_nobody_it_is_closed_to(transformer, to, inside, outside):
    heard = listen(transformer, THIRSTY, closed=[4], to=to)
    assert (heard.own[..., 4].sum() > 0) == bool(inside)
    assert (heard.at_pronoun[..., 4].sum() > 0) == bool(outside)
    torch.testing.assert_close(heard.own.sum(dim=-1), torch.ones(3, 4, 10))


def test_alone_a_word_sees_itself(transformer):
    heard = listen_alone(transformer, COLD)
    torch.testing.assert_close(heard.own, torch.eye(10).expand(3, 4, 10, 10))
    texts = [COLD, "the cat sleeps"]
    assert translate_alone(transformer, texts) == [listen_alone(transformer, text).french for text in texts]


@pytest.mark.parametrize("attention", ["1a", "3d"])
def test_an_attention_taken_apart_gives_the_weights_inside(transformer, attention):
    x, w_q, w_k, w_v = taken_apart(transformer, THIRSTY, attention)
    weights, own = ((x @ w_q) @ (x @ w_k).T / 4).softmax(dim=-1), listen(transformer, THIRSTY).own
    torch.testing.assert_close(weights, own[place_of(attention)], atol=1e-4, rtol=0)
    assert w_v.shape == (64, 16) and len(ATTENTIONS) == 12


def test_even_weights_are_even_and_only_for_a_while(transformer):
    before = {name: tensor.clone() for name, tensor in transformer.model.state_dict().items()}
    with pytest.raises(KeyError), equal_weights(transformer, "source", ["2b", "2c"]):
        own = listen(transformer, THIRSTY).own
        torch.testing.assert_close(own[1, 1:3], torch.full((2, 10, 10), 0.1))
        assert own[1, 0].max() > 0.2
        raise KeyError
    with equal_weights(transformer, "decoder", ["2d"]):
        torch.testing.assert_close(listen(transformer, THIRSTY).at_pronoun[1, 3], torch.full((10,), 0.1))
    after = transformer.model.state_dict()
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_what_is_not_there_is_refused(transformer):
    with pytest.raises(ValueError, match="1a to 3d"):
        place_of("4a")
    with pytest.raises(ValueError, match="all, source, decoder"):
        listen(transformer, THIRSTY, to="nobody")
