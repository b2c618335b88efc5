"""The small corpus and the tiny systems of the training tests."""

from tests.training.conftest import data, encoded, make

__all__ = ["data", "encoded", "make"]
