"""Memory that a trace needs does not grow with its length."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bench.traces import apart, apart_over_time, synthetic
from tests.program.accelsim.writer import Line, traceg
from warpbank.arch.config import preset
from warpbank.arch.schemes import parse_scheme
from warpbank.golden.sm import simulate
from warpbank.golden.stream import CHUNK
from warpbank.program.accelsim import read_accelsim
from warpbank.program.errors import TraceError
from warpbank.program.trace import spool
from warpbank.program.trace.schema import Trace

#: Bytes of memory for each further instruction of a trace that is read, of one that runs, and of one that is
#: so short that chance counts. A row alone has 30 bytes.
READ, RUN, SHORT = 4, 8, 25
#: The bound where a pass puts instructions into the trace.
INSERTED = 15


def _same(one: Trace, other: Trace) -> None:
    for name in ("code", "launches", "warps", "dynamic", "lines"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name


@pytest.mark.long
def test_reading_does_not_grow() -> None:
    few, many = (apart(count, run=False, limit=1 << 16) for count in (20_000, 420_000))
    assert many[0] > few[0] + 390_000
    assert (many[3] - few[3]) / (many[0] - few[0]) < READ


@pytest.mark.long
def test_running_does_not_grow() -> None:
    """The file's pages are given back while the machine runs; warps have more instructions than are decoded
    at a time."""
    few, many = (apart(count, limit=1 << 16) for count in (10_000, 70_000))
    assert many[0] // 64 > CHUNK
    assert (many[3] - few[3]) / (many[0] - few[0]) < SHORT


@pytest.mark.long
def test_memory_is_flat_over_a_run() -> None:
    """What the process holds after the first tenth grows by less than the rows that it still has to read."""
    seen = apart_over_time(70_000, limit=1 << 16)
    assert len(seen) >= 10
    done = [count for count, _ in seen]
    assert done == sorted(done)
    assert done[-1] > 69_000
    assert (seen[-1][1] - seen[2][1]) / (done[-1] - done[2]) < SHORT


@pytest.mark.long
def test_a_growing_series() -> None:
    """Three lengths, ten times apart from end to end, with the limits that a user has."""
    found = [apart(count) for count in (300_000, 1_000_000, 3_000_000)]
    for before, after in ((0, 1), (1, 2)):
        more = found[after][0] - found[before][0]
        assert (found[after][3] - found[before][3]) / more < RUN


@pytest.mark.long
@pytest.mark.parametrize("scheme", ["ltrf", "renaming"])
def test_passes_that_insert_instructions_do_not_grow(scheme: str) -> None:
    """Reading and the passes, twice as long a trace each time; a copy of the rows would be 30 bytes each."""
    few, many = (apart(count, run=False, scheme=scheme) for count in (1_500_000, 3_000_000))
    assert (many[3] - few[3]) / (many[0] - few[0]) < INSERTED


def test_files_and_memory_hold_the_same(tmp_path: Path) -> None:
    """Three files, of which two spill, in whatever order warps stand, give one trace."""
    paths = [tmp_path / "kernel-1.traceg", tmp_path / "kernel-2.traceg"]
    paths[0].write_text("\n".join(synthetic(6000)) + "\n")
    line = Line(0, "LDG.E", (4,), (2,), addresses=tuple(range(0, 32 * 256, 256)))
    paths[1].write_text(traceg([[[line] * 40, []], [[line], [line] * 3]]))
    small, whole = read_accelsim(paths, limit=1 << 10), read_accelsim(paths)
    _same(small, whole)
    results = [
        simulate(trace, preset("tiny"), parse_scheme("bow"), check_operands=False).to_dict()
        for trace in (small, whole)
    ]
    assert results[0] == results[1]
    for array in (small.dynamic, small.lines, np.arange(3)):
        kept = array.copy()
        spool.let_go(array)
        assert np.array_equal(kept, array)


def test_chunks_are_seams_that_nobody_sees(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "kernel-1.traceg"
    path.write_text("\n".join(synthetic(3000)) + "\n")
    trace = read_accelsim([path])
    results = []
    for chunk in (1, 7, 1024):
        monkeypatch.setattr("warpbank.golden.stream.CHUNK", chunk)
        results.append(
            simulate(trace, preset("tiny"), parse_scheme("malekeh"), check_operands=False).to_dict()
        )
    assert results[0] == results[1] == results[2]


def test_a_full_disk_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tempfile.mkstemp", full)
    rows = spool.Spool(np.dtype("u8"), limit=8)
    with pytest.raises(TraceError, match=r"No space left on device.*WARPBANK_CACHE"):
        rows.append(bytes(16))
