"""Generic gates: the figures of a netlist without a cell library."""

from __future__ import annotations

from collections.abc import Container, Mapping

from warpbank.synth.mapped import Instance, Netlist, sorted_cells

#: Transistors of a gate in static CMOS. A register with enable counts as one behind a clock gate it shares
#: with others.
TRANSISTORS = {
    "$_NOT_": 2,
    "$_BUF_": 4,
    "$_NAND_": 4,
    "$_NOR_": 4,
    "$_AND_": 6,
    "$_OR_": 6,
    "$_ANDNOT_": 6,
    "$_ORNOT_": 6,
    "$_XOR_": 12,
    "$_XNOR_": 12,
    "$_MUX_": 12,
    "$_AOI3_": 6,
    "$_OAI3_": 6,
    "$_AOI4_": 8,
    "$_OAI4_": 8,
    "$_DFF_P_": 24,
    "$_DFFE_PP_": 24,
}
METHOD = (
    "generic gates of Yosys and the transistors of static CMOS gates (24 for a register); no cell library "
    "was given or found"
)
_REGISTERS = ("$_DFF_P_", "$_DFFE_PP_")


def flops(counts: Mapping[str, int]) -> int:
    """Flip-flops among the cells."""
    return sum(counts.get(name, 0) for name in _REGISTERS)


def transistors(counts: Mapping[str, int]) -> int:
    """Transistors of all cells, memories that are black boxes not counted."""
    return sum(TRANSISTORS.get(name, 0) * count for name, count in counts.items())


def depth(net: Netlist, boxes: Container[str]) -> int:
    """Logic depth: most gates between two registers, ports or memories; inverters count. Raises NetlistError
    for a loop."""

    def through(cell: Instance) -> list[tuple[list[str], list[str]]]:
        if cell.type in boxes:
            clocked = "1" in str(cell.parameters["RD_CLK_ENABLE"])
            addresses = [] if clocked else [pin for pin in cell.pins if pin.startswith("RD_ADDR")]
            return [(addresses, [pin for pin in cell.pins if pin.startswith("RD_DATA")])]
        if cell.type in _REGISTERS:
            return [([], ["Q"])]
        return [([pin for pin in cell.pins if pin != "Y"], ["Y"])]

    level: dict[int, int] = {}
    for cell, outs in sorted_cells(net, through):
        if cell.type in _REGISTERS:
            continue
        ins = through(cell)[0][0]
        here = max((level.get(cell.pins[pin], 0) for pin in ins), default=0) + (bool(ins))
        for pin in outs:
            level[cell.pins[pin]] = here
    return max(level.values(), default=0)
