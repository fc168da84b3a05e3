"""Scheme strings: composition and refusal."""

from __future__ import annotations

import pytest

from warpbank.arch.config import preset, with_overrides
from warpbank.arch.errors import SchemeError
from warpbank.arch.schemes import Row, Scheme, parse_scheme, register_scheme, registry


@pytest.fixture
def rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two collectors, a mapping and a rule, which exist in these tests only."""
    monkeypatch.setattr(registry, "SCHEMES", dict(registry.SCHEMES))
    monkeypatch.setattr(registry, "RULES", [_rule])
    register_scheme(Row("cache-a", "", collector="a", scheduler="greedy"))
    register_scheme(Row("cache-b", "", collector="b"))
    register_scheme(Row("rename", "", mapping="table", scheduler="levels"))
    register_scheme(Row("zip", "", storage="zip"))


def _rule(scheme: Scheme) -> str:
    if scheme.mapping == "table" and scheme.storage == "zip":
        return "the table has no bit for zipped rows."
    return ""


def test_baseline() -> None:
    assert parse_scheme("baseline") == Scheme("baseline", "ocu", "flat", "direct", "plain", "gto")
    assert parse_scheme(" baseline ") == parse_scheme("baseline")


@pytest.mark.usefixtures("rows")
def test_rows_compose() -> None:
    assert parse_scheme("cache-a") == Scheme("cache-a", "a", "flat", "direct", "plain", "greedy")
    assert parse_scheme("cache-a+rename") == Scheme("cache-a+rename", "a", "flat", "table", "plain", "greedy")
    assert parse_scheme("rename+cache-a").scheduler == "levels"
    assert parse_scheme("baseline+zip") == parse_scheme("zip")


@pytest.mark.usefixtures("rows")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "cache-a+cache-b",
            r"cannot work: cache-a puts 'a' in the collector room and cache-b puts 'b' there",
        ),
        ("rename+zip", r"cannot work: the table has no bit for zipped rows\."),
        ("zip+zip", "names a row twice"),
        ("zip+", "one or more names joined by '\\+'"),
        ("cache-c", r"Unknown scheme \'cache-c\'\. Did you mean cache-[ab] or cache-[ab]\?"),
    ],
)
def test_refusals(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_scheme(text)


def test_unknown_lists_the_known() -> None:
    with pytest.raises(ValueError, match=r"Unknown scheme 'bows'\. .*Known: baseline, bow"):
        parse_scheme("bows")


@pytest.mark.parametrize("name", ["a+b", "", "Upper"])
def test_bad_names(name: str) -> None:
    with pytest.raises(ValueError, match="lower case without"):
        register_scheme(Row(name, ""))


def test_taken_name() -> None:
    with pytest.raises(ValueError, match="registered already"):
        register_scheme(Row("baseline", ""))


def test_lanes_that_cannot_be_halved() -> None:
    scheme = parse_scheme("gscalar-half")
    with pytest.raises(SchemeError, match=r"2 equal parts of a register, and a warp has 3 lanes: set"):
        scheme.machine(with_overrides(preset("tiny"), ["lanes=3"]))
    assert scheme.machine(with_overrides(preset("tiny"), ["lanes=6"])).lanes == 6
