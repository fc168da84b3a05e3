"""Covers of the proofs: every interesting state is reached in the harness, under the assumptions of its
proof, so that no proof speaks of nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Cat, Const, Value, ValueLike

from tests.formal import (
    test_allocation,
    test_arbiter,
    test_boc,
    test_ccu,
    test_codec,
    test_issue_stage,
    test_ltrf,
    test_ocu,
    test_operand_lookup,
    test_release,
    test_renamed_ltrf,
    test_renaming,
    test_scoreboard,
    test_tags,
    test_two_level,
)
from tests.formal.prove import unreached

pytestmark = pytest.mark.timeout(3600)

States = Mapping[str, ValueLike]


def some(values: Any) -> Value:
    """One of them is true."""
    return reduce(or_, values, Const(0, 1))


def taken(ports: Any) -> Value:
    """Something goes through one of these streams."""
    return some(port.valid & port.ready for port in ports)


def arbiter(h: Any) -> States:
    unit = h.arbiter
    return {
        "request_two_of_a_bank": unit.request.valid
        & (unit.request.slots[:2] == 3)
        & (unit.request.banks[0] == unit.request.banks[1]),
        "grant": unit.grant[0].valid,
        "grant_two": unit.read[0].valid & unit.read[1].valid,
        "write_beside_a_grant": unit.written.any() & unit.grant[1].valid,
    }


def ocu(h: Any) -> States:
    unit = h.unit
    return {
        "issue": unit.issue.valid & (unit.issue.payload.uop.source_valid.any()),
        "issue_without_sources": unit.issue.valid & ~unit.issue.payload.uop.source_valid.any(),
        "deliver": unit.deliver[0].valid & unit.deliver[1].valid,
        "dispatch": taken(unit.dispatch),
        "dispatch_two": taken(unit.dispatch[:1]) & taken(unit.dispatch[1:]),
        "dispatch_as_another_issues": taken(unit.dispatch) & unit.issue.valid,
        "all_taken": unit.may_issue == 0,
    }


def boc(h: Any) -> States:
    unit = h.unit
    inserter, state = unit._inserters[0], unit._state[0]
    inserted = unit._chosen[0] & inserter.fits
    return {
        "issue": h.issue,
        "forward": inserted & inserter.found.any(),
        "forward_and_read": inserted & inserter.found.any() & inserter.read.any(),
        "deliver": unit.deliver[0].valid,
        "dispatch": taken(unit.dispatch),
        "overtake": h.passes,
        "keep_a_result": some(keep.valid for keep in unit.keep),
        "evict": taken(unit.evicted),
        "wait_for_entries": unit._waits.any(),
        "squeeze": unit._chosen[0] & inserter.squeezed.any(),
        "squeeze_a_dirty_value": unit._chosen[0] & (inserter.squeezed & state.dirty).any(),
        "dirty_value_of_no_use": (state.valid & state.dirty & ~state.keep & state.passed).any(),
        "start": unit.start.any() & state.valid.any(),
    }


def boc_write_through(h: Any) -> States:
    states = dict(boc(h))
    for name in ("evict", "squeeze_a_dirty_value", "dirty_value_of_no_use"):
        del states[name]
    return states


def ccu(h: Any) -> States:
    unit, held = h.unit, h.unit.units[0]
    table = held.table
    wanted = unit.issue.payload.uop.source_valid
    return {
        "issue": h.issue,
        "forward": h.issue & wanted.any() & ~unit.read.payload.source_valid.any(),
        "deliver": unit.deliver[0].valid,
        "dispatch": taken(unit.dispatch),
        "keep_a_result": some(keep.valid for keep in unit.keep),
        "a_result_joins_a_line": held.joins.any(),
        "a_result_takes_a_line": held.takes,
        "a_result_waits_for_operands": held.seeks & held.awaits.any(),
        "locked": table.locked.any(),
        "near": (table.valid & table.near).any(),
        "unit_changes_hands": h.issue & held.owned & (unit.entry == 0) & (held.owner != h.issuer),
        "start": (unit.start & unit.holds).any(),
    }


def ccu_lru(h: Any) -> States:
    unit, held = h.unit, h.unit.units[0]
    table = held.table
    replaces = (held.victim & table.valid).any()
    return {
        "replace_for_a_source": unit.deliver[0].valid & replaces,
        "replace_for_a_result": held.takes & replaces,
        "values_move_on": some(each.left for each in unit.units) & table.valid.any(),
    }


def wide(h: Any) -> States:
    """Results of one uop in several registers."""
    flying = h.flying[0]
    return {
        "issue": h.issue & (h.count == h.results),
        "all_on_their_way": sum(flying) == h.results,
        "one_kept_while_others_are_to_come": some(keep.valid for keep in h.unit.keep)
        & (sum(flying) == h.results),
        "the_last_one": (sum(flying) == 1) & h.taken.any(),
    }


def ltrf(h: Any) -> States:
    blocks = h.blocks
    sets_off = blocks.setting[0].valid & blocks.setting[0].goes
    return {
        "start": h.start.any(),
        "activate": h.activate,
        "prefetch": h.prefetch & h.working.any(),
        "fetch": sets_off & ~blocks.leaves,
        "issue_and_write": h.issue & h.write.any(),
        "read": h.issue & h.reads.any(),
        "store": sets_off & blocks.leaves,
        "deactivate": h.deactivate.any() & ~h.ended.any(),
        "row_free": blocks.freed,
        "result_in_the_cache": h.unit._to_cache[0] & h.unit.result[0].ready,
        "result_of_a_register_that_sets_off": h.unit._to_cache[0] & h.unit._spoiled[0],
    }


def drains(h: Any) -> States:
    """All that has to be waited for in the engine, and its end."""
    links = h.links
    first, second = (link.comes | link.leaves for link in links[:2])
    return {
        "falls": h.nothing_new & h.rank.any(),
        "drained": h.nothing_new & (h.rank == 0) & h.before.any(),
        "two_links_for_one_port": (first & second).any(),
        "store_before_a_fetch": some(
            link._busy & link._crossing.out & link._valid[0] & ~link._heads[0].out for link in links
        ),
        "row_waits_for_its_turn": (h.blocks._leaving & Cat(h.held)).any() & h.blocks.setting[0].valid,
    }


def renamed_ltrf(h: Any) -> States:
    links = h.top.engine.links
    moving = some(link._valid[0] for link in links)
    released = some(port.valid for port in h.unit.release.released)
    return {
        "moves": moving,
        "leaves": some(link._busy & link._crossing.out for link in links),
        "comes": some(link._full for link in links),
        "release": released,
        "release_as_another_moves": released & moving,
    }


def codec(h: Any) -> States:
    one = h.one
    active = one.active
    return {
        **{f"compress_{code:04b}": (one.enc[0] == code) & active.any() for code in (0, 8, 12, 14, 15)},
        "scalar": one.full & active.all(),
        "divergent": active.any() & ~active.all(),
        "decompress": one.enc[0].any() & h.decompressor.enable,
    }


def bdi_codec(h: Any) -> States:
    return {"compress": h.compressor.enable, "decompress": h.decompressor.value.any()}


def renaming(h: Any) -> States:
    unit = h.unit
    issues = unit.issue.valid
    released = some(port.valid for port in unit.release.released)
    return {
        "launch_with_exempt_registers": unit.launch & unit.start.exempt.any(),
        "rename": issues & (unit.issue.payload.uop.count != 0),
        "read_for_the_last_time": issues & unit.issue.payload.uop.dead.any(),
        "release": released,
        "release_two": unit.release.released[0].valid & unit.release.released[1].valid,
        "warp_lacks_a_register": unit.lacking.any(),
        "warp_waits_for_a_choice": (unit.choosing & ~unit.lacking).any(),
        "exchange": (unit.availability._given_up & unit.availability._stays).any(),
        "exchange_of_one_that_is_taken": (unit.availability._given_up & ~unit.availability._stays).any(),
        "warp_ends": unit.end.any(),
    }


def release(h: Any) -> States:
    unit = h.unit
    return {
        "pir": unit.issue.valid & unit.issue.payload.uop.dead.any(),
        "pbr": unit.mark.valid & unit.mark.registers.any(),
        "release": unit.released[0].valid,
        "release_two": unit.released[0].valid & unit.released[1].valid,
        "still_read": some(dying.any() for dying in unit.dying) & unit._collecting[0][0].any(),
        "warp_ends_with_registers": unit.ended.any(),
    }


def lookup(h: Any) -> States:
    unit = h.unit
    return {
        "ask": unit.read.valid & unit.read.payload.source_valid.any(),
        "named": unit.named.valid,
        "named_at_once": unit.named.valid & unit.read.valid,
        "two_in_a_cycle": unit.looked_up >= 2,
        "exempt": unit.named.valid & ~unit.named.mapped[0] & unit.named.slots[0],
    }


def scoreboard(h: Any) -> States:
    unit = h.unit
    return {
        "issue": unit.issue.valid & (unit.issue.payload.uop.count != 0),
        "blocked": unit.blocked.any(),
        "free": ~unit.blocked[0],
        "operands_read": some(port.slots.any() for port in unit.read),
        "written": some(port.valid for port in unit.written),
        "retired": some(port.valid for port in unit.retired),
        "quiet": unit.quiet.all(),
        "not_quiet": ~unit.quiet.all(),
    }


def tags(h: Any) -> States:
    unit = h.unit
    return {
        "enter": unit.entered.any() & (unit.entered & unit.unused).any(),
        "renew": (unit.entered & unit.valid).any(),
        "hit": unit.matched.any(),
        "last_read": unit.matched.any() & (unit.last & unit.source_valid).any(),
        "evict": unit.drop & unit.live,
        "drop_a_dead_value": unit.drop & ~unit.live,
        "full": unit.valid.all(),
        "clear": unit.clear & unit.valid.any(),
    }


def two_levels(h: Any) -> States:
    scheduler = h.scheduler
    return {
        "activate": scheduler.activated.any(),
        "deactivate": scheduler.deactivated.any(),
        "full": sum(scheduler.active) == test_two_level.PLACES,
        "pick": (scheduler.eligible & scheduler.active).any(),
        "away_and_back": scheduler.activated.any() & scheduler.away.any(),
    }


def allocation(h: Any) -> States:
    unit = h.unit
    return {
        "allocate": unit.allocate,
        "release": unit.release,
        "both": unit.allocate & unit.release,
        "none_left": ~unit.available,
        "released_when_full": ~unit.available & unit.release,
    }


def issue_stage(h: Any) -> States:
    stage, issues = h.stage, h.stage.issued.any()
    return {
        "one_behind_another": issues & h.last.any(),
        "lost_turn": stage.turn & ~issues & h.last.any(),
        "beside_a_hazard": issues & h.board.blocked.any(),
        "alone": issues & (stage.ready == stage.issued),
    }


CASES: list[Any] = [
    pytest.param(test_allocation.Harness, allocation, 6, id="allocation"),
    pytest.param(test_arbiter.Harness, arbiter, 5, id="arbiter"),
    pytest.param(test_ocu.Harness, ocu, 6, id="ocu"),
    pytest.param(lambda: test_boc.harness(inductive=False), boc, 8, id="boc"),
    pytest.param(
        lambda: test_boc.harness(write_through=True, inductive=False),
        boc_write_through,
        8,
        id="boc_write_through",
        marks=pytest.mark.long,
    ),
    pytest.param(lambda: test_ccu.harness(inductive=False), ccu, 8, id="ccu", marks=pytest.mark.long),
    pytest.param(
        lambda: test_ccu.harness(
            test_ccu.LeastRecentlyUsed, test_ccu.AnyUnit, warps=1, lines=2, inductive=False
        ),
        ccu_lru,
        9,
        id="ccu_lru",
        marks=pytest.mark.long,
    ),
    pytest.param(
        lambda: test_ccu.harness(results=4, inductive=False), wide, 8, id="ccu_wide", marks=pytest.mark.long
    ),
    pytest.param(
        lambda: test_boc.harness(slots=1, results=2, inductive=False),
        wide,
        8,
        id="boc_wide",
        marks=pytest.mark.long,
    ),
    pytest.param(lambda: test_ltrf.Harness(inductive=False), ltrf, 18, id="ltrf", marks=pytest.mark.long),
    pytest.param(
        lambda: test_ltrf.Drains(inductive=False), drains, 16, id="ltrf_drains", marks=pytest.mark.long
    ),
    pytest.param(test_renamed_ltrf.Below, renamed_ltrf, 16, id="renamed_ltrf", marks=pytest.mark.long),
    *(
        pytest.param(
            lambda policy=policy: test_tags.Harness(test_tags.TagRow(test_tags.machine(policy)), False),
            tags,
            6,
            id=f"tags_{policy}",
        )
        for policy in ("fifo", "lru")
    ),
    pytest.param(lambda: test_codec.RoundTrip(1), codec, 4, id="compressor"),
    pytest.param(test_codec.BdiRoundTrip, bdi_codec, 4, id="bdi"),
    pytest.param(
        lambda: test_renaming.Harness(inductive=False), renaming, 20, id="renaming", marks=pytest.mark.long
    ),
    pytest.param(lambda: test_release.Harness(inductive=False), release, 8, id="release"),
    pytest.param(test_operand_lookup.Harness, lookup, 4, id="operand_lookup"),
    pytest.param(lambda: test_scoreboard.Harness(True), scoreboard, 4, id="scoreboard_writes"),
    pytest.param(lambda: test_scoreboard.Harness(False), scoreboard, 4, id="scoreboard_reads"),
    pytest.param(test_two_level.Harness, two_levels, 6, id="two_level"),
    pytest.param(test_issue_stage.Harness, issue_stage, 6, id="issue_stage"),
]


@pytest.mark.quick(
    "boc", "compressor", "ocu", "scoreboard*", "tags*", "arbiter", "bdi", "two_level", "issue_stage"
)
@pytest.mark.parametrize(("harness", "states", "depth"), CASES)
def test_states_are_reached(
    harness: Callable[[], Any], states: Callable[[Any], States], depth: int, tmp_path: Path
) -> None:
    assert unreached(harness(), states, depth, tmp_path) == []


def test_what_cannot_be_is_named(tmp_path: Path) -> None:
    """A bank is granted to two collectors in one cycle: never."""

    def states(h: Any) -> States:
        grants = h.arbiter.grant
        both = Cat(grant.valid for grant in grants[:2]).all()
        return {"grant": grants[0].valid, "one_bank_twice": both & (grants[0].bank == grants[1].bank)}

    assert unreached(test_arbiter.Harness(), states, 5, tmp_path) == ["one_bank_twice"]
