"""The block and the stack against torch's own layers, and word by word against all at once."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from course_lib.layers.block import Block, KeysAndValues, Stack
from course_lib.layers.masks import padding_mask
from course_lib.layers.norms import LayerNorm
from course_lib.layers.positions import RotaryPositions
from course_lib.layers.rows import take

BATCH, SRC, TGT, D_MODEL, N_HEADS, D_FF, N_LAYERS = 3, 7, 5, 12, 3, 20, 2
LENGTHS = torch.tensor([7, 1, 4])


def words(length: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(BATCH, length, D_MODEL, generator=generator, dtype=torch.float64)


def hidden_right() -> torch.Tensor:
    return padding_mask(LENGTHS, SRC).unsqueeze(1)


def stack(*, crosses: bool, pre_norm: bool = True, n_kv_heads: int | None = None, dropout: float = 0.0):
    torch.manual_seed(0)
    blocks = [
        Block(
            d_model=D_MODEL,
            n_heads=N_HEADS,
            n_kv_heads=n_kv_heads,
            d_ff=D_FF,
            crosses=crosses,
            pre_norm=pre_norm,
            dropout=dropout,
        )
        for _ in range(N_LAYERS)
    ]
    return Stack(blocks, last_norm=LayerNorm(d_model=D_MODEL) if pre_norm else None).double()


def source(decoder: Stack) -> dict[str, torch.Tensor]:
    return {**decoder.read_source(words(SRC, seed=1)), "may_look": hidden_right()}


def copied(ours: Block, theirs: nn.Module) -> None:
    """Our weights into torch's encoder or decoder layer. Its attention biases are 0 when fresh."""
    pairs = [
        (ours.attention, theirs.self_attn),
        *([(ours.cross, theirs.multihead_attn)] if ours.crosses else []),
    ]
    paths = [ours.around_attention, *([ours.around_cross] if ours.crosses else []), ours.around_feed_forward]
    with torch.no_grad():
        for own, other in pairs:
            other.in_proj_weight.copy_(torch.cat([own.w_query, own.w_key, own.w_value]))
            other.out_proj.weight.copy_(own.w_output)
            assert other.in_proj_bias.eq(0).all() and other.out_proj.bias.eq(0).all()
    for number, path in enumerate(paths, start=1):
        nn.init.normal_(path.norm.weight)
        nn.init.normal_(path.norm.bias)
        getattr(theirs, f"norm{number}").load_state_dict(path.norm.state_dict())
    nn.init.normal_(ours.feed_forward.inner.bias)
    theirs.linear1.load_state_dict(ours.feed_forward.inner.state_dict())
    theirs.linear2.load_state_dict(ours.feed_forward.outer.state_dict())


SIZES = {
    "d_model": D_MODEL,
    "nhead": N_HEADS,
    "dim_feedforward": D_FF,
    "dropout": 0.0,
    "batch_first": True,
    "dtype": torch.float64,
}


@pytest.mark.parametrize("pre_norm", [True, False])
def test_a_block_equals_torchs_encoder_layer(pre_norm):
    ours = stack(crosses=False, pre_norm=pre_norm).blocks[0]
    theirs = nn.TransformerEncoderLayer(norm_first=pre_norm, **SIZES)
    copied(ours, theirs)
    x, _, _ = ours(words(SRC), may_look=hidden_right())
    expected = theirs(words(SRC), src_key_padding_mask=~hidden_right()[:, 0, 0])
    torch.testing.assert_close(x, expected)


@pytest.mark.parametrize("pre_norm", [True, False])
def test_a_crossing_block_equals_torchs_decoder_layer(pre_norm):
    ours = stack(crosses=True, pre_norm=pre_norm).blocks[0]
    theirs = nn.TransformerDecoderLayer(norm_first=pre_norm, **SIZES)
    copied(ours, theirs)
    memory = words(SRC, seed=1)
    x, _, _ = ours(
        words(TGT),
        causal=True,
        source=KeysAndValues(*ours.cross.project_source(memory)),
        source_may_look=hidden_right(),
    )
    ahead = torch.ones(TGT, TGT, dtype=torch.bool).triu(1)
    expected = theirs(words(TGT), memory, tgt_mask=ahead, memory_key_padding_mask=~hidden_right()[:, 0, 0])
    torch.testing.assert_close(x, expected)


@pytest.mark.parametrize("crosses", [False, True])
@pytest.mark.parametrize("rotary", [False, True])
def test_word_by_word_equals_all_at_once(crosses, rotary):
    decoder = stack(crosses=crosses, n_kv_heads=1)
    memory = source(decoder) if crosses else None
    positions = RotaryPositions(max_len=TGT, head_dim=D_MODEL // N_HEADS).double() if rotary else None

    def turn_from(first):
        return (lambda features: positions.turn(features, first=first)) if rotary else None

    expected, no_past, looked = decoder(
        words(TGT), turn=turn_from(0), causal=True, source=memory, with_weights=True
    )
    assert no_past == {} and set(looked) == ({"own", "cross"} if crosses else {"own"})
    empty = torch.zeros(BATCH, N_LAYERS, 1, 0, D_MODEL // N_HEADS, dtype=torch.float64)
    past = {"keys": empty, "values": empty}
    for at in range(TGT):
        now = words(TGT)[:, at : at + 1]
        x, past, weights = decoder(now, turn=turn_from(at), past=past, source=memory, with_weights=True)
        torch.testing.assert_close(x[:, 0], expected[:, at])
        torch.testing.assert_close(weights["own"][..., 0, :], looked["own"][..., at, : at + 1])
        assert past["keys"].shape == (BATCH, N_LAYERS, 1, at + 1, D_MODEL // N_HEADS)


@pytest.mark.parametrize("with_weights", [False, True])
def test_several_new_words_after_a_past_do_not_see_one_another_ahead(with_weights):
    """Two words, then three: as if all five had come at once."""
    decoder = stack(crosses=False, n_kv_heads=1)
    expected, _, _ = decoder(words(TGT), causal=True)
    empty = torch.zeros(BATCH, N_LAYERS, 1, 0, D_MODEL // N_HEADS, dtype=torch.float64)
    past = {"keys": empty, "values": empty}
    first, past, _ = decoder(words(TGT)[:, :2], past=past, with_weights=with_weights)
    then, past, _ = decoder(words(TGT)[:, 2:], past=past, with_weights=with_weights)
    torch.testing.assert_close(torch.cat([first, then], dim=1), expected)
    for beside in ({"causal": True}, {"may_look": hidden_right()}):
        with pytest.raises(ValueError, match="neither causal nor may_look beside a past"):
            decoder(words(1), past=past, **beside)


def test_with_rotary_positions_only_offsets_count():
    """The whole sentence moved along changes nothing. It would, were queries turned and keys not."""
    encoder, positions = (
        stack(crosses=False),
        RotaryPositions(max_len=20, head_dim=D_MODEL // N_HEADS).double(),
    )
    here, further, nowhere = (
        encoder(words(SRC), turn=turn, may_look=hidden_right())[0]
        for turn in (positions.turn, lambda features: positions.turn(features, first=9), None)
    )
    torch.testing.assert_close(here, further, atol=1e-5, rtol=0)  # the tables were made in float32
    assert (here - nowhere).abs().max() > 0.01


def test_the_past_can_be_reordered():
    """As beam search does: rows taken from the past are the rows of those sentences."""
    decoder, which = stack(crosses=False), torch.tensor([2, 2, 0])
    empty = torch.zeros(BATCH, N_LAYERS, N_HEADS, 0, D_MODEL // N_HEADS, dtype=torch.float64)
    _, past, _ = decoder(words(2)[:, :1], past={"keys": empty, "values": empty})
    straight, _, _ = decoder(words(2)[:, 1:], past=past)
    taken, _, _ = decoder(words(2)[which, 1:], past=take(past, which))
    torch.testing.assert_close(taken, straight[which])


def test_each_layer_has_its_own_matrices_for_the_source():
    keys = source(stack(crosses=True))["keys"]
    assert keys.shape == (BATCH, N_LAYERS, N_HEADS, SRC, D_MODEL // N_HEADS)
    assert not torch.allclose(keys[:, 0], keys[:, 1])


@pytest.mark.parametrize("pre_norm", [True, False])
def test_weights_asked_for_or_not_the_words_come_out_the_same(pre_norm):
    decoder = stack(crosses=True, pre_norm=pre_norm)
    plain, _, nothing = decoder(words(TGT), causal=True, source=source(decoder))
    shown, _, _ = decoder(words(TGT), causal=True, source=source(decoder), with_weights=True)
    torch.testing.assert_close(plain, shown)
    assert nothing == {}


def test_dropout_only_in_training():
    torch.manual_seed(0)
    block = stack(crosses=False, dropout=0.5)
    assert not torch.equal(block(words(TGT))[0], block(words(TGT))[0])
    block.eval()
    assert torch.equal(block(words(TGT))[0], block(words(TGT))[0])
