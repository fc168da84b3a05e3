"""What a release flag cache is asked for: instructions by the pir that covers them."""

from __future__ import annotations

from types import SimpleNamespace

from warpbank.arch.uop import Control
from warpbank.program.release.fetch import covers
from warpbank.program.release.words import FlagWord


def test_instructions_that_a_pir_covers() -> None:
    words = [
        FlagWord(Control.PBR, 0, 0, 0, registers=1),
        FlagWord(Control.PIR, 0, 3, 0),
        FlagWord(Control.PIR, 5, 2, 0),
    ]
    trace = SimpleNamespace(flag_words=dict(enumerate(words, 40)))
    assert covers(trace) == {0: 0, 1: 0, 2: 0, 5: 5, 6: 5}
    assert covers(SimpleNamespace(flag_words={40: FlagWord(Control.PBR, 1, 4, 0)})) == {}
