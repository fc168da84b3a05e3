"""Power gating of register banks: which registers and sub-arrays have to be powered when (renaming, sections
4.4 and 8.3).

A model on a run's events, for two kinds of power switches: one per register, or one per sub-array of a bank,
which is on while any register in it is. Two voltages: full and none.

- With renaming, a register is switched on in the cycle in which it is given away, and off when it is
  released. What is not renamed is switched on before its first access and stays on until its launch ends.
- Without renaming (first touch), a register is switched on before its first access and stays on.
- Waking up takes `WAKE_UP` cycle, in which the register is powered and not yet accessed. A renamed register
  is given away at the issue of the uop that writes it, whose operands are still to be collected; an access
  through the arbiter is known in the cycle before. So nobody ever waits for it, as in the paper.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from warpbank.arch.config import with_overrides
from warpbank.arch.parameters import SmConfig
from warpbank.program.trace.schema import Trace
from warpbank.sim.events import IDS, Batch

#: Cycles from the switch to the first access.
WAKE_UP = 1
#: Cycles that Fig. 2 looks at, and parts of them.
WINDOW = 10_000
PARTS = 10
#: Points of a curve.
POINTS = 300
_ACCESSES = ("grant", "write", "write_back", "fetch")
_NAMES = (*_ACCESSES, "map", "unmap", "warp_start", "cta_start", "cta_end")
_EVENTS = [IDS[name] for name in _NAMES]


@dataclass(frozen=True)
class Spans:
    """Powered spans of places: of each span its place (a number), first cycle, and the one after its last
    cycle."""

    place: np.ndarray
    start: np.ndarray
    end: np.ndarray

    def count(self, cycles: int) -> np.ndarray:
        """Powered places per cycle. Spans of one place may overlap: it counts once."""
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
    """Observer of a run (`warpbank.sim.runs.RunSpec.observer`).

    Its result: `cycles`; `given`, registers that the running warps would have without renaming: greatest
    number; `allocated`, registers ever powered, in the launch with most; `registers` and `subarrays`, means
    over the cycles of those that are powered, `of_registers` and `of_subarrays` there are; `used`, mean share
    of the given registers that are powered in the first `WINDOW` cycles, and `parts`, the same for each of
    `PARTS` parts of them, where nothing is used once the run is over; `curve` (`step` cycles per point: means
    of `given`, `registers`, `subarrays`); `first`: of the first warp of slot 0, [register, from, to] of each
    stay in a physical register.
    """

    #: Events that it reads.
    wanted = frozenset(_NAMES)

    def __init__(self) -> None:
        self._trace: Trace | None = None
        self._config = SmConfig()
        self._rows: list[np.ndarray] = []
        self._touched: dict[
            tuple[int, int], int
        ] = {}  # launch (with renaming) and place -> cycle of the first access
        self._ended = 0  # CTAs
        self._launch_ends: list[int] = []
        self._end = 0

    def start(self, trace: Trace, config: SmConfig) -> None:
        """Start of the run, with its trace and machine."""
        self._trace = trace
        self._config = (
            with_overrides(config, ["sub_core.mapping.release_flags=on"]) if trace.exempt else config
        )
        self._launches = trace.launches[trace.launches["ctas"] > 0]
        self._ctas = np.cumsum(
            self._launches["ctas"].astype(np.int64)
        )  # when a launch ends, so many CTAs have

    def __call__(self, batch: Batch) -> None:
        """Take the events of some cycles."""
        rows = batch.records[np.isin(batch.records["event"], _EVENTS)]
        self._end = batch.end
        access = np.isin(rows["event"], [IDS[name] for name in _ACCESSES])
        touched = rows[access]
        touched = touched[np.argsort(touched["cycle"], kind="stable")]
        ends = np.sort(rows["cycle"][rows["event"] == IDS["cta_end"]])
        over = self._ctas[(self._ctas > self._ended) & (self._ctas <= self._ended + len(ends))]
        self._launch_ends += ends[over - self._ended - 1].tolist()
        self._ended += len(ends)
        launch = (
            np.searchsorted(self._launch_ends, touched["cycle"])
            if self._renames
            else np.zeros(len(touched), np.int64)
        )
        keys, first = np.unique(launch * len(self._all()) + self._places(touched, 0), return_index=True)
        for key, cycle in zip(keys.tolist(), touched["cycle"][first].tolist(), strict=True):
            self._touched.setdefault(divmod(key, len(self._all())), cycle)
        self._rows.append(rows[~access])

    def result(self) -> dict[str, Any]:
        """Result as plain dictionaries for JSON. Only after the run."""
        assert self._trace is not None
        rows = np.concatenate(self._rows)
        rows = rows[np.argsort(rows["cycle"], kind="stable")]
        cycles, core = self._end, self._config.sub_core
        given = self._given(rows)
        renamed, registers = self._renamed(rows)
        kept = self._kept()
        spans = Spans(*(np.concatenate(parts) for parts in zip(kept, renamed, strict=True)))
        subarrays = Spans(self._subarrays(spans.place), spans.start, spans.end).count(cycles)
        powered = spans.count(cycles)
        used = powered[:WINDOW] / np.maximum(given[:WINDOW], 1)
        shares = used[given[:WINDOW] > 0]  # none where no warp has a register
        step = -(-cycles // POINTS)
        curves = {"given": given, "registers": powered, "subarrays": subarrays}
        return {
            "cycles": cycles,
            "given": int(given.max()),
            "allocated": self._allocated(spans),
            "registers": float(powered.mean()),
            "of_registers": self._config.sub_cores * core.warp_registers,
            "subarrays": float(subarrays.mean()),
            "of_subarrays": len(np.unique(self._subarrays(self._all()))),
            "used": float(shares.mean()) if len(shares) else 0.0,
            "parts": _parts(np.where(given[:WINDOW] > 0, used, 0)),
            "curve": {"step": step, **{name: _means(values, step) for name, values in curves.items()}},
            "first": self._first(rows, renamed, registers),
        }

    @property
    def _renames(self) -> bool:
        return self._trace is not None and bool(self._trace.exempt)

    def _places(self, rows: np.ndarray, field: int) -> np.ndarray:
        """Numbers of the places that events name; `field`: where they name the bank, with the row behind
        it."""
        core, bank, row = (
            rows["core"].astype(np.int64),
            rows["values"][:, field],
            rows["values"][:, field + 1],
        )
        banks = self._config.sub_core.banks
        return (core * self._config.sub_core.rows + row.astype(np.int64)) * banks + bank.astype(np.int64)

    def _all(self) -> np.ndarray:
        return np.arange(self._config.sub_cores * self._config.sub_core.warp_registers)

    def _subarrays(self, places: np.ndarray) -> np.ndarray:
        """Numbers of the sub-arrays that places are in."""
        core = self._config.sub_core
        bank, row = places % core.banks, places // core.banks % core.rows
        return (places // core.warp_registers * core.banks + bank) * core.rows + row // (
            core.subarray_registers // core.banks
        )

    def _allocated(self, spans: Spans) -> int:
        """Places ever powered, in the launch with most; all launches are one without renaming."""
        launch = (
            np.searchsorted(self._launch_ends, spans.start)
            if self._renames
            else np.zeros(len(spans.start), np.int64)
        )
        owners = np.unique(launch * len(self._all()) + spans.place) // len(self._all())
        return int(np.bincount(owners).max(initial=0))

    def _given(self, rows: np.ndarray) -> np.ndarray:
        """Per cycle, registers that running warps would have."""
        launches = self._launches
        each = np.repeat(launches["registers"].astype(np.int64) * launches["warps_per_cta"], launches["ctas"])
        changes = np.zeros(self._end + 2, np.int64)
        ends = rows["cycle"][rows["event"] == IDS["cta_end"]].astype(np.int64)
        np.add.at(changes, rows["cycle"][rows["event"] == IDS["cta_start"]].astype(np.int64), each)
        np.add.at(
            changes, ends + 1, -each
        )  # launches run one after the other: the n-th end is of the launch of the n-th start
        return np.cumsum(changes)[: self._end]

    def _renamed(self, rows: np.ndarray) -> tuple[tuple[np.ndarray, ...], np.ndarray]:
        """Place, start and end of every stay in a physical register; and which warp register it is:
        (sub-core, warp, register). A register that is not released when its launch ends is lost then."""
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
        lost = np.array(self._launch_ends)[np.searchsorted(self._launch_ends, start)]
        end = np.where(found < limit, found % scale, lost) + 1
        who = np.column_stack([taken["core"].astype(np.int64), taken["values"][:, :2].astype(np.int64)])
        return (place, start, end), who

    def _kept(self) -> tuple[np.ndarray, ...]:
        """Place, start and end of what is powered from its first touch on: with renaming exempt registers,
        for their launch."""
        assert self._trace is not None
        first = np.array([(*key, cycle) for key, cycle in sorted(self._touched.items())], np.int64).reshape(
            -1, 3
        )
        end = np.full(len(first), self._end)
        if self._renames:
            first = first[first[:, 1] % self._config.sub_core.warp_registers < self._reserved()[first[:, 0]]]
            end = np.array(self._launch_ends)[first[:, 0]] + 1
        return first[:, 1], np.maximum(first[:, 2] - WAKE_UP, 0), end

    def _reserved(self) -> np.ndarray:
        """Per launch, the first places of a sub-core, which are those of exempt registers: for the warp slots
        that it may use."""
        assert self._trace is not None
        found = []
        columns = (self._launches[name].tolist() for name in ("kernel", "registers", "warps_per_cta"))
        for kernel, registers, warps in zip(*columns, strict=True):
            exempt = self._trace.exempt[kernel].bit_count()
            found.append(exempt * self._config.launch_shape(registers, exempt, warps)[1])
        return np.array(found)

    def _first(self, rows: np.ndarray, spans: tuple[np.ndarray, ...], who: np.ndarray) -> list[list[int]]:
        """Stays of the first warp of slot 0."""
        starts = rows["cycle"][
            (rows["event"] == IDS["warp_start"]) & (rows["core"] == 0) & (rows["values"][:, 0] == 0)
        ]
        following = int(starts[1]) if len(starts) > 1 else self._end
        mine = (who[:, 0] == 0) & (who[:, 1] == 0) & (spans[1] < following)
        return sorted(np.column_stack([who[mine, 2], spans[1][mine], spans[2][mine]]).tolist())


def _parts(used: np.ndarray) -> list[float]:
    """Means of the parts of the window; nothing is used after the end."""
    whole = np.zeros(WINDOW)
    whole[: len(used)] = used
    return whole.reshape(PARTS, -1).mean(axis=1).tolist()


def _means(values: np.ndarray, step: int) -> list[float]:
    """Means over steps of cycles."""
    starts = np.arange(0, len(values), step)
    counts = np.diff(np.append(starts, len(values)))
    return np.round(np.add.reduceat(values, starts) / counts, 3).tolist()
