"""Costs that the papers print, beside what we recorded for the units of their schemes.

Everything is read from `synth/baselines/` and computed from the machines: nothing is synthesized here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from warpbank.arch.config import preset
from warpbank.arch.parameters import SmConfig, bits
from warpbank.arch.schemes import parse_scheme
from warpbank.hdl.storage.gscalar import metadata_layout
from warpbank.synth import baselines
from warpbank.synth.baselines import cost
from warpbank.synth.memories import sram

#: A row of a table.
Row = tuple[str, ...]
#: The node of the library that the recorded numbers are of, in nm.
_NODE = 45
#: The clock of G-Scalar's Table 3, in GHz.
_CLOCK = 1.4
#: The command of what is computed from the machines.
_HERE = "warpbank synth --table"
#: Registers of a warp, and bits of a value of one of its registers.
_REGISTERS, _KIBIBYTE = 256, 8 * 1024


@dataclass(frozen=True)
class Published:
    """A published cost.

    Parameters
    ----------
    source : paper and place.
    what, theirs : what was measured; the number, its unit and node.
    ours : our number.
    scaled : the same in the paper's node; "" where nothing is scaled.
    guard : with 3 times the wire load; "" where it is no delay.
    command : what gives our number.
    """

    source: str
    what: str
    theirs: str
    ours: str
    command: str
    scaled: str = ""
    guard: str = ""


def published() -> Sequence[Row]:
    """Published hardware costs beside ours."""
    rows: list[Row] = [
        ("paper", "what", "published", "ours", "at the paper's node", "3 x wire load", "command")
    ]
    for one in (*_gscalar(), *_notes(), *_bow(), *_ltrf(), *_renaming(), *_malekeh()):
        rows.append((one.source, one.what, one.theirs, one.ours, one.scaled, one.guard, f"`{one.command}`"))
    return rows


def _command(unit: str) -> str:
    return f"warpbank synth {unit} {baselines.SIZES[unit].options}"


def _machine(name: str, scheme: str) -> SmConfig:
    return parse_scheme(scheme).machine(preset(name))


def _area(unit: str) -> float | None:
    found = cost(unit)
    return None if found is None else float(found["area_um2"])


def _unit(
    source: str, unit: str, what: str, area: str, delay: str, node: int, count: int = 1
) -> Iterator[Published]:
    """Area of `count` of a unit, and its delay."""
    found = cost(unit)
    if found is None:
        yield Published(source, what, f"{area}, {delay}", "not recorded", _command(unit))
        return
    size, scale = count * found["area_um2"], (node / _NODE) ** 2
    yield Published(
        source, f"{what}, area", area, f"{size:.0f} um2", _command(unit), f"{size * scale:.0f} um2"
    )
    yield Published(
        source,
        f"{what}, delay",
        delay,
        f"{found['delay_ns']:.3f} ns",
        _command(unit),
        guard=f"{found['delay_ns_guard_band']:.3f} ns",
    )


def _power(source: str, unit: str, theirs: str) -> Iterator[Published]:
    """Power at the clock of G-Scalar's Table 3, under the activity of the kernel that the baseline names."""
    energy = (cost(unit) or {}).get("energy")
    if energy is not None:
        for name, when in (("pj_per_cycle", ""), ("pj_per_busy_cycle", ", a value in every cycle")):
            if name not in energy:
                continue
            ours = energy[name] * _CLOCK + energy["leakage_mw"]
            yield Published(
                source,
                f"{unit}, power at {_CLOCK:g} GHz{when}",
                theirs,
                f"{ours:.2f} mW under {energy['kernel']}",
                f"{_command(unit)} --kernel {energy['kernel']}",
            )


def _gscalar() -> Iterator[Published]:
    source = "G-Scalar, Table 3"
    yield from _unit(source, "compressor", "compressor", "11 624 um2, 40 nm", "0.67 ns", 40)
    yield from _power(source, "compressor", "16.22 mW, 40 nm")
    yield from _unit(source, "compressor_broadcast", "the same with the bus of figure 7", "", "", 40)
    yield from _unit(source, "compressor_half", "the same for half-warps", "", "", 40)
    yield from _unit(source, "decompressor", "decompressor", "7332 um2, 40 nm", "0.35 ns", 40)
    yield from _power(source, "decompressor", "15.86 mW, 40 nm")
    yield from _unit(source, "decompressor_half", "the same for half-warps", "", "", 40)
    pairs = [[_area(f"{prefix}{kind}") for kind in ("compressor", "decompressor")] for prefix in ("", "bdi_")]
    if all(area is not None for pair in pairs for area in pair):
        mine, bdi = (sum(area for area in pair if area is not None) for pair in pairs)
        yield Published(
            "G-Scalar, section 5",
            "compressor and decompressor over BDI's",
            "52 % of the area",
            f"{100 * mine / bdi:.0f} %: {mine:.0f} of {bdi:.0f} um2",
            _command("bdi_compressor"),
        )


def _notes() -> Iterator[Published]:
    """The base and encoding array over the banks that it stands beside."""
    machine = _machine("fermi", "gscalar")
    notes, bank = (
        sram(machine.sub_core.rows, metadata_layout(1).size),
        sram(machine.sub_core.rows, machine.value_width),
    )
    yield Published(
        "G-Scalar, section 5",
        "64 x 38-bit base and encoding array, energy over a bank's access",
        "5.2 %",
        f"{100 * notes.picojoules / bank.picojoules:.1f} %",
        _HERE,
    )
    yield Published(
        "G-Scalar, section 5",
        "the same, area over the bank",
        "3 %",
        f"{100 * notes.area / bank.area:.1f} %: macros of 15 and 32 bits",
        _HERE,
    )


def _bow() -> Iterator[Published]:
    source, machine = "BOW, section 5", _machine("pascal", "bow-wr")
    core = machine.sub_core
    entries, width = 4 * core.collector.window, machine.value_width
    more = machine.sub_cores * core.collectors * (entries - 3) * width // _KIBIBYTE
    yield Published(
        source,
        "storage of 12-entry collectors over 3 operands each",
        "+36 KB",
        f"+{more} KB: entries times bits",
        _HERE,
    )
    bank = sram(core.rows, width)
    yield Published(
        "BOW, Table IV",
        "access of a register bank",
        "185.26 pJ, 64 KB, 28 nm",
        f"{bank.picojoules:.1f} pJ, {core.rows * width / _KIBIBYTE:g} KB",
        _command("banks").replace("turing", "pascal"),
    )
    yield Published(
        "BOW, Table IV",
        "leakage of a register bank",
        "111.84 mW",
        f"{bank.milliwatts:.1f} mW",
        _command("banks").replace("turing", "pascal"),
    )
    theirs, warps = "under 0.04 mm2 for both, crossbar and bus, 28 nm", machine.sub_cores * core.warps
    for unit, what in (
        ("boc", f"collectors of {warps} warps, without values"),
        ("boc_arbiter", f"arbiters of {warps} warps"),
    ):
        yield from _unit(source, unit, what, theirs, "1 GHz", 28, machine.sub_cores)


def _ltrf() -> Iterator[Published]:
    core = _machine("maxwell", "ltrf").sub_core
    rows, entry = core.active_warps, bits(core.cache.registers)
    places = rows * _REGISTERS * entry + rows * core.cache.registers * entry + rows * bits(rows)
    total = places + core.warps * 2 * _REGISTERS
    yield Published(
        "LTRF, storage cost",
        "warp control blocks",
        "114 880 bits, about 5 % of 256 KB",
        f"{total} bits, {100 * total / (256 * _KIBIBYTE):.1f} %: locations of the {rows} active warps only",
        _command("warp_control_blocks"),
    )
    machine, source = _machine("maxwell", "ltrf"), "LTRF, area and power cost"
    kept = rows * core.cache.registers * machine.value_width + total
    yield Published(
        source,
        "what LTRF adds to a 256 KB register file, storage",
        "",
        f"{100 * kept / (256 * _KIBIBYTE):.1f} % of its bits: cache and control blocks",
        _HERE,
    )
    found = cost("ltrf")
    if found is not None:
        banks = core.banks * sram(core.rows, machine.value_width).area
        logic, blocks = found["area_um2"], sram(core.warps, 2 * _REGISTERS).area
        flops = found["memory_um2"] - banks - blocks
        yield Published(
            source,
            "the same, area",
            "16 % of its area",
            f"{100 * (flops + blocks + logic) / banks:.0f} % of its banks' area: cache and tables "
            f"{flops * 1e-6:.2f} mm2 in flip-flops and {blocks * 1e-6:.2f} in SRAM, all logic "
            f"{logic * 1e-6:.2f}, banks {banks * 1e-6:.2f}",
            _command("ltrf"),
        )


def _renaming() -> Iterator[Published]:
    source, table, bank = "Renaming, Table 2", sram(205, 10), sram(256, 128)
    yield Published(
        source, "access of a bank of the 1 KB table", "1.14 pJ, 40 nm", f"{table.picojoules:.2f} pJ", _HERE
    )
    yield Published(source, "leakage of a bank of the table", "0.27 mW", f"{table.milliwatts:.2f} mW", _HERE)
    yield Published(source, "access of a 4 KB register bank", "4.68 pJ", f"{bank.picojoules:.2f} pJ", _HERE)
    yield Published(source, "leakage of a register bank", "2.8 mW", f"{bank.milliwatts:.2f} mW", _HERE)
    yield from _unit(
        "Renaming, section 6.1", "renaming_table_1k", "renaming table of 1 KB", "", "lookup in 0.22 ns", 40
    )


def _malekeh() -> Iterator[Published]:
    machine = _machine("turing", "malekeh")
    core = machine.sub_core
    more = core.collectors * (core.collector.cache_lines - core.collector.slots)
    more = machine.sub_cores * more * machine.value_width // _KIBIBYTE
    yield Published(
        "Malekeh, storage",
        "cache tables over the collectors' own slots",
        "+2 KB",
        f"+{more} KB: lines times bits",
        _HERE,
    )
