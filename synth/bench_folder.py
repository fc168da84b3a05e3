"""Folder with an exported unit, a protocol-level cocotb bench and its runner.

What is in the folder needs cocotb and a simulator, nothing else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from importlib import resources
from typing import Any

from warpbank.arch.names import unknown
from warpbank.arch.parameters import SmConfig
from warpbank.arch.schemes import Scheme
from warpbank.arch.units import UNITS
from warpbank.program.errors import WarpbankError
from warpbank.synth import netlist
from warpbank.synth.export import verilog
from warpbank.synth.replay import CYCLES, RESETS, SETTLING, recorded
from warpbank.synth.units import UNITS as ALL
from warpbank.synth.units import find, make

#: Kinds of benches.
KINDS = ("cocotb",)
#: Units with a bench of their own, and which module of `warpbank.synth.benches` it is.
OWN: dict[str, str] = {
    "sm": "sm",
    **{unit.exported: "collectors" for unit in UNITS["collector"].values() if unit.exported},
    "warp_control_blocks": "warp_control_blocks",
    "address_allocation": "address_allocation",
    "compressor": "compressor",
    "compressor_half": "compressor",
    "decompressor": "decompressor",
    "decompressor_half": "decompressor",
    "renaming_table": "renaming_table",
    "renaming_table_1k": "renaming_table",
}
#: Units and their benches: those without one of their own play recorded traffic.
BENCHES: dict[str, str] = {unit: OWN.get(unit, "replay") for unit in (*ALL, *OWN)}
_PACKAGE = "warpbank.synth.benches"
#: A memory in Verilog as Yosys writes it.
_MEMORY = re.compile(r"^  reg (?:\[\d+:\d+\] )?(?:\\\S+|\w+) ?\[\d+:\d+\];", re.MULTILINE)


def folder(
    unit: str,
    config: SmConfig,
    scheme: Scheme,
    *,
    bench: str,
    probe: bool = False,
    extensions: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """The files of a unit's folder: name to text.

    Parameters
    ----------
    unit : one of `BENCHES`.
    config, scheme : the machine.
    bench : one of `KINDS`.
    probe : with event ports, which the benches leave alone.
    extensions : Python of the user's that was loaded before, by name its hash.

    Raises
    ------
    WarpbankError : unknown kind or unit, a unit or scheme that a bench would show nothing of, a configuration
        that cannot be built, Yosys missing.
    """
    if bench not in KINDS:
        raise WarpbankError(unknown("kind of bench", bench, KINDS))
    what = find(unit).what
    component = make(unit, config, scheme, probe=probe)
    text = verilog(unit, component, config, scheme, extensions)
    if unit == "sm" and (needs := _needs(component)):
        raise WarpbankError(f"the bench of the SM has no program for scheme {scheme.name}: it needs {needs}")
    test = f"test_{unit}"
    replayed = BENCHES[unit] == "replay"
    # Elaborated once more: a component is simulated or exported, not both.
    traffic = (
        {"vectors.json": _traffic(unit, make(unit, config, scheme, probe=probe), text)} if replayed else {}
    )
    return {
        f"{unit}.v": text,
        "unit.json": _described(component, config),
        **traffic,
        "protocol.py": _source("protocol"),
        f"{test}.py": _source(BENCHES[unit]),
        "run.py": _source("run").replace("NAME_OF_UNIT", unit),
        f"{unit}.core": _CORE.replace("UNIT", unit)
        .replace("WHAT", json.dumps(what))
        .replace("TRAFFIC", _TRAFFIC if replayed else ""),
        "README.md": _README.replace("HOW", _REPLAYED if replayed else _DRIVEN)
        .replace("UNIT", unit)
        .replace("WHAT", what),
    }


def _traffic(unit: str, component: Any, verilog: str) -> str:
    """Recorded traffic, a cycle a line. A reset in mid-flight does not go with memories: it leaves the word
    that a port has read, which Amaranth's simulator clears."""
    rows = recorded(component, resets=() if _MEMORY.search(verilog) else RESETS)
    if all(row["outputs"] == rows[-1]["outputs"] for row in rows[SETTLING:]):
        raise WarpbankError(
            f"the outputs of {unit} do not change in {CYCLES} cycles of random traffic on this machine, so "
            "that a bench would show nothing; set fields that make it act sooner, such as an interval"
        )
    return "[\n" + ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows) + "\n]\n"


def _needs(component: Any) -> str:
    """What a program has to hold for this SM that its bench's has not; "" if nothing."""
    if "immediate" in component.signature.members:
        return "PREFETCH instructions, which the compiler writes"
    if "exempt" in component.launch.payload.shape().members:
        return "release flags, which the compiler writes"
    return ""


def _source(module: str) -> str:
    """Text of a bench's module, which in the folder is no part of a package."""
    text = resources.files(_PACKAGE).joinpath(f"{module}.py").read_text(encoding="utf-8")
    return text.replace(f"from {_PACKAGE}.", "from ")


def _described(component: Any, config: SmConfig) -> str:
    """Ports and parameters, for the bench."""
    ports = [
        {
            "name": port.name,
            "width": port.width,
            "output": port.output,
            "fields": dict(_place(field) for field in port.fields),
        }
        for port in netlist.ports(component)
    ]
    core = config.sub_core
    parameters = {
        "lanes": config.lanes,
        "cache_registers": core.cache.registers,
        "sub_cores": config.sub_cores,
        "warps": core.warps,
        "banks": core.banks,
        "rows": core.rows,
    }
    return json.dumps({"ports": ports, "parameters": parameters}, indent=1) + "\n"


def _place(field: str) -> tuple[str, tuple[int, int]]:
    """Name, lowest bit and width of a field that is described as `name [high:low]`."""
    name, _, bits = field.partition(" [")
    high, low = (int(number) for number in bits.rstrip("]").split(":"))
    return name, (low, high - low + 1)


# Target `sim` runs run.py, then the bare unit, which ends at once. With the option `cocotb_module`, Edalize
# 0.6 starts no test of cocotb 2.1, and succeeds whatever tests find.
_CORE = """CAPI=2:
name: warpbank:units:UNIT:0.1.0
description: WHAT

filesets:
  rtl:
    files:
      - UNIT.v: {file_type: verilogSource, copyto: UNIT.v}
  bench:
    files:
      - run.py: {file_type: user, copyto: run.py}
      - test_UNIT.py: {file_type: user, copyto: test_UNIT.py}
      - protocol.py: {file_type: user, copyto: protocol.py}
      - unit.json: {file_type: user, copyto: unit.json}
TRAFFIC
scripts:
  bench:
    cmd: [python3, run.py]

targets:
  default: &default
    filesets: [rtl]
    toplevel: UNIT
  lint:
    <<: *default
    description: Verilator's lint
    flow: lint
    flow_options:
      tool: verilator
  sim:
    <<: *default
    description: The cocotb bench in Icarus Verilog
    filesets: [rtl, bench]
    flow: sim
    flow_options:
      tool: icarus
      timescale: 1ns/1ps
    hooks:
      pre_run: [bench]
"""

_TRAFFIC = "      - vectors.json: {file_type: user, copyto: vectors.json}\n"

_DRIVEN = """`test_UNIT.py` drives the unit by the protocol of its ports and compares it with a reference that
it carries: it shares nothing with the model that the RTL was written from."""
_REPLAYED = """`test_UNIT.py` plays `vectors.json`: random inputs, and what the unit's RTL answered to them in
Amaranth's simulator, bit by bit. It shows that the Verilog is that RTL, in your simulator."""

_README = """# UNIT

WHAT. `UNIT.v` says at its top how it was made, and what its ports are.

    pip install "cocotb>=2"
    python run.py                  # Icarus
    python run.py --sim verilator  # Verilator 5.036 or later
    python run.py --waves --seed 7

HOW A test fails if its coverage is not reached.
`run.py` ends with exit code 1 if a test fails. Results, logs and waves are in `build/`.

FuseSoC 2.4, where cocotb is installed: `fusesoc --cores-root . run --target=sim warpbank:units:UNIT` (or
`--target=lint`); a test that fails makes it fail.
"""
