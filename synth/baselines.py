"""Baselines, the recorded cost of every unit at the size of its paper, so that a change of area or delay is
seen and said."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from warpbank.arch import units
from warpbank.arch.config import SmConfig, preset
from warpbank.arch.names import unknown
from warpbank.arch.overrides import with_overrides
from warpbank.arch.schemes import BASELINE, Scheme, parse_scheme, scheme_of
from warpbank.arch.units import UNITS, StorageUnit
from warpbank.program.errors import WarpbankError
from warpbank.synth import opensta, pdk, power
from warpbank.synth.search import FULL, QUICK
from warpbank.synth.synthesis import CLOCK, Synthesis, synthesize

FOLDER = Path(__file__).parent / "baselines"
#: Library of the recorded numbers that documents print.
LIBRARY = "NangateOpenCellLibrary"
#: Share by which a number may move unsaid.
TOLERANCE = 0.02
#: Numbers that are compared, in a library and in generic gates.
COMPARED = ("area_um2", "memory_um2", "delay_ns", "flops", "transistors", "logic_depth")
_KEPT = (
    *COMPARED,
    "nand2_equivalents",
    "cells",
    "clock_gates",
    "effort",
    "delay_ns_guard_band",
    "opensta_ns",
    "meets_clock",
)


@dataclass(frozen=True)
class Size:
    """Measuring conditions of a unit: the machine of a paper, the scheme, the clock in ns; whose activity its
    energy is of; how much is tried; fields of the machine that differ from the preset's."""

    preset: str
    scheme: str = BASELINE.name
    clock: float = CLOCK
    kernel: str = ""
    effort: str = FULL
    overrides: tuple[str, ...] = ()

    @staticmethod
    def of(size: units.Size, scheme: str) -> Size:
        """Conditions that the row of a unit gives."""
        effort = QUICK if size.quick else FULL
        return Size(size.preset, scheme, size.clock, size.kernel, effort, size.overrides)

    def machine(self) -> tuple[SmConfig, Scheme]:
        """Configuration and scheme."""
        scheme = parse_scheme(self.scheme)
        return scheme.machine(with_overrides(preset(self.preset), self.overrides)), scheme

    @property
    def options(self) -> str:
        """Options of `warpbank synth` that give these conditions."""
        effort = "" if self.effort == FULL else f" --effort {self.effort}"
        machine = "".join(f" --set {override}" for override in self.overrides)
        return f"--preset {self.preset} --scheme {self.scheme}{machine} --clock {self.clock:g}{effort}"


#: Units of every machine, which belong to no scheme.
_COMMON = (
    "registers",
    "arbiter",
    "result_arbiter",
    "barriers",
    "status",
    "issue_stage",
    "in_flight",
    "instruction_buffers",
    "cta_dispatch",
    "pipelines",
    "l1_tags",
    "mshrs",
    "memory",
    "lsu",
    "scoreboard",
)


def _of_whole(size: units.Size | None) -> units.Size | None:
    """Size of a part that has none of its own: the machine of the whole unit, at the usual clock."""
    return None if size is None else replace(size, clock=CLOCK, quick=False, overrides=())


def _sizes() -> dict[str, Size]:
    """Units by size: those of the rooms with their parts, in the order of the registry, then the others."""
    found: dict[str, Size] = {}
    for unit in [unit for room in UNITS.values() for unit in room.values()]:
        scheme = scheme_of(unit)
        for part in unit.parts:
            made = part.size or _of_whole(unit.size)
            if made is not None:
                found.setdefault(part.name, Size.of(made, scheme))
        for name in (unit.exported, unit.whole if isinstance(unit, StorageUnit) else ""):
            if name and unit.size is not None:
                found.setdefault(name, Size.of(unit.size, scheme))
    common = {name: Size("turing", effort=QUICK if name == "lsu" else FULL) for name in _COMMON}
    return found | common


#: Conditions of every unit that has a baseline.
SIZES = _sizes()


@dataclass
class Checked:
    """Unit beside its baseline.

    Parameters
    ----------
    unit : its name.
    key : the library's name, or `generic`.
    moved : numbers that moved by more than `TOLERANCE`: (name, recorded, now).
    why : why nothing was compared, "" if it was.
    """

    unit: str
    key: str
    moved: list[tuple[str, float, float]] = field(default_factory=list)
    why: str = ""

    def sentences(self) -> list[str]:
        """Sentences on what moved."""
        if self.why:
            return [f"{self.unit}: {self.why}"]
        return [
            f"{self.unit}: {name} moved by {_share(old, new)}, from {old:g} to {new:g} ({self.key})"
            for name, old, new in self.moved
        ]


def _share(old: float, new: float) -> str:
    return f"{100 * (new - old) / old:+.1f} %" if old else "more than any share"


def measure(
    unit: str,
    files: Sequence[Path],
    on_step: Callable[[str], None] | None = None,
    activity: Callable[[], power.Stimulus] | None = None,
) -> Synthesis:
    """Measurement of a unit at its paper's size, by our own timing; for `activity` see `synthesize`. Raises
    WarpbankError if it has no size."""
    if unit not in SIZES:
        raise WarpbankError(unknown("unit with a baseline", unit, SIZES))
    size = SIZES[unit]
    config, scheme = size.machine()
    return synthesize(
        unit,
        config,
        scheme,
        files,
        clock=size.clock,
        effort=size.effort,
        signoff=False,
        activity=activity,
        on_step=on_step,
    )


def record(made: Synthesis) -> None:
    """Write a measurement into its unit's baseline, other libraries' left as they are."""
    data, path = made.to_dict(), FOLDER / f"{made.unit}.json"
    kept = json.loads(path.read_text()) if path.exists() else {}
    head = {name: data[name] for name in ("unit", "preset", "scheme", "config_hash", "clock_ns")}
    if "slow" in kept:
        head["slow"] = kept["slow"]
    results = kept.get("results", {}) if same_machine(kept, made.config) else {}
    ends = {name: data["critical_path"][name] for name in ("start", "end")} if data["critical_path"] else {}
    if data["opensta_ns"] is not None:
        ends["opensta"] = opensta.version()
    results[_key(made)] = {
        "liberty_digest": data["liberty_digest"],
        "tools": data["tools"],
        **{name: data[name] for name in _KEPT if data[name] is not None},
        **ends,
    }
    if made.power is not None:
        results[_key(made)]["energy"] = {
            "kernel": SIZES[made.unit].kernel,
            **_energy(made.power, made.busy_power, made.clock_ns),
        }
    boxes = _boxes(data["memories"])
    if made.liberty and boxes:
        results[_key(made)]["memories"] = boxes
    path.parent.mkdir(exist_ok=True)
    whole = head | {"results": dict(sorted(results.items())), "config": made.config.to_dict()}
    path.write_text(json.dumps(whole, indent=2) + "\n")


def _energy(milliwatts: dict[str, float], busy: dict[str, float] | None, clock: float) -> dict[str, float]:
    """Power without the clock that it is at: picojoules of a cycle, of one in which the unit takes a value,
    and milliwatts of leakage."""
    leakage = milliwatts["leakage"]
    cycles = {"pj_per_cycle": milliwatts} | ({} if busy is None else {"pj_per_busy_cycle": busy})
    return {
        **{name: round((spent["total"] - leakage) * clock, 6) for name, spent in cycles.items()},
        "leakage_mw": leakage,
    }


def _boxes(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The memories that are black boxes; those of one shape and price as one, with their number."""
    listed: list[dict[str, Any]] = []
    for one in found:
        if one["kind"] != "registers":
            row = {name: value for name, value in one.items() if name not in ("name", "bits")}
            same = next((other for other in listed if {**other, "count": 0} == {**row, "count": 0}), None)
            if same is None:
                listed.append({**row, "count": 1})
            else:
                same["count"] += 1
    return listed


def _key(made: Synthesis) -> str:
    return made.liberty or "generic"


def same_machine(known: dict[str, Any], config: SmConfig) -> bool:
    """Whether a baseline is of this machine: every field that it names has the same value. Fields may have
    been added since."""
    return "config" in known and _within(known["config"], config.to_dict())


def _within(part: dict[str, Any], whole: dict[str, Any]) -> bool:
    return all(
        name in whole and (_within(value, whole[name]) if isinstance(value, dict) else value == whole[name])
        for name, value in part.items()
    )


def recorded(unit: str) -> dict[str, Any] | None:
    """Baseline file of a unit."""
    path = FOLDER / f"{unit}.json"
    return json.loads(path.read_text()) if path.exists() else None


def cost(unit: str) -> dict[str, Any] | None:
    """Recorded cost of a unit in `LIBRARY`."""
    known = recorded(unit)
    return None if known is None else known["results"].get(LIBRARY)


def slow(unit: str) -> str:
    """Reason why a unit does not reach 1 GHz, a sentence of its baseline file; "": none is given."""
    reason: str = (recorded(unit) or {}).get("slow", "")
    return reason


def check(unit: str, files: Sequence[Path], on_step: Callable[[str], None] | None = None) -> Checked:
    """Measure a unit again and compare. What was recorded for another machine, library or tool is not
    compared. Raises WarpbankError for a unit that has no size."""
    if unit not in SIZES:
        raise WarpbankError(unknown("unit with a baseline", unit, SIZES))
    size_config, _ = SIZES[unit].machine()
    known = recorded(unit)
    key = pdk.name(files) if files else "generic"
    if known is None or key not in known["results"]:
        return Checked(
            unit, key, why=f"no baseline for {key}; record one with: warpbank synth {unit} --record"
        )
    if not same_machine(known, size_config):
        return Checked(
            unit, key, why="the configuration is another than the baseline's; record it again with --record"
        )
    return compare(measure(unit, files, on_step), known)


def compare(made: Synthesis, known: dict[str, Any]) -> Checked:
    """Comparison of a measurement with a baseline file's content."""
    key, data = _key(made), made.to_dict()
    before = known["results"][key]
    for name, version in before["tools"].items():
        if data["tools"].get(name) != version:
            return Checked(
                made.unit,
                key,
                why=f"recorded with {name} {version}, now {data['tools'].get(name)}: not compared",
            )
    effort = before.get("effort", FULL)
    if effort != data["effort"]:
        return Checked(
            made.unit, key, why=f"recorded with {effort} effort, now {data['effort']}: not compared"
        )
    if before["liberty_digest"] != data["liberty_digest"]:
        return Checked(made.unit, key, why=f"recorded with other content of {key}: not compared")
    moved = [
        (name, before[name], data[name])
        for name in COMPARED
        if name in before
        and data[name] is not None
        and abs(data[name] - before[name]) > TOLERANCE * abs(before[name])
    ]
    return Checked(made.unit, key, moved)
