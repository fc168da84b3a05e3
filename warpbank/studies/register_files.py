"""Areas of whole register files: each paper's, on the paper's machine, beside the baseline's there.

A register file is a sub-core's collectors, its banks with the network that serves them, and what the scheme
adds, as in `warpbank.studies.explore.parts`. A part that synthesis has recorded on this very machine has its
recorded area, the others that of the fitted model, whose error docs/explore.md states.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from warpbank.arch.schemes import BASELINE, SCHEMES, parse_scheme
from warpbank.sim.runs.execute import Progress
from warpbank.studies.compare.published import published
from warpbank.studies.explore import area_model
from warpbank.studies.explore.evaluate import Evaluator, size_values
from warpbank.studies.explore.result import Size
from warpbank.studies.explore.space import Point, Space
from warpbank.synth.memories import sram

#: Areas in um2 of the smallest flip-flop and the smallest latch of the library of the documents: DFF_X1 and
#: DLH_X1 of NanGate45.
FLIP_FLOP_UM2, LATCH_UM2 = 4.522, 2.66


@dataclass(frozen=True)
class RegisterFile:
    """Area of a scheme's register file on the machine of its paper, of one sub-core.

    Parameters
    ----------
    scheme, paper, preset : what it is, and where.
    printed : what the paper says of its area.
    base, own : parts and their sizes, of the baseline and of the scheme.
    base_bits, own_bits : bits of both that are no SRAM.
    """

    scheme: str
    paper: str
    preset: str
    printed: str
    base: Mapping[str, Size]
    own: Mapping[str, Size]
    base_bits: int
    own_bits: int

    @property
    def added_mm2(self) -> float:
        """Area over the baseline's."""
        return size_values(self.own)["area"] - size_values(self.base)["area"]

    @property
    def share(self) -> float:
        """Area over the baseline's, of the baseline's with its collectors and network."""
        return self.added_mm2 / size_values(self.base)["area"]

    @property
    def floor_mm2(self) -> float:
        """Area of a flip-flop for each bit over the baseline's: what no circuit of flip-flops goes below."""
        return (self.own_bits - self.base_bits) * FLIP_FLOP_UM2 / 1e6

    def to_dict(self) -> dict[str, Any]:
        """Register file as a JSON object."""
        return {
            "scheme": self.scheme,
            "paper": self.paper,
            "preset": self.preset,
            "printed": self.printed,
            "base": {name: size.to_dict() for name, size in self.base.items()},
            "own": {name: size.to_dict() for name, size in self.own.items()},
            "added_mm2": round(self.added_mm2, 4),
            "share": round(self.share, 4),
            "floor_mm2": round(self.floor_mm2, 4),
        }


def schemes() -> tuple[str, ...]:
    """Schemes whose register files are measured: one of each paper that has a machine in `PUBLISHED`."""
    rows = (row for row in SCHEMES.values() if row.representative and row is not BASELINE)
    return tuple(row.name for row in rows if published(row.name))


def register_files(*, workers: int | None = None, progress: Progress | None = None) -> list[RegisterFile]:
    """Measure the register files of `schemes`. `workers`, `progress`: see `warpbank.sim.runs.execute`."""
    found = []
    for scheme in schemes():
        machine = published(scheme)
        assert machine is not None
        space = Space((), machine.preset)
        evaluator = Evaluator(space, "tiny", "golden", workers=workers, progress=progress)
        base, own = space.base, Point(scheme)
        evaluator.evaluate([base, own], [])
        found.append(
            RegisterFile(
                scheme,
                machine.paper,
                machine.preset,
                machine.area,
                evaluator.sizes(base),
                evaluator.sizes(own),
                evaluator.bits(base),
                evaluator.bits(own),
            )
        )
    return found


def rows(files: Sequence[RegisterFile]) -> list[tuple[str, ...]]:
    """Table of register files; the first row is its head."""
    head = ("scheme", "preset", "baseline, mm2", "added, mm2", "share", "floor, mm2", "printed")
    return [
        head,
        *(
            (
                each.scheme,
                each.preset,
                f"{size_values(each.base)['area']:.3f}",
                f"{each.added_mm2:+.3f}",
                f"{each.share:+.0%}",
                f"{each.floor_mm2:+.3f}",
                each.printed,
            )
            for each in files
        ),
    ]


def _bank_prices(scheme: str) -> list[tuple[str, str, float]]:
    """Prices of the banks of a scheme's register file cache: their storage cell, where the price is from, and
    um2 of all of them. None for a scheme without a cache, or with one that nobody has synthesized."""
    unit = parse_scheme(scheme).units.hierarchy.exported
    banks = [one for one in area_model.recorded(unit).get("memories", []) if one["kind"] == "array"]
    if not banks:
        return []
    made = sum(one["count"] * one["area_um2"] for one in banks)
    bits = sum(one["count"] * one["rows"] * one["width"] for one in banks)
    macros = sum(one["count"] * sram(one["rows"], one["width"]).area for one in banks)
    return [
        ("flip-flops", "recorded", made),
        ("latches", "computed: DLH_X1 for each DFF_X1", made - bits * (FLIP_FLOP_UM2 - LATCH_UM2)),
        ("SRAM macros", "computed: macros of one port; a bank reads and is filled in one cycle", macros),
    ]


def bank_rows(files: Sequence[RegisterFile]) -> list[tuple[str, ...]]:
    """Table of the banks of register file caches by their storage cell; the first row is its head."""
    head = ("scheme", "banks of its cache", "mm2", "added, mm2", "share", "price is")
    found: list[tuple[str, ...]] = [head]
    for each in files:
        prices = _bank_prices(each.scheme)
        for cell, how, area in prices:
            added = each.added_mm2 + (area - prices[0][2]) / 1e6
            share = added / size_values(each.base)["area"]
            found.append((each.scheme, cell, f"{area / 1e6:.3f}", f"{added:+.3f}", f"{share:+.0%}", how))
    return found


def part_rows(files: Sequence[RegisterFile]) -> list[tuple[str, ...]]:
    """Table of what the register files are made of; the first row is its head."""
    return [
        ("scheme", "part", "cells, mm2", "memories, mm2", "area is"),
        *(
            (
                scheme,
                name,
                f"{size.cells_um2 / 1e6:.3f}",
                f"{size.memory_um2 / 1e6:.3f}",
                "recorded" if size.source == "recorded" else "of the model",
            )
            for each in files
            for scheme, parts in ((f"baseline, {each.preset}", each.base), (each.scheme, each.own))
            for name, size in parts.items()
        ),
    ]
