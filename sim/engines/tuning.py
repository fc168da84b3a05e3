"""Tuning of the Verilog for speed in Verilator, and the places of the operands in its C++."""

from __future__ import annotations

import re
from pathlib import Path

from warpbank.arch.parameters import SmConfig
from warpbank.sim.engines.base import EngineError

#: Verilator control file of a sub-core, flat or not: the memories that the operand checker reads keep their
#: names.
PUBLIC = "`verilator_config\n" + "".join(
    f'public_flat_rd -module "{module}" -var "{prefix}{name}_*"\n'
    for module, prefix in (("*collectors", ""), ("sub_core", "collectors."))
    for name in ("slots", "places")
)

#: One lane of a masked write, as Yosys writes it.
_LANE = re.compile(
    r"    if \((?P<enable>[^\n]*?)\[(?P<lane>\d+)\]\)\n"
    r"      (?P<memory>[^\n]*?)\[(?P<high>\d+):(?P<low>\d+)\] <= (?P<data>[^\n]*?)\[(?P=high):(?P=low)\];\n"
)


def tuned(verilog: str) -> str:
    """Verilog with every lane-masked write as one assignment.

    As Yosys writes it, a write is an assignment per lane, each of which Verilator looks at in every cycle. As
    one, it costs nothing without a write, and a full one is a copy (measured: a quarter to a seventh of the
    time).
    """
    out: list[str] = []
    at = 0
    while (first := _LANE.search(verilog, at)) is not None:
        lanes = [first]
        while (following := _LANE.match(verilog, lanes[-1].end())) is not None and _continues(
            lanes[-1], following
        ):
            lanes.append(following)
        out.append(verilog[at : first.start()])
        out.append(_one_write(lanes) if len(lanes) > 1 else first.group())
        at = lanes[-1].end()
    out.append(verilog[at:])
    return "".join(out)


def _continues(one: re.Match[str], other: re.Match[str]) -> bool:
    same = all(one[name] == other[name] for name in ("enable", "memory", "data"))
    return same and int(other["lane"]) == int(one["lane"]) + 1 and int(other["low"]) == int(one["high"]) + 1


def _one_write(lanes: list[re.Match[str]]) -> str:
    enable, memory, data = (lanes[0][name] for name in ("enable", "memory", "data"))
    low, high = int(lanes[0]["low"]), int(lanes[-1]["high"])
    width = int(lanes[0]["high"]) - low + 1
    bits = f"{enable}[{lanes[-1]['lane']}:{lanes[0]['lane']}]"
    mask = "{" + ", ".join(f"{{{width}{{{enable}[{lane['lane']}]}}}}" for lane in reversed(lanes)) + "}"
    new = f"{data}[{high}:{low}]"
    return (
        f"    if (&{bits})\n      {memory} <= {new};\n"
        f"    else if (|{bits})\n      {memory} <= ({memory} & ~{mask}) | ({new} & {mask});\n"
    )


def operands(folder: Path, config: SmConfig, kind: str = "slots") -> list[str]:
    """Names of a sub-core's collectors' memories in the C++ that Verilator wrote to `folder`: of collector 0,
    of 1, ...

    `kind`: `slots`, the values; or `places`, the rows in which a uop's operands stand, where that is not its
    source slots.
    """
    found: dict[int, str] = {}
    for path in folder.glob("*___024root.h"):
        for name in re.findall(rf"VlUnpacked<[^;]*> (\w+{kind}_\d+);", path.read_text()):
            found[int(name.rsplit("_", 1)[1])] = name
    if kind == "places" and not found:
        return []
    if sorted(found) != list(range(config.sub_core.collectors)):
        raise EngineError(
            f"the compiled model has the collectors {sorted(found)}, and not those of its configuration"
        )
    return [found[collector] for collector in sorted(found)]
