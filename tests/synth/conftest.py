"""Fixtures for what works on mapped netlists."""

from __future__ import annotations

import pytest

from tests.synth import library
from warpbank.synth import pdk
from warpbank.synth.flow import Tools


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Tools:
    """The library of our own, with cells of two sizes."""
    folder = tmp_path_factory.mktemp("library")
    path = folder / "sizes.lib"
    path.write_text(library.text(sizes=True))
    return pdk.load([path], folder)
