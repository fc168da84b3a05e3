"""Synthesis of finalists: collectors and the register file behind them, each by itself, in a cell library."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from warpbank.arch.config import config_hash
from warpbank.arch.errors import ArgumentError
from warpbank.arch.schemes import parse_scheme
from warpbank.arch.units import UNITS
from warpbank.sim import experiment as exp
from warpbank.sim import extensions
from warpbank.sim.runs import store
from warpbank.studies.compare.settings import Setting
from warpbank.studies.explore.parts import COLLECTORS, REGISTERS
from warpbank.studies.explore.result import Size

_SOURCES = ("warpbank.arch", "warpbank.hdl", "warpbank.synth")


@dataclass(frozen=True)
class Mapped:
    """Synthesis of a part of a register file: a `warpbank.sim.runs.spec.Task`.

    Parameters
    ----------
    unit : of `warpbank.synth.units`.
    scheme, preset, overrides : the machine.
    liberty : files of the cell library, which every worker must be able to read.
    """

    unit: str
    scheme: str
    preset: str
    overrides: tuple[str, ...]
    liberty: tuple[str, ...]

    @property
    def label(self) -> str:
        """Label for a progress line."""
        return " ".join(("synthesis of", self.unit, self.scheme, *self.overrides))

    def check(self) -> None:
        """Raise WarpbankError for a machine or a library that there is not."""
        from warpbank.synth import pdk

        exp.check_machine(exp.find_scheme(self.scheme), self._config())
        pdk.name([Path(name) for name in self.liberty])

    def _config(self) -> Any:
        return exp.find_config(self.preset, None, list(self.overrides))

    def key(self) -> str:
        """Key of unit, machine, library, sources."""
        from warpbank.synth import pdk

        return store.key(
            "mapped",
            self.unit,
            self.scheme,
            config_hash(self._config()),
            pdk.digest([Path(name) for name in self.liberty]),
            store.code_digest(*_SOURCES),
            *filter(None, [extensions.digest()]),
        )

    def compute(self) -> dict[str, Any]:
        """Area of cells and of memories in um2, and critical path in ns."""
        from warpbank.studies.synthesis import synthesize
        from warpbank.synth.search import QUICK

        made = synthesize(
            self.unit,
            self._config(),
            parse_scheme(self.scheme),
            [Path(name) for name in self.liberty],
            effort=QUICK,
        ).to_dict()
        return {name: made[name] for name in ("area_um2", "memory_um2", "delay_ns", "liberty")}


def libraries(given: Sequence[str] | None) -> tuple[str, ...]:
    """Liberty files that finalists are synthesized with (`warpbank.synth.pdk.find`). Raises ArgumentError if
    there are none, LibertyError for a file that is not there or is no library."""
    from warpbank.synth import pdk

    found = pdk.find(given)
    if not found:
        raise ArgumentError(
            "--synthesize needs a cell library: name one with --liberty FILE.lib, or in $WARPBANK_LIBERTY"
        )
    pdk.name(found)  # reads it
    return tuple(str(path.absolute()) for path in found)


def tasks(setting: Setting, liberty: tuple[str, ...]) -> dict[str, Mapped]:
    """Syntheses that make up a point's register file, by part."""
    units = parse_scheme(setting.scheme).units
    collector = units.collector.exported or units.collector.priced_as
    return {
        name: Mapped(unit, setting.scheme, setting.preset, setting.overrides, liberty)
        for name, unit in (
            (COLLECTORS, collector),
            (REGISTERS, REGISTERS),
            ("scheduler", UNITS["scheduler"][setting.scheduler].exported),
        )
        if unit
    }


def size(result: dict[str, Any]) -> Size:
    """Size of a part that was synthesized."""
    return Size(result["area_um2"], result["memory_um2"], result["delay_ns"], "synthesized")
