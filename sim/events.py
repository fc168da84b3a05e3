"""Event batches: the records of `warpbank.arch.events` as rows of an array, in batches of whole cycles.

An engine that is asked for events gives them so: every batch holds all events of its cycles, and the batches
follow each other without a gap. Within a cycle the order of records means nothing; `ordered` makes it one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from warpbank.arch.counters import COUNTERS
from warpbank.arch.events import EVENTS, Record

#: Most fields of an event.
WIDTH = max(len(event.fields) for event in EVENTS.values())
#: Event names by number, and back.
NAMES = list(EVENTS)
IDS = {name: number for number, name in enumerate(NAMES)}
#: One event. `core`: -1 for what the sub-cores share. Values in registry order; those the event does not have
#: are 0.
RECORD = np.dtype(
    [("cycle", "<u8"), ("core", "<i2"), ("event", "<u2"), ("spare", "<u4"), ("values", "<u8", (WIDTH,))]
)


@dataclass(frozen=True)
class Batch:
    """Batch of all events of the cycles from `start` up to, not including, `end`."""

    start: int
    end: int
    records: np.ndarray


#: Receives the batches of a run, in order.
BatchSink = Callable[[Batch], None]


def encode(records: list[Record]) -> np.ndarray:
    """Records of `warpbank.arch.events` as rows."""
    rows = np.zeros(len(records), RECORD)
    by_name: dict[str, list[int]] = {}
    for place, record in enumerate(records):
        by_name.setdefault(record[2], []).append(place)
    if records:
        rows["cycle"] = [record[0] for record in records]
        rows["core"] = [record[1] for record in records]
    for name, places in by_name.items():
        rows["event"][places] = IDS[name]
        width = len(EVENTS[name].fields)
        rows["values"][places, :width] = np.array([records[place][3] for place in places], np.uint64).reshape(
            -1, width
        )
    return rows


def decode(rows: np.ndarray) -> Iterator[Record]:
    """Rows as records of `warpbank.arch.events`."""
    for row in rows.tolist():
        cycle, core, event, _, values = row
        name = NAMES[event]
        yield cycle, core, name, tuple(int(value) for value in values[: len(EVENTS[name].fields)])


_MIX = np.uint64(0x9E3779B97F4A7C15)


def _digest(rows: np.ndarray) -> np.ndarray:
    """A number for every row's core, event and values, which is the same for equal rows."""
    digest = (rows["core"].astype(np.uint64) << np.uint64(16)) ^ rows["event"].astype(np.uint64)
    for place in range(WIDTH):
        digest = (digest ^ rows["values"][:, place]) * _MIX
        digest ^= digest >> np.uint64(29)
    return digest


def ordered(rows: np.ndarray) -> np.ndarray:
    """Rows by cycle and, within a cycle, in an order that depends on the rows alone."""
    if not len(rows):
        return rows
    cycles = rows["cycle"] - rows["cycle"].min()
    bits = int(cycles.max()).bit_length()
    keys = (cycles << np.uint64(64 - bits)) | (_digest(rows) >> np.uint64(bits)) if bits else _digest(rows)
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    rows = rows[order]
    twins = np.flatnonzero(keys[1:] == keys[:-1])
    if len(twins) and (_words(rows[twins]) != _words(rows[twins + 1])).any():  # one number for different rows
        columns = [rows["values"][:, place] for place in range(WIDTH)]
        rows = rows[np.lexsort((*columns, rows["event"], rows["core"], rows["cycle"]))]
    return rows


def _words(rows: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(rows).view("<u8").reshape(len(rows), -1)


def same(left: np.ndarray, right: np.ndarray) -> bool:
    """Whether two batches hold equal events of equal cycles, in whatever order within a cycle."""
    return len(left) == len(right) and bool((_words(ordered(left)) == _words(ordered(right))).all())


def pretty_order(rows: np.ndarray) -> np.ndarray:
    """Rows in the order for a reader: by cycle, sub-core, event and values."""
    columns = [rows["values"][:, place] for place in reversed(range(WIDTH))]
    return rows[np.lexsort((*columns, rows["event"], rows["core"], rows["cycle"]))]


#: Events that a unit may report before their cycle has come.
_EARLY = "l2_access"


class Batcher:
    """Sink for single events in the order of cycles that gives them on in batches.

    `l2_access` may come before its cycle, since the golden memory knows every time when a request arrives; it
    is kept. Those that the run does not live to see are in the last batch.

    Parameters
    ----------
    sink : receives the batches.
    length : cycles of a batch.
    """

    def __init__(self, sink: BatchSink, length: int = 2000) -> None:
        self._sink = sink
        self._length = length
        self._start = 0
        self._end = length
        self._records: list[Record] = []

    def __call__(self, record: Record) -> None:
        """Take one event."""
        if record[0] >= self._end and record[2] != _EARLY:
            self._flush(self._end)
        self._records.append(record)

    def finish(self, cycles: int) -> None:
        """End of the run, with the cycles it took."""
        while cycles > self._end:
            self._flush(self._end)
        self._sink(Batch(self._start, cycles, encode(self._records)))

    def _flush(self, end: int) -> None:
        records = self._records
        self._records = [record for record in records if record[0] >= end]
        self._sink(Batch(self._start, end, encode([record for record in records if record[0] < end])))
        self._start, self._end = end, end + self._length


class Totals:
    """Sums of batches, counters and stall reasons, which a run's result must equal."""

    def __init__(self) -> None:
        self.counters: dict[str, int] = dict.fromkeys(COUNTERS, 0)

    def add(self, rows: np.ndarray) -> None:
        """Count the events of a batch."""
        for counter in COUNTERS.values():
            chosen = rows["values"][rows["event"] == IDS[counter.event]]
            fields = [name for name, _ in EVENTS[counter.event].fields]
            if counter.when is not None:
                chosen = chosen[chosen[:, fields.index(counter.when[0])] == counter.when[1]]
            self.counters[counter.name] += (
                int(chosen[:, fields.index(counter.field)].sum()) if counter.field else len(chosen)
            )
            if counter.also:
                self.counters[counter.name] += int((rows["event"] == IDS[counter.also]).sum())
