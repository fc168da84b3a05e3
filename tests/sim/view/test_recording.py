"""Recordings of the machine: what they hold is what the model had, under every scheme; the ways of events
name places that there are."""

from __future__ import annotations

import base64
from collections import defaultdict

import numpy as np
import pytest

from warpbank.arch.config import preset
from warpbank.arch.events import EVENTS
from warpbank.arch.schemes import SCHEMES, parse_scheme
from warpbank.program.errors import WarpbankError
from warpbank.program.random_programs.operations import divergent_op, random_trace
from warpbank.sim import experiment as exp
from warpbank.sim.events import decode
from warpbank.sim.view.machine import data, encoded
from warpbank.sim.view.recording import Recording, record, record_trace
from warpbank.sim.view.timeline import Uop
from warpbank.sim.view.ways import PLACES, WAYS, places

#: What a way may name besides the places of fields.
OTHERS = {"", "kept", "home", "executes", "table", "stream", "lsu", "scheduler", "cache"}


def recorded(scheme: str, kernel: str = "reduction", end: int = 700) -> Recording:
    experiment = exp.find(kernel, "tiny", None, "tiny", None, scheme, [], None, 1 << 40)
    return record(experiment, 0, end)


def _uop(recording: Recording, cycle: int, core: int, event: dict[str, int]) -> Uop:
    """The uop of an event; a warp's slot is given to others, so that it was not over then."""
    return next(
        uop
        for uop in recording.timeline.uops
        if (uop.core, uop.warp, uop.seq) == (core, event["warp"], event["seq"])
        and (uop.retired is None or uop.retired >= cycle)
        and (uop.issued is not None and uop.issued <= cycle)
    )


@pytest.mark.parametrize("scheme", [*SCHEMES, "bow-wr+renaming", "ltrf+malekeh+gscalar"])
def test_every_operand_came_from_somewhere_in_time(scheme: str) -> None:
    """What a uop reads is granted, delivered and dispatched in that order, each slot once, and its recorded
    values are as many as its sources."""
    recording = recorded(scheme)
    seen = 0
    for uop in recording.timeline.uops:
        if uop.dispatched is None:
            continue
        assert set(uop.reads) == set(range(len(uop.sources))), (uop, uop.reads)
        operands = recording.cores[uop.core].operands[uop.warp, uop.seq, uop.dispatched]
        assert len(operands) == len(uop.sources)
        assert min(operands, default=0) >= 0
        for read in uop.reads.values():
            seen += 1
            if read.source == "collector":
                assert read.granted is not None
                assert read.granted <= uop.dispatched
            else:
                assert read.delivered is not None
                assert uop.issued is not None
                assert uop.issued < (read.delivered if read.granted is None else read.granted + 1)
                assert read.granted is None or read.granted < read.delivered
                assert read.delivered < uop.dispatched
    assert seen > 50


@pytest.mark.parametrize("scheme", ["bow", "bow-wb", "bow-wr", "malekeh", "malekeh-pr", "ccu-lru-own"])
def test_what_is_forwarded_stands_on_a_shelf(scheme: str) -> None:
    """Every source that an event `forward` names is kept in that collector in the cycle after, with the value
    that the uop is given."""
    recording = recorded(scheme, "hotspot")
    fields = [field for field, _ in EVENTS["forward"].fields]
    seen = 0
    for cycle, core, name, values in decode(recording.records):
        if name != "forward" or cycle + 1 >= recording.timeline.end:
            continue
        event = dict(zip(fields, values, strict=True))
        uop = _uop(recording, cycle, core, event)
        versions = recording.cores[core].kept["collector", event["collector"]]
        cells = [cells for first, cells in versions if first <= cycle + 1][-1]
        kept = {register: value for warp, register, value, _ in cells if warp == uop.warp}
        for slot, register in enumerate(uop.sources):
            if event["slots"] >> slot & 1:
                assert register in kept, (cycle, uop, register)
                seen += 1
                if uop.dispatched is not None and kept[register] >= 0:
                    operands = recording.cores[core].operands[uop.warp, uop.seq, uop.dispatched]
                    assert operands[slot] == kept[register]
    assert seen > 20


def test_banks_hold_the_results_that_are_written() -> None:
    """After a whole result is written its row holds the value that the recording has for the uop."""
    recording = recorded("baseline")
    fields = [field for field, _ in EVENTS["write"].fields]
    every = recording.config.lane_mask
    rows: dict[tuple[int, int, int], list[tuple[int, int, str]]] = defaultdict(list)
    for number, core in enumerate(recording.cores):
        for (bank, row), versions in core.rows.items():
            rows[number, bank, row] = versions
    seen = 0
    for cycle, core_number, name, values in decode(recording.records):
        if name != "write" or cycle + 1 >= recording.timeline.end:
            continue
        event = dict(zip(fields, values, strict=True))
        uop = _uop(recording, cycle, core_number, event)
        assert uop.issued is not None
        _, results = recording.cores[core_number].results[uop.warp, uop.seq, uop.issued]
        version = [each for each in rows[core_number, event["bank"], event["row"]] if each[0] <= cycle + 1]
        homes = [homes for first, homes in recording.cores[core_number].homes if first <= cycle + 1][-1]
        owned = any(home[2:] == (event["bank"], event["row"]) for home in homes)  # else its warp has ended
        if event["mask"] == every and owned:
            assert version[-1][1] == results[event["register"] - uop.destinations.start]
            seen += 1
    assert seen > 100


def test_divergent_warps_and_a_window_in_the_middle() -> None:
    """A recording of the middle of a run begins with what the units hold then."""
    trace = random_trace(5, make=divergent_op, length=60)
    config, scheme = preset("tiny"), parse_scheme("gscalar")
    recording = record_trace(trace, config, scheme, 60, 160)
    assert recording.timeline.start == 60
    assert {int(row["cycle"]) for row in recording.records} <= set(range(60, 160))
    core = recording.cores[0]
    assert core.homes[0][0] == 60
    assert any(note for versions in core.rows.values() for _, _, note in versions)


def test_too_many_cycles() -> None:
    trace = random_trace(1)
    with pytest.raises(WarpbankError, match="at most 2000 cycles"):
        record_trace(trace, preset("tiny"), parse_scheme("baseline"), 0, 2001)


@pytest.mark.parametrize("name", EVENTS)
def test_ways_name_places_of_the_event(name: str) -> None:
    """A way names places that the event's fields give, or that the page can find."""
    for place in WAYS.get(name, ()):
        kinds = {*places(name), *OTHERS, *(["slot"] if "slots" in dict(EVENTS[name].fields) else [])}
        assert place in kinds, (name, place)


def test_ways_are_of_events() -> None:
    assert set(WAYS) <= set(EVENTS)
    assert set(PLACES) == {"warp", "collector", "slot", "bank", "entry", "unit"}


@pytest.mark.parametrize(
    "value",
    [np.full(32, 7), np.arange(32) * 4 + 100, np.arange(32, dtype=np.uint32) ** 2, np.full(4, 0xDEADBEEF)],
)
def test_values_come_back(value: np.ndarray) -> None:
    packed = encoded(value.astype(np.uint32))
    if isinstance(packed, str):
        found = np.frombuffer(base64.b64decode(packed), "<u4")
    elif isinstance(packed, list):
        found = packed[0] + packed[1] * np.arange(len(value))
    else:
        found = np.full(len(value), packed)
    assert (found == value).all()


def test_the_page_has_every_uop_and_event() -> None:
    recording = recorded("renaming")
    content = data(recording)
    assert sum(len(core["uops"]) for core in content["cores"]) == len(recording.timeline.uops)
    own = int((recording.records["core"] >= 0).sum())
    scheduled = sum(1 for record in decode(recording.records) if record[2] == "scheduler")
    shared = len(recording.records) - own
    drawn = sum(len(core["records"]) for core in content["cores"])
    assert drawn == own - scheduled + shared * recording.timeline.cores
    assert any(
        shelf["room"] == "mapping" and len(shelf["versions"]) > 3 for shelf in content["cores"][0]["shelves"]
    )
