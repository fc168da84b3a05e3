"""Tables of docs/synthesis.md: what every unit costs at its paper's size, and what the papers say beside it.

Everything is read from `synth/baselines/` and computed from the machines: nothing is synthesized here.
"""

from __future__ import annotations

from collections.abc import Sequence

from warpbank.synth import baselines
from warpbank.synth.baselines import cost
from warpbank.synth.published import Row, published

#: The slowest clock that counts as 1 GHz, in ns.
GIGAHERTZ = 1.0
#: What each table is.
TITLES = {
    "units": "Every unit at its paper's size",
    "clock": "Units that do not reach 1 GHz",
    "opensta": "OpenSTA against our timing",
    "published": "Published costs beside ours",
}


def tables() -> dict[str, str]:
    """Tables by name, in Markdown."""
    return {
        "units": markdown(units()),
        "clock": markdown(slow()),
        "opensta": markdown(signoff()),
        "published": markdown(published()),
    }


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """Markdown table of rows; the first is its head."""
    head, *body = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([head, "|" + "---|" * len(rows[0]), *body]) + "\n"


def units() -> Sequence[Row]:
    """Costs of every unit with a size, as rows."""
    rows: list[Row] = [
        (
            "unit",
            "preset, scheme, clock, effort",
            "um2",
            "NAND2",
            "flip-flops",
            "memories, um2",
            "ns",
            "3 x wire load",
            "OpenSTA",
            "1 GHz",
        )
    ]
    for unit, size in baselines.SIZES.items():
        where = ", ".join((size.preset, size.scheme, *size.overrides, f"{size.clock:g}", size.effort))
        found = cost(unit)
        if found is None:
            rows.append((f"`{unit}`", where, "not recorded", *[""] * 7))
            continue
        other = found.get("opensta_ns")
        rows.append(
            (
                f"`{unit}`",
                where,
                f"{found['area_um2']:.0f}",
                f"{found['nand2_equivalents']:.0f}",
                f"{found['flops']}",
                f"{found['memory_um2']:.0f}",
                f"{found['delay_ns']:.3f}",
                f"{found['delay_ns_guard_band']:.3f}",
                "" if other is None else f"{other:.3f}",
                "yes" if found["delay_ns"] <= GIGAHERTZ else "no",
            )
        )
    return rows


def slow() -> Sequence[Row]:
    """Units that do not reach 1 GHz: their path, and why."""
    rows: list[Row] = [("unit", "ns", "cells", "from", "to", "why")]
    for unit in missing_the_clock():
        found = cost(unit)
        assert found is not None
        rows.append(
            (
                f"`{unit}`",
                f"{found['delay_ns']:.3f}",
                f"{found['logic_depth']}",
                f"`{found['start']}`",
                f"`{found['end']}`",
                baselines.slow(unit),
            )
        )
    return rows


def missing_the_clock() -> list[str]:
    """Units that were recorded with more than 1 ns."""
    return [
        unit
        for unit in baselines.SIZES
        if (found := cost(unit)) is not None and found["delay_ns"] > GIGAHERTZ
    ]


def signoff() -> Sequence[Row]:
    """Largest differences between OpenSTA and our own timing, each way, with their units."""
    rows: list[Row] = [("OpenSTA", "unit", "ours, ns", "OpenSTA, ns", "difference", "of units")]
    found = {
        unit: one for unit in baselines.SIZES if (one := cost(unit)) is not None and one.get("opensta_ns")
    }
    share = {unit: one["opensta_ns"] / one["delay_ns"] - 1 for unit, one in found.items()}
    for words, pick in (("slower by most, or faster by least", max), ("faster by most", min)):
        if share:
            unit = pick(share, key=lambda name: share[name])
            rows.append(
                (
                    f"{words}",
                    f"`{unit}`",
                    f"{found[unit]['delay_ns']:.3f}",
                    f"{found[unit]['opensta_ns']:.3f}",
                    f"{100 * share[unit]:+.1f} %",
                    f"{len(share)}",
                )
            )
    return rows
