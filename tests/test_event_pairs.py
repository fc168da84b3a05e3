"""Event-pair coverage: the tool finds the pairs of a directed trace, no rule is broken, and the page says
what the runs do. The whole search with

    pytest -m long tests/test_event_pairs.py
"""

from __future__ import annotations

from collections import defaultdict

import pytest

from tests import event_pair_rules, event_pairs
from tests.event_pair_rules import RULES, Rule
from tests.event_pairs import KINDS, PAGE, SMALL, cover, run
from tests.eviction_trace import eviction_trace
from warpbank.arch.config import preset
from warpbank.arch.schemes import parse_scheme
from warpbank.studies.combinations import combinations

LEGAL = [each.scheme for each in combinations() if each.legal]
#: A machine for each row of each room.
SAMPLE = (
    "baseline",
    "scalar-rf",
    "rfc",
    "sw-rfc",
    "bow+renaming+bdi",
    "bow-wr+gscalar-half",
    "malekeh+renaming",
    "ltrf+bow-wb+gscalar",
    "ltrf-plus+ccu-lru-gto+renaming",
    "ltrf-strand+renaming+gscalar",
)


def rows(heading: str) -> list[list[str]]:
    """The cells of a table of the page."""
    text = PAGE.read_text().partition(f"## {heading}\n")[2].partition("\n## ")[0]
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[1:]]


def test_the_directed_trace_of_an_eviction() -> None:
    """Its cases are a write of some lanes, a move, in the cycle of the eviction and in the next one."""
    found = cover(eviction_trace(), preset("tiny"), parse_scheme("bow-wb+gscalar"))
    assert found.same["part writer", "write back"] == 1
    assert found.same["move", "write back"] == 2
    assert found.next["write back", "move"] == 1
    assert found.next["write back", "part writer"] == 1
    assert not found.same["part writer", "move"]


def test_reads_are_those_of_the_uops() -> None:
    """Every operand that a bank serves arrives, and every operand of a uop is dispatched."""
    for scheme in SAMPLE:
        kinds = run(scheme, "divergent-3", SMALL).kinds
        assert kinds["bank read"] + kinds["cache read"] == kinds["arrival"] > 0
        assert kinds["dispatch"] == kinds["reader"] + kinds["last reader"] + kinds["move"]


@pytest.mark.parametrize("scheme", SAMPLE)
def test_no_run_breaks_a_rule(scheme: str) -> None:
    for program in ("divergent-4", "mixed-5"):
        assert run(scheme, program, SMALL).same


def test_mutant_a_rule_that_does_not_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = Rule("Nobody writes what is evicted.", ("part writer",), ("write back",))
    monkeypatch.setattr(event_pair_rules, "RULES", (*RULES, wrong))
    with pytest.raises(AssertionError, match="part writer and write back in one cycle under bow-wr"):
        run("bow-wr+gscalar-half", "divergent-3", SMALL)


def test_rules_name_kinds() -> None:
    for rule in RULES:
        assert set(rule.first) | set(rule.second) <= set(KINDS)
        assert rule.reason.endswith(".")
    assert all(any(rule.when(parse_scheme(scheme)) for scheme in LEGAL) for rule in RULES)


def test_what_the_page_says_is_reached() -> None:
    """A run that the page names for a pair reaches it: those of every fifth pair."""
    named: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
    for first, second, reached, by, *_ in rows("By pair")[::5]:
        if int(reached):
            scheme, _, program = by.removeprefix("`").partition("` ")
            named[scheme, program].append((first, second))
    assert named
    for (scheme, program), pairs in named.items():
        overrides = () if program.endswith(", 8 warps") else SMALL
        same = run(scheme, program.removesuffix(", 8 warps"), overrides).same
        assert all(same[pair] for pair in pairs), (scheme, program, pairs)


def test_the_page_is_about_all_combinations() -> None:
    assert sum(int(row[4]) for row in rows("By rooms")) == len(LEGAL)
    assert {kind for row in rows("By pair") for kind in row[:2]} == set(KINDS) - {"squeeze"}


@pytest.mark.long
def test_the_page_is_what_the_search_finds() -> None:
    assert event_pairs.page([event_pairs.search(scheme) for scheme in LEGAL]) == PAGE.read_text()
