"""`warpbank reproduce`: what cannot be meant. Figures and files: tests/studies/test_reproduce.py."""

from __future__ import annotations

import pytest

from tests.cli.command import warpbank


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("bwo",), "Unknown paper 'bwo'. Did you mean bow"),
        (("bow", "--kernel", "vectorad"), "Unknown kernel 'vectorad'. Did you mean vectoradd"),
        (("bow", "--figure", "fig99"), "Unknown figure of bow 'fig99'"),
        (("all", "--figure", "fig4"), "name the paper instead of all"),
    ],
)
def test_mistakes(arguments: tuple[str, ...], message: str) -> None:
    done = warpbank("reproduce", *arguments)
    assert done.code == 2
    assert message in done.err
    assert done.out == ""
