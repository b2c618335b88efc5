"""Luong against the paper's formulas for every score and window, and what is its own."""

from __future__ import annotations

import math

import pytest
import torch

from course_lib.layers.cells import lstm_cell
from course_lib.layers.scores import concat
from course_lib.models.luong import SCORES, WINDOWS, Luong, LuongConfig
from course_lib.models.translator import SteppingTranslator

HIDDEN, EMBED, MAX_LEN = 6, 4, 9
SRC = torch.tensor([[7, 8, 9, 5, 11, 12, 13, 3], [6, 10, 3, 0, 0, 0, 0, 0]])
LENGTHS = torch.tensor([8, 3])
TGT_IN = torch.tensor([[2, 7, 8, 9, 5], [2, 5, 6, 7, 9]])


def make(*, seed: int = 0, **settings) -> Luong:
    torch.manual_seed(seed)
    sizes = {"vocab_size": 20, "embed": EMBED, "hidden": HIDDEN, "max_len": MAX_LEN}
    settings = {"n_layers": 2, "half_width": 2} | settings
    return Luong(LuongConfig(**sizes, **settings)).double()


def by_the_paper(system: Luong, src: torch.Tensor, tgt_in: torch.Tensor):
    """One sentence without padding, one word at a time, every sum spelled out."""
    config, table, scale = system.config, system.words.output.weight, EMBED**0.5

    def move(stack, word, states):
        new = []
        for (layer,), (hidden, cell) in zip(stack.layers, states, strict=True):
            names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
            weights = {name: getattr(layer, f"{name}_l0") for name in names}
            new.append(lstm_cell(word[None], hidden[None], cell[None], **weights))
            new[-1] = tuple(part[0] for part in new[-1])
            word = new[-1][0]
        return word, new

    nothing = torch.zeros(HIDDEN, dtype=torch.float64)
    states, keys = [(nothing, nothing)] * config.n_layers, []
    for word in src.tolist():
        top, states = move(system.encoder, table[word] * scale, states)
        keys.append(top)

    def score(top, j):
        if config.score == "dot":
            return top @ keys[j]
        if config.score == "general":
            return top @ system.score.weight @ keys[j]
        if config.score == "concat":
            weight = torch.cat([system.score.w_query, system.score.w_key], dim=1)
            return system.score.v @ torch.tanh(weight @ torch.cat([top, keys[j]]))
        return system.score.weight[j] @ top

    fed = torch.zeros(EMBED, dtype=torch.float64)
    logits, weights = [], []
    for t, word in enumerate(tgt_in.tolist()):
        embedded = table[word] * scale
        top, states = move(
            system.decoder, torch.cat([embedded, fed]) if config.input_feeding else embedded, states
        )
        if config.window == "local-p":
            w_p, v_p = system.centres.w_p.weight, system.centres.v_p.weight[0]
            centre = (len(keys) * torch.sigmoid(v_p @ torch.tanh(w_p @ top))).item()
        else:
            centre = min(t, len(keys) - 1)
        reach = math.inf if config.window == "global" else config.half_width
        seen = [j for j in range(len(keys)) if centre - reach <= j <= centre + reach]
        shares = torch.stack([score(top, j) for j in seen]).softmax(dim=0)
        if config.window == "local-p":
            sigma = config.half_width / 2
            bell = [math.exp(-((j - centre) ** 2) / (2 * sigma**2)) for j in seen]
            shares = shares * torch.tensor(bell, dtype=torch.float64)
        weights.append(torch.zeros(len(keys), dtype=torch.float64))
        weights[-1][seen] = shares
        context = sum(share * keys[j] for share, j in zip(shares, seen, strict=True))
        fed = torch.tanh(system.combine.weight @ torch.cat([context, top]))
        logits.append(system.words.logits(fed))
    return torch.stack(logits), torch.stack(weights)


@pytest.mark.parametrize("input_feeding", [True, False], ids=["feeding", "no feeding"])
@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("score", SCORES)
@torch.no_grad()
def test_equals_the_papers_formulas(score, window, input_feeding):
    system = make(score=score, window=window, input_feeding=input_feeding)
    logits, weights = system.decode(system.encode(SRC, LENGTHS), TGT_IN, with_weights=True)
    assert weights.shape == (2, 1, 1, 5, 8)
    for row, length in enumerate(LENGTHS.tolist()):
        expected, expected_weights = by_the_paper(system, SRC[row, :length], TGT_IN[row])
        torch.testing.assert_close(logits[row], expected)
        torch.testing.assert_close(weights[row, 0, 0, :, :length], expected_weights)
        assert weights[row, ..., length:].eq(0).all()


@pytest.mark.parametrize("window", WINDOWS)
def test_without_input_feeding_all_words_at_once_equal_a_walk(window):
    system = make(window=window, score="concat", input_feeding=False)
    memory = system.encode(SRC, LENGTHS)
    at_once = system.decode(memory, TGT_IN, with_weights=True)
    walked = SteppingTranslator.say(system, memory, TGT_IN, with_weights=True)
    torch.testing.assert_close(at_once, walked)


# ---- what is its own


def test_the_new_state_decides_where_to_look():
    """h_t asks: unlike Bahdanau's, the weights of a step know the word that was just read."""
    system = make()
    memory = system.encode(SRC, LENGTHS)
    other = TGT_IN.clone()
    other[:, 1] = 11
    weights, moved = (system.decode(memory, tokens, with_weights=True)[1] for tokens in (TGT_IN, other))
    assert torch.equal(weights[..., :1, :], moved[..., :1, :])
    assert not torch.allclose(weights[..., 1, :], moved[..., 1, :], rtol=1e-6)


def test_input_feeding_tells_the_decoder_where_it_has_looked():
    """The encoder's top states changed in the memory: only fed, they reach the LSTM, a step later."""
    for input_feeding in (True, False):
        system = make(input_feeding=input_feeding)
        memory = system.encode(SRC, LENGTHS)
        states = []
        for rows in (memory, memory | {"states": memory["states"] + 1}):
            state = system.start(rows)
            for tokens in TGT_IN[:, :2].unbind(dim=1):
                _, state, _ = system.step(rows, state, tokens)
            states.append(state["hidden"])
        assert torch.allclose(*states) is not input_feeding
    assert "fed" not in state


def test_the_decoder_starts_where_the_encoder_ended():
    system = make()
    _, last = system.encoder(system.words.source(SRC), lengths=LENGTHS)
    state = system.start(system.encode(SRC, LENGTHS))
    assert torch.equal(state["hidden"], last["hidden"]) and torch.equal(state["cell"], last["cell"])
    assert state["hidden"].shape == (2, 2, HIDDEN)
    assert state["fed"].eq(0).all() and state["step"].tolist() == [0, 0]


def test_local_m_sees_a_band_that_stops_at_the_last_word():
    _, weights = (system := make(window="local-m", half_width=1)).decode(
        system.encode(SRC, LENGTHS), TGT_IN, with_weights=True
    )
    assert weights[0, 0, 0].gt(0).int().tolist() == [
        [1, 1, 0, 0, 0, 0, 0, 0],
        [1, 1, 1, 0, 0, 0, 0, 0],
        [0, 1, 1, 1, 0, 0, 0, 0],
        [0, 0, 1, 1, 1, 0, 0, 0],
        [0, 0, 0, 1, 1, 1, 0, 0],
    ]
    assert weights[1, 0, 0, 2:].gt(0).int().tolist() == [[0, 1, 1, 0, 0, 0, 0, 0]] * 3
    assert system.weights_sum_to_one
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones(2, 1, 1, 5, dtype=torch.float64))


def test_local_m_counts_the_steps_of_each_row():
    """Rows at different steps, as a search may have them: each has its own place in the source."""
    system = make(window="local-m", half_width=1)
    memory = system.encode(SRC[:1].repeat(2, 1), LENGTHS[:1].repeat(2))
    state = system.start(memory) | {"step": torch.tensor([1, 5])}
    _, state, weights = system.step(memory, state, torch.tensor([7, 7]), with_weights=True)
    assert state["step"].tolist() == [2, 6]
    assert weights[:, 0, 0].gt(0).int().tolist() == [[1, 1, 1, 0, 0, 0, 0, 0], [0, 0, 0, 0, 1, 1, 1, 0]]


def test_local_p_loses_weight_to_the_bell_and_learns_through_it():
    system = make(window="local-p")
    _, weights = system.decode(system.encode(SRC, LENGTHS), TGT_IN, with_weights=True)
    total = weights.sum(dim=-1)
    assert not system.weights_sum_to_one
    assert total.gt(0).all() and total.lt(1).all()
    assert weights.gt(0).sum(dim=-1).le(5).all()  # 2 D + 1
    system(SRC, LENGTHS, TGT_IN).square().sum().backward()
    assert all(weight.grad.abs().sum() > 0 for weight in system.centres.parameters())


@pytest.mark.parametrize("sure", [-1e6, 1e6], ids=["before the first word", "behind the last"])
def test_local_p_at_the_very_ends_still_sees_a_word(sure):
    system = make(window="local-p", half_width=1, score="dot")
    with torch.no_grad():
        system.centres.v_p.weight.copy_(sure * system.centres.v_p.weight.sign())
        _, weights = system.decode(system.encode(SRC, LENGTHS), TGT_IN, with_weights=True)
    assert weights.isfinite().all() and weights.sum(dim=-1).gt(0).all()


def test_location_does_not_look_at_the_words():
    system = make(score="location")
    memory = system.encode(SRC, LENGTHS)
    state = system.start(memory)
    seen, unseen = (
        system.step(rows, state, TGT_IN[:, 0], with_weights=True)[2]
        for rows in (memory, memory | {"states": memory["states"].flip(1)})
    )
    assert torch.equal(seen, unseen)
    assert system.score.weight.shape == (MAX_LEN, HIDDEN)


def test_concat_is_computed_as_additive_with_keys_made_once():
    system = make(score="concat")
    memory = system.encode(SRC, LENGTHS)
    top = torch.randn(2, 1, HIDDEN, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    weight = torch.cat([system.score.w_query, system.score.w_key], dim=1)
    torch.testing.assert_close(
        system.score.score_projected(top, memory["keys"]),
        concat(top, memory["states"], weight=weight, v=system.score.v),
    )


def test_the_source_is_read_as_it_stands():
    """Not reversed: the first word's state has heard of no other word."""
    system = make()
    changed = SRC.clone()
    changed[:, 1] = 14
    before, after = (system.encode(src, LENGTHS)["states"] for src in (SRC, changed))
    assert torch.equal(before[:, 0], after[:, 0]) and not torch.allclose(before[:, 1], after[:, 1])


def test_dropout_acts_before_the_vocabulary_but_not_on_what_is_fed():
    system = make(dropout=0.5, n_layers=1)
    memory, embedded = system.encode(SRC, LENGTHS), torch.ones(2, EMBED, dtype=torch.float64)
    (one, state, _), (other, _, _) = (system.advance(memory, system.start(memory), embedded) for _ in "ab")
    assert torch.equal(one, other) and torch.equal(one, state["fed"])
    assert not torch.equal(system.logits(one), system.logits(one))


@pytest.mark.filterwarnings("ignore:mkldnn_matmul failed")  # a processor without bfloat16 of its own
@pytest.mark.parametrize("window", WINDOWS)
def test_bfloat16_from_end_to_end(window):
    system = make(window=window)
    logits = system(SRC, LENGTHS, TGT_IN)
    halved = system.to(torch.bfloat16)
    rough, weights = halved.decode(halved.encode(SRC, LENGTHS), TGT_IN, with_weights=True)
    assert rough.dtype == weights.dtype == torch.bfloat16
    torch.testing.assert_close(rough.double(), logits, rtol=0, atol=0.05)


# ---- settings


@pytest.mark.parametrize("setting", ["score", "window"])
def test_an_unknown_choice(setting):
    with pytest.raises(ValueError, match=rf"Expected {setting} to be one of (dot|global), .*got 'cosine'"):
        LuongConfig(vocab_size=20, embed=4, hidden=6, **{setting: "cosine"})


def test_a_window_of_nothing():
    with pytest.raises(ValueError, match="half_width of at least 1, but got 0"):
        LuongConfig(vocab_size=20, embed=4, hidden=6, half_width=0)
