"""Power gating of register banks: which registers and sub-arrays have to be powered when (renaming, sections 4.4 and 8.3).

A model on a run's events, for two kinds of power switches: one per register, or one per sub-array of a bank, which is on while
any register in it is. Two voltages: full and none.

- With renaming, a register is switched on in the cycle in which it is given away, and off when it is released. What is not
  renamed, and everything without renaming (first touch), is switched on before its first access and stays on.
- Waking up takes `WAKE_UP` cycle, in which the register is powered and not yet accessed. A renamed register is given away at the
  issue of the uop that writes it, whose operands are still to be collected; an access through the arbiter is known in the cycle
  before. So nobody ever waits for it, as in the paper.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from arch.rooms import SmConfig
from program.trace.schema import Trace
from sim.events import IDS, Batch

#: Cycles from the switch to the first access.
WAKE_UP = 1
#: Cycles that Fig. 2 looks at.
WINDOW = 10_000
#: Points of a curve.
POINTS = 300
_ACCESSES = ("grant", "write", "write_back", "fetch")
_EVENTS = [IDS[name] for name in (*_ACCESSES, "map", "unmap", "warp_start", "cta_start", "cta_end")]


@dataclass(frozen=True)
class Spans:
    """When places are powered: of each span its place (a number), first cycle, and the one after its last cycle."""

    place: np.ndarray
    start: np.ndarray
    end: np.ndarray

    def count(self, cycles: int) -> np.ndarray:
        """Per cycle, places that are powered. Spans of one place may overlap: it counts once."""
        size = len(self.place)
        place = np.concatenate([self.place, self.place])
        time = np.concatenate([self.start, self.end])
        sign = np.repeat(np.array([1, -1]), size)
        order = np.lexsort((-sign, time, place))  # on before off: what goes on without a gap is no change
        place, time, sign = place[order], time[order], sign[order]
        total = np.cumsum(sign)  # every place ends at 0
        on, off = (sign == 1) & (total == 1), (sign == -1) & (total == 0)
        changes = np.bincount(time[on], minlength=cycles + 1) - np.bincount(time[off], minlength=cycles + 1)
        return np.cumsum(changes[:cycles])


class Gating:
    """An observer of a run (`sim.runs.RunSpec.observer`).

    Its result: `cycles`; `given`, registers that the running warps would have without renaming: greatest number; `allocated`,
    physical registers ever powered; `registers` and `subarrays`, means over the cycles of those that are powered, `of_registers`
    and `of_subarrays` there are; `used`, mean share of the given registers that are powered in the first `WINDOW` cycles; `curve`
    (`step` cycles per point: means of `given`, `registers`, `subarrays`); `first`: of the first warp of slot 0, [register, from,
    to] of each stay in a physical register.
    """

    def __init__(self) -> None:
        self._trace: Trace | None = None
        self._config = SmConfig()
        self._rows: list[np.ndarray] = []
        self._touched: dict[int, int] = {}  # place -> cycle of its first access
        self._end = 0

    def start(self, trace: Trace, config: SmConfig) -> None:
        """What is about to run."""
        self._trace, self._config = trace, config

    def __call__(self, batch: Batch) -> None:
        """Take the events of some cycles."""
        rows = batch.records[np.isin(batch.records["event"], _EVENTS)]
        self._end = batch.end
        access = np.isin(rows["event"], [IDS[name] for name in _ACCESSES])
        touched = rows[access]
        touched = touched[np.argsort(touched["cycle"], kind="stable")]
        places, first = np.unique(self._places(touched, 0), return_index=True)
        for place, cycle in zip(places.tolist(), touched["cycle"][first].tolist(), strict=True):
            self._touched.setdefault(place, cycle)
        self._rows.append(rows[~access])

    def result(self) -> dict[str, Any]:
        """Plain dictionaries for JSON. Only after the run."""
        assert self._trace is not None
        rows = np.concatenate(self._rows)
        rows = rows[np.argsort(rows["cycle"], kind="stable")]
        cycles, core = self._end, self._config.sub_core
        given, launch_ends = self._given(rows)
        renamed, registers = self._renamed(rows, launch_ends)
        kept = self._kept()
        spans = Spans(*(np.concatenate(parts) for parts in zip(kept, renamed, strict=True)))
        subarrays = Spans(self._subarrays(spans.place), spans.start, spans.end).count(cycles)
        powered = spans.count(cycles)
        busy = given[:WINDOW] > 0
        step = -(-cycles // POINTS)
        curves = {"given": given, "registers": powered, "subarrays": subarrays}
        return {
            "cycles": cycles, "given": int(given.max()), "allocated": len(np.unique(spans.place)),
            "registers": float(powered.mean()), "of_registers": self._config.sub_cores * core.warp_registers,
            "subarrays": float(subarrays.mean()), "of_subarrays": len(np.unique(self._subarrays(self._all()))),
            "used": float((powered[:WINDOW][busy] / given[:WINDOW][busy]).mean()),
            "curve": {"step": step, **{name: _means(values, step) for name, values in curves.items()}},
            "first": self._first(rows, renamed, registers),
        }

    def _places(self, rows: np.ndarray, field: int) -> np.ndarray:
        """Numbers of the places that events name; `field`: where they name the bank, with the row behind it."""
        core, bank, row = rows["core"].astype(np.int64), rows["values"][:, field], rows["values"][:, field + 1]
        banks = self._config.sub_core.banks
        return (core * self._config.sub_core.rows + row.astype(np.int64)) * banks + bank.astype(np.int64)

    def _all(self) -> np.ndarray:
        return np.arange(self._config.sub_cores * self._config.sub_core.warp_registers)

    def _subarrays(self, places: np.ndarray) -> np.ndarray:
        """Numbers of the sub-arrays that places are in."""
        core = self._config.sub_core
        bank, row = places % core.banks, places // core.banks % core.rows
        return (places // core.warp_registers * core.banks + bank) * core.rows + row // (core.subarray_registers // core.banks)

    def _given(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Per cycle, registers that running warps would have; and the cycles in which launches end."""
        assert self._trace is not None
        launches = self._trace.launches[self._trace.launches["ctas"] > 0]
        each = np.repeat(launches["registers"].astype(np.int64) * launches["warps_per_cta"], launches["ctas"])
        changes = np.zeros(self._end + 2, np.int64)
        ends = rows["cycle"][rows["event"] == IDS["cta_end"]].astype(np.int64)
        np.add.at(changes, rows["cycle"][rows["event"] == IDS["cta_start"]].astype(np.int64), each)
        np.add.at(changes, ends + 1, -each)  # launches run one after the other: the n-th end is of the launch of the n-th start
        return np.cumsum(changes)[: self._end], ends[np.cumsum(launches["ctas"].astype(np.int64)) - 1]

    def _renamed(self, rows: np.ndarray, launch_ends: np.ndarray) -> tuple[tuple[np.ndarray, ...], np.ndarray]:
        """Place, start and end of every stay in a physical register; and which warp register it is: (sub-core, warp, register).
        A register that is not released when its launch ends is lost then."""
        taken, freed = (rows[rows["event"] == IDS[name]] for name in ("map", "unmap"))
        scale = self._end + 2
        on = self._places(taken, 2) * scale + taken["cycle"].astype(np.int64)
        off = self._places(freed, 2) * scale + freed["cycle"].astype(np.int64)
        order = np.argsort(on)
        on, off, taken = on[order], np.sort(off), taken[order]
        place, start = on // scale, on % scale
        limit = np.concatenate([on[1:], [np.iinfo(np.int64).max]])  # the place's next stay
        limit = np.where(limit // scale == place, limit, (place + 1) * scale)
        where = np.searchsorted(off, on)
        found = np.concatenate([off, [np.iinfo(np.int64).max]])[where]
        end = np.where(found < limit, found % scale, launch_ends[np.searchsorted(launch_ends, start)]) + 1
        who = np.column_stack([taken["core"].astype(np.int64), taken["values"][:, :2].astype(np.int64)])
        return (place, start, end), who

    def _kept(self) -> tuple[np.ndarray, ...]:
        """Place, start and end of what is powered from its first touch to the end of the run: with renaming, exempt registers."""
        assert self._trace is not None
        first = np.array(sorted(self._touched.items()), np.int64).reshape(-1, 2)
        if self._trace.exempt:
            reserved = max(mask.bit_count() for mask in self._trace.exempt) * self._config.sub_core.warps
            first = first[first[:, 0] % self._config.sub_core.warp_registers < reserved]
        return first[:, 0], np.maximum(first[:, 1] - WAKE_UP, 0), np.full(len(first), self._end)

    def _first(self, rows: np.ndarray, spans: tuple[np.ndarray, ...], who: np.ndarray) -> list[list[int]]:
        """Stays of the first warp of slot 0."""
        starts = rows["cycle"][(rows["event"] == IDS["warp_start"]) & (rows["core"] == 0) & (rows["values"][:, 0] == 0)]
        following = int(starts[1]) if len(starts) > 1 else self._end
        mine = (who[:, 0] == 0) & (who[:, 1] == 0) & (spans[1] < following)
        return sorted(np.column_stack([who[mine, 2], spans[1][mine], spans[2][mine]]).tolist())


def _means(values: np.ndarray, step: int) -> list[float]:
    """Means of so many cycles each."""
    starts = np.arange(0, len(values), step)
    counts = np.diff(np.append(starts, len(values)))
    return np.round(np.add.reduceat(values, starts) / counts, 3).tolist()
