"""PNG bytes: both encoders keep every pixel, and equal pixels give equal bytes."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from course_lib.views import encode


@pytest.fixture
def pixels() -> np.ndarray:
    noise = np.random.default_rng(0).integers(0, 256, (37, 53, 4), dtype=np.uint8)
    noise[5:20, 10:40] = (252, 251, 247, 255)
    noise[..., 3] = 255
    return noise


@pytest.mark.parametrize("encoder", [encode.quick, encode.small])
def test_every_pixel_survives(encoder, pixels):
    image = Image.open(io.BytesIO(encoder(pixels)))
    image.verify()  # every chunk's checksum
    decoded = np.asarray(Image.open(io.BytesIO(encoder(pixels))).convert("RGB"))
    assert np.array_equal(decoded, pixels[..., :3])


@pytest.mark.parametrize("encoder", [encode.quick, encode.small])
def test_bytes_are_reproducible_and_carry_no_marks(encoder, pixels):
    assert encoder(pixels) == encoder(pixels.copy())
    assert Image.open(io.BytesIO(encoder(pixels))).info == {}


def test_small_is_smaller_on_a_chart():
    chart = np.full((200, 300, 4), 255, dtype=np.uint8)
    chart[50:150, ::7, :3] = 90
    assert len(encode.small(chart)) < len(encode.quick(chart))
