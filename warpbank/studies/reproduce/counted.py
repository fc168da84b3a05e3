"""Counted figures, without a run: storage counted from configurations, recorded synthesis, and what we have
nothing beside."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from importlib.resources import files
from math import log2

from warpbank.arch.config import SmConfig, preset
from warpbank.arch.register_files import TABLE2
from warpbank.program.release.exemption import table_bits
from warpbank.program.release.words import PAYLOAD_BITS
from warpbank.studies.reproduce.measures import percent
from warpbank.studies.reproduce.paper import Figure
from warpbank.synth.memories import Sram, sram

_LIBRARY = "NangateOpenCellLibrary"
#: Of energies of memories: what ours is, and that nothing else uses it.
_MACROS = (
    "of 45 nm macros whose numbers come from CACTI, with no layout behind them (`synth/memories.toml`); "
    "our energy tables take the paper's."
)


def constant(
    name: str,
    title: str,
    unit: str,
    columns: Sequence[str],
    values: Callable[[], Sequence[float]],
    reason: str,
    *,
    digits: int = 1,
    about: str = "one SM",
) -> Figure:
    """Figure whose one row needs no task."""
    return Figure(
        name,
        title,
        unit,
        tuple(columns),
        lambda kernel, size: [],
        lambda kernel, size, results: tuple(values()),
        reason,
        kernels=(about,),
        digits=digits,
    )


def absent(name: str, title: str, unit: str, columns: Sequence[str], reason: str) -> Figure:
    """Figure that we have nothing beside."""
    return Figure(name, title, unit, tuple(columns), lambda kernel, size: [], None, reason, digits=2)


def _synthesized(number: str, *units: str, within: str = "") -> Callable[[], list[float]]:
    """A number of the recorded baselines of units (`warpbank synth UNIT --record`); `within`: the group that
    it is in."""

    folder = files("warpbank.synth") / "baselines"

    def read() -> list[float]:
        found = (json.loads((folder / f"{unit}.json").read_text())["results"][_LIBRARY] for unit in units)
        return [float((each[within] if within else each)[number]) for each in found]

    return read


# --- BOW. The paper's collector has room for three sources, ours for six.

_ENTRIES, _PAPERS_SLOTS = (12, 6), 3


def _collectors(machine: SmConfig, entries: int) -> float:
    """KiB that so many more entries in every collector of an SM take."""
    return machine.sub_cores * machine.sub_core.collectors * entries * machine.value_width / 8192


def _boc_room() -> list[float]:
    machine = preset("pascal")
    slots = (_PAPERS_SLOTS, machine.sub_core.collector.slots)
    return [_collectors(machine, entries - before) for before in slots for entries in _ENTRIES]


def _boc_shares() -> list[float]:
    file = preset("pascal").register_file_bytes / 1024
    return [percent(room, file) for room in _boc_room()[: len(_ENTRIES)]]


def _bow_bank(rows: int = preset("pascal").sub_core.rows) -> Sram:
    return sram(rows, preset("pascal").value_width)


#: Rows of a bank of the 64 KB that Table IV names.
_ROWS_OF_64_KB = 512
_LARGE_BANK = "The size that the table names; the machine has banks of 8 KB."
_BANK = f"Ours: 8 KB, as the machine's banks are, {_MACROS} The paper's table says 64 KB, 28 nm."

BOW = (
    constant(
        "storage",
        "Section V-A: room that BOW adds to the collectors of an SM",
        "KiB",
        ("12 entries", "6 entries", "12 entries, over our collectors", "6 entries, over our collectors"),
        _boc_room,
        "Counted, as the paper does, over a collector of three sources; ours have six slots, as tensor "
        "instructions need.",
    ),
    constant(
        "storage-shares",
        "Section V-A: the same, of the register file",
        "%",
        ("12 entries", "6 entries"),
        _boc_shares,
        "Counted: 36 and 12 of 256 KiB; the paper rounds down.",
    ),
    constant(
        "table4-access",
        "Table IV: energy of an access to a bank",
        "pJ",
        ("bank",),
        lambda: [_bow_bank().picojoules],
        _BANK,
        about="NanGate45",
    ),
    constant(
        "table4-leakage",
        "Table IV: leakage of a bank",
        "mW",
        ("bank",),
        lambda: [_bow_bank().milliwatts],
        _BANK,
        about="NanGate45",
    ),
    constant(
        "table4-access-64k",
        "Beside Table IV: energy of an access to a bank of 64 KB",
        "pJ",
        ("bank",),
        lambda: [_bow_bank(_ROWS_OF_64_KB).picojoules],
        _LARGE_BANK,
        about="NanGate45",
    ),
    constant(
        "table4-leakage-64k",
        "Beside Table IV: leakage of a bank of 64 KB",
        "mW",
        ("bank",),
        lambda: [_bow_bank(_ROWS_OF_64_KB).milliwatts],
        _LARGE_BANK,
        about="NanGate45",
    ),
    absent(
        "table4-boc",
        "Table IV: energy of an access to a BOC, and its leakage",
        "",
        ("pJ", "mW"),
        "An input here: our energy table takes it from the paper, since a collector's 12 values are too few "
        "rows for macros.",
    ),
    absent(
        "network",
        "Section V-A: crossbar of 32 x 32, BOCs and arbiters in 28 nm",
        "",
        ("mm2", "GHz", "mW"),
        "We have no library of 28 nm and no single network: a sub-core of ours has one of its own, which "
        "`warpbank synth` maps unit by unit to the library at hand; docs/synthesis.md has what was "
        "recorded of BOCs and arbiters. The power is an input of our energy table.",
    ),
)

# --- LTRF.

#: Registers of a warp at most.
_REGISTERS = 256


def _control_blocks() -> list[float]:
    """Addresses and valid bits for the warps in the cache; two vectors for all warps, and again for those in
    the cache."""
    core = preset("maxwell").sub_core
    addresses = core.active_warps * _REGISTERS * (log2(core.cache.registers) + 1)
    vectors = 2 * _REGISTERS * (core.warps + core.active_warps)
    return [addresses, vectors, addresses + vectors]


def _block_of_every_warp() -> list[float]:
    """Addresses and valid bits, the row in the cache, and two vectors, for all warps."""
    core = preset("maxwell").sub_core
    row = log2(core.active_warps)
    addresses = core.warps * (_REGISTERS * (log2(core.cache.registers) + 1) + row)
    vectors = core.warps * 2 * _REGISTERS
    return [addresses, vectors, addresses + vectors]


_FILES = tuple(f"#{place}" for place in range(1, len(TABLE2) + 1))
_TABLE2 = "An input here: `--set rf1` to `rf7` and the power figures take it from the paper's Table 2."

LTRF = (
    constant(
        "wcb",
        "Section 4.3: bits of the warp control blocks",
        "bits",
        ("addresses", "vectors", "all"),
        _control_blocks,
        "Ours keeps addresses for the warps in the cache only, since no other warp has any; the vectors "
        "of those warps stand twice, in a memory of all warps and in registers.",
        digits=0,
    ),
    constant(
        "wcb-every-warp",
        "Beside section 4.3: bits of warp control blocks of all warps, those outside the cache included",
        "bits",
        ("addresses", "vectors", "all"),
        _block_of_every_warp,
        "As the paper counts them. A warp that has no registers in the cache needs no addresses.",
        digits=0,
    ),
    constant(
        "wcb-share",
        "Section 4.3: the same, of the register file",
        "%",
        ("all",),
        lambda: [percent(_control_blocks()[-1], 8 * preset("maxwell").register_file_bytes)],
        "Bits of bits; the paper's is area.",
    ),
    absent("table2-latency", "Table 2: latency of register files", "x", _FILES, _TABLE2),
    absent("table2-power", "Table 2: power of register files", "x", _FILES, _TABLE2),
)

# --- G-Scalar.

_UNITS = ("compressor", "decompressor", "compressor_half", "decompressor_half")
_UNIT_NAMES = ("compressor", "decompressor", "compressor, halves", "decompressor, halves")
_NODE = "Ours: NanGate45 typical by Yosys, nothing placed; theirs: 40 nm by Design Compiler, for 1.4 GHz."
#: Bits of a warp register's base array: four bytes, an encoding of four bits, D and FS; for each half and
#: together.
_BASE_BITS = (38, 74)


#: Those with the bus of Figure 7 in the place of the compressor of whole registers.
_WITH_BUS = ("compressor_broadcast", *_UNITS[1:])


def _power(cycle: str = "pj_per_cycle") -> list[float]:
    """At 1.4 GHz: a cycle's energy under the kernel that the baseline names, and leakage."""
    pairs = zip(
        *(_synthesized(name, *_UNITS[:2], within="energy")() for name in (cycle, "leakage_mw")), strict=True
    )
    return [1.4 * energy + leakage for energy, leakage in pairs]


def _base_access() -> list[float]:
    machine = preset("fermi")
    rows = machine.sub_core.rows
    return [percent(sram(rows, _BASE_BITS[0]).picojoules, sram(rows, machine.value_width).picojoules)]


def _bdi_area(units: Sequence[str] = _UNITS) -> list[float]:
    pairs = (units[:2], ("bdi_compressor", "bdi_decompressor"))
    return [percent(*(sum(_synthesized("area_um2", *units)()) for units in pairs))]


GSCALAR = (
    constant(
        "table3-area",
        "Table 3: area with the 1024-bit pipeline register",
        "um2",
        _UNIT_NAMES,
        _synthesized("area_um2", *_UNITS),
        f"{_NODE} Leading bytes are compared as columns by AND and OR, so that no lane is chosen and spread "
        "to the others.",
        digits=0,
        about="NanGate45",
    ),
    constant(
        "table3-area-broadcast",
        "Beside Table 3: area, the leading lane's value on a bus to the others",
        "um2",
        _UNIT_NAMES,
        _synthesized("area_um2", *_WITH_BUS),
        "The compressor of whole registers as Figure 7 draws it, each lane compared with its neighbour; the "
        "others as in Table 3.",
        digits=0,
        about="NanGate45",
    ),
    constant(
        "table3-delay",
        "Table 3: delay",
        "ns",
        _UNIT_NAMES,
        _synthesized("delay_ns", *_UNITS),
        _NODE,
        digits=2,
        about="NanGate45",
    ),
    constant(
        "table3-delay-guard-band",
        "Beside Table 3: delay with the guard band of a netlist that is not placed",
        "ns",
        _UNIT_NAMES,
        _synthesized("delay_ns_guard_band", *_UNITS),
        "Wires are not in the delay of a netlist without places; the guard band stands for them "
        "(docs/synthesis.md).",
        digits=2,
        about="NanGate45",
    ),
    constant(
        "table3-power",
        "Table 3: power at 1.4 GHz",
        "mW",
        ("compressor", "decompressor"),
        _power,
        "What activity the paper assumes is not said; ours is that of one instance in the first 2000 "
        "cycles of hotspot, of which few bring it a register (docs/synthesis.md); in the others its clock "
        "is gated. No glitches. The energy table takes the paper's.",
        digits=2,
        about="NanGate45",
    ),
    constant(
        "table3-power-busy",
        "Beside Table 3: power at 1.4 GHz, a value in every cycle",
        "mW",
        ("compressor", "decompressor"),
        lambda: _power("pj_per_busy_cycle"),
        "The values that one instance gets in the first 2000 cycles of hotspot, one after the other, so that "
        "the clock of its 1024 flip-flops is never gated. No glitches.",
        digits=2,
        about="NanGate45",
    ),
    constant(
        "bdi-area",
        "Section 5.3: area of compressor and decompressor, of those of base-delta-immediate",
        "%",
        ("area",),
        _bdi_area,
        "Our units of base-delta-immediate do all in one cycle each and are written for this comparison "
        "only.",
        about="NanGate45",
    ),
    constant(
        "bdi-area-broadcast",
        "Beside section 5.3: area of decompressor and compressor with the bus of Figure 7, of those of "
        "base-delta-immediate",
        "%",
        ("area",),
        lambda: _bdi_area(_WITH_BUS),
        "The compressor of whole registers as Figure 7 draws it; the others as in section 5.3.",
        about="NanGate45",
    ),
    constant(
        "base-access",
        "Section 5.3: energy of an access to the base and encoding array, of a bank's",
        "%",
        ("access",),
        _base_access,
        f"Ours: 64 x {_BASE_BITS[0]} bits beside 64 x 1024, {_MACROS}",
        about="NanGate45",
    ),
    constant(
        "base-area",
        "Section 5.1: bits of the base and encoding array, of a warp register's",
        "%",
        ("gscalar", "gscalar-half"),
        lambda: [percent(bits, preset("fermi").value_width) for bits in _BASE_BITS],
        "Bits of bits; the paper's is area.",
    ),
)

# --- Register renaming.

#: Registers of a thread that Fermi's instructions can name.
_NAMES = 63


def _table_bytes() -> list[float]:
    core = preset("fermi").sub_core
    return [table_bits(core.warps, _NAMES, core.banks * core.rows) / 8]


#: Banks of the table of 1 KB, bits of an entry; registers of 128 bits in a bank of 4 KB, of which 32 make the
#: file.
_TABLE_BANKS, _ENTRY, _BANK_ROWS, _BANK_WIDTH, _BANKS = 4, 10, 256, 128, 32
_KILOBYTE = (
    f"Ours: a bank of 205 x {_ENTRY} bits of the table, and one of {_BANK_ROWS} x {_BANK_WIDTH} of the "
    f"register file, {_MACROS}"
)


def _table_and_bank(fewest_rows: int = 0) -> tuple[Sram, Sram]:
    table_rows = -(-1024 * 8 // _ENTRY // _TABLE_BANKS)
    return sram(table_rows, _ENTRY, fewest_rows), sram(_BANK_ROWS, _BANK_WIDTH, fewest_rows)


#: Volts of Table 2, and of our macros (NanGate45, typical corner).
_VOLTS, _OUR_VOLTS = 0.96, 1.1
_AT_VOLTS = (
    f"Ours, of {_OUR_VOLTS} V, times (0.96/1.1)^2 for an access and 0.96/1.1 for leakage: a rule of thumb, "
    "not a second library."
)
_TALL = f"Ours, tiled from macros of {_BANK_ROWS} rows in the place of smaller ones."


def _table_static() -> list[float]:
    table, bank = _table_and_bank()
    return [percent(_TABLE_BANKS * table.milliwatts, _BANKS * bank.milliwatts)]


RENAMING = (
    constant(
        "table-static",
        "Section 8.3: static power of the renaming table of 1 KB, of the register file's",
        "%",
        ("table",),
        _table_static,
        _KILOBYTE,
        about="NanGate45",
    ),
    constant(
        "table-size",
        "Section 6.1: size of the renaming table for 48 warps with 63 registers each",
        "bytes",
        ("table",),
        _table_bytes,
        "Counted, by equation 1.",
        digits=0,
    ),
    constant(
        "table2-access",
        "Table 2: energy of an access",
        "pJ",
        ("table", "bank"),
        lambda: [each.picojoules for each in _table_and_bank()],
        _KILOBYTE,
        digits=2,
        about="NanGate45",
    ),
    constant(
        "table2-leakage",
        "Table 2: leakage of a bank of each",
        "mW",
        ("table", "bank"),
        lambda: [each.milliwatts for each in _table_and_bank()],
        _KILOBYTE,
        digits=2,
        about="NanGate45",
    ),
    constant(
        "table2-access-volts",
        "Beside Table 2: energy of an access at 0.96 V",
        "pJ",
        ("table", "bank"),
        lambda: [each.picojoules * (_VOLTS / _OUR_VOLTS) ** 2 for each in _table_and_bank()],
        _AT_VOLTS,
        digits=2,
        about="NanGate45",
    ),
    constant(
        "table2-leakage-volts",
        "Beside Table 2: leakage of a bank of each at 0.96 V",
        "mW",
        ("table", "bank"),
        lambda: [each.milliwatts * _VOLTS / _OUR_VOLTS for each in _table_and_bank()],
        _AT_VOLTS,
        digits=2,
        about="NanGate45",
    ),
    constant(
        "table2-access-tall",
        "Beside Table 2: energy of an access to macros with as many rows as the bank",
        "pJ",
        ("table", "bank"),
        lambda: [each.picojoules for each in _table_and_bank(_BANK_ROWS)],
        _TALL,
        digits=2,
        about="NanGate45",
    ),
    constant(
        "table2-leakage-tall",
        "Beside Table 2: leakage of a bank of each, of macros with as many rows as the bank",
        "mW",
        ("table", "bank"),
        lambda: [each.milliwatts for each in _table_and_bank(_BANK_ROWS)],
        _TALL,
        digits=2,
        about="NanGate45",
    ),
    constant(
        "table2-lookup",
        "Table 2: time of a look-up",
        "ns",
        ("table",),
        _synthesized("delay_ns", "renaming_table_1k"),
        "Ours: longest path of the unit with its table of flip-flops, in NanGate45 by Yosys, nothing "
        "placed; the paper's is of a memory alone, in 40 nm.",
        digits=2,
        about="NanGate45",
    ),
    constant(
        "table2-lookup-memory",
        "Beside Table 2: time of a look-up in a memory alone",
        "ns",
        ("table",),
        lambda: [_table_and_bank()[0].access_ns],
        f"From clock to data of a bank of 205 x {_ENTRY} bits, {_MACROS}",
        digits=2,
        about="NanGate45",
    ),
    constant(
        "flag-cache",
        "Section 6.2: release flag cache",
        "bytes",
        ("cache",),
        lambda: [preset("fermi").sub_core.warps * PAYLOAD_BITS / 8],
        "Counted: an entry of 54 bits for each warp, without tags.",
        digits=0,
    ),
)
