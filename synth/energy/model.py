"""Energy model: from counters to picojoules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from warpbank.arch.parameters import SmConfig
from warpbank.arch.schemes import Scheme, parse_scheme
from warpbank.synth.energy.table import AMOUNTS, EnergyTable
from warpbank.synth.errors import EnergyError

#: Counters of a bank's arrays, and how many arrays the banks of the tables have, with 32 lanes.
_ARRAYS, _BANK_ARRAYS = "rf.arrays.", 8


@dataclass(frozen=True)
class Energy:
    """Energy of one run's register file in pJ, by structure.

    Parameters
    ----------
    table : name of the table.
    clock_mhz : the clock that turned cycles into time.
    dynamic : events times their energy.
    leakage : leakage power times the run's time.
    """

    table: str
    clock_mhz: float
    dynamic: dict[str, float]
    leakage: dict[str, float]

    @property
    def dynamic_total(self) -> float:
        """Dynamic energy of all structures in pJ."""
        return sum(self.dynamic.values())

    @property
    def leakage_total(self) -> float:
        """Leakage of all structures in pJ."""
        return sum(self.leakage.values())

    def to_dict(self) -> dict[str, Any]:
        """Energy as plain dictionaries for JSON, in pJ."""
        return {
            "table": self.table,
            "unit": "pJ",
            "clock_mhz": self.clock_mhz,
            "dynamic": self.dynamic,
            "leakage": self.leakage,
            "dynamic_total": self.dynamic_total,
            "leakage_total": self.leakage_total,
        }


def energy(result: Mapping[str, Any], table: EnergyTable, config: SmConfig) -> Energy:
    """Energy of the register file in a run.

    Parameters
    ----------
    result : `Report.to_dict()`: its scheme, cycles and counters are used.
    config : the machine it ran on. A bank of fewer lanes costs as much as one of 32, and so do all its arrays
        together.

    Raises EnergyError, naming the row, for a counter that the run does not have.
    """
    scheme = parse_scheme(result["scheme"])
    machine = scheme.machine(config)
    counters = result["counters"]
    dynamic: dict[str, float] = {}
    for place, event in enumerate(table.events):
        if not event.used(scheme):
            continue
        missing = [name for name in (*event.counters, *event.less) if name not in counters]
        if missing:
            close = get_close_matches(missing[0], counters, 1)
            near = f"; did you mean {close[0]}?" if close else ""
            raise EnergyError(
                f"energy table {table.name}, event[{place}] ({event.structure}): the run of {scheme.name} "
                f"has no counter {missing[0]!r}; a row may only count what every run it applies to counts"
                f"{near}"
            )
        counted, taken_off = (
            sum(counters[name] * _weight(name, scheme, machine) for name in names)
            for names in (event.counters, event.less)
        )
        spent = (counted - taken_off) * event.price(machine)
        dynamic[event.structure] = dynamic.get(event.structure, 0.0) + spent
    nanoseconds = result["cycles"] * 1e3 / table.clock_mhz
    leakage: dict[str, float] = {}
    for row in table.leakage:
        if row.used(scheme):
            milliwatts = row.milliwatts * AMOUNTS[row.per](machine) / row.amount
            leakage[row.structure] = (
                leakage.get(row.structure, 0.0) + milliwatts * nanoseconds
            )  # mW x ns = pJ
    return Energy(table.name, table.clock_mhz, dynamic, leakage)


def _weight(counter: str, scheme: Scheme, machine: SmConfig) -> float:
    """What an array's share of its bank is, over that in the banks of the tables; 1 for what is no array."""
    if not counter.startswith(_ARRAYS):
        return 1.0
    beside, lanes = scheme.units.storage.arrays
    return _BANK_ARRAYS / (beside * -(-machine.lanes // lanes))
