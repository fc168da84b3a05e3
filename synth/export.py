"""Export of a unit (`warpbank export`) as a file that others can read: deterministic, with its configuration
and its ports at the top."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from typing import Any

from warpbank.arch.config import config_hash, preset
from warpbank.arch.parameters import SmConfig
from warpbank.arch.schemes import Scheme
from warpbank.program.errors import WarpbankError
from warpbank.synth import netlist, yosys
from warpbank.synth.folding import folded
from warpbank.synth.units import UNITS, make

#: Verilator's rules that exported Verilog breaks, with the reason; `synth/lint.vlt` has those of `-Wall`.
_WAIVED = {
    "WIDTHEXPAND": "operands narrower than their operator are extended with zeros, as Verilog says",
    "WIDTHTRUNC": "a result wider than what it is assigned to loses its upper bits, as Verilog says",
    "CASEOVERLAP": "of a case's items the first that matches counts",
    "CMPCONST": "a configuration may make a comparison constant",
    "UNOPTFLAT": "vectors whose bits depend on one another; no bit depends on itself, Yosys' `check` looks",
}
_TIMESCALE = "`timescale 1ns / 1ps\n"
#: A row of a memory's initial content, all zeros.
_INIT = re.compile(r"    (?P<memory>\S+ ?)\[(?P<row>\d+)\] = (?P<width>\d+)'h0+;\n")
_LANE = re.compile(
    r"    if \((?P<enable>[^\n]*?)\[(?P<lane>\d+)\]\)\n"
    r"      (?P<memory>[^\n]*?)\[(?P<high>\d+):(?P<low>\d+)\] <= (?P<data>[^\n]*?)\[(?P=high):(?P=low)\];\n"
)


def exported(
    unit: str,
    config: SmConfig,
    scheme: Scheme,
    *,
    kind: str,
    probe: bool = False,
    extensions: Mapping[str, str] | None = None,
) -> str:
    """Text of the exported file.

    Parameters
    ----------
    unit : see `warpbank.synth.units`.
    config, scheme : the machine; units other than `sm` and `sub_core` take what concerns them.
    kind : `.v` or `.il`.
    probe : with event ports.
    extensions : Python of the user's that was loaded before, by name its hash.

    Raises
    ------
    WarpbankError : unknown unit or kind, a configuration that cannot be built, Yosys missing.
    """
    if kind not in (".v", ".il"):
        raise WarpbankError(f"the output's name ends in .v (Verilog) or .il (RTLIL), not {kind or 'nothing'}")
    component = make(unit, config, scheme, probe=probe)
    if kind == ".v":
        return verilog(unit, component, config, scheme, extensions)
    source = netlist.to_rtlil(component, unit)
    head = header(unit, component, config, scheme, extensions or {})
    return "".join(f"# {line}".rstrip() + "\n" for line in head) + "\n" + source


def verilog(
    unit: str, component: Any, config: SmConfig, scheme: Scheme, extensions: Mapping[str, str] | None = None
) -> str:
    """Text of the Verilog file of a component that `warpbank.synth.units.make` made. Raises WarpbankError if
    Yosys is missing."""
    source = netlist.to_rtlil(component, unit)
    head = header(unit, component, config, scheme, extensions or {})
    body = folded(_tidy(netlist.to_verilog(source, [*netlist.READABLE, f"hierarchy -top {unit}"])))
    waivers = "".join(f"/* verilator lint_off {rule} */ // {why}\n" for rule, why in _WAIVED.items())
    return (
        "".join(f"// {line}".rstrip() + "\n" for line in head)
        + f"\n{_TIMESCALE}/* verilator lint_save */\n{waivers}{body}/* verilator lint_restore */\n"
    )


def header(
    unit: str, component: Any, config: SmConfig, scheme: Scheme, extensions: Mapping[str, str]
) -> list[str]:
    """Header comment of an exported file: unit, configuration, extensions, ports."""
    from importlib.metadata import version

    entry = UNITS[unit]
    lines = [
        f"{unit}: {entry.what}",
        f"Warpbank, {entry.source}, class {entry.component.__name__}. Made by Amaranth {version('amaranth')} "
        f"and Yosys {yosys.version()}; change the source, not this file.",
        "",
        f"Configuration {config_hash(config)}, preset {config.preset}, scheme {scheme.name}.",
        *(f"Loaded: {name} {content}." for name, content in extensions.items()),
        f"  warpbank export {unit} --preset {config.preset} --scheme {scheme.name}"
        + _continued(_differences(config)),
        "",
        *(inspect.getdoc(entry.component) or "").splitlines(),
        "",
        "Ports (clk: rising edge; rst: synchronous, active high)",
        "",
    ]
    ports = netlist.ports(component)
    width = max((len(port.name) for port in ports), default=0)
    for port in ports:
        lines.append(f"  {'output' if port.output else 'input ':6} {port.name:{width}} {port.width:5}")
        lines += [f"         {field}" for field in port.fields]
    return lines


def _continued(options: list[str]) -> str:
    return "".join(f" {option.strip()}" for option in options)


def _differences(config: SmConfig) -> list[str]:
    """Fields that differ from the preset, one `--set` option each."""
    content, base = _flat(config.to_dict(), ""), _flat(preset(config.preset).to_dict(), "")
    return [f"  --set {path}={value}" for path, value in content.items() if base[path] != value]


def _flat(values: dict[str, Any], prefix: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in values.items():
        found |= _flat(value, f"{prefix}{name}.") if isinstance(value, dict) else {prefix + name: value}
    return found


def _tidy(verilog: str) -> str:
    """Yosys' Verilog with loops where it writes a line per row or per lane."""
    text = verilog.partition("\n")[2].lstrip("\n")  # its own first line names the build, not the version
    text = _runs(
        _INIT,
        text,
        lambda one, other: (
            (one["memory"], one["width"]) == (other["memory"], other["width"])
            and int(other["row"]) == int(one["row"]) + 1
        ),
        _init_loop,
    )
    return _runs(
        _LANE,
        text,
        lambda one, other: (
            all(one[name] == other[name] for name in ("enable", "memory", "data"))
            and int(other["lane"]) == int(one["lane"]) + 1
        ),
        _lane_loop,
    )


def _runs(pattern: re.Pattern[str], text: str, continues: Any, replace: Any) -> str:
    """Replace every run of matches that stand one after the other."""
    out: list[str] = []
    at = 0
    while (first := pattern.search(text, at)) is not None:
        run = [first]
        while (following := pattern.match(text, run[-1].end())) is not None and continues(run[-1], following):
            run.append(following)
        out += [
            text[at : first.start()],
            replace(run) if len(run) > 2 else text[first.start() : run[-1].end()],
        ]
        at = run[-1].end()
    return "".join([*out, text[at:]])


def _init_loop(run: list[re.Match[str]]) -> str:
    first, last = run[0], run[-1]
    return (
        f"    begin : zero_{first.start()}\n      integer row;\n"
        f"      for (row = {first['row']}; row <= {last['row']}; row = row + 1)\n"
        f"        {first['memory']}[row] = {first['width']}'h0;\n    end\n"
    )


def _lane_loop(run: list[re.Match[str]]) -> str:
    first, last = run[0], run[-1]
    width = int(first["high"]) - int(first["low"]) + 1
    return (
        f"    begin : lanes_{first.start()}\n      integer lane;\n"
        f"      for (lane = {first['lane']}; lane <= {last['lane']}; lane = lane + 1)\n"
        f"        if ({first['enable']}[lane])\n"
        f"          {first['memory']}[{width}*lane +: {width}] <= {first['data']}[{width}*lane +: "
        f"{width}];\n    end\n"
    )
